"""Define commands that say how to use the others: explain, skill."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from howsure.api.choices import OutputFormat
from howsure.cli.options import add_format, print_result


def _complete_names(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the columns, terms and codes of notes that begin so, for a shell that completes them."""
    from howsure.notes import read_templates
    from howsure.reporting.glossary import TERMS, read_columns

    return [name for name in (*read_columns(), *TERMS, *read_templates(), "notes") if name.startswith(incomplete)]


@click.command()
@click.argument("columns", nargs=-1, metavar="[COLUMN|TERM|CODE]...", shell_complete=_complete_names)
@add_format
def explain(columns: Sequence[str], form: OutputFormat) -> None:
    """Explain columns of tables, terms, and codes of notes: meaning, unit, formula.

    Without a name, all columns that a command prints are listed. Terms are those of the glossary, such as "data noise".
    Codes are those that --verbose prints; "notes" lists all of them.
    The page under "more" is part of the documentation.
    """
    import howsure as hs

    print_result(hs.explain_columns(columns), form)


@click.command()
def skill() -> None:
    """Print a short guide for coding agents.

    Save it where your agent looks for skills, such as howsure skill > skills/howsure/SKILL.md.
    """
    print(Path(__file__).with_name("skill.md").read_text(encoding="utf-8"), end="")
