"""Kind of truth: another program's output: lm-evaluation-harness scores the same completions through `simple_evaluate`."""

from __future__ import annotations

import asyncio
import json
import warnings
from pathlib import Path

import pytest
from helpers.lm_eval_tasks import COMPLETIONS, complete, evaluate, write_tasks
from helpers.long_cases import mark_long
from helpers.scripted_model import ScriptedModel

import howsure as hs
from howsure.benchmarks import lm_eval_scorer, load
from howsure.errors import HowsureWarning, InputError
from howsure.models.model import Choice, Reply
from howsure.rescoring.rescore import rescore
from howsure.sample.experiment import PromptLine, parse_experiment
from howsure.sample.run import run
from howsure.sample.sampling_plan import SamplingPlan
from howsure.scorers.scorer_parts import ScoringItem
from howsure.store import manifest
from howsure.store.responses import read

pytest.importorskip("lm_eval", reason="the extra lm-eval is not installed")

CASES = [
    ("local_sums", {"filter": "strict"}, "exact_match,strict"),
    ("local_sums", {"filter": "flexible"}, "exact_match,flexible"),
    ("local_choice", {}, "exact_match,letter"),
    ("local_essay", {"metric": "share"}, "share,none"),
    ("local_essay", {"metric": "no_comma"}, "no_comma,none"),
    ("local_starts", {}, "starts_well,none"),
    ("local_names", {}, "exact_match,clean"),
]


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("harness")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield write_tasks(folder)


def test_no_test_writes_to_the_users_cache_of_data_sets():
    datasets = pytest.importorskip("datasets")
    assert not Path(datasets.config.HF_DATASETS_CACHE).is_relative_to(Path.home())


def load_local(task, tasks, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)
        return load({"name": f"lm_eval/{task}", "include_path": str(tasks), **options})


def read_score(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)  # some completions are empty on purpose
        return hs.score(data).parts[0].columns()["score"][0]


def sample(benchmark, folder, task, k, *, more=""):
    """Run an experiment whose model gives the completions of the helper."""
    places = {question.id: place for place, question in enumerate(benchmark.questions)}

    def script(request):
        texts = [complete(task, places[request.question], number) for number in request.generations]
        return Reply(tuple(Choice(text, "stop") for text in texts))

    model = ScriptedModel(script)
    text = f"{{benchmark: x, generations: {k}, models: [{{model: m, base_url: 'http://127.0.0.1:9/v1', temperature: 0.5}}] {more}}}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)
        asyncio.run(run(parse_experiment(text), folder, benchmark=benchmark, open_model=lambda *_: model))
    return model


@pytest.mark.parametrize(("task", "options", "metric"), mark_long(CASES, after=3))
def test_scores_of_one_generation_are_the_harnesss_own(tasks, tmp_path, task, options, metric):
    benchmark = load_local(task, tasks, **options)
    sample(benchmark, tmp_path / "run", task, 1)
    completions = [complete(task, place, 1) for place in range(len(benchmark.questions))]
    results, samples = evaluate(task, tasks, completions, apply_chat_template=True, fewshot_as_multiturn=True)
    name, filter_name = metric.split(",")
    expected = {one["doc_hash"]: float(one[name]) for one in samples if one["filter"] == filter_name}
    rows = {row["question"]: row for row in read(tmp_path / "run").to_pylist()}
    assert {question: row["score"] for question, row in rows.items()} == expected
    assert len(rows) == len(completions)
    assert len({*expected.values()}) > 1  # the completions tell right from wrong
    assert read_score(tmp_path / "run") == pytest.approx(results[metric], abs=1e-12)


@pytest.mark.parametrize(("task", "options", "metric"), mark_long(CASES, after=1))
def test_scores_of_four_generations_are_the_mean_of_the_harnesss_own(tasks, tmp_path, task, options, metric):
    benchmark = load_local(task, tasks, **options)
    sample(benchmark, tmp_path / "run", task, 4)
    own = []
    for generation in range(1, 5):
        completions = [complete(task, place, generation) for place in range(len(benchmark.questions))]
        own.append(evaluate(task, tasks, completions, apply_chat_template=True)[0][metric])
    assert len({*own}) > 1
    assert read_score(tmp_path / "run") == pytest.approx(sum(own) / 4, abs=1e-12)


