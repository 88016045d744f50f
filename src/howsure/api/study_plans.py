"""Plan how many questions, prompt variants and generations an evaluation needs, and look up the noise of benchmarks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import NamedTuple, TypeAlias, cast

from howsure.api.question_studies import apply_to_binary
from howsure.api.report_facts import measure_costs
from howsure.api.result_selection import (
    CellsLike,
    check_two_models,
    open_results,
    select_variant_cubes,
    select_with_models,
    warn_of_left_out,
)
from howsure.benchmarks.published_noise import find_benchmarks, read_published_noise
from howsure.errors import InputError
from howsure.results.evaluations import Evaluations, to_cells
from howsure.results.sources import Data
from howsure.stats import borrowing, planning
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import MEAN_CLAIMS, CostUnit, MeanClaim, check_choice, check_level
from howsure.stats.core.cube import Cube
from howsure.stats.core.results import Results
from howsure.stats.planning import (
    Cost,
    components_from_accuracy,
    components_from_cells,
    components_from_cube,
    components_from_noise,
)

#: Results of a pilot, with or without prompt variants.
PilotLike: TypeAlias = Data | Evaluations | Cells | Cube | Iterable[Cells | Cube]


def plan(
    pilot: PilotLike | None = None,
    *,
    detect: float | None = None,
    width: float | None = None,
    se: float | None = None,
    budget: float | None = None,
    unit: CostUnit | None = None,
    level: float = 0.95,
    power: float = 0.8,
    a: str | None = None,
    b: str | None = None,
    accuracy: float | None = None,
    temperature: float | None = None,
    like: str | None = None,
    cost: Cost | None = None,
    available: int | None = None,
    fewest: int = 30,
    max_variants: int | None = None,
    max_generations: int = 10_000,
    claim: MeanClaim = "new-questions",
    assurance: float = 0.8,
    borrow: CellsLike | None = None,
    every: bool = False,
) -> Results:
    r"""Find the cheapest design for a target error, or the best design for a budget, on each benchmark.

    Exactly one of `detect`, `width`, `se` and `budget` is given.

    Parameters
    ----------
    pilot
        Results to estimate the noise from, in any form that `howsure.read` takes or returns, or one or several `Cells`
        and `Cube`; None if the noise is assumed from `accuracy` or estimated from `borrow`. A pilot with several prompt
        variants plans for new variants of their space, any other for the prompts that it has.
    detect
        The smallest difference of two models that a test at 1 - `level` finds in 80 % of cases (the default of power).
    width
        Width from low to high of the interval of the difference, or of the score of one model (`a` alone).
    se
        Standard error of the difference, or of the score of one model.
    budget
        What may be spent at most, in `unit`.
    unit
        What a budget counts or a design should save: ``"calls"``, ``"tokens"`` or ``"cost"``; by default the last of
        these whose price is known.
    level
        Coverage of the interval, between 0 and 1.
    power
        Probability that the test finds the difference, between 0 and 1.
    a, b
        Models to compare; `a` alone plans for its score. By default the two models, or the one, of the pilot.
    accuracy
        Without a pilot: how often the models are right, on which the assumed noise depends.
    temperature
        Without a pilot: the sampling temperature; up to 0.2 answers vary less.
    like
        Without a pilot: a benchmark with published noise, as ``--like all`` lists them; the plan is for models of this
        `accuracy`, or for models such as were evaluated there. Its number of questions is the default of `available`.
    cost
        Tokens and prices of each model. What it does not state is taken from the pilot where `unit` is ``"tokens"`` or
        ``"cost"``: the mean tokens of each model in run folders and logs, and its price. None counts one call per
        generation, whatever the pilot states, where no `unit` is given.
    available
        Questions that exist; by default those of the pilot, or of `borrow`.
    max_variants
        Prompt variants at most; by default as many as the pilot has.
    fewest
        Questions that a design has at least, if so many are available.
    max_generations
        Generations per question and variant at most.
    claim
        ``"new-questions"``: for other questions like these; ``"these-questions"``: for these, asked again.
    assurance
        Probability, from 0.5 to below 1, that the design reaches its goal given the uncertainty of the pilot: designs
        are planned with the upper limit of their variance at this one-sided level. At 0.5 the noise is taken as
        estimated, which misses the goal in about half of all cases. The plain plan is a row of its own.
    borrow
        Results of other models on all questions, as for `howsure.score`: the plan says how many of those questions to
        answer, which ``limit`` of an experiment draws. Without a pilot the noise is that of the reference models, each
        predicted from the others.
    every
        Whether to add a row for every combination of generations and variants.

    Returns
    -------
    Results
        One `StudyPlan` per benchmark in `parts`: ``best`` is the design, and the rows show what other numbers of
        generations and variants need for the same goal, or buy for the same budget.

    Raises
    ------
    InputError
        If there is nothing to plan from, no goal or two goals, or an argument is out of range.

    Notes
    -----
    A design of N questions, S variants and K generations per cell has the squared error

    .. math:: \frac{Q}{N} + \frac{V}{S} + \frac{I}{N S} + \frac{E}{N S K}

    with the variance components of questions, variants, their interaction and generations. The upper limit of this sum
    comes from the errors of the components [1]_ [2]_.

    References
    ----------
    .. [1] Browne (1995), On the use of a pilot sample for sample size determination.
    .. [2] Kieser and Wassmer (1996), On the use of the upper confidence limit for the variance from a pilot sample for
       sample size determination.

    Examples
    --------
    >>> import howsure as hs
    >>> cells = hs.Cells.from_scores("demo", ["a"], list("pqrs"), [[[1, 0], [1, 1], [0, 0], [0, 1]]])
    >>> assured = hs.plan(cells, width=0.2, available=10_000)
    >>> plain = hs.plan(cells, width=0.2, available=10_000, assurance=0.5)
    >>> assured.parts[0].best.n_questions, plain.parts[0].best.n_questions
    (121, 113)
    """
    check_level(level)
    pilot = _open_pilot(pilot)
    noises = _estimate_noise(
        pilot,
        a=a,
        b=b,
        accuracy=accuracy,
        temperature=temperature,
        like=like,
        available=available,
        max_variants=max_variants,
        claim=claim,
        borrow=borrow,
        is_pair=detect is not None,
    )
    if detect is not None and detect > 1 and any(noise.unit for noise in noises):
        raise InputError(
            f"a difference of {detect:g} with scores from 0 to 1",
            where=f"--detect {detect:g}",
            remedy="give at most 1, such as 0.02 for two points of a hundred",
        )
    return Results(
        tuple(
            planning.plan(
                noise.components,
                _complete_costs(cost, noise, pilot, unit),
                detect=detect,
                width=width,
                se=se,
                budget=budget,
                unit=unit,
                level=level,
                power=power,
                available=noise.n_questions,
                fewest=fewest,
                max_variants=noise.n_variants,
                max_generations=max_generations,
                every=every,
                assurance=assurance,
            )
            for noise in noises
        )
    )


def noise(
    data: CellsLike | None = None,
    *,
    like: str | Sequence[str] | None = None,
    accuracy: float | None = None,
    every_column: bool = False,
) -> Results:
    """Look up the noise of published benchmarks: standard errors of one generation per question.

    Parameters
    ----------
    data
        Own results, as for `howsure.score`, whose noise is measured and listed first; scores must be 0 and 1.
    like
        Names of published benchmarks; by default all of them.
    accuracy
        Score of the models that the errors are for, strictly between 0 and 1; by default root mean squares over
        the models that were evaluated.
    every_column
        Also tabulate the parts of the error of a score, the correlation of two models, and the numbers of models and
        pairs.

    Returns
    -------
    Results
        A row per benchmark: the standard error ``se`` of a score; of the difference of two close models
        ``se_difference`` with its parts ``se_data`` and ``se_prediction``; the smallest difference ``detectable`` with
        a power of .8 at a level of .95; ``n_different``, the questions on which two such models differ on average, and
        ``n_unsolved``, those that no model solved.

    Raises
    ------
    InputError
        If a name or the accuracy is not allowed, or the data have no scores of 0 and 1.

    Notes
    -----
    Two models are close if their difference is at most five standard errors. For another accuracy p the variances are
    multiplied by p(1-p) over its mean over the models, which is exact for a score. On the five benchmarks whose pairs
    were computed again, the error of a difference was .84 to 1.16 times this (10 to 90 % of the
    pairs; ``bench/published_noise.py`` at commit a7288079).

    References
    ----------
    Wang (2025), Measuring all the noises of LLM evals, section D. The file `benchmarks/published_noise.csv` of the
    package says where the figures come from.

    Examples
    --------
    >>> import howsure as hs
    >>> hs.noise(like="math500", accuracy=0.7)["se"].round(4).tolist()
    [0.0205]
    """
    names = [like] if isinstance(like, str) else like
    table = read_published_noise()
    if names is not None:
        table = table.select(*dict.fromkeys(name for one in names for name in find_benchmarks(one)))
    own = [] if data is None else apply_to_binary(data, planning.measure_noise, "the noise of a benchmark")
    parts = [*own, table] if accuracy is None else [part.at_accuracy(accuracy) for part in (*own, table)]
    return Results(tuple(replace(part, every_column=every_column) for part in parts))


class _Noise(NamedTuple):
    """Variance components of one benchmark, and the numbers of questions and variants that a plan may have."""

    components: planning.VarianceComponents
    n_questions: int | None
    n_variants: int
    models: tuple[str, ...] = ()
    unit: bool = True


def _open_pilot(pilot: PilotLike | None) -> Evaluations | list[Cells | Cube] | None:
    """Return the results of a pilot, which are read once, or its cells and cubes."""
    given = [pilot] if isinstance(pilot, Cells | Cube) else pilot
    if isinstance(given, list | tuple) and given and all(isinstance(one, Cells | Cube) for one in given):
        return list(given)
    return None if given is None else open_results(cast("Data | Evaluations", given))


def _complete_costs(
    cost: Cost | None, noise: _Noise, pilot: Evaluations | list[Cells | Cube] | None, unit: CostUnit | None
) -> Cost | list[Cost] | None:
    """Return the cost of each model, where the unit is tokens or money with what the pilot's rows state of them."""
    if not isinstance(pilot, Evaluations) or unit not in {"tokens", "cost"}:
        return cost
    measured = measure_costs(pilot.sources).get(noise.components.benchmark, {})
    if not noise.models or not set(noise.models) <= measured.keys():
        return cost
    costs = [measured[model] for model in noise.models]
    if cost is None:
        return costs
    given = {one.name: getattr(cost, one.name) for one in fields(cost)}
    stated = {name: value for name, value in given.items() if value is not None and not math.isnan(value)}
    return [replace(one, **stated) for one in costs]


