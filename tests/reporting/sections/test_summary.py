"""Sentences on hand-made cases: what they must say, worked out by hand from the scores."""

import re

import numpy as np
import pytest

from howsure.reporting.benchmark_report import BenchmarkReport
from howsure.reporting.elements import ElementBuilder
from howsure.reporting.formatting import format_number
from howsure.reporting.report_data import ReportData, ReportOptions
from howsure.reporting.sections import score_table
from howsure.reporting.sections.comparisons import describe_forest, describe_matrix, describe_pair_errors
from howsure.reporting.sections.heatmap import describe_heatmap
from howsure.reporting.sections.noise import describe_noise_parts
from howsure.reporting.sections.summary import collect_warnings, describe_verdict
from howsure.stats.comparisons.pairs import pairs
from howsure.stats.comparisons.reference import compare_with_reference
from howsure.stats.core.cells import Cells
from howsure.stats.core.cube import Cube
from howsure.stats.scores.score import FEW_QUESTIONS, score


def cells(scores, models=None, **more):
    models = models or [chr(97 + i) for i in range(len(scores))]
    made = Cells.from_scores("b", models, [f"q{i}" for i in range(len(scores[0]))], scores)
    return Cells(**{**vars_of(made), **more})


def vars_of(made):
    return {f: getattr(made, f) for f in made.__dataclass_fields__}


def verdict(made):
    return describe_verdict(score(made), pairs(made) if len(made.models) > 1 else None)


RIGHT, WRONG = [[1, 1]] * 40, [[0, 0]] * 40
HALF = [[1, 0]] * 20 + [[0, 1]] * 20
LOW = [[0, 0]] * 36 + [[1, 1]] * 4
HIGH = [[1, 1]] * 36 + [[0, 0]] * 4


def test_one_model_is_not_compared():
    text = verdict(cells([HIGH]))
    assert text.startswith("a scores 0.900 (95% interval ")
    assert "expected score on new questions" in text
    assert "distinguishable" not in text


def test_the_only_model_with_a_score_is_not_called_the_highest():
    text = verdict(cells([HIGH, [[]] * 40]))
    assert re.fullmatch(r"a scores 0\.900 \(95% interval 0\.\d+ to 0\.\d+\); no other model has a score\.", text)


def test_all_right_is_no_certainty():
    """Theory: Clopper and Pearson's limit of 40 answers that are all right, .025^(1/40) = .912."""
    text = verdict(cells([RIGHT]))
    assert text.startswith("a scores 1.000 (95% interval 0.9")
    assert float(text.split("interval ")[1].split()[0]) == 0.912


def test_one_question_says_next_to_nothing():
    low, _, high = verdict(cells([[[1, 0]]])).split("interval ")[1].split(")")[0].split()
    assert float(high) - float(low) > 0.8


def test_scores_without_variation_have_no_known_error():
    far = [[[5, 5]] * 3]
    assert "with an error that these data cannot estimate" in verdict(cells(far))


def test_equal_scores_share_the_first_place_and_are_never_called_equal():
    text = verdict(cells([RIGHT, RIGHT, RIGHT]))
    assert text.startswith("a, b and c share the highest score, 1.000.")
    assert "cannot be told apart from any of the 2 others at this sample size" in text
    assert "equal" not in text


def test_all_right_against_all_wrong_is_distinguishable():
    assert "It is clearly better than the other model." in verdict(cells([RIGHT, WRONG]))


def test_models_of_other_questions_cannot_be_tested():
    text = verdict(cells([[[1], [0], []], [[], [], [0]]]))
    assert text.endswith("No test was possible against b.")


def test_the_name_of_a_model_is_written_as_it_is():
    text = verdict(cells([RIGHT, RIGHT, WRONG], ["right1", "right2", "wrong"]))
    assert "right1 is clearly better than 1 of the 2 others" in text
    assert "Right1" not in text


def test_far_apart_is_distinguishable_and_close_is_not():
    assert "It is clearly better than the other model." in verdict(cells([LOW, HIGH]))
    almost = [*HIGH[:-5], [0, 0], *HIGH[-4:]]
    text = verdict(cells([almost, HIGH]))
    assert "It cannot be told apart from the other model at this sample size." in text


