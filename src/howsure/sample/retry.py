"""How long to go on: with one request, and with a model whose requests fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from howsure.errors import EndpointError
from howsure.sample.resume import Unit

__all__ = ["LONGEST_WAIT", "Patience", "Work", "backoff"]

#: Attempts for one request; more when the endpoint only says that we are too fast.
ATTEMPTS, ATTEMPTS_RATE_LIMIT = 8, 64
#: Seconds without any success after which a model is given up: one that answers, but with something else than
#: completions, one that never answered, and any other.
PATIENCE_NONSENSE, PATIENCE_NEVER, PATIENCE = 5.0, 30.0, 300.0
#: Failures without a success before it is given up, at least; and refusals of the first requests.
FAILURES, REFUSALS = 20, 8
#: A longer Retry-After stops the model: running again later is better than waiting.
LONGEST_WAIT = 600.0


def backoff(attempts: int, rng: np.random.Generator) -> float:
    """Seconds to wait after so many attempts: full jitter of 0.5 s, doubled each time, up to 30 s."""
    return float(rng.random()) * min(30.0, 0.5 * 2.0 ** min(attempts - 1, 10))


@dataclass(eq=False)
class Work:
    """One request's worth of generations on its way; it waits for its next attempt without holding a slot."""

    unit: Unit
    attempts: int = 0
    since: float = 0.0
    """When it was first tried."""
    latest: float = 0.0
    previous: float = 0.0
    """When it was tried last, and the time before."""


class Patience:
    """What became of one model's requests, and what follows from it.

    While nothing at all succeeds it is the endpoint that fails, not a request: requests wait, however often they were
    tried, until it is back or the model is given up. So an outage costs time and leaves no failed rows.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.started = self.successes = self.failures = 0
        """Requests sent; successes among them; failures since the last success."""
        self.heard = clock()
        """When the last success came, or the model's turn began."""
        self._is_limited, self._is_nonsense = False, True
        self._flying: dict[Work, float] = {}

    @property
    def silent(self) -> float:
        """Seconds without any success."""
        return self.clock() - self.heard

    def sent(self, work: Work) -> None:
        """A request leaves."""
        now = self.clock()
        work.since = work.since or now
        work.previous, work.latest = work.latest, now
        work.attempts += 1
        self.started += 1
        self._flying[work] = now

    def back(self, work: Work) -> None:
        """It is back, with whatever outcome."""
        del self._flying[work]

    def succeeded(self) -> None:
        """It brought generations."""
        self.heard = self.clock()
        self.successes += 1
        self.failures = 0

    def failed(self, error: EndpointError) -> None:
        """It brought a failure that may pass."""
        self.failures += 1
        self._is_limited |= error.reason == "rate_limit"
        self._is_nonsense &= error.reason == "malformed" and error.status == 200

    def is_tried_enough(self, work: Work, error: EndpointError) -> bool:
        """Whether it was tried as often as we try, and others succeeded after it was first tried."""
        most = ATTEMPTS_RATE_LIMIT if error.reason == "rate_limit" else ATTEMPTS
        return work.attempts >= most and self.successes > 0 and self.heard > work.since

    def may_be_outage(self, work: Work) -> bool:
        """Whether nothing has succeeded since the attempt before, though many were made."""
        return self.failures >= FAILURES and self.heard <= work.previous

    def is_refused(self, refusals: int) -> bool:
        """Whether so many refusals, with no success yet, are a refusal of all."""
        return refusals >= max(REFUSALS, self.started / 2)

    def is_over(self, waiting: int) -> bool:
        """Whether the model is to be given up, when so many requests are open."""
        return self.failures >= min(FAILURES, 2 * waiting) and self.silent >= self.longest

    @property
    def longest(self) -> float:
        """Seconds without any success after which it is given up."""
        # An old request still on its way, or a limit, shows that somebody is there.
        slow = bool(self._flying) and self.clock() - next(iter(self._flying.values())) > PATIENCE_NEVER / 2
        if self.successes or self._is_limited or slow:
            return PATIENCE
        return PATIENCE_NONSENSE if self._is_nonsense else PATIENCE_NEVER

    @property
    def told(self) -> str:
        """For a person who waits while nothing succeeds: how long that goes on, or ""."""
        if self.successes and self.failures < FAILURES:
            return ""
        return f"; without any success it is given up after {self.longest:.0f} s"
