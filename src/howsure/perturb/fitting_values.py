"""Replace the values of a variant that do not fit one question: its labels, its separator, a phrase for reasoning.

A label that stands in a choice, a symbol beside a formula, or a separator inside a choice would make the prompt
ambiguous. The next value of the dimension that fits is used for that question, and the record of the prompt says so.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from howsure.benchmarks.question import Question
from howsure.perturb.dimensions import BUILT_IN_VALUES, ENUMERATORS, Value
from howsure.perturb.option_references import ROMAN, find_enumerated_labels, find_option_references
from howsure.perturb.question_demands import (
    asks_for_letter,
    asks_only_why,
    demands_explanation,
    demands_nothing_else,
    demands_own_answer,
    demands_own_form,
    demands_short_text,
    has_own_slot,
    has_own_text,
    refers_to_another_question,
    rules_out_explanation,
)

#: Separator of choices of which each has several lines.
BLANK_LINE = Value("blank line", "\n\n")
# Signs of formulas and code, beside which a symbol is no label.
_FORMULA = re.compile(
    r"[\\^_={}<>|~`#$@*+&%\[\]÷×·±√∞∑∏∫≤≥≠≈∈∉⊂⊃∪∩∀∃¬∧∨→⇒↔≡⊕]|\w\(|\d\s*[/:−-]\s*\d"
    r"|\b[a-zA-Z]\s*[/−-]\s*[a-zA-Z\d]\b|[⁰-₉²³¹]|;\s*$",
    re.MULTILINE,
)
_STARTS_WITH_NUMBER = re.compile(r"\s*[-−+.]?\d")
_STARTS_WITH_NUMERAL = re.compile(
    r"\W*(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|zwei|drei|vier|fünf|dos|tres|cuatro|cinco"
    r"|deux|trois|quatre|cinq|due|tre|quattro|cinque|два|две|три|четыре|пять)(?![^\W_])",
    re.IGNORECASE,
)
# What follows an article or a pronoun, but no label: "A cell", "I am"; "A is true" has a label.
_WORD_FOLLOWS = r"(?! [\"'“‘(]?(?!(?:is|are|and|or|nor|but|only|alone|was|then|if|to)\b)[^\W\d_]{2})"
_LATIN = re.compile(r"[A-Za-zÀ-ɏ]")
# Hebrew, Arabic, Syriac, Thaana, N'Ko and their presentation forms.
_RIGHT_TO_LEFT = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_COLUMNS = re.compile(r"\S(?: {2,}|\t)\S")
#: A function that tells whether a question makes a demand, the kinds of instructions and the dimensions that contradict
#: it, and the reason for the record.
Contradiction = tuple[Callable[[str], bool], tuple[str, ...], tuple[str, ...], str]
CONTRADICTIONS: tuple[Contradiction, ...] = (
    (rules_out_explanation, ("working",), ("reasoning",), "the question rules out an explanation"),
    (demands_short_text, ("working",), ("reasoning", "answer_form"), "the question demands a short text"),
    (demands_explanation, ("label", "brief"), (), "the question demands an explanation"),
    (demands_own_form, ("brief",), ("answer_form",), "the question demands a form of its own"),
    (demands_nothing_else, (), ("answer_form",), "the question demands the answer and nothing else"),
    (has_own_text, (), ("context",), "the question speaks of a text of its own"),
    (refers_to_another_question, (), ("demonstrations", "context"), "the question speaks of another question"),
)
#: The same for questions with choices.
OWN_ANSWER: Contradiction = (
    *(demands_own_answer, ("label",), ("answer_form",)),
    "the question demands an answer that is no label",
)
#: The same for questions without choices.
ONLY_WHY: Contradiction = (asks_only_why, ("brief",), ("answer_form",), "the question asks for an explanation alone")
# The end of a question, after which its answer is not taken for a part of it.
_ENDS_EXAMPLE = re.compile(r"[.?!…:=。？！：؟।][\"'”’»)\]]*\s*$")
_ENDS_SENTENCE = re.compile(r"[.,;:!?…。，；：！？؟،।]\s*$")


class Replacement(NamedTuple):
    """The value that was drawn on a dimension, the one that is used for a question, and the reason.

    Examples
    --------
    >>> Replacement("comma", "pipe", "the separator stands in the choice").used
    'pipe'
    """

    drawn: str
    used: str
    reason: str


def choose_fitting_value(
    drawn: Value,
    values: Sequence[Value],
    others: Sequence[Value],
    questions: Sequence[Question],
    find_conflict: Callable[[Value, Question], str],
) -> tuple[Value, str]:
    """Return the drawn value if it fits all questions of a prompt, or else the next one that does, and the reason.

    Parameters
    ----------
    drawn
        The value that was drawn.
    values, others
        The values of the dimension, which are tried in their order from the drawn one on, and those that are tried
        after them.
    questions
        The question, and the demonstrations that are shown with it.
    find_conflict
        Function of a value and a question that returns the reason why they do not fit, or "".

    Returns
    -------
    value
        A value that fits all questions; if there is none, one that fits the first; or else the drawn one.
    reason
        Why the drawn value does not fit, or "".
    """
    reason = next((why for question in questions if (why := find_conflict(drawn, question))), "")
    if not reason:
        return drawn, ""
    start = next((i for i, value in enumerate(values) if value.content == drawn.content), -1) + 1
    candidates = [*values[start:], *values[:start], *others]
    for needed in (questions, questions[:1]):
        for value in candidates:
            if not any(find_conflict(value, question) for question in needed):
                return value, reason
    return drawn, reason


def find_misfit(dimension: str, value: Value, question: Question) -> str:
    """Return why a value of the dimension `enumerator` or `separator` does not fit a question, or ""."""
    if dimension == "separator":
        return find_separator_conflict(str(value.content), question.choices)
    labels = value.content if isinstance(value.content, tuple) else ()
    if len(labels) < len(question.choices):
        return f"it has {len(labels)} labels for {len(question.choices)} choices"
    return find_label_conflict(labels[: len(question.choices)], question)


def replace_contradicting_values(question: Question, values: MutableMapping[str, Value]) -> dict[str, Replacement]:
    """Replace the values of a prompt that contradict what its question itself demands.

    Parameters
    ----------
    question
        The question, in its wording.
    values
        The value on each dimension; those that contradict the question are replaced in place.

    Returns
    -------
    dict
        What was drawn, what is used and why, for each dimension whose value was replaced.

    Examples
    --------
    >>> values = {name: BUILT_IN_VALUES[name][0] for name in BUILT_IN_VALUES if name != "layout"}
    >>> values["reasoning"] = Value("plan", "First make a plan.")
    >>> replace_contradicting_values(Question("q", "Is 91 prime? Do not explain.", "no"), values)["reasoning"].used
    'none'
    """
    replaced: dict[str, Replacement] = {}
    asks = values["instruction"].asks

    def use(name: str, used: Value, reason: str) -> None:
        if values[name].content != used.content:
            replaced[name] = Replacement(values[name].name, used.name, reason)
            values[name] = used

    for is_demanded, kinds, names, reason in (*CONTRADICTIONS, OWN_ANSWER if question.choices else ONLY_WHY):
        if is_demanded(question.text):
            for name in (*names, *(["instruction"] if asks in kinds else [])):
                use(name, BUILT_IN_VALUES[name][0], reason)
    markers = values["markers"].content
    if has_own_slot(question.text) and isinstance(markers, tuple) and markers[1]:
        use("markers", _leave_out_answer_marker(values["markers"]), "the question ends with a place for its answer")
    has_examples = bool(values["demonstrations"].content)
    if question.choices and has_examples and demands_own_answer(question.text):
        text = next(value for value in BUILT_IN_VALUES["answer"] if value.name == "text")
        use("answer", text, "the question demands an answer that is no label")
    elif question.choices and has_examples and values["instruction"].asks == "label":
        use("answer", BUILT_IN_VALUES["answer"][0], "the instruction asks for the label")
    if has_examples and values["turns"].content == "text" and _repeats_answer_marker(values):
        question_only = _leave_out_answer_marker(values["markers"])
        use("markers", question_only, "the demanded form begins with a marker of the answer")
    return replaced


def find_unmarked_answer(values: Mapping[str, Value], demonstrations: Sequence[Question]) -> str:
    """Return why the answers of demonstrations that stand in one message without any marker are not clear, or ""."""
    content = values["markers"].content
    if (isinstance(content, tuple) and any(content)) or values["turns"].content != "text":
        return ""
    if values["placement"].content == "after" and (values["instruction"].content or values["reasoning"].content):
        return "nothing marks the answers of examples, which would stand after an instruction"
    if _template(values) not in ("", "{x}"):  # the form marks the answer
        return ""
    texts = [one.text.strip() for one in demonstrations if not one.choices]
    example = next((text for text in texts if "\n\n" in text or not _ENDS_EXAMPLE.search(text)), "")
    return f"nothing marks the answer after {_quote(example.splitlines()[-1])}" if example else ""


def find_marker_conflict(markers: Value, texts: Sequence[str]) -> str:
    r"""Return which text has a line that begins as a marker does, or "".

    >>> find_marker_conflict(Value("Q/A", ("Q: ", "A:")), ["Who comes?\nA: Are you coming?\nB: No."])
    "'A:' begins a line of the question 'Who comes?'"
    """
    content = markers.content if isinstance(markers.content, tuple) else ()
    for marker in filter(None, (str(one).strip() for one in content)):
        for text in texts:
            if re.search(rf"^\s*{re.escape(marker)}", text, re.IGNORECASE | re.MULTILINE):
                return f"{marker!r} begins a line of the question {_quote(text.strip().splitlines()[0])}"
    return ""


def _template(values: Mapping[str, Value]) -> str:
    """Return the template of the demanded form of the answer, or an empty text."""
    content = values["answer_form"].content
    return content[0] if isinstance(content, tuple) and content else ""


def _repeats_answer_marker(values: Mapping[str, Value]) -> bool:
    """Return whether the answer of a demonstration would have two different markers, as in "A: Answer: 7"."""
    content = values["markers"].content
    marker = content[1] if isinstance(content, tuple) else ""
    prefix = _template(values).partition("{x}")[0].strip()
    is_same = marker.strip().casefold() == prefix.casefold() and not marker.endswith("\n")
    return bool(marker) and prefix.endswith((":", "：")) and not is_same


def _leave_out_answer_marker(markers: Value) -> Value:
    """Return markers without that of the answer."""
    content = markers.content
    assert isinstance(content, tuple)
    return Value(f"{markers.name}, question only", (content[0], ""))


def list_spare_values(dimension: str) -> tuple[Value, ...]:
    """Return the values that are tried when none of the dimension fits: the built-in ones."""
    return (*BUILT_IN_VALUES[dimension], *([BLANK_LINE] if dimension == "separator" else []))


@lru_cache(maxsize=2**18)
def find_separator_conflict(separator: str, choices: tuple[str, ...]) -> str:
    r"""Return why a separator does not fit the choices that it separates, or "".

    A separator does not fit when it stands in a choice, also without the spaces around it; nor does a comma, a
    semicolon or a word after a choice that ends like a sentence, or any mark beside a choice that consists of symbols.
    Choices of several lines or columns, and those that are written from right to left, need lines of their own.

    >>> find_separator_conflict(" | ", ("a", "b|c"))
    "the separator stands in the choice 'b|c'"
    >>> find_separator_conflict("\n", ("a", "b|c"))
    ''
    """
    mark = separator.strip() or separator
    if "\n" not in separator and (reason := _find_line_conflict(choices)):
        return reason
    if mark.isascii() and mark.isalpha() and _has_letters(choices) and not _LATIN.search("\n".join(choices)):
        return "a word of another script would stand between the choices"
    has_mark = bool(separator.strip())
    for choice in choices:
        if has_mark and not any(character.isalnum() for character in choice):
            return f"the choice {_quote(choice)} consists of symbols, beside which a separator is not clear"
        is_inside = _find_word(mark).search(choice) if mark.isalpha() else mark in choice
        if is_inside:
            return f"the separator stands in the choice {_quote(choice)}"
        if (mark[0] in ",;" or mark.isalpha()) and _ENDS_SENTENCE.search(choice):
            return f"the choice {_quote(choice)} ends with a mark, which the separator would follow"
    return ""


def _find_line_conflict(choices: Sequence[str]) -> str:
    """Return why choices do not fit on one line, or ""."""
    for choice in choices:
        if "\n" in choice:
            return f"the choice {_quote(choice)} has several lines"
        if _COLUMNS.search(choice):
            return f"the choice {_quote(choice)} has columns"
        if _RIGHT_TO_LEFT.search(choice):
            return f"the choice {_quote(choice)} is written from right to left, which needs a line of its own"
    return ""


def _has_letters(choices: Sequence[str]) -> bool:
    """Return whether any choice has a letter."""
    return any(character.isalpha() for choice in choices for character in choice)


@lru_cache(maxsize=256)
def _find_word(word: str) -> re.Pattern[str]:
    """Return the pattern of a word; of a letter of a script that has no spaces, the letter wherever it stands."""
    edge = r"\b" if unicodedata.category(word[0]) != "Lo" else ""
    return re.compile(rf"{edge}{re.escape(word)}{edge}", re.IGNORECASE)


@lru_cache(maxsize=2**18)
def find_label_conflict(labels: tuple[str, ...], question: Question) -> str:
    """Return why labels do not fit the choices of a question, or "".

    Parameters
    ----------
    labels
        One label for each choice, without wrapper.
    question
        The question.

    Returns
    -------
    str
        The reason: the question names labels of another kind or has a list with these; a label stands in a choice;
        labels are symbols and stand beside a formula or code; or they are numbers or symbols beside a number.

    Examples
    --------
    >>> find_label_conflict(("A", "B"), Question("q", "Which vitamin?", "A", choices=("Vitamin B", "Zinc")))
    "the label B stands in the choice 'Vitamin B'"
    >>> find_label_conflict(("a", "b"), Question("q", "Which pet?", "A", choices=("A cat", "A dog")))
    ''
    """
    references = find_option_references(question)
    if references.label_kind is not None:
        is_same = labels == ENUMERATORS[references.label_kind][: len(labels)]
        return "" if is_same else f"labels are named: {references.reason}"
    if asks_for_letter(question.text) and not all(len(label) == 1 and label.isalpha() for label in labels):
        return "the question asks for a letter"
    listed = find_enumerated_labels(question.text)
    same = [label for label in labels if label.casefold() in listed]
    if len(same) > 1:
        return f"the question has a list of its own with the labels {', '.join(same)}"
    choices = [unicodedata.normalize("NFKC", choice) for choice in question.choices]
    if not all(any(c.isalnum() for c in label) for label in labels):
        match = next((match for text in (*choices, question.text) if (match := _FORMULA.search(text))), None)
        if match:
            return f"symbols as labels beside {match[0]!r}"
    return _find_number(labels, choices) or _find_label_in_texts(labels, choices, question.text)


def _find_number(labels: Sequence[str], choices: Sequence[str]) -> str:
    """Return which choice begins with a number, beside which labels without letters are not clear, or ""."""
    if all(any(c.isalpha() for c in label) for label in labels):
        return ""
    if number := next((choice for choice in choices if _STARTS_WITH_NUMBER.match(choice)), ""):
        return f"numbers or symbols as labels beside the number {_quote(number)}"
    # "4" could be the label 4 and the choice "Four".
    numeral = next((choice for choice in choices if _STARTS_WITH_NUMERAL.match(choice)), "")
    return f"numbers as labels beside the number {_quote(numeral)}" if numeral and labels[0].isdigit() else ""


def _find_label_in_texts(labels: Sequence[str], choices: Sequence[str], text: str) -> str:
    """Return which label stands in which choice, or in the question where labels look like variables, or ""."""
    look_like_variables = all((len(label) == 1 and not label.isascii()) or label.islower() for label in labels)
    by_text = {choice.strip(" .").casefold(): choice for choice in choices}
    joined = "\n".join(choices)
    for label in labels:
        if choice := by_text.get(label.casefold()):
            return f"the label {label} stands in the choice {_quote(choice)}"
        # The reply "A" could be the label a and the choice "group A".
        is_letter = len(label) == 1 and label.isascii() and label.islower()
        for pattern in (_find_pattern(label), *([_find_pattern(label.upper())] if is_letter else [])):
            if pattern.search(joined):  # one search for all choices, since most have no label
                choice = next((choice for choice in choices if pattern.search(choice)), joined)
                return f"the label {label} stands in the choice {_quote(choice)}"
        if look_like_variables and _find_pattern(label).search(text):
            return f"the label {label} is a letter of the question"
        if len(label) > 1 and label.casefold() in ROMAN and _find_pattern(label).search(text):
            return f"the label {label} is a numeral of the question"
    return ""


@lru_cache(maxsize=1024)
def _find_pattern(label: str) -> re.Pattern[str]:
    """Return the pattern of a label that stands in a text by itself, and is no article or pronoun."""
    exact = re.escape(label)
    if label.isdigit():
        return re.compile(rf"(?<![\w.,:/$€£−-]){exact}(?![\w%°:/’']|[.,]\d)")
    if not any(c.isalnum() for c in label):
        return re.compile(exact)
    if not label.isascii():
        name = unicodedata.name(label[0], "").split()[-1].lower().replace("lamda", "lambda")
        return re.compile(rf"{exact}|\\{re.escape(name)}(?![a-zA-Z])")
    article = _WORD_FOLLOWS if label in ("a", "A", "I") else ""
    return re.compile(rf"(?<![^\W\d])(?<!['’.&°]){exact}(?![^\W_]|['’]|\.\w|-[^\W\d_]){article}")


def _quote(text: str) -> str:
    """Return a text in quotation marks, cut to 40 characters."""
    text = " ".join(text.split())
    return repr(text if len(text) <= 40 else text[:37] + "...")
