"""Options that several commands share. Kind of truth: files that were written by hand."""

import json
import re

import click
import numpy as np
import pytest
from helpers.long_cases import mark_long

from howsure.cli import cli
from howsure.cli.options import parse_columns


@pytest.mark.parametrize("more", [("--scorer", "f1", "--scorer", "accuracy"), ("--level", ".9", "--level=.8")])
def test_an_option_with_one_value_is_given_once(howsure, tmp_path, more):
    path = tmp_path / "t.csv"
    path.write_text("model,id,accuracy,f1\na,1,1,.9\na,2,0,.3\n")
    code, out, err = howsure("score", path, *more)
    assert (code, out, err) == (2, "", f"howsure: {more[0]} is given twice, and holds one value: give it once\n")
    code, out, _ = howsure("score", path, *more[:2], "--columns", "model=model", "--columns", "question=id")
    assert code == 0
    assert "a" in out


def test_benchmark_selects_in_every_command(howsure, tmp_path):
    """By hand: two benchmarks with the same question ids; as one, their questions would be the same questions."""
    rows = [f"{b},{m},{q},{(b == 'x') ^ (m == 'n')}" for b in "xy" for m in "mn" for q in range(4)]
    (tmp_path / "t.csv").write_text("benchmark,model,question,score\n" + "\n".join(rows) + "\n")
    _, out, _ = howsure("score", tmp_path / "t.csv", "--benchmark", "x", "--format", "json")
    assert [(row["benchmark"], row["model"], row["score"]) for row in json.loads(out)] == [("x", "m", 1), ("x", "n", 0)]
    both = howsure("score", tmp_path / "t.csv", "--benchmark", "x", "--benchmark", "y", "--format", "json")[1]
    assert len(json.loads(both)) == 4
    _, out, _ = howsure("compare", tmp_path / "t.csv", "--a", "m", "--b", "n", "--benchmark", "y", "--format", "json")
    assert [(row["benchmark"], row["difference"]) for row in json.loads(out)] == [("y", -1)]
    code, out, err = howsure("compare", tmp_path / "t.csv", "--benchmark", "gsm8k")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "unknown benchmark 'gsm8k'" in err
    assert "--as-benchmark" in err
    # What renames everything is no way to read one of several.
    assert (
        "2 benchmarks (x, y), and --as-benchmark names one"
        in howsure("score", tmp_path / "t.csv", "--as-benchmark", "w")[2]
    )
    texts = "".join(f"{b},m,q{q},{k},x{k if b == 'x' else 1},1\n" for b in "xy" for q in range(3) for k in (1, 2))
    (tmp_path / "texts.csv").write_text("benchmark,model,question,generation,completion,score\n" + texts)
    _, out, _ = howsure(
        "repeats", tmp_path / "texts.csv", "--show", "determinism", "--benchmark", "y", "--format", "json"
    )
    assert [row["benchmark"] for row in json.loads(out)] == ["y"]
    code, _, err = howsure("convert", tmp_path / "t.csv", "-o", tmp_path / "run", "--benchmark", "x")
    assert (code, "--as-benchmark" in err) == (2, True)


MODELS = [f"organisation-{i:02}/model-family-{'ABCDEFGHIJKL'[i]}-instruct" for i in range(12)]
BENCHMARKS = [f"published-benchmark-of-reasoning-part-{i:02}" for i in range(3)]
PAIR = ("--a", MODELS[0], "--b", MODELS[7])
MAIN = {  # what each command is run for
    ("score",): "benchmark model score low high",
    ("compare", *PAIR): "benchmark difference low high",
    ("compare",): "benchmark model score low high",
    ("rank",): "benchmark model score rank rank_low rank_high",
    ("repeats",): "benchmark model mean low high",
    ("repeats", "--show", "runs"): "benchmark model run mean",
    ("repeats", "--show", "widths"): "benchmark model mean low high width",
    ("compare", *PAIR, "--weight", "equal"): "benchmark difference se p_value",
    ("attempts",): "benchmark model measure k score low high",
    ("questions",): "benchmark question score difficulty",
    ("questions", "--by", "model"): "benchmark model question score low high",
    ("curve", "--order", ",".join(MODELS[:4])): "benchmark checkpoint score difference p_holm",
    ("compare", *PAIR, "--method", "stratified"): "benchmark difference low high p_value",
    ("gate", *PAIR, "--questions"): "benchmark question baseline candidate p_value",
    ("plan", *PAIR, "--detect", "0.1"): "benchmark n_questions n_generations se_assured calls",
    ("plan", *PAIR, "--budget", "5000", "--questions", "900"): "benchmark n_questions n_generations se_assured calls",
    ("plan", "--like", "all"): "benchmark se se_difference detectable",
    ("variants",): "benchmark model mean low high variant score",
    ("variants", "--show", "prompts"): "benchmark model mean low high component variance variant score",
    ("variants", "--show", "order"): "benchmark model_a model_b swapped low high kendall_w",
    ("variants", "--show", "reference"): "benchmark model moment n_star proxy bounded quantile score low high",
}


