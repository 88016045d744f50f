"""Find our columns in a table by their names, and say what a column holds by its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from howsure.errors import InputError, UnknownNameError
from howsure.rows.mapping import TableMap
from howsure.rows.sql import parse_number_sql, read_column_types, write_text_sql
from howsure.rows.words import ALIASES, TEXTS, find_alias, match_words, normalise_name

if TYPE_CHECKING:
    import duckdb

#: Largest number of different words of a column of scores.
MOST_WORDS = 40
#: Why a column was taken that the user named.
NAMED = "you named it"
#: Names that are looked for where the user names none; the others depend on the shape.
_ALWAYS = ("benchmark", "model", "question", "variant", "generation", "score", "mean", "count", "right", "total")


@dataclass(frozen=True)
class TableOptions:
    """What the columns of a table do not state, and how it is read.

    Examples
    --------
    >>> TableOptions(model="a").model
    'a'
    """

    map: TableMap = field(default_factory=TableMap)
    benchmark: str | None = None
    """Benchmark of rows without a column for it; None takes the name of the file."""
    model: str | None = None
    """Model of rows without a column for it; None refuses such a table."""
    is_model_of_file: bool = False
    """Whether that model is the name of the file, which a note says."""
    scorer: str | None = None
    """Which of several scores is read."""
    scale: float | None = None
    """What scores are divided by; None divides percent by 100 and nothing else."""
    dimensions: tuple[str, ...] = ()
    """Columns with the values of the prompt variants."""
    by_variant: bool = False
    """Whether each variant has its own cells; a row may then be the score of a whole benchmark."""
    texts: bool = False
    """Whether texts are kept beside the scores; a table with completions then needs no scores."""


class MatchedColumns(NamedTuple):
    """Our names to the columns of a table, and why each was taken."""

    columns: dict[str, tuple[str, ...]]
    reasons: dict[str, str]

    def first(self, name: str) -> str | None:
        """Return the column of a name; None where there is none."""
        return self.columns[name][0] if name in self.columns else None

    @property
    def taken(self) -> set[str]:
        """All columns that have one of our names."""
        return {column for each in self.columns.values() for column in each}


class ColumnValues(NamedTuple):
    """What the values of a column are."""

    n: int
    """Number of values."""
    n_numbers: int
    """Number of those that are numbers, true or false, or percent."""
    low: float | None
    high: float | None
    n_ones: int
    """Number of values that are 1."""
    n_large: int
    """Number of values above 1."""
    n_distinct: int
    n_percent: int
    """Number of values with a percent sign."""
    n_fractions: int
    """Number of values such as 8/10."""
    is_whole: bool
    """Whether all numbers are whole."""
    words: Mapping[str, float | None] | None
    """Scores of the words of a column of words; None where they are no scores."""

    @property
    def is_score(self) -> bool:
        """Whether all values are numbers, or words that are scores."""
        return self.n > 0 and (self.n_numbers == self.n or self.words is not None)

    @property
    def counts(self) -> bool:
        """Whether all values are whole numbers one after the other, from 0 or 1."""
        if self.words is not None or self.n_numbers < self.n or self.low is None or self.low not in {0, 1}:
            return False
        return self.is_whole and self.high == self.low + self.n_distinct - 1

    @property
    def scale(self) -> str:
        """The scale of the scores; see `find_scale`."""
        if self.words is not None or self.low is None or self.high is None:
            return "unit"
        return find_scale(self.low, self.high, self.n_ones, self.n_large)


def find_scale(low: float, high: float, n_ones: float, n_large: float) -> str:
    """Return the scale of scores: "unit", "percent" or "other".

    Scores above 20 and up to 100 are percent, but not where most of those above 0 are 1.

    >>> find_scale(0, 1, 5, 0), find_scale(0, 100, 0, 5), find_scale(0, 57, 20, 1), find_scale(1, 10, 1, 9)
    ('unit', 'percent', 'other', 'other')
    """
    if low >= 0 and high <= 1:
        return "unit"
    return "percent" if low >= 0 and 20 < high <= 100 and n_ones < n_large else "other"


def find_columns(names: Sequence[str], where: str, options: TableOptions) -> MatchedColumns:
    """Find our columns by the mapping of the user, and by the names that they have in other programs.

    A field of a nested record is found by its last part, where no column and no other field has such a name. A score
    may be named by a pattern such as `*_correct` that one column matches.

    Raises
    ------
    UnknownNameError
        When a column that the user named does not exist.
    """
    by_key = {normalise_name(name): name for name in reversed(names)}
    columns = _find_named(names, by_key, where, options)
    reasons = dict.fromkeys(columns, NAMED)
    taken = {column for each in columns.values() for column in each} | {*options.dimensions}
    for ours in _ALWAYS:
        alias = None if ours in columns else _find_by_name(ours, names, taken)
        if ours == "score" and alias and f"{alias.removesuffix('.success')}.completions" in names:
            what = f"{alias!r} says whether a request succeeded, and is no score"
            raise InputError(what, where=where, remedy="give the folder of the run, or name the score", code="no-score")
        if alias is not None:
            columns[ours] = (alias,)
            reasons[ours] = f"its name is one of those for the {ours}"
            if ours in {"benchmark", "model", "question", "variant", "generation"}:
                taken.add(alias)
    return MatchedColumns(columns, reasons)


def _find_named(
    names: Sequence[str], by_key: Mapping[str, str], where: str, options: TableOptions
) -> dict[str, tuple[str, ...]]:
    """Return the columns that the user named."""
    columns: dict[str, tuple[str, ...]] = {}
    for ours, given in options.map.columns.items():
        if ours in TEXTS and ours not in ALIASES and not options.texts:
            continue
        matched = []
        for one in given:
            column = one if one in names else by_key.get(normalise_name(one))
            if column is None and "*" in one:
                matches = [name for name in names if fnmatchcase(name, one)]
                column = matches[0] if len(matches) == 1 else None
            if column is None:
                raise UnknownNameError("column", one, names, where=where)
            matched.append(column)
        columns[ours] = tuple(matched)
    return columns


def _find_by_name(ours: str, names: Sequence[str], taken: set[str]) -> str | None:
    """Return the column that has one of our column's names, or else the only field of a record that has."""
    alias = find_alias(ours, [name for name in names if "." not in name], taken)
    if alias is not None:
        return alias
    fields = [name for name in names if "." in name and find_alias(ours, [name.rpartition(".")[2]]) is not None]
    return fields[0] if len(fields) == 1 and fields[0] not in taken else None


