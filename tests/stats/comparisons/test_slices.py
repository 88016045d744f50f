"""Slices where two models differ by another amount. Kind of truth: planted slices, values by hand, and permutations."""

import itertools

import numpy as np
import pytest

from howsure.errors import InputError
from howsure.stats.comparisons import compare, compare_slices, cut_quarters, measure_difficulty
from howsure.stats.core.cells import Cells


def make_cells(a, b, **options):
    """Return cells of two rows of scores, one generation each; NaN where there is none."""
    y = np.array([a, b], float)
    there = (~np.isnan(y)).astype(int)
    questions = tuple(f"q{i}" for i in range(y.shape[1]))
    return Cells("demo", ("a", "b"), questions, there, np.nan_to_num(y), np.nan_to_num(y) ** 2, **options)


def plant(seed=1, loss=0.8, n=20, slices=10):
    """Return right and wrong answers of two models, where a loses in slice 3, and the slices."""
    rng = np.random.default_rng(seed)
    label = np.arange(n * slices) // n
    p = np.array([0.9 - loss * (label == 3), np.full(len(label), 0.9)])
    return (rng.random(p.shape) < p).astype(float), [f"s{i}" for i in label.tolist()]


def test_a_planted_slice_is_found_and_leaves_the_rest():
    y, label = plant()
    table = compare_slices(make_cells(*y), "a", "b", {"topic": label})
    first = table[0]
    assert (first["slice"], first["verdict"]) == ("s3", "different")
    assert [row["verdict"] for row in table][1:] == ["not different"] * 9
    d, inside = y[0] - y[1], np.array(label) == "s3"
    assert first["difference"] == pytest.approx(d[inside].mean())
    assert first["difference_rest"] == pytest.approx(d[~inside].mean())
    other, own = table[1], np.array(label) == table[1]["slice"]
    assert other["difference_rest"] == pytest.approx(d[~inside & ~own].mean())
    assert table.total == pytest.approx(d.mean())


def test_the_interval_is_that_of_a_comparison_on_the_slice():
    y, label = plant()
    cells = make_cells(*y)
    row = compare_slices(cells, "a", "b", {"topic": label}, level=0.9)[0]
    questions = [q for q, own in zip(cells.questions, label, strict=True) if own == "s3"]
    between = compare(cells.select(questions=questions), "a", "b", level=0.9).interval()
    assert (row["low"], row["high"]) == pytest.approx((between.low[0], between.high[0]))


def test_p_values_are_those_of_all_orders():
    """Two slices of 3 and 4 questions: the share of all 5,040 orders with a statistic as large, by a loop."""
    d = np.array([1.0, 0.9, 0.8, 0.1, -0.2, 0.3, -0.4])

    def statistic(x):
        halves = x[:3], x[3:]
        squares = [np.sum((part - part.mean()) ** 2) + 15 * x.var(ddof=1) for part in halves]
        variance = sum(s / (len(part) + 14) / len(part) for s, part in zip(squares, halves, strict=True))
        return abs(x[:3].mean() - x[3:].mean()) / np.sqrt(variance)

    seen = statistic(d)
    exact = np.mean([statistic(np.array(order)) >= seen - 1e-9 for order in itertools.permutations(d)])
    table = compare_slices(make_cells(d, np.zeros(7)), "a", "b", {"x": ["u"] * 3 + ["v"] * 4}, level=0.99)
    assert table.p_value == pytest.approx([exact, exact], abs=0.01)
    assert table.p_all[0] == pytest.approx(exact, abs=0.01)


