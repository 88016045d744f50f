"""Comparisons of two models on several benchmarks: what is said of names and left-out benchmarks, by hand."""

import warnings

import pytest

import howsure as hs
from howsure.errors import HowsureWarning, InputError


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


def test_benchmarks_with_common_questions_are_named_where_they_are_combined():
    """The same three questions under two names count twice; running numbers are the ids of any benchmark."""
    own, numbers = ["paris", "rome", "oslo"], ["1", "2", "3"]
    scores = {"a": [[1], [1], [0]], "b": [[0], [1], [0]]}

    def make_benchmarks(names: str, questions: list[str]) -> list[hs.Cells]:
        return [hs.Cells.from_scores(name, [*scores], questions, [*scores.values()]) for name in names]

    with pytest.warns(HowsureWarning, match="x and y have 3 question ids in common; if these are the same questions, "):
        hs.combine(make_benchmarks("xy", own), "a", "b")
    with pytest.warns(HowsureWarning, match="in common, and so have 5 other pairs of benchmarks; if") as caught:
        hs.combine(make_benchmarks("wxyz", own), "a", "b")
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hs.combine(make_benchmarks("xy", numbers), "a", "b")
        hs.combine(make_benchmarks("xy", [f"q{number}" for number in numbers]), "a", "b")


def test_a_plan_is_of_the_benchmarks_that_have_the_models():
    """Two benchmarks that call the models differently left no pair of names with which a plan could be made."""
    x = make_cells("x", {"a": [1, 0, 1, 1, 0, 1], "b": [0, 0, 1, 1, 1, 0]})
    y = make_cells("y", {"lab/a": [1, 0, 1], "lab/b": [0, 1, 0]})
    with pytest.warns(HowsureWarning, match=r"left out: y \(has lab/a, lab/b\)$"):
        both = hs.plan([x, y], a="a", b="b", budget=100)
    assert list(both["benchmark"]) == ["x"] * len(both["benchmark"])
    with pytest.warns(HowsureWarning, match=r"results of lab/a are left out: x"):
        assert set(hs.plan([x, y], a="lab/a", budget=100)["benchmark"]) == {"y"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of what is left out where nothing is left
        with pytest.raises(InputError, match="no benchmark has both 'a' and 'lab/b'"):
            hs.plan([x, y], a="a", b="lab/b", budget=100)
    with pytest.raises(InputError, match="b without a"):
        hs.plan(x, b="b", budget=100)


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
