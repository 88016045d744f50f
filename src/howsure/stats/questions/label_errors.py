"""Questions whose label may be wrong: those where models contradict it, the more of them the better they are.

Each model has one vote on a question, spread over its answers: w_m(a) is the share of its generations that gave a. If
the label t is right, model m gives it with probability pi_m, and one certain wrong answer with (1 - pi_m) kappa; if the
answer a is what is right, the other way round. The evidence for a against t is then

    evidence = c sum over m of (w_m(a) - w_m(t)) log(pi_m / ((1 - pi_m) kappa))

(a Dawid-Skene model with one coin for each model), with a the answer that makes it largest, pi_m the model's score, and
kappa the share of pairs of wrong answers of two models to a question that are the same. The models are not independent:
they find the same questions hard. M of them with correlation rho between their scores are worth M / (1 + (M - 1) rho)
independent ones, so c = 1 / (1 + (M - 1) rho), the design effect of clustered samples. Wrong labels make models look
worse and more alike, so each question counts for pi, kappa and rho as far as its label can be trusted, and the evidence
is computed again from them, a few times over, as Dawid and Skene do.

The evidence puts questions in order. It is no log of odds: answers alone cannot tell a wrong label from a right one
that all models miss in the same way (a trap), nor a question that has no answer from a hard one. So the probability
that a label is wrong is given as a range. Its lower end is 0: all suspects may be traps. Its upper end is computed from
planted errors. Labels of the same questions are moved, and the evidence against the moved labels has the density f_k
for each kind k of error. With f the density of the evidence as it is, and a share s of wrong labels at most,

    P(wrong | evidence) <= s max over k of f_k(evidence) / f(evidence)

made to grow with the evidence (a range of priors gives a range of posteriors, Berger 1990). The kinds: a label moved to
any other answer, moved to the most frequent wrong answer, or drawn among all answers; each on all questions, on the
half and on the tenth of them where models agree least, and on the half where they agree most.

On simulated benchmarks of 100 and 400 questions with 1 to 15 models and 1 to 10 generations, the observed share of
wrong labels was at or below this limit wherever their share was at most s, for every kind tried
(bench/label_errors.py). For most suspects the limit is near 1: an error cannot be ruled out. For about half of all
questions it is below .1: answers support their labels. The limit is too low where more labels are wrong than s, and may
be where all wrong labels lie on a few questions on which models agree far more than elsewhere. A question with two
right answers, one of which is its label, does not count as wrong, and is not noticed where models prefer the label. An
error that the models share with the label is not noticed at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.results import Columns, Result, Results, format_table, notes
from howsure.stats.questions.consistency import AnswerCounts, estimate_consistency, modal_answers

__all__ = ["CONSISTENCY", "MAX_SHARE", "P_CORRECT", "Audit", "LabelErrors", "audit", "find_label_errors"]

#: GEN's suspects have P(correct) up to the first and a consistency of the second at least.
P_CORRECT, CONSISTENCY = 0.1, -0.8
#: Largest share of wrong labels thought possible: the largest in ten test sets (Northcutt, Athalye and Mueller 2021).
MAX_SHARE = 0.1
#: Share of wrong labels from which the trust in each label is computed: the mean of these ten test sets.
_SHARE = 0.033
#: kappa where no two models are wrong on the same question.
_KAPPA = 0.5
#: Rounds of estimating the models from the labels and the trust in the labels from the models.
_ROUNDS = 8
#: Planted errors lie on the questions between these quantiles of how far models agree.
_DONORS = ((0.0, 1.0), (0.0, 0.5), (0.0, 0.1), (0.5, 1.0))
#: With fewer bins of evidence no limit is given.
_FEWEST_BINS = 4
#: What is printed below a table.
_RANGE = (
    "The label is wrong with a probability between 0 and p_wrong_max: answers cannot tell a wrong label from a right "
    "one that all models miss in the same way. Evidence is an order, no probability."
)
#: Characters of a name or an answer in a printed table.
_SHOWN = 40


@dataclass(frozen=True, eq=False)
class LabelErrors(Result):
    """Questions of one benchmark, the most suspicious first; arrays have length N, means are over models.

    Attributes
    ----------
    target
        Of each question; None where it is not known.
    answer
        The answer that speaks most against the target; None where no other was read.
    p_correct
        Mean score; NaN where no model has one.
    consistency
        Mean S(consistency); NaN where no model has two generations with an answer.
    n_sets
        Different answers of all models.
    n_models, models_agreeing
        Models that have a generation, and those that gave `answer` more often than anything else.
    evidence
        Weighted votes for `answer` less those for the target, above 0 where the models prefer `answer`; without such an
        answer, less those for the target alone, so that the order goes on by score. An order, no log of odds. NaN where
        neither a score nor a target is known.
    p_wrong_max
        Upper limit of the probability that the label is wrong, where at most `max_share` of all labels are; the lower
        limit is 0. NaN where the evidence is, or where there are too few questions: fewer than 2 (1 + s)/s, s being
        `max_share`.
    max_share
        Largest share of wrong labels thought possible.
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

    @property
    def on_map(self) -> NDArray[np.bool_]:
        """Whether GEN's rule picks a question: rarely right, and nearly always the same, shape (N,)."""
        return np.asarray((self.p_correct <= P_CORRECT) & (self.consistency >= CONSISTENCY))

    @property
    def outvoted(self) -> NDArray[np.bool_]:
        """Whether most models, two at least, prefer the same other answer, and better ones than agree with the target.

        The latter: the evidence is for the other answer.
        """
        most = (self.models_agreeing >= 2) & (2 * self.models_agreeing > self.n_models)
        return np.asarray(most & (self.evidence > 0))

    @property
    def suspected(self) -> NDArray[np.bool_]:
        """Whether it is worth a look: GEN's rule picks it, or the models outvote its label, shape (N,)."""
        return np.asarray(self.on_map | self.outvoted)

    def select(self, kept: NDArray[Any] | slice) -> LabelErrors:
        """Only some of the questions: by a mask, by places, or a slice."""
        places = np.arange(len(self.questions))[kept].tolist()
        arrays = ("p_correct", "consistency", "n_sets", "n_models", "models_agreeing", "evidence", "p_wrong_max")
        parts: dict[str, Any] = {name: getattr(self, name)[places] for name in arrays}
        parts |= {name: tuple(getattr(self, name)[i] for i in places) for name in ("questions", "target", "answer")}
        return replace(self, **parts)

    def columns(self) -> Columns:
        """One row per question; None where a target or an answer is not known."""
        known = np.array([one is not None for one in self.answer], bool)
        by = np.array(["", "data map", "models", "data map and models"], dtype=object)
        alone, read = np.isnan(self.consistency), self.n_sets > 0
        return {
            "benchmark": np.full(len(self.questions), self.benchmark, dtype=object),
            "question": np.array(self.questions, dtype=object),
            "target": np.array(self.target, dtype=object),
            "answer": np.array(self.answer, dtype=object),
            "p_correct": self.p_correct,
            "consistency": self.consistency,
            "n_sets": self.n_sets,
            "models_agreeing": self.models_agreeing,
            "n_models": self.n_models,
            "evidence": np.where(known, self.evidence, np.nan),
            "p_wrong_max": self.p_wrong_max,
            "suspected_by": by[self.on_map + 2 * self.outvoted],
            "note": notes(
                {
                    "no answer was read": ~read,
                    "neither a score nor a target is known": np.isnan(self.p_correct),
                    "no answer but the target": read & ~known & ~np.isnan(self.p_correct),
                    "consistency is unknown: no model has two generations with an answer": read & alone,
                    "too few questions for p_wrong_max": np.isnan(self.p_wrong_max) & ~np.isnan(self.evidence),
                }
            ),
        }

    def __str__(self) -> str:
        return _printed(self.columns())


