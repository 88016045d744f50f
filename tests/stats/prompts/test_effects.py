"""Main effects of values: least squares, planted effects, seeded simulation."""

import numpy as np
import pytest
from oracles import variants as oracle

from howsure.errors import InputError
from howsure.stats.core.cube import Cube
from howsure.stats.prompts.effects import estimate_effects, estimate_question_variance
from howsure.stats.prompts.moments import summarize_variants


def test_effects_against_least_squares_and_planted_values():
    rng = np.random.default_rng(3)
    values = {
        "separator": rng.choice(["comma", "line", "tab"], 60).tolist(),
        "enumerator": rng.choice(["A", "1"], 60).tolist(),
    }
    planted = np.array([{"comma": -0.03, "line": 0.0, "tab": 0.03}[v] for v in values["separator"]])
    x = np.stack([0.6 + planted + rng.normal(0, 0.01, 60), 0.6 + rng.normal(0, 0.01, 60)])
    found = estimate_effects("b", ["a", "b"], x, values)
    slow = oracle.effects(x[0].tolist(), values)
    ours = dict(zip(zip(found.dimensions, found.values, strict=True), found.effect[0], strict=True))
    assert ours == pytest.approx(slow)
    between = found.interval()
    assert between.low[0, found.values.index("tab")] > 0
    assert found.columns()["effect"].shape == (10,)


def test_coverage_of_effects():
    """A guarantee by seeded simulation."""
    rng = np.random.default_rng(4)
    values = {"d": rng.choice(["a", "b"], 20).tolist()}
    x = rng.normal(0, 1, (500, 20)) + np.array([{"a": 0.3, "b": -0.3}[v] for v in values["d"]])
    found = estimate_effects("b", [str(i) for i in range(500)], x, values).interval()
    assert np.mean((found.low[:, 0] <= 0.3) & (found.high[:, 0] >= 0.3)) > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 500)


def test_effects_that_are_none_are_rarely_claimed():
    """A guarantee by seeded simulation: any of three dimensions' values, 400 models that no value matters to."""
    rng = np.random.default_rng(5)
    values = {name: rng.choice(list("abc"), 40).tolist() for name in ("d", "e", "f")}
    columns = estimate_effects("b", [str(i) for i in range(400)], rng.normal(0, 1, (400, 40)), values).columns()
    share = {name: np.mean(columns[name].reshape(400, 9).min(axis=1) < 0.05) for name in ("p_value", "p_holm")}
    assert share["p_holm"] < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 400)
    assert share["p_value"] > 0.15


SPACE = {"enumerator": 6, "wrapper": 4, "separator": 7, "order": 5}


def points(S, rng):
    """S points of a space of the size of multiple-choice's, as they are drawn: uniform and independent."""
    return {name: [f"{name}{v}" for v in rng.integers(0, size, S)] for name, size in SPACE.items()}


def test_few_draws_are_fitted_by_each_dimension_itself():
    """A slow version: one-way analysis of variance, a dimension at a time; one model lacks variants."""
    rng = np.random.default_rng(8)
    values, x = points(20, rng), rng.normal(0.6, 0.05, (2, 20))
    x[1, 3] = np.nan
    found = estimate_effects("b", ["m", "n"], x, values)
    assert found.separate.tolist() == [True, True]
    for m in range(2):
        there = ~np.isnan(x[m])
        for name, each in values.items():
            slow = oracle.effects_alone(x[m, there].tolist(), [v for v, seen in zip(each, there, strict=True) if seen])
            at = [i for i, of in enumerate(found.dimensions) if of == name and found.n_variants[m, i] > 0]
            if len(at) < sum(of == name for of in found.dimensions):
                assert np.isnan(found.effect[m, at]).all()  # a value that it lacks is in the mean over values
                continue
            expected = np.array([slow[found.values[i]] for i in at])
            assert found.effect[m, at] == pytest.approx(expected[:, 0])
            assert found.variance[m, at] == pytest.approx(expected[:, 1])
            assert found.df[m, at].tolist() == expected[:, 2].tolist()
    told = found.columns()["note"]
    assert all(
        "dimension fitted by itself: the others are noise" in note for note in told[~np.isnan(found.effect.ravel())]
    )
    # theory: a mean and 18 coefficients; from 37 draws on as many degrees of freedom as these are left
    for S, alone in ((36, True), (37, False)):
        many = {name: rng.permutation(np.arange(S) % size).astype(str).tolist() for name, size in SPACE.items()}
        assert estimate_effects("b", ["m"], rng.normal(0, 1, (1, S)), many).separate.tolist() == [alone]


