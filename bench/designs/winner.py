"""The best of k candidates on the same questions: bias and coverage of its score for fresh questions.

Truths are the scores of the candidates on all questions of a population; each evaluation draws N of them and one answer
each, and takes the candidate with the highest score. "Printed" is its score with the usual interval; "k scores only"
subtracts the expected maximum of k independent errors of one size, which is what can be done without the matrix of
questions. Simulated candidates are equal, or one is ahead, or they are spread evenly; the population of published
results is the matrix itself, drawn with replacement.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special

from designs.engine import LEVEL, Table, guarantee
from howsure.stats.comparisons import pick_winner
from howsure.stats.core.cells import Cells
from published_results import load_published

Array = NDArray[np.float64]
#: How far candidates lie apart, on the scale of logits' standard deviations.
TRUTHS: dict[str, Callable[[int], Array]] = {
    "equal": np.zeros,
    "one ahead": lambda k: np.append(np.zeros(k - 1), 0.3),
    "evenly spread": lambda k: np.linspace(-0.5, 0.5, k),
}
#: Candidates, questions, and evaluations of each design.
DESIGNS = (
    *((2, 30, 2000), (2, 100, 2000), (2, 200, 2000), (2, 1000, 1000)),
    *((5, 30, 1000), (5, 200, 1000), (10, 30, 1000), (10, 100, 1000), (10, 200, 1000), (10, 1000, 600)),
    *((30, 30, 600), (30, 200, 600), (100, 30, 500), (100, 100, 500), (100, 200, 500), (100, 1000, 200)),
    *((1000, 30, 200), (1000, 200, 150), (1000, 1000, 100)),
)
#: Published matrices, candidates drawn from them (0: all), questions, evaluations.
PUBLISHED = (
    *(("math500_cot", 0, 30, 500), ("math500_cot", 5, 100, 500), ("math500_cot", 0, 200, 500)),
    *(("CRUXEval-output-T0.8", 0, 100, 500), ("CRUXEval-output-T0.8", 0, 1000, 300)),
    *(("humaneval+", 10, 100, 500), ("swebench-lite", 0, 200, 500), ("swebench-lite", 0, 1000, 200)),
)
COLUMNS = (
    "design | evaluations | bias printed | bias k scores only | bias | its error | coverage printed | k scores only | "
    "coverage | length"
)


def evaluate(draw: Callable[[np.random.Generator], tuple[Array, Array]], trials: int, seed: list[int]) -> Array:
    """Return bias, coverage and length of each evaluation, shape (trials, 7)."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(trials):
        y, truth = draw(rng)
        k, N = y.shape
        order = rng.permutation(k)  # the first of those that share the highest score is taken
        y, truth = y[order], truth[order]
        names, questions = (tuple(map(str, range(size))) for size in y.shape)
        best = pick_winner(Cells("winner", names, questions, np.ones(y.shape, np.int64), y, y**2), level=LEVEL)
        w = int(best.models[0])
        score, right = float(best.score[0]), float(truth[w])
        half = special.stdtrit(N - 1, (1 + LEVEL) / 2) * y[w].std(ddof=1) / np.sqrt(N)
        p = y.mean()
        alone = score - np.sqrt(p * (1 - p) / N) * expected_maximum(k)
        covers = [abs(score - right) <= half, abs(alone - right) <= half, best.low[0] <= right <= best.high[0]]
        errors = [score - right, alone - right, float(best.corrected[0]) - right]
        rows.append([*errors, *covers, (best.high[0] - best.low[0]) / (2 * half) if half else np.nan])
    return np.array(rows, float)


def expected_maximum(k: int) -> float:
    """Return the expected maximum of k standard normal numbers."""
    x = np.linspace(-6, 8, 4001)
    return float(np.sum(1 - special.ndtr(x) ** k - (x < 0)) * (x[1] - x[0]))


def simulate(k: int, N: int, truths: str) -> Callable[[np.random.Generator], tuple[Array, Array]]:
    """Return a draw of right and wrong answers, and true scores: questions differ in how hard they are."""
    ability = TRUTHS[truths](k)
    own = 0.5
    truth = special.ndtr(ability / np.sqrt(2 + own**2))

    def draw(rng: np.random.Generator) -> tuple[Array, Array]:
        latent = ability[:, None] - rng.normal(0, 1, N) + rng.normal(0, np.sqrt(1 + own**2), (k, N))
        return (latent > 0).astype(float), truth

    return draw


def resample(p: Array, k: int, N: int) -> Callable[[np.random.Generator], tuple[Array, Array]]:
    """Return a draw of N questions of a matrix of P(correct), k of its candidates or all, and one answer each."""

    def draw(rng: np.random.Generator) -> tuple[Array, Array]:
        chosen = p if not k else p[rng.choice(len(p), k, replace=False)]
        asked = chosen[:, rng.integers(0, p.shape[1], N)]
        return (rng.random(asked.shape) < asked).astype(float), chosen.mean(axis=1)

    return draw


def add_row(table: Table, name: str, results: Array) -> None:
    """Add the row of a design, and check its coverage and its bias."""
    table.covers(name, results[:, 5])
    bias, error = float(results[:, 2].mean()), float(results[:, 2].std(ddof=1) / np.sqrt(len(results)))
    table.check(
        bias <= 0.003 + 3 * error, f"{name}: bias {bias:+.4f} (standard error {error:.4f}), claimed at most .003"
    )
    first, alone, _, *covered = results.mean(axis=0)[:6].tolist()
    table.add(name, len(results), first, alone, bias, error, *covered, float(np.nanmean(results[:, 6])))


@guarantee(
    {"The best of many, simulated": COLUMNS},
    quick={"first": 4, "last": 7, "share": 4},
    full={"first": 0, "last": 99, "share": 1},
)
def simulated(table: Table, first: int, last: int, share: int) -> None:
    """Simulated candidates that are equal, one ahead, or evenly spread."""
    for k, N, trials in DESIGNS[first:last]:
        for truths in TRUTHS:
            results = evaluate(simulate(k, N, truths), trials // share, [k, N])
            add_row(table, f"{k} candidates, {N} questions, {truths}", results)


@guarantee(
    {"The best of many, published results": COLUMNS}, quick={"last": 2, "share": 4}, full={"last": 99, "share": 1}
)
def published(table: Table, last: int, share: int) -> None:
    """Candidates and questions of published matrices, drawn with replacement."""
    for name, k, N, trials in PUBLISHED[:last]:
        p = load_published(name).mean
        whole = p[:, ~np.isnan(p).any(axis=0)]
        results = evaluate(resample(whole, k, N), trials // share, [len(p), N])
        add_row(table, f"{k or len(p)} of {len(p)} candidates of {name}, {N} questions", results)
