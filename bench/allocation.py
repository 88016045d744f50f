"""Adaptive allocation against asking every question alike, on replayed math500 and CRUXEval results.

Generations are drawn from recorded rates. Adaptive runs are sampled in the stages of `sample.adaptive`, planned by
`stats.allocation.allocate` and weighed as wholes (`stats.staged.merged`); the claim is about these questions, as the
error for new questions is mostly that of the questions.

Columns: `stages`, generations per question after each; `saved`, the share of generations that adaptive needs less than
asking alike for the same standard error, which is 1 - 1/expected; `oracle`, the same for who knows every question's
variance beforehand (Neyman 1934, in whole generations): nobody can save more. `expected` and `gain`, squared error of
asking alike over that of adaptive at the same budget, given the counts that were allocated, and as measured +- its
Monte-Carlo error. `cover`, how often the 95 % interval holds the true score, adaptive and alike, +- the same. `bias`
in standard errors, away from 1/2, and its largest over models (of none, by chance about .35). Then the same
generations pooled as they came: why they are not.
"""

from __future__ import annotations

import sys
import time
from functools import reduce
from itertools import pairwise
from operator import add
from typing import NamedTuple

import numpy as np

from howsure.sample.adaptive import compute_next_stage, compute_pilot
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.scores import fit_beta, score
from howsure.stats.sequential import allocate_generations, estimate_question_sd, merge_stages, score_variance
from published_results import load_published

TABLES = {"math500": "math500_cot", "CRUXEval": "CRUXEval-output-T0.8"}
GENERATIONS = (5, 10, 20, 50, 100)
MODELS, REPEATS = 16, 36


def rates(cells: Cells, rng: np.random.Generator) -> FloatArray:
    """P(correct) to draw from, shape (MODELS, N), of models from the weakest to the strongest.

    Where fewer than 100 generations are recorded, 0 of 10 is not never: drawn from the posterior under the fitted Beta.
    """
    complete = [model for model, has in zip(cells.models, cells.answered, strict=True) if has.all()]
    cells = cells.select(complete)
    order = np.argsort(cells.mean.mean(axis=1))
    cells = cells.select([cells.models[i] for i in order[np.linspace(0, len(order) - 1, MODELS).astype(int)]])
    if cells.n.min() >= 100:
        return cells.mean
    fit = fit_beta(cells)
    return rng.beta(fit.a[:, None] + cells.total, fit.b[:, None] + cells.n - cells.total)


def drawn(n: IntArray, p: FloatArray, rng: np.random.Generator) -> Cells:
    """Cells of so many generations of each question."""
    right = rng.binomial(n, p).astype(float)
    models, questions = (tuple(f"{name}{i}" for i in range(size)) for name, size in zip("mq", n.shape, strict=True))
    return Cells("replay", models, questions, n, right, right)


class Judged(NamedTuple):
    """How one way of sampling and weighing did, over all runs of all models."""

    gain: float
    gain_error: float
    cover: float
    cover_error: float
    bias: float
    largest: float


class Row(NamedTuple):
    """One line of the table."""

    expected: float
    oracle: float
    adaptive: Judged
    alike: Judged
    pooled: Judged


def ends(generations: int) -> list[int]:
    """Generations per question after each stage."""
    row = [compute_pilot(generations)]
    while row[-1] < generations:
        row.append(compute_next_stage(row[-1], generations))
    return row


def sampled(P: FloatArray, generations: int, rng: np.random.Generator) -> list[Cells]:
    """The stages of an adaptive run of each row of P, by themselves."""
    N, reached = P.shape[1], ends(generations)
    samples = [drawn(np.full(P.shape, reached[0]), P, rng)]
    for before, end in pairwise(reached):
        so_far = reduce(add, samples)
        each = (allocate_generations(so_far.select([model]), N * (end - before)) for model in so_far.models)
        samples.append(drawn(np.vstack([one.more for one in each]), P, rng))
    return samples


