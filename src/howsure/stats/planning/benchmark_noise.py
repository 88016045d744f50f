"""The noise of a benchmark: what its questions and the sampling of answers add to a score, and to a difference.

Over the models of a benchmark, and over its pairs of close models, the standard errors of one generation per question
are much alike, so that those of other models can be read from them (NOISE, sections 4 and D). For scores of 0 and 1 the
total variance of a score is p(1-p), and that of the difference of two close models is proportional to it:

    T(p) = p(1-p) mean T / mean (p_m (1 - p_m))        T of the pairs, p_m the scores of the models

The parts D and E are scaled alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import special

from howsure.errors import InputError, UnknownNameError
from howsure.stats.comparisons import POWER, pairs
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.results import Conditions, Result
from howsure.stats.planning.pilot import components_from_accuracy
from howsure.stats.planning.variance_components import VarianceComponents, check_range
from howsure.stats.scores import score

__all__ = [
    "CLOSE_ERRORS",
    "FEWEST_MODELS_FOR_TAU",
    "LOWEST_SCORE",
    "BenchmarkNoise",
    "components_from_noise",
    "measure_noise",
]

#: Two models are close if their difference is at most this number of its standard errors (NOISE: 5).
CLOSE_ERRORS = 5.0
#: Models at or below this score are left out: hardly any of their answers differ (NOISE: .05).
LOWEST_SCORE = 0.05
#: Two-sided level of the test that the column `detectable` refers to.
_LEVEL = 0.95

#: Fewest models whose number of questions with a negative tau says something.
FEWEST_MODELS_FOR_TAU = 5


@dataclass(frozen=True, eq=False)
class BenchmarkNoise(Result):
    """Noise of B benchmarks, for one generation per question; arrays have shape (B,).

    Attributes
    ----------
    benchmarks
        Names of the benchmarks.
    temperature
        Sampling temperature of the results; NaN where it is unknown or differs.
    n_questions, n_models, n_pairs
        Questions, models, and pairs of close models.
    n_unsolved
        Questions that no model answered right.
    n_negative_tau
        Questions on which better models do worse: Kendall's tau with the score is negative.
    n_different
        Mean number of questions on which one generation of each of two close models differs.
    correlation
        Mean correlation of the question means of two close models.
    score, score_data, score_prediction
        Mean over models of T, D and E of a score; NaN where unknown.
    difference, difference_data, difference_prediction
        Mean over pairs of close models of T, D and E of the difference; NaN where unknown.
    score_sd, score_data_sd, score_prediction_sd, difference_sd, difference_data_sd, difference_prediction_sd
        Standard deviations of these over models, and over pairs.
    sources
        Where the results come from.
    accuracy
        Score of the models that the variances are for; NaN if they are means over the models.
    every_column
        Whether `columns` has the parts of the error of a score, and the numbers of models and pairs, too.

    Examples
    --------
    >>> scores = [[[1, 0], [1, 1], [0, 1], [1, 0]], [[0, 1], [1, 1], [0, 0], [1, 1]]]
    >>> noise = measure_noise(Cells.from_scores("demo", ["a", "b"], ["q1", "q2", "q3", "q4"], scores))
    >>> noise["se"].round(3).tolist(), noise["n_different"].round(2).tolist()
    ([0.242], [1.5])
    """

    benchmarks: tuple[str, ...]
    temperature: FloatArray
    n_questions: IntArray
    n_models: IntArray
    n_pairs: IntArray
    n_unsolved: IntArray
    n_negative_tau: IntArray
    n_different: FloatArray
    correlation: FloatArray
    score: FloatArray
    score_data: FloatArray
    score_prediction: FloatArray
    difference: FloatArray
    difference_data: FloatArray
    difference_prediction: FloatArray
    score_sd: FloatArray
    score_data_sd: FloatArray
    score_prediction_sd: FloatArray
    difference_sd: FloatArray
    difference_data_sd: FloatArray
    difference_prediction_sd: FloatArray
    sources: tuple[str, ...]
    accuracy: float = math.nan
    every_column: bool = False

    def select(self, *names: str) -> BenchmarkNoise:
        """Return the rows of these benchmarks.

        Raises
        ------
        UnknownNameError
            When there is no benchmark of a name.
        """
        for name in names:
            if name not in self.benchmarks:
                raise UnknownNameError("benchmark", name, self.benchmarks)
        rows = [self.benchmarks.index(name) for name in names]
        changed: dict[str, Any] = {
            field.name: _take(getattr(self, field.name), rows)
            for field in fields(self)
            if isinstance(getattr(self, field.name), np.ndarray | tuple)
        }
        return replace(self, **changed)

    def at_accuracy(self, accuracy: float) -> BenchmarkNoise:
        """Return the noise of models of this accuracy, strictly between 0 and 1.

        Raises
        ------
        InputError
            When the accuracy is out of range, or the noise is already that of another accuracy.
        """
        if not 0 < accuracy < 1:
            raise InputError(f"accuracy is {accuracy!r}", remedy="allowed: strictly between 0 and 1")
        if not math.isnan(self.accuracy):
            raise InputError(f"the noise is that of an accuracy of {self.accuracy:g}", where="accuracy")
        factor = accuracy * (1 - accuracy) / self.score
        scaled = {
            f"{kind}{part}{sd}": getattr(self, f"{kind}{part}{sd}") * factor
            for kind in ("score", "difference")
            for part in ("", "_data", "_prediction")
            for sd in ("", "_sd")
        }
        exact = {"score_sd": np.zeros(len(factor))}  # p(1-p) is the total variance of a score of 0s and 1s
        unknown = np.full(len(factor), np.nan)
        counts = {"n_different": self.n_different * factor, "correlation": unknown}
        return replace(self, accuracy=accuracy, **(scaled | exact | counts))

    declared = (
        "benchmark=benchmarks n_questions se=_errors.0 se_difference=_errors.1 se_data=_errors.2 "
        "se_prediction=_errors.3 detectable=_detectable n_different n_unsolved n_negative_tau=_in_full.n_negative_tau "
        "correlation=_in_full.correlation se_score_data=_in_full._errors.4 se_score_prediction=_in_full._errors.5 "
        "n_models=_in_full.n_models n_pairs=_in_full.n_pairs temperature=_in_full.temperature note=_reasons.notes"
    )

    def _in_full(self) -> BenchmarkNoise | None:
        """The noise itself where every column is asked for."""
        return self if self.every_column else None

    def _errors(self) -> FloatArray:
        """Return standard errors of one generation per question, shape (6, B)."""
        differences = self.difference, self.difference_data, self.difference_prediction
        return np.sqrt(np.array([self.score, *differences, self.score_data, self.score_prediction]) / self.n_questions)

    def _detectable(self) -> FloatArray:
        """Return the smallest difference that is found with power `POWER`."""
        tails = float(special.ndtri((1 + _LEVEL) / 2) + special.ndtri(POWER))
        return np.where(self.difference > 0, tails * self._errors()[1], np.nan)

    def _reasons(self) -> Conditions:
        is_mean = math.isnan(self.accuracy)
        return {
            "one generation per question: data and prediction noise are unknown": np.isnan(self.difference_data)
            & (self.n_pairs > 0),
            "no variation was seen: an error of 0 is not certainty": (self.score == 0) | (self.difference == 0),
            "no two models are close": self.n_pairs == 0,
            "fewer than five models: chance decides n_negative_tau": (self.n_models < FEWEST_MODELS_FOR_TAU)
            & self.every_column,
            f"for models of accuracy {self.accuracy:g}": np.array(not is_mean),
            "root mean squares over models and over pairs of close models": np.array(is_mean),
            **{f"from {source}": np.array(self.sources) == source for source in dict.fromkeys(self.sources)},
        }


def _take(values: Sequence[str] | FloatArray, rows: Sequence[int]) -> tuple[str, ...] | FloatArray:
    """Return the values of these rows, in the form that they have."""
    return values[list(rows)] if isinstance(values, np.ndarray) else tuple(values[row] for row in rows)


def measure_noise(cells: Cells) -> BenchmarkNoise:
    """Measure the noise of a benchmark on the results of several models.

    Parameters
    ----------
    cells
        M models on N questions, scores 0 and 1. Models with scores of .05 or less are left out.

    Returns
    -------
    BenchmarkNoise
        One row. Its variances are means over the models, and over the pairs of models whose difference is at most five
        of its standard errors, as in the published tables.

    Raises
    ------
    InputError
        When scores are not 0 and 1.

    References
    ----------
    NOISE eq. (15)-(25), and section D for the use of such a table.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1, 0], [1, 1]]])
    >>> measure_noise(cells)["note"].tolist()
    ['no two models are close; root mean squares over models and over pairs of close models; from these results']
    """
    if not cells.binary:
        raise InputError("scores other than 0 and 1", where=cells.benchmark, remedy="choose a scorer with --scorer")
    scored = score(cells)
    used = scored.score > LOWEST_SCORE
    values: dict[str, Any] = {}
    for name, each in (
        ("score", scored.total),
        ("score_data", np.maximum(scored.data, 0)),
        ("score_prediction", scored.prediction),
    ):
        values[name], values[f"{name}_sd"] = _mean_and_sd(each[used])
    empty = np.empty(0)
    total = data = prediction = disagreement = correlation = empty
    if len(cells.models) > 1:
        table = pairs(cells)
        with np.errstate(invalid="ignore", divide="ignore"):
            close = np.abs(table.difference) <= CLOSE_ERRORS * np.sqrt(table.total / table.n_questions)
        close &= np.minimum(table.score_a, table.score_b) > LOWEST_SCORE
        total, data, prediction, disagreement, correlation = (
            values_of_pairs[close]
            for values_of_pairs in (
                table.total,
                np.maximum(table.data, 0),
                table.prediction,
                table.disagreement,
                table.correlation,
            )
        )
    for name, each in (("difference", total), ("difference_data", data), ("difference_prediction", prediction)):
        values[name], values[f"{name}_sd"] = _mean_and_sd(each)
    N = len(cells.questions)
    return BenchmarkNoise(
        benchmarks=(cells.benchmark,),
        temperature=np.array([np.nan]),
        n_questions=np.array([N]),
        n_models=np.array([int(used.sum())]),
        n_pairs=np.array([len(total)]),
        n_unsolved=np.array([int(np.sum((cells.total == 0).all(axis=0) & cells.answered.any(axis=0)))]),
        n_negative_tau=np.array([_count_negative_tau(cells)]),
        n_different=_mean_and_sd(disagreement)[0] * N,
        correlation=_mean_and_sd(correlation)[0],
        sources=("these results",),
        **values,
    )


def _mean_and_sd(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the standard deviation of the finite values, each of shape (1,); NaN where there are none."""
    finite = values[np.isfinite(values)]
    mean = finite.mean() if len(finite) else np.nan
    return np.array([mean]), np.array([finite.std(ddof=1) if len(finite) > 1 else 0.0 if len(finite) else np.nan])


