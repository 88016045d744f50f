"""Coverage of the interval of P(correct) of a question, on average over questions, on published results.

k generations of each question are drawn for every model of math500_cot and aime2024_cot, whose question means of about
1,100 generations are the truth. The coverage is the share of questions whose interval at .95 holds the truth, averaged
over models and draws; the worst model has the lowest share over its draws and questions. A question mean is known to
the nearest 1/1,100 (46 % of those of aime2024_cot are 0), so an interval that comes within half of that holds it.

The old rule takes a fitted Beta distribution of difficulty as known: a and b by maximum Beta-binomial likelihood, here
on a grid of mean and a + b that is refined twice, and the 2.5 and 97.5 % quantiles of Beta(a + right, b + wrong);
Jeffreys' prior where all answers are right or all are wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from checked_tables import Checks, markdown, print_sections
from howsure.stats.core.cells import Cells
from howsure.stats.questions import estimate_p_correct
from published_results import MANY_GENERATIONS, load_published

Array = NDArray[np.float64]

GENERATIONS = (2, 5, 10)
LEVEL, COVERED = 0.95, 0.93
RESOLUTION = 0.5 / 1100  # of a question mean that stands for the truth


def log_likelihood(counts: Array, a: Array, b: Array) -> Array:
    """Return the Beta-binomial log-likelihood, shape (M, grid), of `counts` of 0, 1, ..., k right, shape (M, k + 1)."""
    k = counts.shape[1] - 1
    x = np.arange(k + 1)
    a, b = a[..., None], b[..., None]
    each: Array = special.betaln(a + x, b + k - x) - special.betaln(a, b)
    result: Array = np.einsum("mx,m...x->m...", counts, each)
    return result


def fitted_beta(counts: Array) -> tuple[Array, Array]:
    """Return a and b of each model by maximum likelihood."""
    M = len(counts)
    low, high = np.tile([-8.0, -5.0], (M, 1)), np.tile([8.0, 7.0], (M, 1))  # logit of the mean, log of a + b
    for _ in range(3):
        steps = np.linspace(0, 1, 41)
        mean = special.expit(low[:, :1] + (high - low)[:, :1] * steps)[:, :, None]
        total = np.exp(low[:, 1:] + (high - low)[:, 1:] * steps)[:, None, :]
        a, b = mean * total, (1 - mean) * total
        best = np.argmax(log_likelihood(counts, a, b).reshape(M, -1), axis=1)
        at = np.column_stack(np.unravel_index(best, (41, 41))) / 40
        center, width = low + (high - low) * at, (high - low) / 10
        low, high = center - width / 2, center + width / 2
    mean, total = special.expit(center[:, 0]), np.exp(center[:, 1])
    return mean * total, (1 - mean) * total


def old_rule(right: Array, k: int) -> tuple[Array, Array]:
    """Return the limits of each model and question, shape (M, N)."""
    counts = np.stack([(right == x).sum(axis=1) for x in range(k + 1)], axis=1).astype(float)
    a, b = fitted_beta(counts)
    unknown = (counts[:, 0] == right.shape[1]) | (counts[:, k] == right.shape[1])
    a, b = (np.where(unknown, 0.5, value)[:, None] for value in (a, b))
    x, at = np.arange(k + 1), right.astype(np.int64)
    low, high = (stats.beta.ppf(q, a + x, b + k - x) for q in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return np.take_along_axis(low, at, axis=1), np.take_along_axis(high, at, axis=1)


def table(draws: int, checks: Checks) -> str:
    """Return coverage and width of both rules."""
    rows = []
    for name in MANY_GENERATIONS:
        truth = load_published(name).mean
        M, N = truth.shape
        models, questions = (tuple(map(str, range(size))) for size in truth.shape)
        for k in GENERATIONS:
            rng = np.random.default_rng([k, N])
            covered, width = np.zeros((2, draws, M)), np.zeros((2, draws))
            for i in range(draws):
                right = rng.binomial(k, truth).astype(float)
                result = estimate_p_correct(
                    Cells(name, models, questions, np.full((M, N), k), right, right), level=LEVEL
                )
                for rule, (low, high) in enumerate(((result.low, result.high), old_rule(right, k))):
                    covered[rule, i] = np.mean((low <= truth + RESOLUTION) & (truth - RESOLUTION <= high), axis=1)
                    width[rule, i] = np.mean(high - low)
            new, old = covered.mean(axis=(1, 2))
            error = float(covered[0].mean(axis=1).std() / np.sqrt(draws))
            checks.check(
                new >= COVERED - 3 * error, f"P(correct), {name}, k = {k}: covers {new:.3f} ± {error:.3f} < {COVERED}"
            )
            worst = covered.mean(axis=1).min(axis=1)
            rows.append(
                (
                    *(name, k, f"{new:.3f}", f"{error:.3f}", f"{worst[0]:.2f}", f"{width[0].mean():.3f}"),
                    *(f"{old:.3f}", f"{worst[1]:.2f}", f"{width[1].mean():.3f}"),
                )
            )
    columns = ("benchmark", "k", "coverage", "±", "worst model", "mean width")
    return markdown((*columns, "old: coverage", "worst model", "mean width"), rows)


def sections(*, quick: bool) -> Iterator[tuple[str, str]]:
    """Yield the title and the table; raise AssertionError at the end where a claim does not hold."""
    checks = Checks()
    yield "P(correct) of a question: average coverage of the interval at .95", table(2 if quick else 20, checks)
    checks.finish()


if __name__ == "__main__":
    print_sections(sections)
