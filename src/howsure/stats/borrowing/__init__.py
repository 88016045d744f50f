"""Scores of models that answered some questions, estimated with the results of other models on all of them.

borrowed_scores    `score` and `compare`: regression estimates of a score and of a difference
factors            principal components of the reference models, and the mean of a model that is regressed on them
pilot_components   variance components that plan how many questions to ask, and the error that generations do not reduce
"""

from howsure.stats.borrowing.borrowed_scores import *
from howsure.stats.borrowing.factors import *
from howsure.stats.borrowing.pilot_components import *
