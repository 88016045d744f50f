"""Does each interval cover, and does each test keep its size? By simulation, into docs/guarantees.

Three ways to generate an evaluation, after NOISE appendix F:

- bernoulli: questions drawn from a Beta population, generations from Bernoulli(p_q): Beta(.6, .4), an easy one,
  Beta(1.8, .2), and one of Beta(5, 2) with 30 % hopeless questions, which is no Beta;
- resampled: questions drawn with replacement from published score matrices (published_results.py): 48 models on the 500
  questions of MATH500, and 50 on the 30 of AIME 2024, each evaluation of another model or pair, whose question means of
  1,100 generations stand for the true P(correct). Coverage is over models as well as over questions;
- stratified: the first N questions of MATH500 each time, once each; what varies is sampling alone, so the claim is
  `these-questions`.

Full: `make guarantees` (an hour). Some tables: `--only copies,borrow`. Reduced: `--quick`, which only asserts.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import error_rates
from checked_tables import LEVEL, LOWEST
from howsure.stats.comparisons import compare
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import DifferenceMethod, IntervalMethod, MeanClaim
from howsure.stats.scores import score
from published_results import load_published

TABLES = Path(__file__).resolve().parents[1] / "docs" / "guarantees"
GENERATIONS = (1, 2, 5, 50)
QUESTIONS = (20, 100, 500, 5000)
Array = NDArray[np.float64]

#: Processes that draw from a published matrix.
PUBLISHED = {"resampled, MATH500": "math500_cot", "resampled, AIME": "aime2024_cot", "stratified": "math500_cot"}


#: Modules with further tables: each has `sections(quick=...)`, which yields titles and tables and raises an
#: AssertionError at the end where a claim does not hold.
MODULES = (
    "clustered",
    "few_differences",
    "counts",
    "small_designs",
    "rank_sets",
    "averages",
    "plans",
    "plans_with_prompts",
    "prompt_quantiles",
    "prompt_counts",
    "prompt_dimensions",
    "prompt_agreement",
    "p_correct",
    "borrow",
    "borrow_attack",
    "label_errors",
    "copies",
    "shared_seeds",
    "inspect_stopping",
    "published_forms",
    "variants",
    "judged_scores",
    "gate_errors",
)


class Design(NamedTuple):
    """How many questions and generations, and what is irregular about them."""

    N: int
    K: int
    irregular: str = ""  # "", "unequal" counts, 10 % "missing", or "clusters" of five


class Row(NamedTuple):
    """One line of the table."""

    process: str
    design: Design
    claim: str
    method: str
    covered: float
    trials: int
    width: float

    @property
    def error(self) -> float:
        """Monte-Carlo standard error of a coverage that is nominal."""
        return float(np.sqrt(LEVEL * (1 - LEVEL) / self.trials))


class Processes:
    """True P(correct) of the questions of many evaluations, and what is estimated."""

    def __init__(self) -> None:
        self.published = {name: load_published(name).mean for name in ("math500_cot", "aime2024_cot")}

    def draw(self, process: str, design: Design, trials: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """p, shape (trials, N), and the estimand, shape (trials,)."""
        if process in PUBLISHED:
            return self._resample(process, design, rng, rng.integers(0, 48, (1, trials)))[0]
        N = design.N
        size = (trials, -(-N // 5)) if design.irregular == "clusters" else (trials, N)
        if process == "bernoulli":
            p, mean = rng.beta(0.6, 0.4, size), 0.6
        elif process == "bernoulli, easy":
            p, mean = rng.beta(1.8, 0.2, size), 0.9
        else:
            p, mean = np.where(rng.random(size) < 0.3, 0, rng.beta(5, 2, size)), 0.5
        if design.irregular == "clusters":
            p = np.repeat(p, 5, axis=1)[:, :N]
        return p, np.full(trials, mean)

    def draw_pair(
        self, process: str, design: Design, trials: int, rng: np.random.Generator
    ) -> tuple[Array, Array, Array]:
        """True P(correct) of two models on the same questions, (trials, N) each, and the true difference, (trials,)."""
        if process in PUBLISHED:
            models = np.array([rng.choice(48, 2, replace=False) for _ in range(trials)]).T
            (p, mean), (q, other) = self._resample(process, design, rng, models)
            return p, q, mean - other
        # Two models of equal expected score: half of the questions as hard for both, half drawn anew.
        p, _ = self.draw(process, design, trials, rng)
        other, _ = self.draw(process, design, trials, rng)
        shared = rng.random((trials, design.N if design.irregular != "clusters" else -(-design.N // 5))) < 0.5
        if design.irregular == "clusters":
            shared = np.repeat(shared, 5, axis=1)[:, : design.N]
        return p, np.where(shared, p, other), np.zeros(trials)

    def _resample(
        self, process: str, design: Design, rng: np.random.Generator, models: NDArray[np.integer]
    ) -> list[tuple[Array, Array]]:
        """True P(correct) and the estimand of each row of `models` (rows, trials), on questions that rows share."""
        matrix = self.published[PUBLISHED[process]]
        size = (models.shape[1], -(-design.N // 5) if design.irregular == "clusters" else design.N)
        question = rng.integers(0, matrix.shape[1], size)
        if process == "stratified":
            question = np.broadcast_to(np.arange(design.N) % matrix.shape[1], size)
        if design.irregular == "clusters":
            question = np.repeat(question, 5, axis=1)[:, : design.N]
        drawn = [matrix[row[:, None], question] for row in models]
        return [(p, p.mean(axis=1) if process == "stratified" else matrix[row].mean(axis=1))
                for p, row in zip(drawn, models, strict=True)]  # fmt: skip


def cells_of(p: Array, design: Design, rng: np.random.Generator) -> Cells:
    """One evaluation a row."""
    n = np.full(p.shape, design.K)
    if design.irregular == "unequal":
        n = rng.integers(1, 2 * design.K, p.shape)
    if design.irregular == "missing":
        n = np.where(rng.random(p.shape) < 0.1, 0, n)
    total = rng.binomial(n, p).astype(float)
    clusters = tuple(str(q // 5) for q in range(p.shape[1])) if design.irregular == "clusters" else None
    models, questions = (tuple(map(str, range(size))) for size in p.shape)
    return Cells("simulated", models, questions, n, total, total, clusters=clusters)


def methods(design: Design, claim: MeanClaim) -> list[IntervalMethod | None]:
    """Intervals that make this claim on such data; None is the default."""
    if claim == "these-questions" or design.irregular == "clusters":
        return [None, "t", "clt"]
    some: list[IntervalMethod | None] = [None, "wilson-effective", "t", "clt"]
    if design.N <= 100 and design.K == 1 and design.irregular != "unequal":
        some += ["wilson", "exact"]
    return some


def scores(processes: Processes, design: Design, process: str, trials: int) -> Iterator[Row]:
    """Coverage and mean width of the intervals of a score."""
    rng = np.random.default_rng([design.N, design.K, len(process), len(design.irregular)])
    p, mean = processes.draw(process, design, trials, rng)
    cells = cells_of(p, design, rng)
    claim: MeanClaim = "these-questions" if process == "stratified" else "new-questions"
    if claim == "these-questions":  # those that were answered
        mean = np.mean(p, axis=1, where=cells.answered)
    for method in methods(design, claim):
        between = score(cells, claim=claim, method=method).interval(LEVEL)
        # An interval that is not there covers nothing.
        covered = np.mean((between.low <= mean) & (mean <= between.high))
        yield Row(
            process, design, claim, method or "default", float(covered), trials, _mean(between.high - between.low)
        )


def differences(processes: Processes, design: Design, process: str, trials: int) -> Iterator[Row]:
    """The same for two models."""
    rng = np.random.default_rng([design.N, design.K, len(process), len(design.irregular), 2])
    p, q, true = processes.draw_pair(process, design, trials, rng)
    claim: MeanClaim = "these-questions" if process == "stratified" else "new-questions"
    first, second = cells_of(p, design, rng), cells_of(q, design, rng)
    both = first.answered & second.answered
    if claim == "these-questions":
        true = np.mean(p - q, axis=1, where=both)
    methods: tuple[DifferenceMethod | None, ...] = (None, "t", "clt")
    for method in methods:
        covered, widths = 0, []
        for i in range(trials):
            n, total = (np.array([getattr(c, name)[i] for c in (first, second)]) for name in ("n", "total"))
            pair = Cells("pair", ("a", "b"), first.questions, n, total, total, clusters=first.clusters)
            between = compare(pair, "a", "b", claim=claim, method=method).interval(LEVEL)
            covered += bool(between.low[0] <= true[i] <= between.high[0])
            widths.append(between.high[0] - between.low[0])
        name = method or "default"
        yield Row(process, design, f"difference, {claim}", name, covered / trials, trials, _mean(np.array(widths)))


def _mean(values: Array) -> float:
    return float(np.nanmean(values)) if np.any(~np.isnan(values)) else float("nan")


def designs(*, quick: bool) -> list[Design]:
    """The grid, and what is irregular at N = 100."""
    if quick:
        return [Design(20, 1), Design(100, 5), Design(100, 5, "clusters")]
    futures = [Design(N, K) for N in QUESTIONS for K in GENERATIONS]
    return futures + [Design(100, K, irregular) for irregular in ("unequal", "missing", "clusters") for K in (1, 5)]


def _of_design(design: Design, quick: bool) -> list[Row]:
    processes = Processes()
    rows: list[Row] = []
    trials = 400 if quick else 2000 if design.N <= 500 else 800
    for process in ("bernoulli", "bernoulli, easy", "bernoulli, some hopeless", *PUBLISHED):
        if process == "stratified" and (design.K == 1 or design.irregular == "clusters"):
            continue  # one generation says nothing of this claim; clusters are not what varies
        rows += scores(processes, design, process, trials)
        rows += differences(processes, design, process, trials // 2)
    print(f"{design}: {len(rows)} rows", file=sys.stderr)
    return rows


def table(rows: list[Row]) -> str:
    """Markdown, a line per row."""
    lines = [
        "| process | N | K | irregular | claim | interval | coverage | ± | mean width | low |",
        "|---|---:|---:|---|---|---|---:|---:|---:|---|",
    ]
    for row in rows:
        d = row.design
        low = "low" if (row.covered - LEVEL) / row.error < -3 else ""
        lines.append(
            f"| {row.process} | {d.N} | {d.K} | {d.irregular} | {row.claim} | {row.method} "
            f"| {row.covered:.3f} | {row.error:.3f} | {row.width:.3f} | {low} |"
        )
    return "\n".join(lines)


def worst(rows: list[Row]) -> str:
    """Lowest coverage of each interval, over everything it was asked."""
    lines = ["| interval | rows | lowest coverage | rows below 0.93 | mean coverage |", "|---|---:|---:|---:|---:|"]
    for claim, method in dict.fromkeys((row.claim, row.method) for row in rows):
        covered = np.array([row.covered for row in rows if (row.claim, row.method) == (claim, method)])
        low = int(np.sum(covered < 0.93))
        lines.append(f"| {method}, {claim} | {len(covered)} | {covered.min():.3f} | {low} | {covered.mean():.3f} |")
    return "\n".join(lines)


def write_tables(sections: list[tuple[str, str]]) -> None:
    """Write each table as a CSV, beside index.csv with their titles; tables of other titles stay as they are."""
    TABLES.mkdir(exist_ok=True)
    index = {row["title"]: row for row in read_csv(TABLES / "index.csv")} if (TABLES / "index.csv").exists() else {}
    for title, text in sections:
        lines = [line for line in text.splitlines() if line.startswith("|")]
        head, _, *rows = ([cell.strip() for cell in line[1:-1].split("|")] for line in lines)
        names, last = [], ""
        for name in head:  # one of several columns "mean width" belongs to the column before it
            is_own = name != "±" and head.count(name) == 1
            last = name if is_own else last
            names.append(name if is_own else f"{last}: {name}")
        note = " ".join(line for line in text.splitlines() if not line.startswith("|")).strip()
        file = f"{re.sub('[^a-z0-9]+', '-', title.lower())[:60].strip('-')}.csv"
        write_csv(TABLES / file, [name or "design" for name in names], rows)
        index[title] = {"title": title, "file": file, "rows": str(len(rows)), "note": note}
    write_csv(TABLES / "index.csv", ["title", "file", "rows", "note"], [list(row.values()) for row in index.values()])


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_csv(path: Path, names: list[str], rows: list[list[str]]) -> None:
    """Write a table."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([names, *rows])


