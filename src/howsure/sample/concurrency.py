"""Find how many requests in flight make an endpoint fastest: start with one, and grow while throughput grows.

A local server may answer one request at a time. Of 64 requests in flight 63 wait there, until they time out. A large
endpoint answers hundreds at a time. Neither says so, but throughput does: if twice as many requests in flight bring
(nearly) as many tokens per second as before, the others only waited.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

#: Largest factor by which the window grows at once, and the factor after a step that brought less than `CLEAN` of it.
FASTEST_GROWTH, CAREFUL_GROWTH, CLEAN = 8.0, 2.0, 0.5
#: Smallest gain of throughput for a doubled window that counts as growth.
GAIN_PER_DOUBLING = 1.3
#: Share of the requests of a window that must be answered before its throughput is computed.
ANSWERED = 0.8
#: Where a queue of all allowed requests would be answered in so many seconds one by one, no search is needed.
SHORT_QUEUE = 12.0
#: A window more than doubles only so far that its requests, answered one by one, take this share of the timeout.
TIMEOUT_SHARE = 0.5
#: Requests wait in a queue where their latency is so large a part of that of the first one, times the window.
QUEUE = 0.75
#: The window that was found is somewhat larger than the throughput needs, so that the endpoint is never idle.
SLACK = 1.25
#: Seconds at the window that was found before a larger one is tried: at first, and at most, as they double each
#: time (longer after timeouts).
TRY_AGAIN_SECONDS, LONGEST_TRY_AGAIN = 10.0, 120.0
#: Requests that are compared in such a trial, and the growth of its window. The first trials are soon, with few
#: requests and large growth: the first request, which was sent alone, may have had a short answer.
TRIALS = ((8, 4.0), (16, 2.0), (64, 1.5))


@dataclass(slots=True)
class _Stage:
    """Requests that were sent with one window."""

    number: int
    window: int
    needed: int
    """Answers after which the throughput is computed."""
    began: float = math.nan
    answered: int = 0
    work: float = 0.0
    seconds: float = 0.0
    """Sum of the latencies."""
    is_full: bool = False
    """Whether as many requests were in flight as the window allows."""


class ConcurrencySearch:
    """Choose the number of requests in flight by the throughput that it brings.

    The first request is sent alone. Then the window grows up to eightfold for each round trip, as long as throughput
    grows by 30 % for a doubled window; it only doubles where requests might time out if they were answered one by one.
    Where throughput stops growing, the window is that which the throughput needs. From time to time a window that is
    half as large again is tried, because few requests measure throughput badly, and servers change.

    Parameters
    ----------
    most
        The largest window, 1 or more.
    timeout
        Seconds that a request may take.
    clock
        Returns the time in seconds.

    Attributes
    ----------
    window
        Requests allowed in flight now.
    state
        "growing"; "open" when the largest window is reached; "settled" when throughput stopped growing before it.

    Examples
    --------
    >>> search = ConcurrencySearch(64, timeout=100.0, clock=lambda: 5.0)
    >>> search.window
    1
    >>> stage = search.record_sent(in_flight=1, now=0.0)
    >>> search.record_answer(stage, seconds=2.0, work=100.0, now=2.0)  # one request takes 2 s
    >>> search.window
    8
    """

    def __init__(self, most: int, *, timeout: float, clock: Callable[[], float]) -> None:
        self.most, self.timeout = most, timeout
        self.state: Literal["growing", "open", "settled"] = "growing" if most > 1 else "open"
        self._stage = _Stage(0, min(most, 1), 1)
        self._previous: _Stage | None = None
        self._previous_rate = 0.0
        self._is_trial = False
        self._settled_at, self._try_again, self._n_trials = clock(), TRY_AGAIN_SECONDS, 0
        self._outcome = ""  # of the window that was tried last
        self._longest_wait = LONGEST_TRY_AGAIN
        self._alone = 0.0  # seconds of the first request, which was sent alone

    @property
    def window(self) -> int:
        """The number of requests allowed in flight."""
        return self._stage.window

    @property
    def note(self) -> str:
        """A remark for the progress display, or ""."""
        return f"{self.window:,} in flight: {self._outcome}" if self.state == "settled" else ""

    def record_sent(self, *, in_flight: int, now: float) -> int:
        """Count a request as sent, and return the number of its stage for `record_answer`."""
        stage = self._stage
        if math.isnan(stage.began):
            stage.began = now
        stage.is_full |= in_flight >= stage.window
        return stage.number

    def record_answer(self, stage: int, *, seconds: float, work: float, now: float) -> None:
        """Count an answer, with its latency and its completion tokens (or generations, without reported tokens)."""
        current = self._stage
        if stage != current.number or self.state == "open":
            return
        current.answered += 1
        current.work += work
        current.seconds += seconds
        if current.answered < current.needed or not current.is_full:
            return
        if self.state == "settled" and not self._is_trial:
            if not self._n_trials or now - self._settled_at >= self._try_again:
                self._grow(TRIALS[min(self._n_trials, len(TRIALS) - 1)][1], now, is_trial=True)
            return
        self._evaluate(now)

    def record_timeout(self, stage: int, now: float) -> None:
        """Halve the window after a timeout of one of its requests."""
        if stage == self._stage.number and self.window > 1:
            self._outcome = f"with {self.window:,} a request timed out"
            self._longest_wait *= 2
            self._settle(max(1, self.window // 2), now)

    def stop(self) -> None:
        """End the search: from now on something else limits the requests in flight."""
        self.state = "open"
        self._begin_stage(self.most)

    def _evaluate(self, now: float) -> None:
        """Compare the throughput of this window with that of the one before, and grow, settle or open."""
        stage, before = self._stage, self._previous
        rate = stage.work / max(now - stage.began, 1e-6)
        latency = stage.seconds / stage.answered
        if before is None:
            if latency * self.most <= min(SHORT_QUEUE, self.timeout * TIMEOUT_SHARE):
                self.stop()
                return
            self._grow(FASTEST_GROWTH, now, rate=rate)
            return
        growth, gain = stage.window / before.window, rate / max(self._previous_rate, 1e-9)
        if gain < GAIN_PER_DOUBLING ** math.log2(growth):
            self._outcome = f"{stage.window:,} were no faster"
            self._settle(before.window if self._is_trial else math.ceil(before.window * gain * SLACK), now)
            return
        self.state, self._try_again = "growing", TRY_AGAIN_SECONDS
        if stage.window >= self.most:
            self.stop()
        elif gain >= CLEAN * growth:
            self._grow(FASTEST_GROWTH if not self._is_trial else CAREFUL_GROWTH, now, rate=rate)
        else:
            # The throughput needs a smaller window, so the next step begins there.
            needed = max(before.window + 1, math.ceil(before.window * gain * SLACK))
            stage.window = min(stage.window, needed)
            self._grow(CAREFUL_GROWTH, now, rate=rate)

    def _grow(self, factor: float, now: float, *, rate: float | None = None, is_trial: bool = False) -> None:
        """Begin a stage with a larger window, if its requests would not time out."""
        stage = self._stage
        if stage.window >= self.most:
            self.stop()
            return
        latency = stage.seconds / stage.answered
        self._alone = self._alone or latency
        largest = int(stage.window * self.timeout * TIMEOUT_SHARE / max(latency, 1e-9))
        if stage.window == 1 or latency < QUEUE * stage.window * self._alone:  # nothing says that they wait in a queue
            largest = max(largest, 2 * stage.window)  # a timeout halves it again
        window = min(self.most, math.ceil(stage.window * factor), largest)
        if window <= stage.window:
            self._outcome = "more might time out"
            self._settle(stage.window, now)
            return
        self._previous = stage
        self._previous_rate = stage.work / max(now - stage.began, 1e-6) if rate is None else rate
        self._is_trial = is_trial
        self._begin_stage(window, needed=stage.needed if is_trial else 1)

    def _settle(self, window: int, now: float) -> None:
        """Stay at a window."""
        if self._is_trial:
            self._n_trials += 1
            self._try_again = min(2 * self._try_again, self._longest_wait)
        self.state, self._settled_at, self._is_trial = "settled", now, False
        needed = TRIALS[min(self._n_trials, len(TRIALS) - 1)][0]
        self._begin_stage(max(1, min(window, self.most)), needed=needed)

    def _begin_stage(self, window: int, *, needed: int = 1) -> None:
        # One of them was sent before the window grew.
        share = min(math.ceil(ANSWERED * window), max(2, window - 1))
        self._stage = _Stage(self._stage.number + 1, window, max(needed, min(window, share)))
