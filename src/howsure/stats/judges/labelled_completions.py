"""Completions with a judge's score, and for some of them the score that a person gave.

All functions of this package take these rows. A row is one completion; `sum_by_question` turns a value per row into the
terms of the mean over questions of the mean over completions, which is what a score is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.intervals import Limits
from howsure.stats.scores.score_intervals import wilson

__all__ = ["FEWEST_LABELS", "JudgedCompletions", "LabelAgreement", "ModelRows", "measure_agreement"]

#: With fewer labels of a model than this, its corrected score carries a note.
FEWEST_LABELS = 20


@dataclass(frozen=True, eq=False)
class JudgedCompletions:
    """R completions of M models on N questions, with the judge's score and, for a sample, that of a person.

    Attributes
    ----------
    model, question
        Index of the model and of the question of each completion, shape (R,).
    judged
        Score of each completion by the judge: the mean of its verdicts, shape (R,). NaN where no verdict was readable.
    label
        Score of each completion by a person, shape (R,); NaN where nobody labelled it.
    inclusion
        Probability with which each completion was drawn for labelling, shape (R,), in (0, 1]. Corrected scores use
        only their ratios within a model; the judge's accuracy, Rogan-Gladen and the tests of the judge's errors put
        the labels of all models together, and use the ratios between models as well. None if all had the same.
    clusters
        Cluster of each question, length N, or None.
    length
        Length of each completion in characters, shape (R,), or None; for the test of length.
    is_known
        Whether `judged` is the score of the completion without a judge and without labels, shape (R,): 0 of a refusal,
        an empty completion or a tool call. Labels of such completions do not count. None if there are none.

    Raises
    ------
    InputError
        When the shapes disagree, or a labelled completion has no inclusion probability in (0, 1].

    Examples
    --------
    >>> data = JudgedCompletions("demo", ("a",), ("p", "q"), [0, 0], [0, 1], [1.0, 0.0], [1.0, np.nan])
    >>> data.n_labels.tolist()
    [1]
    """

    benchmark: str
    models: tuple[str, ...]
    questions: tuple[str, ...]
    model: IntArray
    question: IntArray
    judged: FloatArray
    label: FloatArray
    inclusion: FloatArray | None = None
    clusters: tuple[str, ...] | None = None
    length: FloatArray | None = None
    is_known: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        for name, kind in (("model", np.int64), ("question", np.int64), ("judged", float), ("label", float)):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=kind))
        for name in ("inclusion", "length"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=float))
        shapes = {
            np.shape(values)
            for values in (
                self.model,
                self.question,
                self.judged,
                self.label,
                self.inclusion,
                self.length,
                self.is_known,
            )
            if values is not None
        }
        if len(shapes) != 1:
            raise InputError("the columns of judged completions differ in length", where=self.benchmark)
        if self.is_known is not None:
            object.__setattr__(self, "is_known", np.asarray(self.is_known, dtype=bool))
            object.__setattr__(self, "label", np.where(self.is_known, np.nan, self.label))
        if self.inclusion is not None:
            drawn = self.inclusion[~np.isnan(self.label)]
            if not np.all((drawn > 0) & (drawn <= 1)):
                remedy = "give each labelled completion the probability with which it was drawn"
                raise InputError("an inclusion probability is not in (0, 1]", where=self.benchmark, remedy=remedy)

    @property
    def n_labels(self) -> IntArray:
        """The number of completions of each model with both a judge's and a person's score, shape (M,)."""
        both = ~np.isnan(self.label) & ~np.isnan(self.judged)
        return np.bincount(self.model[both], minlength=len(self.models)).astype(np.int64)

    @property
    def n_unreadable(self) -> IntArray:
        """The number of completions of each model without a readable verdict, shape (M,)."""
        missing = np.isnan(self.judged)
        return np.bincount(self.model[missing], minlength=len(self.models)).astype(np.int64)

    @property
    def is_unit(self) -> bool:
        """Whether all scores lie in [0, 1]."""
        return all(
            bool(np.all((values >= 0) & (values <= 1) | np.isnan(values))) for values in (self.judged, self.label)
        )

    @property
    def largest_error(self) -> float:
        """The largest error that a judge can make: 1 for scores in [0, 1], else the range of all scores."""
        if self.is_unit:
            return 1.0
        return float(np.nanmax([self.judged, self.label]) - np.nanmin([self.judged, self.label]))

    def keep_questions(self, questions: Collection[str]) -> JudgedCompletions:
        """Return the completions of these questions only; `questions` keeps all names, which are those of indices.

        >>> data = JudgedCompletions("demo", ("a",), ("p", "q"), [0, 0], [0, 1], [1.0, 0.0], [1.0, 0.0])
        >>> data.keep_questions({"q"}).judged.tolist()
        [0.0]
        """
        wanted_names = set(questions)
        is_selected = np.array([name in wanted_names for name in self.questions], bool)[self.question]
        fields = ("model", "question", "judged", "label", "inclusion", "length", "is_known")
        values = {name: getattr(self, name) for name in fields}
        return replace(self, **{name: each[is_selected] for name, each in values.items() if each is not None})

    def select(self, model: int, questions: IntArray | None = None) -> ModelRows:
        """Return the judged completions of one model, on these questions only if they are given (indices)."""
        here = (self.model == model) & ~np.isnan(self.judged)
        if questions is not None:
            here &= np.isin(self.question, questions)
        answered, place = np.unique(self.question[here], return_inverse=True)
        counts = np.bincount(place, minlength=len(answered)).astype(float)
        label = self.label[here]
        drawn = ~np.isnan(label)
        inclusion = np.ones(len(label)) if self.inclusion is None else self.inclusion[here]
        clusters = np.array(self.questions if self.clusters is None else self.clusters, dtype=object)[answered]
        return ModelRows(
            answered,
            place,
            np.where(counts[place] > 0, 1 / counts[place], 0),
            self.judged[here],
            np.where(drawn, label, 0),
            np.where(drawn, 1 / np.where(drawn, inclusion, 1), 0),
            clusters,
            np.zeros(len(label), dtype=bool) if self.is_known is None else self.is_known[here],
        )


class ModelRows(NamedTuple):
    """The judged completions of one model on N questions."""

    questions: IntArray
    """Indices of the questions, shape (N,), increasing."""
    place: IntArray
    """Place of the question of each completion among `questions`, shape (R,)."""
    weight: FloatArray
    """1 / number of completions of its question, shape (R,)."""
    judged: FloatArray
    label: FloatArray
    """Scores by the judge and by a person, 0 where there is none; shape (R,)."""
    sampling: FloatArray
    """1 / inclusion probability of a labelled completion, 0 for others; shape (R,)."""
    clusters: np.ndarray[tuple[int, ...], np.dtype[np.object_]]
    """Cluster of each question, shape (N,)."""
    is_known: NDArray[np.bool_]
    """Whether the score of each completion is known without a judge, shape (R,)."""

    def sum_by_question(self, values: FloatArray) -> FloatArray:
        """Return the weighted sum of a value per completion over each question, shape (N,)."""
        sums = np.bincount(self.place, weights=self.weight * values, minlength=len(self.questions))
        return sums.astype(np.float64)

    @property
    def n_labelled_clusters(self) -> int:
        """The number of clusters (questions, without clusters) with a labelled completion."""
        return len(set(self.clusters[np.unique(self.place[self.sampling > 0])].tolist()))

    @property
    def effective_labels(self) -> float:
        """How many labels drawn alike leave as much unseen as these: 1 / the largest part of the score of one label.

        At most the number of clusters. Where all labelled completions have one verdict, other verdicts are unseen.
        """
        drawn = self.sampling > 0
        weight = (self.weight * self.sampling)[drawn]
        if not len(weight):
            return 0.0
        verdicts = np.unique(self.judged[drawn])
        others = (self.judged != verdicts[0]) & ~self.is_known & (len(verdicts) == 1)
        unseen = np.sum(self.weight[others]) / np.sum(self.weight[~self.is_known])
        return float(min(self.n_labelled_clusters, 1 / max(np.max(weight) / np.sum(weight), unseen)))


class LabelAgreement(NamedTuple):
    """How far two reviewers agree on the completions that both labelled."""

    reviewers: tuple[str, str]
    n: int
    agreement: float
    limits: Limits
    kappa: float
    """Cohen's kappa; NaN where one verdict is all there is."""
    unit: str = "completions"
    """What the reviewers gave verdicts on, in the plural."""

    def __str__(self) -> str:
        low, high = float(self.limits.low[0]), float(self.limits.high[0])
        kappa = "" if np.isnan(self.kappa) else f", kappa {self.kappa:.2f}"
        names = " and ".join(name or "(no name)" for name in self.reviewers)
        return f"{names} agree on {self.agreement:.3f} [{low:.3f}, {high:.3f}] of {self.n} {self.unit}{kappa}"


