"""Define a space of prompt variants, and its points, each of which is one variant."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from howsure.benchmarks.question import Message, ParsedAnswer, Question
from howsure.errors import InputError, UnknownNameError
from howsure.prompts.dimensions import (
    BUILT_IN_VALUES,
    Dimension,
    Value,
    draw_below,
    draw_key,
    draw_permutation,
    find_language,
    resolve_values,
)
from howsure.prompts.prompt_texts import read_form, write_form
from howsure.prompts.question_fit import find_misfit, find_pins, remove_own_labels
from howsure.prompts.rendering import PromptForm, Replacement, build_messages, hash_messages
from howsure.prompts.surface_noise import NOISE_VERSION
from howsure.scorers.completion_text import (
    CompletionContext,
    ContextExtractor,
    accept_context,
    find_stops,
    share_context,
    write_context,
)
from howsure.scorers.multiple_choice import read_choice


def _refuse_unbound(_: str) -> str | None:
    """Raise the error of a space that is not bound to a benchmark."""
    remedy = "bind the space first: bind_space(space, benchmark)"
    raise InputError("the space has no function that reads answers", where="space", remedy=remedy)


@dataclass(frozen=True)
class Space:
    """A set of prompt variants that differ in the values of some dimensions; the product is never built.

    Parameters
    ----------
    name
        Name for display, which does not change any id.
    dimensions
        Dimensions that are drawn. A built-in dimension that is left out keeps its default value.
    layout
        Template of a question, with `{question}`, `{choices}`, `{labels}`, `{question_marker}`, `{answer_marker}`.
    head
        Template of the text before the questions, with `{instruction}` and the names of further dimensions.
    system
        Template of the system message, with the same fields as `head`.
    pool
        Questions from which demonstrations are taken.
    extract
        Function that reads the answers to questions without choices.
    language
        Code of the language of the questions; empty if it is unknown.
    paraphrases
        Reviewed paraphrases of questions by the id of the question, for the dimension `wording`.

    Raises
    ------
    InputError
        When two dimensions have the same name.

    Examples
    --------
    >>> from howsure.prompts.dimensions import parse_dimension
    >>> dimensions = parse_dimension("markers", ["Q/A", "lines"]), parse_dimension("casing", ["as-is", "upper"])
    >>> space = Space("mine", dimensions)
    >>> space.size, space.point(0, seed=1).values
    (4, {'markers': 'Q/A', 'casing': 'upper'})
    """

    name: str
    dimensions: tuple[Dimension, ...]
    layout: str = "{question_marker}{question}\n{choices}\n{answer_marker}"
    head: str = "{instruction}"
    system: str = ""
    pool: tuple[Question, ...] = ()
    extract: Callable[[str], str | None] = _refuse_unbound
    language: str = ""
    paraphrases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, count in Counter(d.name for d in self.dimensions).items():
            if count > 1:
                raise InputError(f"two dimensions are called {name!r}", where="space", remedy="rename one")

    @property
    def size(self) -> int:
        """Return the number of points; a shuffle or a selection of demonstrations counts as one value."""
        return math.prod(len(d.values) for d in self.dimensions)

    def dimension(self, name: str) -> Dimension:
        """Return the dimension with a name.

        Raises
        ------
        UnknownNameError
            When there is none.
        """
        if name not in self._by_name:
            raise UnknownNameError("dimension", name, self._by_name)
        return self._by_name[name]

    def pin(self, what: str) -> Space:
        """Return the space without the dimensions that a pin keeps as the file has them; "" keeps none."""
        pinned = ("order", "enumerator") if what == "choices" else ()
        return replace(self, dimensions=tuple(d for d in self.dimensions if d.name not in pinned)) if pinned else self

    def values_of(self, name: str) -> tuple[Value, ...]:
        """Return the values of a built-in dimension: those that are drawn, or its default."""
        return self._by_name[name].values if name in self._by_name else (self.defaults[name],)

    @cached_property
    def defaults(self) -> dict[str, Value]:
        """Return the value of each built-in dimension that a space does not draw."""
        return {name: values[0] for name, values in BUILT_IN_VALUES.items() if values} | {
            "layout": Value("own", self.layout)
        }

    @cached_property
    def extract_in_context(self) -> ContextExtractor:
        """Return `extract` as a function that also takes a context."""
        return accept_context(self.extract)

    @cached_property
    def pool_hash(self) -> str:
        """Return the hash of the content of the pool."""
        text = json.dumps([(q.id, q.text, q.target, q.choices) for q in self.pool], ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @cached_property
    def plain_pool(self) -> tuple[Question, ...]:
        """Return the questions of the pool that every label and separator fits; all if these are too few."""
        plain = tuple(
            question
            for question in self.pool
            if not any(
                find_misfit(name, v, question) for name in ("enumerator", "separator") for v in self.values_of(name)
            )
        )
        most = max(int(str(value.content)) for value in self.values_of("demonstrations"))
        return plain if len(plain) >= most else self.pool

    @cached_property
    def _by_name(self) -> dict[str, Dimension]:
        return {d.name: d for d in self.dimensions}

    def point(self, j: int, seed: int) -> PromptPoint:
        """Return draw j, counted from 0; each dimension is drawn by the hash of (seed, j, name of the dimension)."""
        return PromptPoint(self, {d.name: _draw_value(d, seed, j) for d in self.dimensions})

    def sample(self, n: int, seed: int) -> list[PromptPoint]:
        """Return draws 0 to n - 1: i.i.d. uniform, with replacement; a larger n keeps the first ones.

        A point that is drawn again is another variant, with its own id and generations. There are as many variants as
        draws, so that the draws are independent, as the estimators assume.

        Raises
        ------
        InputError
            When n is not at least 1.
        """
        if n < 1:
            raise InputError(f"a sample of {n} variants", where="variants", remedy="give 1 or more")
        counts: Counter[tuple[DrawnValue, ...]] = Counter()
        points = []
        for point in (self.point(j, seed) for j in range(n)):
            values = tuple(point.draws.values())
            counts[values] += 1
            points.append(point if counts[values] == 1 else replace(point, repeat=counts[values]))
        return points


class DrawnValue(NamedTuple):
    r"""The value that was drawn on one dimension.

    Examples
    --------
    >>> DrawnValue(Value("tab", "\t")).value.name, DrawnValue(None, "0f").key
    ('tab', '0f')
    """

    value: Value | None
    """None where the dimension is nested: its value is drawn for each question from the key."""
    key: str = ""
    """Key of the draws that the value itself needs, or of the nested draws."""


@dataclass(frozen=True)
class PromptPoint:
    r"""A prompt variant with a value on every dimension of its space; a `benchmarks.question.Variant`.

    Attributes
    ----------
    repeat
        Number of draws of the sample up to this one with the same content; each of them is another variant.

    Examples
    --------
    >>> from howsure.prompts.dimensions import parse_dimension
    >>> point = Space("mine", (parse_dimension("markers", ["Q/A"]),)).point(0, seed=1)
    >>> point.messages(Question("q", "What is 2 + 2?", "4"))
    [{'role': 'user', 'content': 'Q: What is 2 + 2?\n\nA:'}]
    """

    space: Space = field(repr=False)
    draws: Mapping[str, DrawnValue]
    repeat: int = 1

    @cached_property
    def content(self) -> str:
        """Return the hash of everything that the prompts depend on; values at their defaults are left out."""
        defaults = self.space.defaults
        content: dict[str, object] = {"system": self.space.system, "head": self.space.head, "layout": self.space.layout}
        resolved = self._crossed_form.values
        nested_names = {name for name, (value, _) in self.draws.items() if value is None}
        has_nested_texts = bool({"language", "placement"} & nested_names)
        for name, (value, key) in self.draws.items():
            if value is None:
                nested = self.space.dimension(name).values
                content[name] = ["nested", key, *(v.content for v in nested)]
                if "language" in self.draws and any(v.translations for v in nested):
                    content[f"{name} translations"] = [sorted(v.translations.items()) for v in nested]
            elif name not in defaults or value.content != defaults[name].content:
                text = resolved[name].content
                content[name] = [text, key] if key else text
                if has_nested_texts and (value.translations or value.after):
                    content[f"{name} translations"] = [value.after, *sorted(value.translations.items())]
        if "demonstrations" in content:
            content["pool"] = self.space.pool_hash
        if "wording" in content:
            content["paraphrases"] = _hash_paraphrases(self.space.paraphrases)
        if "typos" in content or "spacing" in content:
            content["noise"] = NOISE_VERSION
        text = json.dumps(content, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    @property
    def id(self) -> str:
        """Return the hash of the content, with "-2" for the second draw of the same content, and so on."""
        return self.content if self.repeat == 1 else f"{self.content}-{self.repeat}"

    @cached_property
    def values(self) -> dict[str, str]:
        """Return the names of the values by dimension, each followed by its key if it has one."""
        return {
            name: " ".join(part for part in ("nested" if value is None else value.name, key) if part)
            for name, (value, key) in self.draws.items()
        }

    def messages(self, question: Question) -> list[Message]:
        """Return the chat messages for one question."""
        form = self._form(question)
        question = self._reword(question, form)
        return build_messages(form, question, self._demonstrations(form))

    def read(self, question: Question, completion: str, *, truncated: bool = False) -> ParsedAnswer:
        """Return the answer that a completion gives: the original letter of a choice, or what the benchmark reads."""
        form = self._form(question)
        question = self._reword(question, form)
        context = self._build_context(question, form, truncated=truncated)
        template = form.answer_template()
        # A label alone is what the reader of choices looks for first. The form of a completion that was cut may be cut.
        is_read_as_form = template and not truncated and not (question.choices and template == "{x}")
        stated = read_form(template, completion) if is_read_as_form else None
        if not question.choices:
            answer = None if stated is None else self.space.extract_in_context(stated, context=context)
            if answer is not None:
                return ParsedAnswer(answer, "demanded form")
            return ParsedAnswer(self.space.extract_in_context(completion, context=context), "benchmark")
        order, labels = form.order(question), form.labels(question)
        place, rule = None, ""
        if stated is not None:
            place, _ = read_choice(stated, labels, context.choices, expects_label=True, context=context)
            rule = "demanded form"
        if place is None:
            expects_label = self._expects_label(form)
            place, rule = read_choice(completion, labels, context.choices, expects_label=expects_label, context=context)
        return ParsedAnswer(None if place is None else chr(ord("A") + order[place]), rule)

    def build_context(self, question: Question, *, truncated: bool = False) -> CompletionContext:
        """Return what is known about a completion: question, choices as shown, and the marker of a further question."""
        form = self._form(question)
        return self._build_context(self._reword(question, form), form, truncated=truncated)

    def _build_context(self, question: Question, form: PromptForm, *, truncated: bool = False) -> CompletionContext:
        """Return what is known about a completion, for a question in its wording."""
        choices = tuple(question.choices[i] for i in form.order(question)) if question.choices else ()
        return share_context(question.text, choices, truncated, find_stops(form.question_marker()), self.space.language)

    def write_answer(self, question: Question, answer: str) -> str:
        """Return an answer in the demanded form: the label, in brackets where it is the text of a choice too."""
        form = self._form(question)
        question = self._reword(question, form)
        template = form.answer_template() or "{x}"
        if not question.choices:
            return write_form(template, answer)
        original = ord(answer) - ord("A")
        label = form.labels(question)[form.order(question).index(original)]
        # In any case: "b" under lowercase labels may be read as the text "B".
        is_text = label.casefold() in (choice.casefold() for choice in question.choices)
        return write_form(template, f"({label})" if is_text else label)

    def record(self, question: Question) -> dict[str, object]:
        """Return what the run stores of a prompt: its hash, labels, order, demonstrations, nested and replaced values.

        `pinned` are the original indices of the choices that kept their place because they refer to others, with the
        words that were found; `replaced` has, by dimension, the value that was drawn, the one used, and the reason.
        """
        form = self._form(question)
        question = self._reword(question, form)
        demonstrations = self._demonstrations(form)
        context = self._build_context(question, form)
        record: dict[str, object] = {"prompt": hash_messages(build_messages(form, question, demonstrations))}
        if question.choices:
            order = form.order(question)
            record["labels"] = dict(zip(form.labels(question), order, strict=True))
            record["order"] = list(order)
            record["choices"] = list(context.choices)
            record["labels_asked"] = self._expects_label(form)
            pins = find_pins(question)
            if pins.choices and form.text("order") != "original":
                record["pinned"] = {"choices": list(pins.choices), "reason": pins.reason}
        record |= write_context(context)
        if question.solution:
            record["solution"] = question.solution
        if form.text("wording") != "original":
            record["wording"] = "paraphrase" if question.id in self.space.paraphrases else "original"
        if demonstrations:
            record["demonstrations"] = [question.id for question in demonstrations]
        if template := form.answer_template():
            record["answer_form"] = template
        if form.replaced:
            record["replaced"] = {name: replacement._asdict() for name, replacement in form.replaced.items()}
        nested = {name: form.values[name].name for name, draw in self.draws.items() if draw.value is None}
        return record | ({"values": nested} if nested else {})

    def _form(self, question: Question) -> PromptForm:
        """Return the values for one question, of which the last ones are kept: its completions come together."""
        form = self._last_form.get(question)
        if form is None:
            form = self._build_form(question)
            self._last_form.clear()
            self._last_form[question] = form
        return form

    @cached_property
    def _last_form(self) -> dict[Question, PromptForm]:
        """Return the values for the question that was used last."""
        return {}

    def _build_form(self, question: Question) -> PromptForm:
        """Return the values for one question; it keeps the original labels and separator where others do not fit it."""
        form = self._draw_form(question)
        question = self._reword(question, form)
        values, replaced = dict(form.values), dict[str, Replacement]()

        def use(name: str, used: Value, reason: str) -> None:
            if values[name].content != used.content:
                replaced[name] = Replacement(values[name].name, used.name, reason)
                values[name] = used

        if question.choices:
            for name in ("enumerator", "separator"):
                if reason := find_misfit(name, values[name], question):
                    use(name, self.space.defaults[name], reason)
            if form.n_demonstrations() and values["instruction"].asks == "label":
                use("answer", self.space.defaults["answer"], "the instruction asks for the label")
        markers = values["markers"].content
        assert isinstance(markers, tuple)
        if form.n_demonstrations() and form.text("turns") == "text":
            if form.answer_template().partition("{x}")[0].strip().endswith((":", "：")):
                used = Value(f"{values['markers'].name}, question only", (markers[0], ""))
                use("markers", used, "the demanded form marks the answers of examples")
            elif form.text("placement") == "after" and not any(markers):
                used = BUILT_IN_VALUES["markers"][1].resolve(find_language(values["language"]), "after")
                use("markers", used, "nothing marks the answers of examples after an instruction")
        return replace(form, values=values, replaced=replaced) if replaced else form

    def _reword(self, question: Question, form: PromptForm) -> Question:
        """Return a question with the paraphrase that is drawn for it, if it has one, and choices without own labels."""
        choices = remove_own_labels(question.choices)
        if choices != question.choices:
            question = replace(question, choices=choices)
        if form.text("wording") == "original" or question.id not in self.space.paraphrases:
            return question
        texts = self.space.paraphrases[question.id]
        return replace(question, text=texts[draw_below(len(texts), form.keys.get("wording", ""), question.id)])

    def _draw_form(self, question: Question) -> PromptForm:
        """Return the drawn values for one question."""
        if not any(draw.value is None for draw in self.draws.values()):
            return self._crossed_form
        values, keys = self._crossed_values, dict(self._crossed_form.keys)
        for name, (value, key) in self.draws.items():
            if value is None:
                nested = self.space.dimension(name).values
                values[name] = nested[draw_below(len(nested), key, question.id)]
                keys[name] = draw_key(key, question.id, "key")
        return PromptForm(self.space.system, self.space.head, resolve_values(values), keys)

    @property
    def _crossed_values(self) -> dict[str, Value]:
        """Return the drawn values that all questions share, and the default value of every other dimension."""
        return self.space.defaults | {name: value for name, (value, _) in self.draws.items() if value is not None}

    @cached_property
    def _crossed_form(self) -> PromptForm:
        """Return the values that all questions share."""
        keys = {name: key for name, (value, key) in self.draws.items() if value is not None and key}
        return PromptForm(self.space.system, self.space.head, resolve_values(self._crossed_values), keys)

    def _demonstrations(self, form: PromptForm) -> list[Question]:
        """Return the first questions of a permutation of the pool in the order of the prompt; none is evaluated."""
        pool, key = self.space.plain_pool, form.keys.get("demonstrations", "")
        selected = [pool[i] for i in draw_permutation(len(pool), key, k=form.n_demonstrations())]
        return form.order_demonstrations([self._reword(question, form) for question in selected])

    def _expects_label(self, form: PromptForm) -> bool:
        """Return whether the prompt asks for a label or demonstrates answers with labels."""
        demonstrated = form.n_demonstrations() > 0 and form.text("answer") != "text"
        templates = (form.system, form.head, form.text("layout"), form.text("instruction"))
        requested = form.values["instruction"].asks == "label" or any("{labels}" in text for text in templates)
        return demonstrated or requested or bool(form.answer_template())


def _draw_value(dimension: Dimension, seed: int, j: int) -> DrawnValue:
    """Return the value of draw j on one dimension."""
    if dimension.nested:
        return DrawnValue(None, draw_key(seed, j, dimension.name, "nested"))
    value = dimension.values[draw_below(len(dimension.values), seed, j, dimension.name)]
    return DrawnValue(value, draw_key(seed, j, dimension.name, "key") if value.seeded else "")


def _hash_paraphrases(paraphrases: Mapping[str, tuple[str, ...]]) -> str:
    """Return the hash of the texts of all paraphrases."""
    text = json.dumps(sorted((key, list(texts)) for key, texts in paraphrases.items()), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
