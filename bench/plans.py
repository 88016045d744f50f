"""Do plans deliver the power that they promise? Pilots drawn from published results, power on the true components.

A pilot of N questions and k generations is drawn from the results of two models whose scores lie within .05 of each
other (both between .1 and .9). The plan asks for power .80 at a difference of .03. The delivered power is that of a
two-sided test at 5 % with the planned numbers of questions and generations, from the true data variance D and
prediction variance E of the two models:

    se^2 = (D + E/k)/N        power = Phi(.03/se - 1.96) + Phi(-.03/se - 1.96)

math500_cot and aime2024_cot: question means of about 1,100 generations are the true P(correct), and generations are
Bernoulli draws. CRUXEval: the generations of a pilot are drawn without replacement from the ten that were recorded, and
D and E are the unbiased estimates from all ten. Questions are drawn with replacement.

The plain plan takes the pilot's components as known: D = var(d) - mean(s2_a/k + s2_b/k), 0 where that is negative,
E = mean(s2_a + s2_b), and the cheapest (N, k). It is written here anew, and so is the plan that knows the true D and E.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import howsure
from checked_tables import Checks, markdown, print_sections
from howsure.stats.core.cells import Cells
from howsure.stats.planning import Cost
from published_results import MANY_GENERATIONS, load_published

Array = NDArray[np.float64]

DETECT, ALPHA, POWER = 0.03, 0.05, 0.80
#: What the mean over pilots has to deliver for a promised .80.
DELIVERED = 0.78
QUESTIONS = 1_000_000  # as many as a plan likes
FEWEST, MOST_GENERATIONS = 30, 10_000
PILOTS = ((30, 2), (50, 5), (100, 2), (164, 10))
#: The prompt is paid once per request, which returns up to 16 generations.
PER_REQUEST = 16
TOKENS = Cost(prompt_tokens=600, completion_tokens=200, generations_per_request=PER_REQUEST)
UNITS = {"calls": None, "tokens": TOKENS}
BENCHMARKS = ("math500_cot", "aime2024_cot", "CRUXEval-output-T0.8")
BENCHMARKS_OF_ACCURACY = (*BENCHMARKS, "humaneval+", "swebench-lite")


class Design(NamedTuple):
    """Planned questions and generations per question, and what both models together cost."""

    N: int
    k: int
    cost: float


class Pair(NamedTuple):
    """Two published models and the true components of one question of their difference."""

    a: int
    b: int
    D: float
    E: float
    accuracy: float


def plan_in_force(cells: Cells | None, unit: str, *, accuracy: float | None = None) -> Design | None:
    """Return the recommended design, the first row of `howsure.plan`; None where it refuses the pilot.

    The one place where a plan is made: choose the assurance here.
    """
    a, b = ("a", "b") if cells is not None else (None, None)
    try:
        planned = howsure.plan(
            cells, a=a, b=b, accuracy=accuracy, detect=DETECT, power=POWER, cost=UNITS[unit], available=QUESTIONS
        )
    except howsure.InputError:
        if cells is None:
            raise
        return None
    rows = planned.columns()
    return Design(int(rows["n_questions"][0]), int(rows["n_generations"][0]), float(rows[unit][0]))


def cost_of(N: Array, k: Array, unit: str) -> Array:
    """Return the cost of N questions x k generations of two models."""
    if unit == "calls":
        return 2 * N * k
    requests = np.ceil(k / PER_REQUEST)
    return 2 * N * (requests * TOKENS.prompt_tokens + k * TOKENS.completion_tokens)


def cheapest(D: float, E: float, unit: str) -> Design:
    """Return the cheapest design with the promised power if D and E were true."""
    k = np.arange(1.0, MOST_GENERATIONS + 1)
    z = stats.norm.ppf(1 - ALPHA / 2) + stats.norm.ppf(POWER)
    N = np.maximum(FEWEST, np.ceil(z**2 * (D + E / k) / DETECT**2))
    cost = cost_of(N, k, unit)
    best = int(np.argmin(cost))
    return Design(int(N[best]), int(k[best]), float(cost[best]))


def plain_components(cells: Cells) -> tuple[float, float]:
    """Return D, at least 0, and E of a pilot with the same k everywhere; var divides by N."""
    p, k = cells.total / cells.n, cells.n
    within = p * (1 - p) * k / (k - 1)
    return max(0.0, float(np.var(p[0] - p[1]) - np.mean((within / k).sum(axis=0)))), float(within.sum(axis=0).mean())


def power_of(design: Design, pair: Pair, difference: float = DETECT) -> float:
    """Return the chance of a two-sided test to reject."""
    shift = difference / np.sqrt((pair.D + pair.E / design.k) / design.N)
    critical = stats.norm.ppf(1 - ALPHA / 2)
    return float(stats.norm.cdf(shift - critical) + stats.norm.cdf(-shift - critical))


def close_pairs(cells: Cells) -> list[Pair]:
    """Return all pairs of models within .05 of each other, both scores from .1 to .9.

    With one generation per question D is the total variance and E is 0.
    """
    p, k = cells.mean, cells.n
    within, score = p * (1 - p), p.mean(axis=1)
    if cells.benchmark in MANY_GENERATIONS:  # the question means are the truth that `draw` draws from
        noise = np.zeros(p.shape)
    else:
        within = within * k / np.maximum(k - 1, 1)
        noise = within / k
    detected = []
    for a in range(len(score)):
        for b in range(a):
            if abs(score[a] - score[b]) <= 0.05 and 0.1 <= min(score[a], score[b]) <= max(score[a], score[b]) <= 0.9:
                D = np.var(p[a] - p[b]) - np.mean(noise[a] + noise[b])
                E = np.mean(within[a] + within[b])
                detected.append(Pair(a, b, float(D), float(E), float((score[a] + score[b]) / 2)))
    return detected


def draw(cells: Cells, pair: Pair, N: int, k: int, rng: np.random.Generator) -> Cells:
    """Return new data of the two models, named a and b: N questions with replacement, k generations each."""
    rows = np.ix_(np.array([pair.a, pair.b]), rng.integers(0, len(cells.questions), N))
    if cells.benchmark in MANY_GENERATIONS:
        total = rng.binomial(k, cells.mean[rows]).astype(float)
    else:
        right = np.rint(cells.total[rows]).astype(np.int64)
        total = rng.hypergeometric(right, cells.n[rows] - right, k).astype(float)
    return Cells("pilot", ("a", "b"), tuple(map(str, range(N))), np.full((2, N), k), total, total)


def with_pilot(plans: int, checks: Checks) -> str:
    """Return the table of plans from pilots."""
    rows = []
    for name in BENCHMARKS:
        cells = load_published(name)
        pairs = close_pairs(cells)
        for N, k in PILOTS:
            rng = np.random.default_rng([N, k, len(name)])
            drawn = [pairs[i] for i in rng.integers(0, len(pairs), plans)]
            pilots = [draw(cells, pair, N, k, rng) for pair in drawn]
            components = [plain_components(pilot) for pilot in pilots]
            for unit in UNITS:
                oracle = [cheapest(pair.D, pair.E, unit) for pair in drawn]
                plain = [cheapest(*both, unit) for both in components]
                planned = [plan_in_force(pilot, unit) for pilot in pilots]
                has = [i for i, design in enumerate(planned) if design is not None]
                force = [design for design in planned if design is not None]
                plain, oracle = ([designs[i] for i in has] for designs in (plain, oracle))
                power, plain_power = (
                    np.array([power_of(design, drawn[i]) for design, i in zip(designs, has, strict=True)])
                    for designs in (force, plain)
                )
                cost, plain_cost, known_cost = (np.array([d.cost for d in ds]) for ds in (force, plain, oracle))
                error = float(power.std() / np.sqrt(len(has)))
                row = f"{name} {N} x {k} {unit}"
                checks.check(
                    power.mean() >= DELIVERED - 3 * error,
                    f"plan from a pilot, {row}: mean delivered power {power.mean():.3f} ± {error:.3f} < {DELIVERED}",
                )
                rows.append(
                    (
                        *(name, f"{N} x {k}", unit, f"{power.mean():.3f}", f"{error:.3f}"),
                        f"{np.mean(power < 0.6):.2f}",
                        f"{np.quantile(power, 0.1):.2f}",
                        f"{np.median(cost / known_cost):.2f}",
                        f"{np.mean(cost / known_cost):.2f}",
                        f"{cost.sum() / plain_cost.sum():.2f}",
                        *(f"{plain_power.mean():.3f}", f"{np.mean(plain_power < 0.6):.2f}"),
                        *(f"{np.quantile(plain_power, 0.1):.2f}", f"{np.mean(plain_cost / known_cost):.2f}"),
                        *(f"{np.mean([D == 0 for D, _ in components]):.2f}", plans - len(has)),
                    )
                )
    columns = (
        *("truth", "pilot", "cost in", "mean power", "±", "below .6", "10 %", "cost/known (median)", "(mean)"),
        *("cost/plain", "plain: mean power", "below .6", "10 %", "cost/known (mean)", "D taken as 0", "no plan"),
    )
    return markdown(columns, rows, 3)


def without_pilot(checks: Checks) -> str:
    """Return the table of plans from an accuracy alone, for every pair of close models.

    Where one generation is recorded, only plans with one generation can be judged.
    """
    rows, means = [], []
    for name in BENCHMARKS_OF_ACCURACY:
        pairs = close_pairs(load_published(name))
        total = np.median([(pair.D + pair.E) / (pair.accuracy * (1 - pair.accuracy)) for pair in pairs])
        share = np.median([pair.D / (pair.D + pair.E) for pair in pairs])
        for unit in UNITS:
            accuracies = {round(pair.accuracy, 2) for pair in pairs}
            planned = {accuracy: plan_in_force(None, unit, accuracy=accuracy) for accuracy in accuracies}
            designs = [design for pair in pairs if (design := planned[round(pair.accuracy, 2)]) is not None]
            if name not in BENCHMARKS and any(design.k > 1 for design in designs):
                continue
            power = np.array([power_of(design, pair) for design, pair in zip(designs, pairs, strict=True)])
            oracle = np.array([cheapest(pair.D, pair.E, unit).cost for pair in pairs])
            means.append((unit, power.mean()))
            rows.append(
                (
                    *(name, unit, len(power), f"{power.mean():.3f}", f"{np.mean(power < 0.6):.2f}"),
                    *(f"{np.quantile(power, 0.1):.2f}", f"{np.median([d.cost for d in designs] / oracle):.2f}"),
                    *(f"{total:.2f}", f"{share:.2f}" if name in BENCHMARKS else "-"),
                )
            )
    for unit in UNITS:
        mean = np.mean([value for its_unit, value in means if its_unit == unit])
        checks.check(
            mean >= DELIVERED, f"plan without a pilot, {unit}: mean delivered power over benchmarks {mean:.3f}"
        )
    columns = ("truth", "cost in", "pairs", "mean power", "below .6", "10 %", "cost/known (median)")
    return markdown((*columns, "true total/(p(1-p))", "true data share"), rows, 2)


def simulated(comparisons: int, checks: Checks) -> str:
    """Return the power of `howsure.compare` on fresh data beside the normal approximation used above."""
    rows = []
    for name in ("math500_cot", "CRUXEval-output-T0.8"):
        cells = load_published(name)
        score = cells.mean.mean(axis=1)
        pairs = [pair for pair in close_pairs(cells) if 0.02 <= abs(score[pair.a] - score[pair.b]) <= 0.04]
        for unit in UNITS:
            rng = np.random.default_rng([len(name), len(unit)])
            expected, detected, sizes = 0.0, 0, []
            for _ in range(comparisons):
                pair = pairs[rng.integers(0, len(pairs))]
                design = cheapest(pair.D, pair.E, unit)
                if name not in MANY_GENERATIONS:  # at most ten generations can be drawn
                    design = design._replace(k=min(design.k, 10))
                sizes.append(design.N)
                fresh = draw(cells, pair, design.N, design.k, rng)
                detected += bool(howsure.compare(fresh, "a", "b").columns()["p_value"][0] < ALPHA)
                expected += power_of(design, pair, abs(score[pair.a] - score[pair.b]))
            share, mean = detected / comparisons, expected / comparisons
            error = float(np.sqrt(mean * (1 - mean) / comparisons))
            checks.check(
                abs(share - mean) <= 3 * error + 0.02, f"{name} {unit}: approximation {mean:.3f}, compare {share:.3f}"
            )
            rows.append((name, unit, comparisons, int(np.median(sizes)), f"{mean:.3f}", f"{share:.3f}", f"{error:.3f}"))
    return markdown(("truth", "cost in", "comparisons", "median N", "approximation", "compare()", "±"), rows, 2)


def sections(*, quick: bool) -> Iterator[tuple[str, str]]:
    """Yield titles and tables; raise AssertionError at the end where a claim does not hold."""
    checks = Checks()
    yield (
        f"Plans from a pilot: delivered power for a promised {POWER:.2f}, detect {DETECT}",
        with_pilot(40 if quick else 500, checks),
    )
    yield f"Plans without a pilot: delivered power for a promised {POWER:.2f}, detect {DETECT}", without_pilot(checks)
    yield (
        "Power of a planned design: the approximation and simulated comparisons",
        simulated(50 if quick else 1000, checks),
    )
    checks.finish()


if __name__ == "__main__":
    print_sections(sections)
