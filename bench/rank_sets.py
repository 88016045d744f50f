"""Coverage and mean length of confidence sets for ranks, and the chance to be the best.

A set of ranks goes from the lowest to the highest rank that cannot be ruled out. The set of a model by itself holds
every rank that it truly has (a model that ties with others has several) with the nominal .95, the simultaneous sets of
an evaluation all at once. The designs are simulated models, equal models on questions in clusters, and published
matrices from which questions are resampled with replacement, so that the true ranks are those on all questions.

`p_best` is right on average where a model is the best as often as it says, here with true scores drawn anew each time,
and a first model without a score on the hard fifth of the questions, as a system that crashes there. The old rule drew
the scores of all models around their means on the questions that each answered.
`python bench/rank_sets.py` prints the tables; a claim that fails ends it with an error.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from checked_tables import LEVEL, as_floats, below_claim, markdown_table, monte_carlo_error, print_sections
from clustered import REPOSITORIES
from howsure.stats.comparisons import pairs, range_ranks, rank
from howsure.stats.core.cells import Cells
from published_results import load_published

Array = NDArray[np.float64]
Ranks = NDArray[np.int64]


class Sample(NamedTuple):
    """P(correct) of M models on N questions, and the cluster of each question if there are clusters."""

    p: Array
    clusters: NDArray[np.int64] | None


class Design(NamedTuple):
    """How one evaluation is drawn: P(correct), generations per question, and the true scores of the models."""

    name: str
    draw: Callable[[np.random.Generator], Sample]
    k: int
    truth: Array
    share: float = 1.0  # of the draws; large designs take longer


def true_ranks(scores: Array) -> tuple[Ranks, Ranks]:
    """Return the lowest and the highest rank that each model truly has; equal scores share their ranks."""
    above = np.sum(scores[None, :] > scores[:, None] + 1e-12, axis=1)
    below = np.sum(scores[None, :] < scores[:, None] - 1e-12, axis=1)
    return above + 1, len(scores) - below


class Outcome(NamedTuple):
    """Share of the sets of an evaluation that were right, in each draw, and their mean length."""

    right: Array
    length: float


def make_cells(p: Array, k: int | Ranks, rng: np.random.Generator, clusters: Ranks | None = None) -> Cells:
    """Return k scored answers of M models to each of N questions."""
    n = np.broadcast_to(k, p.shape)
    total = rng.binomial(n, p).astype(float)
    names = None if clusters is None else tuple(map(str, clusters.tolist()))
    models, questions = (tuple(map(str, range(size))) for size in p.shape)
    return Cells("ranks", models, questions, n, total, total, clusters=names)


def evaluate_design(design: Design, draws: int) -> tuple[Outcome, Outcome]:
    """Return what the sets of each model by itself gave, and the simultaneous ones (1 where all are right)."""
    rng = np.random.default_rng([len(design.name), design.k])
    first, last = true_ranks(design.truth)
    right: list[list[float]] = []
    length: list[list[float]] = []
    for _ in range(max(10, int(draws * design.share))):
        sample = design.draw(rng)
        found = range_ranks(pairs(make_cells(sample.p, design.k, rng, sample.clusters)))
        own, joint = ((low <= first) & (high >= last) for low, high in (found[1:3], found[3:5]))
        right.append([float(np.mean(own)), float(np.all(joint))])
        length.append([float(np.mean(high - low + 1)) for low, high in (found[1:3], found[3:5])])
    (own, joint), (of_own, of_all) = np.transpose(right), np.mean(length, axis=0)
    return Outcome(own, of_own), Outcome(joint, of_all)


def best_of_crash(M: int, trials: int) -> tuple[Array, Array, Array]:
    """Return `p_best` of the model that crashed, the chance of the old rule, and whether it is best, (trials,) each."""
    rng = np.random.default_rng([M, 3])
    now, old, truth = np.zeros((3, trials))
    for trial in range(trials):
        difficulty, ability = np.sort(rng.normal(0, 1.5, 100)), rng.normal(0, 0.5, M)
        n = np.ones((M, 100), dtype=np.int64)
        n[0, 80:] = 0
        cells = make_cells(special.expit(ability[:, None] - difficulty), n, rng)
        means = np.nanmean(cells.mean, axis=1)
        off = np.where(n > 0, cells.mean - means[:, None], 0) / n.sum(axis=1)[:, None]
        best = np.argmax(means + rng.standard_normal((2000, 100)) @ off.T, axis=1)
        now[trial], old[trial], truth[trial] = rank(cells).p_best[0], np.mean(best == 0), np.argmax(ability) == 0
    return now, old, truth


# ---- designs


def simulated(ability: Array, N: int) -> Callable[[np.random.Generator], Sample]:
    """Return a draw of models of given ability in logits, each with its own difficulty of each question on top."""

    def draw(rng: np.random.Generator) -> Sample:
        difficulty = rng.normal(0, 1.5, N)
        own = rng.normal(0, 0.7, (len(ability), N))
        return Sample(special.expit(ability[:, None] - difficulty + own), None)

    return draw


def clustered(M: int, sizes: tuple[int, ...]) -> Callable[[np.random.Generator], Sample]:
    """Return a draw of equal models on clusters; each model has a part of its own in each cluster."""
    G = len(sizes)
    clusters = np.repeat(np.arange(G), sizes)

    def draw(rng: np.random.Generator) -> Sample:
        difficulty = rng.normal(0, 1, G) + rng.normal(0, 0.7, (M, G))
        return Sample(special.expit(difficulty[:, clusters] + rng.normal(0, 1, clusters.size)), clusters)

    return draw


def resampled(p: Array, N: int) -> Callable[[np.random.Generator], Sample]:
    """Return a draw of questions with replacement from a published matrix."""

    def draw(rng: np.random.Generator) -> Sample:
        return Sample(p[:, rng.integers(p.shape[1], size=N)], None)

    return draw


def make_designs() -> Iterator[Design]:
    """Yield all designs."""
    levels = np.repeat([0.5, 0.0, -0.5], 2)
    for N, k in ((100, 1), (100, 3), (500, 1)):
        yield Design(f"6 models in tied twos, N = {N}, k = {k}", simulated(levels, N), k, levels)
    close = np.linspace(0.45, -0.45, 10)
    for N in (100, 500):
        yield Design(f"10 close models, N = {N}, k = 2", simulated(close, N), 2, close, 0.6)
    for apart in (0.02, 0.1):
        wide: Array = np.linspace(29 * apart, 0, 30)
        yield Design(f"30 models {apart:g} logits apart, N = 100, k = 1", simulated(wide, 100), 1, wide, 0.4)
    yield Design("10 equal models, N = 100, k = 1", simulated(np.zeros(10), 100), 1, np.zeros(10), 0.6)
    for k in (1, 3):
        yield Design(f"5 equal models on 60 passages of 5, k = {k}", clustered(5, (5,) * 60), k, np.zeros(5))
        name = f"5 equal models on the repositories of SWE-bench Lite, k = {k}"
        yield Design(name, clustered(5, REPOSITORIES), k, np.zeros(5))
    for name, sizes, k in (
        ("math500_cot", (100, 500), 2),
        ("aime2024_cot", (30,), 5),
        ("CRUXEval-output-T0.8", (200,), 1),
    ):
        p = np.asarray(load_published(name).mean, dtype=float)
        p = p[np.argsort(-p.mean(axis=1), kind="stable")]
        best, spread = p[:12], p[np.linspace(0, len(p) - 1, 12).round().astype(int)]
        for (which, some), N in itertools.product((("best 12", best), ("12 of all levels", spread)), sizes):
            yield Design(f"{which} of {name}, N = {N}, k = {k}", resampled(some, N), k, some.mean(axis=1), 0.4)


_EXCESS = """

