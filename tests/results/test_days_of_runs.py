"""The day of a run: that of most of its generations, from run folders and logs, by hand."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from helpers.stored_rows import open_run, row

import howsure as hs
from howsure import figures
from howsure.errors import InputError
from howsure.rows.to_cells import find_days


def seconds(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def write_folder(path, scores, created):
    """One row for each question and generation, made at the time that `created` gives."""
    with open_run(path) as folder:
        folder.append(
            [
                row(f"q{q}", g + 1, score=score, created=created(q, g))
                for q, each in enumerate(scores)
                for g, score in enumerate(each)
            ]
        )
    return path


def test_run_folders_of_two_days_are_runs_of_these_days(tmp_path):
    scores = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    first = write_folder(tmp_path / "a", scores, lambda q, g: seconds("2026-11-02T23:50:00") + q + g)
    # the second generation of the first question was made again days later: most were made on the fifth
    late = seconds("2026-11-09T12:00:00")
    second = write_folder(
        tmp_path / "b", scores, lambda q, g: late if (q, g) == (0, 1) else seconds("2026-11-05T00:10:00") + q + g
    )
    results = hs.read([first, second])
    assert [run.days for run in results.runs()["b"]] == [{"m": "2026-11-02"}] * 2 + [{"m": "2026-11-05"}] * 2
    assert hs.repeats(results).of("runs")["day"].tolist() == ["2026-11-02"] * 2 + ["2026-11-05"] * 2
    text = str(figures.days(results).to_dict())
    assert "Do scores change from day to day?" in text
    page = hs.report(results, tmp_path / "report.html", static_figures=False).read_text()
    assert "Do scores change from day to day?" in page
    with pytest.raises(InputError, match="all runs were made on one day"):
        figures.days(hs.read(first))


def test_a_log_has_the_day_of_its_start_where_rows_have_no_time():
    columns = {"benchmark": ["b"] * 4, "model": ["m"] * 4, "generation": [1, 1, 1, 2], "created": [None] * 4}
    table = pa.table(columns)
    assert find_days(table) == {}
    assert find_days(table, "yesterday") == {}
    # an hour after midnight in Berlin is the day before in UTC
    assert set(find_days(table, "2026-11-02T00:30:00+01:00").values()) == {"2026-11-01"}
    dated = table.set_column(3, "created", pa.array([0.0, 90_000.0, 90_001.0, None]))
    assert find_days(dated) == {("b", "m", "1"): "1970-01-02"}


@pytest.mark.parametrize("time", [1.7e12, 1e19, -5.0, float("nan"), float("inf")])
def test_a_time_that_is_no_date_is_not_known(time):
    """Milliseconds that were written as seconds ended the report in "year 55840 is out of range"."""
    table = pa.table({"benchmark": ["b", "b"], "model": ["m", "m"], "generation": [1, 2], "created": [time, 90_000.0]})
    assert find_days(table) == {("b", "m", "2"): "1970-01-02"}


@pytest.mark.parametrize("times", [(1.0, 90_000.0), (90_000.0, 1.0)])
def test_of_two_days_of_as_many_questions_a_run_has_the_first(times):
    table = pa.table({"benchmark": ["b", "b"], "model": ["m", "m"], "generation": [1, 1], "created": times})
    assert find_days(table) == {("b", "m", "1"): "1970-01-01"}


def test_a_table_without_times_has_no_figure_of_days(tmp_path):
    rows = [("m", q, g, float((q + g) % 2)) for q in range(4) for g in range(3)]
    names = ("model", "question", "generation", "score")
    table = pa.table({name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)})
    page = hs.report(table, tmp_path / "report.html", static_figures=False).read_text()
    assert "Do scores change from day to day?" not in page
    assert "scores by date (no run has a date)" in page
