"""What every benchmark is made of: questions, a prompt, and how an answer is read from a completion."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

__all__ = ["Benchmark", "Message", "Prompt", "Question"]

Message = dict[str, str]
"""`{"role": "system" | "user" | "assistant", "content": text}`, as chat endpoints take it."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question: `id` is unique in its benchmark and does not depend on the question's position."""

    id: str
    text: str
    target: str
    """The right answer in canonical form, as the benchmark's `extract` returns answers."""
    alternatives: tuple[str, ...] = ()
    """Other answers one could give, in canonical form, where the benchmark knows them."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One way of asking: a prompt variant."""

    system: str = ""
    template: str = "{question}"

    @property
    def id(self) -> str:
        """Content hash: the same wording is the same variant on every machine."""
        return hashlib.sha256(f"{self.system}\0{self.template}".encode()).hexdigest()[:12]

    def messages(self, question: Question) -> list[Message]:
        """Chat messages for one question."""
        asked = {"role": "user", "content": self.template.replace("{question}", question.text)}
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
