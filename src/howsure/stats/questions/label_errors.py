"""Questions whose label may be wrong: those where models contradict the label, in particular good models.

Each model has one vote on a question, divided among its answers: w_m(a) is the share of its generations that gave a.
The evidence for an answer a against the label t is a vote that good models decide,

    evidence = sum over m of (w_m(a) - w_m(t)) log(1 + (pi_m / (1 - pi_m))^4) / 4

where a is the answer with the most votes but for the label, and pi_m the score of the model. The weight is the log odds
of a score above a half, and still above 0 below it: a rare right answer says more than a given wrong one.

The evidence orders the questions. It is not a log odds, because answers alone cannot distinguish a wrong label from a
right one that all models miss in the same way, nor a question without an answer from a hard one. The probability that a
label is wrong is therefore given as a range. Its lower end is 0. Its upper end is computed from planted errors: labels
of the same questions are replaced, and the evidence against the replaced labels has the density f_k for each kind k of
error. With f the density of the observed evidence, and a share of wrong labels of at most s,

    P(wrong | evidence) <= s max over k of f_k(evidence) / f(evidence)

made to increase with the evidence (a range of priors gives a range of posteriors, Berger 1990). The kinds are: a label
replaced by any other answer, by the most frequent wrong answer, or by an answer drawn from all; each on all questions,
on the half and on the tenth of them where models agree least, and on the half where they agree most.

On simulated benchmarks of 100 and 400 questions with 1 to 15 models and 1 to 10 generations, the observed share of
wrong labels was at or below this limit wherever their share was at most s, for every kind of error
(bench/designs/questions.py). For most suspected questions the limit is near 1: an error cannot be excluded. For about
half of all questions it is below .1: the answers support their labels. The limit is too low where more labels than s
are wrong, and may be where all wrong labels lie on a few questions on which models agree far more than elsewhere. A
question with two right answers, one of which is its label, does not count as wrong, and is not found where models
prefer the label. An error that the models share with the label is not found at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.claims import ConsistencyMethod
from howsure.stats.core.results import Conditions, Result, Results
from howsure.stats.questions.consistency import EQUAL_ANSWERS, AnswerCounts, estimate_consistency, modal_answers

__all__ = ["MAX_P_CORRECT", "MAX_SHARE", "MIN_CONSISTENCY", "Audit", "LabelErrors", "audit", "find_label_errors"]

#: GEN's rule: suspected are questions with at most this P(correct), and at least this consistency.
MAX_P_CORRECT, MIN_CONSISTENCY = 0.1, -0.8
#: Largest assumed share of wrong labels: the largest in ten test sets (Northcutt, Athalye and Mueller 2021).
MAX_SHARE = 0.1
#: Errors are planted on the questions between these quantiles of the agreement of the models.
_PLANTED_ON = ((0.0, 1.0), (0.0, 0.5), (0.0, 0.1), (0.5, 1.0))
#: With fewer bins of evidence no limit is given.
_MIN_BINS = 4


@dataclass(frozen=True, eq=False)
class LabelErrors(Result):
    """Questions of one benchmark, the most suspicious first; arrays have length N, means are over models.

    Attributes
    ----------
    benchmark, questions
        Name of the benchmark, and the N names.
    target
        Target of each question; None where it is not known.
    answer
        The answer with the most evidence against the target; None where there is no other answer.
    p_correct
        Mean score; NaN where no model has one.
    consistency
        Mean S(consistency); NaN where no model has two generations with an answer.
    n_sets
        Number of different answers of all models.
    n_models, models_agreeing
        Number of models that have a generation, and of those whose most frequent answer is `answer`.
    evidence
        Weighted votes for `answer` minus those for the target, above 0 where the models prefer `answer`; where there is
        no such answer, minus the votes for the target. NaN where neither a score nor a target is known.
    p_wrong_max
        Upper bound of the probability that the label is wrong, where at most `max_share` of all labels are; the lower
        limit is 0. NaN where `evidence` is NaN, or where there are fewer than 2 (1 + s)/s questions, s = `max_share`.
    max_share
        Largest assumed share of wrong labels.
    sets
        How answers are counted as the same, as in `AnswerCounts`.
    """

    benchmark: str
    questions: tuple[str, ...]
    target: tuple[str | None, ...]
    answer: tuple[str | None, ...]
    p_correct: FloatArray
    consistency: FloatArray
    n_sets: IntArray
    n_models: IntArray
    models_agreeing: IntArray
    evidence: FloatArray
    p_wrong_max: FloatArray
    max_share: float = MAX_SHARE
    sets: str = EQUAL_ANSWERS

    @property
    def on_map(self) -> NDArray[np.bool_]:
        """Whether GEN's rule selects a question, rarely right and nearly always the same answer, shape (N,)."""
        return np.asarray((self.p_correct <= MAX_P_CORRECT) & (self.consistency >= MIN_CONSISTENCY))

    @property
    def outvoted(self) -> NDArray[np.bool_]:
        """Whether most models, at least two, prefer the same other answer and the evidence supports it, shape (N,)."""
        majority = (self.models_agreeing >= 2) & (2 * self.models_agreeing > self.n_models)
        return np.asarray(majority & (self.evidence > 0))

    @property
    def suspected(self) -> NDArray[np.bool_]:
        """Whether GEN's rule selects a question or the models outvote its label, shape (N,)."""
        return np.asarray(self.on_map | self.outvoted)

    def select(self, questions: NDArray[np.bool_] | IntArray | slice) -> LabelErrors:
        """Return the result for some of the questions, given as a mask, as indices or as a slice."""
        indices = np.arange(len(self.questions))[questions].tolist()
        arrays = ("p_correct", "consistency", "n_sets", "n_models", "models_agreeing", "evidence", "p_wrong_max")
        fields: dict[str, Any] = {name: getattr(self, name)[indices] for name in arrays}
        fields |= {name: tuple(getattr(self, name)[i] for i in indices) for name in ("questions", "target", "answer")}
        return replace(self, **fields)

    declared = (
        "benchmark question=questions target answer p_correct consistency n_sets models_agreeing n_models "
        "evidence=_evidence p_wrong_max suspected_by=_suspected_by answer_sets=sets note=_reasons.notes"
    )

    def _evidence(self) -> NDArray[np.object_]:
        """Evidence against the targets; NaN without another answer."""
        has_answer = np.array([one is not None for one in self.answer], bool)
        return np.where(has_answer, self.evidence, np.nan)

    def _suspected_by(self) -> NDArray[np.object_]:
        """What speaks against the target."""
        suspected_by = np.array(["", "data map", "models", "data map and models"], dtype=object)
        return suspected_by[self.on_map + 2 * self.outvoted]

    def _reasons(self) -> Conditions:
        has_answer = np.array([one is not None for one in self.answer], bool)
        any_parsed = self.n_sets > 0
        scored = ~np.isnan(self.p_correct)
        return {
            "no answer was read": ~any_parsed,
            "neither a score nor a target is known": ~scored,
            "no answer but the target": any_parsed & ~has_answer & scored,
            "consistency is unknown: no model has two generations with an answer": any_parsed
            & np.isnan(self.consistency),
            "too few questions for p_wrong_max": np.isnan(self.p_wrong_max) & ~np.isnan(self.evidence),
        }


