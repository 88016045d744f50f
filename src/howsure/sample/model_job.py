"""Build the requests of one model in a run, turn its replies into rows, and count generations and costs.

A `Worker` sends the requests one by one, and a `BatchWorker` sends them in batches; both use a `ModelJob`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from howsure.benchmarks.question import Benchmark, Message, Question, Variant
from howsure.errors import EndpointError
from howsure.models.failures import shorten
from howsure.models.model import Reply, Request, Settings
from howsure.models.reply import classify_finish
from howsure.safe_text import inflect_text
from howsure.sample.budget import Budget, Reservation
from howsure.sample.duplicates import DuplicateDetector
from howsure.sample.model_config import ModelConfig
from howsure.sample.prices import Price, bound_prompt_tokens, estimate_prompt_tokens
from howsure.sample.resume import PromptTask
from howsure.sample.scored_rows import RowWriter, build_failed_rows, score_reply
from howsure.sample.snapshot import Tally
from howsure.store.schema import Response

#: Generations per request: while no lower limit of the endpoint is known, and if log-probabilities are requested.
MOST, MOST_LOGPROBS = 128, 8
#: After so many consecutive replies with fewer choices than requested, requests become smaller.
SHORT_REPLIES = 3
#: Number of pairs of model name and fingerprint that are stored for each model.
MOST_VERSIONS = 100
#: Expected tokens of a completion, as long as none has arrived and there is no limit.
EXPECTED_TOKENS = 512
#: Replies at the limit of tokens, and prompts with one number of tokens, about which a note is made; and by how many
#: characters such prompts must differ; no endpoint cuts prompts to fewer tokens.
FEWEST_ALIKE, UNEQUAL_CHARACTERS, SMALLEST_CONTEXT = 5, 40, 256
#: Stop strings that every dialect takes.
MOST_STOPS = 4
#: What is said about generations that have no answer because of how they ended, by their status.
WITHOUT_ANSWER = {
    "refused": "[is a refusal|are refusals] of the model",
    "empty": "[has|have] no text",
    "unfinished": "[ends|end] within the thoughts of the model",
    "tool-call": "[calls|call] a tool and [has|have] no text",
}
#: The same of those that are scored although they are not whole, and of both.
NOT_WHOLE = {
    "length": "[was|were] cut off by the limit of tokens",
    "filtered": "[was|were] stopped by a content filter",
}
REMARKABLE = WITHOUT_ANSWER | NOT_WHOLE


def add_stops(settings: Settings, messages: Sequence[Message], stops: Sequence[str]) -> Settings:
    """Return settings that end a completion where it begins a further question, if the prompt has demonstrations.

    A prompt has demonstrations as text if its last message has the marker of a question at least twice. Other prompts
    are sent without the stop string, because a reply to them may use the marker in its own reasoning.
    """
    content = f"\n{messages[-1]['content']}" if messages else ""
    wanted = [stop for stop in stops if content.count(stop) > 1 and stop not in (settings.stop or ())]
    stop = (*(settings.stop or ()), *wanted)[:MOST_STOPS]
    return msgspec.structs.replace(settings, stop=stop) if wanted else settings


class RequestSize:
    """Choose how many generations each request asks for, and learn lower limits from the replies of the endpoint.

    Parameters
    ----------
    learned_limit
        The limit that an earlier session of the run learned, or None.

    Attributes
    ----------
    limit
        Generations per request at present.
    learned_limit
        The limit that was learned from the endpoint, or None while it sends all that is requested.
    note
        A sentence about the learned limit, or "".
    """

    def __init__(self, config: ModelConfig, learned_limit: int | None = None) -> None:
        limit = config.choices or MOST
        if config.settings.extra.get("logprobs"):
            limit = min(limit, MOST_LOGPROBS)
        if config.tokens_per_minute is not None and config.max_completion_tokens is not None:
            # Endpoints reserve n x max_tokens at once; a request for more than half a minute's tokens may never pass.
            limit = max(1, min(limit, int(config.tokens_per_minute / 2 / config.max_completion_tokens)))
        self.limit = limit if learned_limit is None else min(limit, learned_limit)
        self.learned_limit = learned_limit
        self.note = ""
        self._short_replies: list[int] = []

    def record_reply(self, requested: int, received: int) -> None:
        """Learn a limit from repeated replies with too few choices; a single such reply may be chance."""
        if received >= requested:
            self._short_replies.clear()
        elif requested <= self.limit:
            self._short_replies.append(received)
            if len(self._short_replies) == SHORT_REPLIES:
                self._set_limit(max(self._short_replies), "sends")
                self._short_replies.clear()

    def record_rejection(self, requested: int, reported_limit: int | None) -> None:
        """Learn a limit from a request that was rejected for its number of generations."""
        if requested <= self.limit:
            if reported_limit and reported_limit < requested:
                self._set_limit(reported_limit, "takes")
                return
            self.limit = self.learned_limit = 1
            self.note = (
                f"the endpoint refuses {requested} generations per request; one at a time is requested instead"
                + (", and choices: N sets another number" if requested > 2 else "")
            )

    def _set_limit(self, limit: int, verb: str) -> None:
        self.limit = self.learned_limit = limit
        self.note = (
            f"the endpoint {verb} {'one generation' if limit == 1 else f'at most {limit} generations'} per request; "
            "more requests are made instead"
        )


def build_request(
    config: ModelConfig,
    benchmark: str,
    question: Question,
    variant: Variant,
    variant_id: str,
    generations: tuple[int, ...],
) -> Request:
    """Return the request for generations of a question in a prompt variant, as a run sends it."""
    messages = variant.messages(question)
    sends_stops = config.prompt_stops and config.kind not in {"simulated", "replay"}
    stops = variant.build_context(question).stops if sends_stops else ()
    return Request(
        benchmark=benchmark,
        question=question.id,
        variant=variant_id,
        messages=messages,
        generations=generations,
        settings=add_stops(config.settings, messages, stops) if stops else config.settings,
        prompt_variant=variant,
    )


class ModelJob:
    """The generations that one model has to sample in a run, and those that it has sampled so far.

    Parameters
    ----------
    config
        The model's configuration.
    benchmark, questions, variants
        The benchmark, the questions of this run in their order, and the prompt variants.
    writer
        Receives rows as they arrive.
    tally
        Receives the scores; it already contains those of earlier sessions.
    budget
        The budget that all models of the run share.
    price
        Pico-dollars per token, None where unknown.
    size
        Generations per request, which the jobs of a model on several benchmarks share; None for one of its own.
    prompt_tokens
        Tokens of prompts in earlier sessions, by (index of the question, index of the variant).

    Attributes
    ----------
    done, failed
        Generations that arrived in this session, and those that failed for good.
    prompt_tokens, completion_tokens
        Billed tokens so far, as the endpoint reported them.
    saved_tokens
        Prompt tokens that were not billed because several generations shared one prompt.
    stopped
        Why the model was given up, or None.
    spent
        The limit of the budget that ended the job, or None.
    trouble
        The last failure since the last success, or the reason why the model waits, or None.
    versions
        Pairs (model name, fingerprint) that the endpoint reported, the first `MOST_VERSIONS`.
    size
        Generations per request.
    duplicates
        Detects generations that are copies.
    """

    def __init__(
        self,
        config: ModelConfig,
        benchmark: Benchmark,
        questions: Sequence[Question],
        variants: Sequence[Variant],
        writer: RowWriter,
        *,
        tally: Tally | None = None,
        budget: Budget | None = None,
        price: Price | None = None,
        size: RequestSize | None = None,
        prompt_tokens: Mapping[tuple[int, int], int] | None = None,
    ) -> None:
        self.config, self.benchmark, self.writer, self.price = config, benchmark, writer, price
        self.questions, self.variants = questions, variants
        self.variant_ids = [variant.id for variant in variants]
        self.tally = tally or Tally([question.id for question in questions], len(variants), config.generations)
        self.budget = budget or Budget()
        self.size = size or RequestSize(config)
        self.duplicates = DuplicateDetector(
            len(questions),
            len(variants),
            temperature=config.settings.temperature,
            requested_name=config.name,
            prompt_tokens=prompt_tokens,
        )
        self.done = self.failed = 0
        self.prompt_tokens = self.completion_tokens = self.saved_tokens = 0
        self.stopped: str | None = None
        self.spent: str | None = None
        self.trouble: str | None = None
        self.versions: set[tuple[str, str]] = set()
        self._n_replies = self._n_at_limit = 0
        self._unknown_finishes: Counter[str] = Counter()
        self._remarkable: Counter[str] = Counter()
        self._warnings: list[str] = []
        self._is_metered = self.budget.tokens is not None or self.budget.cost is not None

    @property
    def notes(self) -> list[str]:
        """The remarks about this model that matter for the interpretation of its scores."""
        notes = [self.size.note] if self.size.note else []
        scorer = self.benchmark.scorer
        for status, what in REMARKABLE.items():
            if n := self._remarkable[status]:
                if status in NOT_WHOLE:
                    score = "[it is|they are] scored by what was said"
                elif scorer and scorer.reads_all_texts:
                    score = "the task scores [it|them] too"
                elif self.benchmark.unparsed_score is None:
                    score = "[it has|they have] no score"
                else:
                    score = "[it scores|they score] 0"
                line = f"[generation|generations] {what}; {score}, [its row has|their rows have] the status {status!r}"
                notes.append(f"{n:,} {inflect_text(line, n)}")
        if self._unknown_finishes:
            listed = ", ".join(f"{reason!r} ({n:,})" for reason, n in self._unknown_finishes.most_common(3))
            n_all = self._unknown_finishes.total()
            of = inflect_text(f"{n_all:,} [generation|generations]", n_all)
            notes.append(f"{of} ended for a reason that is not known, such as {listed}; read as whole")
        if self._n_at_limit >= max(FEWEST_ALIKE, self._n_replies / 2):
            notes.append(
                f"{self._n_at_limit:,} of {self._n_replies:,} replies have just as many tokens as max_tokens allows, "
                "although they are said to end by themselves: they may be cut off; give the model more max_tokens"
            )
        if cut := self._find_cut_prompts():
            notes.append(cut)
        return [*notes, *self._warnings, *self.duplicates.notes()]

    def _find_cut_prompts(self) -> str:
        """Return a note if unequal prompts have the same number of tokens, and none has more."""
        tokens, prompts = self.duplicates.find_longest_prompts()
        pairs = [divmod(prompt, len(self.variants)) for prompt in prompts]
        if len(pairs) < FEWEST_ALIKE or tokens < SMALLEST_CONTEXT:
            return ""
        lengths = [sum(len(m["content"]) for m in self.variants[v].messages(self.questions[q])) for q, v in pairs]
        if max(lengths) - min(lengths) < UNEQUAL_CHARACTERS:
            return ""
        return (
            f"{len(pairs):,} prompts of {min(lengths):,} to {max(lengths):,} characters count as {tokens:,} tokens, "
            "and none as more: the endpoint may cut prompts without a word; give it a longer context"
        )

    @property
    def cost(self) -> int | None:
        """The cost of this session in pico-dollars; None if the price is unknown."""
        if self.price is None:
            return None
        return self.price.cost(self.prompt_tokens, self.completion_tokens, self._n_replies)

    def build_request(self, task: PromptTask) -> Request:
        """Return the request for the generations of a task."""
        question, variant = self.questions[task.question], self.variants[task.variant]
        variant_id = self.variant_ids[task.variant]  # a property of `variant` would hash the prompt again
        return build_request(self.config, self.benchmark.name, question, variant, variant_id, task.generations)

    def bound_cost(self, task: PromptTask) -> tuple[int, int]:
        """Return the largest possible tokens and pico-dollars of a request; 0 if the budget does not limit them."""
        if not self._is_metered:
            return 0, 0
        # `experiment` has checked that completions have a limit if the budget counts tokens.
        messages = self.variants[task.variant].messages(self.questions[task.question])
        prompt = bound_prompt_tokens(messages)
        completion = len(task.generations) * (self.config.max_completion_tokens or 0)
        return prompt + completion, self.price.cost(prompt, completion) if self.price else 0

    def estimate_tokens(self, task: PromptTask) -> int:
        """Return the tokens that endpoints count against a limit per minute when a request arrives."""
        messages = self.variants[task.variant].messages(self.questions[task.question])
        mean = self.completion_tokens // self.done if self.done else EXPECTED_TOKENS
        return estimate_prompt_tokens(messages) + len(task.generations) * (self.config.max_completion_tokens or mean)

    def bill(self, reservation: Reservation | None, reply: Reply) -> None:
        """Add the cost of a reply to the budget; if it reports no usage, spend the reserved worst case."""
        prompt, completion = reply.prompt_tokens or 0, reply.completion_tokens or 0
        self._n_replies += 1
        self.prompt_tokens += prompt
        self.completion_tokens += completion
        self.saved_tokens += prompt * (len(reply.choices) - 1)
        if reservation is None:
            return
        if reply.prompt_tokens is None or reply.completion_tokens is None:
            self.budget.forfeit(reservation)
        else:
            cost = self.price.cost(prompt, completion) if self.price else 0
            self.budget.settle(reservation, prompt + completion, cost)

    @property
    def is_scored_in_thread(self) -> bool:
        """Whether scores wait for a subprocess, so that the event loop must not."""
        return self.benchmark.scorer is not None and self.benchmark.scorer.in_subprocess

    def record_reply(self, task: PromptTask, request: Request, reply: Reply) -> None:
        """Record what a reply shows about the endpoint."""
        n = len(request.generations)
        for reason, count in Counter([choice.finish_reason for choice in reply.choices]).items():
            if classify_finish(reason) == "unknown":
                self._unknown_finishes[shorten(str(reason), most=60)] += count
        self.duplicates.record_reply(task.question, task.variant, reply)
        most = self.config.max_completion_tokens
        is_whole = all(classify_finish(choice.finish_reason) == "whole" for choice in reply.choices)
        if most is not None and is_whole and reply.completion_tokens == most * len(reply.choices) > 0:
            self._n_at_limit += 1
        if len(self.versions) < MOST_VERSIONS:
            self.versions.add((reply.model or "", reply.fingerprint or ""))
        if reply.surplus:
            self.warn("the endpoint sent more generations than requested; the surplus was dropped")
        if n > 1:
            self.size.record_reply(n, len(reply.choices))

    def build_rows(self, task: PromptTask, request: Request, reply: Reply, *, attempts: int) -> list[Response]:
        """Return the scored rows of a reply; may be called in any thread."""
        question, label, created = self.questions[task.question], self.config.label, time.time()
        return score_reply(self.benchmark, question, label, request, reply, attempts=attempts, created=created)

    def build_failed_rows(self, task: PromptTask, error: EndpointError, *, attempts: int) -> list[Response]:
        """Return the rows of a request that failed and is not sent again."""
        question, request = self.questions[task.question], self.build_request(task)
        return build_failed_rows(question, self.config.label, request, error, attempts=attempts, created=time.time())

    def add_rows(self, question: int, rows: list[Response]) -> None:
        """Write rows of one question, and count them."""
        scores = [row.score for row in rows]
        statuses = [row.status for row in rows]
        if not REMARKABLE.keys().isdisjoint(statuses):
            self._remarkable.update(status for status in statuses if status in REMARKABLE)
        # A verdict that cannot be read, or a completion that waits for its judge, has no score and did not fail.
        n_failed = sum(row.status == "error" for row in rows) if None in scores else 0
        self.done += len(rows) - n_failed
        self.failed += n_failed
        self.tally.add_all(question, [row.generation for row in rows], scores)
        self.writer.add(rows)

    def warn(self, text: str) -> None:
        """Add a sentence to the notes, unless it is there already."""
        if text not in self._warnings:
            self._warnings.append(text)
