"""Write the JSON lines of eval-arena, or a tidy Parquet table of a run folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from howsure.errors import InputError
from howsure.readers.logs.base import UNSCORED, Note
from howsure.stats.core.cells import is_binary
from howsure.store import scorer_files
from howsure.store.atomic import replace_file
from howsure.store.lookup import read_clusters
from howsure.store.responses import stream
from howsure.store.schema import COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa

    from howsure.stats.core.cells import Cells

__all__ = ["stream_rows", "write_eval_arena", "write_parquet"]

#: Largest number of rows, and of bytes, of a row group.
_GROUP, _BYTES = 16_384, 16 << 20


def write_eval_arena(cells: Iterable[Cells], output: Path, *, note: Note) -> int:
    """Write a line per model and question, `{benchmark_id, model, example_id, pass1, count[, correct]}`.

    A line has `correct` if its scores are 0 or 1. The form has no texts, variants or failures.

    Parameters
    ----------
    cells
        Cells of each benchmark.
    output
        The file.
    note
        Function that is called with each note on data that the form cannot store.

    Returns
    -------
    int
        Number of lines.

    Raises
    ------
    InputError
        When there is no score.
    """
    lines = 0
    with replace_file(output) as new, new.open("wb") as file:
        for one in cells:
            if one.failed is not None and one.failed.any():
                note(f"{one.benchmark}: {int(one.failed.sum())} failed generations are not in it: they have no score")
            if missing := int((one.n == 0).sum()):
                note(
                    f"{one.benchmark}: {missing} of {one.n.size} cells have no score, but eval-arena needs all of them"
                )
            binary = is_binary(one.n, one.total, one.total_sq, one.minimum, one.maximum)
            binary &= one.total == np.round(one.total)
            if graded := int((~binary & (one.n > 1)).sum()):
                note(f"{one.benchmark}: {graded} cells have scores that are not 0 or 1: only their mean is kept")
            for i, j in np.argwhere(one.n > 0).tolist():
                n, total = int(one.n[i, j]), float(one.total[i, j])
                line: dict[str, Any] = {
                    "benchmark_id": one.benchmark,
                    "model": one.models[i],
                    "example_id": one.questions[j],
                    "pass1": total / n,
                    "count": n,
                }
                if binary[i, j]:
                    line["correct"] = int(total)
                file.write(msgspec.json.encode(line) + b"\n")
                lines += 1
        if not lines:
            raise InputError("there is no score to export", where=str(output))
    return lines


def write_parquet(path: Path, output: Path, *, note: Note, scorer: str | None = None) -> int:
    """Write a tidy table of a run folder: a row per generation that was scored or failed, sorted by key.

    The table has our columns and texts, and `cluster` where the run has clusters. Completions without a score are left
    out, because in a table a missing score is a failure.

    Parameters
    ----------
    path, output
        The run folder, and the file.
    note
        Function that is called with a note on the rows that are left out.
    scorer
        Name of the scorer; None for the scores of the run itself.

    Returns
    -------
    int
        Number of rows.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    left_out = written = 0
    batches = stream_rows(path, COLUMNS, scorer=scorer)
    with replace_file(output) as new, pq.ParquetWriter(new, next(batches).schema, compression="zstd") as writer:
        for batch in batches:
            table = pa.Table.from_batches([batch])
            scored = table.filter(pc.not_equal(table["status"], UNSCORED))
            left_out, written = left_out + len(table) - len(scored), written + len(scored)
            writer.write_table(scored, row_group_size=_GROUP)
    if left_out:
        note(f"{left_out} completions without a score are left out: howsure rescore scores them")
    return written


def stream_rows(path: Path, columns: Sequence[str], *, scorer: str | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a run folder sorted by key, with the cluster of their question where the run has clusters.

    The first batch is empty and has the schema of all. The others have about the size of a row group.
    """
    import pyarrow as pa

    of_question = read_clusters(path)
    batches = stream(path, columns) if scorer is None else scorer_files.stream_rows(path, columns, scorer)
    with batches:
        yield _add_clusters(pa.RecordBatch.from_pylist([], schema=batches.schema), of_question)
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            for start in range(0, len(batch), _GROUP):
                waiting.append(batch.slice(start, _GROUP))
                if sum(map(len, waiting)) >= _GROUP or sum(part.nbytes for part in waiting) >= _BYTES:
                    yield _add_clusters(pa.concat_batches(waiting), of_question)
                    waiting = []
        if waiting:
            yield _add_clusters(pa.concat_batches(waiting), of_question)


def _add_clusters(batch: pa.RecordBatch, of_question: Mapping[tuple[str, str], str]) -> pa.RecordBatch:
    """Return a batch with the column of clusters, if there are any."""
    import pyarrow as pa

    if not of_question:
        return batch
    keys = zip(batch["benchmark"].to_pylist(), batch["question"].to_pylist(), strict=True)
    return batch.append_column("cluster", pa.array([of_question.get(key) for key in keys], pa.string()))
