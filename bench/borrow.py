"""Borrowed scores and differences on published results: squared error against the plain score, and coverage.

Each model in turn is the new one and the others are the reference. It is asked n of the N questions, drawn at random,
k times each; the truth is its mean over all N. Where the results have one generation per question (humaneval+,
swebench-lite, gsm8k, LiveBench) that one stands for the truth, so that nothing is left of sampling, and the error for
the N questions, an upper bound where k = 1, is too large. gsm8k and LiveBench (graded scores, of the models that
answered nearly all questions) are read from the shared folder, and left out where it is scoring.

`python bench/borrow.py [--quick]` prints the tables; every claim below is asserted, with Monte-Carlo slack;
coverage is that of the intervals that are given.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from howsure.rows.table import read_cells
from howsure.stats import borrowing
from howsure.stats.borrowing import FEWEST_QUESTIONS
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import MeanClaim
from published_results import BENCHMARKS, load_published

__all__ = ["sections"]

SHARED = Path(__file__).resolve().parents[1] / "../shared/data"
GSM8K = SHARED / "all_the_noises/main/input_table_gsm8k.csv"
LIVEBENCH = SHARED / "livebench/livebench_13012025.parquet"
Array = NDArray[np.float64]


class Measured(NamedTuple):
    """Per model: squared errors of the plain and of the borrowed estimate, and the share of intervals that cover."""

    plain: Array
    borrowed: Array
    covered: Array
    draws: int

    @property
    def ratio(self) -> float:
        """Mean squared error of the plain estimate over that of the borrowed one, all models together."""
        return float(self.plain.sum() / self.borrowed.sum())

    @property
    def slack(self) -> float:
        """Two Monte-Carlo standard errors of a ratio of 1: mean squares of as many draws, mostly shared."""
        return 2 / float(np.sqrt(self.draws * len(self.plain)))


def published() -> dict[str, Cells]:
    """Every published benchmark with questions enough, by name."""
    result = {name: load_published(name) for name in BENCHMARKS}
    if GSM8K.exists():
        [result["gsm8k"]] = read_cells(GSM8K)
    if LIVEBENCH.exists():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some cells have two rows
            [cells] = read_cells(LIVEBENCH)
        most = [model for model, there in zip(cells.models, cells.answered, strict=True) if there.mean() > 0.98]
        cells = cells.select(most)
        complete = np.all(cells.answered, axis=0)
        result["LiveBench"] = cells.select(
            questions=[q for q, answered in zip(cells.questions, complete, strict=True) if answered]
        )
    return {name: cells for name, cells in result.items() if len(cells.questions) > 50}


def ask(p: Array, n: int, k: int, draws: int, rng: np.random.Generator, *, graded: bool = False) -> Cells:
    """Cells of the same model asked `draws` times: n random questions, k generations each; graded scores are p."""
    counts = np.zeros((draws, len(p)), np.int64)
    for row in counts:
        row[rng.choice(len(p), n, replace=False)] = k
    total = counts * p if graded else rng.binomial(counts, p).astype(float)
    total_sq = counts * p**2 if graded else total
    models, questions = (tuple(map(str, range(size))) for size in counts.shape)
    return Cells("new", tuple(f"draw {model}" for model in models), questions, counts, total, total_sq)


def reference(cells: Cells, without: int) -> Cells:
    """The other models."""
    others = [model for i, model in enumerate(cells.models) if i != without]
    questions = tuple(map(str, range(len(cells.questions))))
    chosen = cells.select(others)
    return Cells("new", chosen.models, questions, chosen.n, chosen.total, chosen.total_sq)


def measure(
    cells: Cells,
    n: int,
    k: int,
    draws: int,
    *,
    claim: MeanClaim = "these-questions",
    models: int | None = None,
    change: Callable[[Array, np.random.Generator], Array] | None = None,
) -> Measured:
    """Score each model, or `models` of them, `draws` times; `change` makes another P(correct) of a model's own."""
    rng = np.random.default_rng([n, k, draws])
    chosen = np.arange(len(cells.models)) if models is None else rng.choice(len(cells.models), models, replace=False)
    plain, borrowed, covered = (np.zeros(len(chosen)) for _ in range(3))
    for i, m in enumerate(chosen):
        p = cells.mean[m] if change is None else change(cells.mean[m], rng)
        truth = float(p.mean())
        answered = ask(p, n, k, draws, rng, graded=not cells.binary)
        result = borrowing.score(answered, reference(cells, int(m)), claim=claim)
        between = result.interval()
        plain[i] = np.mean((result.plain.score - truth) ** 2)
        borrowed[i] = np.mean((result.score - truth) ** 2)
        given = np.isfinite(between.low)  # no interval is given to 1 % of the random subsets, which look selected
        covered[i] = np.mean(((between.low <= truth) & (truth <= between.high))[given])
    return Measured(plain, borrowed, covered, draws)


