"""One question under one choice of values to chat messages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from howsure.benchmarks.question import Message, Question
from howsure.perturb.dimensions import Value, order, spoken
from howsure.perturb.hash_draws import below

__all__ = ["FIELD", "Form", "cased", "messages", "spaced", "typed"]

FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Form:
    """The values that one question is asked with, `keys` those of their own draws: shuffle, demonstrations, slips."""

    system: str
    head: str
    values: Mapping[str, Value]
    keys: Mapping[str, str]

    def text(self, dimension: str) -> str:
        """Content of a value that is text."""
        return str(self.values[dimension].content)

    def order(self, question: Question) -> tuple[int, ...]:
        """Original index of the choice at each place."""
        return order(self.text("order"), question.choices, self.keys.get("order", ""), question.id)

    def labels(self, question: Question) -> tuple[str, ...]:
        """Labels of the places, without their wrapper."""
        labels = self.values["enumerator"].content
        assert isinstance(labels, tuple)
        return labels[: len(question.choices)]

    def wrapped(self, label: str) -> str:
        """A label as it stands before a choice."""
        return self.text("wrapper").replace("{label}", label)

    def shots(self) -> int:
        """Number of demonstrations."""
        k = self.values["demonstrations"].content
        assert isinstance(k, int)
        return k

    def block(self, question: Question) -> str:
        """A question with its choices and markers, up to where the answer goes."""
        choices = [question.choices[i] for i in self.order(question)]
        lines = [f"{self.wrapped(label)} {text}" for label, text in zip(self.labels(question), choices, strict=True)]
        before, after = (cased(marker, self.text("casing")) for marker in _pair(self.values["markers"]))
        fields = {
            "question": self._noisy(question.text, question.id),
            "choices": self.text("separator").join(lines),
            "labels": spoken(self.labels(question)) if choices else "",
            "question_marker": before,
            "answer_marker": after,
        }
        return _filled(self.text("layout"), fields).rstrip()

    def answer(self, question: Question) -> str:
        """The right answer as a demonstration gives it."""
        if not question.choices:
            return question.target
        original = ord(question.target) - ord("A")
        label = self.labels(question)[self.order(question).index(original)]
        text = question.choices[original]
        shown = {"label": label, "text": text, "label-text": f"{self.wrapped(label)} {text}"}
        return shown[self.text("answer")]

    def opening(self, question: Question) -> tuple[str, str]:
        """System message, and what stands before the first question."""
        fields = {name: str(value.content) for name, value in self.values.items()}
        said = {**fields, "labels": spoken(self.labels(question)) if question.choices else ""}
        instruction = cased(self._noisy(self.text("instruction"), "instruction"), self.text("casing"))
        said["instruction"] = _filled(instruction, said)
        return _filled(self.system, said).strip(), _filled(self.head, said).strip()

    def _noisy(self, text: str, of: str) -> str:
        """A text with its slips and spaces; the same for one question, wherever it stands."""
        slipped = typed(text, float(self.text("typos")), self.keys.get("typos", ""), of)
        return spaced(slipped, self.text("spacing"))


def messages(form: Form, question: Question, demonstrations: Sequence[Question]) -> list[Message]:
    """Chat messages; demonstrations as text before the question, or as turns of their own."""
    system, opening = form.opening(question)
    pairs = [(form.block(shown), form.answer(shown)) for shown in demonstrations]
    asked = form.block(question)
    said: list[Message] = [{"role": "system", "content": system}] if system else []
    if form.text("turns") == "chat" and pairs:
        users = [block for block, _ in pairs] + [asked]
        users[0] = _joined(opening, users[0])
        for user, (_, answer) in zip(users, pairs, strict=False):
            said += [{"role": "user", "content": user}, {"role": "assistant", "content": answer}]
        return [*said, {"role": "user", "content": users[-1]}]
    _, marker = _pair(form.values["markers"])
    between = " " if marker and not marker.endswith("\n") else "\n"
    shown = [f"{block}{between}{answer}" for block, answer in pairs]
    return [*said, {"role": "user", "content": _joined(opening, *shown, asked)}]


def _pair(value: Value) -> tuple[str, str]:
    content = value.content
    assert isinstance(content, tuple)
    return content[0], content[1]


def _filled(template: str, fields: Mapping[str, str]) -> str:
    """In one pass: what a field says in braces stays as it is."""
    return FIELD.sub(lambda found: fields.get(found[1], found[0]), template)


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


_KEPT = re.compile(
    r"(\{\w+\}|\\\w+(?:\{[^{}]*\})?|\"[^\"\n]*\"|“[^”\n]*”|`[^`]*`|\$[^$\n]*\$|\S*\d\S*|\S*[#@/\\<>_=]\S*)"
)
_FIELD = re.compile(r"(\{\w+\}|\\\w+)")
_WORD = re.compile(r"(?<![\w'’])(?:[A-Z][a-z]{3,}|[a-z]{4,})(?![\w'’])")
#: Chances are whole numbers of these parts.
PARTS = 10**6


def cased(text: str, casing: str) -> str:
    """A text in another casing; fields and commands of LaTeX keep theirs.

    >>> cased("Give one of {labels}.", "upper")
    'GIVE ONE OF {labels}.'
    """
    if casing == "as-is":
        return text
    parts = _FIELD.split(text)
    return "".join(part if i % 2 else getattr(part, casing)() for i, part in enumerate(parts))


def spaced(text: str, spacing: str) -> str:
    """A text with two spaces between words, if `spacing` is "double".

    >>> spaced("Give one.", "double")
    'Give  one.'
    """
    return text if spacing == "as-is" else re.sub(r"(?<=\S) (?=\S)", "  ", text)


def typed(text: str, rate: float, *parts: object) -> str:
    """A text in which each word of four letters or more has a slip with chance `rate`, drawn by the hash of `parts`.

    A slip is two letters swapped, one left out, or one doubled, each as likely (equal ones that would be swapped are
    doubled); the first and the last letter stay.

    >>> typed("Which river runs through Paris?", 0.5, "seed")
    'Which rier ruuns through Pairs?'
    """
    if not rate:
        return text
    pieces = _KEPT.split(text)
    words = iter(range(len(text)))

    def word(found: re.Match[str]) -> str:
        return _slip(found[0], rate, *parts, next(words))

    return "".join(piece if i % 2 else _WORD.sub(word, piece) for i, piece in enumerate(pieces))


def _slip(word: str, rate: float, *parts: object) -> str:
    if below(PARTS, *parts) >= round(rate * PARTS):
        return word
    at = 1 + below(len(word) - 3, *parts, "place")
    kind = below(3, *parts, "kind")
    if kind == 0 and word[at] != word[at + 1]:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + word[at + 1 :] if kind == 1 else word[:at] + word[at] + word[at:]
