"""Prompt variants: components of a crossed and of a nested layout, moments, n*, swaps, effects of values.

Scores are nested lists, `y[q][s]` the generations of a cell, maybe none. Formulas of docs/methods/prompt_variants.md and of any
textbook of analysis of variance (Searle, Casella and McCulloch 1992, chapters 4 and 5).

Readings taken where section 6 leaves a choice:
- components are unbiased (mean squares, divided by degrees of freedom) and not cut at 0;
- missing cells: Henderson's method III on the cell means. Its three quadratic forms y'Ay are made from projections on
  dummy matrices, and their expectations tr(AV) solved as linear equations; each cell has noise s2/k of its own;
- a cell of one generation has the mean s2 of the others; where no cell has two, interaction and generation are one;
- n* is the smallest n with P(|deviation| > epsilon) <= delta/2 over all subsets of n;
- a swap is a variant whose difference has the opposite sign of the mean difference; a tie is half of one.
"""

from __future__ import annotations

import math
from itertools import combinations
from statistics import NormalDist, mean, median, stdev, variance

import numpy as np
from scipy.stats import t, trim_mean


def balanced_crossed(y) -> dict[str, float]:
    """Mean squares by their definitions; every cell has the same K >= 2 generations."""
    N, S, K = len(y), len(y[0]), len(y[0][0])
    cell = [[mean(y[q][s]) for s in range(S)] for q in range(N)]
    row = [mean(cell[q]) for q in range(N)]
    column = [mean(cell[q][s] for q in range(N)) for s in range(S)]
    grand = mean(row)
    ms_q = K * S * sum((r - grand) ** 2 for r in row) / (N - 1)
    ms_s = K * N * sum((c - grand) ** 2 for c in column) / (S - 1)
    rest = sum((cell[q][s] - row[q] - column[s] + grand) ** 2 for q in range(N) for s in range(S))
    ms_qs = K * rest / ((N - 1) * (S - 1))
    ms_e = mean(variance(y[q][s]) for q in range(N) for s in range(S))
    return {
        "question": (ms_q - ms_qs) / (K * S),
        "variant": (ms_s - ms_qs) / (K * N),
        "interaction": (ms_qs - ms_e) / K,
        "generation": ms_e,
        "mean": grand,
        "se_both": math.sqrt((ms_q + ms_s - ms_qs) / (N * S * K)),
        "se_new_questions": math.sqrt(ms_q / (N * S * K)),
        "se_new_variants": math.sqrt(ms_s / (N * S * K)),
        "se_these": math.sqrt(ms_e / (N * S * K)),
    }


def _cells(y):
    """Question, variant, mean and noise variance of each cell that is there, and the generation variance."""
    found = [(q, s, y[q][s]) for q in range(len(y)) for s in range(len(y[q])) if len(y[q][s])]
    spreads = [variance(g) for _, _, g in found if len(g) > 1]
    ve = mean(spreads) if spreads else math.nan
    noise = [(variance(g) if len(g) > 1 else ve) / len(g) for _, _, g in found]
    return [q for q, _, _ in found], [s for _, s, _ in found], [mean(g) for _, _, g in found], noise, ve


def _dummies(labels):
    names = sorted(set(labels))
    return np.array([[float(label == name) for name in names] for label in labels])


def _projection(*blocks):
    X = np.hstack(blocks)
    return X @ np.linalg.pinv(X)


def crossed(y) -> dict[str, float]:
    """Henderson III with projections written out; `residual` is vQS + ve."""
    rows, columns, cell_mean, noise, ve = _cells(y)
    Zq, Zs, v = _dummies(rows), _dummies(columns), np.array(cell_mean)
    eye = np.eye(len(v))
    both, only_q, only_s = _projection(Zq, Zs), _projection(Zq), _projection(Zs)
    forms = [both - only_s, both - only_q, eye - both]
    split = not math.isnan(ve)
    error = np.diag(noise) if split else np.zeros_like(eye)
    left = [[np.trace(A @ Zq @ Zq.T), np.trace(A @ Zs @ Zs.T), np.trace(A)] for A in forms]
    right = [v @ A @ v - np.trace(A @ error) for A in forms]
    vQ, vS, rest = np.linalg.solve(left, right)
    return {
        "question": vQ,
        "variant": vS,
        "interaction": rest if split else math.nan,
        "generation": ve,
        "residual": rest + ve if split else rest,
    }


