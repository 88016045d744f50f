"""Read prompts and completions of single questions from run folders and logs of other programs.

A single question of a large run folder is read in milliseconds with its index. A small run folder, or a log, is read
once for all questions that are requested.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from howsure.logs.base import LogRow
from howsure.logs.log_source import LogSource
from howsure.results.run_source import RunSource
from howsure.rows.source import Source
from howsure.store import lookup, manifest, responses
from howsure.store.schema import COLUMNS, KEY, UNSCORED, Response

if TYPE_CHECKING:
    import pyarrow as pa

#: Largest size in bytes of a run folder that is read completely when several questions are requested.
_SMALL = 32_000_000
#: Lettered lines of choices, as `benchmarks.question.Prompt` writes them.
_CHOICE = re.compile(r"^([A-Z])\. ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PromptText:
    """The messages that were sent for a question under one variant.

    Examples
    --------
    >>> prompt = PromptText("v1", (("user", "What is 2 + 2?"),))
    >>> prompt.messages[0]
    ('user', 'What is 2 + 2?')
    """

    variant: str
    messages: tuple[tuple[str, str], ...]
    """Role and text of each message."""


@dataclass(frozen=True, slots=True)
class QuestionText:
    """A question, without its generations.

    Examples
    --------
    >>> question = QuestionText("sums", "q1", text="What is 2 + 2?", target="4")
    >>> question.target, question.prompts
    ('4', ())
    """

    benchmark: str
    question: str
    text: str = ""
    """Text of the question, without its template if that is known; empty if no prompt was stored."""
    choices: tuple[str, ...] = ()
    """Choices in the order of their letters, if they are stored separately from the text; otherwise empty."""
    target: str | None = None
    solution: str = ""
    """Reference solution: that which a run stores, or the text of the target before `####`; empty without one."""
    prompts: tuple[PromptText, ...] = ()
    """Prompts by variant; the default variant is first, or the first variant by name if there is no default."""


@dataclass(frozen=True, slots=True)
class QuestionGenerations:
    """A question and all its generations, sorted by key within each source."""

    question: QuestionText
    generations: tuple[Response, ...]


class QuestionTexts:
    """Texts of questions from several sources; generations of the same benchmark in several sources are joined.

    The generations are those from which scores and answers are computed, and those that failed or have no score yet.
    Copies are left out, and so are generations beyond the largest number to read.

    Parameters
    ----------
    sources
        Run folders and logs; tables and frames have no texts.
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self.sources = list(sources)
        self.folders = [source for source in self.sources if isinstance(source, RunSource)]
        self.logs = [source for source in self.sources if isinstance(source, LogSource)]
        self._variants = _VariantInfo.read(folder.path for folder in self.folders)

    def __bool__(self) -> bool:
        return bool(self.folders or self.logs)

    @property
    def without(self) -> list[str]:
        """The paths of sources that have no texts."""
        return [str(source.path) for source in self.sources if not isinstance(source, (RunSource, LogSource))]

    def read(self, benchmark: str, questions: Sequence[str]) -> Iterator[QuestionGenerations]:
        """Yield the questions in the order given, one at a time; questions without stored texts are left out.

        Large run folders are read one question at a time, all other sources before the first question.
        """
        wanted = frozenset(questions)
        lookups = [_look_up(folder, benchmark, wanted) for folder in self.folders]
        in_logs = self._read_logs(benchmark, wanted)
        for question in questions:
            prompts: list[_Prompt] = []
            generations: list[Response] = []
            for look_up in lookups:
                stored, rows = look_up(question)
                prompts += map(_Prompt.of_folder, stored)
                generations += [Response(**row) for row in rows]
            for log_rows in in_logs.pop(question, ()):
                prompts += filter(None, map(_Prompt.of_log, log_rows))
                generations += _number_on(log_rows, generations)
            if generations or prompts:
                about = self._describe_question(benchmark, question, prompts, generations)
                yield QuestionGenerations(about, tuple(generations))

    def questions(self) -> dict[tuple[str, str], QuestionText]:
        """Return every question with a stored prompt by benchmark and id, under its default variant only."""
        chosen: dict[tuple[str, str], _Prompt] = {}
        for name, prompt in self._list_prompts():
            default = self._variants.defaults.get(name[0])
            first = chosen.setdefault(name, prompt)
            if not first.messages or (prompt.variant == default and first.variant != default):
                chosen[name] = prompt
        return {name: self._describe_question(*name, [prompt], ()) for name, prompt in chosen.items()}

    def _list_prompts(self) -> Iterator[tuple[tuple[str, str], _Prompt]]:
        """Yield benchmark and question of each stored prompt, and the prompt."""
        for folder in self.folders:
            for batch in responses.read_prompts(folder.path).to_batches(max_chunksize=1000):
                yield from (((row["benchmark"], row["question"]), _Prompt.of_folder(row)) for row in batch.to_pylist())
        for log in self.logs:
            for one in log.generations():
                if (prompt := _Prompt.of_log(one)) is not None:
                    yield (one.benchmark, one.question), prompt

    def read_question(self, benchmark: str, question: str) -> QuestionGenerations | None:
        """Return one question; None if no text of it is stored."""
        return next(self.read(benchmark, [question]), None)

    def _read_logs(self, benchmark: str, wanted: frozenset[str]) -> dict[str, list[list[LogRow]]]:
        """Return the rows of each question, a list for each log that has it."""
        rows_by_question: defaultdict[str, list[list[LogRow]]] = defaultdict(list)
        for log in self.logs:
            if "benchmark" in log.options.columns or benchmark in log.log.describe_benchmarks():
                rows_of: defaultdict[str, list[LogRow]] = defaultdict(list)
                for row in log.generations():
                    if row.question in wanted and row.benchmark == benchmark:
                        rows_of[row.question].append(row)
                for question, rows in rows_of.items():
                    rows_by_question[question].append(_first_generations(rows, log.most_generations))
        return rows_by_question

    def _describe_question(
        self, benchmark: str, question: str, prompts: Sequence[_Prompt], generations: Sequence[Response]
    ) -> QuestionText:
        """Return the question with its prompts, the default variant first."""
        default = self._variants.defaults.get(benchmark)
        messages: dict[str, tuple[tuple[str, str], ...]] = {}
        for one in sorted(prompts, key=lambda prompt: (prompt.variant != default, prompt.variant)):
            messages[one.variant] = messages.get(one.variant) or one.messages
        prompt_texts = tuple(PromptText(name, own) for name, own in messages.items() if own)
        of_user = [text for role, text in prompt_texts[0].messages if role == "user"] if prompt_texts else []
        template = self._variants.templates.get(prompt_texts[0].variant) if prompt_texts else None
        text, choices = split_prompt(of_user[-1] if of_user else "", template)
        of_first = [one for one in prompts if one.variant == next(iter(messages))]
        target = next((one.target for one in of_first if one.target is not None), None)
        target = target or next((row.target for row in generations if row.target), None)
        solution = next((one.solution for one in prompts if one.solution), "") or _find_solution(target or "")
        choices = next((one.choices for one in of_first if one.choices), choices)
        return QuestionText(benchmark, question, text, choices, target, solution, prompt_texts)


