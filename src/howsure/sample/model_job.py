"""What is asked of one model and what came of it, whether by live requests (`lane`) or in batches (`batch`)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Required, TypedDict

import numpy as np

from howsure.benchmarks.question import Benchmark, Question, Variant
from howsure.models.model import Reply, Request
from howsure.sample.budget import Budget, Reservation
from howsure.sample.duplicates import Watch
from howsure.sample.model_config import ModelEntry
from howsure.sample.prices import Price, most
from howsure.sample.resume import Unit
from howsure.sample.scoring import scored
from howsure.sample.tally import Tally
from howsure.store.schema import Response

__all__ = ["MOST", "Asking", "AskingKeys", "Sizes"]

#: Names and fingerprints of an endpoint that are kept.
SEEN = 100


class AskingKeys(TypedDict, total=False):
    """Keyword parameters of `Asking`."""

    tally: Tally | None
    budget: Budget | None
    price: Price | None
    learnt: int | None
    sleep: Callable[[float], Awaitable[None]]
    clock: Callable[[], float]
    rng: Required[np.random.Generator]


class Asking:
    """One model's part of a run.

    Parameters
    ----------
    keep
        Takes rows as they arrive.
    tally
        Takes their scores; with those that were there before.
    budget, price
        What all models may spend together, and pico-dollars per token; None where unknown.
    learnt
        Generations per request that an earlier session found the endpoint to take.
    sleep, clock, rng
        How retries wait, what they measure time with, and their jitter.

    Attributes
    ----------
    done, failed
        Generations that arrived, and those that failed for good.
    prompt_tokens, completion_tokens, saved_tokens
        Billed so far as the endpoint said; and of prompts, those that were not, since several generations shared one.
    stopped
        Why the model was given up, or None.
    spent
        Which bound of the budget ended it, or None.
    seen
        (model, fingerprint) as the endpoint told them, the first `SEEN`.
    trouble
        The last failure since the last success, or what is being waited for, or None.
    """

    def __init__(
        self,
        entry: ModelEntry,
        benchmark: Benchmark,
        questions: Sequence[Question],
        variants: Sequence[Variant],
        keep: Callable[[list[Response]], None],
        *,
        tally: Tally | None = None,
        budget: Budget | None = None,
        price: Price | None = None,
        learnt: int | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        rng: np.random.Generator,
    ) -> None:
        self.entry, self.benchmark, self.keep, self.price = entry, benchmark, keep, price
        self.questions, self.variants, self.ids = questions, variants, [variant.id for variant in variants]
        self.sleep, self.clock, self.rng = sleep, clock, rng
        self.tally = tally or Tally([question.id for question in questions], len(variants), entry.generations)
        self.budget = budget or Budget(clock=clock)
        self.sizes = Sizes(entry, learnt)
        self.watch = Watch(len(questions), len(variants), temperature=entry.settings.temperature, asked_name=entry.name)
        self.done = self.failed = 0
        self.prompt_tokens = self.completion_tokens = self.saved_tokens = 0
        self.stopped: str | None = None
        self.spent: str | None = None
        self.seen: set[tuple[str, str]] = set()
        self.trouble: str | None = None
        self._replies = 0
        self._notes: list[str] = []
        self._is_metered = self.budget.tokens is not None or self.budget.cost is not None

    @property
    def notes(self) -> list[str]:
        """What the reader of the numbers should know."""
        return [*([self.sizes.note] if self.sizes.note else []), *self._notes, *self.watch.notes()]

    @property
    def learnt(self) -> int | None:
        """Generations per request that the endpoint turned out to take; None while it takes all that is asked for."""
        return self.sizes.learnt

    @property
    def cost(self) -> int | None:
        """Picodollars of this session; None where the price is unknown."""
        if self.price is None:
            return None
        return self.price.cost(self.prompt_tokens, self.completion_tokens, self._replies)

    def request(self, unit: Unit) -> Request:
        """What asks for these generations."""
        question, variant = self.questions[unit.question], self.variants[unit.variant]
        return Request(
            benchmark=self.benchmark.name,
            question=question.id,
            variant=self.ids[unit.variant],
            messages=variant.messages(question),
            generations=unit.generations,
            settings=self.entry.settings,
            asked=variant,
        )

    def worst(self, unit: Unit) -> tuple[int, int]:
        """Tokens and pico-dollars that a request may take at most; 0 where no budget counts them."""
        if not self._is_metered:
            return 0, 0
        # That completions are bounded was checked with the experiment.
        messages = self.variants[unit.variant].messages(self.questions[unit.question])
        prompt, completion = most(messages), len(unit.generations) * (self.entry.longest or 0)
        return prompt + completion, self.price.cost(prompt, completion) if self.price else 0

    def bill(self, reservation: Reservation | None, reply: Reply) -> None:
        """Count what a reply has cost; where it does not say, its worst case is spent."""
        prompt, completion = reply.prompt_tokens or 0, reply.completion_tokens or 0
        self._replies += 1
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

    def read(self, unit: Unit, request: Request, reply: Reply, *, attempts: int) -> list[Response]:
        """The rows of a reply, with what it tells of the endpoint noted."""
        question, n = self.questions[unit.question], len(request.generations)
        self.watch.saw(unit.question, unit.variant, reply)
        if len(self.seen) < SEEN:
            self.seen.add((reply.model or "", reply.fingerprint or ""))
        if reply.surplus:
            self.note("the endpoint sent more generations than asked for; those were dropped")
        if n > 1:
            self.sizes.came(n, len(reply.choices))
        return scored(
            self.benchmark, question, self.entry.label, request, reply, attempts=attempts, created=time.time()
        )

    def count(self, question: int, rows: list[Response]) -> None:
        """Keep rows of one question, and count them."""
        scores = [row.score for row in rows]
        lost = scores.count(None)
        self.done += len(rows) - lost
        self.failed += lost
        self.tally.add_all(question, [row.generation for row in rows], scores)
        self.keep(rows)

    def note(self, text: str) -> None:
        """Say it once."""
        if text not in self._notes:
            self._notes.append(text)


#: Generations per request where the endpoint has not said what it takes, and with log-probabilities.
MOST, MOST_LOGPROBS = 128, 8
#: Replies in a row with fewer choices than asked for, after which fewer are asked for.
SHORT = 3


class Sizes:
    """How many generations a request to one model may ask for.

    Parameters
    ----------
    learnt
        What an earlier session of the run found, or None.

    Attributes
    ----------
    most
        Generations per request now.
    learnt
        What the endpoint turned out to take, or None while it takes all that is asked for.
    note
        What to tell of it, or "".
    """

    def __init__(self, entry: ModelEntry, learnt: int | None = None) -> None:
        most = entry.choices or MOST
        if entry.settings.extra.get("logprobs"):
            most = min(most, MOST_LOGPROBS)
        if entry.tokens_per_minute is not None and entry.longest is not None:
            # Endpoints reserve n x max_tokens at once; what exceeds half a minute's allowance may never be let in.
            most = max(1, min(most, int(entry.tokens_per_minute / 2 / entry.longest)))
        self.most = most if learnt is None else min(most, learnt)
        self.learnt = learnt
        self.note = ""
        self._short: list[int] = []

    def came(self, asked: int, came: int) -> None:
        """Ask for fewer when the endpoint keeps sending fewer; one short reply may be chance."""
        if came >= asked:
            self._short.clear()
        elif asked <= self.most:
            self._short.append(came)
            if len(self._short) == SHORT:
                self._cap(max(self._short), "sends")
                self._short.clear()

    def rejected(self, asked: int, said: int | None) -> None:
        """So many were refused, and so many the endpoint said it takes."""
        if asked <= self.most:
            self._cap(said if said and said < asked else 1, "takes")

    def _cap(self, most: int, verb: str) -> None:
        self.most = self.learnt = most
        self.note = (
            f"the endpoint {verb} {'one generation' if most == 1 else f'at most {most} generations'} per request; "
            "more requests are made instead"
        )
