r"""Scores as people would have given them, from a judge's scores of all completions and people's scores of a sample.

With the judge's score f_i and, for the completions that were drawn with probability pi_i, a person's score y_i:

``ppi``          prediction-powered estimate with a tuned weight (PPI++, Angelopoulos et al. 2023, arXiv 2311.01453):

    theta(w) = mean(y; labelled) + w (mean(f; all) - mean(f; labelled))

where means over labelled completions are weighted by 1/pi_i, and the weight w in [0, 1] of the judge is the one with
the smallest variance. w = 1 is prediction-powered inference, w = 0 the mean of the labels.
``labels``       w = 0: the labels alone.
``rogan-gladen`` (mean(f) + specificity - 1)/(sensitivity + specificity - 1), with the judge's sensitivity and
                 specificity over the labels of all models together (Rogan and Gladen 1978): for judges that err alike
                 on every model, which `examine_judge` examines.
``raw``          the judge's score as it is.

All means are over questions of means over completions. theta is linear in sums over questions, so its variance is that
of the mean of one term per question, or per cluster (`cluster_means`); completions of one question may depend on each
other. Completions whose score is known without a judge (refusals) are a stratum of their own, without labels: f and y
are those of the other completions, which have the share C of the score, and theta = mean(known) + C theta(others).
The interval adds two pseudo-labels on which the judge errs by -1 and +1, as `adjusted_t` does for differences:
where the judge never erred in n labels, it may still err in one of n (three of n are within reach of 95 %). Labels that
were drawn unevenly leave more unseen: n is 1 / the part of the score for which the heaviest label stands, or for which
verdicts stand that no label has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.claims import CALIBRATION_METHODS, CalibrationMethod, check_choice, check_level
from howsure.stats.core.intervals import Limits
from howsure.stats.core.results import Result, RowNotes, RowPlaces
from howsure.stats.judges.labelled_completions import FEWEST_LABELS, JudgedCompletions, ModelRows
from howsure.stats.scores.clusters import cluster_means, cluster_residuals
from howsure.stats.scores.score_intervals import clopper_pearson

__all__ = [
    "CalibratedDifference",
    "CalibratedScores",
    "JudgeAccuracy",
    "calibrate",
    "calibrate_difference",
    "measure_accuracy",
]


class _Terms(NamedTuple):
    """An estimate as a mean over questions: of `fixed` + w `judge`, each of shape (N,)."""

    fixed: FloatArray
    judge: FloatArray
    clusters: np.ndarray[tuple[int, ...], np.dtype[np.object_]]
    n_labelled: int
    """Clusters with a labelled completion."""
    effective: float
    """Labels drawn alike that would leave as much unseen (`ModelRows.effective_labels`)."""
    share: float
    """Share of the score for which the labels stand: that of completions whose score is not known."""


class _Estimate(NamedTuple):
    """An estimate with its standard error, degrees of freedom and the weight of the judge."""

    value: float
    se: float
    df: float
    weight: float


_UNKNOWN = _Estimate(np.nan, np.nan, np.nan, np.nan)


@dataclass(frozen=True, eq=False)
class JudgeAccuracy:
    """How often a judge agrees with people, over the labels of all models; shares weighted by inclusion.

    Attributes
    ----------
    sensitivity, specificity
        Share judged right of those that people score right, and judged wrong of those that people score wrong; NaN
        where people scored none so, or where scores are not in [0, 1].
    n_labels
        Labels of 0 or 1, which are those that count.
    n_between
        Labels between 0 and 1, such as means of people who differ; they are left out.
    right_size, wrong_size
        Effective numbers of labels behind sensitivity and specificity; NaN where unknown.

    Examples
    --------
    >>> JudgeAccuracy(0.9, 0.8, 20).informative
    True
    """

    sensitivity: float
    specificity: float
    n_labels: int
    n_between: int = 0
    right_size: float = np.nan
    wrong_size: float = np.nan

    @property
    def informative(self) -> bool:
        """Whether the judge says right more often of what people score right than of what they score wrong."""
        return self.sensitivity + self.specificity > 1

    def interval(self, level: float) -> Limits:
        """Return the intervals of sensitivity and specificity; low and high have shape (2,).

        Parameters
        ----------
        level
            Coverage of each interval in (0, 1).

        Notes
        -----
        The interval of Clopper and Pearson for n p of n labels, where n = (sum w)^2 / sum over clusters (sum w)^2 with
        the weights w = 1/inclusion. Labels that are drawn alike and are of different questions count in full; those of
        one cluster (one question, without clusters) count as one, since a judge may err on all of them. It is exact for
        a judge's scores of 0 and 1 that count alike, and rather too wide for graded ones, which vary less.

        References
        ----------
        Clopper and Pearson (1934), Biometrika 26. Kish (1965), Survey Sampling, for the effective number.

        Examples
        --------
        >>> JudgeAccuracy(1.0, 0.5, 5, right_size=3, wrong_size=2).interval(0.95).low.round(3).tolist()
        [0.292, 0.013]
        """
        sizes = np.array([self.right_size, self.wrong_size], dtype=float)
        low, high = clopper_pearson(np.array([self.sensitivity, self.specificity]) * sizes, sizes, level)
        return Limits(low, high, level)

    def describe(self, level: float) -> str:
        """Return a clause on how often the judge agrees with people, with intervals; empty where nothing is known.

        Parameters
        ----------
        level
            Coverage of each interval in (0, 1).

        Examples
        --------
        >>> JudgeAccuracy(1.0, np.nan, 3, right_size=3).describe(0.95)
        'the judge says right of 1.000 [0.292, 1.000] of what people score right'
        """
        limits = self.interval(level)
        clauses = [
            f"{word} of {share:.3f} [{low:.3f}, {high:.3f}] of what people score {word}"
            for word, share, low, high in zip(
                ("right", "wrong"), (self.sensitivity, self.specificity), limits.low, limits.high, strict=True
            )
            if not np.isnan(share)
        ]
        return f"the judge says {', and '.join(clauses)}" if clauses else ""


@dataclass(frozen=True, eq=False)
class CalibratedScores(Result):
    """Scores of M models corrected by people's labels; arrays have shape (M,).

    Attributes
    ----------
    judge_score
        The judge's own score.
    score, se, df
        The corrected score, its standard error and degrees of freedom; NaN where unknown.
    judge_weight
        Weight of the judge in the estimate, from 0 (only the labels count) to 1.
    n_questions, n_completions, n_labels
        Questions and completions with a score by the judge or known without it, and those that the judge and a person
        scored.
    accuracy
        Agreement of the judge with people over the labels of all models.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> right = (rng.random(400) < 0.6).astype(float)
    >>> judged = np.where(rng.random(400) < 0.1, 1 - right, right)
    >>> labels = np.where(np.arange(400) < 100, right, np.nan)
    >>> names = tuple(map(str, range(400)))
    >>> data = JudgedCompletions("demo", ("a",), names, np.zeros(400), np.arange(400), judged, labels)
    >>> result = calibrate(data)
    >>> result["n_labels"].tolist(), bool(result["low"][0] < right.mean() < result["high"][0])
    ([100], True)
    """

    benchmark: str
    models: tuple[str, ...]
    judge_score: FloatArray
    score: FloatArray
    se: FloatArray
    df: FloatArray
    judge_weight: FloatArray
    n_questions: IntArray
    n_completions: IntArray
    n_labels: IntArray
    method: CalibrationMethod
    accuracy: JudgeAccuracy
    unit: bool
    level: float = 0.95
    reasons: tuple[str, ...] = field(default=(), repr=False)

    def interval(self, level: float | None = None) -> Limits:
        """Interval of each score at a level in (0, 1)."""
        level = self.level if level is None else level
        return _limits(self.score, self.se, self.df, level, (0.0, 1.0) if self.unit else None)

    declared = (
        "benchmark model=models n_questions n_completions n_labels judge_score score se low=interval.low "
        "high=interval.high level judge_weight method df note=_note"
    )

    @property
    def _note(self) -> NDArray[np.object_]:
        """Notes on each row."""
        return np.array(self.reasons or [""] * len(self.models), dtype=object)

    def _rows(self) -> RowPlaces:
        return [np.argsort(-np.nan_to_num(self.score, nan=-np.inf), kind="stable")]


@dataclass(frozen=True, eq=False)
class CalibratedDifference(Result):
    """The difference of two models as people would have scored them, paired on the questions that both answered.

    Examples
    --------
    >>> data = JudgedCompletions("demo", ("a", "b"), ("p", "q"), [0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 1], [np.nan] * 4)
    >>> calibrate_difference(data, "a", "b", method="raw")["difference"].tolist()
    [0.5]
    """

    benchmark: str
    model_a: str
    model_b: str
    judge_difference: float
    difference: float
    se: float
    df: float
    judge_weight: float
    n_questions: int
    n_labels_a: int
    n_labels_b: int
    method: CalibrationMethod
    unit: bool
    level: float = 0.95
    reason: str = field(default="", repr=False)

    def interval(self, level: float | None = None) -> Limits:
        """Interval of the difference at a level in (0, 1)."""
        level = self.level if level is None else level
        bounds = (-1.0, 1.0) if self.unit else None
        return _limits(np.array([self.difference]), np.array([self.se]), np.array([self.df]), level, bounds)

    declared = (
        "benchmark model_a model_b n_questions n_labels_a n_labels_b judge_difference difference se "
        "low=interval.low high=interval.high level p_value=_p_value judge_weight method df note=reason"
    )

    def _p_value(self) -> float:
        """Two-sided p-value of t."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(2 * special.stdtr(self.df, -abs(np.float64(self.difference) / self.se)))


