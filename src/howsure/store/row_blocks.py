r"""Encode the rows of one prompt that arrived together as two values of a database: by column, in msgpack.

A request returns many generations at once, and most of their columns have equal values. A block of such rows takes a
tenth of the time and a third of the space of single rows. It is found by the key that its rows share, which is all
columns of the key except `generation`. Completions are a separate value, which is read only where they are needed.

Long values are compressed. A lone surrogate (half of a UTF-16 pair, which some JSON decoders accept and UTF-8 cannot
hold) is stored as the escape that JSON would write, six characters such as `\ud83d`. Two halves that make a pair become
their character. NUL is stored unchanged.
"""

from __future__ import annotations

import contextlib
import operator
import sqlite3
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.store.schema import COLUMNS, KEY, Response

#: Columns of the key that the rows of a block share, and columns that each row has for itself.
SHARED_KEY, ROW_COLUMNS = KEY[:-1], COLUMNS[len(KEY) - 1 :]
_COMPLETION, _REASONING = ROW_COLUMNS.index("completion"), ROW_COLUMNS.index("reasoning")
_SCORE, _ERROR = ROW_COLUMNS.index("score"), ROW_COLUMNS.index("error")
_TYPE_NAMES: dict[type[str | int | float], str] = {str: "text", int: "a whole number", float: "a number"}
#: The type of each of these columns, and the types that need no cast.
_TYPES = [
    next(kind for kind in _TYPE_NAMES if Response.__annotations__[name].startswith(kind.__name__))
    for name in ROW_COLUMNS
]
_ACCEPTED = [{kind, type(None), *((int, bool) if kind is not str else ())} for kind in _TYPES]
#: Bytes up to which completions, and the other columns, are not compressed: it would gain less than it costs.
_PLAIN_COMPLETIONS, _PLAIN_SHARED = 250, 1000
#: Characters up to which a single text is not compressed: it would not become shorter.
_PLAIN_TEXT = 120
#: Level of zstd. Its default of 3 takes half again as long for 3 % less.
_LEVEL = 1
#: Largest number of bytes of a decompressed value.
_LONGEST = 1 << 31
#: The first byte of what zstd compressed; no list in msgpack begins with it.
_COMPRESSED = 0x28

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Any]).decode


class RowBlock(NamedTuple):
    """Rows of one prompt by column, in the order of `ROW_COLUMNS`.

    Examples
    --------
    >>> rest = (None,) * (len(ROW_COLUMNS) - 2)
    >>> block = RowBlock.from_rows([(1, 0.5, *rest), (2, 0.5, *rest)])
    >>> block.columns[:2], block.column(1)
    ([[1, 2], 0.5], [0.5, 0.5])
    """

    columns: list[Any]
    """Generations as a list; each other column as a list too, or as the value that all rows share.

    Completions and reasoning are None where they were not read.
    """

    @classmethod
    def from_rows(cls, rows: Sequence[tuple[object, ...]]) -> RowBlock:
        """Return a block of one row or more, each with the columns `ROW_COLUMNS`."""
        if len(rows) == 1:
            generation, *values = rows[0]
            return cls([[generation], *values])
        generations, *columns = map(list, zip(*rows, strict=True))
        return cls(
            [generations, *(first if column.count(first := column[0]) == len(rows) else column for column in columns)]
        )

    def column(self, i: int) -> list[object]:
        """Return a column with a value for each row."""
        column = self.columns[i]
        return column if isinstance(column, list) else [column] * len(self.columns[0])

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Yield the values of each row, in the order of `ROW_COLUMNS`."""
        return zip(*map(self.column, range(len(ROW_COLUMNS))), strict=True)


def build_block_encoder() -> Callable[[Sequence[tuple[object, ...]]], tuple[bytes, bytes]]:
    """Return a function from rows, the columns `ROW_COLUMNS` of each, to the bytes of a block and of its texts.

    The function is not thread-safe. It raises OverflowError for an integer of more than 64 bits.
    """
    from backports import zstd

    def encode_values(values: list[Any], plain: int) -> bytes:
        try:
            raw = _encode(values)
        except UnicodeEncodeError:
            raw = _encode([_escape_value(value) for value in values])
        return zstd.compress(raw, _LEVEL) if len(raw) > plain else raw

    def encode_block(rows: Sequence[tuple[object, ...]]) -> tuple[bytes, bytes]:
        columns = RowBlock.from_rows(rows).columns
        for i, (column, accepted) in enumerate(zip(columns, _ACCEPTED, strict=True)):
            if type(column) not in accepted:
                columns[i] = _cast_column(i, column)
        texts = [columns[_COMPLETION], columns[_REASONING]]
        columns[_COMPLETION] = columns[_REASONING] = None
        return encode_values(columns, _PLAIN_SHARED), encode_values(texts, _PLAIN_COMPLETIONS)

    return encode_block


def build_block_decoder() -> Callable[[bytes, bytes | None], RowBlock]:
    """Return the inverse of `build_block_encoder`, for one thread; completions that are None are left out."""
    from backports import zstd

    def decode_values(raw: bytes) -> list[Any]:
        try:
            return _decode(_decompress(raw) if raw[0] == _COMPRESSED else raw)
        except (zstd.ZstdError, msgspec.DecodeError, IndexError) as error:
            raise sqlite3.DatabaseError(f"malformed text ({error})") from error

    def decode_block(shared: bytes, completions: bytes | None) -> RowBlock:
        columns = decode_values(shared)
        columns += [None] * (len(ROW_COLUMNS) - len(columns))  # of an older version
        if completions is not None:
            columns[_COMPLETION], *thoughts = decode_values(completions)
            columns[_REASONING] = thoughts[0] if thoughts else None
        return RowBlock(columns)

    return decode_block


def merge_blocks(blocks: Sequence[RowBlock]) -> RowBlock:
    """Merge the blocks of one prompt by generation: of each, the first row that did not fail, else the last row."""
    if len(blocks) == 1:
        generations = blocks[0].columns[0]
        if all(map(operator.lt, generations, generations[1:])):
            return blocks[0]
    row_of: dict[Any, tuple[object, ...]] = {}
    for block in blocks:
        for row in block.rows():
            old = row_of.get(row[0])
            if old is None or old[_SCORE] is None or old[_ERROR] is not None:
                row_of[row[0]] = row
    return RowBlock.from_rows([row_of[generation] for generation in sorted(row_of)])


def build_text_encoder() -> Callable[[str | None], str | bytes | None]:
    """Return a function from a text to what is stored: the text, or zstd of its UTF-8. It is not thread-safe."""
    from backports import zstd

    def encode_text(text: str | None) -> str | bytes | None:
        if text is None or (len(text) <= _PLAIN_TEXT and text.isascii()):
            return text
        try:
            raw = text.encode()
        except UnicodeEncodeError:
            text = escape_surrogates(text)
            raw = text.encode()
        return zstd.compress(raw, _LEVEL) if len(text) > _PLAIN_TEXT else text

    return encode_text


def _decompress(raw: bytes) -> bytes:
    """Return the bytes of a frame, unless it claims to be longer than any that is written here."""
    from backports import zstd

    if (zstd.get_frame_info(raw).decompressed_size or 0) > _LONGEST:
        raise zstd.ZstdError(f"a text of more than {_LONGEST:,} bytes")
    return zstd.decompress(raw)


def build_text_decoder() -> Callable[[str | bytes | None], str | None]:
    """Return the inverse of `build_text_encoder`. It is not thread-safe."""
    from backports import zstd

    def decode_text(value: str | bytes | None) -> str | None:
        if not isinstance(value, bytes):
            return value
        try:
            return _decompress(value).decode()
        except zstd.ZstdError as error:
            raise sqlite3.DatabaseError(f"malformed text ({error})") from error

    return decode_text


def escape_surrogates(text: str) -> str:
    r"""Return the text with every lone surrogate escaped, and no other change.

    >>> escape_surrogates("half \ud83d, whole \ud83d\ude00")
    'half \\ud83d, whole 😀'
    """
    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return paired.encode("utf-8", "backslashreplace").decode("utf-8")


def _cast_column(i: int, column: Any) -> Any:
    """Return a column with the types that Arrow needs: numbers in columns of text, and the like, are cast."""
    if not isinstance(column, list):
        return _cast_value(i, column)
    return column if _ACCEPTED[i].issuperset(map(type, column)) else [_cast_value(i, value) for value in column]


def _cast_value(i: int, value: object) -> object:
    """Return a value of column `i` with the column's type."""
    kind = _TYPES[i]
    if value is None:
        return None
    if isinstance(value, str | int | float):
        with contextlib.suppress(ValueError, OverflowError):
            cast: str | int | float = kind(value)
            if kind is not int or cast == value:
                return cast
    remedy = f"give {_TYPE_NAMES[kind]}, or None"
    raise InputError(f"{ROW_COLUMNS[i]} is {value!r}", where="a row", remedy=remedy)


