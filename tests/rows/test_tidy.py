"""Tables in files: the shapes and names they come in, and each way they can be wrong."""

from __future__ import annotations

import gzip
import json
import math
import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import eval_arena_tables
from helpers.long_cases import mark_long
from oracles import pairs as two

import howsure as hs
from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.rows.read_table import read_cells, read_cubes, read_runs
from howsure.rows.table_files import is_table
from howsure.stats.comparisons.pairs import pairs

ROWS = "model,question,score\na,q1,1\na,q2,0\nb,q1,0.5\nb,q2,1\n"


def write(tmp_path, text, name="some.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


@cache
def answered_by_the_oracle(kind):
    # The oracle loops over pairs of 1,100 generations: five questions of those are as good as twelve.
    fewer = {"questions": 5} if kind in {"many", "between"} else {}
    rows = eval_arena_tables.KINDS[kind](seed=3, **fewer)
    scores = eval_arena_tables.scores(rows)
    return rows, scores, two.all_pairs(scores[2])


@pytest.mark.parametrize("kind", mark_long(eval_arena_tables.KINDS, after=2))
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_the_eval_arena_shape_gives_what_the_oracle_gives(tmp_path, kind, form):
    """A slow version written differently, on the project's own extracts of the published shape."""
    rows, (models, questions, scores), oracle = answered_by_the_oracle(kind)
    [cells] = read_cells(eval_arena_tables.write(rows, tmp_path, formats=[form])[form])
    assert (list(cells.models), list(cells.questions)) == (models, questions)
    assert cells.n.tolist() == [[len(s) for s in row] for row in scores]
    ours = pairs(cells)
    columns = ours.columns()
    for row, key in enumerate(zip(ours.a.tolist(), ours.b.tolist(), strict=True)):
        for name in ("difference", "se_total", "se_data", "se_prediction", "disagreement", "p_sign"):
            # pass1 is rounded to ten digits where there are 1,100 generations
            assert columns[name][row] == pytest.approx(oracle[key][name], nan_ok=True, rel=1e-6, abs=1e-8), name


def test_a_row_per_generation_under_the_names_of_other_tools(tmp_path):
    text = "prompt_template,model_label,input,run,metric\nv1,m,x,0,1\nv1,m,x,1,0\nv2,m,x,0,1\nv1,m,y,0,true\n"
    [cells] = read_cells(write(tmp_path, text, "bench.csv"))
    assert cells.benchmark == "bench"
    assert (cells.models, cells.questions, cells.variants) == (("m",), ("x", "y"), ("v1", "v2"))
    assert cells.n.tolist() == [[3, 1]]
    assert cells.total.tolist() == [[2.0, 1.0]]


def test_questions_without_scores_are_said_to_be_a_benchmark(tmp_path):
    path = tmp_path / "my questions.csv"
    path.write_text("text,key\nWhat is 1 + 1?,2\nWhat is 2 + 2?,4\n")
    with pytest.raises(InputError, match="the benchmark of an experiment: {file: NAME, question: COLUMN"):
        hs.preview(path)
    path.write_text("model,text,key\nm,What is 1 + 1?,2\n")
    with pytest.raises(InputError) as caught:
        hs.preview(path)
    assert "experiment" not in str(caught.value)


def test_several_benchmarks_in_one_table_and_ids_stay_text(tmp_path):
    text = "benchmark,model,question,score\nb,007,1,1\nb,007,01,0\na,true,1,1\n"
    a, b = hs.read(write(tmp_path, text))
    assert (a.benchmark, a.models, a.questions) == ("a", ("true",), ("1",))
    assert (b.benchmark, b.models, b.questions) == ("b", ("007",), ("01", "1"))


def test_an_empty_score_is_missing_never_zero(tmp_path):
    [cells] = read_cells(write(tmp_path, "model,question,score\na,q1,1\na,q2,\na,q3,NaN\n"))
    assert cells.n.tolist() == [[1, 0, 0]]
    assert cells.failed.tolist() == [[0, 1, 1]]
    row = hs.score(cells).columns()
    assert row["score"][0] == 1
    assert row["n_missing"][0] == 2
    assert "2 generations without a score, left out" in row["note"][0]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffmodel,question,score\r\na,x,1\r\n",
        "model;question;score\na;x;1\n\n",
        '"model"\t"question"\t"score"\na\t"x"\t1',
    ],
)
def test_csv_dialects_lose_no_row(tmp_path, text):
    [cells] = read_cells(write(tmp_path, text))
    assert (cells.models, cells.questions, cells.total.tolist()) == (("a",), ("x",), [[1.0]])


