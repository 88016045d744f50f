"""Two models, paired over the questions that both answered; and p-values adjusted for a family.

`a` and `b` are lists over the same questions of lists of individual scores; empty = missing for that model.

For fixed questions the expectations are those of `components` with d_q = pA_q - pB_q in place of p_q and
vA_q/kA_q + vB_q/kB_q in place of v_q/k_q, the generations of A and B being independent given the question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from statistics import mean, pvariance

from oracles.components import (
    Number,
    Questions,
    answered,
    noise_of_means,
    prediction_variance,
    question_means,
    rest_of_within,
    root,
)


def common(a: Questions, b: Questions) -> tuple[Questions, Questions]:
    """Both models on the questions that both answered."""
    both = [(one, other) for one, other in zip(a, b, strict=True) if len(one) > 0 and len(other) > 0]
    return [one for one, _ in both], [other for _, other in both]


def differences(a: Questions, b: Questions) -> list[Number]:
    """d_q = pA_q - pB_q on the common questions."""
    a, b = common(a, b)
    return [one - other for one, other in zip(question_means(a), question_means(b), strict=True)]


def prediction(a: Questions, b: Questions) -> Number:
    """E = E_A + E_B; NaN where either has no question with two generations."""
    a, b = common(a, b)
    return prediction_variance(a) + prediction_variance(b)


def data(a: Questions, b: Questions) -> Number:
    """D = var_q(d) - mean(s2A/kA) - mean(s2B/kB): may be negative."""
    a, b = common(a, b)
    d = differences(a, b)
    return pvariance(d) - noise_of_means(a) - noise_of_means(b) if d else math.nan


def total(a: Questions, b: Questions) -> Number:
    """T = var_q(d) + mean(s2A (1 - 1/kA)) + mean(s2B (1 - 1/kB)): known for single generations too."""
    a, b = common(a, b)
    d = differences(a, b)
    return pvariance(d) + rest_of_within(a) + rest_of_within(b) if d else math.nan


def disagreement(a: Questions, b: Questions) -> Number:
    """Chance that one generation of A and one of B differ, for scores 0/1: mean of pA(1-pB) + (1-pA)pB."""
    a, b = common(a, b)
    chances = []
    for pa, pb in zip(question_means(a), question_means(b), strict=True):
        chances.append(pa * (1 - pb) + (1 - pa) * pb)
    return mean(chances) if chances else math.nan


def correlation(a: Questions, b: Questions) -> float:
    """Pearson's correlation of question means; NaN where either does not vary."""
    a, b = common(a, b)
    pa, pb = question_means(a), question_means(b)
    if not pa or pvariance(pa) == 0 or pvariance(pb) == 0:
        return math.nan
    mean_a, mean_b = mean(pa), mean(pb)
    covariance = mean([(x - mean_a) * (y - mean_b) for x, y in zip(pa, pb, strict=True)])
    return covariance / math.sqrt(pvariance(pa) * pvariance(pb))


def normal_p(z: float) -> float:
    """Two-sided tail of the standard normal."""
    return math.erfc(abs(z) / math.sqrt(2))


def sign_p(a: Questions, b: Questions) -> float:
    """Exact two-sided sign test; NaN unless both gave one 0/1 score to every common question."""
    a, b = answered(common(a, b)[0]), answered(common(a, b)[1])
    if not a or any(len(row) != 1 or row[0] not in {0, 1} for row in a + b):
        return math.nan
    wins = sum(one > other for one, other in zip(a, b, strict=True))
    losses = sum(one < other for one, other in zip(a, b, strict=True))
    return sign_test(wins, losses)


def sign_test(wins: int, losses: int) -> float:
    """Twice the smaller tail of Binomial(wins + losses, 1/2), at most 1; ties say nothing."""
    n = wins + losses
    tail = sum(math.comb(n, i) for i in range(min(wins, losses) + 1))
    return min(1.0, 2 * tail / 2**n)


def summary(a: Questions, b: Questions) -> dict[str, float]:
    """Every number of one pair, as floats; `z` and `p_value` are NaN where the SE is 0: no noise was seen to go by."""
    d = differences(a, b)
    N = len(d) or math.nan
    difference = float(mean(d)) if d else math.nan
    se = root(pvariance(d) / N) if d else math.nan
    z = difference / se if se > 0 else math.nan
    return {
        "n_questions": len(d),
        "difference": difference,
        "total": float(total(a, b)),
        "data": float(data(a, b)),
        "prediction": float(prediction(a, b)),
        "se": se,
        "se_total": root(total(a, b) / N),
        "se_data": root(data(a, b) / N),
        "se_prediction": root(prediction(a, b) / N),
        "z": z,
        "p_value": normal_p(z),
        "disagreement": float(disagreement(a, b)),
        "correlation": correlation(a, b),
        "p_sign": sign_p(a, b),
    }


def against_itself(a: Questions) -> dict[str, float]:
    """Two independent predictions of one model (NOISE eq. 26-28): D = 0 and T = 2 E of the *one* model.

    In the terms of a pair, E_pair = E + E, so T = E_pair; it is not 2 E_pair, which would count four.
    """
    E_pair = 2 * prediction_variance(a)
    N = len(answered(a)) or math.nan
    return {
        "n_questions": len(answered(a)),
        "difference": 0.0 if answered(a) else math.nan,
        "total": float(E_pair),
        "data": 0.0 if answered(a) else math.nan,
        "prediction": float(E_pair),
        "se_total": root(E_pair / N),
        "se_data": 0.0 if answered(a) else math.nan,
        "se_prediction": root(E_pair / N),
    }


def all_pairs(scores: Sequence[Questions]) -> dict[tuple[int, int], dict[str, float]]:
    """Every ordered pair of models, `against_itself` on the diagonal."""
    models = range(len(scores))
    return {
        (i, j): against_itself(scores[i]) if i == j else summary(scores[i], scores[j])
        for i, j in product(models, models)
    }


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values; NaN stays NaN and does not count in m.

    Of the hypotheses with p_j <= p_i, each p_j times the number that have p >= p_j; the largest of these, at most 1.
    """
    known = [p for p in p_values if not math.isnan(p)]
    adjusted = []
    for p_i in p_values:
        steps = [p_j * sum(p >= p_j for p in known) for p_j in known if p_j <= p_i]
        adjusted.append(math.nan if math.isnan(p_i) else min(1.0, max(steps)))
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's adjusted p-values; NaN stays NaN and does not count in m.

    Of the hypotheses with p_j >= p_i, each m p_j over the number that have p <= p_j; the smallest of these.
    """
    known = [p for p in p_values if not math.isnan(p)]
    adjusted = []
    for p_i in p_values:
        steps = [len(known) * p_j / sum(p <= p_j for p in known) for p_j in known if p_j >= p_i]
        adjusted.append(math.nan if math.isnan(p_i) else min([1.0, *steps]))
    return adjusted
