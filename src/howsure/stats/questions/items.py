"""Questions across models: difficulties and abilities on one scale, and the correlation of a question with ability.

The one-parameter logistic (1PL) model (GEN, appendix B, eq. 4), with ability t of model m and difficulty b of question
q:

    P(correct) = 1 / (1 + exp(-(t_m - b_q)))

For one model it is P(correct) on another scale, b_q = t - logit p_q, with the same maximum likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import ABILITY_RULES, AbilityRule, check_choice
from howsure.stats.core.results import Conditions, Result, RowPlaces
from howsure.stats.scores import require_binary

__all__ = [
    "OneParameter",
    "QuestionTable",
    "QuestionTau",
    "compute_question_tau",
    "describe_questions",
    "fit_one_parameter",
]

#: Models from which on the p-value of tau is a normal approximation; for 4, it would be .042 in place of .083.
_FEWEST_FOR_NORMAL = 10


@dataclass(frozen=True, eq=False)
class OneParameter(Result):
    """Fitted 1PL model: difficulties of N questions and abilities of M models, in logits.

    Attributes
    ----------
    benchmark, models, questions
        Names.
    ability
        Ability of each model, shape (M,), with mean 0; NaN for a model without a score.
    difficulty, se
        Difficulty of each question and its standard error from the information matrix, which is valid where the 1PL
        model holds, shape (N,); NaN for a question without a score. The notes of `fit_one_parameter` give the coverage
        where the model does not hold.
    n_models
        Number of models that answered each question, shape (N,).
    n_scales
        Number of groups of models that share no question; each group has its own scale.

    Examples
    --------
    >>> scores = [[[1, 1], [1, 0], [0, 0]], [[1, 1], [0, 0], [1, 0]]]
    >>> fit = fit_one_parameter(Cells.from_scores("demo", ["a", "b"], ["q1", "q2", "q3"], scores))
    >>> fit.n_models.tolist(), fit.n_scales
    ([2, 2, 2], 1)
    """

    benchmark: str
    models: tuple[str, ...]
    questions: tuple[str, ...]
    ability: FloatArray
    difficulty: FloatArray
    se: FloatArray
    n_models: IntArray
    n_scales: int = field(repr=False, default=1)

    declared = "benchmark question=questions n_models difficulty se note=_reasons.notes"

    def _reasons(self) -> Conditions:
        N = len(self.questions)
        return {
            "no scores": self.n_models == 0,
            "models in groups that share no question: each group has its own scale": np.full(N, self.n_scales > 1),
        }


def fit_one_parameter(cells: Cells, *, pseudo: float = 0.5) -> OneParameter:
    """Fit the 1PL model to all models and questions jointly, by Newton's method on the likelihood.

    Parameters
    ----------
    cells
        Scores of 0 and 1; the generations of a model and a question are independent.
    pseudo
        Number of right, and of wrong, generations added to each question and divided among the models that answered it,
        above 0; without them, a question that is always right has no finite difficulty. With one model and 0.5,
        difficulty = -logit((c + 1/2)/(n + 1)), the empirical logit; as it approaches 0, the maximum likelihood.

    Returns
    -------
    OneParameter
        Abilities have mean 0 in each group of models that are connected by common questions.

    Raises
    ------
    InputError
        Where a score is not 0 or 1, or `pseudo` is not above 0.

    Notes
    -----
    The pseudo generations shift all probabilities of a question towards one half, and shrink abilities and
    difficulties: the standard deviation of abilities is .74, .89 and .96 times that from 1,100 generations, with 10
    models, 500 questions and 1, 3 and 10 generations (published answers, bench/page_figures.py). The order is not
    affected; compare values only between fits of similar numbers of models and generations.

    Standard errors assume the 1PL model and ignore this bias. Where models differ in more than ability, and where few
    models answered hard questions, intervals of difficulties may cover less than their level.

    References
    ----------
    Rasch, G. (1960), Probabilistic Models for Some Intelligence and Attainment Tests.

    Examples
    --------
    >>> scores = [[[1, 1], [1, 0], [0, 0]], [[1, 1], [0, 0], [1, 0]]]
    >>> fit = fit_one_parameter(Cells.from_scores("demo", ["a", "b"], ["q1", "q2", "q3"], scores))
    >>> fit.ability.round(2).tolist(), bool(fit.difficulty[0] < fit.difficulty[1])
    ([0.0, 0.0], True)
    """
    require_binary(cells, "the 1PL model")
    if not pseudo > 0:
        raise InputError(f"pseudo is {pseudo!r}", where="fit_one_parameter", remedy="allowed: above 0, such as 0.5")
    from scipy.sparse.csgraph import connected_components

    answered = cells.answered.astype(float)
    n_models = np.sum(cells.answered, axis=0)
    share = answered * (pseudo / np.maximum(n_models, 1))
    n, c = cells.n + 2 * share, cells.total + share
    _, group = connected_components(answered @ answered.T > 0, directed=False)
    same = (group[:, None] == group).astype(float)
    ability = np.zeros(len(n))
    difficulty = -special.logit(np.where(n_models > 0, c.sum(axis=0) / np.where(n_models > 0, n.sum(axis=0), 1), 0.5))
    for _ in range(200):
        P = special.expit(ability[:, None] - difficulty)
        residual, W = c - n * P, n * P * (1 - P)
        inverse, schur = _schur(W)
        to_question = -residual.sum(axis=0)
        step_ability = inverse @ (residual.sum(axis=1) + (W * schur) @ to_question)
        step_difficulty = schur * (to_question + W.T @ step_ability)
        size = max(np.max(np.abs(step_ability)), np.max(np.abs(step_difficulty)))
        ability = ability + step_ability * min(1, 2 / max(size, 2))
        difficulty = difficulty + step_difficulty * min(1, 2 / max(size, 2))
        if size < 1e-8:
            break
    # centre the abilities in each group of models that are connected by common questions
    center = same @ ability / same.sum(axis=1)
    question_center = np.sum(center[:, None] * answered, axis=0) / np.maximum(n_models, 1)
    inverse, schur = _schur(W)
    # (H^-1)_qq = 1/B_q + (W'/B S^-1 W/B)_qq
    variance = schur + np.einsum("mq,ml,lq->q", W * schur, inverse, W * schur, optimize=True)
    some = n_models > 0
    return OneParameter(
        cells.benchmark,
        cells.models,
        cells.questions,
        np.where(cells.answered.any(axis=1), ability - center, np.nan),
        np.where(some, difficulty - question_center, np.nan),
        np.where(some, np.sqrt(variance), np.nan),
        n_models,
        len(np.unique(group[cells.answered.any(axis=1)])),
    )


def _schur(W: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the pseudo-inverse of diag(A) - W diag(1/B) W' (M, M) and 1/B (N,), A and B the row and column sums of W.

    The pseudo-inverse leaves out the constant that can be added to all abilities and difficulties.
    """
    B = W.sum(axis=0)
    inverse_B = np.divide(1, B, out=np.zeros(B.shape), where=B > 0)
    information = np.diag(W.sum(axis=1)) - (W * inverse_B) @ W.T
    values, vectors = np.linalg.eigh(information)
    # relative to W: the information of a single model is a rounding error
    positive = values > 1e-10 * W.sum(axis=1).max(initial=0)
    return (vectors[:, positive] / values[positive]) @ vectors[:, positive].T, inverse_B


