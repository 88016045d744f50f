"""The files of other programs that the tests read, and what becomes of each.

    python bench/log_files.py [--write]

Prints a table: program, file, generations, models, and whether the scores give the number that the program states
itself, or why the file is refused. The files are the examples of the tests and, where the data folder `../shared` is,
public files of other people. `--write` puts the table into docs/log_files.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from howsure.errors import InputError
from howsure.logs import find_reader
from howsure.logs.base import LogReader, ReadOptions, RowBuilder
from howsure.results.evaluations import read

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "tests/logs/examples"
SHARED = ROOT / "../shared/data"
DOCS = ROOT / "docs/log_files.md"
_INTRODUCTION = """# Files of other programs

`python bench/log_files.py --write` reads the files below and writes this table. *Made* files are in
`tests/logs/examples`, in the form that the program's own code writes; *public* files are logs of other people,
or were made with the program itself. "Equal" means that the mean of the scores is the number that the file states
itself; "read" alone that it states none. What is refused is refused with the line that stands here.

| program | file | | generations | models | |
|---|---|---|---|---|---|
"""


class FileOutcome(NamedTuple):
    """What became of a file."""

    program: str
    file: str
    origin: str
    n_generations: int
    n_models: int
    outcome: str

    def format(self) -> str:
        """Return the row of the table."""
        cells = (
            self.program,
            f"`{self.file}`",
            self.origin,
            self.n_generations or "",
            self.n_models or "",
            self.outcome,
        )
        return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def main(arguments: list[str]) -> None:
    """Print the table, or write it into the docs."""
    outcomes = [*list_outcomes(EXAMPLES, "made")]
    for folder in ("logs_cases", "logs"):
        outcomes += list_outcomes(SHARED / folder, "public")
    outcomes.sort(key=lambda one: (one.program.lower(), one.origin, one.file))
    table = "".join(outcome.format() + "\n" for outcome in outcomes)
    n_programs = len({outcome.program for outcome in outcomes})
    end = f"\n{len(outcomes)} files of {n_programs} programs.\n"
    if arguments == ["--write"]:
        DOCS.write_text(_INTRODUCTION + table + end, encoding="utf-8")
    else:
        sys.stdout.write(table + end)


def list_outcomes(folder: Path, origin: str) -> Iterator[FileOutcome]:
    """Yield the outcome of each log at and below a folder."""
    if not folder.is_dir():
        return
    for path, reader in _find_logs(folder):
        name = path.relative_to(folder).as_posix()
        yield _read_file(path, reader, name if len(name) < 80 else f"...{name[-76:]}", origin)


def _find_logs(path: Path) -> Iterator[tuple[Path, LogReader]]:
    """Yield each log with its reader; a file that stands for others is left out."""
    reader = find_reader(path)
    if reader is not None:
        try:
            members = list(reader.members(path))
        except InputError:
            members = [path]
        if path.is_dir() or members == [path]:
            yield from ((member, reader) for member in members)
    elif path.is_dir():
        for child in sorted(path.iterdir()):
            yield from _find_logs(child)


def _read_file(path: Path, reader: LogReader, name: str, origin: str) -> FileOutcome:
    """Return what becomes of a log."""
    build = RowBuilder(path, ReadOptions())
    try:
        reader.members(path)
        reader.describe(path)
        rows = list(reader.read(path, build))
    except InputError as error:
        return FileOutcome(reader.name, name, origin, 0, 0, _format_refusal(error))
    differences = [note.text for note in build.notes() if note.code.startswith("log-mean-")]
    counted = [line for line in differences if "as 0, as --missing as-zero does" in line]
    if not any(row.score is not None for row in rows):
        outcome = _describe_refusal(path)
    elif len(differences) > len(counted):
        outcome = f"read; {next(line for line in differences if line not in counted)}"
    elif counted:
        outcome = "equal, with what is missing as 0"
    else:
        outcome = "equal" if build.n_stated_means else "read"
    return FileOutcome(reader.name, name, origin, len(rows), len({row.model for row in rows}), outcome)


def _describe_refusal(path: Path) -> str:
    """Return why a log without scores is refused."""
    try:
        read(path).cells()
    except InputError as error:
        return _format_refusal(error)
    return "read; nothing in it was scored"


def _format_refusal(error: InputError) -> str:
    """Return what is wrong and how to fix it, without the path."""
    return "refused: " + " ".join((f"{error.what}; {error.remedy}" if error.remedy else error.what).split())


if __name__ == "__main__":
    main(sys.argv[1:])
