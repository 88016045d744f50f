"""Section 8 of the page: how P(correct) is distributed over the questions, for each model and temperature."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from howsure.report.charts.distributions import MAX_SETTINGS, draw_cumulative, draw_histograms
from howsure.report.elements import Figure, Section, Sheet
from howsure.report.sentences.distributions import describe_cumulative, describe_histograms, describe_models_left_out
from howsure.stats.core.cells import Cells, FloatArray
from howsure.stats.questions import estimate_density, estimate_stability, evaluate_beta_curves
from howsure.stats.scores import fit_beta

if TYPE_CHECKING:
    from howsure.report.charts.base import Chart

#: Models that are drawn at most.
DRAWN = 12

#: Bins of the mean score at most, from 0 to 1.
_BINS = 10

#: Headings of the columns of this section's tables.
COLUMNS = {
    "setting": ("Setting", "What tells models of one name apart, such as the temperature."),
    "expected": ("Expected share", "What the fitted Beta distribution expects of means of as many generations."),
    "curve": ("Curve", "Observed means, the same less sampling noise, or the fitted Beta distribution."),
    "p": ("P(correct)", "A probability to be answered correctly."),
}


def distributions_section(cells: Cells, order: Sequence[str], sheet: Sheet) -> Section:
    """Histograms with the fitted Beta, and cumulative distributions.

    Parameters
    ----------
    cells
        Scores in [0, 1]; the Beta and the denoised distribution need 0 and 1.
    order
        Models as the page has them; at most `DRAWN` are drawn, spread over it.
    """
    title, link = "How the questions are distributed", "Distributions"
    lead = (
        "P(correct) of a question is the chance that one generation answers it. Near 0 and 1 a model is stable; in "
        "between, its score is left to chance, which is prediction noise."
        if cells.binary
        else "The mean score of a question over its generations, for each model."
    )
    there = [model for model in order if cells.answered[cells.index(model)].any()]
    several = [model for model in there if int(cells.n[cells.index(model)].max()) > 1]
    drawable = several if cells.binary else there
    if not cells.unit or not drawable:
        why = "one generation per question" if cells.unit and there else "scores are not between 0 and 1"
        why = why if there else "no scores"
        return Section("distributions-part", title, link, lead, (), (f"distributions over questions ({why})",))
    places = np.unique(np.linspace(0, len(drawable) - 1, min(DRAWN, len(drawable))).astype(int))
    shown = cells.select([drawable[i] for i in places])
    told = describe_models_left_out(len(shown.models), len(drawable), len(there) - len(drawable))
    left_out = () if cells.binary else ("the Beta fit of P(correct) (scores are not 0 or 1)",)
    return Section("distributions-part", title, link, lead, tuple(_figures(shown, sheet, told)), left_out)


def densities(cells: Cells) -> tuple[Chart, str]:
    """Histograms of the question means with the fitted Beta, and what they show; every model has a score in [0, 1]."""
    levels, ends = _levels(cells)
    fit = fit_beta(cells) if cells.binary else None
    binned = None if fit is None else evaluate_beta_curves(cells, fit, ends)
    chart = draw_histograms(binned, _shares(cells, ends), levels, beside(cells.models, most=MAX_SETTINGS))
    return chart, describe_histograms(cells, None if fit is None else estimate_stability(cells), fit)


def _figures(cells: Cells, sheet: Sheet, told: str) -> list[Figure]:

    chart, caption = densities(cells)
    made = [
        sheet.figure(
            "densities",
            "Are questions solved always, never or sometimes?",
            caption + told,
            chart,
            looks="Histograms of the questions' mean scores, one row per model",
            marks=2 * len(_levels(cells)[0]) * len(cells.models),
        )
    ]
    if cells.binary:
        fit = fit_beta(cells)
        curves = evaluate_beta_curves(cells, fit)
        made.append(
            sheet.figure(
                "cumulative",
                "How many questions are harder than that?",
                describe_cumulative(curves, fit) + told,
                draw_cumulative(curves, estimate_density(cells), cells.models),
                looks="Cumulative curves from 0 to 1, one row per model",
                marks=253 * len(cells.models),
            )
        )
    return made


def _levels(cells: Cells) -> tuple[FloatArray, FloatArray]:
    """Means that k generations can have, for the k that is typical, and the upper ends of the bins around them.

    Tenths where there are more, or other scores.
    """
    k = int(np.median(cells.n[cells.answered])) if cells.binary else _BINS
    levels = np.linspace(0, 1, min(max(k, 2), _BINS) + 1)
    # a mean halfway between two levels belongs to the upper one
    return levels, np.append((levels[1:] + levels[:-1]) / 2 - 1e-6, 1.0)


def _shares(cells: Cells, ends: FloatArray) -> FloatArray:
    """Share of the questions of each model between the ends of the bins, shape (M, L)."""
    out = np.zeros((len(cells.models), len(ends)))
    for row, p in zip(out, cells.mean, strict=True):
        known = p[~np.isnan(p)]
        row[:] = np.bincount(np.searchsorted(ends, known - 1e-9), minlength=len(ends))[: len(ends)] / len(known)
    return out


def beside(models: Sequence[str], *, most: int) -> dict[str, dict[str, int]]:
    """Models by the name before " (temperature=...)", and in it by setting: those of one name are drawn side by side.

    A name with one model alone keeps it so, and names that would bring more than `most` settings keep theirs apart.

    >>> beside(["a (temperature=1)", "b", "a (temperature=0.5)"], most=5)
    {'a': {'temperature=0.5': 2, 'temperature=1': 0}, 'b': {'': 1}}
    """
    found: dict[str, dict[str, int]] = {}
    for i, model in enumerate(models):
        name, setting = _parts(model)
        found.setdefault(name, {})[setting] = i
    out: dict[str, dict[str, int]] = {}
    settings: set[str] = set()
    for name, members in found.items():
        if len(members) > 1 and "" not in members and len(settings | set(members)) <= most:
            settings |= set(members)
            out[name] = {setting: members[setting] for setting in sorted(members, key=_temperature)}
        else:
            out |= {models[i]: {"": i} for i in members.values()}
    return out


def _parts(model: str) -> tuple[str, str]:
    name, middle, rest = model.rpartition(" (temperature=")
    return (name, f"temperature={rest[:-1]}") if middle and rest.endswith(")") else (model, "")


def _temperature(setting: str) -> tuple[float, str]:
    found = re.match(r"temperature=(\d+(?:\.\d+)?)", setting)
    return (float(found[1]) if found else np.inf), setting
