"""All pairs of models by the step-down max-T method of Romano and Wolf (2005), and the rank sets that follow.

`means` is a list of models, each a list of question means; every model answered every question. A draw multiplies the
deviations of each question (or of each cluster of questions together) by a number of mean 0 and variance 1, the same one
for all pairs. With signs for numbers and few clusters, all draws can be listed: the law is then that of a permutation.

Step down: c is the quantile of the largest |T*| over the pairs that are not rejected yet; every pair with |T| > c is
rejected; again with the pairs that are left, until no more are rejected.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations, product

Pair = tuple[int, int]


def sums_of_clusters(values: Sequence[float], clusters: Sequence[Hashable]) -> list[float]:
    """Sum of the deviations from the mean in each cluster, clusters in order of their first question."""
    mean = sum(values) / len(values)
    sums: dict[Hashable, float] = {}
    for value, name in zip(values, clusters, strict=True):
        sums[name] = sums.get(name, 0.0) + value - mean
    return list(sums.values())


def signs(count: int) -> Iterable[tuple[int, ...]]:
    """Every choice of signs."""
    return product((-1, 1), repeat=count)


def statistics_of_pairs(
    means: Sequence[Sequence[float]], clusters: Sequence[Hashable], draws: Iterable[Sequence[float]]
) -> tuple[dict[Pair, float], list[dict[Pair, float]]]:
    """T = (mean difference)/SE of each pair i < j, and T* of each draw; pairs without variation are left out."""
    observed: dict[Pair, float] = {}
    sums: dict[Pair, list[float]] = {}
    for i, j in combinations(range(len(means)), 2):
        d = [a - b for a, b in zip(means[i], means[j], strict=True)]
        by_cluster = sums_of_clusters(d, clusters)
        se = math.sqrt(sum(one**2 for one in by_cluster))
        if se > 1e-12:
            observed[i, j] = sum(d) / se
            sums[i, j] = [one / se for one in by_cluster]
    drawn = [
        {pair: sum(g * one for g, one in zip(multipliers, parts, strict=True)) for pair, parts in sums.items()}
        for multipliers in draws
    ]
    return observed, drawn


def quantile_of_largest(drawn: Sequence[dict[Pair, float]], pairs: Iterable[Pair], level: float) -> float:
    """The smallest value that at least a share `level` of the draws do not exceed with their largest |T*|."""
    active = list(pairs)
    largest = sorted(max(abs(draw[pair]) for pair in active) for draw in drawn)
    return largest[math.ceil(level * len(largest)) - 1]


def rejected_pairs(observed: dict[Pair, float], drawn: Sequence[dict[Pair, float]], level: float) -> set[Pair]:
    """The pairs whose order is claimed, all claims right together with chance `level`."""
    rejected: set[Pair] = set()
    while len(rejected) < len(observed):
        left = [pair for pair in observed if pair not in rejected]
        c = quantile_of_largest(drawn, left, level)
        more = {pair for pair in left if abs(observed[pair]) > c}
        if not more:
            break
        rejected |= more
    return rejected


def rank_sets(observed: dict[Pair, float], rejected: set[Pair], M: int) -> list[tuple[int, int]]:
    """(lowest, highest) rank of each model: as many above it as are claimed better, and below as are claimed worse."""
    better, worse = [0] * M, [0] * M
    for i, j in rejected:
        winner, loser = (i, j) if observed[i, j] > 0 else (j, i)
        better[loser] += 1
        worse[winner] += 1
    return [(1 + better[m], M - worse[m]) for m in range(M)]
