"""Base classes of all results: columns by name, rows, a frame, and a printed table."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.claims import FRAME_BACKENDS, FrameBackend, check_choice
from howsure.stats.core.printed_width import PRINTING, Description
from howsure.stats.core.text_table import RowNotes, format_html, format_markup, format_table, list_notes, wrap_text

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = [
    "Column",
    "Columns",
    "Conditions",
    "Result",
    "Results",
    "RowNotes",
    "RowPlaces",
    "format_html",
    "format_table",
    "join_notes",
    "make_columns",
    "notes",
    "parse_columns",
    "read_columns",
    "to_integers",
]

Columns = dict[str, NDArray[Any]]
"""Values by column name, one value per row. What the data cannot say is NaN, and the column `note` says why."""

Conditions = Mapping[str, NDArray[np.bool_]]
"""Notes on rows, each with where it holds; the shapes can be broadcast to that of the rows."""

RowPlaces = Sequence[NDArray[Any]]
"""Places of the rows of a table in the arrays of a result: an index array for each axis."""

Row = dict[str, Any]
"""One row of a result: values by column name."""


#: Columns that tell rows apart, in the names of metrics.
_ROW_NAMES = (
    "benchmark",
    "model",
    "model_a",
    "model_b",
    *("checkpoint", "measure", "k", "variant", "day", "by", "slice"),
)


def make_columns(n_rows: int, /, **columns: object) -> Columns:
    """Make columns of a result from arrays, from sequences of names, and from values that all rows have in common.

    Examples
    --------
    >>> columns = make_columns(2, benchmark="demo", model=("a", "b"), score=np.array([0.5, 1.0]), level=0.95)
    >>> columns["benchmark"].tolist(), columns["level"].tolist()
    (['demo', 'demo'], [0.95, 0.95])
    """
    arrays = {name: _make_array(value) for name, value in columns.items()}
    return {name: values if values.ndim else np.full(n_rows, values, values.dtype) for name, values in arrays.items()}


def _make_array(value: object) -> NDArray[Any]:
    """Return a value as an array, a single one without axes; text becomes an array of Python strings."""
    if isinstance(value, np.ndarray | list):
        array = np.asarray(value)
        is_named = isinstance(value, list) and any(isinstance(one, str) for one in value)
        return np.array(value, dtype=object) if is_named else array.astype(object) if array.dtype.kind == "U" else array
    if isinstance(value, tuple):
        is_named = not value or any(isinstance(one, str) for one in value)
        return np.array(value, dtype=object if is_named else None)
    return np.array(value, dtype=object if isinstance(value, str) else None)


def to_integers(values: FloatArray) -> FloatArray | IntArray:
    """Return whole numbers as integers, or unchanged where one of them is NaN."""
    return values if np.any(np.isnan(values)) else values.astype(np.int64)


class Column(NamedTuple):
    """A column of a result. Its format is that of its name in `text_table`, its meaning that in the glossary.

    Attributes
    ----------
    name
        Name of the column.
    field
        Steps to its values: attributes, methods to call, places in a tuple, and names of `_FUNCTIONS`.
    axis
        Axis of the rows along which values with one axis lie.
    """

    name: str
    field: tuple[str, ...]
    axis: int


@cache
def parse_columns(declared: str) -> tuple[Column, ...]:
    """Return the columns of a declaration: ``name``, ``name=field``, ``name=field.field`` or ``name=field@axis``.

    Examples
    --------
    >>> parse_columns("model=models low=interval.low k=k@1")[1:]
    (Column(name='low', field=('interval', 'low'), axis=0), Column(name='k', field=('k',), axis=1))
    """
    columns = []
    for text in declared.split():
        name, _, field = text.partition("=")
        field, _, axis = (field or name).partition("@")
        columns.append(Column(name, tuple(field.split(".")), int(axis or 0)))
    return tuple(columns)


def read_columns(result: object, declared: str, rows: RowPlaces | None = None) -> Columns:
    """Return the declared columns of a result, without those that are None.

    Parameters
    ----------
    result
        Object with the attributes that the declaration names.
    declared
        Columns, as for `parse_columns`.
    rows
        Places of the rows in the arrays, one index array per axis. None: a row for each element of the arrays that have
        the most axes, the last axis changing fastest.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> grid = SimpleNamespace(models=("a", "b"), k=np.array([1, 5]), variance=np.array([[4, 9], [1, 0]]), level=0.95)
    >>> for name, values in read_columns(grid, "model=models k=k@1 se=variance.sqrt n=k.len level").items():
    ...     print(name, values.tolist())
    model ['a', 'a', 'b', 'b']
    k [1, 5, 1, 5]
    se [2.0, 3.0, 1.0, 0.0]
    n [2, 2, 2, 2]
    level [0.95, 0.95, 0.95, 0.95]
    """
    values: dict[tuple[str, ...], Any] = {(): result}

    def read(path: tuple[str, ...]) -> Any:
        if path not in values:
            parent, name = read(path[:-1]), path[-1]
            if parent is None:
                values[path] = None
            elif len(path) > 1 and name in _FUNCTIONS:
                values[path] = _FUNCTIONS[name](parent)
            else:
                value = parent[int(name)] if name.isdigit() else getattr(parent, name)
                values[path] = value() if callable(value) else value
        return values[path]

    columns = [column for column in parse_columns(declared) if read(column.field) is not None]
    arrays = [_make_array(read(column.field)) for column in columns]
    shape = max((array.shape for array in arrays), key=len)
    values_of = {}
    for column, array in zip(columns, arrays, strict=True):
        values_of[column.name] = array
        if rows is not None and array.ndim:
            values_of[column.name] = array[rows[column.axis]] if array.ndim == 1 else array[tuple(rows)]
        elif array.ndim and len(shape) > 1:
            along = [-1 if axis == column.axis else 1 for axis in range(len(shape))]
            full = array.reshape(along) if array.ndim == 1 else array
            values_of[column.name] = np.broadcast_to(full, shape).ravel() if full.shape != shape else full.ravel()
    n_rows = len(rows[0]) if rows is not None else math.prod(shape)
    return make_columns(n_rows, **values_of)


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The statistics of one benchmark, with one row per model, pair, run or other unit.

    Subclasses are frozen dataclasses. A result can be printed, iterated over, and indexed by row or by column:

    >>> from howsure.stats.scores import score
    >>> from howsure.stats.core.cells import Cells
    >>> result = score(Cells.from_scores("demo", ["a", "b"], ["q1", "q2"], [[[1, 0], [1, 1]], [[0, 0], [1, 0]]]))
    >>> len(result), result["score"].tolist(), result[0]["model"]
    (2, [0.75, 0.25], 'a')
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Keep the table as the representation; the decorator `dataclass` would replace it by a list of fields."""
        super().__init_subclass__(**kwargs)
        if "__repr__" not in vars(cls):
            type.__setattr__(cls, "__repr__", Result.__repr__)

    #: The columns, as for `parse_columns`.
    declared: ClassVar[str] = ""

    def _rows(self) -> RowPlaces | None:
        """Return the places of the rows in the arrays, one index array per axis; None: all elements, in their order."""
        return None

    def columns(self) -> Columns:
        """Return the columns by name, as the commands print them."""
        return read_columns(self, self.declared, self._rows())

    @cached_property
    def _columns(self) -> Columns:
        """The columns, computed once; where they have intervals, level and claim are among them."""
        columns = self.columns()
        for name in ("level", "claim"):
            value = getattr(self, name, None)
            if "low" in columns and name not in columns and isinstance(value, float | str):
                note = {"note": columns.pop("note")} if "note" in columns else {}
                columns |= make_columns(len(columns["low"]), **{name: value}) | note
        return columns

    def to_columns(self) -> Columns:
        """Return the columns by name, with the level and the claim of intervals: what csv, json and frames have."""
        return self._columns

    def to_dicts(self) -> list[Row]:
        """Return the rows as dictionaries of plain Python values."""
        rows = zip(*(values.tolist() for values in self._columns.values()), strict=True)
        return [dict(zip(self._columns, row, strict=True)) for row in rows]

    @overload
    def to_frame(self, backend: Literal["pandas"] = "pandas") -> pd.DataFrame: ...
    @overload
    def to_frame(self, backend: Literal["polars"]) -> pl.DataFrame: ...
    @overload
    def to_frame(self, backend: Literal["pyarrow"]) -> pa.Table: ...
    def to_frame(self, backend: FrameBackend = "pandas") -> pd.DataFrame | pl.DataFrame | pa.Table:
        """Return the columns as a data frame of pandas, polars or pyarrow.

        Parameters
        ----------
        backend
            One of `FRAME_BACKENDS`; the library has to be installed.
        """
        return _make_frame(self._columns, backend)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __iter__(self) -> Iterator[Row]:
        return iter(self.to_dicts())

    @overload
    def __getitem__(self, key: int) -> Row: ...
    @overload
    def __getitem__(self, key: str) -> NDArray[Any]: ...
    def __getitem__(self, key: int | str) -> Row | NDArray[Any]:
        """Return a row by its number, or a column by its name."""
        if not isinstance(key, str):
            return self.to_dicts()[key]
        if key not in self._columns:
            raise UnknownNameError("column", key, self._columns)
        return self._columns[key]

    def format_rows(self, width: int | None) -> str:
        """Return the printed table without the sentences on it."""
        return format_table(self.text_columns(), width)

    def text_columns(self) -> Columns:
        """Return the columns of the printed table."""
        return self._columns

    def __str__(self) -> str:
        return self.fit_text(PRINTING.find_width())

    def fit_text(self, width: int | None) -> str:
        """Return sentences, table and claim in lines of at most `width` characters, without columns that do not fit.

        None has all columns in lines of any length.
        """
        described = self._describe()
        if width is None or described.tables is None:
            tables = [self.format_rows(width)]
        else:
            tables = [
                format_table(one, width) if one.keys() - {"note"} else "\n".join(list_notes(one["note"]))
                for one in described.tables
            ]
        text = "\n".join(filter(None, [*described.above, "\n\n".join(filter(None, tables)), *described.below]))
        return text if width is None else wrap_text(text, width)

    def _describe(self) -> Description:
        """Return the sentences on the result, and its printed tables."""
        return PRINTING.describe(self) or Description([], None, [], [self._columns])

    def _list_sentences(self) -> list[str]:
        """Return the sentences above the table, without pictures."""
        return [line for line in self._describe().above if not line.startswith("    ")]

    def to_markdown(self) -> str:
        """Return the sentences and the table of a result as Markdown."""
        described = self._describe()
        tables = [format_markup(columns, "markdown") for columns in described.exported]
        return "\n\n".join(filter(None, ["  \n".join(self._list_sentences()), *tables, "  \n".join(described.below)]))

    def to_latex(self) -> str:
        r"""Return the table as LaTeX, for the package booktabs; the sentences are comments above it."""
        described = self._describe()
        comments = [f"% {line}" for line in (*self._list_sentences(), *described.below)]
        return "\n".join([*comments, *(format_markup(columns, "latex") for columns in described.exported)])

    def to_metrics(self) -> dict[str, float]:
        """Return the numbers by names such as ``math/qwen/score``, for ``mlflow.log_metrics`` or ``wandb.log``.

        Raises
        ------
        InputError
            If two rows have the same names, as those of single questions have.

        Examples
        --------
        >>> import howsure as hs
        >>> cells = hs.Cells.from_scores("sums", ["a"], ["p", "q"], [[[1, 0], [1, 1]]])
        >>> hs.score(cells).to_metrics()["sums/a/score"]
        0.75
        """
        metrics: dict[str, float] = {}
        for row in self.to_dicts():
            names = [str(row[name]) for name in _ROW_NAMES if name in row and row[name] != ""]
            path = "/".join(names).replace("@", "_at_").replace("^", "_hat_")
            path = "".join(one if one.isalnum() or one in "_-. /" else "_" for one in path)
            numbers = {f"{path}/{name}": value for name, value in row.items() if name not in (*_ROW_NAMES, "level")}
            own = {name: float(value) for name, value in numbers.items() if isinstance(value, (int, float))}
            if own.keys() & metrics.keys():
                remedy = "log a table in place of metrics: to_frame()"
                raise InputError(f"two rows have the names {path!r}", where="to_metrics", remedy=remedy)
            metrics |= own
        return {name: value for name, value in metrics.items() if math.isfinite(value)}

    def plot(self) -> object:
        """Return the chart of `howsure.figures` that belongs to this result; raise InputError where there is none."""
        return PRINTING.draw(self)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        if type(self).__str__ is not Result.__str__ or type(self).format_rows is not Result.format_rows:
            return f"<pre>{escape(str(self))}</pre>"
        above = "<br>".join(map(escape, self._list_sentences()))
        return (f"<p>{above}</p>\n" if above else "") + "\n".join(map(format_html, self._describe().exported))


