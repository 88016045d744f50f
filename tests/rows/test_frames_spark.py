"""Spark: the same cells where the rows lie, from frames, files and tables; skipped where PySpark or Java is absent."""

import json
import os
import shutil
import sys

import pytest

from howsure.errors import InputError
from howsure.rows import frames
from howsure.rows.frames import is_frame
from howsure.rows.table import read_cells, read_cubes, read_runs

NAMES = ["benchmark", "model", "question", "variant", "generation", "score"]
ROWS = [
    ("b", "m", "q1", "v", 1, 1.0), ("b", "m", "q1", "v", 2, 0.0), ("b", "m", "q2", "w", 1, None),
    ("b", "n", "q2", "w", 1, 0.5), ("a", "m", "q1", "v", 1, float("nan")),
]  # fmt: skip


def test_without_pyspark_it_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "py4j.protocol", None)
    with pytest.raises(InputError, match=r"--engine spark: PySpark is not installed; pip install 'howsure\[spark\]'"):
        frames.start_session()


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'howsure[spark]'")
    if not shutil.which("java") and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17 or newer, and there is none")
    conf = tmp_path_factory.mktemp("conf")
    lines = {
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false", "spark.sql.warehouse.dir": str(conf / "tables"),
    }  # fmt: skip
    (conf / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in lines.items()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(conf))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        found = frames.start_session("local[2]")
        found.sparkContext.setLogLevel("OFF")
        yield found
        found.stop()


pytestmark = pytest.mark.filterwarnings("ignore")  # PySpark's, of pandas and of sockets


@pytest.fixture(scope="module")
def frame(session):
    return session.createDataFrame(ROWS, NAMES).cache()


def test_the_same_cells_of_a_spark_frame(frame):
    """Counted by hand."""
    assert is_frame(frame)
    a, b = read_cells(frame)
    assert (a.benchmark, a.n.tolist(), a.failed.tolist()) == ("a", [[0]], [[1]])
    assert (b.models, b.questions, b.variants) == (("m", "n"), ("q1", "q2"), ("v", "w"))
    assert (b.n.tolist(), b.total.tolist(), b.total_sq.tolist()) == (
        [[2, 0], [0, 1]],
        [[1, 0], [0, 0.5]],
        [[1, 0], [0, 0.25]],
    )
    assert b.failed.tolist() == [[0, 1], [0, 0]]


def test_runs_and_cubes_of_a_spark_frame(frame):
    assert [int(run.n.sum()) for run in read_runs(frame)["b"]] == [2, 1]
    _, b = read_cubes(frame)
    assert b.nested
    assert b.n.tolist() == [[[2], [0]], [[0], [1]]]
    _, b = read_cubes(frame.drop("variant").withColumnRenamed("generation", "shots"), dimensions=["shots"])
    assert b.variants == ("1", "2")


def test_bad_rows_of_a_spark_frame(session, frame):
    from pyspark.sql import functions

    with pytest.raises(
        InputError, match="the frame: 1 duplicate key, the first benchmark 'b', model 'n', question 'q2'"
    ):
        read_cells(frame.union(frame.filter("model = 'n'")))
    with pytest.raises(InputError, match="the frame: the model is empty"):
        read_cells(frame.withColumn("model", functions.lit(None).cast("string")))
    with pytest.raises(InputError, match="the frame: a score is not a finite number"):
        read_cells(frame.withColumn("score", functions.lit(float("inf"))))
    with pytest.raises(InputError, match="column 'score' is of type List"):
        read_cells(frame.withColumn("score", functions.array(functions.lit(1))))
    words = frame.withColumn("score", functions.lit("good"))
    for ansi in ("true", "false"):
        session.conf.set("spark.sql.ansi.enabled", ansi)
        with pytest.raises(
            InputError, match="the frame: (cannot be read: .CAST_INVALID_INPUT|5 values of column 'score' are no)"
        ):
            read_cells(words)
    session.conf.set("spark.sql.ansi.enabled", "true")


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "parquet"])
def test_files_are_known_by_their_endings(session, tmp_path, form):
    path = tmp_path / f"rows.{form}"
    rows = [{"benchmark": "b", "model": "007", "question": str(i), "run": 1, "score": i % 2} for i in range(6)]
    if form == "parquet":
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif form == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        mark = "," if form == "csv" else "\t"
        lines = [mark.join(rows[0]), *(mark.join(map(str, row.values())) for row in rows)]
        path.write_text("\n".join(lines))
    [cells] = read_cells(frames.read_spark_table(session, str(path)))
    assert (cells.models, cells.questions) == (("007",), tuple("012345"))
    assert cells.total.tolist() == [[0, 1, 0, 1, 0, 1]]


def test_tables_and_what_is_not_there(session, frame, tmp_path):
    frame.createOrReplaceTempView("generations")
    assert len(read_cells(frames.read_spark_table(session, "generations"))) == 2
    frame.write.parquet(str(tmp_path / "lake"))
    assert len(read_cells(frames.read_spark_table(session, str(tmp_path / "lake")))) == 2
    for name in ("absent", str(tmp_path / "absent.parquet"), "a b"):
        with pytest.raises(InputError, match=r"cannot be read by Spark: .*; give a table of Spark, or a path") as told:
            frames.read_spark_table(session, name)
        assert "\n" not in str(told.value)


def test_a_session_on_another_master_is_told(session):
    assert frames.start_session() is session
    with pytest.raises(
        InputError, match=r"--master local\[1\]: a session on local\[2\] is there already; stop it first"
    ):
        frames.start_session("local[1]")


def test_a_session_that_does_not_start(monkeypatch):
    builder = pytest.importorskip("pyspark.sql", reason="PySpark is not installed").SparkSession.Builder

    def fail(_):
        raise RuntimeError("Java gateway process exited before sending its port number\nmore")

    monkeypatch.setattr(builder, "getOrCreate", fail)
    with pytest.raises(
        InputError,
        match="--engine spark: Spark does not start: Java gateway process exited before sending its port number; is Java 17",
    ):
        frames.start_session()
