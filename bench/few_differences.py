"""Coverage of the interval for a difference where few questions differ between two models.

With one generation per question and scores of 0 and 1, all that matters is how many questions only the first model
answers (B) and how many only the second (C). Coverage is then exact: the interval is computed for each (B, C), and
weighted with its multinomial probability; nothing is simulated. With several generations, questions are resampled with
replacement from published matrices (bench/published_results.py) and generations drawn from each question's mean.

The old rule is Student's t of the differences, which has no interval where all differences are equal.
`python bench/few_differences.py` prints the tables; a claim that fails ends it with an error.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

import howsure
from checked_tables import LEVEL, LOWEST, as_floats, below_claim, markdown_table, print_sections
from howsure.stats.core.claims import DifferenceMethod, MeanClaim
from published_results import load_published

Array = NDArray[np.float64]
Columns = dict[str, NDArray[np.object_]]

QUESTIONS = (10, 20, 30, 100, 500)
#: Expected numbers of questions that only one of the two models answers.
EXPECTED = (0, 1, 2, 3, 5, 10)
#: More of them where the other model answers none of its own: coverage jumps between whole numbers.
ONE_SIDED = (0.5, 1.5, 2.5, 4, 7, 15)
#: Probability of (B, C) that is left out at most.
NEGLIGIBLE = 1e-7
#: Expected numbers for several generations that agree.
AGREEING = ((0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (7, 0), (10, 0), (3, 1), (5, 5))
#: The rule in force, and the one that is there by name for one generation of 0 or 1.
METHODS: tuple[DifferenceMethod | None, ...] = (None, "tango")
#: Fewest questions for which a claim is made.
FEWEST = 10


class Difference(NamedTuple):
    """The interval, the p-value and the detectable difference of one comparison; NaN where there is none."""

    low: float
    high: float
    p_value: float
    detectable: float


def old_limits(d: Array) -> tuple[Array, Array]:
    """Return limits by Student's t; `d` has shape (..., N). NaN where all differences are equal."""
    N = d.shape[-1]
    mean, sd = d.mean(axis=-1), d.std(axis=-1, ddof=1)
    half = np.where(sd > 1e-12, special.stdtrit(N - 1, 0.5 + LEVEL / 2) * sd / np.sqrt(N), np.nan)
    return np.maximum(mean - half, -1), np.minimum(mean + half, 1)


# ---- one generation per question


