"""The base of the readers of files that hold one record for each generation, and nothing that must be streamed.

A subclass of `RecordReader` recognises its files and turns a file into a `RecordedRun`: its models, its benchmark, its
scorers and a `Record` for each generation. The base does the rest: it chooses the scorer, numbers the generations,
applies `--columns`, keeps failed and unscored generations as missing with their reason, and compares the means of the
scores with those that the program itself reports. docs/logs.md has an example.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from howsure.errors import InputError
from howsure.logs.base import (
    COUNTED_AS_WRONG,
    OF_SEVERAL_SCORERS,
    UNSCORED,
    LogInfo,
    LogReader,
    LogRow,
    PromptFields,
    ReadOptions,
    RowBuilder,
    RowKey,
    ScoreFields,
    UsageFields,
    encode_text,
    get_field,
)
from howsure.logs.file_formats import FileHead, open_file
from howsure.rows.naming import name_alone
from howsure.store.manifest import ModelRecord

__all__ = [
    "Record",
    "RecordReader",
    "RecordedRun",
    "ReportedMean",
    "find_last_reply",
    "get_number",
    "get_text",
    "hash_text",
    "list_messages",
    "name_by_place",
    "parse_records",
    "read_csv",
    "read_csv_header",
]

#: Largest number of characters of the reason why a generation has no score.
_REASON_LENGTH = 200
#: Largest number of bytes in the first line of a table, and of characters in one of its fields.
_HEADER_LENGTH, _FIELD_LENGTH = 1 << 16, 1 << 28


class Record(msgspec.Struct, kw_only=True):
    """One generation of a file: its question, what each scorer gave, and its texts."""

    question: str
    scores: Mapping[str, object]
    """What each scorer wrote; a scorer that is absent, or wrote null or NaN, did not score the generation."""
    source: Mapping[str, object]
    """The record of the file, in which `--columns` looks up its fields."""
    failure: str = ""
    """The reason why the generation has no score; empty where it has one, or was simply not scored."""
    is_counted: bool = True
    """Whether the program counts a failed generation as wrong."""
    is_unscored: bool = False
    """Whether nothing was to score the generation, so that it is not missing; `howsure rescore` may score it."""
    benchmark: str = ""
    """The benchmark, where the file has several."""
    model: str = ""
    """The label of the model, where the file has several."""
    variant: str = "default"
    cluster: str | None = None
    answer: str | None = None
    completion: str | None = None
    prompt: PromptFields = {}
    usage: UsageFields = {}


class ReportedMean(msgspec.Struct, frozen=True, kw_only=True):
    """A mean that the program itself reports, and what it is a mean of."""

    name: str
    value: float
    scorer: str
    """The scorer whose scores it is the mean of."""
    benchmark: str = ""
    """The benchmark, where the file has several."""
    model: str = ""
    """The label of the model, where the file has several."""


class RecordedRun(msgspec.Struct, kw_only=True):
    """What a file of one program holds."""

    benchmark: str
    model: str
    records: Sequence[Record]
    scorers: tuple[str, ...]
    """The names of the scorers, the default first."""
    default_scorers: Mapping[str, str] = {}
    """The default of each benchmark, where a file has several benchmarks with scorers of their own."""
    settings: Mapping[str, object] = {}
    """The decoding settings of the model."""
    model_name: str = ""
    """The name of the model itself, where the label says more."""
    conditions: Mapping[str, object] = {}
    """What else tells the model from others of its name, such as its revision; see `LogInfo.conditions`."""
    prompts: Mapping[str, object] = {}
    """What may distinguish the prompts, such as the number of examples; see `LogInfo.prompts`."""
    source: Mapping[str, object] = {}
    """What the file states about the benchmark: data set, version, split."""
    reported: Sequence[ReportedMean] = ()
    run: str = ""
    """The id of the run; the hash of the file where it has none."""
    created: str = ""
    generations: int = 1
    """The number of generations that were planned for each question."""


class RecordReader(LogReader):
    """Reads a file that is parsed as a whole; a subclass implements `recognises` and `parse`."""

    @abstractmethod
    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return what the file holds; records that cannot be read are left out and counted with `build.count`.

        Texts need not be prepared where `build.texts` is False, unless the question is a hash of them.

        Raises
        ------
        InputError
            When the file cannot be read, or has totals only.
        """

    def describe(self, path: Path) -> LogInfo:
        """Return models, benchmarks and scorers of the file."""
        build = RowBuilder(path, ReadOptions())
        run = self._parse(path, build)
        models = dict.fromkeys(record.model or run.model for record in run.records)
        benchmarks = dict.fromkeys(record.benchmark or run.benchmark for record in run.records)
        return LogInfo(
            # Files of two models may be equal where the place alone names the model.
            run=run.run or hash_text(_hash_file(path), list(models), list(benchmarks)),
            models={
                label: ModelRecord(
                    name=(run.model_name or label) if label == run.model else label,
                    kind=self.name,
                    settings=dict(run.settings),
                    generations=max(run.generations, 1),
                )
                for label in models
            },
            benchmarks={name: dict(run.source) for name in benchmarks},
            scorers=run.scorers,
            created=run.created,
            conditions=run.conditions,
            prompts=run.prompts,
            is_named_by_path=build.is_named_by_path,
        )

    def read(self, path: Path, build: RowBuilder) -> Iterator[LogRow]:
        """Yield one row for each record, in the order of the file."""
        run = self._parse(path, build)
        scorer_of = _choose_scorers(run, build)
        for mean in run.reported:
            if mean.scorer == scorer_of.get(mean.benchmark or run.benchmark):
                build.expect_mean(mean.name, mean.value, benchmark=mean.benchmark, model=mean.model)
        for record in run.records:
            scorer = scorer_of.get(record.benchmark or run.benchmark)
            if scorer is None:
                build.count(
                    f"[generation|generations] of benchmarks without {build.options.scorer!r} [is|are] left out"
                )
                continue
            key = RowKey(
                record.benchmark or run.benchmark,
                record.model or run.model,
                record.question,
                record.variant,
                record.cluster,
            )
            if build.options.columns:
                key = build.map_columns(key, record.source)
            score = _score_record(record, scorer, build)
            yield build.row(
                key,
                completion=record.completion,
                answer=record.answer,
                **score,
                **(record.prompt if build.texts else PromptFields()),
                **record.usage,
            )

    def _parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return what the file holds, which is one record or more."""
        run = self.parse(path, build)
        if not run.records:
            why = next((line for line in build.notes() if line[:1].isdigit()), "there is none")
            raise InputError(f"it holds no record that can be read; {why}", where=str(path), remedy="is it complete?")
        return run


def _choose_scorers(run: RecordedRun, build: RowBuilder) -> dict[str, str]:
    """Return the scorer to read of each benchmark; a benchmark that has not the scorer of the options has none."""
    benchmarks = dict.fromkeys(record.benchmark or run.benchmark for record in run.records)
    if build.options.scorer is None and len(run.default_scorers) > 1:
        first, *_ = run.default_scorers
        build.note(
            f"{len(run.scorers)} {OF_SEVERAL_SCORERS} the first of each benchmark is read ({first}: "
            f"{run.default_scorers[first]!r}, ...): --scorer reads another"
        )
        return {name: run.default_scorers.get(name, run.scorers[0]) for name in benchmarks}
    scorer = build.choose_scorer(run.scorers)
    if len(run.default_scorers) < 2:
        return dict.fromkeys(benchmarks, scorer)
    having = {record.benchmark for record in run.records if scorer in record.scores}
    return {name: scorer for name in benchmarks if name in having}


def _score_record(record: Record, scorer: str, build: RowBuilder) -> ScoreFields:
    """Return the score of a record; an error where it failed, and no score where nobody scored it."""
    if record.is_unscored:
        return {"status": UNSCORED}
    if record.failure:
        if record.is_counted:
            build.count(f"failed [generation|generations] that the program {COUNTED_AS_WRONG}")
        else:
            build.count("[generation|generations] failed and [is|are] missing, as in the program's own numbers")
        return {"status": "error", "error": " ".join(record.failure.split())[:_REASON_LENGTH]}
    score = build.score_fields(record.scores.get(scorer))
    if record.scores.get(scorer) is None:
        build.count(f"[generation has|generations have] no score of {scorer!r} and [is|are] missing")
    return score


def _hash_file(path: Path) -> str:
    """Return a hash of the content of a file, or of the files of a folder."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
        with open_file(file) as stream:
            digest.update(stream.read())
    return digest.hexdigest()[:16]


