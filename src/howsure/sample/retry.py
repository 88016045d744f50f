"""Decide when to send a failed request again, and when to give up a model; `compute_wait` obeys Retry-After."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from howsure.errors import EndpointError
from howsure.sample.resume import PromptTask

#: Reason of the error that ends a judge of which no verdict can be read.
UNREADABLE = "unreadable"
#: Largest number of attempts for a request, and for a request that fails only because requests are sent too fast.
MAX_ATTEMPTS, MAX_ATTEMPTS_RATE_LIMIT = 8, 64
#: Seconds without any success after which a model is given up: a model that never answered, and any other model.
GIVE_UP_SILENT, GIVE_UP = 30.0, 300.0
#: Smallest number of failures in a row before a model is given up; of replies that cannot be read so many suffice, if
#: none ever could: each may be billed.
FEWEST_FAILURES = 20
#: If so many of the first requests are refused, for example with status 400, the model is given up.
FEWEST_REFUSED = 8
#: If Retry-After asks for more seconds than this, the model is stopped: the user can run again later.
LONGEST_WAIT = 600.0
#: Waits that the endpoint asks for lengthen the time without success by at most so many seconds.
LONGEST_EXTENSION = 2 * LONGEST_WAIT
#: A model that has worked is stopped after so many fatal failures (401, 404) without a success between them.
FEWEST_FATAL = 8


def compute_backoff(attempts: int, rng: np.random.Generator) -> float:
    """Return a random wait in seconds after so many attempts: full jitter of 0.5 s, doubled each time, up to 30 s."""
    return float(rng.random()) * min(30.0, 0.5 * 2.0 ** min(attempts - 1, 10))


def compute_wait(error: EndpointError, attempts: int, rng: np.random.Generator) -> float:
    """Return the seconds until a failed request is sent again: its Retry-After, if any, plus a random back-off.

    This is where the `Retry-After` header of a failed request is obeyed. `models.failures.parse_retry_after` reads it,
    `Worker`, the batch worker and single requests wait, and above `LONGEST_WAIT` they stop instead
    (`is_wait_too_long`). While many requests are rejected, `RateLimiter` holds back the model's other requests as long.

    Parameters
    ----------
    error
        The failure; its `retry_after` is the header in seconds, or None.
    attempts
        How often the request was sent.
    rng
        Source of the jitter, which keeps requests that failed together from returning together.

    Examples
    --------
    >>> error = EndpointError("slow down", reason="rate_limit", retry_after=7.0)
    >>> 7.0 <= compute_wait(error, attempts=1, rng=np.random.default_rng(0)) <= 7.5
    True
    """
    return (error.retry_after or 0.0) + compute_backoff(attempts, rng)


def is_wait_too_long(error: EndpointError) -> bool:
    """Return whether the endpoint asks for a wait so long that the model is better run again later."""
    return (error.retry_after or 0.0) > LONGEST_WAIT


@dataclass(eq=False)
class PendingRequest:
    """A request for generations of one prompt; while it waits for its next attempt it does not count as in flight."""

    task: PromptTask
    attempts: int = 0
    first_sent: float = 0.0
    """Time of the first attempt; 0 if there was none yet."""
    last_sent: float = 0.0
    previous_sent: float = 0.0
    """Times of the last attempt and of the attempt before it."""
    first_failed: float = 0.0
    """Time of the first failure; 0 if there was none yet."""
    held: tuple[int, ...] = ()
    """Further generations of the prompt, which wait until a request for one generation shows whether `n` is refused."""
    refused_n: int = 0
    """The number of generations with which the request was refused before it asked for one; 0 if it was not."""


class RetryPolicy:
    """Count the successes and failures of one model's requests, and decide whether to retry or to give up.

    While no request at all succeeds, the endpoint is at fault and not a single request. Then all requests wait, however
    often they were tried, until the endpoint works again or the model is given up. So an outage costs time but causes
    no failed rows. If it hits the last requests of a run, their rows have the reason `resume.OUTAGE`, and the next
    session sends them again.

    Parameters
    ----------
    clock
        The time in seconds.

    Attributes
    ----------
    n_sent, n_successes
        Requests sent, and successes among them.
    n_failures
        Failures since the last success.
    last_success
        Time of the last success, or of the start.

    Examples
    --------
    >>> policy = RetryPolicy(clock=lambda: 0.0)
    >>> [policy.refuses_all(n_refused) for n_refused in (7, 8)]
    [False, True]
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.n_sent = self.n_successes = self.n_failures = 0
        self.last_success = clock()
        self._is_rate_limited, self._is_malformed = False, True
        self._wait_until, self._n_fatal = -math.inf, 0
        self._in_flight: dict[PendingRequest, float] = {}

    def start(self) -> None:
        """Start to measure the time without a success."""
        self.last_success = self.clock()

    def record_sent(self, pending: PendingRequest) -> None:
        """Count a request that is sent."""
        now = self.clock()
        pending.first_sent = pending.first_sent or now
        pending.previous_sent, pending.last_sent = pending.last_sent, now
        pending.attempts += 1
        self.n_sent += 1
        self._in_flight[pending] = now

    def record_returned(self, pending: PendingRequest) -> None:
        """Count a request as returned, whatever its outcome."""
        del self._in_flight[pending]

    def record_success(self) -> None:
        """Count a request that brought generations."""
        self.last_success = self.clock()
        self.n_successes += 1
        self.n_failures = self._n_fatal = 0

    def record_failure(self, error: EndpointError, pending: PendingRequest | None = None) -> None:
        """Count a failure after which another attempt may succeed."""
        now = self.clock()
        if pending is not None:
            pending.first_failed = pending.first_failed or now
        if error.retry_after:
            self._wait_until = max(self._wait_until, now + error.retry_after)
        self.n_failures += 1
        self._is_rate_limited |= error.reason == "rate_limit"
        self._is_malformed &= error.reason == "malformed" and error.status == 200

    def is_forgiven(self, error: EndpointError) -> bool:
        """Count a fatal failure; return whether the model goes on, because such a failure among successes may pass.

        An account without credit is not forgiven, nor a judge of which no verdict can be read.
        """
        self._n_fatal += 1
        return error.reason not in {"quota", UNREADABLE} and self.n_successes > 0 and self._n_fatal < FEWEST_FATAL

    @property
    def seconds_without_success(self) -> float:
        """The seconds since the last success, or since the start."""
        return self.clock() - self.last_success

    @property
    def give_up_after(self) -> float:
        """The seconds without any success after which the model is given up."""
        # An old request that is still in flight, or a rate limit, shows that the endpoint exists.
        is_slow = bool(self._in_flight) and self.clock() - next(iter(self._in_flight.values())) > GIVE_UP_SILENT / 2
        if self.n_successes or self._is_rate_limited or is_slow:
            # A success cannot be expected before the time that Retry-After asks to wait.
            return GIVE_UP + min(max(0.0, self._wait_until - self.last_success), LONGEST_EXTENSION)
        return GIVE_UP_SILENT

    def is_exhausted(self, pending: PendingRequest, error: EndpointError) -> bool:
        """Return whether a request has used all its attempts, and the request is at fault and not the endpoint.

        That is so where others succeeded after it first failed, and where the endpoint replied that it failed.
        """
        answers = error.reason == "failed_reply" or self.last_success > pending.first_failed
        return self.is_tried_enough(pending, error) and answers

    def is_tried_enough(self, pending: PendingRequest, error: EndpointError) -> bool:
        """Return whether a request has used all its attempts, at an endpoint that has answered others."""
        most = MAX_ATTEMPTS_RATE_LIMIT if error.reason == "rate_limit" else MAX_ATTEMPTS
        return pending.attempts >= most and self.n_successes > 0

    def may_be_outage(self, pending: PendingRequest, error: EndpointError) -> bool:
        """Return whether many requests failed without a reply and none succeeded since the attempt before the last."""
        if error.reason == "failed_reply":
            return False
        return self.n_failures >= FEWEST_FAILURES and self.last_success <= pending.previous_sent

    def refuses_all(self, n_refused: int) -> bool:
        """Return whether so many refused requests, without any success yet, mean that every request is refused."""
        return n_refused >= max(FEWEST_REFUSED, self.n_sent / 2)

    def should_give_up(self, n_open: int) -> bool:
        """Return whether to give up the model while this number of requests is open."""
        if self._is_malformed and not self.n_successes and self.n_failures >= FEWEST_FAILURES:
            return True
        return (
            self.n_failures >= min(FEWEST_FAILURES, 2 * n_open) and self.seconds_without_success >= self.give_up_after
        )

    def describe_deadline(self) -> str:
        """Return the text for the progress display that says when the model is given up; "" while requests succeed."""
        if self.n_successes and self.n_failures < FEWEST_FAILURES:
            return ""
        return f"; without any success it is given up after {self.give_up_after:.0f} s"
