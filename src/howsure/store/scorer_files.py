"""Scores that were added to a run later: one Parquet file for each scorer and version; rows are not changed.

::

    run/
      scores/
        numeric@1.parquet            key, score, status, answer, rule, error, created; sorted by key
        regex-5f0c3a91@1.parquet     a scorer whose name no file can have; the file states it

A score belongs to the row with its key and `created`: a row that was sampled again later has none here.
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
import json
import operator
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from howsure.errors import InputError, StoreError, UnknownNameError
from howsure.store import parquet_files, responses
from howsure.store.atomic import FolderLock, find_leftovers, replace_file
from howsure.store.database import RESPONSES, TableSchema
from howsure.store.row_blocks import to_arrow
from howsure.store.schema import COLUMNS, SCORING_ERROR, UNSCORED, VERSION, Response

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER = "scores"
#: Name under which `stream_rows` gives the scores that a scorer other than a judge wrote last, and the own score of a
#: row that has none of these.
NEWEST = "newest"
#: Name of the scores in the rows of a run, where others are newer.
OWN_SCORES = "run"

#: Rows that are in memory while a file is written; each is its key and a few short texts.
_ROWS = 16_384
_RESULTS = ("score", "status", "answer", "rule", "error")
_TYPES = {name: RESPONSES.types[name] for name in (*RESPONSES.key, *_RESULTS, "created")}
_NAME, _VERSION, _WRITTEN = b"howsure.scorer", b"howsure.scorer_version", b"howsure.written"
_REPLACED = b"howsure.replaced_targets"


class ReplacedTargets(NamedTuple):
    """How many questions of a benchmark were scored for a target other than the stored one, and how many there are."""

    n_replaced: int
    n_questions: int


class RescoredRow(NamedTuple):
    """The score of one row by a scorer; the columns are those of `schema.Response`.

    Examples
    --------
    >>> row = RescoredRow("sums", "m", "q1", "default", 1, score=1.0, answer="4", rule="number")
    >>> row.score, row.status
    (1.0, 'ok')
    """

    benchmark: str
    model: str
    question: str
    variant: str
    generation: int
    score: float | None = None
    status: str = "ok"
    answer: str | None = None
    rule: str | None = None
    error: str | None = None
    created: float | None = None
    """Of the row."""

    @classmethod
    def of_response(
        cls,
        row: Response,
        score: float | None,
        status: str = "ok",
        *,
        answer: str | None = None,
        rule: str | None = None,
        error: str | None = None,
    ) -> Self:
        """Return the score of a stored response."""
        return cls(*row.key, score, status, answer, rule, error, row.created)

    @classmethod
    def copy(cls, row: Response) -> Self:
        """Return the score that a response has."""
        return cls(*row.key, row.score, row.status, row.answer, row.rule, row.error, row.created)


class _ScorerFile(NamedTuple):
    """A file of scores."""

    scorer: str
    version: str
    written: float
    file: Path

    @property
    def name(self) -> str:
        return f"{self.scorer}@{self.version}"


def write_scores(
    path: Path,
    scorer: str,
    version: str,
    rows: Iterator[RescoredRow],
    *,
    replaced: Collection[tuple[str, str]] = (),
    clock: Callable[[], float] = time.time,
) -> int:
    """Write the scores of one scorer and version in a run folder, atomically and durably; return the number of rows.

    Scores of other scorers and versions are kept. The same version written again replaces its scores: this is how rows
    that were sampled since get theirs. When `rows` raises, nothing is written.

    Parameters
    ----------
    path
        A run folder, also while it is sampled.
    rows
        Sorted by key, each key once, as `responses.stream` has them.
    replaced
        Benchmark and question where another target than the stored one was scored for.
    clock
        Seconds since the epoch; the newest version is the one that was written last.

    Raises
    ------
    StoreError
        When the folder is not a run, cannot be written, or another process is writing scores in it.
    InputError
        When the rows are not sorted by key.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    _check_run(path)
    folder = path / FOLDER
    table = _build_schema(f"{_build_file_name(scorer)}@{_build_file_name(version)}")
    about = {
        parquet_files.MARK: str(VERSION).encode(),
        _NAME: scorer.encode(),
        _VERSION: version.encode(),
        _WRITTEN: repr(clock()).encode(),
    }
    schema = parquet_files.build_arrow_schema(table, list(table.types)).with_metadata(about)
    if folder.is_symlink():
        raise StoreError(f"{folder}: a link, which may lead out of the run; give a copy of the run folder")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}; give a run folder that can be written") from error
    lock = FolderLock(folder)
    try:
        for file in find_leftovers(folder):
            file.unlink()
        count, questions = 0, set[tuple[str, str]]()
        file = folder / f"{table.name}.parquet"
        with replace_file(file) as new, pq.ParquetWriter(new, schema, compression="zstd") as writer:
            for batch in _check_order(rows, path):
                values = dict(zip(RescoredRow._fields, zip(*batch, strict=True), strict=True))
                arrays = [to_arrow(values[column.name], column.type) for column in schema]
                writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
                count += len(batch)
                questions.update((row.benchmark, row.question) for row in batch)
            if replaced:
                writer.add_key_value_metadata({_REPLACED: _count_replaced(questions, set(replaced))})
        return count
    finally:
        lock.release()


