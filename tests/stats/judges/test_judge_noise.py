"""The noise of a judge.

Kind of truth: loops, hand-computed values, and the components of a seeded simulation.
"""

from dataclasses import replace

import numpy as np
import pytest
from oracles import judging

from howsure.errors import InputError
from howsure.stats.judges import VerdictTable, measure_judge_noise, plan_verdicts


def build_table(questions):
    """A table of one model from verdicts of 0 and 1 by question and completion."""
    rows = [(q, verdicts) for q, completions in enumerate(questions) for verdicts in completions]
    return VerdictTable(
        "demo",
        ("a",),
        tuple(map(str, range(len(questions)))),
        [0] * len(rows),
        [q for q, _ in rows],
        range(len(rows)),
        [[sum(verdicts), len(verdicts) - sum(verdicts)] for _, verdicts in rows],
        [1.0, 0.0],
    )


def test_the_figures_are_those_of_the_loops():
    rng = np.random.default_rng(5)
    p = rng.random((20, 3))
    questions = [[(rng.random(4) < p[q, g]).astype(int).tolist() for g in range(3)] for q in range(20)]
    noise = measure_judge_noise(build_table(questions))
    assert noise.flip_rate[0] == pytest.approx(judging.flip_rate(questions))
    assert noise.se_judge[0] == pytest.approx(judging.judge_error(questions))
    low, high = noise.interval().low[0], noise.interval().high[0]
    assert low < noise.flip_rate[0] < high


def test_components_are_those_of_the_simulation():
    """D = 1/12 over questions, E over completions and J over verdicts, all from uniform or two-point effects."""
    rng = np.random.default_rng(6)
    N, k, r = 3000, 4, 3
    question = rng.uniform(0.3, 0.7, N)[:, None]  # variance .4^2/12
    completion = question + 0.15 * rng.choice([-1, 1], (N, k))  # variance .0225
    verdicts = rng.random((N, k, r)) < completion[:, :, None]
    noise = measure_judge_noise(build_table(verdicts.astype(int).tolist()))
    assert noise.data[0] == pytest.approx(0.16 / 12, rel=0.15)
    assert noise.generation[0] == pytest.approx(0.0225, rel=0.15)
    assert noise.judge[0] == pytest.approx(np.mean(completion * (1 - completion)), rel=0.02)
    total = noise.se_data[0] ** 2 + noise.se_generation[0] ** 2 + noise.se_judge[0] ** 2
    assert total == pytest.approx(verdicts.mean(axis=(1, 2)).var(ddof=1) / N)


def test_completions_that_share_verdicts_do_not_average_the_judge_out():
    """Five equal completions of each question, judged once with two verdicts: the same error as one completion."""
    counts = [[1, 1], [2, 0], [0, 2], [1, 1]]
    one = VerdictTable("d", ("a",), tuple("pqrs"), [0] * 4, range(4), range(4), counts, [1.0, 0.0])
    five = VerdictTable(
        "d", ("a",), tuple("pqrs"), [0] * 20, np.repeat(range(4), 5), np.repeat(range(4), 5), counts, [1.0, 0.0]
    )
    noises = measure_judge_noise(one), measure_judge_noise(five)
    assert noises[0].se_judge[0] == pytest.approx(noises[1].se_judge[0])
    assert noises[1].n_verdicts[0] == 8
    assert noises[1].generation[0] == pytest.approx(0)


def test_single_verdicts_say_nothing_of_the_judge():
    noise = measure_judge_noise(build_table([[[1], [0]], [[1], [1]]]))
    assert np.isnan(noise.judge[0])
    assert np.isnan(noise.flip_rate[0])
    assert "unknown" in noise["note"][0]


def test_completions_without_a_readable_verdict_are_left_out():
    table = VerdictTable("d", ("a",), tuple("pq"), [0, 0], [0, 1], [0, 1], [[2, 1], [0, 0]], [1.0, 0.0])
    noise = measure_judge_noise(table)
    assert noise.n_completions[0] == 1
    assert noise.score[0] == pytest.approx(2 / 3)


