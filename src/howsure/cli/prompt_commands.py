"""Define commands on prompts: variants, paraphrase."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from howsure.api.choices import PROMPT_VIEWS, OutputFormat, PromptView
from howsure.cli.command_inputs import CommandInputs
from howsure.cli.options import PATH, add_deviation, add_format, add_reading, print_result
from howsure.errors import InputError

if TYPE_CHECKING:
    from howsure.api.prompt_results import PromptResults
    from howsure.readers.evaluations import Evaluations


@click.command()
@add_reading(cluster=True, variants=True)
@add_format
@add_deviation
@click.option(
    "--show",
    "view",
    type=click.Choice(PROMPT_VIEWS),
    help="Print more of one thing, with intervals. effects: of each value of a dimension; rank-flips: how often the "
    "prompt decides which of two models is better; sample-size: n_star of mean and variance; prompteval: quantiles "
    "over prompts from few answers.",
)
@click.option("--a", help="One model: with --b, components of their difference, and how often the prompt decides.")
@click.option("--b", help="The other model.")
@click.option("--proxy", "cheap", metavar="CHEAP", help="Test whether n_star of this model was enough for the others.")
def variants(
    inputs: CommandInputs,
    form: OutputFormat,
    *,
    level: float,
    epsilon: float,
    delta: float,
    view: PromptView | None,
    a: str | None,
    b: str | None,
    cheap: str | None,
) -> None:
    """Show how the score of each model depends on the prompt.

    The table has the moments over prompt variants, the variance by source, and n_star: the smallest number of these
    variants that is enough, as published, and as the whole space of variants needs them. A table of results may also
    hold scores of whole benchmarks: a row per model and variant, without a column for the question, or --wide.
    """
    import howsure as hs

    results = inputs.results
    if cheap is not None:
        if view is not None or a is not None or b is not None:
            raise InputError("--proxy together with --show or --a and --b", remedy="keep one of them")
        result = hs.proxy(results, cheap, epsilon=epsilon, delta=delta)
    elif a is not None or b is not None:
        result = _compare_models(results, view, a, b, level)
    elif view == "effects":
        result = hs.effects(results, level=level)
    elif view == "rank-flips":
        result = hs.rank_flips(results, level=level)
    elif view == "prompteval":
        result = hs.prompteval(results)
    else:
        result = hs.variants(results, level=level, epsilon=epsilon, delta=delta)
        if view is not None:
            result = result.of(view.replace("-", "_"))
    print_result(result, form)


def _compare_models(
    results: Evaluations, view: PromptView | None, a: str | None, b: str | None, level: float
) -> PromptResults:
    """Return the rank flips of two models, or the components of their difference."""
    import howsure as hs

    if a is None or b is None:
        raise InputError("only one of two models", where="--a and --b", remedy="name both, or neither")
    if view == "components":
        return hs.difference_components(results, a, b, level=level)
    if view not in {None, "rank-flips"}:
        what = f"--show {view} is not of two models"
        raise InputError(what, remedy="leave --a and --b out, or choose --show rank-flips or components")
    return hs.rank_flips(results, a=a, b=b, level=level)


@click.command()
@click.argument("instructions", metavar="FILE_OR_SPACE")
@click.option("-m", "--model", required=True, help="Model that writes, as an experiment names models: openai/NAME, ...")
@click.option("--base-url", help="Address of its endpoint.")
@click.option("--key-env", metavar="VAR", help="Environment variable that holds its key.")
@click.option("-n", type=int, default=5, show_default=True, help="Phrasings to request of each instruction.")
@click.option("--only", multiple=True, metavar="ID", help="Only this instruction; several times for several.")
@click.option("-o", "--output", required=True, type=PATH, help="The TOML file to write.")
@click.option("--force", is_flag=True, help="Write over a file that exists.")
def paraphrase(
    instructions: str,
    model: str,
    output: Path,
    *,
    base_url: str | None,
    key_env: str | None,
    n: int,
    only: Sequence[str],
    force: bool,
) -> None:
    """Request more phrasings of instructions, to review.

    The instructions are those of a built-in space (multiple-choice, open, maths) or of a TOML file. New phrasings are
    marked as not reviewed, and no run uses them before somebody has reviewed them.
    """
    from howsure.sample import collect_paraphrases

    print(
        collect_paraphrases.collect_paraphrases(
            instructions, model, output, base_url=base_url, key_env=key_env, n=n, only=only, force=force
        )
    )
    print(output)
