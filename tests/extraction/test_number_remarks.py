"""What follows the answer of a calculation. Kind of truth: readings by hand of sentences that were written for it."""

from __future__ import annotations

import pytest

from howsure.extraction.completion_context import CompletionContext
from howsure.extraction.numbers import extract_number

#: Question, completion, and the number that a person reads.
REMARKS = [
    ("Three brothers share 15 marbles. How many does each get?", "15 / 3 = 5, so each gets 5, 15 in all.", "5"),
    (
        "How long does a ride of 40 miles take at 16 mph?",
        "40 miles / 16 mph = 2.5 hours, or 2 hours and 30 minutes.",
        "2.5",
    ),
    ("A jacket of $150 is 20% off. What does it cost?", "So the price is $120, a saving of $30 from $150.", "120"),
    ("How many grams were used?", "2500 g - 2150 g = 350 g. 350 grams (0.35 kg) were used.", "350"),
    ("What fraction is red?", "That is 4/12, which simplifies to 1/3 (about 33.3%).", "1/3"),
    ("A rope of 18 m is cut into 3 parts. How long is each?", "Each is 6 m long, so 3 parts x 6 m = 18 m.", "6"),
    ("In 4 years Tim will be 13. How old is he?", "Tim is 9 years old, because 9 + 4 = 13.", "9"),
    ("What is the perimeter?", "The perimeter is 40 meters. Its area, by the way, would be 96.", "40"),
    (
        "What is the balance?",
        "Final balance: $1,000 + $100 = $1,100\n\n(With compound interest it would be $1,102.50.)",
        "1100",
    ),
    ("How many people came?", "240 people came on Friday, and 60 seats were empty.", "240"),
    (
        "Lena has 48 stickers and gives Tom and Mia some. How many does she keep?",
        "Lena keeps 30; Tom gets 12 and Mia 6.",
        "30",
    ),
    ("How many of the 25 questions must be right?", "So 20 of the 25 questions need to be right.", "20"),
    ("How many eggs are in a dozen?", "A dozen is twelve eggs.", "12"),
    ('How often does "r" occur?', 'The letter "r" occurs **three** times in it.', "3"),
    ("How long does it take?", "The time is 40 miles / 16 mph = 2.5 hours.", "2.5"),
    ("Pedro e Luísa têm juntos 45 anos. Quantos anos tem Luísa?", "Logo, Luísa tem 15 anos e Pedro tem 30 anos.", "15"),
]
#: What looks like a remark and is the answer.
ANSWERS = [
    ("How many eggs are there?", "There are 3 dozen, or 36 eggs.", "36"),
    ("How many minutes did she walk?", "The total is 480 + 240, or 720 minutes.", "720"),
    ("How many MTB bikes were sold?", "Marcel sold 35% of the bikes, or 105 bikes.", "105"),
    ("How much has he left?", "He will have $50 - $30, or $20, left over.", "20"),
    ("How many marbles are there in all?", "Each gets 5, 15 in all.", "15"),
    ("How many has he left?", "He had 17 apples and gave 12 away, so he has 5 left.", "5"),
    ("What is 3 times the sum?", "The sum is 9, so 3 x (4 + 5) = 27.", "27"),
    ("She has 8 eggs and sells 3. How many are left?", "She has 8 eggs. If she sells 3, she has 5 left.", "5"),
    ("How many eggs are in the boxes?", "There are 3 boxes (36 eggs).", "36"),
    ("How many red apples are left?", "He sold 5 red apples, and now 3 are left.", "3"),
    ("Tom has 5 apples and Ann has 7. How many do they have?", "Tom has 5 and Ann has 7, so they have 12.", "12"),
    ("Tom has 5 apples more than Ann. How many has Tom?", "Ann has 7 apples and Tom has 12 apples.", "12"),
]


@pytest.mark.parametrize(("question", "text", "number"), REMARKS + ANSWERS)
def test_the_answer_is_read_and_not_the_remark_behind_it(question, text, number):
    assert extract_number(text, context=CompletionContext(question)) == number
