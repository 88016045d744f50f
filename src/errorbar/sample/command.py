"""The command `errorbar run`: an experiment file to a run folder, watched by a person."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TextIO

from errorbar.sample.experiment import load_experiment
from errorbar.sample.progress import Progress
from errorbar.sample.run import Outcome, run

__all__ = ["run_experiment", "told"]


def run_experiment(experiment: Path, folder: Path, *, stream: TextIO | None = None) -> int:
    """Run it and say on `stream` (stderr) how it goes; returns the exit code.

    0 when every model did what it could, 2 when one was given up or could not start, 130 when it was interrupted.
    """
    stream = stream or sys.stderr
    asked = load_experiment(experiment)
    try:
        with Progress(stream) as progress:
            outcome = asyncio.run(run(asked, folder, on_progress=progress))
    except KeyboardInterrupt:
        print(f"errorbar: interrupted; what arrived is kept in {folder}, run again to continue", file=stream)
        return 130
    for line in told(outcome, folder):
        print(f"errorbar: {line}", file=stream)
    return 2 if any(model.stopped for model in outcome.models) else 0


def told(outcome: Outcome, folder: Path) -> list[str]:
    """What is to say at the end, one line each."""
    lines = [f"warning: {warning}" for warning in outcome.warnings]
    lines += [f"{model.label}: {model.stopped}" for model in outcome.models if model.stopped]
    if outcome.failed:
        lines.append(f"{outcome.failed:,} generations failed; their rows say why, run again to try them again")
    if any(model.stopped for model in outcome.models):
        lines.append(f"what arrived is kept in {folder}, run again to continue")
    else:
        there = sum(model.there for model in outcome.models)
        lines.append(
            f"{outcome.done:,} generations in {outcome.seconds:.1f} s"
            + (f", {there:,} were there" if there else "")
            + f": {folder}"
        )
    return lines
