"""Draws by hash: the same on every machine and Python, each its own, exactly uniform by rejection."""

from __future__ import annotations

import hashlib

__all__ = ["below", "key", "permutation"]

RANGE = 2**64


def below(n: int, *parts: object) -> int:
    """A whole number from 0 to n - 1, exactly uniform over the hashes of `parts`.

    Hashes at or above the largest multiple of n are drawn again, so that no remainder is likelier than another.

    >>> below(4, 7, 0, "order"), below(1, "anything")
    (3, 0)
    """
    if n == 1:
        return 0
    bound = RANGE - RANGE % n
    attempt = 0
    while (drawn := _hash(*parts, attempt)) >= bound:
        attempt += 1
    return drawn % n


def key(*parts: object) -> str:
    """A name for further draws: 16 hexadecimal digits."""
    return f"{_hash(*parts):016x}"


def permutation(n: int, *parts: object, k: int | None = None) -> tuple[int, ...]:
    """The first k of a uniform permutation of 0 to n - 1 (all by default); a larger k keeps the first ones."""
    items = list(range(n))
    k = n if k is None else k
    for i in range(k):
        j = i + below(n - i, *parts, "place", i)
        items[i], items[j] = items[j], items[i]
    return tuple(items[:k])


def _hash(*parts: object) -> int:
    text = "".join(f"{part}\0" for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
