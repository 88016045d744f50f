"""A planted prompt effect and a planted parser failure, told apart: guarantees by seeded simulation, hand-made cases.

The truth is planted: P(correct) of each cell is known, unread answers are drawn apart from it.
"""

import numpy as np
import pytest
from helpers.planted_prompts import STYLES, S, planted

from howsure.errors import InputError
from howsure.reporting.sections.unparsed_answers import (
    describe_parser_effect,
    describe_parser_warning,
    describe_unparsed_values,
)
from howsure.stats.core.cube import Cube
from howsure.stats.prompts.unparsed import estimate_unparsed_effect, list_drawn_values


def test_a_prompt_effect_alone_is_the_prompts():
    cube, lost = planted(effect=0.1, failing=0.05, background=0.05)
    found = estimate_unparsed_effect(cube, lost)
    text = describe_parser_effect(found)
    assert not found.varies.any()
    assert text.startswith("5% of all answers could not be read and score 0. ")
    assert "nothing says that the spread over prompts is the parser's" in text
    np.testing.assert_allclose(found.variance_parsed, found.variance, rtol=0.25)
    # theory: shifts of +-.1 for 7 and 13 variants, less 5 % unread
    np.testing.assert_allclose(found.variance, 4 * 0.01 * 7 * 13 / 20 / 19 * 0.95**2, rtol=0.25)


def test_a_parser_failure_alone_is_the_parsers():
    cube, lost = planted(failing=0.9)
    found = estimate_unparsed_effect(cube, lost)
    text = describe_parser_effect(found)
    assert found.varies.all()
    # theory: 5 of 20 variants lose .9 of a mean of .5
    np.testing.assert_allclose(found.variance, 0.45**2 * 5 * 15 / 20 / 19, rtol=0.2)
    assert np.all(found.variance_parsed < 0.02 * found.variance)
    assert np.all(found.parser_share > 0.95)
    assert "Their share differs between prompts for 2 of 2 models: part of the spread goes with them" in text
    assert "What is left cannot be separated from noise." in text
    assert "could not be read differs between prompts, and so do scores" in describe_parser_warning(found)


def test_both_are_told_apart():
    cube, lost = planted(effect=0.15, failing=0.8)
    found = estimate_unparsed_effect(cube, lost)
    text = describe_parser_effect(found)
    assert found.varies.all()
    np.testing.assert_allclose(found.variance_parsed, 4 * 0.0225 * 7 * 13 / 20 / 19, rtol=0.3)
    assert np.all((found.parser_share > 0.3) & (found.parser_share < 0.9))
    assert "What is left is more than noise: an effect of the prompt itself." in text
    assert f"{found.variance_parsed[int(np.argmax(found.variance - found.variance_parsed))]:.2g} (standard dev" in text


@pytest.mark.parametrize("share", [0.005, 0.1])
def test_chance_alone_is_rarely_called_a_parser_failure(share):
    """Guarantee by simulation: unread answers at one rate; of 60 pages with 4 models each, 5 % may call any of them."""
    called = [
        estimate_unparsed_effect(*planted(background=share, failing=share, models=4, seed=seed)).varies.any()
        for seed in range(60)
    ]
    assert np.sum(called) <= 8  # P(more) = .3 % at 5 %


@pytest.mark.parametrize("effect", [0.0, 0.25])
def test_one_variant_of_twenty_that_fails_or_is_harder_is_found(effect):
    """Guarantee by simulation: a heavy tail, for which an interval of the variance is too wide to leave out 0."""
    rng = np.random.default_rng(3)
    n = np.full((1, 60, S), 2)
    lost = rng.binomial(n, np.where(np.arange(S) == 7, 0.3, 0.005))
    right = rng.binomial(n - lost, np.where(np.arange(S) == 4, 0.5 - effect, 0.5)).astype(float)
    names = ("m",), tuple(map(str, range(60))), tuple(f"v{s}" for s in range(S))
    found = estimate_unparsed_effect(Cube("b", *names, n, right, right), lost)
    assert found.varies.all()
    assert found.prompt_effect.all() == (effect > 0)


def test_a_variant_of_which_nothing_is_read_leaves_no_doubt():
    """By hand: all or nothing in each variant, so that the residual is 0 and F is infinite; K = 1."""
    n = np.ones((1, 30, 4), dtype=int)
    lost = np.zeros_like(n)
    lost[:, :, 2] = 1
    right = np.tile((np.arange(30) % 2)[None, :, None], (1, 1, 4)) * (1.0 - lost)
    cube = Cube("b", ("m",), tuple(map(str, range(30))), tuple("wxyz"), n, right, right)
    found = estimate_unparsed_effect(cube, lost)
    assert found.p_share.tolist() == [0]
    assert found.p_parsed.tolist() == [1]
    assert found.parser_share.tolist() == [1]
    assert (
        "goes from 0% under one prompt to 100% under another, and the variance over prompts is"
        in describe_parser_effect(found)
    )
    assert found.values.blamed == ()


