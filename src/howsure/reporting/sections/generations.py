"""Part of section 5 of the page: what more generations would buy, and the best design for a budget."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.reporting.charts import (
    BLUE,
    GREY,
    MAX_SERIES,
    ORANGE,
    Chart,
    PlotData,
    across,
    columns_of,
    draw,
    finish_chart,
    finish_panels,
    number,
    repeat_names,
    style_series,
    style_values,
    tooltips,
)
from howsure.reporting.elements import ElementBuilder, Figure, Section
from howsure.reporting.formatting import (
    describe_drawn,
    format_count,
    format_each,
    format_level,
    format_number,
    format_range,
    format_significant,
)
from howsure.reporting.sections.score_table import pick_spaced
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import COST_UNITS, CostUnit
from howsure.stats.core.cube import Cube
from howsure.stats.core.intervals import Limits
from howsure.stats.core.text_table import choose_decimals
from howsure.stats.planning import (
    Cost,
    ErrorParts,
    StudyDesign,
    VarianceComponents,
    cost_per_cell,
    plan,
    split_prompt_error,
    split_score_error,
)
from howsure.stats.repeats import Convergence, convergence
from howsure.stats.scores import Scores, score

#: Numbers of generations that grow by about the same factor.
_STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 70, 100, 150, 200)

#: Largest number of generations in the figure of run ranges.
_MAX_DRAWN = 50

#: Budgets of the frontier, as multiples of the cost of the run.
_BUDGETS = 2.0 ** np.arange(-5, 4)


@dataclass(frozen=True)
class ModelPilot:
    """Design and variance components of one model in the data.

    Attributes
    ----------
    counts
        Generations of each cell of a question and a prompt with at least one generation.
    n_failed
        Generations without a score, which are in no cell.
    score_error
        Parts of the standard error of the run: with one prompt of the score, with several of the mean over prompts.
    n_default
        Generations with the default prompt, which was not drawn and is in no cell.
    """

    model: str
    components: VarianceComponents
    n_questions: int
    n_variants: int
    counts: IntArray
    n_failed: int = 0
    score_error: ErrorParts | None = None
    n_default: int = 0

    @property
    def n_generations(self) -> float:
        """Mean number of generations per question and prompt."""
        return float(self.counts.mean())

    @property
    def n_missing(self) -> int:
        """Cells of a question and a prompt without a generation."""
        return self.n_questions * self.n_variants - len(self.counts)

    @property
    def run_error(self) -> float:
        """Standard error with the generations at hand."""
        if self.score_error is None:
            return float(self.standard_error(self.n_generations))
        return self.score_error.standard_error

    def standard_error(self, k: FloatArray | float) -> FloatArray:
        """Standard error for new questions and prompts, with as many as here and k generations each."""
        error: FloatArray = np.sqrt(self.components.variance(self.n_questions, k, self.n_variants))
        return error


def build_generations_section(
    cells: Cells,
    scores: Scores,
    order: Sequence[str],
    builder: ElementBuilder,
    *,
    cube: Cube | None = None,
    cost: Cost | None = None,
    greedy: Mapping[str, float] | None = None,
) -> Section:
    """Build the section on run ranges, standard errors against generations, and the budget frontier."""
    several = cube is not None and len(cube.drawn.variants) > 1
    sampled = [model for model in order if not math.isnan(scores.prediction[cells.index(model)])]
    pilots = [
        pilot for model in sampled if (pilot := _estimate_pilot(cells, cube if several else None, model)) is not None
    ]
    figures: list[Figure] = []
    # Scores of one question in several prompts, as in a table of scores, are not generations of that question.
    if not (several and len(cells.questions) == 1):
        figures += _build_range_figure(cells, cube, scores, sampled, builder, greedy or {})
    if pilots:
        in_clusters = cells.clusters is not None
        figures.append(_build_error_figure(pilots, builder, several=several, in_clusters=in_clusters))
        figures += _build_frontier_figure(pilots[0], cost or Cost(), builder, in_clusters=in_clusters)
    each = "per question and prompt" if several else "per question"
    left_out = []
    if not figures:
        left_out = [f"how many generations are enough (one generation {each})"]
    elif not pilots:
        left_out = [f"what more generations would buy (one generation {each}, or no noise was seen)"]
    return Section(
        "generations-part",
        "How many generations are enough",
        "How many generations",
        "More generations per question reduce the sampling noise of a score; the noise of the choice of questions "
        "remains. More questions reduce both.",
        tuple(figures),
        tuple(left_out),
    )


def _estimate_pilot(cells: Cells, cube: Cube | None, model: str) -> ModelPilot | None:
    """Return the variance components of a model; None if they are unknown or there is no noise.

    They make up the squared standard error of the table of scores (with several prompts that in new prompts), unless
    data noise, or the interaction of question and prompt, is estimated below 0.
    """
    n_default = 0
    if cube is None or model not in cube.models:
        n, n_variants = cells.n[cells.index(model)][:, None], 1
        parts = split_score_error(cells, model)
    else:
        n = cube.drawn.n[cube.index(model)]
        n_variants = int(np.sum(np.any(n > 0, axis=0)))
        n_default = int(cube.n[cube.index(model)].sum() - n.sum())
        parts = split_prompt_error(cube, model)
    components = parts.components
    if not components.is_separable or not components.single > 0:
        return None
    n_failed = 0 if cells.failed is None else int(cells.failed[cells.index(model)].sum())
    n_questions = int(np.sum(np.any(n > 0, axis=1)))
    return ModelPilot(model, components, n_questions, n_variants, n[n > 0], n_failed, parts, n_default)


def _build_range_figure(
    cells: Cells,
    cube: Cube | None,
    scores: Scores,
    sampled: Sequence[str],
    builder: ElementBuilder,
    greedy_scores: Mapping[str, float],
) -> Iterator[Figure]:
    """Yield the figure of the ranges in which runs fall, if some model has several generations per question."""
    counts = {model: _typical_generations(cells.n[cells.index(model)]) for model in sampled}
    several = [model for model in sampled if counts[model] > 1]
    if not several:
        return
    models = pick_spaced(several, MAX_SERIES)
    ends = {model: min(counts[model], _MAX_DRAWN) for model in models}
    k = sorted({step for step in _STEPS if step <= max(ends.values())} | set(ends.values()))
    drawn = cells.select(models)
    ranges = convergence(drawn, k, level=scores.level)
    new = ranges.scale_interval(score(drawn, level=scores.level))
    greedy = {model: greedy_scores[model] for model in models if model in greedy_scores}
    caption = describe_run_ranges(ranges, new, greedy, ends)
    if cube is not None and len(cube.variants) > 1:
        numbers = [_count_variants(cube, model) for model in models]
        least, most = min(numbers), max(numbers)
        whose = "each model" if len(models) > 1 else models[0]
        range_of_numbers = f"{most:,}" if least == most else f"{least:,} to {most:,}"
        each = " of each question" if cube.nested else ""
        caption += f" Generations of {whose} are from {range_of_numbers} prompts{each}."
    caption += describe_drawn(len(models), len(sampled))
    yield builder.build_figure(
        "growing",
        caption,
        draw_run_ranges(ranges, new, ends, greedy),
        marks=4 * sum(step <= end for end in ends.values() for step in k),
    )


def _count_variants(cube: Cube, model: str) -> int:
    """Return the number of prompt variants in which a model has generations."""
    return int(np.sum(np.any(cube.n[cube.index(model)] > 0, axis=0))) if model in cube.models else 1


def _typical_generations(n: IntArray) -> int:
    """Return the number of generations that at least half of the answered questions have."""
    return int(np.median(n[n > 0]))


def _build_error_figure(
    pilots: Sequence[ModelPilot], builder: ElementBuilder, *, several: bool, in_clusters: bool
) -> Figure:
    """Return the figure of standard errors against generations."""
    drawn = pick_spaced(pilots, MAX_SERIES)
    first, most = drawn[0], max(2 * max(pilot.n_generations for pilot in drawn), 50)
    k = np.array([step for step in _STEPS if step <= most], float)
    points = {pilot.model: (pilot.n_generations, pilot.run_error) for pilot in drawn if pilot.n_generations <= k[-1]}
    has_point = first.model in points
    caption = describe_standard_errors(first, has_point=has_point, several=several, in_clusters=in_clusters)
    if several and first.n_missing:
        n_cells = first.n_missing + len(first.counts)
        caption += (
            f" {first.n_missing:,} of the {n_cells:,} pairs of a question and a prompt have no generation of "
            f"{first.model}: the error of these data takes that into account, the others are for generations in all "
            "pairs."
        )
    caption += _describe_table_error(first) + describe_drawn(len(drawn), len(pilots))
    return builder.build_figure(
        "errors-k",
        caption,
        draw_standard_errors(k, {pilot.model: pilot.standard_error(k) for pilot in drawn}, points),
        marks=(len(k) + 1) * len(drawn),
    )


def _describe_table_error(pilot: ModelPilot) -> str:
    """Return why the table of scores has a smaller error of the run; empty where it has not."""
    if pilot.score_error is None or math.isclose(pilot.run_error, pilot.score_error.table_error, rel_tol=1e-9):
        return ""
    places = choose_decimals(np.array([pilot.run_error, pilot.score_error.table_error])) + 1
    noise, error = "data noise", "error"
    if pilot.n_variants > 1:
        noise, error = "interaction of question and prompt", "error in new prompts"
    return (
        f" The {noise} of {pilot.model} is estimated below 0 and counts as 0 here; the table of scores, whose {error} "
        f"contains the estimate, has {format_number(pilot.score_error.table_error, places)}."
    )


def find_best_designs(pilot: ModelPilot, cost: Cost, unit: CostUnit, spent: float) -> dict[str, list[StudyDesign]]:
    """Return the best design for each of a few budgets around `spent`, by kind of design, cheapest first.

    With several prompts the kinds are designs with one prompt and designs with up to as many prompts as in the data,
    both with at most the questions at hand. With one prompt they are designs with at most the questions at hand and
    designs with any number of questions.
    """
    N, S = pilot.n_questions, pilot.n_variants
    kinds: dict[str, tuple[int | None, int]] = (
        {"one prompt": (N, 1), f"up to {S:,} prompts": (N, S)}
        if S > 1
        else {f"at most {N:,} questions": (N, 1), "any number of questions": (None, 1)}
    )
    designs: dict[str, list[StudyDesign]] = {}
    for kind, (available, variants) in kinds.items():
        best = [
            # without assurance: the error of the run, which the page shows beside it, has none
            plan(
                pilot.components,
                cost,
                budget=budget,
                unit=unit,
                available=available,
                max_variants=variants,
                assurance=None,
            ).best
            for budget in (spent * _BUDGETS).tolist()
        ]
        designs[kind] = list(dict.fromkeys(design for design in best if design is not None))
    return designs


def _build_frontier_figure(
    pilot: ModelPilot, cost: Cost, builder: ElementBuilder, *, in_clusters: bool
) -> Iterator[Figure]:
    """Yield the figure of the best error for each budget, if each kind of design has one."""
    unit = next(name for name in reversed(COST_UNITS) if float(cost_per_cell([cost], 1, name)) > 0)
    spent = float(cost_per_cell([cost], pilot.counts, unit).sum())
    designs = find_best_designs(pilot, cost, unit, spent)
    if not all(designs.values()):
        return
    run = (spent, pilot.run_error)
    yield builder.build_figure(
        "frontier",
        describe_frontier(designs, unit, run, pilot.n_failed, pilot.n_default)
        + (" More questions are planned in more clusters of the same sizes." if in_clusters else ""),
        draw_frontier(designs, unit, run),
        marks=2 * sum(map(len, designs.values())) + 1,
        model=pilot.model,
    )


def describe_run_ranges(ranges: Convergence, new: Limits, greedy: Mapping[str, float], ends: Mapping[str, int]) -> str:
    """Describe the ranges of runs with one and with all generations for one model, and greedy scores.

    `new` has the limits of the score on new questions, `ends` the number of generations of each model in the data.
    """
    model = ranges.models[0]
    places, k = choose_decimals(ranges.se[0]), ends[model]
    columns = [0, ranges.k.tolist().index(k)]
    one, several = (format_range(float(ranges.low[0, i]), float(ranges.high[0, i]), places) for i in columns)
    widths = [float(new.high[0, i] - new.low[0, i]) for i in columns]
    text = (
        f"On these questions, {format_level(ranges.level)} of the runs of {model} with one generation per question "
        f"score from {one}, with {k:,} from {several} (inner band)."
    )
    if not ranges.high[0, 0] > ranges.low[0, 0]:  # a band of no width would claim that no run can differ
        text = f"No two generations of {model} on a question scored differently: the range of its runs is unknown."
    if not math.isnan(sum(widths)):
        reason = ": the rest is mostly data noise" if ranges.mostly_data(model, k) else ""
        if widths[1] < ranges.high[0, columns[1]] - ranges.low[0, columns[1]]:
            reason = ", by chance less than the range of runs, because data noise is estimated below 0"
        text += (
            f" The interval for new questions (outer band) goes from a width of {format_number(widths[0], places)} to "
            f"one of {format_number(widths[1], places)}{reason}."
        )
    for name, value in greedy.items():
        i = ranges.models.index(name)
        side = "above" if value > ranges.high[i, 0] else "below" if value < ranges.low[i, 0] else "within"
        text += (
            f" Greedy decoding of {name} scores {format_number(value, places)}, {side} the range of runs with one "
            "sampled generation per question."
        )
    return text


def describe_standard_errors(pilot: ModelPilot, *, has_point: bool, several: bool, in_clusters: bool = False) -> str:
    """Describe the standard error of a model with one generation, with those of the data, and with any number.

    `several`: generations are per prompt and errors are for new prompts.
    """
    errors = (float(pilot.standard_error(1)), pilot.run_error, float(pilot.standard_error(math.inf)))
    one, now, least = format_each(errors, choose_decimals(np.array(errors)) + 1)  # the last two differ little
    each = "per question and prompt" if several else "per question"
    text = f"{pilot.model} has a standard error of {one} with one generation {each}"
    k = pilot.n_generations
    if not math.isclose(k, 1):
        count = f"{k:,.0f}" if k >= 100 or k == int(k) else f"{k:.3g}"
        text += f", {now} with {count}{' (the point)' if has_point else ''}"
    if not errors[2] > 0:
        return f"{text}, and no noise remains that generations could not remove."
    more = (
        f"only more questions{' in more clusters' if in_clusters else ''}{' and prompts' if several else ''} go below"
    )
    return f"{text} and {least} with any number of them: {more}."


def describe_frontier(
    designs: Mapping[str, Sequence[StudyDesign]],
    unit: str,
    run: tuple[float, float],
    n_failed: int = 0,
    n_default: int = 0,
) -> str:
    """Describe the best design at the cost of the run, for each kind of design.

    `n_failed` and `n_default` generations, without a score and with the default prompt, are not in the cost.
    """
    spent, se = run
    cost = f"a cost of {spent:,.4g}" if unit == "cost" else f"{spent:,.0f} {unit}"
    if n_default:
        cost += f" with prompts that were drawn ({n_default:,} more with the default prompt)"
    if n_failed:
        cost += f" that gave a score ({n_failed:,} more {'has' if n_failed == 1 else 'have'} none)"
    best = {}
    for kind, each in designs.items():
        within = [design for design in each if getattr(design, unit) <= spent * (1 + 1e-9)]
        if within:
            design = min(within, key=lambda d: d.se)
            best[kind] = f"{format_significant(design.se, 3)} with {kind} ({_format_design(design)})"
    text = f"This run took {cost} for a standard error of {format_significant(se, 3)} (cross)."
    if not best:
        return f"{text} No design of 30 questions is cheaper."
    return (
        f"{text} For as much, the best with equally many generations for every question is "
        f"{', and '.join(best.values())}. Each point is the best design for its budget."
    )


def _format_design(design: StudyDesign) -> str:
    """Return a design in words."""
    parts = [format_count(design.n_questions, "question")]
    if design.n_variants > 1:
        parts.append(format_count(design.n_variants, "prompt"))
    return " × ".join([*parts, format_count(design.n_generations, "generation")])


#: Names in the legend of `draw_run_ranges`.
_NEW, _AGAIN, _ALL, _GREEDY = "interval for new questions", "runs on these questions", "all generations", "greedy"

#: Colours of the bands, visible on a light and on a dark background.
_BANDS = ("rgba(58, 151, 211, 0.3)", "rgba(58, 151, 211, 0.6)")


def draw_run_ranges(ranges: Convergence, new: Limits, ends: Mapping[str, int], greedy: Mapping[str, float]) -> Chart:
    """Draw the range of scores of runs with k generations, their interval for new questions, and the greedy score.

    `ends` is the number of generations up to which each model is drawn, in the order of the models; `new` has the
    limits of the score on new questions, shape (M, len(k)).
    """
    data = _tabulate_run_ranges(ranges, new, ends, greedy)
    first, last = int(ranges.k[0]), int(ranges.k[-1])
    shared: dict[str, Any] = {
        "x": across(
            "k",
            "Generations per question",
            axis={"values": _choose_ticks(last), "format": "d"},
            scale={"type": "log", "domain": [first, max(last, 2)], "nice": False},
        ),
        "y": number("low", title=None, scale={"zero": False, "padding": 5}, axis={"tickCount": 4}),
        "tooltip": tooltips(part="What", k="Generations", low="From", high="To"),
    }
    names = [_ALL, _GREEDY] if any(model in greedy for model in ends) else [_ALL]
    lines = style_values("part", names, symbol="stroke", least=1, stroke=(BLUE, ORANGE), strokeDash=([1, 0], [6, 4]))
    bands = style_values("part", [_NEW, _AGAIN], symbol="square", fill=_BANDS)
    return finish_panels(
        draw(None, "area", only=("part", [_NEW, _AGAIN]), y2="high", **bands, **shared),
        draw(None, "line", {"strokeWidth": 2}, only=("part", names), **lines, **shared),
        data=data,
        height=110,
        spacing=10,
        legend=[_NEW, _AGAIN],
    )


def _tabulate_run_ranges(
    ranges: Convergence, new: Limits, ends: Mapping[str, int], greedy: Mapping[str, float]
) -> PlotData:
    """Return the columns of the figure: lower and upper end of each band or line at each number of generations."""
    parts: list[tuple[str, str, FloatArray, FloatArray]] = []
    for model in ends:
        i = ranges.models.index(model)
        level = np.full(len(ranges.k), ranges.all_score[i])
        parts += [
            (model, _NEW, new.low[i], new.high[i]),
            (model, _AGAIN, ranges.low[i], ranges.high[i]),
            (model, _ALL, level, level),
        ]
        if model in greedy:
            line = np.full(len(ranges.k), greedy[model])
            parts.append((model, _GREEDY, line, line))
    K, order = len(ranges.k), list(ends)
    columns: dict[str, NDArray[np.generic]] = {
        "model": repeat_names([model for model, *_ in parts], K),
        "part": repeat_names([part for _, part, _, _ in parts], K),
        "k": np.tile(ranges.k, len(parts)),
        "low": np.concatenate([low for _, _, low, _ in parts]),
        "high": np.concatenate([high for *_, high in parts]),
        "place": np.repeat([order.index(model) for model, *_ in parts], K),
    }
    drawn = columns["k"] <= np.repeat([ends[model] for model, *_ in parts], K)
    return columns_of(**{name: values[drawn] for name, values in columns.items()})


def draw_standard_errors(
    k: FloatArray, se: Mapping[str, FloatArray], points_at: Mapping[str, tuple[float, float]]
) -> Chart:
    """Draw the standard error of each model against generations per question, with a point at the data."""
    order = list(se)
    data = columns_of(model=repeat_names(order, len(k)), k=np.tile(k, len(order)), se=np.concatenate(list(se.values())))
    style = style_series("model", order, dashes=True)
    shared: dict[str, Any] = {
        "x": across(
            "k",
            "Generations per question",
            scale={"type": "log", "nice": False, "domain": [float(k[0]), float(k[-1])]},
            axis={"values": _choose_ticks(float(k[-1])), "format": "d"},
        ),
        "y": number("se", title="Standard error of the score", scale={"domainMin": 0}),
        "tooltip": tooltips(model="Model", se="Standard error", k="Generations"),
        "color": style["color"],
    }
    layers = [draw(data, "line", {"strokeWidth": 2}, strokeDash=style["strokeDash"], **shared)]
    if points_at:
        at, errors = zip(*points_at.values(), strict=True)
        points = columns_of(model=list(points_at), k=at, se=errors)
        layers.append(draw(points, "point", {"filled": True, "size": 80, "opacity": 1}, **shared))
    return finish_chart(*layers, height=280, legend=order)


def draw_frontier(designs: Mapping[str, Sequence[StudyDesign]], unit: str, pilot: tuple[float, float]) -> Chart:
    """Draw the error of the best design against its cost, a line for each kind of design, and a cross for the run."""
    kinds = list(designs)
    rows = [(kind, design) for kind in kinds for design in designs[kind]]
    counts = ("n_questions", "n_variants", "n_generations")
    data = columns_of(
        part=[kind for kind, _ in rows],
        spent=[float(getattr(design, unit)) for _, design in rows],
        se=[design.se for _, design in rows],
        **{name: [getattr(design, name) for _, design in rows] for name in counts},
    )
    spent, title = data["spent"], {"calls": "Calls", "tokens": "Tokens", "cost": "Cost"}[unit]
    # 1, 2 and 5 times the powers of ten that the designs span
    powers = range(math.floor(math.log10(min(spent))), math.ceil(math.log10(max(spent))) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    axis = {"format": "~s" if unit != "cost" else ",.6~g", "values": ticks}
    place: dict[str, Any] = {
        "x": across("spent", title, scale={"type": "log", "nice": False}, axis=axis),
        "y": number("se", title="Standard error of the score", scale={"domainMin": 0}),
    }
    tips = tooltips(part="Designs", se="Standard error", spent=title, n_questions="Questions", n_variants="Prompts")
    style = style_series("part", kinds)
    run = columns_of(spent=[pilot[0]], se=[pilot[1]], text=["this run"])
    return finish_chart(
        draw(data, "line", {"strokeWidth": 2}, color=style["color"], **place),
        draw(
            data,
            "point",
            {"filled": True, "size": 45, "opacity": 1},
            tooltip=tips + tooltips(n_generations="Generations"),
            **style,
            **place,
        ),
        draw(
            run,
            "point",
            {"shape": "cross", "filled": True, "size": 130, "color": GREY, "opacity": 1},
            tooltip=tooltips(text="Design", se="Standard error", spent=title),
            **place,
        ),
        draw(
            run,
            "text",
            {"align": "left", "baseline": "bottom", "dx": 8, "dy": -4},
            text={"field": "text", "type": "nominal"},
            **place,
        ),
        height=280,
        legend=kinds,
    )


def _choose_ticks(most: float) -> list[int]:
    """Return the numbers of generations that have a tick: round ones, and the last one.

    >>> _choose_ticks(3), _choose_ticks(11), _choose_ticks(20)
    ([1, 2, 3], [1, 2, 5, 11], [1, 2, 5, 10, 20])
    """
    return [*(k for k in (1, 2, 5, 10, 20, 50, 100, 200) if 1.25 * k <= most), int(most)]
