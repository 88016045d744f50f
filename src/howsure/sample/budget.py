"""Keep a run within its budget: reserve the worst case of a request before it is sent, and settle it by its usage.

`spent.json` in the run folder records an upper bound of what the sessions have spent. The rows do not show all of it: a
request that was refused, or whose reply was cut off or reported no usage, left no row with its cost. The file is
written ahead: a request is sent only after the file includes its worst case, and to be written seldom it includes what
about the next half second may spend as well. It does not include requests that wait for their turn. So a kill never
lets a later session exceed the budget; it may make it spend less, by what was in flight and set aside. At the end of a
session the file contains the amounts that were really spent.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from howsure.errors import BudgetSpentError, StoreError
from howsure.sample.prices import format_dollars
from howsure.store.atomic import replace_file

SPENT_FILE = "spent.json"
#: End of the reason of a session whose minutes are over.
_SESSION_OVER = "minutes of this session are over"
#: Largest share of what is left of a limit that is set aside for the requests of about the next half second.
AHEAD_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Spending:
    """Requests that were sent, tokens of prompts and completions, and pico-dollars."""

    calls: int = 0
    tokens: int = 0
    cost: int = 0


class Reservation:
    """Tokens and pico-dollars reserved for one request; `settle`, `release`, `forfeit` or `leave` closes it once.

    If it is not `recorded`, its request is not sent yet, or belongs to a batch, and the next session reserves it again.
    """

    __slots__ = ("cost", "is_open", "is_recorded", "tokens")

    def __init__(self, tokens: int, cost: int) -> None:
        self.tokens, self.cost, self.is_open, self.is_recorded = tokens, cost, False, False

    def __repr__(self) -> str:
        return f"Reservation({self.tokens}, {self.cost}, is_open={self.is_open})"


class Budget:
    """Enforce the limits on what a run spends; all models of the run share one budget.

    The sum of spent and reserved amounts never exceeds a limit, unless a request uses more than was reserved for it.

    Parameters
    ----------
    calls, tokens, cost
        Limits for the run folder as a whole: requests, tokens, pico-dollars. None means no limit.
    minutes
        Limit for this session, by `clock` (seconds), counted from now.
    spent
        The spending of earlier sessions of the same run.

    Examples
    --------
    >>> budget = Budget(calls=1)
    >>> budget.fits(0, 0)
    True
    """

    def __init__(
        self,
        *,
        calls: int | None = None,
        tokens: int | None = None,
        minutes: float | None = None,
        cost: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        spent: Spending | None = None,
    ) -> None:
        self.calls, self.tokens, self.minutes, self.cost = calls, tokens, minutes, cost
        self._clock = clock
        self._end = None if minutes is None else clock() + 60 * minutes
        self._is_limited = any(limit is not None for limit in (calls, tokens, minutes, cost))
        before = spent or Spending()
        # Integers rather than `Spending`: they change several times for each request.
        self._spent_calls, self._spent_tokens, self._spent_cost = before.calls, before.tokens, before.cost
        self._open_calls = self._open_tokens = self._open_cost = 0
        # What a later session counts as spent if this one is killed now.
        self._recorded_calls, self._recorded_tokens, self._recorded_cost = before.calls, before.tokens, before.cost
        self._queue: deque[tuple[Reservation, asyncio.Future[None]]] = deque()
        self.before_request: Callable[[], None] | None = None
        """Called when a reservation was recorded, before its request is sent."""

    @property
    def spent(self) -> Spending:
        """What this session and the earlier ones have spent."""
        return Spending(self._spent_calls, self._spent_tokens, self._spent_cost)

    @property
    def reserved(self) -> Spending:
        """What the open reservations hold."""
        return Spending(self._open_calls, self._open_tokens, self._open_cost)

    @property
    def recorded_spending(self) -> Spending:
        """What a later session must count as spent if this one is killed now.

        It includes recorded reservations, but not those whose requests wait, or which the later session reserves again.
        """
        return Spending(self._recorded_calls, self._recorded_tokens, self._recorded_cost)

    @property
    def is_recorded(self) -> bool:
        """Whether calls, tokens or money are limited, for all sessions together."""
        return not self.calls is self.tokens is self.cost is None

    def fits(self, tokens: int, cost: int) -> bool:
        """Return whether the worst case of one more request fits into the budget now, beside the open reservations."""
        return self._find_exceeded(tokens, cost, with_open=True) is None

    async def reserve(self, tokens: int, cost: int) -> Reservation:
        """Reserve the worst case of one request; `record` it before the request is sent.

        If it does not fit now but may fit once open reservations are settled for less, it waits in order. A cancelled
        wait reserves nothing.

        Raises
        ------
        BudgetSpentError
            When it can never fit. A smaller request may still fit.
        """
        reservation = Reservation(tokens, cost)
        if not self._is_limited:
            self._open(reservation)
            return reservation
        if exceeded := self._find_exceeded(tokens, cost, with_open=False):
            raise self._build_error(exceeded, reservation)
        if not self._queue and self._find_exceeded(tokens, cost, with_open=True) is None:
            self._open(reservation)
            return reservation
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((reservation, turn))
        try:
            await turn
        except asyncio.CancelledError:
            # The reservation may have been granted at the moment of the cancellation.
            if reservation.is_open:
                self._close(reservation)
            self._admit_waiting()
            raise
        return reservation

    def record(self, reservation: Reservation) -> None:
        """Count a reservation as spent for a later session, because its request is sent now."""
        reservation.is_recorded = True
        self._recorded_calls += 1
        self._recorded_tokens += reservation.tokens
        self._recorded_cost += reservation.cost
        if self.before_request is not None:
            self.before_request()

    def settle(self, reservation: Reservation, tokens: int, cost: int) -> None:
        """Spend the usage that the reply of a request reported, even where it exceeds the reservation."""
        self._close(reservation)
        self._spend(max(0, tokens), max(0, cost))

    def release(self, reservation: Reservation, *, sent: bool = True) -> None:
        """Spend nothing for a request that was refused; it counts as a call unless it was never `sent`."""
        self._close(reservation)
        if sent:
            self._spend(0, 0)
        else:
            self._admit_waiting()

    def forfeit(self, reservation: Reservation) -> None:
        """Spend the worst case of a request whose usage is unknown: it timed out, was cut off, or reported no usage."""
        self._close(reservation)
        self._spend(reservation.tokens, reservation.cost)

    def leave(self, reservation: Reservation) -> None:
        """Spend the worst case of a request that outlives the session, without recording it as spent."""
        self._close(reservation)
        self._spend(reservation.tokens, reservation.cost, is_recorded=False)

    def _spend(self, tokens: int, cost: int, *, is_recorded: bool = True) -> None:
        self._spent_calls += 1
        self._spent_tokens += tokens
        self._spent_cost += cost
        if is_recorded:
            self._recorded_calls += 1
            self._recorded_tokens += tokens
            self._recorded_cost += cost
        if self._queue:
            self._admit_waiting()

    def _open(self, reservation: Reservation) -> None:
        reservation.is_open = True
        self._open_calls += 1
        self._open_tokens += reservation.tokens
        self._open_cost += reservation.cost

    def _close(self, reservation: Reservation) -> None:
        if not reservation.is_open:
            raise ValueError(f"{reservation!r} was closed before")
        reservation.is_open = False
        self._open_calls -= 1
        self._open_tokens -= reservation.tokens
        self._open_cost -= reservation.cost
        if reservation.is_recorded:
            self._recorded_calls -= 1
            self._recorded_tokens -= reservation.tokens
            self._recorded_cost -= reservation.cost

    def _admit_waiting(self) -> None:
        """Grant or refuse waiting reservations in order, up to the first that does not fit now but may fit later.

        If no reservation is open, one that does not fit now can never fit and is refused, so no request waits forever.
        """
        while self._queue:
            reservation, turn = self._queue[0]
            if not turn.done():
                if exceeded := self._find_exceeded(reservation.tokens, reservation.cost, with_open=False):
                    turn.set_exception(self._build_error(exceeded, reservation))
                elif self._find_exceeded(reservation.tokens, reservation.cost, with_open=True) is None:
                    self._open(reservation)
                    turn.set_result(None)
                else:
                    return
            self._queue.popleft()

    def _find_exceeded(self, tokens: int, cost: int, *, with_open: bool) -> str | None:
        """Return the limit that one more request would exceed, or None; `with_open` adds the open reservations."""
        if self._end is not None and self._clock() >= self._end:
            return "minutes"
        calls, tokens, cost = self._spent_calls + 1, self._spent_tokens + tokens, self._spent_cost + cost
        if with_open:
            calls, tokens, cost = calls + self._open_calls, tokens + self._open_tokens, cost + self._open_cost
        if self.calls is not None and calls > self.calls:
            return "calls"
        if self.tokens is not None and tokens > self.tokens:
            return "tokens"
        if self.cost is not None and cost > self.cost:
            return "cost"
        return None

    def _build_error(self, exceeded: str, reservation: Reservation) -> BudgetSpentError:
        """Return the error of a request that exceeds a limit."""
        if exceeded == "minutes":
            return BudgetSpentError(exceeded, f"the {self.minutes:g} {_SESSION_OVER}")
        if exceeded == "calls":
            return BudgetSpentError(exceeded, f"{self._spent_calls:,} of {self.calls:,} calls made")
        if exceeded == "tokens":
            spent = f"{self._spent_tokens:,} of {self.tokens:,} tokens spent"
            return BudgetSpentError(exceeded, f"{spent}; the next request may take up to {reservation.tokens:,}")
        spent = f"{format_dollars(self._spent_cost)} of {format_dollars(self.cost or 0)} spent"
        most = format_dollars(reservation.cost)
        return BudgetSpentError(exceeded, f"{spent}; the next request may cost up to {most}")


class _SpendingRecord(msgspec.Struct, kw_only=True):
    version: int = 1
    calls: int
    tokens: int
    picodollars: int


def outlasts_session(reason: str) -> bool:
    """Return whether a budget that is spent for this reason is spent for the next session, too: minutes are not.

    >>> outlasts_session("7 of 7 calls made"), outlasts_session("the 5 minutes of this session are over")
    (True, False)
    """
    return not reason.endswith(_SESSION_OVER)


def load_spending(folder: Path) -> Spending:
    """Return what `spent.json` records; nothing if no session had a budget.

    Raises
    ------
    StoreError
        When the file cannot be read.
    """
    path = folder / SPENT_FILE
    try:
        record = msgspec.json.decode(path.read_bytes(), type=_SpendingRecord)
    except FileNotFoundError:
        return Spending()
    except (OSError, ValueError) as error:
        remedy = "restore it, or remove it to count only the spending that the rows record"
        raise StoreError(f"{path}: cannot be read ({error}); {remedy}") from error
    return Spending(record.calls, record.tokens, record.picodollars)


class SpendingFile:
    """Write the spending of a budget to `spent.json` in a locked run folder; write no file if there are no limits."""

    def __init__(self, folder: Path, budget: Budget) -> None:
        self.path, self.budget = folder / SPENT_FILE, budget
        self._written = self._at_last_update = budget.spent
        if budget.is_recorded:
            budget.before_request = self._set_aside

    def update(self, *, final: bool = False) -> None:
        """Write the file if the spending has changed, with as much ahead as was spent since the last update.

        Parameters
        ----------
        final
            Whether the session ends, so that nothing is set aside.

        Raises
        ------
        StoreError
            When the folder cannot be written.
        """
        spending, before = self.budget.recorded_spending, self._at_last_update
        self._at_last_update = spending
        self._write(spending if final else self._add_ahead(spending, before))

    def _set_aside(self) -> None:
        """Write the file if it does not include all open reservations; twice as much each time until the update."""
        spending = self.budget.recorded_spending
        if _is_within(spending, self._written):
            return
        self._write(self._add_ahead(spending, self._at_last_update))

    def _add_ahead(self, spending: Spending, before: Spending) -> Spending:
        """Return the spending and once more what was spent since `before`, at most the limits."""
        budget = self.budget
        return Spending(
            _add_within(spending.calls, spending.calls - before.calls, budget.calls),
            _add_within(spending.tokens, spending.tokens - before.tokens, budget.tokens),
            _add_within(spending.cost, spending.cost - before.cost, budget.cost),
        )

    def _write(self, spending: Spending) -> None:
        if spending == self._written or not self.budget.is_recorded:
            return
        record = _SpendingRecord(calls=spending.calls, tokens=spending.tokens, picodollars=spending.cost)
        with replace_file(self.path) as new:
            new.write_bytes(msgspec.json.encode(record) + b"\n")
        self._written = spending


def _is_within(spending: Spending, bound: Spending) -> bool:
    """Return whether no amount exceeds that of the bound."""
    return spending.calls <= bound.calls and spending.tokens <= bound.tokens and spending.cost <= bound.cost


def _add_within(amount: int, ahead: int, limit: int | None) -> int:
    """Return an amount with what is set aside ahead of it: at most `AHEAD_SHARE` of what is left of the limit."""
    if limit is not None:
        ahead = min(ahead, int((limit - amount) * AHEAD_SHARE))
    return amount + max(0, ahead)
