"""`allocate` and `staged`: the slow oracle, greedy allocation, theory, guarantees by simulation, recorded data."""

import math
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import stopping as oracle

from howsure.errors import InputError, UnknownNameError
from howsure.stats.comparisons.pairs import compare
from howsure.stats.core.cells import Cells
from howsure.stats.scores.beta import fit_beta
from howsure.stats.scores.score import score
from howsure.stats.sequential.adaptive_allocation import (
    allocate_generations,
    estimate_question_sd,
    merge_stages,
    score_variance,
)

SHARED = Path(__file__).resolve().parents[3] / "../shared/data/all_the_noises/highk_temp0.7/input_table_math500_cot.csv"


def cells_of(n, total):
    n, total = np.atleast_2d(n), np.atleast_2d(total).astype(float)
    names = tuple(f"m{i}" for i in range(len(n))), tuple(f"q{j}" for j in range(n.shape[1]))
    return Cells("drawn", *names, n, total, total)


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.5]), st.integers(1, 4)), min_size=1, max_size=4),
    st.integers(0, 6),
)
def test_filling_is_optimal_against_every_allocation(questions, budget):
    """A slow version by somebody else: all ways to spend the budget."""
    sd, k = np.array(questions).T
    k = k.astype(int)
    v = [float(s**2) for s in sd]
    more = allocate_generations(cells_of(k, k), budget, design="fill", sd=sd[None]).more[0]
    assert more.sum() == budget
    assert np.all(more >= 0)
    least, _ = oracle.best_allocations(v, int(k.sum()) + budget, k.tolist())
    cost = oracle.allocation_cost(v, (k + more).tolist())
    assert float(cost) == pytest.approx(float(least), rel=1e-9)


def test_large_allocations_against_taking_one_at_a_time():
    """A slow version: always one more where it gains most."""
    rng = np.random.default_rng(1)
    for design in ("fill", "stage"):
        sd, k = rng.random((1, 60)) ** 3, rng.integers(0, 5, (1, 60))
        ours = allocate_generations(cells_of(k, k), 1000, design=design, sd=sd)
        counts = k[0].copy() if design == "fill" else np.zeros(60, int)
        start = counts.copy()
        for _ in range(1000):
            gain = np.where(counts == 0, 1e9 + sd[0], sd[0] ** 2 / np.maximum(counts * (counts + 1), 1))
            counts[np.argmax(gain)] += 1
        assert ours.more[0].tolist() == (counts - start).tolist()


def test_large_budgets_follow_the_standard_deviation():
    """Theory (Neyman): k_q proportional to s_q, and the cost is nowhere below (sum s)^2/B."""
    sd = np.array([[0.5, 0.25, 0.1]])
    more = allocate_generations(cells_of([[0, 0, 0]], [[0, 0, 0]]), 8500, sd=sd).more[0]
    assert more == pytest.approx([5000, 2500, 1000], abs=1)
    cost = float(oracle.allocation_cost((sd[0] ** 2).tolist(), more.tolist()))
    assert cost == pytest.approx(oracle.bound((sd[0] ** 2).tolist(), 8500), rel=1e-6)


def test_two_models_share_a_budget_by_their_questions():
    sd = np.array([[0.1, 0.1], [0.4, 0.2]])
    more = allocate_generations(cells_of(np.zeros((2, 2), int), np.zeros((2, 2))), 800, sd=sd).more
    assert more.tolist() == [[100, 100], [400, 200]]


def test_spread_against_the_oracle():
    """A slow version: Simpson's rule for the mean root; the root of the mean by the Beta's moments."""
    rng = np.random.default_rng(2)
    n = rng.integers(1, 6, (1, 300))
    cells = cells_of(n, rng.binomial(n, rng.beta(0.6, 0.4, n.shape)))
    fit = fit_beta(cells)
    ours = {method: estimate_question_sd(cells, method=method)[0] for method in ("root-mean", "mean-root")}
    for q in range(0, 300, 30):
        x, k = int(cells.total[0, q]), int(n[0, q])
        expected = oracle.posterior_mean_sd(x, k, fit.a[0], fit.b[0])
        assert ours["mean-root"][q] == pytest.approx(expected, rel=1e-6)
        a, b = fit.a[0] + x, fit.b[0] + k - x
        assert ours["root-mean"][q] ** 2 == pytest.approx(a / (a + b) * b / (a + b) * (a + b) / (a + b + 1))
    assert np.all(ours["root-mean"] > ours["mean-root"])


