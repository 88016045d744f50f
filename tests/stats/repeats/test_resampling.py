"""The gap of single runs and convergence with k: scipy, enumeration, theory."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import Cells
from howsure.stats.repeats.resampling import _sum_probabilities, convergence, run_gap
from howsure.stats.scores.score import score


def counted(correct, n):
    total = np.asarray(correct, float)
    names = (tuple(f"{letter}{i}" for i in range(size)) for letter, size in zip("mq", total.shape, strict=True))
    return Cells("counted", *names, np.broadcast_to(np.asarray(n), total.shape).copy(), total, total)


def test_the_law_of_a_run_is_the_convolution():
    """Theory: the sum of independent trials, one after the other."""
    p, weight = np.array([0.0, 0.5, 1.0, 0.123]), np.array([2, 3, 1, 4])
    law = np.ones(1)
    for each in np.repeat(p, weight):
        law = np.convolve(law, [1 - each, each])
    np.testing.assert_allclose(_sum_probabilities(p, weight.astype(float)), law, atol=1e-14)


def test_the_normal_gap_is_scipys_studentized_range():
    """Another program: the range of R normals is the studentized range with known sd."""
    cells = counted([[1, 2, 0, 3]], 4)
    sd = math.sqrt(score(cells).prediction[0] / 4)
    found = run_gap(cells, runs=5)
    law = stats.studentized_range(5, np.inf)
    assert found.low[0] == pytest.approx(law.ppf(0.025) * sd, rel=1e-4)
    assert found.high[0] == pytest.approx(law.ppf(0.975) * sd, rel=1e-4)
    assert found.gap[0] == pytest.approx(2.32593 * sd, rel=1e-5)  # printed table: d2 of control charts, 5 runs


def test_the_gap_is_that_of_fresh_runs():
    """Guarantee by simulation: 200 questions, 8 generations, gap of 10 fresh runs; drawing again shrinks it by sqrt(7/8)."""
    rng = np.random.default_rng(1)
    p = rng.beta(0.8, 0.8, 200)
    fresh = np.mean([np.ptp(rng.binomial(1, p, (10, 200)).mean(axis=1)) for _ in range(1500)])
    cells = counted(rng.binomial(8, p, (40, 200)), 8)
    assert run_gap(cells).gap.mean() == pytest.approx(fresh, rel=0.03)
    again = run_gap(cells, method="resample", rng=2)
    assert again.gap.mean() == pytest.approx(fresh * math.sqrt(7 / 8), rel=0.03)
    assert np.all((again.low < again.gap) & (again.gap < again.high))
    assert run_gap(cells, method="resample", rng=2).gap.tolist() == again.gap.tolist()


def test_gaps_say_what_is_unknown_or_wrong():
    single = counted([[1, 0]], 1)
    for method in ("normal", "resample"):
        assert "nothing to draw from" in run_gap(single, method=method).columns()["note"][0]
    with pytest.raises(InputError, match="runs is 1; allowed: 2 or more"):
        run_gap(single, runs=1)
    with pytest.raises(UnknownNameError, match="unknown method 'bootstrap'"):
        run_gap(single, method="bootstrap")
    with pytest.raises(InputError, match="level is 1"):
        run_gap(single, level=1)
    with pytest.raises(InputError, match="trials is 0"):
        run_gap(single, trials=0)
    with pytest.raises(InputError, match="needs scores of 0 and 1"):
        run_gap(Cells.from_scores("b", ["a"], ["1"], [[[0.5, 1]]]), method="resample")


def test_convergence_is_that_of_fresh_runs():
    """Guarantee by simulation: errors and spread from n = 2, 3 and 5 generations; drawn again they are too small."""
    rng = np.random.default_rng(5)
    M, N, k = 300, 60, (1, 4, 20)
    p = rng.beta(0.7, 0.9, N)
    truth = [math.sqrt(np.mean(p * (1 - p)) / each / N) for each in k]
    for n in (2, 3, 5):
        cells = counted(rng.binomial(n, np.broadcast_to(p, (M, N))), n)
        found = convergence(cells, k, claim="these-questions")
        assert np.sqrt(np.mean(found.se**2, axis=0)) == pytest.approx(truth, rel=0.02)
        # a score here is far from 0 and 1: the range is not cut
        assert np.mean(found.high - found.low, axis=0) == pytest.approx([2 * 1.96 * each for each in truth], rel=0.03)
        # fresh questions: each model has its own
        q = rng.beta(0.7, 0.9, (M, N))
        fresh = convergence(counted(rng.binomial(n, q), n), k)
        of_new = [math.sqrt((0.63 / 1.6**2 / 2.6 + 0.63 / 1.6 / 2.6 / each) / N) for each in k]
        assert np.sqrt(np.mean(fresh.se**2, axis=0)) == pytest.approx(of_new, rel=0.03)
        again = convergence(cells.select(cells.models[:20]), k, claim="these-questions", method="resampled", trials=200)
        assert np.mean(again.high - again.low, axis=0)[1:] == pytest.approx(
            [2 * 1.96 * math.sqrt((n - 1) / n) * each for each in truth[1:]], rel=0.1
        )


def test_convergence_ends_where_score_is():
    """With as many generations as there are, error and interval are those of `score` (wilson-effective)."""
    cells = counted([[1, 2, 0, 3, 4], [4, 4, 4, 0, 1]], 4)
    for claim in ("new-questions", "these-questions"):
        expected = score(cells, claim=claim, method="wilson-effective")
        found = convergence(cells, (1, 4), claim=claim)
        assert found.se[:, 1] == pytest.approx(np.sqrt(expected.variance))
        assert found.width[:, 1] == pytest.approx(expected.interval().high - expected.interval().low)


def test_data_noise_is_most_of_the_error_only_where_that_is_sure():
    rng = np.random.default_rng(6)
    alike = convergence(counted(rng.binomial(2, 0.5, (200, 100)), 2), (1, 2))
    assert not np.any([alike.mostly_data(model, k) for model in alike.models for k in (1, 2)])
    differ = convergence(counted(rng.binomial(10, rng.beta(0.2, 0.2, (50, 100))), 10), (1, 10))
    assert np.all([differ.mostly_data(model, 10) for model in differ.models])
    # theory: the standard deviation of D over samples
    drawn = convergence(counted(rng.binomial(3, rng.beta(1, 1, (500, 80))), 3), (1,))
    assert np.mean(drawn.data_error) == pytest.approx(np.std(drawn.data), rel=0.1)


def test_convergence_by_drawing_has_the_moments_of_drawing_with_replacement():
    """Theory: mean p, variance mean p(1-p)/(kN) of scores; E of the squared error of either claim."""
    cells = counted(np.tile([[0, 1, 4, 9, 10]], (1, 8)), 10)
    p, N = cells.mean[0], 40
    found = convergence(cells, (1, 2, 5, 20), method="resampled", trials=4000, rng=3)
    for j, k in enumerate((1, 2, 5, 20)):
        sd = math.sqrt(np.sum(p * (1 - p)) / k) / N
        assert found.score[0, j] == pytest.approx(p.mean(), abs=4 * sd / math.sqrt(4000))
        half = (found.high[0, j] - found.low[0, j]) / 2
        assert half == pytest.approx(1.96 * sd, abs=0.6 / (k * N) + 0.05 * sd)  # a score is a multiple of 1/(kN)
        variance = (np.var(p) + np.mean(p * (1 - p)) / k) / N  # of a new-questions interval
        assert found.se[0, j] == pytest.approx(math.sqrt(variance), rel=0.03)
    these = convergence(cells, (1, 2, 10), claim="these-questions", method="resampled", trials=2000)
    assert np.isnan(these.se[0, 0])
    assert these.se[0, 2] == pytest.approx(math.sqrt(np.mean(p * (1 - p)) / 10 / N), rel=0.03)
    assert these.columns()["all_score"][0] == pytest.approx(p.mean())


def test_scores_that_are_not_0_and_1_converge_too():
    rng = np.random.default_rng(4)
    cells = Cells.from_scores("b", ["a"], [str(q) for q in range(30)], [rng.normal(3, 1, (30, 6)).tolist()])
    for method in ("unbiased", "resampled"):
        found = convergence(cells, (2, 8), claim="these-questions", method=method, trials=1500)
        assert found.score[0] == pytest.approx([cells.mean.mean()] * 2, abs=0.02)
        assert found.se[0, 1] == pytest.approx(math.sqrt(cells.within.mean() / 8 / 30))
        assert (found.high - found.low)[0, 0] == pytest.approx(2 * (found.high - found.low)[0, 1], rel=0.1)


def test_convergence_repeats_and_refuses():
    cells = counted([[1, 2], [1, 0], [0, 0]], [[3, 3], [1, 3], [0, 0]])
    once, again = (convergence(cells, (1, 3), method="resampled", trials=50).columns() for _ in range(2))
    assert once["score"].tolist()[:2] == again["score"].tolist()[:2]
    assert once["note"].tolist() == [""] * 2 + ["one generation of some questions: nothing to draw from"] * 4
    unbiased = convergence(cells, (1, 3)).columns()
    assert unbiased["note"].tolist() == [""] * 4 + ["one generation of each question: sampling noise is unknown"] * 2
    assert np.isnan(unbiased["low"][4:]).all()
    assert convergence(counted([[3, 0]], 3), (2,), method="resampled", trials=5).width[0, 0] >= 0
    assert convergence(counted([[3, 3]], 3), (2,)).high[0, 0] == 1
    for bad in ((), (0, 1), (2, 2)):
        with pytest.raises(InputError, match="numbers from 1 that increase"):
            convergence(cells, bad)
    with pytest.raises(UnknownNameError, match="unknown claim"):
        convergence(cells, claim="single-run")
    with pytest.raises(UnknownNameError, match="unknown method 'bootstrap'"):
        convergence(cells, method="bootstrap")


def test_convergence_by_drawing_has_the_error_of_clusters():
    """By hand: residuals of four clusters of two equal questions add up to +-1 each: SE^2 = 4/3 x 4/64 for any k."""
    cells = replace(counted([[4, 4, 0, 0, 4, 4, 0, 0]], 4), clusters=tuple("aabbccdd"))
    result = convergence(cells, (1, 3), method="resampled", trials=20, rng=1)
    assert result.se[0] == pytest.approx([math.sqrt(4 / 3 * 4 / 64)] * 2)
    these = convergence(cells, (3,), claim="these-questions", method="resampled", trials=20, rng=1)
    assert these.se[0, 0] == 0


def test_intervals_of_other_numbers_of_generations_by_hand():
    """With 1, 4 and 16 generations the errors are 2, 1 and 1/2 times that at hand; 0 and 1 are the limits."""
    cells = counted([[1, 2, 0, 3, 4], [4, 4, 4, 3, 3], [0, 0, 1, 0, 1]], 4)
    at_hand = score(cells, claim="these-questions", level=0.9)
    between = at_hand.interval()
    scaled = convergence(cells, (1, 4, 16), claim="these-questions", level=0.9).scale_interval(at_hand)
    for m, center in enumerate((0.5, 0.9, 0.1)):
        below, above = center - between.low[m], between.high[m] - center
        assert scaled.low[m] == pytest.approx([max(center - factor * below, 0) for factor in (2, 1, 0.5)])
        assert scaled.high[m] == pytest.approx([min(center + factor * above, 1) for factor in (2, 1, 0.5)])
    assert (scaled.high[1, 0], scaled.low[2, 0], scaled.level) == (1, 0, 0.9)


def test_intervals_of_ratings_are_not_cut():
    """By hand: ratings of 10 and more stay on their scale, with a quarter of the generations twice as wide."""
    cells = Cells.from_scores("b", ["a"], ["p", "q"], [[[12, 10, 14, 12], [0, 2, 0, 2]]])
    at_hand = score(cells, claim="these-questions")
    between = at_hand.interval()
    scaled = convergence(cells, (1, 4), claim="these-questions").scale_interval(at_hand)
    assert scaled.high[0] == pytest.approx([6.5 + 2 * (between.high[0] - 6.5), between.high[0]])
    assert scaled.low[0] == pytest.approx([6.5 - 2 * (6.5 - between.low[0]), between.low[0]])