def test_some_of_both():
    almost = [*HIGH[:-5], [0, 0], *HIGH[-4:]]
    text = verdict(cells([LOW, HIGH, almost]))
    assert "b has the highest score" in text
    assert "It is clearly better than 1 of the 2 others; it cannot be told apart at this sample size from c." in text


@pytest.mark.parametrize(("n_unparsed", "says_so"), [(0, False), (3, False), (20, True)])
def test_verdict_that_depends_on_answers_that_could_not_be_read(n_unparsed, says_so):
    # b scores 0 throughout; with 20 of its 40 answers right it would score what a does.
    unparsed = np.array([[0] * 40, [1] * n_unparsed + [0] * (40 - n_unparsed)])
    text = verdict(cells([[[1], [0]] * 20, [[0]] * 40], unparsed=unparsed))
    assert ("It is clearly better than the other model." in text) != says_so
    assert ("Whether it differs from b depends on answers that could not be read." in text) == says_so


def test_highest_score_on_fewer_questions_may_lose_the_common_ones():
    # a answers 40 easy questions (38 right) and 20 that b also answers (all wrong there, b all but two right).
    easy, common = 200, 20
    a = [[1]] * easy + [[0]] * common
    b = [[]] * easy + [[1]] * (common - 2) + [[0]] * 2
    made = cells([a, b], ["a", "b"])
    assert "on the questions that both answered, b did better" in verdict(made).lower()
    assert "1 model is clearly above it" in describe_forest(compare_with_reference(pairs(made), "a"))


def test_nothing_scored():
    made = cells([[[], []], [[], []]])
    assert verdict(made) == "No generation was scored, so there is nothing to compare."
    assert next(collect_warnings(made)) == "No score at all: a and b."


def test_warnings_count_what_is_missing_failed_and_unparsed():
    made = cells(
        [[[1, 0], [1, 1], []], [[1, 1], [0, 1], [0, 0]]],
        failed=np.array([[0, 1, 2], [0, 0, 0]]),
        unparsed=np.array([[1, 0, 0], [0, 0, 0]]),
        variants=("v1", "v2"),
    )
    told = list(collect_warnings(made))
    assert (
        told[0] == "3 generations have no score (23.08% of those in the data) and are left out, not scored 0."
    )  # 3 of 13
    assert told[1] == (  # a: (1/2 + 1)/2 as it is, and 1 with the unread answer right
        "No answer could be extracted from 1 generation (10.00% of those scored); it scores 0. "
        "With all of them right, scores would be higher: a 1.000 in place of 0.750."
    )
    assert "of all pairs of a model and a question, 16.67% are without a score." in told[2]  # 1 of 6 cells
    assert told[2].startswith("1 model did not answer every question")
    assert told[3].startswith("Only 3 questions: ")
    assert told[4].startswith("Scores are averaged over 2 prompt variants")


@pytest.mark.parametrize(("lacking", "said"), [(0, "over 4 prompt variants;"), (2, "over 2 to 4 prompt variants, ")])
def test_prompts_are_counted_for_each_model(lacking, said):
    """Planted: b lacks the answers under the last prompts; it was averaged "over 4 prompt variants" all the same."""
    n = np.full((2, 40, 4), 3)
    n[1, :, 4 - lacking :] = 0
    names = ("a", "b"), tuple(f"q{i}" for i in range(40)), ("v1", "v2", "v3", "v4")
    cube = Cube("bench", *names, n, n * 0.0, n * 0.0)
    (text,) = [text for text in collect_warnings(cube.cells(), cube=cube) if "prompt variants" in text]
    assert said in text
    assert ("over the fewest for b: " in text) == bool(lacking)


def test_one_generation_only_is_told_for_all_or_by_name():
    assert "One generation per question: data and" in " ".join(collect_warnings(cells([[[1], [0]]])))
    told = " ".join(collect_warnings(cells([[[1, 0], [0, 0]], [[1], [0]]], ["x", "x:greedy"])))
    assert "One generation per question for x:greedy:" in told
    assert "One generation" not in " ".join(collect_warnings(cells([HIGH])))


