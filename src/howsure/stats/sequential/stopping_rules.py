"""Looking early without lying: whether an interval is narrow enough to stop, asked after every round.

A round asks every question once more; t rounds have been seen. Looking at each and stopping when the interval is narrow
breaks an interval that was made for one look. With sd^2 the variance of one round's mean:

    sequence     the confidence sequence of `sequences.boundary` with the pooled sd, for which looking is free
    pooled       Student's t with sd^2 = E/N from each question's own generations, as if this look were the only one.
                 Stopping at a width then does little harm: the pooled variance hardly moves between looks
    run-means    mean ± t_{n-1} s/sqrt(n) from the n run means: stops when s happens to be small, so it misses too often
    prediction   the same for the mean of n future runs, times sqrt(2): PI's rule as published

When to look next: `rounds_needed`, by the pooled sd, which hardly moves between looks. Looks may depend on the data in
this way. The sequence holds at all rounds at once, hence at whichever are looked at. The other rules promise one look
only: fewer looks leave fewer chances to stop by luck, though that hardly mends the rules from run means (see
bench/early_stopping.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.errors import InputError, UnknownNameError
from howsure.stats.borrowing import split_data_error
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import Claim, check_claim
from howsure.stats.core.results import Columns, Result, notes
from howsure.stats.repeats import align_runs, summarize_runs
from howsure.stats.scores import fill_within_variances, sampling_df
from howsure.stats.sequential.confidence_sequences import BEST_AT, STOPPING_RULES, confidence_boundary, required_rounds

__all__ = ["STOPPING_RULES", "VARIANCE_FLOOR", "StoppingDecision", "check_stopping", "required_rounds"]

#: Least sum of squares within questions, sum (k_q - 1) s2_q, that 0/1 scores are believed to have: five pairs of
#: generations that differ. Fewer say too little of the variance: near the ceiling (p = .995, N = 100) the sequence
#: would miss at some look 10 % of the time in place of 6 %, and what never varied would never stop.
VARIANCE_FLOOR = 2.5


@dataclass(frozen=True, eq=False)
class StoppingDecision(Result):
    """Whether to stop, one row per model or for one pair; arrays have shape (P,).

    Attributes
    ----------
    rounds
        t: harmonic mean of the generations per question, or runs.
    n_questions
        N, with a score; of a pair, with scores of both.
    score
        Score, or difference of the pair.
    half
        Half the width of the interval; NaN where unknown.
    stop
        Whether the interval is narrower than `width`.
    least
        Narrowest width that more generations could reach: that of data noise alone, 0 for these questions.
    needed
        `rounds_needed` by the pooled variance seen so far; inf where not reachable, NaN where nothing is known.
    reachable
        False where no number of generations can make it so, because data noise alone is too large.
    """

    benchmark: str
    names: tuple[str, ...]
    rounds: FloatArray
    n_questions: IntArray
    score: FloatArray
    half: FloatArray
    stop: NDArray[np.bool_]
    least: FloatArray
    needed: FloatArray
    reachable: NDArray[np.bool_]
    width: float
    level: float
    rule: str
    claim: Claim
    bounds: tuple[float, float] | None = None
    reasons: NDArray[np.object_] = field(default_factory=lambda: np.array([], dtype=object), repr=False)

    @property
    def low(self) -> FloatArray:
        """Lower limit, cut where a score cannot be."""
        return self.score - self.half if self.bounds is None else np.clip(self.score - self.half, *self.bounds)

    @property
    def high(self) -> FloatArray:
        """Upper limit, cut where a score cannot be."""
        return self.score + self.half if self.bounds is None else np.clip(self.score + self.half, *self.bounds)

    def columns(self) -> Columns:
        """One row per model."""
        rows = len(self.names)
        return {
            "benchmark": np.full(rows, self.benchmark, dtype=object),
            "model": np.array(self.names, dtype=object),
            "rounds": self.rounds,
            "score": self.score,
            "low": self.low,
            "high": self.high,
            "level": np.full(rows, self.level),
            "width": np.full(rows, self.width),
            "stop": np.where(self.stop, "yes", "no").astype(object),
            "rule": np.full(rows, self.rule, dtype=object),
            "claim": np.full(rows, self.claim, dtype=object),
            "note": self.reasons,
        }


def check_stopping(
    results: Cells | Sequence[Cells],
    width: float,
    *,
    level: float = 0.95,
    rule: str = "sequence",
    claim: str = "these-questions",
    pair: tuple[str, str] | None = None,
    best_at: float = BEST_AT,
    floor: float | None = None,
    reference: Cells | None = None,
) -> StoppingDecision:
    """Whether the interval is narrower than a width, by a rule that may be asked again after every round.

    Parameters
    ----------
    results
        Cells so far, or the runs one by one, which the two rules from run means need.
    width
        high - low to be reached, above 0; compared before the interval is cut at 0 and 1.
    level
        Level of the interval.
    rule
        One of `RULES`. Share of misses at the stop at a nominal 5 % (Beta(.6, .4) questions, N = 100, width .02) and
        rounds until then: sequence under 0.5 % after 130 (2 to 3 % at any look up to then), pooled 5 % after 47,
        run-means 14 % after 43, prediction 9 % after 86.
    claim
        "these-questions", or "new-questions" for the rules sequence and pooled. Rounds do not lessen data noise: the
        sequence for new questions adds the t interval of the data noise, each at half of 1 - level (Bonferroni).
    pair
        Two models: stop for their difference on the questions that both answered. None: each model.
    best_at
        As in `sequences.boundary`.
    floor
        Least sum of squares within questions that is believed; None: `FLOOR` for scores of 0 and 1, else 0.
    reference
        Other models on all questions, of which these models answered some: the score is the borrowed one of
        `stats.borrow`, and "these-questions" are those of the reference. Rounds do not lessen what the questions that
        were not asked leave open, so that its interval is added as that of the data noise is. For the rules sequence
        and pooled.

    Notes
    -----
    Counts should come from rounds and not from the answers. Where rounds are unfinished, t is the harmonic mean.

    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1, 0, 1, 1], [1, 1, 0, 1]]])
    >>> check_stopping(cells, 0.5).stop.tolist(), check_stopping(cells, 3.0).stop.tolist()
    ([False], [True])
    """
    if not 0 < width < np.inf:
        raise InputError(f"width is {width!r}", remedy="allowed: above 0, such as 0.02")
    if rule not in STOPPING_RULES:
        raise UnknownNameError("rule", rule, STOPPING_RULES)
    claim = check_claim(claim)
    allowed = ("these-questions", "new-questions") if rule in {"sequence", "pooled"} else ("these-questions",)
    if claim not in allowed:
        raise InputError(f"rule {rule!r} cannot claim {claim!r}", where="stop", remedy=f"allowed: {', '.join(allowed)}")
    if not 0 < level < 1:
        raise InputError(f"level is {level!r}", remedy="allowed: between 0 and 1, such as 0.95")
    whole = results if isinstance(results, Cells) else align_runs(results)[0]
    if rule in {"run-means", "prediction"}:
        if reference is not None:
            raise InputError(f"rule {rule!r} cannot borrow", where="stop", remedy="use the rule sequence or pooled")
        if isinstance(results, Cells):
            raise InputError(f"rule {rule!r} needs the runs one by one", where="stop", remedy="give one Cells per run")
        look = _look_at_runs(results, pair, level, floor, future=rule == "prediction")
    else:
        look = _look_at_cells(whole, pair, level, claim, best_at if rule == "sequence" else None, floor, reference)
    half = look.sampling + look.data
    unreachable = 2 * look.data >= width
    reasons = notes(
        {
            "no scores": np.isnan(look.score),
            "one generation per question: prediction noise is unknown": ~np.isnan(look.score) & np.isnan(half),
            "almost no variation was seen: five pairs of generations that differ are assumed": look.floored,
            "no variation was seen": half == 0,
            "more generations cannot make it so narrow: data noise alone is wider": unreachable,
        }
    )
    names = whole.models if pair is None else (f"{pair[0]} - {pair[1]}",)
    bounds = None if not whole.unit else (0.0, 1.0) if pair is None else (-1.0, 1.0)
    published = rule in {"run-means", "prediction"}  # stops where no run mean differs, as published
    return StoppingDecision(
        benchmark=whole.benchmark,
        names=names,
        rounds=look.rounds,
        n_questions=look.N,
        score=look.score,
        half=np.where((half > 0) | published, half, np.nan),
        stop=(2 * half < width) & ((half > 0) | published),
        least=2 * look.data,
        needed=required_rounds(
            width,
            look.sd,
            level=level,
            rule=rule,
            claim=claim if reference is None else "new-questions",  # with a part that rounds do not lessen
            data=look.data,
            N=look.N,
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


class _Look(NamedTuple):
    """What is known at this look, shape (P,): the half-width is `sampling` and, of new questions, `data`.

    `sd` is the pooled standard deviation of one round's mean, `N` the number of questions.
    """

    score: FloatArray
    rounds: FloatArray
    sampling: FloatArray
    data: FloatArray
    sd: FloatArray
    N: IntArray
    floored: NDArray[np.bool_]


def _look_at_cells(
    whole: Cells,
    pair: tuple[str, str] | None,
    level: float,
    claim: Claim,
    best_at: float | None,
    floor: float | None,
    reference: Cells | None,
) -> _Look:
    """The confidence sequence narrowest at `best_at`, or with None the interval made for this look alone."""
    sides = [whole] if pair is None else [whole.select([model]) for model in _two(pair)]
    both = np.logical_and.reduce([side.answered for side in sides])
    k = 1 + np.sum([side.n - 1 for side in sides], axis=0)  # k - 1: how many generations tell of the variance
    share = np.sum([1 / np.maximum(side.n, 1) for side in sides], axis=0)
    values = sides[0].mean if pair is None else sides[0].mean - sides[1].mean
    raw = [fill_within_variances(side, both) for side in sides]
    s2 = [_floored(side, both, known, floor) for side, known in zip(sides, raw, strict=True)]
    with np.errstate(divide="ignore", invalid="ignore"):
        N = np.sum(both, axis=1)
        parts, raw_parts = (
            np.sum([v / np.maximum(side.n, 1) for side, v in zip(sides, each, strict=True)], axis=0)
            for each in (s2, raw)
        )
        score = np.sum(values, axis=1, where=both) / N
        spread = np.sum((values - score[:, None]) ** 2, axis=1, where=both) / (N - 1)
        V = np.sum(parts, axis=1, where=both) / N**2
        D = np.maximum(spread - np.sum(raw_parts, axis=1, where=both) / N, 0)
        t = len(sides) * N / np.sum(share, axis=1, where=both)
        data_error, df = D / N, N - 1.0
        if reference is not None:
            score, data_error, df, _ = split_data_error(whole, reference, pair, claim)
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
            sampling = quantile * np.sqrt(spread / N if reference is None else data_error + V) - data
    return _Look(score, t, sampling, data if has_data else np.zeros(N.shape), np.sqrt(V * t), N, floored)


def _floored(side: Cells, both: NDArray[np.bool_], s2: FloatArray, floor: float | None) -> FloatArray:
    """Within-variances raised alike until sum (k_q - 1) s2_q is at least `floor`; None: `FLOOR` for 0 and 1, else 0."""
    if floor is None:
        floor = VARIANCE_FLOOR if side.binary else 0.0
    tell = np.where(both, np.maximum(side.n - 1, 0), 0)
    short = np.maximum(floor - np.sum(tell * s2, axis=1, where=tell > 0), 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return s2 + np.where(short > 0, short / np.sum(tell, axis=1), 0)[:, None]


def _look_at_runs(
    runs: Sequence[Cells], pair: tuple[str, str] | None, level: float, floor: float | None, *, future: bool
) -> _Look:
    """Student's t interval from run means: for their expectation, or for the mean of as many future runs."""
    whole, each = align_runs(runs)
    told = summarize_runs(each)
    if pair is not None:
        a, b = (whole.index(model) for model in _two(pair))
        told = replace(
            told,
            models=(f"{pair[0]} - {pair[1]}",),
            mean=told.mean[:, [a]] - told.mean[:, [b]],
            n_questions=np.minimum(told.n_questions[:, [a]], told.n_questions[:, [b]]),
        )
    n = told.n_runs
    with np.errstate(divide="ignore", invalid="ignore"):
        quantile = special.stdtrit(np.where(n > 1, n - 1.0, np.nan), (1 + level) / 2)
        half = quantile * told.sd_of_means * np.sqrt((2 if future else 1) / n)
    none = np.zeros(n.shape)
    pooled = _look_at_cells(whole, pair, level, "these-questions", None, floor, None)
    return _Look(told.center, n.astype(float), half, none, pooled.sd, pooled.N, none.astype(bool))


def _two(pair: tuple[str, str]) -> tuple[str, str]:
    if pair[0] == pair[1]:
        raise InputError(f"pair is {pair[0]!r} twice", where="stop", remedy="name two models")
    return pair
