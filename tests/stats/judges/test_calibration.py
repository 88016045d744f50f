"""Scores corrected by people's labels.

Kind of truth: other programs' output (truescore 0.7.4 and ppi_py 0.2.3 on the same data), a slow version by loops,
hand-computed values, and coverage by seeded simulation.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import judging
from scipy import stats

from howsure.errors import InputError, UnknownNameError
from howsure.stats.judges import (
    JudgedCompletions,
    calibrate,
    calibrate_difference,
    measure_accuracy,
    measure_agreement,
)
from howsure.stats.scores import wilson


def reference_data():
    """Two judged models on 300 questions, 60 of which are labelled for both."""
    rng = np.random.default_rng(20261122)
    y = (rng.random(300) < 0.65).astype(float)
    f = np.where(rng.random(300) < 0.12, 1 - y, y)
    labelled = np.isin(np.arange(300), rng.choice(300, 60, replace=False))
    z = (rng.random(300) < 0.55).astype(float)
    g = np.where(rng.random(300) < 0.12, 1 - z, z)
    return JudgedCompletions(
        "reference",
        ("a", "b"),
        tuple(map(str, range(300))),
        np.repeat([0, 1], 300),
        np.tile(np.arange(300), 2),
        np.concatenate([f, g]),
        np.concatenate([np.where(labelled, y, np.nan), np.where(labelled, z, np.nan)]),
    )


def test_a_fixed_weight_gives_the_estimate_of_ppi_py():
    """With n labelled and m other completions, their weight .4 is ours of .4 (n + m)/m; theirs: .5379 to .7455."""
    result = calibrate(reference_data(), weight=0.4 * 300 / 240)
    assert result.score[0] == pytest.approx(0.64166667, abs=1e-7)
    # Theirs is the normal interval with the variance of n; ours has t, n - 1 and two pseudo-labels.
    limits = result.interval()
    assert 1 < (limits.high[0] - limits.low[0]) / (0.7454757 - 0.53785764) < 1.12


def test_the_tuned_estimate_is_that_of_truescore_up_to_the_weight():
    """Theirs is 0.6430 [0.5387, 0.7473] and 0.13427 for the difference; the weights differ by n/(n - 1)."""
    data = reference_data()
    result = calibrate(data)
    assert result.score[0] == pytest.approx(0.6430, abs=2e-4)
    assert 1 < (result.interval().high[0] - result.interval().low[0]) / (0.7473 - 0.5387) < 1.12
    difference = calibrate_difference(data, "a", "b")
    assert difference.difference == pytest.approx(0.1342657, abs=0.004)
    assert difference.se * 2 * 1.96 == pytest.approx(0.27529, rel=0.12)


def test_rogan_gladen_is_that_of_truescore_on_one_model():
    """Theirs is 0.6608 [0.4700, 0.8515]."""
    data = reference_data()
    first = data.model == 0
    one = JudgedCompletions(
        "one", ("a",), data.questions, data.model[first], data.question[first], data.judged[first], data.label[first]
    )
    result = calibrate(one, method="rogan-gladen")
    assert result.score[0] == pytest.approx(0.6608, abs=5e-5)
    assert result.interval().high[0] - result.interval().low[0] == pytest.approx(0.3815, rel=0.15)


def test_rogan_gladen_by_hand():
    """Judged right: 6 of 10. Labels: 3 of 4 right ones judged right, 2 of 2 wrong ones judged wrong. (.6+1-1)/.75."""
    judged = [1, 1, 1, 0, 0, 0, 1, 1, 1, 0]
    label = [1, 1, 1, 1, 0, 0, *[np.nan] * 4]
    data = JudgedCompletions("hand", ("a",), tuple("abcdefghij"), [0] * 10, range(10), judged, label)
    accuracy = measure_accuracy(data)
    assert (accuracy.sensitivity, accuracy.specificity) == (0.75, 1.0)
    assert calibrate(data, method="rogan-gladen").score[0] == pytest.approx(0.8)
    rows = [(i, f, None if np.isnan(y) else y, 1.0) for i, (f, y) in enumerate(zip(judged, label, strict=True))]
    assert judging.rogan_gladen(rows) == pytest.approx(0.8)


def test_the_intervals_of_a_judges_accuracy_are_exact_and_count_one_cluster_once():
    """Against scipy: 3 of 3 right and 1 of 4 wrong; weights 1, 1 and 4 of three questions are 36/18 = 2 labels."""
    data = JudgedCompletions("h", ("a",), tuple("abcdefg"), [0] * 7, range(7), [1, 1, 1, 1, 1, 1, 0], [1] * 3 + [0] * 4)
    accuracy = measure_accuracy(data)
    expected = [stats.binomtest(k, n).proportion_ci(0.9, "exact") for k, n in ((3, 3), (1, 4))]
    limits = accuracy.interval(0.9)
    assert np.stack([limits.low, limits.high], axis=1) == pytest.approx(np.array(expected))
    assert accuracy.describe(0.9).startswith("the judge says right of 1.000 [0.368, 1.000] of what people score right")
    pairs = JudgedCompletions("h", ("a", "b"), tuple("pq"), [0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 0], [1, 0, 1, 0])
    assert (measure_accuracy(pairs).right_size, measure_accuracy(pairs).wrong_size) == (1, 1)
    clustered = JudgedCompletions("h", ("a",), tuple("abc"), [0] * 3, range(3), [1] * 3, [1] * 3, clusters=tuple("xxy"))
    assert measure_accuracy(clustered).right_size == pytest.approx(9 / 5)
    drawn = JudgedCompletions("h", ("a",), tuple("abc"), [0] * 3, range(3), [1] * 3, [1] * 3, inclusion=[1, 1, 0.25])
    accuracy = measure_accuracy(drawn)
    assert accuracy.right_size == pytest.approx(2)
    assert accuracy.describe(0.95) == "the judge says right of 1.000 [0.158, 1.000] of what people score right"
    assert np.isnan(accuracy.interval(0.95).high[1])


def test_a_useless_judge_has_no_rogan_gladen_estimate():
    data = JudgedCompletions("coin", ("a",), tuple("abcd"), [0] * 4, range(4), [1, 0, 1, 0], [1, 1, 0, 0])
    result = calibrate(data, method="rogan-gladen")
    assert np.isnan(result.score[0])
    assert "says right as often" in result["note"][0]


def test_a_tiny_weight_has_an_estimate():
    labels = [0, np.nan, np.nan, 0]
    data = JudgedCompletions("tiny", ("a",), tuple("ab"), [0] * 4, [0, 0, 0, 1], [0.0, 0, 0, 0.5], labels, [1.0] * 4)
    assert calibrate(data, weight=8.4e-104).score[0] == pytest.approx(0)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_estimate_is_that_of_the_loops(data):
    """Unequal numbers of completions, unequal inclusion and any weight."""
    n = data.draw(st.integers(4, 30))
    questions = [data.draw(st.integers(0, 6)) for _ in range(n)]
    judged = [data.draw(st.sampled_from([0.0, 0.5, 1.0])) for _ in range(n)]
    labels = [data.draw(st.sampled_from([None, 0.0, 1.0])) for _ in range(n)]
    inclusion = [data.draw(st.sampled_from([0.1, 0.5, 1.0])) for _ in range(n)]
    weight = data.draw(st.floats(0, 1))
    rows = list(zip(questions, judged, labels, inclusion, strict=True))
    judgements = JudgedCompletions(
        "loops",
        ("a",),
        tuple("abcdefg"),
        [0] * n,
        questions,
        judged,
        [np.nan if label is None else label for label in labels],
        inclusion,
    )
    result = calibrate(judgements, weight=weight)
    if len({q for q, label in zip(questions, labels, strict=True) if label is not None}) < 2:
        assert np.isnan(result.score[0])
        assert result["note"][0]
    else:
        assert result.score[0] == pytest.approx(judging.corrected_mean(rows, weight))


def independent(judged, label):
    N = len(label)
    return JudgedCompletions("d", ("a",), tuple(map(str, range(N))), [0] * N, range(N), judged, label)


def test_labels_of_everything_are_their_mean_whatever_the_judge_says():
    rng = np.random.default_rng(3)
    label = (rng.random(200) < 0.3).astype(float)
    for judged in (label, 1 - label, np.ones(200)):
        assert calibrate(independent(judged, label)).score == pytest.approx(label.mean())


def test_a_judge_that_always_says_right_weighs_nothing():
    label = np.array([1.0, 0.0] * 10 + [np.nan] * 80)
    data = JudgedCompletions("d", ("a",), tuple(map(str, range(100))), [0] * 100, range(100), np.ones(100), label)
    result = calibrate(data)
    assert result.judge_weight[0] == 0
    assert result.score[0] == 0.5


def test_no_disagreement_in_ten_labels_is_no_certainty():
    """An error rate of 3/10 or less is not excluded by ten labels without an error: the interval reaches that far."""
    judged = np.array([1.0] * 50 + [0.0] * 50)
    label = np.where(np.arange(100) % 10 == 0, judged, np.nan)
    limits = calibrate(independent(judged, label)).interval()
    assert limits.high - limits.low > 0.3


def test_few_labels_are_noted():
    data = reference_data()
    few = np.where(np.cumsum(~np.isnan(data.label)) <= 19, data.label, np.nan)
    result = calibrate(
        JudgedCompletions("few", data.models, data.questions, data.model, data.question, data.judged, few)
    )
    by_model = {row["model"]: row for row in result}
    assert "only 19 labels" in by_model["a"]["note"]
    assert np.isnan(by_model["b"]["score"])
    assert "0 labels" in by_model["b"]["note"]


def test_each_model_with_too_few_labels_says_so():
    """One label of a, and none of b: neither has a corrected score, whichever has more."""
    data = reference_data()
    one = np.where((data.model == 0) & (np.cumsum(~np.isnan(data.label)) <= 1), data.label, np.nan)
    result = calibrate(
        JudgedCompletions("few", data.models, data.questions, data.model, data.question, data.judged, one)
    )
    notes = {row["model"]: row["note"] for row in result}
    assert notes["a"] == "1 label: too few to correct the judge's score"
    assert notes["b"] == "0 labels: too few to correct the judge's score"


def test_a_note_on_a_difference_names_the_model_with_few_labels():
    data = reference_data()
    for n, note in ((0, "b: 0 labels: too few to correct the judge's score"), (19, "b: only 19 labels")):
        is_kept = (data.model == 0) | (np.cumsum((data.model == 1) & ~np.isnan(data.label)) <= n)
        few = replace(data, label=np.where(is_kept, data.label, np.nan))
        assert calibrate_difference(few, "a", "b").reason.startswith(note)


def test_unreadable_verdicts_are_left_out():
    data = reference_data()
    judged = np.where(np.arange(600) % 7 == 0, np.nan, data.judged)
    result = calibrate(
        JudgedCompletions("gaps", data.models, data.questions, data.model, data.question, judged, data.label)
    )
    assert result.n_completions.tolist() == [257, 257]


def test_wrong_arguments_are_refused():
    data = reference_data()
    with pytest.raises(UnknownNameError, match="rogan-gladen"):
        calibrate(data, method="rogan")
    with pytest.raises(InputError, match="weight"):
        calibrate(data, weight=2.0)
    with pytest.raises(UnknownNameError, match="unknown model 'A'"):
        calibrate_difference(data, "A", "b")
    with pytest.raises(InputError, match="inclusion"):
        JudgedCompletions("x", ("a",), ("q",), [0], [0], [1.0], [1.0], [0.0])
    with pytest.raises(InputError, match="length"):
        JudgedCompletions("x", ("a",), ("q",), [0], [0, 1], [1.0], [1.0])
    scores = np.where(np.isnan(data.label), np.nan, 0.5)
    graded = JudgedCompletions("x", data.models, data.questions, data.model, data.question, data.judged, scores)
    with pytest.raises(InputError, match="0 and 1"):
        calibrate(graded, method="rogan-gladen")


def draw_sample(rng, boost):
    """Two models of equal true score 0.5 on 150 questions with 2 completions; the judge favours the first by `boost`."""
    p = np.tile(np.repeat(rng.beta(1, 1, 150), 2), 2)
    model, question = np.repeat([0, 1], 300), np.tile(np.repeat(np.arange(150), 2), 2)
    y = (rng.random(600) < p).astype(float)
    lift = np.where(model == 0, boost, 0)
    judged = np.where(y == 1, rng.random(600) < 0.85 + lift, rng.random(600) > 0.85 - lift).astype(float)
    label = np.full(600, np.nan)
    for m in (0, 1):
        drawn = rng.choice(np.flatnonzero(model == m), 60, replace=False)
        label[drawn] = y[drawn]
    return JudgedCompletions("s", ("a", "b"), tuple(map(str, range(150))), model, question, judged, label)


@pytest.mark.long
def test_coverage_under_self_preference():
    """A judge that favours a model by .1: PPI covers scores and differences, the judge's own do not."""
    rng = np.random.default_rng(11)
    covered = {"ppi": [], "raw": []}
    of_difference = {"ppi": [], "raw": []}
    for _ in range(300):
        data = draw_sample(rng, 0.1)
        for method in ("ppi", "raw"):
            limits = calibrate(data, method=method).interval()
            covered[method].append(limits.low[0] <= 0.5 <= limits.high[0])
            limits = calibrate_difference(data, "a", "b", method=method).interval()
            of_difference[method].append(limits.low[0] <= 0 <= limits.high[0])
    assert np.mean(covered["ppi"]) > 0.93
    assert np.mean(of_difference["ppi"]) > 0.93
    assert np.mean(covered["raw"]) < 0.3
    assert np.mean(of_difference["raw"]) < 0.3


