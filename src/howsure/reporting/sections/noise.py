"""Section 3 of the page: where the noise of a score comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from howsure.reporting.charts.chart_elements import MAX_SERIES
from howsure.reporting.charts.noise import draw_effects, draw_noise_parts, draw_variance_components
from howsure.reporting.elements import ElementBuilder, Figure, Section
from howsure.reporting.sections.comparisons import MAX_MODELS
from howsure.reporting.sections.prompt_variants import PromptAnalysis
from howsure.reporting.sentences.formatting import join_names
from howsure.reporting.sentences.noise import (
    POOLED_PROMPTS,
    describe_effects,
    describe_noise_parts,
    describe_variance_components,
)
from howsure.stats.core.results import Columns
from howsure.stats.prompts import Effects
from howsure.stats.scores import Scores

#: Largest number of models with a row of variance components.
_MAX_COMPONENT_MODELS = 20


def build_noise_section(
    scores: Scores,
    order: Sequence[str],
    prompts: PromptAnalysis | None,
    builder: ElementBuilder,
    *,
    has_questions: bool,
) -> Section:
    """Build the section on data and prediction noise and, with several prompts, on variance components and effects."""
    figures = list(_build_noise_figure(scores, order, builder, pooled=prompts is not None))
    lead = (
        "A score would change on other questions (data noise) and if the model were sampled again (prediction "
        "noise). Variances add up; standard errors do not."
    )
    reason = "one question, answered once" if has_questions else "scores of the whole benchmark"
    left_out = [] if figures else [f"noise of questions and sampling ({reason})"]
    if prompts is not None:
        figures += build_prompt_noise_figures(prompts, builder)
        lead += (
            " With several prompts the score would also change under other prompts. An effect is a change of the score "
            "over all questions. The effects of all dimensions are estimated together, or one at a time "
            "where prompts are too few for that."
        )
        left_out += _list_missing_effects(prompts)
    title = "Where the noise comes from"
    return Section("noise-part", title, title, lead, tuple(figures), tuple(left_out))


def _build_noise_figure(
    scores: Scores, order: Sequence[str], builder: ElementBuilder, *, pooled: bool
) -> Iterator[Figure]:
    """Yield the figure of data and prediction noise; `pooled`: generations are from several prompts."""
    if np.isnan(scores.total).all():  # one question, answered once
        return
    rows = order[:MAX_MODELS]
    yield builder.build_figure(
        "noise",
        "How much noise comes from the questions, how much from sampling?",
        describe_noise_parts(scores, len(rows)) + (f" {POOLED_PROMPTS}" if pooled else ""),
        draw_noise_parts(scores, rows),
        kind="Stacked bars, one per model",
        table="scores",
        marks=2 * len(rows),
    )


def build_prompt_noise_figures(prompts: PromptAnalysis, builder: ElementBuilder) -> Iterator[Figure]:
    """Yield the variance components, and the effects of each prompt dimension, the most important first."""
    components = prompts.summary.components
    available = [model for model in prompts.order if not np.isnan(components.residual[prompts.cube.index(model)])]
    if available:
        builder.add_table("components", components.columns())
        rows = available[:_MAX_COMPONENT_MODELS]
        caption = describe_variance_components(components)
        if len(rows) < len(available):
            caption += f" Drawn for the first {len(rows)} of {len(available):,} models; the numbers are over all."
        yield builder.build_figure(
            "sources",
            "How much comes from the prompt, the question, and sampling again?",
            caption,
            draw_variance_components(components, rows),
            kind="Points with intervals, four for each model",
            table="components",
            marks=8 * len(rows),
        )
    if prompts.scored_models and prompts.estimated_dimensions:
        yield from _build_effect_figures(prompts, builder)


def _build_effect_figures(prompts: PromptAnalysis, builder: ElementBuilder) -> Iterator[Figure]:
    """Yield one figure for each dimension of the prompt with estimated effects."""
    effects = prompts.effects
    builder.add_table("effects", _tabulate_effects(effects))
    models = prompts.pick_models(MAX_SERIES)
    rows = [effects.models.index(model) for model in models]
    reach = _axis_reach(effects, rows)
    for place, name in enumerate(prompts.estimated_dimensions, 1):
        columns = [
            i
            for i, dimension in enumerate(effects.dimensions)
            if dimension == name and not np.all(np.isnan(effects.effect[rows, i]))
        ]
        if not columns:
            continue
        columns.sort(key=lambda i: -float(np.nanmean(effects.effect[rows, i])))
        caption = describe_effects(effects, name, len(models), prompts.unparsed_effect)
        yield builder.build_figure(
            f"effect-{place}",
            f"Which values of {name} score higher?",
            caption + _describe_cut_intervals(effects, rows, columns, reach),
            draw_effects(effects, name, models, [effects.values[i] for i in columns], reach=reach),
            kind=f"Points with intervals, one row for each value of {name}",
            table="effects",
            marks=3 * len(columns) * len(models),
        )


def _tabulate_effects(effects: Effects) -> Columns:
    """Return the columns of the effects, with the share of variance under a name of its own."""
    columns = effects.columns()
    columns["share_of_variance"] = columns.pop("share")
    return columns


def _axis_reach(effects: Effects, rows: Sequence[int]) -> float:
    """Return the end of the axis: three times the largest effect, or the farthest interval if that is nearer."""
    interval = effects.interval()
    largest = float(np.nanmax(np.abs(effects.effect[rows]), initial=0))
    ends = np.abs(np.stack([interval.low[rows], interval.high[rows]]))
    return max(min(3 * largest, float(np.nanmax(ends, initial=largest))), 1e-6) * 1.03


def _describe_cut_intervals(effects: Effects, rows: Sequence[int], columns: Sequence[int], reach: float) -> str:
    """Return a sentence if some interval extends beyond the axis."""
    interval, place = effects.interval(), np.ix_(rows, columns)
    beyond = (interval.high[place] > reach) | (interval.low[place] < -reach)
    return " Intervals that reach the edge of the figure are cut there." if beyond.any() else ""


def _list_missing_effects(prompts: PromptAnalysis) -> Iterator[str]:
    """Yield the effects of dimensions that cannot be estimated, each with the reason."""
    if not prompts.scored_models or not prompts.cube.values:
        reason = "the values of the variants are not recorded"
        if not prompts.scored_models:
            nested = prompts.cube.nested
            reason = "each question has variants of its own" if nested else "no model has two scores"
        yield f"effects of the dimensions of the prompt ({reason})"
    else:
        for names, why in prompts.list_missing_dimensions():
            yield f"effects of {join_names(names, most=len(names))} ({why})"
