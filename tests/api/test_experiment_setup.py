"""`howsure init`: what it writes is an experiment that runs. Kind of truth: written by hand."""

import csv
import json

import pytest

import howsure as hs
from howsure.errors import HowsureWarning, InputError
from howsure.rows.formats import read_rows
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


@pytest.mark.parametrize(
    ("columns", "target"),
    [
        (["A", "B", "C", "D"], "D"),
        (["Option A", "Option B", "Option C", "Option D"], "d"),
        (["choice_1", "choice_2", "choice_3", "choice_4"], "Oslo"),
        (["option0", "option1", "option2", "option3"], "Oslo"),
    ],
)
def test_columns_with_a_choice_each_are_the_choices(tmp_path, columns, target):
    """By hand: the usual layouts of multiple choice in a csv."""
    file = tmp_path / "cap.csv"
    rows = [["id", "question", *columns, "answer"], [1, "Capital of Norway?", "Bergen", "Bodo", "Vik", "Oslo", target]]
    with file.open("w", newline="") as out:
        csv.writer(out).writerows(rows)
    path = hs.init(tmp_path / "exp.yaml", benchmark=str(file))
    [plan] = build_plans(load_experiment(path))
    assert [(q.choices, q.target) for q in plan.questions] == [(("Bergen", "Bodo", "Vik", "Oslo"), "D")]
    (tmp_path / "short.yaml").write_text("{benchmark: {file: cap.csv}, models: [simulated/small], generations: 1}")
    with pytest.warns(HowsureWarning, match="choices: "):
        [plan] = build_plans(load_experiment(tmp_path / "short.yaml"))
    assert plan.questions[0].choices == ("Bergen", "Bodo", "Vik", "Oslo")


@pytest.mark.parametrize(("targets", "scorer"), [("18", "numeric"), ("Yes", "yes-no"), ("Oslo", None)])
def test_init_names_the_scorer_of_targets_that_are_numbers_or_yes_and_no(tmp_path, targets, scorer):
    file = tmp_path / "q.csv"
    file.write_text(f"question,answer\nWhich is it?,{targets}\n")
    [plan] = build_plans(load_experiment(hs.init(tmp_path / "exp.yaml", benchmark=str(file))))
    assert plan.benchmark.source["scorer"] == (scorer or "contains")
    assert ("scorer" in (tmp_path / "exp.yaml").read_text()) == (scorer is not None)


@pytest.mark.parametrize("columns", [["A", "C"], ["option2", "option3"], ["1", "2"], ["E", "F"]])
def test_columns_that_are_not_all_choices_are_none(tmp_path, columns):
    file = tmp_path / "q.csv"
    file.write_text(f"question,{','.join(columns)},answer\nCapital of Norway?,Bergen,Oslo,Oslo\n")
    path = hs.init(tmp_path / "exp.yaml", benchmark=str(file))
    assert "choices" not in path.read_text()


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
        ({"models": ["mymodel"]}, r"^models: no endpoint is known for .* give its base_url \(howsure init --base-url "),
        ({"models": []}, "name one"),
        ({"generations": 0}, "generations"),
        ({"benchmark": "missing.jsonl"}, "missing.jsonl"),
    ],
)
def test_what_cannot_run_is_not_written(tmp_path, options, words):
    with pytest.raises(InputError, match=words):
        hs.init(tmp_path / "exp.yaml", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("delimiter", "name"), [(";", "semicolons"), ("\t", "tabs")])
def test_questions_between_semicolons_or_tabs_are_read_as_between_commas(tmp_path, delimiter, name):
    file = tmp_path / "questions.csv"
    file.write_text(f"question{delimiter}answer\nWhat is 2, and 2?{delimiter}4\nWhat is 3+3?{delimiter}6\n")
    experiment = hs.init(tmp_path / "exp.yaml", benchmark=str(file), generations=1)
    [plan] = build_plans(load_experiment(experiment))
    assert [(one.text, one.target) for one in plan.questions] == [("What is 2, and 2?", "4"), ("What is 3+3?", "6")]
    file.write_text(f"question{delimiter}answer\na{delimiter}b{delimiter}4\n")
    with pytest.raises(InputError, match=f"3 fields where the header has 2; quote fields that hold {name}"):
        hs.init(tmp_path / "other.yaml", benchmark=str(file))


@pytest.mark.parametrize(
    "heading",
    [
        'id;"question, long, with commas";answer',
        '"question, long";"id";answer',
        '"id";"question\n, of two lines, and ""quotes"", so";answer',
        "id;question, in words;answer",
        '5" id;question;answer',
        'id\t"question; in, words; or, not"\tanswer',
    ],
)
def test_the_delimiter_of_questions_is_the_one_outside_of_quotes(tmp_path, heading):
    """By hand: three fields, of which the quoted ones hold other delimiters."""
    mark = "\t" if "\t" in heading else ";"
    (tmp_path / "q.csv").write_text(f"{heading}\n1{mark}two{mark}3\n")
    [(_, row)] = read_rows(tmp_path / "q.csv")
    assert list(row.values()) == ["1", "two", "3"]


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


def test_a_comma_in_a_quoted_heading_does_not_hide_the_semicolons(tmp_path):
    """By hand: the fields are question, answer and "notes, internal, old"."""
    file = tmp_path / "questions.csv"
    file.write_text('question;answer;"notes, internal, old"\n"What is 2 + 2, in digits?";4;x\nAnd 3 + 3?;6;y\n')
    experiment = hs.init(tmp_path / "exp.yaml", benchmark=str(file), generations=1)
    assert "question: question, target: answer" in experiment.read_text()
