"""Format columns as a text table, in full or in a width, and as HTML."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from howsure.stats.core.cells import FloatArray

__all__ = [
    "RowNotes",
    "choose_decimals",
    "choose_row_decimals",
    "format_html",
    "format_markup",
    "format_table",
    "list_notes",
    "wrap_text",
]

#: Columns with one value in all rows are printed once below the table, but not these.
_ALWAYS_IN_TABLE = frozenset({"score", "difference", "se", "low", "high"})
#: Number formats of columns; all others have four decimals, but for those in the unit of the score.
_FORMATS = {
    "level": "g",
    "evidence": ".1f",
    "p_wrong_max": ".2f",
    "p_best": ".2f",
    "p_best_smoothed": ".2f",
    "df": ".4g",
    "z": ".2f",
    "n_different": ".1f",
    "tokens": ".0f",
    "rating": ".0f",
}
#: Columns in the unit of the score, and their limits: they have the decimals of the error of their row.
_SCORES = frozenset(
    {
        *("all_score", "bar", "best", "change", "detectable", "difference", "difference_paired", "difference_plain"),
        *("effect", "error", "gap", "greedy", "high", "high_all", "high_difference", "high_paired", "high_prediction"),
        *("judge_difference", "judge_score", "low", "low_all", "low_difference", "low_paired", "low_prediction"),
        *("low_smoothed", "high_smoothed", "smoothed"),
        *("margin", "mean", "mean_score", "our_score", "sampled", "score", "score_a", "score_b", "score_baseline"),
        *("score_bound", "score_bound_a", "score_bound_b", "score_high", "score_low", "score_of_all", "score_plain"),
        *("share", "their_score", "width", "worst"),
        *("corrected", "difference_rest", "lead", "lead_corrected", "luck", "shrunken"),
    }
)
#: Columns of probabilities that are no p-values.
_PROBABILITIES = {"p_best", "p_best_smoothed", "p_above_next", "p_wrong_next", "p_correct", "p_wrong_max", "p_differ"}
#: Most notes below a table that has to fit, and most of its rows.
_MOST_NOTES, _MOST_ROWS = 3, 60
#: Most decimals of an error; a smaller one is written with an exponent.
_MOST_DECIMALS = 6


#: In a table that has to fit, these columns come first, in this order; then the others as they come.
_PRIORITY = (
    *("benchmark", "model", "model_a", "model_b", "question", "variant", "dimension", "value", "checkpoint", "measure"),
    *("component", "moment", "quantile"),
    *("k", "n_star", "n_star_proxy", "swapped", "rank", "mean", "score", "score_bound", "greedy", "sampled", "verdict"),
    *("difference", "low", "high"),
    *("low_all", "high_all"),
    *("agreement", "agreement_low", "agreement_high", "n_missing", "se", "se_assured", "se_difference", "p_holm"),
    *("p_value", "detectable", "rank_low", "rank_high", "p_best", "n_questions", "n_variants", "n_generations"),
    "calls",
)
#: Characters that a column of names takes at least, and one of numbers.
_NAME_WIDTH, _NUMBER_WIDTH = 14, 7
#: Characters to which names are shortened where a main column would be left out otherwise.
_MIN_NAME_WIDTH = 7
#: What a table is printed for: these columns are left out last.
_MAIN = frozenset(
    {
        *("rank", "mean", "score", "score_bound", "greedy", "sampled", "verdict", "difference", "low", "high"),
        *("agreement", "agreement_low", "agreement_high", "rank_low", "rank_high", "low_all", "high_all"),
        *("n_star", "n_star_proxy", "swapped", "se_assured", "n_generations", "calls", "cost"),
    }
)
#: The same of plans, curves, dry runs and audits, in their order, by a column that they have.
_MAIN_BY_COLUMN = {
    "se_assured": ("n_questions", "n_variants", "n_generations", "cost", "se", "calls", "detectable", "se_assured"),
    "checkpoint": ("checkpoint", "score", "difference", "p_holm", "smoothed", "low_difference", "high_difference"),
    "requests": ("requests", "missing", "cost", "time"),
    "rating": ("model", "rating", "low", "high", "rank", "rank_low", "rank_high"),
    "p_all": ("slice", "n_questions", "difference", "shrunken", "p_all"),
    "evidence": ("evidence", "target", "answer", "p_wrong_max", "suspected_by", "p_correct"),
}
#: What separates the words of a name.
_SEPARATOR = re.compile(r"([-_/.:@= ]+)")
#: Characters between two columns.
_GAP = "  "
#: How sentences are wrapped: words, numbers and paths stay whole.
_WRAPPING: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
#: A blank where no line ends.
_NO_BREAK = "\N{NO-BREAK SPACE}"


class RowNotes(str):
    """The notes of a row: a text whose sentences are known, and are joined by '; ' where it is printed or exported.

    Parameters
    ----------
    sentences
        Sentences, or the notes of which a row has all. Empty ones and repetitions are left out.

    Examples
    --------
    >>> both = RowNotes("too few", RowNotes("too old", "too few"), "")
    >>> both, both.sentences
    ('too few; too old', ('too few', 'too old'))
    """

    __slots__ = ("sentences",)
    sentences: tuple[str, ...]

    def __new__(cls, *sentences: str) -> Self:
        """Join the sentences."""
        each = (part for text in sentences for part in (text.sentences if isinstance(text, RowNotes) else (text,)))
        unique = tuple(dict.fromkeys(filter(None, each)))
        notes = super().__new__(cls, "; ".join(unique))
        notes.sentences = unique
        return notes

    def __getnewargs__(self) -> tuple[str, ...]:  # type: ignore[override]
        """Return the sentences, of which a copy is made."""
        return self.sentences


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
        legend, cut = self.legend[:_MOST_NOTES], self.legend[_MOST_NOTES:]
        if cut:  # the marks of notes that are not printed are named
            marks = " to ".join(dict.fromkeys(one.split()[0] for one in (cut[0], cut[-1]) if one.startswith("[")))
            legend.append(f"and {len(cut)} more{f' ({marks})' if marks else ''}: --format wide")
        return constants + [line for text in legend for line in _wrap_line(text, width)]


def format_table(columns: Mapping[str, Sequence[object] | NDArray[np.generic]], width: int | None = None) -> str:
    """Format columns as a text table.

    Numbers are right-aligned. Standard errors have two significant digits; scores, differences and their limits have
    the decimals of a typical error of their benchmark. Columns with one value in all rows, and notes, are printed once
    below the table. A single row is printed from top to bottom.

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
    if width is not None and (n_rows := len(next(iter(columns.values())))) > _MOST_ROWS:
        first = format_table({name: values[:_MOST_ROWS] for name, values in columns.items()}, width)
        return f"{first}\nthe first {_MOST_ROWS} of {n_rows:,} rows: --format wide prints all"
    table = _make_table(columns)
    if width is not None:
        return "\n".join(_fit_rows(table, width) if len(table.marks) > 1 else _format_single_row(table, width))
    lines = [*_format_rows(table), *table.below] if len(table.marks) > 1 else _format_single_row(table, 10**6)
    return "\n".join(lines)


