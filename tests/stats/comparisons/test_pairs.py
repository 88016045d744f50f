"""`pairs` and `compare`: theory, guarantees by simulation, another program's output, and what the data cannot say."""

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.long_cases import mark_long
from scipy import stats

from howsure.errors import InputError, UnknownNameError
from howsure.stats.comparisons.pairs import compare, pairs
from howsure.stats.core.cells import Cells
from howsure.stats.planning import components_from_cells, plan
from howsure.stats.scores.clusters import IN_CLUSTERS, ONE_CLUSTER

#: Limits of the power at the number of questions that is stated for .8, for every test; and for the default test where few
#: questions differ in the other direction: there it is more, because the pseudo-questions weigh more.
POWER, POWER_WITH_FEW = (0.77, 0.83), (0.77, 0.87)


def cells_of(n, total, total_sq=None):
    M, N = n.shape
    names = tuple(f"m{i:03}" for i in range(M)), tuple(f"q{j:04}" for j in range(N))
    return Cells("drawn", *names, n, total, total if total_sq is None else total_sq)


@pytest.mark.long
def test_the_test_of_a_difference_keeps_its_size_and_its_interval_covers():
    """Guarantee: two models with equal expected scores on Beta questions, K = 3, N = 60; 3,000 evaluations."""
    rng = np.random.default_rng(5)
    trials, N, K = 3000, 60, 3
    p = rng.beta(0.6, 0.4, (trials, N))
    # B answers by the same question's probability, or by another draw: equal in expectation, not question by question.
    other = np.where(rng.random((trials, N)) < 0.5, p, rng.beta(0.6, 0.4, (trials, N)))
    rejected, covered = 0, 0
    for a, b in zip(rng.binomial(K, p), rng.binomial(K, other), strict=True):
        row = compare(cells_of(np.full((2, N), K), np.array([a, b], float)), "m000", "m001").columns()
        rejected += row["p_value"][0] < 0.05
        covered += row["low"][0] <= 0 <= row["high"][0]
    assert covered == trials - rejected
    assert abs(rejected / trials - 0.05) < 3.3 * math.sqrt(0.05 * 0.95 / trials)


def test_total_of_a_pair_matches_beta_theory():
    """Theory: independent draws from the same Beta(p, 1-p) difficulties give SE(A-B) = sqrt(p(1-p)/N) (NOISE 4.2.1)."""
    rng = np.random.default_rng(2)
    N, accuracy = 20000, 0.6
    p = rng.beta(accuracy, 1 - accuracy, N)
    result = compare(cells_of(np.full((2, N), 4), rng.binomial(4, [p, p]).astype(float)), "m000", "m001").columns()
    assert result["se_total"][0] == pytest.approx(math.sqrt(accuracy * (1 - accuracy) / N), rel=0.02)
    assert result["se_data"][0] < 0.2 * result["se_total"][0]


def test_sign_test_and_t_against_scipy():
    """Another program's output."""
    rng = np.random.default_rng(3)
    scores = rng.binomial(1, [[0.3], [0.45], [0.5]], (3, 80)).astype(float)
    ours = pairs(cells_of(np.ones((3, 80), int), scores), method="t")
    for row, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        wins, losses = np.sum(scores[a] > scores[b]), np.sum(scores[a] < scores[b])
        assert ours.p_sign[row] == pytest.approx(stats.binomtest(wins, wins + losses).pvalue, rel=1e-12)
        t = stats.ttest_rel(scores[a], scores[b])
        low, high = t.confidence_interval(0.95)
        assert ours.columns()["p_value"][row] == pytest.approx(t.pvalue, rel=1e-10)
        assert (ours.interval().low[row], ours.interval().high[row]) == pytest.approx((low, high), rel=1e-10)
        assert ours.correlation[row] == pytest.approx(np.corrcoef(scores[a], scores[b])[0, 1])
    adjusted = stats.false_discovery_control(ours.interval().p_value)
    assert ours.q_bh == pytest.approx(adjusted)


