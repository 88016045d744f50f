"""Questions to demonstrate with, taken out of those that are evaluated."""

from __future__ import annotations

from dataclasses import replace

from howsure.benchmarks.question import Benchmark, Question
from howsure.errors import InputError
from howsure.perturb.draw import key

__all__ = ["hold_out"]


def hold_out(benchmark: Benchmark, k: int, seed: int) -> tuple[list[Question], Benchmark]:
    """Some questions of a benchmark, drawn by hash, and the benchmark without them.

    Which ones depends on the ids of the questions and the seed alone; a larger k keeps the first ones.

    Raises
    ------
    InputError
        When k is negative or leaves no question to evaluate.
    """
    n = len(benchmark.questions)
    if not 0 <= k < n:
        remedy = f"give 0 to {n - 1}" if n else "give a benchmark with questions"
        raise InputError(f"{k} of {n} questions held out", where="variants, hold_out", remedy=remedy)
    ranked = sorted(benchmark.questions, key=lambda question: key(seed, "hold out", question.id))
    held = {question.id for question in ranked[:k]}
    kept = [i for i, question in enumerate(benchmark.questions) if question.id not in held]
    rest = replace(
        benchmark,
        questions=[benchmark.questions[i] for i in kept],
        clusters=[benchmark.clusters[i] for i in kept] if benchmark.clusters else benchmark.clusters,
        source={**benchmark.source, "held_out": str(k), "held_out_seed": str(seed)} if k else benchmark.source,
    )
    return ranked[:k], rest
