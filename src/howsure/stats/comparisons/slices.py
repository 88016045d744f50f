"""Slices of the questions in which two models differ by another amount than on the rest.

For slice g with n_g of the N common questions, the statistic is its mean d_g less that of the rest, over its error,

    T_g = (d_g - d_r) / sqrt(v_g / n_g + v_r / n_r),    v_g = (SS_g + c v) / (n_g - 1 + c)

with the variance v of all questions, c = 15 prior degrees of freedom and SS_g the sum of squares in the slice. The
p-values are adjusted for all slices at once by the largest |T| of random orders of the questions, step by step
(Westfall and Young 1993): exact where the slices mean nothing, whatever the scores, also for slices that overlap. The
questions of a slice that is found are then left out, so that it is not in the rest of the others. Estimates are
shrunken towards the mean of the slices of their column, by empirical Bayes (DerSimonian and Laird 1986).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.stats.comparisons.pairs import compare
from howsure.stats.core.cells import Cells, FloatArray, IntArray, mean_where
from howsure.stats.core.claims import Claim, check_level
from howsure.stats.core.results import Conditions, Result

__all__ = ["Slices", "compare_slices", "cut_quarters", "measure_difficulty"]

#: Fewest random orders of the questions, most numbers in more of them, and orders in memory at once.
_FEWEST_ORDERS, _NUMBERS, _BLOCK = 999, 3e7, 500
#: Prior degrees of freedom of the variance of a slice.
_PRIOR = 15.0
#: Fewest questions of a slice that is tested, and of which scores are called few; most slices that are listed.
_FEWEST, _FEW, _MOST = 2, 10, 1000
#: Groups of numbers, by quartiles; a column with fewer different numbers keeps each of them as a slice.
_QUARTERS, _FEW_VALUES = (0.25, 0.5, 0.75), 8
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Slices(Result):
    """Differences of two models in G slices; arrays of shape (G,).

    Attributes
    ----------
    by, slices
        Column of each slice, and its value there.
    n_questions
        Common questions in it.
    difference, low, high
        Of the two models in the slice, with its own interval.
    shrunken
        The difference, shrunken towards the other slices of the column.
    difference_rest
        On all other common questions but those of slices found before it.
    p_value, p_all
        Of "as on the rest", by itself and adjusted for all slices; NaN where it cannot be tested.
    total, n_total
        Difference on all common questions, and their number.
    reversed_by
        The columns whose slices all have one sign while the scores over all questions have the other.
    score_a, score_b
        Scores of the models on the questions that each answered.

    Examples
    --------
    >>> a, b = [[1]] * 60, [[1]] * 50 + [[0]] * 10
    >>> cells = Cells.from_scores("demo", ["a", "b"], [f"q{i}" for i in range(60)], [a, b])
    >>> table = compare_slices(cells, "a", "b", {"topic": ["sums"] * 50 + ["proofs"] * 10})
    >>> table["slice"].tolist(), table["difference"].tolist()
    (['proofs', 'sums'], [1.0, 0.0])
    """

    benchmark: str
    model_a: str
    model_b: str
    by: tuple[str, ...]
    slices: tuple[str, ...]
    n_questions: IntArray
    difference: FloatArray
    low: FloatArray
    high: FloatArray
    shrunken: FloatArray
    difference_rest: FloatArray
    p_value: FloatArray
    p_all: FloatArray
    total: float
    n_total: int
    reversed_by: tuple[str, ...]
    score_a: float
    score_b: float
    is_clustered: bool = False
    level: float = 0.95
    claim: Claim = "new-questions"

    declared = (
        "benchmark model_a model_b by slice=slices n_questions difference low high shrunken difference_rest p_value "
        "p_all verdict level claim note=_reasons.notes"
    )

    @property
    def verdict(self) -> NDArray[np.object_]:
        """Whether the slice differs from the rest, by the adjusted p-value."""
        words = np.where(self.p_all < 1 - self.level, "different", "not different").astype(object)
        return np.where(np.isnan(self.p_all), "not tested", words)

    def _rows(self) -> list[IntArray]:
        return [np.lexsort((-np.abs(self.difference - self.difference_rest), np.nan_to_num(self.p_all, nan=2)))]

    def _reasons(self) -> Conditions:
        untested = np.isnan(self.p_all)
        return {
            "no common question": self.n_questions == 0,
            "one question: not tested": self.n_questions == 1,
            "no other questions are left to compare with": untested & (self.n_questions > 1),
            f"fewer than {_FEW} questions: only a large difference can be found": ~untested & (self.n_questions < _FEW),
            "clusters of questions do not enter the test": ~untested & self.is_clustered,
        }


def compare_slices(
    cells: Cells,
    a: str,
    b: str,
    labels: Mapping[str, Sequence[str]],
    *,
    level: float = 0.95,
    orders: int = 9999,
    seed: int = 0,
) -> Slices:
    """Find slices of the questions in which two models differ by another amount than on the rest.

    Parameters
    ----------
    cells
        Results with both models.
    a, b
        Names of the models; differences are a - b.
    labels
        Column to the value of each of the N questions in it; ``""`` where it has none.
    level
        Coverage of the intervals; adjusted p-values below 1 - level are findings.
    orders, seed
        Number of random orders of the questions, fewer above 3,000 questions; and the seed that they are drawn with.

    Returns
    -------
    Slices
        A row per slice, the findings first.

    Raises
    ------
    InputError
        When no column has two slices, or each question is a slice of its own.

    Notes
    -----
    With the chance 1 - level or less one of the slices or more is called different where none is, if the slices mean
    nothing to the differences; slices whose questions only differ more, in both directions, are called different about
    as often. Two generations or more of each question find far smaller differences.

    References
    ----------
    Westfall and Young (1993), Resampling-based multiple testing. DerSimonian and Laird (1986), Meta-analysis in
    clinical trials, Controlled Clinical Trials 7. Smyth (2004), Linear models and empirical Bayes methods, for the
    variances.

    Examples
    --------
    >>> a, b = [[1]] * 60, [[1]] * 50 + [[0]] * 10
    >>> cells = Cells.from_scores("demo", ["a", "b"], [f"q{i}" for i in range(60)], [a, b])
    >>> compare_slices(cells, "a", "b", {"topic": ["sums"] * 50 + ["proofs"] * 10})["verdict"].tolist()
    ['different', 'not tested']
    """
    check_level(level)
    pair = cells.select([a, b])
    common = pair.answered.all(axis=0)
    d = (pair.mean[0] - pair.mean[1])[common]
    names: list[tuple[str, str]] = []
    columns: list[NDArray[np.bool_]] = []
    for by, each in labels.items():
        values = np.array(each, dtype=object)
        if len(values) != len(cells.questions):
            raise InputError(f"{len(values)} values for {len(cells.questions)} questions", where=by)
        own = [(name, values == name) for name in dict.fromkeys(sorted(each)) if name]
        if len(own) > max(_FEWEST, 0.9 * len(values)) or len(own) > _MOST:
            remedy = "name a column with fewer values, such as a subject"
            raise InputError(f"nearly each question has its own value: {len(own)}", where=by, remedy=remedy)
        names += [(by, name) for name, _ in own]
        columns += [where for _, where in own]
    if len(names) < 2:
        remedy = "name a column that tells questions apart"
        raise InputError("fewer than two slices", where=", ".join(labels) or "slices", remedy=remedy)
    every = np.array(columns)
    inside = every[:, common]
    n = inside.sum(axis=1)
    p_value, p_all, rest = _test(d, inside, 1 - level, orders, seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.where(inside, d, 0).sum(axis=1) / n
    low, high = np.full((2, len(n)), np.nan)
    questions = np.array(cells.questions, dtype=object)
    for g, where in enumerate(every):
        if n[g]:
            between = compare(pair.select(questions=questions[where & common].tolist()), a, b, level=level).interval()
            low[g], high[g] = between.low[0], between.high[0]
    by_name = np.array([by for by, _ in names], dtype=object)
    shrunken = np.full(len(n), np.nan)
    for by in labels:
        of_column = by_name == by
        shrunken[of_column] = _shrink(difference[of_column], _squared_errors(d, inside[of_column]))
    own_scores = np.array(
        [mean_where(pair.mean, pair.answered & where) for where in (np.ones(len(questions)) > 0, *every)]
    )
    gaps = own_scores[:, 0] - own_scores[:, 1]
    reversed_by = tuple(by for by in labels if _is_reversed(gaps[0], gaps[1:][by_name == by]))
    return Slices(
        cells.benchmark,
        a,
        b,
        tuple(by_name.tolist()),
        tuple(name for _, name in names),
        n,
        difference,
        low,
        high,
        shrunken,
        rest,
        p_value,
        p_all,
        float(d.mean()) if len(d) else float("nan"),
        len(d),
        reversed_by,
        float(own_scores[0, 0]),
        float(own_scores[0, 1]),
        cells.clusters is not None,
        level,
    )


def _is_reversed(total: float, gaps: FloatArray) -> bool:
    """Return whether all slices have the sign that the total does not have (Simpson's paradox)."""
    finite = gaps[~np.isnan(gaps)]
    return len(finite) > 1 and abs(total) > _ROUNDING and bool(np.all(finite * np.sign(total) < -_ROUNDING))


def _statistics(d: FloatArray, inside: FloatArray) -> FloatArray:
    """Return T of each slice (G, N) of each row of differences (B, N), shape (B, G); 0 where nothing varies."""
    N = d.shape[1]
    n, v = inside.sum(axis=1), np.maximum(d.var(axis=1, ddof=1), 0)[:, None]
    total, square = d.sum(axis=1)[:, None], np.sum(d**2, axis=1)[:, None]
    own, own_square = d @ inside.T, d**2 @ inside.T

    def error(sums: FloatArray, squares: FloatArray, size: FloatArray) -> FloatArray:
        within = np.maximum(squares - sums**2 / size, 0)
        moderated: FloatArray = (within + _PRIOR * v) / (size - 1 + _PRIOR) / size
        return moderated

    gap = own / n - (total - own) / (N - n)
    variance = error(own, own_square, n) + error(total - own, square - own_square, N - n)
    T: FloatArray = np.divide(gap, np.sqrt(variance), out=np.zeros(gap.shape), where=variance > _ROUNDING**2)
    return T


def _test(
    d: FloatArray, inside: NDArray[np.bool_], alpha: float, orders: int, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the p-value of each slice, the adjusted one, and the mean of the rest that it is beside, shape (G,) each.

    A slice that is found leaves the questions, so that it is not in the rest of the others.
    """
    p_value, p_all, rest = np.full((3, len(inside)), np.nan)
    rng = np.random.default_rng(seed)
    is_left, open_, last = np.ones(len(d), bool), np.ones(len(inside), bool), 0.0
    while True:
        y, left = d[is_left], inside[:, is_left]
        n = left.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            rest = np.where(open_, np.where(left, 0, y).sum(axis=1) / (len(y) - n), rest)
        tested = np.flatnonzero(open_ & (n >= _FEWEST) & (n < len(y)))
        if not len(tested):
            return p_value, p_all, rest
        T, above, above_all = _permute(y, left[tested].astype(float), orders, rng)
        order = np.lexsort((n[tested], -T.round(9)))
        own, adjusted = above[order], np.maximum.accumulate(np.maximum(above_all[order], last))
        p_value[tested[order]], p_all[tested[order]] = own, adjusted
        if adjusted[0] >= alpha:
            return p_value, p_all, rest
        chosen, last = tested[order[0]], adjusted[0]
        p_value[open_], p_all[open_] = np.nan, np.nan
        p_value[chosen], p_all[chosen] = own[0], last
        open_[chosen], is_left = False, is_left & ~inside[chosen]


def _permute(
    d: FloatArray, slices: FloatArray, orders: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return |T| of each slice, its p-value, and that of the largest of the slices with |T| as small or smaller."""
    T = np.abs(_statistics(d[None], slices)[0])
    order = np.argsort(-T, kind="stable")
    above, above_all = np.ones((2, len(T)))
    orders = min(orders, max(int(_NUMBERS / len(d)), _FEWEST_ORDERS))
    for start in range(0, orders, _BLOCK):
        rows = rng.permuted(np.tile(d, (min(_BLOCK, orders - start), 1)), axis=1)
        drawn = np.abs(_statistics(rows, slices))[:, order]
        largest = np.maximum.accumulate(drawn[:, ::-1], axis=1)[:, ::-1]
        above[order] += np.sum(drawn >= T[order] - 1e-9, axis=0)
        above_all[order] += np.sum(largest >= T[order] - 1e-9, axis=0)
    return T, above / (orders + 1), above_all / (orders + 1)


def _squared_errors(d: FloatArray, inside: NDArray[np.bool_]) -> FloatArray:
    """Return the squared error of the mean of each slice, with the moderated variance; NaN where it has no question."""
    n = inside.sum(axis=1)
    v = d.var(ddof=1) if len(d) > 1 else np.nan
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(inside, d, 0).sum(axis=1) / n
        within = np.sum(np.where(inside, d - mean[:, None], 0) ** 2, axis=1)
        return np.asarray((within + _PRIOR * v) / (np.maximum(n, 1) - 1 + _PRIOR) / n)


def _shrink(difference: FloatArray, variance: FloatArray) -> FloatArray:
    """Return differences shrunken towards their mean, as far as their errors explain how far they lie apart."""
    finite = ~np.isnan(difference) & ~np.isnan(variance)
    if np.sum(finite) < 2 or np.any(variance[finite] <= 0):
        return difference
    y, v = difference[finite], variance[finite]
    w = 1 / v
    center = w @ y / w.sum()
    excess = w @ (y - center) ** 2 - (len(y) - 1)
    between = max(0.0, excess / (w.sum() - w @ w / w.sum()))
    w = 1 / (v + between)
    center = w @ y / w.sum()
    shrunken = difference.copy()
    shrunken[finite] = center + between / (between + v) * (y - center)
    return shrunken


def measure_difficulty(cells: Cells, others: Sequence[str]) -> FloatArray:
    """Return the mean score of other models on each question, shape (N,); NaN where none answered.

    >>> measure_difficulty(Cells.from_scores("demo", ["a", "b"], ["p", "q"], [[[1], [0]], [[1], []]]), ["b"]).tolist()
    [1.0, nan]
    """
    chosen = cells.select(others)
    return mean_where(chosen.mean.T, chosen.answered.T)


def cut_quarters(values: FloatArray) -> list[str]:
    """Return the quarter of each number, as a range of numbers; few different ones stay as they are, and NaN is "".

    >>> cut_quarters(np.array([1.0, 2.0, 2.0, np.nan]))
    ['1', '2', '2', '']
    >>> sorted(set(cut_quarters(np.arange(100.0))))
    ['0 to 24', '25 to 49', '50 to 74', '75 to 99']
    """
    finite = values[~np.isnan(values)]
    if len(np.unique(finite)) <= _FEW_VALUES:
        return ["" if np.isnan(x) else f"{x:.15g}" for x in values.tolist()]
    quarter = np.searchsorted(np.unique(np.quantile(finite, _QUARTERS)), values, side="left")
    quarter = np.where(np.isnan(values), -1, quarter)
    ends = {
        q: (values[quarter == q].min(), values[quarter == q].max()) for q in np.unique(quarter[quarter >= 0]).tolist()
    }
    is_whole = all(float(x).is_integer() for x in finite.tolist())
    for digits in range(3, 16):  # as few as tell the quarters apart; whole numbers in full
        labels = {q: f"{low:.{digits}g} to {high:.{digits}g}" for q, (low, high) in ends.items()}
        if len(set(labels.values())) == len(labels) and not is_whole:
            break
    if is_whole:
        labels = {q: f"{low:.0f} to {high:.0f}" for q, (low, high) in ends.items()}
    return [labels.get(q, "") for q in quarter.tolist()]
