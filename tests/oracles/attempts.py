"""Several attempts at one question: pass@k, pass^k and majority@k, each by listing every set of k attempts.

Readings taken where section 7 leaves a choice:
- pass@k and pass^k choose k of the n attempts that were made, without replacement; NaN where n < k;
- majority@k: the most frequent answer of the k wins, equal ones win with equal chance;
- an answer None (nothing could be parsed) has no vote; where nobody votes the question is wrong;
- over a benchmark, the plain mean of the questions that were answered, NaN as soon as one of them has n < k.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from fractions import Fraction
from itertools import combinations, product

from oracles.components import Number, Questions


def pass_at(scores: Sequence[float], k: int) -> Number:
    """Chance that at least one of k attempts succeeds."""
    return share_of_subsets(scores, k, any)


def pass_all(scores: Sequence[float], k: int) -> Number:
    """pass^k: chance that all k attempts succeed."""
    return share_of_subsets(scores, k, all)


def share_of_subsets(scores: Sequence[float], k: int, holds) -> Number:
    if any(score not in {0, 1} for score in scores):
        raise ValueError("attempts succeed or fail: scores are 0 or 1")
    if len(scores) < k:
        return math.nan
    subsets = list(combinations(scores, k))
    return Fraction(sum(holds(score == 1 for score in subset) for subset in subsets), len(subsets))


def majority_at(
    answers: Sequence[Hashable], right: Collection[Hashable], k: int, *, replacement: bool = False
) -> Number:
    """Chance that the most frequent of k answers is one of `right`."""
    if len(answers) < k and not replacement:
        return math.nan
    picks = list(product(answers, repeat=k) if replacement else combinations(answers, k))
    return sum((vote(votes, right) for votes in picks), Fraction(0)) / len(picks)


def vote(votes: Sequence[Hashable], right: Collection[Hashable]) -> Fraction:
    """Chance that the winner is right; ties are drawn by lot."""
    counts = Counter(answer for answer in votes if answer is not None)
    if not counts:
        return Fraction(0)
    winners = [answer for answer, count in counts.items() if count == max(counts.values())]
    return Fraction(sum(answer in right for answer in winners), len(winners))


def over_questions(questions: Questions, k: int, one) -> Number:
    """Mean over the answered questions of `pass_at` or `pass_all`."""
    values = [one(row, k) for row in questions if len(row) > 0]
    return sum(values) / len(values) if values else math.nan
