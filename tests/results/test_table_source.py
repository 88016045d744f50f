"""Files and folders that name models and benchmarks: what a person would say that they are."""

from __future__ import annotations

import json

import pytest
from helpers.long_cases import mark_long

import howsure as hs
from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.results.sources import find_sources
from howsure.rows.to_cells import make_cells

pytestmark = pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
        path.write_text("\n".join(lines) + "\n")


def scores(n, start=0, **more):
    return [{**more, "id": i, "passed": (i + start) % 2} for i in range(n)]


def content(data):
    return {cells.benchmark: (cells.models, len(cells.questions)) for cells in data}


def test_one_file_per_model(tmp_path):
    """The questions have targets, so that equal ids are equal questions; without, the command says what the files are."""
    for number, name in enumerate(("gpt-x", "llama-y", "qwen-z")):
        write(
            tmp_path / f"mybench/{name}.jsonl",
            [{**row, "target": row["id"], "file": number} for row in scores(10, number % 2)],
        )
        write(tmp_path / f"bare/{name}.jsonl", scores(10, number % 2, file=number))
    expected = {"mybench": (("gpt-x", "llama-y", "qwen-z"), 10)}
    with pytest.warns(
        HowsureWarning, match="3 files are named by their paths: benchmarks mybench; models gpt-x, llama-y"
    ):
        assert content(hs.read(tmp_path / "mybench")) == expected
    assert content(hs.read(sorted((tmp_path / "mybench").iterdir()))) == expected
    assert content(hs.read(str(tmp_path / "mybench/*.jsonl"))) == expected
    assert len(hs.pairs(hs.read(tmp_path / "mybench"))) == 3
    with pytest.raises(InputError, match="may be models or benchmarks") as caught:
        hs.read(tmp_path / "bare")
    assert caught.value.options == ("--as-benchmark", "bare")
    assert content(hs.read(tmp_path / "bare", benchmark="bare")) == {"bare": expected["mybench"]}


def test_one_file_per_model_with_a_column_for_it(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / f"gsm/{name}.csv", scores(10, model=name))
    assert content(hs.read(tmp_path / "gsm")) == {"gsm": (("a", "b"), 10)}


def test_a_pattern_of_files_is_one_table_where_columns_name_everything(tmp_path):
    pattern = str(tmp_path / "logs/*.csv")
    for name in ("law", "math"):
        rows = [{**row, "id": f"{name}{row['id']}"} for row in scores(10, model="a")]
        write(tmp_path / f"logs/{name}.csv", rows)
    assert sorted(content(hs.read(pattern))) == ["law", "math"]
    assert content(hs.read(pattern, benchmark="both")) == {"both": (("a",), 20)}
    for name in ("law", "math"):
        write(tmp_path / f"logs/{name}.csv", [{**row, "benchmark": name} for row in scores(10, model="a")])
    assert sorted(content(hs.read(pattern))) == ["law", "math"]


def test_a_path_has_the_name_before_it(tmp_path):
    for number, name in enumerate(("one", "two")):
        write(tmp_path / f"{name}.csv", scores(10, number))
    data = hs.read([f"gpt={tmp_path}/one.csv", f"llama={tmp_path}/two.csv"])
    assert [models for models, _ in content(data).values()] == [("gpt", "llama")]


def test_parts_of_paths_that_the_user_names(tmp_path):
    """By hand: a model that the files state, and that two of them share, is named by the files."""
    for number, name in enumerate(("base", "tuned")):
        write(tmp_path / f"exam/{name}.csv", scores(10, number, model="m"))
    with pytest.raises(InputError) as caught:
        hs.read(tmp_path / "exam")
    assert caught.value.options == ("--map", "files: {model: 0}")
    sources = find_sources(tmp_path / "exam", layout={"model": 0})
    assert [cells.models for source in sources for cells in source.group(make_cells)] == [("base",), ("tuned",)]
    sources = find_sources(tmp_path / "exam", layout={"generation": 0})
    assert [source.path.name for source in sources] == ["base.csv", "tuned.csv"]


def test_equal_files_are_refused(tmp_path):
    write(tmp_path / "results.csv", scores(10))
    write(tmp_path / "results (1).csv", scores(10))
    with pytest.raises(InputError, match="it has the same rows as"):
        hs.read(tmp_path)