def test_many_answer_patterns_give_what_each_pair_alone_gives():
    """A slow version: 140 models whose missing questions all differ, against one pair at a time."""
    rng = np.random.default_rng(4)
    n = rng.integers(0, 4, (140, 30))
    total = rng.binomial(n, 0.5).astype(float)
    all_at_once = pairs(cells_of(n, total)).columns()
    names = cells_of(n, total).models
    for row in rng.choice(len(all_at_once["se"]), 40, replace=False):
        a, b = all_at_once["model_a"][row], all_at_once["model_b"][row]
        i, j = names.index(a), names.index(b)
        alone = compare(cells_of(n[[i, j]], total[[i, j]]), "m000", "m001").columns()
        for name, values in alone.items():
            if values.dtype != object:
                assert all_at_once[name][row] == pytest.approx(values[0], nan_ok=True, rel=1e-9, abs=1e-12), name


def test_claims_order_their_errors():
    rng = np.random.default_rng(6)
    p = rng.beta(1, 1, (2, 200))
    cells = cells_of(np.full((2, 200), 5), rng.binomial(5, p).astype(float))
    se = {claim: compare(cells, "m000", "m001", claim=claim).columns()["se"][0]
          for claim in ("these-questions", "new-questions", "single-run")}  # fmt: skip
    assert se["these-questions"] < se["new-questions"] < se["single-run"]
    single = compare(cells, "m000", "m001", claim="single-run").columns()
    assert single["se"][0] == single["se_total"][0]


def test_what_a_pair_cannot_say():
    apart = Cells.from_scores("b", ["a", "b"], ["1", "2"], [[[1], []], [[], [0]]])
    row = pairs(apart).columns()
    assert row["n_questions"][0] == 0
    assert math.isnan(row["difference"][0])
    assert "no question in common" in row["note"][0]
    same = Cells.from_scores("b", ["a", "b"], ["1", "2"], [[[1], [0]], [[1], [0]]])
    row = pairs(same).columns()
    assert row["difference"][0] == 0
    assert row["p_value"][0] == 1
    assert row["p_sign"][0] == 1
    assert math.isnan(row["z"][0])
    assert row["low"][0] < 0 < row["high"][0]
    assert math.isnan(row["detectable"][0])
    assert "no question differs" in row["note"][0]
    always = Cells.from_scores("b", ["a", "b"], ["1", "2"], [[[1], [1]], [[0], [0]]])
    assert "all questions differ alike" in pairs(always).columns()["note"][0]
    plain = pairs(always, method="t").columns()
    assert math.isnan(plain["p_value"][0])
    assert "no variation was seen" in plain["note"][0]
    partly = Cells.from_scores("b", ["a", "b"], ["1", "2", "3"], [[[1, 0], [1], [0]], [[0, 0], [1], []]])
    assert "on the questions that both answered" in pairs(partly).columns()["note"][0]


@pytest.mark.parametrize("scores", [(0.5, 0.4, 1, 1), (0.1, 0.7, 3, 2), (1 / 3, 0.2, 7, 1)])
def test_equal_decimals_have_no_spread(scores):
    """As .5 and .25, which are exact in binary, and have 29 degrees of freedom: rounding was taken for variation."""
    one, other, k_one, k_other = scores
    questions = [f"q{i}" for i in range(30)]
    cells = Cells.from_scores("demo", ["x", "y"], questions, [[[one] * k_one] * 30, [[other] * k_other] * 30])
    result = compare(cells, "x", "y")
    assert (result.variance, result.columns()["df"], result.columns()["z"]) == (
        [0],
        [29],
        pytest.approx([np.nan], nan_ok=True),
    )
    assert result.columns()["note"][0].startswith("all questions differ alike")
    assert np.isnan(result.correlation)
    for models in (("x", "y"), ("x",)):
        with pytest.raises(InputError, match="there is no noise to plan with"):
            plan(components_from_cells(cells, *models), detect=0.01)


