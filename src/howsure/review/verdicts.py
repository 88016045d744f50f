"""Read and append the verdicts of reviewers, in a file of JSON lines that can be kept in git.

Lines are only appended. They may be concatenated, merged, duplicated or reordered, because they are sorted by `when`
and then by content before they are used. The newest line of a reviewer on a key is the verdict of this reviewer, and
"undone" withdraws it; no line changes the verdict of another reviewer. Where reviewers differ, a line of the role
"adjudication" decides. The key is a hash of the text and the target of the question, so a verdict stays valid after
re-runs and under new ids, and a corrected question needs a new verdict.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import msgspec
import numpy as np

from howsure.errors import InputError
from howsure.notes import Note, warn
from howsure.stats.core.cells import Cells, mean_where
from howsure.stats.judges import LabelAgreement, measure_agreement

Word = Literal["mislabeled", "ambiguous", "fine", "unsure", "undone"]
#: The verdicts that a reviewer may give on a question.
VERDICTS: tuple[str, ...] = get_args(Word)[:4]
#: The verdicts that an adjudication may give.
FINAL_VERDICTS: tuple[str, ...] = VERDICTS[:3]
#: The verdicts for which `exclude` leaves a question out.
REJECTED = ("mislabeled", "ambiguous")
#: Whether a verdict is that of one reviewer, or the final one on a question on which reviewers differ.
Role = Literal["review", "adjudication"]
#: What a decision on a question rests on.
Basis = Literal["one vote", "agreement", "adjudication", "disagreement", "unsure"]
_DECIDED: tuple[Basis, ...] = get_args(Basis)[:3]
#: Largest number of characters of a corrected answer.
ANSWER_LENGTH = 1000
#: Largest number of characters of a note.
NOTE_LENGTH = 4000

_WHEN = "%Y-%m-%dT%H:%M:%S.%fZ"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of one reviewer on one question at one time.

    Examples
    --------
    >>> key = content_key("What is 2 + 2?", "5")
    >>> one = Verdict(benchmark="sums", question="q1", key=key, verdict="mislabeled", note="it is 4", when=moment(0.0))
    >>> one.verdict, one.when
    ('mislabeled', '1970-01-01T00:00:00.000000Z')
    """

    benchmark: str
    question: str
    """Id of the question when it was reviewed."""
    key: str
    """`content_key` of the text and the target that were reviewed."""
    verdict: Word
    note: str = ""
    reviewer: str = ""
    answer: str = ""
    """Right answer of a mislabeled question, in the form of its target; empty where the reviewer gave none."""
    role: Role = "review"
    when: str
    """Time in UTC as `moment` formats it, to the microsecond, so that sorting the texts sorts the times."""

    def __post_init__(self) -> None:
        datetime.strptime(self.when, _WHEN).replace(tzinfo=UTC)  # msgspec reports this ValueError


def content_key(text: str, target: str | None) -> str:
    """Return a hash of a question's text (with its choices, if it has some) and target: 16 hexadecimal digits.

    >>> content_key("What is 2 + 2?", "4")
    '7196e5f92aa9a022'
    """
    content = json.dumps([text, target]).encode()  # escapes lone surrogates, which UTF-8 cannot encode
    return hashlib.sha256(content).hexdigest()[:16]