def test_text_that_is_not_utf8(tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes("model,question,score\na,café,1\n".encode("latin-1"))
    with pytest.warns(HowsureWarning, match="latin.csv: the text is no UTF-8, and is read as Windows-1252"):
        [cells] = read_cells(path)
    assert cells.questions == ("café",)


def test_repeated_rows_without_a_generation_are_taken_as_generations_and_told(tmp_path):
    with pytest.warns(HowsureWarning, match="1 cell has several rows and there is no column 'generation'"):
        [cells] = read_cells(write(tmp_path, "model,question,score\na,1,1\na,1,0\na,2,0\n"))
    assert cells.n.tolist() == [[2, 1]]


def test_rows_of_several_prompt_variants_are_no_repeats(tmp_path):
    """One row of each variant, for both models; then a third row of a question under two variants."""
    text = "model,question,variant,score\na,1,v,1\na,1,w,0\na,2,v,1\na,2,w,0\nb,1,v,1\nb,2,v,1\n"
    [cells] = read_cells(write(tmp_path, text))
    assert cells.n.tolist() == [[2, 2], [1, 1]]
    for row in ("a,1,v,0\n", "b,1,v,0\n"):  # model b has one variant only
        with pytest.warns(HowsureWarning, match=f"1 cell has several rows.*model '{row[0]}', question '1'"):
            read_cells(write(tmp_path, text + row))


def test_the_first_cell_with_several_rows_is_named_with_what_to_do(tmp_path):
    path = write(tmp_path, "model,question,score\na,1,1\na,2,0\nb,1,0\nb,2,0\nb,2,1\n")
    expected = (
        "The first is model 'b', question '2'. If a column has the number of the generation, name it with --columns "
        "generation=COLUMN; if rows repeat, drop the repeats"
    )
    with pytest.warns(HowsureWarning, match=re.escape(expected)):
        read_cells(path)
    path = write(tmp_path, "model,question,variant,score\na,1,x,1\na,1,y,0\na,1,y,1\n")
    with pytest.warns(HowsureWarning, match="The first is model 'a', question '1', variant 'y'[.]"):
        read_cubes(path)


def test_cells_with_several_rows_are_counted_by_benchmark_and_only_for_those_that_are_read(tmp_path):
    path = write(tmp_path, "benchmark,model,question,score\nx,a,1,1\nx,a,2,0\ny,a,1,0\ny,a,1,0\nz,a,1,0\nz,a,1,1\n")
    with pytest.warns(HowsureWarning) as caught:
        hs.read(path).cells()
    counted = [re.search(r"csv: (\w: \d+ cell)", str(one.message)) for one in caught]
    assert [match[1] for match in counted if match] == ["y: 1 cell", "z: 1 cell"]
    with pytest.warns(HowsureWarning) as caught:
        hs.read(path, benchmarks=["z"]).cells()
    assert [str(one.message).partition("csv: ")[2][:9] for one in caught] == ["z: 1 cell"]
    hs.read(path, benchmarks=["x"]).cells()


def test_named_columns_and_compressed_files(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"who,what,score,points\na,x,9,1\na,y,9,0\n"))
    [cells] = hs.read(path, columns={"model": "who", "question": "what", "score": "points"})
    assert cells.benchmark == "t"
    assert cells.total.tolist() == [[1.0, 0.0]]
    assert is_table(path)
    assert not is_table(Path("t.parquet.gz"))
    assert not is_table(Path("report.html"))


def test_jsonl_with_scores_and_booleans(tmp_path):
    lines = [{"model": "a", "id": i, "score": value} for i, value in enumerate([True, False, 0.25])]
    [cells] = read_cells(write(tmp_path, "\n".join(map(json.dumps, lines)), "t.jsonl"))
    assert cells.total.tolist() == [[1.0, 0.0, 0.25]]


def test_a_mean_without_a_count_is_one_score(tmp_path):
    [cells] = read_cells(write(tmp_path, "model,example_id,pass1\na,1,0.5\na,2,1\n"))
    assert cells.n.tolist() == [[1, 1]]
    assert cells.total_sq.tolist() == [[0.25, 1.0]]


