"""The parts of a benchmark: questions, a prompt, and functions that read and grade an answer.

`parse_choices` and `parse_targets` read the choices and the target of a row in any supported form.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol

from howsure.benchmarks.row_fields import get_value, parse_list
from howsure.errors import InputError
from howsure.scorers.completion_text import CompletionContext, ContextExtractor, accept_context, find_stops
from howsure.scorers.scorer_parts import Scorer
from howsure.scorers.targets import write_targets

Message = dict[str, str]
"""A chat message: `{"role": "system" | "user" | "assistant", "content": text}`."""

#: A value that needs random draws, such as a shuffle, followed by the key of its draws.
_KEYED = re.compile(r"(.*?) ?[0-9a-f]{16}", re.DOTALL)
_FIELD = re.compile(r"\{(question|choices)\}")
#: The place of the choices with the line breaks before it, which questions without choices leave out.
_CHOICES_LINE = re.compile(r"\n*\{choices\}")
#: A letter as a target, perhaps in parentheses.
_LETTER = re.compile(r"\(?([A-Za-z])[).]?")
#: Longest text before a question that is its marker and not an instruction, in characters.
_LONGEST_MARKER = 40
#: Choices are lettered, so there can be no more of them than letters.
MAX_CHOICES = 26
#: Function of (target, labels of the row, choices) that returns the index of the choice, or None.
TargetParser = Callable[[str, Sequence[str], Sequence[str]], int | None]


@dataclass(frozen=True, slots=True)
class Question:
    """One question; its `id` is unique in the benchmark and does not depend on the position of the question.

    Examples
    --------
    >>> question = Question("capital", "Which is the capital of Chile?", target="A", choices=("Santiago", "Lima"))
    >>> question.choices[ord(question.target) - ord("A")]
    'Santiago'
    """

    id: str
    text: str
    target: str
    """The right answer in canonical form, as the benchmark's `extract` returns answers."""
    alternatives: tuple[str, ...] = ()
    """Other possible answers in canonical form, where they are known."""
    choices: tuple[str, ...] = ()
    """Texts of the choices in their original order. The canonical answer is then a letter: A for the first."""
    accepted: tuple[str, ...] = ()
    """Further answers that are right, for scorers of open answers."""
    stratum: str = ""
    """Part of the benchmark from which its demonstrations come, such as a subject; empty for all of it."""
    solution: str = ""
    """Reference solution that the file has before the target; reviewers see it, no prompt has it."""
    turns: tuple[tuple[str, str], ...] = ()
    """Its messages as (role, content) where another program wrote the prompt; empty for those of a `Prompt`."""

    @property
    def stored_target(self) -> str:
        """The target as a run stores it: a JSON list where several answers are right."""
        return write_targets((self.target, *self.accepted))


class ParsedAnswer(NamedTuple):
    """The answer that was read from a completion.

    Examples
    --------
    >>> ParsedAnswer("42", "final answer").answer
    '42'
    """

    answer: str | None
    """Answer in canonical form; None when no answer could be read."""
    rule: str
    """The rule by which it was read, or the reason why none was read; "benchmark" for the benchmark's `extract`."""


class Variant(Protocol):
    """A prompt variant: the prompts of all questions of a benchmark, and the reading of completions."""

    @property
    def id(self) -> str:
        """The hash of the content."""
        ...

    @property
    def values(self) -> Mapping[str, str]:
        """The value on each dimension of the space, by name; the manifest stores them with the id."""
        ...

    def messages(self, question: Question) -> list[Message]:
        """Return the chat messages for one question."""
        ...

    def read(self, question: Question, completion: str, *, truncated: bool = False) -> ParsedAnswer:
        """Return the answer of a completion, which may be cut, in the canonical form of the benchmark."""
        ...

    def build_context(self, question: Question, *, truncated: bool = False) -> CompletionContext:
        """Return what is known about a completion for one question, besides its text."""
        ...

    def write_answer(self, question: Question, answer: str) -> str:
        """Return a canonical answer as a model would write it under this variant; `read` is the inverse."""
        ...

    def record(self, question: Question) -> dict[str, object]:
        """Return the record of a prompt that a run stores: hash of messages, labels, order and demonstrations."""
        ...


