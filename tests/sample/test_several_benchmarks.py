"""Experiments on several benchmarks. Kind of truth: cells counted by hand, and runs of one benchmark each."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import pytest
from helpers.endpoint import Faults, serve

import howsure as hs
from howsure.benchmarks import load
from howsure.benchmarks.question import Question
from howsure.errors import HowsureWarning, InputError
from howsure.sample.drawn_prompts import draw_prompts
from howsure.sample.estimate import dry_run
from howsure.sample.experiment import parse_experiment
from howsure.sample.run import load_shard, run
from howsure.store.manifest import load as load_manifest
from howsure.store.manifest import load_plans
from howsure.store.responses import read

MODELS = "models: [simulated/small, simulated/large]\n"


def write_files(folder):
    """Two files whose questions have the same ids, 1 to 30, and other texts and targets."""
    for name, factor in (("double", 2), ("triple", 3)):
        lines = [{"id": i, "q": f"What is {factor} times {i}?", "a": str(factor * i)} for i in range(1, 31)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def questions():
    """The questions of all three benchmarks that an endpoint is to know."""
    plain = load("directions-small")
    extra = [
        Question(f"{name} {i}", f"What is {name} times {i}?", str(name * i)) for name in (2, 3) for i in range(1, 31)
    ]
    return [*plain.questions, *extra]


def spec(name, more=""):
    return f"{{file: {name}.jsonl, id: id, question: q, target: a, scorer: numeric{more}}}"


def sample(folder, text, name="run", **keys):
    return asyncio.run(run(parse_experiment(text, base=folder), folder / name, **keys))


def count(folder):
    return Counter((row["benchmark"], row["model"]) for row in read(folder).to_pylist())


def test_each_benchmark_has_its_own_questions_limits_generations_and_variants(tmp_path):
    write_files(tmp_path)
    own = ', limit: 20, generations: 2, variants: [{template: "{question}"}, {template: "{question} A:"}]'
    text = (
        f"benchmark: [directions-small, {spec('double')}, {spec('triple', own)}]\n{MODELS}generations: 3\nlimit: 25\n"
    )
    outcome = sample(tmp_path, text + "greedy: true\n")
    sizes = {"directions-small": (25, 1, 3), "double": (25, 1, 3), "triple": (20, 2, 2)}
    expected = Counter()
    for name, (questions, variants, generations) in sizes.items():
        for model in ("simulated/small", "simulated/large"):
            expected[name, model] = questions * variants * generations
            expected[name, f"{model}:greedy"] = questions * variants
    assert count(tmp_path / "run") == expected
    assert (outcome.done, outcome.exit_code, len(outcome.models)) == (sum(expected.values()), 0, 12)
    rows = read(tmp_path / "run").to_pylist()
    assert {(row["question"], row["target"]) for row in rows if row["benchmark"] == "triple"} <= {
        (str(i), str(3 * i)) for i in range(1, 31)
    }
    manifest = load_manifest(tmp_path / "run")
    assert list(manifest.benchmarks) == ["directions-small", "double", "triple"]
    assert manifest.models["simulated/small"].generations == 3
    scores = hs.score(tmp_path / "run")
    assert sorted(set(scores["benchmark"].tolist())) == ["directions-small", "double", "triple"]


def test_a_run_of_several_has_the_cells_of_runs_of_one_each(tmp_path):
    write_files(tmp_path)
    names = ["double", "triple"]
    sample(tmp_path, f"benchmark: [{spec('double')}, {spec('triple')}]\n{MODELS}generations: 3\n")
    together = {tuple(row[key] for key in KEY): row["score"] for row in read(tmp_path / "run").to_pylist()}
    apart = {}
    for name in names:
        sample(tmp_path, f"benchmark: {spec(name)}\n{MODELS}generations: 3\n", name)
        apart |= {tuple(row[key] for key in KEY): row["score"] for row in read(tmp_path / name).to_pylist()}
    assert together == apart


KEY = ("benchmark", "model", "question", "variant", "generation")


def test_a_budget_ends_all_benchmarks_and_the_rest_is_sampled_later(tmp_path):
    write_files(tmp_path)
    with serve(questions()) as server:
        model = f'models: [{{model: m, base_url: "{server.base_url}", choices: 1, max_concurrent: 4}}]\n'
        text = f"benchmark: [{spec('double')}, {spec('triple')}, directions-small]\n{model}generations: 2\n"
        first = sample(tmp_path, text + "budget: {calls: 90}\n")
        assert (first.done, len(server.bodies)) == (90, 90)
        assert len(count(tmp_path / "run")) == 3  # no benchmark waits for another
        second = sample(tmp_path, text + "budget: {calls: 100}\n")
        assert (second.done, len(server.bodies)) == (10, 100)
        assert sample(tmp_path, text).done == 220
        assert len(server.bodies) == 320
    assert count(tmp_path / "run") == {("double", "m"): 60, ("triple", "m"): 60, ("directions-small", "m"): 200}


def test_the_requests_of_a_model_share_its_limit(tmp_path):
    write_files(tmp_path)
    with serve(questions(), faults=Faults(latency=0.02)) as server:
        model = f'models: [{{model: m, base_url: "{server.base_url}", choices: 1, max_concurrent: 3}}]\n'
        outcome = sample(tmp_path, f"benchmark: [{spec('double')}, {spec('triple')}]\n{model}generations: 1\n")
        assert outcome.done == 60
        assert server.most_in_flight <= 3


def test_a_benchmark_is_added_later_and_one_that_is_removed_is_said(tmp_path, recwarn):
    write_files(tmp_path)
    sample(tmp_path, f"benchmark: {spec('double')}\n{MODELS}generations: 2\n")
    outcome = sample(tmp_path, f"benchmark: [{spec('double')}, {spec('triple')}]\n{MODELS}generations: 2\n")
    assert (outcome.done, not recwarn) == (120, True)
    with pytest.warns(HowsureWarning, match="also has results of double, which this experiment does not name"):
        outcome = sample(tmp_path, f"benchmark: {spec('triple')}\n{MODELS}generations: 3\n")
    assert outcome.done == 60
    assert sum(count(tmp_path / "run").values()) == 300


def test_stopping_and_stages_are_of_each_benchmark(tmp_path):
    write_files(tmp_path)
    text = f"benchmark: [directions-small, {spec('double')}]\n{MODELS}generations: 40\nallocate: adaptive\n"
    outcome = sample(tmp_path, text + "until: {width: 0.06}\n")
    assert sorted(verdict.split(":")[0] for verdict in outcome.verdicts) == ["directions-small"] * 2 + ["double"] * 2
    assert load_plans(tmp_path / "run").keys() == {"directions-small", "double"}
    assert {(one.benchmark, one.models[0]) for one in load_manifest(tmp_path / "run").stopped} == {
        (benchmark, model)
        for benchmark in ("directions-small", "double")
        for model in ("simulated/small", "simulated/large")
    }
    assert sample(tmp_path, text + "until: {width: 0.06}\n").done == 0


def test_shards_together_are_the_run(tmp_path):
    write_files(tmp_path)
    (tmp_path / "one.jsonl").write_text('{"id": 1, "q": "What is 1 + 1?", "a": "2"}\n')
    experiment = tmp_path / "exp.yaml"
    experiment.write_text(f"benchmark: [{spec('double')}, {spec('one')}]\n{MODELS}generations: 2\n")
    asyncio.run(run(load_shard(experiment, "1/2"), tmp_path / "part1"))
    with pytest.warns(HowsureWarning, match="none of the 1 questions of one is in shard 2"):
        asyncio.run(run(load_shard(experiment, "2/2"), tmp_path / "part2"))
    assert count(tmp_path / "part1") + count(tmp_path / "part2") == {
        (benchmark, model): n
        for benchmark, n in (("double", 60), ("one", 2))
        for model in ("simulated/small", "simulated/large")
    }
    with pytest.raises(InputError, match="use fewer shards"):
        asyncio.run(run(load_shard(experiment, "31/31"), tmp_path / "part31"))


def test_a_dry_run_and_prompts_are_of_all_benchmarks(tmp_path):
    write_files(tmp_path)
    text = f"benchmark: [{spec('double')}, {spec('triple', ', limit: 10')}]\n{MODELS}generations: 2\n"
    estimate = dry_run(parse_experiment(text, base=tmp_path), tmp_path / "none")
    columns = estimate.columns()
    assert list(zip(columns["benchmark"], columns["cells"], strict=True)) == [
        ("double", 60), ("double", 60), ("triple", 20), ("triple", 20),
    ]  # fmt: skip
    (tmp_path / "exp.yaml").write_text(text)
    prompts = draw_prompts(tmp_path / "exp.yaml", 100)
    assert Counter(prompt.benchmark for prompt in prompts) == {"double": 30, "triple": 30}


@pytest.mark.parametrize(
    ("benchmarks", "message"),
    [
        ("[]", "no benchmarks"),
        ("[directions-small, directions-small]", r"benchmark\[1\]: the same benchmark twice"),
        ("[{name: population, size: 5}, {name: population, size: 6}]", "two benchmarks are called 'population'"),
        ("[{name: population, limit: 0}]", r"benchmark\[0\]\.limit: 0 is not allowed"),
        ("[{name: population, variants: [{tempalte: x}]}]", r"benchmark\[0\].*'tempalte'.*did you mean 'template'"),
        ("[{name: population, label: ' '}]", "the label is not readable"),
        ("[directions-small, {name: population, sise: 3}]", "did you mean 'size'"),
        ("[3]", "3 is not allowed"),
    ],
)
def test_what_is_wrong_with_a_benchmark_is_said_with_its_place(tmp_path, benchmarks, message):
    with pytest.raises(InputError, match=message):
        sample(tmp_path, f"benchmark: {benchmarks}\n{MODELS}")


def test_a_label_tells_two_parts_of_one_benchmark_apart(tmp_path):
    parts = "{name: population, size: 5, label: easy}, {name: population, size: 6, label: hard}"
    sample(tmp_path, f"benchmark: [{parts}]\n{MODELS}generations: 1\n")
    assert {name for name, _ in count(tmp_path / "run")} == {"easy", "hard"}
    assert hs.rescore(hs.read(tmp_path / "run"), "own")["agreement"].tolist() == [1.0] * 4
