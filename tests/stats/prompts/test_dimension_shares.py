"""Shares of dimensions: scipy, a slow version by comparison of fits, planted effects, seeded simulation."""

from dataclasses import replace

import numpy as np
import pytest
from oracles import variants as oracle
from scipy import optimize, stats

from howsure.errors import InputError
from howsure.stats.core.cube import Cube
from howsure.stats.prompts.dimension_shares import estimate_dimension_shares, estimate_variant_shares
from howsure.stats.prompts.effects import estimate_question_variance
from howsure.stats.prompts.moments import summarize_variants


def test_one_dimension_against_scipy():
    """Another program: the F test of one-way analysis of variance, and limits by the noncentral F distribution."""
    rng = np.random.default_rng(1)
    groups = [rng.normal(mu, 1, n) for mu, n in ((0, 5), (0.5, 9), (1.5, 7))]
    found = estimate_dimension_shares("b", ["m"], [np.concatenate(groups)], {"d": [*"a" * 5, *"b" * 9, *"c" * 7]})
    F, p = stats.f_oneway(*groups)
    assert found.statistic[0, 0] == pytest.approx(F)
    assert found.p_value[0, 0] == pytest.approx(p)
    low, high = (optimize.brentq(lambda nc, q=q: stats.ncf.cdf(F, 2, 18, nc) - q, 1e-9, 200) for q in (0.975, 0.025))
    # without noise the rest is the mean square within values: A/(A + W) = nc/k / (nc/k + its limit/W)
    k = (21 - (25 + 81 + 49) / 21) * 3 / 2
    worst, best = (18 / stats.chi2.ppf(q, 18) for q in (0.025, 0.975))
    between = found.interval()
    assert between.low[0, 0] == pytest.approx(low / k / (low / k + worst), rel=1e-6)
    assert between.high[0, 0] == pytest.approx(high / k / (high / k + best), rel=1e-6)
    needed = optimize.brentq(lambda nc: stats.ncf.sf(stats.f.ppf(0.95, 2, 18), 2, 18, nc) - 0.8, 1e-9, 200)
    assert found.detectable[0, 0] == pytest.approx(needed / k / (needed / k + 1), rel=1e-6)


@pytest.mark.parametrize(("S", "alone"), [(16, True), (40, False)])
def test_several_dimensions_against_two_fits(S, alone):
    """A slow version; one model lacks variants."""
    rng = np.random.default_rng(2)
    values = {
        name: rng.permutation(np.arange(S) % size).astype(str).tolist() for name, size in (("d", 2), ("e", 4), ("f", 5))
    }
    x = rng.normal(0.6, 0.05, (2, S))
    x[1, [1, 7]] = np.nan
    found = estimate_dimension_shares("b", ["m", "n"], x, values)
    assert found.effects.separate.tolist() == [alone, alone]
    for m in range(2):
        there = ~np.isnan(x[m])
        kept = {name: [v for v, known in zip(each, there, strict=True) if known] for name, each in values.items()}
        for d, name in enumerate(values):
            slow = oracle.dimension_test(x[m, there].tolist(), kept, name, alone=alone)
            ours = {
                "statistic": found.statistic[m, d],
                "df": found.df[m, d],
                "df_residual": found.error_df[m, d],
                "weight": found.weight[m, d],
                "variance": found.variance[m, d],
            }
            assert ours == pytest.approx(slow)


def cube_of(S, sizes, shares, rng, *, N=60, models=1, missing=0.0, by_question=0.0):
    """Scores with prompts of variance .0025, of which each dimension has a share; `by_question`: effects on questions."""
    values = {f"d{i}": tuple(f"v{v}" for v in rng.integers(0, size, S)) for i, size in enumerate(sizes)}
    rest = rng.normal(0, np.sqrt((1 - sum(shares)) * 0.0025), (models, 1, S))
    mean = 0.5 + rng.normal(0, 0.2, (models, N, 1)) + rest + rng.normal(0, 0.14, (models, N, S))
    for each, share, size in zip(values.values(), shares, sizes, strict=True):
        at = np.array([int(v[1:]) for v in each])
        for m in range(models):
            effect = rng.normal(0, 1, size)
            effect -= effect.mean()
            mean[m] += (effect * np.sqrt(share * 0.0025 / np.mean(effect**2)))[at]
            own = rng.normal(0, 1, (N, size))
            own -= own.mean(axis=1, keepdims=True)
            mean[m] += own[:, at] * np.sqrt(by_question * size / (size - 1))
    n = np.where(rng.random(mean.shape) < missing, 0, 2)
    y = mean[..., None] + rng.normal(0, 0.35, (*mean.shape, 2))
    names = (tuple(f"{kind}{i}" for i in range(count)) for kind, count in zip("mqs", mean.shape, strict=True))
    return Cube("b", *names, n, y.sum(axis=3) * (n > 0), (y**2).sum(axis=3) * (n > 0), values=values)


