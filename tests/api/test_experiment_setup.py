"""`howsure init`: what it writes is an experiment that runs. Kind of truth: written by hand."""

import csv
import json

import pytest

import howsure as hs
from howsure.errors import InputError
from howsure.sample.experiment import load_experiment
from howsure.sample.sampling_plan import build_plans


def test_the_defaults_run(tmp_path):
    path = hs.init(tmp_path / "exp.yaml", generations=2)
    score = hs.score(hs.run(path))
    assert (score["n_questions"].tolist(), score["n_generations"].tolist()) == ([100], [200])


def test_what_is_given_is_what_is_read(tmp_path):
    path = hs.init(
        tmp_path / "e.yaml",
        benchmark="directions-large",
        models=["llama: 3", "no"],
        base_url="http://localhost:8000/v1",
        key_env="MY_KEY",
        generations=7,
    )
    experiment = load_experiment(path)
    assert experiment.benchmark == "directions-large"
    assert [config.label for config in experiment.models] == ["llama: 3", "no"]
    assert {(config.base_url, config.key_env, config.generations) for config in experiment.models} == {
        ("http://localhost:8000/v1", "MY_KEY", 7)
    }


QUESTION = {"prompt": "Capital of Norway?", "expected": "Oslo", "extra": 1}


@pytest.mark.parametrize("name", ["my questions.jsonl", "q.csv"])
def test_a_file_of_questions_with_usual_names(tmp_path, name):
    file = tmp_path / "data" / name
    file.parent.mkdir()
    if name.endswith("jsonl"):
        file.write_text(json.dumps(QUESTION) + "\n")
    else:
        with file.open("w", newline="") as out:
            csv.writer(out).writerows([list(QUESTION), list(QUESTION.values())])
    path = hs.init(tmp_path / "exp.yaml", benchmark=str(file))
    [plan] = build_plans(load_experiment(path))
    assert [(q.text, q.target) for q in plan.questions] == [("Capital of Norway?", "Oslo")]
    assert str(tmp_path) not in path.read_text()  # the two can be moved together


def test_a_file_outside_the_folder_of_the_experiment(tmp_path):
    file = tmp_path / "q.jsonl"
    file.write_text(json.dumps(QUESTION) + "\n")
    (tmp_path / "sub").mkdir()
    path = hs.init(tmp_path / "sub" / "exp.yaml", benchmark=str(file))
    assert len(build_plans(load_experiment(path))[0].questions) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"benchmark": "direction-small"}, "directions-small"),
        ({"models": ["mymodel"]}, "base_url"),
        ({"models": []}, "name one"),
        ({"generations": 0}, "generations"),
        ({"benchmark": "missing.jsonl"}, "missing.jsonl"),
    ],
)
def test_what_cannot_run_is_not_written(tmp_path, options, words):
    with pytest.raises(InputError, match=words):
        hs.init(tmp_path / "exp.yaml", **options)
    assert list(tmp_path.iterdir()) == []


def test_fields_that_are_unknown_are_listed(tmp_path):
    file = tmp_path / "q.jsonl"
    file.write_text('{"frage": "?", "loesung": "!"}\n')
    with pytest.raises(InputError, match="question or target.*frage, loesung"):
        hs.init(tmp_path / "exp.yaml", benchmark=str(file))


def test_a_file_that_exists_is_kept(tmp_path):
    path = tmp_path / "exp.yaml"
    path.write_text("mine")
    with pytest.raises(InputError, match="exists"):
        hs.init(path)
    assert path.read_text() == "mine"
    assert "directions-small" in hs.init(path, replace=True).read_text()