@pytest.mark.parametrize("task", sorted(COMPLETIONS))
@pytest.mark.parametrize(
    "options",
    mark_long(
        [
            {"apply_chat_template": True},
            {
                "apply_chat_template": False,
                "system_instruction": "Be brief.",
                "num_fewshot": 2,
                "fewshot_random_seed": 7,
            },
            {"apply_chat_template": True, "fewshot_as_multiturn": False},
            {"apply_chat_template": False},
            {"apply_chat_template": True, "system_instruction": "Be brief.", "num_fewshot": 2},
        ],
        after=2,
    ),
)
def test_prompts_are_the_harnesss_own(tasks, task, options):
    if task == "local_names" or (task != "local_sums" and options.get("num_fewshot")):
        options = {key: value for key, value in options.items() if key != "num_fewshot"}
    benchmark = load_local(task, tasks, **options)
    _, samples = evaluate(task, tasks, ["x"] * len(benchmark.questions), **options)
    sent = {one["doc_hash"]: one["arguments"][0][0] for one in samples}
    ours = {}
    for question in benchmark.questions:
        messages = benchmark.prompt.messages(question)
        ours[question.id] = messages if options["apply_chat_template"] else messages[0]["content"]
    expected = {key: json.loads(text) if options["apply_chat_template"] else text for key, text in sent.items()}
    assert ours == expected


def test_generation_settings_are_those_of_the_task_where_the_model_has_none(tasks, tmp_path):
    benchmark = load_local("local_sums", tasks)
    model = sample(benchmark, tmp_path / "run", "local_sums", 2)
    settings = model.requests[0].settings
    assert (settings.temperature, settings.max_tokens, settings.stop) == (0.5, 200, ("Question:", "</s>"))
    stored = manifest.load(tmp_path / "run")
    assert stored.models["m"].settings == {"temperature": 0.5}
    generation = json.loads(str(stored.benchmarks["lm_eval/local_sums"]["generation"]))
    assert (generation["temperature"], generation["max_gen_toks"]) == (0.0, 200)
    essay = load_local("local_essay", tasks)
    assert essay.decoding == {"temperature": 0.6, "top_p": 0.9, "stop": ["</s>"], "extra": {"top_k": 20}}
    changed = load_local("local_essay", tasks, gen_kwargs={"temperature": None, "top_p": 0.5, "max_gen_toks": 7})
    assert changed.decoding == {"top_p": 0.5, "max_tokens": 7, "stop": ["</s>"], "extra": {"top_k": 20}}


def test_the_manifest_says_what_was_asked_and_how_it_was_scored(tasks, tmp_path):
    benchmark = load_local("local_sums", tasks)
    sample(benchmark, tmp_path / "run", "local_sums", 1)
    source = manifest.load(tmp_path / "run").benchmarks["lm_eval/local_sums"]
    assert source["lm_eval"] == "0.4.13"
    assert (source["task_version"], source["num_fewshot"], source["score_of"]) == ("3.0", "3", "strict/exact_match")
    assert len(str(source["config"])) == 12
    assert str(tasks) not in json.dumps(source["spec"])


def test_a_run_is_rescored_by_the_other_filter(tasks, tmp_path):
    sample(load_local("local_sums", tasks), tmp_path / "run", "local_sums", 3)
    sample(load_local("local_sums", tasks, filter="flexible"), tmp_path / "other", "local_sums", 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)
        for scorer in ("lm_eval:flexible", "own"):
            rescore(tmp_path / "run", scorer, base=tasks.parent)
    other, first = read_score(tmp_path / "other"), read_score(tmp_path / "run")
    assert other != first
    assert read_score(hs.read(tmp_path / "run", scorer="lm_eval:flexible")) == pytest.approx(other)
    assert read_score(hs.read(tmp_path / "run", scorer="own")) == pytest.approx(first)


def test_rescoring_loads_no_tasks_from_a_folder_that_nobody_named(tasks, tmp_path, monkeypatch):
    """A run folder from elsewhere may bring a folder of tasks with it, and the functions of tasks are code."""
    sample(load_local("local_sums", tasks), tmp_path / "run", "local_sums", 1)
    monkeypatch.chdir(tasks.parent)
    with pytest.raises(InputError, match=r"tasks may hold code; name the folder.*--base FOLDER"):
        rescore(tmp_path / "run", "own")


@pytest.mark.parametrize("outside", ["../{name}", "{folder}"])
def test_rescoring_loads_no_tasks_from_outside_of_the_folder_that_was_named(tasks, tmp_path, outside):
    sample(load_local("local_sums", tasks), tmp_path / "run", "local_sums", 1)
    file = tmp_path / "run" / "manifest.json"
    content = json.loads(file.read_text())
    source = content["benchmarks"]["lm_eval/local_sums"]
    spec = json.loads(source["spec"]) | {"include_path": outside.format(name=tasks.name, folder=tasks)}
    source["spec"] = json.dumps(spec)
    file.write_text(json.dumps(content))
    named = tasks.parent / "mine"
    named.mkdir(exist_ok=True)
    with pytest.raises(InputError, match="is not inside"):
        rescore(tmp_path / "run", "own", base=named)


