"""Scores of models on one benchmark, the components of their noise, and the standard error of each claim.

With p_q the mean, s2_q the unbiased variance and k_q the number of the generations of question q, N questions:

    E = mean s2_q                                  prediction variance: sampling the model again
    D = var(p_q) - mean(s2_q / k_q)                data variance: drawing other questions   (NOISE eq. 22-25)
    T = var(p_q) + mean(s2_q (1 - 1/k_q)) = D + E  total variance: both

var() divides by N, as NOISE does, so that the printed `se_*` are those of published tables. It makes D too small on
average, E[D] = D (1 - 1/N) - E/(kN); what builds on D (plans, chances of a wrong order) takes `unbiased_data`. T is
known from one generation per question; E and D need two for some question, and where some have one only, E comes from
the others, assuming that counts do not depend on the answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from howsure.errors import InputError
from howsure.stats.core import intervals
from howsure.stats.core.cells import Cells, FloatArray, IntArray, Strata, drop_rounding, mean_where
from howsure.stats.core.claims import (
    BASIC_METHODS,
    INTERVAL_METHODS,
    Claim,
    IntervalMethod,
    check_choice,
    check_claim,
    check_level,
)
from howsure.stats.core.intervals import Interval
from howsure.stats.core.results import Columns, Result, RowNotes, join_notes, make_columns, notes
from howsure.stats.core.strata import average_strata, split_strata
from howsure.stats.scores.clusters import (
    IN_CLUSTERS,
    ONE_CLUSTER,
    WITHOUT_CLUSTERS,
    ClusteredVariance,
    cluster_means,
    df_of_skewed,
)
from howsure.stats.scores.prediction_noise import sampling_df
from howsure.stats.scores.score_intervals import SCORE_INTERVALS, clopper_pearson

__all__ = [
    "FEW_QUESTIONS",
    "NO_END",
    "ONE_QUESTION",
    "Scores",
    "SingleRunErrors",
    "describe_generations",
    "estimate_single_run_errors",
    "score",
    "unbiased_data",
]

_PUBLISHED = ("plain", "plugin")
#: Note on clusters whose means are equal though their questions differ.
_EQUAL_CLUSTERS = "the clusters have equal means: no interval, because they do not say how far others may be from them"
#: Notes on strata of which a mean is.
ONE_QUESTION = "a stratum has one question: its error is unknown, and with it that of the mean"
_SINGLE_ANSWERS = "one generation per question of a stratum: data and prediction noise cannot be separated"
#: The same of means over strata.
_EQUAL_STRATA = "the strata have equal means: no interval, because they do not say how far others may be from them"
_FLAT_STRATA = "no variation was seen within strata: no interval"
#: What scores a method needs, after the note that it has no interval for others.
SCORES_NEEDED = {
    **dict.fromkeys(("wilson", "exact"), ": it needs one generation per question, scored 0 or 1"),
    "bayesian-bootstrap": ": it needs scores in [0, 1]",
}
#: New questions below which a note on t and Wilson's interval of graded scores says that kinds of them may be missing.
FEWEST_QUESTIONS = 50
FEW_QUESTIONS = "few questions: the interval may be too narrow, as kinds of question may be missing"
#: A question has few generations where half of the questions have so many times as many or more.
_FEW_GENERATIONS = 4
#: Note on them where the error would be larger by this factor if they varied most.
_LARGER_ERROR = 1.25
#: Beginning of the note on graded scores that do not reach an end, where the interval is wider than that of t by this
#: factor or more because they may.
NO_END = "if no question can score"
_WIDER_BY_ENDS = 1.1


@dataclass(frozen=True, eq=False)
class Scores(Result):
    """Scores of M models on one benchmark. All arrays have shape (M,).

    Attributes
    ----------
    n_questions, n_generations, n_missing
        Questions with a score, scored generations over all of them, and questions of the benchmark without a score.
    score
        Mean over questions of the mean over generations.
    variance
        Squared standard error of `score` under `claim`.
    prediction, data, total
        E, D (not clipped) and T above; NaN where unknown.
    df
        Degrees of freedom of `variance`, where they are not n_questions - 1: of sampling for the claim
        "these-questions", Satterthwaite's (`cluster_means`) for the others where questions come in clusters.
    n_clusters
        Clusters with a scored question, where questions come in clusters.
    cells
        What was scored: intervals that need more than the standard error go back to it.
    reasons
        Why something is NaN or should be read with care, '' if nothing.
    judge_error
        What a judge's verdicts add to the standard error, where it gave several on a completion; a part of `variance`.
    n_equal
        Of means over strata, the number of questions of equal weight that are worth as much.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2", "q3", "q4"], [[[1, 0], [1, 1], [0, 0], [1, 1]]])
    >>> result = score(cells, method="t")
    >>> between = result.interval(0.9)
    >>> between.low.round(3).tolist(), between.high.round(3).tolist()
    ([0.062], [1.0])
    """

    benchmark: str
    models: tuple[str, ...]
    n_questions: IntArray
    n_generations: IntArray
    n_missing: IntArray
    score: FloatArray
    variance: FloatArray
    prediction: FloatArray
    data: FloatArray
    total: FloatArray
    claim: Claim
    unit: bool
    cells: Cells = field(repr=False)
    df: FloatArray | None = None
    n_clusters: IntArray | None = None
    level: float = 0.95
    method: IntervalMethod | None = None
    reasons: tuple[str, ...] = field(default=(), repr=False)
    judge_error: FloatArray | None = None
    n_equal: FloatArray | None = None

    @cached_property
    def data_share(self) -> FloatArray:
        """Share of `variance` that more generations of these questions cannot remove, in [0, 1]; NaN where unknown.

        1 - SE^2("these-questions") / SE^2: data noise of the score over its squared standard error.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            sampling = score(self.cells, claim="these-questions").variance  # clusters are in the rest
            share: FloatArray = np.clip(1 - sampling / self.variance, 0, 1)
        return share

    @property
    def score_bound(self) -> FloatArray:
        """Score if every unread answer were right, shape (M,); NaN where at most `MOST_UNPARSED` are unread.

        NaN, too, for scores outside [0, 1], of which a right answer has no known score.
        """
        is_known = self.cells.is_bounded & self.unit
        return np.where(is_known, self.score + self.cells.unparsed_share, np.nan)

    def interval(self, level: float | None = None) -> Interval:
        """Interval for each score at a level in (0, 1)."""
        level = self.level if level is None else level
        method = self.method or self._default_method()
        df = self.df
        if method == "wilson-effective" and self.n_clusters is not None and df is not None:
            df = np.fmin(df, df_of_skewed(self.cells.mean, self.cells.clusters))
        # With clusters, df + 1 is the number of clusters of equal size with the same information.
        n = self.n_questions if self.n_clusters is None or self.df is None else self.df + 1
        between = intervals.interval(
            self.score,
            np.sqrt(self.variance),
            n if self.n_equal is None else self.n_equal,
            level=level,
            method=method if method in BASIC_METHODS else "clt" if method in _PUBLISHED else "t",
            df=df,
            bounds=(0.0, 1.0) if self.unit else None,
        )
        if method not in SCORE_INTERVALS:
            return self._narrow(between) if self.method is None else between
        low, high = SCORE_INTERVALS[method](self.cells, level)
        none = np.full(len(low), np.nan)
        return replace(
            between, low=low, high=high, method=np.full(len(low), method), flat=np.zeros(len(low), bool), df=none
        )

    def _narrow(self, between: Interval) -> Interval:
        """Return the exact interval of binomial answers in place of a wider one, of these questions scored 0 or 1.

        A sum of right answers of different probabilities varies less than a binomial one (Hoeffding 1956). Questions
        with more generations than others count with as many as the fewest of any, which errs to the safe side. Where
        all are always right or always wrong, and both occur, each counts with one: its generations may be copies.
        One generation per question has this interval although it has no standard error.
        """
        is_binomial = self.claim == "these-questions" and self.cells.binary and self.cells.strata is None
        if not is_binomial or self.judge_error is not None:
            return between
        fewest = np.min(self.cells.n, axis=1, where=self.cells.answered, initial=np.iinfo(self.cells.n.dtype).max)
        fewest = np.where((self.variance == 0) & (self.score > 0) & (self.score < 1), 1, fewest)
        n = np.where(self.n_questions > 0, self.n_questions * fewest.astype(float), np.nan)
        low, high = clopper_pearson(self.score * n, n, between.level)
        is_exact = (high - low < between.high - between.low) | (np.isnan(between.low) & ~np.isnan(low))
        return replace(
            between,
            low=np.where(is_exact, low, between.low),
            high=np.where(is_exact, high, between.high),
            method=np.where(is_exact, "exact", between.method),
            flat=between.flat & ~is_exact,
            df=np.where(is_exact, np.nan, between.df),
        )

    def _default_method(self) -> IntervalMethod:
        """Return the Bayesian bootstrap for new questions and scores in [0, 1], or wilson-effective, otherwise t."""
        if self.claim == "new-benchmarks":
            return "t"
        is_plain = self.n_clusters is None and self.cells.strata is None
        if self.unit and self.claim == "new-questions" and is_plain:
            return "bayesian-bootstrap"
        return "wilson-effective" if self.unit else "t"

    def _note_ends(self, between: Interval) -> list[str]:
        """Return notes with t's limits, where graded scores do not reach an end and the interval is wider for it."""
        texts = [""] * len(self.models)
        if self.method is not None or self.cells.binary or self._default_method() != "bayesian-bootstrap":
            return texts
        by_t = intervals.interval(
            self.score, np.sqrt(self.variance), self.n_questions, level=between.level, bounds=(0.0, 1.0)
        )
        least, largest = (
            self.cells.mean if extreme is None else extreme for extreme in (self.cells.minimum, self.cells.maximum)
        )
        is_wider = between.high - between.low >= _WIDER_BY_ENDS * (by_t.high - by_t.low)  # False for NaN
        for i in np.flatnonzero(is_wider):
            there = self.cells.answered[i]
            ends = {"0": np.any(least[i][there] <= 0), "1": np.any(largest[i][there] >= 1)}
            missing = " or ".join(end for end, is_reached in ends.items() if not is_reached)
            if missing:
                texts[i] = f"{NO_END} {missing}, t has {by_t.low[i]:.4f} to {by_t.high[i]:.4f}"
        return texts

    def columns(self) -> Columns:
        """Return one row per model, the best first."""
        best_first = np.argsort(-np.nan_to_num(self.score, nan=-np.inf), kind="stable")
        between = self.interval()
        N = np.where(self.n_questions > 0, self.n_questions, np.nan)
        lost = np.isnan(between.low) & ~np.isnan(self.variance) & ~between.flat
        is_varied = (self.n_clusters is not None) & (self.total > 0)
        is_stratified = self.cells.strata is not None and self.claim != "these-questions"
        missing = notes(
            {
                (_EQUAL_STRATA if self.claim == "new-benchmarks" else _FLAT_STRATA): between.flat & is_stratified,
                "no variation was seen: no interval": between.flat & ~is_varied & (not is_stratified),
                _EQUAL_CLUSTERS: between.flat & is_varied,
                f"no interval by {self.method} for such scores{SCORES_NEEDED.get(self.method or '', '')}": lost,
                intervals.FEW_DF: intervals.is_few_df(between),
            }
        )
        all_notes = join_notes(self.reasons, missing, self._note_ends(between))
        columns: Columns = make_columns(
            len(self.models),
            benchmark=self.benchmark,
            model=self.models,
            n_questions=self.n_questions,
            n_generations=self.n_generations,
            score=self.score,
            score_bound=self.score_bound,
            unparsed=self.cells.unparsed_share,
            se=np.sqrt(self.variance),
            low=between.low,
            high=between.high,
            level=between.level,
            claim=self.claim,
            se_total=np.sqrt(self.total / N),
            se_data=np.sqrt(np.maximum(self.data, 0) / N),
            se_prediction=np.sqrt(self.prediction / N),
            **({} if self.judge_error is None else {"se_judge": self.judge_error}),
            n_missing=self.n_missing,
            method=between.method,
            df=between.df,
            note=all_notes,
        )
        return {name: values[best_first] for name, values in columns.items()}