@pytest.mark.long
def test_flip_rates_cover_their_true_value():
    """60 questions, 2 completions, 3 verdicts, P(right) Beta(4, 1): the true rate is 2 E[p(1-p)] = 4/15."""
    rng = np.random.default_rng(7)
    covered = []
    for _ in range(400):
        p = np.repeat(rng.beta(4, 1, 60), 2)
        n = rng.binomial(3, p)
        table = VerdictTable(
            "d",
            ("a",),
            tuple(map(str, range(60))),
            [0] * 120,
            np.repeat(range(60), 2),
            range(120),
            np.stack([n, 3 - n], axis=1),
            [1.0, 0.0],
        )
        limits = measure_judge_noise(table).interval()
        covered.append(limits.low[0] <= 4 / 15 <= limits.high[0])
    assert 0.92 < np.mean(covered) < 0.985


def test_a_plan_is_the_best_of_all_designs():
    """Every design by brute force."""
    D, E, J, N, budget, c, v = 0.08, 0.06, 0.09, 120, 900.0, 3.0, 0.5
    plan = plan_verdicts(data=D, generation=E, judge=J, questions=N, budget=budget, completion_cost=c, verdict_cost=v)
    designs = [
        (np.sqrt((D + (E + J / r) / k) / n), n, k, r)
        for r in range(1, 21)
        for k in range(1, 21)
        for n in [min(N, int(budget / (k * (c + r * v))))]
        if n
    ]
    best = min(designs)
    row = plan[0]
    assert row["se"] == pytest.approx(best[0], rel=1e-9)
    assert row["cost"] <= budget
    assert plan.best_verdicts == pytest.approx(np.sqrt(J * c / (E * v)))


def test_a_plan_without_known_noise_is_refused():
    with pytest.raises(InputError, match="judge variance is unknown"):
        plan_verdicts(data=0.1, generation=0.1, judge=np.nan, questions=10, budget=100.0)
    with pytest.raises(InputError, match="pays for no completion"):
        plan_verdicts(data=0.1, generation=0.1, judge=0.1, questions=10, budget=1.0)


def test_components_of_four_completions_by_hand():
    """Completions 1, .5 | 0, 0 of two verdicts: J = .5/4, V of the second = .25, se_judge = .5/4, D = .28125 - 2/64."""
    noise = measure_judge_noise(build_table([[[1, 1], [1, 0]], [[0, 0], [0, 0]]]))
    assert (noise.judge[0], noise.se_judge[0]) == pytest.approx((0.125, 0.125))
    assert (noise.generation[0], noise.se_generation[0]) == pytest.approx((0, 0))
    assert (noise.data[0], noise.se_data[0]) == pytest.approx((0.25, np.sqrt(0.25 / 2)))


def test_flip_rate_of_two_questions_by_hand():
    """Rates 0, 1 | 0, 0 of completions are .5 and 0 of questions: mean .25, variance .125, error sqrt(.125/2)."""
    noise = measure_judge_noise(build_table([[[1, 1], [1, 0]], [[0, 0], [0, 0]]]))
    assert (noise.flip_rate[0], noise.flip_se[0], noise.flip_df[0]) == pytest.approx((0.25, 0.25, 1))


def test_the_table_by_hand():
    """Models with single verdicts, single completions, a judge that agrees with itself, and one that does not."""
    counts = [[1, 0], [0, 1], [2, 1], [1, 2], [2, 0], [0, 2], [0, 2], [2, 0], [1, 1], [2, 0], [0, 2], [1, 1]]
    models, questions = [0] * 2 + [1] * 2 + [2] * 4 + [3] * 4, [0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 1]
    table = VerdictTable("demo", tuple("abcd"), ("p", "q"), models, questions, range(12), counts, [1.0, 0.0])
    noise = measure_judge_noise(table, level=0.9)
    assert noise["note"].tolist() == [
        "one verdict per completion: the judge's noise is unknown",
        "one completion per question: generation and data noise cannot be separated",
        "the judge never contradicted itself",
        "",
    ]
    assert noise["benchmark"].tolist() == ["demo"] * 4
    assert noise["model"].tolist() == ["a", "b", "c", "d"]
    assert noise["n_completions"].tolist() == [2, 2, 4, 4]
    assert noise["n_verdicts"].tolist() == [2, 6, 8, 8]
    assert noise["score"] == pytest.approx([0.5, 0.5, 0.5, 0.5])
    assert noise["flip_rate"] == pytest.approx([np.nan, 2 / 3, 0, 0.5], nan_ok=True)
    # V = s2/r of a completion: (1/3)/3 with three verdicts, (1/2)/2 with verdicts 1 and 0.
    assert noise["se_judge"] == pytest.approx([np.nan, np.sqrt(2 / 9) / 2, 0, np.sqrt(2 / 4) / 4], nan_ok=True)
    assert noise["level"].tolist() == [0.9] * 4
    limits = noise.interval()
    assert (limits.level, noise.interval(0.5).level) == (0.9, 0.5)
    np.testing.assert_array_equal(noise["low"], limits.low)
    np.testing.assert_array_equal(noise["high"], limits.high)
    # Wilson's upper limit of a rate of 0 on two questions, t^2/(2 + t^2), for Student's t = tan(.45 pi) and 1 with df 1.
    t = np.tan(0.45 * np.pi)
    assert (limits.high[2], noise.interval(0.5).high[2]) == pytest.approx((t**2 / (2 + t**2), 1 / 3))


