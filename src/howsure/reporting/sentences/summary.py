"""Verdicts and captions in words, made from the numbers; none says more than they do.

"Distinguishable" has one meaning on the page: the Holm-adjusted p-value over all pairs of the benchmark is below
1 - level. "Not distinguishable" is never "equal", and a pair whose error is unknown is "not testable".
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from howsure.reporting.sentences.formatting import (
    choose_decimals,
    format_count,
    format_level,
    format_number,
    is_or_are,
    join_names,
)
from howsure.stats.comparisons import Pairs
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import CLAIM_TEXTS
from howsure.stats.scores import Scores

#: Questions below which the page warns.
FEW_QUESTIONS = 30


def find_best_models(scores: Scores) -> list[str]:
    """The models that share the highest score; none where nothing was scored."""
    if np.all(np.isnan(scores.score)):
        return []
    top = np.nanmax(scores.score)
    return [m for m, s in zip(scores.models, scores.score.tolist(), strict=True) if s >= top - 1e-12]


def judge_pairs(pairs: Pairs) -> list[str]:
    """One word on each pair, in the order of its rows."""
    alpha = 1 - pairs.level
    return [
        "not testable" if math.isnan(p) else "distinguishable" if p < alpha else "not distinguishable"
        for p in pairs.p_holm.tolist()
    ]


def group_by_verdict(pairs: Pairs, reference: str) -> dict[str, list[str]]:
    """The other models by what can be said of them against the reference."""
    at = pairs.models.index(reference)
    sides: dict[str, list[str]] = {"above": [], "below": [], "open": [], "untestable": []}
    for a, b, difference, word in zip(
        pairs.a.tolist(), pairs.b.tolist(), pairs.difference.tolist(), judge_pairs(pairs), strict=True
    ):
        if at not in {a, b}:
            continue
        ahead = difference if a == at else -difference  # reference - other
        side = {"not testable": "untestable", "not distinguishable": "open"}.get(
            word, "below" if ahead > 0 else "above"
        )
        sides[side].append(pairs.models[b if a == at else a])
    return sides


def describe_verdict(scores: Scores, pairs: Pairs | None) -> str:
    """The answer in a sentence or two."""
    top = find_best_models(scores)
    if not top:
        return "No generation was scored, so there is nothing to compare."
    first, between, places = top[0], scores.interval(), choose_decimals(np.sqrt(scores.variance))
    i = scores.models.index(first)
    score = format_number(float(scores.score[i]), places)
    if math.isnan(between.low[i]):
        told = f"{score}, with an error that these data cannot tell"
    else:
        ends = f"{format_number(float(between.low[i]), places)} to {format_number(float(between.high[i]), places)}"
        told = f"{score} ({format_level(between.level)} interval {ends})"
    if pairs is None:
        return f"{first} scores {told}. The interval is for {CLAIM_TEXTS[scores.claim]}."
    opening = (
        f"{join_names(top)} share the highest score, {score}."
        if len(top) > 1
        else f"{first} has the highest score, {told}."
    )
    sides, others = group_by_verdict(pairs, first), len(scores.models) - 1
    them = "the other model" if others == 1 else f"the {others:,} others"
    who = "It" if len(top) == 1 else first
    parts = []
    if len(sides["below"]) == others:
        return f"{opening} {who} is distinguishable from {'' if others == 1 else 'each of '}{them}."
    if len(sides["open"]) == others:
        return (
            f"{opening} {who} is not distinguishable from {'' if others == 1 else 'any of '}{them} at this sample size."
        )
    if sides["below"]:
        parts.append(f"{who} is distinguishable from {len(sides['below']):,} of {them}")
    if sides["open"]:
        parts.append(
            f"{'it is ' if parts else f'{who} is '}not distinguishable at this sample size from "
            f"{join_names(sides['open'])}"
        )
    if sides["above"]:
        parts.append(f"on the questions both answered, {join_names(sides['above'])} did better")
    if sides["untestable"]:
        parts.append(f"no test was possible against {join_names(sides['untestable'])}")
    text = "; ".join(parts)
    return f"{opening} {text[0].upper()}{text[1:]}."


def collect_warnings(cells: Cells, *, has_prompt_section: bool = False) -> Iterator[str]:
    """What the numbers should be read with; `has_prompt_section`: the page has sections on prompt variants."""
    n, answered = cells.n, cells.answered
    scored = int(n.sum())
    active = np.flatnonzero(np.any(answered, axis=1))
    silent = [m for i, m in enumerate(cells.models) if i not in set(active.tolist())]
    if silent:
        yield f"No score at all: {join_names(silent)}."
    if cells.failed is not None and (failed := int(cells.failed.sum())):
        share = f"{failed / (failed + scored):.2%} of those asked"
        yield f"{format_count(failed, 'generation')} failed ({share}) and {is_or_are(failed)} left out, not scored 0."
    if cells.unparsed is not None and (unparsed := int(cells.unparsed.sum())):
        share = f"{unparsed / max(scored, 1):.2%} of those scored"
        yield (
            f"No answer could be read in {format_count(unparsed, 'generation')} ({share}); "
            f"{'it scores' if unparsed == 1 else 'they score'} 0."
        )
    absent = ~answered[active]
    if np.any(absent):
        yield (
            f"{format_count(int(np.sum(np.any(absent, axis=1))), 'model')} did not answer every question: "
            f"{np.mean(absent):.2%} of the scores of all models with any are missing. "
            "A score is over the questions that the model answered; a difference is over those that both did."
        )
    if scored and int(n.max()) == 1:
        yield "One generation per question: data and prediction noise cannot be told apart."
    elif single := [m for m, row in zip(cells.models, n, strict=True) if int(row.max(initial=0)) == 1]:
        yield (
            f"One generation per question for {join_names(single)}: data and prediction noise cannot be told apart "
            "there."
        )
    if len(cells.questions) < FEW_QUESTIONS:
        few = format_count(len(cells.questions), "question")
        yield f"Only {few}: intervals and tests lean on scores that are roughly normal over questions."
    if cells.clusters is not None:
        yield (
            f"Questions come in {format_count(len(set(cells.clusters)), 'cluster')}: intervals and tests are for new "
            "clusters; the parts of the noise, by question, are those of single questions."
        )
    if len(cells.variants) > 1:
        yield (
            f"Scores are averaged over {len(cells.variants):,} prompt variants; the noise of choosing these variants "
            f"is not in the errors{' of the scores; see Spread over prompts' if has_prompt_section else ''}."
        )