def format_html(columns: Mapping[str, Sequence[object] | NDArray[np.generic]]) -> str:
    """Format columns as an HTML table without styles or scripts; names are escaped.

    Examples
    --------
    >>> print(format_html({"model": ["<a>"], "score": [float("nan")]}))
    <table><thead><tr><th align="left">model</th><th align="right">score</th></tr></thead>
    <tbody><tr><td align="left">&lt;a&gt;</td><td align="right">–</td></tr></tbody></table>
    """
    if not len(next(iter(columns.values()))):
        return "<p>no rows</p>"
    table = _make_table(columns)
    # Notebooks align cells by their own styles; the old attribute `align` overrides them everywhere.
    sides = ["left" if _is_left_aligned(name) else "right" for name in table.columns]
    named = {**table.columns, **({"note": table.marks} if any(table.marks) else {})}

    def write(tag: str, cells: Iterable[str]) -> str:
        pairs = zip(cells, [*sides, "left"], strict=False)
        return "".join(f'<{tag} align="{side}">{escape(cell)}</{tag}>' for cell, side in pairs)

    rows = "\n".join(f"<tr>{write('td', cells)}</tr>" for cells in zip(*named.values(), strict=True))
    below = [f"<p>{'<br>'.join(map(escape, table.below))}</p>"] if table.below else []
    head = f"<table><thead><tr>{write('th', named)}</tr></thead>"
    return "\n".join([head, f"<tbody>{rows}</tbody></table>", *below])


