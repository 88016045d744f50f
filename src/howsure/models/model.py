"""Define what the sampler and a model exchange (`Request`, `Reply`), and the protocol `Model` of all models.

`Endpoint` (client.py, over HTTP), `SimulatedModel` (simulated.py, without a network) and the others are `Model`s.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from howsure.benchmarks.question import Message, Variant


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Decoding settings; None is not sent and leaves the default of the endpoint.

    Examples
    --------
    >>> Settings(temperature=0.7, extra={"seed": 1}).extra
    {'seed': 1}
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] | None = None
    extra: dict[str, object] = {}
    """Further fields of the request body, sent unchanged."""


class Request(msgspec.Struct, frozen=True):
    """A request for some generations of one (benchmark, question, variant).

    `generations` are the 1-based indices of the generations, so `len(generations)` is `n`. An HTTP endpoint uses only
    their number. The simulated model draws generation j from (seed, model, benchmark, question, variant, j), so that an
    interrupted run has the same results as an uninterrupted one. The simulated model writes its answer in the form that
    `prompt_variant` requires; an endpoint never uses that field.

    Examples
    --------
    >>> messages = [{"role": "user", "content": "1 + 1?"}]
    >>> request = Request("sums", "q1", "default", messages, generations=(1, 2), settings=Settings())
    >>> len(request.generations)
    2
    """

    benchmark: str
    question: str
    variant: str
    messages: list[Message]
    generations: tuple[int, ...]
    settings: Settings
    prompt_variant: Variant | None = None
    """The variant itself; None for the benchmark's own prompt."""


class Choice(msgspec.Struct, frozen=True):
    """One generation of a reply. `text` is None if the endpoint sent none.

    Examples
    --------
    >>> Choice("The answer is B.", finish_reason="stop").text
    'The answer is B.'
    """

    text: str | None
    """The text as it was sent; of a refusal in a field of its own, the text of that field."""
    finish_reason: str | None = None
    """As it was sent; "refusal" where the reply has a refusal in a field of its own."""
    error: str | None = None
    """Why this choice is a failure and no generation; None for a generation."""
    reasoning: str | None = None
    """Thoughts that the endpoint sent in a field of their own."""


class RateLimits(msgspec.Struct, frozen=True):
    """Limits per minute that an endpoint reports; None if it reports none, or one for another period.

    Examples
    --------
    >>> RateLimits(requests=60).requests, RateLimits(requests=60).tokens
    (60, None)
    """

    requests: float | None = None
    tokens: float | None = None


class Reply(msgspec.Struct, frozen=True):
    """The reply to one request: at most `len(request.generations)` choices, possibly fewer.

    Examples
    --------
    >>> reply = Reply((Choice("2", finish_reason="stop"),), prompt_tokens=12, completion_tokens=1)
    >>> [choice.text for choice in reply.choices]
    ['2']
    """

    choices: tuple[Choice, ...]
    request: str | None = None
    """The endpoint's id of the reply."""
    model: str | None = None
    fingerprint: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None
    surplus: int = 0
    """Lower bound of the number of choices beyond the requested ones; they are not in `choices`."""
    cached: bool = False
    """Whether the endpoint, or a proxy before it, marks this reply as a copy from a cache, which is no new sample."""
    limits: RateLimits | None = None


class Model(Protocol):
    """One model at one endpoint. It raises `EndpointError`, or `FatalEndpointError` if no request can succeed."""

    async def generate(self, request: Request) -> Reply:
        """Send one request without retries; the sampler retries."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