def draw_unevenly(rng, score, verdict):
    """Return a model on 300 questions, a judge with errors of 10 %, and 60 labels, 8 times as often of one verdict."""
    right = rng.random(300) < rng.beta(2 * score, 2 * (1 - score), 300)
    judged = np.where(rng.random(300) < 0.1, ~right, right).astype(float)
    often = np.where(judged == verdict, 8, 1)
    inclusion = np.minimum(60 * often / often.sum(), 1)
    label = np.where(rng.random(300) < inclusion, right, np.nan)
    names = tuple(map(str, range(300)))
    return JudgedCompletions("s", ("a",), names, np.zeros(300), np.arange(300), judged, label, inclusion)


@pytest.mark.parametrize(("score", "verdict"), [(0.95, 1), (0.6, 1), (0.2, 0)])
def test_coverage_where_people_labelled_one_verdict_more_often(score, verdict):
    """Two pseudo-labels of the weight 1/n covered .47, .88 and .63."""
    rng = np.random.default_rng(3)
    covered = []
    for _ in range(200):
        limits = calibrate(draw_unevenly(rng, score, verdict)).interval()
        covered.append(limits.low[0] <= score <= limits.high[0])
    assert np.mean(covered) >= 0.93


@pytest.mark.parametrize("score", [0.6, 0.95])
def test_the_error_of_uneven_labels_is_that_of_the_loops(score):
    for seed in range(10):
        data = draw_unevenly(np.random.default_rng(seed), score, 1)
        columns = (data.question, data.judged, data.label, data.inclusion)
        rows = [(q, f, None if np.isnan(y) else y, p) for q, f, y, p in zip(*columns, strict=True)]
        assert calibrate(data, weight=0.8).se[0] == pytest.approx(judging.corrected_error(rows, 0.8), rel=1e-9)


