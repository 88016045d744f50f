"""Counts of the answers of models to questions, and the consistency of a model's answers to one question.

The generations of a question fall into sets of equal answers. `AnswerCounts` counts them; counts can be added, so that
answers of several files can be merged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import FloatArray, IntArray, list_greedy_runs
from howsure.stats.core.claims import CONSISTENCY_METHODS, ConsistencyMethod, check_choice

__all__ = ["EQUAL_ANSWERS", "AnswerCounts", "estimate_consistency", "min_generations", "modal_answers"]

#: How answers are counted as the same unless a model decides that they have the same meaning.
EQUAL_ANSWERS = "equal"


@dataclass(frozen=True, eq=False)
class AnswerCounts:
    """Counts of each answer that M models gave to the N questions of a benchmark.

    The counts are sparse: C entries, one for each combination of model, question and answer that occurs, sorted by
    question, model and answer. `of` and `from_generations` construct one from unsorted entries.

    Attributes
    ----------
    benchmark, models, questions
        Names.
    targets
        Target of each question, length N; None where it is not known.
    answers
        The different answers of all questions, length A, sorted.
    model, question, answer
        Indices in these, shape (C,); `answer` is -1 for generations without a parsed answer.
    n, scored
        Generations of the entry that did not fail, and those of them that have a score, shape (C,).
    total
        Sum of these scores, shape (C,).
    sets
        How answers are counted as the same: ``"equal"``, or what decided that they have the same meaning.

    Examples
    --------
    >>> counts = AnswerCounts.from_generations("b", {"m": {"q": ["A", "A", None]}}, {"q": "A"})
    >>> counts.answers, counts.n.tolist(), counts.total.tolist()
    (('A',), [1, 2], [0.0, 2.0])
    """

    benchmark: str
    models: tuple[str, ...]
    questions: tuple[str, ...]
    targets: tuple[str | None, ...]
    answers: tuple[str, ...]
    model: IntArray
    question: IntArray
    answer: IntArray
    n: IntArray
    scored: IntArray
    total: FloatArray
    sets: str = EQUAL_ANSWERS

    def __repr__(self) -> str:
        M, N = self.shape
        generations, A = int(self.n.sum()), len(self.answers)
        return f"Answers({self.benchmark!r}, {M} models x {N} questions, {generations} generations, {A} answers)"

    @classmethod
    def of(
        cls,
        benchmark: str,
        names: tuple[Sequence[str], Sequence[str], Sequence[str]],
        places: tuple[ArrayLike, ArrayLike, ArrayLike],
        *,
        n: ArrayLike,
        scored: ArrayLike,
        total: ArrayLike,
        targets: Mapping[str, str] | None = None,
    ) -> AnswerCounts:
        """Construct counts from entries in any order; entries of the same model, question and answer are added.

        Parameters
        ----------
        names
            Models, questions and answers, each without duplicates.
        places
            Indices of each entry in these; -1 for generations without a parsed answer.
        n, scored, total
            Generations that did not fail, those with a score, and the sum of the scores, of each entry.
        targets
            Target by question, where it is known.
        """
        models, questions, answers = names
        texts, rank = np.unique(np.array(answers, dtype=object), return_inverse=True)
        for kind, given in (("model", models), ("question", questions), ("answer", answers)):
            if len(set(given)) < len(given):
                raise InputError(f"a {kind} is there twice", where=f"AnswerCounts of {benchmark!r}")
        m, q, a = (np.asarray(place, np.int64) for place in places)
        code = np.where(a < 0, -1, np.append(rank, -1)[a])
        # one number for each entry, in the order of question, model and answer
        key, where = np.unique((q * len(models) + m) * (len(texts) + 1) + code + 1, return_inverse=True)
        cell, code = np.divmod(key, len(texts) + 1)
        sums: list[FloatArray] = [
            np.bincount(where, np.asarray(one, float), len(key)).astype(float) for one in (n, scored, total)
        ]
        return cls(
            benchmark,
            tuple(models),
            tuple(questions),
            tuple((targets or {}).get(question) for question in questions),
            tuple(texts.tolist()),
            cell % max(len(models), 1),
            cell // max(len(models), 1),
            code - 1,
            sums[0].astype(np.int64),
            sums[1].astype(np.int64),
            sums[2],
        )

    @classmethod
    def from_generations(
        cls,
        benchmark: str,
        generations: Mapping[str, Mapping[str, Sequence[str | None]]],
        targets: Mapping[str, str],
    ) -> AnswerCounts:
        """Construct counts from single answers, `generations[model][question]`, that are right if equal to the target.

        Examples
        --------
        >>> AnswerCounts.from_generations("b", {"m": {"q": ["A", "A", None]}}, {"q": "A"})
        Answers('b', 1 models x 1 questions, 3 generations, 1 answers)
        """
        each = [(m, q, a) for m, own in generations.items() for q, given in own.items() for a in given]
        models, questions = sorted(generations), sorted({q for own in generations.values() for q in own})
        answers = sorted({a for _, _, a in each if a is not None})
        index = [{name: i for i, name in enumerate(with_target)} for with_target in (models, questions, answers)]
        return cls.of(
            benchmark,
            (models, questions, answers),
            (
                [index[0][m] for m, _, _ in each],
                [index[1][q] for _, q, _ in each],
                [-1 if a is None else index[2][a] for *_, a in each],
            ),
            n=np.ones(len(each)),
            scored=np.ones(len(each)),
            total=[float(a is not None and a == targets.get(q)) for _, q, a in each],
            targets=targets,
        )

    def __add__(self, other: AnswerCounts) -> AnswerCounts:
        """Return the sum of the counts of one benchmark; where both know a target, the left one is used."""
        if not isinstance(other, AnswerCounts):
            return NotImplemented
        if other.benchmark != self.benchmark:
            raise InputError(
                f"answers of {self.benchmark!r} and {other.benchmark!r} cannot be added", where="AnswerCounts"
            )
        if other.sets != self.sets:
            what = f"sets of answers made in two ways cannot be added: {self.sets} and {other.sets}"
            raise InputError(what, where=self.benchmark, remedy="add the counts first, then merge")
        both = (self, other)
        models, questions, answers = (
            sorted({name for one in both for name in getattr(one, kind)}) for kind in ("models", "questions", "answers")
        )
        index = [{name: i for i, name in enumerate(names)} for names in (models, questions, answers)]

        def places(one: AnswerCounts) -> list[IntArray]:
            maps = [
                np.array([at[name] for name in names] + [-1], np.int64)
                for at, names in zip(index, (one.models, one.questions, one.answers), strict=True)
            ]
            return [to[place] for to, place in zip(maps, (one.model, one.question, one.answer), strict=True)]

        m, q, a = (np.concatenate(parts) for parts in zip(*map(places, both), strict=True))
        merged = AnswerCounts.of(
            self.benchmark,
            (models, questions, answers),
            (m, q, a),
            n=np.concatenate([one.n for one in both]),
            scored=np.concatenate([one.scored for one in both]),
            total=np.concatenate([one.total for one in both]),
            targets=other.known_targets | self.known_targets,
        )
        return replace(merged, sets=self.sets)

    def select(self, questions: Sequence[str]) -> AnswerCounts:
        """Return the counts of these questions, in this order."""
        place = {question: j for j, question in enumerate(questions)}
        if unknown := [question for question in questions if question not in set(self.questions)]:
            raise UnknownNameError("question", unknown[0], self.questions, where=self.benchmark)
        moved = np.array([place.get(question, -1) for question in self.questions], np.int64)[self.question]
        selected = moved >= 0
        chosen = AnswerCounts.of(
            self.benchmark,
            (self.models, questions, self.answers),
            (self.model[selected], moved[selected], self.answer[selected]),
            n=self.n[selected],
            scored=self.scored[selected],
            total=self.total[selected],
            targets=self.known_targets,
        )
        return replace(chosen, sets=self.sets)

    def without_greedy_runs(self) -> AnswerCounts:
        """Return the counts without the greedy runs of other models, which are no models of their own."""
        greedy = set(list_greedy_runs(self.models))
        if not greedy:
            return self
        models = [model for model in self.models if model not in greedy]
        moved = np.array([models.index(m) if m not in greedy else -1 for m in self.models], np.int64)[self.model]
        selected = moved >= 0
        chosen = AnswerCounts.of(
            self.benchmark,
            (models, self.questions, self.answers),
            (moved[selected], self.question[selected], self.answer[selected]),
            n=self.n[selected],
            scored=self.scored[selected],
            total=self.total[selected],
            targets=self.known_targets,
        )
        return replace(chosen, sets=self.sets)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of models and of questions."""
        return len(self.models), len(self.questions)

    @property
    def known_targets(self) -> dict[str, str]:
        """Target by question, where it is known."""
        both = zip(self.questions, self.targets, strict=True)
        return {question: target for question, target in both if target is not None}

    @cached_property
    def cell(self) -> IntArray:
        """Index of each entry in a raveled array (M, N), shape (C,)."""
        return np.asarray(self.model * len(self.questions) + self.question)

    @cached_property
    def parsed(self) -> NDArray[np.bool_]:
        """Whether the entry has a parsed answer, shape (C,)."""
        return np.asarray(self.answer >= 0)

    def at_cells(self, values: ArrayLike) -> FloatArray:
        """Return the sums of the values (C,) over the entries of each model and question, shape (M, N)."""
        M, N = self.shape
        return np.bincount(self.cell, np.asarray(values, float), M * N).astype(float).reshape(M, N)

    @cached_property
    def n_cell(self) -> FloatArray:
        """Generations that did not fail, shape (M, N)."""
        return self.at_cells(self.n)

    @cached_property
    def share(self) -> FloatArray:
        """Share of the generations of the entry's model and question, unparsed ones included, shape (C,)."""
        return np.asarray(self.n / np.maximum(self.n_cell.ravel()[self.cell], 1))

    @cached_property
    def correct(self) -> NDArray[np.bool_]:
        """Whether the answer is right, shape (C,): by its scores over all models, without scores by the target."""
        A = len(self.answers)
        _, place = np.unique(self.question * (A + 1) + self.answer + 1, return_inverse=True)
        total, scored = np.bincount(place, self.total)[place], np.bincount(place, self.scored)[place]
        code = {answer: i for i, answer in enumerate(self.answers)}
        target = np.array([-2 if one is None else code.get(one, -2) for one in self.targets], np.int64)
        by_target = self.answer == target[self.question]
        return np.asarray(self.parsed & np.where(scored > 0, total >= scored / 2, by_target))

    @cached_property
    def p_correct(self) -> FloatArray:
        """Mean score, or the share of answers equal to the target, shape (M, N); NaN where neither is known."""
        scored = self.at_cells(self.scored)
        with np.errstate(invalid="ignore", divide="ignore"):
            by_score = self.at_cells(self.total) / scored
            by_answer = self.at_cells(self.n * self.correct) / self.n_cell
        by_answer[:, [target is None for target in self.targets]] = np.nan
        return np.where(scored > 0, by_score, by_answer)


