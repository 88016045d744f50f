"""Scores that a judge gave: its noise, its errors, and what people would have said.

labelled_completions   completions with a judge's score, and a person's for a sample of them; agreement of reviewers
calibration            PPI++, Rogan-Gladen and the labels alone, for scores and paired differences
corrected_pairs        tests of the corrected differences of all pairs of models
judge_noise            judge, generation and data noise; flip rate; completions against verdicts
judge_errors           tests of self-preference and of length; the position effect of a judge of pairs
"""

from howsure.stats.judges.calibration import (
    CalibratedDifference,
    CalibratedScores,
    JudgeAccuracy,
    calibrate,
    calibrate_difference,
    measure_accuracy,
)
from howsure.stats.judges.corrected_pairs import compare_corrected
from howsure.stats.judges.judge_errors import (
    LACKS_DOUBLING,
    JudgeErrors,
    PositionEffect,
    examine_judge,
    measure_position_effect,
)
from howsure.stats.judges.judge_noise import (
    JudgeNoise,
    VerdictPlan,
    VerdictTable,
    measure_judge_noise,
    plan_verdicts,
)
from howsure.stats.judges.labelled_completions import (
    FEWEST_LABELS,
    JudgedCompletions,
    LabelAgreement,
    measure_agreement,
)

__all__ = [
    "FEWEST_LABELS",
    "LACKS_DOUBLING",
    "CalibratedDifference",
    "CalibratedScores",
    "JudgeAccuracy",
    "JudgeErrors",
    "JudgeNoise",
    "JudgedCompletions",
    "LabelAgreement",
    "PositionEffect",
    "VerdictPlan",
    "VerdictTable",
    "calibrate",
    "calibrate_difference",
    "compare_corrected",
    "examine_judge",
    "measure_accuracy",
    "measure_agreement",
    "measure_judge_noise",
    "measure_position_effect",
    "plan_verdicts",
]
