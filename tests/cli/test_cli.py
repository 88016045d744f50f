"""The commands, as a user meets them: output, exit codes, one line for each wrong use."""

import csv
import io
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.servers import LONG, until

TABLE = """\
benchmark,model,question,generation,score
b,big,q1,1,1
b,big,q1,2,1
b,big,q2,1,0
b,big,q2,2,1
b,big,q3,1,1
b,big,q3,2,1
b,small,q1,1,1
b,small,q1,2,0
b,small,q2,1,0
b,small,q2,2,0
b,small,q3,1,0
b,small,q3,2,1
"""

COLUMNS = {  # the columns that product.md promises
    "score": "benchmark model n_questions n_generations score se low high level claim se_total se_data se_prediction "
    "n_missing note",
    "compare": "benchmark model_a model_b n_questions score_a score_b difference se low high z p_value se_total se_data "
    "se_prediction detectable note",
    "rank": "benchmark model score rank rank_low rank_high p_best note",
    "repeats": "benchmark model n_runs mean sd best worst low high n_future method drift_p note",
    "plan": "n_questions n_variants n_generations se se_low se_high detectable calls tokens cost note",
}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    return str(path)


def arguments_of(command, table):
    more = {
        "compare": ["--a", "big", "--b", "small"],
        "plan": ["--detect", "0.3"],
    }
    return [command, table, *more.get(command, [])]


@pytest.mark.parametrize("command", COLUMNS)
def test_rows_for_programs_have_the_promised_columns(howsure, table, command):
    code, out, err = howsure(*arguments_of(command, table), "--format", "json")
    assert (code, err) == (0, "")
    rows = json.loads(out)
    # Some commands say more than was promised, never less, and in the same order.
    assert [name for name in rows[0] if name in COLUMNS[command].split()] == COLUMNS[command].split()
    code, out, _ = howsure(*arguments_of(command, table), "--format", "csv")
    [header, *lines] = csv.reader(io.StringIO(out))
    assert header == list(rows[0])
    for line, row in zip(lines, rows, strict=True):
        for text, (name, value) in zip(line, row.items(), strict=True):
            assert text == ("" if value is None else str(value)), name


def test_score_by_hand(howsure, table):
    _, out, _ = howsure("score", table, "--format", "json")
    big, small = json.loads(out)
    assert (big["model"], big["score"], big["n_generations"]) == ("big", pytest.approx(5 / 6), 6)
    assert (small["model"], small["score"]) == ("small", pytest.approx(1 / 3))
    # means 1, 1/2, 1: variance 1/18; within 0, 1/2, 0: E = 1/6; D = 1/18 - 1/12
    assert big["se"] == pytest.approx((1 / 18 / 3) ** 0.5)
    assert big["se_prediction"] == pytest.approx((1 / 6 / 3) ** 0.5)
    assert big["se_data"] == 0


def test_tables_for_a_person_and_what_is_not_known(howsure, table):
    code, out, _ = howsure("score", table)
    assert code == 0
    assert "big" in out.splitlines()[0]
    options = ("--claim", "these-questions", "--level", "0.9", "--method", "plugin")
    assert "90 %" in howsure("score", table, *options)[1]
    _, out, _ = howsure("score", table, *options, "--format", "wide")
    assert "claim these-questions" in out
    assert "level 0.9" in out
    _, out, _ = howsure("compare", table, "--a", "big", "--b", "big", "--format", "json")
    assert json.loads(out)[0]["detectable"] is None  # no variation was seen


