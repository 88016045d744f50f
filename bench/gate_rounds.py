"""Generations until the verdict of `howsure gate experiment.yaml`, beside the fixed design of the same power.

A baseline has 16 generations of each question. The candidate is sampled in rounds of 1, 2, 4, 8 and 16 generations per
question, with a fifth of alpha at each look, until the verdict is clear: that is what the command does. A fixed design
samples K generations and looks once, with all of alpha. The table has the shares of clear verdicts and of wrong ones,
the mean number of generations per question of the candidate, and the smallest K of a fixed design whose share of clear
verdicts is as large. A failure is wrong without change, a pass where the loss is 5 points or more: the margin is .05.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from checked_tables import markdown_table
from gate import ALPHA, SUITES, draw_suite, make_cells, plant
from howsure.stats.core.claims import GateVerdict
from howsure.stats.gate import compare_with_baseline

MARGIN = 0.05
MOST = 16
LOOKS = (1, 2, 4, 8, 16)
QUESTIONS = (20, 100, 500)
SCENARIOS = ("no change", "mean -2 points", "mean -5 points", "mean -10 points")


def decide(right: NDArray[np.int64], K: int, baseline: NDArray[np.int64], alpha: float) -> GateVerdict:
    """Return the verdict on K generations per question, of which `right` (N,) are right, against the baseline."""
    n = np.broadcast_to(np.array([[MOST], [K]]), (2, len(right)))
    cells = make_cells(n, np.stack([baseline, right]))
    return compare_with_baseline(cells, "candidate", "baseline", margin=MARGIN, alpha=alpha).verdict


def is_wrong(verdict: GateVerdict, scenario: str) -> bool:
    """Return whether a verdict is wrong."""
    if scenario == SCENARIOS[0]:
        return verdict == "fail"
    return verdict == "pass" and -int(scenario.split()[1]) / 100 >= MARGIN


def measure(suite: str, N: int, scenario: str, trials: int) -> list[object]:
    """Return a row of the table."""
    rng = np.random.default_rng([SUITES.index(suite), N, SCENARIOS.index(scenario)])
    spent, clear, wrong = np.zeros(trials), 0, 0
    fixed = np.zeros(MOST, dtype=int)
    for i in range(trials):
        p = draw_suite(suite, N, rng)
        answers = rng.random((MOST, N)) < plant(scenario, p, rng)
        baseline, right = rng.binomial(MOST, p), np.cumsum(answers, axis=0)
        verdict: GateVerdict = "inconclusive"
        for K in LOOKS:
            verdict = decide(right[K - 1], K, baseline, ALPHA / len(LOOKS))
            spent[i] = K
            if verdict != "inconclusive":
                break
        clear += verdict != "inconclusive"
        wrong += is_wrong(verdict, scenario)
        fixed += [decide(right[K - 1], K, baseline, ALPHA) != "inconclusive" for K in range(1, MOST + 1)]
    as_often = np.flatnonzero(fixed >= clear)
    same = str(as_often[0] + 1) if len(as_often) else f"more than {MOST}"
    error = float(spent.std() / np.sqrt(trials))
    return [
        suite, str(N), scenario, f"{clear / trials:.2f}", f"{wrong / trials:.3f}", f"{spent.mean():.1f} ± {error:.1f}",
        same,
    ]  # fmt: skip


def sections(*, trials: int = 200) -> Iterator[tuple[str, str]]:
    """Yield the table."""
    rows = [measure(suite, N, scenario, trials) for suite in SUITES for N in QUESTIONS for scenario in SCENARIOS]
    header = ["suite", "N", "change", "clear", "wrong", "generations", "fixed K of the same power"]
    yield f"Generations until a verdict, {trials} experiments each", markdown_table(header, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=200, help="experiments of each row")
    for title, text in sections(trials=parser.parse_args().trials):
        print(f"### {title}\n\n{text}\n")
