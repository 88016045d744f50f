"""Convert sources of any kind to a run folder, JSON lines, a table or a data set, and rescore them."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from howsure.errors import InputError
from howsure.export import run_folder
from howsure.logs.base import LogReader, ReadOptions
from howsure.logs.log_source import LogSource
from howsure.notes import Note, warn
from howsure.rescoring.agreement import Agreements
from howsure.rescoring.rescore import choose_scorer, compare_scores, rescore
from howsure.results.evaluations import Evaluations
from howsure.results.run_source import RunSource
from howsure.results.table_log import TableLogReader
from howsure.results.table_source import TableSource
from howsure.rows.source import Source
from howsure.safe_text import neutralise_formula
from howsure.stats.core.cells import is_binary
from howsure.stats.core.results import Columns, Result, Results
from howsure.store import scorer_files
from howsure.store.atomic import replace_file
from howsure.store.lookup import read_clusters
from howsure.store.responses import is_run, stream
from howsure.store.schema import COLUMNS, UNSCORED

if TYPE_CHECKING:
    import pyarrow as pa

    from howsure.sample.judge_config import JudgeConfig
    from howsure.stats.core.cells import Cells

#: Forms that are a tidy table, which are the endings of their files too.
TABLE_FORMS = ("parquet", "csv")
#: Exit code of a run that was interrupted.
INTERRUPTED = 130
#: Largest number of rows of a row group, and of bytes.
ROW_GROUP, _GROUP_BYTES = 16_384, 16 << 20


class ExportSummary(Result):
    """The form that was written, and the number of its lines or rows.

    Examples
    --------
    >>> print(ExportSummary("parquet", 144))
    form   parquet
    count  144
    """

    def __init__(self, form: str, count: int) -> None:
        self.form, self.count = form, count

    def columns(self) -> Columns:
        """Return one row: form, count (lines of eval-arena, generations of the other forms)."""
        return {"form": np.array([self.form], dtype=object), "count": np.array([self.count])}


def convert_sources(results: Evaluations, output: Path, form: str | None) -> Result:
    """Write results to `output` in another form.

    Parameters
    ----------
    results
        Logs and tables for "run"; any sources for "eval-arena"; one run folder for the other forms.
    output
        A file that does not exist for "eval-arena", "parquet" and "csv", and a folder that does not exist or is empty
        for the other forms.
    form
        "run": a run folder; "eval-arena": counts as JSON lines; "parquet" and "csv": a tidy table.
        None: that of the output's ending, which is "run" unless it is .parquet or .csv.

    Raises
    ------
    InputError
        When the sources are of another kind, cannot be read, or hold nothing to write.
    """
    sources = results.sources
    if form is None:
        ending = output.suffix.lower().removeprefix(".")
        form = ending if ending in TABLE_FORMS else "run"
    if form == "run":
        return run_folder.convert_logs(
            _list_logs(sources),
            output,
            options=_read_options(sources),
            note=warn,
            benchmark=results.benchmark,
        )
    if form in ("eval-arena", *TABLE_FORMS) and output.exists():
        raise InputError("the file exists", where=str(output), remedy="give another name with -o, or remove it")
    if form == "eval-arena":
        return ExportSummary(form, write_eval_arena(results.cells(), output))
    runs = [source for source in sources if isinstance(source, RunSource)]
    if len(runs) != 1 or len(sources) > 1:
        remedy = "give one run folder: howsure convert makes one of logs"
        raise InputError(f"--to {form} of {len(sources)} sources", remedy=remedy)
    run = runs[0]
    return ExportSummary(form, write_table(run.path, output, form, scorer=run.scorer))


def rescore_sources(
    results: Evaluations,
    scorer: str | None,
    output: Path | None,
    *,
    level: float = 0.95,
    base: Path | None = None,
    find_targets: Callable[[Path], Mapping[tuple[str, str], str]] | None = None,
) -> tuple[Results, dict[Path, str]]:
    """Score the completions of run folders and logs again.

    Parameters
    ----------
    results
        Run folders, logs and tables.
    scorer
        Name of a scorer: see `scorers.registry`; None for that of the targets (`rescoring.rescore.choose_scorer`).
    output
        Run folder to which logs and tables are converted first; None where there are only run folders.
    level
        Confidence level of the agreement.
    base
        As for `rescoring.rescore`.
    find_targets
        Function from a run folder to the targets that replace its own, by (benchmark, question).

    Returns
    -------
    results
        An `Agreement` for each run folder and benchmark.
    folders
        The run folders with the new scores, each with their scorer as NAME@VERSION.

    Raises
    ------
    InputError
        When there are logs and no output, or as `scorers.rescoring.rescore`.
    """
    paths, is_new = _convert_to_folders(results, output, "completion", "target")
    parts: list[Result] = []
    folders: dict[Path, str] = {}
    for path in paths:
        with _removed_on_failure(path if is_new and path == output else None):
            targets = None if find_targets is None else find_targets(path)
            name = choose_scorer(path) if scorer is None else scorer
            scored = rescore(path, name, level=level, base=base, targets=targets)
        folders[path] = str(scored["scorer"][0])
        parts += scored.parts
    return Agreements(tuple(parts)), folders


def judge_sources(
    results: Evaluations,
    judge: JudgeConfig,
    output: Path | None,
    *,
    unparsed_of: str | None = None,
    retry: bool = False,
    level: float = 0.95,
) -> tuple[int, Results, dict[Path, str]]:
    """Let a model judge the completions of run folders and logs.

    Parameters
    ----------
    results, output, level
        As for `rescore_sources`.
    judge
        The judge.
    unparsed_of
        Scorer whose unparsed completions alone are judged; None judges all completions.
    retry
        Ask again for verdicts whose requests failed in earlier sessions.

    Returns
    -------
    code
        The exit code.
    results, folders
        As for `rescore_sources`.

    Raises
    ------
    InputError
        When there are logs and no output, or nothing can be judged.
    """
    from howsure.judging.judge_run import check_judge, judge_folder
    from howsure.sample.judge_config import BudgetConfig

    check_judge(judge, BudgetConfig())
    paths, is_new = _convert_to_folders(results, output, "completion")
    parts: list[Result] = []
    code, folders = 0, dict[Path, str]()
    for path in paths:
        with _removed_on_failure(path if is_new and path == output else None):
            one, folders[path] = judge_folder(
                path, judge, BudgetConfig(), is_default=False, unparsed_of=unparsed_of, retry=retry
            )
        code = max(code, one)
        if one != INTERRUPTED:
            parts += compare_scores(path, folders[path], level=level).parts
    return code, Agreements(tuple(parts)), folders


def _convert_to_folders(results: Evaluations, output: Path | None, *texts: str) -> tuple[list[Path], bool]:
    """Return the run folders among the sources and that of the others, and whether the latter was written now.

    Tables must have columns with the `texts`.
    """
    folders = [source.path for source in results.sources if isinstance(source, RunSource)]
    rest = [source for source in results.sources if not isinstance(source, RunSource)]
    if not rest:
        return folders, False
    if output is None:
        remedy = "name the run folder that they are converted to first, with -o FOLDER"
        raise InputError("logs and tables are not changed", where=str(rest[0].path), remedy=remedy)
    if is_run(output):
        remedy = f"score that folder (howsure rescore {shlex.quote(str(output))} ...), or name another with -o"
        raise InputError("there is already a run folder here", where=str(output), remedy=remedy)
    logs = _list_logs(rest)
    for reader, path in logs:
        if isinstance(reader, TableLogReader):
            reader.check_texts(path, *texts)
    run_folder.convert_logs(logs, output, options=_read_options(rest), note=warn, benchmark=results.benchmark)
    return [*folders, output], True


@contextmanager
def _removed_on_failure(folder: Path | None) -> Iterator[None]:
    """Remove a folder if the block raises: the logs are still there, and without scores it would block the next try."""
    try:
        yield
    except BaseException:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _list_logs(sources: Sequence[Source]) -> list[tuple[LogReader, Path]]:
    """Return the reader and the path of each log and table."""
    logs: list[tuple[LogReader, Path]] = []
    for source in sources:
        if isinstance(source, LogSource):
            logs.append((source.reader, source.path))
        elif isinstance(source, TableSource) and isinstance(source.path, Path):
            logs.append((TableLogReader(source.options), source.path))
        else:
            what = "a run folder already" if isinstance(source, RunSource) else "no log and no file of a table"
            raise InputError(f"{what}: only logs and tables become a run folder", where=str(source.path))
    return logs


def _read_options(sources: Sequence[Source]) -> ReadOptions:
    """Return the options of the logs."""
    return next((source.options for source in sources if isinstance(source, LogSource)), ReadOptions())


def write_eval_arena(cells: Iterable[Cells], output: Path) -> int:
    """Write a line per model and question, `{benchmark_id, model, example_id, pass1, count[, correct]}`.

    A line has `correct` if its scores are 0 or 1. The form has no texts, variants or failures.

    Parameters
    ----------
    cells
        Cells of each benchmark.
    output
        The file.

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
                warn(Note("failed-not-exported", one.benchmark, (one.benchmark,), int(one.failed.sum())))
            if missing := int((one.n == 0).sum()):
                facts = {"total": one.n.size}
                warn(Note("cells-without-score", one.benchmark, (one.benchmark,), missing, facts))
            binary = is_binary(one.n, one.total, one.total_sq, one.minimum, one.maximum)
            binary &= one.total == np.round(one.total)
            if graded := int((~binary & (one.n > 1)).sum()):
                warn(Note("graded-cells", one.benchmark, (one.benchmark,), graded))
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


