"""The model that chooses an open answer. Kind of truth: cases that were judged by hand, and theory (probabilities)."""

from __future__ import annotations

import pytest
from helpers.awkward_answers import score_or_none

from howsure.extraction.answer_ranking import choose_answer, list_candidates
from howsure.extraction.answer_spans import list_content, list_spans, parse_sentences
from howsure.extraction.completion_context import CompletionContext
from howsure.extraction.open_answers import read_by_rules, read_open_answer


def list_texts(text, question):
    """Return the texts of the spans of a sentence."""
    return [span.text for span in list_spans(parse_sentences([text], list_content(question)))]


@pytest.mark.parametrize(
    ("question", "target", "completion"),
    [
        (
            "What is the capital of Mongolia?",
            "Ulaanbaatar",
            "Mongolia's capital city, **Ulaanbaatar**, has 1.6 million people.",
        ),
        ("What currency is used in Kenya?", "Kenyan shilling", "Kenya uses the Kenyan shilling (KES, KSh)."),
        (
            "In which novel does Captain Ahab appear?",
            "Moby-Dick",
            "Ahab is the captain in Melville's novel *Moby-Dick*.",
        ),
        ("Where was the treaty signed?", "Versailles", "It was signed in Versailles, France, on 28 June 1919."),
        ("How long is the trail?", "4.2 km", "The trail is 4.2 km long."),
        (
            "Name the Baltic states.",
            "Estonia, Latvia, Lithuania",
            "They are:\n\n1. **Estonia** – Tallinn\n2. **Latvia** – Riga\n3. **Lithuania** – Vilnius",
        ),
    ],
)
def test_an_answer_beside_other_words_is_read(question, target, completion):
    assert score_or_none("normalised", completion, target, question) == 1


@pytest.mark.parametrize(
    ("question", "target", "completion"),
    [
        ("Who wrote Emma?", "Mary Shelley", "Emma was written by Jane Austen, not by Mary Shelley, in 1815."),
        (
            "What is the capital of Peru?",
            "Cusco",
            "Many tourists believe that the capital of Peru is Cusco, in the Andes.",
        ),
        ("What is the capital of Peru?", "Lima", "If the capital of Peru were Lima, the river would be the Rímac."),
    ],
)
def test_what_is_denied_doubted_or_one_of_two_is_not_right(question, target, completion):
    assert score_or_none("normalised", completion, target, question) != 1


@pytest.mark.parametrize(
    ("text", "question", "part"),
    [
        ("It was painted by Leonardo da Vinci.", "Who painted it?", "Vinci"),
        ("It sank on April 15, 1912.", "When did it sink?", "15, 1912"),
        ("The trip takes 35 minutes.", "How long does it take?", "minutes"),
        ('She wrote "Gorillas in the Mist".', "What did she write?", "Mist"),
    ],
)
def test_names_dates_amounts_and_titles_are_not_divided(text, question, part):
    texts = list_texts(text, question)
    assert part not in texts
    assert any(part in other for other in texts)


def test_probabilities_of_the_candidates_are_of_a_softmax():
    """Kind of truth: theory. One candidate alone has probability 1, and the answer of several has at least 1/n."""
    assert choose_answer(None, "none", [], "Who wrote it?") == (None, 1.0)
    sentences, question = ["Japan uses the Japanese yen (JPY)."], "What currency is used in Japan?"
    candidates = list_candidates(None, "none", sentences, question)
    answer, probability = choose_answer(None, "none", sentences, question)
    assert answer == "the Japanese yen"
    assert 1 / len(candidates) <= probability < 1


def test_the_target_is_not_known_to_the_reading():
    """Kind of truth: what is read does not depend on the target."""
    completion, question = (
        "Ottawa is the capital of Canada, and Toronto its largest city.",
        "What is the capital of Canada?",
    )
    assert score_or_none("normalised", completion, "Ottawa", question) == 1
    assert score_or_none("normalised", completion, "Toronto", question) == 0


def test_what_a_model_takes_back_is_not_read():
    context = CompletionContext("Who painted it?")
    assert (
        read_open_answer("The painter was Goya. Hold on, it was painted by Diego Velázquez.", context)[0]
        == "Diego Velázquez"
    )


def test_a_statement_and_a_short_reply_are_read_by_rules_only():
    context = CompletionContext("Who wrote Emma?")
    for text in ("The answer is Jane Austen.", "Jane Austen", "I don't know who wrote it, it may be Jane Austen."):
        assert read_by_rules(text, context).sentences == ()
    assert read_by_rules("Emma was written by Jane Austen in 1815.", context).sentences != ()
