"""The oracles against cases worked by hand, complete enumeration, and other programs; nothing of howsure is here."""

import math
from fractions import Fraction
from itertools import combinations, product

import pytest
from helpers.strategies import score_grids
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import components, pairs
from oracles.enumeration import bernoulli, expectation, law_mean, law_variance, outcomes
from scipy import stats

F = Fraction

# Three questions of 2, 3 and 1 generations and a missing one: p = 1/2, 2/3, 1; s2 = 1/2, 1/3, unknown.
UNEQUAL = [[1, 0], [1, 1, 0], [1], []]
# One law per question: two Bernoulli questions and one with partial credit.
LAWS = [bernoulli(F(1, 4)), bernoulli(F(2, 3)), {F(0): F(1, 2), F(1, 2): F(1, 3), F(1): F(1, 6)}]


# ---- theory: cases worked by hand


def test_unequal_counts_by_hand():
    assert components.mean_score(UNEQUAL) == F(13, 18)
    assert components.variance_of_means(UNEQUAL) == F(7, 162)  # (16 + 1 + 25)/18^2 / 3
    assert components.prediction_variance(UNEQUAL) == F(5, 12)  # (1/2 + 1/3)/2
    assert components.noise_of_means(UNEQUAL) == F(7, 27)  # (1/4 + 1/9 + 5/12)/3
    assert components.data_variance(UNEQUAL) == F(7, 162) - F(7, 27) == F(-35, 162)
    assert components.total_variance(UNEQUAL) == F(7, 162) + F(17, 108)  # + (1/4 + 2/9 + 0)/3


def test_standard_errors_of_the_claims_by_hand():
    row = components.summary(UNEQUAL)
    assert (row["n_questions"], row["n_generations"]) == (3, 6)
    assert row["se_new_questions"] == pytest.approx(math.sqrt(7 / 162 / 3), rel=1e-15)
    assert row["se_these_questions"] == pytest.approx(math.sqrt(1 / 4 + 1 / 9 + 5 / 12) / 3, rel=1e-15)
    assert row["se_single_run"] == row["se_total"] == pytest.approx(math.sqrt((14 + 51) / 324 / 3), rel=1e-15)
    assert row["se_prediction"] == pytest.approx(math.sqrt(5 / 36), rel=1e-15)
    assert row["se_data"] == 0.0


def test_single_generations_leave_prediction_and_data_unknown():
    row = components.summary([[1], [0], [1], [1]])
    assert row["total"] == 3 / 16
    assert row["se_new_questions"] == row["se_single_run"] == math.sqrt(3 / 64)
    assert all(
        math.isnan(row[name]) for name in ("prediction", "data", "se_prediction", "se_data", "se_these_questions")
    )


def test_no_answer_at_all_is_nan():
    row = components.summary([[], []])
    assert row.pop("n_questions") == row.pop("n_generations") == 0
    assert all(math.isnan(value) for value in row.values())
    row = pairs.summary([[1], []], [[], [0]])
    assert row.pop("n_questions") == 0
    assert all(math.isnan(value) for value in row.values())


def test_plain_form_and_gen_plugin_by_hand():
    questions = [[1, 0], [1, 1], [0, 0], [1, 0]]  # p = 1/2, 1, 0, 1/2
    assert components.plain_variances(questions) == {"data": 1 / 8, "prediction": 1 / 8, "total": 1 / 4}
    # mu = 1/2, sigma^2 = 1/6: (1/2 - 1/4 - 1/6)/8 + (1/6)/4 = 5/96
    assert components.gen_plugin_se(questions) == pytest.approx(math.sqrt(5 / 96), rel=1e-15)


@pytest.mark.parametrize("questions", [[[1, 0], [1]], [[0.5, 1], [0, 1]], [[1, 0]]])
def test_gen_plugin_refuses_what_it_is_not_for(questions):
    with pytest.raises(ValueError, match="plug-in"):
        components.gen_plugin_se(questions)


def test_intervals_by_hand():
    questions = [[1], [0], [1], [0]]  # mean 1/2, var 1/4 with ddof 0, 1/3 with ddof 1
    assert components.clt_interval(questions, 0.95) == pytest.approx((0.5 - 1.959964 / 4, 0.5 + 1.959964 / 4), abs=1e-7)
    assert components.t_interval(questions, 0.5) == pytest.approx(
        (0.5 - 0.764892 * 12**-0.5, 0.5 + 0.764892 * 12**-0.5)
    )
    assert components.t_interval(questions, 0.95) == (0.0, 1.0)  # 3.182/sqrt(12) is more than a half
    low, high = components.t_interval([[2 * score for score in row] for row in questions], 0.95)
    assert (low, high) == pytest.approx((1 - 3.182446 * 3**-0.5, 1 + 3.182446 * 3**-0.5))  # scores up to 2: not clipped
    assert all(math.isnan(end) for end in components.t_interval([[1, 0]], 0.95))


