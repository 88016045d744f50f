"""Tests of the differences of all pairs of models in the scores that people's labels correct."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray
from howsure.stats.core.multiplicity import holm
from howsure.stats.judges.calibration import calibrate_difference
from howsure.stats.judges.labelled_completions import JudgedCompletions

__all__ = ["compare_corrected"]


def compare_corrected(data: JudgedCompletions) -> FloatArray:
    """Test the corrected difference of each pair of models, adjusted for all pairs.

    Parameters
    ----------
    data
        Completions with the judge's scores, and people's scores of some of them.

    Returns
    -------
    numpy.ndarray
        Adjusted p-values, shape (M, M) and symmetric. NaN on the diagonal, and where no test was possible: too few
        labels, or no question in common.

    Notes
    -----
    The p-value of a pair is that of `calibrate_difference`: two-sided, of Student's t for the corrected difference over
    its standard error. Holm's method adjusts the p-values of all pairs that can be tested.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6, for the adjustment; `calibrate_difference` for the tests.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> right = rng.random(400) < np.repeat([0.9, 0.3], 200)
    >>> labels = np.where(np.arange(400) % 200 < 100, right, np.nan)
    >>> names = tuple(map(str, range(200)))
    >>> data = JudgedCompletions("demo", ("a", "b"), names, np.repeat([0, 1], 200), [*range(200)] * 2, right, labels)
    >>> (compare_corrected(data) < 0.05).tolist()
    [[False, True], [True, False]]
    """
    pairs = list(combinations(range(len(data.models)), 2))
    adjusted = holm([_test_pair(data, data.models[a], data.models[b]) for a, b in pairs])
    p_values = np.full((len(data.models),) * 2, np.nan)
    for (a, b), p in zip(pairs, adjusted.tolist(), strict=True):
        p_values[a, b] = p_values[b, a] = p
    return p_values


def _test_pair(data: JudgedCompletions, a: str, b: str) -> float:
    """Return the p-value of the corrected difference of two models; NaN where they have no question in common."""
    try:
        return float(calibrate_difference(data, a, b)["p_value"][0])
    except InputError:
        return np.nan
