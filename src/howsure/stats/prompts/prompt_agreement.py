"""Agreement over prompts: of the order of models (Kendall's W), and of the answers of a model (consistency rate).

Kendall's W, with r_is the rank of model i of M under variant s of S (mean ranks for ties), R_i its sum over variants
and T_s = sum (t^3 - t) over the groups of t tied models:

    W = (12 sum R_i^2 - 3 S^2 M (M + 1)^2) / (S^2 M (M^2 - 1) - S sum T_s)
    mean rank correlation of two variants = (S W - 1)/(S - 1)

W is 1/S on average where the variants order the models at random. The mean rank correlation is then 0, for any S.

Consistency rate of a question: the share of pairs of prompts that give the same answer, with several generations the
probability that one generation of each does: the mean over s < t of sum_a p_sa p_ta. An answer that could not be parsed
is equal to no other.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.intervals import Interval, Limits, interval
from howsure.stats.core.results import Conditions, Result

__all__ = ["Concordance", "PromptConsistency", "VariantAnswers", "estimate_concordance", "estimate_prompt_consistency"]


@dataclass(frozen=True, eq=False)
class Concordance(Result):
    """Kendall's W of the order of M models under S prompt variants.

    Attributes
    ----------
    benchmark, models
        Name of the benchmark, and M names.
    ranks
        Rank of each model under each variant in which all models have a score, shape (M, S); 1 is the best.
    level
        Default level of the interval.

    Examples
    --------
    >>> scores = [[0.9, 0.8, 0.9], [0.7, 0.7, 0.5], [0.6, 0.75, 0.4]]
    >>> result = estimate_concordance("demo", ("a", "b", "c"), scores)
    >>> round(result.kendall_w, 2), round(result.mean_correlation, 2)
    (0.78, 0.67)
    """

    benchmark: str
    models: tuple[str, ...]
    ranks: FloatArray = field(repr=False)
    level: float = 0.95

    @property
    def kendall_w(self) -> float:
        """W, corrected for ties; NaN where there are fewer than two models or variants, or all models are tied."""
        return float(_kendall_w(self.ranks.sum(axis=1), _count_ties(self.ranks).sum(), self.ranks.shape[1]))

    @property
    def mean_correlation(self) -> float:
        """Mean of Spearman's rank correlation over pairs of variants, corrected for ties as W is."""
        return float(_mean_correlation(self.kendall_w, self.ranks.shape[1]))

    @property
    def p_value(self) -> float:
        """p-value of "the models are ordered at random under each variant".

        Of two models the exact sign test over the variants that order them; of more the F approximation of Kendall and
        Babington Smith (1939).
        """
        M, S = self.ranks.shape
        df = M - 1 - 2 / S if S else np.nan
        w = self.kendall_w
        if not df > 0 or not S > 1 or np.isnan(w):
            return np.nan
        if M == 2:
            first, second = (int(np.sum(self.ranks[i] < self.ranks[1 - i])) for i in (0, 1))
            least, n = min(first, second), first + second
            return 1.0 if 2 * least == n else float(2 * special.betainc(n - least, least + 1, 0.5))
        if w == 1:  # every variant has the order of the first
            return float(np.exp(-(S - 1) * special.gammaln(M + 1)))
        return float(special.fdtrc(df, (S - 1) * df, (S - 1) * w / (1 - w)))

    def interval(self, level: float | None = None) -> Limits:
        """Return the interval of W for new variants at a level in (0, 1); None: that of the result.

        Notes
        -----
        Student's t with S - 1 degrees of freedom and the jackknife over variants of the mean rank correlation, on the
        scale of Fisher's z. NaN for two variants, and where all variants, or all but one, give the same order.
        """
        level = self.level if level is None else level
        S = self.ranks.shape[1]
        center, nan = self.mean_correlation, np.array([np.nan])
        if S < 3 or np.isnan(center):
            return Limits(nan, nan, level)
        with np.errstate(divide="ignore"):
            each, middle = np.arctanh(self._leave_each_out()), float(np.arctanh(center))
        if not np.isfinite(middle) or not np.all(np.isfinite(each)):
            return Limits(nan, nan, level)
        se = float(np.sqrt((S - 1) / S * np.sum((each - each.mean()) ** 2)))
        between = interval([middle], [se], S, level=level, df=S - 1)
        low, high = (np.clip((1 + (S - 1) * np.tanh(end)) / S, 0, 1) for end in (between.low, between.high))
        return Limits(low, high, level)

    def _leave_each_out(self) -> FloatArray:
        """Return the mean rank correlation of the other variants without each one, shape (S,)."""
        ties, S = _count_ties(self.ranks), self.ranks.shape[1]
        w = _kendall_w(self.ranks.sum(axis=1, keepdims=True) - self.ranks, ties.sum() - ties, S - 1)
        return _mean_correlation(w, S - 1)

    declared = (
        "benchmark n_models=ranks.shape.0 n_variants=ranks.shape.1 kendall_w low=interval.low high=interval.high "
        "mean_correlation p_value level note=_reasons.notes"
    )

    def _reasons(self) -> Conditions:
        M, S = self.ranks.shape
        w, one = self.kendall_w, np.ones(1, dtype=bool)
        unknown = np.isnan(self.interval().low) & (M > 1) & (S > 1)
        # without one variant all others agree
        all_but_one = unknown & (S > 2) & (w < 1) & bool(np.any(self._leave_each_out() == 1))
        return {
            "fewer than two models": one & (M < 2),
            "fewer than two variants in which all models have a score": one & (S < 2),
            "all variants tie all models: no order": unknown & np.isnan(w),
            "all variants give the same order: no interval": unknown & (w == 1),
            "all variants but one give the same order: no interval": all_but_one,
            "two variants: no interval": unknown & (S == 2) & (w < 1),
            "too few different orders for an interval": unknown & (S > 2) & (w < 1) & ~all_but_one,
        }


