"""Read the logs of a program by a description of its files: `specs/PROGRAM.toml`.

A description says how a file is recognised, where its records are, and what their fields mean. docs/logs.md shows how
to write one. The words of a description are the fields of `Spec`, `Form`, `ScoreFields`, `Failure`, `Beside` and
`Reported`.

A field is found by a path, `info.task.0.name`. Paths that begin with `$` lead elsewhere: `$file` is the whole file,
`$parent` the record around a record, `$key` the key of a record in a mapping or its place in a list (`$outer` that of
the mapping or list around it), `$name` the groups of `file_name`, and every `[beside.X]` is `$X`. A text with braces is
a template: `{agent} {model}`. A path in parentheses is given to a function of `spec_functions`: `reply(messages)`.
Where several are listed, the first that has a value counts.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal, TypeAlias, cast

import msgspec

from howsure.errors import InputError
from howsure.logs.base import LogInfo, LogReader, LogRow, ReadOptions, RowBuilder, RowFields, RowKey
from howsure.logs.file_formats import FileHead, decode_json, hash_file, read_csv, read_json, read_records
from howsure.logs.settings import list_conditions
from howsure.logs.values import as_mapping, encode_text, get_field, get_text, hash_text, is_list, parse_number
from howsure.rows.formats import name_table, open_unpacked
from howsure.store.manifest import ModelRecord
from howsure.store.schema import UNSCORED

#: A path or a template, or several, of which the first counts that has a value.
Field: TypeAlias = str | list[str]
_RowField: TypeAlias = Literal[
    "messages",
    "target",
    "answer",
    "choices",
    "seconds",
    "created",
    "prompt_tokens",
    "completion_tokens",
    "finish_reason",
    "endpoint_model",
]
_RecordDict: TypeAlias = Mapping[str, Any]
#: Flags by which any program may say that a generation has no score that means anything.
_FLAGS = ("failed", "judge_failed", "judge_error")
_ERROR_STATUS = "error"
#: Largest number of characters of the reason why a generation has no score.
_REASON_LENGTH = 200


class Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One form of the files of a program."""

    keys: tuple[str, ...] = ()
    """Keys that the first record has, all of them; names of the members of a folder or zip, or of columns."""
    any: tuple[str, ...] = ()
    """Keys or patterns of keys of which it has one."""
    only: tuple[str, ...] | None = None
    """The only keys that it may have beside `keys`."""
    without: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    """Texts, without spaces, that are among the first bytes."""
    kinds: tuple[str, ...] = ("json",)
    """Kinds of files: json, text (a comma-separated table), parquet, zip, folder."""
    check: str = ""
    """A function that looks closer at the file."""
    records: Field = ""
    """Where the records are: steps with dots between them, `*` for each element, and `$` where the file is the record;
    empty where the file is a list, lines or a table. An element that is no mapping is a record with a `value`."""
    function: str = ""
    """A function that makes records of the records."""
    refuse: str = ""
    """Why such a file is refused."""
    remedy: str = ""

    def matches(self, head: FileHead) -> bool:
        """Return whether a file has this form."""
        keys = head.keys
        return (
            head.kind in self.kinds
            and keys.issuperset(self.keys)
            and (not self.any or any(fnmatchcase(key, pattern) for pattern in self.any for key in keys))
            and (self.only is None or keys <= {*self.keys, *self.only})
            and keys.isdisjoint(self.without)
            and all(map(head.has_text, self.texts))
            and (not self.check or bool(_find_function(self.check)(head)))
        )


