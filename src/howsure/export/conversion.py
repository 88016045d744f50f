"""`convert` and `rescore` of whatever was found at some paths."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from howsure.errors import HowsureWarning, InputError
from howsure.export import hub_dataset, run_folder, tabular
from howsure.export.table_log import Table as TableReader
from howsure.readers.evaluations import Evaluations
from howsure.readers.logs.base import LogReader, ReadOptions
from howsure.readers.logs.log_source import LogSource
from howsure.readers.run_source import RunSource
from howsure.readers.sources import Source, TableSource
from howsure.scorers import rescoring as again
from howsure.stats.core.results import Columns, Result, Results

__all__ = ["Exported", "convert", "rescore"]


class Exported(Result):
    """How much was written, and as what."""

    def __init__(self, form: str, count: int) -> None:
        self.form, self.count = form, count

    def columns(self) -> Columns:
        """One row: form, count (lines of eval-arena, generations of the others)."""
        return {"form": np.array([self.form], dtype=object), "count": np.array([self.count])}


def convert(found: Sequence[Source], output: Path, to: str) -> Result:
    """Write what was found at `output`, as one of run, eval-arena, parquet and dataset."""
    if to == "run":
        return run_folder.convert(_logs(found), output, asked=_asked(found), tell=_tell)
    if to == "eval-arena":
        return Exported(to, tabular.eval_arena(Evaluations(found).cells(), output, tell=_tell))
    runs = [source for source in found if isinstance(source, RunSource)]
    if len(runs) != 1 or len(found) > 1:
        raise InputError(
            f"--to {to} of {len(found)} sources", remedy="give one run folder: howsure convert makes one of logs"
        )
    one = runs[0]
    if to == "dataset":
        return Exported(to, hub_dataset.dataset(one.path, output, scorer=one.scorer))
    return Exported(to, tabular.parquet(one.path, output, scorer=one.scorer, tell=_tell))


def rescore(
    found: Sequence[Source], scorer: str, output: Path | None, *, level: float = 0.95
) -> tuple[Results, list[Path]]:
    """Score run folders again, and logs once they are a run folder at `output`; the agreement, and the folders."""
    folders = [source.path for source in found if isinstance(source, RunSource)]
    rest = [source for source in found if not isinstance(source, RunSource)]
    if rest:
        if output is None:
            remedy = "name the run folder that they are converted to first, with -o FOLDER"
            raise InputError("logs are not changed", where=str(rest[0].path), remedy=remedy)
        run_folder.convert(_logs(rest), output, asked=_asked(rest), tell=_tell)
        folders.append(output)
    parts = [part for path in folders for part in again.rescore(path, scorer, level=level).parts]
    return Results(tuple(parts)), folders


def _logs(found: Sequence[Source]) -> list[tuple[LogReader, Path]]:
    logs: list[tuple[LogReader, Path]] = []
    for source in found:
        if isinstance(source, LogSource):
            logs.append((source.reader, source.path))
        elif isinstance(source, TableSource) and isinstance(source.path, Path):
            logs.append((TableReader(source.columns), source.path))
        else:
            what = "a run folder already" if isinstance(source, RunSource) else "no log and no file of a table"
            raise InputError(f"{what}: only logs and tables become a run folder", where=str(source.path))
    return logs


def _asked(found: Sequence[Source]) -> ReadOptions:
    return next((source.options for source in found if isinstance(source, LogSource)), ReadOptions())


def _tell(line: str) -> None:
    warnings.warn(line, HowsureWarning, stacklevel=3)