def test_labels_that_count_less_are_noted():
    notes = [str(calibrate(draw_unevenly(np.random.default_rng(1), 0.95, kind))["note"][0]) for kind in (0, 1)]
    assert "labels count as" in notes[1]
    assert "labels count as" not in notes[0]


def draw_refused(rng, error):
    """Two models on 200 questions: 30 % refused, true score .6 of the others; 60 labels of each that is not refused."""
    model, question = np.repeat([0, 1], 200), np.tile(np.arange(200), 2)
    refused = rng.random(400) < 0.3
    y = (rng.random(400) < 0.6) & ~refused
    judged = np.where(refused, 0.0, np.where(rng.random(400) < error, ~y, y))
    label = np.full(400, np.nan)
    inclusion = np.zeros(400)
    for m in (0, 1):
        here = np.flatnonzero((model == m) & ~refused)
        inclusion[here] = 60 / len(here)
        drawn = rng.choice(here, 60, replace=False)
        label[drawn] = y[drawn]
    names = tuple(map(str, range(200)))
    return JudgedCompletions("r", ("a", "b"), names, model, question, judged, label, inclusion, is_known=refused)


@pytest.mark.long
@pytest.mark.parametrize("error", [0.15, 0.3])
def test_known_scores_of_refusals_are_no_estimate(error):
    """Coverage of .42, the score of all completions, by each method that uses the labels; and of the difference."""
    rng = np.random.default_rng(round(100 * error))
    covered = []
    for _ in range(500):
        data = draw_refused(rng, error)
        row = []
        for method in ("ppi", "labels", "rogan-gladen"):
            one = calibrate(data, method=method).interval()
            two = calibrate_difference(data, "a", "b", method=method).interval()
            row += [one.low[0] <= 0.42 <= one.high[0], two.low[0] <= 0 <= two.high[0]]
        covered.append(row)
    assert np.all(np.mean(covered, axis=0) >= 0.93)


