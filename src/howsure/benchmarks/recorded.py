"""Read a benchmark from recorded results; models `replay/NAME` draw their scores from the rows of a table.

In an experiment::

    benchmark: {replay: results.csv}
    models: [replay/gpt-4, replay/gpt-3.5]

A completion is a score, written as a number. This shows the results and the cost that a design would have had, before
any request is paid for.
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
from howsure.errors import InputError, UnknownNameError
from howsure.rows.columns import ALIASES, match_aliases
from howsure.rows.formats import PlacedRow, read_regular_file, read_rows

__all__ = ["Outcomes", "RecordedBenchmark", "extract_score", "from_record"]

_KEYS = ("replay", "name", "benchmark", "models", "columns")

#: Mapping from our column names to their names in other programs.
#: The columns with the same meaning in every table have the same names.
_ALIASES: dict[str, tuple[str, ...]] = {
    **{name: ALIASES[name] for name in ("benchmark", "model", "question", "score")},
    "text": ("text", "question_text"),
    "count": ("count", "n"),
    "total": ("total", "n_correct", "num_correct"),
    "mean": ("mean", "pass1"),
}
#: Scores that are written as words, in lower case; None means that there is no score.
_SCORE_WORDS = {"true": 1.0, "false": 0.0, "": None, "nan": None}


class Outcomes(NamedTuple):
    """Scores of one model on one question.

    Examples
    --------
    >>> Outcomes(scores=(0.0, 1.0), cumulative=(0.25, 1.0)).mean
    0.75
    """

    scores: tuple[float, ...]
    """Distinct scores in increasing order."""
    cumulative: tuple[float, ...]
    """Share of the generations with this score or a smaller one; the last is 1."""

    @property
    def mean(self) -> float:
        """The expected score of a generation."""
        shares = (high - low for low, high in zip((0.0, *self.cumulative), self.cumulative, strict=False))
        return math.fsum(score * share for score, share in zip(self.scores, shares, strict=True))


@dataclass(frozen=True)
class RecordedBenchmark(Benchmark):
    """A benchmark with the scores of models on it.

    Attributes
    ----------
    outcomes
        Scores by model and question id; questions without a score of a model are absent.
    """

    outcomes: Mapping[str, Mapping[str, Outcomes]] = field(default_factory=dict, repr=False)


def extract_score(text: str) -> str | None:
    """Return a completion that is a finite number in the form of Python; None for anything else.

    >>> extract_score(" 1 "), extract_score("0.25"), extract_score("one")
    ('1.0', '0.25', None)
    """
    try:
        number = float(text)
    except ValueError:
        return None
    return repr(number) if math.isfinite(number) else None


def from_record(spec: Mapping[str, object], *, base: Path = Path()) -> RecordedBenchmark:
    """Return the benchmark of a table of results.

    Parameters
    ----------
    spec
        `replay`, a csv, jsonl or parquet file with a row per generation (question, model, score) or per cell (question,
        model, and n and total, or a mean, of scores of 0 and 1: drawn as 0 or 1 with that rate); and optionally
        `benchmark`, one of several in the file; `models`, a list: only questions with a score of all of them are used;
        `columns`, our column names to those of the file; `name`. The text of a question is the column `text`, or its
        id. Prompt variants are pooled; rows without a score, which failed, are no generations.
    base
        Folder to which a relative file refers.

    Raises
    ------
    InputError
        When the file cannot be read or lacks a column, a value is no score, or no question is left.
    """
    path, models, columns = _parse_spec(spec, base)
    try:
        content = read_regular_file(path)
    except OSError as e:
        remedy = "give a table, such as responses.parquet of a run folder"
        raise InputError(f"cannot read the results: {e.strerror}", where=str(path), remedy=remedy) from None
    table = _ResultTable(path.name, columns, None if spec.get("benchmark") is None else str(spec["benchmark"]))
    table.read(read_rows(path, path.name))
    outcomes = table.outcomes()
    for model in models:
        if model not in outcomes:
            raise UnknownNameError("model", model, outcomes, where=path.name)
    scored = [set(outcomes[model]) for model in models] or [set(table.texts)]
    ids = [question for question in table.texts if all(question in questions for questions in scored)]
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


def _parse_spec(spec: Mapping[str, object], base: Path) -> tuple[Path, list[str], dict[str, str]]:
    """Return the file, the models and the columns of a spec, checked."""
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


class _ResultTable:
    """Counts of the scores in a table of results."""

    def __init__(self, file: str, columns: Mapping[str, str], benchmark: str | None) -> None:
        self.file, self.columns, self.benchmark = file, columns, benchmark
        self.texts: dict[str, str] = {}
        self._chosen = benchmark is not None
        self._counts: defaultdict[tuple[str, str], defaultdict[float, float]] = defaultdict(lambda: defaultdict(float))

    def read(self, rows: Iterable[PlacedRow]) -> None:
        """Count each row."""
        columns: dict[str, str] = {}
        benchmarks = set()
        for place, row in rows:
            where = f"{self.file}, {place}"
            if not columns:
                columns = self._find_columns(row)
            if "benchmark" in columns:
                benchmarks.add(name := _parse_name(row, columns["benchmark"], where))
                if self._chosen and name != self.benchmark:
                    continue
                if not self._chosen and len(benchmarks) > 1:
                    what = "several benchmarks: " + ", ".join(sorted(benchmarks))
                    raise InputError(what, where=where, remedy="name one: {replay: FILE, benchmark: NAME}")
                self.benchmark = name
            self._add(row, columns, where)
        if self._chosen and self.benchmark not in benchmarks:
            raise UnknownNameError("benchmark", str(self.benchmark), benchmarks, where=self.file)

    def outcomes(self) -> dict[str, dict[str, Outcomes]]:
        """Return the scores by model and question."""
        result: dict[str, dict[str, Outcomes]] = {}
        for (model, question), counts in self._counts.items():
            scores = sorted(score for score, count in counts.items() if count > 0)
            sums = list(accumulate(counts[score] for score in scores))
            cumulative = tuple(each / sums[-1] for each in sums)
            result.setdefault(model, {})[question] = Outcomes(tuple(scores), cumulative)
        return result

    def _find_columns(self, row: Mapping[str, object]) -> dict[str, str]:
        """Return our column names to those of the table."""
        by_lower_name = {name.lower(): name for name in row}
        for given in self.columns.values():
            if given.lower() not in by_lower_name:
                raise UnknownNameError("column", given, row, where=self.file)
        given_columns = {name: by_lower_name[given.lower()] for name, given in self.columns.items()}
        columns = match_aliases(row, _ALIASES, taken=given_columns.values()) | given_columns
        has_rate = "mean" in columns or {"count", "total"} <= set(columns)
        required = ("model", "question") if has_rate else ("model", "question", "score")
        if missing := [name for name in required if name not in columns]:
            names = ", ".join(filter(None, row))
            remedy = f"the columns are {names}: name one with {{replay: FILE, columns: {{{missing[0]}: COLUMN}}}}"
            raise InputError(f"no column for {missing[0]!r}", where=self.file, remedy=remedy)
        if {"score", "count"} <= set(columns) and not has_rate and "score" not in self.columns:
            what = f"{columns['count']!r} counts generations: is {columns['score']!r} their sum, their mean, or of one?"
            remedy = "name it: {replay: FILE, columns: {total: COLUMN}}, or mean, or score for a row per generation"
            raise InputError(what, where=self.file, remedy=remedy)
        return columns

    def _add(self, row: Mapping[str, object], columns: Mapping[str, str], where: str) -> None:
        """Count one row."""
        model, question = (_parse_name(row, columns[name], where) for name in ("model", "question"))
        text = str(row.get(columns["text"]) or question) if "text" in columns else question
        self.texts.setdefault(question, text)
        for score, count in self._parse_scores(row, columns, where):
            self._counts[model, question][score] += count

    def _parse_scores(
        self, row: Mapping[str, object], columns: Mapping[str, str], where: str
    ) -> Iterator[tuple[float, float]]:
        """Yield the scores of one row and their counts; nothing where it failed."""

        def number(name: str) -> float | None:
            return _parse_number(row.get(columns[name]), columns[name], where)

        if "score" in self.columns or not ("mean" in columns or {"count", "total"} <= set(columns)):
            if (score := number("score")) is not None:
                yield score, 1.0
            return
        count = number("count") if "count" in columns else 1.0
        if not count:
            return
        if "mean" in columns:
            rate = number("mean")
        else:
            total = number("total")
            rate = None if total is None else total / count
        if rate is None:
            return
        if count < 0:
            raise InputError(f"{count:g} generations", where=where, remedy="give 0 or more")
        # A sum of scores of 0 and 1 is a whole number; a rounded mean times n need not be one.
        is_whole = "mean" in columns or abs(rate * count - round(rate * count)) < 1e-6 * max(count, 1)
        if not 0 <= rate <= 1 or not is_whole:
            what = f"{rate:g} is not a rate of {count:g} scores of 0 and 1"
            raise InputError(what, where=where, remedy="give one row per generation with its score")
        yield 0.0, count * (1 - rate)
        yield 1.0, count * rate


def _parse_name(row: Mapping[str, object], column: str, where: str) -> str:
    """Return a name in a row as text."""
    value = row.get(column)
    if value is None or not str(value).strip():
        raise InputError(f"{column!r} is empty", where=where, remedy="fill it in or remove the row")
    return str(value)


def _parse_number(value: object, column: str, where: str) -> float | None:
    """Return a number in a row; None where the cell is empty."""
    text = "" if value is None else str(value).strip().lower()
    if text in _SCORE_WORDS:
        return _SCORE_WORDS[text]
    number = extract_score(text)
    if number is None:
        raise InputError(f"{column} is {value!r}, not a finite number", where=where, remedy="fix it or leave it empty")
    return float(number)
