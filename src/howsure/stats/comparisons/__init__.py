"""Comparisons of models on the questions that they both answered.

pairs              `compare` and `pairs`: paired differences of two models, or of all pairs
paired_intervals   intervals of a difference that hold where few questions differ
reference          `compare_with_reference`: all models compared with one of them
ranking            `rank`: confidence sets for ranks; chances of a wrong order
combine            `combine`: one statement about two models from several benchmarks
unpaired           `compare_unpaired`: what pairing is worth
greedy             `compare_greedy`: greedy decoding beside sampling
checkpoints        `order_checkpoints`: labels of checkpoints by the number in them
curve              `curve`: a score along the checkpoints of a training run
slices             `compare_slices`: where the difference is another one
battles            `rank_battles`: strengths and ranks from preferences between two models
winner             `pick_winner`: the best of many, scored for fresh questions
series             `smooth_cells`: a smooth curve through the scores of checkpoints
providers          `providers`: whether two providers of one model score the same
"""

from howsure.stats.comparisons.battles import *
from howsure.stats.comparisons.checkpoints import *
from howsure.stats.comparisons.combine import *
from howsure.stats.comparisons.curve import *
from howsure.stats.comparisons.greedy import *
from howsure.stats.comparisons.pairs import *
from howsure.stats.comparisons.providers import *
from howsure.stats.comparisons.ranking import *
from howsure.stats.comparisons.reference import *
from howsure.stats.comparisons.series import *
from howsure.stats.comparisons.slices import *
from howsure.stats.comparisons.unpaired import *
from howsure.stats.comparisons.winner import *
