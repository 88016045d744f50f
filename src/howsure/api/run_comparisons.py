"""Runs of one model: by checkpoint of its training, provider, or decoding; and whether they repeat word by word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from howsure.api.generation_list import select_generations
from howsure.api.result_selection import CellsLike, list_first, warn_of_unparsed
from howsure.errors import InputError, UnknownNameError
from howsure.notes import Note, warn
from howsure.results.evaluations import Evaluations, to_cells, to_runs
from howsure.results.sources import Data
from howsure.safe_text import inflect_text
from howsure.stats import comparisons
from howsure.stats import repeats as run_statistics
from howsure.stats.comparisons import order_checkpoints
from howsure.stats.core.cells import GREEDY_SUFFIX, Cells, IntArray
from howsure.stats.core.claims import (
    PROVIDER_METHODS,
    REPEATS_METHODS,
    TEST_METHODS,
    ProviderMethod,
    RepeatsMethod,
    TestMethod,
    check_choice,
    check_level,
)
from howsure.stats.core.results import Result, Results
from howsure.stats.repeats import CompletionCounts


def curve(
    data: CellsLike,
    *,
    order: Sequence[str] | None = None,
    reference: str | None = None,
    level: float = 0.95,
    method: TestMethod | None = None,
) -> Results:
    """Follow the score of a model over the checkpoints of its training.

    Parameters
    ----------
    data
        As for `howsure.score`; each checkpoint is a model.
    order
        The checkpoints in their order. By default labels that differ in one number, such as ``"m step 100"`` and
        ``"m step 2000"``, are ordered by that number; the checkpoints of several models are several curves.
    reference
        The checkpoint that all others are compared with; by default the last of each curve.
    level
        Coverage of the intervals, between 0 and 1.
    method
        ``"t"`` or ``"clt"``; by default the intervals that scores and differences have elsewhere.

    Returns
    -------
    Results
        A row per checkpoint: ``score`` with its interval for new questions (``low``, ``high``) and for these questions
        sampled again (``low_prediction``, ``high_prediction``); from five checkpoints on the smooth curve through all
        scores (``smoothed``, ``low_smoothed``, ``high_smoothed``, for these questions) and the probability
        ``p_best_smoothed`` that the checkpoint is truly the best; the paired ``difference`` to the reference with its
        interval and p-values; and the ``change`` since the checkpoint before, with ``p_change`` (Holm-adjusted over the
        curve) and a verdict: whether it is beyond the noise of sampling.

    Raises
    ------
    InputError
        If there are no two checkpoints of a model, or their labels do not say their order.
    UnknownNameError
        If no benchmark has a checkpoint of `order` or the reference.

    Notes
    -----
    The wide interval shows how far a score is from that on other questions, the narrow one how much the curve wavers if
    it is measured again. Neither tells whether two checkpoints differ: the paired difference does [1]_.

    References
    ----------
    .. [1] Wang (2025), Measuring all the noises of LLM evals, example 2.

    Examples
    --------
    >>> import howsure as hs
    >>> scores = [[[1, 1], [0, 1], [1, 1]], [[0, 0], [0, 1], [0, 0]], [[1, 1], [0, 0], [1, 1]]]
    >>> cells = hs.Cells.from_scores("demo", ["m step 1000", "m step 20", "m step 300"], ["p", "q", "r"], scores)
    >>> hs.curve(cells)["checkpoint"].tolist()
    ['m step 20', 'm step 300', 'm step 1000']
    """
    check_level(level)
    if method is not None:
        check_choice("method", method, TEST_METHODS)
    benchmarks = to_cells(data)
    warn_of_unparsed(benchmarks)
    _check_known(benchmarks, [*(order or ()), *([] if reference is None else [reference])])
    results: list[Result] = []
    others: set[str] = set()
    for cells in benchmarks:
        if order is None:
            series, single = order_checkpoints(cells.models)
            others.update(single)
        else:
            series = [[name for name in order if name in cells.models]]
        for names in series:
            if len(names) > 1:
                at = reference if reference in names else None
                results.append(comparisons.curve(cells, names, reference=at, level=level, method=method))
    if not results:
        models = sorted({model for cells in benchmarks for model in cells.models})
        if len(models) == 1:
            raise InputError(
                f"only one checkpoint: {models[0]}", where="curve", remedy="give the results of at least two"
            )
        what = "no two labels differ in one number alone" if order is None else "no benchmark has two of them; it has"
        remedy = (
            "checkpoints have labels such as m-step100 and m-step2000, or are named in their order: "
            "--order FIRST,SECOND,...; howsure compare compares other models"
        )
        raise InputError(f"{what}: {list_first(models)}", where="curve", remedy=remedy)
    if others:
        warn(Note("no-checkpoint", n=len(others), facts={"models": list_first(sorted(others))}))
    return Results(tuple(results))


def run_widths(
    data: CellsLike | Mapping[str, Sequence[Cells]],
    *,
    level: float = 0.95,
    method: RepeatsMethod = "pooled",
    goal: float = 0.01,
) -> Results:
    """Tabulate the prediction interval after the first 2, 3, ... runs.

    Parameters
    ----------
    data, level, method
        As for `howsure.repeats`.
    goal
        Width below which enough runs were made.

    Returns
    -------
    Results
        A row per benchmark, model and number of runs: the limits ``low`` and ``high`` for the mean of as many future
        runs, their distance ``width``, and ``is_narrow``, 1 where it is below `goal`.

    Raises
    ------
    InputError
        If there are fewer than two runs, or an argument is not allowed.

    References
    ----------
    Blackwell, Barry and Cohn (2024), Towards reproducible LLM evaluation, figure 1; ``method="run-means"`` is theirs.

    Examples
    --------
    >>> import howsure as hs
    >>> runs = [hs.Cells.from_scores("demo", ["a"], ["p", "q"], [[[i % 2], [1]]]) for i in range(4)]
    >>> hs.run_widths({"demo": runs}, method="run-means")["n_runs"].tolist()
    [2, 3, 4]
    """
    check_level(level)
    check_choice("method", method, REPEATS_METHODS)
    if not goal > 0:
        raise InputError(f"goal is {goal!r}", remedy="allowed: more than 0, such as 0.01")
    return Results(
        tuple(
            run_statistics.measure_widths(runs, level=level, method=method, goal=goal)
            for runs in to_runs(data).values()
        )
    )


def determinism(data: Data | Evaluations, *, level: float = 0.95) -> Results:
    """Measure whether models repeat themselves word by word: the share of questions with two different completions.

    Parameters
    ----------
    data
        Run folders or logs that keep completions, with several generations of some questions, such as repeats at
        temperature 0 with a fixed seed.
    level
        Level of the intervals, between 0 and 1.

    Returns
    -------
    Results
        A row per benchmark and model: of ``n_questions`` with two or more completions of the same prompt, ``n_varied``
        got different ones; their ``share`` with its exact interval; the probability ``p_differ`` that two completions
        of a prompt differ; and on how many questions the answer and the score differed.

    Raises
    ------
    InputError
        If the data have no completions.

    Notes
    -----
    That no difference was seen does not prove that there is none: the upper limit says which share of questions may
    vary in as many repeats. Identical repeats are one run, from which no error of sampling can be computed.

    References
    ----------
    Blackwell, Barry and Cohn (2024), Towards reproducible LLM evaluation.

    Examples
    --------
    >>> import howsure as hs
    >>> hs.determinism("run")  # doctest: +SKIP
    """
    check_level(level)
    completions: dict[str, dict[tuple[str, str, str], Counter[str]]] = {}
    answers: dict[tuple[str, str, str, str], set[str | None]] = {}
    scores: dict[tuple[str, str, str, str], set[float | None]] = {}
    for generation in select_generations(data).read():
        row = generation.row
        if row.completion is None:
            continue
        cell = row.model, row.question, row.variant
        completions.setdefault(row.benchmark, {}).setdefault(cell, Counter())[row.completion] += 1
        answers.setdefault((row.benchmark, *cell), set()).add(row.answer)
        scores.setdefault((row.benchmark, *cell), set()).add(row.score)
    if not completions:
        raise InputError("no completions are stored", remedy="give run folders or logs that keep completions")
    return Results(
        tuple(
            run_statistics.measure_determinism(_count_completions(benchmark, cells, answers, scores), level=level)
            for benchmark, cells in completions.items()
        )
    )


def _count_completions(
    benchmark: str,
    cells: Mapping[tuple[str, str, str], Counter[str]],
    answers: Mapping[tuple[str, str, str, str], set[str | None]],
    scores: Mapping[tuple[str, str, str, str], set[float | None]],
) -> CompletionCounts:
    """Return how often the same completion came back in each cell of a benchmark."""
    models, questions = (tuple(sorted({cell[i] for cell in cells})) for i in (0, 1))
    row, column = ({name: i for i, name in enumerate(names)} for names in (models, questions))

    def count(values: Iterable[int]) -> IntArray:
        return np.array(list(values), dtype=np.int64)

    return CompletionCounts(
        benchmark,
        models,
        questions,
        model=count(row[cell[0]] for cell in cells),
        question=count(column[cell[1]] for cell in cells),
        n=count(texts.total() for texts in cells.values()),
        n_distinct=count(len(texts) for texts in cells.values()),
        n_answers=count(len(answers[benchmark, *cell]) for cell in cells),
        n_scores=count(len(scores[benchmark, *cell]) for cell in cells),
        same_pairs=count(sum(n * (n - 1) // 2 for n in texts.values()) for texts in cells.values()),
    )


def _check_known(benchmarks: Iterable[Cells], names: Iterable[str]) -> None:
    """Raise UnknownNameError if no benchmark has a model of one of these names."""
    models = sorted({model for cells in benchmarks for model in cells.models})
    for name in names:
        if name not in models:
            raise UnknownNameError("model", name, models)


def providers(
    data: CellsLike | Mapping[str, Sequence[Cells]],
    a: str | None = None,
    b: str | None = None,
    *,
    other: CellsLike | Mapping[str, Sequence[Cells]] | None = None,
    level: float = 0.95,
    method: ProviderMethod = "stratified",
) -> Results:
    r"""Test whether one model scores the same at two providers, or in two configurations, on these very questions.

    Parameters
    ----------
    data
        Runs, as for `howsure.repeats`.
    a, b
        Labels of the model at the two providers. With `other`, both may be left out where one model is on both sides,
        `a` where `data` has one model, and `b` where both call it alike or `other` has one model.
    other
        Runs at the provider of `b`; by default they are in `data`.
    level
        Coverage of the interval of the difference, between 0 and 1.
    method
        ``"stratified"`` compares the means of each question. ``"run-means"`` is Student's t of the run means, as
        published, and ``"welch"`` the same without equal variances.

    Returns
    -------
    Results
        A row per benchmark: both scores, their ``difference`` with its interval and ``p_value``, and tests for drift
        between the runs of each side.

    Raises
    ------
    UnknownNameError
        If no benchmark has a model of this name.
    InputError
        If both sides are the same runs, a model is not named where there are several, or no benchmark has both.

    Notes
    -----
    With s2 the variance of the k generations of question q on each side, the squared standard error is

    .. math:: \frac{1}{N^2} \sum_q \left( \frac{s^2_{aq}}{k_{aq}} + \frac{s^2_{bq}}{k_{bq}} \right)

    Questions are not drawn again: what the providers do to other questions is not claimed [1]_.

    References
    ----------
    .. [1] Blackwell, Barry and Cohn (2024), Towards reproducible LLM evaluation.

    Examples
    --------
    >>> import howsure as hs
    >>> def run(first, second):
    ...     return hs.Cells.from_scores("demo", ["x", "y"], ["p", "q"], [[[1], [first]], [[0], [second]]])
    >>> hs.providers([run(1, 0), run(1, 1)], "x", "y")["difference"].tolist()
    [0.75]
    """
    check_choice("method", method, PROVIDER_METHODS)
    check_level(level)
    if other is None and (b is None or a == b):
        raise InputError("the same runs on both sides", where="providers", remedy="name another model as b")
    first = to_runs(data)
    second = first if other is None else _name_alike(first, to_runs(other))
    if a is None and b is None:
        a = _find_common_model(first, second)
    a = _choose_model(first, a, "a")
    b = a if b is None and a in _list_models(second) else _choose_model(second, b, "b")
    sides = ((first, a), (second, b))

    def have(runs: Sequence[Cells], name: str) -> list[Cells]:
        return [run for run in runs if name in run.models]

    common = [
        benchmark
        for benchmark in first
        if all(benchmark in runs and have(runs[benchmark], name) for runs, name in sides)
    ]
    if not common:
        raise InputError(
            "no benchmark is on both sides",
            where="providers",
            remedy="give runs on the same questions; if these are, --as-benchmark NAME calls both alike",
        )
    return Results(
        tuple(
            comparisons.providers(
                have(first[benchmark], a),
                have(second[benchmark], b),
                a,
                b,
                level=level,
                method=method,
            )
            for benchmark in common
        )
    )


def _list_models(runs: Mapping[str, Sequence[Cells]]) -> list[str]:
    """Return the models of all runs, sorted."""
    return sorted({model for each in runs.values() for run in each for model in run.models})


def _find_common_model(first: Mapping[str, Sequence[Cells]], second: Mapping[str, Sequence[Cells]]) -> str | None:
    """Return the only model that both sides have, None where there is none to choose.

    Raises
    ------
    InputError
        If a side has several models and the sides have none in common.
    """
    models, others = _list_models(first), _list_models(second)
    common = sorted({*models} & {*others})
    if common or len(models) == len(others) == 1 or not (models and others):
        return common[0] if len(common) == 1 else None
    what = f"no model is on both sides: {', '.join(models[:5])}, and {', '.join(others[:5])}"
    raise InputError(what, where="providers", remedy="name one of each, with a and b (--a and --b)")


def _choose_model(runs: Mapping[str, Sequence[Cells]], name: str | None, argument: str) -> str:
    """Return the model of one side: the one that is named, or the only one; raise InputError where there is none."""
    models = _list_models(runs)
    if name is None and len(models) == 1:
        return models[0]
    if name is None:
        remedy = f"name one of {', '.join(models)}"
        raise InputError(f"no model is named as {argument}", where="providers", remedy=remedy)
    if name not in models:
        raise UnknownNameError("model", name, models)
    return name


def _name_alike(first: dict[str, list[Cells]], second: dict[str, list[Cells]]) -> dict[str, list[Cells]]:
    """Return the second runs; under the name of the first if each has one benchmark and question ids agree."""
    if len(first) != 1 or len(second) != 1 or first.keys() == second.keys():
        return second
    [(name, runs)], [(other, other_runs)] = first.items(), second.items()
    ids, other_ids = ({question for run in each for question in run.questions} for each in (runs, other_runs))
    if not (common := len(ids & other_ids)):
        return second
    warn(Note("compared-as-one", n=common, facts={"first": name, "second": other}), stacklevel=3)
    return {name: [replace(run, benchmark=name) for run in other_runs]}


def greedy(data: CellsLike, *, runs: int = 10, level: float = 0.95) -> Results:
    """Compare the sampled generations of each model with its greedy run.

    Parameters
    ----------
    data
        As for `howsure.score`. The greedy run of a model ``NAME`` is the model ``NAME:greedy``, as an experiment with
        ``greedy: true`` labels it.
    runs
        Number of single runs between whose best and worst the gap is expected.
    level
        Coverage of the intervals of the differences, between 0 and 1.

    Returns
    -------
    Results
        A row per benchmark and sampled model: ``greedy`` and ``sampled`` scores with their standard errors for new
        questions, on the questions that both have, their paired ``difference`` with its interval, and ``gap``, the
        expected difference between the best and the worst of `runs` runs of one generation per question: the columns of
        table 1 of [1]_, and the difference.

    Raises
    ------
    InputError
        If no model has a greedy run, or an argument is not allowed.

    References
    ----------
    .. [1] Zhang et al. (2025), Beyond the Singular, table 1.

    Examples
    --------
    >>> import howsure as hs
    >>> scores = [[[1, 0], [1, 1]], [[1], [1]]]
    >>> hs.greedy(hs.Cells.from_scores("demo", ["a", "a:greedy"], ["p", "q"], scores))["difference"].tolist()
    [0.25]
    """
    check_level(level)
    if runs < 2:
        raise InputError(f"runs is {runs}", where="greedy", remedy="allowed: 2 or more")
    results: list[Result] = []
    without: list[str] = []
    alone: set[str] = set()
    for cells in to_cells(data):
        twins = {name: f"{name}{GREEDY_SUFFIX}" for name in cells.models if not name.endswith(GREEDY_SUFFIX)}
        alone |= set(cells.models) - {*twins, *twins.values()}
        if any(twin in cells.models for twin in twins.values()):
            listed = [(name, twin if twin in cells.models else None) for name, twin in twins.items()]
            results.append(comparisons.compare_greedy(cells, listed, runs=runs, level=level))
        else:
            without.append(cells.benchmark)
    what = inflect_text("[has|have] no sampled generations of the same model beside [it|them]", len(alone))
    what, remedy = f"{list_first(sorted(alone))} {what}", "give those too, of NAME beside NAME:greedy"
    if not results and not alone:
        remedy = f"run with greedy: true, or label the greedy run of NAME as NAME{GREEDY_SUFFIX}"
        raise InputError("no model has a greedy run", where="greedy", remedy=remedy)
    if not results:
        raise InputError(what, where="greedy", remedy=remedy)
    if alone:
        warn(Note("greedy-alone", n=len(alone), facts={"models": list_first(sorted(alone))}))
    if without:
        warn(Note("no-greedy-run", benchmarks=tuple(without), facts={"names": list_first(without)}))
    return Results(tuple(results))
