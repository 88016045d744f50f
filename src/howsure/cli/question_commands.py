"""Define commands on attempts, questions, checkpoints and providers: attempts, questions, greedy, curve, providers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import click

from howsure.api.choices import TEXT_FORMATS, OutputFormat
from howsure.cli.options import (
    CommandInputs,
    add_claim_and_format,
    add_format,
    add_pass_at,
    add_reading,
    build_models_error,
    complete_models,
    fit_sentences,
    print_result,
)
from howsure.errors import InputError
from howsure.stats.core.claims import (
    BETA_ROWS,
    PROVIDER_METHODS,
    QUESTION_PRIORS,
    QUESTION_ROWS,
    TEST_METHODS,
    BetaRows,
    Claim,
    ProviderMethod,
    QuestionPrior,
    QuestionRows,
    TestMethod,
)


@click.command()
@add_reading()
@add_claim_and_format
@click.option("--k", metavar="K,K,...", help="Numbers of attempts; default: 1, 2, 5, 10, ... as far as there are.")
@click.option("--majority", is_flag=True, help="Also majority@k: the most frequent of k answers is right.")
@add_pass_at
def attempts(
    inputs: CommandInputs,
    form: OutputFormat,
    *,
    k: str | None,
    majority: bool,
    pass_at: float | None,
    claim: Claim,
    level: float,
) -> None:
    """Estimate pass@k, pass^k and majority@k of each model.

    pass@k: one of k attempts at a question is right; pass^k: all of them are. Without bias from n >= k generations.
    """
    import howsure as hs

    numbers = None if k is None else _parse_numbers(k)
    result = hs.attempts(inputs.results, k=numbers, majority=majority, claim=claim, level=level, pass_at=pass_at)
    print_result(result, form)


def _parse_numbers(text: str) -> list[int]:
    """Return the numbers of the value of --k."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"--k {text!r}", remedy="write whole numbers, such as --k 1,5,10") from error