def test_known_scores_by_hand():
    """4 of 10 refused; of the others 4 are judged right; labels 1, 1, 0 of 3, judged 1, 1, 1: known 0, share .6."""
    judged = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    label = [1, 1, 0, np.nan, 0, *[np.nan] * 5]
    known = np.arange(10) >= 6
    data = JudgedCompletions("h", ("a",), tuple("abcdefghij"), [0] * 10, range(10), judged, label, is_known=known)
    assert calibrate(data, method="labels").score[0] == pytest.approx(0.6 * 2 / 4)
    assert calibrate(data, weight=1.0).score[0] == pytest.approx(0.6 * (2 / 4 + 4 / 6 - 3 / 4))
    accuracy = measure_accuracy(data)
    assert (accuracy.sensitivity, accuracy.specificity, accuracy.n_labels) == (1.0, 0.5, 4)
    assert calibrate(data, method="rogan-gladen").score[0] == pytest.approx(0.6 * (4 / 6 - 0.5) / 0.5)
    assert calibrate(data, method="raw").score[0] == pytest.approx(0.4)
    all_known = JudgedCompletions("h", ("a",), tuple("ab"), [0, 0], [0, 1], [0, 0], [np.nan] * 2, is_known=[1, 1])
    result = calibrate(all_known)
    assert result.score[0] == 0
    assert "known without a judge" in result["note"][0]


