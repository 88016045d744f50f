"""Every exception and warning of howsure.

::

    HowsureError                 anything howsure raises on purpose
    ├── InputError                wrong use or unreadable input: what, where, how to mend it (exit code 2)
    │   └── UnknownNameError      a model, benchmark, column or key that does not exist (did you mean ...)
    ├── StoreError                a run folder that cannot be read or written
    └── EndpointError             one request to a model failed; the row keeps `reason`
        └── FatalEndpointError    no request to this model can succeed (wrong key, unknown model): stop it at once

    HowsureWarning               something the numbers should be read with
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "EndpointError",
    "FatalEndpointError",
    "HowsureError",
    "HowsureWarning",
    "InputError",
    "StoreError",
    "UnknownNameError",
]


class HowsureError(Exception):
    """Anything howsure raises on purpose."""


class HowsureWarning(UserWarning):
    """Something the numbers should be read with."""


class InputError(HowsureError):
    """Wrong use or unreadable input, told in one line.

    Parameters
    ----------
    what
        What is wrong, with the value that was given.
    where
        File, line, column or parameter; empty when `what` says it.
    remedy
        How to mend it.

    >>> print(InputError("no column 'score'", where="a.csv", remedy="name it with --columns score=NAME"))
    a.csv: no column 'score'; name it with --columns score=NAME
    """

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what, self.where, self.remedy = what, where, remedy
        text = f"{where}: {what}" if where else what
        super().__init__(" ".join(f"{text}; {remedy}".split()) if remedy else " ".join(text.split()))


class UnknownNameError(InputError):
    """A name that does not exist, with the nearest that do.

    >>> print(UnknownNameError("model", "medum", ["small", "medium"]))
    unknown model 'medum'; did you mean 'medium'?
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], *, where: str = "") -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        near = difflib.get_close_matches(name, self.known, n=3, cutoff=0.5)
        if near:
            remedy = "did you mean " + " or ".join(repr(n) for n in near) + "?"
        elif not self.known:
            remedy = f"there is no {kind} at all"
        else:
            shown = ", ".join(self.known[:12]) + (f", ... ({len(self.known)} in all)" if len(self.known) > 12 else "")
            remedy = f"known: {shown}"
        super().__init__(f"unknown {kind} {name!r}", where=where, remedy=remedy)


class StoreError(HowsureError):
    """A run folder that cannot be read or written."""


class EndpointError(HowsureError):
    """One request to a model failed.

    Attributes
    ----------
    reason
        One word for the row's `error` column: connection, timeout, rate_limit, server, malformed, empty, too_large,
        bad_request, n_rejected (this many generations in one request are refused), unauthorized, not_found, quota.
    status
        HTTP status, or None when no answer came.
    retry_after
        Seconds the endpoint asked to wait, or None.
    most
        Generations per request that the endpoint said it takes, or None: with n_rejected only.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: str,
        status: int | None = None,
        retry_after: float | None = None,
        most: int | None = None,
    ) -> None:
        self.reason, self.status, self.retry_after, self.most = reason, status, retry_after, most
        super().__init__(message)


class FatalEndpointError(EndpointError):
    """No request to this model can succeed: a wrong key, an unknown model, an empty account."""
