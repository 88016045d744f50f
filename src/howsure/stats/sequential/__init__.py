"""Decisions during sampling: when to stop, and where the next generations should go.

====================  ==============================================================================
stopping_rules        whether the interval of a score or of a difference is narrow enough to stop
fixed_reference       the same for the difference to a model whose generations are all there
confidence_sequences  intervals that hold at all interim analyses at once, and the rounds they take
adaptive_allocation   more generations for questions whose answers vary, and unbiased scores from them
====================  ==============================================================================
"""

from howsure.stats.sequential.adaptive_allocation import (
    Allocation,
    allocate_generations,
    estimate_question_sd,
    merge_stages,
    score_variance,
)
from howsure.stats.sequential.confidence_sequences import (
    BEST_AT,
    ConfidenceSequence,
    confidence_boundary,
    confidence_sequence,
    required_rounds,
)
from howsure.stats.sequential.fixed_reference import check_fixed_reference
from howsure.stats.sequential.stopping_rules import VARIANCE_FLOOR, StoppingDecision, check_stopping

__all__ = [
    "BEST_AT",
    "VARIANCE_FLOOR",
    "Allocation",
    "ConfidenceSequence",
    "StoppingDecision",
    "allocate_generations",
    "check_fixed_reference",
    "check_stopping",
    "confidence_boundary",
    "confidence_sequence",
    "estimate_question_sd",
    "merge_stages",
    "required_rounds",
    "score_variance",
]
