"""Frames of Spark are collected, and give the same cells; skipped where PySpark or Java is absent."""

import os
import shutil

import pytest
from helpers.tables import read_cells, read_cubes, read_runs

from howsure.rows.frames import is_frame

NAMES = ["benchmark", "model", "question", "variant", "generation", "score"]
ROWS = [
    ("b", "m", "q1", "v", 1, 1.0), ("b", "m", "q1", "v", 2, 0.0), ("b", "m", "q2", "w", 1, None),
    ("b", "n", "q2", "w", 1, 0.5), ("a", "m", "q1", "v", 1, float("nan")),
]  # fmt: skip


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
        from pyspark.sql import SparkSession

        found = SparkSession.builder.master("local[2]").getOrCreate()
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
