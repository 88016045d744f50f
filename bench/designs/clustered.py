"""Coverage of intervals for questions in clusters of unequal size, for scores and for paired differences.

Questions of a cluster (the repositories of SWE-bench Lite, the subjects of an exam, passages) have a common part in
their difficulty, and two models differ by a common part in each cluster. Most designs are simulated from a logit model;
two draw from the published answers of SWE-bench Lite:

- "of the same sizes": each of the 12 clusters takes the answers of a repository that is drawn with replacement, and
  its questions are drawn from it with replacement until the cluster has its size;
- "resampled": 12 repositories are drawn with replacement and taken whole, so that the sizes vary too. No claim is made
  for scores in this process, where CR2 itself covers .89, since the size of a repository goes with its difficulty.

The old rule is Student's t with G - 1 degrees of freedom and the plain sandwich variance times G/(G - 1), as Miller
(2024) and statsmodels have it.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray
from scipy import special

import howsure
from designs.data import Array, by_model, by_pair, make_cells
from designs.engine import LEVEL, Table, guarantee, monte_carlo_error
from howsure.stats.core.claims import IntervalMethod
from published_results import load_published

Clusters = NDArray[np.intp]

#: Questions of the 12 repositories of SWE-bench Lite.
REPOSITORIES = (114, 77, 23, 23, 17, 16, 6, 6, 6, 5, 4, 3)
#: Sizes of the clusters, and the standard deviation of their common part in logits; that of single questions is 1.
SIMULATED: dict[str, tuple[tuple[int, ...], float]] = {
    "repositories of SWE-bench Lite, sd .7": (REPOSITORIES, 0.7),
    "repositories of SWE-bench Lite, sd 1.2": (REPOSITORIES, 1.2),
    "subjects of 120, 40, 20, 10, 10, sd .7": ((120, 40, 20, 10, 10), 0.7),
    "one cluster of 150 and 50 of 3, sd .7": ((150,) + (3,) * 50, 0.7),
    "12 clusters of 25, sd .7": ((25,) * 12, 0.7),
    "60 clusters of 5, sd .7": ((5,) * 60, 0.7),
}
RULES: dict[str, IntervalMethod | None] = {"in force": None, "in force, method t": "t"}


def add(table: Table, name: str, limits: dict[str, Array], truth: Array | float, *, claimed: bool = True) -> None:
    """Add a row for each rule, from its low, high and df, shape (3, draws) or (3, draws, models)."""
    for rule, (low, high, df) in limits.items():
        covered = ((low <= truth) & (truth <= high)).astype(float)
        covered = covered if covered.ndim == 1 else covered.mean(axis=1)
        finite = df[np.isfinite(df)]
        degrees = float(np.median(finite)) if finite.size else np.nan
        numbers = float(np.nanmean(high - low)), degrees, float(np.mean(np.isnan(high - low)))
        table.add(name, rule, float(covered.mean()), monte_carlo_error(covered), *numbers)
        if claimed and rule != "old":
            table.covers(f"{name}, {rule}", covered)


def find_old(values: Array, clusters: Clusters) -> Array:
    """Return limits of the mean by t with G - 1 df and the plain sandwich, and df; `values` has shape (..., N)."""
    N, G = values.shape[-1], int(clusters.max()) + 1
    mean = values.mean(axis=-1)
    sums = (values - mean[..., None]) @ np.eye(G)[clusters]
    half = special.stdtrit(G - 1, 0.5 + LEVEL / 2) * np.sqrt(np.sum(sums**2, axis=-1) * G / (G - 1)) / N
    return np.array([mean - half, mean + half, np.full(mean.shape, G - 1)])


def answer(answers: Array, clusters: Clusters) -> howsure.Cells:
    return make_cells(1, answers, clusters=tuple(map(str, clusters.tolist())))


def simulate(scores: Table, compared: Table, draws: int) -> None:
    """Scores of about a third, and two models that are equal in the mean, but not in each cluster."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    for i, (name, (sizes, sd)) in enumerate(SIMULATED.items()):
        clusters, G = np.repeat(np.arange(len(sizes)), sizes), len(sizes)
        rng = np.random.default_rng([i, 1])
        common = rng.normal(0, sd, (draws, G))[:, clusters]
        p = special.expit(-0.8 + common + rng.normal(0, 1, (draws, clusters.size)))
        answers = (rng.random(p.shape) < p).astype(float)
        truth = float(weights @ special.expit(-0.8 + np.hypot(sd, 1) * nodes) / np.sqrt(2 * np.pi))
        cells = answer(answers, clusters)
        limits = {rule: np.array(by_model(howsure.score(cells, method=method), "low", "high", "df"))
                  for rule, method in RULES.items()}  # fmt: skip
        add(scores, name, limits | {"old": find_old(answers, clusters)}, truth)
        rng = np.random.default_rng([i, 2])
        shared = rng.normal(0, sd, (draws, 1, G)) + rng.normal(0, sd / np.sqrt(2), (draws, 2, G))
        difficulty = rng.normal(0, 1, (draws, 1, clusters.size))
        p = special.expit(-0.8 + shared[:, :, clusters] + difficulty)
        both = (rng.random(p.shape) < p).astype(float)
        found = np.array([by_pair(howsure.compare(answer(two, clusters), "0", "1"), "df") for two in both])
        add(compared, name, {"in force": found[..., 0].T, "old": find_old(both[:, 0] - both[:, 1], clusters)}, 0.0)


