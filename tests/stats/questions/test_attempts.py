"""pass@k, pass^k, majority@k: complete enumeration, theory, guarantees by simulation."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from helpers.strategies import score_grids
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import attempts as slow
from scipy import stats

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import Cells
from howsure.stats.questions.attempts import (
    _majority_by_draws,
    _majority_exactly,
    _VoteCounts,
    estimate_majority,
    estimate_pass_at_k,
    pass_all,
)
from howsure.stats.scores.score import score


def cells_of(grid):
    return Cells.from_scores("g", [f"m{i}" for i in range(len(grid))], [f"q{j}" for j in range(len(grid[0]))], grid)


def counted(correct, n):
    total = np.asarray(correct, float)
    names = (tuple(f"{letter}{i}" for i in range(size)) for letter, size in zip("mq", total.shape, strict=True))
    return Cells("counted", *names, np.broadcast_to(np.asarray(n), total.shape).copy(), total, total)


# ---- pass@k and pass^k


@settings(max_examples=60)
@given(score_grids(kind="binary", max_models=1), st.integers(1, 7))
def test_each_question_and_their_mean_are_the_slow_ones(grid, k):
    """A slow version written differently: every subset of k generations."""
    cells = cells_of(grid)
    any_right, all_right = 1 - pass_all(cells.n - cells.total, cells.n, k), pass_all(cells.total, cells.n, k)
    for measure, ours, theirs in (("pass@k", any_right, slow.pass_at), ("pass^k", all_right, slow.pass_all)):
        for row, value in zip(grid[0], ours[0], strict=True):
            assert value == pytest.approx(float(theirs(row, k)), nan_ok=True)
        columns = estimate_pass_at_k(cells, [k]).columns()
        mean = columns["score"][columns["measure"] == measure][0]
        long = [row for row in grid[0] if len(row) >= k]  # shorter ones are left out and counted
        assert mean == pytest.approx(float(slow.over_questions(long, k, theirs)), nan_ok=True)
        assert columns["n_questions"][0] == len(long)
        assert columns["n_short"][0] == sum(0 < len(row) < k for row in grid[0])


@pytest.mark.parametrize(("p", "n", "k"), [(0.3, 5, 2), (0.9, 6, 3), (0.5, 4, 1), (1.0, 4, 2)])
def test_unbiased_by_complete_enumeration(p, n, k):
    """Theory: over all outcomes of n generations, the mean is 1-(1-p)^k and p^k, and the variance is the estimated one."""
    chance = stats.binom.pmf(np.arange(n + 1), n, p)
    c = np.arange(n + 1)
    for measure, values, truth in (
        ("pass@k", 1 - pass_all(n - c, n, k), 1 - (1 - p) ** k),
        ("pass^k", pass_all(c, n, k), p**k),
    ):
        assert chance @ values == pytest.approx(truth)
        columns = estimate_pass_at_k(counted(c[:, None], n), [k], claim="these-questions").columns()
        squares = columns["se"][columns["measure"] == measure] ** 2
        assert chance @ squares == pytest.approx(chance @ values**2 - truth**2, abs=1e-15)


def test_one_attempt_is_the_score_with_its_errors():
    """Theory: pass@1 = pass^1 = mean, with the errors of components.py under each claim."""
    rng = np.random.default_rng(1)
    cells = counted(rng.binomial(6, rng.random((2, 30))), 6)
    for claim in ("new-questions", "these-questions", "single-run"):
        found = estimate_pass_at_k(cells, [1], claim=claim).columns()
        expected = score(cells, claim=claim)
        assert found["score"].reshape(2, 2).T[0] == pytest.approx(expected.score)
        assert found["score"].reshape(2, 2).T[1] == pytest.approx(expected.score)
        assert found["se"].reshape(2, 2).T[0] == pytest.approx(np.sqrt(expected.variance))
    assert estimate_pass_at_k(cells, [1], claim="these-questions").interval().low[0] == pytest.approx(
        score(cells, claim="these-questions").interval().low[0]
    )


def test_one_attempt_has_the_interval_of_the_score():
    """Theory: pass@1 = pass^1 = mean. The intervals were Wilson's and a posterior, so that two commands disagreed."""
    rng = np.random.default_rng(4)
    n = rng.integers(0, 7, (5, 12))
    correct = rng.binomial(n, rng.random((5, 12)))
    correct[3], correct[4] = 0, n[4]
    cells = counted(correct, n)
    of_score, of_attempts = score(cells).interval(0.9), estimate_pass_at_k(cells, [1], level=0.9).interval()
    for ours, theirs in ((of_attempts.low, of_score.low), (of_attempts.high, of_score.high)):
        assert ours.reshape(5, 2) == pytest.approx(np.stack([theirs, theirs], axis=1), abs=1e-9)