def estimate_concordance(
    benchmark: str, models: tuple[str, ...], scores: ArrayLike, *, level: float = 0.95
) -> Concordance:
    """Estimate how far prompt variants agree on the order of the models.

    Parameters
    ----------
    benchmark, models
        Name of the benchmark, and M names.
    scores
        Score of each model under each variant, shape (M, S), NaN where missing; variants in which a model has no score
        are left out.
    level
        Level of the interval, in (0, 1).

    Returns
    -------
    Concordance

    References
    ----------
    Kendall, M. G. and Babington Smith, B. (1939), The problem of m rankings, Ann. Math. Statist. 10. Mizrahi, M. et al.
    (2024), State of what art? A call for multi-prompt LLM evaluation, section 4, for models and prompts.

    Examples
    --------
    >>> estimate_concordance("demo", ("a", "b", "c"), [[0.9, 0.8, 0.9], [0.7, 0.7, 0.5], [0.6, 0.75, 0.4]]).kendall_w
    0.7777777777777778
    """
    x = np.atleast_2d(np.asarray(scores, float))
    if len(x) != len(models):
        raise InputError(f"scores have shape {x.shape} for {len(models)} models", where="estimate_concordance")
    complete = x[:, ~np.any(np.isnan(x), axis=0)]
    return Concordance(benchmark, tuple(models), _rank_models(complete), level)


def _rank_models(scores: FloatArray) -> FloatArray:
    """Return the rank of each model in each variant, 1 for the best, shape (M, S); of tied models their mean rank."""
    # The import of scipy.stats takes longer than a whole command without it.
    rounded = scores.round(12)  # scores that differ by rounding only are ties
    better = np.sum(rounded[None, :, :] > rounded[:, None, :], axis=1)
    tied = np.sum(rounded[None, :, :] == rounded[:, None, :], axis=1)
    return np.asarray(better + (tied + 1) / 2, float)


def _count_ties(ranks: FloatArray) -> FloatArray:
    """Return the sum of t^3 - t over the groups of tied models of each variant, shape (S,)."""
    sizes = np.sum(ranks[:, None, :] == ranks[None, :, :], axis=1)  # of the group of each model
    return np.asarray(np.sum(sizes**2 - 1, axis=0), float)


def _kendall_w(rank_sums: FloatArray, ties: ArrayLike, n_variants: int) -> FloatArray:
    """Return W of rank sums (M, ...) over a number of variants; NaN where it is undefined."""
    M, S = rank_sums.shape[0], n_variants
    numerator = 12 * np.sum(rank_sums**2, axis=0) - 3 * S**2 * M * (M + 1) ** 2
    denominator = S**2 * M * (M**2 - 1) - S * np.asarray(ties, float)
    positive = (denominator > 0) & (S > 1)
    return np.asarray(np.where(positive, numerator / np.where(positive, denominator, 1), np.nan))


