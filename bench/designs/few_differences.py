"""Coverage of the interval for a difference where few questions differ between two models.

With one generation per question and scores of 0 and 1, all that matters is how many questions only the first model
answers (B) and how many only the second (C). Coverage is then exact: the interval is computed for each (B, C), and
weighted with its multinomial probability; nothing is simulated. With several generations, questions are resampled with
replacement from published matrices and generations drawn from each question's mean.

The old rule is Student's t of the differences, which has no interval where all differences are equal.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

import howsure
from designs.data import Array, ask, by_pair, covers, make_cells
from designs.engine import ALPHA, LEVEL, LOWEST, Table, guarantee
from howsure.stats.core.claims import DifferenceMethod, MeanClaim
from published_results import load_published

#: Expected numbers of questions that only one of the two models answers.
EXPECTED: list[tuple[float, float]] = [(b, c) for b in (0, 1, 2, 3, 5, 10) for c in (0, 1, 2, 3, 5, 10) if c <= b]
#: More of them where the other model answers none of its own: coverage jumps between whole numbers.
EXPECTED += [(b, 0) for b in (0.5, 1.5, 2.5, 4, 7, 15)]
#: Expected numbers for several generations that agree.
AGREEING = ((0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (7, 0), (10, 0), (3, 1), (5, 5))
#: Probability of (B, C) that is left out at most.
NEGLIGIBLE = 1e-7


def find_old(d: Array) -> tuple[Array, Array]:
    """Return limits by Student's t; `d` has shape (..., N). NaN where all differences are equal."""
    N = d.shape[-1]
    mean, sd = d.mean(axis=-1), d.std(axis=-1, ddof=1)
    half = np.where(sd > 1e-12, special.stdtrit(N - 1, 0.5 + LEVEL / 2) * sd / np.sqrt(N), np.nan)
    return np.maximum(mean - half, -1), np.minimum(mean + half, 1)


class Difference(NamedTuple):
    """The interval, the p-value and the detectable difference of one comparison; NaN where there is none."""

    low: float
    high: float
    p_value: float
    detectable: float

    def find_faults(self) -> list[str]:
        """Return what is wrong in itself."""
        outside = self.low > 0 or self.high < 0
        absent = bool(np.isnan(self.high - self.low))
        disagree = not absent and (np.isnan(self.p_value) or (self.p_value < ALPHA) != outside)
        faults = {"no interval": absent, "p-value and interval disagree": disagree,
                  "detectable is 0": self.detectable == 0}  # fmt: skip
        return [fault for fault, is_there in faults.items() if is_there]


def count_probabilities(N: int, b: float, c: float) -> dict[tuple[int, int], float]:
    """Return the multinomial probability of each (B, C) that is not negligible."""
    most_b, most_c = (int(stats.binom.isf(NEGLIGIBLE, N, some / N)) if some < N else N for some in (b, c))
    both = [(B, C) for B in range(most_b + 1) for C in range(most_c + 1) if B + C <= N]
    counts = np.array([(B, C, N - B - C) for B, C in both])
    chances = stats.multinomial.pmf(counts, N, [b / N, c / N, max(0.0, 1 - (b + c) / N)])
    return {cell: float(chance) for cell, chance in zip(both, chances, strict=True) if chance > 0}


def weigh(
    table: Table, N: int, k: int, b: float, c: float, method: DifferenceMethod | str | None
) -> tuple[float, float, float, float]:
    """Return exact coverage, mean width, chance of no interval, and chance that p < .05; faults go to the table."""
    truth = (b - c) / N
    covered = width = absent = rejected = 0.0
    for (B, C), chance in count_probabilities(N, b, c).items():
        one = compare_counts(N, k, B, C, method)
        if method != "old":
            for fault in one.find_faults():
                table.check(False, f"N = {N}, k = {k}, {method or 'in force'}, (B, C) = {(B, C)}: {fault}")
        if np.isnan(one.high - one.low):
            absent += chance
            continue
        covered += chance * (one.low - 1e-12 <= truth <= one.high + 1e-12)
        width += chance * (one.high - one.low)
        rejected += chance * (one.p_value < ALPHA)
    return covered, width / (1 - absent) if absent < 1 else np.nan, absent, rejected


