"""Verdicts on planted data: what must fail, what must pass, and what nobody can tell."""

import numpy as np
import pytest
from scipy import stats

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import Cells
from howsure.stats.gate import compare_with_bar, compare_with_baseline, decide
from howsure.stats.scores import score


def _cells(old, new, k=5, failed=None, benchmark="demo"):
    """Return the cells of numbers of right generations out of k (or arrays of k)."""
    old, new = np.asarray(old, float), np.asarray(new, float)
    n = np.broadcast_to(np.asarray(k), (2, len(old))).astype(int)
    names = tuple(f"q{i}" for i in range(len(old)))
    total = np.stack([old, new])
    return Cells(benchmark, ("old", "new"), names, n, total, total, failed=failed)


def test_a_broken_question_fails_although_the_mean_hardly_moves():
    right = np.full(200, 5)
    new = right.copy()
    new[17] = 0
    gate = compare_with_baseline(_cells(right, new), "new", "old", margin=0.05)
    assert gate.verdict == "fail"
    assert not gate.is_mean_worse
    assert gate.questions["question"].tolist() == ["q17"]
    assert gate.questions["change"].tolist() == ["broken"]


def test_flaky_questions_are_not_broken():
    rng = np.random.default_rng(5)
    old, new = rng.binomial(5, 0.5, 100), rng.binomial(5, 0.5, 100)
    gate = compare_with_baseline(_cells(old, new), "new", "old")
    assert gate.verdict != "fail"
    assert "broken" not in gate.questions.kinds
    assert gate.n_flaky == np.sum((old > 0) & (old < 5) & (new > 0) & (new < 5))


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("questions", [1, 2, 3])
def test_few_right_answers_neither_pass_nor_fail(questions, k):
    right = np.full(questions, k)
    assert compare_with_baseline(_cells(right, right, k), "new", "old").verdict == "inconclusive"
    wrong = np.zeros(questions)
    assert compare_with_baseline(_cells(wrong, wrong, k), "new", "old").verdict == "inconclusive"
    assert compare_with_bar(_cells(right, right, k), "new", 0.95).verdict == "inconclusive"


def test_a_loss_within_the_margin_passes_however_sure_it_is():
    rng = np.random.default_rng(6)
    p = rng.uniform(0.2, 0.8, 4000)
    old, new = rng.binomial(50, p), rng.binomial(50, p - 0.01)
    gate = compare_with_baseline(_cells(old, new, 50), "new", "old", margin=0.03)
    assert gate.p_mean < 0.001
    assert gate.verdict == "pass"
    assert compare_with_baseline(_cells(old, new, 50), "new", "old", margin=0.0).verdict == "fail"


def test_leaving_hard_questions_out_does_not_pass():
    """The candidate answers only the questions that the baseline gets right, and those as the baseline does."""
    rng = np.random.default_rng(7)
    old = rng.binomial(5, 0.6, 300)
    new = np.where(old >= 3, old, 0)
    answered = old >= 3
    n = np.stack([np.full(300, 5), np.where(answered, 5, 0)])
    cells = _cells(old, new, n)
    for missing, verdict in (("bounds", "inconclusive"), ("as-zero", "fail"), ("as-missing", "pass")):
        gate = compare_with_baseline(cells, "new", "old", margin=0.06, missing=missing)
        assert gate.n_missing_candidate == 5 * np.sum(~answered)
        assert gate.verdict == verdict


def test_rows_that_are_left_out_are_missing():
    """The candidate is worse, and its wrong rows are not in its file."""
    rng = np.random.default_rng(18)
    old, new = rng.binomial(5, 0.6, 100), rng.binomial(5, 0.4, 100)
    n = np.stack([np.full(100, 5), np.maximum(new, 1)])
    cells = _cells(old, np.minimum(new, n[1]), n)
    gate = compare_with_baseline(cells, "new", "old")
    assert gate.n_missing_candidate == int(np.sum(np.max(n[1]) - n[1]))
    assert gate.verdict != "pass"
    assert compare_with_baseline(cells, "new", "old", missing="as-missing").verdict == "pass"
    # A candidate with fewer generations everywhere lacks nothing.
    assert (
        compare_with_baseline(
            _cells(old, np.minimum(new, 2), np.stack([np.full(100, 5), np.full(100, 2)])), "new", "old"
        ).n_missing_candidate
        == 0
    )


