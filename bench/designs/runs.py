"""Generations that are not independent, and runs until an interval is narrow.

Generations of N questions in k repetitions, P(correct) from Beta(.6, .4). *One seed*: in each repetition one uniform
number u is drawn, and a share of the questions is right where u < P(correct), as where a program or a server begins
each repetition with its seed anew; the others are drawn independently. The interval is that of `howsure.score` for
these questions, whose truth is the mean P(correct); *times too narrow* is the standard deviation of the score over the
evaluations, over the root of its mean squared error as printed. A warning is given where the test that is run when
results are read has p below .001.

How often two and three runs of independent generations are said to agree too much (`repeats`, p below .05) is counted
where scores lie on a lattice and most questions do not vary.
"""

from __future__ import annotations

from itertools import product

import numpy as np

import howsure
from designs.data import ask
from designs.engine import ALPHA, LOWEST, Table, guarantee, slack
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import StoppingRule
from howsure.stats.repeats import repeats
from howsure.stats.repeats.independence import CHANCE, compute_request_p_value, find_shared_noise
from howsure.stats.scores import score
from howsure.stats.sequential import check_stopping


def read(y: object) -> Cells:
    """Return scores of (models, questions, generations) with each of them kept."""
    each = np.asarray(y, float)
    models, questions = ([f"{name}{i}" for i in range(size)] for name, size in zip("mq", each.shape[:2], strict=True))
    return Cells.from_scores("demo", models, questions, each.tolist())


@guarantee(
    {"Shared seeds: {n:,} evaluations of each design, these questions":
     "generations | questions | repetitions | covered | times too narrow | warned of"},
    quick={"n": 60},
    full={"n": 2000},
)  # fmt: skip
def seeds(table: Table, n: int) -> None:
    designs = ((100, 5, 1.0), (40, 3, 1.0), (100, 5, 0.2), (30, 20, 0.0), (40, 3, 0.0), (100, 5, 0.0), (500, 10, 0.0))
    for i, (N, k, shared) in enumerate(designs):
        rng, rows = np.random.default_rng([7, i]), np.empty((4, n))
        for at in range(n):
            p = rng.beta(0.6, 0.4, N)
            u = np.where(np.arange(N)[:, None] < shared * N, rng.random(k), rng.random((N, k)))
            cells = read([u < p[:, None]])
            result = howsure.score(cells, claim="these-questions")
            (low,), (high,), (value,), (se,) = (
                np.asarray(result[name], float) for name in ("low", "high", "score", "se")
            )
            assert cells.outcomes is not None
            rows[:, at] = (
                value - p.mean(),
                se,
                low <= p.mean() <= high,
                find_shared_noise(cells.outcomes[0])[0] < CHANCE,
            )
        covered, warned = float(rows[2].mean()), float(rows[3].mean())
        factor = np.sqrt(np.mean(rows[0] ** 2) / np.mean(rows[1] ** 2))
        name = f"one seed for {shared:.0%} of the questions" if shared else "independent"
        table.add(name, N, k, covered, f"{factor:.1f}", f"{warned:.4f}")
        if not shared:
            table.check(covered >= LOWEST - slack(covered, n), f"{N} x {k}: covers {covered:.3f}")
            table.check(warned <= 0.002 + slack(0.002, n), f"{N} x {k}: {warned:.4f} are warned of")


@guarantee(
    {"Runs of independent generations that are said to agree too much, 100 questions": "scores | runs | said of"},
    quick={"trials": 1},
    full={"trials": 40},
)
def agreeing(table: Table, trials: int) -> None:
    """Fifty models at a time; scores, the number of steps from 0 to 1, the share of questions that vary by a step."""
    lattices = (("0 and 1", 1, 0.3), ("quarters", 4, 0.1), ("quarters", 4, 0.3), ("fifths", 5, 0.2))
    for (name, steps, wavering), runs in product(lattices, (2, 3)):
        rng, found = np.random.default_rng([8, steps, round(100 * wavering), runs]), []
        for _ in range(trials):
            base = rng.integers(0, steps, (50, 100))
            moves = (rng.random((50, 100)) < wavering)[..., None] & (rng.random((50, 100, runs)) < 0.5)
            y = (base[..., None] + moves) / steps
            found.append(np.mean(repeats([read(y[..., r, None]) for r in range(runs)]).alike_p < ALPHA))
        share = float(np.mean(found))
        table.add(name, runs, share)
        table.check(share <= ALPHA + slack(ALPHA, 50 * trials), f"{name}, {runs} runs: {share:.3f} agree too much")


