"""Make the noise levels of published benchmarks, a small file of the package, from published question-level results.

`python bench/published_noise.py SHARED_FOLDER` writes src/howsure/benchmarks/published_noise.csv from the two tables
`summary.csv` that were published with "Measuring all the noises of LLM evals" (Wang 2025): means and standard
deviations over models, and over pairs of models that are close, of the standard errors on each benchmark.

`python bench/published_noise.py` prints how far the error that `howsure plan --like` gives for two close models is
from the error that was measured for them, on the five benchmarks of bench/data/published_results.npz.
"""

from __future__ import annotations

import ast
import csv
import sys
from pathlib import Path

import numpy as np

from howsure.benchmarks.published_noise import FILE, read_published_noise
from howsure.stats.comparisons import pairs
from howsure.stats.planning import CLOSE_ERRORS, LOWEST_SCORE
from published_results import BENCHMARKS, load_published

#: Folders of the published tables; all results of the second were sampled at a temperature of 0.7.
FOLDERS = ("main", "highk_temp0.7")
#: Our columns, and the columns of the published table that they hold the mean and the standard deviation of.
MEANS = {
    "se": "SE(A)",
    "se_data": "SE_x(A)",
    "se_prediction": "SE_pred(A)",
    "difference": "SE(A-B)",
    "difference_data": "SE_x(A-B)",
    "difference_prediction": "SE_pred(A-B)",
}
HEADER = """\
# Noise of published benchmarks: standard errors, means and standard deviations (_sd) over models and over close pairs.
# Source: tables summary.csv of all-the-noises.github.io (main and highk_temp0.7), published in December 2025 with
# Wang (2025), Measuring all the noises of LLM evals, arXiv 2512.21326. Their licence is not known: quoted as facts.
# Made by: python bench/published_noise.py SHARED_FOLDER
"""


def write_table(folder: Path) -> None:
    """Write the file of the package from the published tables."""
    rows = [
        summarise(row, part)
        for part in FOLDERS
        for row in csv.DictReader((folder / part / "summary.csv").read_text(encoding="utf-8").splitlines())
    ]
    rows.sort(key=lambda row: str(row["benchmark"]).lower())
    with FILE.open("w", encoding="utf-8", newline="") as file:
        file.write(HEADER)
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{len(rows)} benchmarks: {FILE}")


def summarise(row: dict[str, str], part: str) -> dict[str, object]:
    """Return the row of a benchmark; what one generation per question cannot say is empty."""
    name = row["benchmark_id"]
    values = {ours: ast.literal_eval(row[theirs]) for ours, theirs in MEANS.items()}
    # Pairs are listed in both orders.
    n_pairs, n_split = (int(values[key]["count"]) // 2 for key in ("difference", "difference_data"))
    is_split = n_split >= 0.9 * n_pairs  # otherwise most models have one generation, whose parts are not known
    result: dict[str, object] = {
        "benchmark": name,
        "temperature": "0.7" if part == "highk_temp0.7" else name.partition("-T")[2],
        "n_questions": row["size"],
        "n_models": int(values["se"]["count"]),
        "n_pairs": n_pairs,
        "n_split_pairs": n_split,
        "n_unsolved": row["no_solve"],
        "n_negative_tau": row["tau-"],
        "n_different": round(ast.literal_eval(row["sum(A!=B)"])["mean"], 1),
        "correlation": round(ast.literal_eval(row["corr(A,B)"])["mean"], 4),
    }
    for ours, value in values.items():
        is_known = n_split > 0 if ours.startswith("difference_") else is_split or ours in {"se", "difference"}
        for column, key in ((ours, "mean"), (f"{ours}_sd", "std")):
            result[column] = f"{value[key]:.8f}" if is_known and value[key] is not None else ""
    return result


def print_errors() -> None:
    """Print quantiles of the error at the accuracy of two close models over the error that was measured for them."""
    table = read_published_noise()
    print("| benchmark | pairs | 10 % | median | 90 % | data noise, median | prediction noise, median |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in BENCHMARKS:
        measured = pairs(load_published(name))
        keep = np.minimum(measured.score_a, measured.score_b) > LOWEST_SCORE
        keep &= np.abs(measured.difference) <= CLOSE_ERRORS * np.sqrt(measured.total / measured.n_questions)
        p = (measured.score_a + measured.score_b)[keep] / 2
        expected = [table.select(name).at_accuracy(float(value)) for value in p]
        ratio = np.array([one.difference[0] for one in expected]) / measured.total[keep]
        low, median, high = np.quantile(np.sqrt(ratio), [0.1, 0.5, 0.9])
        with np.errstate(invalid="ignore", divide="ignore"):
            data = np.array([one.difference_data[0] for one in expected]) / np.maximum(measured.data[keep], 0)
            prediction = np.array([one.difference_prediction[0] for one in expected]) / measured.prediction[keep]
        parts = " | ".join(f"{np.sqrt(np.median(part)):.2f}" for part in (data, prediction))
        print(f"| {name} | {keep.sum()} | {low:.2f} | {median:.2f} | {high:.2f} | {parts} |")


if __name__ == "__main__":
    write_table(Path(sys.argv[1])) if len(sys.argv) > 1 else print_errors()
