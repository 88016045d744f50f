"""GEN's data map: how often a model is right on each question, and how consistent its answers are.

A question that a strong model rarely gets right, but nearly always answers in the same way, may have a wrong label: it
lies in the corner P(correct) <= .1, S(consistency) >= -.8 of the map. GEN draws the map of one model. A mean over
models is another map: a question may lie in the corner of one model and not in that of the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from howsure.errors import UnknownNameError
from howsure.stats.core.cells import FloatArray, IntArray, mean_where
from howsure.stats.core.claims import ConsistencyMethod
from howsure.stats.core.results import Conditions, Result, RowPlaces
from howsure.stats.questions.consistency import EQUAL_ANSWERS, AnswerCounts, estimate_consistency, modal_answers
from howsure.stats.questions.label_errors import MAX_P_CORRECT, MIN_CONSISTENCY

__all__ = ["MEAN_OF_MODELS", "QuestionMap", "map_questions"]

#: Name of the rows of the map of the mean over models.
MEAN_OF_MODELS = "mean over models"


@dataclass(frozen=True, eq=False)
class QuestionMap(Result):
    """The data map of M models, or of their mean; arrays have shape (M, N).

    Attributes
    ----------
    p_correct
        Share of right generations.
    consistency
        S(consistency): 0 if all answers are the same, and below otherwise; NaN with fewer than two answers.
    n_generations, n_sets
        Generations, and different answers among them.
    answer
        Most frequent answer; None for a tie, without answers, and for the mean over models.
    method
        How the consistency is estimated: ``"corrected"`` for few generations, or ``"plugin"`` as published.
    sets
        How answers are counted as the same, as in `AnswerCounts`.
    in_corner_only
        Whether `columns` has the questions in GEN's corner only.

    Examples
    --------
    >>> given = {"m": {"q1": ["4", "4", "4"], "q2": ["7", "7", "7"]}}
    >>> counts = AnswerCounts.from_generations("sums", given, {"q1": "4", "q2": "8"})
    >>> map_questions(counts)["question"].tolist()
    ['q2']
    """

    benchmark: str
    models: tuple[str, ...]
    questions: tuple[str, ...]
    target: tuple[str | None, ...]
    p_correct: FloatArray
    consistency: FloatArray
    n_generations: FloatArray
    n_sets: IntArray
    answer: NDArray[np.object_]
    method: ConsistencyMethod
    in_corner_only: bool = True
    sets: str = EQUAL_ANSWERS

    @property
    def in_corner(self) -> NDArray[np.bool_]:
        """Whether GEN's rule selects the question: rarely right, and nearly always the same answer, shape (M, N)."""
        with np.errstate(invalid="ignore"):
            return np.asarray((self.p_correct <= MAX_P_CORRECT) & (self.consistency >= MIN_CONSISTENCY))

    declared = (
        "benchmark model=models question=questions@1 p_correct consistency n_generations n_sets target=_target@1 "
        "answer=_answer in_corner=_in_corner consistency_method=method answer_sets=sets note=_reasons.notes"
    )

    def _rows(self) -> RowPlaces:
        """Models and questions of the rows, the most consistent question of each model first."""
        order = np.argsort(-self.consistency, axis=1, kind="stable")
        model = np.repeat(np.arange(len(self.models)), len(self.questions))
        rows = model, order.ravel()
        return [places[self.in_corner[rows]] for places in rows] if self.in_corner_only else rows

    def _in_corner(self) -> IntArray:
        """1 in the corner of the suspects, else 0."""
        return self.in_corner.astype(np.int64)

    @property
    def _target(self) -> NDArray[np.object_]:
        """Targets; "" where there is none."""
        return np.array([one or "" for one in self.target], dtype=object)

    @property
    def _answer(self) -> NDArray[np.object_]:
        """Most frequent answers; "" where there is none."""
        return np.array([[one or "" for one in answers] for answers in self.answer.tolist()], dtype=object)

    def _reasons(self) -> Conditions:
        return {
            "consistency is unknown: fewer than two answers": np.isnan(self.consistency),
            "P(correct) is unknown: neither a score nor a target": np.isnan(self.p_correct),
        }


def map_questions(
    answers: AnswerCounts,
    *,
    models: Sequence[str] = (),
    over_models: bool = False,
    method: ConsistencyMethod = "corrected",
    in_corner_only: bool = True,
) -> QuestionMap:
    """Compute the data map of each model by itself, or of the mean over models.

    Parameters
    ----------
    answers
        Answers of M models to N questions. Greedy runs (NAME:greedy beside NAME) are left out unless they are named.
    models
        Names of the models; empty for all.
    over_models
        Whether to return one map, of the means of both axes over the models.
    method
        How the consistency is estimated.
    in_corner_only
        Whether the table has the questions in GEN's corner only.

    Returns
    -------
    QuestionMap
        A row per model and question.

    Raises
    ------
    UnknownNameError
        When there is no model of a name, or the method is unknown.

    Notes
    -----
    S = sum of p log p over the sets of equal answers of a model, with p the share of a set (``"plugin"``). The
    corrected estimate replaces log(n_i/n) by digamma(n_i) - digamma(n). Answers are equal if they are read alike.

    References
    ----------
    Zhang et al. (2025), Beyond the Singular, section 3.2: P(correct) <= .1 and S >= -.8, for one model.
    """
    for name in models:
        if name not in answers.models:
            raise UnknownNameError("model", name, answers.models, where=answers.benchmark)
    counts = answers if models else answers.without_greedy_runs()
    rows = [counts.models.index(name) for name in models] if models else list(range(len(counts.models)))
    n = counts.n_cell[rows]
    p = np.where(n > 0, counts.p_correct[rows], np.nan)
    S = estimate_consistency(counts, method)[rows]
    n_sets = counts.at_cells(counts.parsed & (counts.n > 0))[rows].astype(np.int64)
    modes = modal_answers(counts)[rows]
    texts = np.array([*counts.answers, None], dtype=object)[modes]
    result = QuestionMap(
        counts.benchmark,
        tuple(counts.models[row] for row in rows),
        counts.questions,
        counts.targets,
        p,
        S,
        n,
        n_sets,
        texts,
        method,
        in_corner_only,
        counts.sets,
    )
    if not over_models:
        return result
    return replace(
        result,
        models=(MEAN_OF_MODELS,),
        p_correct=mean_where(p.T, ~np.isnan(p.T))[None],
        consistency=mean_where(S.T, ~np.isnan(S.T))[None],
        n_generations=n.sum(axis=0, keepdims=True),
        n_sets=_count_answers(counts, rows)[None],
        answer=np.full((1, len(counts.questions)), None, dtype=object),
    )


def _count_answers(counts: AnswerCounts, rows: Sequence[int]) -> IntArray:
    """Return the number of different answers that these models gave to each question together, shape (N,)."""
    present = counts.parsed & (counts.n > 0) & np.isin(counts.model, rows)
    pairs = np.unique(np.stack([counts.question[present], counts.answer[present]]), axis=1)
    return np.asarray(np.bincount(pairs[0], minlength=len(counts.questions)))
