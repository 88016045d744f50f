"""The report's figures as Altair charts, for notebooks and papers.

Each function takes cells, cubes or results as the other functions of howsure take or give them, and returns a chart of
one benchmark with its question as the title and its conclusion below; what Altair can do with a chart can be done with
it: change it, put it beside others, save it as SVG, PNG or HTML.

>>> import howsure as hs
>>> cells = hs.Cells.from_scores("demo", ["a", "b"], ["q1", "q2"], [[[1, 1], [1, 0]], [[0, 1], [0, 0]]])
>>> from howsure import figures
>>> figures.forest(cells).to_dict()["title"]["text"]
['How far is each model from a?']
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from howsure.errors import InputError, UnknownNameError
from howsure.report.charts.base import MAX_SERIES
from howsure.report.charts.comparisons import draw_forest, draw_matrix, draw_pair_errors
from howsure.report.charts.heatmap import bin_questions, draw_heatmap
from howsure.report.charts.noise import draw_noise_parts, draw_variance_components
from howsure.report.charts.prompt_variants import draw_convergence, draw_spread
from howsure.report.sentences.comparisons import describe_forest, describe_matrix, describe_pair_errors
from howsure.report.sentences.heatmap import describe_heatmap
from howsure.report.sentences.noise import describe_noise_parts, describe_variance_components
from howsure.report.sentences.prompt_variants import describe_convergence, describe_spread
from howsure.report.sentences.summary import judge_pairs
from howsure.stats import comparisons
from howsure.stats import scores as scoring
from howsure.stats.comparisons import Pairs
from howsure.stats.core.cells import Cells
from howsure.stats.core.cube import Cube
from howsure.stats.core.results import Result, Results
from howsure.stats.prompts import MOMENTS, VariantSummary
from howsure.stats.prompts import summarize_variants as of_variants
from howsure.stats.scores import Scores

if TYPE_CHECKING:
    from howsure.report.charts.base import Chart

__all__ = [
    "components",
    "convergence",
    "difficulty",
    "distributions",
    "every",
    "forest",
    "matrix",
    "pair_errors",
    "sources",
    "spread",
]

#: Width of a chart in pixels, without the names beside it.
WIDTH = 560

#: Cells of one benchmark or of several, or a result computed from them.
Given = Cells | Cube | Pairs | Scores | Results | Iterable[Cells | Cube]

#: Cubes of one benchmark or of several, or what `variants` found.
GivenVariants = Cube | VariantSummary | Results | Iterable[Cube]


def forest(
    runs: Given, reference: str | None = None, *, benchmark: str | None = None, level: float | None = None
) -> Chart:
    """Difference of each model from a reference, with its interval.

    Parameters
    ----------
    runs
        Cells with two models or more, or what `howsure.pairs` gave.
    reference
        Default: the model with the highest score.
    benchmark
        Which of several.
    level
        Of the intervals, in (0, 1); default: 0.95, or that of the result.

    Raises
    ------
    InputError
        When `runs` is of several benchmarks and none is named, has one model, or the reference is unknown.
    """
    found = _pairs(runs, benchmark, level)
    order = _ordered(found)
    if reference is not None and reference not in found.models:
        raise UnknownNameError("model", reference, found.models, where="reference")
    reference = reference or order[0]
    others = [model for model in order if model != reference]
    chart = draw_forest(found, reference, others, verdicts=judge_pairs(found))
    return _titled(chart, f"How far is each model from {reference}?", describe_forest(found, reference))


def matrix(runs: Given, *, benchmark: str | None = None, level: float | None = None) -> Chart:
    """Which pairs of models can be told apart: row minus column. Parameters as of `forest`."""
    found = _pairs(runs, benchmark, level)
    chart = draw_matrix(found, _ordered(found), verdicts=judge_pairs(found))
    caption = describe_matrix(found, len(found.models))
    return _titled(chart, "Which pairs of models can be told apart?", caption)


def pair_errors(runs: Given, *, benchmark: str | None = None) -> Chart:
    """Standard error of each difference against the mean score, and what theory expects. Parameters as of `forest`."""
    found = _pairs(runs, benchmark, None)
    binary = found.cells.binary
    title = "How large is the error of a difference, and what does theory expect?"
    return _titled(draw_pair_errors(found, binary=binary), title, describe_pair_errors(found, binary=binary))


def components(runs: Given, *, benchmark: str | None = None) -> Chart:
    """Data and prediction noise of each model: cells, or what `howsure.score` gave."""
    from howsure.report.sections.score_table import ordered

    part = _one(runs, benchmark, (Scores, Cells))
    found = part if isinstance(part, Scores) else scoring.score(part)
    order = ordered(found)
    title = "How much noise comes from the questions, how much from sampling?"
    return _titled(draw_noise_parts(found, order), title, describe_noise_parts(found, len(order)))


def difficulty(runs: Cells | Cube | Iterable[Cells | Cube], *, benchmark: str | None = None) -> Chart:
    """Score of every model on every question, models by skill and questions by difficulty."""
    from howsure.report.sections import score_table

    cells = _one(runs, benchmark, (Cells,))
    bins = bin_questions(score_table.difficulty(cells), len(cells.models))
    order = score_table.ordered(scoring.score(cells))
    if bins.max(initial=-1) < 0:
        raise InputError("nothing was scored", where=cells.benchmark)
    return _titled(draw_heatmap(cells, order), "Which questions are hard, and for whom?", describe_heatmap(cells, bins))


def distributions(
    runs: Cells | Cube | Iterable[Cells | Cube], models: Sequence[str] | None = None, *, benchmark: str | None = None
) -> Chart:
    """Share of the questions at each P(correct), for all models or for some; scores in [0, 1]."""
    from howsure.report.sections import distributions, score_table

    cells = _one(runs, benchmark, (Cells,))
    if not cells.unit:
        raise InputError("scores are not in [0, 1]", where=cells.benchmark)
    order = list(models or score_table.ordered(scoring.score(cells)))
    order = [model for model in order if cells.n[cells.index(model)].max(initial=0) > int(cells.binary)]
    if not order:
        remedy = "sample each question several times"
        raise InputError(
            "one generation per question: nothing lies between 0 and 1", where=cells.benchmark, remedy=remedy
        )
    chart, caption = distributions.densities(cells.select(order))
    return _titled(chart, "Are questions solved always, never or sometimes?", caption)


def sources(cubes: GivenVariants, *, benchmark: str | None = None) -> Chart:
    """Variance of each model that comes from the question, the prompt, both together and sampling again.

    Parameters
    ----------
    cubes
        Cells of each prompt variant, as `howsure.read(...).cubes()` returns them, or what `howsure.variants` found.
    benchmark
        Which of several.
    """
    found = _variants(cubes, benchmark)
    order = [m for m in _by_mean(found) if not np.isnan(found.components.residual[found.cube.index(m)])]
    if not order:
        raise InputError("the components of no model are known", where=found.cube.benchmark)
    title = "How much comes from the prompt, the question, and sampling again?"
    return _titled(
        draw_variance_components(found.components, order), title, describe_variance_components(found.components)
    )


def spread(cubes: GivenVariants, *, benchmark: str | None = None) -> Chart:
    """Score of each model under each prompt. Parameters as of `sources`."""
    found = _variants(cubes, benchmark)
    order = _scored(found)
    caption = describe_spread(found, len(found.cube.models), None)
    return _titled(draw_spread(found, order), "How far does the score depend on the prompt?", caption)


def convergence(
    cubes: GivenVariants, models: Sequence[str] | None = None, *, moment: str = "mean", benchmark: str | None = None
) -> Chart:
    """How near the mean (or variance) of the score over some prompts comes to that over all, with n* marked.

    Parameters
    ----------
    cubes, benchmark
        As of `sources`.
    models
        At most four; default: four, from the best to the worst.
    moment
        One of `stats.enough.MOMENTS`.
    """
    if moment not in MOMENTS:
        raise UnknownNameError("moment", moment, MOMENTS)
    found = _variants(cubes, benchmark)
    scored = _scored(found)
    places = np.unique(np.linspace(0, len(scored) - 1, min(MAX_SERIES, len(scored))).astype(int))
    order = list(models) if models is not None else [scored[i] for i in places]
    for model in order:
        if model not in scored:
            raise UnknownNameError("model", model, scored, where="models")
    if not 0 < len(order) <= MAX_SERIES:
        raise InputError(f"{len(order)} models", where="models", remedy=f"name 1 to {MAX_SERIES}")
    caption = describe_convergence(found.sample_size, moment, len(order))
    title = f"How many prompts until the {moment} is near that over all?"
    return _titled(draw_convergence(found.sample_size, moment, order), title, caption)


def every(runs: Cells | Cube | Iterable[Cells | Cube], *, benchmark: str | None = None, **how: Any) -> dict[str, Chart]:
    """Every figure that a report on these results has, by name; slower than one alone.

    Parameters
    ----------
    runs
        Cells of one benchmark, or of several.
    benchmark
        Which of several.
    how
        What else the report knows, such as `cubes`, `level` and `reference`: see `report.page.build`.
    """
    from howsure.report import figure_files, page

    html = page.build([_one(runs, benchmark, (Cells,))], **how)
    import altair as alt

    return {
        one.id.partition("-")[2]: alt.Chart.from_dict(figure_files.fixed(one.spec, "white", WIDTH))
        for one in figure_files.figures(html)
    }


def _one(given: Any, benchmark: str | None, kinds: tuple[type, ...]) -> Any:
    """The one benchmark that is asked for, which is of one of these kinds; cubes are cells of all prompts together."""
    alone = isinstance(given, Cells | Cube | Result) and not isinstance(given, Results)
    each: list[Any] = [given] if alone else list(getattr(given, "parts", given))
    each = [one.cells() if isinstance(one, Cube) and Cells in kinds else one for one in each]
    for one in each:
        if not isinstance(one, kinds):
            allowed = " or ".join(kind.__name__ for kind in kinds)
            raise InputError(f"{type(one).__name__} where {allowed} is needed", where="howsure.figures")
    names = [one.cube.benchmark if isinstance(one, VariantSummary) else one.benchmark for one in each]
    named = dict(zip(names, each, strict=True))
    if benchmark is None and len(each) == 1:
        return each[0]
    if benchmark is None:
        remedy = f"name one with benchmark=: {', '.join(list(named)[:12])}" if named else "read some results"
        raise InputError(f"{len(each)} benchmarks", where="howsure.figures", remedy=remedy)
    if benchmark not in named:
        raise UnknownNameError("benchmark", benchmark, named)
    return named[benchmark]


def _pairs(runs: Given, benchmark: str | None, level: float | None) -> Pairs:
    part = _one(runs, benchmark, (Pairs, Cells))
    cells = part.cells if isinstance(part, Pairs) else part
    if len(cells.models) < 2:
        raise InputError("only one model", where=cells.benchmark, remedy="give the results of at least two")
    if isinstance(part, Pairs):
        asked = part.level if level is None else level
        return (
            part if asked == part.level else comparisons.pairs(cells, claim=part.claim, level=asked, method=part.method)
        )
    return comparisons.pairs(cells, level=0.95 if level is None else level)


def _ordered(found: Pairs) -> list[str]:
    from howsure.report.sections.score_table import ordered

    return ordered(scoring.score(found.cells))


def _variants(cubes: GivenVariants, benchmark: str | None) -> VariantSummary:
    part = _one(cubes, benchmark, (VariantSummary, Cube))
    return part if isinstance(part, VariantSummary) else of_variants(part)


def _by_mean(found: VariantSummary) -> list[str]:
    """Models, best first; those without a score last."""
    with np.errstate(invalid="ignore"):
        means = {model: found.cube.cells().mean[i] for i, model in enumerate(found.cube.models)}
    known = {model: float(np.mean(mean[~np.isnan(mean)])) for model, mean in means.items() if not np.isnan(mean).all()}
    return sorted(known, key=lambda model: -known[model])


def _scored(found: VariantSummary) -> list[str]:
    there = np.sum(~np.isnan(found.moments.scores), axis=1) > 1
    order = [model for model in _by_mean(found) if there[found.cube.index(model)]]
    if not order:
        raise InputError("no model has scores under two prompts", where=found.cube.benchmark)
    return order


def _titled(chart: Chart, question: str, caption: str) -> Chart:
    """With the question above and its answer below."""
    import altair as alt

    title = alt.Title(
        text=textwrap.wrap(question, 80),
        subtitle=textwrap.wrap(caption, 100),
        anchor="start",
        frame="group",
        fontSize=14,
        offset=12,
    )
    about = {} if chart.usermeta is alt.Undefined else chart.usermeta
    alone: Chart = chart.properties(title=title)
    # A width that needs no page around it, and a background for its dark text.
    alone.config.background = "white"
    if "longest" in about:
        alone.config.legend.columns = max(1, WIDTH // (7 * about["longest"] + 44))
    if not isinstance(alone, alt.FacetChart):
        alone = alone.properties(width=min(WIDTH, about.get("widest", WIDTH)), autosize="pad")
    return alone