def calibrate(
    data: JudgedCompletions, *, method: CalibrationMethod = "ppi", level: float = 0.95, weight: float | None = None
) -> CalibratedScores:
    """Estimate what people would have scored all completions of each model, from the judge and a labelled sample.

    Parameters
    ----------
    data
        Completions with the judge's scores, and people's scores of some of them.
    method
        One of `CALIBRATION_METHODS`.
    level
        Coverage of the interval in (0, 1).
    weight
        Weight of the judge for the method ``"ppi"``, from 0 to 1; None for the one with the smallest variance.

    Returns
    -------
    CalibratedScores
        One row per model, the best first. The claim is about new questions like these.

    Raises
    ------
    InputError
        When an argument is not allowed, or ``"rogan-gladen"`` is given scores that are not 0 and 1.

    Notes
    -----
    With the terms t_q of `_ppi_terms`, the squared standard error is that of their mean over clusters (CR2), times
    n/(n - 1), or n/(n - 2) with a tuned weight, for n labelled clusters, plus 2 C^2/((m + 2)(m + 1)) for the two
    pseudo-labels, for the share C of the score that is not known without a judge, and m = n where labels were drawn
    alike, else less (`ModelRows.effective_labels`). The degrees of freedom are n - 1 or
    n - 2, times the squared share by which the pseudo-labels raise the variance.

    References
    ----------
    Angelopoulos, Duchi and Zrnic (2023), PPI++: efficient prediction-powered inference, arXiv 2311.01453, eq. (4)-(6).
    Rogan and Gladen (1978), American Journal of Epidemiology 107. Bonett and Price (2012), for the pseudo-labels.

    Examples
    --------
    >>> data = JudgedCompletions(
    ...     "demo", ("a",), tuple("pqrstu"), [0] * 6, range(6), [1, 1, 1, 0, 0, 1], [1, 0, 1, 0] + [np.nan] * 2
    ... )
    >>> result = calibrate(data, weight=1.0)
    >>> result["judge_score"].round(3).tolist(), result["score"].round(3).tolist()  # 4/6, less the error of 1 in 4
    ([0.667], [0.417])
    """
    check_choice("method", method, CALIBRATION_METHODS)
    check_level(level)
    if weight is not None and not 0 <= weight <= 1:
        raise InputError(f"weight is {weight:g}", where=data.benchmark, remedy="allowed: from 0 to 1")
    unit = data.is_unit
    rows = [data.select(i) for i in range(len(data.models))]
    if method == "rogan-gladen":
        _require_binary(data)
        estimates = [_rogan_gladen(data, [one], [1]) for one in rows]
    elif method == "raw":
        estimates = [_estimate_raw(one.sum_by_question(one.judged), one.clusters.tolist()) for one in rows]
    else:
        fixed, spread = 0.0 if method == "labels" else weight, data.largest_error
        estimates = [_estimate([_ppi_terms(one)], fixed, spread=spread) for one in rows]
    values = np.array(estimates, dtype=float).reshape(-1, 4)
    accuracy = measure_accuracy(data)
    return CalibratedScores(
        data.benchmark,
        data.models,
        np.array([_mean(one.sum_by_question(one.judged)) for one in rows]),
        values[:, 0],
        values[:, 1],
        values[:, 2],
        values[:, 3],
        n_questions=np.array([len(one.questions) for one in rows], dtype=np.int64),
        n_completions=np.array([len(one.place) for one in rows], dtype=np.int64),
        n_labels=data.n_labels,
        method=method,
        accuracy=accuracy,
        unit=unit,
        level=level,
        reasons=tuple(_reasons(data, range(len(data.models)), values[:, 1].tolist(), method, accuracy)),
    )


