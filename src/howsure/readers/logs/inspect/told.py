"""What an Inspect log cannot say, and what was left out of it, in lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from howsure.readers.logs.inspect.file import Log

__all__ = ["lines"]

_ENDED = {"started": "has not ended", "cancelled": "was cancelled", "error": "was ended by an error"}
#: What is counted while reading, and what is said of it.
_COUNTED = {
    "lost texts": "{n} samples have no texts, since they are damaged or lost; their scores are there",
    "errors that count": "{n} errors that the harness counted as wrong are missing here; --missing as-zero counts them "
    "as 0",
    "errors": "{n} samples failed and have no score; the harness left them out too",
    "no number": "{n} scores are no numbers: they are errors here; --scorer may read another",
    "unscored": "{n} samples were not scored",
    "limited": "{n} samples reached a limit (tokens, messages, time) and were scored as they stood",
    "unscored choices": "{width} completions of each request are kept and only the first was scored: howsure rescore "
    "scores the others",
    "further": "{n} completions beyond the {width} of each request are left out",
}


def lines(log: Log, count: Counter[str], width: int) -> Iterator[str]:
    """One line for each kind.

    Parameters
    ----------
    count
        What was met while reading, by the names of this module's table.
    width
        Completions of each request.
    """
    yield from log.told
    if log.lost:
        yield f"{log.lost} samples are damaged and left out"
    if ended := _ended(log):
        yield ended
    if log.header.invalidated:
        yield "it was marked as invalidated: somebody found that samples of it should not count"
    if log.repeated:
        yield f"{log.repeated} samples are there twice, since they were run again: the last of each is read"
    yield from (line.format(n=count[name], width=width) for name, line in _COUNTED.items() if count[name])
    reducers = log.header.eval.config.epochs_reducer
    if isinstance(reducers, list) and reducers and reducers != ["mean"]:
        listed = ", ".join(str(name)[:40] for name in reducers[:4])
        yield f"the harness reduced epochs by {listed}: its own number is no mean of these scores"


def _ended(log: Log) -> str | None:
    """How much of what was planned is there, where it is not all."""
    there, planned = len(log.keys), _planned(log)
    status = log.header.status
    if log.header.eval.config.log_samples is False and not there:
        return "no samples are kept in it (log_samples was off): there is nothing to read"
    if status != "success":
        of = f" of {planned} planned" if planned else ""
        return f"the run {_ENDED.get(status, f'ended as {status[:20]!r}')}: {there}{of} samples are there"
    return f"{there} of {planned} planned samples are there" if there < planned else None


def _planned(log: Log) -> int:
    """Samples times epochs, or 0 where the log does not say."""
    if log.header.results and log.header.results.total_samples:
        return log.header.results.total_samples
    dataset = log.header.eval.dataset
    questions = len(dataset.sample_ids) if dataset.sample_ids else dataset.samples or 0
    return questions * (log.header.eval.config.epochs or 1)