def test_clusters_of_a_table(howsure, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "model,question,topic,score\na,1,x,1\na,2,x,1\na,3,y,0\na,4,z,0\nb,1,x,0\nb,2,x,1\nb,3,y,0\nb,4,z,1\n"
    )
    _, out, _ = howsure("score", str(path), "--cluster", "topic", "--format", "json")
    a, _ = json.loads(out)
    # off the mean 1/2: x +1, y -1/2, z -1/2; x has half of the questions, y and z a quarter
    assert a["se"] == pytest.approx((1 / (1 / 2) + 2 * 0.25 / (3 / 4)) ** 0.5 / 4)
    assert a["df"] == pytest.approx(1.8)
    assert "questions in clusters" in a["note"]
    _, out, _ = howsure("compare", str(path), "--cluster", "topic", "--format", "json")
    # differences 1, 0, 0, -1 off their mean 0: x +1, y 0, z -1
    assert json.loads(out)[0]["se"] == pytest.approx((1 / (1 / 2) + 1 / (3 / 4)) ** 0.5 / 4)


def test_repeats_take_each_generation_and_each_file_as_a_run(howsure, table, tmp_path):
    _, out, _ = howsure("repeats", table, "--format", "json", "--future", "1")
    [big] = [row for row in json.loads(out) if row["model"] == "big"]
    assert (big["n_runs"], big["n_future"], big["best"], big["worst"]) == (2, 1, 1, pytest.approx(2 / 3))
    _, out, _ = howsure("repeats", table, "--format", "json", "--show", "runs")
    means = [row["mean"] for row in json.loads(out) if row["model"] == "big"]
    assert means == pytest.approx([2 / 3, 1])
    whole = tmp_path / "third.csv"
    whole.write_text("benchmark,model,question,score\nb,big,q1,0\nb,big,q2,0\nb,big,q3,0\n")
    code, out, _ = howsure("repeats", table, str(whole), "--format", "json")
    assert (code, json.loads(out)["error"]["code"]) == (2, "names")
    _, out, _ = howsure("repeats", table, str(whole), "--format", "json", "--map", "files: {generation: 0}")
    [big] = [row for row in json.loads(out) if row["model"] == "big"]
    assert (big["n_runs"], big["worst"]) == (3, 0)


def test_combine_by_given_weights(howsure, tmp_path):
    path = tmp_path / "two.csv"
    rng = random.Random(1)
    chance = {("one", "a"): 0.7, ("one", "bb"): 0.4, ("two", "a"): 0.6, ("two", "bb"): 0.5}
    lines = [f"{b},{m},{q},{int(rng.random() < p)}" for (b, m), p in chance.items() for q in range(40)]
    path.write_text("benchmark,model,question,score\n" + "\n".join(lines))
    asked = ["compare", str(path), "--a", "a", "--b", "bb", "--format", "json"]
    one, two, both = json.loads(howsure(*asked, "--weight", "one=3", "--weight", "two=1")[1])
    assert one["weight"] * one["se"] == pytest.approx(3 * two["weight"] * two["se"])
    assert both["z"] == pytest.approx((3 * one["z"] + two["z"]) / 10**0.5)
    equal = json.loads(howsure(*asked, "--weight", "equal")[1])
    assert equal[-1]["z"] == pytest.approx((one["z"] + two["z"]) / 2**0.5)


def test_plan_without_a_pilot(howsure):
    """Theory: 1.3 p(1-p) = .325 for a pair, found with power .8 at .05: N = .325 (1.96 + .84)^2 / .1^2 = 256."""
    asked = ["plan", "--accuracy", "0.5", "--detect", "0.1", "--format", "json"]
    code, out, _ = howsure(*asked)
    assert code == 0
    assured, plain, *_ = json.loads(out)
    assert plain["n_questions"] == 256
    assert assured["n_questions"] > 256  # other benchmarks have more than the middle one
    assert "with the upper 80 % limit" in assured["note"]
    assert json.loads(howsure(*asked, "--assurance", "0.5")[1])[0]["n_questions"] == 256
    # p(1-p) of one model, whatever the difficulties are
    alone = json.loads(howsure(*asked, "--a", "big", "--assurance", "0.9")[1])[0]
    assert (alone["n_questions"], alone["calls"]) == (197, 197)
    cold = ["--cost", "prompt_tokens=100,completion_tokens=50,generations_per_request=9"]
    warm = json.loads(howsure(*asked, *cold)[1])[0]
    cold = json.loads(howsure(*asked, *cold, "--temperature", "0.1")[1])[0]
    assert warm["n_generations"] > cold["n_generations"]


