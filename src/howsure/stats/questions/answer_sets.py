"""Sets of answers with the same meaning, of which GEN's S(consistency) is made (semantic sets).

Whether two answers mean the same is decided elsewhere, by a model; here answers are grouped and their counts added.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from howsure.errors import InputError
from howsure.stats.core.cells import IntArray
from howsure.stats.questions.consistency import AnswerCounts

__all__ = ["AnswerPair", "count_most_comparisons", "merge_equivalent_answers"]

#: A letter or a number alone, as texts: two of them are one set where they are the same number, and else never.
_SYMBOL = re.compile(r"\W*(?:[^\W\d_]|[-+−]?\d[\d.,:/ ]*)\s*%?\W*")

#: Longest number that is compared by its value, in characters.
LONGEST_NUMBER = 60
_VALUE = re.compile(
    r"(?P<currency>[$€£¥₹]?) *(?P<sign>[-+−]?)\s*(?P<whole>\d{1,3}(?:,\d{3})+|\d*)(?P<decimals>\.\d+)?"
    r"(?:\s?/\s?(?P<divisor>\d+))?\s*(?P<percent>%?)[ .]*"
)
# "1.000", which is a thousand where a point groups digits, and one where it begins decimals.
_GROUPED = re.compile(r"[1-9]\d{0,2}\.\d{3}")


class AnswerPair(NamedTuple):
    """Two answers to a question.

    Examples
    --------
    >>> AnswerPair("q1", "Paris", "It is Paris.").second
    'It is Paris.'
    """

    question: str
    """Id of the question."""
    first: str
    second: str


def merge_equivalent_answers(
    answers: AnswerCounts, match: Callable[[Sequence[AnswerPair]], ArrayLike], *, sets: str
) -> AnswerCounts:
    """Group the answers to each question into sets of the same meaning, and add the counts of each set.

    Parameters
    ----------
    answers
        Counts of equal answers.
    match
        Function of pairs of answers that returns for each whether both mean the same. It is called once for each
        answer of the question with the most answers, with the pairs of all questions together.
    sets
        How the sets are made, for `AnswerCounts.sets`.

    Returns
    -------
    AnswerCounts
        The counts of the sets. A set has the name of the target if that is in it, or else of its most frequent answer.

    Raises
    ------
    InputError
        When `match` does not return a value for each pair.

    Notes
    -----
    The answers to a question are taken from the most frequent to the rarest, over all models. Each is compared with the
    first answer of every set there is, joins the first set that matches, and is a new set where none does. So sets
    depend on the order where meanings are not transitive. `match` is not asked about two numbers or letters: numbers
    are one set where their values are equal (.5, 0.5, 1/2 and 50 %, but not 50 and 50 %), and two sets otherwise. $5
    and 5 are equal, $5 and €5 are not. A point before three digits may group thousands: 1.000 is neither 1 nor 1,000.

    References
    ----------
    Kuhn, Gal and Farquhar (2023), Semantic uncertainty, algorithm 1; Zhang et al. (2025), Beyond the Singular,
    appendix E.

    Examples
    --------
    >>> counts = AnswerCounts.from_generations("b", {"m": {"q": ["Paris", "It is Paris", "Rome"]}}, {"q": "Paris"})
    >>> merged = merge_equivalent_answers(counts, lambda pairs: ["Paris" in p.first + p.second and "Rome" not in
    ...     (p.first, p.second) for p in pairs], sets="by hand")
    >>> merged.answers, merged.n.tolist()
    (('Paris', 'Rome'), [2, 1])
    """
    queues = _order_answers(answers)
    heads: dict[int, list[int]] = {question: [own[0]] for question, own in queues.items()}
    head_of = {(question, own[0]): own[0] for question, own in queues.items()}
    for turn in range(1, max(map(len, queues.values()), default=0)):
        compared = [
            (question, head, own[turn])
            for question, own in queues.items()
            if turn < len(own)
            for head in heads[question]
            if _may_match(answers.answers[head], answers.answers[own[turn]])
        ]
        verdicts = _call_match(match, answers, compared)
        compared, verdicts = _add_equal_values(answers, queues, heads, turn, compared, verdicts)
        for (question, head, answer), is_same in zip(compared, verdicts, strict=True):
            if is_same:
                head_of.setdefault((question, answer), head)
        for question, own in queues.items():
            if turn < len(own) and (question, own[turn]) not in head_of:
                head_of[question, own[turn]] = own[turn]
                heads[question].append(own[turn])
    name_of = _name_sets(answers, head_of)
    codes = [
        -1 if answer < 0 else name_of[question, head_of[question, answer]]
        for question, answer in zip(answers.question.tolist(), answers.answer.tolist(), strict=True)
    ]
    used = sorted({code for code in codes if code >= 0})
    place = {code: i for i, code in enumerate(used)}
    merged = AnswerCounts.of(
        answers.benchmark,
        (answers.models, answers.questions, [answers.answers[code] for code in used]),
        (answers.model, answers.question, [place.get(code, -1) for code in codes]),
        n=answers.n,
        scored=answers.scored,
        total=answers.total,
        targets=answers.known_targets,
    )
    return replace(merged, sets=sets)


def count_most_comparisons(answers: AnswerCounts) -> int:
    """Return the largest number of pairs that `merge_equivalent_answers` may compare.

    Examples
    --------
    >>> given = {"m": {"q": ["Rome", "Oslo", "Lima"], "r": ["A", "B"]}}
    >>> count_most_comparisons(AnswerCounts.from_generations("b", given, {}))
    3
    """
    return sum(
        _may_match(answers.answers[first], answers.answers[second])
        for own in _order_answers(answers).values()
        for i, second in enumerate(own)
        for first in own[:i]
    )


def _order_answers(answers: AnswerCounts) -> dict[int, list[int]]:
    """Return the answers to each question that has some, from the most frequent to the rarest, then by text."""
    parsed = answers.parsed & (answers.n > 0)
    A = max(len(answers.answers), 1)
    cells, place = np.unique(answers.question[parsed] * A + answers.answer[parsed], return_inverse=True)
    count: IntArray = np.bincount(place, answers.n[parsed], len(cells)).astype(np.int64)
    question, answer = np.divmod(cells, A)
    queues: dict[int, list[int]] = {}
    for i in np.lexsort((answer, -count, question)).tolist():
        queues.setdefault(int(question[i]), []).append(int(answer[i]))
    return queues


def _may_match(first: str, second: str) -> bool:
    """Return whether two different answers may mean the same: not two numbers or letters."""
    return not (_SYMBOL.fullmatch(first) and _SYMBOL.fullmatch(second))


def _add_equal_values(
    answers: AnswerCounts,
    queues: dict[int, list[int]],
    heads: dict[int, list[int]],
    turn: int,
    compared: list[tuple[int, int, int]],
    verdicts: list[bool],
) -> tuple[list[tuple[int, int, int]], list[bool]]:
    """Return the comparisons of a turn and their verdicts, with those of equal numbers before them."""
    equal = [
        (question, head, own[turn])
        for question, own in queues.items()
        if turn < len(own) and (number := _parse_number(answers.answers[own[turn]])) is not None
        for head in heads[question]
        if (other := _parse_number(answers.answers[head])) is not None and _are_equal(number, other)
    ]
    return [*equal, *compared], [*([True] * len(equal)), *verdicts]


class _Number(NamedTuple):
    """An answer that is a number: its value, its currency or "", and whether its point may group thousands."""

    value: Fraction
    currency: str
    is_ambiguous: bool


def _parse_number(text: str) -> _Number | None:
    """Return the number that an answer is, such as .5, 1/2 or 50 %; None if it is none, or too long for one."""
    match = _VALUE.fullmatch(text.strip()) if len(text) <= LONGEST_NUMBER else None
    if match is None or not (match["whole"] or match["decimals"]) or not int(match["divisor"] or 1):
        return None
    value = Fraction(f"{match['whole'].replace(',', '') or 0}{match['decimals'] or ''}") / int(match["divisor"] or 1)
    value = value / 100 if match["percent"] else value
    is_ambiguous = _GROUPED.fullmatch(f"{match['whole']}{match['decimals'] or ''}") is not None
    return _Number(-value if match["sign"] in {"-", "−"} else value, match["currency"], is_ambiguous)


def _are_equal(first: _Number, second: _Number) -> bool:
    """Return whether two numbers are equal: in value, in currency where both have one, and in how they can be read."""
    has_same_currency = first.currency == second.currency or not (first.currency and second.currency)
    return first.value == second.value and first.is_ambiguous == second.is_ambiguous and has_same_currency


def _call_match(
    match: Callable[[Sequence[AnswerPair]], ArrayLike], answers: AnswerCounts, compared: list[tuple[int, int, int]]
) -> list[bool]:
    """Return the verdict on each pair; raise InputError where one lacks."""
    if not compared:
        return []
    pairs = [
        AnswerPair(answers.questions[question], answers.answers[head], answers.answers[answer])
        for question, head, answer in compared
    ]
    verdicts = np.asarray(match(pairs), bool)
    if verdicts.shape != (len(pairs),):
        what = f"the function that matches answers returned shape {verdicts.shape} for {len(pairs)} pairs"
        raise InputError(what, where=answers.benchmark, remedy="return True or False for each pair")
    return [bool(verdict) for verdict in verdicts]


def _name_sets(answers: AnswerCounts, head_of: dict[tuple[int, int], int]) -> dict[tuple[int, int], int]:
    """Return the answer that names each set, by question and first answer: the target, or the first answer."""
    name_of = {(question, head): head for question, head in {(q, head) for (q, _), head in head_of.items()}}
    code = {answer: i for i, answer in enumerate(answers.answers)}
    for question, target in enumerate(answers.targets):
        head = None if target is None else head_of.get((question, code.get(target, -1)))
        if target is not None and head is not None:
            name_of[question, head] = code[target]
    return name_of