def _select_pilots(results: Evaluations | list[Cells | Cube], a: str | None, b: str | None) -> Sequence[Cells | Cube]:
    """Return the cells of each benchmark that has the models, or its cube if it has several prompt variants."""
    if a is None and b is not None:
        raise InputError("b without a", where="plan", remedy="name one model as a, or two as a and b")
    if isinstance(results, Evaluations):
        cubes = select_variant_cubes(results)
        results = [cubes.get(cells.benchmark, cells) for cells in results.cells()]
    if a is None:
        return results
    named = [a] if b is None else [a, b]
    selected = select_with_models(results, named)
    warn_of_left_out(results, named, stacklevel=4)
    return selected


def _estimate_noise(
    pilot: Evaluations | list[Cells | Cube] | None,
    *,
    a: str | None,
    b: str | None,
    accuracy: float | None,
    temperature: float | None,
    like: str | None,
    available: int | None,
    max_variants: int | None,
    claim: MeanClaim,
    borrow: CellsLike | None,
    is_pair: bool,
) -> list[_Noise]:
    """Return the noise of each benchmark, from the pilot, the reference or the assumed accuracy."""
    check_choice("claim", claim, MEAN_CLAIMS)
    check_two_models(a, b, where="plan")
    references = None if borrow is None else to_cells(borrow)
    if references is not None:
        if accuracy is not None:
            raise InputError("accuracy with borrow", remedy="leave it out: the noise is that of the reference")
        _check_single_variant(max_variants, "borrowing plans for one prompt variant")
    if pilot is None:
        return _assume_noise(
            a, b, accuracy, temperature, like, available, max_variants, claim, references, is_pair=is_pair
        )
    for option, value in (("temperature", temperature), ("like", like)):
        if value is not None:
            what = "it is for plans without a pilot; the noise of this pilot is measured"
            raise InputError(what, where=f"--{option} {value}", remedy="leave it out")
    result = []
    for data in _select_pilots(pilot, a, b):
        models = [a, b] if a is not None else list(data.models)
        if len(models) > 2:
            raise InputError(f"{len(models)} models", where=data.benchmark, remedy="name one or two with --a and --b")
        names = [name for name in models if name is not None]
        if references is not None:
            cells = data.cells() if isinstance(data, Cube) else data
            reference = borrowing.match_reference(cells.benchmark, references)
            components = borrowing.components_of(reference, cells, *names, claim=claim)
            n_questions, n_variants = len(reference.questions), 1
        elif isinstance(data, Cube) and len(data.drawn.variants) > 1:
            components = components_from_cube(data, *names, claim=claim)
            n_questions = len(data.questions)
            n_variants = len(data.drawn.variants) if max_variants is None else max_variants
        else:
            what = f"{data.benchmark}: the noise of the prompt cannot be estimated from one prompt variant"
            _check_single_variant(max_variants, what)
            cells = data.cells() if isinstance(data, Cube) else data
            components, n_questions, n_variants = (
                components_from_cells(cells, *names, claim=claim),
                len(data.questions),
                1,
            )
        n_available = n_questions if available is None else available
        result.append(_Noise(components, n_available, n_variants, tuple(names), data.unit))
    return result


