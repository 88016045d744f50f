"""Options that several commands share, and how they print."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from howsure.cli.inputs import Inputs

if TYPE_CHECKING:
    from howsure.stats.core.results import Columns, Result

__all__ = [
    "CLAIMS",
    "FORMAT",
    "LEVEL",
    "METHOD_HELP",
    "PATH",
    "answers",
    "borrows",
    "difference_method",
    "parse_assurance",
    "reads",
    "reliable",
    "show",
    "two_models",
]

PATH = click.Path(path_type=Path)
CLAIMS = ["new-questions", "these-questions", "single-run"]
METHOD_HELP = (
    "posterior (default for scores of 0 and 1), wilson-effective (default for others in [0, 1]), t (default for any "
    "others), clt, beta-binomial, bootstrap, bca; wilson and exact for one generation per question; plain and plugin "
    "as published, biased."
)
LEVEL = click.option("--level", type=float, default=0.95, show_default=True, help="Level of the intervals.")
FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
    help="A table for a person, or rows for a program.",
)


def parse_assurance(value: str | float) -> float:
    """Read a one-sided level; "none" is 0.5, which takes the variances as known."""
    if value == "none":
        return 0.5
    try:
        return float(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is neither a number nor 'none'") from error


_CLAIM = click.option(
    "--claim", type=click.Choice(CLAIMS), default=CLAIMS[0], show_default=True, help="What the error claims."
)
difference_method = click.option(
    "--method",
    type=click.Choice(["adjusted-t", "t", "clt", "bonett-price", "tango", "bootstrap"]),
    help="How an interval is made; default: adjusted-t. bonett-price and tango: one generation per question.",
)
_READING = (
    click.option(
        "--columns",
        multiple=True,
        metavar="NAME=COLUMN",
        help="Say which column of a table, or field of a log, is our NAME (model, question, score, ...).",
    ),
    click.option("--scorer", metavar="NAME", help="Which of several scores; of runs, what howsure rescore wrote."),
    click.option(
        "--generations",
        type=click.IntRange(min=1),
        metavar="N",
        help="Read only the first N generations of each question, as of logs that retry until an answer is right.",
    ),
    click.option(
        "--exclude", type=PATH, metavar="FILE", help="Leave out the questions that these verdicts of a review reject."
    ),
    click.option(
        "--engine",
        type=click.Choice(["duckdb", "spark"]),
        default="duckdb",
        help="Where tables are reduced; spark: PATHS are what the cluster reaches, or its tables.",
    ),
    click.option("--master", metavar="URL", help="Of Spark, such as spark://host:7077."),
)
_VARIANTS = (
    click.option(
        "--dimension",
        "dimensions",
        multiple=True,
        metavar="COLUMN",
        help="Column of a table with the variants' values on a dimension; several can be named. Without a column for "
        "the variant, each combination of values is one.",
    ),
    click.option(
        "--wide",
        is_flag=True,
        help="The table has a row per variant, named in its first column, and a column of scores per model; an ending "
        "such as _acc that all models share is no part of their names.",
    ),
)
_EPSILON = click.option(
    "--epsilon", type=float, default=0.01, show_default=True, help="n_star: deviation that is acceptable."
)
_DELTA = click.option(
    "--delta",
    type=float,
    default=0.1,
    show_default=True,
    help="n_star: twice the probability of a larger one (the percentile is 1 - delta/2).",
)


def reads(
    *, cluster: bool = False, level: bool = True, required: bool = True, variants: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """PATHS and how they are read, `variants` of tables too: the command gets them as its first argument, `Inputs`."""

    def wrapped(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def reading(**asked: Any) -> Any:
            names = ("columns", "cluster", "scorer", "generations", "engine", "master", "exclude", "dimensions", "wide")
            how = {name: asked.pop(name) for name in names if name in asked}
            return command(Inputs(asked.pop("paths"), **how), **asked)

        found: Callable[..., Any] = reading
        for option in reversed((*_READING, *(_VARIANTS if variants else ()))):
            found = option(found)
        if cluster:
            help_ = (
                "Column of a table, or field of a log, that says which questions belong together (a passage, a "
                "repository). A run folder that keeps clusters uses them by itself."
            )
            found = click.option("--cluster", metavar="COLUMN", help=help_)(found)
        found = LEVEL(found) if level else found
        return click.argument("paths", nargs=-1, required=required)(found)

    return wrapped


def answers(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of every command that makes a claim and prints a table."""
    return _CLAIM(FORMAT(command))


def borrows(command: Callable[..., Any]) -> Callable[..., Any]:
    """--borrow, read with the options of PATHS: the command gets cells of the reference, or None."""

    @functools.wraps(command)
    def reading(inputs: Inputs, **asked: Any) -> Any:
        paths = asked.pop("borrow")
        return command(inputs, borrow=inputs.reference(paths) if paths else None, **asked)

    option = click.option(
        "--borrow",
        multiple=True,
        metavar="REFERENCE",
        help="Results of at least five other models on all questions, of which these models answered some: any "
        "readable path, several at once. They tell which questions are hard, so that fewer answers are enough.",
    )
    return option(reading)


def reliable(command: Callable[..., Any]) -> Callable[..., Any]:
    """--epsilon and --delta."""
    return _EPSILON(_DELTA(command))


def two_models(command: Callable[..., Any]) -> Callable[..., Any]:
    """--a and --b."""
    a = click.option("--a", required=True, help="One model.")
    return a(click.option("--b", required=True, help="The other; differences are a - b.")(command))


def show(result: Result, form: str) -> None:
    """Print a result."""
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
