"""Tables with a row per variant and a column per model."""

import numpy as np
import pytest

import howsure as hs
from howsure.errors import HowsureWarning, InputError


def write(folder, text, name="task.csv"):
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["task.csv", "task.parquet"])
def test_the_first_column_is_the_variant_and_an_ending_is_no_name(tmp_path, name):
    path = write(tmp_path, "paraphrase idx,llama-7b_acc,falcon-7b_acc\n1,0.5,0.25\n2,,0.75\n")
    if name.endswith("parquet"):
        import polars as pl

        pl.read_csv(path).write_parquet(path := tmp_path / name)
    [cube] = hs.read(path, wide=True).cubes()
    expected = np.array([[[0.25, 0.75]], [[0.5, np.nan]]])
    assert (cube.benchmark, cube.models, cube.variants) == ("task", ("falcon-7b", "llama-7b"), ("1", "2"))
    assert np.array_equal(cube.mean, expected, equal_nan=True)


def test_endings_that_are_names_stay(tmp_path):
    [cube] = hs.read(write(tmp_path, "p,llama-7b,falcon-7b\n1,1,0\n"), wide=True).cubes()
    assert cube.models == ("falcon-7b", "llama-7b")
    [cube] = hs.read(write(tmp_path, "p,llama_acc,falcon_f1\n1,1,0\n"), wide=True).cubes()
    assert cube.models == ("falcon_f1", "llama_acc")
    [cube] = hs.read(write(tmp_path, "p,it's F1,that's F1\n1,1,0\n"), wide=True).cubes()
    assert cube.models == ("it's", "that's")


def test_what_is_no_model_is_named_or_told(tmp_path):
    text = ",task,style,wording,shots,a,b\n7,x,kind,Please,0,1,0\n8,x,cold,Answer!,4,0.5,0\n9,y,cold,Now,4,1,1\n"
    path = write(tmp_path, text)
    columns = {"variant": "wording", "benchmark": "task"}
    x, y = hs.read(path, columns=columns, dimensions=["shots", "style"], wide=True).cubes()
    assert (x.benchmark, x.models, x.variants) == ("x", ("a", "b"), ("Answer!", "Please"))
    assert x.values == {"shots": ("4", "0"), "style": ("cold", "kind")}
    assert y.variants == ("Now",)
    with pytest.warns(HowsureWarning, match="task.csv: style left out: not numbers, so no model"):
        hs.read(path, columns=columns, dimensions=["shots"], wide=True).cubes()


BAD = {
    "no model": ("p,style\n1,kind\n", {}, "task.csv: no column of numbers; with --wide each model is a column"),
    "a score that is none": ("p,a\n1,0.5\n2,n/a\n", {}, "column 'a': 'n/a' is no score; fix it, or say --dimension 'a'"),
    "the same variant twice": ("p,a\n1,0.5\n1,0.6\n", {}, "2 scores of benchmark 'task', model 'a', variant '1'"),
    "a name that cannot be given": ("p,a\n1,0.5\n", {"columns": {"model": "a"}}, "--columns with --wide: unknown column 'model'"),
    "a column that is not there": ("p,a\n1,0.5\n", {"columns": {"variant": "q"}}, "unknown column 'q'"),
    "a dimension that is not there": ("p,a\n1,0.5\n", {"dimensions": ["q"]}, "unknown column 'q'"),
    "an infinite score": ("p,a\n1,inf\n", {}, "row 1, column 'score': 'inf' is not a score"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_tables_are_told_in_one_line(tmp_path, case):
    text, asked, message = BAD[case]
    with pytest.raises(InputError) as told:
        hs.read(write(tmp_path, text), wide=True, **asked).cubes()
    assert message in str(told.value)
