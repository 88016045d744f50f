"""Detect that the generations of a log are copies of one, by comparing the texts of up to 100 questions."""

from __future__ import annotations

import zlib
from collections.abc import Hashable

#: Questions that are compared, and the fewest with identical texts that are reported.
N_COMPARED, N_FEWEST = 100, 3
#: Share of the questions whose texts may differ although nearly every question has identical ones.
DIFFERING_SHARE = 0.05
#: Characters from which on identical texts are evidence of copies; short answers are often the same by themselves.
N_LONG = 200


class IdenticalTexts:
    """Take every completion, in any order, and report whether those of each question are the same text.

    The `N_COMPARED` questions with the smallest hashes are compared: a fair choice of the whole log that is the same
    in every reading. Of each one, the hash and the length of its first text are held, the number of its texts, and
    whether another text was among them. A completion that is None is not compared.

    >>> texts = IdenticalTexts()
    >>> for question in "abc":
    ...     for generation in (1, 2):
    ...         texts.add(question, f"It is {question}.")
    >>> print(texts.describe())
    all generations of 3 of 3 questions compared are the same text: a fixed seed, a cache, temperature 0, or answers \
too short to differ; copies are no generations of their own
    """

    def __init__(self) -> None:
        #: By hash of the question: hash and length of its first text, number of texts, whether another one was seen.
        self._questions: dict[int, tuple[int, int, int, bool]] = {}
        self._highest: int | None = None
        #: The question of the last text, and its hash.
        self._last: Hashable = None
        self._place = 0

    def add(self, question: Hashable, completion: str | None) -> None:
        """Add one completion; `question` is what its repeats share, such as (model, question, variant)."""
        if completion is None:
            return
        if question != self._last:  # generations of a question mostly follow one another
            self._last, self._place = question, zlib.crc32(repr(question).encode(errors="surrogatepass"))
        place = self._place
        if self._highest is not None and place > self._highest:
            return
        text = hash(completion)
        first, length, n, differs = self._questions.get(place, (text, len(completion), 0, False))
        self._questions[place] = (first, length, n + 1, differs or text != first)
        if len(self._questions) > N_COMPARED:
            # A question that was dropped never comes back, since the highest hash that is held only falls.
            del self._questions[max(self._questions)]
            self._highest = max(self._questions)

    @property
    def is_decided(self) -> bool:
        """Whether so many questions have different texts that nothing will be reported."""
        return sum(differs for *_, differs in self._questions.values()) > DIFFERING_SHARE * N_COMPARED

    def describe(self) -> str | None:
        """Return a line if nearly every question with several texts has the same one each time; None otherwise."""
        repeated = [(length, differs) for _, length, n, differs in self._questions.values() if n > 1]
        lengths = [length for length, differs in repeated if not differs]
        if len(lengths) < N_FEWEST or len(lengths) < (1 - DIFFERING_SHARE) * len(repeated):
            return None
        is_long = sorted(lengths)[len(lengths) // 2] >= N_LONG
        cause = " or temperature 0" if is_long else ", temperature 0, or answers too short to differ"
        return (
            f"all generations of {len(lengths)} of {len(repeated)} questions compared are the same text: a fixed seed, "
            f"a cache{cause}; copies are no generations of their own"
        )
