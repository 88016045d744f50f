"""Section 9 of the page: runs of the same thing, where a future one may fall, drift, and copies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from howsure.report.charts.repeats import draw_drift, draw_runs
from howsure.report.elements import Figure, Listing, Section, Sheet
from howsure.report.sentences.formatting import choose_decimals, format_level, format_number
from howsure.report.sentences.repeats import describe_drift, describe_runs, format_p_value
from howsure.stats.core.cells import Cells
from howsure.stats.repeats import Repeats, repeats

#: Models with a row of dots, and in the table.
_ROWS = 20

#: Headings of the columns of this section's tables.
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


def repeats_of(runs: Sequence[Cells], *, level: float) -> Repeats | None:
    """What the runs say of the next one; None where no model is in two of them."""
    if len(runs) < 2:
        return None
    found = repeats(runs, n_future=1, level=level)
    return found if np.any(found.n_runs > 1) else None


def repeats_section(found: Repeats | None, order: Sequence[str], sheet: Sheet) -> Section:
    """Run means with the prediction interval, their order, and a table.

    Parameters
    ----------
    found
        From `repeats_of`.
    order
        Models as the page has them.
    """
    title, link = "Runs of the same thing", "Repeats"
    lead = (
        "The g-th generations of all questions make the g-th run: what an evaluation with one generation per question "
        "would have reported. On these questions again, runs differ by sampling alone, unless something drifts."
    )
    if found is None:
        return Section("repeats-part", title, link, lead, (), ("runs of the same thing (one run of each model)",))
    several = [model for model in order if model in found.models and found.n_runs[found.models.index(model)] > 1]
    sheet.table("runs", found.runs.columns())
    sheet.table("repeats", found.columns())
    return Section("repeats-part", title, link, lead, tuple(_items(found, several, sheet)))


def _items(found: Repeats, several: Sequence[str], sheet: Sheet) -> list[Figure | Listing]:
    from howsure.report.charts.base import MAX_SERIES

    shown = several[:_ROWS]
    dots = int(found.n_runs.max()) * len(shown)
    cut = f" Drawn for the first {len(shown)} of {len(several):,} models." if len(shown) < len(several) else ""
    apart = [several[i] for i in np.unique(np.linspace(0, len(several) - 1, min(MAX_SERIES, len(several))).astype(int))]
    some = f" Drawn for {len(apart)} of {len(several):,} models." if len(apart) < len(several) else ""
    return [
        sheet.figure(
            "runs",
            "How lucky can a single run be?",
            describe_runs(found, several) + cut,
            draw_runs(found, shown),
            looks="Dots for the runs over bars for the next run, one row per model",
            table="runs",
            marks=dots + 2 * len(shown),
        ),
        sheet.figure(
            "drift",
            "Do scores drift from run to run?",
            describe_drift(found) + some,
            draw_drift(found, apart),
            looks="Lines of scores over the runs in their order",
            table="runs",
            marks=2 * int(found.n_runs.max()) * len(apart),
        ),
        _listing(found, several, sheet),
    ]


def _listing(found: Repeats, several: Sequence[str], sheet: Sheet) -> Listing:
    at = [found.models.index(model) for model in several[:_ROWS]]
    between = found.interval()
    places = choose_decimals(found.sd[at])
    rows = {
        "Model": list(several[:_ROWS]),
        "Runs": [f"{int(found.n_runs[i]):,}" for i in at],
        "Mean": [format_number(float(found.mean[i]), places) for i in at],
        "SD of runs": [format_number(float(found.sd[i]), places) for i in at],
        "Worst": [format_number(float(found.worst[i]), places) for i in at],
        "Best": [format_number(float(found.best[i]), places) for i in at],
        f"Next run, {format_level(found.level)}": [
            "–"
            if np.isnan(between.low[i])
            else f"{format_number(float(between.low[i]), places)} to {format_number(float(between.high[i]), places)}"
            for i in at
        ],
        "p, drift": [format_p_value(float(found.drift_p[i])) for i in at],
    }
    told = [text for note in found.reasons[at] for text in str(note).split("; ") if text]
    caption = "The mean of all runs, and where a single further run of the same questions will fall."
    if told:
        caption += f" To be read with: {'; '.join(dict.fromkeys(told))}."
    if len(at) < len(several):
        caption += f" The first {len(at)} of {len(several):,} models; the download has all."
    return sheet.listing("repeats", "What will the next run score?", caption, rows, text=1, table="repeats")
