"""Rows of one prompt that came together, as two values of a database: by column, in msgpack, long ones compressed.

A request brings many generations at once, and most of their columns are alike. Kept together they take a tenth of the
time and a third of the space that rows take one by one, and are found by the key that they share: all but `generation`.
Completions stand apart, so that whoever does not want them does not read them.
"""

from __future__ import annotations

import contextlib
import operator
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from howsure.errors import InputError
from howsure.store.schema import COLUMNS, KEY, Response
from howsure.store.text import LEVEL, speakable

__all__ = ["PROMPT", "Pack", "latest", "packer", "unpacker"]

#: Columns of the key that the rows of a pack share, and those that each row has for itself.
PROMPT, OWN = KEY[:-1], COLUMNS[len(KEY) - 1 :]
COMPLETION = OWN.index("completion")
SCORE, ERROR = OWN.index("score"), OWN.index("error")
_WORDS: dict[type[str | int | float], str] = {str: "text", int: "a whole number", float: "a number"}
#: What each of these columns holds, and the types that need no cast.
_KINDS = [next(kind for kind in _WORDS if Response.__annotations__[name].startswith(kind.__name__)) for name in OWN]
_SOUND = [{kind, type(None), *((int, bool) if kind is not str else ())} for kind in _KINDS]
#: Bytes up to which completions, and the other columns, stay as they are: less is not worth the time.
PLAIN, PLAIN_SHARED = 250, 1000
#: The first byte of what zstd compressed; no list in msgpack begins with it.
COMPRESSED = 0x28

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Any]).decode


class Pack(NamedTuple):
    """Rows of one prompt by column, in the order of `OWN`."""

    columns: list[Any]
    """Generations as a list; of each other column a list too, or the value that all rows share.

    Completions may be None where none are wanted.
    """

    @classmethod
    def of(cls, rows: Sequence[tuple[Any, ...]]) -> Pack:
        """One row at least, each with the columns `OWN`."""
        if len(rows) == 1:
            generation, *values = rows[0]
            return cls([[generation], *values])
        generations, *columns = map(list, zip(*rows, strict=True))
        return cls(
            [generations, *(held if column.count(held := column[0]) == len(rows) else column for column in columns)]
        )

    def column(self, i: int) -> list[Any]:
        """A value for each row."""
        held = self.columns[i]
        return held if isinstance(held, list) else [held] * len(self.columns[0])

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Each row's values, in the order of `OWN`."""
        return zip(*map(self.column, range(len(OWN))), strict=True)


def packer() -> Callable[[Sequence[tuple[Any, ...]]], tuple[bytes, bytes]]:
    """A function from rows, the columns `OWN` of each, to what is kept of them and of their completions.

    Not for two threads at once.

    Lone surrogates are escaped (`store.text`). OverflowError at an integer of more than 64 bits.
    """
    import zstandard

    compress = zstandard.ZstdCompressor(level=LEVEL).compress

    def packed(values: list[Any], plain: int) -> bytes:
        try:
            raw = _encode(values)
        except UnicodeEncodeError:
            raw = _encode([_spoken(value) for value in values])
        return compress(raw) if len(raw) > plain else raw

    def pack(rows: Sequence[tuple[Any, ...]]) -> tuple[bytes, bytes]:
        columns = Pack.of(rows).columns
        for i, (column, sound) in enumerate(zip(columns, _SOUND, strict=True)):
            if type(column) not in sound:
                columns[i] = _sound(i, column)
        completion, columns[COMPLETION] = columns[COMPLETION], None
        return packed(columns, PLAIN_SHARED), packed([completion], PLAIN)

    return pack


def unpacker() -> Callable[[bytes, bytes | None], Pack]:
    """The way back, without completions where they are None; not for two threads at once."""
    import zstandard

    decompress = zstandard.ZstdDecompressor().decompress

    def unpacked(raw: bytes) -> list[Any]:
        try:
            return _decode(decompress(raw) if raw[0] == COMPRESSED else raw)
        except (zstandard.ZstdError, msgspec.DecodeError, IndexError) as error:
            raise sqlite3.DatabaseError(f"malformed text ({error})") from error

    def unpack(shared: bytes, completions: bytes | None) -> Pack:
        columns = unpacked(shared)
        if completions is not None:
            (columns[COMPLETION],) = unpacked(completions)
        return Pack(columns)

    return unpack


def latest(packs: Sequence[Pack]) -> Pack:
    """The rows of one prompt sorted by generation: of each generation the first that did not fail, else the last."""
    if len(packs) == 1:
        generations = packs[0].columns[0]
        if all(map(operator.lt, generations, generations[1:])):
            return packs[0]
    kept: dict[int, tuple[Any, ...]] = {}
    for pack in packs:
        for row in pack.rows():
            old = kept.get(row[0])
            if old is None or old[SCORE] is None or old[ERROR] is not None:
                kept[row[0]] = row
    return Pack.of([kept[generation] for generation in sorted(kept)])


def _sound(i: int, column: Any) -> Any:
    """A column as Arrow will want it: numbers where text belongs, and kinds of text and number of others, are cast."""
    if not isinstance(column, list):
        return _cast(i, column)
    return column if _SOUND[i].issuperset(map(type, column)) else [_cast(i, value) for value in column]


def _cast(i: int, value: object) -> object:
    kind = _KINDS[i]
    if value is None:
        return None
    if isinstance(value, str | int | float):
        with contextlib.suppress(ValueError, OverflowError):
            cast: str | int | float = kind(value)
            if kind is not int or cast == value:
                return cast
    raise InputError(f"{OWN[i]} is {value!r}", where="a row", remedy=f"give {_WORDS[kind]}, or None")


def _spoken(value: Any) -> Any:
    if isinstance(value, str):
        return speakable(value)
    return [_spoken(each) for each in value] if isinstance(value, list) else value
