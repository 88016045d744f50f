"""Unparsed answers by prompt variant and by value. Kind of truth: values by hand."""

import numpy as np
import pytest

from howsure.errors import InputError
from howsure.stats.core.cube import Cube
from howsure.stats.prompts.unparsed import estimate_unparsed_effect, list_drawn_values


def build_cube(variants=5, default=None, values=None):
    """Return one model with 2 generations of each of 3 questions in each variant, one of them right."""
    n = np.full((1, 3, variants), 2)
    names = tuple(f"v{s}" for s in range(variants))
    return Cube("demo", ("a",), tuple("pqr"), names, n, n / 2, n / 2, values or {}, default)


def test_shares_by_value_and_by_prompt_by_hand():
    """All answers of v2 and v3, which are terse, are unparsed, and none of v0 and v1; half of the default prompt's."""
    cube = build_cube(5, 4, {"style": ("plain", "plain", "terse", "terse", "")})
    counts = np.tile([0, 0, 2, 2, 1], (1, 3, 1))
    effect = estimate_unparsed_effect(cube, counts)
    by_value = effect.values
    columns = {name: values.tolist() for name, values in by_value.columns().items()}
    assert columns == {
        "model": ["a", "a"],
        "dimension": ["style", "style"],
        "value": ["plain", "terse"],
        "n_variants": [2, 2],
        "unparsed": [0, 1],
    }
    # Nothing varies within a value: the value explains all of it, with a p-value of 0.
    assert [by_value.name(i) for i in by_value.blamed] == ["style: terse"]
    rows = [(row["dimension"], row["value"], row["n_variants"], row["unparsed"]) for row in effect]
    assert rows == [
        ("all prompts", "", 4, 0.5),
        ("style", "terse", 2, 1),
        ("style", "plain", 2, 0),
        ("prompt", "v2", 1, 1),
        ("prompt", "v3", 1, 1),
        ("prompt", "v0", 1, 0),
        ("prompt", "v1", 1, 0),
        ("default prompt", "v4", 1, 0.5),
    ]


def test_variants_of_a_model_are_those_with_its_answers():
    """By hand: the second model was not sampled in v3, which is terse, and no model in v4, which is plain."""
    n = np.full((2, 3, 5), 2)
    n[1, :, 3] = n[:, :, 4] = 0
    values = {"style": ("plain", "plain", "terse", "terse", "plain")}
    cube = Cube("demo", ("a", "b"), tuple("pqr"), tuple(f"v{s}" for s in range(5)), n, n / 2, n / 2, values)
    effect = estimate_unparsed_effect(cube, np.zeros_like(n))
    found = {(row["model"], row["value"] or row["dimension"]): row["n_variants"] for row in effect}
    assert (found["a", "all prompts"], found["b", "all prompts"]) == (4, 3)
    assert (found["a", "terse"], found["b", "terse"]) == (2, 1)
    assert (found["a", "plain"], found["b", "plain"]) == (2, 2)
    assert (found["a", "v3"], found["b", "v3"], found["a", "v4"]) == (1, 0, 0)
    by_value = dict(zip(effect.values.values, effect.values.n_variants.tolist(), strict=True))
    assert by_value == {"plain": 2, "terse": 2}


def test_variants_without_values_have_no_dimensions():
    assert list_drawn_values(build_cube(3)) == ([0, 1, 2], {})
    assert list_drawn_values(build_cube(3, values={"style": ("x", "", "")})) == ([0, 1, 2], {})
    assert list_drawn_values(build_cube(3, values={"style": ("x", "y", "")})) == ([0, 1], {"style": ["x", "y"]})


@pytest.mark.parametrize("counts", [np.full((1, 3, 2), 3), np.full((1, 3, 2), -1), np.zeros((1, 2, 2), int)])
def test_counts_that_do_not_fit_are_refused(counts):
    with pytest.raises(InputError, match="do not fit the generations"):
        estimate_unparsed_effect(build_cube(2), counts)


def test_the_notes_and_numbers_of_prompts_are_those_of_all_prompts():
    """By hand: 40 questions, of which no answer of v0 and all answers of v2 are unparsed; notes stand in the first row."""
    n = np.full((1, 40, 3), 2)
    right = np.tile([2.0, 1.0, 0.0], (1, 40, 1))
    cube = Cube("demo", ("a",), tuple(map(str, range(40))), ("v0", "v1", "v2"), n, right, right)
    columns = estimate_unparsed_effect(cube, np.tile([0, 0, 2], (1, 40, 1))).columns()
    assert columns["dimension"].tolist() == ["all prompts", "prompt", "prompt", "prompt"]
    assert "the unparsed share differs between prompts by more than chance" in columns["note"][0]
    assert columns["note"][1:].tolist() == [""] * 3
    assert columns["n_variants"].dtype.kind == "i"
