"""Joint coverage and mean length of confidence sets for ranks.

A set of ranks goes from the lowest to the highest rank that cannot be ruled out. All sets of an evaluation are right
together where each holds every rank that its model truly has (a model that ties with others has several); the nominal
chance is .95. The designs are simulated models, equal models on questions in clusters, and published matrices from
which questions are resampled with replacement, so that the true ranks are those on all questions.

The old rule is Holm's adjustment of paired t tests over all pairs, which takes questions as independent.
`python bench/rank_sets.py` prints the table; a claim that fails ends it with an error.
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
from clustered import REPOSITORIES
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


def holm_sets(means: Array) -> tuple[Ranks, Ranks]:
    """Return rank sets from Holm-adjusted paired t tests; `means` has shape (M, N)."""
    M, N = means.shape
    a, b = np.triu_indices(M, 1)
    d = means[a] - means[b]
    difference, se = d.mean(axis=1), d.std(axis=1, ddof=1) / np.sqrt(N)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(se > 0, 2 * special.stdtr(N - 1, -np.abs(difference) / se), 1.0)
    order = np.argsort(p)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    different = (adjusted <= 1 - LEVEL) & (difference != 0)
    winner, loser = np.where(difference > 0, a, b)[different], np.where(difference > 0, b, a)[different]
    return 1 + np.bincount(loser, minlength=M), M - np.bincount(winner, minlength=M)


def rank_cells(cells: howsure.Cells) -> tuple[Ranks, Ranks]:
    """Return the rank sets of the rule in force, in the order of the cells' models."""
    columns = howsure.rank(cells).columns()
    order = np.argsort(np.asarray(columns["model"]).astype(np.int64))
    low, high = (np.asarray(columns[name]).astype(np.int64)[order] for name in ("rank_low", "rank_high"))
    return low, high


class Outcome(NamedTuple):
    """Whether all sets were right together in each draw, and the mean length of the sets."""

    right: Array
    length: float


def evaluate_design(design: Design, draws: int) -> dict[str, Outcome]:
    """Return what the rule in force and Holm's gave."""
    rng = np.random.default_rng([len(design.name), design.k])
    first, last = true_ranks(design.truth)
    right: dict[str, list[bool]] = {"in force": [], "Holm": []}
    length: dict[str, list[float]] = {"in force": [], "Holm": []}
    for _ in range(max(10, int(draws * design.share))):
        sample = design.draw(rng)
        total = rng.binomial(design.k, sample.p).astype(float)
        models, questions = (tuple(map(str, range(size))) for size in total.shape)
        clusters = None if sample.clusters is None else tuple(map(str, sample.clusters.tolist()))
        n = np.full(total.shape, design.k)
        cells = howsure.Cells("ranks", models, questions, n, total, total, clusters=clusters)
        for rule, (low, high) in (("in force", rank_cells(cells)), ("Holm", holm_sets(total / design.k))):
            right[rule].append(bool(np.all((low <= first) & (high >= last))))
            length[rule].append(float(np.mean(high - low + 1)))
    return {rule: Outcome(np.array(right[rule], dtype=float), float(np.mean(length[rule]))) for rule in right}


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


def sections(*, quick: bool) -> Iterator[tuple[str, str]]:
    """Yield one table; raise where the sets are right together less often than they claim."""
    failures, rows = [], []
    for design in make_designs():
        by_rule = evaluate_design(design, 30 if quick else 500)
        now, old = by_rule["in force"], by_rule["Holm"]
        failures += below_claim(design.name, now.right)
        row: list[object] = [design.name, str(len(now.right))]
        row += as_floats(now.right.mean(), monte_carlo_error(now.right), now.length)
        row += as_floats(old.right.mean(), old.length, now.length / old.length)
        rows.append(row)
    header = ("models", "draws", "in force", "±", "mean length", "Holm", "mean length", "ratio of lengths")
    yield "Sets of ranks that are right together, nominal .95", markdown_table(header, rows)
    assert not failures, "\n".join(failures)


if __name__ == "__main__":
    print_sections(sections)
