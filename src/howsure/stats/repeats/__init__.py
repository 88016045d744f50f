"""Repeated runs of the same evaluation: summaries, drift, copies, prediction intervals, resampling.

runs                   mean and standard deviation of each run; tests for drift and for copied runs
independence           signs that generations are copies of each other or retries until one is right
determinism            `measure_determinism`: whether the same prompt gets the same completion
days                   `compare_days`: the scores of days on which runs were made
prediction_intervals   `repeats`: how far the mean of future runs may fall
resampling             `run_gap` and `convergence`: gap between runs, and widths at more generations
"""

from howsure.stats.repeats.days import DailyScores, compare_days
from howsure.stats.repeats.determinism import CompletionCounts, Determinism, measure_determinism
from howsure.stats.repeats.independence import (
    CHANCE,
    bound_equal_texts,
    bound_uniform_replies,
    describe_dependence,
    find_copied_generations,
    find_multiples,
    find_retries,
    find_shared_noise,
    find_unvaried,
)
from howsure.stats.repeats.prediction_intervals import GAP_RUNS, Repeats, RunWidths, measure_widths, repeats
from howsure.stats.repeats.resampling import LIMITED_GAP, Convergence, RunGap, convergence, run_gap
from howsure.stats.repeats.runs import Runs, align_runs, check_drift, find_copied_runs, summarize_runs

__all__ = [
    "CHANCE",
    "GAP_RUNS",
    "LIMITED_GAP",
    "CompletionCounts",
    "Convergence",
    "DailyScores",
    "Determinism",
    "Repeats",
    "RunGap",
    "RunWidths",
    "Runs",
    "align_runs",
    "bound_equal_texts",
    "bound_uniform_replies",
    "check_drift",
    "compare_days",
    "convergence",
    "describe_dependence",
    "find_copied_generations",
    "find_copied_runs",
    "find_multiples",
    "find_retries",
    "find_shared_noise",
    "find_unvaried",
    "measure_determinism",
    "measure_widths",
    "repeats",
    "run_gap",
    "summarize_runs",
]
