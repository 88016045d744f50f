"""Graded scores, tests of code and functions of the user in live runs, in rescore and as a run's own scorer."""

import json

import pytest
from click.testing import CliRunner
from helpers.code_problems import PROBLEMS, needs_isolation

import howsure as hs
from howsure.cli import cli
from howsure.errors import HowsureWarning, InputError
from howsure.models.model import Choice, Reply
from howsure.sample.experiment import parse_experiment
from howsure.sample.run import run_experiment
from howsure.sandbox.isolation import ALLOW_UNSAFE, choose_isolation
from howsure.store.responses import read


class ScriptedModel:
    """A model that gives the same texts, one for each generation, to each question."""

    def __init__(self, texts):
        self.texts = texts

    async def generate(self, request):
        return Reply(tuple(Choice(self.texts[request.question][i - 1], "stop") for i in request.generations))

    async def close(self):
        pass


def sample(folder, rows, keys, texts):
    """Return the scores of a run by question, and its folder."""
    (folder / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    n = len(next(iter(texts.values())))
    text = f"benchmark: {{file: {folder}/q.jsonl, {keys}}}\nmodels: [simulated/m]\ngenerations: {n}\n"
    experiment = parse_experiment(text)
    run_experiment(experiment, folder / "run", open_model=lambda *_: ScriptedModel(texts))
    table = read(folder / "run", ["question", "generation", "score", "answer", "status", "error"]).to_pylist()
    scores = {}
    for row in sorted(table, key=lambda row: row["generation"]):
        assert row["error"] is None, row
        scores.setdefault(row["question"], []).append(row["score"])
    return scores, folder / "run"


def check_rescore(run, scorer, scores):
    """Score the completions of a run again: each score is what it was."""
    result = hs.rescore(run, scorer)
    assert result["agreement"].tolist() == [1], result
    assert len(scores) > 0


def test_f1_is_graded(tmp_path):
    rows = [{"id": "a", "q": "Who wrote Emma?", "t": "Jane Austen"}]
    texts = {"a": ["Jane Austen", "Answer: the novelist Jane Austen", "Answer: Austen", "Answer: Tolstoy"]}
    scores, run = sample(tmp_path, rows, "question: q, target: t, id: id, scorer: f1", texts)
    assert scores["a"] == pytest.approx([1, 0.8, 2 / 3, 0])
    assert hs.score(run).parts[0].score[0] == pytest.approx(sum(scores["a"]) / 4)


def test_ifeval_is_graded(tmp_path):
    row = {
        "id": "a",
        "q": "Two words, no comma.",
        "instruction_id_list": ["punctuation:no_comma", "startend:quotation"],
        "kwargs": [{}, {}],
    }
    keys = "question: q, target: [instruction_id_list, kwargs], id: id, scorer: 'ifeval:share'"
    scores, _ = sample(tmp_path, [row], keys, {"a": ['"one two"', "one two", "one, two"]})
    assert scores["a"] == [1, 0.5, 0]


def test_a_function_of_the_user_is_graded_and_no_run_folder_names_it(tmp_path, monkeypatch):
    (tmp_path / "scorers_of_a_run.py").write_text(
        "def part(completion, target): return len(completion) / 10, completion\n"
    )
    monkeypatch.chdir(tmp_path)
    rows = [{"id": "a", "q": "Write.", "t": "x"}]
    keys = "question: q, target: t, id: id, scorer: 'python:scorers_of_a_run.part'"
    scores, run = sample(tmp_path, rows, keys, {"a": ["x" * 5, "x" * 10, "x"]})
    assert scores["a"] == [0.5, 1, 0.1]
    check_rescore(run, "python:scorers_of_a_run.part", scores)
    with pytest.raises(InputError, match="scored by code: python:scorers_of_a_run.part; name it if it is yours"):
        hs.rescore(run, "own")


@needs_isolation
def test_code_is_run_and_scored_again_as_its_own(tmp_path):
    problems = PROBLEMS[:2]
    texts = {problem.row["task_id"]: [problem.solution, *problem.broken[:2]] for problem in problems}
    keys = "question: prompt, target: [prompt, test, entry_point], id: task_id, scorer: unit-tests"
    scores, run = sample(tmp_path, [problem.row for problem in problems], keys, texts)
    assert list(scores.values()) == [[1, 0, 0]] * 2
    for scorer in ("own", "unit-tests"):
        check_rescore(run, scorer, scores)


def test_a_run_whose_code_would_not_be_isolated_sends_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("howsure.sandbox.isolation.find_isolation", lambda: "limits")
    keys = "question: prompt, target: [prompt, test, entry_point], id: task_id, scorer: unit-tests"
    with pytest.raises(InputError, match="--allow-unsafe-code"):
        sample(tmp_path, [PROBLEMS[0].row], keys, {PROBLEMS[0].row["task_id"]: ["x"]})


@pytest.mark.parametrize("command", ["run", "rescore"])
def test_the_option_allows_code_that_is_not_isolated(command, tmp_path, monkeypatch):
    monkeypatch.setenv(ALLOW_UNSAFE, "0")
    monkeypatch.setattr("howsure.sandbox.isolation.find_isolation", lambda: "limits")
    with pytest.raises(InputError, match="--allow-unsafe-code"):
        choose_isolation()
    arguments = [
        command,
        str(tmp_path / "none"),
        "--allow-unsafe-code",
        *(["--scorer", "exact"] if command == "rescore" else []),
    ]
    CliRunner().invoke(cli, arguments)
    with pytest.warns(HowsureWarning, match="not isolated"):
        assert choose_isolation() == "limits"
