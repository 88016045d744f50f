"""What a run's manifest says of it: everything that repeats it, and what was learnt on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from errorbar.benchmarks.question import Benchmark, Prompt
from errorbar.sample.experiment import Experiment
from errorbar.sample.lane import Lane
from errorbar.store import manifest

__all__ = ["begin", "finish"]

#: Versions that an endpoint said it is: so many are written for each model.
SHOWN = 20


def begin(folder: Path, experiment: Experiment, benchmark: Benchmark, prompts: Sequence[Prompt]) -> None:
    """Begin or continue the run in a folder that we hold.

    Raises
    ------
    InputError
        When the folder's run asked for something of the same name differently.
    """
    source: dict[str, object] = {"questions": len(benchmark.questions), **benchmark.source}
    source.setdefault("sha256", _content(benchmark))
    asked = manifest.Manifest(
        seed=experiment.seed,
        benchmarks={benchmark.name: source},
        prompts={prompt.id: {"system": prompt.system, "template": prompt.template} for prompt in prompts},
        models={
            entry.label: manifest.Model(
                name=entry.name,
                kind=entry.kind,
                base_url=entry.base_url,
                settings=msgspec.to_builtins(entry.settings),
                key_env=entry.key_env,
                generations=entry.generations,
            )
            for entry in experiment.models
        },
        notes=(
            "questions are asked in the order of blake2b(seed, question id), the variants of a question together"
            + (f"; only the first {experiment.limit} of them" if experiment.limit else ""),
        ),
    )
    manifest.begin(folder, asked)


def finish(folder: Path, lanes: Iterable[Lane]) -> None:
    """End the session: what endpoints said they are, what was learnt, what went wrong."""
    notes, warnings = [], []
    for lane in lanes:
        label = lane.entry.label
        for name, fingerprint in sorted(lane.seen)[:SHOWN]:
            told = [name and f"model {name}", fingerprint and f"fingerprint {fingerprint}"]
            if any(told):
                notes.append(f"{label}: answered as " + ", ".join(part for part in told if part))
        if len(lane.seen) > SHOWN:
            notes.append(f"{label}: answered under {len(lane.seen)} names and fingerprints; the rows have them all")
        warnings += [f"{label}: {note}" for note in lane.notes]
        if lane.stopped:
            notes.append(f"{label}: stopped, {lane.stopped}")
    manifest.finish(folder, warnings=warnings, notes=notes)


def _content(benchmark: Benchmark) -> str:
    """Hash of all questions and targets, for a benchmark that is not a file."""
    digest = hashlib.sha256()
    for question in benchmark.questions:
        digest.update(msgspec.json.encode((question.id, question.text, question.target)))
    return digest.hexdigest()
