r"""The noise of a judge: verdicts on the same completion that differ, their share of the noise, and what more cost.

With r_u verdicts on a unit u (a completion that was judged; equal completions of a question share a unit), their mean
f_u and unbiased variance s2_u, and k_q completions of question q:

    J = mean s2_u                           judge variance: another verdict on the same completion
    E = mean over q of var(f; q) - what J adds   generation variance: another completion
    D = var over q - what E and J add       data variance: other questions

    SE^2(judge) = sum_u w_u^2 s2_u / r_u    for the weight w_u of the unit in the score

The three add up to the squared standard error of the score for new questions in expectation. A design with N questions,
k completions of each and r verdicts on each has the squared error (D + (E + J/r)/k)/N; it costs N k (c + r v) for the
cost c of a completion and v of a verdict, and the best r is sqrt(J c / (E v)) whatever k is (Cochran 1977, section
10.6, for sampling in stages).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.claims import check_level
from howsure.stats.core.intervals import Limits, interval
from howsure.stats.core.results import Conditions, Result, RowPlaces
from howsure.stats.scores.clusters import cluster_means

__all__ = ["JudgeNoise", "VerdictPlan", "VerdictTable", "measure_judge_noise", "plan_verdicts"]


@dataclass(frozen=True, eq=False)
class VerdictTable:
    """Verdicts of a judge on R completions of M models.

    Attributes
    ----------
    model, question, unit
        Indices of the model, the question and the judged unit of each completion, shape (R,).
    counts
        How often each kind of verdict was given on each unit, shape (U, C); unreadable verdicts are not counted.
    values
        Score of each kind of verdict, shape (C,).

    Examples
    --------
    >>> table = VerdictTable("demo", ("a",), ("p",), [0], [0], [0], [[2, 1]], [1.0, 0.0])
    >>> table.mean.round(3).tolist()
    [0.667]
    """

    benchmark: str
    models: tuple[str, ...]
    questions: tuple[str, ...]
    model: IntArray
    question: IntArray
    unit: IntArray
    counts: IntArray
    values: FloatArray
    clusters: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name, kind in (("model", np.int64), ("question", np.int64), ("unit", np.int64), ("values", float)):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=kind))
        object.__setattr__(self, "counts", np.asarray(self.counts, dtype=np.int64).reshape(-1, len(self.values)))

    @property
    def n(self) -> IntArray:
        """The number of readable verdicts on each unit, shape (U,)."""
        n: IntArray = self.counts.sum(axis=1)
        return n

    @property
    def mean(self) -> FloatArray:
        """The mean score of the verdicts on each unit, shape (U,); NaN without a readable one."""
        with np.errstate(divide="ignore", invalid="ignore"):
            mean: FloatArray = self.counts @ self.values / self.n
        return mean

    @property
    def variance(self) -> FloatArray:
        """The unbiased variance of the verdicts on each unit, shape (U,); NaN for fewer than two."""
        with np.errstate(divide="ignore", invalid="ignore"):
            deviation = (self.values - self.mean[:, None]) ** 2
            variance: FloatArray = np.sum(self.counts * deviation, axis=1) / np.where(self.n > 1, self.n - 1, np.nan)
        return variance

    @property
    def flips(self) -> FloatArray:
        """The probability that two verdicts on a unit differ, shape (U,), unbiased; NaN for fewer than two."""
        n = self.n
        with np.errstate(divide="ignore", invalid="ignore"):
            same = np.sum(self.counts * (self.counts - 1), axis=1) / np.where(n > 1, n * (n - 1), np.nan)
        return np.asarray(1 - same)

    def keep_questions(self, questions: Collection[str]) -> VerdictTable:
        """Return the verdicts on completions of these questions only; `questions` keeps all names.

        >>> table = VerdictTable("demo", ("a",), ("p", "q"), [0, 0], [0, 1], [0, 1], [[2, 1], [3, 0]], [1.0, 0.0])
        >>> table.keep_questions({"q"}).unit.tolist()
        [1]
        """
        wanted_names = set(questions)
        is_selected = np.array([name in wanted_names for name in self.questions], bool)[self.question]
        fields = ("model", "question", "unit")
        return replace(self, **{name: getattr(self, name)[is_selected] for name in fields})


class VerdictComponents(NamedTuple):
    """Variances D of questions, E of completions and J of verdicts."""

    data: float
    generation: float
    judge: float


@dataclass(frozen=True, eq=False)
class JudgeNoise(Result):
    """Components of the noise of judged scores; arrays have shape (M,).

    Attributes
    ----------
    n_completions, n_verdicts
        Judged completions, and readable verdicts on them (a verdict that several completions share counts once).
    judge, generation, data
        Variances J, E and D; NaN where unknown. E and D may be negative.
    se_judge, se_generation, se_data
        What each adds to the standard error of the score.
    flip_rate, low, high
        Probability that two verdicts on the same completion differ, with its interval for new questions.

    Examples
    --------
    >>> table = VerdictTable("demo", ("a",), ("p", "q"), [0, 0], [0, 1], [0, 1], [[2, 0], [1, 1]], [1.0, 0.0])
    >>> noise = measure_judge_noise(table)
    >>> noise["flip_rate"].tolist(), noise["se_judge"].round(4).tolist()
    ([0.5], [0.25])
    """

    benchmark: str
    models: tuple[str, ...]
    n_questions: IntArray
    n_completions: IntArray
    n_verdicts: IntArray
    score: FloatArray
    judge: FloatArray
    generation: FloatArray
    data: FloatArray
    se_judge: FloatArray
    se_generation: FloatArray
    se_data: FloatArray
    flip_rate: FloatArray
    flip_se: FloatArray = field(repr=False)
    flip_df: FloatArray = field(repr=False)
    flip_n: IntArray = field(repr=False)
    level: float = 0.95

    def interval(self, level: float | None = None) -> Limits:
        """Interval of each flip rate at a level in (0, 1)."""
        level = self.level if level is None else level
        between = interval(
            self.flip_rate,
            self.flip_se,
            self.flip_n,
            level=level,
            method="wilson-effective",
            df=self.flip_df,
            bounds=(0.0, 1.0),
        )
        return Limits(between.low, between.high, level)

    def average_components(self, models: Sequence[int]) -> VerdictComponents:
        """Return the mean of each variance over models, given by their indices; NaN where one is unknown."""
        at = list(models)
        return VerdictComponents(*(float(np.mean(part[at])) for part in (self.data, self.generation, self.judge)))

    declared = (
        "benchmark model=models n_completions n_verdicts score se_judge se_generation se_data flip_rate "
        "low=interval.low high=interval.high level note=_reasons.notes"
    )

    def _reasons(self) -> Conditions:
        return {
            "one verdict per completion: the judge's noise is unknown": np.isnan(self.judge),
            "one completion per question: generation and data noise cannot be separated": np.isnan(self.generation)
            & ~np.isnan(self.judge),
            "the judge never contradicted itself": self.flip_rate == 0,
        }


def measure_judge_noise(table: VerdictTable, *, level: float = 0.95) -> JudgeNoise:
    """Separate the noise of judged scores into questions, generations and verdicts.

    Parameters
    ----------
    table
        Verdicts on completions; completions without a readable verdict are left out.
    level
        Coverage of the interval of the flip rate in (0, 1).

    Returns
    -------
    JudgeNoise
        One row per model. Where a model has no completion with two verdicts, its judge variance is NaN.

    Notes
    -----
    Units with one verdict take the mean variance J of the others. The judge's part of the variance within a question
    with k completions is (sum_i V_i - (1/k) sum_u n_u^2 V_u)/(k - 1) with V = s2_u/r_u and n_u completions in unit u,
    which is mean V where no two completions share a verdict.

    References
    ----------
    Cochran (1977), Sampling techniques, section 10.6.

    Examples
    --------
    >>> table = VerdictTable("demo", ("a",), ("p", "q"), [0, 0], [0, 1], [0, 1], [[3, 0], [0, 3]], [1.0, 0.0])
    >>> measure_judge_noise(table)["flip_rate"].tolist()
    [0.0]
    """
    check_level(level)
    rows = [_measure_model(table, i) for i in range(len(table.models))]
    counts = {name: np.array([row[name] for row in rows], dtype=np.int64) for name in _COUNTS}
    figures = {name: np.array([row[name] for row in rows], dtype=float) for name in _FIGURES}
    return JudgeNoise(table.benchmark, table.models, level=level, **counts, **figures)  # type: ignore[arg-type]  # names


_COUNTS = ("n_questions", "n_completions", "n_verdicts", "flip_n")
_FIGURES = (
    *("score", "judge", "generation", "data", "se_judge", "se_generation", "se_data"),
    *("flip_rate", "flip_se", "flip_df"),
)


def _measure_model(table: VerdictTable, model: int) -> dict[str, float]:
    """Return the figures of one model by name."""
    out = dict.fromkeys((*_COUNTS, *_FIGURES), math.nan)
    unit_mean = table.mean
    here = (table.model == model) & ~np.isnan(unit_mean[table.unit])
    units, unit = np.unique(table.unit[here], return_inverse=True)
    questions, place = np.unique(table.question[here], return_inverse=True)
    k = np.bincount(place).astype(float)
    N = len(questions)
    out |= {"n_questions": N, "n_completions": int(here.sum()), "n_verdicts": int(table.n[units].sum()), "flip_n": 0}
    if not N:
        return out
    mean = unit_mean[units][unit]
    p = np.bincount(place, weights=mean) / k
    out["score"] = float(p.mean())
    variance, n = table.variance[units], table.n[units]
    several = ~np.isnan(variance)
    J = float(variance[several].mean()) if np.any(several) else math.nan
    error = np.where(several, variance, J) / n  # V_u
    weight = np.bincount(unit, weights=1 / (N * k[place]), minlength=len(units))
    out["judge"], out["se_judge"] = J, math.sqrt(float(np.sum(weight**2 * error)))
    judge_part = out["se_judge"] ** 2
    if np.any(k > 1):
        square = np.bincount(place, weights=(mean - p[place]) ** 2)
        # Pairs of completions of one question that share a unit: n_u^2 V_u summed over the units of each question.
        pairs, count = np.unique(np.stack([place, unit]), axis=1, return_counts=True)
        shared = np.bincount(pairs[0], weights=count**2 * error[pairs[1]], minlength=N)
        own = np.bincount(place, weights=error[unit], minlength=N)
        with np.errstate(divide="ignore", invalid="ignore"):
            within = (square - (own - shared / k)) / np.where(k > 1, k - 1, np.nan)
        E = float(np.mean(within[k > 1]))
        generation_part = E * float(np.sum(1 / k)) / N**2
        out["generation"], out["se_generation"] = E, math.sqrt(max(generation_part, 0))
        if N > 1:
            D = float(p.var(ddof=1)) - N * (generation_part + judge_part)
            out["data"], out["se_data"] = D, math.sqrt(max(D, 0) / N)
    _measure_flips(table, here, out)
    return out


def _measure_flips(
    table: VerdictTable, here: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], out: dict[str, float]
) -> None:
    """Add the flip rate of one model, the mean over questions of the mean over completions, with its error."""
    flips = table.flips[table.unit]
    some = here & ~np.isnan(flips)
    questions, place = np.unique(table.question[some], return_inverse=True)
    if not len(questions):
        return
    by_question = np.bincount(place, weights=flips[some]) / np.bincount(place)
    names = np.array(table.questions if table.clusters is None else table.clusters, dtype=object)[questions]
    spread = cluster_means(by_question[None], names.tolist())
    G = int(spread.n_clusters[0])
    out["flip_rate"], out["flip_n"] = float(by_question.mean()), G
    variance = float(spread.variance[0]) / len(questions)
    if G > 1:
        out["flip_se"], out["flip_df"] = math.sqrt(variance), float(spread.df[0])


@dataclass(frozen=True, eq=False)
class VerdictPlan(Result):
    """Designs that trade completions against verdicts, the one with the smallest error first.

    Examples
    --------
    >>> plan = plan_verdicts(data=0.1, generation=0.05, judge=0.1, questions=100, budget=500.0, verdict_cost=1.0)
    >>> plan[0]["generations"], plan[0]["verdicts"]
    (2, 1)
    """

    questions: IntArray
    generations: IntArray
    verdicts: IntArray
    cost: FloatArray
    se: FloatArray
    best_verdicts: float
    """The number of verdicts per completion that is best where both numbers may be fractions."""
    benchmark: str = ""
    model: str = ""

    declared = "benchmark model questions generations verdicts cost se"

    def _rows(self) -> RowPlaces:
        return [np.lexsort((self.cost, self.se))]


def plan_verdicts(
    *,
    data: float,
    generation: float,
    judge: float,
    questions: int,
    budget: float,
    completion_cost: float = 1.0,
    verdict_cost: float = 1.0,
    most: int = 20,
) -> VerdictPlan:
    """List the designs that a budget allows, with the standard error of a score for new questions.

    Parameters
    ----------
    data, generation, judge
        Variances D, E and J of `measure_judge_noise`; negative ones count as 0.
    questions
        Number of questions that exist; a design may use fewer.
    budget
        Largest cost, in the unit of the two costs.
    completion_cost, verdict_cost
        Cost of one completion and of one verdict.
    most
        Largest number of completions per question, and of verdicts per completion.

    Returns
    -------
    VerdictPlan
        For each number of verdicts the best affordable numbers of questions and completions; the smallest error
        first.

    Raises
    ------
    InputError
        When a variance is NaN, a cost or number is not positive, or the budget pays for no verdict.

    References
    ----------
    Cochran (1977), Sampling techniques, section 10.6.

    Examples
    --------
    >>> plan = plan_verdicts(data=0.1, generation=0.01, judge=0.2, questions=50, budget=400.0, completion_cost=4.0)
    >>> plan[0]["verdicts"], round(plan.best_verdicts, 1)
    (4, 8.9)
    """
    components = {"data": data, "generation": generation, "judge": judge}
    for name, value in components.items():
        if math.isnan(value):
            remedy = "give a pilot with several completions per question and several verdicts per completion"
            raise InputError(f"the {name} variance is unknown", remedy=remedy)
    if min(completion_cost, verdict_cost, budget) <= 0 or questions < 1:
        raise InputError("costs, the budget and the number of questions must be positive")
    D, E, J = (max(value, 0.0) for value in components.values())
    k, r = (values.ravel() for values in np.meshgrid(np.arange(1, most + 1), np.arange(1, most + 1)))
    each = k * (completion_cost + r * verdict_cost)
    N = np.minimum(questions, budget / each + 1e-9).astype(np.int64)
    possible = np.flatnonzero(N)
    if not len(possible):
        remedy = f"allow {completion_cost + verdict_cost:g} or more"
        raise InputError(f"a budget of {budget:g} pays for no completion with a verdict", remedy=remedy)
    se = np.sqrt((D + (E + J / r) / k) / np.maximum(N, 1))
    # Of each number of verdicts, the design with the smallest error.
    order = possible[np.lexsort((se[possible], r[possible]))]
    best_of = order[np.unique(r[order], return_index=True)[1]]
    best = math.sqrt(J * completion_cost / (E * verdict_cost)) if E > 0 else math.inf if J > 0 else 1.0
    cost: FloatArray = (N * each)[best_of].astype(np.float64)
    return VerdictPlan(N[best_of], k[best_of], r[best_of], cost, se[best_of], max(best, 1.0))
