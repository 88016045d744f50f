"""What all results share: columns by name, a frame, a printed table."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.stats.core.claims import FRAME_BACKENDS, FrameBackend, check_choice

__all__ = ["Columns", "Result", "Results", "format_table", "html_table", "notes"]

Columns = dict[str, NDArray[Any]]
"""Column name to values, one per row; what data cannot say is NaN, and `note` says why."""


class Result(ABC):
    """One benchmark's answer: subclasses are frozen dataclasses that say what their columns are."""

    @abstractmethod
    def columns(self) -> Columns:
        """Columns by name, as the commands print them."""

    def to_frame(self, backend: FrameBackend = "pandas") -> Any:
        """Columns as a frame of pandas, polars or pyarrow, whichever is asked and installed."""
        return _frame(self.columns(), backend)

    def __str__(self) -> str:
        return format_table(self.columns())

    def _repr_html_(self) -> str:
        """What `print` shows, as a table of a notebook."""
        if type(self).__str__ not in {Result.__str__, Results.__str__}:
            return f"<pre>{escape(str(self))}</pre>"
        return html_table(self.columns())


@dataclass(frozen=True)
class Results(Result):
    """The same question asked of several benchmarks; behaves as one result, `parts` holds each."""

    parts: tuple[Result, ...]

    def of(self, attribute: str) -> Results:
        """A result that each part holds, such as `runs` of `Repeats`."""
        return Results(tuple(getattr(part, {"enough": "sample_size"}.get(attribute, attribute)) for part in self.parts))

    def columns(self) -> Columns:
        """Rows of all parts, one below the other."""
        if not self.parts:
            raise InputError("there is nothing to show: no benchmark", where="Results")
        each = [part.columns() for part in self.parts]
        return {name: np.concatenate([columns[name] for columns in each]) for name in each[0]}

    def __str__(self) -> str:
        return format_table(self.columns())


def _frame(columns: Columns, backend: FrameBackend) -> Any:
    check_choice("backend", backend, FRAME_BACKENDS, where="to_frame")
    try:
        if backend == "pandas":
            import pandas as pd

            return pd.DataFrame(columns)
        if backend == "polars":
            import polars as pl

            return pl.DataFrame({name: values.tolist() for name, values in columns.items()})
        import pyarrow as pa

        return pa.table({name: pa.array(values.tolist()) for name, values in columns.items()})
    except ModuleNotFoundError as error:
        raise InputError(
            f"{backend} is not installed", where="to_frame", remedy=f"pip install {backend}, or ask another backend"
        ) from error


def notes(conditions: Mapping[str, NDArray[np.bool_]]) -> NDArray[np.object_]:
    """Text per row: the reasons whose condition holds there, joined by '; '. At most 62 reasons.

    >>> notes({"too few": np.array([True, False, True]), "too old": np.array([True, False, False])}).tolist()
    ['too few; too old', '', 'too few']
    """
    reasons = list(conditions)
    code = sum(where.astype(np.int64) << i for i, where in enumerate(conditions.values()))
    codes, row = np.unique(code, return_inverse=True)
    texts = ["; ".join(reason for i, reason in enumerate(reasons) if c >> i & 1) for c in codes.tolist()]
    return np.array(texts, dtype=object)[row]


#: Columns that say the same in every row are told once below the table; these always stay.
_ALWAYS = frozenset({"model", "model_a", "model_b", "score", "difference", "se", "low", "high"})


#: How numbers of a column are written; all others with four decimals.
_FORMS = {"level": "g", "df": ".4g", "z": ".2f"}


class _Shown(NamedTuple):
    """Columns as text: what stands in the table, the marks of each row, and what is told below."""

    columns: dict[str, list[str]]
    marks: list[str]
    below: list[str]


