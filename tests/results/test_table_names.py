"""Files and folders that name models and benchmarks: what a person would say that they are."""

from __future__ import annotations

import itertools
import json
import warnings

import pytest
from helpers.long_cases import mark_long

import howsure as hs
from howsure.errors import HowsureWarning, InputError, UnknownNameError

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
    for number, name in enumerate(("gpt-x", "llama-y", "qwen-z")):
        write(tmp_path / f"mybench/{name}.jsonl", scores(10, number))
    expected = {"mybench": (("gpt-x", "llama-y", "qwen-z"), 10)}
    with pytest.warns(
        HowsureWarning, match="3 files have the same question ids and are read as one benchmark, 'mybench'"
    ):
        assert content(hs.read(tmp_path / "mybench")) == expected
    assert content(hs.read(sorted((tmp_path / "mybench").iterdir()))) == expected
    assert content(hs.read(str(tmp_path / "mybench/*.jsonl"))) == expected
    assert len(hs.pairs(hs.read(tmp_path / "mybench"))) == 3


def test_one_file_per_model_with_a_column_for_it(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / f"gsm/{name}.csv", scores(10, model=name))
    assert content(hs.read(tmp_path / "gsm")) == {"gsm": (("a", "b"), 10)}


def test_a_pattern_of_files_with_a_column_for_the_model_is_one_table_as_a_line_says(tmp_path, monkeypatch):
    """Files of two benchmarks, which are two where they are named one by one, and parts of one table."""
    for name in ("law", "math"):
        write(
            tmp_path / f"logs/{name}.csv",
            [{**row, "id": f"{name}{row['id']}"} for row in scores(10, model="a")],
        )
    assert sorted(content(hs.read(sorted((tmp_path / "logs").iterdir())))) == ["law", "math"]
    pattern = str(tmp_path / "logs/*.csv")
    with pytest.warns(HowsureWarning, match="2 files are read as one table of one benchmark, 'logs'; .* one by one"):
        assert content(hs.read(pattern)) == {"logs": (("a",), 20)}
    monkeypatch.chdir(tmp_path / "logs")
    with pytest.warns(HowsureWarning, match="2 files are read as one table of one benchmark, 'logs'"):
        assert content(hs.read("*.csv")) == {"logs": (("a",), 20)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert content(hs.read(pattern, benchmark="both")) == {"both": (("a",), 20)}
    for name in ("law", "math"):
        write(tmp_path / f"logs/{name}.csv", [{**row, "benchmark": name} for row in scores(10, model="a")])
    assert sorted(content(hs.read(pattern))) == ["law", "math"]


def test_files_of_the_same_models_are_benchmarks_although_ids_agree(tmp_path):
    for name in ("gsm8k", "mmlu"):
        write(tmp_path / f"logs/{name}.csv", [*scores(10, model="a"), *scores(10, model="b")])
    assert content(hs.read(tmp_path / "logs")) == {"gsm8k": (("a", "b"), 10), "mmlu": (("a", "b"), 10)}


def test_a_folder_per_model(tmp_path):
    for model in ("gpt", "llama"):
        for benchmark, n in (("gsm8k", 8), ("mmlu", 12)):
            write(tmp_path / f"all/{model}/{benchmark}.csv", scores(n))
    expected = {"gsm8k": (("gpt", "llama"), 8), "mmlu": (("gpt", "llama"), 12)}
    assert content(hs.read(tmp_path / "all")) == expected


def test_a_folder_per_benchmark(tmp_path):
    for benchmark, n in (("gsm8k", 8), ("mmlu", 12)):
        for model in ("gpt", "llama"):
            write(tmp_path / f"all/{benchmark}/{model}.csv", scores(n))
    expected = {"gsm8k": (("gpt", "llama"), 8), "mmlu": (("gpt", "llama"), 12)}
    assert content(hs.read(tmp_path / "all")) == expected


def test_a_folder_per_model_with_one_file_of_results(tmp_path):
    for model in ("gpt", "llama"):
        write(tmp_path / f"trivia/{model}/results.csv", scores(8))
    assert content(hs.read(tmp_path / "trivia")) == {"trivia": (("gpt", "llama"), 8)}


#: Ids of two benchmarks: names of their own, and numbers that overlap.
ID_FORMS = [("m{}", "l{}"), ("{}", "{}"), ("q{}", "q{}")]


def write_two_benchmarks(folder, form, ids, *, column):
    """Write a file for each of two benchmarks, of 50 and 80 questions, and two models, and return the files."""
    files = []
    for benchmark, n, pattern in (("math", 50, ids[0]), ("law", 80, ids[1])):
        for model in ("gpt-4", "gpt-5"):
            more = {"model": model} if column else {}
            path = folder / f"{form.format(benchmark=benchmark, model=model)}.csv"
            write(path, [{**more, "question": pattern.format(i), "score": i % 2} for i in range(n)])
            files.append(path)
    return files


NAMES_OF_FILES = ["{benchmark}_{model}", "{model}.{benchmark}", "results-{benchmark}-{model}"]
#: A name, a form of ids, and whether a column names the model: each once, then each with each.
ONCE = list(zip(NAMES_OF_FILES, ID_FORMS, [True, False, True], strict=True))
EACH = [*ONCE, *(case for case in itertools.product(NAMES_OF_FILES, ID_FORMS, [True, False]) if case not in ONCE)]


@pytest.mark.parametrize(("form", "ids", "column"), mark_long(EACH, after=len(ONCE)))
def test_several_benchmarks_in_one_folder_have_the_names_that_their_files_share(tmp_path, form, ids, column):
    """Their scores were averaged as those of one benchmark, or each counted the other's questions as missing."""
    files = write_two_benchmarks(tmp_path / "both", form, ids, column=column)
    first = "results-" if form.startswith("results") else ""
    expected = {f"{first}law": (("gpt-4", "gpt-5"), 80), f"{first}math": (("gpt-4", "gpt-5"), 50)}
    with pytest.warns(HowsureWarning, match=f"2 files have the same question ids .* one benchmark, '{first}math'"):
        assert content(hs.read(tmp_path / "both")) == expected
    results = hs.read(files)
    assert content(results) == expected
    assert set(hs.score(results)["n_missing"]) == {0}


@pytest.mark.parametrize("column", [True, False])
def test_a_file_of_another_benchmark_beside_those_of_two_models(tmp_path, column):
    *files, _ = write_two_benchmarks(tmp_path / "both", "{benchmark}_{model}", ID_FORMS[0], column=column)
    assert content(hs.read(files)) == {"law": (("gpt-4",), 80), "math": (("gpt-4", "gpt-5"), 50)}


def test_names_of_files_tell_equal_numbers_of_one_model_apart(tmp_path):
    """By hand: gpt has both benchmarks and llama one, of as many questions, whose file comes after both of gpt."""
    for name in ("gpt_law", "gpt_math", "llama_math"):
        write(tmp_path / f"both/{name}.csv", [{"model": name[: name.index("_")], **one} for one in scores(20)])
    assert content(hs.read(tmp_path / "both")) == {"law": (("gpt",), 20), "math": (("gpt", "llama"), 20)}


def test_benchmarks_whose_files_share_no_word_have_the_name_of_a_file(tmp_path):
    for name, start in (("a", 0), ("b", 0), ("c", 100), ("d", 100)):
        write(tmp_path / f"all/{name}.csv", [{"model": name, "id": start + i, "score": 1} for i in range(9)])
    assert content(hs.read(tmp_path / "all")) == {"a": (("a", "b"), 9), "c": (("c", "d"), 9)}


def test_a_run_that_did_not_finish_is_of_the_benchmark_of_its_folder_or_of_its_name(tmp_path):
    for name, n in (("gpt", 20), ("llama", 20), ("qwen", 5)):
        write(tmp_path / f"mmlu/{name}.csv", scores(n))
    assert content(hs.read(tmp_path / "mmlu")) == {"mmlu": (("gpt", "llama", "qwen"), 20)}
    write_two_benchmarks(tmp_path / "both", "{benchmark}_{model}", ID_FORMS[1], column=True)
    write(tmp_path / "both/math_qwen.csv", scores(5, model="qwen"))
    models = ("gpt-4", "gpt-5")
    assert content(hs.read(tmp_path / "both")) == {"law": (models, 80), "math": ((*models, "qwen"), 50)}


@pytest.mark.parametrize("column", [True, False])
def test_benchmarks_that_neither_ids_nor_names_tell_apart_are_refused(tmp_path, column):
    """With a column: the groups have 10 and 16 of the same numbers. Without: names that may be models or benchmarks."""
    names = "abcd" if column else ("law_gpt", "law_llama", "math_gpt", "math_llama")
    for place, name in enumerate(names):
        n = 16 if column and place > 1 else 10
        write(tmp_path / f"all/{name}.csv", scores(n, **({"model": name} if column else {})))
    with pytest.raises(InputError, match="same numbers as question ids.*--as-benchmark NAME.*column 'benchmark'"):
        hs.read(tmp_path / "all")
    assert list(content(hs.read(tmp_path / "all", benchmark="one"))) == ["one"]


def test_a_word_that_all_names_have_hides_no_grid_of_names(tmp_path):
    for name in ("law_gpt", "law_llama", "tax_gpt", "tax_llama"):
        write(tmp_path / f"both/{name}_results.csv", scores(10))
    with pytest.raises(InputError, match="names do not say whether law, tax are benchmarks or models"):
        hs.read(tmp_path / "both")


def test_names_of_sizes_and_kinds_of_models_are_models_of_one_benchmark(tmp_path):
    names = ("llama-7b-base", "llama-7b-chat", "qwen-7b-base", "qwen-7b-chat")
    for name in names:
        write(tmp_path / f"mmlu/{name}.csv", scores(20))
    assert content(hs.read(tmp_path / "mmlu")) == {"mmlu": (names, 20)}


def test_files_of_one_model_with_the_same_ids_of_a_benchmark_are_generations(tmp_path):
    """Ids that are no running numbers say that the questions are the same, whatever the files are called."""
    for day in ("monday", "tuesday"):
        for model in ("gpt", "llama"):
            rows = [{"model": model, "id": f"gsm8k_main_{i}", "passed": i % 2} for i in range(10)]
            write(tmp_path / f"gsm8k/{day}_{model}.csv", rows)
    with pytest.warns(HowsureWarning, match="have the same benchmark, model .gpt. and questions.* generations"):
        [cells] = hs.read(tmp_path / "gsm8k")
    assert (cells.benchmark, cells.n.tolist()) == ("gsm8k", [[2] * 10] * 2)


@pytest.mark.parametrize("form", ["{model}_run{number}", "seed-{number}.{model}", "2026-11-{number}_{model}"])
def test_files_that_number_the_runs_of_models_are_generations(tmp_path, form):
    for number in ("01", "02"):
        for model in ("gpt", "llama"):
            write(tmp_path / f"exam/{form.format(model=model, number=number)}.csv", scores(20, model=model))
    [cells] = hs.read(tmp_path / "exam")
    assert (cells.benchmark, cells.models, cells.n.tolist()) == ("exam", ("gpt", "llama"), [[2] * 20] * 2)


@pytest.mark.parametrize(
    ("names", "more", "models"),
    [
        (["run1", "run2", "run3"], {"model": "gpt"}, ("gpt",)),
        (["seed_7", "seed_42", "seed_43"], {}, ("exam",)),
        (["gpt_run1", "gpt_run2", "gpt_run3", "o_run1", "o_run2", "o_run3"], {}, ("gpt", "o")),
    ],
)
def test_files_that_number_runs_are_generations_without_names_of_models_too(tmp_path, names, more, models):
    for name in names:
        write(tmp_path / f"exam/{name}.csv", scores(20, **more))
    data = hs.read(tmp_path / "exam")
    [cells] = data
    assert (cells.benchmark, cells.models, cells.n.tolist()) == ("exam", models, [[3] * 20] * len(models))
    assert set(hs.repeats(data)["n_runs"]) == {3}


@pytest.mark.parametrize("names", [["gpt4", "gpt5"], ["llama-7b", "llama-8b"], ["step100", "step200"]])
def test_files_with_other_numbers_are_models(tmp_path, names):
    for name in names:
        write(tmp_path / f"exam/{name}.csv", scores(20))
    assert content(hs.read(tmp_path / "exam")) == {"exam": (tuple(names), 20)}


@pytest.mark.parametrize("has_numbers", [False, True])
@pytest.mark.parametrize(
    "form",
    [
        "{model}/{benchmark}/run{run}",
        "{benchmark}/{model}/seed_{run}",
        "{model}/run{run}/{benchmark}",
        "run{run}/{benchmark}/{model}",
        "{model}/{benchmark}/results",
        "{benchmark}/{model}/scores",
        "{model}/{benchmark}",
        "{model}_{benchmark}_run{run}",
        "{model}-{benchmark}",
    ],
)
def test_models_benchmarks_and_runs_in_the_names_of_folders_and_files(tmp_path, form, has_numbers):
    """Runs were models, models benchmarks, or the scores of two models or benchmarks averaged.

    Both benchmarks have 10 questions; where these are numbers, the names of the benchmarks tell them apart.
    """
    n_runs = 2 if "run}" in form else 1
    for number, (model, benchmark) in enumerate((m, b) for m in ("gpt", "llama") for b in ("gsm8k", "mmlu_pro")):
        for run in range(n_runs):
            path = tmp_path / "all" / f"{form.format(model=model, benchmark=benchmark, run=run + 1)}.csv"
            write(
                path, [{"id": i if has_numbers else f"{benchmark}-{i}", "passed": int(i < number)} for i in range(10)]
            )
    cells = {each.benchmark: each for each in hs.read(tmp_path / "all")}
    shares = {name: (each.models, (each.total / each.n).sum(1).tolist()) for name, each in cells.items()}
    assert shares == {"gsm8k": (("gpt", "llama"), [0, 2]), "mmlu_pro": (("gpt", "llama"), [1, 3])}
    assert {int(n) for each in cells.values() for n in each.n.flat} == {n_runs}


def test_files_of_one_name_in_folders_of_dates_and_models_are_models(tmp_path):
    for place in ("2026-01/gpt", "2026-02/llama"):
        write(tmp_path / f"all/{place}/results.csv", scores(10))
    [cells] = hs.read(tmp_path / "all")
    # by the folder above both: the name was that of one of the dates, another in each process
    assert (cells.benchmark, cells.models) == ("all", ("gpt", "llama"))


def test_a_folder_of_one_model_with_a_file_per_benchmark(tmp_path):
    for benchmark, n in (("gsm8k", 8), ("mmlu", 30)):
        write(tmp_path / f"gpt/{benchmark}.csv", scores(n))
    assert content(hs.read(tmp_path / "gpt")) == {"gsm8k": (("gpt",), 8), "mmlu": (("gpt",), 30)}


def test_files_of_one_name_with_the_same_model_are_named(tmp_path):
    """Two providers with a file per day: the scores of a day are added up, which must not be in silence."""
    for provider in ("azure", "together"):
        for day in ("11-01", "11-02", "11-03"):
            write(tmp_path / f"runs/{provider}/2026-{day}.csv", scores(8, model="llama"))
    with pytest.warns(HowsureWarning) as caught:
        assert content(hs.read(tmp_path / "runs"))["2026-11-01"] == (("llama",), 8)
    [line] = [text for text in map(str, (one.message for one in caught)) if "same benchmark, model" in text]
    for part in ("azure/2026-11-01.csv", "together/2026-11-01.csv", "llama", "providers"):
        assert part in line
    assert "2 more files" in line


@pytest.mark.parametrize("second", [{"model": "gpt"}, {"model": "llama", "start": 100}])
@pytest.mark.filterwarnings("error:.*same benchmark, model")
def test_files_of_one_name_with_other_models_or_questions_are_not(tmp_path, second):
    write(tmp_path / "a/day.csv", [{"model": "llama", "id": i, "passed": 1} for i in range(8)])
    start = second.get("start", 0)
    write(tmp_path / "b/day.csv", [{"model": second["model"], "id": start + i, "passed": 1} for i in range(8)])
    assert sum(len(cells.questions) * len(cells.models) for cells in hs.read(tmp_path)) == 16


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
    with pytest.warns(HowsureWarning, match="2 files have the same question ids and are read as one benchmark") as said:
        result = hs.rescore(tmp_path / "trivia", "numeric", tmp_path / "run")
    assert len(said) == 1
    assert content(hs.read(tmp_path / "run", scorer="numeric")) == {"trivia": (("alpha", "beta"), 10)}
    # 10 of 10 and, of the numbers 0 to 9 modulo 3 beside modulo 2, 0, 1, 6 and 7.
    assert dict(zip(result["model"], result["mean_score"], strict=True)) == {"alpha": 0.4, "beta": 1}
    files = json.loads((tmp_path / "run/manifest.json").read_text())["benchmarks"]["trivia"]["tables"]
    assert [one["file"] for one in files] == [f"alpha{suffix}", f"beta{suffix}"]
    with pytest.warns(HowsureWarning, match="are read as one benchmark, 'trivia'"):
        hs.rescore(str(tmp_path / f"trivia/*{suffix}"), "numeric", tmp_path / "run2")


def test_counted_ids_with_other_targets_are_other_benchmarks(tmp_path):
    for name, word in (("gsm8k", "a"), ("mmlu", "b")):
        write(tmp_path / f"gpt/{name}.jsonl", completions(10, target=word))
    hs.rescore(tmp_path / "gpt", "exact", tmp_path / "run")
    assert content(hs.read(tmp_path / "run", scorer="exact")) == {"gsm8k": (("gpt",), 10), "mmlu": (("gpt",), 10)}


def test_a_column_system_names_the_model_unless_it_holds_prompts(tmp_path):
    rows = [{"system": name, "id": i, "passed": 1} for name in ("GPT-4o + tools", "Llama 3 (8B)") for i in range(4)]
    write(tmp_path / "x.csv", rows)
    assert content(hs.read(tmp_path / "x.csv")) == {"x": (("GPT-4o + tools", "Llama 3 (8B)"), 4)}
    for prompt in ("You are a helpful assistant.", "Think first\nthen answer", "", None):
        write(tmp_path / "y.jsonl", [{"system": prompt, "id": i, "passed": i % 2} for i in range(4)])
        assert content(hs.read(tmp_path / "y.jsonl")) == {"y": (("y",), 4)}
    write(tmp_path / "z.jsonl", [{"system": "Answer.", "model": "m", "id": i, "passed": 1} for i in range(4)])
    assert content(hs.read(tmp_path / "z.jsonl")) == {"z": (("m",), 4)}


def test_ids_that_pandas_wrote_as_floats_are_those_of_the_other_file(tmp_path):
    (tmp_path / "ids").mkdir()
    (tmp_path / "ids/a.csv").write_text("question_id,score\n1.0,1\n2.0,0\n3.0,1\n")
    (tmp_path / "ids/b.csv").write_text("question_id,score\n1,0\n2,0\n3,1\n")
    assert content(hs.read(tmp_path / "ids")) == {"ids": (("a", "b"), 3)}


def test_ids_that_only_look_alike_are_said(tmp_path):
    (tmp_path / "a.csv").write_text("benchmark,model,question_id,score\nb,x,1.0,1\nb,x,1.5,0\n")
    (tmp_path / "b.csv").write_text("benchmark,model,question_id,score\nb,y,1,1\nb,y,1.5,0\n")
    with pytest.warns(HowsureWarning, match=r"b: '1' and '1.0' are two questions, as they are written"):
        hs.read(tmp_path).cells()


def test_lines_of_one_kind_of_many_tables_are_one_line(tmp_path):
    for i in range(5):
        (tmp_path / f"f{i}.csv").write_text(f"model,id,accuracy,f1\na,{i}x,1,.9\na,{i}y,0,.3\n")
    results = hs.read(tmp_path)
    with pytest.warns(HowsureWarning) as caught:
        results.cells()
    lines = [str(one.message) for one in caught]
    assert len(lines) == 1
    assert "f0.csv and 4 more: the score is read from column 'accuracy'" in lines[0]


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
    with pytest.raises(InputError, match="if these are one benchmark: .*--as-benchmark NAME"):
        hs.pairs(hs.read(tmp_path))
