"""The texts of chosen questions: what was asked, and what every model wrote, from run folders and other programs' logs.

A large run folder gives one question in milliseconds. A small one, and a log, is read through once for all the
questions that are wanted.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howsure.readers.found import Source
from howsure.readers.logs.base import LogRow
from howsure.readers.logs.log_source import LogSource
from howsure.readers.run import Run
from howsure.store import lookup, manifest, responses, scores
from howsure.store.schema import COLUMNS, KEY, Response

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Asked", "Prompt", "QuestionText", "Texts", "unfilled"]

#: Bytes of a run folder up to which it is read whole when more than one question is wanted.
_SMALL = 32_000_000
#: Lettered lines of choices, as `benchmarks.question.Prompt` writes them.
_CHOICE = re.compile(r"^([A-Z])\. ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What was sent for a question under one variant."""

    variant: str
    messages: tuple[tuple[str, str], ...]
    """Role and text of each message."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question without its generations."""

    benchmark: str
    question: str
    text: str = ""
    """What is asked, without the template around it where that is known; empty where no prompt was kept."""
    choices: tuple[str, ...] = ()
    """Where they are known apart from the text, in the order of their letters."""
    target: str | None = None
    prompts: tuple[Prompt, ...] = ()
    """The default variant first, or the first by name where none is called so."""


@dataclass(frozen=True, slots=True)
class QuestionText:
    """A question and all its generations, sorted by key within each source."""

    asked: Asked
    generations: tuple[Response, ...]


class Texts:
    """What can be read about questions from sources; generations of the same benchmark in several stand together.

    Parameters
    ----------
    sources
        Run folders and logs; tables and frames have no texts.
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self.sources = list(sources)
        self.folders = [source for source in self.sources if isinstance(source, Run)]
        self.logs = [source for source in self.sources if isinstance(source, LogSource)]
        self._told = _Told.of(folder.path for folder in self.folders)

    def __bool__(self) -> bool:
        return bool(self.folders or self.logs)

    @property
    def without(self) -> list[str]:
        """Sources that have no texts."""
        return [str(source.path) for source in self.sources if not isinstance(source, (Run, LogSource))]

    def read(self, benchmark: str, questions: Sequence[str]) -> Iterator[QuestionText]:
        """The questions in the order given, one at a time; those that nothing is kept of are left out.

        Large run folders are read as the questions are taken, all else before the first: with its scorer's scores.
        """
        wanted = frozenset(questions)
        lots = [_lot(folder, benchmark, wanted) for folder in self.folders]
        found = self._in_logs(benchmark, wanted)
        for question in questions:
            here = _Found()
            for prompts, rows in (lot(question) for lot in lots):
                for row in prompts:
                    here.add_prompt(row["variant"], row["messages"], row["target"], row["record"])
                here.generations += (Response(**row) for row in rows)
            for own in found.pop(question, ()):
                here.add_log(own)
            if here.generations or here.prompts:
                yield QuestionText(self._asked(benchmark, question, here), tuple(here.generations))

    def asked(self) -> dict[tuple[str, str], Asked]:
        """Every question that a prompt is kept of, by benchmark and name, under its default variant only."""
        found: defaultdict[tuple[str, str], _Found] = defaultdict(_Found)
        for folder in self.folders:
            for batch in responses.read_prompts(folder.path).to_batches(max_chunksize=1000):
                for row in batch.to_pylist():
                    here = found[row["benchmark"], row["question"]]
                    if self._is_first(row["benchmark"], row["variant"], here):
                        here.clear()
                        here.add_prompt(row["variant"], row["messages"], row["target"], row["record"])
        for log in self.logs:
            for one in log.generations():
                here = found[one.benchmark, one.question]
                if self._is_first(one.benchmark, one.variant, here):
                    here.clear()
                    here.add_log([one])
                    here.generations.clear()
        return {name: self._asked(*name, here) for name, here in found.items() if here.prompts}

    def _is_first(self, benchmark: str, variant: str, here: _Found) -> bool:
        """Whether a variant takes the place of the one that is kept."""
        default = self._told.defaults.get(benchmark)
        return not any(here.prompts.values()) or (variant == default and default not in here.prompts)

    def one(self, benchmark: str, question: str) -> QuestionText | None:
        """One question; None where nothing is kept of it."""
        return next(self.read(benchmark, [question]), None)

    def _in_logs(self, benchmark: str, wanted: frozenset[str]) -> dict[str, list[list[LogRow]]]:
        """Rows of each question, apart for each log that has it."""
        found: defaultdict[str, list[list[LogRow]]] = defaultdict(list)
        for log in self.logs:
            if benchmark in log.info.benchmarks:
                own: defaultdict[str, list[LogRow]] = defaultdict(list)
                for row in log.generations():
                    if row.question in wanted and row.benchmark == benchmark:
                        own[row.question].append(row)
                for question, rows in own.items():
                    found[question].append(rows)
        return found

    def _asked(self, benchmark: str, question: str, here: _Found) -> Asked:
        default = self._told.defaults.get(benchmark)
        names = sorted(here.prompts, key=lambda name: (name != default, name))
        prompts = tuple(Prompt(name, here.prompts[name]) for name in names if here.prompts[name])
        said = [text for role, text in prompts[0].messages if role == "user"] if prompts else []
        template = self._told.templates.get(prompts[0].variant) if prompts else None
        text, choices = unfilled(said[-1] if said else "", template)
        first = names[0] if names else ""
        target = here.targets.get(first) or next((row.target for row in here.generations if row.target), None)
        return Asked(benchmark, question, text, here.choices.get(first) or choices, target, prompts)


#: Rows of prompts and of generations of a question.
_Lot = Callable[[str], tuple[list[dict[str, Any]], list[dict[str, Any]]]]


def _lot(folder: Run, benchmark: str, wanted: frozenset[str]) -> _Lot:
    """How the questions wanted are read from a folder."""
    path = folder.path
    size = sum(file.stat().st_size for file in path.glob("responses.*"))
    if folder.scorer is None and (len(wanted) == 1 or size > _SMALL):

        def looked_up(question: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
            prompts = lookup.prompt(path, benchmark, question)
            return prompts.to_pylist(), lookup.generations(path, benchmark, question).to_pylist()

        return looked_up
    reader = responses.stream(path) if folder.scorer is None else scores.stream(path, None, folder.scorer)
    prompts = _by_question(responses.read_prompts(path).to_batches(), benchmark, wanted)
    rows = _by_question(reader, benchmark, wanted)
    return lambda question: (prompts(question), rows(question))


def _by_question(
    batches: Iterable[pa.RecordBatch], benchmark: str, wanted: frozenset[str]
) -> Callable[[str], list[dict[str, Any]]]:
    """Rows of any of the questions wanted, kept as Arrow until it is asked for."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = pa.array(sorted(wanted), pa.string())
    kept = []
    for batch in batches:
        here = pc.and_(pc.equal(batch["benchmark"], benchmark), pc.is_in(batch["question"], value_set=names))
        if (part := batch.filter(here)).num_rows:
            kept.append(part)
    if not kept:
        return lambda _: []
    table = pa.Table.from_batches(kept)
    at: defaultdict[str, list[int]] = defaultdict(list)
    for i, question in enumerate(table["question"].to_pylist()):
        at[question].append(i)
    return lambda question: table.take(at[question]).to_pylist() if question in at else []


