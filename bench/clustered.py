"""Coverage of intervals for questions in clusters of unequal size, for scores and for paired differences.

Questions of a cluster (the repositories of SWE-bench Lite, the subjects of an exam, passages) have a common part in
their difficulty, and two models differ by a common part in each cluster. Most designs are simulated from a logit model;
two draw from the published answers of SWE-bench Lite:

- "of the same sizes": each of the 12 clusters takes the answers of a repository that is drawn with replacement, and
  its questions are drawn from it with replacement until the cluster has its size;
- "resampled": 12 repositories are drawn with replacement and taken whole, so that the sizes vary too. The interval is
  for new clusters of the same sizes. No claim is made for scores in this process, where CR2 itself covers .89 (1,000
  draws), since the size of a repository goes with its difficulty. For differences, where CR2 covers .95, there is one.

The old rule is Student's t with G - 1 degrees of freedom and the plain sandwich variance times G/(G - 1), as Miller
(2024) and statsmodels have it. `python bench/clustered.py` prints the tables; a claim that fails ends it with an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

import howsure
from checked_tables import LEVEL, below_claim, markdown_table, monte_carlo_error, print_sections
from howsure.stats.core.claims import IntervalMethod
from published_results import load_published

Array = NDArray[np.float64]

#: Questions of the 12 repositories of SWE-bench Lite.
REPOSITORIES = (114, 77, 23, 23, 17, 16, 6, 6, 6, 5, 4, 3)
#: Standard deviation of the difficulty of single questions, in logits.
QUESTION_SD = 1.0
#: Models of SWE-bench Lite that are compared: every fourth of those that solve a tenth of the questions or more.
EVERY = 4


class Design(NamedTuple):
    """Sizes of the clusters, and the standard deviation of their common part in logits."""

    name: str
    sizes: tuple[int, ...]
    sd: float


DESIGNS = (
    Design("repositories of SWE-bench Lite, sd .7", REPOSITORIES, 0.7),
    Design("repositories of SWE-bench Lite, sd 1.2", REPOSITORIES, 1.2),
    Design("subjects of 120, 40, 20, 10, 10, sd .7", (120, 40, 20, 10, 10), 0.7),
    Design("one cluster of 150 and 50 of 3, sd .7", (150,) + (3,) * 50, 0.7),
    Design("12 clusters of 25, sd .7", (25,) * 12, 0.7),
    Design("60 clusters of 5, sd .7", (5,) * 60, 0.7),
)


class Outcome(NamedTuple):
    """What one rule gave: coverage of each independent draw, mean width, df, share without an interval."""

    covered: Array
    width: float
    df: float
    absent: float


def evaluate_limits(low: Array, high: Array, truth: Array | float, df: Array) -> Outcome:
    """Return the outcome of intervals of shape (draws,) or (draws, models); an absent interval covers nothing."""
    covered = ((low <= truth) & (truth <= high)).astype(float)
    width, absent = float(np.nanmean(high - low)), float(np.mean(np.isnan(high - low)))
    finite = df[np.isfinite(df)]
    degrees = float(np.median(finite)) if finite.size else float("nan")
    return Outcome(covered if covered.ndim == 1 else covered.mean(axis=1), width, degrees, absent)


def old_limits(values: Array, clusters: NDArray[np.intp]) -> tuple[Array, Array, float]:
    """Return limits of the mean by t with G - 1 df and the plain sandwich; `values` has shape (..., N)."""
    N, G = values.shape[-1], int(clusters.max()) + 1
    mean = values.mean(axis=-1, keepdims=True)
    sums = (values - mean) @ np.eye(G)[clusters]
    half = special.stdtrit(G - 1, 0.5 + LEVEL / 2) * np.sqrt(np.sum(sums**2, axis=-1) * G / (G - 1)) / N
    return mean[..., 0] - half, mean[..., 0] + half, float(G - 1)


def make_cells(answers: Array, clusters: NDArray[np.intp]) -> howsure.Cells:
    """Return one generation per question of as many models as there are rows."""
    models, questions = (tuple(map(str, range(size))) for size in answers.shape)
    names = tuple(map(str, clusters.tolist()))
    n = np.ones(answers.shape, dtype=np.int64)
    return howsure.Cells("clustered", models, questions, n, answers, answers, clusters=names)


def order_by_model(columns: dict[str, NDArray[np.object_]]) -> NDArray[np.intp]:
    """Return the order that brings the rows of `score` into that of the cells."""
    return np.argsort(np.asarray(columns["model"]).astype(np.int64))


# ---- logit models


def mean_of_logit(mean: float, sd: float) -> float:
    """Return E[expit(mean + sd z)] for a standard normal z."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    return float(weights @ special.expit(mean + sd * nodes) / np.sqrt(2 * np.pi))


