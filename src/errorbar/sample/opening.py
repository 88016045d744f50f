"""From what an experiment says of a model to something that answers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from errorbar.benchmarks.question import Benchmark
from errorbar.errors import InputError
from errorbar.models.model import Model
from errorbar.sample.entries import ModelEntry

if TYPE_CHECKING:
    from errorbar.models.batch_client import Batches
    from errorbar.models.client import Endpoint

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
        from errorbar.models.simulated import SimulatedModel

        return SimulatedModel(entry.name, benchmark, seed=seed)
    if entry.kind == "replay":
        from errorbar.models.replay import ReplayModel

        return ReplayModel(entry.name, benchmark, seed=seed)
    if entry.kind == "transformers":
        from errorbar.models.local import LocalModel

        return LocalModel(entry.name, seed=seed)
    if entry.kind == "provider":
        from errorbar.models.providers import Provider

        return Provider(entry.name, key=_key(entry, environ), timeout=entry.timeout, environ=environ)
    if entry.mode == "batch":
        from errorbar.models.batch_client import Batches

        return Batches(entry.base_url, entry.name, key=_key(entry, environ))
    return _client(entry.kind)(entry.base_url, entry.name, key=_key(entry, environ), timeout=entry.timeout)


def _client(kind: str) -> type[Endpoint]:
    """What speaks the dialect of an endpoint."""
    if kind == "anthropic":
        from errorbar.models.anthropic import Anthropic

        return Anthropic
    if kind == "gemini":
        from errorbar.models.gemini import Gemini

        return Gemini
    from errorbar.models.client import Endpoint

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