@guarantee(
    {"Requests of several generations, these questions":
     "generations | questions | requests | choices | covered | each by itself | as units"},
    quick={"n": 15},
    full={"n": 500},
)  # fmt: skip
def requests(table: Table, n: int) -> None:
    """Whether the rule covers, whether generations by themselves do, and whether requests are units."""
    for size, apart in product(((100, 2, 5), (100, 5, 2), (300, 2, 10)), (0.0, 0.5)):
        N, requests, choices = size
        rng, outcomes = np.random.default_rng([9, N, requests, round(10 * apart)]), np.empty((3, n))
        for i in range(n):
            ease = rng.uniform(0.3, 0.7, (N, 1))
            chance = ease + apart * np.where(rng.random((N, requests)) < 0.5, 0.5, -0.5)
            y = (rng.random(size) < chance[..., None]).astype(float)
            at = np.arange(N * requests)
            is_unit = (
                compute_request_p_value(np.repeat(at // requests, choices), np.repeat(at, choices), y.ravel()) < CHANCE
            )
            both = [score(read([v]), claim="these-questions").interval() for v in (y.reshape(N, -1), y.mean(axis=2))]
            each, unit = (bool(one.low[0] <= ease.mean() <= one.high[0]) for one in both)
            outcomes[:, i] = unit if is_unit else each, each, is_unit
        shares = outcomes.mean(axis=1).tolist()
        name = "deployments .5 apart" if apart else "independent"
        table.add(name, *size, *shares)
        table.check(shares[0] >= LOWEST - slack(LOWEST, n), f"{name}, {size}: covers {shares[0]:.3f}")


RULES: dict[StoppingRule, str] = {
    "prediction": "PI's, prediction interval of run means",
    "run-means": "confidence interval of run means",
    "pooled": "pooled variance (default of a width)",
    "sequence": "confidence sequence (default of a difference)",
}
STOPPED = "rule | truth missed at the stop | at any look | median rounds"


def stop(table: Table, width: float, rounds: int, trials: int) -> None:
    """Run 100 questions until an interval is narrower than `width`, and see whether it has the truth in it."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.6, 0.4, (trials, 100))
    truth = p.mean(axis=1)
    stopped, missed, ever = ({rule: np.zeros(trials) for rule in RULES} for _ in range(3))
    runs = [ask(p, 1, rng)]
    so_far = runs[0]
    for t in range(2, rounds + 1):
        runs.append(run := ask(p, 1, rng))
        so_far = so_far + run
        for rule in RULES:
            still = stopped[rule] == 0
            if not still.any():
                continue
            now = check_stopping(runs if rule in {"prediction", "run-means"} else so_far, width, rule=rule)
            wrong = (truth < now.score - now.half) | (truth > now.score + now.half)
            ever[rule][still & wrong] = 1
            ends = still & now.stop
            stopped[rule][ends], missed[rule][ends] = t, wrong[ends]
    median = {rule: np.median(np.where(at > 0, at, rounds)) for rule, at in stopped.items()}
    share = missed["pooled"].mean()
    table.check(share <= 0.06 + 3 * np.sqrt(0.06 / trials), f"width {width}: the pooled rule misses {share:.3f}")
    table.check(1.4 * median["pooled"] <= median["sequence"], f"width {width}: rounds are {median}")
    for rule, name in RULES.items():
        done = stopped[rule] > 0
        at_stop = float(missed[rule][done].mean()) if done.any() else np.nan
        table.add(name, at_stop, float(ever[rule].mean()), f"{median[rule]:.0f}", f"{np.mean(~done):.2f}")


@guarantee(
    {"Stopping when the interval is narrow": f"{STOPPED} | not stopped in 200"},
    quick={"rounds": 0, "trials": 0},
    full={"rounds": 200, "trials": 600},
)
def narrow(table: Table, rounds: int, trials: int) -> None:
    if rounds:
        stop(table, 0.02, rounds, trials)


@guarantee(
    {"Stopping when the interval is narrow: width 0.06": f"{STOPPED} | not stopped in {{rounds}}"},
    quick={"rounds": 20, "trials": 100},
    full={"rounds": 40, "trials": 600},
)
def wider(table: Table, rounds: int, trials: int) -> None:
    stop(table, 0.06, rounds, trials)
