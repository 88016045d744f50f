"""Several attempts: closed forms from other programs and cases worked by hand."""

import math
from fractions import Fraction
from itertools import product

import pytest
from oracles import attempts as oracle
from scipy import stats

F = Fraction


@pytest.mark.parametrize("n", range(1, 9))
def test_pass_against_scipy(n):
    """Another program's output: the number of successes among k of n without replacement is hypergeometric."""
    for correct, k in product(range(n + 1), range(1, n + 1)):
        scores = [1] * correct + [0] * (n - correct)
        law = stats.hypergeom(n, correct, k)
        assert float(oracle.pass_at(scores, k)) == pytest.approx(law.sf(0), abs=1e-12)
        assert float(oracle.pass_all(scores, k)) == pytest.approx(law.pmf(k), abs=1e-12)


def test_pass_by_hand():
    assert (oracle.pass_at([1, 0, 0], 2), oracle.pass_all([1, 1, 0], 2)) == (F(2, 3), F(1, 3))
    assert oracle.pass_at([0, 1, 1, 0], 1) == oracle.pass_all([0, 1, 1, 0], 1) == F(1, 2)
    assert math.isnan(oracle.pass_at([1], 2))
    assert oracle.over_questions([[1, 0], [0, 0], []], 2, oracle.pass_at) == F(1, 2)
    assert math.isnan(oracle.over_questions([[1, 0], [0]], 2, oracle.pass_at))
    assert math.isnan(oracle.over_questions([[]], 2, oracle.pass_at))
    with pytest.raises(ValueError, match="0 or 1"):
        oracle.pass_at([0.5, 1], 1)


def test_pass_is_unbiased_over_every_outcome():
    """Theory: the mean over all outcomes of n = 4 generations is 1 - (1-p)^k, and p^k."""
    p, n = F(1, 3), 4
    for k in range(1, n + 1):
        at_least, every = F(0), F(0)
        for scores in product([0, 1], repeat=n):
            chance = p ** sum(scores) * (1 - p) ** (n - sum(scores))
            at_least += chance * oracle.pass_at(scores, k)
            every += chance * oracle.pass_all(scores, k)
        assert (at_least, every) == (1 - (1 - p) ** k, p**k)


def test_majority_by_hand():
    assert oracle.majority_at("aab", "a", 2) == F(2, 3)  # aa, ab, ab
    assert oracle.majority_at("aab", "a", 3) == 1
    assert oracle.majority_at("abc", "a", 3) == F(1, 3)
    assert oracle.majority_at("aab", "a", 2, replacement=True) == F(2, 3)  # 4 of 9 aa, 4 of 9 ties
    assert oracle.majority_at(["a", None, None], "a", 2) == F(2, 3)  # a, a, nobody
    assert oracle.majority_at(["a", "b", "c"], {"a", "b"}, 1) == F(2, 3)
    assert math.isnan(oracle.majority_at("a", "a", 2))
    assert oracle.majority_at("a", "a", 2, replacement=True) == 1


@pytest.mark.parametrize("k", [1, 3, 5])
def test_majority_of_two_answers_against_scipy(k):
    """Another program's output: with two answers and odd k the right one needs more than half of the votes."""
    answers = "aaabbbb"
    assert float(oracle.majority_at(answers, "a", k)) == pytest.approx(stats.hypergeom(7, 3, k).sf(k // 2))
    assert float(oracle.majority_at(answers, "a", k, replacement=True)) == pytest.approx(
        stats.binom(k, 3 / 7).sf(k // 2)
    )


def test_majority_of_one_is_the_share_and_all_answers_together_win_one():
    answers = ["a", "a", "b", "c", "c", "c", None]
    assert oracle.majority_at(answers, "a", 1) == oracle.majority_at(answers, "a", 1, replacement=True) == F(2, 7)
    for k in range(1, 8):
        won = sum(oracle.majority_at(answers, letter, k) for letter in "abc")
        assert won == (F(6, 7) if k == 1 else 1)  # only None alone leaves nobody to vote
