"""The choice that a completion concludes with. Kinds of truth: readings by hand, and the model computed by loops."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from helpers.repository_modules import module

from howsure.extraction.choice_conclusion import load_weights, weigh_conclusion
from howsure.extraction.completion_context import CompletionContext
from howsure.extraction.conclusion_features import CHOICE_FEATURES, TEXT_FEATURES, describe_conclusion
from howsure.extraction.multiple_choice import read_by_rules, read_choice
from howsure.extraction.vocabulary import build_vocabulary

#: Question, choices, completion and the index of the choice that it concludes with.
CONCLUSIONS = [
    (
        "Which test should the student use?",
        ["Paired t-test", "One-way ANOVA", "Chi-square test"],
        (
            "A chi-square test needs counts, and a paired t-test needs pairs.\n\nTo sum up, one-way ANOVA is the test the "
            "student should use."
        ),
        1,
    ),
    (
        "Which sentence contains a pun?",
        ["I used to be a banker but I lost interest.", "I used to be a banker but I moved."],
        '"Lost interest" has a double meaning. The pun is in sentence A.',
        0,
    ),
    (
        "Which way do you face at the end?",
        ["North", "South", "East", "West"],
        "You turn right once.\n\nFinal direction: East",
        2,
    ),
    (
        "Is the jewellery admissible?",
        ["Yes, as found by chance.", "No, for lack of cause.", "Yes, as found in an arrest."],
        (
            "Nobody was arrested, so (C) is wrong, and (A) is not a rule.\n\nBy elimination we're left with (B): the "
            "officer lacked cause."
        ),
        1,
    ),
    (
        "Which measure would help most?",
        ["Ploughing downhill", "Removing hedges", "Planting cover crops", "Heavier machines"],
        (
            "Heavier machines compact the soil, and without hedges more of it is lost.\nIt's clear that the third measure "
            "is the one that would help most."
        ),
        2,
    ),
    (
        "Which complication would you monitor for?",
        ["Aortic dissection", "Gout", "Lupus nephritis"],
        (
            "Anti-dsDNA antibodies go with the kidneys. In summary, you'd monitor her most closely for lupus nephritis.\n\n"
            "Let me know if you need more!"
        ),
        2,
    ),
]
#: Completions that give none of the planets.
OPEN = [
    "It may be Mars, or perhaps Venus.",
    "Mars and Venus are both bright. Is it Mars?",
    "I cannot tell which planet it is; some would say Mars.",
    "None of the options is right. The closest is not Mars either.",
    "If it were red, it would be Mars.",
    "Venus is wrong. Mars is wrong too.",
    "People often confuse it with Mars.",
    "Let me look at each planet in turn, so that the answer is clear in the end. The first one is Venus, and then Mars is",
]
PLANETS = ("Venus", "Mars", "Jupiter", "Saturn")
QUESTION = "Which planet has the shortest day?"


def read(question, choices, text, *, truncated=False):
    """Return what is read from a completion."""
    context = CompletionContext(question, tuple(choices), truncated)
    return read_choice(text, "ABCDEF"[: len(choices)], choices, expects_label=True, context=context)


@pytest.mark.parametrize(("question", "choices", "text", "place"), CONCLUSIONS)
def test_the_choice_that_a_completion_concludes_with_is_read(question, choices, text, place):
    assert read(question, choices, text) == (place, "conclusion")


@pytest.mark.parametrize(("question", "choices", "text", "place"), CONCLUSIONS)
def test_nothing_is_weighed_of_a_cut_completion_or_without_the_question(question, choices, text, place):
    del place
    assert read(question, choices, text, truncated=True)[1] != "conclusion"
    assert read("", choices, text)[1] != "conclusion"


@pytest.mark.parametrize("text", OPEN)
def test_a_completion_that_leaves_the_choice_open_concludes_with_none(text):
    assert weigh_conclusion(text, build_vocabulary(tuple("ABCD"), PLANETS), QUESTION) is None


def test_what_a_rule_reads_is_not_weighed():
    """The rules read a statement; what the sentences conclude with is not asked then."""
    text = "The answer is A. Still, all in all I'd go with Mars, which fits best."
    reading = read_by_rules(text, "ABCD", PLANETS, expects_label=True, context=CompletionContext(QUESTION, PLANETS))
    assert reading.unread == "" or reading.place is None
    assert read(QUESTION, PLANETS, text) == (reading.place, reading.why)


def test_each_feature_has_a_weight_and_the_table_says_how_it_was_fitted():
    weights = load_weights()
    assert list(weights.choice) == list(CHOICE_FEATURES)
    assert list(weights.text) == list(TEXT_FEATURES)
    assert 0.5 < weights.threshold < 1


@pytest.mark.parametrize(("question", "choices", "text", "place"), CONCLUSIONS)
def test_the_probability_is_that_of_a_conditional_logit(question, choices, text, place):
    """Kind of truth: the formula by loops; the choice is read where its probability reaches the threshold."""
    words = build_vocabulary(tuple("ABCDEF"[: len(choices)]), tuple(choices))
    features = describe_conclusion(text, words, question)
    weights = load_weights()
    exponentials = []
    for row in features.choices:
        score = 0.0
        for name in CHOICE_FEATURES:
            score += weights.choice[name] * row[name]
        exponentials.append(math.exp(score))
    score = 0.0
    for name in TEXT_FEATURES:
        score += weights.text[name] * features.text[name]
    total = sum(exponentials) + math.exp(score)
    assert exponentials[place] / total >= weights.threshold
    assert max(exponentials) == exponentials[place]


def test_the_threshold_is_that_of_enough_choices_and_one_wrong_choice_of_few_does_not_raise_it(monkeypatch):
    """By hand: 100 readings of probabilities .99, .985, ...; the third is wrong, or all from the 60th (.695) on are."""
    bench = Path(__file__).resolve().parents[2] / "bench"
    monkeypatch.syspath_prepend(bench)  # it imports the command beside it
    fitted = module(bench / "fit_conclusions.py")
    probability = np.array([0.991 - i / 200 for i in range(100)])

    def find(is_right):
        monkeypatch.setattr(fitted, "mark_right", lambda *_: np.asarray(is_right))
        return fitted.find_threshold([], [fitted.LeftOut(np.zeros(100, dtype=np.intp), probability)])

    places = np.arange(100)
    assert find(places != 2) == 0.5
    assert find((places < 60) & (places != 2)) == 0.7
    assert find(places % 2 == 0) == 1.0


def test_a_text_that_breaks_off_is_read_only_where_it_ends_with_a_choice():
    words = build_vocabulary(tuple("ABCD"), PLANETS)
    start = "There are several planets that turn quickly. Of all these planets, one has the shortest day. "
    assert weigh_conclusion(f"{start}So the planet with the shortest day is Jupiter, and its", words, QUESTION) is None
    assert weigh_conclusion(f"{start}So the planet with the shortest day is Jupiter", words, QUESTION) == 2
