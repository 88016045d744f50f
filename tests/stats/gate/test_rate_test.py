"""Sequential tests of a rate: the probability of a wrong verdict, exactly, over all looks."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from howsure.errors import InputError
from howsure.stats.gate import RateTest


def _follow(bar, rate, trials, alpha):
    """Return the probabilities of each verdict at any of the first looks, by summing over all numbers of successes."""
    alive, chances = {0: 1.0}, {"pass": 0.0, "fail": 0.0}
    for t in range(1, trials + 1):
        following: dict[int, float] = {}
        for s, chance in alive.items():
            for success, probability in ((1, rate), (0, 1 - rate)):
                following[s + success] = following.get(s + success, 0) + chance * probability
        alive = {}
        for s, chance in following.items():
            verdict = RateTest(bar, alpha, t, s).verdict
            if verdict == "inconclusive":
                alive[s] = chance
            else:
                chances[verdict] += chance
    return chances


@pytest.mark.parametrize("bar", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_wrong_verdicts_at_the_bar_stay_below_alpha_over_all_looks(bar, alpha):
    chances = _follow(bar, bar, 150, alpha)
    assert 0 < chances["fail"] < alpha
    assert chances["pass"] < alpha


def test_rates_far_from_the_bar_are_decided():
    assert _follow(0.9, 0.99, 250, 0.05)["pass"] > 0.9
    assert _follow(0.9, 0.6, 100, 0.05)["fail"] > 0.95


def test_the_interval_ends_where_the_verdict_changes():
    test = RateTest(0.5, 0.05, 40, 30)
    low, high = test.interval()
    assert low < 0.75 < high
    assert RateTest(low - 1e-6, 0.05, 40, 30).verdict == "pass"
    assert RateTest(low + 1e-6, 0.05, 40, 30).verdict == "inconclusive"
    assert RateTest(high + 1e-6, 0.05, 40, 30).verdict == "fail"


def test_ends_of_the_interval():
    assert RateTest(0.5).interval() == (0.0, 1.0)
    assert RateTest(0.5, 0.05, 9, 9).interval()[1] == 1
    assert RateTest(0.5, 0.05, 9, 0).interval()[0] == 0


def _integrate(s, f, low, high):
    """Return the integral of q^s (1 - q)^f between two fractions, by the binomial theorem in whole numbers."""
    terms = ((Fraction((-1) ** i * comb(f, i), s + i + 1), s + i + 1) for i in range(f + 1))
    return sum((weight * (high**power - low**power) for weight, power in terms), Fraction(0))


@pytest.mark.parametrize(("successes", "failures"), [(30, 10), (1, 0), (0, 1), (9, 1), (1, 9), (12, 12), (25, 2)])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_ends_of_the_interval_are_where_the_likelihood_ratio_is_one_by_alpha(successes, failures, alpha):
    """The ratio is that of the mean likelihood over the rates of one side to the one at the bar, in exact fractions."""
    low, high = RateTest(0.5, alpha, successes + failures, successes).interval()

    def ratio(p, above):
        integral = _integrate(successes, failures, p if above else Fraction(0), Fraction(1) if above else p)
        return float(integral / (1 - p if above else p) / (p**successes * (1 - p) ** failures))

    if low > 0:
        assert ratio(Fraction(low), above=True) == pytest.approx(1 / alpha, rel=1e-6)
    if high < 1:
        assert ratio(Fraction(high), above=False) == pytest.approx(1 / alpha, rel=1e-6)
    assert (low > 0, high < 1) == (successes > 0, failures > 0)


def test_trials_are_added_one_by_one():
    test = RateTest(0.9, 0.1)
    for success in (True, False, 1, 0.0, True):
        test = test.add(success)
    assert test == RateTest(0.9, 0.1, 5, 3)


@pytest.mark.parametrize(("bar", "alpha"), [(0, 0.05), (1, 0.05), (0.5, 0), (0.5, 0.5), (np.nan, 0.05)])
def test_arguments_are_checked(bar, alpha):
    with pytest.raises(InputError, match=r"^at_least: .*; allowed: above 0 and below (1|0\.5)$"):
        RateTest(bar, alpha)


def test_a_bar_that_no_trial_comes_near_has_failed():
    """10,000 failures against .99: the probability .01^10,001 of a rate above the bar is 0 in floating point."""
    test = RateTest(0.99, 0.05, 10_000, 0)
    assert test.verdict == "fail"
    low, high = test.interval()
    assert low == 0
    assert 0 < high < 0.01
    assert RateTest(0.01, 0.05, 10_000, 10_000).verdict == "pass"
