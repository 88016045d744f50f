"""Yes and no: cases judged by hand, and the words of 37 languages."""

from __future__ import annotations

import pytest
from helpers.scored_runs import judged

from howsure.scorers.completion_text import CompletionContext
from howsure.scorers.language_words import LANGUAGES
from howsure.scorers.yes_no import is_yes_or_no, read_yes_no


@pytest.mark.parametrize(
    ("completion", "wanted"),
    [
        ("Yes, it does.", ("yes", "first sentence")),
        ("**No.** It does not.", ("no", "first sentence")),
        ("Maybe.", ("maybe", "first sentence")),
        ("Birds fly. So the answer is no.", ("no", "statement")),
        ("\\boxed{\\text{no}}", ("no", "statement")),
        ("Yes. On reflection, the answer is no.", ("no", "statement")),
        ("It has cells. Therefore, yes.", ("yes", "last sentence")),
        ("It has cells. So the statement is not true.", ("no", "last sentence")),
        ("Oui, bien sûr.", ("yes", "first sentence")),
        ("不是。", ("no", "first sentence")),
        ("Yes. It may be.\nNo.", (None, "several")),
        ("No one knows.", (None, "none")),
        ("True believers exist.", (None, "none")),
        ("Yes/No", (None, "none")),
        ("", (None, "empty")),
        ("<think>yes", (None, "unfinished")),
    ],
)
def test_what_is_read_and_by_which_rule(completion, wanted):
    assert read_yes_no(completion) == wanted


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_words_of_each_language_are_read_where_the_benchmark_names_it(code):
    for wanted, words in (("yes", LANGUAGES[code].yes), ("no", LANGUAGES[code].no)):
        for word in words.split():
            text = f"{word.replace('_', ' ')}, Quito"
            assert read_yes_no(text, CompletionContext(language=code))[0] == wanted, word


@pytest.mark.parametrize(
    ("target", "wanted"),
    [("True", "yes"), ("non", "no"), ("1", "yes"), ("0", "no"), ("maybe", "maybe"), ("Paris", None)],
)
def test_targets(target, wanted):
    assert is_yes_or_no(target) == wanted


def test_a_target_that_is_neither_is_refused():
    assert judged("yes-no", "Yes.", "true") == (1.0, "yes")
    with pytest.raises(ValueError, match="the target 'blue' is neither yes nor no"):
        judged("yes-no", "yes", "blue")
