"""How often each test rejects when there is nothing to find, and how often rank sets hold every rank, at 5 %."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howsure.stats.comparisons import pairs, providers, rank
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import ProviderMethod
from howsure.stats.repeats import repeats
from published_forms import Array, cells_of

ALPHA = 0.05
Flags = NDArray[np.bool_]


def sizes(trials: int) -> str:
    """Share of evaluations with a false rejection; the models of one batch are independent evaluations."""
    rows = []
    for N in (20, 100, 500, 5000):
        some = trials if N <= 500 else trials // 8
        rows += [(f"drift of {n} runs", N, _drift(n, N, some)) for n in (2, 5, 10)]
        methods: tuple[ProviderMethod, ...] = ("stratified", "run-means")
        for method in methods:
            rows += [(f"two providers, {method}, {n} runs each", N, _providers(n, N, method, some)) for n in (2, 5)]
        rows += [(name, N, rate) for name, rate in _families(N, some // 4)]
    lines = ["| test | N | rejected | ± |", "|---|---:|---:|---:|"]
    for name, N, rejected in rows:
        error = np.sqrt(ALPHA * (1 - ALPHA) / len(rejected))
        lines.append(f"| {name} | {N} | {np.mean(rejected):.3f} | {error:.3f} |")
    return "\n".join(lines)


def _runs(p: Array, n: int, rng: np.random.Generator) -> list[Cells]:
    return [cells_of(p, 1, rng) for _ in range(n)]


def _drift(n: int, N: int, trials: int) -> Flags:
    rng = np.random.default_rng([n, N])
    return np.asarray(repeats(_runs(rng.beta(0.6, 0.4, (trials, N)), n, rng)).drift_p < ALPHA)


def _providers(n: int, N: int, method: ProviderMethod, trials: int) -> Flags:
    rng = np.random.default_rng([n, N])
    p = rng.beta(0.6, 0.4, (trials, N))
    rate = providers(_runs(p, n, rng), _runs(p, n, rng), method=method, alpha=0)
    return np.asarray(rate.interval().p_value < ALPHA)


def _families(N: int, trials: int) -> list[tuple[str, Flags]]:
    """Six models in three tied twos: a false claim within a two, and a rank set without the true ranks."""
    rng = np.random.default_rng([6, N])
    levels = np.repeat([-0.5, 0.0, 0.5], 2)
    first = np.array([1, 1, 3, 3, 5, 5])  # the lowest level makes questions easiest
    last = first + 1
    false_holm, false_any, false_sign, outside = (np.zeros(trials, dtype=bool) for _ in range(4))
    for trial in range(trials):
        difficulty = rng.normal(0, 1.5, N)
        own = rng.normal(0, 0.7, (6, N))
        p = 1 / (1 + np.exp(difficulty + levels[:, None] + own))
        cells, single = cells_of(p, 3, rng), cells_of(p, 1, rng)
        compared = pairs(cells)
        tied = levels[compared.a] == levels[compared.b]
        false_holm[trial] = np.any(compared.p_holm[tied] < ALPHA)
        false_any[trial] = compared.interval().p_value[0] < ALPHA
        false_sign[trial] = pairs(single).p_sign[0] < ALPHA
        columns = rank(cells).columns()
        place = [columns["model"].tolist().index(str(m)) for m in range(6)]
        low, high = columns["rank_low_all"][place], columns["rank_high_all"][place]
        # A tied two may stand in either order: a set misses when it has neither of their ranks.
        outside[trial] = np.any((low > last) | (high < first))
    return [
        ("paired t of two equal models", false_any),
        ("exact sign test of two equal models", false_sign),
        ("any false claim among all pairs, Holm", false_holm),
        ("any rank set without a true rank", outside),
    ]
