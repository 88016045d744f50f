"""Commands that describe benchmarks and sample answers. Kind of truth: the catalogue, and lengths of lines."""

import csv
import io
import json

import pytest

from howsure.benchmarks import describe_benchmarks


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_list_of_benchmarks_fits_the_terminal_and_is_whole_in_the_wide_format(howsure, monkeypatch, width):
    """Truth: the length of the lines, and the titles of the catalogue."""
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, _ = howsure("benchmarks")
    assert code == 0
    assert max(map(len, out.splitlines())) <= width
    _, wide, _ = howsure("benchmarks", "--format", "wide")
    lines = wide.splitlines()
    assert lines[0].split() == ["name", "questions", "on", "disk", "scorer", "title"]
    rows = describe_benchmarks()
    assert all(line.startswith(row["name"]) for line, row in zip(lines[1:], rows, strict=True))
    assert all(line.endswith(f"  {row['title']}") for line, row in zip(lines[1:], rows, strict=True))


def test_the_list_of_benchmarks_is_a_table_for_programs(howsure):
    """Truth: the rows of the function."""
    code, out, _ = howsure("benchmarks", "--format", "csv")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    expected = [{name: str(value) for name, value in row.items()} for row in describe_benchmarks()]
    assert [{name: value for name, value in row.items() if value} for row in rows] == [
        {name: value for name, value in row.items() if value} for row in expected
    ]
    assert {"name", "title", "licence"} <= set(rows[0])


@pytest.mark.parametrize(
    ("claim", "level", "width"),
    [("these-questions", 0.95, 0.25), ("new-questions", 0.95, 0.25), ("new-questions", 0.5, 0.12)],
)
def test_the_table_after_a_run_has_the_claim_and_level_of_the_rule_that_stopped_it(
    howsure, tmp_path, claim, level, width
):
    """The interval of the table is no wider than `until` promised."""
    (tmp_path / "exp.yaml").write_text(
        "benchmark: {name: population, size: 100}\nmodels: [simulated/medium]\ngenerations: 20\n"
        f"until: {{width: {width}, claim: {claim}, level: {level}}}\n"
    )
    code, out, err = howsure("run", tmp_path / "exp.yaml", "--format", "json")
    [row] = json.loads(out)
    assert (code, row["claim"], row["level"]) == (0, claim, level)
    assert row["high"] - row["low"] < width
    assert "stopped after" in err


def test_the_table_after_a_run_with_greedy_has_an_interval_for_every_row(howsure, tmp_path):
    """One generation has no error for these questions, the claim of `until`."""
    (tmp_path / "exp.yaml").write_text(
        "benchmark: {name: population, size: 100}\nmodels: [simulated/medium]\n"
        "generations: 20\ngreedy: true\nuntil: {width: 0.25}\n"
    )
    code, out, _ = howsure("run", tmp_path / "exp.yaml", "--format", "json")
    rows = json.loads(out)
    assert (code, len(rows)) == (0, 2)
    assert all(row["claim"] == "new-questions" and row["low"] < row["score"] < row["high"] for row in rows)


def test_a_dry_run_says_where_the_budget_ends_the_run(howsure, tmp_path):
    """Theory: 100 questions once are 100 calls, of which a budget of 25 allows a quarter."""
    for calls, is_said in ((25, True), (100, False)):
        (tmp_path / "exp.yaml").write_text(
            f"benchmark: directions-small\nmodels: [simulated/medium]\ngenerations: 1\nbudget: {{calls: {calls}}}\n"
        )
        code, _, err = howsure("run", tmp_path / "exp.yaml", "--dry-run")
        assert code == 0
        assert ("25 %" in err) == is_said


def test_a_dry_run_counts_what_of_the_budget_is_spent(howsure, tmp_path):
    """By hand: 40 of 70 calls are made, and the other 30 are half of what the further 60 questions take."""
    text = "benchmark: directions-small\nmodels: [simulated/medium]\nbudget: {calls: 100}\nconcurrency: 1\n"
    for limit in (40, 100):
        (tmp_path / "exp.yaml").write_text(f"{text}limit: {limit}\n")
        if limit == 40:
            assert howsure("run", tmp_path / "exp.yaml", "-o", tmp_path / "run")[0] == 0
            made = json.loads((tmp_path / "run" / "spent.json").read_text())["calls"]
    _, _, err = howsure("run", tmp_path / "exp.yaml", "-o", tmp_path / "run", "--dry-run")
    assert "below the estimate" not in err
    (tmp_path / "exp.yaml").write_text(f"{text.replace('100', '70')}limit: 100\n")
    _, _, err = howsure("run", tmp_path / "exp.yaml", "-o", tmp_path / "run", "--dry-run")
    assert made == 40
    assert "budget {calls: 70}, of which 30 is left, is below the estimate: it ends the run after about 50 %" in err


def test_the_table_after_a_run_says_what_score_says_and_the_run_has_not_said(howsure, tmp_path):
    """Of 1,000 generations in stages the table counts fewer, the effective number: without the line it is a wrong number."""
    file = tmp_path / "exp.yaml"
    file.write_text(
        "benchmark: {name: population, size: 100}\nmodels: [simulated/medium]\ngenerations: 10\nallocate: adaptive\n"
    )
    code, out, err = howsure("run", file, "--format", "json")
    assert code == 0
    assert json.loads(out)[0]["n_generations"] < 1000
    assert err.count("n is the effective number of generations") == 1
    _, _, later = howsure("score", tmp_path / "exp")
    assert later.count("n is the effective number of generations") == 1
