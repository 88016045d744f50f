"""Begin and end the manifest of a run: what is sampled, by which settings, and what was learned about the endpoints."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from howsure.benchmarks.question import Benchmark
from howsure.notes import Note, warn
from howsure.safe_text import mask_address
from howsure.sample.experiment import Experiment, StoppingVerdict
from howsure.sample.model_job import ModelJob
from howsure.sample.sampling_plan import SamplingPlan
from howsure.store import manifest

#: Largest number of reported versions of a model that are written.
MOST_VERSIONS = 20


def begin_manifest(folder: Path, plans: Sequence[SamplingPlan]) -> dict[str, int | None]:
    """Begin or continue the run in a locked folder; return the learned generations per request, by label.

    Raises
    ------
    InputError
        When the folder has a run with other contents under the same names.
    """
    experiment = plans[0].experiment
    several = len(plans) > 1
    configs = [config for plan in plans for config in plan.experiment.models]
    generations = {
        label: max(config.generations for config in configs if config.label == label)
        for label in dict.fromkeys(config.label for config in configs)
    }
    new = manifest.Manifest(
        seed=experiment.seed,
        benchmarks={plan.benchmark.name: _describe_source(plan.benchmark) for plan in plans},
        prompts={variant.id: dict(variant.values) for plan in plans for variant in plan.variants},
        variants={plan.benchmark.name: plan.space_record for plan in plans if plan.space_record},
        models={
            config.label: manifest.ModelRecord(
                name=config.name,
                kind=config.kind,
                base_url=mask_address(config.base_url),
                # As JSON has them, because a tuple would differ from the list that is read again.
                settings=msgspec.json.decode(
                    msgspec.json.encode(plans[0].own_settings.get(config.label, config.settings))
                )
                | ({} if config.prompt_stops else {"prompt_stops": False}),
                key_env=config.key_env,
                generations=generations[config.label],
                price=None
                if config.price is None
                else {"prompt": config.price.prompt, "completion": config.price.completion},
            )
            for config in experiment.models
        },
        notes=tuple(
            f"{plan.benchmark.name}: {note}" if several else note
            for plan in plans
            for note in _describe_methods(plan.experiment)
        ),
    )
    if (folder / manifest.NAME).exists():
        _warn_of_other_results(manifest.load(folder), folder, new)
    current = manifest.begin(folder, new)
    return {label: model.choices for label, model in current.models.items()}


def _warn_of_other_results(old: manifest.Manifest, folder: Path, new: manifest.Manifest) -> None:
    """Warn of benchmarks, or else prompt variants, that a folder has and the experiment does not name."""
    if others := sorted(old.benchmarks.keys() - new.benchmarks.keys()):
        warn(Note("other-benchmarks-here", str(folder), facts={"benchmarks": ", ".join(others)}))
    elif others := sorted(old.prompts.keys() - new.prompts.keys()):
        listed = ", ".join(others[:3]) + (", ..." if len(others) > 3 else "")
        warn(Note("other-variants-here", str(folder), n=len(others), facts={"variants": listed}))


class Remark(NamedTuple):
    """A line about models, the benchmarks on which they were sampled, and whether it is on the size of requests."""

    line: str
    benchmarks: tuple[str, ...]
    is_size: bool


def list_notes(jobs: Iterable[tuple[str, ModelJob]]) -> Iterator[Remark]:
    """Yield each remark about models that matters for their scores.

    The same remark about several models is one line, which begins with their names.

    Parameters
    ----------
    jobs
        Each job with the name of its model, and of its benchmark if there are several. The size of requests is a fact
        about the endpoint, so that it is yielded once for each model.
    """
    names: dict[tuple[str, bool], dict[str, None]] = {}
    benchmarks: dict[str, dict[str, None]] = {}
    for name, job in jobs:
        for note in job.notes:
            is_size = note == job.size.note
            names.setdefault((note, is_size), {})[job.config.label if is_size else name] = None
            benchmarks.setdefault(note, {})[job.benchmark.name] = None
    for (note, is_size), of_models in names.items():
        yield Remark(f"{', '.join(of_models)}: {note}", tuple(benchmarks[note]), is_size)


def finish_manifest(
    folder: Path,
    jobs: Sequence[tuple[str, ModelJob]],
    verdicts: Iterable[tuple[str, StoppingVerdict]] = (),
) -> None:
    """End the session: write the reported versions, the learned limits of the endpoints, and the problems.

    Parameters
    ----------
    jobs
        As for `list_notes`.
    verdicts
        How early stopping ended, with the name of the benchmark.
    """
    versions: dict[str, set[tuple[str, str]]] = {}
    notes: list[str] = []
    learned = {}
    for _, job in jobs:
        versions.setdefault(job.config.label, set()).update(job.versions)
        if job.size.learned_limit is not None:
            learned[job.config.label] = job.size.learned_limit
    for label, each in versions.items():
        notes += _describe_versions(label, each)
    # The size of requests does not change a score; all other notes are shown whenever the folder is read.
    described = list(list_notes(jobs))
    notes += [remark.line for remark in described if remark.is_size]
    notes += [f"{name}: stopped, {job.stopped or job.spent}" for name, job in jobs if job.stopped or job.spent]
    stopped = [
        manifest.Stopped(benchmark=benchmark, models=verdict.models, is_early=verdict.is_early, message=str(verdict))
        for benchmark, verdict in verdicts
    ]
    benchmarks = {remark.line: remark.benchmarks for remark in described if not remark.is_size}
    manifest.finish(
        folder,
        warnings=list(benchmarks),
        warned_benchmarks=benchmarks,
        notes=notes,
        choices=learned,
        stopped=stopped,
    )


def _describe_versions(label: str, versions: set[tuple[str, str]]) -> Iterator[str]:
    """Yield a sentence for each name and fingerprint under which a model answered."""
    for name, fingerprint in sorted(versions)[:MOST_VERSIONS]:
        version = [name and f"model {name}", fingerprint and f"fingerprint {fingerprint}"]
        if any(version):
            yield f"{label}: answered as " + ", ".join(part for part in version if part)
    if len(versions) > MOST_VERSIONS:
        yield f"{label}: answered under {len(versions)} names and fingerprints; the rows have them all"


def _describe_source(benchmark: Benchmark) -> dict[str, object]:
    """Return where the questions come from, with their number and the hash of their content."""
    source: dict[str, object] = {"questions": len(benchmark.questions), **benchmark.source}
    source.setdefault("sha256", _hash_questions(benchmark))
    return source


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