def test_no_question_is_starved():
    cells = cells_of([[5] * 40], [[5] * 20 + [0] * 10 + [2] * 10])
    more = allocate_generations(cells, 400).more[0]
    assert more.min() >= 1
    assert more[-1] > 2 * more[0] > 0
    assert np.all(estimate_question_sd(cells) > 0)


@pytest.mark.parametrize(("n", "total"), [([1, 1, 1], [1, 0, 1]), ([3, 3, 3], [3, 3, 3]), ([4], [2]), ([0, 2], [0, 1])])
def test_where_no_distribution_can_be_fitted_there_is_a_belief_all_the_same(n, total):
    sd = estimate_question_sd(cells_of([n], [total]))
    assert np.all((sd > 0) & (sd <= 0.5))
    assert allocate_generations(cells_of([n], [total]), 7).more.sum() == 7


@pytest.mark.parametrize(
    ("n", "total", "a", "b"),
    [
        # the smoothed score is (9 + 1/2)/(9 + 1), so that the question with all 3 right has Beta(.95 + 3, .05 + 0)
        ([3, 3, 3], [3, 3, 3], [3.95] * 3, [0.05] * 3),
        # (2 + 1/2)/(3 + 1) of single generations: Beta(.625, .375) with one right or wrong
        ([1, 1, 1], [1, 0, 1], [1.625, 0.625, 1.625], [0.375, 1.375, 0.375]),
    ],
)
def test_where_no_distribution_can_be_fitted_it_is_one_around_the_smoothed_score_by_hand(n, total, a, b):
    a, b, sd = np.array(a), np.array(b), estimate_question_sd(cells_of([n], [total]))
    assert sd[0] ** 2 == pytest.approx(a * b / ((a + b) * (a + b + 1)))


def test_scores_that_are_not_binary_shrink_towards_their_mean():
    """Theory: the share kept is true/(true + 2/11 (E^2 + true)) for 12 normal scores: 0, and .73 for variances 1 and 100."""
    rng = np.random.default_rng(3)
    for scale, low, high in ((np.ones(200), 0.0, 0.2), (np.repeat([1.0, 10.0], 100), 0.65, 0.81)):
        x = rng.normal(0, 1, (200, 12)) * scale[:, None]
        cells = Cells.from_scores("b", ["a"], [str(i) for i in range(200)], [x.tolist()])
        kept = np.std(estimate_question_sd(cells) ** 2) / np.std(x.var(axis=1, ddof=1))
        assert low <= kept <= high
    once = Cells.from_scores("b", ["a"], ["1", "2"], [[[0.5], [0.2]]])
    assert estimate_question_sd(once).tolist() == [[1.0, 1.0]]
    same = Cells.from_scores("b", ["a"], ["1", "2"], [[[0.5, 0.5], [0.2, 0.2]]])
    assert allocate_generations(same, 4).more.tolist() == [[2, 2]]
    one = Cells.from_scores("b", ["a"], ["1", "2"], [[[0.5, 0.7], [0.2]]])
    assert estimate_question_sd(one) == pytest.approx(np.full((1, 2), math.sqrt(0.02)))


