"""Results: rows, columns, other levels, and the table in a notebook as HTML that a parser reads back."""

import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import howsure as hs
from howsure import Cells
from howsure.errors import InputError, UnknownNameError
from howsure.stats.comparisons import pairs
from howsure.stats.core.results import Result, Results, format_html, format_table
from howsure.stats.scores import score


class Table(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.rows, self.below, self.tags = [], "", set()
        self._open = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        assert {name for name, _ in attrs} <= {"scope", "align"}
        self.tags.add(tag)
        if tag == "br":
            return
        self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] in {"td", "th"}:
            self.rows[-1][-1] += data
        elif self._open and self._open[-1] == "p":
            self.below += data


COLUMNS = {
    "model": ["a", "<script>alert(1)</script>"],
    "score": [0.5, float("nan")],
    "p_value": [1e-9, 0.25],
    "level": [0.95, 0.95],
    "note": ["", "too few & old"],
}


def test_numbers_are_those_of_print():
    read = Table(format_html(COLUMNS))
    assert read.rows == [
        ["model", "score", "p_value", "note"],
        ["a", "0.5000", "< .001", ""],
        ["<script>alert(1)</script>", "–", "0.250", "[1]"],
    ]
    assert "script" not in read.tags
    assert "level 0.95" in read.below
    assert "[1] too few & old" in read.below
    printed = format_table(COLUMNS)
    assert all(cell in printed for row in read.rows[1:] for cell in row)


def test_one_row_has_its_head_and_none_is_said():
    read = Table(format_html({"model": ["a"], "score": [0.125], "note": ["rough"]}))
    assert read.rows == [["model", "score"], ["a", "0.1250"]]
    assert read.below == "rough"
    assert format_html({"model": []}) == "<p>no rows</p>"


def test_results_have_it_and_keep_what_they_print_otherwise():
    class Shown(Result):
        def columns(self):
            return {"model": np.array(["a", "b"], dtype=object), "score": np.array([0.5, 0.25])}

    class Told(Shown):
        def __str__(self):
            return "a < b"

    assert Table(Shown()._repr_html_()).rows[2] == ["b", "0.2500"]
    assert len(Table(Results((Shown(), Shown()))._repr_html_()).rows) == 5
    assert Told()._repr_html_() == "<pre>a &lt; b</pre>"


CELLS = Cells.from_scores("b", ["x", "y"], ["1", "2", "3"], [[[1], [0], [0]], [[1], [1], [1]]])
OTHER = Cells.from_scores("c", ["x", "y"], ["1", "2"], [[[1, 1], [0, 1]], [[1, 0], [0, 0]]])


@pytest.mark.parametrize("result", [score(CELLS), pairs(CELLS), hs.score([CELLS, OTHER]), hs.pairs([CELLS, OTHER])])
def test_a_result_is_a_sequence_of_rows_with_named_columns(result):
    columns = result.columns()
    assert len(result) == len(list(result)) == len(result.to_dicts()) == len(next(iter(columns.values())))
    for name, values in columns.items():
        np.testing.assert_array_equal(result[name], values)
        np.testing.assert_array_equal([row[name] for row in result], values)
    assert result[0]["benchmark"] == "b"
    assert str(result[-1]) == str(result.to_dicts()[-1])
    assert repr(result) == str(result)
    with pytest.raises(UnknownNameError, match="did you mean 'difference'|did you mean 'score'"):
        result["differense" if "difference" in columns else "scor"]
    with pytest.raises(IndexError):
        result[100]


def test_columns_of_several_benchmarks_are_attributes():
    result = hs.score([CELLS, OTHER])
    assert result.score.tolist() == result.columns()["score"].tolist()
    assert {"score", "low", "parts", "to_frame"} <= set(dir(result))
    with pytest.raises(AttributeError, match="no attribute or column 'scores'"):
        _ = result.scores


def test_a_result_is_equal_to_itself_alone():
    assert score(CELLS) != score(CELLS)  # arrays have no single answer


def test_parts_of_results_under_a_name_are_results():
    several = hs.repeats([CELLS, OTHER])
    assert [part.benchmark for part in several.of("runs").parts] == [part.benchmark for part in several.parts]
    assert several.of("runs").parts[1] is several.parts[1].runs


def test_a_printed_result_fits_the_columns_that_the_environment_states(monkeypatch):
    """A script whose output is 60 characters wide; without the variable, and in `to_frame`, all columns are there."""
    scores = [[[1, 0, 1], [0, 1, 1]], [[1, 1, 1], [0, 0, 1]], [[0, 0, 1], [0, 1, 0]]]
    result = hs.score(hs.Cells.from_scores("demo", ["a", "b", "c"], ["p", "q"], scores))
    monkeypatch.delenv("COLUMNS", raising=False)
    whole = str(result)
    assert max(map(len, whole.splitlines())) > 60
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, str(result).splitlines())) <= 60
    assert str(result) == result.fit_text(60)
    assert result.fit_text(None) == whole
    for odd in ("0", "wide", "-3", ""):
        monkeypatch.setenv("COLUMNS", odd)
        assert str(result) == whole


def test_numbers_of_a_single_comparison_are_numbers():
    cells = Cells.from_scores("demo", ["a", "b"], ["p", "q"], [[[1], [1]], [[1], [0]]])
    one = hs.compare(cells, "a", "b")
    assert (type(one.difference), one.difference, one["difference"].tolist()) == (float, 0.5, [0.5])
    assert hs.score(cells).score.tolist() == [1, 0.5]


def test_an_attribute_that_is_no_column_suggests_one_or_names_the_frame():
    results = hs.score(Cells.from_scores("demo", ["a"], ["p", "q"], [[[1], [0]]]))
    with pytest.raises(AttributeError, match="no attribute or column 'scroe'; did you mean 'score'"):
        _ = results.scroe
    with pytest.raises(AttributeError, match=r"'to_pandas'; to_frame\(\) makes a frame"):
        results.to_pandas()


def test_numbers_become_metrics_by_names_that_trackers_take():
    scores = [[[1]] * 8 + [[0]] * 2, [[0]] * 10]
    cells = hs.Cells.from_scores("sums", ["lab/a:1", "b"], [f"q{i}" for i in range(10)], scores)
    metrics = hs.score(cells).to_metrics()
    assert metrics["sums/lab/a_1/score"] == 0.8
    assert metrics["sums/b/score"] == 0
    assert all(re.fullmatch(r"[\w\-. /]+", name) and math.isfinite(value) for name, value in metrics.items())
    assert "sums/b/level" not in metrics
    compared = hs.compare(cells, "lab/a:1", "b").to_metrics()
    assert compared["sums/lab/a_1/b/difference"] == 0.8
    assert {"sums/b/pass_at_k/1/score", "sums/b/pass_hat_k/1/score"} <= hs.attempts(cells).to_metrics().keys()
    with pytest.raises(InputError, match="to_frame"):
        hs.questions(cells).to_metrics()
