"""Scores of many prompts from few cells (PromptEval): a penalised logistic regression fills the cells not asked.

    P(Y_sq = 1) = sigma(mu + theta_s - beta_q)        S_s = (1/N) (sum of seen Y_sq + sum of unseen fitted chances)

fitted by Newton steps on all models at once, theta and beta with a ridge penalty. The model has no interaction of
prompt and question on the logit scale, which is what the components measure: where they find one, the result says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import special

from errorbar.errors import InputError
from errorbar.stats.cells import FloatArray
from errorbar.stats.crossed import crossed
from errorbar.stats.cube import Cube
from errorbar.stats.results import Columns, Result, notes

__all__ = ["PromptEval", "balanced_cells", "prompteval"]

_STEPS = 50


@dataclass(frozen=True, eq=False)
class PromptEval(Result):
    """Estimated score of each prompt, shape (M, S), and quantiles over prompts, shape (M, len(quantiles))."""

    benchmark: str
    models: tuple[str, ...]
    scores: FloatArray = field(repr=False)
    quantiles: tuple[float, ...]
    values: FloatArray
    seen: FloatArray
    interaction: NDArray[np.bool_]
    unchecked: NDArray[np.bool_]

    def columns(self) -> Columns:
        """One row per model and quantile."""
        M, n = self.values.shape
        told = notes(
            {
                "prompts and questions interact more than prompts differ: the fit has no place for that, and quantiles "
                "are too narrow": self.interaction,
                "whether prompts and questions interact is unknown with one generation per cell": self.unchecked,
            }
        )
        return {
            "benchmark": np.full(M * n, self.benchmark, dtype=object),
            "model": np.repeat(np.array(self.models, dtype=object), n),
            "quantile": np.tile(self.quantiles, M),
            "score": self.values.ravel(),
            "seen": np.repeat(self.seen, n),
            "note": np.repeat(told, n),
        }


def prompteval(
    cube: Cube, *, quantiles: tuple[float, ...] = (0.05, 0.25, 0.5, 0.75, 0.95), penalty: float = 1.0
) -> PromptEval:
    """Quantiles over prompts of the score, from a sample of cells of scores in [0, 1].

    Parameters
    ----------
    cube
        Cells that were asked, of which those of `cube.drawn` count; `balanced_cells` says which to ask.
    penalty
        Ridge penalty of theta and beta: half of it times their sum of squares is taken off the log-likelihood.
    """
    if not cube.unit or cube.nested:
        raise InputError(
            "PromptEval needs scores in [0, 1] and the same variants for all questions",
            where=cube.benchmark,
            remedy="use the components instead",
        )
    if not (penalty > 0 and all(0 <= q <= 1 for q in quantiles)):
        what = f"penalty {penalty!r}, quantiles {quantiles!r}"
        raise InputError(what, where="prompteval", remedy="allowed: above 0, from 0 to 1")
    cube = cube.drawn
    n, y = cube.n.astype(float), cube.total
    chance = _fit(n, y, penalty)
    filled = np.where(n > 0, np.nan_to_num(cube.mean), chance)
    scores = filled.mean(axis=1)
    found = crossed(cube)
    return PromptEval(
        cube.benchmark,
        cube.models,
        scores,
        quantiles,
        np.quantile(scores, quantiles, axis=1).T,
        np.mean(n > 0, axis=(1, 2)),
        np.nan_to_num(found.interaction) > np.maximum(found.variant, 0),
        ~cube.layout.split,
    )


def _fit(n: FloatArray, y: FloatArray, penalty: float) -> FloatArray:
    """Fitted chances, shape (M, N, S): Newton steps with the questions eliminated from each."""
    M, N, S = n.shape
    mu, theta, beta = np.zeros(M), np.zeros((M, S)), np.zeros((M, N))
    eye = np.eye(S + 1)
    ridge = np.append(np.full(S, penalty), 0.0)
    for _ in range(_STEPS):
        p = special.expit(mu[:, None, None] + theta[:, None, :] + beta[:, :, None])
        off, w = y - n * p, n * p * (1 - p)
        of_q = off.sum(axis=2) - penalty * beta
        of_s = np.concatenate([off.sum(axis=1) - penalty * theta, off.sum(axis=(1, 2))[:, None]], axis=1)
        # rows: questions; columns: variants, and the centre, which is all of them
        cross = np.concatenate([w, w.sum(axis=2)[:, :, None]], axis=2)
        diagonal = w.sum(axis=2) + penalty
        column = cross.sum(axis=1)
        block = column[:, :, None] * eye + ridge * eye
        block[:, -1, :-1] = block[:, :-1, -1] = column[:, :-1]
        schur = block - np.swapaxes(cross, 1, 2) @ (cross / diagonal[:, :, None])
        right = of_s - np.einsum("mqs,mq->ms", cross, of_q / diagonal)
        step = np.linalg.solve(schur + 1e-12 * eye, right[:, :, None])[:, :, 0]
        step_q = (of_q - np.einsum("mqs,ms->mq", cross, step)) / diagonal
        # a Newton step from far away may overshoot
        scale = 1 / np.maximum(1, np.maximum(np.abs(step).max(axis=1), np.abs(step_q).max(axis=1)) / 4)
        theta += step[:, :-1] * scale[:, None]
        mu += step[:, -1] * scale
        beta += step_q * scale[:, None]
        if max(np.abs(step).max(initial=0), np.abs(step_q).max(initial=0)) < 1e-9:
            break
    chance: FloatArray = special.expit(mu[:, None, None] + theta[:, None, :] + beta[:, :, None])
    return chance


def balanced_cells(
    n_questions: int, n_variants: int, budget: int, *, rng: np.random.Generator | int = 0
) -> NDArray[np.bool_]:
    """Which cells to ask, shape (N, S): `budget` of them, spread evenly over questions and over variants.

    Counts of two questions, and of two variants, differ by at most one.

    >>> cells = balanced_cells(6, 4, 12)
    >>> cells.sum(axis=0).tolist(), cells.sum(axis=1).tolist()
    ([3, 3, 3, 3], [2, 2, 2, 2, 2, 2])
    """
    if not 0 <= budget <= n_questions * n_variants:
        remedy = f"allowed: from 0 to {n_questions * n_variants}"
        raise InputError(f"budget is {budget!r}", where="balanced_cells", remedy=remedy)
    generator = np.random.default_rng(rng)
    i = np.arange(budget)
    # along diagonals of the table: after lcm(N, S) steps the next diagonal begins
    period = int(np.lcm(n_questions, n_variants))
    cells = np.zeros((n_questions, n_variants), dtype=bool)
    cells[i % n_questions, (i + i // period) % n_variants] = True
    return cells[generator.permutation(n_questions)][:, generator.permutation(n_variants)]