def strip_draw_key(value: str) -> str:
    """Return the value of a variant on a dimension without the key of its draws; "nested" for a nested dimension.

    >>> strip_draw_key("shuffle 0123456789abcdef"), strip_draw_key("nested 0123456789abcdef"), strip_draw_key("greek")
    ('shuffle', 'nested', 'greek')
    """
    match = _KEYED.fullmatch(value)
    return match[1] if match and match[1] else value


class Demonstration(NamedTuple):
    """A question that is shown with its answer before the question that is asked.

    Examples
    --------
    >>> Demonstration(Question("sum", "1 + 1?", target="2"), "Answer: 2").answer
    'Answer: 2'
    """

    question: Question
    answer: str
    """The answer as an assistant's turn shows it, with its reasoning if the prompt asks for it."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt with the fields `{question}` and `{choices}`, which become the question and lettered lines.

    Examples
    --------
    >>> Prompt("Be brief.", "{question} Answer:").messages(Question("sum", "1 + 1?", target="2"))
    [{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': '1 + 1? Answer:'}]
    """

    system: str = ""
    template: str = "{question}"
    demonstrations: tuple[Demonstration, ...] = ()
    """Turns before the question: those of its stratum, and those without a stratum."""

    @property
    def id(self) -> str:
        """The hash of the content, which is equal for the same text on every machine."""
        content = f"{self.system}\0{self.template}"
        if self.demonstrations:
            content += "".join(
                f"\0{demonstration.question.id}\0{demonstration.answer}" for demonstration in self.demonstrations
            )
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    @property
    def stops(self) -> tuple[str, ...]:
        """The text with which the template begins a question, as a stop string; none if it has no such text."""
        return _find_template_stops(self.template)

    def messages(self, question: Question) -> list[Message]:
        """Return the chat messages for one question."""
        if question.turns:
            return self._adapt_turns(question)
        messages: list[Message] = [{"role": "system", "content": self.system}] if self.system else []
        for demonstration in self.demonstrations:
            if (
                demonstration.question.stratum in ("", question.stratum)
                and demonstration.question.text != question.text
            ):
                messages += [self._ask(demonstration.question), {"role": "assistant", "content": demonstration.answer}]
        return [*messages, self._ask(question)]

    def _adapt_turns(self, question: Question) -> list[Message]:
        """Return the messages of another program with this system message, and the last question in this template."""
        messages: list[Message] = [{"role": role, "content": content} for role, content in question.turns]
        if self.system:
            rest = messages[1:] if messages[0]["role"] == "system" else messages
            messages = [{"role": "system", "content": self.system}, *rest]
        places = [place for place, message in enumerate(messages) if message["role"] == "user"]
        if self.template != "{question}" and places:
            content = messages[places[-1]]["content"]
            messages[places[-1]] = {"role": "user", "content": self.template.replace("{question}", content)}
        return messages

    def _ask(self, question: Question) -> Message:
        """Return the user's message with a question."""
        fields = {
            "question": question.text,
            "choices": "\n".join(f"{chr(ord('A') + i)}. {text.strip()}" for i, text in enumerate(question.choices)),
        }
        template = self.template if question.choices else _CHOICES_LINE.sub("", self.template)
        # The fields are filled in one pass, so that braces in a question stay as they are.
        return {"role": "user", "content": _FIELD.sub(lambda match: fields[match[1]], template)}


@dataclass(frozen=True)
class Benchmark:
    """Questions, a prompt, and functions that read and grade an answer.

    Attributes
    ----------
    extract
        Function from a completion to the canonical answer, or None when no answer can be read; it must not guess. If it
        has a parameter `context`, it also receives a `CompletionContext`.
    grade
        Function of (answer, target) to the score: 1.0 for right and 0.0 for wrong, or partial credit.
    clusters
        Cluster of each question (a shared template or passage), or empty.
    strata
        Value of each question by the name of a stratum, such as its subject or level.
    source
        Source of the questions for the manifest: name, file, hash of the content, parameters.
    language
        Code of the language of the questions, such as "de"; empty if it is unknown.
    scorer
        Reads and grades answers to questions without choices in place of `extract` and `grade`, or None.
    is_judged
        Whether completions get no score when they arrive, because a judge scores them afterwards.
    unparsed_score
        Score of a completion without an answer: 0, or None where it has no score.
    pin
        What prompt variants keep as the file has it: "choices" for the order and the labels of choices, or "".
    decoding
        Decoding settings of models that the experiment gives none, by the names of `models.model.Settings`.

    Examples
    --------
    >>> benchmark = Benchmark("sums", [Question("sum", "1 + 1?", target="2")], Prompt(), extract=str.strip)
    >>> benchmark.grade(benchmark.extract(" 2 "), benchmark.questions[0].target)
    1.0
    """

    name: str
    questions: Sequence[Question]
    prompt: Prompt
    extract: Callable[[str], str | None]
    grade: Callable[[str, str], float] = field(default=lambda answer, target: float(answer == target))
    clusters: Sequence[str] = ()
    strata: Mapping[str, Sequence[str]] = field(default_factory=dict)
    source: dict[str, str] = field(default_factory=dict)
    language: str = ""
    scorer: Scorer | None = None
    is_judged: bool = False
    unparsed_score: float | None = 0.0
    pin: str = ""
    decoding: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def extract_in_context(self) -> ContextExtractor:
        """`extract` as a function that also takes a context."""
        return accept_context(self.extract)