def simulate_scores(design: Design, draws: int, rng: np.random.Generator) -> dict[str, Outcome]:
    """Return the outcome of each rule for scores of about a third."""
    clusters = np.repeat(np.arange(len(design.sizes)), design.sizes)
    common = rng.normal(0, design.sd, (draws, len(design.sizes)))[:, clusters]
    p = special.expit(-0.8 + common + rng.normal(0, QUESTION_SD, (draws, clusters.size)))
    answers = (rng.random(p.shape) < p).astype(float)
    truth = mean_of_logit(-0.8, float(np.hypot(design.sd, QUESTION_SD)))
    cells = make_cells(answers, clusters)
    outcomes = {}
    methods: dict[str, IntervalMethod | None] = {"in force": None, "in force, method t": "t"}
    for rule, method in methods.items():
        columns = howsure.score(cells, method=method).columns()
        df = np.asarray(columns["df"], dtype=float)
        order = order_by_model(columns)
        low, high = (np.asarray(columns[name], dtype=float)[order] for name in ("low", "high"))
        outcomes[rule] = evaluate_limits(low, high, truth, df)
    low, high, G1 = old_limits(answers, clusters)
    return outcomes | {"old": evaluate_limits(low, high, truth, np.full(draws, G1))}


def simulate_pairs(design: Design, draws: int, rng: np.random.Generator) -> dict[str, Outcome]:
    """Return the outcome of each rule for two models that are equal in the mean, but not in each cluster."""
    clusters = np.repeat(np.arange(len(design.sizes)), design.sizes)
    G, N = len(design.sizes), clusters.size
    shared = rng.normal(0, design.sd, (draws, 1, G)) + rng.normal(0, design.sd / np.sqrt(2), (draws, 2, G))
    difficulty = rng.normal(0, QUESTION_SD, (draws, 1, N))
    answers = (rng.random((draws, 2, N)) < special.expit(-0.8 + shared[:, :, clusters] + difficulty)).astype(float)
    limits = np.full((draws, 3), np.nan)
    for draw in range(draws):
        columns = howsure.compare(make_cells(answers[draw], clusters), "0", "1").columns()
        limits[draw] = columns["low"][0], columns["high"][0], np.asarray(columns["df"], dtype=float)[0]
    low, high, G1 = old_limits(answers[:, 0] - answers[:, 1], clusters)
    return {
        "in force": evaluate_limits(limits[:, 0], limits[:, 1], 0.0, limits[:, 2]),
        "old": evaluate_limits(low, high, 0.0, np.full(draws, G1)),
    }


# ---- published answers


def load_answers() -> tuple[Array, NDArray[np.intp]]:
    """Return the answers of some models on SWE-bench Lite, and the repository of each question, largest first."""
    cells = load_published("swebench-lite")
    assert cells.clusters is not None
    sizes = {name: cells.clusters.count(name) for name in cells.clusters}
    largest_first = sorted(sizes, key=lambda name: (-sizes[name], name))
    assert tuple(sizes[name] for name in largest_first) == REPOSITORIES
    clusters = np.array([largest_first.index(name) for name in cells.clusters])
    able = np.flatnonzero(cells.mean.mean(axis=1) >= 0.1)
    return np.asarray(cells.mean[able[np.argsort(cells.mean[able].mean(axis=1))][::EVERY]], dtype=float), clusters


