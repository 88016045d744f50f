"""Read a stored target that holds several accepted answers, or the items of a list."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from functools import lru_cache

_SEPARATORS = re.compile(r"(?:\s*[,;\n、，；]\s*)+(?:and\s+|&\s*)?|\s+(?:and|&)\s+")


def write_targets(targets: Sequence[str]) -> str:
    """Return accepted answers as one text: a single answer as it is, several as a JSON list.

    >>> write_targets(["Jane Austen"]), write_targets(["USA", "US"])
    ('Jane Austen', '["USA", "US"]')
    """
    return targets[0] if len(targets) == 1 else json.dumps(list(targets), ensure_ascii=False)


@lru_cache(maxsize=4096)
def parse_targets(text: str) -> tuple[str, ...]:
    """Return the accepted answers of a target: those of a list of texts, or the text itself.

    A list is JSON or as Python prints it; the answers of SQuAD, `{"text": [...], ...}`, are one too.

    >>> parse_targets('["USA", "US"]'), parse_targets("[1, 2]"), parse_targets("{'text': ['1066', 'in 1066']}")
    (('USA', 'US'), ('[1, 2]',), ('1066', 'in 1066'))
    """
    value = _parse_literal(text)
    if isinstance(value, dict):
        value = value.get("text") or value.get("aliases")
    if isinstance(value, list) and value and all(isinstance(item, str) and item.strip() for item in value):
        return tuple(dict.fromkeys(value))
    return (text,)


@lru_cache(maxsize=4096)
def parse_items(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the items of a target that is a list, each with its accepted names.

    >>> parse_items('["red", ["grey", "gray"]]'), parse_items("red, white and blue")
    ((('red',), ('grey', 'gray')), (('red',), ('white',), ('blue',)))
    """
    value = _parse_literal(text)
    if isinstance(value, dict):
        value = value.get("text") or value.get("items")
    if not isinstance(value, list) or not value:
        value = [item for item in _SEPARATORS.split(text.strip()) if item.strip()]
    return tuple(tuple(map(str, item)) if isinstance(item, list) else (str(item),) for item in value)


def _parse_literal(text: str) -> object:
    """Return the value of a text that is a list or a mapping in JSON or in Python; None for another text."""
    text = text.strip()
    if not (text[:1] == "[" and text[-1:] == "]") and not (text[:1] == "{" and text[-1:] == "}"):
        return None
    try:
        value: object = json.loads(text)
    except ValueError:
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    return value
