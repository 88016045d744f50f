"""Kinds of truth: hand-read cases; completions of known meaning (an independent oracle); a slow version without filters."""

from __future__ import annotations

import random
import re

import pytest
from helpers.composed_completions import completion
from helpers.long_cases import mark_long

from howsure.extraction import choice_statements
from howsure.extraction.completion_context import CompletionContext
from howsure.extraction.multiple_choice import extract_choice, read_choice
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


@pytest.mark.parametrize("labels", mark_long([(labels,) for labels in LABELS], after=1), ids=" ".join)
def test_the_last_statement_is_that_of_the_completion_as_a_whole(labels, monkeypatch):
    """The end of a completion is searched first; the result is that of a search of all of it."""
    rng = random.Random(" ".join(labels))
    words = build_vocabulary(labels, TEXTS)
    texts = []
    for _ in range(1500):
        sentences = (
            rng.choice(SENTENCES).format(rng.choice(labels), rng.choice(TEXTS)) + rng.choice((" ", " ", "\n", "\n\n"))
            for _ in range(rng.randint(1, 14))
        )
        texts.append("".join(sentences).strip())
    monkeypatch.setattr(choice_statements, "ENDING", 10**9)
    as_a_whole = [choice_statements.read_stated(text, words, True) for text in texts]
    for near in (20, 60, 200):
        monkeypatch.setattr(choice_statements, "ENDING", near)
        for text, expected in zip(texts, as_a_whole, strict=True):
            got = choice_statements.read_stated(text, words, True)
            assert got == expected or {got[1], expected[1]} <= {"none", "other"}, text
    assert sum(index is not None for index, _ in as_a_whole) > 300


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


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("All three contributed, I would say.", 0),
        ("It was all of these.", 0),
        ("All statements are right.", 0),
        ("None of them did.", 1),
        ("No one knows.", None),
        ("All wars have causes.", None),
        ("After all, it was long ago.", None),
        ("Not all.", None),
    ],
)
def test_a_common_word_is_a_choice_where_no_noun_follows(text, place):
    assert read_choice(text, "ABCD", ["All", "None", "Trade", "No"], expects_label=True)[0] == place


def test_several_sentences_are_read_by_the_only_choice_that_they_name_where_the_question_is_unknown():
    """With the question their conclusion decides, which a fact about the choice is not."""
    text, choices = "Prednisone was approved in 1955. It is a prodrug.", ["Epinephrine", "Prednisone", "Albuterol"]
    context = CompletionContext("Which drug should the nurse give first to a patient with anaphylaxis?")
    assert read_choice(text, "ABC", choices, expects_label=True) == (1, "text")
    assert read_choice(text, "ABC", choices, expects_label=True, context=context)[1] != "text"
    fits = "Antihistamines are slow. It's epinephrine."
    assert read_choice(fits, "ABC", choices, expects_label=True, context=context) == (0, "text")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        # By a person, of completions of a small model that 20 tokens cut
        ("B. Portuguese\n\nThis is a classic fallacy which equates", 1),
        ("A. English\n\nThis is a classic example of a puzzle that involves using the", 0),
        ("C\n\nThe language of most people is", 2),
        ("B. Portuguese\nC. French\nD. Ger", None),
        ("B. French\n\nMost people speak", None),
        ("Portuguese\n\nis one of the languages that", None),
        ("Let me look at each option.\n\nA. English\n\nMost people do not", None),
    ],
)
def test_the_first_line_of_a_completion_that_was_cut(text, place):
    context = CompletionContext(question="Which language do most people in Brazil speak?", truncated=True)
    index, _ = read_choice(text, "ABCD", ["English", "Portuguese", "French", "German"], context=context)
    assert index == place


@pytest.mark.parametrize(
    ("completion", "index"),
    [
        ("③번", 2),
        ("**3번**", 2),
        ("정답은 ③번입니다.", 2),
        ("정답은 3번입니다. 벌은 꿀을 만듭니다.", 2),
        ("벌은 꿀을 만들기 때문에 3번이 정답입니다.", 2),
        ("저는 3번을 선택하겠습니다.", 2),
        ("①번은 틀렸습니다. 정답은 ③번입니다.", 2),
        ("①번은 틀렸습니다.", None),
        ("③번이 정답이 아닙니다.", None),
        ("벌은 3번 날아갑니다.", None),
    ],
)
@pytest.mark.parametrize("labels", ["1234", "①②③④"])
def test_a_korean_number_is_a_label(completion, index, labels):
    """Kind of truth: readings by hand."""
    choices = ["소금", "설탕", "밀랍", "우유"]
    context = CompletionContext("다음 중 벌이 만드는 것은 무엇입니까?", tuple(choices))
    assert read_choice(completion, labels, choices, expects_label=True, context=context)[0] == index


@pytest.mark.parametrize(
    ("completion", "index"),
    [
        ("B) Paris\n\nThe correct answer is:", 1),
        ("Paris is nice, and so is Rome.\n\nThe answer is:", None),
        ("B) Paris\n\nThis answer is correct because it is common.", 1),
        ("B. Paris\n\nThis is incorrect, as Paris is far too small.", None),
        ("B\n\nThat is wrong. The answer is A.", 0),
    ],
)
def test_what_follows_a_first_line_that_is_a_choice(completion, index):
    """Kind of truth: readings by hand, after completions of small models."""
    choices = ["Rome", "Paris", "Oslo", "Bern"]
    context = CompletionContext("Which city is the capital of France?", tuple(choices))
    assert read_choice(completion, "ABCD", choices, expects_label=True, context=context)[0] == index


def test_a_remark_does_not_take_back_the_choice_that_is_wrong_where_that_is_asked_for():
    context = CompletionContext("Which statement is false?", ("Ice floats.", "Iron floats."))
    text = "B. Iron floats.\n\nThis is false because iron is denser than water."
    assert read_choice(text, "AB", context.choices, expects_label=True, context=context)[0] == 1
