"""Principal components of reference models over questions, and the mean of a new model that is regressed on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import ARRAYS, Cells, FloatArray, IntArray, mean_where
from howsure.stats.core.claims import MeanClaim
from howsure.stats.core.results import RowNotes

__all__ = [
    "FEWEST_MODELS",
    "FEWEST_QUESTIONS",
    "BorrowedMean",
    "Factors",
    "ReferenceModels",
    "Regression",
    "align_questions",
    "estimate_mean",
    "estimate_sampling_error",
    "extract_factors",
    "match_reference",
    "regress",
]

#: Models that a reference has at least, and answered questions below which the plain score stands.
FEWEST_MODELS, FEWEST_QUESTIONS = 5, 30
#: Factors of the reference at most; those beyond have next to no weight.
_MOST_FACTORS = 20
#: Penalties of the ridge, as shares of the largest squared singular value; infinite: no regression at all.
_PENALTIES = np.concatenate([[np.inf], 10.0 ** np.arange(2, -5.1, -0.25)])
#: A regression is used where it lowers the sum of squared leave-one-out residuals by a share of more than this over n,
#: about what two factors do by chance. Without it, models unlike all others lose up to 6 % in squared error at n = 50.
_MARGIN = 4
#: p-value below which the answered questions are no random subset, and there is no interval.
_SELECTED = 0.01


class Factors(NamedTuple):
    """Difficulty of the N questions of a benchmark, from the scores of the reference models."""

    questions: tuple[str, ...]
    models: tuple[str, ...]
    mean: FloatArray
    """Mean over the models of each question, their overall means taken off where some did not answer it, (N,)."""
    scores: FloatArray
    """Scores of the questions on r <= 20 factors, (N, r)."""


def extract_factors(reference: Cells, without: Sequence[str] = ()) -> Factors:
    """Compute principal components over questions of the question means of the reference models.

    Parameters
    ----------
    reference
        M models on N questions. Models that answered less than half of the questions are left out. A missing cell is
        filled with the model's mean plus the question's effect.
    without
        Names of models that are left out.

    Notes
    -----
    With C the (M, N) question means, centred per model, and C = U diag(d) V' its singular values, question q has score
    V_qj d_j^2 on factor j. A ridge on scores proportional to d_j expects of the new model what the reference models
    show of each other (the kernel C'C); the square (the kernel (C'C)^2) trusts the first factors more.

    Raises
    ------
    InputError
        When fewer than `FEWEST_MODELS` models are left.
    """
    counts = np.sum(reference.answered, axis=1)
    usable = [
        i
        for i, model in enumerate(reference.models)
        if model not in set(without) and 2 * counts[i] >= len(reference.questions)
    ]
    if len(usable) < FEWEST_MODELS:
        raise InputError(
            f"{len(usable)} models of the reference answered half of its {len(reference.questions)} questions or more",
            where=reference.benchmark,
            remedy=f"give results of at least {FEWEST_MODELS} other models, or leave borrow out",
        )
    answered, values = reference.answered[usable], np.nan_to_num(reference.mean[usable])
    model, question = _additive(values, answered)
    C = np.where(answered, values - model[:, None], question)
    C -= C.mean(axis=1, keepdims=True)
    # The M x M products hold the same singular values, and are the smaller problem as a rule.
    if len(C) <= C.shape[1]:
        square, U = np.linalg.eigh(C @ C.T)
        square, U = square[::-1][:_MOST_FACTORS], U[:, ::-1][:, :_MOST_FACTORS]
        scores = (C.T @ U) * np.sqrt(np.maximum(square, 0))  # V d^2
    else:
        _, d, Vt = np.linalg.svd(C, full_matrices=False)
        scores = Vt[:_MOST_FACTORS].T * d[:_MOST_FACTORS] ** 2
    size = np.max(np.abs(scores), initial=0)
    return Factors(
        reference.questions,
        tuple(reference.models[i] for i in usable),
        np.mean(model) + question,
        scores / size if size > 0 else scores,
    )


def _additive(values: FloatArray, answered: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Return effects of models (M,) and of questions (N,), the latter with mean 0, by alternating means."""
    question = np.zeros(values.shape[1])
    model = np.zeros(len(values))
    per_question = np.sum(answered, axis=0)
    for _ in range(1 if answered.all() else 20):
        model = np.sum(np.where(answered, values - question, 0), axis=1) / np.sum(answered, axis=1)
        sums = np.sum(np.where(answered, values - model[:, None], 0), axis=0)
        question = np.divide(sums, per_question, out=np.zeros(len(sums)), where=per_question > 0)
        question -= question.mean()
    return model, question


