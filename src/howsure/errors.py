"""Every exception and warning that howsure raises.

::

    HowsureError                   base class of all exceptions of this package
    ├── InputError                 wrong use or unreadable input; also a ValueError (exit code 2)
    │   ├── UnknownNameError       a model, benchmark, column or key that does not exist
    │   └── EmptyShardError        a benchmark has no question in one shard of a run
    ├── StoreError                 a run folder that cannot be read or written
    ├── EndpointError              one request to a model failed; the row records the reason
    │   └── FatalEndpointError     no request to this model can succeed (wrong key, unknown model)
    ├── BudgetSpentError           the budget of a run does not allow the next request
    ├── SamplingStoppedError       a model sends no further requests, so that what waits for its rows must end
    └── ResourceLimitError         a sandboxed call exceeded its time or memory

    HowsureWarning                 something that should be known when the numbers are read

Messages say what is wrong, where, and how to fix it. The command line prints them on one line and exits with code 2.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any


class HowsureError(Exception):
    """Base class of all exceptions that howsure raises on purpose.

    Examples
    --------
    >>> try:
    ...     raise InputError("level is 95", remedy="give .95")
    ... except HowsureError as error:
    ...     print(error)
    level is 95; give .95
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # The arguments of a subclass are not those of Exception, with which pickle would construct it again.
        return _restore, (type(self), self.args, vars(self))


class HowsureWarning(UserWarning):
    """Something that should be known when the numbers are read.

    Parameters
    ----------
    message
        What should be known, in one line.
    benchmarks
        Names of the benchmarks that it is about; () if it is about all that are read.
    note
        The `notes.Note` whose sentence it is; None for a warning without a code.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warnings.warn("one benchmark has one model", HowsureWarning, stacklevel=1)
    >>> str(caught[0].message)
    'one benchmark has one model'
    """

    def __init__(self, message: str, *, benchmarks: Iterable[str] = (), note: Any = None) -> None:
        self.benchmarks, self.note = tuple(benchmarks), note
        super().__init__(message)


class InputError(HowsureError, ValueError):
    """Wrong use or unreadable input.

    Parameters
    ----------
    what
        What is wrong, with the value that was given.
    where
        File, line, column or parameter; empty if `what` names it.
    remedy
        How to fix it.
    code
        What kind of refusal it is, such as "repeated-key"; empty where nobody needs to tell it from others.
    options
        Options of the command line with which the input is read, such as `("--columns", "model=method")`; they are
        printed as a command, and `--format json` has them.

    Examples
    --------
    >>> print(InputError("no column 'score'", where="a.csv", remedy="name it with --columns score=NAME"))
    a.csv: no column 'score'; name it with --columns score=NAME
    """

    def __init__(
        self, what: str, *, where: str = "", remedy: str = "", code: str = "", options: Sequence[str] = ()
    ) -> None:
        self.what, self.where, self.remedy = what, where, remedy
        self.code, self.options = code, tuple(options)
        text = f"{where}: {what}" if where else what
        super().__init__(" ".join(f"{text}; {remedy}".split()) if remedy else " ".join(text.split()))


class UnknownNameError(InputError):
    """A name that does not exist; the message suggests the nearest names that do.

    Parameters
    ----------
    kind
        What the name should name: model, benchmark, column, scorer, ...
    name
        The name that was given.
    names
        The names that exist.
    where
        File, line, column or parameter.

    Examples
    --------
    >>> print(UnknownNameError("model", "medum", ["small", "medium"]))
    unknown model 'medum'; did you mean 'medium'?
    """

    def __init__(self, kind: str, name: str, names: Iterable[str], *, where: str = "") -> None:
        self.kind, self.name, self.names = kind, name, sorted(names)
        near = difflib.get_close_matches(str(name), self.names, n=3, cutoff=0.6)
        if near:
            remedy = "did you mean " + " or ".join(repr(n) for n in near) + "?"
        elif not self.names:
            remedy = f"there is no {kind} at all"
        else:
            first = ", ".join(self.names[:12]) + (f", ... ({len(self.names)} in all)" if len(self.names) > 12 else "")
            remedy = f"known: {first}"
        super().__init__(f"unknown {kind} {name!r}", where=where, remedy=remedy)


class EmptyShardError(InputError):
    """A benchmark has fewer questions than the run has shards, and none in this shard.

    Examples
    --------
    >>> print(EmptyShardError("sums", 2, shard=3))
    --shard: none of the 2 questions of sums is in shard 3; use fewer shards
    """

    def __init__(self, benchmark: str, n_questions: int, *, shard: int) -> None:
        what = f"none of the {n_questions} questions of {benchmark} is in shard {shard}"
        super().__init__(what, where="--shard", remedy="use fewer shards")


class StoreError(HowsureError):
    """A run folder cannot be read or written.

    Examples
    --------
    >>> str(StoreError("run: the manifest cannot be read"))
    'run: the manifest cannot be read'
    """


class EndpointError(HowsureError):
    """One request to a model failed.

    Attributes
    ----------
    reason
        One word for the row's `error` column: connection, timeout, rate_limit, server, malformed, empty, too_large,
        bad_request, n_rejected (this many generations in one request are refused), unauthorized, not_found, quota.
    status
        HTTP status, or None if no reply arrived.
    retry_after
        Seconds that the endpoint asks to wait, or None.
    most
        Generations per request that the endpoint accepts according to its message, or None; with n_rejected only.

    Examples
    --------
    >>> error = EndpointError("the server is busy", reason="server", status=503, retry_after=2.0)
    >>> error.reason, error.status, error.retry_after
    ('server', 503, 2.0)
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
    """No request to this model can succeed: the key is wrong, the model unknown, or the account empty."""


class BudgetSpentError(HowsureError):
    """The budget of a run does not allow the next request; the run ends as planned.

    Attributes
    ----------
    what
        The limit that was reached: calls, tokens, minutes or cost.
    """

    def __init__(self, what: str, message: str) -> None:
        self.what = what
        super().__init__(message)


class SamplingStoppedError(HowsureError):
    """A model sends no further requests, so that rows which are still missing will not arrive."""


class ResourceLimitError(HowsureError):
    """A call in a sandboxed subprocess exceeded its time or its memory."""


def _restore(kind: type[HowsureError], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> HowsureError:
    """Return an exception as it was before it was pickled."""
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error


def require_modules(purpose: str, extra: str, *names: str) -> None:
    """Import optional libraries; raise `InputError` with the extra that installs them if one is missing."""
    for name in names:
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            raise InputError(f"{purpose} needs {error.name}", remedy=f"pip install 'howsure[{extra}]'") from error


def first_line(error: BaseException | str) -> str:
    r"""Return the first line of another library's error, without runs of spaces and at most 200 characters long.

    >>> first_line(ValueError("no  such file\nin the catalogue"))
    'no such file'
    """
    return " ".join(str(error).strip().partition("\n")[0].split())[:200]
