"""Quantiles of the score over prompts from few answered cells, against the truth of simulated prompts.

100 questions x 100 prompts, of which 10 % or 30 % of the cells are asked once (balanced):

    P(Y_sq = 1) = sigma(theta_s - beta_q + gamma_sq)

with theta ~ N(0, sd^2), beta ~ N(0, 1.5^2), gamma ~ N(0, interaction^2), all on the logit scale.

The truth of a prompt is its mean P over the 100 questions; the errors are those of its 5, 25, 50, 75 and 95 %
quantiles over the 100 prompts. In the second table six of 60 prompts break the format and are 2 logits lower. The old
rule is PromptEval as published, with penalty 1: quantiles of the estimated scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import special

from checked_tables import Checks, markdown, print_sections
from howsure.stats.core.cube import Cube
from howsure.stats.prompts import prompteval

Array = NDArray[np.float64]

N = S = 100
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
PROMPT_SDS, INTERACTIONS, SHARES = (0.1, 0.3, 0.6, 1.0), (0.0, 0.5), (0.1, 0.3)


def balanced(share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which cells are asked, as many of each question and of each prompt."""
    width = round(share * S)
    answered = (np.arange(S) - np.arange(N)[:, None]) % S < width
    return answered[np.ix_(rng.permutation(N), rng.permutation(S))]


def table(trials: int, checks: Checks) -> str:
    """Return the errors of both rules."""
    rows = []
    for sd, interaction, share in product(PROMPT_SDS, INTERACTIONS, SHARES):
        rng = np.random.default_rng([int(10 * sd), int(10 * interaction), int(10 * share)])
        true, old, new = (np.zeros((trials, len(QUANTILES))) for _ in range(3))
        for i in range(trials):
            logits = (
                sd * rng.standard_normal(S)
                - 1.5 * rng.standard_normal((N, 1))
                + interaction * rng.standard_normal((N, S))
            )
            p, answered = special.expit(logits), balanced(share, rng)
            total = np.where(answered, rng.binomial(1, p), 0).astype(float)
            true[i] = np.quantile(p.mean(axis=0), QUANTILES)
            questions, prompts = (tuple(map(str, range(size))) for size in (N, S))
            cube = Cube("simulated", ("a",), questions, prompts, answered[None].astype(int), total[None], total[None])
            new[i] = prompteval(cube, quantiles=QUANTILES).values[0]
            old[i] = np.quantile(prompteval(cube, penalty=1, draws=1).scores[0], QUANTILES)
        squares = [((estimated - true) ** 2).mean(axis=1) for estimated in (new, old)]
        worse = squares[0] - squares[1]
        spread, old_spread = (
            (estimated[:, -1] - estimated[:, 0]).mean() / (true[:, -1] - true[:, 0]).mean() for estimated in (new, old)
        )
        rms, old_rms = (float(np.sqrt(square.mean())) for square in squares)
        row = f"quantiles of prompts, sd {sd}, interaction {interaction}, {share:.0%} asked"
        checks.check(
            worse.mean() <= 3 * worse.std() / np.sqrt(trials) + 1e-12,
            f"{row}: rms error {rms:.3f}, the old rule {old_rms:.3f}",
        )
        if sd >= 0.3:
            checks.check(0.75 <= spread <= 1.25, f"{row}: estimated spread of prompts {spread:.2f} of the true one")
        bias, old_bias = ((estimated - true).mean(axis=0) for estimated in (new, old))
        rows.append(
            (
                *(
                    sd,
                    interaction,
                    f"{share:.0%}",
                    f"{rms:.3f}",
                    f"{bias[0]:+.3f}",
                    f"{bias[-1]:+.3f}",
                    f"{spread:.2f}",
                ),
                *(f"{old_rms:.3f}", f"{old_bias[0]:+.3f}", f"{old_bias[-1]:+.3f}", f"{old_spread:.2f}"),
            )
        )
    columns = (
        "sd of prompts, logit",
        "interaction",
        "asked",
        "rms error",
        "bias of 5 %",
        "bias of 95 %",
        "spread/true",
    )
    return markdown((*columns, "old: rms error", "bias of 5 %", "bias of 95 %", "spread/true"), rows, 0)


def broken_table(trials: int, checks: Checks) -> str:
    """Return bias and coverage where one prompt in ten breaks the format."""
    rows = []
    for share in (1.0, 0.3):
        rng = np.random.default_rng([10, int(10 * share)])
        true, low, high, new = (np.zeros((trials, len(QUANTILES))) for _ in range(4))
        for i in range(trials):
            theta = 0.1 * rng.standard_normal(60) - 2 * (np.arange(60) < 6)
            p = special.expit(0.5 + theta - 1.5 * rng.standard_normal((N, 1)))
            answered = balanced(share, rng)[:, :60]
            total = np.where(answered, rng.binomial(1, p), 0).astype(float)
            questions, prompts = (tuple(map(str, range(size))) for size in (N, 60))
            cube = Cube("simulated", ("a",), questions, prompts, answered[None].astype(int), total[None], total[None])
            found = prompteval(cube, quantiles=QUANTILES)
            true[i] = np.quantile(p.mean(axis=0), QUANTILES)
            new[i], low[i], high[i] = found.values[0], found.low[0], found.high[0]
        covered = np.mean((low <= true) & (true <= high), axis=0)
        if trials >= 30:
            least = float(covered[[0, 1, 4]].min())
            checks.check(least >= 0.88, f"one prompt in ten broken, {share:.0%} asked: covers {least:.2f}")
        bias = np.mean(new - true, axis=0)
        rows.append((f"{share:.0%}", *(f"{one:+.3f}" for one in bias), *(f"{one:.2f}" for one in covered)))
    names = [f"{quantile:.0%}" for quantile in QUANTILES]
    return markdown(("asked", *(f"bias of {one}" for one in names), *(f"covers {one}" for one in names)), rows, 0)


def sections(*, quick: bool) -> Iterator[tuple[str, str]]:
    """Yield the title and the table; raise AssertionError at the end where a claim does not hold."""
    checks = Checks()
    yield (
        "Quantiles over prompts from 10 % and 30 % of 100 x 100 cells (prompteval)",
        table(6 if quick else 60, checks),
    )
    yield (
        "Quantiles over 60 prompts on 100 questions of which six break the format (prompteval)",
        broken_table(6 if quick else 200, checks),
    )
    checks.finish()


if __name__ == "__main__":
    print_sections(sections)