def test_plan_for_one_model_and_its_price(howsure, table):
    asked = ["plan", table, "--a", "big", "--width", "0.1", "--questions", "5000", "--format", "json"]
    _, out, _ = howsure(*asked, "--cost", "prompt_tokens=100,completion_tokens=50,input_price=2,output_price=4")
    first = json.loads(out)[0]
    calls = first["n_questions"] * first["n_generations"]
    assert first["calls"] == calls
    assert first["cost"] == pytest.approx(calls * (100 * 2 + 50 * 4) / 1e6)


def test_report_writes_one_file(howsure, table, tmp_path):
    target = tmp_path / "out.html"
    code, out, _ = howsure("report", table, "-o", str(target))
    assert (code, out.strip()) == (0, str(target))
    assert "big" in target.read_text()


WRONG = {
    "an unknown command": (["scores"], "scores"),
    "no path": (["score"], "Missing argument 'PATHS...'"),
    "a path that is not there": (["score", "absent"], "absent: no such file or folder; give a run folder"),
    "an unknown model": (["compare", "TABLE", "--a", "bigg", "--b", "small"], "unknown model 'bigg'; did you mean 'big'?"),
    "an unknown claim": (["score", "TABLE", "--claim", "all"], "'all' is not one of 'new-questions'"),
    "a level out of range": (["score", "TABLE", "--level", "95"], "level is 95; did you mean 0.95?"),
    "a method that is not there": (["score", "TABLE", "--method", "wald"], "'wald' is not one of"),
    "a weight that is no number": (["compare", "TABLE", "--a", "big", "--b", "small", "--weight", "b=much"], "write BENCHMARK=NUMBER"),
    "nothing to plan from": (["plan", "--detect", "0.1"], "give the results of a pilot, --accuracy, or --like BENCHMARK"),
    "no such assurance": (["plan", "--accuracy", ".5", "--detect", ".1", "--assurance", "1"], "assurance is 1.0; allowed: from"),
    "no assurance at all": (["plan", "--accuracy", ".5", "--detect", ".1", "--assurance", "x"], "'x' is not a number"),
    "a temperature of a pilot": (["plan", "TABLE", "--detect", ".1", "--temperature", ".2"], "is for plans without a pilot"),
    "a plan for too many": (["plan", "MANY", "--detect", "0.1"], "3 models; name one or two with --a and --b"),
    "clusters that are not there": (["score", "TABLE", "--cluster", "topic"], "unknown column 'topic'"),
    "half a column": (["score", "TABLE", "--columns", "question"], "write NAME=COLUMN"),
    "a column that is not there": (["score", "TABLE", "--columns", "model=modell"], "unknown column 'modell'; did you mean"),
    "an experiment that is not there": (["run", "absent.yaml"], "absent.yaml"),
    "a model and itself": (["compare", "TABLE", "--a", "big", "--b", "big", "--unpaired"], "big is compared with itself; name another model"),
    "a plan for a model and itself": (["plan", "TABLE", "--a", "big", "--b", "big", "--detect", ".1"], "big is compared with itself"),
    "a gate for a model and itself": (["gate", "TABLE", "--a", "big", "--b", "big"], "big is compared with itself"),
    "a price without a name": (["plan", "--accuracy", ".5", "--se", ".1", "--cost", "3"], "write --cost NAME=NUMBER"),
    "results of an experiment that has none": (["score", "exp.yaml"], "exp.yaml: an experiment or another YAML file, which has no results; howsure run exp.yaml"),
    "a check of prompts": (["run", "exp.yaml", "--check", "--show-prompts", "2"], "keep --check"),
    "a command that moved": (["doctor", "exp.yaml"], "howsure run does what howsure doctor did: howsure run --help"),
    "two columns that are not there": (["score", "odd.csv"], "name it with --columns score=COLUMN"),
    "questions without answers of models": (["rescore", "ask.jsonl", "--scorer", "choice", "-o", "new"], "howsure init writes the experiment: howsure init --benchmark ask.jsonl"),
}  # fmt: skip
#: Files that are no results.
NO_RESULTS = {
    "exp.yaml": "# simple questions, with four choices, in two prompts\nbenchmark: simple\nmodels: [a, b]\n",
    "odd.csv": "foo,bar\nhello,world\n",
    "ask.jsonl": '{"id": "q1", "question": "What is 2 + 2?", "choices": ["4", "5"], "answer": "A"}\n',
}


