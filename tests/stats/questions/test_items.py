"""The table of questions. Kind of truth: values by hand, and correlations by numpy."""

import itertools

import numpy as np
import pytest

from howsure.stats.core.cells import Cells
from howsure.stats.questions.items import _compute_discrimination, compute_question_tau, describe_questions


def test_discrimination_is_the_correlation_with_the_other_questions():
    """Another program: numpy's correlation of a question's means with the means of the others, answers missing too."""
    rng = np.random.default_rng(7)
    scores = rng.integers(0, 2, (6, 5, 2)).astype(float).tolist()
    scores[0][1], scores[3][1], scores[4][4] = [], [], []
    cells = Cells.from_scores("b", [f"m{i}" for i in range(6)], [f"q{j}" for j in range(5)], scores)
    means = [[np.mean(cell) if cell else np.nan for cell in row] for row in scores]
    expected = []
    for j in range(5):
        answered = [row for row in means if not np.isnan(row[j])]
        others = [np.nanmean([x for i, x in enumerate(row) if i != j]) for row in answered]
        expected.append(np.corrcoef([row[j] for row in answered], others)[0, 1])
    assert _compute_discrimination(cells) == pytest.approx(expected)


def test_the_table_of_questions_by_hand():
    """Three models; right are 2 of 2, 1 of 3, 0 of 3 and 0 of 1 models, and nobody answered the last question."""
    scores = [
        [[1, 1], [1, 0], [0], [], []],
        [[1], [0], [0], [0, 0], []],
        [[], [0], [0], [], []],
    ]
    cells = Cells.from_scores("demo", ["a", "b", "c"], ["easy", "middle", "hard", "once", "none"], scores)
    table = describe_questions(cells)
    rows = {row["question"]: row for row in table}
    assert [row["question"] for row in table][-1] == "none"  # without a difficulty
    ordered = [row["difficulty"] for row in table][:-1]
    assert ordered == sorted(ordered, reverse=True)
    names = ("benchmark", "n_models", "n_solved", "n_generations", "score")
    assert [[rows[question][name] for name in names] for question in ("easy", "middle", "hard", "once")] == [
        ["demo", 2, 2, 3, 1],
        ["demo", 3, 1, 4, pytest.approx(1 / 6)],
        ["demo", 3, 0, 3, 0],
        ["demo", 1, 0, 2, 0],
    ]
    tau = compute_question_tau(cells).tau
    assert rows["middle"]["tau"] == pytest.approx(tau[1])
    assert tau[1] > 0
    # the scores 1/2, 0, 0 have three orders, of which 1/2 is at either end in two
    assert rows["middle"]["p_value"] == pytest.approx(2 / 3)
    assert rows["none"]["note"] == "no scores"
    assert "always answered right" in rows["easy"]["note"]
    assert rows["middle"]["note"] == ""
    assert "no model answered it right" in rows["hard"]["note"]
    assert "all models alike" in rows["hard"]["note"]
    assert "fewer than two models" in rows["once"]["note"]


def test_the_p_value_of_tau_of_a_few_models_counts_their_orders():
    """By listing all orders of six models, with ties in the question; where ability ties too, there is none."""
    draw = np.random.default_rng(3)
    right = draw.random((6, 30, 3)) < 0.2 + 0.1 * np.arange(6)[:, None, None]
    cells = Cells.from_scores("b", list("abcdef"), [f"q{q}" for q in range(30)], right.astype(int).tolist())
    result = compute_question_tau(cells)
    n_ties = 0
    for question, (tau, p_value) in enumerate(zip(result.tau, result.p_value, strict=True)):
        own = cells.mean[:, question].round(12)
        others = np.delete(cells.mean, question, axis=1).mean(axis=1).round(12)
        if min(len(set(own)), len(set(others))) == 1:
            assert np.isnan(tau)
        elif max(len(set(own)), len(set(others))) < 6:
            n_ties += 1
            assert np.isnan(p_value)
        else:
            sign = np.sign(np.subtract.outer(own, own))
            orders = [np.array(order) for order in itertools.permutations(others)]
            agree = [np.sum(sign * np.sign(np.subtract.outer(order, order))) for order in orders]
            assert p_value == pytest.approx(np.mean(np.abs(agree) >= abs(agree[0]) - 0.5))
    assert 0 < n_ties < 15


def test_questions_that_all_of_many_models_answer_alike_have_no_p_value():
    scores = [[[1], [float(i > 5)], [float(i > 3)]] for i in range(12)]
    table = describe_questions(Cells.from_scores("b", [f"m{i}" for i in range(12)], list("pqr"), scores))
    p_value = dict(zip(table["question"], table["p_value"], strict=True))
    assert np.isnan(p_value["p"])
    assert 0 < p_value["q"] < 0.05
