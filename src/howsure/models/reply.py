"""Parse the body of a chat completion into a `Reply`, with memory bounded by a few times the size of the body.

A hostile body of 64 MB can contain 20 million empty choices, and each would need a struct of 60 bytes. So lists are
decoded as structs with a fixed number of fields, and the decoder skips the rest. `json` is not used, because it would
build all objects.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from howsure.errors import EndpointError
from howsure.models.failures import LARGEST_ERROR, build_http_error, shorten
from howsure.models.model import Choice, RateLimits, Reply, Request
from howsure.safe_text import redact, redact_completion

#: Largest number of parts of the text of one choice.
PARTS = 64
ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
#: Largest number of characters of a model's name, a fingerprint or a finish reason; the rest is cut.
LONGEST_NAME = 200
#: Invalid characters are repaired in bodies of at most so many bytes; this takes 50 ns per byte.
LARGEST_REPAIRED = 8 << 20
#: Half of a surrogate pair, written as an escape; JSON allows it, but Unicode does not.
HALF_CHARACTER = re.compile(
    rb"(?<!\\)((?:\\\\)*)(?:\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
#: Words that Python's JSON writer uses for numbers that JSON does not have; strings are matched first and stay.
NOT_A_NUMBER = re.compile(rb'("(?:[^"\\]|\\.)*+"?)|-?\b(?:NaN|Infinity)\b', re.DOTALL)
#: Types of parts whose text is the answer; other parts hold reasoning, refusals or calls of tools.
ANSWER_PARTS = ("", "text", "output_text")

FinishKind = Literal["whole", "cut", "filtered", "refused", "tool-call", "failed", "unknown"]
#: What each finish reason says, in lower case. Endpoints: OpenAI, Anthropic, Gemini, Mistral (model_length, error),
#: DeepSeek (insufficient_system_resource), Zhipu (sensitive, network_error), Bedrock (guardrail_intervened), vLLM and
#: SGLang (abort), text-generation-inference (eos_token, stop_sequence), Cohere (complete).
FINISH_KINDS: dict[str, FinishKind] = {
    **dict.fromkeys(
        ("stop", "stop_sequence", "end_turn", "eos", "eos_token", "complete", "completed", "finish_reason_stop"),
        "whole",
    ),
    **dict.fromkeys(
        (
            *("length", "max_tokens", "model_length", "max_length", "max_output_tokens", "token_limit"),
            *("context_length", "model_context_window_exceeded"),
        ),
        "cut",
    ),
    **dict.fromkeys(
        (
            *("content_filter", "content_filtered", "safety", "sensitive", "recitation", "blocklist", "spii"),
            *("prohibited_content", "model_armor", "guardrail_intervened", "language"),
        ),
        "filtered",
    ),
    **dict.fromkeys(("refusal", "refused"), "refused"),
    **dict.fromkeys(
        (
            *("tool_calls", "tool_call", "tool_use", "function_call", "pause_turn", "malformed_function_call"),
            *("unexpected_tool_call", "too_many_tool_calls"),
        ),
        "tool-call",
    ),
    **dict.fromkeys(
        (
            *("error", "failed", "abort", "aborted", "cancelled", "canceled", "timeout", "network_error"),
            *("server_error", "internal_error", "insufficient_system_resource", "other"),
        ),
        "failed",
    ),
}

#: The usual finish reasons of a text, none of which is a failure.
COMMON_FINISHES = ("stop", "length")

T = TypeVar("T")
Usage = TypeVar("Usage", bound=msgspec.Struct)


class _Part(msgspec.Struct):
    type: str | None = None
    text: str | None = None
    refusal: str | None = None


def build_bounded_list(kind: type, most: int, *, strict: bool = False) -> type:
    """Return the type of a list of at most `most` items; further items are skipped, or an error if `strict`.

    `list_items` returns the items of a decoded list.
    """
    fields = [(f"place{i}", kind | msgspec.UnsetType, msgspec.UNSET) for i in range(most)]
    return msgspec.defstruct("_BoundedList", fields, array_like=True, forbid_unknown_fields=strict)


def list_items(struct: msgspec.Struct | None, kind: type[T]) -> list[T]:
    """Return the items of a decoded `build_bounded_list`, which are of this kind; an empty list if there was none."""
    del kind  # it only tells the type of the result
    if struct is None:
        return []
    places: tuple[Any, ...] = msgspec.structs.astuple(struct)
    # Only the places after the last item are unset, and most of them are.
    items: list[T] = list(places[: bisect.bisect_left(places, True, key=_is_unset)])
    return items


def _is_unset(place: object) -> bool:
    """Return whether a place of a decoded list has no item."""
    return place is msgspec.UNSET


if TYPE_CHECKING:
    _Parts = msgspec.Struct
else:
    _Parts = build_bounded_list(str | _Part, PARTS, strict=True)


#: The value of a field that a reply does not have.
_ABSENT = msgspec.Raw(b"null")


class _Message(msgspec.Struct):
    content: str | _Parts | None = None
    refusal: str | None = None
    reasoning_content: msgspec.Raw = _ABSENT
    """Thoughts, as DeepSeek, vLLM and SGLang send them."""
    reasoning: msgspec.Raw = _ABSENT
    """Thoughts, as OpenRouter, Groq and newer versions of vLLM send them."""


class _Choice(msgspec.Struct):
    message: _Message | None = None
    text: msgspec.Raw = msgspec.Raw(b"null")
    """What a text completion has in place of a message."""
    finish_reason: str | None = None
    error: msgspec.Raw = _ABSENT


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@functools.cache
def _build_body_decoder(most: int) -> Callable[[bytes | bytearray], Any]:
    """Return a decoder of bodies that keeps at most `most` choices."""
    choices = build_bounded_list(_Choice, most)
    body = msgspec.defstruct(
        "_Body",
        [
            ("choices", choices | None, None),
            ("id", str | None, None),
            ("model", str | None, None),
            ("system_fingerprint", str | None, None),
            ("provider", msgspec.Raw, _ABSENT),
            ("usage", msgspec.Raw, msgspec.Raw(b"null")),
            ("error", msgspec.Raw, msgspec.Raw(b"null")),
        ],
    )
    return msgspec.json.Decoder(body).decode


_decode_usage = msgspec.json.Decoder(_Usage | None).decode


def parse_reply(body: bytes | bytearray, n: int, *, key: str = "") -> Reply:
    """Parse the body of a response with status 200 to a request for `n` generations.

    Up to `3 n` surplus choices are counted, and any others are skipped.

    Raises
    ------
    EndpointError
        When it is not a completion: it is malformed, empty, or an error sent with status 200.
    """
    if body.lstrip(b"\r\n ").startswith((b"data:", b"event:", b": ")):
        body = join_stream(body, key)
    completion = decode_body(body, _build_body_decoder(4 << n.bit_length()), key)
    if error := find_error_beside(completion.error):
        raise build_error_in_body(error, n, key)
    if completion.choices is None:
        raise EndpointError("the reply has no choices field", reason="malformed", status=200)
    choices = list_items(completion.choices, _Choice)
    if not choices:
        raise EndpointError("the list of choices is empty", reason="empty", status=200)
    usage = decode_usage(completion.usage, _decode_usage) or _Usage()
    received = tuple([_parse_choice(choice, key) for choice in choices[:n]])
    prompt_tokens, completion_tokens = drop_uncounted(usage.prompt_tokens, usage.completion_tokens, received)
    return Reply(
        choices=received,
        request=clean_id(completion.id, key),
        model=clean_name(completion.model, key),
        fingerprint=clean_name(_join_fingerprint(completion.provider, completion.system_fingerprint), key),
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        surplus=max(0, len(choices) - n),
    )


def _join_fingerprint(provider: msgspec.Raw, fingerprint: str | None) -> str | None:
    """Return the provider that a router names with the system_fingerprint: either tells systems apart."""
    name = bytes(provider)
    if not name.startswith(b'"') or len(name) > LONGEST_NAME:
        return fingerprint
    return " ".join(filter(None, (f"provider {msgspec.json.decode(name, type=str)}", fingerprint)))


class _Delta(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _StreamChoice(msgspec.Struct):
    index: int = 0
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Event(msgspec.Struct, omit_defaults=True):
    choices: list[_StreamChoice] | None = None
    id: str | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    provider: msgspec.Raw = _ABSENT
    usage: msgspec.Raw = _ABSENT
    error: msgspec.Raw = _ABSENT


_decode_event = msgspec.json.Decoder(_Event).decode


def join_stream(body: bytes | bytearray, key: str) -> bytes:
    """Return the body that a stream of server-sent events would have as one reply.

    Raises
    ------
    EndpointError
        When an event cannot be read, or the stream ended before its choices did.
    """
    texts: dict[int, dict[str, list[str]]] = {}
    finishes: dict[int, str | None] = {}
    joined: dict[str, object] = {}
    for line in body.splitlines():
        if not line.startswith(b"data:") or (content := line[5:].strip()) == b"[DONE]":
            continue
        event = decode_body(content, _decode_event, key)
        joined |= {
            name: value
            for name in ("id", "model", "system_fingerprint", "provider", "usage", "error")
            if (value := getattr(event, name)) not in (None, _ABSENT)
        }
        for choice in event.choices or ():
            parts = texts.setdefault(choice.index, {})
            finishes[choice.index] = choice.finish_reason or finishes.get(choice.index)
            for name in _Delta.__struct_fields__:
                if part := getattr(choice.delta, name, None):
                    parts.setdefault(name, []).append(part)
    if None in finishes.values() and "error" not in joined:
        raise EndpointError("the stream ended before its choices did", reason="malformed", status=200)
    choices = [
        {"message": {name: "".join(parts) for name, parts in texts[i].items()}, "finish_reason": finishes[i]}
        for i in sorted(texts)
    ]
    return msgspec.json.encode(joined | {"choices": choices})


def build_error_in_body(error: msgspec.Raw | bytes, n: int, key: str) -> EndpointError:
    """Return the error that a gateway reports in the body of a response with status 200."""
    return build_http_error(200, {}, b'{"error":' + bytes(error)[:LARGEST_ERROR] + b"}", n=n, key=key)


def find_error_beside(error: msgspec.Raw) -> bytes:
    """Return the error in a reply, or b"" where the field is missing or says that there is none, such as `{"code": 0}`.

    A reply that has choices beside an error is not whole: the endpoint failed while it wrote them.
    """
    if bytes(error) == b"null":
        return b""
    if len(bytes(error)) > LARGEST_ERROR:
        return bytes(error)
    try:
        value = msgspec.json.decode(error)
    except RecursionError:
        return bytes(error)
    is_real = any(value.values()) if isinstance(value, dict) else bool(value)
    return bytes(error) if is_real else b""


def classify_finish(finish_reason: str | None) -> FinishKind:
    """Return what a finish reason says about its generation; a missing one counts as "whole".

    >>> [classify_finish(reason) for reason in ("stop", "MAX_TOKENS", "insufficient_system_resource", "sleepy", None)]
    ['whole', 'cut', 'failed', 'unknown', 'whole']
    """
    if finish_reason is None:
        return "whole"
    return FINISH_KINDS.get(finish_reason) or FINISH_KINDS.get(finish_reason.lower(), "unknown")


def build_choice(
    text: str | None, finish_reason: str | None, *, error: str | None = None, reasoning: str | None = None
) -> Choice:
    """Return a choice; it is a failure if it has an error or a finish reason such as "error" or "abort"."""
    if error is None and classify_finish(finish_reason) == "failed":
        error = f"the endpoint marks this reply as failed: finish reason {finish_reason}"
    return Choice(text, finish_reason, error, reasoning)


def drop_failed_choices(request: Request, reply: Reply) -> tuple[Request, Reply, tuple[int, ...]]:
    """Return a request and its reply without the choices that failed, and the generations of those.

    Raises
    ------
    EndpointError
        When all choices failed.
    """
    pairs = list(zip(request.generations, reply.choices, strict=False))
    failed = tuple(generation for generation, choice in pairs if choice.error is not None)
    if not failed:
        return request, reply, ()
    if len(failed) == len(reply.choices):
        raise EndpointError(str(reply.choices[0].error), reason="failed_reply", status=200)
    left = tuple(generation for generation in request.generations if generation not in failed)
    choices = tuple(choice for choice in reply.choices if choice.error is None)
    return replace(request, generations=left), replace(reply, choices=choices), failed


def clean_name(name: str | None, key: str) -> str | None:
    """Return a model's name, a fingerprint or a finish reason, cut to `LONGEST_NAME` and with the key redacted."""
    return None if name is None else redact(name, key)[:LONGEST_NAME]


