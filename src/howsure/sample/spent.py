"""`spent.json` of a run folder: what its sessions have spent of a budget, at most.

Rows do not tell it all: a request that was refused, or whose reply was cut or told no usage, left no row that counts.
Written twice a second with the worst case of what is in flight, so that a kill forgets nothing but what was sent since;
at the end with what was spent.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from howsure.errors import StoreError
from howsure.sample.budget import Budget, Spent
from howsure.store.atomic import replacing

__all__ = ["NAME", "Account", "load"]

NAME = "spent.json"


class _File(msgspec.Struct, kw_only=True):
    version: int = 1
    calls: int
    tokens: int
    picodollars: int


def load(folder: Path) -> Spent:
    """What was written last; nothing where no session had a budget.

    Raises
    ------
    StoreError
        When the file cannot be read.
    """
    path = folder / NAME
    try:
        file = msgspec.json.decode(path.read_bytes(), type=_File)
    except FileNotFoundError:
        return Spent()
    except (OSError, ValueError) as error:
        remedy = "restore it, or remove it to count only what the rows say"
        raise StoreError(f"{path}: cannot be read ({error}); {remedy}") from error
    return Spent(file.calls, file.tokens, file.picodollars)


class Account:
    """Keeps the account of a budget in a run folder that we hold; of a budget without bounds, none."""

    def __init__(self, folder: Path, budget: Budget) -> None:
        self.path, self.budget = folder / NAME, budget
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
        file = _File(calls=told.calls, tokens=told.tokens, picodollars=told.cost)
        with replacing(self.path) as new:
            new.write_bytes(msgspec.json.encode(file) + b"\n")
        self._written = told