def test_a_continued_run_asks_only_for_what_is_missing(tasks, tmp_path):
    benchmark = load_local("local_names", tasks)
    first = sample(benchmark, tmp_path / "run", "local_names", 2)
    more = sample(load_local("local_names", tasks), tmp_path / "run", "local_names", 5)
    assert sum(len(request.generations) for request in first.requests) == 6
    assert sum(len(request.generations) for request in more.requests) == 9


def test_a_run_with_a_budget_ends_within_it(tasks, tmp_path):
    benchmark = load_local("local_names", tasks)
    model = sample(benchmark, tmp_path / "run", "local_names", 50, more=", budget: {calls: 2}")
    assert len(model.requests) == 2


def test_a_group_is_one_benchmark_whose_tasks_are_strata(tasks):
    benchmark = load_local("local_group", tasks)
    assert [*benchmark.strata["task"]] == ["local_names"] * 3 + ["local_same"] * 3
    assert benchmark.prompt.messages(benchmark.questions[3])[-1]["content"] == "Tell me: Capital of Chile?"
    assert len({question.id for question in benchmark.questions}) == 6
    tagged = load_local("local_tag", tasks)
    assert [question.text for question in tagged.questions] == [question.text for question in benchmark.questions[3:]]


def test_variants_that_are_written_out_wrap_the_harnesss_question(tasks):
    benchmark = load_local("local_sums", tasks, num_fewshot=1)
    own = benchmark.prompt.messages(benchmark.questions[0])
    prompt = PromptLine(system="Be brief.", template="{question}\nThink first.").prompt(benchmark.prompt)
    messages = prompt.messages(benchmark.questions[0])
    assert messages[0] == {"role": "system", "content": "Be brief."}
    assert messages[1:-1] == own[:-1]
    assert messages[-1]["content"] == own[-1]["content"] + "\nThink first."


@pytest.mark.parametrize(
    "task", ["local_sums", *(pytest.param(task, marks=pytest.mark.long) for task in ("local_names", "local_choice"))]
)
def test_simulated_models_answer_tasks_until_their_interval_is_narrow(tasks, tmp_path, task):
    benchmark = load_local(task, tasks)
    text = "{benchmark: x, generations: 60, until: {width: 0.4}, models: [simulated/small, simulated/large]}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)
        outcome = asyncio.run(run(parse_experiment(text), tmp_path / "run", benchmark=benchmark))
    assert all(model.is_stopped_early for model in outcome.models)
    scores = {row["score"] for row in read(tmp_path / "run").to_pylist()}
    assert scores == {0.0, 1.0}


def test_equal_completions_of_a_question_are_filtered_once(tasks, monkeypatch):
    """By hand: of two questions "(A)", "(A)" and "(B)" are two texts each."""
    benchmark = load_local("local_choice", tasks)
    filtered = []
    score_completion = lm_eval_scorer.score_completion
    monkeypatch.setattr(
        lm_eval_scorer, "score_completion", lambda row, text: filtered.append(text) or score_completion(row, text)
    )
    scores = [
        [benchmark.scorer.score(text, ScoringItem("x", question.id, "", "")).answer for text in ("(A)", "(A)", "(B)")]
        for question in benchmark.questions[:2]
    ]
    assert scores == [["(A)", "(A)", "(B)"]] * 2
    assert filtered == ["(A)", "(B)"] * 2


def test_generations_at_the_temperature_of_the_task_are_warned_of(tasks):
    text = "{benchmark: x, generations: 5, models: [{model: m, base_url: 'http://127.0.0.1:9/v1'}, {model: n, temperature: 1, base_url: 'http://127.0.0.1:9/v1'}, simulated/small]}"
    benchmark = load_local("local_sums", tasks)
    with pytest.warns(HowsureWarning, match=r"decodes at temperature 0.*: m; give") as caught:
        plan = SamplingPlan.build(parse_experiment(text), benchmark)
    assert len(caught) == 1
    assert [config.settings.temperature for config in plan.experiment.models] == [0.0, 1.0, None]
    assert [plan.own_settings[label].temperature for label in ("m", "n")] == [None, 1.0]


def test_a_space_of_variants_is_refused(tasks, tmp_path):
    text = "{benchmark: x, models: [simulated/small], variants: {space: open, sample: 2}}"
    with pytest.raises(InputError, match="write prompts out"):
        asyncio.run(run(parse_experiment(text), tmp_path / "run", benchmark=load_local("local_sums", tasks)))
