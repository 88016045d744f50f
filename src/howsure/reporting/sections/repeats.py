"""Section 9 of the page: repeated runs, where a future one may fall, drift, and copies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from howsure.reporting.charts.chart_elements import MAX_SERIES
from howsure.reporting.charts.repeats import draw_drift, draw_runs
from howsure.reporting.elements import ElementBuilder, Figure, Section, TextTable
from howsure.reporting.sections.score_table import pick_spaced
from howsure.reporting.sentences.formatting import choose_decimals, format_level, format_number
from howsure.reporting.sentences.repeats import describe_drift, describe_runs, format_p_value
from howsure.stats.core.cells import Cells
from howsure.stats.repeats import Repeats, repeats

#: Models with a row in the figure and in the table, at most.
_MAX_ROWS = 20

#: Heading and meaning of the columns of this section's tables.
COLUMNS = {
    "run": ("Run", "One pass over the questions; its name, or its number in the order they were made."),
    "n_runs": ("Runs", "Runs that the model is in."),
    "mean": ("Mean", "Mean over questions of a run, or of all runs."),
    "sd": ("SD", "Standard deviation: of the run means; of one run, of its questions."),
    "best": ("Best run", "Highest mean of a run."),
    "worst": ("Worst run", "Lowest mean of a run."),
    "n_future": ("Future runs", "Runs that the prediction interval is for the mean of."),
    "drift_p": ("p, drift", "Chance of runs this different if all were independent generations (Cochran's Q)."),
}


def compute_repeats(runs: Sequence[Cells], *, level: float) -> Repeats | None:
    """Return the prediction interval for the next run; None if no model is in two runs."""
    if len(runs) < 2:
        return None
    result = repeats(runs, n_future=1, level=level)
    return result if np.any(result.n_runs > 1) else None


def build_repeats_section(result: Repeats | None, order: Sequence[str], builder: ElementBuilder) -> Section:
    """Build the section on run means, their order and the prediction interval.

    Parameters
    ----------
    result
        Result of `compute_repeats`.
    order
        Models in the order of the page.
    """
    title, link = "Repeated runs", "Repeats"
    lead = (
        "The g-th generations of all questions make the g-th run: what an evaluation with one generation per question "
        "would have reported. On these questions again, runs differ by sampling alone, unless something drifts."
    )
    if result is None:
        return Section("repeats-part", title, link, lead, (), ("repeated runs (one run of each model)",))
    models = [model for model in order if model in result.models and result.n_runs[result.models.index(model)] > 1]
    builder.add_table("runs", result.runs.columns())
    builder.add_table("repeats", result.columns())
    return Section("repeats-part", title, link, lead, tuple(_build_items(result, models, builder)))


def _build_items(result: Repeats, models: Sequence[str], builder: ElementBuilder) -> list[Figure | TextTable]:
    """Return the figure of runs, the figure of drift and the table, for models with several runs."""
    rows, series = models[:_MAX_ROWS], pick_spaced(models, MAX_SERIES)
    most_runs = int(result.n_runs.max())
    first = f" Drawn for the first {len(rows)} of {len(models):,} models." if len(rows) < len(models) else ""
    some = f" Drawn for {len(series)} of {len(models):,} models." if len(series) < len(models) else ""
    return [
        builder.build_figure(
            "runs",
            "How lucky can a single run be?",
            describe_runs(result, models) + first,
            draw_runs(result, rows),
            kind="Dots for the runs over bars for the next run, one row per model",
            table="runs",
            marks=(most_runs + 2) * len(rows),
        ),
        builder.build_figure(
            "drift",
            "Do scores drift from run to run?",
            describe_drift(result) + some,
            draw_drift(result, series),
            kind="Lines of scores over the runs in their order",
            table="runs",
            marks=2 * most_runs * len(series),
        ),
        _build_table(result, models, builder),
    ]


def _build_table(result: Repeats, models: Sequence[str], builder: ElementBuilder) -> TextTable:
    """Return the table of run means and prediction intervals."""
    at = [result.models.index(model) for model in models[:_MAX_ROWS]]
    interval = result.interval()
    places = choose_decimals(result.sd[at])
    rows = {
        "Model": list(models[:_MAX_ROWS]),
        "Runs": [f"{int(result.n_runs[i]):,}" for i in at],
        "Mean": [format_number(float(result.mean[i]), places) for i in at],
        "SD of runs": [format_number(float(result.sd[i]), places) for i in at],
        "Worst": [format_number(float(result.worst[i]), places) for i in at],
        "Best": [format_number(float(result.best[i]), places) for i in at],
        f"Next run, {format_level(result.level)}": [
            "–"
            if np.isnan(interval.low[i])
            else f"{format_number(float(interval.low[i]), places)} to {format_number(float(interval.high[i]), places)}"
            for i in at
        ],
        "p, drift": [format_p_value(float(result.drift_p[i])) for i in at],
    }
    notes = [text for note in result.reasons[at] for text in str(note).split("; ") if text]
    caption = "The mean of all runs, and where a single further run of the same questions will fall."
    if notes:
        caption += f" To be read with: {'; '.join(dict.fromkeys(notes))}."
    if len(at) < len(models):
        caption += f" The first {len(at)} of {len(models):,} models; the download has all."
    return builder.build_text_table(
        "repeats", "What will the next run score?", caption, rows, text_columns=1, table="repeats"
    )
