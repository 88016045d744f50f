"""Whether the generations that a log holds are copies of one: the texts of up to 100 questions, compared."""

from __future__ import annotations

import zlib
from collections.abc import Hashable

__all__ = ["Copies"]

#: Questions that are looked at, and the fewest that tell anything.
MOST, FEW = 100, 3
#: "Nearly every": the share of them that may differ all the same.
SPARED = 0.05
#: Characters from which on an identical text is evidence of a copy; a short answer also comes twice by itself.
LONG = 200


class Copies:
    """Is fed every completion, in any order, and says in the end whether those of a question are all the same.

    Of the questions it keeps the `MOST` with the smallest hash, so a fair choice of the whole log that is the same
    every time; of each one the hash and the length of its first text, how many came, and whether another was among
    them. Completions that are None are no texts and are not compared.

    >>> copies = Copies()
    >>> for question in "abc":
    ...     for generation in (1, 2):
    ...         copies.add(question, f"It is {question}.")
    >>> print(copies.told())
    all generations of 3 of 3 questions looked at are the same text: a fixed seed, a cache, temperature 0, or answers \
too short to differ; copies are no generations of their own
    """

    def __init__(self) -> None:
        self._seen: dict[int, tuple[int, int, int, bool]] = {}
        self._highest: int | None = None

    def add(self, question: Hashable, completion: str | None) -> None:
        """Take note of one completion; `question` is what its repeats share, such as (model, question, variant)."""
        if completion is None:
            return
        place = zlib.crc32(repr(question).encode(errors="surrogatepass"))
        if self._highest is not None and place > self._highest:
            return
        text = hash(completion)
        first, length, n, differs = self._seen.get(place, (text, len(completion), 0, False))
        self._seen[place] = (first, length, n + 1, differs or text != first)
        if len(self._seen) > MOST:
            # What is put out never comes back: the highest hash that is kept only falls.
            del self._seen[max(self._seen)]
            self._highest = max(self._seen)

    @property
    def is_over(self) -> bool:
        """Whether so many questions differ that nothing will be said, whatever else comes of these questions."""
        return sum(differs for *_, differs in self._seen.values()) > SPARED * MOST

    def told(self) -> str | None:
        """One line when all generations of nearly every question with several are the same text; else None."""
        repeated = [(length, differs) for _, length, n, differs in self._seen.values() if n > 1]
        same = [length for length, differs in repeated if not differs]
        if len(same) < FEW or len(same) < (1 - SPARED) * len(repeated):
            return None
        is_long = sorted(same)[len(same) // 2] >= LONG
        cause = "a fixed seed, a cache or temperature 0" if is_long else _SHORT
        return (
            f"all generations of {len(same)} of {len(repeated)} questions looked at are the same text: {cause}; "
            "copies are no generations of their own"
        )


_SHORT = "a fixed seed, a cache, temperature 0, or answers too short to differ"
