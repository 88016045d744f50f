"""`score`: theory, a guarantee by simulation, and what the data cannot say."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import Cells
from howsure.stats.scores.score import estimate_single_run_errors, score


def drawn(rng, p, k):
    """Cells of binary generations with true probabilities p (M, N)."""
    total = rng.binomial(k, p).astype(float)
    n = np.broadcast_to(k, p.shape).copy()
    return Cells("drawn", *(tuple(map(str, range(size))) for size in p.shape), n, total, total)


def test_the_error_of_a_judge_is_a_column_only_where_it_is_known():
    result = score(Cells.from_scores("b", ["a", "c"], ["1", "2"], [[[1], [0]], [[1], [1]]]))
    assert "se_judge" not in result.columns()
    columns = replace(result, judge_error=np.array([0.25, 0.5])).columns()
    assert dict(zip(columns["model"], columns["se_judge"], strict=True)) == {"a": 0.25, "c": 0.5}


@pytest.mark.long
def test_standard_errors_of_the_three_claims_match_what_simulation_shows():
    """Guarantee: Beta(.6, .4) questions, K = 5, N = 100; 4,000 evaluations, each a row."""
    rng = np.random.default_rng(1)
    trials, N, K = 4000, 100, 5
    mean, var = 0.6, 0.6 * 0.4 / 2  # Beta(a, b) with a + b = 1: variance p(1-p)/2, mean of p(1-p) the same
    p = rng.beta(0.6, 0.4, (trials, N))
    cells = drawn(rng, p, K)
    ours = score(cells)
    # New questions: spread of the scores over evaluations.
    assert np.mean(ours.variance) == pytest.approx(np.var(ours.score), rel=0.06)
    assert np.mean(ours.variance) == pytest.approx((var + var / K) / N, rel=0.03)
    # These questions: spread around the true score of the very questions.
    these = score(cells, claim="these-questions").variance
    assert np.mean(these) == pytest.approx(np.var(ours.score - p.mean(axis=1)), rel=0.06)
    # One run: a single generation of new questions.
    single = rng.binomial(1, rng.beta(0.6, 0.4, (trials, N))).mean(axis=1)
    assert np.mean(score(cells, claim="single-run").variance) == pytest.approx(np.var(single), rel=0.06)
    # Coverage of the expected score on new questions, within 3.3 Monte-Carlo errors.
    for method in ("t", "wilson-effective", None):
        between = score(cells, method=method).interval()
        covered = np.mean((between.low <= mean) & (mean <= between.high))
        assert set(between.method) == {method or "bayesian-bootstrap"}
        assert abs(covered - 0.95) < 3.3 * math.sqrt(0.95 * 0.05 / trials)


@pytest.mark.long
@pytest.mark.parametrize(("k", "ratio"), [(2, 1.17), (5, 1.13), (50, 1.02)])
def test_the_plugin_of_gen_is_too_large_by_the_measured_ratio(k, ratio):
    """A table of the design: Beta(.6, .4), n = 500."""
    rng = np.random.default_rng(k)
    cells = drawn(rng, rng.beta(0.6, 0.4, (400, 500)), k)
    true = np.var(score(drawn(rng, rng.beta(0.6, 0.4, (20000, 500)), k)).score)
    assert np.mean(score(cells, method="plugin").variance) / true == pytest.approx(ratio, abs=0.03)
    assert np.mean(score(cells).variance) / true == pytest.approx(1, abs=0.03)


def test_one_generation_leaves_data_and_prediction_unknown_but_not_the_total():
    result = score(Cells.from_scores("b", ["a"], ["1", "2", "3"], [[[1], [0], [1]]]))
    columns = result.columns()
    assert math.isnan(columns["se_data"][0])
    assert math.isnan(columns["se_prediction"][0])
    assert columns["se_total"][0] == columns["se"][0] == pytest.approx(math.sqrt(2 / 9 / 3))
    assert "cannot be separated" in columns["note"][0]
    these = score(Cells.from_scores("b", ["a"], ["1", "2"], [[[1], [0]]]), claim="these-questions").columns()
    assert math.isnan(these["se"][0])
    assert these["method"].tolist() == ["exact"]
    assert these["low"][0] == pytest.approx(stats.beta.ppf(0.025, 1, 2))


def test_no_variation_leaves_the_ends_to_the_interval_of_new_questions_and_no_interval_of_these():
    same = Cells.from_scores("b", ["a"], ["1", "2"], [[[0.5, 0.5], [0.5, 0.5]]])
    columns = score(same).columns()
    assert columns["se"][0] == 0
    assert 0 < columns["low"][0] < 0.5 < columns["high"][0] == pytest.approx(1 - columns["low"][0])
    assert score(same, claim="these-questions").columns()["note"].tolist() == ["no variation was seen: no interval"]


@pytest.mark.parametrize(("right", "low", "high"), [(1, 0.9253, 1), (0, 0, 0.0747)])
def test_all_right_and_all_wrong_have_the_interval_of_as_many_independent_answers(right, low, high):
    """Theory: Wilson's with the quantile of t, n = 50, 49 degrees of freedom: t^2 / (n + t^2) = 0.0747."""
    cells = Cells.from_scores("b", ["a"], list(map(str, range(50))), [[[right] * 3] * 50])
    between = score(cells, method="wilson-effective").interval()
    assert (between.low[0], between.high[0]) == pytest.approx((low, high), abs=1e-4)
    default = score(cells).interval()
    assert (default.low[0], default.high[0]) == pytest.approx((low, high), abs=0.06)
    assert default.low[0] < default.high[0]
    assert math.isnan(score(cells, method="t").interval().low[0])