def test_components_name_the_larger_noise():
    # HALF: every question is a coin; HIGH: every question is certain.
    text = describe_noise_parts(score(cells([HALF, HIGH, [[1]] * 40])), 3)
    assert "larger part for 1 and prediction noise (sampling again) for 1 of 2 models whose parts are known" in text
    assert "drawn as 0" in text
    assert "cannot be separated" in describe_noise_parts(score(cells([[[1], [0]]])), 1)
    assert "Drawn for 1 of 2 models" in describe_noise_parts(score(cells([HALF, HIGH])), 1)


def test_leaving_out_what_models_fail_is_said_to_raise_scores():
    """By hand: all wrong on the two rejected questions of ten: .5 becomes .625, with no wrong label at all."""
    every = cells([[[1]] * 5 + [[0]] * 5])
    left = every.select(questions=every.questions[:8])
    builder = ElementBuilder("b1")
    section = score_table.build_rejected_section(left, score(left), every, ["a"], builder)
    assert "scores change by at most 0.12" in section.items[0].caption
    assert "leaving those out raises scores, whether their labels are wrong or not" in section.items[0].caption


def rejected_caption(scores, kept):
    """The caption on the change of the scores, where only the questions at `kept` are left."""
    every = cells(scores)
    left = every.select(questions=[every.questions[q] for q in kept])
    section = score_table.build_rejected_section(left, score(left), every, list(every.models), ElementBuilder("b1"))
    return section.items[0].caption


def test_a_model_that_answered_rejected_questions_only_is_said_to_have_no_score_any_more():
    """By hand: the second model answered the last question alone; the page said that no score changes."""
    caption = rejected_caption([[[1], [1], [1]], [[], [], [1]]], range(2))
    assert "no score changes, 1 model has no score any more, and no two models change places" in caption
    assert "any more" not in rejected_caption([[[1], [1], [1]], [[], [1], [1]]], range(2))


def test_models_change_places_only_where_one_passes_another():
    """By hand: of ten questions the last is left out; equal scores that part, or that become equal, pass nobody."""
    right = [[1]] * 5
    wrong = [[0]] * 5
    swapped = [right + [[0]] * 4 + [[1]], [[0]] * 4 + right + [[0]]]  # 6 and 5 of 10; 5 and 5 of 9
    assert "no two models change places" in rejected_caption(swapped, range(9))
    passed = [
        right + [[0]] * 3 + [[1]] * 2,
        [[0]] * 2 + [[1]] * 6 + [[0]] * 2,
    ]  # 7 and 6 of 10; 6 and 6 of 9; 5 and 6 of 8
    assert "2 models change places" in rejected_caption(passed, range(8))
    third = [*passed, wrong + wrong]
    assert "2 models change places" in rejected_caption(third, range(8))
    assert "no two models change places" in rejected_caption(third, range(9))


def test_a_change_that_rounds_to_nothing_is_not_called_nothing():
    """By hand: 500 of 1,001 and 500 of 1,000 differ by 0.0005; as many right of all and of the rest by nothing."""
    half = [[1]] * 500 + [[0]] * 501
    text = rejected_caption([half], range(1000))
    assert "1 question of 1,001 is left out; scores change by at most 0.0005" in text
    assert "no score changes" in rejected_caption([[[1], [0]] * 10], range(18))


def test_difficulty_counts_questions_that_all_fail_or_solve():
    made = cells([[[0, 0], [1, 1], [1, 0], [1]], [[0], [1], [1], []]])
    text = describe_heatmap(made, np.arange(4))
    assert text.startswith("Every generation of every model that answered scored 0 on 1 of 4 questions, and 1 on 2.")
    assert "grey" in text
    assert "into 2 groups" in describe_heatmap(made, np.array([0, 0, 1, 1]))


def test_real_scores_are_not_called_solved():
    text = describe_heatmap(cells([[[5.0], [-2.0]]]), np.arange(2))
    assert text.startswith("2 questions, from the lowest mean score to the highest.")


def test_matrix_counts_all_pairs():
    text = describe_matrix(pairs(cells([LOW, HIGH, RIGHT, WRONG])), 2)
    # LOW-HIGH, LOW-RIGHT, HIGH-WRONG and RIGHT-WRONG are 0.8 to 1 apart; LOW-WRONG and HIGH-RIGHT are close.
    assert text.startswith("4 of 6 pairs can be told apart")
    assert "cannot be tested" not in text
    apart = describe_matrix(pairs(cells([LOW, HIGH, [[]] * len(LOW)])), 3)
    assert "; 2 cannot be tested." in apart
    assert "Drawn for 2 of 4 models" in text


