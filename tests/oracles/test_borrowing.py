"""Borrowed scores: the simplest control variate by theory, and what any such estimate must keep, of the public functions."""

from itertools import combinations
from statistics import mean

import numpy as np
import pytest
from oracles import borrowing as oracle

import howsure
from howsure.stats.core.cells import Cells

X = [0.1, 0.2, 0.4, 0.5, 0.7, 0.9]
Y = [0.0, 0.3, 0.2, 0.6, 0.9, 0.8]


def test_a_predictor_that_says_nothing_leaves_the_plain_mean():
    answers = {0: 0.0, 2: 1.0, 3: 0.5, 5: 1.0}
    found = oracle.control_variate([0.4] * 6, answers)
    assert found.score == pytest.approx(mean(answers.values()))
    assert found.se_new == pytest.approx(np.std(list(answers.values()), ddof=1) / 2)


def test_a_perfect_predictor_gives_the_mean_of_all():
    line = [0.2 + 0.5 * x for x in X]
    found = oracle.control_variate(X, {q: line[q] for q in (0, 1, 4)})
    assert found.score == pytest.approx(mean(line))
    assert found.se_these == pytest.approx(0, abs=1e-12)


def test_with_a_given_slope_no_subset_is_favoured():
    """Theory: over all subsets of the questions, the mean of the estimates is the truth exactly."""
    found = [
        oracle.with_slope(X, {q: Y[q] for q in asked}, dict.fromkeys(asked, 0.7)).score
        for asked in combinations(range(6), 3)
    ]
    assert mean(found) == pytest.approx(mean(Y))


def test_a_predictor_of_the_answers_saves_squared_error():
    """By enumeration of all subsets: less than the plain mean where the two go together."""
    plain, borrowed = [], []
    rng = np.random.default_rng(0)
    x = rng.random(12)
    y = 0.1 + 0.8 * x + 0.05 * rng.standard_normal(12)
    for asked in combinations(range(12), 6):
        answers = {q: float(y[q]) for q in asked}
        plain.append((mean(answers.values()) - y.mean()) ** 2)
        borrowed.append((oracle.control_variate(x.tolist(), answers).score - y.mean()) ** 2)
    assert mean(borrowed) < mean(plain) / 5


# What any borrowed score must keep, whatever its regression.

N, MODELS = 400, 12


def world(seed, *, like=1.0, k=1, n=100, reference_k=20):
    """A new model whose logits are the shared difficulty times `like`; the reference; true P(correct)."""
    rng = np.random.default_rng(seed)
    difficulty = rng.normal(0, 1.8, N)
    p = 1 / (1 + np.exp(difficulty + rng.normal(0, 0.3, (MODELS, N)) + rng.normal(0, 0.7, (MODELS, 1))))
    own = like * difficulty + (0 if like else 1) * rng.permutation(difficulty)
    new = 1 / (1 + np.exp(own))
    questions = tuple(f"q{i}" for i in range(N))
    total = rng.binomial(reference_k, p).astype(float)
    counts = np.full((MODELS, N), reference_k)
    reference = Cells("demo", tuple(f"r{i}" for i in range(MODELS)), questions, counts, total, total)
    asked = np.sort(rng.choice(N, n, replace=False))
    right = rng.binomial(k, new[asked])[None].astype(float)
    names = tuple(questions[i] for i in asked)
    return Cells("demo", ("new",), names, np.full((1, n), k), right, right), reference, float(new.mean())


def row(results, i=0):
    return {name: values[i] for name, values in results.columns().items()}


def test_the_plain_score_stands_beside_it():
    cells, reference, _ = world(0)
    found, plain = row(howsure.score(cells, borrow=reference)), row(howsure.score(cells))
    assert found["score_plain"] == pytest.approx(plain["score"])
    assert found["se_plain"] == pytest.approx(plain["se"])
    assert (found["n_reference"], found["n_all"]) == (MODELS, N)
    assert 0 <= found["low"] <= found["score"] <= found["high"] <= 1


def test_an_unrelated_reference_changes_little():
    found = [row(howsure.score(world(seed, like=0.0)[0], borrow=world(seed, like=0.0)[1])) for seed in range(20)]
    moved = [(r["score"] - r["score_plain"]) / r["se_plain"] for r in found]
    assert np.sqrt(np.mean(np.square(moved))) < 0.4
    assert 0.85 < np.mean([r["se"] / r["se_plain"] for r in found]) < 1.1


def test_a_perfect_reference_gives_the_mean_of_all():
    error, plain_error, ratio = [], [], []
    for seed in range(20):
        cells, reference, truth = world(seed, k=200, n=60, reference_k=200)
        found = row(howsure.score(cells, borrow=reference, claim="these-questions"))
        error.append(found["score"] - truth)
        plain_error.append(found["score_plain"] - truth)
        ratio.append(found["se"] / row(howsure.score(cells))["se"])
    assert np.mean(np.square(error)) < np.mean(np.square(plain_error)) / 5
    assert np.mean(ratio) < 0.5


def test_new_questions_are_less_certain_than_the_references_own():
    cells, reference, _ = world(1)
    these, new = (
        row(howsure.score(cells, borrow=reference, claim=claim)) for claim in ("these-questions", "new-questions")
    )
    assert these["score"] == pytest.approx(new["score"])
    assert these["se"] < new["se"]
    assert row(howsure.score(cells, borrow=reference))["se"] == new["se"]


def test_questions_not_asked_may_be_absent_or_empty():
    cells, reference, _ = world(2)
    n, total = np.zeros((1, N), int), np.zeros((1, N))
    at = [reference.questions.index(question) for question in cells.questions]
    n[:, at], total[:, at] = cells.n, cells.total
    padded = Cells("demo", ("new",), reference.questions, n, total, total)
    a, b = (row(howsure.score(c, borrow=reference)) for c in (cells, padded))
    for name in ("score", "se", "low", "high", "score_plain", "se_plain"):
        assert a[name] == pytest.approx(b[name]), name


def test_a_model_is_left_out_of_its_own_reference():
    _, reference, _ = world(3)
    part = reference.select(["r0"], reference.questions[::4])
    others = reference.select(list(reference.models[1:]))
    with_itself = row(howsure.score(part, borrow=reference))
    without = row(howsure.score(part, borrow=others))
    assert with_itself["n_reference"] == without["n_reference"] == MODELS - 1
    for name in ("score", "se", "low", "high"):
        assert with_itself[name] == pytest.approx(without[name]), name


def test_questions_that_the_reference_lacks_are_not_dropped_in_silence():
    cells, reference, _ = world(4)
    poor = reference.select(None, [q for q in reference.questions if q not in cells.questions[:10]])
    found = row(howsure.score(cells, borrow=poor))
    assert "10 answered questions are not in the reference: left out" in found["note"]
    assert found["n_questions"] == len(cells.questions) - 10
    assert found["n_all"] == N - 10


def test_a_difference_has_the_plain_one_beside_it():
    cells, reference, _ = world(5)
    rng = np.random.default_rng(5)
    other = rng.binomial(1, 0.5, (1, len(cells.questions))).astype(float)
    both = cells + Cells("demo", ("other",), cells.questions, np.ones_like(cells.n), other, other)
    found, plain = (
        row(howsure.compare(both, "new", "other", borrow=reference)),
        row(howsure.compare(both, "new", "other")),
    )
    assert found["difference_plain"] == pytest.approx(plain["difference"])
    assert found["se_plain"] == pytest.approx(plain["se"])
    assert found["low"] <= found["difference"] <= found["high"]
