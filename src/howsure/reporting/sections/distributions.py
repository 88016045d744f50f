"""Section 8 of the page: how P(correct) is distributed over the questions, for each model and temperature."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from howsure.reporting.charts import (
    BLUE,
    GREY,
    ORANGE,
    Chart,
    across,
    columns_of,
    draw,
    finish_panels,
    number,
    repeat_names,
    style_curves,
    style_values,
    tooltips,
)
from howsure.reporting.elements import ElementBuilder, Figure, Section
from howsure.reporting.formatting import describe_drawn, format_count, format_share, join_names
from howsure.reporting.sections.score_table import pick_spaced
from howsure.stats.core.cells import Cells, FloatArray
from howsure.stats.questions import (
    BetaCurves,
    DifficultyDensity,
    DifficultyStability,
    estimate_density,
    estimate_stability,
    evaluate_beta_curves,
)
from howsure.stats.scores import BetaFit, fit_beta

#: Largest number of models that are drawn; the histograms of more are folded.
_MAX_MODELS = 12

#: Largest number of models whose cumulative curves are open at first: each has a panel, below the histograms.
_MAX_OPEN_MODELS = 4

#: Largest number of bins of the mean score, from 0 to 1.
_MAX_BINS = 10


#: Concentration above which a Beta distribution style like a point.
_POINT_CONCENTRATION = 500

#: Distance of a fitted Beta from the observed shares below which it fits by construction.
_EXACT_FIT = 0.001

#: Colours of models that differ in a setting only, which also have a fixed order.
_COLOURS = (BLUE, ORANGE, "#009E73", GREY)

#: Colours of models without a setting, and of the expected shares.
_PLAIN, _EXPECTED = "#56B4E9", "#CC79A7"

#: Largest number of settings of one model that are drawn side by side.
MAX_SETTINGS = len(_COLOURS)

#: The curves of `cumulative`.
_OBSERVED, _DENOISED, _FITTED = "observed", "less sampling noise", "fitted Beta"


def build_distributions_section(cells: Cells, order: Sequence[str], builder: ElementBuilder) -> Section:
    """Build the section with histograms of P(correct), the fitted Beta, and cumulative distributions."""
    title, link = "How the questions are distributed", "Distributions"
    lead = (
        "P(correct) of a question is the chance that one generation answers it. Near 0 and 1 a model is stable; in "
        "between, its score is left to chance, which is prediction noise."
        if cells.binary
        else "The mean score of a question over its generations, for each model."
    )
    answered = [model for model in order if cells.answered[cells.index(model)].any()]
    several = [model for model in answered if int(cells.n[cells.index(model)].max()) > 1]
    drawable = several if cells.binary else answered
    if not cells.unit or not drawable:
        reason = "one generation per question" if cells.unit and answered else "scores are not between 0 and 1"
        reason = reason if answered else "no scores"
        return Section("distributions-part", title, link, lead, (), (f"distributions over questions ({reason})",))
    drawn = cells.select(pick_spaced(drawable, _MAX_MODELS))
    note = describe_models_left_out(len(drawn.models), len(drawable), len(answered) - len(drawable))
    left_out = () if cells.binary else ("the Beta fit of P(correct) (scores are not 0 or 1)",)
    figures = _build_figures(drawn, builder, note, is_folded=len(order) > _MAX_MODELS)
    return Section("distributions-part", title, link, lead, tuple(figures), left_out)


def build_histograms(cells: Cells) -> tuple[Chart, str]:
    """Return histograms of the question means with the fitted Beta, and their caption; scores are in [0, 1]."""
    levels, ends = _choose_bins(cells)
    fit = fit_beta(cells) if cells.binary else None
    curves = None if fit is None else evaluate_beta_curves(cells, fit, ends)
    rows = group_by_setting(cells.models, max_settings=MAX_SETTINGS)
    chart = draw_histograms(curves, _bin_shares(cells, ends), levels, rows)
    return chart, describe_histograms(cells, None if fit is None else estimate_stability(cells), fit)


def _build_figures(cells: Cells, builder: ElementBuilder, note: str, *, is_folded: bool) -> list[Figure]:
    """Return the figures of the section; `note` is added to each caption, `is_folded` is about the histograms."""
    chart, caption = build_histograms(cells)
    figures = [
        builder.build_figure(
            "densities",
            caption + note,
            chart,
            marks=2 * len(_choose_bins(cells)[0]) * len(cells.models),
            is_folded=is_folded,
        )
    ]
    if cells.binary:
        fit = fit_beta(cells)
        curves = evaluate_beta_curves(cells, fit)
        figures.append(
            builder.build_figure(
                "cumulative",
                describe_cumulative(curves, fit, int(cells.n.max())) + note,
                draw_cumulative(curves, estimate_density(cells), cells.models),
                marks=253 * len(cells.models),
                is_folded=len(cells.models) > _MAX_OPEN_MODELS,
            )
        )
    return figures


def _choose_bins(cells: Cells) -> tuple[FloatArray, FloatArray]:
    """Return the levels of the mean score and the upper ends of the bins around them.

    The levels are the means that the typical number of generations can have; tenths with more generations or scores
    other than 0 and 1.
    """
    k = int(np.median(cells.n[cells.answered])) if cells.binary else _MAX_BINS
    levels = np.linspace(0, 1, min(max(k, 2), _MAX_BINS) + 1)
    # a mean halfway between two levels belongs to the upper one
    return levels, np.append((levels[1:] + levels[:-1]) / 2 - 1e-6, 1.0)


def _bin_shares(cells: Cells, ends: FloatArray) -> FloatArray:
    """Return the share of each model's questions in each bin, shape (M, L)."""
    shares = np.zeros((len(cells.models), len(ends)))
    for row, p in zip(shares, cells.mean, strict=True):
        available = p[~np.isnan(p)]
        row[:] = np.bincount(np.searchsorted(ends, available - 1e-9), minlength=len(ends))[: len(ends)] / len(available)
    return shares