def _escape_value(value: Any) -> Any:
    """Return a value with the surrogates of its texts escaped."""
    if isinstance(value, str):
        return escape_surrogates(value)
    return [_escape_value(each) for each in value] if isinstance(value, list) else value


if TYPE_CHECKING:
    import pyarrow as pa


#: Number of bytes of text that an array of strings can hold.
MAX_BYTES = 2**31 - 1


def to_arrow(values: Sequence[object], kind: pa.DataType) -> pa.Array:
    """Return values, which may be None, as an Arrow array of strings, int64 or double."""
    import pyarrow as pa

    distinct = set(values)
    if distinct == {None}:
        return pa.nulls(len(values), kind)
    valid = None
    without_none: Sequence[Any] = values
    if None in distinct:
        is_given = np.fromiter([value is not None for value in values], bool, len(values))
        valid = pa.py_buffer(np.packbits(is_given, bitorder="little"))
        empty = "" if kind == pa.string() else 0
        without_none = [empty if value is None else value for value in values]
    if kind != pa.string():
        code = "q" if kind == pa.int64() else "d"
        data = array(code, without_none) if len(distinct) > 1 else array(code, without_none[:1]) * len(values)
        return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(data)])
    text = "".join(without_none)
    ends = np.zeros(len(values) + 1, np.int64)
    if len(distinct) == 1:
        ends[1:] = len(without_none[0].encode())
    else:
        lengths = map(len, without_none) if text.isascii() else (len(value.encode()) for value in without_none)
        ends[1:] = np.fromiter(lengths, np.int64, len(values))
    np.cumsum(ends, out=ends)
    if ends[-1] > MAX_BYTES:
        return pa.array(values, kind)  # in several chunks
    buffers = [valid, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(text.encode())]
    return pa.Array.from_buffers(kind, len(values), buffers)


def to_numpy(column: pa.Array) -> NDArray[np.number]:
    """Return an array of integers or doubles; values in the place of nulls are arbitrary."""
    kind = np.dtype(str(column.type).replace("double", "float64"))
    return np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + len(column)]


def find_valid(column: pa.Array) -> NDArray[np.bool_]:
    """Return which values are not null."""
    bits = column.buffers()[0]
    if bits is None:
        return np.ones(len(column), bool)
    return np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")[
        column.offset : column.offset + len(column)
    ].astype(bool)
