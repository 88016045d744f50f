"""Define commands on results: score, compare, pairs, rank, repeats, combine, variants, audit, show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from howsure.api.choices import (
    GENERATION_FORMATS,
    PROMPT_VIEWS,
    TEXT_FORMATS,
    GenerationFormat,
    OutputFormat,
    PromptView,
)
from howsure.cli.declared import DeclaredCommand, DeclaredValue
from howsure.cli.options import (
    CommandInputs,
    add_borrow,
    add_format,
    add_reading,
    add_two_models,
    complete_models,
    fit_sentences,
    follow_files,
    parse_columns,
    print_result,
)
from howsure.errors import InputError
from howsure.stats.core.claims import (
    ANSWER_SET_RULES,
    WEIGHT_RULES,
    AnswerSetRule,
    ConsistencyMethod,
    check_choice,
)

if TYPE_CHECKING:
    from howsure.api.prompt_results import PromptResults
    from howsure.results.evaluations import Evaluations


@click.command(cls=DeclaredCommand, of="score")
@add_reading(cluster=True)
@add_borrow
@add_format
@click.option(
    "--follow",
    is_flag=True,
    help="Read again and print again whenever a file changes, until Ctrl-C: logs that another program is writing.",
)
def score(inputs: CommandInputs, form: OutputFormat, *, follow: bool, **options: DeclaredValue) -> None:
    """Score each model, with its error by source."""
    import howsure as hs

    def print_scores(inputs: CommandInputs) -> None:
        print_result(hs.score(inputs.results, **options), form)
        if options["calibrate"] is not None:
            _print_labels(inputs, options["calibrate"], options["level"], form)

    if follow:
        follow_files(inputs, print_scores)
    else:
        print_scores(inputs)


def _print_labels(inputs: CommandInputs, labels: Path, level: float, form: OutputFormat) -> None:
    """Print what labels say of the judge and of each other below a table that they calibrate."""
    from howsure.api.judged_results import describe_labels

    if form in TEXT_FORMATS:
        for line in describe_labels(inputs.results, labels, level=level):
            print(fit_sentences(line, form))


@click.command(cls=DeclaredCommand, of="compare", names={"paired": "unpaired"})
@add_reading(cluster=True)
@add_borrow
@add_format
@add_two_models
def compare(inputs: CommandInputs, form: OutputFormat, *, a: str, b: str, **options: DeclaredValue) -> None:
    """Compare two models, paired by question."""
    import howsure as hs

    print_result(hs.compare(inputs.results, a, b, **options), form)
    if options["calibrate"] is not None:
        _print_labels(inputs, options["calibrate"], options["level"], form)
    elif form in TEXT_FORMATS:
        from howsure.api.judged_results import describe_positions

        for line in describe_positions(inputs.results):
            print(line)


@click.command(cls=DeclaredCommand, of="pairs")
@add_reading(cluster=True)
@add_format
def pairs(inputs: CommandInputs, form: OutputFormat, **options: DeclaredValue) -> None:
    """Compare all pairs of models, with adjusted p-values."""
    import howsure as hs

    result = hs.pairs(inputs.results, **options)
    if len(result) and not any(result["n_questions"]):
        remedy = (
            "where programs name the same questions differently, convert each file with its own --columns "
            "question=FIELD, and read the folders together with --as-benchmark NAME"
        )
        raise InputError("no two models have a question in common", where="pairs", remedy=remedy)
    print_result(result, form)


@click.command(cls=DeclaredCommand, of="rank")
@add_reading(cluster=True)
@add_format
def rank(inputs: CommandInputs, form: OutputFormat, **options: DeclaredValue) -> None:
    """Rank the models, with confidence sets of ranks."""
    import howsure as hs

    print_result(hs.rank(inputs.results, **options), form)


@click.command(cls=DeclaredCommand, of="repeats run_widths", names={"n_future": "future"})
@add_reading(cluster=True)
@add_format
@click.option("--each", is_flag=True, help="Print a row for each run instead, with the day on which it was made.")
@click.option("--widths", is_flag=True, help="Print the interval after the first 2, 3, ... runs instead.")
@click.option(
    "--determinism",
    is_flag=True,
    help="Print instead how many questions got more than one distinct completion, as for repeats at temperature 0.",
)
def repeats(
    inputs: CommandInputs,
    form: OutputFormat,
    *,
    each: bool,
    widths: bool,
    determinism: bool,
    n_future: float | None,
    goal: float,
    **options: DeclaredValue,
) -> None:
    """Predict future runs, and test for drift.

    Each generation is a run, and so is each folder or table. In a table, best, worst and drift need a column that
    numbers the runs (--columns generation=NAME). The claim is about these very questions: clusters of them (--cluster)
    do not enter its error.
    """
    import howsure as hs

    if sum((each, widths, determinism)) > 1:
        raise InputError("several of --each, --widths and --determinism", remedy="keep one of them")
    if (widths or determinism) and n_future is not None:
        remedy = "leave out --future, or --widths and --determinism"
        raise InputError("--future is of the prediction of runs", remedy=remedy)
    if determinism:
        result = hs.determinism(inputs.results, level=options["level"])
    elif widths:
        result = hs.run_widths(inputs.results, goal=goal, **options)
    else:
        result = hs.repeats(inputs.results, n_future=n_future, **options)
    print_result(result.of("runs") if each else result, form)
    if form in TEXT_FORMATS and not (each or determinism or widths):
        from howsure.api.judged_results import measure_repeated_verdicts

        if noise := measure_repeated_verdicts(inputs.results, level=options["level"]):
            print(f"\nVerdicts of the judge, repeated\n{noise}")


@click.command(cls=DeclaredCommand, of="combine")
@add_reading(cluster=True)
@add_format
@add_two_models
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="NAME|BENCHMARK=W",
    default=["precision"],
    show_default=True,
    help="precision, equal, questions, or a number for each.",
)
def combine(
    inputs: CommandInputs, form: OutputFormat, *, a: str, b: str, weights: Sequence[str], **options: DeclaredValue
) -> None:
    """Compare two models on several benchmarks at once."""
    import howsure as hs

    is_rule = len(weights) == 1 and "=" not in weights[0]
    chosen = check_choice("weights", weights[0], WEIGHT_RULES) if is_rule else _parse_weights(weights)
    print_result(hs.combine(inputs.results, a, b, weights=chosen, **options), form)


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


@click.command(cls=DeclaredCommand, of="variants")
@add_reading(cluster=True, variants=True)
@add_format
@click.option(
    "--show",
    "view",
    type=click.Choice(PROMPT_VIEWS),
    help="Print more of one thing, with intervals. dimensions: which dimension of the prompt matters; effects: of each "
    "value of a dimension; unread: answers that could not be parsed, by prompt, and how much of the spread they "
    "explain; consistency: how often two prompts give the same answer; concordance: how far prompts agree on the order "
    "of models (Kendall's W); rank-flips: how often the prompt decides which of two models is better; sample-size: "
    "n_star of mean and variance; prompteval: quantiles over prompts from few answers.",
)
@click.option(
    "--a",
    shell_complete=complete_models,
    help="One model: with --b, components of their difference, and how often the prompt decides.",
)
@click.option("--b", shell_complete=complete_models, help="The other model.")
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
    hold scores of whole benchmarks: a row per model and variant without a column for the question, or --shape variants.
    """
    import howsure as hs

    results = inputs.results
    if cheap is not None:
        if view is not None or a is not None or b is not None:
            raise InputError("--proxy together with --show or --a and --b", remedy="keep one of them")
        result = hs.proxy(results, cheap, epsilon=epsilon, delta=delta)
    elif a is not None or b is not None:
        result = _compare_models(results, view, a, b, level)
    elif view in _PROMPT_STUDIES:
        result = getattr(hs, _PROMPT_STUDIES[view])(results, level=level)
    elif view == "prompteval":
        result = hs.prompteval(results)
    else:
        result = hs.variants(results, level=level, epsilon=epsilon, delta=delta)
        if view is not None:
            result = result.of(view.replace("-", "_"))
    print_result(result, form)


