"""Kinds of truth: pairs of labels or separators and choices that a reader judged; identities of the replacement."""

from __future__ import annotations

import pytest

from howsure.benchmarks.question import Question
from howsure.perturb.dimensions import ENUMERATORS, Value
from howsure.perturb.fitting_values import choose_fitting_value, find_label_conflict, find_separator_conflict

LABELS = [
    ("capitals", "Which vitamin?", ("Vitamin A", "Vitamin C"), False), ("capitals", "Which?", ("A cat", "A dog"), True),
    ("capitals", "How warm?", ("5 °C", "7 °C", "9 °C"), True), ("lowercase", "Which blood?", ("group A", "group B"), False),
    ("capitals", "Which?", ("U.S.A.", "D.C."), True), ("capitals", "Which city?", ("Córdoba", "Łódź"), True),
    ("capitals", "Which?", ("A is true", "R is true"), False), ("capitals", "Which?", ("O", "A"), False),
    ("lowercase", "Which?", ("ls -a", "ls"), False), ("lowercase", "Which?", ("a cat", "a dog"), True), ("lowercase", "Which?", ("2a + c", "x"), False),
    ("lowercase", "Let b be 3. What is b + 1?", ("four", "five"), False), ("digits", "Which?", ("about 2 apples", "none"), False),
    ("digits", "Which?", ("4 legs", "many legs"), False), ("digits", "Which?", ("apple", "pear"), True), ("digits", "Which? 1. tea 2. milk", ("both drinks", "no drink"), False),
    ("roman", "Which war?", ("World War I", "World War II"), False), ("roman", "Who?", ("I am", "You are"), True), ("roman", "I. x II. y Which?", ("x alone", "y alone"), False),
    ("greek", "Which?", ("the α helix", "the sheet"), False), ("greek", "What is \\beta here?", ("one", "two"), False), ("greek", "Which?", ("beta", "x"), True),
    ("keyboard", "Which?", ("$\\{2\\}$", "none"), False), ("keyboard", "What is x^2?", ("one", "two"), False), ("keyboard", "Which?", ("==", "!="), False),
    ("keyboard", "Which?", ("Rome", "Oslo"), True), ("keyboard", "Which?", ("5", "6"), False), ("keyboard", "Which?", ("f(x)", "g(x)"), False),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "choices", "fits"), LABELS)
def test_labels_beside_choices(name, text, choices, fits):
    reason = find_label_conflict(ENUMERATORS[name][: len(choices)], Question("q", text, "A", choices=choices))
    assert (reason == "") == fits, reason


SEPARATORS = [
    (" | ", ("a|b", "c"), False), (" | ", ("|", "||"), False), (" or ", ("stay or go", "x"), False), (" or ", ("a door", "x"), True), (" or ", ("OR", "AND"), False),
    (", ", ("1,000", "2"), False), (", ", ("It rises.", "It falls."), False), ("; ", ("It rises.", "It falls."), False), ("\n", ("It rises.", "It falls."), True),
    ("  ", ("one  two", "x"), False), ("  ", ("one two", "x"), True), ("\t", ("a\tb", "x"), False), ("\n", ("a\nb", "x"), False), ("\t", ("a\nb", "x"), False),
    ("\n\n", ("a\nb", "x"), True), (", ", ("القاهرة", "بغداد"), False), ("\n", ("القاهرة", "بغداد"), True), (" or ", ("東京", "大阪"), False), (", ", ("東京", "大阪"), True),
    (" or ", ("5", "6"), True), (" oder ", ("Hai oder Wal", "Huhn"), False), (" - ", ("well-known", "new"), False),
    (", ", ("平らである。", "丸い。"), False), (" | ", ("平らである。", "丸い。"), True), (", ", ("=", "=="), False), ("; ", ("&", "^"), False), (" or ", ("=", "=="), False), ("\t", ("=", "=="), True), (", ", ("x = 1", "x == 1"), True),
]  # fmt: skip


@pytest.mark.parametrize(("separator", "choices", "fits"), SEPARATORS)
def test_separators_between_choices(separator, choices, fits):
    reason = find_separator_conflict(separator, choices)
    assert (reason == "") == fits, reason


def test_the_next_value_that_fits_is_used():
    values = [Value(name, name) for name in "abcd"]
    question, other = Question("q", "?", "A", choices=("x", "y")), Question("p", "?", "A", choices=("x", "z"))

    def conflict_of(unfit):
        return lambda value, one: "no" if value.name in unfit[one.id] else ""

    chosen, reason = choose_fitting_value(values[1], values, [], [question], conflict_of({"q": "bc"}))
    assert (chosen.name, reason) == ("d", "no")
    assert choose_fitting_value(values[3], values, [], [question], conflict_of({"q": "d"}))[0].name == "a"
    assert choose_fitting_value(values[0], values, [], [question], conflict_of({"q": "b"})) == (values[0], "")
    both = conflict_of({"q": "a", "p": "bc"})
    assert choose_fitting_value(values[0], values, [], [question, other], both)[0].name == "d"
    only_first = conflict_of({"q": "ab", "p": "abcd"})
    assert choose_fitting_value(values[0], values, [], [question, other], only_first)[0].name == "c"
    spare = Value("e", "e")
    assert choose_fitting_value(values[0], values, [spare], [question], conflict_of({"q": "abcd"}))[0] == spare
    assert choose_fitting_value(values[0], values, [], [question], conflict_of({"q": "abcd"})) == (values[0], "no")