@dataclass(slots=True)
class _Told:
    """What the manifests say of variants."""

    defaults: dict[str, str] = field(default_factory=dict)
    """Benchmark to its default variant."""
    templates: dict[str, str] = field(default_factory=dict)
    """Variant to its template."""

    @classmethod
    def of(cls, folders: Iterable[Path]) -> _Told:
        told = cls()
        for folder in folders:
            if not (folder / manifest.NAME).is_file():
                continue
            one = manifest.load(folder)
            told.defaults |= {name: str(about["default"]) for name, about in one.variants.items() if "default" in about}
            told.templates |= {name: values["template"] for name, values in one.prompts.items() if "template" in values}
        return told


@dataclass(slots=True)
class _Found:
    """What sources keep of one question, by variant."""

    prompts: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    choices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    targets: dict[str, str | None] = field(default_factory=dict)
    generations: list[Response] = field(default_factory=list)

    def add_prompt(self, variant: str, messages: str, target: str | None, record: str | None) -> None:
        """What a run folder keeps of it under a variant; what is known already stays."""
        kept = json.loads(record or "null") or {}
        self._add(variant, _messages(json.loads(messages)), target, tuple(map(str, kept.get("choices") or ())))

    def add_log(self, rows: Sequence[LogRow]) -> None:
        """What a log keeps of it; a cell that another log told has its generations counted on."""
        last: defaultdict[tuple[str, str], int] = defaultdict(int)
        for one in self.generations:
            last[one.model, one.variant] = max(last[one.model, one.variant], one.generation)
        for row in sorted(rows, key=lambda row: tuple(getattr(row, name) for name in KEY)):
            if row.messages is not None or row.choices or row.target is not None:
                self._add(row.variant, _messages(row.messages or ()), row.target, row.choices)
            values = {name: getattr(row, name) for name in COLUMNS}
            values["generation"] += last[row.model, row.variant]
            self.generations.append(Response(**values))

    def clear(self) -> None:
        """Forget it."""
        for kept in (self.prompts, self.choices, self.targets, self.generations):
            kept.clear()

    def _add(
        self, variant: str, messages: tuple[tuple[str, str], ...], target: str | None, choices: tuple[str, ...]
    ) -> None:
        if not self.prompts.get(variant):
            self.prompts[variant] = messages
        if not self.choices.get(variant):
            self.choices[variant] = choices
        if self.targets.get(variant) is None:
            self.targets[variant] = target


def _messages(messages: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    """Role and text of each message; other content, such as parts of one, as JSON."""

    def said(content: Any) -> str:
        return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)

    return tuple((str(message.get("role")), said(message.get("content"))) for message in messages)


def unfilled(message: str, template: str | None) -> tuple[str, tuple[str, ...]]:
    r"""Text and choices of a question that filled a template; the message itself where it does not fit.

    >>> unfilled("Q: Which?\nA. yes\nB. no", "Q: {question}\n{choices}")
    ('Which?', ('yes', 'no'))
    >>> unfilled("something else", "Q: {question}")
    ('something else', ())
    """
    if template is None:
        return message, ()
    holes = {re.escape("{question}"): "(?P<question>.*?)", re.escape("{choices}"): r"(?P<choices>A\. .*)"}
    pattern = re.escape(template)
    for hole, part in holes.items():
        if pattern.count(hole) > 1:
            return message, ()
        pattern = pattern.replace(hole, part)
    found = re.fullmatch(pattern, message, re.DOTALL)
    if found is None or "question" not in found.groupdict():
        return message, ()
    parts = _CHOICE.split(found.groupdict().get("choices") or "")[1:]
    if parts[::2] != [chr(ord("A") + i) for i in range(len(parts) // 2)]:
        return message, ()
    return found["question"], tuple(text.removesuffix("\n") for text in parts[1::2])
