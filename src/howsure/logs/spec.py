"""Read the logs of a program by a description of its files: `specs/PROGRAM.toml`.

A description says how a file is recognised, where its records are, and what their fields mean. docs/logs.md shows how
to write one. The words of a description are the fields of `Spec`, `Form`, `ScoreFields`,
`Failure`, `Beside` and `Join`.

A field is found by a path, `info.task.0.name`. Paths that begin with `$` lead elsewhere: `$file` is the whole file,
`$parent` the record around a record, `$key` the key of a record in a mapping or its place in a list (`$outer` that of
the mapping or list around it), `$name` the groups of `file_name`, and every `[beside.X]` and `[join.X]` is `$X`. A text
with braces is a template: `{agent} {model}`. A path in parentheses is given to a function of `spec_functions`:
`reply(messages)`. Where several are listed, the first that has a value counts.
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
from typing import Any, Literal, TypeAlias, TypeGuard, cast

import msgspec

from howsure.errors import InputError
from howsure.logs.base import RowBuilder, RowFields, as_mapping, encode_text, get_field
from howsure.logs.file_formats import (
    FileHead,
    decode_json,
    open_file,
    read_csv,
    read_json,
    read_json_array,
    read_json_lines,
)
from howsure.logs.record_reader import Record, RecordedRun, RecordReader, ReportedMean
from howsure.logs.settings import list_conditions
from howsure.rows.naming import name_alone

__all__ = ["Form", "Spec", "SpecReader", "list_specs"]

#: A path or a template, or several, of which the first counts that has a value.
Field: TypeAlias = str | list[str]
_RowField: TypeAlias = Literal[
    "messages", "target", "answer", "choices", "seconds", "created", "prompt_tokens", "completion_tokens"
]
_RecordDict: TypeAlias = Mapping[str, Any]
#: Flags by which any program may say that a generation has no score that means anything.
_FLAGS = ("failed", "judge_failed", "judge_error")
_ERROR_STATUS = "error"


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
    """A function of `spec_functions` that looks closer at the file."""
    records: Field = ""
    """Where the records are: steps with dots between them, `*` for each element, and `$` where the file is the record;
    empty where the file is a list, lines or a table."""
    is_plain: bool = msgspec.field(default=False, name="plain")
    """Whether the elements are values, which are called `value`, and no mappings."""
    function: str = ""
    """A function of `spec_functions` that makes records of the records."""
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
    """A mapping from scorers to scores, or a list of records with `name` and `value`; `.` is the record itself."""
    name: Field = "name"
    value: Field = "value"
    prefix: str = ""
    """What the keys of scorers begin with, which is no part of their names."""
    suffix: str = ""
    group: tuple[str, ...] = ()
    """Where a record is one score: fields that the scores of a generation share."""
    again: str = "generation"
    """What a further score of a scorer is in a group: another "generation", or the "first" or "last" counts."""
    exclude: tuple[str, ...] = ()
    """Keys and patterns of keys, in lower case, that are no scorers."""
    is_numeric: bool = msgspec.field(default=False, name="numeric")
    """Whether only keys count that are numbers or missing in all records."""
    words: dict[str, float] = {}
    """Words that are scores, in lower case; other words are 0 where there is one of them."""
    first: tuple[str, ...] = ()
    """Fields, and patterns after `=`, of the scorers that come first."""
    last: tuple[str, ...] = ()
    """Patterns of the scorers that come last."""
    by_frequency: bool = False
    """Whether the scorers with most scores come first."""
    default: str = "score"
    """The name of a scorer that has none."""
    is_named: bool = msgspec.field(default=True, name="named")
    """Whether `--scorer` may ask for it."""


class Failure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a generation has no score, although the program may have written one."""

    reason: Field = []
    """The reason; a generation with one failed."""
    field: str = ""
    """A field that says how the generation ended, and its values after which it failed."""
    values: tuple[Any, ...] = ()
    text: str = ""
    """The reason where only the field says that it failed; a template."""
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


