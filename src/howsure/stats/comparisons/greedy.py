"""Greedy decoding beside sampling: both scores with their errors, their paired difference, and the gap of single runs.

A benchmark score is often one greedy run. It is the score of another procedure than sampling, so its difference to the
mean of sampled generations is a bias, not noise, and it says nothing of the noise of a sampled run: the gap between the
best and the worst of several single runs does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.stats.comparisons.pairs import Comparison, compare
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import check_level
from howsure.stats.core.results import Conditions, Result, RowPlaces
from howsure.stats.repeats import LIMITED_GAP, RunGap, run_gap
from howsure.stats.scores import Scores, score

__all__ = ["GreedyTable", "compare_greedy"]


@dataclass(frozen=True, eq=False)
class GreedyTable(Result):
    """Sampled and greedy scores of M models; arrays have shape (M,).

    Attributes
    ----------
    sampled, greedy
        Scores of the sampled runs, and of the greedy ones, on the questions that both have; `greedy` is None where no
        model has one.
    row
        Row of each model in `greedy`; -1 where it has none.
    differences
        Greedy minus sampled on the questions that both have; None for a model without a greedy run.
    gap
        Gap between the best and the worst of several single runs.
    n_generations
        Largest number of sampled generations of a question.
    is_common
        Whether the sampled and the greedy run have other questions, so that those that both have are compared.

    Examples
    --------
    >>> scores = [[[1, 0], [1, 1]], [[1], [1]]]
    >>> table = compare_greedy(Cells.from_scores("demo", ["a", "a:greedy"], ["1", "2"], scores), [("a", "a:greedy")])
    >>> table["greedy"].tolist(), table["sampled"].tolist()
    ([1.0], [0.75])
    """

    benchmark: str
    sampled: Scores
    greedy: Scores | None
    row: IntArray
    differences: tuple[Comparison | None, ...]
    gap: RunGap
    n_generations: IntArray
    is_common: NDArray[np.bool_]
    level: float = 0.95

    declared = (
        "benchmark model=sampled.models n_questions=sampled.n_questions n_generations greedy=_greedy.0 "
        "se_greedy=_greedy.1.sqrt sampled=sampled.score se_sampled=sampled.variance.sqrt difference=_compared.0 "
        "low=_compared.1 high=_compared.2 gap=gap.gap n_runs=gap.runs level note=_reasons.notes"
    )

    def _rows(self) -> RowPlaces:
        return [np.argsort(np.nan_to_num(-self.sampled.score, nan=np.inf), kind="stable")]

    def _reasons(self) -> Conditions:
        return {
            "no greedy run": self.row < 0,
            "on the questions that both answered": self.is_common,
            "no question in common": (self.row >= 0) & (self.sampled.n_questions == 0),
            "one generation per question: the gap between single runs is unknown": np.isnan(self.gap.gap)
            & (self.sampled.n_questions > 0),
            LIMITED_GAP: self.gap.is_limited,
        }

    def _compared(self) -> FloatArray:
        """Return each difference and its limits, shape (3, M); NaN without a greedy run."""
        values = np.full((3, len(self.differences)), np.nan)
        for column, one in enumerate(self.differences):
            if one is not None:
                between = one.interval(self.level)
                values[:, column] = one.difference[0], between.low[0], between.high[0]
        return values

    def _greedy(self) -> FloatArray:
        """Return score and squared standard error of the greedy run of each model, shape (2, M); NaN without one."""
        missing = np.full((2, len(self.row)), np.nan)
        if self.greedy is None:
            return missing
        return np.where(self.row >= 0, [self.greedy.score[self.row], self.greedy.variance[self.row]], missing)


def compare_greedy(
    cells: Cells, twins: Sequence[tuple[str, str | None]], *, runs: int = 10, level: float = 0.95
) -> GreedyTable:
    """Compare sampled runs with the greedy run of the same model.

    Parameters
    ----------
    cells
        Models on N questions.
    twins
        Name of each sampled model, and of its greedy run or None.
    runs
        Number of single runs between whose best and worst the gap is expected; 2 or more.
    level
        Coverage of the intervals of the differences, in (0, 1).

    Returns
    -------
    GreedyTable
        One row per sampled model, on the questions that it and its greedy run both have. Standard errors and intervals
        are about new questions.

    Raises
    ------
    InputError
        When there is no sampled model, a model is unknown, or an argument is not allowed.

    References
    ----------
    GEN, table 1: greedy (SE), sampled (SE), and Delta(k = 1), here with the paired difference. GEN draws runs from the
    generations with replacement; see `run_gap` for why the gap here is another estimate.

    Examples
    --------
    >>> scores = [[[1, 0], [1, 1]], [[1], [1]]]
    >>> cells = Cells.from_scores("demo", ["a", "a:greedy"], ["1", "2"], scores)
    >>> compare_greedy(cells, [("a", "a:greedy")])["difference"].tolist()
    [0.25]
    """
    check_level(level)
    if not twins:
        raise InputError("no sampled model", where=cells.benchmark, remedy="give the names of models and greedy runs")
    names = [twin for _, twin in twins if twin is not None]
    row = np.array([cells.index(name) for name, _ in twins])
    row_of_twin = np.array([cells.index(name if twin is None else twin) for name, twin in twins])
    both = cells.answered[row] & cells.answered[row_of_twin]
    is_common = np.any(cells.answered[row] != cells.answered[row_of_twin], axis=1)
    sampled = cells.select([name for name, _ in twins]).without(~both)
    of_twins = cells.select(names).without(~both[[twin is not None for _, twin in twins]])
    return GreedyTable(
        cells.benchmark,
        score(sampled, level=level),
        score(of_twins, level=level) if names else None,
        np.array([-1 if twin is None else names.index(twin) for _, twin in twins]),
        tuple(None if twin is None else compare(cells, twin, name, level=level) for name, twin in twins),
        run_gap(sampled, runs=runs),
        sampled.n.max(axis=1, initial=0),
        is_common,
        level,
    )
