"""The calls of a batch API in OpenAI's dialect: files up, a batch begun, looked at, its results down."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import msgspec

from howsure.errors import EndpointError
from howsure.models.client import proxy_for
from howsure.models.failures import LARGEST_ERROR, refusal, shorten, unreachable

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")

__all__ = ["MARK", "Batches", "Told"]

#: The key of a batch's metadata under which our token stands: by it a batch is found again whose id was never saved.
MARK = "howsure"
#: Seconds for a small call, and for a file of up to 200 MB.
CALL, TRANSFER = 60.0, 1800.0
#: Bytes of a small answer, and pages of 100 batches that are looked through for a token.
LARGEST, PAGES = 4 << 20, 100
PIECE = 256 << 10


class _Count(msgspec.Struct):
    total: int = 0
    completed: int = 0
    failed: int = 0


class _Problem(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class _Problems(msgspec.Struct):
    data: list[_Problem] = []


class Told(msgspec.Struct):
    """What the API says of a batch."""

    id: str
    status: str = ""
    output_file_id: str | None = None
    error_file_id: str | None = None
    request_counts: _Count | None = None
    errors: _Problems | None = None
    metadata: dict[str, object] | None = None


class _Page(msgspec.Struct):
    data: list[Told] = []
    has_more: bool = False


class _File(msgspec.Struct):
    id: str


class Batches:
    """The batch API of one endpoint. Single calls, no retries; `EndpointError` says why one failed.

    Parameters
    ----------
    base_url
        Such as `http://127.0.0.1:8000/v1`, without the path of a call.
    name
        The model's name as the endpoint knows it.
    key
        Sent as a bearer token when it is not empty; never shown, and blanked out of all that comes back.
    """

    def __init__(self, base_url: str, name: str, *, key: str = "") -> None:
        self.base_url, self.name, self._key = base_url.rstrip("/"), name, key
        self._session: aiohttp.ClientSession | None = None

    def __repr__(self) -> str:
        return f"Batches({self.base_url!r}, {self.name!r})"

    async def upload(self, path: Path) -> str:
        """Send a file of requests, in pieces; the id it got."""
        import aiohttp

        with path.open("rb") as file:
            form = aiohttp.FormData()
            form.add_field("purpose", "batch")
            form.add_field("file", file, filename="requests.jsonl", content_type="application/jsonl")
            return (await self._call("POST", "/files", _File, seconds=TRANSFER, data=form)).id

    async def create(self, file: str, token: str) -> Told:
        """Begin a batch over an uploaded file. A batch costs money from here on."""
        body = {
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {MARK: token},
        }
        return await self._call("POST", "/batches", Told, json=body)

    async def find(self, token: str) -> Told | None:
        """The batch that was begun with this token, or None when there is none."""
        after = ""
        for _ in range(PAGES):
            page = await self._call("GET", f"/batches?limit=100{after}", _Page)
            for told in page.data:
                if (told.metadata or {}).get(MARK) == token:
                    return told
            if not page.has_more or not page.data:
                break
            after = f"&after={quote(page.data[-1].id, safe='')}"
        return None

    async def look(self, batch: str) -> Told:
        """How a batch stands."""
        return await self._call("GET", f"/batches/{quote(batch, safe='')}", Told)

    async def lines(self, file: str, *, longest: int) -> AsyncIterator[bytes]:
        """The lines of a result file as they come, without the key; a line longer than `longest` bytes is an error."""
        import aiohttp

        path = f"/files/{quote(file, safe='')}/content"
        timeout = aiohttp.ClientTimeout(total=TRANSFER, sock_connect=10, sock_read=CALL)
        try:
            async with self._open().get(self.base_url + path, timeout=timeout, allow_redirects=False) as response:
                await self._check(response)
                rest = bytearray()
                async for piece in response.content.iter_chunked(PIECE):
                    rest += piece
                    *whole, last = rest.split(b"\n") if b"\n" in piece else (rest,)
                    rest = bytearray(last)
                    for line in whole:
                        yield self._blanked(bytes(line))
                    if len(rest) > longest:
                        what = f"a line of the results is longer than {longest:,} bytes"
                        raise EndpointError(what, reason="too_large", status=200)
                if rest:
                    yield self._blanked(bytes(rest))
        except (aiohttp.ClientError, OSError, EOFError, ValueError) as e:
            # Unchained: the foreign error may hold the request's headers, and with them the key.
            raise unreachable(e, self.base_url, TRANSFER, key=self._key) from None

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _call(self, method: str, path: str, kind: type[T], *, seconds: float = CALL, **sent: Any) -> T:
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=10)
        url = self.base_url + path
        try:
            async with self._open().request(method, url, timeout=timeout, allow_redirects=False, **sent) as response:
                await self._check(response)
                body = self._blanked(await _read(response.content, LARGEST))
        except (aiohttp.ClientError, OSError, EOFError, ValueError) as e:
            raise unreachable(e, self.base_url, seconds, key=self._key) from None
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            shown = shorten(body[:80].decode("utf-8", "replace"), self._key)
            raise EndpointError(f"not what a batch API answers: {shown!r}", reason="malformed", status=200) from None

    async def _check(self, response: aiohttp.ClientResponse) -> None:
        if response.status != 200:
            body = self._blanked(await _read(response.content, LARGEST_ERROR))
            raise refusal(response.status, response.headers, body, n=1, key=self._key)

    def _blanked(self, body: bytes) -> bytes:
        return body.replace(self._key.encode(), b"***") if self._key else body

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            jar = aiohttp.DummyCookieJar()
            self._session = aiohttp.ClientSession(headers=headers, cookie_jar=jar, proxy=proxy_for(self.base_url))
        return self._session


async def _read(content: aiohttp.StreamReader, most: int) -> bytes:
    """The body, cut at `most` bytes."""
    whole = bytearray()
    while len(whole) < most and (piece := await content.readany()):
        whole += piece
    return bytes(whole[:most])
