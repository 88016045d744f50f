"""Define commands on attempts, questions, checkpoints and providers: attempts, questions, greedy, curve, providers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import click

from howsure.api.choices import TEXT_FORMATS, OutputFormat
from howsure.cli.declared import DeclaredCommand, DeclaredValue
from howsure.cli.options import (
    CommandInputs,
    add_format,
    add_reading,
    build_models_error,
    fit_sentences,
    print_result,
)
from howsure.errors import InputError
from howsure.stats.core.claims import (
    BETA_ROWS,
    QUESTION_ROWS,
    BetaRows,
    QuestionRows,
)


@click.command(cls=DeclaredCommand, of="attempts")
@add_reading()
@add_format
def attempts(inputs: CommandInputs, form: OutputFormat, **options: DeclaredValue) -> None:
    """Estimate pass@k, pass^k and majority@k of each model.

    pass@k: one of k attempts at a question is right; pass^k: all of them are. Without bias from n >= k generations.
    """
    import howsure as hs

    print_result(hs.attempts(inputs.results, **options), form)


@click.command(cls=DeclaredCommand, of="questions beta_fits")
@add_reading()
@add_format
@click.option(
    "--beta",
    type=click.Choice(BETA_ROWS),
    help="Instead: the Beta distribution of P(correct) over the questions, of each model or of the models of each "
    "range of scores together.",
)
def questions(
    inputs: CommandInputs,
    form: OutputFormat,
    *,
    beta: BetaRows | None,
    by: QuestionRows,
    zero: bool,
    edges: Sequence[float] | None,
    **options: DeclaredValue,
) -> None:
    """Describe each question: how hard it is, and how it separates models.

    The table has the difficulty on a common scale (1PL model), the correlation with the score on the other questions,
    and Kendall's tau with ability: where it is clearly negative, better models do worse, and the label may be wrong.
    """
    import howsure as hs

    if beta is None:
        if zero or edges is not None:
            raise InputError("--zero" if zero else "--edges", remedy="add --beta score, whose fits it is about")
        return print_result(hs.questions(inputs.results, by=by, **options), form)
    if by != QUESTION_ROWS[0]:
        raise InputError(f"--by {by} with --beta {beta}", remedy="leave one of them out: they print different tables")
    if edges is None:
        return print_result(hs.beta_fits(inputs.results, by=beta, zero=zero), form)
    if beta == "model":
        raise InputError("--edges with --beta model", remedy="write --beta score, or leave --edges out")
    return print_result(hs.beta_fits(inputs.results, by=beta, zero=zero, edges=edges), form)


@click.command(cls=DeclaredCommand, of="greedy")
@add_reading(cluster=True)
@add_format
def greedy(inputs: CommandInputs, form: OutputFormat, **options: DeclaredValue) -> None:
    """Compare sampled generations with greedy decoding.

    The greedy run of a model NAME is the model NAME:greedy, as an experiment with greedy: true labels it. The gap is
    the expected difference between the best and the worst of several runs of one generation per question.
    """
    import howsure as hs

    print_result(hs.greedy(inputs.results, **options), form)


@click.command(cls=DeclaredCommand, of="curve")
@add_reading(cluster=True)
@add_format
def curve(inputs: CommandInputs, form: OutputFormat, **options: DeclaredValue) -> None:
    """Follow a score over the checkpoints of a training run.

    Each checkpoint is a model; labels that differ in one number, such as m-step100 and m-step2000, are one curve. Where
    a column of a table holds the checkpoint, name it: --columns model=step. howsure rank says which checkpoints may
    be the best.
    """
    import howsure as hs
    from howsure.stats.comparisons import have_positions

    result = hs.curve(inputs.results, **options)
    print_result(result, form)
    if form in TEXT_FORMATS:
        hint = "which checkpoint to take: howsure rank; each with rank_low 1 may be the best"
        if options["order"] is None and not have_positions(result["checkpoint"].tolist()):
            hint = (
                "no word such as step stands before the number in which these labels differ: if they are no "
                "checkpoints, such as models of several sizes, howsure pairs compares them"
            )
        print(fit_sentences(hint, form))


@click.command(cls=DeclaredCommand, of="providers")
@add_reading()
@add_format
@click.option("--other", multiple=True, metavar="PATH", help="Results at the other provider, if not among PATHS.")
def providers(
    inputs: CommandInputs,
    form: OutputFormat,
    *,
    a: str | None,
    b: str | None,
    other: Sequence[str],
    **options: DeclaredValue,
) -> None:
    """Test whether a model scores the same at two providers.

    Or in two configurations. The claim is about these very questions; each side needs two generations of some of them.
    """
    import howsure as hs

    if not other and (a is None or b is None):
        raise build_models_error(inputs, a, b, alone="--other PATH reads those at the other provider")
    beside = replace(inputs, paths=other).results if other else None
    print_result(hs.providers(inputs.results, a, b, other=beside, **options), form)