#: Public functions by the view of the command `variants` that they make.
_PROMPT_STUDIES = {
    "dimensions": "dimension_shares",
    "effects": "effects",
    "unread": "unread_answers",
    "consistency": "prompt_consistency",
    "concordance": "rank_concordance",
    "rank-flips": "rank_flips",
}


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


@click.command(cls=DeclaredCommand, of="audit data_map answer_sets", names={"method": "consistency"})
@add_reading()
@add_format
@click.option(
    "--data-map",
    is_flag=True,
    help="List instead the questions in the corner of each model's data map: rarely right, nearly always alike.",
)
@click.option(
    "--sets",
    type=click.Choice(ANSWER_SET_RULES),
    default=ANSWER_SET_RULES[0],
    show_default=True,
    help="Which answers count as the same: equal ones; entailment in both directions (NLI model); embeddings with at "
    "least --threshold; or what a judge says.",
)
@click.option("--sets-model", metavar="MODEL", help="With --sets: the NLI or embedding model, or the judge.")
@click.option("--of", multiple=True, metavar="MODEL", help="With --data-map: only this model; several can be named.")
def audit(
    inputs: CommandInputs,
    form: OutputFormat,
    *,
    data_map: bool,
    sets: AnswerSetRule,
    sets_model: str | None,
    every: bool,
    max_share: float,
    of: Sequence[str],
    over_models: bool,
    method: ConsistencyMethod,
    **options: DeclaredValue,
) -> None:
    """List questions whose label may be wrong.

    A question is suspected if it is rarely answered right and nearly always in the same way, or if several models agree
    on another answer. The evidence puts questions in order and is no probability: answers cannot distinguish a wrong
    label from a right one that all models miss in the same way. The probability that a label is wrong lies between 0
    and p_wrong_max. Of tables of scores it lists questions that no model solves, on which better models do worse, or
    that the worst model solves and the best never does, and says what it could not look for. Look at the questions
    with howsure review, and leave out what is broken with --exclude.
    """
    import howsure as hs

    if (of or over_models) and not data_map:
        raise InputError("--of and --over-models without --data-map", remedy="add --data-map")
    answers = hs.answer_sets(inputs.results, sets, model=sets_model, **options)
    if data_map:
        maps = hs.data_map(answers, model=of, over_models=over_models, method=method, every=every)
        print_result(maps, form)
    else:
        print_result(hs.audit(answers or inputs.results, every=every, max_share=max_share, method=method), form)


