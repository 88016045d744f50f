"""Values of the records of logs: fields by their paths, texts, numbers, scores and messages."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

import msgspec

from howsure.logs.file_formats import AddNote, decode_json

#: A record of a log.
Record: TypeAlias = Mapping[str, Any]
List: TypeAlias = Sequence[Any]
#: Letters of Inspect (correct, incorrect, partial, no answer), and words that graders write.
_SCORE_WORDS = {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0, "true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}


def get_field(record: object, field: str) -> object:
    """Return the value at `a.b.c` inside nested mappings and lists; None where a step does not exist.

    >>> get_field({"metadata": {"tags": ["x", "y"]}}, "metadata.tags.1")
    'y'
    """
    value = record
    for name in field.split("."):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif is_list(value) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def get_text(record: object, *fields: str) -> str | None:
    """Return the first of these fields that has a value, as a text; None where there is none.

    >>> get_text({"id": 7, "name": None}, "name", "id")
    '7'
    """
    for field in fields:
        value = get_field(record, field)
        if value is not None and value != "":
            return encode_text(value)
    return None


def get_number(record: object, field: str) -> float | None:
    """Return a field that is a finite number, and None for anything else.

    >>> get_number({"tokens": {"read": 3}}, "tokens.read"), get_number({"tokens": "3"}, "tokens")
    (3.0, None)
    """
    value = get_field(record, field)
    return None if isinstance(value, str) else parse_number(value)


def parse_number(value: object) -> float | None:
    """Return a finite number, also of a text; None for anything else.

    >>> parse_number("3"), parse_number(True), parse_number("nan")
    (3.0, None, None)
    """
    try:
        number = float(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def parse_score(value: object) -> float | None:
    """Return a score as a number, or None if there is no score: null, NaN, infinity or an empty text.

    Anything that is neither a number nor a known word, such as a list, raises ValueError.

    >>> parse_score("C"), parse_score(True), parse_score("0.5"), parse_score(float("nan"))
    (1.0, 1.0, 0.5, None)
    """
    if isinstance(value, str):
        text = value.strip().lower()
        if text in _SCORE_WORDS:
            return _SCORE_WORDS[text]
        value = float(text) if text else None
    if value is None:
        return None
    if isinstance(value, ValueError):  # what a scorer wrote instead of a score
        raise value
    try:
        score = float(value) if isinstance(value, (bool, int, float)) else None
    except OverflowError as error:
        raise ValueError("an integer beyond all floating-point numbers is no score") from error
    if score is None:
        raise ValueError(f"{value!r} is no score")
    return score if math.isfinite(score) else None


def as_mapping(value: object) -> Mapping[str, object]:
    """Return the value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def is_list(value: object) -> TypeGuard[List]:
    """Return whether a value is a list."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def parse_records(values: object, note: AddNote) -> Iterator[Record]:
    """Yield the records of a list; elements that are no records are left out and counted.

    >>> codes = []
    >>> list(parse_records([{"id": 1}, "odd"], lambda code, n=0: codes.append(code))), codes
    ([{'id': 1}], ['log-no-record'])
    """
    if values is not None and not is_list(values):
        note("log-no-list")
    for value in values if is_list(values) else ():
        if isinstance(value, Mapping):
            yield value
        else:
            note("log-no-record", 1)


def encode_text(value: object) -> str:
    """Return a text as it is, and any other value as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()


def hash_text(*parts: object) -> str:
    """Return a short hash of a question that has no id, so that all files agree on it.

    >>> hash_text("How many?") == hash_text("How many?") != hash_text("How much?")
    True
    """
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:12]


def format_choice(index: int) -> str:
    """Return the letter of a choice: A for the first one; the index itself beyond Z.

    >>> format_choice(0), format_choice(3), format_choice(26)
    ('A', 'D', '26')
    """
    return chr(ord("A") + index) if index < 26 else str(index)


def format_file_time(text: str) -> str:
    """Return a time in the name of a file as ISO 8601; empty where it has no clock.

    >>> format_file_time("2026-01-02T03-04-05"), format_file_time("2026-01-02")
    ('2026-01-02T03:04:05', '')
    """
    day, _, clock = text.partition("T")
    return f"{day}T{clock.replace('-', ':')}" if clock else ""


def list_messages(values: object) -> tuple[dict[str, str], ...] | None:
    """Return chat messages as roles and texts; another text than a chat is one message of the user, the rest None.

    >>> list_messages([{"role": "user", "content": [{"type": "text", "text": "Hello"}]}])
    ({'role': 'user', 'content': 'Hello'},)
    >>> list_messages('[{"role": "system", "content": "Be brief."}]')
    ({'role': 'system', 'content': 'Be brief.'},)
    """
    if isinstance(values, str):
        chat = decode_json(values.encode(errors="replace")) if values.lstrip().startswith("[{") else None
        if not is_list(chat) or not all(isinstance(turn, Mapping) and "content" in turn for turn in chat):
            return ({"role": "user", "content": values},)
        values = chat
    if not is_list(values):
        return None
    messages = []
    for value in values:
        content = get_field(value, "content")
        if is_list(content):
            content = "\n".join(text for part in content if isinstance(text := get_field(part, "text"), str))
        messages.append({"role": str(get_field(value, "role") or "user"), "content": str(content or "")})
    return tuple(messages)