def test_reviewers_who_differ_leave_the_accuracy_of_the_other_labels():
    judged, label = [1, 1, 0, 0, 1], [1, 0, 0, 1, 0.5]
    data = JudgedCompletions("h", ("a",), tuple("abcde"), [0] * 5, range(5), judged, label)
    accuracy = measure_accuracy(data)
    assert (accuracy.sensitivity, accuracy.specificity) == (0.5, 0.5)
    assert (accuracy.n_labels, accuracy.n_between) == (4, 1)


def test_differences_of_models_without_a_common_question_are_refused():
    data = JudgedCompletions("d", ("a", "b"), ("p", "q"), [0, 1], [0, 1], [1.0, 0.0], [1.0, 0.0])
    with pytest.raises(InputError, match="no question was judged for both 'a' and 'b'"):
        calibrate_difference(data, "a", "b")


def test_scores_on_another_scale_by_hand():
    """Ratings to 10, the first four of six labelled, weight 1: 6.5 + (mean judge error of the labels is -1/2)."""
    judged, label = [8.0, 6, 4, 10, 9, 2], [8.0, 7, 4, 11, np.nan, np.nan]
    data = JudgedCompletions("d", ("a",), tuple("pqrstu"), [0] * 6, range(6), judged, label)
    result = calibrate(data, weight=1.0)
    assert result.score[0] == pytest.approx(6.5 + 0.5)
    assert result.interval(0.99).high[0] > 8
    accuracy = measure_accuracy(data)
    assert np.isnan([accuracy.sensitivity, accuracy.specificity]).all()
    assert accuracy.n_labels == 4
    assert data.largest_error == 11 - 2


