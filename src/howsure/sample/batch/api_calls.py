"""The calls of a batch API, each made until it succeeds; and how a batch is found whose beginning went wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from howsure.errors import EndpointError, FatalEndpointError, SamplingStoppedError
from howsure.models.batch_client import Batches, Told
from howsure.sample.retry import LONGEST_WAIT, backoff

__all__ = ["LASTING", "Calls"]

T = TypeVar("T")
#: Calls for one answer of the API; seconds after which a batch that was begun is in the list of batches.
ATTEMPTS, SETTLE = 64, 15.0
#: After these nobody knows whether a batch was begun.
UNSURE = ("connection", "timeout", "server", "malformed")
LASTING = ("bad_request", "too_large", "unauthorized", "not_found")


class Calls:
    """A batch API that is asked patiently. `Over` is raised where it waits once `finish` was called.

    Parameters
    ----------
    tell
        Takes what goes wrong now.
    sleep, rng
        How it waits, and its jitter.
    """

    def __init__(
        self,
        model: Batches,
        *,
        tell: Callable[[str], None],
        sleep: Callable[[float], Awaitable[None]],
        rng: np.random.Generator,
    ) -> None:
        self._model, self._tell, self.sleep, self._rng = model, tell, sleep, rng
        self._over = asyncio.Event()

    @property
    def is_over(self) -> bool:
        """Whether `finish` was called."""
        return self._over.is_set()

    def finish(self) -> None:
        """Wait no longer."""
        self._over.set()

    async def submit(self, path: Path, token: str) -> str:
        """Begin a batch with the requests of a file; its id."""
        uploaded = await self._until_done(lambda: self._model.upload(path))
        return (await self._until_done(lambda: self._begin(uploaded, token))).id

    async def find(self, token: str) -> Told | None:
        """The batch that was begun with this token, looked for twice: a new one may not be in the list yet."""
        for wait in (0.0, SETTLE):
            await self.rest(wait)
            if (told := await self._until_done(lambda: self._model.find(token))) is not None:
                return told
        return None

    async def look(self, batch: str) -> Told:
        """How a batch stands."""
        return await self._until_done(lambda: self._model.look(batch))

    async def lines(self, file: str, take: Callable[[bytes], None], *, longest: int) -> None:
        """Hand on each line of a result file; where it breaks off all of them come again."""

        async def download() -> None:
            found: AsyncIterator[bytes] = self._model.lines(file, longest=longest)
            async for line in found:
                take(line)

        await self._until_done(download)

    async def rest(self, seconds: float) -> None:
        """Wait, but not when we are to finish."""
        if seconds > 0 and not self.is_over:
            nap, over = asyncio.ensure_future(self.sleep(seconds)), asyncio.ensure_future(self._over.wait())
            try:
                await asyncio.wait({nap, over}, return_when=asyncio.FIRST_COMPLETED)
                if nap.done():
                    nap.result()
            finally:
                nap.cancel()
                over.cancel()
        if self.is_over:
            raise SamplingStoppedError

    async def _begin(self, file: str, token: str) -> Told:
        try:
            return await self._model.create(file, token)
        except EndpointError as error:
            if error.reason not in UNSURE:
                raise
            # It may have been begun all the same: a second one would be paid twice.
            await self.rest(SETTLE)
            if (found := await self._until_done(lambda: self._model.find(token))) is None:
                raise
            return found

    async def _until_done(self, call: Callable[[], Awaitable[T]]) -> T:
        for attempt in range(1, ATTEMPTS):
            try:
                return await call()
            except EndpointError as error:
                lasting = isinstance(error, FatalEndpointError) or error.reason in LASTING
                if lasting or (error.retry_after or 0) > LONGEST_WAIT:
                    raise
                self._tell(f"{error.reason}: {error}")
                await self.rest((error.retry_after or 0.0) + backoff(attempt, self._rng))
        return await call()
