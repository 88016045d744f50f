"""deepeval. `examples/deepeval/test_run.json` was written by deepeval 4.3.1 itself (`deepeval test run --repeat 2`)."""

import json
import shutil
from pathlib import Path

import pytest

from howsure.errors import InputError, UnknownNameError
from howsure.logs import find_reader
from howsure.logs.base import ReadOptions
from howsure.logs.deepeval import DeepEvalReader
from howsure.logs.file_formats import FileHead

READER = DeepEvalReader()

RUN = Path(__file__).parent / "examples" / "deepeval" / "test_run.json"
TOTALS = json.loads(RUN.read_text())


def read(path, **asked):
    told = []
    return list(READER.rows(path, ReadOptions(**asked), told.append)), told


def written(folder, *cases, **more):
    path = folder / "run.json"
    path.write_text(json.dumps({"testCases": list(cases), "testPassed": 0, **more}))
    return path


# --- another program's output ---


def test_rows_of_a_real_run():
    rows, told = read(RUN, texts=True)
    assert [
        (row.generation, row.score, row.status, row.completion, row.target, row.messages[0]["content"]) for row in rows
    ] == [
        (1, 1.0, "ok", "4", "4", "2+2?"),
        (2, 0.0, "ok", "5", "4", "2+2?"),
        (1, 1.0, "ok", "Paris", "Paris", "capital?"),
        (2, 1.0, "ok", "Paris", "Paris", "capital?"),
        (1, None, "error", "boom", "blue", "sky?"),
        (2, 1.0, "ok", "blue", "blue", "sky?"),
    ]
    assert rows[4].error == "scoring: ValueError: judge down"
    assert len({row.question for row in rows}) == 3
    assert {(row.benchmark, row.model, row.variant) for row in rows} == {("test_it", "toy-1", "default")}
    assert told == [
        "5 scorers, of which 'Exact' is read: --scorer reads another ('Len', 'Exact/success', 'Len/success', ...)",
        "1 error of a metric left no score",
    ]


@pytest.mark.parametrize("name", ["Exact", "Len"])
def test_the_scores_of_each_metric_are_reproduced(name):
    total = next(each for each in TOTALS["metricsScores"] if each["metric"] == name)
    rows, _ = read(RUN, scorer=name)
    assert [row.score for row in rows if row.score is not None] == total["scores"]
    assert sum(row.status == "error" for row in rows) == total["errors"]
    passed, _ = read(RUN, scorer=f"{name}/success")
    assert sum(row.score for row in passed if row.score is not None) == total["passes"]


def test_the_pass_rate_is_reproduced():
    rows, told = read(RUN, scorer="success")
    assert sum(row.score for row in rows if row.score is not None) == TOTALS["testPassed"]
    assert sum(row.score in (None, 0.0) for row in rows) == TOTALS["testFailed"]
    assert told == ["1 error of a metric counted as wrong is missing here; --missing as-zero counts it as 0"]


def test_what_is_described(tmp_path):
    found = READER.describe(RUN)
    assert found.models["toy-1"].settings == {"temperature": "0.7"}
    assert found.scorers == ("Exact", "Len", "Exact/success", "Len/success", "success")
    shutil.copy(RUN, tmp_path / "renamed")
    assert READER.recognises(FileHead(tmp_path / "renamed"))
    assert READER.members(RUN) == [RUN]
    assert READER.describe(tmp_path / "renamed") == found
    assert read(tmp_path / "renamed") == read(RUN)


# --- theory: what the fields mean, by deepeval's code ---


def case(asked="q", output="a", score=1.0, **more):
    return {
        "name": "test_case_0",
        "input": asked,
        "actualOutput": output,
        "success": bool(score),
        "metricsData": [{"name": "M", "score": score, "success": bool(score)}],
        **more,
    }


