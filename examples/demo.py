"""What `make demo` shows: a whole evaluation on the built-in benchmark, compared with the simulated truth."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import howsure as hs
from howsure.benchmarks import load
from howsure.models.simulated import SimulatedModel, population_score, truth
from howsure.sample.experiment import load_experiment

HERE = Path(__file__).parent
EXPERIMENT = HERE / "directions.yaml"
RUN = HERE.parent / "demo"
REPORT = HERE.parent / "report.html"
CLAIMS = {"new-questions": "on new questions like these", "these-questions": "on these very questions"}


def command(*arguments: str | Path) -> None:
    """Print a command and run it as a user would."""
    words = [Path(a).relative_to(HERE.parent) if isinstance(a, Path) else a for a in arguments]
    print("\n$ howsure", *words, flush=True)
    subprocess.run([sys.executable, "-m", "howsure", *map(str, arguments)], check=True)


def true_scores(claim: str) -> dict[str, float]:
    """Return the expected score of each model, by the process that generates its answers."""
    experiment = load_experiment(EXPERIMENT)
    benchmark = load(experiment.benchmark, base=experiment.base)
    scores = {}
    for entry in experiment.models:
        model = SimulatedModel(entry.name, benchmark, seed=experiment.seed)
        if claim == "these-questions":
            scores[entry.label] = float(truth(model, settings=entry.settings).mean())
        else:
            scores[entry.label] = population_score(model, settings=entry.settings)
    return scores


def covers(low: float, high: float, true: float) -> str:
    """Return whether the interval contains the truth, as a word."""
    if math.isnan(low):  # one generation per question has no interval for this claim
        return "no interval"
    return "yes" if low <= true <= high else "NO"


def main() -> None:
    """Run, score, compare, report, and compare with the truth."""
    shutil.rmtree(RUN, ignore_errors=True)
    command("run", EXPERIMENT, "-o", RUN)
    command("compare", RUN, "--a", "simulated/medium", "--b", "simulated/small")
    command("report", RUN, "-o", REPORT)

    print("\nThe answers of the simulated models come from a known process. Do the 95 % intervals contain the truth?")
    results = hs.read(RUN)
    warnings.simplefilter("ignore", hs.HowsureWarning)  # the commands above have said the same
    for claim, words in CLAIMS.items():
        true = true_scores(claim)
        columns = hs.score(results, claim=claim)
        print(f"\n  expected score {words}\n  {'model':24}{'score':>8}{'low':>8}{'high':>8}{'truth':>8}  covered")
        for model, score, low, high in zip(*(columns[c] for c in ("model", "score", "low", "high")), strict=True):
            numbers = "".join(f"{'–':>8}" if math.isnan(x) else f"{x:8.3f}" for x in (score, low, high, true[model]))
            print(f"  {model:24}{numbers}  {covers(low, high, true[model])}")
        row = hs.compare(results, "simulated/medium", "simulated/small", claim=claim)
        difference, low, high = (row[c][0] for c in ("difference", "low", "high"))
        gap = true["simulated/medium"] - true["simulated/small"]
        print(f"  {'medium - small':24}{difference:8.3f}{low:8.3f}{high:8.3f}{gap:8.3f}  {covers(low, high, gap)}")
    print("\nEach interval misses one time in twenty: that is what 95 % says.")
    print(f"Open {REPORT.relative_to(HERE.parent)}, and see README.md for the same run against a real endpoint.")


if __name__ == "__main__":
    main()