def compare_counts(N: int, B: int, C: int, method: DifferenceMethod | None, k: int = 1) -> Difference:
    """Return what `compare` says of B questions that only the first model answers and C that only the second does.

    Each of the k generations of a question has the same score.
    """
    a, b = np.zeros(N), np.zeros(N)
    a[:B], b[B : B + C] = 1, 1
    a[B + C : (N + B + C) // 2], b[B + C : (N + B + C) // 2] = 1, 1  # of the others, both models answer half
    total = k * np.array([a, b])
    questions = tuple(map(str, range(N)))
    cells = howsure.Cells("counts", ("a", "b"), questions, np.full((2, N), k), total, total)
    columns = howsure.compare(cells, "a", "b", method=method).columns()
    return Difference(*(float(columns[name][0]) for name in ("low", "high", "p_value", "detectable")))


def count_probabilities(N: int, b: float, c: float) -> dict[tuple[int, int], float]:
    """Return the multinomial probability of each (B, C) that is not negligible."""
    most_b, most_c = (int(stats.binom.isf(NEGLIGIBLE, N, some / N)) if some < N else N for some in (b, c))
    cells_bc = [(B, C) for B in range(most_b + 1) for C in range(most_c + 1) if B + C <= N]
    counts = np.array([(B, C, N - B - C) for B, C in cells_bc])
    chances = stats.multinomial.pmf(counts, N, [b / N, c / N, max(0.0, 1 - (b + c) / N)])
    return {cell: float(chance) for cell, chance in zip(cells_bc, chances, strict=True) if chance > 0}


class CountTable:
    """Intervals for one number of questions, each computed once."""

    def __init__(self, N: int, methods: tuple[DifferenceMethod | None, ...], k: int = 1) -> None:
        self.N, self.k = N, k
        self.cache: dict[DifferenceMethod | None, dict[tuple[int, int], Difference]] = {
            method: {} for method in methods
        }
        self.old: dict[tuple[int, int], tuple[float, float]] = {}
        self.faults: dict[str, list[tuple[int, int]]] = {}

    def interval(self, cell: tuple[int, int], method: DifferenceMethod | None) -> Difference:
        """Return the interval of (B, C); what is wrong in itself goes to `faults`."""
        if cell not in self.cache[method]:
            difference = self.cache[method][cell] = compare_counts(self.N, *cell, method, self.k)
            outside = difference.low > 0 or difference.high < 0
            if np.isnan(difference.high - difference.low):
                self.faults.setdefault(f"N = {self.N}, {method or 'in force'}: no interval", []).append(cell)
            elif np.isnan(difference.p_value) or (difference.p_value < 1 - LEVEL) != outside:
                name = f"N = {self.N}, {method or 'in force'}: p-value and interval disagree"
                self.faults.setdefault(name, []).append(cell)
            if difference.detectable == 0:
                self.faults.setdefault(f"N = {self.N}, {method or 'in force'}: detectable is 0", []).append(cell)
        return self.cache[method][cell]

    def describe_faults(self) -> list[str]:
        """Return a line for each kind of fault, with some of the cells that have it."""
        return [
            f"{fault} for (B, C) = {', '.join(map(str, cells[:6]))} ({len(cells)} in all)"
            for fault, cells in self.faults.items()
        ]

    def coverage(self, b: float, c: float, method: DifferenceMethod | None) -> tuple[float, float, float, float]:
        """Return exact coverage, mean width, chance of no interval, and chance that p < .05."""
        truth = (b - c) / self.N
        covered = width = absent = rejected = 0.0
        for cell, chance in count_probabilities(self.N, b, c).items():
            difference = self.interval(cell, method)
            if np.isnan(difference.high - difference.low):
                absent += chance
                continue
            covered += chance * (difference.low - 1e-12 <= truth <= difference.high + 1e-12)
            width += chance * (difference.high - difference.low)
            rejected += chance * (difference.p_value < 1 - LEVEL)
        return covered, width / (1 - absent) if absent < 1 else float("nan"), absent, rejected

    def coverage_of_old(self, b: float, c: float) -> tuple[float, float]:
        """Return exact coverage of Student's t, and the chance that it has no interval."""
        truth = (b - c) / self.N
        covered = absent = 0.0
        for (B, C), chance in count_probabilities(self.N, b, c).items():
            if (B, C) not in self.old:
                limits = old_limits(np.repeat([1.0, -1.0, 0.0], [B, C, self.N - B - C]))
                self.old[B, C] = float(limits[0]), float(limits[1])
            low, high = self.old[B, C]
            absent += chance * bool(np.isnan(high))
            covered += chance * (low <= truth <= high)
        return covered, absent


def tabulate_agreeing(sizes: tuple[int, ...], k: int, failures: list[str]) -> str:
    """Return exact coverage where the k generations of each question agree, as at a low temperature."""
    rows = []
    for N in sizes:
        table = CountTable(N, (None,), k)
        for b, c in AGREEING:
            covered, width, absent, _ = table.coverage(b, c, None)
            if covered < LOWEST:
                failures.append(f"N = {N}, k = {k} alike, expected {b} and {c}: covers {covered:.3f}, claimed {LOWEST}")
            rows.append([str(N), str(k), f"{b}, {c}", *as_floats(covered, width, absent, *table.coverage_of_old(b, c))])
        failures += [f"k = {k} alike, {fault}" for fault in table.describe_faults()]
    header = "N", "k", "expected", "in force", "width", "no interval", "old", "old: no interval"
    return markdown_table(header, rows)


def tabulate_counts(sizes: tuple[int, ...], expected: list[tuple[float, float]], failures: list[str]) -> str:
    """Return exact coverage for each design; what falls short is appended to `failures`."""
    rows = []
    for N in sizes:
        table = CountTable(N, METHODS)
        for b, c in expected:
            if b + c > N:
                continue
            row: list[object] = [str(N), f"{b}, {c}"]
            for method in METHODS:
                covered, width, absent, rejected = table.coverage(b, c, method)
                row += [covered, width]
                if method is None:
                    row += [absent, rejected if b == c else float("nan")]
                if covered < LOWEST and FEWEST <= N:
                    name = f"N = {N}, expected {b} and {c}, {method or 'in force'}"
                    failures.append(f"{name}: covers {covered:.3f}, claimed {LOWEST}")
            rows.append([*row, *table.coverage_of_old(b, c)])
        failures += table.describe_faults()
    header = "N", "expected", "in force", "width", "no interval", "size", "tango", "width"
    return markdown_table((*header, "old", "old: no interval"), rows)


# ---- several generations, published matrices


class Matrix(NamedTuple):
    """P(correct) of some models on the questions of a benchmark, and how many of these are asked."""

    name: str
    p: Array
    sizes: tuple[int, ...]


def load_matrix(name: str, sizes: tuple[int, ...], models: int) -> Matrix:
    """Return models at equal steps from the weakest to the strongest."""
    p = np.asarray(load_published(name).mean, dtype=float)
    order = np.argsort(p.mean(axis=1), kind="stable")
    return Matrix(name, p[order[np.linspace(0, len(order) - 1, models).round().astype(int)]], sizes)


def classify_pairs(p: Array) -> dict[str, NDArray[np.intp]]:
    """Return the pairs of each class, as positions among the pairs i < j."""
    score = p.mean(axis=1)
    a, b = np.triu_indices(len(p), 1)
    low, high = np.minimum(score[a], score[b]), np.maximum(score[a], score[b])
    classes = {
        "both below .03": high < 0.03,
        "one below .03, the other above .1": (low < 0.03) & (high > 0.1),
        "within .05, both above .03": (high - low <= 0.05) & (low >= 0.03),
        "all others": np.ones(len(a), dtype=bool),
    }
    difference: dict[str, NDArray[np.intp]] = {}
    rest = np.ones(len(a), dtype=bool)
    for name, member in classes.items():
        difference[name] = np.flatnonzero(member & rest)
        rest &= ~member
    return {name: positions for name, positions in difference.items() if positions.size}


def draw_cells(p: Array, k: int, rng: np.random.Generator) -> howsure.Cells:
    """Return k generations of each question of as many models as there are rows."""
    total = rng.binomial(k, p).astype(float)
    models, questions = (tuple(map(str, range(size))) for size in p.shape)
    return howsure.Cells("drawn", models, questions, np.full(p.shape, k), total, total)


def read_pairs(columns: Columns, M: int) -> Array:
    """Return low, high, p-value and detectable of each pair i < j, shape (4, pairs)."""
    first, second = (np.asarray(columns[name]).astype(np.int64) for name in ("model_a", "model_b"))
    flipped = first > second
    order = np.argsort(np.minimum(first, second) * M + np.maximum(first, second))
    low, high, p_value, detectable = (np.asarray(columns[name], float) for name in Difference._fields)
    low, high = np.where(flipped, -high, low), np.where(flipped, -low, high)
    return np.array([low, high, p_value, detectable])[:, order]


class Drawn(NamedTuple):
    """Coverage of the rule in force and of Student's t, shape (draws, pairs), and what is wrong in itself."""

    covered: Array
    old: Array
    width: Array
    old_width: Array
    absent: float
    disagreeing: int
    zero_detectable: int


def draw_pairs(matrix: Matrix, N: int, k: int, claim: MeanClaim, draws: int) -> Drawn:
    """Return what all pairs of a matrix give; for new questions the truth is of all questions of the matrix."""
    rng = np.random.default_rng([N, k, len(claim), len(matrix.name)])
    M = len(matrix.p)
    a, b = np.triu_indices(M, 1)
    out = np.empty((draws, 4, len(a)))
    truth = np.broadcast_to((matrix.p[a] - matrix.p[b]).mean(axis=1), (draws, len(a))).copy()
    old = np.empty((draws, 2, len(a)))
    for draw in range(draws):
        if claim == "new-questions":
            p = matrix.p[:, rng.integers(matrix.p.shape[1], size=N)]
        else:
            p = matrix.p[:, rng.permutation(matrix.p.shape[1])[:N]]
            truth[draw] = (p[a] - p[b]).mean(axis=1)
        cells = draw_cells(p, k, rng)
        out[draw] = read_pairs(howsure.pairs(cells, claim=claim).columns(), M)
        old[draw] = old_limits(cells.mean[a] - cells.mean[b])
    low, high, p_value, detectable = np.moveaxis(out, 1, 0)
    there = ~np.isnan(high - low)
    outside = (low > 0) | (high < 0)
    return Drawn(
        covered=((low - 1e-12 <= truth) & (truth <= high + 1e-12)).astype(float),
        old=((old[:, 0] <= truth) & (truth <= old[:, 1])).astype(float),
        width=high - low,
        old_width=old[:, 1] - old[:, 0],
        absent=float(np.mean(~there)),
        disagreeing=int(np.sum(there & ((p_value < 1 - LEVEL) != outside))),
        zero_detectable=int(np.sum(detectable == 0)),
    )


def tabulate_matrices(
    matrices: list[Matrix], claim: MeanClaim, k: tuple[int, ...], draws: int, failures: list[str]
) -> str:
    """Return average coverage by class of pairs; what falls short is appended to `failures`."""
    rows = []
    for matrix in matrices:
        classes = classify_pairs(matrix.p)
        for N, generations in itertools.product(matrix.sizes, k):
            drawn = draw_pairs(matrix, N, generations, claim, draws)
            design = f"{matrix.name}, N = {N}, k = {generations}, {claim}"
            if drawn.absent > 0 and N >= 10:
                failures.append(f"{design}: {drawn.absent:.3f} of the pairs have no interval")
            if drawn.disagreeing:
                failures.append(f"{design}: p-value and interval disagree in {drawn.disagreeing} comparisons")
            if drawn.zero_detectable:
                failures.append(f"{design}: detectable is 0 in {drawn.zero_detectable} comparisons")
            for name, positions in classes.items():
                failures += below_claim(f"{design}, {name}", drawn.covered[:, positions].mean(axis=1))
                row: list[object] = [matrix.name, str(N), str(generations), name, str(len(positions))]
                for covered, width in ((drawn.covered, drawn.width), (drawn.old, drawn.old_width)):
                    by_pair = covered[:, positions].mean(axis=0)
                    some = width[:, positions]
                    row += as_floats(by_pair.mean(), by_pair.min(), np.nanmean(some), np.mean(np.isnan(some)))
                rows.append(row)
    each = "worst pair", "width", "no interval"
    header = "benchmark", "N", "k", "pairs of models", "pairs", "in force", *each, "old", *each
    return markdown_table(header, rows)


def tabulate_null(matrices: list[Matrix], k: tuple[int, ...], draws: int, failures: list[str]) -> str:
    """Return how often p < .05 where the two models of a pair are swapped at random in each question."""
    rows = []
    for matrix in matrices:
        for N, generations in itertools.product(matrix.sizes, k):
            rng = np.random.default_rng([N, generations, 7, len(matrix.name)])
            p_values, old = np.empty(draws), np.empty(draws)
            for draw in range(draws):
                two = matrix.p[rng.permutation(len(matrix.p))[:2]][:, rng.integers(matrix.p.shape[1], size=N)]
                cells = draw_cells(np.where(rng.random(N) < 0.5, two, two[::-1]), generations, rng)
                p_values[draw] = howsure.compare(cells, "0", "1").columns()["p_value"][0]
                low, high = old_limits(cells.mean[0] - cells.mean[1])
                old[draw] = (low > 0) | (high < 0)
            accepted = 1 - (p_values < 1 - LEVEL).astype(float)
            failures += below_claim(f"{matrix.name}, N = {N}, k = {generations}, null, 1 - size", accepted)
            rows.append([matrix.name, str(N), str(generations), float(1 - accepted.mean()), float(old.mean())])
    return markdown_table(("benchmark", "N", "k", "size at .05", "old"), rows)


# ---- tables


def sections(*, quick: bool) -> Iterator[tuple[str, str]]:
    """Yield the tables; raise where a rule in force covers less than it claims or says something impossible."""
    failures: list[str] = []
    some = (0, 2, 3, 5) if quick else EXPECTED
    expected: list[tuple[float, float]] = [(b, c) for b in some for c in some if c <= b]
    if not quick:
        expected += [(b, 0) for b in ONE_SIDED]
    title = "Differences with few discordant questions, one generation (exact)"
    yield title, tabulate_counts((20, 100) if quick else QUESTIONS, expected, failures)
    title = "Differences with few discordant questions, generations of a question alike (exact)"
    yield title, tabulate_agreeing((100,) if quick else (20, 100, 500), 5, failures)
    if quick:
        matrices, draws = [load_matrix("aime2024_cot", (30,), 8)], 60
    else:
        matrices = [load_matrix("aime2024_cot", (10, 20, 30), 12), load_matrix("math500_cot", (30, 100), 12)]
        draws = 300
    several: dict[MeanClaim, tuple[int, ...]] = {
        "new-questions": (1, 10) if quick else (1, 2, 5, 10, 50),
        "these-questions": (2,) if quick else (2, 5, 10),
    }
    for claim, k in several.items():
        title = f"Differences of published models, {claim}"
        yield title, tabulate_matrices(matrices, claim, k, draws, failures)
    title = "Differences of models that are equal in the mean"
    yield title, tabulate_null(matrices, (1, 2, 10), 100 if quick else 1500, failures)
    assert not failures, "\n".join(failures)


if __name__ == "__main__":
    print_sections(sections)
