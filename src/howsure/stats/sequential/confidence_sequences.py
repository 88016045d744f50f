"""An interval for the mean of a stream that covers at every look at once, so that looking early is free.

    mean_t ± sd_t sqrt(2 (t r^2 + 1)/(t^2 r^2) log(sqrt(t r^2 + 1)/alpha))

is the asymptotic confidence sequence of Waudby-Smith et al. 2021, theorem 2.2, two-sided.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import FloatArray

__all__ = [
    "BEST_AT",
    "STOPPING_RULES",
    "ConfidenceSequence",
    "confidence_boundary",
    "confidence_sequence",
    "required_rounds",
]

#: Rounds at which the confidence sequence is narrowest: from 3 to 100 rounds it is then within 7 % of the narrowest.
BEST_AT = 10


def confidence_boundary(t: ArrayLike, *, level: float = 0.95, best_at: float = BEST_AT) -> FloatArray:
    """Half-width of the two-sided confidence sequence after t observations, in standard deviations of one.

    r minimises the width at t = `best_at`, exactly: with u = t r^2 + 1, the derivative of
    u/(u-1) (log u - 2 log alpha) vanishes at u - log u = 1 - 2 log alpha, which is u = -W_{-1}(-alpha^2/e),
    Lambert's W.

    Parameters
    ----------
    t
        Observations, any shape; NaN below 1.
    level
        Chance in (0, 1) that the truth is inside at every t at once.
    best_at
        Where it is narrowest; to be chosen before looking.

    >>> confidence_boundary([1, 10, 100]).round(3).tolist()
    [3.823, 0.96, 0.325]
    """
    if not 0 < level < 1:
        raise InputError(f"level is {level!r}", remedy="allowed: between 0 and 1, such as 0.95")
    if not best_at > 0:
        raise InputError(f"best_at is {best_at!r}", remedy="allowed: a number of rounds above 0")
    t = np.asarray(t, float)
    alpha = 1 - level
    r2 = (-special.lambertw(-(alpha**2) / np.e, -1).real - 1) / best_at
    with np.errstate(invalid="ignore"):
        x = np.where(t >= 1, t, np.nan) * r2
    half: FloatArray = np.sqrt(2 * (x + 1) / (t * x) * np.log(np.sqrt(x + 1) / alpha))
    return half


class ConfidenceSequence(NamedTuple):
    """Mean after each observation and the limits that hold at all of them at once, shape (..., T)."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


def confidence_sequence(
    stream: ArrayLike,
    *,
    level: float = 0.95,
    best_at: float = BEST_AT,
    sd: ArrayLike | None = None,
) -> ConfidenceSequence:
    """Confidence sequence of the mean of a stream, at every look at once.

    Parameters
    ----------
    stream
        Independent observations with one mean, shape (..., T), in the order they came. They decide what is claimed:
        means of rounds over all questions (these questions), means of questions asked one after the other (new
        questions), or differences of two models in either (paired).
    level
        Chance in (0, 1) that the mean is inside at every look.
    best_at
        Where it is narrowest, in observations.
    sd
        Standard deviation of one observation as known at each look, broadcast against `stream`; None: that of the
        observations so far (ddof = 1). For rounds give sqrt(E/N) from the pooled cells: it can be trusted from the
        second round on, where that of a few observations cannot.

    Notes
    -----
    Asymptotic: the guarantee is approached as the first look comes later, not promised from the second on. Limits are
    NaN at the first observation, and until something varied.

    >>> sequence = confidence_sequence([0.5, 0.7, 0.6, 0.8], sd=0.1)
    >>> sequence.mean.round(3).tolist(), sequence.low.round(3).tolist()
    ([0.5, 0.6, 0.6, 0.65], [0.118, 0.363, 0.416, 0.494])
    """
    x = np.asarray(stream, float)
    if x.ndim == 0 or not np.all(np.isfinite(x)):
        raise InputError("stream is not a sequence of finite numbers", where="confidence_sequence")
    t = np.arange(1, x.shape[-1] + 1)
    off = x - x[..., :1]  # squares of what is far from 0 would cancel
    shift = np.cumsum(off, axis=-1) / t
    if sd is None:
        with np.errstate(divide="ignore", invalid="ignore"):
            square = np.cumsum(off**2, axis=-1) - t * shift**2
            sd = np.sqrt(np.maximum(square, 0) / (t - 1))
    known = np.asarray(sd, float)
    half = np.where(known > 0, known, np.nan) * confidence_boundary(t, level=level, best_at=best_at)
    mean = x[..., :1] + shift
    return ConfidenceSequence(mean, mean - half, mean + half)


#: Rules by name; the first is the default.
STOPPING_RULES = ("sequence", "pooled", "run-means", "prediction")


def required_rounds(
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

    >>> required_rounds(0.02, 0.035).tolist(), required_rounds(0.02, 0.035, rule="pooled").tolist()
    (133.0, 48.0)
    """
    if rule not in STOPPING_RULES:
        raise UnknownNameError("rule", rule, STOPPING_RULES)
    sd, d, N = np.broadcast_arrays(np.asarray(sd, float), np.asarray(data, float), np.asarray(N, float))
    these = claim == "these-questions"

    def half(t: FloatArray) -> FloatArray:
        if rule == "sequence":
            out: FloatArray = d + sd * confidence_boundary(
                t, level=level if these else (1 + level) / 2, best_at=best_at
            )
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
