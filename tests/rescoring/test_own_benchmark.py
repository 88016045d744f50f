"""Kind of truth: another program's output, of the variants that sampled; here they read what our scorers read from the folder."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from helpers.scored_runs import context, response, run_of

import howsure as hs
from howsure.benchmarks import load
from howsure.benchmarks.question import Benchmark, Prompt, Question
from howsure.errors import HowsureWarning, InputError
from howsure.prompts.instructions import load_packaged
from howsure.prompts.variants import FixedPrompt, draw_variants
from howsure.rescoring.choice_scorer import build_choice_scorer
from howsure.rescoring.own_benchmark import build_own_scorer
from howsure.scorers.completion_text import CompletionContext
from howsure.scorers.scorer_parts import ScoringItem
from howsure.store.manifest import Manifest

CITIES = ("Rome", "Oslo", "Bern")
COMPLETIONS = [
    "The answer is (II).",
    "b",
    "B",
    "Oslo",
    "2",
    "(C)",
    "I think it is Rome or Oslo",
    "β",
    "",
    "3: Bern",
    "The answer is (3).",
    "III",
]


def multiple_choice(folder: Path) -> Benchmark:
    lines = [
        {"q": f"Question {i}?", "options": ["Rome", "Oslo", "Bern"] if i % 2 else ["7", "8", "9"], "a": "ABC"[i % 3]}
        for i in range(8)
    ]
    (folder / "cities.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return load({"file": "cities.jsonl", "question": "q", "choices": "options", "target": "a"}, base=folder)


def sampled_run(path, benchmark, variants):
    rows, prompts = [], []
    for question in benchmark.questions:
        for variant in variants:
            record = variant.record(question)
            prompts.append((benchmark.name, question.id, variant.id, [], question.target, record))
            texts = [*COMPLETIONS, variant.write_answer(question, question.target)]
            for k, text in enumerate(texts, 1):
                common = {"benchmark": benchmark.name, "variant": variant.id, "target": question.target}
                rows.append(response(question.id, k, completion=text, score=0.0, **common))
    about = Manifest(
        benchmarks={benchmark.name: {"questions": len(benchmark.questions), **benchmark.source}},
        prompts={variant.id: dict(variant.values) for variant in variants},
    )
    return run_of(path, rows, prompts, about), rows


@pytest.mark.long
@pytest.mark.parametrize("nested", [["order"], ["order", "instruction", "answer"]])
def test_scored_again_reads_what_the_variants_that_asked_read(tmp_path, nested):
    """By `own` with the benchmark's file, and by `choice` with what the run stores: its prompt has the question."""
    benchmark = multiple_choice(tmp_path)
    spec = {"space": "multiple-choice", "sample": 60, "seed": 4, "default": True, "hold_out": 2, "nested": nested}
    spec["dimensions"] = {
        "demonstrations": [0, 2],
        "answer": ["label", "text"],
        "enumerator": ["digits", "roman"],
        "instruction": ["none", load_packaged("multiple-choice")[0].id],
    }
    found = draw_variants(spec, benchmark)
    path, rows = sampled_run(tmp_path / "runs" / "one", found.benchmark, found.variants)
    questions, variants = ({each.id: each for each in group} for group in (benchmark.questions, found.variants))
    chosen = build_own_scorer("own", context(path))
    stored = build_choice_scorer("choice:letter", context(path))
    read = 0
    for row in rows:
        wanted = variants[row.variant].read(questions[row.question], row.completion)
        got = chosen.score(row.completion, ScoringItem(row.benchmark, row.question, row.variant, row.target))
        assert (got.answer, got.rule) == wanted
        asked = CompletionContext(questions[row.question].text)
        again = stored.score(row.completion, ScoringItem(row.benchmark, row.question, row.variant, row.target, asked))
        assert (again.answer, again.rule) == wanted
        assert got.score == float(wanted.answer == row.target)
        read += wanted.answer is not None
    assert 0.3 < read / len(rows) < 0.95


