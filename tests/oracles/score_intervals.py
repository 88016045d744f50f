"""An interval for one score, other than CLT and t (those are in `components`).

`questions` is a list of lists of scores, empty where missed; `correct` of `n` are counts of single 0/1 generations.

Readings taken where section 3 leaves a choice:
- Wilson and Clopper-Pearson invert their tests by bisection; Wilson without continuity correction;
- clustered SEs are those of section 2, without a factor C/(C-1); CR2 is worked out with whole hat matrices, as the R
  package clubSandwich does for any regression, of which a mean is the one on a column of ones.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from statistics import NormalDist, mean

import numpy as np
from oracles.components import Number, Questions, clipped, n_questions, question_means, root
from oracles.difficulty import bisect
from oracles.pairs import common, differences
from scipy import integrate

Interval = tuple[float, float]
NORMAL = NormalDist()


# ---- one generation per question, 0/1


def wilson(correct: int, n: int, level: float) -> Interval:
    """All p that the score test does not reject: |correct/n - p| <= z sqrt(p(1-p)/n)."""
    seen, z = correct / n, NORMAL.inv_cdf(0.5 + level / 2)

    def rejects(p: float) -> bool:
        return abs(seen - p) > z * math.sqrt(p * (1 - p) / n)

    low = bisect(rejects, 0.0, seen) if correct > 0 else 0.0
    high = bisect(lambda p: not rejects(p), seen, 1.0) if correct < n else 1.0
    return low, high


def clopper_pearson(correct: int, n: int, level: float) -> Interval:
    """All p under which neither tail that holds what was seen is below (1 - level)/2."""
    alpha = (1 - level) / 2
    low = bisect(lambda p: binomial_tail(correct, n, n, p) < alpha) if correct > 0 else 0.0
    high = bisect(lambda p: binomial_tail(0, correct, n, p) > alpha) if correct < n else 1.0
    return low, high


def binomial_tail(first: int, last: int, n: int, p: float) -> float:
    """P(first <= Binomial(n, p) <= last), for 0 < p < 1."""
    log_p, log_q = math.log(p), math.log1p(-p)
    return math.fsum(math.exp(log_comb(n, i) + i * log_p + (n - i) * log_q) for i in range(first, last + 1))


@cache
def log_comb(n: int, i: int) -> float:
    return math.log(math.comb(n, i))


# ---- scores in [0, 1], new questions


def chance_above(x: float, values: Sequence[float], shapes: Sequence[float]) -> float:
    """P(sum W_i v_i > x) for W ~ Dirichlet(shapes): that of a sum of gamma variables, by Imhof's (1961) integral.

    P(sum G_i (v_i - x) > 0) = 1/2 + 1/pi int_0^inf sin(theta(u)) / (u rho(u)) du with theta = sum a_i arctan(u (v_i - x))
    and rho = prod (1 + u^2 (v_i - x)^2)^(a_i/2); here u = exp(t).
    """
    distance, a = np.asarray(values, float) - x, np.asarray(shapes, float)

    def integrand(t: float) -> float:
        angles = distance * math.exp(t)
        return math.sin(float(a @ np.arctan(angles))) * math.exp(-0.5 * float(a @ np.log1p(angles**2)))

    edges = np.linspace(-30, 30, 61)
    return 0.5 + math.fsum(integrate.quad(integrand, *ends, epsabs=1e-12)[0] for ends in pairwise(edges)) / math.pi


# ---- clusters


def clustered_se(questions: Questions, clusters: Sequence[Hashable]) -> float:
    """SE^2 = (1/N^2) sum_c (sum_{q in c} (p_q - mean))^2; clusters[q] is the cluster of question q."""
    names = [name for name, row in zip(clusters, questions, strict=True) if len(row) > 0]
    return clustered_root(question_means(questions), names)


def clustered_paired_se(a: Questions, b: Questions, clusters: Sequence[Hashable]) -> float:
    """The same of the differences on the questions that both answered."""
    names = [name for name, one, other in zip(clusters, a, b, strict=True) if len(one) > 0 and len(other) > 0]
    return clustered_root(differences(*common(a, b)), names)


def clustered_root(values: Sequence[Number], names: Sequence[Hashable]) -> float:
    center = mean(values)
    sums = [sum(v - center for v, name in zip(values, names, strict=True) if name == each) for each in set(names)]
    return root(sum(total**2 for total in sums) / Fraction(len(values) ** 2))


def clustered_interval(questions: Questions, clusters: Sequence[Hashable], level: float) -> Interval:
    """Mean +- z SE, cut to [0, 1] where scores cannot leave it."""
    assert n_questions(questions) > 0
    return clipped(questions, NORMAL.inv_cdf(0.5 + level / 2) * clustered_se(questions, clusters))


def cr2(values: Sequence[Number], names: Sequence[Hashable]) -> tuple[float, float]:
    """Variance of a mean and its Satterthwaite df: Bell and McCaffrey 2002, Pustejovsky and Tipton 2018, eq. 4 to 11.

    Of the regression on X = 1 with residuals e: V = M (sum_c X_c' A_c e_c e_c' A_c X_c) M with M = (X'X)^-1 and
    A_c = ((I - H)_cc)^(-1/2), a generalised inverse; df = (sum_c p_c'p_c)^2 / sum_cd (p_c'p_d)^2 with
    p_c = (I - H)_c' A_c X_c M.
    """
    y = np.array([float(v) for v in values])
    X = np.ones((len(y), 1))
    M = np.linalg.inv(X.T @ X)
    left = np.eye(len(y)) - X @ M @ X.T
    meat, vectors = np.zeros((1, 1)), []
    for name in dict.fromkeys(names):
        of = [i for i, each in enumerate(names) if each == name]
        eigenvalues, axes = np.linalg.eigh(left[np.ix_(of, of)])
        roots = [1 / math.sqrt(value) if value > 1e-9 else 0.0 for value in eigenvalues]
        A = axes @ np.diag(roots) @ axes.T
        score = X[of].T @ A @ (left @ y)[of]
        meat += np.outer(score, score)
        vectors.append((left[of].T @ A @ X[of] @ M).ravel())
    products = np.array(vectors) @ np.array(vectors).T
    return float((M @ meat @ M)[0, 0]), float(np.trace(products) ** 2 / np.sum(products**2))
