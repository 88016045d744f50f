"""Whether a model says the same again: generations of a question fall into sets of equal answers.

`Answers` counts them; counts add up as cells do, so answers of several files, machines and days merge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import FloatArray, IntArray

__all__ = [
    "CONSISTENCY_METHODS",
    "AnswerCounts",
    "answer_agreement",
    "count_answer_sets",
    "estimate_consistency",
    "min_generations",
    "modal_answers",
]

#: How the entropy of the sets is estimated.
CONSISTENCY_METHODS = ("corrected", "plugin")


@dataclass(frozen=True, eq=False)
class AnswerCounts:
    """How often each of M models gave each answer to each of the N questions of a benchmark.

    Sparse: C entries, one for each model, question and answer that occurs, sorted by question, model and answer. Make
    one with `of` or `from_generations`, which sort and add up.

    Attributes
    ----------
    benchmark, models, questions
        Names.
    targets
        Target of each question, length N; None where it is not known.
    answers
        The different answers of all questions, length A, sorted.
    model, question, answer
        Places in these, shape (C,); `answer` is -1 where no answer could be read.
    n
        Generations of the entry that did not fail, shape (C,), and `scored`, those of them that have a score.
    total
        Sum of these scores, shape (C,).
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
        """From entries in any order; those of the same model, question and answer add up.

        Parameters
        ----------
        names
            Models, questions and answers, each without duplicates.
        places
            Of each entry in these; -1 for an answer that could not be read.
        n, scored, total
            Of each entry.
        targets
            By question, where they are known.
        """
        models, questions, answers = names
        texts, rank = np.unique(np.array(answers, dtype=object), return_inverse=True)
        for kind, given in (("model", models), ("question", questions), ("answer", answers)):
            if len(set(given)) < len(given):
                raise InputError(f"a {kind} is there twice", where=f"Answers of {benchmark!r}")
        m, q, a = (np.asarray(place, np.int64) for place in places)
        code = np.where(a < 0, -1, np.append(rank, -1)[a])
        # One number for each entry, which sorts by question, model and answer
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
        """Of single answers, `generations[model][question]`, right where they equal the target. For examples.

        >>> AnswerCounts.from_generations("b", {"m": {"q": ["A", "A", None]}}, {"q": "A"})
        Answers('b', 1 models x 1 questions, 3 generations, 1 answers)
        """
        each = [(m, q, a) for m, own in generations.items() for q, given in own.items() for a in given]
        models, questions = sorted(generations), sorted({q for own in generations.values() for q in own})
        answers = sorted({a for _, _, a in each if a is not None})
        index = [{name: i for i, name in enumerate(known)} for known in (models, questions, answers)]
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
            total=[float(a == targets.get(q)) for _, q, a in each],
            targets=targets,
        )

    def __add__(self, other: AnswerCounts) -> AnswerCounts:
        """Merge answers to the same benchmark; names are united and sorted. Where both know a target, ours stays."""
        if not isinstance(other, AnswerCounts):
            return NotImplemented
        if other.benchmark != self.benchmark:
            raise InputError(f"answers of {self.benchmark!r} and {other.benchmark!r} do not add up", where="Answers")
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
        return AnswerCounts.of(
            self.benchmark,
            (models, questions, answers),
            (m, q, a),
            n=np.concatenate([one.n for one in both]),
            scored=np.concatenate([one.scored for one in both]),
            total=np.concatenate([one.total for one in both]),
            targets=other.known_targets | self.known_targets,
        )

    def select(self, questions: Sequence[str]) -> AnswerCounts:
        """Only these questions, in this order."""
        place = {question: j for j, question in enumerate(questions)}
        if unknown := [question for question in questions if question not in set(self.questions)]:
            raise UnknownNameError("question", unknown[0], self.questions, where=self.benchmark)
        moved = np.array([place.get(question, -1) for question in self.questions], np.int64)[self.question]
        kept = moved >= 0
        return AnswerCounts.of(
            self.benchmark,
            (self.models, questions, self.answers),
            (self.model[kept], moved[kept], self.answer[kept]),
            n=self.n[kept],
            scored=self.scored[kept],
            total=self.total[kept],
            targets=self.known_targets,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Models and questions."""
        return len(self.models), len(self.questions)

    @property
    def known_targets(self) -> dict[str, str]:
        """Target by question, of those that have one."""
        both = zip(self.questions, self.targets, strict=True)
        return {question: target for question, target in both if target is not None}

    @cached_property
    def cell(self) -> IntArray:
        """Place of each entry in an array of shape (M, N), raveled, shape (C,)."""
        return np.asarray(self.model * len(self.questions) + self.question)

    @cached_property
    def read(self) -> NDArray[np.bool_]:
        """Entries whose answer could be read, shape (C,)."""
        return np.asarray(self.answer >= 0)

    def at_cells(self, values: ArrayLike) -> FloatArray:
        """Sums of a value per entry (C,) over the entries of each cell, shape (M, N)."""
        M, N = self.shape
        return np.bincount(self.cell, np.asarray(values, float), M * N).astype(float).reshape(M, N)

    @cached_property
    def n_cell(self) -> FloatArray:
        """Generations of each cell that did not fail, shape (M, N)."""
        return self.at_cells(self.n)

    @cached_property
    def share(self) -> FloatArray:
        """Share of the cell's generations, of which those without an answer are some, shape (C,)."""
        return np.asarray(self.n / np.maximum(self.n_cell.ravel()[self.cell], 1))

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Whether an entry's answer is right, shape (C,): by the scores it got from all models, else by the target."""
        A = len(self.answers)
        _, place = np.unique(self.question * (A + 1) + self.answer + 1, return_inverse=True)
        total, scored = np.bincount(place, self.total)[place], np.bincount(place, self.scored)[place]
        code = {answer: i for i, answer in enumerate(self.answers)}
        target = np.array([-2 if one is None else code.get(one, -2) for one in self.targets], np.int64)
        by_target = self.answer == target[self.question]
        return np.asarray(self.read & np.where(scored > 0, total >= scored / 2, by_target))

    @cached_property
    def p_correct(self) -> FloatArray:
        """Mean score of each cell, shape (M, N); where nothing is scored, the share of answers that equal the target.

        NaN where the model has no generation, or where neither is known.
        """
        scored = self.at_cells(self.scored)
        with np.errstate(invalid="ignore", divide="ignore"):
            by_score = self.at_cells(self.total) / scored
            by_answer = self.at_cells(self.n * self.right) / self.n_cell
        by_answer[:, [target is None for target in self.targets]] = np.nan
        return np.where(scored > 0, by_score, by_answer)


def estimate_consistency(answers: AnswerCounts, method: str = "corrected") -> FloatArray:
    """Estimate S(consistency) of each cell, shape (M, N): the sum over sets of equal answers of p log p.

    Natural logarithm; 0 is a model that always answers alike.

    Parameters
    ----------
    answers
        Counts of the answers of M models to N questions; answers that could not be read are left out.
    method
        `"plugin"`: p is the share of the generations with an answer, as published (GEN, appendix E). `"corrected"`: the
        sum of p (psi(n p) - psi(n)) over sets, for n generations (Zhang 2012, in the form of Schuermann 2015).

    Returns
    -------
    FloatArray
        NaN where fewer than two generations have an answer: one alone says nothing of the next.

    Notes
    -----
    Both are too high on average where generations are few, so compare cells of about as many generations only. The
    plug-in is too high by about (sets - 1)/(2n) and never below -log n. The corrected one is too high by the sum over
    sets of p times the sum over j >= n of (1 - p)^j / j, which is little where each set holds some of the n
    generations, and never below -(1 + 1/2 + ... + 1/(n - 1)). With 50 answers of equal chance the truth is -3.91, and
    its average is -2.00 at n = 5, -2.66 at n = 10 and -3.69 at n = 50.

    The chance to pass a threshold is not monotone in n either. An answer of chance .9 beside one of .1 passes GEN's
    -.8 with chance .82, .73, .95 and 1.00 at n = 2, 3, 4 and 5, because at n = 2 and 3 a single generation that differs
    is enough to fall below it. `fewest_generations` says from which n on it is not.

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

    if method not in CONSISTENCY_METHODS:
        remedy = f"allowed: {', '.join(CONSISTENCY_METHODS)}"
        raise InputError(f"method is {method!r}", where="consistency", remedy=remedy)
    count = np.where(answers.read, answers.n, 0)
    n = answers.at_cells(count)
    whole, one = np.maximum(n.ravel()[answers.cell], 1), np.maximum(count, 1)
    log = np.log(one / whole) if method == "plugin" else digamma(one) - digamma(whole)
    return np.where(n > 1, answers.at_cells(count / whole * log), np.nan)


def min_generations(threshold: float) -> int:
    """Return the fewest generations of which a single one may differ without S(consistency) below a threshold.

    Of n generations of which one differs, the corrected estimate is -(1 + 1 + 1/2 + ... + 1/(n - 1))/n.

    Parameters
    ----------
    threshold
        Below 0, such as GEN's -0.8.

    Examples
    --------
    >>> min_generations(-0.8), min_generations(-0.3)
    (4, 14)
    """
    if not threshold < 0:
        raise InputError(f"threshold is {threshold!r}", where="fewest_generations", remedy="allowed: below 0")
    n, harmonic = 2, 1.0  # of n - 1
    while -(1 + harmonic) / n < threshold:
        harmonic, n = harmonic + 1 / n, n + 1
    return n


def count_answer_sets(answers: AnswerCounts) -> IntArray:
    """Different answers of each cell, shape (M, N); those that could not be read are none."""
    return answers.at_cells(answers.read).astype(np.int64)


def modal_answers(answers: AnswerCounts) -> IntArray:
    """Place in `answers` of what each model said more often than anything else, (M, N); -1: a tie, or no answer."""
    count = np.where(answers.read, answers.n, 0)
    most = np.zeros(answers.n_cell.size, np.int64)
    np.maximum.at(most, answers.cell, count)
    first = (count > 0) & (count == most[answers.cell])
    alone = first & (np.bincount(answers.cell, first, len(most))[answers.cell] == 1)
    found = np.full(len(most), -1)
    found[answers.cell[alone]] = answers.answer[alone]
    return found.reshape(answers.shape)


def answer_agreement(answers: AnswerCounts) -> FloatArray:
    """Chance that a generation each of two models gives the same answer, (M, M), mean over the questions of both.

    On the diagonal, of two different generations of one model; NaN where there are none. A generation without an answer
    agrees with no other.
    """
    from scipy.sparse import csr_array

    M, _ = answers.shape
    key = answers.question * len(answers.answers) + answers.answer
    pairs, place = np.unique(key[answers.read], return_inverse=True)
    by_answer = csr_array((answers.share[answers.read], (answers.model[answers.read], place)), shape=(M, len(pairs)))
    there = (answers.n_cell > 0).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (by_answer @ by_answer.T).toarray() / (there @ there.T)
        # Two of n generations: sum of c (c - 1) / (n (n - 1))
        n, same = answers.n_cell, answers.at_cells(answers.read * answers.n * (answers.n - 1.0))
        several = n > 1
        own = np.sum(np.divide(same, n * (n - 1), out=np.zeros_like(n), where=several), axis=1) / several.sum(axis=1)
    np.fill_diagonal(found, own)
    return np.asarray(found)
