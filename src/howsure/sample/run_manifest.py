"""Write the manifest of a run: all that is needed to repeat the run, and what was learned about the endpoints."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from howsure.benchmarks.question import Benchmark
from howsure.sample.experiment import Experiment
from howsure.sample.sampling_plan import SamplingPlan
from howsure.sample.stopping_config import StoppingVerdict
from howsure.sample.worker import Worker
from howsure.store import manifest

if TYPE_CHECKING:
    from howsure.sample.batch.batch_worker import BatchWorker

__all__ = ["begin_manifest", "finish_manifest"]

#: Largest number of reported versions of a model that are written.
MOST_VERSIONS = 20


def begin_manifest(folder: Path, plan: SamplingPlan) -> dict[str, int | None]:
    """Begin or continue the run in a locked folder; return the learned generations per request, by label.

    Raises
    ------
    InputError
        When the folder has a run with other contents under the same names.
    """
    experiment, benchmark = plan.experiment, plan.benchmark
    source: dict[str, object] = {"questions": len(benchmark.questions), **benchmark.source}
    source.setdefault("sha256", _hash_questions(benchmark))
    new = manifest.Manifest(
        seed=experiment.seed,
        benchmarks={benchmark.name: source},
        prompts={variant.id: dict(variant.values) for variant in plan.variants},
        variants={benchmark.name: plan.space_record} if plan.space_record else {},
        models={
            config.label: manifest.ModelRecord(
                name=config.name,
                kind=config.kind,
                base_url=config.base_url,
                settings=msgspec.to_builtins(config.settings),
                key_env=config.key_env,
                generations=config.generations,
            )
            for config in experiment.models
        },
        notes=tuple(_describe_methods(experiment)),
    )
    current = manifest.begin(folder, new)
    return {label: model.choices for label, model in current.models.items()}


def finish_manifest(
    folder: Path,
    workers: Iterable[Worker | BatchWorker],
    verdicts: Iterable[StoppingVerdict] = (),
    *,
    benchmark: str = "",
) -> None:
    """End the session: write the reported versions, the learned limits of the endpoints, and the problems."""
    notes: list[str] = []
    warnings: list[str] = []
    learned = {}
    for worker in workers:
        job = worker.job
        label = job.config.label
        for name, fingerprint in sorted(job.versions)[:MOST_VERSIONS]:
            version = [name and f"model {name}", fingerprint and f"fingerprint {fingerprint}"]
            if any(version):
                notes.append(f"{label}: answered as " + ", ".join(part for part in version if part))
        if len(job.versions) > MOST_VERSIONS:
            notes.append(f"{label}: answered under {len(job.versions)} names and fingerprints; the rows have them all")
        for note in job.notes:
            # The size of requests does not change a score; all other notes are shown whenever the folder is read.
            (notes if note == job.size.note else warnings).append(f"{label}: {note}")
        if job.stopped or job.spent:
            notes.append(f"{label}: stopped, {job.stopped or job.spent}")
        if job.size.learned_limit is not None:
            learned[label] = job.size.learned_limit
    stopped = [
        manifest.Stopped(benchmark=benchmark, models=verdict.models, is_early=verdict.is_early, message=str(verdict))
        for verdict in verdicts
    ]
    manifest.finish(folder, warnings=warnings, notes=notes, choices=learned, stopped=stopped)


def _describe_methods(experiment: Experiment) -> Iterable[str]:
    """Yield sentences on how questions are ordered, and when and how generations are allocated."""
    (i, n), stopping = experiment.shard, experiment.stopping
    yield (
        "questions are asked in the order of blake2b(seed, question id), the variants of a question together"
        + (f"; only the first {experiment.limit} of them" if experiment.limit else "")
        + (f"; of those every {n}th, from number {i} on" if n > 1 else "")
    )
    if stopping is not None:
        aim = f"width {stopping.width:g}" if stopping.width is not None else f"detect {stopping.detect:g}"
        borrowed = f", borrowing from {stopping.borrow}" if stopping.borrow is not None else ""
        interval = f"level {stopping.level:g}, rule {stopping.rule}, claim {stopping.claim}"
        yield f"round by round until {aim}, {interval}{borrowed}"
    if experiment.allocate == "adaptive":
        yield "generations allocated in stages by the spread of each question's answers; see stages.json"


def _hash_questions(benchmark: Benchmark) -> str:
    """Return the hash of all questions, choices and targets, which identifies a benchmark that is not a file."""
    digest = hashlib.sha256()
    for question in benchmark.questions:
        choices = [question.choices] if question.choices else []
        digest.update(msgspec.json.encode((question.id, question.text, question.target, *choices)))
    return digest.hexdigest()
