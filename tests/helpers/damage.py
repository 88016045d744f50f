"""Files that were damaged on their way: cut, with bits turned, with bytes lost or doubled; and what a reader owes."""

from __future__ import annotations

from hypothesis import strategies as st

from howsure.errors import HowsureError
from howsure.logs import find_reader
from howsure.logs.base import ReadOptions
from howsure.notes import Note


@st.composite
def damaged(draw, whole: bytes):
    """The bytes with one to four injuries."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        if not data:
            break
        at = draw(st.integers(0, len(data) - 1))
        kind = draw(st.sampled_from(["cut", "turn", "lose", "double", "zero", "insert"]))
        length = draw(st.integers(1, 64))
        if kind == "cut":
            del data[at:]
        elif kind == "turn":
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == "lose":
            del data[at : at + length]
        elif kind == "double":
            data[at:at] = data[at : at + length]
        elif kind == "zero":
            data[at : at + length] = bytes(len(data[at : at + length]))
        else:
            data[at:at] = draw(st.binary(min_size=1, max_size=16))
    return bytes(data)


def survives(path, rows: int, *, texts: bool = True, reader=None) -> str:
    """Read a damaged log: every row, or fewer and it is said, or one clear line. Returns which of the three it was.

    Parameters
    ----------
    rows
        Rows that the log had before it was damaged.
    reader
        Who reads it; by default whoever recognises it, and nobody does is an outcome too.
    """
    reader = reader or find_reader(path)
    if reader is None:
        return "no log"
    told: list[Note] = []
    error = None
    try:
        described = reader.describe(path)
        found = list(reader.rows(path, ReadOptions(texts=texts), told.append))
    except HowsureError as raised:
        error = str(raised)
    if error is not None:
        assert "\n" not in error
        assert len(error) < 1000
        return "error"
    assert described.models, described
    assert all("\n" not in note.text and len(note.text) < 1000 for note in told), told
    keys = {(row.benchmark, row.model, row.question, row.variant, row.generation) for row in found}
    assert len(keys) == len(found), "a key comes twice"
    if len(found) < rows:
        assert told, f"{rows - len(found)} rows of {rows} are gone, and nothing was said"
        return "fewer"
    return "all"
