"""Count how often intervals hold the score where questions of a repetition share a seed, and how often one is warned.

Generations of N questions in k repetitions, P(correct) from Beta(.6, .4). *One seed*: in each repetition one uniform
number u is drawn, and a share of the questions is right where u < P(correct), as where a program or a server begins
each repetition with its seed anew; the others are drawn independently. *Independent*: all are.

The interval is that of `howsure.score` for these questions, whose truth is the mean P(correct); *times too narrow* is
the standard deviation of the score over the evaluations, over the root of its mean squared error as printed. A warning
is given where the test that is run when results are read has p below .001.

The second table counts how often two and three runs of independent generations are said to agree too much
(`repeats`, p below .05) where scores lie on a lattice and most questions do not vary.

`python bench/shared_seeds.py` prints the table; a claim that fails ends it with an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import howsure
from checked_tables import Checks, markdown, print_sections
from howsure.stats.repeats import repeats
from howsure.stats.repeats.independence import CHANCE, compute_request_p_value, find_shared_noise
from howsure.stats.scores import score

Array = NDArray[np.float64]


class Design(NamedTuple):
    """Questions, repetitions, and the share of the questions that share a seed."""

    n_questions: int
    n_generations: int
    shared: float


DESIGNS = (
    Design(100, 5, 1.0),
    Design(40, 3, 1.0),
    Design(100, 5, 0.2),
    Design(30, 20, 0.0),
    Design(40, 3, 0.0),
    Design(100, 5, 0.0),
    Design(500, 10, 0.0),
)


#: Scores, the number of steps between 0 and 1, and the share of questions that vary by a step.
LATTICES = (("0 and 1", 1, 0.3), ("quarters", 4, 0.1), ("quarters", 4, 0.3), ("fifths", 5, 0.2))


class Evaluation(NamedTuple):
    """Score of one evaluation, its true mean, its printed standard error, whether it is covered, and warned of."""

    score: float
    truth: float
    se: float
    is_covered: bool
    is_warned: bool


def evaluate(design: Design, rng: np.random.Generator) -> Evaluation:
    """Return what howsure says of one evaluation."""
    N, k = design.n_questions, design.n_generations
    p = rng.beta(0.6, 0.4, N)
    u = np.where(np.arange(N)[:, None] < design.shared * N, rng.random(k), rng.random((N, k)))
    right = (u < p[:, None]).astype(float)
    cells = howsure.Cells.from_scores("demo", ["m"], [f"q{i}" for i in range(N)], right[None].tolist())
    result = howsure.score(cells, claim="these-questions")
    (low,), (high,) = (np.asarray(result[name], float) for name in ("low", "high"))
    assert cells.outcomes is not None
    warned, _ = find_shared_noise(cells.outcomes[0])
    truth = float(p.mean())
    return Evaluation(float(result["score"][0]), truth, float(result["se"][0]), low <= truth <= high, warned < CHANCE)


def sections(*, quick: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the title and the table, and raise AssertionError where a claim does not hold."""
    checks, rows = Checks(), []
    n = 60 if quick else 2000
    for i, design in enumerate(DESIGNS):
        rng = np.random.default_rng([7, i])
        each = [evaluate(design, rng) for _ in range(n)]
        covered, warned = (np.mean([getattr(one, name) for one in each]) for name in ("is_covered", "is_warned"))
        spread = np.sqrt(np.mean([(one.score - one.truth) ** 2 for one in each]))
        factor = spread / np.sqrt(np.mean([one.se**2 for one in each]))
        name = "independent" if not design.shared else f"one seed for {design.shared:.0%} of the questions"
        error = np.sqrt(covered * (1 - covered) / n)
        rows.append(
            [name, design.n_questions, design.n_generations, f"{covered:.3f}", f"{factor:.1f}", f"{warned:.4f}"]
        )
        if not design.shared:
            checks.check(covered >= 0.93 - 3 * error, f"{design}: covers {covered:.3f}")
            checks.check(warned <= 0.002 + 3 * np.sqrt(0.002 / n), f"{design}: {warned:.4f} are warned of")
    columns = ["generations", "questions", "repetitions", "covered", "times too narrow", "warned of"]
    yield f"Shared seeds: {n:,} evaluations of each design, these questions", markdown(columns, rows)
    rows = []
    for (name, steps, wavering), runs in product(LATTICES, (2, 3)):
        rng = np.random.default_rng([8, steps, round(100 * wavering), runs])
        found = np.mean([count_agreeing(runs, steps, wavering, rng) for _ in range(n // 50)])
        rows.append([name, runs, f"{found:.3f}"])
        checks.check(found <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n), f"{name}, {runs} runs: {found:.3f} agree too much")
    yield (
        "Runs of independent generations that are said to agree too much, 100 questions",
        markdown(["scores", "runs", "said of"], rows),
    )
    rows = []
    for (N, requests, choices), apart in product(((100, 2, 5), (100, 5, 2), (300, 2, 10)), (0.0, 0.5)):
        rng = np.random.default_rng([9, N, requests, round(10 * apart)])
        outcomes = np.array([judge_requests((N, requests, choices), apart, rng) for _ in range(n // 4)])
        of_rule, of_each, units = outcomes.mean(axis=0)
        rows.append(["deployments .5 apart" if apart else "independent", N, requests, choices,
                     f"{of_rule:.3f}", f"{of_each:.3f}", f"{units:.3f}"])  # fmt: skip
        checks.check(of_rule >= 0.93 - 3 * np.sqrt(0.93 * 0.07 / (n // 4)), f"requests {rows[-1]}")
    header = ["generations", "questions", "requests", "choices", "covered", "each by itself", "as units"]
    yield "Requests of several generations, these questions", markdown(header, rows, 1)
    checks.finish()


def judge_requests(size: tuple[int, int, int], apart: float, rng: np.random.Generator) -> tuple[bool, bool, bool]:
    """Return whether the rule covers, whether generations by themselves do, and whether requests are units."""
    N, requests, choices = size
    ease = rng.uniform(0.3, 0.7, (N, 1))
    chance = ease + apart * np.where(rng.random((N, requests)) < 0.5, 0.5, -0.5)
    y = (rng.random(size) < chance[..., None]).astype(float)
    at = np.arange(N * requests)
    p = compute_request_p_value(np.repeat(at // requests, choices), np.repeat(at, choices), y.ravel())
    covered = []
    for values in (y.mean(axis=2), y.reshape(N, -1)):
        cells = howsure.Cells.from_scores("demo", ["m"], [f"q{q}" for q in range(N)], [values.tolist()])
        limits = score(cells, claim="these-questions").interval()
        covered.append(bool(limits.low[0] <= ease.mean() <= limits.high[0]))
    is_unit = bool(p < CHANCE)
    return covered[0 if is_unit else 1], covered[1], is_unit


def count_agreeing(runs: int, steps: int, wavering: float, rng: np.random.Generator) -> float:
    """Return the share of 50 models whose independent runs are said to agree too much."""
    base = rng.integers(0, steps, (50, 100))
    moves = (rng.random((50, 100)) < wavering)[..., None] & (rng.random((50, 100, runs)) < 0.5)
    y = (base[..., None] + moves) / steps
    names = [f"m{m}" for m in range(50)], [f"q{q}" for q in range(100)]
    each = [howsure.Cells.from_scores("demo", *names, y[..., r, None].tolist()) for r in range(runs)]
    return float(np.mean(repeats(each).alike_p < 0.05))


if __name__ == "__main__":
    print_sections(sections)
