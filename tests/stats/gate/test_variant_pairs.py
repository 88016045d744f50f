"""Pairs of question and prompt variant: values by hand, and a seeded simulation of unequal designs."""

from dataclasses import replace

import numpy as np
import pytest

from howsure.stats.core.cells import Cells
from howsure.stats.core.cube import Cube
from howsure.stats.gate import (
    compare_with_baseline,
    find_common_variants,
    has_own_variants,
    list_variants,
    split_by_variant,
)


def _cube(scores, variants=("a", "b")):
    return Cube.from_scores("demo", ["m"], ["p", "q"], variants, [scores])


def test_variants_in_which_a_model_answered():
    cube = _cube([[[1], []], [[0, 1], []]])
    assert list_variants(cube, "m") == ("a",)
    other = _cube([[[], [1]], [[1], [0]]])
    assert find_common_variants(cube, "m", other, "m") == ("a",)
    only_b = _cube([[[], [1]], [[], [0]]])
    assert find_common_variants(cube, "m", only_b, "m") == ()


def test_failures_of_a_question_are_where_scores_are_fewest():
    """q has 3 + 1 scores where 3 + 3 were asked for: of its two failures both are of variant b; one of p of a."""
    cube = _cube([[[1, 1], [1, 0, 1]], [[1, 0, 1], [0]]])
    failed = np.array([[1, 2]])
    pooled = cube.cells()
    cells = Cells("demo", ("m",), ("p", "q"), pooled.n, pooled.total, pooled.total_sq, failed=failed)
    pairs = split_by_variant(cube, cells, ("a", "b"))
    assert pairs.questions == ("p [a]", "p [b]", "q [a]", "q [b]")
    assert pairs.n.tolist() == [[2, 3, 3, 1]]
    assert pairs.failed.tolist() == [[1, 0, 0, 2]]
    assert pairs.clusters == ("p", "p", "q", "q")
    assert split_by_variant(cube, cells, ("b",)).questions == ("p [b]", "q [b]")


@pytest.mark.long
def test_unequal_numbers_of_an_easy_and_a_hard_variant_are_no_regression():
    """The baseline has more generations of the easy variant, the candidate of the hard one: pooled, that is a loss."""
    rng = np.random.default_rng(5)
    p = np.stack([np.full(40, 0.95), np.full(40, 0.4)], axis=1)
    n = np.array([[2, 6], [6, 2]])  # candidate, baseline
    failed = {"paired": 0, "pooled": 0}
    for _ in range(60):
        right = rng.binomial(n[:, None, :], p).astype(float)
        counts = np.broadcast_to(n[:, None, :], right.shape)
        names = tuple(f"q{i}" for i in range(40))
        cube = Cube("demo", ("new", "old"), names, ("easy", "hard"), counts, right, right)
        pairs = split_by_variant(cube, cube.cells(), cube.variants)
        for name, cells in (("paired", pairs), ("pooled", cube.cells())):
            gate = compare_with_baseline(cells, "new", "old", missing="as-missing")
            failed[name] += gate.verdict == "fail"
    assert failed["paired"] <= 8  # at .05 of 60 more than 8 have a probability of .003
    assert failed["pooled"] == 60


def _drawn_cube(seed, n_drawn, n_questions=40, n_variants=6, right=1.0):
    """Return a cube in which each question has one generation in each of the variants that it drew."""
    rng = np.random.default_rng(seed)
    n = np.zeros((1, n_questions, n_variants), dtype=int)
    for q in range(n_questions):
        n[0, q, rng.choice(n_variants, n_drawn, replace=False)] = 1
    return _count_cube(n, right)


def _count_cube(n, right=1.0):
    """Return a cube of one model with these numbers of generations, shape (1, N, S)."""
    names, variants = (
        tuple(f"{letter}{i}" for i in range(size)) for letter, size in zip("qv", n.shape[1:], strict=True)
    )
    return Cube("demo", ("m",), names, variants, n, n * right, n * right)


@pytest.mark.parametrize("n_drawn", [1, 3, 5])
def test_questions_that_drew_variants_of_their_own(n_drawn):
    """Two draws share no pairs by design; one draw at both sides does, also where the candidate lost some of it."""
    old, new = _drawn_cube(1, n_drawn), _drawn_cube(2, n_drawn)
    assert has_own_variants(new, "m", old, "m")
    assert find_common_variants(new, "m", old, "m") == ()
    assert not has_own_variants(old, "m", old, "m")
    fewer = old.n.copy()
    fewer[0, ::3] = 0
    assert not has_own_variants(_count_cube(fewer), "m", old, "m")


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.3])
def test_failures_on_both_sides_are_no_draws(rate):
    """All questions were asked in all 20 variants, and single generations failed at random."""
    rng = np.random.default_rng(7)
    old, new = (_count_cube((rng.random((1, 60, 20)) > rate).astype(int)) for _ in range(2))
    assert not has_own_variants(new, "m", old, "m")


