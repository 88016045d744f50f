"""Coverage and mean length of confidence sets for ranks, and the chance to be the best.

A set of ranks goes from the lowest to the highest rank that cannot be ruled out. The set of a model by itself holds
every rank that it truly has (a model that ties with others has several) with the nominal .95, the simultaneous sets of
an evaluation all at once. The designs are simulated models, equal models on questions in clusters, and published
matrices from which questions are resampled with replacement, so that the true ranks are those on all questions.

`p_best` is right on average where a model is the best as often as it says, here with true scores drawn anew each time:
of models that answered all questions, where it says .9 and more, beside the old rule of normal scores with the plain
paired errors; and of a first model without a score on the hard fifth of the questions, as a system that crashes there,
beside an older rule that drew the scores of all models around their means on the questions that each answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy import special

from designs.clustered import REPOSITORIES
from designs.data import Array, Ints, ask
from designs.engine import LEVEL, Table, guarantee, monte_carlo_error
from howsure.stats.comparisons import pairs, range_ranks, rank
from howsure.stats.comparisons.ranking import chance_best
from published_results import load_published

#: P(correct) of M models on N questions, and the cluster of each question if there are clusters.
Sample = tuple[Array, Ints | None]


class Evaluation(NamedTuple):
    """How one evaluation is drawn, generations per question, true scores, and the share of the draws that it gets."""

    name: str
    draw: Callable[[np.random.Generator], Sample]
    k: int
    truth: Array
    share: float = 1.0


def simulate(ability: Array, N: int) -> Callable[[np.random.Generator], Sample]:
    """Return a draw of models of given ability in logits, each with its own difficulty of each question on top."""

    def draw(rng: np.random.Generator) -> Sample:
        difficulty, own = rng.normal(0, 1.5, N), rng.normal(0, 0.7, (len(ability), N))
        return special.expit(ability[:, None] - difficulty + own), None

    return draw


def gather(M: int, sizes: tuple[int, ...]) -> Callable[[np.random.Generator], Sample]:
    """Return a draw of equal models on clusters; each model has a part of its own in each cluster."""
    G, clusters = len(sizes), np.repeat(np.arange(len(sizes)), sizes)

    def draw(rng: np.random.Generator) -> Sample:
        difficulty = rng.normal(0, 1, G) + rng.normal(0, 0.7, (M, G))
        return special.expit(difficulty[:, clusters] + rng.normal(0, 1, clusters.size)), clusters

    return draw


def resample(p: Array, N: int) -> Callable[[np.random.Generator], Sample]:
    """Return a draw of questions with replacement from a published matrix."""
    return lambda rng: (p[:, rng.integers(p.shape[1], size=N)], None)


def list_evaluations() -> Iterator[Evaluation]:
    levels = np.repeat([0.5, 0.0, -0.5], 2)
    for N, k in ((100, 1), (100, 3), (500, 1)):
        yield Evaluation(f"6 models in tied twos, N = {N}, k = {k}", simulate(levels, N), k, levels)
    close = np.linspace(0.45, -0.45, 10)
    for N in (100, 500):
        yield Evaluation(f"10 close models, N = {N}, k = 2", simulate(close, N), 2, close, 0.6)
    for apart in (0.02, 0.1):
        wide: Array = np.linspace(29 * apart, 0, 30)
        yield Evaluation(f"30 models {apart:g} logits apart, N = 100, k = 1", simulate(wide, 100), 1, wide, 0.4)
    yield Evaluation("10 equal models, N = 100, k = 1", simulate(np.zeros(10), 100), 1, np.zeros(10), 0.6)
    for k, (name, sizes) in product((1, 3), (("60 passages of 5", (5,) * 60),
                                             ("the repositories of SWE-bench Lite", REPOSITORIES))):  # fmt: skip
        yield Evaluation(f"5 equal models on {name}, k = {k}", gather(5, sizes), k, np.zeros(5))
    for name, sizes, k in (("math500_cot", (100, 500), 2), ("aime2024_cot", (30,), 5),
                           ("CRUXEval-output-T0.8", (200,), 1)):  # fmt: skip
        p = load_published(name).mean
        p = p[np.argsort(-p.mean(axis=1), kind="stable")]
        some = {"best 12": p[:12], "12 of all levels": p[np.linspace(0, len(p) - 1, 12).round().astype(int)]}
        for (which, chosen), N in product(some.items(), sizes):
            truth = chosen.mean(axis=1)
            yield Evaluation(f"{which} of {name}, N = {N}, k = {k}", resample(chosen, N), k, truth, 0.4)


@guarantee(
    {"Sets of ranks, nominal .95":
     "models | draws | each by itself | ± | mean length | all at once | ± | mean length"},
    quick={"draws": 30},
    full={"draws": 500},
)  # fmt: skip
def rank_sets(table: Table, draws: int) -> None:
    for name, draw, k, truth, share in list_evaluations():
        rng = np.random.default_rng([len(name), k])
        n = max(10, int(draws * share))
        # The ranks that each model truly has: equal scores share theirs.
        first = np.sum(truth[None] > truth[:, None] + 1e-12, axis=1) + 1
        last = len(truth) - np.sum(truth[None] < truth[:, None] - 1e-12, axis=1)
        right, length = np.empty((2, n)), np.empty((2, n))
        for i in range(n):
            p, clusters = draw(rng)
            named = None if clusters is None else tuple(map(str, clusters.tolist()))
            found = range_ranks(pairs(ask(p, k, rng, clusters=named)))
            own, joint = ((low <= first) & (high >= last) for low, high in (found[1:3], found[3:5]))
            right[:, i] = np.mean(own), np.all(joint)
            length[:, i] = [np.mean(high - low + 1) for low, high in (found[1:3], found[3:5])]
        # The sets of one evaluation share their questions: the error is that of means over evaluations.
        error = max(float(np.std(right[0]) / np.sqrt(n)), 0.05 / n)
        table.check(right[0].mean() >= LEVEL - 3 * error, f"{name}: {right[0].mean():.3f} by itself")
        table.covers(name, right[1])
        numbers = right[0].mean(), error, length[0].mean(), right[1].mean(), monte_carlo_error(right[1])
        table.add(name, str(n), *map(float, (*numbers, length[1].mean())))


SAID = ("said .9 and more", "mean p_best", "truly the best", "squared error")


@guarantee(
    {"Chance to be the best, where it is said to be .9 and more: now, and by the old rule":
     f"models | draws | {' | '.join(SAID)} | {' | '.join(f'old rule, {name}' for name in SAID)}"},
    quick={"draws": {2: 30, 5: 30, 20: 8}},
    full={"draws": {2: 2000, 5: 200, 20: 100}},
)  # fmt: skip
def sure(table: Table, draws: dict[int, int]) -> None:
    """Models that answered all questions: squared errors are no larger than those of the old rule."""
    for (M, trials), N in product(draws.items(), (4, 15, 50, 300)):
        rng = np.random.default_rng([M, N, 4])
        now, old, truth = np.zeros((3, trials, M))
        for trial in range(trials):
            ability = rng.normal(0, 0.5, M)
            cells = ask(simulate(ability, N)(rng)[0], 1, rng)
            now[trial] = rank(cells).p_best
            old[trial] = chance_best(cells.mean.mean(axis=1), np.cov(cells.mean, ddof=0) / N)
            truth[trial, np.argmax(ability)] = 1
        gain = np.sum((now - truth) ** 2 - (old - truth) ** 2, axis=1)
        error = np.std(gain) / np.sqrt(trials)
        table.check(gain.mean() <= 3 * error, f"{M} models, N = {N}: {gain.mean():+.4f}")
        row: list[object] = [f"{M} models, N = {N}", str(trials)]
        for said in (now, old):
            is_sure = said >= 0.9
            row += [str(np.sum(is_sure)), *(float(one[is_sure].mean()) if is_sure.any() else np.nan
                                            for one in (said, truth))]  # fmt: skip
            row.append(float(np.mean(np.sum((said - truth) ** 2, axis=1))))
        table.add(*row)
    table.note = (
        "What is left takes the observed differences for the true ones, and the model that is ahead by chance with "
        "them. Only a prior on how models differ would mend that."
    )


@guarantee(
    {"Chance of a model that crashed on the hard fifth to be the best":
     "models | draws | truly the best | mean p_best | squared error | old rule | squared error"},
    quick={"trials": 60},
    full={"trials": 1000},
)  # fmt: skip
def best(table: Table, trials: int) -> None:
    for M in (2, 3, 5):
        rng = np.random.default_rng([M, 3])
        now, old, truth = np.zeros((3, trials))
        for trial in range(trials):
            difficulty, ability = np.sort(rng.normal(0, 1.5, 100)), rng.normal(0, 0.5, M)
            n = np.ones((M, 100), dtype=np.int64)
            n[0, 80:] = 0
            cells = ask(special.expit(ability[:, None] - difficulty), n, rng)
            means = np.nanmean(cells.mean, axis=1)
            off = np.where(n > 0, cells.mean - means[:, None], 0) / n.sum(axis=1)[:, None]
            first = np.argmax(means + rng.standard_normal((2000, 100)) @ off.T, axis=1)
            now[trial], old[trial], truth[trial] = rank(cells).p_best[0], np.mean(first == 0), np.argmax(ability) == 0
        gap, error = now.mean() - truth.mean(), np.std(now - truth) / np.sqrt(trials)
        table.check(abs(gap) <= 3 * error + 0.02, f"p_best of {M} models is off by {gap:.3f}")
        numbers = truth.mean(), now.mean(), np.mean((now - truth) ** 2), old.mean(), np.mean((old - truth) ** 2)
        table.add(f"{M} models", str(trials), *map(float, numbers))