def fitted_scores(y) -> list[float]:
    """Score of each variant with the questions it lacks filled from the additive least-squares fit."""
    rows, columns, cell_mean, _, _ = _cells(y)
    questions, variants = sorted(set(rows)), sorted(set(columns))
    X = np.hstack([_dummies(rows), _dummies(columns)])
    effect = np.linalg.pinv(X) @ np.array(cell_mean)
    q_part = effect[: len(questions)]
    return [mean(q_part) + effect[len(questions) + i] for i in range(len(variants))]


def nested(y) -> dict[str, float]:
    """One-way layout of cell means, unequal numbers of variants: expectations solved as above."""
    rows, _, cell_mean, noise, ve = _cells(y)
    Zq, v = _dummies(rows), np.array(cell_mean)
    eye, one = np.eye(len(v)), np.full((len(v), len(v)), 1 / len(v))
    only_q = _projection(Zq)
    forms = [only_q - one, eye - only_q]
    split = not math.isnan(ve)
    error = np.diag(noise) if split else np.zeros_like(eye)
    left = [[np.trace(A @ Zq @ Zq.T), np.trace(A)] for A in forms]
    right = [v @ A @ v - np.trace(A @ error) for A in forms]
    vQ, within = np.linalg.solve(left, right)
    return {"question": vQ, "variant": within if split else math.nan, "generation": ve}


def differences(ya, yb):
    """Cell means of the difference, where both are, and their noise: (q, s, difference, s2a/ka + s2b/kb)."""
    found = []
    for q in range(len(ya)):
        for s in range(len(ya[q])):
            a, b = ya[q][s], yb[q][s]
            if len(a) and len(b):
                found.append((q, s, mean(a) - mean(b), variance(a) / len(a) + variance(b) / len(b)))
    return found


def crossed_difference(ya, yb) -> dict[str, float]:
    """Crossed components of the difference, two or more generations everywhere; complete cells."""
    found = differences(ya, yb)
    N, S = len(ya), len(ya[0])
    d = {(q, s): value for q, s, value, _ in found}
    row = [mean(d[q, s] for s in range(S)) for q in range(N)]
    column = [mean(d[q, s] for q in range(N)) for s in range(S)]
    grand = mean(row)
    rest = sum((d[q, s] - row[q] - column[s] + grand) ** 2 for q in range(N) for s in range(S)) / ((N - 1) * (S - 1))
    return {
        "question": variance(row) - rest / S,
        "variant": variance(column) - rest / N,
        "interaction": rest - mean(e for *_, e in found),
        "generation": mean(variance(ya[q][s]) + variance(yb[q][s]) for q in range(N) for s in range(S)),
    }


def variance_limits(x, level: float) -> tuple[float, float]:
    """Bonett (2006), with c = 1 + z/n for his n/(n - z); four values or more."""
    n, z = len(x), NormalDist().inv_cdf((1 + level) / 2)
    trimmed = trim_mean(x, 1 / (2 * math.sqrt(n - 4))) if n > 5 else median(x)
    square = sum((a - mean(x)) ** 2 for a in x)
    kurtosis = n * sum((a - trimmed) ** 4 for a in x) / square**2
    c = 1 + z / n
    se = c * math.sqrt((kurtosis - (n - 3) / n) / (n - 1))
    center = math.log(c * variance(x))
    return math.exp(center - z * se), math.exp(center + z * se)


