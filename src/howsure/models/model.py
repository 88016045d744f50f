"""What the sampler asks of a model, and what it gets: the seam where the world comes in.

`Endpoint` (client.py, over HTTP) and `SimulatedModel` (simulated.py, no network) both are a `Model`.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from howsure.benchmarks.question import Message, Variant

__all__ = ["Choice", "Limits", "Model", "Reply", "Request", "Settings"]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Decoding settings; None means: not sent, the endpoint's default."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] | None = None
    extra: dict[str, object] = {}
    """Further fields of the request body, sent as they are."""


class Request(msgspec.Struct, frozen=True):
    """Ask for these generations of one (benchmark, question, variant).

    `generations` are the wanted 1-based generation indices, so `len(generations)` is `n`. An HTTP endpoint only looks
    at their number; the simulated model draws generation j from (seed, model, benchmark, question, variant, j), so
    that a run that was interrupted equals one that was not. It writes its answer as `asked` wants it, an endpoint never
    looks at it.
    """

    benchmark: str
    question: str
    variant: str
    messages: list[Message]
    generations: tuple[int, ...]
    settings: Settings
    asked: Variant | None = None
    """The variant itself; None: the benchmark's own way of asking."""


class Choice(msgspec.Struct, frozen=True):
    """One generation of a reply. `text` is None when the endpoint sent none."""

    text: str | None
    finish_reason: str | None = None


class Limits(msgspec.Struct, frozen=True):
    """What an endpoint says it takes per minute; None where it does not say, or means another period."""

    requests: float | None = None
    tokens: float | None = None


class Reply(msgspec.Struct, frozen=True):
    """What came back for one request: at most `len(request.generations)` choices, possibly fewer."""

    choices: tuple[Choice, ...]
    request: str | None = None
    model: str | None = None
    fingerprint: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None
    surplus: int = 0
    """Choices beyond those asked for: the endpoint sent at least so many, nobody wanted them, they are not in
    `choices`."""
    cached: bool = False
    """The endpoint, or a proxy before it, says that this answer came from a cache: it is a copy, no new draw."""
    limits: Limits | None = None


class Model(Protocol):
    """One model at one endpoint. Raises `EndpointError`; `FatalEndpointError` when no request can succeed."""

    async def generate(self, request: Request) -> Reply:
        """One request, no retries: those are the sampler's."""
        ...

    async def close(self) -> None:
        """Give connections back."""
        ...
