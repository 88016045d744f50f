"""One request to one endpoint that speaks the chat completions protocol, and what came back."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec

from howsure.errors import EndpointError, FatalEndpointError
from howsure.models.failures import LARGEST_ERROR, refusal, unreachable
from howsure.models.headers import ToldLimits, is_cached
from howsure.models.model import Limits, Reply, Request, Settings
from howsure.models.reply import reply_of

__all__ = ["Endpoint", "proxy_for", "time_allowed"]

if TYPE_CHECKING:
    import aiohttp


#: Bytes of a reply that are read at most, in all and for each generation asked for.
LARGEST, LARGEST_EACH = 64 << 20, 4 << 20
#: Bytes that every reply may hold at once; replies longer than that are read so many at a time.
SMALL, LARGE_AT_ONCE = 256 << 10, 4
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

    Other dialects are subclasses: they say where to, with which headers and which body, and read what comes back.

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
        self._url = f"{self.base_url}/chat/completions"
        self._key, self._timeout, self._connect_timeout = key, timeout, connect_timeout
        self._session: aiohttp.ClientSession | None = None
        self._limits = ToldLimits()
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r}, {self.name!r})"

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
        started = time.perf_counter()
        try:
            async with session.post(
                self._url,
                data=self._body(request, n),
                timeout=aiohttp.ClientTimeout(total=seconds, sock_connect=self._connect_timeout),
                allow_redirects=False,
            ) as response:
                status, headers = response.status, response.headers
                limits = self._limits.read(headers)
                if status != 200:
                    # So far that no key is cut in two.
                    body = self._without_key(await _start(response.content, LARGEST_ERROR + len(self._key)))
                    raise self._refusal(status, headers, body[:LARGEST_ERROR], n)
                return await self._reply(response, n, started, limits)
        except EndpointError as e:
            failure = e.with_traceback(None)
        except (aiohttp.ClientError, OSError, EOFError, ValueError) as e:
            failure = unreachable(e, self.base_url, seconds, key=self._key)
        # Raised here, so that it drags along no frame with a body in it, nor the request's headers with the key.
        raise failure

    async def _reply(self, response: aiohttp.ClientResponse, n: int, started: float, limits: Limits | None) -> Reply:
        """Read a 200 to its end and decode it; of long ones only a few are held in memory at a time."""
        limit = min(LARGEST, LARGEST_EACH * n)
        body = await _start(response.content, SMALL)
        if len(body) < SMALL:
            return self._decode(body, response, n, started, limits)
        async with self._large:
            body = await _start(response.content, limit + 1, body)
            if len(body) > limit:
                raise EndpointError(f"the reply is longer than {limit:,} bytes", reason="too_large", status=200)
            return self._decode(body, response, n, started, limits)

    def _decode(
        self, body: bytes | bytearray, response: aiohttp.ClientResponse, n: int, started: float, limits: Limits | None
    ) -> Reply:
        seconds, cached = time.perf_counter() - started, is_cached(response.headers)
        reply = self._read(self._without_key(body), n, key=self._key)
        return msgspec.structs.replace(reply, seconds=seconds, cached=cached, limits=limits)

    def _without_key(self, body: bytes | bytearray) -> bytes | bytearray:
        key = self._key.encode()
        return body.replace(key, b"***") if key and key in body else body

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        # Not trust_env: it would look into ~/.netrc and the environment before every request.
        proxy = proxy_for(self.base_url)
        # Servers commonly close idle connections after 5 s; ours go first.
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=4)
        headers = {"Content-Type": "application/json", "Accept": "application/json"} | self._headers()
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers=headers,
            timeout=aiohttp.ClientTimeout(),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=proxy,
        )
        return self._session

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

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

    _read = staticmethod(reply_of)

    def _refusal(self, status: int, headers: Mapping[str, str], body: bytes | bytearray, n: int) -> EndpointError:
        return refusal(status, headers, body, n=n, key=self._key)


async def _start(content: aiohttp.StreamReader, limit: int, begun: bytes | bytearray = b"") -> bytes | bytearray:
    """The body after what was `begun`: at least `limit` bytes of it in all, fewer only where it ends."""
    whole = bytearray(begun)
    # Not read(size): it would unpack so many bytes at once, and hold them twice.
    while len(whole) < limit and (piece := await content.readany()):
        if not whole and content.at_eof():
            return piece
        whole += piece
    return whole


def proxy_for(base_url: str) -> str | None:
    """Its URL, perhaps with a user and a password in it, from `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`.

    This machine itself is never asked through one.

    Raises
    ------
    FatalEndpointError
        When it is of a kind that we do not speak.
    """
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    proxies = getproxies()
    address = proxies.get(parts.scheme) or proxies.get("all")
    if not address or _is_here(host) or proxy_bypass(host):
        return None
    address = address if "://" in address else f"http://{address}"
    proxy = urlsplit(address)
    if proxy.scheme not in {"http", "https"} or not proxy.hostname:
        raise FatalEndpointError(
            f"the environment names a {proxy.scheme} proxy for {base_url}; only HTTP proxies can be used",
            reason="connection",
        )
    return address


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
