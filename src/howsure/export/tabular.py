"""A run folder, or cells, in forms that other programs read: eval-arena's json lines, and a tidy Parquet table."""

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

__all__ = ["eval_arena", "parquet", "rows"]

#: Rows, and bytes, of a row group of what is exported.
_GROUP, _BYTES = 16_384, 16 << 20


def eval_arena(cells: Iterable[Cells], output: Path, *, tell: Note) -> int:
    """Write a line per model and question, `{benchmark_id, model, example_id, pass1, count[, correct]}`; how many.

    `correct` is there where the scores are 0 or 1. Counts only: neither texts, variants nor failures are in it.

    Parameters
    ----------
    cells
        As `howsure.read` returns them.
    tell
        Hears what the form cannot hold.
    """
    lines = 0
    with replace_file(output) as new, new.open("wb") as file:
        for one in cells:
            if one.failed is not None and one.failed.any():
                tell(f"{one.benchmark}: {int(one.failed.sum())} failed generations are not in it: they have no score")
            if missing := int((one.n == 0).sum()):
                tell(f"{one.benchmark}: {missing} of {one.n.size} cells have no score, and eval-arena wants them all")
            binary = is_binary(one.n, one.total, one.total_sq, one.minimum, one.maximum)
            binary &= one.total == np.round(one.total)
            if spread := int((~binary & (one.n > 1)).sum()):
                tell(f"{one.benchmark}: {spread} cells have scores that are not 0 or 1: only their mean is kept")
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


def parquet(path: Path, output: Path, *, tell: Note, scorer: str | None = None) -> int:
    """Write a tidy table of a run folder, a row per generation that was scored or failed, sorted by key; how many.

    Our column names and texts, and `cluster` where the run has clusters. Completions that nobody scored are left out
    and told: a table has no way to say that a missing score is no failure.

    Parameters
    ----------
    scorer
        Whose scores; None is those that the run was made with.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    left_out = written = 0
    batches = rows(path, COLUMNS, scorer=scorer)
    with replace_file(output) as new, pq.ParquetWriter(new, next(batches).schema, compression="zstd") as writer:
        for batch in batches:
            table = pa.Table.from_batches([batch])
            scored = table.filter(pc.not_equal(table["status"], UNSCORED))
            left_out, written = left_out + len(table) - len(scored), written + len(scored)
            writer.write_table(scored, row_group_size=_GROUP)
    if left_out:
        tell(f"{left_out} completions that nobody scored are left out: howsure rescore scores them")
    return written


def rows(path: Path, columns: Sequence[str], *, scorer: str | None = None) -> Iterator[pa.RecordBatch]:
    """Rows of a run folder sorted by key, and the cluster of their question where the run has clusters.

    The first batch is empty: its schema is that of all. Others are of about a row group's size where rows are plenty.
    """
    import pyarrow as pa

    of = read_clusters(path)
    held = stream(path, columns) if scorer is None else scorer_files.stream_rows(path, columns, scorer)
    with held:
        yield _clustered(pa.RecordBatch.from_pylist([], schema=held.schema), of)
        waiting: list[pa.RecordBatch] = []
        for batch in held:
            for start in range(0, len(batch), _GROUP):
                waiting.append(batch.slice(start, _GROUP))
                if sum(map(len, waiting)) >= _GROUP or sum(part.nbytes for part in waiting) >= _BYTES:
                    yield _clustered(pa.concat_batches(waiting), of)
                    waiting = []
        if waiting:
            yield _clustered(pa.concat_batches(waiting), of)


def _clustered(batch: pa.RecordBatch, of: Mapping[tuple[str, str], str]) -> pa.RecordBatch:
    import pyarrow as pa

    if not of:
        return batch
    keys = zip(batch["benchmark"].to_pylist(), batch["question"].to_pylist(), strict=True)
    return batch.append_column("cluster", pa.array([of.get(key) for key in keys], pa.string()))
