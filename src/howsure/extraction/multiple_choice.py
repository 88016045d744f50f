"""Read the choice that a completion gives, by its label or by its text.

Text between `<think>` tags is left out, and so is a further question that the completion invents. The first of these
rules that applies decides:

1. *last line*: the last line is only a label, a label with its text, or the text of one choice;
2. *statement*: the last explicit statement that names a choice (`statements.find_statements`, "the correct option is",
   `choice_statements.find_picks`); one that denies a choice, names several, or says that there is none ends the search;
3. *claim*: a free sentence that gives a choice ("the closest value is **C. 3 km**", "option C is the only ..."), or the
   last sentence if it concludes with one label (`choice_statements`);
4. *bold*: the phrases in bold that are a label or a choice, if they agree;
5. *first line*: the first line is a label or a choice, or starts with a marked label ("B) ...", "B because ..."), and
   no other line does;
6. *text*: the completion is one short line without a hedge, and one sentence if the question is known, and exactly one
   choice occurs in it; or its end gives the text of one choice (`choice_texts`);
7. *conclusion*: where none of these reads a choice, the one with which the sentences most likely conclude
   (`choice_conclusion`). The question must be known, and the completion not be cut.

Of a completion that was cut, only statements and claims are read, unless it is nothing but a label. A copy of the
question or of the list of choices is no answer.

The longest labels are matched first. A label means itself or the choice whose text it is if both are the same
choice. Where they differ ("3" of the choices 1: 4, 2: 5, 3: 6, 4: 3), it is a label if it has brackets ("(3)") or a
word ("option 3"), or if the prompt asks for labels; otherwise it is *ambiguous* and no answer is read.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from howsure.extraction.choice_amounts import find_final_result, find_stated_amount
from howsure.extraction.choice_claims import find_claims, find_conclusion
from howsure.extraction.choice_conclusion import weigh_conclusion
from howsure.extraction.choice_phrases import (
    CONFLICTS,
    HEDGE,
    LONGEST,
    find_mentions,
    is_hypothetical,
    lists_choices,
    read_phrase,
    remove_asides,
)
from howsure.extraction.choice_statements import find_position, read_plain_label, read_stated
from howsure.extraction.choice_texts import find_given_text, split_sentences
from howsure.extraction.choice_verdicts import find_exception, find_remaining, find_verdict
from howsure.extraction.completion_context import (
    CompletionContext,
    complete_context,
    find_bare_question,
    find_further_question,
    find_question_markers,
    find_repeated_answers,
    remove_next_question,
)
from howsure.extraction.languages import is_reported, translate_korean_labels
from howsure.extraction.statements import ends_undecided, remove_courtesy, remove_reasoning
from howsure.extraction.vocabulary import LOOSE, SPACE, LabelPatterns, Vocabulary, build_vocabulary, normalize

__all__ = ["RuleReading", "extract_choice", "read_by_rules", "read_choice"]

_REJECTS = re.compile(r"\b(?:wrong|incorrect|false|excluded?|eliminat\w+)\b", re.IGNORECASE)
# Where a completion begins a further question with a number.
_NEXT_NUMBERED = re.compile(r"(\n[ \t]{0,4}\d{1,3}[.)] [^\n?]{8,400}\?)[ \t*_]{0,4}\n")
# Where it begins one without a number, below the answer in one line.
_NEXT_LISTED = re.compile(r"\n[ \t]*\n[^\n?]{8,400}\?[ \t*_]{0,4}\n(?=\s*\S)")
# Where it goes on with the answers of other questions: "Now, let's combine all the answers. The answer is (B)."
_NEXT_ANSWERS = re.compile(
    r"\n[ \t*_#>]{0,6}(?:now|finally|next)?,?[ ]?(?:let['’]s|let us|we can|i will|i['’]ll|to)?[ ]?"
    r"(?:(?:combin|summari[sz]|collect|list)(?:e|ing|es)?[ ](?:up[ ])?(?:all|each|every)?[^.:\n]{0,25}\banswers\b"
    r"|总结以上|综合以上)",
    re.IGNORECASE,
)
# The first numbered step of a solution, and how much of it is compared.
_FIRST_STEP = re.compile(r"([ \t]{0,4}(?:\([01]\)|[01][.)])[ ][^\n]{6,})")
_NEXT_STEP = re.compile(rf"\n{_FIRST_STEP.pattern}")
_COMPARED_STEP = 14
_STATES = re.compile(r"\banswer(?:\s+is|:)\s*\S", re.IGNORECASE)
# A line that states an answer, and does not announce one below it.
_STATED_ABOVE = re.compile(r"\banswer\s+is:?\s+[*(]{0,3}[A-Z]\b[^?]*$")
# "A = 0", an item of a list of the choices.
_ASSIGNED = re.compile(r"[ \t*]*([A-Z])[ ]?=[ ]?(?=\S)")
# A short remark whose end names an option: "pH 2 (option B)."
_OPTION_ASIDE = re.compile(r"[^()\n.]{1,60}\((?:option|choice|answer)[ ](?P<label>[A-Z])\)[\s.*]*")
_OTHERS_SAY = re.compile(
    r"\b(?:some|many|others|people|students?)\b[^.]{0,20}\b(?:say|think|believe|choose|pick|answer|guess)\b",
    re.IGNORECASE,
)
_TEMPTS = re.compile(
    r"\b(?:mistake|wrong|not|never|tempt\w*|trap|incorrect|if|many|some|people|students?|they|but|except|avoid\w*|perhaps"
    r"|maybe|might|may|could)\b",
    re.IGNORECASE,
)
# "## Step 15: Analyze the second set of options for the third paragraph.": one of several questions.
_PART_HEADING = re.compile(
    r"^#{1,6}[ ][^\n]*\b(first|second|third|fourth|fifth|sixth|seventh|next|last)[ ]"
    r"(paragraph|question|argument|problem)\b",
    re.IGNORECASE | re.MULTILINE,
)
# The number of a question before its answer: "1. B", "Q1: B".
_NUMBERING = re.compile(r"\s*(?:Q\s?)?\d{1,3}[.):]\s+(?=\S)")
#: Characters of a line that are read to find its label.
_MOST_LINE = 40
#: Signs that Unicode has apart from those that choices are mostly written with.
_SIGNS = {"−": "-", "⁄": "/", "∕": "/", "’": "'"}
# Pictures, but no crosses and ticks, which are verdicts.
_PICTURE = re.compile("[\U0001f300-\U0001faff\u200d\ufe0f]")
_PICTURES = re.compile("[ ]?[\U0001f300-\U0001faff\u200d\ufe0f]+")
# "F — the other options ..." in the only line.
_DASHED = re.compile(r"\W{0,4}(?P<label>[A-Z])[*_]{0,2}[ ][–—][ ](?=\S)")
_DASHED_TEXT = re.compile(r"\W{0,4}(?P<label>[A-Z])[*_]{0,2}[ ]?[-–—:][ ]")
_BOLD = re.compile(r"\*\*([^*\n]{1,300})\*\*")
# "**the patient who arrived first (B)**"
_CITED_BOLD = re.compile(r"[a-z%\d][ ](\([A-Z]\))[.:]?$")
_AMOUNT = re.compile(r"\*\*([$€£]?\d[\d.,/^×]*)[ ][a-z ]{2,40}\*\*")
_CROSSES = ("✗", "✘", "❌", "☒")
_STRUCK = re.compile(r"~~[^~\n]{1,300}~~")
# An item of a list that begins with bold type, as the talk about each option in turn does, and how many make a list.
_BOLD_ITEM = re.compile(r"[ \t]*(?:\d{1,2}[.)]|[-*•])[ ]+\*\*")
LEAST_ITEMS = 3
_CODE = re.compile(r"(?<!`)`([^`\n]{3,300})`(?!`)")
_LABELLED_LAST = re.compile(
    r":[ ]\**(?P<part>[^:]{1,300}[ ]\([A-Z]\))[\s*.]*$"
    r"|(?:[a-zA-Z)]{2}|[nN]ot[ ][A-Z])[.!][ ](?P<only>[A-Z])(?:,?[ ]then)?\.?$",
    re.ASCII,
)
_NO_CONTENT = LOOSE + SPACE
# "None of the given options matches."
_NONE_FITS = re.compile(
    r"\bnone of (?:the|these|those) (?:\w+ ){0,2}(?:options?|choices|answers|alternatives|values)\b[^.\n]{0,30}?"
    r"\b(?:match(?:es)?|fits?|(?:is|are|seems?) (?:exactly |quite )?(?:correct|right|equal)|agrees?|works?|equals?)\b",
    re.IGNORECASE,
)
_WANTS_WRONG = re.compile(
    r"\b(?:not|incorrect|false|wrong|except|least|untrue|inaccurate|invalid|unlikely)\b|n['’]t\b", re.IGNORECASE
)
_QUESTION_NEGATED = re.compile(r"\b(?:NOT|EXCEPT)\b")
_DISTINGUISHES = re.compile(rf"{_WANTS_WRONG.pattern}|\b(?:exception|odd|unlike|instead|rather)\b", re.IGNORECASE)
# "This is incorrect as helium is no gas that we breathe.", below a first line that is a choice.
_TAKEN_BACK = re.compile(
    r"[\s*_]*(?:this|that|it)(?:\s(?:answer|option|choice))?\s(?:is|was)(?:\s(?:incorrect|wrong|false|(?:a|my)\smistake)"
    r"|(?:\snot|n['’]t)\s(?:correct|right|true|the\s(?:correct|right)))\b",
    re.IGNORECASE,
)
_EMPTY_STATEMENT = re.compile(
    r"\n[\s*_]*(?:(?:so|thus|therefore),?\s)?(?:the\s)?(?:(?:correct|final|right)\s)?answer(?:\sis)?\s?:?[\s*_]*\Z",
    re.IGNORECASE,
)
_LAST_SENTENCE = re.compile(r"^.*[a-z)][.!]\s+(?=[A-Z])", re.DOTALL)
#: Characters around the text of a choice that make no sentence of it, such as "That would be".
SHORT_FRAME = 20
#: Longest completion in which the text of a choice is searched.
LONGEST_TEXT = 200
#: Shortest copy of a question that is recognized, in characters.
SHORTEST_COPY = 30


def extract_choice(text: str, *, context: CompletionContext | None = None) -> str | None:
    """Return the letter of the choice that a completion gives, in upper case; None when it gives none or several.

    The completion is read by `read_choice` with the letters of the alphabet as labels and without the texts of choices.

    >>> extract_choice("Paris is the capital. The answer is (B)."), extract_choice("A or B")
    ('B', None)
    """
    index, _ = read_choice(text, string.ascii_uppercase, (), expects_label=True, context=context)
    return None if index is None else string.ascii_uppercase[index]


def read_choice(
    completion: str,
    labels: Sequence[str],
    choices: Sequence[str],
    *,
    expects_label: bool = False,
    context: CompletionContext | None = None,
) -> tuple[int | None, str]:
    """Return the index of the choice that a completion gives, and the rule by which it was read.

    Parameters
    ----------
    completion
        The text to read.
    labels, choices
        Labels and texts of the choices in the order in which the prompt showed them.
    expects_label
        Whether the prompt asks for a label, or shows answers that are labels.
    context
        What else is known about the completion; its choices are not used.

    Returns
    -------
    index
        Position in `choices`, from 0; None when no choice can be read.
    rule
        "last line", "statement", "claim", "bold", "first line", "text" or "conclusion". If the index is None, the
        reason: "empty", "none" (no answer is given), "undecided" (the last sentence leaves it open), "several",
        "ambiguous", "contradiction" (a label with the text of another choice)
        or "unclear" (a statement that names no choice).

    Examples
    --------
    >>> read_choice("It is Oslo. The answer is (II).", ["I", "II", "III"], ["Rome", "Oslo", "Bern"])
    (1, 'statement')
    >>> read_choice("I cannot tell.", ["I", "II"], ["Rome", "Oslo"])
    (None, 'none')
    """
    reading = read_by_rules(completion, labels, choices, expects_label=expects_label, context=context)
    if reading.place is None and reading.unread:
        index = weigh_conclusion(reading.unread, reading.words, context.question if context else "")
        return (None, reading.why) if index is None else (index, "conclusion")
    return reading.place, reading.why


class RuleReading(NamedTuple):
    """What the rules read from a completion."""

    place: int | None
    """Index of the choice, or None, and by which rule or why not."""
    why: str
    words: Vocabulary
    unread: str
    """The text whose conclusion can be weighed; empty where a choice is read or none can be there."""


def read_by_rules(
    completion: str,
    labels: Sequence[str],
    choices: Sequence[str],
    *,
    expects_label: bool = False,
    context: CompletionContext | None = None,
) -> RuleReading:
    """Return what the rules read from a completion, without its conclusion; the arguments are those of `read_choice`.

    >>> read_by_rules("It is Oslo. The answer is (II).", ["I", "II"], ["Rome", "Oslo"])[:2]
    (1, 'statement')
    """
    words = build_vocabulary(tuple(labels), tuple(choices))
    whole_text = remove_courtesy(remove_reasoning(completion))
    completion = remove_next_question(whole_text, context)
    context = complete_context(whole_text, completion, context)
    if "~~" in completion:
        completion = _STRUCK.sub("", completion)
    text = unicodedata.normalize("NFKC", completion)
    if not text.isascii():
        for sign, plain in _SIGNS.items():
            text = text.replace(sign, plain)
        text = translate_korean_labels(text)
        text = _PICTURES.sub("", text) if _PICTURE.search(text) else text
    text = words.labels.mask(text).strip()
    if _breaks_off_among_questions(text):
        return RuleReading(None, "none", words, "")
    if (first := _remove_run_on(text, words, context)) != text:
        index, why = _read_text(first, words, expects_label, context and replace(context, truncated=False))
        if index is not None:
            return RuleReading(index, why, words, "")
    index, why = _read_text(text, words, expects_label, context)
    is_cut = context is not None and (context.truncated or _is_copy(first, words, context))
    is_unread = index is None and why in {"none", "several"} and not is_cut
    return RuleReading(index, why, words, first if is_unread else "")


def _remove_run_on(text: str, words: Vocabulary, context: CompletionContext | None) -> str:
    """Return the part of a text before a further question in a common format, whatever that of the prompt is."""
    if "\n" not in text:
        return text
    has_question = "?" in text
    listed = _NEXT_LISTED.search(text) if has_question else None
    if listed and words.labels.leading_label(text[listed.end() : listed.end() + _MOST_LINE].lstrip()) == 0:
        first = text[: listed.start()].strip()
        if first and "\n" not in first and "?" not in first:
            return first
    if (bare := find_bare_question(text)) is not None and read_phrase(bare.strip(), words, expects_label=True)[
        0
    ] is not None:
        return bare
    end = find_repeated_answers(text)
    if end is not None and read_phrase(text[:end].strip(), words, expects_label=True)[0] is not None:
        return text[:end]
    for cut in (
        _find_restart(text),
        _find_other_answers(text),
        _find_other_list(text, words),
        find_further_question(text, context),
        _find_repeated_list(text, words),
    ):
        text = text[:cut]
    stops = set(find_question_markers(text))
    for match in _NEXT_NUMBERED.finditer(text) if has_question else ():
        if words.labels.leading_label(text[match.end() : match.end() + _MOST_LINE].lstrip()) is not None:
            stops.add(match[1])
    return remove_next_question(text, replace(context or CompletionContext(), stops=tuple(stops))) if stops else text


def _find_restart(text: str) -> int | None:
    """Return the place where a solution in numbered steps begins again after its answer; None if it does not."""
    if (step := _FIRST_STEP.match(text) or _NEXT_STEP.search(text)) is None:
        return None
    begin = text[step.start(1) : step.start(1) + _COMPARED_STEP]
    again = text.find(f"\n{begin}", step.end())
    above = text[:again].rstrip().rpartition("\n")[2] if again >= 0 else ""
    return again if _STATES.search(above) else None


def _find_other_answers(text: str) -> int | None:
    """Return the place where a completion with an answer goes on with those of other questions; None if it does not."""
    match = _NEXT_ANSWERS.search(text) if "answers" in text or "以上" in text else None
    return match.start() if match and _STATES.search(text, 0, match.start()) else None


def _find_other_list(text: str, words: Vocabulary) -> int | None:
    """Return the place where a list of other choices begins, below a first line that is only a label; else None."""
    head = text[:6].partition("\n")[0]
    if not words.folded or len(head) > 4 or read_phrase(head, words, expects_label=True)[1] != "label":
        return None
    lines = text.split("\n")
    place, others = len(lines[0]), 0
    first = place
    for line in lines[1:]:
        index = words.labels.leading_label(line)
        match = words.labels.labelled.match(line) if index is not None else None
        is_other = match is not None and index is not None and not words.starts_choice(match["rest"], index)
        others = others + 1 if is_other else 0
        first = place if others == 1 else first
        if others == 2:
            return first
        place += len(line) + 1
    return None


def _find_repeated_list(text: str, words: Vocabulary) -> int | None:
    """Return the place where the list of the choices is repeated below a first line that is only a label; else None."""
    head = text[:6].partition("\n")[0]
    if not words.folded or len(head) > 4 or read_phrase(head, words, expects_label=True)[1] != "label":
        return None
    lines = text.split("\n")
    count = len(words.folded)
    for i in range(1, len(lines) - count + 1):
        items = lines[i : i + count]
        if all(words.labels.leading_label(line) == place for place, line in enumerate(items)):
            return sum(len(line) + 1 for line in lines[:i]) if _is_copied_list(items, words) else None
    return None


def _is_copied_list(items: list[str], words: Vocabulary) -> bool:
    """Return whether lines are the choices with their labels and nothing else."""
    parts = [words.labels.labelled.match(line) for line in items]
    return all(part is not None and words.match_text(part["rest"]) == place for place, part in enumerate(parts))


def _breaks_off_among_questions(text: str) -> bool:
    """Return whether a text goes through several questions under headings and ends within a sentence."""
    if "#" not in text or text.endswith((".", "!", "?", "}", "$", ")", "*", "|", "]", '"')):
        return False
    nouns: dict[str, set[str]] = {}
    for ordinal, noun in _PART_HEADING.findall(text):
        nouns.setdefault(noun.lower(), set()).add(ordinal.lower())
    return any(len(ordinals) > 1 for ordinals in nouns.values())


def _read_text(
    text: str, words: Vocabulary, expects_label: bool, context: CompletionContext | None
) -> tuple[int | None, str]:
    """Return the choice that a masked text gives, and the rule; or None and the reason."""
    if context is not None and _is_copy(text, words, context):
        return None, "none"
    if expects_label and (plain := read_plain_label(text, words)) is not None:
        return plain, "statement"
    if ends_undecided(text):
        return None, "undecided"
    question, is_cut = ("", False) if context is None else (context.question, context.truncated)
    index, why = _read_lines(text, words, expects_label, question, is_cut=is_cut)
    if index is None and (empty := _EMPTY_STATEMENT.search(text[-_MOST_LINE:])):
        # "B. Paris\n\nThe correct answer is:"
        first, rule = _read_lines(text[: -len(empty[0])], words, expects_label, question, is_cut=False)
        index, why = (first, rule) if rule in {"last line", "first line", "statement"} else (index, why)
    return index, why


def _read_lines(
    text: str, words: Vocabulary, expects_label: bool, question: str, *, is_cut: bool
) -> tuple[int | None, str]:
    """Return the choice that a text gives which is no copy of its question, and the rule; or None and the reason."""
    lines = [line for line in text.split("\n") if line.strip(_NO_CONTENT)]
    if not lines:
        return None, "empty"
    if not is_cut or len(lines) == 1:
        index, why = _read_last_line(lines, words, expects_label)
        if why == "last line" and len(lines) > 1 and _is_doubtful_end(lines, words):
            # The "c" of "c^2 = 5^2 + 11^2\nc", and "D. London" below "The answer is A.": a statement before it decides.
            stated, _ = read_stated(text[: text.rstrip().rfind("\n")], words, expects_label)
            index, why = (index, why) if stated is None else (stated, "statement")
        if why != "none":
            return index, why
    index, why = read_stated(text, words, expects_label)
    if why not in {"none", "other"}:
        return index, why
    if is_cut and len(lines) > 1 and not _is_listing(lines, words):
        # A label with its text and an explanation that the limit of tokens cut.
        first, kind = read_phrase(lines[0], words, expects_label)
        is_valid = not _TAKEN_BACK.match(lines[1]) or _wants_wrong(question)
        if is_valid and first is not None and (kind == "label" or words.labels.leading_label(lines[0]) == first):
            return first, "first line"
    index, claim = _read_claims(words.without_latex(text), words, wants_wrong=_wants_wrong(question))
    if claim == why == "none" and not is_cut:
        return _read_free(text, lines, words, expects_label, question)
    return index, "unclear" if claim == "none" and why == "other" else claim


def _is_doubtful_end(lines: list[str], words: Vocabulary) -> bool:
    """Return whether the last line is one small letter, or an item of a list directly below a statement."""
    letter = lines[-1].strip()
    if len(letter) == 1:
        return letter.islower() and words.labels.exact_index(letter) is None
    return words.labels.leading_label(lines[-1]) is not None and _STATED_ABOVE.search(lines[-2]) is not None


def _read_free(
    text: str, lines: list[str], words: Vocabulary, expects_label: bool, question: str
) -> tuple[int | None, str]:
    """Return the choice that a complete text gives without a statement and a claim, and the rule; or None and why."""
    wants_wrong = _wants_wrong(question)
    if len(lines) > 1 and _TAKEN_BACK.match(lines[1]) and not wants_wrong:
        return None, "unclear"
    has_question = bool(question.strip())
    index, why = _read_unstated(text, lines, words, expects_label, wants_wrong=wants_wrong, has_question=has_question)
    # "The femur is part of the leg" is no answer to "Which is NOT part of the leg?".
    if index is not None and why == "text" and _QUESTION_NEGATED.search(question[-LONGEST:]):
        is_sentence = len(text) > len(words.folded[index]) + SHORT_FRAME
        index, why = (None, "none") if is_sentence and not _DISTINGUISHES.search(text) else (index, why)
    if index is None and why == "none" and len(lines) == 1 and (dashed := _DASHED.match(lines[0])):
        index, why = words.labels.exact_index(dashed["label"]), "first line"
        why = "none" if index is None else why
    if index is None and why in {"none", "several"}:
        given = find_given_text(_remove_listing(text, lines, words), words, question, wants_wrong=wants_wrong)
        given = find_stated_amount(lines[-1], words, question) if given is None and why == "none" else given
        given = find_final_result(text, words) if given is None and why == "none" else given
        given = _read_negated(lines[-1], words) if given is None else given
        given = find_position(lines[-1], words) if given is None else given
        index, why = (None, why) if given is None else (given, "text")
    return index, why


def _read_negated(line: str, words: Vocabulary) -> int | None:
    """Return the second of the choices "valid" and "invalid" where a sentence says "not valid"; None for others."""
    if len(words.folded) != 2:
        return None
    short, long = sorted(range(2), key=lambda i: len(words.folded[i]))
    base = words.folded[short]
    if words.folded[long] not in {f"{prefix}{base}" for prefix in ("in", "un", "im", "non-", "non", "not ")}:
        return None
    sentence = _LAST_SENTENCE.sub("", line).casefold()
    return long if re.search(rf"\b(?:is|are)(?:\s+not|n['’]t)\s+{re.escape(base)}\W*$", sentence) else None


@lru_cache(maxsize=1024)
def _wants_wrong(question: str) -> bool:
    """Return whether a question asks for the wrong option."""
    return _WANTS_WRONG.search(question[-LONGEST:]) is not None


@lru_cache(maxsize=1024)
def _normalize_question(question: str, labels: LabelPatterns) -> str:
    """Return a question in the form in which it is compared with a completion."""
    return normalize(labels.mask(unicodedata.normalize("NFKC", question)))


def _remove_listing(text: str, lines: list[str], words: Vocabulary) -> str:
    """Return the part of a text below its list of choices, or all of it if it has none."""
    if not _is_listing(lines, words):
        return text
    below = len(lines)
    while below and _item_label(lines[below - 1], words) is None:
        below -= 1
    return "\n".join(lines[below:])


def _read_last_line(lines: list[str], words: Vocabulary, expects_label: bool) -> tuple[int | None, str]:
    """Return the choice that the last line as a whole is, and "last line"; or None and the reason.

    A choice of several lines is read from all lines.
    """
    if words.has_lines and len(lines) > 1:
        index, why = read_phrase("\n".join(lines), words, expects_label)
        if index is not None and why == "choice":
            return index, "last line"
    line = remove_asides(lines[-1])
    if len(lines) == 1 and not words.labels.has_digits and (numbering := _NUMBERING.match(line)):
        line = line[numbering.end() :]
    index, why = read_phrase(line, words, expects_label)
    last = line.rstrip(SPACE + "*.")[-1:]
    labelled = (
        _LABELLED_LAST.search(line)
        if why == "none" and (last == ")" or last.isupper() or line.endswith(("then", "then.")))
        else None
    )
    if labelled and labelled["only"] and _OTHERS_SAY.search(line):
        labelled = None
    if labelled and not _is_listing(lines, words):
        # "**Maximum energy: 0.48 eV (B)**", and a last sentence that is a label: "Not B and not C. A."
        index, why = read_phrase(labelled["part"] or labelled["only"], words, expects_label)
        index, why = (index, why) if why != "none" and index is not None else (None, "none")
    if why == "label" or (why in {"choice", *CONFLICTS} and not _ends_listing(lines, words)):
        if index is not None:
            return index, "last line"
        if len(lines) == 1:
            return None, why
    return None, "none"


def _is_copy(text: str, words: Vocabulary, context: CompletionContext) -> bool:
    """Return whether a completion is nothing but a part of its question."""
    if not SHORTEST_COPY <= len(text) <= LONGEST:
        return False
    question = _normalize_question(context.question, words.labels)
    middle = normalize(text[len(text) // 2 :][: SHORTEST_COPY // 3])
    return middle in question and normalize(text) in question and words.match_text(text) is None


def _read_unstated(
    text: str, lines: list[str], words: Vocabulary, expects_label: bool, *, wants_wrong: bool, has_question: bool
) -> tuple[int | None, str]:
    """Return the choice that a completion gives without a statement, and the rule."""
    if _is_listing(lines, words):
        return _read_heading(lines, words, expects_label)
    heads = {line.partition("**")[2].partition("**")[0] for line in lines if _BOLD_ITEM.match(line)}
    heads = heads if len(heads) >= LEAST_ITEMS else set()
    phrases = {match[1] for match in _BOLD.finditer(text) if not _is_crossed(text, match.start())} - heads or (
        set(_CODE.findall(text)) if "`" in text else set()
    )
    phrases |= {phrase.rpartition("=")[2] for phrase in phrases if "=" in phrase}
    if lines[-1].count("**") == 2 and (amount := _AMOUNT.search(lines[-1])) and not words.labels.has_digits:
        phrases.add(amount[1])  # "**100 times** more luminous"
    phrases |= {cited[1] for phrase in phrases if (cited := _CITED_BOLD.search(phrase))}
    bold = {index for phrase in phrases if (index := read_phrase(phrase, words, expects_label)[0]) is not None}
    if bold:
        return (bold.pop(), "bold") if len(bold) == 1 else (None, "several")
    index, _ = read_phrase(lines[0], words, expects_label)
    if index is None and (dashed := _DASHED_TEXT.match(lines[0])):
        # "B - Mars, whose surface is red." with remarks on other choices below.
        index = words.labels.exact_index(dashed["label"])
        index = index if index is not None and words.starts_choice(lines[0][dashed.end() :], index) else None
    if index is not None:
        return index, "first line"
    if words.labels.leading_label(lines[0]) is not None:
        return _read_leading(lines[0], words)
    if len(lines) > 1 or len(text) > LONGEST_TEXT + words.longest or text[-1] == "?" or HEDGE.search(text):
        return None, "none"
    rejected = (match for match in _REJECTS.finditer(text) if match[0].lower() not in words.loose_texts)
    is_doubtful = any(rejected) and (not wants_wrong or words.find_labels(text))
    return (None, "none") if is_doubtful else _read_only_line(text, words, has_question=has_question)


def _read_heading(lines: list[str], words: Vocabulary, expects_label: bool) -> tuple[int | None, str]:
    """Return the choice of a first line "B: Propranolol" above the others' explanations: "A: ... is for ..."."""
    index, kind = read_phrase(lines[0], words, expects_label)
    below = [place for line in lines[1:] if (place := words.labels.leading_label(line)) is not None]
    is_whole = index is not None and kind in {"choice", "label"} and index not in below and len(below) > 1
    return (index, "first line") if is_whole and index != 0 and below[0] == 0 else (None, "none")