@dataclass(frozen=True)
class Audit(Results):
    """Suspects of several benchmarks; long answers are cut in the printed table."""

    def __str__(self) -> str:
        columns = self.columns()
        return _printed(columns) if len(columns["question"]) else "no suspects"


def _printed(columns: Columns) -> str:
    """The table with answers on one line each, and what the range of the probability is."""
    texts = {
        name: np.array([_short(one) for one in columns[name].tolist()], dtype=object)
        for name in ("question", "target", "answer")
    }
    numbers = {
        name: np.array(["–" if np.isnan(one) else f"{one:.{digits}f}" for one in columns[name]], dtype=object)
        for name, digits in (("evidence", 1), ("p_wrong_max", 2))
    }
    return f"{format_table(columns | texts | numbers)}\n{_RANGE}"


def _short(text: str | None) -> str:
    line = "–" if text is None else " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def audit(
    answers: Mapping[str, AnswerCounts], *, every: bool = False, max_share: float = MAX_SHARE, method: str = "corrected"
) -> Audit:
    """Suspects of each benchmark, or every question of it; see `suspects`.

    Parameters
    ----------
    answers
        By benchmark, as `readers.answers.count_answers` gives them.
    """
    if not answers:
        remedy = "give run folders or logs: tables of scores hold none"
        raise InputError("there are no answers to audit", where="audit", remedy=remedy)
    found = [find_label_errors(one, max_share=max_share, method=method) for one in answers.values()]
    return Audit(tuple(one if every else one.select(one.suspected) for one in found))


