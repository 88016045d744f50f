"""The difference of a growing model to one that is finished.

Kind of truth: the formula by plain loops, and coverage at all rounds at once by seeded simulation.
"""

import numpy as np
import pytest
from scipy import stats

from howsure.errors import InputError
from howsure.stats.core.cells import Cells
from howsure.stats.sequential import check_fixed_reference, confidence_boundary


def make_cells(model, scores):
    """Cells of scores (generations, questions)."""
    return Cells.from_scores("x", [model], [f"q{i}" for i in range(scores.shape[1])], [scores.T.tolist()])


def test_new_questions_equal_the_formula_by_loops():
    rng = np.random.default_rng(0)
    new, old = rng.random((5, 30)), rng.random((1, 30))
    decision = check_fixed_reference(make_cells("a", new), make_cells("b", old), 1.0, claim="new-questions")
    d = [sum(new[:, q]) / 5 - old[0, q] for q in range(30)]
    mean = sum(d) / 30
    total = sum((x - mean) ** 2 for x in d) / 29 / 30
    within = sum(sum((x - sum(new[:, q]) / 5) ** 2 for x in new[:, q]) / 4 for q in range(30)) / 30
    fixed = stats.t.ppf(1 - 0.0125, 29) * np.sqrt(max(total - within / 5 / 30, 0))
    assert decision.score[0] == pytest.approx(mean)
    assert decision.half[0] == pytest.approx(float(confidence_boundary(5, level=0.975)) * np.sqrt(within / 30) + fixed)
    assert decision.least[0] == pytest.approx(2 * fixed)


@pytest.mark.parametrize("scale", [1, 3])
@pytest.mark.parametrize("claim", ["these-questions", "new-questions"])
def test_both_parts_by_loops_with_unequal_generations(claim, scale):
    """A slow version: a question with one generation has the mean variance of the others; `needed` by trying."""
    rng = np.random.default_rng(3)
    new, old = ([(scale * rng.random(k)).tolist() for k in rng.integers(1, 6, 12)] for _ in range(2))
    names = [f"q{i}" for i in range(12)]
    cells = [Cells.from_scores("x", [name], names, [grid]) for name, grid in (("a", new), ("b", old))]
    width = 4.0 * scale
    decision = check_fixed_reference(*cells, width, level=0.9, claim=claim, best_at=7.0)

    def within(grid):
        own = [float(np.var(x, ddof=1)) if len(x) > 1 else None for x in grid]
        known = [v for v in own if v is not None]
        return [sum(known) / len(known) if v is None else v for v in own]

    s2, of_reference = within(new), within(old)
    V = sum(v / len(x) for v, x in zip(s2, new, strict=True)) / 12**2
    t = 12 / sum(1 / len(x) for x in new)
    parts = [v / len(x) for v, x in zip(of_reference, old, strict=True)]
    d = [float(np.mean(x) - np.mean(y)) for x, y in zip(new, old, strict=True)]
    if claim == "these-questions":
        several = [part for part, x in zip(parts, old, strict=True) if len(x) > 1]
        of_parts = sum((part - np.mean(several)) ** 2 for part in several) * len(several) / (len(several) - 1)
        df = min(sum(len(x) - 1 for x in old), 2 * sum(several) ** 2 / of_parts)
        fixed = stats.t.ppf(0.975, df) * np.sqrt(sum(parts)) / 12
    else:
        fixed = stats.t.ppf(0.975, 11) * np.sqrt(max(np.var(d, ddof=1) / 12 - V, sum(parts) / 12**2))

    def half(rounds):
        return float(confidence_boundary(rounds, level=0.95, best_at=7.0)) * np.sqrt(V * t) + fixed

    assert decision.score[0] == pytest.approx(np.mean(d))
    assert decision.n_rounds[0] == pytest.approx(t)
    assert decision.half[0] == pytest.approx(half(t))
    assert decision.least[0] == pytest.approx(2 * fixed)
    assert (decision.stop[0], decision.reachable[0]) == (True, True)
    narrow = check_fixed_reference(*cells, 2.2 * fixed, level=0.9, claim=claim, best_at=7.0)
    assert 2 * half(narrow.needed[0]) < 2.2 * fixed <= 2 * half(narrow.needed[0] - 1)
    assert (narrow.stop[0], narrow.reachable[0]) == (False, True)
    assert decision.bounds == ((-1, 1) if scale == 1 else None)
    assert not decision.reasons[0]
    short = check_fixed_reference(*cells, 2 * fixed * 0.99, level=0.9, claim=claim)
    assert not short.reachable[0]
    assert np.isinf(short.needed[0])
    assert "the rest is wider" in short.reasons[0]


@pytest.mark.long
@pytest.mark.parametrize("claim", ["these-questions", "new-questions"])
def test_it_covers_at_all_rounds_at_once(claim):
    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(200):
        p = rng.beta(0.6, 0.4, 50)
        other = rng.beta(0.6, 0.4, 50)
        old = (rng.random((5, 50)) < other).astype(float)
        new = (rng.random((16, 50)) < p).astype(float)
        truth = p.mean() - other.mean() if claim == "these-questions" else 0.0
        halves = [
            check_fixed_reference(make_cells("a", new[:t]), make_cells("b", old), 0.1, claim=claim)
            for t in (2, 3, 4, 6, 8, 12, 16)
        ]
        missed += any(abs(one.score[0] - truth) > one.half[0] for one in halves)
    assert missed <= 16  # P(17 or more of 200) is below .02 at a miss rate of 5 %


