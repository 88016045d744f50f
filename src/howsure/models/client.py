"""Send one request to an endpoint of the chat completions or of the text completions protocol, and parse its reply."""

from __future__ import annotations

import asyncio
import io
import ipaddress
import math
import select
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec

from howsure.errors import EndpointError, FatalEndpointError
from howsure.models.failures import LARGEST_ERROR, build_connection_error, build_http_error
from howsure.models.model import RateLimits, Reply, Request, Settings
from howsure.models.reply import RateLimitHeaders, is_cached, parse_reply
from howsure.safe_text import is_secret, mask_address

if TYPE_CHECKING:
    import aiohttp


#: Largest number of bytes of a reply: a constant, and an amount for each requested generation.
LARGEST, LARGEST_EACH = 64 << 20, 4 << 20
#: Any number of replies up to this size in bytes are read at a time, but only so many longer replies.
SMALL, LARGE_AT_ONCE = 256 << 10, 4
#: A body of more bytes is sent in pieces.
LARGE_BODY = 1 << 20
#: Fields of the body, besides max_tokens, that limit the tokens of a completion at some endpoint.
MAX_TOKENS_NAMES = (
    *("max_completion_tokens", "max_output_tokens", "max_new_tokens", "maxOutputTokens", "num_predict", "n_predict"),
    *("max_tokens",),
)
#: Objects in the body in which endpoints or their routers expect such fields too.
SETTINGS_OBJECTS = ("generationConfig", "generation_config", "options", "parameters", "sampling_params", "extra_body")
#: A limit of more tokens than this is none.
MOST_TOKENS = 1e12
#: The longest timeout in seconds.
LONGEST_TIMEOUT = 1800.0
#: After a timeout more time is allowed if no reply has come yet, or if one took this share of the time.
SLOW_SHARE = 0.25
#: What the message of a timeout says if it did.
TIMEOUT_LENGTHENED = "later requests may take"
#: Tokens of a completion that are assumed if the experiment sets no max_tokens.
ASSUMED_TOKENS = 4096


def compute_timeout(settings: Settings) -> float:
    """Return the seconds that a request may take: 60 and a tenth for each possible token, at most 30 minutes.

    >>> compute_timeout(Settings(max_tokens=1000))
    160.0
    """
    return min(60 + (find_max_tokens(settings) or ASSUMED_TOKENS) / 10, LONGEST_TIMEOUT)


def find_max_tokens(settings: Settings) -> int | None:
    """Return the largest number of tokens of a completion, or None if nothing limits it.

    Where limits contradict each other, it is the largest of them. A limit that is no number above 0, such as the -1
    by which some servers lift it, limits nothing; null is no limit of its own.

    >>> find_max_tokens(Settings(max_tokens=10, extra={"max_completion_tokens": 500}))
    500
    >>> find_max_tokens(Settings(max_tokens=10, extra={"n_predict": -1}))
    """
    limits: list[float | None] = [settings.max_tokens]
    for fields in list_body_fields(settings.extra):
        limits += [_read_limit(fields[name]) for name in MAX_TOKENS_NAMES if fields.get(name) is not None]
    stated = [limit for limit in limits if limit is not None]
    return None if math.inf in stated or not stated else int(max(stated))


