"""What Inspect is asked to run for an experiment, and what is refused.

Kind of truth: Inspect's own names of models and settings, written by hand.
"""

import sys

import pytest

pytest.importorskip("inspect_ai", reason="the extra inspect is not installed")

from howsure.benchmarks import load
from howsure.errors import InputError
from howsure.inspect_runs.task_request import build_request, check_experiment
from howsure.sample.experiment import parse_experiment


def parse(models="[mockllm/model]", more="", benchmark="inspect/evals/sums"):
    return parse_experiment(f"{{benchmark: {benchmark}, models: {models}{more}}}")


@pytest.mark.parametrize(
    ("model", "name", "base_url"),
    [
        ("mockllm/model", "mockllm/model", ""),
        ("openai/gpt-4o", "openai/gpt-4o", ""),
        ("anthropic/claude", "anthropic/claude", ""),
        ("gemini/flash", "google/flash", ""),
        ("vllm/org/name", "vllm/org/name", ""),
        ('{model: local/q, base_url: "http://localhost:8000/v1"}', "openai-api/howsure/q", "http://localhost:8000/v1"),
    ],
)
def test_models_have_the_names_of_inspect(tmp_path, model, name, base_url):
    experiment = parse(f"[{model}]")
    request = build_request(experiment, experiment.models[0], tmp_path)
    assert (request.model, request.base_url) == (name, base_url)


def test_settings_and_limits_are_passed_on(tmp_path):
    models = "[{model: mockllm/model, temperature: 0.3, top_p: 0.9, max_tokens: 50, stop: X, extra: {top_k: 4}, timeout: 9.5}]"
    benchmark = "{name: inspect/evals/sums, args: {level: 3}, message_limit: 7}"
    experiment = parse(models, ", generations: 6, limit: 11, seed: 5, concurrency: 3", benchmark)
    check_experiment(experiment)
    request = build_request(experiment, experiment.models[0], tmp_path)
    assert request.settings == {
        "temperature": 0.3,
        "top_p": 0.9,
        "max_tokens": 50,
        "stop_seqs": ["X"],
        "extra_body": {"top_k": 4},
        "max_connections": 3,
        "timeout": 9,
    }
    assert (request.task, request.epochs, request.limit, request.seed) == ("evals/sums", 6, 11, 5)
    assert (request.args, request.limits) == ({"level": 3}, {"message_limit": 7})


def test_greedy_is_a_model_with_one_epoch(tmp_path):
    experiment = parse(more=", greedy: true, generations: 4")
    epochs = [build_request(experiment, config, tmp_path).epochs for config in experiment.models]
    assert epochs == [4, 1]


@pytest.mark.parametrize(
    ("models", "more", "benchmark", "where"),
    [
        ("[mockllm/model]", ", variants: [{system: x}]", "inspect/a/b", "variants"),
        ("[mockllm/model]", ", until: {width: 0.1}", "inspect/a/b", "until"),
        ("[mockllm/model]", ", allocate: adaptive", "inspect/a/b", "allocate"),
        ("[mockllm/model]", ", budget: {calls: 10}", "inspect/a/b", "budget"),
        ("[simulated/medium]", "", "inspect/a/b", "simulated"),
        ("[{model: mockllm/model, requests_per_minute: 5}]", "", "inspect/a/b", "requests_per_minute"),
        ("[openai/gpt-4o]", "", "[inspect/a/b, gsm8k]", "beside other benchmarks"),
        ("[mockllm/model]", "", "{name: inspect/a/b, shots: 3}", "shots"),
        ("[mockllm/model]", "", "{name: inspect/a/b, message_limit: 0}", "message_limit"),
        ("[mockllm/model]", "", "{name: inspect/a/b, args: 3}", "args"),
    ],
)
def test_what_has_no_effect_is_refused_by_its_name(models, more, benchmark, where):
    with pytest.raises(InputError, match=where):
        check_experiment(parse(models, more, benchmark))


@pytest.mark.parametrize("name", ["inspect/missing.py", "inspect/missing.py@t", "inspect/", "inspect/a@b"])
def test_a_file_that_does_not_exist_is_said(tmp_path, name):
    experiment = parse(benchmark=f'"{name}"')
    with pytest.raises(InputError, match=r"no file|no name"):
        build_request(experiment, experiment.models[0], tmp_path)


def test_without_inspect_the_remedy_is_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(InputError, match=r"howsure\[inspect\]"):
        check_experiment(parse())


def test_it_is_no_benchmark_of_our_own():
    with pytest.raises(InputError, match="run by Inspect"):
        load("inspect/evals/sums")
