"""A printed table: the oracles against the published pair and model tables, a few rows of each."""

import csv
import math
from pathlib import Path

import pytest
from oracles import components, pairs

SHARED = Path(__file__).resolve().parents[2] / "../shared/data/all_the_noises"
PUBLISHED = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the published tables (../shared/data/all_the_noises) are absent"
)


def published_generations(path):
    """{model: [[1, 1, 0, ...], ...]} with questions in the order of their ids, rebuilt from pass1 and count."""
    table = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            count = round(float(row["count"]))
            right = round(float(row["pass1"]) * count)
            table.setdefault(row["model"], {})[row["example_id"]] = [1] * right + [0] * (count - right)
    return {model: [rows[question] for question in sorted(rows)] for model, rows in table.items()}


@pytest.mark.shared
@PUBLISHED
@pytest.mark.parametrize(
    ("folder", "name", "rounding"),
    [
        ("main", "gsm8k", 1e-12),
        pytest.param("main", "CRUXEval-output-T0.8", 1e-12, marks=pytest.mark.long),
        pytest.param("highk_temp0.7", "aime2024_cot", 1e-9, marks=pytest.mark.long),
    ],
)
def test_published_tables(folder, name, rounding):
    models = published_generations(SHARED / folder / f"input_table_{name}.csv")
    with (SHARED / folder / f"summary_{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows[:: len(rows) // 2]:
        got = pairs.summary(models[row["model_a"]], models[row["model_b"]])
        columns = {
            "SE(A-B)": "se_total",
            "SE_x(A-B)": "se_data",
            "SE_pred(A-B)": "se_prediction",
            "corr(A,B)": "correlation",
        }
        for column, ours in columns.items():
            assert got[ours] == pytest.approx(float(row[column] or "nan"), rel=1e-7, abs=rounding, nan_ok=True), (
                row,
                column,
            )
        N = got["n_questions"]
        assert float(row["total"]) == N
        assert got["disagreement"] * N == pytest.approx(float(row["sum(A!=B)"]), rel=1e-8)
        assert got["difference"] * N == pytest.approx(float(row["sum(A-B)"]), rel=1e-8, abs=1e-7)
        if not math.isnan(got["p_sign"]):
            assert got["p_sign"] == pytest.approx(float(row["pvalue"]), rel=1e-9)
    with (SHARED / folder / f"model_table_{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows[:: len(rows) // 2]:
        plain = components.plain_variances(models[row["model"]])
        N = components.n_questions(models[row["model"]])
        assert math.sqrt(plain["data"] / N) == pytest.approx(float(row["SE_x(A)"]), rel=1e-7)
        assert math.sqrt(plain["prediction"] / N) == pytest.approx(float(row["SE_pred(A)"]), rel=1e-7, abs=1e-12)
        assert math.sqrt(plain["total"] / N) == pytest.approx(float(row["SE(A)"]), rel=1e-7)
