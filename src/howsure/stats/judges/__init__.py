"""Scores that a judge gave: its noise, its errors, and what people would have said.

labelled_completions   completions with a judge's score, and a person's for a sample of them; agreement of reviewers
calibration            PPI++, Rogan-Gladen and the labels alone, for scores and paired differences
corrected_pairs        tests of the corrected differences of all pairs of models
judge_noise            judge, generation and data noise; flip rate; completions against verdicts
judge_errors           tests of self-preference and of length; the position effect of a judge of pairs
"""

from howsure.stats.judges.calibration import *
from howsure.stats.judges.corrected_pairs import *
from howsure.stats.judges.judge_errors import *
from howsure.stats.judges.judge_noise import *
from howsure.stats.judges.labelled_completions import *
