"""Detect that the generations of a log are copies of one, by comparing the texts of up to 100 questions."""

from __future__ import annotations

import zlib
from collections.abc import Hashable

#: Number of questions that are compared, and smallest number with identical texts that is reported.
N_COMPARED, N_FEWEST = 100, 3
#: Largest share of questions with different texts for which the others are still reported.
DIFFERING_SHARE = 0.05
#: Length in characters from which identical texts are evidence of copies; short answers are often equal by chance.
N_LONG = 200


class IdenticalTexts:
    """Collect completions in any order, and report whether all completions of each question are the same text.

    The `N_COMPARED` questions with the smallest hashes are compared. They are a random sample of the log that is the
    same in every reading. For each question, the hash and the length of its first text are stored, the number of its
    texts, and whether one of them was different. A completion that is None is not compared.

    >>> texts = IdenticalTexts()
    >>> for question in "abc":
    ...     for generation in (1, 2):
    ...         texts.add(question, f"It is {question}.")
    >>> texts.describe()
    {'same': 3, 'total': 3, 'cause': ', temperature 0, or answers too short to differ'}
    """

    def __init__(self) -> None:
        #: By hash of the question: hash and length of its first text, number of texts, whether another one was seen.
        self._questions: dict[int, tuple[int, int, int, bool]] = {}
        self._highest: int | None = None
        #: The question of the last text, and the hash of the question.
        self._last: Hashable = None
        self._place = 0

    def add(self, question: Hashable, completion: str | None) -> None:
        """Add one completion; `question` is what its repeats share, such as (model, question, variant)."""
        if completion is None:
            return
        if question != self._last:  # generations of one question are usually consecutive
            self._last, self._place = question, zlib.crc32(repr(question).encode(errors="surrogatepass"))
        place = self._place
        if self._highest is not None and place > self._highest:
            return
        text = hash(completion)
        first, length, n, differs = self._questions.get(place, (text, len(completion), 0, False))
        self._questions[place] = (first, length, n + 1, differs or text != first)
        if len(self._questions) > N_COMPARED:
            # A question that was dropped cannot return, because the largest stored hash only decreases.
            del self._questions[max(self._questions)]
            self._highest = max(self._questions)

    @property
    def is_decided(self) -> bool:
        """Whether so many questions have different texts that nothing will be reported."""
        return sum(differs for *_, differs in self._questions.values()) > DIFFERING_SHARE * N_COMPARED

    def describe(self) -> dict[str, object] | None:
        """Return the facts of the note if nearly every question with several texts has identical texts, else None."""
        repeated = [(length, differs) for _, length, n, differs in self._questions.values() if n > 1]
        lengths = [length for length, differs in repeated if not differs]
        if len(lengths) < N_FEWEST or len(lengths) < (1 - DIFFERING_SHARE) * len(repeated):
            return None
        is_long = sorted(lengths)[len(lengths) // 2] >= N_LONG
        cause = " or temperature 0" if is_long else ", temperature 0, or answers too short to differ"
        return {"same": len(lengths), "total": len(repeated), "cause": cause}
