"""An interval for one score, other than CLT and t (those are in `components`).

`questions` is a list of lists of scores, empty where missed; `correct` of `n` are counts of single 0/1 generations.

Readings taken where section 3 leaves a choice:
- Wilson and Clopper-Pearson invert their tests by bisection; Wilson without continuity correction;
- the hierarchical posterior has the prior mu ~ uniform(0, 1), log(a + b) ~ uniform on [log 0.1, log 100];
- quantiles of a bootstrap distribution interpolate linearly between order statistics (type 7);
- BCa counts half of the resamples that tie with the estimate in z0; acceleration by the jackknife over questions
  (compare on scores that are exact in binary: whether means of 0.1 and 0.9 tie is a matter of rounding);
- clustered SEs are those of section 2, without a factor C/(C-1); CR2 is worked out with whole hat matrices, as the R
  package clubSandwich does for any regression, of which a mean is the one on a column of ones.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from statistics import NormalDist, mean

import numpy as np
from oracles.components import Number, Questions, answered, clipped, n_questions, question_means, root
from oracles.difficulty import bisect, log_beta_binomial
from oracles.pairs import common, differences

Interval = tuple[float, float]
NORMAL = NormalDist()


def default_method(questions: Questions) -> str:
    """CLT from 300 questions on; below, the Beta-binomial posterior for scores 0/1 and t for others."""
    rows = answered(questions)
    if len(rows) >= 300:
        return "clt"
    return "beta-binomial" if all(score in {0, 1} for row in rows for score in row) else "t"


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


# ---- any number of generations, 0/1


def beta_binomial_interval(questions: Questions, level: float, n_mu: int = 400, n_s: int = 200) -> Interval:
    """Equal-tailed posterior interval of mu, on n_mu x n_s cells' midpoints; linear inside a cell of mu.

    Good to about 1e-4 at the default grid.
    """
    weights = mu_posterior(questions, n_mu, n_s)
    return grid_quantile(weights, (1 - level) / 2), grid_quantile(weights, (1 + level) / 2)


def mu_posterior(questions: Questions, n_mu: int = 400, n_s: int = 200) -> list[float]:
    """Posterior probability of each of n_mu equal cells of mu; counts ~ Beta-binomial(mu s, (1 - mu) s)."""
    kinds = Counter((int(sum(row)), len(row)) for row in answered(questions))
    log_low, log_high = math.log(0.1), math.log(100.0)
    log_posterior = {}
    for i, j in product(range(n_mu), range(n_s)):
        mu = (i + 0.5) / n_mu
        s = math.exp(log_low + (log_high - log_low) * (j + 0.5) / n_s)
        terms = [times * log_beta_binomial(c, k, mu * s, (1 - mu) * s) for (c, k), times in kinds.items()]
        log_posterior[i, j] = math.fsum(terms)
    top = max(log_posterior.values())
    weights = [math.fsum(math.exp(log_posterior[i, j] - top) for j in range(n_s)) for i in range(n_mu)]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def grid_quantile(weights: Sequence[float], probability: float) -> float:
    below = 0.0
    for i, weight in enumerate(weights):
        if below + weight >= probability:
            return (i + (probability - below) / weight) / len(weights)
        below += weight
    return 1.0


# ---- bootstrap over questions


def bootstrap_means(questions: Questions, resamples: Sequence[Sequence[int]]) -> list[Fraction]:
    """Mean of question means in each resample, a list of indices into the answered questions."""
    p = question_means(questions)
    return [mean([p[q] for q in picks]) for picks in resamples]


def percentile_interval(questions: Questions, resamples: Sequence[Sequence[int]], level: float) -> Interval:
    values = bootstrap_means(questions, resamples)
    return quantile(values, (1 - level) / 2), quantile(values, (1 + level) / 2)


def bca_interval(questions: Questions, resamples: Sequence[Sequence[int]], level: float) -> Interval:
    """Efron's BCa; NaN where all resamples lie on one side of the estimate."""
    p, values = question_means(questions), bootstrap_means(questions, resamples)
    estimate = mean(p)
    below = sum(value < estimate for value in values) + Fraction(sum(value == estimate for value in values), 2)
    if below in {0, len(values)}:
        return math.nan, math.nan
    z0, a = NORMAL.inv_cdf(below / len(values)), acceleration(p)

    def end(probability: float) -> float:
        z = z0 + NORMAL.inv_cdf(probability)
        return quantile(values, NORMAL.cdf(z0 + z / (1 - a * z)))

    return end((1 - level) / 2), end((1 + level) / 2)


def acceleration(p: Sequence[Fraction]) -> float:
    """sum (mean - theta_i)^3 / (6 (sum (mean - theta_i)^2)^1.5), theta_i the estimate without question i; 0 of 0."""
    if len(p) < 2:
        return 0.0
    left_out = [mean([*p[:i], *p[i + 1 :]]) for i in range(len(p))]
    center = mean(left_out)
    squares = sum((center - theta) ** 2 for theta in left_out)
    cubes = sum((center - theta) ** 3 for theta in left_out)
    return float(cubes) / (6 * float(squares) ** 1.5) if squares > 0 else 0.0


def quantile(values: Sequence[Number], probability: float) -> float:
    """Type 7: the order statistic at 1 + (n - 1) probability, linear between two."""
    ordered = sorted(values)
    position = (len(ordered) - 1) * probability
    below = min(int(position), len(ordered) - 1)
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below]) + (position - below) * float(ordered[above] - ordered[below])


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