def test_a_bar_where_no_answer_varies_counts_questions():
    right = np.full(20, 5)
    for claim in ("these-questions", "new-questions"):
        gate = compare_with_bar(_cells(right, right), "new", 0.9, claim=claim)
        assert gate.low == pytest.approx(0.05 ** (1 / 20))
        assert gate.verdict == "inconclusive"


@pytest.mark.parametrize("bar", [90, 1.5, -1])
def test_a_bar_that_no_score_can_reach_is_refused(bar):
    with pytest.raises(InputError, match="between 0 and 1"):
        compare_with_bar(_cells([1], [1], 1), "new", bar)
    with pytest.raises(InputError, match="between 0 and 1"):
        compare_with_baseline(_cells([1], [1], 1), "new", "old", margin=2)


def test_what_no_answer_shows_to_vary_may_still_be_decided_by_more():
    right = np.full(30, 5)
    gate = compare_with_baseline(_cells(right, right), "new", "old", margin=0.005)
    assert gate.verdict == "inconclusive"
    assert np.isnan(gate.needed_generations)
    assert np.isnan(gate.needed_questions)


def test_failed_generations_are_bounded_from_both_sides():
    right = np.full(100, 4)
    failed = np.zeros((2, 100), int)
    failed[1, :30] = 1
    n = np.stack([np.full(100, 5), np.where(np.arange(100) < 30, 4, 5)])
    cells = _cells(right, right, n, failed=failed)
    bounded = compare_with_baseline(cells, "new", "old", margin=0.05)
    left_out = compare_with_baseline(cells, "new", "old", margin=0.05, missing="as-missing")
    assert bounded.n_missing_candidate == 30
    assert bounded.low < left_out.low - 0.02


def test_a_loss_of_the_mean_is_found_and_said():
    rng = np.random.default_rng(8)
    p = rng.uniform(0.3, 0.9, 300)
    gate = compare_with_baseline(_cells(rng.binomial(5, p), rng.binomial(5, p - 0.1)), "new", "old")
    assert gate.is_mean_worse
    assert gate.verdict == "fail"
    assert gate.high < 0


@pytest.mark.long
def test_a_candidate_that_is_the_baseline_fails_at_most_at_alpha():
    rng = np.random.default_rng(9)
    for questions, generations, claim in (
        (20, 5, "these-questions"),
        (60, 1, "these-questions"),
        (60, 3, "new-questions"),
    ):
        fails = 0
        for _ in range(150):
            p = rng.beta(0.8, 0.5, questions)
            cells = _cells(rng.binomial(generations, p), rng.binomial(generations, p), generations)
            fails += compare_with_baseline(cells, "new", "old", claim=claim).verdict == "fail"
        assert stats.binomtest(fails, 150, 0.05, alternative="greater").pvalue > 1e-4


@pytest.mark.long
def test_a_loss_of_the_margin_passes_at_most_at_alpha():
    rng = np.random.default_rng(10)
    passes = 0
    for _ in range(150):
        p = rng.uniform(0.2, 0.8, 150)
        cells = _cells(rng.binomial(5, p), rng.binomial(5, p - 0.04))
        passes += compare_with_baseline(cells, "new", "old", margin=0.04).verdict == "pass"
    assert stats.binomtest(passes, 150, 0.05, alternative="greater").pvalue > 1e-4


def test_several_benchmarks_are_adjusted():
    """A loss that fails alone is inconclusive among twenty benchmarks without one."""
    old, new = np.full(60, 1), np.full(60, 1)
    new[:5] = 0  # sign test: 1/32
    one = compare_with_baseline(_cells(old, new, 1), "new", "old")
    assert one.p_mean == pytest.approx(1 / 32)
    assert decide([one])[0].verdict == "fail"
    others = [compare_with_baseline(_cells(old, old, 1, benchmark=f"b{i}"), "new", "old") for i in range(19)]
    assert decide([one, *others])[0].verdict == "inconclusive"


@pytest.mark.long
def test_the_stated_number_of_generations_decides_in_four_of_five():
    rng = np.random.default_rng(11)
    p = rng.uniform(0.1, 0.9, 200)
    gate = compare_with_baseline(_cells(np.rint(5 * p), np.rint(5 * p)), "new", "old", margin=0.03)
    assert gate.verdict == "inconclusive"
    k = int(gate.needed_generations)
    assert k > 5
    passes = [
        compare_with_baseline(_cells(rng.binomial(k, p), rng.binomial(k, p), k), "new", "old", margin=0.03).verdict
        for _ in range(100)
    ]
    assert 0.66 < passes.count("pass") / 100 < 0.93


