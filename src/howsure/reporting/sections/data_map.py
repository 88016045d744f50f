"""Section 7 of the page: the data map, and the questions whose label may be wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.reporting.charts import (
    BLUE,
    GREY,
    Chart,
    Layer,
    across,
    columns_of,
    draw,
    finish_chart,
    number,
    style_series,
    tooltips,
)
from howsure.reporting.elements import ElementBuilder, Figure, Section, TextTable
from howsure.reporting.formatting import format_count, format_each, format_level, format_number, format_share, is_or_are
from howsure.stats.core.results import Columns
from howsure.stats.questions import MAX_P_CORRECT, MIN_CONSISTENCY, AnswerCounts, LabelErrors, find_label_errors

#: Rows of the table on the page and of the table behind it, at most.
_MAX_ROWS, _MAX_STORED_ROWS = 50, 1_000

#: Characters of an answer in these two tables, at most.
_MAX_CHARACTERS, _MAX_STORED_CHARACTERS = 48, 200


#: Text before the figure.
LEAD = (
    "Where a model is mostly right, it gives nearly the same answer every time. A question that models answer alike, "
    "and wrong, is either one that they all misunderstand or one whose label is wrong: read these first. A click on a "
    "point opens its question."
)

#: Points up to which each is drawn; above, squares that are coloured by how many questions they hold.
MAX_POINTS = 5_000

#: Kinds of points.
KINDS = ("Other question", "Suspected label error")

#: Squares across and down.
_ACROSS, _DOWN = 40, 30


def build_data_map_section(answers: AnswerCounts | None, builder: ElementBuilder) -> Section:
    """Build the section with the data map and the suspected label errors; it needs recorded answers."""
    title = "Which labels may be wrong"
    name = "map-part"
    if answers is None or not answers.parsed.any():
        reason = "answers are not recorded" if answers is None else "no answer was extracted"
        return Section(name, title, title, LEAD, left_out=(f"data map and suspected labels ({reason})",))
    errors = find_label_errors(answers)
    items: list[Figure | TextTable] = []
    left_out: list[str] = []
    if np.any(~np.isnan(errors.consistency) & ~np.isnan(errors.p_correct)):
        items.append(_build_map(errors, builder))
    else:
        left_out.append("data map (no model has two generations with an answer to a question)")
    if errors.suspected.any():
        items.append(_build_table(errors, builder))
    elif not items:
        left_out.append("suspected labels (there is none)")
    return Section(name, title, title, LEAD, tuple(items), tuple(left_out))


def _build_map(errors: LabelErrors, builder: ElementBuilder) -> Figure:
    """Return the figure of consistency against P(correct)."""
    binned = is_dense(errors)
    return builder.build_figure(
        "map",
        describe_data_map(errors, binned=binned),
        draw_data_map(errors),
        marks=min(len(errors.questions), MAX_POINTS),
        drawing="Density of questions, suspected label errors as points"
        if binned
        else "Scatter plot, one point per question",
    )


def _build_table(errors: LabelErrors, builder: ElementBuilder) -> TextTable:
    """Return the table of suspected label errors, the strongest evidence first."""
    suspected = errors.select(errors.suspected)
    builder.add_table("suspects", _tabulate_errors(suspected.select(slice(_MAX_STORED_ROWS))))
    rows = suspected.select(slice(_MAX_ROWS))
    columns = rows.columns()
    return builder.build_text_table(
        "suspects",
        "Which labels contradict the models?",
        describe_label_errors(errors, len(rows.questions)),
        {
            "Question": list(rows.questions),
            "Target": [_shorten(text, _MAX_CHARACTERS) for text in rows.target],
            "Other answer": [_shorten(text, _MAX_CHARACTERS) for text in rows.answer],
            "P(correct)": format_each(rows.p_correct, 2),
            "Consistency": format_each(rows.consistency, 2),
            "Answers": format_each(rows.n_sets),
            "Models agreeing": [
                f"{a} of {n}" for a, n in zip(rows.models_agreeing.tolist(), rows.n_models.tolist(), strict=True)
            ],
            "Evidence": format_each(columns["evidence"], 1),
            "P(wrong) at most": [_format_limit(value) for value in columns["p_wrong_max"].tolist()],
        },
        text_columns=3,
        table="suspects",
        link_questions=True,
    )


def _format_limit(limit: float) -> str:
    """Return an upper limit of a probability; a limit that excludes nothing is none.

    >>> _format_limit(0.1234), _format_limit(0.998), _format_limit(1.0)
    ('0.12', '>0.99', 'no limit')
    """
    if limit >= 1 - 1e-9:
        return "no limit"
    return ">0.99" if limit >= 0.995 else format_number(limit, 2)


def _tabulate_errors(errors: LabelErrors) -> Columns:
    """Return the columns of the suspected label errors, with long answers shortened."""
    columns = errors.columns()
    del columns["benchmark"], columns["note"]
    for name in ("target", "answer"):
        texts = [None if text is None else _shorten(text, _MAX_STORED_CHARACTERS) for text in columns[name]]
        columns[name] = np.array(texts, dtype=object)
    return columns


def _shorten(text: str | None, length: int) -> str:
    """Return the text on one line, with at most `length` characters."""
    line = "–" if text is None else " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def describe_data_map(errors: LabelErrors, *, binned: bool) -> str:
    """Describe how consistency depends on P(correct), and how many questions lie in the corner.

    >>> from howsure.stats.questions import AnswerCounts
    >>> from howsure.stats.questions import find_label_errors
    >>> given = {m: {"q1": ["4", "4"], "q2": ["7", "7"], "q3": ["2", "3"]} for m in "ab"}
    >>> answers = AnswerCounts.from_generations("s", given, {"q1": "4", "q2": "8", "q3": "3"})
    >>> print(describe_data_map(find_label_errors(answers), binned=False))
    Consistency is 0 where all answers of a model are the same, and lower the more they differ: 0.00 on average on \
