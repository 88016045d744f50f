"""Convert Python values to Arrow and Arrow to numpy by their buffers.

`pyarrow.array` imports pandas wherever that is installed, even for a list of strings: this takes 0.2 to 0.5 s at the
start and 50 MB of memory until the end of the process, which the sampler saves with these functions.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["to_arrow", "to_numpy", "valid_mask"]

#: Number of bytes of text that an array of strings can hold.
MAX_BYTES = 2**31 - 1


def to_arrow(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return values, which may be None, as an Arrow array of strings, int64 or double."""
    import pyarrow as pa

    distinct = set(values)
    if distinct == {None}:
        return pa.nulls(len(values), kind)
    valid = None
    without_none = values
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


def to_numpy(column: pa.Array) -> NDArray[Any]:
    """Return an array of integers or doubles; values in the place of nulls are arbitrary."""
    kind = np.dtype(str(column.type).replace("double", "float64"))
    return np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + len(column)]


def valid_mask(column: pa.Array) -> NDArray[np.bool_]:
    """Return which values are not null."""
    bits = column.buffers()[0]
    if bits is None:
        return np.ones(len(column), bool)
    return np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")[
        column.offset : column.offset + len(column)
    ].astype(bool)
