"""IdenticalTexts: said when nearly every question's texts are one, and of no other log. Truth: by construction."""

import numpy as np
import pytest

from howsure.logs.identical_texts import N_COMPARED, N_FEWEST, IdenticalTexts

LONG = "a long way round to say it " * 20


def fed(questions, generations, text):
    copies = IdenticalTexts()
    for generation in range(generations):
        for question in range(questions):
            copies.add(("model", f"q{question}", "default"), text(question, generation))
    return copies


@pytest.mark.parametrize(
    ("questions", "generations", "text"),
    [
        (20, 4, lambda question, generation: f"{LONG}{question}{generation}"),
        (20, 4, lambda question, generation: f"{LONG}{question}{generation if question < 2 else 0}"),
        (20, 1, lambda question, _: f"{LONG}{question}"),
        (20, 4, lambda *_: None),
        (N_FEWEST - 1, 4, lambda question, _: f"{LONG}{question}"),
        (0, 0, lambda *_: ""),
    ],
    ids=["all differ", "a tenth differs", "one each", "no texts", "too few questions", "nothing"],
)
def test_what_is_not_said(questions, generations, text):
    assert fed(questions, generations, text).describe() is None


def test_of_a_large_log_a_fair_choice_is_kept_whatever_the_order():
    copies = fed(5000, 3, lambda question, generation: f"{question} {generation if question % 2 else 0}")
    assert len(copies._questions) == N_COMPARED
    # Each one that is kept was seen from its first generation on.
    assert all(n == 3 for _, _, n, _ in copies._questions.values())
    assert copies.is_decided
    # Half of them differ: of 100 drawn, 50 give or take 5 standard deviations of 5.
    assert 25 < sum(differs for *_, differs in copies._questions.values()) < 75
    pairs = [(question, generation) for question in range(5000) for generation in range(3)]
    other = IdenticalTexts()
    for i in np.random.default_rng(1).permutation(len(pairs)):
        question, generation = pairs[i]
        other.add(("model", f"q{question}", "default"), f"{question} {generation if question % 2 else 0}")
    assert other._questions.keys() == copies._questions.keys()
    assert {n for _, _, n, _ in other._questions.values()} == {3}
