"""What a run folder, a log, a table and a frame have in common as sources of results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from howsure.errors import InputError
from howsure.notes import Note, note_omission

T = TypeVar("T")


class Source(ABC):
    """One run folder, log, table or frame; reading it adds to `notes`.

    Attributes
    ----------
    path
        The path, or the name that messages use for it.
    most_generations
        Only the first so many generations of each cell are read; None reads all.
    is_optional
        Whether a source that cannot be read is left out with a note, such as one of many files of a folder; else it is
        an error.
    notes
        What qualifies the results; complete once the source has been read.
    fault
        Why an optional source was left out; None where it was read.
    given_at
        Index, among the paths and frames that were given, of the one that it was found at.
    pass_at
        Least score that cells count as 1, in place of the scores; None where they are as they are.
    """

    path: str | Path

    def __init__(self, path: str | Path, most_generations: int | None = None, *, is_optional: bool = False) -> None:
        self.path, self.most_generations, self.is_optional = path, most_generations, is_optional
        self.notes: list[Note] = []
        self.fault: InputError | None = None
        self.given_at = 0
        self.pass_at: float | None = None

    @abstractmethod
    def group(self, make: Callable[..., T], dimensions: Sequence[str] = ()) -> T | None:
        """Return what `make_cells`, `make_runs` or `make_cubes` of `to_cells` makes of the rows; None without rows.

        `dimensions` are columns with the values of the variants, for `make_cubes`.
        """

    def manifest(self) -> dict[str, object] | None:
        """Return the manifest of a run folder, or what a log states of itself in its form; None for a table."""
        return None

    def note(self, note: Note) -> None:
        """Add a note that is not there yet."""
        if note not in self.notes:
            self.notes.append(note)

    def leave_out(self, error: InputError) -> None:
        """Note why an optional source is left out; raise the error of any other."""
        if not self.is_optional:
            raise error
        if self.fault is None:
            self.notes.append(note_omission(error))
        self.fault = error
