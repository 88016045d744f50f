"""The texts of an Inspect sample: what was asked, in messages of plain text, and what was written."""

from __future__ import annotations

from typing import Any

import msgspec

from howsure.readers.logs.inspect.records import Message, Outcome, Sample

__all__ = ["choices", "completion", "messages", "resolved", "target"]

_ATTACHMENT = "attachment://"


def resolved(text: str, attachments: dict[str, str]) -> str:
    """A long text that is kept beside the sample, or the text itself."""
    return attachments.get(text.removeprefix(_ATTACHMENT), text) if text.startswith(_ATTACHMENT) else text


def completion(sample: Outcome, i: int) -> str | None:
    """The text of completion i from 0; None where there is none."""
    if i == 0 and sample.output.completion:
        text = sample.output.completion
    elif i < len(sample.output.choices):
        text = _written(sample.output.choices[i].message.content)
    else:
        return None
    return resolved(text, sample.attachments) if isinstance(sample, Sample) else text


def target(sample: Sample) -> str:
    """As it is, and of several that are right a JSON list."""
    several = [sample.target] if isinstance(sample.target, str) else sample.target
    texts = [resolved(text, sample.attachments) for text in several]
    return texts[0] if len(texts) == 1 else msgspec.json.encode(texts).decode()


def choices(sample: Sample) -> tuple[str, ...]:
    """Texts to choose from, as they are in the data set."""
    return tuple(resolved(text, sample.attachments) for text in sample.choices or ())


def messages(sample: Sample) -> tuple[dict[str, str], ...]:
    """What was sent before the last completion: the question, and in a conversation all turns up to it."""
    asked = sample.messages
    written = {choice.message.id for choice in sample.output.choices} - {None}
    last = [i for i, message in enumerate(asked) if message.id in written and message.role == "assistant"]
    if last:
        asked = asked[: last[-1]]
    elif sample.output.choices and asked and asked[-1].role == "assistant":
        asked = asked[:-1]
    if not asked:
        given = sample.input
        asked = [Message(role="user", content=given)] if isinstance(given, str) else given
    return tuple({"role": message.role, "content": _shown(message, sample.attachments)} for message in asked)


def _shown(message: Message, attachments: dict[str, str]) -> str:
    """The text of a message, and in brackets what else is in it."""
    parts = message.content if isinstance(message.content, list) else [message.content]
    told = [_part(part, attachments) for part in parts]
    calls = message.tool_calls if isinstance(message.tool_calls, list) else []
    told += [f"[tool call: {call.get('function', '?')}]" for call in calls if isinstance(call, dict)]
    return "\n".join(text for text in told if text)


def _part(part: Any, attachments: dict[str, str]) -> str:
    if isinstance(part, str):
        return resolved(part, attachments)
    if not isinstance(part, dict):
        return ""
    text = part.get("text")
    if part.get("type") == "text" and isinstance(text, str):
        return resolved(text, attachments)
    return f"[{part.get('type', 'content')}]"


def _written(content: Any) -> str:
    """The text parts alone, on lines of their own, as Inspect joins them; thoughts and pictures are no answer."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        str(part.get("text", "")) for part in parts if isinstance(part, dict) and part.get("type") == "text"
    )