def calibrate_difference(
    data: JudgedCompletions,
    a: str,
    b: str,
    *,
    method: CalibrationMethod = "ppi",
    level: float = 0.95,
    weight: float | None = None,
) -> CalibratedDifference:
    """Estimate the difference a - b that people would have found, paired on the questions that both answered.

    Parameters
    ----------
    data, method, level, weight
        As for `calibrate`; one weight of the judge is tuned for the difference. The labelled completions of the two
        models need not be on the same questions.
    a, b
        Names of the models.

    Returns
    -------
    CalibratedDifference
        One row.

    Raises
    ------
    UnknownNameError
        When there is no such model.
    InputError
        When an argument is not allowed, or no question was answered by both.

    References
    ----------
    Angelopoulos, Duchi and Zrnic (2023), arXiv 2311.01453.

    Examples
    --------
    >>> data = JudgedCompletions(
    ...     "demo", ("a", "b"), tuple("pqr"), [0] * 3 + [1] * 3, [0, 1, 2] * 2, [1, 1, 0, 0, 1, 0], [1, 1, 0, 0, 1, 0]
    ... )
    >>> calibrate_difference(data, "a", "b")["difference"].round(3).tolist()
    [0.333]
    """
    check_choice("method", method, CALIBRATION_METHODS)
    check_level(level)
    for name in (a, b):
        if name not in data.models:
            raise UnknownNameError("model", name, data.models, where=data.benchmark)
    one, other = (data.models.index(name) for name in (a, b))
    common = np.intersect1d(data.select(one).questions, data.select(other).questions)
    if not len(common):
        raise InputError(f"no question was judged for both {a!r} and {b!r}", where=data.benchmark)
    rows = [data.select(i, common) for i in (one, other)]
    if method == "rogan-gladen":
        _require_binary(data)
        estimate = _rogan_gladen(data, rows, [1, -1])
    elif method == "raw":
        means = [one.sum_by_question(one.judged) for one in rows]
        estimate = _estimate_raw(means[0] - means[1], rows[0].clusters.tolist())
    else:
        fixed = 0.0 if method == "labels" else weight
        estimate = _estimate(list(map(_ppi_terms, rows)), fixed, spread=data.largest_error)
    n_labels = [int(np.sum(one.sampling > 0)) for one in rows]
    judged = [_mean(one.sum_by_question(one.judged)) for one in rows]
    reasons = _reasons(data, (one, other), [estimate.se] * 2, method, measure_accuracy(data), n_labels=n_labels)
    note = RowNotes(*reasons)
    return CalibratedDifference(
        data.benchmark,
        a,
        b,
        judged[0] - judged[1],
        *(estimate.value, estimate.se, estimate.df, estimate.weight),
        n_questions=len(common),
        n_labels_a=n_labels[0],
        n_labels_b=n_labels[1],
        method=method,
        unit=data.is_unit,
        level=level,
        reason=note,
    )