@pytest.mark.parametrize("missing", [0, 0.3])
def test_variance_over_questions_against_all_pairs(missing):
    """A slow version: the residuals from a fit with dummies, and every pair of variants."""
    cube = cube_of(12, (2, 3), (0, 0), np.random.default_rng(3), N=9, missing=missing, by_question=0.02)
    found = estimate_question_variance(summarize_variants(cube))
    y, (q, s) = cube.mean[0], np.nonzero(cube.n[0])
    X = np.hstack([np.eye(9)[q], np.eye(12)[s]])
    residual = y[q, s] - X @ np.linalg.lstsq(X, y[q, s], rcond=None)[0]
    rows = [[None] * 12 for _ in range(9)]
    for i, j, r in zip(q.tolist(), s.tolist(), residual.tolist(), strict=True):
        rows[i][j] = r
    for d, name in enumerate(("d0", "d1")):
        assert found.variance[0, d] * 9 == pytest.approx(oracle.question_variance(rows, cube.values[name]))


def test_variance_over_questions_is_unbiased():
    """A guarantee by seeded simulation: planted .02, divided by 60 questions; 40 draws of 20 variants, 5 models each."""
    cubes = [
        cube_of(20, (2, 4), (0, 0), np.random.default_rng([4, draw]), models=5, by_question=0.02) for draw in range(40)
    ]
    found = [estimate_question_variance(summarize_variants(cube)) for cube in cubes]
    variance = np.array([each.variance.mean(axis=0) for each in found]) * 60
    assert np.all(np.abs(variance.mean(axis=0) - 0.02) < 4 * variance.std(axis=0) / np.sqrt(40))
    # its squared error is that of the models, under the same variants
    within = np.mean([each.variance.var(axis=0, ddof=1) for each in found], axis=0)
    assert np.sqrt(np.mean([each.error.mean(axis=0) for each in found], axis=0)) == pytest.approx(
        np.sqrt(within), rel=0.2
    )


DESIGNS = {
    "20 variants": (20, (2, 3, 4), (0, 0, 0), {}),
    "20 variants of many values": (20, (6, 4, 7, 5), (0, 0, 0, 0), {}),
    "half of the cells missing": (20, (2, 3, 4), (0, 0, 0), {"missing": 0.5}),
    "effects on questions only": (100, (2, 3, 4), (0, 0, 0), {"by_question": 0.02}),
    "planted": (50, (2, 3, 4), (0.5, 0, 0.2), {}),
}


@pytest.mark.long
@pytest.mark.parametrize("design", DESIGNS)
def test_level_coverage_and_bias(design):
    """A guarantee by seeded simulation: 300 models, of which 30 share a draw of variants."""
    S, sizes, shares, more = DESIGNS[design]
    p_values, covered, variance, shown = [], [], [], []
    for draw in range(10):
        cube = cube_of(S, sizes, shares, np.random.default_rng([5, draw]), models=30, **more)
        found = estimate_variant_shares(summarize_variants(cube))
        between = found.interval()
        p_values.append(found.p_holm)
        covered.append((between.low <= shares) & (between.high >= shares))
        variance.append(found.variance)
        shown.append(np.nan_to_num(found.share).max(axis=1))
    error = np.sqrt(0.05 * 0.95 / 300)
    p_values, covered, variance, shown = map(np.concatenate, (p_values, covered, variance, shown))
    null = np.array(shares) == 0
    assert np.mean(p_values[:, null].min(axis=1) < 0.05) < 0.05 + 3 * error
    assert np.all(covered.mean(axis=0) > 0.95 - 3 * error)
    off = variance - 0.0025 * np.array(shares)
    assert np.all(np.abs(off.mean(axis=0)) < 4 * off.std(axis=0) / np.sqrt(300))
    if null.all():  # a share above .3 is shown by mistake as rarely as the test errs
        assert np.mean(shown > 0.3) < 0.05 + 3 * error
    else:
        assert np.mean(p_values[:, 0] < 0.05) > 0.8


