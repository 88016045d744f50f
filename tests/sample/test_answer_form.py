"""The form of the answer that a prompt demands: what each key gives, and where nothing is added."""

from __future__ import annotations

import json

import pytest

import howsure as hs
from howsure.errors import InputError
from howsure.sample.experiment import parse_experiment
from howsure.sample.sampling_plan import build_plans

QUESTION = "What is 6 x 7?"
LINE = "End your reply with your answer in this form:\nAnswer: <answer>"


def prompt(tmp_path, benchmark="", rest="", **fields):
    """The last message of the first question of a file, under an experiment with these keys."""
    row = {"question": QUESTION, "answer": "42", **fields}
    (tmp_path / "q.jsonl").write_text(json.dumps(row))
    text = f"benchmark: {{file: q.jsonl, question: question, target: answer, {benchmark}}}\nmodels: [simulated/medium]"
    [plan] = build_plans(parse_experiment(f"{text}\n{rest}", base=tmp_path))
    return plan.variants[0].messages(plan.benchmark.questions[0])[-1]["content"]


@pytest.mark.parametrize(
    ("benchmark", "rest", "expected"),
    [
        ("scorer: numeric", "", LINE),
        ("scorer: numeric", "answer_form: line", LINE),
        (
            "scorer: numeric",
            "answer_form: json",
            'End your reply with your answer as a JSON object in this form:\n{"answer": "<answer>"}',
        ),
        (
            "scorer: numeric, language: de",
            "",
            "Beende deine Ausgabe mit deiner Antwort in dieser Form:\nAntwort: <Antwort>",
        ),
        ("scorer: numeric, language: xx", "", LINE),
        ("scorer: numeric", "judge: {model: simulated/large}\nanswer_form: line", LINE),
    ],
)
def test_demanded_forms(tmp_path, benchmark, rest, expected):
    assert prompt(tmp_path, benchmark, rest) == f"{QUESTION}\n\n{expected}"


def test_choices_are_answered_by_a_label(tmp_path):
    text = prompt(tmp_path, "choices: options", options=["41", "42"])
    assert text == f"{QUESTION}\nA. 41\nB. 42\n\n{LINE.replace('<answer>', '<label>')}"


@pytest.mark.parametrize(
    ("benchmark", "rest"),
    [
        ("scorer: numeric", "answer_form: none"),
        ('template: "{question}", scorer: numeric', ""),
        ("scorer: exact", ""),
        ('scorer: "regex:(\\\\d+)"', ""),
        ("scorer: numeric", "judge: {model: simulated/large}"),
        ("scorer: numeric", 'variants: [{template: "{question}"}]'),
    ],
)
def test_nothing_is_added(tmp_path, benchmark, rest):
    """To a prompt of one's own, for a scorer that reads no form, for a judge, and where none is wanted."""
    assert prompt(tmp_path, benchmark, rest) == QUESTION


@pytest.mark.parametrize(
    "text",
    [
        "benchmark: directions-small",
        'benchmark: {file: q.jsonl, question: question, target: answer, template: "{question}"}',
        "benchmark: {file: q.jsonl, question: question, target: answer, scorer: exact}",
    ],
)
def test_a_form_that_no_prompt_would_have_is_refused(text):
    with pytest.raises(InputError, match="no benchmark takes a form of the answer"):
        parse_experiment(f"{text}\nmodels: [simulated/medium]\nanswer_form: json")


@pytest.mark.filterwarnings("ignore:.*other prompt variant:howsure.errors.HowsureWarning")
def test_form_is_written_by_init_and_kept_by_the_run(tmp_path):
    """The manifest has it, and another form in the same folder is refused."""
    (tmp_path / "q.jsonl").write_text(json.dumps({"question": QUESTION, "answer": "42"}))
    file = hs.init(tmp_path / "exp.yaml", benchmark=str(tmp_path / "q.jsonl"))
    assert "answer_form: line" in file.read_text()
    hs.run(file)
    manifest = json.loads((tmp_path / "exp" / "manifest.json").read_text())
    assert manifest["benchmarks"]["q"]["answer_form"] == "line"
    file.write_text(file.read_text().replace("answer_form: line", "answer_form: json"))
    with pytest.raises(InputError, match="answer_form was 'line', now 'json'"):
        hs.run(file)
    assert "answer_form" not in hs.init(tmp_path / "other.yaml", benchmark="directions-small").read_text()