@pytest.mark.long
def test_effects_from_twenty_draws_are_unbiased_and_covered():
    """A guarantee by seeded simulation: planted effects in four dimensions, 500 samples of 20 points each."""
    rng, samples = np.random.default_rng(9), 500
    planted = {name: rng.normal(0, 0.03, size) for name, size in SPACE.items()}
    truth_of = {f"{name}{v}": effect for name, each in planted.items() for v, effect in enumerate(each)}
    off, covered = {name: [] for name in truth_of}, []
    for _ in range(samples):
        values = points(20, rng)
        x = 0.6 + sum(np.array([truth_of[v] for v in each]) for each in values.values()) + rng.normal(0, 0.02, 20)
        found = estimate_effects("b", ["m"], x, values)
        assert found.separate.all()
        raw, of = np.array([truth_of[v] for v in found.values]), np.array(found.dimensions)
        truth = raw - np.array([raw[of == name].mean() for name in of])
        for name, error in zip(found.values, found.effect[0] - truth, strict=True):
            off[name].append(error)
        between = found.interval()
        covered.append(np.mean((between.low[0] <= truth) & (truth <= between.high[0])))
    for each in (*off.values(), np.array(covered) - 0.95):
        assert abs(np.mean(each)) < 4 * np.std(each) / np.sqrt(len(each))


def test_effects_that_cannot_be_told():
    x = np.array([[0.1, 0.2, 0.3, np.nan, 0.5, 0.4, 0.3, 0.2], [np.nan] * 8])
    same = ["a", "b", "b", "a", "a", "b", "b", "b"]
    found = estimate_effects("b", ["m", "n"], x, {"one": ["x"] * 8, "own": list("12345678"), "d": same, "twin": same})
    assert found.left_out == {"one": "it has one value", "own": "8 values in 8 variants"}
    assert np.isnan(found.effect).all()
    notes = found.columns()["note"]
    assert "cannot be separated from other values" in notes[0]
    assert "drawn fewer than 3 times" in notes[0]
    assert "own left out: 8 values" in notes[0]
    assert len(estimate_effects("b", ["m"], x[:1], {"one": ["x"] * 8}).values) == 0
    with pytest.raises(InputError, match="scores have shape"):
        estimate_effects("b", ["m"], x, {})


@pytest.mark.parametrize("nested", [True, False])
def test_one_question_and_nested_variants_tell_no_variance_over_questions(nested):
    questions = list("pq")[: 1 + nested]
    scores = [[[[1.0, 0.0]] * 4 for _ in questions]]
    values = {"style": ("x", "x", "y", "y")}
    cube = Cube.from_scores("b", ["a"], questions, list("1234"), scores, values=values, nested=nested)
    found = estimate_question_variance(summarize_variants(cube))
    assert np.isnan(found.variance).all()
    assert np.isnan(found.error).all()


def test_values_of_single_variants_tell_no_variance_over_questions():
    """No two variants have one value, and all variants have one value."""
    scores = [[[[1.0], [0.0], [1.0]], [[0.0], [0.0], [1.0]], [[1.0], [1.0], [0.0]]]]
    values = {"each": ("x", "y", "z"), "same": ("u", "u", "u")}
    cube = Cube.from_scores("b", ["a"], list("pqr"), list("123"), scores, values=values)
    assert np.isnan(estimate_question_variance(summarize_variants(cube)).variance).all()