def test_a_candidate_cannot_drop_the_variants_in_which_it_is_wrong():
    """The baseline has every variant of every question, the candidate of each question those that suit it."""
    full = _drawn_cube(1, 6)
    assert not has_own_variants(_drawn_cube(2, 3), "m", full, "m")
    assert len(find_common_variants(_drawn_cube(2, 3), "m", full, "m")) == 6
    other = Cube("demo", ("m",), ("x",), ("v0",), np.ones((1, 1, 1), int), np.ones((1, 1, 1)), np.ones((1, 1, 1)))
    assert not has_own_variants(other, "m", full, "m")


def test_one_question_of_eight_with_draws_of_its_own_is_no_design():
    """By hand: a quarter of eight is two; every question has two of four variants."""
    old = np.tile([1, 1, 0, 0], (1, 8, 1))
    old[0, 4:] = [0, 0, 1, 1]
    for n_own, is_own in ((0, False), (1, False), (2, True)):
        new = old.copy()
        new[0, :n_own] = [0, 1, 1, 0]
        assert has_own_variants(_count_cube(new), "m", _count_cube(old), "m") is is_own


def test_a_candidate_that_lacks_one_of_two_drawn_variants_has_no_draws_of_its_own():
    """By hand: the candidate failed in the second variant of each question, and has none that the baseline lacks."""
    old, new = np.tile([1, 1, 0, 0], (1, 8, 1)), np.tile([1, 0, 0, 0], (1, 8, 1))
    old[0, 4:] = [0, 0, 1, 1]
    new[0, 4:] = [0, 0, 0, 1]
    assert not has_own_variants(_count_cube(new), "m", _count_cube(old), "m")
    assert not has_own_variants(_count_cube(old), "m", _count_cube(new), "m")


def test_failures_beyond_what_is_lacking_are_of_the_first_variant():
    """By hand: 3 scores each where no more were asked for; 2 failures of p, none of q."""
    cube = _cube([[[1, 1, 1], [1, 0, 1]], [[1, 0, 1], [0, 0, 0]]])
    pooled = cube.cells()
    cells = Cells("demo", ("m",), ("p", "q"), pooled.n, pooled.total, pooled.total_sq, failed=np.array([[2, 0]]))
    assert split_by_variant(cube, cells, ("a", "b")).failed.tolist() == [[2, 0, 0, 0]]


def test_failures_are_those_of_the_model_and_of_variants_that_it_has():
    """By hand: the cells have another model first, and nothing was asked in c: the failure of p is of a."""
    cube = _cube([[[1, 1], [1, 0], []], [[1, 0], [0, 0], []]], ("a", "b", "c"))
    one = cube.cells()
    n, total = np.concatenate([one.n, one.n]), np.concatenate([one.total, one.total])
    cells = Cells("demo", ("x", "m"), ("p", "q"), n, total, total, failed=np.array([[0, 5], [1, 0]]))
    pairs = split_by_variant(cube, cells, ("a", "b", "c"))
    assert pairs.questions == ("p [a]", "p [b]", "q [a]", "q [b]")
    assert pairs.failed.tolist() == [[1, 0, 0, 0]]


def test_single_generations_are_pairs():
    """By hand: one generation of each pair, and none of q in b."""
    cube = _cube([[[1], [0]], [[1], []]])
    pairs = split_by_variant(cube, cube.cells(), ("a", "b"))
    assert pairs.questions == ("p [a]", "p [b]", "q [a]")
    assert pairs.n.tolist() == [[1, 1, 1]]
    assert pairs.total.tolist() == [[1, 0, 1]]


def test_variants_nested_in_questions_are_their_own():
    cube = _cube([[[1], [0]], [[1], [0]]])
    nested = replace(cube, nested=True)
    assert has_own_variants(nested, "m", cube, "m")
    assert has_own_variants(cube, "m", nested, "m")
    assert not has_own_variants(cube, "m", cube, "m")


def test_failures_of_a_question_without_any_score_are_of_no_pair():
    """By hand: question x failed throughout, and is in no prompt variant of the cube."""
    cube = _cube([[[1, 1], [1]], [[1, 0], [0, 0]]])
    n = np.array([[3, 4, 0]])
    cells = Cells("demo", ("m",), ("p", "q", "x"), n, n / 2, n / 2, failed=np.array([[1, 0, 2]]))
    assert split_by_variant(cube, cells, ("a", "b")).failed.tolist() == [[0, 1, 0, 0]]
