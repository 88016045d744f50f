"""Runs and `repeats`: theory, other programs, the slow oracle, guarantees by seeded simulation, what runs cannot say."""

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.strategies import score_grids
from hypothesis import given
from oracles import repeats as oracle
from scipy import stats

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import Cells
from howsure.stats.repeats.prediction_intervals import measure_widths, repeats
from howsure.stats.repeats.runs import align_runs, check_drift, summarize_runs
from howsure.stats.scores.prediction_noise import fill_within_variances, sampling_df, unvaried_half_width


def run_of(scores):
    """One run with one generation per question; `scores` of shape (M, N), NaN where it is missing."""
    scores = np.asarray(scores, float)
    asked = ~np.isnan(scores)
    total = np.where(asked, scores, 0)
    names = tuple(f"m{i:04}" for i in range(len(scores))), tuple(f"q{j:03}" for j in range(scores.shape[1]))
    return Cells("drawn", *names, asked.astype(int), total, total**2)


def drawn(rng, p, n):
    return [run_of(rng.random(p.shape) < p) for _ in range(n)]


def as_runs(questions):
    """Generation j of every question is run j; questions may have fewer."""
    n = max(map(len, questions))
    rows = [[row[j] if j < len(row) else math.nan for row in questions] for j in range(n)]
    return [run_of([row]) for row in rows]


RUNS = [[1, 0, 0, 0], [0, 1, 0, 1], [1, 1, 1, 0]]  # three runs on four questions
BY_HAND = [run_of([row]) for row in RUNS]


def test_pooled_and_published_by_hand():
    """Theory: run means 1/4, 1/2, 3/4; every s2_q = 1/3, so E/N = 1/12; s = 1/4; n = n' = 3."""
    pooled = repeats(BY_HAND)
    assert pooled.mean == pytest.approx(0.5)
    assert pooled.variance == pytest.approx(1 / 12 * (1 / 3 + 1 / 3))
    assert pooled.df == 8  # all variances equal: nothing but the count bounds it
    published = repeats(BY_HAND, method="run-means")
    half = stats.t.ppf(0.975, 2) * 0.25 * math.sqrt(2 / 3)
    assert published.interval().low == pytest.approx(max(0.5 - half, 0))
    assert repeats(BY_HAND, method="run-means", n_future=1).variance == pytest.approx(1 / 16 * (1 / 3 + 1))
    assert repeats(BY_HAND, n_future=math.inf).variance == pytest.approx(1 / 36)
    # (n-1) s^2/(E/N) = 2/16 * 12 = 3/2 against chi^2_2
    assert pooled.drift_p == pytest.approx(math.exp(-3 / 4))
    row = pooled.columns()
    assert (row["best"][0], row["worst"][0], row["sd"][0]) == pytest.approx((0.75, 0.25, 0.25))
    assert row["n_runs"][0] == row["n_future"][0] == 3
    for number, printed in ((2.0, "2"), (2.5, "2.5"), (math.inf, "inf")):
        assert str(repeats(BY_HAND, n_future=number).columns()["n_future"][0]) == printed
    assert row["method"][0] == "pooled"


def test_the_published_interval_is_the_code_printed_in_the_paper():
    """Another program's output: PI appendix B, on 30 simulated runs."""
    rng = np.random.default_rng(1)
    runs = drawn(rng, rng.beta(0.6, 0.4, (1, 100)), 30)
    samples = [float(run.mean.mean()) for run in runs]
    n = len(samples)
    margin = stats.t.ppf(0.975, df=n - 1) * np.std(samples, ddof=1) * np.sqrt(2 / n)
    between = repeats(runs, method="run-means").interval()
    assert between.low[0] == pytest.approx(np.mean(samples) - margin, rel=1e-12)
    assert between.high[0] == pytest.approx(np.mean(samples) + margin, rel=1e-12)