def measure_accuracy(data: JudgedCompletions) -> JudgeAccuracy:
    """Return the judge's sensitivity and specificity over the labels of 0 and 1 of all models."""
    both = ~np.isnan(data.label) & ~np.isnan(data.judged)
    if not data.is_unit:
        return JudgeAccuracy(np.nan, np.nan, int(both.sum()))
    n_between = int(np.sum(both & (data.label > 0) & (data.label < 1)))
    both &= np.isin(data.label, (0, 1))
    label, judged = data.label[both], data.judged[both]
    weight = np.ones(len(label)) if data.inclusion is None else 1 / data.inclusion[both]
    names = np.array(data.questions if data.clusters is None else data.clusters, dtype=object)
    cluster = np.unique(names, return_inverse=True)[1][data.question[both]]
    shares, sizes = [], []
    for is_kind, agreement in ((label == 1, judged), (label == 0, 1 - judged)):
        total = np.sum(weight[is_kind])
        with np.errstate(divide="ignore", invalid="ignore"):
            shares.append(float(np.sum((weight * agreement)[is_kind]) / total))
            by_cluster = np.bincount(cluster[is_kind], weights=weight[is_kind])
            sizes.append(float(total**2 / np.sum(by_cluster**2)))
    return JudgeAccuracy(shares[0], shares[1], int(both.sum()), n_between, sizes[0], sizes[1])


