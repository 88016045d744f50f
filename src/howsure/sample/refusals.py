"""What refusals say: that we are too fast, or nothing about how fast we are.

Many are `MANY` among 64 requests in the order in which they were sent: refusals come back sooner than generations, so a
share of the outcomes would be too large whenever the pace changes.

Some endpoints refuse a share of their requests whatever they are asked (a gateway with a bad host behind it). To go
slower would never end there: each time the same share is refused again. So two stretches of requests are compared, one
before we slowed down and one after it. Under a limit that lets pass r requests per second, the share refused of a
requests per second is 1 - r / a; a share that has nothing to do with the pace stays. What is nearer is believed.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from dataclasses import dataclass

__all__ = ["Refusals"]

#: Of so many requests in a row, so many refusals are many: a tenth.
SPAN, MANY = 64, 7
#: Standard deviations above the share that is always refused, from which on refusals say something again.
DEVIATIONS = 4.0
#: A share that is always refused is believed up to here; and a slower pace is one below this part of the earlier one.
MOST_NOISE, SLOWER = 0.5, 0.9
#: Mean place of refusals in a stretch (1: at its end) from which on they are its end, not spread over it.
SPREAD = 0.75
#: Refusals in a stretch that say anything of its share.
LEAST = 5


@dataclass(slots=True)
class _Stretch:
    """Requests sent at one pace: those numbered above `first`, since `began`, with this many in flight allowed."""

    first: int
    began: float
    window: float
    refused: int = 0
    last: int = 0
    """Place of the last refusal in the stretch."""
    places: int = 0
    """Sum of the places of the refusals."""
    rate: float = 0.0
    """Requests per second, when it has ended."""

    @property
    def share(self) -> float:
        return self.refused / self.last if self.last else 0.0

    @property
    def is_steady(self) -> bool:
        """Whether refusals are spread over it: a limit that was reached refuses at the end, or nearly all."""
        is_spread = self.places < SPREAD * self.refused * self.last
        return self.refused >= LEAST and is_spread and self.share <= MOST_NOISE


class Refusals:
    """Refusals of one model's requests, which are numbered from 1 as they are sent.

    Parameters
    ----------
    window, now
        Requests in flight that are allowed, and seconds, at the beginning.
    """

    def __init__(self, window: float, now: float) -> None:
        self._always: tuple[float, int] | None = None
        self._many = MANY
        self._recent: deque[int] = deque(maxlen=SPAN)
        self._stretch = _Stretch(0, now, window)
        self._before: _Stretch | None = None

    def add(self, number: int) -> None:
        """Count the refusal of one request."""
        self._recent.append(number)
        if (place := number - self._stretch.first) > 0:
            self._stretch.refused += 1
            self._stretch.places += place
            self._stretch.last = max(self._stretch.last, place)

    @property
    def noise(self) -> float:
        """Share of requests that is refused however slowly they are sent, as far as was found out."""
        return 0.0 if self._always is None else self._always[0]

    @property
    def are_many(self) -> bool:
        """Whether the latest refusals lie so close together that they say something."""
        return len(self._recent) >= self._many and self._recent[-1] - self._recent[-self._many] < SPAN

    def are_few(self, sent: int) -> bool:
        """Whether no more of the last requests were refused than always are."""
        few = 2 + int(self.noise * SPAN)
        return len(self._recent) < few or self._recent[-few] <= sent - SPAN

    def follow(self, sent: int, window: float, now: float) -> None:
        """From here on requests are sent at another pace."""
        self._recent.clear()
        self._stretch = _Stretch(sent, now, window)

    def unmoved(self, sent: int, now: float) -> float | None:
        """The window to return to, when going slower has changed nothing; else None, and we should go slower.

        Called when refusals are many. Either way those so far have had their effect.
        """
        before, after, known = self._before, self._stretch, self._always
        after.rate = (sent - after.first) / max(now - after.began, 1e-3)
        # Nothing is counted until another pace is kept.
        self._recent.clear()
        self._stretch = _Stretch(sys.maxsize, now, after.window)
        if not after.is_steady:
            # A limit was reached; that says nothing of what is always refused.
            self._before = after
            return None
        if known is not None:
            # What was believed from few requests is now known from more.
            p, n = known
            if abs(after.share - p) < DEVIATIONS * math.sqrt(p * (1 - p) / n):
                return self._believe(n * p + after.refused, n + after.last, after)
        elif before is not None and before.is_steady:
            if after.rate > SLOWER * before.rate:
                # Too little has changed to tell.
                return None
            limited = max(0.0, 1 - (1 - before.share) * before.rate / after.rate)
            if after.share > (limited + before.share) / 2:
                return self._believe(before.refused + after.refused, before.last + after.last, before)
        self._before, self._always, self._many = after, None, MANY
        return None

    def _believe(self, refused: float, requests: int, returned: _Stretch) -> float:
        """So many of so many requests are refused at any pace; returns the window of this stretch."""
        share = refused / requests
        self._always = share, requests
        self._many = max(MANY, math.ceil(SPAN * share + DEVIATIONS * math.sqrt(SPAN * share * (1 - share))))
        return returned.window
