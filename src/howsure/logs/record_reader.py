"""The base of the readers of files that are parsed as a whole, with a record for each generation.

A subclass of `RecordReader` recognises its files and turns a file into a `RecordedRun`: its models, its benchmark, its
scorers and a `Record` for each generation. The base does the rest: it chooses the scorer, numbers the generations,
applies `--columns`, keeps failed and unscored generations as missing with their reason, and compares the means of the
scores with those that the program itself reports. `spec.SpecReader` makes a `RecordedRun` of what a file of `specs/`
says, which is enough for most programs.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from howsure.errors import InputError
from howsure.logs.base import (
    UNSCORED,
    LogInfo,
    LogReader,
    LogRow,
    ReadOptions,
    RowBuilder,
    RowFields,
    RowKey,
    encode_text,
    get_field,
)
from howsure.logs.file_formats import hash_file
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
    "parse_records",
]

#: Largest number of characters of the reason why a generation has no score.
_REASON_LENGTH = 200


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
    status: str = "ok"
    """The status of a scored generation, such as "unparsed"."""
    benchmark: str = ""
    """The benchmark, where the file has several."""
    model: str = ""
    """The label of the model, where the file has several."""
    variant: str = "default"
    cluster: str | None = None
    completion: str | None = None
    fields: RowFields = {}
    """Answer, target, messages, choices, tokens and times."""


class ReportedMean(msgspec.Struct, frozen=True, kw_only=True):
    """A mean that the program itself reports, and what it is a mean of."""

    name: str
    value: object
    scorer: str
    """The scorer whose scores it is the mean of."""
    benchmark: str = ""
    """The benchmark, where the file has several."""


class RecordedRun(msgspec.Struct, kw_only=True):
    """What a file of one program holds."""

    benchmark: str
    model: str
    records: Sequence[Record]
    scorers: tuple[str, ...]
    """The names of the scorers, the default first."""
    default_scorers: Mapping[str, str] = {}
    """The default of each benchmark, where a file has several benchmarks with scorers of their own."""
    has_named_score: bool = True
    """Whether the only score of the file has a name, by which `--scorer` may ask for it."""
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
        """Return what the file holds; records that cannot be read are left out and counted with `build.note`.

        Messages need not be prepared where `build.texts` is False. Raise InputError where the file cannot be read, or
        has totals only.
        """

    def describe(self, path: Path) -> LogInfo:
        """Return models, benchmarks and scorers of the file."""
        build = RowBuilder(path, ReadOptions())
        run = self._parse(path, build)
        models = dict.fromkeys(record.model or run.model for record in run.records)
        benchmarks = dict.fromkeys(record.benchmark or run.benchmark for record in run.records)
        return LogInfo(
            # Files of two models may be equal where the place alone names the model.
            run=run.run or hash_text(hash_file(path), list(models), list(benchmarks)),
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
            scorers=run.scorers if run.has_named_score else (),
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
                build.expect_mean(mean.name, mean.value, benchmark=mean.benchmark)
        for record in run.records:
            benchmark = record.benchmark or run.benchmark
            scorer = scorer_of.get(benchmark)
            if scorer is None:
                build.note("log-other-scorers", 1, scorer=build.options.scorer)
                continue
            key = RowKey(benchmark, record.model or run.model, record.question, record.variant, record.cluster)
            if build.options.columns:
                key = build.map_columns(key, record.source)
            fields: RowFields = {**record.fields, **_score_record(record, scorer, self.name, build)}
            if not build.texts:
                fields = {**fields, "messages": None, "choices": ()}
            yield build.row(key, completion=record.completion, **fields)

    def _parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return what the file holds, which is one record or more."""
        run = self.parse(path, build)
        if not run.records:
            why = next((note.text for note in build.notes() if note.n), "there is none")
            raise InputError(f"it holds no record that can be read; {why}", where=str(path), remedy="is it complete?")
        return run


def _choose_scorers(run: RecordedRun, build: RowBuilder) -> dict[str, str]:
    """Return the scorer to read of each benchmark; a benchmark that has not the scorer of the options has none."""
    benchmarks = dict.fromkeys(record.benchmark or run.benchmark for record in run.records)
    if build.options.scorer is None and len(run.default_scorers) > 1:
        first, scorer = next(iter(run.default_scorers.items()))
        build.note("log-scorer-each", scorers=len(run.scorers), benchmark=first, scorer=scorer)
        return {name: run.default_scorers.get(name, run.scorers[0]) for name in benchmarks}
    if not run.has_named_score and build.options.scorer is None:
        return dict.fromkeys(benchmarks, run.scorers[0])
    scorer = build.choose_scorer(run.scorers if run.has_named_score else ())
    if len(run.default_scorers) < 2:
        return dict.fromkeys(benchmarks, scorer)
    having = {record.benchmark for record in run.records if scorer in record.scores}
    return {name: scorer for name in benchmarks if name in having}


def _score_record(record: Record, scorer: str, program: str, build: RowBuilder) -> RowFields:
    """Return the score of a record; an error where it failed, and no score where nobody scored it."""
    if record.is_unscored:
        build.note("log-not-scored", 1)
        return {"status": UNSCORED}
    if record.failure:
        build.note("log-failed-as-wrong" if record.is_counted else "log-failed", 1, program=program)
        return {"status": "error", "error": " ".join(record.failure.split())[:_REASON_LENGTH]}
    fields = build.score_fields(record.scores.get(scorer), scorer)
    return {**fields, "status": record.status} if fields.get("score") is not None else fields


def parse_records(values: object, build: RowBuilder) -> Iterator[Mapping[str, object]]:
    """Yield the records of a list; elements that are no records are left out and counted.

    >>> build = RowBuilder(Path("results.json"), ReadOptions())
    >>> list(parse_records([{"id": 1}, "odd"], build)), [note.text for note in build.notes()]
    ([{'id': 1}], ['1 element is no record and is left out'])
    """
    elements = values if isinstance(values, Sequence) and not isinstance(values, str) else ()
    if values is not None and elements is not values:
        build.note("log-no-list")
    for value in elements:
        if isinstance(value, Mapping):
            yield value
        else:
            build.note("log-no-record", 1)


def get_text(record: object, *fields: str) -> str | None:
    """Return the first of these fields that has a value, as a text; None where there is none.

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

    >>> hash_text("How many?") == hash_text("How many?") != hash_text("How much?")
    True
    """
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:12]


def find_last_reply(messages: object) -> str | None:
    """Return the last text that the assistant wrote in a conversation; None where there is none.

    >>> find_last_reply([{"role": "assistant", "content": "7"}, {"role": "user", "content": "Thanks."}])
    '7'
    """
    for message in reversed(messages) if isinstance(messages, Sequence) and not isinstance(messages, str) else ():
        content = get_field(message, "content")
        if get_field(message, "role") == "assistant" and isinstance(content, str):
            return content
    return None
