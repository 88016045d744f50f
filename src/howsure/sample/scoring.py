"""Replies and failures to rows: completion to answer to score. Pure; never touches the network."""

from __future__ import annotations

import math

from howsure.benchmarks.question import Benchmark, Question, Variant
from howsure.errors import EndpointError
from howsure.models.model import Reply, Request
from howsure.store.schema import Response

__all__ = ["failed", "scored"]

#: What endpoints write when a completion was cut at max_tokens, or stopped by a content filter.
CUT = ("length", "max_tokens", "MAX_TOKENS")
FILTERED = ("content_filter", "safety", "SAFETY", "refusal")
#: What one choice is worth, and how its answer was read: score, status, answer, rule, error.
_Judged = tuple[float | None, str, str | None, str | None, str | None]


def scored(
    benchmark: Benchmark,
    question: Question,
    model: str,
    request: Request,
    reply: Reply,
    *,
    attempts: int = 1,
    created: float | None = None,
) -> list[Response]:
    """One row per choice, the first choice for the first of `request.generations`, and so on.

    Status is "length" or "filtered" where the endpoint said so, else "ok", or "unparsed" when no answer can be read.
    Without an answer the score is 0.0. A choice without any text is a failure, unless it was cut or filtered; so is
    one on which the benchmark's own code fails.

    Parameters
    ----------
    model
        The model's label in the run.
    attempts
        Requests that were made for these rows, with the one that brought them.
    created
        Seconds since the epoch when the reply arrived.
    """
    tokens = None
    if reply.completion_tokens is not None and reply.choices:
        # The endpoint reports their sum only; each choice carries an equal share.
        tokens = reply.completion_tokens / (len(reply.choices) + reply.surplus)
    known: dict[tuple[str | None, str | None], _Judged] = {}
    prompt_tokens = reply.prompt_tokens
    rows = []
    for generation, choice in zip(request.generations, reply.choices, strict=False):
        if (judged := known.get(said := (choice.text, choice.finish_reason))) is None:
            # The same text of one reply is judged once.
            judged = known[said] = _judge(benchmark, question, request.asked, *said)
        score, status, answer, rule, error = judged
        # By place, in the order of `schema.COLUMNS`: a row made with 21 keywords takes ten times as long.
        row = Response(
            request.benchmark,
            model,
            request.question,
            request.variant,
            generation,
            score,
            status,
            answer,
            rule,
            choice.text,
            question.target,
            error,
            attempts,
            prompt_tokens,
            tokens,
            choice.finish_reason,
            reply.model,
            reply.fingerprint,
            reply.request,
            created,
            reply.seconds,
        )
        rows.append(row)
        prompt_tokens = None
    return rows


def failed(
    question: Question,
    model: str,
    request: Request,
    error: EndpointError,
    *,
    attempts: int,
    created: float | None = None,
) -> list[Response]:
    """One row without a score for each generation that could not be had, and why."""
    return [
        Response(
            benchmark=request.benchmark,
            model=model,
            question=request.question,
            variant=request.variant,
            generation=generation,
            status="error",
            target=question.target,
            error=f"{error.reason}: {error}",
            attempts=attempts,
            created=created,
        )
        for generation in request.generations
    ]


def _judge(
    benchmark: Benchmark, question: Question, asked: Variant | None, text: str | None, finish_reason: str | None
) -> _Judged:
    status = "length" if finish_reason in CUT else "filtered" if finish_reason in FILTERED else "ok"
    if text is None:
        if status == "ok":
            error = f"empty: a choice without text, finish reason {finish_reason}"
            return (None, "error", None, None, error)
        return (0.0, status, None, None, None)
    try:
        if asked is None:
            answer, rule = benchmark.extract(text), "benchmark"
        else:
            answer, rule = asked.read(question, text)
        if answer is None:
            return (0.0, "unparsed" if status == "ok" else status, None, rule, None)
        score = float(benchmark.grade(answer, question.target))
    except Exception as e:  # noqa: BLE001  a benchmark's own code may fail in any way; the run goes on
        why = " ".join(f"{type(e).__name__}: {e}".split())[:300]
        return (None, "error", None, None, f"scoring: {why}")
    if not math.isfinite(score):
        return (None, "error", answer, rule, f"scoring: the score is {score}")
    return score, status, answer, rule, None