@pytest.mark.long
@pytest.mark.parametrize(("k_old", "k_new"), [(5, 1), (10, 1), (20, 2), (2, 10)])
def test_gains_and_losses_that_cancel_out_are_no_loss_of_the_mean(k_old, k_new):
    """P(correct) .95 and .05 become .75 and .25, the mean stays: with unequal numbers of generations, too."""
    rng = np.random.default_rng(14)
    old, new = np.repeat([0.95, 0.05], 50), np.repeat([0.75, 0.25], 50)
    counts = np.stack([np.full(100, k_old), np.full(100, k_new)])
    worse = 0
    for _ in range(200):
        cells = _cells(rng.binomial(k_old, old), rng.binomial(k_new, new), counts)
        worse += compare_with_baseline(cells, "new", "old", margin=0.0).is_mean_worse
    assert stats.binomtest(worse, 200, 0.05, alternative="greater").pvalue > 0.001


def test_the_stated_generations_are_of_both_where_the_numbers_differ():
    """Both with k generations have the error that decides: SE^2 = E/(N k)."""
    rng = np.random.default_rng(15)
    p = np.full(300, 0.5)
    counts = np.stack([np.full(300, 20), np.full(300, 2)])
    gate = compare_with_baseline(_cells(rng.binomial(20, p), rng.binomial(2, p), counts), "new", "old", margin=0.05)
    k, E, N = gate.needed_generations, float(gate.comparison.prediction[0]), 300
    quantiles = stats.norm.ppf(0.95) + stats.norm.ppf(0.8)
    assert np.sqrt(E / (N * k)) * quantiles <= gate.difference + 0.05
    assert k <= 2 or np.sqrt(E / (N * (k - 1))) * quantiles > gate.difference + 0.05


@pytest.mark.parametrize("bar", [0.55, 0.45])
def test_the_numbers_that_decide_a_bar_are_at_the_level_of_the_verdict(bar):
    """A failure of one of four is shown at alpha / 4, a pass at alpha: both numbers by hand."""
    rng = np.random.default_rng(16)
    right = rng.binomial(5, 0.5, 300)
    gate = compare_with_bar(_cells(right, right), "new", bar, claim="new-questions", n_together=4)
    quantiles = stats.norm.ppf(1 - (0.05 / 4 if bar > gate.value else 0.05)) + stats.norm.ppf(0.8)
    needed = 300 * (gate.se * quantiles / (gate.value - bar)) ** 2
    assert gate.needed_questions == max(np.ceil(needed), 300)
    E, D = float(gate.scores.prediction[0]), max(float(gate.scores.data[0]), 0.0)
    left = 300 * ((gate.value - bar) / quantiles) ** 2 - D
    assert gate.needed_generations == (np.ceil(E / left) if left > 0 else np.inf)


@pytest.mark.long
def test_the_detectable_loss_fails_in_four_of_five_with_a_margin_above_the_error():
    rng = np.random.default_rng(16)
    p = np.full(400, 0.5)
    gate = compare_with_baseline(_cells(rng.binomial(20, p), rng.binomial(20, p), 20), "new", "old", margin=0.05)
    assert gate.detectable > 0.05 - 1.7 * gate.se
    failed = [
        compare_with_baseline(
            _cells(rng.binomial(20, p), rng.binomial(20, p - gate.detectable), 20), "new", "old", margin=0.05
        ).verdict
        for _ in range(100)
    ]
    assert 0.66 < failed.count("fail") / 100 < 0.92


@pytest.mark.long
def test_bars_that_are_gated_together_fail_at_most_at_alpha():
    rng = np.random.default_rng(17)
    failed = 0
    for _ in range(60):
        right = rng.binomial(1, 0.8, (20, 100)).astype(float)
        one = np.ones((20, 100), int)
        cells = Cells("b", tuple(map(str, range(20))), tuple(map(str, range(100))), one, right, right)
        failed += any(compare_with_bar(cells, name, 0.8, n_together=20).verdict == "fail" for name in cells.models)
    assert stats.binomtest(failed, 60, 0.05, alternative="greater").pvalue > 0.001