def compare(p: FloatArray, generations: int, rng: np.random.Generator) -> Row:
    """Adaptive, even and pooled runs of each model, REPEATS of each."""
    P = np.repeat(p, REPEATS, axis=0)
    N, truth, v = p.shape[1], P.mean(axis=1), P * (1 - P)
    even = score_variance(v, np.full(P.shape, generations))  # squared error of asking alike, exactly
    samples = sampled(P, generations, rng)
    counts = np.array([stage.n for stage in samples])
    # Premise: the same budget, all of it spent, and nobody starved.
    assert np.all(counts.sum(axis=(0, 2)) == generations * N)
    assert counts.min() >= 1
    w = 1 / np.array([score_variance(estimate_question_sd(reduce(add, samples)) ** 2, n) for n in counts])[..., None]
    given = np.sum((w / w.sum(axis=0)) ** 2 * v / counts, axis=(0, 2)) / N**2
    nothing, v_known = drawn(np.zeros(p.shape, int), p, rng), p * (1 - p)
    each = (
        allocate_generations(nothing.select([m]), N * generations, sd=np.sqrt(v_known[[i]]))
        for i, m in enumerate(nothing.models)
    )
    best = np.vstack([one.more for one in each])
    ideal = score_variance(v_known, best) / even[::REPEATS]

    def judged(cells: Cells) -> Judged:
        result = score(cells, claim="these-questions")
        error, between = result.score - truth, result.interval()
        biases = (error / np.sqrt(even)).reshape(len(p), REPEATS).mean(axis=1) * np.sign(p.mean(axis=1) - 0.5)
        squares = error**2 / even
        gain, cover = 1 / squares.mean(), np.mean((between.low <= truth) & (truth <= between.high))
        return Judged(
            gain=float(gain),
            gain_error=float(gain**2 * squares.std() / np.sqrt(len(P))),
            cover=float(cover),
            cover_error=float(np.sqrt(cover * (1 - cover) / len(P))),
            bias=float(biases.mean()),
            largest=float(np.abs(biases).max()),
        )

    adaptive, pooled = judged(merge_stages(samples)), judged(reduce(add, samples))
    alike = judged(drawn(np.full(P.shape, generations), P, rng))
    row = Row(float(1 / np.mean(given / even)), float(1 / ideal.mean()), adaptive, alike, pooled)
    # Never worse than asking alike, never better than who knows; coverage is kept.
    assert 1 <= row.expected <= row.oracle
    assert adaptive.cover > 0.95 - 4 * adaptive.cover_error
    return row


def main() -> int:
    rng, start = np.random.default_rng(0), time.perf_counter()
    print(f"{MODELS} models x {REPEATS} runs; 95 % intervals for the score on these questions\n")
    print(f"{'':38}{'adaptive, weighed by samples':^52}{'asked alike':^14}{'adaptive, pooled':^31}")
    print(
        f"{'data':9}{'k':>3}  {'stages':16}{'saved':>7}{'oracle':>8}{'expected':>10}{'gain':>13}{'cover %':>12}"
        f"{'bias':>7}{'largest':>8}{'cover %':>12}{'gain':>8}{'cover %':>9}{'bias':>7}{'largest':>8}"
    )
    for name, table in TABLES.items():
        p = rates(load_published(table), rng)
        for k in GENERATIONS:
            row = compare(p, k, rng)
            one, alike, pooled = row.adaptive, row.alike, row.pooled
            print(
                f"{name:9}{k:3}  {' '.join(map(str, ends(k))):16}{1 - 1 / row.expected:7.1%}{1 - 1 / row.oracle:8.1%}"
                f"{row.expected:10.3f}{one.gain:7.2f} ± {one.gain_error:.2f}"
                f"{100 * one.cover:7.1f} ±{100 * one.cover_error:3.1f}{one.bias:+7.2f}{one.largest:8.2f}"
                f"{100 * alike.cover:7.1f} ±{100 * alike.cover_error:3.1f}"
                f"{pooled.gain:8.2f}{100 * pooled.cover:9.1f}{pooled.bias:+7.2f}{pooled.largest:8.2f}"
            )
    print(f"\n{time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
