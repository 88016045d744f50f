"""What a scorer may read of a run folder besides its rows: the benchmarks, and the choices of each prompt."""

from __future__ import annotations

import json
import string
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from howsure.benchmarks.question import Benchmark
from howsure.scorers.completion_text import CompletionContext, parse_context
from howsure.store.responses import read_prompts

_LETTERS = string.ascii_uppercase


class RunContext(NamedTuple):
    """What a scorer may read besides the rows of a run."""

    run: Path
    """The run folder."""
    benchmarks: Mapping[str, Benchmark]
    """Benchmarks by name, where the run folder does not say which they are."""
    base: Path | None
    """Folder of the benchmark's file; None to search around the run folder."""


class PromptChoices(NamedTuple):
    """The choices of one prompt, in the order in which it shows them."""

    labels: tuple[str, ...]
    texts: tuple[str, ...]
    """Texts of the choices; empty if the run stores only their labels."""
    order: tuple[int, ...]
    """Original index of each choice; the letters of targets and answers refer to original indices."""
    record: dict[str, Any]
    """The prompt as the run stores it."""


class PromptIndex:
    """Prompts of a run folder by (benchmark, question, variant)."""

    def __init__(self, path: Path) -> None:
        table = read_prompts(path, ["benchmark", "question", "variant", "target", "record", "messages"])
        names = zip(*(table[name].to_pylist() for name in ("benchmark", "question", "variant")), strict=True)
        self._rows = {name: i for i, name in enumerate(names)}
        self._targets = table["target"].to_pylist()
        self._records = table["record"].to_pylist()
        self._messages = table["messages"]  # one is decoded at a time, because prompts may be long

    def __iter__(self) -> Iterator[tuple[tuple[str, str, str], str | None]]:
        for name, row in self._rows.items():
            yield name, self._targets[row]

    def find_choices(self, benchmark: str, question: str, variant: str) -> PromptChoices | None:
        """Return the choices of a prompt; None if the run does not store them."""
        row = self._rows.get((benchmark, question, variant))
        record = None if row is None else self._records[row]
        return None if record is None else _parse_record(record)

    def build_context(self, benchmark: str, question: str, variant: str, *, truncated: bool) -> CompletionContext:
        """Return what the run stores about the completions of a prompt; an empty context if it stores no prompt."""
        row = self._rows.get((benchmark, question, variant))
        if row is None:
            return CompletionContext(truncated=truncated)
        context = _parse_context(self._messages[row].as_py() or "[]", self._records[row] or "{}")
        return replace(context, truncated=True) if truncated else context


@lru_cache(maxsize=4096)
def _parse_context(messages: str, record: str) -> CompletionContext:
    """Return the context of a stored prompt, from the JSON text of its messages and of its record."""
    sent = json.loads(messages)
    texts = [str(message.get("content") or "") for message in sent if isinstance(message, dict)]
    choices = _parse_record(record)
    return parse_context(json.loads(record), texts[-1] if texts else "", choices.texts if choices else ())


@lru_cache(maxsize=4096)
def _parse_record(text: str) -> PromptChoices | None:
    """Return the choices in the stored record of a prompt."""
    record = json.loads(text)
    texts = tuple(map(str, record.get("choices") or ()))
    labels = record.get("labels")
    if isinstance(labels, dict):
        return PromptChoices(tuple(labels), texts, tuple(labels.values()), record)
    names = tuple(map(str, labels or ())) or tuple(_LETTERS[: len(texts)])
    if not 2 <= len(texts) == len(names):
        return None
    return PromptChoices(names, texts, tuple(range(len(texts))), record)
