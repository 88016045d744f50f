"""Intervals for a score that need more than its standard error: each a function of cells and level to low and high."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from howsure.stats.core.cells import Cells, FloatArray
from howsure.stats.core.claims import PosteriorMethod
from howsure.stats.scores import bootstrap, proportions
from howsure.stats.scores.beta_mean import posterior_of_mean

__all__ = ["SCORE_INTERVALS"]


def _posterior(method: PosteriorMethod) -> Callable[[Cells, float], tuple[FloatArray, FloatArray]]:
    def of(cells: Cells, level: float) -> tuple[FloatArray, FloatArray]:
        if not cells.binary:
            nothing = np.full(len(cells.models), np.nan)
            return nothing, nothing
        return posterior_of_mean(cells.total, cells.n, level, method=method)

    return of


def _proportion(
    limits: Callable[[FloatArray, FloatArray, float], tuple[FloatArray, FloatArray]],
) -> Callable[[Cells, float], tuple[FloatArray, FloatArray]]:
    def of(cells: Cells, level: float) -> tuple[FloatArray, FloatArray]:
        n = np.sum(cells.n, axis=1).astype(float)
        fits = np.all(cells.n <= 1, axis=1) & (n > 0) & cells.binary
        n = np.where(fits, n, np.nan)
        return limits(np.sum(cells.total, axis=1), n, level)

    return of


#: Method to interval, for the claim about new questions. NaN for a model that the method is not for: wilson and exact
#: want one generation per question scored 0 or 1, posterior and beta-binomial any number of them.
SCORE_INTERVALS: dict[str, Callable[[Cells, float], tuple[FloatArray, FloatArray]]] = {
    "wilson": _proportion(proportions.wilson),
    "exact": _proportion(proportions.clopper_pearson),
    "posterior": _posterior("variance"),
    "beta-binomial": _posterior("beta-binomial"),
    "bootstrap": bootstrap.percentile,
    "bca": bootstrap.bca,
}