def estimate_consistency(answers: AnswerCounts, method: ConsistencyMethod = "corrected") -> FloatArray:
    """Estimate S(consistency), the sum of p log p over sets of equal answers, of each model and question.

    It uses the natural logarithm and is 0 for a model that always gives the same answer.

    Parameters
    ----------
    answers
        Counts of the answers of M models to N questions; unparsed answers are left out.
    method
        `"plugin"`: p is the share of the generations with an answer, as published (GEN, appendix E). `"corrected"`: the
        sum of p (psi(n p) - psi(n)) over sets, for n generations (Zhang 2012, in the form of Schuermann 2015).

    Returns
    -------
    numpy.ndarray
        Shape (M, N); NaN where fewer than two generations have an answer.

    Raises
    ------
    UnknownNameError
        Where the method is unknown.

    Notes
    -----
    Both are biased upwards for few generations, so that only values from similar numbers of generations can be
    compared. The bias of the plug-in is about (sets - 1)/(2n), and it is never below -log n. The bias of the corrected
    estimate is the sum over sets of p times the sum over j >= n of (1 - p)^j / j, which is small where each set holds
    some of the n generations, and it is never below -(1 + 1/2 + ... + 1/(n - 1)). With 50 equally probable answers the
    true value is -3.91, and the corrected estimate is on average -2.00 at n = 5, -2.66 at n = 10 and -3.69 at n = 50.

    The probability to exceed a threshold is not monotone in n either. Two answers with probabilities .9 and .1 exceed
    GEN's -.8 with probability .82, .73, .95 and 1.00 at n = 2, 3, 4 and 5, because at n = 2 and 3 a single deviating
    generation suffices to fall below it; see `min_generations`.

    References
    ----------
    Zhang, Z. (2012), Entropy estimation in Turing's perspective, Neural Computation 24. Schuermann, T. (2015), A note
    on entropy estimation, Neural Computation 27.

    Examples
    --------
    >>> some = AnswerCounts.from_generations("b", {"m": {"q": ["A", "A", "A", "B"], "r": ["A"]}}, {})
    >>> estimate_consistency(some, "plugin").round(3).tolist(), estimate_consistency(some).round(3).tolist()
    ([[-0.562, nan]], [[-0.708, nan]])
    """
    from scipy.special import digamma

    check_choice("method", method, CONSISTENCY_METHODS, where="consistency")
    count = np.where(answers.parsed, answers.n, 0)
    n = answers.at_cells(count)
    all_sets, one_set = np.maximum(n.ravel()[answers.cell], 1), np.maximum(count, 1)
    log = np.log(one_set / all_sets) if method == "plugin" else digamma(one_set) - digamma(all_sets)
    return np.where(n > 1, answers.at_cells(count / all_sets * log), np.nan)


