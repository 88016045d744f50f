"""When to look next: the rounds after which an interval should be narrow enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from howsure.errors import UnknownNameError
from howsure.stats.core.cells import FloatArray
from howsure.stats.sequential.confidence_sequences import BEST_AT, boundary

__all__ = ["RULES", "rounds_needed"]

#: Rules by name; the first is the default.
RULES = ("sequence", "pooled", "run-means", "prediction")


def rounds_needed(
    width: float,
    sd: ArrayLike,
    *,
    level: float = 0.95,
    rule: str = "sequence",
    claim: str = "these-questions",
    data: ArrayLike = 0.0,
    N: ArrayLike = np.inf,
    best_at: float = BEST_AT,
) -> FloatArray:
    """Smallest number of rounds after which the interval is narrower than a width, if the variance is as given.

    The least whole t from 2 on with h(t) < width/2, found by bisection since each h falls with t:

        sequence     h = d + sd boundary(t), at level or, for new questions, (1 + level)/2
        pooled       h = sqrt(d^2 + z^2 sd^2 / t); for new questions Student's t_{N-1} in place of z
        run-means    h = t_{t-1} sd / sqrt(t)
        prediction   h = t_{t-1} sd sqrt(2 / t)

    Parameters
    ----------
    width
        high - low to be reached.
    sd
        Standard deviation of one round's mean, any shape.
    data
        d, the half-width that data noise alone leaves; 0 for these questions.
    N
        Number of questions, where it matters.

    Returns
    -------
    Whole numbers; inf where more than 2^40 or no number of rounds would do, NaN where `sd` or `data` is.

    >>> rounds_needed(0.02, 0.035).tolist(), rounds_needed(0.02, 0.035, rule="pooled").tolist()
    (133.0, 48.0)
    """
    if rule not in RULES:
        raise UnknownNameError("rule", rule, RULES)
    sd, d, N = np.broadcast_arrays(np.asarray(sd, float), np.asarray(data, float), np.asarray(N, float))
    these = claim == "these-questions"

    def half(t: FloatArray) -> FloatArray:
        if rule == "sequence":
            out: FloatArray = d + sd * boundary(t, level=level if these else (1 + level) / 2, best_at=best_at)
        elif rule == "pooled":
            z = special.stdtrit(np.inf if these else N - 1, (1 + level) / 2)
            out = np.sqrt(d**2 + z**2 * sd**2 / t)
        else:
            out = special.stdtrit(t - 1, (1 + level) / 2) * sd * np.sqrt((2 if rule == "prediction" else 1) / t)
        return out

    low, high = np.full(sd.shape, 1.0), np.full(sd.shape, 2.0**41)  # h(low) is too wide, h(high) narrow enough or never
    for _ in range(42):
        middle = np.clip(np.floor((low + high) / 2), 2, None)
        narrow = 2 * half(middle) < width
        low, high = np.where(narrow, low, np.minimum(middle, high)), np.where(narrow, middle, high)
    never = ~(2 * half(high) < width) | (high > 2.0**40)
    return np.where(np.isnan(sd + d), np.nan, np.where(never, np.inf, high))
