"""What scorers of Inspect gave: which there are, and what a sample came to by one of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from howsure.readers.logs.base import UNSCORED, parse_score
from howsure.readers.logs.inspect.file import Log
from howsure.readers.logs.inspect.records import Score, Summary

__all__ = ["judged", "scorers", "text_of"]

#: Why no answer was read, as Inspect's own scorers write it beside a score of 0.
_NO_ANSWER = frozenset({"invalid_response_format", "no_response"})


def scorers(log: Log) -> dict[str, tuple[str, str | None]]:
    """What can be read as a score: a scorer, or one key of what it gives; those that the harness reports come first."""
    found: dict[str, tuple[str, str | None]] = {}
    for summary in log.keys.values():
        for scorer, score in _scores(summary, log).items():
            if isinstance(score.value, dict):
                found.update({f"{scorer}/{key}": (scorer, key) for key in score.value})
            elif isinstance(score.value, list):
                found.update({f"{scorer}/{i}": (scorer, str(i)) for i in range(len(score.value))})
            elif scorer not in found:
                found[scorer] = scorer, None
    # A scorer that left some samples unscored and gave a dict for the others has no number of its own.
    parted = {scorer for scorer, key in found.values() if key is not None}
    found = {name: place for name, place in found.items() if place[1] is not None or place[0] not in parted}
    results = log.header.results
    if results is None:
        return found
    reported = [(one.name, one.scorer) for one in results.scores]
    if results.headline:
        reported.insert(0, (results.headline.score or "", results.headline.scorer))
    names = [name for score, scorer in reported for name in (f"{scorer}/{score}", score) if name in found]
    return {name: found[name] for name in (*names, *found)}


def _scores(summary: Summary, log: Log) -> dict[str, Score]:
    if summary.score is None:
        return summary.scores or {}
    results = log.header.results
    return {results.scores[0].name if results and results.scores else "score": summary.score}


def judged(
    sample: Summary, place: tuple[str, str | None] | None, count: Counter[str]
) -> tuple[float | None, str, str | None, str | None]:
    """Score, status, answer and error of a sample."""
    found = (sample.scores or {}).get(place[0]) if place else None
    if found is None and sample.score is not None:
        found = sample.score
    value = found.value if found else None
    if place and place[1] is not None:
        if isinstance(value, dict):
            value = value.get(place[1])
        elif isinstance(value, list):
            value = value[int(place[1])] if int(place[1]) < len(value) else None
    try:
        score, fault = parse_score(value), None
    except (ValueError, OverflowError):
        score, fault = None, f"scoring: {value!r:.100} is no score"
    if sample.error:
        count["errors" if score is None else "errors that count"] += 1
        return None, "error", None, _failure(sample.error)
    if fault:
        count["no number"] += 1
        return None, "error", None, fault
    if found is None or score is None:
        count["unscored"] += 1
        return None, UNSCORED, None, None
    count["limited"] += bool(sample.limit)
    if (isinstance(value, str) and value.strip().upper() == "N") or (score == 0 and found.reason in _NO_ANSWER):
        return score, "unparsed", None, None
    return score, "ok", text_of(found.answer) or None, None


def _failure(error: Any) -> str:
    """`reason: message` of what Inspect notes, such as RuntimeError('...')."""
    said = error.get("message") if isinstance(error, dict) else error
    text = " ".join(str(said).split())
    name, bracket, rest = text.partition("(")
    if bracket and name.isidentifier():
        return f"{name}: {rest.removesuffix(')').strip(chr(39) + chr(34)) or 'no message'}"[:300]
    return f"error: {text or 'no message'}"[:300]


def text_of(value: Any) -> str | None:
    """A value that should be a text, as one."""
    return value if value is None or isinstance(value, str) else str(value)
