"""Define commands on the scores of models: score, compare, pairs, rank, repeats, combine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from howsure.api.choices import OutputFormat
from howsure.cli.command_inputs import CommandInputs
from howsure.cli.options import (
    add_borrow,
    add_claim_and_format,
    add_difference_method,
    add_format,
    add_reading,
    add_two_models,
    print_result,
)
from howsure.errors import InputError
from howsure.stats.core.claims import (
    INTERVAL_METHOD_TEXTS,
    MISSING_RULES,
    REPEATS_METHODS,
    WEIGHT_RULES,
    Claim,
    DifferenceMethod,
    IntervalMethod,
    MissingRule,
    RepeatsMethod,
    check_choice,
)

if TYPE_CHECKING:
    from howsure.stats.core.cells import Cells

_METHOD_HELP = (
    "How the interval is computed: "
    + "; ".join(f"{name}, {text}" if text else name for name, text in INTERVAL_METHOD_TEXTS.items())
    + "."
)


@click.command()
@add_reading(cluster=True)
@add_borrow
@add_claim_and_format
@click.option("--method", metavar="METHOD", help=_METHOD_HELP)
@click.option(
    "--missing",
    type=click.Choice(MISSING_RULES),
    default=MISSING_RULES[0],
    show_default=True,
    help="What is done with generations that failed or do not exist: they are left out, or counted as wrong, or the "
    "interval covers the score whatever they would have been.",
)
def score(
    inputs: CommandInputs,
    form: OutputFormat,
    *,
    claim: Claim,
    level: float,
    method: IntervalMethod | None,
    missing: MissingRule,
    borrow: list[Cells] | None,
) -> None:
    """Score each model, with its error by source."""
    import howsure as hs

    result = hs.score(inputs.results, claim=claim, level=level, method=method, missing=missing, borrow=borrow)
    print_result(result, form)


@click.command()
@add_reading(cluster=True)
@add_borrow
@add_claim_and_format
@add_two_models
@add_difference_method
def compare(
    inputs: CommandInputs,
    form: OutputFormat,
    *,
    a: str,
    b: str,
    claim: Claim,
    level: float,
    method: DifferenceMethod | None,
    borrow: list[Cells] | None,
) -> None:
    """Compare two models, paired by question."""
    import howsure as hs

    print_result(hs.compare(inputs.results, a, b, claim=claim, level=level, method=method, borrow=borrow), form)


@click.command()
@add_reading(cluster=True)
@add_claim_and_format
@add_difference_method
def pairs(
    inputs: CommandInputs, form: OutputFormat, *, claim: Claim, level: float, method: DifferenceMethod | None
) -> None:
    """Compare all pairs of models, with adjusted p-values."""
    import howsure as hs

    print_result(hs.pairs(inputs.results, claim=claim, level=level, method=method), form)


@click.command()
@add_reading(cluster=True)
@add_claim_and_format
@add_difference_method
def rank(
    inputs: CommandInputs, form: OutputFormat, *, claim: Claim, level: float, method: DifferenceMethod | None
) -> None:
    """Rank the models, with confidence sets of ranks."""
    import howsure as hs

    print_result(hs.rank(inputs.results, claim=claim, level=level, method=method), form)


@click.command()
@add_reading(cluster=True)
@add_format
@click.option("--future", "n_future", type=float, help="Runs to predict the mean of; default: as many as there are.")
@click.option(
    "--method",
    type=click.Choice(REPEATS_METHODS),
    default=REPEATS_METHODS[0],
    show_default=True,
    help="pooled: from the variance of each question; run-means: as published.",
)
@click.option("--each", is_flag=True, help="Print a row for each run instead.")
def repeats(
    inputs: CommandInputs,
    form: OutputFormat,
    *,
    level: float,
    n_future: float | None,
    method: RepeatsMethod,
    each: bool,
) -> None:
    """Predict future runs, and test for drift.

    Each generation is a run, and so is each folder or table. The claim is about these very questions: clusters of them
    (--cluster) do not enter its error.
    """
    import howsure as hs

    result = hs.repeats(inputs.results, n_future=n_future, level=level, method=method)
    print_result(result.of("runs") if each else result, form)


@click.command()
@add_reading(cluster=True, level=False)
@add_claim_and_format
@add_two_models
@add_difference_method
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="NAME|BENCHMARK=W",
    default=["precision"],
    show_default=True,
    help="precision, equal, questions, or a number for each benchmark.",
)
def combine(
    inputs: CommandInputs,
    form: OutputFormat,
    *,
    a: str,
    b: str,
    claim: Claim,
    method: DifferenceMethod | None,
    weights: Sequence[str],
) -> None:
    """Compare two models on several benchmarks at once."""
    import howsure as hs

    is_rule = len(weights) == 1 and "=" not in weights[0]
    chosen = check_choice("weights", weights[0], WEIGHT_RULES) if is_rule else _parse_weights(weights)
    print_result(hs.combine(inputs.results, a, b, weights=chosen, claim=claim, method=method), form)


def _parse_weights(pairs: Sequence[str]) -> dict[str, float]:
    """Return the weights of the values of --weight, BENCHMARK=NUMBER each, by benchmark."""
    weights = {}
    for pair in pairs:
        name, _, weight = pair.rpartition("=")
        try:
            weights[name] = float(weight)
        except ValueError as error:
            raise InputError(f"--weight {pair!r}", remedy="write BENCHMARK=NUMBER, or a name alone") from error
    return weights