def parse_records(values: object, build: RowBuilder) -> Iterator[Mapping[str, object]]:
    """Yield the records of a list; elements that are no records are left out and counted.

    Examples
    --------
    >>> build = RowBuilder(Path("results.json"), ReadOptions())
    >>> list(parse_records([{"id": 1}, "odd"], build)), list(build.notes())
    ([{'id': 1}], ['1 element is no record and is left out'])
    """
    elements = values if isinstance(values, Sequence) and not isinstance(values, str) else ()
    if values is not None and elements is not values:
        build.note("what should be a list of records is none, and is left out")
    for value in elements:
        if isinstance(value, Mapping):
            yield value
        else:
            build.count("[element is no record|elements are no records] and [is|are] left out")


def get_text(record: object, *fields: str) -> str | None:
    """Return the first of these fields that has a value, as a text; None where there is none.

    Examples
    --------
    >>> get_text({"id": 7, "name": None}, "name", "id")
    '7'
    """
    for field in fields:
        value = get_field(record, field)
        if value is not None and value != "":
            return encode_text(value)
    return None


def get_number(record: object, field: str) -> float | None:
    """Return a field that is a finite number, and None for anything else.

    Examples
    --------
    >>> get_number({"tokens": {"read": 3}}, "tokens.read"), get_number({"tokens": "3"}, "tokens")
    (3.0, None)
    """
    value = get_field(record, field)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if abs(number) < float("inf") else None


