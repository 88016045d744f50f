"""What the headers of an answer tell beside it: limits per minute, and that it came from a cache."""

from __future__ import annotations

import re
from collections.abc import Mapping

from howsure.models.model import Limits

__all__ = ["ToldLimits", "is_cached"]

#: Limits that say that they are per minute: Anthropic's by its documents, the others by their names.
PER_MINUTE = {
    "requests": ("anthropic-ratelimit-requests-limit", "x-ratelimit-limit-req-minute"),
    "tokens": ("anthropic-ratelimit-tokens-limit", "x-ratelimit-limit-tokens-minute"),
}
#: Seconds in which a bucket fills, as far as rounding lets us see, that are a minute; and what a clock shows of one.
MINUTE, CLOCK_MINUTE = (45.0, 80.0), (30.0, 60.0)
#: Go's way to write a duration, such as 6m0s or 7.66s.
UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "": 1.0}
DURATION = re.compile(r"(?:\d{1,9}(?:\.\d{1,9})?(?:ms|us|µs|ns|[dhms]))+|\d{1,9}(?:\.\d{1,9})?")
PART = re.compile(r"([\d.]+)([a-zµ]*)")
#: Headers of proxies and gateways that say HIT, "Hit from ...", SEMANTIC HIT, TCP_HIT, or True.
CACHES = (
    "x-cache",
    "x-cache-status",
    "cf-cache-status",
    "cf-aig-cache-status",
    "cache-status",
    "helicone-cache",
    "x-litellm-cache-hit",
    "x-openrouter-cache-status",
    "x-portkey-cache-status",
)
HIT = re.compile(r"(?<![a-z])hit(?![a-z])|^\s*true\s*$", re.IGNORECASE)


def is_cached(headers: Mapping[str, str]) -> bool:
    """Whether a proxy, a gateway or the endpoint says that this answer is a copy of an earlier one.

    >>> is_cached({"x-cache": "Hit from cloudfront"}), is_cached({"x-cache": "MISS"})
    (True, False)
    """
    for name in CACHES:
        if name in headers and HIT.search(headers[name]):
            return True
    # A cache tells the age of what it hands out; 0 is also sent by proxies that keep nothing.
    age = headers.get("age")
    return age is not None and age.isascii() and age.isdigit() and age.strip("0") != ""


def seconds(text: str | None) -> float | None:
    """A reset's duration: Go's writing or plain seconds; None for anything else, such as a date.

    >>> seconds("1m0.5s"), seconds("6ms"), seconds("59"), seconds("2026-11-21T05:00:00Z")
    (60.5, 0.006, 59.0, None)
    """
    if text is None or not DURATION.fullmatch(text):
        return None
    return sum(float(number) * UNITS[unit] for number, unit in PART.findall(text))


class ToldLimits:
    """What one endpoint has told of its limits; reading the same header again costs next to nothing."""

    def __init__(self) -> None:
        self._raw: dict[str, str] = {}
        self._limits = Limits()

    def read(self, headers: Mapping[str, str]) -> Limits | None:
        """Limits per minute as known after this answer, or None while none is.

        The same object is returned until a limit changes.
        """
        requests, tokens = self._kind("requests", headers), self._kind("tokens", headers)
        if requests != self._limits.requests or tokens != self._limits.tokens:
            self._limits = Limits(requests, tokens)
        return self._limits if requests is not None or tokens is not None else None

    def _kind(self, kind: str, headers: Mapping[str, str]) -> float | None:
        known: float | None = getattr(self._limits, kind)
        for name in PER_MINUTE[kind]:
            if name in headers:
                raw = headers[name]
                return known if raw == self._raw.get(kind) else self._believe(kind, raw, known)
        raw = headers.get(f"x-ratelimit-limit-{kind}", "")
        if not raw or raw == self._raw.get(kind):
            return known
        if _is_minute(raw, headers.get(f"x-ratelimit-remaining-{kind}"), headers.get(f"x-ratelimit-reset-{kind}")):
            return self._believe(kind, raw, known)
        return known

    def _believe(self, kind: str, raw: str, known: float | None) -> float | None:
        limit = _count(raw)
        if not limit:
            return known
        self._raw[kind] = raw
        return float(limit)


def _is_minute(raw: str, remaining: str | None, reset: str | None) -> bool:
    """Whether a limit is per minute, which its name does not say: vendors use one name for minutes and for days.

    Most endpoints keep a bucket that fills steadily and tell when it will be full: reset = period x used / limit. So
    the period follows. Others tell the rest of a clock's minute; one of a second or of ten may look alike at its end.
    """
    limit, left, wait = _count(raw), _count(remaining), seconds(reset)
    if not limit or left is None or wait is None or not 0 <= left < limit:
        return False
    period = wait * limit / (limit - left)
    if MINUTE[0] <= period <= MINUTE[1]:
        return True
    # Days and hours that fill steadily give themselves away, however short the wait.
    steady = any(0.9 < period / known < 1.1 for known in (3600.0, 86400.0))
    return CLOCK_MINUTE[0] < wait <= CLOCK_MINUTE[1] and period > MINUTE[1] and not steady


def _count(text: str | None) -> int | None:
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 15:
        return None
    return int(text)
