"""Strengths from battles. Kind of truth: statsmodels, values by hand, and simulated battles."""

import numpy as np
import pytest
from scipy import special

from howsure.errors import InputError
from howsure.stats.comparisons import Battles, rank_battles


def draw(strength, T, seed, *, place=0.0, ties=0.0, questions=None):
    """Return battles of models of these strengths, in random pairs and orders."""
    rng = np.random.default_rng(seed)
    M = len(strength)
    s = np.asarray(strength, float)
    a = rng.integers(0, M, T)
    b = (a + rng.integers(1, M, T)) % M
    y = (rng.random(T) < special.expit(s[a] - s[b] + place)).astype(float)
    y[rng.random(T) < ties] = 0.5
    cluster = None if questions is None else rng.integers(0, questions, T)
    return Battles("demo", tuple("abcdefghijklmnop"[:M]), a, b, y, cluster)


def make(text):
    """Return battles from words such as "ab1": a was shown first and won; 0: b won; =: a tie."""
    rows = [(word[0], word[1], {"1": 1.0, "0": 0.0, "=": 0.5}[word[2]]) for word in text.split()]
    names = sorted({name for row in rows for name in row[:2]})
    first, second = (np.array([names.index(row[i]) for row in rows]) for i in (0, 1))
    return Battles("demo", tuple(names), first, second, np.array([row[2] for row in rows]))


@pytest.mark.parametrize(
    ("questions", "se", "place_se"),
    [
        (None, [0.12294627, 0.11965029, 0.11381866, 0.11659286, 0.11689711], 0.09292316168235906),
        (60, [0.10538206, 0.12402938, 0.10928081, 0.12109439, 0.10965713], 0.07985992912526915),
    ],
)
def test_estimates_and_errors_are_those_of_statsmodels(questions, se, place_se):
    """Recorded from statsmodels 0.15.0: GLM(y, contrasts, Binomial()).fit(cov_type="HC0" or "cluster",
    cov_kwds={"groups": questions, "use_correction": False}), the covariance times C/(C - 1)."""
    rng = np.random.default_rng(7)
    M, T = 5, 400
    s = np.linspace(-0.8, 0.8, M)
    a = rng.integers(0, M, T)
    b = (a + rng.integers(1, M, T)) % M
    y = (rng.random(T) < 1 / (1 + np.exp(-(s[a] - s[b] + 0.3)))).astype(float)
    y[rng.random(T) < 0.2] = 0.5
    cluster = rng.integers(0, 60, T) if questions else None
    table = rank_battles(Battles("demo", tuple("abcde"), a, b, y, cluster))
    expected = [-0.65166242, -0.32487251, 0.03195577, 0.29640561, 0.64817356]
    assert table.strength == pytest.approx(expected, abs=1e-7)
    assert np.sqrt(table.variance) == pytest.approx(se, abs=1e-7)
    assert (table.place, table.place_se) == pytest.approx((0.3042973394765194, place_se), abs=1e-9)


def test_two_models_by_hand():
    """a won 30 of 40, always shown first: the logit of 3/4, and no term for the place."""
    table = rank_battles(
        Battles("demo", ("a", "b"), np.zeros(40, int), np.ones(40, int), np.repeat([1.0, 0.0], [30, 10]))
    )
    assert table.strength == pytest.approx([np.log(3) / 2, -np.log(3) / 2])
    # Var(logit) = 1/(n p (1 - p)) and 40/39 of the sandwich; each strength is half of the difference
    assert table.variance == pytest.approx([40 / 39 / (40 * 0.75 * 0.25) / 4] * 2)
    assert np.isnan(table.place)


def test_the_place_is_told_from_the_strengths():
    """Equal models of which the first wins 3 of 4."""
    table = rank_battles(make("ab1 ab1 ab1 ab0 ba1 ba1 ba1 ba0 " * 10))
    assert table.strength == pytest.approx([0, 0], abs=1e-9)
    assert table.place == pytest.approx(np.log(3))
    assert table.is_place_clear


