"""Ranks of models: simultaneous confidence sets, chance to be the best, chance of a wrong order.

The rank set of a model goes from 1 + the number of models significantly better to M - the number significantly worse,
over Holm-adjusted paired tests of all pairs: all M sets hold the true ranks at once with the probability `level`
(Mogstad, Romano, Shaikh and Wilhelm 2024).

Step-down tests of the largest statistic (Romano and Wolf 2005), with the correlations of the pairs, were measured and
are not used: sets of 10 to 84 models were 1 to 3 % shorter than with Holm on published results, while some rank of
models that are all equal was ruled out in .05 to .09 of the simulated evaluations, at a nominal .05 (Holm: .00 to .05).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.comparisons.pairs import Pairs, pairs
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import Claim, DifferenceMethod, check_mean_claim
from howsure.stats.core.intervals import FEW_DF, FEWEST_DF
from howsure.stats.core.results import Columns, Result, make_columns, notes
from howsure.stats.scores import Scores, cluster_excess, cluster_residuals, score, unbiased_data

__all__ = [
    "Ranking",
    "WrongOrder",
    "count_moved_models",
    "covariance_of_means",
    "p_above",
    "rank",
    "wrong_order",
]

#: Scores that are closer than this are equal: sums of the same numbers in another order differ by less.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Ranking(Result):
    """Ranks of M models; arrays have shape (M,) unless stated otherwise.

    Attributes
    ----------
    score
        Mean over the questions that the model answered; NaN where none.
    rank
        1 + the number of models with a higher score; NaN without a score.
    rank_low, rank_high
        Best and worst rank in the confidence set.
    distribution
        Share of the draws in which model m has rank r + 1, shape (M, M).
    n_missing
        Questions without a score.
    df
        Degrees of freedom of the error of each score where questions come in clusters, else None.
    p_above_next
        Chance that the model ranks above the next lower one, with the error of their paired difference; NaN for the
        last. By the law of the draws behind `p_best`: normal, and Student's t where questions come in clusters.
    k, p_wrong_next
        Generations per question, and the chance that the scores of so many put the model and the next lower one in the
        wrong order (`wrong_order`); None where no k is given.
    why_no_order
        Notes on why that chance is not known, each with where it holds, shape (M,).
    se
        Standard error of each score, of which the table shows as many decimals as `howsure score` does; None leaves it
        out.

    Examples
    --------
    >>> scores = [[[1]] * 40, [[1], [0]] * 20, [[0]] * 40]
    >>> cells = Cells.from_scores("demo", ["a", "b", "c"], [f"q{i}" for i in range(40)], scores)
    >>> rank(cells).p_best.round(2).tolist()
    [1.0, 0.0, 0.0]
    """

    benchmark: str
    models: tuple[str, ...]
    score: FloatArray
    rank: NDArray[np.number]
    rank_low: IntArray
    rank_high: IntArray
    distribution: FloatArray = field(repr=False)
    n_missing: IntArray
    untested: NDArray[np.bool_] = field(repr=False)
    flat: NDArray[np.bool_] = field(repr=False)
    claim: Claim
    level: float
    df: FloatArray | None = field(default=None, repr=False)
    p_above_next: FloatArray | None = field(default=None, repr=False)
    k: int | None = None
    p_wrong_next: FloatArray | None = field(default=None, repr=False)
    se: FloatArray | None = field(default=None, repr=False)
    why_no_order: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict, repr=False)

    @property
    def p_best(self) -> FloatArray:
        """Chance to have rank 1 if scores were drawn again around the observed ones."""
        return np.asarray(self.distribution[:, 0])

    def columns(self) -> Columns:
        """Return one row per model, the best first."""
        order = np.argsort(np.nan_to_num(-self.score, nan=np.inf), kind="stable")
        M = len(self.models)
        scored = ~np.isnan(self.score)
        columns: Columns = make_columns(
            M,
            benchmark=self.benchmark,
            model=self.models,
            score=self.score,
            **({} if self.se is None else {"se": self.se}),
            rank=self.rank,
            rank_low=self.rank_low,
            rank_high=self.rank_high,
            p_best=self.p_best,
            **({} if self.p_above_next is None else {"p_above_next": self.p_above_next}),
            **({} if self.p_wrong_next is None else {"p_wrong_next": self.p_wrong_next, "k": self.k}),
            level=self.level,
            claim=self.claim,
            note=notes(
                {
                    "no scores": ~scored,
                    "on fewer questions than there are: pairs are compared on those that both answered": scored
                    & (self.n_missing > 0),
                    "some pairs cannot be tested and count as not distinguishable": scored & self.untested,
                    "no variation was seen: p_best takes its score as exact": self.flat,
                    "the error of its score is unknown: no chance to be the best": scored & np.isnan(self.p_best),
                    **self.why_no_order,
                    **self._of_clusters(),
                }
            ),
        )
        return {name: values[order] for name, values in columns.items()}

    def _of_clusters(self) -> dict[str, NDArray[np.bool_]]:
        """Return notes on clusters, each with where it holds, shape (M,)."""
        if self.df is None:
            return {}
        return {
            "questions in clusters: ranks are those on new clusters": ~np.isnan(self.df),
            FEW_DF: self.df < FEWEST_DF,
        }


def rank(
    cells: Cells,
    *,
    claim: Claim = "new-questions",
    level: float = 0.95,
    method: DifferenceMethod | None = None,
    k: int | None = None,
    draws: int = 10_000,
    rng: np.random.Generator | int = 0,
) -> Ranking:
    """Rank all models, with simultaneous confidence sets for the ranks and the distribution of ranks.

    Parameters
    ----------
    cells
        M >= 2 models; questions may be missing and differ in their number of generations. Any real scores.
    claim
        One of `CLAIMS`: whether the ranks are those on new questions or on these very questions.
    level
        Probability with which all rank sets hold at once, in (0, 1).
    method
        Method of the paired tests, as in `pairs`.
    k
        Generations per question for which the chance of a wrong order is computed; None leaves it out.
    draws
        Number of normal draws of all scores, with the covariance that shared questions give them; 1 or more.
    rng
        Generator of random numbers, or its seed.

    Returns
    -------
    Ranking
        One row per model, the best first.

    Raises
    ------
    InputError
        When there are fewer than two models, or `draws` is below 1.

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
    if draws < 1:
        raise InputError(f"draws is {draws!r}", where="rank", remedy="allowed: 1 or more, such as 10000")
    compared = pairs(cells, claim=claim, level=level, method=method)
    scores = score(cells, claim=claim)
    M = len(cells.models)
    scored = ~np.isnan(scores.score)
    is_significant = compared.p_holm < 1 - level
    better = np.zeros((M, M), dtype=bool)  # [i, j]: i significantly better than j
    ahead, behind = compared.difference > 0, compared.difference < 0
    better[compared.a, compared.b] = is_significant & ahead
    better[compared.b, compared.a] = is_significant & behind
    untested = np.zeros(M, dtype=bool)
    blank = np.isnan(compared.p_holm)
    untested[compared.a[blank]] = untested[compared.b[blank]] = True
    above = np.sum(scores.score[:, None] < scores.score, axis=1) + 1
    matrix = np.full((M, M), np.nan)
    matrix[compared.a, compared.b] = _phi(compared.difference, compared.variance, _least_df(cells, scores))
    matrix[compared.b, compared.a] = 1 - matrix[compared.a, compared.b]
    p_wrong_next, why_no_order = None, {}
    if k is not None:
        wrong = wrong_order(cells, [k], claim=claim)
        p_wrong_next, se, n_common = (
            _take_next(_spread_pairs(wrong, each, M), scores.score)
            for each in (wrong.p_wrong[:, 0], wrong.se[:, 0], compared.n_questions)
        )
        few = n_common < 2
        why_no_order = {
            "p_wrong_next is unknown: fewer than two questions in common with the next": few,
            "p_wrong_next is unknown: no variation was seen between it and the next": ~few & (se == 0),
            "p_wrong_next is unknown: one generation per question of it or of the next": ~np.isnan(n_common)
            & ~few
            & np.isnan(se),
        }
    return Ranking(
        cells.benchmark,
        cells.models,
        scores.score,
        above if scored.all() else np.where(scored, above, np.nan),
        1 + better.sum(axis=0),
        M - better.sum(axis=1),
        _rank_distribution(cells, scores, draws, np.random.default_rng(rng)),
        scores.n_missing,
        untested,
        scores.variance == 0,
        claim,
        level,
        scores.df if scores.n_clusters is not None else None,
        _take_next(matrix, scores.score),
        k,
        p_wrong_next,
        np.sqrt(scores.variance),
        why_no_order,
    )