def _ppi_terms(rows: ModelRows) -> _Terms:
    """Return the terms t_q of theta(w), whose mean over questions is the estimate.

    With weights u_i = 1/k_q, s_i = 1/pi_i of labelled completions, S = sum u_i s_i, labelled means y_L and f_L, and
    sums over completions whose score is known (K_q = sum u_i y_i) and over the others (c_q = sum u_i, C = sum_q c_q):
    fixed_q = K_q + c_q y_L + (C/S) sum_q u_i s_i (y_i - y_L)
    judge_q = sum_q u_i f_i - c_q f_L - (C/S) sum_q u_i s_i (f_i - f_L)
    """
    N = len(rows.questions)
    total = float(np.sum(rows.weight * rows.sampling))
    known_sum = rows.sum_by_question(np.where(rows.is_known, rows.judged, 0))
    unknown = rows.sum_by_question((~rows.is_known).astype(float))
    unknown_judged = rows.sum_by_question(np.where(rows.is_known, 0, rows.judged))
    size = float(np.sum(unknown))
    share = size / N if N else 1.0
    if not total:
        return _Terms(known_sum if share == 0 else np.full(N, np.nan), unknown_judged, rows.clusters, 0, 0.0, share)
    label = float(np.sum(rows.weight * rows.sampling * rows.label)) / total
    judged = float(np.sum(rows.weight * rows.sampling * rows.judged)) / total
    scale = size / total
    fixed = known_sum + unknown * label + scale * rows.sum_by_question(rows.sampling * (rows.label - label))
    judge = unknown_judged - unknown * judged - scale * rows.sum_by_question(rows.sampling * (rows.judged - judged))
    return _Terms(fixed, judge, rows.clusters, rows.n_labelled_clusters, rows.effective_labels, share)


