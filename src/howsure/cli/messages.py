"""Print errors, warnings and notes on stderr."""

from __future__ import annotations

import contextlib
import json
import sys

import click

from howsure.errors import HowsureWarning
from howsure.notes import Note, merge_notes
from howsure.safe_text import escape_control_characters, escape_json, mask_secrets

#: Longest line of an error or a warning, in characters; the middle of longer ones is left out.
_LONGEST_LINE = 2000
#: Notes that are printed without --verbose: the most severe ones.
_N_PRINTED = 3


class NotePrinter:
    """The notes of a command, printed together before its result: one line for each code, the most severe first.

    A command without --verbose prints each note when it comes.
    """

    def __init__(self) -> None:
        #: Whether notes wait for the result of a command, and whether each of them is printed.
        self.is_waiting = self.is_verbose = False
        self._waiting: dict[Note, None] = {}
        self._printed: set[object] = set()

    def show_warning(self, message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        """Print a warning of this package once, or let its note wait; drop warnings of other libraries."""
        if not issubclass(category, HowsureWarning):
            return
        note = getattr(message, "note", None)
        if self.is_waiting and isinstance(note, Note):
            self._waiting |= dict.fromkeys(note.parts or (note,))
        elif str(message) not in self._printed:
            self._printed.add(str(message))
            print_error(f"warning: {message}")

    def flush(self, *, as_json: bool = False) -> None:
        """Print the notes that wait; as JSON, they are one line of stderr, {"notes": [...]}."""
        new = [note for note in self._waiting if note not in self._printed]
        notes = sorted(new, key=lambda note: -note.template.severity)
        self._printed.update(notes)
        self._waiting.clear()
        if as_json:
            text = json.dumps({"notes": [note.to_record() for note in notes]}, ensure_ascii=False, default=str)
            if notes:
                _print_line(escape_json(mask_secrets(text)))
            return
        merged = merge_notes(notes)
        for note in notes if self.is_verbose else merged[:_N_PRINTED]:
            print_error(f"warning: {note}{f' [{note.code}]' * self.is_verbose}")
        if not self.is_verbose and len(merged) > _N_PRINTED:
            print_error(f"and {len(merged) - _N_PRINTED} more: --verbose")


def flush_notes(*, as_json: bool = False, stop_waiting: bool = False) -> None:
    """Print the notes that the command has gathered, before its result or before it takes long."""
    context = click.get_current_context(silent=True)
    printer = context.find_object(NotePrinter) if context else None
    if printer is not None:
        printer.flush(as_json=as_json)
        printer.is_waiting = printer.is_waiting and not stop_waiting


def _set_verbose(context: click.Context, _parameter: click.Parameter, value: bool) -> None:  # as click calls it
    """Let the notes of a command wait for its result."""
    if (printer := context.find_object(NotePrinter)) is not None:
        printer.is_waiting, printer.is_verbose = True, value


add_verbose = click.option(
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_set_verbose,
    help="Print every note on what was read, with its code, which howsure explain CODE explains.",
)


def print_error(line: str) -> None:
    """Print a line on stderr, without characters that steer the terminal."""
    text = escape_control_characters(mask_secrets(line))
    if len(text) > _LONGEST_LINE:  # a value that is quoted in it is a file of its own
        text = f"{text[: _LONGEST_LINE // 2]} ... {text[-_LONGEST_LINE // 2 :]}"
    _print_line(f"howsure: {text}")


def _print_line(line: str) -> None:
    """Print a line on stderr; do nothing if stderr is closed."""
    with contextlib.suppress(OSError, ValueError):
        print(line, file=sys.stderr)
