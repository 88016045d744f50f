"""The report's figures as Altair charts, for notebooks and papers.

Each function takes what `howsure.read` returns or takes (paths and frames), cells, cubes, or results of other functions
of howsure, and returns a chart of one benchmark with its question as the title and its conclusion below. Like any
Altair chart, it can be changed, combined with others, and saved as SVG, PNG or HTML. `resize` gives it the width of a
column: Altair's ``properties(width=...)`` sets that of the plot alone, without the names beside it and the title.

Every function has ``benchmark``, the name of the benchmark to draw, which is needed where there are several, and raises
`InputError` where several are given and none is named, a name is unknown, or the data do not have what it draws.

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
from typing import Any, TypeVar, cast

import altair as alt
import numpy as np

from howsure.errors import InputError, UnknownNameError
from howsure.reporting import charts
from howsure.reporting.benchmark_report import build_benchmark_reports
from howsure.reporting.charts import MAX_SERIES
from howsure.reporting.elements import find_longest_legend_name, name_figure
from howsure.reporting.figure_files import FigureStyle, fix_width
from howsure.reporting.report_data import ReportData, ReportOptions
from howsure.reporting.sections import comparisons, heatmap, noise, prompt_variants, sample_sizes
from howsure.reporting.sections.costs import describe_costs, draw_costs, list_models_with_costs
from howsure.reporting.sections.distributions import build_histograms, describe_cumulative, draw_cumulative
from howsure.reporting.sections.repeats import describe_days, draw_days, draw_run_widths, find_narrow_runs
from howsure.reporting.sections.score_table import (
    describe_scores,
    draw_scores,
    mean_question_scores,
    order_models,
    pick_spaced,
)
from howsure.reporting.sections.summary import describe_claim, judge_reference
from howsure.reporting.sections.training_curves import describe_curve, draw_curve
from howsure.results.evaluations import Evaluations, open_or_list, read, to_runs
from howsure.results.sources import Data
from howsure.rows.frames import is_frame
from howsure.stats.comparisons import Curve, Pairs, compare_with_reference, order_checkpoints
from howsure.stats.comparisons import curve as follow_checkpoints
from howsure.stats.comparisons import pairs as compare_pairs
from howsure.stats.core.cells import Cells, IntArray
from howsure.stats.core.claims import BETA_ROWS, MOMENTS, BetaRows, Moment, check_choice
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

Chart = alt.Chart | alt.LayerChart | alt.FacetChart
T = TypeVar("T")
U = TypeVar("U")

#: Width of a chart in pixels, without the names beside it.
WIDTH = 560

#: Size of the text of captions, and mean width of a letter as a share of it.
_SUBTITLE_SIZE, _WIDTH_OF_LETTER = 11, 0.55

#: What `howsure.read` returns or takes, cells of one benchmark or of several, or a result computed from them.
FigureInput = Data | Evaluations | Cells | Cube | Result | Results | Iterable[Cells | Cube]


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
        Name of the benchmark, if there are several.
    level
        Level of the intervals of cells, in (0, 1); default: 0.95, or the level of the result.

    Examples
    --------
    >>> import howsure as hs
    >>> cells = hs.Cells.from_scores("demo", ["a", "b"], ["q1", "q2"], [[[1, 1], [1, 0]], [[0, 1], [0, 0]]])
    >>> scores(cells, ["a"]).to_dict()["title"]["text"]
    ['How sure is each score?']
    """
    part = _select_benchmark(runs, benchmark, Scores, Cells)
    if isinstance(part, Cells):
        result = score_models(part, level=0.95 if level is None else level)
    elif level in {None, part.level}:
        result = part
    else:
        raise InputError("these are results at another level", where="level", remedy="give the level to howsure.score")
    order = _select_models(models, order_models(result))
    caption = describe_scores(result, order, claim=describe_claim(result))
    return _show(draw_scores(result, order), "score-intervals", caption)


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
    benchmark, level
        As for `scores`.
    """
    pairs = _select_pairs(runs, benchmark, level)
    order = order_models(score_models(pairs.cells))
    if reference is not None:
        _select_models([reference], pairs.models, where="reference")
    compared = compare_with_reference(pairs, reference or order[0], chosen_by_scores=reference is None)
    others = [model for model in order if model != compared.reference]
    chart = comparisons.draw_forest(compared, others, verdicts=judge_reference(compared))
    return _show(chart, "forest", comparisons.describe_forest(compared), reference=compared.reference)


def matrix(runs: FigureInput, *, benchmark: str | None = None, level: float | None = None) -> Chart:
    """Draw which pairs of models are distinguishable: row minus column.

    Parameters
    ----------
    runs, benchmark, level
        As for `forest`.
    """
    pairs = _select_pairs(runs, benchmark, level)
    chart = comparisons.draw_matrix(pairs, order_models(score_models(pairs.cells)), verdicts=list(pairs.verdict))
    return _show(chart, "matrix", comparisons.describe_matrix(pairs, len(pairs.models)))


def pair_errors(runs: FigureInput, *, benchmark: str | None = None) -> Chart:
    """Draw the standard error of each difference against the mean score, and the errors that theory expects.

    Parameters
    ----------
    runs, benchmark
        As for `forest`.
    """
    pairs = _select_pairs(runs, benchmark, None)
    binary = pairs.cells.binary
    caption = comparisons.describe_pair_errors(pairs, binary=binary)
    return _show(comparisons.draw_pair_errors(pairs, binary=binary), "errors", caption)


def pair_parts(runs: FigureInput, *, benchmark: str | None = None, errors: float | None = 5.0) -> Chart:
    """Draw the data and the prediction part of the error of each difference, of close pairs or of all.

    Parameters
    ----------
    runs, benchmark
        As for `forest`.
    errors
        Pairs whose difference is at most this number of its standard errors are drawn; None draws all pairs. The
        default is that of the program behind the figures of the paper, which itself states no number.

    References
    ----------
    Wang (2025), Measuring all the noises of LLM evals, figures 1 and 4.
    """
    pairs = _select_pairs(runs, benchmark, None)
    has_parts = comparisons.select_pairs(pairs, errors) & ~np.isnan(pairs.prediction)
    if not has_parts.any():
        what = "no pair of models whose parts of the error are known"
        raise InputError(what, where=pairs.benchmark, remedy="give several generations, or errors=None for all pairs")
    larger = int(np.sum(pairs.prediction[has_parts] > np.maximum(pairs.data[has_parts], 0)))
    window = "" if errors is None else f" whose difference is at most {errors:g} of its standard errors"
    caption = (
        f"{int(has_parts.sum()):,} of {len(has_parts):,} pairs are drawn: those{window}, with several generations. In "
        f"{larger:,} of them sampling the answers adds more to the error of one generation per question than the "
        "questions do."
    )
    return _show(comparisons.draw_pair_parts(pairs, errors=errors), "pair-parts", caption)


def components(runs: FigureInput, *, benchmark: str | None = None) -> Chart:
    """Draw the data and prediction noise of each model.

    Parameters
    ----------
    runs, benchmark
        As for `scores`.
    """
    part = _select_benchmark(runs, benchmark, Scores, Cells)
    result = score_models(part) if isinstance(part, Cells) else part
    order = order_models(result)
    return _show(noise.draw_noise_parts(result, order), "noise", noise.describe_noise_parts(result, len(order)))


def difficulty(runs: FigureInput, *, benchmark: str | None = None, at_scores: bool = False) -> Chart:
    """Draw the score of every model on every question, models by skill and questions by difficulty.

    Parameters
    ----------
    runs, benchmark
        Cells or cubes, and the name of the benchmark.
    at_scores
        Whether the row of a model is drawn at its score (NOISE, figure 3), where models of nearly equal score cover
        each other; otherwise rows have equal distances.
    """
    cells = _select_benchmark(runs, benchmark, Cells, Cells)
    bins = heatmap.bin_questions(mean_question_scores(cells), len(cells.models))
    if bins.max(initial=-1) < 0:
        raise InputError("nothing was scored", where=cells.benchmark)
    result = score_models(cells)
    order = order_models(result)
    at = result.score[[cells.index(model) for model in order]] if at_scores else None
    caption = heatmap.describe_heatmap(cells, bins)
    if at_scores:
        caption += " Each row is at the score of its model; rows of nearly equal scores cover each other."
    return _show(heatmap.draw_heatmap(cells, order, at_scores=at), "difficulty", caption)


def distributions(runs: FigureInput, models: Sequence[str] | None = None, *, benchmark: str | None = None) -> Chart:
    """Draw the share of the questions at each P(correct).

    Parameters
    ----------
    runs, benchmark
        Cells or cubes with scores in [0, 1], and the name of the benchmark.
    models
        Models to draw; default: all.
    """
    cells = _select_benchmark(runs, benchmark, Cells, Cells)
    if not cells.unit:
        raise InputError("scores are not in [0, 1]", where=cells.benchmark)
    order = list(models or order_models(score_models(cells)))
    order = [model for model in order if cells.n[cells.index(model)].max(initial=0) > int(cells.binary)]
    if not order:
        what = "one generation per question: nothing lies between 0 and 1"
        raise InputError(what, where=cells.benchmark, remedy="sample each question several times")
    chart, caption = build_histograms(cells.select(order))
    return _show(chart, "densities", caption)


def beta_fits(
    runs: FigureInput,
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
    runs, benchmark
        Cells or cubes with scores of 0 and 1, and the name of the benchmark.
    models
        Models to draw or to pool; default: all.
    by, zero, edges
        As for `howsure.beta_fits`: one panel per range of scores, whose models are pooled, or per model.
    """
    check_choice("by", by, BETA_ROWS)
    cells = _select_benchmark(runs, benchmark, Cells, Cells)
    chosen = cells.select(_select_models(models, order_models(score_models(cells))))
    rows = pool_by_score(chosen, edges) if by == "score" else chosen
    fit = fit_beta(rows, zero=zero)
    curves = evaluate_beta_curves(rows, fit)
    chart = draw_cumulative(curves, estimate_density(rows), rows.models)
    return _show(chart, "cumulative", describe_cumulative(curves, fit, int(rows.n.max())))


