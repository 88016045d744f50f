"""Questions whose scores are unusual: what is left to look for where the answers of the models are not recorded.

Scores alone show three patterns that a wrong label makes, and a hard or ambiguous question makes, too: no model ever
solves the question; better models do worse on it (Kendall's tau with the score on the other questions is negative); or
the model with the lowest score solves it, and the one with the highest never does. Whether the models agree on another
answer, the strongest evidence, cannot be looked for without answers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.stats.core.cells import Cells, FloatArray, IntArray, list_greedy_runs, mean_where
from howsure.stats.core.results import Result, Results, format_table, notes
from howsure.stats.questions.items import compute_question_tau

__all__ = ["ScoreAudit", "UnusualQuestions", "audit_scores", "find_unusual_questions"]

#: Largest two-sided p-value of a negative tau that makes a question unusual.
MAX_P_VALUE = 0.05

#: The patterns, in the order of the column that names them.
_PATTERNS = ("unsolved by all", "better models do worse", "solved by the worst, never by the best")


@dataclass(frozen=True, eq=False)
class UnusualQuestions(Result):
    """Scores of N questions that may be wrong, the most suspicious first; arrays have length N.

    Attributes
    ----------
    benchmark, questions
        Names.
    n_models
        Models that answered the question, without greedy runs of others.
    score
        Mean of the question over these models.
    tau, p_value
        As in `QuestionTau`.
    is_unsolved, is_reversed, is_solved_by_worst
        Whether no model scored above 0 at any time; whether tau is negative with a p-value of at most .05; whether the
        model with the lowest score on the benchmark has a generation above 0 and the one with the highest has none.
    looked_for
        The patterns that these scores could show.

    Examples
    --------
    >>> scores = [[[1], [1], [0]], [[1], [0], [0]], [[0], [0], [0]]]
    >>> result = find_unusual_questions(Cells.from_scores("demo", ["a", "b", "c"], ["q1", "q2", "q3"], scores))
    >>> result.questions, result.is_unsolved.tolist()
    (('q3', 'q1', 'q2'), [True, False, False])
    """

    benchmark: str
    questions: tuple[str, ...]
    n_models: IntArray
    score: FloatArray
    tau: FloatArray
    p_value: FloatArray
    is_unsolved: NDArray[np.bool_]
    is_reversed: NDArray[np.bool_]
    is_solved_by_worst: NDArray[np.bool_]
    looked_for: tuple[str, ...]

    @property
    def suspected(self) -> NDArray[np.bool_]:
        """Whether the question shows one of the patterns, shape (N,)."""
        return np.asarray(self.is_unsolved | self.is_reversed | self.is_solved_by_worst)

    def select(self, questions: NDArray[np.bool_]) -> UnusualQuestions:
        """Return the result for the questions of a mask."""
        at = np.flatnonzero(questions)
        return UnusualQuestions(
            self.benchmark,
            tuple(self.questions[int(i)] for i in at),
            self.n_models[at],
            self.score[at],
            self.tau[at],
            self.p_value[at],
            self.is_unsolved[at],
            self.is_reversed[at],
            self.is_solved_by_worst[at],
            self.looked_for,
        )

    declared = "benchmark question=questions n_models score tau p_value suspected_by=_suspected_by"

    def _suspected_by(self) -> NDArray[np.object_]:
        """What is unusual about each question."""
        flags = (self.is_unsolved, self.is_reversed, self.is_solved_by_worst)
        return notes(dict(zip(_PATTERNS, flags, strict=True)))


@dataclass(frozen=True)
class ScoreAudit(Results):
    """Unusual questions of several benchmarks; below the printed table stands what could be looked for.

    Examples
    --------
    >>> scores = [[[1], [0]], [[0], [0]]]
    >>> print(audit_scores([Cells.from_scores("demo", ["a", "b"], ["q1", "q2"], scores)])["question"].tolist())
    ['q2']
    """

    def format_rows(self, width: int | None) -> str:
        """Return the printed table, with what could be looked for below it."""
        columns = self.columns()
        table = format_table(columns, width) if len(columns["question"]) else "no question with such scores"
        lines = []
        for part in self.parts:
            assert isinstance(part, UnusualQuestions)
            missing = "; ".join(pattern for pattern in _PATTERNS if pattern not in part.looked_for)
            line = f"{part.benchmark}: no answers are recorded; looked for in the scores: "
            line += f"{'; '.join(part.looked_for) or 'nothing'}."
            lines.append(line + f" These scores cannot show: {missing}." * bool(missing))
        last = (
            "Answers on which models agree against the label were not looked for: that takes run folders, logs, or "
            "tables with answers and targets, and verdicts of a judge are no answers. Hard questions and chance make "
            "the same patterns: read the questions before you leave one out."
        )
        return "\n".join([table, *lines, last])


def audit_scores(benchmarks: list[Cells], *, every: bool = False) -> ScoreAudit:
    """Find the questions of each benchmark whose scores are unusual.

    Parameters
    ----------
    benchmarks
        Cells of each benchmark.
    every
        Whether to return all questions, instead of those that show a pattern.

    Returns
    -------
    ScoreAudit
        One `UnusualQuestions` for each benchmark that two models answered.

    Raises
    ------
    InputError
        Where no benchmark has two models, besides greedy runs of others.

    Examples
    --------
    >>> scores = [[[1], [0]], [[0], [0]]]
    >>> len(audit_scores([Cells.from_scores("demo", ["a", "b"], ["q1", "q2"], scores)], every=True)["question"])
    2
    """
    parts = [
        find_unusual_questions(cells)
        for cells in benchmarks
        if int(cells.answered.any(axis=1).sum()) - len(list_greedy_runs(cells.models)) > 1
    ]
    if not parts:
        remedy = "give run folders or logs, or scores of at least two models"
        raise InputError("there are no answers to audit", where="audit", remedy=remedy)
    return ScoreAudit(tuple(part if every else part.select(part.suspected) for part in parts))


def find_unusual_questions(cells: Cells) -> UnusualQuestions:
    """Order the questions of a benchmark by how unusual the scores of the models on them are.

    Parameters
    ----------
    cells
        Scores of at least two models; of greedy runs beside their models, nothing is used.

    Returns
    -------
    UnusualQuestions
        Every question that two models answered: those with most patterns first, then by tau, unknown last.

    Notes
    -----
    Of questions on which models differ by chance alone about 2.5 % have a negative tau with p <= .05. A model with the
    lowest or the highest score that shares it with another is not singled out. Whether a question is solved is known
    for scores in [0, 1] only.

    Examples
    --------
    >>> scores = [[[1], [0], [1]], [[0], [1], [0]]]
    >>> result = find_unusual_questions(Cells.from_scores("demo", ["a", "b"], ["q1", "q2", "q3"], scores))
    >>> result.questions[0], result.is_solved_by_worst.tolist()
    ('q2', [True, False, False])
    """
    greedy = list_greedy_runs(cells.models)
    cells = cells.select([model for model in cells.models if model not in greedy])
    result = compute_question_tau(cells)
    N = len(cells.questions)
    solved, answered = cells.total > 0, cells.answered
    has_two = np.sum(answered, axis=0) > 1
    is_unsolved = has_two & ~np.any(solved & answered, axis=0) & cells.unit
    is_solved_by_worst = np.zeros(N, bool)
    means = mean_where(cells.mean, answered)
    lowest, highest = float(np.nanmin(means)), float(np.nanmax(means))
    is_lowest, is_highest = means <= lowest + 1e-12, means >= highest - 1e-12
    has_ends = cells.unit and lowest < highest - 1e-12 and int(is_lowest.sum()) == int(is_highest.sum()) == 1
    if has_ends:
        worst, best = int(np.flatnonzero(is_lowest)[0]), int(np.flatnonzero(is_highest)[0])
        is_solved_by_worst = answered[worst] & answered[best] & solved[worst] & ~solved[best]
    with np.errstate(invalid="ignore"):
        is_reversed = (result.tau < 0) & (result.p_value <= MAX_P_VALUE)
    can_show = (bool(cells.unit), bool(np.any(~np.isnan(result.tau))), bool(has_ends))
    count = is_unsolved.astype(int) + is_reversed + is_solved_by_worst
    order = np.lexsort((np.where(np.isnan(result.tau), 2, result.tau), -count))
    unusual = UnusualQuestions(
        cells.benchmark,
        tuple(cells.questions[int(i)] for i in order),
        result.n_models[order],
        result.score[order],
        result.tau[order],
        result.p_value[order],
        is_unsolved[order],
        is_reversed[order],
        is_solved_by_worst[order],
        tuple(pattern for pattern, can in zip(_PATTERNS, can_show, strict=True) if can),
    )
    return unusual.select(has_two[order])