@pytest.mark.long
def test_effects_on_new_questions_are_covered():
    """A guarantee by seeded simulation: effects of 0 on average, that differ between questions."""
    cube = cube_of(100, (2, 3), (0, 0), np.random.default_rng(6), models=200, by_question=0.02)
    between = estimate_variant_shares(summarize_variants(cube)).effects.interval()
    covered = np.mean((between.low <= 0) & (between.high >= 0), axis=0)
    assert np.all(covered > 0.95 - 4 * np.sqrt(0.05 * 0.95 / 200))


def test_what_cannot_be_told():
    rng = np.random.default_rng(7)
    values = {
        "d": list("aabbccaabbcc"),
        "twin": list("xxyyzzxxyyzz"),
        "one": ["v"] * 12,
        "own": [f"v{i}" for i in range(12)],
    }
    found = estimate_dimension_shares("b", ["m", "n"], [rng.normal(0.5, 0.1, 12), [0.5] * 12], values)
    columns = found.columns()
    assert columns["dimension"][:4].tolist() == ["d", "twin", "one", "own"]
    assert np.isnan(columns["share"]).all()
    assert [note.split(";")[0] for note in columns["note"][:4]] == [
        "cannot be separated from other dimensions: draw more variants",
        "cannot be separated from other dimensions: draw more variants",
        "it has one value",
        "12 values in 12 variants",
    ]
    few = estimate_dimension_shares("b", ["m"], [[0.5, 0.6, 0.7, 0.5, 0.4, 0.6]], {"d": list("aabbcc")})
    assert np.isnan(few.share[0, 0])
    assert few.interval().low[0, 0] == 0
    assert few.interval().high[0, 0] > 0.5
    assert "too few variants to tell" in few.columns()["note"][0]
    # With a second dimension the adjusted p-value is above .05, and the interval of the first alone is above 0.
    scores = [[0.50, 0.56, 0.47, 0.53, 0.63, 0.70, 0.60, 0.64]]
    two = estimate_dimension_shares(
        "b", ["m"], scores, {"d": list("aaaabbbb"), "e": list("xyyxxyyx"), "f": list("xyyxyxxy")}
    )
    assert two.p_value[0, 0] < 0.05 < two.p_holm[0, 0]
    assert two.interval().low[0, 0] > 0
    assert two.unclear[0, 0]
    assert "may be 0" not in two.columns()["note"][0]
    with pytest.raises(InputError, match="scores have shape"):
        estimate_dimension_shares("b", ["m"], [[0.5, 0.6]], {"d": list("abc")})


def test_shares_that_are_all_or_nothing():
    """By hand: scores that are the value's, and a total variance that noise explains."""
    sure = estimate_dimension_shares("b", ["m"], [[0.1, 0.1, 0.1, 0.9, 0.9, 0.9 + 1e-9]], {"d": list("aaabbb")})
    assert sure.share[0, 0] == pytest.approx(1)
    assert sure.p_value[0, 0] < 1e-12
    cube = replace(cube_of(20, (2, 3), (0, 0), np.random.default_rng(8)), default=None)
    found = estimate_variant_shares(summarize_variants(cube))
    noise = replace(found, total=np.array([-0.001]))
    assert all("no more than the noise" in note for note in noise.columns()["note"])
    noisy = replace(found, noise=2 * found.within)
    assert np.isnan(noisy.detectable).all()
    assert all("of their scores beside this dimension" in note for note in noisy.columns()["note"])
    assert not any("beside this dimension" in note for note in (*found.columns()["note"], *noise.columns()["note"]))
    assert replace(found, level=0.5).interval().high[0, 0] <= found.interval().high[0, 0]


def test_differences_that_are_rounding_are_no_variance():
    """A bad input: equal scores but for the last bits have no share and p = 1; so has a dimension that adds nothing."""
    rng = np.random.default_rng(3)
    values = {"style": list("abcd" * 3), "mark": list("xxxxyyyyzzzz")}
    of_style = np.tile(rng.random(4), 3)
    scores = np.stack([np.full(12, 1 / 3), of_style]) + rng.choice([-1e-16, 0, 1e-16], (2, 12))
    found = estimate_dimension_shares("b", ["flat", "style alone"], scores, values)
    assert np.all(np.isnan(found.share[0]))
    assert np.all(np.isnan(found.interval().high[0]))
    assert found.p_value[0].tolist() == [1.0, 1.0]
    assert found.share[1].tolist() == [1.0, 0.0]
    assert found.p_value[1].tolist() == [0.0, 1.0]
    notes = found.columns()["note"].tolist()
    assert all("differ by no more than the noise" in note and "cannot be separated" not in note for note in notes[:2])
