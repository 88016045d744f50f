"""A run folder as a data set. Kind of truth: the rows of the folder; another program, `datasets`, loads it."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from helpers.exported_runs import SECRET, row, same, stored, write_run

from howsure.errors import InputError
from howsure.export import hub_dataset as dataset_module
from howsure.export.hub_dataset import write_dataset
from howsure.rows.table import read_cells
from howsure.store.responses import RunFolder, read


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run")


def front(folder):
    _, text, _ = (folder / "README.md").read_text().split("---\n", 2)
    return yaml.safe_load(text)


def test_a_data_set_has_a_configuration_for_each_benchmark_and_the_prompts(run, tmp_path):
    assert write_dataset(run, tmp_path / "set") == 144
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
    monkeypatch.setattr(dataset_module, "ROW_GROUP", 10)
    write_dataset(run, tmp_path / "set")
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
    write_dataset(run, tmp_path / "set")
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
    write_dataset(tmp_path / "run", tmp_path / "set")
    found = {one["config_name"] for one in front(tmp_path / "set")["configs"]}
    assert found == {"benchmark", "A_B", "a_b-2", "a_b-3", "prompts", "prompts-2"}
    with RunFolder(tmp_path / "empty"):
        pass
    with pytest.raises(InputError, match="the run has no generation"):
        write_dataset(tmp_path / "empty", tmp_path / "none")
    assert not (tmp_path / "none").exists()


# another program's output


def test_datasets_loads_it(run, tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    write_dataset(run, tmp_path / "set")
    for name, n in (("a_b", 72), ("sums", 72), ("prompts", 6)):
        loaded = datasets.load_dataset(str(tmp_path / "set"), name, cache_dir=str(tmp_path / "cache"))["test"]
        assert len(loaded) == n