def group_by_setting(models: Sequence[str], *, max_settings: int) -> dict[str, dict[str, int]]:
    """Group models by the name before " (temperature=...)" or ":temperature=..."; those of one name are drawn together.

    Each group maps the setting to the index of the model. A name with a single model is a group with the setting "".
    So is each model of a name whose settings would bring the number of different settings above `max_settings`.

    >>> group_by_setting(["a (temperature=1)", "b", "a (temperature=0.5)"], max_settings=5)
    {'a': {'temperature=0.5': 2, 'temperature=1': 0}, 'b': {'': 1}}
    >>> group_by_setting(["m:temperature=1", "m:temperature=0.4"], max_settings=5)
    {'m': {'temperature=0.4': 1, 'temperature=1': 0}}
    """
    by_name: dict[str, dict[str, int]] = {}
    for i, model in enumerate(models):
        name, setting = _split_setting(model)
        by_name.setdefault(name, {})[setting] = i
    groups: dict[str, dict[str, int]] = {}
    settings: set[str] = set()
    for name, members in by_name.items():
        if len(members) > 1 and "" not in members and len(settings | set(members)) <= max_settings:
            settings |= set(members)
            groups[name] = {setting: members[setting] for setting in sorted(members, key=_temperature_key)}
        else:
            groups |= {models[i]: {"": i} for i in members.values()}
    return groups


def _split_setting(model: str) -> tuple[str, str]:
    """Return the name of a model and its temperature setting, or "" without one."""
    name, middle, rest = model.rpartition(" (temperature=")
    if middle and rest.endswith(")"):
        return name, f"temperature={rest[:-1]}"
    name, middle, rest = model.rpartition(":temperature=")  # as an experiment with a list of temperatures labels them
    is_setting = re.fullmatch(r"[\d.e+-]+(,top_p=[\d.e+-]+)?", rest) is not None
    return (name, f"temperature={rest}") if middle and is_setting else (model, "")


def _temperature_key(setting: str) -> tuple[float, str]:
    """Return a key that sorts settings by temperature."""
    match = re.match(r"temperature=(\d+(?:\.\d+)?)", setting)
    return (float(match[1]) if match else np.inf), setting


def describe_histograms(cells: Cells, stability: DifficultyStability | None, fit: BetaFit | None) -> str:
    """Describe how many questions a model solves nearly always or nearly never, in the order of the models drawn."""
    first = cells.models[0]
    if stability is None or fit is None:
        p = cells.mean[0][cells.answered[0]]
        return (
            f"For {first}, the mean score is below 0.05 on {format_share(float(np.mean(p < 0.05)))} of "
            f"{format_count(len(p), 'question')} and at least 0.95 on {format_share(float(np.mean(p >= 0.95)))}."
        )
    # without a fitted Beta, or for one question, these shares are those of the prior and not of the data
    described = np.flatnonzero(~np.isnan(fit.concentration) & (stability.n_questions > 1))
    text = _describe_stability(cells, stability, described) if len(described) else ""
    unfitted = [model for model, s in zip(cells.models, fit.concentration.tolist(), strict=True) if np.isnan(s)]
    if len(unfitted) < len(cells.models):
        text += "Pink lines: what the fitted Beta distribution expects of means of as many generations."
    if unfitted:
        text = f"{text.rstrip()} No Beta can be fitted for {join_names(unfitted)}."
    return text


