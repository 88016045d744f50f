"""The order of suspicion."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from howsure.review.queue import Count, rank_label_errors


def counts(answers, target):
    """Counts of {question: {model: answers}}, scored against {question: target}."""
    found = []
    for question, models in answers.items():
        for model, own in models.items():
            for answer, n in Counter(own).items():
                found.append(Count(model, question, answer, n, n, float(n) * (answer == target[question])))
    return found


# theory


def one(models, target="A"):
    answers, targets = {"q": models, "r": {m: ["A"] for m in models}}, {"q": target, "r": "A"}
    return next(s for s in rank_label_errors("b", counts(answers, targets), targets) if s.question == "q")


def test_the_numbers_of_the_data_map():
    found = one({"m": ["A", "A", "B", "B"], "n": ["B", "B", "B", None]})
    assert found.p_correct == pytest.approx((0.5 + 0) / 2)
    # Of the answers that were read: 2 and 2 of 4, in the form sum of p (psi(n p) - psi(n)), and 3 of 3
    assert found.consistency == pytest.approx(-(1 / 2 + 1 / 3) / 2)
    assert (found.n_sets, found.n_models, found.models_agreeing, found.answer) == (2, 2, 1, "B")  # m is undecided


@pytest.mark.parametrize(
    ("models", "suspect", "on_map"),
    [
        ({"m": ["B"] * 10}, True, True),
        ({"m": ["A"] + ["B"] * 9}, True, True),  # P(correct) = .1, S = -.325
        ({"m": ["A", "A"] + ["B"] * 8}, False, False),
        ({"m": list("BBBBCCCDDD")}, False, False),  # S = -1.09
        ({"m": ["B", "B", "A"], "n": ["B", "B", "A"]}, True, False),
        ({"m": ["B", "B", "A"], "n": ["A"]}, False, False),
        ({"m": ["A"], "n": ["A"]}, False, False),
        ({"m": [None]}, False, False),
    ],
)
def test_who_is_a_suspect(models, suspect, on_map):
    assert (one(models).is_suspect, one(models).is_on_map) == (suspect, on_map)


def test_without_scores_the_target_says_what_is_right():
    found = rank_label_errors("b", [Count("m", "q", "B", 3, 0, 0.0), Count("m", "q", "A", 1, 0, 0.0)], {"q": "A"})
    assert found[0].p_correct == 0.25
    assert found[0].answer == "B"


def test_scores_without_answers_order_by_score():
    rows = [Count("m", f"q{i}", None, 4, 4, float(i)) for i in (4, 1, 3, 0, 2)]
    found = rank_label_errors("b", rows, {})
    assert [(one.question, one.p_correct) for one in found] == [(f"q{i}", i / 4) for i in range(5)]
    assert all(one.answer is None and math.isnan(one.consistency) for one in found)


def test_nothing_is_no_suspects():
    assert rank_label_errors("b", [], {}) == []
