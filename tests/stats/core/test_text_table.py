"""Tables that fit a width: lines are measured, numbers and names are looked up in the text. Kind of truth: by hand."""

import re

import numpy as np
import pytest

from howsure.stats.core.results import make_columns
from howsure.stats.core.text_table import format_table, wrap_text

NAMES = ["openai/gpt-4o-mini-2024-07-18", "meta-llama/Llama-3.1-8B-Instruct", "qwen"]
HEADER = ["model", "score", "se", "low", "high", "se_total", "se_data", "se_prediction", "detectable", "df"]


def columns(names=NAMES, seed=0, note="one generation per question: data and prediction noise are unknown"):
    rng = np.random.default_rng(seed)
    n = len(names)
    numbers = {name: rng.uniform(0.1, 0.9, n) for name in HEADER[1:]}
    return make_columns(n, benchmark="demo", model=list(names), **numbers, level=0.95, note=[note, "", ""][:n])


def header_of(text):
    return text.split("\n")[0].split()


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_line_is_longer_and_no_number_is_cut(width):
    data = columns()
    text = format_table(data, width)
    assert max(map(len, text.split("\n"))) <= width
    rows = text.split("\n")[1:4]
    for i, row in enumerate(rows):
        printed = re.findall(r"0\.\d+", row.split("  ", 1)[1])
        assert printed == [f"{data[name][i]:.4f}" for name in header_of(text)[1:]]
    left_out = set(HEADER) - set(header_of(text))
    assert all(name in text for name in left_out)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_columns_do_not_depend_on_the_values(width):
    others = columns([f"a-model-with-a-rather-long-name-{i}" for i in range(3)], seed=1)
    equal = columns() | {name: np.full(3, 0.5) for name in ("score", "se", "low", "high")}
    headers = [header_of(format_table(data, width)) for data in (columns(), others, equal)]
    assert headers[0] == headers[1] == headers[2]


def test_an_interval_has_both_ends_or_none():
    for width in range(40, 130):
        header = header_of(format_table(columns(), width))
        assert ("low" in header) == ("high" in header)


def test_different_models_have_different_names_in_the_table():
    names = [f"checkpoint-{step:05d}-of-the-same-base-model" for step in (100, 200, 300)]
    rows = format_table(columns(names), 60).split("\n")[1:4]
    assert len({row.split()[0] for row in rows}) == 3


def test_one_row_is_wrapped_and_sentences_keep_their_words():
    text = format_table(columns(NAMES[:1]), 60)
    assert max(map(len, text.split("\n"))) <= 60
    sentence = "a sentence of several words that goes on and on until it does not fit any more"
    assert " ".join(wrap_text(sentence, 30).split()) == sentence
    assert max(map(len, wrap_text(sentence, 30).split("\n"))) <= 30


@pytest.mark.parametrize("width", range(40, 80, 3))
def test_the_name_of_a_constant_column_and_its_value_stand_on_one_line(width):
    constants = {
        name: np.array([i, i]) for i, name in enumerate(("n_questions", "n_generations", "n_missing", "n_sets"))
    }
    lines = format_table({"model": ["a", "b"], "score": [0.1, 0.2], **constants}, width).split("\n")
    assert all(any(f"{name} {values[0]}" in line for line in lines) for name, values in constants.items())
    assert max(map(len, lines)) <= width
