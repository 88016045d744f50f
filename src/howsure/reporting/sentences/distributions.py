"""What the distributions of P(correct) say: how much is decided before sampling, and whether a Beta describes it."""

from __future__ import annotations

import numpy as np

from howsure.reporting.sentences.formatting import format_count, format_share, join_names
from howsure.stats.core.cells import Cells
from howsure.stats.questions import BetaCurves, DifficultyStability
from howsure.stats.scores import BetaFit

#: Concentration from which a Beta is a point, to the eye.
_ALIKE = 500


def describe_histograms(cells: Cells, found: DifficultyStability | None, fit: BetaFit | None) -> str:
    """How many questions are nearly always or nearly never answered; models in the order in which they are drawn."""
    first = cells.models[0]
    if found is None or fit is None:
        p = cells.mean[0][cells.answered[0]]
        return (
            f"For {first}, the mean score is below 0.05 on {format_share(float(np.mean(p < 0.05)))} of "
            f"{format_count(len(p), 'question')} and at least 0.95 on {format_share(float(np.mean(p >= 0.95)))}."
        )
    sure = found.near_0 + found.near_1
    text = (
        f"{first} is nearly sure to fail {format_share(float(found.near_0[0]))} and to solve "
        f"{format_share(float(found.near_1[0]))} "
        f"of {format_count(int(found.n_questions[0]), 'question')} (P(correct) within {found.margin:g} of 0 or 1, "
        "sampling "
        f"noise taken out); the rest is left to chance. "
    )
    if len(sure) > 1:
        least, most = int(np.nanargmin(sure)), int(np.nanargmax(sure))
        text += (
            f"Chance decides least for {cells.models[most]} ({format_share(1 - float(sure[most]))} of the questions) "
            "and most "
            f"for {cells.models[least]} ({format_share(1 - float(sure[least]))}). "
            if format_share(float(sure[least])) != format_share(float(sure[most]))
            else f"Chance decides as much for all of them ({format_share(1 - float(sure[0]))} of the questions). "
        )
    unfitted = [model for model, s in zip(cells.models, fit.concentration.tolist(), strict=True) if np.isnan(s)]
    if len(unfitted) < len(cells.models):
        text += "Pink lines: what the fitted Beta distribution expects of means of as many generations."
    if unfitted:
        text = f"{text.rstrip()} No Beta can be fitted for {join_names(unfitted)}."
    return text


def describe_cumulative(curves: BetaCurves, fit: BetaFit) -> str:
    """How far the fit is from the data, and its parameters for one model."""
    known = ~np.isnan(curves.distance)
    text = "Grey: the observed means, which sampling spreads; blue: what is left of them without that noise. "
    if not known.any():
        return text + "No Beta distribution can be fitted to these scores."
    worst = int(np.nanargmax(curves.distance))
    text += (
        f"The fitted Beta is never farther than {format_share(float(curves.distance[worst]))} of the questions from "
        "what was "
        f"observed{f', farthest for {curves.models[worst]}' if known.sum() > 1 else ''}. "
    )
    first = int(np.flatnonzero(known)[0])
    name, a, b = curves.models[first], float(fit.a[first]), float(fit.b[first])
    if a + b > _ALIKE:
        return f"{text}For {name} all questions are about as hard."
    where = "near 0 or 1" if max(a, b) < 1 else "in between" if min(a, b) > 1 else "at one end"
    return f"{text}For {name} it is Beta({a:.2g}, {b:.2g}): most questions are {where}."


def describe_models_left_out(shown: int, there: int, once: int) -> str:
    """Models that are not drawn."""
    text = f" Drawn for {shown:,} of {there:,} models, spread over their order." if shown < there else ""
    if once:
        text += (
            f" {format_count(once, 'model')} with one generation per question {'is' if once == 1 else 'are'} left out."
        )
    return text
