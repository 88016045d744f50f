"""What runs of the same thing say of the next one, and whether they are runs at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from howsure.reporting.sentences.formatting import (
    choose_decimals,
    format_count,
    format_level,
    format_number,
    join_names,
)
from howsure.stats.core.cells import FloatArray
from howsure.stats.core.multiplicity import holm
from howsure.stats.repeats import Repeats

#: What the notes of `Repeats` say of copies, and of the run means.
_COPIES, _ALIKE = "copies are not runs", "agree more than independent generations would"
_SAME = "no variation was seen"


def describe_runs(found: Repeats, several: Sequence[str]) -> str:
    """Best and worst run of one model, and where the next one will fall; `several` are the models with two or more."""
    between = found.interval()
    at = [found.models.index(model) for model in several]
    gap = (found.best - found.worst)[at]
    i, places = at[0], choose_decimals(np.sqrt(found.variance))
    worst, best, low, high = (
        format_number(float(value[i]), places) for value in (found.worst, found.best, between.low, between.high)
    )
    ends = f"from {worst} to {best}" if gap[0] > 0 else worst
    text = f"{several[0]} scored {ends} in {format_count(int(found.n_runs[i]), 'run')} of the same questions"
    if np.isnan(between.low[i]):
        text += "; no interval for the next run is known. "
    else:
        text += (
            f"; the next run will fall between {low} and {high} with {format_level(found.level)} probability (bar). "
        )
    widest = int(np.argmax(gap))
    if len(several) > 1 and gap[widest] > 0:
        text += (
            f"Best and worst run are farthest apart for {several[widest]}, by "
            f"{format_number(float(gap[widest]), places)}: "
            "whoever reports the best of its runs reports that much luck. "
        )
    return text + "Runs that score nearly the same are drawn above each other."


def describe_drift(found: Repeats) -> str:
    """Whether runs differ by more than sampling would have them."""
    adjusted = holm(found.drift_p)
    known = ~np.isnan(adjusted)
    alpha = 1 - found.level
    if not known.any():
        return "No question was answered differently in two runs, so drift cannot be tested."
    drifted = [found.models[i] for i in np.flatnonzero(adjusted < alpha)]
    count = int(known.sum())
    if count == 1:
        i = int(np.flatnonzero(known)[0])
        verdict = "more than" if drifted else "no more than"
        text = (
            f"The runs of {found.models[i]} differ by {verdict} independent generations would "
            f"(p {_equals(float(found.drift_p[i]))}). "
        )
    elif drifted:
        text = (
            f"The runs of {join_names(drifted)} differ by more than independent generations would, adjusted for "
            f"{format_count(count, 'model')} (Holm): something changed between them. "
        )
    else:
        text = (
            f"For none of {format_count(count, 'model')} do runs differ by more than independent generations would "
            f"(smallest p, adjusted by Holm: {format_p_value(float(np.nanmin(adjusted)))}). "
        )
    if drifted:
        text += "A mean over such runs is of no one thing. "
    return text + "The test is Cochran's Q, with questions as strata, which asks for any difference, not for a trend."


def _equals(p: float) -> str:
    return format_p_value(p).replace("<", "< ") if p < 0.001 else f"= {format_p_value(p)}"


def collect_repeat_warnings(found: Repeats) -> Iterator[str]:
    """Runs that are not runs."""
    for phrase, told in (
        (
            _SAME,
            "All runs of {names} are the same score for score (a cache, a fixed seed, no sampling): they count as one.",
        ),
        (_COPIES, "Some runs of {names} are the same score for score: copies are not further generations."),
        (_ALIKE, "The runs of {names} agree more than independent generations would: a shared seed, or a cache?"),
    ):
        if names := [model for model, note in zip(found.models, found.reasons, strict=True) if phrase in str(note)]:
            yield told.format(names=join_names(names))
    adjusted: FloatArray = holm(found.drift_p)
    if drifted := [found.models[i] for i in np.flatnonzero(adjusted < 1 - found.level)]:
        yield (
            f"The runs of {join_names(drifted)} differ by more than sampling would have them: something changed "
            "between "
            "them."
        )


def format_p_value(p: float) -> str:
    """A p-value in a sentence or a table.

    >>> format_p_value(0.0312), format_p_value(2e-7), format_p_value(0.5), format_p_value(float("nan"))
    ('0.031', '<0.001', '0.50', '–')
    """
    if np.isnan(p):
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"
