"""The statistics of a report at its usual size: 50 models x 500 questions x 50 generations."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from howsure.stats.comparisons import pairs, rank
from howsure.stats.core.cells import Cells
from howsure.stats.prompts import required_variants
from howsure.stats.questions import compute_question_tau, estimate_p_correct
from howsure.stats.repeats import convergence, run_gap
from howsure.stats.scores import bootstrap_limits, fit_beta, score

REPEATS = 3


def drawn(M: int, N: int, k: int) -> Cells:
    """Binary generations of M models of different skill on questions of different difficulty."""
    rng = np.random.default_rng(0)
    skill, difficulty = np.linspace(-1.5, 1.5, M)[:, None], rng.normal(0, 1.5, N)
    total = rng.binomial(k, 1 / (1 + np.exp(difficulty - skill))).astype(float)
    return Cells("drawn", tuple(map(str, range(M))), tuple(map(str, range(N))), np.full((M, N), k), total, total)


def best(ask: Callable[[], object]) -> float:
    """Shortest wall time of a few calls, in seconds."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        ask()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> int:
    cells, many = drawn(50, 500, 50), drawn(1000, 1000, 10).mean
    measured: dict[str, tuple[Callable[[], object], str]] = {
        "scores with intervals": (lambda: score(cells).columns(), ""),
        "all pairs with p-values": (lambda: pairs(cells).columns(), ""),
        "ranks": (lambda: rank(cells).columns(), ""),
        "Beta fits": (lambda: fit_beta(cells), ""),
        "P(correct) with posteriors": (lambda: estimate_p_correct(cells).columns(), ""),
        "Kendall tau of each question": (lambda: compute_question_tau(cells).columns(), ""),
        "gap of single runs": (lambda: run_gap(cells, runs=50).columns(), ""),
    }
    alone: dict[str, tuple[Callable[[], object], str]] = {
        "convergence, 1,000 trials, k = 1..50, one model": (
            lambda: convergence(cells.select(["25"]), method="resampled"),
            "",
        ),
        "n* of mean and variance, 100 variants, one model": (
            lambda: required_variants(("m",), np.random.default_rng(0).normal(0.6, 0.03, 100)),
            "target 0.1 s",
        ),
        "the interval of 1,000 models x 1,000 questions": (
            lambda: bootstrap_limits(many, np.ones(many.shape, bool)),
            "target 1 s",
        ),
    }
    with threadpool_limits(1, user_api="blas"):
        print("50 models x 500 questions x 50 generations")
        total = 0.0
        for name, (ask, _) in measured.items():
            seconds = best(ask)
            total += seconds
            print(f"  {name:50} {seconds:8.3f} s")
        print(f"  {'together':50} {total:8.3f} s   target 1 s")
        for name, (ask, target) in alone.items():
            print(f"  {name:50} {best(ask):8.3f} s   {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