def test_a_model_without_a_verdict_and_labels_of_one_cluster_have_no_score():
    nothing = JudgedCompletions("d", ("a", "b"), tuple("pq"), [0, 0], [0, 1], [1.0, 0.0], [1.0, 0.0])
    assert np.isnan(calibrate(nothing).score[1])
    known = JudgedCompletions("d", ("a", "b"), ("p",), [0], [0], [0.0], [np.nan], is_known=[True])
    assert np.isnan(calibrate(nothing, method="raw").score[1])
    assert np.isnan(calibrate(known).score[1])
    one = JudgedCompletions(
        "d", ("a",), tuple("pqrs"), [0] * 4, range(4), [1.0, 0, 1, 0], [1.0, 0, np.nan, np.nan], clusters=tuple("xxyy")
    )
    assert np.isnan(calibrate(one, method="rogan-gladen").score[0])
    two = JudgedCompletions(
        "d", ("a",), tuple("pqrs"), [0] * 4, range(4), [1.0, 0, 1, 0], [1.0, 0, np.nan, np.nan], clusters=tuple("xyzz")
    )
    assert calibrate(two, method="rogan-gladen").score[0] == pytest.approx(0.5)


def test_the_rows_of_one_model_by_hand():
    """Three completions of a on two questions of one cluster count; the fourth has no verdict that could be read."""
    model, question = [0, 1, 0, 0, 0], [2, 0, 2, 0, 1]
    judged, label = [1.0, 1.0, 0.0, 0.5, np.nan], [1.0, 1.0, 0.0, np.nan, 1.0]
    data = JudgedCompletions(
        "d", ("a", "b"), tuple("pqr"), model, question, judged, label, [0.5, 1, 0.2, 0.1, 0.1], clusters=tuple("cdc")
    )
    rows = data.select(0)
    assert rows.questions.tolist() == [0, 2]
    assert rows.place.tolist() == [1, 1, 0]
    assert rows.weight.tolist() == [0.5, 0.5, 1]
    assert (rows.judged.tolist(), rows.label.tolist()) == ([1, 0, 0.5], [1, 0, 0])
    assert rows.sampling.tolist() == [2, 5, 0]
    assert (rows.clusters.tolist(), rows.n_labelled_clusters) == (["c", "c"], 1)
    assert rows.is_known.tolist() == [False] * 3
    assert rows.sum_by_question(np.array([1.0, 3, 5])).tolist() == [5, 2]
    some = data.select(0, np.array([0, 1]))
    assert (some.questions.tolist(), some.judged.tolist(), some.n_labelled_clusters) == ([0], [0.5], 0)
    assert (data.n_labels.tolist(), data.n_unreadable.tolist()) == ([2, 1], [1, 0])
    assert (data.is_unit, data.largest_error) == (True, 1)
    # A question that is a cluster of its own, equal chances, and a score that is known without a judge.
    known = JudgedCompletions(
        "d", ("a", "b"), tuple("pqr"), model, question, judged, label, is_known=[True, False, False, False, False]
    )
    rows = known.select(0)
    assert rows.is_known.tolist() == [True, False, False]
    assert (rows.label.tolist(), rows.sampling.tolist()) == ([0, 0, 0], [0, 1, 0])
    assert (rows.clusters.tolist(), known.n_labels.tolist()) == (["p", "r"], [1, 1])


def test_the_agreement_on_three_words_by_hand():
    """3 of 5 agree; by chance (2 x 2 + 1 x 2 + 2 x 1)/25 = .32 would, so that kappa is .28/.68. Wilson's by scipy."""
    found = measure_agreement(list("aabcc"), list("abbca"), level=0.9, unit="answers")
    assert " of 5 answers, kappa 0.41" in str(found)
    assert (found.n, found.agreement, found.kappa) == (5, 0.6, pytest.approx(0.28 / 0.68))
    expected = stats.binomtest(3, 5).proportion_ci(0.9, "wilson")
    assert (found.limits.low[0], found.limits.high[0]) == pytest.approx((expected.low, expected.high))
    assert found.limits.level == 0.9