def moment(seconds: float) -> str:
    """Return seconds since the epoch in the format of a verdict's `when`.

    >>> moment(0.25)
    '1970-01-01T00:00:00.250000Z'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime(_WHEN)


def append(path: Path, verdict: Verdict) -> Verdict:
    """Append a verdict to the file, and return it as it was written; the line is on disk when this returns.

    If the file has a newer line with the same key, written by a clock that was ahead, `when` is set to one microsecond
    after that line.

    Raises
    ------
    InputError
        When the file cannot be written, or contains lines of which none is a verdict.
    """
    latest = max((one.when for one in history(path, missing=True, note=_ignore) if one.key == verdict.key), default="")
    if verdict.when <= latest:
        after = datetime.strptime(latest, _WHEN).replace(tzinfo=UTC) + timedelta(microseconds=1)
        verdict = msgspec.structs.replace(verdict, when=after.strftime(_WHEN))
    try:
        with open(path, "a+b", opener=partial(os.open, mode=0o600)) as file:  # verdicts name the people who gave them
            file.seek(0, os.SEEK_END)
            if end := file.tell():
                file.seek(end - 1)
            # A line that a crash cut off gets a line break, so that the new verdict starts on its own line.
            torn = end > 0 and file.read(1) != b"\n"
            file.write(b"\n" * torn + msgspec.json.encode(verdict) + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _build_write_error(path, error) from error
    return verdict


def check_writable(path: Path) -> None:
    """Raise InputError, before anybody gives a verdict, if none can be appended to the file; it is not created.

    Examples
    --------
    >>> try:
    ...     check_writable(Path("no such folder", "verdicts.jsonl"))
    ... except InputError as error:
    ...     print(error)
    no such folder/verdicts.jsonl: cannot be written: No such file or directory; name a file with --verdicts
    """
    try:
        if path.exists():
            path.open("ab").close()
        else:
            tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise _build_write_error(path, error) from error


def _build_write_error(path: Path, error: OSError) -> InputError:
    """Return the error of a file that takes no verdict."""
    return InputError(f"cannot be written: {error.strerror}", where=str(path), remedy="name a file with --verdicts")


def history(path: Path, *, missing: bool = False, note: Callable[[Note], None] = warn) -> list[Verdict]:
    """Return every verdict in the file once, in order; other lines are left out with a warning.

    Parameters
    ----------
    path
        A file that `append` made.
    missing
        Whether a file that does not exist is read as a file without verdicts; otherwise it is an error.
    note
        Function that is called with a note on lines that are not verdicts; the default issues a warning.

    Raises
    ------
    InputError
        When the file cannot be read, or has lines of which none is a verdict.
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
            raise InputError(f"no line is a verdict: {why}", where=f"{path}, line {number}", remedy=remedy)
        note(Note("no-verdict", f"{path}, line {number}", n=len(bad), facts={"why": why}))
    return sorted(unique, key=lambda one: (one.when, msgspec.json.encode(one)))


def _ignore(_: Note) -> None:
    """Ignore a note on lines that are not verdicts, since appending does not remove them."""


class Decision(NamedTuple):
    """What the reviewers together say of a question.

    Examples
    --------
    >>> reviews = [
    ...     Verdict(benchmark="b", question="q", key="k", verdict=word, reviewer=name, when=moment(0.0))
    ...     for name, word in [("ada", "mislabeled"), ("bob", "fine")]
    ... ]
    >>> decision = decide(reviews)["k"]
    >>> decision.basis, decision.is_rejected, decision.needs_adjudication
    ('disagreement', False, True)
    """

    reviews: tuple[Verdict, ...]
    """The verdict of each reviewer, sorted by reviewer."""
    adjudications: tuple[Verdict, ...] = ()
    """The final verdict of each adjudicator, the newest last."""

    @property
    def basis(self) -> Basis:
        """What the decision rests on: a reviewer who is unsure has no vote."""
        words = self._list_words()
        if self.adjudications:
            return "adjudication"
        if not words:
            return "unsure"
        if len(words) == 1:
            return "one vote"
        return "agreement" if len({word in REJECTED for word in words}) == 1 else "disagreement"

    @property
    def verdict(self) -> str:
        """The verdict of the adjudication, else the words of the reviewers."""
        if self.adjudications:
            return self.adjudications[-1].verdict
        words = set(self._list_words()) or {"unsure"}
        return " or ".join(word for word in VERDICTS if word in words)

    @property
    def is_rejected(self) -> bool:
        """Whether the adjudication rejects the question, or every reviewer who is not unsure does."""
        words = [self.adjudications[-1].verdict] if self.adjudications else self._list_words()
        return bool(words) and all(word in REJECTED for word in words)

    @property
    def reviewers_differ(self) -> bool:
        """Whether several reviewers gave different verdicts or different answers, or are all unsure."""
        words = {one.verdict for one in self.reviews}
        answers = {one.answer for one in self.reviews if one.answer}
        return len(self.reviews) > 1 and (len(words) > 1 or len(answers) > 1 or words == {"unsure"})

    @property
    def needs_adjudication(self) -> bool:
        """Whether reviewers differ, and nobody has given a final verdict."""
        return self.reviewers_differ and not self.adjudications

    @property
    def answer(self) -> str:
        """The corrected answer, if the question is mislabeled and all who gave an answer gave this one; else empty."""
        lines = self.adjudications[-1:] or tuple(one for one in self.reviews if one.verdict != "unsure")
        answers = {one.answer for one in lines if one.answer}
        agreed = all(one.verdict == "mislabeled" for one in lines) and len(answers) == 1
        return answers.pop() if agreed else ""

    @property
    def newest(self) -> Verdict:
        """The line that was written last."""
        return max((*self.reviews, *self.adjudications), key=lambda one: one.when)

    @property
    def benchmark(self) -> str:
        """Name of the benchmark."""
        return self.newest.benchmark

    @property
    def question(self) -> str:
        """Id of the question when it was reviewed last."""
        return self.newest.question

    @property
    def note(self) -> str:
        """The notes, each behind the name of its reviewer where there are several."""
        notes = [one for one in (*self.reviews, *self.adjudications) if one.note]
        if len(notes) == 1:
            return notes[0].note
        return "\n".join(f"{one.reviewer or '(no name)'}: {one.note}" for one in notes)

    @property
    def reviewer(self) -> str:
        """The names of all who gave a verdict."""
        return ", ".join(dict.fromkeys(one.reviewer for one in (*self.reviews, *self.adjudications) if one.reviewer))

    @property
    def when(self) -> str:
        """Time of the newest line."""
        return self.newest.when

    def _list_words(self) -> list[str]:
        """Return the verdicts of the reviewers who are not unsure."""
        return [one.verdict for one in self.reviews if one.verdict != "unsure"]


