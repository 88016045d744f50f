"""Open answers: cases judged by hand before the code was written, and SQuAD's own rules."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest
from helpers.awkward_answers import cases, score_or_none, scored
from oracles import squad

import howsure
from howsure.scorers import normalised
from howsure.scorers.normalised import matches_target, normalize_answer

WORDS = [
    "The",
    "a",
    "an",
    "Paris",
    "paris",
    "Jane",
    "Austen",
    "O'Neill",
    "U.S.",
    "the,",
    "river",
    "(Seine)",
    "novel!",
    "new",
    "York",
    "wrote",
    "of",
    "and",
]


def test_awkward_answers():
    rows = cases("normalised", "exact", "contains")
    scores = [(row, score_or_none(row[0], row[3], row[2], row[1])) for row in rows]
    assert [(row, score) for row, score in scores if score != row[4]] == []


def test_normal_forms_are_those_of_squad():
    """On words without digits, hyphens and an article at the end, where both have the same rules."""
    rng = random.Random(5)
    for _ in range(2000):
        text = " ".join(rng.choices(WORDS, k=rng.randint(1, 6))) + " end"
        assert normalize_answer(text) == squad.normal(text)


def test_squads_matches_are_matches():
    rng = random.Random(6)
    answers = [" ".join(rng.choices(WORDS[3:], k=rng.randint(1, 3))) + " end" for _ in range(60)]
    pairs = [(a, t) for a in answers for t in answers]
    expected = [squad.exact_match(a, [t]) for a, t in pairs]
    assert 60 <= sum(expected) < 400
    assert all(matches_target(a, t) for (a, t), match in zip(pairs, expected, strict=True) if match)
    # What matches besides are the same letters with other spaces ("new York", "newyork"), which do not occur here.
    more = [(a, t) for (a, t), match in zip(pairs, expected, strict=True) if not match and matches_target(a, t)]
    assert not [(a, t) for a, t in more if "(" not in a + t and not (a + t).lower().startswith(("of", "and"))]


@pytest.mark.parametrize(
    ("answer", "target"),
    [("3.5", "35"), ("-5", "5"), ("1/2", "12"), ("vitamin A", "vitamin"), ("C++", "C"), ("O+", "O-"), ("1.5.2", "152")],
)
def test_what_squad_takes_for_the_same_and_a_reader_does_not(answer, target):
    assert squad.exact_match(answer, [target]) == 1
    assert not matches_target(answer, target)
    assert not matches_target(target, answer)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("ΑΘΉΝΑ", "αθηνα"),
        ("が", "が"),
        ("か", "か"),
        ("ＡＢＣ１２３", "abc123"),
        ("מוֹסְקְבָה", "מוסקבה"),
        ("مُحَمَّد", "محمد"),
        ("İstanbul", "istanbul"),
        ("ñandú", "nandu"),
        ("Йод", "йод"),
        ("หนึ่ง", "หนึ่ง"),
        ("???", "???"),
        ("$5 million", "5 million"),
        ("€5", "€5"),
    ],
)
def test_letters_of_every_script(text, normal):
    assert normalize_answer(text) == normal


@pytest.mark.parametrize(
    ("answer", "target", "is_same"),
    [
        ("in 1945", "1945", True),
        ("During 1945", "1945", True),
        ("by 1945", "1945", False),
        ("from 1945", "1945", False),
        ("1945", "by 1945", False),
        ("by May 1945", "May 1945", False),
        ("by 1945", "by 1945", True),
        ("by Jane Austen", "Jane Austen", True),
        ("from Italy", "Italy", True),
    ],
)
def test_prepositions_that_change_a_date_are_kept(answer, target, is_same):
    assert matches_target(answer, target) is is_same


@pytest.mark.parametrize(
    ("completion", "question", "right", "wrong"),
    [
        ("The temperature was -5.", "What was the temperature?", "-5", "5"),
        ("The temperature was −5 °C.", "What was the temperature?", "-5 °C", "5 °C"),
        ("The price is €20.", "What is the price?", "€20", "£20"),
        ("It is €20.", "How much is it?", "€20", "20 £"),
        ("It costs 25%.", "What is the share?", "25%", "75%"),
        ("It costs -€20.", "How much?", "-€20", "€20"),
        ("It takes 5 hours.", "How long?", "5 hours", "5 days"),
    ],
)
def test_a_sentence_gives_an_amount_with_its_sign_and_currency(completion, question, right, wrong):
    assert scored("normalised", completion, right, question)[0] == 1
    assert scored("normalised", completion, wrong, question)[0] == 0


@pytest.mark.parametrize(
    ("completion", "target", "score"),
    [
        ("答案是巴黎。", "巴黎", 1),
        ("答案是北京。", "巴黎", 0),
        ("每天赚18美元", "18", 1),
        ("每天赚118美元", "18", 0),
        ("เมืองหลวงคือปารีสครับ", "ปารีส", 1),
    ],
)
def test_a_text_without_spaces_contains_the_target(completion, target, score):
    assert scored("contains", completion, target)[0] == score


def test_an_answer_is_kept_in_normal_form_with_its_rule():
    assert scored("normalised", "The answer is Dr. Jane Smith-Jones.", "x") == (0.0, "dr jane smith jones", "statement")
    assert scored("normalised", "I'm sorry, I can't help.", "x") == (0.0, None, "refused")


def test_a_long_completion_takes_linear_time():
    for text in ("a " * 200_000, "(" * 200_000, "1," * 100_000, "\\text{" * 50_000, "word. " * 60_000, "is " * 90_000):
        scored("normalised", text, "Paris", "What is it?")
        scored("contains", text, "Paris", "What is it?")


def list_imported(module):
    """Return the modules of the package `extraction` that a module imports, and those that they import."""
    path = Path(howsure.__file__).parent.joinpath(*module.split(".")).with_suffix(".py")
    names = [
        node.module or "" for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)
    ]
    own = {name.removeprefix("howsure.") for name in names if name.startswith("howsure.extraction.")}
    return own.union(*map(list_imported, own))


def test_the_version_is_of_all_modules_that_read_an_answer(monkeypatch):
    """Kind of truth: the imports themselves; one that is missing would change scores under the same version."""
    hashed = set()
    monkeypatch.setattr(normalised, "hash_code", lambda *modules: hashed.update(modules) or "x")
    normalised.build_normalised_scorer("normalised", "test")
    assert list_imported("scorers.normalised") <= hashed


@pytest.mark.parametrize(
    ("completion", "target", "score"),
    [
        ("twenty-six", "26", 1),
        ("Ninety nine", "99", 1),
        ("26", "twenty-six", 1),
        ("stop, drop, and roll", "stop, drop and roll", 1),
        ("twenty", "26", 0),
        ("twenty, ten", "30", 0),
    ],
)
def test_number_words_of_tens_and_ones_are_one_number(completion, target, score):
    """Kind of truth: readings by hand."""
    assert score_or_none("normalised", completion, target) == score