def measure_agreement(
    first: Sequence[str],
    second: Sequence[str],
    *,
    reviewers: tuple[str, str] = ("", ""),
    level: float = 0.95,
    unit: str = "completions",
) -> LabelAgreement:
    """Return how often two reviewers gave the same verdict, with Wilson's interval and Cohen's kappa.

    Parameters
    ----------
    first, second
        The verdicts of each reviewer on the same completions, in the same order; at least one.
    reviewers
        Their names.
    level
        Coverage of the interval in (0, 1).
    unit
        What the verdicts are on, in the plural.

    Notes
    -----
    With the agreement A and the agreement by chance C = sum over verdicts of the product of their shares with the two
    reviewers, kappa = (A - C)/(1 - C).

    References
    ----------
    Cohen 1960, Educational and Psychological Measurement 20. Wilson 1927, JASA 22.

    Examples
    --------
    >>> one = measure_agreement(["yes", "yes", "no", "no"], ["yes", "no", "no", "no"])
    >>> one.agreement, one.kappa
    (0.75, 0.5)
    """
    n = len(first)
    agree = sum(a == b for a, b in zip(first, second, strict=True))
    low, high = wilson([agree], [n], level)
    margins = Counter(first), Counter(second)
    chance = sum(margins[0][word] * margins[1][word] for word in margins[0]) / n**2
    kappa = (agree / n - chance) / (1 - chance) if chance < 1 else np.nan
    return LabelAgreement(reviewers, n, agree / n, Limits(low, high, level), float(kappa), unit)
