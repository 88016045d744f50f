"""Captions of the figures of repeated runs, and warnings about them."""

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

#: Notes of `Repeats` on copies and on run means.
_COPIES, _TOO_SIMILAR = "copies are not runs", "agree more than independent generations would"
_SAME = "no variation was seen"


def describe_runs(result: Repeats, models: Sequence[str]) -> str:
    """Describe the best and the worst run of one model, and the interval for the next one."""
    interval = result.interval()
    rows = [result.models.index(model) for model in models]
    gap = (result.best - result.worst)[rows]
    i, places = rows[0], choose_decimals(np.sqrt(result.variance))
    worst, best, low, high = (
        format_number(float(value[i]), places) for value in (result.worst, result.best, interval.low, interval.high)
    )
    ends = f"from {worst} to {best}" if gap[0] > 0 else worst
    text = f"{models[0]} scored {ends} in {format_count(int(result.n_runs[i]), 'run')} of the same questions"
    if np.isnan(interval.low[i]):
        text += "; no interval for the next run is known. "
    else:
        text += (
            f"; the next run will fall between {low} and {high} with {format_level(result.level)} probability (bar). "
        )
    widest = int(np.argmax(gap))
    if len(models) > 1 and gap[widest] > 0:
        text += (
            f"Best and worst run are farthest apart for {models[widest]}, by "
            f"{format_number(float(gap[widest]), places)}: "
            "to report only the best run adds that much luck. "
        )
    return text + "Runs that score nearly the same are drawn above each other."


def describe_drift(result: Repeats) -> str:
    """Describe whether runs differ by more than sampling explains."""
    adjusted = holm(result.drift_p)
    available = ~np.isnan(adjusted)
    alpha = 1 - result.level
    if not available.any():
        return "No question was answered differently in two runs, so drift cannot be tested."
    drifted = [result.models[i] for i in np.flatnonzero(adjusted < alpha)]
    count = int(available.sum())
    if count == 1:
        i = int(np.flatnonzero(available)[0])
        verdict = "more than" if drifted else "no more than"
        text = (
            f"The runs of {result.models[i]} differ by {verdict} independent generations would "
            f"(p {_equals(float(result.drift_p[i]))}). "
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
        text += "A mean over such runs mixes different conditions. "
    return text + "The test is Cochran's Q, with questions as strata, which tests for any difference, not for a trend."


def _equals(p: float) -> str:
    """Return a p-value after an equals sign or a less-than sign."""
    return format_p_value(p).replace("<", "< ") if p < 0.001 else f"= {format_p_value(p)}"


def collect_repeat_warnings(result: Repeats) -> Iterator[str]:
    """Yield warnings about runs that are copies, agree too much, or drift."""
    for reason, text in (
        (
            _SAME,
            "All runs of {names} are the same score for score (a cache, a fixed seed, no sampling): they count as one.",
        ),
        (_COPIES, "Some runs of {names} are the same score for score: copies are not further generations."),
        (_TOO_SIMILAR, "The runs of {names} agree more than independent generations would: a shared seed, or a cache?"),
    ):
        if names := [model for model, note in zip(result.models, result.reasons, strict=True) if reason in str(note)]:
            yield text.format(names=join_names(names))
    adjusted: FloatArray = holm(result.drift_p)
    if drifted := [result.models[i] for i in np.flatnonzero(adjusted < 1 - result.level)]:
        yield (
            f"The runs of {join_names(drifted)} differ by more than sampling explains: something changed between them."
        )


def format_p_value(p: float) -> str:
    """Format a p-value for a sentence or a table.

    >>> format_p_value(0.0312), format_p_value(2e-7), format_p_value(0.5), format_p_value(float("nan"))
    ('0.031', '<0.001', '0.50', '–')
    """
    if np.isnan(p):
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"
