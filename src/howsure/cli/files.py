"""Commands that write files: a report, a run folder of logs, new scores, another program's form, verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from howsure.cli.inputs import Inputs
from howsure.cli.options import FORMAT, LEVEL, PATH, reads, reliable, show
from howsure.errors import InputError

__all__ = ["convert", "report", "rescore", "review"]


@click.command()
@reads(cluster=True, variants=True)
@reliable
@click.option(
    "-o",
    "--output",
    type=PATH,
    default=Path("report.html"),
    show_default=True,
    help="The HTML file; of several benchmarks, or without .html, a folder with an index and a page for each.",
)
@click.option("--title", help="Title of the page, or of the index.")
@click.option("--reference", help="Model that the others are compared with; default: the best.")
@click.option("--figures", type=PATH, metavar="DIR", help="Export every figure to this folder, its numbers beside it.")
@click.option(
    "--format", "figure_format", type=click.Choice(["svg", "png", "pdf"]), default="svg", help="Of the figures."
)
@click.option("--no-texts", is_flag=True, help="Leave prompts and generations out.")
def report(
    inputs: Inputs,
    output: Path,
    *,
    no_texts: bool,
    figures: Path | None,
    figure_format: str,
    **options: Any,
) -> None:
    """Write a report that works offline: one file, or a folder of them."""
    from howsure.cli.spent import facts
    from howsure.report.report_data import ReportData, ReportOptions
    from howsure.report.site import write_report

    known = inputs.evaluations.manifests()
    cells, cubes = inputs.cells, list(inputs.several().values())
    data = ReportData(
        cells,
        cubes=cubes,
        unparsed=inputs.unread(cubes) or {},
        repeats=inputs.runs(),
        answers=inputs.answers(),
        texts=None if no_texts else inputs.texts(),
        verdicts=inputs.verdicts(),
        unreviewed_cells=inputs.everything if inputs.exclude else (),
        manifests=known,
        facts=list(facts(inputs.sources, known)),
        source_warnings=[*inputs.evaluations.notes(), *inputs.told],
    )
    print(write_report(output, data, ReportOptions(**options), figures=figures, figure_format=figure_format))


@click.command()
@reads(cluster=True, level=False)
@FORMAT
@click.option("-o", "--output", type=PATH, required=True, help="A folder, or file, that is not there yet.")
@click.option(
    "--to",
    "form_of_output",
    type=click.Choice(["run", "eval-arena", "parquet", "dataset"]),
    default="run",
    show_default=True,
    help="run: a run folder with all texts, of any logs; eval-arena: counts as JSON lines; parquet: a tidy table of a "
    "run folder; dataset: a folder for the Hugging Face hub, of a run folder.",
)
def convert(inputs: Inputs, output: Path, *, form_of_output: str, form: str) -> None:
    """Logs and tables to a run folder, or a run folder to other forms."""
    from howsure.export import conversion

    if inputs.exclude:
        raise InputError("--exclude: a conversion keeps every question", remedy="leave it to the commands that read it")
    if inputs.generations:
        remedy = "leave it to the commands that read it"
        raise InputError("--generations: a conversion keeps every generation", remedy=remedy)
    show(conversion.convert(inputs.sources, output, form_of_output), form)
    if form == "table":
        print(output)


@click.command()
@click.argument("paths", nargs=-1, required=True)
@click.option(
    "--scorer",
    required=True,
    metavar="SCORER",
    help="numeric, exact, choice[:KIND], maths, regex:PATTERN, regex-first:PATTERN or own.",
)
@click.option("-o", "--output", type=PATH, help="Of logs: the run folder that they are converted to first.")
@click.option("--each", is_flag=True, help="Examples of disagreement instead, a row each.")
@LEVEL
@FORMAT
def rescore(paths: tuple[str, ...], scorer: str, output: Path | None, *, each: bool, level: float, form: str) -> None:
    """Score stored completions again, beside the scores that are there.

    Nothing stored is changed: the scores are a new column, which --scorer of other commands reads. Shows how far they
    agree with the scores that were there. own is the run's own benchmark, after its rules were mended.
    """
    from howsure.export import conversion

    result, folders = conversion.rescore(Inputs(paths).sources, scorer, output, level=level)
    show(result.of("disagreements") if each else result, form)
    for folder in folders if form == "table" else ():
        print(f"{folder}: howsure score {folder} --scorer {scorer} reads these scores")


@click.command()
@click.argument("paths", nargs=-1, required=True, type=PATH)
@click.option("--verdicts", type=PATH, default=Path("verdicts.jsonl"), show_default=True, help="Where they are added.")
@click.option("--port", type=int, default=8765, show_default=True, help="0: any that is free.")
@click.option("--blind", is_flag=True, help="Hide the target until it is asked for.")
@click.option("--reviewer", help="Who signs; default: your user name.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def review(paths: tuple[Path, ...], *, no_browser: bool, **asked: Any) -> None:
    """Look at suspect questions in the browser, and keep verdicts.

    PATHS are run folders and logs. --exclude of other commands leaves out what a verdict rejects.
    """
    from howsure.web.server import review as serve

    serve(paths, open_browser=not no_browser, **asked)
