"""Scores of models on one benchmark, their standard errors and their intervals.

score              `score`: mean, variance components and standard error under a claim; `Scores`
score_intervals    the intervals that go back to the cells: Bayesian bootstrap, the default, Wilson, Clopper-Pearson
clusters           variances of means over questions that come in clusters
missing            scores with failed generations counted as wrong, or bounded from both sides
prediction_noise   variance and degrees of freedom of what sampling alone adds
beta               Beta distribution of difficulties: fit, and posterior of each question
beta_likelihood    likelihood of Beta-binomial counts, and its posterior on a grid
"""

from howsure.stats.scores.beta import *
from howsure.stats.scores.beta_likelihood import *
from howsure.stats.scores.clusters import *
from howsure.stats.scores.missing import *
from howsure.stats.scores.prediction_noise import *
from howsure.stats.scores.score import *
from howsure.stats.scores.score_intervals import *
