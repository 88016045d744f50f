"""Where sentences speak of choices, and what they say of them. Kind of truth: readings by hand."""

from __future__ import annotations

import pytest

from howsure.extraction.choice_mentions import find_stems, read_mentions, read_question, read_reference, stem_word
from howsure.extraction.vocabulary import build_vocabulary

CHOICES = (
    "Compare sales before and after in one shop",
    "Randomly assign shops to the old or new layout",
    "Ask customers which layout they prefer",
)
DESIGNS = build_vocabulary(tuple("ABC"), CHOICES)
PLANETS = build_vocabulary(tuple("ABCD"), ("Venus", "Mars", "Jupiter", "Saturn"))


def mention(sentence, words=PLANETS, question="Which planet is red?"):
    """Return the mentions of a sentence."""
    return read_mentions(sentence, words, read_question(words, question))


@pytest.mark.parametrize(
    ("sentence", "place", "kind"),
    [
        ("I'd say option B.", 1, "label"),
        ("The pun is in sentence A.", 0, "label"),
        ("Statement (b) is sarcastic.", None, None),
        ("The third planet of the list, that is the third option.", 2, "position"),
        ("Go with number 1, as it is red.", 0, "position"),
        ("It is Mars.", 1, "text"),
        ("It is Mars (B).", 1, "both"),
        ("A planet is a body.", None, None),
        ("We see P(B) here.", None, None),
    ],
)
def test_labels_positions_and_texts_mention_choices(sentence, place, kind):
    mentions = mention(sentence)
    assert [(choice, one.kind) for choice, one in mentions.items()] == ([] if place is None else [(place, kind)])


def test_small_letters_in_brackets_are_labels_where_labels_are_small():
    words = build_vocabulary(tuple("abc"), ("Venus", "Mars", "Saturn"))
    assert list(mention("Statement (b) is sarcastic.", words)) == [1]


def test_distinctive_words_mention_a_choice_by_their_stems():
    mentions = mention("So random assignment of shops to an old or a new layout is best.", DESIGNS, "Which design?")
    assert [(place, one.kind) for place, one in mentions.items()] == [(1, "words")]
    assert mentions[1].strength < 1
    assert mention("The layout of a shop matters.", DESIGNS, "Which design?") == {}


def test_words_of_the_question_alone_mention_no_choice():
    words = build_vocabulary(("A", "B"), ("No mode", "23"))
    assert mention("The mode is the number that occurs most often.", words, "What is the mode?") == {}


def test_amounts_are_choices_however_they_are_written():
    words = build_vocabulary(tuple("ABC"), ("$200", "$220", "$20"))
    assert list(mention("The total is $220.00.", words, "What is the total?")) == [1]
    assert list(mention("You pay 220 dollars.", words, "What is the total?")) == [1]


def test_a_number_that_counts_something_else_is_only_considered():
    words = build_vocabulary(tuple("ABC"), ("4", "5", "6"))
    question = "How many isomers does hexane have?"
    assert mention("The molecule has 6 carbon atoms.", words, question)[2].is_considered
    assert not mention("The molecule has 5 isomers.", words, question)[1].is_considered


@pytest.mark.parametrize(
    "sentence",
    [
        "Venus is not red.",
        "A is wrong.",
        "Option A can be ruled out.",
        "Unlike Venus, it is far away.",
        "Rather than Venus, it is another one.",
        "A, C and D are wrong.",
        "C is wrong, and so is A.",
    ],
)
def test_a_choice_is_denied_in_its_clause(sentence):
    assert mention(sentence)[0].is_denied


@pytest.mark.parametrize("sentence", ["Venus is red, but Mars is not.", "So it's Venus, as the others aren't red."])
def test_the_denial_of_another_clause_is_none(sentence):
    assert not mention(sentence)[0].is_denied


@pytest.mark.parametrize(
    "sentence",
    [
        "Is it Venus?",
        "Whether it is Venus is open.",
        "Many people think it is Venus.",
        "Between Venus and Mars we choose.",
    ],
)
def test_a_choice_is_considered_in_questions_and_reports(sentence):
    assert mention(sentence)[0].is_considered


def test_what_is_false_is_asked_for_by_the_last_sentence_of_the_question():
    about = read_question(PLANETS, "No planet is flat. Which statement is incorrect?")
    assert (about.asks_false, about.asks_wrong) == (True, True)
    about = read_question(PLANETS, "Some planets are not hot. Which planet is red?")
    assert (about.asks_false, about.asks_wrong) == (False, False)
    about = read_question(PLANETS, "Which planet is NOT red?\nA) False\nB) Mars")
    assert (about.asks_false, about.asks_wrong) == (False, True)
    valid = build_vocabulary(("A", "B"), ("valid", "invalid"))
    assert not read_question(valid, "Is the argument valid or invalid?").asks_wrong


def test_a_pronoun_mentions_the_choice_of_the_sentence_before():
    about = read_question(PLANETS, "Which planet is red?")
    before = read_mentions("Venus is near.", PLANETS, about)[0]
    assert read_reference("This one fits best.", before, about).is_supported
    assert read_reference("It is not red.", before, about).is_denied
    assert read_reference("The sky is blue.", before, about) is None


def test_labels_that_are_names_in_the_question_need_a_mark():
    question = "If A and B are events, which planet is red?"
    assert list(mention("Here C is empty. D stays.", question=question)) == []
    assert list(mention("Here C is empty.")) == [2]


def test_stems_join_the_forms_of_a_word():
    assert stem_word("randomised") == stem_word("randomly")
    assert stem_word("assigned") == stem_word("assign") == stem_word("assigns")
    assert stem_word("1,250") == "1,250"
    assert find_stems("The shops of a town") == ["shop", "town"]
