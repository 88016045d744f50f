"""Tests of self-preference and of length.

Kind of truth: hand-computed differences, a slow version by loops, the size and the power of the tests by seeded
simulation.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from howsure.stats.judges import JudgedCompletions, examine_judge, measure_position_effect


def draw(rng, *, boost=0.0, slope=0.0, n=300):
    """Two models on n questions; the judge errs more for the first by `boost`, and by `slope` per doubled length."""
    model, question = np.repeat([0, 1], n), np.tile(np.arange(n), 2)
    label = (rng.random(2 * n) < 0.5).astype(float)
    length = np.exp2(rng.uniform(4, 10, 2 * n))
    up = 0.1 + boost * (model == 0) + slope * (np.log2(length) - 4)
    judged = np.where(label == 0, rng.random(2 * n) < up, rng.random(2 * n) > 0.1).astype(float)
    return JudgedCompletions("s", ("a", "b"), tuple(map(str, range(n))), model, question, judged, label, length=length)


def test_the_difference_is_that_of_the_mean_errors():
    judged, label = [1, 1, 0, 0, 1, 0], [0, 1, 0, 1, 1, 0]
    data = JudgedCompletions("h", ("a", "b"), tuple("pqr"), [0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, judged, label)
    errors = examine_judge(data)
    assert errors["difference"].tolist() == pytest.approx([1 / 3 + 1 / 3, -2 / 3])
    assert errors["error"].tolist() == pytest.approx([1 / 3, -1 / 3])


def regress(errors, weights, groups, clusters, x, largest):
    """Slope of errors on x within groups, its error and degrees of freedom, by loops; x None: group 1 less group 0."""
    everything = range(len(errors))
    total = {g: sum(weights[r] for r in everything if groups[r] == g) for g in set(groups)}

    def off_mean(values):
        mean = {g: sum(weights[r] * values[r] for r in everything if groups[r] == g) / total[g] for g in total}
        return [values[r] - mean[groups[r]] for r in everything], mean

    residuals, mean = off_mean(errors)
    leverage = [weights[r] / total[groups[r]] for r in everything]
    if x is None:
        coefficient = mean[1] - mean[0]
        influence = [leverage[r] * (1 if groups[r] == 1 else -1) for r in everything]
    else:
        centred, _ = off_mean(x)
        square = sum(w * c * c for w, c in zip(weights, centred, strict=True))
        influence = [w * c / square for w, c in zip(weights, centred, strict=True)]
        coefficient = sum(a * e for a, e in zip(influence, errors, strict=True))
        residuals = [e - coefficient * c for e, c in zip(residuals, centred, strict=True)]
        leverage = [h + w * c * c / square for h, w, c in zip(leverage, weights, centred, strict=True)]
    variance, sizes = 0.0, []
    for name in set(clusters):
        of = [r for r in everything if clusters[r] == name]
        kept = max(1 - sum(leverage[r] for r in of), 0.1)
        variance += sum(influence[r] * residuals[r] for r in of) ** 2 / kept
        sizes.append(sum(influence[r] ** 2 for r in of))
    squares = sum(size**2 for size in sizes)
    variance += (2 if x is None else 1) * largest**2 * squares / sum(sizes)
    return coefficient, variance**0.5, sum(sizes) ** 2 / squares - 1


@pytest.mark.parametrize(("sizes", "largest"), [((24, 30, 27), 1.0), ((20, 150, 3), 2.0), ((40, 21), 1.0)])
def test_both_tests_by_loops(sizes, largest):
    """A slow version: unequal inclusion and lengths, clusters of which one holds most labels of the larger models."""
    rng = np.random.default_rng(sum(sizes))
    model = np.repeat(np.arange(len(sizes)), [n + 5 for n in sizes])
    R = len(model)
    question = rng.permutation(R)
    is_labelled = np.concatenate([np.arange(n + 5) < n for n in sizes])
    label = np.where(is_labelled, largest * rng.integers(0, 2, R), np.nan)
    judged = rng.integers(0, 3, R) / 2 * largest
    judged[-6] = np.nan  # labelled, and the judge's verdict was unreadable
    inclusion, length = rng.uniform(0.2, 1, R), np.exp2(rng.uniform(3, 8, R))
    length[0] = 0  # of an empty completion, which counts as one character
    names = np.array([f"c{q}" if q % 3 else f"d{q % 2}" for q in range(R)], dtype=object)
    if sizes[1] == 150:
        names[question[model == 1][:-6]] = "d0"
        names[question[model == 0]] = [f"e{r // 2}" for r in range(25)]
    data = JudgedCompletions(
        "b", tuple("xyz"[: len(sizes)]), tuple(map(str, range(R))), model, question, judged, label, inclusion,
        clusters=tuple(names), length=length,
    )  # fmt: skip
    found = examine_judge(data, level=0.9)
    at = np.flatnonzero(is_labelled & ~np.isnan(judged))
    error, weight = (judged - label)[at].tolist(), (1 / inclusion[at]).tolist()
    clusters, groups = names[question[at]].tolist(), model[at].tolist()
    tests = [([int(g == i) for g in groups], None) for i in range(len(sizes))]
    tests += [(groups, np.log2(np.maximum(length[at], 1)).tolist())]
    p_values = []
    for i, (each, x) in enumerate(tests):
        difference, se, df = regress(error, weight, each, clusters, x, largest)
        if df < 1 or (x is None and min(sum(each), len(each) - sum(each)) < 20):
            se = df = np.nan
        expected = (difference, se, df)
        assert (found.difference[i], found.se[i], found.df[i]) == pytest.approx(expected, rel=1e-9, nan_ok=True)
        half = stats.t.ppf(0.95, df) * se
        row = found.interval()
        assert (row.low[i], row.high[i]) == pytest.approx((difference - half, difference + half), nan_ok=True)
        p_values.append(2 * stats.t.sf(abs(difference / se), df))
        members = [r for r in range(len(at)) if x is not None or each[r]]
        assert found.n_labels[i] == len(members)
        assert found.error[i] == pytest.approx(
            np.average([error[r] for r in members], weights=[weight[r] for r in members])
        )
    assert found.p_value == pytest.approx(p_values, nan_ok=True)
    adjusted = list(p_values)
    if len(sizes) > 2:
        order = sorted((p, i) for i, p in enumerate(p_values[:-1]) if not np.isnan(p))
        for rank, (_, i) in enumerate(order):
            adjusted[i] = min(1, max(p * (len(order) - j) for j, (p, _) in enumerate(order[: rank + 1])))
    assert found.p_holm == pytest.approx(adjusted, nan_ok=True)
    columns = found.columns()
    assert (set(columns["benchmark"]), set(columns["level"])) == ({"b"}, {0.9})
    assert columns["model"].tolist() == [*"xyz"[: len(sizes)], "all"]
    # of the second case, three labels of a model, and lengths nearly all in one cluster
    assert np.isnan(found.se).tolist() == [sizes[1] == 150 and test > 1 for test in range(len(tests))]


@pytest.mark.long
def test_sizes_are_nominal():
    rng = np.random.default_rng(1)
    rejected = np.array([examine_judge(draw(rng, n=100))["p_value"] < 0.05 for _ in range(500)])
    assert np.all(np.abs(rejected.mean(axis=0) - 0.05) < 0.025)


def test_planted_effects_are_found():
    rng = np.random.default_rng(2)
    boosted = examine_judge(draw(rng, boost=0.3))
    assert boosted["low"][0] > 0
    assert boosted["p_holm"][0] < 0.01
    assert boosted["difference"][0] == pytest.approx(0.15, abs=0.06)  # half of the labels are 0
    longer = examine_judge(draw(rng, slope=0.08, n=600))
    assert longer["difference"][2] == pytest.approx(0.04, abs=0.015)
    assert longer["low"][2] > 0
    assert [line.partition(":")[0] for line in longer.sentences()] == ["self-preference", "length"]


def test_inclusion_weights_undo_an_unequal_draw():
    """Completions judged right are labelled ten times as often; weighted, the error is that of all."""
    rng = np.random.default_rng(3)
    data = draw(rng, boost=0.3, n=3000)
    inclusion = np.where(data.judged == 1, 1.0, 0.1)
    label = np.where(rng.random(6000) < inclusion, data.label, np.nan)
    sampled = JudgedCompletions(
        "s", data.models, data.questions, data.model, data.question, data.judged, label, inclusion
    )
    assert examine_judge(sampled)["difference"][0] == pytest.approx(examine_judge(data)["difference"][0], abs=0.05)


def test_a_perfect_judge_has_nothing_to_test():
    label = np.tile([1.0, 0.0], 20)
    questions = tuple(map(str, range(20)))
    data = JudgedCompletions("h", ("a", "b"), questions, np.repeat([0, 1], 20), np.tile(range(20), 2), label, label)
    errors = examine_judge(data)
    assert np.all(np.isnan(errors["low"]))
    assert errors.sentences() == []
    assert "do not vary" in errors["note"][0]


def draw_equal(rng, labels, *, boost=0.0):
    """Models with so many labels each, and a judge that says right of .2 of the wrong answers, or of .2 + `boost`."""
    model = np.repeat(np.arange(len(labels)), labels)
    question = np.concatenate([rng.choice(400, n, replace=False) for n in labels])
    label = (rng.random(len(model)) < rng.beta(2, 2, 400)[question]).astype(float)
    lenient = rng.random(len(model)) < 0.2 + boost * (model == 0)
    names = tuple(map(str, range(len(labels))))
    judged = np.where(lenient, 1.0, label)
    length = np.exp2(rng.uniform(4, 10, len(model)))
    return JudgedCompletions("s", names, tuple(map(str, range(400))), model, question, judged, label, length=length)


@pytest.mark.long
@pytest.mark.parametrize("labels", [[10] * 10, [20] * 10, [40] * 10, [40] * 5, [100] * 2, [400, 20], [400, 2]])
def test_equal_models_with_few_labels_raise_no_false_alarm(labels):
    """At most .07 in the family of models, and of the tests of length, plus two standard errors of 300 samples."""
    rng = np.random.default_rng(len(labels) + labels[-1])
    p_values = [examine_judge(draw_equal(rng, labels))["p_holm"] for _ in range(300)]
    assert np.mean([np.any(p[:-1] < 0.05) for p in p_values]) <= 0.1
    assert np.mean([p[-1] < 0.05 for p in p_values]) <= 0.1


@pytest.mark.long
@pytest.mark.parametrize(("n_models", "boost"), [(2, 0.3), (10, 0.6)])
def test_a_planted_self_preference_is_found_with_100_labels(n_models, boost):
    """Right is said of .3 more wrong answers of one of two models; of ten, of .3 more answers, half of them wrong."""
    rng = np.random.default_rng(n_models)
    found = [examine_judge(draw_equal(rng, [100] * n_models, boost=boost))["p_holm"][0] < 0.05 for _ in range(200)]
    assert np.mean(found) > 0.7


def test_a_model_with_two_labels_is_not_tested():
    errors = examine_judge(draw_equal(np.random.default_rng(4), [400, 2]))
    assert np.isnan(errors["p_value"][:2]).all()
    assert "too few labels" in errors["note"][0]
    assert "fewer than 20 labels" in errors["note"][1]


def test_position_effects_by_hand():
    """Mean of .5, 0 and .25 is .25; their standard deviation .25, and t at 2 degrees of freedom is 4.3027."""
    effect = measure_position_effect([[1, 1], [1, 0], [1, 0.5]], ["p", "q", "r"])
    assert (effect.mean, effect.n_pairs) == (0.25, 3)
    half = 4.302653 * 0.25 / 3**0.5
    assert effect.low == pytest.approx(0.25 - half, abs=1e-5)
    assert effect.high == pytest.approx(0.25 + half, abs=1e-5)
    nothing = measure_position_effect([], [])
    assert nothing.n_pairs == 0
    assert np.isnan(nothing.mean)


def test_position_effects_cover_zero_for_a_judge_without_one():
    """60 questions of 2 pairs; the judge errs at random and favours no place, P(first) is p in both orders."""
    rng = np.random.default_rng(11)
    covered = []
    for _ in range(400):
        p = np.repeat(rng.beta(2, 2, 60), 2)
        scores = np.stack([rng.random(120) < p, rng.random(120) < 1 - p], axis=1)
        effect = measure_position_effect(scores, [str(i // 2) for i in range(120)])
        covered.append(effect.low <= 0 <= effect.high)
    assert 0.92 < np.mean(covered) < 0.98


def test_completions_of_one_length_have_no_test_of_length():
    data = draw(np.random.default_rng(5), n=40)
    assert "length" in examine_judge(data)["test"].tolist()
    assert "length" not in examine_judge(replace(data, length=np.full(80, 100.0)))["test"].tolist()


def test_labels_in_one_cluster_have_no_test():
    """All labels of b are of one cluster: the degrees of freedom are below 1."""
    data = draw(np.random.default_rng(6), n=60)
    one = examine_judge(replace(data, clusters=("c",) * 60))
    assert np.isfinite(one["difference"]).all()
    assert np.isnan(one["se"]).all()
    assert np.isnan(one["p_value"]).all()


@pytest.mark.parametrize(
    ("scores", "text"),
    [
        ([], "no pair was judged in both orders"),
        ([[1, 0.5]], "the first completion of a pair gets +0.250 more than half of the score (1 pair in both orders)"),
    ],
)
def test_a_position_effect_without_an_interval_prints_none(scores, text):
    assert str(measure_position_effect(scores, [f"q{i}" for i in range(len(scores))])) == text


def test_lengths_that_span_no_doubling_say_nothing_of_one():
    """Planted: of lengths that differ by a few characters the slope is an extrapolation, also with one long outlier."""
    rng = np.random.default_rng(7)
    data = draw(rng, slope=0.08, n=100)
    length = rng.integers(46, 53, 200).astype(float)
    length[0] = 5000
    errors = examine_judge(replace(data, length=length))
    assert [bool(np.isnan(errors[name][2])) for name in ("difference", "se", "low", "p_holm")] == [True] * 4
    assert "less than a doubling" in errors["note"][2]
    assert "less than a doubling" in errors.sentences()[-1]
    # Models that answer at 50 and at 400 characters say nothing of the length: each has a mean of its own.
    of_models = examine_judge(replace(data, length=np.where(data.model == 0, length, 8 * length)))
    assert np.isnan(of_models["difference"][2])
    doubled = examine_judge(replace(data, length=50 * np.exp2(rng.uniform(0, 1.2, 200))))
    assert np.isfinite(doubled["low"][2])
    assert not doubled["note"][2]
