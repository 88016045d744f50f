"""Verdicts of reviewers: an append-only file of JSON lines that can be kept in git.

Lines may be concatenated, merged, duplicated or reordered: the state is that of the lines sorted by `when` and
then by content. The newest line of a key is its verdict; "undone" takes it back. The key is a hash of what the question
says and of its target, so a verdict outlives re-runs and new ids, and a corrected question needs a new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, get_args

import msgspec

from howsure.errors import HowsureWarning, InputError
from howsure.stats.core.cells import Cells

__all__ = [
    "NOTE_LENGTH",
    "REJECTED",
    "VERDICTS",
    "Verdict",
    "Word",
    "append",
    "content_key",
    "current",
    "exclude",
    "excluded",
    "history",
    "load",
    "moment",
]

Word = Literal["mislabeled", "ambiguous", "fine", "undone"]
#: What a reviewer may say of a question.
VERDICTS: tuple[str, ...] = get_args(Word)[:3]
#: Verdicts that leave a question out.
REJECTED = ("mislabeled", "ambiguous")
#: Characters of a note, at most.
NOTE_LENGTH = 4000

_WHEN = "%Y-%m-%dT%H:%M:%S.%fZ"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What one reviewer said of one question at one time."""

    benchmark: str
    question: str
    """Its id when it was reviewed."""
    key: str
    """`content_key` of what was reviewed."""
    verdict: Word
    note: str = ""
    reviewer: str = ""
    when: str
    """UTC as `moment` writes it, to the microsecond: sorting the text sorts the time."""

    def __post_init__(self) -> None:
        datetime.strptime(self.when, _WHEN).replace(tzinfo=UTC)  # msgspec tells a ValueError with its line


def content_key(text: str, target: str | None) -> str:
    """Hash of a question's text, with its choices where it has some, and of its target: 16 hexadecimal digits.

    >>> content_key("What is 2 + 2?", "4")
    '7196e5f92aa9a022'
    """
    content = json.dumps([text, target]).encode()  # escaped: a lone surrogate does no harm
    return hashlib.sha256(content).hexdigest()[:16]


