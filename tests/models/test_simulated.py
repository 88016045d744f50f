"""Kinds of truth: theory (the law written out again, one question at a time); seeded simulation against the known truth."""

from __future__ import annotations

import asyncio
import math
from collections import Counter

import numpy as np
import pytest
from helpers.long_cases import mark_long
from helpers.simulated_requests import ask, normal
from scipy import stats

from howsure.benchmarks import Benchmark, Prompt, Question, load
from howsure.errors import InputError, UnknownNameError
from howsure.models.generating_process import (
    ABILITIES,
    CONCENTRATIONS,
    DataGeneratingProcess,
    answer_shares,
    draw_wrong_logits,
)
from howsure.models.model import Request, Settings
from howsure.models.simulated import UNREADABLE, SimulatedModel, population_score, truth

SMALL = load("directions-small")
LARGE = load("directions-large")
SUMS = load({"name": "population", "size": 300, "seed": 3})
GREEDY = Settings(temperature=0)


def answers(model, question, n, **how):
    return [model.benchmark.extract(choice.text) for choice in ask(model, question, range(1, n + 1), **how).choices]


# The law, written again from its description: loops, no shared code.


def slow_truth(name, benchmark, variant):
    theta = {"small": -0.3, "medium": 0.73, "large": 1.68, "xlarge": 2.68}[name]
    scores = []
    for question in benchmark.questions:
        a = 1.2 * math.e ** (0.35 * normal(benchmark, "question", question.id))
        b = 1.8 * normal(benchmark, "question", question.id, skip=8)
        z = a * (theta - b)
        z += 0.6 * normal(benchmark, "interaction", question.id, name)
        z += 0.15 * normal(benchmark, "variant", variant, name)
        z += 0.35 * normal(benchmark, "crossed", variant, question.id)
        scores.append(0.995 / (1 + math.exp(-z)))
    return scores


@pytest.mark.parametrize("benchmark", [SMALL, SUMS], ids=lambda b: b.name)
@pytest.mark.parametrize("name", ABILITIES)
def test_truth_at_temperature_1_is_the_item_response_law(benchmark, name):
    for variant in (benchmark.prompt.id, "another"):
        expected = slow_truth(name, benchmark, variant)
        np.testing.assert_allclose(truth(SimulatedModel(name, benchmark), variant=variant), expected, rtol=1e-12)


def test_the_law_never_changes_by_itself():
    """Frozen values: simulated runs repeat on every machine and in later versions."""
    model = SimulatedModel("medium", SMALL)
    np.testing.assert_allclose(truth(model)[:3], [0.65991, 0.98547, 0.99406], atol=5e-6)
    texts = [choice.text for choice in ask(model, SMALL.questions[0], range(1, 6)).choices]
    long = "I went through it step by step and checked it once more.\n#### north"
    assert texts == ["**East**", "east", "**North**", long, "north"]


@pytest.mark.parametrize("temperature", [0.3, 0.7, 1.0, 1.5])
def test_shares_follow_the_formula_at_every_temperature(temperature):
    z, wrong = 0.4, draw_wrong_logits(7, 2)
    assert math.isclose(sum(math.exp(w) for w in wrong), 1)
    powers = [math.exp(x / temperature) for x in (z, *wrong)]
    shares = answer_shares(np.array([z]), wrong[None], temperature, 1.0)[0]
    np.testing.assert_allclose(shares, [p / sum(powers) for p in powers], rtol=1e-12)
    if temperature == 1.0:
        assert math.isclose(shares[0], 1 / (1 + math.exp(-z)))


