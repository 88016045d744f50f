"""Do plans from pilots with prompt variants deliver the standard error that they promise? By simulation.

One model is planned to an interval of a given width, for new questions in new variants. Pilots are simulated from a
crossed design of questions, prompt variants and generations with known components, so that the true standard error of
the planned N questions, S variants and K generations is known:

    se^2 = vQ/N + vS/S + vQS/(N S) + ve/(N S K)

- probability scale: uniform effects of questions (sd .18), prompts and interactions (sd .05) on P(correct) around .5;
- logit scale: normal effects of questions (sd 1.5), prompts and interactions (sd .4) on the logit around .5; the
  components of P(correct) come from quadrature, and the sd of the prompts is chosen to be the given one on that scale.

The promised standard error is width/(2 x 1.96). Beside the rule in force stands the plain plan: the ANOVA estimates
taken as known, negative ones as 0, and the cheapest (N, S, K).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

import howsure
from checked_tables import Checks, markdown, print_sections
from howsure.stats.core.cube import Cube
from howsure.stats.planning import Cost

Array = NDArray[np.float64]

QUESTIONS, VARIANTS, GENERATIONS = 1_000_000, 300, 64  # as many as a plan likes
FEWEST = 30
TOKENS = Cost(prompt_tokens=600, completion_tokens=200, generations_per_request=16)
UNITS = {"calls": None, "tokens": TOKENS}
#: Share of plans whose true standard error is more than 1.25 times the promised one.
MISSES = 0.20


class Components(NamedTuple):
    """Variances of questions, variants, interaction and generations."""

    question: float
    variant: float
    interaction: float
    generation: float


class Case(NamedTuple):
    """Pilot of N questions x S variants x K generations, sd of the prompts, and the width that is wanted."""

    N: int
    S: int
    K: int
    sd: float
    width: float


CASES = (Case(50, 5, 2, 0.02, 0.06), Case(100, 10, 2, 0.03, 0.06), Case(100, 10, 2, 0.05, 0.06))


class Process:
    """How the P(correct) of questions x variants comes about; `true` has its components."""

    def __init__(self, scale: str, sd: float) -> None:
        self.scale = scale
        if scale == "probability":
            self.sd = (0.18, sd, 0.05)
            v = [value**2 for value in self.sd]
            self.true = Components(v[0], v[1], v[2], 0.25 - sum(v))
            return
        question, interaction = 1.5, 0.4
        variant = optimize.brentq(
            lambda x: self._on_logits(question, x, interaction).variant - sd**2, 1e-3, 2.0, xtol=1e-6
        )
        self.sd = (question, variant, interaction)
        self.true = self._on_logits(*self.sd)

    @staticmethod
    def _on_logits(question: float, variant: float, interaction: float) -> Components:
        """Return the components of P(correct) by Gauss-Hermite quadrature."""
        x, w = np.polynomial.hermite_e.hermegauss(31)
        w = w / w.sum()
        p = special.expit(question * x[:, None, None] + variant * x[:, None] + interaction * x)
        both = p @ w  # E[p | question, variant]
        mean = float(w @ both @ w)
        vQ, vS = float(w @ (both @ w) ** 2 - mean**2), float(w @ (w @ both) ** 2 - mean**2)
        total = float(w @ (p**2 @ w) @ w) - mean**2
        return Components(vQ, vS, total - vQ - vS, mean - mean**2 - total)

    def draw(self, case: Case, rng: np.random.Generator) -> Cube:
        """Return a pilot of one model."""
        shapes = ((case.N, 1), (1, case.S), (case.N, case.S))
        if self.scale == "probability":
            parts = [sd * np.sqrt(3) * rng.uniform(-1, 1, size) for sd, size in zip(self.sd, shapes, strict=True)]
            p = 0.5 + sum(parts)
        else:
            p = special.expit(sum(sd * rng.standard_normal(size) for sd, size in zip(self.sd, shapes, strict=True)))
        n = np.full((1, case.N, case.S), case.K)
        total = rng.binomial(n, p[None]).astype(float)
        questions, variants = (tuple(map(str, range(size))) for size in (case.N, case.S))
        return Cube("pilot", ("a",), questions, variants, n, total, total)


class Design(NamedTuple):
    """Planned questions, variants, generations, and the cost."""

    N: int
    S: int
    K: int
    cost: float

    def se(self, v: Components) -> float:
        """Return the standard error if these are the components."""
        N, S, K = self.N, self.S, self.K
        return float(np.sqrt(v.question / N + v.variant / S + v.interaction / (N * S) + v.generation / (N * S * K)))


def plan_in_force(pilot: Cube, unit: str, width: float) -> Design | None:
    """Return the recommended design, the first row of `howsure.plan`; None where it finds none.

    The one place where a plan is made: choose the assurance here.
    """
    try:
        planned = howsure.plan(
            pilot,
            a="a",
            width=width,
            cost=UNITS[unit],
            available=QUESTIONS,
            max_variants=VARIANTS,
            max_generations=GENERATIONS,
        )
    except howsure.InputError:
        return None
    rows = planned.columns()
    N, S, K = (int(rows[name][0]) for name in ("n_questions", "n_variants", "n_generations"))
    return Design(N, S, K, float(rows[unit][0]))


def cheapest(v: Components, unit: str, width: float) -> Design:
    """Return the cheapest design that has this width if the components are these."""
    S, K = np.meshgrid(np.arange(1.0, VARIANTS + 1), np.arange(1.0, GENERATIONS + 1), indexing="ij")
    variance_left = (width / (2 * stats.norm.ppf(0.975))) ** 2 - v.variant / S
    with np.errstate(divide="ignore", invalid="ignore"):
        N = np.ceil((v.question + v.interaction / S + v.generation / (S * K)) / variance_left)
    N = np.where(variance_left > 0, np.maximum(N, FEWEST), np.inf)
    cost = N * S * K
    if unit == "tokens":
        requests = np.ceil(K / TOKENS.generations_per_request)
        cost = N * S * (requests * TOKENS.prompt_tokens + K * TOKENS.completion_tokens)
    s, k = np.unravel_index(np.argmin(cost), cost.shape)
    return Design(int(N[s, k]), int(s) + 1, int(k) + 1, float(cost[s, k]))


def plain_components(pilot: Cube) -> Components:
    """Return the mean squares of a balanced two-way layout as components, at least 0."""
    p, k = pilot.mean[0], int(pilot.n[0, 0, 0])
    N, S = p.shape
    ve = float(np.mean(p * (1 - p))) * k / (k - 1)
    rest = p - p.mean(axis=0) - p.mean(axis=1, keepdims=True) + p.mean()
    between = float((rest**2).sum()) / ((N - 1) * (S - 1))
    vQ, vS = p.mean(axis=1).var(ddof=1) - between / S, p.mean(axis=0).var(ddof=1) - between / N
    return Components(*(max(0.0, float(v)) for v in (vQ, vS, between - ve / k, ve)))


def table(plans: int, checks: Checks) -> str:
    """Return true over promised standard errors of the rule in force and of the plain plan."""
    rows = []
    for scale in ("probability", "logit"):
        for case in CASES:
            process = Process(scale, case.sd)
            promised = case.width / (2 * stats.norm.ppf(0.975))
            rng = np.random.default_rng([case.N, case.S, int(1000 * case.sd), len(scale)])
            pilots = [process.draw(case, rng) for _ in range(plans)]
            for unit in UNITS:
                oracle = cheapest(process.true, unit, case.width)
                plain = [cheapest(plain_components(pilot), unit, case.width) for pilot in pilots]
                force = [d for pilot in pilots if (d := plan_in_force(pilot, unit, case.width)) is not None]
                ratio, plain_ratio = (
                    np.array([d.se(process.true) / promised for d in designs]) for designs in (force, plain)
                )
                misses = float(np.mean(ratio > 1.25))
                error = float(np.sqrt(MISSES * (1 - MISSES) / plans))
                pilot = f"{case.N} x {case.S} x {case.K}"
                checks.check(
                    misses <= MISSES + 3 * error,
                    f"plan with prompts, {scale} {pilot} sd {case.sd} {unit}: true se above 1.25 x promised in "
                    f"{misses:.2f} of plans, more than {MISSES}",
                )
                rows.append(
                    (
                        *(scale, pilot, case.sd, unit, f"{np.median(ratio):.2f}", f"{misses:.2f}"),
                        *(f"{np.quantile(ratio, 0.9):.2f}", f"{np.mean([d.S == 1 for d in force]):.2f}"),
                        f"{np.median([d.cost for d in force]) / oracle.cost:.2f}",
                        *(f"{np.median(plain_ratio):.2f}", f"{np.mean(plain_ratio > 1.25):.2f}"),
                        *(f"{np.quantile(plain_ratio, 0.9):.2f}", f"{np.mean([d.S == 1 for d in plain]):.2f}"),
                        *(f"{np.median([d.cost for d in plain]) / oracle.cost:.2f}", plans - len(force)),
                    )
                )
    columns = (
        *("scale", "pilot", "sd of prompts", "cost in", "true se/promised, median", "above 1.25", "90 %"),
        *("one prompt", "cost/known (median)", "plain: median", "above 1.25", "90 %", "one prompt"),
        *("cost/known (median)", "no plan"),
    )
    return markdown(columns, rows, 2)


def sections(*, quick: bool) -> Iterator[tuple[str, str]]:
    """Yield the title and the table; raise AssertionError at the end where a claim does not hold."""
    checks = Checks()
    yield (
        "Plans from a pilot with prompt variants: true standard error of the plan over the promised one, width .06",
        table(30 if quick else 250, checks),
    )
    checks.finish()


if __name__ == "__main__":
    print_sections(sections)