def test_copies_reruns_and_what_has_no_score(tmp_path):
    cases = [case(f"q{i}", f"a{i}", name=f"test_x[{i}]") for i in (0, 1, 2) for _ in (1, 2)]
    path = written(
        tmp_path,
        *cases,
        case("q3", metricsData=None),
        case("q4", score="odd", name="test_y"),
        testFile="tests/test_x.py",
    )
    rows, told = read(path, scorer="M")
    assert [row.status for row in rows] == ["ok"] * 6 + ["error", "error"]
    assert rows[-1].error == "scoring: could not convert string to float: 'odd'"
    assert told[0] == "no hyperparameter names the model, which is called 'unknown': log it with log_hyperparameters"
    assert "1 case has no score of 'M'" in told
    assert "3 cases repeat an earlier name: reruns of failed cases would make the score too high" in told
    assert told[-2].endswith("only the judge was run again")
    assert told[-1].startswith("all generations of 3 of 3 questions")


def test_conversations(tmp_path):
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    talk = {"name": "c", "success": True, "turns": turns, "metricsData": [{"name": "M", "score": 0.5, "success": True}]}
    odd = {**talk, "turns": [1], "scenario": "greets"}
    path = written(
        tmp_path,
        conversationalTestCases=[talk, odd],
        hyperparameters={"LLM Model": {"name": "m"}},
        datasetAlias="talks",
        identifier="i",
    )
    rows, _ = read(path, texts=True, scorer="M")
    assert [(row.benchmark, row.model, row.completion, row.messages) for row in rows] == [
        ("talks", "m", "hello", ({"role": "user", "content": "hi"},)),
        ("talks", "m", None, ()),
    ]
    assert rows[0].question != rows[1].question
    assert READER.describe(path).benchmarks == {"talks": {"identifier": "i"}}


def test_inputs_that_are_no_texts_and_columns(tmp_path):
    path = written(tmp_path, case(["a", 1], metadata={"topic": "t"}), case(None), hyperparameters=7)
    rows, _ = read(path, texts=True, columns={"cluster": "metadata.topic"})
    assert [(row.cluster, row.messages) for row in rows] == [
        ("t", ({"role": "user", "content": '["a",1]'},)),
        (None, None),
    ]
    with pytest.raises(UnknownNameError, match=r"metadata\.x"):
        read(path, columns={"cluster": "metadata.x"})


def test_what_is_refused(tmp_path):
    with pytest.raises(InputError, match="no test case"):
        read(written(tmp_path))
    with pytest.raises(InputError, match="a test case cannot be read"):
        read(written(tmp_path, {"name": 1}))
    other = tmp_path / "other.json"
    other.write_text('{"testCases": [], "theirs": 1}')
    assert not READER.recognises(FileHead(other))


def test_the_file_of_the_latest_run_holds_the_same(tmp_path):
    # The key is that of deepeval 4.3.1, test_run.py: LATEST_TEST_RUN_DATA_KEY.
    path = written(tmp_path, case("q", "a"), hyperparameters={"model": "m"})
    latest = tmp_path / ".latest_test_run.json"
    latest.write_text(json.dumps({"testRunData": json.loads(path.read_text())}))
    assert isinstance(find_reader(latest), DeepEvalReader)
    assert read(latest, texts=True) == read(path, texts=True)
    assert READER.describe(latest) == READER.describe(path)


def test_a_link_to_a_run_that_was_sent_is_refused(tmp_path):
    path = tmp_path / ".latest_test_run.json"
    path.write_text('{"testRunLink": "https://example.org/run"}')
    with pytest.raises(InputError, match=r"only the link.*\.latest_run_full\.json"):
        find_reader(path).describe(path)


def test_the_hidden_folder_is_its_latest_run(tmp_path):
    folder = tmp_path / ".deepeval"
    folder.mkdir()
    run = json.loads(written(tmp_path, case("q", "a")).read_text())
    (folder / ".latest_test_run.json").write_text('{"testRunLink": "https://example.org/run"}')
    (folder / ".latest_run_full.json").write_text(json.dumps(run))
    assert find_reader(folder).members(folder) == [folder / ".latest_run_full.json"]


def test_older_names_of_the_metrics(tmp_path):
    old = {"metric": "Relevancy", "score": 0.75, "success": True, "threshold": 0.5}
    path = written(
        tmp_path, {"name": "t", "input": "q", "actualOutput": "a", "success": True, "metricsMetadata": [old]}
    )
    assert READER.describe(path).scorers == ("Relevancy", "Relevancy/success", "success")
    assert [row.score for row in read(path, scorer="Relevancy")[0]] == [0.75]
