"""The files of a run folder while it is written, and a folder that nobody may write."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from howsure.store import database


def state(folder: Path) -> str:
    """Content hash of what a kill at this moment would leave."""
    files = sorted(file for file in folder.iterdir() if not file.name.endswith("-shm"))
    return hashlib.sha256(b"".join(file.name.encode() + b"\0" + file.read_bytes() for file in files)).hexdigest()


def every_state(folder: Path, copies: Path, step) -> list[Path]:
    """Run `step` and copy the folder whenever the store calls or returns and the files are others than before.

    What a kill -9 leaves is what the files hold at that moment.
    """
    store = str(Path(database.__file__).parent)
    seen = {state(folder)}
    found: list[Path] = []
    busy = False

    def look(frame, _event, _argument):
        nonlocal busy
        inside = frame.f_code.co_filename.startswith(store) or (
            frame.f_back and frame.f_back.f_code.co_filename.startswith(store)
        )
        if busy or not inside:
            return
        busy = True
        now = state(folder)
        if now not in seen:
            seen.add(now)
            found.append(copies / str(len(found)))
            shutil.copytree(folder, found[-1])
        busy = False

    sys.setprofile(look)
    try:
        step()
    finally:
        sys.setprofile(None)
    return found


@contextlib.contextmanager
def sealed(source: Path):
    """A copy of the folder that nobody here may write; as root, by being nobody meanwhile."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "run")
        shutil.copytree(source, folder)
        root = os.geteuid() == 0
        Path(place).chmod(0o755)
        for file in folder.iterdir():
            file.chmod(0o444)
        folder.chmod(0o555)
        if root:
            os.seteuid(65534)
        try:
            with pytest.raises(PermissionError):
                (folder / "new").touch()
            yield folder
        finally:
            if root:
                os.seteuid(0)
            folder.chmod(0o755)
