"""Draw numbers by hash: the same on every machine, independent of one another, and exactly uniform by rejection."""

from __future__ import annotations

import hashlib

__all__ = ["draw_below", "draw_key", "draw_permutation"]

#: Number of values of a hash.
RANGE = 2**64


def draw_below(n: int, *parts: object) -> int:
    """Return a whole number from 0 to n - 1, exactly uniform over the hashes of `parts`.

    A hash at or above the largest multiple of n is drawn again, so that no remainder is more likely than another.

    >>> draw_below(4, 7, 0, "order"), draw_below(1, "anything")
    (3, 0)
    """
    if n == 1:
        return 0
    bound = RANGE - RANGE % n
    attempt = 0
    while (number := _hash(*parts, attempt)) >= bound:
        attempt += 1
    return number % n


def draw_key(*parts: object) -> str:
    """Return the key of further draws: 16 hexadecimal digits."""
    return f"{_hash(*parts):016x}"


def draw_permutation(n: int, *parts: object, k: int | None = None) -> tuple[int, ...]:
    """Return the first k of a uniform permutation of 0 to n - 1, by default all; a larger k keeps the first ones."""
    items = list(range(n))
    k = n if k is None else k
    for i in range(k):
        j = i + draw_below(n - i, *parts, "place", i)
        items[i], items[j] = items[j], items[i]
    return tuple(items[:k])


def _hash(*parts: object) -> int:
    """Return a hash of 64 bits."""
    text = "".join(f"{part}\0" for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