def spread_limits(x, level: float) -> tuple[float, float]:
    """Of m4 - sd^4, N^2/((N - 1)(N - 2)) times its plug-in: the jackknife of its logarithm, one value left out a time."""

    def log_spread(v):
        m, n = mean(v), len(v)
        m2, m4 = (sum((a - m) ** power for a in v) / n for power in (2, 4))
        return math.log((m4 - m2**2) * n**2 / ((n - 1) * (n - 2)))

    n = len(x)
    pseudo = [n * log_spread(x) - (n - 1) * log_spread(x[:i] + x[i + 1 :]) for i in range(n)]
    half = float(t.ppf((1 + level) / 2, n - 1)) * stdev(pseudo) / math.sqrt(n)
    return math.exp(mean(pseudo) - half), math.exp(mean(pseudo) + half)


def n_star(x, epsilon: float, delta: float) -> list[int]:
    """For the mean and the variance: all subsets of all sizes, from which on none is too far; two for a variance."""
    found = []
    for least, moment in ((1, mean), (2, lambda v: sum((a - mean(v)) ** 2 for a in v) / len(v))):
        whole, enough = moment(x), []
        for n in range(1, len(x) + 1):
            far = [abs(moment(subset) - whole) > epsilon + 1e-12 for subset in combinations(x, n)]
            enough.append(sum(far) <= delta / 2 * len(far))
        found.append(next(n for n in range(least, len(x) + 1) if all(enough[n - 1 :])))
    return found


def n_star_of_counts(counts, step: int, delta: float) -> int:
    """Of the mean, from which on it stays: subsets of n with each sum are counted; `step` is epsilon in counts."""
    N, T = len(counts), sum(counts)
    half = N // 2
    ways = np.zeros((half + 1, T + 1))  # ways[k, s] subsets of k with sum s
    ways[0, 0] = 1
    for c in counts:
        for k in range(half, 0, -1):
            ways[k, c:] += ways[k - 1, : T + 1 - c]
    for n in range(N - 1, 0, -1):
        k = min(n, N - n)  # what is left out is as far off in sum
        far = np.abs(N * np.arange(T + 1) - k * T) > step * n * N
        if ways[k, far].sum() > delta / 2 * ways[k].sum():
            return n + 1
    return 1


def swapped(a, b) -> float:
    """Share of variants that order two models otherwise than their mean over variants does."""
    d = [x - y for x, y in zip(a, b, strict=True)]
    sign = 1 if mean(d) > 0 else -1
    return mean(1.0 if x * sign < 0 else 0.5 if x == 0 else 0.0 for x in d)


def gail_simon(d, noise) -> float:
    """Qualitative interaction: p = sum_h Binomial(h; S-1, 1/2) P(chi2_h > min(Q+, Q-)) (Gail and Simon 1985)."""
    plus = sum(x * x / v for x, v in zip(d, noise, strict=True) if x > 0)
    minus = sum(x * x / v for x, v in zip(d, noise, strict=True) if x < 0)
    least, S = min(plus, minus), len(d)
    if least == 0:
        return 1.0
    draws = np.random.default_rng(0).chisquare(1, (200_000, S - 1))
    tails = [float(np.mean(draws[:, :h].sum(axis=1) > least)) for h in range(1, S)]
    return sum(math.comb(S - 1, h) / 2 ** (S - 1) * tail for h, tail in enumerate(tails, start=1))


def effects(x, values) -> dict[tuple[str, str], float]:
    """Least squares of variant scores on dummies; each effect as distance from the mean over the dimension's values."""
    columns, names = [np.ones(len(x))], []
    for dimension, drawn in values.items():
        for name in sorted(set(drawn)):
            columns.append(np.array([float(v == name) for v in drawn]))
            names.append((dimension, name))
    found = np.linalg.pinv(np.column_stack(columns)) @ np.array(x)
    raw = dict(zip(names, found[1:], strict=True))
    return {
        (dimension, name): value - mean(v for (d, _), v in raw.items() if d == dimension)
        for (dimension, name), value in raw.items()
    }


