"""Ranks of models: ranges of ranks, the chance to be the best, the chance of a wrong order.

All of it is of differences on the questions that two models both answered: those of `pairs`, with their tests. A model
has at least as many above it as are significantly better, and at least as many below it as are significantly worse
(Mogstad, Romano, Shaikh and Wilhelm 2024). The range of a model by itself counts its M - 1 tests, adjusted for these
alone by Holm: it holds the true rank of this model with the probability `level`. The simultaneous ranges count tests
adjusted for all pairs: all M of them hold the true ranks at once with this probability.

Step-down tests of the largest statistic (Romano and Wolf 2005), with the correlations of the pairs, were measured and
are not used: sets of 10 to 84 models were 1 to 3 % shorter than with Holm on published results, while some rank of
models that are all equal was ruled out in .05 to .09 of the simulated evaluations, at a nominal .05 (Holm: .00 to .05).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.sparse import csgraph

from howsure.stats.comparisons.pairs import Pairs, pairs
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import Claim, DifferenceMethod, check_mean_claim
from howsure.stats.core.intervals import FEW_DF, FEWEST_DF, compute_normal_error
from howsure.stats.core.results import Conditions, Result, RowPlaces
from howsure.stats.core.strata import split_strata
from howsure.stats.scores import Scores, cluster_excess, score, unbiased_data

__all__ = [
    "RankRanges",
    "Ranking",
    "count_moved_models",
    "fit_common_scores",
    "list_reversed",
    "range_ranks",
    "rank",
    "wrong_order",
]

#: Scores that are closer than this are equal: sums of the same numbers in another order differ by less.
_ROUNDING = 1e-12
#: Most points of the quasi-random draws of `chance_best`, and most comparisons of two models over all points.
_POINTS, _MOST_NUMBERS = 2**14, 2**25
#: Standard errors behind another model from which a model has no chance to be the best.
_HOPELESS = 4.5


class RankRanges(NamedTuple):
    """Rank of each of M models and its ranges, shape (M,) each.

    Examples
    --------
    >>> scores = [[[1]] * 40, [[1], [0]] * 20, [[0]] * 40]
    >>> cells = Cells.from_scores("demo", ["a", "b", "c"], [f"q{i}" for i in range(40)], scores)
    >>> range_ranks(pairs(cells)).high.tolist()
    [1, 2, 3]
    """

    rank: IntArray
    """1 + the number of models with a higher score on the questions that both answered."""
    low: IntArray
    """Best rank of the range of a model by itself."""
    high: IntArray
    """Its worst rank."""
    low_all: IntArray
    """Best rank of the range that holds at once with those of all other models."""
    high_all: IntArray
    """Its worst rank."""


def range_ranks(compared: Pairs) -> RankRanges:
    """Return the rank of each model and its ranges, from the differences and the tests of all pairs."""
    ahead = _spread(compared, compared.difference > _ROUNDING, compared.difference < -_ROUNDING) == 1
    low_high: list[IntArray] = []
    for p in (compared.p_by_model, _spread(compared, compared.p_holm, compared.p_holm)):
        is_significant = p < 1 - compared.level
        low_high.append(1 + np.sum(ahead.T & is_significant, axis=1))
        low_high.append(len(ahead) - np.sum(ahead & is_significant, axis=1))
    return RankRanges(1 + np.sum(ahead, axis=0), *low_high)


@dataclass(frozen=True, eq=False)
class Ranking(Result):
    """Ranks of M models; arrays have shape (M,) unless stated otherwise.

    Attributes
    ----------
    compared
        Differences of all pairs of models and their tests, which everything here is about.
    scores
        Score of each model on the questions that it answered.
    score_common
        Score on the questions that all models with a score answered; NaN without such questions.
    ranges
        Rank of each model, its range by itself, and the simultaneous one.
    p_best
        Chance to be the best, see `chance_best`.
    p_above_next
        Chance that the model ranks above the next lower one, 1 - p/2 of the test of the two; NaN for the last.
    win_rate
        Of means over strata, the mean over strata of the share of the other models that have a lower score there, equal
        scores counting half, among models with one (Liang et al. 2022); NaN without a score in some stratum.
    k, p_wrong_next
        Generations per question, and the chance that the scores of so many put the model and the next lower one in the
        wrong order (`wrong_order`); None where no k is given.
    why_no_order
        Notes on why that chance is not known, each with where it holds, shape (M,).

    Examples
    --------
    >>> scores = [[[1]] * 40, [[1], [0]] * 20, [[0]] * 40]
    >>> cells = Cells.from_scores("demo", ["a", "b", "c"], [f"q{i}" for i in range(40)], scores)
    >>> rank(cells).p_best.round(2).tolist()
    [1.0, 0.0, 0.0]
    """

    compared: Pairs = field(repr=False)
    scores: Scores = field(repr=False)
    score_common: FloatArray
    ranges: RankRanges
    p_best: FloatArray
    p_above_next: FloatArray
    win_rate: FloatArray | None = None
    k: int | None = None
    p_wrong_next: FloatArray | None = None
    why_no_order: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict, repr=False)

    declared = (
        "benchmark=scores.benchmark model=scores.models score=scores.score score_common se=scores.variance.sqrt "
        "rank=_rank rank_low=ranges.low rank_high=ranges.high rank_low_all=ranges.low_all "
        "rank_high_all=ranges.high_all p_best p_above_next win_rate p_wrong_next k level=compared.level "
        "claim=compared.claim note=_reasons.notes"
    )

    def _rank(self) -> FloatArray | IntArray:
        """Return the ranks; NaN without a score."""
        scored = self.scores.n_questions > 0
        return self.ranges.rank if scored.all() else np.where(scored, self.ranges.rank, np.nan)

    def _rows(self) -> RowPlaces:
        return [_order(self.ranges.rank, self.scores.score, self.scores.n_questions > 0)]

    def _reasons(self) -> Conditions:
        scored = self.scores.n_questions > 0
        blank = np.isnan(self.compared.p_holm)
        untested = np.isin(np.arange(len(scored)), [self.compared.a[blank], self.compared.b[blank]])
        return {
            "no scores": ~scored,
            "no mean: the model has no score in some of the strata": scored & np.isnan(self.scores.score),
            "on fewer questions than there are: ranks are by differences on the questions that two models both "
            "answered": scored & (self.scores.n_missing > 0),
            "some pairs cannot be tested and count as not distinguishable": scored & untested,
            "no chance to be the best: too few questions in common with the others, or an unknown error": scored
            & np.isnan(self.p_best),
            **self.why_no_order,
            **self._of_clusters(),
        }

    def _of_clusters(self) -> dict[str, NDArray[np.bool_]]:
        """Return notes on clusters, each with where it holds, shape (M,)."""
        if self.scores.n_clusters is None or self.scores.df is None:
            return {}
        return {
            "questions in clusters: ranks are those on new clusters": ~np.isnan(self.scores.df),
            FEW_DF: self.scores.df < FEWEST_DF,
        }


def rank(
    cells: Cells,
    *,
    claim: Claim = "new-questions",
    level: float = 0.95,
    method: DifferenceMethod | None = None,
    k: int | None = None,
) -> Ranking:
    """Rank all models by their differences on common questions, with ranges of ranks and the chance to be the best.

    Parameters
    ----------
    cells
        M >= 2 models; questions may be missing and differ in their number of generations. Any real scores. Where there
        are strata (`join_strata`), ranks are those of means over them.
    claim
        One of `CLAIMS`: what the ranks are of, new questions, these very questions, or new strata.
    level
        Probability with which a range holds the rank of its model, or with which all simultaneous ranges hold at once;
        in (0, 1).
    method
        Method of the paired tests, as in `pairs`.
    k
        Generations per question for which the chance of a wrong order is computed; None leaves it out.

    Returns
    -------
    Ranking
        One row per model, the best first.

    Raises
    ------
    InputError
        When there are fewer than two models.

    References
    ----------
    Mogstad, Romano, Shaikh and Wilhelm (2024), Inference for ranks, Review of Economic Studies 91, section 3.

    Examples
    --------
    >>> scores = [[[1]] * 40, [[1], [0]] * 20, [[0]] * 40]
    >>> cells = Cells.from_scores("demo", ["a", "b", "c"], [f"q{i}" for i in range(40)], scores)
    >>> result = rank(cells)
    >>> result["model"].tolist(), result["rank_low"].tolist(), result["rank_high"].tolist()
    (['a', 'b', 'c'], [1, 2, 3], [1, 2, 3])
    """
    compared = pairs(cells, claim=claim, level=level, method=method)
    scores = score(cells, claim=claim)
    scored = scores.n_questions > 0
    ranges = range_ranks(compared)
    order = _order(ranges.rank, scores.score, scored)[: np.sum(scored)]

    def take_next(of_pairs: FloatArray, of_reverse: FloatArray) -> FloatArray:
        """Values of each model and the next lower one, from those of pairs; NaN for the last and without a score."""
        values = np.full(len(order) + np.sum(~scored), np.nan)
        values[order[:-1]] = _spread(compared, of_pairs, of_reverse)[order[:-1], order[1:]]
        return values

    p_value = compared.interval().p_value
    above = np.where(compared.difference > 0, 1 - p_value / 2, p_value / 2)
    p_wrong_next, why_no_order = None, {}
    if k is not None:
        se, p_wrong = wrong_order(compared, k)
        p_wrong_next, se, n_common = (
            take_next(each, each) for each in (p_wrong, se, compared.n_questions.astype(float))
        )
        few = n_common < 2
        why_no_order = {
            "p_wrong_next is unknown: fewer than two questions in common with the next": few,
            "no variation was seen between it and the next: p_wrong_next is unknown": ~few & (se == 0),
            "p_wrong_next is unknown: one generation per question of it or of the next": ~np.isnan(n_common)
            & ~few
            & np.isnan(se),
        }
    return Ranking(
        compared,
        scores,
        cells.without(np.broadcast_to(~np.all(cells.answered[scored], axis=0), cells.n.shape)).average_questions(),
        ranges,
        chance_best(*fit_common_scores(compared)),
        take_next(above, 1 - above),
        None if cells.strata is None else _win_rate(cells),
        k,
        p_wrong_next,
        why_no_order,
    )


def _order(rank: IntArray, score: FloatArray, scored: NDArray[np.bool_]) -> IntArray:
    """Return the rows of the models by rank, then by score; those without a score last."""
    return np.lexsort((-score, np.where(scored, rank, np.inf)))


def _win_rate(cells: Cells) -> FloatArray:
    """Return the mean over strata of the share of the other models that have a lower score there, shape (M,)."""
    means = np.array([part.average_questions() for part in split_strata(cells)])
    ahead = means[:, :, None] - means[:, None, :]
    wins = np.where(np.isnan(ahead), 0, np.where(np.abs(ahead) <= _ROUNDING, 0.5, ahead > 0)).sum(axis=2)
    others = np.sum(~np.isnan(means), axis=1, keepdims=True) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(np.isnan(means), np.nan, (wins - 0.5) / others)  # each ties with itself
    return np.asarray(np.mean(rates, axis=0))


def _spread(compared: Pairs, values: NDArray[np.generic], reverse: NDArray[np.generic]) -> FloatArray:
    """Return values of pairs, shape (P,), at [a, b] of a matrix of all models, others at [b, a], and NaN at [a, a]."""
    matrix = np.full((len(compared.models),) * 2, np.nan)
    matrix[compared.a, compared.b], matrix[compared.b, compared.a] = values, reverse
    return matrix


def wrong_order(compared: Pairs, k: int) -> tuple[FloatArray, FloatArray]:
    """Return the error of each difference with k generations per question, and the chance of a wrong order, shape (P,).

    Parameters
    ----------
    compared
        All pairs. For the claim ``"new-questions"`` SE(k)^2 = (D + E/k)/N on as many new questions, with the unbiased D
        of `unbiased_data` and what clusters add to it; for ``"these-questions"`` E/(kN).
    k
        Generations per question, 1 or more.

    Notes
    -----
    The chance is Phi(-|difference| / SE(k)). The observed difference stands for the true one: among pairs selected for
    being far apart it is too large, and the chance too small.

    References
    ----------
    GEN appendix F.

    Examples
    --------
    >>> scores = [[[1, 1], [1, 0], [1, 1]], [[0, 0], [1, 1], [0, 1]]]
    >>> cells = Cells.from_scores("demo", ["a", "b"], ["q1", "q2", "q3"], scores)
    >>> [wrong_order(pairs(cells), k)[1].round(2).tolist() for k in (1, 100)]
    [[0.25], [0.19]]
    """
    check_mean_claim(compared.claim)
    N, E = np.where(compared.n_questions > 0, compared.n_questions, np.nan), compared.prediction
    if compared.claim == "these-questions":
        square = E / k / N
    else:
        between = compared.square / N - compared.difference**2  # var(d_q)
        between = np.where(between > _ROUNDING * compared.square / N, between, 0)
        D, T = (unbiased_data(each, between, N) for each in (compared.data, compared.total))
        added: FloatArray | float = 0.0
        if compared.cells.clusters is not None:
            means = compared.cells.mean[compared.a] - compared.cells.mean[compared.b]
            added = cluster_excess(means, compared.cells.clusters)
        # for one generation, T will do where D and E are unknown
        square = np.where(np.isnan(E) & (k == 1), np.maximum(T + added, 0), np.maximum(D + added, 0) + E / k) / N
    return np.sqrt(square), _phi(-np.abs(compared.difference), square)


def fit_common_scores(compared: Pairs) -> tuple[FloatArray, FloatArray]:
    """Fit scores of all models to the differences of all pairs, and a covariance to the errors of their tests.

    Parameters
    ----------
    compared
        All pairs of M models.

    Returns
    -------
    score, covariance
        Shape (M,) and (M, M), of which only differences of models have a meaning. NaN for models without a tested pair
        that connects them with the largest group of models.

    Notes
    -----
    Scores are those of least squares, each difference with the weight of its number of common questions. Where all
    models answered all questions, and of two models always, the differences are those of the pairs. Their variances V
    are those with which a normal difference has the p-value of the pair's test, and C = -JVJ/2 with J = I - 1/M: the
    covariance whose differences have the variances V, as in classical scaling (Torgerson 1952). A pair without a test
    of its own takes the smallest sum of variances along other pairs.

    References
    ----------
    Torgerson (1952), Multidimensional scaling: I. Theory and method, Psychometrika 17.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a", "b"], list("pqr"), [[[1], [1], []], [[0], [1], [1]]])
    >>> theta, covariance = fit_common_scores(pairs(cells))
    >>> (theta[0] - theta[1]).round(3), np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]).round(3)
    (np.float64(0.5), np.float64(0.968))
    """
    M = len(compared.models)
    theta, covariance = np.full(M, np.nan), np.full((M, M), np.nan)
    variance = compute_normal_error(compared.interval()) ** 2
    is_tested = ~np.isnan(variance)
    n, V = (_spread(compared, of, of) for of in (np.where(is_tested, compared.n_questions, 0), variance))
    np.fill_diagonal(n, 0)
    _, label = csgraph.connected_components(n > 0)
    rows = np.flatnonzero(label == np.argmax(np.bincount(label)))
    if len(rows) < 2:
        return theta, covariance
    n, V = n[np.ix_(rows, rows)], V[np.ix_(rows, rows)]
    d = np.nan_to_num(_spread(compared, compared.difference, -compared.difference))[np.ix_(rows, rows)]
    theta[rows] = np.linalg.pinv(np.diag(np.sum(n, axis=1)) - n, hermitian=True) @ np.sum(n * d, axis=1)
    np.fill_diagonal(V, 0)
    if np.any(np.isnan(V)):
        V = np.where(np.isnan(V), csgraph.shortest_path(csgraph.csgraph_from_dense(V, null_value=np.nan)), V)
    J = np.eye(len(rows)) - 1 / len(rows)
    covariance[np.ix_(rows, rows)] = -J @ V @ J / 2
    return theta, covariance


def chance_best(theta: FloatArray, covariance: FloatArray) -> FloatArray:
    """Compute the chance of each model to be the best if normal scores were drawn again around these ones.

    Parameters
    ----------
    theta, covariance
        Scores, shape (M,), and their covariance, (M, M), of which only differences count; NaN for models without.

    Returns
    -------
    Shape (M,), with the sum 1; NaN for models without a score. Models that no draw separates share their chance.

    Notes
    -----
    Along the axis of the largest variance the chance is an integral between the scores at which one model overtakes the
    next, and exact: for two models it is Phi(difference/SE). Over the other axes it is a mean over at most 16,384
    points of a Sobol sequence, the same in every call: its error was below .001 for 3 and 5 models, .002 for 10 and
    .004 for 20 and 30 (4 sets of scores each).

    References
    ----------
    Genz and Bretz (2009), Computation of multivariate normal and t probabilities, section 4.2. Sobol (1967).

    Examples
    --------
    >>> chance_best(np.array([0.1, 0.0]), np.diag([0.006, 0.004])).round(4).tolist()
    [0.8413, 0.1587]
    """
    out = np.full(len(theta), np.nan)
    candidates = np.flatnonzero(~np.isnan(theta) & ~np.isnan(np.diag(covariance)))
    if not len(candidates):
        return out
    out[candidates] = 0
    best = candidates[np.argmax(theta[candidates])]
    error = np.sqrt(np.maximum(covariance[best, best] + np.diag(covariance) - 2 * covariance[best], 0))
    rows = candidates[theta[candidates] >= theta[best] - _HOPELESS * error[candidates] - _ROUNDING]
    center = np.eye(len(rows)) - 1 / len(rows)
    values, axes = np.linalg.eigh(center @ covariance[np.ix_(rows, rows)] @ center)
    root = (axes * np.sqrt(np.maximum(values, 0)))[:, values > _ROUNDING * max(values[-1], 0)]
    root *= np.sign(np.take_along_axis(root, np.argmax(np.abs(root), axis=0)[None], axis=0))
    if not root.shape[1]:
        ties = theta[rows] >= theta[best] - _ROUNDING
        out[rows] = ties / np.sum(ties)
        return out
    slope = root[:, -1]
    gap = slope[:, None] - slope
    is_parallel = np.abs(gap) <= 1e-9 * np.max(np.abs(slope))
    per_gap = 1 / np.where(is_parallel, 1, gap)
    total = np.zeros(len(rows))
    points = _draw_points(min(_POINTS, max(_MOST_NUMBERS // len(rows) ** 2, 128)), root.shape[1] - 1)
    block = max(2**18 // len(rows) ** 2, 1)  # arrays that stay in the cache
    for start in range(0, len(points), block):
        drawn = theta[rows] + points[start : start + block] @ root[:, :-1].T
        # model m overtakes j, or j overtakes m, where the standard normal value is `at`
        at = (drawn[:, None, :] - drawn[:, :, None]) * per_gap
        behind = np.any((drawn[:, None, :] > drawn[:, :, None] + _ROUNDING) & is_parallel, axis=2)
        low = np.max(np.where(is_parallel | (gap < 0), -np.inf, at), axis=2)
        high = np.min(np.where(is_parallel | (gap > 0), np.inf, at), axis=2)
        chance = np.where(behind, 0, np.maximum(special.ndtr(high) - special.ndtr(low), 0))
        total += np.sum(chance / np.sum(chance, axis=1, keepdims=True), axis=0)
    out[rows] = total / len(points)
    return out


def _draw_points(n: int, dimensions: int) -> FloatArray:
    """Return quasi-random normal points, the same in every call, shape (the power of 2 below n, dimensions)."""
    if not dimensions:
        return np.zeros((1, 0))
    from scipy.stats import qmc  # the import takes longer than most commands

    return np.asarray(special.ndtri(qmc.Sobol(dimensions, seed=0).random_base2(n.bit_length() - 1)))


def list_reversed(cells: Cells) -> list[tuple[str, str]]:
    """Return pairs of models of which the first has the higher score, and the second is ahead on common questions.

    Both differences are further apart than random questions make them, at a level of .05 that all pairs share.

    Examples
    --------
    >>> scores = [[[1]] * 9 + [[0]] + [[]] * 10, [[1]] * 10 + [[0]] * 10]
    >>> list_reversed(Cells.from_scores("demo", ["a", "b"], list(map(str, range(20))), scores))
    [('a', 'b')]
    """
    if np.all(cells.answered):
        return []
    answered, totals = cells.answered.astype(float), np.where(cells.answered, cells.mean, 0)
    n, score = np.sum(answered, axis=1)[:, None], cells.average_questions()[:, None]
    shared = answered @ answered.T
    spread = np.sum((totals - score) ** 2 * answered, axis=1)[:, None] / np.maximum(n - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        common = totals @ answered.T / shared  # a's score on the questions that b answered too
        moved, variance = score - common, spread * (1 / shared - 1 / n)
        z = (moved - moved.T) / np.sqrt(variance + variance.T)
        is_reversed = (score - score.T > _ROUNDING) & (common - common.T < -_ROUNDING)
        rows = is_reversed & (z > special.ndtri(1 - 0.05 / len(n) ** 2))
    return [(cells.models[i], cells.models[j]) for i, j in np.argwhere(rows)]


def count_moved_models(before: FloatArray, after: FloatArray) -> int:
    """Return how many models are above another one in one of two lists of scores, and below it in the other.

    Parameters
    ----------
    before, after
        Scores of the same M models, shape (M,). A NaN is neither above nor below.

    Returns
    -------
    int
        From 0 to M, never 1. Models that become equal, or were equal before, have not moved.

    Examples
    --------
    >>> count_moved_models(np.array([0.5, 0.4, 0.3]), np.array([0.5, 0.3, 0.4]))
    2
    >>> count_moved_models(np.ones(2), np.array([0.0, 1.0]))
    0
    """
    first, second = (np.subtract.outer(scores, scores) for scores in (before, after))
    falls = (first > _ROUNDING) & (second < -_ROUNDING)
    rises = (first < -_ROUNDING) & (second > _ROUNDING)
    return int(np.sum(np.any(falls | rises, axis=1)))


def _phi(difference: FloatArray, variance: FloatArray) -> FloatArray:
    """Return Phi(difference / sqrt(variance)); NaN if no variation was observed."""
    return np.asarray(special.ndtr(difference / np.sqrt(np.where(variance > 0, variance, np.nan))))