def test_a_table_without_completions_has_no_score():
    noise = measure_judge_noise(VerdictTable("demo", ("a",), (), [], [], [], [], [1.0, 0.0]))
    assert noise.n_completions.tolist() == noise.n_verdicts.tolist() == [0]
    assert np.isnan(noise.score[0])


def test_every_row_of_a_plan_is_the_best_design_with_its_number_of_verdicts():
    """By brute force, with a limit on both numbers that binds: the data noise is 0, so more completions are better."""
    E, J, N, c, v, most = 0.06, 0.09, 50, 2.0, 0.5, 3
    plan = plan_verdicts(
        data=0.0, generation=E, judge=J, questions=N, budget=1000.0, completion_cost=c, verdict_cost=v, most=most
    )
    expected = []
    for r in range(1, most + 1):
        designs = [(min(N, int(1000 / (k * (c + r * v)))), k) for k in range(1, most + 1)]
        expected.append(min((np.sqrt((E + J / r) / (k * n)), n, k, r, n * k * (c + r * v)) for n, k in designs))
    expected.sort()
    plan = replace(plan, benchmark="demo", model="a")
    columns = plan.columns()
    names = ("se", "questions", "generations", "verdicts", "cost")
    assert list(zip(*(columns[name].tolist() for name in names), strict=True)) == [
        pytest.approx(row) for row in expected
    ]
    assert [row[2:4] for row in expected] == [(3, 3), (3, 2), (3, 1)]
    assert columns["benchmark"].tolist() == ["demo"] * 3
    assert columns["model"].tolist() == ["a"] * 3


def test_means_of_components_and_a_single_question():
    """Completions 1, .5 of one question have E without D; the mean of models has none where one has none."""
    single = measure_judge_noise(build_table([[[1, 1], [1, 0]]]))
    assert single.generation[0] == pytest.approx(0.125 - 0.125)  # variance 1/8 of the means less V = (0 + .5/2)/2
    assert np.isnan(single.data[0])
    counts = [[1, 1], [2, 0], [0, 2], [1, 1], [2, 0], [2, 0], [0, 2], [0, 2]]
    table = VerdictTable("d", ("a", "b"), ("p", "q"), [0] * 4 + [1] * 4, [0, 0, 1, 1] * 2, range(8), counts, [1.0, 0.0])
    noise = measure_judge_noise(table)
    parts = noise.average_components([0, 1])
    assert (parts.judge, parts.generation) == pytest.approx((0.125, noise.generation.mean()))
    assert noise.average_components([1]).judge == 0
    assert noise.average_components([1]).data == pytest.approx(0.5)


@pytest.mark.parametrize("wrong", [{"questions": 0}, {"budget": 0.0}, {"completion_cost": -1.0}, {"verdict_cost": 0.0}])
def test_costs_and_numbers_of_a_plan_are_positive(wrong):
    arguments = {"data": 0.1, "generation": 0.1, "judge": 0.1, "questions": 10, "budget": 100.0} | wrong
    with pytest.raises(InputError, match="must be positive"):
        plan_verdicts(**arguments)
