"""What every benchmark is made of: questions, a prompt, and how an answer is read from a completion."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

__all__ = ["Benchmark", "Message", "ParsedAnswer", "Prompt", "Question", "Variant", "value_of"]

Message = dict[str, str]
"""`{"role": "system" | "user" | "assistant", "content": text}`, as chat endpoints take it."""

#: What follows a value that draws something itself, such as a shuffle: the key of its draws.
_KEYED = re.compile(r"(.*?) ?[0-9a-f]{16}", re.DOTALL)
_FIELD = re.compile(r"\{(question|choices)\}")


@dataclass(frozen=True, slots=True)
class Question:
    """One question: `id` is unique in its benchmark and does not depend on the question's position."""

    id: str
    text: str
    target: str
    """The right answer in canonical form, as the benchmark's `extract` returns answers."""
    alternatives: tuple[str, ...] = ()
    """Other answers one could give, in canonical form, where the benchmark knows them."""
    choices: tuple[str, ...] = ()
    """Texts to choose from, in their original order. The canonical answer is then a letter: A for the first."""


class ParsedAnswer(NamedTuple):
    """What was read from a completion."""

    answer: str | None
    """In canonical form; None: no answer could be read."""
    rule: str
    """How it was read, or why not; "benchmark" where the benchmark's own `extract` did."""


class Variant(Protocol):
    """One way of asking every question of a benchmark, and of reading what comes back."""

    @property
    def id(self) -> str:
        """Hash of its content."""
        ...

    @property
    def values(self) -> Mapping[str, str]:
        """Its value on each dimension of its space, by name; kept beside the id."""
        ...

    def messages(self, question: Question) -> list[Message]:
        """Chat messages for one question."""
        ...

    def read(self, question: Question, completion: str) -> ParsedAnswer:
        """The answer that a completion gives, in the benchmark's canonical form."""
        ...

    def write_answer(self, question: Question, answer: str) -> str:
        """How a model would write a canonical answer under this variant: `read` gives it back."""
        ...

    def record(self, question: Question) -> dict[str, object]:
        """What rebuilds the prompt of one question: label map, order, demonstrations, hash of the messages."""
        ...


def value_of(told: str) -> str:
    """The value that a variant tells on a dimension, without the key of what it draws; "nested" for a nested one.

    >>> value_of("shuffle 0123456789abcdef"), value_of("nested 0123456789abcdef"), value_of("greek")
    ('shuffle', 'nested', 'greek')
    """
    keyed = _KEYED.fullmatch(told)
    return keyed[1] if keyed and keyed[1] else told


@dataclass(frozen=True, slots=True)
class Prompt:
    """One way of asking: a prompt variant. `{question}` and `{choices}` are filled in, choices as lettered lines."""

    system: str = ""
    template: str = "{question}"

    @property
    def id(self) -> str:
        """Content hash: the same wording is the same variant on every machine."""
        return hashlib.sha256(f"{self.system}\0{self.template}".encode()).hexdigest()[:12]

    def messages(self, question: Question) -> list[Message]:
        """Chat messages for one question."""
        fields = {
            "question": question.text,
            "choices": "\n".join(f"{chr(ord('A') + i)}. {text}" for i, text in enumerate(question.choices)),
        }
        # In one pass: what a question says in braces stays as it is.
        asked = {"role": "user", "content": _FIELD.sub(lambda found: fields[found[1]], self.template)}
        return [{"role": "system", "content": self.system}, asked] if self.system else [asked]


@dataclass(frozen=True)
class Benchmark:
    """What to ask and how to read the answer.

    Attributes
    ----------
    extract
        Completion to canonical answer, or None when no answer can be read: never a guess.
    grade
        (answer, target) to a score; 1.0 for right and 0.0 for wrong, unless the benchmark has partial credit.
    clusters
        Cluster label per question (a shared template or passage), or empty.
    source
        Where the questions came from, for the manifest: name, file, content hash, parameters.
    """

    name: str
    questions: Sequence[Question]
    prompt: Prompt
    extract: Callable[[str], str | None]
    grade: Callable[[str, str], float] = field(default=lambda answer, target: float(answer == target))
    clusters: Sequence[str] = ()
    source: dict[str, str] = field(default_factory=dict)