def min_generations(threshold: float) -> int:
    """Return the smallest number of generations where one deviating answer keeps S(consistency) above a threshold.

    Parameters
    ----------
    threshold
        Below 0, such as GEN's -0.8.

    Returns
    -------
    int
        Smallest n with -(1 + 1 + 1/2 + ... + 1/(n - 1))/n >= threshold, the corrected estimate where one of n
        generations deviates.

    Raises
    ------
    InputError
        Where the threshold is not below 0.

    Examples
    --------
    >>> min_generations(-0.8), min_generations(-0.3)
    (4, 14)
    """
    if not threshold < 0:
        raise InputError(f"threshold is {threshold!r}", where="min_generations", remedy="allowed: below 0")
    n, harmonic = 2, 1.0  # of n - 1
    while -(1 + harmonic) / n < threshold:
        harmonic, n = harmonic + 1 / n, n + 1
    return n


def modal_answers(answers: AnswerCounts) -> IntArray:
    """Return the index of each model's most frequent answer, shape (M, N); -1 for a tie, or without answers."""
    count = np.where(answers.parsed, answers.n, 0)
    most = np.zeros(answers.n_cell.size, np.int64)
    np.maximum.at(most, answers.cell, count)
    is_mode = (count > 0) & (count == most[answers.cell])
    is_unique = is_mode & (np.bincount(answers.cell, is_mode, len(most))[answers.cell] == 1)
    modes = np.full(len(most), -1)
    modes[answers.cell[is_unique]] = answers.answer[is_unique]
    return modes.reshape(answers.shape)