@pytest.mark.parametrize("top_p", [0.05, 0.5, 0.8, 0.95, 0.9999999])
def test_top_p_keeps_the_smallest_likeliest_set(top_p):
    z, wrong = np.array([-1.0, 0.0, 2.0]), np.stack([draw_wrong_logits(4, c) for c in range(3)])
    full, kept = (answer_shares(z, wrong, 0.8, p) for p in (1.0, top_p))
    for before, after in zip(full.tolist(), kept.tolist(), strict=True):
        chosen, total = [], 0.0
        for share in sorted(before, reverse=True):
            if total < top_p:
                chosen.append(share)
                total += share
        expected = [share / total if share in chosen else 0.0 for share in before]
        np.testing.assert_allclose(after, expected, rtol=1e-12)


def test_temperature_0_is_the_limit_and_gives_the_likeliest_answer():
    model = SimulatedModel("small", SMALL)
    greedy = truth(model, settings=GREEDY)
    assert set(greedy) == {0.0, 1.0}
    for tiny in (1e-5, 1e-320):
        np.testing.assert_allclose(
            truth(model, settings=Settings(temperature=tiny)), greedy * (1 - UNREADABLE), atol=0.01
        )
    for question, right in zip(SMALL.questions, greedy, strict=True):
        given = set(answers(model, question, 5, settings=GREEDY))
        assert len(given) == 1
        assert (given == {question.target}) == bool(right)


def test_models_are_as_able_as_the_demo_wants():
    scores = {name: truth(SimulatedModel(name, SMALL)).mean() for name in ABILITIES}
    greedy = {name: truth(SimulatedModel(name, SMALL), settings=GREEDY).mean() for name in ABILITIES}
    for name, score in {"small": 0.45, "medium": 0.62, "large": 0.75}.items():
        assert abs(scores[name] - score) < 0.05
        assert greedy[name] - scores[name] > 0.04
    assert list(scores.values()) == sorted(scores.values())


# Generations against the truth


@pytest.mark.parametrize(
    "settings", mark_long([Settings(), Settings(temperature=0.6), Settings(temperature=1.3, top_p=0.8)], after=1)
)
@pytest.mark.parametrize("benchmark", [SMALL, SUMS], ids=lambda b: b.name)
def test_frequencies_are_the_truth(benchmark, settings):
    """3-sigma in the mean, and chi-squared over questions within its own 4 sigma."""
    model, n = SimulatedModel("medium", benchmark, seed=5), 400
    p = truth(model, settings=settings)[:100]
    asked = benchmark.questions[:100]
    seen = np.array([sum(a == q.target for a in answers(model, q, n, settings=settings)) for q in asked])
    variance = p * (1 - p)
    assert abs((seen / n - p).mean()) < 3 * math.sqrt(variance.mean() / (n * p.size))
    random = variance * n > 5
    chi2 = ((seen - n * p) ** 2 / (n * variance + ~random))[random].sum()
    assert abs(chi2 - random.sum()) < 4 * math.sqrt(2 * random.sum())
    np.testing.assert_array_equal(seen[p > 0.9999 * (1 - UNREADABLE)] > n * 0.97, True)


def test_each_wrong_answer_has_its_share_and_a_few_have_most():
    model, n = SimulatedModel("small", LARGE), 20_000
    row = 17
    question = LARGE.questions[row]
    shares = answer_shares(model.process.logits(LARGE.prompt.id)[[row]], model.process.wrong[[row]], 1.0, 1.0)[0]
    seen = Counter(answers(model, question, n))
    expected = dict(zip(model.process.answers(row), n * shares * (1 - UNREADABLE), strict=True)) | {
        None: n * UNREADABLE
    }
    assert set(seen) <= set(expected)
    assert stats.chisquare([seen[a] for a in expected], list(expected.values())).pvalue > 1e-3
    two_likeliest = [np.exp(draw_wrong_logits(7, c))[:2].sum() for c in range(len(CONCENTRATIONS))]
    assert min(two_likeliest) > 2 / 7 * 1.5
    assert max(two_likeliest) > 0.8


