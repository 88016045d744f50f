"""Section of the page on what a generation of each model cost, beside its score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from howsure.reporting.charts.scores import draw_costs
from howsure.reporting.elements import ElementBuilder, Section, TextTable
from howsure.reporting.formatting import (
    format_count,
    format_level,
    format_number,
    format_significant,
    is_or_are,
    join_names,
)
from howsure.reporting.sections.score_table import MAX_MODELS
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
    """Build the section on costs and scores.

    Parameters
    ----------
    result
        Scores beside costs; None where no use of a model is recorded.
    order
        Models in the order of the page.
    builder
        Collects the figure and the table.
    """
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
        "Who is better for less?",
        describe_costs(result, drawn[:MAX_MODELS]),
        draw_costs(result, drawn[:MAX_MODELS]),
        kind="Points with intervals: score against the cost of a generation",
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
    if not_drawn := len(result.models) - unknown - unscored - len(rows):
        text += f" Drawn for {len(rows):,} of {len(rows) + not_drawn:,} models."
    return text


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
        "Score": [format_number(float(result.score[i]), places) for i in at],
        f"{format_level(result.level)} interval": [
            "–"
            if np.isnan(result.low[i])
            else f"{format_number(float(result.low[i]), places)} to {format_number(float(result.high[i]), places)}"
            for i in at
        ],
    }
    caption = "The models that cost no more than a model and score clearly higher stand beside it."
    return builder.build_text_table(
        "cost-table", "What did a generation cost?", caption, rows, text_columns=2, table="costs"
    )
