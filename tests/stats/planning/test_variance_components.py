"""Plans that heed how roughly a pilot knows the noise: limits by a slow version, searches by brute force, simulation."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles import planning as oracle

import howsure as hs
from howsure.errors import InputError
from howsure.stats.comparisons.pairs import compare
from howsure.stats.core.cells import Cells
from howsure.stats.core.cube import Cube
from howsure.stats.planning.cost import Cost, ModelUsage, compare_costs
from howsure.stats.planning.pilot import (
    components_from_cells,
    components_from_cube,
    split_prompt_error,
    split_score_error,
)
from howsure.stats.planning.plan import plan
from howsure.stats.planning.variance_components import VarianceComponents
from howsure.stats.prompts.components import estimate_components
from howsure.stats.scores.score import score, unbiased_data

Z80 = 0.8416212335729143
#: A prompt is paid once for many generations, which is where a search exploits a data variance that came out too small.
TOKENS = Cost(prompt_tokens=400, completion_tokens=100, generations_per_request=1000)


def names(size, letter):
    return tuple(f"{letter}{i}" for i in range(size))


def cells_of(totals, K):
    totals = np.asarray(totals, float)
    return Cells(
        "drawn", names(len(totals), "m"), names(totals.shape[1], "q"), np.full(totals.shape, K), totals, totals
    )


# ---- the limit of a design


uncertain = st.builds(
    lambda v, errors, correlation, population: (v, errors, correlation * errors[0] * errors[3], population),
    st.tuples(*[st.sampled_from([0.001, 0.04, 0.2])] * 1, st.sampled_from([0, 0.0005]), st.sampled_from([0, 0.02]), st.sampled_from([0, 0.01, 0.2])),
    st.tuples(st.sampled_from([0.0, 0.002, 0.05]), st.sampled_from([0.0, 0.0004]), st.sampled_from([0.0, 0.01]), st.sampled_from([0.0, 0.03])),
    st.sampled_from([-0.9, -0.3, 0.0, 0.5]),
    st.just(math.inf) | st.integers(40, 300),
)  # fmt: skip


def components(v, errors, covariance, population):
    return VarianceComponents(
        **oracle.Variances(*v)._asdict(),
        **{f"{name}_se": error for name, error in oracle.Variances(*errors)._asdict().items()},
        total_se=math.sqrt(errors[0] ** 2 + errors[3] ** 2 + 2 * covariance),
        population=population,
    )


@settings(max_examples=80)
@given(uncertain, st.integers(1, 40), st.integers(1, 4), st.integers(1, 9), st.sampled_from([0.6, 0.8, 0.95]))
def test_the_limit_of_a_design_against_the_slow_version(case, N, S, K, level):
    noise = components(*case)
    v, errors, covariance, population = case
    slow = oracle.upper_limit(oracle.Variances(*v), oracle.Variances(*errors), covariance, level, N, S, K, population)
    assert noise.variance(N, K, S, assurance=level) == pytest.approx(slow, rel=1e-9)
    assert noise.variance(N, K, S, assurance=None) == noise.variance(N, K, S, assurance=0.5) == noise.variance(N, K, S)
    low, high = noise.limits(N, K, S, level=0.8)
    assert high == noise.variance(N, K, S, assurance=0.9)
    assert low * high == pytest.approx(noise.variance(N, K, S) ** 2)


@settings(max_examples=80)
@given(uncertain, st.integers(1, 40), st.integers(1, 4), st.sampled_from([0.6, 0.8, 0.95]))
def test_more_generations_never_promise_a_larger_error_nor_need_more_questions(case, N, S, level):
    """Theory: the true variance falls with the generations, so that an upper limit for fewer holds for more."""
    noise, K = components(*case), np.append(np.arange(1, 120), [200, 1000, 10_000, 10**6])
    limits = noise.variance(N, K, S, assurance=level)
    assert np.all(np.diff(limits) <= 1e-12 * limits[0])
    needed = noise.questions_for(math.sqrt(limits[3]), K, S, assurance=level)
    assert np.all(needed[1:] <= needed[:-1])
    assert np.all(limits >= noise.variance(N, K, S) * (1 - 1e-12))


@settings(max_examples=80)
@given(uncertain, st.integers(1, 4), st.integers(1, 9), st.floats(0.01, 0.3), st.sampled_from([0.6, 0.8, 0.95]))
def test_the_fewest_questions_are_the_fewest_of_all(case, S, K, se, level):
    """A slow version: every number of questions."""
    noise = components(*case)
    most = int(min(noise.population, 4000))
    enough = np.flatnonzero(noise.variance(np.arange(1, most + 1), K, S, assurance=level) <= se**2 * (1 + 1e-12))
    found = float(noise.questions_for(se, K, S, assurance=level))
    assume(found <= most or len(enough) or noise.population <= most)
    assert found == (enough[0] + 1 if len(enough) else math.inf)


@settings(max_examples=25)
@given(uncertain, st.sampled_from([0.05, 0.1, 0.2]) | st.none())
def test_the_assured_design_is_the_best_of_all(case, se):
    """A slow version: brute force over every design, with the slow limit."""
    v, errors, covariance, population = case
    noise = components(*case)
    cost, budget = Cost(3, 2, generations_per_request=4), None if se else 900
    slow = []
    for N, S, K in itertools.product(range(1, 31), range(1, 4), range(1, 7)):
        limit = oracle.upper_limit(
            oracle.Variances(*v), oracle.Variances(*errors), covariance, 0.8, N, S, K, population
        )
        price = 2 * oracle.cost_of(oracle.Price(3, 2, 4), N, S, K)["cost"]
        if (limit <= se**2 * (1 + 1e-9)) if se else (price <= budget):
            slow.append((price, limit) if se else (limit, price))
    limits = {"available": 30, "max_variants": 3, "max_generations": 6, "fewest": 1}
    best = plan(noise, cost, se=se, budget=budget, **limits).best
    assert (best is None) == (not slow)
    if best is not None:
        first = best.tokens if se else best.se_assured**2
        assert first == pytest.approx(min(slow)[0], rel=1e-6)


def test_known_components_give_the_same_plan_at_any_assurance():
    noise = VarianceComponents(question=0.04, generation=0.16)
    assured = plan(noise, TOKENS, detect=0.05)
    assert assured.plain is None
    assert assured.assurance == 0.5
    assert str(assured) == str(plan(noise, TOKENS, detect=0.05, assurance=None))
    assert np.array_equal(assured.se, assured.se_low)
    assert np.array_equal(assured.se, assured.se_high)
    assert (noise.total_se, noise.residual_se, noise.uncertain) == (0, 0, False)


def test_the_plain_plan_stands_beside_the_assured_one():
    noise = VarianceComponents(question=0.02, generation=0.2, question_se=0.015, generation_se=0.02)
    both, plain = plan(noise, TOKENS, detect=0.03), plan(noise, TOKENS, detect=0.03, assurance=None)
    assert both.plain[:6] == plain.best[:6]  # the design, its error and its limits
    assert (both.plain.calls, both.plain.tokens) == (plain.best.calls, plain.best.tokens)
    assert both.best.tokens > plain.best.tokens
    assert [both.n_questions[i] for i in (0, 1)] == [both.best.n_questions, plain.best.n_questions]
    rows = both.columns()
    assert rows["note"][0] == "the cheapest in tokens, with the upper 80 % limit of its variance"
    assert rows["note"][1] == "plain plan: the cheapest in tokens if the noise were exactly as estimated"
    # What is promised is kept by the assured plan; the plain one keeps it if the noise is as estimated.
    assert rows["detectable"][0] == pytest.approx(0.03, rel=0.01) == plain["detectable"][0]
    assert rows["detectable"][1] > 0.032
    assert rows["se_high"][0] < rows["se_high"][1]
    assert np.all(rows["se_low"] < rows["se_high"])
    assert (both.assurance, plain.assurance, plain.plain) == (0.8, 0.5, None)
    # with 500 questions the plain plan is possible and the assured one is not, which is said
    short = plan(noise, TOKENS, detect=0.03, available=250)
    assert short.best is None
    assert short.plain is not None
    assert short.reason.startswith("no number of generations is enough: ")
    assert " (its upper 80 % limit), and the goal needs " in short.reason
    assert short.columns()["note"][0].startswith("plain plan: ")
    few = plan(noise, detect=0.03, available=400, max_generations=2).reason
    needed = int(few.split("it takes ")[1].split()[0])
    target = (0.03 / 2.801585) ** 2
    assert noise.variance(400, needed, assurance=0.8) <= target < noise.variance(400, needed - 1, assurance=0.8)


def test_a_column_of_a_plan_has_one_meaning_in_all_rows():
    """Theory: se is sqrt(D/N + E/(N K)) in every row, of whichever plan, and se_assured its limit in every row."""
    noise = VarianceComponents(question=0.02, generation=0.2, question_se=0.015, generation_se=0.02)
    for available in (None, 250):
        rows = plan(noise, TOKENS, detect=0.03, available=available)
        N, K = rows["n_questions"], rows["n_generations"]
        assert len(N) > 5
        assert rows["se"] ** 2 == pytest.approx(0.02 / N + 0.2 / (N * K))
        assert rows["se_assured"] ** 2 == pytest.approx(noise.variance(N, K, assurance=0.8))
        assert rows["detectable"] == pytest.approx(2.801585 * rows["se_assured"])
        # More generations of the same number of questions never have a larger error.
        same = N[-1] == N
        assert np.all(np.diff(rows["se"][same][np.argsort(K[same])]) < 0)


@pytest.mark.parametrize("assurance", [0.4, 1, -1])
def test_an_assurance_that_is_none(assurance):
    with pytest.raises(InputError, match="allowed: from 0.5 to below 1, such as 0.8; 0.5 or none takes"):
        plan(VarianceComponents(0.1, 0.1), se=0.1, assurance=assurance)
    with pytest.raises(InputError, match="Components: question_se is -0.1; an error is 0 or more"):
        VarianceComponents(0.1, 0.1, question_se=-0.1)


# ---- what a pilot knows


@pytest.mark.long
def test_the_data_variance_has_no_bias():
    """Guarantee by simulation: 40,000 pilots of 20 questions x 2; the printed one is too small by 1/N and more."""
    rng = np.random.default_rng(31)
    N, k, D, E = 20, 2, 1 / 12, 1 / 6  # Beta(1, 1)
    cells = cells_of(rng.binomial(k, rng.random((40_000, N))), k)
    scores = score(cells)
    found = unbiased_data(scores.data, scores.variance * N, N)
    error = found.std() / 200
    assert abs(found.mean() - D) < 3.5 * error
    assert abs(scores.data.mean() - (D * (1 - 1 / N) - E / (k * N))) < 3.5 * error
    assert D - scores.data.mean() > 20 * error
    assert np.isnan(unbiased_data(0.1, 0.1, 1))


def test_the_errors_of_the_components_by_loops():
    """A slow version: what each question brings, question by question, with unequal counts."""
    rng = np.random.default_rng(32)
    scores = [[rng.integers(0, 2, rng.integers(1, 5)).tolist() for _ in range(12)] for _ in range(2)]
    cells = Cells.from_scores("b", ["a", "c"], names(12, "q"), scores)
    found = components_from_cells(cells, "a", "c")
    s2 = [[np.var(x, ddof=1) if len(x) > 1 else math.nan for x in row] for row in scores]
    E = [np.nanmean(row) for row in s2]
    d = [np.mean(x) - np.mean(y) for x, y in zip(*scores, strict=True)]
    noise = [sum((E[m] if math.isnan(s2[m][q]) else s2[m][q]) / len(scores[m][q]) for m in range(2)) for q in range(12)]
    of_D = [(d[q] - np.mean(d)) ** 2 * 12 / 11 - noise[q] for q in range(12)]
    assert max(np.mean(of_D), 0) == pytest.approx(found.question)
    assert np.std(of_D, ddof=1) / math.sqrt(12) == pytest.approx(found.question_se)
    of_E = [
        sum(0 if math.isnan(s2[m][q]) else (s2[m][q] - E[m]) * 12 / np.sum(~np.isnan(s2[m])) for m in range(2))
        for q in range(12)
    ]
    assert sum(E) == pytest.approx(found.generation)
    assert np.std(of_E, ddof=1) / math.sqrt(12) == pytest.approx(found.generation_se)


@pytest.mark.parametrize(
    ("scores", "components", "errors"),
    [
        # the questions bring 1/8 - 1/4 and 1/8 - 0 to D, 1/4 and -1/4 to E, and 1/8 + 1/4 and 1/8 + 0 to T
        ([[1, 0], [1, 1]], (0, 0.25, 0.25), (0.125, 0.25, 0.125)),
        # 1/6 - 1/4, 1/24 - 0 and 1/24 - 1/4 to D, 3/8, -3/8 and 0 to E; the errors of D and E differ by more than that of T
        ([[1, 0], [1, 1], [1]], (0, 0.25, 0.25), (math.sqrt(1 / 192), math.sqrt(9 / 192), math.sqrt(4 / 192))),
    ],
)
def test_the_errors_of_the_components_by_hand(scores, components, errors):
    """Sums by hand, of the fewest questions and of unequal numbers of generations."""
    found = components_from_cells(Cells.from_scores("b", ["a"], names(len(scores), "q"), [scores]), "a")
    assert (found.question, found.generation, found.total) == pytest.approx(components)
    assert (found.question_se, found.generation_se, found.total_se) == pytest.approx(errors)


@pytest.mark.long
@pytest.mark.parametrize(("N", "k"), [(100, 1), (100, 2), (60, 5)])
def test_the_errors_of_the_components_are_those_of_pilots(N, k):
    """Guarantee by simulation: mean squared errors of 600 pilots against the variance of their estimates."""
    rng = np.random.default_rng(33)
    p = rng.beta(0.6, 0.4, (600, N))
    other = np.clip(p + rng.normal(0, 0.4, p.shape), 0, 1)
    a, b = rng.binomial(k, p), rng.binomial(k, other)
    pilots = [components_from_cells(cells_of([a[i], b[i]], k), "m0", "m1") for i in range(600)]
    for name in ("total",) if k == 1 else ("total", "generation"):
        spread = np.var([getattr(pilot, name) for pilot in pilots])
        believed = np.mean([getattr(pilot, f"{name}_se") ** 2 for pilot in pilots])
        assert believed == pytest.approx(spread, rel=0.25)
    if k == 1:
        assert np.isnan(pilots[0].question_se)
        return
    data = np.array([pilot.question for pilot in pilots])
    assert np.mean(data == 0) < 0.01  # hardly any was cut
    believed = np.mean([pilot.question_se**2 for pilot in pilots])
    assert believed == pytest.approx(np.var(data), rel=0.25)
    both = [pilot.total_se**2 - pilot.question_se**2 - pilot.generation_se**2 for pilot in pilots]
    assert np.mean(both) < 0  # data noise that is missed is taken for sampling noise


def test_errors_of_two_scores_and_of_a_model_against_itself():
    rng = np.random.default_rng(34)
    cells = cells_of(rng.binomial(3, rng.beta(0.6, 0.4, (2, 40))), 3)
    apart, one, other = (components_from_cells(cells, *pair, paired=False) for pair in (("m0", "m1"), ("m0",), ("m1",)))
    for name in ("question_se", "generation_se", "total_se"):
        assert getattr(apart, name) == pytest.approx(math.hypot(getattr(one, name), getattr(other, name)))
    itself = components_from_cells(cells, "m0", "m0")
    assert (itself.question, itself.question_se) == (0, 0)
    assert itself.generation == pytest.approx(2 * one.generation)
    assert compare(cells, "m0", "m0").data[0] == 0
    alone = components_from_cells(cells.select(None, ["q0"]), "m0")
    assert math.isnan(alone.total)


def test_the_errors_of_prompts_are_those_of_their_limits():
    """The upper limit of each component at 80 % is that of `crossed(...).limits`, exactly."""
    rng = np.random.default_rng(35)
    y = 0.5 + rng.normal(0, 0.3, (20, 1, 1)) + rng.normal(0, 0.1, (1, 5, 1)) + rng.normal(0, 0.3, (20, 5, 2))
    y = y + rng.normal(0, 0.2, (20, 5, 1))
    cube = Cube.from_scores("b", ["m"], names(20, "q"), names(5, "v"), [y.tolist()])
    noise, found = components_from_cube(cube, "m"), estimate_components(cube)
    for name in ("question", "variant", "interaction", "generation"):
        high = found.limits(name, 0.6)[1][0]
        assert getattr(noise, name) + Z80 * getattr(noise, f"{name}_se") == pytest.approx(high), name
    wide = (y + rng.normal(0, 0.3, (20, 5, 1))).tolist()
    nested = components_from_cube(Cube.from_scores("b", ["m"], names(20, "q"), names(5, "v"), [wide], nested=True), "m")
    assert nested.variant_se == 0 < nested.interaction_se
    single = components_from_cube(
        Cube.from_scores("b", ["m"], names(20, "q"), names(5, "v"), [y[:, :, :1].tolist()]), "m"
    )
    assert single.generation_se == 0 < single.residual_se
    assert single.variance(50, 1, 3, assurance=0.8) > single.variance(50, 1, 3)


def test_negative_components_of_prompts_are_planned_as_none():
    """By hand: each cell is right once in two, so that ve is 1/2, vQS 0 - 1/4 and the variances of equal means are 0."""
    cube = Cube.from_scores("b", ["a"], ["q1", "q2", "q3"], ["v1", "v2"], [[[[1, 0]] * 2] * 3])
    noise = components_from_cube(cube, "a")
    assert (noise.question, noise.variant, noise.interaction, noise.generation) == pytest.approx((0, 0, 0, 0.5))
    assert noise.note.split("; ") == ["interaction is lost in the sampling noise", "interaction below 0: planned as 0"]


# ---- what is delivered


@pytest.mark.long
def test_assured_plans_deliver_the_power_that_they_promise():
    """Guarantee by simulation: 250 pilots of 30 x 2; two models that differ on some questions, a difference of .03.

    The plain plan, which takes the pilot as known, delivers far less than the promised .80.
    """
    rng = np.random.default_rng(36)
    p = np.clip(rng.beta(0.5, 0.3, (2, 4000)), 0.01, 0.99)
    models = np.array([p[0], np.where(rng.random(4000) < 0.15, p[1], p[0])])
    D, E = np.var(models[0] - models[1]), np.sum(np.mean(models * (1 - models), axis=1))
    delivered = {0.8: [], None: []}
    over = []
    for _ in range(250):
        pilot = components_from_cells(cells_of(rng.binomial(2, models[:, rng.integers(0, 4000, 30)]), 2), "m0", "m1")
        for assurance, powers in delivered.items():
            best = plan(pilot, TOKENS, detect=0.03, max_generations=500, assurance=assurance).best
            se = math.sqrt((D + E / best.n_generations) / best.n_questions)
            powers.append(oracle.power_of(0.03, se, 0.05))
            if assurance:
                over.append(se > best.se_assured)
    assured, plain = np.mean(delivered[0.8]), np.mean(delivered[None])
    assert assured > 0.78
    assert plain < 0.72
    assert np.mean(np.array(delivered[0.8]) < 0.6) < np.mean(np.array(delivered[None]) < 0.6) / 2
    assert np.mean(over) < 0.3


@pytest.mark.long
def test_assured_plans_of_prompts_keep_the_error_that_they_promise():
    """Guarantee by simulation: 80 pilots of 50 questions x 5 prompts x 2, prompts of sd .02."""
    rng = np.random.default_rng(37)
    vQ, vS, vQS, ve = 0.08, 0.0004, 0.01, 0.12
    y = 0.5 + rng.normal(0, math.sqrt(vQ), (80, 50, 1, 1)) + rng.normal(0, math.sqrt(vS), (80, 1, 5, 1))
    y = y + rng.normal(0, math.sqrt(vQS), (80, 50, 5, 1)) + rng.normal(0, math.sqrt(ve), (80, 50, 5, 2))
    cube = Cube("b", names(80, "m"), names(50, "q"), names(5, "v"), np.full((80, 50, 5), 2), y.sum(3), (y**2).sum(3))
    ratio = {0.8: [], None: []}
    for model in cube.models:
        pilot = components_from_cube(cube, model)
        for assurance, ratios in ratio.items():
            best = plan(pilot, width=0.06, max_variants=40, max_generations=10, assurance=assurance).best
            if best is None:  # more prompts than 40 would be needed: nothing is promised
                continue
            N, S, K = best[:3]
            ratios.append(math.sqrt(vQ / N + vS / S + vQS / (N * S) + ve / (N * S * K)) / best.se_assured)
    assert np.mean(np.array(ratio[None]) > 1.25) > 0.35
    assert np.mean(np.array(ratio[0.8]) > 1.25) < 0.2


def test_assurance_from_python_to_the_design():
    rng = np.random.default_rng(38)
    cells = cells_of(rng.binomial(2, rng.beta(0.6, 0.4, (2, 40))), 2)
    [result] = hs.plan(cells, detect=0.05, available=100_000, cost=TOKENS, assurance=0.9).parts
    direct = plan(components_from_cells(cells, "m0", "m1"), TOKENS, detect=0.05, available=100_000, assurance=0.9)
    assert result.best[:-1] == direct.best[:-1]
    [known] = hs.plan(cells, budget=10_000_000, cost=TOKENS, available=100_000, assurance=None).parts
    slow = plan(components_from_cells(cells, "m0", "m1"), TOKENS, budget=10_000_000, available=100_000, assurance=None)
    assert known.best[:-1] == slow.best[:-1]


@pytest.mark.parametrize("question", [0.0, 0.004, 0.02, 0.1])
@pytest.mark.parametrize("error", [0.01, 0.03, 0.1])
def test_more_generations_do_not_promise_a_larger_error(question, error):
    """The log-normal limit alone rises steeply where the data variance is smaller than its error."""
    K = np.arange(1, 200)
    noise = {"question": question, "generation": 0.2, "question_se": error, "generation_se": 0.02}
    for assurance in (0.8, 0.95, 0.99):
        independent = np.sqrt(VarianceComponents(**noise).variance(200, K, assurance=assurance))
        assert np.all(np.diff(independent) <= 1e-12)
        # errors of the two parts of a pilot cancel in their sum, so that single generations are known best
        pilot = np.sqrt(VarianceComponents(**noise, total_se=max(error, 0.02)).variance(200, K, assurance=assurance))
        assert np.all(np.diff(pilot) <= 1e-12)


def test_the_error_over_prompts_is_that_of_the_cells_at_hand():
    """By hand: the mean is linear in the cells, so that moving one cell at a time gives the weight of each."""
    rng = np.random.default_rng(3)
    N, S = 12, 5
    p = rng.uniform(0.2, 0.8, (N, 1)) + rng.normal(0, 0.1, (1, S)) + rng.normal(0, 0.25, (N, S))
    n = rng.integers(2, 6, (1, N, S)) * (rng.random((1, N, S)) < 0.8)
    total = rng.binomial(n, np.clip(p, 0, 1)).astype(float)

    def cube_of(total):
        names = (("a",), tuple(map(str, range(N))), tuple(map(str, range(S))))
        return Cube("demo", *names, n, total, total)

    cube = cube_of(total)
    estimated, parts = estimate_components(cube), split_prompt_error(cube, "a")
    assert min(estimated.question[0], estimated.variant[0], estimated.interaction[0]) > 0
    by_hand = estimated.question[0] / N + estimated.variant[0] / S
    for _, q, s in np.argwhere(n > 0):
        moved = total.copy()
        moved[0, q, s] += n[0, q, s]
        weight = estimate_components(cube_of(moved)).mean[0] - estimated.mean[0]
        right, k = total[0, q, s], n[0, q, s]
        by_hand += weight**2 * (estimated.interaction[0] + right * (k - right) / (k * (k - 1)) / k)
    assert parts.standard_error == pytest.approx(math.sqrt(by_hand))
    assert parts.table_error == pytest.approx(math.sqrt(by_hand))
    assert parts.components == components_from_cube(cube, "a")
    # as if all cells had as many generations as those at hand
    assert parts.standard_error > math.sqrt(parts.components.variance(N, n[n > 0].mean(), S))


def test_a_negative_interaction_is_in_the_error_of_the_table_alone():
    """By hand: K is the same in all cells, so that the parts are those of the design."""
    scores = [[[[1, 1], [1, 0]], [[0, 1], [0, 0]], [[1, 1], [0, 1]]]]
    parts = split_prompt_error(Cube.from_scores("demo", ["a"], list("pqr"), ["v1", "v2"], scores), "a")
    assert parts.standard_error == pytest.approx(math.sqrt(parts.components.variance(3, 2, 2)))
    assert parts.table_error == pytest.approx(math.sqrt(0.25 / 3 / 3 + 0.125 / 2 - 0.125 / 6 + 0.25 / 12))


def test_one_question_and_one_model_say_little():
    """One question tells no data noise: both errors are that of the score. One model is better than none."""
    one = Cells.from_scores("demo", ["a"], ["q"], [[[1, 0]]])
    parts = split_score_error(one, "a")
    assert np.isnan(parts.components.question)
    assert np.isnan([parts.standard_error, parts.table_error]).all()
    costs = compare_costs(one, {"a": ModelUsage(2, 3)})
    assert costs.better_for_less == ((),)
    assert costs.cost.tolist() == [1.5]