def test_small_budgets_and_errors_to_expect():
    cells = cells_of([[4, 4, 4]], [[4, 2, 1]])
    small = allocate_generations(cells, 2)
    assert small.more.sum() == 2
    assert "not a stage of its own" in small.reasons[0]
    assert small.se[0] ** 2 == pytest.approx(np.sum(small.sd**2 / 4) / 9)  # of the first round alone
    assert math.isnan(allocate_generations(cells_of([[0, 0]], [[0, 0]]), 1).se[0])
    enough = allocate_generations(cells, 30)
    v = enough.sd[0] ** 2
    stages = [np.sum(v / 4) / 9, np.sum(v / enough.more[0]) / 9]
    assert enough.se[0] ** 2 == pytest.approx(1 / (1 / stages[0] + 1 / stages[1]))
    assert enough.se_even[0] ** 2 == pytest.approx(np.sum(v / 14) / 9)
    assert allocate_generations(cells, 30, design="fill").se[0] <= enough.se[0]
    assert allocate_generations(cells, 0, design="fill").more.sum() == 0
    even = allocate_generations(cells_of([[2, 2]], [[1, 1]]), 10)
    assert even.more.tolist() == [[5, 5]]
    assert "evenly" in even.reasons[0]
    columns = enough.columns()
    assert columns["more"].tolist() == sorted(enough.more[0].tolist(), reverse=True)
    assert columns["n_generations"].tolist() == [4, 4, 4]


# ---- what the answers decided, and the score afterwards


def trials(rng, p, k, mean_after, repeats):
    """`repeats` first rounds of k, each allocated up to `mean_after` per question; both designs."""
    P = np.tile(p, (repeats, 1))
    n = np.full(P.shape, k)
    x = rng.binomial(n, P)
    budget = len(p) * (mean_after - k)
    first = cells_of(n, x)
    sd = estimate_question_sd(first)
    more = {d: np.vstack([allocate_generations(cells_of(n[[i]], x[[i]]), budget, design=d, sd=sd[[i]]).more
                          for i in range(repeats)]) for d in ("stage", "fill")}  # fmt: skip
    return first, {d: cells_of(m, rng.binomial(m, P)) for d, m in more.items()}


@pytest.mark.long
def test_stages_are_unbiased_and_cover_where_plain_means_do_not():
    """Guarantee: a strong model, N = 200, 4 then 10 generations on average; 400 evaluations."""
    rng = np.random.default_rng(4)
    p = rng.beta(1.2, 0.3, 200)
    first, second = trials(rng, p, 4, 10, 400)
    result = score(merge_stages([first, second["stage"]]), claim="these-questions")
    error = result.score - p.mean()
    spread_of_error = error.std()
    assert abs(error.mean()) < 4 * spread_of_error / math.sqrt(400)
    between = result.interval()
    assert np.mean((between.low <= p.mean()) & (p.mean() <= between.high)) == pytest.approx(0.95, abs=0.04)
    plain = (first + second["fill"]).mean.mean(axis=1) - p.mean()
    assert plain.mean() > spread_of_error  # more than a standard error too high
    even = np.mean(p * (1 - p)) / 10 / 200
    assert np.mean(error**2) < even < np.mean(plain**2)


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="the data folder ../shared is absent")
def test_stages_on_recorded_data():
    """Guarantee on recorded data: means of 1,100 generations as the truth, one strong and one weak model."""
    from howsure import read as read_cells

    cells = read_cells(SHARED)[0]
    rng = np.random.default_rng(5)
    for model in ("qwen3-14b", "qwen2-1.5b-instruct"):
        p = cells.mean[cells.index(model)]
        first, second = trials(rng, p, 4, 10, 150)
        staged_error = merge_stages([first, second["stage"]]).mean.mean(axis=1) - p.mean()
        plain = (first + second["fill"]).mean.mean(axis=1) - p.mean()
        assert abs(staged_error.mean()) < 4 * staged_error.std() / math.sqrt(150)
        assert abs(plain.mean()) > 1.5 * staged_error.std()


