"""Rows to the run folder in batches."""

from __future__ import annotations

from howsure.store.responses import RunFolder
from howsure.store.schema import Response

__all__ = ["Writer"]

#: Rows per transaction.
BATCH = 1000


class Writer:
    """Rows to the folder in batches; the only one that writes.

    Written in the event loop's own thread: whoever produces rows waits while a batch is made durable, and a cancelled
    run leaves no thread that still writes.
    """

    def __init__(self, store: RunFolder) -> None:
        self.store = store
        self._rows: list[Response] = []

    def put(self, rows: list[Response]) -> None:
        """Take rows; every thousand of them become durable."""
        self._rows += rows
        if len(self._rows) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Make all durable that was taken."""
        if self._rows:
            self.store.append(self._rows)
            self._rows = []