class ScoreFields(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the scores of a record are."""

    names: dict[str, Field] = {}
    """The field of each scorer."""
    each: str = ""
    """A mapping from scorers to scores, or a list of records with `name` and `value`."""
    name: Field = "name"
    value: Field = "value"
    group: tuple[str, ...] = ()
    """Where a record is one score: fields that the scores of a generation share."""
    again: str = "generation"
    """What a further score of a scorer is in a group: another "generation", or the "first" or "last" counts."""
    first: Field = ""
    """Templates of the name of the scorer that comes first."""
    by_frequency: bool = False
    """Whether the scorers with most scores come first."""
    default: str = "score"
    """The name of a scorer that has none."""


class Failure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a generation has no score, although the program may have written one."""

    reason: Field
    """The reason; a generation with one failed."""
    is_counted: bool = msgspec.field(default=True, name="counted")
    """Whether the program counts such a generation as wrong."""
    unless_scored: bool = False
    """Whether a generation with a score did not fail."""


class Beside(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file beside the log, which says more of the run."""

    file: str
    """Its name; or `OLD -> NEW`, what is replaced in the name of the log."""
    names: str = ""
    """What it would name, for the note on a file that is not there."""
    match: tuple[str, ...] = ()
    """Fields in which it agrees with the first record, where another name is searched for."""
    folders: int = 1
    """In how many folders above the log it is searched for."""
    unless: str = ""
    """A field that the first record has where there is no such file."""


class Reported(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mean that the program states."""

    name: str = ""
    value: Field = []
    scorer: str = ""
    each: str = ""
    """A mapping from scorers to means; or a list of records with a `benchmark`, in which the other fields are."""
    benchmark: str = ""


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `specs/PROGRAM.toml` says."""

    name: str
    forms: list[Form]
    reader: str = ""
    """The class of a reader with code of its own, which needs nothing else of this."""
    members: str = ""
    """A function that returns the logs at a path."""
    question: Field = []
    benchmark: Field = []
    """Templates; a text without braces is a name."""
    model: Field = []
    variant: Field = []
    cluster: Field = []
    completion: Field = []
    unique: str = ""
    """A field of which the last record counts."""
    file_name: str = ""
    """A regular expression of the name of the file, without its ending."""
    is_folder_named: bool = msgspec.field(default=False, name="or_folder")
    """Whether the folder may have such a name instead."""
    strip: str = ""
    """A regular expression of what is no part of the name of the model in that of the file."""
    scores: ScoreFields = ScoreFields()
    failure: Failure | None = None
    unscored: str = ""
    """A field that is true where nothing was to score the generation."""
    fields: dict[_RowField, Field] = {}
    """Other fields of a row; `messages` is the prompt, as messages or one text."""
    run: Field = []
    created: Field = []
    settings: dict[str, Field] = {}
    conditions: dict[str, Field] = {}
    prompts: dict[str, Field] = {}
    """Of these tables, `*` stands for all entries of a mapping, without those that `harmless` names."""
    harmless: tuple[str, ...] = ()
    source: dict[str, Field] = {}
    beside: dict[str, Beside] = {}
    reported: list[Reported] = []


@cache
def list_specs() -> dict[str, Spec]:
    """Return the description of each program, by the name of its file, in the order of the names."""
    specs = {}
    for file in sorted(files("howsure").joinpath("logs/specs").iterdir(), key=lambda one: one.name):
        if file.name.endswith(".toml"):
            content = tomllib.loads(file.read_text(encoding="utf-8"))
            try:
                specs[file.name.removesuffix(".toml")] = msgspec.convert(content, Spec)
            except msgspec.ValidationError as error:
                raise ValueError(f"logs/specs/{file.name}: {error}") from error
    return specs


@cache
def _find_function(name: str, default: str = "spec_functions") -> Any:
    """Return a function of a module of functions, or of that of a program: `promptfoo.list_results`."""
    module, _, function = name.rpartition(".")
    return resolve_name(f"howsure.logs.{module or default}:{function}")


def _look_up(record: _RecordDict, field: Field, *, keeps_empty: bool = False) -> Any:
    """Return the first of these fields that has a value; None, or an empty text that is kept, where there is none."""
    is_empty = False
    for one in [field] if isinstance(field, str) else field:
        if "{" in one:
            value: Any = _fill(record, one)
        elif one.endswith(")"):
            name, _, path = one[:-1].partition("(")
            value = _find_function(name)(_look_up(record, path) if path != "." else record)
        else:
            value = get_field(record, one)
        if value is not None and value != "":
            return value
        is_empty = is_empty or value == ""
    return "" if keeps_empty and is_empty else None


def _fill(record: _RecordDict, template: str) -> str | None:
    """Return a template with the values of its fields; None where one has no value."""
    start, *parts = template.split("{")
    for part in parts:
        field, _, rest = part.partition("}")
        value = _look_up(record, field)
        if value is None:
            return None
        start += (f"{value:g}" if isinstance(value, float) else encode_text(value)) + rest
    return start


def _text(record: _RecordDict, field: Field) -> str | None:
    """Return a field as a text."""
    value = _look_up(record, field)
    return None if value is None else encode_text(value)


def _name(record: _RecordDict, templates: Field) -> str | None:
    """Return the first of these templates whose fields have values, which may be plain names."""
    each = [templates] if isinstance(templates, str) else templates
    return next((text for one in each if (text := _fill(record, one))), None)


def _fill_table(
    record: _RecordDict, table: Mapping[str, Field], without: Sequence[str] | None = None
) -> dict[str, object]:
    """Return the values of a table of fields, without harmless settings where it is one of conditions."""
    values: dict[str, object] = {}
    for name, field in table.items():
        value = _look_up(record, field)
        if not name.endswith("*"):
            values |= {} if value is None else {name: value}
        elif without is None:
            values |= {key: one for key, one in as_mapping(value).items() if one is not None}
        else:
            values |= list_conditions(value, without=without, prefix=name[:-1])
    return values


class _Record(msgspec.Struct, kw_only=True):
    """One generation of a file: its question, what each scorer gave, and its texts."""

    key: RowKey
    source: _RecordDict
    """The record of the file, in which `--columns` looks up its fields."""
    scores: Mapping[str, object]
    """What each scorer wrote; a scorer that is absent, or wrote null or NaN, did not score the generation."""
    failure: str
    """The reason why the generation has no score; empty where it has one, or was simply not scored."""
    is_unscored: bool
    """Whether nothing was to score the generation, so that it is not missing; `howsure rescore` may score it."""
    completion: str | None
    fields: RowFields


class SpecReader(LogReader):
    """Reads the files of one program by its description.

    Parameters
    ----------
    spec
        The description.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.name, self.forms = spec.name, spec.forms

    def members(self, path: Path) -> Sequence[Path]:
        """Return the log itself, or what the function `members` of the description finds at a path."""
        return _find_function(self.spec.members)(path) if self.spec.members else [path]

    def describe(self, path: Path) -> LogInfo:
        """Return models, benchmarks and scorers of the file."""
        spec, build = self.spec, RowBuilder(path, ReadOptions())
        file = _FileReader(spec, path, build)
        numbers = Counter(record.key[:4] for record in file.records)
        first_of: dict[str, _Record] = {}
        for record in file.records:
            first_of.setdefault(record.key.model, record)
        benchmarks = dict.fromkeys(record.key.benchmark for record in file.records)
        runs = {_text(record.source, spec.run) or "" for record in file.records}
        conditions = _fill_table(file.first, spec.conditions, spec.harmless)
        source = _fill_table(file.first, spec.source)
        return LogInfo(
            # Files of two models may be equal where the place alone names the model.
            run=(runs.pop() if len(runs) == 1 else "") or hash_text(hash_file(path), list(first_of), list(benchmarks)),
            models={
                label: ModelRecord(
                    name=label,
                    kind=self.name,
                    settings=_fill_table(record.source, spec.settings),
                    generations=max(n for key, n in numbers.items() if key[1] == label),
                )
                for label, record in first_of.items()
            },
            benchmarks={name: dict(source) for name in benchmarks},
            scorers=file.sort_scorers(),
            created=_text(file.first, spec.created) or "",
            conditions={name: one for name, one in conditions.items() if name not in file.in_labels},
            prompts=_fill_table(file.first, spec.prompts, spec.harmless),
            is_named_by_path=build.is_named_by_path,
        )

    def read(self, path: Path, build: RowBuilder) -> Iterator[LogRow]:
        """Yield one row for each record, in the order of the file."""
        file = _FileReader(self.spec, path, build)
        scorer_of = file.choose_scorers()
        file.expect_means(scorer_of)
        for record in file.records:
            scorer = scorer_of.get(record.key.benchmark)
            if scorer is None:
                build.note("log-other-scorers", 1, scorer=build.options.scorer)
                continue
            key = build.map_columns(record.key, record.source)
            fields: RowFields = {**record.fields, **self._score(record, scorer, build)}
            yield build.row(key, completion=record.completion, **fields)

    def _score(self, record: _Record, scorer: str, build: RowBuilder) -> RowFields:
        """Return the score of a record; an error where it failed, and no score where nobody scored it."""
        if record.is_unscored:
            build.note("log-not-scored", 1)
            return {"status": UNSCORED}
        if record.failure:
            is_counted = self.spec.failure is not None and self.spec.failure.is_counted
            build.note("log-failed-as-wrong" if is_counted else "log-failed", 1, program=self.name)
            return {"status": "error", "error": " ".join(record.failure.split())[:_REASON_LENGTH]}
        fields = build.score_fields(record.scores.get(scorer), scorer)
        status = get_text(record.source, "$status") or "ok"
        return {**fields, "status": status} if fields.get("score") is not None else fields


class _FileReader:
    """Reads one file by a description.

    Attributes
    ----------
    records
        The generations, at least one.
    first
        The first record of the file with what belongs to it, in which the metadata of the run is looked up.
    in_labels
        Names of the conditions that differ within the file, which are in the labels of the models.
    """

    def __init__(self, spec: Spec, path: Path, build: RowBuilder) -> None:
        head = FileHead(path)
        self._form = next((form for form in spec.forms if form.matches(head)), spec.forms[0])
        if self._form.refuse:
            raise InputError(self._form.refuse, where=str(path), remedy=self._form.remedy)
        self._spec, self._path, self._build = spec, path, build
        self._place = ""
        self._scorers: Counter[str] = Counter()
        self.records: list[_Record] = []
        each = self._list_records()
        self.first: _RecordDict = each[0] if each else {}
        groups: dict[tuple[object, ...], _Record] = {}
        for record in each:
            result = self._make_record(record)
            if result is None:
                build.note("log-left-out", 1, what="question")
            elif not spec.scores.group or not self._is_merged(record, result, groups):
                self.records.append(result)
        if not self.records:
            why = next((note.text for note in build.notes() if note.n), "there is none")
            raise InputError(f"it holds no record that can be read; {why}", where=str(path), remedy="is it complete?")
        self.in_labels = self._label_systems()

    def _list_records(self) -> list[dict[str, Any]]:
        """Return the records, each with what belongs to it under names that begin with `$`."""
        spec, form, build = self._spec, self._form, self._build
        shared: dict[str, Any] = {"$name": self._parse_name(), "$place": name_table(self._path)}
        records = list(self._load(shared))
        for name, beside in spec.beside.items():
            shared[f"${name}"] = self._read_beside(beside, records[0] if records else {})
        if form.function:
            records = list(_find_function(form.function, "record_functions")(records, shared, self._path, build))
        if spec.unique:
            places = {_text(record, spec.unique) or place: place for place, record in enumerate(records)}
            if len(places) < len(records):
                build.note("log-again", len(records) - len(places), what=spec.unique)
            records = [records[place] for place in sorted(places.values())]
        return [{**shared, **record} for record in records]

    def _load(self, shared: dict[str, Any]) -> Iterable[_RecordDict]:
        """Return the records of the file."""
        path, form = self._path, self._form
        if path.is_dir():
            return ()
        if not form.records:
            is_table = FileHead(path).kind == "text"
            note = self._build.note
            return map(_nest, read_csv(path, note) if is_table else read_records(path, dict[str, Any], note))
        if form.records == "$":
            shared["$file"] = read_json(path, dict[str, Any])
            return [shared["$file"]]
        shared["$file"] = content = read_json(path, cast("type[Any]", Any))
        places = [form.records] if isinstance(form.records, str) else form.records
        match = (list(self._walk(content, place.split("."), {})) for place in places)
        return next((records for records in match if records), [])

    def _walk(self, value: Any, steps: list[str], around: dict[str, Any]) -> Iterator[_RecordDict]:
        """Yield the records at a place, each with its key and the record around it."""
        if not steps:
            yield {**(value if isinstance(value, Mapping) else {"value": value}), **around}
        elif steps[0] == "*":
            outer = {"$outer": around["$key"]} if "$key" in around else {}
            items: Any = value.items() if isinstance(value, Mapping) else enumerate(value) if is_list(value) else ()
            if value is not None and not items and not (is_list(value) or isinstance(value, Mapping)):
                self._build.note("log-no-list")
            for key, one in items:
                yield from self._walk(one, steps[1:], {**around, **outer, "$key": str(key)})
        elif isinstance(value, Mapping):
            inside = {key: one for key, one in around.items() if key != "$key"}
            own = {"$parent": {**value, **around}} if around else inside
            yield from self._walk(value.get(steps[0]), steps[1:], own)
        else:
            self._build.note("log-no-record", 1)

    def _parse_name(self) -> dict[str, Any]:
        """Return the groups of the regular expression in the name of the file, or of its folder."""
        name = self._path.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")
        folder = [self._path.resolve().parent.name] if self._spec.is_folder_named else []
        for place in [name, *folder] if self._spec.file_name else []:
            if match := re.fullmatch(self._spec.file_name, place):
                return {group: text for group, text in match.groupdict().items() if text}
        return {"stem": name}

    def _read_beside(self, beside: Beside, first: _RecordDict) -> _RecordDict:
        """Return the JSON object of a file beside the log; an empty one where there is none."""
        if beside.unless and beside.unless in first:
            return {}
        old, arrow, new = beside.file.partition(" -> ")
        place = self._path.with_name(self._path.name.removesuffix(".gz").replace(old, new) if arrow else old)
        places = [folder / place.name for folder in self._path.parents[: beside.folders]]
        if beside.match and (place == self._path or not place.is_file()):
            places = sorted(self._path.parent.glob(f"*{new}"))
        for file in places:
            if file.is_file() and file != self._path:
                with open_unpacked(file) as stream:
                    content = as_mapping(decode_json(stream.read()))
                if content and (file == place or all(content.get(name) == first.get(name) for name in beside.match)):
                    return content
        self._build.note("log-no-metadata", file=place.name, names=beside.names)
        return {}

    def _make_record(self, record: _RecordDict) -> _Record | None:
        """Return a generation; None where the record names no question."""
        spec = self._spec
        question = _text(record, spec.question)
        if question is None:
            return None
        scores = self._read_scores(record)
        self._scorers.update(scores.keys())
        completion = _look_up(record, spec.completion, keeps_empty=True)
        return _Record(
            key=RowKey(
                _name(record, spec.benchmark) or spec.name.lower(),
                _name(record, spec.model) or self._name_by_place(),
                question,
                _text(record, spec.variant) or "default",
                _text(record, spec.cluster),
            ),
            source=record,
            scores=scores,
            failure=self._find_failure(record, scores),
            is_unscored=bool(spec.unscored and _look_up(record, spec.unscored)),
            completion=None if completion is None else encode_text(completion),
            fields=self._read_fields(record),
        )

    def _read_scores(self, record: _RecordDict) -> dict[str, object]:
        """Return what each scorer gave."""
        scores = self._spec.scores
        if scores.group:
            return {_text(record, scores.name) or scores.default: _look_up(record, scores.value)}
        named: dict[str, object] = {name: _look_up(record, field) for name, field in scores.names.items()}
        each = get_field(record, scores.each) if scores.each else None
        if isinstance(each, Mapping):
            named |= each
        for one in each if is_list(each) else ():
            if isinstance(one, Mapping):
                named[_text(one, scores.name) or scores.default] = _look_up(one, scores.value)
            else:
                self._build.note("log-no-record", 1)
        return named

    def _find_failure(self, record: _RecordDict, scores: Mapping[str, object]) -> str:
        """Return the reason why a generation has no score, empty where it did not fail."""
        failure = self._spec.failure
        if failure is None:
            flag = next((name for name in _FLAGS if record.get(name) is True), "")
            status = str(record.get("status") or "").lower()
            reason = flag or _text(record, "error") or (status if status == _ERROR_STATUS else "")
            return reason if reason.lower() not in ("", "false", "[]", "{}") else ""
        if failure.unless_scored and any(value is not None for value in scores.values()):
            return ""
        return _text(record, failure.reason) or ""

    def _read_fields(self, record: _RecordDict) -> RowFields:
        """Return texts, tokens and times of a generation."""
        fields: dict[str, Any] = {}
        for name, field in self._spec.fields.items():
            if name == "messages":
                fields[name] = _find_function(name)(_look_up(record, field)) if self._build.texts else None
            elif name == "choices":
                choices = _look_up(record, field) if self._build.texts else None
                fields[name] = tuple(map(encode_text, choices)) if is_list(choices) else ()
            elif name in ("target", "answer", "finish_reason", "endpoint_model"):
                fields[name] = _text(record, field)
            elif (number := parse_number(_look_up(record, field))) is not None:
                fields[name] = int(number) if name == "prompt_tokens" else number
        return cast("RowFields", fields)

    def _is_merged(self, record: _RecordDict, result: _Record, groups: dict[tuple[object, ...], _Record]) -> bool:
        """Return whether a score was added to the generation that it belongs to; else this is a generation."""
        scores, n = self._spec.scores, 0
        own = tuple(_text(record, field) for field in scores.group)
        while (*own, n) in groups:
            before = groups[*own, n]
            is_again = bool(before.scores.keys() & result.scores.keys())
            if is_again and scores.again == "generation":
                n += 1
                continue
            if is_again:
                self._build.note("log-again", 1, what="score of a generation")
            if not is_again or scores.again == "last":
                # The failure of one scorer is none of the others: its score stays absent.
                before.scores = {
                    **({} if before.failure else before.scores),
                    **({} if result.failure else result.scores),
                }
                before.failure = before.failure if result.failure else ""
            return True
        groups[*own, n] = result
        return False

    def _label_systems(self) -> set[str]:
        """Label generations of one model under several conditions in one file by them; return the names of these."""
        in_labels: set[str] = set()
        by_model: dict[str, list[tuple[dict[str, object], _Record]]] = {}
        for record in self.records if self._spec.conditions else ():
            conditions = _fill_table(record.source, self._spec.conditions, self._spec.harmless)
            by_model.setdefault(record.key.model, []).append((conditions, record))
        for label, each in by_model.items():
            names = [
                name
                for name in sorted({name for conditions, _ in each for name in conditions})
                if len({repr(conditions.get(name)) for conditions, _ in each}) > 1
            ]
            in_labels |= set(names)
            for conditions, record in each if names else ():
                values = ", ".join(f"{name}={encode_text(conditions.get(name, 'default'))[:40]}" for name in names)
                record.key = record.key._replace(model=f"{label} ({values})")
        return in_labels

    def sort_scorers(self) -> tuple[str, ...]:
        """Return the scorers, the default first."""
        scores = self._spec.scores
        first = _name(self.first, scores.first)
        each = sorted(
            self._scorers, key=lambda name: (name != first, -self._scorers[name] if scores.by_frequency else 0)
        )
        return tuple(each) or (scores.default,)

    def choose_scorers(self) -> dict[str, str]:
        """Return the scorer to read of each benchmark; a benchmark that has not the scorer of the options has none."""
        scorers, build = self.sort_scorers(), self._build
        named: dict[str, dict[str, None]] = {}
        for record in self.records:
            named.setdefault(record.key.benchmark, {}).update(dict.fromkeys(record.scores))
        if build.options.scorer is not None or all(scorers[0] in names for names in named.values() if names):
            scorer = build.choose_scorer(scorers)
            return {of: scorer for of, names in named.items() if scorer in names or not names}
        defaults = {of: next((name for name in scorers if name in names), scorers[0]) for of, names in named.items()}
        benchmark, scorer = next(iter(defaults.items()))
        build.note("log-scorer-each", scorers=len(scorers), benchmark=benchmark, scorer=scorer)
        return defaults

    def expect_means(self, scorer_of: Mapping[str, str]) -> None:
        """Compare the means that the program states of the scorers that are read with those of the rows."""
        own = scorer_of.get(self.records[0].key.benchmark)
        for one in self._spec.reported:
            means = _look_up(self.first, one.each) if one.each else None
            if isinstance(means, Mapping):
                self._build.expect_mean(str(own), means.get(own))
            elif is_list(means):
                for each in means:
                    name = _text(each, one.benchmark) or ""
                    if name and scorer_of.get(name) == (_text(each, one.scorer) or own):
                        self._build.expect_mean(name, _look_up(each, one.value), benchmark=name)
            elif one.scorer == own:
                self._build.expect_mean(one.name, _look_up(self.first, one.value))

    def _name_by_place(self) -> str:
        """Return the name of the file or of its folder, for a model that the log does not name."""
        if not self._place:
            stem = self._path.name.removesuffix(".gz").rpartition(".")[0] or self._path.name
            stem = re.sub(self._spec.strip, "", stem) if self._spec.strip else stem
            self._place = stem.strip(" _-") or name_table(self._path)
            self._build.is_named_by_path = True
            self._build.note("log-names-model", model=self._place)
        return self._place


def _nest(record: _RecordDict) -> dict[str, Any]:
    """Return a record with `a.b` inside `a`, where paths look it up."""
    nested: dict[str, Any] = {}
    for name, value in record.items():
        first, dot, rest = name.partition(".")
        inner = nested.setdefault(first, {}) if dot else None
        if isinstance(inner, dict):
            inner[rest] = value
        else:
            nested[name] = value
    return nested
