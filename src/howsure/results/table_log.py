"""Read a table with a row per generation as a log: its scores as every command reads them, and its texts."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howsure.errors import InputError
from howsure.logs.base import LogInfo, LogReader, LogRow, RowBuilder
from howsure.logs.file_formats import FileHead
from howsure.notes import Note
from howsure.rows import to_cells
from howsure.rows.columns import TableOptions
from howsure.rows.formats import find_format, is_table
from howsure.rows.score_column import drop_summaries
from howsure.rows.sql import ROW, number_rows, quote_text
from howsure.rows.table import group_rows, open_table
from howsure.rows.words import find_alias
from howsure.scorers.targets import parse_items, write_targets
from howsure.store.manifest import ModelRecord
from howsure.store.schema import UNSCORED

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

#: Key of the files of a benchmark, each with its hash.
TABLES = "tables"

#: Error of a generation that a table has no score or no text for.
_NO_SCORE, _NO_TEXT = "missing: the table has no score here", "missing: the table has no text here"
#: Largest whole number that is a number of a generation.
_LARGEST = 1 << 31


def has_completions(path: Path, options: TableOptions) -> bool:
    """Return whether a table has a column of completions, by its name or as the mapping says."""
    if "completion" in options.map.columns:
        return True
    with open_table(path, options.map) as rows:
        return find_alias("completion", rows.columns) is not None


def identify_table(path: Path) -> str:
    """Return the id of the run of a table, which is equal for equal files."""
    return _hash_file(path)[:16]


def _hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class TableLogReader(LogReader):
    """Reader of tables as `rows.table` reads them, with texts.

    Generations that are whole numbers keep them, counted from 1; other names are numbered in their order. Without a
    column for generations, the rows of a cell are its generations. A table with completions needs no scores.

    Parameters
    ----------
    options
        The mapping, and what the columns do not state.
    """

    name = "table"

    def __init__(self, options: TableOptions | None = None) -> None:
        self.options = replace(options or TableOptions(), texts=True)

    def recognises(self, head: FileHead) -> bool:
        """Return whether the name of a file is that of a table."""
        return head.kind not in {"folder", "empty"} and is_table(head.path)

    def describe(self, path: Path) -> LogInfo:
        """Return the models and benchmarks of a table, which has no other metadata."""
        digest = _hash_file(path)
        with self._open(path) as rows:
            models = sorted(str(name) for (name,) in rows.project("model").distinct().fetchall())
            benchmarks = sorted(str(name) for (name,) in rows.project("benchmark").distinct().fetchall())
        return LogInfo(
            run=digest[:16],
            models={name: ModelRecord(name=name, kind=self.name) for name in models},
            benchmarks={name: {TABLES: [{"file": path.name, "sha256": digest}]} for name in benchmarks},
        )

    def check_texts(self, path: Path, *names: str) -> None:
        """Raise InputError if the table lacks one of these texts, with its columns and how one is named."""
        with open_table(path, self.options.map) as table:
            columns = table.columns
        with self._open(path) as rows:
            missing = [name for name in names if name not in rows.columns]
        if missing:
            remedy = f"the columns are {', '.join(columns)}: name one with --columns {missing[0]}=COLUMN"
            raise InputError(f"no column for the {missing[0]}", where=str(path), remedy=remedy)

    def read_answers(self, path: Path) -> pa.Table | None:
        """Return the scored rows with the answers that were read, without texts; None if no column has the answers."""
        with self._open(path) as rows:
            if "answer" not in rows.columns:
                return None
            texts = [_or_null(rows, name, default) for name, default in (("variant", "'default'"), ("target", _NULL))]
            names = [f"CAST({name} AS VARCHAR) AS {name}" for name in ("benchmark", "model", "question")]
            parts = [*names, *texts, "nullif(trim(answer), '') AS answer", "score"]
            return rows.project(", ".join(parts)).to_arrow_table()

    def read(self, path: Path, build: RowBuilder) -> Iterator[LogRow]:
        """Yield each generation once; a missing score without a completion is a failure."""
        import pyarrow as pa

        with self._open(path, lambda note: build.note(note.code, note.n, **note.facts)) as unnumbered:
            rows = number_rows(unnumbered)
            generation = _write_number_sql(rows)
            has_texts = "completion" in rows.columns
            # An empty cell of delimited text is an empty text or a missing one; it is taken as missing.
            is_delimited = find_format(str(path)) == "csv"
            parts = [f'"{ROW}"', "benchmark", "model", "question", f"{generation} AS generation", "score"]
            parts += [_or_null(rows, name, default) for name, default in _OPTIONAL.items()]
            for batch in pa.RecordBatchReader.from_stream(rows.project(", ".join(parts)).order(f'"{ROW}"')):
                for row in batch.to_pylist():
                    score, completion = row["score"], row["completion"]
                    completion = None if is_delimited and not completion else completion
                    is_empty = completion is not None and not completion.strip()
                    if score is None and is_empty:
                        # As in a live run: a completion that says nothing scores 0.
                        score, status = 0.0, "empty"
                    else:
                        status = "ok" if score is not None else UNSCORED if completion is not None else "error"
                    yield LogRow(
                        benchmark=str(row["benchmark"]),
                        model=str(row["model"]),
                        question=str(row["question"]),
                        variant=str(row["variant"]),
                        generation=row["generation"],
                        score=score,
                        status=status,
                        error=None if status != "error" else _NO_TEXT if has_texts else _NO_SCORE,
                        answer=row["answer"] or None,
                        completion=completion,
                        target=_write_target(row["target"]) if row["target"] else None,
                        choices=_parse_choices(row["choices"]),
                        messages=({"role": "user", "content": row["text"]},) if row["text"] else None,
                        cluster=None if row["cluster"] is None else str(row["cluster"]),
                    )

    @contextlib.contextmanager
    def _open(self, path: Path, note: Callable[[Note], None] = lambda _: None) -> Iterator[duckdb.DuckDBPyRelation]:
        """Yield the rows with our column names, after the checks of every table."""

        def check_rows(rows: duckdb.DuckDBPyRelation, where: str) -> duckdb.DuckDBPyRelation:
            if "n" in rows.columns:
                what = "each row is a cell, and there are no generations to convert"
                remedy = "read the table itself: it does not state which of its generations were right"
                raise InputError(what, where=where, remedy=remedy)
            cells = to_cells.make_cells(rows, where=where)
            remaining: Any = drop_summaries(cells, where, note)
            for before, after in zip(cells, remaining, strict=True):
                for name, names in (("question", after.questions), ("model", after.models)):
                    for one in set(before.questions if name == "question" else before.models) - set(names):
                        benchmark = quote_text(before.benchmark)
                        wrong = f"benchmark = {benchmark} AND CAST({name} AS VARCHAR) = {quote_text(one)}"
                        rows = rows.filter(f"NOT ({wrong})")
            return rows

        with open_table(path, self.options.map) as rows:
            yield group_rows(rows, str(path), self.options, check_rows, note)


#: SQL of a text that is missing.
_NULL = "CAST(NULL AS VARCHAR)"
#: Columns that may be absent, with the SQL of their value then.
_OPTIONAL = {
    "variant": "'default'",
    **dict.fromkeys(("cluster", "completion", "target", "choices", "text", "answer"), _NULL),
}


def _or_null(rows: duckdb.DuckDBPyRelation, name: str, default: str) -> str:
    """Return SQL for a column, or its default where the rows do not have it."""
    return f'"{name}"' if name in rows.columns else f'{default} AS "{name}"'


def _write_number_sql(rows: duckdb.DuckDBPyRelation) -> str:
    """Return SQL for the number of a row's generation, from 1."""
    cell = ", ".join(name for name in ("benchmark", "model", "question", "variant") if name in rows.columns)
    if "generation" not in rows.columns:
        return f'row_number() OVER (PARTITION BY {cell} ORDER BY "{ROW}")'
    number = "TRY_CAST(CAST(generation AS VARCHAR) AS BIGINT)"
    are_whole, low, high = rows.aggregate(
        f"bool_and(coalesce({number} >= 0, false)), min({number}), max({number})"
    ).fetchall()[0]
    if are_whole and high < _LARGEST:
        return f"{number} + 1" if low == 0 else number
    return "dense_rank() OVER (PARTITION BY benchmark, model ORDER BY generation)"


def _write_target(text: str) -> str:
    """Return a target as it is stored: a list that holds one answer is that answer."""
    if text.startswith("[") and text.endswith("]"):
        items = parse_items(text)
        if len(items) == 1 and len(items[0]) == 1 and text[1:2] in {'"', "'"}:
            return write_targets(items[0])
    return text


def _parse_choices(text: str | None) -> tuple[str, ...]:
    """Return the choices of a JSON list of texts."""
    try:
        choices = json.loads(text) if text else None
    except ValueError:
        return ()
    if not isinstance(choices, list) or len(choices) < 2:
        return ()
    return tuple(choices) if all(isinstance(each, str) for each in choices) else ()
