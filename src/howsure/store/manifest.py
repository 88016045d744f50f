"""Read and write `manifest.json` of a run folder: what is needed to repeat the run, without keys.

The sampler calls `begin` when it has locked the folder (`RunFolder`), and `finish` when it stops; a session that has
not finished was killed. A continued run may add benchmarks, models, prompt variants and generations. Whatever it
already has must stay the same, because otherwise the results of two different things would be added up.

`stages.json` says which generations of each question belong to which stage of an adaptive run. The counts of a stage
depend on the answers of earlier stages. They are written before the first request of the stage, so that a killed run
continues with the same plan, and the analysis can give each stage one weight.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import msgspec
from msgspec.structs import asdict, replace

from howsure.errors import InputError, StoreError
from howsure.notes import Note, read_templates
from howsure.safe_text import is_secret, mask_address
from howsure.store import database
from howsure.store.atomic import replace_file
from howsure.store.schema import VERSION

NAME = "manifest.json"
PLANS_NAME = "stages.json"
#: Version of the format of `stages.json`.
PLANS_VERSION = 1


class ModelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A model and its settings, under its label."""

    name: str
    """Name of the model at the endpoint or in the simulator."""
    kind: str
    base_url: str = ""
    settings: dict[str, object] = {}
    """Decoding settings that were sent; for all others the endpoint's default applies."""
    key_env: str = ""
    """Name of the environment variable with the key, not the key itself."""
    generations: int = 1
    """Largest number of generations per question and variant that was requested."""
    choices: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Largest number of generations per request that the endpoint accepts; None while no limit is known."""
    price: dict[str, float] | None = None
    """Dollars per million tokens of prompts and completions, where the experiment states them."""


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A session, in which the run was started or continued; the host is not recorded."""

    started: str
    finished: str | None = None
    """Time of the end; None if the session was killed, or still runs."""
    howsure: str
    python: str
    platform: str
    packages: dict[str, str] = {}


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """The result of early stopping (`until`) for a model, or a pair of models."""

    benchmark: str
    models: tuple[str, ...]
    is_early: bool
    """Whether fewer generations were sampled than requested."""
    message: str = msgspec.field(name="said")
    """A sentence with the number of generations and the interval of the stopping rule."""


class LogIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What is equal for two logs or tables with the same generations."""

    reader: str
    """Name of the reader, which is the program that wrote the log, or "table"."""
    run: str
    """Id of the run; of a table the first digits of its hash."""
    benchmarks: tuple[str, ...]
    models: tuple[str, ...]


class StoredNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A note as it is stored, with its sentence."""

    code: str
    where: str = ""
    benchmarks: tuple[str, ...] = ()
    n: int = 0
    facts: dict[str, str | int | float | bool | None] = {}
    text: str = ""

    def to_note(self) -> Note:
        """Return the note; one of a code that is not known is its sentence."""
        if self.code not in read_templates():
            return Note("run-warning", self.where, self.benchmarks, facts={"text": self.text})
        return Note(self.code, self.where, self.benchmarks, self.n, self.facts)

    @classmethod
    def of_note(cls, note: Note) -> StoredNote:
        """Return a note as it is stored."""
        return msgspec.convert(note.to_record(), cls)


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The data that are needed to repeat a run.

    Examples
    --------
    >>> run = Manifest(seed=1, models={"m": ModelRecord(name="m", kind="openai", generations=2)})
    >>> more = Manifest(seed=1, models={"n": ModelRecord(name="n", kind="openai", generations=5)})
    >>> sorted(run.extend(more).models)
    ['m', 'n']
    """

    schema: int = VERSION
    howsure: str = metadata.version("howsure")
    """Version of howsure that started the run; each session has its own version."""
    created: str = ""
    sampled: tuple[str, ...] | None = None
    """First and last day on which the logs that this folder was converted from were made, empty if they do not say;
    None in a folder whose generations were sampled by its sessions."""
    converted: tuple[LogIdentity, ...] = ()
    """The logs and tables that this folder was converted from."""
    seed: int = 0
    benchmarks: dict[str, dict[str, object]] = {}
    """Maps the name of a benchmark to its source: file, content hash, parameters."""
    prompts: dict[str, dict[str, str]] = {}
    """Maps the id of a variant to its values by dimension, or to the system text and template of a written prompt."""
    variants: dict[str, dict[str, object]] = {}
    """Maps a benchmark to the prompt space of its variants and the id of the default variant, if there are any."""
    models: dict[str, ModelRecord] = {}
    """By label."""
    sessions: tuple[SessionRecord, ...] = ()
    source_notes: tuple[StoredNote, ...] = ()
    """What was noted when the logs that this folder was converted from were read."""
    warnings: tuple[str, ...] = ()
    """What its sessions warned of."""
    warned_benchmarks: dict[str, tuple[str, ...]] = {}
    """Maps a warning to the benchmarks that it is about; a warning that is not here is about all of them."""
    notes: tuple[str, ...] = ()
    """Sentences on the methods of the run, and on limits of endpoints."""
    stopped: tuple[Stopped, ...] = ()
    """The result of early stopping for each model since it was last requested."""
    scorer: str = ""
    """Name of the scorer whose scores are those of the run, such as that of a judge; empty for those in its rows."""

    def save(self, path: Path) -> None:
        """Write the manifest to the run folder, atomically and durably; values of key variables are redacted."""
        text = msgspec.json.format(msgspec.json.encode(self), indent=2).decode()
        for name in {model.key_env for model in self.models.values()}:
            key = os.environ.get(name, "")
            if is_secret(key):
                text = text.replace(msgspec.json.encode(key).decode()[1:-1], f"[key in ${name}]")
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replace_file(path / NAME) as new:
            new.write_text(text + "\n", encoding="utf-8")

    def extend(self, request: Manifest) -> Manifest:
        """Return the manifest of this run extended by a request; the sessions are those of this run.

        Raises
        ------
        InputError
            When the request changes something that the run already has.
        """
        if request.seed != self.seed:
            remedy = f"keep seed {self.seed}, or use another folder"
            raise InputError(f"the seed of this run was {self.seed}, now {request.seed}", remedy=remedy)
        for name in self.benchmarks.keys() & request.benchmarks.keys():
            changed = _find_differences(self.benchmarks[name], request.benchmarks[name])
            if "sha256" in self.benchmarks[name] and "sha256" not in changed:
                changed.pop("file", None)  # the same content under another name
            if self.benchmarks[name].get("kind") == "judge":
                changed.pop("questions", None)  # one for each completion, and a run may be given more
            if changed:
                raise _build_conflict("benchmark", name, changed, "give it another name")
        for name in self.prompts.keys() & request.prompts.keys():
            if changed := _find_differences(self.prompts[name], request.prompts[name]):
                raise _build_conflict("variant", name, changed, "give it another id")
        models = self.models | request.models
        for label in self.models.keys() & request.models.keys():
            old, new = self.models[label], request.models[label]
            changed = _find_differences(_select_identity(old), _select_identity(new))
            if changed:
                raise _build_conflict("model", label, changed, "give it another label")
            models[label] = replace(new, generations=max(old.generations, new.generations), choices=old.choices)
        return replace(
            self,
            benchmarks=self.benchmarks | request.benchmarks,
            prompts=self.prompts | request.prompts,
            variants=self.variants | request.variants,
            models=models,
            warnings=_merge_lines(self.warnings, request.warnings),
            warned_benchmarks=_merge_benchmarks(self.warned_benchmarks, request.warned_benchmarks),
            notes=_merge_lines(self.notes, request.notes),
            # A requested model continues, so its earlier stopping result is removed.
            stopped=tuple(
                one
                for one in self.stopped
                if one.benchmark not in request.benchmarks or not request.models.keys() & {*one.models}
            ),
        )


def load(path: Path) -> Manifest:
    """Read the manifest of a run folder.

    Raises
    ------
    StoreError
        When the manifest is missing or damaged, or has a newer schema.
    """
    file = path / NAME
    try:
        text = file.read_bytes()
    except OSError as error:
        raise StoreError(f"{file}: {error.strerror}; restore it from a copy, or use another folder") from error
    try:
        version = msgspec.json.decode(text, type=_Version).schema
        if version > VERSION:
            what = f"its schema version {version} is newer than {VERSION}, the one known here"
            raise StoreError(f"{file}: {what}; upgrade howsure")
        return msgspec.json.decode(text, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(f"{file}: damaged ({error}); restore it from a copy, or use another folder") from error


class _Version(msgspec.Struct):
    schema: int


def begin(path: Path, request: Manifest, *, clock: Callable[[], float] = time.time) -> Manifest:
    """Start a run, or continue the one in the folder, with a new session; save the manifest and return it.

    Raises
    ------
    InputError
        When the request differs from the run in the folder; nothing is written.
    StoreError
        When the manifest in the folder cannot be read, or is missing although the folder has rows.
    """
    now = format_time(clock())
    exists = (path / NAME).exists()
    if not exists and _has_rows(path):
        # Without the settings that made them, rows of other settings would be added under the same label.
        raise StoreError(
            f"{path / NAME}: missing, but the folder has rows; restore it from a copy, or use another folder"
        )
    manifest = load(path).extend(request) if exists else replace(request, created=now, sessions=())
    session = SessionRecord(
        started=now,
        howsure=metadata.version("howsure"),
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.release()} {platform.machine()}",
        packages=dict(_list_packages()),
    )
    manifest = replace(manifest, sessions=(*manifest.sessions, session))
    manifest.save(path)
    return manifest


def _has_rows(path: Path) -> bool:
    """Return whether a run folder has rows, in its database or in Parquet."""
    if (path / f"{database.RESPONSES.name}.parquet").exists():
        return True
    with closing(database.open_to_read(path)) as connection, database.translate_errors(path / database.NAME):
        return not database.is_empty(connection, database.RESPONSES)


def finish(
    path: Path,
    *,
    source_notes: Iterable[Note] = (),
    warnings: Iterable[str] = (),
    warned_benchmarks: Mapping[str, Iterable[str]] | None = None,
    notes: Iterable[str] = (),
    choices: Mapping[str, int] | None = None,
    stopped: Iterable[Stopped] = (),
    replaced_prefixes: Iterable[str] = (),
    clock: Callable[[], float] = time.time,
) -> Manifest:
    """End the last session with its warnings and notes; save the manifest and return it.

    Parameters
    ----------
    source_notes
        Notes on the logs and tables that the run was converted from.
    warned_benchmarks
        Maps a warning to the benchmarks that it is about; warnings that are not there are about all of them.
    replaced_prefixes
        Beginnings of warnings of earlier sessions that no longer hold, because `warnings` state the same anew.
    choices
        Label of a model to the largest number of generations per request that its endpoint accepts.
    stopped
        How early stopping ended.
    """
    manifest = load(path)
    *before, last = manifest.sessions
    manifest = replace(
        manifest,
        sessions=(*before, replace(last, finished=format_time(clock()))),
        source_notes=(*manifest.source_notes, *map(StoredNote.of_note, source_notes)),
        warnings=_merge_lines(
            [line for line in manifest.warnings if not line.startswith(tuple(replaced_prefixes))], warnings
        ),
        warned_benchmarks=_merge_benchmarks(manifest.warned_benchmarks, warned_benchmarks or {}),
        notes=_merge_lines(manifest.notes, notes),
        stopped=(*manifest.stopped, *stopped),
        models=manifest.models
        | {label: replace(manifest.models[label], choices=most) for label, most in (choices or {}).items()},
    )
    manifest.save(path)
    return manifest


def _select_identity(model: ModelRecord) -> dict[str, object]:
    """Return the fields that must be equal in two models; key variable, generations and price may differ."""
    fields = asdict(model)
    del fields["key_env"], fields["generations"], fields["choices"], fields["settings"], fields["price"]
    return fields | {"base_url": mask_address(model.base_url)} | model.settings


def _find_differences(old: Mapping[str, object], new: Mapping[str, object]) -> dict[str, tuple[object, object]]:
    """Return the fields that differ, with their old and new values."""
    return {
        name: (old.get(name), new.get(name))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    }


def _build_conflict(kind: str, name: str, changed: Mapping[str, tuple[object, object]], remedy: str) -> InputError:
    """Return the error for a request that differs from the run."""
    what = ", ".join(f"{field} was {old!r}, now {new!r}" for field, (old, new) in changed.items())
    if "sha256" in changed:
        what = f"its questions or their targets have changed: {what}"
    remedy += ", or use another folder"
    old, new = changed.get("questions", (0, 0))
    if isinstance(old, int) and isinstance(new, int) and new > old:
        remedy += (
            "; to add questions, put the new ones alone into another file, run it with -o MORE, and read both folders "
            f"as one benchmark: FOLDER MORE --as-benchmark {shlex.quote(name)}"
        )
    return InputError(f"{what} in this run", where=f"{kind} {name}", remedy=remedy)


def _merge_lines(old: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    """Return the lines of both without duplicates, in order."""
    return tuple(dict.fromkeys([*old, *new]))


def _merge_benchmarks(old: Mapping[str, Iterable[str]], new: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """Return the benchmarks of the warnings of both.

    >>> _merge_benchmarks({"copies": ["x"]}, {"copies": ["y"], "slow": ["z"]})
    {'copies': ('x', 'y'), 'slow': ('z',)}
    """
    return {line: _merge_lines(old.get(line, ()), new.get(line, ())) for line in (*old, *new)}


def format_time(seconds: float) -> str:
    """Return a time in seconds since the epoch as ISO 8601.

    >>> format_time(0.0)
    '1970-01-01T00:00:00Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@cache
