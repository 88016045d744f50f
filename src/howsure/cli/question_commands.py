"""Define commands on single questions: audit, review."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from howsure.api.choices import OutputFormat
from howsure.cli.command_inputs import CommandInputs
from howsure.cli.options import PATH, add_format, add_reading, print_result


@click.command()
@add_reading(level=False)
@add_format
@click.option("--every", is_flag=True, help="Print every question, not only the suspected ones.")
@click.option(
    "--max-share",
    type=float,
    default=0.1,
    show_default=True,
    help="Largest share of wrong labels thought possible; p_wrong_max grows with it.",
)
def audit(inputs: CommandInputs, form: OutputFormat, *, every: bool, max_share: float) -> None:
    """List questions whose label may be wrong.

    A question is suspected if it is rarely answered right and nearly always in the same way, or if several models agree
    on another answer. The evidence puts questions in order and is no probability: answers cannot distinguish a wrong
    label from a right one that all models miss in the same way. The probability that a label is wrong lies between 0
    and p_wrong_max. Look at the questions with howsure review, and leave out what is broken with --exclude.
    """
    import howsure as hs

    print_result(hs.audit(inputs.results, every=every, max_share=max_share), form)


@click.command()
@click.argument("paths", nargs=-1, required=True, type=PATH)
@click.option(
    "--verdicts", type=PATH, default=Path("verdicts.jsonl"), show_default=True, help="File that verdicts are added to."
)
@click.option("--port", type=int, default=8765, show_default=True, help="Port of the page; 0 takes any that is free.")
@click.option("--blind", is_flag=True, help="Hide the target until it is requested.")
@click.option("--reviewer", help="Name that signs the verdicts; default: your user name.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def review(
    paths: Sequence[Path], *, verdicts: Path, port: int, blind: bool, reviewer: str | None, no_browser: bool
) -> None:
    """Review suspected label errors in the browser.

    Verdicts are added to a file. PATHS are run folders and logs. --exclude of other commands leaves out the questions
    that a verdict rejects.
    """
    from howsure.web.review_pages import serve_review

    serve_review(paths, verdicts=verdicts, port=port, blind=blind, reviewer=reviewer, open_browser=not no_browser)
