"""How many questions, prompt variants and generations an evaluation needs.

====================  ===========================================================================
plan                  the best design for a target error or a budget, and tables of designs
pilot                 variance components from pilot results, or assumed from an accuracy
variance_components   standard error of a design, and the smallest design for a standard error
benchmark_noise       noise levels of benchmarks that others were evaluated on
design_search         search over all designs within limits
cost                  what a design costs in calls, tokens and money, and scores against costs
====================  ===========================================================================
"""

from howsure.stats.planning.benchmark_noise import *
from howsure.stats.planning.cost import *
from howsure.stats.planning.pilot import *
from howsure.stats.planning.plan import *
from howsure.stats.planning.variance_components import *