@dataclass(frozen=True)
class Audit(Results):
    """Suspected label errors of several benchmarks.

    Examples
    --------
    >>> given = {m: {"q1": ["4", "4"], "q2": ["7", "7"], "q3": ["2", "3"]} for m in "abc"}
    >>> result = audit({"sums": AnswerCounts.from_generations("sums", given, {"q1": "4", "q2": "8", "q3": "3"})})
    >>> len(result.parts), result.parts[0].benchmark
    (1, 'sums')
    """

    def format_rows(self, width: int | None) -> str:
        """Return the printed table, or that there is none."""
        return super().format_rows(width) if len(self) else "no suspects"


def audit(
    answers: Mapping[str, AnswerCounts],
    *,
    every: bool = False,
    max_share: float = MAX_SHARE,
    method: ConsistencyMethod = "corrected",
) -> Audit:
    """Find the questions of each benchmark whose label may be wrong.

    Parameters
    ----------
    answers
        Answers of all models, by benchmark.
    every
        Whether to return all questions, the most suspicious first, instead of the suspected ones.
    max_share, method
        As for `find_label_errors`.

    Returns
    -------
    Audit
        One `LabelErrors` per benchmark.

    Raises
    ------
    InputError
        Where there are no answers, or an argument is out of range.

    Examples
    --------
    >>> given = {m: {"q1": ["4", "4"], "q2": ["7", "7"], "q3": ["2", "3"]} for m in "abc"}
    >>> answers = AnswerCounts.from_generations("sums", given, {"q1": "4", "q2": "8", "q3": "3"})
    >>> audit({"sums": answers}).parts[0].columns()["question"].tolist()
    ['q2']
    """
    if not answers:
        remedy = "give run folders or logs: tables of scores hold none"
        raise InputError("there are no answers to audit", where="audit", remedy=remedy)
    parts = [find_label_errors(one, max_share=max_share, method=method) for one in answers.values()]
    return Audit(tuple(part if every else part.select(part.suspected) for part in parts))