def test_questions_that_one_of_them_lacks_are_left_out_and_reasons_are_said():
    new = Cells.from_scores("x", ["a"], ["q1", "q2", "q3"], [[[1, 0], [1, 1], []]])
    old = Cells.from_scores("x", ["b"], ["q3", "q2", "q1", "q9"], [[[1], [0], [1], [1]]])
    decision = check_fixed_reference(new, old, 0.1)
    assert decision.n_questions[0] == 2
    assert decision.score[0] == pytest.approx(0.25)
    assert "reference has one generation" in decision.reasons[0]
    assert not decision.stop[0]
    apart = Cells.from_scores("x", ["b"], ["z"], [[[1, 0]]])
    assert "no question" in check_fixed_reference(new, apart, 0.1).reasons[0]


def test_arguments_are_checked():
    one = Cells.from_scores("x", ["a"], ["q1"], [[[1, 0]]])
    two = Cells.from_scores("x", ["a", "b"], ["q1"], [[[1, 0]], [[1]]])
    for arguments in ((one, one, 0.0), (one, one, np.inf), (one, two, 0.1), (two, one, 0.1)):
        with pytest.raises(InputError):
            check_fixed_reference(*arguments)


@pytest.mark.parametrize("scores", [[-0.2, 0.6], [1.2, 0.5, 0.5, 0.5]])
def test_one_score_outside_0_and_1_is_enough_for_no_bounds(scores):
    """Their sums are as of scores in [0, 1]; the least and the largest score are not."""
    inside, outside = (Cells.from_scores("x", ["a"], ["q1", "q2"], [[x, [0, 1]]]) for x in ([0, 1, 0.5], scores))
    assert check_fixed_reference(inside, inside, 0.1).bounds == (-1, 1)
    assert check_fixed_reference(inside, outside, 0.1).bounds is None
    assert check_fixed_reference(outside, inside, 0.1).bounds is None


def test_a_reference_that_is_always_right_is_not_known_exactly():
    """The floor by hand: (2.5/20)/2 for each of 20 questions with 2 generations, of the reference alone."""
    new, old = np.ones((200, 20)), np.ones((2, 20))
    new[0, 0] = 0
    decision = check_fixed_reference(make_cells("a", new), make_cells("b", old), 0.1)
    assert decision.least[0] == pytest.approx(2 * stats.t.ppf(1 - 0.0125, 20) * np.sqrt(0.125 / 2 / 20))
    assert not decision.stop[0]
    assert "five pairs" in decision.reasons[0]
    once = check_fixed_reference(make_cells("a", new), make_cells("b", old[:1]), 0.1, claim="new-questions")
    assert once.least[0] == pytest.approx(2 * stats.t.ppf(1 - 0.0125, 19) * np.sqrt(2.5 / 19 / 20))


@pytest.mark.long
@pytest.mark.parametrize(("claim", "k"), [("these-questions", 2), ("new-questions", 1)])
def test_few_runs_stop_with_an_interval_that_misses_near_the_ceiling(claim, k):
    """With two generations, only runs whose reference is right in all of them by chance: every eighth."""
    rng = np.random.default_rng(6)
    missed = 0
    for _ in range(100):
        old = np.ones((k, 20)) if k > 1 else (rng.random((k, 20)) < 0.95).astype(float)
        new = (rng.random((300, 20)) < 0.95).astype(float)
        for t in (16, 64, 128, 200, 300):
            one = check_fixed_reference(make_cells("a", new[:t]), make_cells("b", old), 0.1, claim=claim)
            if one.stop[0]:
                missed += abs(one.score[0]) > one.half[0]
                break
    assert missed <= 7


def test_graded_scores_without_variation_do_not_stop():
    new, old = make_cells("a", np.full((5, 10), 0.5)), make_cells("b", np.full((3, 10), 0.25))
    for claim in ("these-questions", "new-questions"):
        decision = check_fixed_reference(new, old, 0.1, claim=claim)
        assert np.isnan(decision.half[0])
        assert not decision.stop[0]
        assert "no variation was seen" in decision.reasons[0]


def test_the_given_smallest_variance_is_used():
    """By the formula: the half width without any variation is that of the floor, and larger with a larger one."""
    same = np.ones((4, 10))
    half = [
        check_fixed_reference(make_cells("a", same), make_cells("b", same), 1.0, variance_floor=floor).half[0]
        for floor in (1.0, 4.0)
    ]
    assert half[1] == pytest.approx(2 * half[0])
    assert half[0] > 0
    # On new questions against one generation of the reference, the floor takes the place of its unknown variance.
    fixed = [
        check_fixed_reference(
            make_cells("a", same), make_cells("b", same[:1]), 1.0, claim="new-questions", variance_floor=floor
        ).least[0]
        for floor in (1.0, 4.0)
    ]
    assert fixed == pytest.approx([2 * stats.t.ppf(0.9875, 9) * np.sqrt(floor / (9 * 10)) for floor in (1, 4)])