BAD = {
    "missing columns": ("model,topic,points\na,x,y\n",
                        "no column for 'question' and 'score'; the columns are model, topic, points: name them with --columns"),
    "scores that are not numbers": ("model,question,score\na,1,1\na,2,good\n",
                                    "some.csv, line 3, column 'score': 'good' is not a score, which is a finite number; fix"),
    "an infinite score": ("model,question,score\na,1,inf\n", "line 2, column 'score': 'inf' is not a score"),
    "a word beside others": ("model,question,score\na,1,yes\na,2,maybe\na,3,No\n",
                             "line 3, column 'score': 'maybe' is not a score"),
    "letter grades": ("model,question,score\na,1,C\na,2,B\n", "line 3, column 'score': 'B' is not a score"),
    "a count of 0": ("model,question,pass1,count\na,1,1,3\na,2,0,0\n",
                     "line 3, column 'count': the count is not a whole number of at least 1: '0'; count the generations"),
    "a count of 2.5": ("model,question,pass1,count\na,1,1,2.5\n", "not a whole number of at least 1: '2.5'"),
    "an empty count": ("model,question,pass1,count\na,1,1,\n", "line 2, column 'count': the count is not"),
    "an empty mean": ("model,question,pass1,count\na,1,,2\n", "column 'pass1': the mean is empty; leave the row out"),
    "duplicate cells": ("model,question,pass1,count\na,1,1,2\na,1,0,2\n",
                        "some.csv: 1 duplicate key, the first benchmark 'some', model 'a', question '1'; it occurs 2 times"),
    "duplicate generations": ("model,question,run,score\na,1,0,1\na,1,0,0\nb,1,0,1\nb,1,0,1\n", "2 duplicate keys"),
    "a header alone": ("model,question,score\n", "some.csv: no rows"),
    "an empty file": ("", "some.csv: the file is empty; give a table"),
    "an empty model": ("model,question,score\n,1,1\n", "line 2, column 'model': the model is empty; fill it in"),
    "correct that is not the mean": ("model,question,pass1,count,correct\na,1,0.5,10,6\n", "correct / count is not pass1"),
    "a mean of scores that are not 0 or 1": ("model,question,pass1,count\na,1,0.37,5\n", "whose spread is lost: '0.37'; give one row"),
    "a mean above 1": ("model,question,pass1,count\na,1,7,2\n", "whose spread is lost"),
    "a line with a field too many": ("model,question,score\na,1,1\na,2,0,9\n", "line 3: cannot be read: 4 fields where the header has 3; quote"),
    "a line cut short": ("model,question,score\na,1,1\na,2", "line 3: cannot be read: 2 fields where the header has 3; is the file whole"),
    "a quote that never ends": ('model,question,score\na,"1,1\na,2,0\n', "some.csv: cannot be read: .*; is the file whole"),
    "a line before the header": ("results of today\nmodel question score\na 1 1\n", "no column for .* the columns are results of today: name them"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_tables_are_told_in_one_line(tmp_path, case):
    text, message = BAD[case]
    with pytest.raises(InputError, match=message) as caught:
        read_cells(write(tmp_path, text))
    assert "\n" not in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_files_that_are_not_whole(tmp_path):
    whole = eval_arena_tables.write(eval_arena_tables.ten(), tmp_path)
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(whole["parquet"].read_bytes()[:-40])
    with pytest.raises(InputError, match="cut.parquet: cannot be read: .*; is the file whole"):
        read_cells(cut)
    torn = tmp_path / "torn.jsonl"
    torn.write_text(whole["jsonl"].read_text()[:-20])
    with pytest.raises(InputError, match="torn.jsonl: cannot be read"):
        read_cells(torn)


def test_wrong_names(tmp_path):
    path = write(tmp_path, ROWS)
    with pytest.raises(UnknownNameError, match="unknown column 'modle'; did you mean 'model'"):
        read_cells(path, {"modle": "model"})
    with pytest.raises(UnknownNameError, match="unknown column 'scores'; did you mean 'score'"):
        read_cells(path, {"score": "scores"})
    with pytest.raises(UnknownNameError, match="unknown file type '.docx'"):
        read_cells(write(tmp_path, "x", "t.docx"))
    with pytest.raises(InputError, match="no such file"):
        read_cells(tmp_path / "absent.csv")


@pytest.mark.long
@pytest.mark.shared
def test_livebench_is_ragged_and_compared_on_common_questions():
    """A slow version: each of 60 pairs by its own loop over the questions that both answered."""
    path = Path(__file__).resolve().parents[2] / "../shared/data/livebench/livebench_13012025.parquet"
    if not path.is_file():
        pytest.skip("the LiveBench answers of ../shared/data/livebench are not here")
    import pandas as pd

    with pytest.warns(HowsureWarning) as caught:
        [cells] = hs.read(path)
    told = [str(one.message) for one in caught]
    assert any("590 cells have several rows" in line for line in told)
    assert any(
        "column 'task' has 18 values" in line and "and 'category' 6, read as one benchmark" in line for line in told
    )
    assert cells.n.shape == (93, 1136)
    table = pd.read_parquet(path)
    answers = {}  # six models were run twice on some questions: the mean of both
    for (model, question), scores in table.groupby(["model", "question_id"]).score:
        answers.setdefault(model, {})[question] = math.fsum(scores) / len(scores)
    assert cells.n.sum() == len(table) == 93624
    assert cells.answered.sum() == sum(map(len, answers.values())) == 93034
    columns = hs.pairs(cells).columns()
    assert len(columns["z"]) == 93 * 92 // 2
    for row in np.random.default_rng(0).choice(len(columns["z"]), 60, replace=False):
        a, b = answers[columns["model_a"][row]], answers[columns["model_b"][row]]
        differences = [a[q] - b[q] for q in a if q in b]
        n = len(differences)
        mean = math.fsum(differences) / n
        variance = math.fsum((d - mean) ** 2 for d in differences) / n
        assert columns["n_questions"][row] == n
        assert columns["difference"][row] == pytest.approx(mean, rel=1e-10, abs=1e-13)
        assert columns["se"][row] == pytest.approx(math.sqrt(variance / n), rel=1e-10)
    scores = hs.score(cells).columns()
    for model, score in zip(scores["model"], scores["score"], strict=True):
        assert score == pytest.approx(math.fsum(answers[model].values()) / len(answers[model]), rel=1e-12)
    assert scores["n_missing"].tolist() == [1136 - len(answers[model]) for model in scores["model"]]
    assert scores["n_missing"].max() > 0


def test_the_first_generations_are_counted_over_files(tmp_path):
    """A table that is there twice gives one generation of each question, and the other file fills in what it lacks."""
    rows = [("b", "a", f"q{i}", generation, (i + generation) % 2) for i in range(6) for generation in range(3)]
    for name, kept in (("run1.csv", rows[:12]), ("run2.csv", rows)):
        lines = [",".join(map(str, row)) for row in kept]
        (tmp_path / name).write_text("\n".join(["benchmark,model,question,generation,score", *lines]) + "\n")
    [cells] = hs.read([tmp_path / "run1.csv", tmp_path / "run2.csv"], generations=1)
    assert cells.n.tolist() == [[1] * 6]
    assert cells.total.tolist() == [[i % 2 for i in range(6)]]


def write_wide(folder, text, name="task.csv"):
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["task.csv", "task.parquet"])
def test_the_first_column_is_the_variant_and_an_ending_is_no_name(tmp_path, name):
    path = write_wide(tmp_path, "paraphrase idx,llama-7b_acc,falcon-7b_acc\n1,0.5,0.25\n2,,0.75\n")
    if name.endswith("parquet"):
        import polars as pl

        pl.read_csv(path).write_parquet(path := tmp_path / name)
    [cube] = hs.read(path, wide=True).cubes()
    expected = np.array([[[0.25, 0.75]], [[0.5, np.nan]]])
    assert (cube.benchmark, cube.models, cube.variants) == ("task", ("falcon-7b", "llama-7b"), ("1", "2"))
    assert np.array_equal(cube.mean, expected, equal_nan=True)


def test_endings_that_are_names_stay(tmp_path):
    [cube] = hs.read(write_wide(tmp_path, "p,llama-7b,falcon-7b\n1,1,0\n"), wide=True).cubes()
    assert cube.models == ("falcon-7b", "llama-7b")
    [cube] = hs.read(write_wide(tmp_path, "p,llama_acc,falcon_f1\n1,1,0\n"), wide=True).cubes()
    assert cube.models == ("falcon_f1", "llama_acc")
    [cube] = hs.read(write_wide(tmp_path, "p,it's F1,that's F1\n1,1,0\n"), wide=True).cubes()
    assert cube.models == ("it's", "that's")


def test_what_is_no_model_is_named_or_told(tmp_path):
    text = ",task,style,wording,shots,a,b\n7,x,kind,Please,0,1,0\n8,x,cold,Answer!,4,0.5,0\n9,y,cold,Now,4,1,1\n"
    path = write_wide(tmp_path, text)
    columns = {"variant": "wording", "benchmark": "task"}
    with pytest.warns(HowsureWarning, match="task.csv: a column without a name left out"):
        x, y = hs.read(path, columns=columns, dimensions=["shots", "style"], wide=True).cubes()
    assert (x.benchmark, x.models, x.variants) == ("x", ("a", "b"), ("Answer!", "Please"))
    assert x.values == {"shots": ("4", "0"), "style": ("cold", "kind")}
    assert y.variants == ("Now",)
    with pytest.warns(
        HowsureWarning, match="task.csv: a column without a name, style left out: not numbers, so no model"
    ):
        hs.read(path, columns=columns, dimensions=["shots"], wide=True).cubes()


BAD_WIDE = {
    "a row per model": ("model,v1,v2\na,0.5,0.6\nb,0.4,0.7\n", {}, "task.csv: the first column, 'model', names models"),
    "no model": ("p,style\n1,kind\n", {}, "task.csv: no column of numbers: column 'style' holds 'kind'; with --wide each model is"),
    "a score that is none": ("p,a\n1,0.5\n2,good\n", {}, "column 'a': 'good' is no score; fix it, or add --dimension 'a'"),
    "the same variant twice": ("p,a\n1,0.5\n1,0.6\n", {}, "2 scores of benchmark 'task', model 'a', variant '1'"),
    "a name that cannot be given": ("p,a\n1,0.5\n", {"columns": {"model": "a"}}, "--columns with --wide: unknown column 'model'"),
    "a column that is not there": ("p,a\n1,0.5\n", {"columns": {"variant": "q"}}, "unknown column 'q'"),
    "a dimension that is not there": ("p,a\n1,0.5\n", {"dimensions": ["q"]}, "unknown column 'q'"),
    "only a header": ("p,a\n", {}, "no rows below the header; give a row for each prompt variant"),
    "fractions": ("p,a\n1,5/10\n", {}, "no column of numbers: column 'a' holds '5/10'"),
    "no index": ("a,b\n.5,.6\n.4,.5\n", {}, "the first column, 'a', holds scores such as .4, and not the names of"),
    "percent signs on some": ("p,a\n1,57%\n2,60\n", {}, "some scores have a percent sign, and others such as 60 have none"),
    "an infinite score": ("p,a\n1,inf\n", {}, "line 2, column 'score': 'inf' is not a score"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_WIDE)
def test_bad_wide_tables_are_refused_in_one_line(tmp_path, case):
    text, asked, message = BAD_WIDE[case]
    with pytest.raises(InputError) as told:
        hs.read(write_wide(tmp_path, text), wide=True, **asked).cubes()
    assert message in str(told.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("p,a,b\n1,57.5%,60%\n2,50%,\n", r"percent signs are read \(50% as 0.5\)"),
        ("p,a (%),b [%]\n1,57.5,60\n2,50,\n", r"percent signs are read \(50% as 0.5\)"),
        ("p;a;b\n1;0,575;0,6\n2;0,50;\n", r"decimal commas are read \(0,50 as 0.5\)"),
        ("p;a;b\n1;57,5 %;60 %\n2;50 %;\n", r"percent .* \(50 % as 0.5\) and decimal .* \(57,5 % as 0.575\)"),
    ],
)
def test_percent_and_decimal_commas_are_read_and_said(tmp_path, content, message):
    (tmp_path / "t.csv").write_text(content)
    with pytest.warns(HowsureWarning, match=message):
        [cube] = read_cubes(tmp_path / "t.csv", wide=True)
    assert cube.models == ("a", "b")
    np.testing.assert_allclose(
        cube.total[:, :, 0] if cube.total.shape[2] == 1 else cube.total[:, 0, :], [[0.575, 0.5], [0.6, 0]]
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "p,a\n1,57\n2,50\n",
            "scores are from 50 to 57, such as 57 of 'a', and are read as percent: divided by 100 ",
        ),
        ("p,a\n1,1.2\n2,.5\n", "scores are from 0.5 to 1.2, such as 1.2 of 'a', not from 0 to 1"),
        ("p,a\n1,-.1\n2,.5\n", "scores are from -0.1 to 0.5, such as -0.1 of 'a', not from 0 to 1"),
    ],
)
def test_scores_beyond_0_and_1_are_named(tmp_path, content, message):
    (tmp_path / "t.csv").write_text(content)
    with pytest.warns(HowsureWarning, match=message):
        read_cubes(tmp_path / "t.csv", wide=True)