def test_graded_scores_have_no_tests_of_single_questions():
    rng = np.random.default_rng(12)
    values = rng.uniform(0, 1, (2, 80, 3))
    values[1] *= 0.5
    cells = Cells.from_scores("demo", ["old", "new"], [f"q{i}" for i in range(80)], values.tolist())
    gate = compare_with_baseline(cells, "new", "old")
    assert gate.tests is None
    assert gate.verdict == "fail"
    assert "single questions are not tested" in gate.reasons


def test_questions_of_the_candidate_alone_are_not_compared():
    cells = _cells([5, 5, 0], [5, 5, 5], np.array([[5, 5, 0], [5, 5, 5]]))
    gate = compare_with_baseline(cells, "new", "old")
    assert gate.n_new == 1
    assert gate.difference == 0


@pytest.mark.long
def test_bars_are_passed_and_missed_at_most_at_alpha():
    rng = np.random.default_rng(13)
    for questions, k in ((3, 1), (20, 1), (20, 5)):
        p = np.full(questions, 0.85)
        verdicts = []
        for _ in range(150):
            cells = _cells(rng.binomial(k, p), rng.binomial(k, p), k)
            verdicts += [compare_with_bar(cells, "new", bar).verdict for bar in (0.851, 0.849)]
        passed = sum(verdict == "pass" for verdict in verdicts[0::2])
        failed = sum(verdict == "fail" for verdict in verdicts[1::2])
        for number in (passed, failed):
            assert stats.binomtest(number, 150, 0.05, alternative="greater").pvalue > 1e-4


def test_a_bar_counts_what_is_missing():
    cells = _cells(
        np.full(50, 5),
        np.where(np.arange(50) < 25, 5, 0),
        np.stack([np.full(50, 5), np.where(np.arange(50) < 25, 5, 0)]),
    )
    assert compare_with_bar(cells, "new", 0.85).verdict == "inconclusive"
    assert compare_with_bar(cells, "new", 0.85, missing="as-missing").verdict == "pass"
    assert compare_with_bar(cells, "new", 0.85, missing="as-zero").verdict == "fail"


@pytest.mark.parametrize(
    "arguments",
    [
        *({"margin": margin} for margin in (-0.1, float("nan"), float("inf"), 1.5)),
        *({"alpha": alpha} for alpha in (0.5, 0.9, 0, float("nan"))),
        {"claim": "x"},
        {"missing": "x"},
    ],
)
def test_arguments_are_checked(arguments):
    [(name, value)] = arguments.items()
    with pytest.raises((InputError, UnknownNameError), match=rf"{name}.*{value}" if name != "missing" else "'x'"):
        compare_with_baseline(_cells([1], [1], 1), "new", "old", **arguments)


def test_a_baseline_that_failed_may_have_been_wrong_or_right():
    """Where the baseline failed the candidate is wrong: a loss if it would have been right, else none."""
    new = np.where(np.arange(60) < 45, 5, 0)
    failed = np.stack([np.where(np.arange(60) < 45, 0, 5), np.zeros(60, int)])
    cells = _cells(new, new, np.stack([5 - failed[0], np.full(60, 5)]), failed)
    assert compare_with_baseline(cells, "new", "old", margin=0.05).verdict == "inconclusive"
    right = _cells(np.full(60, 5), new)
    assert compare_with_baseline(right, "new", "old", margin=0.05).verdict == "fail"
    assert compare_with_baseline(_cells(new, new), "new", "old", margin=0.05).verdict == "pass"


def test_rows_that_are_left_out_are_counted_beside_those_that_failed():
    """By hand: the candidate has four of five rows of q0, the baseline failed once at q1."""
    n, failed = np.array([[5, 4, 5], [4, 5, 5]]), np.array([[0, 1, 0], [0, 0, 0]])
    gate = compare_with_baseline(_cells(n[0], n[1], n, failed), "new", "old")
    assert (gate.n_missing_candidate, gate.n_missing_baseline) == (1, 1)


def test_a_model_is_no_baseline_of_itself():
    with pytest.raises(InputError):
        compare_with_baseline(_cells([1], [1], 1), "new", "new")
    with pytest.raises(InputError, match="no question"):
        compare_with_baseline(_cells([1, 0], [0, 1], np.array([[1, 0], [0, 1]])), "new", "old")


