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
providers          `providers`: whether two providers of one model score the same
"""

from howsure.stats.comparisons.checkpoints import (
    find_training_runs,
    have_positions,
    order_checkpoints,
    read_positions,
)
from howsure.stats.comparisons.combine import (
    BenchmarkMeans,
    Combination,
    DecidedCounts,
    ReferenceCombination,
    average_over_benchmarks,
    combine,
    combine_with_reference,
)
from howsure.stats.comparisons.curve import Curve, curve
from howsure.stats.comparisons.greedy import GreedyTable, compare_greedy
from howsure.stats.comparisons.pairs import POWER, UNDETECTABLE, Comparison, Pairs, compare, pairs
from howsure.stats.comparisons.providers import Providers, providers
from howsure.stats.comparisons.ranking import (
    Ranking,
    RankRanges,
    count_moved_models,
    range_ranks,
    rank,
    wrong_order,
)
from howsure.stats.comparisons.reference import ReferenceComparisons, compare_with_reference
from howsure.stats.comparisons.unpaired import UnpairedComparison, compare_unpaired

__all__ = [
    "POWER",
    "UNDETECTABLE",
    "BenchmarkMeans",
    "Combination",
    "Comparison",
    "Curve",
    "DecidedCounts",
    "GreedyTable",
    "Pairs",
    "Providers",
    "RankRanges",
    "Ranking",
    "ReferenceCombination",
    "ReferenceComparisons",
    "UnpairedComparison",
    "average_over_benchmarks",
    "combine",
    "combine_with_reference",
    "compare",
    "compare_greedy",
    "compare_unpaired",
    "compare_with_reference",
    "count_moved_models",
    "curve",
    "find_training_runs",
    "have_positions",
    "order_checkpoints",
    "pairs",
    "providers",
    "range_ranks",
    "rank",
    "read_positions",
    "wrong_order",
]
