"""What all results share: columns by name, a frame, a printed table."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errorbar.errors import InputError

__all__ = ["Columns", "Result", "Results", "format_table", "notes"]

Columns = dict[str, NDArray[Any]]
"""Column name to values, one per row; what data cannot say is NaN, and `note` says why."""


class Result(ABC):
    """One benchmark's answer: subclasses are frozen dataclasses that say what their columns are."""

    @abstractmethod
    def columns(self) -> Columns:
        """Columns by name, as the commands print them."""

    def to_frame(self, backend: str = "pandas") -> Any:
        """Columns as a frame of pandas, polars or pyarrow, whichever is asked and installed."""
        return _frame(self.columns(), backend)

    def __str__(self) -> str:
        return format_table(self.columns())


@dataclass(frozen=True)
class Results(Result):
    """The same question asked of several benchmarks; behaves as one result, `parts` holds each."""

    parts: tuple[Result, ...]

    def of(self, attribute: str) -> Results:
        """A result that each part holds, such as `runs` of `Repeats`."""
        return Results(tuple(getattr(part, attribute) for part in self.parts))

    def columns(self) -> Columns:
        """Rows of all parts, one below the other."""
        if not self.parts:
            raise InputError("there is nothing to show: no benchmark", where="Results")
        each = [part.columns() for part in self.parts]
        return {name: np.concatenate([columns[name] for columns in each]) for name in each[0]}

    def __str__(self) -> str:
        return format_table(self.columns())


def _frame(columns: Columns, backend: str) -> Any:
    if backend not in {"pandas", "polars", "pyarrow"}:
        raise InputError(f"backend is {backend!r}", where="to_frame", remedy="allowed: pandas, polars, pyarrow")
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


def format_table(columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> str:
    """Render columns for a person: right-aligned numbers, constant text columns and notes told once below.

    >>> print(format_table({"model": ["a", "b"], "score": [0.5, float("nan")], "level": [0.95, 0.95]}))
    model   score
    a      0.5000
    b           –
    level 0.95
    """
    rows = len(next(iter(columns.values())))
    if rows == 0:
        return "no rows"
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
    lines = _aligned(shown, marks) if rows > 1 else _upright(shown)
    return "\n".join(lines + ([", ".join(constant)] if constant else []) + legend)


def _aligned(shown: Mapping[str, list[str]], marks: Sequence[str]) -> list[str]:
    widths = {name: max(len(name), *(len(t) for t in texts)) for name, texts in shown.items()}
    left = {name for name in shown if name in {"benchmark", "claim", "verdict"} or name.startswith("model")}

    def line(cells: Iterable[str]) -> str:
        pairs = zip(shown, cells, strict=True)
        return "  ".join(c.ljust(widths[n]) if n in left else c.rjust(widths[n]) for n, c in pairs)

    header = line(shown).rstrip()
    return [header] + [
        (line(cells) + (f"  {marks[i]}" if marks[i] else "")).rstrip()
        for i, cells in enumerate(zip(*shown.values(), strict=True))
    ]


def _upright(shown: Mapping[str, list[str]]) -> list[str]:
    """A single row is easier to read from top to bottom."""
    width = max(map(len, shown))
    return [f"{name.ljust(width)}  {texts[0]}" for name, texts in shown.items()]


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
    if name == "level":
        return f"{number:g}"
    return f"{number:.2f}" if name == "z" else f"{number:.4f}" if abs(number) < 1e4 else f"{number:.0f}"
