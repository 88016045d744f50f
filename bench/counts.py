"""Coverage with unequal numbers of generations, with missing ones, of future runs, and with scores beyond 0 and 1.

- Unequal counts: 1 to 50 generations, half of the questions with 1 and half with 10, counts that go with difficulty.
- Missing: generations are lost because they are wrong, because they are right, or by chance; `--missing bounds` is to
  hold the score that all of them would have given. The old rule (Manski 1990) goes from the lower end of the interval
  with all missing ones wrong to the upper end of that with all of them right.
- Future runs: AIME 2024 with the published P(correct) of each question, 2 or 3 runs. The old rule is the pooled t
  interval, which is absent where no question varied.
- Scores beyond 0 and 1 that pass for [0, 1] by their sums: -.2 and .6 have equal sums of scores and of squares.
- Graded scores: differences on the questions at hand, whose pseudo-question has the size of a typical variance.

`python bench/counts.py` prints the tables; a claim that fails ends it with an error.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

import howsure
from checked_tables import LEVEL, as_floats, below_claim, markdown_table, monte_carlo_error, print_sections
from howsure.stats.core.claims import IntervalMethod, MeanClaim
from howsure.stats.core.results import Result
from published_results import load_published

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

#: Mean of the Beta distribution that P(correct) is drawn from.
MEAN = 0.6


def make_cells(n: Counts, total: Array, failed: Counts | None = None) -> howsure.Cells:
    """Return counts of right answers of as many models as there are rows."""
    models, questions = (tuple(map(str, range(size))) for size in n.shape)
    return howsure.Cells("counts", models, questions, n, total, total, failed=failed)


def read_by_model(result: Result, *names: str) -> list[Array]:
    """Return columns in the order of the models of the cells."""
    columns = result.columns()
    order = np.argsort(np.asarray(columns["model"]).astype(np.int64))
    return [np.asarray(columns[name], dtype=float)[order] for name in names]


def covers(low: Array, high: Array, truth: Array | float) -> Array:
    """Return 1 where an interval holds the truth, 0 where it does not or is absent."""
    return ((low - 1e-12 <= truth) & (truth <= high + 1e-12)).astype(float)


# ---- unequal counts


def uniform_counts(p: Array, rng: np.random.Generator) -> Counts:
    return rng.integers(1, 51, p.shape)


def half_and_half(p: Array, rng: np.random.Generator) -> Counts:
    return np.where(rng.random(p.shape) < 0.5, 1, 10)


def more_where_hard(p: Array, rng: np.random.Generator) -> Counts:
    return np.where(p < 0.5, 10, 2) + rng.integers(0, 2, p.shape)


def more_where_easy(p: Array, rng: np.random.Generator) -> Counts:
    return np.where(p < 0.5, 2, 10) + rng.integers(0, 2, p.shape)


COUNTS: dict[str, Callable[[Array, np.random.Generator], Counts]] = {
    "1 to 50": uniform_counts,
    "half 1, half 10": half_and_half,
    "10 where hard, 2 where easy": more_where_hard,
    "2 where hard, 10 where easy": more_where_easy,
}


def old_limits(mean: Array, n: Counts, within: Array, claim: MeanClaim) -> tuple[Array, Array]:
    """Return t limits for new questions, and normal ones from the variances of the questions for these questions."""
    N = mean.shape[-1]
    if claim == "new-questions":
        half = special.stdtrit(N - 1, 0.5 + LEVEL / 2) * mean.std(axis=-1, ddof=1) / np.sqrt(N)
    else:
        several = np.nanmean(within, axis=-1, keepdims=True)
        s2 = np.where(np.isnan(within), several, within)
        half = special.ndtri(0.5 + LEVEL / 2) * np.sqrt(np.mean(s2 / n, axis=-1) / N)
    center = mean.mean(axis=-1)
    return center - half, center + half


def tabulate_unequal(draws: int, failures: list[str]) -> str:
    """Return coverage of scores and of differences with unequal counts."""
    rows = []
    for (name, count), N in itertools.product(COUNTS.items(), (30, 100)):
        rng = np.random.default_rng([N, len(name)])
        p = rng.beta(0.6, 0.4, (draws, N))
        cells = make_cells(n := count(p, rng), rng.binomial(n, p).astype(float))
        truths: dict[MeanClaim, float | Array] = {"new-questions": MEAN, "these-questions": p.mean(axis=1)}
        for claim, truth in truths.items():
            low, high = read_by_model(howsure.score(cells, claim=claim), "low", "high")
            old = covers(*old_limits(cells.mean, n, cells.within, claim), truth)
            covered = covers(low, high, truth)
            failures += below_claim(f"score, {name}, N = {N}, {claim}", covered)
            numbers = as_floats(covered.mean(), monte_carlo_error(covered), np.nanmean(high - low), old.mean())
            rows.append(["score", name, str(N), claim, *numbers])
        some = draws // 4
        other = np.where(rng.random(p.shape) < 0.5, p, rng.beta(0.6, 0.4, p.shape))[:some]
        second = rng.binomial(n2 := count(other, rng), other).astype(float)
        limits, old_ends = np.empty((some, 2)), np.empty((some, 2))
        for draw in range(some):
            pair = make_cells(np.array([n[draw], n2[draw]]), np.array([cells.total[draw], second[draw]]))
            columns = howsure.compare(pair, "0", "1").columns()
            limits[draw] = columns["low"][0], columns["high"][0]
            old_ends[draw] = old_limits(pair.mean[0] - pair.mean[1], n[draw], pair.within[0], "new-questions")
        covered, old = (covers(ends[:, 0], ends[:, 1], 0.0) for ends in (limits, old_ends))
        failures += below_claim(f"difference, {name}, N = {N}", covered)
        numbers = as_floats(covered.mean(), monte_carlo_error(covered), np.nanmean(limits @ [-1, 1]), old.mean())
        rows.append(["difference", name, str(N), "new-questions", *numbers])
    return markdown_table(("", "generations", "N", "claim", "in force", "±", "mean width", "old"), rows)


# ---- missing generations


class Loss(NamedTuple):
    """Chance that a wrong and that a right answer is lost, for a share of all that is lost."""

    name: str
    wrong: float  # in units of the share
    right: float


LOSSES = (
    Loss("all lost are wrong", 1 / (1 - MEAN), 0.0),
    Loss("all lost are right", 0.0, 1 / MEAN),
    Loss("lost by chance", 1.0, 1.0),
)


def draw_missing(loss: Loss, N: int, k: int, share: float, draws: int) -> tuple[Counts, Array, Counts]:
    """Return scored generations, right answers among them, and lost generations, each of shape (draws, N)."""
    rng = np.random.default_rng([N, k, int(100 * share), len(loss.name)])
    answers = rng.random((k, draws, N)) < rng.beta(0.6, 0.4, (draws, N))
    lost = rng.random(answers.shape) < np.where(answers, loss.right, loss.wrong) * share
    return np.sum(~lost, axis=0), np.sum(answers & ~lost, axis=0).astype(float), np.sum(lost, axis=0)


def tabulate_missing(draws: int, failures: list[str]) -> str:
    """Return coverage and width of `missing="bounds"` beside Manski's; the default method on the smaller designs."""
    designs = [(loss, N, k, share) for loss in LOSSES for N in (100, 500) for k in (1, 3) for share in (0.01, 0.1, 0.3)]
    designs = [(LOSSES[0], 100, 1, 0.0), (LOSSES[0], 100, 3, 0.0), *designs]
    some: list[tuple[IntervalMethod | None, tuple[Loss, int, int, float]]] = [("t", design) for design in designs]
    some += [(None, design) for design in designs[:2]]
    some += [(None, (loss, 100, k, 0.1)) for loss in LOSSES[:2] for k in (1, 3)]
    rows = []
    for method, (loss, N, k, share) in some:
        n, total, failed = draw_missing(loss, N, k, share, draws if method else draws // 6)
        result = howsure.score(make_cells(n, total, failed), missing="bounds", method=method)
        low, high = read_by_model(result, "low", "high")
        full_counts = np.full(n.shape, k)
        [lowest] = read_by_model(howsure.score(make_cells(full_counts, total), method=method), "low")
        [highest] = read_by_model(howsure.score(make_cells(full_counts, total + failed), method=method), "high")
        covered, old = covers(low, high, MEAN), covers(lowest, highest, MEAN)
        width, old_width = float(np.nanmean(high - low)), float(np.nanmean(highest - lowest))
        design = f"bounds, {method or 'default'}, {loss.name}, N = {N}, k = {k}, {share:.0%} missing"
        failures += below_claim(design, covered)
        if share >= 0.1 and width > 0.985 * old_width:
            failures.append(f"{design}: mean width {width:.3f}, no narrower than Manski's {old_width:.3f}")
        if share == 0 and not np.allclose([low, high], [lowest, highest], atol=1e-9):
            failures.append(f"{design}: differs from the interval without missing generations")
        numbers = as_floats(covered.mean(), monte_carlo_error(covered), width, old.mean(), old_width)
        name = loss.name if share else "nothing is lost"
        rows.append([name, method or "default", str(N), str(k), f"{share:.0%}", *numbers])
    header = ("", "method", "N", "k", "missing", "in force", "±", "mean width", "Manski", "mean width")
    return markdown_table(header, rows)


# ---- future runs


def tabulate_future(draws: int, failures: list[str]) -> str:
    """Return coverage of the mean of future runs of the same questions of AIME 2024, by score of the model."""
    published = np.asarray(load_published("aime2024_cot").mean, dtype=float)
    M = len(published)
    score = published.mean(axis=1)
    classes = {"below .01": score < 0.01, ".01 to .05": (score >= 0.01) & (score < 0.05), ".05 and more": score >= 0.05}
    rows = []
    for N, runs, future in ((30, 2, 1), (30, 2, 2), (30, 3, 1), (10, 2, 1), (20, 2, 1)):
        rng = np.random.default_rng([N, runs, future])
        p = np.concatenate([published[:, rng.permutation(30)[:N]] for _ in range(draws)])
        runs_drawn = [rng.binomial(1, p).astype(float) for _ in range(runs)]
        ahead = rng.binomial(future, p).mean(axis=1) / future
        one = np.ones(p.shape, dtype=np.int64)
        result = howsure.repeats({"counts": [make_cells(one, run) for run in runs_drawn]}, n_future=future)
        low, high = read_by_model(result, "low", "high")
        mean = np.mean(runs_drawn, axis=0)
        s2 = np.var(runs_drawn, axis=0, ddof=1).mean(axis=1)
        half = special.stdtrit(N * (runs - 1), 0.5 + LEVEL / 2) * np.sqrt(s2 / N * (1 / runs + 1 / future))
        half = np.where(s2 > 0, half, np.nan)
        covered = covers(low, high, ahead).reshape(draws, M)
        old = covers(mean.mean(axis=1) - half, mean.mean(axis=1) + half, ahead).reshape(draws, M)
        absent, width = np.isnan(high - low).reshape(draws, M), (high - low).reshape(draws, M)
        design = f"future runs, N = {N}, {runs} runs, next {future}"
        if absent.any():
            failures.append(f"{design}: {absent.mean():.3f} of the models have no interval")
        for name, member in classes.items():
            by_draw = covered[:, member].mean(axis=1)
            failures += below_claim(f"{design}, models {name}", by_draw)
            row: list[object] = [str(N), str(runs), str(future), name]
            row += as_floats(by_draw.mean(), monte_carlo_error(by_draw), covered[:, member].mean(axis=0).min())
            row += as_floats(absent[:, member].mean(), np.nanmean(width[:, member]), old[:, member].mean())
            row += as_floats(np.isnan(half).reshape(draws, M)[:, member].mean())
            rows.append(row)
    header = "N", "runs", "next runs", "score of the model", "in force", "±", "worst model", "no interval", "mean width"
    return markdown_table((*header, "old", "old: no interval"), rows)


# ---- scores beyond 0 and 1


#: Scores of each question, and whether all of them lie in [0, 1].
SCORES: tuple[tuple[str, list[list[float]], bool], ...] = (
    ("-.2 and .6 in one cell", [[-0.2, 0.6], [0.6, 0.6], [-0.2, 0.6]], False),
    ("1.2 and .4 in one cell", [[1.2, 0.4], [0.4, 0.4], [0.4, 0.4]], False),
    ("1.2 and .5 in one cell", [[1.2, 0.5], [0.5, 0.5], [1.2, 0.5]], False),
    ("-.01 among twenty of .5", [[-0.01] + [0.5] * 20] * 3 + [[0.5, 0.4]], False),
    ("-.2 in one cell, .6 in another", [[-0.2, -0.2], [0.6, 0.6], [0.6, 0.6]], False),
    ("0, .5 and 1", [[0.0, 1.0], [0.5, 0.5], [1.0, 0.5]], True),
    ("0 and 1", [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]], True),
)