def format_markup(columns: Mapping[str, Sequence[object] | NDArray[np.generic]], kind: str) -> str:
    r"""Format columns as a table of Markdown or of LaTeX (booktabs), with a line for each row; notes stand below.

    >>> print(format_markup({"model": ["a|b"], "score": [0.5]}, "markdown"))
    | model | score |
    |:--|--:|
    | a\|b | 0.5000 |
    >>> print(format_markup({"model": ["a_b"]}, "latex").splitlines()[4])
    a\_b \\
    """
    table = _make_table(columns)
    lines = [list(table.columns), *zip(*table.columns.values(), strict=True)]
    sides = ["l" if _holds_names(name) else "r" for name in table.columns]
    if kind == "markdown":
        rows = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines]
        rows.insert(1, f"|{'|'.join({'l': ':--', 'r': '--:'}[side] for side in sides)}|")
        return "\n".join([*rows, *(f"\n{text}" for text in table.below)])
    marks = str.maketrans({**{c: f"\\{c}" for c in "&%$#_{}"}, "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"})
    marks |= str.maketrans({"\\": r"\textbackslash{}", "<": "$<$", ">": "$>$", "–": "--", "…": r"\dots{}"})
    head, *rows = [" & ".join(cell.translate(marks) for cell in line) + r" \\" for line in lines]
    body = [r"\toprule", head, r"\midrule", *rows, r"\bottomrule"]
    below = [f"% {text}" for text in table.below]
    return "\n".join([rf"\begin{{tabular}}{{{''.join(sides)}}}", *body, r"\end{tabular}", *below])


def list_notes(values: Iterable[object]) -> list[str]:
    """Return the sentences of a column of notes, each once.

    >>> list_notes([RowNotes("too few", "too old"), "", "too old"])
    ['too few', 'too old']
    """
    notes = (value if isinstance(value, RowNotes) else RowNotes(str(value)) for value in values)
    return list(dict.fromkeys(sentence for note in notes for sentence in note.sentences))


def choose_decimals(se: FloatArray) -> int:
    """Return the decimals that show two significant digits of a typical standard error.

    >>> [choose_decimals(np.array(se)) for se in ([0.012, 0.02], [float("nan")], [31.0])]
    [3, 3, 0]
    """
    available = se[np.isfinite(se) & (se > 0)]
    return _count_decimals(float(np.median(available))) if len(available) else 3


def _count_decimals(error: float) -> int:
    """Return the decimals that show two significant digits of a positive error."""
    return min(max(1 - math.floor(math.log10(error)), 0), _MOST_DECIMALS)


def choose_row_decimals(se: FloatArray) -> list[int]:
    """Return the decimals of a score in each row: those of a typical row, or more to show its error's first digit.

    >>> choose_row_decimals(np.array([0.012, 0.02, 0.0005, float("nan")]))
    [3, 3, 4, 3]
    """
    places = choose_decimals(se)
    return [max(places, _count_decimals(one) - 1) if 0 < one < math.inf else places for one in se.tolist()]


