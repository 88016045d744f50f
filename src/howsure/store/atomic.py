"""Replace files atomically, and lock a folder for one writer."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from howsure.errors import StoreError, first_line

LOCK = ".lock"
#: Place in that file of the number of acknowledged blocks, behind the number of the process.
_COUNT_AT = 32
#: Errors of a folder or medium that may not be written.
_DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})

#: File descriptors of the locks of this process.
_locks: set[int] = set()


def _close_locks() -> None:
    """Close the locks in a forked child, because it would hold them after its parent is killed."""
    for descriptor in _locks:
        os.close(descriptor)
    _locks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_locks)


class FolderLock:
    """Hold the exclusive lock on a folder; the operating system releases it when the process ends.

    Raises
    ------
    StoreError
        When another process, or another `FolderLock` of this process, has the lock.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lock = FolderLock(Path(folder))
    ...     lock.release()
    """

    def __init__(self, folder: Path) -> None:
        import fcntl

        try:
            self._descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            why = "its file .lock is a link" if error.errno == errno.ELOOP else error.strerror
            raise StoreError(f"{folder}: {why}; name a folder that can be written") from error
        self._folder = -1
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The file may be removed, so that the folder is locked too where its file system can do that.
            self._folder = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if isinstance(error, BlockingIOError):
                    os.close(self._folder)
                    raise
        except OSError as error:
            writer = os.read(self._descriptor, 32).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            if not isinstance(error, BlockingIOError):
                raise StoreError(f"{folder}: files cannot be locked ({error.strerror}); use a local folder") from error
            what = f"process {writer or 'unknown'} is writing this run"
            raise StoreError(f"{folder}: {what}; wait for it, or use another folder") from None
        os.pwrite(self._descriptor, f"{os.getpid():<{_COUNT_AT - 1}}\n".encode(), 0)
        _locks.update((self._descriptor, self._folder))

    def record_count(self, count: int) -> None:
        """Record how many blocks of rows are acknowledged, so that `read_count` tells if some vanish."""
        os.pwrite(self._descriptor, f"{count:<20}\n".encode(), _COUNT_AT)

    def release(self) -> None:
        """Release the lock; a second call has no effect."""
        for descriptor in {self._descriptor, self._folder} & _locks:
            _locks.remove(descriptor)
            os.close(descriptor)


def read_count(folder: Path) -> int:
    """Return what the last writer recorded by `FolderLock.record_count`; 0 where there is nothing."""
    with contextlib.suppress(OSError, ValueError):
        return int((folder / LOCK).read_bytes()[_COUNT_AT : _COUNT_AT + 20])
    return 0


def build_temporary_path(path: Path) -> Path:
    """Return the path beside `path` to which its next content is written."""
    return path.with_name(f".{path.name}.new")


def find_leftovers(folder: Path) -> list[Path]:
    """Return the temporary files that a killed writer left before it could rename them."""
    return sorted(folder.glob(".*.new"))


def is_own_file(path: Path) -> bool:
    """Return whether this file may come from a run that was killed while it created its folder."""
    return path.name == LOCK or path.match(".*.new")


@contextlib.contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield a path to write to; when the context ends, that file replaces `path` atomically and durably.

    A process that opens `path` reads either the old or the new content, even after a crash at any moment.

    Raises
    ------
    StoreError
        When the disk is full or the folder cannot be written.
    """
    new = build_temporary_path(path)
    try:
        yield new
        _flush(new)
        new.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        if isinstance(error, OSError):
            what = first_line(error.strerror or str(error))
            remedy = f"{suggest_remedy(error)} and run again: what was there is kept"
            raise StoreError(f"{path}: {what}; {remedy}") from error
        raise
    flush_folder(path.parent)


def suggest_remedy(error: OSError) -> str:
    """Return what lets a file be written that could not be.

    >>> suggest_remedy(PermissionError(13, "Permission denied")), suggest_remedy(OSError(28, "No space left on device"))
    ('make the folder writable', 'free space')
    """
    return "make the folder writable" if error.errno in _DENIED else "free space"


def flush_folder(folder: Path) -> None:
    """Flush the names of the files in a folder to disk."""
    _flush(folder)


def _flush(path: Path) -> None:
    """Flush a file or folder to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
