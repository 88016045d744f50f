"""Coverage with unequal numbers of generations, with missing ones, of future runs, and with graded scores.

- Unequal counts: 1 to 50 generations, half of the questions with 1 and half with 10, counts that go with difficulty.
- Missing: generations are lost because they are wrong, because they are right, or by chance; `--missing bounds` is to
  hold the score that all of them would have given. The old rule (Manski 1990) goes from the lower end of the interval
  with all missing ones wrong to the upper end of that with all of them right.
- Future runs: AIME 2024 with the published P(correct) of each question, 2 or 3 runs. The old rule is the pooled t
  interval, which is absent where no question varied.
- Scores beyond 0 and 1 that pass for [0, 1] by their sums: -.2 and .6 have equal sums of scores and of squares.
- Graded scores: differences on the questions at hand, whose pseudo-question has the size of a typical variance.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from scipy import special

import howsure
from designs.data import Array, Ints, ask, by_model, covers, make_cells
from designs.engine import LEVEL, Table, guarantee, monte_carlo_error
from howsure.stats.core.claims import IntervalMethod, MeanClaim
from published_results import load_published

#: Numbers of generations of each question, from P(correct).
COUNTS: dict[str, Callable[[Array, np.random.Generator], Ints]] = {
    "1 to 50": lambda p, rng: rng.integers(1, 51, p.shape),
    "half 1, half 10": lambda p, rng: np.where(rng.random(p.shape) < 0.5, 1, 10),
    "10 where hard, 2 where easy": lambda p, rng: np.where(p < 0.5, 10, 2) + rng.integers(0, 2, p.shape),
    "2 where hard, 10 where easy": lambda p, rng: np.where(p < 0.5, 2, 10) + rng.integers(0, 2, p.shape),
}


def find_old(mean: Array, n: Ints, within: Array, claim: MeanClaim) -> Array:
    """Return t limits for new questions, and normal ones from the variances of the questions for these questions."""
    N = mean.shape[-1]
    if claim == "new-questions":
        half = special.stdtrit(N - 1, 0.5 + LEVEL / 2) * mean.std(axis=-1, ddof=1) / np.sqrt(N)
    else:
        s2 = np.where(np.isnan(within), np.nanmean(within, axis=-1, keepdims=True), within)
        half = special.ndtri(0.5 + LEVEL / 2) * np.sqrt(np.mean(s2 / n, axis=-1) / N)
    return np.array([mean.mean(axis=-1) - half, mean.mean(axis=-1) + half])


@guarantee(
    {"Unequal numbers of generations": " | generations | N | claim | in force | ± | mean width | old"},
    quick={"draws": 120},
    full={"draws": 1200},
)
def unequal(table: Table, draws: int) -> None:
    """Scores, and differences of models that share half of their questions' difficulty."""
    for (name, count), N in itertools.product(COUNTS.items(), (30, 100)):
        rng = np.random.default_rng([N, len(name)])

        def add(what: str, claim: MeanClaim, limits: Array, old: Array, truth: Array | float,
                name: str = name, N: int = N) -> None:  # fmt: skip
            covered, width = covers(limits[0], limits[1], truth), float(np.nanmean(limits[1] - limits[0]))
            table.covers(f"{what}, {name}, N = {N}, {claim}", covered)
            before = float(covers(old[0], old[1], truth).mean())
            table.add(what, name, str(N), claim, float(covered.mean()), monte_carlo_error(covered), width, before)

        p = rng.beta(0.6, 0.4, (draws, N))
        n = count(p, rng)
        cells = ask(p, n, rng)
        truths: dict[MeanClaim, float | Array] = {"new-questions": 0.6, "these-questions": p.mean(axis=1)}
        for claim, truth in truths.items():
            limits = np.array(by_model(howsure.score(cells, claim=claim), "low", "high"))
            add("score", claim, limits, find_old(cells.mean, n, cells.within, claim), truth)
        other = np.where(rng.random(p.shape) < 0.5, p, rng.beta(0.6, 0.4, p.shape))[: draws // 4]
        n2 = count(other, rng)
        second = rng.binomial(n2, other).astype(float)
        limits, old = np.empty((2, 2, len(other)))
        for draw in range(len(other)):
            pair = make_cells(np.array([n[draw], n2[draw]]), np.array([cells.total[draw], second[draw]]))
            columns = howsure.compare(pair, "0", "1").columns()
            limits[:, draw] = columns["low"][0], columns["high"][0]
            old[:, draw] = find_old(pair.mean[0] - pair.mean[1], n[draw], pair.within[0], "new-questions")
        add("difference", "new-questions", limits, old, 0.0)


#: Chance that a wrong and that a right answer is lost, for each share of all that is lost.
LOSSES = {"all lost are wrong": (1 / 0.4, 0.0), "all lost are right": (0.0, 1 / 0.6), "lost by chance": (1.0, 1.0)}
FIRST, *_ = LOSSES
UNLOST = [(FIRST, 100, k, 0.0) for k in (1, 3)]
MISSING: list[tuple[IntervalMethod | None, tuple[str, int, int, float]]] = [
    *(("t", one) for one in [*UNLOST, *itertools.product(LOSSES, (100, 500), (1, 3), (0.01, 0.1, 0.3))]),
    *((None, one) for one in [*UNLOST, *((loss, 100, k, 0.1) for loss in list(LOSSES)[:2] for k in (1, 3))]),
]


@guarantee(
    {"Missing generations, bounds":
     " | method | N | k | missing | in force | ± | mean width | Manski | mean width"},
    quick={"draws": 120},
    full={"draws": 2000},
)  # fmt: skip
def missing(table: Table, draws: int) -> None:
    """Coverage and width of `missing="bounds"` beside Manski's; the default method on the smaller designs."""
    for method, (loss, N, k, share) in MISSING:
        rng, (wrong, right) = np.random.default_rng([N, k, int(100 * share), len(loss)]), LOSSES[loss]
        size = draws if method else draws // 6, N
        answers = rng.random((k, *size)) < rng.beta(0.6, 0.4, size)
        lost = rng.random(answers.shape) < np.where(answers, right, wrong) * share
        total, failed = np.sum(answers & ~lost, axis=0).astype(float), np.sum(lost, axis=0)
        cells = make_cells(np.sum(~lost, axis=0), total, failed=failed)
        low, high = by_model(howsure.score(cells, missing="bounds", method=method), "low", "high")
        [lowest] = by_model(howsure.score(make_cells(k, total), method=method), "low")
        [highest] = by_model(howsure.score(make_cells(k, total + failed), method=method), "high")
        covered, old = covers(low, high, 0.6), covers(lowest, highest, 0.6)
        width, old_width = float(np.nanmean(high - low)), float(np.nanmean(highest - lowest))
        design = f"{method or 'default'}, {loss}, N = {N}, k = {k}, {share:.0%} missing"
        table.covers(design, covered)
        table.check(share < 0.1 or width <= 0.985 * old_width, f"{design}: width {width:.3f}, Manski's {old_width:.3f}")
        is_same = share > 0 or np.allclose([low, high], [lowest, highest], atol=1e-9)
        table.check(is_same, f"{design}: differs from the interval without missing generations")
        numbers = float(covered.mean()), monte_carlo_error(covered), width, float(old.mean()), old_width
        named = loss if share else "nothing is lost"
        table.add(named, method or "default", str(N), str(k), f"{share:.0%}", *numbers)


@guarantee(
    {"Future runs of AIME 2024": "N | runs | next runs | score of the model | in force | ± | worst model | no interval"
     " | mean width | old | old: no interval"},
    quick={"draws": 5},
    full={"draws": 100},
)  # fmt: skip
def future_runs(table: Table, draws: int) -> None:
    """Coverage of the mean of future runs of the same questions, by score of the model."""
    published = load_published("aime2024_cot").mean
    M, score = len(published), published.mean(axis=1)
    classes = {"below .01": score < 0.01, ".01 to .05": (score >= 0.01) & (score < 0.05), ".05 and more": score >= 0.05}
    for N, runs, future in ((30, 2, 1), (30, 2, 2), (30, 3, 1), (10, 2, 1), (20, 2, 1)):
        rng = np.random.default_rng([N, runs, future])
        p = np.concatenate([published[:, rng.permutation(30)[:N]] for _ in range(draws)])
        drawn = [ask(p, 1, rng) for _ in range(runs)]
        ahead = rng.binomial(future, p).mean(axis=1) / future
        low, high = by_model(howsure.repeats({"simulated": drawn}, n_future=future), "low", "high")
        each = [cells.total for cells in drawn]
        mean, s2 = np.mean(each, axis=(0, 2)), np.var(each, axis=0, ddof=1).mean(axis=1)
        half = special.stdtrit(N * (runs - 1), 0.5 + LEVEL / 2) * np.sqrt(s2 / N * (1 / runs + 1 / future))
        half = np.where(s2 > 0, half, np.nan)
        covered, old, absent, width, old_absent = (values.reshape(draws, M) for values in (
            covers(low, high, ahead), covers(mean - half, mean + half, ahead), np.isnan(high - low), high - low,
            np.isnan(half)))  # fmt: skip
        table.check(not absent.any(), f"N = {N}, {runs} runs, next {future}: some models have no interval")
        for name, member in classes.items():
            by_draw = covered[:, member].mean(axis=1)
            table.covers(f"N = {N}, {runs} runs, next {future}, models {name}", by_draw)
            numbers = [by_draw.mean(), monte_carlo_error(by_draw), covered[:, member].mean(axis=0).min()]
            numbers += [absent[:, member].mean(), np.nanmean(width[:, member]), old[:, member].mean()]
            numbers += [old_absent[:, member].mean()]
            table.add(str(N), str(runs), str(future), name, *map(float, numbers))


#: Scores of each question, and whether all of them lie in [0, 1].
SCORES: dict[str, tuple[list[list[float]], bool]] = {
    "-.2 and .6 in one cell": ([[-0.2, 0.6], [0.6, 0.6], [-0.2, 0.6]], False),
    "1.2 and .4 in one cell": ([[1.2, 0.4], [0.4, 0.4], [0.4, 0.4]], False),
    "1.2 and .5 in one cell": ([[1.2, 0.5], [0.5, 0.5], [1.2, 0.5]], False),
    "-.01 among twenty of .5": ([[-0.01] + [0.5] * 20] * 3 + [[0.5, 0.4]], False),
    "-.2 in one cell, .6 in another": ([[-0.2, -0.2], [0.6, 0.6], [0.6, 0.6]], False),
    "0, .5 and 1": ([[0.0, 1.0], [0.5, 0.5], [1.0, 0.5]], True),
    "0 and 1": ([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]], True),
}