def _is_crossed(text: str, place: int) -> bool:
    """Return whether a cross stands before a place in its line: "❌ **B. Venus**"."""
    return any(map(text[text.rfind("\n", 0, place) + 1 : place].__contains__, _CROSSES))


def _read_only_line(text: str, words: Vocabulary, *, has_question: bool) -> tuple[int | None, str]:
    """Return the only choice that occurs in a line, and "text"; or None and the reason.

    Where the question is known, several sentences are left to their conclusion: one may say no more than a fact.
    """
    if aside := _OPTION_ASIDE.fullmatch(text):
        index = None if _TEMPTS.search(text) else words.labels.exact_index(aside["label"])
        return (index, "text") if index is not None else (None, "none")
    plain = words.without_latex(text)
    index, why = words.find_text(plain, "text")
    if index is None:
        return None, why
    if has_question and len([part for part in split_sentences(plain) if part.strip(_NO_CONTENT)]) > 1:
        return None, "none"
    named = words.find_labels(text)
    is_reply = index in named if named else not (is_reported(plain) or is_hypothetical(plain))
    if not is_reply or _OTHERS_SAY.search(plain):
        return None, "none"
    # A number in a sentence may be a step; at its end it is the result.
    is_word = any(character.isalpha() for character in words.folded[index])
    is_end = plain.rstrip(LOOSE + ")]").casefold().endswith(words.folded[index].rstrip(LOOSE + ")]"))
    return (index, why) if is_word or is_end else (None, "none")


