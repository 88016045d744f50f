"""What all points of a space share: its dimensions, its templates, its pool, and how answers are read."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from howsure.benchmarks.question import Message, Question, Read
from howsure.errors import InputError, UnknownNameError
from howsure.extraction.choices import read_choice
from howsure.perturb.dimensions import KNOWN, Dimension, Value
from howsure.perturb.hash_draws import below, key, permutation
from howsure.perturb.rendering import Form, messages

__all__ = ["Pick", "Point", "Space"]


def _unbound(_: str) -> str | None:
    remedy = "bind the space first: bind(space, benchmark)"
    raise InputError("the space does not know how answers are read", where="space", remedy=remedy)


@dataclass(frozen=True)
class Space:
    """Points that differ in the values of some dimensions; the product is never built.

    Parameters
    ----------
    name
        For people; it enters no id.
    dimensions
        Those that this space draws; a built-in one that is left out keeps its default value.
    layout
        Of a question: a template with `{question}`, `{choices}`, `{labels}`, `{question_marker}`, `{answer_marker}`.
    head
        What stands before the questions: a template with `{instruction}` and the dimensions of one's own.
    system
        The system message, as `head`.
    pool
        Questions to take demonstrations from.
    extract
        How answers to questions without choices are read.

    Raises
    ------
    InputError
        When two dimensions have the same name.
    """

    name: str
    dimensions: tuple[Dimension, ...]
    layout: str = "{question_marker}{question}\n{choices}\n{answer_marker}"
    head: str = "{instruction}"
    system: str = ""
    pool: tuple[Question, ...] = ()
    extract: Callable[[str], str | None] = _unbound

    def __post_init__(self) -> None:
        for name, count in Counter(d.name for d in self.dimensions).items():
            if count > 1:
                raise InputError(f"two dimensions are called {name!r}", where="space", remedy="rename one")

    @property
    def size(self) -> int:
        """Number of points; a shuffle or a choice of demonstrations counts once, however many it can be."""
        return math.prod(len(d.values) for d in self.dimensions)

    def dimension(self, name: str) -> Dimension:
        """One dimension by name.

        Raises
        ------
        UnknownNameError
            When there is none.
        """
        if name not in self._by_name:
            raise UnknownNameError("dimension", name, self._by_name)
        return self._by_name[name]

    def taken(self, name: str) -> tuple[Value, ...]:
        """Values that a built-in dimension takes: those that are drawn, or its default."""
        return self._by_name[name].values if name in self._by_name else (self.defaults[name],)

    @cached_property
    def defaults(self) -> Mapping[str, Value]:
        """Value of each built-in dimension where a space does not draw it."""
        return {name: values[0] for name, values in KNOWN.items() if values} | {"layout": Value("own", self.layout)}

    @cached_property
    def pool_hash(self) -> str:
        """Content of the pool."""
        said = json.dumps([(q.id, q.text, q.target, q.choices) for q in self.pool], ensure_ascii=False)
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @cached_property
    def _by_name(self) -> dict[str, Dimension]:
        return {d.name: d for d in self.dimensions}

    def point(self, j: int, seed: int) -> Point:
        """Draw j, counted from 0, each dimension by its own hash of (seed, j, name of the dimension)."""
        return Point(self, {d.name: _pick(d, seed, j) for d in self.dimensions})

    def sample(self, n: int, seed: int) -> list[Point]:
        """Draws 0 to n - 1: i.i.d. uniform, with replacement; a larger n keeps the first ones.

        A point that is drawn again is a variant of its own, with its own id and generations: as many variants as
        draws, so the draws stay independent and every estimator that takes them so is right.

        Raises
        ------
        InputError
            When n is not at least 1.
        """
        if n < 1:
            raise InputError(f"a sample of {n} variants", where="variants", remedy="give 1 or more")
        drawn: Counter[tuple[Pick, ...]] = Counter()
        points = []
        for point in (self.point(j, seed) for j in range(n)):
            same = tuple(point.picks.values())
            drawn[same] += 1
            points.append(point if drawn[same] == 1 else replace(point, repeat=drawn[same]))
        return points


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

    space: Space = field(repr=False)
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
        place, rule = read_choice(
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


def _pick(dimension: Dimension, seed: int, j: int) -> Pick:
    if dimension.nested:
        return Pick(None, key(seed, j, dimension.name, "nested"))
    value = dimension.values[below(len(dimension.values), seed, j, dimension.name)]
    return Pick(value, key(seed, j, dimension.name, "key") if value.seeded else "")
