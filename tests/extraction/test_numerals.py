"""Numerals of other scripts and styles. Kinds of truth: `unicodedata`; hand-read cases."""

from __future__ import annotations

import sys
import unicodedata
from fractions import Fraction

import pytest

from howsure.extraction.numerals import convert_decimal_commas, find_numbers, parse_single_number, rewrite_numerals

DIGITS = [chr(code) for code in range(128, sys.maxunicode + 1) if unicodedata.category(chr(code)) == "Nd"]


def test_the_digits_of_every_script_are_read():
    assert len(DIGITS) > 600
    for digit in DIGITS:
        assert parse_single_number(rewrite_numerals(f"1{digit}")) == 10 + unicodedata.decimal(digit)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5万", 50_000),
        ("3.5万", 35_000),
        ("2億円", 200_000_000),
        ("5千克", 5),
        ("3 млн", 3_000_000),
        ("20 тысяч рублей", 20_000),
        ("5만 원", 50_000),
        ("2 ล้านบาท", 2_000_000),
        ("৩ লাখ টাকা", 300_000),
        ("1,00,000", 100_000),
        ("1万2000", None),
        ("1,00,00", None),
        ("3.5 Millionen", 3_500_000),
    ],
)
def test_scales_of_other_languages_multiply(text, value):
    (number, *_) = find_numbers(rewrite_numerals(text))
    assert number.value == (None if value is None else Fraction(value))


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("1.234.567,89", "1234567.89"),
        ("70 000,5", "70000.5"),
        ("0,500", "0.500"),
        ("0,5", "0.5"),
        ("1234,5", "1234.5"),
        ("1.234", "1234"),
        ("2.5", "2.5"),
        ("1,234", "1,,234"),
        ("12,000", "12,000"),
        ("1,234,567", "1,234,567"),
        ("1,234.5", "1,234.5"),
        ("3, 4 und 5", "3, 4 und 5"),
        ("Es sind 3.", "Es sind 3."),
    ],
)
def test_decimal_commas_become_points(text, points):
    assert convert_decimal_commas(text) == points
