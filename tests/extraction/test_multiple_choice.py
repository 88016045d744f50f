"""Kinds of truth: hand-read cases; completions of known meaning (an independent oracle); a slow version without filters."""

from __future__ import annotations

import random
import re

import pytest
from helpers.composed_completions import completion

from howsure.extraction import multiple_choice, statements
from howsure.extraction.multiple_choice import extract_choice
from howsure.extraction.statements import extract_text
from howsure.extraction.vocabulary import any_of, build_vocabulary


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("B", "B"),
        ("b", "B"),
        ("(B)", "B"),
        ("**B**.", "B"),
        ("It is Paris.\n\nB", "B"),
        ("The answer is (B).", "B"),
        ("The answer is B because A is wrong.", "B"),
        ("Answer: **B) Paris**", "B"),
        ("The answer is B, not C.", "B"),
        ("The answer is A. No: the answer is D", "D"),
        ("\\boxed{C}", "C"),
        ("\\boxed{\\text{C}}", "C"),
        ("B) Paris", "B"),
        ("(B) Paris", "B"),
        ("B. Paris", "B"),
        ("B because it lies on the Seine.", "B"),
        ("The correct option is C", "C"),
        ("I looked at both. It is C.", "C"),
        ("I choose (D).", "D"),
        ("The answer is A. No: option D is correct.", "D"),
        ("<think>The answer is B.</think>\nC", "C"),
        ("It is Paris, I would say: **B**.\nNothing else fits.", "B"),
        ("Ｂ", "B"),
        ("I think the answer is B, I would say.", "B"),
        ("A or B", None),
        ("<think>The answer is B.", None),
        ("I do not think the answer is B.", None),
        ("**A** or **B**", None),
        ("A. Rome or B. Paris", None),
        ("The answer is A or B", None),
        ("The answer is Paris", None),
        ("I think Paris", None),
        ("A dog", None),
        ("A) Paris\nB) Rome and more", None),
        ("", None),
    ],
)
def test_reads_as_a_person_does(text, choice):
    assert extract_choice(text) == choice


def test_letters_are_read_as_they_are_where_the_choices_are_known():
    rng = random.Random(7)
    texts = ("Rome", "Paris", "Oslo", "Bern")
    read = 0
    for _ in range(1500):
        said = completion(rng, "ABCD", ["A)", "B)", "C)", "D)"], texts)
        if not any(text in said.text for text in texts):  # whose letter only the choices tell
            assert extract_choice(said.text) == (None if said.place is None else "ABCD"[said.place]), said.text
            read += said.place is not None
    assert read > 300


def test_exact_answers_ignore_case_and_spaces():
    assert extract_text("  New \n YORK ") == extract_text("new york") == "new york"
    assert extract_text(" \n") is None


TEXTS = ("Rome", "is so", "B only", "x")
LABELS = (tuple("ABCD"), tuple("abcd"), tuple("1234"), ("I", "II", "V", "VI"), ("A.", "a b", "?", "so"))
SENTENCES = (
    *("It is {}.", "So {}.", "Therefore, {}", "That's {}, because", "I choose {}.", "I would not pick {}.", "{} is right."),
    *("The answer is {}. {}", "{}. {}", "Answer: {}", "My choice: {}", "option {}.", "The answer is not {}.", "**{}**"),
    *("I doubt it is {}.", "I cannot say whether it is {}!", "Maybe so.", "To my dismay.", "It is mıght be. Or {}?"),
    *("Perhaps!", "It may be", "U.S. towns.", "I see what is meant here, in any case.", "#### 1. Step", "The wrong answer is {}."),
)  # fmt: skip


def as_a_whole(text, words):
    """Every pattern over all of the text, one after the other."""
    everywhere = re.compile("")
    filters = {name: getattr(words.labels, name) for name in ("dot", "alone", "choosing")}
    marks, multiple_choice._OPTION_WORD = multiple_choice._OPTION_WORD, everywhere
    vars(words.labels).update(dict.fromkeys(filters, everywhere))
    try:
        return statements.find_statement(multiple_choice._rewrite_statements(text, words))
    finally:
        multiple_choice._OPTION_WORD = marks
        vars(words.labels).update(filters)


@pytest.mark.parametrize("labels", LABELS, ids=" ".join)
def test_the_last_statement_is_that_of_the_completion_as_a_whole(labels):
    rng = random.Random(" ".join(labels))
    words = build_vocabulary(labels, TEXTS)
    found = ends = 0
    for _ in range(1500):
        said = (
            rng.choice(SENTENCES).format(rng.choice(labels), rng.choice(TEXTS)) + rng.choice((" ", " ", "\n", "\n\n"))
            for _ in range(rng.randint(1, 14))
        )
        text = "".join(said).strip()
        wanted = as_a_whole(text, words)
        assert multiple_choice._find_statement(text, words) == wanted, text
        found += wanted is not None
        ends += len(list(multiple_choice._ends(text, words))) > 1
    assert found > 1000
    assert (ends > 500) != words.labels.have_sentence_ends


def test_what_may_hedge_the_next_sentence_is_all_that_hedges():
    said = [
        "maybe",
        "might",
        "may",
        "could",
        "perhaps",
        "possibly",
        "either",
        "unsure",
        "guess",
        "depends",
        "unclear",
        "unknown",
        "refuse",
        "sorry",
        "unable",
    ]
    said += ["cannot", "can not", "do not", "not sure", "not certain", "not enough", "no idea"]
    said += [f"{verb}n{mark}t" for verb in ("ca", "wo", "do", "does", "is", "are") for mark in "'’"]
    assert all(multiple_choice._HEDGE.search(f"It {word}.") for word in said)
    said += ["whether", "can't say", "do not think", "don’t know", "doubt", "unable to"]
    assert all(any(word in phrase for word in multiple_choice._HEDGING_WORDS) for phrase in said)
    assert not any(
        multiple_choice._HEDGE.search(text) for text in ("dismay", "I see", "mayor", "the guests", "can", "either_")
    )


@pytest.mark.parametrize("words", [("so", "it['’]s", "is", "go\\s+with"), ("may", "maybe", "can['’]t")])
def test_any_of_is_a_search_for_whole_words_in_any_case(words):
    fast, slow = re.compile(any_of(*words) + r"\b"), re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)
    rng, found = random.Random(len(words)), 0
    for _ in range(3000):
        text = "".join(
            rng.choices(["so", "ıs", "It's", "it’S", "İt's", "GO \n with", "_", " ", "MAYbe", "can't", "-", "i"], k=6)
        )
        spans = [match.span() for match in slow.finditer(text)]
        assert [match.span() for match in fast.finditer(text)] == spans, text
        found += bool(spans)
    assert found > 150
