"""The order in which questions are met: all by suspicion, the reader's choice of them, and who comes next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self
from urllib.parse import urlencode

from howsure.review.queue import Suspect, suspects
from howsure.review.texts import QuestionView, Texts
from howsure.review.verdicts import VERDICTS, Verdict

__all__ = ["SHOWS", "STATES", "Choice", "Entry", "listed", "neighbours"]

#: Which questions, and with which verdict.
SHOWS = ("suspects", "all")
STATES = ("open", "any", *VERDICTS)


class Entry(NamedTuple):
    """A question of the queue."""

    view: QuestionView
    suspect: Suspect


class Choice(NamedTuple):
    """What the reader wants to see; kept in every address."""

    show: str = "suspects"
    state: str = "open"
    within: str = ""
    """A benchmark, or all."""
    find: str = ""
    """Text that the id or the question contains."""

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Self:
        """From the fields of an address or a form; what it does not know is the default."""
        show, state = fields.get("show", ""), fields.get("state", "")
        return cls(
            show if show in SHOWS else SHOWS[0],
            state if state in STATES else STATES[0],
            fields.get("within", ""),
            fields.get("find", "").strip()[:200],
        )

    def fields(self) -> dict[str, str]:
        """What is not the default."""
        return {name: value for name, value in self._asdict().items() if value != self._field_defaults[name]}

    def address(self, path: str, **more: str) -> str:
        """An address within the app that keeps the choice."""
        query = urlencode(more | self.fields())
        return f"{path}?{query}" if query else path

    def takes(self, entry: Entry, verdicts: Mapping[str, Verdict]) -> bool:
        """Whether the reader wants to see it."""
        return self.holds(entry) and self.state in {"any", state(entry, verdicts)}

    def holds(self, entry: Entry) -> bool:
        """The same, whatever its verdict."""
        if (self.show == "suspects" and not entry.suspect.is_suspect) or self.within not in {"", entry.view.benchmark}:
            return False
        find = self.find.casefold()
        return find in entry.view.question.casefold() or find in entry.view.text.casefold()


def state(entry: Entry, verdicts: Mapping[str, Verdict]) -> str:
    """Its verdict, or "open"."""
    return verdicts[entry.view.key].verdict if entry.view.key in verdicts else "open"


def listed(texts: Texts) -> list[Entry]:
    """Every question, the most suspicious first."""
    views = {(view.benchmark, view.question): view for view in texts.questions()}
    found: list[Entry] = []
    for benchmark in sorted({benchmark for benchmark, _ in views}):
        targets = {view.question: view.target for view in views.values() if view.benchmark == benchmark}
        found += [
            Entry(views[benchmark, suspect.question], suspect)
            for suspect in suspects(benchmark, texts.counts(benchmark), targets)
        ]
    return sorted(found, key=lambda entry: -entry.suspect.suspicion)


def neighbours(
    entries: Sequence[Entry], place: int, choice: Choice, verdicts: Mapping[str, Verdict]
) -> tuple[Entry | None, Entry | None]:
    """The nearest wanted questions before and after a place, which may itself be wanted no longer."""
    before = (entry for entry in reversed(entries[:place]) if choice.takes(entry, verdicts))
    after = (entry for entry in entries[place + 1 :] if choice.takes(entry, verdicts))
    return next(before, None), next(after, None)
