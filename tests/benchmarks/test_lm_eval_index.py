"""Names, files and refusals of tasks of the harness. Kind of truth: another program's output: its own index of all tasks."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from importlib import metadata
from types import SimpleNamespace

import pytest
from helpers.lm_eval_tasks import write_tasks

from howsure.benchmarks import describe_benchmarks, lm_eval_index, load
from howsure.errors import HowsureError, HowsureWarning, InputError, UnknownNameError

pytest.importorskip("lm_eval", reason="the extra lm-eval is not installed")

PYTHON_TASK = """
from lm_eval.api.instance import Instance
from lm_eval.api.task import ConfigurableTask


class Twice(ConfigurableTask):
    def __init__(self, config=None):
        super().__init__(config={key: value for key, value in config.items() if key != "class"})

    def construct_requests(self, doc, ctx, **kwargs):
        kwargs = {"metadata": kwargs["metadata"]}
        return [
            Instance(request_type="generate_until", doc=doc, arguments=(ctx, {"until": ["x"]}), idx=0, **kwargs),
            Instance(request_type="loglikelihood", doc=doc, arguments=(ctx, " no"), idx=1, **kwargs),
        ]
"""


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    folder = write_tasks(tmp_path_factory.mktemp("harness"))
    (folder / "twice.py").write_text(PYTHON_TASK)
    names = (folder / "local_names.yaml").read_text()
    (folder / "twice.yaml").write_text(
        names.replace("task: local_names", "task: local_twice\nclass: !function twice.Twice")
    )
    extra = {
        "local_key": 'import os\n\n\ndef process_results(doc, results):\n    raise RuntimeError("set OPENAI_API_KEY for the judge\\nand more")\n',
        "local_package": "import a_package_that_nobody_has\n\n\ndef process_results(doc, results):\n    return {}\n",
    }
    for name, code in extra.items():
        (folder / f"{name}_code.py").write_text(code)
        text = names.replace(
            "task: local_names", f"task: {name}\nprocess_results: !function {name}_code.process_results"
        )
        (folder / f"{name}.yaml").write_text(text)
    (folder / "local_rows.yaml").write_text(
        names.replace("task: local_names", "task: local_rows").replace("names.jsonl", "absent.jsonl")
    )
    (folder / "local_mixed.yaml").write_text("group: local_mixed\ntask: [local_names, local_likelihood]\n")
    (folder / "local_two.yaml").write_text("group: local_two\ntask: [local_names, local_starts]\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield folder


def load_local(task, tasks, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)
        return load({"name": f"lm_eval/{task}", "include_path": str(tasks), **options})


@pytest.mark.parametrize(
    ("task", "options", "words"),
    [
        ("local_nams", {}, ["local_nams", "did you mean", "local_names"]),
        ("local_likelihood", {}, ["likelihoods", "multiple_choice", "lm_eval/local_likelihood_generative"]),
        ("local_mixed", {}, ["1 of its 2 tasks", "multiple_choice"]),
        ("local_two", {}, ["local_names", "local_starts", "different generation settings", "gen_kwargs"]),
        ("local_corpus", {}, ["bleu", "all questions together"]),
        ("local_essay", {"metric": "pair"}, ["pair", "all questions together", "share", "no_comma"]),
        ("local_essay", {"metric": "shar"}, ["unknown metric", "share"]),
        ("local_sums", {"filter": "flexibel"}, ["unknown filter", "flexible"]),
        ("local_sums", {"fewshots": 3}, ["fewshots", "num_fewshot"]),
        ("local_sums", {"num_fewshot": -1}, ["num_fewshot is -1"]),
        ("local_sums", {"num_fewshot": True}, ["num_fewshot is True", "whole number"]),
        ("local_sums", {"gen_kwargs": "temperature=1"}, ["gen_kwargs", "keys with values"]),
        ("local_code", {}, ["runs the generated code", "confirm_run_unsafe_code"]),
        ("local_votes", {}, ["maj@8", "8 generations at once", "first"]),
        ("local_twice", {}, ["2 requests", "loglikelihood"]),
        ("local_key", {}, ["key", "OPENAI_API_KEY"]),
        ("local_package", {}, ["a_package_that_nobody_has", "pip install"]),
        ("local_rows", {}, ["data set cannot be loaded", "data_files"]),
        ("hellaswag", {}, ["likelihoods", "multiple_choice"]),
        pytest.param("mmlu", {}, ["57 of its 57", "mmlu_generative"], marks=pytest.mark.long),
        ("humaneval", {}, ["runs the generated code"]),
        ("minerva_math_algebra", {}, ["antlr4"]),
    ],
)
def test_what_cannot_be_sampled_is_refused_in_one_line(tasks, task, options, words):
    with pytest.raises(HowsureError) as caught:
        load_local(task, tasks, **options)
    line = str(caught.value)
    assert "\n" not in line
    for word in words:
        assert word in line


def test_a_filter_that_suits_single_generations_is_taken_where_another_needs_several(tasks):
    assert load_local("local_votes", tasks, filter="first").source["score_of"] == "first/exact_match"


def test_what_was_chosen_among_several_is_said_in_one_line(tasks):
    with pytest.warns(HowsureWarning) as caught:
        load({"name": "lm_eval/local_sums", "include_path": str(tasks)})
    assert [str(one.message) for one in caught] == [
        "lm_eval/local_sums: the score is that of the filter strict, not flexible (choose with the key filter)"
    ]
    with pytest.warns(HowsureWarning, match="num_fewshot to 0"):
        load({"name": "lm_eval/local_names", "include_path": str(tasks), "num_fewshot": 5})


def test_a_folder_of_tasks_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        load({"name": "lm_eval/x", "include_path": "nowhere"}, base=tmp_path)


@pytest.mark.parametrize("version", ["0.4.9", "0.5.0", "1.0"])
def test_another_version_of_the_harness_is_refused(monkeypatch, version):
    monkeypatch.setattr(metadata, "version", lambda _: version)
    with pytest.raises(InputError, match=f"lm-eval {version} is installed"):
        lm_eval_index.find_lm_eval()


def test_a_missing_harness_is_named_with_the_extra(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(InputError, match=r"howsure\[lm-eval\]"):
        load("lm_eval/gsm8k")


def test_the_harness_is_not_imported_by_other_commands():
    code = "import sys, howsure.cli, howsure.benchmarks as b; b.load('directions-small'); b.describe_benchmarks(); print('lm_eval' in sys.modules or 'datasets' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        == "False"
    )


def test_a_task_is_described_from_its_files_alone(tasks):
    row = describe_benchmarks("lm_eval/gsm8k")[0]
    assert (row["data"], row["filters"], row["shots"]) == ("openai/gsm8k main", "strict-match, flexible-extract", 5)
    assert json.loads(str(row["generation"]))["until"] == ["Question:", "</s>", "<|im_end|>"]
    assert "mmlu_pro_math" in str(describe_benchmarks("lm_eval/mmlu_pro")[0]["tasks"])
    assert describe_benchmarks("lm_eval/local_tag", path=str(tasks))[0]["tasks"] == "local_same"
    with pytest.raises(UnknownNameError, match="gsm8k"):
        describe_benchmarks("lm_eval/gsm8kk")


def test_the_index_is_that_of_the_harness_and_is_built_once(tmp_path, monkeypatch):
    """Truth: the harness's own index of a folder with a task, its tag and a group."""
    from lm_eval.tasks import TaskManager

    folder = write_tasks(tmp_path / "tasks")
    own = TaskManager(include_path=str(folder), include_defaults=False).task_index
    monkeypatch.setenv("HOWSURE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(
        lm_eval_index.util, "find_spec", lambda _: SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    )
    read = lm_eval_index._read_own_index.__wrapped__
    index = read("0.4.13")
    assert {name: entry.path for name, entry in index.items() if entry.path} == {
        name: str(entry.yaml_path) for name, entry in own.items() if entry.yaml_path is not None
    }
    assert {name: {*entry.members} for name, entry in index.items() if entry.kind == "tag"} == {
        name: entry.tags for name, entry in own.items() if entry.kind.name == "TAG"
    }
    (file,) = (tmp_path / "cache").iterdir()
    monkeypatch.setattr(lm_eval_index, "_build_index", lambda _: {})
    assert read("0.4.13") == index
    file.write_text("[")
    assert read("0.4.13") == {}
