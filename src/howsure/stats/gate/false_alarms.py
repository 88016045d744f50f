"""How often a gate fails a baseline that is compared with itself: one half of its generations with the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howsure.errors import InputError
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import MeanClaim
from howsure.stats.core.results import Result
from howsure.stats.gate.gate_verdicts import check_gate, compare_with_baseline
from howsure.stats.scores.score_intervals import clopper_pearson

__all__ = ["FalseAlarms", "split_baseline"]


@dataclass(frozen=True, eq=False, repr=False)
class FalseAlarms(Result):
    """Verdicts on one half of a model's generations against the other, over random splits.

    Attributes
    ----------
    n_splits, n_fail, n_pass
        Splits, and how many of them fail and pass.
    alpha
        Highest probability of a failure that the gate promises.
    """

    benchmark: str
    model: str
    n_splits: int
    n_fail: int
    n_pass: int
    alpha: float

    @property
    def rate(self) -> float:
        """Share of the splits that fail."""
        return self.n_fail / self.n_splits

    def interval(self, level: float | None = None) -> tuple[float, float]:
        """Return the exact interval of the share that fails over all splits (Clopper and Pearson)."""
        low, high = clopper_pearson(self.n_fail, self.n_splits, 0.95 if level is None else level)
        return float(low), float(high)

    declared = "benchmark model n_splits n_fail n_pass rate low=interval.0 high=interval.1 alpha"


def split_baseline(
    cells: Cells,
    model: str,
    *,
    splits: int = 1000,
    margin: float = 0.02,
    alpha: float = 0.05,
    claim: MeanClaim = "these-questions",
    seed: int = 0,
) -> FalseAlarms:
    """Compare random halves of a model's generations of each question, and count the verdicts.

    Parameters
    ----------
    cells
        The model on one benchmark, scores of 0 and 1, two or more generations for some questions.
    model
        Its name.
    splits
        Number of random splits, 1 or more.
    margin, alpha, claim
        As for `compare_with_baseline`.
    seed
        Seed of the splits.

    Returns
    -------
    FalseAlarms

    Raises
    ------
    InputError
        When no question has two generations, scores are not 0 and 1, or an argument is out of range.

    Notes
    -----
    Of n generations with m right, floor(n/2) drawn without replacement are the baseline and the others the candidate.
    Halves of one set of generations are a little more alike than two runs, whose sums are not fixed; for exact tests,
    which condition on these sums, that makes no difference.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> scores = [rng.binomial(1, rng.uniform(), 10).tolist() for _ in range(50)]
    >>> cells = Cells.from_scores("demo", ["a"], [f"q{i}" for i in range(50)], [scores])
    >>> split_baseline(cells, "a", splits=100).rate <= 0.1
    True
    """
    check_gate(margin, alpha)
    if splits < 1:
        raise InputError(f"splits is {splits}", remedy="allowed: 1 or more")
    own = cells.select([model])
    if not own.binary:
        raise InputError("only scores of 0 and 1 can be split", where=cells.benchmark)
    several = own.n[0] > 1
    if not np.any(several):
        remedy = "run the baseline with two or more generations"
        raise InputError("no question has two generations to split", where=cells.benchmark, remedy=remedy)
    names = [name for name, there in zip(own.questions, several, strict=True) if there]
    n, right = own.n[0][several], np.rint(own.total[0][several]).astype(np.int64)
    half = n // 2
    rng = np.random.default_rng(seed)
    verdicts = []
    for _ in range(splits):
        x = rng.hypergeometric(right, n - right, half)
        halves = _make_cells(cells.benchmark, names, np.stack([half, n - half]), np.stack([x, right - x]).astype(float))
        gate = compare_with_baseline(halves, "candidate", "baseline", margin=margin, alpha=alpha, claim=claim)
        verdicts.append(gate.verdict)
    return FalseAlarms(cells.benchmark, model, splits, verdicts.count("fail"), verdicts.count("pass"), alpha)


def _make_cells(benchmark: str, questions: list[str], n: IntArray, right: FloatArray) -> Cells:
    """Return the cells of a baseline and a candidate from their numbers of right generations."""
    return Cells(benchmark, ("baseline", "candidate"), tuple(questions), n, right, right)