@pytest.mark.long
@given(score_grids(max_models=1, missing=False, ragged=False))
def test_complete_runs_against_the_oracle(grid):
    """A slow version by somebody else."""
    questions = grid[0]
    ours = repeats(as_runs(questions), alpha=0)
    theirs = [float(x) for x in oracle.run_means(questions)]
    assert ours.runs.mean[:, 0] == pytest.approx(theirs)
    published = repeats(as_runs(questions), method="run-means")
    low, high = oracle.prediction_interval(theirs, 0.9)
    quantile = stats.t.ppf(0.95, max(len(theirs) - 1, 1))
    if len(theirs) > 1:
        assert published.variance[0] == pytest.approx(((high - low) / 2 / quantile) ** 2, rel=1e-6, abs=1e-12)
    else:
        assert math.isnan(published.variance[0])
    low, high = oracle.pooled_interval(questions, 0.9)
    count = sum(len(row) - 1 for row in questions)
    if count and len(theirs) > 1:
        half = stats.t.ppf(0.95, count) * math.sqrt(ours.variance[0])
        assert half == pytest.approx((high - low) / 2, rel=1e-6, abs=1e-6)
        assert ours.df[0] <= count
    # one question that varies has the same statistic in any order of its generations: that is no test
    is_tested = sum(len(set(row)) > 1 for row in questions) != 1
    expected = oracle.drift(questions)["p_value"] if is_tested else math.nan
    assert ours.drift_p[0] == pytest.approx(expected, nan_ok=True, rel=1e-6, abs=1e-12)


@given(score_grids(max_models=1, ragged=True, missing=True))
def test_unequal_counts_against_the_oracle(grid):
    """A slow version: pooled prediction of one future run with one generation per question."""
    questions = grid[0]
    ours = repeats(as_runs(questions), alpha=0, n_future=1)
    low, high = oracle.pooled_interval(questions, 0.9, 1)
    if math.isnan(low):
        assert ours.method[0] == "run-means" or math.isnan(ours.variance[0])
        return
    assert ours.mean[0] == pytest.approx((low + high) / 2, rel=1e-9, abs=1e-9)
    half = stats.t.ppf(0.95, sum(max(len(row) - 1, 0) for row in questions)) * math.sqrt(ours.variance[0])
    assert half == pytest.approx((high - low) / 2, rel=1e-6, abs=1e-6)


def test_drift_of_complete_binary_runs_is_cochrans_q():
    """Theory: Cochran (1950), Q = k(k-1) sum (T_j - mean)^2 / sum L_i (k - L_i), written out."""
    rng = np.random.default_rng(2)
    scores = (rng.random((5, 60)) < rng.beta(1, 1, 60)).astype(int)
    T, L, k = scores.sum(axis=1), scores.sum(axis=0), 5
    Q = k * (k - 1) * np.sum((T - T.mean()) ** 2) / np.sum(L * (k - L))
    upper, lower = check_drift([run_of([row]) for row in scores], 0)
    assert upper == pytest.approx(stats.chi2.sf(Q, k - 1), rel=1e-9)
    assert stats.chi2.cdf(Q, k - 1) < lower < 1


def test_one_question_that_varies_shows_no_drift():
    """By hand: whichever of three runs has the one right answer, Cochran's Q is 2; two questions have several values."""
    for runs in ([[0], [1], [0]], [[0, 1], [1, 1], [0, 1]], [[0.2], [0.7], [0.9]]):
        result = repeats([run_of([run]) for run in runs])
        assert np.isnan(result.drift_p[0])
        assert "drift between runs cannot be tested on these questions" in result.columns()["note"][0]
    two = repeats([run_of([run]) for run in ([0, 1], [1, 1], [0, 0])])
    assert 0 < two.drift_p[0] < 1
    assert "drift between runs" not in two.columns()["note"][0]
    several = [Cells.from_scores("b", ["a"], ["q"], [[scores]]) for scores in ([1, 1, 0], [0, 0, 1])]
    assert 0 < check_drift(align_runs(several)[1], 0)[0] < 1


