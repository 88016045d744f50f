"""One function per command: parse, call, print. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import contextlib
import math
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from errorbar.errors import ErrorbarError, ErrorbarWarning, InputError

if TYPE_CHECKING:
    from errorbar.stats.cells import Cells
    from errorbar.stats.results import Columns, Result

__all__ = ["main"]

_INTERRUPTED = 130
_PATH = click.Path(path_type=Path)
_CLAIMS = click.Choice(["new-questions", "these-questions", "single-run"])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; a wrong use or an unreadable input is one line on stderr and exit code 2."""
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", ErrorbarWarning)
    try:
        code = cli.main(args=arguments, standalone_mode=False)
    except click.exceptions.Abort:
        _say("interrupted")
        code = _INTERRUPTED
    except KeyboardInterrupt:
        _say("interrupted")
        code = _INTERRUPTED
    except click.ClickException as error:
        _say(" ".join(error.format_message().split()))
        code = 2
    except ErrorbarError as error:
        _say(str(error))
        code = 2
    except BrokenPipeError:  # the reader of a pipe, such as head, has enough
        with contextlib.suppress(OSError):
            sys.stdout.close()
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


def _say(line: str) -> None:
    print(f"errorbar: {line}", file=sys.stderr)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, ErrorbarWarning):
        _say(f"warning: {message}")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="errorbar", message="%(prog)s %(version)s")
def cli() -> None:
    """Error bars for evaluations of language models.

    What a score is, how sure one can be, where the noise comes from, and which differences are real. PATHS are run
    folders and tidy tables (csv, parquet, jsonl), several at once; a folder is searched for both.
    """


def _reads(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of every command that reads results."""
    options = [
        click.argument("paths", nargs=-1, required=True, type=_PATH),
        click.option(
            "--columns",
            multiple=True,
            metavar="NAME=COLUMN",
            help="Say which column of a table is our NAME (model, question, score, ...).",
        ),
        click.option("--level", type=float, default=0.95, show_default=True, help="Level of the intervals."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _answers(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of every command that prints a table."""
    options = [
        click.option(
            "--claim", type=_CLAIMS, default="new-questions", show_default=True, help="What the error claims."
        ),
        click.option(
            "--format",
            "form",
            type=click.Choice(["table", "json", "csv"]),
            default="table",
            show_default=True,
            help="A table for a person, or rows for a program.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@cli.command()
@click.argument("experiment", type=_PATH)
@click.option("-o", "--output", type=_PATH, help="Run folder; default: the experiment's name without its suffix.")
def run(experiment: Path, output: Path | None) -> None:
    """Sample, score and store what EXPERIMENT.yaml asks for.

    Running it again continues where it stopped; more generations, models or variants are added to the same folder.
    """
    from errorbar import analysis
    from errorbar.readers.paths import read
    from errorbar.sample.command import run_experiment
    from errorbar.store.responses import read as rows

    folder = output or experiment.with_suffix("")
    code = run_experiment(experiment, folder)
    if code != _INTERRUPTED and rows(folder, ["model"]).num_rows:
        print(analysis.score(read(folder)))
    sys.exit(code)


@cli.command()
@_reads
@_answers
@click.option(
    "--method",
    type=click.Choice(["clt", "t", "plain", "plugin"]),
    help="How the error is made; default: t below 300 questions, else clt. plain and plugin: as published, biased.",
)
def score(paths: tuple[Path, ...], columns: tuple[str, ...], form: str, **asked: Any) -> None:
    """Score of each model on each benchmark, with its error and where it comes from."""
    from errorbar import analysis

    _print(analysis.score(_read(paths, columns), **asked), form)


@cli.command()
@_reads
@_answers
@click.option("--a", required=True, help="One model.")
@click.option("--b", required=True, help="The other; differences are a - b.")
@click.option("--method", type=click.Choice(["clt", "t"]), help="Default: t below 300 questions, else clt.")
def compare(paths: tuple[Path, ...], columns: tuple[str, ...], form: str, **asked: Any) -> None:
    """Compare two models, paired on the questions that both answered."""
    from errorbar import analysis

    _print(analysis.compare(_read(paths, columns), **asked), form)


@cli.command()
@_reads
@_answers
@click.option("--method", type=click.Choice(["clt", "t"]), help="Default: t below 300 questions, else clt.")
def pairs(paths: tuple[Path, ...], columns: tuple[str, ...], form: str, **asked: Any) -> None:
    """Compare all pairs of models, paired, with family-wise control."""
    from errorbar import analysis

    _print(analysis.pairs(_read(paths, columns), **asked), form)


@cli.command()
@_reads
@click.option("-o", "--output", type=_PATH, default=Path("report.html"), show_default=True, help="The HTML file.")
@click.option("--title", help="Title of the page.")
@click.option("--reference", help="Model that the others are compared with; default: the best.")
def report(
    paths: tuple[Path, ...],
    columns: tuple[str, ...],
    output: Path,
    **asked: Any,
) -> None:
    """Write one self-contained HTML file that works offline."""
    from errorbar.readers.paths import manifests
    from errorbar.report import page

    page.write(output, _read(paths, columns), manifests=manifests(paths), **asked)
    print(output)


def _read(paths: tuple[Path, ...], columns: tuple[str, ...]) -> list[Cells]:
    from errorbar.readers.paths import read

    named = {}
    for pair in columns:
        name, equals, column = pair.partition("=")
        if not equals or not column:
            raise InputError(f"--columns {pair!r}", remedy="write NAME=COLUMN, such as --columns question=task_id")
        named[name] = column
    return read(paths, columns=named)


def _print(result: Result, form: str) -> None:
    if form == "table":
        print(result)
    elif form == "json":
        import msgspec

        rows = [dict(zip(result.columns(), row, strict=True)) for row in _rows(result.columns())]
        print(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode())  # NaN becomes null
    else:
        import csv

        writer = csv.writer(sys.stdout, lineterminator="\n")
        columns = result.columns()
        writer.writerow(columns)
        writer.writerows(["" if _is_nan(value) else value for value in row] for row in _rows(columns))


def _rows(columns: Columns) -> list[tuple[Any, ...]]:
    return list(zip(*(values.tolist() for values in columns.values()), strict=True))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
