"""Turn replies and failures into scored rows, and write rows to the run folder in batches."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from howsure.benchmarks.question import Benchmark, Question
from howsure.errors import EndpointError
from howsure.models.model import Reply, Request
from howsure.models.reply import FinishKind, classify_finish
from howsure.scorers.completion_text import share_context, split_thoughts
from howsure.scorers.scorer_parts import ScoringItem
from howsure.store.responses import RunFolder
from howsure.store.schema import UNSCORED, Response

#: Rows per transaction, and the longest wait of a row for it in seconds.
BATCH, LONGEST_WAIT = 1000, 0.25
#: Status of a generation by what its finish reason says; all others are "ok" if they have a text.
STATUSES: dict[FinishKind, str] = {"cut": "length", "filtered": "filtered", "refused": "refused"}
#: Score, status, answer, extraction rule and error of one choice.
_ScoredChoice = tuple[float | None, str, str | None, str | None, str | None]


def score_reply(
    benchmark: Benchmark,
    question: Question,
    model: str,
    request: Request,
    reply: Reply,
    *,
    attempts: int = 1,
    created: float | None = None,
) -> list[Response]:
    """Return one row per choice: the first choice belongs to the first of `request.generations`, and so on.

    The status is "length" (cut at max_tokens) or "filtered" where the endpoint reported it; "refused" for a refusal of
    the model, whose text is not graded; "tool-call" or "empty" for a completion without any text, whether the endpoint
    wrote "" or null; "unfinished" where the thoughts never end; else "ok", or "unparsed" if no answer can be extracted.
    Scorers read the text without thoughts, which stay in the stored completion. The score without
    an answer is 0.0. A choice with an `error` is a failure without a score, and so is a choice on which the benchmark's
    own code raises an exception.

    Parameters
    ----------
    model
        The model's label in the run.
    attempts
        Number of requests that were sent for these rows, including the successful one.
    created
        Seconds since the epoch when the reply arrived.
    """
    tokens = None
    if reply.completion_tokens is not None and reply.choices:
        # The endpoint reports only the sum of the tokens; each choice gets an equal share.
        tokens = reply.completion_tokens / (len(reply.choices) + reply.surplus)
    scored: dict[tuple[str | None, str | None, str | None, bool], _ScoredChoice] = {}
    prompt_tokens, target = reply.prompt_tokens, question.stored_target
    rows = []
    for generation, choice in zip(request.generations, reply.choices, strict=False):
        content = (choice.text, choice.finish_reason, choice.error, choice.reasoning is not None)
        if (result := scored.get(content)) is None:
            # A text that occurs several times in one reply is scored once.
            result = scored[content] = _score_choice(benchmark, question, request, *content)
        score, status, answer, rule, error = result
        # Arguments are positional, in the order of `schema.COLUMNS`: keyword arguments would take ten times as long.
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
            target,
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
            choice.reasoning,
        )
        rows.append(row)
        prompt_tokens = None
    return rows


def build_failed_rows(
    question: Question,
    model: str,
    request: Request,
    error: EndpointError,
    *,
    attempts: int,
    created: float | None = None,
) -> list[Response]:
    """Return one row without a score, with the reason, for each generation of a request that failed for good."""
    return [
        Response(
            benchmark=request.benchmark,
            model=model,
            question=request.question,
            variant=request.variant,
            generation=generation,
            status="error",
            target=question.stored_target,
            error=f"{error.reason}: {error}",
            attempts=attempts,
            created=created,
        )
        for generation in request.generations
    ]


def _score_choice(
    benchmark: Benchmark,
    question: Question,
    request: Request,
    text: str | None,
    finish_reason: str | None,
    error: str | None,
    has_reasoning: bool,
) -> _ScoredChoice:
    """Return the score of one choice with its status; thoughts alone that were cut are unfinished."""
    if error is not None:
        return (None, "error", None, None, f"failed_reply: {error}")
    kind, unparsed = classify_finish(finish_reason), benchmark.unparsed_score
    status = STATUSES.get(kind, "ok")
    parts = split_thoughts(text or "")
    if text is None or kind == "refused" or not parts.text.strip():
        is_finished = parts.is_finished and not (has_reasoning and status == "length")
        without = _score_without_answer(kind, status, unparsed, is_finished=is_finished)
        if benchmark.scorer is None or not benchmark.scorer.reads_all_texts:
            return without
        text, status = text or "", without[1]
    if benchmark.is_judged:
        return (None, UNSCORED, None, None, None)
    try:
        score, answer, rule = _grade_text(benchmark, question, request, parts.text, truncated=status == "length")
    except Exception as e:  # noqa: BLE001  # code of a benchmark may raise anything; the run continues
        why = " ".join(f"{type(e).__name__}: {e}".split())[:300]
        return (None, "error", None, None, f"scoring: {why}")
    if answer is not None and not math.isfinite(score):
        return (None, "error", answer, rule, f"scoring: the score is {score}")
    is_unparsed = answer is None and status == "ok"
    return unparsed if answer is None else score, "unparsed" if is_unparsed else status, answer, rule, None


def _score_without_answer(kind: FinishKind, status: str, score: float | None, *, is_finished: bool) -> _ScoredChoice:
    """Return the score of a refusal, or of a choice without text or with thoughts only."""
    nothing = "empty" if is_finished else "unfinished"
    if status == "ok" or (status == "length" and not is_finished):
        status = "tool-call" if kind == "tool-call" else nothing
    return (score, status, None, "refused" if kind == "refused" else nothing, None)


def _grade_text(
    benchmark: Benchmark, question: Question, request: Request, text: str, *, truncated: bool
) -> tuple[float, str | None, str | None]:
    """Return the score, answer and rule of a completion by the benchmark's scorer, or by its extraction and grading."""
    variant = request.prompt_variant
    if variant is not None and (benchmark.scorer is None or question.choices):
        answer, rule = variant.read(question, text, truncated=truncated)
    else:
        if variant is not None:
            context = variant.build_context(question, truncated=truncated)
        else:
            stops, language = benchmark.prompt.stops, benchmark.language
            context = share_context(question.text, question.choices, truncated, stops, language)
        if benchmark.scorer is not None and not question.choices:
            item = ScoringItem(benchmark.name, question.id, request.variant, question.stored_target, context)
            return benchmark.scorer.score(text, item)
        answer, rule = benchmark.extract_in_context(text, context=context), "benchmark"
    return 0.0 if answer is None else float(benchmark.grade(answer, question.target)), answer, rule


class RowWriter:
    """Write rows to the run folder in batches; only this class writes rows.

    A row waits for at most `LONGEST_WAIT` seconds while others arrive; the run flushes those after which none arrives.

    Rows are written in the thread of the event loop. So workers wait while a batch is written to disk, and a cancelled
    run leaves no thread that still writes.
    """

    def __init__(self, store: RunFolder, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.store, self._clock = store, clock
        self._rows: list[Response] = []
        self._first_added = 0.0

    def add(self, rows: list[Response]) -> None:
        """Add rows; write them to disk after each thousand of them, or when the first has waited long enough."""
        now = self._clock()
        if not self._rows:
            self._first_added = now
        self._rows += rows
        if len(self._rows) >= BATCH or now - self._first_added >= LONGEST_WAIT:
            self.flush()

    def flush(self) -> None:
        """Write all added rows to disk."""
        if self._rows:
            self.store.append(self._rows)
            self._rows = []
