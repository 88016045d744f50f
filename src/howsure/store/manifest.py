"""`manifest.json` of a run folder: what it takes to repeat the run, and never a key.

The sampler calls `begin` once it holds the folder (`RunFolder`), and `finish` when it stops; a session without a
finish was killed. Continuing a run may add benchmarks, models, prompt variants and generations; what is there already
must be the same, or two different things would be counted as one.
"""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import msgspec
from msgspec.structs import asdict, replace

from howsure.errors import InputError, StoreError
from howsure.store.atomic import replace_file
from howsure.store.schema import VERSION

__all__ = ["NAME", "Manifest", "Model", "Session", "Stopped", "begin", "finish", "load"]

NAME = "manifest.json"
#: A shorter value of a key's variable is a placeholder such as EMPTY, and no secret.
SECRET_LENGTH = 12


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model as it was asked, under its label."""

    name: str
    """As the endpoint, or the simulator, knows it."""
    kind: str
    base_url: str = ""
    settings: dict[str, object] = {}
    """Decoding settings as they were sent; what is absent was the endpoint's default."""
    key_env: str = ""
    """Name of the environment variable that holds the key: never the key."""
    generations: int = 1
    """Per question and variant; the most that was ever wanted."""
    choices: int | None = None
    """Generations per request that the endpoint turned out to take; None while it takes all that is asked for."""


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One time that the run was started or continued; it does not say on which host."""

    started: str
    finished: str | None = None
    """None when it was killed, or lives."""
    howsure: str
    python: str
    platform: str
    packages: dict[str, str] = {}


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """How `until` ended for a model, or a pair of models."""

    benchmark: str
    models: tuple[str, ...]
    is_early: bool
    """Whether generations were saved."""
    said: str
    """After how many, with the interval that the rule made."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What it takes to repeat a run."""

    schema: int = VERSION
    howsure: str = metadata.version("howsure")
    """Version that began the run; each session has its own."""
    created: str = ""
    seed: int = 0
    benchmarks: dict[str, dict[str, object]] = {}
    """Name to source: file, content hash, parameters."""
    prompts: dict[str, dict[str, str]] = {}
    """Variant id to its values by dimension; of a prompt that was written out, its system text and template."""
    variants: dict[str, dict[str, object]] = {}
    """Benchmark to the space that its variants were drawn from and the id of the default one, if they were."""
    models: dict[str, Model] = {}
    """By label."""
    sessions: tuple[Session, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """How it was done: methods, caps that endpoints turned out to have."""
    stopped: tuple[Stopped, ...] = ()
    """Of each model since it was asked for the last time."""

    def save(self, path: Path) -> None:
        """Write it in the run folder at once and durably; the value of a key's variable is blotted out."""
        text = msgspec.json.format(msgspec.json.encode(self), indent=2).decode()
        for name in {model.key_env for model in self.models.values()}:
            key = os.environ.get(name, "")
            if len(key) >= SECRET_LENGTH:
                text = text.replace(msgspec.json.encode(key).decode()[1:-1], f"[key in ${name}]")
        path.mkdir(parents=True, exist_ok=True)
        with replace_file(path / NAME) as new:
            new.write_text(text + "\n", encoding="utf-8")

    def extended(self, asked: Manifest) -> Manifest:
        """What this run is with what is asked in addition; sessions stay those of this run.

        Raises
        ------
        InputError
            When something that is there already is asked for differently: says what, and the remedy.
        """
        if asked.seed != self.seed:
            remedy = f"keep seed {self.seed}, or use another folder"
            raise InputError(f"the seed of this run was {self.seed}, now {asked.seed}", remedy=remedy)
        for name in self.benchmarks.keys() & asked.benchmarks.keys():
            changed = _differences(self.benchmarks[name], asked.benchmarks[name])
            if "sha256" in self.benchmarks[name] and "sha256" not in changed:
                changed.pop("file", None)  # the same content under another name
            if changed:
                raise _conflict("benchmark", name, changed, "give it another name")
        for name in self.prompts.keys() & asked.prompts.keys():
            if changed := _differences(self.prompts[name], asked.prompts[name]):
                raise _conflict("variant", name, changed, "give it another id")
        models = self.models | asked.models
        for label in self.models.keys() & asked.models.keys():
            old, new = self.models[label], asked.models[label]
            changed = _differences(_identity(old), _identity(new))
            if changed:
                raise _conflict("model", label, changed, "give it another label")
            models[label] = replace(new, generations=max(old.generations, new.generations), choices=old.choices)
        return replace(
            self,
            benchmarks=self.benchmarks | asked.benchmarks,
            prompts=self.prompts | asked.prompts,
            variants=self.variants | asked.variants,
            models=models,
            warnings=_union(self.warnings, asked.warnings),
            notes=_union(self.notes, asked.notes),
            # What is asked now goes on, and ends anew.
            stopped=tuple(
                one
                for one in self.stopped
                if one.benchmark not in asked.benchmarks or not asked.models.keys() & {*one.models}
            ),
        )


def load(path: Path) -> Manifest:
    """Read the manifest of a run folder.

    Raises
    ------
    StoreError
        When it is missing, damaged, or of a newer schema.
    """
    file = path / NAME
    try:
        text = file.read_bytes()
    except OSError as error:
        raise StoreError(f"{file}: {error.strerror}; restore it from a copy, or use another folder") from error
    try:
        version = msgspec.json.decode(text, type=_Version).schema
        if version > VERSION:
            told = f"its schema version {version} is newer than {VERSION}, the one known here"
            raise StoreError(f"{file}: {told}; upgrade howsure")
        return msgspec.json.decode(text, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreError(f"{file}: damaged ({error}); restore it from a copy, or use another folder") from error


class _Version(msgspec.Struct):
    schema: int


def begin(path: Path, asked: Manifest, *, clock: Callable[[], float] = time.time) -> Manifest:
    """Begin a run, or continue the one that is there, with a new session; saved before it is returned.

    Raises
    ------
    InputError
        When the run that is there asked for something differently; nothing is written.
    StoreError
        When the manifest that is there cannot be read.
    """
    now = _written(clock())
    there = (path / NAME).exists()
    manifest = load(path).extended(asked) if there else replace(asked, created=now, sessions=())
    session = Session(
        started=now,
        howsure=metadata.version("howsure"),
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.release()} {platform.machine()}",
        packages=_packages(),
    )
    manifest = replace(manifest, sessions=(*manifest.sessions, session))
    manifest.save(path)
    return manifest


def finish(
    path: Path,
    *,
    warnings: Iterable[str] = (),
    notes: Iterable[str] = (),
    choices: Mapping[str, int] | None = None,
    stopped: Iterable[Stopped] = (),
    clock: Callable[[], float] = time.time,
) -> Manifest:
    """End the last session, with what there is to say of it; saved before it is returned.

    Parameters
    ----------
    choices
        Label of a model to the generations per request that its endpoint turned out to take.
    stopped
        How `until` ended.
    """
    manifest = load(path)
    *before, last = manifest.sessions
    manifest = replace(
        manifest,
        sessions=(*before, replace(last, finished=_written(clock()))),
        warnings=_union(manifest.warnings, warnings),
        notes=_union(manifest.notes, notes),
        stopped=(*manifest.stopped, *stopped),
        models=manifest.models
        | {label: replace(manifest.models[label], choices=most) for label, most in (choices or {}).items()},
    )
    manifest.save(path)
    return manifest


def _identity(model: Model) -> dict[str, object]:
    """What makes two models the same: not where the key is, how many generations are wanted, or how they come."""
    told = asdict(model)
    del told["key_env"], told["generations"], told["choices"], told["settings"]
    return told | model.settings


def _differences(old: Mapping[str, object], new: Mapping[str, object]) -> dict[str, tuple[object, object]]:
    return {
        name: (old.get(name), new.get(name))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    }


def _conflict(kind: str, name: str, changed: Mapping[str, tuple[object, object]], remedy: str) -> InputError:
    told = ", ".join(f"{field} was {old!r}, now {new!r}" for field, (old, new) in changed.items())
    return InputError(f"{told} in this run", where=f"{kind} {name}", remedy=f"{remedy}, or use another folder")


def _union(old: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*old, *new]))


def _written(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _packages() -> dict[str, str]:
    """Versions of what howsure itself needs."""
    needed = [line for line in metadata.requires("howsure") or () if "extra ==" not in line]
    names = (re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in needed)
    return {name: metadata.version(name) for name in sorted(names)}
