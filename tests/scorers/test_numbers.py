"""Numbers: cases judged by hand, and `unicodedata` for the digits of every script."""

from __future__ import annotations

import re
import sys
import unicodedata
from fractions import Fraction

import pytest
from helpers.cpu_time import LONGEST, measure_best

from howsure.scorers import numbers
from howsure.scorers.completion_text import CompletionContext
from howsure.scorers.numbers import read_number
from howsure.scorers.numerals import (
    canonical_number,
    convert_decimal_commas,
    find_numbers,
    parse_words,
    rewrite_numerals,
)

CUT = CompletionContext(truncated=True)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("18", ("18", "bare")),
        ("$1,250.50", ("1250.5", "bare")),
        ("So it is 17. The answer is $18.00.", ("18", "statement")),
        ("#### 1,000", ("1000", "statement")),
        ("The answer is 2 * 9 = 18 eggs.", ("18", "statement")),
        ("The answer is twenty-seven.", ("27", "statement")),
        ("So it is \\boxed{\\frac{3}{4}}.", ("0.75", "statement")),
        ('{"answer": "1.5e3"}', ("1500", "statement")),
        ("答案是36。", ("36", "statement")),
        ("La respuesta es 18.", ("18", "statement")),
        ("He has 3 cats. He buys 2. So he has 5 cats.", ("5", "last sentence")),
        ("So 9 * 2 = 18 in all.", ("18", "last sentence")),
        ("Thus 34 goals from 2012 to 2019.", ("34", "last sentence")),
        ("The answer is:\n\n3 * 2 = 6\n6 + 1 = 7", ("7", "last sentence")),
        ("The answer is 5 or 6.", (None, "several")),
        ("The answer is two thirds.", (None, "no number")),
        ("The answer is x.", (None, "no number")),
        ("The answer is 3x.", (None, "unreadable")),
        ("It is more than 5.", (None, "unreadable")),
        ("I cannot tell; 5 is missing.", (None, "refused")),
        ("How many are left of 5?", (None, "refused")),
        ("Nothing at all.", (None, "none")),
        ("", (None, "empty")),
        ("<think>The answer is 5", (None, "unfinished")),
    ],
)
def test_what_is_read_and_by_which_rule(text, wanted):
    assert read_number(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("18", ("18", "bare")),
        ("We have 18 eggs and", (None, "cut")),
        ("The answer is 1", (None, "cut")),
        ("The answer is 18.\nLet me check: 9", ("18", "statement")),
    ],
)
def test_of_a_cut_completion_a_whole_statement_is_read(text, wanted):
    assert read_number(text, CUT) == wanted


def test_the_decimal_comma_is_read_where_the_language_of_the_benchmark_has_it():
    assert read_number("Antwort: 3,5", CompletionContext(language="de")) == ("3.5", "statement")
    assert read_number("Antwort: 1.234", CompletionContext(language="de")) == ("1234", "statement")
    assert read_number("Antwort: 3,5") == (None, "unreadable")
    assert canonical_number("3,5", "de") == "3.5"
    assert canonical_number("3,5") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3/4", "0.75"),
        ("2 1/2", "2.5"),
        ("1/3", "1/3"),
        ("−3", "-3"),
        ("3 \\times 10^4", "30000"),
        ("5 million", "5000000"),
        ("5万", "50000"),
        ("$150k", None),
        ("10:30", None),
        ("5 apples", None),
        ("-0", "0"),
        ("9" * 100, None),
    ],
)
def test_canonical_numbers(text, value):
    assert canonical_number(text) == value


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("GPT4 has 3 arms, the 4th is new", [3]),
        ("$150 and 18 cm^2", [150, 18]),
        ("R + 6 or 2^5 or 5C2 or 4π", [None, None, None, None, None]),
        ("每天赚18美元", [18]),
        ("minus 5", [-5]),
        ("1万2000", [None, 2000]),
    ],
)
def test_numbers_in_a_text(text, values):
    assert [number.value for number in find_numbers(rewrite_numerals(text))] == values


def test_the_digits_of_every_script_are_read():
    digits = [chr(code) for code in range(128, sys.maxunicode + 1) if unicodedata.category(chr(code)) == "Nd"]
    assert len(digits) > 600
    for digit in digits:
        assert canonical_number(f"1{digit}") == str(10 + unicodedata.decimal(digit))


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("1.234.567,89", "1234567.89"),
        ("70 000,5", "70000.5"),
        ("0,5", "0.5"),
        ("1.234", "1234"),
        ("2.5", "2.5"),
        ("1,234", "1,,234"),
        ("12,000", "12,000"),
        ("3, 4 und 5", "3, 4 und 5"),
    ],
)
def test_decimal_commas_become_points(text, points):
    assert convert_decimal_commas(text) == points


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("five hundred fifty-five", 555),
        ("two thousand and six", 2006),
        ("minus two", -2),
        ("two three", None),
        ("the other one", None),
        ("a cat", None),
    ],
)
def test_english_words(text, value):
    assert parse_words(text) == (None if value is None else Fraction(value))


@pytest.mark.parametrize("part", ["1 ", "####", "answer: 1 ", "\\boxed{", "1,", "9", "= 1 "])
def test_reading_takes_linear_time(part):
    text = part * (20_000 // len(part))
    assert measure_best(read_number, text) < LONGEST


@pytest.mark.parametrize("end", ["#### 18", "Answer: 18.", "The answer is -4.", "So the answer is 0.\n"])
def test_a_plain_end_is_read_as_every_statement_is(end, monkeypatch):
    text = f"It is 3 x 6, and not 17.\n{end}"
    plain = read_number(text)
    monkeypatch.setattr(numbers, "_PLAIN_END", re.compile("(?!)"))
    assert plain == read_number(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("There are 1940 ways to choose 5 members.", "1940"),
        ("The answer is 36 apples for 5 children.", "36"),
        ("The answer is 36 apples and 5 pears.", None),
        ("The answer is 36 * 5.", None),
    ],
)
def test_numbers_of_the_question_are_no_answer_beside_another(text, wanted):
    context = CompletionContext("5 children meet 12 others. How many ways are there?")
    assert read_number(text, context)[0] == wanted
