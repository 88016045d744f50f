"""Sets of answers with the same meaning. Kinds of truth: a slow version (a list of sets for each question), written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from howsure.errors import InputError
from howsure.stats.questions import AnswerCounts, estimate_consistency, map_questions
from howsure.stats.questions.answer_sets import (
    LONGEST_NUMBER,
    AnswerPair,
    _parse_number,
    count_most_comparisons,
    merge_equivalent_answers,
)


def by_first_letter(pairs):
    return [pair.first[0] == pair.second[0] for pair in pairs]


def slow_sets(generations, same):
    """Sets of one question: answers by frequency, then by text, each compared with the first answer of each set."""
    texts = [text for text in generations if text is not None]
    sets = []
    for text in sorted(set(texts), key=lambda text: (-texts.count(text), text)):
        for one in sets:
            if same(one[0], text):
                one.append(text)
                break
        else:
            sets.append([text])
    return sets


@pytest.mark.parametrize("seed", range(15))
def test_sets_are_those_of_a_plain_loop(seed):
    rng = np.random.default_rng(seed)
    words = [first + second for first in "abc" for second in "xyz"]
    near = {(a, b): bool(rng.random() < 0.4) for a in words for b in words}  # neither symmetric nor transitive

    def draw():
        return [None if rng.random() < 0.1 else str(rng.choice(words)) for _ in range(rng.integers(0, 12))]

    given = {model: {f"q{i}": draw() for i in range(6)} for model in "mn"}
    counts = AnswerCounts.from_generations("b", given, {"q0": "ax", "q3": "nowhere"})
    merged = merge_equivalent_answers(
        counts, lambda pairs: [near[pair.first, pair.second] for pair in pairs], sets="random"
    )
    entries = zip(merged.model, merged.question, merged.answer, merged.n, merged.total, strict=True)
    result = {
        (merged.models[m], merged.questions[q], None if a < 0 else merged.answers[a]): (int(n), float(total))
        for m, q, a, n, total in entries
    }
    expected: dict[tuple[str, str, str | None], tuple[int, float]] = {}
    for question in merged.questions:
        everything = [text for own in given.values() for text in own.get(question, [])]
        target = {"q0": "ax"}.get(question)
        for one in slow_sets(everything, lambda a, b: near[a, b]):
            name = target if target in one else one[0]
            for model, own in given.items():
                members = [text for text in own.get(question, []) if text in one]
                if members:
                    expected[model, question, name] = (len(members), float(sum(text == target for text in members)))
        for model, own in given.items():
            if unparsed := own.get(question, []).count(None):
                expected[model, question, None] = (unparsed, 0.0)
    assert result == expected
    assert merged.sets == "random"


def test_consistency_of_wordings_of_one_answer_is_zero():
    given = {"m": {"q": ["rome", "rome it is", "r", "oslo"]}}
    counts = AnswerCounts.from_generations("b", given, {"q": "paris"})
    merged = merge_equivalent_answers(counts, by_first_letter, sets="first letter")
    p = np.array([0.75, 0.25])
    assert estimate_consistency(merged, "plugin")[0, 0] == pytest.approx(np.sum(p * np.log(p)))
    assert estimate_consistency(counts, "plugin")[0, 0] == pytest.approx(-np.log(4))
    columns = map_questions(merged, in_corner_only=False).columns()
    assert (columns["n_sets"].tolist(), columns["answer_sets"].tolist()) == ([2], ["first letter"])


def test_scores_do_not_change():
    given = {"m": {"q": ["rome", "rome it is", "oslo"]}}
    counts = AnswerCounts.from_generations("b", given, {"q": "rome"})
    merged = merge_equivalent_answers(counts, by_first_letter, sets="first letter")
    assert merged.p_correct.tolist() == counts.p_correct.tolist() == [[pytest.approx(1 / 3)]]
    assert merged.answers == ("oslo", "rome")


@pytest.mark.parametrize(
    "pair", [("42", "43"), ("A", "B"), ("(A)", "b"), ("-3", "3"), ("1,000", "1000.5"), ("5 %", "6%")]
)
def test_two_numbers_or_letters_are_never_compared(pair):
    counts = AnswerCounts.from_generations("b", {"m": {"q": [*pair, *pair]}}, {})
    merged = merge_equivalent_answers(counts, lambda pairs: pytest.fail(f"compared {pairs}"), sets="all")
    assert len(merged.answers) == 2
    assert count_most_comparisons(counts) == 0


def test_a_number_and_its_word_are_compared():
    counts = AnswerCounts.from_generations("b", {"m": {"q": ["42", "42", "forty-two"]}}, {})
    seen = []
    merge_equivalent_answers(counts, lambda pairs: seen.extend(pairs) or [True] * len(pairs), sets="all")
    assert seen == [AnswerPair("q", "42", "forty-two")]
    assert count_most_comparisons(counts) == 1


def test_nothing_to_merge():
    empty = AnswerCounts.from_generations("b", {"m": {"q": [None, None]}}, {})
    assert merge_equivalent_answers(empty, lambda _: [], sets="none").n.tolist() == [2]


def test_a_verdict_for_each_pair_is_demanded():
    counts = AnswerCounts.from_generations("b", {"m": {"q": ["rome", "oslo"]}}, {})
    with pytest.raises(InputError, match="for 1 pairs"):
        merge_equivalent_answers(counts, lambda _: [True, False], sets="wrong")


def test_how_sets_were_made_is_kept_by_selections_and_sums():
    counts = AnswerCounts.from_generations("b", {"m": {"q": ["x"]}, "m:greedy": {"q": ["x"]}}, {})
    merged = merge_equivalent_answers(counts, by_first_letter, sets="first letter")
    assert {one.sets for one in (merged.select(["q"]), merged.without_greedy_runs(), merged + merged)} == {
        "first letter"
    }
    with pytest.raises(InputError, match="two ways"):
        merged + counts


@pytest.mark.parametrize(
    ("answers", "n_sets"),
    [
        ([".5", "0.5", "50 %", "1/2", "50%", "$0.50"], 1),
        (["50", "50 %"], 2),
        (["1,000", "1000", "1000."], 1),
        (["1,5", "15"], 2),
        (["-3", "−3", "3"], 2),
        (["1/0", "0"], 2),
        (["A", "a"], 2),
        (["$5", "5", "$5.00"], 1),
        (["$5", "€5"], 2),
        (["£ 5", "₹5"], 2),
        (["1.000", "1"], 2),
        (["1.000", "1,000", "1000", "1.000."], 2),
        (["12.500", "12.5"], 2),
        (["0.500", "0.5", "1/2"], 1),
        (["3.1400", "3.14"], 1),
        (["9" * 5000, "9" * 5000 + ".", "9"], 3),
        (["." + "9" * 5000, "1/" + "9" * 5000, "0"], 3),
    ],
)
def test_equal_numbers_are_one_set_without_a_comparison(answers, n_sets):
    """Values by hand; the function that compares says that nothing is the same."""

    def deny_all(pairs):
        return [False] * len(pairs)

    counts = AnswerCounts.from_generations("b", {"m": {"q": answers}}, {})
    merged = merge_equivalent_answers(counts, deny_all, sets="by hand")
    assert len(merged.answers) == n_sets
    assert merged.n.sum() == len(answers)


def test_numbers_of_up_to_60_characters_are_numbers():
    assert _parse_number("7".zfill(LONGEST_NUMBER)) == _parse_number("7")
    assert _parse_number("7".zfill(LONGEST_NUMBER + 1)) is None