def list_scorers(path: Path) -> list[str]:
    """Return the scorers of a run folder as NAME@VERSION, the one that was written last first."""
    return [file.name for file in _find_files(path)]


def split_name(name: str) -> tuple[str, str]:
    """Return the name and the version of a scorer; the version is empty where the name has none.

    >>> split_name("regex:@(x)@1f0c"), split_name("numeric")
    (('regex:@(x)', '1f0c'), ('numeric', ''))
    """
    scorer, _, version = name.rpartition("@")
    return (scorer, version) if scorer else (name, "")


def find_newest(path: Path) -> str | None:
    """Return the scorer other than a judge that wrote its scores last, as NAME@VERSION; None where there is none."""
    return next((name for name in list_scorers(path) if not name.startswith("judge:")), None)


def read_name_and_time(path: Path, scorer: str) -> tuple[str, float]:
    """Return the scorer as NAME@VERSION, and when its scores were written, in seconds since the epoch."""
    file = _find_file(path, scorer)
    return file.name, file.written


def read_replaced_targets(path: Path, scorer: str) -> dict[str, ReplacedTargets]:
    """Return how many targets were replaced for the scores, by benchmark; empty where they are for the stored ones."""
    file = _find_file(path, scorer).file
    parquet = parquet_files.open_file(file.parent, _build_schema(file.stem))
    text = None if parquet is None else parquet.parquet.metadata.metadata.get(_REPLACED)
    return {} if text is None else {name: ReplacedTargets(*counts) for name, counts in json.loads(text).items()}


def stream_rows(path: Path, columns: Sequence[str] | None, scorer: str) -> pa.RecordBatchReader:
    """Return all rows of a run as `responses.stream` does, with the results of a scorer in place of their own.

    These are score, status, answer, rule and error. A row without a result has score None and status "unscored", or
    its own result where the scorer is `NEWEST`. Memory is bounded by a few batches.

    Parameters
    ----------
    scorer
        NAME@VERSION, or NAME for the version that was written last, or `NEWEST`.

    Raises
    ------
    UnknownNameError
        When the folder has no such scorer, or a column does not exist.
    StoreError
        When the folder is not a run, or a file of it is torn.
    """
    import pyarrow as pa

    wanted = list(COLUMNS) if columns is None else list(columns)
    for name in wanted:
        if name not in RESPONSES.types:
            raise UnknownNameError("column", name, RESPONSES.types)
    file = _find_file(path, scorer)
    own = _RESULTS if scorer == NEWEST else ()
    needed = [name for name in (*RESPONSES.key, "created", *own, *wanted) if name in own or name not in _RESULTS]
    rows = responses.stream(path, list(dict.fromkeys(needed)))
    scored = _read_file(file)
    schema = parquet_files.build_arrow_schema(RESPONSES, wanted)

    def batches() -> Iterator[pa.RecordBatch]:
        with rows:
            for part in _join_scores(rows, scored):
                yield from part.select(wanted).cast(schema).to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())


def _count_replaced(questions: Collection[tuple[str, str]], replaced: Collection[tuple[str, str]]) -> bytes:
    """Return the numbers of replaced targets and of questions of each benchmark, as JSON."""
    of_all = Counter(benchmark for benchmark, _ in questions)
    of_replaced = Counter(key[0] for key in questions if key in replaced)
    return json.dumps({name: [of_replaced[name], n] for name, n in sorted(of_all.items())}).encode()


def _check_run(path: Path) -> None:
    """Raise StoreError unless the folder is a run."""
    if not responses.is_run(path):
        raise StoreError(f"{path}: not a run folder; give a folder that howsure run or convert made")


def _build_schema(name: str) -> TableSchema:
    """Return the schema of a file of scores."""
    return TableSchema(name, RESPONSES.key, _TYPES)


