"""Format columns as a text table, in full or in a width, and as HTML."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["format_html", "format_table", "wrap_text"]

#: Columns with one value in all rows are printed once below the table, but not these.
_ALWAYS_IN_TABLE = frozenset({"model", "model_a", "model_b", "score", "difference", "se", "low", "high"})
#: Number formats of columns; all others have four decimals.
_FORMATS = {"level": "g", "df": ".4g", "z": ".2f", "n_different": ".1f"}


#: In a table that has to fit, these columns come first, in this order; then the others as they come.
_PRIORITY = (
    *(
        "benchmark",
        "model",
        "model_a",
        "model_b",
        "question",
        "variant",
        "dimension",
        "value",
        "measure",
        "k",
        "rank",
        "mean",
    ),
    *("score", "greedy", "sampled", "difference", "low", "high", "agreement", "agreement_low", "agreement_high"),
    *("n_missing", "se", "se_difference", "p_holm", "p_value"),
    *("detectable", "rank_low", "rank_high", "p_best", "n_questions", "n_variants", "n_generations", "calls"),
)
#: Characters that a column of names takes at least, and one of numbers.
_NAME_WIDTH, _NUMBER_WIDTH = 14, 7
#: Characters between two columns.
_GAP = "  "
#: How sentences are wrapped: words, numbers and paths stay whole.
_WRAPPING: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
#: A blank where no line ends.
_NO_BREAK = "\N{NO-BREAK SPACE}"


class _Table(NamedTuple):
    """Columns as text, the footnote marks of each row, columns with one value, and the notes below the table."""

    columns: dict[str, list[str]]
    marks: list[str]
    constants: list[str]
    legend: list[str]

    @property
    def below(self) -> list[str]:
        """Return the lines below the table."""
        return ([", ".join(self.constants)] if self.constants else []) + self.legend

    def wrap_below(self, width: int) -> list[str]:
        """Return the lines below the table, wrapped to `width` characters; a name and its value stay together."""
        joined = [text.replace(" ", _NO_BREAK) for text in self.constants]
        constants = [line.replace(_NO_BREAK, " ") for line in _wrap_line(", ".join(joined), width)] if joined else []
        return constants + [line for text in self.legend for line in _wrap_line(text, width)]


def format_table(columns: Mapping[str, Sequence[object] | NDArray[np.generic]], width: int | None = None) -> str:
    """Format columns as a text table.

    Numbers are right-aligned. Columns with one value in all rows, and notes, are printed once below the table. A single
    row is printed from top to bottom.

    Parameters
    ----------
    columns
        Values by name of column.
    width
        Largest number of characters of a line; None for no limit. Columns that do not fit are left out, and a line
        names them. Which they are depends on the names of the columns and not on the values. Long names lose their
        middle; numbers are never cut.

    Examples
    --------
    >>> print(format_table({"model": ["a", "b"], "score": [0.5, float("nan")], "level": [0.95, 0.95]}))
    model   score
    a      0.5000
    b           –
    level 0.95
    """
    if not len(next(iter(columns.values()))):
        return "no rows"
    table = _make_table(columns)
    if width is not None:
        return "\n".join(_fit_rows(table, width) if len(table.marks) > 1 else _fit_single_row(table, width))
    lines = _format_rows(table) if len(table.marks) > 1 else _format_single_row(table)
    return "\n".join(lines + table.below)


def format_html(columns: Mapping[str, Sequence[object] | NDArray[np.generic]]) -> str:
    """Format columns as an HTML table without styles or scripts; names are escaped.

    Examples
    --------
    >>> print(format_html({"model": ["<a>"], "score": [float("nan")]}))
    <table><tbody><tr><th scope="row">model</th><td>&lt;a&gt;</td></tr>
    <tr><th scope="row">score</th><td>–</td></tr></tbody></table>
    """
    if not len(next(iter(columns.values()))):
        return "<p>no rows</p>"
    table = _make_table(columns)
    below = [f"<p>{'<br>'.join(map(escape, table.below))}</p>"] if table.below else []
    return "\n".join([(_format_html_rows if len(table.marks) > 1 else _format_html_row)(table), *below])


def _make_table(columns: Mapping[str, Sequence[object] | NDArray[np.generic]]) -> _Table:
    """Return the values as text, with constant columns and notes taken out of the table."""
    n_rows = len(next(iter(columns.values())))
    varying: dict[str, list[str]] = {}
    constant: list[str] = []
    rows_of_note: dict[str, list[int]] = {}
    for name, values in columns.items():
        if name == "note":
            for i, note in enumerate(values):
                for part in filter(None, str(note).split("; ")):
                    rows_of_note.setdefault(part, []).append(i)
            continue
        texts = [_format_value(name, value) for value in values]
        if n_rows > 1 and name not in _ALWAYS_IN_TABLE and len(set(texts)) == 1:
            constant.append(f"{name} {texts[0]}")
        else:
            varying[name] = texts
    # A note of all rows stands below the table without a mark; others are footnotes of their rows.
    marks = [""] * n_rows
    legend = [note for note, rows in rows_of_note.items() if len(rows) == n_rows]
    for number, note in enumerate((note for note in rows_of_note if note not in legend), start=1):
        for i in rows_of_note[note]:
            marks[i] += f"[{number}]"
        legend.append(f"[{number}] {note}")
    return _Table(varying, marks, constant, legend)


def _is_left_aligned(name: str) -> bool:
    """Return whether a column holds names."""
    return name in {"benchmark", "claim", "verdict"} or name.startswith("model")


def _format_rows(table: _Table) -> list[str]:
    """Return the header and a line for each row."""
    widths = {name: max(len(name), *(len(text) for text in texts)) for name, texts in table.columns.items()}

    def format_line(cells: Iterable[str]) -> str:
        pairs = zip(table.columns, cells, strict=True)
        return _GAP.join(
            cell.ljust(widths[name]) if _is_left_aligned(name) else cell.rjust(widths[name]) for name, cell in pairs
        )

    rows = zip(zip(*table.columns.values(), strict=True), table.marks, strict=True)
    return [format_line(table.columns).rstrip()] + [
        (format_line(cells) + (f"{_GAP}{mark}" if mark else "")).rstrip() for cells, mark in rows
    ]


def _fit_rows(table: _Table, width: int) -> list[str]:
    """Return the lines of a table, none of them longer than `width`, without the columns that do not fit."""
    marks = max(map(len, table.marks))
    available = width - (len(_GAP) + marks if marks else 0) + len(_GAP)
    reserved = {name: len(_GAP) + _reserve_width(name, texts) for name, texts in table.columns.items()}
    order = sorted(reserved, key=lambda name: _PRIORITY.index(name) if name in _PRIORITY else len(_PRIORITY))
    selected: set[str] = set()
    for name in order:
        if selected and sum(reserved[one] for one in selected) + reserved[name] > available:
            break
        selected.add(name)
    for low in [name for name in selected if "low" in name]:  # half an interval says nothing
        if (high := low.replace("low", "high")) in table.columns and high not in selected:
            selected.remove(low)
    columns = {name: texts for name, texts in table.columns.items() if name in selected}
    # What the numbers leave is for the names, from the narrowest to the widest.
    left = available - sum(
        len(_GAP) + max(len(name), *map(len, texts)) for name, texts in columns.items() if not _holds_names(name)
    )
    names = sorted((name for name in columns if _holds_names(name)), key=lambda name: max(map(len, columns[name])))
    for i, name in enumerate(names):
        share = max(left // (len(names) - i) - len(_GAP), _NAME_WIDTH // 2)
        columns[name] = _elide_names(columns[name], share)
        left -= len(_GAP) + max(len(name), *map(len, columns[name]))
    omitted = [name for name in table.columns if name not in selected]
    below = [f"left out in {width} characters: {', '.join(omitted)} (--format wide)"] if omitted else []
    lines = _format_rows(table._replace(columns=columns))
    return [*lines, *table.wrap_below(width), *(line for text in below for line in _wrap_line(text, width))]


def _reserve_width(name: str, texts: Sequence[str]) -> int:
    """Return the characters that are set aside for a column; those of names are as wide as they are, up to a limit."""
    if _holds_names(name):
        return max(len(name), min(_NAME_WIDTH, max(map(len, texts))))
    return max(len(name), _NUMBER_WIDTH)


def _holds_names(name: str) -> bool:
    """Return whether the values of a column are texts that may lose their middle."""
    return _is_left_aligned(name) or name in {"question", "variant", "dimension", "value", "answer", "target", "method"}


def _elide_names(names: Sequence[str], width: int) -> list[str]:
    """Return names without their middles, as wide as it takes to keep different names different.

    >>> _elide_names(["checkpoint-0100-base-model", "checkpoint-0200-base-model"], 12)
    ['checkpoint-0100-base-model', 'checkpoint-0200-base-model']
    >>> _elide_names(["checkpoint-of-training-0100", "checkpoint-of-training-0200"], 12)
    ['checkp…-0100', 'checkp…-0200']
    """
    most = max(map(len, names))
    while len(set(elided := [_elide(name, width) for name in names])) < len(set(names)) and width < most:
        width += 1
    return elided


def _elide(text: str, width: int) -> str:
    """Return a text without its middle if it is longer than `width`.

    >>> _elide("openai/gpt-4o-mini-2024-07-18", 16), _elide("qwen", 16)
    ('openai/g…4-07-18', 'qwen')
    """
    if len(text) <= width:
        return text
    return f"{text[: width // 2]}…{text[len(text) - (width - width // 2 - 1) :]}"


def _fit_single_row(table: _Table, width: int) -> list[str]:
    """Return a line for each column of a table with one row, and the lines below it, wrapped."""
    name_width = max(map(len, table.columns))
    indent = " " * (name_width + len(_GAP))
    lines = []
    for name, texts in table.columns.items():
        lines += textwrap.wrap(
            f"{name.ljust(name_width)}{_GAP}{texts[0]}", width, subsequent_indent=indent, **_WRAPPING
        )
    return [*lines, *table.wrap_below(width)]


def wrap_text(text: str, width: int) -> str:
    r"""Wrap the sentences in a text; lines of tables, which have several blanks in a row, stay as they are.

    So do commands, lines that begin with howsure: they are there to be copied.

    >>> print(wrap_text("  one two three four\na  b  c  d  e", 12))
      one two
        three
        four
    a  b  c  d  e
    """
    return "\n".join(line for each in text.split("\n") for line in _wrap_line(each, width))


def _wrap_line(line: str, width: int) -> list[str]:
    """Return a line in lines of at most `width` characters, if it is a sentence."""
    stripped = line.strip()
    if len(line) <= width or _GAP in stripped or stripped.startswith("howsure "):
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    mark = len(stripped.split(" ", 1)[0]) + 1 if stripped.startswith("[") else 2
    return textwrap.wrap(stripped, width, initial_indent=indent, subsequent_indent=indent + " " * mark, **_WRAPPING)


def _format_single_row(table: _Table) -> list[str]:
    """Return a line for each column of a table with one row."""
    width = max(map(len, table.columns))
    return [f"{name.ljust(width)}  {texts[0]}" for name, texts in table.columns.items()]


def _format_html_rows(table: _Table) -> str:
    """Return an HTML table with a header."""
    # Notebooks align cells by their own styles; the old attribute `align` overrides them everywhere.
    sides = ["left" if _is_left_aligned(name) else "right" for name in table.columns]
    head = "".join(
        f'<th scope="col" align="{side}">{escape(name)}</th>' for name, side in zip(table.columns, sides, strict=True)
    )
    has_marks = any(table.marks)
    lines = []
    for cells, mark in zip(zip(*table.columns.values(), strict=True), table.marks, strict=True):
        texts = "".join(f'<td align="{side}">{escape(cell)}</td>' for cell, side in zip(cells, sides, strict=True))
        lines.append(f"<tr>{texts}{f'<td>{mark}</td>' if has_marks else ''}</tr>")
    head += '<th scope="col">note</th>' if has_marks else ""
    return "\n".join([f"<table><thead><tr>{head}</tr></thead>", "<tbody>", *lines, "</tbody></table>"])


def _format_html_row(table: _Table) -> str:
    """Return an HTML table of one row, with a line for each column."""
    lines = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(texts[0])}</td></tr>'
        for name, texts in table.columns.items()
    )
    return f"<table><tbody>{lines}</tbody></table>"


def _escape_control_characters(text: str) -> str:
    r"""Return a text on one line: control characters as escapes, blank text in quotation marks.

    >>> [_escape_control_characters(text) for text in ("a\n", "\t", "  ", "", "α, b")]
    ['a\\n', '\\t', "'  '", '', 'α, b']
    """
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return repr(text) if escaped and escaped.isspace() else escaped


def _format_value(name: str, value: Any) -> str:
    """Return the text of one value in the column `name`."""
    if isinstance(value, str):
        return _escape_control_characters(value)
    if isinstance(value, (int, np.integer)):
        return str(value)
    number = float(value)
    if math.isnan(number):
        return "–"
    if number == 0:
        return "0"
    if name.startswith(("p_", "q_")) and number < 1e-3:
        return f"{number:.1e}"
    form = _FORMATS.get(name, ".4f" if abs(number) < 1e4 else ".0f")
    return f"{number:{form}}"