@pytest.mark.long
def test_drift_of_unequal_runs_has_the_moments_of_a_shuffle():
    """A slow version: 20,000 shuffles of each question's generations among the places that it has."""
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 4, (3, 25))
    p = rng.beta(1, 1, 25)
    scores = [rng.binomial(1, p[q], counts[:, q].sum()).astype(float) for q in range(25)]

    def runs_of(shuffled):
        split = [np.split(s, np.cumsum(counts[:, q])[:-1]) for q, s in enumerate(shuffled)]
        total = np.array([[split[q][r].sum() for q in range(25)] for r in range(3)])
        return [Cells("b", ("m",), tuple(map(str, range(25))), counts[[r]], total[[r]], total[[r]]) for r in range(3)]

    statistics = [
        stats.chi2.isf(check_drift(runs_of([rng.permutation(s) for s in scores]), 0)[0], 2) for _ in range(1500)
    ]
    assert np.mean(statistics) == pytest.approx(2, abs=4 * 2 / math.sqrt(1500))
    assert np.mean(np.array(statistics) > stats.chi2.isf(0.1, 2)) == pytest.approx(0.1, abs=0.03)


@pytest.mark.long
@pytest.mark.parametrize(("n", "ratio", "slack"), [(2, 5.2, 0.25), (3, 1.9, 0.1), (5, 1.3, 0.05)])
def test_pooled_intervals_cover_and_are_as_much_narrower_as_was_measured(n, ratio, slack):
    """Guarantee, and a table of the design: Beta(.6, .4), N = 100; 1,500 models."""
    rng = np.random.default_rng(n)
    p = rng.beta(0.6, 0.4, (1500, 100))
    runs = drawn(rng, p, n)
    future = np.mean([run.mean.mean(axis=1) for run in drawn(rng, p, n)], axis=0)
    pooled, published = repeats(runs, alpha=0), repeats(runs, method="run-means")
    half = {r: stats.t.ppf(0.975, r.df) * np.sqrt(r.variance) for r in (pooled, published)}  # not cut at 0 and 1
    assert np.mean(half[published]) / np.mean(half[pooled]) == pytest.approx(ratio, abs=slack)
    monte_carlo = 3.3 * math.sqrt(0.95 * 0.05 / 1500)
    covered = {r: np.mean(np.abs(r.mean - future) <= half[r] + 1e-12) for r in (pooled, published)}
    assert covered[pooled] == pytest.approx(0.95, abs=monte_carlo)
    # Two runs have the same mean 8 % of the time: the published interval has no width then.
    assert covered[published] == pytest.approx(0.92 if n == 2 else 0.95, abs=monte_carlo)
    # The default, with its fallback, keeps it too; the drift test has its size.
    default = repeats(runs)
    assert np.mean(default.drift_p < 0.05) == pytest.approx(0.05, abs=monte_carlo)
    # 1,500 models count as one family: at most one is expected to fall back, in one of 20 such tables
    assert np.sum(default.method == "run-means") <= 1
    assert np.mean(default.alike_p < 0.05) < 0.05 + monte_carlo


def test_few_questions_that_vary_do_not_break_the_interval():
    """Guarantee: 96 sure questions and 4 coins, 3 runs: the plain count of freedom covers too little, ours does not."""
    rng = np.random.default_rng(4)
    p = np.tile(np.r_[np.full(4, 0.5), np.ones(96)], (2000, 1))
    runs = drawn(rng, p, 3)
    result = repeats(runs, alpha=0, n_future=math.inf)
    seen = result.variance > 0
    miss = np.abs(result.mean - 0.98)[seen] / np.sqrt(result.variance[seen])
    assert np.mean(miss <= stats.t.ppf(0.975, 200)) < 0.93
    assert np.mean(miss <= stats.t.ppf(0.975, result.df[seen])) > 0.94


