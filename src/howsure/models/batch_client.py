"""Call a batch API in OpenAI's dialect: upload requests, create a batch, get its status, download its results."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import msgspec

from howsure.errors import EndpointError
from howsure.models.client import find_proxy, read_start
from howsure.models.failures import LARGEST_ERROR, build_connection_error, build_http_error, shorten
from howsure.safe_text import is_secret, is_unsayable

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")

#: Key of the run's token in the metadata of a batch; a batch whose id was never saved is found by the token.
METADATA_KEY = "howsure"
#: Largest number of seconds for a small call, and for a file of up to 200 MB.
CALL_SECONDS, TRANSFER_SECONDS = 60.0, 1800.0
#: Largest number of bytes of a small response, and of pages of 100 batches that are searched for a token.
LARGEST, MOST_PAGES = 4 << 20, 100
#: Bytes that a download reads at a time.
CHUNK = 256 << 10


class _RequestCounts(msgspec.Struct):
    total: int = 0
    completed: int = 0
    failed: int = 0


class _Problem(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class _Problems(msgspec.Struct):
    data: list[_Problem] = []


class BatchStatus(msgspec.Struct):
    """The state of a batch as the API reports it."""

    id: str
    status: str = ""
    output_file_id: str | None = None
    error_file_id: str | None = None
    request_counts: _RequestCounts | None = None
    errors: _Problems | None = None
    metadata: dict[str, object] | None = None


class _Page(msgspec.Struct):
    data: list[BatchStatus] = []
    has_more: bool = False


class _File(msgspec.Struct):
    id: str


class BatchClient:
    """Call the batch API of one endpoint. Calls are not retried; `EndpointError` says why a call failed.

    Parameters
    ----------
    base_url
        Address of the API without the path of a call, such as `http://127.0.0.1:8000/v1`.
    name
        The model's name as the endpoint knows it.
    key
        Sent as a bearer token when it is not empty; never shown, and redacted from all responses.

    Examples
    --------
    >>> BatchClient("http://127.0.0.1:8000/v1/", "org/model", key="sk-1")  # the key is not shown
    BatchClient('http://127.0.0.1:8000/v1', 'org/model')
    """

    def __init__(self, base_url: str, name: str, *, key: str = "") -> None:
        self.base_url, self.name, self._key = base_url.rstrip("/"), name, key
        self._session: aiohttp.ClientSession | None = None

    def __repr__(self) -> str:
        return f"BatchClient({self.base_url!r}, {self.name!r})"

    async def upload(self, path: Path) -> str:
        """Upload a file of requests in pieces, and return its id."""
        import aiohttp

        with path.open("rb") as file:
            form = aiohttp.FormData()
            form.add_field("purpose", "batch")
            form.add_field("file", file, filename="requests.jsonl", content_type="application/jsonl")
            return (await self._call("POST", "/files", _File, seconds=TRANSFER_SECONDS, data=form)).id

    async def create(self, file: str, token: str) -> BatchStatus:
        """Create a batch from an uploaded file; the requests in it are billed from now on."""
        body = {
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {METADATA_KEY: token},
        }
        return await self._call("POST", "/batches", BatchStatus, json=body)

    async def find(self, token: str) -> BatchStatus | None:
        """Return the batch that was created with this token, or None if there is none."""
        after = ""
        for _ in range(MOST_PAGES):
            page = await self._call("GET", f"/batches?limit=100{after}", _Page)
            for batch in page.data:
                if (batch.metadata or {}).get(METADATA_KEY) == token:
                    return batch
            if not page.has_more or not page.data:
                break
            after = f"&after={quote(page.data[-1].id, safe='')}"
        return None

    async def get_status(self, batch: str) -> BatchStatus:
        """Return the status of a batch."""
        return await self._call("GET", f"/batches/{quote(batch, safe='')}", BatchStatus)

    async def download_lines(self, file: str, *, longest: int) -> AsyncIterator[bytes]:
        """Yield the lines of a result file with the key redacted; a line over `longest` bytes is an error."""
        import aiohttp

        path = f"/files/{quote(file, safe='')}/content"
        timeout = aiohttp.ClientTimeout(total=TRANSFER_SECONDS, sock_connect=10, sock_read=CALL_SECONDS)
        try:
            async with self._open_session().get(
                self.base_url + path, timeout=timeout, allow_redirects=False
            ) as response:
                await self._check(response)
                rest = bytearray()
                async for chunk in response.content.iter_chunked(CHUNK):
                    rest += chunk
                    *lines, last = rest.split(b"\n") if b"\n" in chunk else (rest,)
                    rest = bytearray(last)
                    for line in lines:
                        yield self._redact_line(bytes(line))
                    if len(rest) > longest:
                        what = f"a line of the results is longer than {longest:,} bytes"
                        raise EndpointError(what, reason="too_large", status=200)
                if rest:
                    yield self._redact_line(bytes(rest))
        except (aiohttp.ClientError, OSError, EOFError, ValueError) as e:
            # Do not chain the original error: it may contain the request's headers, and with them the key.
            raise build_connection_error(e, self.base_url, TRANSFER_SECONDS, key=self._key) from None

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _call(self, method: str, path: str, kind: type[T], *, seconds: float = CALL_SECONDS, **content: Any) -> T:
        """Return the decoded response of one call; `content` goes to aiohttp (json or data)."""
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=10)
        url = self.base_url + path
        try:
            async with self._open_session().request(
                method, url, timeout=timeout, allow_redirects=False, **content
            ) as response:
                await self._check(response)
                body = self._redact(bytes(await read_start(response.content, LARGEST))[:LARGEST])
        except (aiohttp.ClientError, OSError, EOFError, ValueError) as e:
            raise build_connection_error(e, self.base_url, seconds, key=self._key) from None
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            start = shorten(body[:80].decode("utf-8", "replace"), self._key)
            raise EndpointError(f"not a reply of a batch API: {start!r}", reason="malformed", status=200) from None

    async def _check(self, response: aiohttp.ClientResponse) -> None:
        """Raise the error of a response whose status is not 200."""
        if response.status != 200:
            body = self._redact(bytes(await read_start(response.content, LARGEST_ERROR))[:LARGEST_ERROR])
            raise build_http_error(response.status, response.headers, body, n=1, key=self._key)

    def _redact(self, body: bytes) -> bytes:
        """Return a small response without the key."""
        return body.replace(self._key.encode(), b"***") if is_secret(self._key) else body

    def _redact_line(self, line: bytes) -> bytes:
        """Return a line with a completion without the key, unless a model may have said it."""
        return line.replace(self._key.encode(), b"***") if is_unsayable(self._key) else line

    def _open_session(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            jar = aiohttp.DummyCookieJar()
            self._session = aiohttp.ClientSession(headers=headers, cookie_jar=jar, proxy=find_proxy(self.base_url))
        return self._session
