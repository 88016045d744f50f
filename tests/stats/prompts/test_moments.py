"""The default prompt was chosen, not drawn: it has a score, and no statistic of the space counts it.

Kind of truth: a slow version, the same cube without the default prompt; where cells are missing, the additive fit by
plain least squares.
"""

from dataclasses import replace

import numpy as np
import pytest
from oracles import variants as oracle
from scipy import stats

import howsure as hs
from howsure.errors import HowsureWarning, InputError
from howsure.stats.core.cube import Cube
from howsure.stats.planning.pilot import components_from_cube
from howsure.stats.prompts import estimate_components
from howsure.stats.prompts.moments import FEW_VARIANTS, summarize_variants
from howsure.stats.prompts.unparsed import estimate_unparsed_effect

NAMES = ("a", "b"), tuple(f"q{q:02}" for q in range(30)), tuple(f"v{s}" for s in range(9))
TONES = ("kind", "cold", "kind", "cold", "", "kind", "cold", "kind", "cold")
DEFAULT = 4


def made(*, missing=0.0, nested=False):
    """Two models, nine variants of which the fifth is the default one, and much easier."""
    rng = np.random.default_rng(3)
    p = rng.uniform(0.2, 0.6, (2, 30, 1)) + rng.normal(0, 0.05, (2, 1, 9))
    p[:, :, DEFAULT] = 0.97
    n = np.where(rng.random(p.shape) < missing, 0, 3)
    total = rng.binomial(n, np.clip(p, 0, 1)).astype(float)
    values = {} if nested else {"tone": TONES}
    return Cube("b", *NAMES, n, total, total, values, DEFAULT, nested)


def without(cube):
    arrays = {name: np.delete(getattr(cube, name), DEFAULT, axis=2) for name in ("n", "total", "total_sq")}
    values = {name: tuple(np.delete(each, DEFAULT).tolist()) for name, each in cube.values.items()}
    kept = tuple(name for s, name in enumerate(cube.variants) if s != DEFAULT)
    return replace(cube, variants=kept, values=values, default=None, **arrays)


ASKED = {
    "the table": hs.variants,
    "components": lambda cube: hs.variants(cube).of("components"),
    "enough": lambda cube: hs.variants(cube, epsilon=0.03).of("sample_size"),
    "a difference": lambda cube: estimate_components(cube.drawn.difference("a", "b")),
    "a plan": lambda cube: hs.plan(cube, a="a", b="b", width=0.1, max_variants=40),
    "dimensions": lambda cube: hs.variants(cube, show="dimensions"),
    "order": lambda cube: hs.variants(cube, show="order"),
    "reference": lambda cube: hs.variants(cube, show="reference"),
}


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("what", ASKED)
def test_nothing_said_of_the_space_counts_the_default_prompt(what, missing):
    cube = made(missing=missing)
    found, expected = ASKED[what](cube).columns(), ASKED[what](without(cube)).columns()
    assert list(found) == list(expected)
    for name, column in found.items():
        np.testing.assert_array_equal(column, expected[name], err_msg=name)


@pytest.mark.parametrize("what", ["the table", "components", "a difference", "a plan"])
def test_nor_where_each_question_has_variants_of_its_own(what):
    cube = made(nested=True)
    found, expected = ASKED[what](cube).columns(), ASKED[what](without(cube)).columns()
    for name, column in found.items():
        np.testing.assert_array_equal(column, expected[name], err_msg=name)
    assert np.isnan(summarize_variants(cube).moments.default).all()


def test_moments_by_hand():
    """Scores of variants 1/2, 3/4, 1/4 and 1; two of eight cells vary, by 1/2 each, so a mean has 1/4 / 2^2 of them."""
    one, other = [[1, 1], [1, 0], [0, 0], [1, 1]], [[0, 0], [1, 1], [1, 0], [1, 1]]
    moments = summarize_variants(Cube.from_scores("b", ["a"], ["p", "q"], list("stuv"), [[one, other]])).moments
    assert moments.scores.tolist() == [[0.5, 0.75, 0.25, 1]]
    columns = {name: values[0] for name, values in moments.columns().items()}
    assert [columns[name] for name in ("min", "q25", "median", "q75", "max")] == [0.25, 0.4375, 0.625, 0.8125, 1]
    squares = 0.125**2 * 2 + 0.375**2 * 2
    assert columns["mean"] == pytest.approx(0.625)
    assert columns["variance"] == pytest.approx(squares / 4)
    assert columns["variance_corrected"] == pytest.approx(squares / 3 - 2 * (0.25 / 4) / 4)
    assert 0 < columns["variance_low"] < squares / 3 < columns["variance_high"] == 0.25  # no more between 0 and 1
    assert np.isnan(columns["default"])