#: Generations that `show` prints for a person, unless --limit says otherwise.
_DEFAULT_LIMIT = 20


@click.command()
@click.argument("paths", nargs=-1, required=True)
@click.option(
    "--only",
    multiple=True,
    metavar="KIND",
    help="correct (a score of 1), in-between, wrong (of 0), unparsed, unscored or failed; several can be given.",
)
@click.option("--benchmark", multiple=True, help="Show generations of this benchmark.")
@click.option("--model", multiple=True, help="Show generations of this model.")
@click.option("--question", multiple=True, help="Show generations of this question.")
@click.option("--variant", multiple=True, help="Show generations of this prompt variant.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Show at most N; default: {_DEFAULT_LIMIT}, and all with --format jsonl.",
)
@click.option("--seed", type=int, metavar="S", help="Draw the N at random, with this seed, and not the first ones.")
@click.option("--prompts", is_flag=True, help="Show the prompts, too.")
@click.option("--full", is_flag=True, help="Print long completions whole.")
@click.option(
    "--columns", multiple=True, metavar="NAME=COLUMN", help="Column of a table, or field of a log, that holds NAME."
)
@click.option(
    "--scorer", metavar="NAME", help="Which of several scores is read; of run folders, a scorer of howsure rescore."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(GENERATION_FORMATS),
    default=GENERATION_FORMATS[0],
    show_default=True,
    help="Print text for a person, or a line of JSON for each generation.",
)
def show(
    paths: Sequence[str],
    *,
    limit: int | None,
    seed: int | None,
    prompts: bool,
    full: bool,
    columns: Sequence[str],
    scorer: str | None,
    form: GenerationFormat,
    **names: Sequence[str],
) -> None:
    """Show single generations: completion, target, answer.

    Each has its score, what was read as the answer, by which rule, and the target. PATHS are run folders, logs that
    keep completions, and tables with a column of completions.
    """
    from howsure.api import generation_list

    results = CommandInputs(paths, columns=parse_columns(columns), scorer=scorer).results
    stored = generation_list.select_generations(results, **names)
    if form == "jsonl":
        for line in generation_list.iterate_lines(stored, limit, seed=seed, prompts=prompts):
            print(line)
    else:
        generations = tuple(stored.read(limit or _DEFAULT_LIMIT, seed=seed, prompts=prompts))
        print(generation_list.GenerationList(generations, stored.count(), stored.only, full=full))
