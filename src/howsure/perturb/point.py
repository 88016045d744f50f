"""One point of a space: a prompt variant."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from howsure.benchmarks.choices import read
from howsure.benchmarks.question import Message, Question, Read
from howsure.perturb.dimension import Value
from howsure.perturb.draw import below, key, permutation
from howsure.perturb.render import Form, messages
from howsure.perturb.terms import Terms

__all__ = ["Pick", "Point"]


class Pick(NamedTuple):
    """What was drawn on one dimension."""

    value: Value | None
    """None: nested, drawn for each question from the key."""
    key: str = ""
    """Of the draws that the value itself makes, or of the nested draws."""


@dataclass(frozen=True)
class Point:
    """A prompt variant with values on every dimension of its space; a `benchmarks.question.Variant`.

    Attributes
    ----------
    repeat
        How many draws of the sample up to this one have the same content: each is a variant of its own.
    """

    space: Terms = field(repr=False)
    picks: Mapping[str, Pick]
    repeat: int = 1

    @cached_property
    def content(self) -> str:
        """Hash of everything that enters its prompts; values at their defaults are left out."""
        defaults = self.space.defaults
        said: dict[str, object] = {"system": self.space.system, "head": self.space.head, "layout": self.space.layout}
        for name, (value, drawn) in self.picks.items():
            if value is None:
                said[name] = ["nested", drawn, *(v.content for v in self.space.dimension(name).values)]
            elif name not in defaults or value.content != defaults[name].content:
                said[name] = [value.content, drawn] if drawn else value.content
        if "demonstrations" in said:
            said["pool"] = self.space.pool_hash
        text = json.dumps(said, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    @property
    def id(self) -> str:
        """The content hash; with "-2" for the second draw of the same content, and so on."""
        return self.content if self.repeat == 1 else f"{self.content}-{self.repeat}"

    @cached_property
    def values(self) -> dict[str, str]:
        """Names of the values by dimension; a key follows the name of what it draws."""
        return {
            name: " ".join(part for part in ("nested" if value is None else value.name, drawn) if part)
            for name, (value, drawn) in self.picks.items()
        }

    def messages(self, question: Question) -> list[Message]:
        """Chat messages for one question."""
        form = self._form(question)
        return messages(form, question, self._demonstrations(form))

    def read(self, question: Question, completion: str) -> Read:
        """The answer that a completion gives: of choices the original letter, else as the benchmark reads it."""
        if not question.choices:
            return Read(self.space.extract(completion), "benchmark")
        form = self._form(question)
        order = form.order(question)
        place, rule = read(
            completion,
            form.labels(question),
            [question.choices[i] for i in order],
            labels_asked=self._labels_asked(form),
        )
        return Read(None if place is None else chr(ord("A") + order[place]), rule)

    def say(self, question: Question, answer: str) -> str:
        """The canonical answer as a model would give it: its label; in brackets where that is a choice's text too."""
        if not question.choices:
            return answer
        form = self._form(question)
        original = ord(answer) - ord("A")
        label = form.labels(question)[form.order(question).index(original)]
        # However it is cased: "b" under lowercase labels may be read as the text "B".
        is_text = label.casefold() in (choice.casefold() for choice in question.choices)
        return f"({label})" if is_text else label

    def record(self, question: Question) -> dict[str, object]:
        """Label map, order, whether a label is asked for, demonstrations, nested values, and the hash of the prompt."""
        form = self._form(question)
        shown = self._demonstrations(form)
        prompt = json.dumps(messages(form, question, shown), ensure_ascii=False)
        kept: dict[str, object] = {"prompt": hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()}
        if question.choices:
            order = form.order(question)
            kept["labels"] = dict(zip(form.labels(question), order, strict=True))
            kept["order"] = list(order)
            kept["labels_asked"] = self._labels_asked(form)
        if shown:
            kept["demonstrations"] = [question.id for question in shown]
        nested = {name: form.values[name].name for name, pick in self.picks.items() if pick.value is None}
        return kept | ({"values": nested} if nested else {})

    def _form(self, question: Question) -> Form:
        """The values of one question."""
        if not any(pick.value is None for pick in self.picks.values()):
            return self._crossed
        values, keys = dict(self._crossed.values), dict(self._crossed.keys)
        for name, (value, drawn) in self.picks.items():
            if value is None:
                nested = self.space.dimension(name).values
                values[name] = nested[below(len(nested), drawn, question.id)]
                keys[name] = key(drawn, question.id, "key")
        return Form(self.space.system, self.space.head, values, keys)

    @cached_property
    def _crossed(self) -> Form:
        values = {name: value for name, (value, _) in self.picks.items() if value is not None}
        keys = {name: drawn for name, (value, drawn) in self.picks.items() if value is not None and drawn}
        return Form(self.space.system, self.space.head, {**self.space.defaults, **values}, keys)

    def _demonstrations(self, form: Form) -> list[Question]:
        """The first of a permutation of the pool, in its order; no question that is asked is in the pool."""
        pool = self.space.pool
        return [pool[i] for i in permutation(len(pool), form.keys.get("demonstrations", ""), k=form.shots())]

    def _labels_asked(self, form: Form) -> bool:
        """Whether the prompt shows that a label is wanted."""
        shown = form.shots() > 0 and form.text("answer") != "text"
        templates = (form.system, form.head, form.text("layout"), form.text("instruction"))
        return shown or form.values["instruction"].asks == "label" or any("{labels}" in text for text in templates)
