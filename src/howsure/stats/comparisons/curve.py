"""Scores along the checkpoints of a training run, with differences to one of them.

Checkpoints answer the same questions, so a band of prediction noise alone is what the curve itself jitters by, and a
band with data noise is how far each score can be trusted on other questions. Neither says whether two checkpoints
differ: the paired difference to one of them does (NOISE example 2: separated curves are not enough where data noise
dominates).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.stats.comparisons.checkpoints import read_positions
from howsure.stats.comparisons.pairs import Comparison, compare
from howsure.stats.comparisons.series import SmoothedSeries, smooth_cells
from howsure.stats.core.cells import Cells, FloatArray
from howsure.stats.core.claims import TestMethod
from howsure.stats.core.multiplicity import holm
from howsure.stats.core.results import Result, join_notes, notes
from howsure.stats.scores import Scores, score

__all__ = ["Curve", "curve"]


@dataclass(frozen=True, eq=False)
class Curve(Result):
    """Scores of C checkpoints in their order, and the difference of each to the reference.

    Attributes
    ----------
    rerun
        Scores with the error of sampling these questions again: prediction noise alone.
    total
        Scores with the error of new questions: data noise and what generations leave of prediction noise.
    differences
        Checkpoint minus reference, one comparison each; the reference's own has difference 0.
    reference
        Row of the reference.
    steps
        Each checkpoint minus the one before, with the error of sampling these questions again; the first has none.
    smoothed
        The smooth curve through the scores, or why there is none.

    Examples
    --------
    >>> from howsure.stats.core.cells import Cells
    >>> scores = [[[0], [0], [1]], [[1], [0], [1]], [[1], [1], [1]]]
    >>> result = curve(Cells.from_scores("demo", ["step 1", "step 2", "step 3"], ["1", "2", "3"], scores))
    >>> result.checkpoints
    ('step 1', 'step 2', 'step 3')
    """

    rerun: Scores
    total: Scores
    differences: tuple[Comparison, ...]
    reference: int
    steps: tuple[Comparison, ...]
    smoothed: SmoothedSeries | str
    level: float = 0.95

    @property
    def benchmark(self) -> str:
        """Name of the benchmark."""
        return self.total.benchmark

    @property
    def checkpoints(self) -> tuple[str, ...]:
        """Names, in order."""
        return self.total.models

    declared = (
        "benchmark checkpoint=checkpoints n_questions=total.n_questions score=total.score low=total.interval.low "
        "high=total.interval.high low_prediction=_rerun.0 high_prediction=_rerun.1 smoothed=_smoothed.0 "
        "low_smoothed=_smoothed.1 high_smoothed=_smoothed.2 p_best_smoothed=_smoothed.3 "
        "difference=_compared.0 low_difference=_compared.1 high_difference=_compared.2 p_value=_compared.3 "
        "p_holm=_compared.4 change=_steps.0 p_change=_steps.1 verdict=_verdict level note=_note"
    )

    def _rerun(self) -> FloatArray:
        """Return the limits of the band of prediction noise, shape (2, C); NaN where this noise is unknown."""
        between = self.rerun.interval()
        return np.where(np.isnan(self.rerun.prediction), np.nan, [between.low, between.high])

    def _smoothed(self) -> FloatArray:
        """Return the smooth curve, its limits for these questions, and the chances to be the best, shape (4, C)."""
        if isinstance(self.smoothed, str):
            return np.full((4, len(self.checkpoints)), np.nan)
        between = self.smoothed.interval(self.level)
        limits = np.array([self.smoothed.mean, between.low, between.high])
        return np.array([*(np.clip(limits, 0, 1) if self.total.unit else limits), self.smoothed.p_best])

    def _compared(self) -> FloatArray:
        """Return differences, limits, p-values and adjusted ones, shape (5, C); the reference has a difference only."""
        itself = np.arange(len(self.checkpoints)) == self.reference
        between = [difference.interval(self.level) for difference in self.differences]
        each = [[getattr(one, name)[0] for one in between] for name in ("low", "high", "p_value")]
        low, high, p_value = np.where(itself, np.nan, each)
        return np.array([self._each("difference"), low, high, p_value, holm(p_value)])

    @cached_property
    def _steps(self) -> FloatArray:
        """The changes since the checkpoint before, and their adjusted p-values, shape (2, C)."""
        change = [step.difference[0] for step in self.steps]
        p_value = [step.interval(self.level).p_value[0] for step in self.steps]
        return np.array([[np.nan, *change], holm(np.array([np.nan, *p_value]))])

    def _verdict(self) -> NDArray[np.object_]:
        """Return whether each change is beyond the noise of sampling; "" for the first checkpoint."""
        p_change = self._steps[1]
        verdict = np.where(p_change < 1 - self.level, "beyond sampling noise", "within sampling noise").astype(object)
        return np.where(np.isnan(p_change), "", verdict)

    def _each(self, name: str) -> FloatArray:
        """Return one number of each difference, shape (C,)."""
        return np.array([getattr(difference, name)[0] for difference in self.differences], float)

    def _note(self) -> NDArray[np.object_]:
        """Return the note of each checkpoint."""
        itself = np.arange(len(self.checkpoints)) == self.reference
        variance, N, data = self._each("variance"), self._each("n_questions"), self._each("data")
        once = [bool(np.isnan(step.prediction[0]) & (step.n_questions[0] > 0)) for step in self.steps]
        why, n_common = (self.smoothed, 0) if isinstance(self.smoothed, str) else ("", self.smoothed.n_questions)
        more = notes(
            {
                why: (np.arange(len(N)) == 0) & (why != ""),
                f"the smooth curve is on the {n_common:,} questions that all checkpoints answered": (n_common > 0)
                & (self.total.n_questions != n_common),
                "the reference": itself,
                # a narrow table has no room for the verdict
                "the change since the checkpoint before is beyond sampling noise": self._steps[1] < 1 - self.level,
                "no question in common with the reference": N == 0,
                "the difference is on the questions that both answered": (N > 0)
                & ((self.total.n_questions != N) | (self.total.n_questions[self.reference] != N)),
                "no variation was seen in the difference": ~itself & (variance == 0),
                "one generation per question here or at the checkpoint before: "
                "whether the change is beyond sampling noise is unknown": np.array([False, *once]),
                # D > E/k, as variance N = D + E/k
                "most noise of the difference is data noise, which the band of prediction noise does not show": ~itself
                & (2 * data > variance * N),
            }
        )
        return join_notes(np.array(self.total.reasons, dtype=object), more)


def curve(
    cells: Cells,
    checkpoints: Sequence[str] | None = None,
    *,
    reference: str | None = None,
    level: float = 0.95,
    method: TestMethod | None = None,
) -> Curve:
    """Follow a score over checkpoints, with bands, compared with one of them on the same questions.

    Parameters
    ----------
    cells
        C checkpoints as models on N questions.
    checkpoints
        Names in order; None takes all models as they come.
    reference
        The checkpoint that the others are compared with; None takes the last.
    level
        Coverage of the bands and intervals in (0, 1). They hold for each checkpoint alone; `p_holm` for all together.
    method
        ``"t"`` or ``"clt"``; None: the default of `score` for the bands and of `compare` for the differences.

    Returns
    -------
    Curve
        One row per checkpoint.

    Raises
    ------
    InputError
        When there are fewer than two checkpoints, or one is named twice.

    References
    ----------
    NOISE example 2: separated curves are not enough where data noise dominates.

    Examples
    --------
    >>> scores = [[[0], [0], [1]], [[1], [0], [1]], [[1], [1], [1]]]
    >>> cells = Cells.from_scores("demo", ["step 1", "step 2", "step 3"], ["1", "2", "3"], scores)
    >>> curve(cells)["difference"].round(2).tolist()
    [-0.67, -0.33, 0.0]
    """
    names = list(cells.models if checkpoints is None else checkpoints)
    if len(names) < 2 or len(set(names)) < len(names):
        what = f"{len(names)} checkpoints" if len(names) < 2 else "a checkpoint is named twice"
        raise InputError(what, where=cells.benchmark, remedy="give two or more different ones, in order")
    chosen = cells.select(names)
    row = chosen.index(names[-1] if reference is None else reference)
    return Curve(
        rerun=score(chosen, claim="these-questions", level=level, method=method),
        total=score(chosen, claim="new-questions", level=level, method=method),
        differences=tuple(compare(chosen, name, names[row], level=level, method=method) for name in names),
        reference=row,
        steps=tuple(
            compare(chosen, name, before, claim="these-questions", level=level, method=method)
            for before, name in pairwise(names)
        ),
        smoothed=smooth_cells(chosen, read_positions(names)),
        level=level,
    )