def format_table(columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> str:
    """Render columns for a person: right-aligned numbers, constant text columns and notes told once below.

    >>> print(format_table({"model": ["a", "b"], "score": [0.5, float("nan")], "level": [0.95, 0.95]}))
    model   score
    a      0.5000
    b           –
    level 0.95
    """
    if not len(next(iter(columns.values()))):
        return "no rows"
    shown = _shown(columns)
    return "\n".join((_aligned if len(shown.marks) > 1 else _upright)(shown) + shown.below)


def html_table(columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> str:
    """The same as an HTML table without styles or scripts of its own; names are escaped.

    >>> print(html_table({"model": ["<a>"], "score": [float("nan")]}))
    <table><tbody><tr><th scope="row">model</th><td>&lt;a&gt;</td></tr>
    <tr><th scope="row">score</th><td>–</td></tr></tbody></table>
    """
    if not len(next(iter(columns.values()))):
        return "<p>no rows</p>"
    shown = _shown(columns)
    below = [f"<p>{'<br>'.join(map(escape, shown.below))}</p>"] if shown.below else []
    return "\n".join([(_rows_and_columns if len(shown.marks) > 1 else _names_and_values)(shown), *below])


def _shown(columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> _Shown:
    rows = len(next(iter(columns.values())))
    shown: dict[str, list[str]] = {}
    constant: list[str] = []
    notes: dict[str, list[int]] = {}
    for name, values in columns.items():
        if name == "note":
            for i, note in enumerate(values):
                for part in filter(None, str(note).split("; ")):
                    notes.setdefault(part, []).append(i)
            continue
        texts = [_text(name, v) for v in values]
        if rows > 1 and name not in _ALWAYS and len(set(texts)) == 1:
            constant.append(f"{name} {texts[0]}")
        else:
            shown[name] = texts
    # A note of every row is told once; others point at their rows by a mark.
    marks = [""] * rows
    legend = [part for part, where in notes.items() if len(where) == rows]
    for number, part in enumerate((part for part in notes if part not in legend), start=1):
        for i in notes[part]:
            marks[i] += f"[{number}]"
        legend.append(f"[{number}] {part}")
    return _Shown(shown, marks, ([", ".join(constant)] if constant else []) + legend)


def _is_left(name: str) -> bool:
    return name in {"benchmark", "claim", "verdict"} or name.startswith("model")


def _aligned(shown: _Shown) -> list[str]:
    widths = {name: max(len(name), *(len(t) for t in texts)) for name, texts in shown.columns.items()}

    def line(cells: Iterable[str]) -> str:
        pairs = zip(shown.columns, cells, strict=True)
        return "  ".join(c.ljust(widths[n]) if _is_left(n) else c.rjust(widths[n]) for n, c in pairs)

    rows = zip(zip(*shown.columns.values(), strict=True), shown.marks, strict=True)
    return [line(shown.columns).rstrip()] + [
        (line(cells) + (f"  {mark}" if mark else "")).rstrip() for cells, mark in rows
    ]


def _upright(shown: _Shown) -> list[str]:
    """A single row is easier to read from top to bottom."""
    width = max(map(len, shown.columns))
    return [f"{name.ljust(width)}  {texts[0]}" for name, texts in shown.columns.items()]


def _rows_and_columns(shown: _Shown) -> str:
    # Notebooks align cells to the right or to the left by themselves: the old attribute is what all of them keep.
    sides = ["left" if _is_left(name) else "right" for name in shown.columns]
    head = "".join(
        f'<th scope="col" align="{side}">{escape(name)}</th>' for name, side in zip(shown.columns, sides, strict=True)
    )
    marked = any(shown.marks)
    lines = []
    for cells, mark in zip(zip(*shown.columns.values(), strict=True), shown.marks, strict=True):
        texts = "".join(f'<td align="{side}">{escape(cell)}</td>' for cell, side in zip(cells, sides, strict=True))
        lines.append(f"<tr>{texts}{f'<td>{mark}</td>' if marked else ''}</tr>")
    head += '<th scope="col">note</th>' if marked else ""
    return "\n".join([f"<table><thead><tr>{head}</tr></thead>", "<tbody>", *lines, "</tbody></table>"])


def _names_and_values(shown: _Shown) -> str:
    lines = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(texts[0])}</td></tr>'
        for name, texts in shown.columns.items()
    )
    return f"<table><tbody>{lines}</tbody></table>"


def _text(name: str, value: Any) -> str:
    if isinstance(value, (str, int, np.integer)):
        return str(value)
    number = float(value)
    if math.isnan(number):
        return "–"
    if number == 0:
        return "0"
    if name.startswith(("p_", "q_")) and number < 1e-3:
        return f"{number:.1e}"
    form = _FORMS.get(name, ".4f" if abs(number) < 1e4 else ".0f")
    return f"{number:{form}}"