def _ends_listing(lines: list[str], words: Vocabulary) -> bool:
    """Return whether the last line belongs to a list of labels: all choices repeated, or numbered steps.

    A label that the list had before is an answer after it.
    """
    if not _is_listing(lines, words):
        return False
    last = words.labels.leading_label(lines[-1])
    listed = [index for line in lines[:-1] if (index := words.labels.leading_label(line)) is not None]
    return last is None or last not in listed or len(set(listed)) < len(words.folded)


def _read_claims(text: str, words: Vocabulary, *, wants_wrong: bool) -> tuple[int | None, str]:
    """Return the choice that free sentences give, and "claim"; or None and the reason."""
    claims = find_claims(text, words, wants_wrong=wants_wrong)
    if claims and "one of " in text and _denies_all(text, words):
        return None, "unclear"
    if not claims:
        place = find_verdict(text, words, wants_wrong=wants_wrong)
        place = find_exception(text, words) if place is None and wants_wrong else place
        if place is not None:
            return place, "claim"
    conclusion = find_conclusion(text, words)
    for some in ([claim for claim in claims if claim.is_definite], claims):
        indices = {claim.place for claim in some}
        if len(indices) > 1 and conclusion is not None:
            return conclusion, "claim"
        if indices:
            index = indices.pop()
            if indices and wants_wrong and (place := find_exception(text, words)) is not None:
                return place, "claim"
            return (None, "several") if indices or index is None else (index, "claim")
    if conclusion is None and not wants_wrong and len(text) <= LONGEST:
        conclusion = find_remaining(text, words)
    return (None, "none") if conclusion is None else (conclusion, "claim")


