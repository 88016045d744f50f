"""What a run folder says of itself."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from datetime import UTC, datetime

import msgspec
import pytest

from howsure.errors import InputError, StoreError
from howsure.store.manifest import Manifest, ModelRecord, begin, finish, load
from howsure.store.responses import RunFolder
from howsure.store.schema import Response

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()
SETTINGS = {"temperature": 0.7, "extra": {"top_k": 5}}


def model(**changes) -> ModelRecord:
    given = {"name": "gpt", "kind": "endpoint", "base_url": "http://localhost:1/v1", "settings": SETTINGS}
    return ModelRecord(**given | {"key_env": "A_KEY", "generations": 5} | changes)


def asked(**changes) -> Manifest:
    given = {
        "seed": 7,
        "benchmarks": {"b": {"file": "b.jsonl", "sha256": "aa", "answer": "exact"}},
        "prompts": {"v1": {"system": "", "template": "{question}"}},
        "models": {"m": model()},
    }
    return Manifest(**given | changes)


def test_begun_continued_and_finished(tmp_path):
    begun = begin(tmp_path, asked(), clock=lambda: NOON)
    assert begun == load(tmp_path)
    assert begun.created == "2026-03-01T12:00:00Z"
    (session,) = begun.sessions
    assert (session.started, session.finished) == ("2026-03-01T12:00:00Z", None)
    assert session.python == platform.python_version()
    assert {"msgspec", "pyarrow", "numpy"} <= session.packages.keys()
    assert session.packages["msgspec"] == msgspec.__version__
    assert "pytest" not in session.packages

    # killed, and continued an hour later
    begin(tmp_path, asked(), clock=lambda: NOON + 3600)
    done = finish(tmp_path, warnings=["copies"], notes=["m: 8 at once"], clock=lambda: NOON + 7200)
    again = finish(tmp_path, warnings=["copies", "slow"], warned_benchmarks={"slow": ["b"]}, clock=lambda: NOON + 7300)
    assert done.created == begun.created
    assert [one.finished for one in done.sessions] == [None, "2026-03-01T14:00:00Z"]
    assert done.sessions[0] == session
    assert again.warnings == ("copies", "slow")
    assert again.warned_benchmarks == {"slow": ("b",)}
    assert load(tmp_path) == again


def test_adding_is_fine():
    more = asked(
        benchmarks={"c": {"sha256": "cc"}, "b": {"file": "renamed.jsonl", "sha256": "aa", "answer": "exact"}},
        prompts={"v2": {"system": "s", "template": "{question}?"}},
        models={"n": model(name="other"), "m": model(generations=20, key_env="ANOTHER_KEY")},
        warnings=("w",),
        warned_benchmarks={"w": ("c",)},
    )
    whole = asked().extend(more)
    assert whole.warned_benchmarks == {"w": ("c",)}
    assert set(whole.benchmarks) == {"b", "c"}
    assert set(whole.prompts) == {"v1", "v2"}
    assert whole.models == {"m": model(generations=20, key_env="ANOTHER_KEY"), "n": model(name="other")}
    assert whole.extend(asked()).models["m"].generations == 20, "asking for fewer forgets none"
    assert whole.warnings == ("w",)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"models": {"m": model(settings={"temperature": 1.0, "extra": {"top_k": 5}, "top_p": 0.5})}},
            r"model m: temperature was 0\.7, now 1\.0, top_p was None, now 0\.5 .*; give it another label, or",
        ),
        ({"models": {"m": model(name="gpt2")}}, r"model m: name was 'gpt', now 'gpt2' .*; give it another label"),
        ({"models": {"m": model(base_url="http://other")}}, r"model m: base_url was 'http://localhost:1/v1', now 'h"),
        (
            {"benchmarks": {"b": {"file": "b.jsonl", "sha256": "bb", "answer": "exact"}}},
            r"benchmark b: its questions or their targets have changed: sha256 was 'aa', now 'bb' .*; give it another name, or use another folder",
        ),
        ({"benchmarks": {"b": {"file": "x", "sha256": "aa", "answer": "choice"}}}, r"answer was 'exact', now 'choice'"),
        ({"prompts": {"v1": {"system": "", "template": "Q: {question}"}}}, r"variant v1: template was .*another id"),
        ({"seed": 8}, r"seed of this run was 7, now 8; keep seed 7, or use another folder"),
    ],
)
def test_asking_for_something_else_under_the_same_name_is_refused(tmp_path, changes, told):
    begin(tmp_path, asked(), clock=lambda: NOON)
    before = (tmp_path / "manifest.json").read_bytes()
    with pytest.raises(InputError, match=told):
        begin(tmp_path, asked(**changes), clock=lambda: NOON)
    assert (tmp_path / "manifest.json").read_bytes() == before


def test_file_without_a_hash_is_known_by_its_name():
    old, new = asked(benchmarks={"b": {"file": "b"}}), asked(benchmarks={"b": {"file": "c"}})
    with pytest.raises(InputError, match="file was 'b', now 'c'"):
        old.extend(new)


def test_value_of_a_keys_variable_is_never_written(tmp_path, monkeypatch):
    secret = 'sk-"quoted"-0123456789'
    monkeypatch.setenv("A_KEY", secret)
    begin(tmp_path, asked(models={"m": model(settings={"extra": {"note": secret}})}), clock=lambda: NOON)
    finish(tmp_path, warnings=[f"401: {secret} is not valid"], clock=lambda: NOON)
    text = (tmp_path / "manifest.json").read_text()
    assert "0123456789" not in text
    assert load(tmp_path).warnings == ("401: [key in $A_KEY] is not valid",)
    # a placeholder is no secret, and may be part of any word
    monkeypatch.setenv("A_KEY", "none")
    finish(tmp_path, warnings=["nonesuch"], clock=lambda: NOON)
    assert "nonesuch" in load(tmp_path).warnings


def test_does_not_say_on_which_host(tmp_path):
    begin(tmp_path, asked(), clock=lambda: NOON)
    text = (tmp_path / "manifest.json").read_text()
    assert platform.node() not in text
    assert sys.prefix not in text


def test_every_moment_of_saving_leaves_the_old_or_the_new(tmp_path):
    run = tmp_path / "run"
    begin(run, asked(), clock=lambda: NOON)
    old = load(run)
    states = []

    def look(*_):
        sys.setprofile(None)
        states.append(shutil.copytree(run, tmp_path / str(len(states))))
        sys.setprofile(look)

    sys.setprofile(look)
    finish(run, clock=lambda: NOON)
    sys.setprofile(None)
    found = [load(path) for path in states]
    assert all(one in (old, load(run)) for one in found)
    assert old in found
    assert load(run) in found
    assert any((path / ".manifest.json.new").exists() for path in states)


NESTED = b'{"schema": 1, "models": ' + b"[" * 100_000
NO_CHOICES = b'{"schema": 1, "models": {"m": {"name": "m", "kind": "k", "choices": 0}}}'
DAMAGED = [b"", b"{", b"[]", b'{"schema": 1, "models": 3}', b'{"schema": "\xff"}', b"{}", NESTED, NO_CHOICES]


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_damaged_manifest_is_told_in_one_line(tmp_path, text):
    (tmp_path / "manifest.json").write_bytes(text)
    for attempt in (load, lambda path: begin(path, asked())):
        with pytest.raises(StoreError, match=r"manifest\.json: damaged \(.*\); restore it from a copy") as caught:
            attempt(tmp_path)
        assert "\n" not in str(caught.value)


def test_missing_and_newer_manifests_are_told(tmp_path):
    with pytest.raises(StoreError, match=r"manifest\.json: No such file or directory; restore it from a copy"):
        load(tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps({"schema": 99, "models": "of another shape"}))
    with pytest.raises(StoreError, match=r"schema version 99 is newer than 3, .*upgrade howsure"):
        load(tmp_path)


def test_saving_that_fails_leaves_the_old_and_nothing_beside_it(tmp_path, monkeypatch):
    begin(tmp_path, asked(), clock=lambda: NOON)

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=r"manifest\.json: No space left on device; free space and run again"):
        finish(tmp_path, clock=lambda: NOON)
    assert [file.name for file in tmp_path.iterdir()] == ["manifest.json"]
    assert load(tmp_path).sessions[0].finished is None


def test_lives_beside_the_responses(tmp_path):
    with RunFolder(tmp_path / "run") as run:
        begin(run.path, asked(), clock=lambda: NOON)
    RunFolder(tmp_path / "run").close()
    assert load(tmp_path / "run").seed == 7


@pytest.mark.parametrize("compacted", [False, True])
def test_rows_without_their_manifest_take_no_others(tmp_path, compacted):
    """Otherwise another temperature would enter under the same label."""
    folder = tmp_path / "run"
    with RunFolder(folder) as run:
        begin(folder, asked())
        run.append([Response("b", "m", "q", "v", 1, score=1.0)])
        if compacted:
            run.compact()
    (folder / "manifest.json").unlink()
    with pytest.raises(StoreError, match=r"manifest\.json: missing, but the folder has rows; restore it from a copy"):
        begin(folder, asked(models={"m": model(settings={"temperature": 1.5})}))
    assert not (folder / "manifest.json").exists()


def test_a_folder_that_was_killed_before_its_first_row_begins(tmp_path):
    with RunFolder(tmp_path / "run"):
        assert begin(tmp_path / "run", asked()).seed == 7


def test_a_key_in_the_path_of_an_address_is_compared_and_stored_masked():
    older, address = model(base_url="https://host/0123456789abcdef/v1"), "https://host/***/v1"
    assert (
        asked(models={"m": older}).extend(asked(models={"m": model(base_url=address)})).models["m"].base_url == address
    )


@pytest.mark.parametrize(("n_questions", "is_said"), [(25, True), (20, False), (15, False)])
def test_the_refusal_of_added_questions_says_how_to_add_them(n_questions, is_said):
    before = asked(benchmarks={"b c": {"sha256": "aa", "questions": 20}})
    with pytest.raises(InputError) as refused:
        before.extend(asked(benchmarks={"b c": {"sha256": "bb", "questions": n_questions}}))
    assert ("put the new ones alone into another file, run it with -o MORE" in str(refused.value)) == is_said
    assert str(refused.value).endswith("FOLDER MORE --as-benchmark 'b c'") == is_said