def _spread_pairs(of: WrongOrder, values: FloatArray | IntArray, models: int) -> FloatArray:
    """Return values of pairs, shape (P,), at [a, b] and [b, a] of a matrix of all models; NaN elsewhere."""
    matrix = np.full((models, models), np.nan)
    matrix[of.a, of.b] = matrix[of.b, of.a] = values
    return matrix


def _take_next(matrix: FloatArray, score: FloatArray) -> FloatArray:
    """Return the entry of each model and the next lower one, shape (M,); NaN for the last and without a score."""
    order = np.argsort(np.nan_to_num(-score, nan=np.inf), kind="stable")
    order = order[~np.isnan(score[order])]
    values = np.full(len(score), np.nan)
    values[order[:-1]] = matrix[order[:-1], order[1:]]
    return values


def p_above(cells: Cells, *, claim: Claim = "new-questions", paired: bool = True) -> FloatArray:
    """Compute P(model a ranks above model b) = Phi(difference / SE) of all pairs.

    Parameters
    ----------
    cells
        M models on N questions.
    claim
        One of `CLAIMS`.
    paired
        True: SE of the paired difference on the common questions. False: SE^2 = SE_a^2 + SE_b^2, GEN appendix F, which
        is too large where models find the same questions difficult.

    Returns
    -------
    Shape (M, M): of model a above model b at [a, b], 1/2 on the diagonal, NaN where SE is 0.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a", "b"], ["q1", "q2", "q3"], [[[1], [1], [1]], [[0], [1], [0]]])
    >>> p_above(cells).round(2).tolist()
    [[0.5, 0.99], [0.01, 0.5]]
    """
    compared = pairs(cells, claim=claim)
    a, b = compared.a, compared.b
    difference, variance = compared.difference, compared.variance
    if not paired:
        alone = score(cells, claim=claim)
        difference, variance = alone.score[a] - alone.score[b], alone.variance[a] + alone.variance[b]
    out = np.full((len(cells.models),) * 2, 0.5)
    out[a, b] = _phi(difference, variance)
    out[b, a] = 1 - out[a, b]
    return out


