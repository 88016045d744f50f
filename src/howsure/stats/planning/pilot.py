"""Variance components for a plan, estimated from pilot results or assumed from an accuracy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from howsure.errors import InputError
from howsure.stats import comparisons
from howsure.stats import scores as scoring
from howsure.stats.core.cells import Cells, FloatArray, drop_rounding, mean_where
from howsure.stats.core.claims import PROMPT_COMPONENTS, MeanClaim, check_mean_claim
from howsure.stats.core.cube import Cube
from howsure.stats.core.intervals import FEW_DF, chi_square_factors
from howsure.stats.core.results import RowNotes
from howsure.stats.planning.variance_components import VarianceComponents, assurance_quantile, check_range
from howsure.stats.prompts import estimate_components
from howsure.stats.scores import (
    FEW_QUESTIONS,
    IN_CLUSTERS,
    NEW_CLUSTERS,
    NO_END,
    ONE_CLUSTER,
    WITHOUT_CLUSTERS,
    add_cluster_variance,
    unbiased_data,
)

__all__ = [
    "ErrorParts",
    "components_from_accuracy",
    "components_from_cells",
    "components_from_cube",
    "split_prompt_error",
    "split_score_error",
]

#: Up to this sampling temperature, answers vary less and the share of data noise is larger.
LOW_TEMPERATURE = 0.2

#: One-sided level of the limits of variances of prompts, and the level of the two-sided interval with that limit.
_ONE_SIDED = 0.8
_TWO_SIDED = 2 * _ONE_SIDED - 1


def components_from_cells(
    cells: Cells,
    a: str,
    b: str | None = None,
    *,
    paired: bool = True,
    claim: MeanClaim = "new-questions",
) -> VarianceComponents:
    """Estimate the variance components of a score, or of a difference of two models, from a pilot.

    Parameters
    ----------
    cells
        Results of the pilot, with several generations of some questions; otherwise only single generations can be
        planned.
    a, b
        Names of two models, or of one.
    paired
        Whether both models will answer the same questions. If not, each has its own N, and their variances are added.
    claim
        `"new-questions"`, or `"these-questions"` for the mean over the questions of the pilot (finite population).

    Returns
    -------
    VarianceComponents
        Data variance D (`question`), prediction variance E (`generation`) and T = D + E, with their standard errors.

    Raises
    ------
    UnknownNameError
        Where the claim or a model is unknown.

    Notes
    -----
    D is unbiased, so that the plan of the pilot's own design has the pilot's standard error times sqrt(N/(N - 1)); a
    negative D is planned as 0, with a note. The standard errors come from the variation over questions of the terms
    (d_q - d)^2 N/(N - 1) - s2_q/k_q of D, s2_q of E and their sum of T. With one generation per question, only T and
    its error are known.

    With clusters of questions and the claim "new-questions", D is N times the clustered squared error minus the
    sampling noise; its standard error is that of a variance with the clusters' degrees of freedom. The plan is then for
    new clusters of the same sizes, with a note.

    References
    ----------
    Browne, R. H. (1995), On the use of a pilot sample for sample size determination, Statistics in Medicine 14. Kieser,
    M. and Wassmer, G. (1996), On the use of the upper confidence limit for the variance from a pilot sample for sample
    size determination, Biometrical Journal 38.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], list("pqrs"), [[[1, 0], [1, 1], [0, 0], [0, 1]]])
    >>> pilot = components_from_cells(cells, "a")
    >>> round(pilot.question, 4), round(pilot.generation, 4)
    (0.0417, 0.25)
    """
    check_mean_claim(claim, where="plan")
    if b is None:
        results: list[scoring.Scores | comparisons.Comparison] = [scoring.score(cells.select([a]))]
    elif paired:
        results = [comparisons.compare(cells, a, b)]
    else:
        results = [scoring.score(cells.select([model])) for model in (a, b)]
    groups = [[a]] if b is None else [[a, b]] if paired else [[a], [b]]
    parts = [_estimate_moments(cells, group) for group in groups]
    D, E, T = (sum(part[i] for part in parts) for i in range(3))
    se_D, se_E, se_T = (math.sqrt(sum(part[i] ** 2 for part in parts)) for i in range(3, 6))
    pilot_notes = dict.fromkeys(RowNotes(*(one.columns()["note"][0] for one in results)).sentences)
    # notes on the pilot's own interval and test, not on its noise
    own = (FEW_DF, FEW_QUESTIONS, IN_CLUSTERS, NO_END, comparisons.RARE_DIFFERENCES, comparisons.UNDETECTABLE)
    pilot_notes = dict.fromkeys(text for text in pilot_notes if not text.startswith(own))
    if cells.clusters is not None and claim == "new-questions":
        D, T, se_D, note = add_cluster_variance(
            cells, [name for name in (a, b) if name is not None], D, T, paired=paired
        )
        se_T = se_D
        pilot_notes = {note: None, **pilot_notes}
    elif cells.clusters is not None:
        pilot_notes.pop(ONE_CLUSTER, None)
        pilot_notes[WITHOUT_CLUSTERS] = None
    if D < 0:
        pilot_notes["data noise is lost in the sampling noise: it is planned as 0"] = None
    return VarianceComponents(
        question=max(D, 0.0),  # NaN stays: max returns its first argument
        generation=E,
        total=T if math.isnan(T) else max(T, 0.0),
        question_se=se_D,
        generation_se=se_E,
        # with unequal numbers of generations, the implied correlation must stay within [-1, 1]
        total_se=se_T if math.isnan(se_D) else min(max(se_T, abs(se_D - se_E)), se_D + se_E),
        population=math.inf if claim == "new-questions" else len(cells.questions),
        models=1 if b is None else 2,
        benchmark=cells.benchmark,
        note=RowNotes(*pilot_notes),
    )


class _Published(NamedTuple):
    """Total variance of published results over p(1-p), the share of data noise, and their standard deviations."""

    total: float
    total_sd: float  # relative
    share: float
    share_sd: float
    cold_share: float
    cold_share_sd: float
    published: str


_PAIR = _Published(1.3, 0.3, 0.35, 0.12, 0.7, 0.1, "published pairs of models: 0.8 to 1.8 p(1-p), 10 to 45% of it")
_SCORE = _Published(1.0, 0.0, 0.6, 0.12, 0.8, 0.1, "published scores: 30 to 75% of p(1-p)")


class _PilotMoments(NamedTuple):
    """D, E and T of a score or of a difference, and their standard errors; NaN where unknown."""

    question: float
    generation: float
    total: float
    question_se: float
    generation_se: float
    total_se: float


def _estimate_moments(cells: Cells, models: Sequence[str]) -> _PilotMoments:
    """Return the unbiased D, E and T with their standard errors, from the questions that all of the models answered."""
    rows = [cells.index(model) for model in models]
    common = np.all(cells.answered[rows], axis=0)
    n = cells.n[rows][:, common]
    p, s2 = (array[rows][:, common] for array in (cells.mean, cells.within))
    several, N = n > 1, int(np.sum(common))
    number = np.sum(several, axis=1)
    E = mean_where(s2, several)
    each_s2 = np.where(several, s2, E[:, None])
    noise = np.sum(each_s2 / n, axis=0)
    value = p[0] if len(rows) == 1 else p[0] - p[1]
    if len(set(rows)) < len(rows):  # a model against itself: independent generations of the same questions
        square, noise = np.zeros(N), np.zeros(N)
    elif N > 1:
        square = (value - value.mean()) ** 2
        square = square if drop_rounding(square.sum(), N, np.max(np.abs(p))) > 0 else np.zeros(N)
    else:
        square = np.full(N, np.nan)
    variance = float(np.mean(square)) if N else math.nan
    D, T_terms = (
        float(unbiased_data(variance - np.mean(noise), variance, N)) if N else math.nan,
        square * N / max(N - 1, 1) + np.sum(np.where(several, s2 * (1 - 1 / n), 0), axis=0),
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        E_terms = np.sum(np.where(several, each_s2 - E[:, None], 0) * (N / number)[:, None], axis=0)
    errors = [_standard_error(terms) for terms in (square * N / max(N - 1, 1) - noise, E_terms, T_terms)]
    return _PilotMoments(D, float(np.sum(E)), float(np.mean(T_terms)) if N else math.nan, *errors)


def _standard_error(terms: FloatArray) -> float:
    """Return the standard error of the mean of the terms; NaN for fewer than two."""
    N = len(terms)
    return float(np.std(terms, ddof=1)) / math.sqrt(N) if N > 1 else math.nan


def components_from_cube(
    cube: Cube, a: str, b: str | None = None, *, claim: MeanClaim = "new-questions"
) -> VarianceComponents:
    """Estimate the variance components of a score, or of a paired difference, from a pilot with several prompts.

    Parameters
    ----------
    cube
        Results of the pilot; the default prompt is left out. With one generation per cell, only designs of single
        generations can be planned, of any number of questions and variants.
    a, b
        Names of two models, or of one.
    claim
        As for `components_from_cells`; always for new variants of the space, whose number the plan chooses.

    Returns
    -------
    VarianceComponents
        Unbiased components as in `estimate_components`. Their standard errors are the distance of the one-sided 80 %
        limit from the component, divided by its normal quantile. Negative variances are planned as 0, with a note.

    Raises
    ------
    InputError
        Where the models have no question in the same variant.
    """
    check_mean_claim(claim, where="plan")
    drawn = cube.drawn
    estimated = estimate_components(drawn.select([a]) if b is None else drawn.difference(a, b))
    if b is not None and not estimated.fit.cells[0] > 0:
        what = f"{a} and {b} answered no question in the same variant"
        raise InputError(what, where=cube.benchmark, remedy="ask both models in the same variants")
    names: tuple[str, ...] = (*PROMPT_COMPONENTS, "residual")
    values = {name: float(getattr(estimated, name)[0]) for name in names}
    pilot_notes = dict.fromkeys(RowNotes(estimated.note[0]).sentences)
    if estimated.clustered is not None and claim == "new-questions":
        values["question"] = float(estimated.parts[0, 0] * estimated.fit.questions[0])
        pilot_notes[NEW_CLUSTERS] = None
    if below := [name for name in names[:4] if values[name] < 0]:
        pilot_notes[f"{' and '.join(below)} below 0: planned as 0"] = None
    each = {name: max(value, 0.0) for name, value in values.items()}  # NaN stays: max returns its first argument
    errors: dict[str, float] = {
        name: _error_of_limit(each[name], float(estimated.limits(name, _TWO_SIDED)[1][0])) for name in PROMPT_COMPONENTS
    }
    if math.isnan(values["generation"]):
        df = estimated.fit.cells - (estimated.fit.questions if cube.nested else estimated.fit.rank)
        high = each["residual"] * float(chi_square_factors(df, _TWO_SIDED).high[0])
        errors["residual"] = _error_of_limit(each["residual"], high)
    if cube.nested:
        # variants within a question have no main effect, and S of them average out
        each |= {"interaction": each["variant"], "variant": 0.0}
        errors |= {"interaction": errors["variant"], "variant": 0.0}
    return VarianceComponents(
        **each,
        **{f"{name}_se": error for name, error in errors.items()},
        population=math.inf if claim == "new-questions" else len(cube.questions),
        models=1 if b is None else 2,
        benchmark=cube.benchmark,
        note=RowNotes(*pilot_notes),
    )


def _error_of_limit(estimate: float, high: float) -> float:
    """Return the distance of the upper 80 % limit from the estimate over its normal quantile; 0 where unknown."""
    error = (high - estimate) / assurance_quantile(_ONE_SIDED)
    return max(error, 0.0) if math.isfinite(error) else 0.0


class ErrorParts(NamedTuple):
    """The parts of the standard error of a score, and what they make up for the generations at hand."""

    components: VarianceComponents
    """Components, none below 0, of which the standard error is computed for any design: D is `question`."""
    standard_error: float
    """Standard error with the generations at hand, from these components."""
    table_error: float
    """Standard error of `score`, or of the mean over prompts, which is smaller where D, or vQS, is below 0."""


def split_score_error(cells: Cells, model: str) -> ErrorParts:
    """Split the squared standard error of a score into the parts that questions and generations remove.

    Parameters
    ----------
    cells
        Results, with several generations of some questions; otherwise D is NaN.
    model
        One of the models.

    Returns
    -------
    ErrorParts
        D of `components` is N (SE^2 - mean(s2_q/k_q)/N), with the squared standard error SE^2 of `score`, which is
        clustered where questions come in clusters; a negative D is 0.

    Notes
    -----
    Where D is not negative, `standard_error` is that of `score`. A negative D is noise of the estimate: the squared
    standard error of `score`, which contains it, is then smaller than sampling alone makes it, and would be smaller
    than that of the same design by `components`. `standard_error` is sqrt(max(D, 0)/N + sum_q s2_q/k_q / N^2) instead.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], list("pqrs"), [[[1, 0], [1, 0], [1, 0], [0, 1]]])
    >>> parts = split_score_error(cells, "a")
    >>> parts.components.question, round(parts.standard_error, 4), parts.table_error
    (0.0, 0.25, 0.0)
    """
    one = cells.select([model])
    components = components_from_cells(one, model)
    variance = float(scoring.score(one).variance[0])
    if math.isnan(components.question):
        return ErrorParts(components, math.sqrt(variance), math.sqrt(variance))
    sampling = float(scoring.score(one, claim="these-questions").variance[0])
    data = max(variance - sampling, 0.0)
    components = replace(components, question=data * int(np.sum(one.answered)))
    return ErrorParts(components, math.sqrt(data + sampling), math.sqrt(variance))


def split_prompt_error(cube: Cube, model: str) -> ErrorParts:
    """Split the squared standard error of a mean over prompt variants, for new questions in new variants.

    Parameters
    ----------
    cube
        Results; the default prompt is left out.
    model
        One of the models.

    Returns
    -------
    ErrorParts
        `components` are those of `components_from_cube`.

    Notes
    -----
    `standard_error` adds up the terms of `PromptComponents.parts`, a negative one as 0. They are those of the cells at
    hand: with missing cells, or unequal numbers of generations, the error is larger than that of as many generations in
    equal cells. `table_error` is that of `PromptComponents.variance`, which contains a negative vQS.

    Examples
    --------
    >>> scores = [[[[1, 1], [1, 0]], [[0, 1], [0, 0]], [[1, 1], [0, 1]]]]
    >>> cube = Cube.from_scores("demo", ["a"], ["q1", "q2", "q3"], ["v1", "v2"], scores)
    >>> parts = split_prompt_error(cube, "a")
    >>> round(parts.standard_error, 3), round(parts.table_error, 3)
    (0.333, 0.3)
    """
    estimated = estimate_components(cube.drawn.select([model]))
    terms = np.maximum(estimated.parts[:, 0], 0)
    if math.isnan(terms[3]):  # from one generation per cell, the third term holds the fourth
        terms = terms[:3]
    table_error = math.sqrt(estimated.variance()[0])
    return ErrorParts(components_from_cube(cube, model), math.sqrt(terms.sum()), table_error)


def components_from_accuracy(
    accuracy: float,
    *,
    models: int = 2,
    paired: bool = True,
    data_share: float | None = None,
    temperature: float | None = None,
    benchmark: str = "assumed",
) -> VarianceComponents:
    """Return variance components for scores of 0 and 1 without a pilot, from an accuracy and published results.

    Parameters
    ----------
    accuracy
        p, between 0 and 1 (exclusive); for two models, about their mean.
    models, paired
        1 for a score; 2 for a difference, on the same questions if `paired`.
    data_share
        D / (D + E), from 0 to 1; None: as in published results.
    temperature
        Sampling temperature, 0 or more. Up to 0.2, answers vary less and the default data share is larger.
    benchmark
        Name for the table.

    Returns
    -------
    VarianceComponents
        The total variance is p(1-p) for a score (exact), 1.3 p(1-p) for a paired difference, and 2 p(1-p) for an
        unpaired one. The data share is .35 for a pair, .7 up to temperature .2; .6 for a score, .8 up to temperature
        .2. The standard errors are the standard deviations of published results around these values, so that a plan
        with an assurance holds for most benchmarks.

    Raises
    ------
    InputError
        Where an argument is out of range.

    Notes
    -----
    Under a Beta(p, 1-p) distribution of difficulties that both models share (NOISE, section 4.2.1 and appendix B), data
    noise would be half of the variance of a score and none of that of a pair, and the total of a pair p(1-p). The
    values for a pair are instead about the medians of published pairs of models within .05 of each other; that for a
    score at a low temperature follows from the pairs, whose prediction variance is that of two scores.

    References
    ----------
    "NOISE" in docs/statistics.md, section 4.2.1 and appendix B.

    Examples
    --------
    >>> assumed = components_from_accuracy(0.5, models=1)
    >>> round(assumed.question, 3), round(assumed.generation, 3)
    (0.15, 0.1)
    """
    if not 0 < accuracy < 1:
        raise InputError(f"accuracy is {accuracy!r}", remedy="allowed: strictly between 0 and 1")
    is_low = temperature is not None and float(check_range("temperature", temperature, 0, math.inf)) <= LOW_TEMPERATURE
    kind = _PAIR if models == 2 and paired else _SCORE
    share = kind.cold_share if is_low else kind.share
    share_sd = kind.cold_share_sd if is_low else kind.share_sd
    if data_share is not None:
        share, share_sd = float(check_range("data_share", data_share, 0, 1)), 0.0
    total = kind.total * accuracy * (1 - accuracy)
    number = 2 if models == 2 and not paired else 1  # two scores add up, and so do their squared errors
    # D = share T and E = (1 - share) T, with independent share and T
    total_sd, root = kind.total_sd * total, math.sqrt(number)
    return VarianceComponents(
        question=number * share * total,
        generation=number * (1 - share) * total,
        question_se=root * math.hypot(share * total_sd, share_sd * total),
        generation_se=root * math.hypot((1 - share) * total_sd, share_sd * total),
        total_se=root * total_sd,
        models=models,
        benchmark=benchmark,
        note=f"assumed, not measured: total variance {number * total:.4g}, {share:.0%} of it data noise "
        + ("(at a low temperature, of which few results are published)" if is_low else f"({kind.published})"),
    )
