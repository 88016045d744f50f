"""A rate against a bar, one trial after another, until it is shown to be above or below.

After s successes in t trials, the likelihood of rates above the bar p0, averaged with equal weights, over that of p0:

    L_above = integral over (p0, 1) of p^s (1 - p)^(t - s) dp / (1 - p0) / (p0^s (1 - p0)^(t - s))

Where the rate is at most p0, L_above is a supermartingale that starts at 1, so it reaches 1/alpha with a probability of
at most alpha however often one looks (Ville 1939; Robbins 1970). L_below is the same with (0, p0).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.claims import GateVerdict

__all__ = ["RateTest"]


@dataclass(frozen=True)
class RateTest:
    """Successes so far, and what they show of the rate.

    Attributes
    ----------
    bar
        Rate in (0, 1) that the true one is compared with.
    alpha
        Probability of each of the two wrong verdicts over all looks, in (0, .5).
    n_trials, n_successes
        Trials so far and successes among them.

    References
    ----------
    Robbins (1970), Statistical methods related to the law of the iterated logarithm, Annals of Mathematical Statistics
    41.

    Examples
    --------
    >>> test = RateTest(0.9)
    >>> for _ in range(5):
    ...     test = test.add(False)
    >>> test.verdict, [round(limit, 2) for limit in test.interval()]
    ('fail', [0.0, 0.57])
    """

    bar: float
    alpha: float = 0.05
    n_trials: int = 0
    n_successes: int = 0

    def __post_init__(self) -> None:
        """Check the bar and alpha."""
        if not 0 < self.bar < 1:
            raise InputError(f"the bar is {self.bar!r}", where="at_least", remedy="allowed: above 0 and below 1")
        if not 0 < self.alpha < 0.5:
            raise InputError(f"alpha is {self.alpha!r}", where="at_least", remedy="allowed: above 0 and below 0.5")

    def add(self, success: bool) -> RateTest:
        """Return the test with one more trial."""
        return RateTest(self.bar, self.alpha, self.n_trials + 1, self.n_successes + bool(success))

    @property
    def verdict(self) -> GateVerdict:
        """Pass where the rate is shown to be above the bar, fail where it is shown to be below."""
        least = -np.log(self.alpha)
        if self._log_ratio(self.bar, above=True) >= least:
            return "pass"
        return "fail" if self._log_ratio(self.bar, above=False) >= least else "inconclusive"

    def interval(self) -> tuple[float, float]:
        """Return the rates that neither side excludes after these trials, at 1 - alpha each, at all looks at once."""
        if not self.n_trials:
            return 0.0, 1.0
        least, mean = -np.log(self.alpha), self.n_successes / self.n_trials
        low, high = 0.0, 1.0
        if mean > 0:
            low = _bisect(lambda p: self._log_ratio(p, above=True) >= least, 0.0, mean)
        if mean < 1:
            high = _bisect(lambda p: self._log_ratio(p, above=False) < least, mean, 1.0)
        return low, high

    def _log_ratio(self, p: float, *, above: bool) -> float:
        """Return the logarithm of L_above or L_below at a bar `p`."""
        s, f = self.n_successes, self.n_trials - self.n_successes
        # The integral is a tail of the Beta(s + 1, f + 1) distribution times its constant.
        tail = special.betainc(f + 1, s + 1, 1 - p) if above else special.betainc(s + 1, f + 1, p)
        if tail <= 0:
            return -np.inf
        weight = np.log1p(-p) if above else np.log(p)
        likelihood = special.xlogy(s, p) + special.xlog1py(f, -p)
        return float(np.log(tail) + special.betaln(s + 1, f + 1) - weight - likelihood)


def _bisect(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return where a condition that holds at `low` stops holding on the way to `high`."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