@dataclass(frozen=True)
class Results(Result):
    """The results of several benchmarks, one below the other.

    Columns are attributes as well: ``results.difference`` is ``results["difference"]``, or the number of a single pair.

    Attributes
    ----------
    parts
        The result of each benchmark.
    """

    parts: tuple[Result, ...]

    def of(self, attribute: str) -> Results:
        """Return the results that the parts hold under this name, such as `runs` of `Repeats`."""
        return Results(tuple(getattr(part, attribute) for part in self.parts))

    @cached_property
    def _columns(self) -> Columns:
        """The columns, computed once; level and claim are those of the parts."""
        return self.columns()

    def columns(self) -> Columns:
        """Return the rows of all parts, one below the other."""
        if not self.parts:
            raise InputError("there is nothing to show: no benchmark", where="Results")
        each = [part.to_columns() for part in self.parts]
        return {name: np.concatenate([columns[name] for columns in each]) for name in each[0]}

    def __getattr__(self, name: str) -> Any:
        """Return a column by its name; of a single comparison its one value."""
        if not name.startswith("_") and name != "parts" and (values := self._columns.get(name)) is not None:
            return values.item() if len(values) == 1 and "model_b" in self._columns else values
        remedy = "; to_frame() makes a frame of pandas, polars or pyarrow" if name.startswith("to_") else ""
        for near in difflib.get_close_matches(name, self._columns, n=1) if self.parts and not remedy else ():
            remedy = f"; did you mean {near!r}?"
        raise AttributeError(f"{type(self).__name__!r} has no attribute or column {name!r}{remedy}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(self._columns if self.parts else ())})


def _make_frame(columns: Columns, backend: FrameBackend) -> pd.DataFrame | pl.DataFrame | pa.Table:
    """Return the columns as a data frame of this library."""
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
        others = " or ".join(f'to_frame("{other}")' for other in FRAME_BACKENDS if other != backend)
        remedy = f"pip install {backend}, or call {others}"
        raise InputError(f"{backend} is not installed", where="to_frame", remedy=remedy) from error


def notes(conditions: Conditions) -> NDArray[np.object_]:
    """Return the notes of each row: the texts whose condition holds there.

    Parameters
    ----------
    conditions
        Text to where it holds; at most 62 texts.

    Examples
    --------
    >>> notes({"too few": np.array([True, False, True]), "too old": np.array([True, False, False])}).tolist()
    ['too few; too old', '', 'too few']
    """
    reasons = list(conditions)
    code = sum(where.astype(np.int64) << i for i, where in enumerate(conditions.values()))
    codes, row = np.unique(code, return_inverse=True)
    row = row.reshape(np.shape(code))
    texts = [RowNotes(*(reason for i, reason in enumerate(reasons) if c >> i & 1)) for c in codes.tolist()]
    return np.array(texts, dtype=object)[row]


def join_notes(*each: Iterable[str]) -> NDArray[np.object_]:
    """Join several notes of each row, without the empty ones.

    Examples
    --------
    >>> join_notes(["too few", ""], ["too old", "late"]).tolist()
    ['too few; too old', 'late']
    """
    return np.array([RowNotes(*row) for row in zip(*each, strict=True)], dtype=object)


#: Functions that a declaration of columns may name.
_FUNCTIONS: dict[str, Callable[[Any], object]] = {"len": len, "notes": notes, "sqrt": np.sqrt, "whole": to_integers}
