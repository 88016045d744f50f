"""Convert and rescore sources of any kind: run folders, logs and tables."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from howsure.errors import HowsureWarning, InputError
from howsure.export import hub_dataset, run_folder, tabular
from howsure.export.table_log import TableLogReader
from howsure.readers.evaluations import Evaluations
from howsure.readers.logs.base import LogReader, ReadOptions
from howsure.readers.logs.log_source import LogSource
from howsure.readers.run_source import RunSource
from howsure.readers.sources import Source, TableSource
from howsure.scorers.rescoring import rescore
from howsure.stats.core.results import Columns, Result, Results

__all__ = ["ExportSummary", "convert_sources", "rescore_sources"]


class ExportSummary(Result):
    """The form that was written, and the number of its lines or rows."""

    def __init__(self, form: str, count: int) -> None:
        self.form, self.count = form, count

    def columns(self) -> Columns:
        """Return one row: form, count (lines of eval-arena, generations of the other forms)."""
        return {"form": np.array([self.form], dtype=object), "count": np.array([self.count])}


def convert_sources(sources: Sequence[Source], output: Path, form: str) -> Result:
    """Write sources to `output` in another form.

    Parameters
    ----------
    sources
        Logs and tables for "run"; any sources for "eval-arena"; one run folder for the other forms.
    output
        A file for "eval-arena" and "parquet", and a folder that does not exist or is empty for the other forms.
    form
        "run": a run folder; "eval-arena": counts as JSON lines; "parquet": a tidy table; "dataset": a folder for the
        Hugging Face hub.

    Raises
    ------
    InputError
        When the sources are of another kind, cannot be read, or hold nothing to write.
    """
    if form == "run":
        return run_folder.convert_logs(_list_logs(sources), output, options=_read_options(sources), note=_warn)
    if form == "eval-arena":
        return ExportSummary(form, tabular.write_eval_arena(Evaluations(sources).cells(), output, note=_warn))
    runs = [source for source in sources if isinstance(source, RunSource)]
    if len(runs) != 1 or len(sources) > 1:
        remedy = "give one run folder: howsure convert makes one of logs"
        raise InputError(f"--to {form} of {len(sources)} sources", remedy=remedy)
    run = runs[0]
    if form == "dataset":
        return ExportSummary(form, hub_dataset.write_dataset(run.path, output, scorer=run.scorer))
    return ExportSummary(form, tabular.write_parquet(run.path, output, scorer=run.scorer, note=_warn))


def rescore_sources(
    sources: Sequence[Source], scorer: str, output: Path | None, *, level: float = 0.95
) -> tuple[Results, list[Path]]:
    """Score the completions of run folders and logs again.

    Parameters
    ----------
    sources
        Run folders, logs and tables.
    scorer
        Name of a scorer: see `scorers.registry`.
    output
        Run folder to which logs and tables are converted first; None where there are only run folders.
    level
        Confidence level of the agreement.

    Returns
    -------
    results
        An `Agreement` for each run folder and benchmark.
    folders
        The run folders with the new scores.

    Raises
    ------
    InputError
        When there are logs and no output, or as `scorers.rescoring.rescore`.
    """
    folders = [source.path for source in sources if isinstance(source, RunSource)]
    rest = [source for source in sources if not isinstance(source, RunSource)]
    if rest:
        if output is None:
            remedy = "name the run folder that they are converted to first, with -o FOLDER"
            raise InputError("logs are not changed", where=str(rest[0].path), remedy=remedy)
        run_folder.convert_logs(_list_logs(rest), output, options=_read_options(rest), note=_warn)
        folders.append(output)
    parts = [part for path in folders for part in rescore(path, scorer, level=level).parts]
    return Results(tuple(parts)), folders


def _list_logs(sources: Sequence[Source]) -> list[tuple[LogReader, Path]]:
    """Return the reader and the path of each log and table."""
    logs: list[tuple[LogReader, Path]] = []
    for source in sources:
        if isinstance(source, LogSource):
            logs.append((source.reader, source.path))
        elif isinstance(source, TableSource) and isinstance(source.path, Path):
            logs.append((TableLogReader(source.columns), source.path))
        else:
            what = "a run folder already" if isinstance(source, RunSource) else "no log and no file of a table"
            raise InputError(f"{what}: only logs and tables become a run folder", where=str(source.path))
    return logs


def _read_options(sources: Sequence[Source]) -> ReadOptions:
    """Return the options of the logs."""
    return next((source.options for source in sources if isinstance(source, LogSource)), ReadOptions())


def _warn(line: str) -> None:
    """Warn of what a form cannot hold or a log does not contain."""
    warnings.warn(line, HowsureWarning, stacklevel=3)
