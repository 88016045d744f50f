"""Halves of one model's generations: what they are, and how often the gate fails them."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from howsure.errors import InputError
from howsure.stats.core.cells import Cells
from howsure.stats.gate import false_alarms, split_baseline


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


def test_each_split_is_of_all_generations_of_the_questions_that_have_two(monkeypatch):
    """By hand: of 5, 1, 2 and 4 generations with 3, 1, 1 and 4 right, the baseline gets 2, 1 and 2; 3/5 of its 2 are right."""
    n, right = np.array([[5, 1, 2, 4]]), np.array([[3.0, 1, 1, 4]])
    cells = Cells(
        "demo",
        ("other", "a"),
        tuple("pqrs"),
        np.repeat(n, 2, axis=0),
        np.vstack([0 * right, right]),
        np.vstack([0 * right, right]),
    )
    seen, verdicts = [], itertools.cycle(["fail", "pass", "inconclusive", "fail"])

    def record(halves, candidate, baseline, **options):
        seen.append((halves, candidate, baseline, options))
        return SimpleNamespace(verdict=next(verdicts))

    monkeypatch.setattr(false_alarms, "compare_with_baseline", record)
    result = split_baseline(cells, "a", splits=400, margin=0.03, alpha=0.2, claim="new-questions", seed=3)
    assert (result.model, result.n_fail, result.n_pass, result.rate) == ("a", 200, 100, 0.5)
    drawn = []
    for halves, candidate, baseline, options in seen:
        assert options == {"margin": 0.03, "alpha": 0.2, "claim": "new-questions"}
        assert halves.questions == ("p", "r", "s")
        rows = [halves.models.index(name) for name in (baseline, candidate)]
        assert halves.n[rows].tolist() == [[2, 1, 2], [3, 1, 2]]
        assert halves.total.sum(axis=0).tolist() == [3, 1, 4]
        drawn.append(halves.total[rows[0]])
    # hypergeometric: 2 of 5 with 3 right have a variance of 2 (3/5) (2/5) (3/4); 1 of 2 with 1 right of 1/4
    assert np.mean(drawn, axis=0) == pytest.approx([1.2, 0.5, 2], abs=4 * np.sqrt(0.36 / 400))
    assert np.var(drawn, axis=0) == pytest.approx([0.36, 0.25, 0], abs=0.08)
    for seed, is_same in ((3, True), (4, False)):
        seen.clear()
        split_baseline(cells, "a", splits=400, seed=seed)
        assert np.array_equal(drawn, [halves.total[halves.models.index("baseline")] for halves, *_ in seen]) == is_same


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