#: A function from a question to its rows of prompts and of generations.
_LookUp = Callable[[str], tuple[list[dict[str, Any]], list[dict[str, Any]]]]


def _look_up(folder: RunSource, benchmark: str, wanted: frozenset[str]) -> _LookUp:
    """Return the function that reads questions of a folder: by an index, or from memory after one reading."""
    path = folder.path
    size = sum(file.stat().st_size for file in path.glob("responses.*"))
    if folder.scorer is None and (len(wanted) == 1 or size > _SMALL):

        def look_up(question: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
            prompts = lookup.find_prompts(path, benchmark, question)
            rows = folder.select_rows(lookup.find_generations(path, benchmark, question))
            return prompts.to_pylist(), rows.to_pylist()

        return look_up
    prompts = _index_questions([responses.read_prompts(path)], benchmark, wanted)
    rows = _index_questions(folder.read_rows(COLUMNS), benchmark, wanted)
    return lambda question: (prompts(question), rows(question))


def _index_questions(
    tables: Iterable[pa.Table], benchmark: str, wanted: frozenset[str]
) -> Callable[[str], list[dict[str, Any]]]:
    """Return a function from a question to its rows, which are kept as Arrow until then."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = pa.array(sorted(wanted), pa.string())
    parts = []
    for table in tables:
        here = pc.and_(pc.equal(table["benchmark"], benchmark), pc.is_in(table["question"], value_set=names))
        if (part := table.filter(here)).num_rows:
            parts.append(part)
    if not parts:
        return lambda _: []
    rows = pa.concat_tables(parts)
    places: defaultdict[str, list[int]] = defaultdict(list)
    for i, question in enumerate(rows["question"].to_pylist()):
        places[question].append(i)
    return lambda question: rows.take(places[question]).to_pylist() if question in places else []


def _first_generations(rows: Sequence[LogRow], most: int | None) -> list[LogRow]:
    """Return the first scored generations of each model and variant; all rows if `most` is None."""
    if most is None:
        return list(rows)
    cells: defaultdict[tuple[str, str], list[LogRow]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.generation):
        if row.status != UNSCORED:
            cells[row.model, row.variant].append(row)
    return [row for cell in cells.values() for row in cell[:most]]


@dataclass(slots=True)
class _VariantInfo:
    """What the manifests state about variants."""

    defaults: dict[str, str] = field(default_factory=dict)
    """Benchmark to its default variant."""
    templates: dict[str, str] = field(default_factory=dict)
    """Variant to its template."""

    @classmethod
    def read(cls, folders: Iterable[Path]) -> _VariantInfo:
        info = cls()
        for folder in folders:
            if not (folder / manifest.NAME).is_file():
                continue
            about = manifest.load(folder)
            info.defaults |= {name: str(of["default"]) for name, of in about.variants.items() if "default" in of}
            info.templates |= {
                name: values["template"] for name, values in about.prompts.items() if "template" in values
            }
        return info


class _Prompt(NamedTuple):
    """What a source stores of a question under one variant."""

    variant: str
    messages: tuple[tuple[str, str], ...]
    target: str | None
    choices: tuple[str, ...] = ()
    solution: str = ""

    @classmethod
    def of_folder(cls, row: Mapping[str, Any]) -> _Prompt:
        """Return a prompt as a run folder stores it."""
        recorded = json.loads(row["record"] or "null") or {}
        choices = tuple(map(str, recorded.get("choices") or ()))
        messages = parse_messages(json.loads(row["messages"]))
        return cls(row["variant"], messages, row["target"], choices, str(recorded.get("solution") or ""))

    @classmethod
    def of_log(cls, row: LogRow) -> _Prompt | None:
        """Return the prompt of a generation in a log; None where the log states nothing of it."""
        if row.messages is None and not row.choices and row.target is None:
            return None
        return cls(row.variant, parse_messages(row.messages or ()), row.target, row.choices)


def _number_on(rows: Sequence[LogRow], earlier: Sequence[Response]) -> Iterator[Response]:
    """Yield generations of a log, whose numbers continue those of the same cell in earlier sources."""
    last: defaultdict[tuple[str, str], int] = defaultdict(int)
    for one in earlier:
        last[one.model, one.variant] = max(last[one.model, one.variant], one.generation)
    for row in sorted(rows, key=lambda row: tuple(getattr(row, name) for name in KEY)):
        values = {name: getattr(row, name) for name in COLUMNS}
        yield Response(**{**values, "generation": row.generation + last[row.model, row.variant]})


def _find_solution(target: str) -> str:
    r"""Return the text of a target before its last line, if that line states the answer behind `####` as in GSM8K.

    >>> _find_solution("2 + 2 = 4\n#### 4"), _find_solution("#### 4"), _find_solution("x = 1  #### one\ny = 2")
    ('2 + 2 = 4', '', '')
    """
    match = re.fullmatch(r"(.*)\n#### ?[^\n#]+", target.strip(), re.DOTALL)
    return match[1].strip() if match else ""


def parse_messages(messages: Iterable[Mapping[str, object]]) -> tuple[tuple[str, str], ...]:
    """Return role and text of each message; content that is no text, such as a list of parts, as JSON."""

    def as_text(content: object) -> str:
        return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)

    return tuple((str(message.get("role")), as_text(message.get("content"))) for message in messages)


def split_prompt(message: str, template: str | None) -> tuple[str, tuple[str, ...]]:
    r"""Return text and choices of a question from a filled-in template; the message itself where it does not fit.

    >>> split_prompt("Q: Which?\nA. yes\nB. no", "Q: {question}\n{choices}")
    ('Which?', ('yes', 'no'))
    >>> split_prompt("something else", "Q: {question}")
    ('something else', ())
    """
    if template is None:
        return message, ()
    fields = {re.escape("{question}"): "(?P<question>.*?)", re.escape("{choices}"): r"(?P<choices>A\. .*)"}
    pattern = re.escape(template)
    for name, part in fields.items():
        if pattern.count(name) > 1:
            return message, ()
        pattern = pattern.replace(name, part)
    match = re.fullmatch(pattern, message, re.DOTALL)
    if match is None or "question" not in match.groupdict():
        return message, ()
    parts = _CHOICE.split(match.groupdict().get("choices") or "")[1:]
    if parts[::2] != [chr(ord("A") + i) for i in range(len(parts) // 2)]:
        return message, ()
    return match["question"], tuple(text.removesuffix("\n") for text in parts[1::2])
