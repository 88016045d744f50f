"""Borrowed scores and differences on published results: squared error against the plain score, and coverage.

Each model in turn is the new one and the others are the reference. It is asked n of the N questions, drawn at random,
k times each; the truth is its mean over all N. Where the results have one generation per question (humaneval+,
swebench-lite, gsm8k, LiveBench) that one stands for the truth, so that nothing is left of sampling, and the error for
the N questions, an upper bound where k = 1, is too large. gsm8k and LiveBench (graded scores, of the models that
answered nearly all questions) are read from the shared folder, and left out where it is missing. Coverage is that of
the intervals that are given: none is to 1 % of the random subsets, which look selected.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from designs.data import Array, names
from designs.engine import LEVEL, LOWEST, Table, guarantee, slack
from howsure import read as read_cells
from howsure.stats import borrowing
from howsure.stats.borrowing import FEWEST_QUESTIONS
from howsure.stats.borrowing.borrowed_scores import BorrowedScores
from howsure.stats.core.cells import Cells
from published_results import BENCHMARKS, load_published

SHARED = Path(__file__).resolve().parents[2] / "../shared/data"
GSM8K = SHARED / "all_the_noises/main/input_table_gsm8k.csv"
LIVEBENCH = SHARED / "livebench/livebench_13012025.parquet"


def load_all() -> dict[str, Cells]:
    """Return every published benchmark with questions enough, by name."""
    result = {name: load_published(name) for name in BENCHMARKS}
    if GSM8K.exists():
        [result["gsm8k"]] = read_cells(GSM8K)
    if LIVEBENCH.exists():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some cells have two rows
            [cells] = read_cells(LIVEBENCH)
        cells = cells.select([m for m, there in zip(cells.models, cells.answered, strict=True) if there.mean() > 0.98])
        complete = np.all(cells.answered, axis=0)
        kept = [question for question, there in zip(cells.questions, complete, strict=True) if there]
        result["LiveBench"] = cells.select(questions=kept)
    return {name: cells for name, cells in result.items() if len(cells.questions) > 50}


def ask(p: Array, n: int, k: int, draws: int, rng: np.random.Generator, *, graded: bool = False) -> Cells:
    """Return the same model asked `draws` times: n random questions, k generations each; graded scores are p."""
    counts = np.zeros((draws, len(p)), np.int64)
    for row in counts:
        row[rng.choice(len(p), n, replace=False)] = k
    total = counts * p if graded else rng.binomial(counts, p).astype(float)
    models = tuple(f"draw {i}" for i in range(draws))
    return Cells("new", models, names(len(p)), counts, total, counts * p**2 if graded else total)


def leave_out(cells: Cells, model: int) -> Cells:
    """Return the other models."""
    others = cells.select([name for i, name in enumerate(cells.models) if i != model])
    return Cells("new", others.models, names(len(cells.questions)), others.n, others.total, others.total_sq)


def list_sizes(cells: Cells, sizes: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield numbers of questions n below N, and of generations k that the results have."""
    for n, k in product(sizes, (1, 5)):
        if n < len(cells.questions) and k <= np.median(cells.n) and (k == 1 or cells.binary):
            yield n, k


def judge(result: BorrowedScores, truth: float) -> tuple[float, float, float]:
    """Return the mean squared errors of the plain and the borrowed score, and the share of intervals that cover."""
    between = result.interval()
    given = np.isfinite(between.low)
    held = ((between.low <= truth) & (truth <= between.high))[given]
    plain, borrowed = (float(np.mean((score - truth) ** 2)) for score in (result.plain.score, result.score))
    return plain, borrowed, float(held.mean()) if held.size else np.nan


