"""The comparison without pairing: Welch's test by scipy, by hand, and models whose standard error is 0."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from howsure.stats.comparisons import compare, compare_unpaired
from howsure.stats.core.cells import Cells
from howsure.stats.scores import score


def two(right_a, n_a, right_b, n_b):
    """Return two models with one generation each on questions of their own, scored 0 or 1."""
    n = np.zeros((2, n_a + n_b), int)
    n[0, :n_a] = n[1, n_a:] = 1
    total = np.zeros(n.shape)
    total[0, :right_a] = total[1, n_a : n_a + right_b] = 1
    return Cells("b", ("a", "b"), tuple(map(str, range(n_a + n_b))), n, total, total)


@pytest.mark.parametrize("counts", [(2, 3), (5, 12), (40, 7)])
def test_of_new_questions_it_is_welchs(counts):
    """Another program: scipy's Welch test and its interval, for graded scores of different questions."""
    rng = np.random.default_rng(sum(counts))
    x, y = rng.normal(3, 1, counts[0]), rng.normal(2, 4, counts[1])
    n, values = np.zeros((2, sum(counts)), int), np.zeros((2, sum(counts)))
    n[0, : counts[0]] = n[1, counts[0] :] = 1
    values[0, : counts[0]], values[1, counts[0] :] = x, y
    cells = Cells("b", ("a", "b"), tuple(map(str, range(sum(counts)))), n, values, values**2)
    row = {name: column[0] for name, column in compare_unpaired(cells, "a", "b", level=0.9).columns().items()}
    theirs = stats.ttest_ind(x, y, equal_var=False)
    assert (row["p_value"], row["df"]) == pytest.approx((theirs.pvalue, theirs.df))
    assert (row["low"], row["high"]) == pytest.approx(tuple(theirs.confidence_interval(0.9)))
    assert row["se"] == pytest.approx(math.sqrt(np.var(x) / counts[0] + np.var(y) / counts[1]))
    assert row["difference"] == pytest.approx(x.mean() - y.mean())
    assert (row["n_questions_a"], row["n_questions_b"], row["n_questions_paired"]) == (*counts, 0)
    assert math.isnan(row["variance_ratio"])
    few = "; fewer than 5 degrees of freedom: read the interval with care" if theirs.df < 5 else ""
    assert row["note"] == f"no question in common: only the unpaired comparison is possible{few}"


def test_of_these_questions_the_errors_are_those_of_their_generations():
    """By hand: s2 is 1/3 and 1/4 for a, 1/2 and 0 for b, each of k generations; Welch's df of Satterthwaite's."""
    cells = Cells.from_scores("b", ["a", "b"], ["p", "q"], [[[1, 1, 0], [1, 0, 0, 0]], [[1, 0], [0, 0]]])
    result = compare_unpaired(cells, "a", "b", claim="these-questions")
    each = [(1 / 9 + 1 / 16) / 4, (1 / 4) / 4]
    assert result.variance == pytest.approx([sum(each)])
    df = score(cells, claim="these-questions").df
    assert result.df == pytest.approx([sum(each) ** 2 / sum(part**2 / own for part, own in zip(each, df, strict=True))])
    difference = (2 / 3 + 1 / 4) / 2 - 1 / 4
    half = stats.t.ppf(0.975, result.df[0]) * math.sqrt(sum(each))
    assert (result["low"][0], result["high"][0]) == pytest.approx((difference - half, min(difference + half, 1)))
    assert result["variance_ratio"] == pytest.approx(result.variance / result.paired.variance)
    assert result["note"][0].split("; ")[0] == "the same questions: the paired comparison is the one to report"


@pytest.mark.parametrize(("n_a", "n_b", "is_single"), [(1, 3, True), (3, 1, True), (2, 3, False), (3, 2, False)])
def test_the_note_on_one_question_is_of_either_model(n_a, n_b, is_single):
    note = compare_unpaired(two(1, n_a, 1, n_b), "a", "b")["note"][0]
    assert ("one question of a model" in note) == is_single
    assert "one generation per question of a model" not in note