@lru_cache(maxsize=64)
def _find_template_stops(template: str) -> tuple[str, ...]:
    """Return the stop strings of a template; they are asked for with each completion."""
    line = template.partition("{question}")[0].rstrip().rpartition("\n")[2]
    return find_stops(line) if line.endswith(":") and len(line) <= _LONGEST_MARKER else ()


def _index_of_letter(target: str, _labels: Sequence[str], choices: Sequence[str]) -> int | None:
    """Return the index of a target that is a letter."""
    letter = match[1] if (match := _LETTER.fullmatch(target)) else ""
    index = ord(letter.upper()) - ord("A") if letter else -1
    return index if 0 <= index < len(choices) else None


def _parse_number_from(first: int) -> TargetParser:
    """Return the parser of targets that count from `first`."""

    def parse(target: str, _labels: Sequence[str], choices: Sequence[str]) -> int | None:
        index = int(target) - first if target.isascii() and target.isdigit() and len(target) < 4 else -1
        return index if 0 <= index < len(choices) else None

    return parse


def _index_of_text(target: str, _labels: Sequence[str], choices: Sequence[str]) -> int | None:
    """Return the index of a target that is the text of a choice."""
    return choices.index(target) if target in choices else None


def _index_of_label(target: str, labels: Sequence[str], _choices: Sequence[str]) -> int | None:
    """Return the index of a target that is a label of the row."""
    return labels.index(target) if target in labels else None


def _index_of_flag(target: str, _labels: Sequence[str], choices: Sequence[str]) -> int | None:
    """Return the place of the only 1 in a list with a 0 or 1 for each choice."""
    flags = parse_list(target)
    if (
        not isinstance(flags, list)
        or len(flags) != len(choices)
        or sorted(map(str, flags)) != ["0"] * (len(flags) - 1) + ["1"]
    ):
        return None
    return [str(flag) for flag in flags].index("1")


#: Kind of target -> how it names its choice: the row's own label, a letter, a place from 0 or from 1, the text, or a
#: list with a 1 for the right choice and a 0 for each other one.
TARGETS: dict[str, TargetParser] = {
    "label": _index_of_label,
    "letter": _index_of_letter,
    "index": _parse_number_from(0),
    "number": _parse_number_from(1),
    "text": _index_of_text,
    "flags": _index_of_flag,
}


def parse_choices(
    row: Mapping[str, object], fields: Sequence[str], where: str, *, first_is_right: bool = False
) -> tuple[list[str], list[str]]:
    """Return the texts of the choices of a row, and the labels that it gives them, if any.

    One field holds a list, a list as text (in JSON, or as Python writes it), or `{text: [...], label: [...]}`. Several
    fields hold one choice each; the last ones may be empty. Where the first field holds the right choice, a single
    field after it may hold a list of all wrong ones.

    Raises
    ------
    UnknownNameError
        When the row does not have a field.
    InputError
        When the fields hold something else.
    """
    values = [get_value(row, name, where) for name in fields]
    if first_is_right and len(values) == 2:
        values = [values[0], *_parse_wrong_choices(values[1])]
    choices, labels = _parse_list(values)
    if choices is None:
        what = f"field {fields[0]!r} holds no list of choices"
        of_object = [f"{fields[0]}.{key}" for key in values[0]] if isinstance(values[0], Mapping) else []
        remedy = f"choices: [{', '.join(of_object or 'ABCD')}]"
        raise InputError(what, where=where, remedy=f"give a list, or several fields: {remedy}")
    if any(_is_empty(choice) or isinstance(choice, list | dict) for choice in choices):
        raise InputError("a choice is empty or no text", where=where, remedy="fill it in, or remove the row")
    texts = [json.dumps(choice) if isinstance(choice, bool) else str(choice) for choice in choices]
    if not 2 <= len(texts) <= MAX_CHOICES:
        raise InputError(f"{len(texts)} choices", where=where, remedy=f"give 2 to {MAX_CHOICES}, or remove the row")
    return texts, labels if len(labels) == len(texts) else []