def test_pair_errors_say_when_pairing_helps():
    made = pairs(cells([LOW, HIGH, HALF]))
    # LOW is right on the last 4 only, HIGH wrong there: negative; HALF has no spread over questions: no correlation.
    text = describe_pair_errors(made, binary=True)
    assert "In 0 of 1 pair the scores of the two models are positively correlated" in text
    apart = cells([[[1], []], [[], [0]]])
    assert describe_pair_errors(pairs(apart), binary=True) == "No two models have a question in common."
    assert describe_pair_errors(made, binary=True, every=2).endswith("Drawn for one pair in 2.")
    uneven = cells([[[1], [0], [1]], [[1], [0], []], [[1], [1], [0]]])
    assert "the curves are for the median number" in describe_pair_errors(pairs(uneven), binary=True)
    assert "Drawn" not in describe_pair_errors(made, binary=True)


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [(float("nan"), 2, "–"), (-1.5, 1, "−1.5"), (1234.5, 0, "1,234"), (-0.001, 2, "0.00"), (0.5, 3, "0.500")],
)
def test_numbers(value, places, text):
    assert format_number(value, places) == text


def test_a_greedy_run_is_a_mark_in_the_row_of_its_model_and_no_rival():
    # by hand: m is right half of the time, its greedy run on every question; n is right on 4 of 40
    made = cells([HALF, RIGHT, LOW], ["m", "m:greedy", "n"])
    [data] = ReportData([made]).benchmarks()
    report = BenchmarkReport(data, "b1", ReportOptions())
    assert report.verdict.startswith("m has the highest score, 0.500 (")
    assert "It is clearly better than the other model." in report.verdict
    assert "greedy" not in report.verdict
    assert [(row.model, row.greedy, row.rank) for row in report.score_table.rows] == [
        ("m", "1.000", "1 (1)"),
        ("n", "", "2 (2)"),
    ]
    assert report.score_table.rows[0].x_greedy == 1.0
    assert dict(report.list_facts())["Models"] == "2"
    assert report.count_distinguishable() == "1 of 1"


def test_a_greedy_run_without_its_model_is_a_model():
    made = cells([HALF, RIGHT], ["m", "o:greedy"])
    [data] = ReportData([made]).benchmarks()
    assert BenchmarkReport(data, "b1", ReportOptions()).verdict.startswith("o:greedy has the highest score, 1.000")


def test_both_counts_are_said_where_adjusting_changes_the_verdict():
    """A slow version by loops: p of each pair, and Holm's rule over all of them, decide both counts."""
    rng = np.random.default_rng(3)
    p = rng.beta(1, 1, 150)
    made = cells([[[int(rng.random() < q * f)] for q in p] for f in [1, *([0.86] * 9)]])
    compared = pairs(made)
    p_values, best = compared.interval().p_value, int(np.argmax(made.mean.mean(axis=1)))
    of_best = (compared.a == best) | (compared.b == best)
    ordered, rejected = sorted(range(45), key=lambda i: p_values[i]), set()
    for place, i in enumerate(ordered):
        if p_values[i] * (45 - place) >= 0.05:
            break
        rejected.add(i)
    singly, adjusted = int(np.sum(p_values[of_best] < 0.05)), len(rejected & set(np.flatnonzero(of_best).tolist()))
    assert singly > adjusted
    forest = describe_forest(compare_with_reference(compared, made.models[best], chosen_by_scores=True))
    assert (
        f"adjusted for all 45 pairs (Holm), because the scores chose the reference; each tested by itself, {singly} "
        in forest
    )
    # theory: Bonferroni's level for 45 tests of a difference
    assert "thin bars hold for all 45 tests at once" in forest


def test_rivals_are_named_by_score_with_their_common_questions_where_few():
    # 40 questions; the closest rivals come last in the alphabet, and one of them answered 10 questions only
    def right(n, of=40):
        return [[1]] * n + [[0]] * (of - n) + [[]] * (40 - of)

    far = cells([right(36), right(8, 10), right(34), right(2)], list("zacb"))
    told = "it cannot be told apart at this sample size from c and a (10 common questions)."
    assert f"It is clearly better than 1 of the 3 others; {told}" in verdict(far)