def tabulate_units(failures: list[str]) -> str:
    """Return the method of `score` for each set of scores, and whether a missing question is bounded by 0 and 1."""
    rows = []
    for name, scores, unit in SCORES:
        questions = [str(question) for question in range(len(scores) + 1)]
        method = str(
            howsure.score(howsure.Cells.from_scores("counts", ["a"], questions[1:], [scores])).columns()["method"][0]
        )
        try:
            howsure.score(howsure.Cells.from_scores("counts", ["a"], questions, [[*scores, []]]), missing="bounds")
            bounded = True
        except howsure.InputError:
            bounded = False
        if (method == "t") == unit or bounded != unit:
            failures.append(f"scores {name}: method {method}, bounds of 0 and 1 {'taken' if bounded else 'refused'}")
        rows.append([name, "yes" if unit else "no", method, "taken" if bounded else "refused"])
    return markdown_table(("scores", "in [0, 1]", "method in force", "bounds of 0 and 1"), rows)


# ---- tables


# ---- graded scores


def vary_by_chance(mean: Array, k: int, rng: np.random.Generator) -> Array:
    return rng.normal(0, 0.05, (*mean.shape, k))


def vary_in_a_fifth(mean: Array, k: int, rng: np.random.Generator) -> Array:
    is_varying = np.arange(mean.shape[1]) < mean.shape[1] // 5
    noise: Array = rng.uniform(-0.3, 0.3, (*mean.shape, k)) * is_varying[:, None]
    return noise


