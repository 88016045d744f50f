"""Slices of the questions, by a column, how hard they are or how long, in which two models differ by another amount."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np

from howsure.api.result_selection import CellsLike, check_two_models, select_with_models
from howsure.errors import InputError
from howsure.results.evaluations import Evaluations, open_or_list, read, to_cells
from howsure.results.sources import Data
from howsure.results.texts import QuestionTexts
from howsure.stats import comparisons
from howsure.stats.core.cells import Cells, FloatArray
from howsure.stats.core.claims import check_level
from howsure.stats.core.results import Results

#: Value of each question of each benchmark in a column.
Labels: TypeAlias = Mapping[tuple[str, str], str]
#: Columns that are computed, in quarters of the questions.
COMPUTED = ("difficulty", "length")


def slices(data: CellsLike, a: str, b: str, *, by: Sequence[str], level: float = 0.95) -> Results:
    """Find slices of the questions in which two models differ by another amount than on the rest.

    Parameters
    ----------
    data
        Paths or frames, of which `by` names columns; or results that were read, whose slices are ``"cluster"``,
        ``"difficulty"`` or ``"length"``.
    a, b
        Names of the models; differences are a - b.
    by
        What tells slices apart, one or several: columns such as ``"subject"``; ``"difficulty"``, how often other
        models are right; ``"length"`` of the question. Numbers are cut into quarters.
    level
        Coverage of the intervals, between 0 and 1; adjusted p-values below 1 - level are findings.

    Returns
    -------
    Results
        A row per benchmark and slice, the findings first: its ``difference`` with an interval, the ``shrunken`` one,
        that on the rest (``difference_rest``), and ``p_all`` for all slices of the benchmark.

    Raises
    ------
    UnknownNameError
        If no benchmark has a model of this name.
    InputError
        If a column is not there, tells no slices apart, or cannot be computed from these results.

    Examples
    --------
    >>> import howsure as hs
    >>> import pyarrow as pa
    >>> rows = [(m, i, "proof" if i < 10 else "sum", int(m == "a" or i > 9)) for m in "ab" for i in range(60)]
    >>> frame = pa.table(dict(zip(["model", "question", "topic", "score"], map(list, zip(*rows)))))
    >>> hs.slices(frame, "a", "b", by=["topic"])["verdict"].tolist()
    ['different', 'not tested']
    """
    names = [by] if isinstance(by, str) else list(by)
    opened = open_or_list(data)
    columns: dict[str, Labels | None] = {}
    for name in names:
        if name in COMPUTED:
            columns[name] = None
        elif isinstance(data, (Evaluations, Cells)) or not isinstance(opened, Evaluations):
            columns[name] = list_clusters(to_cells(opened), name)
        else:
            columns[name] = list_clusters(read(cast("Data", data), columns={"cluster": name}).cells(), name)
    return compare_by(opened, a, b, columns, level=level)


def compare_by(
    results: Evaluations | list[Cells], a: str, b: str, columns: Mapping[str, Labels | None], *, level: float
) -> Results:
    """Return the slices of each benchmark by columns of labels; None for those that are computed."""
    check_level(level)
    check_two_models(a, b, where="slices")
    both = select_with_models(to_cells(results), (a, b))
    lengths = _measure_lengths(results) if "length" in columns else {}
    parts = []
    for cells in both:
        labels: dict[str, list[str]] = {}
        for name, of_question in columns.items():
            keys = [(cells.benchmark, question) for question in cells.questions]
            if of_question is not None:
                labels[name] = _cut_numbers([of_question.get(key, "") for key in keys])
            elif name == "length":
                labels[name] = comparisons.cut_quarters(np.array([lengths.get(key, np.nan) for key in keys]))
            else:
                labels[name] = comparisons.cut_quarters(_measure_difficulty(cells, a, b))
        parts.append(comparisons.compare_slices(cells, a, b, labels, level=level))
    return Results(tuple(parts))


def _cut_numbers(values: list[str]) -> list[str]:
    """Return the quarters of values that are all numbers, other values as they are."""
    try:
        return comparisons.cut_quarters(np.array([float(value) if value else np.nan for value in values]))
    except ValueError:
        return values


def list_clusters(benchmarks: Sequence[Cells], name: str) -> Labels:
    """Return the cluster of each question; raise InputError where no benchmark has any."""
    clustered = [cells for cells in benchmarks if cells.clusters is not None]
    if not clustered:
        remedy = (
            f"give the paths, not the results, or read them with columns={{'cluster': {name!r}}} and by=['cluster']"
        )
        raise InputError(f"no column {name!r} was read", where="slices", remedy=remedy)
    return {
        (cells.benchmark, question): value
        for cells in clustered
        for question, value in zip(cells.questions, cells.clusters or (), strict=True)
    }


def _measure_difficulty(cells: Cells, a: str, b: str) -> FloatArray:
    """Return the mean score of the other models; these two would be compared by their own luck."""
    others = [model for model in cells.models if model not in {a, b}]
    if not others:
        remedy = "give the results of other models too, and name these two with a and b (--a and --b)"
        raise InputError("difficulty is measured by other models", where=cells.benchmark, remedy=remedy)
    return comparisons.measure_difficulty(cells, others)


def _measure_lengths(results: Evaluations | list[Cells]) -> dict[tuple[str, str], float]:
    """Return the number of characters of each question; raise InputError where no text is stored."""
    texts = QuestionTexts(results.sources) if isinstance(results, Evaluations) else None
    lengths = {key: float(len(one.text)) for key, one in (texts.questions() if texts else {}).items() if one.text}
    if not lengths:
        remedy = "give run folders or logs that keep the prompts"
        raise InputError("no texts of questions are stored", where="slices by length", remedy=remedy)
    return lengths