def _denies_all(text: str, words: Vocabulary) -> bool:
    """Return whether a text says that none of the options fits, and names no option after that."""
    denials = list(_NONE_FITS.finditer(text))
    if not denials or any(_NONE_FITS.search(choice) for choice in words.folded):
        return False
    rest = text[denials[-1].end() :]
    return next(find_mentions(rest, words), None) is None and words.find_text(rest, "text")[1] == "none"


def _is_listing(lines: list[str], words: Vocabulary) -> bool:
    """Return whether lines start with several labels, as the repeated choices or numbered steps do."""
    first = None
    for line in lines:
        index = _item_label(line, words)
        if index is not None and first not in {None, index}:
            return True
        first = first if index is None else index
    return False


def _item_label(line: str, words: Vocabulary) -> int | None:
    """Return the index of the label that an item of a list begins with: "B) ...", or "B = ..." before its choice."""
    index = words.labels.leading_label(line)
    if index is None and "=" in line and (item := _ASSIGNED.match(line)):
        index = words.labels.exact_index(item[1])
        index = index if index is not None and words.starts_choice(line[item.end() :], index) else None
    return index


def _read_leading(line: str, words: Vocabulary) -> tuple[int | None, str]:
    """Return the label that a line starts with, unless the text of another choice follows and nothing else."""
    match = words.labels.labelled.match(line)
    other = words.match_text(match["rest"]) if match else None
    index = words.labels.leading_label(line)
    if words.labels.alternative.search(line) or lists_choices(line, words):
        return None, "several"
    return (None, "contradiction") if other not in (None, index) else (index, "first line")