def test_of_these_questions_the_exact_interval_is_taken_where_it_is_narrower():
    """Theory: 0 of 72 right has the upper limit 1 - .025^(1/72); 1 of 72 those of the Beta distribution."""
    scores = {"none": [[0] * 6] * 12, "one": [[1, 0, 0, 0, 0, 0], *[[0] * 6] * 11]}
    cells = Cells.from_scores("b", [*scores], list(map(str, range(12))), [*scores.values()])
    between = score(cells, claim="these-questions").interval()
    assert between.low.tolist() == pytest.approx([0, stats.beta.ppf(0.025, 1, 72)])
    assert between.high.tolist() == pytest.approx([1 - 0.025 ** (1 / 72), stats.beta.ppf(0.975, 2, 71)])
    assert between.method.tolist() == ["exact"] * 2
    assert np.isnan(between.df).all()
    wilson = score(cells, claim="these-questions", method="wilson-effective").interval()
    assert np.all(wilson.high > 0.2)
    assert np.all(between.high < score(cells, method="wilson-effective").interval().high)


def test_of_these_questions_answered_once_the_interval_is_clopper_and_pearsons():
    cells = Cells.from_scores("b", ["a"], list(map(str, range(40))), [[[float(i < 33)] for i in range(40)]])
    between = score(cells, claim="these-questions").interval()
    assert between.low[0] == pytest.approx(stats.beta.ppf(0.025, 33, 8))
    assert between.high[0] == pytest.approx(stats.beta.ppf(0.975, 34, 7))


def test_degrees_of_freedom_of_these_questions_weigh_each_variance_by_its_generations():
    """By a loop: parts s2/k of three questions with 2, 3 and 6 generations; 2 S^2 over the variance of their sum S."""
    scores = [[0.0, 0.9], [0.5, 0.5, 0.6], [0.0, 0.0, 0.1, 0.2, 0.9, 1.0], [0.7]]
    parts = [np.var(one, ddof=1) / len(one) for one in scores[:3]]
    spread = sum((part - np.mean(parts)) ** 2 for part in parts) * 3 / 2
    result = score(Cells.from_scores("b", ["a"], [*"pqrs"], [scores]), claim="these-questions", method="t")
    assert result.columns()["df"][0] == pytest.approx(2 * sum(parts) ** 2 / spread)
    assert result.columns()["df"][0] < 8


def test_the_exact_interval_counts_the_fewest_generations_of_any_question():
    """By hand: none right of three questions with 2, 2 and 4 generations count as none of six; a missing one not at all."""
    questions = [[0, 0], [0, 0], [0, 0, 0, 0], []]
    between = score(Cells.from_scores("b", ["a"], [*"pqrs"], [questions]), claim="these-questions").interval()
    assert (between.low[0], between.high[0]) == pytest.approx((0, 1 - 0.025 ** (1 / 6)))
    assert not between.flat[0]


