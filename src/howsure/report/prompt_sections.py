"""What the page shows of prompt variants: components and effects, the spread, and how many prompts are enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from howsure.report.figure import Figure, Listing, Sheet
from howsure.report.prompt_numbers import SWAPPED, Prompts
from howsure.report.sentences import decimals, number, parser, percent, prompts, share
from howsure.stats.core.results import Columns
from howsure.stats.prompts import MOMENTS, Effects, RankFlips, UnparsedEffect

__all__ = ["enough_section", "noise_section", "spread_section"]

#: Models with a row of components, pairs with a row of swaps, values with a row of unread answers, at most.
_SOURCES, _PAIRS, _VALUES = 20, 12, 40


def noise_section(numbers: Prompts, sheet: Sheet) -> Iterator[Figure]:
    """The four components, and a figure for each dimension, from the one that explains most."""
    from howsure.report import charts

    found = numbers.variants.components
    known = [model for model in numbers.order if not np.isnan(found.residual[numbers.cube.index(model)])]
    if known:
        sheet.table("components", found.columns())
        shown = known[:_SOURCES]
        caption = prompts.sources(found)
        if len(shown) < len(known):
            caption += f" Drawn for the first {len(shown)} of {len(known):,} models; the numbers are over all."
        yield sheet.figure(
            "sources",
            "How much comes from the prompt, the question, and sampling again?",
            caption,
            charts.sources(found, shown),
            looks="Points with intervals, four for each model",
            table="components",
            marks=8 * len(shown),
        )
    if not numbers.scored:
        return
    e = numbers.effects
    if not numbers.told:
        return
    sheet.table("effects", _effect_rows(numbers))
    shown = numbers.spaced(charts.TOLD_APART)
    rows = [e.models.index(model) for model in shown]
    reach = _reach(e, rows)
    for place, name in enumerate(numbers.told, 1):
        at = [i for i, of in enumerate(e.dimensions) if of == name]
        drawn = [i for i in at if not np.all(np.isnan(e.effect[rows, i]))]
        if not drawn:
            continue
        drawn.sort(key=lambda i: -float(np.nanmean(e.effect[rows, i])))
        yield sheet.figure(
            f"effect-{place}",
            f"Which values of {name} score higher?",
            prompts.effects(e, name, len(shown), numbers.unread) + _cut(e, rows, drawn, reach),
            charts.effects(e, name, shown, [e.values[i] for i in drawn], reach=reach),
            looks=f"Points with intervals, one row for each value of {name}",
            table="effects",
            marks=3 * len(drawn) * len(shown),
        )


def _effect_rows(numbers: Prompts) -> Columns:
    columns = numbers.effects.columns()
    columns["share_of_variance"] = columns.pop("share")
    return columns


def _reach(e: Effects, rows: Sequence[int]) -> float:
    """Three times the largest effect, or the farthest interval, whichever is nearer."""
    between = e.interval()
    effect = float(np.nanmax(np.abs(e.effect[rows]), initial=0))
    ends = np.abs(np.stack([between.low[rows], between.high[rows]]))
    return max(min(3 * effect, float(np.nanmax(ends, initial=effect))), 1e-6) * 1.03


def _cut(e: Effects, rows: Sequence[int], drawn: Sequence[int], reach: float) -> str:
    between = e.interval()
    place = np.ix_(rows, drawn)
    beyond = (between.high[place] > reach) | (between.low[place] < -reach)
    return " Intervals that reach the edge of the figure are cut there." if beyond.any() else ""


def spread_section(numbers: Prompts, sheet: Sheet) -> Iterator[Figure | Listing]:
    """Box plots, swaps of the closest pairs, and the answers that could not be read."""
    from howsure.report import charts

    scored = numbers.scored
    if not scored:
        return
    found, missed = numbers.variants, numbers.unread
    sheet.table("variants", _variant_rows(numbers))
    most = max(charts.MARKS // len(numbers.cube.drawn.variants), 1)
    shown = scored[: min(SWAPPED, most)]
    yield sheet.figure(
        "spread",
        "How far does the score depend on the prompt?",
        prompts.spread(found, len(shown) + len(numbers.cube.models) - len(scored), missed),
        charts.spread(found, shown),
        looks="Box plots with points, one row for each model and a point for each prompt",
        table="variants",
        marks=len(shown) * len(numbers.cube.drawn.variants),
    )
    if missed is not None and missed.counts.any():
        yield from _unread(numbers, missed, sheet)
    if len(scored) > 1:
        yield _swaps(numbers.swaps, sheet)


def _variant_rows(numbers: Prompts) -> Columns:
    """One row per model and variant, the default prompt too: score, unread share and the values of the variant."""
    cube, x = numbers.cube, numbers.variants.every
    M, S = x.shape
    columns: Columns = {
        "model": np.repeat(np.array(cube.models, dtype=object), S),
        "variant": np.tile(np.array(cube.variants, dtype=object), M),
        "default": np.tile([s == cube.default for s in range(S)], M),
        "score": x.ravel(),
        "n_questions": np.sum(cube.n > 0, axis=1).ravel(),
        "n_generations": cube.n.sum(axis=1).ravel(),
    }
    if numbers.unread is not None:
        columns["unparsed"] = numbers.unread.share.ravel()
    for name, values in cube.values.items():
        columns[f"value_of_{name}"] = np.tile(np.array(values, dtype=object), M)
    return columns


def _unread(numbers: Prompts, missed: UnparsedEffect, sheet: Sheet) -> Iterator[Figure]:
    from howsure.report import charts

    shown = numbers.spaced(charts.TOLD_APART)
    worst = numbers.cube.models[int(np.nanargmax(np.nan_to_num(missed.share).max(axis=1)))]
    if worst not in shown:
        shown = [*shown[:-1], worst]
    yield sheet.figure(
        "unparsed",
        "Is it the prompt, or the parser?",
        parser.verdict(missed) + prompts.shown_of(len(shown), len(numbers.cube.models)),
        charts.unparsed(missed, shown),
        looks="Scatter plot, a point for each model and prompt",
        table="variants",
        marks=len(shown) * len(numbers.cube.variants),
    )
    values = missed.values
    if np.any(values.pooled > 0):
        sheet.table("unparsed-values", values.columns())
        order = values.order[:_VALUES]
        yield sheet.figure(
            "unparsed-values",
            "With which values can answers not be read?",
            parser.values(missed, len(order)),
            charts.unparsed_values(values, order),
            looks="Points, one row for each value of a dimension",
            table="unparsed-values",
            marks=len(order) * (len(values.models) + 1),
        )


def _swaps(found: RankFlips, sheet: Sheet) -> Listing:
    sheet.table("swaps", found.columns())
    closest = np.argsort(np.where(found.n_variants > 0, np.abs(found.difference), np.inf), kind="stable")[:_PAIRS]
    order = closest.tolist()
    places = min(decimals(np.abs(found.difference[closest])), 4)
    pairs = [(found.models_a[i], found.models_b[i])[:: -1 if found.difference[i] < 0 else 1] for i in order]
    rows = {
        "Model": [better for better, _ in pairs],
        "Other model": [other for _, other in pairs],
        "Difference": [number(float(abs(found.difference[i])), places, sign=True) for i in order],
        "Flipped, seen": [share(float(found.swapped[i])) for i in order],
        "By noise alone": [share(float(found.by_noise[i])) for i in order],
        "Flipped, true": [share(float(found.true[i])) for i in order],
        f"{percent(found.level)} interval": [
            "–"
            if np.isnan(found.true_low[i])
            else f"{share(float(found.true_low[i]))} to {share(float(found.true_high[i]))}"
            for i in order
        ],
    }
    return sheet.listing(
        "swaps",
        "Under how many prompts does the order of two models flip?",
        prompts.swaps(found, len(order)),
        rows,
        text=2,
        table="swaps",
    )


def enough_section(numbers: Prompts, sheet: Sheet) -> Iterator[Figure | Listing]:
    """Convergence of both moments, and n*."""
    from howsure.report import charts

    if not numbers.scored:
        return
    found = numbers.variants.enough
    shown = numbers.spaced(charts.TOLD_APART)
    for moment in MOMENTS:
        yield sheet.figure(
            f"convergence-{moment}",
            f"How many prompts until the {moment} is near that over all?",
            prompts.convergence(found, moment, len(shown)),
            charts.convergence(found, moment, shown),
            looks="Curves that fall to 0, one for each model, with a line at epsilon",
            marks=len(numbers.cube.drawn.variants) * len(shown),
        )
    sheet.table("enough", found.columns())
    low, high = found.space_limits(numbers.level)
    at = [found.models.index(model) for model in numbers.scored[:SWAPPED]]
    count = prompts.count
    rows = {"Model": [found.models[i] for i in at], "Prompts": [f"{int(found.n_variants[i]):,}" for i in at]}
    for j, moment in enumerate(MOMENTS):
        # as the command `variants` prints it
        rows[f"n*, {moment}"] = [
            count(found.n_star[i, j]) if found.reached[i, j] or np.isnan(found.n_star[i, j]) else "not reached"
            for i in at
        ]
        rows[f"Space, {moment}"] = [prompts.between(found.n_star_space[i, j], low[i, j], high[i, j]) for i in at]
        rows[f"Noise-free, {moment}"] = [
            prompts.between(found.n_star_space_corrected[i, j], found.corrected_low[i, j], found.corrected_high[i, j])
            for i in at
        ]
    caption = prompts.enough(found, numbers.level)
    yield sheet.listing("enough", "How many prompts are enough?", caption, rows, text=1, table="enough")
