"""Confidence sequences: intervals for a mean that are valid at all interim analyses at once.

    mean_t ± sd_t sqrt(2 (t r^2 + 1)/(t^2 r^2) log(sqrt(t r^2 + 1)/alpha))

is the asymptotic confidence sequence of Waudby-Smith et al. 2021, theorem 2.2, two-sided.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray
from howsure.stats.core.claims import STOPPING_RULES, Claim, StoppingRule, check_choice, check_level

__all__ = [
    "BEST_AT",
    "ConfidenceSequence",
    "confidence_boundary",
    "confidence_sequence",
    "required_rounds",
]

#: Number of rounds where the confidence sequence is narrowest; from 3 to 100 rounds it is then at most 7 % wider than
#: the narrowest sequence.
BEST_AT = 10


def confidence_boundary(t: ArrayLike, *, level: float = 0.95, best_at: float = BEST_AT) -> FloatArray:
    """Return the half-width of the two-sided confidence sequence after t observations, in units of their sd.

    Parameters
    ----------
    t
        Number of observations, any shape.
    level
        Probability in (0, 1) that the mean is inside at all t at once.
    best_at
        Number of observations, above 0, where the sequence is narrowest; to be chosen before the first analysis.

    Returns
    -------
    numpy.ndarray
        Half-widths of the shape of `t`; NaN where t is below 1.

    Raises
    ------
    InputError
        Where `level` or `best_at` is out of range.

    Notes
    -----
    sqrt(2 (t r^2 + 1)/(t^2 r^2) log(sqrt(t r^2 + 1)/alpha)). r minimises the width at t = `best_at`: with
    u = t r^2 + 1, the derivative of u/(u-1) (log u - 2 log alpha) is 0 at u - log u = 1 - 2 log alpha, which is
    u = -W_{-1}(-alpha^2/e) with Lambert's W.

    References
    ----------
    Waudby-Smith, I. et al. (2021), Time-uniform central limit theory and asymptotic confidence sequences, theorem 2.2.

    Examples
    --------
    >>> confidence_boundary([1, 10, 100]).round(3).tolist()
    [3.823, 0.96, 0.325]
    """
    check_level(level)
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
    """Mean after each observation, and the limits that hold at all of them at once, shape (..., T).

    Examples
    --------
    >>> sequence = confidence_sequence([0.5, 0.7, 0.6, 0.8], sd=0.1)
    >>> sequence.high.round(3).tolist()
    [0.882, 0.837, 0.784, 0.806]
    """

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
    """Compute the confidence sequence of the mean of a stream of observations.

    Parameters
    ----------
    stream
        Independent observations with one mean, shape (..., T), in the order of time: means of rounds over all questions
        (claim "these-questions"), means of questions one after the other ("new-questions"), or differences of two
        models in either.
    level
        Probability in (0, 1) that the mean is inside at all observations at once.
    best_at
        Number of observations, above 0, where the sequence is narrowest; to be chosen before the first analysis.
    sd
        Standard deviation of one observation as known after each observation, broadcast against `stream`; None: that of
        the observations so far (ddof = 1). For rounds, sqrt(E/N) from the pooled cells is reliable from the second
        round on, unlike the standard deviation of a few observations.

    Returns
    -------
    ConfidenceSequence

    Raises
    ------
    InputError
        Where the stream is not finite, or an argument is out of range.

    Notes
    -----
    The guarantee is asymptotic: it is approached as the first analysis is made later. Limits are NaN at the first
    observation, and as long as all observations are equal.

    References
    ----------
    Waudby-Smith, I. et al. (2021), Time-uniform central limit theory and asymptotic confidence sequences, theorem 2.2.

    Examples
    --------
    >>> sequence = confidence_sequence([0.5, 0.7, 0.6, 0.8], sd=0.1)
    >>> sequence.mean.round(3).tolist(), sequence.low.round(3).tolist()
    ([0.5, 0.6, 0.6, 0.65], [0.118, 0.363, 0.416, 0.494])
    """
    x = np.asarray(stream, float)
    if x.ndim == 0 or not np.all(np.isfinite(x)):
        raise InputError("stream is not a sequence of finite numbers", where="confidence_sequence")
    t = np.arange(1, x.shape[-1] + 1)
    shifted = x - x[..., :1]  # sums of squares of large numbers would lose digits
    shift = np.cumsum(shifted, axis=-1) / t
    if sd is None:
        with np.errstate(divide="ignore", invalid="ignore"):
            square = np.cumsum(shifted**2, axis=-1) - t * shift**2
            sd = np.sqrt(np.maximum(square, 0) / (t - 1))
    sd = np.asarray(sd, float)
    half = np.where(sd > 0, sd, np.nan) * confidence_boundary(t, level=level, best_at=best_at)
    mean = x[..., :1] + shift
    return ConfidenceSequence(mean, mean - half, mean + half)


def required_rounds(
    width: float,
    sd: ArrayLike,
    *,
    level: float = 0.95,
    rule: StoppingRule = "pooled",
    claim: Claim = "these-questions",
    data: ArrayLike = 0.0,
    N: ArrayLike = np.inf,
    best_at: float = BEST_AT,
) -> FloatArray:
    """Compute the smallest number of rounds after which the interval is narrower than a width.

    Parameters
    ----------
    width
        Width to be reached, upper minus lower limit.
    sd
        Standard deviation of one round's mean, any shape.
    level, rule, claim, best_at
        As for `check_stopping`.
    data
        Half-width d by data noise alone, which rounds do not reduce; 0 for these questions.
    N
        Number of questions, for new questions with the rule "pooled".

    Returns
    -------
    numpy.ndarray
        Whole numbers from 2 on; inf where more than 2^40 rounds, or no number of rounds, would be needed; NaN where
        `sd` or `data` is NaN.

    Raises
    ------
    UnknownNameError
        Where the rule is unknown.

    Notes
    -----
    The smallest t with h(t) < width/2, by bisection, because each h falls with t:

        sequence     h = d + sd boundary(t), at level or, for new questions, (1 + level)/2
        pooled       h = sqrt(d^2 + z^2 sd^2 / t); for new questions Student's t_{N-1} in place of z
        run-means    h = t_{t-1} sd / sqrt(t)
        prediction   h = t_{t-1} sd sqrt(2 / t)

    Examples
    --------
    >>> required_rounds(0.02, 0.035).tolist(), required_rounds(0.02, 0.035, rule="sequence").tolist()
    (48.0, 133.0)
    """
    check_choice("rule", rule, STOPPING_RULES)
    sd, d, N = np.broadcast_arrays(np.asarray(sd, float), np.asarray(data, float), np.asarray(N, float))
    these = claim == "these-questions"

    def half_width(t: FloatArray) -> FloatArray:
        if rule == "sequence":
            half: FloatArray = d + sd * confidence_boundary(
                t, level=level if these else (1 + level) / 2, best_at=best_at
            )
        elif rule == "pooled":
            z = special.stdtrit(np.inf if these else N - 1, (1 + level) / 2)
            half = np.sqrt(d**2 + z**2 * sd**2 / t)
        else:
            half = special.stdtrit(t - 1, (1 + level) / 2) * sd * np.sqrt((2 if rule == "prediction" else 1) / t)
        return half

    low, high = np.full(sd.shape, 1.0), np.full(sd.shape, 2.0**41)  # h(low) is too wide
    for _ in range(42):
        middle = np.clip(np.floor((low + high) / 2), 2, None)
        narrow = 2 * half_width(middle) < width
        low, high = np.where(narrow, low, np.minimum(middle, high)), np.where(narrow, middle, high)
    never = ~(2 * half_width(high) < width) | (high > 2.0**40)
    return np.where(np.isnan(sd + d), np.nan, np.where(never, np.inf, high))
