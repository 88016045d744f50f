"""Comparisons of two models on several benchmarks: what is said of names and left-out benchmarks, by hand."""

import warnings

import pytest

import howsure as hs
from howsure.errors import HowsureWarning


def make_cells(benchmark, scores):
    """Return cells of one generation per question; `scores` has those of each model."""
    questions = [f"q{i}" for i in range(len(next(iter(scores.values()))))]
    return hs.Cells.from_scores(benchmark, [*scores], questions, [[[s] for s in each] for each in scores.values()])


def test_benchmarks_that_a_combination_leaves_out_are_named_with_their_models():
    both = [make_cells(name, {"a": [1, 1, 1, 0], "b": [0, 1, 0, 1]}) for name in ("x", "y")]
    without = make_cells("z", {"lab/a": [1, 0], "lab/b": [0, 1], "c": [1, 1]})
    one = make_cells("w", {"a": [1, 0]})
    with pytest.warns(HowsureWarning, match=r"left out: z \(has lab/a, lab/b, c\), w \(has a\)$"):
        result = hs.combine([*both, without, one], "a", "b")
    assert result.benchmarks == ("x", "y")
    assert hs.combine(both, "a", "b").p_meta == result.p_meta


def test_two_names_with_the_same_scores_are_asked_about():
    """By hand: equal scores of ten questions, and what is none: a score that differs, nine questions, all right."""
    scores = [1, 0] * 5
    with pytest.warns(HowsureWarning, match="one and two have the same scores on every question of x: if both"):
        assert hs.compare(make_cells("x", {"one": scores, "two": scores}), "one", "two")["difference"] == [0]
    others = [([1, 0] * 5, [0, 1] * 5), (scores[:9], scores[:9]), ([1] * 12, [1] * 12)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for one, two in others:
            hs.compare(make_cells("x", {"one": one, "two": two}), "one", "two")