@pytest.mark.parametrize("method", [None, "t", "clt"])
def test_z_and_the_p_value_say_the_same(method):
    """Theory: the two-sided tail of a standard normal variable beyond z is the p-value."""
    rng = np.random.default_rng(3)
    totals = rng.binomial(4, rng.random((3, 30)))
    columns = pairs(cells_of(np.full((3, 30), 4), totals, totals), method=method).columns()
    assert 2 * stats.norm.sf(np.abs(columns["z"])) == pytest.approx(columns["p_value"])
    assert np.array_equal(np.sign(columns["z"]), np.sign(columns["difference"]))


def test_identical_answers_are_no_evidence_whatever_the_rounding():
    rng = np.random.default_rng(8)
    p = rng.random(1000)
    row = pairs(cells_of(np.full((2, 1000), 7), np.array([p, p]) * 7, np.array([p, p]) * 7)).columns()
    assert row["se"][0] == 0
    assert math.isnan(row["z"][0])
    assert row["p_value"][0] == 1
    shifted = pairs(
        cells_of(np.full((2, 1000), 1), np.array([p, p + 0.1]), np.array([p, p + 0.1]) ** 2), method="t"
    ).columns()
    assert shifted["se"][0] == 0
    assert math.isnan(shifted["p_value"][0])


def test_scores_that_are_not_binary_have_no_disagreement_and_no_sign_test():
    row = pairs(Cells.from_scores("b", ["a", "b"], ["1", "2"], [[[0.5], [1]], [[0.25], [0]]])).columns()
    assert math.isnan(row["disagreement"][0])
    assert math.isnan(row["p_sign"][0])


def test_wrong_use():
    cells = Cells.from_scores("b", ["medium"], ["1", "2"], [[[1], [0]]])
    with pytest.raises(InputError, match="b: only one model: 'medium'"):
        pairs(cells)
    with pytest.raises(UnknownNameError, match="unknown model 'medum'; did you mean 'medium'"):
        compare(cells, "medum", "medium")
    with pytest.raises(UnknownNameError, match="unknown claim"):
        compare(cells, "medium", "medium", claim="all")


@pytest.mark.parametrize(
    ("chances", "method", "limits"),
    [
        ((0.3, 0.15), None, POWER),
        ((0.45, 0.05), None, POWER_WITH_FEW),
        ((0.6, 0.2), None, POWER),
        ((0.2, 0.02), None, POWER_WITH_FEW),
        ((0.3, 0.15), "t", POWER),
    ],
)
def test_the_questions_for_power_find_a_difference_of_that_size_with_that_power(chances, method, limits):
    """Guarantee by simulation: of 2,000 evaluations of so many questions the test of the comparison rejects 80 %."""
    rng = np.random.default_rng(11)
    pool = rng.choice([1.0, -1.0, 0.0], p=[*chances, 1 - sum(chances)], size=400)  # a - b on each question of a pilot
    scores = np.array([pool == 1, pool == -1], float)
    needed = int(
        compare(cells_of(np.ones((2, 400), int), scores), "m000", "m001", method=method).questions_for_power[0]
    )
    drawn = rng.choice(pool, (2000, needed))
    rejects = 0
    if method == "t":
        rejects = np.mean(stats.ttest_1samp(drawn, 0, axis=1).pvalue < 0.05)
    else:  # the test of the page, by the formulas of its documentation
        d, squares = drawn.mean(axis=1), drawn.var(axis=1) * needed
        whole = squares + 2 + 2 * needed * d**2 / (needed + 2)
        t = needed * d / (needed + 2) / np.sqrt(whole / (needed + 2) / (needed + 1))
        rejects = np.mean(2 * stats.t.sf(abs(t), (needed - 1) * (whole / squares) ** 2) < 0.05)
    assert limits[0] < rejects < limits[1]


