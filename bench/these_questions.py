"""Coverage of the interval of a score on these very questions, where few of them vary or all are alike.

Scores of 0 and 1, the same questions each time, generations drawn from the probability of each question. The rule in
force takes the narrower of two intervals: Wilson's for as many independent answers, and the exact one of binomial
answers. The first alone is shown beside it; an interval that is not there covers nothing.
`python bench/these_questions.py` prints the table; a claim that fails ends it with an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from checked_tables import LEVEL, as_floats, below_claim, markdown_table, print_sections
from howsure.stats.core.cells import Cells
from howsure.stats.scores import score

Array = NDArray[np.float64]

TRIALS = 4000
QUESTIONS = (3, 12, 100)
GENERATIONS = (2, 6, 20)

#: Probability of a right answer of each of N questions.
PROBABILITIES: dict[str, Callable[[int], Array]] = {
    "all .005": lambda N: np.full(N, 0.005),
    "all .1": lambda N: np.full(N, 0.1),
    "all .5": lambda N: np.full(N, 0.5),
    "one .3, others 0": lambda N: np.where(np.arange(N) < 1, 0.3, 0.0),
    "two .5, others 1": lambda N: np.where(np.arange(N) < 2, 0.5, 1.0),
    "Beta(.3, .3)": lambda N: np.asarray(stats.beta.ppf((np.arange(N) + 0.5) / N, 0.3, 0.3), dtype=float),
}

#: How many generations question i of N has, of `k` at most.
COUNTS: dict[str, Callable[[int, int], NDArray[np.int64]]] = {
    "equal": np.full,
    "one 2": lambda N, k: np.where(np.arange(N) < 1, 2, k),
    "1 to k": lambda N, k: 1 + np.arange(N) % k,
}

#: Questions from which on a claim is made. None is made where one question has far fewer generations than the others:
#: that it varies may not be seen.
FEWEST = {"equal": 2, "1 to k": 12, "one 2": float("inf")}


def tabulate(sizes: tuple[int, ...], trials: int, failures: list[str]) -> str:
    """Return coverage and mean width of each design; what falls short is appended to `failures`."""
    rows: list[list[object]] = []
    for counts, count in COUNTS.items():
        for N in sizes:
            for k in GENERATIONS if counts == "equal" else GENERATIONS[-1:]:
                for named, probabilities in PROBABILITIES.items():
                    p, n = probabilities(N), np.tile(count(N, k), (trials, 1))
                    total = np.random.default_rng([N, k, len(rows)]).binomial(n, p).astype(float)
                    models, questions = (tuple(map(str, range(size))) for size in n.shape)
                    cells = Cells("simulated", models, questions, n, total, total)
                    row: list[object] = [counts, str(N), str(k), named]
                    for method in (None, "wilson-effective"):
                        between = score(cells, claim="these-questions", method=method).interval(LEVEL)
                        covered = (between.low <= p.mean() + 1e-12) & (p.mean() - 1e-12 <= between.high)
                        width = between.high - between.low
                        row += as_floats(covered.mean(), np.mean(width[~np.isnan(width)]) if covered.any() else np.nan)
                        if method is None and FEWEST[counts] <= N:
                            failures += below_claim(" ".join(map(str, row[:4])), covered.astype(float))
                    rows.append(row)
    return markdown_table(
        ["counts", "N", "k", "P(correct)", "in force", "mean width", "Wilson's alone", "mean width"], rows
    )


def sections(*, quick: bool) -> Iterator[tuple[str, str]]:
    """Yield the title and the table; raise AssertionError where a claim does not hold."""
    failures: list[str] = []
    sizes = QUESTIONS[:2] if quick else QUESTIONS
    yield "Scores of these questions, few of which vary", tabulate(sizes, 1000 if quick else TRIALS, failures)
    assert not failures, "\n".join(failures)


if __name__ == "__main__":
    print_sections(sections)
