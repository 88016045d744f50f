"""Several attempts at a question: any of k right (pass@k), all of k right (pass^k), the majority of k right.

Each is estimated without bias from n >= k generations of a question, of which c are right: the share of the subsets of
k generations that succeed,

    pass@k = 1 - C(n-c, k)/C(n, k)     pass^k = C(c, k)/C(n, k)     majority@k = P(the most frequent answer is right)

A question with fewer than k generations says nothing of k attempts: it is left out and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import CLAIMS
from howsure.stats.core.intervals import Interval, interval
from howsure.stats.core.results import Columns, Result, notes
from howsure.stats.scores import require_binary, sampling_df

__all__ = [
    "Attempts",
    "_VoteCounts",
    "estimate_majority",
    "estimate_pass_at_k",
    "majority_by_draws",
    "majority_exactly",
    "pass_all",
    "pass_any",
]


def pass_any(total: ArrayLike, n: ArrayLike, k: int) -> FloatArray:
    """pass@k of each question, unbiased (Chen et al. 2021); NaN where n < k. `total` right of `n`, any common shape.

    >>> pass_any([0, 1, 3], [5, 5, 2], 3).tolist()
    [0.0, 0.6, nan]
    """
    return 1 - pass_all(np.asarray(n) - np.asarray(total), n, k)


def pass_all(total: ArrayLike, n: ArrayLike, k: int) -> FloatArray:
    """pass^k of each question, unbiased (Yao et al. 2024); NaN where n < k. `total` right of `n`, any common shape.

    >>> pass_all([5, 4, 3], [5, 5, 2], 3).tolist()
    [1.0, 0.4, nan]
    """
    right, n = np.broadcast_arrays(np.asarray(total, float), np.asarray(n, float))
    out = np.where(n >= k, 1.0, np.nan)
    for i in range(k):
        # C(c, k)/C(n, k) = product of (c - i)/(n - i)
        out *= np.maximum(right - i, 0) / np.maximum(n - i, 1)
    return out


@dataclass(frozen=True, eq=False)
class Attempts(Result):
    """Success of k attempts. Arrays have one entry per row: a model, a measure and a k.

    Attributes
    ----------
    model
        Row of the model in `models`.
    measure
        pass@k, pass^k or majority@k.
    n_questions
        Questions with k generations or more, and `n_short` those with fewer but not none.
    score, variance
        Mean over those questions, and its squared standard error under `claim`; NaN where unknown.
    df
        Degrees of freedom of `variance`, where they are not n_questions - 1.
    """

    benchmark: str
    models: tuple[str, ...]
    model: IntArray
    measure: tuple[str, ...]
    k: IntArray
    n_questions: IntArray
    n_short: IntArray
    score: FloatArray
    variance: FloatArray
    df: FloatArray | None
    claim: str
    level: float

    def interval(self, level: float | None = None) -> Interval:
        """Interval for each score at a level in (0, 1)."""
        level = self.level if level is None else level
        return interval(
            self.score,
            np.sqrt(self.variance),
            self.n_questions,
            level=level,
            method="wilson-effective",
            df=self.df,
            bounds=(0.0, 1.0),
        )

    def columns(self) -> Columns:
        """One row per model, measure and k."""
        rows, between = len(self.k), self.interval()
        used, seen = self.n_questions > 0, self.n_questions + self.n_short > 0
        unknown = used & np.isnan(self.variance)
        return {
            "benchmark": np.full(rows, self.benchmark, dtype=object),
            "model": np.array(self.models, dtype=object)[self.model],
            "measure": np.array(self.measure, dtype=object),
            "k": self.k,
            "n_questions": self.n_questions,
            "score": self.score,
            "se": np.sqrt(self.variance),
            "low": between.low,
            "high": between.high,
            "level": np.full(rows, self.level),
            "claim": np.full(rows, self.claim, dtype=object),
            "n_short": self.n_short,
            "note": notes(
                {
                    "no scores": ~seen,
                    "no question has k generations": seen & ~used,
                    "on the questions with k generations": used & (self.n_short > 0),
                    "one question: the spread over questions is unknown": unknown
                    & (self.claim == "new-questions")
                    & (self.n_questions == 1),
                    "fewer than 2k generations of some question: the sampling error is unknown": unknown
                    & (self.claim == "these-questions"),
                    "no variation was seen: no interval": between.flat,
                }
            ),
        }


def estimate_pass_at_k(
    cells: Cells, k: Sequence[int] = (1, 5, 10), *, claim: str = "new-questions", level: float = 0.95
) -> Attempts:
    """pass@k and pass^k of each model, with the standard error of a claim.

    Parameters
    ----------
    cells
        Scores of 0 and 1; questions may differ in their number of generations, assuming that these do not depend on the
        answers.
    k
        Attempts.
    claim
        One of `components.CLAIMS`, said of the expected success of k attempts:
        new questions, var_q(U_q)/N with U_q the estimate of question q;
        these questions, mean(U_q^2 - theta_q^2)/N, where theta_q^2 is estimated from 2k of the generations, unbiased;
        a single run of k attempts at each of new questions, score (1 - score)/N.
    level
        Level of the printed interval.
    """
    require_binary(cells, "pass@k")
    _check(k, claim)

    def any_right(k: int) -> _Estimate:
        wrong = cells.n - cells.total
        none, none_twice = pass_all(wrong, cells.n, k), pass_all(wrong, cells.n, 2 * k)
        return _Estimate(1 - none, none**2 - none_twice)

    def all_right(k: int) -> _Estimate:
        every = pass_all(cells.total, cells.n, k)
        return _Estimate(every, every**2 - pass_all(cells.total, cells.n, 2 * k))

    return _summary(cells, {"pass@k": any_right, "pass^k": all_right}, k, claim, level)


def estimate_majority(
    cells: Cells,
    cell: ArrayLike,
    count: ArrayLike,
    correct: ArrayLike,
    k: Sequence[int] = (5, 10),
    *,
    claim: str = "new-questions",
    level: float = 0.95,
    trials: int = 1000,
    rng: np.random.Generator | int = 0,
) -> Attempts:
    """majority@k of each model: the most frequent answer among k generations is right, ties broken at random.

    Exact where that is cheap (few answers and k up to some twenty), else from `trials` seeded draws of k generations.

    Parameters
    ----------
    cells
        The models, questions and number of generations n; generations beyond the counted ones gave no answer and do not
        vote.
    cell
        Place of each answer, model * N + question, shape (A,).
    count, correct
        Generations that gave this answer, and whether it is right, shape (A,).
    claim
        As for `attempts`; "these-questions" takes draws of two disjoint subsets, so it needs 2k generations.
    """
    _check(k, claim)
    if trials < 1:
        raise InputError(f"trials is {trials!r}", where="majority", remedy="allowed: 1 or more, such as 1000")
    votes = _VoteCounts.of(cells, cell, count, correct)
    draw = np.random.default_rng(rng)

    def right(k: int) -> _Estimate:
        exact = majority_exactly(votes, k)
        if exact is not None and claim != "these-questions":
            return _Estimate(exact, np.full(exact.shape, np.nan))
        drawn, product = majority_by_draws(votes, k, trials, draw, twice=claim == "these-questions")
        estimate = drawn if exact is None else exact
        return _Estimate(estimate, estimate**2 - product)

    return _summary(cells, {"majority@k": right}, k, claim, level)


class _Estimate(NamedTuple):
    """Of each question, shape (M, N), NaN where unknown."""

    success: FloatArray  # U_q, unbiased
    variance: FloatArray  # of U_q over generations, unbiased


def _summary(
    cells: Cells, measures: dict[str, Callable[[int], _Estimate]], ks: Sequence[int], claim: str, level: float
) -> Attempts:
    M = len(cells.models)
    parts: list[list[FloatArray]] = []
    for estimate in measures.values():
        for k in ks:
            success, variance = estimate(int(k))
            used = cells.n >= k
            N = used.sum(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                score = np.sum(success, axis=1, where=used) / N
                if claim == "new-questions":
                    spread = np.sum((success - score[:, None]) ** 2, axis=1, where=used) / N
                    spread = np.where(N > 1, np.where(spread > (1e-14 * score) ** 2, spread, 0), np.nan)
                elif claim == "these-questions":
                    spread = np.maximum(np.sum(variance, axis=1, where=used) / N, 0)
                else:
                    spread = score * (1 - score)
                df = sampling_df(variance, np.where(used, cells.n - k + 1, 0))
                parts.append([N, np.sum(cells.answered & ~used, axis=1), score, spread / N, df])
    # By model, then measure, then k.
    N, short, score, variance, df = (np.stack(part, axis=1).ravel() for part in zip(*parts, strict=True))
    return Attempts(
        cells.benchmark,
        cells.models,
        np.repeat(np.arange(M), len(parts)),
        tuple(measure for measure in measures for _ in ks) * M,
        np.tile(np.asarray(ks), len(measures) * M),
        N,
        short,
        score,
        variance,
        df if claim == "these-questions" else None,
        claim,
        level,
    )


def _check(k: Sequence[int], claim: str) -> None:
    if not len(k) or any(int(each) != each or each < 1 for each in k):
        raise InputError(f"k is {list(k)}", remedy="allowed: whole numbers from 1")
    if claim not in CLAIMS:
        raise UnknownNameError("claim", claim, CLAIMS)


#: Elementary steps up to which the exact way is taken: about a second.
_EXACT_UP_TO = 2e8


@dataclass(frozen=True, eq=False)
class _VoteCounts:
    """Answers of each cell that has any, most frequent first, padded with count 0.

    Attributes
    ----------
    n
        Generations of all cells, shape (M, N); some may have given no answer.
    cell
        Place of each row in the raveled `n`, shape (C,).
    count, correct
        Shape (C, A).
    """

    n: IntArray
    cell: IntArray
    count: IntArray
    correct: NDArray[np.bool_]

    @classmethod
    def of(cls, cells: Cells, cell: ArrayLike, count: ArrayLike, correct: ArrayLike) -> _VoteCounts:
        """From one entry per cell and answer, in any order."""
        place, number, right = np.asarray(cell, np.int64), np.asarray(count, np.int64), np.asarray(correct, bool)
        if not place.shape == number.shape == right.shape or place.ndim != 1:
            shapes = f"{place.shape}, {number.shape} and {right.shape}"
            raise InputError(f"cell, count and correct have shapes {shapes}, not one and the same", where="majority")
        if len(place) and (place.min() < 0 or place.max() >= cells.n.size):
            raise InputError(f"cell goes from {place.min()} to {place.max()}", where="majority",
                             remedy=f"allowed: 0 to {cells.n.size - 1}, model * N + question")  # fmt: skip
        if np.any(number < 0):
            raise InputError(f"count is {number.min()}", where="majority", remedy="allowed: 0 or more")
        order = np.lexsort((-number, place))
        place, number, right = place[order], number[order], right[order]
        used, row = np.unique(place, return_inverse=True)
        slot = np.arange(len(place)) - np.searchsorted(place, place)
        shape = len(used), int(slot.max(initial=-1)) + 1
        counts, corrects = np.zeros(shape, np.int64), np.zeros(shape, bool)
        counts[row, slot], corrects[row, slot] = number, right
        more = counts.sum(axis=1) > cells.n.ravel()[used]
        if np.any(more):
            m, q = divmod(int(used[np.argmax(more)]), cells.n.shape[1])
            raise InputError(
                f"more answers than generations of {cells.questions[q]!r} by {cells.models[m]!r}", where=cells.benchmark
            )
        return cls(cells.n, used, counts, corrects)

    @property
    def silent(self) -> IntArray:
        """Generations without an answer, shape (C,)."""
        return np.asarray(self.n.ravel()[self.cell] - self.count.sum(axis=1))

    def spread(self, values: FloatArray, k: int) -> FloatArray:
        """Values (C,) at their cells, shape (M, N): 0 where nobody answered, NaN where there are fewer than k."""
        out = np.zeros(self.n.size)
        out[self.cell] = values
        return np.where(self.n >= k, out.reshape(self.n.shape), np.nan)


def majority_exactly(votes: _VoteCounts, k: int) -> FloatArray | None:
    """P(the most frequent answer in a random subset of k generations is right), (M, N); None where it costs too much.

    Of the subsets in which the right answer occurs j times and no other more often, those where t others tie count
    1/(1 + t) = integral of y^t over y in [0, 1]: each other answer is a polynomial in x with y at degree j.
    """
    enough = votes.n.ravel()[votes.cell] >= k
    row, slot = np.nonzero(votes.correct & (votes.count > 0) & enough[:, None])
    others = votes.count[row].astype(float)
    right = others[np.arange(len(row)), slot]
    others[np.arange(len(row)), slot] = 0
    others = others[:, : int(np.max(np.sum(votes.count > 0, axis=1), initial=0))]
    nodes = (k + 1) // 2
    if others.size * nodes * k**3 / 6 > _EXACT_UP_TO or k > 100:
        return None
    y, integral = np.polynomial.legendre.leggauss(nodes)  # exact up to degree 2 nodes - 1 >= k - 1
    y, integral = (y + 1) / 2, integral / 2
    silent = votes.silent[row].astype(float)
    won = np.zeros(len(row))
    for j in range(1, k + 1):
        left = np.arange(k - j + 1)
        # Ways to take the other k - j generations so that no answer has more than j
        ways = np.repeat(special.binom(silent[:, None], left)[:, :, None], nodes, axis=2)
        for a in range(others.shape[1]):
            taken = special.binom(others[:, a : a + 1], np.arange(j + 1))
            longer = ways.copy()  # none of this answer
            for i in range(1, min(j, k - j) + 1):
                longer[:, i:] += ways[:, : len(left) - i] * taken[:, i, None, None] * (y if i == j else 1)
            ways = longer
        won += special.binom(right, j) * (ways[:, -1] @ integral)
    won /= special.binom(votes.n.ravel()[votes.cell[row]], k)
    return votes.spread(np.bincount(row, won, minlength=len(votes.cell)).astype(float), k)


def majority_by_draws(
    votes: _VoteCounts, k: int, trials: int, draw: np.random.Generator, *, twice: bool = False
) -> tuple[FloatArray, FloatArray]:
    """The same from `trials` random subsets of each cell, and the mean product of two disjoint ones.

    Both (M, N). The product is an unbiased estimate of the squared probability; NaN unless `twice`, and where there
    are fewer than 2k generations.
    """
    n = votes.n.ravel()[votes.cell]
    rows = np.flatnonzero(n >= k)
    single, product = np.zeros(len(n)), np.zeros(len(n))
    pool = np.column_stack([votes.silent, votes.count])[rows]  # the first never wins
    correct = np.column_stack([np.zeros(len(n), bool), votes.correct])[rows]
    double = n[rows] >= 2 * k
    block = max(1, 4_000_000 // max(pool.size, 1))
    for start in range(0, trials, block):
        size = min(block, trials - start)
        available = np.broadcast_to(pool, (size, *pool.shape))
        first = _subset(available, k, draw)
        won = _winner_is_right(first, correct, draw)
        single[rows] += won.sum(axis=0)
        if twice:
            second = _subset((available - first)[:, double], k, draw)
            product[rows[double]] += (won[:, double] & _winner_is_right(second, correct[double], draw)).sum(axis=0)
    unknown = votes.n < 2 * k if twice else np.ones(votes.n.shape, bool)
    return votes.spread(single / trials, k), np.where(unknown, np.nan, votes.spread(product / trials, k))


def _subset(available: IntArray, k: int, draw: np.random.Generator) -> IntArray:
    """Take k of the available counts (T, C, A) without replacement, one answer after the other."""
    taken = np.zeros(available.shape, np.int64)
    rest, left = available.sum(axis=2), np.full(available.shape[:2], k)
    for a in range(available.shape[2]):
        rest = rest - available[:, :, a]
        taken[:, :, a] = draw.hypergeometric(available[:, :, a], rest, left)
        left = left - taken[:, :, a]
    return taken


def _winner_is_right(taken: IntArray, correct: NDArray[np.bool_], draw: np.random.Generator) -> NDArray[np.bool_]:
    """Whether the most frequent answer is right, shape (T, C); slot 0 has no vote, ties fall at random."""
    votes = taken + draw.random(taken.shape)
    votes[taken == 0] = -1
    votes[:, :, 0] = -1
    winner = np.argmax(votes, axis=2)
    return np.asarray(correct[np.arange(len(correct)), winner] & (np.max(votes, axis=2) > 0))
