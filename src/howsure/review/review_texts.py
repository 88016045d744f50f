"""Read what a review shows: questions, counts of answers, and generations of run folders and logs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from howsure.errors import HowsureWarning, InputError
from howsure.readers.answers import count_answers
from howsure.readers.logs.log_source import LogSource
from howsure.readers.run_source import RunSource
from howsure.readers.sources import find_sources
from howsure.readers.texts import PromptText, QuestionText, QuestionTexts
from howsure.review.queue import Count
from howsure.review.verdicts import content_key
from howsure.store.schema import Response

__all__ = ["QuestionView", "RunTexts", "Texts"]

#: Number of questions of logs that are kept in memory.
_REMEMBERED = 64
_REMEDY = "a review reads run folders and logs: howsure convert LOGS -o DIR makes a run folder of logs"


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question as a reviewer sees it."""

    benchmark: str
    question: str
    key: str
    text: str
    """Text of the question; empty if no prompt was stored."""
    choices: tuple[str, ...] = ()
    """Texts of the choices, if they are stored separately from the text; otherwise empty."""
    target: str | None = None


class Texts(Protocol):
    """A source of the questions, answers, prompts and generations of a review."""

    def questions(self) -> list[QuestionView]:
        """Return every question that has a generation, for all benchmarks."""
        ...

    def counts(self, benchmark: str) -> list[Count]:
        """Return how often each model gave each answer, without failed generations."""
        ...

    def prompts(self, benchmark: str, question: str) -> list[PromptText]:
        """Return the prompts that were sent for the question, the default variant first."""
        ...

    def generations(self, benchmark: str, question: str) -> list[Response]:
        """Return all generations of the question, sorted by key."""
        ...


class RunTexts:
    """Read the texts of run folders and logs, and join generations of the same benchmark in several of them.

    A log is read once for each question that is opened; the last questions are kept in memory.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        sources = _find_texts(paths)
        self._texts = QuestionTexts(sources)
        self.folders = [folder.path for folder in self._texts.folders]
        self._answers = count_answers(sources)
        read = self._texts.read_question
        self._read = lru_cache(maxsize=_REMEMBERED)(read) if self._texts.logs else read

    def questions(self) -> list[QuestionView]:
        """Return every question that has a generation; its text is that of the default variant or the first one."""
        texts = self._texts.questions()
        names = sorted((name, question) for name, counts in self._answers.items() for question in counts.questions)
        return [_view(*name, texts.get(name)) for name in names]

    def counts(self, benchmark: str) -> list[Count]:
        """Return how often each model gave each answer."""
        counts = self._answers.get(benchmark)
        if counts is None:
            return []
        columns = (getattr(counts, name).tolist() for name in ("model", "question", "answer", "n", "scored", "total"))
        return [
            Count(counts.models[m], counts.questions[q], counts.answers[a] if a >= 0 else None, n, scored, total)
            for m, q, a, n, scored, total in zip(*columns, strict=True)
        ]

    def prompts(self, benchmark: str, question: str) -> list[PromptText]:
        """Return the prompts that were sent for the question."""
        result = self._read(benchmark, question)
        return [] if result is None else list(result.question.prompts)

    def generations(self, benchmark: str, question: str) -> list[Response]:
        """Return all generations of the question."""
        result = self._read(benchmark, question)
        return [] if result is None else list(result.generations)


def _view(benchmark: str, question: str, text: QuestionText | None) -> QuestionView:
    if text is None:
        # Without a text, all questions with the same target would have the same key, so the key is made of the id.
        return QuestionView(benchmark, question, content_key(f"{benchmark}\0{question}", None), "")
    key = content_key("\n".join([text.text, *text.choices]), text.target)
    return QuestionView(benchmark, question, key, text.text, text.choices, text.target)


def _find_texts(paths: Iterable[Path]) -> list[RunSource | LogSource]:
    """Return the run folders and logs at or below the paths."""
    given = list(paths)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            sources = find_sources(given)
        except InputError as error:
            what = "no run folder here" if Path(error.where).exists() else error.what
            raise InputError(what, where=error.where, remedy=_REMEDY) from error
    for one in caught:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    selected = [source for source in sources if isinstance(source, (RunSource, LogSource))]
    without = [str(source.path) for source in sources if source not in selected]
    if not selected:
        what = "no run folder here, and tables hold no texts"
        raise InputError(what, where=", ".join(map(str, given)), remedy=_REMEDY)
    if without:
        warnings.warn(f"tables hold no texts: left out: {', '.join(without)}", HowsureWarning, stacklevel=3)
    return selected
