"""Read members of a zip file, including Zstandard members and files that have lost their table of contents.

No other reader reads a file without a table of contents, which is what a killed run leaves, and members of several
Zstandard frames.
"""

from __future__ import annotations

import contextlib
import io
import mmap
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from howsure.errors import InputError
from howsure.logs.file_formats import list_zip_members
from howsure.rows.formats import FREE_EXPANSION, MOST_EXPANSION

#: Largest size of an unpacked member in bytes.
MAX_BYTES = 1 << 31
_STORED, _DEFLATE, _ZSTD = 0, 8, 93
_LOCAL, _DESCRIPTOR = b"PK\x03\x04", b"PK\x07\x08"
_ENCRYPTED, _STREAMED, _UTF8 = 1, 8, 0x800
#: A local header: signature, version, flags, method, time, date, CRC, sizes packed and not, lengths of name and rest.
_HEADER = struct.Struct("<4sHHHHHIIIHH")
_SIZES = struct.Struct("<4sIII")


class ZipArchive:
    """A zip file, open for reading. Of several members with one name, the last counts.

    Attributes
    ----------
    names
        Names of the members, each once, in the order in which they were first written.
    replaced
        Names of members that a later one of the same name replaces, once for each time.
    is_recovered
        Whether the table of contents at the end is lost, so that the members were searched for: the last ones may be
        missing.

    Raises
    ------
    InputError
        When the file is not a zip file, or no member can be found.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise InputError(f"cannot be opened: {error.strerror}", where=str(path)) from error
        self.is_recovered = False
        try:
            members = list_zip_members(path)
        except (zipfile.BadZipFile, OSError):
            members = list(self._scan())
            self.is_recovered = True
        self._members: dict[str, zipfile.ZipInfo] = {}
        self.replaced: list[str] = []
        for info in members:
            if info.filename in self._members:
                self.replaced.append(info.filename)
            self._members[info.filename] = info
        self.names = tuple(self._members)
        if not members:
            self.close()
            raise InputError("no member of this zip file can be found", where=str(path), remedy="is the file complete?")

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
        """Return the bytes of a member, unpacked and checked.

        Raises
        ------
        InputError
            When the bytes are damaged, encrypted, compressed by an unknown method, or more than `MAX_BYTES`.
        """
        info = self._members[name]
        if info.flag_bits & _ENCRYPTED:
            raise self._fault(name, "is encrypted")
        if info.file_size > MAX_BYTES:
            raise self._fault(name, f"claims to be {info.file_size:,} bytes long; {MAX_BYTES:,} are read at most")
        if info.file_size > FREE_EXPANSION and info.file_size > MOST_EXPANSION * info.compress_size:
            raise self._fault(name, f"expands to more than {MOST_EXPANSION} times its size")
        try:
            data = _unpack(self._read_packed(info), info.compress_type, info.file_size)
        except _DamageError as error:
            raise self._fault(name, str(error)) from error
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise self._fault(name, "is damaged: its check sum is wrong")
        return data

    def _read_packed(self, info: zipfile.ZipInfo) -> bytes:
        """Return the bytes of a member as they are in the file."""
        try:
            self._file.seek(info.header_offset)
            header = self._file.read(_HEADER.size)
            if len(header) < _HEADER.size or header[:4] != _LOCAL:
                raise _DamageError("is not where the table of contents says")
            _, _, flags, _, _, _, crc, _, _, length, rest = _HEADER.unpack(header)
            name = self._file.read(length)
            is_decoded_alike = name.isascii() or not (flags ^ info.flag_bits) & _UTF8
            if not is_decoded_alike or name not in (
                info.orig_filename.encode(),
                info.orig_filename.encode("cp437", "replace"),
            ):
                raise _DamageError("has another name than the table of contents says")
            if crc not in (0, info.CRC):  # 0 where it follows the data
                raise _DamageError("has another check sum than the table of contents says")
            self._file.seek(rest, 1)
            return self._file.read(info.compress_size)
        except (OSError, ValueError, OverflowError, MemoryError) as error:
            raise _DamageError(f"cannot be read: {error}") from error

    def _fault(self, name: str, what: str) -> InputError:
        """Return the error of a member."""
        return InputError(f"member {name[:120]!r} {what}", where=str(self.path), remedy="is the file complete?")

    def _scan(self) -> Iterator[zipfile.ZipInfo]:
        """Yield the members whose local headers are complete, and skip the bytes between them."""
        with contextlib.suppress(OSError, ValueError), self._map() as data:
            at = data.find(_LOCAL)
            while at >= 0:
                info, end = _parse_local_header(data, at)
                if info is not None:
                    yield info
                at = data.find(_LOCAL, end)

    def _map(self) -> mmap.mmap:
        """Map the file into memory; raise ValueError when it is empty."""
        return mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)


class _DamageError(Exception):
    """A member is damaged."""


def _parse_local_header(data: mmap.mmap, at: int) -> tuple[zipfile.ZipInfo | None, int]:
    """Return the member whose header begins at `at`, None if it is incomplete, and where to search for the next."""
    if at + _HEADER.size > len(data):
        return None, len(data)
    _, _, flags, method, _, _, crc, packed, size, length, rest = _HEADER.unpack_from(data, at)
    start = at + _HEADER.size + length + rest
    if flags & _STREAMED and not packed:  # the sizes follow the data
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


def _unpack(data: bytes, method: int, size: int) -> bytes:
    """Return the unpacked bytes, at most one more than `size`; Inspect begins a new Zstandard frame every 200 MB."""
    from backports import zstd

    try:
        if method == _STORED:
            return data[: size + 1]
        if method == _DEFLATE:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, size + 1)
        if method == _ZSTD:
            with zstd.ZstdFile(io.BytesIO(data)) as reader:
                return reader.read(size + 1)
    except (zlib.error, zstd.ZstdError, EOFError, MemoryError) as error:
        raise _DamageError(f"is damaged: {error}") from error
    raise _DamageError(f"is compressed by method {method}, which is not supported")
