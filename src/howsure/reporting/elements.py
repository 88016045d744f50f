"""Elements of the page: figures, text tables and sections, with the numbers behind them as JSON."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import numpy as np

from howsure.reporting.charts import Chart
from howsure.reporting.formatting import format_count, join_names
from howsure.stats.core.results import Columns, RowNotes

#: Figures with fewer marks are drawn as SVG, which is sharp on paper; others on a canvas, with their text in SVG.
_SVG_MARKS = 2_000

#: Heights in pixels of an axis with its title, a row of a legend, a colour gradient, and the heading of a facet.
_AXIS_HEIGHT, _LEGEND_ROW_HEIGHT, _GRADIENT_HEIGHT, _FACET_HEADING_HEIGHT = 50, 16, 65, 42


@dataclass(frozen=True)
class Figure:
    """A chart with the question that it answers, its conclusion and the numbers behind it.

    Attributes
    ----------
    id
        Id of the element on the page, such as `b1-forest`.
    spec
        Vega-Lite specification of the chart.
    renderer
        Vega's renderer: "svg" or "hybrid".
    table
        Id of the table with the numbers behind the chart.
    columns
        Columns of that table.
    draws_table
        Whether the chart draws exactly that table.
    height
        Approximate height of the chart in pixels; 0 when it is not known in advance.
    is_folded
        Whether the page shows the title and the caption first, and the drawing when it is opened or printed.
    notes
        Notes of the rows of that table, which the command with the same table prints.
    """

    id: str
    title: str
    caption: str
    description: str
    spec: Mapping[str, Any] = field(repr=False)
    renderer: str
    table: str
    columns: Mapping[str, Sequence[Any]] = field(repr=False)
    draws_table: bool
    height: int
    is_folded: bool = False
    notes: tuple[str, ...] = ()

    @property
    def page_spec(self) -> str:
        """Specification as JSON for a page that contains the table; data equal to the table are replaced by its id."""
        if not self.draws_table:
            return dump_json(self.spec)
        columns = _find_columns(self.spec)
        datasets = {key: self.id if rows[0] == columns else rows for key, rows in self.spec["datasets"].items()}
        return dump_json({**self.spec, "datasets": datasets})


@dataclass(frozen=True)
class TextTable:
    """A table of formatted text with the question that it answers and its conclusion.

    Attributes
    ----------
    headings
        Headings of the columns; the first column names the row.
    numeric
        Whether each column is aligned to the right.
    rows
        Cells of each row.
    table
        Id of the table with the unformatted numbers.
    links
        Address that each row links to; empty when rows have no links.
    notes
        Notes of the rows of the table with the unformatted numbers.
    n_all
        Number of rows of that table, which the page can show where they are more than `rows`.
    """

    id: str
    title: str
    caption: str
    headings: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    table: str
    links: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    n_all: int = 0


@dataclass(frozen=True)
class Section:
    """Figures and tables under one heading; a section without items is not shown.

    Attributes
    ----------
    name
        Name of the element on the page: `#b1-NAME`.
    title
        Heading of the section.
    link
        Name of the section in the table of contents.
    lead
        What a reader must know before the first figure.
    left_out
        Figures that the data do not allow, each with the reason.
    """

    name: str
    title: str
    link: str
    lead: str
    items: tuple[Figure | TextTable, ...] = ()
    left_out: tuple[str, ...] = ()


#: The question that each figure answers, and its kind of chart in words, for the text alternative.
FIGURES = {
    "score-intervals": ("How sure is each score?", "Points with intervals: score of each model"),
    "forest": (
        "How far is each model from {reference}?",
        "Points with intervals: difference in score of each model from {reference}",
    ),
    "matrix": ("Which pairs of models can be told apart?", "Grid of pairs of models"),
    "errors": (
        "How large is the error of a difference, and what does theory expect?",
        "Scatter plot, one point per pair of models",
    ),
    "disagreement": (
        "Which differences would one generation per question detect?",
        "Scatter plot, one point per pair of models, with a parabola",
    ),
    "pair-parts": ("Which part of the error of a difference can generations remove?", "Scatter plot"),
    "curve": (
        "What changed along the training run?{which}",
        "Points with intervals over the checkpoints in their order, joined by a line",
    ),
    "costs": ("Who is better for less?", "Points with intervals: score against the cost of a generation"),
    "noise": (
        "How much noise comes from the questions, how much from sampling, with one generation and with those at hand?",
        "Stacked bars, two for each model: one generation per question, and the generations at hand",
    ),
    "sources": (
        "How much comes from the prompt, the question, and sampling again?",
        "Points with intervals, four for each model",
    ),
    "effect": (
        "Which values of {dimension} score higher?",
        "Points with intervals, one row for each value of {dimension}",
    ),
    "spread": (
        "How far does the score depend on the prompt?",
        "Box plots with points, one row for each model and a point for each prompt",
    ),
    "unparsed": ("Is it the prompt, or the parser?", "Scatter plot, a point for each model and prompt"),
    "unparsed-values": (
        "With which values can answers not be read?",
        "Points, one row for each value of a dimension",
    ),
    "convergence": (
        "How many prompts until the {moment} is near that over all?",
        "Curves that fall to 0, one for each model, with a line at epsilon",
    ),
    "bands": ("How does the {moment} over prompts{of_model} converge?", "Lines with bands, one for each model"),
    "growing": (
        "How does the score settle as generations are added?",
        "Bands that narrow from left to right, one row per model",
    ),
    "errors-k": ("What would more generations per question buy?", "Falling curves, one per model"),
    "frontier": (
        "What is the best error of {model} for each budget?",
        "Falling lines with points, one for each kind of design, and a cross for the run",
    ),
    "difficulty": (
        "Which questions are hard, and for whom?",
        "Heatmap of scores, models by skill and questions by difficulty",
    ),
    "map": ("Which questions are answered alike, and wrong?", "{drawing}"),
    "densities": (
        "Are questions solved always, never or sometimes?",
        "Histograms of the questions' mean scores, one row per model",
    ),
    "cumulative": ("How many questions are harder than that?", "Cumulative curves from 0 to 1, one row per model"),
    "runs": ("How lucky can a single run be?", "Dots for the runs over bars for the next run, one row per model"),
    "drift": ("Do scores drift from run to run?", "Lines of scores over the runs in their order"),
    "days": (
        "Do scores change from day to day?",
        "Points with intervals over the days of the runs, a row for each model, with a band for a further day",
    ),
    "run-widths": ("How many runs until the prediction interval is narrow?", "Bands that narrow, one row per model"),
}


def name_figure(figure: str, **words: str) -> tuple[str, str]:
    """Return the question that a figure answers, and its kind of chart in words.

    Each brace of the two is filled with the word of its name, or with nothing.
    """
    texts = defaultdict(str, words)
    question, kind = (text.format_map(texts) for text in FIGURES[figure])
    return question, kind


class ElementBuilder:
    """Builds the figures and tables of one benchmark and collects the numbers behind them.

    Attributes
    ----------
    id
        Id of the benchmark on the page, such as `b1`.
    tables
        Columns of each table by its id.

    Examples
    --------
    >>> builder = ElementBuilder("b1")
    >>> builder.add_table("scores", {"model": np.array(["a"]), "se": np.array([np.nan])})
    >>> builder.tables
    {'b1-scores': {'model': ['a'], 'se': [None]}}
    """

    def __init__(self, id_: str) -> None:
        self.id = id_
        self.tables: dict[str, dict[str, list[Any]]] = {}
        self._tables_with_notes: set[str] = set()

    @property
    def packed_tables(self) -> dict[str, str]:
        """Each table as JSON in which every text of a column occurs once."""
        return {id_: dump_json(pack_columns(columns)) for id_, columns in self.tables.items()}

    def add_table(self, name: str, columns: Columns, *, has_own_notes: bool = False) -> None:
        """Store columns under a name that figures, text tables and downloads refer to."""
        if has_own_notes:
            self._tables_with_notes.add(f"{self.id}-{name}")
        self.tables[f"{self.id}-{name}"] = {
            column: [clean_json(value) for value in values.tolist()] for column, values in columns.items()
        }

    def build_figure(
        self,
        name: str,
        caption: str,
        chart: Chart,
        *,
        marks: int,
        figure: str | None = None,
        table: str | None = None,
        is_folded: bool = False,
        **words: str,
    ) -> Figure:
        """Build a figure: its caption is the answer to its question in `FIGURES`, which `words` fill.

        `table` names a stored table with the numbers behind the chart; default: the data of the chart. The number of
        marks decides on the renderer.
        """
        title, kind = name_figure(figure or name, **words)
        spec = {**chart, "description": f"{kind}. {caption}"}
        if longest := find_longest_legend_name(spec):
            spec["usermeta"] = {"longest": longest, **spec.get("usermeta", {})}
        if table is None:
            self.tables[f"{self.id}-{name}"] = _find_columns(spec)
        table_id = f"{self.id}-{table or name}"
        return Figure(
            id=f"{self.id}-{name}",
            title=title,
            caption=caption,
            description=spec["description"],
            spec=spec,
            renderer="svg" if marks < _SVG_MARKS else "hybrid",
            table=table_id,
            columns=self.tables[table_id],
            draws_table=table is None,
            height=_estimate_height(spec),
            is_folded=is_folded,
            notes=self._take_notes(table_id),
        )

    def build_text_table(
        self,
        name: str,
        title: str,
        caption: str,
        rows: Mapping[str, Sequence[str]],
        *,
        text_columns: int,
        table: str,
        link_questions: bool = False,
    ) -> TextTable:
        """Build a text table."""
        questions = next(iter(rows.values())) if link_questions else ()
        notes = self._take_notes(f"{self.id}-{table}")
        return TextTable(
            id=f"{self.id}-{name}",
            title=title,
            caption=caption,
            headings=tuple(rows),
            numeric=tuple(i >= text_columns for i in range(len(rows))),
            rows=tuple(zip(*rows.values(), strict=True)),
            table=f"{self.id}-{table}",
            links=tuple(f"#q={quote(question, safe='', errors='replace')}&b={self.id}" for question in questions),
            notes=notes,
            n_all=max(map(len, self.tables[f"{self.id}-{table}"].values())),
        )

    def _take_notes(self, table: str) -> tuple[str, ...]:
        """Return the notes of a table for the first figure or text table of it, and none for the next ones."""
        is_first = table not in self._tables_with_notes
        self._tables_with_notes.add(table)
        return tuple(describe_notes(self.tables[table])) if is_first else ()


def describe_notes(columns: Mapping[str, Sequence[object]]) -> Iterator[str]:
    """Yield each note of a table once, with the models or the number of the rows that have it.

    Examples
    --------
    >>> list(describe_notes({"model": ["a", "a", "b"], "note": [RowNotes("few", "old"), "", "few"]}))
    ['a and b: few', 'a: old']
    >>> list(describe_notes({"model_a": ["a", "a"], "model_b": ["b", "c"], "note": ["few", ""]}))
    ['a and b: few']
    >>> list(describe_notes({"question": ["1", "2"], "note": ["few", "few"]}))
    ['2 of 2 rows in the table: few']
    """
    rows_of: dict[str, list[int]] = {}
    for i, text in enumerate(columns.get("note", ())):
        for note in RowNotes(text if isinstance(text, str) else "").sentences:
            rows_of.setdefault(note, []).append(i)
    for note, rows in rows_of.items():
        if "model_a" in columns and len(rows) == 1:
            where = join_names([str(columns[name][rows[0]]) for name in ("model_a", "model_b")])
        elif "model" in columns:
            where = join_names(list(dict.fromkeys(str(columns["model"][i]) for i in rows)))
        else:
            row = "pair" if "model_a" in columns else "row"
            where = f"{len(rows):,} of {format_count(len(columns['note']), row)} in the table"
        yield f"{where}: {note.replace('n_star_space_corrected', 'the noise-free number').replace('n_star', 'n*')}"


def _list_legends(spec: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Yield the domain of each legend of a chart; empty where the domain comes from the data."""
    for part in (*spec.get("layer", ()), *([spec["spec"]] if "spec" in spec else ())):
        yield from _list_legends(part)
    for channel in ("color", "fill", "stroke", "shape", "strokeDash"):
        encoding = spec.get("encoding", {}).get(channel, {})
        if "field" in encoding and encoding.get("legend", True) is not None:
            domain = (encoding.get("scale") or {}).get("domain", [])
            yield domain if isinstance(domain, list) else []


