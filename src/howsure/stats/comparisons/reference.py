"""All models compared with one reference, with p-values and intervals adjusted for the comparisons that are at stake.

A reference that somebody named before seeing the scores is compared with M - 1 models: Holm over M - 1 tests. Where the
scores themselves chose it, as "the highest score" does, the largest of all differences is picked from all pairs: with
ten equal models, 200 questions and M - 1 tests, some model was called worse than the best in .125 of 600 simulated
evaluations at a nominal .05. Then the tests are adjusted for all M(M - 1)/2 pairs, which holds whatever the scores
choose (.03 of the same evaluations).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from howsure.errors import UnknownNameError
from howsure.stats.comparisons.pairs import Pairs
from howsure.stats.core.cells import FloatArray, IntArray

__all__ = ["ReferenceComparisons", "compare_with_reference"]


@dataclass(frozen=True, eq=False)
class ReferenceComparisons:
    """Differences of a reference from the M - 1 other models; arrays have shape (M - 1,).

    Attributes
    ----------
    reference, models
        Name of the reference, and of the others in the order of the pairs.
    rows
        Rows of these comparisons in the pairs.
    n_questions
        Questions that the reference and the other model answered.
    difference
        Score of the reference minus that of the other, on these questions.
    low, high
        Interval of each difference by itself.
    low_all, high_all
        Intervals that hold for all tests at once with the probability `level` (Bonferroni).
    p_value, p_holm
        p-value of each difference by itself, and adjusted for `n_tests`.
    detectable
        Smallest true difference that a test at level 1 - (1 - level)/n_tests finds with power `POWER`.
    is_undecided
        Whether unread answers decide if the pair is distinguishable; see `pairs.Comparison.verdict`.
    n_tests
        Tests that are adjusted for: M - 1, or those of all pairs; pairs that cannot be tested do not count.
    chosen_by_scores
        Whether the scores chose the reference.
    level
        Level of the intervals, and 1 minus the probability of any false positive among the tests.

    Examples
    --------
    >>> from howsure.stats.comparisons import pairs
    >>> from howsure.stats.core.cells import Cells
    >>> scores = [[[1], [1], [1], [1]], [[0], [1], [0], [1]], [[0], [0], [0], [0]]]
    >>> cells = Cells.from_scores("demo", ["a", "b", "c"], ["q1", "q2", "q3", "q4"], scores)
    >>> result = compare_with_reference(pairs(cells), "a")
    >>> result.models, result.difference.tolist(), result.n_tests
    (('b', 'c'), [0.5, 1.0], 2)
    """

    reference: str
    models: tuple[str, ...]
    rows: IntArray
    n_questions: IntArray
    difference: FloatArray
    low: FloatArray
    high: FloatArray
    low_all: FloatArray
    high_all: FloatArray
    p_value: FloatArray
    p_holm: FloatArray
    detectable: FloatArray
    is_undecided: NDArray[np.bool_]
    n_tests: int
    chosen_by_scores: bool
    level: float

    @property
    def differs_singly(self) -> NDArray[np.bool_]:
        """Whether the p-value of the comparison by itself is below 1 - level."""
        return np.asarray(self.p_value < 1 - self.level)

    @property
    def is_distinguishable(self) -> NDArray[np.bool_]:
        """Whether the adjusted p-value is below 1 - level."""
        return np.asarray(self.p_holm < 1 - self.level)


def compare_with_reference(pairs: Pairs, reference: str, *, chosen_by_scores: bool = False) -> ReferenceComparisons:
    """Compare all models with one of them.

    Parameters
    ----------
    pairs
        Comparisons of all pairs.
    reference
        One of the models.
    chosen_by_scores
        Whether the scores chose the reference: p-values and intervals are then adjusted for all pairs.

    Returns
    -------
    ReferenceComparisons
        One row for each other model.

    Raises
    ------
    UnknownNameError
        If there is no such model.

    Notes
    -----
    Simultaneous intervals are those of Bonferroni, which Holm's tests reject at least as often as; a verdict may
    therefore say more than its simultaneous interval, never less.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6. Dunnett (1955), JASA 50, for comparisons with a control; Tukey's
    studentized range for the largest of all differences.

    Examples
    --------
    >>> from howsure.stats.comparisons import pairs
    >>> from howsure.stats.core.cells import Cells
    >>> scores = [[[1]] * 9, [[1], [0], [0]] * 3, [[0]] * 9]
    >>> cells = Cells.from_scores("demo", ["a", "b", "c"], [f"q{i}" for i in range(9)], scores)
    >>> named, chosen = (compare_with_reference(pairs(cells), "a", chosen_by_scores=by) for by in (False, True))
    >>> named.p_holm.round(3).tolist(), chosen.p_holm.round(3).tolist()
    ([0.012, 0.004], [0.023, 0.006])
    """
    if reference not in pairs.models:
        raise UnknownNameError("model", reference, set(pairs.models), where="reference")
    r = pairs.models.index(reference)
    rows = np.flatnonzero((pairs.a == r) | (pairs.b == r))
    is_first = pairs.a[rows] == r
    p_value = pairs.interval().p_value
    others = np.where(is_first, pairs.b[rows], pairs.a[rows])
    p_holm = pairs.p_holm[rows] if chosen_by_scores else pairs.p_by_model[r, others]
    n_tests = max(int(np.sum(~np.isnan(p_value if chosen_by_scores else p_value[rows]))), 1)
    strict = replace(pairs, level=1 - (1 - pairs.level) / n_tests)
    each, of_all = (_turn(one.low[rows], one.high[rows], is_first) for one in (pairs.interval(), strict.interval()))
    return ReferenceComparisons(
        reference=reference,
        models=tuple(pairs.models[i] for i in others),
        rows=rows,
        n_questions=pairs.n_questions[rows],
        difference=np.where(is_first, 1, -1) * pairs.difference[rows],
        low=each[0],
        high=each[1],
        low_all=of_all[0],
        high_all=of_all[1],
        p_value=p_value[rows],
        p_holm=p_holm,
        detectable=strict.detectable[rows],
        is_undecided=pairs.verdict[rows] == "undecided",
        n_tests=n_tests,
        chosen_by_scores=chosen_by_scores,
        level=pairs.level,
    )


def _turn(low: FloatArray, high: FloatArray, is_first: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Return limits of reference minus other, from those of the first minus the second model of each pair."""
    return np.where(is_first, low, -high), np.where(is_first, high, -low)
