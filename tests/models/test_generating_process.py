"""Simulated models under prompt variants.

Kinds of truth: theory (the law written out again, one question at a time); seeded simulation against the known truth.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.simulated_requests import ask, normal
from helpers.true_main_effects import main_effects

from howsure.benchmarks import Benchmark, Prompt, Question, load
from howsure.benchmarks.question import ParsedAnswer
from howsure.errors import InputError
from howsure.models.generating_process import ABILITIES, answer_shares
from howsure.models.model import Settings
from howsure.models.simulated import UNREADABLE, SimulatedModel, population_score, truth
from howsure.prompts import FixedPrompt, draw_variants
from howsure.stats.prompts.effects import estimate_effects

CITIES = ("Rome", "Paris", "Oslo", "Bern", "Riga", "Bonn")
CHOICES = Benchmark(
    "cities",
    [Question(f"q{i}", f"Which is number {i}?", "ABCD"[i % 4], choices=CITIES[i % 3 :][:4]) for i in range(40)],
    Prompt(template="{question}\n{choices}"),
    extract=lambda text: text if text in set("ABCD") else None,
)
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*drawn again have the same prompts"
)  # 12 draws of four points are wanted

SUMS = load({"name": "population", "size": 200, "seed": 3})
SMALL = load("directions-small")
MC = draw_variants({"space": "multiple-choice", "sample": 60, "seed": 1}, CHOICES)
#: Few points, so that some are drawn twice.
FEW = {
    "space": "multiple-choice",
    "dimensions": {
        "instruction": ["terse-label"],
        "enumerator": ["roman", "greek"],
        "wrapper": ["A."],
        "separator": ["newline", "pipe"],
        "order": ["original"],
        "demonstrations": ["0"],
    },
    "sample": 12,
}
NESTED = {"space": "multiple-choice", "nested": ["enumerator", "order"], "sample": 5, "seed": 2}


def names(space):
    return {d.name: [value.name for value in d.values] for d in space.dimensions}


def own_values(point, question):
    """Name of the value of each dimension for one question."""
    drawn = {name: pick.value.name for name, pick in point.draws.items() if pick.value is not None}
    return drawn | point.record(question).get("values", {})


def slow_truth(name, benchmark, point):
    """The law, written again from its description: loops, no shared code."""
    theta = {"small": -0.3, "medium": 0.73, "large": 1.68, "xlarge": 2.68}[name]
    scores = []
    for question in benchmark.questions:
        a = 1.2 * math.e ** (0.35 * normal(benchmark, "question", question.id))
        b = 1.8 * normal(benchmark, "question", question.id, skip=8)
        z = a * (theta - b)
        z += 0.6 * normal(benchmark, "interaction", question.id, name)
        for dimension, value in own_values(point, question).items():
            z += 0.15 * normal(benchmark, "value", dimension, value, name)
        z += 0.1 * normal(benchmark, "residual", point.content, name)
        z += 0.35 * normal(benchmark, "crossed", point.content, question.id)
        scores.append(0.995 / (1 + math.exp(-z)))
    return scores


@pytest.mark.parametrize(
    "spec", [{"space": "multiple-choice", "sample": 3}, FEW, NESTED], ids=["space", "few", "nested"]
)
@pytest.mark.parametrize("name", ABILITIES)
def test_truth_of_a_point_comes_from_its_values(name, spec):
    for point in draw_variants(spec, CHOICES).variants[:3]:
        np.testing.assert_allclose(
            truth(SimulatedModel(name, CHOICES), variant=point), slow_truth(name, CHOICES, point), rtol=1e-12
        )


def test_the_law_of_points_never_changes_by_itself():
    """Frozen values: simulated runs repeat on every machine and in later versions."""
    text = 'Work through the problem step by step. Put the final number on the last line, after "Answer:".'
    one = [{"imperative-steps": text}]
    point = draw_variants(
        {"space": "maths", "sample": 1, "seed": 5, "dimensions": {"instruction": one}}, SUMS
    ).variants[0]
    model = SimulatedModel("medium", SUMS)
    np.testing.assert_allclose(truth(model, variant=point)[:3], [0.40942, 0.72909, 0.95069], atol=5e-6)


def test_draws_of_one_content_share_their_truth_and_no_generation():
    drawn = draw_variants(FEW, CHOICES).variants
    first, again = next((a, b) for a, b in itertools.combinations(drawn, 2) if a.content == b.content)
    assert first.id != again.id
    model = SimulatedModel("medium", CHOICES)
    np.testing.assert_array_equal(truth(model, variant=first), truth(model, variant=again))
    texts = [[c.text for c in ask(model, CHOICES.questions[0], range(1, 41), asked=p).choices] for p in (first, again)]
    assert texts[0] != texts[1]
    assert {p.content for p in drawn} > {first.content}
    other = next(p for p in drawn if p.content != first.content)
    assert (truth(model, variant=first) != truth(model, variant=other)).all()


# What is said


@pytest.mark.parametrize(
    "spec", [{"space": "multiple-choice", "sample": 60, "seed": 1}, NESTED], ids=["crossed", "nested"]
)
def test_each_variant_reads_what_was_drawn(spec):
    """Every answer, phrase and enumerator: what is said must be what was drawn, or the truth would not be the truth."""
    model, seen = SimulatedModel("small", CHOICES), set()
    for point in draw_variants(spec, CHOICES).variants:
        for row in (0, 1, 2, 3):
            question = CHOICES.questions[row]
            assert model.process.answers(row)[0] == question.target
            assert sorted(model.process.answers(row)) == list("ABCD")
            for answer, phrase in itertools.product("ABCD", range(5)):
                text = model._write_completion(answer, phrase, question, point).text
                assert point.read(question, text).answer == answer
                seen.add(text)
            assert point.read(question, "I am not sure.").answer is None
    assert {"II", "γ", "(d)", "@", "3."} & seen == {"II", "γ", "@", "3."}
    assert len(seen) >= 5 * 6 * 4 * 0.9  # phrases x enumerators x labels; some repeat


@pytest.mark.long
def test_frequencies_are_the_truth_of_the_point():
    """Within 4 sigma in the mean of each point, and of each choice by its original place."""
    model, n = SimulatedModel("small", CHOICES, seed=5), 100
    for point in MC.variants[:4]:
        p = truth(model, variant=point)
        counts, expected = dict.fromkeys("ABCD", 0), dict.fromkeys("ABCD", 0.0)
        right = []
        z = model.process.logits(point)
        shares = answer_shares(z, model.process.wrong, 1.0, 1.0) * (1 - UNREADABLE)
        for row, question in enumerate(CHOICES.questions):
            given = [
                point.read(question, c.text).answer for c in ask(model, question, range(1, n + 1), asked=point).choices
            ]
            right.append(given.count(question.target))
            for answer, share in zip(model.process.answers(row), shares[row], strict=True):
                counts[answer] += given.count(answer)
                expected[answer] += n * share
        assert abs(np.mean(right) / n - p.mean()) < 4 * math.sqrt((p * (1 - p)).sum() / n) / p.size
        for answer, count in counts.items():
            assert abs(count - expected[answer]) < 4 * math.sqrt(expected[answer])


@pytest.mark.parametrize("benchmark", [SMALL, SUMS, CHOICES], ids=lambda b: b.name)
def test_a_plain_prompt_is_answered_as_ever(benchmark):
    """That the variant itself is handed over changes neither the truth nor a letter of what is said."""
    model, own = SimulatedModel("medium", benchmark), FixedPrompt(benchmark, benchmark.prompt)
    np.testing.assert_array_equal(truth(model, variant=own), truth(model))
    if benchmark is CHOICES:
        benchmark = replace(benchmark, extract=lambda text: own.read(benchmark.questions[0], text).answer)
        model = SimulatedModel("medium", benchmark)
    for question in benchmark.questions[:10]:
        before, after = (ask(model, question, range(1, 30), asked=asked).choices for asked in (None, own))
        assert before == after


def test_questions_without_choices_are_answered_in_the_benchmarks_words():
    model, variants = SimulatedModel("medium", SUMS), draw_variants({"space": "maths", "sample": 3}, SUMS).variants
    for point in variants:
        texts = {c.text for c in ask(model, SUMS.questions[0], range(1, 50), asked=point).choices}
        read = {text: point.read(SUMS.questions[0], text).answer for text in texts}
        assert {text for text, answer in read.items() if answer is None} <= {"I am not sure."}
    assert set(model._completions) == {(point.id, "") for point in variants}  # kept once for all questions of a variant


class Deaf:
    """A variant whose reader finds nothing."""

    def __init__(self, point):
        self.point = point

    def __getattr__(self, name):
        return getattr(self.point, name)

    def read(self, question, completion):  # noqa: ARG002  as every variant
        return ParsedAnswer(None, "none")


def test_a_variant_that_does_not_read_its_own_labels_is_told():
    point = Deaf(MC.variants[0])
    with pytest.raises(
        InputError, match=rf"cities: variant {point.id} does not extract choice . of question q0 from '.*'; "
    ):
        ask(SimulatedModel("medium", CHOICES), CHOICES.questions[0], [1], asked=point)
    deaf = FixedPrompt(replace(SUMS, extract=lambda _: None), SUMS.prompt)
    with pytest.raises(InputError, match="population: `extract` does not read the answer .* as it is"):
        ask(SimulatedModel("medium", SUMS), SUMS.questions[0], [1], asked=deaf)


def test_long_labels_may_be_cut():
    labels = [f"the choice with the long name {word}" for word in ("one", "two", "three", "four")]
    spec = FEW | {"dimensions": FEW["dimensions"] | {"enumerator": [{"long": labels}]}}
    point = draw_variants(spec, CHOICES).variants[0]
    model, settings = SimulatedModel("medium", CHOICES), Settings(max_tokens=30)
    assert truth(model, settings=settings).shape == (40,)
    for known in (truth, population_score):
        with pytest.raises(InputError, match="completions may be cut before their answer; leave out stop, and max"):
            known(model, settings=settings, variant=point)


# New questions, and dimensions


@pytest.mark.parametrize(
    "nested",
    [pytest.param([], id="crossed"), pytest.param(["casing", "markers"], id="nested", marks=pytest.mark.long)],
)
def test_population_score_of_a_point_is_the_mean_over_new_questions(nested):
    """Simulation: 4,000 new questions, within 4 standard errors."""
    benchmark = load({"name": "population", "size": 4_000, "seed": 11})
    effects = {("casing", "upper"): -2.0, ("markers", "lines"): 1.0}
    model = SimulatedModel("medium", benchmark, effects=effects)
    for point in draw_variants({"space": "maths", "nested": nested, "sample": 1 if nested else 3}, benchmark).variants:
        p = truth(model, variant=point)
        assert abs(p.mean() - population_score(model, variant=point)) < 4 * p.std() / math.sqrt(p.size)


@pytest.mark.parametrize("settings", [Settings(), Settings(temperature=0), Settings(temperature=0.6, top_p=0.9)])
def test_main_effects_are_means_over_the_space(settings):
    """An independent slow version: all points of a small space, residual and interaction drawn anew 3,000 times."""
    values = {"enumerator": ["capitals", "greek", "roman"], "tone": ["plain", "warm"]}
    planted = {("enumerator", "greek"): -1.0, ("enumerator", "roman"): 0.3, ("tone", "warm"): 0.5}
    planted |= {("enumerator", "capitals"): 0.0, ("tone", "plain"): 0.0}
    model, rng = SimulatedModel("small", CHOICES, effects=planted), np.random.default_rng(2)
    temperature, top_p = settings.temperature if settings.temperature is not None else 1.0, settings.top_p or 1.0
    scores = {}
    for e, t in itertools.product(*values.values()):
        v = planted["enumerator", e] + planted["tone", t]
        z = model.process.base + v + 0.1 * rng.normal(size=(3000, 1)) + 0.35 * rng.normal(size=(3000, 40))
        wrong = np.tile(model.process.wrong, (3000, 1))
        right = answer_shares(z.ravel(), wrong, temperature, top_p)[:, 0].reshape(z.shape).mean(axis=1)
        scores[e, t] = right.mean() * (0.995 if temperature else 1)
    found = main_effects(model, values, settings=settings)
    whole = np.mean(list(scores.values()))
    for place, (dimension, each) in enumerate(values.items()):
        assert abs(sum(found[dimension].values())) < 1e-12
        for value in each:
            expected = np.mean([s for point, s in scores.items() if point[place] == value]) - whole
            # a mean over 3,000 draws of sd below .04, of 6 points
            assert abs(found[dimension][value] - expected) < 4 * 0.04 / math.sqrt(3000)
    assert found["enumerator"]["greek"] < -0.05
    assert found["tone"]["warm"] > 0.02


def test_the_effects_of_a_sample_are_found():
    """Guarantee by simulation: 95 % intervals hold the true effects of 2 x 36 values, as often as binomial allows."""
    drawn = draw_variants({"space": "multiple-choice", "sample": 600, "seed": 4}, CHOICES)
    hits = misses = 0
    known = names(drawn.space)
    for name in ("small", "large"):
        model = SimulatedModel(name, CHOICES)
        true = main_effects(model, known)
        scores = [[truth(model, variant=point).mean() for point in drawn.variants]]
        of = {d: [point.draws[d].value.name for point in drawn.variants] for d in known}
        found = estimate_effects("cities", [name], scores, of)
        between = found.interval(0.95)
        for i, (dimension, value) in enumerate(zip(found.dimensions, found.values, strict=True)):
            inside = between.low[0, i] <= true[dimension][value] <= between.high[0, i]
            hits, misses = hits + inside, misses + (not inside)
    assert hits + misses == 2 * (14 + 6 + 4 + 7 + 5)
    assert misses <= 10  # 3.6 are expected; P(more than 10) < 0.002


def test_effects_can_be_planted():
    plain, worse = (SimulatedModel("medium", CHOICES, effects=e) for e in (None, {("order", "shuffle"): -5.0}))
    for point in MC.variants[:20]:
        same = truth(plain, variant=point) == truth(worse, variant=point)
        is_planted = point.values["order"].startswith("shuffle ") and point.draws["order"].value.name == "shuffle"
        assert (not same.any()) if is_planted else same.all()
        if is_planted:
            # the key of a shuffle is no part of the value's name
            assert len(point.values["order"]) == len("shuffle ") + 16
    assert sum(point.draws["order"].value.name == "shuffle" for point in MC.variants[:20]) >= 2
    np.testing.assert_array_equal(truth(plain), truth(worse))