def find_longest_legend_name(spec: Mapping[str, object]) -> int:
    """Return the number of characters of the longest name in a legend with several entries."""
    legends = [names for names in _list_legends(spec) if len(names) > 1]
    return max((len(name) for names in legends for name in names if isinstance(name, str)), default=0)


def _estimate_height(spec: Mapping[str, Any]) -> int:
    """Return the approximate height in pixels, so that the page does not move when a figure is drawn; 0 if unknown."""
    inner = spec.get("spec", spec).get("height")
    if not isinstance(inner, (int, float)):
        return 0
    if "spec" in spec:
        facet = spec["facet"].get("row", {}).get("field")
        inner = len(set(_find_columns(spec).get(facet, ()))) * (inner + _FACET_HEADING_HEIGHT)
    names_per_row = max(1, 750 // (7 * find_longest_legend_name(spec) + 44))  # as page.js arranges them on a screen
    legends = [
        (1 - len(names) // -names_per_row) * _LEGEND_ROW_HEIGHT
        if names and isinstance(names[0], str)
        else _GRADIENT_HEIGHT
        for names in _list_legends(spec)
    ]
    above = 0
    if "above" in spec.get("usermeta", {}):  # names of the columns
        above = min(7 * max(len(str(name)) for name in _find_columns(spec)["column"]), 260)
    return int(inner) + _AXIS_HEIGHT + above + max(legends, default=0)


def _find_columns(spec: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the columns that a chart draws: the longest of its datasets, and of several such the one with most."""
    datasets: list[dict[str, list[Any]]] = [
        rows[0] for rows in spec["datasets"].values() if all(isinstance(column, list) for column in rows[0].values())
    ]
    return max(datasets, key=lambda columns: (len(next(iter(columns.values()))), len(columns)))


def pack_columns(columns: Mapping[str, Sequence[object]]) -> dict[str, object]:
    """Store each text of a column once: `{"names": [...], "at": [...]}`.

    >>> pack_columns({"model": ["a", "a", "b"], "score": [1, 2, 3]})
    {'model': {'names': ['a', 'b'], 'at': [0, 0, 1]}, 'score': [1, 2, 3]}
    """
    packed: dict[str, object] = {}
    for column, values in columns.items():
        names = list(dict.fromkeys(values)) if all(isinstance(value, str) for value in values) else values
        place = {name: i for i, name in enumerate(names)} if len(names) < len(values) else {}
        packed[column] = {"names": names, "at": [place[value] for value in values]} if place else values
    return packed


def clean_json(value: object) -> object:
    """Round numbers to 9 significant digits, and replace NaN and infinities by None.

    >>> clean_json([0.12345678949, -0.0, np.nan])
    [0.123456789, 0.0, None]
    """
    if isinstance(value, float):
        return float(f"{value:.9g}") + 0.0 if np.isfinite(value) else None  # -0 is 0
    if isinstance(value, Mapping):
        return {str(key): clean_json(v) for key, v in value.items()}
    return [clean_json(v) for v in value] if isinstance(value, (list, tuple)) else value


def dump_json(value: object) -> str:
    """Return JSON that is safe inside a script element: no character opens or closes a tag."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)  # ASCII, so without U+2028 as well
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