@pytest.mark.long
def test_generations_are_independent_of_each_other():
    """Over 300 questions: correlation at lags, between seeds, variants, models and settings within 4 sigma of 0."""
    n = 100

    def residuals(name="medium", seed=0, **how):
        model = SimulatedModel(name, SUMS, seed=seed)
        p = truth(model, variant=how.get("variant"), settings=how.get("settings"))
        right = [[a == q.target for a in answers(model, q, n, **how)] for q in SUMS.questions]
        return (np.array(right) - p[:, None]) / np.sqrt(p * (1 - p))[:, None]

    base = residuals()
    for lag in (1, 2, 3, 8, 50):
        r = (base[:, lag:] * base[:, :-lag]).mean()
        assert abs(r) < 4 / math.sqrt(base[:, lag:].size), lag
    r = (base[1:] * base[:-1]).mean()
    assert abs(r) < 4 / math.sqrt(base.size)
    assert abs((base.mean(axis=0) ** 2).mean() * len(base) - 1) < 4 * math.sqrt(2 / n)  # no good and bad days
    others = {
        "seed": residuals(seed=1),
        "model": residuals(name="large"),
        "variant": residuals(variant="another"),
        "settings": residuals(settings=Settings(temperature=0.9)),
    }
    for what, other in others.items():
        assert abs((base * other).mean()) < 4 / math.sqrt(base.size), what


def test_a_generation_does_not_depend_on_the_order_or_size_of_requests():
    model = SimulatedModel("large", SUMS, seed=9)
    question = SUMS.questions[7]
    together = [choice.text for choice in ask(model, question, range(1, 31)).choices]
    again = SimulatedModel("simulated/large", SUMS, seed=9)
    ask(again, SUMS.questions[8], [3])
    alone = {j: ask(again, question, [j]).choices[0].text for j in reversed(range(1, 31))}
    assert together == [alone[j] for j in range(1, 31)]


def test_temperature_and_top_p_of_1_are_the_defaults():
    model, question = SimulatedModel("small", SMALL), SMALL.questions[3]
    given = Settings(temperature=1, top_p=1.0)
    assert ask(model, question, range(1, 9)).choices == ask(model, question, range(1, 9), settings=given).choices
    np.testing.assert_array_equal(truth(model), truth(model, settings=given))


@pytest.mark.parametrize("benchmark", [SMALL, LARGE, SUMS], ids=lambda b: b.name)
def test_every_phrase_of_every_answer_is_read_by_the_benchmark(benchmark):
    """What is said must be what was drawn, or the known truth would not be the truth."""
    model = SimulatedModel("small", benchmark)
    for row, question in enumerate(benchmark.questions):
        possible = model.process.answers(row)
        assert len(set(possible)) == len(possible) >= 4
        for answer in possible:
            assert benchmark.extract(answer) == answer
            phrases = (
                {model._write_completion(answer, phrase, question).text for phrase in range(5)} if row < 200 else {}
            )
            assert len(phrases) == 5 * (row < 200)
            assert all(benchmark.extract(text) == answer for text in phrases)
            assert benchmark.grade(answer, question.target) == (answer == question.target)
    assert benchmark.extract("I am not sure.") is None


def test_wrong_answers_of_any_numeric_target_are_read():
    targets = ["0", "1", "-1", "5", "0.5", "-3.25", "1/3", "70000", "0.01", "1000000", "9" * 18, "9" * 60, "-2", "1/7"]
    benchmark = Benchmark(
        name="numbers",
        questions=[Question(t, t, t) for t in targets],
        prompt=Prompt(),
        extract=SUMS.extract,
    )
    model = SimulatedModel("small", benchmark)
    for row, question in enumerate(benchmark.questions):
        wrong = model.process.answers(row)[1:]
        assert len(set(wrong) - {question.target}) == len(wrong) >= 2
        assert all(
            benchmark.extract(model._write_completion(a, i, question).text) == a for a in wrong for i in range(5)
        )