def test_the_agreement_of_two_reviewers_is_a_sentence():
    """By hand: 3 of 4 agree; Cohen's kappa is 1/2 in the example of the docstring, and unknown where all say yes."""
    text = str(measure_agreement(["yes", "yes", "no", "no"], ["yes", "no", "no", "no"], reviewers=("ann", "")))
    low, high = wilson([3], [4], 0.95)
    limits = f"[{low[0]:.3f}, {high[0]:.3f}]"
    assert text == f"ann and (no name) agree on 0.750 {limits} of 4 completions, kappa 0.50"
    assert "kappa" not in str(measure_agreement(["yes"] * 3, ["yes"] * 3))


def test_the_rows_of_raw_scores_by_hand():
    """Scores 0, 0, 1 of b and 1, 1, 0 of a: means 1/3 and 2/3, errors sqrt((1/3)/3); differences 1, 1, -1 by question."""
    judged = [0.0, 0, 1, 1, 1, 0]
    label = [np.nan, np.nan, np.nan, 1.0, np.nan, np.nan]
    data = JudgedCompletions("demo", ("b", "a"), tuple("pqr"), [0] * 3 + [1] * 3, [0, 1, 2] * 2, judged, label)
    columns = {name: values.tolist() for name, values in calibrate(data, method="raw", level=0.9).columns().items()}
    half = stats.t.ppf(0.95, 2) / 3
    assert columns.pop("se") == pytest.approx([1 / 3, 1 / 3])
    assert columns.pop("df") == pytest.approx([2, 2])
    assert columns.pop("low") == pytest.approx([max(2 / 3 - half, 0), max(1 / 3 - half, 0)])
    assert columns.pop("high") == pytest.approx([min(2 / 3 + half, 1), min(1 / 3 + half, 1)])
    assert columns.pop("score") == columns.pop("judge_score") == pytest.approx([2 / 3, 1 / 3])
    note = "the judge's opinion: no correction by people's labels"
    assert columns == {
        "benchmark": ["demo"] * 2,
        "model": ["a", "b"],
        "n_questions": [3, 3],
        "n_completions": [3, 3],
        "n_labels": [1, 0],
        "level": [0.9] * 2,
        "judge_weight": [1.0] * 2,
        "method": ["raw"] * 2,
        "note": [note] * 2,
    }
    difference = calibrate_difference(data, "a", "b", method="raw", level=0.5)
    columns = {name: values.tolist() for name, values in difference.columns().items()}
    half = 2 / 3 * stats.t.ppf(0.75, 2)
    numbers = [
        columns.pop(name)[0] for name in ("judge_difference", "difference", "se", "df", "low", "high", "p_value")
    ]
    assert numbers == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2, 1 / 3 - half, 1 / 3 + half, 2 * stats.t.sf(0.5, 2)])
    assert columns == {
        "benchmark": ["demo"],
        "model_a": ["a"],
        "model_b": ["b"],
        "n_questions": [3],
        "n_labels_a": [1],
        "n_labels_b": [0],
        "level": [0.5],
        "judge_weight": [1.0],
        "method": ["raw"],
        "note": [note],
    }


def test_a_corrected_difference_is_at_most_one_by_hand():
    """The judge takes 3/4 of right and 1/4 of wrong answers for right: a difference of 1 would be 1/(1/2)."""
    judged, label = [1.0] * 8 + [0.0] * 8, [1.0, 1, 1, 0] + [np.nan] * 4 + [0.0, 0, 0, 1] + [np.nan] * 4
    names = tuple(map(str, range(8)))
    data = JudgedCompletions("d", ("a", "b"), names, [0] * 8 + [1] * 8, [*range(8)] * 2, judged, label)
    for a, b, value in (("a", "b", 1), ("b", "a", -1)):
        difference = calibrate_difference(data, a, b, method="rogan-gladen")
        assert difference.difference == value
        assert difference["note"].tolist() == ["supposes that the judge errs alike on all models"]
