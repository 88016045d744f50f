"""The command `howsure run`: an experiment file to a run folder, watched by a person or a program."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import msgspec

from howsure.errors import HowsureError, InputError
from howsure.sample.experiment import Experiment, load_experiment
from howsure.sample.json_lines import JsonLines
from howsure.sample.outcome import Outcome
from howsure.sample.prices import dollars
from howsure.sample.progress import Progress
from howsure.sample.run import run

if TYPE_CHECKING:
    from howsure.stats.core.cells import Cells

__all__ = ["asked_for", "run_experiment", "told"]


def asked_for(path: Path, shard: str | None = None) -> Experiment:
    """The experiment of a file, or the shard "i/n" of it.

    Raises
    ------
    InputError
        When the file is not an experiment, or the shard is none, or decides what no shard can decide alone.
    """
    experiment = load_experiment(path)
    if shard is None:
        return experiment
    i, slash, n = shard.partition("/")
    if not (slash and i.isdecimal() and n.isdecimal() and 1 <= int(i) <= int(n)):
        raise InputError(f"{shard!r} is not a part", where="--shard", remedy="write it as 2/8: the second of eight")
    if experiment.until is not None and int(n) > 1:
        remedy = "remove until; a shard does not see the answers of the others"
        raise InputError("a shard cannot stop early", where="--shard", remedy=remedy)
    return msgspec.structs.replace(experiment, shard=(int(i), int(n)))


def run_experiment(
    experiment: Experiment,
    folder: Path,
    *,
    retry: bool = False,
    reference: Sequence[Cells] | None = None,
    stream: TextIO | None = None,
    lines: TextIO | None = None,
) -> int:
    """Run it and say how it goes; returns the exit code.

    0 when every model did what it could within its budget, 2 when one was given up or could not start, 130 when it was
    interrupted.

    Parameters
    ----------
    retry
        Try again what failed in earlier sessions.
    reference
        What ``until: {borrow: ...}`` names, read.
    stream
        For a person; stderr by default.
    lines
        For a program: JSON lines in place of the progress for a person.
    """
    stream = stream or sys.stderr
    shown = JsonLines(lines) if lines is not None else Progress(stream)

    def on_interrupt(in_flight: int) -> None:
        again = f"{in_flight:,} requests in flight are awaited; interrupt again to drop them"
        print(f"howsure: {again}", file=stream, flush=True)

    try:
        with shown:
            running = run(
                experiment, folder, retry=retry, reference=reference, on_progress=shown, on_interrupt=on_interrupt
            )
            outcome = asyncio.run(running)
    except (KeyboardInterrupt, asyncio.CancelledError):
        if isinstance(shown, JsonLines):
            shown.end(130, folder=str(folder))
        print(f"howsure: interrupted; what arrived is kept in {folder}, run again to continue", file=stream)
        return 130
    except HowsureError as error:
        if isinstance(shown, JsonLines):
            shown.end(2, folder=str(folder), error=str(error))
        raise
    if isinstance(shown, JsonLines):
        shown.end(outcome.exit_code, outcome, folder=str(folder))
    for line in told(outcome, folder):
        print(f"howsure: {line}", file=stream)
    return outcome.exit_code


def told(outcome: Outcome, folder: Path) -> list[str]:
    """What is to say at the end, one line each."""
    lines = [f"warning: {warning}" for warning in outcome.warnings]
    lines += [f"{model.label}: {model.stopped}" for model in outcome.models if model.stopped]
    lines += [f"{model.label}: {model.spent}" for model in outcome.models if model.spent]
    lines += outcome.verdicts
    if outcome.failed:
        lines.append(f"{outcome.failed:,} generations failed; their rows say why, --retry failed tries them again")
    if lost := sum(model.lost for model in outcome.models):
        lines.append(f"{lost:,} generations had failed before; --retry failed tries them again")
    if saved := sum(model.saved_tokens for model in outcome.models):
        lines.append(f"{saved:,} prompt tokens saved by asking for several generations at once")
    if outcome.is_interrupted:
        lines.append(f"interrupted; what arrived is kept in {folder}, run again to continue")
    elif outcome.is_stopped or any(model.spent for model in outcome.models):
        lines.append(f"what arrived is kept in {folder}, run again to continue")
    else:
        there = sum(model.there - model.lost for model in outcome.models)
        costs = [model.cost for model in outcome.models if model.cost is not None]
        lines.append(
            f"{outcome.done:,} generations in {outcome.seconds:.1f} s"
            + (f" for {dollars(sum(costs))}" if any(costs) else "")
            + (f", {there:,} were there" if there else "")
            + f": {folder}"
        )
    return lines
