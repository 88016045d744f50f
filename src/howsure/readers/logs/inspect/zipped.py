"""Members of a zip file as bytes, also those packed with Zstandard, and also where the table of contents is lost.

Python opens Zstandard members (method 93) from 3.14 on; what a zip file holds it tells on every version.
"""

from __future__ import annotations

import contextlib
import mmap
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from howsure.errors import InputError
from howsure.readers.logs.file_head import list_zip_members

__all__ = ["MOST", "Zipped"]

#: Bytes of a member that are unpacked at most.
MOST = 1 << 31
#: Bytes that are unpacked at a time, so that a size which lies costs no memory.
_STEP = 1 << 22
_STORED, _DEFLATE, _ZSTD = 0, 8, 93
_LOCAL, _DESCRIPTOR = b"PK\x03\x04", b"PK\x07\x08"
_ENCRYPTED, _STREAMED = 1, 8
#: A local header: signature, version, flags, method, time, date, CRC, sizes packed and not, lengths of name and rest.
_HEADER = struct.Struct("<4sHHHHHIIIHH")
_SIZES = struct.Struct("<4sIII")


class Zipped:
    """A zip file, open for reading; of members with one name the last is meant, as everywhere.

    Attributes
    ----------
    names
        Names of the members, each once, in the order in which they were first written.
    replaced
        Names of members that a later one of the same name replaces, once for each time.
    recovered
        Whether the table of contents at the end is lost, so that the members were found one by one: those at the end,
        and what was to come, may be missing.

    Raises
    ------
    InputError
        When it is no zip file, or nothing in it can be found.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise InputError(f"cannot be opened: {error.strerror}", where=str(path)) from error
        self.recovered = False
        try:
            found = list_zip_members(path)
        # A damaged table is met with any of these.
        except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError, struct.error, EOFError):
            found = list(self._scan())
            self.recovered = True
        self._members: dict[str, zipfile.ZipInfo] = {}
        self.replaced: list[str] = []
        for info in found:
            if info.filename in self._members:
                self.replaced.append(info.filename)
            self._members[info.filename] = info
        self.names = tuple(self._members)
        if not found:
            self.close()
            raise InputError("no member of this zip file can be found", where=str(path), remedy="is the file whole?")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self, name: str) -> bytes:
        """The bytes of a member, unpacked and checked.

        Raises
        ------
        InputError
            When they are damaged, encrypted, packed in a way that is not known, or more than `MOST`.
        """
        info = self._members[name]
        if info.flag_bits & _ENCRYPTED:
            raise self._fault(name, "is encrypted")
        if info.file_size > MOST:
            raise self._fault(name, f"claims to be {info.file_size:,} bytes long; {MOST:,} are read at most")
        try:
            data = _unpacked(self._packed(info), info.compress_type, info.file_size)
        except _DamageError as error:
            raise self._fault(name, str(error)) from error
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise self._fault(name, "is damaged: its check sum is another")
        return data

    def _packed(self, info: zipfile.ZipInfo) -> bytes:
        try:
            self._file.seek(info.header_offset)
            header = self._file.read(_HEADER.size)
            if len(header) < _HEADER.size or header[:4] != _LOCAL:
                raise _DamageError("is not where the table of contents says")
            *_, length, rest = _HEADER.unpack(header)
            name = self._file.read(length)
            if name not in (info.orig_filename.encode(), info.orig_filename.encode("cp437", "replace")):
                raise _DamageError("has another name than the table of contents says")
            self._file.seek(rest, 1)
            return self._file.read(info.compress_size)
        except (OSError, ValueError, OverflowError, MemoryError) as error:
            raise _DamageError(f"cannot be read: {error}") from error

    def _fault(self, name: str, what: str) -> InputError:
        return InputError(f"member {name[:120]!r} {what}", where=str(self.path), remedy="is the file whole?")

    def _scan(self) -> Iterator[zipfile.ZipInfo]:
        """Members by their own headers, each of which is whole; what lies between them is passed over."""
        with contextlib.suppress(OSError, ValueError), self._mapped() as data:
            at = data.find(_LOCAL)
            while at >= 0:
                info, end = _local(data, at)
                if info is not None:
                    yield info
                at = data.find(_LOCAL, end)

    def _mapped(self) -> mmap.mmap:
        """The whole file; ValueError when it is empty."""
        return mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)


class _DamageError(Exception):
    """What is wrong with a member."""


def _local(data: mmap.mmap, at: int) -> tuple[zipfile.ZipInfo | None, int]:
    """The member whose header begins at `at`, or None if it is not whole; and where to look for the next."""
    if at + _HEADER.size > len(data):
        return None, len(data)
    _, _, flags, method, _, _, crc, packed, size, length, rest = _HEADER.unpack_from(data, at)
    start = at + _HEADER.size + length + rest
    if flags & _STREAMED and not packed:  # the sizes come behind the data
        end = data.find(_DESCRIPTOR, start)
        if end < 0 or end + _SIZES.size > len(data):
            return None, at + 4
        _, crc, packed, size = _SIZES.unpack_from(data, end)
        if packed != end - start:
            return None, at + 4
    name = data[at + _HEADER.size : at + _HEADER.size + length]
    if start + packed > len(data) or method not in (_STORED, _DEFLATE, _ZSTD) or not name:
        return None, at + 4
    info = zipfile.ZipInfo(name.decode(errors="replace"))
    info.header_offset, info.flag_bits, info.compress_type = at, flags, method
    info.CRC, info.compress_size, info.file_size = crc, packed, size
    return info, start + packed


def _unpacked(data: bytes, method: int, size: int) -> bytes:
    """At most one byte more than `size`."""
    if method == _STORED:
        return data[: size + 1]
    if method == _DEFLATE:
        try:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, size + 1)
        except zlib.error as error:
            raise _DamageError(f"is damaged: {error}") from error
    if method == _ZSTD:
        return _zstd(data, size)
    raise _DamageError(f"is packed by method {method}, which is not known here")


def _zstd(data: bytes, size: int) -> bytes:
    """Several frames may follow one another: Inspect begins a new one every 200 MB."""
    import zstandard

    parts, left = [], size + 1
    try:
        with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as reader:
            while left and (part := reader.read(min(left, _STEP))):
                parts.append(part)
                left -= len(part)
    except (zstandard.ZstdError, MemoryError) as error:
        raise _DamageError(f"is damaged: {error}") from error
    return b"".join(parts)