def test_pair_by_hand():
    a, b = [[1, 0], [1, 1, 0], [1], [1]], [[0], [1, 0], [1, 1], []]  # d = 1/2, 1/6, 0 on three common questions
    row = pairs.summary(a, b)
    assert row["n_questions"] == 3
    assert row["difference"] == pytest.approx(2 / 9, rel=1e-15)
    assert pairs.prediction(a, b) == F(5, 12) + F(1, 4)  # A: 1/2, 1/3; B: 1/2, 0
    assert pairs.total(a, b) == F(7, 162) + F(17, 108) + F(1, 12)  # var(1/2, 1/6, 0) = 7/162; B's rest: (1/4 + 0)/3
    # A's noise: (1/4 + 1/9 + 5/12)/3; B's: (1/4 [unknown, so E_B] + 1/4 + 0)/3
    assert pairs.data(a, b) == F(7, 162) - F(7, 27) - F(1, 6)
    assert row["z"] == pytest.approx((2 / 9) / math.sqrt(7 / 486), rel=1e-14)
    assert row["p_value"] == pairs.normal_p(row["z"])
    assert pairs.disagreement(a, b) == (F(1, 2) + F(1, 2) + 0) / 3
    # deviations of A: -4, -1, 5 eighteenths; of B: -1/2, 0, 1/2
    assert row["correlation"] == pytest.approx((2 + 0 + 2.5) / math.sqrt(42 * 0.5), rel=1e-14)
    assert math.isnan(row["p_sign"])


def test_one_model_without_repeats_leaves_the_components_of_the_pair_unknown():
    row = pairs.summary([[1], [0]], [[1, 0], [0, 0]])
    assert math.isnan(row["prediction"])
    assert math.isnan(row["data"])
    assert row["total"] == 1 / 16 + 1 / 8  # var(1/2, 0) + (1/4 + 0)/2


def test_all_pairs_has_the_diagonal_of_independent_predictions():
    rows = pairs.all_pairs([[[1, 0], [1, 1]], [[0], [1]]])
    assert rows[0, 0]["total"] == rows[0, 0]["prediction"] == 1 / 2  # twice E = (1/2 + 0)/2
    assert (rows[0, 0]["data"], rows[0, 0]["se_total"]) == (0.0, 0.5)
    assert math.isnan(rows[1, 1]["total"])
    assert rows[0, 1]["difference"] == -rows[1, 0]["difference"] == 1 / 4


@pytest.mark.parametrize(
    ("wins", "losses", "p"), [(0, 0, 1.0), (1, 0, 1.0), (8, 0, 2 / 256), (5, 2, 58 / 128), (3, 3, 1.0)]
)
def test_sign_test_by_hand(wins, losses, p):
    assert pairs.sign_test(wins, losses) == p
    tie = [[1], [0]]
    a, b = [[1]] * wins + [[0]] * losses + tie, [[0]] * wins + [[1]] * losses + tie
    assert pairs.sign_p(a, b) == pairs.sign_p(b, a) == p


def test_no_noise_seen_means_no_z():
    assert math.isnan(pairs.summary([[1], [1]], [[0], [0]])["p_value"])


# ---- theory: exact expectations over every outcome


@pytest.mark.parametrize("counts", [(2, 2), (2, 3), (4, 2)])
@pytest.mark.parametrize("laws", [LAWS[:2], LAWS[1:], [bernoulli(F(1, 3)), bernoulli(F(1))]])
def test_expectations_for_fixed_questions(laws, counts):
    N, p, v = 2, [law_mean(law) for law in laws], [law_variance(law) for law in laws]
    E, D = sum(v) / N, ((p[0] - p[1]) / 2) ** 2
    variance_of_mean = sum(v_q / k for v_q, k in zip(v, counts, strict=True)) / N**2
    assert expectation(components.prediction_variance, laws, counts) == E
    assert expectation(components.data_variance, laws, counts) == D - variance_of_mean
    assert expectation(components.total_variance, laws, counts) == D + E - variance_of_mean
    # the claim "these questions" is exact: the estimated SE^2 has the variance of the mean as its expectation
    assert expectation(components.noise_of_means, laws, counts) / N == variance_of_mean
    mean_square = expectation(lambda q: components.mean_score(q) ** 2, laws, counts)
    assert mean_square - (sum(p) / N) ** 2 == variance_of_mean


