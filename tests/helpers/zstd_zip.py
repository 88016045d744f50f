"""A zip file written by hand, with Zstandard members, which Python's own module does not write before 3.14."""

from __future__ import annotations

import struct
import zlib

from backports import zstd


def zipped(members, *, method=93, table=True, frames=1):
    """The bytes of a zip file of (name, bytes) members.

    Parameters
    ----------
    method
        0 stored, 8 deflate, 93 Zstandard.
    table
        Whether the table of contents is written at the end.
    frames
        Zstandard frames that each member is cut into.
    """
    file, directory = bytearray(), bytearray()
    for name, data in members:
        packed, label = _packed(data, method, frames), name.encode()
        what = (63, 0x800, method, 0, 33, zlib.crc32(data), len(packed), len(data), len(label), 0)
        header = struct.pack("<HHHHHIIIHH", *what)
        directory += (
            b"PK\x01\x02" + struct.pack("<H", 63) + header + struct.pack("<HHHII", 0, 0, 0, 0, len(file)) + label
        )
        file += b"PK\x03\x04" + header + label + packed
    if table:
        end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), len(file), 0)
        file += directory + b"PK\x05\x06" + end
    return bytes(file)


def _packed(data, method, frames):
    if method == 8:
        packer = zlib.compressobj(wbits=-15)
        return packer.compress(data) + packer.flush()
    if method == 93:
        step = -(-max(len(data), 1) // frames)
        parts = [data[i : i + step] for i in range(0, max(len(data), 1), step)]
        return b"".join(zstd.compress(part) for part in parts)
    return data