@pytest.mark.parametrize(
    ("k", "loss"),
    [(1, 0.3), *(pytest.param(*case, marks=pytest.mark.long) for case in ((3, 0.3), (5, 0.25), (10, 0.2)))],
)
def test_the_p_value_is_the_smallest_alpha_that_fails(k, loss):
    """A larger alpha never shows less, and the verdict changes at the p-value: theory of nested tests."""
    rng = np.random.default_rng([14, k])
    for _ in range(6):
        p = rng.uniform(0.3, 1, 15)
        cells = _cells(rng.binomial(k, p), rng.binomial(k, p - loss * rng.uniform(0, 1, 15)), k)
        alphas = np.linspace(0.001, 0.49, 60)
        gates = [compare_with_baseline(cells, "new", "old", alpha=alpha, margin=0) for alpha in alphas]
        fails = [gate.verdict == "fail" for gate in gates]
        assert fails == sorted(fails)
        for gate in gates:
            assert (gate.verdict == "fail") == (gate.is_mean_worse or len(gate.broken) > 0)
            shares = gate.alpha_of_mean + gate.alpha_of_questions
            assert shares <= gate.alpha + 1e-12
            by_hand = gate.p_mean <= gate.alpha_of_mean or gate.tests.smallest <= gate.alpha_of_questions * (1 + 1e-9)
            assert by_hand == (gate.verdict == "fail")


def test_a_broken_question_needs_no_half_of_alpha():
    """Ten of ten right and then none is 1 in 184,756: the mean keeps four fifths of alpha."""
    right = np.full(100, 10)
    new = right.copy()
    new[3] = 0
    gate = compare_with_baseline(_cells(right, new, 10), "new", "old")
    assert gate.verdict == "fail"
    assert gate.tests.smallest == pytest.approx(1 / 184_756)
    assert gate.alpha_of_mean == pytest.approx(0.04)


@pytest.mark.parametrize("failing", [0, 1])
def test_a_side_that_failed_throughout_is_named(failing):
    n = np.full((2, 4), 5)
    n[failing] = 0
    failed = 5 - n
    right = np.minimum(n, 4)
    with pytest.raises(InputError, match=f"'{('old', 'new')[failing]}' has no score: every generation failed"):
        compare_with_baseline(_cells(right[0], right[1], n, failed=failed), "new", "old")


def test_a_detectable_loss_is_unknown_where_nothing_varied():
    """20 questions x 3, all right: by simulation 18 of 50 fail at a loss of .06 and all at .10, so .02 is no answer."""
    gate = compare_with_baseline(_cells([3] * 20, [3] * 20, k=3), "new", "old")
    assert np.isnan(gate.detectable)
    assert not gate.is_undetectable
    assert gate["note"].tolist() == ["no variation was seen: no detectable difference"]
    assert compare_with_baseline(_cells([3] * 20, [2] + [3] * 19, k=3), "new", "old").detectable > 0


def test_no_detectable_loss_is_larger_than_the_score_of_the_baseline():
    """With 1 of 20 generations right the baseline can lose .05 at most, which is half of one standard error."""
    gate = compare_with_baseline(_cells([1, 0, 0, 0], [1, 2, 1, 0]), "new", "old")
    assert np.isnan(gate.detectable)
    assert gate.is_undetectable
    assert gate["note"].tolist() == ["detectable: larger than the score of the baseline"]
    many = compare_with_baseline(_cells([4, 3] * 50, [4, 3] * 50), "new", "old")
    assert 0 < many.detectable < 0.7
    assert not many.is_undetectable