@dataclass(frozen=True, eq=False)
class WrongOrder(Result):
    """Chance that scores of k generations per question put two models in the wrong order.

    Attributes
    ----------
    a, b
        Rows of the two models in `models`, shape (P,).
    k
        Generations per question, shape (K,).
    difference
        Observed difference a - b, shape (P,).
    se, p_wrong
        Standard error with k generations, and the chance of a wrong order, shape (P, K).

    Examples
    --------
    >>> scores = [[[1, 1], [1, 0], [1, 1]], [[1, 0], [0, 0], [1, 0]]]
    >>> result = wrong_order(Cells.from_scores("demo", ["a", "b"], ["q1", "q2", "q3"], scores), [1, 10])
    >>> result.k.tolist(), result.difference.round(2).tolist()
    ([1, 10], [0.5])
    """

    benchmark: str
    models: tuple[str, ...]
    a: IntArray
    b: IntArray
    k: IntArray
    difference: FloatArray
    se: FloatArray
    p_wrong: FloatArray
    claim: Claim

    def columns(self) -> Columns:
        """Return one row per pair and k."""
        P, K = self.se.shape
        names = np.array(self.models, dtype=object)
        return make_columns(
            P * K,
            benchmark=self.benchmark,
            model_a=np.repeat(names[self.a], K),
            model_b=np.repeat(names[self.b], K),
            k=np.tile(self.k, P),
            difference=np.repeat(self.difference, K),
            se=self.se.ravel(),
            p_wrong=self.p_wrong.ravel(),
            claim=self.claim,
            note=notes(
                {
                    "data and prediction noise cannot be separated": np.isnan(self.se).ravel(),
                    "no variation was seen": self.se.ravel() == 0,
                }
            ),
        )


def wrong_order(
    cells: Cells,
    k: Sequence[int] = (1, 2, 5, 10, 20, 50),
    *,
    claim: Claim = "new-questions",
    paired: bool = True,
) -> WrongOrder:
    """Compute the chance that k generations per question put two models in the wrong order.

    Parameters
    ----------
    cells
        M models on N questions.
    k
        Numbers of generations per question, whole numbers from 1.
    claim
        ``"new-questions"``: SE(k)^2 = (D + E/k)/N on as many new questions, with the unbiased D of `unbiased_data`;
        ``"these-questions"``: E/(kN).
    paired
        As in `p_above`.

    Returns
    -------
    WrongOrder
        One row per pair and k.

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
    >>> wrong_order(cells, k=(1, 100))["p_wrong"].round(2).tolist()
    [0.25, 0.19]
    """
    if not len(k) or any(int(each) != each or each < 1 for each in k):
        raise InputError(f"k is {list(k)}", where="wrong_order", remedy="allowed: whole numbers from 1")
    check_mean_claim(claim)
    single = replace(cells, clusters=None)  # D and E are those of single questions; `excess` is what clusters add
    compared = pairs(single)
    a, b, difference = compared.a, compared.b, compared.difference
    runs = np.asarray(k)
    parts: list[tuple[Pairs | Scores, slice | IntArray]] = [(compared, slice(None))]
    if not paired:
        alone = score(single)
        parts, difference = [(alone, a), (alone, b)], alone.score[a] - alone.score[b]
    variance = np.zeros((len(a), len(runs)))
    for of, rows in parts:
        E, D, T, N, squared = (
            np.asarray(each)[rows][:, None] for each in (of.prediction, of.data, of.total, of.n_questions, of.variance)
        )
        D, T = (unbiased_data(each, squared * N, N) for each in (D, T))
        added: FloatArray | float = 0.0
        if claim == "new-questions" and cells.clusters is not None:
            means = cells.mean[rows] if isinstance(of, Scores) else cells.mean[a] - cells.mean[b]
            added = cluster_excess(means, cells.clusters)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            if claim == "new-questions":  # for one generation, T will do where D and E are unknown
                variance += (
                    np.where(np.isnan(E) & (runs == 1), np.maximum(T + added, 0), np.maximum(D + added, 0) + E / runs)
                    / N
                )
            else:
                variance += E / runs / N
    p_wrong = _phi(-np.abs(difference)[:, None], variance)
    return WrongOrder(cells.benchmark, cells.models, a, b, runs, difference, np.sqrt(variance), p_wrong, claim)


