"""Describe what is known about a completion besides its text: the question, its choices, and how the text ended."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol, cast

__all__ = [
    "CompletionContext",
    "ContextExtractor",
    "accept_context",
    "complete_context",
    "find_bare_question",
    "find_further_question",
    "find_question_markers",
    "find_repeated_answers",
    "find_stops",
    "parse_context",
    "remove_next_question",
    "remove_run_on",
    "share_context",
    "write_context",
]

#: Characters of a question that are compared to tell a repeated question from a new one.
_COMPARED = 150
#: Characters of a later part of a question, after an instruction that all questions begin with.
_PART = 50
_QUESTION_NOUNS = "Q Problem Exercise Frage Pregunta Domanda Вопрос 问题 問題 User Human"
_QUESTION_WORDS = _QUESTION_NOUNS.split()
# Where a completion begins a further question, in the formats of common prompts and exams.
_NEXT_QUESTION = re.compile(
    rf"\n[ \t]{{0,4}}[*_#>]{{0,4}}[ ]?(?:Question|QUESTION|{'|'.join(_QUESTION_WORDS)})[ ]?\d{{0,3}}[*_]{{0,2}}[ ]?:"
    r"|\n[ \t]{0,4}(?:Question|Problem|Exercise)[ ](?:number|no\.)[ ]?\d{1,3}[.:)]?(?=[ \t]*\n)"
    r"|\n[ \t]{0,4}\[(?:Question|Problem)\][ \t]*(?=\n)"
)
# The first letter of such a line. The search for it takes a tenth of the time.
_NEXT_LETTER = re.compile(rf"\n[ \t*_#>\[]*+[{''.join(sorted({word[0] for word in _QUESTION_WORDS}))}]")
# Words before a completion's own list of questions: "Here are the answers to each question:".
_INTRODUCTION = re.compile(r"\s*(?=[^\n]*\b(?:answers?|questions?|problems?|tasks?|step by step)\b)[^\d\n]{1,150}\s*")
_OPTIONS_LINE = re.compile(r"\n[ \t]*(?:Options:|Choices:|Answer Choices:|[-(]?A[).:][ ])", re.IGNORECASE)
_QUESTION_SENTENCE = re.compile(r"[.!?][ \n]+(?=[A-Z])")
#: Shortest beginning of a question, in characters, that shows that another is alike.
LEAST_BEGINNING = 8
#: Words that a repeated question shares with the own one, of those of the longer, and how much less any other shares.
SHARE_REPEATED, LEAST_MARGIN = 0.7, 0.2
#: A statement of an answer, before which a repeated question is no repetition of the whole exercise.
_ANSWERED = re.compile(r"answer(?:\s+is|:)\s*\S|####|\\boxed", re.IGNORECASE)
#: A first line that is an answer by itself: a label, perhaps with its text, a number with its unit, yes or no.
_BARE_ANSWER = re.compile(
    r"\W{0,6}(?:[A-Z](?:[.):]{1,2}[ ][^\n]{1,80})?|\d[\d.,]{0,20}(?:[ ]?[a-z%°]{1,12})?|(?i:yes|no|true|false))\W{0,6}"
)
# A line that asks, below a line that answers: "Yes\n\nCan ostriches fly?\nNo", "1969\nWhen was the first ascent? 1953".
_BARE_QUESTION = re.compile(
    r"\A\s*(?P<answer>[^\n?:]{1,100})\n(?:[ \t]*\n)?[^\n?]{8,400}\?(?:[ ][^\n?]{1,60}\?)?[ \t*_]{0,4}"
    r"(?:\n\s*\S|[^\n?]{1,60}(?:\n|$))"
)
# Below a line that states an answer, a line that ends with a question, and a further statement below it.
_FURTHER_QUESTION = re.compile(
    r"(?:answer(?:\s+is|:)[ ]*[^\n?]{1,80}|####[ ]*[^\n?]{1,40}|\\boxed\{[^\n?]{1,80})\n(?:[ \t]*\n)?"
    r"(?P<next>[^\n]{15,600}\?)[ \t]*\n(?=[\s\S]*(?:answer(?:\s+is|:)|####|\\boxed))",
    re.IGNORECASE,
)
_LINE_WITH_QUESTION = re.compile(r"\?[ \t]*\n")
# Words of a question that a completion asks itself: "Wait, is that right?".
_SELF_DOUBT = re.compile(
    r"\b(?:wait|right|correct|sure|answers?|i|we|me|let|let's|check|this|that|it|hmm|but|so)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class CompletionContext:
    r"""What is known about a completion besides its text; every part may be unknown.

    Attributes
    ----------
    question
        Text of the question; empty if it is unknown.
    choices
        Texts of the choices in the order in which the prompt showed them; empty if there are none.
    truncated
        Whether the completion was cut at the limit of its tokens (finish reason "length").
    stops
        Texts with which the prompt begins a further question, such as "\nQuestion:"; a completion ends before them.
    language
        Code of the benchmark's language, such as "de"; empty if it is unknown.
    """

    question: str = ""
    choices: tuple[str, ...] = ()
    truncated: bool = False
    stops: tuple[str, ...] = ()
    language: str = ""


@lru_cache(maxsize=1024)
def share_context(
    question: str, choices: tuple[str, ...], truncated: bool, stops: tuple[str, ...], language: str
) -> CompletionContext:
    """Return the context with these parts, which is one object for all completions of a question.

    >>> share_context("1 + 1?", (), False, (), "en") is share_context("1 + 1?", (), False, (), "en")
    True
    """
    return CompletionContext(question, choices, truncated, stops, language)


class ContextExtractor(Protocol):
    """A function from a completion, and what is known about it, to the canonical answer or None."""

    def __call__(self, text: str, /, *, context: CompletionContext | None = None) -> str | None:
        """Return the answer of a completion."""
        ...


def accept_context(extract: Callable[[str], str | None]) -> ContextExtractor:
    """Return a function that takes a context and calls `extract`, with the context if `extract` has that parameter.

    >>> accept_context(str.strip)(" 18 ", context=CompletionContext(truncated=True))
    '18'
    """
    try:
        takes_context = "context" in inspect.signature(extract).parameters
    except (TypeError, ValueError):  # a function of another language has no signature
        takes_context = False
    if takes_context:
        return cast("ContextExtractor", extract)

    def extract_without_context(text: str, /, *, context: CompletionContext | None = None) -> str | None:
        del context
        return extract(text)

    return extract_without_context


def find_stops(marker: str) -> tuple[str, ...]:
    r"""Return the stop strings of a prompt that begins each question with a marker; none if the marker is empty.

    >>> find_stops("Question: "), find_stops("")
    (('\nQuestion:',), ())
    """
    word = marker.strip()
    return (f"\n{word}",) if any(character.isalnum() for character in word) else ()


def write_context(context: CompletionContext) -> dict[str, object]:
    """Return the parts of a context that a run stores in the record of a prompt; the others are stored elsewhere."""
    parts = {"stops": list(context.stops), "language": context.language}
    return {key: value for key, value in parts.items() if value}


def parse_context(
    record: Mapping[str, object], prompt: str, choices: Sequence[str] = (), *, truncated: bool = False
) -> CompletionContext:
    """Return the context of a completion from the stored record of its prompt.

    Parameters
    ----------
    record
        The record with the keys of `write_context`, which may be absent.
    prompt
        Text of the last message; the question is its part after the last marker of a question.
    choices
        Texts of the choices as the prompt showed them.
    truncated
        Whether the completion was cut.
    """
    stops = record.get("stops")
    texts = tuple(map(str, stops)) if isinstance(stops, list) else ()
    question = prompt
    for stop in texts:
        question = f"\n{question}".rpartition(stop)[2]
    return CompletionContext(question.strip(), tuple(choices), truncated, texts, str(record.get("language") or ""))


def remove_next_question(text: str, context: CompletionContext | None) -> str:
    r"""Return the part of a completion that answers its question: up to where it begins a further question.

    A completion that repeats its own question, perhaps after others, answers it there. A question at the very start
    of a completion is not a further one.

    >>> context = CompletionContext(question="What is 2 + 2?", stops=("\nQuestion:",))
    >>> remove_next_question("4\n\nQuestion: What is 3 + 3?\nAnswer: 6", context)
    '4\n'
    >>> remove_next_question("I repeat:\nQuestion: What is 2 + 2?\nAnswer: 4", context)
    ' What is 2 + 2?\nAnswer: 4'
    """
    if context is None or not context.stops or not any(map(text.__contains__, context.stops)):
        return text
    own = " ".join(context.question.split())
    places = sorted(
        {(match.start(), match.end()) for stop in context.stops for match in re.finditer(re.escape(stop), text)}
    )
    content = len(text) - len(text.lstrip())
    places = [(start, end) for start, end in places if start > content]
    if not places:
        return text
    first = 0
    if own and not _is_answered(text[: places[0][0]]) and not _is_short_answer(text[: places[0][0]]):
        repeated = (end for _, end in places if _is_part_of(text[end : end + 4 * _COMPARED], own))
        first = next(repeated, 0)
        if not first and _INTRODUCTION.fullmatch(text[: places[0][0]]):
            first = _find_reworded(text, [end for _, end in places], context.question)
    return text[first : next((start for start, _ in places if start >= first), len(text))]


def _find_reworded(text: str, places: Sequence[int], question: str) -> int:
    """Return the place where a completion asks its own question in nearly the same words; 0 if it is not one of these.

    The sentence that asks must have the same numbers, and another question must not be as near.
    """
    last_sentence = _QUESTION_SENTENCE.split(_OPTIONS_LINE.split(question)[0].strip())[-1]
    own = set(re.findall(r"\w+", last_sentence.casefold()))
    shares: list[tuple[float, int]] = []
    for place in places:
        line = text[place : place + 4 * _COMPARED].strip().partition("\n")[0]
        words = set(re.findall(r"\w+", line.casefold()))
        is_same = set(filter(str.isdigit, words)) == set(filter(str.isdigit, own))
        shares.append((len(words & own) / max(len(words), len(own), 1) if is_same else 0.0, place))
    shares.sort()
    if len(shares) < 2 or shares[-1][0] < SHARE_REPEATED or shares[-1][0] - shares[-2][0] < LEAST_MARGIN:
        return 0
    return shares[-1][1]


def complete_context(text: str, part: str, context: CompletionContext | None) -> CompletionContext | None:
    r"""Return the context of a part of a completion, which is not truncated if the end of the completion is left out.

    >>> context = CompletionContext(truncated=True)
    >>> complete_context("4\nQ: What is 3 + 3?\nA:", "4", context).truncated
    False
    >>> complete_context("4\nQ: What is 3 + 3?\nA:", "A:", context).truncated
    True
    """
    if context is None or not context.truncated:
        return context
    text, part = text.strip(), part.strip()
    # A part that is the same as the end may be the beginning: "Paris.\n\nQuestion: ...\nAnswer: Paris."
    is_end = text == part or (text.endswith(part) and not text.startswith(part))
    return context if is_end else replace(context, truncated=False)


def find_repeated_answers(text: str) -> int | None:
    r"""Return the end of a first line that is an answer, above several lines "Answer: ..." that differ; else None.

    A prompt that ends with "Answer:" is completed with the first line, and then with answers to nothing.

    >>> find_repeated_answers("Paris\nAnswer: London\nAnswer: Rome"), find_repeated_answers("Paris\nAnswer: Paris")
    (5, None)
    """
    if text.count("\nAnswer:") < 2:
        return None
    content = len(text) - len(text.lstrip())
    end = text.find("\n", content)
    first = text[content:end].strip()
    contents = {match[1].strip(" .*").casefold() for match in _REPEATED_ANSWER.finditer(text)} - {""}
    is_answer = _BARE_ANSWER.fullmatch(first) or _is_short_answer(first)
    return end if is_answer and len(contents | {first.strip(" .*").casefold()}) > 1 else None


def remove_run_on(text: str, context: CompletionContext | None) -> str:
    r"""Return the part of a text before a further question in a common format, if a statement of an answer is in it.

    >>> remove_run_on("The answer is 4.\n\nProblem 2: What is 3 + 3?\nThe answer is 6.", None)
    'The answer is 4.\n'
    >>> remove_run_on("4\n\nWhat is 3 + 3?\n6", CompletionContext("What is 2 + 2?"))
    '4'
    >>> remove_run_on("Question: What is 2 + 2?\nAnswer: 4", None)
    'Question: What is 2 + 2?\nAnswer: 4'
    """
    if context is not None and (bare := find_bare_question(text)) is not None:
        return bare
    place = None if context is None else find_repeated_answers(text)
    place = _find_alike(text, context.question) if context is not None and place is None else place
    place = find_further_question(text, context) if place is None else place
    if place is not None:
        return text[:place]
    if not (stops := find_question_markers(text)):
        return text
    first = remove_next_question(text, replace(context or CompletionContext(), stops=stops))
    if _ANSWERED.search(first) or (context is not None and _is_answered(first)):
        return first
    # A numbered question may be a part of the reasoning: "Question 1: How many are left?"
    if context is not None and first is not text and _SHORT_LINE.fullmatch(first) and _ANSWER_LINE.search(text):
        return first
    is_result = (
        context is not None
        and first is not text
        and _RESULT.search(first)
        and not any(map(str.isdigit, "".join(stops)))
    )
    return first if is_result else text


def find_bare_question(text: str) -> str | None:
    """Return the first line of a text that is only an answer, above a line that asks a further question; else None."""
    short = _BARE_QUESTION.match(text) if "?" in text else None
    return short["answer"] if short and _BARE_ANSWER.fullmatch(short["answer"]) else None


def find_further_question(text: str, context: CompletionContext | None) -> int | None:
    """Return the place where a completion asks and answers a further question below its answer; None if it does not."""
    below = _FURTHER_QUESTION.search(text) if _LINE_WITH_QUESTION.search(text) else None
    if below is None or _SELF_DOUBT.search(below["next"]):
        return None
    own = " ".join((context.question if context else "").split())
    is_own = bool(own) and " ".join(below["next"].split())[-_PART:] in own
    return None if is_own else len(text[: below.start("next")].rstrip()) + 1


def _find_alike(text: str, question: str) -> int | None:
    """Return the place where a further question begins in the words of the own one, below an answer in one line."""
    begin = " ".join(question.split()[:3])
    if len(begin) < LEAST_BEGINNING or "\n\n" not in text:
        return None
    place = text.find(f"\n\n{begin}", 1)
    is_other = place > 0 and not " ".join(text[place:].split()).startswith(" ".join(question.split())[:_COMPARED])
    return place if is_other and "\n" not in text[:place].strip() and text[:place].strip()[-1:] not in "?:" else None


def _is_short_answer(text: str) -> bool:
    """Return whether a text is one line of a few words that announces nothing."""
    return _SHORT_LINE.fullmatch(text) is not None and _HEADING.search(text) is None


def _is_answered(text: str) -> bool:
    """Return whether a text states an answer, or is nothing but one."""
    return _ANSWERED.search(text) is not None or _BARE_ANSWER.fullmatch(text) is not None


# A line of a few words that announces nothing, and a line that answers a further question.
_SHORT_LINE = re.compile(
    r"\s*(?!(?i:sure|ok|okay|here|let|great|of|certainly|yes|i|we|to)\b)[^\s:?]{1,30}(?:[ ][^\s:?]{1,30}){0,5}\s*"
)
_REPEATED_ANSWER = re.compile(r"\nAnswer:[ \t]*\n?([^\n]*)")
_HEADING = re.compile(r"\b(?:answer|solution|explanation|reasoning|analysis|result|step)\b", re.IGNORECASE)
_ANSWER_LINE = re.compile(r"\n[ \t]{0,4}(?:A|Answer)[ ]?:")
#: A short answer behind the letter of a prompt, or the last equation of a calculation, before a blank line.
_RESULT = re.compile(r"\A\s*(?:A|Answer)[ ]?:[^\n]{1,100}\s*\Z|(?:=|\b(?:is|are))[ ]?\W{0,4}\d[^\n=?]{0,40}\n\s*\Z")


def find_question_markers(text: str) -> tuple[str, ...]:
    r"""Return the texts with which a completion begins lines as common prompts begin a question: "\nQ:".

    >>> find_question_markers("4\n\nQuestion 2: ...")
    ('\nQuestion 2:',)
    """
    if _NEXT_LETTER.search(text) is None:
        return ()
    return tuple({match[0]: None for match in _NEXT_QUESTION.finditer(text)})


def _is_part_of(text: str, question: str) -> bool:
    """Return whether a text begins with the question, or with a later part of it, after what all questions share."""
    text = " ".join(text.replace("**", "").split())
    return text.startswith(question[:_COMPARED]) or (question.find(text[:_PART]) > 0 and len(text) >= _PART)
