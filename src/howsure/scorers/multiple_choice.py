"""Read the choice that a completion gives, by its label or by its text.

The first of these rules that applies decides:

1. *last line*: the last line is only a label, a label with its text, or the text of one choice;
2. *statement*: the last explicit statement (`statements`) that names a choice. One that names several, denies its
   choice, or says that there is none is final: the completion is unparsed;
3. *claim*: the last sentence with a verb of being or choosing and one marked label behind it ("the closest value is
   **C. 3 km**"), or with one option that it calls correct;
4. *bold*: the only phrases in bold that are a label or a choice, if they agree;
5. *first line*: the first line is a label or a choice;
6. *text*: the completion is one short sentence that names exactly one choice.

Of a completion that was cut, only a statement, a claim and a first line are read. A label means itself or the choice
whose text it is if both are the same choice. Where they differ ("3" of the choices 1: 4, 2: 5, 3: 6, 4: 3), it is a
label if it has brackets or a word ("option 3"), or if the prompt asks for labels; otherwise it is *ambiguous*.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from howsure.scorers.choice_labels import ChoicePatterns, build_patterns, remove_latex
from howsure.scorers.completion_text import CompletionContext, clean_completion
from howsure.scorers.statements import Statement, find_statements, read_line

#: The index of a choice and the rule, or None and the reason.
_Reading: TypeAlias = tuple[int | None, str]

#: Longest line that is tried as an answer as a whole, in characters, and longest sentence that is read by the choice
#: that it names, in words.
LONGEST_LINE, MOST_BARE = 2000, 15
#: Characters at the end of a completion in which a claim is searched.
NEAR = 1500
#: Reasons for which a phrase gives no choice although it names one.
_CONFLICTS = ("ambiguous", "contradiction")
_NONE = re.compile(
    r"\b(?:none|neither|no (?:option|choice|answer|correct)|not (?:listed|given|among))\b", re.IGNORECASE
)
_DOUBTED = re.compile(
    r"\b(?:if|whether|maybe|may|might|could|perhaps|possibly|unsure|not sure|either|cannot|can not|unclear|assum\w+"
    r"|suppos\w+|consider|would (?:need|have)|let['’]?s|some|many|others|incorrect|wrong|eliminat\w+|rule[sd]? out)\b"
    r"|n['’]t\b|\?",
    re.IGNORECASE,
)
_NEXT_SENTENCE = re.compile(r"\w[.!?]\s+\S")
_DENIED = re.compile(r"\b(?:not?|never|nor|but|however|although|false|except|out)\b", re.IGNORECASE)
# The verb of a sentence that gives an answer, and what may stand between it and the answer.
_COPULA = re.compile(
    r"\b(?:is|are|was|be|choose|chose|select|pick|choosing|with|matches|to|as|conclusion|interpretation)\b"
    r"(?:\s+(?:therefore|thus|likely|clearly|indeed|most likely|probably|the|option|choice|answer))*[\s*_:\"'“`$-]*"
)
_SENTENCE_START = re.compile(r"[.!?;]\s|\n")
_BOLD = re.compile(r"\*\*([^*\n]{1,300})\*\*")


class _Completion(NamedTuple):
    """A completion, the patterns of its question, whether a label was asked for, and whether it was cut."""

    text: str
    patterns: ChoicePatterns
    expects_label: bool
    is_cut: bool

    def read_phrase(self, phrase: str) -> _Reading:
        """Return the choice that a phrase as a whole gives."""
        is_short = len(phrase) <= LONGEST_LINE
        return self.patterns.read_phrase(phrase, expects_label=self.expects_label) if is_short else (None, "none")

    def read_edge(self, lines: Sequence[str]) -> _Reading:
        """Return the choice of the first of some lines, unless the next one gives another, as in a list of choices."""
        place, why = self.read_phrase(lines[0].strip())
        if place is not None and len(lines) > 1 and self.read_phrase(lines[1].strip())[0] not in (None, place):
            return None, "none"
        return place, why


def read_choice(
    text: str,
    labels: Sequence[str],
    choices: Sequence[str] = (),
    *,
    expects_label: bool = False,
    context: CompletionContext | None = None,
) -> tuple[int | None, str]:
    """Return the index of the choice that a completion gives and the rule, or None and the reason.

    Parameters
    ----------
    text
        The completion.
    labels
        Labels of the choices, such as "ABCD", in the order in which the prompt showed them.
    choices
        Texts of the choices in the same order; empty if they are unknown.
    expects_label
        Whether the prompt asks for a label, so that a label counts also where it is the text of another choice.
    context
        What else is known of the completion.

    Returns
    -------
    tuple
        The index and "last line", "statement", "claim", "bold", "first line" or "text"; or None and the reason:
        "empty", "unfinished" (thoughts that never end), "several", "denied", "ambiguous", "contradiction" or "none".

    Examples
    --------
    >>> read_choice("So it must be a capital. The answer is (B).", "ABC", ["Rome", "Paris", "Oslo"])
    (1, 'statement')
    >>> read_choice("The answer is (A) and (B).", "ABC", ["Rome", "Paris", "Oslo"])
    (None, 'several')
    """
    text, context, parts = clean_completion(text, context)
    if not text.strip():
        return None, "empty" if parts.is_finished else "unfinished"
    patterns = build_patterns(tuple(labels), tuple(choices))
    completion = _Completion(patterns.mask(text), patterns, expects_label, context.truncated)
    for read in _RULES:
        place, why = read(completion)
        if place is not None or why != "none":
            return place, why
    return None, "none"


def extract_choice(text: str, *, context: CompletionContext | None = None) -> str | None:
    """Return the capital letter of the choice that a completion gives, from A to the last one; None without one.

    >>> extract_choice("The answer is (C)."), extract_choice("A dog barks.")
    ('C', None)
    """
    choices = context.choices if context else ()
    labels = string.ascii_uppercase[: len(choices) or None]
    place, _ = read_choice(text, labels, choices, expects_label=True, context=context)
    return None if place is None else labels[place]


def _read_last_line(completion: _Completion) -> _Reading:
    """Return the choice that the last line is; a cut completion has one if it has no other line."""
    lines = completion.text.strip().split("\n")[::-1]
    if completion.is_cut and len(lines) > 1:
        return None, "none"
    place, why = completion.read_edge(lines)
    return (place, "last line") if place is not None else (None, why if why in _CONFLICTS else "none")


def _read_first_line(completion: _Completion) -> _Reading:
    """Return the choice that the first line is."""
    place, _ = completion.read_edge(completion.text.strip().split("\n"))
    return (place, "first line") if place is not None else (None, "none")


def _read_statements(completion: _Completion) -> _Reading:
    """Return the choice of the last statement that names one, or the reason for which a statement is final."""
    readings = (_read_statement(statement, completion) for statement in find_statements(completion.text))
    return next((reading for reading in readings if reading[1] != "none"), (None, "none"))


def _read_statement(statement: Statement, completion: _Completion) -> _Reading:
    """Return the choice that an explicit statement names, and the rule; or None and the reason."""
    patterns, stated = completion.patterns, remove_latex(statement.text).strip()
    is_denied = stated.startswith("not ")
    line = "" if is_denied else remove_latex(read_line(completion.text, statement.content))
    for phrase in filter(None, (line, stated)):
        place, why = patterns.read_phrase(phrase, expects_label=completion.expects_label)
        if place is not None or why in _CONFLICTS:
            return place, "statement" if place is not None else why
    named = patterns.find_marked(stated) or patterns.find_texts(stated)
    if len(named) == 1:
        return named.pop(), "statement"
    if len(named) > 1:
        return None, "several"
    return None, "denied" if is_denied or _NONE.search(stated) else "none"


def _read_claim(completion: _Completion) -> _Reading:
    """Return the choice that the last claim gives: a verb with a marked label or the text of a choice behind it."""
    tail = remove_latex(completion.text[-NEAR:])
    for copula in reversed(list(_COPULA.finditer(tail))):
        place = completion.patterns.read_start(tail[copula.end() :], expects_label=completion.expects_label)
        before = _SENTENCE_START.split(tail[: copula.start()])[-1]
        if place is not None and not _DOUBTED.search(before):
            return place, "claim"
    return None, "none"


def _read_bold(completion: _Completion) -> _Reading:
    """Return the choice of the phrases in bold that are a label or a choice, if they agree."""
    read = (completion.read_phrase(bold[1])[0] for bold in _BOLD.finditer(completion.text))
    named = {place for place in read if place is not None}
    return (named.pop(), "bold") if len(named) == 1 else (None, "none")


def _read_bare(completion: _Completion) -> _Reading:
    """Return the only choice that a completion of one short sentence names."""
    text, patterns = completion.text, completion.patterns
    is_short = "\n" not in text.strip() and len(text.split()) <= MOST_BARE and not _NEXT_SENTENCE.search(text)
    if completion.is_cut or not is_short or any(word.search(text) for word in (_DOUBTED, _NONE, _DENIED)):
        return None, "none"
    named = patterns.find_marked(text) or patterns.find_texts(text)
    if not completion.expects_label and named & patterns.ambiguous:
        return None, "ambiguous"
    if len(named) == 1:
        return named.pop(), "text"
    return None, "several" if named else "none"


#: The rules in their order. Each returns a choice and its name, or None and the reason; "none" asks the next one.
_RULES = (_read_last_line, _read_statements, _read_claim, _read_bold, _read_first_line, _read_bare)
