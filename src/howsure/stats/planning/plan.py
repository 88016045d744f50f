"""Plan the number of questions, prompt variants and generations for a target error or a budget.

The best design is searched among all whole numbers (design_search.py), not rounded from a formula.

The variances of a pilot have estimation errors, and the cheapest design is the one that these errors favour. Designs
are therefore planned with the upper limit of their variance at a one-sided level, the assurance (Browne 1995; Kieser
and Wassmer 1996; the limit is that of variance_components.py). Measured on published answers of pairs of close models,
with a promised power of .80, from pilots of 30 x 1, 30 x 2, 50 x 5, 100 x 2 and 164 x 10 (questions x generations): the
assured plan delivers .82 to .89 on average and the plain one .62 to .80, for 1.1 to 1.9 times its cost. The error is
above the promised one in .12 to .28 of the assured plans, where .20 is nominal, and in about half of the plain ones;
the 80 % interval of the error, `se_low` to `se_high`, covers .72 to .89. From pilots of 50 questions x 5 prompts x 2,
prompts of sd .02, the error is above 1.25 times the promised one in .12 of the assured and .47 of the plain plans; from
100 x 10 x 2 in .07 and .31 (sd .03), .05 and .19 (sd .05). The price is prompts: twice the calls there, seven times
from five prompts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.stats.comparisons import POWER
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.claims import COST_UNITS, CostUnit, check_choice, check_level
from howsure.stats.core.results import Result, RowNotes
from howsure.stats.planning.cost import Cost, cost_per_cell
from howsure.stats.planning.design_search import DesignLimits, DesignSearch
from howsure.stats.planning.variance_components import (
    VarianceComponents,
    detectable_difference,
    se_for_detecting,
    se_for_width,
)

__all__ = ["ASSURANCE", "FEWEST_QUESTIONS", "INTERVAL_LEVEL", "StudyDesign", "StudyPlan", "plan"]

#: Default one-sided level of the upper limit of the variance that designs are planned with.
ASSURANCE = 0.8

#: Level of the printed interval of a design's standard error, `se_low` to `se_high`.
INTERVAL_LEVEL = 0.8

#: Default smallest number of questions: normal theory needs some tens, and data noise estimated as 0 may not be 0.
FEWEST_QUESTIONS = 30


class StudyDesign(NamedTuple):
    """One design, a row of a plan; the fields are the columns of `StudyPlan`.

    Examples
    --------
    >>> components = VarianceComponents(question=0.04, generation=0.16)
    >>> best = plan(components, Cost(prompt_tokens=900, completion_tokens=100), detect=0.05).best
    >>> best.n_questions, best.n_generations
    (628, 1)
    """

    n_questions: int
    n_variants: int
    n_generations: int
    se: float
    se_low: float
    se_high: float
    se_assured: float
    detectable: float
    calls: int
    tokens: float
    cost: float


@dataclass(frozen=True, eq=False)
class StudyPlan(Result):
    """Designs with their errors and costs, one per row; arrays have shape (R,).

    Attributes
    ----------
    components
        Variance components of the plan.
    n_questions, n_variants, n_generations
        N, S, K of each model; 0 questions where no number of questions suffices.
    se
        Standard error of the design as the components are estimated.
    se_low, se_high
        80 % interval of the true standard error of the design, from the errors of the components; equal to `se` where
        the components are known.
    se_assured
        Upper limit of the true standard error at the one-sided level `assurance`: the error that is planned with, and
        promised. Equal to `se` where the components are known, or taken as known. It never rises with the generations:
        a limit for fewer generations holds for more.
    detectable
        Smallest difference that is detected with the given power, if the standard error is `se_assured`.
    calls, tokens, cost
        Sums over all models that are paid; NaN where unknown.
    best
        The best design, which is also the first row; None where there is none.
    reason, remedy, remarks
        Note on the plan, such as the reason why there is no design; what would reach the goal where generations of
        these questions do not; and a note on each row. '' if none.
    plain
        The best design for components without errors, which is the row below the best; None for known components.
    assurance, goal
        Level of the upper limits, 0.5 where the components were taken as known; what was asked, as ("detect", 0.05).

    Examples
    --------
    >>> design = plan(VarianceComponents(question=0.04, generation=0.16), se=0.02, max_generations=1).best
    >>> design.n_questions, design.n_generations
    (500, 1)
    """

    components: VarianceComponents
    n_questions: IntArray
    n_variants: IntArray
    n_generations: IntArray
    se: FloatArray
    se_low: FloatArray
    se_high: FloatArray
    se_assured: FloatArray
    detectable: FloatArray
    calls: IntArray
    tokens: FloatArray
    cost: FloatArray
    best: StudyDesign | None = None
    reason: str = ""
    remarks: tuple[str, ...] = field(default=(), repr=False)
    plain: StudyDesign | None = None
    assurance: float = 0.5
    goal: tuple[str, float] = ("", math.nan)
    remedy: str = ""

    declared = (
        "benchmark=components.benchmark n_questions n_variants n_generations se se_low se_high se_assured "
        "detectable calls tokens cost note=_note"
    )

    @property
    def _note(self) -> NDArray[np.object_]:
        """Notes on each design."""
        shared = self.reason, self.remedy, self.components.note
        return np.array([RowNotes(one, *shared) for one in self.remarks], dtype=object)


def plan(
    components: VarianceComponents,
    cost: Cost | Sequence[Cost] | None = None,
    *,
    detect: float | None = None,
    width: float | None = None,
    se: float | None = None,
    budget: float | None = None,
    unit: CostUnit | None = None,
    level: float = 0.95,
    power: float = POWER,
    available: int | None = None,
    fewest: int = FEWEST_QUESTIONS,
    max_variants: int = 1,
    max_generations: int = 10_000,
    every: bool = False,
    assurance: float | None = ASSURANCE,
) -> StudyPlan:
    """Find the cheapest design for a target error, or the best design for a budget.

    Parameters
    ----------
    components
        Variance components: from a pilot (`components_from_cells`, `components_from_cube`), assumed
        (`components_from_accuracy`), or given.
    cost
        Cost of each model; one `Cost` is used for all, a sequence pays exactly the models in it. None: only calls are
        counted, one per generation.
    detect, width, se, budget
        Exactly one of: the smallest difference to detect with `power` at `level`; the width of the interval at `level`,
        upper minus lower limit; the standard error; the budget, in `unit`.
    unit
        Unit that is minimised, or that `budget` is given in; None: the last known of `COST_UNITS`.
    level, power
        Level of the test and of the interval, in (0, 1), and power, from 0.5 to below 1.
    available
        Number of available questions; None: unlimited.
    fewest
        Smallest number of questions of a design, if so many are available.
    max_variants, max_generations
        Largest numbers per question. With several variants, every question is asked in all of them.
    every
        Whether to return a row for every combination of generations and variants, instead of other generations for the
        best variants, and of other variants with the best generations for each.
    assurance
        One-sided level, from 0.5 to below 1, of the upper limit of the squared error that is planned with, from the
        errors of the components. 0.5 or None: the components are taken as known. Components without errors give the
        same plan at any assurance.

    Returns
    -------
    StudyPlan
        The best design, and rows with other numbers of generations and variants for the same target or budget. Numbers
        of variants for which no number of generations suffices have no row.

    Raises
    ------
    InputError
        Where not exactly one goal is given, an argument is out of range, or all components are 0.

    Notes
    -----
    The squared error of a design of N questions, S variants and K generations is

        vQ (1/N - 1/N_all) + vS/S + vQS/(N S) + ve/(N S K)

    Of equally cheap designs, the one with the smaller error is best; of equal errors, the cheaper one, then the one
    with fewer generations and variants.

    References
    ----------
    Browne, R. H. (1995), On the use of a pilot sample for sample size determination, Statistics in Medicine 14. Kieser,
    M. and Wassmer, G. (1996), On the use of the upper confidence limit for the variance from a pilot sample for sample
    size determination, Biometrical Journal 38.

    Examples
    --------
    >>> pair = VarianceComponents(question=0.04, generation=0.16)
    >>> plan(pair, Cost(prompt_tokens=900, completion_tokens=100, generations_per_request=8), detect=0.05).best[:3]
    (210, 1, 6)
    """
    check_level(level, where="plan")
    costs = _cost_of_each_model(cost, components)
    if not components.single > 0:
        reason = "its components are 0" if components.single == 0 else components.note or "they are unknown"
        raise InputError(
            f"there is no noise to plan with: {reason}",
            where=components.benchmark or "plan",
            remedy="give a pilot of more questions, or assume an accuracy",
        )
    goal: dict[str, float | None] = {"detect": detect, "width": width, "se": se, "budget": budget}
    limits = _limits(components, available, fewest, max_variants, max_generations)
    target = _target_or_budget(goal, level, power)
    search = DesignSearch(components, costs, _choose_unit(costs, unit), limits, *target, assurance)
    best = search.best()
    N, S, K, remarks = search.ladder(best, every=every)
    first = []
    if best:
        first.append((best, search.merit() + search.assurance_text))
    if search.assured and (plain := search._replace(assurance=None).best()):
        without = "" if components.question > 0 else ", without data noise"
        first.append((plain, f"plain plan: {search.merit()} if the noise were exactly as estimated{without}"))
    N, S, K = (np.append([row[0][i] for row in first], rest).astype(np.int64) for i, rest in enumerate((N, S, K)))
    remarks = [*(row[1] for row in first), *remarks]
    unsplit = (
        ""
        if components.is_separable
        else "only single generations can be planned, because data and prediction noise are not known separately"
    )
    remark = f"more than {max_variants} variants were not tried (max_variants)"
    bound = remark if best is not None and best[1] == max_variants > 1 else ""
    reason = RowNotes(search.limiting_reason(best) if best else search.reason(), unsplit, bound)
    table = _tabulate(components, costs, (N, S, K), level, power, assurance, reason, remarks)
    rows = [_design_of_row(table, row) for row in range(len(first))]
    return replace(
        table,
        best=rows[0] if best else None,
        plain=rows[-1] if rows and search.assured else None,
        assurance=assurance if assurance is not None and search.assured else 0.5,
        remedy="" if best else search.more_questions(),
        goal=next((name, value) for name, value in goal.items() if value is not None),
    )


def _tabulate(
    components: VarianceComponents,
    costs: tuple[Cost, ...],
    design: tuple[IntArray, IntArray, IntArray],
    level: float,
    power: float,
    assurance: float | None,
    reason: str,
    remarks: Sequence[str],
) -> StudyPlan:
    """Return a plan with a row for each design: its error as estimated, the limits of it, and the assured one."""
    N, S, K = design
    some = np.maximum(N, 1)
    plain, assured = (components.variance(some, K, S, assurance=each) for each in (None, assurance))
    variances = (plain, *components.limits(some, K, S, level=INTERVAL_LEVEL), assured)
    se, se_low, se_high, se_assured = (np.where(N > 0, np.sqrt(each), np.nan) for each in variances)
    calls, tokens, cost = (np.where(N > 0, N * S * cost_per_cell(costs, K, unit), np.nan) for unit in COST_UNITS)
    detectable = detectable_difference(se_assured, level=level, power=power)
    return StudyPlan(
        components,
        N,
        S,
        K,
        se,
        se_low,
        se_high,
        se_assured,
        detectable,
        np.nan_to_num(calls).astype(np.int64),
        tokens,
        cost,
        reason=reason,
        remarks=tuple(remarks),
    )


def _design_of_row(table: StudyPlan, row: int) -> StudyDesign:
    """Return one row of a plan."""
    return StudyDesign(*(getattr(table, name)[row].item() for name in StudyDesign._fields))


def _cost_of_each_model(cost: Cost | Sequence[Cost] | None, components: VarianceComponents) -> tuple[Cost, ...]:
    """Return the cost of each model that is paid."""
    if cost is None or isinstance(cost, Cost):
        return (cost or Cost(),) * components.models
    if not 1 <= len(cost) <= components.models:
        raise InputError(
            f"cost is of {len(cost)} models", where="plan", remedy=f"allowed: from 1 to {components.models} of them"
        )
    return tuple(cost)


def _choose_unit(costs: tuple[Cost, ...], unit: CostUnit | None) -> CostUnit:
    """Return the unit, by default the last one that is known, or raise `InputError` if its cost is unknown or 0."""
    per_generation = {name: float(cost_per_cell(costs, 1, name)) for name in COST_UNITS}
    if unit is None:
        return next(name for name in reversed(COST_UNITS) if per_generation[name] > 0)
    check_choice("unit", unit, COST_UNITS, where="plan")
    if not per_generation[unit] > 0:
        what = "unknown" if math.isnan(per_generation[unit]) else "0 and limits no design"
        needed = ["prompt_tokens", "completion_tokens", *(("input_price", "output_price") if unit == "cost" else ())]
        missing = [name for name in needed if any(not getattr(cost, name) > 0 for cost in costs)]
        options = "--cost " + ",".join(f"{name}=N" for name in missing)
        remedy = f"give {options} (in Python, {', '.join(missing)} of Cost)"
        name = "number of tokens" if unit == "tokens" else unit
        raise InputError(f"the {name} of a generation is {what}", where="plan", remedy=remedy)
    return unit


def _limits(
    components: VarianceComponents, available: int | None, fewest: int, variants: int, generations: int
) -> DesignLimits:
    limits = {"available": available, "fewest": fewest, "max_variants": variants, "max_generations": generations}
    for name, value in limits.items():
        if value is not None and (value != int(value) or value < 1):
            raise InputError(f"{name} is {value!r}", where="plan", remedy="allowed: 1, 2, 3, ...")
    most = min(math.inf if available is None else available, components.population)
    if not components.is_separable:
        variants, generations = variants if components.has_variants else 1, 1
    return DesignLimits(most, min(fewest, most), variants, generations)


def _target_or_budget(goal: dict[str, float | None], level: float, power: float) -> tuple[float, float]:
    """The standard error to reach, and what may be spent: one of them, the other NaN."""
    given = {name: value for name, value in goal.items() if value is not None}
    if len(given) != 1:
        what = f"{' and '.join(given)} given" if given else "no goal given"
        raise InputError(what, where="plan", remedy=f"give one of {', '.join(goal)}")
    ((name, value),) = given.items()
    if not 0 < value < math.inf:
        raise InputError(f"{name} is {value!r}", where="plan", remedy="allowed: above 0")
    if name == "budget":
        return math.nan, value
    if name == "detect":
        return float(se_for_detecting(value, level=level, power=power)), math.nan
    return float(se_for_width(value, level=level)) if name == "width" else value, math.nan