The chance is too high by .010 to .028 of 3 to 5 models: it takes the observed differences for the true ones, and the
model that is ahead by chance with them. Only a prior on how models differ would mend that, so it is left as it is."""


def sections(*, quick: bool) -> Iterator[tuple[str, str]]:
    """Yield two tables; raise where sets are right less often than they claim, or `p_best` is wrong on average."""
    failures, rows = [], []
    for M in (2, 3, 5):
        now, old, truth = best_of_crash(M, 60 if quick else 1000)
        gap, error = now.mean() - truth.mean(), np.std(now - truth) / np.sqrt(len(now))
        failures += [f"p_best of {M} models is off by {gap:.3f}"] * bool(abs(gap) > 3 * error + 0.02)
        squares = np.mean((now - truth) ** 2), np.mean((old - truth) ** 2)
        rows.append([f"{M} models", str(len(now)), *as_floats(truth.mean(), now.mean(), squares[0])])
        rows[-1] += as_floats(old.mean(), squares[1])
    header = ("models", "draws", "truly the best", "mean p_best", "squared error", "old rule", "squared error")
    yield "Chance of a model that crashed on the hard fifth to be the best", markdown_table(header, rows) + _EXCESS
    rows = []
    for design in make_designs():
        own, joint = evaluate_design(design, 30 if quick else 500)
        # the sets of one evaluation share their questions: the error is that of means over evaluations
        error = max(np.std(own.right) / np.sqrt(len(own.right)), 0.05 / len(own.right))
        failures += [f"{design.name}: {own.right.mean():.3f} by itself"] * bool(own.right.mean() < LEVEL - 3 * error)
        failures += below_claim(design.name, joint.right)
        row: list[object] = [design.name, str(len(own.right)), *as_floats(own.right.mean(), error, own.length)]
        rows.append([*row, *as_floats(joint.right.mean(), monte_carlo_error(joint.right), joint.length)])
    columns = ("models", "draws", "each by itself", "±", "mean length", "all at once", "±", "mean length")
    yield "Sets of ranks, nominal .95", markdown_table(columns, rows)
    assert not failures, "\n".join(failures)


if __name__ == "__main__":
    print_sections(sections)
