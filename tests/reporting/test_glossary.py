"""The words of the report are those of CONTRIBUTING.md, and every column has a meaning. Kind of truth: the source text.

Names of columns are read from the syntax tree of each declaration and each method `columns`, not from the program that runs.
"""

from __future__ import annotations

import ast
import itertools
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

import howsure as hs
from howsure.errors import UnknownNameError
from howsure.reporting.glossary import TERMS, explain_columns, list_report_columns, read_columns
from howsure.sample.estimate import ModelEstimate
from howsure.stats.core.results import parse_columns
from howsure.stats.questions import AnswerCounts, estimate_consistency
from howsure.store.schema import COLUMNS as STORED_COLUMNS

ROOT = Path(__file__).resolve().parents[2]


def glossary():
    """The terms of the table "Words" of CONTRIBUTING.md."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Words")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \|", section, flags=re.MULTILINE)[1:]
    plain = [re.sub(r" \(`.*`\)", "", row).replace("\\*", "*") for row in rows]
    return {term for row in plain for term in (row, *row.split(", "))}


def called(node):
    """The name of the function that a node of a syntax tree calls, if any."""
    return getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""


def collect_names(node):
    """Keywords of `make_columns` and keys of dictionaries, but those of notes, below a node."""
    if called(node) == "notes":
        return
    if called(node) == "make_columns":
        yield from (keyword.arg for keyword in node.keywords if keyword.arg)
    if isinstance(node, ast.Dict):
        yield from (key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
    for child in ast.iter_child_nodes(node):
        yield from collect_names(child)


def columns_in_source():
    """Names of columns in the source, with the file that has them."""
    for path in sorted((ROOT / "src/howsure").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not re.search(r"def (_?columns\b|\w*tabulate)|  declared = ", text):  # parsing all files takes seconds
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "declared":
                yield from ((column.name, path.stem) for column in parse_columns(node.value.value))
            if isinstance(node, ast.FunctionDef) and (node.name in {"columns", "_columns"} or "tabulate" in node.name):
                yield from ((name, path.stem) for name in collect_names(node))
    yield from ((name, "schema") for name in STORED_COLUMNS)
    yield from ((name, "estimate") for name in ModelEstimate.__dataclass_fields__)


def test_every_column_of_a_result_has_a_meaning():
    names = set(columns_in_source())
    assert len(names) > 300
    assert sorted((name, stem) for name, stem in names if name not in read_columns()) == []


def test_every_code_of_a_note_is_explained():
    codes = set(tomllib.loads((ROOT / "src/howsure/notes.toml").read_text(encoding="utf-8")))
    explained = explain_columns("notes")
    assert len(codes) > 100
    assert set(explained.names) == codes
    assert [row["column"] for row in explained.to_dicts() if not row["meaning"]] == []


def test_every_page_of_the_glossary_is_a_page_of_the_site():
    pages = re.findall(r"[\w/]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert {column.page for column in read_columns().values()} <= set(pages)


def test_what_the_glossary_says_of_commands_is_of_commands():
    from howsure.cli import cli

    for column in read_columns().values():
        for command in column.also:
            name, *options = command.split()
            known = [option for parameter in cli.commands[name].params for option in parameter.opts]
            assert [option for option in options if option.startswith("--") and option not in known] == [], command


def test_every_term_of_the_page_is_in_the_glossary_of_the_project():
    assert len(glossary()) > 35
    assert set(TERMS) <= glossary()


def test_headings_of_columns_are_the_words_of_the_glossary():
    words = {heading.lower() for heading, _ in list_report_columns().values()}
    assert {"benchmark", "model", "question", "generations", "score", "standard error", "claim", "detectable"} <= words
    text = " ".join(f"{one.heading} {one.meaning}" for one in read_columns().values()) + " ".join(TERMS.values())
    # what the glossary calls otherwise: unparsed, rank flip, label error
    assert not re.findall(r"\b(unread|suspects?|swap\w*|sample of an answer)\b", text, flags=re.IGNORECASE)


def test_an_explanation_has_the_meaning_of_each_command():
    """By hand: n_missing counts questions in `score` and generations in `gate`."""
    text = str(explain_columns(["n_missing"]))
    assert "Questions in the results" in text
    assert "gate: Generations of the candidate" in text
    assert explain_columns(["se", "df"])["column"].tolist() == ["se", "df"]
    # Lines are wrapped once for a narrow window: the first word of the next one does not fit.
    lines = explain_columns("p_value").fit_text(60).splitlines()
    assert max(map(len, lines)) <= 60
    pairs = [(line, following.split()[0]) for line, following in itertools.pairwise(lines) if following[:4] == " " * 4]
    assert len(pairs) > 1
    assert all(len(f"{line} {word}") > 60 for line, word in pairs)
    assert len(explain_columns()) == len(read_columns())
    with pytest.raises(UnknownNameError, match="n_missing"):
        explain_columns(["n_mising"])


def test_the_formula_of_detectable_gives_the_printed_value():
    """The formula of `explain detectable`, computed by hand from the interval that is printed."""
    rng = np.random.default_rng(4)
    right = {"a": rng.random((25, 3)) < 0.8, "b": rng.random((25, 3)) < 0.6}
    cells = hs.Cells.from_scores(
        "demo", list(right), [f"q{i}" for i in range(25)], [one * 1.0 for one in right.values()]
    )
    assert explain_columns("detectable")["formula"][0].startswith("(t_(1 - alpha/2) + t_.8) s (N + 2) / N")
    row = hs.compare(cells, "a", "b")
    N, df = row["n_questions"][0], row["df"][0]
    s = (row["high"][0] - row["low"][0]) / 2 / student.ppf(0.975, df)
    assert row["detectable"][0] == pytest.approx((student.ppf(0.975, df) + student.ppf(0.8, df)) * s * (N + 2) / N)
    # Normal theory, which the formula has for these very questions.
    fixed = hs.compare(cells, "a", "b", claim="these-questions")
    assert fixed["detectable"][0] == pytest.approx((norm.ppf(0.975) + norm.ppf(0.8)) * fixed["se"][0])
    assert row["detectable"][0] != pytest.approx((norm.ppf(0.975) + norm.ppf(0.8)) * row["se"][0], rel=0.01)


def test_the_formula_of_consistency_gives_the_printed_value():
    """The formula of `explain consistency`, computed by hand for 2, 2 and 1 of 5 equal answers."""
    formula = explain_columns("consistency")["formula"][0]
    assert formula.startswith("sum over sets of equal answers of p (psi(n p) - psi(n))")
    answers = AnswerCounts.from_generations("b", {"m": {"q": ["A", "A", "B", "B", "C"]}}, {"q": "A"})
    # psi(5) - psi(2) = 1/2 + 1/3 + 1/4 and psi(5) - psi(1) = 1 + 1/2 + 1/3 + 1/4
    by_hand = -(0.8 * (1 / 2 + 1 / 3 + 1 / 4) + 0.2 * (1 + 1 / 2 + 1 / 3 + 1 / 4))
    assert estimate_consistency(answers).item() == pytest.approx(by_hand)


def test_terms_are_explained_as_columns_are():
    """Truth: the list of terms of the glossary; a column of the same name comes first."""
    terms = [term for term in TERMS if term not in read_columns()]
    assert len(terms) > 8
    assert explain_columns(terms)["meaning"].tolist() == [TERMS[term] for term in terms]
    assert " ".join(str(explain_columns("data noise")).split()) == f"data noise: {TERMS['data noise']}"
    assert "unit: share" in str(explain_columns("unparsed"))
    with pytest.raises(UnknownNameError, match="did you mean 'data noise'"):
        explain_columns("data nois")
