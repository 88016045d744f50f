"""Coverage of means over benchmarks and subjects, and the size of the test of their differences.

One evaluation has strata of fixed size, whose levels are fixed too unless the claim is about new ones. "Printed / true"
is the root mean squared error that is printed over the spread of the estimates; "by --cluster" the same of the error
for new subjects, which is what `--cluster subject` alone prints.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from designs.data import Array, Ints, ask
from designs.engine import ALPHA, Table, guarantee, monte_carlo_error
from howsure.stats.comparisons import compare
from howsure.stats.core.cells import Strata
from howsure.stats.core.claims import AVERAGES, Average, Claim
from howsure.stats.scores import score

RNG = np.random.default_rng(32)
SUBJECTS, FOUR, LEVELS = RNG.integers(20, 120, 57), np.array([500, 200, 50, 30]), np.array([0.9, 0.6, 0.4, 0.2])
#: Name, questions of each stratum, its mean level, how far levels of questions lie apart, generations, claim.
SCORES: tuple[tuple[str, Ints, Array, float, int, Claim], ...] = (
    ("57 subjects, levels .2 to .95", SUBJECTS, RNG.uniform(0.2, 0.95, 57), 0.0, 1, "new-questions"),
    ("57 subjects, questions differ", SUBJECTS, RNG.uniform(0.2, 0.95, 57), 1.0, 1, "new-questions"),
    ("8 benchmarks of 12", np.full(8, 12), RNG.uniform(0.3, 0.8, 8), 1.0, 2, "new-questions"),
    ("500, 200, 50, 30 questions", FOUR, LEVELS, 1.0, 3, "new-questions"),
    ("the same, these questions", FOUR, LEVELS, 1.0, 3, "these-questions"),
    ("4 saturated, 500 to 30", FOUR, np.full(4, 0.97), 0.0, 1, "new-questions"),
    ("12 benchmarks, new ones", np.full(12, 40), np.full(12, 0.6), 1.0, 1, "new-benchmarks"),
)
#: Name, questions of each stratum, share of questions on which two equal models may differ.
DIFFERENCES = (
    ("8 benchmarks of 12", np.full(8, 12), 1.0),
    ("8 benchmarks of 30", np.full(8, 30), 1.0),
    ("8 benchmarks of 100", np.full(8, 100), 1.0),
    ("57 subjects", SUBJECTS, 1.0),
    ("500, 200, 50, 30 questions", FOUR, 1.0),
    ("10 of 50, 3 % differ", np.full(10, 50), 0.06),
    ("500, 200, 50, 30 questions, 3 % differ", FOUR, 0.06),
)


def stratify(sizes: Ints, average: Average) -> Strata:
    return Strata(tuple(str(s) for s in np.repeat(np.arange(len(sizes)), sizes)), average)


def list_averages(sizes: Ints) -> tuple[Average, ...]:
    """Return both averages; one for strata of one size, whose averages are the same."""
    return AVERAGES if len(set(sizes.tolist())) > 1 else AVERAGES[:1]


def draw_p(level: Array, spread: float, sizes: Ints, rng: np.random.Generator) -> Array:
    """Return P(correct) of each question, whose mean in a stratum is its level."""
    mean = np.repeat(level, sizes)
    return rng.beta(2 * mean / spread, 2 * (1 - mean) / spread)[None] if spread else mean[None]


@guarantee(
    {"Means over benchmarks and subjects, nominal .95, {draws} draws":
     "strata | average | covered | ± | printed / true | by --cluster"},
    quick={"draws": 20},
    full={"draws": 400},
)  # fmt: skip
def means(table: Table, draws: int) -> None:
    for name, sizes, level, spread, k, claim in SCORES:
        for average in list_averages(sizes):
            rng = np.random.default_rng([len(name), k])
            weight = np.full(len(sizes), 1 / len(sizes)) if average == "macro" else sizes / sizes.sum()
            fixed = draw_p(level, spread, sizes, rng)
            right, errors, values, clustered = np.zeros((4, draws))
            for i in range(draws):
                here = np.clip(rng.normal(level, 0.12), 0.05, 0.95) if claim == "new-benchmarks" else level
                p = fixed if claim == "these-questions" else draw_p(here, spread, sizes, rng)
                strata = stratify(sizes, average)
                cells = ask(p, k, rng, strata=strata)
                result = score(cells, claim=claim)
                between = result.interval()
                parts = np.split(p[0], np.cumsum(sizes)[:-1])
                truth = weight @ ([part.mean() for part in parts] if claim == "these-questions" else level)
                right[i] = between.low[0] <= truth <= between.high[0]
                values[i], errors[i] = result.score[0], result.variance[0]
                if average == "micro" and claim == "new-questions":
                    clustered[i] = score(replace(cells, strata=None, clusters=strata.names)).variance[0]
            table.covers(f"{name}, {average}", right)
            printed, by_cluster = (np.sqrt([errors.mean(), clustered.mean()]) / values.std()).tolist()
            numbers = float(right.mean()), monte_carlo_error(right), printed
            table.add(name, average, *numbers, by_cluster if clustered.any() else "")


@guarantee(
    {"Equal models: differences of means that are called significant at .05, {draws} draws":
     "strata | average | rejected | ±"},
    quick={"draws": 20},
    full={"draws": 400},
)  # fmt: skip
def differences(table: Table, draws: int) -> None:
    for name, sizes, share in DIFFERENCES:
        for average in list_averages(sizes):
            rng = np.random.default_rng([len(name), len(sizes)])
            kept = np.zeros(draws)
            for i in range(draws):
                p = np.repeat(draw_p(np.full(len(sizes), 0.6), 1.0, sizes, rng), 2, axis=0)
                certain = rng.random(p.shape[1]) >= share
                p[:, certain] = p[:, certain] > 0.5
                p[:, ~certain] = 0.5 if share < 1 else p[:, ~certain]
                compared = compare(ask(p, 1, rng, strata=stratify(sizes, average)), "0", "1")
                kept[i] = compared.interval().p_value[0] >= ALPHA
            table.covers(f"{name}, {average}", kept)
            table.add(name, average, float(1 - kept.mean()), monte_carlo_error(kept))