def draw_repositories(
    clusters: NDArray[np.intp], *, same_sizes: bool, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the questions of 12 repositories drawn with replacement, and the cluster of each question."""
    picked = rng.integers(len(REPOSITORIES), size=len(REPOSITORIES))
    if same_sizes:
        members = [rng.choice(np.flatnonzero(clusters == c), n) for c, n in zip(picked, REPOSITORIES, strict=True)]
    else:
        members = [np.flatnonzero(clusters == c) for c in picked]
    return np.concatenate(members), np.repeat(np.arange(len(members)), [len(some) for some in members])


def resample_answers(
    *, same_sizes: bool, draws: int, rng: np.random.Generator
) -> tuple[dict[str, Outcome], dict[str, Outcome]]:
    """Return outcomes for scores and for all pairs of published models; a draw is shared by all models."""
    answers, clusters = load_answers()
    M = len(answers)
    a, b = np.triu_indices(M, 1)
    by_cluster = np.array([answers[:, clusters == c].mean(axis=1) for c in range(len(REPOSITORIES))])
    truth = by_cluster.mean(axis=0) if same_sizes else answers.mean(axis=1)
    limits: dict[str, list[Array]] = {rule: [] for rule in ("score", "score, t", "score, old", "pair", "pair, old")}
    for _ in range(draws):
        questions, drawn = draw_repositories(clusters, same_sizes=same_sizes, rng=rng)
        values = answers[:, questions]
        cells = make_cells(values, drawn)
        methods: dict[str, IntervalMethod | None] = {"score": None, "score, t": "t"}
        for rule, method in methods.items():
            columns = howsure.score(cells, method=method).columns()
            order = order_by_model(columns)
            limits[rule].append(np.array([np.asarray(columns[name], float)[order] for name in ("low", "high", "df")]))
        columns = howsure.pairs(cells).columns()
        first, second = (np.asarray(columns[name]).astype(np.int64) for name in ("model_a", "model_b"))
        flipped = first > second
        order = np.lexsort((np.maximum(first, second), np.minimum(first, second)))
        low, high = (np.asarray(columns[name], float) for name in ("low", "high"))
        low, high = np.where(flipped, -high, low)[order], np.where(flipped, -low, high)[order]
        limits["pair"].append(np.array([low, high, np.asarray(columns["df"], dtype=float)[order]]))
        for rule, of_rule in (("score, old", values), ("pair, old", values[a] - values[b])):
            low, high, G1 = old_limits(of_rule, drawn)
            limits[rule].append(np.array([low, high, np.full(len(low), G1)]))
    outcomes = {}
    for rule, stacked in limits.items():
        limits_of_all = np.array(stacked)
        df = limits_of_all[:, 2] if limits_of_all.shape[1] == 3 else np.full(limits_of_all[:, 0].shape, np.nan)
        outcomes[rule] = evaluate_limits(
            limits_of_all[:, 0], limits_of_all[:, 1], truth if "score" in rule else truth[a] - truth[b], df
        )
    return (
        {
            "in force": outcomes["score"],
            "in force, method t": outcomes["score, t"],
            "old": outcomes["score, old"],
        },
        {"in force": outcomes["pair"], "old": outcomes["pair, old"]},
    )


# ---- tables


def sections(*, quick: bool) -> Iterator[tuple[str, str]]:
    """Yield a table for scores and one for pairs; raise where a rule in force covers less than it claims."""
    draws = 100 if quick else 1500
    real = 25 if quick else 300
    designs = [(design.name, True) for design in DESIGNS]
    scores = [simulate_scores(design, draws, np.random.default_rng([i, 1])) for i, design in enumerate(DESIGNS)]
    compared = [simulate_pairs(design, draws, np.random.default_rng([i, 2])) for i, design in enumerate(DESIGNS)]
    for same_sizes in (True, False):
        name = "answers of SWE-bench Lite, repositories " + ("of the same sizes" if same_sizes else "resampled")
        designs.append((name, same_sizes))
        both = resample_answers(same_sizes=same_sizes, draws=real, rng=np.random.default_rng([same_sizes, 3]))
        scores.append(both[0])
        compared.append(both[1])
    failures = []
    for title, outcomes in (("Scores", scores), ("Paired differences", compared)):
        rows = []
        for (name, same_sizes), by_rule in zip(designs, outcomes, strict=True):
            claimed = same_sizes or title != "Scores"
            for rule, outcome in by_rule.items():
                error = monte_carlo_error(outcome.covered)
                rows.append(
                    (name, rule, float(outcome.covered.mean()), error, outcome.width, outcome.df, outcome.absent)
                )
                if claimed and rule != "old":
                    failures += below_claim(f"{title}, {name}, {rule}", outcome.covered)
        header = ("clusters", "rule", "coverage", "±", "mean width", "df (median)", "no interval")
        yield f"{title} of questions in clusters", markdown_table(header, rows)
    assert not failures, "\n".join(failures)


if __name__ == "__main__":
    print_sections(sections)
