"""Define commands that say how to use the others: explain."""

from __future__ import annotations

from collections.abc import Sequence

import click

from howsure.api.choices import OutputFormat
from howsure.cli.options import add_format, print_result


@click.command()
@click.argument("columns", nargs=-1, metavar="[COLUMN]...")
@add_format
def explain(columns: Sequence[str], form: OutputFormat) -> None:
    """Explain columns of tables: meaning, unit, formula.

    Without a name, all columns that a command prints are listed. The page under "more" is part of the documentation.
    """
    import howsure as hs

    print_result(hs.explain_columns(columns), form)
