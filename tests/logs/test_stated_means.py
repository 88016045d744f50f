"""A log's own number is compared with its scores. Kind of truth: means computed by hand."""

import json

import pytest
from helpers.inspect_log import write_inspect_log
from helpers.lm_eval_log import harness

from howsure.logs import find_reader
from howsure.logs.base import ReadOptions, RowBuilder, RowKey

Q1, Q2, Q3 = (RowKey("b", "m", name) for name in ("1", "2", "3"))


def describe(rows, value, **options):
    """Return the notes on a stated mean of rows, each a key and a score."""
    build = RowBuilder("x.log", ReadOptions())
    build.expect_mean("accuracy", value, **options)
    for key, score in rows:
        build.row(key, **({"score": score} if score is not None else {"status": "error", "error": "no"}))
    return list(build.notes())


@pytest.mark.parametrize("value", [0.75, 0.7502, 75, 75.0, None, "0.2", float("nan"), True])
def test_a_mean_that_is_rounded_in_percent_or_no_number_is_not_noted(value):
    assert describe([(Q1, 1.0), (Q2, 0.5)], value) == []


@pytest.mark.parametrize("value", [2 / 3, 0.75])
def test_means_of_questions_and_of_generations_are_both_known(value):
    # Question 1 has one right generation, question 2 a right and a wrong one.
    assert describe([(Q1, 1.0), (Q2, 1.0), (Q2, 0.0)], value) == []


def test_another_mean_is_noted():
    assert describe([(Q1, 1.0), (Q2, 0.0)], 0.269) == ["the log says accuracy 0.269, and its scores give 0.5"]


def test_a_mean_that_counts_what_is_missing_as_zero_is_noted_as_such():
    [line] = describe([(Q1, 1.0), (Q2, 1.0), (Q3, None)], 2 / 3)
    assert line.startswith("the log says accuracy 0.6667, and its scores give 1: it counts 1 missing generation as 0")


def test_only_rows_of_the_benchmark_the_model_and_the_variants_count():
    rows = [
        (Q1, 1.0),
        (Q1._replace(benchmark="c"), 0.0),
        (Q1._replace(model="n"), 0.0),
        (Q1._replace(variant="v"), 0.0),
    ]
    assert describe(rows, 1.0, benchmark="b", model="m", variants=lambda name: name == "default") == []
    assert len(describe(rows, 0.5, benchmark="b", model="m", variants=lambda name: name == "default")) == 1


def notes_on(path):
    """Return the notes on a log."""
    notes = []
    list(find_reader(path).rows(path, ReadOptions(), lambda note: notes.append(note.text)))
    return notes


@pytest.mark.parametrize(("value", "differs"), [(0.5, False), (50.0, False), (0.25, True)])
def test_inspect(tmp_path, value, differs):
    results = [{"name": "match", "scorer": "match", "metrics": {"accuracy": {"name": "accuracy", "value": value}}}]
    path = write_inspect_log(tmp_path / "a.json", {"1": "C", "2": "I"}, results=results)
    assert notes_on(path) == [f"the log says accuracy {value:.4g}, and its scores give 0.5"] * differs


@pytest.mark.parametrize(
    ("value", "aggregation", "differs"), [(0.5, "mean", False), (0.9, "mean", True), (0.9, "f1", False)]
)
def test_lm_eval(tmp_path, value, aggregation, differs):
    samples = harness(tmp_path / "m")
    [file] = (tmp_path / "m").glob("results*")
    totals = json.loads(file.read_text())
    totals["results"]["sums"]["exact_match,none"] = value
    totals["configs"]["sums"]["metric_list"] = [{"metric": "exact_match", "aggregation": aggregation}]
    file.write_text(json.dumps(totals))
    lines = [line for line in notes_on(samples) if "the log says" in line]
    assert lines == ["the log says exact_match,none 0.9, and its scores give 0.5"] * differs
