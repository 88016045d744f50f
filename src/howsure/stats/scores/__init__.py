"""Scores of models on one benchmark, their standard errors and their intervals.

score              `score`: mean, variance components and standard error under a claim; `Scores`
score_intervals    Wilson, Clopper-Pearson and the other intervals that go back to the cells
mean_posterior     posterior interval of an expected score, the default for scores of 0 and 1
bootstrap          percentile and BCa intervals from resampled questions
clusters           variances of means over questions that come in clusters
missing            scores with failed generations counted as wrong, or bounded from both sides
prediction_noise   variance and degrees of freedom of what sampling alone adds
beta               Beta distribution of difficulties: fit, and posterior of each question
beta_likelihood    likelihood of Beta-binomial counts, and its posterior on a grid
"""

from howsure.stats.scores.beta import (
    HIERARCHICAL,
    PRIORS,
    BetaFit,
    Posterior,
    expected_error,
    fit_beta,
    independent_error,
    pool_by_score,
    posterior,
    require_binary,
    update_prior,
)
from howsure.stats.scores.beta_likelihood import distinct_counts, make_beta_grid
from howsure.stats.scores.clusters import (
    IN_CLUSTERS,
    NEW_CLUSTERS,
    ONE_CLUSTER,
    WITHOUT_CLUSTERS,
    ClusteredVariance,
    add_cluster_variance,
    cluster_excess,
    cluster_means,
    cluster_residuals,
    clustered_pairs,
)
from howsure.stats.scores.missing import Bounds, critical_value, fill_missing, score_with_missing
from howsure.stats.scores.prediction_noise import fill_within_variances, sampling_df, unvaried_half_width
from howsure.stats.scores.score import (
    FEW_QUESTIONS,
    FEWEST_BINARY,
    FEWEST_GRADED,
    LOST_DATA_NOISE,
    NARROW_BY_CHANCE,
    Scores,
    SingleRunErrors,
    estimate_single_run_errors,
    score,
    unbiased_data,
)
from howsure.stats.scores.score_intervals import (
    bca_limits,
    clopper_pearson,
    draw_scores,
    paired_errors,
    paired_percentile_limits,
    percentile_limits,
    posterior_of_mean,
    posterior_of_means,
    wilson,
)

__all__ = [
    "FEWEST_BINARY",
    "FEWEST_GRADED",
    "FEW_QUESTIONS",
    "HIERARCHICAL",
    "IN_CLUSTERS",
    "LOST_DATA_NOISE",
    "NARROW_BY_CHANCE",
    "NEW_CLUSTERS",
    "ONE_CLUSTER",
    "PRIORS",
    "WITHOUT_CLUSTERS",
    "BetaFit",
    "Bounds",
    "ClusteredVariance",
    "Posterior",
    "Scores",
    "SingleRunErrors",
    "add_cluster_variance",
    "bca_limits",
    "clopper_pearson",
    "cluster_excess",
    "cluster_means",
    "cluster_residuals",
    "clustered_pairs",
    "critical_value",
    "distinct_counts",
    "draw_scores",
    "estimate_single_run_errors",
    "expected_error",
    "fill_missing",
    "fill_within_variances",
    "fit_beta",
    "independent_error",
    "make_beta_grid",
    "paired_errors",
    "paired_percentile_limits",
    "percentile_limits",
    "pool_by_score",
    "posterior",
    "posterior_of_mean",
    "posterior_of_means",
    "require_binary",
    "sampling_df",
    "score",
    "score_with_missing",
    "unbiased_data",
    "unvaried_half_width",
    "update_prior",
    "wilson",
]
