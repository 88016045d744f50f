"""A benchmark from recorded results: its questions are those of a table, and `replay/NAME` models draw from its rows.

As it stands in an experiment::

    benchmark: {replay: results.csv}
    models: [replay/gpt-4, replay/gpt-3.5]

A completion is a score, written as a number. What a design would have shown, and what it would have cost, can so be
tried on real results before it is paid for.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from howsure.benchmarks.question import Benchmark, Prompt, Question
from howsure.benchmarks.question_file import _READERS as READERS
from howsure.errors import InputError, UnknownNameError

__all__ = ["Outcomes", "RecordedBenchmark", "extract_score", "from_record"]

_KEYS = ("replay", "name", "benchmark", "models", "columns")

#: Our column to the names it goes by, the first one present wins.
_ALIASES: dict[str, tuple[str, ...]] = {
    "benchmark": ("benchmark", "benchmark_id"),
    "model": ("model", "model_id", "model_name", "model_label"),
    "question": ("question", "question_id", "example_id", "item", "example", "input", "input_label", "sample_id", "id"),
    "text": ("text", "question_text"),
    "count": ("count", "n"),
    "total": ("total", "n_correct", "num_correct"),
    "mean": ("mean", "pass1"),
    "score": ("score", "value", "result", "metric", "correct"),
}
_WORDS = {"true": 1.0, "false": 0.0, "": None, "nan": None}


class Outcomes(NamedTuple):
    """What one model scored on one question: distinct scores, and the cumulative share of each; the last is 1."""

    scores: tuple[float, ...]
    upto: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Expected score of a generation."""
        shares = (high - low for low, high in zip((0.0, *self.upto), self.upto, strict=False))
        return math.fsum(score * share for score, share in zip(self.scores, shares, strict=True))


@dataclass(frozen=True)
class RecordedBenchmark(Benchmark):
    """A benchmark that knows what models scored on it.

    Attributes
    ----------
    outcomes
        Model to question id to what it scored; questions that a model has no score for are absent.
    """

    outcomes: Mapping[str, Mapping[str, Outcomes]] = field(default_factory=dict, repr=False)


def extract_score(text: str) -> str | None:
    """A completion that is a finite number, as Python writes it; None for anything else.

    >>> extract_score(" 1 "), extract_score("0.25"), extract_score("one")
    ('1.0', '0.25', None)
    """
    try:
        number = float(text)
    except ValueError:
        return None
    return repr(number) if math.isfinite(number) else None


def from_record(spec: Mapping[str, object], *, base: Path = Path()) -> RecordedBenchmark:
    """Read a benchmark as `spec` says.

    Parameters
    ----------
    spec
        `replay`, a csv, jsonl or parquet file with a row per generation (question, model, score) or per cell (question,
        model, and n and total, or a mean, of scores of 0 and 1: drawn as 0 or 1 with that rate); and optionally
        `benchmark`, which of several in the file; `models`, a list: only questions that all of them have a score for;
        `columns`, our column names to the file's; `name`. A column `text` is shown as the question, else its id.
        Prompt variants are pooled; rows without a score, which failed, are no generations.
    base
        Folder that a relative file starts from.

    Raises
    ------
    InputError
        When the file cannot be read or lacks a column, a value is no score, or no question is left; says where.
    """
    path, wanted, columns = _checked(spec, base)
    try:
        content = path.read_bytes()
    except OSError as e:
        remedy = "give a table, such as responses.parquet of a run folder"
        raise InputError(f"cannot read the results: {e.strerror}", where=str(path), remedy=remedy) from None
    if path.suffix not in READERS:
        raise InputError(f"results in an unknown format {path.suffix!r}", where=path.name, remedy=_formats())
    table = _Table(path.name, columns, None if spec.get("benchmark") is None else str(spec["benchmark"]))
    table.read(READERS[path.suffix](content, path.name))
    outcomes = table.outcomes()
    for model in wanted:
        if model not in outcomes:
            raise UnknownNameError("model", model, outcomes, where=path.name)
    known = [set(outcomes[model]) for model in wanted] or [set(table.texts)]
    ids = [question for question in table.texts if all(question in some for some in known)]
    if not ids:
        raise InputError("no question is left", where=path.name, remedy="give a table of scores, and models it has")
    name = str(spec.get("name") or table.benchmark or path.stem)
    return RecordedBenchmark(
        name=name,
        questions=[Question(i, table.texts[i], "1.0", ("0.0",)) for i in ids],
        prompt=Prompt(),
        extract=extract_score,
        grade=lambda answer, _: float(answer),
        source={"kind": "replay", "file": path.name, "name": name, "sha256": hashlib.sha256(content).hexdigest()}
        | {key: str(spec[key]) for key in ("benchmark", "models", "columns") if key in spec},
        outcomes=outcomes,
    )


def _checked(spec: Mapping[str, object], base: Path) -> tuple[Path, list[str], dict[str, str]]:
    for key in spec:
        if key not in _KEYS:
            raise UnknownNameError("key", str(key), _KEYS, where="benchmark")
    file, models, columns = spec["replay"], spec.get("models", []), spec.get("columns", {})
    if not isinstance(file, str) or not file:
        raise InputError(f"replay is {file!r}", where="benchmark", remedy="give the path of a table of results")
    if not isinstance(models, list) or not all(isinstance(model, str) for model in models):
        raise InputError(f"models is {models!r}", where="benchmark", remedy="list the names in the table")
    if not isinstance(columns, Mapping) or not all(isinstance(c, str) for c in columns.values()):
        raise InputError(f"columns is {columns!r}", where="benchmark", remedy="write {score: COLUMN, ...}")
    for name in columns:
        if name not in _ALIASES:
            raise UnknownNameError("column", str(name), _ALIASES, where="benchmark")
    return base / file, [model.removeprefix("replay/") for model in models], dict(columns)


