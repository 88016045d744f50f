"""Scorers by name: cases whose answer anybody can tell."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from helpers.scored_runs import context, judged

from howsure.errors import InputError
from howsure.rescoring.rescore import build_run_scorer
from howsure.scorers import scorer_parts
from howsure.scorers.registry import SCORERS
from howsure.scorers.scorer_parts import hash_code

GSM8K = "She makes 9 * 2 = $<<9*2=18>>18 every day.\n#### 18"


@pytest.mark.parametrize(
    ("completion", "target", "wanted"),
    [
        ("The answer is 18.", GSM8K, (1.0, "18")),
        ("So $18.00", "18", (1.0, "18")),
        ("It is 17, no: 19", "18", (0.0, None)),
        ("I cannot say.", "18", (0.0, None)),
        ("3/4", "0.75", (1.0, "0.75")),
        ("#### 1,000", "The total is 1000", (1.0, "1000")),
    ],
)
def test_numeric(completion, target, wanted):
    assert judged("numeric", completion, target) == wanted


def test_a_target_without_a_number_is_told():
    with pytest.raises(ValueError, match="the target 'blue' gives no number"):
        judged("numeric", "18", "blue")
    with pytest.raises(ValueError, match=r"\.\.\.' gives no number"):
        judged("numeric", "18", "blue " * 50)


@pytest.mark.parametrize(
    ("completion", "target", "wanted"),
    [
        (" New\n  York ", "new york", (1.0, "new york")),
        ("Ｐａｒｉｓ", "Paris", (1.0, "paris")),
        ("Paris.", "Paris", (0.0, "paris.")),
        ("  \n", "Paris", (0.0, None)),
    ],
)
def test_exact(completion, target, wanted):
    assert judged("exact", completion, target) == wanted


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("numeri", "unknown scorer 'numeri'; did you mean 'numeric'"),
        ("numeric:3", "--scorer: numeric has no argument, got '3'"),
        ("regex:(", r"the pattern '\(' cannot be read: missing \)"),
        ("regex", "no pattern; write regex:PATTERN"),
        ("choice:word", "unknown kind of target 'word'"),
    ],
)
def test_a_name_that_is_none_is_told(spec, told):
    with pytest.raises(InputError, match=told):
        build_run_scorer(spec, context())


def test_versions_change_with_the_code_that_decides(tmp_path, monkeypatch):
    assert build_run_scorer("numeric", context()).version != build_run_scorer("exact", context()).version
    code = tmp_path / "planted.py"
    code.write_text("a = 1\n")
    monkeypatch.setattr(scorer_parts, "_PACKAGE", tmp_path)
    monkeypatch.setattr(scorer_parts, "READING_CODE", ("text",))
    (tmp_path / "text.py").write_text("b = 1\n")
    assert hash_code("planted") == hashlib.sha256(b"a = 1\nb = 1\n").hexdigest()[:8]
    code.write_text("a = 2\n")
    assert hash_code("planted") == hashlib.sha256(b"a = 2\nb = 1\n").hexdigest()[:8]


def test_every_scorer_is_in_the_docs():
    page = (Path(__file__).parents[2] / "docs/answers.md").read_text("utf-8")
    assert [name for name in SCORERS if not re.search(rf"`{name}\b", page)] == []


@pytest.mark.parametrize(
    ("completion", "target", "wanted"),
    [
        ("The answer is north.", "north", (1.0, "north")),
        ("I walk north-east.", "NE", (1.0, "north-east")),
        ("East or west, I cannot say.", "east", (0.0, None)),
    ],
)
def test_direction(completion, target, wanted):
    assert judged("direction", completion, target) == wanted


def test_a_target_without_a_direction_is_an_error():
    with pytest.raises(ValueError, match="the target 'left' is not one of the eight directions"):
        judged("direction", "north", "left")