class Regression(NamedTuple):
    """The mean of one model over all questions of the reference, as the regression predicts it."""

    estimate: float
    residual: FloatArray
    """(1 - 1/n) e_q, (n,): y_q less its mean where the penalty is infinite."""
    df: float
    """Questions minus the effective number of coefficients, the intercept one of them."""


def regress(factors: FloatArray, sampled: IntArray, y: FloatArray) -> Regression:
    """Regress `y` on the factors of the answered questions by ridge, and predict the mean over all questions.

    Parameters
    ----------
    factors
        Scores of all N questions on r factors, (N, r).
    sampled
        The n questions that the model answered, as rows of `factors`, shape (n,).
    y
        Means on those, (n,).

    Notes
    -----
    The penalty is the one with the smallest sum of squared leave-one-out residuals (PRESS; Allen 1974). Where that does
    not lower the sum by a share of more than 4/n, it is infinite, and the estimate the plain mean. Leave-one-out
    quantities are in closed form: with H the hat matrix, e_q = (y_q - f_q) / (1 - H_qq), and the prediction for x
    without q is f(x) - H(x, q) e_q.

    >>> difficulty = np.linspace(-1, 1, 100)[:, None]
    >>> asked = np.arange(50, 100)                     # the easy half, of a score of 1/2 over all
    >>> found = regress(difficulty, asked, 0.5 + 0.5 * difficulty[asked, 0])
    >>> round(found.estimate, 2)
    0.5
    """
    N, n = len(factors), len(sampled)
    left = N - n
    mean = y.mean()
    center = factors[sampled].mean(axis=0)
    U, d, Vt = np.linalg.svd(factors[sampled] - center, full_matrices=False)
    positive = d > 1e-9 * max(d.max(initial=0), 1e-300)
    U, d, Vt = U[:, positive], d[positive], Vt[positive]
    # Row sums over the questions that were not answered, in the coordinates of U.
    rest = (np.sum(factors, axis=0) - N * center) @ Vt.T / d if left else np.zeros(len(d))
    shrink = d**2 / (d**2 + _PENALTIES[:, None] * d[:1] ** 2)  # (penalties, r)
    off = y - mean
    projected = U.T @ off
    leverage = 1 / n + shrink @ (U**2).T
    e = (off - (shrink * projected) @ U.T) / np.maximum(1 - leverage, 1e-9)
    press = np.sum(e**2, axis=1)
    best = int(np.argmin(press)) if press.min() < press[0] * (1 - _MARGIN / n) else 0
    shrink, e = shrink[best], e[best]
    predicted = left * mean + rest @ (shrink * projected)
    predicted -= (left / n + U @ (shrink * rest)) @ e / n  # the mean of the n regressions without one question
    estimate = (y.sum() + predicted + left * e.mean()) / N
    return Regression(float(estimate), (1 - 1 / n) * e, float(n - 1 - shrink.sum()))


class BorrowedMean(NamedTuple):
    """A borrowed mean over the questions of the reference, or the plain one where nothing was borrowed."""

    value: float
    variance: float
    variance_plain: float
    df: float
    n_models: int
    """Reference models that it borrows from, 0 for none."""
    note: str
    is_random: bool = True
    """Whether nothing says that the answered questions are no random subset; otherwise the variances do not hold."""


def estimate_mean(
    reference: ReferenceModels,
    without: Sequence[str],
    sampled: IntArray,
    y: FloatArray,
    error: float,
    claim: MeanClaim,
    rest: FloatArray | None = None,
) -> BorrowedMean:
    """Return the mean of `y` over the questions of the reference, estimated without some of its models.

    `error` is mean(s2_q / k_q), NaN where unknown; `rest` are the values whose variance remains when all N questions
    are answered, by default `y`.
    """
    n, N = len(sampled), len(reference.cells.questions)
    factors, note = reference.factors(without)
    reasons, is_plain, selected = [note], False, ""
    if n < min(FEWEST_QUESTIONS, N):
        reasons.append(f"fewer than {FEWEST_QUESTIONS} answered questions: the plain estimate")
        factors = None
    elif n == N:
        reasons.append("all questions of the reference are answered: the plain estimate")
        factors = None
    if n < 2:
        value = float(y.mean()) if n else np.nan
        return BorrowedMean(value, np.nan, np.nan, np.nan, 0, RowNotes(*reasons))
    regression = regress(np.zeros((N, 0)) if factors is None else factors.scores, sampled, y)
    left = float(np.var(y if rest is None else rest, ddof=1))
    variances = []
    for e, df in ((regression.residual, regression.df), (y, n - 1)):
        spread = float(np.sum((e - e.mean()) ** 2)) / df
        # What sampling leaves is at most the variance of what was predicted.
        these = error if not math.isnan(error) else spread if rest is None else left
        variances.append((1 / n - 1 / N) * spread + (left if claim == "new-questions" else these) / N)
    if factors is not None:
        if regression.df >= n - 1:
            reasons.append("the other models do not predict these answers: the plain estimate")
            is_plain = True
        selected = _selection(factors, sampled)
        reasons.append(selected)
    if math.isnan(error) and claim == "these-questions":
        reasons.append("one generation per question: the error is an upper bound")
    models = 0 if factors is None or is_plain else len(factors.models)
    variance, variance_plain = variances
    return BorrowedMean(
        regression.estimate, variance, variance_plain, regression.df, models, RowNotes(*reasons), not selected
    )