def test_benchmarks_whose_answers_are_texts():
    """Phrases that the benchmark reads as another answer are not used."""
    questions = [Question(f"q{i}", "?", target) for i, target in enumerate(["oslo", "rome {x}"] * 10)]
    questions += [Question("yes-or-no", "?", "yes", ("no",))]
    exact = Benchmark(
        name="cities", questions=questions, prompt=Prompt(), extract=lambda t: " ".join(t.split()).casefold() or None
    )
    model = SimulatedModel("medium", exact)
    p = truth(model)
    seen = [sum(a == q.target for a in answers(model, q, 400)) / 400 for q in questions]
    np.testing.assert_allclose(seen, p, atol=4 * 0.5 / 20)
    assert set(answers(model, questions[-1], 200)) == {"yes", "no", "i am not sure."}
    assert set(answers(model, questions[0], 400)) <= {
        "oslo",
        "not oslo",
        "almost oslo",
        "neither oslo",
        "i am not sure.",
    }


# New questions


@pytest.mark.parametrize(
    "settings", mark_long([Settings(), GREEDY, Settings(temperature=0.5), Settings(top_p=0.9)], after=2)
)
def test_population_score_is_the_mean_over_new_questions(settings):
    """Simulation: 8,000 new questions, within 4 standard errors."""
    model = SimulatedModel("medium", load({"name": "population", "size": 8_000, "seed": 11}))
    p = truth(model, settings=settings)
    assert abs(p.mean() - population_score(model, settings=settings)) < 4 * p.std() / math.sqrt(p.size)


def test_population_score_of_the_law_by_another_quadrature():
    """Theory: scipy's adaptive integration of sigmoid(z) over a and z, to 1e-4."""
    from scipy.integrate import dblquad

    model = SimulatedModel("large", SUMS)
    v = 0.15 * normal(SUMS, "variant", "v", "large")

    def integrand(e, x):
        a = 1.2 * math.exp(0.35 * x)
        z = a * 1.68 + v + e * math.sqrt((1.8 * a) ** 2 + 0.6**2 + 0.35**2)
        return math.exp(-(x * x + e * e) / 2) / (2 * math.pi) / (1 + math.exp(-z))

    expected = 0.995 * dblquad(integrand, -8, 8, -8, 8, epsabs=1e-7)[0]
    assert abs(population_score(model, variant="v") - expected) < 1e-6


def test_population_score_of_greedy_by_its_closed_form():
    """Theory: P(z > max w), a normal tail for each a, averaged over a and over how the wrong answers are spread."""
    model = SimulatedModel("small", SMALL)
    v = 0.15 * normal(SMALL, "variant", SMALL.prompt.id, "small")
    x = np.linspace(-8, 8, 4001)
    a = 1.2 * np.exp(0.35 * x)
    expected = 0.0
    for s in (0.8, 1.3, 1.8, 2.3):
        w1 = -math.log(1 + 2**-s + 3**-s)
        tail = stats.norm.sf((w1 - a * -0.3 - v) / np.sqrt((1.8 * a) ** 2 + 0.6**2 + 0.35**2))
        expected += np.trapezoid(tail * stats.norm.pdf(x), x) / 4
    assert abs(population_score(model, settings=GREEDY) - expected) < 1e-4


def test_questions_are_shared_by_models_and_differ_between_populations():
    def difficulty(name, population):
        p = truth(SimulatedModel(name, LARGE, population=population))
        return np.log(p / (1 - UNREADABLE - p))

    assert np.corrcoef(difficulty("small", 0), difficulty("large", 0))[0, 1] > 0.8
    assert abs(np.corrcoef(difficulty("small", 0), difficulty("small", 1))[0, 1]) < 4 / math.sqrt(5760)
    small, large = (DataGeneratingProcess(name, LARGE) for name in ("small", "large"))
    assert small.answers(5) == large.answers(5)