def describe_columns(rows: duckdb.DuckDBPyRelation, names: Iterable[str]) -> dict[str, ColumnValues]:
    """Return what the values of columns are, in one pass."""
    names = list(names)
    if not names:
        return {}
    types = read_column_types(rows)
    parts: list[str] = []
    for name in names:
        text, number = parse_number_sql(write_text_sql(name, types))
        raw = write_text_sql(name, types)
        parts += [
            f"count({text})", f"count({number})", f"min({number})", f"max({number})",
            f"count(*) FILTER ({number} = 1)", f"count(*) FILTER ({number} > 1)",
            f"count(DISTINCT {text})",
            f"count(*) FILTER (suffix(trim({raw}), '%'))",
            f"count(*) FILTER (regexp_full_match(trim({raw}), '[0-9]+ ?/ ?[0-9]+'))",
            f"coalesce(bool_and({number} = floor({number})), false)",
        ]  # fmt: skip
    values = rows.aggregate(", ".join(parts)).fetchall()[0]
    result = {}
    for i, name in enumerate(names):
        n, n_numbers, low, high, n_ones, n_large, n_distinct, n_percent, n_fractions, is_whole = values[
            10 * i : 10 * i + 10
        ]
        words = None
        if n_numbers < n and n_distinct <= MOST_WORDS:
            text, number = parse_number_sql(write_text_sql(name, types))
            matched = rows.filter(f"{number} IS NULL AND {text} IS NOT NULL").project(f"{text} AS word").distinct()
            words = match_words(str(word) for (word,) in matched.fetchall())
        result[name] = ColumnValues(
            n, n_numbers, low, high, n_ones, n_large, n_distinct, n_percent, n_fractions, is_whole, words
        )
    return result