def _build_file_name(name: str) -> str:
    """Return the name if every file system accepts it, else its beginning and its hash."""
    if re.fullmatch(r"[a-z0-9][a-z0-9.+_-]{0,59}", name):
        return name
    start = re.match(r"[a-z0-9_-]{0,20}", name)
    assert start is not None
    return f"{start[0] or 'scorer'}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _check_order(rows: Iterator[RescoredRow], path: Path) -> Iterator[list[RescoredRow]]:
    """Yield rows in batches; raise InputError for a row that is not sorted by key."""
    key = operator.itemgetter(*map(RescoredRow._fields.index, RESPONSES.key))
    last: list[Any] = []
    while batch := list(itertools.islice(rows, _ROWS)):
        keys = [*last, *map(key, batch)]
        for before, after in itertools.pairwise(keys):
            if not before < after:
                raise InputError(f"the score of {after} comes after that of {before}", where=str(path), remedy="sort")
        last = keys[-1:]
        yield batch


def _find_files(path: Path) -> list[_ScorerFile]:
    """Return the files of scores, the one that was written last first."""
    _check_run(path)
    files = []
    for file in sorted((path / FOLDER).glob("*.parquet")):
        parquet = parquet_files.open_file(file.parent, _build_schema(file.stem))
        about = parquet.parquet.metadata.metadata if parquet else {}
        if _NAME not in about:
            raise StoreError(f"{file}: no scores of a scorer; move it away")
        scorer, version = about[_NAME].decode(), about[_VERSION].decode()
        files.append(_ScorerFile(scorer, version, float(about[_WRITTEN]), file))
    return sorted(files, key=lambda file: (-file.written, file.name))


def _find_file(path: Path, scorer: str) -> _ScorerFile:
    """Return the file of a scorer: NAME@VERSION, NAME, or `NEWEST`."""
    files = _find_files(path)
    if scorer == NEWEST and (name := find_newest(path)):
        scorer = name
    # A pattern may contain an @: the whole name is tried first.
    for file in [f for f in files if f.name == scorer] + [f for f in files if f.scorer == scorer]:
        return file
    raise UnknownNameError("scorer", scorer, [file.name for file in files], where=str(path))


def _read_file(file: _ScorerFile) -> Iterator[pa.Table]:
    """Return the scores of a file, sorted by key."""
    table = _build_schema(file.file.stem)
    parquet = parquet_files.open_file(file.file.parent, table)
    assert parquet is not None
    return parquet_files.read_row_groups(parquet, list(table.types))


def _join_scores(rows: pa.RecordBatchReader, scored: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield each batch of rows with its scores; both streams are sorted by key, and one batch of each is in memory."""
    import pyarrow as pa

    waiting = next(scored, None)
    for batch in rows:
        if not len(batch):
            continue
        part = pa.Table.from_batches([batch])
        end = _read_key(part, len(part) - 1)
        near = []
        while waiting is not None and len(waiting):
            count = bisect.bisect_right(range(len(waiting)), end, key=partial(_read_key, waiting))
            near.append(waiting[:count])
            if count < len(waiting):
                waiting = waiting[count:]
                break
            waiting = next(scored, None)
        yield _add_scores(part, near)


def _read_key(table: pa.Table, row: int) -> tuple[Any, ...]:
    """Return the key of a row."""
    return tuple(table[name][row].as_py() for name in RESPONSES.key)


def _add_scores(part: pa.Table, near: list[pa.Table]) -> pa.Table:
    """Return rows with the scores of their keys."""
    import pyarrow as pa
    import pyarrow.compute as pc

    scores = (
        pa.concat_tables(near)
        if near
        else parquet_files.build_arrow_schema(_build_schema(""), list(_TYPES)).empty_table()
    )
    place = to_arrow(range(len(part)), pa.int64())
    keys = part.select(list(RESPONSES.key)).append_column("place", place).append_column("sampled", part["created"])
    both = keys.join(scores, keys=list(RESPONSES.key), join_type="left outer").sort_by("place")
    # A row that was sampled again later has another time: this score is of another completion.
    same = pc.or_(
        pc.fill_null(pc.equal(both["created"], both["sampled"]), False),
        pc.and_(both["created"].is_null(), both["sampled"].is_null()),
    )
    has_score = pc.and_(both["status"].is_valid(), same)
    if "status" in part.column_names:  # the own results stay where there are no others
        has_score = pc.and_(has_score, pc.fill_null(pc.not_equal(both["status"], UNSCORED), True))
        has_score = pc.and_(has_score, pc.invert(pc.fill_null(pc.starts_with(both["error"], SCORING_ERROR), False)))
    for name in _RESULTS:
        default = pa.scalar(UNSCORED if name == "status" else None, both[name].type)
        if name in part.column_names:
            default, part = part[name].cast(both[name].type), part.drop_columns(name)
        part = part.append_column(name, pc.if_else(has_score, both[name], default))
    return part