def test_single_generations_beside_repeats():
    counts, N = (1, 2, 3), 3
    p, v = [law_mean(law) for law in LAWS], [law_variance(law) for law in LAWS]
    variance_of_mean = sum(v_q / k for v_q, k in zip(v, counts, strict=True)) / N**2
    D = sum((p_q - sum(p) / N) ** 2 for p_q in p) / N
    known = (v[1] + v[2]) / 2
    assert expectation(components.prediction_variance, LAWS, counts) == known
    assert expectation(components.total_variance, LAWS, counts) == D + sum(v) / N - variance_of_mean
    # D takes `known` for v[0]: off by a third of the difference, nothing when single questions are like the others
    assert expectation(components.data_variance, LAWS, counts) == D - variance_of_mean + (v[0] - known) / N


def test_expectations_for_questions_from_a_population():
    """P(correct) is 1/4 or 3/4, K = 2: D is small by Var(mean), var(ph, ddof=1)/N is exact, the plug-in too large."""
    N, K, population = 2, 2, [F(1, 4), F(3, 4)]
    D, E = F(1, 16), F(3, 16)
    variance_of_mean = (D + E / K) / N
    got = {"D": F(0), "T": F(0), "unbiased": F(0), "plugin": 0.0}
    for drawn in product(population, repeat=N):
        for chance, questions in outcomes([bernoulli(p) for p in drawn], [K] * N):
            weight = chance / len(population) ** N
            got["D"] += weight * components.data_variance(questions)
            got["T"] += weight * components.total_variance(questions)
            got["unbiased"] += weight * components.variance_of_means(questions) / (N - 1)
            got["plugin"] += float(weight) * components.gen_plugin_se(questions) ** 2
    assert got["D"] == D - variance_of_mean
    assert got["T"] == D + E - variance_of_mean
    assert got["unbiased"] == variance_of_mean
    # (mu - E[mean^2] - S)/(nk) + S/n with S = E[var(ph, ddof=1)] = D + E/K, which has the within part in it already
    S = D + E / K
    plugin = (F(1, 2) - (F(1, 4) + variance_of_mean) - S) / (N * K) + S / N
    assert got["plugin"] == pytest.approx(float(plugin), rel=1e-14)
    assert plugin == F(21, 20) * variance_of_mean


@pytest.mark.parametrize(("k_a", "k_b"), [((2, 2), (2, 2)), ((2, 3), (2, 2))])
def test_expectations_for_a_pair(k_a, k_b):
    laws_a, laws_b, N = LAWS[:2], [bernoulli(F(1, 2)), bernoulli(F(1, 3))], 2
    d = [law_mean(x) - law_mean(y) for x, y in zip(laws_a, laws_b, strict=True)]
    v_a, v_b = [law_variance(law) for law in laws_a], [law_variance(law) for law in laws_b]
    E, D = (sum(v_a) + sum(v_b)) / N, ((d[0] - d[1]) / 2) ** 2
    variance_of_mean = sum(v / k for v, k in zip(v_a + v_b, k_a + k_b, strict=True)) / N**2

    def expected(estimate):
        return expectation(lambda q: estimate(q[:N], q[N:]), laws_a + laws_b, k_a + k_b)

    assert expected(pairs.prediction) == E
    assert expected(pairs.data) == D - variance_of_mean
    assert expected(pairs.total) == D + E - variance_of_mean
    chance = [
        a * (1 - b) + (1 - a) * b
        for a, b in zip(*[[law_mean(x) for x in laws] for laws in (laws_a, laws_b)], strict=True)
    ]
    assert expected(pairs.disagreement) == sum(chance) / N


def test_a_model_against_itself_is_the_variance_of_two_independent_predictions():
    laws, N = LAWS[1:], 2
    twice = F(0)  # Var(y - y') over a random question and two independent generations, by enumeration; its mean is 0
    for law in laws:
        twice += sum(c * (q[0][0] - q[0][1]) ** 2 for c, q in outcomes([law], [2])) / N
    assert expectation(lambda q: 2 * components.prediction_variance(q), laws, (2, 3)) == twice


def test_sign_test_holds_its_level_in_every_outcome():
    for n in range(1, 13):
        chance_of_p = {w: (math.comb(n, w) / 2**n, pairs.sign_test(w, n - w)) for w in range(n + 1)}
        for level in (0.001, 0.01, 0.05, 0.1, 0.5):
            assert sum(chance for chance, p in chance_of_p.values() if p <= level) <= level


# ---- a slow version written differently: adjusted p-values from their definitions