def measure(
    cells: Cells, n: int, k: int, draws: int, models: int | None = None,
    change: Callable[[Array, np.random.Generator], Array] = lambda p, _: p,
) -> Array:  # fmt: skip
    """Judge each model, or `models` of them, shape (3, models); `change` makes another P(correct) of a model's own."""
    rng = np.random.default_rng([n, k, draws])
    chosen = np.arange(len(cells.models)) if models is None else rng.choice(len(cells.models), models, replace=False)
    rows = []
    for m in chosen:
        p = change(cells.mean[m], rng)
        asked = ask(p, n, k, draws, rng, graded=not cells.binary)
        rows.append(judge(borrowing.score(asked, leave_out(cells, int(m)), claim="these-questions"), float(p.mean())))
    return np.array(rows).T


@guarantee(
    {"Scores that borrow from other models, the N questions of the reference":
     "benchmark | N | models | n | k | plain / borrowed | least of a model | coverage | least of a model"},
    quick={"names": ("math500_cot", "swebench-lite"), "sizes": (100,), "draws": 12},
    full={"names": None, "sizes": (50, 100, 200), "draws": 60},
)  # fmt: skip
def scores(table: Table, names: tuple[str, ...] | None, sizes: tuple[int, ...], draws: int) -> None:
    ratios: dict[int, list[float]] = {1: [], 5: []}
    for name, cells in load_all().items():
        if names is not None and name not in names:
            continue
        for n, k in list_sizes(cells, sizes):
            plain, borrowed, covered = measure(cells, n, k, draws)
            ratio = plain.sum() / borrowed.sum()
            ratios[k].append(ratio)
            # The least of some fifty noisy ratios is not that of a model: those whose scores do not vary are left out.
            least = np.min((plain / np.maximum(borrowed, 1e-12))[plain > 0])
            table.check(ratio > 1.15, f"{name}, n = {n}, k = {k}: plain / borrowed {ratio:.2f}")
            table.check(covered.mean() > LOWEST, f"{name}, n = {n}, k = {k}: covers {covered.mean():.3f}")
            table.add(name, len(cells.questions), len(cells.models), n, k, f"{ratio:.2f}", f"{least:.2f}",
                      float(covered.mean()), f"{covered.min():.2f}")  # fmt: skip
    for k, least in ((1, 1.4), (5, 2.3)):
        mean = np.exp(np.mean(np.log(ratios[k])))
        table.check(mean > least, f"k = {k}: plain / borrowed {mean:.2f} over benchmarks")


#: Models unlike all others, from the P(correct) of one of them.
UNLIKE: dict[str, Callable[[Array, np.random.Generator], Array]] = {
    "random answers": lambda p, _: np.full(len(p), p.mean()),
    "right or wrong at random": lambda p, rng: (rng.random(len(p)) < 0.5).astype(float),
    "difficulty shuffled": lambda p, rng: rng.permutation(p),
    "difficulty reversed": lambda p, _: 1 - p,
    "always right": lambda p, _: np.ones(len(p)),
}


@guarantee(
    {"The same for models unlike all others": "model | n | k | plain / borrowed | coverage"},
    quick={"names": ("math500_cot",), "sizes": ((50, 1),), "draws": 25, "models": 6},
    full={"names": ("math500_cot", "CRUXEval-output-T0.8"), "sizes": (*product((FEWEST_QUESTIONS, 50, 100), (1, 5)),),
          "draws": 150, "models": 12},
)  # fmt: skip
def unlike(table: Table, names: tuple[str, ...], sizes: tuple[tuple[int, int], ...], draws: int, models: int) -> None:
    """Nothing is lost by borrowing where nothing can be gained."""
    for (kind, change), (n, k) in product(UNLIKE.items(), sizes):
        each = [measure(load_published(name), n, k, draws, models, change) for name in names]
        plain, borrowed, covered = np.concatenate(each, axis=1)
        ratio = plain.sum() / borrowed.sum() if borrowed.sum() > 0 else 1.0
        error = 2 / np.sqrt(draws * len(plain))  # two of a ratio of 1, of draws that are mostly shared
        table.check(ratio > 0.95 - error, f"{kind}, n = {n}, k = {k}: plain / borrowed {ratio:.3f}")
        table.check(covered.mean() > LOWEST - error, f"{kind}, n = {n}, k = {k}: covers {covered.mean():.3f}")
        table.add(kind, n, k, float(ratio), float(covered.mean()))


