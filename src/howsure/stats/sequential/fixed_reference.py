"""Early stopping for the difference of a model that is sampled to another whose generations are all there.

The confidence sequence of `check_stopping` holds for what grows round by round. The generations of the reference do not
grow, so their noise is a second part of the interval, of fixed size, and each part has half of alpha (Bonferroni).
"""

from __future__ import annotations

import numpy as np
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import Claim, check_choice, check_level
from howsure.stats.core.results import notes
from howsure.stats.scores import fill_within_variances, sampling_df
from howsure.stats.sequential.confidence_sequences import BEST_AT, confidence_boundary, required_rounds
from howsure.stats.sequential.stopping_rules import VARIANCE_FLOOR, StoppingDecision, raise_to_floor

__all__ = ["check_fixed_reference"]


def check_fixed_reference(
    cells: Cells,
    reference: Cells,
    width: float,
    *,
    level: float = 0.95,
    claim: Claim = "these-questions",
    best_at: float = BEST_AT,
    variance_floor: float | None = None,
) -> StoppingDecision:
    """Decide whether the interval of the difference to a finished model is narrower than a width.

    Parameters
    ----------
    cells
        Results so far of one model that is sampled in rounds.
    reference
        Results of one other model, which stay as they are. Questions that only one of them answered are left out.
    width
        Width to be reached, upper minus lower limit, above 0.
    level
        Coverage of the interval at all rounds at once, in (0, 1).
    claim
        "these-questions": the reference needs several generations for some question, which show its noise;
        "new-questions".
    best_at
        Number of rounds where the sequence is narrowest, as in `confidence_boundary`.
    variance_floor
        As for `check_stopping`, for each of the two models. A reference that is right in all its few generations is
        not known exactly.

    Returns
    -------
    StoppingDecision
        One row, for the model minus the reference.

    Raises
    ------
    InputError
        Where an argument is out of range, or there is not one model in each.

    Notes
    -----
    With t rounds of standard deviation sd, and alpha/2 for each part, half the width is sd boundary(t) + q e. For these
    questions, e is the standard error of the reference, sqrt(sum s2_q/k_q)/N, and q is the quantile of Student's t with
    Satterthwaite's degrees of freedom. For new questions, e^2 = var(d_q)/N - sd^2/t, where d_q are the differences of
    the question means, and q is that of N - 1 degrees of freedom; the generations of the reference are in var(d_q),
    and e^2 is at least sum s2_q/k_q/N^2 of the reference, or VARIANCE_FLOOR/(N (N - 1)) where it has one generation.

    Many runs never stop where there are few questions: the part of the reference, q e, does not shrink with the rounds
    for these questions, and may alone be wider than half the width that is wanted.

    References
    ----------
    Waudby-Smith, I. et al. (2021), Time-uniform central limit theory and asymptotic confidence sequences, theorem 2.2.

    Examples
    --------
    >>> new = Cells.from_scores("demo", ["new"], ["q1", "q2"], [[[1, 0, 1, 1], [1, 1, 0, 1]]])
    >>> old = Cells.from_scores("demo", ["old"], ["q1", "q2"], [[[1, 0, 0], [1, 0, 0]]])
    >>> decision = check_fixed_reference(new, old, 4.0)
    >>> decision.names, decision.score.round(3).tolist(), decision.stop.tolist()
    (('new - old',), [0.417], [True])
    """
    if not 0 < width < np.inf:
        raise InputError(f"width is {width!r}", remedy="allowed: above 0, such as 0.02")
    check_level(level)
    check_choice("claim", claim, ("these-questions", "new-questions"))
    if len(cells.models) != 1 or len(reference.models) != 1:
        raise InputError("not one model and one reference", where="check_fixed_reference", remedy="select one of each")
    own, other = _select_common(cells, reference)
    both = np.ones_like(own.answered)
    raw = fill_within_variances(own, both)
    s2 = raise_to_floor(own, both, raw, variance_floor)
    other_raw = fill_within_variances(other, both)
    other_s2 = raise_to_floor(other, both, other_raw, variance_floor)
    each, N = (1 + level) / 2, own.n.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        d = own.mean - other.mean
        score = np.sum(d, axis=1) / N
        V = np.sum(s2 / np.maximum(own.n, 1), axis=1) / N**2
        t = N / np.sum(1 / np.maximum(own.n, 1), axis=1)
        sampling = confidence_boundary(t, level=each, best_at=best_at) * np.sqrt(V * t)
        if claim == "these-questions":
            parts = other_s2 / np.maximum(other.n, 1)
            fixed = special.stdtrit(sampling_df(parts, other.n), (1 + each) / 2) * np.sqrt(np.sum(parts, axis=1)) / N
        else:
            total = np.sum((d - score[:, None]) ** 2, axis=1) / (N - 1)
            # Of the reference alone, whose answers may not vary by chance. One generation has no variance within.
            least = np.sum(other_s2 / np.maximum(other.n, 1), axis=1) / N**2
            least = np.where(np.isnan(least), _get_floor(other, variance_floor) / ((N - 1) * N), least)
            raw_error = np.sum(raw / np.maximum(own.n, 1), axis=1) / N**2
            fixed = special.stdtrit(N - 1.0, (1 + each) / 2) * np.sqrt(np.maximum(total / N - raw_error, least))
    half = sampling + fixed
    floored = np.any((s2 != raw) & ~np.isnan(raw), axis=1)
    floored |= np.any((other_s2 != other_raw) & ~np.isnan(other_raw), axis=1)
    unit = own.unit and other.unit
    return StoppingDecision(
        benchmark=cells.benchmark,
        names=(f"{cells.models[0]} - {reference.models[0]}",),
        n_rounds=t,
        n_questions=np.array([N]),
        score=score,
        half=np.where(half > 0, half, np.nan),
        stop=(2 * half < width) & (half > 0),
        least=2 * fixed,
        needed=required_rounds(
            width, np.sqrt(V * t), level=level, rule="sequence", claim="new-questions", data=fixed, N=N, best_at=best_at
        ),
        reachable=~(2 * fixed >= width),
        width=width,
        level=level,
        rule="sequence",
        claim=claim,
        bounds=(-1.0, 1.0) if unit else None,
        reasons=notes(
            {
                "no question that both answered": np.array([N == 0]),
                "one generation per question: prediction noise is unknown": np.array([N > 0]) & np.isnan(sampling),
                "the reference has one generation per question: its noise is unknown": ~np.isnan(sampling)
                & np.isnan(fixed),
                "almost no variation was seen: five pairs of generations that differ are assumed": floored,
                "no variation was seen": half == 0,
                "more generations cannot make it so narrow: the rest is wider": 2 * fixed >= width,
            }
        ),
    )


def _get_floor(cells: Cells, variance_floor: float | None) -> float:
    """Return the smallest assumed sum of squares."""
    if variance_floor is None:
        return VARIANCE_FLOOR if cells.binary else 0.0
    return variance_floor


def _select_common(cells: Cells, reference: Cells) -> tuple[Cells, Cells]:
    """Return both on the questions that both answered, in one order."""
    answered = set(np.array(reference.questions, dtype=object)[reference.answered[0]])
    mine = [i for i, name in enumerate(cells.questions) if cells.answered[0, i] and name in answered]
    index = {name: i for i, name in enumerate(reference.questions)}
    theirs = [index[cells.questions[i]] for i in mine]
    return _take_questions(cells, mine), _take_questions(reference, theirs)


def _take_questions(cells: Cells, places: list[int]) -> Cells:
    """Return the cells of some questions, without clusters and counts of failures."""
    minimum, maximum = (None if one is None else one[:, places] for one in (cells.minimum, cells.maximum))
    names = tuple(cells.questions[i] for i in places)
    sums = (cells.n[:, places], cells.total[:, places], cells.total_sq[:, places])
    return Cells(cells.benchmark, cells.models, names, *sums, minimum=minimum, maximum=maximum)