def _parse_edges(text: str) -> list[float]:
    """Return the numbers of the value of --edges."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"--edges {text!r}", remedy="write numbers, such as --edges 0,0.3,0.6,1") from error


@click.command()
@add_reading()
@add_format
@click.option(
    "--by",
    type=click.Choice(QUESTION_ROWS),
    default=QUESTION_ROWS[0],
    show_default=True,
    help="question: a row per question, over all models; model: P(correct) of each model on each question.",
)
@click.option(
    "--prior",
    type=click.Choice(QUESTION_PRIORS),
    default=QUESTION_PRIORS[0],
    show_default=True,
    help="Prior of P(correct), with --by model. hierarchical and fitted: learned from the model's other questions.",
)
@click.option(
    "--beta",
    type=click.Choice(BETA_ROWS),
    help="Instead: the Beta distribution of P(correct) over the questions, of each model or of the models of each "
    "range of scores together.",
)
@click.option("--zero", is_flag=True, help="With --beta: a share of questions that are never answered right.")
@click.option(
    "--edges", metavar="P,P,...", help="With --beta score: limits of the ranges.  [default: 0,0.2,0.4,0.6,0.8,1]"
)
def questions(
    inputs: CommandInputs,
    form: OutputFormat,
    *,
    level: float,
    by: QuestionRows,
    prior: QuestionPrior,
    beta: BetaRows | None,
    zero: bool,
    edges: str | None,
) -> None:
    """Describe each question: how hard it is, and how it separates models.

    The table has the difficulty on a common scale (1PL model), the correlation with the score on the other questions,
    and Kendall's tau with ability: where it is clearly negative, better models do worse, and the label may be wrong.
    """
    import howsure as hs

    if beta is None:
        if zero or edges is not None:
            raise InputError("--zero" if zero else "--edges", remedy="add --beta score, whose fits it is about")
        return print_result(hs.questions(inputs.results, by=by, level=level, prior=prior), form)
    if by != QUESTION_ROWS[0]:
        raise InputError(f"--by {by} with --beta {beta}", remedy="leave one of them out: they print different tables")
    if edges is None:
        return print_result(hs.beta_fits(inputs.results, by=beta, zero=zero), form)
    if beta == "model":
        raise InputError("--edges with --beta model", remedy="write --beta score, or leave --edges out")
    return print_result(hs.beta_fits(inputs.results, by=beta, zero=zero, edges=_parse_edges(edges)), form)


@click.command()
@add_reading(cluster=True)
@add_format
@click.option(
    "--runs", type=int, default=10, show_default=True, help="Single runs between whose best and worst the gap is."
)
def greedy(inputs: CommandInputs, form: OutputFormat, *, level: float, runs: int) -> None:
    """Compare sampled generations with greedy decoding.

    The greedy run of a model NAME is the model NAME:greedy, as an experiment with greedy: true labels it. The gap is
    the expected difference between the best and the worst of several runs of one generation per question.
    """
    import howsure as hs

    print_result(hs.greedy(inputs.results, runs=runs, level=level), form)


@click.command()
@add_reading(cluster=True)
@add_format
@click.option(
    "--order", metavar="NAME,NAME,...", help="The checkpoints in their order; default: by the number in them."
)
@click.option(
    "--reference",
    shell_complete=complete_models,
    metavar="NAME",
    help="Checkpoint that the others are compared with; default: the last.",
)
@click.option("--method", type=click.Choice(TEST_METHODS), help="Default: those of score and compare.")
def curve(
    inputs: CommandInputs,
    form: OutputFormat,
    *,
    level: float,
    order: str | None,
    reference: str | None,
    method: TestMethod | None,
) -> None:
    """Follow a score over the checkpoints of a training run.

    Each checkpoint is a model; labels that differ in one number, such as m-step100 and m-step2000, are one curve. Where
    a column of a table holds the checkpoint, name it: --columns model=step. howsure rank says which checkpoints may
    be the best.
    """
    import howsure as hs
    from howsure.stats.comparisons import have_positions

    names = None if order is None else [name.strip() for name in order.split(",")]
    result = hs.curve(inputs.results, order=names, reference=reference, level=level, method=method)
    print_result(result, form)
    if form in TEXT_FORMATS:
        hint = "which checkpoint to take: howsure rank; each with rank_low 1 may be the best"
        if names is None and not have_positions(result["checkpoint"].tolist()):
            hint = (
                "no word such as step stands before the number in which these labels differ: if they are no "
                "checkpoints, such as models of several sizes, howsure pairs compares them"
            )
        print(fit_sentences(hint, form))


@click.command()
@add_reading()
@add_format
@click.option(
    "--a",
    shell_complete=complete_models,
    help="The model at one provider; with --other, default: the only one of PATHS.",
)
@click.option(
    "--b",
    shell_complete=complete_models,
    help="The model at the other provider; with --other, default: the same name, or the only one.",
)
@click.option("--other", multiple=True, metavar="PATH", help="Results at the other provider, if not among PATHS.")
@click.option(
    "--method",
    type=click.Choice(PROVIDER_METHODS),
    default=PROVIDER_METHODS[0],
    show_default=True,
    help="stratified: from the means of each question; run-means: as published; welch: without equal variances.",
)
def providers(
    inputs: CommandInputs,
    form: OutputFormat,
    *,
    level: float,
    a: str | None,
    b: str | None,
    other: Sequence[str],
    method: ProviderMethod,
) -> None:
    """Test whether a model scores the same at two providers.

    Or in two configurations. The claim is about these very questions; each side needs two generations of some of them.
    """
    import howsure as hs

    if not other and (a is None or b is None):
        raise build_models_error(inputs, a, b, alone="--other PATH reads those at the other provider")
    beside = replace(inputs, paths=other).results if other else None
    print_result(hs.providers(inputs.results, a, b, other=beside, level=level, method=method), form)