@cache
def compare_counts(N: int, k: int, B: int, C: int, method: DifferenceMethod | str | None) -> Difference:
    """Return what `compare` says of B questions that only the first model answers and C that only the second does.

    Each of the k generations of a question has the same score.
    """
    if method == "old":
        low, high = find_old(np.repeat([1.0, -1.0, 0.0], [B, C, N - B - C]))
        return Difference(float(low), float(high), np.nan, np.nan)
    right = np.zeros((2, N))
    right[0, :B], right[1, B : B + C] = 1, 1
    right[:, B + C : (N + B + C) // 2] = 1  # of the others, both models answer half
    columns = howsure.compare(make_cells(k, k * right), "0", "1", method=cast("DifferenceMethod", method)).columns()
    return Difference(*(float(columns[name][0]) for name in Difference._fields))


@guarantee(
    {"Differences with few discordant questions, one generation (exact)":
     "N | expected | in force | width | no interval | size | tango | width | old | old: no interval"},
    quick={"sizes": (20, 100), "expected": [(b, c) for b in (0, 2, 3, 5) for c in (0, 2, 3, 5) if c <= b]},
    full={"sizes": (10, 20, 30, 100, 500), "expected": EXPECTED},
)  # fmt: skip
def one_generation(table: Table, sizes: tuple[int, ...], expected: list[tuple[float, float]]) -> None:
    for N, (b, c) in itertools.product(sizes, expected):
        if b + c > N:
            continue
        ours, tango, old = (weigh(table, N, 1, b, c, method) for method in (None, "tango", "old"))
        size = ours[3] if b == c else np.nan
        table.add(str(N), f"{b}, {c}", *ours[:3], size, *tango[:2], old[0], old[2])
        for name, covered in (("in force", ours[0]), ("tango", tango[0])):
            table.check(covered >= LOWEST, f"N = {N}, expected {b} and {c}, {name}: covers {covered:.3f}")


@guarantee(
    {"Differences with few discordant questions, generations of a question alike (exact)":
     "N | k | expected | in force | width | no interval | old | old: no interval"},
    quick={"sizes": (100,)},
    full={"sizes": (20, 100, 500)},
)  # fmt: skip
def alike(table: Table, sizes: tuple[int, ...], k: int = 5) -> None:
    for N, (b, c) in itertools.product(sizes, AGREEING):
        ours, old = (weigh(table, N, k, b, c, method) for method in (None, "old"))
        table.add(str(N), str(k), f"{b}, {c}", *ours[:3], old[0], old[2])
        table.check(ours[0] >= LOWEST, f"N = {N}, k = {k} alike, expected {b} and {c}: covers {ours[0]:.3f}")


# ---- several generations, published matrices


def load_matrix(name: str, models: int) -> Array:
    """Return P(correct) of models at equal steps from the weakest to the strongest."""
    p = load_published(name).mean
    order = np.argsort(p.mean(axis=1), kind="stable")
    return np.asarray(p[order[np.linspace(0, len(order) - 1, models).round().astype(int)]])


def classify_pairs(p: Array) -> dict[str, NDArray[np.intp]]:
    """Return the pairs of each class, as positions among the pairs i < j."""
    a, b = np.triu_indices(len(p), 1)
    low, high = np.sort([p.mean(axis=1)[a], p.mean(axis=1)[b]], axis=0)
    classes = {
        "both below .03": high < 0.03,
        "one below .03, the other above .1": (low < 0.03) & (high > 0.1),
        "within .05, both above .03": (high - low <= 0.05) & (low >= 0.03),
    }
    found = {name: np.flatnonzero(member) for name, member in classes.items()}
    found["all others"] = np.flatnonzero(~np.any(list(classes.values()), axis=0))
    return {name: positions for name, positions in found.items() if positions.size}


#: Numbers of models and of questions, by benchmark.
FEW = {"aime2024_cot": (8, (30,))}
MATRICES = {"aime2024_cot": (12, (10, 20, 30)), "math500_cot": (12, (30, 100))}
EACH = "in force | worst pair | width | no interval | old | worst pair | width | no interval"


def draw_pairs(
    table: Table, matrices: dict[str, tuple[int, tuple[int, ...]]], claim: MeanClaim, k: tuple[int, ...], draws: int
) -> None:
    """Add coverage by class of pairs; for new questions the truth is of all questions of the matrix."""
    for name, (M, sizes) in matrices.items():
        p, (a, b) = load_matrix(name, M), np.triu_indices(M, 1)
        for N, generations in itertools.product(sizes, k):
            rng = np.random.default_rng([N, generations, len(claim), len(name)])
            found, old, truth = np.empty((draws, 4, len(a))), np.empty((draws, 2, len(a))), np.empty((draws, len(a)))
            for draw in range(draws):
                new = claim == "new-questions"
                asked = rng.integers(p.shape[1], size=N) if new else rng.permutation(p.shape[1])[:N]
                truth[draw] = (p[a] - p[b] if new else p[a][:, asked] - p[b][:, asked]).mean(axis=1)
                cells = ask(p[:, asked], generations, rng)
                found[draw] = by_pair(howsure.pairs(cells, claim=claim), "p_value", "detectable")
                old[draw] = find_old(cells.mean[a] - cells.mean[b])
            faults = itertools.chain.from_iterable(
                Difference(*one).find_faults() for one in np.moveaxis(found, 1, 2).reshape(-1, 4).tolist()
            )
            for fault in set(faults):
                table.check(False, f"{name}, N = {N}, k = {generations}: {fault}")
            for pairs, positions in classify_pairs(p).items():
                numbers: list[float] = []
                for low, high in (found[:, :2, positions].swapaxes(0, 1), old[:, :, positions].swapaxes(0, 1)):
                    held, width = covers(low, high, truth[:, positions]), high - low
                    numbers += [held.mean(), held.mean(axis=0).min(), np.nanmean(width), np.mean(np.isnan(width))]
                    if len(numbers) == 4:
                        table.covers(f"{name}, N = {N}, k = {generations}, {pairs}", held.mean(axis=1))
                table.add(name, str(N), str(generations), pairs, str(len(positions)), *map(float, numbers))


@guarantee(
    {"Differences of published models, new-questions": f"benchmark | N | k | pairs of models | pairs | {EACH}"},
    quick={"matrices": FEW, "k": (1, 10), "draws": 60},
    full={"matrices": MATRICES, "k": (1, 2, 5, 10, 50), "draws": 300},
)
def new_questions(table: Table, **sizes: Any) -> None:
    draw_pairs(table, claim="new-questions", **sizes)


@guarantee(
    {"Differences of published models, these-questions": f"benchmark | N | k | pairs of models | pairs | {EACH}"},
    quick={"matrices": FEW, "k": (2,), "draws": 60},
    full={"matrices": MATRICES, "k": (2, 5, 10), "draws": 300},
)
def these_questions(table: Table, **sizes: Any) -> None:
    draw_pairs(table, claim="these-questions", **sizes)


@guarantee(
    {"Differences of models that are equal in the mean": "benchmark | N | k | size at .05 | old"},
    quick={"matrices": FEW, "draws": 100},
    full={"matrices": MATRICES, "draws": 1500},
)
def equal(table: Table, matrices: dict[str, tuple[int, tuple[int, ...]]], draws: int) -> None:
    """The two models of a pair are swapped at random in each question."""
    for name, (M, sizes) in matrices.items():
        p = load_matrix(name, M)
        for N, k in itertools.product(sizes, (1, 2, 10)):
            rng = np.random.default_rng([N, k, 7, len(name)])
            accepted, old = np.empty(draws), np.empty(draws)
            for draw in range(draws):
                two = p[rng.permutation(M)[:2]][:, rng.integers(p.shape[1], size=N)]
                cells = ask(np.where(rng.random(N) < 0.5, two, two[::-1]), k, rng)
                accepted[draw] = not howsure.compare(cells, "0", "1").columns()["p_value"][0] < ALPHA
                low, high = find_old(cells.mean[0] - cells.mean[1])
                old[draw] = (low > 0) | (high < 0)
            table.covers(f"{name}, N = {N}, k = {k}, 1 - size", accepted)
            table.add(name, str(N), str(k), float(1 - accepted.mean()), float(old.mean()))
