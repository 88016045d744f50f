"""Does early stopping of tasks of Inspect cover and save? Planted accuracies through `IntervalStopping` itself.

The object is driven as Inspect drives it (start_task, schedule_sample, complete_sample, complete_task), epoch by epoch,
without Inspect's own time for each sample. P(correct) of each sample is drawn from Beta(.6, .4). A miss is an interval
that does not contain the truth where the task ended; `run` is the share of the planned scores that was taken. The times
of the analyses are printed on stderr.

With `compare_to`, another model with 5 epochs on the same samples is the reference: half of its accuracies are those of
the new model.
"""

from __future__ import annotations

import asyncio
import csv
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from inspect_ai.scorer import SampleScore, Score
from numpy.typing import NDArray

from checked_tables import LEVEL, Checks, markdown, print_sections
from howsure.inspect_extension.interval_stopping import IntervalStopping, StoppingClaim, StoppingUnit

Array = NDArray[np.float64]


class Case(NamedTuple):
    """How a task is stopped."""

    what: str
    width: float
    n: int
    epochs: int
    claim: StoppingClaim = "these-questions"
    over: StoppingUnit = "epochs"
    is_pair: bool = False


CASES = (
    Case("score", 0.10, 100, 40),
    Case("score", 0.06, 100, 80),
    Case("score", 0.30, 100, 20, claim="new-questions"),
    Case("score", 0.12, 2000, 1, over="samples"),
    Case("difference to a log", 0.20, 100, 40, is_pair=True),
    Case("difference to a log", 0.36, 100, 20, claim="new-questions", is_pair=True),
)


class Replay(NamedTuple):
    """How one task ended."""

    is_missed: bool
    share: float
    seconds: list[float]


async def _drive(stopping: IntervalStopping, scores: Array) -> tuple[int, dict[str, Any]]:
    """Return the number of scores that were taken, and what the object states at the end."""
    samples: Any = [SimpleNamespace(id=f"q{i}") for i in range(scores.shape[1])]
    task: Any = SimpleNamespace(eval_id="bench")
    await stopping.start_task(task, samples, len(scores))
    n_run = 0
    for epoch, row in enumerate(scores.tolist(), start=1):
        for i, value in enumerate(row):
            if await stopping.schedule_sample(f"q{i}", epoch) is None:
                n_run += 1
                score = SampleScore(score=Score(value=value), sample_id=f"q{i}")
                await stopping.complete_sample(f"q{i}", epoch, {"planted": score})
    return n_run, await stopping.complete_task()


def _write_reference(path: Path, scores: Array) -> None:
    """Write the scores (epochs, samples) of the reference as a table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["model", "question", "generation", "score"])
        rows.writerows(["old", f"q{i}", k + 1, int(y)] for (k, i), y in np.ndenumerate(scores))


def replay(case: Case, rng: np.random.Generator, folder: Path) -> Replay:
    """Run one task to its end."""
    p = rng.beta(0.6, 0.4, case.n)
    truth = float(p.mean()) if case.claim == "these-questions" and case.over == "epochs" else 0.6
    path = None
    if case.is_pair:
        other = np.where(rng.random(case.n) < 0.5, p, rng.beta(0.6, 0.4, case.n))
        path = folder / "old.csv"
        _write_reference(path, (rng.random((5, case.n)) < other).astype(float))
        truth = float(np.mean(p - other)) if case.claim == "these-questions" else 0.0
    stopping = IntervalStopping(case.width, level=LEVEL, claim=case.claim, over=case.over, compare_to=path)
    n_run, end = asyncio.run(_drive(stopping, (rng.random((case.epochs, case.n)) < p).astype(float)))
    is_inside = end["low"] is not None and end["low"] <= truth <= end["high"]
    return Replay(not is_inside, n_run / (case.n * case.epochs), stopping.seconds)


def table(replays: int, checks: Checks) -> str:
    """Return the table, and check that misses stay within the level."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(CASES):
            rng = np.random.default_rng([20, number])
            ends = [replay(case, rng, Path(folder)) for _ in range(replays)]
            missed, shares = np.mean([end.is_missed for end in ends]), [end.share for end in ends]
            seconds = np.array([one for end in ends for one in end.seconds])
            rows.append([
                case.what,
                "new questions" if case.over == "samples" else case.claim.replace("-", " "),
                f"{case.n} x {case.epochs}",
                case.over,
                f"{case.width:g}",
                f"{100 * missed:.1f}",
                f"{100 * np.mean(shares):.0f}",
            ])  # fmt: skip
            median, slow = 1000 * np.median(seconds), 1000 * np.percentile(seconds, 99)
            where = f"{case.what}, {case.claim}, over {case.over}"
            print(f"{where}: a decision took {median:.2g} ms, 99 % at most {slow:.2g} ms", file=sys.stderr)
            error = np.sqrt(LEVEL * (1 - LEVEL) / replays)
            checks.check(missed <= 1 - LEVEL + 3 * error, f"{case} misses {100 * missed:.1f} %")
    columns = ["interval of", "claim", "planned", "over", "width", "missed, %", "run, %"]
    return markdown(columns, rows, 4)


def sections(*, quick: bool) -> Iterator[tuple[str, str]]:
    """Yield the title and the table; raise AssertionError at the end where a claim does not hold."""
    checks = Checks()
    yield "Early stopping of tasks of Inspect, at 95 % over all analyses", table(12 if quick else 100, checks)
    checks.finish()


if __name__ == "__main__":
    print_sections(sections)