@pytest.mark.parametrize("N", [2, 6])
def test_the_variance_over_questions_by_loops(N):
    """A slow version: products of residuals over ordered pairs of variants, and the factors of the docstring."""
    rng = np.random.default_rng(12)
    style = ("x", "x", "x", "y", "y", "z", "z")
    S, L = 7, 3
    y = rng.normal(0, 1, (N, 1)) * [style.count(value) - 2.0 + (value == "y") for value in style] + rng.normal(
        0, 0.3, (N, S)
    )
    cube = Cube.from_scores(
        "b", ["a"], list("pqrstu"[:N]), list("1234567"), [y[:, :, None].tolist()], values={"style": style}
    )
    found = estimate_question_variance(summarize_variants(cube))
    r = [[y[q, s] - y[q].mean() - y[:, s].mean() + y.mean() for s in range(S)] for q in range(N)]
    sums = {True: [], False: []}
    for q in range(N):
        for is_same, each in sums.items():
            pairs = [(s, t) for s in range(S) for t in range(S) if s != t and (style[s] == style[t]) is is_same]
            each.append((sum(r[q][s] * r[q][t] for s, t in pairs), len(pairs)))
    mean = {key: sum(total for total, _ in each) / sum(n for _, n in each) for key, each in sums.items()}
    n = [style.count(value) for value in "xyz"]
    c = sum(k * (k - 1) * (1 - 2 * k / S) for k in n) / sum(k * (k - 1) for k in n)
    c += 2 / S * sum(k * k * (S - k) for k in n) / (S * S - sum(k * k for k in n))
    factor = (L - 1) / L / (c * (N - 1) / N) / N  # of the variance divided by N
    assert found.variance[0, 0] == pytest.approx(factor * (mean[True] - mean[False]))
    parts = [
        sum(sign * (total - mean[key] * k) / (k * N) for key, sign, (total, k) in ((True, 1, same), (False, -1, other)))
        for same, other in zip(sums[True], sums[False], strict=True)
    ]
    assert found.error[0, 0] == pytest.approx(factor**2 * sum(part**2 for part in parts) * N / (N - 1))
    # With the variance over questions, the error of an effect has it added, and Satterthwaite's df.
    plain, total = (estimate_effects("b", ["a"], y.mean(axis=0), {"style": style}, questions=q) for q in (None, found))
    assert found.variance[0, 0] > 0
    assert total.variance == pytest.approx(plain.variance + found.variance)
    assert total.df == pytest.approx(2 * total.variance**2 / (2 * plain.variance**2 / plain.df + found.error))


def test_the_table_of_effects_by_hand():
    """Two models, means .5 and .7 of two values: effects -.1 and .1, variance .01^2/2 of a mean of two, df 2."""
    x = [[0.49, 0.51, 0.69, 0.71], [0.3, 0.3, 0.3, 0.3]]
    columns = estimate_effects("demo", ["a", "b"], x, {"style": ["x", "x", "y", "y"], "one": ["u"] * 4}).columns()
    assert columns["benchmark"].tolist() == ["demo"] * 4
    assert columns["model"].tolist() == ["a", "a", "b", "b"]
    assert columns["dimension"].tolist() == ["style"] * 4
    assert columns["value"].tolist() == ["x", "y"] * 2
    assert columns["n_variants"].tolist() == [2] * 4
    assert columns["effect"] == pytest.approx([-0.1, 0.1, 0, 0])
    # sigma^2 = 4 (.01)^2/2, and half the difference of two means of two has sigma^2/4
    assert columns["se"][:2] == pytest.approx([np.sqrt(2e-4 / 4)] * 2)
    assert all("one left out: it has one value" in note for note in columns["note"])
    assert all("drawn fewer than 3 times" in note for note in columns["note"])
