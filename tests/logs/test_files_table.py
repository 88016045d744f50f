"""The table of docs/log_files.md is what bench/log_files.py prints, for the files that are in this repository."""

from pathlib import Path

import pytest
from helpers.repository_modules import module

ROOT = Path(__file__).resolve().parents[2]
log_files = module(ROOT / "bench/log_files.py")


@pytest.fixture(scope="module")
def outcomes():
    return list(log_files.list_outcomes(log_files.EXAMPLES, "made"))


def test_what_is_in_refused_is_refused_and_nothing_else_is_wrong_in_silence(outcomes):
    assert len({outcome.program for outcome in outcomes}) >= 25
    for outcome in outcomes:
        assert outcome.outcome.startswith("refused: ") or not outcome.file.startswith("refused/")
