"""Scores of models that answered some questions, estimated with other models' answers to all of them.

The answers of the other models show which questions are hard. With U the N questions of the reference, S the n of them
that a model was asked, y_q its mean on question q and f_q what a regression of y on factors of the other models'
question means predicts, the borrowed score is the answers on S, the predictions elsewhere, and a correction for the
predictions:

    score = (1/N) [ sum_S y_q + sum_{U - S} f_q + (N - n) mean_S e_q ],      e_q = y_q - f_q without question q

This is the generalised regression estimator (GREG; Cochran 1977, ch. 7; Särndal, Swensson and Wretman 1992), or
prediction-powered inference (Angelopoulos et al. 2023), in its leave-one-out form: e_q comes from the regression on the
other n - 1 questions, and f_q outside S is the mean of these n regressions. No answer helps to predict itself, and for
any fixed penalty the score is exactly unbiased over random draws of S. With s2_q, k_q as in score.py,

    these questions    Var = (1/n - 1/N) var(e_q) + (1/N) mean(s2_q / k_q)
    new questions      Var = (1/n - 1/N) var(e_q) + (1/N) var(y_q)

where var(e_q) divides by n - 1 less the effective number of coefficients, and var(y_q) by n - 1. The first term is the
variance from the questions without an answer; the second remains when all N are answered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats import comparisons
from howsure.stats import scores as scoring
from howsure.stats.borrowing.factors import (
    ReferenceModels,
    align_questions,
    estimate_mean,
    estimate_sampling_error,
)
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import (
    BASIC_METHODS,
    TEST_METHODS,
    BasicMethod,
    Claim,
    DifferenceMethod,
    IntervalMethod,
    MeanClaim,
    TestMethod,
    check_choice,
    check_level,
    check_mean_claim,
)
from howsure.stats.core.intervals import Interval, compute_normal_score, interval
from howsure.stats.core.results import Columns, Result, RowNotes, join_notes, read_columns

__all__ = [
    "BorrowedDifference",
    "BorrowedScores",
    "compare",
    "score",
]


@dataclass(frozen=True, eq=False)
class BorrowedScores(Result):
    """Scores of M models on one benchmark, estimated with a reference; arrays of shape (M,).

    Attributes
    ----------
    plain
        The plain scores of the same answers, on new questions; its `cells` have the N questions of the reference.
    score, variance
        Borrowed score and its squared standard error under `claim`; the plain ones where nothing was borrowed.
    variance_plain
        Squared standard error of the plain score under the same claim.
    df
        Degrees of freedom of `variance`.
    n_reference
        Reference models that each row borrows from; 0 where it does not borrow.
    claim, level, method
        As they were given to `score`.
    reasons
        What each row is to be read with.

    Examples
    --------
    >>> names = [f"q{i}" for i in range(60)]
    >>> others = [[[float(i * 7 % 60 < 10 * m)] for i in range(60)] for m in range(6)]
    >>> reference = Cells.from_scores("demo", [f"m{m}" for m in range(6)], names, others)
    >>> new = Cells.from_scores("demo", ["new"], names[::2], [[[float(i * 7 % 60 < 25)] for i in range(0, 60, 2)]])
    >>> result = score(new, reference)
    >>> result.n_reference.tolist(), bool(result.variance[0] < result.variance_plain[0])
    ([6], True)
    """

    plain: scoring.Scores
    score: FloatArray
    variance: FloatArray
    variance_plain: FloatArray
    df: FloatArray
    n_reference: IntArray
    claim: MeanClaim
    level: float
    method: BasicMethod | None
    reasons: NDArray[np.object_]

    def interval(self, level: float | None = None) -> Interval:
        """Return the interval of each score at a level in (0, 1).

        wilson-effective for scores in [0, 1], with at least n questions in effect; else Student's t. Where nothing was
        borrowed and the claim is about new questions, that of the plain score.
        """
        level = self.level if level is None else level
        unit, n, se = self.plain.unit, self.plain.n_questions, np.sqrt(self.variance)
        method = self.method or ("wilson-effective" if unit else "t")
        if method == "wilson-effective":
            # An estimate near 0 or 1 does not make n answers worth less than n.
            se = np.minimum(se, np.sqrt(self.score * (1 - self.score) / np.maximum(n - 1, 1)))
        bounds = (0.0, 1.0) if unit else None
        between = interval(self.score, se, n, level=level, method=method, df=self.df, bounds=bounds)
        borrows = (self.n_reference > 0) | np.isnan(self.variance)
        if self.claim != "new-questions" or borrows.all():
            return between
        own = replace(self.plain, method=self.method).interval(level)
        names = ("low", "high", "method", "statistic", "p_value", "flat", "df")
        return replace(
            between, **{name: np.where(borrows, getattr(between, name), getattr(own, name)) for name in names}
        )

    declared = "score se=variance.sqrt low=interval.low high=interval.high claim method=interval.method df=interval.df"

    def columns(self) -> Columns:
        """Return one row per model, the best first: the columns of `Scores`, then those of the borrowing."""
        order = np.argsort(-np.nan_to_num(self.score, nan=-np.inf), kind="stable")
        # Of the plain interval only its notes are shown: the quickest method will do.
        quick = self.method or ("wilson-effective" if self.plain.unit else "t")
        plain = replace(self.plain, level=self.level, method=quick).columns()
        at = [plain["model"].tolist().index(self.plain.models[i]) for i in order]
        plain = {name: values[at] for name, values in plain.items()}
        return _columns(self, plain, "score", order)


@dataclass(frozen=True, eq=False)
class BorrowedDifference(Result):
    """Difference of two models, estimated with a reference; arrays of shape (1,).

    Attributes
    ----------
    plain
        The plain comparison on the questions that both answered, for new questions.
    difference, variance
        Borrowed difference and its squared standard error under `claim`; the plain ones where nothing was borrowed.
    unit_variance
        What the interval adds to `variance`: see `compare`.
    variance_plain, df, n_reference, claim, level, method, reasons
        As in `BorrowedScores`.

    Examples
    --------
    >>> names = [f"q{i}" for i in range(60)]
    >>> others = [[[float(i * 7 % 60 < 10 * m)] for i in range(60)] for m in range(6)]
    >>> reference = Cells.from_scores("demo", [f"m{m}" for m in range(6)], names, others)
    >>> a, b = ([[float(i * 7 % 60 < limit)] for i in range(60)] for limit in (25, 35))
    >>> new = Cells.from_scores("demo", ["a", "b"], names, [[*a[:30], *([] for _ in range(30))], b])
    >>> result = compare(new, "a", "b", reference)
    >>> result.difference.round(2).tolist(), result.n_reference.tolist()
    ([-0.14], [7])
    """

    plain: comparisons.Comparison
    difference: FloatArray
    variance: FloatArray
    variance_plain: FloatArray
    unit_variance: FloatArray
    df: FloatArray
    n_reference: IntArray
    claim: MeanClaim
    level: float
    method: TestMethod | None
    reasons: NDArray[np.object_]

    @property
    def _is_plain(self) -> bool:
        """Whether the interval is that of the plain difference: nothing was borrowed, and the claim is the same."""
        has_error = not np.any(np.isnan(self.variance_plain))
        return has_error and self.claim == "new-questions" and not np.any(self.n_reference > 0)

    @property
    def detectable(self) -> FloatArray:
        """Smallest true difference found with power `POWER` by the test of the interval, shape (1,); else NaN.

        (t_{1 - alpha/2} + t_power) sqrt(variance + unit_variance), with normal quantiles for the method ``"clt"``.
        """
        if self._is_plain:
            return replace(self.plain, method=self.method, level=self.level).detectable
        tails = (1 + self.level) / 2, comparisons.POWER
        quantiles = sum(special.ndtri(p) if self.method == "clt" else special.stdtrit(self.df, p) for p in tails)
        return np.asarray(np.where(self.variance > 0, quantiles * np.sqrt(self.variance + self.unit_variance), np.nan))

    def interval(self, level: float | None = None) -> Interval:
        """Return Student's t interval at a level in (0, 1), or the normal one.

        Where nothing was borrowed and the claim is about new questions, that of the plain difference.
        """
        if self._is_plain:
            return replace(self.plain, method=self.method).interval(self.level if level is None else level)
        return interval(
            self.difference,
            np.sqrt(self.variance + self.unit_variance),
            self.plain.n_questions,
            level=self.level if level is None else level,
            method=self.method or "t",
            df=self.df,
            bounds=(-1.0, 1.0) if self.plain.unit else None,
        )

    declared = (
        "difference se=variance.sqrt low=interval.low high=interval.high z=_z p_value=interval.p_value detectable "
        "method=interval.method df=interval.df"
    )

    def _z(self) -> FloatArray:
        """Return the normal score of the difference; NaN without variance."""
        return np.where(self.variance > 0, compute_normal_score(self.interval()), np.nan)

    def columns(self) -> Columns:
        """Return one row: the columns of `Comparison`, then those of the borrowing."""
        return _columns(self, self.plain.columns(), "difference", np.array([0]))


def _columns(result: BorrowedScores | BorrowedDifference, plain: Columns, what: str, order: IntArray) -> Columns:
    """Return the plain columns with those of the result instead, and the plain estimate beside the borrowed one."""
    columns = {name: values for name, values in plain.items() if name != "note"}
    return columns | {
        **read_columns(result, result.declared, [order]),
        f"{what}_plain": plain[what],
        "se_plain": np.sqrt(result.variance_plain)[order],
        "n_reference": result.n_reference[order],
        "n_all": np.full(len(order), len(result.plain.cells.questions)),
        "note": join_notes(result.reasons[order], plain["note"]),
    }


def score(
    cells: Cells,
    reference: Cells,
    *,
    claim: Claim = "new-questions",
    level: float = 0.95,
    method: IntervalMethod | None = None,
) -> BorrowedScores:
    """Score models that answered n questions with the help of reference models that answered all N.

    Parameters
    ----------
    cells
        The models to score. Answers to questions that are not in the reference are left out, and the note says so.
    reference
        Other models on all N questions of the benchmark: at least `FEWEST_MODELS` that answered half of them or more.
        A scored model with the same name is left out of the reference for its own row, and the note says so.
    claim
        ``"new-questions"``: the expected score on new questions like the N of the reference, which adds the variance
        over such sets of N. ``"these-questions"``: the expected score on the N questions of the reference, not on the n
        answered ones.
    level
        Level of the printed interval.
    method
        None, or one of `BASIC_METHODS`. None: wilson-effective for scores in [0, 1], Student's t for others, and
        for rows that borrow nothing the default of `scoring.score`.

    Notes
    -----
    It is assumed that the n questions are a random subset of the N, or at least that their choice does not depend on
    the answers of the scored models. Where they are the first n of the reference, or easier or harder for the
    reference models than a random subset would be (p < .01), the note says so, and there is no interval.

    A row keeps its plain score, and the note says so, where fewer than `FEWEST_QUESTIONS` questions were answered,
    where all N were, or where fewer than `FEWEST_MODELS` reference models are left without the model itself. With one
    generation per question the prediction variance is unknown, and the error for these questions is an upper bound.

    Never rank the models of the reference by borrowed scores: each would borrow from the others.

    Measured on five published benchmarks with 30 to 83 other models (bench/designs/borrow.py), n = 50 to 200: the
    squared error is 1.4 to 2.2 times smaller than the plain score's at k = 1 and 2.7 to 3.1 times at k = 5, and 95 %
    intervals cover .94 to 1. A model unlike all others loses 2 % at n = 50 and about 4 % at n = 30. With five reference
    models of one generation each, 1.2 to 1.7 and 1.7 to 2.2 are left. Where fewer than one right answer is expected
    among the n, at scores of .003 and .01 with n = 50, intervals cover .84 and .92 only.

    Raises
    ------
    InputError
        When the reference has fewer than `FEWEST_MODELS` models, or none of the questions that were answered.

    References
    ----------
    Cochran 1977, Sampling Techniques, ch. 7; Särndal, Swensson and Wretman 1992, Model Assisted Survey Sampling, ch. 6;
    Angelopoulos et al. 2023, Prediction-powered inference.

    Examples
    --------
    >>> names = [f"q{i}" for i in range(60)]
    >>> others = [[[float(i * 7 % 60 < 10 * m)] for i in range(60)] for m in range(6)]
    >>> reference = Cells.from_scores("demo", [f"m{m}" for m in range(6)], names, others)
    >>> new = Cells.from_scores("demo", ["new"], names[:30], [[[float(i * 7 % 60 < 25)] for i in range(30)]])
    >>> row = score(new, reference).columns()
    >>> row["score"].round(3).tolist(), row["score_plain"].round(3).tolist()
    ([0.448], [0.5])
    """
    checked = check_mean_claim(claim, where="borrow")
    check_level(level)
    if method is not None and method not in BASIC_METHODS:
        raise InputError(
            f"method {method!r} does not go with borrow",
            where=cells.benchmark,
            remedy=f"leave the method out, or use one of {', '.join(BASIC_METHODS)}",
        )
    basic = None if method is None else check_choice("method", method, BASIC_METHODS)
    source, aligned = ReferenceModels(reference), align_questions(cells, reference)
    plain = scoring.score(aligned, claim="new-questions", level=level, method=basic)
    sampling = estimate_sampling_error(aligned)
    estimates = []
    for i, model in enumerate(aligned.models):
        rows = np.flatnonzero(aligned.answered[i])
        error = float(np.mean(sampling[i, rows])) if len(rows) else np.nan
        estimates.append(estimate_mean(source, (model,), rows, aligned.mean[i, rows], error, checked))
    value, variance, variance_plain, df = (np.array([one[j] for one in estimates]) for j in range(4))
    if claim == "new-questions":
        variance_plain = plain.variance
        if plain.df is not None:
            # What questions of a cluster have in common is left open by all N as it is by the n.
            variance = variance + plain.variance - scoring.score(replace(aligned, clusters=None)).variance
            df = np.fmin(df, plain.df)
    borrows = np.array([one.n_models > 0 for one in estimates], dtype=bool)
    variance_plain = np.where([one.is_random for one in estimates], variance_plain, np.nan)
    lost = np.sum(cells.answered, axis=1) - plain.n_questions
    return BorrowedScores(
        plain=plain,
        score=np.where(borrows, np.clip(value, 0, 1) if plain.unit else value, plain.score),
        variance=np.where(borrows & ~np.isnan(variance_plain), variance, variance_plain),
        variance_plain=variance_plain,
        df=df,
        n_reference=np.array([one.n_models for one in estimates], dtype=np.int64),
        claim=checked,
        level=level,
        method=basic,
        reasons=np.array(
            [RowNotes(one.note, _lost(n)) for one, n in zip(estimates, lost.tolist(), strict=True)], dtype=object
        ),
    )


def compare(
    cells: Cells,
    a: str,
    b: str,
    reference: Cells,
    *,
    claim: Claim = "new-questions",
    level: float = 0.95,
    method: DifferenceMethod | None = None,
) -> BorrowedDifference:
    """Compare two models on the questions that both answered, with the help of reference models.

    Parameters
    ----------
    cells, reference, claim, level
        As in `score`; both models are left out of the reference.
    a, b
        Names of two models; the difference is a - b.
    method
        Of the interval: None or ``"t"`` for Student's t, ``"clt"`` for the normal one.

    Notes
    -----
    The regression is of the paired differences of the question means. Where one of the two answered all N questions and
    the other did not, its own mean over the N is known, and the regression is of the other one's answers, with the
    known model among the reference models. The interval has the variance of two pseudo-questions
    added, so that models which hardly differ do not get an interval that is too narrow, or none.

    Two models of about the same score that were asked the same n questions gain nothing (.98 to 1.05 in squared error,
    n = 100): difficulty is gone from their differences already. Where one has all N, it is 1.7 to 2.6 times smaller.

    Examples
    --------
    >>> names = [f"q{i}" for i in range(60)]
    >>> others = [[[float(i * 7 % 60 < 10 * m)] for i in range(60)] for m in range(6)]
    >>> reference = Cells.from_scores("demo", [f"m{m}" for m in range(6)], names, others)
    >>> a, b = ([[float(i * 7 % 60 < limit)] for i in range(60)] for limit in (25, 35))
    >>> new = Cells.from_scores("demo", ["a", "b"], names, [[*a[:30], *([] for _ in range(30))], b])
    >>> row = compare(new, "a", "b", reference).columns()             # b answered all, a the first 30
    >>> row["difference"].round(3).tolist(), row["difference_plain"].round(3).tolist()
    ([-0.137], [-0.133])
    """
    test = None if method is None else check_choice("method", method, TEST_METHODS)
    checked = check_mean_claim(claim, where="borrow")
    check_level(level)
    if a == b:
        raise InputError(f"a and b are both {a!r}", where="compare", remedy="name two models")
    aligned = align_questions(cells.select([a, b]), reference)
    plain = comparisons.compare(aligned, a, b, level=level, method=test)
    common = np.flatnonzero(aligned.answered.all(axis=0))
    difference = (aligned.mean[0] - aligned.mean[1])[common]
    sampling = estimate_sampling_error(aligned)
    has_all = np.all(aligned.answered, axis=1)
    if has_all[0] != has_all[1]:
        # The mean of one over all N questions is known: only the other one is predicted.
        complete, new = (0, 1) if has_all[0] else (1, 0)
        if aligned.models[complete] not in reference.models:
            reference = reference + replace(
                aligned.select([aligned.models[complete]]), benchmark=reference.benchmark, clusters=reference.clusters
            )
        error = float(np.mean(sampling[new, common]) + np.mean(sampling[complete]))
        one = estimate_mean(
            ReferenceModels(reference),
            (aligned.models[new],),
            common,
            aligned.mean[new, common],
            error,
            checked,
            difference,
        )
        sign = 1 if new == 0 else -1
        value = sign * (one.value - aligned.mean[complete].mean())
    else:
        error = float(np.mean(np.sum(sampling, axis=0)[common])) if len(common) else np.nan
        one = estimate_mean(ReferenceModels(reference), (a, b), common, difference, error, checked)
        value = one.value
    variance, variance_plain, df = one.variance, one.variance_plain, one.df
    if claim == "new-questions":
        variance_plain = float(plain.variance[0])
        if plain.df is not None:
            unclustered = comparisons.compare(replace(aligned, clusters=None), a, b)
            variance += variance_plain - float(unclustered.variance[0])
            df = min(df, float(plain.df[0]))
    borrows = one.n_models > 0
    if not one.is_random:
        variance = variance_plain = np.nan
    lost = int(np.sum(cells.select([a, b]).answered.all(axis=0))) - len(common)
    return BorrowedDifference(
        plain=plain,
        difference=np.array([value]) if borrows else plain.difference,
        variance=np.array([variance if borrows else variance_plain]),
        variance_plain=np.array([variance_plain]),
        unit_variance=_unit_variance(plain, len(common)),
        df=np.array([df]),
        n_reference=np.array([one.n_models]),
        claim=checked,
        level=level,
        method=test,
        reasons=np.array([RowNotes(one.note, _lost(lost), _PLAIN_SCORES if borrows else "")], dtype=object),
    )


def _unit_variance(plain: comparisons.Comparison, n: int) -> FloatArray:
    """Return the variance that two pseudo-questions add to that of a difference on n questions."""
    if n < 2 or not plain.cells.binary:
        return np.zeros(1)
    return plain.pseudo_size * 2 / ((n + 2) * (n + 1))


#: Note on a borrowed difference.
_PLAIN_SCORES = "score_a and score_b are of the questions that both answered, the difference is of all of the reference"


def _lost(n: int) -> str:
    """Return a note on answered questions that are not in the reference, '' if there are none."""
    return f"{n} answered questions are not in the reference: left out" if n else ""
