"""Every outcome of a tiny problem with its exact probability: expectations without simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product

Law = dict[Fraction, Fraction]
"""Score to its probability, of one generation of one question."""


def bernoulli(p: Fraction) -> Law:
    return {Fraction(0): 1 - p, Fraction(1): p}


def law_mean(law: Law) -> Fraction:
    return sum((score * chance for score, chance in law.items()), Fraction(0))


def law_variance(law: Law) -> Fraction:
    center = law_mean(law)
    return sum(((score - center) ** 2 * chance for score, chance in law.items()), Fraction(0))


def outcomes(laws: Sequence[Law], counts: Sequence[int]) -> Iterator[tuple[Fraction, list[list[Fraction]]]]:
    """(probability, questions) for every way in which question q can give counts[q] independent scores."""
    draws = [law for law, k in zip(laws, counts, strict=True) for _ in range(k)]
    for picks in product(*(law.items() for law in draws)):
        chance, left, questions = Fraction(1), [score for score, _ in picks], []
        for _, probability in picks:
            chance *= probability
        for k in counts:
            questions.append(left[:k])
            left = left[k:]
        yield chance, questions


def expectation(
    estimate: Callable[[list[list[Fraction]]], Fraction], laws: Sequence[Law], counts: Sequence[int]
) -> Fraction:
    """Exact mean of an estimator over all outcomes."""
    return sum((chance * estimate(questions) for chance, questions in outcomes(laws, counts)), Fraction(0))