def test_the_command_alone_prints_its_help(howsure):
    """Its lines as --help prints them, on stderr with exit code 2, as click does."""
    code, out, err = howsure()
    _, asked, _ = howsure("--help")
    assert (code, out) == (2, "")
    assert err.splitlines() == asked.splitlines()
    assert len(err.splitlines()) > 30


def test_a_model_that_is_not_named_is_asked_for_by_the_names_that_there_are(howsure, table, tmp_path):
    assert (
        "--b is missing; name two of the models, or none to see all pairs: big"
        in howsure("compare", table, "--a", "small")[2]
    )
    assert "--a is missing; name two of the models" in howsure("compare", table, "--b", "nope")[2]
    third = tmp_path / "third.csv"
    third.write_text(TABLE + "b,two words,q1,1,1\n")
    code, _, err = howsure("compare", third, "--a", "big")
    assert (code, err) == (
        2,
        "howsure: --b is missing; name two of the models, or none to see all pairs: small, 'two words'\n",
    )
    alone = tmp_path / "alone.csv"
    alone.write_text("model,question,score\nm,1,1\nm,2,0\n")
    assert "the results have m alone: give the path of another run too" in howsure("compare", alone)[2]


def test_plan_names_the_options_that_are_its_goals(howsure, table):
    for arguments, what in (([], "no goal"), (["--se", ".1", "--width", ".2"], "--width and --se together")):
        code, out, err = howsure("plan", table, *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert what in err
        assert all(f"--{name}" in err for name in ("detect", "width", "se", "budget"))
    [first, *_] = json.loads(howsure("plan", "--accuracy", "0.5", "--se", "0.05", "--format", "json")[1])
    assert first["se"] <= 0.05


def test_a_model_and_itself_have_the_error_of_two_runs_and_a_line_says_so(howsure, table):
    code, _, err = howsure("compare", table, "--a", "big", "--b", "big")
    assert (code, err.count("\n")) == (0, 1)
    assert "big is compared with itself: the difference is 0" in err
    assert "howsure compare PATH PATH" in err


@pytest.mark.parametrize("case", WRONG)
def test_wrong_use_is_one_line_and_exit_code_2(howsure, table, tmp_path, monkeypatch, case):
    arguments, message = WRONG[case]
    monkeypatch.chdir(tmp_path)
    for name, text in NO_RESULTS.items():
        Path(name).write_text(text)
    many = Path(table).with_name("many.csv")
    many.write_text(TABLE + "b,huge,q1,1,1\n")
    code, out, err = howsure(*({"TABLE": table, "MANY": str(many)}.get(a, a) for a in arguments))
    assert (code, out) == (2, "")
    assert err.startswith("howsure: ")
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "benchmark: direction-small\nmodels: [simulated/medium]\n",
            "unknown benchmark 'direction-small'; did you mean 'directions-small'",
        ),
        ("benchmark: directions-small\nmodels: [simulated/medum]\n", "'simulated/medium'"),
        ("benchmark: directions-small\nmodels: [simulated/medium]\ngeneration: 3\n", "generations"),
        ("benchmark: directions-small\nmodels: [openai/gpt-4o-mini]\n", "OPENAI_API_KEY"),
        ("", "experiment.yaml"),
    ],
)
def test_wrong_experiments_are_one_line_and_leave_nothing(howsure, tmp_path, monkeypatch, text, message):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    experiment = tmp_path / "experiment.yaml"
    experiment.write_text(text)
    code, _, err = howsure("run", str(experiment))
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == [experiment]