def clean_id(reply_id: str | None, key: str) -> str:
    """Return the id of a reply, or a random id if it has none or a very long one."""
    return redact(reply_id, key) if reply_id and len(reply_id) <= LONGEST_NAME else uuid.uuid4().hex


def _parse_choice(choice: _Choice, key: str) -> Choice:
    """Return one choice with its text, or with the text of the model's refusal."""
    message = choice.message
    if (
        choice.error is _ABSENT
        and choice.finish_reason in COMMON_FINISHES
        and message is not None
        and isinstance(message.content, str)
        and not message.refusal
    ):
        # Most choices are a text and nothing else, which takes half of the time without the general reading below.
        thoughts = _read_reasoning(message, key)
        return Choice(redact_completion(message.content, key), choice.finish_reason, None, thoughts)
    finish = clean_name(choice.finish_reason, key)
    if error := find_error_beside(choice.error):
        return build_choice(None, finish, error=f"the endpoint reports {build_error_in_body(error, 1, key)}")
    if message is None and bytes(choice.text)[:1] == b'"':
        return build_choice(redact_completion(msgspec.json.decode(choice.text, type=str), key), finish)
    if message is None:
        # A filter may remove the whole message.
        is_explained = classify_finish(finish) not in {"whole", "unknown"}
        return build_choice(None, finish, error=None if is_explained else "a choice without a message")
    text: Any = message.content
    refusal = message.refusal or ""
    if text is not None and not isinstance(text, str):
        parts = [
            _Part("text", part) if isinstance(part, str) else part
            for part in msgspec.structs.astuple(text)
            if isinstance(part, str | _Part)
        ]
        refusal += "".join(part.refusal or "" for part in parts)
        texts = [part.text for part in parts if (part.type or "") in ANSWER_PARTS and part.text is not None]
        text = "".join(texts) if texts else None
    if refusal:
        # The model's refusal is in a field of its own; what it wrote before is no answer.
        return Choice(redact_completion(text if text and text.strip() else refusal, key), "refusal")
    thoughts = _read_reasoning(message, key)
    return build_choice(None if text is None else redact_completion(text, key), finish, reasoning=thoughts)