def effects_alone(x, drawn) -> dict[str, tuple[float, float, int]]:
    """One-way analysis of variance: effect of each value of a dimension, its squared error, degrees of freedom."""
    groups = {name: [score for score, v in zip(x, drawn, strict=True) if v == name] for name in sorted(set(drawn))}
    means = {name: mean(each) for name, each in groups.items()}
    freedom, k = len(x) - len(groups), len(groups)
    within = sum((score - means[name]) ** 2 for name, each in groups.items() for score in each) / freedom
    return {
        name: (
            means[name] - mean(means.values()),
            within * sum((float(other == name) - 1 / k) ** 2 / len(each) for other, each in groups.items()),
            freedom,
        )
        for name in groups
    }


def prompteval(seen, penalty: float) -> list[float]:
    """Scores of prompts: penalised Bernoulli likelihood maximised by gradient descent, unseen cells filled by the fit.

    `seen[s][q]` is 0, 1 or None.
    """
    S, N = len(seen), len(seen[0])
    center, theta, beta = 0.0, [0.0] * S, [0.0] * N

    def chance(i, j):
        return 1 / (1 + math.exp(-(center + theta[i] - beta[j])))

    for _ in range(4000):
        g_center, g_theta, g_beta = 0.0, [-penalty * t for t in theta], [-penalty * b for b in beta]
        for i in range(S):
            for j in range(N):
                if seen[i][j] is not None:
                    off = seen[i][j] - chance(i, j)
                    g_center, g_theta[i], g_beta[j] = g_center + off, g_theta[i] + off, g_beta[j] - off
        step = 2.0 / max(S, N)
        center += step * g_center / 2
        theta = [t + step * g for t, g in zip(theta, g_theta, strict=True)]
        beta = [b + step * g for b, g in zip(beta, g_beta, strict=True)]
    return [mean(chance(i, j) if seen[i][j] is None else seen[i][j] for j in range(N)) for i in range(S)]


def dimension_test(x, values, tested: str, *, alone: bool) -> dict[str, float]:
    """F test of a dimension by comparing two fits, each a least-squares fit of its own; `alone`: no other dimension."""
    y, mean_column = np.array(x), np.ones((len(x), 1))
    others = [] if alone else [_dummies(each) for name, each in values.items() if name != tested]
    own = _dummies(values[tested])

    def residual(*blocks):
        X = np.hstack([mean_column, *blocks])
        return float(np.sum((y - X @ np.linalg.lstsq(X, y, rcond=None)[0]) ** 2)), int(np.linalg.matrix_rank(X))

    (rss_without, rank_without), (rss_with, rank_with) = residual(*others), residual(*others, own)
    df, df_residual = rank_with - rank_without, len(y) - rank_with
    mean_square = rss_with / df_residual
    statistic = (rss_without - rss_with) / df / mean_square
    # the change of the sum of squares per unit of variance of the effects: the mean over all effects of variance 1
    L, projection = own.shape[1], np.eye(len(y)) - _projection(mean_column, *others)
    weight = np.trace((np.eye(L) - 1 / L) @ own.T @ projection @ own) * L / (L - 1)
    variance = (rss_without - rss_with - df * mean_square) / weight
    return {"statistic": statistic, "df": df, "df_residual": df_residual, "weight": weight, "variance": variance}


def question_variance(residuals, values) -> float:
    """Variance over questions of the effects on single questions, from all pairs of variants; None where missing."""
    same, other = [], []
    for row in residuals:
        for i, j in combinations(range(len(row)), 2):
            if row[i] is not None and row[j] is not None:
                (same if values[i] == values[j] else other).append(row[i] * row[j])
    # the same for effects of variance 1 that are independent, from their covariance without the mean over variants
    L, Z, eye = len(set(values)), _dummies(values), np.eye(len(values))
    expected = (eye - 1 / len(values)) @ Z @ Z.T @ (eye - 1 / len(values)) * (1 - 1 / len(residuals))
    pairs = list(combinations(range(len(values)), 2))
    unit = mean(expected[i, j] for i, j in pairs if values[i] == values[j])
    unit -= mean(expected[i, j] for i, j in pairs if values[i] != values[j])
    return (mean(same) - mean(other)) / unit * (L - 1) / L