def test_a_default_prompt_that_cannot_be_read_is_no_spread_over_those_that_were_drawn():
    """By hand: the three that were drawn have the same scores, all of them read."""
    n = np.ones((1, 30, 4), dtype=int)
    lost = np.zeros_like(n)
    lost[:, :, 2] = 1
    right = np.tile((np.arange(30) % 2)[None, :, None], (1, 1, 4)) * (1.0 - lost)
    cube = Cube("b", ("m",), tuple(map(str, range(30))), tuple("wxyz"), n, right, right, default=2)
    found = estimate_unparsed_effect(cube, lost)
    assert found.share[0].tolist() == [0, 0, 1, 0]
    assert found.score[0] == pytest.approx([0.5, 0.5, 0, 0.5])
    assert (found.varies.any(), found.variance[0], found.variance_parsed[0]) == (False, 0, 0)
    text = describe_parser_effect(found)
    assert "to 100% under another (the default), and the variance over the prompts that were drawn is 0 with" in text
    low = describe_parser_effect(estimate_unparsed_effect(cube, 1 - np.maximum(lost, right.astype(int))))
    assert "under one prompt (the default) to" in low


def test_spread_that_does_not_shrink_is_not_the_parsers():
    # roman is easier by as much as its unread answers cost: the spread is hidden, not made
    cube, lost = planted(failing=0.5)
    right = cube.total.copy()
    roman = np.array(STYLES) == "roman"
    right[:, :, roman] = (cube.n - lost)[:, :, roman]
    made = Cube(cube.benchmark, cube.models, cube.questions, cube.variants, cube.n, right, right)
    text = describe_parser_effect(estimate_unparsed_effect(made, lost))
    assert "but the spread does not shrink when they are left out" in text
    assert "is the parser's" not in text


def test_a_value_is_blamed_by_what_it_explains():
    found = estimate_unparsed_effect(*planted(failing=0.9))
    by = found.values
    assert [by.name(i) for i in by.blamed] == ["enumerator: roman"]
    first = by.blamed[0]
    assert by.pooled[first] == pytest.approx(0.9, abs=0.05)
    assert sorted(by.order) == list(range(len(by.values)))
    # by hand: roman is variants 0, which is the default prompt, and 4, 8, ...
    cube, lost = planted(failing=0.9)
    assert by.shares[0, first] == pytest.approx(lost[0, :, 4::4].sum() / cube.n[0, :, 4::4].sum())
    assert by.n_variants[first] == 4
    text = describe_unparsed_values(found, 3)
    assert text.startswith("With roman as enumerator, 90% of the answers could not be read, against 0% with its other")
    assert "The first 3 of 6 values are drawn." in text


def _described(**values):
    cube, lost = planted(failing=0.9, models=1)
    made = Cube("b", cube.models, cube.questions, cube.variants, cube.n, cube.total, cube.total_sq, values)
    return estimate_unparsed_effect(made, lost)


def test_few_draws_of_many_values_do_not_blame_by_name():
    """By hand: "a" comes first by name and has too many values to be fitted beside; the failure is that of "z"."""
    many = tuple(f"v{s % 9}" for s in range(S))
    found = _described(a=many, b=many[3:] + many[:3], z=STYLES)
    assert [found.values.name(i) for i in found.values.blamed] == ["z: roman"]
    assert found.values.dimensions[found.values.order[0]] == "z"


def test_values_that_were_always_drawn_together_are_blamed_together():
    twin = tuple({"roman": "tab"}.get(style, "space") for style in STYLES)
    text = describe_unparsed_values(_described(enumerator=STYLES, separator=twin), 6)
    assert text.startswith("With tab as separator and roman as enumerator (always drawn together), 9")
    assert "against 0% with the other value." in text


def test_nothing_is_blamed_without_evidence():
    alike = estimate_unparsed_effect(*planted(failing=0.05, background=0.05))
    assert "differs between prompts by no more than chance, and so do these" in describe_unparsed_values(alike, 6)
    other = _described(order=tuple("abcde"[s // 4] for s in range(S)))
    assert other.values.blamed == ()
    assert describe_unparsed_values(other, 5).startswith("No dimension explains more of how the share differs")


def test_one_model_has_no_share_of_models():
    text = describe_parser_effect(estimate_unparsed_effect(*planted(failing=0.9, models=1)))
    assert "Their share differs between prompts by more than chance: part of the spread goes with them" in text
    assert "that part is" not in text


def test_what_cannot_be_told_is_not_told():
    cube, lost = planted(failing=0.9, models=1)
    first = Cube(
        "b", cube.models, cube.questions[:1], cube.variants, *(a[:, :1] for a in (cube.n, cube.total, cube.total))
    )
    found = estimate_unparsed_effect(first, lost[:, :1])
    assert np.isnan(found.variance).all()  # one question: its part and the prompt's are one
    assert not found.varies.any()
    none = estimate_unparsed_effect(cube, np.zeros_like(lost))
    assert not none.varies.any()
    assert (none.share == 0).all()


def test_variants_without_values_are_left_out_of_the_values():
    cube, lost = planted(failing=0.9)
    values = {name: ("", *each[1:]) for name, each in cube.values.items()}
    made = Cube(
        cube.benchmark, cube.models, cube.questions, cube.variants, cube.n, cube.total, cube.total_sq, values, 0
    )
    assert list_drawn_values(made)[0] == list(range(1, S))
    assert estimate_unparsed_effect(made, lost).values.n_variants.sum() == 2 * (S - 1)
    assert "" not in estimate_unparsed_effect(made, lost).values.values


def test_counts_must_fit():
    cube, lost = planted()
    for bad in (lost[:, :, :-1], cube.n + 1, -cube.n):
        with pytest.raises(InputError, match="do not fit the generations"):
            estimate_unparsed_effect(cube, bad)
