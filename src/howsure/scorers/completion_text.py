r"""The text of a completion that scorers read, and what is known about it.

Every scorer gets the text without the thoughts of a thinking model and without further questions (`clean_completion`).
Thoughts stand in one of these forms:

1. in tags: `<think>...</think>` (also `thinking`, `thought` and `reasoning`);
2. before an end tag only, because the prompt's template had opened it;
3. behind a tag at the beginning of a line that never closes;
4. in channels with the marks of harmony: `<|channel|>analysis<|message|>...<|channel|>final<|message|>...`;
5. in these channels without the marks: `analysis...assistantfinal...`.

An endpoint that sends thoughts in a field of their own keeps them apart itself. Thoughts that never end leave no text:
such a completion is unfinished, and no answer is read from it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, Protocol, cast

from howsure.scorers.statements import find_statement

#: Characters of a line behind a stop that show that it repeats the own question, at least and at most.
SHORTEST_LINE, LONGEST_LINE = 20, 150
_STATED_END = re.compile(r"\b[Tt]he answer is \(?[^\s.()]{1,12}\)?\.[ \t]*(?=\n)")
_TAG = re.compile(r"<(?P<end>/?)(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_CHANNEL, _FINAL_CHANNEL, _MESSAGE = "<|channel|>", "<|channel|>final", "<|message|>"
_CHANNEL_ENDS = ("<|end|>", "<|return|>", "<|start|>", "<|channel|>")
# The first channel without its marks: "analysisWe need to find ...".
_BARE_CHANNEL = re.compile(r"\s*(?:assistant)?analysis(?P<is_glued>(?=[A-Z\"'(]))?")
_BARE_FINAL = "assistantfinal"


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

    Examples
    --------
    >>> CompletionContext("What is 1 + 1?", truncated=True).language
    ''
    """

    question: str = ""
    choices: tuple[str, ...] = ()
    truncated: bool = False
    stops: tuple[str, ...] = ()
    language: str = ""


class SplitText(NamedTuple):
    """A completion in parts: the text of its answer, its thoughts, and whether the thoughts end."""

    text: str
    thoughts: str
    is_finished: bool


def split_thoughts(completion: str) -> SplitText:
    """Return the text of a completion apart from its thoughts; the text is empty where the thoughts never end.

    Examples
    --------
    >>> split_thoughts("<think>It is 3? No.</think>The answer is 4.")
    SplitText(text='The answer is 4.', thoughts='It is 3? No.', is_finished=True)
    >>> split_thoughts("So 2 + 2 = 4.</think>4").text, split_thoughts("analysisIt is 2 + 2.assistantfinal4").text
    ('4', '4')
    >>> split_thoughts("<think>It is 3").is_finished
    False
    """
    if _CHANNEL in completion:
        thoughts, mark, final = completion.rpartition(_FINAL_CHANNEL)
        if not mark:
            return SplitText("", completion, is_finished=False)
        final = final.partition(_MESSAGE)[2]
        ends = (final.find(end) for end in _CHANNEL_ENDS)
        return SplitText(final[: min((end for end in ends if end >= 0), default=len(final))], thoughts, True)
    if "analysis" in completion[:40] and (channel := _BARE_CHANNEL.match(completion)):
        thoughts, mark, final = completion.rpartition(_BARE_FINAL)
        if mark:
            return SplitText(final, thoughts[channel.end() :], is_finished=True)
        if channel["is_glued"] is not None:
            return SplitText("", completion[channel.end() :], is_finished=False)
    return _split_tags(completion) if "<" in completion else SplitText(completion, "", is_finished=True)


def _split_tags(completion: str) -> SplitText:
    """Return the parts of a completion that may have thoughts in tags."""
    texts: list[str] = []
    thoughts: list[str] = []
    position = 0
    start_tag: re.Match[str] | None = None
    for tag in _TAG.finditer(completion):
        if tag["end"]:
            # Without its start_tag tag, all text before the end tag is thoughts.
            thoughts.append(completion[0 if start_tag is None else start_tag.end() : tag.start()])
            texts = [] if start_tag is None else texts
            start_tag, position = None, tag.end()
        elif start_tag is None:
            texts.append(completion[position : tag.start()])
            start_tag = tag
    if start_tag is None:
        return SplitText("".join([*texts, completion[position:]]), "".join(thoughts), is_finished=True)
    line = completion[completion.rfind("\n", 0, start_tag.start()) + 1 : start_tag.start()]
    if line.strip():  # a tag within a line is mentioned
        return SplitText("".join([*texts, completion[start_tag.start() :]]), "".join(thoughts), is_finished=True)
    return SplitText("", "".join([*thoughts, completion[start_tag.end() :]]), is_finished=False)


def clean_completion(
    completion: str, context: CompletionContext | None = None
) -> tuple[str, CompletionContext, SplitText]:
    r"""Return the text that a scorer reads, what is known about it, and the parts of the completion.

    A text that goes on with a further question of the prompt's form ends before it, and is then not truncated.

    Examples
    --------
    >>> context = CompletionContext("What is 2 + 2?", truncated=True, stops=("\nQuestion:",))
    >>> text, context, _ = clean_completion("4\n\nQuestion: What is 3 + 3?\nAnswer: 6", context)
    >>> text, context.truncated
    ('4\n', False)
    """
    parts = split_thoughts(completion)
    text, context = parts.text, context or CompletionContext()
    if context.stops:
        part = _remove_next_question(text, context)
        if context.truncated and not text.rstrip().endswith(part.strip()):
            context = replace(context, truncated=False)
        text = part
    return text, context, parts


def _remove_next_question(text: str, context: CompletionContext) -> str:
    """Return the part of a text before a further question; the part behind its own question where it repeats that.

    A line that ends with the statement of few-shot prompts, "The answer is (B).", ends the text too.
    """
    content = len(text) - len(text.lstrip())
    spans = (match.span() for stop in context.stops for match in re.finditer(re.escape(stop), text))
    places = sorted(span for span in spans if span[0] > content)
    first = _find_own_question(text, places, context.question) if places else 0
    part = text[first : next((start for start, _ in places if start >= first), len(text))]
    stated = _STATED_END.search(part)
    return part[: stated.end()] if stated else part


def _find_own_question(text: str, places: Sequence[tuple[int, int]], question: str) -> int:
    """Return the place behind the stop where an unanswered text repeats its own question; 0 if it does not."""
    head, question = text[: places[0][0]], " ".join(question.split())
    if len(head.strip()) < SHORTEST_LINE or find_statement(head) is not None:
        return 0
    for _, end in places:
        line = " ".join(text[end:].strip().partition("\n")[0].split())[:LONGEST_LINE]
        if len(line) >= SHORTEST_LINE and line in question:
            return end
    return 0


#: The context with these parts, which is one object for all completions of a question.
share_context = lru_cache(maxsize=1024)(CompletionContext)


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
    return cast("ContextExtractor", extract) if takes_context else lambda text, **_: extract(text)


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


def parse_context(record: Mapping[str, object], prompt: str, choices: Sequence[str] = ()) -> CompletionContext:
    """Return the context of a completion from the stored record of its prompt.

    Parameters
    ----------
    record
        The record with the keys of `write_context`, which may be absent.
    prompt
        Text of the last message; the question is its part after the last marker of a question.
    choices
        Texts of the choices as the prompt showed them.
    """
    stops = record.get("stops")
    texts = tuple(map(str, stops)) if isinstance(stops, list) else ()
    question = prompt
    for stop in texts:
        question = f"\n{question}".rpartition(stop)[2]
    return CompletionContext(question.strip(), tuple(choices), False, texts, str(record.get("language") or ""))
