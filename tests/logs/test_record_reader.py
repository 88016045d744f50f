"""The base of readers of records, on files made by hand."""

import json
import re

import pytest

from howsure.errors import InputError
from howsure.logs import find_reader
from howsure.logs.base import ReadOptions, RowBuilder
from howsure.logs.file_formats import FileHead
from howsure.logs.record_reader import (
    Record,
    RecordedRun,
    RecordReader,
    ReportedMean,
    get_number,
    name_by_place,
    parse_records,
    read_csv,
    read_csv_header,
)


class TinyReader(RecordReader):
    """Reads `{"tiny": [...], "mean": 0.5}`."""

    name = "Tiny"

    def recognises(self, head):
        return "tiny" in head.keys

    def parse(self, path, build):
        content = json.loads(path.read_text())
        records = [
            Record(
                question=one["id"],
                scores={"s": one.get("score")},
                source=one,
                failure=one.get("error", ""),
                is_counted=one.get("counted", True),
            )
            for one in parse_records(content["tiny"], build)
        ]
        mean = [ReportedMean(name="accuracy", value=content["mean"], scorer="s")] if "mean" in content else []
        return RecordedRun(benchmark="b", model="m", records=records, scorers=("s",), reported=mean)


def read(tmp_path, records, **more):
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps({"tiny": records, **more}))
    notes = []
    return list(TinyReader().rows(path, ReadOptions(), notes.append)), notes


def test_failed_and_unscored_generations_are_missing_with_their_reason(tmp_path):
    rows, notes = read(
        tmp_path,
        [
            {"id": "a", "score": 1},
            {"id": "b"},
            {"id": "c", "score": 0, "error": "timeout:\n  30 s"},
            {"id": "d", "score": "?"},
        ],
    )
    assert [(row.score, row.status, row.error) for row in rows] == [
        (1.0, "ok", None),
        (None, "error", "scoring: the log has no score here"),
        (None, "error", "timeout: 30 s"),
        (None, "error", "scoring: could not convert string to float: '?'"),
    ]
    assert len(notes) == 3


@pytest.mark.parametrize(
    ("mean", "differs"), [(0.5, False), (0.50004, False), (50.0, False), (0.25, True), (1.0, True), (0.0, True)]
)
def test_the_reported_mean_is_compared(tmp_path, mean, differs):
    _, notes = read(tmp_path, [{"id": "a", "score": 1}, {"id": "b", "score": 0}], mean=mean)
    assert notes == [f"the log says accuracy {mean:.4g}, and its scores give 0.5"] * differs


def test_what_failed_may_be_0_in_the_reported_mean(tmp_path):
    records = [{"id": "a", "score": 1}, {"id": "b", "error": "x"}]
    assert not any("the log says" in note for note in read(tmp_path, records, mean=1.0)[1])
    assert any("counts 1 missing generation as 0" in note for note in read(tmp_path, records, mean=0.5)[1])


def test_a_file_without_records_says_why(tmp_path):
    with pytest.raises(InputError, match="no record that can be read; there is none"):
        read(tmp_path, [])
    with pytest.raises(InputError, match="1 element is no record"):
        read(tmp_path, ["odd"])


@pytest.mark.parametrize(
    ("place", "label"),
    [
        ("gpt-4.json", "gpt-4"),
        ("gpt-4.1-mini.json", "gpt-4.1-mini"),
        ("gpt-4/results.json", "results"),
        ("results_gpt-4.json", "results_gpt-4"),
    ],
)
def test_a_file_that_names_no_model_has_its_own_name(tmp_path, place, label):
    build = RowBuilder(tmp_path / place, ReadOptions())
    assert name_by_place(tmp_path / place, build) == label
    assert [label in note for note in build.notes()] == [True]


def test_numbers_are_finite():
    values = [3, 2.5, True, "3", None, float("nan"), float("inf"), 10**400]
    assert [get_number({"x": value}, "x") for value in values] == [3.0, 2.5, None, None, None, None, None, None]


def test_tables_with_line_breaks_long_fields_and_short_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'\xef\xbb\xbfid,text\r\n1,"a\nb, ""c"""\r\n2,\r\n3\r\n4,' + b"x" * 200_000 + b"\r\n")
    build = RowBuilder(path, ReadOptions())
    assert read_csv_header(FileHead(path)) == ("id", "text")
    rows = read_csv(path, build)
    assert [row["id"] for row in rows] == ["1", "2", "4"]
    assert [row["text"] for row in rows[:2]] == ['a\nb, "c"', None]
    assert len(rows[2]["text"]) == 200_000
    assert list(build.notes()) == ["1 row has other than 2 values and is left out"]


@pytest.mark.parametrize("content", [b"a,a\n1,2\n", b'a,b\n"1,2\n', b"a,b\n\xff,1\n"])
def test_a_table_that_cannot_be_read_is_one_line(tmp_path, content):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(str(path))):
        read_csv(path, RowBuilder(path, ReadOptions()))


def test_equal_files_of_two_models_are_two_runs(tmp_path):
    header = '{"accuracy": 1.0, "correct_count": 3, "total_count": 3}'
    paths = [tmp_path / "score" / model / "BFCL_v3_simple_score.json" for model in ("a", "b")]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.write_text(header)
    first, second = (find_reader(path).describe(path) for path in paths)
    assert (list(first.models), list(second.models)) == (["a"], ["b"])
    assert first.run != second.run
