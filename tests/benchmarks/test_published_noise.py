"""Noise of published benchmarks: figures of the published table, read from it again, and names as people write them."""

import ast
import csv
import math
from pathlib import Path

import numpy as np
import pytest

import howsure as hs
from howsure.benchmarks.published_noise import find_benchmarks, read_published_noise
from howsure.errors import InputError, UnknownNameError

SHARED = Path(__file__).resolve().parents[2] / "../shared/data/all_the_noises"


def test_figures_of_the_published_table():
    """Published: copied by hand from the two tables summary.csv (means of the standard errors, standard deviations)."""
    noise = read_published_noise().select("math500_cot", "swebench-lite")
    assert noise.n_questions.tolist() == [500, 300]
    assert noise.n_unsolved.tolist() == [2, 35]
    assert noise["se_difference"].tolist() == pytest.approx(
        [math.hypot(0.020660138, 0.0023702065), math.hypot(0.0262493984, 0.0025498136)]
    )
    assert noise["se_prediction"][0] == pytest.approx(0.01831, rel=0.02)
    assert math.isnan(noise["se_prediction"][1])


@pytest.mark.shared
@pytest.mark.parametrize("part", ["main", "highk_temp0.7"])
def test_every_row_of_the_published_tables(part):
    if not SHARED.is_dir():
        pytest.skip("the published tables of ../shared/data/all_the_noises are not here")
    table = read_published_noise()
    rows = list(csv.DictReader((SHARED / part / "summary.csv").read_text().splitlines()))
    assert len(rows) in {25, 4}
    for row in rows:
        ours = table.select(row["benchmark_id"])
        assert (ours.n_questions[0], ours.n_unsolved[0]) == (int(row["size"]), int(row["no_solve"]))
        for field, column in (("score", "SE(A)"), ("difference", "SE(A-B)"), ("difference_data", "SE_x(A-B)")):
            value = ast.literal_eval(row[column])
            if value["mean"] is None:
                assert math.isnan(getattr(ours, field)[0])
            else:
                variance = int(row["size"]) * (value["mean"] ** 2 + value["std"] ** 2)
                assert getattr(ours, field)[0] == pytest.approx(variance, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("math500", ["math500_cot"]),
        ("MATH-500", ["math500_cot"]),
        ("gsm8k", ["gsm8k"]),
        ("humaneval", ["humaneval"]),
        ("humaneval-plus", ["human_eval_plus", "humaneval+"]),
        ("aime-2024", ["aime2024_cot"]),
        ("cruxeval-output-t0.2", ["CRUXEval-output-T0.2"]),
        ("swe-bench-verified", ["swebench-verified"]),
    ],
)
def test_names_as_people_write_them(name, meant):
    assert find_benchmarks(name) == meant


@pytest.mark.parametrize("name", ["gpqa", "", "m", "truthful"])
def test_names_without_published_noise(name):
    with pytest.raises(UnknownNameError, match="published noise"):
        find_benchmarks(name)


def test_plan_without_a_pilot():
    """By hand: of math500_cot at an accuracy of .7, variance of a pair = ratio of published variances times .21."""
    published = read_published_noise().select("math500_cot")
    ratio = published.difference[0] / published.score[0]
    [part] = hs.plan(like="math500", accuracy=0.7, se=0.02, assurance=None).parts
    assert part.best is not None
    N, k = part.best.n_questions, part.best.n_generations
    share = published.difference_data[0] / (published.difference_data[0] + published.difference_prediction[0])
    assert part.best.se == pytest.approx(math.sqrt(ratio * 0.21 * (share + (1 - share) / k) / N), rel=0.01)
    assert N <= 500
    assured = hs.plan(like="math500", accuracy=0.7, se=0.02).parts[0].best
    assert assured is not None
    assert assured.calls > part.best.calls


def test_plan_of_a_score_is_exact_for_single_generations():
    """Theory: N questions with one generation have the squared error p(1-p)/N."""
    [part] = hs.plan(like="gsm8k", accuracy=0.9, a="mine", budget=900, assurance=None).parts
    assert part.best is not None
    assert part.best.n_generations == 1
    assert part.best.se == pytest.approx(math.sqrt(0.09 / 900), rel=1e-6)


def test_own_results_beside_the_published_ones():
    rng = np.random.default_rng(0)
    cells = hs.Cells.from_scores("mine", ["a", "b"], [f"q{i}" for i in range(30)], rng.integers(0, 2, (2, 30, 3)))
    table = hs.noise(cells, like=["gsm8k", "math500"])
    assert table["benchmark"].tolist() == ["mine", "gsm8k", "math500_cot"]
    assert not np.isnan(table["se_data"][0])
    wide = hs.noise(cells, like="gsm8k", every_column=True)
    assert {"n_pairs", "temperature", "se_score_data"} <= set(wide.columns())
    assert len(hs.noise()) == 29


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"like": "cruxeval-output", "detect": 0.02}, "CRUXEval-output-T0.2, CRUXEval-output-T0.8"),
        ({"like": "gsm8k", "temperature": 0.7, "detect": 0.02}, "temperature of their own"),
        ({"like": "gsm8k", "accuracy": 1.2, "detect": 0.02}, "strictly between"),
    ],
)
def test_wrong_plans(arguments, message):
    with pytest.raises(InputError, match=message):
        hs.plan(**arguments)


def test_published_noise_and_a_reference_exclude_each_other():
    scores = np.random.default_rng(1).integers(0, 2, (6, 30, 2))
    reference = hs.Cells.from_scores("gsm8k", list("abcdef"), [f"q{i}" for i in range(30)], scores)
    with pytest.raises(InputError, match="like with borrow"):
        hs.plan(like="gsm8k", borrow=reference, se=0.05)


def test_the_command(howsure):
    code, out, err = howsure("plan", "--like", "math500", "--accuracy", "0.7", "--format", "csv")
    assert (code, err) == (0, "")
    header, row = out.splitlines()
    values = dict(zip(header.split(","), row.split(","), strict=False))
    assert float(values["se"]) == pytest.approx(math.sqrt(0.21 / 500))
    code, out, _ = howsure("plan", "--like", "math500", "--accuracy", "0.7", "--width", "0.08")
    assert code == 0
    assert "math500_cot" in out
    code, _, err = howsure("plan", "--like", "maths500")
    assert code == 2
    assert "math500_cot" in err


def test_a_plan_refuses_a_difference_that_scores_cannot_have():
    with pytest.raises(InputError, match=r"--detect 2: a difference of 2 with scores from 0 to 1"):
        hs.plan(like="math500", accuracy=0.7, detect=2)
    pilot = hs.Cells.from_scores("b", ["a", "b"], ["1", "2", "3"], [[[1], [0], [1]], [[0], [0], [1]]])
    with pytest.raises(InputError, match=r"--detect 5: a difference of 5 with scores from 0 to 1"):
        hs.plan(pilot, detect=5)
    ratings = hs.Cells.from_scores("b", ["a", "b"], ["1", "2", "3"], [[[9], [4], [8]], [[7], [4], [2]]])
    assert hs.plan(ratings, detect=5, available=1000).parts[0].best.n_questions > 0
    assert hs.plan(like="math500", accuracy=0.7, detect=0.05).parts[0].best.n_questions > 30
