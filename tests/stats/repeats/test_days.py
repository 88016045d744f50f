"""Scores by day against loops over single scores, and days that cannot be compared."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.planted_runs import drawn, runs_of
from scipy import stats

from howsure.stats.core.cells import Cells
from howsure.stats.repeats import compare_days, repeats

P = np.random.default_rng(5).beta(1, 1, (2, 40))


def dated(runs, days):
    """The runs, each with the day of all its models, or a mapping of models to days."""
    return [
        replace(run, days=day if isinstance(day, dict) else dict.fromkeys(run.models, day))
        for run, day in zip(runs, days, strict=True)
    ]


def test_days_are_means_over_questions_of_the_pooled_runs_with_pooled_variances():
    # an independent version: loops over models and days
    scores = drawn(P, 5)
    days = ["2026-11-02", "2026-11-02", "2026-11-05", "2026-11-09", "2026-11-09"]
    daily = compare_days(dated(runs_of(scores), days), level=0.9)
    assert daily.days == ("2026-11-02", "2026-11-05", "2026-11-09")
    assert daily.n_runs.tolist() == [[2, 2], [1, 1], [2, 2]]
    for m in range(2):
        s2 = scores[m].var(axis=1, ddof=1)
        for d, runs in enumerate([[0, 1], [2], [3, 4]]):
            mean = scores[m][:, runs].mean()
            assert daily.repeats.runs.mean[d, m] == pytest.approx(mean)
            parts = s2 / len(runs)
            V = 40 * parts.var(ddof=1)  # variance of the sum of the parts, from their spread
            df = min(40 * 4, 2 * parts.sum() ** 2 / V)
            half = stats.t.ppf(0.95, df) * np.sqrt(parts.sum()) / 40
            assert daily.low[d, m] == pytest.approx(mean - half)
            assert daily.high[d, m] == pytest.approx(mean + half)
    # the drift test is Cochran's Q with days as runs: that of the pooled runs
    pooled = [one + two for one, two in [runs_of(scores)[:2]]] + [runs_of(scores)[2]]
    pooled.append(runs_of(scores)[3] + runs_of(scores)[4])
    np.testing.assert_allclose(daily.repeats.drift_p, repeats(pooled, n_future=1).drift_p)


def test_only_questions_of_all_days_are_compared():
    """The naive means fall from 1 to 0, although the model answers each question the same way on every day."""
    easy = Cells.from_scores("b", ["m"], ["e1", "e2", "x"], [[[1], [1], [1]]])
    hard = Cells.from_scores("b", ["m"], ["h1", "h2", "x"], [[[0], [0], [1]]])
    daily = compare_days(dated([easy, hard], ["2026-11-02", "2026-11-03"]))
    assert daily.repeats.runs.mean.tolist() == [[1.0], [1.0]]
    assert daily.repeats.runs.n_questions.tolist() == [[1], [1]]
    assert daily.n_questions.tolist() == [5]


@pytest.mark.parametrize(
    ("days", "reason"),
    [
        (["", "", ""], "no run has a date"),
        (["2026-11-02", "", "2026-11-03"], "some runs have no date"),
        (["2026-11-02"] * 3, "all runs were made on one day"),
    ],
)
def test_days_that_cannot_be_compared_have_a_reason(days, reason):
    runs = [
        replace(run, days={} if not day else {"m0": day})
        for run, day in zip(runs_of(drawn(P[:1], 3)), days, strict=True)
    ]
    daily = compare_days(runs)
    assert daily.models == ()
    assert daily.reasons == {"m0": reason}
    assert daily.columns()["day"].tolist() == []


def test_models_with_a_day_each_were_not_all_run_on_one_day():
    """By hand: two models on a day each; and a third one with two days."""
    runs = [run.select([model]) for run in runs_of(drawn(P, 2)) for model in ("m0", "m1")]
    days = ["2026-11-02", "2026-11-03", "2026-11-02", "2026-11-03"]
    each = [replace(run, days={run.models[0]: day}) for run, day in zip(runs, days, strict=True)]
    assert set(compare_days(each).reasons.values()) == {"no model has runs of two days"}
    mixed = [*each[:3], replace(each[3], days={"m1": "2026-11-04"})]
    assert compare_days(mixed).reasons == {"m0": "no two days have runs of the model"}


def test_shards_have_no_common_question():
    one = Cells.from_scores("b", ["m"], ["q1", "q2"], [[[1], [0]]])
    two = Cells.from_scores("b", ["m"], ["q3", "q4"], [[[1], [1]]])
    daily = compare_days(dated([one, two], ["2026-11-02", "2026-11-03"]))
    assert daily.reasons == {"m": "no question was answered on every day"}


def test_models_have_days_of_their_own():
    runs = runs_of(drawn(P, 2))
    late = dated([run.select(["m1"]) for run in runs], ["2026-11-07", "2026-11-08"])
    early = dated([run.select(["m0"]) for run in runs], ["2026-11-02", "2026-11-03"])
    daily = compare_days([*early, *late])
    assert daily.repeats.runs.n_questions.T.tolist() == [[40, 40, 0, 0], [0, 0, 40, 40]]
    assert np.isnan(daily.low[2:, 0]).all()
    assert daily["day"].tolist() == ["2026-11-02", "2026-11-03", "2026-11-07", "2026-11-08"]


def test_no_interval_where_nothing_varied():
    same = np.repeat(np.array([1.0, 0, 1, 1])[None, :, None], 3, axis=2)
    daily = compare_days(dated(runs_of(same), ["2026-11-02", "2026-11-03", "2026-11-04"]))
    assert np.isnan(daily.low).all()
    assert daily.repeats.runs.mean.tolist() == [[0.75]] * 3


def test_the_day_of_a_sum_is_the_one_that_both_have():
    a, b = (
        replace(run, days={"m0": day, "m1": "2026-11-02"})
        for run, day in zip(runs_of(drawn(P, 2)), ("2026-11-02", "2026-11-03"), strict=True)
    )
    assert (a + b).days == {"m1": "2026-11-02"}


def test_limits_of_scores_from_0_to_1_are_within_these():
    """Three questions of which one varied, right in two of three generations; the same of 0 and 2 has no such limits."""
    scores = np.array([[[1, 1, 1], [1, 1, 1], [1, 0, 1]]], float)
    days = ["2026-11-02", "2026-11-03", "2026-11-04"]
    daily, double = (compare_days(dated(runs_of(factor * scores), days)) for factor in (1, 2))
    assert daily.high.max() == 1
    assert double.high.max() > 2
    columns = daily.columns()
    name, model = daily.benchmark, daily.models[0]
    assert list(zip(columns["benchmark"], columns["model"], columns["day"], strict=True)) == [
        (name, model, day) for day in days
    ]
