"""Call models over Google's Gemini API, with several candidates per request if the model supports them.

Source: the vendor's API reference of 2026 and the types of its SDK 3.4.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from howsure.errors import EndpointError, FatalEndpointError
from howsure.models.client import Endpoint
from howsure.models.model import Choice, Reply, Request
from howsure.models.reply import (
    build_bounded_list,
    build_choice,
    build_error_in_body,
    clean_id,
    clean_name,
    decode_body,
    decode_usage,
    drop_uncounted,
    find_error_beside,
    list_items,
    parse_duration,
)
from howsure.safe_text import redact_completion

BASE_URL = "https://generativelanguage.googleapis.com"
#: Largest number of candidates per request, for models 2.x; later models reject more than one, and the sampler learns
#: this limit.
MAX_CANDIDATES = 8
#: Largest number of parts of one candidate; a candidate with more counts as malformed.
PARTS = 256
REASONS = {"STOP": "stop", "MAX_TOKENS": "length"} | dict.fromkeys(
    ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"], "content_filter"
)
VERSIONED = re.compile(r"/v\d\w*$")
#: Part of the name of a quota for which waiting does not help.
PER_DAY = "PerDay"


class _Part(msgspec.Struct):
    text: str | None = None
    thought: bool | None = None


if TYPE_CHECKING:
    _Parts = msgspec.Struct
else:
    _Parts = build_bounded_list(_Part, PARTS, strict=True)


class _Content(msgspec.Struct):
    parts: _Parts | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None


# The list may have four items for each generation that may be requested, as in `parse_reply`.
if TYPE_CHECKING:
    _Candidates = msgspec.Struct
else:
    _Candidates = build_bounded_list(_Candidate, 4 * MAX_CANDIDATES)


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class _Body(msgspec.Struct, rename="camel"):
    candidates: _Candidates | None = None
    prompt_feedback: _Feedback | None = None
    response_id: str | None = None
    model_version: str | None = None
    usage_metadata: msgspec.Raw = msgspec.Raw(b"null")
    error: msgspec.Raw = msgspec.Raw(b"null")


class _Usage(msgspec.Struct, rename="camel"):
    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None


class _Violation(msgspec.Struct, rename="camel"):
    quota_id: str = ""


class _Detail(msgspec.Struct, rename="camel"):
    reason: str = ""
    retry_delay: str | None = None
    violations: list[_Violation] = []


class _Error(msgspec.Struct):
    details: list[_Detail] = []


class _Refusal(msgspec.Struct):
    error: _Error


_decode = msgspec.json.Decoder(_Body).decode
_decode_usage = msgspec.json.Decoder(_Usage | None).decode
_decode_refusal = msgspec.json.Decoder(_Refusal).decode


class GeminiEndpoint(Endpoint):
    """Call a model at `POST {base_url}/v1/models/{name}:generateContent`. The parameters are those of `Endpoint`.

    `extra` holds fields of the body; its `generationConfig` is added to the settings. A `base_url` may end in the
    version of the API, such as `/v1beta`.

    Examples
    --------
    >>> GeminiEndpoint("https://generativelanguage.googleapis.com", "gemini-2.0-flash", key="k-1")
    GeminiEndpoint('https://generativelanguage.googleapis.com', 'gemini-2.0-flash')
    """

    def _build_url(self) -> str:
        path = quote(self.name if "/" in self.name else f"models/{self.name}")
        version = "" if VERSIONED.search(self.base_url) else "/v1"
        return f"{self.base_url}{version}/{path}:generateContent"

    def _build_headers(self) -> dict[str, str]:
        return {"x-goog-api-key": self._key} if self._key else {}

    def _encode_body(self, request: Request) -> bytes:
        """Return the JSON body of a request."""
        n, settings, extra = len(request.generations), request.settings, dict(request.settings.extra)
        body: dict[str, object] = {
            "contents": [
                {"role": "model" if message["role"] == "assistant" else "user", "parts": [{"text": message["content"]}]}
                for message in request.messages
                if message["role"] != "system"
            ]
        }
        system = [{"text": message["content"]} for message in request.messages if message["role"] == "system"]
        if system:
            body["systemInstruction"] = {"parts": system}
        settings_sent = {
            "temperature": settings.temperature,
            "topP": settings.top_p,
            "maxOutputTokens": settings.max_tokens,
            "stopSequences": settings.stop,
            "candidateCount": n if n > 1 else None,
        }
        config = {field: value for field, value in settings_sent.items() if value is not None}
        extra_config = extra.pop("generationConfig", None)
        if isinstance(extra_config, dict):
            config |= extra_config
        return msgspec.json.encode(body | ({"generationConfig": config} if config else {}) | extra)

    def _build_error(self, status: int, headers: Mapping[str, str], body: bytes | bytearray, n: int) -> EndpointError:
        error = super()._build_error(status, headers, body, n)
        message = str(error)
        details: list[_Detail] = []
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            details = _decode_refusal(body).error.details
        if status == 400 and n > 1 and "candidate" in message.lower():
            return EndpointError(message, reason="n_rejected", status=status, most=error.most)
        if status == 400 and ("API key" in message or any(detail.reason == "API_KEY_INVALID" for detail in details)):
            return FatalEndpointError(message, reason="unauthorized", status=status)
        if status == 429 and any(
            PER_DAY in violation.quota_id for detail in details for violation in detail.violations
        ):
            return FatalEndpointError(message, reason="quota", status=status)
        waits = [wait for detail in details if (wait := parse_duration(detail.retry_delay)) is not None]
        if error.retry_after is None and waits:
            error.retry_after = max(waits)
        return error

    @staticmethod
    def _parse_body(body: bytes | bytearray, n: int, *, key: str = "") -> Reply:
        response = decode_body(body, _decode, key)
        choices = [_parse_choice(candidate, key) for candidate in list_items(response.candidates, _Candidate)]
        surplus = max(0, len(choices) - n)
        if not choices and response.prompt_feedback is not None and response.prompt_feedback.block_reason:
            # The prompt itself was blocked, so all its generations count as filtered.
            choices = [Choice(None, "content_filter")] * n
        if error := find_error_beside(response.error):
            raise build_error_in_body(error, n, key)
        if not choices:
            raise EndpointError("the reply has no candidates", reason="empty", status=200)
        usage = decode_usage(response.usage_metadata, _decode_usage) or _Usage()
        # The API omits a count of 0. Thoughts are counted and billed separately from the candidates.
        completion = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        received = None if usage.prompt_token_count is None else completion
        prompt_tokens, completion_tokens = drop_uncounted(usage.prompt_token_count, received, choices[:n])
        return Reply(
            choices=tuple(choices[:n]),
            request=clean_id(response.response_id, key),
            model=clean_name(response.model_version, key),
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            surplus=surplus,
        )


def _parse_choice(candidate: _Candidate, key: str) -> Choice:
    """Return one candidate, with the text of its parts that are not thoughts."""
    parts = list_items(candidate.content and candidate.content.parts, _Part)
    texts = [part.text for part in parts if not part.thought and part.text is not None]
    thoughts = redact_completion("".join(part.text or "" for part in parts if part.thought), key)
    reason = candidate.finish_reason
    return build_choice(
        redact_completion("".join(texts), key) if texts else None,
        clean_name(None if reason is None else REASONS.get(reason, reason.lower()), key),
        reasoning=thoughts or None,
    )