@pytest.mark.long
def test_of_several_models_without_drift_none_gets_the_wide_interval_in_95_percent_of_tables():
    """Guarantee by simulation: 600 tables of 4 models x 50 questions x 3 runs; scipy's Q of each alone rejects in 18 %."""
    rng = np.random.default_rng(44)
    wide, alike, alone = 0, 0, 0
    for _ in range(600):
        p = 1 / (1 + np.exp(rng.normal(0, 1.5, 50) - np.array([[1.2], [1.0], [0.4], [-0.3]])))
        runs = drawn(rng, p, 3)
        result = repeats(runs, n_future=1)
        wide += np.any(result.method == "run-means")
        alike += any("agree more" in note for note in result.reasons)
        sums = np.array([run.total for run in runs])
        R, G = sums.sum(axis=0), sums.sum(axis=2)
        Q = 2 * (3 * (G**2).sum(axis=0) - G.sum(axis=0) ** 2) / (3 * R.sum(axis=1) - (R**2).sum(axis=1))
        alone += np.any(stats.chi2.sf(Q, 2) < 0.05)
    assert alone / 600 > 0.14
    assert wide / 600 <= 0.06
    assert alike / 600 <= 0.06


def test_drift_of_one_model_of_several_falls_back_for_that_model_only():
    rng = np.random.default_rng(45)
    p = rng.uniform(0.3, 0.7, (4, 200))
    later = np.where(np.arange(4)[:, None] == 2, p - 0.25, p)
    result = repeats(drawn(rng, p, 3) + drawn(rng, later, 3))
    assert result.method.tolist() == ["pooled", "pooled", "run-means", "pooled"]


def test_drift_is_found_and_falls_back_to_run_means():
    rng = np.random.default_rng(5)
    p = rng.uniform(0.3, 0.7, (1, 200))
    runs = drawn(rng, p, 3) + drawn(rng, p - 0.25, 3)  # an endpoint that changed mid-way
    result = repeats(runs)
    assert result.drift_p[0] < 1e-3
    assert result.method[0] == "run-means"
    assert "something may have changed: the interval is from run means" in result.columns()["note"][0]
    kept = repeats(runs, alpha=0)
    assert kept.method[0] == "pooled"
    assert kept.variance[0] < result.variance[0]
    assert "holds if runs vary at random" in repeats(runs, method="run-means").columns()["note"][0]


def test_runs_that_agree_too_well_are_told():
    alternating = [run_of([[1, 0] * 30]), run_of([[0, 1] * 30]), run_of([[1, 0] * 30]), run_of([[0, 1] * 30])]
    result = repeats(alternating)
    assert result.alike_p[0] < 0.05
    assert "agree more than independent" in result.columns()["note"][0]
    assert "copies are not runs" in result.columns()["note"][0]
    rng = np.random.default_rng(6)
    honest = repeats(drawn(rng, np.full((1, 60), 0.5), 4)).columns()["note"][0]
    assert honest == ""
    # A few sure questions agree by chance; that is no copy.
    assert "copies" not in repeats(as_runs([[1, 1, 1], [1, 1, 0], [0, 0, 0]])).columns()["note"][0]


@pytest.mark.parametrize(("step", "wavering"), [(1, 0.3), (0.25, 0.1), (0.25, 0.3), (1 / 3, 0.2), (20, 0.2)])
def test_two_independent_runs_seldom_agree_too_well(step, wavering):
    """Guarantee: scores on any lattice, most questions never vary: at most 5 % are said to agree too much."""
    rng = np.random.default_rng(3)
    base = rng.integers(0, 4, (1000, 100))
    waver = rng.random((1000, 100)) < wavering
    runs = [run_of(step * (base + (waver & (rng.random(base.shape) < 0.5)))) for _ in range(2)]
    assert np.mean(repeats(runs).alike_p < 0.05) < 0.05


def test_swapping_runs_changes_nothing_and_parts_add_up():
    rng = np.random.default_rng(7)
    runs = drawn(rng, rng.beta(1, 1, (2, 30)), 4)
    one, other = repeats(runs).columns(), repeats(runs[::-1]).columns()
    for name, values in one.items():
        assert values.tolist() == pytest.approx(other[name].tolist()) if values.dtype != object else True, name