def select_verdicts(verdicts: Iterable[Verdict], reviewer: str, role: Role = "review") -> dict[str, Verdict]:
    """Return the newest verdict of one reviewer on each key, without those withdrawn; `verdicts` are sorted by time."""
    last = {one.key: one for one in verdicts if (one.reviewer, one.role) == (reviewer, role)}
    return {key: one for key, one in last.items() if one.verdict != "undone"}


def decide(verdicts: Iterable[Verdict]) -> dict[str, Decision]:
    """Return what the reviewers together say of each key; `verdicts` are sorted by time."""
    last = {(one.key, one.reviewer, one.role): one for one in verdicts}
    reviews: defaultdict[str, list[Verdict]] = defaultdict(list)
    final: defaultdict[str, list[Verdict]] = defaultdict(list)
    for one in sorted(last.values(), key=lambda one: one.reviewer):
        if one.role == "review" and one.verdict in VERDICTS:
            reviews[one.key].append(one)
        elif one.role == "adjudication" and one.verdict in FINAL_VERDICTS:
            final[one.key].append(one)
    return {
        key: Decision(tuple(reviews[key]), tuple(sorted(final[key], key=lambda one: one.when)))
        for key in dict.fromkeys((*reviews, *final))
    }


def compare_reviewers(decisions: Iterable[Decision], *, level: float = 0.95) -> list[LabelAgreement]:
    """Return how far each pair of reviewers agrees on the questions to which both gave a verdict, unsure included."""
    words: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for one in decisions:
        for i, first in enumerate(one.reviews):
            for second in one.reviews[i + 1 :]:
                words[first.reviewer, second.reviewer].append((first.verdict, second.verdict))
    return [
        measure_agreement(*zip(*pairs, strict=True), reviewers=names, level=level, unit="questions")
        for names, pairs in sorted(words.items())
    ]


def load(path: Path) -> dict[str, Decision]:
    """Return the decision on each key in the file; `history` describes the errors and warnings."""
    return decide(history(path))


def excluded(decisions: Iterable[Decision]) -> dict[str, set[str]]:
    """Return the ids of rejected questions by benchmark; the newest verdict counts if an id had several contents."""
    out: dict[str, set[str]] = {}
    for (benchmark, question), one in _index_by_id(decisions).items():
        if one.is_rejected:
            out.setdefault(benchmark, set()).add(question)
    return out


def _index_by_id(decisions: Iterable[Decision]) -> dict[tuple[str, str], Decision]:
    """Return the decisions by benchmark and id, the newest if an id had several contents."""
    return {(one.benchmark, one.question): one for one in sorted(decisions, key=lambda one: one.when)}


