"""An alarm about a series of scores that fall, which is valid at every interim analysis.

It is a sequential test with a known rate of false alarms: see `find_falls`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray

__all__ = ["Change", "find_falls", "locate_change"]

#: Largest exponent of a likelihood ratio that is no infinity.
_MOST_EXPONENT = 600.0
#: Sizes of a fall in units of a point's error, and their weights: most alarms are about small falls, and a large one is
#: given its full size.
_SIZES, _SIZE_WEIGHTS = np.array([1.0, 4.0]), np.array([0.8, 0.2])
#: Analyses of a year that are counted at least: of a few dates every wobble would be above so low a threshold.
_FEWEST_ANALYSES = 20.0


class Change(NamedTuple):
    """A sudden change: where, from the point at which the new level began, and by how much.

    Attributes
    ----------
    p
        Probability that there is one, for a curve; for a series of days the alarm's statistic over its threshold.
    since, first, last
        The most probable first point of the new level, and the limits of the interval for it.
    size
        Expected size, below 0 for a fall.
    noticed
        The point at which it was reported: of an alarm the day, of a curve the last point.
    """

    p: float
    since: int
    first: int
    last: int
    size: float
    noticed: int


def find_falls(
    score: ArrayLike, variance: ArrayLike, *, analyses_per_year: float = 365, level: float = 0.95
) -> tuple[Change, ...]:
    """Watch a series for falls, with at most one false alarm a year on average at every interim analysis.

    Parameters
    ----------
    score, variance
        Scores on the same questions in their order, shape (T,), and the squared errors of sampling, above 0.
    analyses_per_year
        Points of the series in a year; fewer than 20 count as 20.
    level
        Level of the interval for the first point of the fall, in (0, 1).

    Returns
    -------
    tuple
        A change per alarm. After an alarm the series begins anew where the fall most probably began, and so it does,
        without an alarm, where by the same rule it rose.

    Notes
    -----
    The statistic at a point is the sum over all earlier places of the likelihood ratio of a fall there, with a
    half-normal size of one or four errors of a point, against none, where the level before is unknown with a flat
    prior. Less the number of points it is a martingale as long as the truth is constant (an e-detector), so that an
    alarm at `analyses_per_year` comes after that many points or more on average. With the new beginnings there were
    .95 to 1.05 false alarms a year in simulations (`python bench/guarantees.py --only series`).

    References
    ----------
    Shin, Ramdas and Rinaldo (2023), E-detectors: a nonparametric framework for sequential change detection.

    Examples
    --------
    >>> days = [0.8, 0.82, 0.79, 0.81, 0.8, 0.8, 0.7, 0.69, 0.71, 0.7]
    >>> [(fall.noticed, fall.since) for fall in find_falls(days, 0.02**2)]
    [(6, 6)]
    """
    y = np.asarray(score, float)
    v = np.broadcast_to(np.asarray(variance, float), y.shape)
    if not (np.all(np.isfinite(y)) and np.all(v > 0) and np.all(np.isfinite(v))):
        raise InputError("scores that are not finite, or errors that are not above 0", where="series")
    analyses_per_year = max(analyses_per_year, _FEWEST_ANALYSES)
    falls: list[Change] = []
    start = 0
    while len(y) - start > 1:
        own = y[start:] - y[start]
        both = [_compare_places(direction * own, v[start:]) for direction in (1, -1)]
        totals = np.array([ratio.sum(axis=1) for ratio, _ in both])
        alarms = np.flatnonzero(totals.max(axis=0) >= analyses_per_year)
        if not len(alarms):
            break
        at = int(alarms[0])
        rose = int(np.argmax(totals[:, at]))
        ratio, size = (values[at, :at] for values in both[rose])
        place = locate_change(ratio, ratio * size, at, p=float(totals[rose, at]) / analyses_per_year, level=level)
        if not rose:
            since, first, last = (start + one for one in (place.since, place.first, place.last))
            falls.append(Change(place.p, since, first, last, place.size, start + at))
        start += place.since
    return tuple(falls)


def locate_change(weights: FloatArray, sizes: FloatArray, noticed: int, *, p: float, level: float = 0.95) -> Change:
    """Return the change that the weight of each place, the first before point 1, and the weighted sizes there make.

    Examples
    --------
    >>> locate_change(np.array([0.25, 0.5, 0.25]), np.array([-0.25, -0.5, -0.25]), 3, p=0.9)
    Change(p=0.9, since=2, first=1, last=3, size=-1.0, noticed=3)
    """
    total = weights.sum()
    share = np.cumsum(weights) / total
    first, last = (int(np.searchsorted(share, limit)) + 1 for limit in ((1 - level) / 2, (1 + level) / 2))
    return Change(p, int(np.argmax(weights)) + 1, first, min(last, len(weights)), float(sizes.sum() / total), noticed)


def _compare_places(y: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return likelihood ratio and size of a fall at each place given the points up to each, shape (T, T - 1)."""
    total, sums = np.cumsum(1 / v), np.cumsum(y / v)
    after = np.tri(len(y), len(y) - 1, k=-1) * (total[:, None] - total[:-1])
    a = after * total[:-1] / total[:, None]
    b = np.where(after > 0, sums[:, None] - sums[:-1] - after * (sums / total)[:, None], 0)
    prior = np.median(v) * _SIZES[:, None, None] ** 2
    shrunk = prior / (1 + prior * a)
    # the size is normal around its mean with the variance `shrunk`; the prior halves it at 0
    z = np.sqrt(shrunk) * b
    each = 2 * special.ndtr(-z) * np.exp(np.minimum(z**2 / 2, _MOST_EXPONENT)) * np.sqrt(shrunk / prior)
    each *= _SIZE_WEIGHTS[:, None, None] * (after > 0)
    ratio = each.sum(axis=0)
    return ratio, np.sum(each * shrunk, axis=0) * b / np.maximum(ratio, np.finfo(float).tiny)
