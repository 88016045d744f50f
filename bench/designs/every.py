"""Intervals of scores and differences in every design, and the tests where there is nothing to find.

Three ways to generate an evaluation, after NOISE appendix F:

- bernoulli: questions drawn from a Beta population, generations from Bernoulli(p_q): Beta(.6, .4), an easy one,
  Beta(1.8, .2), and one of Beta(5, 2) with 30 % hopeless questions, which is no Beta;
- resampled: questions drawn with replacement from published matrices: 48 models on the 500 questions of MATH500 and 50
  on the 30 of AIME 2024, another model or pair each time, whose means of 1,100 generations stand for P(correct);
- stratified: the first N questions of MATH500 each time, once each, so that the claim is `these-questions`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from designs.data import Array, ask, covers, make_cells
from designs.engine import ALPHA, LEVEL, LOWEST, Table, guarantee, slack
from howsure.stats.comparisons import compare, pairs, providers, rank
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import DifferenceMethod, IntervalMethod, MeanClaim, ProviderMethod
from howsure.stats.repeats import repeats
from howsure.stats.scores import score
from published_results import load_published

QUESTIONS, GENERATIONS = (20, 100, 500, 5000), (1, 2, 5, 50)
BETAS = {"bernoulli": (0.6, 0.4), "bernoulli, easy": (1.8, 0.2)}
PUBLISHED = {"resampled, MATH500": "math500_cot", "resampled, AIME": "aime2024_cot", "stratified": "math500_cot"}
#: Questions, generations, and what is irregular: "unequal" counts, 10 % "missing", or "clusters" of five.
Grid = tuple[int, int, str]
FULL: list[Grid] = [(N, K, "") for N in QUESTIONS for K in GENERATIONS]
FULL += [(100, K, irregular) for irregular in ("unequal", "missing", "clusters") for K in (1, 5)]

T = TypeVar("T", bound=np.generic)

published = cache(lambda name: load_published(name).mean)


def repeat_clusters(values: NDArray[T], N: int, irregular: str) -> NDArray[T]:
    """Return values of N questions from those of clusters of five, or as they are."""
    return np.repeat(values, 5, axis=1)[:, :N] if irregular == "clusters" else values


def draw(process: str, grid: Grid, trials: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return P(correct), shape (trials, N), and the estimand, shape (trials,)."""
    N, _, irregular = grid
    if process in PUBLISHED:
        return resample(process, grid, rng, rng.integers(0, 48, (1, trials)))[0]
    size = (trials, -(-N // 5) if irregular == "clusters" else N)
    if process in BETAS:
        a, b = BETAS[process]
        p, mean = rng.beta(a, b, size), a / (a + b)
    else:
        p, mean = np.where(rng.random(size) < 0.3, 0, rng.beta(5, 2, size)), 0.5
    return repeat_clusters(p, N, irregular), np.full(trials, mean)


def draw_pair(process: str, grid: Grid, trials: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return P(correct) of two models on the same questions, and the true difference, (trials,)."""
    N, _, irregular = grid
    if process in PUBLISHED:
        models = np.array([rng.choice(48, 2, replace=False) for _ in range(trials)]).T
        (p, mean), (q, other) = resample(process, grid, rng, models)
        return p, q, mean - other
    # Two models of equal expected score: half of the questions as hard for both, half drawn anew.
    p, q = (draw(process, grid, trials, rng)[0] for _ in range(2))
    shared = rng.random((trials, -(-N // 5) if irregular == "clusters" else N)) < 0.5
    return p, np.where(repeat_clusters(shared, N, irregular), p, q), np.zeros(trials)


def resample(
    process: str, grid: Grid, rng: np.random.Generator, models: NDArray[np.integer]
) -> list[tuple[Array, Array]]:
    """Return P(correct) and the estimand of each row of `models` (rows, trials), on questions that rows share."""
    N, _, irregular = grid
    matrix = published(PUBLISHED[process])
    size = (models.shape[1], -(-N // 5) if irregular == "clusters" else N)
    question = rng.integers(0, matrix.shape[1], size)
    if process == "stratified":
        question = np.broadcast_to(np.arange(N) % matrix.shape[1], size)
    drawn = [matrix[row[:, None], repeat_clusters(question, N, irregular)] for row in models]
    return [(p, p.mean(axis=1) if process == "stratified" else matrix[row].mean(axis=1))
            for p, row in zip(drawn, models, strict=True)]  # fmt: skip


def answer(p: Array, grid: Grid, rng: np.random.Generator) -> Cells:
    """Return one evaluation a row."""
    N, K, irregular = grid
    n = np.full(p.shape, K)
    if irregular == "unequal":
        n = rng.integers(1, 2 * K, p.shape)
    if irregular == "missing":
        n = np.where(rng.random(p.shape) < 0.1, 0, n)
    return ask(p, n, rng, clusters=tuple(str(q // 5) for q in range(N)) if irregular == "clusters" else None)


def methods(grid: Grid, claim: MeanClaim) -> list[IntervalMethod | None]:
    """Return the intervals that make this claim on such data; None is the default."""
    N, K, irregular = grid
    if claim == "these-questions" or irregular == "clusters":
        return [None, "t", "clt"]
    small: list[IntervalMethod | None] = ["wilson", "exact"] if N <= 100 and K == 1 and irregular != "unequal" else []
    return [None, "wilson-effective", "t", "clt", *small]


def measure(process: str, grid: Grid, trials: int) -> Iterator[tuple[str, str, Array, Array]]:
    """Yield claim, interval, coverage and width: of the intervals of a score, then of those of a difference."""
    N, K, irregular = grid
    claim: MeanClaim = "these-questions" if process == "stratified" else "new-questions"
    rng = np.random.default_rng([N, K, len(process), len(irregular)])
    p, truth = draw(process, grid, trials, rng)
    cells = answer(p, grid, rng)
    if claim == "these-questions":  # those that were answered
        truth = np.mean(p, axis=1, where=cells.answered)
    for method in methods(grid, claim):
        between = score(cells, claim=claim, method=method).interval(LEVEL)
        yield claim, method or "default", covers(between.low, between.high, truth), between.high - between.low
    rng = np.random.default_rng([N, K, len(process), len(irregular), 2])
    p, q, truth = draw_pair(process, grid, trials // 2, rng)
    first, second = answer(p, grid, rng), answer(q, grid, rng)
    if claim == "these-questions":
        truth = np.mean(p - q, axis=1, where=first.answered & second.answered)
    of_differences: tuple[DifferenceMethod | None, ...] = (None, "t", "clt")
    for of_difference in of_differences:
        limits = np.empty((trials // 2, 2))
        for i in range(trials // 2):
            n, total = (np.array([getattr(cells, name)[i] for cells in (first, second)]) for name in ("n", "total"))
            pair = make_cells(n, total, clusters=first.clusters)
            between = compare(pair, "0", "1", claim=claim, method=of_difference).interval(LEVEL)
            limits[i] = between.low[0], between.high[0]
        held = covers(limits[:, 0], limits[:, 1], truth)
        yield f"difference, {claim}", of_difference or "default", held, limits @ [-1, 1]


@guarantee(
    {"Every design": "process | N | K | irregular | claim | interval | coverage | ± | mean width | low"},
    quick={"parts": [(20, 1, ""), (100, 5, ""), (100, 5, "clusters")], "trials": 400},
    full={"parts": FULL, "trials": 2000},
)
def every_design(table: Table, part: Grid, trials: int) -> None:
    N, K, irregular = part
    trials = trials if N <= 500 else 2 * trials // 5
    for process in (*BETAS, "bernoulli, some hopeless", *PUBLISHED):
        if process == "stratified" and (K == 1 or irregular == "clusters"):
            continue  # one generation says nothing of this claim; clusters are not what varies
        for claim, method, held, width in measure(process, part, trials):
            covered, error = float(held.mean()), slack(LEVEL, len(held), 1)
            known = width[~np.isnan(width)]
            low = "low" if covered < LEVEL - 3 * error else ""
            mean_width = float(known.mean()) if known.size else np.nan
            table.add(process, N, K, irregular, claim, method, covered, error, mean_width, low)
            if method == "default":
                table.check(covered >= LOWEST - 3 * error, f"{process}, {part}, {claim}: covers {covered:.3f}")


def summarize(rows: list[list[Any]]) -> Table:
    """Return the lowest coverage of each interval, over everything it was asked."""
    table = Table("At a glance", ["interval", "rows", "lowest coverage", "rows below 0.93", "mean coverage"])
    for claim, method in dict.fromkeys((row[4], row[5]) for row in rows):
        covered = np.array([row[6] for row in rows if (row[4], row[5]) == (claim, method)])
        low = int(np.sum(covered < LOWEST))
        table.add(f"{method}, {claim}", len(covered), float(covered.min()), low, float(covered.mean()))
    return table


def ask_beta(n: int, N: int, trials: int, sets: int) -> list[list[Cells]]:
    """Return sets of n runs of the same questions; models of one batch are independent evaluations."""
    rng = np.random.default_rng([n, N])
    p = rng.beta(0.6, 0.4, (trials, N))
    return [[ask(p, 1, rng) for _ in range(n)] for _ in range(sets)]


def find_families(N: int, trials: int) -> dict[str, NDArray[np.bool_]]:
    """Six models in three tied twos: a false claim within a two, and a rank set without the true ranks."""
    rng = np.random.default_rng([6, N])
    levels = np.repeat([-0.5, 0.0, 0.5], 2)
    first = np.array([1, 1, 3, 3, 5, 5])  # the lowest level makes questions easiest
    false = np.zeros((4, trials), dtype=bool)
    for trial in range(trials):
        difficulty, own = rng.normal(0, 1.5, N), rng.normal(0, 0.7, (6, N))
        p = 1 / (1 + np.exp(difficulty + levels[:, None] + own))
        cells, single = ask(p, 3, rng), ask(p, 1, rng)
        compared = pairs(cells)
        tied = levels[compared.a] == levels[compared.b]
        columns = rank(cells).columns()
        place = [columns["model"].tolist().index(str(m)) for m in range(6)]
        low, high = columns["rank_low_all"][place], columns["rank_high_all"][place]
        # A tied two may stand in either order: a set misses when it has neither of their ranks.
        false[:, trial] = (
            compared.interval().p_value[0] < ALPHA,
            pairs(single).p_sign[0] < ALPHA,
            np.any(compared.p_holm[tied] < ALPHA),
            np.any((low > first + 1) | (high < first)),
        )
    tests = ("paired t of two equal models", "exact sign test of two equal models")
    return dict(zip((*tests, "any false claim among all pairs, Holm", "any rank set without a true rank"), false,
                    strict=True))  # fmt: skip


@guarantee(
    {"Tests when there is nothing to find, at 5 %": "test | N | rejected | ±"},
    quick={"parts": QUESTIONS, "trials": 100},
    full={"parts": QUESTIONS, "trials": 4000},
)
def sizes(table: Table, part: int, trials: int) -> None:
    trials = trials if part <= 500 else trials // 8
    rejected = {}
    for n in (2, 5, 10):
        rejected[f"drift of {n} runs"] = repeats(ask_beta(n, part, trials, 1)[0]).drift_p < ALPHA
    rules: tuple[ProviderMethod, ...] = ("stratified", "run-means")
    for method in rules:
        for n in (2, 5):
            first, second = ask_beta(n, part, trials, 2)
            rate = providers(first, second, method=method, alpha=0)
            rejected[f"two providers, {method}, {n} runs each"] = rate.interval().p_value < ALPHA
    for name, found in (rejected | find_families(part, trials // 4)).items():
        table.add(name, part, float(np.mean(found)), slack(ALPHA, len(found), 1))
