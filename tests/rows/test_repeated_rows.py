"""Rows of one model and question that are no generations: what a person would say, with scores by hand."""

import pandas as pd
import pytest

import howsure as hs
from howsure.errors import HowsureWarning, UnknownNameError


def write(path, rows):
    """Write a csv of rows with the same names."""
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def read(data):
    """Return the cells of the only benchmark, and the warnings."""
    with pytest.warns(HowsureWarning) as caught:
        [cells] = hs.read(data)
    return cells, " ".join(str(one.message) for one in caught)


def make_rows(column, values, models=("a", "b"), n=4, name="id"):
    """A row for each model, value and question, with a score of 1 for the first value only."""
    return [
        {"model": model, column: value, name: i, "score": int(value == values[0])}
        for model in models
        for value in values
        for i in range(n)
    ]


@pytest.mark.parametrize("column", ["temperature", "reasoning_effort", "provider"])
@pytest.mark.parametrize("form", ["csv", "frame"])
def test_a_model_at_several_settings_is_several_models(tmp_path, column, form):
    """The scores of both settings were averaged as generations."""
    rows = make_rows(column, ["low", "high"])
    cells, lines = read(pd.DataFrame(rows) if form == "frame" else write(tmp_path / "t.csv", rows))
    assert cells.models == tuple(f"{model} ({column}={value})" for model in "ab" for value in ("high", "low"))
    assert cells.total.mean(axis=1).tolist() == [0, 1, 0, 1]
    assert f"several values of '{column}' (high, low)" in lines
    [cells] = hs.read(tmp_path / "t.csv", columns={"generation": column}) if form == "csv" else [None]
    assert cells is None or (cells.models, cells.n.max()) == (("a", "b"), 2)


def test_a_setting_that_says_nothing_of_repeats_stays_out_of_the_names(tmp_path, recwarn):
    """By hand: one temperature for each model, and one that is the same for each question of all models."""
    rows = [{"model": m, "temperature": {"a": 0, "b": 1}[m], "id": i, "score": 1} for m in "ab" for i in range(4)]
    [cells] = hs.read(write(tmp_path / "t.csv", rows))
    assert cells.models == ("a", "b")
    rows = [{**row, "temperature": row["id"] % 2} for row in rows]
    [cells] = hs.read(write(tmp_path / "t.csv", rows))
    assert (cells.models, len(cells.questions)) == (("a", "b"), 4)
    assert not recwarn.list


@pytest.mark.parametrize("column", ["name", "criterion", "aspect"])
def test_metrics_in_a_column_of_any_name_are_scorers(tmp_path, column):
    """Accuracy, F1 and latency were averaged as generations of one question."""
    path = write(tmp_path / "t.csv", make_rows(column, ["accuracy", "f1", "latency"]))
    cells, lines = read(path)
    assert cells.total.tolist() == [[1] * 4] * 2
    assert f"3 scorers in column '{column}': accuracy is read" in lines


def test_ids_that_are_counted_anew_in_each_subject_are_different_questions(tmp_path):
    rows = [row for row in make_rows("subject", ["law", "tax"]) if (row["subject"], row["id"]) != ("tax", 3)]
    cells, lines = read(write(tmp_path / "t.csv", rows))
    assert cells.questions == ("law/0", "law/1", "law/2", "law/3", "tax/0", "tax/1", "tax/2")
    assert cells.total.tolist() == [[1, 1, 1, 1, 0, 0, 0]] * 2
    assert "different questions" in lines
    two_runs = [{**row, "run": run} for row in rows for run in (1, 2)]
    cells, _ = read(write(tmp_path / "t.csv", two_runs))
    assert (len(cells.questions), cells.n.tolist()) == (7, [[2] * 7] * 2)


def test_a_category_of_each_completion_makes_no_other_questions(tmp_path):
    """By hand: a grader gave the three completions of each question one of two categories."""
    rows = [
        {"model": "a", "category": ["late", "wrong"][g > i % 3], "id": i, "score": 1}
        for i in range(6)
        for g in range(3)
    ]
    cells, _ = read(write(tmp_path / "t.csv", rows))
    assert cells.n.tolist() == [[3] * 6]


