"""`plan` and what it is made of: brute force over all designs, an independent slow version, theory, simulated power."""

import itertools
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.long_cases import mark_long
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import planning as oracle
from scipy import stats

from howsure.errors import InputError, UnknownNameError
from howsure.stats.comparisons.pairs import compare
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import COST_UNITS
from howsure.stats.planning.cost import Cost
from howsure.stats.planning.pilot import components_from_accuracy, components_from_cells
from howsure.stats.planning.plan import FEWEST_QUESTIONS, plan
from howsure.stats.planning.variance_components import (
    VarianceComponents,
    detectable_difference,
    se_for_detecting,
    se_for_width,
)
from howsure.stats.scores.score import score

NOISES = Path(__file__).resolve().parents[3] / "../shared/data/all_the_noises"
PAIR = VarianceComponents(question=0.04, generation=0.16)
PRICED = Cost(prompt_tokens=400, completion_tokens=100, input_price=3, output_price=15, generations_per_request=4)


def cells_of(totals, K):
    totals = np.asarray(totals, float)
    names = tuple("abc"[: len(totals)]), tuple(f"q{j}" for j in range(totals.shape[1]))
    return Cells("drawn", *names, np.full(totals.shape, K), totals, totals)


variances = st.sampled_from([0.0, 0.001, 0.01, 0.04, 0.1, 0.25]) | st.floats(1e-4, 1)
noises = st.builds(
    VarianceComponents,
    question=variances,
    generation=variances,
    variant=st.just(0.0) | st.floats(1e-5, 0.01),
    interaction=st.just(0.0) | st.floats(1e-4, 0.1),
    models=st.sampled_from([1, 2]),
    population=st.just(math.inf) | st.integers(9, 30),
).filter(lambda noise: noise.total + noise.interaction > 0)
costs = st.builds(
    Cost,
    prompt_tokens=st.integers(0, 2000),
    completion_tokens=st.integers(1, 500),
    input_price=st.sampled_from([0.1, 1.0, 3.0]),
    output_price=st.sampled_from([0.4, 4.0, 15.0]),
    generations_per_request=st.sampled_from([1, 2, 3, 100]),
)