@dataclass(frozen=True, eq=False)
class QuestionTau(Result):
    """Kendall's tau-b between the models' means on a question and their ability; arrays have shape (N,).

    Attributes
    ----------
    benchmark, questions
        Names.
    n_models
        Number of models compared on the question.
    score
        Mean of the question over these models.
    tau
        Positive where better models do better on the question; negative where they do worse, which may indicate a wrong
        label. NaN where unknown.
    p_value
        Two-sided p-value of tau = 0 (Kendall 1970): exact for fewer than ten models, given the ties, and NaN where
        models tie both in the question and in ability; asymptotic with ties for more.

    Examples
    --------
    >>> scores = [[[1], [1], [0]], [[1], [0], [0]], [[0], [0], [1]]]
    >>> tau = compute_question_tau(Cells.from_scores("demo", ["a", "b", "c"], ["q1", "q2", "q3"], scores))
    >>> tau.n_models.tolist(), tau.tau.round(2).tolist()
    ([3, 3, 3], [-0.5, nan, -0.82])
    """

    benchmark: str
    questions: tuple[str, ...]
    n_models: IntArray
    score: FloatArray
    tau: FloatArray
    p_value: FloatArray

    declared = "benchmark question=questions n_models score tau p_value note=_reasons.notes"

    def _reasons(self) -> Conditions:
        return {
            "fewer than two models to compare": self.n_models < 2,
            "all models alike on this question or on the others": (self.n_models > 1) & np.isnan(self.tau),
        }

    def _rows(self) -> RowPlaces:
        return [np.argsort(np.where(np.isnan(self.tau), 2, self.tau), kind="stable")]


