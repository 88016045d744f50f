"""Read rate limits and cache hits from the headers of a response; Retry-After is read in `failures`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from howsure.models.model import Limits

__all__ = ["RateLimitHeaders", "is_cached", "parse_duration"]

#: Headers whose limits are per minute: Anthropic's by its documentation, the others by their names.
PER_MINUTE = {
    "requests": ("anthropic-ratelimit-requests-limit", "x-ratelimit-limit-req-minute"),
    "tokens": ("anthropic-ratelimit-tokens-limit", "x-ratelimit-limit-tokens-minute"),
}
#: Periods in seconds that are a minute after rounding, for limits that refill steadily and for clock minutes.
STEADY_MINUTE, CLOCK_MINUTE = (45.0, 80.0), (30.0, 60.0)
#: Units of durations as Go writes them, such as 6m0s or 7.66s.
UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "": 1.0}
DURATION = re.compile(r"(?:\d{1,9}(?:\.\d{1,9})?(?:ms|us|µs|ns|[dhms]))+|\d{1,9}(?:\.\d{1,9})?")
PART = re.compile(r"([\d.]+)([a-zµ]*)")
#: Headers in which proxies and gateways write HIT, "Hit from ...", SEMANTIC HIT, TCP_HIT, or True.
CACHE_HEADERS = (
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
    """Return whether a proxy, a gateway or the endpoint marks this response as a copy of an earlier one.

    >>> is_cached({"x-cache": "Hit from cloudfront"}), is_cached({"x-cache": "MISS"})
    (True, False)
    """
    for name in CACHE_HEADERS:
        if name in headers and HIT.search(headers[name]):
            return True
    # A cache sends the age of its responses; proxies without a cache send an age of 0.
    age = headers.get("age")
    return age is not None and age.isascii() and age.isdigit() and age.strip("0") != ""


def parse_duration(text: str | None) -> float | None:
    """Return a duration in seconds, written as in Go or as a plain number; None for anything else, such as a date.

    >>> [parse_duration(text) for text in ("1m0.5s", "6ms", "59", "2026-11-21T05:00:00Z")]
    [60.5, 0.006, 59.0, None]
    """
    if text is None or not DURATION.fullmatch(text):
        return None
    return sum(float(number) * UNITS[unit] for number, unit in PART.findall(text))


class RateLimitHeaders:
    """Read the rate limits of one endpoint; reading an unchanged header again costs almost nothing."""

    def __init__(self) -> None:
        self._raw: dict[str, str] = {}
        self._limits = Limits()

    def read(self, headers: Mapping[str, str]) -> Limits | None:
        """Return the limits per minute that are known after this response, or None while none is.

        The same object is returned until a limit changes.
        """
        requests, tokens = self._read_limit("requests", headers), self._read_limit("tokens", headers)
        if requests != self._limits.requests or tokens != self._limits.tokens:
            self._limits = Limits(requests, tokens)
        return self._limits if requests is not None or tokens is not None else None

    def _read_limit(self, kind: str, headers: Mapping[str, str]) -> float | None:
        """Return the limit of requests or tokens per minute; `kind` is "requests" or "tokens"."""
        previous: float | None = getattr(self._limits, kind)
        for name in PER_MINUTE[kind]:
            if name in headers:
                raw = headers[name]
                return previous if raw == self._raw.get(kind) else self._parse_limit(kind, raw, previous)
        raw = headers.get(f"x-ratelimit-limit-{kind}", "")
        if not raw or raw == self._raw.get(kind):
            return previous
        if _is_minute(raw, headers.get(f"x-ratelimit-remaining-{kind}"), headers.get(f"x-ratelimit-reset-{kind}")):
            return self._parse_limit(kind, raw, previous)
        return previous

    def _parse_limit(self, kind: str, raw: str, previous: float | None) -> float | None:
        """Return the limit in a header, or the one known before if it cannot be read."""
        limit = _parse_count(raw)
        if not limit:
            return previous
        self._raw[kind] = raw
        return float(limit)


def _is_minute(raw: str, remaining: str | None, reset: str | None) -> bool:
    """Return whether a limit is per minute: vendors use one header name for minutes and for days.

    Most limits refill steadily, and the reset header is the time until they are full: reset = period x used / limit,
    from which the period follows. Other reset headers are the rest of a clock minute.
    """
    limit, left, wait = _parse_count(raw), _parse_count(remaining), parse_duration(reset)
    if not limit or left is None or wait is None or not 0 <= left < limit:
        return False
    period = wait * limit / (limit - left)
    if STEADY_MINUTE[0] <= period <= STEADY_MINUTE[1]:
        return True
    # Limits per hour and per day that refill steadily show their period, however short the wait.
    steady = any(0.9 < period / length < 1.1 for length in (3600.0, 86400.0))
    return CLOCK_MINUTE[0] < wait <= CLOCK_MINUTE[1] and period > STEADY_MINUTE[1] and not steady


def _parse_count(text: str | None) -> int | None:
    """Return a non-negative whole number, or None for any other text."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 15:
        return None
    return int(text)
