"""Kinds of truth: hand-read cases; an independent slow version (`decimal`); people's own labels on GSM8K and judgments of
real completions (shared)."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from helpers.cpu_time import LONGEST, measure_best
from hypothesis import given
from hypothesis import strategies as st

from howsure.extraction.completion_context import CompletionContext
from howsure.extraction.numbers import canonical_number, extract_number

AWKWARD = Path(__file__).with_name("awkward_numbers.tsv")
JUDGED = Path(__file__).resolve().parents[2] / "../shared/data/completions/judged.jsonl"
GSM8K = Path(__file__).resolve().parents[2] / "../shared/data/gsm8k"

HAND = [
    ("\\boxed{5} and then \\boxed{}", "5"),  # an empty statement does not erase the one before
    # forms of one number
    ("18", "18"),
    ("18.0", "18"),
    ("0.50", "0.5"),
    (".5", "0.5"),
    ("007", "7"),
    ("-0", "0"),
    ("+5", "5"),
    ("-3.5", "-3.5"),
    ("−3", "-3"),
    ("１８", "18"),
    ("٣", "3"),
    ("12345678901234567890", "12345678901234567890"),
    ("1,234,567", "1234567"),
    ("70,000", "70000"),
    ("70{,}000", "70000"),
    ("70\\,000", "70000"),
    ("70\u202f000", "70000"),
    ("1.5e3", "1500"),
    ("3 x 10^4", "30000"),
    ("3 \\times 10^{-2}", "0.03"),
    ("5 million", "5000000"),
    ("$1.5 million", "1500000"),
    ("negative 5", "-5"),
    ("minus 5", "-5"),
    # fractions
    ("3/4", "0.75"),
    ("6/2", "3"),
    ("1/3", "1/3"),
    ("-1/3", "-1/3"),
    ("24 / 7", "24/7"),
    ("2 1/2", "2.5"),
    ("2½", "2.5"),
    ("½", "0.5"),
    ("\\boxed{\\frac{3}{4}}", "0.75"),
    ("$\\boxed{-\\frac{1}{2}}$", "-0.5"),
    ("2\\frac{1}{2}", "2.5"),
    ("\\dfrac{7}{2}", "3.5"),
    # what stands around it
    ("$18", "18"),
    ("\\$18", "18"),
    ("-$5", "-5"),
    ("$-5", "-5"),
    ("€1,250.50", "1250.5"),
    ("£20", "20"),
    ("USD 500", "500"),
    ("18 dollars", "18"),
    ("5kg", "5"),
    ("12-inch", "12"),
    ("2 dozen", "2"),
    ("3.5%", "3.5"),
    ("100%", "100"),
    ("10.", "10"),
    ("**18**", "18"),
    ("_18_", "18"),
    ("`18`", "18"),
    ("(18)", "18"),
    ("$18$", "18"),
    ("\\(18\\)", "18"),
    ("x = -5", "-5"),
    ("so...5", "5"),
    ("about 5", "5"),
    # explicit statements
    ("#### 18", "18"),
    ("#### 1\n#### 2", "2"),
    ("A: $18.00", "18"),
    ("Q: 1+1\nA: 2\nQ: 3+3\nA: 6", "6"),
    ("Answer: 18 apples", "18"),
    ("**Answer:** 18", "18"),
    ("**Answer**: 18", "18"),
    ("answer=-5", "-5"),
    ("Answer (in dollars): 12", "12"),
    ("Answer: 18\n\nExplanation: 3 * 6", "18"),
    ("The answer is **18**.", "18"),
    ("The answer is 18.5.", "18.5"),
    ("The answer is\n18", "18"),
    ("The answer is:\n\\[\n18\n\\]", "18"),
    ("<answer>18</answer> I am sure of all 3 steps.", "18"),
    ("Final Answer: The final answer is $18$. I hope it is correct.", "18"),
    ("She has 18 (eighteen) eggs left.", "18"),
    ("The answer is:\n\n18", "18"),
    ("The answer is $18. She is rich.", "18"),
    ("The answer is Rs. 500", "500"),
    ("The answer is 18 (eighteen).", "18"),
    ("The answer is 5, not 6.", "5"),
    ("the answer is 5, rather than 6", "5"),
    ("The answer is 5 + 3 = 8.", "8"),
    ("The answer is 20% of 50 = 10", "10"),
    ("the answer is 7 because 3 + 4 = 7", "7"),
    ("The answer is 7, since 3 and 4", "7"),
    ("The answer to the question is 12.", "12"),
    ("The answer is 5!", "5"),
    ("answer is 5.\nanswer is 6.", "6"),
    ("The final answer is: $\\boxed{42}$.", "42"),
    ("\\boxed{18\\text{ dollars}}", "18"),
    ("\\boxed{\\$18}", "18"),
    ("\\boxed{18\\%}", "18"),
    ("\\boxed{x=5}", "5"),
    ("\\boxed{18", "18"),
    ("It is 3. \\boxed{1{,}000} or so, 7 times", "1000"),
    # no statement: the last number
    ("5 + 3 = 8", "8"),
    ("Total = $<<9*2=18>>18", "18"),
    ("5 apples and 6 pears", "6"),
    ("18\n\nI hope it helps!", "18"),
    ("- 5 apples", "5"),
    ("1, 2", "2"),
    ("5! = 120", "120"),
    ("step 3: 10", "10"),
    ("#### Step 1: Add\n3 + 4 = 7", "7"),
    ("#### 1. Add\nso 7", "7"),
    ("To answer this, we note that it is 5 each. Total: 20", "20"),
    ("She had 12 by the 4th.", "12"),
    ("In Q2 GPT-4 had 5, says GPT4", "5"),
    ("12\nthe 4th", "12"),
]

UNPARSED = [
    "",
    "no numbers",
    "GPT4",
    "GPT-4",
    "v1 of COVID-19",
    "the 4th",
    # a statement without one number
    "the answer is unknown",
    "It is 5. The answer is unknown.",
    "The answer is the 4th",
    "The answer is not 5.",
    "The answer isn't 5.",
    "The answer is 5 or 6",
    "The answer is 1, 2",
    "The answer is between 5 and 6.",
    "the answers are 5 and 6",
    "The answer is 3 hours and 20 minutes",
    "the answer is x = 5 or x = 6",
    "the answer is 1 + 1",
    "The answer is - 5",
    "\\boxed{(1,2)}",
    "\\boxed{2^5}",
    "\\boxed{\\sqrt{2}}",
    "\\boxed{\\frac{x}{2}}",
    # ranges, bounds, sums nobody finished
    "5-6",
    "5 to 6 hours",
    "$5,000-$6,000",
    "5 ± 1",
    "more than 5",
    "at least 5",
    "10 minus 5",
    "5 - 3",
    "5 -3",
    "3 × 4",
    "8 = 5 + 3",
    # not a number as it stands
    "10:30",
    "2024-01-05",
    "1/2/2024",
    "1.2.3",
    "1.000,50",
    "1,5",
    "0,500",
    "70 000",
    "5'10\"",
    "10k",
    "3x",
    "2^5",
    "5²",
    "2 and a half",
    "\\frac{\\pi}{2}",
    "5/0",
    "1e999999999",
    "1e61",
    "9" * 61,
]


def test_reads_as_a_person_does():
    assert [(text, got, number) for text, number in HAND if (got := extract_number(text)) != number] == []


@pytest.mark.parametrize("text", UNPARSED)
def test_unparsed_rather_than_a_guess(text):
    assert extract_number(text) is None


def read_awkward_cases():
    """The lines of the table: an answer or "-", what is known (a language, "cut", "?" and a question), a completion."""
    lines = AWKWARD.read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def read_awkward_case(known, text):
    """Return the number that is read from a completion of the table, or "-"."""
    language, _, question = known.partition("?")
    context = CompletionContext(
        truncated=known == "cut", language="" if known == "cut" else language, question=question.strip()
    )
    number = extract_number(text.replace("⏎", "\n"), context=context)
    return "-" if number is None else number


def test_awkward_cases_are_read_as_a_person_reads_them():
    readings = [(case, read_awkward_case(*case[1:])) for case in read_awkward_cases()]
    assert [(case, got) for case, got in readings if got != case[0]] == []


def test_a_copy_of_the_question_is_no_answer():
    question = "Ann has 16 eggs and eats 3 of them. How many are left?"
    context = CompletionContext(question=question)
    assert extract_number(question, context=context) is None
    assert extract_number(f"{question}\n16 - 3 = 13", context=context) == "13"


@pytest.mark.parametrize("text", ["5 apples", "GPT4", "", "5, 6", "5.", "the 4th", "10:30", "5/0", "three", "1e99"])
def test_a_target_is_a_number_and_nothing_else(text):
    assert canonical_number(text) is None


@given(st.decimals(min_value=-(10**12), max_value=10**12, places=4))
def test_the_canonical_form_keeps_the_value_and_is_unique(value):
    """An independent version: `decimal` prints and normalises."""
    canonical = canonical_number(f"{value:,f}")
    assert Decimal(canonical) == value
    assert canonical == extract_number(f"So in all it is {value:f}.")
    assert canonical == (f"{value.normalize():f}" if value else "0")


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**4))
def test_fractions_are_exact(a, b):
    canonical = canonical_number(f"{a}/{b}")
    assert Fraction(canonical) == Fraction(a, b)
    assert canonical_number(f"{3 * a}/{3 * b}") == canonical
    assert canonical_number(canonical) == canonical


@given(st.text(alphabet="0123456789.,-+/:$%^e{}\\ \nAnswer:#isx½", max_size=60))
def test_whatever_is_read_is_canonical(text):
    number = extract_number(text)
    assert number is None or canonical_number(number) == number


HOSTILE = {
    "digits": "1" * 100_000,
    "statements": "the answer is " * 7_200,
    "answers": "answer " * 14_000,
    "answers to": "answer to a a a a " * 5_500,
    "numbers": "1 " * 50_000,
    "commas": "1," * 50_000,
    "exponents": "1e9" * 33_000,
    "huge exponent": "The answer is 1e999999999",
    "minus": "-" * 100_000,
    "hashes": "####" * 25_000,
    "boxes": "\\boxed{" * 14_000,
    "labels": "A:\n" * 33_000,
    "underscores": "_" * 100_000,
    "notes": "<<" * 50_000,
    "glued": "a-1" * 33_000,
    "stops": ". " * 50_000,
    "spaces after": "the answer is " + " " * 100_000,
    "fractions": "\\frac{1" * 14_000,
    "mixed": "1 1/" * 25_000,
    "lines": "x 1st\n" * 17_000,
    "a stop and spaces": "#### ." + " " * 100_000 + "x",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_takes_bounded_time(name):
    assert measure_best(extract_number, HOSTILE[name]) < LONGEST


def test_a_number_is_never_cut_by_the_limits_of_reading():
    """Beyond what is read a number must become unparsed, not another number."""
    for length in range(380, 420):
        assert extract_number("The answer is " + "x" * length + " 123456") in {None, "123456"}
        assert extract_number("The answer is " + "x" * length + "123456") is None
    for length in range(480, 520):
        assert extract_number("123456" + "-" * length + "7") in {None, "7"}
        assert extract_number("=" + "1" * length) is None
    assert extract_number("It is 123456 " + "x" * 5000) == "123456"
    assert extract_number("word " * 2000 + "makes 7.") == "7"
    assert extract_number("12\n" + "a 4th\n" * 200) is None


@pytest.mark.shared
@pytest.mark.skipif(not GSM8K.exists(), reason="needs the data folder ../shared")
def test_agrees_with_the_labels_of_5276_solutions():
    """People's labels: `is_correct` of the four models' solutions that GSM8K published.

    The ten that are unparsed break off in a number or in an open sum, repeat a digit without end, or end in "10+John's age".
    """
    lines = (GSM8K / "example_model_solutions.jsonl").read_text(encoding="utf-8").splitlines()
    solutions = agree = unparsed = 0
    for row in map(json.loads, lines):
        target = extract_number(row["ground_truth"])
        for solution in (value for value in row.values() if isinstance(value, dict)):
            answer = extract_number(solution["solution"])
            solutions += 1
            agree += (answer == target) == solution["is_correct"]
            unparsed += answer is None
    assert (solutions, agree, unparsed) == (5276, 5276, 10)


@pytest.mark.shared
@pytest.mark.skipif(not JUDGED.exists(), reason="needs the data folder ../shared")
def test_reads_the_completions_that_people_judged():
    """A reader's judgment of 46 real completions that an earlier version read wrongly."""
    rows = [json.loads(line) for line in JUDGED.read_text(encoding="utf-8").splitlines()]
    numeric = [row for row in rows if row["kind"] in {"mgsm", "math", "gsm8k_cot", "svamp_cot"}]
    assert len(numeric) == 46
    for row in numeric:
        assert extract_number(row["completion"]) == row["truth"], row["completion"][-200:]


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("How many eggs does she need?", "She needs 2 dozen eggs.", "24"),
        ("How many eggs does she need?", "The answer is 3 dozen.", "36"),
        ("How many dozen eggs does she need?", "She needs 2 dozen eggs.", "2"),
        ("How many rolls are left? Answer in dozens.", "The answer is 2 dozen.", "2"),
    ],
)
def test_a_dozen_is_twelve_where_pieces_are_counted(question, text, expected):
    """Readings by hand."""
    assert extract_number(text, context=CompletionContext(question=question)) == expected


