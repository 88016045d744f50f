"""Prompt variants: how many are enough for a reliable evaluation (REL definition 1 and section 3).

A benchmark score x_s under each of N reference variants; a sample of n of them is reliable when a moment over it, mean
or variance, is within epsilon of the moment over the whole with probability 1 - delta. REL's n* is the smallest n for
which the (1 - delta/2) percentile of |moment of n - moment of N| is at most epsilon. It is biased low when it is not
far below N, since the deviation is 0 at n = N by construction; `n_star_space` is for variants from the space itself:

    mean      n = (z sd / epsilon)^2                          z the quantile of |Z| at 1 - delta/2
    variance  n = z^2 (m4 - sd^4) / epsilon^2                 m4 the fourth central moment
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from errorbar.errors import InputError
from errorbar.stats.cells import FloatArray, IntArray
from errorbar.stats.results import Columns, Result, notes

__all__ = ["MOMENTS", "Enough", "enough_variants"]

MOMENTS = ("mean", "variance")


@dataclass(frozen=True, eq=False)
class Enough(Result):
    """How many variants are enough; arrays have shape (M, 2), a column per moment of `MOMENTS`."""

    models: tuple[str, ...]
    n_variants: int
    moment: FloatArray
    n_star: IntArray
    n_star_space: FloatArray
    epsilon: float
    delta: float

    def columns(self) -> Columns:
        """One row per model and moment."""
        M = len(self.models)
        near = (self.n_star > self.n_variants / 4).ravel()
        return {
            "model": np.repeat(np.array(self.models, dtype=object), 2),
            "n_variants": np.full(2 * M, self.n_variants),
            "moment": np.tile(np.array(MOMENTS, dtype=object), M),
            "value": self.moment.ravel(),
            "n_star": self.n_star.ravel(),
            "n_star_space": self.n_star_space.ravel(),
            "epsilon": np.full(2 * M, self.epsilon),
            "delta": np.full(2 * M, self.delta),
            "note": notes({"n_star is biased low: it is not far below the reference variants": near}),
        }


def enough_variants(
    models: tuple[str, ...],
    scores: ArrayLike,
    *,
    epsilon: float = 0.01,
    delta: float = 0.1,
    draws: int = 2000,
    rng: np.random.Generator | int = 0,
) -> Enough:
    """Smallest numbers of variants for a reliable mean and variance of each model.

    Parameters
    ----------
    models, scores
        M names, and the benchmark score of each model under each of N >= 2 variants, shape (M, N).
    epsilon, delta
        Deviation that is acceptable, and the probability of a larger one.
    draws
        Seeded orders of the variants; the first n of an order are a uniform subset of size n, for every n at once.
    """
    x = np.atleast_2d(np.asarray(scores, float))
    if x.shape[0] != len(models) or x.shape[1] < 2 or not np.all(np.isfinite(x)):
        remedy = f"allowed: finite, (models, variants) = ({len(models)}, 2 or more)"
        raise InputError(f"scores have shape {x.shape}", where="enough_variants", remedy=remedy)
    if not (epsilon > 0 and 0 < delta < 1 and draws >= 1):
        what = f"epsilon {epsilon!r}, delta {delta!r}, draws {draws!r}"
        raise InputError(what, where="enough_variants", remedy="allowed: above 0, between 0 and 1, 1 or more")
    N = x.shape[1]
    orders = np.argsort(np.random.default_rng(rng).random((draws, N)), axis=1)
    size = np.arange(1, N + 1)
    off = x - x.mean(axis=1, keepdims=True)
    moment = np.column_stack([x.mean(axis=1), x.var(axis=1)])
    n_star = np.empty((len(models), 2), dtype=np.int64)
    for m in range(len(models)):
        drawn = off[m][orders]
        mean = np.cumsum(drawn, axis=1) / size
        variance = np.cumsum(drawn**2, axis=1) / size - mean**2
        for i, deviation in enumerate((np.abs(mean), np.abs(variance - moment[m, 1]))):
            far = np.quantile(deviation, 1 - delta / 2, axis=0)
            n_star[m, i] = size[far <= epsilon + 1e-12][0]  # the last is 0: all N variants
    z = special.ndtri(1 - delta / 4)
    fourth = np.mean(off**4, axis=1) - moment[:, 1] ** 2
    space = np.column_stack([moment[:, 1], fourth]) * (z / epsilon) ** 2
    return Enough(tuple(models), N, moment, n_star, np.maximum(np.ceil(space), 1), epsilon, delta)