def write_table(path: Path, output: Path, form: str, *, scorer: str | None = None) -> int:
    """Write a tidy table of a run folder: a row per generation that was scored or failed, sorted by key.

    The table has our columns and texts, and `cluster` where the run has clusters. Completions without a score are left
    out, because in a table a missing score is a failure.

    Parameters
    ----------
    path, output
        The run folder, and the file.
    form
        "parquet", or "csv", in which a spreadsheet runs no text as a formula; see `safe_text.neutralise_formula`.
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
    from pyarrow import csv

    left_out = written = 0
    batches = stream_rows(path, COLUMNS, scorer=scorer)
    schema = next(batches).schema
    with replace_file(output) as new, ExitStack() as stack:
        if form == "csv":
            lines = stack.enter_context(csv.CSVWriter(new, schema))
        else:
            groups = stack.enter_context(pq.ParquetWriter(new, schema, compression="zstd"))
        for batch in batches:
            table = pa.Table.from_batches([batch])
            scored = table.filter(pc.not_equal(table["status"], UNSCORED))
            left_out, written = left_out + len(table) - len(scored), written + len(scored)
            if form == "csv":
                lines.write_table(_neutralise_texts(scored))
            else:
                groups.write_table(scored, row_group_size=ROW_GROUP)
    if left_out:
        warn(Note("unscored-not-exported", n=left_out))
    return written


def _neutralise_texts(table: pa.Table) -> pa.Table:
    """Return a table whose texts a spreadsheet shows instead of running them."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            texts = [None if text is None else neutralise_formula(text) for text in table[i].to_pylist()]
            table = table.set_column(i, field, pa.array(texts, field.type))
    return table


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
            for start in range(0, len(batch), ROW_GROUP):
                waiting.append(batch.slice(start, ROW_GROUP))
                if sum(map(len, waiting)) >= ROW_GROUP or sum(part.nbytes for part in waiting) >= _GROUP_BYTES:
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
