"""Comparisons with a reference: against Holm's rule by loops, Bonferroni's level, and false positives by simulation."""

import numpy as np
import pytest

from howsure.errors import UnknownNameError
from howsure.stats.comparisons.pairs import compare, pairs
from howsure.stats.comparisons.reference import compare_with_reference
from howsure.stats.core.cells import Cells

RNG = np.random.default_rng(8)


def right(p):
    scores = (RNG.random(p.shape) < p).astype(float)
    names = tuple(f"m{i}" for i in range(len(p)))
    return Cells("b", names, tuple(map(str, range(p.shape[1]))), np.ones(p.shape, int), scores, scores)


CELLS = right(np.outer([0.5, 0.6, 0.8, 0.9], np.ones(120)))


@pytest.mark.parametrize(("chosen", "n_tests"), [(False, 3), (True, 6)])
def test_rows_are_the_pairs_seen_from_the_reference(chosen, n_tests):
    compared = compare_with_reference(pairs(CELLS), "m1", chosen_by_scores=chosen)
    assert (compared.models, compared.n_tests) == (("m0", "m2", "m3"), n_tests)
    for i, other in enumerate(compared.models):
        single = compare(CELLS, "m1", other)
        strict = compare(CELLS, "m1", other, level=1 - 0.05 / n_tests)
        assert compared.difference[i] == pytest.approx(single.difference[0])
        np.testing.assert_allclose(
            [compared.low[i], compared.high[i]], [*single.interval().low, *single.interval().high]
        )
        np.testing.assert_allclose(
            [compared.low_all[i], compared.high_all[i]], [*strict.interval().low, *strict.interval().high]
        )
        assert compared.detectable[i] == pytest.approx(strict.detectable[0])


def test_holm_is_over_the_comparisons_with_a_named_reference():
    compared = compare_with_reference(pairs(CELLS), "m1")
    order = sorted(range(3), key=lambda i: compared.p_value[i])
    largest = 0.0
    for place, i in enumerate(order):
        largest = max(largest, compared.p_value[i] * (3 - place))
        assert compared.p_holm[i] == pytest.approx(min(largest, 1))


@pytest.mark.long
def test_equal_models_are_rarely_told_apart_though_the_scores_chose_the_best():
    """Theory: of equal models some is distinguishable from the best in at most .05 of the evaluations."""
    evaluations, false = 150, np.zeros(2)
    for _ in range(evaluations):
        cells = right(np.tile(RNG.beta(1, 1, 100), (8, 1)))
        best = cells.models[int(np.argmax(cells.total.sum(axis=1)))]
        compared = pairs(cells)
        false += [
            compare_with_reference(compared, best, chosen_by_scores=by).is_distinguishable.any() for by in (True, False)
        ]
    assert false[0] / evaluations <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / evaluations)
    assert false[1] > false[0]  # M - 1 tests are not enough for a reference that the scores chose


def test_an_unknown_reference_is_an_error():
    with pytest.raises(UnknownNameError):
        compare_with_reference(pairs(CELLS), "none")