def hash_text(*parts: object) -> str:
    """Return a short hash of a question that has no id, so that all files agree on it.

    Examples
    --------
    >>> hash_text("How many?") == hash_text("How many?") != hash_text("How much?")
    True
    """
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:12]


def list_messages(values: object) -> tuple[dict[str, str], ...] | None:
    """Return chat messages as roles and texts; a text is one message of the user, anything else None.

    Examples
    --------
    >>> list_messages([{"role": "user", "content": [{"type": "text", "text": "Hello"}]}])
    ({'role': 'user', 'content': 'Hello'},)
    """
    if isinstance(values, str):
        return ({"role": "user", "content": values},)
    if not isinstance(values, Sequence):
        return None
    messages = []
    for value in values:
        content = get_field(value, "content")
        if isinstance(content, Sequence) and not isinstance(content, str):
            content = "\n".join(text for part in content if isinstance(text := get_field(part, "text"), str))
        messages.append({"role": str(get_field(value, "role") or "user"), "content": str(content or "")})
    return tuple(messages)


def find_last_reply(messages: object) -> str | None:
    """Return the last text that the assistant wrote in a conversation; None where there is none.

    Examples
    --------
    >>> find_last_reply([{"role": "assistant", "content": "7"}, {"role": "user", "content": "Thanks."}])
    '7'
    """
    for message in reversed(messages) if isinstance(messages, Sequence) and not isinstance(messages, str) else ():
        content = get_field(message, "content")
        if get_field(message, "role") == "assistant" and isinstance(content, str):
            return content
    return None


def name_by_place(path: Path, build: RowBuilder, *, pattern: str = "") -> str:
    """Return a label for the model of a file that names none: its name, which the paths of other files may change.

    Parameters
    ----------
    path
        The file.
    build
        What collects the note that says where the label is from.
    pattern
        A regular expression of what is removed from the stem.

    Examples
    --------
    >>> build = RowBuilder(Path("runs/gpt-x.json"), ReadOptions())
    >>> name_by_place(build.path, build), list(build.notes())
    ('gpt-x', ["it names no model, which is called 'gpt-x' after the folder or file"])
    """
    label = name_alone(path)
    if pattern:
        label = re.sub(pattern, "", label).strip(" _-") or path.absolute().parent.name
    build.is_named_by_path = True
    build.note(f"it names no model, which is called {label!r} after the folder or file")
    return label


def read_csv_header(head: FileHead) -> tuple[str, ...]:
    """Return the names of the columns of a comma-separated file; no name if it is no such file."""
    if head.kind != "text":
        return ()
    try:
        with open_file(head.path) as file:
            start = file.read(_HEADER_LENGTH)
        text = start.decode("utf-8-sig", errors="ignore")
        return tuple(next(iter(csv.reader(io.StringIO(text))), ()))
    except (OSError, EOFError, csv.Error):
        return ()


def read_csv(path: Path, build: RowBuilder) -> list[dict[str, object]]:
    """Return the rows of a comma-separated file; a row that is cut short is left out and counted.

    Raises
    ------
    InputError
        When the file cannot be read, or two of its columns have one name.
    """
    limit = csv.field_size_limit(_FIELD_LENGTH)
    try:
        with open_file(path) as file:
            text = file.read().decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        names = next(reader, [])
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise InputError(f"two columns are called {repeated[0]!r}", where=str(path), remedy="rename one of them")
        rows: list[dict[str, object]] = []
        for values in reader:
            if len(values) == len(names):
                rows.append({name: value or None for name, value in zip(names, values, strict=True)})
            elif values:
                build.count(f"[row has|rows have] other than {len(names)} values and [is|are] left out")
    except (OSError, EOFError, csv.Error, UnicodeDecodeError) as error:
        what = f"cannot be read: {' '.join(str(error).split())[:120]}"
        raise InputError(what, where=str(path), remedy="is the file complete?") from error
    finally:
        csv.field_size_limit(limit)
    return rows