questions that are right more often than not, −0.50 on the others. The marked \
corner, P(correct) up to 0.1 and consistency of −0.8 at least, holds 1 of 3 questions. Means over 2 models.
    """
    available = ~np.isnan(errors.consistency) & ~np.isnan(errors.p_correct)
    right, s = errors.p_correct > 0.5, errors.consistency
    mostly, seldom = (s[available & which] for which in (right, ~right))
    if len(mostly) and len(seldom):
        text = (
            "Consistency is 0 where all answers of a model are the same, and lower the more they differ: "
            f"{format_number(float(mostly.mean()), 2)} on average on questions that are right more often than not, "
            f"{format_number(float(seldom.mean()), 2)} on the others."
        )
    else:
        which = "right" if len(mostly) else "wrong"
        text = (
            f"All questions are {which} at least half of the time: consistency is "
            f"{format_number(float(s[available].mean()), 2)}."
        )
    corner, N = int(errors.on_map.sum()), int(available.sum())
    text += (
        f" The marked corner, P(correct) up to {MAX_P_CORRECT:g} and consistency of "
        f"{format_number(MIN_CONSISTENCY, 1)} at least, "
        f"holds {f'{corner:,}' if corner else 'none'} of {format_count(N, 'question')}."
    )
    text += f" Means over {format_count(most, 'model')}." if (most := int(errors.n_models.max(initial=0))) > 1 else ""
    if binned:
        text += (
            " The stronger the colour of a square, the more questions lie in it; suspected label errors are drawn one "
            "by one."
        )
    if len(available) > N:
        left = len(available) - N
        text += (
            f" {format_count(left, 'question')} with fewer than two read answers of any model {is_or_are(left)} not "
            "drawn."
        )
    return text


def describe_label_errors(errors: LabelErrors, n_rows: int) -> str:
    """Describe how many labels are suspected, why, and what the evidence means."""
    n_suspected, N = int(errors.suspected.sum()), len(errors.questions)
    text = (
        f"{n_suspected:,} of {format_count(N, 'question')} ({format_share(n_suspected / N)}) {is_or_are(n_suspected)} "
        "worth a "
        "look: "
    )
    parts = []
    if n_corner := int(errors.on_map.sum()):
        parts.append(f"{n_corner:,} in the corner of the data map (rarely right, nearly always alike)")
    if n_outvoted := int(errors.outvoted.sum()):
        parts.append(f"{n_outvoted:,} where most models, two at least, give the same other answer")
    text += ", and ".join(parts) + (", some for both reasons." if n_corner + n_outvoted > n_suspected else ".")
    text += (
        " The evidence puts them in order and is no probability: answers cannot distinguish a wrong target from a "
        "right one that all models miss in the same way. The probability that a target is wrong lies between 0 and the "
        f"last column, if at most {format_level(errors.max_share)} of all targets are wrong; no limit: the answers "
        "exclude nothing. Read the question."
    )
    return text + (f" The first {n_rows:,} are listed; the download has more." if n_rows < n_suspected else "")


def is_dense(errors: LabelErrors, *, most: int = MAX_POINTS) -> bool:
    """Return whether there are too many places for one point each."""
    return len(_places(_select_available(errors))[3]) > most


def draw_data_map(errors: LabelErrors, *, most: int = MAX_POINTS) -> Chart:
    """Draw a point for each place on the map, larger with several questions; suspected label errors stand out.

    A click on a point opens the first question there by name (`usermeta.click`).
    """
    available = _select_available(errors)
    places, kind, first, count = _places(available)
    binned = len(count) > most
    selected = kind == 1 if binned else np.ones(len(count), bool)
    low = float(places[:, 1].min(initial=MIN_CONSISTENCY))
    p_range = (min(0.0, float(places[:, 0].min(initial=0))), max(1.0, float(places[:, 0].max(initial=1))))
    x = across("p_correct", "P(correct)", scale={"domain": list(p_range), "nice": False, "padding": 8})
    scale = {"domain": [low, 0], "nice": False, "padding": 8}
    y = number("consistency", title="Consistency (0: always alike)", scale=scale, axis={"tickCount": 6})
    square: dict[str, Any] = {"x": x, "x2": "p_end", "y": y, "y2": "s_end"}
    corner = columns_of(p_correct=[p_range[0]], p_end=[MAX_P_CORRECT], consistency=[MIN_CONSISTENCY], s_end=[0.0])
    points = columns_of(
        question=[available.questions[i] for i in first[selected].tolist()],
        p_correct=places[selected, 0],
        consistency=places[selected, 1],
        part=[KINDS[i] for i in kind[selected].tolist()],
        n_here=count[selected],
    )
    tips = tooltips(question="Question", p_correct="P(correct)", consistency="Consistency", n_here="Questions here")
    size = number("n_here", legend=None, scale={"type": "sqrt", "range": [40, 700], "domainMin": 1})
    layers = [draw(corner, "rect", {"fill": GREY, "fillOpacity": 0.14, "stroke": GREY, "strokeDash": [4, 3]}, **square)]
    if binned:
        layers.append(_draw_density(available.select(~available.suspected), p_range, low, **square))
    mark, style = {"filled": True, "opacity": 0.7, "cursor": "pointer"}, style_series("part", KINDS)
    layers.append(draw(points, "point", mark, x=x, y=y, size=size, tooltip=tips, **style))
    return finish_chart(*layers, height=380, click="question")


def _select_available(errors: LabelErrors) -> LabelErrors:
    """Return the questions whose place on the map is known."""
    return errors.select(~np.isnan(errors.p_correct) & ~np.isnan(errors.consistency))


def _places(errors: LabelErrors) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the different places, whether a label error is suspected there, their first questions, and counts."""
    kind = errors.suspected.astype(float)
    at = np.column_stack([np.round(errors.p_correct, 4), np.round(errors.consistency, 4), kind])
    by_name = np.argsort(np.array(errors.questions, dtype=object), kind="stable")
    places, first, count = np.unique(at[by_name], axis=0, return_index=True, return_counts=True)
    order = np.argsort(places[:, 2], kind="stable")  # suspected label errors on top
    return places[order, :2] + 0.0, places[order, 2].astype(int), by_name[first[order]], count[order]


def _draw_density(errors: LabelErrors, p_range: tuple[float, float], low: float, **square: Any) -> Layer:
    """Return squares coloured by their number of questions."""
    edges = np.linspace(*p_range, _ACROSS + 1), np.linspace(low, 0, _DOWN + 1)
    counts, _, _ = np.histogram2d(errors.p_correct, errors.consistency, bins=edges)
    i, j = np.nonzero(counts)
    squares = columns_of(
        p_correct=edges[0][i],
        p_end=edges[0][i + 1],
        consistency=edges[1][j],
        s_end=edges[1][j + 1],
        n_here=counts[i, j],
    )
    opacity = number("n_here", legend=None, scale={"type": "log", "range": [0.15, 1]})
    tips = tooltips(p_correct="P(correct) from", consistency="Consistency from", n_here="Questions")
    return draw(squares, "rect", {"fill": BLUE}, fillOpacity=opacity, tooltip=tips, **square)