def test_two_common_questions_of_three_are_not_the_same_questions():
    scores = [[[1], [0], [1], []], [[], [1], [0], [1]]]
    columns = compare_unpaired(Cells.from_scores("b", ["a", "b"], list("pqrs"), scores), "a", "b").columns()
    assert {len(values) for values in columns.values()} == {1}
    assert (columns["n_questions_paired"][0], columns["difference_paired"][0]) == (2, 0)
    assert columns["note"][0].split("; ") == [
        "some questions are not common: the two differences are on different questions",
        "fewer than 5 degrees of freedom: read the interval with care",
    ]


def test_two_right_answers_are_no_certainty():
    """The limits are those of both scores: with scores of 100/200 and 2/2, nothing is known of the difference."""
    cells = two(100, 200, 2, 2)
    result = compare_unpaired(cells, "a", "b")
    each = score(cells).interval(0.95)
    below = np.hypot(0.5 - each.low[0], each.high[1] - 1)
    above = np.hypot(each.high[0] - 0.5, 1 - each.low[1])
    assert result["low"][0] == pytest.approx(-0.5 - below)
    assert result["high"][0] == pytest.approx(-0.5 + above)
    assert result["high"][0] > 0.1
    assert "limits are combined" in result["note"][0]


@pytest.mark.parametrize(("right", "n"), [(2, 2), (8, 8), (20, 20)])
def test_p_is_the_level_at_which_the_limits_reach_0(right, n):
    result = compare_unpaired(two(60, 120, right, n), "a", "b")
    p = result["p_value"][0]
    assert (p < 0.05) == (result["high"][0] < 0)
    assert result.interval(1 - p).high[0] == pytest.approx(0, abs=2e-3)


@pytest.mark.long
def test_equal_models_are_seldom_called_different():
    """Guarantee by simulation: P(correct) is 1/2 for both; one has 2 questions, which are alike every second time."""
    rng = np.random.default_rng(3)
    false = [
        compare_unpaired(two(rng.binomial(60, 0.5), 60, rng.binomial(2, 0.5), 2), "a", "b").interval().p_value[0] < 0.05
        for _ in range(120)
    ]
    assert np.mean(false) <= 0.1


def test_scores_of_another_scale_without_variation_have_no_interval():
    cells = two(30, 60, 5, 5)
    result = compare_unpaired(
        Cells("b", cells.models, cells.questions, cells.n, 9 * cells.total, 81 * cells.total), "a", "b"
    )
    assert np.isnan([result["low"][0], result["high"][0], result["p_value"][0]]).all()
    assert "no variation was seen" in result["note"][0]


def test_columns_are_those_of_two_models_of_three_at_the_level():
    """One question is common: p of the paired test is that of `compare`, and scores are means of each model's questions."""
    scores = {"a": [[1], [1], [1]], "b": [[1, 0], [0, 0], []], "c": [[], [1, 1], [0, 1]]}
    cells = Cells.from_scores("demo", [*scores], ["q0", "q1", "q2"], [*scores.values()])
    columns = compare_unpaired(cells, "b", "c", level=0.8).columns()
    assert (columns["model_a"], columns["model_b"]) == (["b"], ["c"])
    assert [columns["score_a"][0], columns["score_b"][0]] == pytest.approx([0.25, 0.75])
    assert columns["p_value_paired"] == pytest.approx(compare(cells, "b", "c").columns()["p_value"], nan_ok=True)
    assert "some questions are not common" in columns["note"][0]
    wide = compare_unpaired(cells, "a", "b", level=0.99).columns()
    assert wide["high"][0] > compare_unpaired(cells, "a", "b", level=0.8).columns()["high"][0]


def test_few_clusters_are_noted():
    """Three clusters have few degrees of freedom, 40 questions of their own many; these questions have no clusters."""
    right = (np.arange(80).reshape(2, 40) % 17 % 3 > 0).astype(float)
    names = ("a", "b"), tuple(f"q{i}" for i in range(40))
    single = Cells("b", *names, np.ones((2, 40), int), right, right)
    clustered = replace(single, clusters=tuple(f"c{i // 15}" for i in range(40)))
    notes = [compare_unpaired(cells, "a", "b").columns()["note"][0] for cells in (single, clustered)]
    for words in ("questions in clusters: the error is for new clusters", "fewer than 5 degrees of freedom"):
        assert [words in note for note in notes] == [False, True]
    these = compare_unpaired(clustered, "a", "b", claim="these-questions").columns()["note"][0]
    assert "clusters" not in these
