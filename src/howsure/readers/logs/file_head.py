"""What a file is, by its first bytes: a zip, a Parquet file, JSON with certain keys, or text."""

from __future__ import annotations

import contextlib
import gzip
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import IO

__all__ = ["FileHead", "list_zip_members", "open_file"]

#: Bytes that are looked at first, and at most, for the keys of a JSON object.
_FIRST, _MOST = 1 << 16, 1 << 23
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]', re.DOTALL)


@contextlib.contextmanager
def open_file(path: Path) -> Iterator[IO[bytes]]:
    """The file as bytes, unpacked if it is gzip, whatever its name; a damaged one raises OSError or EOFError."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        try:
            yield gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[misc]  # both are binary files
        except zlib.error as error:
            raise OSError(f"damaged gzip: {error}") from error


def list_zip_members(path: Path) -> list[zipfile.ZipInfo]:
    """The table of contents of a zip, which is the slowest part of one with 25,000 members: that of the last is kept.

    Raises what `zipfile` raises.
    """
    state = path.stat()
    return _members_of(path, state.st_size, state.st_mtime_ns, state.st_ino)


@lru_cache(maxsize=1)
def _members_of(path: Path, *_: int) -> list[zipfile.ZipInfo]:
    with zipfile.ZipFile(path) as file:
        return file.infolist()


class FileHead:
    """The first look at a path; everything is read when it is asked for.

    Attributes
    ----------
    path
        A file or a folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def kind(self) -> str:
        """folder, empty, zip, parquet, json (one object, an array of them, or one per line) or text."""
        if self.path.is_dir():
            return "folder"
        start = self._start
        if start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
            return "zip"
        if start[:4] == b"PAR1":
            return "parquet"
        stripped = start.removeprefix(b"\xef\xbb\xbf").lstrip()
        if not stripped:
            return "empty"
        return "json" if stripped[:1] in b"{[" and self._scan(stripped)[0] else "text"

    @cached_property
    def keys(self) -> frozenset[str]:
        """Names: of the keys of the first JSON object, of the members of a zip or folder, of Parquet columns."""
        look = {"folder": self._children, "zip": self._members, "parquet": self._columns, "json": self._json}.get(
            self.kind
        )
        return frozenset(look()) if look else frozenset()

    def _children(self) -> Iterable[str]:
        return [child.name for child in self.path.iterdir()]

    def _members(self) -> Iterable[str]:
        try:
            return [info.filename for info in list_zip_members(self.path)]
        except (zipfile.BadZipFile, OSError):
            return ()

    def _columns(self) -> Iterable[str]:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            return list(parquet.read_schema(self.path).names)
        except (pa.ArrowInvalid, OSError):
            return ()

    def _json(self) -> Iterable[str]:
        names, closed = self._scan(self._start)
        if not closed and len(self._start) == _FIRST:
            names, _ = self._scan(self._read(_MOST))
        return names

    @cached_property
    def _start(self) -> bytes:
        return self._read(_FIRST)

    def _read(self, most: int) -> bytes:
        try:
            with open_file(self.path) as file:
                return file.read(most)
        except (OSError, EOFError):
            return b""

    @staticmethod
    def _scan(start: bytes) -> tuple[frozenset[str], bool]:
        """Keys of the first object as far as it goes, and whether its end was seen."""
        names: set[str] = set()
        depth, before = 0, b""
        opening = 0  # depth at which the first object lies: 1, or 2 within an array
        for match in _TOKEN.finditer(start):
            token = match[0]
            if token in (b"{", b"["):
                depth += 1
                if token == b"{" and not opening:
                    opening = depth
            elif token in (b"}", b"]"):
                depth -= 1
                if opening and depth < opening:
                    return frozenset(names), True
            elif token == b":" and depth == opening and before[:1] == b'"':
                names.add(before[1:-1].decode(errors="replace"))
            before = token
        return frozenset(names), False
