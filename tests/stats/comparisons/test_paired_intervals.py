"""Intervals of differences that hold where few questions differ."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

from howsure.errors import InputError
from howsure.stats.comparisons.paired_intervals import pseudo_sizes, pseudo_variance
from howsure.stats.comparisons.pairs import RARE_DIFFERENCES, compare, pairs
from howsure.stats.core.cells import Cells


def cells_of(n, total, total_sq=None, clusters=None):
    n, total = np.asarray(n), np.asarray(total, float)
    models, questions = (tuple(f"{letter}{i}" for i in range(size)) for letter, size in zip("mq", n.shape, strict=True))
    return Cells("b", models, questions, n, total, total if total_sq is None else total_sq, clusters=clusters)


def singles(N, only_a, only_b, both=0):
    """One generation per question: `only_a` questions that a alone gets right, and so on."""
    a, b = np.zeros(N), np.zeros(N)
    a[:only_a] = 1
    b[only_a : only_a + only_b] = 1
    a[N - both :] = b[N - both :] = 1 if both else 0
    return cells_of(np.ones((2, N), int), [a, b])


def one(cells, method=None, **how):
    return compare(cells, "m0", "m1", method=method, **how)


def limits(cells, method=None, level=0.95, **how):
    between = one(cells, method, **how).interval(level)
    return float(between.low[0]), float(between.high[0])


@pytest.mark.parametrize(("N", "b", "c"), [(10, 0, 0), (10, 3, 0), (30, 3, 1), (100, 5, 0), (500, 12, 7), (10, 10, 0)])
def test_the_default_of_single_answers_is_bonett_and_price_with_t(N, b, c):
    """Slow version: pseudo-questions are written as questions, and t's mean and variance are numpy's."""
    real = np.concatenate([np.ones(b), -np.ones(c), np.zeros(N - b - c)])
    d = np.append(real, [1, -1])
    ratio = d.var() * (N + 2) / (real.var() * N) if real.var() else 1 if real.any() else np.inf
    half = stats.t.ppf(0.975, (N - 1) * ratio**2) * d.std(ddof=1) / np.sqrt(N + 2)
    low, high = limits(singles(N, b, c))
    assert (low, high) == pytest.approx((max(d.mean() - half, -1), min(d.mean() + half, 1)), abs=1e-14)


@pytest.mark.parametrize(("N", "b", "c"), [(10, 1, 0), (30, 3, 1), (100, 5, 0), (500, 12, 7), (44, 0, 2), (20, 20, 0)])
def test_tango_rejects_just_beyond_its_limits(N, b, c):
    """Theory: a limit is where Tango's constrained likelihood ratio of scores equals the quantile."""

    def statistic(at):
        # The constrained estimate of the share that only b gets right, from the likelihood itself, by search.
        grid = np.linspace(max(0, -at), (1 - at) / 2, 200_001)[1:-1]
        with np.errstate(divide="ignore"):
            log = special.xlogy(b, grid + at) + special.xlogy(c, grid)
            log += special.xlogy(N - b - c, np.maximum(1 - 2 * grid - at, 1e-300))
        q = grid[np.argmax(log)]
        return (b - c - N * at) / np.sqrt(N * (2 * q + at * (1 - at)))

    low, high = limits(singles(N, b, c), "tango")
    for limit, sign in ((low, 1), (high, -1)):
        if abs(limit) < 1 - 1e-9:
            assert statistic(limit) == pytest.approx(sign * stats.norm.ppf(0.975), abs=2e-3)


def test_tango_of_identical_answers():
    """Theory: with no discordant question the limits are +-z^2 / (N + z^2)."""
    z2 = stats.norm.ppf(0.975) ** 2
    low, high = limits(singles(50, 0, 0), "tango")
    assert (low, high) == pytest.approx((-z2 / (50 + z2), z2 / (50 + z2)), abs=1e-9)
    assert one(singles(50, 0, 0), "tango").interval().p_value[0] == 1