def test_the_interval_covers_where_few_questions_are_ever_solved_k_times():
    """Guarantee by simulation: hard questions, Beta(.3, 3), cover .92 to .94; Wilson's interval covered .80, .60, .68."""
    rng = np.random.default_rng(5)
    of_two, of_four = (math.prod((0.3 + i) / (3.3 + i) for i in range(k)) for k in (2, 4))
    for N, k, truth in ((12, 2, of_two), (12, 4, of_four), (30, 4, of_four)):
        cells = counted(rng.binomial(20, rng.beta(0.3, 3, (1000, N))), 20)
        attempts = estimate_pass_at_k(cells, [k])
        between, at = attempts.interval(), np.array(attempts.measure) == "pass^k"
        covered = (between.low[at] <= truth) & (truth <= between.high[at])
        assert covered.mean() > 0.9


def test_errors_of_the_three_claims_are_those_of_simulation():
    """Guarantee by simulation: pass@3 of 8 generations, 60 questions, 3,000 evaluations."""
    rng = np.random.default_rng(2)
    p = rng.beta(0.7, 1.1, (3000, 60))
    truth = 1 - (1 - p) ** 3
    cells = counted(rng.binomial(8, p), 8)
    new, these, single = (
        estimate_pass_at_k(cells, [3], claim=c) for c in ("new-questions", "these-questions", "single-run")
    )
    at = np.array(new.measure) == "pass@k"
    assert np.mean(new.variance[at]) == pytest.approx(np.var(new.score[at]), rel=0.08)
    assert np.mean(these.variance[at]) == pytest.approx(np.mean((new.score[at] - truth.mean(axis=1)) ** 2), rel=0.08)
    runs = np.mean(rng.binomial(3, p) > 0, axis=1)
    assert np.mean(single.variance[at]) == pytest.approx(np.var(runs), rel=0.08)
    between = new.interval()
    covered = (between.low[at] <= truth.mean()) & (truth.mean() <= between.high[at])
    assert covered.mean() == pytest.approx(0.95, abs=0.015)


def test_what_attempts_cannot_say():
    cells = counted([[1, 2, 0], [0, 0, 0], [1, 0, 0], [2, 2, 2]], [[2, 5, 0], [0, 0, 0], [1, 0, 0], [2, 2, 2]])
    new = estimate_pass_at_k(cells, [2]).columns()
    assert new["note"].tolist()[::2] == ["", "no scores", "no question has k generations", ""]
    assert new["se"][6] == 0  # all right: the interval comes from the number of questions
    assert new["low"][6] == pytest.approx(stats.beta.ppf(0.025, 3, 1))  # Clopper and Pearson's
    assert new["high"][6] == 1
    alike = estimate_pass_at_k(counted([[2, 0]], 2), [1], claim="these-questions").columns()
    assert alike["note"][0] == "no variation was seen: no interval"
    these = estimate_pass_at_k(cells, [2], claim="these-questions").columns()
    assert "fewer than 2k generations of some question" in these["note"][0]
    one = estimate_pass_at_k(counted([[1, 0]], [[4, 2]]), [3]).columns()
    assert one["note"][0].startswith("on the questions with k generations; one question: the spread")
    assert one["n_short"][0] == 1
    with pytest.raises(InputError, match=r"k is \[0\]; allowed: whole numbers from 1"):
        estimate_pass_at_k(cells, [0])
    with pytest.raises(InputError, match=r"k is \[\]"):
        estimate_pass_at_k(cells, [])
    with pytest.raises(UnknownNameError, match="unknown claim"):
        estimate_pass_at_k(cells, claim="old-questions")
    with pytest.raises(InputError, match="pass@k needs scores of 0 and 1"):
        estimate_pass_at_k(cells_of([[[0.5]]]))


