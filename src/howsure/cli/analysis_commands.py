"""Define commands on results: score, compare, rank, repeats, variants, audit, attempts, questions, curve, show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from howsure.api.choices import (
    GENERATION_FORMATS,
    TEXT_FORMATS,
    GenerationFormat,
    OutputFormat,
)
from howsure.cli.declared import DeclaredCommand, DeclaredValue
from howsure.cli.options import (
    CommandInputs,
    add_borrow,
    add_format,
    add_reading,
    add_winner,
    build_models_error,
    fit_sentences,
    parse_columns,
    print_result,
    refuse_options,
)
from howsure.errors import InputError
from howsure.stats.core.claims import (
    ANSWER_SET_RULES,
    BETA_ROWS,
    CALIBRATION_METHODS,
    DIFFERENCE_METHODS,
    PROVIDER_METHODS,
    WEIGHT_RULES,
    BetaRows,
    ConsistencyMethod,
    DifferenceMethod,
    ProviderMethod,
    QuestionRows,
    check_choice,
)


@click.command(cls=DeclaredCommand, of="score")
@add_reading(cluster=True)
@add_borrow
@add_format
def score(inputs: CommandInputs, form: OutputFormat, **options: DeclaredValue) -> None:
    """Score each model, with its error by source."""
    import howsure as hs

    print_result(hs.score(inputs.results, **options), form)
    if options["calibrate"] is not None:
        _print_labels(inputs, options["calibrate"], options["level"], form)


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
@add_winner("models")
@click.option("--a", metavar="MODEL", help="One model; differences are a - b.")
@click.option("--b", metavar="MODEL", help="The other model.")
@click.option(
    "--method",
    type=click.Choice([*DIFFERENCE_METHODS, *PROVIDER_METHODS, *CALIBRATION_METHODS]),
    help="How the interval is computed; default: adjusted-t, Student's t after two pseudo-questions. t and clt: "
    "without them. tango: for one generation per question scored 0 or 1. "
    "Of one model in two places, on these very questions: stratified, run-means (as published) or welch. With "
    "--calibrate: ppi, rogan-gladen, labels or raw.",
)
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="NAME|BENCHMARK=W",
    help="Print the test over all benchmarks alone: precision (the default), equal, questions, or a number for each.",
)
@click.option(
    "--by",
    multiple=True,
    metavar="COLUMN|difficulty|length",
    help="Print instead in which questions the difference is another: by a column such as subject, by how hard they "
    "are for other models, or by their length. Several can be named.",
)
@click.option("--greedy", is_flag=True, help="Compare the sampled generations of each model NAME with NAME:greedy.")
def compare(
    inputs: CommandInputs,
    form: OutputFormat,
    *,
    a: str | None,
    b: str | None,
    method: DifferenceMethod | ProviderMethod | None,
    weights: Sequence[str],
    by: Sequence[str],
    greedy: bool,
    **options: DeclaredValue,
) -> None:
    """Compare models, paired by question.

    Two paths with a model each, or two models of one path, need no names: BASE NEW says how NEW differs from BASE, and
    NAME=PATH labels a path. Of more than two models all pairs are compared, with adjusted p-values. Of one model at two
    paths, such as at two providers, it is tested whether it scores the same on these very questions (--method
    stratified, which two tables need). Several benchmarks are also tested together.
    """
    import howsure as hs

    if greedy:
        refuse_options("--greedy", "level")
        print_result(hs.greedy(inputs.results, level=options["level"]), form)
        return
    places = _find_places(inputs, a, b, is_named=a is not None or method in PROVIDER_METHODS)
    if not places and a is None and b is None and len(inputs.models) == 2:
        a, b = _order_models(inputs)
    if places or method in PROVIDER_METHODS:
        mode = "one model in two places" if places else f"--method {method}"
        refuse_options(mode, "a", "b", "method", "level")
        method = check_choice("method of one model in two places", method or "stratified", PROVIDER_METHODS)
        other, first = places or (None, inputs)
        second = None if other is None else other.results
        print_result(hs.providers(first.results, a, b, other=second, level=options["level"], method=method), form)
    elif a is None and b is None and len(inputs.models) > 2:
        refuse_options("more than two models", *PAIRS_OPTIONS, remedy="name two of them with --a and --b")
        _print_pairs(inputs, form, options | {"method": method})
    elif a is None or b is None:
        raise build_models_error(inputs, a, b)
    elif by:
        from howsure.api.question_slices import COMPUTED, compare_by, list_clusters

        refuse_options("--by", "a", "b", "level")
        read = {name: replace(inputs, columns={**inputs.columns, "cluster": name}) for name in by}
        columns = {
            name: None if name in COMPUTED else list_clusters(one.results.cells(), name) for name, one in read.items()
        }
        print_result(compare_by(inputs.results, a, b, columns, level=options["level"]), form)
    else:
        _print_comparison(inputs, form, a, b, weights, options | {"method": method})


def _find_places(inputs: CommandInputs, a: str | None, b: str | None, *, is_named: bool) -> list[CommandInputs]:
    """Return the inputs of each of two paths where one model is at both; none elsewhere.

    Unless the test or the model `is_named`, the two are read together first, which refuses what may be two models.
    """
    if len(inputs.paths) != 2 or b not in {None, a}:
        return []
    if not is_named and len(inputs.models) > 1:  # two files that are called alike may be two models by their folders
        return []
    sides = [replace(inputs, paths=[path]) for path in inputs.paths]
    models = [{*side.models} for side in sides]
    return sides if (a in models[0] & models[1] if a is not None else len(models[0] | models[1]) == 1) else []


def _order_models(inputs: CommandInputs) -> list[str]:
    """Return the two models of the results as a and b: a is that of the second path, where each path has one."""
    models = inputs.models
    if len(inputs.paths) != 2:
        return models
    return models if replace(inputs, paths=inputs.paths[1:]).models == models[:1] else models[::-1]


#: Options that comparisons of all pairs have.
PAIRS_OPTIONS = ("claim", "level", "method", "average", "missing")


def _print_pairs(inputs: CommandInputs, form: OutputFormat, options: dict[str, DeclaredValue]) -> None:
    """Print the comparisons of all pairs of models."""
    import howsure as hs

    chosen = {name: options[name] for name in PAIRS_OPTIONS}
    result = hs.pairs(inputs.results, every_column=form != "table", **chosen)
    if len(result) and not any(result["n_questions"]):
        remedy = (
            "where programs name the same questions differently, convert each file with its own --columns "
            "question=FIELD, and read the folders together with --as-benchmark NAME"
        )
        raise InputError("no two models have a question in common", where="compare", remedy=remedy)
    print_result(result, form)


def _print_comparison(
    inputs: CommandInputs, form: OutputFormat, a: str, b: str, weights: Sequence[str], options: dict[str, DeclaredValue]
) -> None:
    """Print the comparison of two models on each benchmark, and on all of them together."""
    import howsure as hs

    combined = {name: options[name] for name in ("claim", "method", "missing")}
    if weights:
        refuse_options("--weight", "a", "b", "weights", "claim", "method", "missing")
        is_rule = len(weights) == 1 and "=" not in weights[0]
        chosen = check_choice("weights", weights[0], WEIGHT_RULES) if is_rule else _parse_weights(weights)
        print_result(hs.combine(inputs.results, a, b, weights=chosen, **combined), form)
        return

    result = hs.compare(inputs.results, a, b, **options)
    is_text = form in TEXT_FORMATS and options["calibrate"] is None
    if is_text and len(result) > 1 and options["borrow"] is None and options["paired"] and a != b:
        print_result(hs.combine(inputs.results, a, b, **combined), form)
        print("\nEach benchmark")
    print_result(result, form)
    if options["calibrate"] is not None:
        _print_labels(inputs, options["calibrate"], options["level"], form)
    elif is_text:
        from howsure.api.judged_results import describe_positions

        for line in describe_positions(inputs.results):
            print(fit_sentences(line, form))
        if options["missing"] == "as-zero":
            print("missing answers count as wrong here")


@click.command(cls=DeclaredCommand, of="rank")
@add_reading(cluster=True)
@add_format
@add_winner("models")
@click.option(
    "--battles",
    is_flag=True,
    help="PATHS are tables of battles, with the columns model_a, model_b and winner: rank by the Bradley-Terry model.",
)
def rank(inputs: CommandInputs, form: OutputFormat, *, battles: bool, **options: DeclaredValue) -> None:
    """Rank the models, with confidence sets of ranks."""
    import howsure as hs

    if battles:
        refuse_options("--battles", "level")
        print_result(hs.battles(list(inputs.paths), level=options["level"], columns=inputs.columns), form)
        return

    print_result(hs.rank(inputs.results, **options), form)


@click.command(cls=DeclaredCommand, of="repeats run_widths", omit="goal", names={"n_future": "future"})
@add_reading(cluster=True)
@add_format
@click.option(
    "--show",
    type=click.Choice(["runs", "widths", "determinism"]),
    help="Print instead a row for each run, with its day; the interval after the first 2, 3, ... runs; or how many "
    "questions got more than one distinct completion, as for repeats at temperature 0.",
)
def repeats(
    inputs: CommandInputs,
    form: OutputFormat,
    *,
    show: str | None,
    n_future: float | None,
    **options: DeclaredValue,
) -> None:
    """Predict future runs, and test for drift.

    Each generation is a run, and so is each folder or table. In a table, best, worst and drift need a column that
    numbers the runs (--columns generation=NAME). The claim is about these very questions: clusters of them (--cluster)
    do not enter its error.
    """
    import howsure as hs

    if show == "determinism":
        refuse_options("--show determinism", "level")
        result = hs.determinism(inputs.results, level=options["level"])
    elif show == "widths":
        refuse_options("--show widths", "level", "method")
        result = hs.run_widths(inputs.results, **options)
    else:
        result = hs.repeats(inputs.results, n_future=n_future, **options)
    print_result(result.of("runs") if show == "runs" else result, form)
    if form in TEXT_FORMATS and show is None:
        from howsure.api.judged_results import measure_repeated_verdicts

        if noise := measure_repeated_verdicts(inputs.results, level=options["level"]):
            print(f"\nVerdicts of the judge, repeated\n{noise}")


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
@add_winner("variants")
def variants(inputs: CommandInputs, form: OutputFormat, **options: DeclaredValue) -> None:
    """Show how the score of each model depends on the prompt.

    The table has the moments over prompt variants, the variance by source, and n_star: the smallest number of these
    variants that is enough, as published, and as the whole space of variants needs them. A table of results may also
    hold scores of whole benchmarks: a row per model and variant without a column for the question, or --shape variants.
    """
    import howsure as hs

    print_result(hs.variants(inputs.results, **options), form)


@click.command(
    cls=DeclaredCommand,
    of="audit data_map answer_sets",
    omit="threshold max_comparisons model over_models",
    names={"method": "consistency"},
)
@add_reading()
@add_format
@click.option(
    "--data-map",
    is_flag=True,
    help="List instead the questions in the corner of each model's data map: rarely right, nearly always alike.",
)
@click.option(
    "--sets",
    metavar="RULE",
    default="equal",
    show_default=True,
    help="Which answers count as the same. equal; entailment:MODEL: each entails the other, for this NLI model; "
    "embeddings:COSINE: at least so alike; judge:MODEL: what this model says.",
)
def audit(
    inputs: CommandInputs,
    form: OutputFormat,
    *,
    data_map: bool,
    sets: str,
    every: bool,
    max_share: float,
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

    name, _, value = sets.partition(":")
    rule = check_choice("rule", name, ANSWER_SET_RULES, where="--sets")
    given = {"threshold": _parse_cosine(sets, value)} if rule == "embeddings" else {"model": value or None}
    answers = hs.answer_sets(inputs.results, rule, **given, **options)
    if data_map:
        print_result(hs.data_map(answers, method=method, every=every), form)
    else:
        print_result(hs.audit(answers or inputs.results, every=every, max_share=max_share, method=method), form)


def _parse_cosine(sets: str, value: str) -> float:
    """Return the smallest cosine that --sets embeddings:COSINE names."""
    try:
        return float(value)
    except ValueError:
        remedy = "write embeddings:0.9, and look at the sets: no value suits all answers"
        raise InputError("sets by embeddings need the smallest cosine", where=f"--sets {sets}", remedy=remedy) from None


@click.command(cls=DeclaredCommand, of="attempts")
@add_reading()
@add_format
def attempts(inputs: CommandInputs, form: OutputFormat, **options: DeclaredValue) -> None:
    """Estimate pass@k, pass^k and majority@k of each model.

    pass@k: one of k attempts at a question is right; pass^k: all of them are. Without bias from n >= k generations.
    """
    import howsure as hs

    print_result(hs.attempts(inputs.results, **options), form)


@click.command(cls=DeclaredCommand, of="questions beta_fits", omit="edges prior")
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
@add_winner("checkpoints")
def curve(inputs: CommandInputs, form: OutputFormat, **options: DeclaredValue) -> None:
    """Follow a score over the checkpoints of a training run.

    Each checkpoint is a model; labels that differ in one number, such as m-step100 and m-step2000, are one curve. Where
    a column of a table holds the checkpoint, name it: --columns model=step.
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
        elif (result["p_best_smoothed"] >= 0).all():
            return  # the first sentence says it
        print(fit_sentences(hint, form))


#: Generations that `show` prints for a person, unless --limit says otherwise.
_DEFAULT_LIMIT = 20


@click.command(cls=DeclaredCommand, of="show", omit="limit")
@click.argument("paths", nargs=-1, required=True)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Show at most N; default: {_DEFAULT_LIMIT}, and all with --format jsonl.",
)
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