def weights_of(*stages):
    """Weights of stages with every question: the inverse of the variance of the mean."""
    v = estimate_question_sd(reduce(add, stages)) ** 2
    precision = 1 / np.array([score_variance(v, stage.n) for stage in stages])
    return precision / precision.sum(axis=0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"budget": -1}, "budget is -1; allowed: a whole number"),
        ({"budget": 2.5}, "budget is 2.5"),
        ({"budget": True}, "budget is True"),
        ({"design": "stages"}, "unknown design 'stages'; did you mean 'stage'"),
        ({"method": "mean"}, "unknown method 'mean'"),
        ({"sd": np.array([[1.0]])}, r"allocate: sd is not \(1, 2\) numbers"),
        ({"sd": np.array([[1.0, math.nan]])}, "sd is not"),
    ],
)
def test_wrong_use(wrong, message):
    with pytest.raises((InputError, UnknownNameError), match=message):
        allocate_generations(cells_of([[1, 2]], [[1, 1]]), **{"budget": 3} | wrong)


def test_nothing_to_allocate():
    empty = Cells("b", ("a",), (), np.zeros((1, 0), int), np.zeros((1, 0)), np.zeros((1, 0)))
    with pytest.raises(InputError, match="b: no question"):
        allocate_generations(empty, 3)


# ---- cells of stages


def test_merged_by_hand():
    """Theory: weighted means of stages; n as large as the error within stages allows, never below 2."""
    first, second = cells_of([[4, 4]], [[2, 4]]), cells_of([[6, 2]], [[3, 1]])
    weights = weights_of(first, second)[:, 0]
    whole = merge_stages([first, second])
    assert whole.mean[0] == pytest.approx([0.5, weights @ [1, 0.5]])
    assert whole.binary
    assert np.all((whole.n >= 2) & (whole.n <= [10, 6]))
    error = [weights**2 @ [(1 / 3) / 4, 0.3 / 6], weights[1] ** 2 * 0.5 / 2]
    ours = score(whole, claim="these-questions").variance[0] * 4
    assert sum(error) <= ours < 1.6 * sum(error)  # whole numbers of generations, rounded down


def test_merging_one_stage_or_none_changes_nothing():
    first = cells_of([[2, 3]], [[1, 2]])
    assert merge_stages([first]).n.tolist() == [[2, 3]]
    empty = Cells("b", ("a",), (), np.zeros((1, 0), int), np.zeros((1, 0)), np.zeros((1, 0)))
    assert merge_stages([empty, empty]).n.size == 0
    two = cells_of([[2, 3], [5, 5]], [[1, 2], [4, 0]])
    other = Cells("drawn", ("m0",), ("q1", "q0"), *(np.array([[4, 4]]), *[np.array([[3.0, 1.0]])] * 2))
    together = merge_stages([two, other])  # the second model has the pilot only; questions come in another order
    assert together.n[1].tolist() == [5, 5]
    assert together.total[1].tolist() == [4, 0]
    weights = weights_of(two.select(["m0"]), other.select(questions=["q0", "q1"]))[:, 0]
    assert together.mean[0] == pytest.approx([weights @ [1 / 2, 1 / 4], weights @ [2 / 3, 3 / 4]])


def test_questions_that_lack_a_stage_keep_the_others():
    first, second = cells_of([[4, 4, 0]], [[2, 3, 0]]), cells_of([[5, 0, 1]], [[3, 0, 1]])
    whole = merge_stages([first, second])
    assert whole.mean[0, 1:].tolist() == [0.75, 1.0]
    assert 0.5 < whole.mean[0, 0] < 0.6
    assert whole.n[0, 2] == 1
    apart = merge_stages([cells_of([[4, 0]], [[2, 0]]), cells_of([[0, 4]], [[0, 4]])])
    assert apart.mean[0].tolist() == [0.5, 1.0]
    assert not merge_stages([cells_of([[2, 0]], [[1, 0]]), cells_of([[2, 0]], [[1, 0]])]).answered[0, 1]


def test_what_failed_and_what_was_unparsed_is_summed():
    def one(n, failed):
        return Cells("b", ("a",), ("1", "2"), *(np.array([n]), *[np.array([n]) * 1.0] * 2), failed=np.array([failed]))

    assert merge_stages([one([2, 2], [1, 0]), one([1, 3], [0, 2])]).failed.tolist() == [[1, 2]]


