"""The command that compares what the code gives with the record. Kind of truth: a record that the test makes and changes."""

from pathlib import Path

import pytest
from helpers.repository_modules import module


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """The module of the command, with a record of its own."""
    tool = module(Path(__file__).resolve().parents[1] / "tools/recorded.py")
    monkeypatch.setattr(tool, "RECORD", tmp_path)
    return tool


def test_what_differs_from_the_record_is_printed_with_its_kind(recorded, tmp_path, capsys):
    """A log that is read and a file that is refused: as recorded, then with other words, names, numbers and status."""
    names = ["tests/scorers/ifeval_cases.json", "examples/logs/2026-11-21_directions_assistant-1.json"]
    for name in names:
        assert recorded.main(["results", "--only", name, "--record"]) == 0
    capsys.readouterr()
    assert [recorded.main(["results", "--only", name]) for name in names] == [0, 0]
    file = tmp_path / "results.tsv"
    text, lines = file.read_text(), file.read_text().splitlines()
    assert [line.split("\t")[2] for line in lines[1:]] == ["read", "refused"]
    digests = dict(zip(lines[0].split("\t"), lines[1].split("\t"), strict=True))
    for column, kind in {
        "named": "names of benchmarks or models",
        "bare": "names of questions or variants",
        "sums": "numbers",
        "further": "extremes, missing or clusters",
    }.items():
        file.write_text(text.replace(digests[column], "0" * 8))
        capsys.readouterr()
        assert recorded.main(["results", "--only", names[1]]) == 1
        assert f"{names[1]}: {kind}: the facts are the same" in capsys.readouterr().out
    file.write_text(text.replace("refused\t", "read\t"))
    assert recorded.main(["results", "--only", names[0]]) == 1
    assert "read -> refused" in capsys.readouterr().out


@pytest.mark.long
def test_readings_and_sections_that_differ_are_counted_and_named(recorded, tmp_path, capsys):
    parts = {"completions": "tests/scorers/completions.jsonl yesno", "reports": "frame variants"}
    for part, name in parts.items():
        assert recorded.main([part, "--only", name, "--record"]) == 0
        assert recorded.main([part, "--only", name]) == 0
    file = tmp_path / "completions.tsv"
    head, row = file.read_text().splitlines()
    cells = row.split("\t")
    cells[5:] = ["0" * 8, ("A" if cells[6][0] != "A" else "B") + cells[6][1:]]
    file.write_text("\n".join([head, "\t".join(cells), ""]))
    file = tmp_path / "reports.tsv"
    file.write_text(file.read_text().replace("b1-answer=", "b1-answer=0"))
    capsys.readouterr()
    assert [recorded.main([part, "--only", name]) for part, name in parts.items()] == [1, 1]
    out = capsys.readouterr().out
    assert "1 of 42 readings" in out
    assert "other: b1-answer\n" in out
