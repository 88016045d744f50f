"""Send the requests of one model through a batch API, which costs half the price and answers within a day.

A record of each batch (`batch_files.BatchRecord`) is in the run folder from before the submission until its results are
stored. A run that was killed at any moment finds its batches again, even a batch whose id it never received, so that
no generation is paid for twice. Calls of the batch API are repeated until they succeed.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NoReturn, TypeVar

import numpy as np

from howsure.errors import BudgetSpentError, EndpointError, FatalEndpointError, SamplingStoppedError, StoreError
from howsure.models.batch_client import BatchClient, BatchStatus
from howsure.models.model import Reply
from howsure.models.reply import drop_failed_choices
from howsure.sample.batch_files import (
    GENERATION_SPAN,
    BatchRecord,
    RequestIds,
    ResultLine,
    delete_record,
    encode_request_line,
    input_path,
    load_records,
    parse_line_reply,
    parse_result_line,
    save_record,
)
from howsure.sample.budget import Reservation
from howsure.sample.model_job import ModelJob
from howsure.sample.resume import PromptTask
from howsure.sample.retry import compute_wait, is_wait_too_long
from howsure.store.atomic import suggest_remedy
from howsure.store.schema import Response

T = TypeVar("T")

#: Requests and bytes of one input file: the published limits are 50,000 and 200 MB.
REQUESTS, BYTES = 50_000, 190_000_000
#: Largest number of times that a generation is submitted.
MAX_SUBMISSIONS = 3
#: Seconds until a batch is submitted again for which the API had too much to do.
SUBMISSION_WAIT = 600.0
#: Seconds between two status calls: the first wait, and the longest wait.
FIRST_WAIT, LONGEST_STATUS_WAIT = 5.0, 300.0
#: The largest number of bytes of one line of results: a constant, and an amount for each generation.
LARGEST, LARGEST_EACH = 64 << 20, 4 << 20
ENDED = ("completed", "failed", "expired", "cancelled")
#: Error codes of a failed batch which mean that too much was submitted at a time.
TOO_MUCH = {"token_limit_exceeded", "batch_limit_exceeded"}
#: Number of attempts for one call, and the seconds after which the API lists a new batch.
ATTEMPTS, LISTED_AFTER = 64, 15.0
#: Reasons after which it is unknown whether a batch was created.
UNKNOWN_OUTCOME = ("connection", "timeout", "server", "malformed")
#: Reasons of failures that another attempt does not fix.
LASTING = ("bad_request", "too_large", "unauthorized", "not_found")


class BatchWorker:
    """Send all requests of a `ModelJob` in batches; it has the methods of `Worker`.

    Parameters
    ----------
    job
        Builds the requests and receives the rows.
    client
        The batch API of the model.
    folder
        The run folder.
    sleep, rng
        How to wait, and the source of the jitter.

    Attributes
    ----------
    n_requests
        Requests submitted in this session.
    in_flight, window, note
        0 and "", because the batch API sends the requests.
    """

    in_flight = window = 0
    note = ""

    def __init__(
        self,
        job: ModelJob,
        client: BatchClient,
        *,
        folder: Path,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: np.random.Generator,
    ) -> None:
        self.job, self.folder, self.rng = job, folder, rng
        self.n_requests = 0
        self.calls = _BatchCalls(client, job, sleep=sleep, rng=rng)
        self._request_ids = RequestIds(job.questions, job.variant_ids)
        self._missing: dict[tuple[int, int], set[int]] = {}
        self._n_failures: defaultdict[tuple[int, int], int] = defaultdict(int)
        self._reservations: dict[str, Reservation] = {}
        self._refused: list[tuple[PromptTask, EndpointError]] = []
        self._fatal_error: EndpointError | None = None
        self._unscored: list[tuple[PromptTask, Callable[[], list[Response]]]] = []
        self._n_unreadable = self._n_foreign = self._n_too_much = 0

    async def run(self, tasks: AsyncIterator[PromptTask]) -> None:
        """Sample the tasks; return when each has its rows, the model was given up, or `stop` was called.

        When it is cancelled or stopped the batches continue: the next run in the same folder collects them.
        """
        async for task in tasks:
            self._missing.setdefault((task.question, task.variant), set()).update(task.generations)
        job = self.job
        try:
            records = await self._find_earlier_batches()
            while not self.calls.is_stopped:
                records += await self._submit(records)
                if not records:
                    break
                await self._collect(records)
                records = []
        except BudgetSpentError as error:
            job.spent = str(error)
        except FatalEndpointError as error:
            job.stopped = str(error)
        except EndpointError as error:
            job.stopped = f"{error.reason}: {error}"
        except SamplingStoppedError:
            pass
        finally:
            job.trouble = None
            job.writer.flush()
            for reservation in self._reservations.values():
                job.budget.leave(reservation)
            self._reservations.clear()

    async def wait_until_idle(self) -> None:
        """Return at once: all tasks are drawn before the first batch is submitted."""

    def stop(self) -> None:
        """Stop submitting and end every wait; the next run in the same folder collects the batches."""
        self.calls.stop()

    def _split_into_requests(self, records: list[BatchRecord]) -> Iterator[PromptTask]:
        """Yield one task for each request, with generations that are missing and not in a batch yet."""
        submitted: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
        for record in records:
            for task in self._request_ids.decode_all(record.ids):
                submitted[task.question, task.variant].update(task.generations)
        for (question, variant), generations in self._missing.items():
            rest = sorted(generations - submitted.get((question, variant), set()))
            while rest:
                part = [g for g in rest[: self.job.size.limit] if g < rest[0] + GENERATION_SPAN]
                yield PromptTask(question, variant, tuple(part))
                rest = rest[len(part) :]

    async def _submit(self, records: list[BatchRecord]) -> list[BatchRecord]:
        """Submit all requests that are not in a batch yet, as far as the budget allows, and return the new batches."""
        job, submitted = self.job, list[BatchRecord]()
        tasks = self._split_into_requests(records)
        task = next(tasks, None)
        while task is not None and not self.calls.is_stopped:
            record = BatchRecord(benchmark=job.benchmark.name, model=job.config.label)
            path = input_path(self.folder, record)
            try:
                with path.open("wb") as file:
                    while task is not None and len(record.ids) < REQUESTS and file.tell() < BYTES:
                        request_id = self._request_ids.encode(task)
                        if not await self._reserve(request_id, task, wait=not (records or submitted or record.ids)):
                            task = None
                            break
                        record.ids.append(request_id)
                        file.write(encode_request_line(request_id, job.config.name, job.build_request(task)))
                        task = next(tasks, None)
                if not record.ids:
                    break
                save_record(self.folder, record)
                record.batch = await self.calls.submit(path, record.token)
            except OSError as error:
                raise StoreError(f"{path}: {error.strerror}; {suggest_remedy(error)} and run again") from error
            finally:
                path.unlink(missing_ok=True)
            save_record(self.folder, record)
            self.n_requests += len(record.ids)
            submitted.append(record)
        return submitted

    async def _reserve(self, request_id: str, task: PromptTask, *, wait: bool) -> bool:
        """Reserve the worst case of a request; return False if it must wait for open requests and `wait` is False."""
        budget = self.job.budget
        tokens, cost = self.job.bound_cost(task)
        if not wait and not budget.fits(tokens, cost):
            return False
        self._reservations[request_id] = await budget.reserve(tokens, cost)
        return True

    async def _find_earlier_batches(self) -> list[BatchRecord]:
        """Return the batches that earlier sessions have submitted and not finished."""
        records = []
        for record in load_records(self.folder, self.job.benchmark.name, self.job.config.label):
            if record.batch is None:
                if (batch := await self.calls.find(record.token)) is None:
                    delete_record(self.folder, record)
                    continue
                record.batch = batch.id
                save_record(self.folder, record)
            for request_id in record.ids:
                if (task := self._request_ids.decode(request_id)) is not None:
                    # Requests that are already submitted reserve their budget before new ones.
                    await self._reserve(request_id, task, wait=False)
            records.append(record)
        return records

    async def _collect(self, records: list[BatchRecord]) -> None:
        """Wait until the batches end, and store their results."""
        job, n_waits = self.job, 0
        while records:
            ready = total = 0
            for record in list(records):
                batch = await self.calls.get_status(record.batch or "")
                if batch.status in ENDED:
                    await self._store_results(record, batch)
                    records.remove(record)
                elif batch.request_counts is not None:
                    ready += batch.request_counts.completed + batch.request_counts.failed
                    total += batch.request_counts.total
            if records:
                job.trouble = f"batch: {ready:,} of {total:,} requests ready" if total else "batch: not begun yet"
                jitter = 0.9 + 0.2 * self.rng.random()
                await self.calls.wait(jitter * min(LONGEST_STATUS_WAIT, FIRST_WAIT * 1.5 ** min(n_waits, 20)))
                n_waits += 1
        job.trouble = None
        refused, self._refused = self._refused, []
        if refused and not job.done:
            self._raise_fatal("every request was refused", refused[0][1])
        for task, error in refused:
            # Other requests succeed, so these requests are at fault and not the endpoint.
            self._fail(task, error)
        if self._fatal_error is not None:
            raise FatalEndpointError(str(self._fatal_error), reason=self._fatal_error.reason) from None

    async def _store_results(self, record: BatchRecord, batch: BatchStatus) -> None:
        """Store the results of an ended batch; submit requests without an answer again, or count them as failed."""
        unanswered = dict.fromkeys(record.ids)
        for file in (batch.output_file_id, batch.error_file_id):
            if file:
                take_line = partial(self._take_line, frozenset(record.ids), unanswered)
                longest = min(LARGEST, LARGEST_EACH * GENERATION_SPAN)
                await self.calls.download_lines(file, take_line, longest=longest)
        await self._score_replies()
        for request_id in unanswered:
            self._settle(request_id, None)
            task = self._request_ids.decode(request_id)
            if task is not None and batch.status in {"completed", "expired"}:
                self._retry(task, EndpointError(f"the batch {batch.status} without an answer", reason="empty"))
        self.job.writer.flush()
        # Delete the record only after the rows are on disk: until then only the record shows that they were paid for.
        delete_record(self.folder, record)
        if self._n_unreadable:
            self.job.warn("some lines of a batch's results could not be read; those generations are requested again")
        if self._n_foreign:
            self.job.warn("a batch's results contained answers that were not requested; those were dropped")
        if batch.status == "cancelled":
            what = f"the batch {batch.id} was cancelled; run again to submit the missing generations"
            self._fatal_error = self._fatal_error or EndpointError(what, reason="cancelled")
        elif batch.status == "failed":
            await self._handle_failed_batch(batch)

    async def _handle_failed_batch(self, batch: BatchStatus) -> None:
        """Handle a batch that the API did not start: wait if too much was submitted at a time, else stop the model."""
        problems = batch.errors.data if batch.errors is not None else []
        self._n_too_much += 1
        if {problem.code for problem in problems} & TOO_MUCH and self._n_too_much < MAX_SUBMISSIONS:
            await self.calls.wait(SUBMISSION_WAIT)
            return
        why = "; ".join(f"{problem.code}: {problem.message}" for problem in problems[:3]) or "no reason was reported"
        what = f"the batch {batch.id} failed: {why}"
        self._fatal_error = self._fatal_error or EndpointError(what, reason="bad_request")

    def _take_line(self, request_ids: frozenset[str], unanswered: dict[str, None], line: bytes) -> None:
        """Store one line of results; ignore it if it was stored before, because a repeated download passes it again."""
        if not line.strip():
            return
        result = parse_result_line(line)
        if result is None:
            self._n_unreadable += 1
        elif result.custom_id not in request_ids:
            self._n_foreign += 1
        elif result.custom_id in unanswered:
            if (task := self._request_ids.decode(result.custom_id)) is not None:
                self._store_result(task, result)
            else:
                self.job.warn("a batch of an earlier run brought generations that are not needed; those were dropped")
            unanswered.pop(result.custom_id)

    def _store_result(self, task: PromptTask, result: ResultLine) -> None:
        """Store the generations in one line of results, or handle its failure."""
        job = self.job
        try:
            reply = parse_line_reply(result, len(task.generations))
        except EndpointError as error:
            self._settle(result.custom_id, None)
            self._handle_failure(task, error)
            return
        self._settle(result.custom_id, reply)
        attempts = self._n_failures[task.question, task.variant] + 1
        request = job.build_request(task)
        job.record_reply(task, request, reply)
        try:
            request, reply, failed = drop_failed_choices(request, reply)
        except EndpointError as error:
            self._retry(task, error)
            return
        if failed:
            failure = EndpointError("the endpoint marks a choice as failed", reason="failed_reply")
            self._retry(task._replace(generations=failed), failure)
        build = partial(job.build_rows, task, request, reply, attempts=attempts)
        if job.is_scored_in_thread:
            self._unscored.append((task, build))
        else:
            self._add_rows(task, build())

    async def _score_replies(self) -> None:
        """Add the rows of replies whose scorer works in a subprocess."""
        while self._unscored:
            task, build = self._unscored[-1]
            rows = await asyncio.to_thread(build)
            self._unscored.pop()
            self._add_rows(task, rows)

    def _settle(self, request_id: str, reply: Reply | None) -> None:
        """Add the cost of a request to the budget; a request without a reply is not billed."""
        reservation = self._reservations.pop(request_id, None)
        if reply is not None:
            self.job.bill(reservation, reply)
        elif reservation is not None:
            self.job.budget.release(reservation)

    def _handle_failure(self, task: PromptTask, error: EndpointError) -> None:
        """Retry a request that failed inside a batch, count it as failed, or stop the model."""
        n = len(task.generations)
        if error.reason == "n_rejected" and n > 1:
            self.job.size.record_rejection(n, error.most)
        elif error.reason == "quota":
            self._fatal_error = self._fatal_error or error
        elif error.reason in LASTING:
            self._refused.append((task, error))
        else:
            self._retry(task, error)

    def _retry(self, task: PromptTask, error: EndpointError) -> None:
        """Leave a task for the next batch; after `MAX_SUBMISSIONS` count it as failed."""
        prompt = task.question, task.variant
        self._n_failures[prompt] += 1
        if self._n_failures[prompt] >= MAX_SUBMISSIONS:
            self._fail(task, error)

    def _fail(self, task: PromptTask, error: EndpointError) -> None:
        """Write rows without a score for the generations of a task."""
        attempts = max(1, self._n_failures[task.question, task.variant])
        self._add_rows(task, self.job.build_failed_rows(task, error, attempts=attempts))

    def _add_rows(self, task: PromptTask, rows: list[Response]) -> None:
        """Write the rows that are still missing; drop rows that are stored already, or that this run does not need."""
        prompt = task.question, task.variant
        missing = self._missing.get(prompt, set())
        rows = [row for row in rows if row.generation in missing]
        missing.difference_update(row.generation for row in rows)
        if not missing:
            self._missing.pop(prompt, None)
        if rows:
            self.job.add_rows(task.question, rows)

    def _raise_fatal(self, what: str, error: EndpointError) -> NoReturn:
        raise FatalEndpointError(f"{what}: {error}", reason=error.reason, status=error.status) from None


class _BatchCalls:
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
        """Whether `stop` was called."""
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