P_VALUES = [0.01, 0.04, math.nan, 0.03, 0.005, 0.04, 0.9, math.nan, 0.0]


def test_adjusted_p_values_by_hand():
    nan = math.nan
    assert pairs.holm([0.01, nan, 0.04, 0.03]) == pytest.approx([0.03, nan, 0.06, 0.06], nan_ok=True)
    assert pairs.benjamini_hochberg([0.01, nan, 0.04, 0.03]) == pytest.approx([0.03, nan, 0.04, 0.04], nan_ok=True)
    assert pairs.holm([nan]) == pytest.approx([nan], nan_ok=True)
    assert pairs.holm([]) == pairs.benjamini_hochberg([]) == []


def test_holm_is_closed_testing_with_bonferroni():
    known = [p for p in P_VALUES if not math.isnan(p)]
    adjusted = [p for p in pairs.holm(P_VALUES) if not math.isnan(p)]
    for i, got in enumerate(adjusted):
        subsets = [s for size in range(1, len(known) + 1) for s in combinations(range(len(known)), size) if i in s]
        assert got == pytest.approx(max(min(1, len(s) * min(known[j] for j in s)) for s in subsets), rel=1e-14)


@given(st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.02, 0.2, 0.5, 1.0]) | st.floats(0, 1), min_size=1, max_size=12))
@settings(deadline=None, derandomize=True, database=None)
def test_benjamini_hochberg_against_scipy(p_values):
    """Another program's output."""
    assert pairs.benjamini_hochberg(p_values) == pytest.approx(list(stats.false_discovery_control(p_values)), rel=1e-12)


# ---- another program's output, and a printed table


@pytest.mark.parametrize(("df", "t"), [(1, 12.706), (2, 4.303), (3, 3.182), (10, 2.228), (30, 2.042), (120, 1.980)])
def test_t_quantile_against_the_printed_table(df, t):
    assert components.t_quantile(0.975, df) == pytest.approx(t, abs=5e-4)


@pytest.mark.parametrize(("z", "p"), [(0, 1.0), (1.645, 0.1), (-1.96, 0.05), (2.576, 0.01), (3.291, 0.001)])
def test_two_sided_normal_p_against_the_printed_table(z, p):
    assert pairs.normal_p(z) == pytest.approx(p, rel=2e-3)


@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 8, 11, 57, 400, 1318])
def test_t_quantile_against_scipy(df):
    for probability in (0.55, 0.9, 0.975, 0.999):
        assert components.t_quantile(probability, df) == pytest.approx(stats.t.ppf(probability, df), rel=1e-9)


def test_sign_test_and_correlation_against_scipy():
    for wins, losses in product(range(9), range(9)):
        if wins + losses:
            assert pairs.sign_test(wins, losses) == pytest.approx(
                stats.binomtest(wins, wins + losses).pvalue, rel=1e-12
            )
    a, b = [[1], [0], [0.25], [0.5]], [[1], [0.5], [0], [0.125]]
    assert pairs.correlation(a, b) == pytest.approx(stats.pearsonr([1, 0, 0.25, 0.5], [1, 0.5, 0, 0.125]).statistic)


# ---- theory: identities that hold for every grid


@given(score_grids())
@settings(deadline=None, derandomize=True, database=None)
def test_total_is_data_and_prediction_even_for_unequal_counts(scores):
    for questions in scores:
        E, D, T = (
            estimate(questions)
            for estimate in (components.prediction_variance, components.data_variance, components.total_variance)
        )
        assert math.isnan(E) == math.isnan(D) == all(len(row) < 2 for row in questions)
        assert math.isnan(E) or T == D + E  # exactly: Fractions


@given(score_grids(min_models=2))
@settings(deadline=None, derandomize=True, database=None)
def test_swapping_models_flips_the_sign_and_nothing_else(scores):
    here, there = pairs.summary(scores[0], scores[1]), pairs.summary(scores[1], scores[0])
    for name, value in here.items():
        mirrored = -there[name] if name in {"difference", "z"} else there[name]
        assert value == mirrored or (math.isnan(value) and math.isnan(mirrored)), name


@given(score_grids(kind="binary", max_models=1))
@settings(deadline=None, derandomize=True, database=None)
def test_a_model_against_a_constant_is_that_model_alone(scores):
    zeros = [[0, 0] if row else [] for row in scores[0]]
    alone, paired = components.summary(scores[0]), pairs.summary(scores[0], zeros)
    for name, other in {"mean": "difference", "total": "total", "data": "data", "se_new_questions": "se"}.items():
        assert alone[name] == paired[other] or (math.isnan(alone[name]) and math.isnan(paired[other])), name