def test_a_detectable_loss_of_two_gates_is_that_of_holms_first_step():
    """Normal approximation by hand: (z_{.975} + z_{.8}) se where one gate alone has z_{.95}; McNemar has no l here."""
    rng = np.random.default_rng(3)
    cells = _cells(rng.binomial(1, 0.8, 100), rng.binomial(1, 0.8, 100), k=1)
    alone = compare_with_baseline(cells, "new", "old")
    first, _ = decide([alone, alone])
    assert alone.detectable == pytest.approx((stats.norm.ppf(0.95) + stats.norm.ppf(0.8)) * alone.se)
    assert first.detectable == pytest.approx((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * alone.se)


def test_results_that_only_the_candidate_has_are_called_by_their_unit():
    n = np.array([[5, 5, 5, 0, 0], [5, 5, 5, 5, 5]])
    total = np.minimum(n, [[3, 3, 2, 0, 0], [3, 2, 3, 1, 2]]).astype(float)
    cells = Cells("demo", ("old", "new"), tuple("pqrst"), n, total, total)
    assert "2 questions that the baseline does not have are not" in compare_with_baseline(cells, "new", "old").reasons
    pairs = compare_with_baseline(cells.select(questions="pqrs"), "new", "old", n_variants=2)
    assert "1 question-variant pair that the baseline does not have is not" in pairs.reasons


def _draw_own_variants(spread, rng):
    """Return two equal models: 60 questions, 3 of 20 prompts each, drawn anew on each side, 3 generations."""
    p = np.clip(rng.beta(2, 2, (60, 1)) + rng.normal(0, spread, (60, 20)), 0, 1)
    right = []
    for _ in range(2):
        prompts = np.argsort(rng.random(p.shape), axis=1)[:, :3]
        right.append(rng.binomial(3, np.take_along_axis(p, prompts, axis=1)).sum(axis=1))
    return _cells(*right, k=9)


@pytest.mark.long
def test_unchanged_candidates_with_prompts_of_their_own_seldom_fail():
    """Guarantee by seeded simulation, with large effects of the prompts."""
    rng = np.random.default_rng(5)
    drawn = [_draw_own_variants(0.3, rng) for _ in range(300)]
    gates = [compare_with_baseline(cells, "new", "old", own_variants=True) for cells in drawn]
    assert sum(gate.verdict == "fail" for gate in gates) <= 26  # .05 of 300, and three standard errors
    assert all(gate.tests is None and gate.comparison.claim == "new-questions" for gate in gates)
    assert "prompt variants of its own" in gates[0].reasons
    together = [compare_with_baseline(cells, "new", "old") for cells in drawn]
    assert sum(gate.verdict == "fail" for gate in together) > 20  # the effect of prompts counts as a change there


def test_a_loss_is_found_where_prompts_are_of_their_own():
    rng = np.random.default_rng(6)
    p = rng.beta(2, 2, 60)
    cells = _cells(rng.binomial(9, p), rng.binomial(9, np.maximum(p - 0.3, 0)), k=9)
    assert compare_with_baseline(cells, "new", "old", own_variants=True).verdict == "fail"


def test_the_limit_of_a_bar_is_that_of_its_claim():
    """Truth: the one-sided limits of `score`; on these questions only the generations vary."""
    cells = _cells(np.full(24, 5), np.tile([1, 2, 5], 8))
    low = {
        claim: compare_with_bar(cells, "new", 0.2, claim=claim).low for claim in ("these-questions", "new-questions")
    }
    for claim, limit in low.items():
        assert limit == pytest.approx(score(cells, claim=claim, level=0.9).interval().low[1])
    assert low["these-questions"] > low["new-questions"]


def test_the_row_of_a_comparison_by_hand():
    """One of six questions is lost, two are flaky, and one generation of the candidate failed.

    Two questions have 10 right of 20, where the smallest p-value is 1/184,756, and the third that varied has a larger one.
    """
    counts = np.full((2, 6), 10)
    counts[1, 5] = 9
    cells = _cells([10, 10, 10, 10, 5, 4], [0, 10, 10, 10, 5, 3], counts, failed=10 - counts)
    gate = compare_with_baseline(cells, "new", "old", margin=0.03, alpha=0.1, missing="as-missing")
    row = gate[0]
    names = ("benchmark", "model", "baseline", "verdict", "margin", "alpha", "claim")
    assert [row[name] for name in names] == ["demo", "new", "old", "fail", 0.03, 0.1, "these-questions"]
    assert [row[name] for name in ("n_questions", "n_broken", "n_flaky", "n_missing")] == [6, 1, 2, 1]
    assert row["n_generations"] == pytest.approx(59 / 6)
    assert row["score"] == pytest.approx((3 + 1 / 2 + 1 / 3) / 6)
    assert row["score_baseline"] == pytest.approx((4 + 1 / 2 + 2 / 5) / 6)
    assert row["difference"] == pytest.approx((3 + 1 / 2 + 1 / 3 - 4 - 1 / 2 - 2 / 5) / 6)
    assert row["p_questions"] == pytest.approx(1 - (1 - 1 / 184_756) ** 2)
    assert row["low"] < row["difference"] < row["high"]
    names = ("low", "high", "p_mean", "p_fail", "detectable")
    np.testing.assert_array_equal([row[name] for name in names], [getattr(gate, name) for name in names])
    assert len({row[name] for name in names}) == 5


def test_the_row_of_a_bar_by_hand():
    """Nothing right of three questions: the exact upper limit at .1/2 is 1 - .05^(1/3), the lower one 0."""
    cells = _cells([1, 1, 1], [0, 0, 0], 1)
    gate = compare_with_bar(cells, "new", 0.7, alpha=0.1, n_together=2)
    columns = {name: values.tolist() for name, values in gate.columns().items()}
    assert columns.pop("high") == pytest.approx([1 - 0.05 ** (1 / 3)])
    assert columns == {
        "benchmark": ["demo"],
        "model": ["new"],
        "verdict": ["fail"],
        "n_questions": [3],
        "score": [0],
        "low": [0],
        "bar": [0.7],
        "alpha": [0.1],
        "n_missing": [0],
        "claim": ["these-questions"],
        "note": ["one generation per question: the error is that of new questions, which is no smaller"],
    }
    assert compare_with_bar(cells, "old", 0.7, alpha=0.1).low == pytest.approx(0.1 ** (1 / 3))


def test_a_bar_by_the_rule_for_what_is_missing_by_hand():
    """Two of three questions answered, both right: exact limits for 2 of 2, 2 of 3 and 3 of 3 at .05."""
    cells = _cells([1, 1, 1], [1, 1, 0], np.array([[1, 1, 1], [1, 1, 0]]))
    two_of_three = stats.beta.ppf(0.05, 2, 2)
    expected = {
        "as-missing": (1.0, np.sqrt(0.05), 1.0),
        "as-zero": (2 / 3, two_of_three, stats.beta.ppf(0.95, 3, 1)),
        "bounds": (1.0, two_of_three, 1.0),
    }
    for rule, values in expected.items():
        gate = compare_with_bar(cells, "new", 0.5, missing=rule)
        assert (gate.value, gate.low, gate.high) == pytest.approx(values)
        assert gate.columns()["n_missing"].tolist() == [1]
        assert gate.missing == rule


def test_what_limits_the_verdict_on_a_bar_is_said():
    reasons = {
        "no variation was seen: all generations of a question count as one": _cells([2, 2], [2, 0], 2),
        "": _cells([2, 2], [2, 1], 2),
        "no variation was seen: no interval": Cells.from_scores(
            "demo", ["new"], ["p", "q"], [[[0.5, 0.5], [0.5, 0.5]]]
        ),
    }
    for reason, cells in reasons.items():
        assert compare_with_bar(cells, "new", 0.5)["note"].tolist() == [reason]


def test_numbers_that_decide_a_bar_by_hand():
    """60 of 100 right against .5 at .05: (.1/(z_.95 + z_.8))^2 = .001617, so .24/.001617 = 148.4 questions.

    With two generations, each question right once: E = 1/2, for these questions .5/(100 x .0001617) = 30.9 generations.
    """
    quantiles = stats.norm.ppf(0.95) + stats.norm.ppf(0.8)
    single = compare_with_bar(_cells(np.zeros(100), np.repeat([1, 0], [60, 40]), 1), "new", 0.5)
    assert single.se == pytest.approx(np.sqrt(0.24 / 100))
    assert single.needed_questions == np.ceil(0.24 * (quantiles / 0.1) ** 2) == 149
    assert np.isnan(single.needed_generations)  # the noise of sampling is unknown
    at_bar = compare_with_bar(_cells(np.zeros(100), np.repeat([1, 0], [60, 40]), 1), "new", 0.6)
    assert at_bar.needed_questions == at_bar.needed_generations == np.inf
    twice = _cells(np.zeros(100), np.ones(100), 2)
    target = (0.02 / quantiles) ** 2
    assert compare_with_bar(twice, "new", 0.48).needed_generations == np.ceil(0.5 / (100 * target)) == 78
    # The data noise estimate is negative: it counts as 0.
    assert compare_with_bar(twice, "new", 0.48, claim="new-questions").needed_generations == 78
    spread = _cells(np.zeros(100), np.repeat([0, 1, 2], [30, 40, 30]), 2)  # E = .2, D = .15 - .2/2 = .05
    left = (0.08 / quantiles) ** 2 * 100 - 0.05
    assert compare_with_bar(spread, "new", 0.42, claim="new-questions").needed_generations == np.ceil(0.2 / left) == 4
    assert compare_with_bar(spread, "new", 0.45, claim="new-questions").needed_generations == np.inf
    flat = compare_with_bar(_cells([2, 2], [2, 2], 2), "new", 0.5)
    assert np.isnan([flat.needed_questions, flat.needed_generations]).all()


def test_numbers_that_decide_a_comparison_on_new_questions_by_hand():
    """Differences 1, 0, -1 of 10, 80 and 10 of 100 questions: SE^2 = .2/100, no loss, and a margin of .02."""
    quantiles = stats.norm.ppf(0.95) + stats.norm.ppf(0.8)
    old, new = np.repeat([0, 1, 1, 0], [10, 40, 10, 40]), np.repeat([1, 1, 0, 0], [10, 40, 10, 40])
    gate = compare_with_baseline(_cells(old, new, 1), "new", "old", claim="new-questions")
    assert gate.verdict == "inconclusive"
    assert gate.needed_questions == np.ceil(0.2 * (quantiles / 0.02) ** 2)
    assert np.isnan(gate.needed_generations)
    # Twice each, with as many right once: E = .1 of both, D = .2/4 + ... of the means 1/2, 0, -1/2 less E/2.
    twice = compare_with_baseline(_cells(old + new, 2 * new, 2), "new", "old", claim="new-questions")
    E = 20 * 0.5 / 100
    D = 20 * 0.25 / 100 - E / 2
    assert float(twice.comparison.data[0]) == pytest.approx(D, abs=1e-12)
    assert twice.needed_generations == np.ceil(E / ((0.02 / quantiles) ** 2 * 100))
    # Every question differs by 1/2 without noise of sampling: no number of generations helps.
    apart = compare_with_baseline(
        _cells(np.repeat([2, 0], 50), np.repeat([0, 2], 50), 2), "new", "old", claim="new-questions"
    )
    assert apart.needed_generations == np.inf


@pytest.mark.parametrize("k", [1, 10])
def test_claims_on_new_questions_share_alpha_in_halves(k):
    """Theory: half for the mean and half for single questions where one of them can be shown to have changed."""
    new = np.full(30, k)
    new[:8] = 0
    gate = compare_with_baseline(_cells(np.full(30, k), new, k), "new", "old", claim="new-questions")
    can_be_shown = gate.tests.least <= 0.025
    assert can_be_shown == (k == 10)
    assert gate.alpha_of_questions == (0.025 if can_be_shown else 0)
    assert gate.alpha_of_mean == 0.05 - gate.alpha_of_questions
    assert gate.p_any_of_mean == pytest.approx(2 * gate.p_mean if can_be_shown else gate.p_mean)
    np.testing.assert_allclose(gate.p_any_of_questions, np.minimum(2 * gate.tests.p_adjusted, 1) if can_be_shown else 1)
    assert gate.verdict == "fail"


def test_graded_scores_have_no_flaky_questions_and_lack_no_rows():
    """Scores on a scale to 10 lose no questions that the candidate lacks; those in [0, 1] count them as failed."""
    ten = Cells.from_scores("demo", ["old", "new"], ["p", "q"], [[[4, 8], [2, 6]], [[5, 7], []]])
    gate = compare_with_baseline(ten, "new", "old", missing="as-missing")
    assert gate.n_flaky == 0
    assert gate.difference == 0
    assert gate.n_missing_candidate == 2


def test_bars_and_scales_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="the bar is nan"):
        compare_with_bar(_cells([1], [1], 1), "new", float("nan"))
    with pytest.raises(InputError, match="'new' has no score"):
        compare_with_bar(_cells([1], [0], np.array([[1], [0]])), "new", 0.5)
    percent = Cells.from_scores("demo", ["old", "new"], ["p", "q"], [[[0.4], [0.5]], [[40], [70]]])
    with pytest.raises(InputError, match="scores of 'new' go up to 70 or more, those of 'old' are from 0 to 1"):
        compare_with_baseline(percent, "new", "old")


def test_a_margin_of_other_scores_is_finite():
    cells = Cells.from_scores("demo", ["old", "new"], ["p", "q"], [[[3], [4]], [[3], [5]]])
    with pytest.raises(InputError, match="margin is inf"):
        compare_with_baseline(cells, "new", "old", margin=float("inf"))
