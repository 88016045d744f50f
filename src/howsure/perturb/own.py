"""The benchmark's own prompt, or one written by hand, as a variant among others."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from howsure.benchmarks.choices import read
from howsure.benchmarks.question import Benchmark, Message, Prompt, Question, Read
from howsure.perturb.labels import ENUMERATORS

__all__ = ["Own"]


@dataclass(frozen=True)
class Own:
    """A plain prompt, with the id that it always had; a `benchmarks.question.Variant`.

    Answers are read by the benchmark, those to questions with choices by their labels, as under every other variant.
    """

    benchmark: Benchmark
    prompt: Prompt

    @property
    def id(self) -> str:
        """That of the prompt."""
        return self.prompt.id

    @property
    def values(self) -> dict[str, str]:
        """System message and template."""
        return {"system": self.prompt.system, "template": self.prompt.template}

    def messages(self, question: Question) -> list[Message]:
        """Chat messages for one question."""
        return self.prompt.messages(question)

    def read(self, question: Question, completion: str) -> Read:
        """The answer that a completion gives."""
        if not question.choices:
            return Read(self.benchmark.extract(completion), "benchmark")
        labels = ENUMERATORS["capitals"][: len(question.choices)]
        # Nothing is known of what a prompt written by hand asks for; choices are lettered, so a letter is one.
        place, rule = read(completion, labels, question.choices, labels_asked=True)
        return Read(None if place is None else labels[place], rule)

    def say(self, question: Question, answer: str) -> str:  # noqa: ARG002  as every variant
        """The answer itself."""
        return answer

    def record(self, question: Question) -> dict[str, object]:
        """Label map, order, and the hash of the prompt."""
        prompt = json.dumps(self.messages(question), ensure_ascii=False)
        kept: dict[str, object] = {"prompt": hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()}
        if question.choices:
            order = range(len(question.choices))
            kept["labels"] = dict(zip(ENUMERATORS["capitals"], order, strict=False))
            kept["order"] = list(order)
            kept["labels_asked"] = True
        return kept
