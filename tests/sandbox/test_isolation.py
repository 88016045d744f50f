"""What a process in isolation can read, and what is said where system calls are not filtered.

Kind of truth: folders that were made for the test, and a guarantee: no home folder, no parent of one, no root.
"""

from __future__ import annotations

import sys
import sysconfig
import warnings
from pathlib import Path

import pytest
from helpers.code_problems import needs_isolation

from howsure.errors import HowsureWarning
from howsure.sandbox import isolation as isolation_module
from howsure.sandbox.isolation import ProcessLimits, build_command, choose_isolation, find_isolation


def list_bound():
    """The folders and files that bubblewrap is told to show."""
    command = build_command("bubblewrap", ProcessLimits(), [])
    return [command[i + 1] for i, word in enumerate(command) if word == "--ro-bind"]


def make_python(prefix):
    """An interpreter with its standard library under a prefix."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for path in (prefix / "bin" / "python3", prefix / "lib" / version / "os.py"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return prefix / "bin" / "python3"


@pytest.mark.parametrize("inside", ["", "nested/deeper"])
def test_a_home_folder_with_a_python_in_it_stays_hidden(inside, tmp_path, monkeypatch):
    """Python was installed with the home folder, or a parent of it, as its prefix."""
    python = make_python(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / inside))
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "base_exec_prefix", str(tmp_path))
    assert str(tmp_path) not in list_bound()
    assert str(python) in list_bound()
    assert sysconfig.get_path("stdlib").startswith("/usr/") or any(
        Path(sysconfig.get_path("stdlib")).is_relative_to(path) for path in list_bound()
    )


def test_a_folder_that_is_no_installation_of_python_stays_hidden(tmp_path, monkeypatch):
    """A link or a copy of the interpreter in some folder `bin` says nothing of what lies beside it."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").touch()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python3"))
    assert str(tmp_path) not in list_bound()


@pytest.mark.parametrize("executable", ["/bin/python-of-the-test", "/python-of-the-test/python"])
def test_the_root_is_never_shown(executable, monkeypatch):
    monkeypatch.setattr(isolation_module.Path, "resolve", lambda self: self)
    monkeypatch.setattr(sys, "executable", executable)
    monkeypatch.setattr(sys, "base_prefix", "/")
    monkeypatch.setattr(sys, "base_exec_prefix", "/home/somebody")
    assert not {"/", "/home", "/home/somebody", "/root"} & set(list_bound())


def test_an_installation_in_a_home_folder_is_shown(tmp_path, monkeypatch):
    prefix = tmp_path / ".pyenv" / "versions" / "3"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(make_python(prefix)))
    assert str(prefix) in list_bound()
    assert str(tmp_path) not in list_bound()


@needs_isolation
def test_a_sandbox_without_a_filter_of_calls_is_used_and_said(monkeypatch):
    monkeypatch.setattr("howsure.sandbox.isolation._can_filter_calls", lambda _: False)
    with pytest.warns(HowsureWarning, match="not filtered here .*x86-64"):
        assert choose_isolation() == find_isolation()


@needs_isolation
def test_the_filter_is_tried_in_the_sandbox():
    """The guarantee of docs/experiments.md for this processor, on others the warning."""
    isolation_module._can_filter_calls.cache_clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        choose_isolation()
    expected = 0 if sys.platform == "linux" and isolation_module.os.uname().machine == "x86_64" else 1
    assert len(caught) == expected
