"""Halves of one model's generations: what they are, and how often the gate fails them."""

import numpy as np
import pytest
from scipy import stats

from howsure.errors import InputError
from howsure.stats.core.cells import Cells
from howsure.stats.gate import split_baseline


def _model(questions, k, seed, sharp=0.6):
    rng = np.random.default_rng(seed)
    right = rng.binomial(k, rng.beta(sharp, sharp, questions)).astype(float)[None]
    return Cells("demo", ("a",), tuple(f"q{i}" for i in range(questions)), np.full((1, questions), k), right, right)


@pytest.mark.parametrize("claim", ["these-questions", "new-questions"])
def test_at_most_alpha_of_the_splits_fail(claim):
    result = split_baseline(_model(80, 8, 1), "a", splits=150, claim=claim)
    assert result.n_splits == 150
    assert stats.binomtest(result.n_fail, 150, 0.05, alternative="greater").pvalue > 1e-4


def test_splits_with_a_large_alpha_do_fail():
    """The count can rise: with alpha .4 more than one in ten splits fail."""
    result = split_baseline(_model(80, 8, 1), "a", splits=100, alpha=0.4, margin=0.0)
    assert result.rate > 0.1


def test_what_cannot_be_split():
    with pytest.raises(InputError, match="two generations"):
        split_baseline(_model(10, 1, 2), "a")
    graded = Cells.from_scores("demo", ["a"], ["q"], [[[0.5, 0.2]]])
    with pytest.raises(InputError, match="0 and 1"):
        split_baseline(graded, "a")
    with pytest.raises(InputError, match="splits"):
        split_baseline(_model(10, 2, 2), "a", splits=0)


def test_the_row_of_false_alarms_by_hand():
    """None of 20 splits fails: the upper limit of Clopper and Pearson is 1 - .025^(1/20)."""
    right = np.full((1, 30), 4.0)
    cells = Cells("demo", ("a",), tuple(f"q{i}" for i in range(30)), np.full((1, 30), 4), right, right)
    columns = {
        name: values.tolist() for name, values in split_baseline(cells, "a", splits=20, margin=0.2).columns().items()
    }
    assert columns.pop("high") == pytest.approx([1 - 0.025 ** (1 / 20)])
    assert columns == {
        "benchmark": ["demo"],
        "model": ["a"],
        "n_splits": [20],
        "n_fail": [0],
        "n_pass": [20],
        "rate": [0],
        "low": [0],
        "alpha": [0.05],
    }
