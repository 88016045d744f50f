"""Wrong verdicts of `howsure gate`: false alarms, passes at the margin, and verdicts at the bar, at alpha = .05.

- **No change**: candidate and baseline have the same P(correct) on every question, half of the suites mixed (60 %
  always right, 20 % with P(correct) = .95, 20 % from .2 to .8), half Beta(.8, .5). A failure is a false alarm.
- **Large changes, equal means**: half of the questions lose .4 and half gain .4. Single questions did change, so what
  counts is whether the gate says that the *mean* is worse.
- **Worse by exactly the margin** of .05: the same loss on every question, or 20 % of the questions lose .45 and 20 %
  gain .2. A pass is wrong.
- **At the bar**: the expected score is the bar, so both a pass and a failure are wrong.

For the claim on new questions, the kinds of questions are drawn, too, and the expectation over them is what counts.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from designs.data import Array, ask
from designs.engine import ALPHA, Table, guarantee, slack
from howsure.stats.core.claims import MEAN_CLAIMS, MeanClaim
from howsure.stats.gate import RegressionGate, compare_with_bar, compare_with_baseline

MARGIN = 0.05
#: P(correct) of baseline and candidate on every question, shape (2, N).
Draw = Callable[[int, MeanClaim, np.random.Generator], Array]


def draw_unchanged(N: int, _claim: MeanClaim, rng: np.random.Generator) -> Array:
    if rng.integers(2):
        p = rng.beta(0.8, 0.5, N)
    else:
        p = np.ones(N)
        p[round(0.6 * N) : round(0.8 * N)] = 0.95
        p[round(0.8 * N) :] = rng.uniform(0.2, 0.8, N - round(0.8 * N))
    return np.stack([p, p])


def draw_exchanged(N: int, claim: MeanClaim, rng: np.random.Generator) -> Array:
    p = rng.uniform(0.45, 0.55, N)
    sign = rng.choice([-1.0, 1.0], N) if claim == "new-questions" else np.where(np.arange(N) % 2, 1.0, -1.0)
    if claim == "these-questions" and N % 2:
        sign[-1] = 0.0
    return np.stack([p, p + 0.4 * sign])


def draw_equal_loss(N: int, _claim: MeanClaim, rng: np.random.Generator) -> Array:
    p = rng.uniform(0.1, 0.95, N)
    return np.stack([p, p - MARGIN])


def draw_unequal_loss(N: int, claim: MeanClaim, rng: np.random.Generator) -> Array:
    p = rng.uniform(0.45, 0.8, N)
    kind = rng.integers(0, 5, N) if claim == "new-questions" else np.arange(N) % 5
    return np.stack([p, p + np.select([kind == 0, kind == 1], [-0.45, 0.2], 0.0)])


#: What is drawn, and whether the gate is wrong.
AGAINST_BASELINE: dict[str, tuple[Draw, Callable[[RegressionGate], bool]]] = {
    "no change: fails": (draw_unchanged, lambda gate: gate.verdict == "fail"),
    "equal means: mean worse": (draw_exchanged, lambda gate: bool(gate.is_mean_worse)),
    "equal loss of the margin: passes": (draw_equal_loss, lambda gate: gate.verdict == "pass"),
    "unequal loss of the margin: passes": (draw_unequal_loss, lambda gate: gate.verdict == "pass"),
}
AT_BAR = {"at the bar: passes": "pass", "at the bar: fails": "fail"}


def is_wrong(what: str, N: int, K: int, claim: MeanClaim, rng: np.random.Generator) -> bool:
    """Draw data and return whether the gate of K generations of both says what is wrong."""
    if what in AGAINST_BASELINE:
        draw, judge = AGAINST_BASELINE[what]
        return judge(compare_with_baseline(ask(draw(N, claim, rng), K, rng), "1", "0", margin=MARGIN, claim=claim))
    p = rng.uniform(0.7, 1.0, N)
    bar = 0.85 if claim == "new-questions" else float(p.mean())
    return compare_with_bar(ask(np.stack([p, p]), K, rng), "1", bar, claim=claim).verdict == AT_BAR[what]


@guarantee(
    {"The gate: shares of wrong verdicts, at 5 %":
     f"claim | N | K | trials | {' | '.join([*AGAINST_BASELINE, *AT_BAR])}"},
    quick={"parts": MEAN_CLAIMS, "sizes": ((20, 1), (20, 5)), "trials": 20},
    full={"parts": MEAN_CLAIMS, "sizes": [*product((5, 20, 100, 500, 5000), (1, 5, 50))], "trials": 240},
)  # fmt: skip
def gate(table: Table, part: MeanClaim, sizes: list[tuple[int, int]], trials: int) -> None:
    """Every share is at most alpha, up to three Monte-Carlo standard errors."""
    for N, K in sizes:
        n = trials if N <= 500 else trials // 3
        shares = []
        for i, what in enumerate((*AGAINST_BASELINE, *AT_BAR)):
            rng = np.random.default_rng([N, K, i, MEAN_CLAIMS.index(part)])
            shares.append(float(np.mean([is_wrong(what, N, K, part, rng) for _ in range(n)])))
            table.check(shares[-1] <= ALPHA + slack(ALPHA, n), f"{what}, {part}, {N} x {K}: {shares[-1]:.3f}")
        table.add(part, str(N), str(K), str(n), *shares)
