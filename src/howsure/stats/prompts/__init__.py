"""Scores of one benchmark under many prompt variants.

==================  ====================================================================================
moments             mean, variance and quantiles of the score over the variants, and everything else at once
components          variance components of crossed and nested variants, and the interval of the mean
effects             main effects of the values that a variant is made of
dimension_shares    share of the variance over prompts that each dimension explains, and its test
prompt_agreement    agreement of prompts on the order of models (Kendall's W) and on answers (consistency rate)
rank_flips          how often the prompt decides which of two models is better
sample_size         how many variants are enough to know the mean and the variance
prompteval          scores and quantiles over prompts from few cells (PromptEval)
unparsed            how much of the variance over prompts comes from answers that could not be parsed
additive_fit        least-squares fit of question + variant, with missing cells
subset_moments      distribution of the mean and the variance of a random subset
==================  ====================================================================================
"""

from howsure.stats.prompts.components import PromptComponents, estimate_components
from howsure.stats.prompts.dimension_shares import DimensionShares, estimate_dimension_shares, estimate_variant_shares
from howsure.stats.prompts.effects import MIN_VARIANTS, Effects, estimate_effects, estimate_variant_effects
from howsure.stats.prompts.moments import Moments, VariantSummary, summarize_variants
from howsure.stats.prompts.prompt_agreement import (
    Concordance,
    PromptConsistency,
    VariantAnswers,
    estimate_concordance,
    estimate_prompt_consistency,
)
from howsure.stats.prompts.prompteval import PromptEval, prompteval
from howsure.stats.prompts.rank_flips import RankFlips, estimate_rank_flips
from howsure.stats.prompts.sample_size import (
    ProxyCheck,
    SampleSize,
    check_proxy,
    required_for_space,
    required_variants,
    to_integers,
)
from howsure.stats.prompts.unparsed import (
    UnparsedByValue,
    UnparsedEffect,
    estimate_unparsed_effect,
    list_drawn_values,
)

__all__ = [
    "MIN_VARIANTS",
    "Concordance",
    "DimensionShares",
    "Effects",
    "Moments",
    "PromptComponents",
    "PromptConsistency",
    "PromptEval",
    "ProxyCheck",
    "RankFlips",
    "SampleSize",
    "UnparsedByValue",
    "UnparsedEffect",
    "VariantAnswers",
    "VariantSummary",
    "check_proxy",
    "estimate_components",
    "estimate_concordance",
    "estimate_dimension_shares",
    "estimate_effects",
    "estimate_prompt_consistency",
    "estimate_rank_flips",
    "estimate_unparsed_effect",
    "estimate_variant_effects",
    "estimate_variant_shares",
    "list_drawn_values",
    "prompteval",
    "required_for_space",
    "required_variants",
    "summarize_variants",
    "to_integers",
]