def score(
    cells: Cells,
    *,
    claim: Claim = "new-questions",
    level: float = 0.95,
    method: IntervalMethod | None = None,
) -> Scores:
    """Score each model, with the standard error of a claim and the components of the noise.

    Parameters
    ----------
    cells
        M models on N questions; questions may differ in their number of generations and may be missing.
    claim
        What the standard error is about, one of `CLAIMS`: the expected score on new questions, on these very questions,
        or the score of a single run.
    level
        Coverage of the interval in (0, 1).
    method
        Method of the interval, one of `INTERVAL_METHODS`. None: for scores in [0, 1] ``"bayesian-bootstrap"`` of new
        questions without clusters, else ``"wilson-effective"``, or where it is narrower, of these questions scored 0
        or 1, ``"exact"`` for as many binomial answers; for other scores ``"t"``. The errors come from the unbiased
        components above, but for two methods: ``"plain"`` leaves out the correction for few generations, as NOISE's
        published model tables do; ``"plugin"`` is GEN eq. (2)-(3), which counts the prediction variance twice (1.13x
        too large at k = 5). These two use the CLT interval.

    Returns
    -------
    Scores
        One row per model, the best first.

    Raises
    ------
    InputError
        When a name or the level is not allowed, or the method does not apply to these data, claim or clusters.

    Notes
    -----
    The squared standard error of the score is var(p_q)/N for new questions, sum_q s2_q/k_q / N^2 for these questions,
    and T/N for a single run; with clusters, that of `cluster_means` takes the place of var(p_q)/N.

    References
    ----------
    NOISE eq. (22)-(25). GEN eq. (2)-(3). Miller (2024), Adding error bars to evals. Korn and Graubard (1998), Survey
    Methodology 24, for the effective sample size. Hoeffding (1956), Ann. Math. Statist. 27, and Clopper and Pearson
    (1934) for the exact interval of these questions. Rubin (1981), Ann. Statist. 9, for the Bayesian bootstrap.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2", "q3", "q4"], [[[1, 0], [1, 1], [0, 0], [1, 1]]])
    >>> result = score(cells)
    >>> result.score.tolist(), np.sqrt(result.variance).round(3).tolist(), result.prediction.round(3).tolist()
    ([0.625], [0.207], [0.125])
    """
    check_claim(claim, average=None if cells.strata is None else cells.strata.average, where=cells.benchmark)
    check_level(level)
    if method is not None:
        check_choice("method", method, INTERVAL_METHODS)
    if method in (*SCORE_INTERVALS, *_PUBLISHED) and (cells.clusters is not None or cells.strata is not None):
        what = f"method {method!r} does not know {'clusters' if cells.strata is None else 'means over strata'}"
        raise InputError(what, where=cells.benchmark, remedy="use 'clt' or 't'")
    if cells.strata is not None:
        return _score_strata(cells, cells.strata, claim, level, method)
    if method in SCORE_INTERVALS and claim != "new-questions":
        raise InputError(
            f"method {method!r} makes the claim 'new-questions' only", where=cells.benchmark, remedy="use 'clt' or 't'"
        )
    counts = np.sum(cells.answered, axis=1)
    noise = {"plain": _plain, "plugin": _plugin}.get(method or "", _unbiased)(cells)
    per_question = {"new-questions": noise.between, "these-questions": noise.mean_error, "single-run": noise.total}[
        claim
    ]
    df = sampling_df(cells.within / np.maximum(cells.n, 1), cells.n) if claim == "these-questions" else None
    clustered: ClusteredVariance | None = None
    if cells.clusters is not None and claim != "these-questions":
        clustered = cluster_means(cells.mean, cells.clusters)
        # Sampling is independent from question to question: only the spread over questions comes in clusters.
        per_question, df = per_question - noise.between + clustered.variance, clustered.df
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = per_question / counts
    return Scores(
        benchmark=cells.benchmark,
        models=cells.models,
        n_questions=counts,
        n_generations=np.sum(cells.n, axis=1),
        n_missing=len(cells.questions) - counts,
        score=mean_where(cells.mean, cells.answered),
        variance=variance,
        df=df,
        prediction=noise.prediction,
        data=noise.data,
        total=noise.total,
        claim=claim,
        unit=cells.unit,
        cells=cells,
        n_clusters=None if clustered is None else clustered.n_clusters,
        level=level,
        method=method,
        reasons=tuple(_reasons(cells, noise, claim, method, clustered)),
    )


