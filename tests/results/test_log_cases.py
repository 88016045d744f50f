"""Logs that an earlier version read wrongly. Kind of truth: the numbers of the harness that wrote each log, which the
README beside the data lists."""

import warnings
from pathlib import Path

import pytest

import howsure as hs
from howsure.errors import HowsureWarning, InputError

CASES = Path(__file__).resolve().parents[2] / "../shared/data/logs_cases"

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not CASES.is_dir(), reason="needs the data folder ../shared"),
]


def score(name, **options):
    """Return the rows of the scores of a case, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HowsureWarning)
        results = hs.score(hs.read(CASES / name), **options)
        columns = results.columns()
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return rows, [str(one.message) for one in caught]


@pytest.mark.parametrize(
    ("missing", "expected", "n_missing"), [("as-missing", 6 / 17, 63), ("as-zero", 0.075, 63), ("bounds", 6 / 17, 63)]
)
def test_trials_that_were_not_judged_are_missing(missing, expected, n_missing):
    (row,), _ = score("tb_unjudged", missing=missing)
    assert (row["score"], row["n_missing"]) == (pytest.approx(expected), n_missing)
    if missing == "bounds":
        assert row["low"] < 0.075
        assert row["high"] > 69 / 80


@pytest.mark.parametrize(
    ("missing", "expected", "n_missing"),
    [("as-missing", 13 / 29, 11), ("as-zero", 0.325, 11), ("bounds", 13 / 29, 11)],
)
def test_samples_that_a_scorer_left_out_are_missing(missing, expected, n_missing):
    (row,), _ = score("inspect_unscored", missing=missing)
    assert (row["score"], row["n_missing"]) == (pytest.approx(expected), n_missing)
    if missing == "bounds":
        assert row["low"] < 0.325
        assert row["high"] > 0.6


def test_a_run_that_was_continued_counts_each_sample_once():
    (row,), notes = score("inspect_retry")
    assert (row["n_questions"], row["n_generations"], row["score"]) == (40, 40, pytest.approx(0.45))
    (row,), _ = score("inspect_retry", claim="these-questions")
    assert row["se"] != 0
    assert any("tries of" in line for line in notes)


def test_other_data_under_the_same_ids_are_other_benchmarks():
    rows, notes = score("inspect_same_task_other_data")
    assert [(row["n_generations"], row["score"]) for row in rows] == [
        (40, pytest.approx(0.45)),
        (30, pytest.approx(0.43333, abs=1e-5)),
    ]
    assert any("other questions under the same ids" in line for line in notes)


def test_other_templates_are_prompt_variants():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HowsureWarning)
        [cube] = hs.read(CASES / "inspect_same_task_other_prompt").cubes()
    assert len(cube.variants) == 2
    assert (cube.n == 1).all()
    assert any("prompt variants" in str(one.message) for one in caught)


@pytest.mark.parametrize(
    ("name", "n", "expected", "left_out"),
    [("inspect_folder_abort", 1, 0.0, "categories"), ("lm_eval/with_perplexity", 60, 0.5, "samples_ppl")],
)
def test_one_odd_file_does_not_spoil_a_folder(name, n, expected, left_out):
    (row,), notes = score(name)
    assert (row["n_questions"], row["score"]) == (n, expected)
    assert [left_out in line for line in notes if "left out:" in line] == [True]


@pytest.mark.parametrize("file", sorted((CASES / "inspect_no_samples").glob("*")), ids=lambda path: path.name[:20])
def test_logs_without_samples_say_so(file):
    with pytest.raises(InputError, match="no samples are kept"):
        score(f"inspect_no_samples/{file.name}")


def test_a_scorer_with_a_metric_is_read_before_one_without():
    (row,), _ = score("inspect_metricless_first")
    assert row["score"] == 0.0


def test_the_test_split_of_helm_is_read_alone():
    (row,), _ = score("helm_two_splits")
    assert (row["score"], row["n_questions"]) == (pytest.approx(1 / 9), 9)


def test_what_was_only_predicted_has_no_score_and_can_be_scored(tmp_path):
    with pytest.raises(InputError, match="howsure rescore scores the completions"):
        score("lm_eval/predict_only")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)
        hs.rescore(CASES / "lm_eval/predict_only", "numeric", output=tmp_path / "run")
        [cells] = hs.read(tmp_path / "run", scorer="numeric").cells()
    assert (cells.n == 1).all()
    assert cells.n.size == 60


def test_revisions_are_models():
    rows, _ = score("lm_eval/revisions")
    assert {row["model"]: row["score"] for row in rows} == {
        "org/fake (revision=step1000, skill=0.2)": pytest.approx(0.08333, abs=1e-5),
        "org/fake (revision=step9000, skill=0.8)": pytest.approx(0.51667, abs=1e-5),
    }


def test_samples_without_a_score_are_listed_as_unscored_and_not_as_failed():
    counts = hs.show(CASES / "inspect_unscored", only="unscored", limit=1).counts
    assert {kind: n for kind, n in counts.items() if n} == {"correct": 13, "wrong": 16, "unscored": 11}
