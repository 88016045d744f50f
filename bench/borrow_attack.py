"""A black-box attack on `howsure.score(cells, borrow=reference)`: squared error and coverage, for unlike models too.

A new model answers n questions of math500_cot once or five times; the reference holds other models on all 500. The
published question means are the true P(correct). The borrowed estimate is compared with the plain mean of the same
answers: the ratio of squared errors (plain/borrowed) about the expected score on the 500 questions, and the coverage
of the interval at .95. With the claim `new-questions` the 500 questions are themselves drawn anew from the published
ones, and the truth is the mean over all published ones.

New models: like the others (each published model against the rest); difficulty reversed (the same P(correct), the
largest for the questions that are hardest for the others); unrelated (the same P(correct), shuffled over questions);
constant (P(correct) = .3 everywhere); a copy of a reference model. References: all other models as published; the
models with one generation per question; 10 models that are all alike; 5 models; 20 % of the cells missing. Asked: a
random subset, or the easiest half for the reference (no claim: the plain mean is biased there).

Beside the rule in force stands a regression on the mean of the reference models, with the slope from the other half of
the answered questions and Student's t:

    score = mean_all(f) + mean_asked(y - f)      f = b x,  x the mean of the reference models
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

import howsure
from checked_tables import Checks, markdown, print_sections
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import MeanClaim
from published_results import load_published

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

LEVEL, COVERED, NO_HARM = 0.95, 0.93, 0.95
SIZES = (20, 50, 100, 200)


class Estimate(NamedTuple):
    """A score with its interval."""

    score: float
    low: float
    high: float


class Draw(NamedTuple):
    """New data: the cells of the new model on the asked questions, the reference, and the truth."""

    cells: Cells
    reference: Cells
    truth: float


Estimator = Callable[[Draw, MeanClaim], Estimate]


def published() -> Array:
    """Return true P(correct), shape (M, N), of the models with a score from .1 to .9."""
    p = load_published("math500_cot").mean
    score = p.mean(axis=1)
    spread_scores: Array = p[(score >= 0.1) & (score <= 0.9)]
    return spread_scores


def make_cells(
    models: tuple[str, ...], questions: tuple[str, ...], n: Integers, p: Array, rng: np.random.Generator
) -> Cells:
    """Return n generations of each cell."""
    total = rng.binomial(n, p).astype(float)
    return Cells("benchmark", models, questions, n, total, total)


class Attack(NamedTuple):
    """A new model against a reference."""

    name: str
    model: str = "like"
    reference: str = "published"
    easiest: bool = False

    def draw(self, P: Array, n: int, k: int, claim: MeanClaim, rng: np.random.Generator) -> Draw:
        """Return new data; the truth is over the reference's questions, or the published ones for new questions."""
        M, N = P.shape
        new = int(rng.integers(0, M))
        others, p = np.delete(P, new, axis=0), P[new]
        if self.reference == "five":
            others = others[rng.choice(M - 1, 5, replace=False)]
        if self.reference == "alike":
            others = np.repeat(others[rng.integers(0, M - 1)][None], 10, axis=0)
        if self.model == "reversed":
            order, p = np.argsort(others.mean(axis=0)), np.sort(p)[::-1]
            p = p[np.argsort(order)]
        if self.model == "unrelated":
            p = rng.permutation(p)
        if self.model == "constant":
            p = np.full(N, 0.3)
        if self.model == "copy":
            p = others[rng.integers(0, len(others))]
        truth = float(p.mean())
        if claim == "new-questions":
            at = rng.integers(0, N, N)
            others, p = others[:, at], p[at]
        generations = np.full(others.shape, 1 if self.reference in ("single", "alike") else 100)
        if self.reference == "missing":
            generations = np.where(rng.random(others.shape) < 0.2, 0, generations)
        questions = tuple(f"q{i}" for i in range(N))
        models = tuple(f"r{i}" for i in range(len(others)))
        if generations.max() == 1:
            reference = make_cells(models, questions, generations, others, rng)
        else:  # so many generations that their mean is P(correct)
            total = np.rint(generations * others)
            reference = Cells("benchmark", models, questions, generations, total, total)
        pool = np.argsort(-others.mean(axis=0))[: N // 2] if self.easiest else np.arange(N)
        drawn = np.sort(rng.choice(pool, n, replace=False))
        cells = make_cells(("new",), tuple(questions[i] for i in drawn), np.full((1, n), k), p[drawn][None], rng)
        return Draw(cells, reference, truth)


def in_force(draw: Draw, claim: MeanClaim) -> Estimate:
    """Return the borrowed score."""
    rows = howsure.score(draw.cells, claim=claim, level=LEVEL, borrow=draw.reference).columns()
    return Estimate(*(float(rows[name][0]) for name in ("score", "low", "high")))


def plain(draw: Draw, claim: MeanClaim) -> Estimate:
    """Return the score of the asked questions with the interval that howsure gives for new questions."""
    del claim
    rows = howsure.score(draw.cells, level=LEVEL).columns()
    return Estimate(*(float(rows[name][0]) for name in ("score", "low", "high")))


def regression(draw: Draw, claim: MeanClaim) -> Estimate:
    """Return the regression estimate, its slope from the other half of the answered questions."""
    where = {question: i for i, question in enumerate(draw.reference.questions)}
    drawn = np.array([where[question] for question in draw.cells.questions])
    y, n, N = draw.cells.mean[0], len(drawn), len(where)
    x = np.nanmean(np.where(draw.reference.answered, draw.reference.mean, np.nan), axis=0)
    half = np.random.default_rng(n).permutation(n) % 2
    rest, fitted = np.empty(n), []
    for side in (0, 1):
        other = x[drawn][half != side]
        slope = np.cov(other, y[half != side])[0, 1] / max(float(np.var(other, ddof=1)), 1e-12)
        rest[half == side] = (y - slope * x[drawn])[half == side]
        fitted.append(slope * x)
    f = np.mean(fitted, axis=0)
    variance = rest.var(ddof=1) / n
    if claim == "new-questions":
        variance += f.var(ddof=1) / N
    estimate, t = float(f.mean() + rest.mean()), special.stdtrit(n - 2, (1 + LEVEL) / 2)
    return Estimate(estimate, estimate - t * np.sqrt(variance), estimate + t * np.sqrt(variance))


ATTACKS = (
    Attack("a model like the others"),
    Attack("difficulty reversed", model="reversed"),
    Attack("unrelated to the others", model="unrelated"),
    Attack("constant P(correct) = .3", model="constant"),
    Attack("copy of a reference model", model="copy"),
    Attack("reference: one generation each", reference="single"),
    Attack("reference: 10 alike", reference="alike"),
    Attack("reference: 5 models", reference="five"),
    Attack("reference: 20 % missing", reference="missing"),
    Attack("easiest half asked", easiest=True),
)
ESTIMATORS: dict[str, Estimator] = {"plain": plain, "borrowed": in_force, "regression": regression}


def table(draws: int, claim: MeanClaim, designs: tuple[tuple[int, int], ...], checks: Checks) -> str:
    """Return ratios of squared errors and coverage."""
    P = published()
    rows = []
    for attack in ATTACKS:
        coverage = []
        for n, k in designs:
            rng = np.random.default_rng([n, k, len(attack.name), len(claim)])
            error, covered, width = ({name: np.zeros(draws) for name in ESTIMATORS} for _ in range(3))
            for i in range(draws):
                drawn = attack.draw(P, n, k, claim, rng)
                for name, estimator in ESTIMATORS.items():
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # the easiest half is worth a warning
                        estimate = estimator(drawn, claim)
                    error[name][i] = estimate.score - drawn.truth
                    covered[name][i] = estimate.low <= drawn.truth <= estimate.high
                    width[name][i] = estimate.high - estimate.low
            row = f"borrowed score, {claim}, {attack.name}, n = {n}, k = {k}"
            squares = {name: values**2 for name, values in error.items()}
            values = [f"{np.sqrt(squares['plain'].mean()):.4f}", f"{covered['plain'].mean():.3f}"]
            for name in ("borrowed", "regression"):
                ratio = float(squares["plain"].mean() / squares[name].mean())
                # Delta method: of log(mean plain / mean borrowed), paired.
                ratio_error = ratio * float(
                    np.std(squares["plain"] / squares["plain"].mean() - squares[name] / squares[name].mean())
                    / np.sqrt(draws)
                )
                narrower = width["plain"].mean() / np.nanmean(width[name])
                values += [f"{ratio:.2f}", f"{ratio_error:.2f}", f"{covered[name].mean():.3f}", f"{narrower:.2f}"]
                if name == "borrowed":
                    checks.check(ratio >= NO_HARM - 3 * ratio_error, f"{row}: ratio {ratio:.2f} ± {ratio_error:.2f}")
                    coverage.append(covered[name].mean())
            rows.append((attack.name, n, k, draws, *values))
        if not attack.easiest:
            mean, slack = float(np.mean(coverage)), 3 * np.sqrt(0.95 * 0.05 / (draws * len(designs)))
            checks.check(
                mean >= COVERED - slack, f"borrowed score, {claim}, {attack.name}: covers {mean:.3f} on average"
            )
    columns = ("new model", "n", "k", "draws", "plain: rms error", "coverage", "borrowed: ratio", "±", "coverage")
    return markdown((*columns, "width plain/borrowed", "regression: ratio", "±", "coverage", "width ratio"), rows)


def sections(*, quick: bool) -> Iterator[tuple[str, str]]:
    """Yield titles and tables; raise AssertionError at the end where a claim does not hold."""
    checks = Checks()
    designs = ((20, 1), (100, 1)) if quick else (*((n, 1) for n in SIZES), (50, 5), (200, 5))
    for claim in ("these-questions", "new-questions"):
        some = designs if claim == "these-questions" else designs[1::2]
        yield (
            f"Borrowed scores under attack, claim {claim}: ratio of squared errors plain/borrowed",
            table(20 if quick else 100, claim, some, checks),
        )
    checks.finish()


if __name__ == "__main__":
    print_sections(sections)
