"""The columns of a response: names, types, units, key and version.

A response is one generation: the completion of a model for one question under one prompt variant, and its score. All
readers return these columns, the store keeps them, and `rows.to_cells` groups them into cells.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

#: Version of the schema; written in each run folder, and raised when a column is added or changes its meaning.
VERSION = 3
#: Oldest version that is read; columns that it lacks are null.
OLDEST = 2

#: `status` of a completion that has no score yet, and did not fail.
UNSCORED = "unscored"

#: How `error` begins where a completion should have a score and has none: its scorer failed, or gave no verdict.
SCORING_ERROR = "scoring:"

#: Columns that identify a response in a run folder.
KEY = ("benchmark", "model", "question", "variant", "generation")
CompletionKey: TypeAlias = tuple[str, str, str, str, int]
"""The values of the columns `KEY` of a row."""
#: Columns of what a model wrote, which may be long.
TEXTS = ("completion", "reasoning")
#: Columns from which the calls and tokens of a model are added up; `status` tells failed generations.
USAGE_COLUMNS = ("status", "attempts", "prompt_tokens", "completion_tokens")
#: Statuses of completions without an answer, which no scorer and no judge reads: they score 0.
WITHOUT_ANSWER = ("refused", "empty", "unfinished", "tool-call")


class Response(msgspec.Struct, frozen=True):
    """One generation. A generation that failed is a row too: `score` is None and `error` is the reason.

    The same model with other settings (greedy, another temperature or endpoint) is another `model`, by its label.

    Examples
    --------
    >>> Response("sums", "org/model", "q1", "default", generation=1, score=1.0).status
    'ok'
    """

    benchmark: str
    model: str
    question: str
    variant: str
    """Hash of the prompt's wording; `"default"` where a log does not state a variant."""
    generation: int
    """Number of the repeat of the same cell, from 1."""
    score: float | None = None
    """None when there is nothing to score; 0.0 with `status == "unparsed"` when no answer could be parsed."""
    status: str = "ok"
    """ok, unparsed (no answer was found), length (cut at max_tokens), filtered (content filter), refused (by the
    model), empty (no text), unfinished (thoughts that never end), tool-call (a call instead of a text), error, or
    unscored."""
    answer: str | None = None
    """The answer parsed from the completion, in the canonical form of the benchmark."""
    rule: str | None = None
    """The rule by which the answer was parsed, or why none was; None where it was not recorded."""
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
    """The name of the model as the endpoint reported it."""
    fingerprint: str | None = None
    """`system_fingerprint` of the endpoint."""
    request: str | None = None
    """Id of the request; generations of one request share it."""
    created: float | None = None
    """Seconds since the epoch when the reply arrived."""
    seconds: float | None = None
    """Latency of the request."""
    reasoning: str | None = None
    """Thoughts that the endpoint sent in a field of their own; no scorer reads them."""

    @property
    def key(self) -> CompletionKey:
        """The values of the columns `KEY`."""
        return self.benchmark, self.model, self.question, self.variant, self.generation


COLUMNS: tuple[str, ...] = Response.__struct_fields__


def has_scoring_error(error: str | None) -> bool:
    """Return whether the error of a generation is that of its scorer, and not of its request.

    >>> has_scoring_error("scoring: no verdict"), has_scoring_error("timeout: 60 s"), has_scoring_error(None)
    (True, False, False)
    """
    return error is not None and error.startswith(SCORING_ERROR)