def test_the_questions_for_power_are_more_than_those_of_a_test_without_pseudo_questions():
    """By the slow version below, of a mean difference of .4 with the variance .34."""
    pool = np.repeat([1.0, -1.0, 0.0], [180, 20, 200])
    cells = cells_of(np.ones((2, 400), int), np.array([pool == 1, pool == -1], float))
    needed = [compare(cells, "m000", "m001", method=method).questions_for_power[0] for method in ("t", None)]
    assert needed == [least_questions(0.4, 0.34), least_questions(0.4, 0.34, size=1.0)] == [19, 23]


def test_no_number_of_questions_is_stated_where_none_can_be():
    same = compare(cells_of(np.ones((2, 3), int), np.array([[1.0, 0, 1], [1, 0, 1]])), "m000", "m001")
    assert math.isnan(same.questions_for_power[0])
    far = cells_of(np.full((2, 3), 2), np.array([[2.0, 1, 2], [0, 1, 1]]))
    assert (
        compare(far, "m000", "m001", method="t").questions_for_power[0] == 8
    )  # 3.261 sqrt(1/6 / 8) = .471, 3.353 sqrt(1/6 / 7) = .517
    assert math.isnan(compare(far, "m000", "m001", claim="these-questions").questions_for_power[0])


def least_questions(d, variance, level=0.95, power=0.8, size=None):
    """The slow oracle: the first N' that satisfies the condition, one by one; `size` of the pseudo-questions."""
    for n in range(2, 100_000):
        center, se, df = abs(d), math.sqrt(variance / n), n - 1
        if size is not None:
            square = (n - 1) * variance
            whole = square + 2 * size + 2 * n * d**2 / (n + 2)
            center, se, df = n * abs(d) / (n + 2), math.sqrt(whole / (n + 2) / (n + 1)), (n - 1) * (whole / square) ** 2
        if (stats.t.ppf((1 + level) / 2, df) + stats.t.ppf(power, df)) * se <= center:
            return n
    return math.nan


@pytest.mark.parametrize("level", mark_long([0.95, 0.5, 0.8, 0.999], after=1))
@pytest.mark.parametrize(("method", "size"), [("t", None), (None, 1.0), ("adjusted-t", 1.0)])
def test_the_questions_for_power_are_the_smallest_number_that_satisfies_the_condition(level, method, size):
    """A slow version: b is right on every question, a on N - right of 40; and random scores of few and many questions."""
    rng = np.random.default_rng(12)
    step, repeats = (1, 20) if method == "t" else (3, 10)  # the oracle with pseudo-questions takes three times as long
    each = [np.array([np.ones(40), np.arange(40) >= right]) for right in range(1, 40, step)]
    each += [rng.random((2, n)) < rng.random((2, 1)) for n in (3, 7, 30, 200) for _ in range(repeats)]
    compared = []
    for scores in each:
        cells = cells_of(np.ones(scores.shape, int), scores.astype(float))
        ours = compare(cells, "m000", "m001", level=level, method=method)
        d = scores[0].astype(float) - scores[1]
        if d.mean() == 0 or d.var() == 0:
            assert math.isnan(ours.questions_for_power[0])
            continue
        expected = least_questions(d.mean(), d.var(), level, size=size)
        compared.append(expected)
        assert ours.questions_for_power[0] == expected
    least, smallest, largest = (80, 6, 250) if method == "t" else (35, 12, 70)
    assert len(compared) > least
    assert min(compared) < smallest
    assert max(compared) > largest


def test_the_questions_for_power_of_graded_scores_have_pseudo_questions_of_their_size():
    """A slow version: s^2 = sum d^4 / sum d^2 of scores that are not 0 and 1."""
    rng = np.random.default_rng(13)
    scores = np.array([rng.beta(3, 2, 50), rng.beta(2, 3, 50)])
    d = scores[0] - scores[1]
    expected = least_questions(d.mean(), d.var(), size=np.sum(d**4) / np.sum(d**2))
    ours = compare(cells_of(np.ones(scores.shape, int), scores, scores**2), "m000", "m001")
    assert ours.questions_for_power[0] == expected > least_questions(d.mean(), d.var())


