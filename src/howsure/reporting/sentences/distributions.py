"""Captions of the distributions of P(correct)."""

from __future__ import annotations

import numpy as np

from howsure.reporting.sentences.formatting import format_count, format_share, join_names
from howsure.stats.core.cells import Cells
from howsure.stats.questions import BetaCurves, DifficultyStability
from howsure.stats.scores import BetaFit

#: Concentration above which a Beta distribution looks like a point.
_POINT_CONCENTRATION = 500


def describe_histograms(cells: Cells, stability: DifficultyStability | None, fit: BetaFit | None) -> str:
    """Describe how many questions a model solves nearly always or nearly never, in the order of the models drawn."""
    first = cells.models[0]
    if stability is None or fit is None:
        p = cells.mean[0][cells.answered[0]]
        return (
            f"For {first}, the mean score is below 0.05 on {format_share(float(np.mean(p < 0.05)))} of "
            f"{format_count(len(p), 'question')} and at least 0.95 on {format_share(float(np.mean(p >= 0.95)))}."
        )
    decided = stability.near_0 + stability.near_1
    text = (
        f"{first} almost always fails {format_share(float(stability.near_0[0]))} and almost always solves "
        f"{format_share(float(stability.near_1[0]))} "
        f"of {format_count(int(stability.n_questions[0]), 'question')} (P(correct) within {stability.margin:g} of 0 or "
        "1, "
        "sampling "
        f"noise taken out); the others depend on chance. "
    )
    if len(decided) > 1:
        least, most = int(np.nanargmin(decided)), int(np.nanargmax(decided))
        text += (
            f"Chance decides least for {cells.models[most]} ({format_share(1 - float(decided[most]))} of the "
            "questions) "
            "and most "
            f"for {cells.models[least]} ({format_share(1 - float(decided[least]))}). "
            if format_share(float(decided[least])) != format_share(float(decided[most]))
            else f"Chance decides equally for all of them ({format_share(1 - float(decided[0]))} of the questions). "
        )
    unfitted = [model for model, s in zip(cells.models, fit.concentration.tolist(), strict=True) if np.isnan(s)]
    if len(unfitted) < len(cells.models):
        text += "Pink lines: what the fitted Beta distribution expects of means of as many generations."
    if unfitted:
        text = f"{text.rstrip()} No Beta can be fitted for {join_names(unfitted)}."
    return text


def describe_cumulative(curves: BetaCurves, fit: BetaFit) -> str:
    """Describe how far the fitted Beta is from the data, and its parameters for one model."""
    available = ~np.isnan(curves.distance)
    text = "Grey: the observed means, which sampling spreads; blue: their distribution without that noise. "
    if not available.any():
        return text + "No Beta distribution can be fitted to these scores."
    worst = int(np.nanargmax(curves.distance))
    text += (
        f"The fitted Beta is never farther than {format_share(float(curves.distance[worst]))} of the questions from "
        "what was "
        f"observed{f', farthest for {curves.models[worst]}' if available.sum() > 1 else ''}. "
    )
    first = int(np.flatnonzero(available)[0])
    name, a, b = curves.models[first], float(fit.a[first]), float(fit.b[first])
    if a + b > _POINT_CONCENTRATION:
        return f"{text}For {name} all questions are about equally hard."
    where = "near 0 or 1" if max(a, b) < 1 else "in between" if min(a, b) > 1 else "at one end"
    return f"{text}For {name} it is Beta({a:.2g}, {b:.2g}): most questions are {where}."


def describe_models_left_out(n_drawn: int, n_models: int, n_single: int) -> str:
    """Describe which models are not drawn."""
    text = f" Drawn for {n_drawn:,} of {n_models:,} models, spread over their order." if n_drawn < n_models else ""
    if n_single:
        text += (
            f" {format_count(n_single, 'model')} with one generation per question {'is' if n_single == 1 else 'are'} "
            "left out."
        )
    return text