def _assume_noise(
    a: str | None,
    b: str | None,
    accuracy: float | None,
    temperature: float | None,
    like: str | None,
    available: int | None,
    max_variants: int | None,
    claim: MeanClaim,
    references: list[Cells] | None,
    *,
    is_pair: bool,
) -> list[_Noise]:
    """Return the noise without a pilot: that of the reference models, or what is assumed for an accuracy."""
    if references is not None:
        if like is not None:
            raise InputError("like with borrow", remedy="leave one out: the noise is that of the reference")
        models = 2 if is_pair else 1
        return [
            _Noise(
                borrowing.components_of_reference(one, models=models, claim=claim),
                len(one.questions) if available is None else available,
                1,
                unit=one.unit,
            )
            for one in references
        ]
    if accuracy is None and like is None:
        raise InputError("nothing to plan from", remedy="give the results of a pilot, --accuracy, or --like BENCHMARK")
    _check_single_variant(max_variants, "the noise of the prompt does not follow from an accuracy")
    n_models = 1 if a is not None and b is None else 2
    if like is not None:
        if temperature is not None:
            remedy = "leave it out, or plan from --accuracy alone"
            raise InputError("published results have a temperature of their own", where="--temperature", remedy=remedy)
        published = _select_published(like)
        components = components_from_noise(published, accuracy, models=n_models)
        available = int(published.n_questions[0]) if available is None else available
    else:
        components = components_from_accuracy(cast("float", accuracy), models=n_models, temperature=temperature)
    if claim == "these-questions":
        # If all questions are answered there is no data noise; if some are, it comes from those that are not.
        components = (
            replace(components, question=0.0, question_se=0.0, total=math.nan, total_se=math.nan)
            if available is None
            else replace(components, population=available)
        )
    return [_Noise(components, available, 1)]


def _select_published(name: str) -> planning.BenchmarkNoise:
    """Return the published noise of one benchmark; raise InputError where a name means several."""
    names = find_benchmarks(name)
    if len(names) > 1:
        raise InputError(
            f"{name!r} means {len(names)} benchmarks", where="--like", remedy=f"name one: {', '.join(names)}"
        )
    return read_published_noise().select(*names)


def _check_single_variant(max_variants: int | None, what: str) -> None:
    """Raise InputError if several variants are asked for where only one can be planned."""
    if max_variants not in {None, 1}:
        remedy = "give a pilot with several prompt variants"
        raise InputError(what, where=f"--max-variants {max_variants}", remedy=remedy)