@pytest.mark.parametrize("name", ["question", "model", "generation"])
@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "frame"])
def test_whole_numbers_that_pandas_wrote_with_a_point_are_the_names_without(tmp_path, name, form):
    # The hand-made rows of two models, three questions and two generations; one column came back from pandas as floats.
    rows = [(m, q, g, (m * q + g) % 2) for m in (1, 2) for q in (1, 2, 3) for g in (1, 2)]
    frame = pd.DataFrame(rows, columns=["model", "question", "generation", "score"])
    frame[name] = frame[name].astype(float)
    path = tmp_path / f"some.{form}"
    if form == "csv":
        frame.to_csv(path, index=False)
    elif form == "parquet":
        frame.to_parquet(path)
    elif form == "jsonl":
        frame.to_json(path, orient="records", lines=True)
        path.write_text(re.sub(rf'"{name}":(\d+)(?:[.]0)?', rf'"{name}":\1.0', path.read_text()))
    with pytest.warns(HowsureWarning, match=f"column '{name}' has whole numbers written as 1.0: they are read as 1"):
        [cells] = read_cells(frame if form == "frame" else path, name="some" if form == "frame" else None)
    assert (cells.models, cells.questions) == (("1", "2"), ("1", "2", "3"))
    assert cells.total.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert (cells.n == 2).all()