def designs(cells: Cells, sizes: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Numbers of questions n below N, and of generations k that the results have."""
    for n in sizes:
        for k in (1, 5):
            if n < len(cells.questions) and k <= np.median(cells.n) and (k == 1 or cells.binary):
                yield n, k


def scores(*, quick: bool) -> str:
    """A row per benchmark and design."""
    lines = [
        "| benchmark | N | models | n | k | plain / borrowed | least of a model | coverage | least of a model |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    ratios: dict[int, list[float]] = {1: [], 5: []}
    for name, cells in published().items():
        if quick and name not in {"math500_cot", "swebench-lite"}:
            continue
        for n, k in designs(cells, (100,) if quick else (50, 100, 200)):
            result = measure(cells, n, k, 12 if quick else 60)
            # The least of some fifty noisy ratios is not that of a model: models whose scores do not vary are left out.
            each = result.plain / np.maximum(result.borrowed, 1e-12)
            ratios[k].append(result.ratio)
            lines.append(
                f"| {name} | {len(cells.questions)} | {len(cells.models)} | {n} | {k} | {result.ratio:.2f} | "
                f"{np.min(each[result.plain > 0]):.2f} | {result.covered.mean():.3f} | {result.covered.min():.2f} |"
            )
            assert result.ratio > 1.15, (name, n, k, result.ratio)
            assert result.covered.mean() > 0.93, (name, n, k, result.covered.mean())
    assert np.exp(np.mean(np.log(ratios[1]))) > 1.4
    assert np.exp(np.mean(np.log(ratios[5]))) > 2.3
    return "\n".join(lines)


#: Models unlike all others, from the P(correct) of one of them.
UNLIKE: dict[str, Callable[[Array, np.random.Generator], Array]] = {
    "random answers": lambda p, _: np.full(len(p), p.mean()),
    "right or wrong at random": lambda p, rng: (rng.random(len(p)) < 0.5).astype(float),
    "difficulty shuffled": lambda p, rng: rng.permutation(p),
    "difficulty reversed": lambda p, _: 1 - p,
    "always right": lambda p, _: np.ones(len(p)),
}


def adversaries(*, quick: bool) -> str:
    """A row per kind of model and design: nothing is lost by borrowing where nothing can be."""
    lines = ["| model | n | k | plain / borrowed | coverage |", "|---|---:|---:|---:|---:|"]
    names = ("math500_cot",) if quick else ("math500_cot", "CRUXEval-output-T0.8")
    for kind, change in UNLIKE.items():
        for n in (50,) if quick else (FEWEST_QUESTIONS, 50, 100):
            for k in (1,) if quick else (1, 5):
                each = [
                    measure(load_published(name), n, k, 25 if quick else 150, models=6 if quick else 12, change=change)
                    for name in names
                ]
                result = Measured(
                    np.concatenate([one.plain for one in each]),
                    np.concatenate([one.borrowed for one in each]),
                    np.concatenate([one.covered for one in each]),
                    each[0].draws,
                )
                ratio = result.ratio if result.borrowed.sum() > 0 else 1.0
                lines.append(f"| {kind} | {n} | {k} | {ratio:.3f} | {result.covered.mean():.3f} |")
                assert ratio > 0.95 - result.slack, (kind, n, k, ratio)
                assert result.covered.mean() > 0.93 - result.slack, (kind, n, k, result.covered.mean())
    return "\n".join(lines)


def new_questions(draws: int) -> str:
    """Coverage for new questions: the N questions of the reference are themselves drawn, with replacement."""
    lines = ["| benchmark | n | k | plain / borrowed | coverage |", "|---|---:|---:|---:|---:|"]
    for name in ("math500_cot", "CRUXEval-output-T0.8", "humaneval+"):
        cells = load_published(name)
        for n, k in designs(cells, (50, 100)):
            rng = np.random.default_rng([n, k])
            errors, covered = [], []
            for m in range(0, len(cells.models), 3):
                truth = float(cells.mean[m].mean())
                for _ in range(draws):
                    drawn = rng.integers(0, len(cells.questions), len(cells.questions))
                    others = reference(cells, m)
                    arrays = {part: getattr(others, part)[:, drawn] for part in ("n", "total", "total_sq")}
                    others = replace(others, **arrays)
                    result = borrowing.score(ask(cells.mean[m, drawn], n, k, 1, rng), others)
                    between = result.interval()
                    errors.append([(result.plain.score[0] - truth) ** 2, (result.score[0] - truth) ** 2])
                    if np.isfinite(between.low[0]):
                        covered.append(between.low[0] <= truth <= between.high[0])
            plain, borrowed = np.mean(errors, axis=0)
            lines.append(f"| {name} | {n} | {k} | {plain / borrowed:.2f} | {np.mean(covered):.3f} |")
            assert np.mean(covered) > 0.95 - 3.5 * np.sqrt(0.95 * 0.05 / len(covered)), (name, n, k)
    return "\n".join(lines)


def differences(*, quick: bool) -> str:
    """Pairs of models within three ranks of each other: both asked the same n, or one of them all N before."""
    lines = [
        "| benchmark | n | k | both have n: plain / borrowed | coverage | one has all N: plain / borrowed | coverage |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, cells in published().items():
        if not cells.binary or (quick and name != "math500_cot"):
            continue
        order = np.argsort(cells.mean.mean(axis=1))
        for n, k in designs(cells, (100,)):
            rng = np.random.default_rng([n, k])
            texts = []
            for has_all in (False, True):
                errors, covered = [], []
                for _ in range(4 if quick else 12):
                    i = int(rng.integers(0, len(order) - 3))
                    pair = [int(order[i]), int(order[i + rng.integers(1, 4)])]
                    others = reference(cells, pair[0])
                    truth = float(cells.mean[pair[0]].mean() - cells.mean[pair[1]].mean())
                    for _ in range(10 if quick else 20):
                        new = ask(cells.mean[pair[0]], n, k, 1, rng)
                        counts = np.vstack([new.n, np.full_like(new.n, k) if has_all else new.n])
                        total = np.vstack([new.total, rng.binomial(counts[1], cells.mean[pair[1]])])
                        names = ("new", cells.models[pair[1]])
                        both = Cells("new", names, new.questions, counts, total, total)
                        result = borrowing.compare(both, *names, others, claim="these-questions")
                        between = result.interval()
                        errors.append([(result.plain.difference[0] - truth) ** 2, (result.difference[0] - truth) ** 2])
                        if np.isfinite(between.low[0]):
                            covered.append(between.low[0] <= truth <= between.high[0])
                plain, borrowed = np.mean(errors, axis=0)
                texts.append(f"{plain / borrowed:.2f} | {np.mean(covered):.3f}")
                slack = 3.5 * np.sqrt(0.95 * 0.05 / len(covered))
                assert np.mean(covered) > 0.95 - slack, (name, n, k, has_all, np.mean(covered))
                assert plain / borrowed > (1.2 if has_all else 0.85), (name, n, k, has_all, plain / borrowed)
            lines.append(f"| {name} | {n} | {k} | {' | '.join(texts)} |")
    return "\n".join(lines)


def sections(*, quick: bool) -> Iterator[tuple[str, str]]:
    """Title and markdown of each table; asserts what they claim."""
    yield "Scores that borrow from other models, the N questions of the reference", scores(quick=quick)
    yield "The same for models unlike all others", adversaries(quick=quick)
    if not quick:
        yield "The same for new questions", new_questions(25)
    yield "Differences that borrow", differences(quick=quick)


def main() -> int:
    start = time.perf_counter()
    for title, text in sections(quick="--quick" in sys.argv):
        print(f"## {title}\n\n{text}\n")
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