def exclude(
    runs: Sequence[Cells],
    decisions: Mapping[str, Decision],
    *,
    keys: Mapping[tuple[str, str], str] | None = None,
    corrected_at: str = "",
) -> tuple[list[Cells], list[Note]]:
    """Return the cells without rejected questions, and notes for each benchmark on what was left out, and why.

    A question on which reviewers differ is not left out until somebody has adjudicated it.

    Parameters
    ----------
    runs
        Cells, one per benchmark.
    decisions
        Decisions by key, as `load` returns them.
    keys
        `content_key` by (benchmark, question), where it is known. With it, a question is also left out if its content
        was rejected under another id, and there is a warning if a question has another content than when it was
        rejected.
    corrected_at
        Of scores for the right answers of reviewers: when they were made, as `moment` formats it. Mislabeled questions
        with a right answer from before are not left out. Empty for scores for the stored targets.

    Raises
    ------
    InputError
        When no question of a benchmark would be left.
    """
    keys = keys or {}
    by_id = _index_by_id(decisions.values())
    selected: list[Cells] = []
    notes: list[Note] = []
    for cells in runs:
        here: dict[str, Decision] = {}
        changed = []
        for question in cells.questions:
            key = keys.get((cells.benchmark, question))
            earlier = by_id.get((cells.benchmark, question))
            if key is not None and key in decisions:
                here[question] = decisions[key]
            elif earlier is not None:
                here[question] = earlier
                changed += [question] if key is not None and earlier.is_rejected else []
        if changed:
            examples = ", ".join(map(repr, changed[:3])) + (" ..." if len(changed) > 3 else "")
            warn(_make_note("content-changed", cells, len(changed), examples=examples))
        corrected = {question for question, one in here.items() if one.answer and one.when < corrected_at}
        out = {question: one for question, one in here.items() if one.is_rejected and question not in corrected}
        if out and len(out) == len(cells.questions):
            remedy = "is it the right file of verdicts?"
            raise InputError("the verdicts reject every question", where=cells.benchmark, remedy=remedy)
        selected.append(cells.select(questions=[q for q in cells.questions if q not in out]) if out else cells)
        notes += _describe_decisions(cells, selected[-1], here, out)
        if corrected:
            notes.append(_make_note("corrected-questions", cells, len(corrected)))
        rejected = {
            name for (benchmark, name), one in by_id.items() if benchmark == cells.benchmark and one.is_rejected
        }
        if absent := rejected - set(cells.questions):
            notes.append(_make_note("rejected-elsewhere", cells, len(absent)))
    return selected, notes


def _make_note(code: str, cells: Cells, n: int, **facts: object) -> Note:
    """Return a note on questions of a benchmark."""
    return Note(code, cells.benchmark, (cells.benchmark,), n, facts)


def _describe_decisions(
    cells: Cells, selected: Cells, here: Mapping[str, Decision], out: Mapping[str, Decision]
) -> Iterator[Note]:
    """Yield how many questions of a benchmark are left out, on what, what that does, and how many are undecided."""
    words, bases = Counter(one.verdict for one in out.values()), Counter(one.basis for one in out.values())
    why = ", ".join(f"{n} {word}" for word, n in sorted(words.items(), reverse=True))
    on = ", ".join(f"{bases[basis]} on {basis}" for basis in _DECIDED if bases[basis])
    change = f" ({why}; {on}){_describe_mean_change(cells, selected)}" if out else ""
    yield _make_note("questions-excluded", cells, len(out), total=len(cells.questions), change=change)
    n_of_basis = Counter(one.basis for one in here.values())
    if n := n_of_basis["disagreement"]:
        yield _make_note("reviewers-differ", cells, n)
    if n := n_of_basis["unsure"]:
        yield _make_note("reviewers-unsure", cells, n)
    if n := sum(len({final.verdict for final in one.adjudications}) > 1 for one in here.values()):
        yield _make_note("adjudicators-differ", cells, n)


def _describe_mean_change(cells: Cells, selected: Cells) -> str:
    """Return how the mean score changes of the models that have one before and after; empty where none has."""
    before, after = (mean_where(each.mean, each.answered) for each in (cells, selected))
    has_both = np.isfinite(after)
    if not has_both.any():
        return ""
    which = "the models" if np.array_equal(has_both, np.isfinite(before)) else "the models that still have a score"
    return f"; the mean score of {which} goes from {before[has_both].mean():.3f} to {after[has_both].mean():.3f}"
