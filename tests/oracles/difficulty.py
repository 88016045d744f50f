"""P(correct) per question: the Beta-binomial law, its fit, posterior intervals, Kendall's tau, best minus worst run.

`counts` is a list of (correct, k), one per question; k = 0 is a question that was missed and says nothing.

Readings taken where section 7 leaves a choice:
- the likelihood keeps the binomial coefficient, so it is the probability of the counts;
- a point mass `zero` at 0 is a question that nobody ever answers: P(c) = zero 1{c = 0} + (1 - zero) BetaBinomial(c);
- the prior of a posterior interval is an argument: (1, 1), (1/2, 1/2) or a fitted Beta are all "Beta-binomial";
- a model's ability is its mean over all questions it answered, the one that is looked at included.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations, product
from statistics import mean

from oracles.components import Questions, answered, question_means
from oracles.repeats import run_means

Counts = Sequence[tuple[int, int]]

BOX = ((-7.0, 7.0), (math.log(0.01), math.log(1000.0)))
"""Where the fit looks: logit of the mean, and log of the concentration a + b."""


def log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def log_beta_binomial(correct: int, k: int, a: float, b: float) -> float:
    """log P(correct of k) when P(correct) ~ Beta(a, b)."""
    return math.log(math.comb(k, correct)) + log_beta(a + correct, b + k - correct) - log_beta(a, b)


def log_likelihood(counts: Counts, a: float, b: float, zero: float = 0.0) -> float:
    """Of all questions, which are independent; 0 <= zero < 1."""
    terms = []
    for (correct, k), times in Counter(counts).items():
        log_chance = log_beta_binomial(correct, k, a, b)
        if zero > 0:
            log_chance += math.log1p(-zero)
            if correct == 0:
                log_chance = math.log(math.exp(log_chance) + zero)
        terms.append(times * log_chance)
    return math.fsum(terms)


def fit(counts: Counts, *, zero_inflated: bool = False) -> dict[str, float]:
    """Maximum likelihood by a shrinking grid over (logit mean, log concentration[, zero]); stays within BOX."""

    def value(point: Sequence[float]) -> float:
        return log_likelihood(counts, *parameters(point))

    box = [*BOX, (0.0, 0.999)] if zero_inflated else list(BOX)
    best = shrinking_grid(value, box)
    a, b, zero = parameters(best)
    return {"a": a, "b": b, "zero": zero, "log_likelihood": value(best)}


def parameters(point: Sequence[float]) -> tuple[float, float, float]:
    """(a, b, zero) of a point of the grid."""
    mu, concentration = 1 / (1 + math.exp(-point[0])), math.exp(point[1])
    return mu * concentration, (1 - mu) * concentration, point[2] if len(point) > 2 else 0.0


def shrinking_grid(
    value: Callable[[Sequence[float]], float], box: Sequence[tuple[float, float]], points: int = 9, rounds: int = 36
) -> tuple[float, ...]:
    """The best point of a grid, then of a grid 0.6 times as wide around it, and so on."""
    center = [(low + high) / 2 for low, high in box]
    half = [(high - low) / 2 for low, high in box]
    best: tuple[float, ...] = tuple(center)
    for _ in range(rounds):
        axes = []
        for (low, high), c, h in zip(box, best, half, strict=True):
            start, stop = max(low, c - h), min(high, c + h)
            axes.append([start + (stop - start) * i / (points - 1) for i in range(points)])
        best = max([best, *product(*axes)], key=value)
        half = [0.6 * h for h in half]
    return best


def combined_counts(models: Sequence[Questions]) -> list[tuple[int, int]]:
    """(correct, k) per question over the predictions of all models of one accuracy bin together (NOISE appendix B)."""
    table = []
    for rows in zip(*models, strict=True):
        generations = [score for row in rows for score in row]
        table.append((round(sum(generations)), len(generations)))
    return table


# ---- posterior of one question


def beta_cdf(x: float, a: float, b: float) -> float:
    """P(Beta(a, b) <= x), by x^a (1-x)^b / (a B(a, b)) * (1 + sum of products of (a+b+i)/(a+1+i) x)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_cdf(1 - x, b, a)
    term = total = 1.0
    i = 0
    while term > 1e-17 * total:
        term *= (a + b + i) / (a + 1 + i) * x
        total += term
        i += 1
    return math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta(a, b)) * total / a


def beta_quantile(probability: float, a: float, b: float) -> float:
    return bisect(lambda x: beta_cdf(x, a, b) < probability)


def bisect(below: Callable[[float], bool], low: float = 0.0, high: float = 1.0) -> float:
    """Where `below` turns from True to False."""
    for _ in range(200):
        middle = (low + high) / 2
        if below(middle):
            low = middle
        else:
            high = middle
    return high


def posterior_interval(
    correct: int, k: int, a: float, b: float, level: float, zero: float = 0.0
) -> tuple[float, float]:
    """Equal-tailed interval for P(correct) of one question, prior zero * {0} + (1 - zero) * Beta(a, b)."""
    at_zero = posterior_at_zero(correct, k, a, b, zero)

    def quantile(probability: float) -> float:
        if probability <= at_zero:
            return 0.0
        return beta_quantile((probability - at_zero) / (1 - at_zero), a + correct, b + k - correct)

    return quantile((1 - level) / 2), quantile((1 + level) / 2)


def posterior_at_zero(correct: int, k: int, a: float, b: float, zero: float) -> float:
    """How likely it is, after `correct` of k, that the question is one that is never answered."""
    if correct > 0 or zero == 0:
        return 0.0
    return zero / (zero + (1 - zero) * math.exp(log_beta_binomial(0, k, a, b)))


def posterior_mean(correct: int, k: int, a: float, b: float, zero: float = 0.0) -> float:
    return (1 - posterior_at_zero(correct, k, a, b, zero)) * (a + correct) / (a + b + k)


# ---- questions and runs


def kendall_tau_b(x: Sequence[float], y: Sequence[float]) -> float:
    """(concordant - discordant) / sqrt(pairs untied in x * pairs untied in y); NaN where either is constant."""
    concordant = discordant = untied_x = untied_y = 0
    for i, j in combinations(range(len(x)), 2):
        dx, dy = x[i] - x[j], y[i] - y[j]
        untied_x += dx != 0
        untied_y += dy != 0
        concordant += dx * dy > 0
        discordant += dx * dy < 0
    if untied_x == 0 or untied_y == 0:
        return math.nan
    return (concordant - discordant) / math.sqrt(untied_x * untied_y)


def question_tau(models: Sequence[Questions], question: int) -> float:
    """Kendall's tau-b between the models' means on one question and their ability, over models that answered it."""
    there = [rows for rows in models if len(rows[question]) > 0]
    return kendall_tau_b(
        [mean(answered([rows[question]])[0]) for rows in there], [mean(question_means(rows)) for rows in there]
    )


def delta_one(questions: Questions) -> float:
    """GEN table 1: the best minus the worst single run, every generation number being one run."""
    scores = run_means(questions)
    return float(max(scores) - min(scores))


def mass_near_ends(p: Sequence[float], margin: float) -> float:
    """Share of questions with P(correct) <= margin or >= 1 - margin."""
    return sum(x <= margin or x >= 1 - margin for x in p) / len(p)


def resampled_score(questions: Questions, draws: Sequence[Sequence[int]]) -> float:
    """Mean of question means where question q keeps the generations draws[q] (indices, repeats allowed)."""
    return float(mean([mean([row[j] for j in picks]) for row, picks in zip(answered(questions), draws, strict=True)]))
