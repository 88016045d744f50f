"""Commands that answer a question about results: read, call, print."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from howsure.cli.inputs import Inputs
from howsure.cli.options import (
    CLAIMS,
    FORMAT,
    METHOD_HELP,
    PATH,
    answers,
    borrows,
    difference_method,
    parse_assurance,
    reads,
    reliable,
    show,
    two_models,
)
from howsure.errors import InputError

if TYPE_CHECKING:
    from howsure.stats.core.cells import Cells
    from howsure.stats.core.results import Results

#: What `variants --show` can print beside its own table.
VIEWS = ("moments", "components", "effects", "rank-flips", "sample-size", "prompteval")

__all__ = ["audit", "combine", "compare", "pairs", "plan", "rank", "repeats", "score", "variants"]


@click.command()
@reads(cluster=True)
@borrows
@answers
@click.option("--method", metavar="METHOD", help=f"How the error is made: {METHOD_HELP}")
@click.option(
    "--missing",
    type=click.Choice(["as-missing", "as-zero", "bounds"]),
    default="as-missing",
    show_default=True,
    help="What failed, or was not asked: left out; counted as wrong; or the interval covers the score whatever it is.",
)
def score(inputs: Inputs, form: str, **asked: Any) -> None:
    """Score each model, with its error and where that comes from."""
    import howsure as hs

    show(hs.score(inputs.cells, **asked), form)


@click.command()
@reads(cluster=True)
@borrows
@answers
@two_models
@difference_method
def compare(inputs: Inputs, form: str, **asked: Any) -> None:
    """Compare two models, paired on the questions that both answered."""
    import howsure as hs

    show(hs.compare(inputs.cells, **asked), form)


@click.command()
@reads(cluster=True)
@answers
@difference_method
def pairs(inputs: Inputs, form: str, **asked: Any) -> None:
    """Compare all pairs of models, paired, with family-wise control."""
    import howsure as hs

    show(hs.pairs(inputs.cells, **asked), form)


@click.command()
@reads(cluster=True)
@answers
@difference_method
def rank(inputs: Inputs, form: str, **asked: Any) -> None:
    """Ranks that cannot be ruled out, and chances to be best."""
    import howsure as hs

    show(hs.rank(inputs.cells, **asked), form)


@click.command()
@reads(cluster=True)
@FORMAT
@click.option("--future", "n_future", type=float, help="Runs to predict the mean of; default: as many as there are.")
@click.option(
    "--method",
    type=click.Choice(["pooled", "run-means"]),
    default="pooled",
    show_default=True,
    help="pooled: from the variance of each question; run-means: as published.",
)
@click.option("--each", is_flag=True, help="A row for each run instead.")
def repeats(inputs: Inputs, form: str, *, each: bool, **asked: Any) -> None:
    """Where the next runs will fall, and whether any drifted.

    Each generation is a run, and so is each folder or table. The claim is about these very questions: clusters of them
    (--cluster) do not enter its error.
    """
    import howsure as hs

    result = hs.repeats(inputs.runs(), **asked)
    show(result.of("runs") if each else result, form)


@click.command()
@reads(cluster=True, variants=True)
@FORMAT
@reliable
@click.option(
    "--show",
    "view",
    type=click.Choice(VIEWS),
    help="Print more of one thing, with intervals. effects: of each value of a dimension; rank-flips: how often the "
    "prompt decides which of two models is better; sample-size: n_star of mean and variance; prompteval: "
    "quantiles over prompts from few answers.",
)
@click.option("--a", help="One model: with --b, components of their difference, and how often the prompt decides.")
@click.option("--b", help="The other model.")
@click.option("--proxy", "cheap", metavar="CHEAP", help="Test whether n_star of this model was enough for the others.")
def variants(
    inputs: Inputs,
    form: str,
    *,
    view: str | None,
    a: str | None,
    b: str | None,
    cheap: str | None,
    level: float,
    epsilon: float,
    delta: float,
) -> None:
    """Show what the prompt does to each score, and how many variants are enough.

    The table has the moments over prompt variants, the variance by source, and n_star: the smallest number of these
    variants that is enough, as published, and as the whole space of variants needs them. A table of results may also
    hold scores of whole benchmarks: a row per model and variant, without a column for the question, or --wide.
    """
    import howsure as hs

    cubes = inputs.cubes()
    if cheap is not None:
        if view is not None or a is not None or b is not None:
            raise InputError("--proxy together with --show or --a and --b", remedy="keep one of them")
        result = hs.proxy(cubes, cheap, epsilon=epsilon, delta=delta)
    elif a is not None or b is not None:
        if a is None or b is None:
            raise InputError("only one of two models", where="--a and --b", remedy="name both, or neither")
        if view not in {None, "components", "rank-flips"}:
            what = f"--show {view} is not of two models"
            raise InputError(what, remedy="leave --a and --b out, or choose --show rank-flips or components")
        compare_models = hs.difference_components if view == "components" else hs.rank_flips
        result = compare_models(cubes, a=a, b=b, level=level)
    elif view == "effects":
        result = hs.effects(cubes, level=level)
    elif view == "rank-flips":
        result = hs.rank_flips(cubes, level=level)
    elif view == "prompteval":
        result = hs.prompteval(cubes)
    else:
        result = hs.variants(cubes, level=level, epsilon=epsilon, delta=delta)
        if view is not None:
            result = result.of("enough" if view == "sample-size" else view)
    show(result, form)


@click.command()
@reads(level=False)
@FORMAT
@click.option("--every", is_flag=True, help="Every question, not only the suspects.")
@click.option(
    "--max-share",
    type=float,
    default=0.1,
    show_default=True,
    help="Largest share of wrong labels thought possible; p_wrong_max grows with it.",
)
def audit(inputs: Inputs, form: str, **asked: Any) -> None:
    """Suspects: questions whose label the models contradict.

    Rarely right and nearly always the same, or several models that agree on another answer. The evidence puts them in
    order and is no probability: answers cannot tell a wrong label from a right one that all models miss in the same
    way. The probability that a label is wrong lies between 0 and p_wrong_max. Look at the questions with howsure
    review, and leave out what is broken with --exclude.
    """
    from howsure.stats.questions import audit as suspects

    show(suspects(inputs.answers(), **asked), form)


@click.command()
@reads(cluster=True, level=False)
@answers
@two_models
@difference_method
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="NAME|BENCHMARK=W",
    default=["precision"],
    show_default=True,
    help="precision, equal, questions, or a number for each benchmark.",
)
def combine(inputs: Inputs, form: str, weights: tuple[str, ...], **asked: Any) -> None:
    """Several benchmarks as one statement about two models."""
    import howsure as hs
    from howsure.stats.core.claims import WEIGHT_RULES, check_choice

    is_rule = len(weights) == 1 and "=" not in weights[0]
    given = check_choice("weights", weights[0], WEIGHT_RULES) if is_rule else _weights(weights)
    show(hs.combine(inputs.cells, weights=given, **asked), form)


@click.command()
@reads(cluster=True, required=False, variants=True)
@borrows
@FORMAT
@click.option(
    "--claim", type=click.Choice(CLAIMS[:2]), default=CLAIMS[0], show_default=True, help="What to be sure of."
)
@click.option("--a", help="One model; alone: plan for its score.")
@click.option("--b", help="The other.")
@click.option("--accuracy", type=float, help="Without a pilot: about how often the models are right.")
@click.option(
    "--temperature", type=float, help="Without a pilot: the sampling temperature; up to 0.2 answers vary less."
)
@click.option("--detect", type=float, help="Goal: find a difference this small.")
@click.option("--width", type=float, help="Goal: an interval this wide.")
@click.option("--budget", type=float, help="Goal: the smallest error for so many calls, tokens or so much money.")
@click.option("--unit", type=click.Choice(["calls", "tokens", "cost"]), help="What a budget counts, or is to be cheap.")
@click.option("--power", type=float, default=0.8, show_default=True, help="Chance to find the difference.")
@click.option(
    "--assurance",
    type=parse_assurance,
    metavar="LEVEL|none",
    default=0.8,
    show_default=True,
    help="Chance that the design reaches its goal, given how roughly the pilot knows the noise; none: take the noise "
    "as known.",
)
@click.option("--questions", "available", type=int, help="Questions that there are; default: those of the pilot.")
@click.option("--max-variants", type=int, help="Prompt variants at most; default: as many as the pilot has.")
@click.option("--every", is_flag=True, help="A row for every combination of generations and variants beside the best.")
@click.option("--frontier", is_flag=True, help="The best design for the --budget, for half of it, for a quarter, ...")
@click.option("--prompt-tokens", type=float, help="Tokens of a prompt.")
@click.option("--completion-tokens", type=float, help="Tokens of a completion.")
@click.option("--input-price", type=float, help="Money per million prompt tokens.")
@click.option("--output-price", type=float, help="Money per million completion tokens.")
@click.option("--generations-per-request", type=int, default=1, show_default=True, help="What the endpoint gives.")
@click.option(
    "--questions-file",
    type=PATH,
    metavar="FILE",
    help="With --borrow: write the ids of the questions to ask, drawn at random, one a line.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Of that draw; a run with the same seed and limit: N asks the same questions.",
)
def plan(inputs: Inputs, form: str, *, frontier: bool, questions_file: Path | None, seed: int, **asked: Any) -> None:
    """What an error takes, or a budget buys.

    PATHS are the results of a pilot; without them, --accuracy assumes the noise, or --borrow tells it. With several
    prompt variants in the pilot, the plan is for new variants too.
    """
    import howsure as hs
    from howsure.stats.planning import Cost

    given = {field: asked.pop(field) for field in Cost.__dataclass_fields__}
    cost = Cost(**{field: value for field, value in given.items() if value is not None})
    if not inputs and "cluster" in inputs.columns:
        raise InputError("--cluster without results", remedy="give the results of a pilot, whose column it names")
    if frontier and asked["budget"] is None:
        raise InputError("--frontier without --budget", remedy="say what may be spent at most")
    if questions_file is not None and (not asked["borrow"] or len(asked["borrow"]) > 1 or frontier):
        what = "--questions-file draws from one benchmark of --borrow, for one plan"
        raise InputError(what, remedy="give --borrow with one benchmark, without --frontier")
    ask = hs.frontier if frontier else hs.plan
    result = ask(inputs.pilot() if inputs else None, cost=cost, **asked)
    show(result, form)
    if questions_file is not None:
        _write_questions(result, asked["borrow"][0], questions_file, seed)


def _write_questions(result: Results, reference: Cells, file: Path, seed: int) -> None:
    """Write the ids of the questions of the best design, one a line."""
    import howsure as hs
    from howsure.stats.planning import StudyPlan

    best = next((part.best for part in result.parts if isinstance(part, StudyPlan)), None)
    if best is None:
        raise InputError("there is no design, so no questions to write", where=str(file), remedy="change the goal")
    questions = hs.draw_questions(reference, best.n_questions, seed=seed)
    if any("\n" in question for question in questions):
        raise InputError("a question id has a line break", where=str(file), remedy="give questions other ids")
    try:
        file.write_text("".join(f"{question}\n" for question in questions), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror}", where=str(file), remedy="name another file") from None
    print(f"{len(questions)} of {len(reference.questions)} questions, drawn with seed {seed}: {file}", file=sys.stderr)


def _weights(given: tuple[str, ...]) -> dict[str, float]:
    weights = {}
    for pair in given:
        name, _, weight = pair.rpartition("=")
        try:
            weights[name] = float(weight)
        except ValueError as error:
            raise InputError(f"--weight {pair!r}", remedy="write BENCHMARK=NUMBER, or a name alone") from error
    return weights
