"""The grid of Beta distributions, and quantiles of their mixtures: against scipy's distributions and root finder."""

import numpy as np
import pytest
from scipy import optimize, stats

from howsure.stats.scores import beta_likelihood
from howsure.stats.scores.beta_likelihood import _around_peak, make_beta_grid, mixture_quantile


def components(kind, shape, rng):
    if kind == "any shape":
        return 10 ** rng.uniform(-1.5, 4, shape), 10 ** rng.uniform(-1.5, 4, shape)
    size = 10 ** rng.uniform(1, 5, shape)
    mean = {
        "one mean": rng.random((shape[0], 1)),
        "an end": rng.integers(0, 2, (shape[0], 1)),
        "two peaks": rng.choice([0.1, 0.9], shape),
    }[kind]
    return mean * size + 0.5, (1 - mean) * size + 0.5


@pytest.mark.parametrize("kind", ["any shape", "one mean", "an end", "two peaks"])
@pytest.mark.parametrize("tail", [1e-4, 0.025, 0.5, 0.975])
def test_quantiles(kind, tail):
    """The probability below the quantile is `tail`, or the quantile is where brentq finds it."""
    rng = np.random.default_rng(len(kind))
    weight = rng.dirichlet(np.full(12, 0.3), 30)
    a, b = components(kind, weight.shape, rng)
    for row, quantile in zip(range(30), mixture_quantile(weight, a, b, tail).tolist(), strict=True):

        def excess(m, row=row):
            return float(weight[row] @ stats.beta.cdf(m, a[row], b[row])) - tail

        root = optimize.brentq(excess, 0, 1, xtol=1e-15, rtol=1e-14)
        assert abs(excess(quantile)) < 2e-10 or quantile == pytest.approx(root, abs=1e-11)


def test_no_mixture():
    """Of no mixture, no quantile."""
    assert mixture_quantile(np.ones((0, 3)), np.ones((0, 3)), np.ones((0, 3)), 0.5).shape == (0,)


def log_density(mean, r, prior, correct, wrong, weight):
    """Log posterior of the mean and the correlation r of two generations, but for a constant, by scipy."""
    size = 1 / r - 1
    total = stats.beta.logpdf(mean, 0.5, 0.5) + stats.beta.logpdf(r, *prior)
    for c, d, questions in zip(correct, wrong, weight, strict=True):
        total = total + questions * stats.betabinom.logpmf(c, c + d, mean * size, (1 - mean) * size)
    return total


@pytest.mark.parametrize("prior", [(1.0, 1.0), (1.0, 2.0), (2.0, 0.5)])
def test_the_grid_is_the_posterior_by_scipy(prior, monkeypatch):
    """Another program's likelihood at each node; moments by 90,000 pairs; one block of models is as good as several."""
    correct, wrong = np.array([[7.0, 5, 1, 0], [2, 0, 3, 1]]), np.array([[3.0, 5, 4, 2], [1, 3, 0, 4]])
    weight = np.array([[2.0, 3, 1, 4], [5, 1, 0, 3]])
    grid = make_beta_grid(correct, wrong, weight, correlation=prior)
    assert grid.a.shape == (2, 48)
    middles = (np.arange(300) + 0.5) / 300
    for i, counts in enumerate(zip(correct, wrong, weight, strict=True)):
        mean, r = grid.a[i] / (grid.a[i] + grid.b[i]), 1 / (1 + grid.a[i] + grid.b[i])
        # nodes of equal steps in arcsin sqrt(mean) and in log(r / (1 - r)), of which these are the derivatives
        density = log_density(mean, r, prior, *counts) + np.log(r * (1 - r)) + np.log(mean * (1 - mean)) / 2
        expected = np.exp(density - density.max())
        assert grid.probability[i] == pytest.approx(expected / expected.sum(), rel=1e-9)
        all_means, all_r = middles[:, None], middles[None, :]
        mass = np.exp(log_density(all_means, all_r, prior, *counts) - density.max())
        mass /= mass.sum()
        assert grid.probability[i] @ mean == pytest.approx(np.sum(mass * all_means), abs=0.004)
        assert grid.probability[i] @ r == pytest.approx(np.sum(mass * all_r), abs=0.008)
    monkeypatch.setattr(beta_likelihood, "_ELEMENTS", 1)
    for one, many in zip(make_beta_grid(correct, wrong, weight, correlation=prior), grid, strict=True):
        assert one == pytest.approx(many)


def test_nodes_around_a_peak_by_hand():
    """From the node before those within 12 of the peak to the node after them, and at an end no further."""
    nodes = np.arange(6.0) ** 2
    high = np.array([[-20.0, -13, -11, 0, -13, -20], [-11, 0, -20, -20, -20, -20], [-20, -20, -20, -13, 0, -11]])
    around = _around_peak(np.tile(nodes, (3, 1)), high, 4)
    assert around == pytest.approx(np.array([[1, 6, 11, 16], [0, 4 / 3, 8 / 3, 4], [9, 43 / 3, 59 / 3, 25]]))