def find_label_errors(answers: AnswerCounts, *, max_share: float = MAX_SHARE, method: str = "corrected") -> LabelErrors:
    """All questions that have a generation, the most suspicious first.

    Parameters
    ----------
    answers
        Of all models to one benchmark. Right answers are known by their scores, by the targets where there are none.
    max_share
        Largest share of wrong labels thought possible, in (0, 1). It moves `p_wrong_max` and no order.
    method
        How consistency is estimated; see `consistency`.

    Raises
    ------
    InputError
        `max_share` is not between 0 and 1.

    References
    ----------
    Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm.
    Berger (1990), Robust Bayesian analysis: sensitivity to the prior.
    Northcutt, Athalye and Mueller (2021), Pervasive label errors in test sets destabilize machine learning benchmarks.

    Examples
    --------
    >>> given = {m: {"q1": ["4", "4"], "q2": ["7", "7"], "q3": ["2", "3"]} for m in "abc"}
    >>> found = find_label_errors(AnswerCounts.from_generations("sums", given, {"q1": "4", "q2": "8", "q3": "3"}))
    >>> found.questions[0], found.answer[0], found.models_agreeing[0].item(), found.suspected.tolist()
    ('q2', '7', 3, [True, False, False])
    """
    if not 0 < max_share < 1:
        raise InputError(f"max_share is {max_share}", where="suspects", remedy="allowed: between 0 and 1, as 0.1")
    p, there = answers.p_correct, answers.n_cell > 0
    known = ~np.isnan(p)
    trust = np.ones(len(answers.questions))
    for _ in range(_ROUNDS):
        votes = _votes(answers, known, trust)
        trust = 1 / (1 + np.exp(np.minimum(votes.evidence, 500)) * _SHARE / (1 - _SHARE))
    judged = known.any(axis=0)
    evidence = np.where(judged, votes.evidence, np.nan)
    agreeing = np.sum((modal_answers(answers) == votes.strongest) & (votes.strongest >= 0), axis=0)
    read = np.unique(answers.question[answers.read] * len(answers.answers) + answers.answer[answers.read])
    sets = np.bincount(read // max(len(answers.answers), 1), minlength=len(answers.questions))
    alike, p_correct = estimate_consistency(answers, method), _mean(p, known)
    found = LabelErrors(
        answers.benchmark,
        answers.questions,
        answers.targets,
        tuple(answers.answers[a] if a >= 0 else None for a in votes.strongest.tolist()),
        p_correct,
        _mean(alike, ~np.isnan(alike)),
        sets,
        there.sum(axis=0),
        agreeing,
        evidence,
        _upper_limit(votes, evidence, np.where(judged, trust, 0), len(answers.answers), max_share),
        max_share,
    )
    asked = np.flatnonzero(there.any(axis=0))
    certain = np.where(np.isnan(evidence), -np.inf, evidence)
    order = sorted(asked.tolist(), key=lambda i: (-certain[i], p_correct[i], answers.questions[i]))
    return found.select(np.array(order, np.int64))


def _mean(values: FloatArray, where: NDArray[np.bool_]) -> FloatArray:
    """Mean over models, shape (N,); NaN where there is none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: FloatArray = np.sum(values, axis=0, where=where) / np.sum(where, axis=0)
    return mean


class _Votes(NamedTuple):
    """Weighted votes of all models on N questions, over the design effect; rival answers are those that are not right.

    target
        Votes for the target, shape (N,).
    question, rival
        Question and votes of each rival answer that a model gave, shape (P,), by question, the fewest votes first.
    first, second
        Votes for the two rival answers that have most of them, shape (N,); 0 where there are fewer.
    strongest
        Place of the first in `Answers.answers`, shape (N,); -1 where there is none.
    """

    target: FloatArray
    question: IntArray
    rival: FloatArray
    first: FloatArray
    second: FloatArray
    strongest: IntArray

    @property
    def evidence(self) -> FloatArray:
        """Votes for the strongest rival less those for the target, shape (N,)."""
        return np.asarray(self.first - self.target)


def _votes(answers: AnswerCounts, known: NDArray[np.bool_], trust: FloatArray) -> _Votes:
    """Weighted votes; how good the models are, and how alike, counts each question as far as its label is trusted."""
    scores = np.where(known, np.clip(answers.p_correct, 0, 1), 0)
    rival = answers.read & ~answers.right & known.ravel()[answers.cell]
    pi = (scores @ trust + 1) / (known @ trust + 2)  # with one right and one wrong question added
    # A model so poor that its votes would count the other way has none
    weight = np.maximum(0, np.log(pi / ((1 - pi) * _kappa(answers, np.where(rival, answers.share, 0), trust))))
    others = np.maximum(known.sum(axis=0) - 1, 0)
    effect = 1 + others * _correlation(scores, known, trust)
    A, N = len(answers.answers), len(answers.questions)
    pair, place = np.unique((answers.question * A + answers.answer)[rival], return_inverse=True)
    question, answer = np.divmod(pair, max(A, 1))
    votes = np.bincount(place, (answers.share * weight[answers.model])[rival], len(pair)) / effect[question]
    # Of equal votes the first answer by name
    order = np.lexsort((-answer, votes, question))
    question, votes, answer = question[order], votes[order], answer[order]
    n = np.bincount(question, minlength=N)
    last = np.cumsum(n) - 1
    first, second, strongest = np.zeros(N), np.zeros(N), np.full(N, -1)
    first[n > 0], strongest[n > 0] = votes[last[n > 0]], answer[last[n > 0]]
    second[n > 1] = votes[last[n > 1] - 1]
    return _Votes((weight @ scores) / effect, question, votes, first, second, strongest)


def _upper_limit(votes: _Votes, evidence: FloatArray, trust: FloatArray, A: int, max_share: float) -> FloatArray:
    """Upper limit of P(the label is wrong | evidence), shape (N,), from errors planted on trusted questions.

    A is the number of different answers of the benchmark.
    """
    known = np.flatnonzero(~np.isnan(evidence))
    n_bins = _bins(len(known), max_share)
    if n_bins < _FEWEST_BINS:
        return np.full(len(evidence), np.nan)
    most = np.maximum(votes.target, votes.first)
    rivals = np.bincount(votes.question, minlength=len(evidence))
    # Where a rival is the label, the right answer or the next rival speaks most against it
    is_last = np.append(votes.question[1:] != votes.question[:-1], True)[: len(votes.question)]
    other = np.where(is_last, votes.second[votes.question], votes.first[votes.question])
    against = np.maximum(votes.target[votes.question], other) - votes.rival
    every = np.arange(len(evidence))
    unsaid = np.maximum(A - 1 - rivals, 0 if A > 1 else 1).astype(float)
    # Question, evidence and weight of each planted label
    moved = (np.append(votes.question, every), np.append(against, most), np.append(np.ones(len(against)), unsaid))
    frequent = (every, np.maximum(votes.target, votes.second) - votes.first, np.ones(len(every)))
    drawn = (np.append(moved[0], every), np.append(moved[1], votes.evidence), np.append(moved[2], np.ones(len(every))))
    limit = np.zeros(len(evidence))
    for quantiles in _DONORS:
        low, high = np.quantile(most[known], quantiles)
        donor = np.where((most >= low) & (most <= high), trust, 0)
        for question, planted, weight in (moved, frequent, drawn):
            ratio = _density_ratio(planted, weight * donor[question], evidence[known], n_bins)
            limit[known] = np.maximum(limit[known], max_share * ratio)
    return np.where(np.isnan(evidence), np.nan, np.minimum(limit, 1))


def _bins(N: int, max_share: float) -> int:
    """Number of bins of equal mass of observed and planted evidence: so few that one question can reach a limit of 1.

    Such a bin has a mass of 2 / n_bins, 1 / N of it observed: max_share (2 / n_bins - 1 / N) N >= 1.
    """
    return int(min(2 * np.sqrt(N), 2 * N * max_share / (1 + max_share)))


def _density_ratio(planted: FloatArray, weight: FloatArray, observed: FloatArray, n_bins: int) -> FloatArray:
    """Density of planted over that of observed evidence, the largest up to each observed one, shape of `observed`."""
    N, weight = len(observed), weight / weight.sum()
    both, mass = np.append(observed, planted), np.append(np.full(N, 1 / N), weight)
    order = np.argsort(both, kind="stable")
    ends = np.searchsorted(np.cumsum(mass[order]), 2 * np.arange(1, n_bins) / n_bins)
    edges = np.unique(both[order][np.minimum(ends, len(both) - 1)])
    at = np.searchsorted(edges, observed + 1e-9, side="right")
    seen = np.bincount(at, minlength=len(edges) + 1) / N
    errors = np.bincount(np.searchsorted(edges, planted + 1e-9, side="right"), weight, len(edges) + 1)
    ratio = np.divide(errors, seen, out=np.zeros(len(seen)), where=seen > 0)
    return np.asarray(np.maximum.accumulate(ratio)[at])


def _kappa(answers: AnswerCounts, wrong: FloatArray, trust: FloatArray) -> float:
    """Share of pairs of wrong answers of two models to a question that are the same; `wrong` are their shares, (C,)."""
    # Sums over pairs of models: (sum)^2 - sum of squares
    cell = answers.at_cells(wrong)
    pairs = trust @ (cell.sum(axis=0) ** 2 - np.sum(cell**2, axis=0))
    A = len(answers.answers)
    key, place = np.unique(answers.question * (A + 1) + answers.answer + 1, return_inverse=True)
    alike = np.bincount(place, wrong, len(key)) ** 2 - np.bincount(place, wrong**2, len(key))
    same = trust[key // (A + 1)] @ alike
    return float(same / pairs) if pairs > 1e-9 and same > 1e-9 else _KAPPA


def _correlation(scores: FloatArray, there: NDArray[np.bool_], trust: FloatArray) -> float:
    """Mean correlation between single generations of two models over questions, in [0, 1]; 0 where none is known."""
    n = (there @ trust)[:, None]
    pi = np.divide((scores @ trust)[:, None], n, out=np.zeros(n.shape), where=n > 0)
    residual = np.where(there, scores - pi, 0)
    # Sum over pairs of models against what it would be if each were the same as the other; (x - pi)^2 for x of 0 or 1
    pairs = trust @ (residual.sum(axis=0) ** 2 - np.sum(residual**2, axis=0))
    single = np.sum(scores - 2 * scores * pi + pi**2, axis=0, where=there)
    whole = trust @ ((there.sum(axis=0) - 1) * single)
    return float(np.clip(pairs / whole, 0, 1)) if whole > 1e-12 else 0.0
