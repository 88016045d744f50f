"""Render a question under a prompt variant as chat messages, with noise if the variant has it.

Noise (casing, spacing, typing errors) changes instructions and questions only, and choices never, so that labels and
answers keep their spelling; `surface_noise` says what else stays as it is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from howsure.benchmarks.question import Message, Question
from howsure.prompts.dimensions import (
    Value,
    draw_permutation,
    find_language,
    join_labels,
    order_choices,
    order_demonstrations,
)
from howsure.prompts.prompt_texts import LANGUAGES, write_form
from howsure.prompts.question_fit import find_pins
from howsure.prompts.surface_noise import add_typos, apply_casing, apply_spacing, is_about_spelling

#: A field of a template.
FIELD = re.compile(r"\{(\w+)\}")

#: The marker that a question has before it, and that of its answer on a last line of its own.
_OWN_MARKERS = re.compile(r"\A\s*(?:Q|Question|Problem):\s*(?=\S)|\n\s*(?:A|Answer):\s*\Z")


class Replacement(NamedTuple):
    """The value that was drawn on a dimension, the one that is used for a question, and the reason.

    Examples
    --------
    >>> Replacement("comma", "newline", "a choice has several lines").used
    'newline'
    """

    drawn: str
    used: str
    reason: str


@dataclass(frozen=True)
class PromptForm:
    """The values with which one question is rendered.

    Attributes
    ----------
    system, head
        Templates of the system message and of the text before the questions.
    values
        The value on each dimension.
    keys
        Keys of draws: shuffle, demonstrations, typos.
    replaced
        The drawn values that do not fit this question, and those used in their place.
    """

    system: str
    head: str
    values: Mapping[str, Value]
    keys: Mapping[str, str]
    replaced: Mapping[str, Replacement] = field(default_factory=dict)

    def text(self, dimension: str) -> str:
        """Return the content of a value that is text."""
        return str(self.values[dimension].content)

    def order(self, question: Question) -> tuple[int, ...]:
        """Return the original index of the choice at each place; choices that refer to others keep theirs."""
        drawn = order_choices(self.text("order"), question.choices, self.keys.get("order", ""), question.id)
        return find_pins(question).order(drawn)

    def labels(self, question: Question) -> tuple[str, ...]:
        """Return the labels of the places, without their wrapper."""
        labels = self.values["enumerator"].content
        assert isinstance(labels, tuple)
        return labels[: len(question.choices)]

    def wrap_label(self, label: str) -> str:
        """Return a label as it is written before a choice."""
        return self.text("wrapper").replace("{label}", label)

    def n_demonstrations(self) -> int:
        """Return the number of demonstrations."""
        k = self.values["demonstrations"].content
        assert isinstance(k, int)
        return k

    def question_marker(self) -> str:
        """Return the text before a question, as the prompt shows it."""
        return apply_casing(_texts(self.values["markers"])[0], self.text("casing"))

    def order_demonstrations(self, demonstrations: Sequence[Question]) -> list[Question]:
        """Return demonstrations in the order in which the prompt shows them."""
        lengths = [len(question.text) for question in demonstrations]
        key = self.keys.get("demonstration_order", "")
        places = order_demonstrations(self.text("demonstration_order"), lengths, key)
        return [demonstrations[i] for i in places]

    def join_labels(self, question: Question) -> str:
        """Return the labels of a question as a sentence in the language of the instruction lists them."""
        _, conjunction, comma, *_ = _texts(self.values["language"])
        return join_labels(self.labels(question), conjunction, comma) if question.choices else ""

    def answer_template(self) -> str:
        """Return the template of the demanded form of the answer, with `{x}` in its place, or an empty text."""
        template, *_ = _texts(self.values["answer_form"]) or ("",)
        return template

    def render_question(self, question: Question, instruction: str = "") -> str:
        """Return a question with its choices and markers, up to the place of the answer.

        An instruction that is given stands between the choices and the marker of the answer.
        """
        choices = [_strip_ends(question.choices[i]) for i in self.order(question)]
        if "\n" not in self.text("separator") and self.text("separator").strip():
            choices = [text.removesuffix(".") for text in choices]  # a separator takes the place of a full stop
        lines = [f"{self.wrap_label(label)} {text}" for label, text in zip(self.labels(question), choices, strict=True)]
        before, after = (apply_casing(marker, self.text("casing")) for marker in _texts(self.values["markers"]))
        text = _OWN_MARKERS.sub("", question.text)
        fields = {
            "question": self._add_noise(_strip_ends(text), question.id, question.choices),
            "choices": self.text("separator").join(lines),
            "labels": self.join_labels(question),
            "question_marker": before,
            "answer_marker": after,
        }
        if not instruction:
            return _fill(self.text("layout"), fields).rstrip()
        rest, answer_marker, end = self.text("layout").rpartition("{answer_marker}")
        layout, cue = (rest, answer_marker) if not end.strip() and answer_marker else (self.text("layout"), "")
        return _join_parts(_fill(layout, fields).rstrip(), instruction, _fill(cue, fields).rstrip())

    def render_answer(self, question: Question) -> str:
        """Return the right answer as a demonstration gives it, in the demanded form if there is one."""
        template = self.answer_template()
        if not question.choices:
            return write_form(template, question.target) if template else question.target
        original = ord(question.target) - ord("A")
        label = self.labels(question)[self.order(question).index(original)]
        if template:
            return write_form(template, label)
        text = question.choices[original]
        answers = {"label": label, "text": text, "label-text": f"{self.wrap_label(label)} {text}"}
        return answers[self.text("answer")]

    def render_head(self, question: Question, demonstrations: Sequence[Question] = ()) -> tuple[str, str]:
        """Return the system message, and the text that stands before the first question or after each.

        Where it stands before demonstrations too, it names the labels of the one of these that has most choices.
        """
        fields = {name: str(value.content) for name, value in self.values.items()}
        longest = max((question, *demonstrations), key=lambda one: len(one.choices))
        fields["labels"] = self.join_labels(longest)
        fields["answer_form"], demands = self._demands(question)
        texts = [self.text("instruction"), *demands]
        is_followed = len([text for text in texts if text]) > 1 or self._has_text_after()
        if is_followed and texts[0].endswith((":", "：")):
            texts[0] = texts[0][:-1].rstrip() + ("。" if texts[0].endswith("：") else ".")
        noisy = self._add_noise(_join_sentences(texts), "instruction")
        instruction = apply_casing(noisy, self.text("casing"))
        fields["instruction"] = _fill(instruction, fields)
        system, head = _fill(self.system, fields).strip(), _fill(self.head, fields).strip()
        return (_join_parts(system, head), "") if self.text("placement") == "system" else (system, head)

    def _has_text_after(self) -> bool:
        """Return whether something else than the question or its answer follows the instruction, as a passage does."""
        placement = self.text("placement")
        has_passage = bool(_texts(self.values["context"])) and not self.n_demonstrations()
        return placement == "system" or (
            has_passage if placement == "before" else bool(_texts(self.values["markers"])[1])
        )

    def _demands(self, question: Question) -> tuple[str, list[str]]:
        """Return the demanded form of the answer, and the sentences that ask for reasoning and for this form."""
        *_, brief_note, examples_note, language_note = _texts(self.values["language"])
        is_translated = find_language(self.values["language"]) != LANGUAGES[0]
        asks, reasoning = self.values["instruction"].asks, self.text("reasoning")
        # The note on brevity is about the instruction, which stands directly before it.
        sentences = [brief_note] if reasoning and asks == "brief" else []
        # A text in another language than the target would be wrong; labels and numbers are the same in all.
        is_text = not question.choices and asks != "working"
        sentences += [language_note] if is_translated and is_text else []
        sentences += [reasoning] if reasoning else []
        sentences += [examples_note] if (reasoning or asks == "working") and self.n_demonstrations() else []
        if not (form := _texts(self.values["answer_form"])):
            return "", sentences
        template, label, label_last, value, value_last, label_name, value_name = form
        is_last = bool(reasoning) or asks == "working"
        if question.choices:
            return write_form(template, f"<{label_name}>"), [*sentences, label_last if is_last else label]
        return write_form(template, f"<{value_name}>"), [*sentences, value_last if is_last else value]

    def _add_noise(self, text: str, name: str, choices: tuple[str, ...] = ()) -> str:
        """Return a text with its typos and spaces; they are the same for one question wherever it is used."""
        if name != "instruction" and is_about_spelling(text):
            return text
        mistyped = add_typos(text, float(self.text("typos")), self.keys.get("typos", ""), name, spared=choices)
        return apply_spacing(mistyped, self.text("spacing"))


def build_messages(form: PromptForm, question: Question, demonstrations: Sequence[Question]) -> list[Message]:
    """Return chat messages, with demonstrations as text before the question or as turns."""
    is_after = form.text("placement") == "after"
    system, head = form.render_head(question, () if is_after else demonstrations)

    def render_block(one: Question) -> str:
        return form.render_question(one, form.render_head(one)[1] if is_after else "")

    pairs = [(render_block(one), form.render_answer(one)) for one in demonstrations]
    passage = choose_passage(question, _texts(form.values["context"]), form.keys.get("context", ""))
    last = _join_parts(passage, render_block(question))
    head = "" if is_after else head
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    if form.text("turns") == "chat" and pairs:
        users = [block for block, _ in pairs] + [last]
        users[0] = _join_parts(head, users[0])
        for user, (_, answer) in zip(users, pairs, strict=False):
            messages += [{"role": "user", "content": user}, {"role": "assistant", "content": answer}]
        return [*messages, {"role": "user", "content": users[-1]}]
    _, marker = _texts(form.values["markers"])
    cue = apply_casing(marker, form.text("casing")).strip()
    # An answer without a marker would follow the demanded form as if it were its next line.
    between = " " if marker and not marker.endswith("\n") else "\n\n" if is_after and not marker else "\n"
    if cue.endswith("："):
        between = between.strip(" ")
    answers = [answer for _, answer in pairs]
    blocks = [f"{block}{between}{answer}" for (block, _), answer in zip(pairs, answers, strict=True)]
    return [*messages, {"role": "user", "content": _join_parts(head, *blocks, last)}]


def hash_messages(messages: list[Message]) -> str:
    """Return the SHA-256 hash of chat messages, which a run stores with each prompt."""
    text = json.dumps(messages, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _texts(value: Value) -> tuple[str, ...]:
    """Return the texts of a value that has several."""
    content = value.content
    assert isinstance(content, tuple)
    return content


def _strip_ends(text: str) -> str:
    """Return a text without blank lines at its ends, and without spaces there if it has one line."""
    stripped = text.strip("\r\n")
    return stripped if "\n" in stripped else stripped.strip()


def _fill(template: str, fields: Mapping[str, str]) -> str:
    """Return a template with its fields filled in one pass, so that braces in a value stay as they are."""
    return FIELD.sub(lambda match: fields.get(match[1], match[0]), template)


def _join_sentences(texts: Sequence[str]) -> str:
    """Return sentences as one text, with a space between them except after a full-width stop."""
    joined = ""
    for text in texts:
        joined += text if not joined or joined.endswith(("。", "？", "！")) or not text else f" {text}"
    return joined


def _join_parts(*parts: str) -> str:
    """Return the parts that are not empty, with a blank line between them."""
    return "\n\n".join(part for part in parts if part)


def choose_passage(question: Question, passages: Sequence[str], key: str) -> str:
    """Return the first passage, in an order drawn by the key, that shares no word with the answers of a question.

    Words of three letters or more and numbers count. The text is empty if every passage shares one.
    """
    answers = {word for text in (*question.choices, question.target, *question.alternatives) for word in _words(text)}
    drawn = (passages[i] for i in draw_permutation(len(passages), key, question.id))
    return next((passage for passage in drawn if not answers & set(_words(passage))), "")


def _words(text: str) -> list[str]:
    """Return the words of three letters or more and the numbers of a text, in lower case; common words are left out."""
    return [word for word in re.findall(r"\d+|[^\W\d_]{3,}", text.casefold()) if word not in _COMMON]


_COMMON = frozenset(
    {"and", "are", "but", "for", "from", "had", "has", "its", "not", "that", "the", "them", "was", "with"}
)
