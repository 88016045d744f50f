"""Results in a notebook: the table that print shows, as HTML that a parser reads back."""

from html.parser import HTMLParser

import numpy as np

from howsure.stats.core.results import Result, Results, format_table, html_table


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
    read = Table(html_table(COLUMNS))
    assert read.rows == [
        ["model", "score", "p_value", "note"],
        ["a", "0.5000", "1.0e-09", ""],
        ["<script>alert(1)</script>", "–", "0.2500", "[1]"],
    ]
    assert "script" not in read.tags
    assert "level 0.95" in read.below
    assert "[1] too few & old" in read.below
    printed = format_table(COLUMNS)
    assert all(cell in printed for row in read.rows[1:] for cell in row)


def test_one_row_stands_upright_and_none_is_said():
    read = Table(html_table({"model": ["a"], "score": [0.125], "note": ["rough"]}))
    assert read.rows == [["model", "a"], ["score", "0.1250"]]
    assert read.below == "rough"
    assert html_table({"model": []}) == "<p>no rows</p>"


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