def _score_strata(cells: Cells, strata: Strata, claim: Claim, level: float, method: IntervalMethod | None) -> Scores:
    """Return scores that are means over strata, with unbiased variances within them; see `core.strata`."""
    parts = list(split_strata(cells))
    scored = [score(part, claim="new-questions" if claim == "new-benchmarks" else claim) for part in parts]
    names = ("n_questions", "score", "variance", "prediction", "data", "total")
    n, means, variance, E, D, T = (np.array([getattr(one, name) for one in scored]) for name in names)
    counts = np.sum(n, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bias = np.array([_variance_of_means(part, ddof=1) for part in parts]) / n  # of a variance that divides by n
        if claim != "these-questions" and cells.clusters is None:
            variance = variance + bias / n
        df = np.array([n_s - 1 if one.df is None else one.df for n_s, one in zip(n, scored, strict=True)])
        averaged = average_strata(strata.average, claim, n, means, variance, df)
        noise = [
            counts * np.sum(np.where(n > 0, averaged.weight**2 * each / n, 0), axis=0)
            for each in (E, D + bias, T + bias)
        ]
        # what Jeffreys' posterior of answers that are all right or all wrong adds; a tenth is 5 % of the error
        unseen = averaged.weight**2 * (n + 0.5) / (2 * (n + 1) ** 2 * (n + 2)) * ((variance == 0) & cells.unit)
        is_small = np.sum(unseen, axis=0) > 0.1 * averaged.variance
    has_all = np.all(n > 0, axis=0)
    remarks = notes(
        {
            "no variation was seen in some strata: the error may be too small": has_all
            & is_small
            & (averaged.variance > 0)
            & (claim in {"new-questions", "single-run"}),
            "no mean: the model has no score in some of the strata": ~has_all & (counts > 0),
            ONE_QUESTION: has_all & np.any(n == 1, axis=0) & (claim in {"new-questions", "single-run"}),
            _SINGLE_ANSWERS: has_all & np.any(np.isnan(E), axis=0) & np.any(cells.n > 1, axis=1),
            IN_CLUSTERS: has_all & (cells.clusters is not None) & (claim not in {"these-questions", "new-benchmarks"}),
        }
    )
    E, D, T = (np.where(has_all, each, np.nan) for each in noise)
    reasons = _reasons(cells, _Noise(E, D, T, E, T), claim, method or "t", None)
    return Scores(
        benchmark=cells.benchmark,
        models=cells.models,
        n_questions=counts,
        n_generations=np.sum(cells.n, axis=1),
        n_missing=len(cells.questions) - counts,
        score=cells.average_questions(),
        variance=np.where(has_all, averaged.variance, np.nan),
        prediction=E,
        data=D,
        total=T,
        claim=claim,
        unit=cells.unit,
        cells=cells,
        df=np.where(has_all, averaged.df, np.nan),
        level=level,
        method=method,
        reasons=tuple(join_notes(reasons, remarks).tolist()),
        n_equal=averaged.n_equal,
    )


def unbiased_data(data: ArrayLike, variance: ArrayLike, n_questions: ArrayLike) -> FloatArray:
    """Return the data variance without the bias of a variance over questions that divides by N.

    Parameters
    ----------
    data
        D = var(p_q) - mean(s2_q/k_q) of a score, or of a difference with d_q in place of p_q; any shape.
    variance
        var(p_q), which divides by N.
    n_questions
        N; the result is NaN below 2.

    Returns
    -------
    D + var(p_q)/(N - 1) = var(p_q) N/(N - 1) - mean(s2_q/k_q).

    Notes
    -----
    E[D] = D (1 - 1/N) - E/(kN) becomes D for any counts that do not depend on the answers. For pairs of close models
    with 20 to 30 questions and 2 generations each, D is 7 to 11 % too small.

    Examples
    --------
    >>> unbiased_data(0.04, 0.06, 31).item()
    0.042
    """
    N = np.asarray(n_questions, float)
    unbiased: FloatArray = np.asarray(data, float) + np.asarray(variance, float) / np.where(N > 1, N - 1, np.nan)
    return unbiased


class SingleRunErrors(NamedTuple):
    """Standard errors of a run with one generation per question, and its parts; arrays of shape (M,)."""

    data: FloatArray
    """What drawing the questions adds."""
    prediction: FloatArray
    """What sampling an answer adds."""
    total: FloatArray


def estimate_single_run_errors(cells: Cells) -> SingleRunErrors:
    """Estimate the standard error of a run with one generation per question, and its parts, without bias.

    Parameters
    ----------
    cells
        Results of M models.

    Returns
    -------
    SingleRunErrors
        NaN where a part is unknown: with one generation of each question data and prediction noise cannot be told
        apart, and the total is the standard deviation of the scores over the root of N.

    Notes
    -----
    With p_q the mean, s2_q the unbiased variance and k_q the number of the scores of question q, N questions:
    E = mean s2_q, D = sum (p_q - mean p)^2/(N - 1) - mean(s2_q/k_q), at least 0. The errors are sqrt(D/N), sqrt(E/N)
    and sqrt((D + E)/N).

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["m"], ["a", "b", "c", "d"], [[[1, 0], [1, 1], [0, 0], [1, 1]]])
    >>> [round(part.item() ** 2 * 4, 4) for part in estimate_single_run_errors(cells)]
    [0.1667, 0.125, 0.2917]
    """
    result = score(cells)
    N = result.n_questions.astype(float)
    between = result.variance * N
    data = unbiased_data(result.data, between, N)
    has_repeats = np.any(cells.n > 1, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        data_noise = np.where(np.isnan(data), np.nan, np.maximum(data, 0))
        total = np.where(has_repeats, data_noise + result.prediction, between * N / np.where(N > 1, N - 1, np.nan))
        return SingleRunErrors(*(np.sqrt(variance / N) for variance in (data_noise, result.prediction, total)))


class _Noise(NamedTuple):
    """Variances per question, shape (M,)."""

    prediction: FloatArray  # E
    data: FloatArray  # D
    total: FloatArray  # T
    mean_error: FloatArray  # mean s2_q / k_q: what sampling adds to the variance of the question means
    between: FloatArray  # variance of the question means: N times the squared error of the mean over new questions


def _variance_of_means(cells: Cells, ddof: int) -> FloatArray:
    """Return the variance of the question means, shape (M,); NaN for fewer than two questions."""
    center = mean_where(cells.mean, cells.answered)
    square = np.sum((cells.mean - center[:, None]) ** 2, axis=1, where=cells.answered)
    N = np.sum(cells.answered, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(N > 1, drop_rounding(square, N, center) / (N - ddof), np.nan)


def _unbiased(cells: Cells) -> _Noise:
    """Return the unbiased components, and var(p_q), which divides by N."""
    s2, several = cells.within, cells.n > 1
    k = np.maximum(cells.n, 1)
    E = mean_where(s2, several)
    between = _variance_of_means(cells, ddof=0)
    mean_error = mean_where(np.where(several, s2, E[:, None]) / k, cells.answered)
    # T = var(p_q) + mean s2_q (1 - 1/k_q); the last term is 0 where k_q = 1
    T = between + mean_where(np.where(several, s2, 0) * (1 - 1 / k), cells.answered)
    return _Noise(E, between - mean_error, T, mean_error, between)


def _plain(cells: Cells) -> _Noise:
    """Return the components without correction for few generations, as in NOISE's published model tables."""
    k = np.maximum(cells.n, 1)
    biased = np.where(cells.n > 1, cells.within, 0) * (k - 1) / k  # p (1 - p) for scores of 0 and 1
    E = mean_where(biased, cells.answered)
    D = _variance_of_means(cells, ddof=0)
    return _Noise(E, D, D + E, mean_where(biased / k, cells.answered), D)


def _plugin(cells: Cells) -> _Noise:
    """Return the plug-in components of GEN eq. (2)-(3)."""
    if not cells.binary:
        raise InputError(
            "method 'plugin' needs scores of 0 and 1", where=cells.benchmark, remedy="leave the method out"
        )
    k = np.max(cells.n, axis=1, initial=0)
    if np.any(cells.answered & (cells.n != k[:, None])):
        raise InputError(
            "method 'plugin' needs as many generations of each question",
            where=cells.benchmark,
            remedy="leave the method out",
        )
    mu = mean_where(cells.mean, cells.answered)
    D = _variance_of_means(cells, ddof=1)  # GEN's sigma^2
    E = mu - mu**2 - D
    # Where generations hardly differ, E is below 0 by up to mu (1 - mu)/(N - 1); of one generation there is no split.
    several = np.where(k > 1, 1, np.nan)
    part = several * np.maximum(E, 0)
    return _Noise(part, several * D, D + E, part / k, D + E / k)


def describe_generations(n: int) -> str:
    """Return a number of generations with its noun.

    >>> describe_generations(1), describe_generations(20)
    ('1 generation', '20 generations')
    """
    return f"{n} generation" if n == 1 else f"{n} generations"


def _describe_unseen_variation(cells: Cells, noise: _Noise, i: int) -> str:
    """Return the note on questions of model i with few generations, which may vary more than these show, or "".

    A question counts where the generations of another half are `_FEW_GENERATIONS` times as many or more, and its own
    are one or all alike. If it varied most, its mean had the variance 1/(4 k_q).
    """
    n, s2 = cells.n[i][cells.answered[i]], cells.within[i][cells.answered[i]]
    if not cells.unit or not np.any(n > 1):
        return ""
    median = np.median(n)
    unseen = (n * _FEW_GENERATIONS <= median) & ((n == 1) | (s2 == 0))
    if not np.any(unseen):
        return ""
    k = n[unseen]
    included = np.where(k == 1, noise.prediction[i], 0) / k
    square = noise.mean_error[i] * len(n)
    largest = square + np.sum(np.maximum(0.25 / k - included, 0))
    if largest <= _LARGER_ERROR**2 * square:
        return ""
    most, error = describe_generations(int(k.max())), f"{math.sqrt(largest) / len(n):#.2g}"
    others = f"where half of all have {math.ceil(median):,} or more"
    if len(k) == 1:
        return f"1 question has {most} {others}, and was not seen to vary: if it varies, the error may be {error}"
    which = f"{len(k):,} questions have {most} or fewer"
    return f"{which} {others}, and were not seen to vary: if they vary, the error may be {error}"


def _reasons(
    cells: Cells, noise: _Noise, claim: Claim, method: IntervalMethod | None, clustered: ClusteredVariance | None
) -> Iterator[str]:
    """Yield the note of each model."""
    several = np.sum(cells.n > 1, axis=1)
    answered = np.sum(cells.answered, axis=1)
    common = []
    if claim == "these-questions" and cells.clusters is not None:
        common.append(WITHOUT_CLUSTERS)
    is_of_others = claim == "new-questions" and clustered is None
    is_bootstrap = is_of_others and cells.unit and method in {None, "bayesian-bootstrap"}
    counters = [("unparsed, scored 0", cells.unparsed), ("without a score, left out", cells.failed)]
    for i, model in enumerate(cells.models):
        conditions = {
            "no scores": answered[i] == 0,
            "one question: the spread over questions is unknown": answered[i] == 1,
            "one generation per question: data and prediction noise cannot be separated": several[i] == 0 < answered[i],
            f"prediction noise from {several[i]} of {answered[i]} questions": 0 < several[i] < answered[i]
            and not np.isnan(noise.prediction[i]),
            FEW_QUESTIONS: claim != "these-questions"
            and clustered is None
            and not (cells.binary or is_bootstrap)
            and 1 < answered[i] < FEWEST_QUESTIONS,
            "the plug-in prediction noise is below 0, so that the data noise is more than the total": noise.data[i]
            > (1 + 1e-12) * noise.total[i],
        }
        if claim == "these-questions" and cells.strata is None:
            conditions[_describe_unseen_variation(cells, noise, i)] = True
        if clustered is not None:
            conditions |= {
                ONE_CLUSTER: clustered.n_clusters[i] == 1 < answered[i],
                IN_CLUSTERS: clustered.n_clusters[i] > 1,
            }
        conditions |= {
            f"{describe_generations(counts[i].sum())} {what}": bool(counts[i].any())
            for what, counts in counters
            if counts is not None
        }
        n_variants = cells.count_variants(model)  # a model may lack some
        conditions[f"averaged over {n_variants} prompt variants, whose noise is not in the error"] = n_variants > 1
        yield RowNotes(*(text for text, holds in conditions.items() if holds), *common)