def draw() -> None:
    """Write docs/guarantees.png: the coverage of each interval in each design."""
    alt: Any = import_module("altair")
    names = {"default": "howsure", "t": "t", "clt": "normal (CLT)"}
    rows = [
        {
            "interval": f"{names[row['interval']]}, {'difference' if 'diff' in row['claim'] else 'score'}",
            "coverage": float(row["coverage"]),
            "N": int(row["N"]),
        }
        for row in read_csv(TABLES / "every-design.csv")
        if "these" not in row["claim"] and row["interval"] in names
    ]
    scale = alt.Scale(domain=[0.4, 1], nice=False)
    x = alt.X("coverage:Q", scale=scale, axis=alt.Axis(format=".0%", values=[0.4, 0.6, 0.8, 0.95]), title=None)
    ticks = (
        alt.Chart(alt.Data(values=rows))
        .mark_tick(thickness=1.5, opacity=0.6, size=22)
        .encode(
            x=x,
            y=alt.Y("interval:N", sort=None, title=None),
            color=alt.Color("N:O", scale=alt.Scale(scheme="viridis"), legend=alt.Legend(title="questions")),
        )
    )
    rule = alt.Chart(alt.Data(values=[{"coverage": LEVEL}])).mark_rule(strokeDash=[4, 3]).encode(x=x)
    picture = (rule + ticks).properties(width=480, height=210).configure(background="white")
    picture.save(TABLES.with_suffix(".png"), scale_factor=1.5)


