"""From a run folder to other programs' forms, and back."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from howsure.errors import InputError
from howsure.export import hub_dataset as dataset_module
from howsure.export import tabular
from howsure.export.hub_dataset import dataset
from howsure.readers.logs.base import UNSCORED
from howsure.stats.core.cells import Cells
from howsure.store import manifest, scorer_files
from howsure.store.manifest import Model
from howsure.store.responses import RunFolder, read
from howsure.store.schema import COLUMNS, Response
from howsure.tables import rows_to_cells
from howsure.tables.read_table import read_cells, read_runs

SECRET = "sk-a-very-secret-key-0123456789"


def row(question="q", generation=1, **rest):
    values = {"benchmark": "b", "model": "m", "variant": "v", "score": 1.0, **rest}
    return Response(question=question, generation=generation, **values)


def rows_of(benchmark, models="xy", scale=1.0):
    return [
        row(
            f"q{i}",
            g,
            benchmark=benchmark,
            model=m,
            variant=v,
            score=None if (i, g) == (3, 2) else scale * ((i * 7 + g * 3 + ord(m)) % 2),
            error="timeout: x" if (i, g) == (3, 2) else None,
            status="error" if (i, g) == (3, 2) else "ok",
            answer="4",
            completion=f"It is {i}, “so to speak”.",
            request="req-17",
        )
        for m in models
        for i in range(6)
        for v in "vw"
        for g in (1, 2, 3)
    ]


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "run"
    with RunFolder(path) as folder:
        folder.append([*rows_of("sums"), *rows_of("a/b", scale=0.5)])
        folder.put_prompts(
            ("sums", f"q{i}", "v", [{"role": "user", "content": f"{i}?"}], "4", {"cluster": f"c{i % 2}"})
            for i in range(6)
        )
        model = Model(
            name="x",
            kind="made",
            base_url="http://inner.host/v1",
            key_env="MADE_KEY",
            settings={"api_key": "k", "eos_token": "e"},
        )
        manifest.begin(path, manifest.Manifest(models={"x": model}, notes=(f"it said {SECRET}",)))
        folder.compact()
    return path


def same(first: Cells, second: Cells, *names: str, exactly=True):
    assert (first.benchmark, first.models, first.questions) == (second.benchmark, second.models, second.questions)
    for name in names:
        a, b = getattr(first, name), getattr(second, name)
        assert (a == b).all() if exactly else np.allclose(a, b, rtol=1e-14)


def stored(path):
    found = rows_to_cells.cells(read(path, ["benchmark", "model", "question", "variant", "score"]))
    return {one.benchmark: one for one in found}


# theory: a round trip changes nothing


def test_the_tidy_table_reads_as_the_run_does(run, tmp_path):
    told: list[str] = []
    assert tabular.parquet(run, tmp_path / "rows.parquet", tell=told.append) == 144
    assert told == []
    there = pq.read_table(tmp_path / "rows.parquet")
    assert there.column_names == [*COLUMNS, "cluster"]
    assert there.drop_columns("cluster").to_pylist() == read(run).to_pylist()
    of = {row["question"]: row["cluster"] for row in there.to_pylist() if row["benchmark"] == "sums"}
    assert of == {f"q{i}": f"c{i % 2}" for i in range(6)}
    for one in read_cells(tmp_path / "rows.parquet"):
        same(one, stored(run)[one.benchmark], "n", "total", "total_sq", "failed")
        assert one.variants == ("v", "w")
    assert [len(runs) for runs in read_runs(tmp_path / "rows.parquet").values()] == [3, 3]


def test_completions_without_a_score_are_left_out_of_a_table_and_told(tmp_path):
    with RunFolder(tmp_path / "run") as folder:
        folder.append([row("q"), row("q", 2, score=None, status=UNSCORED), row("q", 3, score=None, error="e: x")])
    told: list[str] = []
    assert tabular.parquet(tmp_path / "run", tmp_path / "rows.parquet", tell=told.append) == 2
    assert told == ["1 completions that nobody scored are left out: howsure rescore scores them"]
    assert "cluster" not in pq.read_schema(tmp_path / "rows.parquet").names
    again = [scorer_files.RescoredRow("b", "m", "q", "v", n, score=0.25) for n in (1, 2, 3)]
    scorer_files.write_scores(tmp_path / "run", "mine", "1", iter(again))
    assert tabular.parquet(tmp_path / "run", tmp_path / "rows.parquet", tell=told.append, scorer="mine") == 3
    assert pq.read_table(tmp_path / "rows.parquet")["score"].to_pylist() == [0.25] * 3


def test_large_tables_have_row_groups_of_one_size(run, tmp_path, monkeypatch):
    monkeypatch.setattr(tabular, "_GROUP", 40)
    tabular.parquet(run, tmp_path / "rows.parquet", tell=print)
    about = pq.read_metadata(tmp_path / "rows.parquet")
    assert max(about.row_group(i).num_rows for i in range(about.num_row_groups)) == 40
    assert about.num_rows == 144


def test_eval_arena_reads_as_the_run_does(run, tmp_path):
    told: list[str] = []
    cells = stored(run)["sums"]
    assert tabular.eval_arena([cells], tmp_path / "arena.jsonl", tell=told.append) == 12
    assert told == ["sums: 4 failed generations are not in it: they have no score"]
    lines = [json.loads(line) for line in (tmp_path / "arena.jsonl").read_text().splitlines()]
    # of x (ord 120) and q0 the generations 1, 2, 3 of v and w score 1, 0, 1
    assert lines[0] == {
        "benchmark_id": "sums",
        "model": "x",
        "example_id": "q0",
        "pass1": 4 / 6,
        "count": 6,
        "correct": 4,
    }
    (back,) = read_cells(tmp_path / "arena.jsonl")
    same(back, cells, "n")
    same(back, cells, "total", "total_sq", exactly=False)


def test_eval_arena_says_what_it_cannot_hold(tmp_path):
    cells = Cells.from_scores("b", ["x", "y"], ["q1", "q2"], [[[0.5, 0.25], [1.0, 1.0]], [[0.5], []]])
    told: list[str] = []
    assert tabular.eval_arena([cells], tmp_path / "arena.jsonl", tell=told.append) == 3
    lines = [json.loads(line) for line in (tmp_path / "arena.jsonl").read_text().splitlines()]
    assert [line.get("correct") for line in lines] == [None, 2, None]
    assert [line["count"] for line in lines] == [2, 2, 1]
    assert any("1 of 4 cells have no score, and eval-arena wants them all" in line for line in told)
    assert any("1 cells have scores that are not 0 or 1" in line for line in told)
    nothing = np.zeros((1, 1))
    empty = Cells("b", ("x",), ("q1",), nothing.astype(int), nothing, nothing)
    with pytest.raises(InputError, match="there is no score to export"):
        tabular.eval_arena([empty], tmp_path / "none.jsonl", tell=told.append)
    assert not (tmp_path / "none.jsonl").exists()


# the data set


def front(folder):
    _, text, _ = (folder / "README.md").read_text().split("---\n", 2)
    return yaml.safe_load(text)


def test_a_data_set_has_a_configuration_for_each_benchmark_and_the_prompts(run, tmp_path):
    assert dataset(run, tmp_path / "set") == 144
    told = front(tmp_path / "set")
    assert [one["config_name"] for one in told["configs"]] == ["a_b", "sums", "prompts"]
    kinds = {"string": pa.string(), "int64": pa.int64(), "float64": pa.float64()}
    for config, about in zip(told["configs"], told["dataset_info"], strict=True):
        (files,) = config["data_files"]
        (split,) = about["splits"]
        assert files["split"] == split["name"]
        held = pa.concat_tables(pq.read_table(file) for file in sorted((tmp_path / "set").glob(files["path"])))
        assert len(held) == split["num_examples"]
        assert {field.name: field.type for field in held.schema} == {
            one["name"]: kinds[one["dtype"]] for one in about["features"]
        }
    for name, benchmark in (("a_b", "a/b"), ("sums", "sums")):
        (cells,) = read_cells(tmp_path / "set" / "data" / name / "00000.parquet")
        same(cells, stored(run)[benchmark], "n", "total", "total_sq", "failed")
    assert "144 generations" in (tmp_path / "set" / "README.md").read_text()


def test_shards_are_cut_and_hold_all_rows_in_order(run, tmp_path, monkeypatch):
    monkeypatch.setattr(dataset_module, "SHARD", 1000)
    monkeypatch.setattr(tabular, "_GROUP", 10)
    dataset(run, tmp_path / "set")
    files = sorted((tmp_path / "set" / "data" / "sums").iterdir())
    assert len(files) > 3
    held = pa.concat_tables(pq.read_table(file) for file in files).to_pylist()
    wanted = [one for one in read(run).to_pylist() if one["benchmark"] == "sums"]
    assert [(one["question"], one["generation"]) for one in held] == [
        (one["question"], one["generation"]) for one in wanted
    ]


def test_no_secret_gets_into_a_data_set(run, tmp_path, monkeypatch):
    with RunFolder(run) as folder:
        folder.append([row("q9", benchmark="sums", completion=f"My key is {SECRET}!")])
        folder.put_prompts([("sums", "q9", "v", [{"role": "system", "content": SECRET}], "", None)])
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    monkeypatch.setenv("OTHER_TOKEN", "EMPTY")  # a placeholder is no secret
    dataset(run, tmp_path / "set")
    for path in (tmp_path / "set").rglob("*.*"):
        text = json.dumps(pq.read_table(path).to_pylist()) if path.suffix == ".parquet" else path.read_text()
        for secret in (SECRET, "inner.host", "MADE_KEY", "req-17", '"api_key"', '"platform"'):
            assert secret not in text, path
    about = json.loads((tmp_path / "set" / "manifest.json").read_text())
    assert about["models"]["x"]["settings"] == {"eos_token": "e"}
    assert about["notes"] == ["it said [key]"]


def test_names_that_fall_together_are_told_apart(tmp_path):
    names = ["a b", "a_b", "A_B", "prompts", "//"]
    with RunFolder(tmp_path / "run") as folder:
        folder.append([row(benchmark=name) for name in names])
        folder.put_prompts([("a b", "q", "v", [], "", None)])
    (tmp_path / "run" / "manifest.json").unlink(missing_ok=True)
    dataset(tmp_path / "run", tmp_path / "set")
    found = {one["config_name"] for one in front(tmp_path / "set")["configs"]}
    assert found == {"benchmark", "A_B", "a_b-2", "a_b-3", "prompts", "prompts-2"}
    with RunFolder(tmp_path / "empty"):
        pass
    with pytest.raises(InputError, match="the run has no generation"):
        dataset(tmp_path / "empty", tmp_path / "none")
    assert not (tmp_path / "none").exists()


# another program's output


def test_datasets_loads_it(run, tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    dataset(run, tmp_path / "set")
    for name, n in (("a_b", 72), ("sums", 72), ("prompts", 6)):
        loaded = datasets.load_dataset(str(tmp_path / "set"), name, cache_dir=str(tmp_path / "cache"))["test"]
        assert len(loaded) == n
