"""Section of the page on what a generation of each model cost, beside its score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from howsure.reporting.charts import (
    BLUE,
    ORANGE,
    SHORT_NAME,
    Chart,
    across,
    columns_of,
    draw,
    finish_chart,
    number,
    scale_without_zero,
    style_values,
    tooltips,
)
from howsure.reporting.elements import ElementBuilder, Section, TextTable
from howsure.reporting.formatting import (
    describe_drawn,
    format_count,
    format_each,
    format_level,
    format_ranges,
    format_significant,
    is_or_are,
    join_names,
)
from howsure.reporting.sections.score_table import MAX_MODELS
from howsure.stats.core.cells import FloatArray
from howsure.stats.core.claims import CostUnit
from howsure.stats.core.text_table import choose_decimals
from howsure.stats.planning import CostScores

#: What a cost is, by its unit.
_LEADS: dict[CostUnit, str] = {
    "cost": "A cost is the mean over the generations of a model, prompts included, at the prices of the experiment, or "
    "else at the highest list price that was known when this page was made.",
    "tokens": "A cost is the mean number of tokens of a generation, prompts included: a price is not known for every "
    "model. A token of one model may cost more than a token of another, and tokenizers differ.",
    "calls": "A cost is the mean number of requests of a generation: neither tokens nor prices are known for every "
    "model.",
}

#: Headings of the column of costs.
_HEADINGS: dict[CostUnit, str] = {"cost": "$ per 1,000 generations", "tokens": "Tokens", "calls": "Calls"}


def build_cost_section(result: CostScores | None, order: Sequence[str], builder: ElementBuilder) -> Section:
    """Build the section on costs and scores."""
    name, title, link = "costs-part", "What a score costs", "Costs"
    drawn = [] if result is None else list_models_with_costs(result, order)
    if result is None or len(drawn) < 2:
        reason = "calls and tokens of fewer than two models are recorded"
        return Section(name, title, link, "", (), (f"scores against costs ({reason})",))
    costs = result.cost[~np.isnan(result.cost)]
    if result.unit == "calls" and float(np.ptp(costs)) == 0:
        reason = "tokens are not recorded for every model, and each generation took equally many calls"
        return Section(name, title, link, "", (), (f"scores against costs ({reason})",))
    builder.add_table("costs", result.columns())
    figure = builder.build_figure(
        "costs",
        describe_costs(result, drawn[:MAX_MODELS]),
        draw_costs(result, drawn[:MAX_MODELS]),
        table="costs",
        marks=3 * len(drawn),
    )
    return Section(name, title, link, _LEADS[result.unit], (figure, _build_table(result, drawn[:MAX_MODELS], builder)))


def list_models_with_costs(result: CostScores, order: Sequence[str]) -> list[str]:
    """Return the models of `order` that have a score and a cost."""
    with_costs = {m for m, c, s in zip(result.models, result.cost, result.score, strict=True) if not np.isnan(c + s)}
    return [model for model in order if model in with_costs]


def describe_costs(result: CostScores, drawn: Sequence[str]) -> str:
    """Describe the range of the costs, and the models that others are better than for less."""
    rows = [result.models.index(model) for model in drawn]
    by_cost = sorted(rows, key=lambda i: (result.cost[i], i))
    cheapest, dearest = by_cost[0], by_cost[-1]
    if _format_cost(result, cheapest) == _format_cost(result, dearest):
        about = "" if result.cost[cheapest] == result.cost[dearest] else "about "
        text = f"A generation of each model cost {about}{_format_cost(result, cheapest)}. "
    else:
        text = (
            f"A generation cost from {_format_cost(result, cheapest)} ({result.models[cheapest]}) to "
            f"{_format_cost(result, dearest)} ({result.models[dearest]}) on average. "
        )
    beaten = [i for i in rows if result.better_for_less[i]]
    if beaten:
        names = [f"{result.models[i]} ({join_names(result.better_for_less[i], 2)})" for i in beaten]
        text += (
            f"For {len(beaten):,} of {format_count(len(rows), 'model')} another costs no more and scores "
            f"clearly higher, adjusted for all pairs (Holm): {join_names(names)}. "
        )
        rest = len(rows) - len(beaten)
        if rest > 1:
            text += f"Among the other {rest:,} a lower cost goes with a score that is lower, or cannot be told apart. "
    else:
        text += "No model is clearly better than one that costs as much or more, adjusted for all pairs (Holm). "
    text += f"Bars are {format_level(result.level)} intervals of the scores."
    unknown = int(np.sum(np.isnan(result.cost)))
    if unknown:
        text += f" {format_count(unknown, 'model')} without recorded costs {is_or_are(unknown)} left out."
    unscored = int(np.sum(np.isnan(result.score) & ~np.isnan(result.cost)))
    if unscored:
        text += f" {format_count(unscored, 'model')} without a score {is_or_are(unscored)} left out."
    return text + describe_drawn(len(rows), len(result.models) - unknown - unscored)


def _format_cost(result: CostScores, row: int) -> str:
    """Return the mean cost of a generation with its unit."""
    value = float(result.cost[row])
    if result.unit == "cost":
        return f"${format_significant(value, 2)}"
    number = format_significant(value, 3)
    return f"{number} {result.unit if number != '1' else result.unit[:-1]}"


def _build_table(result: CostScores, drawn: Sequence[str], builder: ElementBuilder) -> TextTable:
    """Return the table of costs and scores."""
    at = [result.models.index(model) for model in drawn]
    places = choose_decimals((result.high[at] - result.low[at]) / 4)
    factor = 1000 if result.unit == "cost" else 1
    rows = {
        "Model": list(drawn),
        "Better for less": [join_names(result.better_for_less[i], 3) or "–" for i in at],
        _HEADINGS[result.unit]: [format_significant(factor * float(result.cost[i]), 3) for i in at],
        "Score": format_each(result.score[at], places),
        f"{format_level(result.level)} interval": format_ranges(result.low[at], result.high[at], places),
    }
    caption = "The models that cost no more than a model and score clearly higher stand beside it."
    return builder.build_text_table(
        "cost-table", "What did a generation cost?", caption, rows, text_columns=2, table="costs"
    )


#: Titles of the axis of costs.
_COST_TITLES = {
    "cost": "Dollars for 1,000 generations",
    "tokens": "Tokens of a generation, with its prompt",
    "calls": "Calls of a generation",
}

#: Whether another model is better for less.
_KINDS = ("no model is better for less", "another is better for less")

#: Room of a name in the figure of costs, as shares of its height and width.
_NAME_HEIGHT, _NAME_WIDTH = 0.08, 0.6


def draw_costs(result: CostScores, order: Sequence[str]) -> Chart:
    """Draw the score of each model in `order` with its interval against the mean cost of a generation."""
    rows = np.array([result.models.index(model) for model in order], dtype=int)
    cost = result.cost[rows] * (1000 if result.unit == "cost" else 1)
    score, low, high = (getattr(result, name)[rows] for name in ("score", "low", "high"))
    data = columns_of(
        model=list(order),
        cost=cost,
        score=score,
        low=low,
        high=high,
        kind=[_KINDS[bool(result.better_for_less[i])] for i in rows],
        better=[", ".join(result.better_for_less[i]) or "–" for i in rows],
    )
    title = _COST_TITLES[result.unit]
    tips = tooltips(model="Model", score="Score", low="Low", high="High", better="Better for less")
    tips.append(number("cost", title=title, format=",.4~g"))
    kind = "log" if bool(np.all(cost > 0)) and cost.max() > 5 * cost.min() else "linear"
    # "~g" alone has as many digits as tell the ticks apart: 120 and 140 were 1.2e+2 and 1.4e+2.
    axis = {"tickCount": 5, "format": ",.6~g", "labelOverlap": "greedy", "grid": False}
    x = across("cost", title, axis=axis, scale=scale_without_zero(cost, type=kind, nice=False, padding=24))
    scale = scale_without_zero(np.concatenate([score, low, high]), padding=10)
    y, low_end = (number(field, title="Score", scale=scale) for field in ("score", "low"))
    style = style_values("kind", _KINDS, color=(BLUE, ORANGE), shape=("circle", "diamond"))
    layers = [
        draw(data, "rule", {"strokeWidth": 2}, x=x, y=low_end, y2="high", color=style["color"], tooltip=tips),
        draw(data, "point", {"filled": True, "size": 70, "opacity": 1}, x=x, y=y, tooltip=tips, **style),
    ]
    position = _scale_to_unit(np.log(cost) if kind == "log" else cost)
    has_name = _select_names(position, _scale_to_unit(score))
    # names stand on the side where the drawing goes on
    for on_left in (False, True):
        named = np.flatnonzero(has_name & ((position > 0.5) == on_left))
        if len(named):
            names = columns_of(model=[order[int(i)] for i in named], cost=cost[named], score=score[named])
            side = {"align": "right", "dx": -8} if on_left else {"align": "left", "dx": 8}
            layers.append(draw(names, "text", {**side, "dy": -7, "text": {"expr": SHORT_NAME}}, x=x, y=y))
    return finish_chart(*layers, height=300, legend=_KINDS, names=list(order))


def _scale_to_unit(values: FloatArray) -> FloatArray:
    """Return the values on a scale from 0 to 1; 0 where all are equal."""
    width = float(np.ptp(values))
    scaled: FloatArray = (values - values.min()) / width if width > 0 else np.zeros(len(values))
    return scaled


def _select_names(x: FloatArray, y: FloatArray) -> NDArray[np.bool_]:
    """Return which points have a name that covers no earlier name; x and y are shares of the drawing."""
    has_name = np.zeros(len(x), bool)
    for i in range(len(x)):
        near = has_name & (np.abs(y - y[i]) < _NAME_HEIGHT) & (np.abs(x - x[i]) < _NAME_WIDTH)
        has_name[i] = not near.any()
    return has_name
