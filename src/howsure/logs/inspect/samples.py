"""Read the scores, the prompt and the completions of a sample of Inspect."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

import msgspec

from howsure.logs.base import RowBuilder, RowFields, mark_missing
from howsure.logs.inspect.log_file import InspectLog, Message, Sample, SampleOutput, SampleScore, SampleSummary
from howsure.logs.values import parse_score
from howsure.store.schema import UNSCORED

#: A scorer, and the key of its value where that is a dict or a list.
ScorerPlace = tuple[str, str | None]

#: Reasons why no answer was parsed, which Inspect's own scorers write beside a score of 0.
_NO_ANSWER = frozenset({"invalid_response_format", "no_response"})
#: Letters to which Inspect gives a number: correct, incorrect, partial, no answer.
_VALUED_LETTERS = frozenset("CIPN")
_ATTACHMENT = "attachment://"


def list_scorers(log: InspectLog) -> dict[str, ScorerPlace]:
    """Return the scores that can be read, by name: a scorer, or one key of its value; reported ones come first."""
    places: dict[str, ScorerPlace] = {}
    for summary in log.summaries.values():
        for scorer, score in (summary.scores or {}).items():
            if isinstance(score.value, dict):
                places.update({f"{scorer}/{key}": (scorer, key) for key in score.value})
            elif isinstance(score.value, list):
                places.update({f"{scorer}/{i}": (scorer, str(i)) for i in range(len(score.value))})
            elif scorer not in places:
                places[scorer] = scorer, None
    # A scorer that returned a dict for some samples has no number of its own, although it left others unscored.
    with_keys = {scorer for scorer, key in places.values() if key is not None}
    places = {name: place for name, place in places.items() if place[1] is not None or place[0] not in with_keys}
    results = log.header.results
    if results is None:
        return places
    reported = [(score.name, score.scorer) for score in results.scores]
    if results.headline:
        reported.insert(0, (results.headline.get("score") or "", results.headline.get("scorer")))
    names = [name for score, scorer in reported for name in (f"{scorer}/{score}", score) if name in places]
    # A scorer without metrics beside one with metrics makes something for people to look at, such as a diff.
    has_metrics = any(score.metrics for score in results.scores)
    without = {score.name for score in results.scores if has_metrics and not score.metrics}
    sorted_names = sorted(dict.fromkeys((*names, *places)), key=lambda name: name in without)
    return {name: places[name] for name in sorted_names}


def find_grades(log: InspectLog, scorer: ScorerPlace | None) -> str:
    """Return the letters of a scorer if they are grades, such as A to D: others than C, I, P and N, which have values.

    Inspect counts the grade C as right and the others as wrong, which is no score of anything.
    """
    values = (_find_score(summary, scorer)[1] for summary in log.summaries.values())
    letters = {value.upper() for value in values if _is_letter(value)}
    return ", ".join(sorted(letters)) if letters - _VALUED_LETTERS else ""


def score_sample(
    sample: SampleSummary, scorer: ScorerPlace | None, build: RowBuilder, *, grades: str = ""
) -> RowFields:
    """Return score, status and answer of a sample, or why it has no score; `grades` is what `find_grades` returns."""
    result, value = _find_score(sample, scorer)
    score, fault = _parse_value(value, grades)
    if sample.error:
        if score:
            build.note("log-failed-and-scored", 1)
        else:
            build.note("log-failed" if score is None else "log-failed-as-wrong", 1, program="Inspect")
        return {"status": "error", "error": _format_error(sample.error)}
    if fault and grades:
        build.note("log-grades", 1, grades=grades)
    elif fault:
        build.note("log-score-no-number", 1, example=fault)
    if fault:
        return {"status": "error", "error": fault}
    if scorer is None and score is None:
        build.note("log-not-scored", 1)
        return {"status": UNSCORED}
    if result is None or score is None:
        build.note("log-no-score", 1, of=f" of {scorer[0]!r}" if scorer else "")
        return mark_missing("the scorer gave no score")
    if sample.limit:
        build.note("log-limit", 1)
    if (isinstance(value, str) and value.strip().upper() == "N") or (score == 0 and result.reason in _NO_ANSWER):
        return {"score": score, "status": "unparsed"}
    return {"score": score, "status": "ok", "answer": as_text(result.answer) or None}


def _parse_value(value: Any, grades: str) -> tuple[float | None, str | None]:
    """Return the score, and what is wrong with the value where it is none."""
    if not (grades and _is_letter(value)):
        with contextlib.suppress(ValueError):
            return parse_score(value), None
    return None, f"scoring: {value!r:.100} is no score"


def _is_letter(value: object) -> bool:
    """Return whether the value is a single letter."""
    return isinstance(value, str) and len(value) == 1 and value.isalpha()


def _find_score(sample: SampleSummary, scorer: ScorerPlace | None) -> tuple[SampleScore | None, Any]:
    """Return the result of a scorer, and its value."""
    result = (sample.scores or {}).get(scorer[0]) if scorer else None
    value = result.value if result else None
    if scorer and scorer[1] is not None:
        if isinstance(value, dict):
            value = value.get(scorer[1])
        elif isinstance(value, list):
            value = value[int(scorer[1])] if int(scorer[1]) < len(value) else None
    return result, value


def _format_error(error: Any) -> str:
    """Return `reason: message` of an error, which Inspect writes as RuntimeError('...')."""
    message = error.get("message") if isinstance(error, dict) else error
    text = " ".join(str(message).split())
    name, bracket, rest = text.partition("(")
    if bracket and name.isidentifier():
        return f"{name}: {rest.removesuffix(')').strip(chr(39) + chr(34)) or 'no message'}"[:300]
    return f"error: {text or 'no message'}"[:300]


def as_text(value: object) -> str | None:
    """Return a value as a text; None if there is no value."""
    return value if value is None or isinstance(value, str) else str(value)


def resolve_attachment(text: str, attachments: Mapping[str, str]) -> str:
    """Return a long text that is kept beside the sample, or the text itself."""
    return attachments.get(text.removeprefix(_ATTACHMENT), text) if text.startswith(_ATTACHMENT) else text


def read_completion(sample: SampleOutput) -> str | None:
    """Return the first completion; None where there is none."""
    text = sample.output.completion
    if not text and sample.output.choices:
        text = _join_text_parts(sample.output.choices[0].message.content)
    elif not text:
        return None
    return resolve_attachment(text, sample.attachments) if isinstance(sample, Sample) else text


def text_fields(sample: Sample) -> RowFields:
    """Return target, choices, messages and the end of the completion; several right answers are a JSON list."""
    targets = [sample.target] if isinstance(sample.target, str) else sample.target
    texts = [resolve_attachment(text, sample.attachments) for text in targets]
    return {
        "target": texts[0] if len(texts) == 1 else msgspec.json.encode(texts).decode(),
        "choices": tuple(resolve_attachment(text, sample.attachments) for text in sample.choices or ()),
        "messages": _list_messages(sample),
        "finish_reason": sample.output.choices[0].stop_reason if sample.output.choices else None,
        "endpoint_model": as_text(sample.output.model),
    }


def first_messages(sample: Sample) -> list[list[str]]:
    """Return role and text of the messages before the first reply."""
    messages = takewhile(lambda message: message.role != "assistant", sample.messages)
    return [[message.role, _format_message(message, sample.attachments)] for message in messages]


def _list_messages(sample: Sample) -> tuple[dict[str, str], ...]:
    """Return the messages before the last completion: the question, or all turns of a conversation up to it."""
    messages = sample.messages
    replies = [i for i, message in enumerate(messages) if message.role == "assistant"]
    if replies and sample.output.choices:
        messages = messages[: replies[-1]]
    if not messages:
        messages = [Message(role="user", content=sample.input)] if isinstance(sample.input, str) else sample.input
    return tuple(
        {"role": message.role, "content": _format_message(message, sample.attachments)} for message in messages
    )


def _format_message(message: Message, attachments: Mapping[str, str]) -> str:
    """Return the text of a message, with its other parts and its tool calls in brackets."""
    parts = message.content if isinstance(message.content, list) else [message.content]
    texts = [_format_part(part, attachments) for part in parts]
    calls = message.tool_calls if isinstance(message.tool_calls, list) else []
    texts += [f"[tool call: {call.get('function', '?')}]" for call in calls if isinstance(call, dict)]
    return "\n".join(text for text in texts if text)


def _format_part(part: Any, attachments: Mapping[str, str]) -> str:
    """Return a part of a message: its text, or its type in brackets."""
    if isinstance(part, str):
        return resolve_attachment(part, attachments)
    if not isinstance(part, dict):
        return ""
    text = part.get("text")
    if part.get("type") == "text" and isinstance(text, str):
        return resolve_attachment(text, attachments)
    return f"[{part.get('type', 'content')}]"


def _join_text_parts(content: Any) -> str:
    """Return the text parts of a completion, one per line as Inspect joins them, without reasoning and images."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        str(part.get("text", "")) for part in parts if isinstance(part, dict) and part.get("type") == "text"
    )
