"""Coverage of scores of few questions, or of questions few of which vary, of pass@k, and of graded differences.

On these very questions: the same ones each time, generations drawn from the probability of each. The rule in force
takes the narrower of two intervals, Wilson's for as many independent answers and the exact one of binomial answers;
the first alone is shown beside it.

On new questions: each drawn anew from a population, some of them of two kinds, of which the rarer may not be among few
questions. No claim is made below 25 questions, of a kind as rare as one in ten, and of one generation, where the
interval is Jeffreys' of a proportion, whose coverage goes up and down with N. Graded scores have one generation each;
Student's t, and how often a note has its limits, are beside the interval in force.

Of differences of graded scores, some of which collapse on rare questions: beside Student's t, with the share of
comparisons whose note says that rare differences would make the interval wider.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from designs.data import Array, Ints, ask, covers, make_cells
from designs.engine import Table, guarantee
from howsure.stats.comparisons import RARE_DIFFERENCES, compare
from howsure.stats.core.intervals import Interval
from howsure.stats.questions import estimate_pass_at_k
from howsure.stats.scores import NO_END, score

#: A draw of values of questions.
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]


def summarize(between: Interval, truth: float, at: Any = slice(None)) -> tuple[Array, float, float]:
    """Return whether each interval covers, the share, and the mean width of those that are there."""
    low, high = between.low[at], between.high[at]
    covered, width = covers(low, high, truth), high - low
    known = width[~np.isnan(width)]
    return covered, float(covered.mean()), float(known.mean()) if known.size else np.nan


#: Probability of a right answer of each of N questions.
PROBABILITIES: dict[str, Callable[[int], Array]] = {
    "all .005": lambda N: np.full(N, 0.005),
    "all .1": lambda N: np.full(N, 0.1),
    "all .5": lambda N: np.full(N, 0.5),
    "one .3, others 0": lambda N: np.where(np.arange(N) < 1, 0.3, 0.0),
    "two .5, others 1": lambda N: np.where(np.arange(N) < 2, 0.5, 1.0),
    "Beta(.3, .3)": lambda N: np.asarray(stats.beta.ppf((np.arange(N) + 0.5) / N, 0.3, 0.3), dtype=float),
}
#: How many generations question i of N has, of `k` at most, and questions from which on a claim is made. None is made
#: where one question has far fewer generations than the others: that it varies may not be seen.
COUNTS: dict[str, tuple[Callable[[int, int], Ints], float]] = {
    "equal": (np.full, 2),
    "one 2": (lambda N, k: np.where(np.arange(N) < 1, 2, k), float("inf")),
    "1 to k": (lambda N, k: 1 + np.arange(N) % k, 12),
}


@guarantee(
    {"Scores of these questions, few of which vary":
     "counts | N | k | P(correct) | in force | mean width | Wilson's alone | mean width"},
    quick={"sizes": (3, 12), "trials": 1000},
    full={"sizes": (3, 12, 100), "trials": 2000},
)  # fmt: skip
def these_questions(table: Table, sizes: tuple[int, ...], trials: int) -> None:
    for (counts, (count, fewest)), N in product(COUNTS.items(), sizes):
        for k, (named, probabilities) in product((2, 6, 20) if counts == "equal" else (20,), PROBABILITIES.items()):
            p, n = probabilities(N), np.tile(count(N, k), (trials, 1))
            cells = ask(p, n, np.random.default_rng([N, k, len(table.rows)]))
            ours, wilson = (
                summarize(score(cells, claim="these-questions", method=method).interval(), p.mean())
                for method in (None, "wilson-effective")
            )
            if fewest <= N:
                table.covers(f"{counts}, N = {N}, k = {k}, {named}", ours[0])
            table.add(counts, str(N), str(k), named, *ours[1:], *wilson[1:])


def mix(share: float, rare: Any, common: Any) -> Draw:
    """Return draws of two kinds of questions: numbers, or a and b of a Beta distribution."""

    def draw(rng: np.random.Generator, size: tuple[int, ...]) -> Array:
        is_rare = rng.random(size) < share
        kinds = [rng.beta(one[0], one[1], size) if isinstance(one, tuple) else one for one in (rare, common)]
        return np.asarray(np.where(is_rare, kinds[0], kinds[1]))

    return draw


#: Draws of the probability of a right answer, their mean, and whether a claim is made.
POPULATIONS: dict[str, tuple[Draw, float, bool]] = {
    "Beta(.6, .4)": (lambda rng, size: rng.beta(0.6, 0.4, size), 0.6, True),
    "Beta(.2, .2)": (lambda rng, size: rng.beta(0.2, 0.2, size), 0.5, True),
    "Beta(1.8, .2)": (lambda rng, size: rng.beta(1.8, 0.2, size), 0.9, True),
    "half .95, half .3": (mix(0.5, 0.95, 0.3), 0.625, True),
    "one in five .9, others .05": (mix(0.2, 0.9, 0.05), 0.22, True),
    "one in ten .9, others .02": (mix(0.1, 0.9, 0.02), 0.108, False),
    "3 in 200 never right, others always": (lambda rng, size: (rng.random(size) > 0.015).astype(float), 0.985, True),
    "all .003": (lambda _, size: np.full(size, 0.003), 0.003, False),
}


@guarantee(
    {"Scores of few new questions":
     "population | N | 1 generation | mean width | 5 | mean width | 1 to 40 | mean width"},
    quick={"sizes": (4, 25), "trials": 1000},
    full={"sizes": (2, 3, 4, 5, 10, 25, 50, 100, 300), "trials": 2000},
)  # fmt: skip
def new_questions(table: Table, sizes: tuple[int, ...], trials: int) -> None:
    for (population, (draw, mean, is_claimed)), N in product(POPULATIONS.items(), sizes):
        numbers: list[float] = []
        for most in (1, 5, 40):
            rng = np.random.default_rng([N, most, len(table.rows)])
            n = rng.integers(1, 41, (trials, N)) if most == 40 else np.full((trials, N), most)
            covered, *shares = summarize(score(ask(draw(rng, n.shape), n, rng)).interval(), mean)
            numbers += shares
            if N >= 25 and most > 1 and is_claimed:
                table.covers(f"{population}, N = {N}, {most} generations at most", covered)
        table.add(population, str(N), *numbers)


def draw_quarters(rng: np.random.Generator, size: tuple[int, ...]) -> Array:
    return np.array([0, 0.25, 0.5, 1])[rng.choice(4, size, p=[0.1, 0.2, 0.3, 0.4])]


#: Draws of graded scores of questions, one generation each, and their mean.
GRADED: dict[str, tuple[Draw, float]] = {
    "Beta(.5, .5)": (lambda rng, size: rng.beta(0.5, 0.5, size), 0.5),
    "Beta(2, 5)": (lambda rng, size: rng.beta(2, 5, size), 2 / 7),
    "Beta(.2, 2)": (lambda rng, size: rng.beta(0.2, 2, size), 0.2 / 2.2),
    "one in ten near .9, others near .02": (mix(0.1, (36, 4), (1, 49)), 0.108),
    "one in twenty 0, others near .91": (mix(0.05, 0.0, (20, 2)), 0.95 * 20 / 22),
    "3 in 100 0, others near .9": (mix(0.03, 0.0, (32, 3.6)), 0.97 * 32 / 35.6),
    "2 in 100 0, others near .85": (mix(0.02, 0.0, (16, 2.8)), 0.98 * 16 / 18.8),
    "all near .9": (lambda rng, size: rng.beta(32, 3.6, size), 32 / 35.6),
    "0, .25, .5 or 1": (draw_quarters, 0.6),
}


@guarantee(
    {"Graded scores of few new questions": "population | N | in force | mean width | t | mean width | with a note"},
    quick={"trials": 1000},
    full={"trials": 2000},
)
def graded(table: Table, trials: int) -> None:
    for (population, (draw, mean)), N in product(GRADED.items(), (10, 25, 50, 100, 300)):
        y = draw(np.random.default_rng([N, len(table.rows)]), (trials, N))
        found = score(make_cells(1, y, y**2))
        ours, t = (summarize(replace(found, method=method).interval(), mean) for method in (None, "t"))
        table.covers(f"{population}, N = {N}", ours[0])
        noted = float(np.mean([NO_END in note for note in found.columns()["note"]]))
        table.add(population, str(N), *ours[1:], *t[1:], noted)


def beta_powers(a: float, b: float) -> Callable[[int], Array]:
    """Return the expectations of p^k and (1 - p)^k of p ~ Beta(a, b), by k."""
    return lambda k: np.array([np.prod([(x + i) / (a + b + i) for i in range(k)]) for x in (a, b)])


#: Draws of the probability of a right answer, and the expectation of its k-th power and of that of a wrong one.
ATTEMPTED: dict[str, tuple[Draw, Callable[[int], Array]]] = {
    "Beta(.6, .4)": (lambda rng, size: rng.beta(0.6, 0.4, size), beta_powers(0.6, 0.4)),
    "Beta(.3, 3)": (lambda rng, size: rng.beta(0.3, 3, size), beta_powers(0.3, 3)),
    "nine in ten always right, others evenly from 0 to 1": (
        lambda rng, size: np.where(rng.random(size) < 0.9, 1, rng.random(size)),
        lambda k: np.array([0.9, 0]) + 0.1 / (k + 1),
    ),
    "17 in 20 never right, others evenly from 0 to 1": (
        lambda rng, size: np.where(rng.random(size) < 0.85, 0, rng.random(size)),
        lambda k: np.array([0, 0.85]) + 0.15 / (k + 1),
    ),
}


@guarantee(
    {"pass@k and pass^k of few new questions":
     "population | N | n | measure | k | in force | mean width | Wilson's | mean width"},
    quick={"sizes": (30,), "trials": 500},
    full={"sizes": (12, 30, 100), "trials": 1000},
)  # fmt: skip
def attempts(table: Table, sizes: tuple[int, ...], trials: int) -> None:
    for (population, (draw, powers)), N, n in product(ATTEMPTED.items(), sizes, (5, 10)):
        rows = len(table.rows)
        p = draw(np.random.default_rng([N, n, rows]), (trials, N))
        found = estimate_pass_at_k(ask(p, n, np.random.default_rng([N, n, rows + 1])), (2, 5))
        both = found.interval(), replace(found, estimates=None).interval()
        for measure, k in product(("pass@k", "pass^k"), (2, 5)):
            mean = 1 - powers(k)[1] if measure == "pass@k" else powers(k)[0]
            at: NDArray[np.bool_] = (np.array(found.measure) == measure) & (found.k == k)
            ours, wilson = (summarize(between, mean, at) for between in both)
            table.covers(f"{population}, N = {N}, n = {n}, {measure}, k = {k}", ours[0])
            table.add(population, str(N), str(n), measure, str(k), *ours[1:], *wilson[1:])


def collapse(rng: np.random.Generator, y: Array) -> Array:
    """Return scores of two models, of which the second has 0 on 3 in 100 questions."""
    collapsed: Array = y * [np.ones(y.shape[1]), rng.random(y.shape[1]) > 0.03]
    return collapsed


#: Draws of the graded scores of two models, whose expected scores differ by the number beside.
GRADED_PAIRS: dict[str, tuple[Draw, float]] = {
    "both near .9": (lambda rng, size: rng.beta(32, 3.6, size), 0.0),
    "both near .85, the second 0 on 3 in 100": (
        lambda rng, size: collapse(rng, rng.beta(42.5, 7.5, size)),
        0.03 * 0.85,
    ),
    "the same, others of both 1 half of the time": (
        lambda rng, size: collapse(rng, np.where(rng.random(size) < 0.5, 1, 0.85)),
        0.03 * 0.925,
    ),
    "0, .25, .5 or 1": (draw_quarters, 0.0),
    "Beta(.5, .5)": (lambda rng, size: rng.beta(0.5, 0.5, size), 0.0),
}


@guarantee(
    {"Differences of graded scores, new questions":
     "scores | N | in force | mean width | t | mean width | with a note | in force, without a note"},
    quick={"sizes": (30,), "trials": 250},
    full={"sizes": (15, 30, 50, 100, 300), "trials": 500},
)  # fmt: skip
def graded_differences(table: Table, sizes: tuple[int, ...], trials: int) -> None:
    for (named, (draw, true)), N in product(GRADED_PAIRS.items(), sizes):
        rng = np.random.default_rng([N, len(table.rows)])
        limits, is_noted = np.empty((2, 2, trials)), np.empty(trials, bool)
        for trial in range(trials):
            y = draw(rng, (2, N))
            cells = make_cells(1, y, y**2)
            result = compare(cells, "0", "1")
            for i, of_method in enumerate((result, compare(cells, "0", "1", method="t"))):
                between = of_method.interval()
                limits[i, :, trial] = between.low[0], between.high[0]
            is_noted[trial] = RARE_DIFFERENCES in result.columns()["note"][0]
        covered, width = covers(limits[:, 0], limits[:, 1], true), (limits[:, 1] - limits[:, 0]).mean(axis=1)
        unnoted = covered[0, ~is_noted]
        shares = [part for i in (0, 1) for part in (covered[i].mean(), width[i])]
        shares += [is_noted.mean(), unnoted.mean() if len(unnoted) else np.nan]
        table.add(named, str(N), *map(float, shares))
        if len(unnoted) > trials / 10:
            table.covers(f"{named}, N = {N}, without a note", unnoted)