def sections_of(module: str, quick: bool) -> tuple[list[tuple[str, str]], str]:
    """Titles and tables of a module, and which of its claims do not hold, '' if all do."""
    titled, start, failed = [], time.perf_counter(), ""
    try:
        for section in import_module(module).sections(quick=quick):
            titled.append(section)  # noqa: PERF402  # what was yielded before a claim failed is kept
    except AssertionError as error:
        failed = f"{module}: {error}"
    print(f"{module}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return titled, failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few designs; asserts and writes nothing")
    parser.add_argument("--only", default="", help="names of modules, with commas: no other table is made")
    parser.add_argument("--draw", action="store_true", help="draw docs/guarantees.png from the tables, and no more")
    args = parser.parse_args()
    quick, start = args.quick, time.perf_counter()
    if args.draw:
        draw()
        return 0
    design_list = [] if args.only else designs(quick=quick)
    with ProcessPoolExecutor(2) as pool:
        futures = [pool.submit(_of_design, design, quick) for design in reversed(design_list)][::-1]
        sizes = None if args.only else pool.submit(error_rates.sizes, 100 if quick else 4000)
        parts = [pool.submit(sections_of, module, quick) for module in (args.only.split(",") if args.only else MODULES)]
        rows = [row for part in futures for row in part.result()]
        found = [("At a glance", worst(rows))] if rows else []
        found += [("Tests when there is nothing to find, at 5 %", sizes.result())] if sizes else []
        failures = []
        for part in parts:
            titled, failed = part.result()
            found += titled
            failures += [failed] if failed else []
    found += [("Every design", table(rows))] if rows else []
    failures += [
        f"{row} covers too little" for row in rows if row.method == "default" and row.covered < LOWEST - 3 * row.error
    ]
    if quick:
        print("\n\n".join(f"{title}\n\n{text}" for title, text in found))
    else:
        write_tables(found)
        draw()
        print(f"{len(found)} tables, {time.perf_counter() - start:.0f} s", file=sys.stderr)
    print("\n".join(failures), file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
