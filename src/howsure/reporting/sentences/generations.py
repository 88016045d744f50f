"""Captions of the figures on more generations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from howsure.reporting.sentences.formatting import choose_decimals, format_count, format_level, format_number
from howsure.stats.planning import StudyDesign
from howsure.stats.repeats import Convergence


def describe_run_ranges(ranges: Convergence, greedy: Mapping[str, float], ends: Mapping[str, int]) -> str:
    """Describe the ranges of runs with one and with all generations for one model, and greedy scores.

    `ends` contains the number of generations of each model in the data.
    """
    model = ranges.models[0]
    places = choose_decimals(ranges.se[0])
    k = ends[model]
    columns = [0, ranges.k.tolist().index(k)]
    spans = [
        f"{format_number(float(ranges.low[0, i]), places)} to {format_number(float(ranges.high[0, i]), places)}"
        for i in columns
    ]
    widths = [float(ranges.width[0, i]) for i in columns]
    text = (
        f"On these questions, {format_level(ranges.level)} of the runs of {model} with one generation per question "
        "score "
        f"from {spans[0]}, with {k:,} from {spans[1]} (inner band)."
    )
    if not math.isnan(sum(widths)):
        mostly = ": the rest is mostly data noise" if ranges.mostly_data(model, k) else ""
        text += (
            f" The interval for new questions (outer band) goes from a width of {format_number(widths[0], places)} to "
            "one of "
            f"{format_number(widths[1], places)}{mostly}."
        )
    text += " Both bands are computed from the variances within and between questions."
    for name, score in greedy.items():
        i = ranges.models.index(name)
        side = "above" if score > ranges.high[i, 0] else "below" if score < ranges.low[i, 0] else "within"
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
        text += ", and no noise remains that generations could not remove. "
    if sufficient is not None and errors[2] > 0:
        text += (
            f"{format_count(sufficient, 'generation')} {'comes' if sufficient == 1 else 'come'} within a tenth of that."
        )
    elif errors[2] > 0:
        text += "It takes more than a thousand to come within a tenth of that."
    if several:
        text += " The errors are for new questions in new prompts."
    return text.rstrip()


def describe_frontier(designs: Mapping[str, Sequence[StudyDesign]], unit: str, run: tuple[float, float]) -> str:
    """Describe the best design at the cost of the run, for each kind of design."""
    spent, se = run
    cost_text = {"calls": f"{spent:,.0f} calls", "tokens": f"{spent:,.0f} tokens", "cost": f"a cost of {spent:,.4g}"}[
        unit
    ]
    at_most = {
        kind: max((d for d in each if getattr(d, unit) <= spent * (1 + 1e-9)), key=lambda d: -d.se, default=None)
        for kind, each in designs.items()
    }
    text = f"This run took {cost_text} for a standard error of {se:.2g} (cross). For as much, the best is "
    if len({d and _format_design(d) for d in at_most.values()}) == 1:
        at_most = {"either kind of design": next(iter(at_most.values()))}
    texts = [f"{d.se:.2g} with {kind} ({_format_design(d)})" for kind, d in at_most.items() if d is not None]
    if not texts:
        return (
            f"This run took {cost_text} for a standard error of {se:.2g} (cross); no design of 30 questions is cheaper."
        )
    return (
        text
        + ", and ".join(texts)
        + ". Each point is the best design for its budget, in whole numbers of at least 30 questions if there are so "
        "many."
    )


def _format_design(design: StudyDesign) -> str:
    """Return a design in words."""
    parts = [format_count(design.n_questions, "question")]
    if design.n_variants > 1:
        parts.append(format_count(design.n_variants, "prompt"))
    return " × ".join([*parts, format_count(design.n_generations, "generation")])
