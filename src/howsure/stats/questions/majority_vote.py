"""The chance that the most frequent of k answers is right, for each question: exactly, and by draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import Cells, FloatArray, IntArray

__all__ = ["Votes", "majority_by_draws", "majority_exactly"]

#: Elementary steps up to which the exact way is taken: about a second.
_EXACT_UP_TO = 2e8


@dataclass(frozen=True, eq=False)
class Votes:
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
    def of(cls, cells: Cells, cell: ArrayLike, count: ArrayLike, correct: ArrayLike) -> Votes:
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


def majority_exactly(votes: Votes, k: int) -> FloatArray | None:
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
    votes: Votes, k: int, trials: int, draw: np.random.Generator, *, twice: bool = False
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