def _describe_stability(cells: Cells, stability: DifficultyStability, described: NDArray[np.intp]) -> str:
    """Describe the shares of stable questions of the first of some models, and for which of them chance decides most.

    `described` has the indices of the models whose shares can be estimated; there is at least one.
    """
    first = int(described[0])
    text = (
        f"{cells.models[first]} almost always fails {format_share(float(stability.near_0[first]))} and almost always "
        f"solves {format_share(float(stability.near_1[first]))} of "
        f"{format_count(int(stability.n_questions[first]), 'question')} (P(correct) within {stability.margin:g} of 0 "
        "or 1, sampling noise taken out); the others depend on chance. "
    )
    chance = 1 - (stability.near_0 + stability.near_1)[described]
    least, most = int(np.argmin(chance)), int(np.argmax(chance))
    if format_share(float(chance[least])) == format_share(float(chance[most])):
        return text
    names = [f"{cells.models[described[i]]} ({format_share(float(chance[i]))}" for i in (least, most)]
    return f"{text}Chance decides least for {names[0]} of the questions) and most for {names[1]}). "


def describe_cumulative(curves: BetaCurves, fit: BetaFit, most_generations: int) -> str:
    """Describe how far the fitted Beta is from the data, and its parameters for one model.

    `most_generations` of a question: the means of two have as many free shares as a Beta has parameters.
    """
    available = ~np.isnan(curves.distance)
    if not available.any():
        return (
            "Grey: the observed means, which sampling spreads. No Beta distribution can be fitted to these scores, so "
            "that their distribution without that noise is not known."
        )
    text = "Grey: the observed means, which sampling spreads; blue: their distribution without that noise. "
    if unfitted := [model for model, is_fitted in zip(curves.models, available, strict=True) if not is_fitted]:
        text += f"Only the observed means are drawn for {join_names(unfitted)}, to which no Beta can be fitted. "
    largest = float(np.nanmax(curves.distance))
    if most_generations == 2 and largest < _EXACT_FIT:
        text += "Some Beta fits nearly any means of two generations exactly, so that the fit is no evidence for it. "
    else:
        text += (
            f"The fitted Beta is never farther than {format_share(largest)} of the questions from what was observed. "
        )
    first = int(np.flatnonzero(available)[0])
    name, a, b = curves.models[first], float(fit.a[first]), float(fit.b[first])
    if a + b > _POINT_CONCENTRATION:
        return f"{text}For {name} all questions are about equally hard."
    zero = f" and {format_share(float(fit.zero[first]))} at 0" if fit.zero[first] > 0 else ""
    return f"{text}For {name} it is Beta({a:.2g}, {b:.2g}){zero}."


def describe_models_left_out(n_drawn: int, n_models: int, n_single: int) -> str:
    """Describe which models are not drawn."""
    text = describe_drawn(n_drawn, n_models, ", spread over their order")
    if n_single:
        text += (
            f" {format_count(n_single, 'model')} with one generation per question {'is' if n_single == 1 else 'are'} "
            "left out."
        )
    return text