# ---- majority@k

answers = st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=0, max_size=7)


def tallied(rows, right=("a", "b")):
    """Cells and answers of one model: each row is the answers to a question, None has no vote."""
    cells = cells_of([[[float(x in right) for x in row] for row in rows]])
    entries = [(q, row.count(x), x in right) for q, row in enumerate(rows) for x in sorted({*row} - {None})]
    cell, count, correct = zip(*entries, strict=True) if entries else ((), (), ())
    return cells, cell, count, correct


@settings(max_examples=60, deadline=None)
@given(st.lists(answers, min_size=1, max_size=4).filter(any), st.integers(1, 5))
def test_majority_is_the_slow_one(rows, k):
    """A slow version written differently: every subset, ties shared; two right answers, and answers missing."""
    cells, cell, count, correct = tallied(rows)
    exact = _majority_exactly(_VoteCounts.of(cells, cell, count, correct), k)
    assert exact is not None
    expected = [float(slow.majority_at(row, {"a", "b"}, k)) for row in rows]
    assert exact[0] == pytest.approx(expected, nan_ok=True)


def test_majority_by_draws_agrees_and_its_product_is_of_disjoint_subsets():
    """A slow version written differently: all pairs of disjoint subsets of k = 2 of 5."""
    from itertools import combinations

    rows = [["a", "a", "c", "d", None], ["a", "c", "c", "a", "b"], ["a", "c", None, None]]
    cells, cell, count, correct = tallied(rows, right=("a",))
    votes = _VoteCounts.of(cells, cell, count, correct)
    single, product_ = _majority_by_draws(votes, 2, 40000, np.random.default_rng(3), twice=True)
    exact = _majority_exactly(votes, 2)
    assert single[0] == pytest.approx(exact[0], abs=0.01)
    for row, found in zip(rows, product_[0], strict=True):
        pairs = [
            slow.vote([row[i] for i in first], {"a"}) * slow.vote([row[i] for i in second], {"a"})
            for first in combinations(range(len(row)), 2)
            for second in combinations(sorted({*range(len(row))} - {*first}), 2)
        ]
        assert found == pytest.approx(float(sum(pairs, Fraction(0)) / len(pairs)), abs=0.012)


@pytest.mark.long
def test_majority_over_questions_and_its_errors():
    """Guarantee by simulation: majority of 3 from 9 generations, three answers, 60 questions, 300 evaluations."""
    rng = np.random.default_rng(4)
    chance = rng.dirichlet([1.2, 0.6, 0.6], (300, 60))
    tally = rng.multinomial(9, chance)
    cells = counted(tally[:, :, 0], 9)
    cell = np.repeat(np.arange(300 * 60), 3)
    arguments = cell, tally.ravel(), np.tile([True, False, False], 300 * 60)
    truth = sum(
        math.factorial(3) / math.prod(map(math.factorial, votes)) * np.prod(chance ** np.array(votes), axis=2)
        * (1 / 3 if max(votes) == 1 else votes[0] > 1)
        for votes in product(range(4), repeat=3)
        if sum(votes) == 3
    )  # fmt: skip
    new = estimate_majority(cells, *arguments, [3])
    assert new.measure[0] == "majority@k"
    assert np.mean(new.score - truth.mean(axis=1)) == pytest.approx(0, abs=0.004)
    assert np.mean(new.variance) == pytest.approx(np.var(new.score), rel=0.25)
    these = estimate_majority(cells, *arguments, [3], claim="these-questions", trials=150)
    assert np.mean(these.variance) == pytest.approx(np.mean((new.score - truth.mean(axis=1)) ** 2), rel=0.25)
    assert these.score == pytest.approx(new.score)
    single = estimate_majority(cells, *arguments, [3], claim="single-run")
    assert single.variance == pytest.approx(new.score * (1 - new.score) / 60)


