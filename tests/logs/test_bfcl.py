"""BFCL: a score file lists wrong questions only; the accuracy in its first line must follow from the rows."""

import json
from pathlib import Path

import pytest

from howsure.errors import HowsureWarning, InputError
from howsure.logs import find_reader
from howsure.logs.base import ReadOptions
from howsure.results.evaluations import read

EXAMPLE = Path(__file__).parent / "examples" / "bfcl" / "BFCL_v4_simple_python_score.json"
SHARED = Path(__file__).resolve().parents[2] / "../shared/data/logs_cases/tables/bfcl_simple_score.json"


def rows(path, **options):
    notes = []
    return list(find_reader(path).rows(path, ReadOptions(**options), notes.append)), notes


def write(path, total, wrong, accuracy=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    header = {"accuracy": 1 - len(wrong) / total if accuracy is None else accuracy, "total_count": total}
    records = [{**header, "correct_count": total - len(wrong)}, *wrong]
    path.write_text("\n".join(map(json.dumps, records)))
    return path


def test_right_questions_are_those_that_are_not_listed():
    read_rows, notes = rows(EXAMPLE, texts=True)
    assert {row.question: row.score for row in read_rows} == {
        **{f"simple_python_{n}": 1.0 for n in (0, 2, 3, 5, 6, 7, 9)},
        **{f"simple_python_{n}": 0.0 for n in (1, 4)},
        "simple_python_8": None,
    }
    assert {(row.benchmark, row.model) for row in read_rows} == {("bfcl-simple_python", "gpt-x-FC")}
    assert read_rows[1].completion == "[area(base=1)]"
    assert read_rows[1].messages == ({"role": "user", "content": "Area of triangle 1?"},)
    assert read_rows[8].error == "Error during inference: 429 Too Many Requests"
    assert any("lists wrong questions only: the other 7 of 10 are right" in note for note in notes)
    assert (
        "the log says accuracy 0.7, and its scores give 0.7778: it counts 1 missing generation as 0, as --missing as-zero does"
        in notes
    )


def test_older_ids_count_from_1_and_live_ids_have_more_parts(tmp_path):
    old = write(
        tmp_path / "a" / "BFCL_v1_simple_score.json", 3, [{"id": 2, "model_name": "m", "test_category": "simple"}]
    )
    live = [{"id": "live_simple_2-1-0", "model_name": "m", "test_category": "live_simple"}]
    new = write(tmp_path / "b" / "BFCL_v3_live_simple_score.json", 3, live)
    assert [row.question for row in rows(old)[0] if not row.score] == ["simple_1"]
    assert {row.question: row.score for row in rows(new)[0]} == {
        "live_simple_0": 1.0, "live_simple_1": 1.0, "live_simple_2": 0.0,
    }  # fmt: skip


def test_the_result_file_names_the_questions_and_has_their_completions(tmp_path):
    wrong = [{"id": "simple_7", "model_name": "m", "test_category": "simple", "model_result_raw": "[f()]"}]
    path = write(tmp_path / "score" / "m" / "non_live" / "BFCL_v3_simple_score.json", 2, wrong)
    with pytest.raises(InputError, match="their numbers do not tell the others"):
        rows(path)
    results = tmp_path / "result" / "m" / "non_live" / "BFCL_v3_simple_result.json"
    results.parent.mkdir(parents=True)
    results.write_text('{"id": "simple_7", "result": "[f()]"}\n{"id": "simple_3", "result": [{"g": "{}"}]}\n')
    read_rows, notes = rows(path, texts=True)
    assert {row.question: (row.score, row.completion) for row in read_rows} == {
        "simple_7": (0.0, "[f()]"), "simple_3": (1.0, '[{"g":"{}"}]'),
    }  # fmt: skip
    assert notes == []


def test_a_file_without_wrong_questions_is_named_by_its_place(tmp_path):
    path = write(tmp_path / "score" / "my-model" / "live" / "BFCL_v3_live_relevance_score.json", 4, [])
    read_rows, _ = rows(path)
    assert {(row.benchmark, row.model, row.score) for row in read_rows} == {("bfcl-live_relevance", "my-model", 1.0)}
    assert len(read_rows) == 4


def test_another_accuracy_is_noted(tmp_path):
    path = write(tmp_path / "BFCL_v3_simple_score.json", 4, [{"id": "simple_0", "model_name": "m"}], accuracy=0.5)
    assert "the log says accuracy 0.5, and its scores give 0.75" in rows(path)[1]


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="needs the data folder ../shared")
def test_a_published_file():
    # Its first line says 0.8975, 359 of 400.
    with pytest.warns(HowsureWarning, match="the other 359 of 400 are right"):
        (cells,) = read(SHARED)
    assert (cells.models, int(cells.total.sum()), int(cells.n.sum())) == (("claude-2.1",), 359, 400)
    assert cells.benchmark == "bfcl-simple"
