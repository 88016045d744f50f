"""Wrong verdicts of `howsure gate`: false alarms, passes at the margin, and verdicts at the bar, at alpha = .05.

- **No change**: candidate and baseline have the same P(correct) on every question, half of the suites mixed and half
  Beta(.8, .5) (bench/gate.py). A failure is a false alarm.
- **Large changes, equal means**: half of the questions lose .4 and half gain .4. Single questions did change, so what
  counts is whether the gate says that the *mean* is worse.
- **Worse by exactly the margin** of .05: the same loss on every question, or 20 % of the questions lose .45 and 20 %
  gain .2. A pass is wrong.
- **At the bar**: the expected score is the bar, so both a pass and a failure are wrong.

For the claim on new questions, the kinds of questions are drawn, too, and the expectation over them is what counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checked_tables import Checks, markdown_table, print_sections
from gate import ALPHA, SUITES, draw_suite, make_cells
from howsure.stats.core.claims import MEAN_CLAIMS, MeanClaim
from howsure.stats.gate import RegressionGate, compare_with_bar, compare_with_baseline

Array = NDArray[np.float64]

MARGIN = 0.05
QUESTIONS = (5, 20, 100, 500, 5000)
GENERATIONS = (1, 5, 50)


class Truth(NamedTuple):
    """P(correct) of baseline and candidate on every question, shape (2, N)."""

    p: Array
    #: Expected score of the candidate over the questions that the claim is about.
    score: float = np.nan


def draw_unchanged(N: int, _claim: MeanClaim, rng: np.random.Generator) -> Truth:
    """Return a candidate that is the baseline."""
    p = draw_suite(SUITES[rng.integers(2)], N, rng)
    return Truth(np.stack([p, p]))


def draw_exchanged(N: int, claim: MeanClaim, rng: np.random.Generator) -> Truth:
    """Return a candidate with the mean of the baseline and large changes of single questions."""
    p = rng.uniform(0.45, 0.55, N)
    sign = rng.choice([-1.0, 1.0], N) if claim == "new-questions" else np.where(np.arange(N) % 2, 1.0, -1.0)
    if claim == "these-questions" and N % 2:
        sign[-1] = 0.0
    return Truth(np.stack([p, p + 0.4 * sign]))


def draw_equal_loss(N: int, _claim: MeanClaim, rng: np.random.Generator) -> Truth:
    """Return a candidate that loses the margin on every question."""
    p = rng.uniform(0.1, 0.95, N)
    return Truth(np.stack([p, p - MARGIN]))


def draw_unequal_loss(N: int, claim: MeanClaim, rng: np.random.Generator) -> Truth:
    """Return a candidate that loses the margin on average: a fifth of the questions lose .45, a fifth gain .2."""
    p = rng.uniform(0.45, 0.8, N)
    kind = rng.integers(0, 5, N) if claim == "new-questions" else np.arange(N) % 5
    return Truth(np.stack([p, p + np.select([kind == 0, kind == 1], [-0.45, 0.2], 0.0)]))


def draw_at_bar(N: int, claim: MeanClaim, rng: np.random.Generator) -> Truth:
    """Return a candidate and its expected score."""
    p = rng.uniform(0.7, 1.0, N)
    return Truth(np.stack([p, p]), 0.85 if claim == "new-questions" else float(p.mean()))


def decide(truth: Truth, K: int, claim: MeanClaim, rng: np.random.Generator) -> RegressionGate:
    """Return the gate of K generations of both."""
    right = rng.binomial(K, truth.p)
    return compare_with_baseline(make_cells(K, right), "candidate", "baseline", margin=MARGIN, claim=claim)


def is_at_bar_wrong(verdict: str) -> Callable[..., bool]:
    """Return a function that draws a candidate at the bar and returns whether it gets this verdict."""

    def is_wrong(N: int, K: int, claim: MeanClaim, rng: np.random.Generator) -> bool:
        truth = draw_at_bar(N, claim, rng)
        cells = make_cells(K, rng.binomial(K, truth.p))
        return compare_with_bar(cells, "candidate", truth.score, claim=claim).verdict == verdict

    return is_wrong


#: What is wrong, and a function that draws data and returns whether it happened.
WRONG: dict[str, Callable[..., bool]] = {
    "no change: fails": lambda N, K, claim, rng: decide(draw_unchanged(N, claim, rng), K, claim, rng).verdict == "fail",
    "equal means: mean worse": lambda N, K, claim, rng: (
        decide(draw_exchanged(N, claim, rng), K, claim, rng).is_mean_worse
    ),
    "equal loss of the margin: passes": lambda N, K, claim, rng: (
        decide(draw_equal_loss(N, claim, rng), K, claim, rng).verdict == "pass"
    ),
    "unequal loss of the margin: passes": lambda N, K, claim, rng: (
        decide(draw_unequal_loss(N, claim, rng), K, claim, rng).verdict == "pass"
    ),
    "at the bar: passes": is_at_bar_wrong("pass"),
    "at the bar: fails": is_at_bar_wrong("fail"),
}


def sections(*, quick: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the table of wrong verdicts; every share is at most alpha, up to three Monte-Carlo standard errors."""
    checks = Checks()
    rows: list[list[object]] = []
    designs = [(20, 1), (20, 5)] if quick else [(N, K) for N in QUESTIONS for K in GENERATIONS]
    for claim in MEAN_CLAIMS:
        for N, K in designs:
            trials = 20 if quick else 80 if N > 500 else 240
            error = float(np.sqrt(ALPHA * (1 - ALPHA) / trials))
            row: list[object] = [claim, str(N), str(K), str(trials)]
            for i, (name, is_wrong) in enumerate(WRONG.items()):
                rng = np.random.default_rng([N, K, i, MEAN_CLAIMS.index(claim)])
                share = float(np.mean([is_wrong(N, K, claim, rng) for _ in range(trials)]))
                checks.check(share <= ALPHA + 3 * error, f"{name}, {claim}, N = {N}, K = {K}: {share:.3f}")
                row.append(share)
            rows.append(row)
    yield "The gate: shares of wrong verdicts, at 5 %", markdown_table(["claim", "N", "K", "trials", *WRONG], rows)
    checks.finish()


if __name__ == "__main__":
    print_sections(sections)
