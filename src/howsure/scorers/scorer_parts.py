"""The parts of a scorer: its name, its version, the item that it scores, and the score that it gives."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from howsure.scorers.completion_text import CompletionContext, clean_completion

#: Modules that find the text of a completion and its statement.
READING_CODE = ("scorers.completion_text", "scorers.statements", "scorers.language_words")
#: Folder of the package howsure.
_PACKAGE = Path(__file__).parents[1]


class ScoringItem(NamedTuple):
    """The prompt that a completion answers, and the target of its question."""

    benchmark: str
    question: str
    variant: str
    target: str
    context: CompletionContext = CompletionContext()
    """What is known about the completion: the question's text, its choices, and whether it was cut."""


class ScoredAnswer(NamedTuple):
    """The score of a completion, and how its answer was read; the score is 0 where there is no answer."""

    score: float
    answer: str | None
    rule: str | None


@dataclass(frozen=True)
class Scorer:
    """A way to score completions.

    Attributes
    ----------
    name
        Name as it was given, such as `numeric` or `regex:PATTERN`.
    version
        Hash of the code that decides, so that scores of two versions are not mixed.
    score
        Function of (completion, item). It raises where a completion cannot be scored, and its message becomes the
        `error` of the row; it raises InputError where no completion can be scored.
    prepare
        Function that raises InputError where no completion can be scored on this machine; called before the first one.
    close
        Function that ends what the scorer started.
    in_subprocess
        Whether a score may take long in a subprocess, so that a live run waits for it in a thread.
    reads_all_texts
        Whether it also scores empty completions and refusals, which else score 0.
    has_own_targets
        Whether it knows the targets of the questions, and ignores the target of the item.
    """

    name: str
    version: str
    score: Callable[[str, ScoringItem], ScoredAnswer]
    close: Callable[[], None] = lambda: None
    in_subprocess: bool = False
    reads_all_texts: bool = False
    has_own_targets: bool = False
    prepare: Callable[[], object] = lambda: None


def hash_code(*modules: str) -> str:
    """Return the hash of the code of modules of howsure, such as `scorers.numbers`, and of that which reads texts."""
    digest = hashlib.sha256()
    for name in dict.fromkeys((*modules, *READING_CODE)):
        path = _PACKAGE.joinpath(*name.split("."))
        for file in sorted(path.glob("*.py")) if path.is_dir() else [path.with_suffix(".py")]:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:8]


def clean_first(scorer: Scorer) -> Scorer:
    """Return a scorer that gets completions without thoughts and further questions (`completion_text`).

    A completion whose thoughts never end scores 0 by the rule "unfinished", and one without text by the rule "empty".
    """

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        text, context, parts = clean_completion(completion, item.context)
        if not parts.is_finished:
            return ScoredAnswer(0.0, None, "unfinished")
        if not (text.strip() or scorer.reads_all_texts):
            return ScoredAnswer(0.0, None, "empty")
        return scorer.score(text, item if context is item.context else item._replace(context=context))

    return replace(scorer, score=score)
