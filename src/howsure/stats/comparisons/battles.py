"""Strengths of models from battles, in which a judge or a person prefers one of two models, or neither.

The Bradley-Terry model with a term for the place: model i, shown first, wins against model j with probability

    P(i beats j) = 1 / (1 + exp(-(s_i - s_j + g)))

and a tie is half a win of either. Strengths sum to 0; g is fitted where some pair was shown in both orders and a finite
g fits, and is 0 elsewhere. With x_t the battle's contrast (+1 for the first model, -1 for the second, 1 for g), r_t the
result less its probability and clusters c of battles, such as those on one question, the covariance is the sandwich

    V = H^-1 (sum_c u_c u_c') H^-1 C/(C - 1),    u_c = sum_{t in c} r_t x_t,    H = sum_t p_t (1 - p_t) x_t x_t'

which also holds where ties are frequent. The fit is Newton's method on the counts of the pairs: evalica and choix have
no term for the place and no residuals, from which the sandwich is made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special
from scipy.sparse.csgraph import connected_components

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.claims import check_level
from howsure.stats.core.multiplicity import holm
from howsure.stats.core.results import Conditions, Result

__all__ = ["BattleRanking", "Battles", "rank_battles"]

#: Points of a rating for one unit of strength, and the mean rating: the scale of chess.
_POINTS, _MEAN = 400 / np.log(10), 1000.0
#: Steps of Newton's method, the largest step that counts as converged, and strengths that are none.
_STEPS, _CONVERGED, _ENDLESS = 100, 1e-11, 25.0
#: Share of the largest information below which a direction has none.
_FLAT = 1e-9
#: Fewest clusters for which the sandwich is a fair description.
_FEWEST = 30


@dataclass(frozen=True, eq=False)
class Battles:
    """T battles between M models.

    Attributes
    ----------
    models
        Names of the models.
    first, second
        Rows of the models that were shown first and second, shape (T,).
    result
        1 where the first one won, 0 where the second one did, 1/2 for a tie.
    cluster
        Number of the question of each battle, or None where battles are independent.

    Examples
    --------
    >>> Battles("demo", ("a", "b"), np.array([0, 1]), np.array([1, 0]), np.array([1.0, 0.5])).models
    ('a', 'b')
    """

    name: str
    models: tuple[str, ...]
    first: IntArray
    second: IntArray
    result: FloatArray
    cluster: IntArray | None = None

    def __post_init__(self) -> None:
        if np.any(self.first == self.second):
            name = self.models[int(self.first[np.argmax(self.first == self.second)])]
            raise InputError(f"{name!r} is in a battle with itself", where=self.name, remedy="leave these rows out")
        if not len(self.first):
            raise InputError("no battles", where=self.name, remedy="give rows of model_a, model_b and winner")


@dataclass(frozen=True, eq=False)
class BattleRanking(Result):
    """Strengths and ranks of M models; arrays of shape (M,).

    Attributes
    ----------
    n_battles, win_share
        Battles of each model, and the share that it won, ties counting half.
    strength, variance
        s and its squared error; NaN for models that no finite strength fits.
    rank, rank_low, rank_high
        1 + the number of models with a higher strength, and its range by tests of all others (Holm).
    is_unbeaten, is_beaten
        Models that never lost to any of the fitted ones, not by a tie either, and those that never won.
    place, place_se
        g, and its standard error; NaN where no pair was shown in both orders.
    n_clusters
        Questions, or battles where there are none.

    Examples
    --------
    >>> first, second = np.array([0, 0, 1, 1, 2, 2] * 10), np.array([1, 2, 0, 2, 0, 1] * 10)
    >>> result = np.tile([1, 1, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1], 5).astype(float)
    >>> rank_battles(Battles("demo", ("a", "b", "c"), first, second, result))["model"].tolist()
    ['a', 'b', 'c']
    """

    name: str
    models: tuple[str, ...]
    n_battles: IntArray
    win_share: FloatArray
    strength: FloatArray
    variance: FloatArray
    rank: FloatArray
    rank_low: IntArray
    rank_high: IntArray
    is_unbeaten: NDArray[np.bool_]
    is_beaten: NDArray[np.bool_]
    place: float
    place_se: float
    n_clusters: int
    is_place_endless: bool
    level: float = 0.95

    declared = (
        "benchmark=name model=models n_battles win_share rating=_rating.0 se=_rating.1 low=_rating.2 high=_rating.3 "
        "rank=rank.whole rank_low rank_high level note=_reasons.notes"
    )

    @property
    def is_place_clear(self) -> bool:
        """Whether g is significantly different from 0."""
        return (
            abs(self.place) > float(special.stdtrit(max(self.n_clusters - 1, 1), (1 + self.level) / 2)) * self.place_se
        )

    def _rating(self) -> FloatArray:
        """Return rating, standard error and limits on the scale of chess, shape (4, M)."""
        center, se = _MEAN + _POINTS * self.strength, _POINTS * np.sqrt(self.variance)
        half = special.stdtrit(max(self.n_clusters - 1, 1), (1 + self.level) / 2) * se
        return np.array([center, se, center - half, center + half])

    def _rows(self) -> list[IntArray]:
        return [np.lexsort((-self.win_share, self.rank))]

    def _reasons(self) -> Conditions:
        fitted = ~np.isnan(self.strength)
        return {
            "never lost to the models that are fitted: its strength has no upper limit": self.is_unbeaten,
            "never won against the models that are fitted: its strength has no lower limit": self.is_beaten,
            "never met the models that are fitted but over others that won or lost all: it has no rank": np.isnan(
                self.rank
            ),
            "the first of some models won all or none: no term for the place is fitted": fitted & self.is_place_endless,
            f"fewer than {_FEWEST} questions or battles: read the interval with care": fitted
            & (self.n_clusters < _FEWEST),
        }


def rank_battles(battles: Battles, *, level: float = 0.95) -> BattleRanking:
    """Fit the strengths of models to their battles, and rank them.

    Parameters
    ----------
    battles
        Battles of two models or more.
    level
        Coverage of the intervals and of the range of ranks of each model, in (0, 1).

    Returns
    -------
    BattleRanking
        One row per model, the strongest first. Models that beat all whom they met among the others, or lost to all,
        have no finite strength: the others are fitted without them, and they rank before or behind these.

    Raises
    ------
    InputError
        When two groups of models never met, or no two models both won against each other, directly or over others.

    References
    ----------
    Bradley and Terry (1952), Biometrika 39. Ford (1957), American Mathematical Monthly 64, for when strengths are
    finite. Liang and Zeger (1986), Biometrika 73, for the sandwich.

    Examples
    --------
    >>> first, second = np.zeros(40, int), np.ones(40, int)
    >>> table = rank_battles(Battles("demo", ("a", "b"), first, second, (np.arange(40) < 30).astype(float)))
    >>> round(float(table.strength[0]), 3), round(float(np.log(3)) / 2, 3)  # half the logit of 3/4
    (0.549, 0.549)
    """
    check_level(level)
    M, result = len(battles.models), battles.result
    won, lost = (np.zeros((M, M)) for _ in range(2))
    np.add.at(won, (battles.first, battles.second), result)
    np.add.at(lost, (battles.first, battles.second), 1 - result)
    beats = (won + lost.T) > 0
    _check_connected(beats, battles)
    label = connected_components(sparse.csr_array(beats), directed=True, connection="strong")[1]
    core = label == np.argmax(np.bincount(label))
    if np.sum(core) < 2:
        remedy = "more battles, or a table of win shares, say more than strengths"
        raise InputError(
            "no two models won against each other: no strength is finite", where=battles.name, remedy=remedy
        )
    is_unbeaten, is_beaten = _find_degenerate(beats, core)
    row = np.cumsum(core) - 1
    inside = core[battles.first] & core[battles.second]
    first, second, y = row[battles.first[inside]], row[battles.second[inside]], result[inside]
    cluster = None if battles.cluster is None else battles.cluster[inside]
    counts, wins = (won + lost)[np.ix_(core, core)], won[np.ix_(core, core)]
    has_place = bool(np.any((counts > 0) & (counts.T > 0)))
    fitted = _fit(counts, wins, has_place=has_place)
    is_place_endless = fitted is None
    if fitted is None:  # where the first of some pairs always won, only the place has no finite value
        has_place, fitted = False, _fit(counts, wins, has_place=False)
    if fitted is None:
        remedy = "are some pairs nearly always won by the same model? Leave the weakest out"
        raise InputError("the strengths do not converge", where=battles.name, remedy=remedy)
    theta, inverse = fitted
    covariance, n_clusters = _sandwich(theta, inverse, first, second, y, cluster, has_place=has_place)
    m = int(core.sum())
    strength, variance = np.full((2, M), np.nan)
    strength[core], variance[core] = theta[:m], np.diag(covariance)[:m]
    rank, low, high = _rank(theta[:m], covariance[:m, :m], n_clusters, level)
    # Nothing bounds the strengths outside the core: any rank is open to them, and beside them.
    n_above = int(is_unbeaten.sum())
    ranks = np.array([np.full(M, np.nan), np.ones(M), np.full(M, M)])
    ranks[:, core] = rank + n_above, low, high + M - m
    ranks[0, is_unbeaten], ranks[0, is_beaten] = 1, n_above + m + 1
    appears = [np.bincount(each, minlength=M) for each in (battles.first, battles.second)]
    share = (np.bincount(battles.first, result, M) + np.bincount(battles.second, 1 - result, M)) / np.maximum(
        sum(appears), 1
    )
    place_variance = float(covariance[m, m]) if has_place else np.nan
    return BattleRanking(
        battles.name,
        battles.models,
        np.asarray(sum(appears)),
        share,
        strength,
        variance,
        ranks[0],
        ranks[1].astype(np.int64),
        ranks[2].astype(np.int64),
        is_unbeaten,
        is_beaten,
        float(theta[m]) if has_place else float("nan"),
        float(np.sqrt(place_variance)),
        n_clusters,
        is_place_endless,
        level,
    )


def _check_connected(beats: NDArray[np.bool_], battles: Battles) -> None:
    """Raise InputError where models fall into groups that never met."""
    n, group = connected_components(sparse.csr_array(beats), directed=False)
    if n > 1:
        names = [", ".join(np.array(battles.models, object)[group == g][:3].tolist()) for g in range(min(n, 2))]
        remedy = "rank each group by itself, or add battles between them"
        raise InputError(
            f"{n} groups of models never met: {names[0]} and {names[1]}", where=battles.name, remedy=remedy
        )


def _find_degenerate(beats: NDArray[np.bool_], core: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which models outside the core beat it, directly or over others, and which are beaten by it."""
    above, below = core.copy(), core.copy()
    for _ in range(len(core)):
        above |= (beats & above).any(axis=1)
        below |= (beats & below[:, None]).any(axis=0)
    # A model beside the core, such as one that only lost to an unbeaten one, is in neither: nothing tells its place.
    return above & ~core, below & ~core & ~above


