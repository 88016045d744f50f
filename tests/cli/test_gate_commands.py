"""The command gate: exit codes, what it writes, and what it refuses."""

import json
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest
from helpers.stored_rows import open_run
from helpers.stored_rows import row as stored_row

import howsure as hs
from howsure.store import manifest


@pytest.fixture(autouse=True)
def no_summary(monkeypatch):
    """Keep the verdicts of these tests out of the summary of the job that runs them."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture
def tables(tmp_path):
    """A baseline, a candidate like it, and one that breaks a question: 200 questions with five generations."""
    for name, broken in (("base", 0), ("same", 0), ("worse", 1)):
        rows = [
            f"demo,m,q{question},{generation},{int(question >= broken)}"
            for question in range(200)
            for generation in range(5)
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join(["benchmark,model,question,generation,score", *rows]) + "\n")
    return {name: tmp_path / f"{name}.csv" for name in ("base", "same", "worse")}


@pytest.fixture
def experiment(tmp_path):
    """An experiment of two generations, in whose folder nothing may be sampled where the gate is refused."""
    file = tmp_path / "exp.yaml"
    file.write_text("{benchmark: directions-small, models: [simulated/medium], generations: 2}")
    return file


def test_exit_codes(howsure, tables, tmp_path):
    code, out, _ = howsure("gate", tables["base"], tables["same"])
    assert (code, out.split()[0]) == (0, "PASS")
    code, out, _ = howsure("gate", tables["base"], tables["worse"])
    assert (code, out.split()[0]) == (1, "FAIL")
    assert "q0: 5 of 5 right before, now 0 of 5" in out
    paths, junit = (tables["base"], tables["same"], "--margin", 0), tmp_path / "j.xml"
    for more, expected, counted in (
        ((), 3, ("0", "1")),
        (("--inconclusive", "pass"), 0, ("0", "0")),
        (("--inconclusive", "fail"), 1, ("1", "0")),
    ):
        code, out, _ = howsure("gate", *paths, *more, "--junit", junit)
        assert (code, out.split()[0]) == (expected, "INCONCLUSIVE")
        suite = ET.parse(junit).getroot()[0].attrib
        assert (suite["failures"], suite["skipped"]) == counted
    assert howsure("gate", tables["worse"], "--baseline", tables["base"])[0] == 1
    assert howsure("gate", tables["base"], "--at-least", 0.9)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["base"], "no baseline"),
        (["base", "same", "worse"], "3 paths"),
        (["base", "--baseline", "same", "--at-least", "0.5"], "keep one of them"),
        (["base", "same", "--at-least", "0.5"], "has the same rows as"),
        (["base", "worse", "--at-least", "0.5"], "2 files have scores of m on the same questions"),
        (["same", "--at-least", "0.5", "--questions"], "leave out --questions"),
        (["base", "same", "--margin", "-1"], "margin"),
        (["base", "same", "--alpha", "0.7"], "alpha"),
        (["base", "--a", "x", "--b", "m"], "x"),
        (["base", "worse", "--junit", "none/file"], "none/file"),
        (["base", "worse", "--markdown", "none/file"], "none/file"),
        (["base", "worse", "--markdown", "-", "--format", "json"], "--markdown FILE"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(howsure, tables, arguments, message):
    code, out, err = howsure("gate", *[tables.get(argument, argument) for argument in arguments])
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--b", "x"], "--baseline"),
        (["--baseline", "none"], "none"),
        (["--at-least", "nan"], "the bar is nan"),
        (["--baseline", "base", "--margin", "5"], "margin is 5, and scores lie between 0 and 1"),
        (["--baseline", "base", "--alpha", "2"], "alpha is 2.0"),
        (["--baseline", "base", "--b", "other"], "other"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_sampled(howsure, tables, experiment, options, message):
    output = experiment.with_name("out")
    code, out, err = howsure("gate", experiment, *[tables.get(one, one) for one in options], "--output", output)
    assert (code, out, message in err) == (2, "", True)
    assert not output.exists()


def test_a_benchmark_that_the_candidate_lacks_is_refused_before_anything_is_sampled(howsure, experiment, tmp_path):
    base, file = tmp_path / "base.csv", experiment
    rows = [f"{name},simulated/medium,{i},1" for name in ("directions-small", "tone", "sums") for i in range(3)]
    base.write_text("\n".join(["benchmark,model,question,score", *rows]) + "\n")
    code, out, err = howsure("gate", file, "--baseline", base, "--output", tmp_path / "out")
    assert (code, out) == (2, "")
    assert "the candidate has no result on sums, tone, the baseline has" in err
    assert "--benchmark directions-small" in err
    assert "--as-benchmark" not in err
    assert not (tmp_path / "out").exists()
    base.write_text("benchmark,model,question,score\nother,x,1,1\nother,y,1,1\n")
    code, _, err = howsure("gate", file, "--baseline", base, "--output", tmp_path / "out")
    assert (code, "the candidate has no model 'x'" in err, (tmp_path / "out").exists()) == (2, True, False)
    code, _, err = howsure("gate", file, "--baseline", base, "--b", "x", "--output", tmp_path / "out")
    assert (code, "--as-benchmark NAME" in err, (tmp_path / "out").exists()) == (2, True, False)


def test_a_baseline_of_other_questions_or_scores_is_refused_before_anything_is_sampled(howsure, tmp_path):
    file = tmp_path / "exp.yaml"
    text = "{benchmark: {name: population, size: 5, seed: SEED}, models: [simulated/medium], generations: 1}"
    file.write_text(text.replace("SEED", "3"))
    assert howsure("run", file, "--output", tmp_path / "base")[0] == 0
    arguments = ("gate", file, "--baseline", tmp_path / "base", "--output", tmp_path / "out")
    code, out, err = howsure(*arguments, "--metric", "f1")
    assert (code, out, "unknown scorer 'f1'" in err) == (2, "", True)
    file.write_text(text.replace("SEED", "4"))
    code, out, err = howsure(*arguments)
    assert (code, out) == (2, "")
    assert "no question of population in the experiment occurs in the baseline" in err
    assert not (tmp_path / "out").exists()


def test_the_candidate_is_not_sampled_into_the_baseline(howsure, tmp_path):
    """The folder of an experiment has its name, and so has a baseline that was run from the same file."""
    file = tmp_path / "exp.yaml"
    file.write_text("{benchmark: directions-small, models: [simulated/medium], generations: 1}")
    assert howsure("run", file)[0] == 0
    file.write_text("{benchmark: directions-small, models: [simulated/medium], generations: 4}")
    code, out, err = howsure("gate", file, "--baseline", tmp_path / "exp")
    assert (code, out, "--output FOLDER" in err) == (2, "", True)
    assert hs.read(tmp_path / "exp").cells()[0].n.max() == 1


def test_the_candidate_of_an_experiment_is_sampled(howsure, experiment, tmp_path):
    code, out, err = howsure("gate", experiment, "--at-least", 0.99, "--output", tmp_path / "out")
    assert code == 1
    assert "after 1 generation per question: " in err
    assert "interim analyses" in out
    assert (tmp_path / "out" / "manifest.json").exists()


def test_rows_and_files(howsure, tables, tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    arguments = [
        "gate",
        tables["base"],
        tables["worse"],
        "--markdown",
        tmp_path / "a.md",
        "--junit",
        tmp_path / "a.xml",
    ]
    code, out, _ = howsure(*arguments, "--format", "json")
    assert code == 1
    (row,) = json.loads(out)
    assert (row["verdict"], row["n_broken"], row["n_questions"]) == ("fail", 1, 200)
    assert (tmp_path / "a.md").read_text() in summary.read_text()
    assert summary.read_text().startswith("before\n")
    assert ET.parse(tmp_path / "a.xml").getroot()[0].attrib["failures"] == "2"
    _, out, _ = howsure("gate", tables["base"], tables["worse"], "--questions", "--format", "csv")
    assert out.splitlines()[1].startswith("demo,m,q0,5/5,0/5,")
    _, out, _ = howsure("gate", tables["base"], tables["worse"], "--markdown", "-")
    assert "howsure gate: fail" in out


def test_one_path_as_both_is_said(howsure, tables):
    _, _, err = howsure("gate", tables["base"], tables["base"])
    assert "is both baseline and candidate" in err
    _, _, err = howsure("gate", tables["base"], tables["same"])
    assert err == ""


def test_scores_in_percent_are_said_once(howsure, tables, tmp_path):
    percent = tmp_path / "percent.csv"
    head, *rows = tables["base"].read_text().splitlines()
    percent.write_text("\n".join([head, *(f"{row[:-1]}{100 * int(row[-1])}" for row in rows)]) + "\n")
    code, out, err = howsure("gate", tables["base"], percent)
    assert (code, out.split()[0]) == (0, "PASS")
    assert err.count("percent:") == 1


def test_slow_imports_are_left_to_the_commands_that_need_them(tables):
    """The catalogue of benchmarks, the scorers and scipy.stats take longer to import than the gate to compute."""
    code = (
        "import contextlib, sys; from howsure.cli import main\n"
        "slow = ('howsure.benchmarks', 'howsure.scorers.registry', 'scipy.stats', 'scipy.optimize')\n"
        "for command in (['gate', *sys.argv[1:]], ['score', sys.argv[1]], ['compare', *sys.argv[1:]]):\n"
        "    with contextlib.suppress(SystemExit): main(command)\n"
        "    print([name for name in sys.modules if name.startswith(slow[:4 if command[0] == 'gate' else 2])])"
    )
    command = [sys.executable, "-c", code, str(tables["base"]), str(tables["same"])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines().count("[]") == 3, done.stderr


def test_the_questions_are_followed_by_the_verdict(howsure, tables):
    """The verdict with its difference, limits and reason, which the table does not have; none among rows of a program."""
    paths = tables["base"], tables["same"]
    _, whole, _ = howsure("gate", *paths)
    verdict = whole.split("\n")[0]
    code, out, _ = howsure("gate", *paths, "--questions")
    assert out.endswith(f"\n{whole}")
    assert "difference of +0.000" in whole
    assert code == howsure("gate", *paths)[0]
    assert verdict not in howsure("gate", *paths, "--questions", "--format", "csv")[1]


def test_self_test_of_the_model_that_is_named(howsure, tables):
    """Several models, and one of them is named, as candidate or as baseline: that one alone is split."""
    table = tables["base"].with_name("two.csv")
    rows = tables["base"].read_text().splitlines()
    table.write_text("\n".join([*rows, *(row.replace(",m,", ",other,") for row in rows[1:])]) + "\n")
    for option in ("--a", "--b"):
        code, out, _ = howsure("gate", table, option, "other", "--self-test", "--format", "json")
        assert (code, [(row["model"], row["n_splits"]) for row in json.loads(out)]) == (0, [("other", 1000)])


def test_metrics_and_models_that_are_named(howsure, tables):
    table = tables["base"].with_name("metrics.csv")
    rows = [f"demo,m,q{q},{k},1,{0.5 + k / 10}" for q in range(30) for k in range(3)]
    table.write_text("\n".join(["benchmark,model,question,generation,accuracy,f1", *rows]) + "\n")
    arguments = ("gate", table, "--at-least", 0.4, "--metric", "accuracy", "--metric", "f1")
    code, out, _ = howsure(*arguments, "--format", "json")
    assert (code, [row["benchmark"] for row in json.loads(out)]) == (0, ["demo, accuracy", "demo, f1"])
    code, _, err = howsure(*arguments, "--metric", "f1")
    assert (code, "--metric" in err) == (2, True)
    code, out, _ = howsure("gate", tables["base"], tables["worse"], "--a", "m", "--b", "m")
    assert (code, out.split()[0]) == (1, "FAIL")


def test_a_model_at_other_settings_in_each_path_is_judged_as_two(howsure, tmp_path):
    """Planted: the model is always right at one temperature and never at the other; read together they are two."""
    for name, temperature, score in (("cold", 0.0, 1.0), ("hot", 1.0, 0.0)):
        about = manifest.Manifest(
            models={"m": manifest.ModelRecord(name="m", kind="openai", settings={"temperature": temperature})},
            benchmarks={"b": {}},
        )
        with open_run(tmp_path / name) as folder:
            about.save(tmp_path / name)
            folder.append(
                [
                    stored_row(f"q{q}", g, model="m", benchmark="b", score=score, request=f"{name} {q} {g}")
                    for q in range(30)
                    for g in (1, 2)
                ]
            )
    code, out, _ = howsure("gate", tmp_path / "cold", tmp_path / "hot", "--at-least", 0.5, "--format", "json")
    assert (code, [(row["model"], row["verdict"]) for row in json.loads(out)]) == (
        1,
        [("m (temperature=0.0)", "pass"), ("m (temperature=1.0)", "fail")],
    )


def test_sentences_fit_the_terminal_and_no_name_controls_it(howsure, tables, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    for name in ("base", "worse"):
        text = tables[name].read_text()
        tables[name].write_text(text.replace(",q0,", ",q\x1b[31m0,").replace(",m,", ",m\x1b[31m,"))
    fitted, whole = (
        howsure("gate", tables["base"], tables["worse"], "--format", form)[1] for form in ("table", "wide")
    )
    assert max(map(len, fitted.splitlines())) <= 60 < max(map(len, whole.splitlines()))
    assert fitted.split() == whole.split()
    assert "\x1b" not in fitted + whole


def test_remarks_on_two_paths_of_a_candidate_are_printed_once(howsure, tmp_path):
    """Parts of one candidate, each with a decimal comma, which a line says."""
    for name, first in (("one", 0), ("two", 30)):
        rows = "".join(f"m;b;q{first + i};0,{5 + i % 2}\n" for i in range(30))
        (tmp_path / f"{name}.csv").write_text(f"model;benchmark;question;score\n{rows}")
    code, _, err = howsure("gate", tmp_path / "one.csv", tmp_path / "two.csv", "--at-least", 0.3)
    lines = [line for line in err.splitlines() if "decimal commas" in line]
    assert (code, len(lines)) == (0, len(set(lines)))
    assert lines
