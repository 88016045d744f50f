"""What a run's manifest says of it: everything that repeats it, and what was learnt on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from howsure.benchmarks.question import Benchmark
from howsure.sample.experiment import Experiment
from howsure.sample.stopping_rule import Verdict
from howsure.sample.worker import Lane
from howsure.store import manifest

if TYPE_CHECKING:
    from howsure.sample.batch.batch_worker import BatchLane
    from howsure.sample.sampling_plan import Asked

__all__ = ["begin_manifest", "finish_manifest"]

#: Versions that an endpoint said it is: so many are written for each model.
SHOWN = 20


def begin_manifest(folder: Path, asked: Asked) -> dict[str, int | None]:
    """Begin or continue the run in a folder that we hold; what is known of generations per request, by label.

    Raises
    ------
    InputError
        When the folder's run asked for something of the same name differently.
    """
    experiment, benchmark = asked.experiment, asked.benchmark
    source: dict[str, object] = {"questions": len(benchmark.questions), **benchmark.source}
    source.setdefault("sha256", _content(benchmark))
    wanted = manifest.Manifest(
        seed=experiment.seed,
        benchmarks={benchmark.name: source},
        prompts={variant.id: dict(variant.values) for variant in asked.variants},
        variants={benchmark.name: asked.about} if asked.about else {},
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
        notes=tuple(_methods(experiment)),
    )
    begun = manifest.begin(folder, wanted)
    return {label: model.choices for label, model in begun.models.items()}


def finish_manifest(
    folder: Path, lanes: Iterable[Lane | BatchLane], verdicts: Iterable[Verdict] = (), *, benchmark: str = ""
) -> None:
    """End the session: what endpoints said they are, what was learnt, what went wrong."""
    notes: list[str] = []
    warnings: list[str] = []
    learnt = {}
    for lane in lanes:
        label = lane.entry.label
        for name, fingerprint in sorted(lane.seen)[:SHOWN]:
            told = [name and f"model {name}", fingerprint and f"fingerprint {fingerprint}"]
            if any(told):
                notes.append(f"{label}: answered as " + ", ".join(part for part in told if part))
        if len(lane.seen) > SHOWN:
            notes.append(f"{label}: answered under {len(lane.seen)} names and fingerprints; the rows have them all")
        for note in lane.notes:
            # How many go into one request changes no number; the rest is repeated whenever the folder is read.
            (notes if note == lane.sizes.note else warnings).append(f"{label}: {note}")
        if lane.stopped or lane.spent:
            notes.append(f"{label}: stopped, {lane.stopped or lane.spent}")
        if lane.learnt is not None:
            learnt[label] = lane.learnt
    stopped = [
        manifest.Stopped(benchmark=benchmark, models=one.models, is_early=one.is_early, message=str(one))
        for one in verdicts
    ]
    manifest.finish(folder, warnings=warnings, notes=notes, choices=learnt, stopped=stopped)


def _methods(experiment: Experiment) -> Iterable[str]:
    (i, n), until = experiment.shard, experiment.until
    yield (
        "questions are asked in the order of blake2b(seed, question id), the variants of a question together"
        + (f"; only the first {experiment.limit} of them" if experiment.limit else "")
        + (f"; of those every {n}th, from number {i} on" if n > 1 else "")
    )
    if until is not None:
        aim = f"width {until.width:g}" if until.width is not None else f"detect {until.detect:g}"
        borrowed = f", borrowing from {until.borrow}" if until.borrow is not None else ""
        yield f"round by round until {aim}, level {until.level:g}, rule {until.rule}, claim {until.claim}{borrowed}"
    if experiment.allocate == "adaptive":
        yield "generations allocated in stages by the spread of each question's answers; see stages.json"


def _content(benchmark: Benchmark) -> str:
    """Hash of all questions, choices and targets, for a benchmark that is not a file."""
    digest = hashlib.sha256()
    for question in benchmark.questions:
        choices = [question.choices] if question.choices else []
        digest.update(msgspec.json.encode((question.id, question.text, question.target, *choices)))
    return digest.hexdigest()
