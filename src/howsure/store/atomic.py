"""What makes a file safe: it is replaced whole or not at all, and a folder has one writer."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from howsure.errors import StoreError

__all__ = ["Lock", "leftover", "ours", "replacing", "sync_folder"]

LOCK = ".lock"

_held: set[int] = set()


def _let_go() -> None:
    # A forked child shares its parent's lock and would keep it when the parent is killed.
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)


class Lock:
    """The right to write in a folder: one process has it, and it dies with the process.

    Raises
    ------
    StoreError
        When another process, or another `Lock` of this one, has it.
    """

    def __init__(self, folder: Path) -> None:
        import fcntl

        try:
            self._descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreError(f"{folder}: {error.strerror}; name a folder that can be written") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            writer = os.read(self._descriptor, 32).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            if not isinstance(error, BlockingIOError):
                raise StoreError(f"{folder}: no locks here ({error.strerror}); use a local folder") from error
            told = f"process {writer or 'unknown'} is writing this run"
            raise StoreError(f"{folder}: {told}; wait for it, or use another folder") from None
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, f"{os.getpid()}\n".encode())
        _held.add(self._descriptor)

    def release(self) -> None:
        """Give the right back; a second call does nothing."""
        if self._descriptor in _held:
            _held.remove(self._descriptor)
            os.close(self._descriptor)


def temporary(path: Path) -> Path:
    """The name beside `path` under which its next content is written."""
    return path.with_name(f".{path.name}.new")


def leftover(folder: Path) -> list[Path]:
    """Files that a killed writer had begun and not put in place."""
    return sorted(folder.glob(".*.new"))


def ours(path: Path) -> bool:
    """Whether a run that was killed while it was being made can have left this file."""
    return path.name == LOCK or path.match(".*.new")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write to the path that is yielded; on leaving, it takes the place of `path` at once and durably.

    Whoever opens `path` sees the old content or the new, also after a crash at any moment. StoreError when the disk is
    full or the folder cannot be written.
    """
    new = temporary(path)
    try:
        yield new
        _sync(new)
        new.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        if isinstance(error, OSError):
            told = (error.strerror or str(error)).partition("\n")[0]
            raise StoreError(f"{path}: {told}; free space and run again: what was there is kept") from error
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