def test_of_slices_that_mean_nothing_few_are_found():
    """200 evaluations: at most .05 and three standard errors, where raw tests find some slice in a third or more."""
    rng = np.random.default_rng(3)
    label = [f"s{i // 20}" for i in range(200)]
    found = []
    for seed in range(200):
        a, b = (rng.random((2, 200)) < 0.7).astype(float)
        table = compare_slices(make_cells(a, b), "a", "b", {"topic": label}, orders=199, seed=seed)
        found.append(np.nanmin(table.p_all) < 0.05)
    assert np.mean(found) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_estimates_are_shrunken_by_hand():
    """Slices of 2 questions with d = 1, 0 and of 2 with 0, 0: DerSimonian and Laird from the squared errors."""
    d = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.1, 0.0, -0.1])
    table = compare_slices(make_cells(d, np.zeros(8)), "a", "b", {"x": ["u"] * 4 + ["v"] * 4})
    y = np.array([0.75, 0.0])
    v = np.array([(np.sum((part - part.mean()) ** 2) + 15 * d.var(ddof=1)) / 18 / 4 for part in (d[:4], d[4:])])
    w = 1 / v
    between = max(0, (w @ (y - w @ y / w.sum()) ** 2 - 1) / (w.sum() - w @ w / w.sum()))
    w = 1 / (v + between)
    center = w @ y / w.sum()
    assert table.shrunken == pytest.approx(center + between / (between + v) * (y - center))
    assert np.all(np.abs(table.shrunken - center) < np.abs(y - center))


def test_all_slices_one_way_and_the_total_the_other_is_simpsons_case():
    """a is ahead on the easy and on the hard questions, but answered the hard ones more."""
    nan = np.nan
    a = [1.0] * 10 + [nan] * 30 + [1.0] * 12 + [0.0] * 28
    b = [1.0] * 35 + [0.0] * 5 + [0.0] * 8 + [1.0] * 2 + [nan] * 30
    labels = {"topic": ["easy"] * 40 + ["hard"] * 40}
    table = compare_slices(make_cells(a, b), "a", "b", labels)
    assert table.score_a < table.score_b
    assert table.reversed_by == ("topic",)
    both = compare_slices(make_cells(np.nan_to_num(a), np.nan_to_num(b)), "a", "b", labels)
    assert both.reversed_by == ()


def test_equal_models_have_no_slices():
    y = [1.0, 0.0] * 20
    table = compare_slices(make_cells(y, y), "a", "b", {"topic": ["u"] * 20 + ["v"] * 20})
    assert table.p_all == pytest.approx([1, 1])
    assert table.difference.tolist() == table.shrunken.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("a", "b", "label"),
    [
        pytest.param([1, 0], [0, 0], ["u", "v"], id="one question each"),
        pytest.param([1, np.nan, 1], [np.nan, 0, np.nan], ["u", "v", "u"], id="no common question"),
    ],
)
def test_what_cannot_be_tested_has_a_note(a, b, label):
    table = compare_slices(make_cells(a, b), "a", "b", {"topic": label})
    assert table["verdict"].tolist() == ["not tested"] * 2
    assert all(table["note"])


@pytest.mark.parametrize("label", [["u"] * 30, [str(i) for i in range(30)], [""] * 30])
def test_columns_that_are_no_slices_are_refused(label):
    with pytest.raises(InputError):
        compare_slices(make_cells([1] * 30, [0] * 30), "a", "b", {"topic": label})


def test_difficulty_is_that_of_the_other_models_alone():
    scores = [[[1], [1], [1]], [[0], [0], [0]], [[1], [0], []], [[1], [1], []]]
    cells = Cells.from_scores("demo", ["a", "b", "c", "d"], list("pqr"), scores)
    assert measure_difficulty(cells, ["c", "d"]) == pytest.approx([1, 0.5, np.nan], nan_ok=True)


def test_quarters_are_of_equal_size_and_keep_ties_together():
    values = np.random.default_rng(1).normal(size=400)
    labels = np.array(cut_quarters(values))
    assert np.unique(labels, return_counts=True)[1].tolist() == [100] * 4
    tied = cut_quarters(np.append(np.zeros(300), np.arange(1, 101)))
    assert len({label for label, x in zip(tied, np.append(np.zeros(300), np.ones(100)), strict=True) if not x}) == 1


def test_quarters_with_near_values_have_labels_of_their_own():
    years = cut_quarters(np.repeat(np.arange(2010.0, 2025.0), 8))
    assert sorted(set(years)) == ["2010 to 2013", "2014 to 2017", "2018 to 2021", "2022 to 2024"]
    near = cut_quarters(1000 + np.arange(40) / 1000)
    assert len(set(near)) == 4
    assert sorted(set(cut_quarters(np.array([20240101.0, 20240102.0, 20240103.0])))) == [
        "20240101",
        "20240102",
        "20240103",
    ]
