"""Zip members as bytes: what Python's own zipfile says is the truth where it can read them."""

import io
import struct
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from helpers.damage import damaged
from helpers.zstd_zip import zipped
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.errors import InputError
from howsure.logs.inspect import zip_file as module
from howsure.logs.inspect.zip_file import ZipArchive

MEMBERS = [("header.json", b'{"a": 1}'), ("samples/é_epoch_1.json", b"x" * 5000), ("empty", b"")]


def written(tmp_path, data):
    path = tmp_path / "some.zip"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("method", [0, 8, 93])
@pytest.mark.parametrize("table", [True, False])
def test_what_was_written_is_read_with_and_without_the_table_of_contents(tmp_path, method, table):
    with ZipArchive(written(tmp_path, zipped(MEMBERS, method=method, table=table))) as archive:
        assert archive.names == tuple(name for name, _ in MEMBERS)
        assert [archive.read(name) for name in archive.names] == [data for _, data in MEMBERS]
        assert archive.is_recovered is not table
        assert archive.replaced == []


class Pipe(io.RawIOBase):
    """A file that cannot be gone back in: sizes come behind the data."""

    def __init__(self):
        self.data = bytearray()

    def writable(self):
        return True

    def write(self, data):
        self.data += data
        return len(data)


def test_members_whose_sizes_come_behind_them_are_found_without_the_table_too(tmp_path):
    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in MEMBERS[:2]:
            file.writestr(name, data)
    whole = bytes(pipe.data)
    for data in (whole, whole[: whole.index(b"PK\x01\x02")]):
        with ZipArchive(written(tmp_path, data)) as archive:
            assert [archive.read(name) for name in archive.names] == [data for _, data in MEMBERS[:2]]
    with ZipArchive(written(tmp_path, whole[: whole.rindex(b"PK\x07\x08") + 6])) as archive:  # cut within the second
        assert (archive.names, archive.is_recovered) == (("header.json",), True)


def test_of_members_with_one_name_the_last_is_meant(tmp_path):
    members = [("a", b"old"), ("b", b"1"), ("a", b"new")]
    for table in (True, False):
        with ZipArchive(written(tmp_path, zipped(members, table=table))) as archive:
            assert archive.names == ("a", "b")
            assert archive.read("a") == b"new"
            assert archive.replaced == ["a"]


def in_table(data, offset, value, size="<I"):
    """The bytes with a field of the first entry of the table of contents set."""
    new = bytearray(data)
    struct.pack_into(size, new, data.index(b"PK\x01\x02") + offset, value)
    return bytes(new)


@pytest.mark.parametrize(
    ("offset", "size", "value", "said"),
    [
        (8, "<H", 1, "is encrypted"),
        (10, "<H", 12, "compressed by method 12"),
        (16, "<I", 7, "check sum"),
        (20, "<I", 9, "damaged"),
        (24, "<I", 10, "check sum"),
        (24, "<I", 0xF0000000, "4,026,531,840 bytes long"),
        (42, "<I", 1, "not where the table of contents says"),
        (46, "<B", ord("q"), "another name"),
    ],
)
@pytest.mark.parametrize("method", [8, 93])
def test_a_table_that_lies_is_one_clear_line(tmp_path, offset, size, value, said, method):
    data = zipped(MEMBERS[1:2], method=method)
    with ZipArchive(written(tmp_path, in_table(data, offset, value, size))) as archive:
        with pytest.raises(InputError, match=said) as raised:
            archive.read(archive.names[0])
        assert "\n" not in str(raised.value)


def test_a_bomb_is_unpacked_no_further_than_it_says(tmp_path):
    # 64 MB of zeros that claim to be 100 bytes long.
    for method in (8, 93):
        data = in_table(zipped([("a", bytes(1 << 26))], method=method), 24, 100)
        with ZipArchive(written(tmp_path, data)) as archive:
            assert len(module._unpack(archive._read_packed(archive._members["a"]), method, 100)) == 101
            with pytest.raises(InputError, match="check sum"):
                archive.read("a")


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"PK\x05\x06" + bytes(18), b"nothing of the kind" * 9])
def test_a_file_without_members_is_one_clear_line(tmp_path, data):
    with pytest.raises(InputError, match="no member of this zip file can be found; is the file complete"):
        ZipArchive(written(tmp_path, data))


def test_a_member_that_the_table_calls_empty_is_damaged(tmp_path):
    """Zeros over an entry of the table of contents but its name: the member was read as empty."""
    data = zipped(MEMBERS)
    at = data.index(b"PK\x01\x02")
    length = int.from_bytes(data[at + 28 : at + 30], "little").to_bytes(2, "little")
    data = data[: at + 4] + bytes(24) + length + bytes(16) + data[at + 46 :]
    with (
        ZipArchive(written(tmp_path, data)) as archive,
        pytest.raises(InputError, match="has another check sum than the table of contents says"),
    ):
        archive.read(MEMBERS[0][0])


WHOLE = {table: zipped(MEMBERS, table=table) for table in (True, False)}


def attempt(function, *arguments):
    """What a function returns, or the line of its error."""
    try:
        return function(*arguments), ""
    except InputError as error:
        return None, str(error)


@settings(deadline=None, max_examples=150)
@given(st.booleans().flatmap(lambda table: damaged(WHOLE[table])))
def test_what_is_read_of_a_damaged_file_is_what_was_written_or_one_clear_line(data):
    truth = dict(MEMBERS)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "some.zip"
        path.write_bytes(data)
        archive, line = attempt(ZipArchive, path)
        assert "\n" not in line
        if archive is None:
            return
        with archive:
            for name in archive.names:
                read, line = attempt(archive.read, name)
                assert "\n" not in line
                # A name is checked against that of the table; where the table is lost, nothing vouches for it.
                assert read is None or read in truth.values()
                assert read is None or archive.is_recovered or read == truth.get(name)
