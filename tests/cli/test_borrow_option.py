"""--borrow of the commands, and `until: {borrow: ...}` of a run."""

import json

import numpy as np
import pytest

import howsure as hs
from howsure.results.evaluations import read

N = 200


@pytest.fixture
def tables(tmp_path):
    """A reference of eight models on 200 questions, and a new model on 60 of them."""
    rng = np.random.default_rng(0)
    p = 1 / (1 + np.exp(-(rng.normal(0, 1, (9, 1)) + rng.normal(0, 2, N))))
    some = rng.choice(N, 60, replace=False)

    def write(name, rows):
        path = tmp_path / name
        lines = [f"b,m{m},q{q},{g},{int(rng.random() < p[m, q])}" for m, q, g in rows]
        path.write_text("\n".join(["benchmark,model,question,generation,score", *lines]) + "\n")
        return str(path)

    new = write("new.csv", [(0, q, g) for q in some for g in (1, 2)])
    halves = [
        write(f"reference{i}.csv", [(m, q, 1) for m in range(1 + 4 * i, 5 + 4 * i) for q in range(N)]) for i in (0, 1)
    ]
    return new, halves


def test_score_and_compare_borrow_from_several_paths(howsure, tables):
    new, halves = tables
    borrowed = [part for half in halves for part in ("--borrow", half)]
    code, out, _ = howsure("score", new, *borrowed, "--format", "json")
    [row] = json.loads(out)
    assert code == 0
    assert row["n_reference"] == 8
    assert row["n_all"] == N
    expected = hs.score(read(new), borrow=read(halves)).columns()
    assert row["score"] == pytest.approx(expected["score"][0])
    assert row["score_plain"] == pytest.approx(hs.score(read(new)).columns()["score"][0])
    assert row["se"] < row["se_plain"]
    # The other model answered all of the questions before: it is read with the new one.
    code, out, _ = howsure("compare", new, halves[0], "--a", "m0", "--b", "m3", *borrowed, "--format", "json")
    [row] = json.loads(out)
    assert code == 0
    assert row["n_questions"] == 60
    assert row["se"] < row["se_plain"]
    assert "left out of the reference: m3" not in row["note"]  # it is known, and helps to predict the other


def test_too_small_a_reference_is_one_line(howsure, tables):
    new, halves = tables
    code, _, err = howsure("score", new, "--borrow", halves[0])
    assert code == 2
    assert err.count("\n") == 1
    assert "4 models of the reference answered half of its 200 questions or more; give results of at least 5" in err
    code, _, err = howsure("score", new, "--borrow", halves[0], "--missing", "as-zero")
    assert code == 2
    assert "missing is 'as-zero' with borrow" in err


def experiment(tmp_path, until, **more):
    from howsure.benchmarks import load
    from howsure.models.simulated import SimulatedModel, truth

    benchmark = load("directions-small")
    rng = np.random.default_rng(1)
    base = [truth(SimulatedModel(name, benchmark)) for name in ("small", "medium", "large")]
    weights = rng.dirichlet([1, 1, 1], 8)
    lines = [
        f"{benchmark.name},m{i},{question.id},{int(rng.random() < p)}"
        for i, weight in enumerate(weights)
        for question, p in zip(benchmark.questions, weight @ base, strict=True)
    ]
    (tmp_path / "reference.csv").write_text("\n".join(["benchmark,model,question,score", *lines]) + "\n")
    settings = {"limit": 60, "generations": 40} | more
    path = tmp_path / "e.yaml"
    rest = "".join(f"{name}: {value}\n" for name, value in settings.items())
    path.write_text(f"benchmark: directions-small\nmodels: [simulated/medium]\nuntil: {until}\n{rest}")
    return path


def test_a_run_stops_on_the_borrowed_score(howsure, tmp_path):
    path = experiment(tmp_path, "{width: 0.2, borrow: reference.csv}")
    code, out, err = howsure("run", str(path), "--format", "json")
    [row] = json.loads(out)
    assert code == 0
    assert "stopped after" in err
    assert "all 100 questions of the reference" in err
    assert row["n_reference"] == 8
    assert row["n_all"] == 100
    assert row["n_generations"] < 60 * 40
    manifest = (tmp_path / "e" / "manifest.json").read_text()
    assert "borrowing from reference.csv" in manifest


@pytest.mark.parametrize(
    ("until", "more", "said"),
    [
        ("{width: 0.2, borrow: reference.csv}", {"limit": 20}, "20 questions are too few to borrow; use at least 30"),
        ("{width: 0.2, borrow: none.csv}", {}, "none.csv: no such file"),
        ("{width: 0.2, borrow: reference.csv, rule: prediction}", {}, "rule 'prediction' cannot borrow"),
        (
            "{width: 0.2, borrow: reference.csv}",
            {"benchmark": "directions-large"},
            "such as",
        ),
    ],
)
def test_what_cannot_be_borrowed_is_said_before_anything_is_asked(howsure, tmp_path, until, more, said):
    path = experiment(tmp_path, until, **{name: value for name, value in more.items() if name != "benchmark"})
    if "benchmark" in more:
        path.write_text(path.read_text().replace("directions-small", more["benchmark"]))
    code, _, err = howsure("run", str(path))
    assert code == 2
    assert said in err
    assert "generations in" not in err
