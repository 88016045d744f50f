"""What a reader of logs yields, is asked and says: one row per generation, and who and what the log is about."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from howsure.errors import UnknownNameError
from howsure.readers.logs.file_head import FileHead
from howsure.store.manifest import Model
from howsure.store.schema import UNSCORED, Response

__all__ = [
    "UNSCORED",
    "LogInfo",
    "LogReader",
    "LogRow",
    "MappedColumns",
    "Note",
    "ReadOptions",
    "choose_scorer",
    "get_field",
    "parse_score",
]

#: Says what the log cannot say, or what was left out: one line, without the path.
Note = Callable[[str], None]


class LogRow(Response, frozen=True, kw_only=True, omit_defaults=False):
    """A generation of a log: a row of the store, and what the store keeps elsewhere.

    Completion, target, messages and choices are there only where texts were asked for.
    """

    messages: tuple[dict[str, str], ...] | None = None
    """The prompt: role and content of each message, as it was sent."""
    choices: tuple[str, ...] = ()
    """Of a multiple-choice question, in the order shown."""
    cluster: str | None = None
    """Where `columns` maps one."""


class ReadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a log is to be read."""

    scorer: str | None = None
    """Which of several scores; None is the first, or the one that the harness reports first."""
    texts: bool = False
    """Whether completions, targets and prompts are wanted, which may cost a slower read."""
    columns: Mapping[str, str] = {}
    """Our names (question, variant, cluster, model, benchmark) to fields of the log, with dots between the steps, such
    as `metadata.passage` or `doc.subject`; each reader says which it knows."""


class LogInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Who and what a log is about; cheap to read."""

    run: str
    """What makes two logs the same run: an id that the harness made, or a hash of what identifies it."""
    models: dict[str, Model]
    """By label; `kind` is the reader's NAME, `settings` the decoding settings that the log states."""
    benchmarks: dict[str, dict[str, object]]
    """By name, with what the log says of its source: data set, version, arguments."""
    scorers: tuple[str, ...] = ()
    """Names that `Asked.scorer` takes, the harness's own first choice first; empty where its one score has no name."""
    created: str = ""
    """When it was run, as ISO 8601; empty where the log does not say."""


class LogReader(Protocol):
    """A module of this room that reads one program's logs."""

    NAME: str
    """What messages call the program, such as "Inspect"."""

    def recognises(self, head: FileHead) -> bool:
        """Whether a file or folder is this program's, by its content."""

    def members(self, path: Path) -> Sequence[Path]:
        """The logs that a path stands for: itself, or, of a file of totals, the files with its samples."""

    def describe(self, path: Path) -> LogInfo:
        """Who and what the log is about."""

    def rows(self, path: Path, asked: ReadOptions, tell: Note) -> Iterator[LogRow]:
        """Each generation once, in the order of the log; `tell` hears what could not be read, before the last row."""


def get_field(record: Any, field: str) -> Any:
    """The value at `a.b.c` inside nested mappings and lists; None where a step is not there.

    >>> get_field({"metadata": {"tags": ["x", "y"]}}, "metadata.tags.1")
    'y'
    """
    for name in field.split("."):
        if isinstance(record, Mapping) and name in record:
            record = record[name]
        elif (
            isinstance(record, Sequence)
            and not isinstance(record, str)
            and name.isdecimal()
            and int(name) < len(record)
        ):
            record = record[int(name)]
        else:
            return None
    return record


#: Our names that a log's fields can be mapped to.
NAMES = ("benchmark", "model", "question", "variant", "cluster")


class MappedColumns:
    """Reads the mapped fields of one record after another; the first record must have them.

    >>> MappedColumns({"question": "vars.id"}, where="log.json").of({"vars": {"id": 7}}, "question")
    '7'
    """

    def __init__(self, columns: Mapping[str, str], *, where: str) -> None:
        for name in columns:
            if name not in NAMES:
                raise UnknownNameError("column", name, NAMES, where=where)
        self._columns, self._where, self._checked = columns, where, False

    def __bool__(self) -> bool:
        return bool(self._columns)

    def of(self, record: Any, name: str) -> str | None:
        """The value as text; None where nothing is mapped to the name, or this record has none."""
        if not self._columns:
            return None
        if not self._checked:
            self._check(record)
        value = get_field(record, self._columns[name]) if name in self._columns else None
        if value is None or isinstance(value, str):
            return value
        return msgspec.json.encode(value, order="sorted").decode()

    def _check(self, record: Any) -> None:
        for field in self._columns.values():
            if get_field(record, field) is None:
                parent = get_field(record, field.rpartition(".")[0]) if "." in field else None
                prefix = field.rpartition(".")[0] + "."
                known = [prefix + name for name in parent] if isinstance(parent, Mapping) else list(record)
                raise UnknownNameError("field", field, known, where=self._where)
        self._checked = True


#: Inspect's letters (correct, incorrect, partial, no answer), and words that graders write.
_WORDS = {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0, "true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}


def parse_score(value: Any) -> float | None:
    """A score as a number, or None where there is none: null, NaN, infinite, an empty text.

    Raises
    ------
    ValueError
        When it is something else, such as a word or a list: there is no score to read in it.

    >>> parse_score("C"), parse_score(True), parse_score("0.5"), parse_score(float("nan"))
    (1.0, 1.0, 0.5, None)
    """
    if isinstance(value, str):
        text = value.strip().lower()
        if text in _WORDS:
            return _WORDS[text]
        value = float(text) if text else None
    if value is None:
        return None
    if not isinstance(value, (bool, int, float)):
        raise ValueError(f"{value!r} is no score")  # noqa: TRY004  whatever it is, the caller tells the same
    try:
        score = float(value)
    except OverflowError as error:
        raise ValueError("an integer beyond all floating-point numbers is no score") from error
    return score if math.isfinite(score) else None


def choose_scorer(scorers: Sequence[str], asked: str | None, *, where: str, tell: Note) -> str:
    """The scorer that is read: the one asked for, by its name or a part of it that no other has, or the first.

    >>> choose_scorer(["exact_match,strict-match", "exact_match,flexible"], "strict-match", where="", tell=print)
    'exact_match,strict-match'
    """
    if asked is None:
        if len(scorers) > 1:
            others = ", ".join(repr(name) for name in scorers[1:4]) + (", ..." if len(scorers) > 4 else "")
            tell(f"{len(scorers)} scorers, of which {scorers[0]!r} is read: --scorer reads another ({others})")
        return scorers[0]
    near = [asked] if asked in scorers else [name for name in scorers if asked in name.replace("/", ",").split(",")]
    if len(near) != 1:
        raise UnknownNameError("scorer", asked, scorers, where=where)
    return near[0]