def test_intervals_cover_and_ranks_hold_with_ties_and_questions():
    """200 sets of 300 battles of 5 models, a fifth of them ties: three standard errors around .95."""
    # ties are half wins, which shrink strengths: the truth is the fit of very many battles
    strength = np.array([0, 0.2, 0.4, 0.4, 1.0])
    truth = rank_battles(draw(strength, 400_000, 1, place=0.2, ties=0.2)).strength
    tables = [rank_battles(draw(strength, 300, [2, i], place=0.2, ties=0.2)) for i in range(200)]
    limits = [(t.strength - 1.96 * np.sqrt(t.variance), t.strength + 1.96 * np.sqrt(t.variance)) for t in tables]
    covered = np.mean([(low <= truth) & (truth <= high) for low, high in limits])
    assert covered > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)
    held = [np.mean((t.rank_low <= [5, 4, 3, 3, 1]) & (t.rank_high >= [5, 4, 2, 2, 1])) for t in tables]
    assert np.mean(held) > 0.95


def test_the_order_of_rows_and_the_names_do_not_matter():
    one = draw([0, 0.5, 1], 200, 3)
    order = np.random.default_rng(1).permutation(200)
    other = Battles("demo", one.models[::-1], 2 - one.first[order], 2 - one.second[order], one.result[order])
    first, second = rank_battles(one), rank_battles(other)
    assert second.strength[::-1] == pytest.approx(first.strength)
    assert second.variance[::-1] == pytest.approx(first.variance)


def test_models_without_a_finite_strength_are_named_and_the_others_are_fitted():
    battles = make("ua1 ub1 ab1 ab0 ab1 ba0 ba1 bz1 az1")
    table = rank_battles(battles)
    by_name = dict(zip(table.models, range(4), strict=True))
    assert table.is_unbeaten[by_name["u"]]
    assert table.is_beaten[by_name["z"]]
    assert np.isnan(table.strength[[by_name["u"], by_name["z"]]]).all()
    assert table.rank[[by_name[name] for name in "uabz"]].tolist() == [1, 2, 3, 4]
    assert (table.rank_low.min(), table.rank_high.max()) == (1, 4)
    assert table.rank_high[by_name["u"]] == 4
    alone = rank_battles(make("ab1 ab0 ab1 ba0 ba1"))
    assert table.strength[[by_name["a"], by_name["b"]]] == pytest.approx(alone.strength)


def test_a_model_that_only_met_an_unbeaten_one_has_no_rank():
    table = rank_battles(make("ua1 ub1 ab1 ab0 ux1"))
    row = table.models.index("x")
    assert np.isnan(table.rank[row])
    assert (table.rank_low[row], table.rank_high[row]) == (1, 4)


@pytest.mark.parametrize("text", ["ab1 cd1 ab0 cd0", "ab1 ab1", "ab1 bc1 ac1"])
def test_battles_that_tell_no_strengths_are_refused(text):
    with pytest.raises(InputError):
        rank_battles(make(text))


def test_a_place_that_decides_every_battle_is_left_out_and_said():
    table = rank_battles(make("ab1 ba1 " * 10))
    assert table.strength == pytest.approx([0, 0])
    assert np.isnan(table.place)
    assert all("place" in note for note in table["note"])


def test_a_battle_with_itself_and_none_are_refused():
    with pytest.raises(InputError):
        make("aa1")
    with pytest.raises(InputError):
        Battles("demo", ("a", "b"), np.array([], int), np.array([], int), np.array([]))


def test_only_ties_are_equal_models():
    table = rank_battles(make("ab= ba= " * 5))
    assert table.strength == pytest.approx([0, 0])
    assert (table.rank.tolist(), table.rank_high.tolist()) == ([1, 1], [2, 2])


def test_a_place_that_one_model_never_wins_from_has_no_finite_value():
    """By hand: x in the first place wins 3 of 4, y in it never: the likelihood grows with the place and x together."""
    table = rank_battles(make("xy1 xy1 xy1 xy0 " * 12 + "yx0 " * 50))
    assert np.isnan(table.place)
    assert np.abs(table.strength).max() < 5