def _formats() -> str:
    return "give " + ", ".join(READERS)


class _Table:
    """Rows of results, counted."""

    def __init__(self, file: str, columns: Mapping[str, str], benchmark: str | None) -> None:
        self.file, self.columns, self.benchmark = file, columns, benchmark
        self.texts: dict[str, str] = {}
        self._chosen = benchmark is not None
        self._counts: defaultdict[tuple[str, str], defaultdict[float, float]] = defaultdict(lambda: defaultdict(float))

    def read(self, rows: Iterable[tuple[str, Mapping[str, object]]]) -> None:
        """Count each row."""
        found: dict[str, str] = {}
        benchmarks = set()
        for place, row in rows:
            where = f"{self.file}, {place}"
            if not found:
                found = self._columns(row)
            if "benchmark" in found:
                benchmarks.add(name := _name(row, found["benchmark"], where))
                if self._chosen and name != self.benchmark:
                    continue
                if not self._chosen and len(benchmarks) > 1:
                    what = "several benchmarks: " + ", ".join(sorted(benchmarks))
                    raise InputError(what, where=where, remedy="name one: {replay: FILE, benchmark: NAME}")
                self.benchmark = name
            self._add(row, found, where)
        if self._chosen and self.benchmark not in benchmarks:
            raise UnknownNameError("benchmark", str(self.benchmark), benchmarks, where=self.file)

    def outcomes(self) -> dict[str, dict[str, Outcomes]]:
        """Model to question to what it scored."""
        result: dict[str, dict[str, Outcomes]] = {}
        for (model, question), counts in self._counts.items():
            scores = sorted(score for score, count in counts.items() if count > 0)
            upto = list(accumulate(counts[score] for score in scores))
            shares = tuple(each / upto[-1] for each in upto)
            result.setdefault(model, {})[question] = Outcomes(tuple(scores), shares)
        return result

    def _columns(self, row: Mapping[str, object]) -> dict[str, str]:
        there = {name.lower(): name for name in row}
        for given in self.columns.values():
            if given.lower() not in there:
                raise UnknownNameError("column", given, row, where=self.file)
        found = {name: there[given.lower()] for name, given in self.columns.items()}
        taken = set(found.values())
        for name, aliases in _ALIASES.items():
            match = next((there[a] for a in aliases if a in there and there[a] not in taken), None)
            if name not in found and match is not None:
                found[name] = match
        has_rate = "mean" in found or {"count", "total"} <= set(found)
        if missing := [n for n in ("model", "question") if n not in found] + ["score"] * (
            not has_rate and "score" not in found
        ):
            shown = ", ".join(filter(None, row))
            remedy = f"the columns are {shown}: name one with {{replay: FILE, columns: {{{missing[0]}: COLUMN}}}}"
            raise InputError(f"no column for {missing[0]!r}", where=self.file, remedy=remedy)
        if "score" in found and "count" in found and not has_rate and "score" not in self.columns:
            what = f"{found['count']!r} counts generations: is {found['score']!r} their sum, their mean, or of one?"
            remedy = "name it: {replay: FILE, columns: {total: COLUMN}}, or mean, or score for a row per generation"
            raise InputError(what, where=self.file, remedy=remedy)
        return found

    def _add(self, row: Mapping[str, object], found: Mapping[str, str], where: str) -> None:
        model, question = (_name(row, found[name], where) for name in ("model", "question"))
        text = str(row.get(found["text"]) or question) if "text" in found else question
        self.texts.setdefault(question, text)
        for score, count in self._scores(row, found, where):
            self._counts[model, question][score] += count

    def _scores(self, row: Mapping[str, object], found: Mapping[str, str], where: str) -> Iterator[tuple[float, float]]:
        """(score, how often) of one row; nothing where it failed."""

        def number(name: str) -> float | None:
            return _number(row.get(found[name]), found[name], where)

        if "score" in self.columns or not ("mean" in found or {"count", "total"} <= set(found)):
            if (score := number("score")) is not None:
                yield score, 1.0
            return
        count = number("count") if "count" in found else 1.0
        if not count:
            return
        if "mean" in found:
            rate = number("mean")
        else:
            total = number("total")
            rate = None if total is None else total / count
        if rate is None:
            return
        if count < 0:
            raise InputError(f"{count:g} generations", where=where, remedy="give 0 or more")
        # A sum of scores of 0 and 1 is whole; a printed mean times n need not be.
        is_whole = "mean" in found or abs(rate * count - round(rate * count)) < 1e-6 * max(count, 1)
        if not 0 <= rate <= 1 or not is_whole:
            what = f"{rate:g} is not a rate of {count:g} scores of 0 and 1"
            raise InputError(what, where=where, remedy="give one row per generation with its score")
        yield 0.0, count * (1 - rate)
        yield 1.0, count * rate


def _name(row: Mapping[str, object], column: str, where: str) -> str:
    value = row.get(column)
    if value is None or not str(value).strip():
        raise InputError(f"{column!r} is empty", where=where, remedy="fill it in or remove the row")
    return str(value)


def _number(value: object, column: str, where: str) -> float | None:
    text = "" if value is None else str(value).strip().lower()
    if text in _WORDS:
        return _WORDS[text]
    number = extract_score(text)
    if number is None:
        raise InputError(f"{column} is {value!r}, not a finite number", where=where, remedy="mend it or leave it empty")
    return float(number)
