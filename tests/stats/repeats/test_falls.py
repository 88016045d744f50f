"""The alarm about a series that falls: against sums over places, its martingale, and by its properties."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

import howsure as hs
from howsure.errors import InputError
from howsure.stats.core.cells import Cells
from howsure.stats.repeats import falls, find_falls, watch_days


def test_the_ratio_is_the_integral_over_the_size_of_a_fall():
    """Dense normal densities with a vague level before, integrated over the half-normal prior."""
    y, v = np.array([0.8, 0.78, 0.83, 0.7, 0.72]), np.array([4, 9, 4, 4, 9]) * 1e-4
    ratio, size = falls._compare_places(y, v)
    unit = np.sqrt(np.median(v))
    for t in range(1, 5):
        until = slice(0, t + 1)
        none = stats.multivariate_normal(np.zeros(t + 1), np.diag(v[until]) + 100)
        for j in range(1, t + 1):
            h = (np.arange(t + 1) >= j) * 1.0

            def density(d, h=h, until=until, none=none):
                prior = 0.8 * stats.norm.pdf(d / unit) / unit + 0.2 * stats.norm.pdf(d / 4 / unit) / 4 / unit
                return none.pdf(y[until] + d * h) * 2 * prior

            expected = integrate.quad(density, 0, 30 * unit, limit=200)[0] / none.pdf(y[until])
            assert_allclose(ratio[t, j - 1], expected, rtol=1e-3)
    assert np.all(ratio[0] == 0)
    assert np.all(size[4, 1:3] < 0)


def test_the_statistic_less_the_number_of_places_is_a_martingale():
    rng = np.random.default_rng(5)
    totals = np.array(
        [falls._compare_places(rng.normal(0, 0.1, 6), np.full(6, 0.01))[0].sum(axis=1) for _ in range(4000)]
    )
    error = totals.std(axis=0) / np.sqrt(len(totals))
    assert np.all(np.abs(totals.mean(axis=0) - np.arange(6)) <= 4 * error + 1e-12)


def test_alarms_begin_anew_and_ignore_rises():
    series = np.repeat([0.9, 0.6, 0.8, 0.5], 20)
    found = find_falls(series + 0.01 * np.sin(np.arange(80)), 0.03**2)
    assert [change.since for change in found] == [20, 60]
    assert all(change.first <= change.since <= change.last <= change.noticed for change in found)
    assert_allclose([change.size for change in found], [-0.3, -0.3], atol=0.05)
    assert find_falls(np.linspace(0.1, 0.9, 50), 0.03**2) == ()
    assert find_falls([0.5], 0.01) == find_falls([], 0.01) == ()


def test_an_alarm_does_not_depend_on_the_unit_or_on_what_comes_later():
    y = np.repeat([0.9, 0.8], [30, 12]) + 0.02 * np.cos(7 * np.arange(42))
    first = find_falls(y, 0.04**2)[0]
    scaled = find_falls(100 * y + 7, 4.0**2)[0]
    assert (scaled.noticed, scaled.since) == (first.noticed, first.since)
    assert find_falls(y[: first.noticed + 1], 0.04**2)[0][1:4] == first[1:4]
    assert find_falls(y[: first.noticed], 0.04**2) == ()
    seldom = find_falls(y, 0.04**2, analyses_per_year=12)[0]
    assert seldom.noticed < first.noticed
    with pytest.raises(InputError):
        find_falls(y, 0.0)


def dated(scores, days):
    """Runs of a model, one for each row of scores, with their days."""
    questions = [str(q) for q in range(len(scores[0]))]
    cells = [Cells.from_scores("demo", ["m"], questions, [[[x] for x in row]]) for row in scores]
    return [replace(one, days={"m": day}) for one, day in zip(cells, days, strict=True)]


def test_repeats_say_since_when_a_model_fell():
    rng = np.random.default_rng(2)
    days = np.arange("2026-03-01", "2026-04-30", dtype="datetime64[D]").astype(str).tolist()
    scores = (rng.random((60, 80)) < np.repeat([0.85, 0.65], [40, 20])[:, None]) * 1.0
    runs = dated(scores, days)
    fall = watch_days(runs)["m"]
    assert fall.first <= days[40] <= fall.last
    assert days[40] <= fall.alarm <= days[50]
    result = hs.repeats(runs)
    assert (result["fell_since"][0], result["alarm"][0]) == (fall.since, fall.alarm)
    assert f"since {fall.since}" in str(result)
    assert watch_days(dated(scores[:40], days[:40])) == {}
    weekly = np.arange("2026-01-01", "2027-03-01", 7, dtype="datetime64[D]").astype(str).tolist()[:60]
    assert watch_days(dated(scores, weekly))["m"].since >= weekly[days.index(fall.since)]


def test_undated_runs_and_equal_scores_have_no_alarm():
    runs = [hs.Cells.from_scores("demo", ["m"], ["p", "q"], [[[1], [0]]])] * 3
    assert watch_days(runs) == {}
    assert hs.repeats(runs)["alarm"].tolist() == [""]
    assert watch_days(dated([[1, 0]] * 3, ["2026-03-01", "2026-03-02", "2026-03-03"])) == {}