@pytest.fixture(scope="module")
def long_names(tmp_path_factory):
    """Scores of 12 models on 3 benchmarks of 6 questions in 2 prompt variants, all with names of 33 to 42 characters."""
    path = tmp_path_factory.mktemp("long") / "scores.csv"
    rng = np.random.default_rng(12)
    rows = [
        f"{benchmark},{model},question-{q}-of-the-{benchmark},prompt-variant-with-a-long-name-{v},{k},{int(p)}"
        for benchmark in BENCHMARKS
        for i, model in enumerate(MODELS)
        for q in range(6)
        for v in range(2)
        for k, p in enumerate(rng.random(2) < 0.2 + 0.04 * i + 0.05 * q)
    ]
    path.write_text("benchmark,model,question,variant,generation,score\n" + "\n".join(rows) + "\n")
    return path


def split_tables(text):
    """Yield the header and the rows of each table in the output; a table's rows have two blanks between columns."""
    for part in text.split("\n\n"):
        lines = part.split("\n")
        first = next((i for i, line in enumerate(lines) if "  " in line.strip()), len(lines))
        rows = [line for line in lines[first + 1 :] if "  " in line.strip() and not line.startswith(" ")]
        if first < len(lines):
            yield lines[first].split(), rows


@pytest.mark.parametrize("width", [80, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize("arguments", mark_long([(one,) for one in MAIN], after=10), ids=" ".join)
def test_no_table_loses_what_it_is_printed_for(howsure, long_names, monkeypatch, arguments, width):
    """By measuring lines and looking up columns, which stand in a header, above the table or once below it."""
    monkeypatch.setenv("COLUMNS", str(width))
    command, *more = arguments
    _, out, err = howsure(command, long_names, *more)
    assert out, err
    assert max(len(line) for line in out.split("\n") if not line.startswith("next: ")) <= width
    headers = [name for header, _ in split_tables(out) for name in header]
    folded = [line for line in out.split("\n") if "left out in" not in line]
    missing = [
        name
        for name in MAIN[arguments].split()
        if name not in headers and not any(re.search(rf"(^|, |^  ){name} \S", line) for line in folded)
    ]
    assert not missing, out


def test_different_models_and_benchmarks_stay_different_in_narrow_tables(howsure, long_names, monkeypatch):
    for width in (60, 80):
        monkeypatch.setenv("COLUMNS", str(width))
        _, out, _ = howsure("score", long_names)
        [(header, rows), *_] = split_tables(out)
        assert header[:5] == ["benchmark", "model", "score", "se", "low"] or header[:4] == [
            "benchmark",
            "model",
            "score",
            "low",
        ]
        assert len({tuple(row.split()[:2]) for row in rows}) == len(rows) == 36


def test_a_column_that_is_named_twice_is_refused_with_the_way_that_works(howsure, tmp_path):
    """The last one was taken in silence, which left out the logs that have the first one."""
    path = tmp_path / "t.csv"
    path.write_text("model,id,text,score\na,1,x,1\na,2,y,0\n")
    code, _, err = howsure("score", path, "--columns", "question=id", "--columns", "question=text")
    assert code == 2
    assert "--columns question is given twice, 'id' and 'text'" in err
    assert "--as-benchmark" in err
    assert "convert each" in err
    assert parse_columns(["question=id", "question=id", "score=score"]) == {"question": "id", "score": "score"}


def test_help_names_options_that_exist():
    options = {name: {word for one in command.params for word in one.opts} for name, command in cli.commands.items()}
    elsewhere = {
        "preview": {"--benchmark"},
        "rescore": {"--benchmark"},
        "review": {"--exclude", "--calibrate"},
        "explain": {"--verbose"},
    }
    for name, command in cli.commands.items():
        texts = [command.help or "", *(one.help or "" for one in command.params if isinstance(one, click.Option))]
        for text in texts:
            for _, other, word in re.findall(r"(howsure (\w+) )?(--[a-z][a-z-]*)", text):
                assert word in options[other or name] | elsewhere.get(name, set()), (name, word)
