"""A judge for what a scorer could not read: what a scripted judge was told to say, and the scores beside it."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.noted import noted
from helpers.scored_runs import response, run_of

import howsure as hs
from howsure.cli import cli
from howsure.errors import InputError
from howsure.export.conversion import judge_sources
from howsure.judging import judge_run
from howsure.models.model import Choice, Reply
from howsure.sample.experiment import BudgetConfig
from howsure.sample.judge_config import parse_judge
from howsure.sample.yaml_source import YamlSource
from howsure.store import scorer_files
from howsure.store.responses import iterate_rows
from howsure.store.scorer_files import OWN_SCORES

pytestmark = pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")

#: Completion, status and stored score and answer of each question.
ROWS = {
    "q1": ("Answer: 18", "ok", 1.0, "18"),
    "q2": ("Answer: 7", "ok", 0.0, "7"),
    "q3": ("eighteen, right", "unparsed", 0.0, None),
    "q4": ("seven, wrong", "unparsed", 0.0, None),
    "q5": ("hm, mumble", "unparsed", 0.0, None),
    "q6": ("eighteen, right, and cut", "length", 0.0, None),
    "q7": ("I will not, right", "refused", 0.0, None),
}


class ScriptedJudge:
    """Says CORRECT of completions with "right" in them, INCORRECT of "wrong", and nothing readable of others."""

    def __init__(self):
        self.shown = []

    async def generate(self, request):
        text = request.messages[-1]["content"].partition("Answer to check:")[2].partition("<<end")[0]
        self.shown.append(text.strip().splitlines()[-1])
        reply = "Verdict: CORRECT" if "right" in text else "Verdict: INCORRECT" if "wrong" in text else "Well."
        return Reply(tuple(Choice(reply, "stop") for _ in request.generations), "r", "judge", None, 10, 5)

    async def close(self):
        pass


def write_run(path):
    prompt = [{"role": "user", "content": "9 + 9?"}]
    rows = [
        response(q, completion=text, status=status, score=score, answer=answer)
        for q, (text, status, score, answer) in ROWS.items()
    ]
    return run_of(path, rows, prompts=[("b", q, "default", prompt, "18", None) for q in ROWS])


def judge(path, unparsed_of=OWN_SCORES, template="correct"):
    scripted = ScriptedJudge()
    config = parse_judge(YamlSource(f"{{model: simulated/large, template: {template}}}", "judge.yaml"))
    code, scorer = judge_run.judge_folder(
        path, config, BudgetConfig(), is_default=False, unparsed_of=unparsed_of, open_model=lambda *_: scripted
    )
    assert code == 0
    return scripted, scorer


def test_only_unparsed_completions_are_judged(tmp_path):
    """All else keeps score, status and answer; what the judge cannot read stays unparsed, and in the bound."""
    run = write_run(tmp_path / "run")
    scripted, scorer = judge(run)
    assert sorted(scripted.shown) == sorted(ROWS[q][0] for q in ("q3", "q4", "q5", "q6"))
    assert scorer.startswith("run+judge:correct@")
    with noted() as notes:
        [cells] = hs.read(run, scorer="run+judge:correct").cells()
    assert dict(zip(cells.questions, cells.total[0].tolist(), strict=True)) == {
        "q1": 1,
        "q2": 0,
        "q3": 1,
        "q4": 0,
        "q5": 0,
        "q6": 1,
        "q7": 0,
    }
    assert dict(zip(cells.questions, cells.unparsed[0].tolist(), strict=True)) == {**dict.fromkeys(ROWS, 0), "q5": 1}
    assert "judge-read-unparsed" in {note.code for note in notes}
    rows = {row.question: row for row in iterate_rows(scorer_files.stream_rows(run, None, scorer))}
    assert (rows["q3"].answer, rows["q3"].rule, rows["q1"].answer) == ("CORRECT", "judge:correct", "18")
    assert np.isclose(hs.score(hs.read(run, scorer="run"))["score"], 1 / 7)  # nothing stored has changed


def test_judged_again_it_asks_for_nothing_and_is_apart_from_a_judge_of_all(tmp_path):
    """A judge of all completions has its own folder, verdicts and name."""
    run = write_run(tmp_path / "run")
    judge(run)
    scripted, _ = judge(run)
    assert scripted.shown == []
    scripted, scorer = judge(run, unparsed_of=None)
    assert (len(scripted.shown), scorer.startswith("judge:correct@")) == (6, True)
    assert [folder.name.startswith("correct-") for folder in judge_run.find_judge_folders(run)] == [True]


def test_unparsed_by_another_scorer(tmp_path):
    """The scores of that scorer are kept: it reads the numbers of three completions, and cannot read two of them."""
    run = write_run(tmp_path / "run")
    hs.rescore(run, "regex:Answer: 1(8)")
    config = parse_judge(YamlSource("{model: simulated/large}", "judge.yaml"))
    name = "regex:Answer: 1(8)"
    before = hs.read(run, scorer=name).cells()[0]
    scripted, scorer = judge(run, unparsed_of=name)
    assert "Answer: 7" in scripted.shown
    assert len(scripted.shown) == int(before.unparsed.sum()) == 5
    assert scorer.startswith(f"{name}+judge:correct@")
    code, _, again = judge_sources(hs.read(run), config, None, unparsed_of=name)
    assert (code, again) == (0, {run: scorer})


def test_refusals(tmp_path):
    """Nothing to read, and a judge of pairs."""
    run = run_of(tmp_path / "run", [response(completion="18", score=1.0, answer="18")])
    with pytest.raises(InputError, match="no completion is unparsed by run"):
        judge(run)
    table = run_of(tmp_path / "table", [response(completion="18", score=0.0)])
    with pytest.raises(InputError, match="does not keep what was read"):
        judge(table)
    with pytest.raises(InputError, match="pairwise"):
        judge(write_run(tmp_path / "other"), template="pairwise")


def test_it_judges_what_the_newest_scorer_could_not_read(tmp_path):
    run = write_run(tmp_path / "run")
    hs.rescore(run, "regex:no such text (x)")
    _, scorer = judge(run)
    assert scorer.startswith("regex:no such text (x)+judge:correct@")
    with noted() as notes:
        hs.read(run).cells()
    assert {"newest-scores", "judge-read-unparsed"} <= {note.code for note in notes}


def test_command(tmp_path, capsys):
    """The simulated judge, which may err, gives the one unread completion a score."""
    rows = [response(f"q{i}", completion="Answer: 18", score=1.0, answer="18") for i in range(3)]
    rows.append(response("q3", completion="18", score=0.0, status="unparsed"))
    prompt = [{"role": "user", "content": "9 + 9?"}]
    run = run_of(tmp_path / "run", rows, prompts=[("b", f"q{i}", "default", prompt, "18", None) for i in range(4)])
    (tmp_path / "judge.yaml").write_text("model: simulated/xlarge\n")
    arguments = ["rescore", str(run), "--unparsed-by", str(tmp_path / "judge.yaml")]
    cli.main(arguments, standalone_mode=False)
    assert "--scorer run+judge:correct" in capsys.readouterr().out
    assert hs.score(hs.read(run, scorer="run"))["score"].tolist() == [0.75]
    [cells] = hs.read(run, scorer="run+judge:correct").cells()
    assert (cells.total[0, :3].tolist(), int(cells.unparsed.sum()), int(cells.n.sum())) == ([1, 1, 1], 0, 4)
    with pytest.raises(InputError, match="give either"):
        cli.main([*arguments, "--judge", str(tmp_path / "judge.yaml")], standalone_mode=False)
