"""Verdicts that continuous integration can act on: whether a candidate is worse than a baseline, or below a bar.

exact_tests    exact tests of the mean and of single questions, from counts of right answers
gate_verdicts  `compare_with_baseline`, `compare_with_bar`: pass, fail or inconclusive
false_alarms   `split_baseline`: how often a baseline fails against itself
rate_test      `RateTest`: one trial after another until a rate is shown to be above or below a bar
variant_pairs  `split_by_variant`: results in several prompt variants as pairs of question and variant
"""

from howsure.stats.gate.exact_tests import *
from howsure.stats.gate.false_alarms import *
from howsure.stats.gate.gate_verdicts import *
from howsure.stats.gate.rate_test import *
from howsure.stats.gate.variant_pairs import *
