"""Define commands on attempts, questions and checkpoints: attempts, questions, curve."""

from __future__ import annotations

import click

from howsure.api.choices import TEXT_FORMATS, OutputFormat
from howsure.cli.declared import DeclaredCommand, DeclaredValue
from howsure.cli.options import (
    CommandInputs,
    add_format,
    add_reading,
    fit_sentences,
    print_result,
    refuse_options,
)
from howsure.errors import InputError
from howsure.stats.core.claims import (
    BETA_ROWS,
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


@click.command(cls=DeclaredCommand, of="questions beta_fits", omit="edges")
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
    **options: DeclaredValue,
) -> None:
    """Describe each question: how hard it is, and how it separates models.

    The table has the difficulty on a common scale (1PL model), the correlation with the score on the other questions,
    and Kendall's tau with ability: where it is clearly negative, better models do worse, and the label may be wrong.
    """
    import howsure as hs

    if beta is not None:
        refuse_options(f"--beta {beta}", "zero")
        print_result(hs.beta_fits(inputs.results, by=beta, zero=zero), form)
        return
    if zero:
        raise InputError("--zero without --beta", remedy="add --beta score, whose fits it is about")
    print_result(hs.questions(inputs.results, by=by, **options), form)


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
                "checkpoints, such as models of several sizes, howsure compare compares them"
            )
        print(fit_sentences(hint, form))
