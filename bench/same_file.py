"""What other programs say of the same file, examples/logs: the difference of two models, its error and interval.

`python bench/same_file.py --others PYTHON` adds errorbars 0.2.4, evalstats 0.3.3 and truescore 0.7.4, if that
interpreter has them. Inspect and lm-evaluation-harness have an error of each score and none of a difference; here it is
what a reader makes of two such errors, the root of the sum of their squares. The table is in docs/comparison.md.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import TypeAlias

import howsure as hs

LOGS = Path(__file__).resolve().parents[1] / "examples" / "logs"
NEW, OLD = "lab/assistant-2", "lab/assistant-1"
Row: TypeAlias = tuple[str, list[float]]
"""Name of a program, and difference, se, low, high, p."""
#: Run by the other Python: reads scores (models, questions, generations) and a table, and prints rows of numbers.
OTHERS = """
import json, subprocess, sys
from pathlib import Path
import numpy as np
import truescore
from evalstats import pairwise_differences
scores, table = np.array(json.loads(Path(sys.argv[1]).read_text())), sys.argv[2]
command = [str(Path(sys.executable).with_name("errorbars")), "compare", table, "--question-col", "question"]
command += ["--sample-col", "generation", "--model-a", "new", "--model-b", "old", "--json"]
said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
rows = [["errorbars compare", *(said[k] for k in ("mean_diff", "se_paired", "ci_low", "ci_high", "p_value"))]]
r = pairwise_differences(scores, 0, 1, rng=np.random.default_rng(0))
rows.append(["evalstats pairwise_differences", r.point_diff, float("nan"), r.ci_low, r.ci_high, r.p_value])
r = truescore.paired_bootstrap(scores[0].mean(axis=1), scores[1].mean(axis=1))
rows.append(["truescore paired_bootstrap", r.difference, float("nan"), r.low, r.high, r.p_value])
print(json.dumps(rows))
"""


def read_scores() -> dict[str, dict[str, list[float]]]:
    """Return the scores of the logs, read here and not by howsure: model to question to generations."""
    scores: dict[str, dict[str, list[float]]] = {}
    for path in sorted(LOGS.glob("*.json")):
        log = json.loads(path.read_text(encoding="utf-8"))
        for sample in log["samples"]:
            of_question = scores.setdefault(log["eval"]["model"], {}).setdefault(sample["id"], [])
            of_question.append(float(sample["scores"]["match"]["value"] == "C"))
    return scores


def ask_howsure() -> list[Row]:
    """Return the difference under both claims."""
    names = ("difference", "se", "low", "high", "p_value")
    both = hs.compare(str(LOGS), NEW, OLD), hs.compare(str(LOGS), NEW, OLD, claim="these-questions")
    words = ("questions like these", "these, asked again")
    return [
        (f"howsure compare, {claim}", [float(result[name][0]) for name in names])
        for claim, result in zip(words, both, strict=True)
    ]


def combine_errors(name: str, scores: dict[str, dict[str, list[float]]]) -> Row:
    """Return the difference with the error of two scores, each that of the mean over questions."""
    means = {model: [statistics.fmean(each) for each in questions.values()] for model, questions in scores.items()}
    difference = statistics.fmean(means[NEW]) - statistics.fmean(means[OLD])
    se = math.sqrt(sum(statistics.variance(means[model]) / len(means[model]) for model in (NEW, OLD)))
    p = math.erfc(abs(difference) / se / math.sqrt(2))
    return name, [difference, se, difference - 1.96 * se, difference + 1.96 * se, p]


def ask_others(python: str, scores: dict[str, dict[str, list[float]]]) -> list[Row]:
    """Return what the packages of another interpreter say."""
    with tempfile.TemporaryDirectory() as folder:
        table, array = Path(folder, "scores.csv"), Path(folder, "scores.json")
        with table.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["model", "question", "generation", "score"])
            for model, name in ((NEW, "new"), (OLD, "old")):
                for question, each in scores[model].items():
                    writer.writerows([name, question, k, score] for k, score in enumerate(each))
        array.write_text(json.dumps([list(scores[model].values()) for model in (NEW, OLD)]), encoding="utf-8")
        said = subprocess.run([python, "-c", OTHERS, array, table], capture_output=True, text=True, check=True).stdout
    return [(name, [float(number) for number in numbers]) for name, *numbers in json.loads(said.splitlines()[-1])]


def format_rows(rows: list[Row]) -> str:
    """Return a table of markdown."""
    lines = ["| program | difference | se | low | high | p |", "|---|---:|---:|---:|---:|---:|"]
    for name, numbers in rows:
        cells = ["–" if math.isnan(number) else f"{number:.3f}" for number in numbers]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--others", metavar="PYTHON", help="interpreter that has errorbars, evalstats and truescore")
    others = parser.parse_args().others
    scores = read_scores()
    rows = [*ask_howsure(), combine_errors("two errors of Inspect or lm-eval, unpaired", scores)]
    print(format_rows([*rows, *(ask_others(others, scores) if others else [])]))


if __name__ == "__main__":
    main()
