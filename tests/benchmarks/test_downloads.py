"""Files of published benchmarks, fetched from a server that answers as the hub does."""

import hashlib
import shutil

import pytest
from helpers.hub_server import serve_hub

from howsure.benchmarks import downloads
from howsure.benchmarks.downloads import DataSource, fetch_files, find_cached_files
from howsure.errors import InputError

pytest.importorskip("huggingface_hub")

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SOURCE = DataSource(hub="org/set", revision=COMMIT, config="main")
FILES = {
    "README.md": b"# set",
    "main/test-00000-of-00002.jsonl": b'{"q": "1"}\n',
    "main/test-00001-of-00002.jsonl": b'{"q": "2"}\n',
    "main/train-00000-of-00001.jsonl": b'{"q": "3"}\n',
    "other/test-00000-of-00001.jsonl": b'{"q": "4"}\n',
}


@pytest.fixture
def hub(tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HOWSURE_CACHE", str(tmp_path / "own"))
    with serve_hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
        server.repositories["org/set"] = (COMMIT, dict(FILES))
        yield server


def test_files_of_a_split_are_fetched_once_and_read_offline_afterwards(hub):
    files = fetch_files("set", SOURCE, ["test", "train"])
    assert [[file.read_bytes() for file in group] for group in files.values()] == [
        [b'{"q": "1"}\n', b'{"q": "2"}\n'],
        [b'{"q": "3"}\n'],
    ]
    assert not any("other/" in path or "README" in path for _, path, _ in hub.requests)
    n = len(hub.requests)
    assert fetch_files("set", SOURCE, ["test"]) == {"test": files["test"]}
    assert len(hub.requests) == n
    hub.fault = 503
    assert find_cached_files("set", SOURCE, ["train"]) == {"train": files["train"]}
    assert find_cached_files("set", SOURCE, ["validation"]) is None


@pytest.mark.usefixtures("hub")
def test_a_file_that_was_changed_after_it_was_fetched_is_refused():
    (file, _) = fetch_files("set", SOURCE, ["test"])["test"]
    target = file.resolve()
    target.chmod(0o600)
    target.write_bytes(b'{"q": "9"}\n')
    with pytest.raises(InputError, match="the file was changed since it was fetched; remove it"):
        fetch_files("set", SOURCE, ["test"])


def test_a_token_is_sent_and_kept_nowhere(hub, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_TOKEN", "hf_planted0123456789")
    fetch_files("set", SOURCE, ["test"])
    assert any("hf_planted0123456789" in authorization for _, _, authorization in hub.requests)
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"hf_planted" not in file.read_bytes()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (401, r"org/set: (access has to be granted first|the hub has no such data set, or it is private)"),
        (404, "org/set: the hub has no such data set, or it is private; set HF_TOKEN, or give a folder"),
        (429, r"org/set: the hub limits requests \(429\); try later"),
        (500, "org/set: the hub "),
    ],
)
def test_a_hub_that_refuses_gives_one_line(hub, fault, message):
    hub.fault = fault
    with pytest.raises(InputError, match=message) as raised:
        fetch_files("set", SOURCE, ["test"])
    assert "\n" not in str(raised.value)


def test_without_a_network_one_line_comes_at_once(hub, monkeypatch, caplog):
    """The package itself would try five times, in 23 s, with two lines each."""
    pauses = []
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", pauses.append)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(InputError, match="org/set: the hub cannot be reached, and the cache has not got it; try later"):
        fetch_files("set", SOURCE, ["test"])
    assert not pauses
    assert not caplog.records
    assert not hub.requests


def test_a_hub_that_fails_again_and_again_gives_no_line_for_each_attempt(hub, caplog):
    hub.fault = 503
    with pytest.raises(InputError, match="org/set: "):
        fetch_files("set", SOURCE, ["test"])
    assert len(hub.requests) > 2
    assert not caplog.records


def test_a_download_that_breaks_off_is_not_taken_for_the_file(hub):
    hub.fault = "broken"
    with pytest.raises(InputError, match="org/set: "):
        fetch_files("set", SOURCE, ["test"])
    assert find_cached_files("set", SOURCE, ["test"]) is None
    hub.fault = None
    assert fetch_files("set", SOURCE, ["test"])["test"][0].read_bytes() == b'{"q": "1"}\n'