def test_runs_with_other_names_models_and_questions():
    first = Cells.from_scores("b", ["x", "y"], ["1", "2", "3"], [[[1], [0], [1]], [[1], [1], [1]]])
    second = Cells.from_scores("b", ["x"], ["4", "3", "1"], [[[0], [1], [0]]])
    result = repeats([first, second], names=["mon", "tue"], alpha=0)
    assert result.models == ("x", "y")
    assert result.n_runs.tolist() == [2, 1]
    columns = result.runs.columns()
    assert columns["run"].tolist() == ["mon", "tue", "mon"]
    assert columns["mean"] == pytest.approx([2 / 3, 1 / 3, 1])
    assert columns["n_questions"].tolist() == [3, 3, 3]
    assert columns["sd"][0] == pytest.approx(math.sqrt(1 / 3))
    notes = result.columns()["note"]
    assert "some runs lack questions" in notes[0]
    assert "prediction noise is unknown" in notes[1]
    assert result.mean[0] == pytest.approx((0.5 + 0 + 1 + 0) / 4)  # over all four questions
    # s2 = 1/2 (question 1) and 0 (question 3), E = 1/4 for the two that were asked once
    assert result.variance[0] == pytest.approx((0.5 / 2 + 0.25 + 0 + 0.25) / 16 + (0.5 + 0.25 + 0 + 0.25) / 2 / 16)
    whole, each = align_runs([first, second])
    assert sum(run.n for run in each).tolist() == whole.n.tolist()


def test_runs_of_the_same_names_are_as_they_were():
    """By hand: runs that lack nothing keep the scores of their single generations; others are extended."""
    full, other = (Cells.from_scores("b", ["x"], ["1", "2"], [[[s, 1], [0]]]) for s in (0, 1))
    part = full.select(questions=["1"])
    assert all(one is given for one, given in zip(align_runs([full, other])[1], [full, other], strict=True))
    extended = align_runs([full, part])[1]
    assert extended[0] is full
    assert extended[1].n.tolist() == [[2, 0]]


def test_runs_have_their_days():
    runs = [run_of([[1, 0]]), run_of([[1, 1]])]
    runs[0] = replace(runs[0], days={"m0000": "2026-01-02"})
    assert summarize_runs(runs).columns()["day"].tolist() == ["2026-01-02", ""]


def test_several_generations_in_a_run():
    runs = [Cells.from_scores("b", ["a"], ["1", "2"], [[[1, 0], [1, 1]]]) for _ in range(2)]
    result = repeats(runs)
    # s2 = 1/3 and 0 of 4 generations; a future run asks each twice
    assert result.variance[0] == pytest.approx(1 / 3 / 4 / 4 + 1 / 3 / 2 / 4 / 2)
    single = repeats(runs[:1])
    assert single.method[0] == "pooled"
    assert single.n_future[0] == 2  # two generations that no number tells apart are two runs
    assert single.variance[0] == pytest.approx(0.5 * (1 / 2 + 1 / 2) / 4)
    assert math.isnan(single.drift_p[0])
    assert math.isnan(single.columns()["sd"][0])


def test_runs_that_no_number_tells_apart_have_the_interval_of_numbered_ones():
    """Another way to the same: six runs, and their generations in one; a question was asked in four runs only."""
    rng = np.random.default_rng(12)
    scores = (rng.random((6, 25)) < rng.beta(1, 1, 25)).astype(float)
    scores[4:, 0] = math.nan
    numbered = [run_of([row]) for row in scores]
    pooled = Cells.from_scores(
        "drawn", ["m0000"], numbered[0].questions, [[[x for x in column if x >= 0] for column in scores.T.tolist()]]
    )
    for n_future in (None, 1, math.inf):
        apart, together = (repeats(runs, n_future=n_future, alpha=0).columns() for runs in (numbered, [pooled]))
        for name in ("n_runs", "n_future", "mean", "low", "high", "gap"):
            assert together[name][0] == pytest.approx(apart[name][0]), name
    for name in ("sd", "best", "worst", "drift_p"):
        assert math.isnan(together[name][0]), name
    assert "which generations are of one run is unknown" in together["note"][0]
    assert "which generations" not in apart["note"][0]
    assert math.isnan(repeats([pooled], method="run-means").columns()["low"][0])
    with pytest.raises(InputError, match=r"drawn: which generations are of one run is unknown; number .* generation="):
        measure_widths([pooled])
    with pytest.raises(InputError, match="1 run; give two"):
        measure_widths(numbered[:1])