def _read_reasoning(message: _Message, key: str) -> str | None:
    """Return the thoughts that a message has in a field of their own; None where it has none that are a text."""
    for raw in (message.reasoning_content, message.reasoning):
        if raw is not _ABSENT and bytes(raw).startswith(b'"') and (thoughts := msgspec.json.decode(raw, type=str)):
            return redact_completion(thoughts, key)
    return None


def decode_usage(raw: msgspec.Raw, decode: Callable[[msgspec.Raw], Usage | None]) -> Usage | None:
    """Return token counts, with None for a value that is not a count; None for all if they cannot be decoded.

    The generations of a reply are kept even if its usage cannot be read.
    """
    try:
        usage = decode(raw)
    except msgspec.MsgspecError:
        return None
    if usage is None:
        return None
    counts = msgspec.structs.astuple(usage)
    return type(usage)(*[count if count is not None and 0 <= count < 2**53 else None for count in counts])


def drop_uncounted(
    prompt_tokens: int | None, completion_tokens: int | None, choices: Iterable[Choice]
) -> tuple[int | None, int | None]:
    """Return the token counts of a reply, with None for a 0 that stands for tokens which nobody counted.

    A prompt has a token at least, and so has a text: some servers and proxies send 0 for both.

    >>> drop_uncounted(0, 0, [Choice("42")]), drop_uncounted(9, 0, [Choice("")])
    ((None, None), (9, 0))
    """
    is_counted = completion_tokens or not any(choice.text for choice in choices)
    return prompt_tokens or None, completion_tokens if is_counted else None