def _estimate(samples: Sequence[_Terms], weight: float | None, *, spread: float) -> _Estimate:
    """Return the estimate of a score from its terms, or that of a difference from the terms of both models.

    `weight` None is tuned; `spread` is the range of the labels, the size of an error of the judge.
    """
    fixed, judge = samples[0].fixed, samples[0].judge
    if len(samples) == 2:
        fixed, judge = fixed - samples[1].fixed, judge - samples[1].judge
    clusters = samples[0].clusters.tolist()
    unknown = [one for one in samples if one.share > 0]
    if not unknown:
        return _estimate_raw(fixed, clusters)._replace(weight=np.nan)
    n = min(one.n_labelled for one in unknown)
    if n < 2:
        return _UNKNOWN
    residuals, _ = cluster_residuals(np.stack([fixed, judge]), clusters)
    covariance = residuals @ residuals.T / len(judge) ** 2
    is_tuned = weight is None and covariance[1, 1] > 0
    if weight is None:
        weight = float(np.clip(-covariance[0, 1] / covariance[1, 1], 0, 1)) if is_tuned else 0.0
    degrees = max(n - 1 - is_tuned, 1)
    variance = covariance[0, 0] + 2 * weight * covariance[0, 1] + weight**2 * covariance[1, 1]
    variance = max(float(variance), 0.0) * n / degrees
    sizes = [min(n, one.effective) for one in unknown]
    pseudo = sum(one.share**2 / ((m + 2) * (m + 1)) for one, m in zip(unknown, sizes, strict=True))
    total = variance + 2 * spread**2 * pseudo
    df = degrees * min(total / variance, 1e150) ** 2 if variance > 0 else np.inf
    return _Estimate(_mean(fixed) + weight * _mean(judge), float(np.sqrt(total)), float(df), weight)


def _estimate_raw(values: FloatArray, clusters: Sequence[str]) -> _Estimate:
    """Return the mean of the judge's scores over questions, with the error for new questions."""
    if not len(values):
        return _UNKNOWN
    spread = cluster_means(values[None], clusters)
    variance = float(spread.variance[0]) / len(values)
    return _Estimate(_mean(values), np.sqrt(variance) if variance > 0 else np.nan, float(spread.df[0]), 1.0)


def _rogan_gladen(data: JudgedCompletions, rows: Sequence[ModelRows], signs: Sequence[int]) -> _Estimate:
    """Return the corrected score of one model, or the corrected difference of two, by the labels of all models.

    With J = sensitivity + specificity - 1, the mean K of the known scores, the judge's score p of the other
    completions and their share C, each summed over the completions and divided by all, theta = K + T with
    T = (p + C (specificity - 1))/J, and d theta = dK + (dp + dC (specificity - 1) + (C - T) d specificity -
    T d sensitivity)/J. In a difference K, p, C and T are differences. The changes are summed over clusters.
    """
    accuracy = measure_accuracy(data)
    if not accuracy.informative or not all(len(one.questions) for one in rows):
        return _UNKNOWN
    share = accuracy.sensitivity + accuracy.specificity - 1
    is_score = len(rows) == 1
    known_score = corrected = unknown = 0.0
    names, code = np.unique(np.array(data.questions if data.clusters is None else data.clusters), return_inverse=True)
    change = np.zeros(len(names))
    for sign, one in zip(signs, rows, strict=True):
        known_sum = one.sum_by_question(np.where(one.is_known, one.judged, 0))
        size = one.sum_by_question((~one.is_known).astype(float))
        term = one.sum_by_question(np.where(one.is_known, 0, one.judged)) + size * (accuracy.specificity - 1)
        mean = share * known_sum + term
        np.add.at(change, code[one.questions], sign * (mean - mean.mean()) / len(mean))
        known_score += sign * _mean(known_sum)
        corrected += sign * _mean(term) / share
        unknown += sign * _mean(size)
    theta = known_score + corrected
    both = ~np.isnan(data.label) & ~np.isnan(data.judged)
    label, verdict, place = data.label[both], data.judged[both], code[data.question[both]]
    weight = np.ones(len(label)) if data.inclusion is None else 1 / data.inclusion[both]
    pseudo = 0.0
    factors = (-corrected, unknown - corrected)
    for is_right, value, factor in zip((1, 0), (accuracy.sensitivity, accuracy.specificity), factors, strict=True):
        here = label == is_right
        agreement = verdict if is_right else 1 - verdict
        total = np.sum(weight[here])
        np.add.at(change, place[here], factor * weight[here] * (agreement[here] - value) / total)
        n = total / np.max(weight[here])
        pseudo += factor**2 * 2 / ((n + 2) * (n + 1))
    n_clusters = len(set(place.tolist()))
    if n_clusters < 2:
        return _UNKNOWN
    variance = float(np.sum(change**2)) * n_clusters / (n_clusters - 1) / share**2
    total_variance = variance + pseudo / share**2
    df = (n_clusters - 1) * min(total_variance / variance, 1e150) ** 2 if variance > 0 else np.inf
    value = float(np.clip(theta, 0, 1) if is_score else np.clip(theta, -1, 1))
    return _Estimate(value, float(np.sqrt(total_variance)), float(df), np.nan)


