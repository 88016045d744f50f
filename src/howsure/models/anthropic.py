"""Call models over Anthropic's Messages API; `extra` may hold any field of its body.

This takes a tenth of the CPU time of the vendor's SDK.

Source: the vendor's API reference of 2026 and the types of its SDK 0.125.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from howsure.errors import EndpointError, FatalEndpointError
from howsure.models.client import Endpoint
from howsure.models.model import Reply, Request
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
)
from howsure.safe_text import redact_completion

BASE_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
#: The API requires max_tokens in every request; this value is sent if the experiment sets none.
DEFAULT_MAX_TOKENS = 8192
#: Largest number of blocks in one reply; a reply with more counts as malformed.
BLOCKS = 256
REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
#: Texts of a response with status 400 that concerns the account, so that no other request can succeed.
ABOUT_MONEY = ("credit balance", "api usage limits")


class _Block(msgspec.Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None


if TYPE_CHECKING:
    _Blocks = msgspec.Struct
else:
    _Blocks = build_bounded_list(_Block, BLOCKS, strict=True)


class _Message(msgspec.Struct):
    content: _Blocks | None = None
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


class AnthropicEndpoint(Endpoint):
    """Call a model at `POST {base_url}/v1/messages`. The parameters are those of `Endpoint`.

    The API has no `n`: a request for several generations raises an error, and nothing is sent. `base_url` may end in
    `/v1`.

    Examples
    --------
    >>> AnthropicEndpoint("https://api.anthropic.com", "claude-3-5-haiku-latest", key="sk-1")  # the key is not shown
    AnthropicEndpoint('https://api.anthropic.com', 'claude-3-5-haiku-latest')
    """

    def _build_url(self) -> str:
        return f"{self.base_url.removesuffix('/v1')}/v1/messages"

    async def generate(self, request: Request) -> Reply:
        """Request one generation. See `Endpoint.generate`."""
        if len(request.generations) > 1:
            raise EndpointError("the Messages API has no n", reason="n_rejected", most=1)
        return await super().generate(request)

    def _build_headers(self) -> dict[str, str]:
        return {"anthropic-version": VERSION} | ({"x-api-key": self._key} if self._key else {})

    def _encode_body(self, request: Request) -> bytes:
        """Return the JSON body of a request."""
        settings, messages = request.settings, request.messages
        body: dict[str, object] = {
            "model": self.name,
            "max_tokens": settings.max_tokens or DEFAULT_MAX_TOKENS,
            "messages": [message for message in messages if message["role"] != "system"],
        }
        if system := "\n\n".join(message["content"] for message in messages if message["role"] == "system"):
            body["system"] = system
        settings_sent = {"temperature": settings.temperature, "top_p": settings.top_p, "stop_sequences": settings.stop}
        body |= {field: value for field, value in settings_sent.items() if value is not None}
        return msgspec.json.encode(body | settings.extra)

    def _build_error(self, status: int, headers: Mapping[str, str], body: bytes | bytearray, n: int) -> EndpointError:
        error = super()._build_error(status, headers, body, n)
        if status == 400 and any(words in str(error).lower() for words in ABOUT_MONEY):
            return FatalEndpointError(str(error), reason="quota", status=status)
        return error

    @staticmethod
    def _parse_body(body: bytes | bytearray, n: int, *, key: str = "") -> Reply:
        message = decode_body(body, _decode, key)
        content: Any = message.content
        if error := find_error_beside(message.error):
            raise build_error_in_body(error, n, key)
        if content is None:
            raise EndpointError("the reply has no content field", reason="malformed", status=200)
        # Other blocks are calls of tools. If there is no text block, the text is None.
        blocks = list_items(content, _Block)
        texts = [block.text for block in blocks if block.type == "text" and block.text is not None]
        thoughts = redact_completion("".join(block.thinking or "" for block in blocks), key)
        reason = None if message.stop_reason is None else REASONS.get(message.stop_reason, message.stop_reason)
        text = redact_completion("".join(texts), key) if texts else None
        usage = decode_usage(message.usage, _decode_usage) or _Usage()
        # Tokens that a cache wrote or read are reported separately; tokens of thoughts are included in the output.
        cache = (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
        choice = build_choice(text, clean_name(reason, key), reasoning=thoughts or None)
        sent = None if usage.input_tokens is None else usage.input_tokens + cache
        prompt_tokens, completion_tokens = drop_uncounted(sent, usage.output_tokens, [choice])
        return Reply(
            choices=(choice,),
            request=clean_id(message.id, key),
            model=clean_name(message.model, key),
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
        )