@pytest.mark.parametrize(
    ("question", "text", "value"),
    [
        ("What percentage of 80 is 20?", "20 is 25 percent of 80.", "25"),
        ("A bus has 60 seats. How many are taken?", "42 are taken and 18 are free.", "42"),
        ("A bus has 60 seats. How many are taken?", "42 of the 60 are free, so 18 are taken.", "18"),
        ("How many litres were used?", "12 of the 50 litres were used, so 38 litres are left.", "38"),
        ("How many days do 8 painters need?", "3 days instead of 6.", "3"),
        ("How many days do 8 painters need?", "It takes them three days.", "3"),
        ("How many days do 8 painters need?", "It takes them three steps.", None),
        ("How many days do 8 painters need?", "I cannot say how many days, perhaps two or three days.", None),
        ("How many apples does he have now?", "He has none left.", "0"),
        ("How many cookies are left?", "No cookies are left.", "0"),
        ("How many cookies are left?", "5 - 5 = 0, so no cookies are left.", "0"),
        ("Which cookies are left?", "No cookies are left.", None),
        ("Which apples does he have now?", "He has none left.", None),
        ("What is 15 + 27?", "15 + 27 = 42.\n\nOne may also take 3 away from 45.", "42"),
        ("What is 15 + 27?", "15 + 27 = 42. No: 15 + 27 = 43.", "43"),
        ("What is 15 + 27?", "15 + 20 = 35 and 35 + 7 = 42.", "42"),
        ("What is the temperature now?", "It is 4 degrees below zero.", "-4"),
        ("What is the temperature now?", "It is 4 degrees above zero.", "4"),
        ("How many people live there?", "1 250 000 people.", "1250000"),
        ("Which numbers are these?", "100 200 300", None),
        ("How much do 3 books cost?", "To find the cost of 3 books, you need to multiply the price.", None),
        ("How much do 3 books cost?", "To find the cost of 3 books, multiply: 3 * 12 = 36.", "36"),
        ("What does one pen cost?", "Three euros and seventy-five cents.", "3.75"),
    ],
)
def test_the_question_tells_which_number_is_the_answer(question, text, value):
    """Judged by hand."""
    assert extract_number(text, context=CompletionContext(question)) == value


