"""Kinds of truth: theory (a share of words is binomial); texts of which a person says what must stay as it is."""

from __future__ import annotations

import re

import pytest
from scipy.stats import binomtest, chisquare

from howsure.prompts.surface_noise import add_typos, apply_casing, apply_spacing, is_about_spelling, load_typo_words


def test_slips_come_at_the_stated_rate_and_keep_the_ends_of_words():
    """Words in which every slip is possible and makes no other word."""
    words = [word for word, others in load_typo_words().items() if not others and not re.search(r"(.)\1", word)][:900:9]
    assert len(words) == 100
    changed, kinds = 0, {-1: 0, 0: 0, 1: 0}
    text = "which is " + " ".join(words)
    for j in range(60):
        for word, typo in zip(text.split(), add_typos(text, 0.1, j).split(), strict=True):
            assert (typo[0], typo[-1]) == (word[0], word[-1])
            if typo != word:
                changed += 1
                kinds[len(typo) - len(word)] += 1
                assert sorted(typo) == sorted(word) or abs(len(typo) - len(word)) == 1
    assert binomtest(changed, 60 * len(words), 0.1).pvalue > 1e-3
    assert chisquare(list(kinds.values())).pvalue > 1e-3
    assert add_typos("x", 0, "seed") == "x"


UNCHANGED = [
    "16 not all DNA McGee 3rd", "{labels} {question_marker}", r"\boxed{} \frac{a}{b}", '"Answer:" “Answer:”', "`return value`",
    "$area times width$", "don't they're", "http://some/where snake_case a1bcdef", "#### <answer>",
    "three seven least from trial causal united", "warfarin metformin", "without except never neither", "What is seventeen?",
    "for item in range(3): print(item)", "What can\nfor item in range(3):\n    total = item\nprint(total)\ndo?",
    "SELECT amount FROM orders WHERE status", "What is in 'the trial begins again tomorrow'?", "What does “everything changes” say?",
    "Der Fluss fließt durch die Stadt und what", "Quelle question importante table simple moment", "| river | length |\n| water | amount |",
    "What is \\(force times distance\\)?", "```\nreturn answer\n```", "What is $$\nforce\n$$?", "cubic-centimetre well-known", "¿Qué answer question moment es?",
]  # fmt: skip


@pytest.mark.parametrize("text", UNCHANGED)
def test_what_is_compared_counted_or_quoted_has_no_slips(text):
    assert all(add_typos(text, 0.5, j) == text for j in range(50))


@pytest.mark.parametrize(
    "text",
    [
        'How long is "a b c" here?', "Run `a b c` now", "Which $a b c$ holds", "if a == b: return a c", "| a b | c d |",
        "What does\n    x = a b\nprint(a b)\nshow", "It is “one two three” here", "name  age", "<b>a b</b> c",
    ],
)  # fmt: skip
def test_what_has_its_own_spaces_keeps_them(text):
    marked = re.findall(r'"[^"]*"|`[^`]*`|\$[^$]*\$|“[^”]*”|if .*|\|.*\||    x.*\nprint\(a b\)|name  age|<b>.*', text)
    assert marked
    assert all(part in apply_spacing(text, "double") for part in marked)


def test_what_stands_between_two_prices_is_no_formula():
    text = "She sells the remainder at the market for $2 per fresh egg and spends $5 on bread."
    assert len({add_typos(text, 0.5, j).replace("$2", "").replace("$5", "") for j in range(50)}) > 20
    assert all("$2 per" in add_typos(text, 0.5, j) for j in range(50))


def test_casing_and_spacing():
    assert apply_casing(r"Put it in \boxed{} of {labels}.", "upper") == r"PUT IT IN \boxed{} OF {labels}."
    assert apply_casing('Write "Yes" or `No`.', "lower") == 'write "Yes" or `No`.'
    assert apply_spacing("a b\n c d", "double") == "a  b\n c  d"
    assert apply_spacing("Run this.\n  a b\nIs it so?", "double") == "Run  this.\n  a b\nIs  it  so?"


def test_a_slip_never_makes_another_word():
    """Pairs that earlier prompts contained; each left word is common, and each right one is one slip away."""
    pairs = {
        "through": "trough",
        "form": "from",
        "trial": "trail",
        "causal": "casual",
        "shared": "shred",
        "stands": "sands",
    }
    for word, other in pairs.items():
        typos = {add_typos(f"what is the {word}", 0.5, j).split()[-1] for j in range(400)}
        assert len(typos) > 1
        assert other not in typos


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("How many times does the letter r occur in strawberry?", True),
        ("Which of these words is spelled correctly?", True),
        ("Sort the following words.", True),
        ("Which word rhymes with orange?", True),
        ("Reverse the string abc.", True),
        ("Which river runs through Paris?", False),
        ("A farmer has seven apples and sells three. How many remain?", False),
    ],
)
def test_questions_about_spelling_are_known(text, answer):
    assert is_about_spelling(text) == answer


def test_words_that_stand_in_the_choices_have_no_typing_errors():
    """By hand: "table" and "orders" stand in the choices, "statement" does not."""
    text = "Which statement removes every row of the table orders?"
    noisy = [add_typos(text, 0.5, j, spared=("DELETE FROM orders;", "DROP TABLE orders;")) for j in range(40)]
    assert all("table orders?" in one for one in noisy)
    assert any("statement" not in one for one in noisy)
    assert any("orders" not in add_typos(text, 0.5, j) for j in range(40))
