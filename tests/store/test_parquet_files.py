"""Opening the Parquet file of a table while another process replaces it, with the oldest pyarrow that is allowed."""

import pyarrow as pa

from howsure.store import parquet_files


class OldFile:
    """A pyarrow.OSFile of pyarrow 18 to 22: its `fileno` fails."""

    def __init__(self, path):
        self._file = pa_file(path)

    def fileno(self):
        raise AttributeError("'pyarrow.lib.OSFile' object has no attribute 'handle'")

    def __getattr__(self, name):
        return getattr(self._file, name)


pa_file = pa.OSFile


def test_a_file_is_opened_where_pyarrow_has_no_file_descriptor(tmp_path, monkeypatch):
    """By hand: three bytes, and the inode that the file system says."""
    path = tmp_path / "responses.parquet"
    path.write_bytes(b"one")
    monkeypatch.setattr(pa, "OSFile", OldFile)
    source, about = parquet_files._open_source(path)
    assert source.read() == b"one"
    assert (about.st_ino, about.st_size) == (path.stat().st_ino, 3)


def test_the_inode_is_that_of_the_file_that_was_opened(tmp_path, monkeypatch):
    """By hand: the file is replaced between the look at its name and the opening, once."""
    path = tmp_path / "responses.parquet"
    path.write_bytes(b"one")
    opened = []

    def open_replaced(name):
        if not opened:
            (tmp_path / "new").write_bytes(b"second")
            (tmp_path / "new").replace(path)
        opened.append(pa_file(name))
        return opened[-1]

    monkeypatch.setattr(pa, "OSFile", open_replaced)
    source, about = parquet_files._open_source(path)
    assert len(opened) == 2
    assert source.read() == b"second"
    assert about.st_size == 6
    assert opened[0].closed