class Join(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Records that belong to those of the log, by a field that both have."""

    key: str
    on: str
    list: str = ""
    """Where they are in the log; empty where a file beside it has them."""
    file: str = ""


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
    """A function of `spec_functions` that returns the logs at a path."""
    question: Field = []
    benchmark: Field = []
    """Templates; a text without braces is a name."""
    model: Field = []
    model_name: Field = []
    variant: Field = []
    cluster: Field = []
    completion: Field = []
    order: str = ""
    """A number by which the records are sorted."""
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
    generations: Field = []
    settings: dict[str, Field] = {}
    conditions: dict[str, Field] = {}
    prompts: dict[str, Field] = {}
    """Of these tables, `*` stands for all entries of a mapping, without those that `harmless` names."""
    harmless: tuple[str, ...] = ()
    source: dict[str, Field] = {}
    records: Field = []
    """The number of records that the program states."""
    beside: dict[str, Beside] = {}
    join: dict[str, Join] = {}
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


def _find_function(name: str) -> Any:
    """Return a function of `spec_functions`."""
    from howsure.logs import spec_functions

    return getattr(spec_functions, name)


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


def _number(record: _RecordDict, field: Field) -> float | None:
    """Return a field as a number, also of a text; None for anything else."""
    value = _look_up(record, field)
    try:
        number = float(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else float("nan")
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def _fill_table(
    record: _RecordDict, table: Mapping[str, Field], without: Sequence[str] | None = None
) -> dict[str, object]:
    """Return the values of a table of fields, without harmless settings where it is one of conditions."""
    values: dict[str, object] = {}
    for name, field in table.items():
        value = _look_up(record, field)
        if name.endswith("*"):
            if without is None:
                values |= {key: one for key, one in as_mapping(value).items() if one is not None}
            else:
                values |= list_conditions(value, without=without, prefix=name[:-1])
        elif value is not None:
            values[name] = value
    return values


class SpecReader(RecordReader):
    """Reads the files of one program by its description.

    Parameters
    ----------
    spec
        The description.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.name = spec.name

    def recognises(self, head: FileHead) -> bool:
        """Return whether the file has one of the forms."""
        return any(form.matches(head) for form in self.spec.forms)

    def members(self, path: Path) -> Sequence[Path]:
        """Return the log itself, or what the function `members` of the description finds at a path."""
        return _find_function(self.spec.members)(path) if self.spec.members else [path]

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return what the description finds in the file."""
        spec, head = self.spec, FileHead(path)
        form = next((form for form in spec.forms if form.matches(head)), spec.forms[0])
        if form.refuse:
            raise InputError(form.refuse, where=str(path), remedy=form.remedy)
        return _FileReader(spec, form, path, build).read()


class _FileReader:
    """Reads one file by a description."""

    def __init__(self, spec: Spec, form: Form, path: Path, build: RowBuilder) -> None:
        self._spec, self._form, self._path, self._build = spec, form, path, build
        self._place = ""
        self._scorers: Counter[str] = Counter()

    def read(self) -> RecordedRun:
        """Return what the file holds."""
        spec, build = self._spec, self._build
        each = self._list_records()
        if spec.scores.is_numeric:
            each = self._drop_words(each)
        records: list[Record] = []
        groups: dict[tuple[object, ...], Record] = {}
        systems: dict[str, dict[str, tuple[dict[str, object], list[Record]]]] = {}
        runs: set[str] = set()
        for record in each:
            result = self._make_record(record)
            if result is None:
                build.note("log-left-out", 1, what="question")
                continue
            runs.add(_text(record, spec.run) or "")
            if spec.scores.group and self._is_merged(record, result, groups):
                continue
            records.append(result)
            conditions = _fill_table(record, spec.conditions, spec.harmless)
            system = systems.setdefault(result.model, {}).setdefault(repr(conditions), (conditions, []))
            system[1].append(result)
        in_labels = _label_systems(systems)
        first = each[0] if each else {}
        stated, own = _number(first, spec.records), first.get("$n_records", len(each))
        if stated is not None and stated != own:
            build.note("log-counts-differ", stated=int(stated), what="records", own=own)
        conditions = _fill_table(first, spec.conditions, spec.harmless)
        scorers = self._sort_scorers(first)
        return RecordedRun(
            benchmark=records[0].benchmark if records else "",
            model=records[0].model if records else "",
            model_name=_name(first, spec.model_name) or "",
            records=records,
            scorers=scorers,
            default_scorers=self._find_defaults(records, scorers),
            has_named_score=spec.scores.is_named,
            settings=_fill_table(first, spec.settings),
            conditions={name: one for name, one in conditions.items() if name not in in_labels},
            prompts=_fill_table(first, spec.prompts, spec.harmless),
            source=_fill_table(first, spec.source),
            reported=list(self._list_reported(first, scorers)),
            run=next(iter(runs)) if len(runs) == 1 else "",
            created=_text(first, spec.created) or "",
            generations=int(_number(first, spec.generations) or 1),
        )

    def _list_records(self) -> list[dict[str, Any]]:
        """Return the records, each with what belongs to it under names that begin with `$`."""
        spec, form, build = self._spec, self._form, self._build
        shared: dict[str, Any] = {"$name": self._parse_name(), "$place": name_alone(self._path)}
        records = self._load(shared)
        if form.function:
            records = _find_function(form.function)(records, shared, self._path, build)
        each = list(records)
        if spec.order:
            each.sort(key=lambda record: _number(record, spec.order) or 0.0)
        if spec.unique:
            places = {_text(record, spec.unique) or place: place for place, record in enumerate(each)}
            if len(places) < len(each):
                build.note("log-again", len(each) - len(places), what=spec.unique)
            each = [each[place] for place in sorted(places.values())]
        for name, beside in spec.beside.items():
            shared[f"${name}"] = self._read_beside(beside, each[0] if each else {})
        joined = {f"${name}": (join, self._read_join(join, shared)) for name, join in spec.join.items()}
        return [
            {**shared, **{name: match.get(_text(record, join.on)) for name, (join, match) in joined.items()}, **record}
            for record in each
        ]

    def _load(self, shared: dict[str, Any]) -> Iterable[_RecordDict]:
        """Return the records of the file."""
        path, form, note = self._path, self._form, self._build.note
        kind = FileHead(path).kind
        if kind == "folder":
            return ()
        if form.records == "$":
            shared["$file"] = content = read_json(path, dict[str, Any])
            return [content]
        if form.records:
            shared["$file"] = content = read_json(path, cast("type[Any]", Any))
            places = [form.records] if isinstance(form.records, str) else form.records
            match = (list(self._walk(content, place.split("."), {})) for place in places)
            return next((records for records in match if records), [])
        if kind == "text":
            return map(_nest, read_csv(path, note))
        with open_file(path) as file:
            is_array = file.read(1) == b"["
        if is_array:
            return map(_nest, read_json_array(path, dict[str, Any], note))
        return read_json_lines(path, dict[str, Any], note)

    def _walk(self, value: Any, steps: Sequence[str], around: dict[str, Any]) -> Iterator[_RecordDict]:
        """Yield the records below a value, each with its key and the record around it."""
        if not steps:
            if isinstance(value, Mapping):
                yield {**value, **around}
            elif self._form.is_plain:
                yield {"value": value, **around}
            else:
                self._build.note("log-no-record", 1)
        elif steps[0] == "*":
            outer = {"$outer": around["$key"]} if "$key" in around else {}
            items: Any = value.items() if isinstance(value, Mapping) else enumerate(value) if _is_list(value) else ()
            if value is not None and not items and not (_is_list(value) or isinstance(value, Mapping)):
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
        place = self._path.with_name(_replace(self._path, beside.file))
        places = [folder / place.name for folder in self._path.parents[: beside.folders]]
        if beside.match and (place == self._path or not place.is_file()):
            places = sorted(self._path.parent.glob(f"*{beside.file.rpartition(' -> ')[2]}"))
        for file in places:
            if file.is_file() and file != self._path:
                with open_file(file) as stream:
                    content = as_mapping(decode_json(stream.read()))
                if content and (file == place or all(content.get(name) == first.get(name) for name in beside.match)):
                    return content
        self._build.note("log-no-metadata", file=place.name, names=beside.names)
        return {}

    def _read_join(self, join: Join, shared: _RecordDict) -> dict[str | None, _RecordDict]:
        """Return records by the field that those of the log name."""
        if join.list:
            records = get_field(shared, join.list)
        else:
            file = self._path.with_name(_replace(self._path, join.file))
            if file == self._path or not file.is_file() or not self._build.texts:
                return {}
            records = list(read_json_lines(file, dict[str, Any], self._build.note))
        return {_text(one, join.key): one for one in (records if _is_list(records) else ()) if isinstance(one, Mapping)}

    def _make_record(self, record: _RecordDict) -> Record | None:
        """Return a generation; None where the record names no question."""
        spec = self._spec
        question = _text(record, spec.question)
        if question is None:
            return None
        scores = self._read_scores(record)
        failure, is_counted = self._find_failure(record, scores)
        self._scorers.update(scores.keys())
        completion = _look_up(record, spec.completion, keeps_empty=True)
        return Record(
            question=question,
            benchmark=_name(record, spec.benchmark) or spec.name.lower(),
            model=_name(record, spec.model) or self._name_by_place(),
            variant=_text(record, spec.variant) or "default",
            cluster=_text(record, spec.cluster),
            scores=scores,
            source=record,
            failure=failure,
            is_counted=is_counted,
            is_unscored=bool(spec.unscored and _look_up(record, spec.unscored)),
            status=_text(record, "$status") or "ok",
            completion=None if completion is None else encode_text(completion),
            fields=self._read_fields(record),
        )

    def _read_scores(self, record: _RecordDict) -> dict[str, object]:
        """Return what each scorer gave."""
        scores = self._spec.scores
        if scores.group:
            return {_text(record, scores.name) or scores.default: self._read_value(record)}
        named: dict[str, object] = {
            name: self._map_word(_look_up(record, field)) for name, field in scores.names.items()
        }
        each = record if scores.each == "." else get_field(record, scores.each) if scores.each else None
        if isinstance(each, Mapping):
            for key, value in each.items():
                is_excluded = any(fnmatchcase(key.lower(), pattern) for pattern in scores.exclude)
                if key.startswith(scores.prefix) and key.endswith(scores.suffix) and not is_excluded and key[:1] != "$":
                    one = self._read_value(value) if isinstance(value, Mapping) else self._map_word(value)
                    named[key.removeprefix(scores.prefix).removesuffix(scores.suffix)] = one
        elif _is_list(each):
            for one in each:
                if isinstance(one, Mapping):
                    named[_text(one, scores.name) or scores.default] = self._read_value(one)
                else:
                    self._build.note("log-no-record", 1)
        return named

    def _read_value(self, record: _RecordDict) -> object:
        """Return the score of a record that is one."""
        return self._map_word(_look_up(record, self._spec.scores.value))

    def _map_word(self, value: object) -> object:
        """Return the score that a word means, or the value."""
        words = self._spec.scores.words
        return words.get(value.lower(), 0.0) if words and isinstance(value, str) and value else value

    def _find_failure(self, record: _RecordDict, scores: Mapping[str, object]) -> tuple[str, bool]:
        """Return the reason why a generation has no score, empty where it did not fail, and whether it counts as 0."""
        failure = self._spec.failure
        if failure is None:
            flag = next((name for name in _FLAGS if record.get(name) is True), "")
            status = str(record.get("status") or "").lower()
            reason = flag or _text(record, "error") or (status if status == _ERROR_STATUS else "")
            return (reason if reason.lower() not in ("", "false", "[]", "{}") else ""), False
        if failure.unless_scored and any(value is not None for value in scores.values()):
            return "", failure.is_counted
        reason = _text(record, failure.reason) or ""
        if not reason and failure.field and _look_up(record, failure.field) in failure.values:
            reason = _fill(record, failure.text) or encode_text(_look_up(record, failure.field))
        return reason, failure.is_counted

    def _read_fields(self, record: _RecordDict) -> RowFields:
        """Return texts, tokens and times of a generation."""
        fields: dict[str, Any] = {}
        for name, field in self._spec.fields.items():
            if name == "messages":
                if self._build.texts:
                    fields[name] = _find_function("messages")(_look_up(record, field))
            elif name == "choices":
                choices = _look_up(record, field)
                fields[name] = tuple(map(encode_text, choices)) if _is_list(choices) else ()
            elif name in ("target", "answer"):
                fields[name] = _text(record, field)
            elif (number := _number(record, field)) is not None:
                fields[name] = int(number) if name == "prompt_tokens" else number
        return cast("RowFields", fields)

    def _is_merged(self, record: _RecordDict, result: Record, groups: dict[tuple[object, ...], Record]) -> bool:
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

    def _drop_words(self, each: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the records without the fields that are neither numbers nor missing in all records."""
        names = dict.fromkeys(name for record in each for name in record if name[:1] != "$")
        words = [
            name
            for name in names
            if any(
                record.get(name) is not None and _number(record, name) is None and not _is_nan(record[name])
                for record in each
            )
            or all(record.get(name) is None for record in each)
        ]
        return [
            {**record, "$numbers": {name: record[name] for name in record if name[:1] != "$" and name not in words}}
            for record in each
        ]

    def _sort_scorers(self, first: _RecordDict) -> tuple[str, ...]:
        """Return the scorers, the default first."""
        scores = self._spec.scores
        if scores.is_numeric and first and not self._scorers:
            what = "no metric has a number for any record"
            raise InputError(what, where=str(self._path), remedy="is the file complete?")
        wanted = [one[1:] if one[:1] == "=" else _text(first, one) or "" for one in scores.first]

        def rank(name: str) -> tuple[int, bool, int]:
            """Return the sort key of a scorer."""
            place = next((i for i, pattern in enumerate(wanted) if fnmatchcase(name, pattern)), len(wanted))
            is_last = any(fnmatchcase(name, pattern) for pattern in scores.last)
            return place, is_last, -self._scorers[name] if scores.by_frequency else 0

        return tuple(sorted(self._scorers, key=rank)) or (scores.default,)

    @staticmethod
    def _find_defaults(records: Sequence[Record], scorers: Sequence[str]) -> dict[str, str]:
        """Return the first scorer of each benchmark, where they have none in common that comes first."""
        named: dict[str, dict[str, None]] = {}
        for record in records:
            named.setdefault(record.benchmark, {}).update(dict.fromkeys(record.scores))
        if all(scorers[0] in names for names in named.values()):
            return {}
        return {of: next((name for name in scorers if name in names), scorers[0]) for of, names in named.items()}

    def _list_reported(self, first: _RecordDict, scorers: Sequence[str]) -> Iterator[ReportedMean]:
        """Yield the means that the program states."""
        for one in self._spec.reported:
            means = _look_up(first, one.each) if one.each else None
            if isinstance(means, Mapping):
                yield from (
                    ReportedMean(name=name, value=means[name], scorer=name) for name in scorers if name in means
                )
            elif _is_list(means):
                for each in means:
                    name, scorer = _text(each, one.benchmark) or "", _text(each, one.scorer) or scorers[0]
                    yield ReportedMean(name=name, value=_look_up(each, one.value), scorer=scorer, benchmark=name)
            elif (value := _look_up(first, one.value)) is not None:
                yield ReportedMean(name=one.name, value=value, scorer=one.scorer)

    def _name_by_place(self) -> str:
        """Return the name of the file or of its folder, for a model that the log does not name."""
        if not self._place:
            stem = self._path.name.removesuffix(".gz").rpartition(".")[0] or self._path.name
            stem = re.sub(self._spec.strip, "", stem) if self._spec.strip else stem
            self._place = stem.strip(" _-") or name_alone(self._path)
            self._build.is_named_by_path = True
            self._build.note("log-names-model", model=self._place)
        return self._place


def _label_systems(systems: Mapping[str, Mapping[str, tuple[dict[str, object], list[Record]]]]) -> set[str]:
    """Label generations of one model under several conditions in one file by them; return the names of these."""
    in_labels: set[str] = set()
    for label, by_conditions in systems.items():
        each = list(by_conditions.values())
        names = [
            name
            for name in sorted({name for conditions, _ in each for name in conditions})
            if len({repr(conditions.get(name)) for conditions, _ in each}) > 1
        ]
        in_labels |= set(names)
        for conditions, records in each if names else ():
            values = ", ".join(f"{name}={encode_text(conditions.get(name, 'default'))[:40]}" for name in names)
            for record in records:
                record.model = f"{label} ({values})"
    return in_labels


def _replace(path: Path, what: str) -> str:
    """Return the name of a file beside the log."""
    old, arrow, new = what.partition(" -> ")
    return path.name.removesuffix(".gz").replace(old, new) if arrow else what


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


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether a value is a list."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_nan(value: object) -> bool:
    """Return whether a value is not a number, as floats and texts say it."""
    return str(value).lower() == "nan"
