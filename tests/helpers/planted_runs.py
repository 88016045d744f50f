"""Simulated runs of the same questions: one generation each, with drift, copies and greedy runs planted."""

import numpy as np

from howsure.stats.core.cells import Cells


def runs_of(scores, models=None, benchmark="b"):
    """One Cells per generation of scores (M, N, K), NaN where there is none."""
    M, N, K = scores.shape
    models = tuple(models or (f"m{i}" for i in range(M)))
    questions = tuple(f"q{i}" for i in range(N))
    out = []
    for g in range(K):
        there = ~np.isnan(scores[:, :, g])
        total = np.where(there, scores[:, :, g], 0)
        out.append(Cells(benchmark, models, questions, there.astype(int), total, total**2))
    return out


def drawn(p, K, seed=1):
    """Scores (M, N, K) of 0 and 1 with the chances p (M, N)."""
    return (np.random.default_rng(seed).random((*p.shape, K)) < p[..., None]).astype(float)


def pooled(runs):
    """All runs together."""
    whole = runs[0]
    for run in runs[1:]:
        whole = whole + run
    return whole