def test_own_compares_completions_with_the_question_and_not_with_the_instruction(tmp_path):
    """The sentence repeats the question; the stored prompt has the words of the instruction and of the choices, too."""
    question = {"q": "How many legs does a spider have?", "options": ["8", "6", "10", "12"], "a": "A"}
    (tmp_path / "animals.jsonl").write_text(json.dumps(question))
    benchmark = load({"file": "animals.jsonl", "question": "q", "choices": "options", "target": "a"}, base=tmp_path)
    variant = FixedPrompt(benchmark, benchmark.prompt)
    path, _ = sampled_run(tmp_path / "run", benchmark, [variant])
    (asked,) = benchmark.questions
    prompt = (
        "Read the following question with care, think about each of the options that are listed below it, and then reply"
        " with the one that you consider to be right.\n\nHow many legs does a spider have?\nA. 8\nB. 6\nC. 10\nD. 12"
    )
    stored = CompletionContext(prompt, asked.choices)
    completion = "A spider has 8 legs."
    assert variant.read(asked, completion).answer == "A"
    chosen = build_own_scorer("own", context(path))
    item = ScoringItem(benchmark.name, asked.id, variant.id, asked.target, stored)
    assert chosen.score(completion, item).score == 1


def test_own_without_choices_reads_as_the_kind_of_the_file_says_without_the_file(tmp_path):
    (tmp_path / "sums.jsonl").write_text('{"q": "9 * 2", "a": "#### 18"}')
    spec = {"file": "sums.jsonl", "question": "q", "target": "a", "target_after": "####", "answer": "numeric"}
    benchmark = load(spec, base=tmp_path)
    path, _ = sampled_run(tmp_path / "run", benchmark, [FixedPrompt(benchmark, benchmark.prompt)])
    (tmp_path / "sums.jsonl").unlink()
    chosen = build_own_scorer("own", context(path))
    asked = ScoringItem("sums", benchmark.questions[0].id, benchmark.prompt.id, "18")
    assert chosen.score("It makes 18.0", asked) == (1.0, "18", "benchmark")
    assert chosen.score("no", asked) == (0.0, None, "benchmark")


@pytest.mark.parametrize("spec", ["directions-small", {"name": "population", "size": 20, "seed": 3}])
def test_own_reads_built_in_benchmarks_as_they_read(tmp_path, spec):
    benchmark = load(spec)
    path, _ = sampled_run(tmp_path, Benchmark(**{**vars(benchmark), "questions": benchmark.questions[:3]}), [])
    chosen = build_own_scorer("own", context(path))
    for question in benchmark.questions[:3]:
        for answer in (question.target, *question.alternatives):
            got = chosen.score(
                f"The answer is {answer}.", ScoringItem(benchmark.name, question.id, "v", question.target)
            )
            assert (got.answer, got.score) == (answer, float(answer == question.target))


def test_own_reads_recorded_scores_and_benchmarks_that_are_handed_in(tmp_path):
    sources = {"rec": {"kind": "replay", "file": "gone.csv"}, "mine": {"kind": "custom"}}
    path = run_of(tmp_path, [], manifest=Manifest(benchmarks=sources))
    with pytest.raises(
        InputError, match="the manifest does not state how answers to 'mine' are read; name a scorer such as numeric"
    ):
        build_own_scorer("own", context(path))
    mine = Benchmark("mine", [Question("q", "?", "yes")], Prompt(), extract=lambda text: text.strip() or None)
    chosen = build_own_scorer("own", context(path, {"mine": mine}))
    assert chosen.score("0.25", ScoringItem("rec", "q", "v", "1.0")) == (0.25, "0.25", "benchmark")
    assert chosen.score(" yes ", ScoringItem("mine", "q", "v", "yes")) == (1.0, "yes", "benchmark")


def test_own_wants_the_file_as_it_was_and_finds_it_where_it_is_said(tmp_path):
    (tmp_path / "data").mkdir()
    benchmark = multiple_choice(tmp_path / "data")
    variant = FixedPrompt(benchmark, benchmark.prompt)
    path, _ = sampled_run(tmp_path / "run", benchmark, [variant])
    with pytest.raises(
        InputError, match=r"cities\.jsonl, the file of 'cities', is not near the run folder; name the folder"
    ):
        build_own_scorer("own", context(path))
    chosen = build_own_scorer("own", context(path, base=tmp_path / "data"))
    question = benchmark.questions[0]
    asked = ScoringItem("cities", question.id, variant.id, question.target)
    assert chosen.score(question.target, asked).score == 1.0
    with pytest.raises(ValueError, match="does not have this question"):
        chosen.score("A", asked._replace(question="other"))
    with (tmp_path / "data" / "cities.jsonl").open("a") as file:
        file.write("\n")
    with pytest.raises(InputError, match="was changed after the run"):
        build_own_scorer("own", context(path, base=tmp_path / "data"))


