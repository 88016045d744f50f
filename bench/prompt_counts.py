"""How many prompt variants are enough, where each score holds sampling noise: `n_star_space` against the truth.

Prompts of sd .02 on P(correct), no interaction with the questions; questions uniform with sd .18 around .5. The space
of prompts needs n = (z sd/epsilon)^2 variants for a mean within epsilon = .01 with delta = .1, which is 16 (z = 1.96,
since the percentile is 1 - delta/2). The variance of the scores over variants holds (vQS + ve/K)/N of noise besides.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import howsure
from checked_tables import Checks, markdown, print_sections
from howsure.stats.core.cube import Cube

Array = NDArray[np.float64]

SD, EPSILON, DELTA, QUESTION_SD, Z = 0.02, 0.01, 0.1, 0.18, 1.959964
TRUTH = float(np.ceil((Z * SD / EPSILON) ** 2))
DESIGNS = ((50, 1), (100, 1), (100, 5), (500, 1))
VARIANTS = (30, 100)


def draw(trials: int, N: int, S: int, K: int, rng: np.random.Generator) -> Cube:
    """Return a cube with one model per trial."""
    question, variant = (rng.uniform(-1, 1, size) * np.sqrt(3) for size in ((trials, N, 1), (trials, 1, S)))
    n = np.full((trials, N, S), K)
    total = rng.binomial(n, 0.5 + QUESTION_SD * question + SD * variant).astype(float)
    models, questions, variants = (tuple(map(str, range(size))) for size in (trials, N, S))
    return Cube("simulated", models, questions, variants, n, total, total)


def uncorrected(cube: Cube) -> Array:
    """Return (z sd/epsilon)^2 of each model from the plain variance of its scores over variants."""
    s2 = cube.mean.mean(axis=1).var(axis=1, ddof=1)
    needed: Array = np.ceil(Z**2 * s2 / EPSILON**2)
    return needed


def in_force(cube: Cube) -> tuple[Array, Array]:
    """Return `n_star_space` and `n_star_space_corrected` of each model."""
    columns = howsure.variants(cube, epsilon=EPSILON, delta=DELTA).columns()
    plain, corrected = (np.asarray(columns[name], float) for name in ("n_star_space", "n_star_space_corrected"))
    return plain, corrected


def anova(cube: Cube) -> Array:
    """Return the number from the variance over variants without its sampling noise, by mean squares; NaN below 0."""
    p = cube.mean
    _, N, S = p.shape
    rest = p - p.mean(axis=1, keepdims=True) - p.mean(axis=2, keepdims=True) + p.mean(axis=(1, 2), keepdims=True)
    noise = (rest**2).sum(axis=(1, 2)) / ((N - 1) * (S - 1)) / N
    v = p.mean(axis=1).var(axis=1, ddof=1) - noise
    return np.where(v > 0, np.ceil(Z**2 * v / EPSILON**2), np.nan)


def table(trials: int, checks: Checks) -> str:
    """Return medians of the printed, the corrected and the oracle's number."""
    rows = []
    for S in VARIANTS:
        for N, K in DESIGNS:
            cube = draw(trials, N, S, K, np.random.default_rng([N, S, K]))
            raw, oracle = uncorrected(cube), anova(cube)
            plain, printed = in_force(cube)
            row = f"variants that are enough, {N} x {K}, {S} variants"
            corrected = np.nan_to_num(printed)  # nothing was measured of the prompts: 0
            off, off_raw = (np.median(np.abs(value - TRUTH)) for value in (corrected, raw))
            checks.check(off <= off_raw, f"{row}: the corrected number is off by {off:.0f}, the other by {off_raw:.0f}")
            if S == 100 and N * K >= 500:
                median = np.median(corrected)
                checks.check(TRUTH / 2 <= median <= 2 * TRUTH, f"{row}: corrected {median:.0f}, not {TRUTH:.0f}")
            low, high = np.nanquantile(printed, [0.1, 0.9]) if np.any(~np.isnan(printed)) else (np.nan, np.nan)
            values = [f"{np.median(corrected):.0f}", f"{low:.0f} to {high:.0f}", f"{np.mean(np.isnan(printed)):.2f}"]
            rows.append(
                (
                    *(f"{N} x {K}", S, f"{TRUTH:.0f}", f"{np.median(plain):.0f}", f"{np.median(raw):.0f}", *values),
                    *(f"{np.median(np.nan_to_num(oracle)):.0f}", f"{np.mean(np.isnan(oracle)):.2f}"),
                )
            )
    columns = ("questions x generations", "variants", "space needs", "n_star_space (median)", "(z s/epsilon)^2")
    more = ("corrected (median)", "10 to 90 %", "none", "mean squares (median)", "none")
    return markdown((*columns, *more), rows)


def sections(*, quick: bool) -> Iterator[tuple[str, str]]:
    """Yield the title and the table; raise AssertionError at the end where a claim does not hold."""
    checks = Checks()
    yield (
        f"How many prompt variants are enough: scores with sampling noise, prompts of sd {SD}",
        table(10 if quick else 80, checks),
    )
    checks.finish()


if __name__ == "__main__":
    print_sections(sections)