def test_questions_always_right_or_always_wrong_count_once_each():
    """Four generations may be one and three copies: two right of three questions are two of three."""
    questions = [[1] * 4, [1] * 4, [0] * 4]
    between = score(Cells.from_scores("b", ["a"], [*"pqr"], [questions]), claim="these-questions").interval()
    assert between.low[0] == pytest.approx(stats.beta.ppf(0.025, 2, 2))
    assert between.high[0] == pytest.approx(stats.beta.ppf(0.975, 3, 1))


def test_graded_and_varied_scores_of_these_questions_have_wilsons_interval():
    half, full = [[1, 0] * 10] * 10, [[1] * 20] * 10
    varied = score(Cells.from_scores("b", ["a"], list(map(str, range(20))), [half + full]), claim="these-questions")
    assert varied.interval().method.tolist() == ["wilson-effective"]
    graded = score(Cells.from_scores("b", ["a"], [*"pq"], [[[0.5, 0.5], [0.5, 0.6]]]), claim="these-questions")
    assert graded.interval().method.tolist() == ["wilson-effective"]


@pytest.mark.parametrize(("k", "p"), [(2, (0.3, 0, 0)), (2, (0.3, 0.3, 0.3)), (3, (0.9, 0.5, 1)), (4, (0.02, 0.02))])
def test_intervals_of_these_questions_cover_by_enumeration(k, p):
    """Each outcome weighted with its probability: no design of few questions is covered less than .93."""
    outcomes = np.array(list(itertools.product(range(k + 1), repeat=len(p))))
    chance = np.prod(stats.binom.pmf(outcomes, k, p), axis=1)
    n = np.full(outcomes.shape, k)
    names, questions = (tuple(map(str, range(size))) for size in n.shape)
    total = outcomes.astype(float)
    between = score(Cells("b", names, questions, n, total, total), claim="these-questions").interval()
    assert np.sum(chance[(between.low <= np.mean(p)) & (np.mean(p) <= between.high)]) > 0.93


def test_notes_count_what_was_failed_unparsed_missing_and_pooled():
    cells = Cells(
        "b", ("a", "none"), ("1", "2"),
        n=np.array([[2, 1], [0, 0]]), total=np.array([[1.0, 0], [0, 0]]), total_sq=np.array([[1.0, 0], [0, 0]]),
        failed=np.array([[0, 3], [0, 0]]), unparsed=np.array([[1, 0], [0, 0]]), variants=("v1", "v2"),
    )  # fmt: skip
    columns = score(cells).columns()
    note = columns["note"][0]
    assert "1 generation unparsed, scored 0" in note
    assert "3 generations without a score, left out" in note
    assert "averaged over 2 prompt variants, whose noise is not in the error" in note
    assert "prediction noise from 1 of 2 questions" in note
    assert columns["model"][1] == "none"
    assert columns["n_missing"].tolist() == [0, 2]
    assert "no scores" in columns["note"][1]
    assert math.isnan(columns["score"][1])


def test_one_question_is_told_and_lost_data_noise_is_0():
    one = score(Cells.from_scores("b", ["a"], ["1"], [[[1, 0]]])).columns()
    assert "one question" in one["note"][0]
    assert math.isnan(one["se"][0])
    tenths = Cells.from_scores("b", ["a"], list("123456"), [[[0.1]] * 6])
    assert score(tenths).variance[0] == 0  # though the mean of six 0.1 is not 0.1 to the last bit
    lost = score(Cells.from_scores("b", ["a"], ["1", "2"], [[[1, 0], [1, 0]]]))
    assert lost.data[0] < 0
    assert lost.columns()["se_data"][0] == 0


def test_models_come_best_first():
    columns = score(Cells.from_scores("b", ["a", "b"], ["1", "2"], [[[1], [0]], [[1], [1]]])).columns()
    assert columns["model"].tolist() == ["b", "a"]