def test_methods_for_single_answers_say_so():
    """Several generations have no discordant questions: an error, or NaN with a reason beside pairs that have."""
    n = np.array([[2] * 5, [1] * 5, [1] * 5])
    total = [[2, 1, 0, 1, 2], [1, 1, 0, 1, 1], [0, 1, 0, 1, 0]]
    with pytest.raises(InputError, match="tango. needs one generation per question"):
        one(cells_of(n[:2], total[:2]), "tango")
    columns = pairs(cells_of(n, total), method="tango").columns()
    assert np.isnan(columns["low"]).tolist() == [True, True, False]
    assert ["one generation per question, scored" in note for note in columns["note"]] == [True, True, False]


def test_methods_for_new_questions_refuse_other_claims_and_clusters():
    cells = singles(20, 3, 1)
    for claim in ("these-questions", "single-run"):
        with pytest.raises(InputError, match="method 'tango' makes the claim 'new-questions' only"):
            compare(cells, *cells.models, claim=claim, method="tango")
    clustered = replace(cells, clusters=tuple(str(q % 5) for q in range(20)))
    for call in (lambda: compare(clustered, *cells.models, method="tango"), lambda: pairs(clustered, method="tango")):
        with pytest.raises(InputError, match="without clusters"):
            call()


@pytest.mark.parametrize("method", [None, "tango"])
@pytest.mark.parametrize("N", [10, 100, 1000])
def test_identical_answers_have_an_interval(method, N):
    """Guarantee: two models that were asked the same thing are never without an interval."""
    found = one(singles(N, 0, 0, both=N // 2), method)
    low, high = found.interval().low[0], found.interval().high[0]
    assert -1 < low < 0 < high < 1
    assert found.interval().p_value[0] == 1
    assert np.isnan(found.columns()["detectable"][0])


def test_identical_answers_of_several_generations_have_one_for_each_claim():
    found = cells_of(np.full((2, 30), 4), np.tile([0.0, 4, 4], (2, 10)))
    for claim in ("new-questions", "these-questions", "single-run"):
        low, high = limits(found, claim=claim)
        assert -0.5 < low < 0 < high < 0.5


def test_scores_outside_the_unit_interval():
    """Where rewards from -1 to 3 never differ, the pseudo-questions differ by the range of the question means."""
    total = np.tile([-1.0, 3, 2], (2, 10))
    same = cells_of(np.ones((2, 30), int), total, total**2)
    _, high = limits(same)
    assert high == pytest.approx(stats.norm.ppf(0.975) * np.sqrt(2 * 16 / (32 * 31)), abs=1e-12)
    constant = np.full((2, 30), 3.0)
    found = one(cells_of(np.ones((2, 30), int), constant, constant**2))
    assert np.isnan(found.interval().low[0])
    assert "no variation was seen" in found.columns()["note"][0]


def test_the_interval_scales_with_the_scores():
    """Theory: scores that are no counts have no unit, so their interval has none either."""
    rng = np.random.default_rng(0)
    total = rng.normal(0.3, 0.02, (2, 40))
    low, high = limits(cells_of(np.ones((2, 40), int), total, total**2))
    wide = total * 1000
    assert limits(cells_of(np.ones((2, 40), int), wide, wide**2)) == pytest.approx((1000 * low, 1000 * high), rel=1e-9)


@pytest.mark.parametrize("generations", [1, 5])
@pytest.mark.parametrize("claim", ["new-questions", "these-questions", "single-run"])
def test_one_pair_is_a_row_of_all_pairs(generations, claim):
    """Slow version: matrix products of all pairs against each pair by itself, with missing questions."""
    rng = np.random.default_rng(generations)
    n = np.where(rng.random((7, 25)) < 0.15, 0, generations)
    cells = cells_of(n, rng.binomial(n, rng.random((7, 25))))
    found = pairs(cells, claim=claim)
    whole = found.interval()
    for row, (a, b) in enumerate(zip(found.a, found.b, strict=True)):
        alone = compare(cells, f"m{a}", f"m{b}", claim=claim).interval()
        assert alone.low[0] == pytest.approx(whole.low[row], abs=1e-12, nan_ok=True)
        assert alone.p_value[0] == pytest.approx(whole.p_value[row], abs=1e-10, nan_ok=True)


def test_p_value_and_interval_agree():
    """p < .05 exactly where the interval excludes 0."""
    rng = np.random.default_rng(3)
    for method in (None, "t", "tango"):
        n = np.ones((30, 40), int)
        between = pairs(cells_of(n, rng.binomial(n, rng.random((30, 1)))), method=method).interval()
        assert np.array_equal(between.p_value < 0.05, (between.low > 0) | (between.high < 0))


@pytest.mark.long
@pytest.mark.parametrize(("only_a", "only_b"), [(2, 0), (3, 0), (5, 0), (10, 0), (3, 1), (1, 1)])
@pytest.mark.parametrize("N", [30, 100, 500])
def test_coverage_where_few_questions_differ(N, only_a, only_b):
    """Guarantee: exact coverage over the multinomial of discordant counts; Student's t is far below it."""
    counts = np.arange(40)
    chance = stats.multinomial(N, [only_a / N, only_b / N, 1 - (only_a + only_b) / N])
    covered = dict.fromkeys((None, "t", "tango"), 0.0)
    for b in counts[counts <= 25]:
        for c in counts[counts <= (8 if only_b else 0)]:
            weight = chance.pmf([b, c, N - b - c]) if b + c <= N else 0
            if weight < 1e-5:
                continue
            for method in covered:
                low, high = limits(singles(N, int(b), int(c)), method)
                covered[method] += weight * (low <= (only_a - only_b) / N <= high)
    assert covered[None] > 0.93
    assert covered["tango"] > 0.92
    if only_b == 0 and only_a in {3, 5} and N >= 100:
        assert covered["t"] < 0.9


@pytest.mark.long
def test_coverage_of_these_questions_where_few_vary():
    """Guarantee by simulation: 3 of 100 questions vary, 2 to 5 generations; t without the addition covers less."""
    rng = np.random.default_rng(5)
    for k in (2, 3, 5):
        trials, N, varying = 400, 100, 3
        p = np.zeros((2 * trials, N))
        p[:, :varying] = rng.random((2 * trials, varying))
        p[:, 50:] = 1
        n = np.full(p.shape, k)
        total = rng.binomial(n, p)
        true = p.mean(axis=1)
        covered = {None: 0, "t": 0}
        for i in range(trials):
            pair = cells_of(n[:2], total[[2 * i, 2 * i + 1]])
            for method in covered:
                low, high = limits(pair, method, claim="these-questions")
                covered[method] += low <= true[2 * i] - true[2 * i + 1] <= high
        assert covered[None] > 0.93 * trials
        assert covered["t"] < covered[None]


def test_the_sampling_part_of_a_pseudo_question_by_hand():
    """Theory: s2/k are 1/4, 0, 0 and 0 of four cells with two generations or more; 1/k are 1/2, 1/3, 1/2 and 1/2."""
    cells = Cells.from_scores("b", ["a", "b"], ["1", "2", "3"], [[[1, 0], [1], [1, 1, 1]], [[0, 0], [1, 1], [0]]])
    added, df = pseudo_variance(cells, np.array([0]), np.array([1]))
    v = 1 / 2 * (11 / 6) / 4  # half a pseudo-question of two right answers in four
    assert added[0] == pytest.approx(v / 2 / 3**2)
    spread = 4 / 3 * (1 / 16 - 1 / 4 * 1 / 16)  # 4 times the variance of the four parts
    assert df[0] == pytest.approx(2 * (1 / 4 + v / 2) ** 2 / (spread + v**2 / 2))
    assert 2 < df[0] < 5  # neither the least nor the count of generations


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("offset", [0, 10_000])
def test_sizes_of_pseudo_questions_against_loops(missing, offset):
    """A slow version: sum d^4 / sum d^2, for more pairs than models, also of scores far from 0."""
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 4, (5, 12)) / 2 + offset
    scores[1] = scores[0]
    n = np.ones((5, 12), int)
    if missing:
        n[2, :3] = n[4, 5] = 0
    cells = cells_of(n, scores * n, scores**2 * n)
    a, b = np.triu_indices(5, 1)
    expected, squares = [], []
    for i, j in zip(a, b, strict=True):
        d = [scores[i, q] - scores[j, q] for q in range(12) if n[i, q] and n[j, q]]
        squares.append(sum(x**2 for x in d))
        expected.append(sum(x**4 for x in d) / squares[-1] if squares[-1] else 1.5**2)  # the range of the scores
    assert pseudo_sizes(cells, a, b, np.array(squares), np.full(10, 12)) == pytest.approx(expected, rel=1e-6)


def test_identical_fractional_scores_have_pseudo_questions_of_the_whole_range():
    half = cells_of(np.full((2, 3), 2), np.ones((2, 3)), np.full((2, 3), 0.5))  # two generations of 1/2 each
    assert pseudo_sizes(half, np.array([0]), np.array([1]), np.zeros(1), np.array([3])).tolist() == [1]


def aime_like(rng, N, k, shift):
    """Return the cells of two models that are equal in the mean on questions that go from never to always right."""
    p = special.expit(np.tile(rng.normal(0, 3, N), (2, 1)) + shift * rng.normal(0, 1, (2, N)))
    return cells_of(np.full((2, N), k), rng.binomial(k, p))


@pytest.mark.parametrize(("k", "shift", "widest"), [(10, 0.5, 1.25), (64, 0.3, 1.25), (64, 0, 3)])
def test_close_models_with_many_generations_are_not_charged_for_differences_of_1(k, shift, widest):
    """Guarantee by simulation, AIME's 30 questions: covered, and hardly wider than t; with c = 1/4 1.5 to 6 times as wide."""
    rng = np.random.default_rng([k, int(10 * shift)])
    trials, covered, widths = 400, 0, []
    for _ in range(trials):
        cells = aime_like(rng, 30, k, shift)
        low, high = limits(cells)
        covered += low <= 0 <= high
        widths.append((high - low) / np.subtract(*limits(cells, "t")[::-1]))
    assert covered > 0.935 * trials
    assert np.mean(widths) < widest


def test_the_count_in_the_size_is_a_quarter_over_the_generations_from_15_questions_on():
    """By hand: one question differs by 1/2, of 4 and 12 generations per question, whose harmonic mean is 6."""
    for N, k in ((14, 1), (15, 6)):
        n = np.repeat([[4], [12]], N, axis=1)
        total = np.zeros((2, N))
        total[0, 0] = 2
        c = 1 / (4 * k)
        expected = (1 / 16 + c) / (1 / 4 + c)
        size = pseudo_sizes(cells_of(n, total), np.array([0]), np.array([1]), np.array([1 / 4]), np.array([N]))
        assert size.tolist() == pytest.approx([expected])


def test_graded_scores_that_reach_both_ends_have_half_a_question_at_either_end_at_least():
    """A rare difference of 1 that was not seen; where no end is reached, a note says what the interval takes for granted."""
    y = np.random.default_rng(3).normal(0.85, 0.02, (2, 40, 1))
    narrow = one(graded_pair(y))
    assert RARE_DIFFERENCES in narrow.columns()["note"][0]
    y[:, 0], y[:, 1] = 0, 1
    reaching = one(graded_pair(y))
    assert reaching.pseudo_size.tolist() == [0.5]
    assert RARE_DIFFERENCES not in reaching.columns()["note"][0]
    assert np.diff(limits(graded_pair(y))) > np.diff(limits(graded_pair(y[:, 2:])))
    for how in ({"method": "t"}, {"claim": "these-questions"}):
        assert RARE_DIFFERENCES not in one(graded_pair(np.tile(y[:, 2:], (1, 1, 2))), **how).columns()["note"][0]


def test_graded_differences_that_collapse_are_covered_or_have_a_note():
    """Guarantee by simulation: 3 % of the answers of one model are 0, others 1 or .85; in 22 % of 50 questions none is."""
    rng, noted, covered, covered_by_t = np.random.default_rng(9), 0, 0, 0
    for _ in range(400):
        y = np.where(rng.random((2, 50)) < 0.5, 1, 0.85) * [np.ones(50), rng.random(50) > 0.03]
        found = one(graded_pair(y[..., None]))
        low, high = found.interval().low[0], found.interval().high[0]
        is_noted = RARE_DIFFERENCES in found.columns()["note"][0]
        noted += is_noted
        covered += not is_noted and low <= 0.03 * 0.925 <= high
        low, high = limits(found.cells, "t")
        covered_by_t += low <= 0.03 * 0.925 <= high
    assert noted == pytest.approx(0.97**50 * 400, abs=40)
    assert covered > 0.95 * (400 - noted)
    assert covered_by_t < 0.93 * 400


def graded_pair(y):
    """Return the cells of two models with graded scores of shape (2, N, k)."""
    questions = tuple(str(q) for q in range(y.shape[1]))
    sums = y.sum(axis=2), (y**2).sum(axis=2)
    spread = {"minimum": y.min(axis=2), "maximum": y.max(axis=2)}
    return Cells("b", ("m0", "m1"), questions, np.full(y.shape[:2], y.shape[2]), *sums, **spread)


def test_graded_scores_within_0_and_1_have_no_pseudo_question_of_right_and_wrong_answers():
    """A unit of measurement changes nothing: the interval of these questions scales with the scores, p stays."""
    y = 0.5 + 0.1 * np.random.default_rng(1).normal(size=(2, 20, 3)).clip(-2, 2)
    whole = one(graded_pair(10 * y), claim="these-questions").interval()
    for scale in (1, 0.5, 0.1):
        part = one(graded_pair(scale * y), claim="these-questions").interval()
        assert part.p_value[0] == pytest.approx(whole.p_value[0])
        assert (part.high[0] - part.low[0]) / scale == pytest.approx((whole.high[0] - whole.low[0]) / 10)


@pytest.mark.long
@pytest.mark.parametrize(("N", "k", "varying"), [(10, 3, 10), (20, 2, 20), (20, 3, 2), (100, 3, 3)])
def test_coverage_of_these_questions_with_graded_scores(N, k, varying):
    """Guarantee by simulation; the width is at most 1.2 times what the true variance needs, not 2 to 5 times."""
    rng = np.random.default_rng([N, k, varying])
    trials, covered, width = 400, 0, 0.0
    for _ in range(trials):
        true = rng.uniform(0.3, 0.7, (2, N))
        noise = rng.uniform(-0.2, 0.2, (2, N, k)) * (np.arange(N) < varying)[:, None]
        low, high = limits(graded_pair(true[..., None] + noise), claim="these-questions")
        covered += low <= true[0].mean() - true[1].mean() <= high
        width += (high - low) / trials
    assert covered > 0.92 * trials
    if varying == N:
        assert width < 1.2 * 2 * 1.96 * np.sqrt(2 * 0.4**2 / 12 / N / k)


@pytest.mark.parametrize(("equal", "largest"), [(0.37, True), (1.0, False)])
def test_equal_graded_scores_say_that_the_pseudo_questions_have_the_largest_difference(equal, largest):
    """Bonett and Price's adjustment by hand for 50 questions: t of infinite df times the root of 2 / (52 * 51)."""
    columns = one(graded_pair(np.full((2, 50, 1), equal))).columns()
    assert columns["high"][0] == pytest.approx(1.959964 * np.sqrt(2 / (52 * 51)), rel=1e-6)
    said = "which differ by 1, the most that scores from 0 to 1 can" in columns["note"][0]
    assert said == largest


@pytest.mark.parametrize(("first", "second"), [(0.5, 0.6), (0.3, 0.1), (0.7, 0.1)])
def test_equal_scores_that_are_no_binary_fractions_do_not_vary(first, second):
    """0.1 + 0.1 + 0.1 is not 0.3 in floating point, which is no spread of the generations."""
    y = np.broadcast_to(np.array([first, second])[:, None, None], (2, 10, 3))
    for claim in ("new-questions", "these-questions"):
        columns = one(graded_pair(y), claim=claim).columns()
        assert [columns[name][0] for name in ("se_total", "se_data", "se_prediction")] == [0, 0, 0]
        assert np.isnan(columns["detectable"][0])
        assert "lost" not in columns["note"][0]
        rests = "two pseudo-questions" if claim == "new-questions" else "half a pseudo-question"
        assert f"the interval rests on {rests}" in columns["note"][0]