def sources(cubes: FigureInput, *, benchmark: str | None = None) -> Chart:
    """Draw the variance components of each model: question, prompt, their interaction, and sampling.

    Parameters
    ----------
    cubes
        Cells of each prompt variant, as `howsure.read(...).cubes()` returns them, or a result of `howsure.variants`.
    benchmark
        Name of the benchmark, if there are several.
    """
    (summary,) = _list_summaries(cubes, benchmark, one=True)
    residual = summary.components.residual
    order = [model for model in _order_by_mean(summary) if not np.isnan(residual[summary.cube.index(model)])]
    if not order:
        raise InputError("the components of no model are known", where=summary.cube.benchmark)
    caption = noise.describe_variance_components(summary.components)
    return _show(noise.draw_variance_components(summary.components, order), "sources", caption)


def spread(cubes: FigureInput, *, benchmark: str | None = None) -> Chart:
    """Draw the score of each model under each prompt.

    Parameters
    ----------
    cubes, benchmark
        As for `sources`.
    """
    (summary,) = _list_summaries(cubes, benchmark, one=True)
    chart = prompt_variants.draw_spread(summary, _list_scored_models(summary))
    return _show(chart, "spread", prompt_variants.describe_spread(summary, len(summary.cube.models), None))


def convergence(
    cubes: FigureInput, models: Sequence[str] | None = None, *, moment: Moment = "mean", benchmark: str | None = None
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
    """
    check_choice("moment", moment, MOMENTS)
    (summary,) = _list_summaries(cubes, benchmark, one=True)
    order = _select_series(models, _list_scored_models(summary))
    caption = sample_sizes.describe_convergence(summary.sample_size, moment, len(order))
    chart = sample_sizes.draw_convergence(summary.sample_size, moment, order)
    return _show(chart, "convergence", caption, moment=moment)


def convergence_bands(
    cubes: FigureInput, models: Sequence[str] | None = None, *, moment: Moment = "mean", benchmark: str | None = None
) -> Chart:
    """Draw the mean deviation of a moment of n prompts with its 5 to 95 % band, over models or over benchmarks.

    Parameters
    ----------
    cubes
        As for `sources`. Of one benchmark, or if one is named, the curves are its models; of several benchmarks, the
        curves are the benchmarks, with one model.
    models
        At most four models; default: four, from the best to the worst. Of several benchmarks exactly one.
    moment, benchmark
        As for `convergence`.

    References
    ----------
    Lior et al. (2025), ReliableEval, figure 2 (a) over benchmarks, (b) over models.
    """
    check_choice("moment", moment, MOMENTS)
    summaries = _list_summaries(cubes, benchmark)
    if len(summaries) == 1:
        order = _select_series(models, _list_scored_models(summaries[0]))
        curves = {model: (summaries[0].sample_size, model) for model in order}
    else:
        names = {name for summary in summaries for name in _list_scored_models(summary)}
        if models is None or len(models) != 1:
            remedy = f"name one of {', '.join(sorted(names)[:8])}, or a benchmark"
            raise InputError(f"{len(summaries)} benchmarks without one model", where="models", remedy=remedy)
        _select_models(models, sorted(names))
        with_model = [summary for summary in summaries if models[0] in _list_scored_models(summary)]
        curves = {summary.cube.benchmark: (summary.sample_size, models[0]) for summary in with_model}
        _select_series(list(curves), list(curves))
    of_all = next(iter(curves.values()))[0]
    n_star_of = []
    for name, (sizes, model) in curves.items():
        m, row = sizes.models.index(model), MOMENTS.index(moment)
        n_star_of.append(f"{name}: {f'{sizes.n_star[m, row]:.0f}' if sizes.reached[m, row] else 'not reached'}")
    caption = (
        "Lines are the mean of the deviation over random orders of the prompts, bands its "
        f"{50 * of_all.delta:g} to {100 - 50 * of_all.delta:g} %. A point marks n*, from which the upper end of the "
        f"band is at most {of_all.epsilon:g}: {'; '.join(n_star_of)}."
    )
    of_model = "" if len(summaries) == 1 else f" of {next(iter(curves.values()))[1]}"
    chart = sample_sizes.draw_deviation_bands(curves, moment)
    return _show(chart, "bands", caption, moment=moment, of_model=of_model)


def spreads(cubes: FigureInput, models: Sequence[str] | None = None) -> Chart:
    """Draw a box plot of the scores over prompts for each benchmark and model.

    Parameters
    ----------
    cubes
        As for `sources`, of one benchmark or several.
    models
        Models to draw, from top to bottom; default: all, by their median on the first benchmark that has them.

    References
    ----------
    Lior et al. (2025), ReliableEval, figure 1.
    """
    summaries = _list_summaries(cubes, None)
    available = list(dict.fromkeys(name for summary in summaries for name in _list_scored_models(summary)))
    order = _select_models(models, available)
    ranges = []
    for summary in summaries:
        lengths = summary.moments.quantile(1.0) - summary.moments.quantile(0.0)
        named = zip(lengths.tolist(), summary.moments.models, strict=True)
        ranges += [(length, m, summary.cube.benchmark) for length, m in named if m in order and not np.isnan(length)]
    widest, model, benchmark = max(ranges)
    is_alone = sum(length > widest - 1e-9 for length, *_ in ranges) == 1
    caption = (
        "Boxes go from quartile to quartile, lines from the lowest to the highest score under one prompt, a tick is "
        f"the median. The widest range is {widest:.3f}{f': {model} on {benchmark}' if is_alone else ''}."
    )
    return _show(prompt_variants.draw_spreads(summaries, order), "spread", caption)


def run_widths(widths: RunWidths | Results, *, benchmark: str | None = None) -> Chart:
    """Draw the prediction interval after 2, 3, ... runs, with a dashed line where it becomes narrow enough.

    Parameters
    ----------
    widths
        Result of `howsure.run_widths`.
    benchmark
        Name of the benchmark, if there are several.

    References
    ----------
    Blackwell, Barry and Cohn (2024), Towards reproducible LLM evaluation, figure 1.
    """
    parts = [part for part in _list_parts(widths, (RunWidths,)) if isinstance(part, RunWidths)]
    fitting = [part for part in parts if benchmark is None or part.each[0].benchmark == benchmark]
    if len(fitting) != 1:
        what, remedy = f"{len(fitting)} results of run_widths", "name one of its benchmarks with benchmark="
        if not parts:
            remedy = "give one: figures.run_widths(howsure.run_widths(results))"
        raise InputError(what, where="howsure.figures.run_widths", remedy=remedy)
    goal = fitting[0].goal
    caption = "; ".join(
        f"{model}: never below {goal:g}" if first is None else f"{model}: below {goal:g} after {first} runs"
        for model, first in find_narrow_runs(fitting[0]).items()
    )
    return _show(draw_run_widths(fitting[0]), "run-widths", caption)


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
    """
    name, cells = _pick_named(dict(to_runs(runs)), benchmark)
    daily = compare_days(cells, level=level)
    if daily.repeats is None:
        why = "; ".join(dict.fromkeys(daily.reasons.values()))
        remedy = "give run folders or logs of several days"
        raise InputError(f"no scores of two days ({why})", where=name, remedy=remedy)
    by_score = [daily.models[i] for i in np.argsort(-daily.repeats.mean, kind="stable").tolist()]
    chart = draw_days(daily, _select_series(models, by_score))
    return _show(chart, "days", describe_days(daily, [*by_score, *daily.reasons]))


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
        Name of the benchmark, if there are several.
    level
        Level of the intervals and tests of cells, in (0, 1); default: 0.95, or the level of the result.

    Examples
    --------
    >>> import howsure as hs
    >>> scores = [[[0, 0], [0, 1], [0, 0]], [[1, 0], [0, 1], [1, 0]], [[1, 1], [1, 1], [1, 0]]]
    >>> cells = hs.Cells.from_scores("demo", ["step 10", "step 100", "step 20"], ["p", "q", "r"], scores)
    >>> curve(cells).to_dict()["title"]["text"]
    ['What changed along the training run?']
    """
    given = [part for part in _list_parts(runs, (Curve, Cells)) if isinstance(part, Curve)]
    given = [part for part in given if benchmark in {None, part.benchmark}]
    if len(given) > len({part.benchmark for part in given}):
        remedy = "name the checkpoints of one in hs.curve(..., order=[...])"
        raise InputError(f"{len(given)} training runs", where="howsure.figures", remedy=remedy)
    part = _select_benchmark(runs, benchmark, Curve, Cells)
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
    return _show(draw_curve(result), "curve", describe_curve(result))


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
    """
    part = _select_benchmark(result, benchmark, CostScores, CostScores)
    by_score = np.argsort(-np.nan_to_num(part.score, nan=-np.inf), kind="stable")
    order = _select_models(models, list_models_with_costs(part, [part.models[i] for i in by_score]))
    if not order:
        raise InputError("no model has a cost", where=part.benchmark, remedy="give run folders that record tokens")
    return _show(draw_costs(part, order), "costs", describe_costs(part, order))


def every(
    runs: FigureInput,
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
        Name of the benchmark, if there are several.
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
    cells = _select_benchmark(opened, benchmark, Cells, Cells)
    if isinstance(opened, Evaluations):
        if len(cells.variants) > 1:
            cubes = cubes or [cube for cube in opened.cubes() if cube.benchmark == cells.benchmark]
            unparsed = unparsed or opened.count_unparsed(cubes)
        repeats = repeats or {name: parts for name, parts in opened.runs().items() if name == cells.benchmark}
        answers = answers or {name: one for name, one in opened.answers().items() if name == cells.benchmark}
    data = ReportData([cells], cubes=cubes, unparsed=unparsed or {}, repeats=repeats or {}, answers=answers or {})
    options = ReportOptions(level=level, reference=reference, epsilon=epsilon, delta=delta)
    (report,) = build_benchmark_reports(data, options)
    return {
        figure.id.partition("-")[2]: _make_chart(fix_width(figure.spec, "white", WIDTH)) for figure in report.figures
    }


def resize(chart: Chart, width: float) -> Chart:
    """Return a figure at another width, such as that of a column, with a title and a caption that are wrapped to it.

    Parameters
    ----------
    chart
        What a function of this module returned.
    width
        Width in inches, from 2 to 40, as ``howsure report --figure-style width=`` has it; 72 pixels.

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
    return _make_chart(fix_width(spec, "white", style=style))


def _make_chart(spec: Mapping[str, object]) -> Chart:
    """Return a specification as a chart of Altair."""
    chart: Chart = alt.Chart.from_dict({**spec})
    return chart


def _show(chart: charts.Chart, figure: str, caption: str, **words: str) -> Chart:
    """Return a chart with its question above and its caption below, in a form that needs no page around it."""
    hints = chart.get("usermeta", {})
    lines = {"text": textwrap.wrap(name_figure(figure, **words)[0], 80), "subtitle": textwrap.wrap(caption, 100)}
    config = {**chart["config"], "background": "white"}  # for its dark text
    if "longest" in hints:
        config["legend"] = {**config["legend"], "columns": max(1, WIDTH // (7 * hints["longest"] + 44))}
    size: dict[str, Any] = {}
    if "spec" not in chart:
        size = {"width": min(WIDTH, hints.get("widest", WIDTH)), "autosize": "pad"}
    title = {**lines, "anchor": "start", "frame": "group", "fontSize": 14, "offset": 12}
    return _make_chart({**chart, **size, "config": config, "title": title})


def _pick_named(named: Mapping[str, T], benchmark: str | None) -> tuple[str, T]:
    """Return the named benchmark, or the only one, with its name."""
    if benchmark is None and len(named) == 1:
        return next(iter(named.items()))
    if benchmark is None:
        remedy = f"name one with benchmark=: {', '.join(list(named)[:12])}" if named else "read some results"
        raise InputError(f"{len(named)} benchmarks", where="howsure.figures", remedy=remedy)
    if benchmark not in named:
        raise UnknownNameError("benchmark", benchmark, named)
    return benchmark, named[benchmark]


def _select_benchmark(data: object, benchmark: str | None, kind: type[T], other: type[U]) -> T | U:
    """Return the named benchmark, or the only one, which is of one of two types; a cube can be turned into cells."""
    named: dict[str, T | U] = {}
    for part in _list_parts(data, (kind, other)):
        result = part.cells() if isinstance(part, Cube) and Cells in (kind, other) else part
        if not isinstance(result, kind | other):
            needed = " or ".join(dict.fromkeys((kind.__name__, other.__name__)))
            remedy = "give what howsure.read returns, or a path or frame that it takes"
            if kind is CostScores:
                remedy = "give what howsure.cost_scores returns"
            raise InputError(
                f"{type(result).__name__} where {needed} is needed", where="howsure.figures", remedy=remedy
            )
        of = result.cube if isinstance(result, VariantSummary) else result
        named[str(getattr(of, "benchmark", ""))] = result
    return _pick_named(named, benchmark)[1]


def _list_parts(data: object, kinds: Sequence[type[object]]) -> list[object]:
    """Return the benchmarks of any results; paths and frames are read where cells or cubes can be drawn."""
    if isinstance(data, Results):
        return list(data.parts)
    if not isinstance(data, Evaluations):
        one = isinstance(data, Cells | Cube | Result | str | PathLike) or is_frame(data)
        items: list[object] = list(data) if isinstance(data, Iterable) and not one else [data]
        can_read = bool(items) and (Cells in kinds or Cube in kinds)
        if not can_read or not all(isinstance(item, str | PathLike) or is_frame(item) for item in items):
            return items
        data = read(cast("Data", items))
    return [*data.cubes()] if Cube in kinds else [*data.cells()]


def _select_models(models: Sequence[str] | None, available: Sequence[str], where: str = "models") -> list[str]:
    """Return the named models, or all that are available; raise an error for one that is not."""
    for model in models or ():
        if model not in available:
            raise UnknownNameError("model", model, available, where=where)
    return list(available if models is None else dict.fromkeys(models))


def _select_series(models: Sequence[str] | None, available: Sequence[str]) -> list[str]:
    """Return the named models, or some spread over those available: as many as a figure has looks for."""
    order = pick_spaced(available, MAX_SERIES) if models is None else _select_models(models, available)
    if not 0 < len(order) <= MAX_SERIES:
        raise InputError(f"{len(order)} models", where="models", remedy=f"name 1 to {MAX_SERIES}")
    return order


def _select_pairs(runs: FigureInput, benchmark: str | None, level: float | None) -> Pairs:
    """Return the comparisons of one benchmark at a level, computed if cells are given."""
    part = _select_benchmark(runs, benchmark, Pairs, Cells)
    cells = part.cells if isinstance(part, Pairs) else part
    if len(cells.models) < 2:
        raise InputError("only one model", where=cells.benchmark, remedy="give the results of at least two")
    if not isinstance(part, Pairs):
        return compare_pairs(cells, level=0.95 if level is None else level)
    if level is None or level == part.level:
        return part
    return compare_pairs(cells, claim=part.claim, level=level, method=part.method)


def _list_summaries(data: FigureInput, benchmark: str | None, *, one: bool = False) -> list[VariantSummary]:
    """Return the results over prompt variants of the named benchmark, of the only one, or of all."""
    if one or benchmark is not None:
        part = _select_benchmark(data, benchmark, VariantSummary, Cube)
        return [summarize_variants(part) if isinstance(part, Cube) else part]
    parts = [_select_benchmark(part, None, VariantSummary, Cube) for part in _list_parts(data, (VariantSummary, Cube))]
    if not parts:
        raise InputError("0 benchmarks", where="howsure.figures", remedy="read some results")
    return [summarize_variants(part) if isinstance(part, Cube) else part for part in parts]


def _order_by_mean(summary: VariantSummary) -> list[str]:
    """Return the models with a score, best first."""
    means = zip(summary.cube.models, summary.cube.cells().mean, strict=True)
    available = {model: float(np.nanmean(mean)) for model, mean in means if not np.isnan(mean).all()}
    return sorted(available, key=lambda model: -available[model])


def _list_scored_models(summary: VariantSummary) -> list[str]:
    """Return the models with scores under at least two prompts, best first."""
    several = np.sum(~np.isnan(summary.moments.scores), axis=1) > 1
    order = [model for model in _order_by_mean(summary) if several[summary.cube.index(model)]]
    if not order:
        raise InputError("no model has scores under two prompts", where=summary.cube.benchmark)
    return order