def test_intervals_stay_where_scores_can_be():
    rng = np.random.default_rng(0)
    near = drawn(rng, np.full((1, 20), 0.9), 1)
    assert 0.7 < near.mean.mean() < 1
    assert score(near, method="t").interval(0.999).high[0] == 1
    assert near.mean.mean() < score(near).interval(0.999).high[0] < 1
    real = Cells.from_scores("b", ["a"], ["1", "2"], [[[5.0], [-3.0]]])
    assert score(real).interval().high[0] > 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"claim": "new-question"}, "unknown claim 'new-question'; did you mean 'new-questions'"),
        ({"method": "plugins"}, "unknown method 'plugins'; did you mean 'plugin'"),
        ({"level": 95}, "level is 95"),
    ],
)
def test_wrong_arguments(arguments, message):
    cells = Cells.from_scores("b", ["a"], ["1", "2"], [[[1], [0]]])
    with pytest.raises((InputError, UnknownNameError), match=message.replace("(", r"\(")):
        score(cells, **arguments).interval()


def test_the_plugin_of_one_generation_has_no_parts_and_of_equal_generations_no_prediction_noise():
    """By hand: p = .75 of four questions, sigma^2 = .25, mu - mu^2 - sigma^2 = -.0625; V = (-.0625/k + .25)/4."""
    for k, part in ((1, math.nan), (5, 0.0)):
        cells = Cells.from_scores("b", ["a"], list("1234"), [[[1] * k, [1] * k, [1] * k, [0] * k]])
        [row] = score(cells, method="plugin")
        assert row["se"] == pytest.approx(math.sqrt((-0.0625 / k + 0.25) / 4))
        assert row["se_prediction"] == pytest.approx(part, nan_ok=True)
        assert row["se_data"] == pytest.approx(math.nan if k == 1 else 0.25, nan_ok=True)
        assert ("prediction noise is below 0" in row["note"]) == (k > 1)
        [asked_again] = score(cells, method="clt", claim="these-questions")
        assert math.isnan(asked_again["low"])


def test_plugin_needs_binary_scores_and_equal_counts():
    with pytest.raises(InputError, match="needs scores of 0 and 1"):
        score(Cells.from_scores("b", ["a"], ["1", "2"], [[[0.5], [1]]]), method="plugin")
    with pytest.raises(InputError, match="as many generations of each question"):
        score(Cells.from_scores("b", ["a"], ["1", "2"], [[[0], [1, 1]]]), method="plugin")


def test_the_share_of_data_noise_is_what_more_generations_leave():
    """Theory: with k generations the share is D/(D + E/k)."""
    rng = np.random.default_rng(1)
    p = rng.beta(0.6, 0.4, 200)
    n = np.full((1, 200), 4)
    total = rng.binomial(4, p)[None].astype(float)
    found = score(Cells("b", ("m",), tuple(map(str, range(200))), n, total, total))
    expected = found.data / (found.data + found.prediction / 4)
    np.testing.assert_allclose(found.data_share, expected, rtol=1e-12)
    once = score(Cells("b", ("m",), ("1", "2"), np.ones((1, 2), int), np.array([[0.0, 1]]), np.array([[0.0, 1]])))
    assert np.isnan(once.data_share[0])


def test_the_errors_of_a_single_run_by_hand():
    """Theory: E = mean s2_q, D = the variance of the means over N - 1, less mean(s2_q/k_q), and not below 0."""
    scores = [
        [[1, 0], [1, 1], [0, 0], [1, 1]],  # E = 1/8; means 1/2, 1, 0, 1: 11/48, less 1/16
        [[1, 0], [1, 0], [0, 1], [1, 0]],  # E = 1/2; equal means, less 1/4: below 0
        [[1], [0], [1], [1]],  # no two generations of a question: 1/4 in all
        [[1, 0], [], [], []],  # one question: E = 1/2, nothing over questions
    ]
    cells = Cells.from_scores("b", list("abcd"), list("1234"), scores)
    errors = estimate_single_run_errors(cells)
    D = 11 / 48 - 1 / 16
    np.testing.assert_allclose(errors.data**2, [D / 4, 0, math.nan, math.nan], rtol=1e-12)
    np.testing.assert_allclose(errors.prediction**2, [1 / 32, 1 / 8, math.nan, 1 / 2], rtol=1e-12)
    np.testing.assert_allclose(errors.total**2, [(D + 1 / 8) / 4, 1 / 8, 1 / 16, math.nan], rtol=1e-12)


def test_models_without_a_score_come_last():
    columns = score(Cells.from_scores("b", ["none", "zero", "one"], ["1"], [[[]], [[0]], [[1]]])).columns()
    assert columns["model"].tolist() == ["one", "zero", "none"]
    assert math.isnan(columns["score"][2])