def test_a_part_that_the_hub_lacks_is_missed(hub):
    del hub.repositories["org/set"][1]["main/test-00001-of-00002.jsonl"]
    with pytest.raises(InputError, match="1 of 2 parts of the split 'test'"):
        fetch_files("set", SOURCE, ["test"])


@pytest.mark.usefixtures("hub")
def test_a_revision_that_the_hub_lacks():
    with pytest.raises(InputError, match="the hub has no revision ffff"):
        fetch_files("set", DataSource(hub="org/set", revision="f" * 40), ["test"])


def test_a_local_folder_of_the_same_layout(tmp_path):
    (tmp_path / "main").mkdir()
    with pytest.raises(InputError, match="no file of the split 'test' of set; there is: no data files"):
        fetch_files("set", SOURCE, ["test"], tmp_path)
    (tmp_path / "main" / "test.jsonl").write_bytes(b"{}\n")
    assert fetch_files("set", SOURCE, ["test"], tmp_path) == {"test": [tmp_path / "main" / "test.jsonl"]}
    with pytest.raises(InputError, match="there is no such folder"):
        fetch_files("set", SOURCE, ["test"], tmp_path / "none")


def test_an_address_is_checked_by_its_hash(hub, monkeypatch):
    content = b"Question\n1?\n"
    hub.repositories["x/y"] = (COMMIT, {"gpqa.csv": content})
    monkeypatch.setenv("HOWSURE_MIRROR", f"{hub.url}/cdn")
    source = DataSource(url="https://example.org/a/gpqa.csv", sha256=hashlib.sha256(content).hexdigest())
    assert find_cached_files("set", source, ["test"]) is None
    (file,) = fetch_files("set", source, ["test"])["test"]
    assert file.read_bytes() == content
    n = len(hub.requests)
    assert fetch_files("set", source, ["test"])["test"] == [file]
    assert len(hub.requests) == n
    other = DataSource(url=source.url, sha256="0" * 64)
    with pytest.raises(InputError, match="the file is not the published one: its SHA-256 is"):
        fetch_files("set", other, ["test"])
    hub.fault = 404
    with pytest.raises(InputError, match="it cannot be fetched: the server answered 404"):
        fetch_files("set", other, ["test"])


def test_the_package_of_the_hub_is_named_where_it_is_missing(monkeypatch, tmp_path):
    import sys

    monkeypatch.setenv("HOWSURE_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match=r'pip install "howsure\[hub\]", or give a folder'):
        fetch_files("set", SOURCE, ["test"])
    assert downloads.locate_cache() == tmp_path


def test_a_set_without_a_pinned_revision_stays_at_the_one_that_was_fetched_first(hub, monkeypatch):
    source = DataSource(hub="org/set", config="main")
    assert downloads.read_revision("set", source) == ""
    files = fetch_files("set", source, ["test"])
    assert downloads.read_revision("set", source) == COMMIT
    # The data set changes on the hub, and the questions do not.
    newer = {name: content + b'{"q": "new"}\n' for name, content in FILES.items()}
    hub.repositories["org/set"] = ("f" * 40, newer)
    n = len(hub.requests)
    assert fetch_files("set", source, ["test"]) == find_cached_files("set", source, ["test"]) == files
    assert len(hub.requests) == n
    with pytest.raises(InputError, match=f"{COMMIT}: no file of the split 'train'"):
        fetch_files("set", source, ["train"])
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert fetch_files("set", source, ["test"]) == files


def test_another_file_under_the_same_revision_is_refused(hub, tmp_path):
    """A mirror that changes a file, after the hub's cache was removed; what to remove to accept it is said."""
    source = DataSource(hub="org/set", config="main")
    fetch_files("set", source, ["test"])
    shutil.rmtree(tmp_path / "hub")
    hub.repositories["org/set"][1]["main/test-00001-of-00002.jsonl"] = b'{"q": "other"}\n'
    message = r"benchmark set, org/set: main/test-00001-of-00002.jsonl is not the file that was fetched first"
    with pytest.raises(InputError, match=message) as raised:
        fetch_files("set", source, ["test"])
    record = tmp_path / "own" / "benchmarks" / "set-unpinned.json"
    assert str(record) in str(raised.value)
    with pytest.raises(InputError):  # no second try takes it
        fetch_files("set", source, ["test"])
    record.unlink()
    assert fetch_files("set", source, ["test"])["test"][1].read_bytes() == b'{"q": "other"}\n'