def test_a_named_reference_is_tested_against_the_others_only():
    """Theory: Holm over 3 comparisons in place of 6; a hand-made p of .012 is .036 against .072."""
    made = cells([HIGH, LOW, HALF, RIGHT])
    compared = pairs(made)
    named = compare_with_reference(compared, "a")
    chosen = compare_with_reference(compared, "a", chosen_by_scores=True)
    assert (named.n_tests, chosen.n_tests) == (3, 6)
    assert np.all(named.p_holm <= chosen.p_holm)
    assert "adjusted for the 3 comparisons (Holm), because the reference was named beforehand" in describe_forest(named)


def test_small_errors_have_two_significant_digits():
    # by hand: 1 of 2,000 questions right: SE sqrt(.0005 * .9995 / 2000) = .00050
    rare = [[1]] + [[0]] * 1999
    half = [[1], [0]] * 1000
    made = cells([rare, half, half, half])
    scores = score(made)
    rows = {row.model: row for row in score_table.build_score_table(scores, score_table.order_models(scores)).rows}
    assert (rows["a"].se, rows["a"].score) == ("0.00050", "0.0005")
    assert rows["b"].se == "0.011"


def test_greedy_follows_its_model_and_stands_alone_without_it():
    made = cells([HIGH, LOW, HALF, RIGHT], ["m", "m:greedy", "n", "o:greedy"])
    assert score_table.order_models(score(made)) == ["o:greedy", "m", "m:greedy", "n"]


def test_every_row_of_the_answer_is_its_own_models():
    # by hand: each model's SE is sqrt(var(p) / N) with N = 40
    made = cells([LOW, HIGH, HALF, RIGHT], ["low", "high", "half", "right"])
    scores = score(made)
    rows = {row.model: row for row in score_table.build_score_table(scores, score_table.order_models(scores)).rows}
    sd = np.sqrt(0.9 * 0.1 / 40)
    assert (rows["low"].score, rows["high"].score, rows["right"].score) == ("0.100", "0.900", "1.000")
    assert rows["low"].se == rows["high"].se == f"{sd:.3f}"
    assert rows["right"].interval.endswith(" to 1.000")
    assert rows["low"].shares[0] == pytest.approx(1)  # no generation of a question differs from another
    assert rows["low"].note_numbers == ()


def test_a_row_without_an_interval_says_why():
    made = cells([[[5, 5]] * 40, LOW], ["same", "low"])
    scores = score(made)
    table = score_table.build_score_table(scores, score_table.order_models(scores))
    [row] = [row for row in table.rows if row.model == "same"]
    assert (row.interval, row.x_low) == ("–", None)
    few, note = [table.notes[i - 1] for i in row.note_numbers]
    assert few == FEW_QUESTIONS  # they are graded
    assert note.startswith("no variation was seen: no interval")


def test_no_part_of_the_noise_is_called_larger_where_no_noise_was_seen():
    text = describe_noise_parts(score(cells([[[1, 1]] * 30, [[0, 0]] * 30])), 2)
    assert text == "No two scores of a model differ, so that there is no variance to draw."


def test_a_benchmark_without_questions_that_all_fail_or_solve_says_so_without_zeros():
    scores = [[[1, 0]] * 3, [[0, 1]] * 3]
    cells = Cells.from_scores("b", ["a", "b"], ["q1", "q2", "q3"], scores)
    text = describe_heatmap(cells, np.arange(3))
    assert text.startswith(
        "On none of 3 questions did all generations of all models score 0, and on none did all score 1."
    )


def test_the_headline_says_who_is_ahead_on_common_questions():
    """Planted: a skipped the hard questions. With all questions answered, or b behind on the common ones, nothing is said."""
    hard, text = [[0]] * 10, "On the questions that it answered too, b scored higher."
    skips, fails = [[[1], [1], [1], [0]] * 10 + [[]] * 10], [[[1], [1], [1], [0]] * 10 + hard]
    better, worse = [[[1], [1], [1], [0]] * 9 + [[1]] * 4 + hard], [[[1], [1], [0], [0]] * 10 + hard]
    for rows, holds in ((skips + better, True), (skips + worse, False), (fails + worse, False)):
        made = cells(rows)
        assert describe_verdict(score(made), pairs(made)).endswith(text) == holds
