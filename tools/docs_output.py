"""Run the commands of the documentation and compare what they print with what the pages say they print.

    python tools/docs_output.py            print what differs, and exit with 1
    python tools/docs_output.py --write    write what the commands print into the pages

A block of code that begins with ```console claims output where it has a line that is no command. All such blocks of a
page run in one new folder, which has a copy of `examples`, in lines of 80 characters. What goes to the error stream,
such as the progress of a run, is not compared. A block ```yaml whose first line is a comment with the name of a file is
that file.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Code of a page: its language and its text.
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
#: Characters that only a shell understands.
_SHELL = re.compile(r"[|><;&$`]")


def list_pages() -> list[Path]:
    """Return the pages that claim output."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in pages if any(_claims_output(block[2]) for block in _iterate_consoles(page.read_text()))]


def _iterate_consoles(text: str) -> Iterator[re.Match[str]]:
    """Yield the blocks of commands of a page."""
    yield from (block for block in BLOCK.finditer(text) if block[1] == "console")


def _claims_output(block: str) -> bool:
    """Return whether a block has a line that is no command."""
    return any(line and not line.startswith("$ ") for line in block.splitlines())


def rewrite_page(text: str) -> str:
    """Return the text of a page with what its commands print now."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "examples", folder / "examples")

        def rewrite_block(block: re.Match[str]) -> str:
            if block[1] == "yaml" and (file := re.match(r"# (\w+\.yaml)\n", block[2])):
                (folder / file[1]).write_text(block[2], encoding="utf-8")
            if block[1] != "console" or not _claims_output(block[2]):
                return block[0]
            commands = [line[2:] for line in block[2].splitlines() if line.startswith("$ ")]
            printed = "".join(f"$ {command}\n{run_command(command, folder)}" for command in commands)
            return f"```console\n{printed}```"

        return BLOCK.sub(rewrite_block, text)


def run_command(command: str, folder: Path) -> str:
    """Return what a command prints on its output, in lines without blanks at their ends."""
    if command.startswith("howsure ") and not _SHELL.search(command):
        printed = _run_here(shlex.split(command, comments=True)[1:], folder)
    else:
        howsure = f'howsure() {{ "{sys.executable}" -m howsure "$@"; }}\n'
        environment = os.environ | {"COLUMNS": "80"}
        finished = subprocess.run(
            ["bash", "-c", howsure + command], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        printed = finished.stdout
    return "".join(f"{line.rstrip()}\n" for line in printed.splitlines())


def _run_here(arguments: list[str], folder: Path) -> str:
    """Return what a command of howsure prints, run in this process."""
    from howsure.cli import main

    before, columns = Path.cwd(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "80"
    os.chdir(folder)
    printed, messages = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(messages), contextlib.suppress(SystemExit):
            main(arguments)
    finally:
        os.chdir(before)
        os.environ.pop("COLUMNS")
        if columns is not None:
            os.environ["COLUMNS"] = columns
    return printed.getvalue() or messages.getvalue()


def main() -> None:
    """Compare or write the pages."""
    stale = False
    for page in list_pages():
        text = page.read_text(encoding="utf-8")
        new = rewrite_page(text)
        if new != text and "--write" in sys.argv:
            page.write_text(new, encoding="utf-8")
        elif new != text:
            stale = True
            print(
                *difflib.unified_diff(text.splitlines(), new.splitlines(), str(page), "printed now", lineterm=""),
                sep="\n",
            )
    sys.exit(int(stale))


if __name__ == "__main__":
    main()
