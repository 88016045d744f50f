"""The section on the judge. Truth: data made so that each sentence is true, and so that it is false."""

from dataclasses import replace

import numpy as np
import pytest

from howsure.reporting.elements import ElementBuilder
from howsure.reporting.report_data import JudgeSummary
from howsure.reporting.sections.judges import build_judge_section
from howsure.stats.judges import (
    JudgedCompletions,
    VerdictTable,
    measure_agreement,
    measure_judge_noise,
    measure_position_effect,
)

NAMES = tuple(f"q{i}" for i in range(200))


def judge_completions(*, wrong_of_a=0.0, wrong_of_b=0.0, n_labels=100, unreadable=0, by_length=False):
    """Models a and b on 200 questions, right of half; so much of what people score wrong the judge says right of."""
    rng = np.random.default_rng(5)
    truth = rng.random(400) < 0.5
    model = np.repeat([0, 1], 200)
    length = rng.integers(50, 2000, 400).astype(float)
    lenient = np.where(model == 0, wrong_of_a, wrong_of_b)
    lenient = np.where(by_length & (length > 1000), 0.9, lenient)
    judged = np.where(~truth & (rng.random(400) < lenient), 1.0, truth)
    judged[200 : 200 + unreadable] = np.nan
    label = np.where(np.arange(400) % 200 >= 200 - n_labels, truth, np.nan)
    return JudgedCompletions(
        "demo", ("a", "b"), NAMES, model, np.tile(range(200), 2), judged, label, np.ones(400), None, length
    )


def caption(order=("b", "a"), **parts):
    parts = {"model": "the-judge", "template": "correct", **parts}
    section = build_judge_section(JudgeSummary(**parts), order, ElementBuilder("b1"), level=0.95)
    return section.items[0].caption


def verdicts(counts):
    """Two verdicts on a completion of each of so many questions, as numbers of right ones."""
    n = np.array(counts)
    table = np.stack([n, 2 - n], axis=1)
    return VerdictTable("demo", ("a",), NAMES[: len(n)], n * 0, range(len(n)), range(len(n)), table, [1.0, 0.0])


def test_no_section_without_a_judge():
    section = build_judge_section(None, ["a"], ElementBuilder("b1"), level=0.95)
    assert (section.items, section.left_out) == ((), ())


def test_the_judge_is_named_and_without_labels_its_scores_are_its_opinion():
    text = caption(completions=judge_completions(n_labels=0))
    assert "The judge is the-judge, with the template correct." in text
    assert "the judge's opinion" in text
    assert "Each completion has one verdict" in text
    assert not any(word in text for word in ("readable", "People labelled", "favour", "errs", "interval of"))
    assert "opinion" not in caption(completions=judge_completions())


@pytest.mark.parametrize("unreadable", [0, 1, 20])
def test_completions_without_a_readable_verdict_are_counted(unreadable):
    text = caption(completions=judge_completions(unreadable=unreadable))
    expected = {
        0: None,
        1: "1 completion of 400 (0.2%) is without a readable verdict",
        20: "20 completions of 400 (5%) are without a readable verdict",
    }[unreadable]
    assert (expected is None) == ("without a readable verdict" not in text)
    assert expected is None or expected in text


def test_verdicts_that_differ_have_their_rate():
    """Of 40 completions 10 have one right and one wrong verdict."""
    noise = measure_judge_noise(verdicts([1] * 10 + [2] * 30))
    assert "differ with a probability of 0.250 (95% interval" in caption(completions=judge_completions(), noise=noise)
    same = measure_judge_noise(verdicts([2] * 40))
    text = caption(completions=judge_completions(), noise=same)
    assert "differ with a probability of 0.000 (95% interval 0.000 to 0.0" in text
    assert "one verdict" not in text


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([[1, 1]] * 25 + [[1, 0]] * 15, "favours the first completion"),
        ([[0, 0]] * 25 + [[1, 0]] * 15, "favours the second completion"),
        ([[1, 1]] * 5 + [[0, 0]] * 5 + [[1, 0]] * 30, "No preference for a place was detected"),
        ([], "a preference for a place is unknown"),
    ],
)
def test_a_preference_for_a_place_is_stated_where_its_interval_is_on_one_side_of_zero(scores, expected):
    effect = measure_position_effect(scores, NAMES[: len(scores)])
    text = caption(completions=judge_completions(n_labels=0), positions=effect)
    each = ("favours the first", "favours the second", "No preference for a place", "for a place is unknown")
    assert expected in text
    assert [part for part in each if part in text] == [part for part in each if part in expected]
    assert "one verdict" not in text  # the two orders are no repeats


def test_a_judge_that_favours_a_model_is_said_to():
    text = caption(completions=judge_completions(wrong_of_a=0.6))
    assert "The judge errs in favour of a: " in text
    assert "in favour of b" not in text
    assert "detected no favour" not in text
    assert "The judge's score of a is above the interval of the corrected score." in text
    assert "score of b is" not in text


