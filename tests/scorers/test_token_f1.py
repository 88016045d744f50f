"""F1 over words: cases computed by hand, and SQuAD's definition by plain loops."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pytest
from helpers.awkward_answers import cases, read_table, score_or_none, scored
from oracles import squad

from howsure.scorers.token_f1 import compute_f1

AWKWARD = Path(__file__).with_name("awkward_f1.tsv")
WORDS = ["the", "a", "red", "Red", "house,", "houses", "of", "in", "Paris", "paris.", "north", "tall", "old"]


@pytest.mark.parametrize(("spec", "question", "target", "completion", "wanted"), cases("f1"))
def test_awkward_answers(spec, question, target, completion, wanted):
    score = score_or_none(spec, completion, target, question)
    assert score is None if wanted is None else score == pytest.approx(wanted)


def test_awkward_completions_have_the_f1_that_was_computed_by_hand():
    rows = read_table(AWKWARD, 4)
    scores = [score_or_none("f1", completion.replace("⏎", "\n"), *known) for _, *known, completion, _ in rows]
    wanted = [None if row[0] == "-" else pytest.approx(float(Fraction(row[0]))) for row in rows]
    misread = {row for row, score, right in zip(rows, scores, wanted, strict=True) if score != right}
    assert misread == {row for row in rows if row[4]}


def test_f1_is_that_of_squad():
    rng = random.Random(3)
    for _ in range(1000):
        answer, *targets = (" ".join(rng.choices(WORDS, k=rng.randint(1, 7))) + " end" for _ in range(3))
        assert max(compute_f1(answer, target) for target in targets) == pytest.approx(squad.f1(answer, targets))


def test_a_text_without_statement_is_compared_as_a_whole():
    text = "There is much to say. The tower was built of iron. People like it. It has three levels and many stairs."
    assert scored("f1", text, "iron").score == pytest.approx(squad.f1(text, ["iron"]))
    assert scored("f1", "I don't know.", "iron") == (0.0, None, "refused")