def test_a_choice_of_our_own_run_is_read_by_its_labels(tmp_path):
    # the order and the labels of the prompt are kept, the texts of the choices are not
    benchmark = multiple_choice(tmp_path)
    found = draw_variants({"space": "multiple-choice", "sample": 6, "seed": 1}, benchmark)
    path, _ = sampled_run(tmp_path / "run", found.benchmark, found.variants)
    chosen = build_choice_scorer("choice", context(path))
    for question in benchmark.questions:
        for variant in found.variants:
            for letter in "ABC":
                said = f"The answer is {variant.write_answer(question, letter)}"
                got = chosen.score(said, ScoringItem(benchmark.name, question.id, variant.id, question.target))
                assert (got.answer, got.score) == (letter, float(letter == question.target))


def test_open_answers_of_a_published_benchmark_are_scored_again_without_its_files(tmp_path):
    (tmp_path / "main").mkdir()
    rows = [{"question": f"What is {i} + 1?", "answer": f"#### {i + 1}"} for i in range(5)]
    (tmp_path / "main" / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    experiment = {"benchmark": {"name": "gsm8k", "path": str(tmp_path)}, "models": ["simulated/medium"]}
    (tmp_path / "exp.yaml").write_text(json.dumps(experiment))
    with pytest.warns(HowsureWarning, match="5 questions in place of 1,319"):
        hs.run(tmp_path / "exp.yaml", tmp_path / "run")
    (tmp_path / "main" / "test.jsonl").unlink()
    hs.rescore(tmp_path / "run", scorer="own")
    own = hs.score(hs.read(tmp_path / "run", scorer="own"))
    assert own["score"].tolist() == hs.score(hs.read(tmp_path / "run", scorer="run"))["score"].tolist()


MARKED = "marked_scorer.py"


@pytest.mark.parametrize(
    "source",
    [
        {"kind": "file", "scorer": "python:marked_scorer.f"},
        {"kind": "file", "scorer": "PYTHON:marked_scorer.f", "choices": "x"},
        {"kind": "file", "scorer": "exact", "choices": "x", "spec": {"scorer": "python:marked_scorer.f"}},
        {"kind": "file", "scorer": "exact", "choices": "x", "spec": {"scorer": ["python:marked_scorer.f"]}},
        {"kind": "file", "scorer": "exact", "choices": "x", "spec": {"file": None, "name": "lm_eval/sums"}},
        {"kind": "catalogue", "choices": "x", "spec": {"scorer": "python:marked_scorer.f"}},
        {"kind": "catalogue", "choices": "x", "spec": {"name": "gsm8k", "scorer": " python:marked_scorer.f"}},
        {"kind": "lm_eval", "name": "x", "spec": {"scorer": "python:marked_scorer.f"}},
        {"kind": "built-in", "name": "population", "scorer": "python:marked_scorer.f"},
        {"kind": "built-in", "name": "lm_eval/sums", "include_path": "tasks"},
        {
            "kind": "built-in",
            "file": "cities.jsonl",
            "question": "q",
            "target": "a",
            "scorer": "python:marked_scorer.f",
        },
    ],
    ids=str,
)
def test_a_run_folder_from_somebody_else_names_no_code(tmp_path, monkeypatch, source):
    """Whatever its manifest says of the benchmark, no module of the working folder or the run folder is imported."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums.jsonl").write_text('{"q": "9 * 2", "a": "18"}')
    benchmark = load({"file": "sums.jsonl", "question": "q", "target": "a", "scorer": "exact"}, base=tmp_path)
    code = f"from pathlib import Path\nPath({str(tmp_path)!r}, 'imported').touch()\ndef f(*a, **k): return 1.0\n"
    (tmp_path / MARKED).write_text(code)
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "sums.yaml").write_text(
        "task: sums\ndataset_path: json\noutput_type: generate_until\ndoc_to_text: !function sums.f\n"
    )
    (tmp_path / "tasks" / "sums.py").write_text(code)
    given = json.loads(str(benchmark.source["spec"])) | source.get("spec", {})
    given = {key: value for key, value in given.items() if value is not None}
    about = {**benchmark.source, **source, "spec": json.dumps(given)}
    path = run_of(tmp_path / "run", [response("q", 1, completion="A")], manifest=Manifest(benchmarks={"b": about}))
    with suppress(InputError, ValueError):
        build_own_scorer("own", context(path)).score("A", ScoringItem("b", "q", "v", "A"))
    assert not (tmp_path / "imported").exists()