def draw_histograms(
    curves: BetaCurves | None, shares: FloatArray, levels: FloatArray, rows: Mapping[str, Mapping[str, int]]
) -> Chart:
    """Draw the share of questions near each level of the mean score, and the share that the fitted Beta expects.

    `curves` has the cumulative shares at the ends of the bins, `shares` those of the questions of each model in each
    bin, shape (M, L), `levels` the middles of the bins, equally spaced from 0 to 1, and `rows`, by the heading of a
    panel, the models drawn side by side: setting ("" without one) to the model's row in `shares`.
    """
    L, step = len(levels), float(levels[1] - levels[0])
    expected = np.full(shares.shape, np.nan) if curves is None else np.diff(curves.expected, axis=1, prepend=0)
    bars = [
        (heading, setting, model, 0.84 * step / len(members), place)
        for heading, members in rows.items()
        for place, (setting, model) in enumerate(members.items())
    ]
    each, headings = np.array([model for *_, model, _, _ in bars], dtype=int), list(rows)
    left = np.array([levels - 0.42 * step + place * width for *_, width, place in bars])
    width = np.array([[width] for *_, width, _ in bars])
    data = columns_of(
        model=repeat_names([heading for heading, *_ in bars], L),
        setting=repeat_names([setting for _, setting, *_ in bars], L),
        p_correct=np.tile(levels, len(bars)),
        left=left.ravel(),
        right=(left + 0.94 * width).ravel(),
        share=shares[each].ravel(),
        expected=expected[each].ravel(),
        place=np.repeat([headings.index(heading) for heading, *_ in bars], L),
    )
    settings = list(dict.fromkeys(setting for _, setting, *_ in bars))
    named = [setting for setting in settings if setting]
    colour = dict(zip(named, _COLOURS, strict=False)) | {"": _PLAIN if named else BLUE}
    tips = tooltips(model="Model", **({"setting": "Setting"} if named else {}), p_correct="Mean score near")
    tips += tooltips(share="Share of questions", expected="Expected by the Beta")
    fill = style_values("setting", settings, color=[colour[setting] for setting in settings])
    fill["color"]["legend"] = {"orient": "top", "values": named} if named else None
    x = across(
        "left",
        "Mean score of a question over its generations",
        scale={"domain": [-0.5 * step - 0.01, 1.01 + 0.5 * step], "nice": False},
        axis={"values": [0, 0.2, 0.4, 0.6, 0.8, 1], "format": ".1f", "grid": False},
    )
    y = number("share", title=None, axis={"format": "%", "tickCount": 3})
    layers = [draw(None, "bar", x=x, x2="right", y=y, y2={"datum": 0}, tooltip=tips, **fill)]
    if not np.all(np.isnan(expected)):
        style = {"strokeWidth": 3, "color": _EXPECTED, "opacity": 1}
        layers.append(draw(None, "rule", style, x=number("left"), x2="right", y=number("expected"), tooltip=tips))
    # as high as it can be in each row: where nearly all questions are at 0, others would be flat
    return finish_panels(*layers, data=data, height=64, legend=named)


def draw_cumulative(curves: BetaCurves, density: DifficultyDensity, order: Sequence[str]) -> Chart:
    """Draw the share of questions at or below each P(correct): observed, without noise, and the fitted Beta."""
    denoised = np.concatenate([np.zeros((len(density.mass), 1)), np.cumsum(density.mass, axis=1)], axis=1)
    denoised[np.isnan(curves.distance)] = np.nan  # without a fitted Beta it is that of a prior, not of the data
    kinds = {
        _OBSERVED: (curves.points, curves.empirical),
        _DENOISED: (density.edges, denoised),
        _FITTED: (curves.points, curves.fitted),
    }
    at = [curves.models.index(model) for model in order]
    parts = [
        (model, kind, *(_corners(points, values[m]) if kind == _OBSERVED else (points, values[m])), place)
        for place, (model, m) in enumerate(zip(order, at, strict=True))
        for kind, (points, values) in kinds.items()
        if not np.all(np.isnan(values[m]))
    ]
    sizes = [len(points) for _, _, points, _, _ in parts]
    data = columns_of(
        model=repeat_names([model for model, *_ in parts], sizes),
        curve=repeat_names([kind for _, kind, *_ in parts], sizes),
        p=np.concatenate([np.zeros(0), *(points for _, _, points, _, _ in parts)]),
        share=np.concatenate([np.zeros(0), *(values for *_, values, _ in parts)]),
        place=np.repeat([place for *_, place in parts], sizes),
    )
    axis = {"format": "%", "values": [0, 0.5, 1]}
    lines = draw(
        None,
        "line",
        {"strokeWidth": 2},
        x=across("p", "P(correct)", scale={"domain": [0, 1]}, axis={"tickCount": 5, "format": ".1f"}),
        y=number("share", title=None, scale={"domain": [0, 1]}, axis=axis),
        **style_curves("curve", dict(zip(kinds, (GREY, BLUE, ORANGE), strict=True)), dashed=_FITTED),
    )
    return finish_panels(lines, data=data, height=96, own_scales=False, legend=list(kinds))


def _corners(x: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the points of a line that is flat up to each step."""
    steps = np.flatnonzero(np.diff(values)) + 1
    points = np.unique(np.concatenate([[0], steps, [len(x) - 1]]))
    return np.repeat(x[points], 2)[1:], np.repeat(values[points], 2)[:-1]