def covariance_of_means(cells: Cells, *, claim: Claim = "new-questions") -> FloatArray:
    """Compute the covariance of the models' scores.

    Parameters
    ----------
    cells
        M models on N questions.
    claim
        One of `CLAIMS`.

    Returns
    -------
    Shape (M, M); the diagonal is the squared standard error of `claim`, NaN for a model whose error is unknown.

    Notes
    -----
    Models share questions but not generations. With x_q the deviation of a question mean from the model's score, N_a
    and N_b the questions that a and b answered, new questions give

        cov = sum over the common questions of x_aq x_bq / (N_a N_b)

    and these questions give 0. With clusters, the sums of x over each cluster, divided by sqrt(1 - n_c/N), take the
    place of x: the variance of a difference of two models is then the clustered one of `pairs`, where both answered the
    same questions. Products of x with 0 for a missing question are a Gram matrix: a covariance whatever is missing.
    """
    variance = score(cells, claim=claim).variance
    covariance = np.zeros((len(variance),) * 2)
    if claim != "these-questions":
        N = np.maximum(np.sum(cells.answered, axis=1), 1)
        center = np.sum(cells.mean, axis=1, where=cells.answered) / N
        X = np.where(cells.answered, cells.mean - center[:, None], 0)
        if cells.clusters is not None:
            X, _ = cluster_residuals(cells.mean, cells.clusters)
        covariance = X @ X.T / np.outer(N, N)
    np.fill_diagonal(covariance, variance)
    unknown = np.isnan(variance)
    covariance[unknown], covariance[:, unknown] = np.nan, np.nan
    return covariance


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


def _phi(difference: FloatArray, variance: FloatArray, df: float = np.inf) -> FloatArray:
    """Return Phi(difference / sqrt(variance)), or that of Student's t; NaN if no variation was observed."""
    z = difference / np.sqrt(np.where(variance > 0, variance, np.nan))
    return np.asarray(special.ndtr(z) if np.isinf(df) else special.stdtr(df, z))


def _least_df(cells: Cells, scores: Scores) -> float:
    """Return the least degrees of freedom of the scores where questions come in clusters; infinity elsewhere."""
    if cells.clusters is None or scores.df is None or scores.claim == "these-questions" or np.all(np.isnan(scores.df)):
        return np.inf
    return float(np.nanmin(scores.df))


def _rank_distribution(cells: Cells, scores: Scores, draws: int, draw: np.random.Generator) -> FloatArray:
    """Return the share of draws in which each model has each rank, shape (M, M); NaN if its error is unknown."""
    M = len(scores.score)
    covariance = covariance_of_means(cells, claim=scores.claim)
    is_known = np.flatnonzero(~np.isnan(np.diag(covariance)))
    out = np.full((M, M), np.nan)
    if not len(is_known):
        return out
    values, axes = np.linalg.eigh(covariance[np.ix_(is_known, is_known)])
    root = axes * np.sqrt(np.maximum(values, 0))
    # Rounded, so that models with the same scores tie; a tie falls at random.
    noise = draw.standard_normal((draws, len(is_known))) @ root.T
    if np.isfinite(df := _least_df(cells, scores)):
        # With few clusters the covariance is hardly known: draws of t with the least of the degrees of freedom.
        noise *= np.sqrt(df / draw.chisquare(df, draws))[:, None]
    drawn = np.round(scores.score[is_known] + noise, 9)
    order = np.lexsort((draw.random(drawn.shape), -drawn), axis=1)
    place = order + len(is_known) * np.arange(len(is_known))  # [draw, r]: the model at rank r
    times = np.bincount(place.ravel(), minlength=len(is_known) ** 2).reshape(len(is_known), -1)
    out[is_known] = 0
    out[np.ix_(is_known, np.arange(len(is_known)))] = times.T / draws
    return out
