"""Printed tables of NOISE (Measuring all the noises): each published pair and model, through the reader.

The pair tables are corrected for few generations and clipped at 0; NaN where either model has one generation per
question. The model tables were made without that correction: the plain form.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import howsure as hs
from howsure.benchmarks.published_noise import read_published_noise
from howsure.reporting.sections.comparisons import select_pairs
from howsure.stats.comparisons import pairs as compare_pairs
from howsure.stats.questions import compute_question_tau

FOLDER = Path(__file__).resolve().parents[2] / "../shared/data/all_the_noises"

BENCHMARKS = {
    "aime2024_cot": "highk_temp0.7",
    "math500_cot": "highk_temp0.7",
    "CRUXEval-output-T0.8": "main",
    "gsm8k": "main",
    "humaneval+": "main",
    "swebench-lite": "main",
}


@pytest.fixture(params=BENCHMARKS, scope="module")
def published(request):
    folder = FOLDER / BENCHMARKS[request.param]
    if not folder.is_dir():
        pytest.skip("the published tables of ../shared/data/all_the_noises are not here")
    [cells] = hs.read(folder / f"input_table_{request.param}.csv")
    assert cells.benchmark == request.param
    pairs = pd.read_csv(folder / f"summary_{request.param}.csv", index_col=0).set_index(["model_a", "model_b"])
    models = pd.read_csv(folder / f"model_table_{request.param}.csv", index_col=0).set_index("model")
    return cells, pairs, models


def assert_equal(ours, theirs):
    """Equal to 1e-12 relative or 1e-15 absolute, and NaN in the same places."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    assert (np.isnan(ours) == np.isnan(theirs)).all()
    off = np.abs(ours - theirs)
    assert np.nanmax(np.minimum(off / 1e-15, off / (1e-12 * np.abs(theirs) + 1e-300)), initial=0) <= 1


@pytest.mark.shared
def test_every_published_pair(published):
    cells, table, _ = published
    ours = hs.pairs(cells).to_frame()
    turned = ours.rename(
        columns=lambda name: (
            {"a": "b", "b": "a"}.get(name[-1], name[-1]).join([name[:-1], ""]) if name.endswith(("_a", "_b")) else name
        )
    )
    turned["difference"] = -turned["difference"]
    ours = pd.concat([ours, turned[ours.columns]]).set_index(["model_a", "model_b"]).loc[table.index]
    assert len(ours) == len(table) > 500
    assert (ours["n_questions"] == table["total"]).all()
    assert_equal(ours["score_a"], table["accA"])
    assert_equal(ours["score_b"], table["accB"])
    assert_equal(ours["se_total"], table["SE(A-B)"])
    assert_equal(ours["se_data"], table["SE_x(A-B)"])
    assert_equal(ours["se_prediction"], table["SE_pred(A-B)"])
    assert_equal(ours["disagreement"] * ours["n_questions"], table["sum(A!=B)"])
    assert_equal(ours["correlation"], table["corr(A,B)"])
    # Their p-value truncates a float sum of wins by int(); the exact test needs whole numbers: one generation.
    if (cells.n == 1).all():
        assert_equal(ours["p_sign"], table["pvalue"])
    else:
        assert ours["p_sign"].isna().all()


@pytest.mark.shared
def test_every_published_model_in_the_plain_form(published):
    cells, _, table = published
    ours = hs.score(cells, method="plain").to_frame().set_index("model").loc[table.index]
    assert len(ours) == len(table) == len(cells.models)
    assert_equal(ours["score"], table["pass1"])
    assert_equal(ours["se_total"], table["SE(A)"])
    assert_equal(ours["se_data"], table["SE_x(A)"])
    assert_equal(ours["se_prediction"], table["SE_pred(A)"])


#: Unsolved questions and questions with a negative tau, as the tables summary.csv count them.
HARD_QUESTIONS = {
    "aime2024_cot": (1, 0),
    "math500_cot": (2, 6),
    "CRUXEval-output-T0.8": (35, 55),
    "gsm8k": (28, 7),
    "humaneval+": (7, 3),
    "swebench-lite": (35, 5),
}


@pytest.mark.shared
def test_unsolved_questions_and_questions_with_a_negative_tau(published):
    """Of ability over all questions; over the others, as `howsure questions` has it, humaneval+ has one more."""
    cells, _, _ = published
    questions = hs.questions(cells)
    n_unsolved, n_negative = HARD_QUESTIONS[cells.benchmark]
    assert np.sum(questions["score"] == 0) == n_unsolved
    assert np.sum(compute_question_tau(cells, ability="all").tau < 0) == n_negative
    assert np.sum(questions["tau"] < 0) == n_negative + (cells.benchmark == "humaneval+")


@pytest.mark.shared
def test_the_mean_error_of_a_score(published):
    """SE(A) of the table of benchmarks: of the models whose scores are between .1 and .9."""
    cells, _, _ = published
    noise = read_published_noise().select(cells.benchmark)
    scores = hs.score(cells, method="plain")
    middle = (scores["score"] > 0.1) & (scores["score"] < 0.9)
    se = scores["se_total"][middle]
    assert len(cells.questions) * (se.mean() ** 2 + se.var(ddof=1)) == pytest.approx(noise.score[0], rel=1e-5)


@pytest.mark.shared
def test_close_pairs_are_those_of_the_published_figures(published):
    """The site's program draws pairs with |acc(A) - acc(B)| / (SE(A-B) + 1e-10) of at most 5; the paper has no number."""
    cells, table, _ = published
    ours = compare_pairs(cells)
    selected = dict(zip(zip(ours.a, ours.b, strict=True), select_pairs(ours, 5.0).tolist(), strict=True))
    at = {model: i for i, model in enumerate(ours.models)}
    theirs = np.abs(table["accA"] - table["accB"]) / (table["SE(A-B)"] + 1e-10) <= 5
    assert 0 < theirs.sum() < len(theirs) or cells.benchmark == "aime2024_cot"
    for (a, b), is_close in theirs.items():
        assert selected[tuple(sorted((at[a], at[b])))] == is_close, (a, b)
