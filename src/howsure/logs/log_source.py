"""Read a log of another program as cells, cubes, runs and texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from howsure.errors import InputError
from howsure.logs.base import LogRow
from howsure.logs.log_names import DistinctLog
from howsure.notes import Note
from howsure.rows import to_cells
from howsure.rows.source import Source
from howsure.store.schema import UNSCORED, USAGE_COLUMNS, has_scoring_error

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
#: Number of rows that are converted to Arrow at a time.
_BATCH = 20_000
_COLUMNS = (
    "benchmark",
    "model",
    "question",
    "variant",
    "generation",
    "score",
    "answer",
    "cluster",
    "created",
    *USAGE_COLUMNS,
)


class LogSource(Source):
    """One log of another program, which is read once and stored in memory without its texts.

    Parameters
    ----------
    log
        The log, with its reader, its options and the names under which it is read.

    Attributes
    ----------
    reader, options, info
        Those of `log`.
    """

    path: Path

    def __init__(self, log: DistinctLog, *, most_generations: int | None = None, is_optional: bool = False) -> None:
        super().__init__(log.path, most_generations, is_optional=is_optional)
        self.log, self.reader, self.info, self.options = log, log.reader, log.info, log.options

    def group(self, make: Callable[..., T], dimensions: Sequence[str] = ()) -> T | None:
        """Return what a function of `to_cells` makes of the rows; None without rows.

        Raises
        ------
        InputError
            When `dimensions` are given: a log states no values of its variants.
        """
        if dimensions:
            what = f"a log has no dimension {dimensions[0]!r}"
            raise InputError(what, where=str(self.path), remedy="howsure convert makes a run folder of it")
        more: dict[str, object] = {"pass_at": self.pass_at} if make is to_cells.make_cells else {}
        if make is to_cells.make_runs:
            more["started"] = self.info.created
        return make(self.rows, where=str(self.path), **more) if self.rows.num_rows else None

    def manifest(self) -> dict[str, object]:
        """Return what the log states of itself, in the form of the manifest of a run folder."""
        labels = self.log.names.models
        models = {labels.get(label, label): msgspec.to_builtins(model) for label, model in self.info.models.items()}
        benchmarks = self.log.describe_benchmarks()
        return {"created": self.info.created, "benchmarks": benchmarks, "models": models, "source": self.reader.name}

    def generations(self, *, texts: bool = True) -> Iterator[LogRow]:
        """Yield every generation, with its texts and under its new names."""
        options = msgspec.structs.replace(self.options, texts=texts)
        try:
            for row in self.reader.rows(self.path, options, lambda _: None):
                yield self.log.names.rename(row)
        except InputError:
            if not self.is_optional:
                raise

    @cached_property
    def rows(self) -> pa.Table:
        """The scored and failed generations, without texts.

        The column "answer" is left out of a log that keeps no answer, and "cluster" of one that
        states none.
        """
        try:
            return self._read_rows()
        except InputError as error:
            self.leave_out(error)
        return _make_schema().empty_table()

    def read_answers(self) -> pa.Table | None:
        """Return the rows with answers that the log keeps beside its texts only; None where it keeps none."""
        if not self.reader.has_answers_with_texts or not self.rows.num_rows:
            return None
        table = self._read_rows(texts=True)
        return table if "answer" in table.column_names else None

    def _read_rows(self, *, texts: bool = False) -> pa.Table:
        """Return the rows of the log."""
        import pyarrow as pa

        schema = _make_schema()
        notes: list[Note] = []
        options = msgspec.structs.replace(self.options, texts=texts)
        rows = self.reader.rows(self.path, options, notes.append)
        batches = []
        n_unscored = n_unjudged = 0
        while read := list(islice(rows, _BATCH)):
            batch = [self.log.names.rename(row) for row in read if row.status != UNSCORED]
            n_unscored += len(read) - len(batch)
            n_unjudged += sum(row.score is None and has_scoring_error(row.error) for row in batch)
            columns = {name: [getattr(row, name) for row in batch] for name in _COLUMNS}
            batches.append(pa.RecordBatch.from_pydict(columns, schema=schema))
        table = pa.Table.from_batches(batches, schema=schema)
        table = to_cells.keep_first_rows(table, self.most_generations, str(self.path))
        if not table.num_rows and self.options.superseded:
            return table
        if not table.num_rows or (n_unjudged and table["score"].null_count == table.num_rows):
            raise _describe_no_score(str(self.path), notes, n_unscored + n_unjudged)
        if not texts:
            self.notes += notes
        if table["answer"].null_count == table.num_rows:
            # The log does not state for any generation whether its answer could be parsed.
            table = table.drop_columns("answer")
        # Without a field that is mapped to it, few logs state clusters, such as the turns of a conversation.
        has_clusters = "cluster" in self.options.columns or table["cluster"].null_count < table.num_rows
        return table if has_clusters else table.drop_columns("cluster")


def _make_schema() -> pa.Schema:
    """Return the names and types of the columns of the rows."""
    import pyarrow as pa

    types = {"generation": pa.int64(), "score": pa.float64(), "created": pa.float64(), "attempts": pa.int64()}
    types |= {"prompt_tokens": pa.float64(), "completion_tokens": pa.float64()}
    return pa.schema([(name, types.get(name, pa.string())) for name in _COLUMNS])


def _describe_no_score(where: str, notes: Sequence[Note], n_unscored: int) -> InputError:
    """Return the error for a log without any score, with the remedy that fits what the log contains."""
    if n_unscored:
        remedy = "howsure rescore scores the completions that it keeps"
        return InputError("the log has no score", where=where, remedy=remedy)
    why = f": {notes[0].text}" if notes else ""
    return InputError(f"no samples are kept{why}", where=where, remedy="give the log of a run that kept its samples")