def test_where_exact_costs_too_much_it_is_drawn_and_repeats():
    rng = np.random.default_rng(5)
    tally = rng.multinomial(200, np.ones(40) / 40, 3)
    cells = counted(tally[:, 0][None], 200)
    arguments = np.repeat(np.arange(3), 40), tally.ravel(), np.tile(np.arange(40) == 0, 3)
    assert _majority_exactly(_VoteCounts.of(cells, *arguments), 120) is None
    once, again = (estimate_majority(cells, *arguments, [120], trials=60, rng=6).score for _ in range(2))
    assert once.tolist() == again.tolist()
    assert np.isnan(estimate_majority(cells, *arguments, [120], trials=9, claim="these-questions").variance).all()


def test_votes_refuse_what_cannot_be():
    cells = counted([[1, 1]], 2)
    with pytest.raises(InputError, match=r"shapes \(2,\), \(1,\) and \(2,\)"):
        estimate_majority(cells, [0, 1], [1], [True, False])
    with pytest.raises(InputError, match="cell goes from 0 to 2; allowed: 0 to 1"):
        estimate_majority(cells, [0, 2], [1, 1], [True, False])
    with pytest.raises(InputError, match="count is -1"):
        estimate_majority(cells, [0], [-1], [True])
    with pytest.raises(InputError, match="more answers than generations of 'q1' by 'm0'"):
        estimate_majority(cells, [0, 1, 1], [1, 2, 1], [True, True, False])
    with pytest.raises(InputError, match="trials is 0"):
        estimate_majority(cells, [0], [1], [True], trials=0)
    assert estimate_majority(cells, [], [], [], [1]).score[0] == 0


def test_draws_in_several_blocks_are_all_counted():
    """By hand: of 4 generations 3 are right; one is with 3/4, and two different ones are with 3/4 x 2/3 = 1/2.

    2,000 such questions are 6,000 numbers a trial, of which 4 million make a block: 1,000 trials are two blocks.
    """
    cells = counted(np.full((1, 2000), 3), 4)
    votes = _VoteCounts.of(cells, np.repeat(np.arange(2000), 2), np.tile([3, 1], 2000), np.tile([True, False], 2000))
    single, both = _majority_by_draws(votes, 1, 1000, np.random.default_rng(8), twice=True)
    assert np.mean(single) == pytest.approx(3 / 4, abs=0.002)
    assert np.mean(both) == pytest.approx(1 / 2, abs=0.002)


def test_one_attempt_at_questions_in_clusters_has_the_error_of_the_score():
    """Theory: pass@1, pass^1 and majority@1 are the score; clusters of 3, 2 and 1 questions, and one not answered."""
    right, n = np.array([[0, 1, 2, 3, 1, 4, 2, 0]]), np.array([[4, 4, 4, 4, 4, 4, 4, 0]])
    names = tuple(f"q{i}" for i in range(8))
    cells = Cells("b", ("m",), names, n, right, right, clusters=tuple("aaabbcdd"))
    expected = score(cells)
    used = np.arange(7)
    answer = np.repeat(used, 2), np.column_stack([right[0], 4 - right[0]])[used].ravel(), np.tile([True, False], 7)
    for attempts in (estimate_pass_at_k(cells, [1]), estimate_majority(cells, *answer, [1])):
        rows = len(attempts.k)
        assert attempts.score == pytest.approx(np.repeat(expected.score, rows))
        assert attempts.variance == pytest.approx(np.repeat(expected.variance, rows))
        assert attempts.df == pytest.approx(np.repeat(expected.df, rows))
        assert attempts["n_missing"].tolist() == [1] * rows
        assert attempts["note"].tolist() == ["questions in clusters: the error is for new clusters"] * rows


@pytest.mark.parametrize(
    ("claim", "method"), [("new-questions", "bayesian-bootstrap"), ("these-questions", "wilson-effective")]
)
def test_the_method_of_each_claim(claim, method):
    attempts = estimate_pass_at_k(counted([[4, 2] * 12], 6), [2], claim=claim)
    assert set(attempts.columns()["claim"]) == {claim}
    assert set(attempts.interval().method) == {method}