def every_design(noise, cost, unit, most):
    """Slow: (price, variance) of all designs up to `most` = (N, S, K), by the formulas as they are written."""
    request = {"calls": 1, "tokens": cost.prompt_tokens, "cost": cost.prompt_tokens * cost.input_price / 1e6}[unit]
    each = {"calls": 0, "tokens": cost.completion_tokens, "cost": cost.completion_tokens * cost.output_price / 1e6}[
        unit
    ]
    for N, S, K in itertools.product(*(range(1, limit + 1) for limit in most)):
        price = noise.models * N * S * (-(-K // cost.generations_per_request) * request + K * each)
        variance = noise.question / N + noise.variant / S + noise.interaction / (N * S) + noise.generation / (N * S * K)
        if math.isfinite(noise.population):
            variance -= noise.question / noise.population
        yield price, variance, (N, S, K)


@settings(max_examples=60)
@given(noises, costs, st.sampled_from(COST_UNITS), st.floats(0.01, 0.5), st.sampled_from([1, 4]))
def test_the_cheapest_design_is_the_cheapest_of_all(noise, cost, unit, se, fewest):
    """A slow version: brute force over every whole number of questions, variants and generations."""
    most = (9, 4, 12)
    possible = [
        row for row in every_design(noise, cost, unit, most) if row[1] <= se**2 * (1 + 1e-9) and row[2][0] >= fewest
    ]
    limits = {"available": most[0], "max_variants": most[1], "max_generations": most[2], "fewest": fewest}
    found = plan(noise, cost, se=se, unit=unit, **limits)
    assert (found.best is None) == (not possible)
    if found.best is None:
        assert "enough" in found.reason or "it takes" in found.reason
        return
    lowest = min(price for price, _, _ in possible)
    at_it = min(variance for price, variance, _ in possible if price <= lowest * (1 + 1e-9))
    assert found.best._asdict()[unit] == pytest.approx(lowest, rel=1e-9)
    assert found.best.se**2 == pytest.approx(at_it, rel=1e-6, abs=1e-15)
    assert found.best[:3] in [design for _, _, design in possible]


@settings(max_examples=60)
@given(noises, costs, st.sampled_from(COST_UNITS), st.floats(0.5, 300), st.sampled_from([1, 4]))
def test_the_best_design_for_a_budget_is_the_best_of_all(noise, cost, unit, generations, fewest):
    """A slow version, likewise; the budget is told in single generations."""
    most = (9, 4, 12)
    budget = generations * float(cost.cell(1, unit)) * noise.models
    possible = [
        row for row in every_design(noise, cost, unit, most) if row[0] <= budget * (1 + 1e-9) and row[2][0] >= fewest
    ]
    limits = {"available": most[0], "max_variants": most[1], "max_generations": most[2], "fewest": fewest}
    found = plan(noise, cost, budget=budget, unit=unit, **limits)
    assert (found.best is None) == (not possible)
    if found.best is None:
        assert f" does not buy {fewest} questions: one generation of each takes " in found.reason
        return
    smallest = min(variance for _, variance, _ in possible)
    at_it = min(price for price, variance, _ in possible if variance <= smallest * (1 + 1e-9) + 1e-15)
    assert found.best.se**2 == pytest.approx(smallest, rel=1e-6, abs=1e-15)
    assert found.best._asdict()[unit] == pytest.approx(at_it, rel=1e-9) or found.best.se < 1e-7
    assert found.best[:3] in [design for _, _, design in possible]


ORACLE = oracle.Variances(question=0.04, variant=0.0005, interaction=0.01, generation=0.12)
OURS = VarianceComponents(**ORACLE._asdict(), models=1)


@pytest.mark.parametrize("per_request", [1, 3, 6])
def test_designs_against_the_slow_version(per_request):
    """An independent slow version, written from the specification alone."""
    limits, price = (25, 5, 6), oracle.Price(request=3, generation=2, per_request=per_request)
    cost = Cost(prompt_tokens=3, completion_tokens=2, generations_per_request=per_request)
    ours = {"available": 25, "max_variants": 5, "max_generations": 6, "fewest": 1}
    for target in (0.2, 0.09, 0.06, 0.051, 0.04):
        theirs = oracle.cheapest(ORACLE, price, limits, target)
        found = plan(OURS, cost, se=target, **ours).best
        assert (found is None) == (not theirs)
        if found is not None:
            assert (found.tokens, found.se) == pytest.approx((theirs[0].cost, min(design.se for design in theirs)))
            counted = oracle.cost_of(price, *found[:3])
            assert (found.calls, found.tokens) == (counted["requests"], counted["cost"])
            assert found.se == pytest.approx(oracle.se_of_crossed(ORACLE, *found[:3]), rel=1e-12)
    for budget in (4, 60, 500, 3000):
        theirs = oracle.most_precise(ORACLE, price, limits, budget)
        found = plan(OURS, cost, budget=budget, **ours).best
        assert (found is None) == (not theirs)
        if found is not None:
            assert (found.se, found.tokens) == pytest.approx((theirs[0].se, min(design.cost for design in theirs)))


@pytest.mark.parametrize(("D", "E"), [(0.04, 0.16), (0.0, 0.2), (0.1, 0.0), (-0.01, 0.2)])
@pytest.mark.parametrize("target", [0.3, 0.06, 0.04])
def test_smallest_n_and_k_against_the_slow_version(D, E, target):
    """An independent slow version."""
    noise = VarianceComponents(question=max(D, 0), generation=E)
    se = se_for_detecting(target, level=0.9, power=0.7)
    for k in (1, 3):
        assert noise.questions_for(se, k) == oracle.smallest_n(target, D, E, k, 0.1, 0.7)
    assert detectable_difference(0.02, level=0.9, power=0.7) == pytest.approx(oracle.detectable(0.02, 0.1, 0.7))


def test_the_search_agrees_with_the_formula_where_rounding_is_small():
    """Theory: two-stage sampling, K = sqrt(c_in / c_out * E / D), up to whole numbers."""
    cost = Cost(prompt_tokens=20_000, completion_tokens=50, generations_per_request=1000)
    best = plan(PAIR, cost, detect=0.004).best
    formula = math.sqrt(20_000 / 50 * PAIR.generation / PAIR.question)  # two-stage sampling, Cochran 1977, ch. 10
    assert formula == pytest.approx(40)
    assert abs(best.n_generations - formula) <= 1


@given(
    noises,
    st.integers(1, 9),
    st.integers(1, 2000) | st.just(10_000),
    st.integers(1, 50),
)
def test_solving_inverts_the_variance(noise, N, K, S):
    """Theory: the smallest N, K or S for a design's own error is not more than the design's, and one less misses it."""
    variance = float(noise.variance(N, K, S))
    if variance <= 1e-9 * (noise.question + noise.generation + 1e-3):
        return
    se = math.sqrt(variance)
    solved = {
        "n_questions": (noise.questions_for(se, K, S), (N, K, S)),
    }
    for name, (found, asked) in solved.items():
        design = dict(zip(("n_questions", "n_generations", "n_variants"), asked, strict=True))
        assert 1 <= found <= design[name], name
        assert noise.variance(**design | {name: found}) <= variance * (1 + 1e-9)
        if found > 1:
            assert noise.variance(**design | {name: found - 1}) > variance * (1 + 1e-12)


def test_no_number_is_enough():
    noise = VarianceComponents(question=0.04, generation=0.16, variant=0.001)
    assert noise.questions_for(math.sqrt(0.001)) == math.inf
    assert noise.questions_for(0) == math.inf
    assert VarianceComponents(question=0, generation=0).questions_for(0) == 1
    assert noise.questions_for(math.inf) == 1
    assert math.isnan(noise.questions_for(math.nan))
    known = VarianceComponents(question=0.04, generation=0.16, population=50)
    assert known.variance(50, 4) == pytest.approx(0.16 / 200)
    assert known.questions_for(math.sqrt(0.16 / 50) * 0.99) == math.inf


def test_closed_forms_invert_each_other():
    """Theory: detectable difference and se are one equation; z quantiles as printed in every table."""
    assert detectable_difference(1) == pytest.approx(1.959964 + 0.841621, abs=1e-6)
    assert detectable_difference(1, level=0.99, power=0.9) == pytest.approx(2.575829 + 1.281552, abs=1e-6)
    se = se_for_detecting([0.03, -0.03], level=0.9, power=0.9)
    assert detectable_difference(se, level=0.9, power=0.9) == pytest.approx([0.03, 0.03])
    assert se_for_width(0.02) == pytest.approx(0.01 / 1.959964, rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("paired", [True, False])
def test_a_plan_has_the_power_it_promises(paired):
    """Guarantee by simulation: a pilot, a plan for a true difference, and 1,500 evaluations of the planned design."""
    rng = np.random.default_rng(21)
    trials, gap = 1500, 0.05

    def draw(N, K, size):
        p = rng.beta(0.5, 0.5, (size, N)) * (1 - gap)
        other = p if paired else rng.beta(0.5, 0.5, (size, N)) * (1 - gap)
        return rng.binomial(K, p + gap), rng.binomial(K, other)

    pilot = components_from_cells(cells_of(np.concatenate(draw(20_000, 3, 1)), 3), "a", "b", paired=paired)
    design = plan(pilot, detect=gap, max_generations=2).best
    a, b = (totals / design.n_generations for totals in draw(design.n_questions, design.n_generations, trials))
    if paired:
        d, variance = a.mean(1) - b.mean(1), (a - b).var(1)
    else:
        d, variance = a.mean(1) - b.mean(1), a.var(1) + b.var(1)
    found = np.mean(np.abs(d) > 1.959964 * np.sqrt(variance / design.n_questions))
    assert d.std() == pytest.approx(design.se, rel=0.08)
    assert abs(found - 0.8) < 3.3 * math.sqrt(0.16 / trials) + 0.005


def test_a_pilot_predicts_the_error_of_other_designs():
    """Guarantee by simulation: components of one pilot against the spread of 4,000 scores of another design."""
    rng = np.random.default_rng(22)
    pilot = cells_of([rng.binomial(5, rng.beta(0.6, 0.4, 30_000))], 5)
    scores = rng.binomial(3, rng.beta(0.6, 0.4, (4000, 40))).mean(axis=1) / 3
    assert np.sqrt(components_from_cells(pilot, "a").variance(40, 3)) == pytest.approx(scores.std(), rel=0.05)
    fixed = rng.beta(0.6, 0.4, 30)
    pilot = cells_of([rng.binomial(20_000, fixed)], 20_000)
    asked = np.array([rng.choice(30, 12, replace=False) for _ in range(8000)])
    scores = rng.binomial(2, fixed[asked]).mean(axis=1) / 2
    these = components_from_cells(pilot, "a", claim="these-questions")
    assert these.population == 30
    # the population's variance divides by N - 1, as drawing without replacement wants; ours by N (see the docstring)
    assert np.sqrt(these.variance(12, 2)) == pytest.approx(scores.std(), rel=0.04)


def test_the_plan_of_the_pilots_own_design_has_the_pilots_error_without_its_bias():
    """Theory: the printed error divides var() by N, as published tables do, a plan by N - 1."""
    rng = np.random.default_rng(23)
    cells = cells_of(rng.binomial(3, rng.beta(0.6, 0.4, (3, 70))), 3)
    pair = compare(cells, "a", "b")
    unbiased = 70 / 69
    assert components_from_cells(cells, "a", "b").variance(70, 3) == pytest.approx(pair.variance[0] * unbiased)
    apart = components_from_cells(cells, "a", "b", paired=False)
    assert apart.variance(70, 3) == pytest.approx(np.sum(score(cells).variance[:2]) * unbiased)
    assert apart.models == 2
    one = components_from_cells(cells, "a")
    assert one.variance(70, 3) == pytest.approx(score(cells).variance[0] * unbiased)
    assert (one.models, one.benchmark) == (1, "drawn")
    these = components_from_cells(cells, "a", "b", claim="these-questions")
    again = compare(cells, "a", "b", claim="these-questions")
    assert these.variance(70, 3) == pytest.approx(again.variance[0])


def test_a_negative_data_variance_is_planned_as_none():
    cells = Cells.from_scores("b", ["a", "c"], ["1", "2", "3"], [[[1, 0], [1, 0], [1, 1]], [[1, 0], [0, 1], [1, 0]]])
    noise = components_from_cells(cells, "a", "c")
    assert noise.question == 0
    assert noise.note == "data noise is lost in the sampling noise: it is planned as 0"
    # all generations of one question would do the same: but that 0 is an estimate
    assert plan(noise, PRICED, se=0.1).best.n_questions >= FEWEST_QUESTIONS


def test_a_pilot_of_single_generations_plans_single_generations():
    rng = np.random.default_rng(24)
    cells = cells_of(rng.binomial(1, 0.5, (2, 100)), 1)
    noise = components_from_cells(cells, "a", "b")
    assert not noise.is_separable
    assert noise.variance(100) == pytest.approx(compare(cells, "a", "b").variance[0] * 100 / 99)
    assert np.isnan(noise.variance(100, 2))
    result = plan(noise, se=0.02, max_variants=5)
    assert result.plain[:3] == (math.ceil(noise.total / 0.0004), 1, 1)
    limit = noise.total * math.exp(0.8416212335729143 * noise.total_se / noise.total)
    assert result.best[:3] == (math.ceil(limit / 0.0004), 1, 1)
    assert set(result.n_generations) == {1}
    conclusion = "only single generations can be planned, because data and prediction noise are not known separately"
    assert conclusion in result.columns()["note"][0].split("; ")
    short = plan(noise, se=0.02, available=200)
    assert short.best is None
    assert short.reason.startswith("one generation is not enough: with one of each, all 200 questions have ")
    assert "questions with 1 generation of each would do, the cheapest in calls" in short.remedy
    assert plan(noise, budget=2000).best[:3] == (1000, 1, 1)
    with pytest.raises(InputError, match="drawn: there is no noise to plan with: one question in common"):
        plan(components_from_cells(cells_of([[1], [0]], 1), "a", "b"), se=0.1)


@pytest.mark.parametrize("K", [1, 5])
def test_a_pilot_that_does_not_vary_is_refused_for_that_reason(K):
    """Neither its few questions nor its single generations are why there is nothing to plan with."""
    with pytest.raises(InputError, match="there is no noise to plan with: its components are 0;"):
        plan(components_from_cells(cells_of([[K] * 10], K), "a"), se=0.1)


@pytest.mark.parametrize("claim", ["new-questions", "these-questions"])
def test_a_plan_has_no_note_on_the_interval_of_its_pilot(claim):
    pilot = components_from_cells(cells_of([[0, 1, 2, 2, 1, 1]], 2), "a", claim=claim)
    assert "interval" not in pilot.note


@pytest.mark.parametrize("b", [None, "b"])
@pytest.mark.parametrize("clusters", [tuple("rrrsss"), tuple("r" * 6)])
def test_a_plan_for_these_questions_has_an_error_without_clusters(clusters, b):
    totals = [[0, 1, 2, 2, 1, 1], [1, 1, 2, 0, 2, 1]]
    cells = replace(cells_of(totals, 2), clusters=clusters)
    pilot = components_from_cells(cells, "a", b, claim="these-questions")
    assert "clusters do not enter the error on these questions" in pilot.note.split("; ")
    assert "new clusters" not in pilot.note
    assert "in one cluster" not in pilot.note


def test_beta_theory():
    """Theory (NOISE 4.2.1, appendix B), by numerical integration over Beta(p, 1-p)."""
    p = 0.7
    difficulty = stats.beta(p, 1 - p)
    E, D = difficulty.expect(lambda q: q * (1 - q)), difficulty.var()
    one = components_from_accuracy(p, models=1, data_share=0.5)
    assert (one.question, one.generation) == pytest.approx((D, E), rel=1e-6)
    apart = components_from_accuracy(p, paired=False, data_share=0.5)
    assert (apart.question, apart.generation) == pytest.approx((2 * D, 2 * E), rel=1e-6)
    assert one.total_se == apart.total_se == 0  # p(1-p) for any difficulties


@pytest.mark.parametrize(
    ("how", "total", "share"),
    [({}, 1.3, 0.35), ({"temperature": 0.7}, 1.3, 0.35), ({"temperature": 0.2}, 1.3, 0.7), ({"models": 1}, 1, 0.6)],
)
def test_the_noise_that_published_results_show(how, total, share):
    """A printed table: total variances and data shares of published pairs (review of version 0.1.0, section D6)."""
    noise = components_from_accuracy(0.7, benchmark="arc", **how)
    assert noise.benchmark == "arc"
    assert noise.total == pytest.approx(total * 0.21)
    assert noise.question == pytest.approx(share * total * 0.21)
    assert noise.note.startswith(f"assumed, not measured: total variance {total * 0.21:.4g}, {share:.0%} of it data")
    assert noise.question_se > 0
    assert components_from_accuracy(0.7, models=1, temperature=0).question == pytest.approx(0.8 * 0.21)


def test_what_is_shown_beside_the_best():
    result = plan(PAIR, PRICED, detect=0.02, available=1000)
    columns = result.columns()
    assert list(columns) == [
        "benchmark", "n_questions", "n_variants", "n_generations", "se", "se_low", "se_high", "se_assured", "detectable", "calls",
        "tokens", "cost", "note",
    ]  # fmt: skip
    assert [columns[name][0] for name in list(columns)[1:-1]] == list(result.best)
    assert columns["note"][0] == "the cheapest in cost"
    assert columns["n_generations"][1:7].tolist() == [1, 2, 5, 10, 20, 50]
    reached = columns["detectable"] <= 0.02 * (1 + 1e-9)
    assert [note == "" for note in columns["note"][1:]] == reached[1:].tolist()
    assert set(columns["n_questions"][~reached]) == {1000}
    assert np.all(columns["cost"][reached] >= result.best.cost)
    bought = plan(PAIR, PRICED, budget=0.5).columns()
    assert bought["note"][0] == "the smallest error for 0.5 in cost"
    assert np.all(bought["cost"] <= 0.5)
    assert np.all(bought["se"] >= bought["se"][0])
    assert len(bought["se"]) == 2  # more generations than one buy too few questions
    assert "buys fewer than 30 questions" in plan(PAIR, PRICED, budget=0.5, every=True).columns()["note"]
    calls = plan(PAIR, PRICED, budget=1000, unit="calls").columns()
    assert calls["note"][0] == "the smallest error for 1000 calls"
    assert calls["n_generations"][0] == 4
    assert "the cheapest in cost" in str(result)


def test_a_row_for_each_number_of_variants():
    """A slow version: the best of all designs with that number of variants, written as a plan that allows no other."""
    noise = VarianceComponents(question=0.02, generation=0.1, variant=0.002, interaction=0.05)
    for goal in ({"budget": 4000}, {"se": 0.0215}):
        rows = plan(noise, max_variants=20, **goal)
        many = plan(noise, max_variants=20, every=True, **goal)
        assert len(rows.se) < 15 < len(many.se)
        assert many.best[:6] == rows.best[:6]
        others = rows.n_variants != rows.best.n_variants
        assert len(set(rows.n_variants[others])) == others.sum() > 1
        for S, K, N, se in zip(
            *(column[others] for column in (rows.n_variants, rows.n_generations, rows.n_questions, rows.se)),
            strict=True,
        ):
            k, n = np.array([
                (k, n) for k in range(1, 60) for n in ([4000 // (2 * S * k)] if "budget" in goal else range(30, 2500))
            ]).T  # fmt: skip
            variance = noise.variance(n, k, S)
            allowed = (n >= 30) & (("budget" in goal) | (variance <= 0.0215**2))
            k, n, error = k[allowed], n[allowed], np.sqrt(variance[allowed])
            best = np.argmin(error) if "budget" in goal else np.lexsort((error, k * n))[0]
            assert (K, N, se) == pytest.approx((k[best], n[best], error[best]))


def test_why_there_is_no_design():
    noise = VarianceComponents(question=0.04, generation=0.16, benchmark="math")
    short = plan(noise, detect=0.02, available=500)
    assert short.best is None
    even = (
        "no number of generations is enough: even without any sampling noise, all 500 questions have a standard error"
    )
    assert short.reason == f"{even} of 0.008944, and the goal needs 0.007139"
    asked = se_for_detecting(0.02)
    # by hand: 2 N K is smallest for K = 1, where N = (.04 + .16) / .007139^2
    assert math.ceil(0.2 / asked**2) == 3925
    assert short.remedy.startswith("3,925 questions with 1 generation of each would do, the cheapest in calls")
    assert set(short.n_questions) == {500}
    few = plan(noise, se=0.01, available=500, max_generations=2)
    assert few.reason == "it takes 16 generations of all 500 questions, 2 are allowed"
    prompts = VarianceComponents(question=0.04, generation=0.16, variant=0.001)
    none = plan(prompts, se=0.01)
    assert none.reason == (
        "no number of questions is enough: the noise of the prompt alone has se 0.03162, 0.01 is asked, "
        "which takes 11 prompt variants or more"
    )
    assert set(none.n_questions) == {0}
    assert np.all(np.isnan(none.cost))
    assert none.columns()["note"][0].startswith("no number of questions is enough; ")
    remedy = plan(prompts, se=0.01, available=500).remedy.replace(",", "")
    design = re.match(r"(\d+) questions in (\d+) prompt variants with (\d+) generation", remedy)
    assert tuple(map(int, design.groups())) == plan(prompts, se=0.01, max_variants=20).best[:3]  # twice the fewest
    few = plan(noise, PRICED, budget=1e-4).reason
    assert few.startswith("the budget of 0.0001 in cost does not buy 30 questions: one generation of each takes 0.")


@pytest.mark.parametrize("claim", ["new-questions", "these-questions"])
@pytest.mark.parametrize("seed", mark_long(range(4), after=1))
def test_the_advice_on_more_questions_is_the_cheapest_design(seed, claim):
    """A slow version: every number of generations, and for each every number of questions until one is enough."""
    rng = np.random.default_rng(seed)
    p = np.clip(rng.beta(0.6, 0.4, 80) + rng.normal(0, 0.05, (2, 80)), 0, 1)
    noise = components_from_cells(cells_of(rng.binomial(3, p), 3), "a", "b", claim=claim)
    cost = Cost(prompt_tokens=300, completion_tokens=100, generations_per_request=4)
    target = 0.8 * float(np.sqrt(noise.variance(min(60, noise.population), 50, assurance=0.8)))
    reason = plan(noise, cost, se=target, available=60, max_generations=50).remedy
    prices = {}
    for K in range(1, 51):
        for N in range(61, int(min(noise.population, 4000)) + 1):
            if noise.variance(N, K, assurance=0.8) <= target**2:
                prices[N, K] = 2 * N * (300 * math.ceil(K / 4) + 100 * K)
                break
    if not prices:
        assert "no number of questions would do" in reason
        return
    reason = reason.replace(",", "")
    N, K = (int(number) for number in re.search(r"^(\d+) questions with (\d+) generation", reason).groups())
    assert prices[N, K] == min(prices.values())
    if fewest := re.search(r"; or (\d+) with (\d+) of each the fewest with at most 50 generations", reason):
        assert tuple(map(int, fewest.groups())) == min(prices)
    else:
        assert min(prices)[0] == N


def test_ties_go_to_more_questions_and_models_are_paid():
    free_choice = VarianceComponents(question=0, generation=0.2)
    assert plan(free_choice, se=0.01).best[:3] == (2000, 1, 1)
    assert plan(free_choice, budget=4000).best[:3] == (2000, 1, 1)
    only_one = plan(PAIR, [PRICED], se=0.01).best
    both = plan(PAIR, [PRICED, PRICED], se=0.01).best
    assert both == plan(PAIR, PRICED, se=0.01).best
    assert both.cost == pytest.approx(2 * only_one.cost)
    assert plan(VarianceComponents(0.04, 0.16, models=1), PRICED, se=0.01).best == only_one
    free = Cost(prompt_tokens=10, completion_tokens=10, input_price=0, output_price=0)
    assert plan(PAIR, free, se=0.01).columns()["note"][0] == "the cheapest in tokens"


def test_each_row_is_its_design():
    """A slow version: each row by its formula."""
    noise = VarianceComponents(question=0.04, generation=0.16, variant=0.001, interaction=0.01)
    rows = plan(noise, PRICED, se=0.03, max_variants=4).columns()
    designs = zip(rows["n_questions"], rows["n_variants"], rows["n_generations"], strict=True)
    for row, (N, S, K) in enumerate(designs):
        se = math.sqrt(0.04 / N + 0.001 / S + 0.01 / (N * S) + 0.16 / (N * S * K))
        assert rows["se"][row] == pytest.approx(se)
        assert rows["calls"][row] == 2 * N * S * math.ceil(K / 4)
        assert rows["cost"][row] == pytest.approx(2 * N * S * (math.ceil(K / 4) * 400 * 3 + K * 100 * 15) / 1e6)
    assert len(rows["se"]) > 1
    assert rows["calls"].dtype.kind == "i"
    assert np.all(np.isnan(plan(noise, se=0.05).columns()["cost"]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: plan(VarianceComponents(0, 0), se=0.1),
            "given: there is no noise to plan with: its components are 0; give a",
        ),
        (lambda: plan(PAIR), "plan: no goal given; give one of detect, width, se, budget"),
        (lambda: plan(PAIR, se=0.1, width=0.1), "plan: width and se given"),
        (lambda: plan(PAIR, detect=0), "plan: detect is 0; allowed: above 0"),
        (lambda: plan(PAIR, budget=math.inf), "plan: budget is inf"),
        (lambda: plan(PAIR, se=0.1, level=1), "level is 1; allowed: between 0 and 1"),
        (lambda: plan(PAIR, detect=0.1, power=0.3), "power is 0.3; allowed: from 0.5"),
        (lambda: plan(PAIR, se=0.1, available=0), "plan: available is 0; allowed: 1, 2, 3"),
        (lambda: plan(PAIR, se=0.1, max_generations=2.5), "plan: max_generations is 2.5"),
        (lambda: plan(PAIR, budget=1, unit="cost"), "plan: the cost of a generation is unknown"),
        (
            lambda: plan(PAIR, budget=1, unit="cost"),
            "give --cost prompt_tokens=N,completion_tokens=N,input_price=N,output_price=N (in Python, prompt_tokens,",
        ),
        (lambda: plan(PAIR, budget=1, unit="tokens"), "give --cost prompt_tokens=N,completion_tokens=N (in Python, "),
        (
            lambda: plan(PAIR, Cost(0, 0), budget=1, unit="tokens"),
            "plan: the number of tokens of a generation is 0 and limits no",
        ),
        (lambda: plan(PAIR, [Cost()] * 3, se=0.1), "plan: cost is of 3 models; allowed: from 1 to 2"),
        (lambda: Cost(prompt_tokens=-1), "Cost: prompt_tokens is -1; allowed: 0 or more"),
        (lambda: Cost(generations_per_request=0), "Cost: generations_per_request is 0; allowed: 1, 2, 3"),
        (lambda: VarianceComponents(-0.1, 0.2), "Components: question is -0.1; a variance is 0 or more"),
        (lambda: VarianceComponents(0.1, 0.2, models=3), "Components: models is 3"),
        (lambda: VarianceComponents(0.1, 0.2, population=0), "population is 0; allowed: 1 or more"),
        (lambda: PAIR.variance([10, 0]), "n_questions is 0; allowed: 1 or more"),
        (lambda: VarianceComponents(0.1, 0.2, population=50).variance(51), "n_questions is 51; allowed: from 1 to 50"),
        (lambda: PAIR.questions_for(-1), "se is -1; allowed: 0 or more"),
        (lambda: components_from_accuracy(1), "accuracy is 1; allowed: strictly between 0 and 1"),
        (lambda: components_from_accuracy(0.5, data_share=2), "data_share is 2; allowed: from 0 to 1"),
    ],
)
def test_wrong_numbers(call, message):
    with pytest.raises(InputError) as error:
        call()
    assert message in str(error.value)


def test_unknown_names():
    with pytest.raises(UnknownNameError, match="plan: unknown unit 'token'; did you mean 'tokens'"):
        plan(PAIR, PRICED, budget=1, unit="token")
    with pytest.raises(UnknownNameError, match="unknown unit 'money'"):
        PRICED.cell(1, "money")
    cells = cells_of([[1, 0], [0, 1]], 1)
    with pytest.raises(UnknownNameError, match="plan: unknown claim 'single-run'"):
        components_from_cells(cells, "a", "b", claim="single-run")
    with pytest.raises(UnknownNameError, match="unknown model 'z'"):
        components_from_cells(cells, "a", "z")


@pytest.mark.shared
def test_published_components_of_a_pair():
    """A printed table: NOISE's data and prediction error of one pair, and the design they plan."""
    folder = NOISES / "highk_temp0.7"
    if not folder.exists():
        pytest.skip("needs the data folder ../shared")
    import csv

    from howsure import read as read_cells

    a, b = "deepseek_r1_distill_llama_70b", "deepseek_r1_distill_llama_8b"
    (cells,) = read_cells(folder / "input_table_math500_cot.csv")
    with (folder / "summary_math500_cot.csv").open() as file:
        (published,) = (row for row in csv.DictReader(file) if (row["model_a"], row["model_b"]) == (a, b))
    noise = components_from_cells(cells, a, b)
    # the published variances over questions divide by N, the plan's by N - 1
    spread = float(compare(cells, a, b).variance[0]) / 499
    assert noise.question / 500 - spread == pytest.approx(float(published["SE_x(A-B)"]) ** 2, rel=1e-6)
    assert math.sqrt(noise.generation / 500) == pytest.approx(float(published["SE_pred(A-B)"]), rel=1e-6)
    assert float(noise.variance(500)) - spread == pytest.approx(float(published["SE(A-B)"]) ** 2, rel=1e-6)
    # on the benchmark's own 500 questions, data noise alone stops at 2.8 SE_x
    floor = 2.801585 * math.sqrt(noise.question / 500)
    assert plan(noise, detect=floor * 0.999, available=500, assurance=None).best is None
    assert plan(noise, detect=floor * 1.01, available=500, assurance=None).best.n_questions <= 500
    assert plan(noise, detect=floor * 1.01, available=500).best is None


def test_a_plan_that_takes_every_variant_says_that_more_were_not_tried():
    """Theory: noise of the prompt alone, so the most variants are best; where another noise bounds the plan, nothing is said."""
    prompt = VarianceComponents(question=0.001, variant=0.05, generation=0.1)
    assert "more than 7 variants were not tried" in plan(prompt, budget=7000, max_variants=7).columns()["note"][0]
    question = VarianceComponents(question=0.5, variant=1e-9, generation=0.1)
    assert "not tried" not in " ".join(plan(question, budget=7000, max_variants=7).columns()["note"])


def test_a_budget_that_the_questions_limit_says_what_more_of_them_would_give():
    """The same plan without a limit; of a noise whose limit stops falling, that more generations do not help."""
    limited, free = (plan(PAIR, PRICED, budget=5, available=available) for available in (80, None))
    N, _, K, se = free.best[:4]
    assert limited.best.n_questions <= 80 < N
    bought = f"5 in cost would buy {N} questions with {K} generation{'s' * (K > 1)} of each, se {se:.2g}"
    assert limited.reason == f"80 questions limit the plan: {bought}"
    assert free.reason == plan(PAIR, PRICED, detect=0.05, available=5000).reason == ""
    rng = np.random.default_rng(0)
    pilot = components_from_cells(cells_of(rng.binomial(4, [rng.beta(2, 2, 80)] * 2), 4), "a", "b")
    assert pilot.question == 0
    stopped = plan(pilot, PRICED, budget=50, available=80)
    assert stopped.best.cost < 25
    assert "80 questions limit the plan, and more generations of them do not lower se_assured: " in stopped.reason
    assert stopped.columns()["note"][1].startswith("plain plan: the smallest error for 50 in cost if ")
    assert "estimated, without data noise; 80" in stopped.columns()["note"][1]


def test_a_budget_that_buys_too_few_questions_says_so_once():
    """By hand: 20 calls of two models; designs of 0 questions are no rows, but for the only one."""
    few = plan(PAIR, Cost(), budget=20)
    assert (few.n_questions.tolist(), few.n_generations.tolist()) == ([10, 5, 2, 1], [1, 2, 5, 10])
    reason = "the budget of 20 calls does not buy 30 questions: one generation of each takes 60 calls"
    assert set(few.columns()["note"]) == {reason}
    assert plan(PAIR, Cost(), budget=1).n_questions.tolist() == [0]


def test_a_narrow_table_of_designs_has_what_they_detect_and_their_cost():
    pilot = VarianceComponents(question=0.04, generation=0.16, question_se=0.01, generation_se=0.01)
    lines = plan(pilot, PRICED, budget=50, available=300).fit_text(80).splitlines()
    assert any({"se_assured", "detectable", "calls", "cost"} <= {*line.split()} for line in lines)
    wide = plan(PAIR, PRICED, budget=5).fit_text(None).splitlines()
    head = next(i for i, line in enumerate(wide) if "tokens" in line.split())
    assert wide[head + 1].split()[wide[head].split().index("tokens")].isdecimal()


@pytest.mark.parametrize("power", [0.7, 0.9])
def test_a_plan_at_another_power_by_the_formula(power):
    """(z_.975 + z_power) times the error of each design; the first one finds the difference, fewer questions do not."""
    columns = plan(PAIR, detect=0.1, power=power).columns()
    factor = stats.norm.ppf(0.975) + stats.norm.ppf(power)
    assert columns["detectable"] == pytest.approx(factor * columns["se_assured"])
    assert factor * columns["se_assured"][0] <= 0.1
    n, k = (int(columns[name][0]) for name in ("n_questions", "n_generations"))
    fewer = np.sqrt((PAIR.question + PAIR.generation / k) / (n - 1))
    assert factor * fewer > 0.1