@guarantee(
    {"The same for new questions": "benchmark | n | k | plain / borrowed | coverage"},
    quick={"names": (), "draws": 0},
    full={"names": ("math500_cot", "CRUXEval-output-T0.8", "humaneval+"), "draws": 25},
)
def new_questions(table: Table, names: tuple[str, ...], draws: int) -> None:
    """The N questions of the reference are themselves drawn, with replacement."""
    for name in names:
        cells = load_published(name)
        for n, k in list_sizes(cells, (50, 100)):
            rng, rows = np.random.default_rng([n, k]), []
            for m, _ in product(range(0, len(cells.models), 3), range(draws)):
                drawn = rng.integers(0, len(cells.questions), len(cells.questions))
                others = leave_out(cells, m)
                others = replace(
                    others, **{part: getattr(others, part)[:, drawn] for part in ("n", "total", "total_sq")}
                )
                new = ask(cells.mean[m, drawn], n, k, 1, rng)
                rows.append(judge(borrowing.score(new, others), float(cells.mean[m].mean())))
            check_and_add(table, rows, name, n, k)


def check_and_add(table: Table, rows: list[tuple[float, float, float]], *labels: object) -> tuple[float, float]:
    """Check coverage, add a row if there are labels, and return plain / borrowed with the coverage."""
    plain, borrowed, _ = np.mean(rows, axis=0)
    covered = np.array([row[2] for row in rows])
    covered = covered[~np.isnan(covered)]
    lowest = LEVEL - slack(LEVEL, len(covered), 3.5)
    table.check(covered.mean() > lowest, f"{labels}: covers {covered.mean():.3f}")
    if labels:
        table.add(*labels, f"{plain / borrowed:.2f}", float(covered.mean()))
    return float(plain / borrowed), float(covered.mean())


@guarantee(
    {"Differences that borrow": "benchmark | n | k | both have n: plain / borrowed | coverage"
     " | one has all N: plain / borrowed | coverage"},
    quick={"names": ("math500_cot",), "pairs": 4, "draws": 10},
    full={"names": None, "pairs": 12, "draws": 20},
)  # fmt: skip
def differences(table: Table, names: tuple[str, ...] | None, pairs: int, draws: int) -> None:
    """Pairs of models within three ranks of each other: both asked the same n, or one of them all N before."""
    for name, cells in load_all().items():
        if not cells.binary or (names is not None and name not in names):
            continue
        order = np.argsort(cells.mean.mean(axis=1))
        for n, k in list_sizes(cells, (100,)):
            rng, found = np.random.default_rng([n, k]), []
            for has_all in (False, True):
                rows: list[tuple[float, float, float]] = []
                for _ in range(pairs):
                    i = int(rng.integers(0, len(order) - 3))
                    a, b = int(order[i]), int(order[i + rng.integers(1, 4)])
                    others = leave_out(cells, a)
                    truth = float(cells.mean[a].mean() - cells.mean[b].mean())
                    for _ in range(draws):
                        new = ask(cells.mean[a], n, k, 1, rng)
                        counts = np.vstack([new.n, np.full_like(new.n, k) if has_all else new.n])
                        total = np.vstack([new.total, rng.binomial(counts[1], cells.mean[b])])
                        both = Cells("new", ("new", cells.models[b]), new.questions, counts, total, total)
                        result = borrowing.compare(both, "new", cells.models[b], others, claim="these-questions")
                        between = result.interval()
                        held = between.low[0] <= truth <= between.high[0]
                        errors = ((one - truth) ** 2 for one in (result.plain.difference[0], result.difference[0]))
                        rows.append((*errors, float(held) if np.isfinite(between.low[0]) else np.nan))
                ratio, covered = check_and_add(table, rows)
                least = 1.2 if has_all else 0.85
                table.check(ratio > least, f"{name}, n = {n}, k = {k}, {has_all}: plain / borrowed {ratio:.2f}")
                found += [f"{ratio:.2f}", covered]
            table.add(name, n, k, *found)
