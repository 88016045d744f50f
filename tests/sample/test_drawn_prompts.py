"""Kinds of truth: what a run stores of the same prompts; hand-written questions of which some need other values."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from howsure.cli import cli
from howsure.errors import InputError
from howsure.sample.drawn_prompts import draw_prompts, format_prompt

ROWS = [
    *({"id": f"other{i}", "question": f"Is {i} even?", "choices": ["Yes", "No"], "answer": "A"} for i in range(18)),
    {"id": "plain", "question": "Which city is in Norway?", "choices": ["Bern", "Oslo", "Rome"], "answer": "B"},
    {
        "id": "all",
        "question": "Which are cities?",
        "choices": ["Bern | Rome", "Oslo", "All of the above"],
        "answer": "C",
    },
]
EXPERIMENT = """
benchmark: {file: exam.jsonl, id: id, question: question, choices: choices, target: answer}
models: [simulated/small]
variants: {space: multiple-choice, sample: 6, seed: 1, default: true, dimensions: {separator: [pipe, newline], order: [reversed]}}
"""


@pytest.fixture
def experiment(tmp_path):
    (tmp_path / "exam.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "exam.yaml").write_text(EXPERIMENT)
    return tmp_path / "exam.yaml"


@pytest.mark.filterwarnings("ignore:some of the 20 questions")
def test_prompts_are_drawn_without_replacement_and_extend(experiment):
    prompts = draw_prompts(experiment, 1000)
    assert len({(prompt.variant, prompt.question) for prompt in prompts}) == len(prompts) == 140
    assert [(p.variant, p.question) for p in draw_prompts(experiment, 5)] == [
        (p.variant, p.question) for p in prompts[:5]
    ]
    assert [p.variant for p in draw_prompts(experiment, 14, seed=1)] != [p.variant for p in prompts]
    replaced = [prompt for prompt in prompts if {"replaced", "pinned"} & {*prompt.record}]
    assert {prompt.question for prompt in replaced} == {"all"}
    assert len(replaced) == 6
    for prompt in replaced:
        text = format_prompt(prompt)
        is_misfit = prompt.values["separator"] == "pipe"
        assert ("replaced: separator 'pipe' by 'newline': it stands in the choice 'Bern | Rome'" in text) == is_misfit
        assert "in their place: choices 3: All of the above" in text
        assert text.endswith("All of the above")
        assert prompt.record["labels"][prompt.target] == 2


@pytest.mark.filterwarnings("ignore:some of the 20 questions")
def test_bad_requests(experiment):
    with pytest.raises(InputError, match="0 prompts; give 1 or more"):
        draw_prompts(experiment, 0)


@pytest.mark.filterwarnings("ignore:some of the 20 questions")
def test_the_command_prints_what_is_drawn(experiment):
    text = CliRunner().invoke(cli, ["run", str(experiment), "--show-prompts", "3"])
    assert text.exit_code == 0
    assert text.stdout.count("[user]") == 3
    rows = json.loads(
        CliRunner().invoke(cli, ["run", str(experiment), "--show-prompts", "3", "--format", "json"]).stdout
    )
    assert [row["messages"][-1]["content"] for row in rows] == [
        p.messages[-1]["content"] for p in draw_prompts(experiment, 3)
    ]
