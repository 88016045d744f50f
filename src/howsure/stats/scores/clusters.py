"""Standard errors of means over questions that come in clusters: a passage, a repository, a template.

With N questions, n_c of them in cluster c, and r_c the sum over cluster c of the deviations of the question means from
their mean, the variance of the mean is that of Bell and McCaffrey (2002), called CR2:

    SE^2 = (1/N^2) sum_c r_c^2 / (1 - n_c/N)

The divisor makes up for the part of a cluster's residuals that the mean takes up, so that SE^2 is unbiased where the
questions are in truth independent. Of G clusters of equal size it is G/(G - 1) times the variance of Miller (2024). Its
degrees of freedom are those of Satterthwaite (Pustejovsky and Tipton 2018), for independent questions as well: with
K = Cov(r_c / sqrt(1 - n_c/N)),

    df = tr(K)^2 / tr(K^2) = N^2 / (sum_c n_c^2 + ((sum_c w_c)^2 - sum_c w_c^2) / N^2),  w_c = n_c^2 / (1 - n_c/N)

which is G - 1 for equal sizes, 1 for two clusters whatever their sizes, and 3.5 for the 12 repositories of SWE-bench
Lite, of which one holds 38 % of the questions. The claim is about new questions in new clusters; with one question in
each cluster it is the usual variance, divided by N - 1.

Measured at a nominal 95 %: repositories sized like those of SWE-bench Lite, fixed, with simulated answers .93 to .95 of
the scores and .95 of the differences (Miller's variance with t on G - 1: .82 to .85 and .86 to .87). Where the 12
repositories are themselves drawn anew from the real ones, so that N and the sizes vary as well, .88 to .89 of the
scores (.81) and .95 of the differences (.92): few clusters of which one holds a third of the questions say too little
of a score.

References
----------
Bell and McCaffrey (2002), Bias reduction in standard errors for linear regression with multi-stage samples.
Pustejovsky and Tipton (2018), Small-sample methods for cluster-robust variance estimation, eq. 11.
Miller (2024), Adding error bars to evals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.pair_sums import answer_patterns

__all__ = [
    "IN_CLUSTERS",
    "NEW_CLUSTERS",
    "ONE_CLUSTER",
    "WITHOUT_CLUSTERS",
    "ClusteredVariance",
    "add_cluster_variance",
    "cluster_excess",
    "cluster_means",
    "cluster_residuals",
    "clustered_pairs",
    "df_of_skewed",
]

#: Notes on a mean over clustered questions: what its error is, why it has none, and where clusters do not matter.
IN_CLUSTERS = "questions in clusters: the error is for new clusters, the components are those of single questions"
ONE_CLUSTER = "all questions in one cluster: the spread over clusters is unknown"
NEW_CLUSTERS = (
    "questions in clusters: planned for new clusters of the same sizes, with the power of a test on many of them"
)
WITHOUT_CLUSTERS = "clusters do not enter the error on these questions"


class ClusteredVariance(NamedTuple):
    """Variance of each of R means over clustered questions; arrays of shape (R,), NaN for fewer than two clusters.

    Examples
    --------
    >>> three = cluster_means([[1.0, 1.0, 0.0, 0.0]], ["x", "x", "y", "z"])
    >>> three.n_clusters.tolist(), three.variance.round(4).tolist()
    ([3], [0.6667])
    """

    variance: FloatArray
    """N times the squared standard error: what var(p_q) is without clusters."""
    df: FloatArray
    """Satterthwaite degrees of freedom."""
    n_clusters: IntArray
    """Clusters with at least one question."""


def cluster_means(values: ArrayLike, clusters: Sequence[str] | None) -> ClusteredVariance:
    """Compute the CR2 variance of the mean of each row.

    Parameters
    ----------
    values
        Question means, or differences of them, shape (R, N); NaN where a question is missing.
    clusters
        Cluster of each question, length N.

    Returns
    -------
    ClusteredVariance
        Variance, degrees of freedom and number of clusters of each row.

    Raises
    ------
    InputError
        When `clusters` is None.

    References
    ----------
    Bell and McCaffrey (2002), Survey Methodology 28. Pustejovsky and Tipton (2018), Journal of Business and Economic
    Statistics 36, eq. 11.

    Examples
    --------
    >>> three = cluster_means([[1.0, 1.0, 0.0, 0.0]], ["x", "x", "y", "z"])
    >>> three.variance.round(4).tolist(), three.df.round(4).tolist(), three.n_clusters.tolist()
    ([0.6667], [1.8], [3])
    """
    y = np.asarray(values, float)
    residuals, sizes = cluster_residuals(y, clusters)
    n_clusters = np.sum(sizes > 0, axis=1)
    n = sizes.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = np.sum(residuals**2, axis=1) / n
    # What rounding leaves of equal values is no spread.
    largest = np.max(np.abs(np.nan_to_num(y)), axis=1, initial=0)
    variance = np.where(variance > y.shape[1] * (1e-13 * largest) ** 2, variance, 0)
    weights = _weights(sizes, n[:, None])
    df = _df(n, np.sum(sizes**2, axis=1), weights.sum(axis=1), np.sum(weights**2, axis=1))
    several = n_clusters > 1
    return ClusteredVariance(np.where(several, variance, np.nan), np.where(several, df, np.nan), n_clusters)


def cluster_residuals(values: FloatArray, clusters: Sequence[str] | None) -> tuple[FloatArray, FloatArray]:
    """Return residual sums r_c / sqrt(1 - n_c/N) and sizes n_c of each row's clusters, shape (R, C) each.

    The outer product of the adjusted sums, over the numbers of questions, is the covariance of the means of two rows.
    `values` and `clusters` are those of `cluster_means`; a row whose questions are all in one cluster has sums of 0.
    """
    if clusters is None:
        raise InputError("the questions have no clusters", remedy="read them with a cluster")
    there = ~np.isnan(values)
    n = np.maximum(there.sum(axis=1, keepdims=True), 1)
    with_zeros = np.where(there, values, 0)
    off = np.where(there, with_zeros - with_zeros.sum(axis=1, keepdims=True) / n, 0)
    _, cluster = np.unique(np.array(clusters), return_inverse=True)
    order = np.argsort(cluster, kind="stable")
    starts = np.flatnonzero(np.diff(cluster[order], prepend=-1))
    sums, sizes = (np.add.reduceat(each[:, order], starts, axis=1) for each in (off, there.astype(float)))
    left = 1 - sizes / n
    return np.divide(sums, np.sqrt(left), out=np.zeros(sums.shape), where=left > 0), sizes


def df_of_skewed(values: ArrayLike, clusters: Sequence[str] | None) -> FloatArray:
    """Return the df that the kurtosis of the clusters' residuals leaves a clustered variance, shape (R,).

    With z_c = r_c / sqrt(n_c), the variance of sum_c z_c^2 is as that of a chi-squared variable with
    2 G / (G sum z_c^4 / (sum z_c^2)^2 - 1) degrees of freedom, more than 2: a variance of few clusters is hardly known.
    Satterthwaite's degrees of freedom suppose normal residuals; of 20 clusters of 5 questions, a score of .9 is covered
    .92 by them alone and .94 by the smaller of the two. NaN where there is no spread. Arguments as of `cluster_means`.
    """
    residuals, sizes = cluster_residuals(np.asarray(values, float), clusters)
    square = np.where(sizes > 0, residuals**2 / np.maximum(sizes, 1), 0)
    G = np.sum(sizes > 0, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        kurtosis = G * np.sum(square**2, axis=1) / np.sum(square, axis=1) ** 2
        df: FloatArray = 2 * G / np.maximum(kurtosis - 1, 0)
    return df


def clustered_pairs(cells: Cells, a: IntArray, b: IntArray) -> ClusteredVariance:
    """Compute the CR2 variance of each difference a - b on the questions that both answered.

    The same as `cluster_means` of the differences, for many pairs at once: the sums over a cluster's common questions
    are matrix products with the distinct patterns of answered questions, and no array is larger than the pairs are.

    Parameters
    ----------
    cells
        M models on N questions with clusters.
    a, b
        Rows of the models of each pair, length P.
    """
    if cells.clusters is None:
        raise InputError("the questions have no clusters", where=cells.benchmark, remedy="read them with a cluster")
    patterns, pattern_of = answer_patterns(cells.answered)
    p = np.where(cells.answered, cells.mean, 0)
    center = p.sum(axis=1) / np.maximum(cells.answered.sum(axis=1), 1)
    x = np.where(cells.answered, p - center[:, None], 0)
    of_a, of_b = pattern_of[a], pattern_of[b]

    def sums(questions: slice | IntArray) -> tuple[FloatArray, FloatArray]:
        """Number of common questions, and sum of the differences of the centred means over them; shape (P,)."""
        patterns_here = patterns[:, questions]
        by_pattern = x[:, questions] @ patterns_here.T
        return (patterns_here @ patterns_here.T)[of_a, of_b], by_pattern[a, of_b] - by_pattern[b, of_a]

    n, total = sums(slice(None))
    _, cluster = np.unique(np.array(cells.clusters), return_inverse=True)
    variance, squares, weight, weight_sq = np.zeros((4, len(a)))
    n_clusters = np.zeros(len(a), dtype=np.int64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / n
        for questions in np.split(np.argsort(cluster, kind="stable"), np.cumsum(np.bincount(cluster))[:-1]):
            size, off = sums(questions)
            each = _weights(size, n)
            variance += (off - size * mean) ** 2 / np.where(size < n, 1 - size / n, np.nan)
            squares += size**2
            weight += each
            weight_sq += each**2
            n_clusters += size > 0
        variance /= n
    # What rounding leaves of equal values is no spread.
    largest = np.max(np.abs(p), axis=1, initial=0)
    variance = np.where(variance > p.shape[1] * (1e-13 * np.maximum(largest[a], largest[b])) ** 2, variance, 0)
    several = n_clusters > 1
    df = _df(n, squares, weight, weight_sq)
    return ClusteredVariance(np.where(several, variance, np.nan), np.where(several, df, np.nan), n_clusters)


def cluster_excess(values: ArrayLike, clusters: Sequence[str] | None) -> FloatArray:
    """Return the variance that clusters add to the data variance.

    Parameters
    ----------
    values, clusters
        As in `cluster_means`.

    Returns
    -------
    N times the squared standard error with clusters, less that without, shape (R,): 0 with one question per cluster,
    possibly negative, NaN for fewer than two clusters. Added to an estimate of the data variance D (divided by N - 1),
    it gives the D of a plan for new clusters of the same sizes.

    Examples
    --------
    >>> cluster_excess([[1.0, 1.0, 0.0, 0.0]], ["x", "x", "y", "z"]).round(4).tolist()
    [0.3333]
    """
    y = np.asarray(values, float)
    clustered = cluster_means(y, clusters)
    alone = cluster_means(y, [str(j) for j in range(y.shape[1])])
    return clustered.variance - alone.variance


def add_cluster_variance(
    cells: Cells, models: Sequence[str], data: float, total: float, *, paired: bool
) -> tuple[float, float, float, str]:
    """Return the variances of a pilot with the variance that clusters add, and the note of a plan.

    Parameters
    ----------
    cells
        The pilot, with clusters.
    models
        One model, or two whose difference is planned.
    data, total
        The variances without clusters.
    paired
        Whether two models will answer the same questions. If not, what clusters add to each of them adds up.

    Returns
    -------
    Data variance, total variance, the standard error of both, and a note; NaN for fewer than two clusters, with the
    reason. The standard error is that of N times the clustered squared error, V, in the form that `VarianceComponents`
    has for skewed limits: V log(df/q)/.84, with q the 20 % quantile of chi-squared. V exp(.84 error/V) is then V df/q,
    the upper 80 % limit of V.
    """
    means = cells.mean[[cells.index(model) for model in models]]
    rows = means[:1] - means[1:] if paired and len(models) > 1 else means
    added = float(np.sum(cluster_excess(rows, cells.clusters)))
    clustered = cluster_means(rows, cells.clusters)
    with np.errstate(invalid="ignore"):
        factor = clustered.df / special.chdtri(clustered.df, 0.8)  # chdtri takes the upper tail
        error = float(np.sqrt(np.sum((clustered.variance * np.log(factor) / special.ndtri(0.8)) ** 2)))
    return data + added, total + added, error, ONE_CLUSTER if math.isnan(added) else NEW_CLUSTERS


def _weights(sizes: FloatArray, n: FloatArray) -> FloatArray:
    """Return w_c of the module's formula; 0 if a cluster is empty or holds all questions."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((sizes > 0) & (sizes < n), sizes**2 / (1 - sizes / n), 0)


def _df(n: FloatArray, squares: FloatArray, weight: FloatArray, weight_sq: FloatArray) -> FloatArray:
    """Return the degrees of freedom from the sums over clusters of n_c^2, w_c and w_c^2."""
    with np.errstate(invalid="ignore", divide="ignore"):
        df: FloatArray = n**2 / (squares + (weight**2 - weight_sq) / n**2)
    return df
