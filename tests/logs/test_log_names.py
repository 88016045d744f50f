"""Which logs are repeats of one model on one benchmark. Kind of truth: logs written by hand, whose differences are known."""

import json
import warnings

import pytest
from helpers.inspect_log import write_inspect_log
from helpers.lm_eval_log import harness

import howsure as hs
from howsure.errors import HowsureWarning

RIGHT_AND_WRONG = {"1": "C", "2": "I", "3": "C", "4": "I"}


def read(path, **options):
    """Return the cubes of the logs of a folder by benchmark, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HowsureWarning)
        cubes = hs.read(path, **options).cubes()
    return {cube.benchmark: cube for cube in cubes}, [str(one.message) for one in caught]


def test_logs_of_the_same_are_repeats_and_one_line_says_so(tmp_path):
    for name in ("a", "b", "c"):
        write_inspect_log(tmp_path / f"{name}.json", RIGHT_AND_WRONG)
    cubes, lines = read(tmp_path)
    assert (cubes["sums"].models, cubes["sums"].variants, cubes["sums"].n.tolist()) == (
        ("lab/model",), ("default",), [[[3]] * 4],
    )  # fmt: skip
    assert lines == ["logs are read as repeats: 3 logs of lab/model on sums"]


def test_repeats_with_the_same_texts_are_named(tmp_path):
    path = write_inspect_log(tmp_path / "a.json", RIGHT_AND_WRONG)
    text = path.read_text()
    for name in ('"eval_id": "', '"task of ', '"uuid": "'):
        text = text.replace(f"{name}a", f"{name}b")
    (tmp_path / "b.json").write_text(text.replace("task of a", "task of b"))
    _, lines = read(tmp_path)
    assert [line.startswith("repeats have the same texts") for line in lines] == [False, True]


@pytest.mark.parametrize(
    ("one", "two", "labels"),
    [
        ({"model_args": {"revision": "a"}}, {"model_args": {"revision": "b"}}, ["revision=a", "revision=b"]),
        ({"model_args": {}}, {"model_args": {"load_in_4bit": True}}, ["load_in_4bit=default", "load_in_4bit=true"]),
        ({"solver": "react"}, {"solver": "plain"}, ["solver=plain", "solver=react"]),
        (
            {"solver": "react", "solver_args": {"attempts": 1}},
            {"solver": "react", "solver_args": {"attempts": 3}},
            ["solver.attempts=1", "solver.attempts=3"],
        ),
        (
            {"model_roles": {"grader": {"model": "x/one"}}},
            {"model_roles": {"grader": {"model": "x/two"}}},
            ["grader=x/one", "grader=x/two"],
        ),
        (
            {"scorers": [{"name": "judge", "options": {"model": "x/one"}}]},
            {"scorers": [{"name": "judge", "options": {"model": "x/two"}}]},
            ["judge.model=x/one", "judge.model=x/two"],
        ),
        (
            {"model_base_url": "https://a.example/v1"},
            {"model_base_url": "https://b.example/v1"},
            ["endpoint=a.example", "endpoint=b.example"],
        ),
        ({"task_args": {"tools": True}}, {"task_args": {"tools": False}}, ["tools=false", "tools=true"]),
    ],
)
def test_other_systems_are_other_models(tmp_path, one, two, labels):
    write_inspect_log(tmp_path / "a.json", RIGHT_AND_WRONG, **one)
    write_inspect_log(tmp_path / "b.json", RIGHT_AND_WRONG, **two)
    cubes, lines = read(tmp_path)
    assert cubes["sums"].models == tuple(f"lab/model ({label})" for label in labels)
    assert not any("repeats" in line for line in lines)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"task_args": {"seed": 1}}, {"task_args": {"seed": 2}}),
        ({"model_base_url": "http://localhost:8000/v1"}, {"model_base_url": "http://127.0.0.1:8001/v1"}),
        ({"model_args": {"device": "cuda:0"}}, {"model_args": {"device": "cuda:1"}}),
        ({"model_args": None}, {"model_args": {}}),
    ],
)
def test_seeds_and_places_make_no_other_model(tmp_path, one, two):
    write_inspect_log(tmp_path / "a.json", RIGHT_AND_WRONG, **one)
    write_inspect_log(tmp_path / "b.json", RIGHT_AND_WRONG, **two)
    cubes, lines = read(tmp_path)
    assert (cubes["sums"].models, cubes["sums"].n.tolist()) == (("lab/model",), [[[2]] * 4])
    assert len(lines) == 1


def test_other_prompts_are_variants(tmp_path):
    for name, template in (("a", "Q: {}"), ("b", "Please: {}")):
        arguments = {"template": template}
        write_inspect_log(tmp_path / f"{name}.json", RIGHT_AND_WRONG, template=template, task_args=arguments)
    cubes, lines = read(tmp_path)
    assert cubes["sums"].variants == ("template=Please: {}", "template=Q: {}")
    assert cubes["sums"].models == ("lab/model",)
    assert cubes["sums"].n.tolist() == [[[1, 1]] * 4]
    assert len(lines) == 1
    assert "prompt variants" in lines[0]


def test_other_prompts_that_no_argument_explains_are_numbered(tmp_path):
    for name, template in (("a", "Q: {}"), ("b", "Please: {}"), ("c", "Q: {}")):
        write_inspect_log(tmp_path / f"{name}.json", RIGHT_AND_WRONG, template=template)
    cubes, lines = read(tmp_path)
    assert cubes["sums"].variants == ("default", "prompt 2")
    assert cubes["sums"].n.tolist() == [[[2, 1]] * 4]
    assert any(line == "logs are read as repeats: 2 logs of lab/model on sums" for line in lines)


def test_other_texts_with_the_same_targets_are_variants_also_between_models(tmp_path):
    texts = {name: f"Frage {name}" for name in RIGHT_AND_WRONG}
    write_inspect_log(tmp_path / "a.json", RIGHT_AND_WRONG)
    write_inspect_log(tmp_path / "b.json", RIGHT_AND_WRONG, texts=texts, model="lab/other")
    cubes, _ = read(tmp_path)
    assert cubes["sums"].variants == ("default", "prompt 2")
    assert cubes["sums"].n.tolist() == [[[1, 0]] * 4, [[0, 1]] * 4]


def test_other_targets_under_the_same_ids_are_another_benchmark(tmp_path):
    others = {name: f"other {name}" for name in RIGHT_AND_WRONG}
    write_inspect_log(tmp_path / "a.json", RIGHT_AND_WRONG, task_args={"subject": "algebra"})
    write_inspect_log(
        tmp_path / "b.json",
        {"1": "C", "2": "C", "3": "C"},
        task_args={"subject": "biology"},
        texts=others,
        targets=others,
        model="lab/other",
    )
    cubes, lines = read(tmp_path)
    assert {name: (cube.models, cube.questions) for name, cube in cubes.items()} == {
        "sums (subject=algebra)": (("lab/model",), ("1", "2", "3", "4")),
        "sums (subject=biology)": (("lab/other",), ("1", "2", "3")),
    }
    assert len(lines) == 1


def test_questions_that_were_shuffled_under_running_ids_are_said(tmp_path):
    """By hand: the second log has the texts of the first under other ids."""
    texts = {name: f"text {name}" for name in RIGHT_AND_WRONG}
    moved = dict(zip(texts, [*list(texts.values())[1:], "text 1"], strict=True))
    for name, each in (("a", texts), ("b", moved)):
        targets = {one: f"target of {text}" for one, text in each.items()}
        write_inspect_log(tmp_path / f"{name}.json", RIGHT_AND_WRONG, texts=each, targets=targets)
    cubes, lines = read(tmp_path)
    assert set(cubes) == {"sums (data 1)", "sums (data 2)"}
    assert "the same texts under other question ids" in lines[0]
    cubes, lines = read(tmp_path, columns={"question": "input"})
    assert (cubes["sums"].questions, cubes["sums"].n.tolist()) == (tuple(sorted(texts.values())), [[[2]] * 4])
    assert not any("other question ids" in line for line in lines)


@pytest.mark.parametrize("names", [RIGHT_AND_WRONG, ("3",)])
def test_other_data_without_a_name_are_numbered(tmp_path, names):
    """One corrected target of many is enough: a mean over other questions is another number."""
    write_inspect_log(tmp_path / "a.json", RIGHT_AND_WRONG)
    write_inspect_log(tmp_path / "b.json", RIGHT_AND_WRONG, targets={name: f"other {name}" for name in names})
    cubes, lines = read(tmp_path)
    assert sorted(cubes) == ["sums (data 1)", "sums (data 2)"]
    assert len(lines) == 1


def test_choices_in_another_order_are_the_same_question(tmp_path):
    letters = {name: "ABCD"[i] for i, name in enumerate(RIGHT_AND_WRONG)}
    shuffled = {name: "BCDA"[i] for i, name in enumerate(RIGHT_AND_WRONG)}
    write_inspect_log(tmp_path / "a.json", RIGHT_AND_WRONG, targets=letters)
    write_inspect_log(tmp_path / "b.json", RIGHT_AND_WRONG, targets=shuffled, model="lab/other")
    cubes, _ = read(tmp_path)
    assert list(cubes) == ["sums"]
    assert cubes["sums"].n.shape == (2, 4, 1)


def test_logs_that_begin_with_other_scorers_are_read_by_one_that_all_have(tmp_path):
    both = {name: {"exact": {"value": "I"}, "loose": {"value": "C"}} for name in RIGHT_AND_WRONG}
    write_inspect_log(tmp_path / "a.json", both)
    write_inspect_log(tmp_path / "b.json", {name: {"loose": {"value": "I"}} for name in RIGHT_AND_WRONG})
    cubes, lines = read(tmp_path)
    assert (cubes["sums"].models, cubes["sums"].total.tolist()) == (("lab/model",), [[[1]] * 4])
    assert "'loose' of sums" in lines[0]
    cubes, _ = read(tmp_path / "a.json")
    assert cubes["sums"].total.tolist() == [[[0]] * 4]


def test_logs_without_a_common_scorer_are_other_models(tmp_path):
    for name, scorer in (("a", "exact"), ("b", "loose")):
        write_inspect_log(tmp_path / f"{name}.json", {one: {scorer: {"value": "C"}} for one in RIGHT_AND_WRONG})
    cubes, lines = read(tmp_path)
    assert cubes["sums"].models == ("lab/model (scorer=exact)", "lab/model (scorer=loose)")
    assert "'exact', 'loose' of sums" in lines[0]


def test_a_run_that_was_continued_is_read_once(tmp_path):
    uuids = {"1": "u1", "2": "u2"}
    write_inspect_log(tmp_path / "a.json", {"1": "C", "2": "I"}, status="error", uuids=uuids, task_id="t")
    write_inspect_log(tmp_path / "b.json", RIGHT_AND_WRONG, uuids=uuids, task_id="t")
    cubes, lines = read(tmp_path)
    assert cubes["sums"].n.tolist() == [[[1]] * 4]
    assert cubes["sums"].total.sum() == 2
    assert len(lines) == 1
    assert "2 tries, the last in" in lines[0]


def test_complete_runs_of_one_task_id_without_a_common_sample_are_repeats(tmp_path):
    for name in ("a", "b"):
        write_inspect_log(tmp_path / f"{name}.json", RIGHT_AND_WRONG, task_id="t")
    cubes, lines = read(tmp_path)
    assert cubes["sums"].n.sum() == 8
    assert lines == ["logs are read as repeats: 2 logs of lab/model on sums"]


def test_a_converted_folder_has_the_same_names(tmp_path):
    for name, template in (("a", "Q: {}"), ("b", "Please: {}")):
        write_inspect_log(tmp_path / f"logs/{name}.json", RIGHT_AND_WRONG, template=template)
    write_inspect_log(tmp_path / "logs/c.json", RIGHT_AND_WRONG, model_args={"revision": "x"})
    cubes, _ = read(tmp_path / "logs")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)
        hs.convert(tmp_path / "logs", tmp_path / "run")
    [converted] = read(tmp_path / "run")[0].values()
    assert (converted.models, converted.questions, converted.variants) == (
        cubes["sums"].models,
        cubes["sums"].questions,
        cubes["sums"].variants,
    )
    assert converted.n.tolist() == cubes["sums"].n.tolist()


def rewrite(folder, change):
    """Change the results json and the samples of a log of lm-evaluation-harness."""
    for file in folder.iterdir():
        lines = [json.dumps(change(json.loads(line))) for line in file.read_text().splitlines()]
        file.write_text("\n".join(lines))


def test_a_log_of_lm_eval_without_scores_has_no_other_scorer(tmp_path):
    """Where it only predicted, the harness states the metric bypass."""
    harness(tmp_path / "a")
    harness(tmp_path / "b", date="2026-11-21T10-00-00.000001")
    rewrite(tmp_path / "b", lambda record: json.loads(json.dumps(record).replace("exact_match", "bypass")))
    with pytest.warns(HowsureWarning) as caught:
        cubes = hs.read(tmp_path / "a").cubes() + hs.read([tmp_path / "a", tmp_path / "b"]).cubes()
    assert {cube.models for cube in cubes} == {("m",)}
    assert not any("no scorer in common" in str(one.message) for one in caught)