def test_one_run_in_several_prompts_is_one_run():
    """By hand: two prompts, one generation in each; with four generations of a question there are two such runs."""
    one = replace(Cells.from_scores("b", ["a"], ["1", "2"], [[[1, 0], [1, 1]]]), variants=("v", "w"))
    assert repeats([one]).columns()["n_runs"].tolist() == [1]
    two = replace(Cells.from_scores("b", ["a"], ["1", "2"], [[[1, 0, 1, 0], [1, 1, 1, 0]]]), variants=("v", "w"))
    result = repeats([two], n_future=1)
    assert result.n_runs.tolist() == [2]
    assert result.variance[0] == pytest.approx((1 / 3 + 1 / 4) * (1 / 4 + 1 / 2) / 4)
    # a third generation of a question begins a second run
    three = replace(Cells.from_scores("b", ["a"], ["1", "2"], [[[1, 0, 1], [1, 1]]]), variants=("v", "w"))
    begun = repeats([three])
    assert (begun.n_runs.tolist(), begun.n_future.tolist()) == ([2], [2])
    assert begun.variance[0] == pytest.approx(1 / 3 * (1 / 3 + 1 / 2 / 2) / 4)


def test_what_runs_cannot_say():
    one = repeats([BY_HAND[0]]).columns()
    assert math.isnan(one["low"][0])
    assert "prediction noise is unknown" in one["note"][0]
    assert "one run: the spread" in repeats([BY_HAND[0]], method="run-means").columns()["note"][0]
    apart = repeats([run_of([[1, 0, math.nan, math.nan]]), run_of([[math.nan, math.nan, 1, 1]])])
    assert apart.method[0] == "run-means"
    assert "no question was answered twice" in apart.columns()["note"][0]
    assert (
        "their means differ"
        in repeats([run_of([[1, 0, math.nan]]), run_of([[1, 0, 1]])], method="run-means").columns()["note"][0]
    )
    same = repeats([run_of([[1, 0, 1]])] * 3, method="run-means").columns()
    assert math.isnan(same["low"][0])
    assert math.isnan(same["drift_p"][0])
    assert "no variation was seen: no interval" in same["note"][0]
    thirds = [Cells.from_scores("b", ["a"], ["1", "2", "3"], [[[0.3], [0.5], [1]]])] * 3
    partial = repeats(thirds).columns()  # how far such a score may move is not known; 0.3 three times is no spread
    assert math.isnan(partial["low"][0])
    assert "no variation was seen: no interval" in partial["note"][0]
    nothing = repeats([run_of([[1, 0], [math.nan, math.nan]])] * 2)
    assert "no scores" in nothing.columns()["note"][1]
    assert math.isnan(nothing.columns()["best"][1])


def test_runs_that_did_not_vary_have_an_interval():
    """Theory by hand: two runs alike, two to come; 1/2^5 <= .05 < 1/2^4, so 4 of the 2 x 4 future ones may differ."""
    row = repeats([run_of([[1, 0, 1, 1]])] * 2).columns()
    assert (row["method"][0], row["low"][0], row["high"][0]) == ("poisson", 0.25, 1.0)
    assert "from how many generations may differ" in row["note"][0]
    one = repeats([run_of([[0] * 40])] * 2, n_future=1).columns()  # 1/3^3 <= .05 < 1/3^2
    assert (one["low"][0], one["high"][0]) == (0, pytest.approx(2 / 40))
    expected = repeats([run_of([[0] * 40])] * 2, n_future=math.inf)
    assert expected.columns()["high"][0] == pytest.approx(-math.log(0.05) / 2 / 40)  # the rule of three
    assert expected.interval(0.9).high[0] == pytest.approx(-math.log(0.1) / 2 / 40)
    several = repeats([Cells.from_scores("b", ["a"], ["1", "2"], [[[1, 1], [0, 0]]])] * 2, n_future=1)
    assert (several.n_past[0], several.n_predicted[0]) == (4, 2)
    varied = repeats([run_of([[1, 0, 1], [1, 0, 1]]), run_of([[1, 0, 1], [1, 1, 1]])]).columns()
    assert varied["method"].tolist() == ["poisson", "pooled"]
    thirds = Cells.from_scores("b", ["half", "same", "one"], ["1", "2"], [[[0.5], [1]], [[1], [0]], [[1], [1]]])
    moved = Cells.from_scores("b", ["half", "same", "one"], ["1", "2"], [[[0.5], [1]], [[1], [0]], [[1], [0]]])
    # Where there is an interval, it is not one of no width.
    assert repeats([thirds, moved]).interval().flat.tolist() == [True, False, False]


