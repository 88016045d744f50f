"""A file is replaced as a whole or not at all. Kind of truth: theory (what a reader may see at each moment)."""

import pytest

from howsure.errors import StoreError
from howsure.store.atomic import FolderLock, build_temporary_path, find_leftovers, is_own_file, replace_file


def test_a_reader_sees_the_old_content_until_the_context_ends(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("old")
    with replace_file(path) as new:
        new.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]


def _write_half(path, error):
    path.write_text("half")
    raise error


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_an_error_leaves_the_old_content_and_no_temporary_file(tmp_path, error):
    path = tmp_path / "a.json"
    path.write_text("old")
    with pytest.raises(type(error)), replace_file(path) as new:
        _write_half(new, error)
    assert path.read_text() == "old"
    assert find_leftovers(tmp_path) == []


def test_a_full_disk_is_a_store_error_that_names_the_file(tmp_path):
    path = tmp_path / "a.json"
    told = r"a\.json: No space left on device; free space and run again"
    with pytest.raises(StoreError, match=told), replace_file(path) as new:
        _write_half(new, OSError(28, "No space left on device"))


def test_a_folder_that_may_not_be_written_is_to_be_made_writable(tmp_path):
    told = r"a\.json: Read-only file system; make the folder writable and run again"
    with pytest.raises(StoreError, match=told), replace_file(tmp_path / "a.json") as new:
        _write_half(new, OSError(30, "Read-only file system"))


def test_what_a_killed_writer_left_is_found_and_is_the_stores_own(tmp_path):
    new = build_temporary_path(tmp_path / "a.json")
    new.write_text("half")
    (tmp_path / "a.json").write_text("old")
    assert find_leftovers(tmp_path) == [new]
    assert is_own_file(new)
    assert not is_own_file(tmp_path / "a.json")


def test_a_folder_has_one_lock_which_can_be_taken_again_after_its_release(tmp_path):
    lock = FolderLock(tmp_path)
    with pytest.raises(StoreError, match=r"process \d+ is writing this run; wait for it"):
        FolderLock(tmp_path)
    lock.release()
    lock.release()
    FolderLock(tmp_path).release()


def test_a_lock_that_is_a_link_is_not_written_through(tmp_path):
    (tmp_path / "mine").write_text("notes of the user")
    run = tmp_path / "run"
    run.mkdir()
    (run / ".lock").symlink_to(tmp_path / "mine")
    with pytest.raises(StoreError, match=r"its file \.lock is a link"):
        FolderLock(run)
    assert (tmp_path / "mine").read_text() == "notes of the user"


def test_a_lock_whose_file_was_removed_still_holds(tmp_path):
    lock = FolderLock(tmp_path)
    (tmp_path / ".lock").unlink()
    with pytest.raises(StoreError, match="writing this run"):
        FolderLock(tmp_path)
    lock.release()
    FolderLock(tmp_path).release()
