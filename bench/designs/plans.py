"""Do plans deliver what they promise? Pilots drawn from published results, or simulated with prompt variants.

A pilot of N questions and k generations is drawn from the results of two models whose scores lie within .05 of each
other (both between .1 and .9). The plan asks for power .80 at a difference of .03. The delivered power is that of a
two-sided test at 5 % with the planned numbers, from the true data and prediction variances D and E of the two models:

    se^2 = (D + E/k)/N        power = Phi(.03/se - 1.96) + Phi(-.03/se - 1.96)

math500_cot and aime2024_cot: question means of about 1,100 generations are the true P(correct). CRUXEval: generations
are drawn without replacement from the ten that were recorded; D and E are unbiased estimates from all ten.

With prompt variants, one model is planned to an interval of a given width, for new questions in new variants; pilots
are crossed designs with known components, so that the true standard error of N x S x K is known:

    se^2 = vQ/N + vS/S + vQS/(N S) + ve/(N S K)

On the probability scale effects are uniform (sd .18 of questions, .05 of interactions), on the logit scale normal (1.5
and .4), where the components come from quadrature. The promised standard error is width/(2 x 1.96).

The plain plan takes the pilot's components as known, negative ones as 0, and the cheapest design; "known" is the plan
from the true components. Both are written here anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, special, stats

import howsure
from designs.data import Array, make_cells, make_cube
from designs.engine import ALPHA, Table, guarantee, slack
from howsure.stats.core.cells import Cells
from howsure.stats.core.cube import Cube
from howsure.stats.planning import Cost
from published_results import MANY_GENERATIONS, load_published

DETECT, POWER, AVAILABLE = 0.03, 0.80, 1_000_000  # as many questions as a plan likes
#: What the mean over pilots has to deliver for a promised .80.
DELIVERED = 0.78
FEWEST, MOST_VARIANTS, MOST_GENERATIONS = 30, 300, 64
#: The prompt is paid once per request, which returns up to 16 generations.
PER_REQUEST = 16
TOKENS = Cost(prompt_tokens=600, completion_tokens=200, generations_per_request=PER_REQUEST)
UNITS = {"calls": None, "tokens": TOKENS}
PILOTS = ((30, 2), (50, 5), (100, 2), (164, 10))
BENCHMARKS = ("math500_cot", "aime2024_cot", "CRUXEval-output-T0.8")
Z = float(stats.norm.ppf(1 - ALPHA / 2))


def price(cells: Array, k: Array, unit: str) -> Array:
    """Return the cost of so many cells with k generations each."""
    if unit == "calls":
        return cells * k
    return cells * (np.ceil(k / PER_REQUEST) * TOKENS.prompt_tokens + k * TOKENS.completion_tokens)


def plan(data: Cells | Cube | None, unit: str, columns: tuple[str, ...], **goal: Any) -> tuple[float, ...] | None:
    """Return the recommended design, the first row of `howsure.plan`, and its cost; None where it refuses the pilot."""
    try:
        rows = howsure.plan(data, cost=UNITS[unit], available=AVAILABLE, **goal).columns()
    except howsure.InputError:
        if data is None:
            raise
        return None
    return tuple(float(rows[name][0]) for name in (*columns, unit))


# ---- two models


class Pair(NamedTuple):
    """Two published models and the true components of one question of their difference."""

    a: int
    b: int
    D: float
    E: float
    accuracy: float

    def power(self, N: float, k: float, difference: float = DETECT) -> float:
        """Return the chance of a two-sided test to reject."""
        shift = difference / np.sqrt((self.D + self.E / k) / N)
        return float(stats.norm.cdf(shift - Z) + stats.norm.cdf(-shift - Z))


def plan_pair(data: Cells | None, unit: str, **more: float) -> tuple[float, ...] | None:
    """Return N, k and cost of the plan in force."""
    named = {} if data is None else {"a": "0", "b": "1"}
    goal = {"detect": DETECT, "power": POWER, **named, **more}
    return plan(data, unit, ("n_questions", "n_generations"), **goal)


def cheapest(D: float, E: float, unit: str) -> tuple[int, int, float]:
    """Return the cheapest N, k and cost with the promised power if D and E were true."""
    k = np.arange(1.0, 10_001)
    N = np.maximum(FEWEST, np.ceil((Z + stats.norm.ppf(POWER)) ** 2 * (D + E / k) / DETECT**2))
    cost = price(2 * N, k, unit)
    best = int(np.argmin(cost))
    return int(N[best]), int(k[best]), float(cost[best])


def estimate_plain(cells: Cells) -> tuple[float, float]:
    """Return D, at least 0, and E of a pilot with the same k everywhere; var divides by N."""
    p, k = cells.total / cells.n, cells.n
    within = p * (1 - p) * k / (k - 1)
    return max(0.0, float(np.var(p[0] - p[1]) - np.mean((within / k).sum(axis=0)))), float(within.sum(axis=0).mean())


def close_pairs(cells: Cells) -> list[Pair]:
    """Return all pairs of models within .05 of each other, both scores from .1 to .9.

    With one generation per question D is the total variance and E is 0.
    """
    p, k = cells.mean, cells.n
    within, noise, score = p * (1 - p), np.zeros(p.shape), p.mean(axis=1)
    if cells.benchmark not in MANY_GENERATIONS:  # whose question means are the truth that `draw` draws from
        within = within * k / np.maximum(k - 1, 1)
        noise = within / k
    return [
        Pair(a, b, float(np.var(p[a] - p[b]) - np.mean(noise[a] + noise[b])), float(np.mean(within[a] + within[b])),
             float((score[a] + score[b]) / 2))
        for a in range(len(score)) for b in range(a)
        if abs(score[a] - score[b]) <= 0.05 and 0.1 <= min(score[a], score[b]) <= max(score[a], score[b]) <= 0.9
    ]  # fmt: skip


def draw(cells: Cells, pair: Pair, N: int, k: int, rng: np.random.Generator) -> Cells:
    """Return new data of the two models: N questions with replacement, k generations each."""
    rows = np.ix_(np.array([pair.a, pair.b]), rng.integers(0, len(cells.questions), N))
    if cells.benchmark in MANY_GENERATIONS:
        return make_cells(k, rng.binomial(k, cells.mean[rows]).astype(float))
    right = np.rint(cells.total[rows]).astype(np.int64)
    return make_cells(k, rng.hypergeometric(right, cells.n[rows] - right, k).astype(float))


@guarantee(
    {"Plans from a pilot: delivered power for a promised 0.80, detect 0.03":
     "truth | pilot | cost in | mean power | ± | below .6 | 10 % | cost/known (median) | (mean) | cost/plain"
     " | plain: mean power | below .6 | 10 % | cost/known (mean) | D taken as 0 | no plan"},
    quick={"parts": BENCHMARKS, "plans": 40},
    full={"parts": BENCHMARKS, "plans": 500},
)  # fmt: skip
def with_pilot(table: Table, part: str, plans: int) -> None:
    cells = load_published(part)
    pairs = close_pairs(cells)
    for N, k in PILOTS:
        rng = np.random.default_rng([N, k, len(part)])
        drawn = [pairs[i] for i in rng.integers(0, len(pairs), plans)]
        pilots = [draw(cells, pair, N, k, rng) for pair in drawn]
        components = [estimate_plain(pilot) for pilot in pilots]
        for unit in UNITS:
            each = [(pair, plan_pair(pilot, unit), cheapest(*both, unit), cheapest(pair.D, pair.E, unit))
                    for pair, pilot, both in zip(drawn, pilots, components, strict=True)]  # fmt: skip
            rows = np.array([(pair.power(*ours[:2]), ours[2], pair.power(*plain[:2]), plain[2], known[2])
                             for pair, ours, plain, known in each if ours is not None])  # fmt: skip
            power, cost, plain_power, plain_cost, known_cost = rows.T
            error = float(power.std() / np.sqrt(len(rows)))
            table.check(power.mean() >= DELIVERED - 3 * error, f"{part} {N} x {k} {unit}: delivers {power.mean():.3f}")
            table.add(part, f"{N} x {k}", unit, float(power.mean()), error, *(f"{value:.2f}" for value in (
                np.mean(power < 0.6), np.quantile(power, 0.1), np.median(cost / known_cost),
                np.mean(cost / known_cost), cost.sum() / plain_cost.sum())), float(plain_power.mean()),
                *(f"{value:.2f}" for value in (
                    np.mean(plain_power < 0.6), np.quantile(plain_power, 0.1), np.mean(plain_cost / known_cost),
                    np.mean([D == 0 for D, _ in components]))), plans - len(rows))  # fmt: skip


@guarantee(
    {"Plans without a pilot: delivered power for a promised 0.80, detect 0.03":
     "truth | cost in | pairs | mean power | below .6 | 10 % | cost/known (median) | true total/(p(1-p))"
     " | true data share"},
    quick={},
)  # fmt: skip
def without_pilot(table: Table) -> None:
    """From an accuracy alone; where one generation is recorded, only plans with one generation can be judged."""
    means: dict[str, list[float]] = {unit: [] for unit in UNITS}
    for name in (*BENCHMARKS, "humaneval+", "swebench-lite"):
        pairs = close_pairs(load_published(name))
        total = np.median([(pair.D + pair.E) / (pair.accuracy * (1 - pair.accuracy)) for pair in pairs])
        share = np.median([pair.D / (pair.D + pair.E) for pair in pairs])
        for unit in UNITS:
            accuracies = {round(pair.accuracy, 2) for pair in pairs}
            planned = {accuracy: plan_pair(None, unit, accuracy=accuracy) for accuracy in accuracies}
            designs = [design for pair in pairs if (design := planned[round(pair.accuracy, 2)]) is not None]
            if name not in BENCHMARKS and any(k > 1 for _, k, _ in designs):
                continue
            power = np.array([pair.power(N, k) for (N, k, _), pair in zip(designs, pairs, strict=True)])
            known = np.array([cheapest(pair.D, pair.E, unit)[2] for pair in pairs])
            means[unit].append(float(power.mean()))
            ratio = np.median([design[2] for design in designs] / known)
            numbers = np.mean(power < 0.6), np.quantile(power, 0.1), ratio, total
            of_data = f"{share:.2f}" if name in BENCHMARKS else "-"
            table.add(name, unit, len(power), float(power.mean()), *(f"{value:.2f}" for value in numbers), of_data)
    for unit, powers in means.items():
        table.check(np.mean(powers) >= DELIVERED, f"{unit}: mean delivered power over benchmarks {np.mean(powers):.3f}")


@guarantee(
    {"Power of a planned design: the approximation and simulated comparisons":
     "truth | cost in | comparisons | median N | approximation | compare() | ±"},
    quick={"comparisons": 50},
    full={"comparisons": 1000},
)  # fmt: skip
def simulated(table: Table, comparisons: int) -> None:
    """Power of `howsure.compare` on fresh data beside the normal approximation used above."""
    for name in ("math500_cot", "CRUXEval-output-T0.8"):
        cells = load_published(name)
        score = cells.mean.mean(axis=1)
        pairs = [pair for pair in close_pairs(cells) if 0.02 <= abs(score[pair.a] - score[pair.b]) <= 0.04]
        for unit in UNITS:
            rng = np.random.default_rng([len(name), len(unit)])
            expected, detected, sizes = 0.0, 0, []
            for _ in range(comparisons):
                pair = pairs[rng.integers(0, len(pairs))]
                N, k, _ = cheapest(pair.D, pair.E, unit)
                k = k if name in MANY_GENERATIONS else min(k, 10)  # at most ten can be drawn
                sizes.append(N)
                fresh = draw(cells, pair, N, k, rng)
                detected += bool(howsure.compare(fresh, "0", "1").columns()["p_value"][0] < ALPHA)
                expected += pair.power(N, k, abs(score[pair.a] - score[pair.b]))
            share, mean = detected / comparisons, expected / comparisons
            table.check(abs(share - mean) <= slack(mean, comparisons) + 0.02, f"{name} {unit}: {mean:.3f}, {share:.3f}")
            table.add(name, unit, comparisons, int(np.median(sizes)), mean, share, slack(mean, comparisons, 1))


# ---- prompt variants


class Components(NamedTuple):
    """Variances of questions, variants, interaction and generations."""

    question: float
    variant: float
    interaction: float
    generation: float

    def se(self, N: float, S: float, K: float) -> float:
        """Return the standard error of N questions, S variants and K generations."""
        v = self.question / N + self.variant / S + self.interaction / (N * S) + self.generation / (N * S * K)
        return float(np.sqrt(v))


#: Pilot of N questions x S variants x K generations, and the sd of the prompts; the wanted width is .06.
CASES = ((50, 5, 2, 0.02), (100, 10, 2, 0.03), (100, 10, 2, 0.05))
WIDTH = 0.06


def on_logits(question: float, variant: float, interaction: float) -> Components:
    """Return the components of P(correct) by Gauss-Hermite quadrature."""
    x, w = np.polynomial.hermite_e.hermegauss(31)
    w = w / w.sum()
    p = special.expit(question * x[:, None, None] + variant * x[:, None] + interaction * x)
    both = p @ w  # E[p | question, variant]
    mean = float(w @ both @ w)
    vQ, vS = float(w @ (both @ w) ** 2 - mean**2), float(w @ (w @ both) ** 2 - mean**2)
    total = float(w @ (p**2 @ w) @ w) - mean**2
    return Components(vQ, vS, total - vQ - vS, mean - mean**2 - total)


def make_process(scale: str, sd: float) -> tuple[tuple[float, float, float], Components]:
    """Return the sds of questions, prompts and interactions on their scale, and the components of P(correct)."""
    if scale == "probability":
        sds = (0.18, sd, 0.05)
        v = [value**2 for value in sds]
        return sds, Components(v[0], v[1], v[2], 0.25 - sum(v))
    variant = optimize.brentq(lambda x: on_logits(1.5, x, 0.4).variant - sd**2, 1e-3, 2.0, xtol=1e-6)
    return (1.5, variant, 0.4), on_logits(1.5, variant, 0.4)


def draw_pilot(scale: str, sds: tuple[float, ...], N: int, S: int, K: int, rng: np.random.Generator) -> Cube:
    shapes = ((N, 1), (1, S), (N, S))
    if scale == "probability":
        p = 0.5 + sum(sd * np.sqrt(3) * rng.uniform(-1, 1, size) for sd, size in zip(sds, shapes, strict=True))
    else:
        p = special.expit(sum(sd * rng.standard_normal(size) for sd, size in zip(sds, shapes, strict=True)))
    return make_cube(K, rng.binomial(K, p[None]).astype(float))


def cheapest_with_prompts(v: Components, unit: str) -> tuple[int, int, int, float]:
    """Return the cheapest N, S, K and cost that has the width if the components are these."""
    S, K = np.meshgrid(np.arange(1.0, MOST_VARIANTS + 1), np.arange(1.0, MOST_GENERATIONS + 1), indexing="ij")
    left = (WIDTH / (2 * Z)) ** 2 - v.variant / S
    with np.errstate(divide="ignore", invalid="ignore"):
        N = np.ceil((v.question + v.interaction / S + v.generation / (S * K)) / left)
    N = np.where(left > 0, np.maximum(N, FEWEST), np.inf)
    cost = price(N * S, K, unit)
    s, k = np.unravel_index(np.argmin(cost), cost.shape)
    return int(N[s, k]), int(s) + 1, int(k) + 1, float(cost[s, k])


def estimate_plain_components(pilot: Cube) -> Components:
    """Return the mean squares of a balanced two-way layout as components, at least 0."""
    p, k = pilot.mean[0], int(pilot.n[0, 0, 0])
    N, S = p.shape
    ve = float(np.mean(p * (1 - p))) * k / (k - 1)
    rest = p - p.mean(axis=0) - p.mean(axis=1, keepdims=True) + p.mean()
    between = float((rest**2).sum()) / ((N - 1) * (S - 1))
    vQ, vS = p.mean(axis=1).var(ddof=1) - between / S, p.mean(axis=0).var(ddof=1) - between / N
    return Components(*(max(0.0, float(v)) for v in (vQ, vS, between - ve / k, ve)))


@guarantee(
    {"Plans from a pilot with prompt variants: true standard error of the plan over the promised one, width .06":
     "scale | pilot | sd of prompts | cost in | true se/promised, median | above 1.25 | 90 % | one prompt"
     " | cost/known (median) | plain: median | above 1.25 | 90 % | one prompt | cost/known (median) | no plan"},
    quick={"parts": ("probability", "logit"), "plans": 30},
    full={"parts": ("probability", "logit"), "plans": 250},
)  # fmt: skip
def with_prompts(table: Table, part: str, plans: int) -> None:
    """At most a fifth of the plans may have a true standard error of more than 1.25 times the promised one."""
    columns = "n_questions", "n_variants", "n_generations"
    limits = {"a": "0", "width": WIDTH, "max_variants": MOST_VARIANTS, "max_generations": MOST_GENERATIONS}
    for N, S, K, sd in CASES:
        sds, true = make_process(part, sd)
        rng = np.random.default_rng([N, S, int(1000 * sd), len(part)])
        pilots = [draw_pilot(part, sds, N, S, K, rng) for _ in range(plans)]
        for unit in UNITS:
            known = cheapest_with_prompts(true, unit)
            force = [design for pilot in pilots if (design := plan(pilot, unit, columns, **limits)) is not None]
            plain = [cheapest_with_prompts(estimate_plain_components(pilot), unit) for pilot in pilots]
            texts = []
            for designs in (force, plain):
                ratio = np.array([true.se(*design[:3]) for design in designs]) / (WIDTH / (2 * Z))
                misses = float(np.mean(ratio > 1.25))
                one, cost = (
                    np.mean([design[1] == 1 for design in designs]),
                    np.median([design[3] for design in designs]),
                )
                texts += [np.median(ratio), misses, np.quantile(ratio, 0.9), one, cost / known[3]]
                name = f"{part} {N} x {S} x {K} sd {sd} {unit}"
                table.check(designs is plain or misses <= 0.2 + slack(0.2, plans), f"{name}: misses {misses:.2f}")
            numbers = (f"{value:.2f}" for value in texts)
            table.add(part, f"{N} x {S} x {K}", f"{sd:g}", unit, *numbers, plans - len(force))