def decode_body(body: bytes | bytearray, decode: Callable[[bytes | bytearray], T], key: str) -> T:
    """Decode a body; raise EndpointError if it is not JSON or does not have the expected shape."""
    try:
        return decode(body)
    except msgspec.ValidationError:
        why = "is not of the expected shape"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        why = "is not whole JSON"
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            # A generation is kept even if it contains an incomplete character, in bytes or as an escape, and if the
            # body begins with a byte order mark or has NaN among its log-probabilities.
            if len(body) <= LARGEST_REPAIRED:
                text = body.decode("utf-8-sig", "replace").encode()
                text = HALF_CHARACTER.sub(rb"\1\\ufffd", text)
                return decode(NOT_A_NUMBER.sub(lambda match: match[1] or b"null", text))
        head = body[:100].lstrip()
        if head.startswith(b"<"):
            why = "is a page of HTML or XML, not JSON (is the base_url right, and does no proxy ask for a login?)"
    if not body:
        raise EndpointError("the reply is empty", reason="malformed", status=200)
    start = body[:1000].decode("utf-8", "replace").replace("\\/", "/")
    excerpt = shorten(ESCAPE.sub(lambda match: chr(int(match[1], 16)), start), key, 80)
    raise EndpointError(f"the reply {why}: {excerpt!r}", reason="malformed", status=200)


