"""One model of a run through a batch API: half the price, within a day. It stands where a `Lane` stands.

What is asked is kept in the run folder (`batch_kept`) before anything is sent, and until its answers are on the disk.
A run that was killed at any moment finds its batches again, also one whose id it never learnt. So no generation is
bought twice.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, NoReturn, Unpack

from howsure.benchmarks.question import Benchmark, Question, Variant
from howsure.errors import BudgetSpentError, EndpointError, FatalEndpointError, SamplingStoppedError, StoreError
from howsure.models.batch_client import Batches, Told
from howsure.models.model import Reply
from howsure.sample.batch.api_calls import LASTING, Calls
from howsure.sample.batch.batch_files import (
    SPAN,
    Kept,
    Names,
    ResultLine,
    begun,
    encode_request_line,
    forget,
    parse_line_reply,
    parse_result_line,
    save,
    table,
)
from howsure.sample.budget import Reservation
from howsure.sample.model_config import ModelEntry
from howsure.sample.model_job import Asking, AskingKeys
from howsure.sample.resume import Unit
from howsure.sample.retry import LONGEST_WAIT
from howsure.sample.scoring import failed
from howsure.store.schema import Response

__all__ = ["BatchLane"]

#: Requests and bytes of one input file: the published limits are 50,000 and 200 MB.
REQUESTS, BYTES = 50_000, 190_000_000
#: Times a generation is submitted; seconds between two looks, at first and later.
TRIES, FIRST_LOOK, LATER_LOOK = 3, 5.0, 300.0
#: Bytes of one line of results, in all and for each generation.
LARGEST, LARGEST_EACH = 64 << 20, 4 << 20
ENDED = ("completed", "failed", "expired", "cancelled")
#: Codes of a failed batch that only mean: not so much at a time.
TOO_MUCH = {"token_limit_exceeded", "batch_limit_exceeded"}


class _Pace(NamedTuple):
    """What a lane's pace shows: a batch has no requests of ours in flight."""

    in_flight: int = 0
    window: int = 0