def moment(seconds: float) -> str:
    """Seconds since the epoch as a verdict's `when`.

    >>> moment(0.25)
    '1970-01-01T00:00:00.250000Z'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime(_WHEN)


def append(path: Path, verdict: Verdict) -> Verdict:
    """Add a line, on the disk when this returns; the verdict as written.

    Where the file has a newer line on the same key, by a clock that was ahead, `when` is moved just past it.

    Raises
    ------
    InputError
        When the file cannot be written, or holds no verdicts but something else.
    """
    latest = max((one.when for one in history(path, missing=True, warn=_ignore) if one.key == verdict.key), default="")
    if verdict.when <= latest:
        after = datetime.strptime(latest, _WHEN).replace(tzinfo=UTC) + timedelta(microseconds=1)
        verdict = msgspec.structs.replace(verdict, when=after.strftime(_WHEN))
    try:
        with path.open("a+b") as file:
            file.seek(0, os.SEEK_END)
            if end := file.tell():
                file.seek(end - 1)
            # A line that was cut off by a crash stays alone on its line.
            torn = end > 0 and file.read(1) != b"\n"
            file.write(b"\n" * torn + msgspec.json.encode(verdict) + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        raise InputError(what, where=str(path), remedy="name a file with --verdicts") from error
    return verdict


def history(path: Path, *, missing: bool = False, warn: Callable[[str], None] | None = None) -> list[Verdict]:
    """Return every verdict in the file once, in order; other lines are left out with a warning.

    Parameters
    ----------
    path
        A file that `append` made.
    missing
        Whether a file that is not there holds no verdicts; else it is an error.
    warn
        Called with a message about lines that are not verdicts; default: a warning.

    Raises
    ------
    InputError
        When the file cannot be read, or not one of its lines is a verdict.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        if missing and isinstance(error, FileNotFoundError):
            return []
        what = f"cannot be read: {error.strerror}"
        raise InputError(what, where=str(path), remedy="howsure review makes such a file") from error
    decoder = msgspec.json.Decoder(Verdict)
    unique: set[Verdict] = set()
    bad: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                unique.add(decoder.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                bad.append((number, "the line is cut off" if number == len(lines) else str(error)))
    if bad:
        number, why = bad[0]
        if not unique:
            remedy = "give a file that howsure review made"
            raise InputError(f"no line is a verdict, the first: {why}", where=f"{path}, line {number}", remedy=remedy)
        more = f", and {len(bad) - 1} more lines" if len(bad) > 1 else ""
        (warn or _warn)(f"{path}, line {number}{more}: no verdict, left out ({why})")
    return sorted(unique, key=lambda one: (one.when, msgspec.json.encode(one)))


def _warn(what: str) -> None:
    warnings.warn(what, HowsureWarning, stacklevel=3)


def _ignore(_: str) -> None:
    """Ignore a warning: appending a line leaves nothing out."""


def current(verdicts: Iterable[Verdict]) -> dict[str, Verdict]:
    """The verdict of each key, given all in order; what was undone is not there."""
    last = {one.key: one for one in verdicts}
    return {key: one for key, one in last.items() if one.verdict != "undone"}


def load(path: Path) -> dict[str, Verdict]:
    """The verdict of each key as the file stands; see `history` for what it raises and tells."""
    return current(history(path))


def excluded(verdicts: Iterable[Verdict]) -> dict[str, set[str]]:
    """Ids of the rejected questions by benchmark; of an id that was reviewed with two contents, the newer counts."""
    newest: dict[tuple[str, str], Verdict] = {}
    for one in sorted(verdicts, key=lambda one: one.when):
        newest[one.benchmark, one.question] = one
    out: dict[str, set[str]] = {}
    for (benchmark, question), one in newest.items():
        if one.verdict in REJECTED:
            out.setdefault(benchmark, set()).add(question)
    return out


def exclude(
    runs: Sequence[Cells], verdicts: Mapping[str, Verdict], *, keys: Mapping[tuple[str, str], str] | None = None
) -> tuple[list[Cells], list[str]]:
    """The cells without rejected questions, and what was done, a line each.

    Parameters
    ----------
    runs
        Cells, one per benchmark.
    verdicts
        As `load` gives them.
    keys
        `content_key` by (benchmark, question), where it is known. A question is then also left out for its content
        under another id, and one that says something else than when it was rejected is left out with a warning.

    Raises
    ------
    InputError
        When no question of a benchmark would be left.
    """
    keys = keys or {}
    by_id = excluded(verdicts.values())
    rejected = {key: one for key, one in verdicts.items() if one.verdict in REJECTED}
    words = {(one.benchmark, one.question): one.verdict for one in sorted(rejected.values(), key=lambda one: one.when)}
    selected: list[Cells] = []
    messages: list[str] = []
    for cells in runs:
        key_of = {question: keys.get((cells.benchmark, question)) for question in cells.questions}
        out: dict[str, str] = {}
        changed = []
        for question, key in key_of.items():
            if key in rejected:
                out[question] = rejected[key].verdict
            elif question in by_id.get(cells.benchmark, ()):
                # The new content may have been reviewed as well, and found fine.
                if key is not None and key in verdicts:
                    continue
                out[question] = words[cells.benchmark, question]
                changed += [question] if key is not None else []
        if changed:
            examples = ", ".join(map(repr, changed[:3])) + (" ..." if len(changed) > 3 else "")
            what = f"{cells.benchmark}: {len(changed)} rejected questions read otherwise when they were reviewed"
            warnings.warn(f"{what}: {examples}; they are left out: review them again", HowsureWarning, stacklevel=2)
        if out and len(out) == len(cells.questions):
            remedy = "is it the right file of verdicts?"
            raise InputError("the verdicts leave no question", where=cells.benchmark, remedy=remedy)
        selected.append(cells.select(questions=[q for q in cells.questions if q not in out]) if out else cells)
        count = Counter(out.values())
        why = ", ".join(f"{count[word]} {word}" for word in REJECTED if count[word])
        left_out = f"{len(out)} of {len(cells.questions)} questions left out"
        messages.append(f"{cells.benchmark}: {left_out}" + (f" ({why})" if why else ""))
        if absent := by_id.get(cells.benchmark, set()) - set(cells.questions):
            messages.append(f"{cells.benchmark}: {len(absent)} rejected questions are not among the results")
    return selected, messages