def test_scores_that_are_not_binary_merge_too():
    """Guarantee: normal scores of two spreads, 300 evaluations; the error claimed is that seen."""
    rng = np.random.default_rng(8)
    sd, repeats = np.repeat([0.2, 2.0], 30), 300
    mean = rng.normal(0, 1, 60)

    def draw(n):
        x = rng.normal(mean, sd / np.sqrt(n))  # mean of n, and (n - 1) s2
        square = np.where(n > 1, sd**2 * rng.chisquare(np.maximum(n - 1, 1)), 0)
        return Cells("b", names, tuple(map(str, range(60))), n, n * x, square + n * x**2)

    names = tuple(map(str, range(repeats)))
    first = draw(np.full((repeats, 60), 4))
    more = np.vstack([allocate_generations(first.select([name]), 360).more for name in names])
    result = score(merge_stages([first, draw(more)]), claim="these-questions")
    z = (result.score - mean.mean()) / np.sqrt(result.variance)
    assert abs(z.mean()) < 4 / math.sqrt(repeats)
    assert 0.8 < z.std() < 1.12


@pytest.mark.long
@pytest.mark.parametrize(("a", "b"), [(1.2, 0.3), (0.3, 2.0)])
def test_cells_of_stages_hold_where_pooled_ones_do_not(a, b):
    """Guarantee: score, error and components of 400 evaluations, N = 200, 4 then 10 generations on average."""
    rng = np.random.default_rng(9)
    p = rng.beta(a, b, 200)
    first, second = trials(rng, p, 4, 10, 400)
    second = second["stage"]
    weights = weights_of(first, second)[:, :, None]
    v = p * (1 - p)
    truth = np.mean(weights[0] ** 2 * v / first.n + weights[1] ** 2 * v / second.n)  # N SE^2, given the counts

    def holds(cells):
        result = score(cells, claim="these-questions")
        assert cells.binary
        between = result.interval()
        return {
            "score": abs(np.mean(result.score - p.mean())) < 4 * result.score.std() / math.sqrt(400),
            "error": 0.97 * truth < np.mean(result.variance) * 200 < 1.15 * truth,
            "coverage": 0.92 < np.mean((between.low <= p.mean()) & (p.mean() <= between.high)) < 0.985,
            "prediction": np.mean(result.prediction) == pytest.approx(v.mean(), rel=0.02),
            "data": np.mean(result.data) == pytest.approx(p.var(), rel=0.03),
        }

    assert all(holds(merge_stages([first, second])).values())
    pooled = holds(first + second)
    assert not any(pooled[name] for name in ("score", "error", "coverage", "prediction"))


@pytest.mark.long
def test_differences_and_new_questions_hold_too():
    """Guarantee: two models of one law on drawn questions, 200 evaluations of each; both claims and the null difference."""
    rng = np.random.default_rng(10)
    N, repeats = 100, 200
    P = rng.beta(1.2, 0.4, (repeats, N))
    both = []
    for _ in range(2):
        first = cells_of(np.full(P.shape, 4), rng.binomial(4, P))
        more = np.vstack([allocate_generations(first.select([m]), 6 * N).more for m in first.models])
        both.append(merge_stages([first, cells_of(more, rng.binomial(more, P))]))
    new = score(both[0]).interval()
    assert np.mean((new.low <= 0.75) & (new.high >= 0.75)) == pytest.approx(0.95, abs=0.05)
    z = []
    for i in range(repeats):
        a, b = (replace(side.select([f"m{i}"]), models=(name,)) for side, name in zip(both, "ab", strict=True))
        result = compare(a + b, "a", "b", claim="these-questions")
        z.append(result.difference[0] / math.sqrt(result.variance[0]))
    assert abs(np.mean(z)) < 4 / math.sqrt(repeats)
    assert 0.85 < np.std(z) < 1.1