class BatchLane(Asking):
    """All that one model still owes, in batches. Parameters are those of `Asking`, and two more.

    Parameters
    ----------
    folder
        The run folder.
    flush
        Makes all rows durable that `keep` has taken.
    """

    def __init__(
        self,
        entry: ModelEntry,
        model: Batches,
        benchmark: Benchmark,
        questions: Sequence[Question],
        variants: Sequence[Variant],
        keep: Callable[[list[Response]], None],
        *,
        folder: Path,
        flush: Callable[[], None],
        **keys: Unpack[AskingKeys],
    ) -> None:
        super().__init__(entry, benchmark, questions, variants, keep, **keys)
        self.model, self.folder, self.flush = model, folder, flush
        self.pace = _Pace()
        self.requests = 0
        self._names = Names(questions, self.ids)
        self._unread = self._foreign = self._overdone = 0
        self._owed: dict[tuple[int, int], set[int]] = {}
        self._tries: defaultdict[tuple[int, int], int] = defaultdict(int)
        self._reserved: dict[str, Reservation] = {}
        self._refused: list[tuple[Unit, EndpointError]] = []
        self._ending: EndpointError | None = None
        self.calls = Calls(model, tell=self._tell, sleep=self.sleep, rng=self.rng)

    async def run(self, units: AsyncIterator[Unit]) -> None:
        """Sample the units; returns when each has its rows, or the model was stopped, or `finish` was called.

        When it is cancelled or finished the batches run on: the next run in the same folder collects them.
        """
        async for unit in units:
            self._owed.setdefault((unit.question, unit.variant), set()).update(unit.generations)
        try:
            waiting = await self._found()
            while not self.calls.is_over:
                waiting += await self._submit(waiting)
                if not waiting:
                    break
                await self._collect(waiting)
                waiting = []
        except BudgetSpentError as spent:
            self.spent = str(spent)
        except FatalEndpointError as error:
            self.stopped = str(error)
        except EndpointError as error:
            self.stopped = f"{error.reason}: {error}"
        except SamplingStoppedError:
            pass
        finally:
            self.trouble = None
            self.flush()
            for reservation in self._reserved.values():
                self.budget.leave(reservation)
            self._reserved.clear()

    async def drained(self) -> None:
        """Nothing to wait for: a batch lane draws all its units before it asks for any."""

    def finish(self) -> None:
        """Submit no more, and wait no longer: batches run on, and the next run in the same folder collects them."""
        self.calls.finish()

    def _wanted(self, waiting: list[Kept]) -> Iterator[Unit]:
        """One unit for each request: what is owed and in no batch yet."""
        flying: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
        for kept in waiting:
            for unit in self._names.units(kept.ids):
                flying[unit.question, unit.variant].update(unit.generations)
        for (question, variant), generations in self._owed.items():
            rest = sorted(generations - flying.get((question, variant), set()))
            while rest:
                some = [g for g in rest[: self.sizes.most] if g < rest[0] + SPAN]
                yield Unit(question, variant, tuple(some))
                rest = rest[len(some) :]

    async def _submit(self, waiting: list[Kept]) -> list[Kept]:
        """Begin batches with all that is in none, as far as the budget allows."""
        submitted: list[Kept] = []
        units = self._wanted(waiting)
        unit = next(units, None)
        while unit is not None and not self.calls.is_over:
            kept = Kept(benchmark=self.benchmark.name, model=self.entry.label)
            path = table(self.folder, kept)
            try:
                with path.open("wb") as file:
                    while unit is not None and len(kept.ids) < REQUESTS and file.tell() < BYTES:
                        name = self._names.name(unit)
                        if not await self._reserve(name, unit, wait=not (waiting or submitted or kept.ids)):
                            unit = None
                            break
                        kept.ids.append(name)
                        file.write(encode_request_line(name, self.entry.name, self.request(unit)))
                        unit = next(units, None)
                if not kept.ids:
                    break
                save(self.folder, kept)
                kept.batch = await self.calls.submit(path, kept.token)
            except OSError as error:
                raise StoreError(f"{path}: {error.strerror}; free space and run again") from error
            finally:
                path.unlink(missing_ok=True)
            save(self.folder, kept)
            self.requests += len(kept.ids)
            submitted.append(kept)
        return submitted

    async def _reserve(self, name: str, unit: Unit, *, wait: bool) -> bool:
        """Set the worst case of a request aside; False: not while other requests of ours are open."""
        tokens, cost = self.worst(unit)
        if not wait and not self.budget.fits(tokens, cost):
            return False
        self._reserved[name] = await self.budget.reserve(tokens, cost, lasts=True)
        return True

    async def _found(self) -> list[Kept]:
        """The batches that earlier sessions have submitted and not finished."""
        found = []
        for kept in begun(self.folder, self.benchmark.name, self.entry.label):
            if kept.batch is None:
                if (told := await self.calls.find(kept.token)) is None:
                    forget(self.folder, kept)
                    continue
                kept.batch = told.id
                save(self.folder, kept)
            for name in kept.ids:
                if (unit := self._names.unit(name)) is not None:
                    # What is bought already goes before what may be.
                    await self._reserve(name, unit, wait=False)
            found.append(kept)
        return found

    async def _collect(self, waiting: list[Kept]) -> None:
        """Wait for all of them, and keep what they bring."""
        looks = 0
        while waiting:
            ready = total = 0
            for kept in list(waiting):
                told = await self.calls.look(kept.batch or "")
                if told.status in ENDED:
                    await self._read(kept, told)
                    waiting.remove(kept)
                elif told.request_counts is not None:
                    ready += told.request_counts.completed + told.request_counts.failed
                    total += told.request_counts.total
            if waiting:
                self.trouble = f"batch: {ready:,} of {total:,} requests ready" if total else "batch: not begun yet"
                jitter = 0.9 + 0.2 * self.rng.random()
                await self.calls.rest(jitter * min(LATER_LOOK, FIRST_LOOK * 1.5 ** min(looks, 20)))
                looks += 1
        self.trouble = None
        refused, self._refused = self._refused, []
        if refused and not self.done:
            self._stop("every request was refused", refused[0][1])
        for unit, error in refused:
            # Others succeed, so it was these requests that were wrong.
            self._fail(unit, error)
        if self._ending is not None:
            raise FatalEndpointError(str(self._ending), reason=self._ending.reason) from None

    async def _read(self, kept: Kept, told: Told) -> None:
        """Keep what an ended batch brought; what it left unanswered is owed again, or has failed."""
        unanswered = dict.fromkeys(kept.ids)
        for file in (told.output_file_id, told.error_file_id):
            if file:
                take = partial(self._took, frozenset(kept.ids), unanswered)
                await self.calls.lines(file, take, longest=min(LARGEST, LARGEST_EACH * SPAN))
        for name in unanswered:
            self._settle(name, None)
            if (unit := self._names.unit(name)) is not None and told.status in {"completed", "expired"}:
                self._again(unit, EndpointError(f"the batch {told.status} without an answer", reason="empty"))
        self.flush()
        # Only now may the folder forget that they were bought.
        forget(self.folder, kept)
        if self._unread:
            self.note("some lines of a batch's results could not be read; those generations are asked for again")
        if self._foreign:
            self.note("a batch's results held answers that were not asked for; those were dropped")
        if told.status == "cancelled":
            what = f"the batch {told.id} was cancelled; run again to submit what is still owed"
            self._ending = self._ending or EndpointError(what, reason="cancelled")
        elif told.status == "failed":
            await self._failed(told)

    async def _failed(self, told: Told) -> None:
        """A batch that was not even begun: too much at a time, or wrong as a whole."""
        problems = told.errors.data if told.errors is not None else []
        self._overdone += 1
        if {problem.code for problem in problems} & TOO_MUCH and self._overdone < TRIES:
            await self.calls.rest(LONGEST_WAIT)
            return
        why = "; ".join(f"{problem.code}: {problem.message}" for problem in problems[:3]) or "it does not say why"
        self._ending = self._ending or EndpointError(f"the batch {told.id} failed: {why}", reason="bad_request")

    def _took(self, names: frozenset[str], unanswered: dict[str, None], line: bytes) -> None:
        """One line of results; a download that broke off brings it again."""
        if not line.strip():
            return
        told = parse_result_line(line)
        if told is None:
            self._unread += 1
        elif told.custom_id not in names:
            self._foreign += 1
        elif told.custom_id in unanswered:
            if (unit := self._names.unit(told.custom_id)) is not None:
                self._take(unit, told)
            else:
                self.note("a batch of an earlier run asked for what is no longer wanted; that was dropped")
            unanswered.pop(told.custom_id)

    def _take(self, unit: Unit, told: ResultLine) -> None:
        """What one line of results says of its generations."""
        n = len(unit.generations)
        try:
            reply = parse_line_reply(told, n)
        except EndpointError as error:
            self._settle(told.custom_id, None)
            self._failure(unit, error)
            return
        self._settle(told.custom_id, reply)
        attempts = self._tries[unit.question, unit.variant] + 1
        self._keep(unit, self.read(unit, self.request(unit), reply, attempts=attempts))

    def _settle(self, name: str, reply: Reply | None) -> None:
        """What a request has cost; None: it brought nothing, and nothing is billed."""
        reservation = self._reserved.pop(name, None)
        if reply is not None:
            self.bill(reservation, reply)
        elif reservation is not None:
            self.budget.release(reservation)

    def _failure(self, unit: Unit, error: EndpointError) -> None:
        n = len(unit.generations)
        if error.reason == "n_rejected" and n > 1:
            self.sizes.rejected(n, error.most)
        elif error.reason == "quota":
            self._ending = self._ending or error
        elif error.reason in LASTING:
            self._refused.append((unit, error))
        else:
            self._again(unit, error)

    def _again(self, unit: Unit, error: EndpointError) -> None:
        """Owed again in the next batch, or failed after so many."""
        place = unit.question, unit.variant
        self._tries[place] += 1
        if self._tries[place] >= TRIES:
            self._fail(unit, error)

    def _fail(self, unit: Unit, error: EndpointError) -> None:
        attempts = max(1, self._tries[unit.question, unit.variant])
        question, request = self.questions[unit.question], self.request(unit)
        self._keep(unit, failed(question, self.entry.label, request, error, attempts=attempts, created=time.time()))

    def _keep(self, unit: Unit, rows: list[Response]) -> None:
        """The rows that are still owed; what is no longer wanted, or came before, is there already."""
        owed = self._owed.get((unit.question, unit.variant), set())
        rows = [row for row in rows if row.generation in owed]
        owed.difference_update(row.generation for row in rows)
        if not owed:
            self._owed.pop((unit.question, unit.variant), None)
        if rows:
            self.count(unit.question, rows)

    def _stop(self, what: str, error: EndpointError) -> NoReturn:
        raise FatalEndpointError(f"{what}: {error}", reason=error.reason, status=error.status) from None

    def _tell(self, trouble: str) -> None:
        self.trouble = trouble
