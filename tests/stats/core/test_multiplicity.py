"""Adjusted p-values: scipy for Benjamini and Hochberg, loops over the sorted tests for Holm."""

import numpy as np
import pytest
from scipy import stats

from howsure.stats.core.multiplicity import benjamini_hochberg, holm

P = np.array([[0.3, 0.001, np.nan, 0.012], [0.9, 0.012, 0.0, 0.04]])


def test_holm_by_loops():
    """The i-th smallest of 7 counts 7 - i times, and no less than smaller ones: .001 x 6, .012 x 5 twice, .04 x 3, .3 x 2."""
    expected = [[0.6, 0.006, np.nan, 0.06], [0.9, 0.06, 0.0, 0.12]]
    assert holm(P) == pytest.approx(np.array(expected), nan_ok=True)
    assert holm([0.6, 0.7]).tolist() == [1, 1]
    assert holm([np.nan]).tolist() == pytest.approx([np.nan], nan_ok=True)
    assert holm([]).shape == (0,)


def test_benjamini_hochberg_by_scipy():
    found = benjamini_hochberg(P)
    assert found.shape == P.shape
    assert np.isnan(found).tolist() == np.isnan(P).tolist()
    assert found[~np.isnan(P)] == pytest.approx(stats.false_discovery_control(P[~np.isnan(P)], method="bh"))
    assert benjamini_hochberg([0.6, 0.7]).tolist() == [0.7, 0.7]
