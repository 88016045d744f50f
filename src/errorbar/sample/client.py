"""One request to one endpoint that speaks the chat completions protocol, and what came back."""

from __future__ import annotations

import json
import time
import uuid
from typing import TYPE_CHECKING

import msgspec

from errorbar.errors import EndpointError
from errorbar.sample.failures import refusal, shorten, unreachable
from errorbar.sample.model import Choice, Reply, Request, Settings

if TYPE_CHECKING:
    import aiohttp

__all__ = ["Endpoint", "time_allowed"]

#: Bytes of a reply that are read at most, in all and for each generation asked for.
LARGEST, LARGEST_EACH = 64 << 20, 4 << 20
#: Bytes of an error's text that are read.
LARGEST_ERROR = 64 << 10
#: Assumed where the experiment sets no max_tokens.
TOKENS = 4096


def time_allowed(settings: Settings) -> float:
    """Seconds a request may take: 60 and a tenth for each token that may come, at most 30 minutes.

    >>> time_allowed(Settings(max_tokens=1000))
    160.0
    """
    given = settings.max_tokens or settings.extra.get("max_completion_tokens")
    tokens = given if isinstance(given, int) and given > 0 else TOKENS
    return min(60 + tokens / 10, 1800.0)


class Endpoint:
    """A model behind HTTP: `POST {base_url}/chat/completions`. One request, no retries.

    Parameters
    ----------
    base_url
        Without the path of the call, such as `http://127.0.0.1:8000/v1`.
    name
        The model's name as the endpoint knows it.
    key
        Sent as a bearer token when it is not empty; never shown, and blanked out of all that comes back.
    timeout
        Seconds for a whole request instead of `time_allowed`.
    connect_timeout
        Seconds to get a connection.
    """

    def __init__(
        self, base_url: str, name: str, *, key: str = "", timeout: float | None = None, connect_timeout: float = 10
    ) -> None:
        self.base_url, self.name = base_url.rstrip("/"), name
        self._key, self._timeout, self._connect_timeout = key, timeout, connect_timeout
        self._session: aiohttp.ClientSession | None = None

    def __repr__(self) -> str:
        return f"Endpoint({self.base_url!r}, {self.name!r})"

    async def generate(self, request: Request) -> Reply:
        """Ask for `len(request.generations)` generations.

        Raises
        ------
        EndpointError
            When no usable reply came, `reason` says why; `FatalEndpointError` when no other request can do better.
        """
        import aiohttp

        session = self._session or self._open()
        n = len(request.generations)
        seconds = self._timeout or time_allowed(request.settings)
        limit = min(LARGEST, LARGEST_EACH * n)
        started = time.perf_counter()
        try:
            async with session.post(
                f"{self.base_url}/chat/completions",
                data=self._body(request, n),
                timeout=aiohttp.ClientTimeout(total=seconds, sock_connect=self._connect_timeout),
                allow_redirects=False,
            ) as response:
                status, headers = response.status, response.headers
                body = await _read(response.content, limit if status == 200 else LARGEST_ERROR, cut=status != 200)
        except (aiohttp.ClientError, OSError, EOFError, ValueError) as e:
            # Unchained: the foreign error may hold the request's headers, and with them the key.
            raise unreachable(e, self.base_url, seconds, key=self._key) from None
        if self._key and self._key.encode() in body:
            body = body.replace(self._key.encode(), b"***")
        if status != 200:
            raise refusal(status, headers, body, n=n, key=self._key)
        return _reply(body, n, time.perf_counter() - started, self._key)

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        # Servers commonly close idle connections after 5 s; ours go first.
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=4)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        self._session = aiohttp.ClientSession(connector=connector, headers=headers, timeout=aiohttp.ClientTimeout())
        return self._session

    def _body(self, request: Request, n: int) -> bytes:
        settings = request.settings
        body: dict[str, object] = {"model": self.name, "messages": request.messages}
        for field in ("temperature", "top_p", "max_tokens", "stop"):
            value = getattr(settings, field)
            if value is not None:
                body[field] = value
        if n > 1:
            body["n"] = n
        return msgspec.json.encode(body | settings.extra)


async def _read(content: aiohttp.StreamReader, limit: int, *, cut: bool) -> bytes:
    """The body, at most `limit` bytes of it: a longer one is cut when `cut`, and refused otherwise."""
    pieces: list[bytes] = []
    size = 0
    while piece := await content.readany():
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            if cut:
                break
            raise EndpointError(f"the reply is longer than {limit:,} bytes", reason="too_large", status=200)
    return b"".join(pieces)[:limit]


class _Part(msgspec.Struct):
    text: str | None = None


class _Message(msgspec.Struct):
    content: str | list[_Part] | None = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Body(msgspec.Struct):
    choices: list[_Choice] | None = None
    id: str | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    usage: _Usage | None = None
    error: object = None


_decode = msgspec.json.Decoder(_Body).decode


def _reply(body: bytes, n: int, seconds: float, key: str) -> Reply:
    try:
        told = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        told = _decode_leniently(body, key)
    if told.choices is None and told.error is not None:
        # Some gateways answer 200 and put what went wrong into the body.
        raise refusal(200, {}, body, n=n, key=key)
    if told.choices is None:
        raise EndpointError("the reply has no choices field", reason="malformed", status=200)
    if not told.choices:
        raise EndpointError("the list of choices is empty", reason="empty", status=200)
    usage = told.usage or _Usage()
    return Reply(
        choices=tuple(Choice(_text(choice.message), choice.finish_reason) for choice in told.choices[:n]),
        request=told.id or uuid.uuid4().hex,
        model=told.model,
        fingerprint=told.system_fingerprint,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        seconds=seconds,
        surplus=max(0, len(told.choices) - n),
    )


def _text(message: _Message | None) -> str | None:
    content = message.content if message is not None else None
    if isinstance(content, list):
        return "".join(part.text or "" for part in content)
    return content


def _decode_leniently(body: bytes, key: str) -> _Body:
    """What msgspec refuses: a character cut in half. Anything else is malformed."""
    try:
        value = json.loads(body.decode("utf-8", "replace"))
        whole = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        return _decode(whole)
    except (ValueError, RecursionError) as e:
        why = "is not of the expected shape" if isinstance(e, msgspec.ValidationError) else "is not whole JSON"
        shown = shorten(body[:80].decode("utf-8", "replace"), key)
        raise EndpointError(f"the reply {why}: {shown!r}", reason="malformed", status=200) from None