def find_label_errors(
    answers: AnswerCounts, *, max_share: float = MAX_SHARE, method: ConsistencyMethod = "corrected"
) -> LabelErrors:
    """Order the questions of a benchmark by the evidence of the models' answers against their labels.

    Parameters
    ----------
    answers
        Answers of all models. An answer is right by its scores, or equals the target where there are no scores. The
        greedy run of a model (NAME:greedy beside NAME) has no vote of its own.
    max_share
        Largest assumed share of wrong labels, in (0, 1). It changes `p_wrong_max`, but not the order.
    method
        Estimator of the consistency, as in `estimate_consistency`.

    Returns
    -------
    LabelErrors
        All questions that have a generation, the most suspicious first.

    Raises
    ------
    InputError
        Where `max_share` is not between 0 and 1.

    Notes
    -----
    The evidence for an answer a against the target t is the sum over models of (w_m(a) - w_m(t)) log(1 + odds_m^4)/4;
    the upper bound of the probability of an error is `max_share` times the largest density ratio of planted and
    observed evidence. The docstring of the module defines the symbols.

    Of as many questions from the top as there are wrong labels (bench/designs/questions.py), .67 are wrong where
    labels were moved at random, .72 to the most frequent wrong answer, .81 and .56 on the easier and the harder half;
    by P(correct) .63, .61, .75 and .51, by Dawid and Skene's model with a coin for each model .67, .70, .82 and .55.

    References
    ----------
    Nitzan, S. and Paroush, J. (1982), Optimal decision rules in uncertain dichotomous choice situations, International
    Economic Review 23, for weights by log odds. Berger, J. O. (1990), Robust Bayesian analysis: sensitivity to the
    prior, Journal of Statistical Planning and Inference 25. Northcutt, C. G., Athalye, A. and Mueller, J. (2021),
    Pervasive label errors in test sets destabilize machine learning benchmarks.

    Examples
    --------
    >>> given = {m: {"q1": ["4", "4"], "q2": ["7", "7"], "q3": ["2", "3"]} for m in "abc"}
    >>> errors = find_label_errors(AnswerCounts.from_generations("sums", given, {"q1": "4", "q2": "8", "q3": "3"}))
    >>> errors.questions[0], errors.answer[0], errors.models_agreeing[0].item(), errors.suspected.tolist()
    ('q2', '7', 3, [True, False, False])
    """
    if not 0 < max_share < 1:
        raise InputError(f"max_share is {max_share}", where="audit", remedy="allowed: between 0 and 1, as 0.1")
    answers = answers.without_greedy_runs()  # a model has one vote
    p, present = answers.p_correct, answers.n_cell > 0
    scored = ~np.isnan(p)
    tally = _tally_answers(answers, scored)
    has_score = scored.any(axis=0)
    evidence = np.where(has_score, tally.evidence, np.nan)
    agreeing = np.sum((modal_answers(answers) == tally.strongest) & (tally.strongest >= 0), axis=0)
    A = len(answers.answers)
    answer_sets = np.unique(answers.question[answers.parsed] * A + answers.answer[answers.parsed])
    n_sets = np.bincount(answer_sets // max(A, 1), minlength=len(answers.questions))
    consistency, p_correct = estimate_consistency(answers, method), _mean_over_models(p, scored)
    errors = LabelErrors(
        answers.benchmark,
        answers.questions,
        answers.targets,
        tuple(answers.answers[a] if a >= 0 else None for a in tally.strongest.tolist()),
        p_correct,
        _mean_over_models(consistency, ~np.isnan(consistency)),
        n_sets,
        present.sum(axis=0),
        agreeing,
        evidence,
        _upper_limit(tally, evidence, A, max_share),
        max_share,
        answers.sets,
    )
    answered = np.flatnonzero(present.any(axis=0)).tolist()
    sort_evidence = np.where(np.isnan(evidence), -np.inf, evidence)
    order = sorted(answered, key=lambda i: (-sort_evidence[i], p_correct[i], answers.questions[i]))
    return errors.select(np.array(order, np.int64))


def _mean_over_models(values: FloatArray, where: NDArray[np.bool_]) -> FloatArray:
    """Return the mean over models where the mask holds, shape (N,); NaN where it holds for none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sum(values, axis=0, where=where) / np.sum(where, axis=0))


class _VoteTally(NamedTuple):
    """Weighted votes of all models on N questions; a rival is an answer that is not right.

    target
        Votes for the target, shape (N,).
    question, rival
        Question and votes of each rival that a model gave, shape (P,), sorted by question, then by votes.
    first, second
        Votes for the two rivals that have most of them, shape (N,); 0 where there are fewer.
    strongest
        Index in `AnswerCounts.answers` of the rival with most votes, shape (N,); -1 where there is none.
    """

    target: FloatArray
    question: IntArray
    rival: FloatArray
    first: FloatArray
    second: FloatArray
    strongest: IntArray

    @property
    def evidence(self) -> FloatArray:
        """Votes for the strongest rival minus those for the target, shape (N,)."""
        return np.asarray(self.first - self.target)


def _tally_answers(answers: AnswerCounts, scored: NDArray[np.bool_]) -> _VoteTally:
    """Return the votes of the models, each weighted by its score."""
    scores = np.where(scored, np.clip(answers.p_correct, 0, 1), 0)
    is_rival = answers.parsed & ~answers.correct & scored.ravel()[answers.cell]
    pi = (scores.sum(axis=1) + 1) / (scored.sum(axis=1) + 2)  # Laplace's rule
    model_weight = np.log1p((pi / (1 - pi)) ** 4) / 4
    A, N = len(answers.answers), len(answers.questions)
    rivals, place = np.unique((answers.question * A + answers.answer)[is_rival], return_inverse=True)
    question, answer = np.divmod(rivals, max(A, 1))
    tally = np.bincount(place, (answers.share * model_weight[answers.model])[is_rival], len(rivals)).astype(float)
    order = np.lexsort((-answer, tally, question))  # of equal votes, the first answer by name comes last
    question, tally, answer = question[order], tally[order], answer[order]
    n = np.bincount(question, minlength=N)
    last = np.cumsum(n) - 1
    first, second, strongest = np.zeros(N), np.zeros(N), np.full(N, -1)
    first[n > 0], strongest[n > 0] = tally[last[n > 0]], answer[last[n > 0]]
    second[n > 1] = tally[last[n > 1] - 1]
    return _VoteTally(model_weight @ scores, question, tally, first, second, strongest)


class _PlantedErrors(NamedTuple):
    """One kind of planted error: question, evidence against the planted label, and weight of each."""

    question: IntArray
    evidence: FloatArray
    weight: FloatArray


def _plant_errors(tally: _VoteTally, n_answers: int) -> list[_PlantedErrors]:
    """Return the evidence against labels that are replaced by another answer, in the three kinds of errors."""
    questions = np.arange(len(tally.target))
    ones = np.ones(len(questions))
    # with a rival as the label, the evidence is that of the target or of the strongest other rival
    is_last = np.append(tally.question[1:] != tally.question[:-1], True)[: len(tally.question)]
    other = np.where(is_last, tally.second[tally.question], tally.first[tally.question])
    against_rival = np.maximum(tally.target[tally.question], other) - tally.rival
    # with an answer that no model gave as the label, it is that of the answer with most votes
    n_rivals = np.bincount(tally.question, minlength=len(questions))
    n_not_given = np.maximum(n_answers - 1 - n_rivals, 0 if n_answers > 1 else 1).astype(float)
    any_other = _PlantedErrors(
        np.append(tally.question, questions),
        np.append(against_rival, np.maximum(tally.target, tally.first)),
        np.append(np.ones(len(against_rival)), n_not_given),
    )
    most_frequent = _PlantedErrors(questions, np.maximum(tally.target, tally.second) - tally.first, ones)
    drawn = _PlantedErrors(
        np.append(any_other.question, questions),
        np.append(any_other.evidence, tally.evidence),
        np.append(any_other.weight, ones),
    )
    return [any_other, most_frequent, drawn]


def _upper_limit(tally: _VoteTally, evidence: FloatArray, n_answers: int, max_share: float) -> FloatArray:
    """Return the upper limit of P(the label is wrong | evidence), shape (N,), from planted errors."""
    has_evidence = np.flatnonzero(~np.isnan(evidence))
    # so few bins of equal mass that one question can reach a limit of 1: a bin has the mass 2 / n_bins, of which one
    # question makes 1 / N, so max_share (2 / n_bins - 1 / N) N >= 1
    N = len(has_evidence)
    n_bins = int(min(2 * np.sqrt(N), 2 * N * max_share / (1 + max_share)))
    if n_bins < _MIN_BINS:
        return np.full(len(evidence), np.nan)
    agreement = np.maximum(tally.target, tally.first)
    limit = np.zeros(len(evidence))
    for quantiles in _PLANTED_ON:
        low, high = np.quantile(agreement[has_evidence], quantiles)
        question_weight = (agreement >= low) & (agreement <= high) & ~np.isnan(evidence)
        for errors in _plant_errors(tally, n_answers):
            weight = errors.weight * question_weight[errors.question]
            ratio = _density_ratio(errors.evidence, weight, evidence[has_evidence], n_bins)
            limit[has_evidence] = np.maximum(limit[has_evidence], max_share * ratio)
    return np.where(np.isnan(evidence), np.nan, np.minimum(limit, 1))


def _density_ratio(planted: FloatArray, weight: FloatArray, observed: FloatArray, n_bins: int) -> FloatArray:
    """Return the density ratio of planted and observed evidence at each observed one, made to increase with it."""
    N, weight = len(observed), weight / weight.sum()
    both, mass = np.append(observed, planted), np.append(np.full(N, 1 / N), weight)
    order = np.argsort(both, kind="stable")
    ends = np.searchsorted(np.cumsum(mass[order]), 2 * np.arange(1, n_bins) / n_bins)
    edges = np.unique(both[order][np.minimum(ends, len(both) - 1)])
    observed_bin = np.searchsorted(edges, observed + 1e-9, side="right")
    observed_mass = np.bincount(observed_bin, minlength=len(edges) + 1) / N
    planted_mass = np.bincount(np.searchsorted(edges, planted + 1e-9, side="right"), weight, len(edges) + 1)
    ratio = np.divide(planted_mass, observed_mass, out=np.zeros(len(observed_mass)), where=observed_mass > 0)
    return np.asarray(np.maximum.accumulate(ratio)[observed_bin])