@guarantee({"Scores beyond 0 and 1": "scores | in [0, 1] | method in force | bounds of 0 and 1"}, quick={})
def units(table: Table) -> None:
    """Method of `score` for each set of scores, and whether a missing question is bounded by 0 and 1."""
    for name, (scores, unit) in SCORES.items():
        questions = [str(question) for question in range(len(scores) + 1)]
        cells = howsure.Cells.from_scores("counts", ["a"], questions[1:], [scores])
        method, bounded = str(howsure.score(cells).columns()["method"][0]), "taken"
        try:
            howsure.score(howsure.Cells.from_scores("counts", ["a"], questions, [[*scores, []]]), missing="bounds")
        except howsure.InputError:
            bounded = "refused"
        is_right = (method == "t") != unit and (bounded == "taken") == unit
        table.check(is_right, f"scores {name}: method {method}, bounds of 0 and 1 {bounded}")
        table.add(name, "yes" if unit else "no", method, bounded)


#: Noise of the k generations of each question, shape (2, N, k).
GRADED: dict[str, Callable[[tuple[int, int, int], np.random.Generator], Array]] = {
    "normal noise of .05": lambda size, rng: rng.normal(0, 0.05, size),
    "noise in a fifth of the questions": lambda size, rng: (
        rng.uniform(-0.3, 0.3, size) * (np.arange(size[1]) < size[1] // 5)[:, None]
    ),
    ".3 more one time in ten": lambda size, rng: np.where(rng.random(size) < 0.1, 0.3, 0.0) - 0.03,
}


@guarantee(
    {"Differences of graded scores, these-questions": "scores | N | k | coverage | error | width"},
    quick={"draws": 100},
    full={"draws": 1000},
)
def graded(table: Table, draws: int) -> None:
    for (name, vary), N, k in itertools.product(GRADED.items(), (10, 20, 100), (2, 3, 10)):
        rng = np.random.default_rng([N, k, len(name)])
        limits, truth = np.empty((2, draws)), np.empty(draws)
        for draw in range(draws):
            mean = rng.uniform(0.35, 0.65, (2, N))
            y = mean[..., None] + vary((2, N, k), rng)
            truth[draw] = mean[0].mean() - mean[1].mean()
            cells = make_cells(k, y.sum(axis=2), (y**2).sum(axis=2))
            columns = howsure.compare(cells, "0", "1", claim="these-questions").columns()
            limits[:, draw] = columns["low"][0], columns["high"][0]
        covered = covers(limits[0], limits[1], truth)
        table.covers(f"{name}, N = {N}, k = {k}", covered)
        width = float(np.nanmean(limits[1] - limits[0]))
        table.add(name, str(N), str(k), float(covered.mean()), monte_carlo_error(covered), width)