def _mean_correlation(w: ArrayLike, n_variants: int) -> FloatArray:
    """Return the mean rank correlation of pairs of variants."""
    return np.asarray((n_variants * np.asarray(w) - 1) / (n_variants - 1) if n_variants > 1 else np.nan)


@dataclass(frozen=True, eq=False)
class VariantAnswers:
    """Counts of the answers of M models to N questions under S prompt variants; one entry for each that occurs.

    Attributes
    ----------
    benchmark, models, questions, variants
        Names.
    n
        Generations of each cell, those without a parsed answer included, shape (M, N, S).
    model, question, variant, answer
        Indices of each entry, shape (C,); equal answers to a question have the same index. Entries are unique.
    count
        Generations of each entry, shape (C,).

    Examples
    --------
    >>> n = np.ones((1, 1, 2), dtype=int)  # one model, one question, two variants: the same answer
    >>> place = np.zeros(2, int), np.zeros(2, int), np.array([0, 1])
    >>> answers = VariantAnswers("demo", ("a",), ("p",), ("1", "2"), n, *place, np.zeros(2, int), np.ones(2, int))
    >>> answers.n.sum().item(), answers.answer.tolist()
    (2, [0, 0])
    """

    benchmark: str
    models: tuple[str, ...]
    questions: tuple[str, ...]
    variants: tuple[str, ...]
    n: IntArray = field(repr=False)
    model: IntArray = field(repr=False)
    question: IntArray = field(repr=False)
    variant: IntArray = field(repr=False)
    answer: IntArray = field(repr=False)
    count: IntArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class PromptConsistency(Result):
    """Consistency of the answers of M models over prompt variants; arrays have shape (M,).

    Attributes
    ----------
    benchmark, models
        Names.
    n_questions, n_variants
        Questions that were answered under two variants or more, and variants with an answer.
    rate, se, df
        Consistency rate, its standard error for new questions and new variants, and its degrees of freedom.
    same_prompt
        Probability that two generations under the same variant give the same answer; NaN from one generation per cell.
    unanimous
        Share of the questions to which all generations under all variants give the same answer.
    level
        Default level of the interval.

    Examples
    --------
    >>> n = np.ones((1, 1, 2), dtype=int)  # one model, one question, two variants: the same answer
    >>> place = np.zeros(2, int), np.zeros(2, int), np.array([0, 1])
    >>> answers = VariantAnswers("demo", ("a",), ("p",), ("1", "2"), n, *place, np.zeros(2, int), np.ones(2, int))
    >>> result = estimate_prompt_consistency(answers)
    >>> result.rate.tolist(), result.unanimous.tolist()
    ([1.0], [1.0])
    """

    benchmark: str
    models: tuple[str, ...]
    n_questions: IntArray
    n_variants: IntArray
    rate: FloatArray
    se: FloatArray
    df: FloatArray
    same_prompt: FloatArray
    unanimous: FloatArray
    level: float = 0.95

    def interval(self, level: float | None = None) -> Interval:
        """Return the interval of each rate at a level in (0, 1); None: that of the result."""
        level = self.level if level is None else level
        return interval(
            self.rate, self.se, self.df + 1, level=level, method="wilson-effective", df=self.df, bounds=(0, 1)
        )

    declared = (
        "benchmark model=models n_questions n_variants consistency_rate=rate low=interval.low high=interval.high "
        "same_prompt unanimous level note=_reasons.notes"
    )

    def _reasons(self) -> Conditions:
        return {
            "no question was answered under two variants": self.n_questions == 0,
            "one generation per prompt: what sampling again changes is unknown": (self.n_questions > 0)
            & np.isnan(self.same_prompt),
        }


