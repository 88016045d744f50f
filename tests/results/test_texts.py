"""QuestionTexts of chosen questions, from run folders and from logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from howsure.results import texts as texts_of
from howsure.results.sources import find_sources
from howsure.results.texts import PromptText, QuestionText, QuestionTexts, split_prompt
from howsure.store import scorer_files
from howsure.store.manifest import Manifest
from howsure.store.responses import RunFolder, stream
from howsure.store.schema import Response

HERE = Path(__file__).resolve()
LOG = HERE.parents[1] / "logs" / "examples" / "lm_eval"
INSPECT = HERE.parents[2] / "../shared/data/logs/inspect"
QUESTIONS = [f"q{i}" for i in range(12)]
MODELS, VARIANTS = ("large", "small"), ("a", "b")
HOSTILE = "</script>\x00\u202e\u2028<!--"


def row(question, model, variant, generation, **rest):
    rest = {"score": 1.0, "answer": "A", "target": "A"} | rest
    said = f"{model} on {question} as {variant}, {generation} {HOSTILE}"
    return Response(
        benchmark="bench",
        model=model,
        question=question,
        variant=variant,
        generation=generation,
        completion=said,
        **rest,
    )


def rows():
    return [row(q, m, v, g) for q in QUESTIONS for m in MODELS for v in VARIANTS for g in (1, 2)]


def sent(question, variant, record=None):
    text = f"Q: {question} {HOSTILE}?\nA. yes\nB. no" if variant == "b" else f"{variant}: {question}"
    return (
        "bench",
        question,
        variant,
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}],
        "A",
        record,
    )


@pytest.fixture
def path(tmp_path):
    with RunFolder(tmp_path / "run") as run:
        prompts = {"a": {}, "b": {"system": "Be brief.", "template": "Q: {question}\n{choices}"}}
        Manifest(prompts=prompts, variants={"bench": {"default": "b"}, "other": {}}).save(tmp_path / "run")
        run.put_prompts([sent(q, v) for q in QUESTIONS for v in VARIANTS])
        run.append(rows())
    return tmp_path / "run"


# an independent version: the rows as they were planted


@pytest.mark.parametrize("small", [0, 10**9])
def test_a_folder_gives_what_was_written_in_the_order_asked(path, small, monkeypatch):
    monkeypatch.setattr(texts_of, "_SMALL", small)
    wanted = ["q7", "no such", "q0", "q11"]
    found = list(QuestionTexts(find_sources(path)).read("bench", wanted))
    assert [one.question.question for one in found] == ["q7", "q0", "q11"]
    for one in found:
        mine = sorted(
            (r for r in rows() if r.question == one.question.question), key=lambda r: (r.model, r.variant, r.generation)
        )
        assert list(one.generations) == mine
        assert [prompt.variant for prompt in one.question.prompts] == ["b", "a"]
        assert one.question.text == f"{one.question.question} {HOSTILE}?"
        assert one.question.choices == ("yes", "no")
        assert one.question.target == "A"
        assert one.question.prompts[1] == PromptText(
            "a", (("system", "Be brief."), ("user", f"a: {one.question.question}"))
        )
    assert list(QuestionTexts(find_sources(path)).read("another", wanted)) == []


def test_one_question_and_none(path):
    texts = QuestionTexts(find_sources(path))
    assert texts
    assert len(texts.read_question("bench", "q3").generations) == 8
    assert texts.read_question("bench", "q33") is None


def test_scores_are_those_of_the_scorer_that_was_chosen(path):
    with stream(path) as reader:
        keys = [
            tuple(one[name] for name in ("benchmark", "model", "question", "variant", "generation"))
            for one in reader.read_all().to_pylist()
        ]
    scorer_files.write_scores(
        path, "strict", "1", (scorer_files.RescoredRow(*key, score=0.0, answer="none") for key in keys)
    )
    for wanted in (["q1"], ["q1", "q2"]):
        for one in QuestionTexts(find_sources(path, scorer="strict")).read("bench", wanted):
            assert {(r.score, r.answer) for r in one.generations} == {(0.0, "none")}
            assert one.generations[0].completion.startswith("large on q")


def test_folders_stand_together_and_failed_starts_have_no_manifest(path, tmp_path):
    with RunFolder(tmp_path / "more") as run:
        run.append([row("q0", "third", "c", 1, target=None), row("alone", "third", "c", 1, target="T")])
        run.put_prompts(
            [
                (
                    "bench",
                    "q0",
                    "c",
                    [{"role": "user", "content": [{"type": "text", "text": "é"}]}],
                    "",
                    {"choices": ["x", 7]},
                )
            ]
        )
    texts = QuestionTexts(find_sources([path, tmp_path / "more"]))
    first, alone = texts.read("bench", ["q0", "alone"])
    assert [r.model for r in first.generations][-1] == "third"
    assert len(first.generations) == 9
    assert [prompt.variant for prompt in first.question.prompts] == ["b", "a", "c"]
    assert first.question.prompts[2].messages == (("user", '[{"type": "text", "text": "é"}]'),)
    assert alone.question == QuestionText("bench", "alone", target="T")
    (only,) = QuestionTexts(find_sources(tmp_path / "more")).read("bench", ["q0"])
    assert only.question.choices == ("x", "7")
    assert only.question.target is None


def test_asked_is_the_default_variant_of_every_question(path):
    found = QuestionTexts(find_sources(path)).questions()
    assert [name for _, name in found] == sorted(QUESTIONS)
    assert {len(one.prompts) for one in found.values()} == {1}
    assert {one.prompts[0].variant for one in found.values()} == {"b"}
    whole = QuestionTexts(find_sources(path)).read_question("bench", "q5").question
    mine = found["bench", "q5"]
    assert (mine.text, mine.choices, mine.target) == (whole.text, whole.choices, whole.target)


def test_tables_have_no_texts(tmp_path):
    (tmp_path / "table.csv").write_text("model,question,score\nm,q,1\n")
    texts = QuestionTexts(find_sources(tmp_path / "table.csv"))
    assert not texts
    assert texts.without == [str(tmp_path / "table.csv")]
    assert texts.read_question("table", "q") is None


# another program's output, read here line by line


def test_a_log_gives_what_its_program_wrote():
    file = next(LOG.glob("samples_tiny_gen_*.jsonl"))
    lines = {line["doc_hash"]: line for line in map(json.loads, file.read_text().splitlines())}
    texts = QuestionTexts(find_sources([file, *LOG.glob("samples_tiny_mc_*.jsonl")]))
    found = list(texts.read("tiny_gen", [*lines][::-1]))
    assert [one.question.question for one in found] == [*lines][::-1]
    for one in found:
        line = lines[one.question.question]
        assert [r.completion for r in one.generations] == line["resps"][0]
        assert one.question.text == line["arguments"]["gen_args_0"]["arg_0"]
        assert one.question.target == line["target"]
    asked = texts.questions()
    assert {name for benchmark, name in asked if benchmark == "tiny_gen"} == set(lines)
    assert {asked["tiny_gen", name].target for name in lines} == {line["target"] for line in lines.values()}


def test_choices_of_a_log_are_apart_from_the_text():
    file = next(LOG.glob("samples_tiny_mc_*.jsonl"))
    line = json.loads(file.read_text().splitlines()[0])
    asked = QuestionTexts(find_sources(file)).read_question("tiny_mc", line["doc_hash"]).question
    assert asked.choices == tuple(line["doc"]["choices"])
    assert asked.text == line["doc"]["q"]
    assert asked.target == "ABCD"[line["doc"]["label"]]


def test_generations_of_a_second_log_are_counted_on():
    first = next(LOG.glob("samples_tiny_gen_*.jsonl"))
    texts = QuestionTexts(find_sources(first))
    texts.logs *= 2
    line = json.loads(first.read_text().splitlines()[0])
    one = texts.read_question("tiny_gen", line["doc_hash"])
    assert [r.generation for r in one.generations] == [1, 2, 3, 4, 5, 6]
    assert [r.completion for r in one.generations] == line["resps"][0] * 2
    assert len(one.question.prompts) == 1


@pytest.mark.shared
def test_samples_of_an_inspect_log_are_those_of_its_file():
    if not INSPECT.exists():
        pytest.skip("../shared/data/logs/inspect is not here")
    file = min(INSPECT.glob("*.json"))
    samples = json.loads(file.read_text())["samples"]
    (benchmark,) = find_sources(file)[0].info.benchmarks
    found = {
        one.question.question: one
        for one in QuestionTexts(find_sources(file)).read(benchmark, sorted({s["id"] for s in samples}))
    }
    assert len(found) == len({s["id"] for s in samples})
    for sample in samples:
        one = found[sample["id"]]
        (mine,) = [r for r in one.generations if r.generation == sample["epoch"]]
        assert mine.completion == sample["output"]["choices"][0]["message"]["content"]
        assert one.question.target == sample["target"]
        assert one.question.choices == tuple(sample["choices"])
        assert sample["input"] in one.question.text


# theory: a template and what filled it


@pytest.mark.parametrize(
    ("template", "text", "told"),
    [
        ("{question}", "Say {choices}.", ("Say {choices}.", ())),
        ("Q: {question}\n{choices}", "Q: what\nA. x\nB. y\nz", ("what", ("x", "y\nz"))),
        ("Q: {question}\n{choices}", "Q: what\nA. x\nC. y", ("Q: what\nA. x\nC. y", ())),
        ("{question} {question}", "what what", ("what what", ())),
        ("Q: {question}", "another prompt", ("another prompt", ())),
        ("{choices}", "A. x", ("A. x", ())),
        (None, "as it is", ("as it is", ())),
    ],
)
def test_what_does_not_fit_the_template_stays_whole(template, text, told):
    assert split_prompt(text, template) == told
