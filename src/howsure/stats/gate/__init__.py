"""Verdicts that continuous integration can act on: whether a candidate is worse than a baseline, or below a bar.

exact_tests    exact tests of the mean and of single questions, from counts of right answers
gate_verdicts  `compare_with_baseline`, `compare_with_bar`: pass, fail or inconclusive
false_alarms   `split_baseline`: how often a baseline fails against itself
rate_test      `RateTest`: one trial after another until a rate is shown to be above or below a bar
variant_pairs  `split_by_variant`: results in several prompt variants as pairs of question and variant
"""

from howsure.stats.gate.exact_tests import QuestionTests, compare_means_exactly, compare_questions_exactly
from howsure.stats.gate.false_alarms import FalseAlarms, split_baseline
from howsure.stats.gate.gate_verdicts import (
    AbsoluteGate,
    AnyGate,
    ChangedQuestions,
    RegressionGate,
    check_gate,
    compare_with_bar,
    compare_with_baseline,
    decide,
    hold_undecided,
)
from howsure.stats.gate.rate_test import RateTest
from howsure.stats.gate.variant_pairs import find_common_variants, has_own_variants, list_variants, split_by_variant

__all__ = [
    "AbsoluteGate",
    "AnyGate",
    "ChangedQuestions",
    "FalseAlarms",
    "QuestionTests",
    "RateTest",
    "RegressionGate",
    "check_gate",
    "compare_means_exactly",
    "compare_questions_exactly",
    "compare_with_bar",
    "compare_with_baseline",
    "decide",
    "find_common_variants",
    "has_own_variants",
    "hold_undecided",
    "list_variants",
    "split_baseline",
    "split_by_variant",
]