def test_the_interval_over_variants_of_a_table_of_scores_by_scipy():
    """Student's t of the scores of the variants, of which b lacks one and c has none, cut to the range of scores."""
    table = np.array([[0.5, 0.6, 0.7, 0.9], [0.02, 0.3, np.nan, 0.1], [np.nan] * 4])
    cube = Cube.from_means("demo", list("abc"), ["v1", "v2", "v3", "v4"], table)
    found = summarize_variants(cube, level=0.9)
    for i, scores in enumerate((table[0], table[1, [0, 1, 3]])):
        low, high = stats.t.interval(0.9, len(scores) - 1, np.mean(scores), stats.sem(scores))
        assert (found.moments.low[i], found.moments.high[i]) == pytest.approx((max(low, 0), high))
        assert found.moments.variance[i] == pytest.approx(np.var(scores))
    assert np.isnan([found.moments.low[2], found.moments.variance[2], found.moments.quantile(0.5)[2]]).all()
    columns = found.columns()
    assert columns["claim"].tolist()[:2] == ["new-variants"] * 2
    assert columns["n_variants"].tolist() == [4, 3, 0]
    assert (found.sample_size.n_star.max(axis=1)[:2] == columns["n_star"][:2]).all()


def test_the_note_has_what_is_said_of_either_moment_once():
    """By hand: three normal errors of .02 take more variants than six; .02 is above the variance of .002."""
    table = np.array([[0.5, 0.52, 0.55, 0.58, 0.6, 0.62]])
    found = summarize_variants(Cube.from_means("demo", ["a"], [f"v{i}" for i in range(6)], table), epsilon=0.02)
    of_mean, of_variance = (set(note.split("; ")) for note in found.sample_size.note[0])
    assert of_mean - of_variance == {"for the whole space more variants are needed than were drawn"}
    assert len(of_variance - of_mean) == 1
    parts = found["note"][0].split("; ")
    assert of_mean | of_variance < set(parts)
    assert len(parts) == len(set(parts))


def test_moments_are_of_the_drawn_and_beside_them_is_the_default_s_score():
    cube = made()
    found, expected = summarize_variants(cube).moments.columns(), summarize_variants(without(cube)).moments.columns()
    score = cube.mean[:, :, DEFAULT].mean(axis=1)
    assert found.pop("default") == pytest.approx(score)
    assert np.all(np.isnan(expected.pop("default")))
    for name, column in found.items():
        np.testing.assert_array_equal(column, expected[name], err_msg=name)
    assert np.all(found["max"] < score)
    assert summarize_variants(cube).all_scores == pytest.approx(cube.mean.mean(axis=1))


def test_the_default_s_missing_cells_are_filled_as_those_of_the_others():
    """On questions that a drawn variant has: the easy ones that only the default was asked say nothing beside them."""
    cube = made(missing=0.3)
    n = cube.n.copy()
    n[:, 25:, [s for s in range(9) if s != DEFAULT]] = 0
    found = summarize_variants(replace(cube, n=n)).moments
    for m in range(2):
        y = [[[float(cube.mean[m, q, s])] if n[m, q, s] else [] for s in range(9)] for q in range(25)]
        assert found.default[m] == pytest.approx(oracle.fitted_scores(y)[DEFAULT])
    n[0, :, [s for s in range(9) if s != DEFAULT]] = 0
    alone = summarize_variants(replace(cube, n=n))
    asked = n[0, :, DEFAULT] > 0
    assert alone.moments.default[0] == pytest.approx(cube.mean[0, asked, DEFAULT].mean())
    assert alone.columns()["n_variants"].tolist() == [0, 8]


