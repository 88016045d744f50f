"""The mean of values in clusters: CR2 variance and Satterthwaite degrees of freedom, by explicit matrices.

Bell and McCaffrey (2002) for the variance, Pustejovsky and Tipton (2018) for the degrees of freedom, both with the
identity as the working model. The regression is y = 1 b, its design matrix X one column of ones:

    H = X (X'X)^-1 X',   M = I - H
    A_g = the symmetric inverse square root of M_gg, the block of cluster g (generalised where an eigenvalue is 0)
    V = (X'X)^-1 [ sum_g X_g' A_g e_g e_g' A_g X_g ] (X'X)^-1
    p_g = M_g' A_g X_g (X'X)^-1, a vector of length N for each cluster; P_gh = p_g' p_h
    df = (sum_g P_gg)^2 / sum_gh P_gh^2
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from scipy import stats

Interval = tuple[float, float]


def inverse_square_root(block: np.ndarray) -> np.ndarray:
    """The symmetric generalised inverse square root of a symmetric matrix."""
    values, vectors = np.linalg.eigh(block)
    return sum(
        (
            np.outer(vector, vector) / math.sqrt(value)
            for value, vector in zip(values, vectors.T, strict=True)
            if value > 1e-9
        ),
        start=np.zeros_like(block),
    )


def cr2(values: Sequence[float], clusters: Sequence[Hashable]) -> tuple[float, float]:
    """V of the mean and its df; NaN where one cluster holds everything."""
    y, N = np.array([float(value) for value in values]), len(values)
    names = sorted(set(clusters), key=str)
    if len(names) < 2:
        return math.nan, math.nan
    X = np.ones((N, 1))
    bread = np.linalg.inv(X.T @ X)
    M = np.eye(N) - X @ bread @ X.T
    e = M @ y
    meat, p = 0.0, []
    for name in names:
        rows = [i for i in range(N) if clusters[i] == name]
        A = inverse_square_root(M[np.ix_(rows, rows)])
        meat += (X[rows].T @ A @ e[rows]).item() ** 2
        p.append((M[rows].T @ A @ X[rows] @ bread)[:, 0])
    variance = bread.item() * meat * bread.item()
    P = [[float(one @ other) for other in p] for one in p]
    trace = sum(P[g][g] for g in range(len(p)))
    return variance, trace**2 / sum(entry**2 for row in P for entry in row)


def cr2_interval(values: Sequence[float], clusters: Sequence[Hashable], level: float) -> Interval:
    """mean -+ t sqrt(V) with the quantile of t for the degrees of freedom; not cut at any end."""
    variance, df = cr2(values, clusters)
    mean = sum(values) / len(values)
    half = stats.t.ppf(0.5 + level / 2, df) * math.sqrt(variance)
    return mean - half, mean + half


def cr2_covariance(rows: Sequence[Sequence[float]], clusters: Sequence[Hashable]) -> list[list[float]]:
    """Covariance of the means of several rows, by polarisation: cov(x, y) = (V(x + y) - V(x - y))/4."""
    return [
        [
            (
                cr2([a + b for a, b in zip(one, other, strict=True)], clusters)[0]
                - cr2([a - b for a, b in zip(one, other, strict=True)], clusters)[0]
            )
            / 4
            for other in rows
        ]
        for one in rows
    ]
