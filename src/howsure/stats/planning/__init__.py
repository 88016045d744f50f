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

from howsure.stats.planning.benchmark_noise import (
    CLOSE_ERRORS,
    FEWEST_MODELS_FOR_TAU,
    LOWEST_SCORE,
    BenchmarkNoise,
    components_from_noise,
    measure_noise,
)
from howsure.stats.planning.cost import Cost, CostScores, ModelUsage, compare_costs, cost_per_cell
from howsure.stats.planning.pilot import (
    ErrorParts,
    components_from_accuracy,
    components_from_cells,
    components_from_cube,
    split_prompt_error,
    split_score_error,
)
from howsure.stats.planning.plan import (
    ASSURANCE,
    FEWEST_QUESTIONS,
    INTERVAL_LEVEL,
    StudyDesign,
    StudyPlan,
    plan,
)
from howsure.stats.planning.variance_components import (
    VarianceComponents,
    detectable_difference,
    se_for_detecting,
    se_for_width,
)

__all__ = [
    "ASSURANCE",
    "CLOSE_ERRORS",
    "FEWEST_MODELS_FOR_TAU",
    "FEWEST_QUESTIONS",
    "INTERVAL_LEVEL",
    "LOWEST_SCORE",
    "BenchmarkNoise",
    "Cost",
    "CostScores",
    "ErrorParts",
    "ModelUsage",
    "StudyDesign",
    "StudyPlan",
    "VarianceComponents",
    "compare_costs",
    "components_from_accuracy",
    "components_from_cells",
    "components_from_cube",
    "components_from_noise",
    "cost_per_cell",
    "detectable_difference",
    "measure_noise",
    "plan",
    "se_for_detecting",
    "se_for_width",
    "split_prompt_error",
    "split_score_error",
]
