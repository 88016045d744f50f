"""Which questions each variant asks. Kind of truth: theory (a uniform draw without replacement), and what a draw must not change."""

import numpy as np
import pytest

from howsure.errors import InputError
from howsure.prompts.variants import draw_questions

QUESTIONS = [f"q{i}" for i in range(30)]


def draw(n=7, variants=400, **spec):
    return draw_questions({"questions_per_variant": n, **spec}, [f"v{j}" for j in range(variants)], QUESTIONS)


def test_without_the_key_all_questions_are_asked():
    assert draw_questions({"seed": 1}, ["v"], QUESTIONS) is None


def test_each_variant_has_as_many_questions_and_all_are_drawn_equally_often():
    drawn = draw()
    assert {len(chosen) for chosen in drawn.values()} == {7}
    counts = np.array([sum(question in chosen for chosen in drawn.values()) for question in QUESTIONS])
    share = 7 / 30
    # hypergeometric: each count is binomial with this share; the sum of squares is near chi-squared with 29 df times (1 - share)
    assert np.sum((counts - 400 * share) ** 2 / (400 * share)) < 55
    pairs = sum(len(drawn[f"v{j}"] & drawn[f"v{j + 1}"]) for j in range(399)) / 399
    assert pairs == pytest.approx(7 * 7 / 30, abs=0.2)  # independent draws


def test_more_variants_or_more_questions_keep_what_was_drawn():
    few, many = draw(variants=5), draw(variants=9)
    assert all(many[variant] == chosen for variant, chosen in few.items())
    assert all(draw(n=12)[variant] > chosen for variant, chosen in few.items())
    assert draw(seed=1) != draw(seed=2)


@pytest.mark.parametrize("n", [0, 31, True, "7", 2.0])
def test_impossible_numbers_are_refused(n):
    with pytest.raises(InputError, match="variants"):
        draw(n=n)