def test_run_then_score_compare_pairs_report_and_more_generations(howsure, tmp_path):
    experiment = tmp_path / "two.yaml"
    experiment.write_text("benchmark: directions-small\nmodels: [simulated/small, simulated/medium]\ngenerations: 3\n")
    code, out, _ = howsure("run", str(experiment))
    assert code == 0
    assert "simulated/medium" in out
    before = json.loads(howsure("score", str(tmp_path / "two"), "--format", "json")[1])
    assert [row["n_generations"] for row in before] == [300, 300]
    experiment.write_text(experiment.read_text().replace("3", "5").replace("generations", "greedy: true\ngenerations"))
    code, _, err = howsure("run", str(experiment))
    assert code == 0
    assert "600 were there" in err
    after = json.loads(howsure("score", str(tmp_path / "two"), "--format", "json")[1])
    assert {row["model"]: row["n_generations"] for row in after} == {
        "simulated/small": 500,
        "simulated/medium": 500,
        "simulated/small:greedy": 100,
        "simulated/medium:greedy": 100,
    }
    assert len(json.loads(howsure("compare", str(tmp_path / "two"), "--format", "json")[1])) == 6
    code, _, err = howsure("report", str(tmp_path / "two"), "--no-static", "-o", str(tmp_path / "r.html"))
    assert (code, err) == (0, "")


def test_a_pipe_that_closes_is_no_error(table):
    command = f"{sys.executable} -m howsure compare {table} --format csv | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_help_is_quick_because_nothing_heavy_is_imported():
    code = "import sys; from howsure.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\nprint(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1]
    for heavy in ("numpy", "scipy", "duckdb", "pyarrow", "aiohttp", "altair", "pandas", "rich", "msgspec", "yaml"):
        assert f"'{heavy}'" not in loaded


def test_the_package_gives_its_public_names():
    import howsure

    assert set(howsure.__all__) >= {"read", "score", "compare", "pairs", "Cells", "InputError"}
    assert all(getattr(howsure, name) for name in howsure.__all__)
    with pytest.raises(AttributeError, match="no attribute 'scores'"):
        _ = howsure.scores


def test_interrupt_keeps_everything_and_says_so(tmp_path):
    experiment = tmp_path / "long.yaml"
    experiment.write_text("benchmark: directions-large\nmodels: [simulated/small]\ngenerations: 200\n")
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    run = subprocess.Popen(
        [sys.executable, "-m", "howsure", "run", str(experiment)], stderr=subprocess.PIPE, text=True, env=environment
    )
    database = Path(tmp_path / "long" / "responses.sqlite-wal")
    until(lambda: database.exists() and database.stat().st_size > 100_000)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=LONG)
    assert run.returncode == 130
    assert "interrupted; what arrived is kept in" in err
    from howsure.results.evaluations import read

    [cells] = read(tmp_path / "long")
    assert 0 < cells.n.sum() < 5760 * 200


@pytest.mark.parametrize("form", ["json", "csv", "table"])
def test_results_are_computed_once_whatever_the_number_of_rows(howsure, tmp_path, monkeypatch, form):
    """Twenty benchmarks of two models: the columns of each are computed at most once for what is printed."""
    from howsure.stats.scores import Scores

    calls = []
    columns = Scores.columns
    monkeypatch.setattr(Scores, "columns", lambda self: calls.append(self) or columns(self))
    rows = [f"b{b},m{m},q{q},{(b + m * q) % 2}" for b in range(20) for m in range(2) for q in range(5)]
    path = tmp_path / "many.csv"
    path.write_text("\n".join(["benchmark,model,question,score", *rows]))
    assert howsure("score", str(path), "--format", form)[0] == 0
    assert len(calls) == 20
