"""Ranks: the chance of a wrong order, sets of ranks that hold together, and the law of the ranks. Rank 1 is the best.

Readings taken where section 9 leaves a choice:
- all SEs are for new questions, SE^2(k) = (D + E/k)/N with the unbiased D (its variance over questions divides by
  N - 1), cut at 0; k = None keeps the generations that were made, and divides by N as the printed errors do;
- unpaired means every model on all questions that *it* answered, SE^2 = SE_A^2 + SE_B^2; paired, the common ones;
- a chance is NaN where SE is 0 or unknown: no noise was seen to go by;
- Holm runs over the M(M-1)/2 unordered pairs, two-sided; a pair without a p-value separates nobody;
- equal scores share the ranks they take up, each order with the same chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise, permutations, product
from statistics import NormalDist, pvariance

from oracles import components, pairs
from oracles.components import Number, Questions
from oracles.repeats import simpson

PHI = NormalDist().cdf


def difference_and_se(a: Questions, b: Questions, *, paired: bool, k: int | None = None) -> tuple[float, float]:
    """mean A - mean B and its SE if every question had k generations of each model."""
    if paired:
        a, b = pairs.common(a, b)
        N = len(a)
        seen = pvariance(pairs.differences(a, b))
        D = pairs.data(a, b) + unbiasing(seen, N)
        square = seen / N if k is None else with_k(D, pairs.prediction(a, b), k) / N
    else:
        square = 0
        for one in (a, b):
            N, seen = components.n_questions(one), components.variance_of_means(one)
            D, E = components.data_variance(one), components.prediction_variance(one)
            square += seen / N if k is None else with_k(D + unbiasing(seen, N), E, k) / N
    return float(components.mean_score(a) - components.mean_score(b)), components.root(square)


def unbiasing(seen: Number, N: int) -> Number:
    """From a variance over questions that divides by N to the one that divides by N - 1."""
    return seen / (N - 1) if N > 1 else math.nan


def with_k(D: Number, E: Number, k: int) -> Number:
    """max(D, 0) + E/k; NaN where they are not known."""
    return math.nan if math.isnan(E) else max(D, 0) + E / k


def chance_above(a: Questions, b: Questions, *, paired: bool, k: int | None = None) -> float:
    """P(A ranks above B) = Phi((mean A - mean B)/SE)."""
    difference, se = difference_and_se(a, b, paired=paired, k=k)
    return PHI(difference / se) if se > 0 else math.nan


def chance_wrong_order(a: Questions, b: Questions, *, paired: bool, k: int | None = None) -> float:
    """Chance that the model with the lower mean comes out above the other."""
    above = chance_above(a, b, paired=paired, k=k)
    return min(above, 1 - above) if not math.isnan(above) else math.nan


def rank_sets(
    differences: Mapping[tuple[int, int], float], p_values: Mapping[tuple[int, int], float], M: int, alpha: float
) -> list[tuple[int, int]]:
    """(lowest, highest) rank of each model, all of them right together with chance 1 - alpha.

    Keys are pairs i < j and differences are mean i - mean j. A model has at least as many above it as are
    significantly better, and at least as many below it as are significantly worse.
    """
    keys = list(combinations(range(M), 2))
    adjusted = dict(zip(keys, pairs.holm([p_values[key] for key in keys]), strict=True))
    better, worse = [0] * M, [0] * M
    for i, j in keys:
        if not math.isnan(adjusted[i, j]) and adjusted[i, j] <= alpha and differences[i, j] != 0:
            winner, loser = (i, j) if differences[i, j] > 0 else (j, i)
            better[loser] += 1
            worse[winner] += 1
    return [(1 + better[m], M - worse[m]) for m in range(M)]


def rank_sets_of(models: Sequence[Questions], level: float) -> list[tuple[int, int]]:
    """The same from scores: paired tests for new questions."""
    rows = {key: pairs.summary(models[key[0]], models[key[1]]) for key in combinations(range(len(models)), 2)}
    return rank_sets(
        {key: row["difference"] for key, row in rows.items()},
        {key: row["p_value"] for key, row in rows.items()},
        len(models),
        1 - level,
    )


def orders(scores: Sequence[float]) -> list[tuple[int, ...]]:
    """Every order of the models, best first, that the scores allow: several where some are equal."""
    return [
        order
        for order in permutations(range(len(scores)))
        if all(scores[upper] >= scores[lower] for upper, lower in pairwise(order))
    ]


def rank_law_of_draws(draws: Sequence[Sequence[float]], chances: Sequence[float] | None = None) -> list[list[float]]:
    """law[m][r - 1] = chance of rank r for model m, from draws of all models' scores, equally likely unless said."""
    M = len(draws[0])
    weights = chances if chances is not None else [1 / len(draws)] * len(draws)
    law = [[0.0] * M for _ in range(M)]
    for scores, weight in zip(draws, weights, strict=True):
        allowed = orders(scores)
        for order in allowed:
            for place, model in enumerate(order):
                law[model][place] += float(weight) / len(allowed)
    return law


def rank_law_of_independent(laws: Sequence[Mapping[float, float]]) -> list[list[float]]:
    """The same by enumeration, model m having the score law laws[m], independent of the others."""
    draws, chances = [], []
    for picks in product(*(law.items() for law in laws)):
        draws.append([score for score, _ in picks])
        chances.append(math.prod(chance for _, chance in picks))
    return rank_law_of_draws(draws, chances)


def rank_law_of_independent_normals(means: Sequence[float], ses: Sequence[float]) -> list[list[float]]:
    """The same for independent normal scores, every SE above 0, by Simpson's rule over the score of each model in turn.

    Given its score, the others are above it independently: their number has a law that grows one model at a time.
    """
    M = len(means)
    law = []
    for m in range(M):

        def density(z: float, rank: int, m: int = m) -> float:
            score, above = means[m] + ses[m] * z, [1.0]
            for other in range(M):
                if other != m:
                    p = PHI((means[other] - score) / ses[other])
                    above = [
                        (above[i] * (1 - p) if i < len(above) else 0.0) + (above[i - 1] * p if i > 0 else 0.0)
                        for i in range(len(above) + 1)
                    ]
            return above[rank] * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

        law.append([simpson(lambda z, r=rank: density(z, r), -9.0, 9.0, 900) for rank in range(M)])
    return law