def _find_errors(columns: Mapping[str, Sequence[object] | NDArray[np.generic]]) -> FloatArray | None:
    """Return the error of each row: the first standard error of the table, else a quarter of the interval."""
    if not len(next(iter(columns.values()), ())):
        return None
    names = [name for name, values in columns.items() if _is_error(name) and not isinstance(values[0], str)]
    if names:
        return np.asarray(columns[names[0]], dtype=float)
    for low, high in (("low", "high"), ("low_all", "high_all")):
        if {low, high} <= columns.keys() and not isinstance(columns[low][0], str):
            quarter: FloatArray = (np.asarray(columns[high], float) - np.asarray(columns[low], float)) / 4
            return quarter
    return None


def _choose_table_decimals(columns: Mapping[str, Sequence[object] | NDArray[np.generic]]) -> list[int | None]:
    """Return the decimals of scores in each row: those of a typical error of its benchmark, None without an error."""
    n_rows = len(next(iter(columns.values())))
    errors = _find_errors(columns)
    decimals: list[int | None] = [None] * n_rows
    if errors is not None:
        benchmarks = np.asarray(columns.get("benchmark", np.zeros(n_rows)))
        for benchmark in set(benchmarks.tolist()):
            rows = np.flatnonzero(benchmarks == benchmark)
            if np.any((errors[rows] > 0) & np.isfinite(errors[rows])):
                for row, places in zip(rows.tolist(), choose_row_decimals(errors[rows]), strict=True):
                    decimals[row] = places
    return decimals


def _is_constant(name: str, values: Sequence[object] | NDArray[np.generic], decimals: Sequence[int | None]) -> bool:
    """Return whether a column has one value in all rows, to two decimals more than are printed."""
    finer = max((places + 2 for places in decimals if places is not None), default=None)
    return len({_format_value(name, value, finer) for value in values}) == 1


def _is_error(name: str) -> bool:
    """Return whether a column holds standard errors or standard deviations."""
    return name in {"se", "sd"} or name.startswith("se_")


