"""Prompt variants by simulation: bias of components, coverage of their intervals, how many variants are enough.

Cubes with known components, balanced and with 15 % of the cells missing, one model per trial; scores in crossed and in
nested variants, and differences of two models:

- normal: every effect is normal;
- heavy: variants have t effects with 5 degrees of freedom, questions are either easy or hard;
- right or wrong: uniform effects on the chance of a right answer, generations from Bernoulli.

Then n* as published from N = 20 and 100 reference variants against what the space needs, with the interval for that.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checked_tables import LOWEST
from howsure.prompts import Dimension, Space, Value
from howsure.stats.core.claims import PROMPT_CLAIMS, PROMPT_COMPONENTS, PromptComponent
from howsure.stats.core.cube import Cube, Layout
from howsure.stats.core.intervals import variance_limits
from howsure.stats.prompts import (
    FEW_VARIANTS,
    estimate_components,
    required_for_space,
    required_variants,
    summarize_variants,
)

Array = NDArray[np.float64]
LEVEL = 0.95


class Process(NamedTuple):
    """Standard deviations of the effects of question, variant and interaction, and of a generation."""

    name: str
    question: float
    variant: float
    interaction: float
    generation: float


PROCESSES = (
    Process("normal", 0.22, 0.05, 0.1, 0.35),
    Process("heavy", 0.22, 0.05, 0.1, 0.35),
    Process("right or wrong", 0.17, 0.05, 0.05, 0.0),
)


class Row(NamedTuple):
    """What a component, or a mean under a claim, came out as over the trials."""

    process: str
    design: str
    what: str
    truth: float
    bias: float  # mean estimate - truth
    error: float  # Monte-Carlo standard error of it
    covered: float
    trials: int


def draw(
    process: Process, kind: str, shape: tuple[int, int, int, int], missing: float, rng: np.random.Generator
) -> tuple[Cube | Layout, dict[PromptComponent, float]]:
    """A cube with `shape` = (trials, N, S, K), or differences of two of them, and the true components."""
    trials, N, S, K = shape
    if kind == "difference":
        both, true = draw(process, "crossed", (2 * trials, N, S, K), missing, rng)
        assert isinstance(both, Cube)
        halves = both.models[:trials], both.models[trials:]
        return both.difference(*halves), {name: 2 * value for name, value in true.items()}
    nested = kind == "nested"
    sizes: dict[PromptComponent, tuple[int, ...]] = {
        "question": (trials, N, 1),
        "variant": (trials, N if nested else 1, S),
        "interaction": (trials, N, S),
    }
    sd = {name: float(getattr(process, name)) for name in PROMPT_COMPONENTS}
    effects = {name: _effect(process.name, name, size, rng) * sd[name] for name, size in sizes.items()}
    p = 0.5 + effects["question"] + effects["variant"] + effects["interaction"]
    n = np.where(rng.random(p.shape) < missing, 0, K)
    true = {name: value**2 for name, value in sd.items()}
    if process.name == "right or wrong":
        total = rng.binomial(n, p).astype(float)
        total_sq = total
        true["generation"] = 0.25 - true["question"] - true["variant"] - true["interaction"]
    else:
        y = p[..., None] + sd["generation"] * rng.standard_normal((*p.shape, K))
        total, total_sq = y.sum(axis=3) * (n > 0), (y**2).sum(axis=3) * (n > 0)
    if nested:
        true["variant"] += true.pop("interaction")
    models, questions, variants = (tuple(map(str, range(size))) for size in p.shape)
    return Cube("simulated", models, questions, variants, n, total, total_sq, nested=nested), true


def _effect(process: str, name: str, size: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Draws with variance 1."""
    if process == "right or wrong":
        return rng.uniform(-np.sqrt(3), np.sqrt(3), size)
    if process == "heavy" and name == "variant":
        heavy: Array = rng.standard_t(5, size) / np.sqrt(5 / 3)
        return heavy
    if process == "heavy" and name == "question":
        return np.where(rng.random(size) < 0.5, -1.0, 1.0)
    normal: Array = rng.standard_normal(size)
    return normal


def components(kind: str, designs: list[tuple[int, int, int, float]], trials: int) -> Iterator[Row]:
    """Bias and coverage of every component, and of the mean on new questions in new variants."""
    center = 0.0 if kind == "difference" else 0.5
    for process in PROCESSES:
        for N, S, K, missing in designs:
            rng = np.random.default_rng([N, S, K, int(100 * missing), len(process.name)])
            drawn, true = draw(process, kind, (trials, N, S, K), missing, rng)
            fitted = estimate_components(drawn)
            design = f"{N} x {S} x {K}" + (f", {missing:.0%} missing" if missing else "")
            for name in true:
                estimate = getattr(fitted, name)
                if np.all(np.isnan(estimate)):
                    continue
                low, high = fitted.limits(name, LEVEL)
                covered = float(np.mean((low <= true[name]) & (true[name] <= high)))
                off = estimate - true[name]
                error = float(off.std(ddof=1) / np.sqrt(trials))
                yield Row(process.name, design, name, true[name], float(off.mean()), error, covered, trials)
            claim = PROMPT_CLAIMS[-1]
            between = fitted.interval(claim, LEVEL)
            covered = float(np.mean((between.low <= center) & (between.high >= center)))
            off = fitted.mean - center
            error = float(off.std(ddof=1) / np.sqrt(trials))
            yield Row(process.name, design, f"mean, {claim}", center, float(off.mean()), error, covered, trials)


def components_table(rows: list[Row]) -> str:
    """Markdown, a line per row."""
    lines = [
        "| process | questions x variants x generations | what | truth | bias | ± | coverage |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {r.process} | {r.design} | {r.what} | {r.truth:.5f} | {r.bias:+.5f} | {r.error:.5f} | {r.covered:.3f} |"
        for r in rows
    ]
    return "\n".join(lines)


