"""Captions of figures: what each shows, as a conclusion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howsure.report.sentences.verdicts import against, verdicts
from howsure.report.sentences.words import are, percent, plural
from howsure.stats.comparisons.pairs import POWER, Pairs
from howsure.stats.core.cells import Cells
from howsure.stats.scores.score import Scores

__all__ = ["components", "difficulty", "forest", "matrix", "pair_errors"]


def forest(pairs: Pairs, reference: str) -> str:
    """What the differences to the reference say."""
    sides = against(pairs, reference)
    parts = [
        f"{plural(len(names), 'model')} {phrase if len(names) > 1 else single}"
        for names, phrase, single in (
            (sides["below"], "are distinguishably below it", "is distinguishably below it"),
            (sides["above"], "are distinguishably above it", "is distinguishably above it"),
            (
                sides["open"],
                "are not distinguishable from it at this sample size",
                "is not distinguishable from it at this sample size",
            ),
            (sides["untestable"], "cannot be tested against it", "cannot be tested against it"),
        )
        if names
    ]
    at = pairs.models.index(reference)
    detectable = pairs.detectable[(pairs.a == at) | (pairs.b == at)]
    detectable = detectable[detectable > 0]
    found = (
        f" Against it, a true difference of about {np.median(detectable):.2g} (median over pairs) would be found with "
        f"{POWER:.0%} power by a single test at level {percent(pairs.level)}."
        if len(detectable)
        else ""
    )
    return (
        f"Compared with {reference}: {'; '.join(parts)}.{found} "
        f"Bars are {percent(pairs.level)} intervals of single differences; verdicts are adjusted for all pairs (Holm)."
    )


def matrix(pairs: Pairs, shown: int) -> str:
    """How many pairs are decided."""
    words = verdicts(pairs)
    decided, silent = words.count("distinguishable"), words.count("not testable")
    text = f"{decided:,} of {plural(len(words), 'pair')} {are(decided)} distinguishable, adjusted for all pairs (Holm)"
    text += f"; {silent:,} cannot be tested." if silent else "."
    text += " Blue: the row's model scores higher; orange: lower; a grey dot: not distinguishable or not testable."
    if shown < len(pairs.models):
        text += f" Drawn for the first {shown} of {len(pairs.models):,} models; the counts are over all."
    return text


def pair_errors(pairs: Pairs, *, binary: bool, every: int = 1) -> str:
    """How large the standard errors of differences are, and whether pairing helps."""
    se = np.sqrt(pairs.total / np.where(pairs.n_questions > 0, pairs.n_questions, np.nan))
    known = se[~np.isnan(se)]
    if len(known) == 0:
        return "No two models have a question in common."
    text = f"With one generation per question the median standard error of a difference is {np.median(known):.2g}."
    correlation = pairs.correlation[np.isfinite(pairs.correlation)]
    if len(correlation):
        helped = int(np.sum(correlation > 0))
        text += (
            f" In {helped:,} of {plural(len(correlation), 'pair')} the two models' scores go together over questions: "
            "there, pairing makes the difference surer than two separate sets of questions would."
        )
    if binary and len(np.unique(pairs.n_questions)) > 1:
        text += " Pairs have different numbers of common questions; the curves are drawn for the median number."
    if every > 1:
        text += f" Drawn for every {every}{'nd' if every == 2 else 'rd' if every == 3 else 'th'} pair."
    return text


def components(scores: Scores, shown: int) -> str:
    """Which noise is larger, for how many models."""
    known = ~np.isnan(scores.prediction) & ~np.isnan(scores.data)
    if not known.any():
        return (
            "The bars are the variance of one generation on one question. With one generation per question its parts, "
            "data and prediction, cannot be told apart."
        )
    data, prediction = scores.data[known], scores.prediction[known]
    larger, smaller = int(np.sum(data > prediction)), int(np.sum(data < prediction))
    count = int(known.sum())
    text = (
        f"Data noise (which questions) is the larger part for {larger:,} and prediction noise (sampling again) for "
        f"{smaller:,} of {plural(count, 'model')}{' whose parts are known' if count < len(known) else ''}. "
        "More generations per question shrink the prediction part only."
    )
    if np.any(data < 0):
        text += " Data noise that is lost in the sampling noise is drawn as 0."
    if shown < len(known):
        text += f" Drawn for the first {shown} of {len(known):,} models; the counts are over all."
    return text


def difficulty(cells: Cells, bins: NDArray[np.int64]) -> str:
    """Questions that all models fail or solve, and what a column is."""
    answered = cells.answered
    asked = answered.any(axis=0)
    count = int(asked.sum())
    if cells.unit:
        none = int(np.sum(asked & np.all((cells.total <= 0) | ~answered, axis=0)))
        full = int(np.sum(asked & np.all((cells.mean >= 1 - 1e-9) | ~answered, axis=0)))
        text = (
            f"Every generation of every model that answered scored 0 on {none:,} of {plural(count, 'question')}, "
            f"and 1 on {full:,}."
        )
    else:
        text = f"{plural(count, 'question')}, from the lowest mean score to the highest."
    if (groups := int(bins.max(initial=-1)) + 1) < count:
        text += (
            f" {len(cells.models):,} × {count:,} cells are too many to draw: questions are grouped by difficulty into "
            f"{groups:,} groups of nearly equal size, and a cell is the mean over its group."
        )
    if not answered[:, asked].all():
        text += " Where a model has no score the cell is grey."
    return text + " Colours are rounded to 21 levels."
