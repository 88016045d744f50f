"""Variance components of scores and differences that borrow from a reference, for plans.

With n of the N questions of a reference asked k times, the squared error of `stats.borrow` is

    these questions    D_e (1/n - 1/N) + E / (k n)
    new questions      the same + D / N

with E the prediction variance, D the data variance, and D_e the data variance that the reference leaves unexplained.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from howsure.errors import InputError
from howsure.stats.borrowing.factors import (
    FEWEST_QUESTIONS,
    ReferenceModels,
    align_questions,
    estimate_mean,
    estimate_sampling_error,
    extract_factors,
    regress,
)
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import Claim, MeanClaim, check_mean_claim
from howsure.stats.core.results import RowNotes
from howsure.stats.planning import VarianceComponents

__all__ = ["DataError", "components_of", "components_of_reference", "split_data_error"]

#: z of a one-sided 80 % limit: variances are planned that much above their estimate (Browne 1995).
_ASSURANCE = 0.84
#: Share of the reference's own models whose noise is not above the one that is planned with, and most models tried.
_QUANTILE, _MOST = 0.8, 50


def components_of(
    reference: Cells, cells: Cells, a: str, b: str | None = None, *, claim: MeanClaim = "new-questions"
) -> VarianceComponents:
    """Estimate the variance components of a pilot whose score, or difference, borrows from a reference.

    Parameters
    ----------
    reference
        As in `score`; the models of the pilot are left out of it.
    cells
        The pilot: at least `FEWEST_QUESTIONS` questions of the reference, of one or two models.
    a, b
        One model, or two to compare.
    claim
        ``"new-questions"`` or ``"these-questions"``, the N of the reference.

    Notes
    -----
    D_e comes with its standard error, so that a plan takes an upper limit of it (`assurance` of `plan`). With
    one generation per question, D_e and E are known as a sum only: it is all planned as D_e, so that more generations
    do not seem to help.

    Raises
    ------
    InputError
        When fewer questions of the reference were answered, or the reference has too few models.
    """
    check_mean_claim(claim, where="plan")
    names = [a] if b is None else [a, b]
    aligned = align_questions(cells.select(names), reference)
    common = np.flatnonzero(np.all(aligned.answered, axis=0))
    if len(common) < FEWEST_QUESTIONS:
        raise InputError(
            f"the pilot answered {len(common)} questions of the reference",
            where=cells.benchmark,
            remedy=f"answer at least {FEWEST_QUESTIONS}, or plan from the reference alone, without a pilot",
        )
    return _components(reference, aligned, common, names, claim)


def components_of_reference(
    reference: Cells, *, models: int = 1, claim: MeanClaim = "new-questions", seed: int = 0
) -> VarianceComponents:
    """Estimate the variance components for a new model from the reference's own models.

    Parameters
    ----------
    reference
        As in `score`.
    models
        1 for a score; 2 for the difference of two models that are neighbours in score.
    claim
        As in `components_of`.
    seed
        Of the questions that each is predicted from: half of them, at most 200.

    Notes
    -----
    Of up to 50 models, or pairs, the plan is made with the one that 80 % of them do not exceed in noise. D_e of each is
    taken at its upper 80 % limit, D_e + .84 se(D_e) (Browne 1995).
    """
    check_mean_claim(claim, where="plan")
    used = reference.select(extract_factors(reference).models)
    order = np.argsort(np.nanmean(used.mean, axis=1), kind="stable")
    groups = [tuple(used.models[i] for i in order[j : j + models]) for j in range(len(order) - models + 1)]
    groups = [groups[i] for i in np.unique(np.linspace(0, len(groups) - 1, _MOST).astype(int))]
    rng = np.random.default_rng(seed)
    candidates = []
    for names in groups:
        aligned = used.select(names)
        common = np.flatnonzero(np.all(aligned.answered, axis=0))
        some = rng.permutation(common)[: max(min(200, len(common) // 2), FEWEST_QUESTIONS)]
        if len(some) >= FEWEST_QUESTIONS:
            one = _components(reference, aligned, np.sort(some), names, claim)
            limit = one.question + _ASSURANCE * one.question_se
            candidates.append(replace(one, question=limit, question_se=0.0, total_se=math.nan))
    if not candidates:
        raise InputError(
            f"fewer than {FEWEST_QUESTIONS} questions in the reference",
            where=reference.benchmark,
            remedy="ask them all",
        )
    chosen = sorted(candidates, key=lambda one: one.total)[math.ceil(_QUANTILE * len(candidates)) - 1]
    what = "models" if models == 1 else "pairs of neighbours"
    share = f"{_QUANTILE:.0%} of {len(candidates)} have no more"
    note = f"noise of the reference's own {what}, each predicted from the others: {share}"
    limit_note = "data variance at its upper 80 % limit, so that se_low and se_high are se"
    return replace(chosen, note=f"{note}; {limit_note}; {chosen.note}")


def _components(
    reference: Cells, aligned: Cells, common: IntArray, names: Sequence[str], claim: MeanClaim
) -> VarianceComponents:
    """Return the components of the score of one model, or of the difference of two, on the questions `common`."""
    n, N = len(common), len(reference.questions)
    k, within = np.maximum(aligned.n[:, common], 1), aligned.within[:, common]
    mean = aligned.mean[:, common]
    with np.errstate(invalid="ignore"):
        several = np.sum(aligned.n[:, common] > 1, axis=1)
        E = np.sum(np.nan_to_num(within), axis=1) / np.where(several > 0, several, np.nan)
    s2 = np.where(np.isnan(within), E[:, None], within)
    noise = np.sum(s2 / k, axis=0)
    y = mean[0] if len(names) == 1 else mean[0] - mean[1]
    factors = extract_factors(reference, names)
    regression = regress(factors.scores, common, y)
    square = (regression.residual - regression.residual.mean()) ** 2 * n / regression.df
    is_known = bool(np.all(np.isfinite(noise)))
    sampling = noise if is_known else np.zeros(n)
    D_e = float(np.mean(square - sampling))
    left = max(float(np.var(y, ddof=1) - np.mean(sampling)), 0.0)
    new = claim == "new-questions"
    all_notes = [
        f"borrowing from {len(factors.models)} models that answered {N} questions",
        "" if is_known else "one generation per question: more generations are planned as no help",
    ]
    return VarianceComponents(
        question=max(D_e, 0.0),
        question_se=float(np.std(square - sampling, ddof=1) / math.sqrt(n)),
        generation=float(np.mean(np.sum(s2, axis=0))) if is_known else 0.0,
        # With one generation, what sampling adds is not taken away by asking all of these questions.
        population=N if is_known or new else math.inf,
        fixed=left / N if new else 0.0,
        models=len(names),
        benchmark=aligned.benchmark,
        note=RowNotes(*all_notes),
    )


class DataError(NamedTuple):
    """Estimates with a reference, and the part of their errors that more generations do not reduce, shape (P,)."""

    estimate: FloatArray
    variance: FloatArray
    df: FloatArray
    n_models: IntArray
    """Reference models that each borrows from; 0 where the estimate is the plain one."""


def split_data_error(cells: Cells, reference: Cells, pair: tuple[str, str] | None, claim: Claim) -> DataError:
    """Return the score of each model, or the difference of a pair, and the error that generations do not reduce.

    Parameters
    ----------
    cells, reference, claim
        As in `score`.
    pair
        Two models, or None for each of them.

    Notes
    -----
    (1/n - 1/N) (var(e_q) - mean(s2_q / k_q)), and for new questions (var(y_q) - mean(s2_q / k_q)) / N more; 0 where
    negative, NaN where every question has one generation.
    """
    aligned, source = align_questions(cells, reference), ReferenceModels(reference)
    N = len(reference.questions)
    rows = []
    for names in [(model,) for model in aligned.models] if pair is None else [pair]:
        some = aligned.select(names)
        common = np.flatnonzero(np.all(some.answered, axis=0))
        mean = some.mean[:, common]
        error = float(np.mean(np.sum(estimate_sampling_error(some), axis=0)[common])) if len(common) else np.nan
        y = mean[0] if pair is None else mean[0] - mean[1]
        one = estimate_mean(source, names, common, y, 0.0, "these-questions")
        n = max(len(common), 1)
        # without a sampling error, `estimate_mean` returns the variance of both noises together
        variance = max(one.variance - (1 / n - 1 / N) * error, 0.0) if n < N else 0.0 * error
        if claim == "new-questions":
            variance += max(float(np.var(y, ddof=1)) - error, 0.0) / N if n > 1 else np.nan
        value = one.value if pair is not None or not cells.unit else min(max(one.value, 0.0), 1.0)
        rows.append((value, variance if not math.isnan(error) else np.nan, one.df, one.n_models))
    estimate, left, df, models = np.array(rows, float).reshape(-1, 4).T
    return DataError(estimate, left, df, models.astype(np.int64))
