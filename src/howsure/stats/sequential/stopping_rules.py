"""Early stopping: rules that decide after each round whether the interval of a score is narrow enough.

A round adds one generation to every question; t rounds are complete. An interval that was designed for one analysis
loses its coverage when sampling stops at the first interim analysis where it is narrow. With sd^2 the variance of one
round's mean, the rules are:

    pooled       Student's t with sd^2 = E/N from the variances within questions, as for a single analysis. Stopping at
                 a width then does little harm, because the pooled variance hardly depends on the mean (Chow and Robbins
                 1965) and hardly changes between analyses
    sequence     the confidence sequence of `confidence_boundary` with the pooled sd, valid at all interim analyses: for
                 stops that depend on the mean, such as those where the interval of a difference excludes 0
    run-means    mean ± t_{n-1} s/sqrt(n) from the n run means; it stops when s happens to be small and covers less
    prediction   the same for the mean of n future runs, times sqrt(2): the rule of PI as published

`required_rounds` computes the time of the next analysis from the pooled sd. The times may depend on the data in this
way: the sequence holds at all rounds at once. The other rules are designed for one analysis; fewer analyses give fewer
opportunities to stop by chance, but hardly improve those from run means (bench/early_stopping.py at 9ac4a6a9).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.borrowing import split_data_error
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import STOPPING_RULES, Claim, StoppingRule, check_choice, check_claim, check_level
from howsure.stats.core.results import Result, notes
from howsure.stats.repeats import align_runs, summarize_runs
from howsure.stats.scores import fill_within_variances, sampling_df
from howsure.stats.sequential.confidence_sequences import BEST_AT, confidence_boundary, required_rounds

__all__ = ["VARIANCE_FLOOR", "StoppingDecision", "check_stopping", "raise_to_floor"]

#: Smallest sum of squares within questions, sum (k_q - 1) s2_q, assumed for scores of 0 and 1: that of five pairs of
#: different generations. Without it, the variance is underestimated near the ceiling (p = .995, N = 100): the sequence
#: would miss at some analysis with probability .10 instead of .06, and scores without variation would never stop.
VARIANCE_FLOOR = 2.5


@dataclass(frozen=True, eq=False)
class StoppingDecision(Result):
    """Whether to stop, one row per model or for one pair; arrays have shape (P,).

    Attributes
    ----------
    benchmark, names
        Name of the benchmark, and of each model, or of the pair.
    n_rounds
        Number of rounds t, the harmonic mean of the generations per question; or number of runs.
    n_questions
        Number N of questions with a score; for a pair, with scores of both models.
    score
        Score, or difference of the pair.
    half
        Half the width of the interval; NaN where unknown.
    stop
        Whether the interval is narrower than `width`.
    least
        Width that remains with any number of generations, that of data noise alone; 0 for these questions.
    needed
        `required_rounds` from the pooled variance; inf where not reachable, NaN where unknown.
    reachable
        Whether some number of generations makes the interval narrower than `width`.
    width, level, rule, claim
        Arguments of `check_stopping`.
    bounds
        Range of possible scores or differences, at which the interval is cut; None without such a range.
    reasons
        Note on each row.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1, 0, 1, 1], [1, 1, 0, 1]]])
    >>> decision = check_stopping(cells, 0.5)
    >>> decision.low.round(2).tolist(), decision.high.round(2).tolist()
    ([0.19], [1.0])
    """

    benchmark: str
    names: tuple[str, ...]
    n_rounds: FloatArray
    n_questions: IntArray
    score: FloatArray
    half: FloatArray
    stop: NDArray[np.bool_]
    least: FloatArray
    needed: FloatArray
    reachable: NDArray[np.bool_]
    width: float
    level: float
    rule: StoppingRule
    claim: Claim
    bounds: tuple[float, float] | None = None
    reasons: NDArray[np.object_] = field(default_factory=lambda: np.array([], dtype=object), repr=False)

    @property
    def low(self) -> FloatArray:
        """Lower limit of the interval, cut at the bounds."""
        return self.score - self.half if self.bounds is None else np.clip(self.score - self.half, *self.bounds)

    @property
    def high(self) -> FloatArray:
        """Upper limit of the interval, cut at the bounds."""
        return self.score + self.half if self.bounds is None else np.clip(self.score + self.half, *self.bounds)

    declared = "benchmark model=names rounds=n_rounds score low high level width stop=_stop rule claim note=reasons"

    @property
    def _stop(self) -> NDArray[np.object_]:
        """Yes or no."""
        return np.where(self.stop, "yes", "no").astype(object)


def check_stopping(
    results: Cells | Sequence[Cells],
    width: float,
    *,
    level: float = 0.95,
    rule: StoppingRule = "pooled",
    claim: Claim = "these-questions",
    pair: tuple[str, str] | None = None,
    best_at: float = BEST_AT,
    variance_floor: float | None = None,
    reference: Cells | None = None,
) -> StoppingDecision:
    """Decide whether the interval of each score, or of a difference, is narrower than a width.

    Parameters
    ----------
    results
        All results, or the results of each run, which the rules "run-means" and "prediction" need.
    width
        Width to be reached, upper minus lower limit, above 0; compared before the interval is cut at 0 and 1.
    level
        Coverage of the interval, in (0, 1).
    rule
        One of `STOPPING_RULES`. Shares of intervals that miss at the stop, for a nominal 5 % (Beta(.6, .4) questions,
        N = 100, width .02), and rounds until then: pooled 5 % after 47, sequence under 0.5 % after 130 (2 to 3 % at any
        analysis up to then), run-means 14 % after 43, prediction 9 % after 86.
    claim
        "these-questions", or "new-questions" for the rules sequence and pooled. Rounds do not reduce data noise: the
        sequence for new questions adds the t interval of the data noise, each at half of 1 - level (Bonferroni).
    pair
        Names of two models, to stop for their difference on the questions that both answered; None: each model.
    best_at
        Number of rounds where the sequence is narrowest, as in `confidence_boundary`.
    variance_floor
        Smallest assumed sum of squares within questions; None: `VARIANCE_FLOOR` for scores of 0 and 1, else 0.
    reference
        Results of other models on all questions, of which these models answered some: the score is then the borrowed
        score of `stats.borrowing`, and "these-questions" are those of the reference. Rounds do not reduce the
        uncertainty about the other questions, whose interval is added as that of data noise. For the rules sequence and
        pooled.

    Returns
    -------
    StoppingDecision

    Raises
    ------
    InputError
        Where an argument is out of range, or the rule does not support the claim, the reference or the results.

    Notes
    -----
    The numbers of generations must not depend on the answers. Within an unfinished round, t is the harmonic mean.

    References
    ----------
    Chow, Y. S. and Robbins, H. (1965), On the asymptotic theory of fixed-width sequential confidence intervals for the
    mean (rule "pooled"). Waudby-Smith, I. et al. (2021), Time-uniform central limit theory and asymptotic confidence
    sequences, theorem 2.2 (rule "sequence"). "PI" in docs/statistics.md (rule "prediction").

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1, 0, 1, 1], [1, 1, 0, 1]]])
    >>> check_stopping(cells, 0.5).stop.tolist(), check_stopping(cells, 3.0).stop.tolist()
    ([False], [True])
    """
    if not 0 < width < np.inf:
        raise InputError(f"width is {width!r}", remedy="allowed: above 0, such as 0.02")
    check_choice("rule", rule, STOPPING_RULES)
    claim = check_claim(claim)
    allowed = ("these-questions", "new-questions") if rule in {"sequence", "pooled"} else ("these-questions",)
    if claim not in allowed:
        raise InputError(f"rule {rule!r} cannot claim {claim!r}", where="stop", remedy=f"allowed: {', '.join(allowed)}")
    check_level(level)
    cells = results if isinstance(results, Cells) else align_runs(results)[0]
    if rule in {"run-means", "prediction"}:
        if reference is not None:
            raise InputError(f"rule {rule!r} cannot borrow", where="stop", remedy="use the rule sequence or pooled")
        if isinstance(results, Cells):
            raise InputError(f"rule {rule!r} needs the runs one by one", where="stop", remedy="give one Cells per run")
        analysis = _analyze_runs(results, pair, level, variance_floor, future=rule == "prediction")
    else:
        analysis = _analyze_cells(
            cells, pair, level, claim, best_at if rule == "sequence" else None, variance_floor, reference
        )
    half = analysis.sampling + analysis.data
    unreachable = 2 * analysis.data >= width
    reasons = notes(
        {
            "no scores": np.isnan(analysis.score),
            "one generation per question: prediction noise is unknown": ~np.isnan(analysis.score) & np.isnan(half),
            "almost no variation was seen: five pairs of generations that differ are assumed": analysis.floored,
            "no variation was seen": half == 0,
            "more generations cannot make it so narrow: data noise alone is wider": unreachable,
        }
    )
    names = cells.models if pair is None else (f"{pair[0]} - {pair[1]}",)
    bounds = None if not cells.unit else (0.0, 1.0) if pair is None else (-1.0, 1.0)
    published = rule in {"run-means", "prediction"}  # stops where no run mean differs, as published
    return StoppingDecision(
        benchmark=cells.benchmark,
        names=names,
        n_rounds=analysis.n_rounds,
        n_questions=analysis.N,
        score=analysis.score,
        half=np.where((half > 0) | published, half, np.nan),
        stop=(2 * half < width) & ((half > 0) | published),
        least=2 * analysis.data,
        needed=required_rounds(
            width,
            analysis.sd,
            level=level,
            rule=rule,
            claim=claim if reference is None else "new-questions",  # a part of its width remains
            data=analysis.data,
            N=analysis.N,
            best_at=best_at,
        ),
        reachable=~unreachable,
        width=width,
        level=level,
        rule=rule,
        claim=claim,
        bounds=bounds,
        reasons=reasons,
    )


class _Analysis(NamedTuple):
    """Results of one interim analysis, shape (P,)."""

    score: FloatArray
    n_rounds: FloatArray
    sampling: FloatArray  # half-width by sampling noise
    data: FloatArray  # half-width by data noise; 0 for these questions
    sd: FloatArray  # pooled standard deviation of one round's mean
    N: IntArray
    floored: NDArray[np.bool_]  # whether the variance within questions was raised to the floor


def _analyze_cells(
    cells: Cells,
    pair: tuple[str, str] | None,
    level: float,
    claim: Claim,
    best_at: float | None,
    variance_floor: float | None,
    reference: Cells | None,
) -> _Analysis:
    """Return the analysis by the confidence sequence, or, if `best_at` is None, by the interval for one analysis."""
    sides = [cells] if pair is None else [cells.select([model]) for model in _check_pair(pair)]
    both = np.logical_and.reduce([side.answered for side in sides])
    k = 1 + np.sum([side.n - 1 for side in sides], axis=0)  # k - 1 degrees of freedom of the variance
    share = np.sum([1 / np.maximum(side.n, 1) for side in sides], axis=0)
    values = sides[0].mean if pair is None else sides[0].mean - sides[1].mean
    raw = [fill_within_variances(side, both) for side in sides]
    s2 = [raise_to_floor(side, both, variances, variance_floor) for side, variances in zip(sides, raw, strict=True)]
    with np.errstate(divide="ignore", invalid="ignore"):
        N = np.sum(both, axis=1)
        parts, raw_parts = (
            np.sum([v / np.maximum(side.n, 1) for side, v in zip(sides, each, strict=True)], axis=0)
            for each in (s2, raw)
        )
        score = np.sum(values, axis=1, where=both) / N
        total = np.sum((values - score[:, None]) ** 2, axis=1, where=both) / (N - 1)
        V = np.sum(parts, axis=1, where=both) / N**2
        D = np.maximum(total - np.sum(raw_parts, axis=1, where=both) / N, 0)
        t = len(sides) * N / np.sum(share, axis=1, where=both)
        data_error, df = D / N, N - 1.0
        if reference is not None:
            score, data_error, df, _ = split_data_error(cells, reference, pair, claim)
        has_data = claim != "these-questions" or reference is not None
        floored = np.any([np.any(low != high, axis=1, where=both) for low, high in zip(raw, s2, strict=True)], axis=0)
        if best_at is not None:
            each = (1 + level) / 2 if has_data else level  # Bonferroni: half of alpha for each
            sampling = confidence_boundary(t, level=each, best_at=best_at) * np.sqrt(V * t)
            data = special.stdtrit(df, (1 + each) / 2) * np.sqrt(data_error)
        elif not has_data:
            sampling = special.stdtrit(sampling_df(parts, np.where(both, k, 0)), (1 + level) / 2) * np.sqrt(V)
        else:
            quantile = special.stdtrit(df, (1 + level) / 2)
            data = quantile * np.sqrt(np.where(np.isnan(data_error), 0, data_error))
            sampling = quantile * np.sqrt(total / N if reference is None else data_error + V) - data
    return _Analysis(score, t, sampling, data if has_data else np.zeros(N.shape), np.sqrt(V * t), N, floored)


def raise_to_floor(side: Cells, both: NDArray[np.bool_], s2: FloatArray, variance_floor: float | None) -> FloatArray:
    """Return the variances within questions, raised by a constant until sum (k_q - 1) s2_q is at least the floor.

    Parameters
    ----------
    side
        Results of M models.
    both
        Questions that count, shape (M, N).
    s2
        Variance within each question, shape (M, N).
    variance_floor
        As for `check_stopping`.
    """
    if variance_floor is None:
        variance_floor = VARIANCE_FLOOR if side.binary else 0.0
    df = np.where(both, np.maximum(side.n - 1, 0), 0)
    missing = np.maximum(variance_floor - np.sum(df * s2, axis=1, where=df > 0), 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return s2 + np.where(missing > 0, missing / np.sum(df, axis=1), 0)[:, None]


def _analyze_runs(
    runs: Sequence[Cells], pair: tuple[str, str] | None, level: float, variance_floor: float | None, *, future: bool
) -> _Analysis:
    """Return the analysis by Student's t of the run means, for their expectation or for the mean of future runs."""
    cells, each = align_runs(runs)
    summary = summarize_runs(each)
    if pair is not None:
        a, b = (cells.index(model) for model in _check_pair(pair))
        summary = replace(
            summary,
            models=(f"{pair[0]} - {pair[1]}",),
            mean=summary.mean[:, [a]] - summary.mean[:, [b]],
            n_questions=np.minimum(summary.n_questions[:, [a]], summary.n_questions[:, [b]]),
        )
    n = summary.n_runs
    with np.errstate(divide="ignore", invalid="ignore"):
        quantile = special.stdtrit(np.where(n > 1, n - 1.0, np.nan), (1 + level) / 2)
        half = quantile * summary.sd_of_means * np.sqrt((2 if future else 1) / n)
    zero = np.zeros(n.shape)
    pooled = _analyze_cells(cells, pair, level, "these-questions", None, variance_floor, None)
    return _Analysis(summary.center, n.astype(float), half, zero, pooled.sd, pooled.N, zero.astype(bool))


def _check_pair(pair: tuple[str, str]) -> tuple[str, str]:
    """Return the pair, or raise `InputError` if it names one model twice."""
    if pair[0] == pair[1]:
        raise InputError(f"pair is {pair[0]!r} twice", where="stop", remedy="name two models")
    return pair