def jump_seldom(mean: Array, k: int, rng: np.random.Generator) -> Array:
    more: Array = np.where(rng.random((*mean.shape, k)) < 0.1, 0.3, 0.0)
    return more - 0.03


GRADED: dict[str, Callable[[Array, int, np.random.Generator], Array]] = {
    "normal noise of .05": vary_by_chance,
    "noise in a fifth of the questions": vary_in_a_fifth,
    ".3 more one time in ten": jump_seldom,
}


def tabulate_graded(draws: int, failures: list[str]) -> str:
    """Return coverage of a difference on these questions of graded scores, with its mean width."""
    rows = []
    for (name, vary), N, k in itertools.product(GRADED.items(), (10, 20, 100), (2, 3, 10)):
        rng = np.random.default_rng([N, k, len(name)])
        limits, truth = np.empty((draws, 2)), np.empty(draws)
        for draw in range(draws):
            mean = rng.uniform(0.35, 0.65, (2, N))
            y = mean[..., None] + vary(mean, k, rng)
            truth[draw] = mean[0].mean() - mean[1].mean()
            n = np.full((2, N), k)
            names = tuple(map(str, range(N)))
            cells = howsure.Cells("graded", ("0", "1"), names, n, y.sum(axis=2), (y**2).sum(axis=2))
            columns = howsure.compare(cells, "0", "1", claim="these-questions").columns()
            limits[draw] = columns["low"][0], columns["high"][0]
        covered = covers(limits[:, 0], limits[:, 1], truth)
        failures += below_claim(f"graded scores, {name}, N = {N}, k = {k}", covered)
        numbers = as_floats(covered.mean(), monte_carlo_error(covered), np.nanmean(limits[:, 1] - limits[:, 0]))
        rows.append([name, str(N), str(k), *numbers])
    return markdown_table(("scores", "N", "k", "coverage", "error", "width"), rows)


def sections(*, quick: bool) -> Iterator[tuple[str, str]]:
    """Yield the tables; raise where a rule in force covers less than it claims."""
    failures: list[str] = []
    yield "Unequal numbers of generations", tabulate_unequal(120 if quick else 1200, failures)
    yield "Missing generations, bounds", tabulate_missing(120 if quick else 2000, failures)
    yield "Future runs of AIME 2024", tabulate_future(5 if quick else 100, failures)
    yield "Scores beyond 0 and 1", tabulate_units(failures)
    yield "Differences of graded scores, these-questions", tabulate_graded(100 if quick else 1000, failures)
    assert not failures, "\n".join(failures)


if __name__ == "__main__":
    print_sections(sections)
