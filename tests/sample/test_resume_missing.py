"""Which generations are owed. Kind of truth: an independent slow version (sets of cells), and theory."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from howsure.benchmarks import Question
from howsure.sample.resume import find_missing_cells, sample_questions


def slow(questions, variants, generations, present):
    wanted = set(itertools.product(questions, variants, range(1, generations + 1)))
    return wanted - {(q, v, g) for (q, v), done in present.items() for g in done}


@pytest.mark.parametrize("seed", range(20))
def test_owed_is_wanted_without_what_is_there(seed):
    rng = np.random.default_rng(seed)
    questions = [f"q{i}" for i in range(rng.integers(1, 6))]
    variants = [f"v{i}" for i in range(rng.integers(1, 4))]
    generations = int(rng.integers(1, 80))
    present = {
        (q, v): set(rng.integers(1, 90, size=rng.integers(0, 60)).tolist())
        for q, v in itertools.product([*questions, "gone"], [*variants, "gone"])
        if rng.random() < 0.7
    }
    masks = {key: sum(1 << g for g in done) for key, done in present.items()}
    owed = find_missing_cells(questions, variants, generations, masks)
    units = list(owed.tasks(questions, variants, generations))
    cells = [(questions[u.question], variants[u.variant], g) for u in units for g in u.generations]
    expected = slow(questions, variants, generations, present)
    assert len(cells) == len(set(cells))
    assert set(cells) == expected
    assert owed.wanted == len(questions) * len(variants) * generations
    assert owed.wanted - owed.there == len(expected)
    assert all(u.generations for u in units)
    # The variants of a question lie together, in the order of the questions.
    assert [(u.question, u.variant) for u in units] == sorted((u.question, u.variant) for u in units)


def test_the_plan_is_lazy():
    questions = [str(i) for i in range(100_000)]
    owed = find_missing_cells(questions, ["v"] * 50, 10**6, {})
    assert next(owed.tasks(questions, ["v"], 3)).generations == (1, 2, 3)


def test_a_smaller_limit_is_the_beginning_of_a_larger_one():
    questions = [Question(f"q{i}", "", "") for i in range(200)]
    every = sample_questions(questions, seed=3)
    assert sorted(q.id for q in every) == sorted(q.id for q in questions)
    assert sample_questions(questions, seed=3, limit=50) == every[:50]
    # Neither the order of the file nor questions that are added move the others.
    assert sample_questions(questions[::-1], seed=3) == every
    fewer = [q for q in every if int(q.id[1:]) < 150]
    assert sample_questions(questions[:150], seed=3) == fewer
    assert sample_questions(questions, seed=4) != every


def test_the_order_is_random():
    """Theory: the place of a question is uniform, so its correlation with the file's order is N(0, 1/(n-1))."""
    questions = [Question(f"q{i}", "", "") for i in range(400)]
    correlations = [
        np.corrcoef([int(q.id[1:]) for q in sample_questions(questions, seed=seed)], range(400))[0, 1]
        for seed in range(200)
    ]
    z = np.array(correlations) * np.sqrt(399)
    assert abs(z.mean()) < 4 / np.sqrt(200)
    assert 0.8 < z.std() < 1.2
