"""The columns of a response: names, types, units, key and version.

A response is one generation: what a model wrote for one question under one prompt variant, and what it scored.
Every reader produces these columns, the store keeps them, and `store.tables` groups them into cells.
"""

from __future__ import annotations

import msgspec

__all__ = ["COLUMNS", "KEY", "UNSCORED", "VERSION", "Response"]

#: Version of the schema; written in each run folder, raised when a column comes or changes its meaning.
#: 2 brought `rule`, and `record` of a prompt.
VERSION = 2

#: `status` of a completion that nobody scored, or not yet: no failure, and no score.
UNSCORED = "unscored"

#: What makes a response unique in a run folder.
KEY = ("benchmark", "model", "question", "variant", "generation")


class Response(msgspec.Struct, frozen=True):
    """One generation. A generation that failed is a row too: `score` is None and `error` says why.

    The same model at other settings (greedy, another temperature or endpoint) is another `model`, by its label.
    """

    benchmark: str
    model: str
    question: str
    variant: str
    """Content hash of the prompt's wording; `"default"` where the log does not say."""
    generation: int
    """1-based index of independent repeats of the same cell."""
    score: float | None = None
    """None when there is nothing to score; 0.0 with `status == "unparsed"` when no answer could be read."""
    status: str = "ok"
    """ok, unparsed (no answer was found), length (cut at max_tokens), filtered (content filter), error, or unscored."""
    answer: str | None = None
    """The answer read from the completion, in the benchmark's canonical form."""
    rule: str | None = None
    """How the answer was read, or why none was; None where nobody noted it."""
    completion: str | None = None
    target: str | None = None
    error: str | None = None
    """`reason: message` of the failure, never a key or a header."""
    attempts: int = 1
    prompt_tokens: int | None = None
    """Tokens of the prompt billed to this row: of n generations of one request the first carries them all."""
    completion_tokens: float | None = None
    """Tokens of this generation; a request with n choices reports only their sum, so each carries a share."""
    finish_reason: str | None = None
    endpoint_model: str | None = None
    """The model name that the endpoint said it used."""
    fingerprint: str | None = None
    """`system_fingerprint` of the endpoint."""
    request: str | None = None
    """Id of the request; generations of one request share it."""
    created: float | None = None
    """Seconds since the epoch when the reply arrived."""
    seconds: float | None = None
    """Latency of the request."""


COLUMNS: tuple[str, ...] = Response.__struct_fields__
