"""What more generations would buy, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from howsure.reporting.sentences.formatting import choose_decimals, format_count, format_level, format_number
from howsure.stats.planning import StudyDesign
from howsure.stats.repeats import Convergence


def describe_run_ranges(found: Convergence, greedy: Mapping[str, float], ends: Mapping[str, int]) -> str:
    """How far runs of one generation and of all of them are apart for one model, and what greedy decoding scores.

    `ends` has the generations of each model that there are; nothing is said of more.
    """
    model = found.models[0]
    places = choose_decimals(found.se[0])
    k = ends[model]
    at = [0, found.k.tolist().index(k)]
    spans = [
        f"{format_number(float(found.low[0, i]), places)} to {format_number(float(found.high[0, i]), places)}"
        for i in at
    ]
    widths = [float(found.width[0, i]) for i in at]
    text = (
        f"On these questions, {format_level(found.level)} of the runs of {model} with one generation per question "
        "score "
        f"from {spans[0]}, with {k:,} from {spans[1]} (inner band)."
    )
    if not math.isnan(sum(widths)):
        mostly = ": what is left is mostly data noise" if found.mostly_data(model, k) else ""
        text += (
            f" The interval for new questions (outer band) goes from a width of {format_number(widths[0], places)} to "
            "one of "
            f"{format_number(widths[1], places)}{mostly}."
        )
    text += " Both bands are computed from the variances within and between questions."
    for name, score in greedy.items():
        i = found.models.index(name)
        side = "above" if score > found.high[i, 0] else "below" if score < found.low[i, 0] else "within"
        text += (
            f" Greedy decoding of {name} scores {format_number(score, places)}, {side} the range of runs with one "
            "sampled "
            "generation per question."
        )
    return text


def describe_standard_errors(
    model: str,
    n_generations: float,
    *,
    has_point: bool,
    errors: tuple[float, float, float],
    sufficient: int | None,
    several: bool,
) -> str:
    """Describe the standard error of a model with one generation, with those of the data, and with any number.

    Parameters
    ----------
    n_generations
        Generations per question in the data.
    has_point
        Whether the figure has a point there.
    errors
        Standard errors with one, with `n_generations` and with infinitely many generations.
    sufficient
        Fewest generations with an error within a tenth of the last; None if more than a thousand.
    several
        Whether generations are per prompt and errors are for new prompts.
    """
    places = choose_decimals(np.array(errors)) + 1  # the last two differ little
    one, now, least = (format_number(value, places) for value in errors)
    each = "per question and prompt" if several else "per question"
    text = f"{model} has a standard error of {one} with one generation {each}"
    if not math.isclose(n_generations, 1):
        count = (
            f"{n_generations:,.0f}"
            if n_generations >= 100 or n_generations == int(n_generations)
            else f"{n_generations:.3g}"
        )
        text += f", {now} with {count}{' (the point)' if has_point else ''}"
    if errors[2] > 0:
        text += (
            f" and {least} with any number of them: only more questions{' and prompts' if several else ''} go below. "
        )
    else:
        text += ", and nothing else was seen that generations could not take out. "
    if sufficient is not None and errors[2] > 0:
        text += (
            f"{format_count(sufficient, 'generation')} {'comes' if sufficient == 1 else 'come'} within a tenth of that."
        )
    elif errors[2] > 0:
        text += "It takes more than a thousand to come within a tenth of that."
    if several:
        text += " The errors are for new questions in new prompts."
    return text.rstrip()


def describe_frontier(designs: Mapping[str, Sequence[StudyDesign]], unit: str, here: tuple[float, float]) -> str:
    """What the money that was spent could have bought, and which kind of design is the better one."""
    spent, se = here
    paid = {"calls": f"{spent:,.0f} calls", "tokens": f"{spent:,.0f} tokens", "cost": f"a cost of {spent:,.4g}"}[unit]
    at_most = {
        kind: max((d for d in each if getattr(d, unit) <= spent * (1 + 1e-9)), key=lambda d: -d.se, default=None)
        for kind, each in designs.items()
    }
    text = f"This run took {paid} for a standard error of {se:.2g} (cross). For as much, the best is "
    if len({d and _design(d) for d in at_most.values()}) == 1:
        at_most = {"either kind of design": next(iter(at_most.values()))}
    told = [f"{d.se:.2g} with {kind} ({_design(d)})" for kind, d in at_most.items() if d is not None]
    if not told:
        return f"This run took {paid} for a standard error of {se:.2g} (cross); no design of 30 questions is cheaper."
    return (
        text
        + ", and ".join(told)
        + ". Each point is the best design for its budget, in whole numbers of at least 30 questions if there are so "
        "many."
    )


def _design(design: StudyDesign) -> str:
    parts = [format_count(design.n_questions, "question")]
    if design.n_variants > 1:
        parts.append(format_count(design.n_variants, "prompt"))
    return " × ".join([*parts, format_count(design.n_generations, "generation")])