def test_other_numbers_with_a_point_are_names(tmp_path, recwarn):
    path = write(tmp_path, "model,question,score\na,1.0,1\na,1.1,0\na,2.0,1\nb-1.0,1.0,1\nb-1.0,1.1,1\nb-1.0,2.0,1\n")
    [cells] = read_cells(path)
    assert cells.questions == ("1.0", "1.1", "2.0")
    assert cells.models == ("a", "b-1.0")
    assert not recwarn.list


def test_other_columns_that_may_be_scores_are_named(tmp_path):
    rows = (
        "model,id,accuracy,f1,Exact Match,latency,rating\na,1,1,.9,0,3,\na,2,0,.3,0,4,\nb,1,0,.2,1,5,\nb,2,1,.7,1,6,\n"
    )
    path = write(tmp_path, rows)
    with pytest.warns(HowsureWarning) as caught:
        [cells] = read_cells(path)
    assert [str(one.message).partition(": ")[2] for one in caught] == [
        "the score is read from column 'accuracy', not from 'f1', 'Exact Match': --columns score=f1 reads that one"
    ]
    assert cells.total.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    "rows",
    [
        "model,id,score,passed\na,1,1,true\na,2,0,false\n",  # the same numbers
        "model,id,score,result\na,1,1,Paris is right\na,2,0,I think Rome\n",  # texts
        "model,id,score,tokens,latency\na,1,1,900,2.5\na,2,0,800,3.5\n",  # no scores by their names
        "model,id,score,accuracy\na,1,1,\na,2,0,\n",  # nothing
    ],
)
def test_columns_that_are_no_other_score_are_not_named(tmp_path, rows, recwarn):
    [cells] = read_cells(write(tmp_path, rows))
    assert cells.total.tolist() == [[1, 0]]
    assert not recwarn.list
    [named] = read_cells(write(tmp_path, "model,id,accuracy,f1\na,1,1,.9\na,2,0,.3\n"), {"score": "f1"})
    assert named.total.tolist() == [[0.9, 0.3]]
    assert not recwarn.list


