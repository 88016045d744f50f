"""A rate with a burst of one second: how a limit per minute is kept."""

from __future__ import annotations

__all__ = ["Bucket", "per_second"]

#: Seconds of a rate that may be used at once; saved-up seconds would be refused all at once.
BURST = 1.0


def per_second(per_minute: float | None) -> float | None:
    """A rate that keeps to the limit in every minute, its burst included."""
    return None if per_minute is None else per_minute / (60 + BURST)


class Bucket:
    """Lets pass `rate` per second and a burst of `BURST` seconds: `full` is when all that was taken is paid for."""

    def __init__(self, rate: float | None) -> None:
        self.rate = rate
        self.full = 0.0

    def wait(self, amount: float, now: float) -> float:
        """Seconds until so much may pass; more than a burst passes once the bucket is full."""
        if self.rate is None:
            return 0.0
        return self.full - max(0.0, BURST - amount / self.rate) - now

    def take(self, amount: float, now: float) -> None:
        """Let so much pass; a negative amount was not used after all."""
        if self.rate is not None:
            self.full = max(self.full, now) + amount / self.rate

    def become(self, rate: float, now: float) -> None:
        """Go on at another rate per second; what was taken stays taken."""
        if self.rate is not None:
            self.full = now + max(0.0, self.full - now) * self.rate / rate
        self.rate = rate
