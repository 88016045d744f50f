"""Noise of a benchmark: a slow version of each number, the exact variance of a score, and figures that were published."""

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import Cells
from howsure.stats.planning.benchmark_noise import components_from_noise, measure_noise
from howsure.stats.planning.pilot import components_from_accuracy

RECORDED = Path(__file__).parents[3] / "bench" / "data" / "published_results.npz"


def draw_cells(seed, models=5, questions=40, k=4):
    """Cells of models of different ability, k generations each, and the counts of right answers."""
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-(rng.normal(0, 0.8, (models, 1)) + rng.normal(0, 1.5, questions))))
    total = rng.binomial(k, p).astype(float)
    total[0] = 0  # a model that solves nothing is left out
    names = tuple("abcdefgh"[:models]), tuple(f"q{i}" for i in range(questions))
    return Cells("drawn", *names, np.full(total.shape, k), total, total), total, k


@pytest.mark.parametrize("seed", range(3))
def test_against_loops(seed):
    """Oracle: plain loops over models, pairs and questions, from the formulas of the paper."""
    cells, total, k = draw_cells(seed)
    N = total.shape[1]
    used = [row for row in total / k if row.mean() > 0.05]
    noise = measure_noise(cells)
    assert noise.n_models.tolist() == [len(used)] == [4]

    def parts(means):
        """D and E of a score: variance of the means less the sampling noise, and the mean of the variances within."""
        E = sum(p * (1 - p) * k / (k - 1) for p in means) / N
        return sum((p - sum(means) / N) ** 2 for p in means) / N - E / k, E

    each = [parts(list(row)) for row in used]
    assert noise.score[0] == pytest.approx(np.mean([D + E for D, E in each]))
    assert noise.score_data[0] == pytest.approx(np.mean([max(D, 0) for D, _ in each]))
    assert noise.score_prediction[0] == pytest.approx(np.mean([E for _, E in each]))
    totals, data, different = [], [], []
    for a, b in itertools.combinations(used, 2):
        E = parts(list(a))[1] + parts(list(b))[1]
        d = a - b
        D = sum((one - d.mean()) ** 2 for one in d) / N - E / k
        if abs(d.mean()) <= 5 * math.sqrt((D + E) / N):
            totals.append(D + E)
            data.append(max(D, 0))
            different.append(sum(p * (1 - q) + q * (1 - p) for p, q in zip(a, b, strict=True)))
    assert noise.n_pairs.tolist() == [len(totals)]
    assert noise.difference[0] == pytest.approx(np.mean(totals))
    assert noise.difference_sd[0] == pytest.approx(np.std(totals, ddof=1))
    assert noise.difference_data[0] == pytest.approx(np.mean(data))
    assert noise.n_different[0] == pytest.approx(np.mean(different))
    assert noise.n_unsolved.tolist() == [int((total == 0).all(axis=0).sum())]
    means = total / k
    taus = [stats.kendalltau(means[:, q], means.mean(axis=1)).statistic for q in range(N)]
    assert noise.n_negative_tau.tolist() == [sum(tau < 0 for tau in taus)]
    columns = noise.columns()
    assert columns["n_different"] == pytest.approx([np.mean(different)])
    assert columns["se"][0] == pytest.approx(math.sqrt(noise.score[0] / N))
    assert columns["detectable"][0] == pytest.approx(
        (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * math.sqrt(noise.difference[0] / N)
    )


def test_of_published_results():
    """Published: means over models and pairs on math500_cot and CRUXEval-output-T0.8, computed there from the same counts."""
    with np.load(RECORDED) as file:
        for name, se_difference, se_data, se_prediction in (
            ("math500_cot", 0.0206601, 0.0093643, 0.0183139),
            ("CRUXEval-output-T0.8", 0.0164166, 0.0087873, 0.0137816),
        ):
            n, total = file[f"{name}/n"].astype(np.int64), file[f"{name}/total"].astype(float)
            models, questions = (tuple(file[f"{name}/{axis}"].tolist()) for axis in ("models", "questions"))
            columns = measure_noise(Cells(name, models, questions, n, total, total)).columns()
            # They take means of standard errors over a set of pairs that the sign test selects; we take means of variances.
            assert columns["se_difference"][0] == pytest.approx(se_difference, rel=0.02)
            assert columns["se_data"][0] == pytest.approx(se_data, rel=0.05)
            assert columns["se_prediction"][0] == pytest.approx(se_prediction, rel=0.02)


def test_at_an_accuracy():
    """Theory: the variance of a single answer that is right with probability p is p(1-p)."""
    noise = measure_noise(draw_cells(1)[0])
    at = noise.at_accuracy(0.9)
    assert at.score[0] == pytest.approx(0.09)
    assert at.score_sd[0] == 0
    assert at.difference[0] / at.score[0] == pytest.approx(noise.difference[0] / noise.score[0])
    assert at.difference_data[0] / at.difference[0] == pytest.approx(noise.difference_data[0] / noise.difference[0])
    with pytest.raises(InputError, match="strictly between"):
        noise.at_accuracy(1.0)
    with pytest.raises(InputError, match=r"accuracy of 0\.9"):
        at.at_accuracy(0.5)


def test_one_generation_per_question():
    total = np.array([[1, 0, 1, 1, 0, 1], [1, 1, 0, 1, 0, 0]], float)
    cells = Cells("single", ("a", "b"), tuple("pqrstu"), np.ones(total.shape, np.int64), total, total)
    noise = measure_noise(cells)
    assert math.isnan(noise["se_data"][0])
    assert "one generation per question" in noise["note"][0]
    plan = components_from_noise(noise, 0.5)
    assumed = components_from_accuracy(0.5)
    assert plan.total == pytest.approx(noise.difference[0] / noise.score[0] * 0.25)
    assert plan.question / plan.total == pytest.approx(assumed.question / assumed.total)
    assert "assumed" in plan.note


@pytest.mark.parametrize(("models", "share", "share_sd"), [(1, 0.6, 0.12), (2, 0.35, 0.12)])
def test_the_parts_of_single_generations_are_those_of_published_scores_and_pairs(models, share, share_sd):
    """By hand: independent share and total, with the share of published scores, or pairs, and its standard deviation."""
    rng = np.random.default_rng(4)
    total = (rng.random((4, 30)) < 0.6).astype(float)
    cells = Cells("single", tuple("abcd"), tuple(map(str, range(30))), np.ones(total.shape, np.int64), total, total)
    noise = measure_noise(cells)
    T, sd = (noise.score, noise.score_sd) if models == 1 else (noise.difference, noise.difference_sd)
    assert sd[0] > 0
    plan = components_from_noise(noise, models=models)
    assert (plan.question, plan.generation) == pytest.approx((share * T[0], (1 - share) * T[0]))
    assert plan.question_se == pytest.approx(math.hypot(share * sd[0], share_sd * T[0]))
    assert plan.generation_se == pytest.approx(math.hypot((1 - share) * sd[0], share_sd * T[0]))
    assert plan.models == models


def test_components_of_a_pair_and_of_a_score():
    noise = measure_noise(draw_cells(2)[0])
    pair = components_from_noise(noise)
    assert pair.question + pair.generation == pytest.approx(noise.difference[0])
    assert pair.question / pair.generation == pytest.approx(noise.difference_data[0] / noise.difference_prediction[0])
    assert pair.question_se == pytest.approx(noise.difference_data_sd[0])
    assert "(the mean over its models, whatever their accuracy; --accuracy scales it to yours)" in pair.note
    one = components_from_noise(noise, 0.7, models=1)
    assert "(at an accuracy of 0.7)" in one.note
    assert one.models == 1
    assert one.total == pytest.approx(0.21)
    alone = measure_noise(Cells("one", ("a",), ("p", "q"), np.full((1, 2), 2), np.ones((1, 2)), np.ones((1, 2))))
    with pytest.raises(InputError, match="no two models are close"):
        components_from_noise(alone)


def test_rows_are_selected_in_the_order_of_the_names():
    noise = measure_noise(draw_cells(0)[0])
    arrays = {name: np.repeat(value, 2) for name, value in vars(noise).items() if isinstance(value, np.ndarray)}
    texts = {"benchmarks": ("p", "q"), "sources": ("first", "second")}
    rows = replace(noise, **arrays | texts | {"n_questions": np.array([40, 50])}).select("q", "p")
    assert (rows.benchmarks, rows.n_questions.tolist(), rows.sources) == (("q", "p"), [50, 40], ("second", "first"))
    assert rows.score.tolist() == noise.score.tolist() * 2


def test_wrong_use():
    noise = measure_noise(draw_cells(0)[0])
    with pytest.raises(UnknownNameError):
        noise.select("other")
    graded = Cells("graded", ("a",), ("p",), np.array([[2]]), np.array([[1.0]]), np.array([[0.5]]))
    with pytest.raises(InputError, match="0 and 1"):
        measure_noise(graded)


def test_every_column_and_one_benchmark_at_a_time():
    cells, _, _ = draw_cells(1)
    noise = measure_noise(cells)
    few, every = noise.columns(), replace(noise, every_column=True).columns()
    added = [
        "n_negative_tau",
        "correlation",
        "se_score_data",
        "se_score_prediction",
        "n_models",
        "n_pairs",
        "temperature",
    ]
    assert [name for name in every if name not in few] == added
    assert every["n_models"].tolist() == [4]
    chance = "fewer than five models: chance decides n_negative_tau"
    assert chance in every["note"][0]
    assert chance not in few["note"][0]  # nor is the column there
    five = replace(measure_noise(draw_cells(1, models=6)[0]), every_column=True)
    assert five.n_models.tolist() == [5]
    assert chance not in five["note"][0]
    assert every["se_score_prediction"] == pytest.approx(np.sqrt(noise.score_prediction / 40))
    assert every["se_score_data"] == pytest.approx(np.sqrt(noise.score_data / 40))
    with pytest.raises(InputError, match="the noise of 0 benchmarks"):
        components_from_noise(replace(noise, benchmarks=()), 0.6)


@pytest.mark.parametrize("right", [[0, 1, 0, 1], [1, 1, 1, 1]])
def test_models_that_never_differ_detect_no_difference(right):
    """By hand: equal answers of two models have an error of 0, which does not mean that any difference is seen."""
    cells = Cells.from_scores("alike", ["a", "b"], list("pqrs"), [[[x, x] for x in right]] * 2)
    columns = measure_noise(cells).columns()
    assert columns["se_difference"].tolist() == [0]
    assert np.isnan(columns["detectable"][0])
    assert "no variation was seen" in columns["note"][0]
