"""Kind of truth: an independent oracle. Completions are put together from sentences of known meaning (rule 5)."""

from __future__ import annotations

import random

import pytest
from helpers.composed_completions import completion

from howsure.extraction.multiple_choice import read_choice
from howsure.perturb.dimensions import ENUMERATORS, WRAPPERS

CHOICES = (
    ("Rome", "Paris", "Oslo", "Bern"),
    ("red", "red wine", "red wine vinegar", "wine"),  # prefixes of each other
    ("New York", "New York City", "York", "the city of York"),
    ("Zürich", "Genève", "Łódź", "北京"),
    ("x = 5", "x < 5", "(a|b)*", "[ab]+"),  # labels and brackets within
    ("12 m", "15 m", "20 m", "25 m"),
    ("It rains", "It snows", "The sun shines", "Nothing of the kind happens"),
)


@pytest.mark.parametrize("enumerator", ENUMERATORS)
def test_what_is_meant_is_read_and_nothing_else(enumerator):
    rng = random.Random(enumerator)
    given = 0
    for _ in range(800):
        texts = rng.choice(CHOICES)
        labels = ENUMERATORS[enumerator][: len(texts)]
        wrapper = rng.choice(list(WRAPPERS.values()))
        said = completion(rng, labels, [wrapper.replace("{label}", label) for label in labels], texts)
        assert read_choice(said.text, labels, texts)[0] == said.place, (said.text, labels, texts)
        given += said.place is not None
    assert 200 < given < 600
