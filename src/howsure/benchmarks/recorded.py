"""Read a benchmark from recorded results; models `replay/NAME` draw their scores from the rows of a table.

In an experiment::

    benchmark: {replay: results.csv}
    models: [replay/gpt-4, replay/gpt-3.5]

A completion is a score, written as a number. This shows the results and the cost that a design would have had, before
any request is paid for. The table is read as `howsure score` reads it.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from howsure.benchmarks.question import Benchmark, Prompt, Question
from howsure.errors import InputError, UnknownNameError
from howsure.rows.columns import TableOptions
from howsure.rows.mapping import TableMap

if TYPE_CHECKING:
    import duckdb

_KEYS = ("replay", "name", "benchmark", "models", "columns")


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
        `replay`, a table that `howsure score` reads; and optionally `benchmark`, one of several in the file; `models`,
        a list: only questions with a score of all of them are used; `columns`, our column names to those of the file;
        `name`. Cells with a count are drawn as scores of 0 and 1 with their rate. The text of a question is the column
        `text`, or its id. Prompt variants are pooled; rows without a score, which failed, are no generations.
    base
        Folder to which a relative file refers.

    Raises
    ------
    InputError
        When the file cannot be read or lacks a column, a value is no score, or no question is left.
    """
    from howsure.rows.table import group_rows, open_table

    path, models, columns = _parse_spec(spec, base)
    name = None if spec.get("benchmark") is None else str(spec["benchmark"])
    options = TableOptions(TableMap().with_columns(columns), benchmark=path.stem, texts=True)
    with open_table(path, options.map) as rows:
        counts = group_rows(rows, path.name, options, _count_scores, lambda _: None)
    names = sorted({benchmark for benchmark, *_ in counts})
    if name is None and len(names) > 1:
        what = "several benchmarks: " + ", ".join(names)
        raise InputError(what, where=path.name, remedy="name one: {replay: FILE, benchmark: NAME}")
    if name is not None and name not in names:
        raise UnknownNameError("benchmark", name, names, where=path.name)
    texts: dict[str, str] = {}
    scores: defaultdict[tuple[str, str], defaultdict[float, float]] = defaultdict(lambda: defaultdict(float))
    for benchmark, model, question, text, score, n in counts:
        if name is None or benchmark == name:
            if text or question not in texts:
                texts[question] = text or question
            if score is not None:
                scores[model, question][float(score)] += float(n)
    outcomes = _accumulate(scores)
    for model in models:
        if model not in outcomes:
            raise UnknownNameError("model", model, outcomes, where=path.name)
    scored = [set(outcomes[model]) for model in models] or [set(texts)]
    ids = [question for question in texts if all(question in questions for questions in scored)]
    if not ids:
        raise InputError("no question is left", where=path.name, remedy="give a table of scores, and models it has")
    title = str(spec.get("name") or name or names[0])
    return RecordedBenchmark(
        name=title,
        questions=[Question(i, texts[i], "1.0", ("0.0",)) for i in ids],
        prompt=Prompt(),
        extract=extract_score,
        grade=lambda answer, _: float(answer),
        source={"kind": "replay", "file": path.name, "name": title}
        | {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
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
    return base / file, [model.removeprefix("replay/") for model in models], dict(columns)


def _count_scores(rows: duckdb.DuckDBPyRelation, where: str) -> list[tuple[Any, ...]]:
    """Return benchmark, model, question, its text, a score and its number, in the order of the questions."""
    if rows.filter(
        "coalesce(CAST(question AS VARCHAR), '') = '' OR coalesce(CAST(model AS VARCHAR), '') = ''"
    ).fetchall():
        raise InputError("a name is empty", where=where, remedy="fill it in")  # the checks of the table name the row
    names = ["CAST(benchmark AS VARCHAR) AS b", "CAST(model AS VARCHAR) AS m", "CAST(question AS VARCHAR) AS q"]
    names += ["text AS t" if "text" in rows.columns else "CAST(NULL AS VARCHAR) AS t", "row_number() OVER () AS place"]
    if "n" in rows.columns:
        ones = rows.project(", ".join([*names, "1.0 AS s, CAST(total AS DOUBLE) AS n"]))
        zeros = rows.project(", ".join([*names, "0.0 AS s, CAST(n - total AS DOUBLE) AS n"]))
        if rows.filter("n > 1 AND NOT total BETWEEN 0 AND n").limit(1).fetchall():
            remedy = "give one row per generation with its score"
            raise InputError("a rate of several scores that are not 0 or 1", where="the table", remedy=remedy)
        values = ones.union(zeros).filter("n > 0")
    else:
        values = rows.project(", ".join([*names, "score AS s, 1.0 AS n"]))
    grouped = values.aggregate("b, m, q, min(t) AS t, s, sum(n) AS n, min(place) AS place", "b, m, q, s")
    return grouped.order("place").project("b, m, q, t, s, n").fetchall()


def _accumulate(
    scores: Mapping[tuple[str, str], Mapping[float, float]],
) -> dict[str, dict[str, Outcomes]]:
    """Return the distribution of the scores by model and question."""
    result: dict[str, dict[str, Outcomes]] = {}
    for (model, question), counts in scores.items():
        values = sorted(counts)
        sums = list(accumulate(counts[value] for value in values))
        result.setdefault(model, {})[question] = Outcomes(tuple(values), tuple(each / sums[-1] for each in sums))
    return result
