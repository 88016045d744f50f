"""What `make demo` shows: an evaluation end to end on the embedded defaults, held against the simulated truth."""

from __future__ import annotations

import shutil
import subprocess
import sys
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
    """Run a command as a user would, and show it."""
    words = [Path(a).relative_to(HERE.parent) if isinstance(a, Path) else a for a in arguments]
    print("\n$ howsure", *words, flush=True)
    subprocess.run([sys.executable, "-m", "howsure", *map(str, arguments)], check=True)


def true_scores(claim: str) -> dict[str, float]:
    """What each model of the experiment would score in the long run, by the law it is drawn from."""
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
    """Whether the interval has the truth in it."""
    if low != low:  # NaN: one generation says nothing of this claim  # noqa: PLR0124
        return "no interval"
    return "yes" if low <= true <= high else "NO"


def main() -> None:
    """Run, score, compare, report, and compare with the truth."""
    shutil.rmtree(RUN, ignore_errors=True)
    command("run", EXPERIMENT, "-o", RUN)
    command("compare", RUN, "--a", "simulated/medium", "--b", "simulated/small")
    command("report", RUN, "-o", REPORT)

    print("\nThe embedded models are drawn from a known law. Do the 95 % intervals have the truth in them?")
    runs = hs.read(RUN).cells()
    for claim, words in CLAIMS.items():
        true = true_scores(claim)
        columns = hs.score(runs, claim=claim).columns()
        print(f"\n  expected score {words}\n  {'model':24}{'score':>8}{'low':>8}{'high':>8}{'truth':>8}  covered")
        for model, score, low, high in zip(*(columns[c] for c in ("model", "score", "low", "high")), strict=True):
            numbers = "".join(f"{x:8.3f}" if x == x else f"{'–':>8}" for x in (score, low, high, true[model]))  # noqa: PLR0124
            print(f"  {model:24}{numbers}  {covers(low, high, true[model])}")
        row = hs.compare(runs, "simulated/medium", "simulated/small", claim=claim).columns()
        difference, low, high = (row[c][0] for c in ("difference", "low", "high"))
        gap = true["simulated/medium"] - true["simulated/small"]
        print(f"  {'medium - small':24}{difference:8.3f}{low:8.3f}{high:8.3f}{gap:8.3f}  {covers(low, high, gap)}")
    print("\nEach interval misses one time in twenty: that is what 95 % says.")
    print(f"Open {REPORT.relative_to(HERE.parent)}, and see README.md for the same run against a real endpoint.")


if __name__ == "__main__":
    main()
