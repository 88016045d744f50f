"""The report's figures as Altair charts, for notebooks and papers.

Each function takes what `howsure.read` returns or takes (paths and frames), cells, cubes, or results of other functions
of howsure, and returns a chart of one benchmark with its question as the title and its conclusion below. Like any
Altair chart, it can be changed, combined with others, and saved as SVG, PNG or HTML. `resize` gives it the width of a
column: Altair's ``properties(width=...)`` sets that of the plot alone, without the names beside it and the title.

Examples
--------
>>> import howsure as hs
>>> cells = hs.Cells.from_scores("demo", ["a", "b"], ["q1", "q2"], [[[1, 1], [1, 0]], [[0, 1], [0, 0]]])
>>> from howsure import figures
>>> figures.forest(cells).to_dict()["title"]["text"]
['How far is each model from a?']
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TypeVar, cast

import altair as alt
import numpy as np

from howsure.errors import InputError, UnknownNameError
from howsure.reporting.benchmark_report import build_benchmark_reports
from howsure.reporting.charts.chart_elements import MAX_SERIES, Chart
from howsure.reporting.charts.comparisons import (
    draw_forest,
    draw_matrix,
    draw_pair_errors,
    draw_pair_parts,
    select_pairs,
)
from howsure.reporting.charts.generations import draw_run_widths, find_narrow_runs
from howsure.reporting.charts.noise import draw_noise_parts, draw_variance_components
from howsure.reporting.charts.prompt_variants import (
    draw_convergence,
    draw_deviation_bands,
    draw_spread,
    draw_spreads,
)
from howsure.reporting.charts.scores import draw_costs, draw_scores
from howsure.reporting.elements import find_longest_legend_name
from howsure.reporting.figure_files import FigureStyle, fix_width
from howsure.reporting.report_data import ReportData, ReportOptions
from howsure.reporting.sections.comparisons import describe_forest, describe_matrix, describe_pair_errors
from howsure.reporting.sections.costs import describe_costs, list_models_with_costs
from howsure.reporting.sections.distributions import build_histograms, describe_cumulative, draw_cumulative
from howsure.reporting.sections.heatmap import bin_questions, describe_heatmap, draw_heatmap
from howsure.reporting.sections.noise import describe_noise_parts, describe_variance_components
from howsure.reporting.sections.repeats import describe_days, draw_days
from howsure.reporting.sections.score_table import describe_scores, mean_question_scores, order_models, pick_spaced
from howsure.reporting.sections.summary import describe_claim, judge_reference
from howsure.reporting.sections.training_curves import TITLE, describe_curve, draw_curve
from howsure.reporting.sentences.prompt_variants import describe_convergence, describe_spread
from howsure.results.evaluations import Evaluations, open_or_list, read, to_runs
from howsure.results.sources import Data
from howsure.rows.frames import is_frame
from howsure.stats.comparisons import Curve, Pairs, compare_with_reference, order_checkpoints
from howsure.stats.comparisons import curve as follow_checkpoints
from howsure.stats.comparisons import pairs as compare_pairs
from howsure.stats.core.cells import Cells, IntArray
from howsure.stats.core.claims import BETA_ROWS, MOMENTS, BetaRows, check_choice
from howsure.stats.core.cube import Cube
from howsure.stats.core.results import Result, Results
from howsure.stats.planning import CostScores
from howsure.stats.prompts import VariantSummary, summarize_variants
from howsure.stats.questions import AnswerCounts, estimate_density, evaluate_beta_curves
from howsure.stats.repeats import RunWidths, compare_days
from howsure.stats.scores import Scores, fit_beta, pool_by_score
from howsure.stats.scores import score as score_models

__all__ = [
    "beta_fits",
    "components",
    "convergence",
    "convergence_bands",
    "costs",
    "curve",
    "days",
    "difficulty",
    "distributions",
    "every",
    "forest",
    "matrix",
    "pair_errors",
    "pair_parts",
    "resize",
    "run_widths",
    "scores",
    "sources",
    "spread",
    "spreads",
]

T = TypeVar("T")
U = TypeVar("U")

#: Width of a chart in pixels, without the names beside it.
WIDTH = 560

#: Size of the text of captions, and mean width of a letter as a share of it.
_SUBTITLE_SIZE, _WIDTH_OF_LETTER = 11, 0.55

#: What `howsure.read` returns or takes, or cells of one benchmark or of several.
CellsInput = Data | Evaluations | Cells | Cube | Iterable[Cells | Cube]

#: What `howsure.read` returns or takes, cells of one benchmark or of several, or a result computed from them.
FigureInput = Data | Evaluations | Cells | Cube | CostScores | Curve | Pairs | Scores | Results | Iterable[Cells | Cube]

#: What `howsure.read` returns or takes, cubes of one benchmark or of several, or a result of `howsure.variants`.
VariantInput = Data | Evaluations | Cube | VariantSummary | Results | Iterable[Cube]


def __dir__() -> list[str]:
    """Return the figures, without the many names that drawing them takes."""
    return __all__


def scores(
    runs: FigureInput,
    models: Sequence[str] | None = None,
    *,
    benchmark: str | None = None,
    level: float | None = None,
) -> Chart:
    """Draw the score of each model with its interval.

    Parameters
    ----------
    runs
        Cells, or a result of `howsure.score`, whose claim and level the intervals have.
    models
        Models to draw, from top to bottom; default: all, from the highest score to the lowest.
    benchmark
        As for `forest`.
    level
        Level of the intervals of cells, in (0, 1); default: 0.95, or the level of the result.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    InputError
        If there are several benchmarks and none is named, a model is unknown, or a level is given for a result.

    Examples
    --------
    >>> import howsure as hs
    >>> cells = hs.Cells.from_scores("demo", ["a", "b"], ["q1", "q2"], [[[1, 1], [1, 0]], [[0, 1], [0, 0]]])
    >>> scores(cells, ["a"]).to_dict()["title"]["text"]
    ['How sure is each score?']
    """
    part = _select_benchmark(runs, benchmark, (Scores, Cells))
    if isinstance(part, Cells):
        result = score_models(part, level=0.95 if level is None else level)
    elif level in {None, part.level}:
        result = part
    else:
        raise InputError("these are results at another level", where="level", remedy="give the level to howsure.score")
    order = _select_models(models, order_models(result))
    caption = describe_scores(result, order, claim=describe_claim(result))
    return _add_title(draw_scores(result, order), "How sure is each score?", caption)


def forest(
    runs: FigureInput, reference: str | None = None, *, benchmark: str | None = None, level: float | None = None
) -> Chart:
    """Draw the difference of each model from a reference, with its interval.

    Parameters
    ----------
    runs
        Cells with at least two models, or a result of `howsure.pairs`.
    reference
        Reference model; default: the model with the highest score.
    benchmark
        Name of the benchmark, if there are several.
    level
        Level of the intervals, in (0, 1); default: 0.95, or the level of the result.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    InputError
        If there are several benchmarks and none is named, only one model, or the reference is unknown.
    """
    pairs = _select_pairs(runs, benchmark, level)
    order = order_models(score_models(pairs.cells))
    if reference is not None and reference not in pairs.models:
        raise UnknownNameError("model", reference, pairs.models, where="reference")
    chosen_by_scores = reference is None
    reference = reference or order[0]
    others = [model for model in order if model != reference]
    compared = compare_with_reference(pairs, reference, chosen_by_scores=chosen_by_scores)
    chart = draw_forest(compared, others, verdicts=judge_reference(compared))
    return _add_title(chart, f"How far is each model from {reference}?", describe_forest(compared))


def matrix(runs: FigureInput, *, benchmark: str | None = None, level: float | None = None) -> Chart:
    """Draw which pairs of models are distinguishable: row minus column.

    Parameters
    ----------
    runs, benchmark, level
        As for `forest`.

    Returns
    -------
    altair.LayerChart
    """
    pairs = _select_pairs(runs, benchmark, level)
    order = order_models(score_models(pairs.cells))
    chart = draw_matrix(pairs, order, verdicts=list(pairs.verdict))
    return _add_title(chart, "Which pairs of models can be told apart?", describe_matrix(pairs, len(pairs.models)))


def pair_errors(runs: FigureInput, *, benchmark: str | None = None) -> Chart:
    """Draw the standard error of each difference against the mean score, and the errors that theory expects.

    Parameters
    ----------
    runs, benchmark
        As for `forest`.

    Returns
    -------
    altair.LayerChart
    """
    pairs = _select_pairs(runs, benchmark, None)
    binary = pairs.cells.binary
    title = "How large is the error of a difference, and what does theory expect?"
    return _add_title(draw_pair_errors(pairs, binary=binary), title, describe_pair_errors(pairs, binary=binary))


def pair_parts(runs: FigureInput, *, benchmark: str | None = None, errors: float | None = 5.0) -> Chart:
    """Draw the data and the prediction part of the error of each difference, of close pairs or of all.

    Parameters
    ----------
    runs, benchmark
        As for `forest`.
    errors
        Pairs whose difference is at most this number of its standard errors are drawn; None draws all pairs. The
        default is that of the program behind the figures of the paper, which itself states no number.

    Returns
    -------
    altair.Chart

    Raises
    ------
    InputError
        If no pair that would be drawn has several generations of some question of both models.

    References
    ----------
    Wang (2025), Measuring all the noises of LLM evals, figures 1 and 4.
    """
    pairs = _select_pairs(runs, benchmark, None)
    close = select_pairs(pairs, errors)
    has_parts = close & ~np.isnan(pairs.prediction)
    if not has_parts.any():
        what = "no pair of models whose parts of the error are known"
        raise InputError(what, where=pairs.benchmark, remedy="give several generations, or errors=None for all pairs")
    larger = int(np.sum(pairs.prediction[has_parts] > np.maximum(pairs.data[has_parts], 0)))
    window = "" if errors is None else f" whose difference is at most {errors:g} of its standard errors"
    caption = (
        f"{int(has_parts.sum()):,} of {len(has_parts):,} pairs are drawn: those{window}, with several generations. In "
        f"{larger:,} of them sampling the answers adds more to the error of one generation per "
        "question than the questions do."
    )
    return _add_title(
        draw_pair_parts(pairs, errors=errors),
        "Which part of the error of a difference can generations remove?",
        caption,
    )


def components(runs: FigureInput, *, benchmark: str | None = None) -> Chart:
    """Draw the data and prediction noise of each model.

    Parameters
    ----------
    runs
        Cells, or a result of `howsure.score`.
    benchmark
        As for `forest`.

    Returns
    -------
    altair.Chart
    """
    part = _select_benchmark(runs, benchmark, (Scores, Cells))
    scores = score_models(part) if isinstance(part, Cells) else part
    order = order_models(scores)
    title = "How much noise comes from the questions, how much from sampling?"
    return _add_title(draw_noise_parts(scores, order), title, describe_noise_parts(scores, len(order)))


def difficulty(
    runs: CellsInput,
    *,
    benchmark: str | None = None,
    at_scores: bool = False,
) -> Chart:
    """Draw the score of every model on every question, models by skill and questions by difficulty.

    Parameters
    ----------
    runs
        Cells or cubes.
    benchmark
        As for `forest`.
    at_scores
        Whether the row of a model is drawn at its score (NOISE, figure 3), where models of nearly equal score cover
        each other; otherwise rows have equal distances.

    Returns
    -------
    altair.Chart
    """
    cells = _select_benchmark(runs, benchmark, (Cells, Cells))
    bins = bin_questions(mean_question_scores(cells), len(cells.models))
    order = order_models(score_models(cells))
    if bins.max(initial=-1) < 0:
        raise InputError("nothing was scored", where=cells.benchmark)
    scores = score_models(cells).score[[cells.index(model) for model in order]] if at_scores else None
    chart = draw_heatmap(cells, order, at_scores=scores)
    caption = describe_heatmap(cells, bins)
    if at_scores:
        caption += " Each row is at the score of its model; rows of nearly equal scores cover each other."
    return _add_title(chart, "Which questions are hard, and for whom?", caption)


def distributions(
    runs: CellsInput,
    models: Sequence[str] | None = None,
    *,
    benchmark: str | None = None,
) -> Chart:
    """Draw the share of the questions at each P(correct).

    Parameters
    ----------
    runs
        Cells or cubes with scores in [0, 1].
    models
        Models to draw; default: all.
    benchmark
        As for `forest`.

    Returns
    -------
    altair.FacetChart
    """
    cells = _select_benchmark(runs, benchmark, (Cells, Cells))
    if not cells.unit:
        raise InputError("scores are not in [0, 1]", where=cells.benchmark)
    order = list(models or order_models(score_models(cells)))
    order = [model for model in order if cells.n[cells.index(model)].max(initial=0) > int(cells.binary)]
    if not order:
        remedy = "sample each question several times"
        raise InputError(
            "one generation per question: nothing lies between 0 and 1", where=cells.benchmark, remedy=remedy
        )
    chart, caption = build_histograms(cells.select(order))
    return _add_title(chart, "Are questions solved always, never or sometimes?", caption)


def beta_fits(
    runs: CellsInput,
    models: Sequence[str] | None = None,
    *,
    benchmark: str | None = None,
    by: BetaRows = "score",
    zero: bool = False,
    edges: Sequence[float] = (0, 0.2, 0.4, 0.6, 0.8, 1),
) -> Chart:
    """Draw the cumulative distribution of the question means with a Beta fit (NOISE, figure 6).

    Parameters
    ----------
    runs
        Cells or cubes with scores of 0 and 1.
    models
        Models to draw or to pool; default: all.
    benchmark
        As for `forest`.
    by, zero, edges
        As for `howsure.beta_fits`: one panel per range of scores, whose models are pooled, or per model.

    Returns
    -------
    altair.FacetChart
    """
    check_choice("by", by, BETA_ROWS)
    cells = _select_benchmark(runs, benchmark, (Cells, Cells))
    chosen = cells.select(_select_models(models, order_models(score_models(cells))))
    rows = pool_by_score(chosen, edges) if by == "score" else chosen
    fit = fit_beta(rows, zero=zero)
    curves = evaluate_beta_curves(rows, fit)
    chart = draw_cumulative(curves, estimate_density(rows), rows.models)
    return _add_title(
        chart, "How many questions are harder than that?", describe_cumulative(curves, fit, int(rows.n.max()))
    )


def sources(cubes: VariantInput, *, benchmark: str | None = None) -> Chart:
    """Draw the variance components of each model: question, prompt, their interaction, and sampling.

    Parameters
    ----------
    cubes
        Cells of each prompt variant, as `howsure.read(...).cubes()` returns them, or a result of `howsure.variants`.
    benchmark
        As for `forest`.

    Returns
    -------
    altair.LayerChart
    """
    summary = _select_variants(cubes, benchmark)
    residual = summary.components.residual
    order = [model for model in _order_by_mean(summary) if not np.isnan(residual[summary.cube.index(model)])]
    if not order:
        raise InputError("the components of no model are known", where=summary.cube.benchmark)
    title = "How much comes from the prompt, the question, and sampling again?"
    chart = draw_variance_components(summary.components, order)
    return _add_title(chart, title, describe_variance_components(summary.components))


def spread(cubes: VariantInput, *, benchmark: str | None = None) -> Chart:
    """Draw the score of each model under each prompt.

    Parameters
    ----------
    cubes, benchmark
        As for `sources`.

    Returns
    -------
    altair.LayerChart
    """
    summary = _select_variants(cubes, benchmark)
    chart = draw_spread(summary, _list_scored_models(summary))
    caption = describe_spread(summary, len(summary.cube.models), None)
    return _add_title(chart, "How far does the score depend on the prompt?", caption)


def convergence(
    cubes: VariantInput, models: Sequence[str] | None = None, *, moment: str = "mean", benchmark: str | None = None
) -> Chart:
    """Draw the distance of the mean (or variance) over some prompts from that over all prompts, with n* marked.

    Parameters
    ----------
    cubes, benchmark
        As for `sources`.
    models
        At most four models; default: four, from the best to the worst.
    moment
        "mean" or "variance".

    Returns
    -------
    altair.LayerChart
    """
    if moment not in MOMENTS:
        raise UnknownNameError("moment", moment, MOMENTS)
    summary = _select_variants(cubes, benchmark)
    scored = _list_scored_models(summary)
    order = list(models) if models is not None else pick_spaced(scored, MAX_SERIES)
    for model in order:
        if model not in scored:
            raise UnknownNameError("model", model, scored, where="models")
    if not 0 < len(order) <= MAX_SERIES:
        raise InputError(f"{len(order)} models", where="models", remedy=f"name 1 to {MAX_SERIES}")
    caption = describe_convergence(summary.sample_size, moment, len(order))
    title = f"How many prompts until the {moment} is near that over all?"
    return _add_title(draw_convergence(summary.sample_size, moment, order), title, caption)


def convergence_bands(
    cubes: VariantInput,
    models: Sequence[str] | None = None,
    *,
    moment: str = "mean",
    benchmark: str | None = None,
) -> Chart:
    """Draw the mean deviation of a moment of n prompts with its 5 to 95 % band, over models or over benchmarks.

    Parameters
    ----------
    cubes
        As for `sources`. Of one benchmark, or if one is named, the curves are its models; of several benchmarks, the
        curves are the benchmarks, with one model.
    models
        At most four models; default: four, from the best to the worst. Of several benchmarks exactly one.
    moment
        "mean" or "variance".
    benchmark
        Name of a benchmark.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    InputError
        If there are more than four curves, or several benchmarks without one model.

    References
    ----------
    Lior et al. (2025), ReliableEval, figure 2 (a) over benchmarks, (b) over models.
    """
    if moment not in MOMENTS:
        raise UnknownNameError("moment", moment, MOMENTS)
    summaries = _list_summaries(cubes, benchmark)
    if len(summaries) == 1:
        scored = _list_scored_models(summaries[0])
        order = pick_spaced(scored, MAX_SERIES) if models is None else _select_models(models, scored)
        curves = {model: (summaries[0].sample_size, model) for model in order}
    else:
        names = {name for summary in summaries for name in _list_scored_models(summary)}
        if models is None or len(models) != 1:
            remedy = f"name one of {', '.join(sorted(names)[:8])}, or a benchmark"
            raise InputError(f"{len(summaries)} benchmarks without one model", where="models", remedy=remedy)
        if models[0] not in names:
            raise UnknownNameError("model", models[0], names, where="models")
        with_model = [summary for summary in summaries if models[0] in _list_scored_models(summary)]
        curves = {summary.cube.benchmark: (summary.sample_size, models[0]) for summary in with_model}
    if not 0 < len(curves) <= MAX_SERIES:
        raise InputError(f"{len(curves)} curves", where="figures", remedy=f"name 1 to {MAX_SERIES}")
    of_all = next(iter(curves.values()))[0]
    band = f"{50 * of_all.delta:g} to {100 - 50 * of_all.delta:g} %"
    n_star_of = []
    for name, (sizes, model) in curves.items():
        m, row = sizes.models.index(model), MOMENTS.index(moment)
        is_reached = bool(sizes.reached[m, row])
        n_star_of.append(f"{name}: {f'{sizes.n_star[m, row]:.0f}' if is_reached else 'not reached'}")
    caption = (
        f"Lines are the mean of the deviation over random orders of the prompts, bands its {band}. A point marks n*, "
        f"from which the upper end of the band is at most {of_all.epsilon:g}: {'; '.join(n_star_of)}."
    )
    what = "" if len(summaries) == 1 else f" of {next(iter(curves.values()))[1]}"
    title = f"How does the {moment} over prompts{what} converge?"
    return _add_title(draw_deviation_bands(curves, moment), title, caption)


def spreads(cubes: VariantInput, models: Sequence[str] | None = None) -> Chart:
    """Draw a box plot of the scores over prompts for each benchmark and model.

    Parameters
    ----------
    cubes
        As for `sources`, of one benchmark or several.
    models
        Models to draw, from top to bottom; default: all, by their median on the first benchmark that has them.

    Returns
    -------
    altair.FacetChart

    Raises
    ------
    InputError
        If a model is unknown, or no model has scores under two prompts.

    References
    ----------
    Lior et al. (2025), ReliableEval, figure 1.
    """
    summaries = _list_summaries(cubes, None)
    available = list(dict.fromkeys(name for summary in summaries for name in _list_scored_models(summary)))
    order = _select_models(models, available)
    ranges = [
        (float(high - low), model, summary.cube.benchmark)
        for summary in summaries
        for model, low, high in zip(
            summary.moments.models, summary.moments.quantile(0.0), summary.moments.quantile(1.0), strict=True
        )
        if model in order and not np.isnan(high - low)
    ]
    widest, model, benchmark = max(ranges)
    others = sum(length > widest - 1e-9 for length, *_ in ranges) - 1
    where = f": {model} on {benchmark}" if not others else ""
    caption = (
        "Boxes go from quartile to quartile, lines from the lowest to the highest score under one prompt, a tick is "
        f"the median. The widest range is {widest:.3f}{where}."
    )
    return _add_title(draw_spreads(summaries, order), "How far does the score depend on the prompt?", caption)


def run_widths(widths: RunWidths | Results, *, benchmark: str | None = None) -> Chart:
    """Draw the prediction interval after 2, 3, ... runs, with a dashed line where it becomes narrow enough.

    Parameters
    ----------
    widths
        Result of `howsure.run_widths`.
    benchmark
        Name of the benchmark, if there are several.

    Returns
    -------
    altair.FacetChart

    Raises
    ------
    InputError
        If there are several benchmarks and none is named.

    References
    ----------
    Blackwell, Barry and Cohn (2024), Towards reproducible LLM evaluation, figure 1.
    """
    parts: Sequence[object] = widths.parts if isinstance(widths, Results) else (widths,)
    fitting = [
        part
        for part in parts
        if isinstance(part, RunWidths) and (benchmark is None or part.each[0].benchmark == benchmark)
    ]
    if len(fitting) != 1:
        if not any(isinstance(part, RunWidths) for part in parts):
            what, remedy = "no result of run_widths", "give one: figures.run_widths(howsure.run_widths(results))"
            raise InputError(what, where="howsure.figures.run_widths", remedy=remedy)
        remedy = "name one of its benchmarks with benchmark="
        raise InputError(f"{len(fitting)} results of runs", where="run_widths", remedy=remedy)
    goal = fitting[0].goal
    caption = "; ".join(
        f"{model}: never below {goal:g}" if first is None else f"{model}: below {goal:g} after {first} runs"
        for model, first in find_narrow_runs(fitting[0]).items()
    )
    return _add_title(draw_run_widths(fitting[0]), "How many runs until the prediction interval is narrow?", caption)


def days(
    runs: Evaluations | Iterable[Cells] | Mapping[str, Sequence[Cells]],
    models: Sequence[str] | None = None,
    *,
    benchmark: str | None = None,
    level: float = 0.95,
) -> Chart:
    """Draw the score of each model on each day of its runs, and the prediction interval for a further day.

    Parameters
    ----------
    runs
        Results of `howsure.read` from run folders or logs that state when they were made, or runs with `Cells.days`.
    models
        Models to draw, at most four; default: four, from the highest score to the lowest.
    benchmark
        Name of the benchmark, if there are several.
    level
        Level of the intervals, in (0, 1).

    Returns
    -------
    altair.FacetChart

    Raises
    ------
    InputError
        If there are several benchmarks and none is named, or no model has runs of two days and common questions.
    """
    runs_of = to_runs(runs)
    if benchmark is None and len(runs_of) != 1:
        raise InputError(f"{len(runs_of)} benchmarks", where="howsure.figures", remedy="name one with benchmark=")
    name = next(iter(runs_of)) if benchmark is None else benchmark
    if name not in runs_of:
        raise UnknownNameError("benchmark", name, runs_of)
    daily = compare_days(runs_of[name], level=level)
    if daily.repeats is None:
        why = "; ".join(dict.fromkeys(daily.reasons.values()))
        raise InputError(
            f"no scores of two days ({why})", where=name, remedy="give run folders or logs of several days"
        )
    mean = daily.repeats.mean
    by_score = [daily.models[i] for i in np.argsort(-mean, kind="stable").tolist()]
    order = pick_spaced(by_score, MAX_SERIES) if models is None else _select_models(models, by_score)
    if not 0 < len(order) <= MAX_SERIES:
        raise InputError(f"{len(order)} models", where="models", remedy=f"name 1 to {MAX_SERIES}")
    caption = describe_days(daily, [*by_score, *daily.reasons])
    return _add_title(draw_days(daily, order), "Do scores change from day to day?", caption)


def curve(
    runs: FigureInput,
    checkpoints: Sequence[str] | None = None,
    *,
    benchmark: str | None = None,
    level: float | None = None,
) -> Chart:
    """Draw the score of each checkpoint of a training run with its intervals, and mark what changed.

    Parameters
    ----------
    runs
        Cells whose models are checkpoints, or a result of `howsure.curve`.
    checkpoints
        Checkpoints of cells in their order; default: the models whose names differ in one number, by that number.
    benchmark
        As for `forest`.
    level
        Level of the intervals and tests of cells, in (0, 1); default: 0.95, or the level of the result.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    InputError
        If there are several benchmarks or training runs and none is named, or names or a level are given for a result.

    Examples
    --------
    >>> import howsure as hs
    >>> scores = [[[0, 0], [0, 1], [0, 0]], [[1, 0], [0, 1], [1, 0]], [[1, 1], [1, 1], [1, 0]]]
    >>> cells = hs.Cells.from_scores("demo", ["step 10", "step 100", "step 20"], ["p", "q", "r"], scores)
    >>> curve(cells).to_dict()["title"]["text"]
    ['What changed along the training run?']
    """
    parts = [part for part in _list_parts(runs, (Curve, Cells)) if isinstance(part, Curve)]
    if benchmark is not None:
        parts = [part for part in parts if part.benchmark == benchmark]
    if len(parts) > len({part.benchmark for part in parts}):
        remedy = "name the checkpoints of one in hs.curve(..., order=[...])"
        raise InputError(f"{len(parts)} training runs", where="howsure.figures", remedy=remedy)
    part = _select_benchmark(runs, benchmark, (Curve, Cells))
    if isinstance(part, Curve):
        if checkpoints is not None or level is not None:
            what = "checkpoints or a level for a result of hs.curve, which has its own"
            raise InputError(what, where="howsure.figures", remedy="give them to hs.curve, or give the cells")
        result = part
    else:
        series = [list(checkpoints)] if checkpoints is not None else order_checkpoints(part.models)[0]
        if len(series) != 1:
            remedy = "name the checkpoints in their order: checkpoints=[...]"
            raise InputError(f"{len(series)} training runs", where=part.benchmark, remedy=remedy)
        result = follow_checkpoints(part, series[0], level=0.95 if level is None else level)
    return _add_title(draw_curve(result), TITLE, describe_curve(result))


def costs(result: CostScores | Results, models: Sequence[str] | None = None, *, benchmark: str | None = None) -> Chart:
    """Draw the score of each model with its interval against the mean cost of a generation.

    Parameters
    ----------
    result
        Result of `howsure.cost_scores`.
    models
        Models to draw; default: all that have a cost.
    benchmark
        Name of the benchmark, if there are several.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    InputError
        If there are several benchmarks and none is named, or no model that would be drawn has a cost.
    """
    part = _select_benchmark(result, benchmark, (CostScores, CostScores))
    by_score = np.argsort(-np.nan_to_num(part.score, nan=-np.inf), kind="stable")
    with_costs = list_models_with_costs(part, [part.models[i] for i in by_score])
    order = _select_models(models, with_costs)
    if not order:
        raise InputError("no model has a cost", where=part.benchmark, remedy="give run folders that record tokens")
    return _add_title(draw_costs(part, order), "Who is better for less?", describe_costs(part, order))


def every(
    runs: CellsInput,
    *,
    benchmark: str | None = None,
    cubes: Sequence[Cube] = (),
    unparsed: Mapping[str, IntArray] | None = None,
    repeats: Mapping[str, Sequence[Cells]] | None = None,
    answers: Mapping[str, AnswerCounts] | None = None,
    level: float = 0.95,
    reference: str | None = None,
    epsilon: float = 0.01,
    delta: float = 0.1,
) -> dict[str, Chart]:
    """Draw every figure that a report on these results has.

    Parameters
    ----------
    runs
        What `howsure.read` returns or takes; or cells of one benchmark or of several.
    benchmark
        As for `forest`.
    cubes, unparsed, repeats, answers
        Further results, as `howsure.reporting.report_data.ReportData` describes them; those of cells, which have none.
        Of what `howsure.read` returns or takes, all four are read.
    level, reference, epsilon, delta
        Options of the report, as `howsure.reporting.report_data.ReportOptions` describes them.

    Returns
    -------
    dict
        Charts by the name of the figure.
    """
    opened = open_or_list(cast("Data", runs)) if not isinstance(runs, Cells | Cube) else [runs]
    cells = _select_benchmark(opened, benchmark, (Cells, Cells))
    if isinstance(opened, Evaluations):
        if len(cells.variants) > 1:
            cubes = cubes or [cube for cube in opened.cubes() if cube.benchmark == cells.benchmark]
            unparsed = unparsed or opened.count_unparsed(cubes)
        repeats = repeats or {name: parts for name, parts in opened.runs().items() if name == cells.benchmark}
        answers = answers or {name: one for name, one in opened.answers().items() if name == cells.benchmark}
    data = ReportData(
        [cells],
        cubes=cubes,
        unparsed=unparsed or {},
        repeats=repeats or {},
        answers=answers or {},
    )
    options = ReportOptions(level=level, reference=reference, epsilon=epsilon, delta=delta)
    (report,) = build_benchmark_reports(data, options)
    return {
        figure.id.partition("-")[2]: alt.Chart.from_dict(fix_width(figure.spec, "white", WIDTH))
        for figure in report.figures
    }


def resize(chart: Chart, width: float) -> Chart:
    """Return a figure at another width, such as that of a column, with a title and a caption that are wrapped to it.

    Parameters
    ----------
    chart
        What a function of this module returned.
    width
        Width in inches, from 2 to 40, as ``--figure-width`` of ``howsure report`` has it; 72 pixels of a browser.

    Returns
    -------
    altair.Chart

    Raises
    ------
    InputError
        If the width is out of range.

    Examples
    --------
    >>> import howsure as hs
    >>> cells = hs.Cells.from_scores("demo", ["a", "b"], ["q1", "q2"], [[[1, 1], [1, 0]], [[0, 1], [0, 0]]])
    >>> resize(forest(cells), 3.3).to_dict()["width"]
    238
    """
    style = FigureStyle(width=width)
    spec = chart.to_dict()
    if not {"spec", "hconcat", "vconcat"} & spec.keys():
        # The width is that of the whole drawing, with the names beside it.
        spec |= {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
    if longest := find_longest_legend_name(spec):
        spec["usermeta"] = {**spec.get("usermeta", {}), "longest": longest}
    if isinstance(title := spec.get("title"), dict):
        wrapped = {
            part: textwrap.wrap(" ".join(title.get(part, ())), int(style.pixels / (_WIDTH_OF_LETTER * size)))
            for part, size in (("text", title.get("fontSize", 14)), ("subtitle", _SUBTITLE_SIZE))
        }
        spec["title"] = {**title, **wrapped, "frame": "bounds"}
    return alt.Chart.from_dict(fix_width(spec, "white", style=style))


def _select_benchmark(data: FigureInput | VariantInput, benchmark: str | None, kinds: tuple[type[T], type[U]]) -> T | U:
    """Return the named benchmark, or the only one, which is of one of these types; a cube can be turned into cells."""
    named: dict[str, T | U] = {}
    for part in _list_parts(data, kinds):
        result = part.cells() if isinstance(part, Cube) and Cells in kinds else part
        if not isinstance(result, kinds):
            raise _build_type_error(result, kinds)
        named[result.cube.benchmark if isinstance(result, VariantSummary) else _benchmark_name(result)] = result
    if benchmark is None and len(named) == 1:
        return next(iter(named.values()))
    if benchmark is None:
        remedy = f"name one with benchmark=: {', '.join(list(named)[:12])}" if named else "read some results"
        raise InputError(f"{len(named)} benchmarks", where="howsure.figures", remedy=remedy)
    if benchmark not in named:
        raise UnknownNameError("benchmark", benchmark, named)
    return named[benchmark]


def _list_parts(data: FigureInput | VariantInput, kinds: tuple[type[object], ...]) -> list[object]:
    """Return the benchmarks of any results; paths and frames are read where cells or cubes can be drawn."""
    if isinstance(data, Results):
        return list(data.parts)
    if not isinstance(data, Evaluations):
        one = (
            isinstance(data, Cells | Cube | Result | str | PathLike) or is_frame(data) or not isinstance(data, Iterable)
        )
        items: list[object] = [data] if one else list(cast("Iterable[object]", data))
        can_read = bool(items) and (Cells in kinds or Cube in kinds)
        if not can_read or not all(isinstance(item, str | PathLike) or is_frame(item) for item in items):
            return items
        data = read(cast("Data", items))
    return [*data.cubes()] if Cube in kinds else [*data.cells()]


def _build_type_error(part: object, kinds: tuple[type[object], ...]) -> InputError:
    """Return the error of results from which a figure cannot be drawn."""
    needed = " or ".join(dict.fromkeys(kind.__name__ for kind in kinds))
    remedy = "give what howsure.read returns, or a path or frame that it takes"
    if CostScores in kinds:
        remedy = "give what howsure.cost_scores returns"
    return InputError(f"{type(part).__name__} where {needed} is needed", where="howsure.figures", remedy=remedy)


def _select_models(models: Sequence[str] | None, available: Sequence[str]) -> list[str]:
    """Return the named models, or all that are available; raise an error for one that is not."""
    for model in models or ():
        if model not in available:
            raise UnknownNameError("model", model, available, where="models")
    return list(available if models is None else dict.fromkeys(models))


def _benchmark_name(result: object) -> str:
    """Return the name of the benchmark of cells or a result."""
    return str(getattr(result, "benchmark", ""))


def _select_pairs(runs: FigureInput, benchmark: str | None, level: float | None) -> Pairs:
    """Return the comparisons of one benchmark at a level, computed if cells are given."""
    part = _select_benchmark(runs, benchmark, (Pairs, Cells))
    cells = part.cells if isinstance(part, Pairs) else part
    if len(cells.models) < 2:
        raise InputError("only one model", where=cells.benchmark, remedy="give the results of at least two")
    if not isinstance(part, Pairs):
        return compare_pairs(cells, level=0.95 if level is None else level)
    if level is None or level == part.level:
        return part
    return compare_pairs(cells, claim=part.claim, level=level, method=part.method)


def _select_variants(cubes: VariantInput, benchmark: str | None) -> VariantSummary:
    """Return the results over the prompt variants of one benchmark, computed if a cube is given."""
    part = _select_benchmark(cubes, benchmark, (VariantSummary, Cube))
    return summarize_variants(part) if isinstance(part, Cube) else part


def _list_summaries(data: VariantInput, benchmark: str | None) -> list[VariantSummary]:
    """Return the results over prompt variants of the named benchmark, or of all."""
    if benchmark is not None:
        return [_select_variants(data, benchmark)]
    summaries = []
    for part in _list_parts(data, (VariantSummary, Cube)):
        if isinstance(part, Cube):
            summaries.append(summarize_variants(part))
        elif isinstance(part, VariantSummary):
            summaries.append(part)
        else:
            raise _build_type_error(part, (VariantSummary, Cube))
    if not summaries:
        raise InputError("0 benchmarks", where="howsure.figures", remedy="read some results")
    return summaries


def _order_by_mean(summary: VariantSummary) -> list[str]:
    """Return the models with a score, best first."""
    with np.errstate(invalid="ignore"):
        means = {model: summary.cube.cells().mean[i] for i, model in enumerate(summary.cube.models)}
    available = {
        model: float(np.mean(mean[~np.isnan(mean)])) for model, mean in means.items() if not np.isnan(mean).all()
    }
    return sorted(available, key=lambda model: -available[model])


def _list_scored_models(summary: VariantSummary) -> list[str]:
    """Return the models with scores under at least two prompts, best first."""
    several = np.sum(~np.isnan(summary.moments.scores), axis=1) > 1
    order = [model for model in _order_by_mean(summary) if several[summary.cube.index(model)]]
    if not order:
        raise InputError("no model has scores under two prompts", where=summary.cube.benchmark)
    return order


def _add_title(chart: Chart, question: str, caption: str) -> Chart:
    """Return the chart with the question above and the caption below, in a form that needs no page around it."""
    title = alt.Title(
        text=textwrap.wrap(question, 80),
        subtitle=textwrap.wrap(caption, 100),
        anchor="start",
        frame="group",
        fontSize=14,
        offset=12,
    )
    hints = {} if chart.usermeta is alt.Undefined else chart.usermeta
    titled: Chart = chart.properties(title=title)
    titled.config.background = "white"  # for its dark text
    if "longest" in hints:
        titled.config.legend.columns = max(1, WIDTH // (7 * hints["longest"] + 44))
    if not isinstance(titled, alt.FacetChart):
        titled = titled.properties(width=min(WIDTH, hints.get("widest", WIDTH)), autosize="pad")
    return titled