def test_the_questions_for_power_of_high_scores_by_brute_force():
    """Counted by hand for 40 questions with d = .75, .8, .85, .9, .95; and all pairs at once."""
    right = np.array([30, 32, 34, 36, 38])
    scores = np.vstack([np.arange(40) < n for n in [*right, 0]]).astype(float)
    result = pairs(cells_of(np.ones(scores.shape, int), scores), method="t")
    beside_none = result.b == 5
    assert result.questions_for_power[beside_none].tolist() == [5, 5, 4, 4, 3]


def test_a_tiny_difference_needs_a_huge_number_of_questions():
    """Theory: of a huge number, the condition is that of the normal distribution."""
    n, d = 1000, 1e-9
    a = np.arange(n) % 2 * 1.0
    b = np.roll(a, 1) - d
    scores = np.array([a, b])
    needed = compare(cells_of(np.ones((2, n), int), scores, scores**2), "m000", "m001").questions_for_power[0]
    assert needed == pytest.approx((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) ** 2 / d**2, rel=1e-5)


def test_no_difference_larger_than_scores_allow_is_called_detectable():
    few = Cells.from_scores("demo", ["a", "b"], ["q1", "q2", "q3"], [[[1], [1], [0]], [[0], [1], [0]]])
    columns = pairs(few).columns()
    assert np.isnan(columns["detectable"]).all()
    assert "no difference of scores from 0 to 1 is found with 80% power" in columns["note"][0]
    # the same numbers times 10 are scores that may differ by more than 1
    large = Cells.from_scores("demo", ["a", "b"], ["q1", "q2", "q3"], [[[10], [10], [0]], [[0], [10], [0]]])
    columns = pairs(large).columns()
    assert columns["detectable"][0] > 1
    assert "no difference" not in columns["note"][0]


def test_one_common_question_has_the_error_of_these_questions():
    """Theory: s2 = 1/2 of two generations each, so (1/2)/2 + (1/2)/2 on this very question; on new ones unknown."""
    cells = Cells.from_scores("b", ["a", "b"], ["1", "2"], [[[1, 0], [1, 1]], [[1, 0], []]])
    assert compare(cells, "a", "b", claim="these-questions").variance[0] == pytest.approx(0.5)
    assert math.isnan(compare(cells, "a", "b").variance[0])
    assert "one question in common" in compare(cells, "a", "b").columns()["note"][0]


@pytest.mark.parametrize("method", [None, "t"])
@pytest.mark.parametrize("claim", ["new-questions", "these-questions", "single-run"])
def test_no_interval_leaves_what_a_difference_of_scores_can_be(claim, method):
    cells = Cells.from_scores("b", ["a", "b"], ["1", "2"], [[[1, 1], [1, 1]], [[0, 1], [0, 0]]])
    between = compare(cells, "a", "b", claim=claim, method=method).interval()
    assert between.high[0] == 1
    assert -1 <= between.low[0] < 0.75
    tenfold = Cells.from_scores("b", ["a", "b"], ["1", "2"], [[[10, 10], [10, 10]], [[0, 10], [0, 0]]])
    assert compare(tenfold, "a", "b", claim=claim, method=method).interval().high[0] > 10


def test_the_columns_for_every_pair_by_hand():
    """Theory: sqrt(p(1-p)/N) with p = 1/2 of N = 4; a wins two questions and loses one; the pair without a question."""
    scores = [[[1], [1], [1], [0], []], [[0], [0], [1], [1], []], [[], [], [], [], [1]]]
    cells = Cells.from_scores("b", ["a", "b", "c"], list("12345"), scores)
    columns = pairs(cells, every_column=True).columns()
    assert (columns["wins_a"][0], columns["wins_b"][0], columns["ties"][0]) == (1 / 2, 1 / 4, 1 / 4)
    assert columns["se_rule_of_thumb"][0] == pytest.approx(math.sqrt(5 / 8 * 3 / 8 / 4))
    assert columns["se_independent"][0] == pytest.approx(math.sqrt(2 * 5 / 8 * 3 / 8 / 4))
    assert np.isnan(columns["se_rule_of_thumb"][1:]).all()
    assert "wins_a" not in pairs(cells).columns()


