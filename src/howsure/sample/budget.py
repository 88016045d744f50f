"""What a run may still spend: the worst case of a request is set aside before it is sent, and settled by its usage."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from howsure.errors import BudgetSpentError, StoreError
from howsure.sample.prices import dollars
from howsure.store.atomic import replace_file

__all__ = ["SPENT_FILE", "Account", "Budget", "Reservation", "Spent", "load_spent"]


@dataclass(frozen=True, slots=True)
class Spent:
    """Requests that were sent, tokens of prompts and completions, and pico-dollars."""

    calls: int = 0
    tokens: int = 0
    cost: int = 0


class Reservation:
    """One request's worst case: tokens and pico-dollars set aside. Ended once: settled, released, forfeited or left.

    One that `lasts` outlives the session, as a batch does: the next session sets it aside again.
    """

    __slots__ = ("cost", "is_open", "lasts", "tokens")

    def __init__(self, tokens: int, cost: int, *, lasts: bool = False) -> None:
        self.tokens, self.cost, self.lasts, self.is_open = tokens, cost, lasts, False

    def __repr__(self) -> str:
        return f"Reservation({self.tokens}, {self.cost}, is_open={self.is_open})"


class Budget:
    """Bounds on what a run spends; all its models share one.

    What is spent and what is set aside never exceed a bound together, save when a usage exceeds what was set aside
    for it.

    Parameters
    ----------
    calls, tokens, cost
        Bounds for the run folder as a whole: requests, tokens, pico-dollars. None: no bound.
    minutes
        Bound for this session, by `clock` (seconds), counted from now.
    spent
        What earlier sessions of the same run spent.
    """

    def __init__(
        self,
        *,
        calls: int | None = None,
        tokens: int | None = None,
        minutes: float | None = None,
        cost: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        spent: Spent | None = None,
    ) -> None:
        self.calls, self.tokens, self.minutes, self.cost = calls, tokens, minutes, cost
        self._clock = clock
        self._end = None if minutes is None else clock() + 60 * minutes
        self._is_bounded = any(bound is not None for bound in (calls, tokens, minutes, cost))
        before = spent or Spent()
        self._spent_calls, self._spent_tokens, self._spent_cost = before.calls, before.tokens, before.cost
        self._open_calls = self._open_tokens = self._open_cost = 0
        self._lasting_calls = self._lasting_tokens = self._lasting_cost = 0
        self._queue: deque[tuple[Reservation, asyncio.Future[None]]] = deque()

    @property
    def spent(self) -> Spent:
        """What was spent, in earlier sessions too."""
        return Spent(self._spent_calls, self._spent_tokens, self._spent_cost)

    @property
    def reserved(self) -> Spent:
        """What open reservations set aside."""
        return Spent(self._open_calls, self._open_tokens, self._open_cost)

    @property
    def account(self) -> Spent:
        """What a later session has to take as spent, were this one killed now: without what that sets aside again."""
        return Spent(
            self._spent_calls + self._open_calls - self._lasting_calls,
            self._spent_tokens + self._open_tokens - self._lasting_tokens,
            self._spent_cost + self._open_cost - self._lasting_cost,
        )

    @property
    def is_counted(self) -> bool:
        """Whether calls, tokens or money are bounded, for all sessions together."""
        return not self.calls is self.tokens is self.cost is None

    def left(self) -> tuple[int | None, int | None]:
        """(tokens, pico-dollars) not yet spent: what one request may take at most, once the open ones are settled.

        None: no bound.
        """
        return _rest(self.tokens, self._spent_tokens), _rest(self.cost, self._spent_cost)

    def room(self) -> tuple[int | None, int | None]:
        """(tokens, pico-dollars) neither spent nor set aside. None: no bound."""
        return (
            _rest(self.tokens, self._spent_tokens + self._open_tokens),
            _rest(self.cost, self._spent_cost + self._open_cost),
        )

    def fits(self, tokens: int, cost: int) -> bool:
        """Whether one more request of this worst case fits beside the open ones, now."""
        return self._exceeded(tokens, cost, beside=True) is None

    async def reserve(self, tokens: int, cost: int, *, lasts: bool = False) -> Reservation:
        """Set aside the worst case of one request.

        At once when it fits. While open reservations may still be settled for less it waits, first come first served;
        a cancelled wait sets nothing aside.

        Raises
        ------
        BudgetSpentError
            When it can never fit. A smaller request (see `left`) still may.
        """
        wanted = Reservation(tokens, cost, lasts=lasts)
        if not self._is_bounded:
            self._open(wanted)
            return wanted
        if what := self._exceeded(tokens, cost, beside=False):
            raise self._refusal(what, wanted)
        if not self._queue and self._exceeded(tokens, cost, beside=True) is None:
            self._open(wanted)
            return wanted
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((wanted, turn))
        try:
            await turn
        except asyncio.CancelledError:
            # Granted in the same moment.
            if wanted.is_open:
                self._close(wanted)
            self._admit()
            raise
        return wanted

    def settle(self, reservation: Reservation, tokens: int, cost: int) -> None:
        """The request was answered, and its usage told: that is spent, even where it exceeds the reservation."""
        self._close(reservation)
        self._spend(max(0, tokens), max(0, cost))

    def release(self, reservation: Reservation, *, sent: bool = True) -> None:
        """The request was refused and is not billed; as a call it counts. Not `sent`: it does not even count."""
        self._close(reservation)
        if sent:
            self._spend(0, 0)
        else:
            self._admit()

    def forfeit(self, reservation: Reservation) -> None:
        """Nobody knows what became of the request (timeout, cut, usage not told): its worst case is spent."""
        self._close(reservation)
        self._spend(reservation.tokens, reservation.cost)

    def leave(self, reservation: Reservation) -> None:
        """The session ends before what `lasts`: its worst case is spent for now, and not in the account."""
        self._lasting(reservation, 1)
        self.forfeit(reservation)

    def _spend(self, tokens: int, cost: int) -> None:
        self._spent_calls += 1
        self._spent_tokens += tokens
        self._spent_cost += cost
        if self._queue:
            self._admit()

    def _open(self, reservation: Reservation) -> None:
        reservation.is_open = True
        self._open_calls += 1
        self._open_tokens += reservation.tokens
        self._open_cost += reservation.cost
        if reservation.lasts:
            self._lasting(reservation, 1)

    def _close(self, reservation: Reservation) -> None:
        if not reservation.is_open:
            raise ValueError(f"{reservation!r} was ended before")
        reservation.is_open = False
        self._open_calls -= 1
        self._open_tokens -= reservation.tokens
        self._open_cost -= reservation.cost
        if reservation.lasts:
            self._lasting(reservation, -1)

    def _lasting(self, reservation: Reservation, sign: int) -> None:
        self._lasting_calls += sign
        self._lasting_tokens += sign * reservation.tokens
        self._lasting_cost += sign * reservation.cost

    def _admit(self) -> None:
        """Answer those who wait, in their order, up to the first that may still come to fit.

        With nothing open, what does not fit never will: so nobody waits for nothing.
        """
        while self._queue:
            wanted, turn = self._queue[0]
            if not turn.done():
                if what := self._exceeded(wanted.tokens, wanted.cost, beside=False):
                    turn.set_exception(self._refusal(what, wanted))
                elif self._exceeded(wanted.tokens, wanted.cost, beside=True) is None:
                    self._open(wanted)
                    turn.set_result(None)
                else:
                    return
            self._queue.popleft()

    def _exceeded(self, tokens: int, cost: int, *, beside: bool) -> str | None:
        """The bound that one more request would exceed, `beside` the open ones or were they all free; None: none."""
        if self._end is not None and self._clock() >= self._end:
            return "minutes"
        calls, tokens, cost = self._spent_calls + 1, self._spent_tokens + tokens, self._spent_cost + cost
        if beside:
            calls, tokens, cost = calls + self._open_calls, tokens + self._open_tokens, cost + self._open_cost
        if self.calls is not None and calls > self.calls:
            return "calls"
        if self.tokens is not None and tokens > self.tokens:
            return "tokens"
        if self.cost is not None and cost > self.cost:
            return "cost"
        return None

    def _refusal(self, what: str, wanted: Reservation) -> BudgetSpentError:
        if what == "minutes":
            return BudgetSpentError(what, f"the {self.minutes:g} minutes of this session are over")
        if what == "calls":
            return BudgetSpentError(what, f"{self._spent_calls:,} of {self.calls:,} calls made")
        if what == "tokens":
            spent = f"{self._spent_tokens:,} of {self.tokens:,} tokens spent"
            return BudgetSpentError(what, f"{spent}; the next request may take up to {wanted.tokens:,}")
        spent = f"{dollars(self._spent_cost)} of {dollars(self.cost or 0)} spent"
        return BudgetSpentError(what, f"{spent}; the next request may cost up to {dollars(wanted.cost)}")


def _rest(bound: int | None, taken: int) -> int | None:
    return None if bound is None else max(0, bound - taken)


SPENT_FILE = "spent.json"


class _SpentFile(msgspec.Struct, kw_only=True):
    version: int = 1
    calls: int
    tokens: int
    picodollars: int


def load_spent(folder: Path) -> Spent:
    """What was written last; nothing where no session had a budget.

    Raises
    ------
    StoreError
        When the file cannot be read.
    """
    path = folder / SPENT_FILE
    try:
        file = msgspec.json.decode(path.read_bytes(), type=_SpentFile)
    except FileNotFoundError:
        return Spent()
    except (OSError, ValueError) as error:
        remedy = "restore it, or remove it to count only what the rows say"
        raise StoreError(f"{path}: cannot be read ({error}); {remedy}") from error
    return Spent(file.calls, file.tokens, file.picodollars)


class Account:
    """Keeps the account of a budget in a run folder that we hold; of a budget without bounds, none."""

    def __init__(self, folder: Path, budget: Budget) -> None:
        self.path, self.budget = folder / SPENT_FILE, budget
        self._written = budget.spent

    def keep(self) -> None:
        """Write it, if it has changed.

        Raises
        ------
        StoreError
            When the folder cannot be written.
        """
        told = self.budget.account
        if told == self._written or not self.budget.is_counted:
            return
        file = _SpentFile(calls=told.calls, tokens=told.tokens, picodollars=told.cost)
        with replace_file(self.path) as new:
            new.write_bytes(msgspec.json.encode(file) + b"\n")
        self._written = told