@pytest.mark.parametrize("past", [2, 3, 5, 10])
@pytest.mark.parametrize("future", [1, 2, 5, 10, 1000])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_nothing_varied_and_yet_many_differ_has_the_stated_chance(past, future, level):
    """Theory: exact binomial probabilities, 30 questions that all answer otherwise with probability p."""
    p = np.geomspace(1e-5, 0.5, 400)
    half = unvaried_half_width(np.array(past), np.array(future), level)
    missed = (1 - p) ** (30 * past) * stats.binom.sf(np.rint(half * future), 30 * future, p)
    assert missed.max() <= 1 - level
    one_less = (1 - p) ** (30 * past) * stats.binom.sf(np.rint(half * future) - 2, 30 * future, p)
    assert half == 0 or one_less.max() > 0.25 * (1 - level)  # not much wider than it has to be


def test_future_runs_are_covered_where_two_runs_hardly_ever_vary():
    """Simulation: 30 questions, of which three answer otherwise now and then; half of the pairs of runs are alike."""
    rng = np.random.default_rng(5)
    p = np.array([0.02, 0.1, 0.85, *([0.0] * 20), *([1.0] * 7)])
    draws = [(rng.random((600, 30)) < p).astype(float) for _ in range(3)]
    result = repeats([run_of(draws[0]), run_of(draws[1])], n_future=1, alpha=0)
    between, unvaried = result.interval(), result.method == "poisson"
    assert 0.4 < unvaried.mean() < 0.7
    covered = (between.low - 1e-9 <= draws[2].mean(axis=1)) & (draws[2].mean(axis=1) <= between.high + 1e-9)
    assert covered.mean() > 0.93
    assert covered[unvaried].mean() > 0.93


def test_prompt_variants_are_told():
    runs = [Cells("b", ("a",), ("1",), np.array([[2]]), np.array([[1.0]]), np.array([[1.0]]), variants=("x", "y"))] * 2
    assert "pooled over 2 prompt variants" in repeats(runs).columns()["note"][0]
    one = [Cells("b", ("a",), ("1",), np.array([[2]]), np.array([[1.0]]), np.array([[1.0]]), variants=("x",))] * 2
    assert "prompt variant" not in repeats(one).columns()["note"][0]
    ones = np.ones((3, 1))
    own = {"a": frozenset("xyz"), "b": frozenset("xy"), "c": frozenset("x")}
    some = Cells("b", tuple("abc"), ("1",), 2 * ones.astype(int), ones, ones, variants=("x", "y", "z"), variants_of=own)
    three, two, none = repeats([some] * 2).columns()["note"].tolist()  # by hand: the variants of each model
    assert "pooled over 3 prompt variants" in three
    assert "pooled over 2 prompt variants" in two
    assert "prompt variants" not in none