def _count_negative_tau(cells: Cells) -> int:
    """Return the number of questions whose means fall as the models' scores rise: Kendall's tau below 0."""
    means = np.where(cells.answered, cells.mean, np.nan)
    scores = np.array([row[~np.isnan(row)].mean() if (~np.isnan(row)).any() else np.nan for row in means])
    first, second = np.triu_indices(len(scores), 1)
    order = np.sign(scores[first] - scores[second])[:, None]
    with np.errstate(invalid="ignore"):
        return int(np.sum(np.nansum(order * np.sign(means[first] - means[second]), axis=0) < 0))


def components_from_noise(
    noise: BenchmarkNoise, accuracy: float | None = None, *, models: int = 2
) -> VarianceComponents:
    """Return variance components for a plan from the noise of a benchmark on which others were evaluated.

    Parameters
    ----------
    noise
        One benchmark.
    accuracy
        Score of the models that the plan is for; None takes the mean of the published variances.
    models
        1 for a score, 2 for the difference of two models on the same questions.

    Returns
    -------
    VarianceComponents
        Data and prediction variance, with the standard deviations over the published models or pairs as errors. Where
        the results have one generation per question, the total is theirs and its parts are those that
        `components_from_accuracy` assumes.

    Raises
    ------
    InputError
        When there are several benchmarks, or none with two close models.

    Examples
    --------
    >>> scores = [[[1, 0], [1, 1], [0, 1], [1, 0]], [[0, 1], [1, 1], [0, 0], [1, 1]]]
    >>> noise = measure_noise(Cells.from_scores("demo", ["a", "b"], ["q1", "q2", "q3", "q4"], scores))
    >>> round(components_from_noise(noise, 0.6, models=1).total, 2)
    0.24
    """
    if len(noise.benchmarks) != 1:
        raise InputError(f"the noise of {len(noise.benchmarks)} benchmarks", remedy="select one of them")
    at = noise if accuracy is None else noise.at_accuracy(accuracy)
    kind = "difference" if models == 2 else "score"
    total, D, E = (float(getattr(at, f"{kind}{part}")[0]) for part in ("", "_data", "_prediction"))
    if math.isnan(total):
        raise InputError("no two models are close", where=noise.benchmarks[0], remedy="give --accuracy without --like")
    total_se, D_se, E_se = (float(getattr(at, f"{kind}{part}_sd")[0]) for part in ("", "_data", "_prediction"))
    if math.isnan(D):
        assumed = components_from_accuracy(0.5 if accuracy is None else accuracy, models=models)
        share = assumed.question / assumed.total
        share_se = math.sqrt(max(assumed.question_se**2 - (share * assumed.total_se) ** 2, 0.0)) / assumed.total
        D, E = share * total, (1 - share) * total
        D_se, E_se = (
            math.hypot(share * total_se, share_se * total),
            math.hypot((1 - share) * total_se, share_se * total),
        )
        split = f"{share:.0%} of it data noise, assumed as elsewhere: the results have one generation per question"
    else:
        D, E = (total * part / (D + E) for part in (D, E))  # means of a D that is clipped at 0 add up to more than T
        split = f"{D / total:.0%} of it data noise"
        if models == 1 and accuracy is not None:  # the parts of p(1-p) differ between models by the same amount
            D_se = E_se = min(D_se, E_se)
            total_se = 0.0
    mean = "the mean over its models, whatever their accuracy; --accuracy scales it to yours"
    of = mean if math.isnan(at.accuracy) else f"at an accuracy of {at.accuracy:g}"
    check_range("total variance", total, 0, math.inf)
    return VarianceComponents(
        question=D,
        generation=E,
        question_se=D_se,
        generation_se=E_se,
        total_se=min(max(total_se, abs(D_se - E_se)), D_se + E_se),
        models=models,
        benchmark=noise.benchmarks[0],
        note=f"total variance {total:.4g} ({of}), {split}: from {noise.sources[0]}",
    )
