"""What all readers share: columns, numbers of generations, scores and notes of a `RowBuilder`."""

import re
from pathlib import Path

import numpy as np
import pytest

from howsure.errors import InputError, UnknownNameError
from howsure.logs import base
from howsure.logs.base import N_COMPARED, N_FEWEST, IdenticalTexts, ReadOptions, RowBuilder, RowKey
from howsure.logs.values import parse_score
from howsure.notes import read_templates

KEY = RowKey("b", "m", "q")


def build(**options):
    return RowBuilder(Path("x.log"), ReadOptions(**options))


def texts_of(rows):
    return [note.text for note in rows.notes()]


def test_mapped_values_are_text_and_a_damaged_record_is_not_the_first():
    mapped = build(columns={"question": "a", "cluster": "b"})
    key = mapped.map_columns(KEY, {"a": [2, 1], "b": True})
    assert (key.question, key.cluster, key.variant) == ("[2,1]", "true", "default")
    assert mapped.map_columns(KEY, {"a": ""}) == KEY
    assert texts_of(mapped) == ["1 record has no b: its cluster is read as without --columns"]
    damaged = build(columns={"question": "a"})
    assert damaged.map_columns(KEY, {}, check=False) == KEY
    with pytest.raises(UnknownNameError, match="unknown field 'a'"):
        damaged.map_columns(KEY, {"b": 1})


def test_numbers_that_columns_make_equal_become_the_next_free_ones():
    merged = build(columns={"question": "topic"})
    assert [merged.row(KEY, generation=n).generation for n in (1, 2, 1, 2, 7)] == [1, 2, 3, 4, 7]
    assert texts_of(merged) == ["2 generations have another number than in the log: several samples are one question"]


def test_texts_are_compared_and_kept_only_where_they_are_wanted():
    lean, full = build(), build(texts=True)
    for rows, completion in ((lean, None), (full, "long " * 60)):
        made = [rows.row(KEY._replace(question=q), completion="long " * 60) for q in "abc" for _ in (1, 2)]
        assert {row.completion for row in made} == {completion}
        assert [(note.code, note.facts["same"]) for note in rows.notes()] == [("log-copies", 3)]


def test_scores_and_what_is_none():
    rows = build()
    assert rows.score_fields("C") == {"score": 1.0}
    assert rows.score_fields(None) == rows.score_fields(float("nan"))
    assert rows.score_fields(None) == {"status": "error", "error": "scoring: the log has no score here"}
    assert rows.score_fields([1])["status"] == rows.score_fields("odd")["status"] == "error"
    assert texts_of(rows) == [
        "3 generations have no score and are missing",
        "2 scores are not numbers and are missing: [1] is no score",
    ]
    with pytest.raises(ValueError, match="beyond all floating-point numbers"):
        parse_score(10**400)


def test_notes_of_one_code_and_one_set_of_facts_are_added_up():
    rows = build()
    rows.note("log-left-out", 1, what="question")
    rows.note("log-no-spec")
    rows.note("log-left-out", 2, what="question")
    rows.note("log-left-out", 1, what="model")
    rows.note("log-score-no-number", 1, example="a\nb")
    rows.note("log-score-no-number", 1, example="c")
    notes = rows.notes()
    assert [(note.code, note.n) for note in notes] == [
        ("log-left-out", 3),
        ("log-no-spec", 0),
        ("log-left-out", 1),
        ("log-score-no-number", 2),
    ]
    assert notes[-1].text == "2 scores are not numbers and are missing: a b"


def test_every_note_of_logs_has_a_template_with_its_facts():
    """Kind of truth: the files. A code without a template, or a fact without a word, fails when a person reads it."""
    folder = Path(base.__file__).parent
    used = {code for file in folder.rglob("*.py") for code in re.findall(r'"(log-[a-z-]+)"', file.read_text("utf-8"))}
    assert used == {code for code in read_templates() if code.startswith("log-")}


def test_one_id_with_two_targets_is_refused():
    rows = build()
    rows.row(KEY, target="4")
    rows.row(KEY, target=" 4 ")
    rows.row(KEY._replace(variant="v"), target="5")
    with pytest.raises(InputError, match="question 'q' has the targets '4' and '5'") as refused:
        rows.row(KEY, target="5")
    assert refused.value.code == "two-targets"
    merged = build(columns={"question": "topic"})
    assert [merged.row(KEY, target=target).target for target in "45"] == [None, None]


