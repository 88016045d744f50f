"""Section of the page on the checkpoints of a training run: the score of each, and what changed."""

from __future__ import annotations

import numpy as np

from howsure.reporting.charts import (
    BLUE,
    GREY,
    ORANGE,
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
from howsure.reporting.elements import ElementBuilder, Section
from howsure.reporting.formatting import (
    format_count,
    format_level,
    format_number,
    format_p_value,
    is_or_are,
    join_names,
)
from howsure.stats.comparisons import Curve, curve, find_training_runs, read_positions
from howsure.stats.core.cells import Cells
from howsure.stats.core.text_table import choose_decimals

#: Largest number of training runs with a figure.
_MAX_RUNS = 4
#: Kinds of changes since the checkpoint before; short, for a legend in a narrow column.
_KINDS = ("first, or no change shown", "rise beyond sampling noise", "fall beyond sampling noise")
#: Where half of the checkpoints are below this share of the last position, the axis is logarithmic.
_CROWDED = 0.1


def build_training_section(cells: Cells, builder: ElementBuilder, *, level: float) -> Section | None:
    """Build the section on training runs; None where no models are checkpoints of one run."""
    runs = find_training_runs(cells.models)
    if not runs:
        return None
    figures = []
    for i, names in enumerate(runs[:_MAX_RUNS], 1):
        result = curve(cells, names, level=level)
        builder.add_table(f"curve-{i}", result.columns())
        figures.append(
            builder.build_figure(
                f"curve-{i}",
                describe_curve(result),
                draw_curve(result),
                table=f"curve-{i}",
                marks=4 * len(names),
                figure="curve",
                which="" if len(runs) == 1 else f" From {names[0]} to {names[-1]}",
            )
        )
    lead = "Models whose names differ in one number, behind a word such as step, are read as checkpoints of one run."
    if len(runs) > _MAX_RUNS:
        lead += f" Drawn for the first {_MAX_RUNS} of {len(runs):,} runs."
    return Section("training-part", "Checkpoints of a training run", "Checkpoints", lead, tuple(figures), ())


def describe_curve(result: Curve) -> str:
    """Describe the intervals, which changes are beyond the noise of sampling, and which checkpoints differ."""
    table, alpha = result.columns(), 1 - result.level
    has_bands = [bool(np.any(~np.isnan(table[name]))) for name in ("low", "low_prediction")]
    text = "A point is the score of a checkpoint"
    if has_bands[0]:
        text += f", its thin line the {format_level(result.level)} interval for other questions like these"
    if has_bands[1]:
        text += f"{' and' if has_bands[0] else ','} its thick line the one for these questions asked again"
    return ". ".join([text, _describe_changes(result, alpha), _describe_differences(result, alpha)])


def _describe_changes(result: Curve, alpha: float) -> str:
    """Return which changes from a checkpoint to the next one are beyond the noise of sampling."""
    table = result.columns()
    p, change = table["p_change"], table["change"]
    is_known = ~np.isnan(p)
    n = int(is_known.sum())
    if not n:
        have_common = any(step.n_questions[0] > 0 for step in result.steps)
        several = "a test takes several generations per question of both checkpoints"
        reason = several if have_common else "neighbours have no question in common"
        return f"Whether a change is beyond the noise of sampling is unknown, because {reason}"
    among = f"{format_count(n, 'change')} from a checkpoint to the next"
    if n < len(result.steps):
        among += " that can be tested"
    names = np.array(result.checkpoints, dtype=object)
    rises, falls = (names[is_known & (p < alpha) & (sign * change > 0)].tolist() for sign in (1, -1))
    test = "beyond the noise of sampling these questions"
    if not rises and not falls:
        smallest = format_p_value(float(np.nanmin(p)))
        adjusted = ", adjusted by Holm" if n > 1 else ""
        return f"None of {among} is {test} (smallest p{adjusted}: {smallest})"
    count = len(rises) + len(falls)
    where = [f"{what} at {join_names(each)}" for what, each in (("rises", rises), ("falls", falls)) if each]
    adjusted = ", adjusted by Holm" if n > 1 else ""
    below = f"p below {alpha:.2g}{adjusted}; orange"
    return f"{count:,} of {among} {is_or_are(count)} {test} ({below}): {', '.join(where)}"


def _describe_differences(result: Curve, alpha: float) -> str:
    """Return which checkpoints differ from the reference on questions like these, and which one scores highest."""
    table, names = result.columns(), result.checkpoints
    p, difference, score = table["p_holm"], table["difference"], table["score"]
    reference = names[result.reference]
    is_known = ~np.isnan(p)
    n = int(is_known.sum())
    if not n:
        return f"No difference to {reference} can be tested."
    lower, higher = (int(np.sum(is_known & (p < alpha) & (sign * difference > 0))) for sign in (-1, 1))
    distinct = lower + higher
    others = "other checkpoint" if n == 1 else "other checkpoints"
    to = f"{reference} ({'the last one, ' if result.reference == len(names) - 1 else ''}dotted line)"
    count = f"{distinct:,}" if distinct else "none"
    text = f"On other questions like these, {count} of {n:,} {others} can be told apart"
    text += f" from {to}"
    text += f": {lower:,} lower, {higher:,} higher. " if distinct else ". "
    if 0 < distinct < n:
        rest = "one" if n - distinct == 1 else f"{n - distinct:,}"
        text += f"For the other {rest} no difference is shown, which does not mean that there is none. "
    best = [i for i in range(len(names)) if score[i] == np.nanmax(score)]
    places = choose_decimals(np.sqrt(result.total.variance))
    value = format_number(float(score[best[0]]), places)
    if result.reference in best:
        shared = [names[i] for i in best if i != result.reference]
        beside = f" together with {join_names(shared)}" if shared else ""
        return f"{text}The highest score, {value}, is that of {reference}{beside}."
    whose = join_names([names[i] for i in best])
    if all(is_known[i] and p[i] < alpha for i in best):
        return f"{text}The highest score, {value}, is that of {whose}."
    return (
        f"{text}The highest score, {value}, is that of {whose}, which cannot be told apart from {reference}: the "
        "highest of several such scores is too high on average."
    )


def draw_curve(result: Curve) -> Chart:
    """Draw the score of each checkpoint with its intervals over its position, and mark what changed."""
    table, alpha = result.columns(), 1 - result.level
    positions = read_positions(result.checkpoints)
    is_beyond = np.nan_to_num(table["p_change"], nan=1.0) < alpha
    kind = np.select([is_beyond & (table["change"] > 0), is_beyond & (table["change"] < 0)], _KINDS[1:], _KINDS[0])
    names = ("score", "low", "high", "low_prediction", "high_prediction", "difference", "p_holm", "change", "p_change")
    data = columns_of(
        model=list(result.checkpoints),
        position=positions,
        kind=kind.tolist(),
        **{name: table[name] for name in names},
    )
    is_crowded = positions[0] > 0 and float(np.median(positions)) < _CROWDED * positions[-1]
    are_numbers = not np.array_equal(positions, np.arange(1.0, len(positions) + 1))
    title = "Number in the name" if are_numbers else "Checkpoints in their order"
    few = {"values": positions.tolist()} if len(positions) <= 6 and not is_crowded else {}
    axis = {"tickCount": 6, "format": "~s" if are_numbers else "d", "labelOverlap": True, "grid": not is_crowded, **few}
    scale = {"type": "log" if is_crowded else "linear", "zero": False, "nice": False, "padding": 12}
    x = across("position", f"{title} (log scale)" if is_crowded else title, axis=axis, scale=scale)
    scale = scale_without_zero(np.concatenate([table[name] for name in names[:5]]), padding=8)
    y, low, low_again, level_of_reference = (
        number(name, title="Score", scale=scale) for name in ("score", "low", "low_prediction", "reference")
    )
    tips = tooltips(model="Checkpoint", score="Score", low="Low", high="High", low_prediction="Low, asked again")
    tips += tooltips(high_prediction="High, asked again", difference="Less the reference")
    tips += tooltips(p_holm="p, difference (Holm)", change="Since the one before", p_change="p, change (Holm)")
    has_changes = bool(is_beyond.any())
    style = style_values(
        "kind",
        _KINDS,
        least=0 if has_changes else 9,
        color=(BLUE, ORANGE, ORANGE),
        shape=("circle", "triangle-up", "triangle-down"),
    )
    thick = {"strokeWidth": 5, "color": BLUE, "opacity": 0.45}
    return finish_chart(
        draw(
            {"reference": [float(table["score"][result.reference])]},
            "rule",
            {"strokeWidth": 1, "strokeDash": [2, 3], "color": GREY},
            y=level_of_reference,
        ),
        draw(data, "line", {"strokeWidth": 1.5, "color": GREY}, x=x, y=y),
        draw(data, "rule", {"strokeWidth": 1.5, "color": BLUE}, x=x, y=low, y2="high", tooltip=tips),
        draw(data, "rule", thick, x=x, y=low_again, y2="high_prediction", tooltip=tips),
        draw(data, "point", {"filled": True, "size": 70, "opacity": 1}, x=x, y=y, tooltip=tips, **style),
        height=280,
        legend=_KINDS if has_changes else (),
    )