def test_one_file_without_a_model(tmp_path):
    write(tmp_path / "gpt-x.jsonl", scores(8))
    with pytest.warns(HowsureWarning, match="no column names the model: it is called 'gpt-x', after its file"):
        assert content(hs.read(tmp_path / "gpt-x.jsonl")) == {"gpt-x": (("gpt-x",), 8)}
    named = hs.read(tmp_path / "gpt-x.jsonl", model="GPT X", benchmark="trivia")
    assert content(named) == {"trivia": (("GPT X",), 8)}


def test_one_question_and_three_questions(tmp_path):
    write(tmp_path / "one.csv", [{"model": m, "question": "q", "score": s} for m in "ab" for s in (1, 0, 1)])
    assert hs.score(hs.read(tmp_path / "one.csv"))["n_questions"].tolist() == [1, 1]
    write(tmp_path / "three.csv", [{"model": m, "question": q, "score": 1} for m in "ab" for q in "xyz"])
    assert hs.score(hs.read(tmp_path / "three.csv"))["n_questions"].tolist() == [3, 3]


def test_one_name_for_the_benchmark_of_everything(tmp_path):
    write(
        tmp_path / "x.csv", [{"benchmark": "gsm8k_cot", "model": "a", "question": str(i), "score": 1} for i in range(5)]
    )
    write(tmp_path / "y.csv", [{"benchmark": "GSM8K", "model": "b", "question": str(i), "score": 0} for i in range(5)])
    with pytest.warns(
        HowsureWarning, match="GSM8K, gsm8k_cot have the same 5 question ids and other models: --as-benchmark"
    ):
        assert len(list(hs.read(tmp_path))) == 2
    results = hs.read(tmp_path, benchmark="gsm8k")
    assert content(results) == {"gsm8k": (("a", "b"), 5)}
    assert hs.compare(results, "a", "b")["difference"].tolist() == [1]
    assert list(results.runs()) == ["gsm8k"]
    assert [cube.benchmark for cube in results.cubes()] == ["gsm8k"]


def test_several_benchmarks_cannot_have_one_name(tmp_path):
    rows = [{"benchmark": b, "model": "a", "question": "1", "score": 1} for b in ("x", "y")]
    write(tmp_path / "t.csv", rows)
    with pytest.raises(
        InputError, match=r"2 benchmarks \(x, y\), and --as-benchmark names one; select .* --benchmark x, beside it"
    ):
        list(hs.read(tmp_path / "t.csv", benchmark="z"))


def test_a_benchmark_that_is_named_is_the_only_one_that_is_read(tmp_path):
    """By hand: two benchmarks in one table and a third in another; questions, runs and variants of the named ones."""
    rows = [{"benchmark": b, "model": "a", "question": str(i), "score": b == "x"} for b in ("x", "y") for i in range(3)]
    write(tmp_path / "t.csv", rows)
    write(tmp_path / "u.csv", [{"benchmark": "z", "model": "a", "question": str(i), "score": 1} for i in range(4)])
    results = hs.read(tmp_path, benchmarks=["x", "z"])
    assert content(results) == {"x": (("a",), 3), "z": (("a",), 4)}
    assert list(hs.read(tmp_path, benchmarks=["y"]).runs()) == ["y"]
    assert [cube.benchmark for cube in hs.read(tmp_path, benchmarks=["y"]).cubes()] == ["y"]
    assert hs.score(hs.read(tmp_path, benchmarks=["y"]))["score"].tolist() == [0]
    with pytest.raises(
        UnknownNameError, match="--as-benchmark gsm8k would .*: unknown benchmark 'gsm8k'; known: x, y, z"
    ):
        list(hs.read(tmp_path, benchmarks=["gsm8k"]))


def test_selected_benchmarks_become_one(tmp_path):
    """By hand: of x and y in one table and z in another, x and z with the same ids; runs, variants and names too."""
    rows = [{"benchmark": b, "model": "a", "question": str(i), "score": b == "x"} for b in ("x", "y") for i in range(3)]
    write(tmp_path / "t.csv", rows)
    write(tmp_path / "z.csv", [{"model": "b", "question": str(i), "score": 1} for i in range(4)])
    results = hs.read(tmp_path, benchmark="w", benchmarks=["x", "z"])
    assert content(results) == {"w": (("a", "b"), 4)}
    assert list(results.runs()) == ["w"]
    assert [cube.benchmark for cube in results.cubes()] == ["w"]
    assert hs.score(results)["score"].tolist() == [1, 1]
    with pytest.raises(UnknownNameError, match="names of the files: unknown benchmark 'w'; known: x, y, z"):
        list(hs.read(tmp_path, benchmark="w", benchmarks=["w"]))