def _limits(
    estimate: FloatArray, se: FloatArray, df: FloatArray, level: float, bounds: tuple[float, float] | None
) -> Limits:
    """Return the interval of t around an estimate, within the bounds of the scores."""
    half = special.stdtrit(np.minimum(df, 1e9), (1 + level) / 2) * se
    low, high = estimate - half, estimate + half
    if bounds is not None:
        low, high = np.clip(low, *bounds), np.clip(high, *bounds)
    return Limits(low, high, level)


def _mean(values: FloatArray) -> float:
    """Return the mean; NaN of no values."""
    return float(values.mean()) if len(values) else np.nan


def _require_binary(data: JudgedCompletions) -> None:
    """Raise InputError unless people's labels are 0 and 1, and the judge's scores in [0, 1]."""
    if not data.is_unit or not np.all(np.isin(data.label[~np.isnan(data.label)], (0, 1))):
        remedy = "use the method ppi, which takes any scores"
        raise InputError("rogan-gladen needs labels of 0 and 1", where=data.benchmark, remedy=remedy)


def _reasons(
    data: JudgedCompletions,
    models: Sequence[int],
    se: Sequence[float],
    method: CalibrationMethod,
    accuracy: JudgeAccuracy,
    *,
    n_labels: Sequence[int] | None = None,
) -> Iterator[str]:
    """Yield the note of each of the models; with as many labels as given, of a difference, it names the model."""
    labels = [int(data.n_labels[i]) for i in models] if n_labels is None else n_labels
    is_known = np.zeros(len(data.judged), dtype=bool) if data.is_known is None else data.is_known
    for i, n, error in zip(models, labels, se, strict=True):
        of_model = "" if n_labels is None else f"{data.models[i]}: "
        # The error of a difference is unknown because of the model with fewer labels.
        has_enough = n_labels is not None and np.isnan(error) and n > max(1, min(labels))
        text = "" if has_enough else _describe_labels(n, data.select(i).effective_labels, error, method, accuracy)
        parts = [f"{of_model}{text}" if text and method in {"ppi", "labels"} else text]
        scored = (data.model == i) & ~np.isnan(data.judged)
        if np.any(scored) and np.all(is_known[scored]):
            parts = ["all scores are known without a judge: refused, empty or tool calls"]
        if missing := int(data.n_unreadable[i]):
            parts.append(f"{of_model}completions without a readable verdict, left out: {missing}")
        yield RowNotes(*parts)


def _describe_labels(n: int, effective: float, se: float, method: CalibrationMethod, accuracy: JudgeAccuracy) -> str:
    """Return what a method supposes, or that a model has few labels."""
    if method == "raw":
        return "the judge's opinion: no correction by people's labels"
    if method == "rogan-gladen":
        alike = "supposes that the judge errs alike on all models"
        blind = "the judge says right as often of wrong answers as of right ones, or labels of one kind are missing"
        return RowNotes(alike, "" if accuracy.informative else blind)
    if np.isnan(se):
        return f"{n} {'label' if n == 1 else 'labels'}: too few to correct the judge's score"
    if n < FEWEST_LABELS:
        return f"only {n} labels, fewer than {FEWEST_LABELS}: the interval is wide, and its coverage is uncertain"
    if effective < FEWEST_LABELS:
        return f"{n} labels count as {effective:.0f}: they were drawn unevenly, or are of few questions"
    return ""