def test_a_list_of_scores_under_the_name_scores(tmp_path):
    rows = [{"model": "a", "id": i, "scores": [i, 1]} for i in range(2)]
    [cells] = read_cells(write(tmp_path, "\n".join(map(json.dumps, rows)), "t.jsonl"))
    assert (cells.total.tolist(), cells.n.tolist()) == ([[1, 2]], [[2, 2]])


def write_tasks(tmp_path, rows, column="task"):
    """A table of each row's model, task and question, with a score that is 1 for the first model."""
    lines = [f"{model},{task},{question},{int(model == 'a')}" for model, task, question in rows]
    return write(tmp_path, "\n".join([f"model,{column},id,score", *lines]) + "\n")


@pytest.mark.filterwarnings("ignore:.*several rows:howsure.errors.HowsureWarning")
@pytest.mark.parametrize(
    ("name", "is_pooled"), [("Subject", False), ("task", True), ("category", False), ("task_name", True)]
)
def test_a_column_of_tasks_is_offered_as_the_benchmark(tmp_path, name, is_pooled):
    """By hand: two tasks of four questions, with ids of their own or counted anew in each."""
    tasks = [("arc", range(4)), ("math", range(4) if is_pooled else range(4, 8))]
    path = write_tasks(tmp_path, [(m, task, i) for m in "ab" for task, ids in tasks for i in ids], name)
    with pytest.warns(
        HowsureWarning, match=f"column {name!r} has 2 values .arc, math., read as one benchmark"
    ) as caught:
        [cells] = hs.read(path)
    [line] = [str(one.message) for one in caught if "values" in str(one.message)]
    assert line.endswith(f"--columns benchmark={name} reads each as a benchmark of its own")
    assert ("equal ids in several of them as different questions" in line) == is_pooled
    assert len(cells.questions) == 8
    assert (cells.n == 1).all()
    assert f"benchmark={name}" in " ".join(str(hs.preview(path)).split())
    each = hs.read(path, columns={"benchmark": name}).cells()
    assert {one.benchmark: len(one.questions) for one in each} == {"arc": 4, "math": 4}


