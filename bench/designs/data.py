"""Data that several designs draw from, and results by model or by pair."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from howsure.stats.core.cells import Cells
from howsure.stats.core.cube import Cube
from howsure.stats.core.results import Result

__all__ = ["Array", "Ints", "ask", "by_model", "by_pair", "covers", "make_cells", "make_cube", "names"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def names(size: int) -> tuple[str, ...]:
    """Return the numbers from 0 on as names."""
    return tuple(map(str, range(size)))


def make_cells(n: int | Ints, total: Array, square: Array | None = None, **more: Any) -> Cells:
    """Return M models on N questions from sums of n scores: of 0 and 1, unless sums of squares are given."""
    counts = np.broadcast_to(n, total.shape)
    models, questions = map(names, total.shape)
    return Cells("simulated", models, questions, counts, total, total if square is None else square, **more)


def ask(p: Array, n: int | Ints, rng: np.random.Generator, **more: Any) -> Cells:
    """Return n right or wrong answers of each model and question, with P(correct) p of shape (M, N)."""
    return make_cells(n, rng.binomial(n, p).astype(float), **more)


def make_cube(n: int | Ints, total: Array, square: Array | None = None, **more: Any) -> Cube:
    """Return M models on N questions under S prompts from (M, N, S) sums of scores."""
    counts = np.broadcast_to(n, total.shape)
    models, questions, variants = map(names, total.shape)
    return Cube("simulated", models, questions, variants, counts, total, total if square is None else square, **more)


def covers(low: ArrayLike, high: ArrayLike, truth: ArrayLike) -> Array:
    """Return 1 where an interval holds the truth, 0 where it does not or is not there."""
    low, high, truth = (np.asarray(values, float) for values in (low, high, truth))
    return ((low - 1e-12 <= truth) & (truth <= high + 1e-12)).astype(float)


def by_model(result: Result, *columns: str) -> list[Array]:
    """Return columns of a result in the order of the models of the cells."""
    rows = result.columns()
    order = np.argsort(np.asarray(rows["model"]).astype(np.int64))
    return [np.asarray(rows[name], dtype=float)[order] for name in columns]


def by_pair(result: Result, *columns: str) -> list[Array]:
    """Return low, high and other columns of all pairs of models i < j, in the order of `np.triu_indices`."""
    rows = result.columns()
    first, second = (np.asarray(rows[name]).astype(np.int64) for name in ("model_a", "model_b"))
    order, flipped = np.lexsort((np.maximum(first, second), np.minimum(first, second))), first > second
    low, high, *others = (np.asarray(rows[name], float) for name in ("low", "high", *columns))
    return [values[order] for values in (np.where(flipped, -high, low), np.where(flipped, -low, high), *others)]