def completions(n, start=0, **more):
    return [{"id": i, "completion": f"It is {i % (start + 2)}.", "target": str(i % 2), **more} for i in range(n)]


@pytest.mark.parametrize("suffix", mark_long([".jsonl", ".json", ".csv"], after=1))
def test_files_of_completions_are_models_of_one_benchmark(tmp_path, suffix):
    for number, name in enumerate(("beta", "alpha")):
        path = tmp_path / f"trivia/{name}{suffix}"
        rows = completions(10, number)
        write(path, rows)
        if suffix == ".json":
            path.write_text(json.dumps(rows))
    with pytest.warns(
        HowsureWarning, match="2 files are named by their paths: benchmarks trivia; models alpha, beta"
    ) as said:
        result = hs.rescore(tmp_path / "trivia", "numeric", tmp_path / "run")
    assert len(said) == 1
    assert content(hs.read(tmp_path / "run", scorer="numeric")) == {"trivia": (("alpha", "beta"), 10)}
    # 10 of 10 and, of the numbers 0 to 9 modulo 3 beside modulo 2, 0, 1, 6 and 7.
    assert dict(zip(result["model"], result["mean_score"], strict=True)) == {"alpha": 0.4, "beta": 1}
    files = json.loads((tmp_path / "run/manifest.json").read_text())["benchmarks"]["trivia"]["tables"]
    assert [one["file"] for one in files] == [f"alpha{suffix}", f"beta{suffix}"]
    with pytest.warns(HowsureWarning, match="benchmarks trivia; models alpha, beta"):
        hs.rescore(str(tmp_path / f"trivia/*{suffix}"), "numeric", tmp_path / "run2")


def test_counted_ids_with_other_targets_are_other_benchmarks(tmp_path):
    for name, word in (("gsm8k", "a"), ("mmlu", "b")):
        write(tmp_path / f"gpt/{name}.jsonl", completions(10, target=word))
    hs.rescore(tmp_path / "gpt", "exact", tmp_path / "run")
    assert content(hs.read(tmp_path / "run", scorer="exact")) == {"gsm8k": (("gpt",), 10), "mmlu": (("gpt",), 10)}


def test_ids_that_pandas_wrote_as_floats_are_those_of_the_other_file(tmp_path):
    (tmp_path / "ids").mkdir()
    (tmp_path / "ids/a.csv").write_text("question_id,score\n1.0,1\n2.0,0\n3.0,1\n")
    (tmp_path / "ids/b.csv").write_text("question_id,score\n1,0\n2,0\n3,1\n")
    assert content(hs.read(tmp_path / "ids", benchmark="ids")) == {"ids": (("a", "b"), 3)}


def test_lines_of_one_kind_of_many_tables_are_one_line(tmp_path):
    for i in "abcde":
        (tmp_path / f"{i}.csv").write_text(f"model,id,accuracy,f1\na,{i}x,1,.9\na,{i}y,0,.3\n")
    results = hs.read(tmp_path)
    with pytest.warns(HowsureWarning) as caught:
        results.cells()
    lines = [str(one.message) for one in caught]
    assert len(lines) == 1
    assert "a.csv and 4 more: the score is read from column 'accuracy'" in lines[0]


def test_files_without_common_ids_are_named_with_their_questions_where_two_models_are_needed(tmp_path):
    """By hand: ids 0 to 7 and 100 to 107 are two benchmarks, which no option makes one; 0 to 9 and 0 to 3 have some."""
    write(tmp_path / "x.csv", scores(8, model="a"))
    write(tmp_path / "y.csv", [{**row, "id": 100 + row["id"]} for row in scores(8, model="b")])
    for compute in (hs.pairs, lambda data: hs.compare(data, "a", "b")):
        with pytest.raises(InputError) as caught:
            compute(hs.read(tmp_path))
        for part in (
            "x has a (questions 0, 1",
            "y has b (questions 100",
            "no question id is in two of them",
            "question=",
        ):
            assert part in str(caught.value)
    write(tmp_path / "y.csv", scores(3, model="b"))
    with pytest.raises(InputError, match="2 files have ids in common"):
        hs.pairs(hs.read(tmp_path))
