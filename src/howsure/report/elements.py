"""Figures and tables of one benchmark as the template shows them, and the numbers behind them as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from howsure.stats.core.results import Columns

if TYPE_CHECKING:
    from howsure.report.charts.base import Chart


#: Marks from which a figure is drawn on a canvas with its text in SVG; below, all of it is SVG, sharp on paper.
_SVG_MARKS = 2_000


@dataclass(frozen=True)
class Figure:
    """A drawing, the question it answers, its conclusion, and the numbers behind it."""

    id: str
    title: str
    caption: str
    description: str
    made: Mapping[str, Any] = field(repr=False)  # its specification
    renderer: str
    table: str  # id of the table behind it
    drawn: bool  # whether that is what it draws
    height: int  # about how high it is drawn, in pixels; 0 where that is not known beforehand

    @property
    def spec(self) -> str:
        """Its specification, as JSON."""
        return to_json(self.made)

    @property
    def lean(self) -> str:
        """The same for a page that holds the table: where that is what is drawn, its id stands for it."""
        if not self.drawn:
            return self.spec
        drawn = _datum(self.made)
        shared = {key: self.id if rows[0] == drawn else rows for key, rows in self.made["datasets"].items()}
        return to_json({**self.made, "datasets": shared})


@dataclass(frozen=True)
class Listing:
    """A table that is read rather than drawn: the question it answers, its conclusion, and a few rows of text.

    The first column names the row; `numeric` says which of the columns are set flush right.
    """

    id: str
    title: str
    caption: str
    headings: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    table: str
    links: tuple[str, ...] = ()  # of the rows, where they lead somewhere


class Sheet:
    """Collects what one benchmark shows; `columns` are the numbers behind it, by id."""

    def __init__(self, id_: str) -> None:
        self.id = id_
        self.columns: dict[str, dict[str, list[Any]]] = {}

    @property
    def tables(self) -> dict[str, str]:
        """Tables by id, as JSON."""
        return {id_: to_json(columns) for id_, columns in self.columns.items()}

    @property
    def packed(self) -> dict[str, str]:
        """The same with each word of a column once."""
        return {id_: to_json(packed(columns)) for id_, columns in self.columns.items()}

    def table(self, name: str, columns: Columns) -> None:
        """Keep the columns that figures, listings and downloads refer to by name."""
        self.columns[f"{self.id}-{name}"] = {
            column: [clean(v) for v in values.tolist()] for column, values in columns.items()
        }

    def figure(
        self, name: str, title: str, caption: str, chart: Chart, *, looks: str, table: str | None = None, marks: int
    ) -> Figure:
        """Make a figure.

        Parameters
        ----------
        looks
            What kind of drawing it is, for those who cannot see it.
        table
            Name of the table behind it; default: what the chart draws.
        marks
            About how many marks it has.
        """
        spec = chart.properties(description=f"{looks}. {caption}").to_dict()
        if longest := _longest(spec):
            spec.setdefault("usermeta", {})["longest"] = longest
        if table is None:
            self.columns[f"{self.id}-{name}"] = _datum(spec)
        return Figure(
            id=f"{self.id}-{name}",
            title=title,
            caption=caption,
            description=spec["description"],
            made=spec,
            renderer="svg" if marks < _SVG_MARKS else "hybrid",
            table=f"{self.id}-{table or name}",
            drawn=table is None,
            height=_height(spec),
        )

    def listing(
        self,
        name: str,
        title: str,
        caption: str,
        rows: Mapping[str, Sequence[str]],
        *,
        text: int,
        table: str,
        opens: bool = False,
    ) -> Listing:
        """Make a listing of the columns of `rows`, the first `text` of which are words and the others numbers.

        With `opens` each row is of a question, which it leads to.
        """
        questions = next(iter(rows.values())) if opens else ()
        return Listing(
            id=f"{self.id}-{name}",
            title=title,
            caption=caption,
            headings=tuple(rows),
            numeric=tuple(i >= text for i in range(len(rows))),
            rows=tuple(zip(*rows.values(), strict=True)),
            table=f"{self.id}-{table}",
            links=tuple(f"#q={quote(question, safe='', errors='replace')}&b={self.id}" for question in questions),
        )


#: Pixels that an axis with its title takes below a drawing, a row of a legend, a gradient, and the heading of a facet.
_AXIS, _ROW, _GRADIENT, _HEADING = 50, 16, 65, 42


def _legends(spec: Mapping[str, Any]) -> Iterator[list[Any]]:
    """The domain of each legend of a chart: names, ends of a gradient, or nothing where the data are to say."""
    for part in (*spec.get("layer", ()), *([spec["spec"]] if "spec" in spec else ())):
        yield from _legends(part)
    for channel in ("color", "fill", "stroke", "shape", "strokeDash"):
        encoded = spec.get("encoding", {}).get(channel, {})
        if "field" in encoded and encoded.get("legend", True) is not None:
            given = (encoded.get("scale") or {}).get("domain", [])
            yield given if isinstance(given, list) else []


def _longest(spec: Mapping[str, Any]) -> int:
    """Characters of the longest name in a legend of several."""
    names = [names for names in _legends(spec) if len(names) > 1]
    return max((len(name) for each in names for name in each if isinstance(name, str)), default=0)


def _height(spec: Mapping[str, Any]) -> int:
    """Room for a drawing, so that what is below it stays where it is when it is drawn; 0 is unknown."""
    inner = spec.get("spec", spec).get("height")
    if not isinstance(inner, (int, float)):
        return 0
    if "spec" in spec:
        field = spec["facet"].get("row", {}).get("field")
        inner = len(set(_datum(spec).get(field, ()))) * (inner + _HEADING)
    beside = max(1, 750 // (7 * _longest(spec) + 44))  # as the page lays them out on a screen
    legends = [
        (1 - len(names) // -beside) * _ROW if names and isinstance(names[0], str) else _GRADIENT
        for names in _legends(spec)
    ]
    return int(inner) + _AXIS + max(legends, default=0)


def packed(columns: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Columns of words with each word once: `{"names": [...], "at": [...]}`.

    >>> packed({"model": ["a", "a", "b"], "score": [1, 2, 3]})
    {'model': {'names': ['a', 'b'], 'at': [0, 0, 1]}, 'score': [1, 2, 3]}
    """
    found: dict[str, Any] = {}
    for column, values in columns.items():
        names = list(dict.fromkeys(values)) if all(isinstance(value, str) for value in values) else values
        place = {name: i for i, name in enumerate(names)} if len(names) < len(values) else {}
        found[column] = {"names": names, "at": [place[value] for value in values]} if place else values
    return found