def test_unread_answers_keep_the_default_s_share_and_not_its_variance():
    cube = made()
    lost = np.random.default_rng(1).binomial((cube.n - cube.total).astype(int), 0.5)
    found, expected = (
        estimate_unparsed_effect(cube, lost),
        estimate_unparsed_effect(without(cube), np.delete(lost, DEFAULT, axis=2)),
    )
    assert found.share.shape == (2, 9)
    assert found.share[:, DEFAULT] == pytest.approx(lost[:, :, DEFAULT].sum(axis=1) / 90)
    for name in ("variance", "variance_parsed", "p_share", "p_parsed"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    assert found.values.pooled.tolist() == expected.values.pooled.tolist()


def test_the_default_and_one_draw_are_one_clear_line():
    cube = made()
    pair = {name: getattr(cube, name)[:, :, [0, DEFAULT]] for name in ("n", "total", "total_sq")}
    two = replace(cube, variants=("v0", "v4"), values={"tone": ("kind", "")}, default=1, **pair)
    with pytest.raises(InputError) as told:
        hs.variants(two)
    assert str(told.value) == "b: only one prompt variant beside the default one; sample several"
    with pytest.warns(HowsureWarning, match="b: only one prompt variant beside the default one: left out"):
        hs.variants([replace(cube, benchmark="c"), two])
    # planned for the prompts that there are
    assert "n_variants 1" in str(hs.plan(two, a="a", width=0.2))
    with pytest.raises(InputError, match="cannot be estimated from one prompt variant"):
        hs.plan(two, a="a", width=0.2, max_variants=5)
    assert np.isnan(components_from_cube(two, "a").variant)


def test_a_default_prompt_alone_is_all_there_is():
    cube = made()
    alone = {name: getattr(cube, name)[:, :, [DEFAULT]] for name in ("n", "total", "total_sq")}
    one = replace(cube, variants=("v4",), values={"tone": ("",)}, default=0, **alone)
    assert one.drawn is one
    assert summarize_variants(one).moments.default == pytest.approx(summarize_variants(one).moments.mean)


def own_questions(n, *, vQ, vS, S=400, N=60, seed=5):
    """One model, S variants of which each has its own n of N questions, with additive effects and no noise else."""
    rng = np.random.default_rng(seed)
    y = 3 + rng.normal(0, vQ**0.5, (N, 1)) + rng.normal(0, vS**0.5, (1, S))
    for s in range(S):
        y[rng.permutation(N)[n:], s] = np.nan
    names = [f"q{q:02}" for q in range(N)]
    return Cube.from_means("b", ["a"], [f"v{s:03}" for s in range(S)], y[None], questions=names), y


def test_scores_of_variants_with_their_own_questions_are_means_over_these():
    cube, y = own_questions(12, vQ=0.04, vS=0.0009)
    moments = summarize_variants(replace(cube, drawn_questions=True)).moments
    scores = [[value for value in y[:, s] if not np.isnan(value)] for s in range(y.shape[1])]
    means = [sum(each) / len(each) for each in scores]
    np.testing.assert_allclose(moments.scores[0], means)
    np.testing.assert_allclose(moments.variance[0], np.var(means))


def test_the_choice_of_questions_is_in_the_variance_and_not_in_that_of_the_prompt():
    """Theory: a mean of n of N questions without replacement adds S2/n (1 - n/N); the components do not hold it."""
    cube, y = own_questions(12, vQ=0.04, vS=0.0009)
    own, common = (summarize_variants(replace(cube, drawn_questions=which)) for which in (True, False))
    spread = np.var(np.nanmean(y - np.nanmean(y, axis=0), axis=1), ddof=1)  # of the questions
    assert own.moments.variance[0] == pytest.approx(0.0009 + spread / 12 * (1 - 12 / 60), rel=0.15)
    assert common.moments.variance[0] == pytest.approx(0.0009, rel=0.15)
    assert own.components.variant[0] == pytest.approx(0.0009, rel=0.15)
    assert own.moments.mean[0] == common.moments.mean[0]
    assert "own sample of the questions" in own["note"][0]
    assert "filled" in common["note"][0]
    assert "filled" not in own["note"][0]


def test_n_star_of_variants_with_their_own_questions_is_larger():
    cube, _ = own_questions(12, vQ=0.04, vS=0.0009)
    own, common = (summarize_variants(replace(cube, drawn_questions=which)).sample_size for which in (True, False))
    assert own.n_star[0, 0] > 2 * common.n_star[0, 0]


def test_the_mean_over_five_prompts_of_which_one_in_ten_is_broken():
    """100 questions: Satterthwaite's degrees of freedom of the estimated variance covered .918, and nothing was said."""
    rng, size = np.random.default_rng(5), (1000, 100, 5)
    prompt = -2.0 * (rng.random((1000, 1, 5)) < 0.1)
    ease = 0.5 + 1.5 * rng.standard_normal((1000, 100, 1)) + prompt
    right = (rng.random(size) < 1 / (1 + np.exp(-ease))).astype(float)
    names = [tuple(map(str, range(n))) for n in size]
    found = summarize_variants(Cube("s", *names, np.ones(size, int), right, right))
    normal = 0.5 + 1.5 * np.random.default_rng(1).standard_normal(1_000_000)
    truth = 0.9 * np.mean(1 / (1 + np.exp(-normal))) + 0.1 * np.mean(1 / (1 + np.exp(2 - normal)))
    assert np.mean((found["low"] <= truth) & (truth <= found["high"])) >= 0.93
    assert all(FEW_VARIANTS in str(note) for note in found["note"])


def test_thirty_prompts_are_not_called_few():
    scores = np.random.default_rng(1).uniform(0.4, 0.6, (1, 30))
    for n, is_few in ((30, False), (29, True)):
        found = summarize_variants(Cube.from_means("demo", ["a"], [f"v{i}" for i in range(n)], scores[:, :n]))
        assert (FEW_VARIANTS in str(found["note"][0])) is is_few
