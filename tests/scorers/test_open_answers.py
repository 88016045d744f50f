"""Open answers: cases judged by hand; the published normalisation and F1 of SQuAD in a few lines of their own."""

from __future__ import annotations

import re
import string
from collections import Counter

import pytest
from helpers.scored_runs import judged
from hypothesis import given
from hypothesis import strategies as st

from howsure.scorers.open_answers import compute_f1, matches_target, normalize_answer, split_words


@pytest.mark.parametrize(
    ("completion", "target", "score"),
    [
        ("It was written by Jane Austen in 1815.", "Jane Austen", 1),
        ("Austen, Jane", "Jane Austen", 1),
        ("Joseph N. Welch said it.", "Joseph Nye Welch", 1),
        ("The Normans' kings", "the Norman king", 1),
        ("It has twenty rooms.", "20", 1),
        ("World War 2", "World War II", 1),
        ("It costs $950.00.", "950", 1),
        ("東京です", "東京", 1),
        ("On July 4, 1776", "July 2, 1776", 0),
        ("It is a comparison.", "Paris", 0),
        ("It is not Paris.", "Paris", 0),
        ("Paris is nice, but the answer is Rome.", "Paris", 0),
        ("two one three four five six seven", "one two three four five six seven", 0),
        ("USA", '["United States", "USA"]', 1),
    ],
)
def test_contains(completion, target, score):
    assert judged("contains", completion, target)[0] == score


@pytest.mark.parametrize("completion", ["Paris or Rome", "I'm sorry, I cannot say.", "", "<think>Paris"])
def test_contains_leaves_unread(completion):
    assert judged("contains", completion, "Paris") == (0.0, None)


@pytest.mark.parametrize(
    ("completion", "wanted"),
    [
        ("The Beatles", (1.0, "Beatles")),
        ("So they were. Answer: the Beatles", (1.0, "Beatles")),
        ("Beatles (a band)", (1.0, "Beatles")),
        ("the Stones", (0.0, "stones")),
        (
            "I think that this song was sung by the Beatles, and that it was in the sixties of that century.",
            (0.0, None),
        ),
        ("I don't know.", (0.0, None)),
        ("", (0.0, None)),
    ],
)
def test_normalised(completion, wanted):
    assert judged("normalised", completion, "Beatles") == wanted


def test_the_score_of_words():
    assert judged("f1", "the Nile river", '["Nile", "river Nile"]') == (1.0, "nile river")
    assert judged("f1", " ", "Nile") == (0.0, None)


def published_f1(answer, target):
    """F1 of the evaluation program of SQuAD 1.1, for ASCII without hyphens and numbers."""

    def normalize(text):
        bare = "".join(character for character in text.lower() if character not in string.punctuation)
        return re.sub(r"\b(a|an|the)\b", " ", bare).split()

    given_words, wanted = normalize(answer), normalize(target)
    same = sum((Counter(given_words) & Counter(wanted)).values())
    if not same:
        return 0.0
    precision, recall = same / len(given_words), same / len(wanted)
    return 2 * precision * recall / (precision + recall)


@given(*[st.lists(st.sampled_from(["nile", "river", "The", "blue", "Nile!"]), min_size=1, max_size=5)] * 2)
def test_f1_is_that_of_the_published_program(answer, target):
    # An article at the end stays here: vitamin A is not vitamin.
    answer, target = " ".join([*answer, "end"]), " ".join([*target, "end"])
    assert compute_f1(answer, target) == pytest.approx(published_f1(answer, target))


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("The  U.S.A.", "usa"),
        ("Köln’s", "kolns"),
        ("-5", "-5"),
        ("3.50", "3.50"),
        ("1914–1918", "1914-1918"),
        ("C++", "c++"),
        ("+", "+"),
        ("R&B", "r and b"),
        ("", ""),
    ],
)
def test_normalisation(text, normalised):
    assert normalize_answer(text) == normalised


def test_words_and_their_comparison():
    assert split_words("是 18 岁。") == ["是", "18", "岁"]
    assert matches_target("J. K. Rowling", "JK Rowling")
    assert not matches_target("Mercury (planet)", "Mercury (god)")