def compute_question_tau(cells: Cells, *, ability: AbilityRule = "others") -> QuestionTau:
    """Compute Kendall's tau-b of each question with the ability of the models that answered it.

    Parameters
    ----------
    cells
        Any real scores. A model with missing questions is compared by those that it answered, which assumes that they
        are not easier than the others.
    ability
        `"others"`, the mean over the other questions that the model answered, or `"all"`, the mean over all of them:
        each question is then correlated with itself, which hides wrong labels among few questions.

    Returns
    -------
    QuestionTau

    Raises
    ------
    UnknownNameError
        Where `ability` is unknown.

    Notes
    -----
    tau-b = (concordant - discordant pairs of models) / sqrt((pairs not tied in the question) (pairs not tied in
    ability)).

    References
    ----------
    Kendall, M. G. (1970), Rank Correlation Methods, fourth edition, chapters 3 and 4.

    Examples
    --------
    >>> scores = [[[1], [1], [0]], [[1], [0], [0]], [[0], [0], [1]]]
    >>> tau = compute_question_tau(Cells.from_scores("demo", ["a", "b", "c"], ["q1", "q2", "q3"], scores))
    >>> tau.tau.round(2).tolist()
    [-0.5, nan, -0.82]
    """
    check_choice("ability", ability, ABILITY_RULES)
    M, N = cells.n.shape
    mean = np.nan_to_num(cells.mean)
    # Rounded, so that equal means tie whatever the order of their sums. Abilities sum the means before rounding.
    p = np.asarray(np.round(mean, 12), float)
    present = cells.answered
    count, total = np.sum(present, axis=1, keepdims=True) + 0 * present, np.sum(mean, axis=1, keepdims=True) + 0 * p
    if ability == "others":
        count, total = count - present, total - mean
        present = present & (count > 0)
    level = np.asarray(np.round(total / np.maximum(count, 1), 12), float)
    tau, p_value = np.full(N, np.nan), np.full(N, np.nan)
    block = max(1, 2_000_000 // max(M * M, 1))
    for start in range(0, N, block):
        columns = slice(start, start + block)
        tau[columns], p_value[columns] = _tau(p[:, columns].T, level[:, columns].T, present[:, columns].T)
    n_models = np.sum(present, axis=0)
    with np.errstate(invalid="ignore"):
        score = np.sum(p * present, axis=0) / n_models
    return QuestionTau(cells.benchmark, cells.questions, n_models, score, tau, p_value)


def _compute_discrimination(cells: Cells) -> FloatArray:
    """Compute the correlation of each question with the score on the other questions, over models."""
    present = cells.answered
    mean = np.where(present, cells.mean, 0)
    n_others = np.sum(present, axis=1, keepdims=True) - present
    present = present & (n_others > 0)
    others = (np.sum(mean, axis=1, keepdims=True) - mean) / np.maximum(n_others, 1)
    count = np.sum(present, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y = (np.where(present, part - np.sum(part, axis=0, where=present) / count, 0) for part in (mean, others))
        square_x, square_y = np.sum(x * x, axis=0), np.sum(y * y, axis=0)
        correlation = np.sum(x * y, axis=0) / np.sqrt(square_x * square_y)
    # deviations of equal means are rounding errors
    varies = (count > 2) & (square_x > 1e-20) & (square_y > 1e-20)
    return np.where(varies, np.clip(correlation, -1, 1), np.nan)


@dataclass(frozen=True, eq=False)
class QuestionTable(Result):
    """How hard each question is, and how it separates models; arrays have shape (N,).

    Attributes
    ----------
    benchmark, questions
        Names.
    n_models, n_generations, n_solved
        Models that answered the question, their generations, and models with at least one right generation.
    score
        Mean over the models that answered it.
    fit, tau
        Difficulties of the 1PL model, and Kendall's tau with ability.
    discrimination
        Correlation with the score on the other questions.

    Examples
    --------
    >>> scores = [[[1], [1], [0]], [[1], [0], [0]], [[0], [0], [0]]]
    >>> describe_questions(Cells.from_scores("demo", ["a", "b", "c"], ["q1", "q2", "q3"], scores)).n_solved.tolist()
    [2, 1, 0]
    """

    benchmark: str
    questions: tuple[str, ...]
    n_models: IntArray
    n_generations: IntArray
    n_solved: IntArray
    score: FloatArray
    fit: OneParameter
    discrimination: FloatArray
    tau: QuestionTau

    declared = (
        "benchmark question=questions n_models n_solved n_generations score difficulty=fit.difficulty se=fit.se "
        "discrimination tau=tau.tau p_value=tau.p_value note=_reasons.notes"
    )

    def _reasons(self) -> Conditions:
        return {
            "no scores": self.n_models == 0,
            "no model answered it right": (self.n_models > 0) & (self.n_solved == 0),
            "always answered right": self.score == 1,
            "fewer than two models: nothing separates them": self.n_models == 1,
            "all models alike on it or on the others: nothing separates them": (self.n_models > 1)
            & np.isnan(self.tau.tau),
            f"fewer than {_FEWEST_FOR_NORMAL} models, some of equal ability: no p-value of tau": np.isnan(
                self.tau.p_value
            )
            & ~np.isnan(self.tau.tau),
            "models in groups that share no question: each group has its own scale": np.full(
                len(self.questions), self.fit.n_scales > 1
            ),
        }

    def _rows(self) -> RowPlaces:
        return [np.argsort(np.where(np.isnan(self.fit.difficulty), np.inf, -self.fit.difficulty), kind="stable")]


def describe_questions(cells: Cells) -> QuestionTable:
    """Describe each question: its mean score, its difficulty, and how it separates models.

    Parameters
    ----------
    cells
        Scores of 0 and 1.

    Returns
    -------
    QuestionTable
        One row per question, the hardest first.

    Raises
    ------
    InputError
        Where a score is not 0 or 1.

    Examples
    --------
    >>> scores = [[[1], [1], [0]], [[1], [0], [0]], [[0], [0], [0]]]
    >>> table = describe_questions(Cells.from_scores("demo", ["a", "b", "c"], ["q1", "q2", "q3"], scores))
    >>> table["question"].tolist()
    ['q3', 'q2', 'q1']
    """
    require_binary(cells, "the difficulty of questions")
    n_models = np.sum(cells.answered, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.sum(cells.mean, axis=0, where=cells.answered) / n_models
    return QuestionTable(
        cells.benchmark,
        cells.questions,
        n_models,
        np.sum(cells.n, axis=0),
        np.sum(cells.total > 0, axis=0),
        score,
        fit_one_parameter(cells),
        _compute_discrimination(cells),
        compute_question_tau(cells),
    )


def _tau(x: FloatArray, y: FloatArray, present: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Return tau-b and its p-value for each row of x and y (B, M), over the known entries."""
    both = present[:, :, None] & present[:, None]
    signs = [np.sign(v[:, :, None] - v[:, None]).astype(np.int8) * both for v in (x, y)]
    m = present.sum(axis=1).astype(float)
    agree = np.sum(signs[0] * signs[1], axis=(1, 2), dtype=float) / 2
    # t is the size of a model's group of ties: a sum of f(t) over groups is a sum of f(t)/t over models
    ties = [np.where(present, np.sum((sign == 0) & both, axis=2), 1).astype(float) for sign in signs]
    pairs = [(np.sum(t - 1, axis=1) / 2) for t in ties]
    threes = [np.sum((t - 1) * (t - 2), axis=1) for t in ties]
    with np.errstate(divide="ignore", invalid="ignore"):
        all_pairs = m * (m - 1) / 2
        tau = agree / np.sqrt((all_pairs - pairs[0]) * (all_pairs - pairs[1]))
        variance = m * (m - 1) * (2 * m + 5) - sum(np.sum((t - 1) * (2 * t + 5), axis=1) for t in ties)
        variance = variance / 18 + 2 * pairs[0] * pairs[1] / (m * (m - 1))
        variance = variance + np.where(m > 2, threes[0] * threes[1] / (9 * m * (m - 1) * (m - 2)), 0)
        p_value = 2 * special.ndtr(-np.abs(agree) / np.sqrt(variance))
    known_tau = np.isfinite(tau)
    few = np.flatnonzero(known_tau & (m < _FEWEST_FOR_NORMAL))
    p_value[few] = _exact_p(agree[few], m[few], *(each[few] for each in ties))
    return np.where(known_tau, tau, np.nan), np.where(known_tau, p_value, np.nan)


def _exact_p(agree: FloatArray, m: FloatArray, ties_x: FloatArray, ties_y: FloatArray) -> FloatArray:
    """Return the two-sided p-value of tau over all orders of m models; NaN where both variables have ties.

    `agree` is concordant less discordant pairs, shape (B,); `ties_x` and `ties_y` are the sizes of the groups of ties
    that the models are in, shape (B, M), and 1 for a model that did not answer.
    """
    has_ties = [np.any(ties > 1, axis=1) for ties in (ties_x, ties_y)]
    sizes = np.sort(np.where(has_ties[0][:, None], ties_x, ties_y), axis=1)
    kinds, kind = np.unique(np.column_stack([m, np.abs(agree), sizes]).astype(int), axis=0, return_inverse=True)
    p_values = np.ones(len(kinds))
    for i, (models, distance, *tied) in enumerate(kinds.tolist()):
        groups = [size for size in sorted(set(tied)) if size > 1 for _ in range(tied.count(size) // size)]
        share = _share_inversions((*groups, *[1] * (models - sum(groups))))
        discordant = (len(share) - 1 - distance) // 2  # of len(share) - 1 pairs without a tie
        p_values[i] = min(1.0, 2 * float(np.sum(share[: discordant + 1])))
    return np.where(has_ties[0] & has_ties[1], np.nan, p_values[kind.ravel()])


@lru_cache(maxsize=1000)
def _share_inversions(sizes: tuple[int, ...]) -> FloatArray:
    """Return the share of the orders of groups of equal numbers that have 0, 1, 2, ... inversions.

    >>> _share_inversions((1, 1, 1)).round(3).tolist(), _share_inversions((2, 1)).round(3).tolist()
    ([0.167, 0.333, 0.333, 0.167], [0.333, 0.333, 0.333])
    """
    placed, counts = 0, np.ones(1)
    for size in sizes:
        placed += size
        counts = np.convolve(counts, _count_inversions(placed, size))
    share: FloatArray = counts / np.sum(counts)
    return share


@lru_cache(maxsize=1000)
def _count_inversions(total: int, size: int) -> FloatArray:
    """Return the number of orders of `size` ones among `total` numbers, the others 0, with 0, 1, ... inversions."""
    if size in {0, total}:
        return np.ones(1)
    first = _count_inversions(total - 1, size - 1)
    other = np.concatenate([np.zeros(size), _count_inversions(total - 1, size)])
    counts: FloatArray = np.pad(first, (0, len(other) - len(first))) + other
    return counts
