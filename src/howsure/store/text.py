r"""How a text is kept: long ones compressed, and what UTF-8 cannot hold escaped.

A packed value of type str is the text itself; one of type bytes is zstd of its UTF-8. A lone surrogate (half of a
UTF-16 pair, which some JSON decoders let through and UTF-8 cannot hold) is kept as the escape that JSON would write,
six characters such as `\ud83d`; two halves that make a pair become their character. NUL is kept as it is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

__all__ = ["packer", "speakable", "unpacker"]

#: Characters up to which a text stays as it is: a shorter one does not shrink.
PLAIN = 120
#: zstd's own default of 3 takes half again as long for 3 % less.
LEVEL = 1


def speakable(text: str) -> str:
    r"""The text with every lone surrogate escaped, and no other change.

    >>> speakable("half \ud83d, whole \ud83d\ude00")
    'half \\ud83d, whole 😀'
    """
    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return paired.encode("utf-8", "backslashreplace").decode("utf-8")


def packer() -> Callable[[str | None], str | bytes | None]:
    """A function from text to what is kept of it; not for two threads at once."""
    import zstandard

    compress = zstandard.ZstdCompressor(level=LEVEL).compress

    def pack(text: str | None) -> str | bytes | None:
        if text is None or (len(text) <= PLAIN and text.isascii()):
            return text
        try:
            raw = text.encode()
        except UnicodeEncodeError:
            text = speakable(text)
            raw = text.encode()
        return compress(raw) if len(text) > PLAIN else text

    return pack


def unpacker() -> Callable[[str | bytes | None], str | None]:
    """The way back; not for two threads at once."""
    import zstandard

    decompress = zstandard.ZstdDecompressor().decompress

    def unpack(value: str | bytes | None) -> str | None:
        if not isinstance(value, bytes):
            return value
        try:
            return decompress(value).decode()
        except zstandard.ZstdError as error:
            raise sqlite3.DatabaseError(f"malformed text ({error})") from error

    return unpack
