"""Runs of the same thing: prediction intervals, drift, and two providers of one model.

`questions` is a list of lists of scores; run j is generation j of every question, so all counts must be equal for
whatever is about run means. `runs` is the list of run means.

Readings taken where section 5 leaves a choice:
- intervals are as published, not cut to [0, 1]: cut them before comparing with a program that does;
- unequal counts, pooled form: the mean seen has variance mean(s2_q/k_q)/N, the future one E/(N n');
- the pooled degrees of freedom are sum(k_q - 1); `satterthwaite_df` is the careful number that "about" may hide: with
  noise in 4 of 30 questions and two runs, a nominal 95% covers 84% with the first and 92% with the second;
- n' = inf turns the prediction interval into a confidence interval for the mean of these questions;
- drift is one-sided (too much variation), and unknown where E = 0;
- the stratified test takes the normal law.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import mean, variance

from oracles.components import (
    Questions,
    answered,
    mean_score,
    n_questions,
    noise_of_means,
    prediction_variance,
    t_quantile,
)
from oracles.pairs import common, normal_p

Interval = tuple[float, float]


def run_means(questions: Questions) -> list[Fraction]:
    """Mean of run 1, of run 2, ... (PI eq. 1)."""
    rows = answered(questions)
    if len({len(row) for row in rows}) != 1:
        raise ValueError("runs need the same number of generations for every question")
    return [mean([row[j] for row in rows]) for j in range(len(rows[0]))]


def prediction_interval(runs: Sequence[float | Fraction], level: float, n_future: float | None = None) -> Interval:
    """PI eq. (3): mean +- t_{n-1} s sqrt(1/n + 1/n'), n' = n unless given; NaN for one run."""
    n = len(runs)
    if n < 2:
        return math.nan, math.nan
    ahead = n if n_future is None else n_future
    s = math.sqrt(variance(map(Fraction, runs)))
    half = t_quantile(0.5 + level / 2, n - 1) * s * math.sqrt(1 / n + 1 / ahead)
    return float(mean(runs)) - half, float(mean(runs)) + half


def pooled_interval(questions: Questions, level: float, n_future: float | None = None) -> Interval:
    """Mean +- t_df sqrt(mean(s2_q/k_q)/N + E/(N n')), df = sum(k_q - 1); n' = n needs equal counts unless given."""
    rows, E = answered(questions), prediction_variance(questions)
    if math.isnan(E):
        return math.nan, math.nan
    ahead = len(run_means(questions)) if n_future is None else n_future
    N = n_questions(questions)
    spread = math.sqrt(noise_of_means(questions) / N + float(E) / (N * ahead))
    half = t_quantile(0.5 + level / 2, sum(len(row) - 1 for row in rows)) * spread
    return float(mean_score(questions)) - half, float(mean_score(questions)) + half


def satterthwaite_df(questions: Questions) -> float:
    """(sum s2_q)^2 / sum(s2_q^2 / (k_q - 1)): the degrees of freedom of E when the s2_q differ; NaN where E = 0."""
    rows = [row for row in answered(questions) if len(row) >= 2]
    bottom = sum(variance(row) ** 2 / (len(row) - 1) for row in rows)
    return float(sum(variance(row) for row in rows) ** 2 / bottom) if bottom > 0 else math.nan


def drift(questions: Questions) -> dict[str, float]:
    """(n-1) s_runs^2 / (E/N) against chi^2_{n-1}, upper tail; NaN for one run or for E = 0."""
    runs, E = run_means(questions), prediction_variance(questions)
    df = len(runs) - 1
    if math.isnan(E) or E == 0:
        return {"statistic": math.nan, "df": df, "p_value": math.nan}
    statistic = float(df * variance(runs) / (E / n_questions(questions)))
    return {"statistic": statistic, "df": df, "p_value": chi_square_tail(statistic, df)}


def two_sample_t(a: Sequence[float], b: Sequence[float], *, pooled: bool) -> dict[str, float]:
    """Student's t with the pooled variance, or Welch's, on two lists of run means; two-sided; NaN without variation."""
    (n_a, n_b), (v_a, v_b) = (len(a), len(b)), (variance(map(Fraction, a)), variance(map(Fraction, b)))
    if v_a == 0 and v_b == 0:
        return {"t": math.nan, "df": math.nan, "p_value": math.nan}
    if pooled:
        df = Fraction(n_a + n_b - 2)
        both = ((n_a - 1) * v_a + (n_b - 1) * v_b) / df
        square = both / n_a + both / n_b
    else:
        square = v_a / n_a + v_b / n_b
        df = square**2 / ((v_a / n_a) ** 2 / (n_a - 1) + (v_b / n_b) ** 2 / (n_b - 1))
    t = float(mean(map(Fraction, a)) - mean(map(Fraction, b))) / math.sqrt(square)
    return {"t": t, "df": float(df), "p_value": t_two_sided(t, float(df))}


def stratified_test(a: Questions, b: Questions) -> dict[str, float]:
    """z = (mean A - mean B) / SE on the common questions, SE^2 = (EA/kA + EB/kB)/N; NaN where that is 0 or unknown."""
    a, b = common(a, b)
    difference = mean_score(a) - mean_score(b)
    noise = noise_of_means(a) + noise_of_means(b)
    se = math.sqrt(noise / len(a)) if noise > 0 else math.nan if math.isnan(noise) else 0.0
    z = float(difference) / se if se > 0 else math.nan
    return {"difference": float(difference), "se": se, "z": z, "p_value": normal_p(z)}


# ---- tails


def chi_square_tail(x: float, df: int) -> float:
    """P(chi^2_df > x) for a whole df: Abramowitz and Stegun 26.4.4 (odd) and 26.4.5 (even)."""
    half = x / 2
    if df % 2 == 0:
        return math.exp(-half) * math.fsum(half**i / math.factorial(i) for i in range(df // 2))
    rest = math.fsum(half ** (i - 0.5) / math.gamma(i + 0.5) for i in range(1, (df + 1) // 2))
    return math.erfc(math.sqrt(half)) + math.exp(-half) * rest


def t_two_sided(t: float, df: float) -> float:
    """P(|T_df| > |t|) for any df > 0, by Simpson's rule.

    With |T| = sqrt(df) cot(phi) the density of phi is proportional to sin(phi)^(df-1) on (0, pi/2): the tail is
    the integral up to the angle of t. phi = angle v^m with m df >= 5 makes the integrand smooth at 0.
    """
    angle = math.atan2(math.sqrt(df), abs(t))
    m = max(1.0, 5 / df)
    constant = 2 * math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(math.pi)

    def density(v: float) -> float:
        return math.sin(angle * v**m) ** (df - 1) * angle * m * v ** (m - 1) if v > 0 else 0.0

    return min(1.0, constant * simpson(density, 0.0, 1.0, 4000))


def simpson(f, low: float, high: float, steps: int) -> float:
    """Integral of f; `steps` is even."""
    h = (high - low) / steps
    middle = [(4 if i % 2 else 2) * f(low + i * h) for i in range(1, steps)]
    return h / 3 * math.fsum([f(low), *middle, f(high)])
