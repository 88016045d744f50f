"""Decisions during sampling: when to stop, and where the next generations should go.

====================  ==============================================================================
stopping_rules        whether the interval of a score or of a difference is narrow enough to stop
fixed_reference       the same for the difference to a model whose generations are all there
confidence_sequences  intervals that hold at all interim analyses at once, and the rounds they take
adaptive_allocation   more generations for questions whose answers vary, and unbiased scores from them
====================  ==============================================================================
"""

from howsure.stats.sequential.adaptive_allocation import *
from howsure.stats.sequential.confidence_sequences import *
from howsure.stats.sequential.fixed_reference import *
from howsure.stats.sequential.stopping_rules import *