def find_equal_choices(choices: Sequence[str]) -> tuple[str, str] | None:
    """Return the first two choices that are equal for a reader; None when all differ.

    Spaces, a full stop at the end and the case of the first letter of a word do not count. Other letters do: the
    genotypes Aa and aa differ.

    >>> find_equal_choices(["Rome", "Oslo", "rome."]), find_equal_choices(["Aa", "aa", "AA"])
    (('Rome', 'rome.'), None)
    """
    by_text: dict[str, str] = {}
    for choice in choices:
        text = " ".join(choice.split()).removesuffix(".").strip() or choice
        if text[:3].isalpha() and len(text) > 2:
            text = text[0].lower() + text[1:]
        if text in by_text:
            return by_text[text], choice
        by_text[text] = choice
    return None


def _parse_list(values: list[object]) -> tuple[list[object] | None, list[str]]:
    """Return the choices, and the labels that the row gives them; None when there is no list."""
    if len(values) > 1:
        while values and _is_empty(values[-1]):
            values.pop()
        return values, []
    content: object = values[0]
    labels: object = None
    if isinstance(content, str):
        content = parse_list(content)
    if isinstance(content, Mapping):
        labels = content.get("label")
        content = content.get("text")
    names = [str(label) for label in labels] if isinstance(labels, list | str) else []
    return (content if isinstance(content, list) else None), names


def _parse_wrong_choices(value: object) -> list[object]:
    """Return the wrong choices of a field with a list of them; the value itself, such as the text [1, 2], otherwise."""
    content = parse_list(value) if isinstance(value, str) else value
    is_list = isinstance(content, list) and (value is content or all(isinstance(one, str) for one in content))
    return list(content) if isinstance(content, list) and is_list else [value]


def _is_empty(choice: object) -> bool:
    """Return whether a choice is missing or blank."""
    return choice is None or (isinstance(choice, str) and not choice.strip())


def parse_targets(
    targets: Sequence[str],
    choices: Sequence[Sequence[str]],
    labels: Sequence[Sequence[str]],
    places: Sequence[str],
    *,
    file: str,
    kind: str | None = None,
) -> list[str]:
    """Return the letter of each target.

    All targets of a file are of one kind: the only kind that fits every row, or `kind`.

    Parameters
    ----------
    targets, choices, labels, places
        Target, choices, labels of the choices, and place in the file of each row.
    file
        Name of the file in errors.
    kind
        A key of `TARGETS`, or None to find the kind.

    Raises
    ------
    InputError
        When no kind fits every row, or two kinds do and disagree.
    """
    fitting = {}
    worst: tuple[int, str] = (-1, "")
    for name in [kind] if kind else TARGETS:
        indices = [TARGETS[name](t.strip(), own, c) for t, own, c in zip(targets, labels, choices, strict=True)]
        if None not in indices:
            fitting[name] = indices
        elif (first := indices.index(None)) > worst[0]:
            worst = (first, places[first])
    if "label" in fitting:
        fitting = {"label": fitting["label"]}  # the labels of the row determine the choice
    if not fitting:
        what = f"target {targets[worst[0]]!r} is none of the choices"
        remedy = "correct the row; a target is a letter, a place, or the text of a choice"
        raise InputError(what, where=f"{file}, {worst[1]}", remedy=remedy)
    chosen, *others = fitting.values()
    if any(other != chosen for other in others):
        what = "the targets can be read in several ways: " + ", ".join(fitting)
        raise InputError(what, where=file, remedy=f"say which: target_is: {next(iter(fitting))}")
    return [chr(ord("A") + index) for index in chosen if index is not None]
