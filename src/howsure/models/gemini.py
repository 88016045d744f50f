"""Google's Gemini API, natively: several candidates to a request, where the model has them.

Source: the vendor's API reference of 2026 and the types of its SDK 3.4.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from howsure.errors import EndpointError, FatalEndpointError
from howsure.models.client import Endpoint
from howsure.models.failures import LARGEST_ERROR, refusal
from howsure.models.headers import seconds as duration
from howsure.models.model import Choice, Reply, Request
from howsure.models.reply import blanked, counted, decoded, filled, ident, named, places

__all__ = ["BASE_URL", "CANDIDATES", "Gemini"]

BASE_URL = "https://generativelanguage.googleapis.com"
#: Candidates of a request at most, on 2.x; later models refuse more than one, and that is found out.
CANDIDATES = 8
#: Parts of one candidate that are read; one with more is malformed rather than cut.
PARTS = 256
REASONS = {"STOP": "stop", "MAX_TOKENS": "length"} | dict.fromkeys(
    ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"], "content_filter"
)
VERSIONED = re.compile(r"/v\d\w*$")
#: What stands in the name of a quota for which waiting does not help.
PER_DAY = "PerDay"


class _Part(msgspec.Struct):
    text: str | None = None
    thought: bool | None = None


_Parts = places(_Part, PARTS, whole=True)


class _Content(msgspec.Struct):
    parts: _Parts | None = None  # type: ignore[valid-type]  # mypy cannot see that it is a class


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None


# Four for each that may be asked for, as `reply_of` has them.
_Candidates = places(_Candidate, 4 * CANDIDATES)


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class _Body(msgspec.Struct, rename="camel"):
    candidates: _Candidates | None = None  # type: ignore[valid-type]  # mypy cannot see that it is a class
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


class Gemini(Endpoint):
    """A model behind `POST {base_url}/v1/models/{name}:generateContent`; parameters are those of `Endpoint`.

    `extra` is of the body; what it says of `generationConfig` is added to the settings. A `base_url` that ends in a
    version, such as `/v1beta`, is asked in that one.
    """

    def __init__(self, base_url: str, name: str, **keys: Any) -> None:
        super().__init__(base_url, name, **keys)
        path = quote(name if "/" in name else f"models/{name}")
        version = "" if VERSIONED.search(self.base_url) else "/v1"
        self._url = f"{self.base_url}{version}/{path}:generateContent"

    def _headers(self) -> dict[str, str]:
        return {"x-goog-api-key": self._key} if self._key else {}

    def _body(self, request: Request, n: int) -> bytes:
        settings, extra = request.settings, dict(request.settings.extra)
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
        given = {
            "temperature": settings.temperature,
            "topP": settings.top_p,
            "maxOutputTokens": settings.max_tokens,
            "stopSequences": settings.stop,
            "candidateCount": n if n > 1 else None,
        }
        config = {field: value for field, value in given.items() if value is not None}
        more = extra.pop("generationConfig", None)
        if isinstance(more, dict):
            config |= more
        return msgspec.json.encode(body | ({"generationConfig": config} if config else {}) | extra)

    def _refusal(self, status: int, headers: Mapping[str, str], body: bytes | bytearray, n: int) -> EndpointError:
        error = super()._refusal(status, headers, body, n)
        told = str(error)
        details: list[_Detail] = []
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            details = _decode_refusal(body).error.details
        if status == 400 and n > 1 and "candidate" in told.lower():
            return EndpointError(told, reason="n_rejected", status=status, most=error.most)
        if status == 400 and ("API key" in told or any(detail.reason == "API_KEY_INVALID" for detail in details)):
            return FatalEndpointError(told, reason="unauthorized", status=status)
        if status == 429 and any(PER_DAY in broken.quota_id for detail in details for broken in detail.violations):
            return FatalEndpointError(told, reason="quota", status=status)
        waits = [wait for detail in details if (wait := duration(detail.retry_delay)) is not None]
        if error.retry_after is None and waits:
            error.retry_after = max(waits)
        return error

    @staticmethod
    def _read(body: bytes | bytearray, n: int, *, key: str = "") -> Reply:
        told = decoded(body, _decode, key)
        choices = [_choice(candidate, key) for candidate in filled(told.candidates)]
        surplus = max(0, len(choices) - n)
        if not choices and told.prompt_feedback is not None and told.prompt_feedback.block_reason:
            # The prompt itself was blocked, so none of its generations will ever come.
            choices = [Choice(None, "content_filter")] * n
        if not choices:
            if bytes(told.error) != b"null":
                raise refusal(200, {}, b'{"error":' + bytes(told.error)[:LARGEST_ERROR] + b"}", n=n, key=key)
            raise EndpointError("the reply has no candidates", reason="empty", status=200)
        usage = counted(told.usage_metadata, _decode_usage) or _Usage()
        # A count of 0 is not written. Thoughts are counted, and billed, beside the candidates.
        completion = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        return Reply(
            choices=tuple(choices[:n]),
            request=ident(told.response_id, key),
            model=named(told.model_version, key),
            prompt_tokens=usage.prompt_token_count,
            completion_tokens=None if usage.prompt_token_count is None else completion,
            surplus=surplus,
        )


def _choice(candidate: _Candidate, key: str) -> Choice:
    parts = filled(candidate.content and candidate.content.parts)
    said = [part.text for part in parts if not part.thought and part.text is not None]
    reason = candidate.finish_reason
    return Choice(
        blanked("".join(said), key) if said else None,
        named(None if reason is None else REASONS.get(reason, reason.lower()), key),
    )
