"""Whether a model answers a question in the same words every time, as at temperature 0 with a fixed seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray, IntArray, mean_where
from howsure.stats.core.claims import check_level
from howsure.stats.core.intervals import Limits
from howsure.stats.core.results import Conditions, Result
from howsure.stats.scores import clopper_pearson

__all__ = ["CompletionCounts", "Determinism", "measure_determinism"]


@dataclass(frozen=True)
class CompletionCounts:
    """How often the same completion came back: one element per cell, a question of a model in a prompt variant.

    Attributes
    ----------
    models, questions
        Names.
    model, question
        Row of the model and of the question of each cell, shape (C,).
    n, n_distinct, n_answers, n_scores
        Completions of the cell, distinct texts among them, distinct answers that were read, and distinct scores.
    same_pairs
        Pairs of completions of the cell with the same text.
    """

    benchmark: str
    models: tuple[str, ...]
    questions: tuple[str, ...]
    model: IntArray
    question: IntArray
    n: IntArray
    n_distinct: IntArray
    n_answers: IntArray
    n_scores: IntArray
    same_pairs: IntArray


@dataclass(frozen=True, eq=False)
class Determinism(Result):
    """How many questions got more than one distinct completion; arrays have shape (M,).

    Attributes
    ----------
    n_questions
        Questions with two or more completions of the same prompt.
    fewest, most
        Fewest and most completions of one prompt among them.
    n_varied, n_answers_varied, n_scores_varied
        Questions with more than one distinct completion, answer and score to the same prompt.
    p_differ
        Probability that two completions of the same prompt differ, mean over questions.

    Examples
    --------
    >>> one = np.array([1, 1])
    >>> cells = one * 0, np.arange(2), one * 3, one + [0, 1], one, one, one * 2
    >>> counts = CompletionCounts("demo", ("m",), ("p", "q"), *cells)
    >>> measure_determinism(counts)["share"].tolist()
    [0.5]
    """

    benchmark: str
    models: tuple[str, ...]
    n_questions: IntArray
    fewest: IntArray
    most: IntArray
    n_varied: IntArray
    n_answers_varied: IntArray
    n_scores_varied: IntArray
    p_differ: NDArray[np.float64]
    level: float = 0.95

    def interval(self, level: float | None = None) -> Limits:
        """Return the exact interval of the share of questions that vary, at a level in (0, 1)."""
        level = self.level if level is None else level
        N = np.maximum(self.n_questions, 1)
        low, high = clopper_pearson(self.n_varied, N, level)
        has_repeats = self.n_questions > 0
        return Limits(np.where(has_repeats, low, np.nan), np.where(has_repeats, high, np.nan), level)

    declared = (
        "benchmark model=models n_questions n_completions=most n_varied share=_share low=interval.low "
        "high=interval.high p_differ n_answers_varied n_scores_varied verdict=_verdict level note=_reasons.notes"
    )

    def _share(self) -> FloatArray:
        """Share of the prompts whose completions differ."""
        return self.n_varied / np.where(self.n_questions > 0, self.n_questions, np.nan)

    @property
    def _verdict(self) -> NDArray[np.object_]:
        """What the repeats say of each model."""
        same = np.where(self.n_questions > 0, "no difference seen", "unknown")
        return np.where(self.n_varied > 0, "not deterministic", same).astype(object)

    def _reasons(self) -> Conditions:
        has_repeats = self.n_questions > 0
        return {
            "no prompt has two completions: whether the model is deterministic is unknown": ~has_repeats,
            "all repeats are identical: one run, from which no error of sampling can be computed": has_repeats
            & (self.n_varied == 0),
            "no variation was seen in the scores: the repeats do not say how much they vary": (self.n_varied > 0)
            & (self.n_scores_varied == 0),
            "prompts have different numbers of completions: those with more show more": has_repeats
            & (self.fewest < self.most),
        }


def measure_determinism(counts: CompletionCounts, *, level: float = 0.95) -> Determinism:
    """Measure how many questions got more than one distinct completion.

    Parameters
    ----------
    counts
        Distinct completions of each question, of the same model to the same prompt. A question varies if any of its
        prompts got two different completions.
    level
        Coverage of the intervals, in (0, 1).

    Returns
    -------
    Determinism
        One row per model. The interval is that of Clopper and Pearson for the share of such questions that would vary
        in as many completions; it holds for questions that are drawn like these.

    References
    ----------
    Blackwell, Barry and Cohn (2024), Towards reproducible LLM evaluation, who repeat questions at temperature 0 with a
    fixed seed. Clopper and Pearson (1934), Biometrika 26.
    """
    check_level(level)
    if not counts.models:
        raise InputError("there are no completions", where=counts.benchmark)
    M, N = len(counts.models), len(counts.questions)
    several = counts.n > 1
    place = counts.model[several] * N + counts.question[several]

    def count_questions(holds: NDArray[np.bool_]) -> IntArray:
        present = np.bincount(place[holds[several]], minlength=M * N).reshape(M, N) > 0
        return np.asarray(present.sum(axis=1))

    n = counts.n[several].astype(float)
    different = 1 - counts.same_pairs[several] / (n * (n - 1) / 2)
    cells = np.bincount(place, minlength=M * N)
    mean = np.bincount(place, different, minlength=M * N) / np.maximum(cells, 1)
    fewest = np.full(M, np.iinfo(np.int64).max)
    np.minimum.at(fewest, counts.model[several], counts.n[several])
    most = np.zeros(M, np.int64)
    np.maximum.at(most, counts.model[several], counts.n[several])
    return Determinism(
        counts.benchmark,
        counts.models,
        count_questions(np.ones(len(several), bool)),
        np.where(most > 0, fewest, 0),
        most,
        count_questions(counts.n_distinct > 1),
        count_questions(counts.n_answers > 1),
        count_questions(counts.n_scores > 1),
        mean_where(mean.reshape(M, N), (cells > 0).reshape(M, N)),
        level,
    )