@pytest.mark.long
def test_variants_shift_the_score_and_interact_with_questions():
    model = SimulatedModel("medium", LARGE)
    logits = np.stack([model.process.logits(f"v{s}") for s in range(40)])
    within = logits - logits.mean(axis=0) - logits.mean(axis=1, keepdims=True) + logits.mean()
    assert abs(within.std() * math.sqrt(40 / 39) - 0.35) < 0.005
    assert 0.09 < logits.mean(axis=1).std(ddof=1) < 0.21  # chi-squared limits at 40 draws of sd .15
    prompt = Prompt(system="Hi")
    np.testing.assert_array_equal(truth(model, variant=prompt), truth(model, variant=prompt.id))


# The seam


def test_reply_tells_what_an_endpoint_tells():
    model, question = SimulatedModel("medium", SMALL), SMALL.questions[0]
    reply = ask(model, question, [1, 2, 3])
    assert reply.model == "simulated/medium"
    assert reply.fingerprint == "law-1"
    assert [choice.finish_reason for choice in reply.choices] == ["stop"] * 3
    characters = sum(len(m["content"]) for m in SMALL.prompt.messages(question))
    assert characters / 4 <= reply.prompt_tokens <= characters / 4 + 2
    assert reply.completion_tokens == sum(math.ceil(len(choice.text) / 4) for choice in reply.choices)
    assert reply.request != ask(model, question, [4, 5, 6]).request
    assert ask(model, question, []).choices == ()
    asyncio.run(model.close())


def test_short_limits_cut_completions_and_leave_no_known_truth():
    model, question = SimulatedModel("medium", SMALL), SMALL.questions[0]
    cut = ask(model, question, range(1, 100), settings=Settings(max_tokens=2)).choices
    assert {choice.finish_reason for choice in cut} == {"stop", "length"}
    assert max(len(choice.text) for choice in cut) == 8
    stopped = ask(model, question, range(1, 100), settings=Settings(stop=(".", ""))).choices
    assert not any("." in choice.text for choice in stopped)
    for settings in (Settings(max_tokens=2), Settings(stop=("\n",))):
        for known in (truth, population_score):
            with pytest.raises(InputError, match="completions may be cut before their answer; leave out stop"):
                known(model, settings=settings)
    np.testing.assert_array_equal(truth(model, settings=Settings(max_tokens=100)), truth(model))
    assert [c.text for c in ask(model, question, [1], settings=Settings(max_tokens=100)).choices] == [
        c.text for c in ask(model, question, [1]).choices
    ]


def test_wrong_use():
    with pytest.raises(UnknownNameError, match="unknown model 'simulated/medum'; did you mean 'simulated/medium'"):
        SimulatedModel("simulated/medum", SMALL)
    model = SimulatedModel("medium", SMALL)
    with pytest.raises(UnknownNameError, match="directions-small: unknown question 'nope'"):
        ask(model, Question("nope", "?", "x"), [1])
    with pytest.raises(UnknownNameError, match="unknown benchmark 'directions-large'"):
        asyncio.run(model.generate(Request("directions-large", "x", "v", [], (1,), Settings())))
    for settings in (Settings(temperature=-1), Settings(temperature=math.nan), Settings(top_p=0), Settings(top_p=1.5)):
        with pytest.raises(InputError, match=r"simulated model: (temperature|top_p) is .*; give"):
            truth(model, settings=settings)
    deaf = Benchmark(name="deaf", questions=SMALL.questions, prompt=Prompt(), extract=lambda _: None)
    with pytest.raises(InputError, match="deaf: `extract` does not read the answer 'north' as it is"):
        ask(SimulatedModel("xlarge", deaf), SMALL.questions[0], range(1, 50), settings=GREEDY)


def test_kept_completions_are_bounded(monkeypatch):
    monkeypatch.setattr("howsure.models.simulated.MOST_CACHED", 10)
    model = SimulatedModel("small", SUMS)
    for question in SUMS.questions[:20]:
        ask(model, question, range(1, 30))
        assert sum(map(len, model._completions.values())) <= 10
