"""The command on thousands of mutated inputs: no traceback, no hang, no control character, and no row lost in silence.

Kind of truth: a guarantee, shown by trying. `make test` runs a few hundred cases of fixed seeds, `make slow` 20,000 and
prints what became of them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import fuzzing

from howsure.store.manifest import Manifest, ModelRecord, begin, finish
from howsure.store.responses import RunFolder
from howsure.store.schema import Response

EXAMPLES = Path(__file__).parent / "logs/examples"
#: Cases of each kind in `make slow`.
MANY = {"experiments": 6000, "command lines": 4000, "tables": 4000, "logs": 3000, "run folders": 3000}
FEW = 20
QUESTIONS, GENERATIONS, MODELS = 8, 3, ("m0", "m1")


def count_cases():
    """Parameters of the tests: each kind few times, and marked slow many times."""
    return [
        pytest.param(kind, n, marks=marks, id=f"{kind}-{n}")
        for kind in MANY
        for n, marks in ((FEW, ()), (MANY[kind], (pytest.mark.slow,)))
    ]


def write_run(folder, *, compacted):
    """A run folder of a few rows; without compaction all rows are in the database."""
    with RunFolder(folder) as run:
        models = {name: ModelRecord(name=name, kind="simulated", generations=GENERATIONS) for name in MODELS}
        begin(folder, Manifest(seed=1, benchmarks={"b": {"kind": "built-in"}}, models=models))
        run.append(
            [
                Response("b", m, f"q{q}", "v", g, completion=f"text {q}{g}", answer=str(g), score=(q + g) % 2)
                for m in MODELS
                for q in range(QUESTIONS)
                for g in range(1, GENERATIONS + 1)
            ]
        )
        run.put_prompts(
            [("b", f"q{q}", "v", [{"role": "user", "content": f"q {q}"}], "1", None) for q in range(QUESTIONS)]
        )
        finish(folder)
        if compacted:
            run.compact()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for compacted in (True, False):
        write_run(folder / f"run{compacted}", compacted=compacted)
    return sorted(folder.iterdir())


def make_run_case(runs, folder, lost):
    """A maker of cases that also notes damaged folders from which rows are missing without a word."""

    def make(rng):
        what = fuzzing.damage_run(rng.choice(runs), folder, rng)
        ran = fuzzing.run_command(["score", str(folder), "--format", "json"])
        # What a person deletes by SQL is no damage: no checksum covers it.
        if ran.code == 0 and not ran.fault and not ran.err.strip() and not what.startswith("sql"):
            rows = json.loads(ran.out)
            n = sum(row["n_questions"] * row["n_generations"] for row in rows)
            if n != len(MODELS) * QUESTIONS * GENERATIONS:
                lost.append(f"{what}: {n} rows of {len(MODELS) * QUESTIONS * GENERATIONS}")
        return [rng.choice(["score", "audit", "repeats", "variants", "rescore"]), str(folder)]

    return make


@pytest.mark.parametrize(("kind", "n"), count_cases())
def test_no_case_brings_the_command_down(tmp_path, runs, kind, n, capsys, monkeypatch):
    outcomes, lost = fuzzing.Outcomes(), []
    tmp_path = tmp_path / "a/b"  # so that the paths . and .. are small
    tmp_path.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    table = tmp_path / "good.csv"
    table.write_text("model,question,score\n" + "".join(f"m{i % 2},q{i // 2},{i % 2}\n" for i in range(12)))
    experiment = tmp_path / "good.yaml"
    experiment.write_text(fuzzing.EXPERIMENTS[0])
    examples = sorted(EXAMPLES.iterdir())
    inputs = [str(table), str(experiment), *map(str, runs)]
    makers = {
        "experiments": lambda rng: fuzzing.make_experiment(tmp_path, rng),
        "command lines": lambda rng: fuzzing.make_command_line(tmp_path, inputs, rng),
        "tables": lambda rng: fuzzing.make_table(tmp_path, rng),
        "logs": lambda rng: fuzzing.make_log(tmp_path, examples, rng),
        "run folders": make_run_case(runs, tmp_path / "damaged", lost),
    }
    fuzzing.try_cases(n, makers[kind], outcomes)
    with capsys.disabled():
        print(f"\n{kind}: {outcomes}")
    assert outcomes.failures == []
    assert lost == []