def _selection(factors: Factors, sampled: IntArray) -> str:
    """Return why the sampled questions are no random subset, and so without an interval; '' if nothing says so."""
    N, n = len(factors.mean), len(sampled)
    if sampled[-1] == n - 1 and math.log(_SELECTED) > -math.log(math.comb(N, n)):
        return (
            f"the first {n} of the reference's {N} questions were asked: no interval, because its order may go with "
            "difficulty or topic; ask a random subset"
        )
    mean, over_all = factors.mean[sampled].mean(), factors.mean.mean()
    se = math.sqrt((1 / n - 1 / N) * np.var(factors.mean, ddof=1))
    if se == 0 or 2 * special.ndtr(-abs(mean - over_all) / se) >= _SELECTED:
        return ""
    kind = "easier" if mean > over_all else "harder"
    return (
        f"the asked questions are {kind} than a random subset (reference models: {mean:.3f} on them, {over_all:.3f} on "
        "all): no interval; ask a random subset"
    )


class ReferenceModels:
    """A reference with its factors, computed once for each set of models that are left out."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self._factors: dict[frozenset[str], Factors | None] = {frozenset(): extract_factors(cells)}

    def factors(self, without: Sequence[str]) -> tuple[Factors | None, str]:
        """Return the factors without these models, and a note; None if too few models are left."""
        own = frozenset(without) & frozenset(self.cells.models)
        if own not in self._factors:
            try:
                self._factors[own] = extract_factors(self.cells, sorted(own))
            except InputError:
                self._factors[own] = None
        if self._factors[own] is None:
            return None, f"fewer than {FEWEST_MODELS} other models in the reference: the plain estimate"
        return self._factors[own], f"left out of the reference: {', '.join(sorted(own))}" if own else ""


def estimate_sampling_error(cells: Cells) -> FloatArray:
    """Return the squared error s2_q / k_q of each question mean, (M, N), with the mean s2 of the others if k_q = 1."""
    several = cells.n > 1
    s2 = np.where(several, cells.within, mean_where(cells.within, several)[:, None])
    return s2 / np.maximum(cells.n, 1)


def match_reference(benchmark: str, reference: Cells | Sequence[Cells]) -> Cells:
    """Return the reference of a benchmark; one that stands alone is taken whatever its name.

    Raises
    ------
    InputError
        When there are several, or none, and none has the name.
    """
    several = [reference] if isinstance(reference, Cells) else list(reference)
    if len(several) == 1:
        return several[0]
    named = [one for one in several if one.benchmark == benchmark]
    if len(named) != 1:
        raise InputError(
            f"{len(named)} of the {len(several)} benchmarks of the reference are named {benchmark!r}",
            where="borrow",
            remedy="name the benchmark alike in both; in a table with a column benchmark",
        )
    return named[0]


def align_questions(cells: Cells, reference: Cells) -> Cells:
    """Return the cells on all questions of the reference, in its order; 0 generations where there are none.

    Raises
    ------
    InputError
        When no answered question is in the reference.
    """
    column = {question: j for j, question in enumerate(cells.questions)}
    shared = [question for question in reference.questions if question in column]
    chosen = cells.select(questions=shared)
    if not chosen.answered.any():
        raise InputError(
            "no answered question is in the reference",
            where=cells.benchmark,
            remedy="give a reference of the same benchmark, with the same question ids",
        )
    places = [j for j, question in enumerate(reference.questions) if question in column]
    shape = (len(cells.models), len(reference.questions))

    def spread(name: str) -> Any:
        array: NDArray[np.generic] | None = getattr(chosen, name)
        if array is None:
            return None
        out = np.full(shape, np.nan if name in {"minimum", "maximum"} else 0, array.dtype)
        out[:, places] = array
        return out

    clusters = None
    if cells.clusters is not None:
        of = dict(zip(cells.questions, cells.clusters, strict=True))
        clusters = tuple(of.get(question, f"of {question}") for question in reference.questions)
    return replace(chosen, questions=reference.questions, clusters=clusters, **{name: spread(name) for name in ARRAYS})
