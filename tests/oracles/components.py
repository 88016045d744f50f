"""One model: the mean, the three variances, the standard error of each claim, the CLT and the t interval.

`questions` is a list of lists of individual scores; an empty list is a question that the model missed.
Variances are exact Fractions where they are known and `math.nan` where the data cannot say.

The expectations that the tests enumerate, for fixed questions: p_q and v_q are the true mean and within-variance of
question q, k_q its number of generations, ph_q the mean seen.

    E[E^] = mean v_q                                      when every k_q >= 2
    E[D^] = var(p_q, ddof=0) - sum(v_q / k_q) / N^2       NOT var(p_q): too small by the variance of the mean itself
    E[T^] = E[D^] + mean v_q

because E[mean ph_q^2] = mean(p_q^2 + v_q/k_q) but E[(mean ph_q)^2] = (mean p_q)^2 + sum(v_q/k_q)/N^2, and D^ takes off
only the first. The gap is of order 1/N, like the one that ddof=0 leaves: for questions drawn at random from a
population, E[D^] = Var(p) - Var(mean of ph), and E[var(ph, ddof=0)/N] = (1 - 1/N) Var(mean of ph).
Where k_q = 1 for some questions, T^ is as good as ever, while D^ takes mean v over the others for the v_q it cannot
know: right when the counts have nothing to do with the questions, wrong by the difference otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist, mean, pvariance, variance

Questions = Sequence[Sequence[float | Fraction]]
Number = Fraction | float
"""A Fraction, or the float NaN."""


def answered(questions: Questions) -> list[list[Fraction]]:
    """The questions that have a generation at all, exactly."""
    return [[Fraction(score) for score in generations] for generations in questions if len(generations) > 0]


def question_means(questions: Questions) -> list[Fraction]:
    return [mean(generations) for generations in answered(questions)]


def mean_score(questions: Questions) -> Number:
    """Mean of question means: a question counts once, however many generations it has."""
    p = question_means(questions)
    return mean(p) if p else math.nan


def variance_of_means(questions: Questions) -> Number:
    """var_q(p_q, ddof=0); with one question it is 0 by formula, though one question says nothing of others."""
    p = question_means(questions)
    return pvariance(p) if p else math.nan


def prediction_variance(questions: Questions) -> Number:
    """E: mean of the unbiased within-variances of the questions that have one."""
    within = [variance(generations) for generations in answered(questions) if len(generations) >= 2]
    return mean(within) if within else math.nan


def noise_of_means(questions: Questions) -> Number:
    """mean_q(s2_q / k_q): how much of var(p) is prediction noise. A single generation takes E for its unknown s2."""
    E = prediction_variance(questions)
    if math.isnan(E):
        return math.nan
    terms = []
    for generations in answered(questions):
        k = len(generations)
        s2 = variance(generations) if k >= 2 else E
        terms.append(s2 / k)
    return mean(terms)


def data_variance(questions: Questions) -> Number:
    """D = var_q(p_q) - mean_q(s2_q / k_q): may be negative (NOISE eq. 22-25)."""
    return variance_of_means(questions) - noise_of_means(questions)


def rest_of_within(questions: Questions) -> Number:
    """mean_q(s2_q (1 - 1/k_q)): the prediction noise that averaging k_q generations has taken out of p_q."""
    terms = []
    for generations in answered(questions):
        k = len(generations)
        terms.append(variance(generations) * (1 - Fraction(1, k)) if k >= 2 else Fraction(0))
    return mean(terms) if terms else math.nan


def total_variance(questions: Questions) -> Number:
    """T = var_q(p_q) + mean_q(s2_q (1 - 1/k_q)): known from one generation per question too."""
    return variance_of_means(questions) + rest_of_within(questions)


def plain_variances(questions: Questions) -> dict[str, float]:
    """The form without the small-K correction, for scores 0/1: what the published model tables hold."""
    p = question_means(questions)
    data, prediction = pvariance(p), mean([p_q * (1 - p_q) for p_q in p])
    return {"data": float(data), "prediction": float(prediction), "total": float(data + prediction)}


def root(value: Number) -> float:
    """Square root, 0 for a negative variance, NaN for an unknown one."""
    if math.isnan(value):
        return math.nan
    return math.sqrt(value) if value > 0 else 0.0


def se_new_questions(questions: Questions) -> float:
    return root(variance_of_means(questions) / n_questions(questions))


def se_these_questions(questions: Questions) -> float:
    """sqrt(sum_q s2_q/k_q) / N."""
    return root(noise_of_means(questions) / n_questions(questions))


def se_single_run(questions: Questions) -> float:
    return root(total_variance(questions) / n_questions(questions))


def n_questions(questions: Questions) -> int | float:
    """N, the questions that were answered; NaN for none, so that whatever is divided by it is NaN too."""
    return len(answered(questions)) or math.nan


def summary(questions: Questions) -> dict[str, float]:
    """Every number of one model, as floats."""
    N = n_questions(questions)
    return {
        "n_questions": len(answered(questions)),
        "n_generations": sum(len(generations) for generations in questions),
        "mean": float(mean_score(questions)),
        "prediction": float(prediction_variance(questions)),
        "data": float(data_variance(questions)),
        "total": float(total_variance(questions)),
        "se_new_questions": se_new_questions(questions),
        "se_these_questions": se_these_questions(questions),
        "se_single_run": se_single_run(questions),
        "se_prediction": root(prediction_variance(questions) / N),
        "se_data": root(data_variance(questions) / N),
        "se_total": root(total_variance(questions) / N),
    }


def gen_plugin_se(questions: Questions) -> float:
    """GEN eq. (2)-(3) as published: scores 0/1, the same k for every question, at least two questions."""
    rows = answered(questions)
    counts = {len(generations) for generations in rows}
    if len(counts) != 1 or len(rows) < 2 or any(score not in {0, 1} for row in rows for score in row):
        raise ValueError("GEN's plug-in is for 0/1 scores, equal counts and two questions or more")
    n, k = len(rows), counts.pop()
    p = [mean(row) for row in rows]
    mu, sigma2 = mean(p), variance(p)
    return root((mu - mu * mu - sigma2) / (n * k) + sigma2 / n)


def clt_interval(questions: Questions, level: float) -> tuple[float, float]:
    """Mean +- z SE for new questions, SE^2 = var(p, ddof=0)/N."""
    z = NormalDist().inv_cdf(0.5 + level / 2)
    return clipped(questions, z * se_new_questions(questions))


def t_interval(questions: Questions, level: float) -> tuple[float, float]:
    """Mean +- t_{N-1} sqrt(var(p, ddof=1)/N); NaN for fewer than two questions."""
    p = question_means(questions)
    if len(p) < 2:
        return math.nan, math.nan
    return clipped(questions, t_quantile(0.5 + level / 2, len(p) - 1) * math.sqrt(variance(p) / len(p)))


def clipped(questions: Questions, half_width: float) -> tuple[float, float]:
    """The interval around the mean; it stays within [0, 1] when every single score does."""
    center = float(mean_score(questions))
    low, high = center - half_width, center + half_width
    scores = [score for row in answered(questions) for score in row]
    if not scores or any(score < 0 or score > 1 for score in scores) or math.isnan(half_width):
        return low, high
    return max(low, 0.0), min(high, 1.0)


def t_quantile(probability: float, df: int) -> float:
    """Quantile above the median of Student's t, by bisection on the angle theta with t = sqrt(df) tan(theta)."""
    low, high = 0.0, math.pi / 2
    for _ in range(100):
        middle = (low + high) / 2
        if t_central(middle, df) < 2 * probability - 1:
            low = middle
        else:
            high = middle
    return math.sqrt(df) * math.tan(low)


def t_central(theta: float, df: int) -> float:
    """P(|t| <= sqrt(df) tan(theta)) for a whole df: Abramowitz and Stegun 26.7.3 (odd) and 26.7.4 (even)."""
    sine, cosine = math.sin(theta), math.cos(theta)
    term = cosine if df % 2 else 1.0
    series, power = 0.0, 1 if df % 2 else 0
    while power <= df - 2:
        series += term
        term *= cosine * cosine * (power + 1) / (power + 2)
        power += 2
    return 2 / math.pi * (theta + sine * series) if df % 2 else sine * series