def test_table_and_frame():
    frame = repeats(BY_HAND).to_frame()
    assert list(frame.columns) == [
        "benchmark", "model", "n_runs", "mean", "sd", "best", "worst", "low", "high", "n_future", "method", "drift_p", "gap",
        "fell_since", "alarm", "level", "claim", "note",
    ]  # fmt: skip
    assert "1  0.25  0.50" in str(repeats(BY_HAND).runs)  # 1 of 4 right: the mean and the sd


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"method": "mean"}, "unknown method 'mean'; did you mean 'run-means'"),
        ({"n_future": 0}, "n_future is 0; allowed: 1 or more"),
        ({"n_future": math.nan}, "n_future is nan"),
        ({"alpha": 1}, "alpha is 1; allowed: from 0 to below 1"),
        ({"names": ["a"]}, "names: 1 names for 3 runs"),
    ],
)
def test_wrong_use(wrong, message):
    with pytest.raises((InputError, UnknownNameError), match=message):
        repeats(BY_HAND, **wrong)


def test_no_runs_and_runs_of_two_benchmarks():
    with pytest.raises(InputError, match="no runs; give one Cells for each run"):
        repeats([])
    other = Cells.from_scores("other", ["m0000"], ["q000"], [[[1]]])
    with pytest.raises(InputError, match="'drawn' and 'other' do not add up"):
        repeats([BY_HAND[0], other])


def test_freedom_is_the_count_for_equal_parts_and_less_for_few():
    """Theory: 2 S^2/V; k = 2 for 10 questions of which 2 varied by s2 = 1/2: V = 10/9 (2 * .4^2 + 8 * .1^2)."""
    parts = np.array([[0.5] * 10, [0.5] * 2 + [0.0] * 8, [0.0] * 10])
    k = np.full(parts.shape, 2)
    assert sampling_df(parts, k) == pytest.approx([10, 2 / (10 / 9 * 0.4), 10])
    assert sampling_df(parts[:, :1], k[:, :1]).tolist() == [1, 1, 1]


def test_variances_fill_single_generations_with_the_mean_of_the_others():
    cells = Cells.from_scores("b", ["a"], ["1", "2", "3"], [[[1, 0], [1, 1], [1]]])
    assert fill_within_variances(cells, cells.answered).tolist() == [[0.5, 0.0, 0.25]]


def test_run_means_of_a_thousand_models_at_once():
    rng = np.random.default_rng(8)
    told = summarize_runs(drawn(rng, rng.random((1000, 20)), 3))
    assert told.n_runs.tolist() == [3] * 1000
    assert told.center == pytest.approx(told.mean.mean(axis=0))
    assert told.sd_of_means == pytest.approx(told.mean.std(axis=0, ddof=1))


def test_widths_by_the_number_of_runs():
    """PI eq. 3 by numpy alone: x ± t s sqrt(2/n) of the first n run means, for n = 2 to 6."""
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 2, (6, 2, 20))
    each = [
        Cells.from_scores("demo", ["a", "b"], [f"q{i}" for i in range(20)], run[:, :, None].tolist()) for run in scores
    ]
    table = measure_widths(each, method="run-means", goal=0.35).to_frame().set_index(["model", "n_runs"])
    assert len(table) == 10
    for m, model in enumerate("ab"):
        for n in range(2, 7):
            means = scores[:n, m].mean(axis=1)
            half = stats.t.ppf(0.975, n - 1) * means.std(ddof=1) * np.sqrt(2 / n)
            low, high = max(means.mean() - half, 0), min(means.mean() + half, 1)
            row = table.loc[(model, n)]
            assert row["width"] == pytest.approx(high - low)
            assert row["is_narrow"] == int(high - low < 0.35)
    with pytest.raises(InputError, match="1 run"):
        measure_widths(each[:1])


def test_two_runs_have_one_width():
    """Theory: `BY_HAND`'s first two runs have s2 = 1/2, 1/2, 0 and 1/2, so that (1/2 + 1/2) sum s2 / 16 = 3/32."""
    table = measure_widths(BY_HAND[:2])
    assert table["n_runs"].tolist() == [2]
    half = stats.t.ppf(0.975, repeats(BY_HAND[:2]).df[0]) * math.sqrt(3 / 32)
    assert table["width"][0] == pytest.approx(min(3 / 8 + half, 1) - max(3 / 8 - half, 0))