def estimate_prompt_consistency(answers: VariantAnswers, *, level: float = 0.95) -> PromptConsistency:
    """Estimate how often two prompt variants give the same answer to a question.

    Parameters
    ----------
    answers
        Counts of the answers of M models to N questions under S variants. Answers that could not be parsed agree with
        no other.
    level
        Level of the intervals, in (0, 1).

    Returns
    -------
    PromptConsistency

    Notes
    -----
    The squared error is the sum of the variance over questions and of the jackknife over variants of the rate, a mean
    over pairs of variants; its degrees of freedom are Satterthwaite's.

    References
    ----------
    Nalbandyan, G. et al. (2025), SCORE: systematic consistency and robustness evaluation for large language models,
    section 3, for the consistency rate. Efron, B. and Stein, C. (1981), The jackknife estimate of variance, Ann.
    Statist. 9.

    Examples
    --------
    >>> one = np.ones((1, 2, 3), dtype=int)  # one model, two questions, three variants: A, A, B and C, C, C
    >>> place = np.zeros(6, int), np.repeat([0, 1], 3), np.tile([0, 1, 2], 2)
    >>> answers = VariantAnswers("demo", ("a",), ("p", "q"), ("1", "2", "3"), one, *place, np.array([0, 0, 1, 2, 2, 2]),
    ...                          np.ones(6, dtype=int))
    >>> estimate_prompt_consistency(answers).rate.round(3).tolist()
    [0.667]
    """
    M, N, S = answers.n.shape
    cell = (answers.model * N + answers.question) * S + answers.variant
    n = answers.n.ravel()[cell]
    share = answers.count / n
    # sum over variants of the shares of each answer, at each entry
    _, same = np.unique(np.stack([answers.model, answers.question, answers.answer]), axis=1, return_inverse=True)
    total = np.bincount(same.ravel(), share)[same.ravel()] if len(share) else share
    with_others = np.bincount(cell, share * (total - share), M * N * S).reshape(M, N, S)
    present = answers.n > 0
    n_variants = present.sum(axis=2)
    several = n_variants > 1
    with np.errstate(invalid="ignore", divide="ignore"):
        agreement = np.where(present & several[:, :, None], with_others / (n_variants - 1)[:, :, None], np.nan)
        repeated = np.bincount(cell, answers.count * (answers.count - 1) / (n * (n - 1)), M * N * S).reshape(M, N, S)
        same_prompt = _mean_of(_mean_of(np.where(answers.n > 1, repeated, np.nan), axis=2), axis=1)
    by_question = _mean_of(agreement, axis=2)
    n_questions = several.sum(axis=1)
    rate = _mean_of(by_question, axis=1)
    # all generations of a question are those of one answer
    largest = np.zeros((M, N), dtype=np.int64)
    if len(share):
        np.maximum.at(
            largest,
            (answers.model, answers.question),
            np.bincount(same.ravel(), answers.count)[same.ravel()].astype(int),
        )
    unanimous = _mean_of(np.where(several, largest == answers.n.sum(axis=2), np.nan), axis=1)
    question_part = _variance_of(by_question) / np.maximum(n_questions, 1)
    by_variant = _mean_of(agreement, axis=1)
    used = np.sum(~np.isnan(by_variant), axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        # leaving out variant s changes the mean over pairs by 2/(S - 2) of its distance from the mean
        jackknife = (used - 1) / used * (2 / (used - 2)) ** 2 * _variance_of(by_variant) * (used - 1)
        variant_part = np.where(used > 2, jackknife, np.nan)
        square = question_part + variant_part
        df = square**2 / (question_part**2 / (n_questions - 1) + variant_part**2 / (used - 1))
    return PromptConsistency(
        answers.benchmark,
        answers.models,
        n_questions,
        used,
        rate,
        np.sqrt(square),
        np.where(square > 0, df, used - 1),
        same_prompt,
        unanimous,
        level,
    )


def _mean_of(values: FloatArray, *, axis: int) -> FloatArray:
    """Return the mean of the values that are not NaN; NaN where there is none."""
    present = ~np.isnan(values)
    count = present.sum(axis=axis)
    mean: FloatArray = np.sum(values, axis=axis, where=present) / np.where(count > 0, count, np.nan)
    return mean


def _variance_of(values: NDArray[np.float64]) -> FloatArray:
    """Return the variance (ddof 1) of the values of each row that are not NaN; NaN where there are fewer than two."""
    present = ~np.isnan(values)
    count = present.sum(axis=1)
    off = np.where(present, values - _mean_of(values, axis=1)[:, None], 0)
    variance: FloatArray = np.sum(off**2, axis=1) / np.where(count > 1, count - 1, np.nan)
    return variance
