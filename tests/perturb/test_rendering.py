"""Kinds of truth: theory (a share of words is binomial); what must stay as it is, by hand."""

from __future__ import annotations

import pytest
from helpers.perturb_questions import open_benchmark
from scipy.stats import binomtest, chisquare

from howsure.errors import InputError
from howsure.perturb import draw_variants, parse_space
from howsure.perturb.rendering import add_typos, apply_casing, apply_spacing

WORDS = [f"{start}onderfu{end}" for start in "abcdefghij" for end in "klmnopqrst"]


def test_slips_come_at_the_stated_rate_and_keep_the_ends_of_words():
    changed, kinds = 0, {-1: 0, 0: 0, 1: 0}
    for j in range(60):
        for word, typo in zip(WORDS, add_typos(" ".join(WORDS), 0.1, j).split(), strict=True):
            assert (typo[0], typo[-1]) == (word[0], word[-1])
            if typo != word:
                changed += 1
                kinds[len(typo) - len(word)] += 1
                assert sorted(typo) == sorted(word) or abs(len(typo) - len(word)) == 1
    assert binomtest(changed, 60 * len(WORDS), 0.1).pvalue > 1e-3
    assert chisquare(list(kinds.values())).pvalue > 1e-3
    assert add_typos("x", 0, "seed") == "x"


@pytest.mark.parametrize(
    "text",
    [
        "16 not all DNA McGee 3rd", "{labels} {question_marker}", r"\boxed{} \frac{a}{b}", '"Answer:" “Answer:”', "`return value`",
        "$area times width$", "don't they're", "http://some/where snake_case a1bcdef", "#### <answer>",
    ],
)  # fmt: skip
def test_what_is_compared_or_counted_has_no_slips(text):
    assert all(add_typos(text, 0.5, j) == text for j in range(50))


def test_casing_and_spacing():
    assert apply_casing(r"Put it in \boxed{} of {labels}.", "upper") == r"PUT IT IN \boxed{} OF {labels}."
    assert apply_spacing("a b\n  c d", "double") == "a  b\n  c  d"


def test_noise_in_prompts_is_of_the_question_and_instruction_alone():
    spec = {"space": "open", "sample": 40, "seed": 3, "hold_out": 2}
    dimensions = {"typos": [0, 0.5], "spacing": ["as-is", "double"], "demonstrations": [2], "markers": ["Question/Answer"], "casing": ["as-is"]}  # fmt: skip
    found = draw_variants(spec | {"dimensions": dimensions}, open_benchmark())
    plain = draw_variants(spec | {"dimensions": dimensions | {"typos": [0], "spacing": ["as-is"]}}, open_benchmark())
    question = found.benchmark.questions[0]
    for variant, other in zip(found.variants, plain.variants, strict=True):
        said, without = variant.messages(question)[0]["content"], other.messages(question)[0]["content"]
        assert said.count("Question: ") == without.count("Question: ") == 3
        noisy = variant.values["typos"] != "0" or variant.values["spacing"] == "double"
        assert (said != without) == noisy
        assert (variant.id != other.id) == noisy
        if variant.values["typos"] == "0":
            assert said.replace("  ", " ") == without
        assert f"{question.text.split()[2]}" in said  # the number


def test_more_slips_than_words():
    with pytest.raises(InputError, match="typos at a rate of 0.6; give the share of words with a typo, 0 to 0.5"):
        parse_space({"space": "open", "dimensions": {"typos": [0.6]}})
