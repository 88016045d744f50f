"""The gap of single runs and convergence with k: scipy, enumeration, theory."""

import math

import numpy as np
import pytest
from scipy import stats

from errorbar.errors import InputError, UnknownNameError
from errorbar.stats.cells import Cells
from errorbar.stats.components import score
from errorbar.stats.resampling import _law_of_sum, convergence, run_gap


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
    np.testing.assert_allclose(_law_of_sum(p, weight.astype(float)), law, atol=1e-14)


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


def test_convergence_has_the_moments_of_drawing_with_replacement():
    """Theory: mean p, variance mean p(1-p)/(kN) of scores; E of the squared error of either claim."""
    cells = counted(np.tile([[0, 1, 4, 9, 10]], (1, 8)), 10)
    p, N = cells.mean[0], 40
    found = convergence(cells, (1, 2, 5, 20), trials=4000, rng=3)
    for j, k in enumerate((1, 2, 5, 20)):
        sd = math.sqrt(np.sum(p * (1 - p)) / k) / N
        assert found.score[0, j] == pytest.approx(p.mean(), abs=4 * sd / math.sqrt(4000))
        half = (found.high[0, j] - found.low[0, j]) / 2
        assert half == pytest.approx(1.96 * sd, abs=0.6 / (k * N) + 0.05 * sd)  # a score is a multiple of 1/(kN)
        variance = (np.var(p) + np.mean(p * (1 - p)) / k) / N  # of a new-questions interval
        assert found.se[0, j] == pytest.approx(math.sqrt(variance), rel=0.03)
    these = convergence(cells, (1, 2, 10), claim="these-questions", trials=2000)
    assert np.isnan(these.se[0, 0])
    assert np.isnan(these.covered[0, 0])
    assert these.se[0, 2] == pytest.approx(math.sqrt(np.mean(p * (1 - p)) / 10 / N), rel=0.03)
    assert these.covered[0, 2] == pytest.approx(0.95, abs=0.02)
    assert these.columns()["all_score"][0] == pytest.approx(p.mean())


def test_scores_that_are_not_0_and_1_are_drawn_as_normal():
    rng = np.random.default_rng(4)
    cells = Cells.from_scores("b", ["a"], [str(q) for q in range(30)], [rng.normal(3, 1, (30, 6)).tolist()])
    found = convergence(cells, (2, 8), claim="these-questions", trials=1500)
    assert found.score[0] == pytest.approx([cells.mean.mean()] * 2, abs=0.02)
    assert found.se[0, 1] == pytest.approx(math.sqrt(cells.within.mean() / 8 / 30))
    assert found.covered[0] == pytest.approx([0.95, 0.95], abs=0.03)
    assert (found.high - found.low)[0, 0] == pytest.approx(2 * (found.high - found.low)[0, 1], rel=0.1)


def test_convergence_repeats_and_refuses():
    cells = counted([[1, 2], [1, 0], [0, 0]], [[3, 3], [1, 3], [0, 0]])
    once, again = (convergence(cells, (1, 3), trials=50).columns() for _ in range(2))
    assert once["score"].tolist()[:2] == again["score"].tolist()[:2]
    assert once["note"].tolist() == [""] * 2 + ["one generation of some questions: nothing to draw from"] * 4
    assert convergence(counted([[3, 0]], 3), (2,), trials=5).width[0, 0] >= 0
    for bad in ((), (0, 1), (2, 2)):
        with pytest.raises(InputError, match="numbers from 1 that increase"):
            convergence(cells, bad)
    with pytest.raises(UnknownNameError, match="unknown claim"):
        convergence(cells, claim="single-run")
