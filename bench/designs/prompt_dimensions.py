"""Which dimension of the prompt matters: errors, coverage and power of the test and interval of a dimension's share.

Scores of 100 questions, two generations each, under drawn variants; prompts have a standard deviation of .05, scores of
single questions and prompts one of .14, generations one of .35. In the null designs no dimension has an effect, and all
of the variance over prompts is of prompts as wholes. In the planted ones the first dimension explains half of it and
the last a fifth. "values that suit some questions": each dimension has effects on single questions, of standard
deviation .14, whose mean over all questions is 0. Ten models share a draw of the variants.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from designs.data import Array, covers, make_cube
from designs.engine import ALPHA, LEVEL, Table, guarantee, slack
from howsure.stats.core.cube import Cube
from howsure.stats.prompts import estimate_dimension_shares, estimate_variant_shares, summarize_variants

QUESTIONS, MODELS = 100, 10
PROMPT_SD, CELL_SD, GENERATION_SD = 0.05, 0.14, 0.35


class Prompts(NamedTuple):
    """Number of variants, values of each dimension, and what is particular about the scores."""

    variants: int
    sizes: tuple[int, ...]
    missing: float = 0.0
    by_question: float = 0.0
    planted: bool = False

    @property
    def shares(self) -> Array:
        """Share of the variance over prompts that each dimension explains."""
        shares = np.zeros(len(self.sizes))
        if self.planted:
            shares[0], shares[-1] = 0.5, 0.2
        return shares

    @property
    def names(self) -> tuple[str, str, str]:
        """What is particular, the variants, and the values of each dimension."""
        whole = f"{self.missing:.0%} of the cells missing" if self.missing else "complete"
        name = "values that suit some questions" if self.by_question else whole
        return name, str(self.variants), " x ".join(map(str, self.sizes))


def draw(design: Prompts, rng: np.random.Generator) -> Cube:
    """Return a cube of ten models under one draw of the variants."""
    S, N = design.variants, QUESTIONS
    drawn = [rng.integers(0, size, S) for size in design.sizes]
    whole = rng.normal(0, PROMPT_SD * np.sqrt(1 - design.shares.sum()), (MODELS, 1, S))
    mean = 0.5 + rng.normal(0, 0.2, (MODELS, N, 1)) + whole + rng.normal(0, CELL_SD, (MODELS, N, S))
    for values, share, size in zip(drawn, design.shares, design.sizes, strict=True):
        effect = center(rng.normal(0, 1, (MODELS, size)))
        effect *= PROMPT_SD * np.sqrt(share / np.mean(effect**2, axis=1, keepdims=True))
        mean += effect[:, values][:, None, :]
        mean += center(rng.normal(0, design.by_question * np.sqrt(size / (size - 1)), (MODELS, N, size)))[:, :, values]
    n = np.where(rng.random(mean.shape) < design.missing, 0, 2)
    scores = mean[..., None] + rng.normal(0, GENERATION_SD, (*mean.shape, 2))
    total, square = (np.where(n > 0, array.sum(axis=3), 0) for array in (scores, scores**2))
    named = {f"dimension {i}": tuple(map(str, values)) for i, values in enumerate(drawn)}
    return make_cube(n, total, square, values=named)


def center(effects: Array) -> Array:
    """Return effects without their mean over the values of a dimension."""
    return np.asarray(effects - effects.mean(axis=-1, keepdims=True))


def simulate(design: Prompts, draws: int) -> dict[str, Array]:
    """Return results by model (rows) and dimension: of the test in force, its interval, and the usual F test."""
    parts: list[dict[str, Array]] = []
    for i in range(draws):
        seed = [
            i,
            design.variants,
            len(design.sizes),
            design.planted,
            int(100 * design.missing),
            design.by_question > 0,
        ]
        summary = summarize_variants(draw(design, np.random.default_rng(list(map(int, seed)))))
        found = estimate_variant_shares(summary, level=LEVEL)
        between, cube = found.interval(), summary.cube
        usual = estimate_dimension_shares("simulated", cube.models, summary.moments.scores, cube.values)
        effects, total = usual.effects, summary.components.variant[:, None]
        at = [[i for i, each in enumerate(effects.dimensions) if each == name] for name in found.dimensions]
        explained = np.transpose([np.mean(effects.effect[:, i] ** 2 - effects.variance[:, i], axis=1) for i in at])
        parts.append({
            "p": found.p_value,
            "p_holm": found.p_holm,
            "covered": covers(between.low, between.high, design.shares),
            "variance": found.variance / PROMPT_SD**2,
            "shown": np.nan_to_num(found.share).max(axis=1),  # the largest share that is reported, 0 if none
            "untested": np.max(explained / np.where(total > 0, total, np.nan), axis=1),
            "usual": usual.p_value,
        })  # fmt: skip
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def list_designs(counts: tuple[int, ...], sizes: tuple[tuple[int, ...], ...]) -> list[Prompts]:
    designs = [Prompts(count, values) for count in counts for values in sizes]
    designs += [Prompts(20, sizes[0], missing=0.3), Prompts(50, sizes[1], missing=0.3)]
    return designs + [Prompts(count, sizes[0], by_question=CELL_SD) for count in counts]


SCORES = "scores | variants | values"
QUICK: dict[str, Any] = {"designs": list_designs((20, 50), ((2, 3, 4), (6, 4, 7, 5))), "draws": 12}
FULL: dict[str, Any] = {
    "designs": list_designs((20, 50, 300), ((2, 3, 4), (6, 4, 7, 5), (2, 2, 3, 8, 6, 4))),
    "draws": 200,
}


@guarantee(
    {"Dimensions of the prompt: none has an effect":
     f"{SCORES} | test errs (one dimension) | test errs (any dimension, Holm) | usual F test errs"
     " | interval covers (lowest) | bias of the share (largest) | a share above .3 is reported"
     " | the same, earlier estimate"},
    quick=QUICK,
    full=FULL,
)  # fmt: skip
def null(table: Table, designs: list[Prompts], draws: int) -> None:
    for design in designs:
        o, name = simulate(design, draws), ", ".join(design.names)
        error = slack(LEVEL, len(o["p_holm"]))
        some, covered = float(np.mean(o["p_holm"].min(axis=1) < ALPHA)), float(o["covered"].mean(axis=0).min())
        large, bias = float(np.mean(o["shown"] > 0.3)), o["variance"].mean(axis=0)
        scale = o["variance"].std(axis=0) / np.sqrt(draws)
        table.check(some < ALPHA + error, f"{name}: some dimension is significant in {some:.3f}")
        table.check(large < ALPHA + error, f"{name}: a share above .3 is reported in {large:.3f}")
        table.check(covered > LEVEL - error, f"{name}: the interval covers {covered:.3f}")
        table.check(np.all(np.abs(bias) < 4.5 * scale), f"{name}: bias of the explained variance {bias}")
        one, usual = (float(np.mean(o[rule] < ALPHA)) for rule in ("p", "usual"))
        largest, before = float(bias[np.argmax(np.abs(bias))]), float(np.mean(o["untested"] > 0.3))
        table.add(*design.names, one, some, usual, covered, largest, large, before)


@guarantee(
    {"Dimensions of the prompt: the first explains .5 of the variance over prompts, the last .2":
     f"{SCORES} | power, share .5 | power, share .2 | test errs, share 0 (highest) | covers .5 | covers .2"
     " | bias, share .5 | bias, share .2"},
    quick=QUICK,
    full=FULL,
)  # fmt: skip
def planted(table: Table, designs: list[Prompts], draws: int) -> None:
    for design in designs:
        one = design._replace(planted=True)
        o, error = simulate(one, draws), slack(LEVEL, draws * MODELS)
        covered, power = o["covered"].mean(axis=0), np.mean(o["p_holm"] < ALPHA, axis=0)
        off = o["variance"].mean(axis=0) - one.shares
        table.check(np.all(covered > LEVEL - error), f"{', '.join(one.names)}: the intervals cover {covered}")
        numbers = power[0], power[-1], np.max(power[1:-1]), covered[0], covered[-1], off[0], off[-1]
        table.add(*one.names, *map(float, numbers))
