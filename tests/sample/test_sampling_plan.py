"""Experiments that draw their prompts from a space. Kind of truth: theory (a model that is always right scores 1)."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections import Counter

import msgspec
import pytest
from helpers.scripted_model import ScriptedModel

from howsure.benchmarks import load
from howsure.errors import HowsureWarning, InputError
from howsure.models.model import Choice, Reply
from howsure.sample.experiment import parse_experiment
from howsure.sample.run import run
from howsure.sample.sampling_plan import SamplingPlan, load_benchmark
from howsure.store.responses import read, read_prompts

CITIES = ["Paris", "Rome", "Oslo", "Lima", "Cairo", "Quito"]
VARIANTS = "{space: multiple-choice, sample: 25, seed: 3, default: true, dimensions: {order: [original, shuffle, shuffle-each, alphabetical]}}"


@pytest.fixture
def exam(tmp_path):
    """Thirty questions with four choices each; the right one is at any place."""
    lines = []
    for i in range(30):
        choices = [CITIES[(i + j) % 6] for j in range(4)]
        lines.append(json.dumps({"q": f"Number {i}?", "choices": choices, "a": "ABCD"[i % 4]}))
    (tmp_path / "exam.jsonl").write_text("\n".join(lines))
    return tmp_path


def text(variants=VARIANTS, *, generations=1, more=""):
    return (
        "benchmark: {file: exam.jsonl, question: q, target: a, choices: choices}\n"
        f'models: [{{model: m, base_url: "http://h/v1"}}]\ngenerations: {generations}\nvariants: {variants}\n{more}'
    )


def answering(answer):
    """A model that says `answer(question)`, a canonical one, as each variant asks for it."""
    questions = {}

    def script(request):
        said = request.prompt_variant.write_answer(questions[request.question], answer(questions[request.question]))
        return Reply(tuple(Choice(said, "stop") for _ in request.generations))

    model = ScriptedModel(script)

    def opened(_, benchmark):
        questions.update((question.id, question) for question in benchmark.questions)
        return model

    return model, opened


def sample(folder, spec, answer):
    model, opened = answering(answer)
    experiment = parse_experiment(spec, base=folder)
    return asyncio.run(run(experiment, folder / "r", open_model=opened)), model.requests


def right(question):
    return question.target


def wrong(question):
    return "ABCD"[("ABCD".index(question.target) + 1) % 4]


def test_the_right_choice_is_right_under_every_label_and_order(exam):
    outcome, requests = sample(exam, text(), right)
    rows = read(exam / "r").to_pylist()
    assert (outcome.done, len(rows)) == (26 * 30, 26 * 30)
    assert {row["score"] for row in rows} == {1.0}
    # Kept as the original choice, whatever its label was.
    assert all(row["answer"] == row["target"] for row in rows)
    assert all(row["rule"] for row in rows)
    assert len({row["completion"] for row in rows}) > 15
    asked = {request.messages[-1]["content"] for request in requests}
    assert len(asked) == 26 * 30


def test_a_wrong_choice_is_wrong_under_every_label_and_order(exam):
    sample(exam, text(), wrong)
    rows = read(exam / "r").to_pylist()
    assert {row["score"] for row in rows} == {0.0}
    assert {row["status"] for row in rows} == {"ok"}
    assert all(row["answer"] == "ABCD"[("ABCD".index(row["target"]) + 1) % 4] for row in rows)


def test_more_variants_keep_those_that_are_there(exam):
    few, many = (VARIANTS.replace("sample: 25", f"sample: {n}") for n in (8, 20))
    first, _ = sample(exam, text(few), right)
    variants = {row["variant"] for row in read(exam / "r").to_pylist()}
    second, _ = sample(exam, text(many), right)
    assert (first.done, second.done) == (9 * 30, 12 * 30)
    assert variants < {row["variant"] for row in read(exam / "r").to_pylist()}


def test_the_folder_says_what_each_variant_was(exam):
    sample(exam, text(), right)
    manifest = json.loads((exam / "r/manifest.json").read_text())
    (about,) = manifest["variants"].values()
    assert about["space"]["name"] == "multiple-choice"
    assert about["space"]["dimensions"]["order"] == {"preserving": True, "nested": False}
    assert set(manifest["prompts"][about["default"]]) == {"system", "template"}
    drawn = [values for variant, values in manifest["prompts"].items() if variant != about["default"]]
    assert len(drawn) == 25
    assert all({"instruction", "enumerator", "order"} <= set(values) for values in drawn)
    prompts = read_prompts(exam / "r").to_pylist()
    assert len(prompts) == 26 * 30
    records = [json.loads(prompt["record"]) for prompt in prompts]
    assert all(sorted(record["order"]) == [0, 1, 2, 3] and len(record["labels"]) == 4 for record in records)
    # The record and the messages are of one prompt: its first label stands before the choice that comes first.
    orders = Counter(tuple(record["order"]) for record in records)
    assert len(orders) > 10


def test_held_out_questions_demonstrate_and_are_not_asked(exam):
    variants = (
        "{space: multiple-choice, sample: 6, hold_out: 5, dimensions: {demonstrations: [2], separator: [newline]}}"
    )
    outcome, requests = sample(exam, text(variants), right)
    assert outcome.done == 6 * 25
    asked = {request.question for request in requests}
    assert len(asked) == 25
    assert all(str(request.messages).count("Number ") == 3 for request in requests)


def test_instructions_come_from_a_file_that_was_read_by_somebody(exam):
    entry = '[[instruction]]\nid = "mine"\ntext = "Choose well."\nreviewed = {}\n'
    spec = VARIANTS.replace("sample: 25", "sample: 4, instructions: mine.toml")
    (exam / "mine.toml").write_text(entry.format("false"))
    with pytest.raises(InputError, match=r"mine.toml.*mine.*read them and set reviewed = true"):
        sample(exam, text(spec), right)
    (exam / "mine.toml").write_text(entry.format("true"))
    _, requests = sample(exam, text(spec), right)
    drawn = [request for request in requests if request.prompt_variant.values.get("instruction") == "mine"]
    assert drawn
    assert all("Choose well." in str(request.messages) for request in drawn)


@pytest.mark.parametrize(
    ("variants", "message"),
    [
        ("{space: multiple-choise, sample: 2}", "did you mean 'multiple-choice'"),
        ("{space: multiple-choice, sample: 0}", "a sample of 0 variants; give 1 or more"),
        ("{space: multiple-choice, sample: 2, instructions: gone.toml}", "cannot read the instructions: No such file"),
        ("{space: multiple-choice, sample: 2, instructions: [a]}", "instructions is .'a'.; name a file"),
        ("{space: multiple-choice, sample: 2, pool: 3}", "pool is 3; name a benchmark"),
    ],
)
def test_what_is_wrong_with_a_space_is_told_before_anything_is_written(exam, variants, message):
    with pytest.raises(InputError, match=message):
        sample(exam, text(variants), right)
    assert not (exam / "r").exists()


def test_a_pool_is_another_benchmark(exam):
    pool = "{file: exam.jsonl, question: q, target: a, choices: choices}"
    variants = f"{{space: multiple-choice, sample: 2, pool: {pool}, dimensions: {{demonstrations: [1]}}}}"
    from howsure.benchmarks import load

    experiment = parse_experiment(text(variants), base=exam)
    with pytest.raises(InputError, match="demonstration"):
        # They are the questions themselves: that is noticed.
        SamplingPlan.build(experiment, load(experiment.benchmark, base=exam))


def test_paraphrases_of_questions_are_taken_from_a_file(exam):
    ids = [
        question.id
        for question in load(
            {"file": "exam.jsonl", "question": "q", "target": "a", "choices": "choices"}, base=exam
        ).questions
    ]
    rows = [
        json.dumps({"id": identity, "text": f"Paraphrase {i}?", "reviewed": True}) for i, identity in enumerate(ids)
    ]
    (exam / "more.jsonl").write_text("\n".join(rows))
    variants = "{space: multiple-choice, sample: 3, paraphrases: more.jsonl, dimensions: {wording: [paraphrase]}}"
    experiment = parse_experiment(text(variants), base=exam)
    plan = SamplingPlan.build(experiment, load(experiment.benchmark, base=exam))
    for question in plan.questions:
        content = plan.variants[0].messages(question)[0]["content"]
        assert f"Paraphrase {ids.index(question.id)}?" in content
        assert question.text not in content
    bad = parse_experiment(text(variants.replace("more.jsonl", "3")), base=exam)
    with pytest.raises(InputError, match="variants: paraphrases is 3; name a file"):
        SamplingPlan.build(bad, load(bad.benchmark, base=exam))


@pytest.mark.parametrize(("limit", "is_short"), [(100, True), (512, False)])
def test_a_small_limit_of_tokens_is_warned_of_where_variants_ask_for_reasoning(exam, limit, is_short):
    variants = "{space: multiple-choice, sample: 6, seed: 1, dimensions: {reasoning: [none, step-by-step]}}"
    spec = text(variants).replace('"http://h/v1"', f'"http://h/v1", max_tokens: {limit}')
    experiment = parse_experiment(spec, base=exam)
    benchmark = load(experiment.benchmark, base=exam)
    if is_short:
        with pytest.warns(
            HowsureWarning, match=r"\d of 6 variants ask for reasoning, and max_tokens may cut it off .*m \(100\)"
        ):
            SamplingPlan.build(experiment, benchmark)
    else:
        SamplingPlan.build(experiment, benchmark)


def test_each_variant_asks_its_own_sample_of_the_questions(exam):
    own = VARIANTS.replace("default: true", "default: true, questions_per_variant: 8")
    experiment = parse_experiment(text(own), base=exam)
    plan = SamplingPlan.build(experiment, load(experiment.benchmark, base=exam))
    sample(exam, text(own), right)
    asked = Counter((row["variant"], row["question"]) for row in read(exam / "r").to_pylist())
    assert set(asked.values()) == {1}
    counts = Counter(variant for variant, _ in asked)
    assert counts.pop(plan.space_record["default"]) == 30
    assert len(counts) == 25
    assert set(counts.values()) == {8}
    assert all(plan.questions_of[variant] == {q for v, q in asked if v == variant} for variant in counts)
    assert len(set(plan.questions_of.values())) > 20
    assert read_prompts(exam / "r", ["variant"]).num_rows == 30 + 25 * 8


def test_a_larger_sample_of_questions_asks_the_missing_ones_only(exam):
    own = VARIANTS.replace("default: true", "questions_per_variant: 8")
    assert len(sample(exam, text(own), right)[1]) == 25 * 8
    assert sample(exam, text(own), right)[1] == []
    assert len(sample(exam, text(own.replace("variant: 8", "variant: 10")), right)[1]) == 25 * 2


def test_shards_of_variants_with_their_own_questions_are_disjoint_and_together_all(exam):
    own = VARIANTS.replace("default: true", "questions_per_variant: 8")
    experiment = parse_experiment(text(own), base=exam)
    benchmark = load(experiment.benchmark, base=exam)

    def prompts(shard):
        plan = SamplingPlan.build(msgspec.structs.replace(experiment, shard=shard), benchmark)
        return {(q, v) for q in plan.question_ids for v in plan.variant_ids if plan.asks(q, v)}

    parts = [prompts((i, 3)) for i in (1, 2, 3)]
    assert sum(map(len, parts)) == 25 * 8
    assert set.union(*parts) == prompts((1, 1))


@pytest.mark.parametrize("more", ["until: {width: 0.2}\n", "allocate: adaptive\n"])
def test_rules_that_need_whole_rounds_are_refused(exam, more):
    own = VARIANTS.replace("default: true", "questions_per_variant: 8")
    experiment = parse_experiment(text(own, generations=4, more=more), base=exam)
    with pytest.raises(InputError, match="questions_per_variant has none"):
        SamplingPlan.build(experiment, load(experiment.benchmark, base=exam))


@pytest.mark.parametrize("is_judged", [True, False])
def test_the_scorer_of_questions_matters_only_without_a_judge(tmp_path, is_judged):
    (tmp_path / "sums.csv").write_text("question,answer\n1 + 1?,2\n1 + 2?,3\n")
    lines = "{benchmark: {file: sums.csv, question: question, target: answer}, models: [simulated/small]"
    lines += ", judge: {model: simulated/strong}}" if is_judged else "}"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_benchmark(parse_experiment(lines, base=tmp_path))
    assert sum("no scorer is named" in str(one.message) for one in caught) == (not is_judged)
