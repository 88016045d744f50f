"""Where the components that a plan needs come from: a pilot, or theory when there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from howsure.errors import InputError, UnknownNameError
from howsure.stats import comparisons
from howsure.stats import scores as scoring
from howsure.stats.core.cells import Cells, FloatArray, mean_where
from howsure.stats.core.cube import Cube
from howsure.stats.core.intervals import FEW_DF
from howsure.stats.core.variance_intervals import chi_square_factors
from howsure.stats.planning.variance_components import VarianceComponents, assurance_quantile, check_range
from howsure.stats.prompts import COMPONENTS, estimate_components
from howsure.stats.scores import IN_CLUSTERS, NEW_CLUSTERS, add_cluster_variance, unbiased_data

__all__ = ["CLAIMS", "components_from_accuracy", "components_from_cells", "components_from_cube"]

#: Claims that can be planned for; the noise of a single run is a plan with `max_generations=1`.
CLAIMS = ("new-questions", "these-questions")

#: Up to this temperature answers vary less, and more of the noise is that of the questions.
COLD = 0.2

#: The limits of variances of prompts are taken at this one-sided level, which is that of a two-sided interval.
_ONE_SIDED = 0.8
_TWO_SIDED = 2 * _ONE_SIDED - 1


def components_from_cells(
    cells: Cells,
    a: str,
    b: str | None = None,
    *,
    paired: bool = True,
    claim: str = "new-questions",
) -> VarianceComponents:
    """Components of a pilot: of the difference of two models, or of the score of one.

    Parameters
    ----------
    cells
        The pilot, with two or more generations of some questions: else only single generations can be planned.
    a, b
        Two models, or one.
    paired
        Whether both models will answer the same questions. If not, each has N of its own and their variances add.
    claim
        `"new-questions"`, or `"these-questions"`: the mean over the questions of the pilot, of which fewer may be
        asked (finite population).

    Returns
    -------
    The components with their standard errors. D is unbiased (`scoring.unbiased_data`), so that the plan of the
    pilot's own design has the pilot's standard error times sqrt(N/(N - 1)); below 0 it is planned as 0, and the note
    says so. The errors come from the spread over questions of what each question brings to an estimate,
    (d_q - d)^2 N/(N - 1) - s2_q/k_q to D, s2_q to E and the sum of both to T (Browne 1995 and Kieser and Wassmer 1996
    plan with the limit of such an estimate); with one generation per question T and its error are known, D and E not.

    With clusters of questions and the claim "new-questions", the data variance is N times the clustered squared error,
    less what sampling adds to it; its standard error is that of a variance with the clusters' degrees of freedom. The
    plan is for new clusters of the sizes of the pilot's, and the note says so.
    """
    if claim not in CLAIMS:
        raise UnknownNameError("claim", claim, CLAIMS, where="plan")
    if b is None:
        found: list[scoring.Scores | comparisons.Comparison] = [scoring.score(cells.select([a]))]
    elif paired:
        found = [comparisons.compare(cells, a, b)]
    else:
        found = [scoring.score(cells.select([model])) for model in (a, b)]
    groups = [[a]] if b is None else [[a, b]] if paired else [[a], [b]]
    parts = [_learn(cells, group) for group in groups]
    D, E, T = (sum(part[i] for part in parts) for i in range(3))
    of_D, of_E, of_T = (math.sqrt(sum(part[i] ** 2 for part in parts)) for i in range(3, 6))
    told = dict.fromkeys(part for one in found for part in str(one.columns()["note"][0]).split("; ") if part)
    told.pop(FEW_DF, None)  # of an interval, which a plan has none of
    if cells.clusters is not None and claim == "new-questions":
        D, T, of_D, note = add_cluster_variance(
            cells, [name for name in (a, b) if name is not None], D, T, paired=paired
        )
        of_T = of_D
        told = {note: None, **told}
        told.pop(IN_CLUSTERS, None)
    if D < 0:
        told["it is planned as 0"] = None
    return VarianceComponents(
        question=max(D, 0.0),  # NaN stays: max returns its first argument
        generation=E,
        total=T if math.isnan(T) else max(T, 0.0),
        question_se=of_D,
        generation_se=of_E,
        # counts that differ from question to question must not make a correlation beyond -1 and 1
        total_se=of_T if math.isnan(of_D) else min(max(of_T, abs(of_D - of_E)), of_D + of_E),
        population=math.inf if claim == "new-questions" else len(cells.questions),
        models=1 if b is None else 2,
        benchmark=cells.benchmark,
        note="; ".join(told),
    )


class _Published(NamedTuple):
    """Variance of published results in terms of p(1-p), the share of data noise, and how both vary."""

    total: float
    total_sd: float  # relative
    share: float
    share_sd: float
    cold_share: float
    cold_share_sd: float
    published: str


_PAIR = _Published(1.3, 0.3, 0.35, 0.12, 0.7, 0.1, "published pairs of models: 0.8 to 1.8 p(1-p), 10 to 45% of it")
_SCORE = _Published(1.0, 0.0, 0.6, 0.12, 0.8, 0.1, "published scores: 30 to 75% of p(1-p)")


class _Learned(NamedTuple):
    """D, E and T of a score or of a difference, and their standard errors; NaN where unknown."""

    question: float
    generation: float
    total: float
    question_se: float
    generation_se: float
    total_se: float


def _learn(cells: Cells, models: Sequence[str]) -> _Learned:
    """What the questions that all of one or two models answered say of D, E and T, with the unbiased D."""
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
    else:
        square = np.full(N, np.nan)
    spread = float(np.mean(square)) if N else math.nan
    D, T_terms = (
        float(unbiased_data(spread - np.mean(noise), spread, N)) if N else math.nan,
        square * N / max(N - 1, 1) + np.sum(np.where(several, s2 * (1 - 1 / n), 0), axis=0),
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        of_E = np.sum(np.where(several, each_s2 - E[:, None], 0) * (N / number)[:, None], axis=0)
    errors = [_standard_error(terms) for terms in (square * N / max(N - 1, 1) - noise, of_E, T_terms)]
    return _Learned(D, float(np.sum(E)), float(np.mean(T_terms)) if N else math.nan, *errors)


def _standard_error(terms: FloatArray) -> float:
    """Standard error of the mean of one term for each question; NaN for fewer than two."""
    N = len(terms)
    return float(np.std(terms, ddof=1)) / math.sqrt(N) if N > 1 else math.nan


def components_from_cube(
    cube: Cube, a: str, b: str | None = None, *, claim: str = "new-questions"
) -> VarianceComponents:
    """Components of a pilot with several prompt variants, of a score or of a paired difference.

    Parameters
    ----------
    cube
        The pilot, of which `cube.drawn` counts. With one generation per cell, designs of single generations can be
        planned, of any number of questions and variants.
    a, b
        Two models, or one.
    claim
        As in `components_of`; always in new variants of the space, of which the plan chooses the number.

    Returns
    -------
    The components, unbiased as in `crossed`, and errors from their one-sided 80 % limits (`Crossed.limits`): the
    distance of the upper limit from the component, divided by its normal quantile. Negative variances are planned as 0,
    and the note says so; their limits are above 0.
    """
    if claim not in CLAIMS:
        raise UnknownNameError("claim", claim, CLAIMS, where="plan")
    drawn = cube.drawn
    found = estimate_components(drawn.select([a]) if b is None else drawn.difference(a, b))
    if b is not None and not found.fit.cells[0] > 0:
        what = f"{a} and {b} answered no question in the same variant"
        raise InputError(what, where=cube.benchmark, remedy="ask both models in the same variants")
    names: tuple[str, ...] = (*COMPONENTS, "residual")
    values = {name: float(getattr(found, name)[0]) for name in names}
    told = dict.fromkeys(part for part in str(found.note[0]).split("; ") if part)
    if found.clustered is not None and claim == "new-questions":
        values["question"] = float(found.parts[0, 0] * found.fit.questions[0])
        told[NEW_CLUSTERS] = None
    if below := [name for name in names[:4] if values[name] < 0]:
        told[f"{' and '.join(below)} below 0: planned as 0"] = None
    each = {name: max(value, 0.0) for name, value in values.items()}  # NaN stays: max returns its first argument
    errors: dict[str, float] = {
        name: _error_of_limit(each[name], float(found.limits(name, _TWO_SIDED)[1][0])) for name in COMPONENTS
    }
    if math.isnan(values["generation"]):
        df = found.fit.cells - (found.fit.questions if cube.nested else found.fit.rank)
        high = each["residual"] * float(chi_square_factors(df, _TWO_SIDED).high[0])
        errors["residual"] = _error_of_limit(each["residual"], high)
    if cube.nested:
        # variants within a question: no main effect, and S of them average out
        each |= {"interaction": each["variant"], "variant": 0.0}
        errors |= {"interaction": errors["variant"], "variant": 0.0}
    return VarianceComponents(
        **each,
        **{f"{name}_se": error for name, error in errors.items()},
        population=math.inf if claim == "new-questions" else len(cube.questions),
        models=1 if b is None else 2,
        benchmark=cube.benchmark,
        note="; ".join(told),
    )


def _error_of_limit(estimate: float, high: float) -> float:
    """Distance of the upper 80 % limit from the estimate, divided by its normal quantile; 0 where it is unknown."""
    error = (high - estimate) / assurance_quantile(_ONE_SIDED)
    return max(error, 0.0) if math.isfinite(error) else 0.0


def components_from_accuracy(
    accuracy: float,
    *,
    models: int = 2,
    paired: bool = True,
    data_share: float | None = None,
    temperature: float | None = None,
    benchmark: str = "assumed",
) -> VarianceComponents:
    """Components for scores of 0 and 1 without a pilot, from the accuracy and what published results show.

    Parameters
    ----------
    accuracy
        p, strictly between 0 and 1; of two models, about their mean.
    models, paired
        1 for a score; 2 for a difference, on the same questions if `paired`.
    data_share
        D / (D + E). None: `DATA_SHARE` of a pair and of a score.
    temperature
        Sampling temperature, 0 or more. Up to 0.2 the answers vary less, and the default data share is larger.

    Returns
    -------
    The total variance is p(1-p) for a score, which holds exactly, 1.3 p(1-p) for a paired difference, and 2 p(1-p) for
    an unpaired one. Data share: .35 of a pair, .7 up to temperature .2; .6 of a score, .8 up to temperature .2.
    The errors of the components are the spread of published results around these numbers, so that a plan with an
    assurance holds for most benchmarks and not only for the middle one.

    Notes
    -----
    Beta theory (NOISE 4.2.1 and appendix B), difficulty ~ Beta(p, 1-p) that both models share, would have half of the
    variance of a score and none of that of a pair as data noise, and a total of p(1-p) for a pair. Of published pairs
    of models within .05 of each other the middle benchmark has 1.3 p(1-p) and a data share of .35 (.16 to .44 between
    benchmarks), .71 at temperature .2. On six other benchmarks the middle total is .9 to 1.3 p(1-p), and the middle
    share .16 to .27 on the three that tell. Data shares of scores have medians of .54, .56 and .67 (10 to 90 %: .30 to
    .77); .8 of a score at a low temperature follows from the pairs, whose prediction variance is that of two scores.
    """
    if not 0 < accuracy < 1:
        raise InputError(f"accuracy is {accuracy!r}", remedy="allowed: strictly between 0 and 1")
    cold = temperature is not None and float(check_range("temperature", temperature, 0, math.inf)) <= COLD
    kind = _PAIR if models == 2 and paired else _SCORE
    share = kind.cold_share if cold else kind.share
    share_sd = kind.cold_share_sd if cold else kind.share_sd
    if data_share is not None:
        share, share_sd = float(check_range("data_share", data_share, 0, 1)), 0.0
    total = kind.total * accuracy * (1 - accuracy)
    number = 2 if models == 2 and not paired else 1  # two scores add up, and so do their squared errors
    # D = share T and E = (1 - share) T of independent shares and totals
    of_total, root = kind.total_sd * total, math.sqrt(number)
    return VarianceComponents(
        question=number * share * total,
        generation=number * (1 - share) * total,
        question_se=root * math.hypot(share * of_total, share_sd * total),
        generation_se=root * math.hypot((1 - share) * of_total, share_sd * total),
        total_se=root * of_total,
        models=models,
        benchmark=benchmark,
        note=f"assumed, not measured: total variance {number * total:.4g}, {share:.0%} of it data noise "
        + ("(at a low temperature, of which few results are published)" if cold else f"({kind.published})"),
    )
