"""Anthropic's Messages API, natively: a tenth of the CPU that its SDK takes, and every field of its body as `extra`.

Source: the vendor's API reference of 2026 and the types of its SDK 0.125.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from howsure.errors import EndpointError, FatalEndpointError
from howsure.models.client import Endpoint
from howsure.models.failures import LARGEST_ERROR, refusal
from howsure.models.model import Choice, Reply, Request
from howsure.models.reply import blanked, counted, decoded, filled, ident, named, places

__all__ = ["BASE_URL", "TOKENS", "Anthropic"]

BASE_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
#: The API wants max_tokens in every request; this many where the experiment says nothing.
TOKENS = 8192
#: Blocks of one reply that are read; one with more is malformed rather than cut.
BLOCKS = 256
REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
#: A 400 with one of these is about the account, and no other request can do better.
ABOUT_MONEY = ("credit balance", "api usage limits")


class _Block(msgspec.Struct):
    type: str = ""
    text: str | None = None


_Blocks = places(_Block, BLOCKS, whole=True)


class _Message(msgspec.Struct):
    content: _Blocks | None = None  # type: ignore[valid-type]  # mypy cannot see that it is a class
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: msgspec.Raw = msgspec.Raw(b"null")
    error: msgspec.Raw = msgspec.Raw(b"null")


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


_decode = msgspec.json.Decoder(_Message).decode
_decode_usage = msgspec.json.Decoder(_Usage | None).decode


class Anthropic(Endpoint):
    """A model behind `POST {base_url}/v1/messages`; parameters are those of `Endpoint`.

    It has no `n`: a request for several generations is refused here, with nothing sent. `base_url` may end in `/v1`.
    """

    def __init__(self, base_url: str, name: str, **keys: Any) -> None:
        super().__init__(base_url, name, **keys)
        self._url = f"{self.base_url.removesuffix('/v1')}/v1/messages"

    async def generate(self, request: Request) -> Reply:
        """Ask for one generation. See `Endpoint.generate`."""
        if len(request.generations) > 1:
            raise EndpointError("the Messages API has no n", reason="n_rejected", most=1)
        return await super().generate(request)

    def _headers(self) -> dict[str, str]:
        return {"anthropic-version": VERSION} | ({"x-api-key": self._key} if self._key else {})

    def _body(self, request: Request, n: int) -> bytes:
        del n  # always 1
        settings, messages = request.settings, request.messages
        body: dict[str, object] = {
            "model": self.name,
            "max_tokens": settings.max_tokens or TOKENS,
            "messages": [message for message in messages if message["role"] != "system"],
        }
        if system := "\n\n".join(message["content"] for message in messages if message["role"] == "system"):
            body["system"] = system
        given = {"temperature": settings.temperature, "top_p": settings.top_p, "stop_sequences": settings.stop}
        body |= {field: value for field, value in given.items() if value is not None}
        return msgspec.json.encode(body | settings.extra)

    def _refusal(self, status: int, headers: Mapping[str, str], body: bytes | bytearray, n: int) -> EndpointError:
        error = super()._refusal(status, headers, body, n)
        if status == 400 and any(words in str(error).lower() for words in ABOUT_MONEY):
            return FatalEndpointError(str(error), reason="quota", status=status)
        return error

    @staticmethod
    def _read(body: bytes | bytearray, n: int, *, key: str = "") -> Reply:
        told = decoded(body, _decode, key)
        if told.content is None:
            if bytes(told.error) != b"null":
                raise refusal(200, {}, b'{"error":' + bytes(told.error)[:LARGEST_ERROR] + b"}", n=n, key=key)
            raise EndpointError("the reply has no content field", reason="malformed", status=200)
        # Others are thoughts and tools; what is not said is no answer.
        texts = [block.text for block in filled(told.content) if block.type == "text" and block.text is not None]
        reason = None if told.stop_reason is None else REASONS.get(told.stop_reason, told.stop_reason)
        text = blanked("".join(texts), key) if texts else None
        usage = counted(told.usage, _decode_usage) or _Usage()
        # Tokens that a cache wrote or read are counted beside the others; those of thoughts are in the output.
        cache = (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
        return Reply(
            choices=(Choice(text, named(reason, key)),),
            request=ident(told.id, key),
            model=named(told.model, key),
            prompt_tokens=None if usage.input_tokens is None else usage.input_tokens + cache,
            completion_tokens=usage.output_tokens,
        )
