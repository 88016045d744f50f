"""Printed results of PI (Towards reproducible LLM evaluation): the t test of two providers, and its listing."""

import numpy as np
import pytest
from scipy import stats

import howsure as hs


def write_runs(mean, sd):
    """90 runs of 100 questions whose means have this mean and standard deviation exactly."""
    means = np.random.default_rng(1).normal(size=90)
    means = mean + sd * (means - means.mean()) / means.std(ddof=1)
    return [hs.Cells.from_scores("small", ["m"], [str(q) for q in range(100)], [[[x]] * 100]) for x in means]


def test_the_two_providers():
    """Published: means of .833 and .840 in 90 runs each, t = 2.51, p = .013; the spread is the one that gives this t."""
    sd = 0.007 / 2.51 * np.sqrt(45)
    [row] = hs.providers(write_runs(0.833, sd), "m", other=write_runs(0.840, sd), method="run-means")
    assert (round(row["score_a"], 3), round(row["score_b"], 3)) == (0.833, 0.840)
    assert abs(row["difference"]) / row["se"] == pytest.approx(2.51)
    assert round(row["p_value"], 3) == 0.013


def test_the_listing_of_the_appendix():
    """Another program's output: the interval of the listing, written here by hand, on drawn means of 2 to 30 runs."""
    draw = np.random.default_rng(7)
    for n in (2, 3, 5, 30):
        samples = draw.uniform(0.5, 0.6, n)
        half = stats.t.ppf((1 + 0.95) / 2, df=n - 1) * np.std(samples, ddof=1) * np.sqrt(2 / n)
        runs = [hs.Cells.from_scores("small", ["m"], ["p", "q"], [[[x], [x]]]) for x in samples]
        [row] = hs.repeats(runs, method="run-means")
        expected = (max(np.mean(samples) - half, 0), min(np.mean(samples) + half, 1))
        assert (row["low"], row["high"]) == pytest.approx(expected)
