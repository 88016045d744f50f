"""What all readers share: columns, numbers of generations, scores and notes of a `RowBuilder`."""

from pathlib import Path

import pytest

from howsure.errors import InputError, UnknownNameError
from howsure.logs import base
from howsure.logs.base import ReadOptions, RowBuilder, RowKey, get_field, parse_score

KEY = RowKey("b", "m", "q")


def build(**options):
    return RowBuilder(Path("x.log"), ReadOptions(**options))


def test_mapped_values_are_text():
    mapped = build(columns={"question": "a", "cluster": "b"})
    key = mapped.map_columns(KEY, {"a": [2, 1], "b": True})
    assert (key.question, key.cluster, key.variant) == ("[2,1]", "true", "default")
    assert mapped.map_columns(KEY, {"a": ""}) == KEY
    assert list(mapped.notes()) == ["1 record has no b: its cluster is read as without --columns"]


def test_the_first_record_must_have_the_fields():
    with pytest.raises(UnknownNameError, match="known: x, y"):
        build(columns={"question": "zzzz"}).map_columns(KEY, {"x": 1, "y": 2})
    with pytest.raises(UnknownNameError, match=r"did you mean 'metadata.topic'"):
        build(columns={"cluster": "metadata.topics"}).map_columns(KEY, {"metadata": {"topic": 1}})
    with pytest.raises(UnknownNameError, match="unknown column 'colour'"):
        build(columns={"colour": "a"})
    damaged = build(columns={"question": "a"})
    assert damaged.map_columns(KEY, {}, check=False) == KEY
    with pytest.raises(UnknownNameError, match="unknown field 'a'"):
        damaged.map_columns(KEY, {"b": 1})


def test_generations_are_numbered_per_question_and_variant():
    rows = build()
    keys = [KEY, KEY, KEY._replace(variant="v"), KEY._replace(question="r"), KEY]
    assert [rows.row(key).generation for key in keys] == [1, 2, 1, 1, 3]
    assert rows.row(KEY, generation=9).generation == 9


def test_numbers_that_columns_make_equal_become_the_next_free_ones():
    merged = build(columns={"question": "topic"})
    assert [merged.row(KEY, generation=n).generation for n in (1, 2, 1, 2, 7)] == [1, 2, 3, 4, 7]
    assert list(merged.notes()) == [
        "2 generations have another number than in the log: several samples are one question"
    ]


def test_duplicate_questions_get_other_names():
    rows = build()
    names = []
    for _ in range(3):
        key = rows.rename_duplicate(KEY)
        names.append(rows.row(key).question)
    assert names == ["q", "q-2", "q-3"]


def test_texts_are_compared_and_kept_only_where_they_are_wanted():
    lean, full = build(), build(texts=True)
    for rows, completion in ((lean, None), (full, "long " * 60)):
        made = [rows.row(KEY._replace(question=q), completion="long " * 60) for q in "abc" for _ in (1, 2)]
        assert {row.completion for row in made} == {completion}
        assert list(rows.notes())[-1].startswith("all generations of 3 of 3 questions")


def test_scores_and_what_is_none():
    rows = build()
    assert rows.score_fields("C") == {"score": 1.0}
    assert rows.score_fields(None) == rows.score_fields(float("nan"))
    assert rows.score_fields(None) == {"status": "error", "error": "scoring: the log has no score here"}
    assert rows.score_fields([1])["status"] == rows.score_fields("odd")["status"] == "error"
    assert list(rows.notes()) == ["2 scores are not numbers and are missing: [1] is no score"]
    with pytest.raises(ValueError, match="beyond all floating-point numbers"):
        parse_score(10**400)


def test_notes_are_in_the_order_in_which_they_arose():
    rows = build()
    rows.count("b")
    rows.note("a")
    rows.count("b", 2)
    rows.count("c", 0)
    rows.note("a")
    assert list(rows.notes()) == ["3 b", "a"]


def test_the_scorer_is_named_by_a_part_that_no_other_has():
    names = ["exact_match,strict", "exact_match,flexible", "f1"]
    assert build(scorer="strict").choose_scorer(names) == names[0]
    assert build(scorer="f1").choose_scorer(names) == "f1"
    for scorer in ("exact_match", "f2"):
        with pytest.raises(UnknownNameError, match="scorer"):
            build(scorer=scorer).choose_scorer(names)
    first = build()
    assert first.choose_scorer(names) == names[0]
    assert "3 scorers, of which 'exact_match,strict' is read" in next(first.notes())


def test_fields_of_lists_and_of_what_is_no_mapping():
    assert get_field({"a": [{"b": 1}]}, "a.0.b") == 1
    assert [get_field({"a": "text"}, field) for field in ("a.0", "b", "a.b")] == [None] * 3


def test_words_of_notes_on_own_scores_are_written_once():
    """Kind of truth: the files. A reader with words of its own would have its notes left in when the run is rescored."""
    folder = Path(base.__file__).parent
    for words in (base.OF_SEVERAL_SCORERS, base.ONLY_FIRST_SCORED):
        assert [file.name for file in folder.rglob("*.py") if words in file.read_text("utf-8")] == ["base.py"]
        assert any(words in part for part in base.OF_OWN_SCORES)


def test_a_log_without_scorers_is_refused():
    with pytest.raises(InputError, match="no score that can be read"):
        build().choose_scorer(())
