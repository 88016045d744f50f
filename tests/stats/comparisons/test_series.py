"""The smooth curve through a series of scores against dense matrices, a Kalman smoother, and by its properties."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from howsure.errors import InputError
from howsure.stats.comparisons import curve, series, smooth_cells, smooth_series
from howsure.stats.core.cells import Cells

SCORE = np.array([0.31, 0.36, 0.30, 0.42, 0.47, 0.33, 0.29])
VARIANCE = np.array([9, 4, 9, 16, 9, 4, 9]) * 1e-4


def smooth_densely(y, v, x):
    """Return mean, covariance and weights of the places of a change, component by component with a vague constant."""
    T, vague = len(y), 1e4
    y, parts, logs, places = np.asarray(y), [], [], []
    kernels, prior = series._list_kernels(np.asarray(x, float))
    steps = zip(series._STEPS, series._STEP_PRIOR, strict=True)
    for (kernel, weight), scale, (step, share), place in product(
        zip(kernels, prior, strict=True), series._SCALES, list(steps), range(1, T)
    ):
        h = np.arange(T) >= place
        truth = vague + np.median(v) * (scale * kernel + step * np.outer(h, h))
        total = truth + np.diag(v)
        gain = np.linalg.solve(total, truth).T
        logs.append(
            np.log(weight * share / (T - 1))
            - 0.5 * np.linalg.slogdet(total)[1]
            - 0.5 * (y - y.mean()) @ np.linalg.solve(total, y - y.mean())
        )
        parts.append((y.mean() + gain @ (y - y.mean()), truth - gain @ truth))
        places.append(place if step else 0)
    w = np.exp(np.array(logs) - max(logs))
    w /= w.sum()
    mean = sum(one * m for one, (m, _) in zip(w, parts, strict=True))
    second = sum(one * (c + np.outer(m - mean, m - mean)) for one, (m, c) in zip(w, parts, strict=True))
    return mean, second, np.bincount(places, weights=w, minlength=T)[1:]


@pytest.mark.parametrize("x", [range(7), [1, 2, 4, 8, 16, 32, 64]], ids=["equal distances", "doubled"])
def test_the_curve_is_the_mixture_of_dense_gaussian_processes(x):
    mean, covariance, places = smooth_densely(SCORE, VARIANCE, x)
    found = smooth_series(SCORE, VARIANCE, x)
    assert_allclose(found.mean, mean, atol=2e-6)
    assert_allclose(found.covariance, covariance, atol=2e-7)
    assert_allclose(found.change.p, places.sum(), atol=1e-5)
    assert found.change.since == 1 + np.argmax(places)


def test_one_rough_kernel_is_a_kalman_smoother(monkeypatch):
    """Shape 1/2 is an autoregression: filter and smoother go through the points, the constant is vague."""
    monkeypatch.setattr(series, "_KERNELS", ((0.5, (0.5,), 1.0),))
    monkeypatch.setattr(series, "_SCALES", np.array([4.0]))
    monkeypatch.setattr(series, "_STEP_PRIOR", np.array([1, *[1e-30] * 4]))
    rho, scale = np.exp(-1 / 6 / 0.5), 4 * np.median(VARIANCE)
    m, P = np.zeros(2), np.diag([scale, 1e6])  # the deviation of the curve, and the constant
    move, noise, see = np.diag([rho, 1.0]), np.diag([scale * (1 - rho**2), 0]), np.ones(2)
    before, after = [], []
    for t, (y, v) in enumerate(zip(SCORE, VARIANCE, strict=True)):
        if t:
            m, P = move @ m, move @ P @ move.T + noise
        before.append((m, P))
        gain = P @ see / (see @ P @ see + v)
        m, P = m + gain * (y - see @ m), P - np.outer(gain, see @ P)
        after.append((m, P))
    mean, variance = [see @ m], [see @ P @ see]
    for t in range(len(SCORE) - 2, -1, -1):
        back = after[t][1] @ move.T @ np.linalg.inv(before[t + 1][1])
        m, P = after[t][0] + back @ (m - before[t + 1][0]), after[t][1] + back @ (P - before[t + 1][1]) @ back.T
        mean.append(see @ m)
        variance.append(see @ P @ see)
    found = smooth_series(SCORE, VARIANCE)
    assert_allclose(found.mean, mean[::-1], atol=1e-6)
    assert_allclose(np.diag(found.covariance), variance[::-1], atol=1e-7)


def test_the_curve_moves_with_its_scores():
    """Another zero, unit, or direction of time changes the curve likewise."""
    found = smooth_series(SCORE, VARIANCE)
    moved = smooth_series(5 - 3 * SCORE, 9 * VARIANCE)
    assert_allclose(moved.mean, 5 - 3 * found.mean)
    assert_allclose(moved.covariance, 9 * found.covariance, atol=1e-12)
    back = smooth_series(SCORE[::-1], VARIANCE[::-1])
    assert_allclose(back.mean[::-1], found.mean)
    assert_allclose(back.change.size, -found.change.size)


def test_each_point_gains_from_its_neighbours():
    found = smooth_series(SCORE, VARIANCE)
    assert np.all(np.linalg.eigvalsh(found.covariance) > 0)
    assert np.all(np.diag(smooth_series([0.4] * 12, 1e-3).covariance) < 0.5e-3)
    assert_allclose(found.p_best.sum(), 1)
    chosen = found.may_be_best(0.95)
    assert found.p_best[chosen].sum() >= 0.95
    assert found.p_best[chosen].min() >= found.p_best[~chosen].max()


def test_a_change_is_found_and_a_slope_is_none():
    jump = smooth_series([0.5] * 9 + [0.3] * 6, 0.02**2).change
    assert jump.p > 0.99
    assert jump.since == jump.first == jump.last == 9
    assert jump.size == pytest.approx(-0.2, abs=0.02)
    assert smooth_series(np.linspace(0.2, 0.6, 15), 0.02**2).change.p < 0.8


@pytest.mark.parametrize(
    ("score", "variance", "positions"),
    [
        ([0.5] * 4, 0.01, None),
        ([0.5] * 401, 0.01, None),
        ([0.5] * 5, 0.0, None),
        ([0.5, np.nan, 0.5, 0.5, 0.5], 0.01, None),
        ([0.5] * 5, 0.01, [1, 2, 3, 3, 4]),
        ([0.5] * 5, 0.01, [1, 2, 3]),
    ],
)
def test_what_cannot_be_smoothed_is_refused(score, variance, positions):
    with pytest.raises(InputError):
        smooth_series(score, variance, positions)


def draw(T, N, k, seed=1):
    """Cells of checkpoints that rise from .3 to .6."""
    p = np.clip(np.linspace(0.3, 0.6, T)[:, None] + np.linspace(-0.3, 0.3, N), 0, 1)
    scores = np.random.default_rng(seed).random((T, N, k)) < p[..., None]
    return Cells.from_scores("demo", [f"step {t}" for t in range(T)], [str(q) for q in range(N)], scores * 1.0)


def test_cells_know_the_noise_of_their_points():
    """With one generation the noise comes from neighbouring points, and is about four times that of four."""
    one, four = (smooth_cells(draw(12, 100, k)) for k in (1, 4))
    ratio = np.median(np.diag(one.covariance)) / np.median(np.diag(four.covariance))
    assert 2 < ratio < 6
    new = four.interval(0.95, "new-questions")
    assert np.all(new.high - new.low > four.interval(0.95).high - four.interval(0.95).low)


def test_cells_without_a_curve_say_why():
    flat = Cells.from_scores("demo", list("abcdef"), ["p", "q"], np.ones((6, 2, 3)))
    assert "no variation" in smooth_cells(flat)
    assert "4 points" in smooth_cells(draw(4, 20, 2))
    lonely = draw(6, 20, 2)
    gone = np.zeros(lonely.n.shape, bool)
    gone[np.arange(19) % 6, np.arange(19)] = True
    assert "questions that all points answered" in smooth_cells(lonely.without(gone))


def test_a_curve_has_the_smooth_scores_of_its_common_questions():
    cells = draw(8, 40, 3)
    gone = np.zeros(cells.n.shape, bool)
    gone[2, :5] = True
    result = curve(cells.without(gone))
    assert_allclose(result["smoothed"], smooth_cells(cells.select(questions=cells.questions[5:])).mean)
    assert np.all((result["low_smoothed"] < result["smoothed"]) & (result["smoothed"] < result["high_smoothed"]))
    assert all("smooth curve is on the 35 questions" in note for note in np.delete(result["note"], 2))
    short = curve(draw(3, 40, 3))
    assert np.all(np.isnan(short["smoothed"]))
    assert "takes 5 to 400" in short["note"][0]