def enough_table(trials: int) -> tuple[str, list[float]]:
    """N* of the mean as published, what the space needs, and how often our interval holds that."""
    lines = [
        "| variants | distribution | sd | space needs | n* as published (mean) | n_star_space (median) | coverage |",
        "|---:|---|---:|---:|---:|---:|---:|",
    ]
    coverage = []
    n_designs = min(40, trials // 10)  # n* takes longer than its interval for the space
    kinds = {"normal": "normal", "uniform": "right or wrong", "heavy": "heavy"}
    for N, kind, sd in product((20, 100), kinds, (0.02, 0.03, 0.05)):
        rng = np.random.default_rng([int(100 * sd), N])
        x = 0.5 + sd * _effect(kinds[kind], "variant", (trials, N), rng)
        few = required_variants(tuple(map(str, range(n_designs))), x[:n_designs])
        needed = float(required_for_space(sd**2, few.epsilon, few.delta))
        s2 = x.var(axis=1, ddof=1)
        low, high = (required_for_space(v, 0.01, 0.1) for v in variance_limits(s2, x, LEVEL))
        covered = float(np.mean((low <= needed) & (needed <= high)))
        coverage.append(covered)
        published, space = few.n_star[:, 0].mean(), np.median(required_for_space(s2, 0.01, 0.1))
        lines.append(f"| {N} | {kind} | {sd} | {needed:.0f} | {published:.1f} | {space:.0f} | {covered:.3f} |")
    return "\n".join(lines), coverage


def few_table(trials: int) -> tuple[str, list[tuple[float, bool]]]:
    """Coverage of the mean over few prompts, where one in ten breaks the format and where none does, and its note."""
    lines = ["| prompts | questions | variants | coverage | width | noted |", "|---|---:|---:|---:|---:|---:|"]
    rows = []
    draws = np.random.default_rng(1).standard_normal((2, 1_000_000))
    for broken, N, S in product((0.0, 0.1), (100, 500), (3, 5, 10, 20, 30)):
        rng = np.random.default_rng([N, S, int(100 * broken)])

        def effect(size: tuple[int, ...], rng: np.random.Generator = rng, broken: float = broken) -> Array:
            return 0.1 * rng.standard_normal(size) - 2 * (rng.random(size) < broken)

        ease = 0.5 + 1.5 * draws[0] + 0.3 * draws[1] + effect(draws[0].shape, np.random.default_rng(2))
        truth = float(np.mean(1 / (1 + np.exp(-ease))))
        size = trials, N, S
        logit = 0.5 + 1.5 * rng.standard_normal((trials, N, 1)) + 0.3 * rng.standard_normal(size)
        right = (rng.random(size) < 1 / (1 + np.exp(-logit - effect((trials, 1, S))))).astype(float)
        models, questions, variants = (tuple(map(str, range(n))) for n in size)
        found = summarize_variants(
            Cube("simulated", models, questions, variants, np.ones(size, np.int64), right, right)
        )
        low, high = found["low"], found["high"]
        covered = float(np.mean((low <= truth) & (truth <= high)))
        noted = bool(np.all([FEW_VARIANTS in str(note) for note in found["note"]]))
        rows.append((covered, noted))
        kind = "one in ten is broken" if broken else "none is broken"
        lines.append(f"| {kind} | {N} | {S} | {covered:.3f} | {np.mean(high - low):.3f} | {noted:d} |")
    return "\n".join(lines), rows


def sections(*, quick: bool) -> Iterator[tuple[str, str]]:
    """For docs/guarantees.md; asserts what is promised."""
    designs = [(100, 10, 2, 0.0), (100, 10, 2, 0.15)]
    more = [] if quick else [(50, 5, 5, 0.0), (100, 30, 2, 0.15), (200, 20, 1, 0.15)]
    few = [(100, 4, 2, 0.0), (100, 4, 2, 0.15)]
    for title, kind, chosen in (
        ("components of a crossed design", "crossed", designs + more),
        ("components of a nested design, where each question draws its own", "nested", few),
        ("components of the difference of two models", "difference", designs),
    ):
        rows = list(components(kind, chosen, 200 if quick else 1000))
        for row in rows:
            assert abs(row.bias) < 4.5 * row.error, row
            assert row.covered > (0.85 if quick else 0.885), row  # the lowest: 30 heavy-tailed variants
        yield f"Prompt variants: {title}", components_table(rows)
    text, few_rows = few_table(200 if quick else 2000)
    assert all(
        noted or covered > LOWEST - 3 * np.sqrt(LOWEST * (1 - LOWEST) / (200 if quick else 2000))
        for covered, noted in few_rows
    ), few_rows
    yield "Prompt variants: the mean over few of them", text
    text, coverage = enough_table(100 if quick else 2000)
    assert min(coverage) > (0.8 if quick else 0.9)
    yield "Prompt variants: how many are enough, epsilon .01, delta .1", text


def main() -> None:
    start = time.perf_counter()
    values = tuple(Value(f"v{i}", f"c{i}") for i in range(100))
    space = Space("big", tuple(Dimension(f"d{i}", values) for i in range(6)))
    points = space.sample(5000, 7)
    drawn = time.perf_counter() - start
    assert len({point.id for point in points}) == 5000
    print(
        f"5,000 draws from a space of {space.size:.0e} points: {drawn:.2f} s, with their ids "
        f"{time.perf_counter() - start:.2f} s\n"
    )
    for title, text in sections(quick=False):
        print(f"## {title}\n\n{text}\n")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