def test_the_scorer_is_named_by_a_part_that_no_other_has():
    names = ["exact_match,strict", "exact_match,flexible", "f1"]
    assert build(scorer="strict").choose_scorer(names) == names[0]
    assert build(scorer="f1").choose_scorer(names) == "f1"
    for scorer in ("exact_match", "f2"):
        with pytest.raises(UnknownNameError, match="scorer"):
            build(scorer=scorer).choose_scorer(names)
    with pytest.raises(InputError, match="no score that can be read"):
        build().choose_scorer(())
    first = build()
    assert first.choose_scorer(names) == names[0]
    assert texts_of(first)[0].startswith("3 scorers, of which 'exact_match,strict' is read")


# --- a log's own number; kind of truth: means computed by hand ---

Q1, Q2, Q3 = (KEY._replace(question=name) for name in "123")


def describe(rows, value, **options):
    """The notes on a stated mean of rows, each a key and a score."""
    made = build()
    made.expect_mean("accuracy", value, **options)
    for key, score in rows:
        made.row(key, **({"score": score} if score is not None else {"status": "error", "error": "no"}))
    return [(note.code, note.n) for note in made.notes()]


@pytest.mark.parametrize("value", [0.75, 0.7502, 75, 75.0, None, "0.2", float("nan"), True])
def test_a_mean_that_is_rounded_in_percent_or_no_number_is_not_noted(value):
    assert describe([(Q1, 1.0), (Q2, 0.5)], value) == []


@pytest.mark.parametrize("value", [2 / 3, 0.75])
def test_means_of_questions_and_of_generations_are_both_known(value):
    # Question 1 has one right generation, question 2 a right and a wrong one.
    assert describe([(Q1, 1.0), (Q2, 1.0), (Q2, 0.0)], value) == []


def test_only_rows_of_the_benchmark_and_the_variants_count():
    others = [Q1._replace(benchmark="c"), Q1._replace(variant="v")]
    rows = [(Q1, 1.0), *((key, 0.0) for key in others)]
    assert describe(rows, 1.0, benchmark="b", variants=lambda name: name == "default") == []
    assert describe(rows, 1.0) == [("log-mean-differs", 0)]


def test_a_mean_that_counts_what_is_missing_as_zero_is_noted_as_such():
    assert describe([(Q1, 1.0), (Q2, None)], 0.5) == [("log-mean-with-missing", 1)]
    assert describe([(Q1, 1.0), (Q2, None)], 0.7) == [("log-mean-differs", 0)]


# --- copies are noted where nearly every question's texts are one; by construction ---

LONG = "a long way round to say it " * 20


def fed(questions, generations, text):
    copies = IdenticalTexts()
    for generation in range(generations):
        for question in range(questions):
            copies.add(("model", f"q{question}", "default"), text(question, generation))
    return copies


@pytest.mark.parametrize(
    ("questions", "generations", "text"),
    [
        (20, 4, lambda question, generation: f"{LONG}{question}{generation}"),
        (20, 4, lambda question, generation: f"{LONG}{question}{generation if question < 2 else 0}"),
        (20, 1, lambda question, _: f"{LONG}{question}"),
        (20, 4, lambda *_: None),
        (N_FEWEST - 1, 4, lambda question, _: f"{LONG}{question}"),
        (0, 0, lambda *_: ""),
    ],
    ids=["all differ", "a tenth differs", "one each", "no texts", "too few questions", "nothing"],
)
def test_what_is_not_said(questions, generations, text):
    assert fed(questions, generations, text).describe() is None


def test_of_a_large_log_a_fair_choice_is_kept_whatever_the_order():
    copies = fed(5000, 3, lambda question, generation: f"{question} {generation if question % 2 else 0}")
    assert len(copies._questions) == N_COMPARED
    # Each one that is kept was seen from its first generation on.
    assert all(n == 3 for _, _, n, _ in copies._questions.values())
    assert copies.is_decided
    # Half of them differ: of 100 drawn, 50 give or take 5 standard deviations of 5.
    assert 25 < sum(differs for *_, differs in copies._questions.values()) < 75
    pairs = [(question, generation) for question in range(5000) for generation in range(3)]
    other = IdenticalTexts()
    for i in np.random.default_rng(1).permutation(len(pairs)):
        question, generation = pairs[i]
        other.add(("model", f"q{question}", "default"), f"{question} {generation if question % 2 else 0}")
    assert other._questions.keys() == copies._questions.keys()
    assert {n for _, _, n, _ in other._questions.values()} == {3}