@pytest.mark.parametrize("language", ["de", "fr", "es"])
@pytest.mark.parametrize("text", ["1,234", "Es sind 1,234 Euro.", "Er hat 5. Das macht 1,234.", "Antwort: 12,345"])
def test_a_comma_before_three_digits_has_two_readings(text, language):
    """It was read as the three digits: 234."""
    assert extract_number(text, context=CompletionContext(language=language)) is None


def test_numbers_are_read_as_the_page_says():
    """Truth: the table of docs/answers.md, of which the statement and the question are given here."""
    page = (Path(__file__).resolve().parents[2] / "docs/answers.md").read_text("utf-8")
    table = page.partition("| read | as |")[2].partition("\n\n")[0]
    rows = [line.strip("|").rpartition("|") for line in table.splitlines() if line.startswith("| ")]
    read = {}
    for examples, _, values in rows:
        texts = [code or quoted for code, quoted in re.findall(r'`([^`]+)`|"([^"]+)"', examples)]
        numbers = [value.strip() for value in values.split(",")]
        texts = [f"The answer is {text}." for text in texts] if "statement" in examples else texts
        read |= dict(zip(texts, numbers * len(texts) if len(numbers) == 1 else numbers, strict=True))
    assert len(read) > 20
    question = CompletionContext("In how many ways can they be seated?")
    assert {text: extract_number(text, context=question) for text in read} == read