def test_the_total_error_is_below_that_of_prediction_where_data_noise_is_estimated_below_0():
    """By hand: p = .5, .5, .5, 1, so var(p) = .046875, E = 3/8, mean s2/k = 3/16 and D = -.140625: T = D + E."""
    cells = Cells.from_scores("demo", ["a"], list("pqrs"), [[[1, 0], [1, 0], [1, 0], [1, 1]]])
    row = score(cells).columns()
    assert row["se_data"][0] == 0
    assert row["se_prediction"][0] == pytest.approx((0.375 / 4) ** 0.5)
    assert row["se_total"][0] == pytest.approx(((0.375 - 0.140625) / 4) ** 0.5)


def test_plain_components_by_hand():
    """Without correction: E is the mean of p (1 - p), D the variance of the means; .5 and 1 of two generations each."""
    cells = Cells.from_scores("b", ["a"], ["p", "q"], [[[1, 0], [1, 1]]])
    plain = score(cells, method="plain")
    assert plain.prediction == pytest.approx([0.25 / 2])
    assert plain.data == pytest.approx([1 / 16])
    assert plain.total == pytest.approx([1 / 16 + 1 / 8])
    again = score(cells, method="plain", claim="these-questions")
    assert again.variance == pytest.approx([(0.25 / 2) / 2 / 2])


def _note(n, total, **keys):
    cells = Cells("b", ("m",), tuple(map(str, range(len(n)))), np.array([n]), np.array([total]), np.array([total]))
    return score(cells, **keys).columns()["note"][0]


def test_a_question_with_few_generations_that_may_vary_is_named():
    """By hand: sums of squares 11 (or 10) zeros, .25/19 for 10 of 20 right, and 1/8 for the two that may vary most."""
    n, total = [2] + [20] * 11, [2.0] + [10.0] + [20.0] * 10
    error = ((10 * 10 / 20 / 19) / 20 + 1 / 8) ** 0.5 / 12
    assert _note(n, total, claim="these-questions").startswith(
        "1 question has 2 generations where half of all have 20 or more, and was not seen to vary: if it varies, the "
        f"error may be {error:.3f}"
    )
    E = (10 * 10 / 20 / 19) / 11  # one generation: the others' mean variance is counted already, and may be 1/4
    error = ((10 * 10 / 20 / 19) / 20 + 1 / 4) ** 0.5 / 12
    assert E < 1 / 4
    assert (
        f"1 question has 1 generation where half of all have 20 or more, and was not seen to vary: if it varies, the error may be {error:.2f}"
        in _note([1, *n[1:]], [1.0, *total[1:]], claim="these-questions")
    )
    assert "2 questions have 3 generations or fewer" in _note(
        [2, 3, *n[2:]], [2.0, 3.0, *total[2:]], claim="these-questions"
    )


@pytest.mark.parametrize(
    ("n", "total", "claim"),
    [
        ([2] + [20] * 11, [1.0] + [10.0] * 11, "these-questions"),  # it varied
        ([2] + [20] * 11, [2.0] + [10.0] + [20.0] * 10, "new-questions"),  # another claim
        ([6] + [20] * 11, [6.0] + [10.0] + [20.0] * 10, "these-questions"),  # not far fewer
        ([2] + [20] * 99, [2.0] + [10.0] * 99, "these-questions"),  # it would not change the error
        ([1] * 12, [1.0] * 5 + [0.0] * 7, "these-questions"),  # one generation of each
    ],
)
def test_other_questions_with_few_generations_are_not_named(n, total, claim):
    assert "not seen to vary" not in _note(n, total, claim=claim)


def test_a_note_says_that_kinds_of_question_may_be_missing_among_few():
    """Of scores that t's interval is for: the Bayesian bootstrap needs no such note."""
    few = "few questions: the interval may be too narrow"
    for N, method, is_there in ((49, "t", True), (50, "t", False), (49, None, False)):
        graded = Cells.from_scores("b", ["m"], list(map(str, range(N))), [[[i / N] for i in range(N)]])
        assert (few in score(graded, method=method).columns()["note"][0]) is is_there
        assert few not in score(graded, method="t", claim="these-questions").columns()["note"][0]