def list_body_fields(extra: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return the fields of `extra`, and those of each object in it that holds settings of generation."""
    nested = [value for name in SETTINGS_OBJECTS if isinstance(value := extra.get(name), dict)]
    return [extra, *nested]


def _read_limit(value: object) -> float:
    """Return a limit of tokens as an endpoint may read it; infinity if it limits nothing."""
    try:
        limit = float(value) if isinstance(value, (int, float, str)) else math.inf
    except ValueError:
        return math.inf
    return limit if 0 < limit < MOST_TOKENS else math.inf


def build_chat_body(model: str, request: Request) -> dict[str, object]:
    """Return the body of a chat completion request; settings that are None are not sent."""
    body: dict[str, object] = {"model": model, "messages": request.messages}
    for field in ("temperature", "top_p", "max_tokens", "stop"):
        value = getattr(request.settings, field)
        if value is not None:
            body[field] = value
    if len(request.generations) > 1:
        body["n"] = len(request.generations)
    return body | request.settings.extra


def build_text_body(model: str, request: Request) -> dict[str, object]:
    """Return the body of a text completion request: the contents of the messages as one text, without roles.

    >>> request = Request("b", "q", "v", [{"role": "user", "content": "1 + 1 ="}], (1,), Settings(max_tokens=8))
    >>> build_text_body("m", request)
    {'model': 'm', 'max_tokens': 8, 'prompt': '1 + 1 ='}
    """
    body = build_chat_body(model, request)
    del body["messages"]
    return body | {"prompt": "\n\n".join(message["content"] for message in request.messages)}


class Endpoint:
    """Call a model over HTTP: `POST {base_url}/chat/completions`. Requests are not retried.

    Other dialects are subclasses: they override the URL, the headers, the body, and the parsing of replies and errors.

    Parameters
    ----------
    base_url
        Address of the API without the path of the call, such as `http://127.0.0.1:8000/v1`.
    name
        The model's name as the endpoint knows it.
    key
        Sent as a bearer token when it is not empty; never shown, and redacted from all responses.
    timeout
        Seconds for a whole request instead of `compute_timeout`.
    connect_timeout
        Seconds to get a connection.

    Examples
    --------
    >>> Endpoint("http://127.0.0.1:8000/v1/", "org/model", key="sk-1")  # the key is not shown
    Endpoint('http://127.0.0.1:8000/v1', 'org/model')
    """

    def __init__(
        self, base_url: str, name: str, *, key: str = "", timeout: float | None = None, connect_timeout: float = 10
    ) -> None:
        self.base_url, self.name = base_url.rstrip("/"), name
        self._url = self._build_url()
        self._key, self._timeout, self._connect_timeout = key, timeout, connect_timeout
        self._session: aiohttp.ClientSession | None = None
        self._limits = RateLimitHeaders()
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        # The factor of the timeout, the longest time that a reply took, and the longest timeout that was exceeded.
        self._timeout_factor, self._longest, self._timed_out = 1, 0.0, 0.0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({mask_address(self.base_url)!r}, {self.name!r})"

    async def generate(self, request: Request) -> Reply:
        """Request `len(request.generations)` generations.

        Raises
        ------
        EndpointError
            When there is no usable reply; `reason` says why. It is a `FatalEndpointError` if no request can succeed.
        """
        import aiohttp

        n = len(request.generations)
        seconds = self._timeout or min(self._timeout_factor * compute_timeout(request.settings), LONGEST_TIMEOUT)
        started = time.perf_counter()
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=self._connect_timeout)
        try:
            if self._session is None:
                self._session = self._open_session()
            body = self._encode_body(request)
            data = io.BytesIO(body) if len(body) > LARGE_BODY else body
            async with self._session.post(self._url, data=data, timeout=timeout, allow_redirects=False) as response:
                return await self._read_reply(response, n, started)
        except EndpointError as e:
            failure = e.with_traceback(None)
        except (aiohttp.ClientError, OSError, EOFError, ValueError) as e:
            failure = build_connection_error(e, self.base_url, seconds, key=self._key)
            if failure.reason == "timeout" and self._allow_more_time(seconds):
                text = f"{failure}; {TIMEOUT_LENGTHENED} {min(2 * seconds, LONGEST_TIMEOUT):g} s"
                failure = EndpointError(text, reason="timeout")
        # Raise it here, so that its traceback holds neither a body nor the request's headers with the key.
        raise failure

    def _allow_more_time(self, seconds: float) -> bool:
        """Double the timeout after a request that had so many seconds, if the endpoint is slow and not only silent.

        Of many requests that time out together only the first one counts. A timeout that the user has set stays.
        """
        is_slow = not self._longest or self._longest >= SLOW_SHARE * seconds
        if self._timeout is not None or not is_slow or seconds >= LONGEST_TIMEOUT or seconds <= self._timed_out:
            return False
        self._timed_out = seconds
        self._timeout_factor *= 2
        return True

    async def _read_reply(self, response: aiohttp.ClientResponse, n: int, started: float) -> Reply:
        """Read and parse a response; only a few long ones are held in memory at a time."""
        limits = self._limits.read(response.headers)
        body = await read_start(response.content, SMALL)
        if not 200 <= response.status < 300:
            # Read more bytes, as many as the key has, so that a key at the end is not cut and is redacted.
            body = self._redact(body[: LARGEST_ERROR + len(self._key)])
            raise self._build_error(response.status, response.headers, body[:LARGEST_ERROR], n)
        if response.content.at_eof():
            return self._parse(response.headers, body, n, started, limits)
        limit = min(LARGEST, LARGEST_EACH * n)
        async with self._large:
            body = await read_start(response.content, limit + 1, body)
            if len(body) > limit:
                raise EndpointError(f"the reply is longer than {limit:,} bytes", reason="too_large", status=200)
            return self._parse(response.headers, body, n, started, limits)

    def _parse(
        self, headers: Mapping[str, str], body: bytes | bytearray, n: int, started: float, limits: RateLimits | None
    ) -> Reply:
        """Return the reply, with the limits and the cache status that its headers report."""
        seconds, cached = time.perf_counter() - started, is_cached(headers)
        self._longest = max(self._longest, seconds)
        reply = self._parse_body(body, n, key=self._key)  # it redacts the key in each decoded text
        return msgspec.structs.replace(reply, seconds=seconds, cached=cached, limits=limits)

    def _redact(self, body: bytes | bytearray) -> bytes | bytearray:
        """Return the body of an error without the key."""
        key = self._key.encode()
        return body.replace(key, b"***") if is_secret(self._key) and key in body else body

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open_session(self) -> aiohttp.ClientSession:
        """Return the connections to the host, which all requests share."""
        import aiohttp

        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "howsure"}
        return aiohttp.ClientSession(
            connector=_build_connector(),
            headers=headers | self._build_headers(),
            timeout=aiohttp.ClientTimeout(),
            cookie_jar=aiohttp.DummyCookieJar(),
            # trust_env is not used, because it reads ~/.netrc and the environment before every request.
            proxy=find_proxy(self.base_url),
        )

    def _build_url(self) -> str:
        """Return the URL of the call."""
        return f"{self.base_url}/chat/completions"

    def _build_headers(self) -> dict[str, str]:
        """Return the headers that carry the key."""
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    def _encode_body(self, request: Request) -> bytes:
        """Return the JSON body of a request."""
        return msgspec.json.encode(build_chat_body(self.name, request))

    _parse_body = staticmethod(parse_reply)

    def _build_error(self, status: int, headers: Mapping[str, str], body: bytes | bytearray, n: int) -> EndpointError:
        """Return the error of a response with another status than 200."""
        return build_http_error(status, headers, body, n=n, key=self._key)


class TextEndpoint(Endpoint):
    """Call a model over HTTP: `POST {base_url}/completions`, for base models and others without a chat template."""

    def _build_url(self) -> str:
        """Return the URL of the call."""
        return f"{self.base_url}/completions"

    def _encode_body(self, request: Request) -> bytes:
        """Return the JSON body of a request."""
        return msgspec.json.encode(build_text_body(self.name, request))


async def read_start(content: aiohttp.StreamReader, limit: int, start: bytes | bytearray = b"") -> bytes | bytearray:
    """Return `start` and the following bytes: at least `limit` bytes in total, unless the body ends before."""
    body = bytearray(start)
    # read(size) is not used, because it would decompress all these bytes at once and hold them twice.
    while len(body) < limit and (chunk := await content.readany()):
        if not body and content.at_eof():
            return chunk
        body += chunk
    return body


def _build_connector() -> aiohttp.TCPConnector:
    """Return connections that are used again only where nothing has come since the reply, not even their end.

    Bytes that came later would be taken for the reply to the next request, and a request is never sent twice.
    """
    import aiohttp

    class Connector(aiohttp.TCPConnector):
        async def _get(self, key: Any, traces: Any) -> Any:
            while (connection := await super()._get(key, traces)) is not None:
                transport, protocol = connection.transport, connection.protocol
                assert transport is not None
                assert protocol is not None
                poll = select.poll()
                poll.register(transport.get_extra_info("socket"), select.POLLIN)
                # With TLS, what waits there may be a new session ticket.
                if not (protocol.should_close or (not key.is_ssl and poll.poll(0))):
                    return connection
                connection.close()
            return None

    # Servers commonly close idle connections after 5 s, so the client closes them earlier.
    return Connector(limit=0, keepalive_timeout=4)


def find_proxy(base_url: str) -> str | None:
    """Return the URL of the proxy for an address, or None.

    The variables `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` decide.
    The URL may contain a user and a password. A loopback address never has a proxy.

    Raises
    ------
    FatalEndpointError
        When the environment names a proxy that is not an HTTP proxy.
    """
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    proxies = getproxies()
    address = proxies.get(parts.scheme) or proxies.get("all")
    if not address or _is_loopback(host) or proxy_bypass(host):
        return None
    address = address if "://" in address else f"http://{address}"
    proxy = urlsplit(address)
    if proxy.scheme not in {"http", "https"} or not proxy.hostname:
        raise FatalEndpointError(
            f"the environment names a {proxy.scheme} proxy for {mask_address(base_url)}; only HTTP proxies can be used",
            reason="connection",
        )
    return address


def _is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