#: Headers with limits per minute: for Anthropic its documentation says so, for the others their names say so.
PER_MINUTE = {
    "requests": ("anthropic-ratelimit-requests-limit", "x-ratelimit-limit-req-minute"),
    "tokens": ("anthropic-ratelimit-tokens-limit", "x-ratelimit-limit-tokens-minute"),
}
#: Ranges of periods in seconds that are taken as a minute, for limits that refill steadily and for clock minutes.
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
    # A cache sends the age of its responses; a proxy without a cache sends an age of 0.
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
    """Read the rate limits of one endpoint from headers; an unchanged header is not parsed again.

    Examples
    --------
    >>> RateLimitHeaders().read({"anthropic-ratelimit-requests-limit": "50"})
    RateLimits(requests=50.0, tokens=None)
    """

    def __init__(self) -> None:
        self._raw: dict[str, str] = {}
        self._limits = RateLimits()

    def read(self, headers: Mapping[str, str]) -> RateLimits | None:
        """Return the limits per minute that are known after this response, or None while none is known.

        The same object is returned until a limit changes.
        """
        requests, tokens = self._read_limit("requests", headers), self._read_limit("tokens", headers)
        if requests != self._limits.requests or tokens != self._limits.tokens:
            self._limits = RateLimits(requests, tokens)
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
        """Return the limit in a header, or the previous limit if the header cannot be read."""
        limit = _parse_count(raw)
        if not limit:
            return previous
        self._raw[kind] = raw
        return float(limit)


def _is_minute(raw: str, remaining: str | None, reset: str | None) -> bool:
    """Return whether a limit is per minute, because vendors use one header name for minutes and for days.

    Most limits refill steadily, and the reset header is the time until they are full: reset = period x used / limit,
    from which the period follows. Other reset headers contain the rest of a clock minute.
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
