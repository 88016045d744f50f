"""Call a batch API until each call succeeds, and find a batch again whose creation was not confirmed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from howsure.errors import EndpointError, FatalEndpointError, SamplingStoppedError
from howsure.models.batch_client import BatchClient, BatchStatus
from howsure.sample.model_job import ModelJob
from howsure.sample.retry import compute_wait, is_wait_too_long

__all__ = ["LASTING", "BatchCalls"]

T = TypeVar("T")
#: Number of attempts for one call, and the seconds after which the API lists a new batch.
ATTEMPTS, LISTED_AFTER = 64, 15.0
#: Reasons after which it is unknown whether a batch was created.
UNKNOWN_OUTCOME = ("connection", "timeout", "server", "malformed")
#: Reasons of failures that another attempt does not fix.
LASTING = ("bad_request", "too_large", "unauthorized", "not_found")


class BatchCalls:
    """Repeat calls of a batch API until they succeed; a wait raises `SamplingStoppedError` once `stop` was called.

    Parameters
    ----------
    client
        Makes the single calls.
    job
        The job whose `trouble` is set to the failure that caused the present wait.
    sleep, rng
        How to wait, and the source of the jitter.
    """

    def __init__(
        self,
        client: BatchClient,
        job: ModelJob,
        *,
        sleep: Callable[[float], Awaitable[None]],
        rng: np.random.Generator,
    ) -> None:
        self._client, self._job, self.sleep, self._rng = client, job, sleep, rng
        self._stop_event = asyncio.Event()

    @property
    def is_stopped(self) -> bool:
        """Return whether `stop` was called."""
        return self._stop_event.is_set()

    def stop(self) -> None:
        """End every wait."""
        self._stop_event.set()

    async def submit(self, path: Path, token: str) -> str:
        """Create a batch with the requests of a file and return its id."""
        uploaded = await self._retry(lambda: self._client.upload(path))
        return (await self._retry(lambda: self._create(uploaded, token))).id

    async def find(self, token: str) -> BatchStatus | None:
        """Return the batch that was created with this token; search twice, because the list may omit a new batch."""
        for wait in (0.0, LISTED_AFTER):
            await self.wait(wait)
            if (batch := await self._retry(lambda: self._client.find(token))) is not None:
                return batch
        return None

    async def get_status(self, batch: str) -> BatchStatus:
        """Return the status of a batch."""
        return await self._retry(lambda: self._client.get_status(batch))

    async def download_lines(self, file: str, take_line: Callable[[bytes], None], *, longest: int) -> None:
        """Call `take_line` with each line of a result file; after a failure all lines are passed again."""

        async def download() -> None:
            lines: AsyncIterator[bytes] = self._client.download_lines(file, longest=longest)
            async for line in lines:
                take_line(line)

        await self._retry(download)

    async def wait(self, seconds: float) -> None:
        """Wait this many seconds; raise `SamplingStoppedError` if `stop` is called before the end."""
        if seconds > 0 and not self.is_stopped:
            sleeping = asyncio.ensure_future(self.sleep(seconds))
            stopping = asyncio.ensure_future(self._stop_event.wait())
            try:
                await asyncio.wait({sleeping, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if sleeping.done():
                    sleeping.result()
            finally:
                sleeping.cancel()
                stopping.cancel()
        if self.is_stopped:
            raise SamplingStoppedError

    async def _create(self, file: str, token: str) -> BatchStatus:
        """Create a batch; if the outcome is unknown, search for the batch first: a second one would be billed too."""
        try:
            return await self._client.create(file, token)
        except EndpointError as error:
            if error.reason not in UNKNOWN_OUTCOME:
                raise
            await self.wait(LISTED_AFTER)
            if (batch := await self._retry(lambda: self._client.find(token))) is None:
                raise
            return batch

    async def _retry(self, call: Callable[[], Awaitable[T]]) -> T:
        """Repeat a call until it succeeds, or fails for a reason that another attempt does not fix."""
        for attempt in range(1, ATTEMPTS):
            try:
                return await call()
            except EndpointError as error:
                is_lasting = isinstance(error, FatalEndpointError) or error.reason in LASTING
                if is_lasting or is_wait_too_long(error):
                    raise
                self._job.trouble = f"{error.reason}: {error}"
                await self.wait(compute_wait(error, attempt, self._rng))
        return await call()