def test_a_column_that_distinguishes_repeats_is_named(tmp_path):
    _, lines = read(write(tmp_path / "t.csv", make_rows("condition", ["x", "y"])))
    assert "column 'condition' (x, y) tells rows of one model and question apart" in lines
    assert "--columns variant=condition" in lines


def test_an_id_of_each_row_is_no_question_where_another_column_has_them(tmp_path):
    """Traces have an id of their own for each span: two models had no question in common."""
    rows = [
        {"id": f"span {model}{i}", "inputs.example.id": i, "model": model, "score": i % 2}
        for model in "ab"
        for i in range(4)
    ]
    cells, lines = read(write(tmp_path / "t.csv", rows))
    assert (cells.questions, cells.n.tolist()) == (("0", "1", "2", "3"), [[1] * 4] * 2)
    assert "the questions are in column 'inputs.example.id'" in lines


@pytest.mark.parametrize("other", ["index", "doc.idx"])
@pytest.mark.parametrize("name", ["id", "question_id"])
def test_a_running_number_beside_ids_that_no_two_models_share_is_no_question(tmp_path, name, other, recwarn):
    """By hand: the models answered other questions, which the rows of each model number."""
    rows = [{name: f"{model}{i}", other: i, "model": model, "score": i % 2} for model in "ab" for i in range(4)]
    [cells] = hs.read(write(tmp_path / "t.csv", rows))
    assert len(cells.questions) == 8
    assert not any("the questions are in column" in str(one.message) for one in recwarn)


def write_scores_of_traces(path, names=("Exact Match", "tone"), **changes):
    """Write the export of a tracing tool: a row for each score of four traces, with an id of its own."""
    rows = [
        {"id": f"s{t}{name}", "name": name, "value": int(name == names[0]), "traceId": f"t{t}", "source": "EVAL"}
        for t in range(4)
        for name in names
    ]
    return write(path, [{**row, **changes} for row in rows])


def test_scores_of_traces_with_an_id_each_are_those_of_scorers(tmp_path):
    """The scores of two scorers were averaged over eight questions, in silence."""
    path = write_scores_of_traces(tmp_path / "t.csv")
    cells, lines = read(path)
    assert cells.questions == ("t0", "t1", "t2", "t3")
    assert cells.total.tolist() == [[1, 1, 1, 1]]
    assert "column 'name' names the scorer: the questions are in column 'traceId'" in lines
    with pytest.warns(HowsureWarning):
        [tone] = hs.read(path, scorer="tone")
    assert tone.total.tolist() == [[0, 0, 0, 0]]
    with pytest.warns(HowsureWarning):
        [exact] = hs.read(path, scorer="exact_match")
    assert exact.total.tolist() == [[1, 1, 1, 1]]
    [each] = hs.read(path, columns={"question": "id"}, model="m", scorer="value")
    assert each.total.sum() == 4


@pytest.mark.parametrize("changes", [{"name": "tone"}, {"traceId": "t0"}])
def test_traces_with_two_scores_of_a_name_are_left_as_they_are(tmp_path, changes):
    cells, _ = read(write_scores_of_traces(tmp_path / "t.csv", **changes))
    assert len(cells.questions) == 8


def test_a_scorer_in_a_column_of_any_name_can_be_chosen(tmp_path):
    """The line on two scorers named an option that was refused."""
    path = write(tmp_path / "t.csv", make_rows("aspect", ["accuracy", "f1"]))
    assert "--scorer reads another (f1)" in read(path)[1]
    [cells] = hs.read(path, scorer="F1")
    assert cells.total.sum() == 0
    with pytest.raises(UnknownNameError, match="unknown scorer 'f2'"):
        hs.read(path, scorer="f2").cells()
    with pytest.raises(UnknownNameError, match="unknown scorer 'a'"):  # the name of a model
        hs.read(write(tmp_path / "u.csv", make_rows("aspect", ["dry"])), scorer="a").cells()
