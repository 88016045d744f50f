"""Coverage of the default interval of a score of 0 and 1, where there are few questions or few of them vary.

On these very questions: the same ones each time, generations drawn from the probability of each. The rule in force
takes the narrower of two intervals, Wilson's for as many independent answers and the exact one of binomial answers.
The first alone is shown beside it; an interval that is not there covers nothing.

On new questions: each drawn anew from a population, some of them of two kinds, of which the rarer may not be among few
questions. No claim is made below `FEWEST_NEW` questions, of a kind as rare as one in ten, and of one generation, where
the interval is Jeffreys' of a proportion, whose coverage goes up and down with N. Graded scores have one generation
each; Student's t, and how often a note has its limits, are beside the interval in force.

Of k attempts at new questions: pass@k and pass^k of questions drawn anew, beside Wilson's interval for the effective
number of answers.

Of differences of graded scores, some of which collapse on rare questions: beside Student's t, with the share of
comparisons whose note says that rare differences would make the interval wider.

`python bench/small_designs.py` prints the tables; a claim that fails ends it with an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from checked_tables import LEVEL, as_floats, below_claim, markdown_table, print_sections
from howsure.stats.comparisons import RARE_DIFFERENCES, compare
from howsure.stats.core.cells import Cells
from howsure.stats.questions import estimate_pass_at_k
from howsure.stats.scores import NO_END, score

Array = NDArray[np.float64]

TRIALS = 2000
QUESTIONS = (3, 12, 100)
GENERATIONS = (2, 6, 20)

#: Probability of a right answer of each of N questions.
PROBABILITIES: dict[str, Callable[[int], Array]] = {
    "all .005": lambda N: np.full(N, 0.005),
    "all .1": lambda N: np.full(N, 0.1),
    "all .5": lambda N: np.full(N, 0.5),
    "one .3, others 0": lambda N: np.where(np.arange(N) < 1, 0.3, 0.0),
    "two .5, others 1": lambda N: np.where(np.arange(N) < 2, 0.5, 1.0),
    "Beta(.3, .3)": lambda N: np.asarray(stats.beta.ppf((np.arange(N) + 0.5) / N, 0.3, 0.3), dtype=float),
}

#: How many generations question i of N has, of `k` at most.
COUNTS: dict[str, Callable[[int, int], NDArray[np.int64]]] = {
    "equal": np.full,
    "one 2": lambda N, k: np.where(np.arange(N) < 1, 2, k),
    "1 to k": lambda N, k: 1 + np.arange(N) % k,
}

#: Questions from which on a claim is made. None is made where one question has far fewer generations than the others:
#: that it varies may not be seen.
FEWEST = {"equal": 2, "1 to k": 12, "one 2": float("inf")}


def tabulate_these(sizes: tuple[int, ...], trials: int, failures: list[str]) -> str:
    """Return coverage and mean width of each design; what falls short is appended to `failures`."""
    rows: list[list[object]] = []
    for counts, count in COUNTS.items():
        for N in sizes:
            for k in GENERATIONS if counts == "equal" else GENERATIONS[-1:]:
                for named, probabilities in PROBABILITIES.items():
                    p, n = probabilities(N), np.tile(count(N, k), (trials, 1))
                    total = np.random.default_rng([N, k, len(rows)]).binomial(n, p).astype(float)
                    models, questions = (tuple(map(str, range(size))) for size in n.shape)
                    cells = Cells("simulated", models, questions, n, total, total)
                    row: list[object] = [counts, str(N), str(k), named]
                    for method in (None, "wilson-effective"):
                        between = score(cells, claim="these-questions", method=method).interval(LEVEL)
                        covered = (between.low <= p.mean() + 1e-12) & (p.mean() - 1e-12 <= between.high)
                        width = between.high - between.low
                        row += as_floats(covered.mean(), np.mean(width[~np.isnan(width)]) if covered.any() else np.nan)
                        if method is None and FEWEST[counts] <= N:
                            failures += below_claim(" ".join(map(str, row[:4])), covered.astype(float))
                    rows.append(row)
    return markdown_table(
        ["counts", "N", "k", "P(correct)", "in force", "mean width", "Wilson's alone", "mean width"], rows
    )


#: Draws of the probability of a right answer of questions, shape `size`, and their mean.
POPULATIONS: dict[str, tuple[Callable[[np.random.Generator, tuple[int, int]], Array], float]] = {
    "Beta(.6, .4)": (lambda rng, size: rng.beta(0.6, 0.4, size), 0.6),
    "Beta(.2, .2)": (lambda rng, size: rng.beta(0.2, 0.2, size), 0.5),
    "Beta(1.8, .2)": (lambda rng, size: rng.beta(1.8, 0.2, size), 0.9),
    "half .95, half .3": (lambda rng, size: np.where(rng.random(size) < 0.5, 0.95, 0.3), 0.625),
    "one in five .9, others .05": (lambda rng, size: np.where(rng.random(size) < 0.2, 0.9, 0.05), 0.22),
    "one in ten .9, others .02": (lambda rng, size: np.where(rng.random(size) < 0.1, 0.9, 0.02), 0.108),
    "3 in 200 never right, others always": (lambda rng, size: (rng.random(size) > 0.015).astype(float), 0.985),
    "all .003": (lambda _, size: np.full(size, 0.003), 0.003),
}
NEW_QUESTIONS = (2, 3, 4, 5, 10, 25, 50, 100, 300)
FEWEST_NEW = 25
#: The populations of which no claim is made.
NO_CLAIM = {"one in ten .9, others .02", "all .003"}


def tabulate_new(sizes: tuple[int, ...], trials: int, failures: list[str]) -> str:
    """Return coverage for new questions and mean width of each design; what falls short is appended to `failures`."""
    rows: list[list[object]] = []
    for population, (draw, mean) in POPULATIONS.items():
        for N in sizes:
            row: list[object] = [population, str(N)]
            for generations, most in (("1", 1), ("5", 5), ("1 to 40", 40)):
                rng = np.random.default_rng([N, most, len(rows)])
                n = rng.integers(1, 41, (trials, N)) if generations == "1 to 40" else np.full((trials, N), most)
                total = rng.binomial(n, draw(rng, n.shape)).astype(float)
                models, questions = (tuple(map(str, range(size))) for size in n.shape)
                between = score(Cells("simulated", models, questions, n, total, total)).interval(LEVEL)
                covered = (between.low <= mean) & (mean <= between.high)
                row += as_floats(covered.mean(), np.nanmean(between.high - between.low))
                if FEWEST_NEW <= N and most > 1 and population not in NO_CLAIM:
                    failures += below_claim(f"{population}, N = {N}, {generations}", covered.astype(float))
            rows.append(row)
    header = ["population", "N", "1 generation", "mean width", "5", "mean width", "1 to 40", "mean width"]
    return markdown_table(header, rows)


#: Draws of graded scores of questions, one generation each, and their mean.
GRADED: dict[str, tuple[Callable[[np.random.Generator, tuple[int, int]], Array], float]] = {
    "Beta(.5, .5)": (lambda rng, size: rng.beta(0.5, 0.5, size), 0.5),
    "Beta(2, 5)": (lambda rng, size: rng.beta(2, 5, size), 2 / 7),
    "Beta(.2, 2)": (lambda rng, size: rng.beta(0.2, 2, size), 0.2 / 2.2),
    "one in ten near .9, others near .02": (
        lambda rng, size: np.where(rng.random(size) < 0.1, rng.beta(36, 4, size), rng.beta(1, 49, size)),
        0.108,
    ),
    "one in twenty 0, others near .91": (
        lambda rng, size: np.where(rng.random(size) < 0.05, 0.0, rng.beta(20, 2, size)),
        0.95 * 20 / 22,
    ),
    "3 in 100 0, others near .9": (
        lambda rng, size: np.where(rng.random(size) < 0.03, 0.0, rng.beta(32, 3.6, size)),
        0.97 * 32 / 35.6,
    ),
    "2 in 100 0, others near .85": (
        lambda rng, size: np.where(rng.random(size) < 0.02, 0.0, rng.beta(16, 2.8, size)),
        0.98 * 16 / 18.8,
    ),
    "all near .9": (lambda rng, size: rng.beta(32, 3.6, size), 32 / 35.6),
    "0, .25, .5 or 1": (
        lambda rng, size: np.array([0, 0.25, 0.5, 1])[rng.choice(4, size, p=[0.1, 0.2, 0.3, 0.4])],
        0.6,
    ),
}
GRADED_QUESTIONS = (10, 25, 50, 100, 300)


def tabulate_graded(sizes: tuple[int, ...], trials: int, failures: list[str]) -> str:
    """Return coverage of graded scores for new questions; what falls short is appended to `failures`."""
    rows: list[list[object]] = []
    for population, (draw, mean) in GRADED.items():
        for N in sizes:
            y = draw(np.random.default_rng([N, len(rows)]), (trials, N))
            models, questions = (tuple(map(str, range(size))) for size in y.shape)
            found = score(Cells("simulated", models, questions, np.ones(y.shape, int), y, y**2))
            row: list[object] = [population, str(N)]
            for method in (None, "t"):
                between = replace(found, method=method).interval(LEVEL)
                covered = (between.low <= mean) & (mean <= between.high)
                row += as_floats(covered.mean(), np.nanmean(between.high - between.low))
                if method is None:
                    failures += below_claim(f"{population}, N = {N}", covered.astype(float))
            rows.append([*row, *as_floats(np.mean([NO_END in note for note in found.columns()["note"]]))])
    return markdown_table(["population", "N", "in force", "mean width", "t", "mean width", "with a note"], rows)


def beta_powers(a: float, b: float, k: int) -> Array:
    """Return the expectations of p^k and (1 - p)^k of p ~ Beta(a, b)."""
    return np.array([np.prod([(x + i) / (a + b + i) for i in range(k)]) for x in (a, b)])


#: Draws of the probability of a right answer, and the expectation of its k-th power and of that of a wrong one.
ATTEMPTED: dict[str, tuple[Callable[[np.random.Generator, tuple[int, int]], Array], Callable[[int], Array]]] = {
    "Beta(.6, .4)": (lambda rng, size: rng.beta(0.6, 0.4, size), lambda k: beta_powers(0.6, 0.4, k)),
    "Beta(.3, 3)": (lambda rng, size: rng.beta(0.3, 3, size), lambda k: beta_powers(0.3, 3, k)),
    "nine in ten always right, others evenly from 0 to 1": (
        lambda rng, size: np.where(rng.random(size) < 0.9, 1, rng.random(size)),
        lambda k: np.array([0.9, 0]) + 0.1 / (k + 1),
    ),
    "17 in 20 never right, others evenly from 0 to 1": (
        lambda rng, size: np.where(rng.random(size) < 0.85, 0, rng.random(size)),
        lambda k: np.array([0, 0.85]) + 0.15 / (k + 1),
    ),
}
ATTEMPTS = (2, 5)


def tabulate_attempts(sizes: tuple[int, ...], trials: int, failures: list[str]) -> str:
    """Return coverage and mean width of k attempts for new questions; what falls short is appended to `failures`."""
    rows: list[list[object]] = []
    for population, (draw, powers) in ATTEMPTED.items():
        for N in sizes:
            for n in (5, 10):
                p = draw(np.random.default_rng([N, n, len(rows)]), (trials, N))
                total = np.random.default_rng([N, n, len(rows) + 1]).binomial(n, p).astype(float)
                models, questions = (tuple(map(str, range(size))) for size in p.shape)
                cells = Cells("simulated", models, questions, np.full(p.shape, n), total, total)
                attempts = estimate_pass_at_k(cells, ATTEMPTS)
                former = replace(attempts, estimates=None).interval(LEVEL)
                between = attempts.interval(LEVEL)
                for measure in ("pass@k", "pass^k"):
                    for k in ATTEMPTS:
                        right, wrong = powers(k)
                        mean = 1 - wrong if measure == "pass@k" else right
                        at = (np.array(attempts.measure) == measure) & (attempts.k == k)
                        row: list[object] = [population, str(N), str(n), measure, str(k)]
                        for limits in (between, former):
                            low, high = limits.low[at], limits.high[at]
                            covered = (low <= mean) & (mean <= high)
                            row += as_floats(covered.mean(), np.nanmean(high - low))
                            if limits is between:
                                failures += below_claim(" ".join(map(str, row[:5])), covered.astype(float))
                        rows.append(row)
    header = ["population", "N", "n", "measure", "k", "in force", "mean width", "Wilson's", "mean width"]
    return markdown_table(header, rows)


#: Draws of the graded scores of two models, shape (2, N), whose expected scores differ by the number beside.
GRADED_PAIRS: dict[str, tuple[Callable[[np.random.Generator, int], Array], float]] = {
    "both near .9": (lambda rng, N: rng.beta(32, 3.6, (2, N)), 0.0),
    "both near .85, the second 0 on 3 in 100": (
        lambda rng, N: rng.beta(42.5, 7.5, (2, N)) * [np.ones(N), rng.random(N) > 0.03],
        0.03 * 0.85,
    ),
    "the same, others of both 1 half of the time": (
        lambda rng, N: np.where(rng.random((2, N)) < 0.5, 1, 0.85) * [np.ones(N), rng.random(N) > 0.03],
        0.03 * 0.925,
    ),
    "0, .25, .5 or 1": (
        lambda rng, N: np.array([0, 0.25, 0.5, 1])[rng.choice(4, (2, N), p=[0.1, 0.2, 0.3, 0.4])],
        0.0,
    ),
    "Beta(.5, .5)": (lambda rng, N: rng.beta(0.5, 0.5, (2, N)), 0.0),
}


def tabulate_graded_differences(sizes: tuple[int, ...], trials: int, failures: list[str]) -> str:
    """Return coverage and mean width of differences of graded scores; what falls short is appended to `failures`."""
    rows: list[list[object]] = []
    for named, (draw, true) in GRADED_PAIRS.items():
        for N in sizes:
            rng = np.random.default_rng([N, len(rows)])
            found, is_noted = np.empty((trials, 2, 2)), np.empty(trials, bool)
            for trial in range(trials):
                y = draw(rng, N)
                cells = Cells("simulated", ("a", "b"), tuple(map(str, range(N))), np.ones(y.shape, int), y, y**2)
                result = compare(cells, "a", "b")
                for i, of_method in enumerate((result, compare(cells, "a", "b", method="t"))):
                    between = of_method.interval(LEVEL)
                    found[trial, i] = between.low[0], between.high[0]
                is_noted[trial] = RARE_DIFFERENCES in result.columns()["note"][0]
            covered = (found[:, :, 0] <= true) & (true <= found[:, :, 1])
            width = found[:, :, 1] - found[:, :, 0]
            unnoted = covered[~is_noted, 0].astype(float)
            row: list[object] = [named, str(N)]
            row += as_floats(*(part for i in (0, 1) for part in (covered[:, i].mean(), width[:, i].mean())))
            rows.append([*row, *as_floats(is_noted.mean(), unnoted.mean() if len(unnoted) else np.nan)])
            if len(unnoted) > trials / 10:
                failures += below_claim(f"{named}, N = {N}, without a note", unnoted)
    header = ["scores", "N", "in force", "mean width", "t", "mean width", "with a note", "in force, without a note"]
    return markdown_table(header, rows)


def sections(*, quick: bool) -> Iterator[tuple[str, str]]:
    """Yield titles and tables; raise AssertionError where a claim does not hold."""
    failures: list[str] = []
    trials = 1000 if quick else TRIALS
    yield (
        "Scores of these questions, few of which vary",
        tabulate_these(QUESTIONS[:2] if quick else QUESTIONS, trials, failures),
    )
    yield "Scores of few new questions", tabulate_new((4, 25) if quick else NEW_QUESTIONS, trials, failures)
    yield "Graded scores of few new questions", tabulate_graded(GRADED_QUESTIONS, trials, failures)
    yield (
        "pass@k and pass^k of few new questions",
        tabulate_attempts((30,) if quick else (12, 30, 100), trials // 2, failures),
    )
    yield (
        "Differences of graded scores, new questions",
        tabulate_graded_differences((30,) if quick else (15, 30, 50, 100, 300), trials // 4, failures),
    )
    assert not failures, "\n".join(failures)


if __name__ == "__main__":
    print_sections(sections)
