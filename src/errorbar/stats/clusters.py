"""Questions that come in clusters (a passage, a repository, a template) and are not independent of each other.

    SE^2 = (1/N^2) sum_c (sum_{q in c} (p_q - mean))^2        (Miller 2024), the same on paired differences

The claim is then about new questions in new clusters; with one question in each it is the usual error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from errorbar.errors import InputError
from errorbar.stats.cells import Cells, FloatArray, IntArray

__all__ = ["Clustered", "clustered_pairs", "clustered_scores"]


class Clustered(NamedTuple):
    """Per model or pair."""

    spread: FloatArray
    """N times the clustered squared standard error: what var(p_q) is without clusters."""
    n_clusters: IntArray


def clustered_scores(cells: Cells) -> Clustered:
    """Of each model's score, arrays of shape (M,); NaN for fewer than two clusters."""
    answered = cells.answered
    N = np.sum(answered, axis=1)
    p = np.where(answered, cells.mean, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.where(answered, p - (p.sum(axis=1) / N)[:, None], 0)
        spread = np.sum(_by_cluster(off, cells) ** 2, axis=1) / N
    n_clusters = np.sum(_by_cluster(answered.astype(float), cells) > 0, axis=1)
    return Clustered(_known(spread, n_clusters, p), n_clusters)


def clustered_pairs(cells: Cells, a: IntArray, b: IntArray) -> Clustered:
    """Of each difference a - b on the questions that both answered, arrays of shape (P,)."""
    spread, n_clusters = np.full(len(a), np.nan), np.zeros(len(a), dtype=np.int64)
    p = np.where(cells.answered, cells.mean, 0)
    # One model against all its partners at a time: (partners, N) arrays.
    for model in np.unique(a):
        rows = np.flatnonzero(a == model)
        common = cells.answered[model] & cells.answered[b[rows]]
        N = np.sum(common, axis=1)
        d = np.where(common, p[model] - p[b[rows]], 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            off = np.where(common, d - (d.sum(axis=1) / N)[:, None], 0)
            n_clusters[rows] = np.sum(_by_cluster(common.astype(float), cells) > 0, axis=1)
            spread[rows] = _known(np.sum(_by_cluster(off, cells) ** 2, axis=1) / N, n_clusters[rows], d)
    return Clustered(spread, n_clusters)


def _known(spread: FloatArray, n_clusters: IntArray, values: FloatArray) -> FloatArray:
    # What rounding leaves of equal values is no spread; one cluster has none to see.
    size = np.max(np.abs(values), axis=1, initial=0)
    spread = np.where(spread > values.shape[1] * (1e-13 * size) ** 2, spread, 0)
    return np.where(n_clusters > 1, spread, np.nan)


def _by_cluster(values: FloatArray, cells: Cells) -> FloatArray:
    """Sums over the questions of each cluster, (rows, N) to (rows, C)."""
    if cells.clusters is None:
        raise InputError("the questions have no clusters", where=cells.benchmark, remedy="read them with a cluster")
    _, cluster = np.unique(np.array(cells.clusters), return_inverse=True)
    order = np.argsort(cluster, kind="stable")
    starts = np.flatnonzero(np.diff(cluster[order], prepend=-1))
    sums: FloatArray = np.add.reduceat(values[:, order], starts, axis=1)
    return sums