def _make_table(columns: Mapping[str, Sequence[object] | NDArray[np.generic]]) -> _Table:
    """Return the values as text, with constant columns and notes taken out of the table."""
    n_rows = len(next(iter(columns.values())))
    varying: dict[str, list[str]] = {}
    constant: list[str] = []
    without_value: list[str] = []
    rows_of_note: dict[str, list[int]] = {}
    decimals = _choose_table_decimals(columns)
    for name, values in columns.items():
        if name == "note":
            for i, note in enumerate(values):
                for part in RowNotes(note if isinstance(note, str) else str(note)).sentences:
                    rows_of_note.setdefault(part, []).append(i)
            continue
        texts = [_format_value(name, value, places) for value, places in zip(values, decimals, strict=True)]
        if n_rows > 1 and name not in _ALWAYS_IN_TABLE and _is_constant(name, values, decimals):
            if texts[0] in {"", "–"}:
                without_value.append(name)
            else:
                constant.append(f"{name} {texts[0]}")
        else:
            varying[name] = texts
    if without_value:
        constant += [f"no value: {without_value[0]}", *without_value[1:]]
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
    return name in {"benchmark", "claim", "interval", "verdict"} or name.startswith("model")


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
    """Return the lines of a table, none of them longer than `width`, without the columns that do not fit.

    Names are shortened, as far as their number allows, before a main column is left out.
    """
    marks = max(map(len, table.marks))
    available = width - (len(_GAP) + marks if marks else 0) + len(_GAP)
    narrowest = {name: _find_narrowest(texts) for name, texts in table.columns.items() if _holds_names(name)}
    main = _find_main(table)
    for name_width in range(_NAME_WIDTH, _MIN_NAME_WIDTH - 1, -1):
        selected = _select_columns(table, main, available, name_width, narrowest)
        if selected.issuperset(main):
            break
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
        others = sum(len(_GAP) + max(len(one), narrowest[one]) for one in names[i + 1 :])
        share = min(left // (len(names) - i), left - others) - len(_GAP)
        columns[name] = elide_names(columns[name], max(share, narrowest[name], len(name)))
        left -= len(_GAP) + max(len(name), *map(len, columns[name]))
    omitted = [name for name in table.columns if name not in selected]
    below = [f"left out in {width} characters: {', '.join(omitted)} (--format wide)"] if omitted else []
    lines = _format_rows(table._replace(columns=columns))
    return [*lines, *table.wrap_below(width), *(line for text in below for line in _wrap_line(text, width))]


def _find_main(table: _Table) -> tuple[str, ...]:
    """Return the columns for which the table is printed, the most important first."""
    own = next((names for column, names in _MAIN_BY_COLUMN.items() if column in table.columns), ())
    return tuple(name for name in own or _PRIORITY if name in table.columns and (own or name in _MAIN))


def _select_columns(
    table: _Table, main: Sequence[str], available: int, name_width: int, narrowest: Mapping[str, int]
) -> set[str]:
    """Return the columns that fit, by their priority, if names are shortened to `name_width` where they can be."""

    def find_priority(name: str) -> tuple[int, int]:
        place = _PRIORITY.index(name) if name in _PRIORITY else len(_PRIORITY)
        if name in narrowest and name in _PRIORITY:
            return 0, place
        return (1, main.index(name)) if name in main else (2, place)

    selected: set[str] = set()
    for name in sorted(table.columns, key=find_priority):
        longest = max(map(len, table.columns[name]))
        if name in narrowest:
            reserved = max(min(name_width, longest), narrowest[name])
        else:  # in the narrowest form what the numbers take; else as much for all, so that columns stay where they are
            reserved = max(longest, _NUMBER_WIDTH if name_width > _MIN_NAME_WIDTH else 0)
        available -= len(_GAP) + max(len(name), reserved)
        if selected and available < 0:
            break
        selected.add(name)
    return selected


def _holds_names(name: str) -> bool:
    """Return whether the values of a column are texts that may lose their middle."""
    return _is_left_aligned(name) or name in {*_PRIORITY[:12], "answer", "target", "method"}


def elide_names(names: Sequence[str], width: int) -> list[str]:
    """Shorten names as far as they can still be told apart.

    Parameters
    ----------
    names
        Names, of which some may be equal.
    width
        Characters to which they are shortened; more where different names would be equal otherwise.

    Returns
    -------
    list of str
        The names without their middles, or without what they have in common.

    Examples
    --------
    >>> elide_names(["checkpoint-0100-base-model", "checkpoint-0200-base-model"], 12)
    ['…int-0100-b…', '…int-0200-b…']
    >>> elide_names(["checkpoint-of-training-0100", "checkpoint-of-training-0200"], 12)
    ['checkp…-0100', 'checkp…-0200']
    >>> elide_names(["tutor-7b step=500", "tutor-7b step=1000", "tutor-7b step=16000"], 12)
    ['…step=500', '…step=1000', '…step=16000']
    """
    most = max(map(len, names))
    while len(set(elided := _elide_at(names, width))) < len(set(names)) and width < most:
        width += 1
    return elided


def _find_narrowest(names: Sequence[str]) -> int:
    """Return the width to which names can be shortened so that different ones stay different."""
    return max(map(len, elide_names(names, _MIN_NAME_WIDTH)))


def _elide_at(names: Sequence[str], width: int) -> list[str]:
    """Return names of `width` characters if that is enough to tell them apart.

    Without the first words that all have, if that does and leaves most of the width in use; without their middles; else
    without what is common at their ends, or between them, too.
    """
    n_different = len(set(names))
    most = max(map(len, names))
    for word in _SEPARATOR.finditer(names[0], 0, _count_common(names)) if most > width else ():
        if width // 2 < 1 + most - word.end() <= width:
            return [f"…{name[word.end() :]}" for name in names]
    elided = [_elide(name, width) for name in names]
    if len(set(elided)) == n_different:
        return elided
    start = _count_common(names)
    end = _count_common([name[start:][::-1] for name in names])
    inner_width = width - (start > 0) - (end > 0)
    spare = max(
        inner_width - max(len(name) - start - end for name in names), 0
    )  # for what stands beside the difference
    start, end = start - min(start, (spare + 1) // 2), end - min(end, spare // 2)
    inner = [_elide(name[start : len(name) - end], max(inner_width, 1)) for name in names]
    elided = [f"{'…' * (start > 0)}{one}{'…' * (end > 0)}" for one in inner]
    return elided if len(set(elided)) == n_different else [_elide(name, width) for name in _drop_common_parts(names)]


def _count_common(names: Sequence[str]) -> int:
    """Return the number of characters with which all names begin."""
    first, last = min(names), max(names)
    return next((i for i, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))


def _drop_common_parts(names: Sequence[str]) -> list[str]:
    """Return names without the parts, between separators, that all have; as they are if they have different numbers.

    >>> _drop_common_parts(["lab-01/model-a-it", "lab-02/model-b-it"])
    ['…01…a…', '…02…b…']
    """
    parts = [_SEPARATOR.split(name) for name in names]
    if len(set(map(len, parts))) > 1:
        return list(names)
    is_common = [len(set(each)) == 1 for each in zip(*parts, strict=True)]
    return [
        re.sub("…+", "…", "".join("…" if common else part for part, common in zip(each, is_common, strict=True)))
        for each in parts
    ]


def _elide(text: str, width: int) -> str:
    """Return a text without its middle if it is longer than `width`.

    >>> _elide("openai/gpt-4o-mini-2024-07-18", 16), _elide("qwen", 16)
    ('openai/g…4-07-18', 'qwen')
    """
    if len(text) <= width:
        return text
    return f"{text[: width // 2]}…{text[len(text) - (width - width // 2 - 1) :]}"


def _format_single_row(table: _Table, width: int) -> list[str]:
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


def _escape_control_characters(text: str) -> str:
    r"""Return a text on one line: control characters as escapes, blank text in quotation marks.

    >>> [_escape_control_characters(text) for text in ("a\n", "\t", "  ", "", "α, b")]
    ['a\\n', '\\t', "'  '", '', 'α, b']
    """
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return repr(text) if escaped and escaped.isspace() else escaped


def _format_value(name: str, value: Any, places: int | None) -> str:
    """Return the text of one value in the column `name`, of a row whose scores have so many decimals."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return _escape_control_characters(value)
    if isinstance(value, (int, np.integer)):
        return str(value)
    number = float(value)
    if not math.isfinite(number) or number == 0:
        return "–" if math.isnan(number) else f"{number + 0.0:g}"
    if _is_p_value(name) and number < 1e-3:
        return "< .001"
    return f"{number:{_choose_format(name, number, places)}}"


def _is_p_value(name: str) -> bool:
    """Return whether a column holds p-values."""
    return (name.startswith(("p_", "q_")) and name not in _PROBABILITIES) or "_p" in name[-4:]


def _choose_format(name: str, number: float, places: int | None) -> str:
    """Return the format of a number that is not 0, in the column `name` of a row whose scores have so many decimals."""
    if _is_error(name):
        return ".1e" if number < 10**-_MOST_DECIMALS else f".{max(places or 0, _count_decimals(number))}f"
    if name in _SCORES and places is not None:
        return f"z.{places}f"
    if name in _PROBABILITIES and number < 1e-3 and name not in _FORMATS:
        return ".1e"
    if name.startswith("var") or (name.startswith("n_") and number.is_integer()):
        return ".6f" if name[0] == "v" else ".0f"
    if _is_p_value(name):
        return ".3f"
    return _FORMATS.get(name, ".4f" if abs(number) < 1e4 else ".0f")