@pytest.mark.parametrize(
    "rows",
    [
        [(m, f"t{i}", i) for m in "ab" for i in range(4)],  # a value per question
        [(m, {"a": "open", "b": "closed"}[m], i) for m in "ab" for i in range(4)],  # of the model
        [(m, ["wrong", "unread", "late"][(i + shift) % 3], i) for shift, m in enumerate("abc") for i in range(6)],
        [(m, "arc", i) for m in "ab" for i in range(4)],
        [(m, "", i) for m in "ab" for i in range(4)],
    ],
)
@pytest.mark.parametrize("name", ["task", "category"])
def test_other_columns_are_not_taken_for_tasks(tmp_path, rows, name, recwarn):
    hs.read(write_tasks(tmp_path, rows, name)).cells()
    assert not recwarn.list


def test_a_benchmark_that_the_user_names_needs_no_line_on_tasks(tmp_path, recwarn):
    path = write_tasks(tmp_path, [(m, task, f"{task}{i}") for m in "ab" for task in ("x", "y") for i in range(4)])
    [cells] = hs.read(path, benchmark="both")
    [frame] = hs.read(pd.read_csv(path), benchmark="both")
    hs.read(path, columns={"cluster": "task"}).cells()
    assert cells.questions == frame.questions == tuple(f"{task}{i}" for task in "xy" for i in range(4))
    assert not recwarn.list
    with pytest.warns(HowsureWarning, match="column 'task' has 2 values"):
        hs.read(pd.read_csv(path)).cells()


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_an_empty_generation_is_no_run(name, tmp_path):
    """By hand: scores need no number of the generation; runs do, and say in which line it is missing."""
    rows = pa.table({"model": ["a"] * 3, "question": ["q", "q", "r"], "generation": [1, 2, None], "score": [1, 0, 1]})
    if name == "t.csv":
        (tmp_path / name).write_text("model,question,generation,score\na,q,1,1\na,q,2,0\na,r,,1\n")
    elif name == "t.jsonl":
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows.to_pylist()))
    else:
        pq.write_table(rows, tmp_path / name)
    [cells] = read_cells(tmp_path / name)
    assert cells.total.tolist() == [[1, 1]]
    with pytest.raises(InputError, match=r"(row|line) [34], column 'generation': the generation is empty"):
        read_runs(tmp_path / name)
