"""Success of k attempts at a question: at least one is right (pass@k), all are right (pass^k), or the majority is.

Each is estimated without bias from n >= k generations of a question, of which c are right, by the share of the subsets
of k generations that succeed:

    pass@k = 1 - C(n-c, k)/C(n, k)     pass^k = C(c, k)/C(n, k)     majority@k = P(the most frequent answer is right)

Questions with fewer than k generations are left out and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import Cells, FloatArray, IntArray, drop_rounding
from howsure.stats.core.claims import Claim, check_claim, check_level
from howsure.stats.core.intervals import Interval, interval
from howsure.stats.core.results import Conditions, Result
from howsure.stats.questions.consistency import AnswerCounts
from howsure.stats.scores import bootstrap_limits, cluster_means, require_binary, sampling_df

__all__ = [
    "Attempts",
    "estimate_majority",
    "estimate_majority_of_answers",
    "estimate_pass_at_k",
    "pass_all",
]


def pass_all(total: ArrayLike, n: ArrayLike, k: int) -> FloatArray:
    """Return the unbiased estimate of pass^k, C(c, k)/C(n, k) (Yao et al. 2024).

    Parameters
    ----------
    total, n
        Number c of right generations, and of all generations, of each question, any common shape.
    k
        Number of attempts, at least 1.

    Returns
    -------
    numpy.ndarray
        NaN where n < k.

    Examples
    --------
    >>> pass_all([5, 4, 3], [5, 5, 2], 3).tolist()
    [1.0, 0.4, nan]
    """
    right, n = np.broadcast_arrays(np.asarray(total, float), np.asarray(n, float))
    probability = np.where(n >= k, 1.0, np.nan)
    for i in range(k):
        # C(c, k)/C(n, k) = product of (c - i)/(n - i)
        probability *= np.maximum(right - i, 0) / np.maximum(n - i, 1)
    return probability


@dataclass(frozen=True, eq=False)
class Attempts(Result):
    """Success of k attempts; arrays have one entry per model, measure and k.

    Attributes
    ----------
    benchmark, models
        Name of the benchmark, and the names of the models.
    model
        Index of the model in `models`.
    measure
        "pass@k", "pass^k" or "majority@k".
    k
        Number of attempts.
    n_questions, n_short
        Number of questions with at least k generations, and with fewer but at least one.
    score, variance
        Mean over the questions with at least k generations, and its squared standard error under `claim`; NaN where
        unknown.
    df
        Degrees of freedom of `variance`; None: n_questions - 1.
    claim, level
        What the standard errors are about, and the default level of the intervals.
    clustered
        Whether questions come in clusters, and the errors are those for new clusters.
    n_missing
        Questions without a score; None where unknown.
    n_variants
        Prompt variants that the generations are of.
    estimates
        Estimate of each question, NaN where it has fewer than k generations, shape (entries, N); None where the
        interval is not the Bayesian bootstrap.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1, 0, 0, 0], [1, 1, 1, 1]]])
    >>> estimate_pass_at_k(cells, k=[1, 2])["score"].tolist()
    [0.625, 0.75, 0.625, 0.5]
    """

    benchmark: str
    models: tuple[str, ...]
    model: IntArray
    measure: tuple[str, ...]
    k: IntArray
    n_questions: IntArray
    n_short: IntArray
    score: FloatArray
    variance: FloatArray
    df: FloatArray | None
    claim: Claim
    level: float
    clustered: bool = False
    n_missing: IntArray | None = None
    n_variants: int = 1
    estimates: FloatArray | None = field(default=None, repr=False)

    def interval(self, level: float | None = None) -> Interval:
        """Return the interval of each score at a level in (0, 1); None: that of the result.

        For new questions without clusters it is `scores.bootstrap_limits`, for others the wilson-effective one.
        """
        level = self.level if level is None else level
        between = interval(
            self.score,
            np.sqrt(self.variance),
            # with clusters, df + 1 is the number of clusters of equal size with the same information
            self.df + 1 if self.clustered and self.df is not None else self.n_questions,
            level=level,
            method="wilson-effective",
            df=self.df,
            bounds=(0.0, 1.0),
        )
        if self.estimates is None:
            return between
        low, high = bootstrap_limits(self.estimates, ~np.isnan(self.estimates), level)
        return replace(
            between,
            low=low,
            high=high,
            method=np.full(len(low), "bayesian-bootstrap"),
            flat=np.zeros(len(low), bool),
            df=np.full(len(low), np.nan),
        )

    declared = (
        "benchmark model=_model measure k n_questions score se=variance.sqrt low=_interval.low high=_interval.high "
        "level claim n_short n_missing=_n_missing note=_reasons.notes"
    )

    @cached_property
    def _interval(self) -> Interval:
        """The interval at the level of the result."""
        return self.interval()

    def _model(self) -> tuple[str, ...]:
        """Return the model of each row."""
        return tuple(self.models[row] for row in self.model)

    def _n_missing(self) -> IntArray | int:
        """Return the questions without scores; 0 where the result does not count them."""
        return 0 if self.n_missing is None else self.n_missing

    def _reasons(self) -> Conditions:
        used, scored = self.n_questions > 0, self.n_questions + self.n_short > 0
        unknown = used & np.isnan(self.variance)
        return {
            "no scores": ~scored,
            "no question has k generations": scored & ~used,
            "on the questions with k generations": used & (self.n_short > 0),
            "one question: the spread over questions is unknown": unknown
            & (self.claim == "new-questions")
            & (self.n_questions == 1),
            "fewer than 2k generations of some question: the sampling error is unknown": unknown
            & (self.claim == "these-questions"),
            "no variation was seen: no interval": self._interval.flat,
            "questions in clusters: the error is for new clusters": np.array(self.clustered),
            f"of {self.n_variants} prompt variants: attempts at a question may differ in their prompt": np.array(
                self.n_variants > 1
            ),
        }


def estimate_pass_at_k(
    cells: Cells, k: Sequence[int] = (1, 5, 10), *, claim: Claim = "new-questions", level: float = 0.95
) -> Attempts:
    """Estimate pass@k and pass^k of each model, with standard errors.

    Parameters
    ----------
    cells
        Scores of 0 and 1; numbers of generations may differ between questions, but must not depend on the answers.
    k
        Numbers of attempts.
    claim
        What the standard errors are about, as for `scores.score`.
    level
        Default level of the intervals, in (0, 1).

    Returns
    -------
    Attempts
        One row per model, measure and k.

    Raises
    ------
    InputError
        Where a score is not 0 or 1, or an argument is out of range.

    Notes
    -----
    With U_q the estimate of question q, the squared standard error is var_q(U_q)/N for new questions (for new clusters
    where questions come in clusters, `scores.cluster_means`); mean(U_q^2 -
    theta_q^2)/N for these questions, where theta_q^2 is estimated without bias from 2k generations; and
    score (1 - score)/N for a single run of k attempts at each of N new questions.

    The interval for new questions without clusters is that of the score, `scores.bootstrap_limits` of the U_q.

    References
    ----------
    Chen, M. et al. (2021), Evaluating large language models trained on code, eq. 1 (pass@k). Yao, S. et al. (2024),
    tau-bench, section 4 (pass^k).

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1, 0, 0, 0], [1, 1, 1, 1]]])
    >>> attempts = estimate_pass_at_k(cells, k=[2])
    >>> list(zip(attempts.measure, attempts.score.tolist()))
    [('pass@k', 0.75), ('pass^k', 0.5)]
    """
    require_binary(cells, "pass@k")
    _check_arguments(k, claim, level)

    def estimate_any(k: int) -> _Estimate:
        wrong = cells.n - cells.total
        none, none_twice = pass_all(wrong, cells.n, k), pass_all(wrong, cells.n, 2 * k)
        return _Estimate(1 - none, none**2 - none_twice)

    def estimate_all(k: int) -> _Estimate:
        success = pass_all(cells.total, cells.n, k)
        return _Estimate(success, success**2 - pass_all(cells.total, cells.n, 2 * k))

    return _summarize(cells, {"pass@k": estimate_any, "pass^k": estimate_all}, k, claim, level)


def estimate_majority(
    cells: Cells,
    cell: ArrayLike,
    count: ArrayLike,
    correct: ArrayLike,
    k: Sequence[int] = (5, 10),
    *,
    claim: Claim = "new-questions",
    level: float = 0.95,
    trials: int = 1000,
    rng: np.random.Generator | int = 0,
) -> Attempts:
    """Estimate majority@k of each model: the most frequent answer of k generations is right; ties are broken at random.

    Parameters
    ----------
    cells
        Models, questions and numbers of generations; generations that are in no `count` have no answer and no vote.
    cell
        Index of each answer, model * N + question, shape (A,).
    count, correct
        Number of generations with this answer, and whether it is right, shape (A,).
    k
        Numbers of attempts.
    claim
        As for `estimate_pass_at_k`; "these-questions" needs 2k generations, for two disjoint subsets.
    level
        Default level of the intervals, in (0, 1).
    trials, rng
        Number of random subsets where the exact probability is too costly (many answers, or k above about twenty), and
        their generator or seed.

    Returns
    -------
    Attempts
        One row per model and k.

    Raises
    ------
    InputError
        Where shapes do not fit, or an argument is out of range.

    Notes
    -----
    The estimate of a question is the share of all subsets of k generations whose most frequent answer is right. The
    interval for new questions without clusters is that of `estimate_pass_at_k`.

    References
    ----------
    Wang, X. et al. (2023), Self-consistency improves chain of thought reasoning in language models.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1"], [[[1, 1, 0, 0]]])
    >>> estimate_majority(cells, [0, 0, 0], [2, 1, 1], [True, False, False], k=[3]).score.round(3).tolist()
    [0.667]
    """
    _check_arguments(k, claim, level)
    if trials < 1:
        raise InputError(f"trials is {trials!r}", where="majority", remedy="allowed: 1 or more, such as 1000")
    counts = _VoteCounts.of(cells, cell, count, correct)
    generator = np.random.default_rng(rng)

    def estimate(k: int) -> _Estimate:
        exact = _majority_exactly(counts, k)
        if exact is not None and claim != "these-questions":
            return _Estimate(exact, np.full(exact.shape, np.nan))
        drawn, product = _majority_by_draws(counts, k, trials, generator, twice=claim == "these-questions")
        success = drawn if exact is None else exact
        return _Estimate(success, success**2 - product)

    return _summarize(cells, {"majority@k": estimate}, k, claim, level)


def estimate_majority_of_answers(
    answers: AnswerCounts,
    k: Sequence[int] = (5, 10),
    *,
    claim: Claim = "new-questions",
    level: float = 0.95,
    trials: int = 1000,
    rng: np.random.Generator | int = 0,
) -> Attempts:
    """Estimate majority@k of each model from counts of answers.

    Parameters
    ----------
    answers
        How often each model gave each answer; an answer is right by its scores, or where it has none by the target.
        Generations without a parsed answer have no vote.
    k, claim, level, trials, rng
        As for `estimate_majority`.

    Returns
    -------
    Attempts
        One row per model and k.

    Examples
    --------
    >>> counts = AnswerCounts.from_generations("demo", {"a": {"q1": ["A", "A", "B", "C"]}}, {"q1": "A"})
    >>> estimate_majority_of_answers(counts, k=[3]).score.round(3).tolist()
    [0.667]
    """
    n = answers.n_cell.astype(np.int64)
    right = answers.at_cells(answers.n * answers.correct)
    cells = Cells(answers.benchmark, answers.models, answers.questions, n, right, right)
    used = answers.parsed
    return estimate_majority(
        cells,
        answers.cell[used],
        answers.n[used],
        answers.correct[used],
        k,
        claim=claim,
        level=level,
        trials=trials,
        rng=rng,
    )


class _Estimate(NamedTuple):
    """Unbiased estimates for each question, shape (M, N); NaN where unknown."""

    success: FloatArray  # U_q
    variance: FloatArray  # variance of U_q over generations


def _summarize(
    cells: Cells, measures: dict[str, Callable[[int], _Estimate]], ks: Sequence[int], claim: Claim, level: float
) -> Attempts:
    """Return the means over questions and their squared standard errors, by model, measure and k."""
    M = len(cells.models)
    clustered = cells.clusters is not None and claim == "new-questions"
    parts: list[list[FloatArray]] = []
    estimates: list[FloatArray] = []
    for estimate in measures.values():
        for k in ks:
            success, variance = estimate(int(k))
            used = cells.n >= k
            N = used.sum(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                score = np.sum(success, axis=1, where=used) / N
                if claim == "new-questions":
                    variance_q = np.sum((success - score[:, None]) ** 2, axis=1, where=used) / N
                    variance_q = np.where(N > 1, drop_rounding(variance_q, 1, score), np.nan)
                elif claim == "these-questions":
                    variance_q = np.maximum(np.sum(variance, axis=1, where=used) / N, 0)
                else:
                    variance_q = score * (1 - score)
                df = sampling_df(variance, np.where(used, cells.n - k + 1, 0))
                error = variance_q / N
                if clustered:
                    of_clusters = cluster_means(np.where(used, success, np.nan), cells.clusters)
                    error, df = of_clusters.variance / N, of_clusters.df
                estimates.append(np.where(used, success, np.nan))
                parts.append([N, np.sum(cells.answered & ~used, axis=1), score, error, df])
    # rows are sorted by model, then measure, then k
    N, short, score, variance, df = (np.stack(part, axis=1).ravel() for part in zip(*parts, strict=True))
    is_bootstrap = claim == "new-questions" and not clustered
    return Attempts(
        cells.benchmark,
        cells.models,
        np.repeat(np.arange(M), len(parts)),
        tuple(measure for measure in measures for _ in ks) * M,
        np.tile(np.asarray(ks), len(measures) * M),
        N,
        short,
        score,
        variance,
        df if claim == "these-questions" or clustered else None,
        claim,
        level,
        clustered,
        np.repeat(np.sum(~cells.answered, axis=1), len(parts)),
        max(len(cells.variants), 1),
        np.stack(estimates, axis=1).reshape(M * len(parts), -1) if is_bootstrap else None,
    )


def _check_arguments(k: Sequence[int], claim: Claim, level: float) -> None:
    """Raise `InputError` unless every k is a whole number from 1, the claim is known and the level is in (0, 1)."""
    if not len(k) or any(int(each) != each or each < 1 for each in k):
        raise InputError(f"k is {list(k)}", remedy="allowed: whole numbers from 1")
    check_claim(claim)
    check_level(level)


#: Largest number of elementary steps of the exact computation, which takes about a second.
_MAX_EXACT_STEPS = 2e8


@dataclass(frozen=True, eq=False)
class _VoteCounts:
    """Answers of each model and question that has any, most frequent first, padded with count 0.

    Attributes
    ----------
    n
        Generations of all cells, shape (M, N), including those without an answer.
    cell
        Index of each row in the raveled `n`, shape (C,).
    count, correct
        Number of generations with each answer, and whether it is right, shape (C, A).
    """

    n: IntArray
    cell: IntArray
    count: IntArray
    correct: NDArray[np.bool_]

    @classmethod
    def of(cls, cells: Cells, cell: ArrayLike, count: ArrayLike, correct: ArrayLike) -> _VoteCounts:
        """Construct the counts from one entry per cell and answer, in any order."""
        place, number, right = np.asarray(cell, np.int64), np.asarray(count, np.int64), np.asarray(correct, bool)
        if not place.shape == number.shape == right.shape or place.ndim != 1:
            shapes = f"{place.shape}, {number.shape} and {right.shape}"
            raise InputError(f"cell, count and correct have shapes {shapes}, not one and the same", where="majority")
        if len(place) and (place.min() < 0 or place.max() >= cells.n.size):
            remedy = f"allowed: 0 to {cells.n.size - 1}, model * N + question"
            raise InputError(f"cell goes from {place.min()} to {place.max()}", where="majority", remedy=remedy)
        if np.any(number < 0):
            raise InputError(f"count is {number.min()}", where="majority", remedy="allowed: 0 or more")
        order = np.lexsort((-number, place))
        place, number, right = place[order], number[order], right[order]
        used, row = np.unique(place, return_inverse=True)
        slot = np.arange(len(place)) - np.searchsorted(place, place)
        shape = len(used), int(slot.max(initial=-1)) + 1
        counts, corrects = np.zeros(shape, np.int64), np.zeros(shape, bool)
        counts[row, slot], corrects[row, slot] = number, right
        more = counts.sum(axis=1) > cells.n.ravel()[used]
        if np.any(more):
            m, q = divmod(int(used[np.argmax(more)]), cells.n.shape[1])
            raise InputError(
                f"more answers than generations of {cells.questions[q]!r} by {cells.models[m]!r}", where=cells.benchmark
            )
        return cls(cells.n, used, counts, corrects)

    @property
    def without_answer(self) -> IntArray:
        """Generations without an answer, shape (C,)."""
        return np.asarray(self.n.ravel()[self.cell] - self.count.sum(axis=1))

    def to_cells(self, values: FloatArray, k: int) -> FloatArray:
        """Return the values (C,) in shape (M, N): 0 for cells without an answer, NaN for fewer than k generations."""
        array = np.zeros(self.n.size)
        array[self.cell] = values
        return np.where(self.n >= k, array.reshape(self.n.shape), np.nan)


def _majority_exactly(counts: _VoteCounts, k: int) -> FloatArray | None:
    """Return P(the most frequent answer of k random generations is right), (M, N); None where it is too costly."""
    has_k = counts.n.ravel()[counts.cell] >= k
    row, slot = np.nonzero(counts.correct & (counts.count > 0) & has_k[:, None])
    others = counts.count[row].astype(float)
    right = others[np.arange(len(row)), slot]
    others[np.arange(len(row)), slot] = 0
    others = others[:, : int(np.max(np.sum(counts.count > 0, axis=1), initial=0))]
    nodes = (k + 1) // 2
    if others.size * nodes * k**3 / 6 > _MAX_EXACT_STEPS or k > 100:
        return None
    y, integral = np.polynomial.legendre.leggauss(nodes)  # exact up to degree 2 nodes - 1 >= k - 1
    y, integral = (y + 1) / 2, integral / 2
    blank = counts.without_answer[row].astype(float)
    won = np.zeros(len(row))
    for j in range(1, k + 1):
        left = np.arange(k - j + 1)
        # numbers of ways to draw the other k - j generations so that no answer occurs more than j times
        ways = np.repeat(special.binom(blank[:, None], left)[:, :, None], nodes, axis=2)
        for a in range(others.shape[1]):
            taken = special.binom(others[:, a : a + 1], np.arange(j + 1))
            longer = ways.copy()  # with no generation of this answer
            for i in range(1, min(j, k - j) + 1):
                longer[:, i:] += ways[:, : len(left) - i] * taken[:, i, None, None] * (y if i == j else 1)
            ways = longer
        won += special.binom(right, j) * (ways[:, -1] @ integral)
    won /= special.binom(counts.n.ravel()[counts.cell[row]], k)
    return counts.to_cells(np.bincount(row, won, minlength=len(counts.cell)).astype(float), k)


def _majority_by_draws(
    counts: _VoteCounts, k: int, trials: int, draw: np.random.Generator, *, twice: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Return the share of right random subsets, and of disjoint pairs of subsets that are both right, (M, N) each."""
    n = counts.n.ravel()[counts.cell]
    rows = np.flatnonzero(n >= k)
    single, product = np.zeros(len(n)), np.zeros(len(n))
    pool = np.column_stack([counts.without_answer, counts.count])[rows]  # the first column is not counted
    correct = np.column_stack([np.zeros(len(n), bool), counts.correct])[rows]
    double = n[rows] >= 2 * k
    block = max(1, 4_000_000 // max(pool.size, 1))
    for start in range(0, trials, block):
        size = min(block, trials - start)
        available = np.broadcast_to(pool, (size, *pool.shape))
        first = _subset(available, k, draw)
        won = _winner_is_right(first, correct, draw)
        single[rows] += won.sum(axis=0)
        if twice:
            second = _subset((available - first)[:, double], k, draw)
            product[rows[double]] += (won[:, double] & _winner_is_right(second, correct[double], draw)).sum(axis=0)
    unknown = counts.n < 2 * k if twice else np.ones(counts.n.shape, bool)
    return counts.to_cells(single / trials, k), np.where(unknown, np.nan, counts.to_cells(product / trials, k))


def _subset(available: IntArray, k: int, draw: np.random.Generator) -> IntArray:
    """Return k generations drawn without replacement from the available counts (T, C, A), by answer."""
    taken = np.zeros(available.shape, np.int64)
    rest, left = available.sum(axis=2), np.full(available.shape[:2], k)
    for a in range(available.shape[2]):
        rest = rest - available[:, :, a]
        taken[:, :, a] = draw.hypergeometric(available[:, :, a], rest, left)
        left = left - taken[:, :, a]
    return taken


def _winner_is_right(taken: IntArray, correct: NDArray[np.bool_], draw: np.random.Generator) -> NDArray[np.bool_]:
    """Return whether the most frequent answer is right, shape (T, C); slot 0 has no vote, ties are random."""
    counts = taken + draw.random(taken.shape)
    counts[taken == 0] = -1
    counts[:, :, 0] = -1
    winner = np.argmax(counts, axis=2)
    return np.asarray(correct[np.arange(len(correct)), winner] & (np.max(counts, axis=2) > 0))