def test_a_judge_that_errs_alike_on_both_models_favours_none():
    text = caption(completions=judge_completions(wrong_of_a=0.3, wrong_of_b=0.3))
    assert "errs in favour" not in text
    assert "twice as long" not in text
    assert "The tests detected no favour for a model or for the length of a completion" in text
    assert "The judge's score of b and a is above" in text or "The judge's score of a and b is above" in text


def test_a_judge_without_errors_has_no_correction_to_tell_of():
    text = caption(completions=judge_completions())
    assert "right of 1.000 [0.948, 1.000] of what people score right, and wrong of 1.000 [0.946, 1.000]" in text
    assert "the interval of the corrected score" not in text
    assert "errs in favour" not in text


def test_a_judge_that_favours_long_completions_is_said_to():
    text = caption(completions=judge_completions(by_length=True, n_labels=200))
    assert "when a completion is twice as long" in text
    assert "+0." in text


def test_only_what_was_tested_is_said_to_be_undetected():
    """Completions of one length have no test of length; with one model there is no other to favour it against."""
    both = judge_completions(wrong_of_a=0.3, wrong_of_b=0.3)
    alike = caption(completions=replace(both, length=np.full(400, 300.0)))
    assert "The tests detected no favour for a model, which small ones would escape." in alike
    of_a = np.flatnonzero(both.model == 0)
    rows = {name: getattr(both, name)[of_a] for name in ("model", "question", "judged", "label", "inclusion", "length")}
    alone = replace(both, models=("a",), **rows)
    assert "detected no favour for the length of a completion, which" in caption(["a"], completions=alone)


def test_a_judge_that_errs_against_one_of_three_models_is_said_to():
    """The judge says right of 60 % of what people score wrong, but never of the third model's completions."""
    two, third = judge_completions(wrong_of_a=0.6, wrong_of_b=0.6, n_labels=200), judge_completions(n_labels=200)
    of_b = np.flatnonzero(third.model == 1)
    rows = {
        name: np.concatenate([getattr(two, name), getattr(third, name)[of_b]])
        for name in ("question", "judged", "label", "inclusion", "length")
    }
    three = replace(two, models=("a", "b", "c"), model=np.repeat([0, 1, 2], 200), **rows)
    text = caption(["a", "b", "c"], completions=three)
    assert "The judge errs against c: its error there differs by -0." in text
    assert "errs against a" not in text
    assert "errs in favour of c" not in text


def test_a_note_names_its_model_once():
    builder = ElementBuilder("b1")
    summary = JudgeSummary(model="j", template="correct", completions=judge_completions(unreadable=7))
    table = build_judge_section(summary, ["b", "a"], builder, level=0.95).items[0]
    assert "b: completions without a readable verdict, left out: 7" in table.notes


def test_flip_rates_that_are_equal_are_no_range():
    table = verdicts([1] * 10 + [2] * 30)
    again = [np.tile(table.question, 2), np.arange(80)]
    both = VerdictTable(
        "demo", ("a", "b"), table.questions, np.repeat([0, 1], 40), *again, np.tile(table.counts, (2, 1)), table.values
    )
    text = caption(completions=judge_completions(), noise=measure_judge_noise(both))
    assert "differ with a probability of 0.250, for each model." in text
    assert "depending on the model" not in text


def test_few_labels_are_said_and_tests_without_enough_are_not_claimed():
    text = caption(completions=judge_completions(n_labels=8, wrong_of_a=0.6))
    assert "a and b have fewer than 20 labels: too few" in text
    assert "errs in favour" not in text
    assert "fewer than 20" not in caption(completions=judge_completions(n_labels=20))


def test_the_agreement_of_reviewers_is_there_where_two_labelled():
    both = measure_agreement(["C", "C", "W", "W"], ["C", "W", "W", "W"], reviewers=("ann", "bo"))
    text = caption(completions=judge_completions(), agreements=[both])
    assert "ann and bo agree on 0.750" in text
    assert "agree on" not in caption(completions=judge_completions())


def test_the_table_has_the_models_in_the_order_of_the_page():
    builder = ElementBuilder("b1")
    summary = JudgeSummary(model="j", template="correct", completions=judge_completions(unreadable=7))
    table = build_judge_section(summary, ["b", "a"], builder, level=0.95).items[0]
    rows = {row[0]: dict(zip(table.headings, row, strict=True)) for row in table.rows}
    assert list(rows) == ["b", "a"]
    assert (rows["a"]["Unreadable"], rows["b"]["Unreadable"]) == ("0", "7")
    assert (rows["a"]["Labels"], rows["b"]["Labels"]) == ("100", "100")
    assert builder.tables["b1-judge"]["model"] == ["b", "a"]
    assert builder.tables["b1-judge"]["n_unreadable"] == [7, 0]
