"""Suspected label errors in benchmarks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from howsure.readers.evaluations import Evaluations, to_answers
from howsure.readers.sources import Data
from howsure.stats import questions
from howsure.stats.core.claims import CONSISTENCY_METHODS, ConsistencyMethod, check_choice
from howsure.stats.questions import AnswerCounts
from howsure.stats.questions.label_errors import Audit

#: Answers of models to the questions of one or several benchmarks.
AnswersLike: TypeAlias = Data | Evaluations | AnswerCounts | Mapping[str, AnswerCounts]


def audit(
    data: AnswersLike,
    *,
    every: bool = False,
    max_share: float = 0.1,
    method: ConsistencyMethod = "corrected",
) -> Audit:
    """List questions whose label may be wrong, the most suspicious first.

    A question is suspected if it is rarely answered right and nearly always in the same way, or if several models agree
    on another answer.

    Parameters
    ----------
    data
        Results of `howsure.read` or anything that it takes, with answers: run folders and logs, not tables of scores;
        or the answers of each benchmark.
    every
        True lists every question, not only the suspected ones.
    max_share
        Largest share of wrong labels thought possible, in (0, 1). It changes ``p_wrong_max`` but not the order.
    method
        How the agreement of answers is estimated: ``"corrected"`` for few generations, or ``"plugin"``.

    Returns
    -------
    Audit
        A row per question: its target, the other answer that models prefer, ``evidence``, and ``p_wrong_max``, the
        upper limit of the probability that the label is wrong.

    Raises
    ------
    InputError
        If there are no answers, or `max_share` is not between 0 and 1.

    Notes
    -----
    The evidence is the log-likelihood ratio of the preferred answer and the label in Dawid and Skene's model with one
    parameter per model [1]_. It is no probability: answers cannot distinguish a wrong label from a right one that all
    models miss in the same way.

    References
    ----------
    .. [1] Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm.
    .. [2] Northcutt, Athalye and Mueller (2021), Pervasive label errors in test sets destabilize machine learning
       benchmarks.

    Examples
    --------
    >>> import howsure as hs
    >>> from howsure.stats.questions import AnswerCounts
    >>> answers = {model: {"q1": ["4", "4"], "q2": ["7", "7"], "q3": ["2", "3"]} for model in "abc"}
    >>> counts = AnswerCounts.from_generations("sums", answers, {"q1": "4", "q2": "8", "q3": "3"})
    >>> hs.audit(counts)["question"].tolist()
    ['q2']
    """
    check_choice("method", method, CONSISTENCY_METHODS)
    return questions.audit(to_answers(data), every=every, max_share=max_share, method=method)
