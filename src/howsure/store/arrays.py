"""Python values to Arrow and Arrow to numpy by their buffers.

pyarrow's own conversions import pandas wherever that is installed: half a second, and 50 MB of memory for good.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["arrow", "is_valid", "numbers"]

#: Bytes of text that one array of strings can hold.
MOST = 2**31 - 1


def arrow(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values, None among them, as an Arrow array of strings, int64 or double."""
    import pyarrow as pa

    distinct = set(values)
    if distinct == {None}:
        return pa.nulls(len(values), kind)
    valid = None
    if None in distinct:
        there = np.fromiter([value is not None for value in values], bool, len(values))
        valid = pa.py_buffer(np.packbits(there, bitorder="little"))
        nothing = "" if kind == pa.string() else 0
        filled: Sequence[Any] = [nothing if value is None else value for value in values]
    else:
        filled = values
    if kind != pa.string():
        code = "q" if kind == pa.int64() else "d"
        held = array(code, filled) if len(distinct) > 1 else array(code, filled[:1]) * len(values)
        return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(held)])
    text = "".join(filled)
    ends = np.zeros(len(values) + 1, np.int64)
    if len(distinct) == 1:
        ends[1:] = len(filled[0].encode())
    else:
        lengths = map(len, filled) if text.isascii() else (len(value.encode()) for value in filled)
        ends[1:] = np.fromiter(lengths, np.int64, len(values))
    np.cumsum(ends, out=ends)
    if ends[-1] > MOST:
        return pa.array(values, kind)  # in several chunks
    buffers = [valid, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(text.encode())]
    return pa.Array.from_buffers(kind, len(values), buffers)


def numbers(column: pa.Array) -> NDArray[Any]:
    """An array of integers or doubles; what stands where one is null means nothing."""
    kind = np.dtype(str(column.type).replace("double", "float64"))
    held = column.buffers()[1]
    return np.frombuffer(held, kind)[column.offset : column.offset + len(column)]


def is_valid(column: pa.Array) -> NDArray[np.bool_]:
    """Which values are not null."""
    held = column.buffers()[0]
    if held is None:
        return np.ones(len(column), bool)
    return np.unpackbits(np.frombuffer(held, np.uint8), bitorder="little")[
        column.offset : column.offset + len(column)
    ].astype(bool)