def test_two_clusters_are_several():
    cells = Cells.from_scores("b", ["a", "b"], list("1234"), [[[1], [0], [1], [1]], [[0], [0], [1], [0]]])
    two = replace(cells, clusters=("x", "x", "y", "y"))
    one = replace(cells, clusters=("x", "x", "x", "x"))
    assert IN_CLUSTERS in compare(two, "a", "b").columns()["note"][0]
    assert ONE_CLUSTER not in compare(two, "a", "b").columns()["note"][0]
    assert ONE_CLUSTER in compare(one, "a", "b").columns()["note"][0]
    assert IN_CLUSTERS not in compare(one, "a", "b").columns()["note"][0]


@pytest.mark.parametrize("method", ["adjusted-t", "t", "clt", "tango"])
def test_the_method_column_names_the_method(method):
    cells = Cells.from_scores("b", ["a", "b"], list("1234"), [[[1], [0], [1], [1]], [[0], [0], [1], [0]]])
    assert compare(cells, "a", "b", method=method).columns()["method"].tolist() == [method]


def test_scores_averaged_over_prompts_are_noted_as_in_score():
    """By hand: a and b have both prompts, c one of them, and its note is of the pair's fewer and more."""
    scores = [[[1, 0], [1, 1], [0, 1]], [[1, 1], [0, 1], [0, 0]], [[1], [0], [1]]]
    made = Cells.from_scores("b", ["a", "b", "c"], ["1", "2", "3"], scores)
    assert not any("prompt variants" in note for note in pairs(made).columns()["note"])
    of = {"a": frozenset("vw"), "b": frozenset("vw"), "c": frozenset("v")}
    text = "averaged over {} prompt variants, whose noise is not in the error"
    notes = pairs(replace(made, variants=("v", "w"), variants_of=of)).columns()["note"]
    assert [text.format(number) in note for number, note in zip(("2", "1 and 2", "1 and 2"), notes, strict=True)] == [
        True
    ] * 3
    assert "prompt variants" not in pairs(replace(made, variants=("v",))).columns()["note"][0]


def test_clusters_of_two_questions_by_hand():
    """Cluster means 1/2, 1/4, -1/4 of the differences: their squares from 1/6 over 3 x 2, and df 2.

    A single run has in addition the variance within questions that two generations halve: three questions of each
    model have 1/2, so 6 (1/2)(1/2)/6 a question.
    """
    totals = np.array([[2.0, 1, 2, 0, 1, 1], [0, 1, 1, 0, 2, 1]])
    cells = replace(cells_of(np.full((2, 6), 2), totals), clusters=tuple("xxyyzz"))
    new = sum((mean - 1 / 6) ** 2 for mean in (1 / 2, 1 / 4, -1 / 4)) / 6
    for claim, variance in (("new-questions", new), ("single-run", new + 0.25 / 6)):
        result = compare(cells, "m000", "m001", claim=claim)
        assert result.variance == pytest.approx([variance])
        assert result.df == pytest.approx([2])
        assert result.n_clusters.tolist() == [3]
    # Two single runs of one model differ by the variance within questions of both: 2 x 3 (1/2)/6.
    itself = compare(cells, "m000", "m000", claim="single-run")
    assert itself.variance.tolist() == pytest.approx([0.5 / 6])
    assert itself.df.tolist() == [5]


def test_an_ordinary_pair_has_no_note():
    cells = cells_of(np.full((2, 40), 2), np.tile([[2.0, 0, 1, 2], [0, 1, 0, 1]], 10))
    assert compare(cells, "m000", "m001").columns()["note"].tolist() == [""]