def _fit(counts: FloatArray, wins: FloatArray, *, has_place: bool) -> tuple[FloatArray, FloatArray] | None:
    """Return strengths that sum to 0 and the place term, with the inverse of the information; None if endless."""
    m = len(counts)
    a, b = np.nonzero(counts)
    n, y = counts[a, b], wins[a, b]
    X = np.zeros((len(a), m + has_place))
    X[np.arange(len(a)), a], X[np.arange(len(a)), b] = 1, -1
    if has_place:
        X[:, m] = 1
    theta = np.zeros(X.shape[1])
    for _ in range(_STEPS):
        p = special.expit(X @ theta)
        information = (X.T * (n * p * (1 - p))) @ X
        inverse = np.linalg.pinv(information, hermitian=True)
        step = inverse @ (X.T @ (y - n * p))
        theta = theta + step * min(1.0, 2 / max(np.abs(step).max(), 1e-300))
        if np.abs(step).max() < _CONVERGED:
            # Where a direction has lost its information, the likelihood grows without end along it.
            is_finite = np.linalg.matrix_rank(information, rtol=_FLAT, hermitian=True) == m - 1 + has_place
            return (theta, inverse) if is_finite and np.abs(theta).max() < _ENDLESS else None
    return None


def _sandwich(
    theta: FloatArray,
    inverse: FloatArray,
    first: IntArray,
    second: IntArray,
    y: FloatArray,
    cluster: IntArray | None,
    *,
    has_place: bool,
) -> tuple[FloatArray, int]:
    """Return the covariance of the estimates that clusters of battles leave, and the number of clusters."""
    place = len(theta) - has_place
    residual = y - special.expit(theta[first] - theta[second] + (theta[place] if has_place else 0.0))
    unit = np.arange(len(y)) if cluster is None else np.unique(cluster, return_inverse=True)[1]
    C = int(unit.max()) + 1
    columns = [first, second, *([np.full(len(y), place)] if has_place else [])]
    values = [residual, -residual, *([residual] if has_place else [])]
    sums = sparse.csr_array(
        (np.concatenate(values), (np.tile(unit, len(columns)), np.concatenate(columns))), shape=(C, len(theta))
    )
    meat = (sums.T @ sums).toarray()
    covariance: FloatArray = inverse @ meat @ inverse * (C / (C - 1) if C > 1 else np.nan)
    return covariance, C


def _rank(
    strength: FloatArray, covariance: FloatArray, n_clusters: int, level: float
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the rank of each model and its range, by tests of its differences to all others, Holm-adjusted."""
    m = len(strength)
    gap = strength[:, None] - strength
    variance = np.diag(covariance)[:, None] + np.diag(covariance) - 2 * covariance
    with np.errstate(invalid="ignore", divide="ignore"):
        p = 2 * special.stdtr(max(n_clusters - 1, 1), -np.abs(gap) / np.sqrt(np.maximum(variance, 0)))
    p[np.diag_indices(m)] = np.nan
    is_clear = np.array([holm(row) for row in p]) < 1 - level
    low, high = 1 + np.sum(is_clear & (gap < 0), axis=1), m - np.sum(is_clear & (gap > 0), axis=1)
    return 1 + np.sum(gap < -1e-9, axis=1), low, high