def unpacked(columns: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Columns as they were packed.

    >>> unpacked(packed({"model": ["a", "a", "b"]}))
    {'model': ['a', 'a', 'b']}
    """
    return {
        name: values if isinstance(values, list) else [values["names"][i] for i in values["at"]]
        for name, values in columns.items()
    }


def _datum(spec: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The columns that a chart draws: the longest of its data."""
    found: list[dict[str, list[Any]]] = [
        rows[0] for rows in spec["datasets"].values() if all(isinstance(column, list) for column in rows[0].values())
    ]
    return max(found, key=lambda columns: len(next(iter(columns.values()))))


def clean(value: Any) -> Any:
    """For JSON: numbers at 9 significant digits, NaN and infinities as null."""
    if isinstance(value, float):
        return float(f"{value:.9g}") if np.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): clean(v) for key, v in value.items()}
    return [clean(v) for v in value] if isinstance(value, (list, tuple)) else value


def to_json(value: Any) -> str:
    """JSON that can stand in a script element: nothing in it opens or closes a tag."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)  # ASCII: no line separators of U+2028 either
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@dataclass(frozen=True)
class Section:
    """Figures and tables under one heading; without any, only the reasons for that are told.

    Attributes
    ----------
    name
        Of its place on the page: `#b1-NAME`.
    title, link
        Its heading, and what the contents call it.
    lead
        What a reader must know before the first figure.
    left_out
        Figures, or all of the section, that these data say nothing about: each with its reason.
    """

    name: str
    title: str
    link: str
    lead: str
    items: tuple[Figure | Listing, ...] = ()
    left_out: tuple[str, ...] = ()
