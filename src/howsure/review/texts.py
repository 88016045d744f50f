"""What a review reads: questions, counts of answers and generations, from run folders or from anything like them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from howsure.errors import HowsureWarning, InputError
from howsure.readers.found import sources
from howsure.readers.logs.log_source import LogSource
from howsure.readers.run import Run
from howsure.readers.texts import Asked, Prompt
from howsure.readers.texts import Texts as _Texts
from howsure.review.queue import Count
from howsure.review.verdicts import content_key
from howsure.store import scores
from howsure.store.responses import stream
from howsure.store.schema import Response

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Prompt", "QuestionView", "RunTexts", "Texts"]

#: Questions of logs that are remembered, and rows of a log that are counted at a time.
_REMEMBERED, _BATCH = 64, 20_000
_REMEDY = "a review reads run folders and logs: howsure convert LOGS -o DIR makes a run folder of logs"


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question as a reviewer sees it."""

    benchmark: str
    question: str
    key: str
    text: str
    """What is asked; empty where no prompt was kept."""
    choices: tuple[str, ...] = ()
    """Where they are known apart from the text."""
    target: str | None = None


class Texts(Protocol):
    """Where a review has its texts from."""

    def questions(self) -> list[QuestionView]:
        """Every question that has a generation, of every benchmark."""
        ...

    def counts(self, benchmark: str) -> list[Count]:
        """How often each model gave each answer, failed generations apart."""
        ...

    def prompts(self, benchmark: str, question: str) -> list[Prompt]:
        """What was sent for the question, the default variant first."""
        ...

    def generations(self, benchmark: str, question: str) -> list[Response]:
        """All generations of the question, sorted by key."""
        ...


class RunTexts:
    """Texts of run folders and of logs; generations of the same benchmark in several stand together.

    A log is read through for each question that is opened, and the last ones are remembered.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self._texts = _Texts(_sources(paths))
        self.folders = [folder.path for folder in self._texts.folders]
        self._counts = _counted(self._texts)
        self._one = lru_cache(maxsize=_REMEMBERED)(self._texts.one) if self._texts.logs else self._texts.one

    def questions(self) -> list[QuestionView]:
        """Every question that has a generation; its text is that of the default variant, of the first where none is."""
        asked = self._texts.asked()
        answered = sorted({(b, one.question) for b, counts in self._counts.items() for one in counts})
        return [_view(*name, asked.get(name)) for name in answered]

    def counts(self, benchmark: str) -> list[Count]:
        """How often each model gave each answer."""
        return self._counts.get(benchmark, [])

    def prompts(self, benchmark: str, question: str) -> list[Prompt]:
        """What was sent for the question."""
        found = self._one(benchmark, question)
        return [] if found is None else list(found.asked.prompts)

    def generations(self, benchmark: str, question: str) -> list[Response]:
        """All generations of the question."""
        found = self._one(benchmark, question)
        return [] if found is None else list(found.generations)


def _view(benchmark: str, question: str, asked: Asked | None) -> QuestionView:
    if asked is None:
        # Without a text the target would be the key of all questions that share it.
        return QuestionView(benchmark, question, content_key(f"{benchmark}\0{question}", None), "")
    key = content_key("\n".join([asked.text, *asked.choices]), asked.target)
    return QuestionView(benchmark, question, key, asked.text, asked.choices, asked.target)


def _sources(paths: Iterable[Path]) -> list[Run | LogSource]:
    """Run folders and logs at or below the paths."""
    given = list(paths)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = sources(given)
        except InputError as error:
            what = "no run folder here" if Path(error.where).exists() else error.what
            raise InputError(what, where=error.where, remedy=_REMEDY) from error
    for one in told:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    kept = [source for source in found if isinstance(source, (Run, LogSource))]
    without = [str(source.path) for source in found if source not in kept]
    if not kept:
        what = "no run folder here, and tables hold no texts"
        raise InputError(what, where=", ".join(map(str, given)), remedy=_REMEDY)
    if without:
        warnings.warn(f"tables hold no texts: left out: {', '.join(without)}", HowsureWarning, stacklevel=3)
    return kept


def _counted(texts: _Texts) -> dict[str, list[Count]]:
    """Counts of answers by benchmark; a batch at a time, so that memory holds counts and no rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    by = ["benchmark", "question", "model", "answer"]
    parts = []
    for rows in _batches(texts):
        kept = rows.filter(pc.not_equal(rows["status"], "error"))
        part = kept.group_by(by).aggregate([([], "count_all"), ("score", "count"), ("score", "sum")])
        parts.append(part.select([*by, "count_all", "score_count", "score_sum"]))
    counts: dict[str, list[Count]] = {}
    if parts:
        sums = [(name, "sum") for name in ("count_all", "score_count", "score_sum")]
        whole = pa.concat_tables(parts).group_by(by).aggregate(sums)
        names = [*by, "count_all_sum", "score_count_sum", "score_sum_sum"]
        columns = [whole[name].to_pylist() for name in names]
        for benchmark, question, model, answer, n, scored, total in zip(*columns, strict=True):
            counts.setdefault(benchmark, []).append(Count(model, question, answer, n, scored, total or 0.0))
    return counts


def _batches(texts: _Texts) -> Iterator[pa.Table]:
    """The columns that are counted, of all sources."""
    import pyarrow as pa

    names = ["benchmark", "question", "model", "answer", "score", "status"]
    for folder in texts.folders:
        rows = stream(folder.path, names) if folder.scorer is None else scores.stream(folder.path, names, folder.scorer)
        for batch in rows:
            yield pa.Table.from_batches([batch])
    schema = pa.schema([(name, pa.float64() if name == "score" else pa.string()) for name in names])
    for log in texts.logs:
        each = log.generations(texts=False)
        while some := list(islice(each, _BATCH)):
            yield pa.table({name: [getattr(row, name) for row in some] for name in names}, schema=schema)
