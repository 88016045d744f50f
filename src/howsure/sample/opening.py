"""From what an experiment says of a model to something that answers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from howsure.benchmarks.question import Benchmark
from howsure.errors import InputError
from howsure.models.model import Model
from howsure.sample.entries import ModelEntry

if TYPE_CHECKING:
    from howsure.models.batch_client import Batches
    from howsure.models.client import Endpoint

__all__ = ["open_model"]


def open_model(
    entry: ModelEntry, benchmark: Benchmark, *, seed: int = 0, environ: Mapping[str, str] = os.environ
) -> Model | Batches:
    """The model that `entry` describes; nothing is sent yet.

    Parameters
    ----------
    seed
        Of a simulated, recorded or local model's generations.
    environ
        Where keys are read.

    Raises
    ------
    InputError
        When there is no such model here, or its key is not in `environ`.
    """
    if entry.kind == "simulated":
        from howsure.models.simulated import SimulatedModel

        return SimulatedModel(entry.name, benchmark, seed=seed)
    if entry.kind == "replay":
        from howsure.models.replay import ReplayModel

        return ReplayModel(entry.name, benchmark, seed=seed)
    if entry.kind == "transformers":
        from howsure.models.local import LocalModel

        return LocalModel(entry.name, seed=seed)
    if entry.kind == "provider":
        from howsure.models.providers import Provider

        return Provider(entry.name, key=_key(entry, environ), timeout=entry.timeout, environ=environ)
    if entry.mode == "batch":
        from howsure.models.batch_client import Batches

        return Batches(entry.base_url, entry.name, key=_key(entry, environ))
    return _client(entry.kind)(entry.base_url, entry.name, key=_key(entry, environ), timeout=entry.timeout)


def _client(kind: str) -> type[Endpoint]:
    """What speaks the dialect of an endpoint."""
    if kind == "anthropic":
        from howsure.models.anthropic import Anthropic

        return Anthropic
    if kind == "gemini":
        from howsure.models.gemini import Gemini

        return Gemini
    from howsure.models.client import Endpoint

    return Endpoint


def _key(entry: ModelEntry, environ: Mapping[str, str]) -> str:
    if not entry.key_env:
        return ""
    key = environ.get(entry.key_env, "").strip()
    if not key:
        remedy = f"export {entry.key_env}=..., or name another variable with key_env"
        raise InputError(f"the environment variable {entry.key_env} holds no key", where=entry.label, remedy=remedy)
    if not (key.isascii() and key.isprintable()):
        # The key itself is not shown.
        remedy = "set it again: it holds a line break or a character that no key has"
        raise InputError(f"the key in {entry.key_env} cannot be sent", where=entry.label, remedy=remedy)
    return key