def _list_packages() -> Mapping[str, str]:
    """Return the versions of the packages that howsure needs, which one process reads once."""
    needed = [line for line in metadata.requires("howsure") or () if "extra ==" not in line]
    names = (re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in needed)
    return MappingProxyType({name: metadata.version(name) for name in sorted(names)})


class StageBasis(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers from which a stage was planned: the scores of earlier stages, and the budget."""

    n: int
    """Number of round values, over all questions."""
    total: float
    total_sq: float
    budget: int
    """Number of generations of the stage for each variant."""


class AdaptivePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The stages of one model."""

    generations: int
    """Average number of generations per question and variant, over all stages."""
    allocations: tuple[dict[str, int], ...] = msgspec.field(name="stages")
    """For each stage (first the pilot), maps the question to its generations of each variant."""
    basis: tuple[StageBasis, ...] = ()
    """The basis of each stage after the pilot, in order."""

    def ends(self, question: str) -> tuple[int, ...]:
        """Return the last generation of each stage; the next stage begins with the following generation.

        >>> AdaptivePlan(generations=4, allocations=({"q": 2}, {"q": 5})).ends("q")
        (2, 7)
        """
        return tuple(accumulate(stage.get(question, 0) for stage in self.allocations))


Plans = Mapping[str, Mapping[str, AdaptivePlan]]
"""Maps the benchmark and then the label of a model to its plan."""


class _PlansFile(msgspec.Struct, kw_only=True):
    version: int = PLANS_VERSION
    plans: dict[str, dict[str, AdaptivePlan]] = {}


def load_plans(folder: Path) -> Plans:
    """Read the plans of a run folder; empty where no model was sampled adaptively.

    Raises
    ------
    StoreError
        When the file cannot be read, or a newer howsure wrote it.
    """
    path = folder / PLANS_NAME
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}; without it the stages of the run cannot be weighted") from error
    try:
        file = msgspec.json.decode(text, type=_PlansFile)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        remedy = "restore it from a copy: without it the stages of the run cannot be weighted"
        raise StoreError(f"{path}: not a plan of stages ({error}); {remedy}") from error
    if file.version > PLANS_VERSION:
        raise StoreError(f"{path}: version {file.version}, this howsure reads {PLANS_VERSION}; use a newer howsure")
    return file.plans


def save_plan(folder: Path, benchmark: str, label: str, plan: AdaptivePlan) -> None:
    """Write the plan of one model, atomically and durably, beside those of other models; for the folder's writer only.

    Raises
    ------
    StoreError
        When the folder cannot be written.
    """
    plans = {name: dict(models) for name, models in load_plans(folder).items()}
    plans.setdefault(benchmark, {})[label] = plan
    with replace_file(folder / PLANS_NAME) as new:
        new.write_bytes(msgspec.json.encode(_PlansFile(plans=plans)) + b"\n")
