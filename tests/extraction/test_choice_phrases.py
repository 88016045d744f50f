"""Kinds of truth: an independent slow version (the completion as a whole, every filter left out); a list by hand."""

from __future__ import annotations

import random
import re

import pytest

from howsure.extraction import choices, statements
from howsure.extraction.vocabulary import any_of, vocabulary

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
    marks, choices._MARKS = choices._MARKS, everywhere
    vars(words.labels).update(dict.fromkeys(filters, everywhere))
    try:
        return statements.stated(choices._plain(text, words))
    finally:
        choices._MARKS = marks
        vars(words.labels).update(filters)


@pytest.mark.parametrize("labels", LABELS, ids=" ".join)
def test_the_last_statement_is_that_of_the_completion_as_a_whole(labels):
    rng = random.Random(" ".join(labels))
    words = vocabulary(labels, TEXTS)
    found = ends = 0
    for _ in range(1500):
        said = (
            rng.choice(SENTENCES).format(rng.choice(labels), rng.choice(TEXTS)) + rng.choice((" ", " ", "\n", "\n\n"))
            for _ in range(rng.randint(1, 14))
        )
        text = "".join(said).strip()
        wanted = as_a_whole(text, words)
        assert choices.statement(text, words) == wanted, text
        found += wanted is not None
        ends += len(list(choices._ends(text, words))) > 1
    assert found > 1000
    assert (ends > 500) != words.labels.have_ends


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
    assert all(choices.HEDGE.search(f"It {word}.") for word in said)
    said += ["whether", "can't say", "do not think", "don’t know", "doubt", "unable to"]
    assert all(any(word in phrase for word in choices._OPEN) for phrase in said)
    assert not any(choices.HEDGE.search(text) for text in ("dismay", "I see", "mayor", "the guests", "can", "either_"))


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