def resample(scores: Table, compared: Table, draws: int, *, same_sizes: bool) -> None:
    """Every fourth of the models that solve a tenth of SWE-bench Lite or more; a draw is shared by all of them."""
    cells = load_published("swebench-lite")
    assert cells.clusters is not None
    sizes = {name: cells.clusters.count(name) for name in cells.clusters}
    largest_first = sorted(sizes, key=lambda name: (-sizes[name], name))
    clusters = np.array([largest_first.index(name) for name in cells.clusters])
    able = np.flatnonzero(cells.mean.mean(axis=1) >= 0.1)
    answers = cells.mean[able[np.argsort(cells.mean[able].mean(axis=1))][::4]]
    members = [np.flatnonzero(clusters == c) for c in range(len(REPOSITORIES))]
    truth = np.mean([answers[:, some].mean(axis=1) for some in members], axis=0) if same_sizes else answers.mean(axis=1)
    a, b = np.triu_indices(len(answers), 1)
    rng = np.random.default_rng([same_sizes, 3])
    limits, of_pairs = defaultdict(list), defaultdict(list)
    for _ in range(draws):
        picked = [members[c] for c in rng.integers(len(REPOSITORIES), size=len(REPOSITORIES))]
        if same_sizes:
            picked = [rng.choice(some, n) for some, n in zip(picked, REPOSITORIES, strict=True)]
        values = answers[:, np.concatenate(picked)]
        drawn = np.repeat(np.arange(len(picked)), [len(some) for some in picked])
        cells = answer(values, drawn)
        for rule, method in RULES.items():
            limits[rule].append(by_model(howsure.score(cells, method=method), "low", "high", "df"))
        limits["old"].append(list(find_old(values, drawn)))
        of_pairs["in force"].append(by_pair(howsure.pairs(cells), "df"))
        of_pairs["old"].append(list(find_old(values[a] - values[b], drawn)))
    name = "answers of SWE-bench Lite, repositories " + ("of the same sizes" if same_sizes else "resampled")
    ours, theirs = (
        {rule: np.moveaxis(np.array(one), 1, 0) for rule, one in some.items()} for some in (limits, of_pairs)
    )
    add(scores, name, ours, truth, claimed=same_sizes)
    add(compared, name, theirs, truth[a] - truth[b])


COLUMNS = "clusters | rule | coverage | ± | mean width | df (median) | no interval"


@guarantee(
    {"Scores of questions in clusters": COLUMNS, "Paired differences of questions in clusters": COLUMNS},
    quick={"draws": 100, "real": 25},
    full={"draws": 1500, "real": 300},
)
def clustered(scores: Table, compared: Table, draws: int, real: int) -> None:
    simulate(scores, compared, draws)
    for same_sizes in (True, False):
        resample(scores, compared, real, same_sizes=same_sizes)
