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

from howsure.stats.prompts.components import *
from howsure.stats.prompts.dimension_shares import *
from howsure.stats.prompts.effects import *
from howsure.stats.prompts.moments import *
from howsure.stats.prompts.prompt_agreement import *
from howsure.stats.prompts.prompteval import *
from howsure.stats.prompts.rank_flips import *
from howsure.stats.prompts.sample_size import *
from howsure.stats.prompts.unparsed import *
