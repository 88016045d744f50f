"""Verdicts and captions in words, made from the numbers; none says more than they do.

"Distinguishable" has one meaning on the page: the Holm-adjusted p-value over all pairs of the benchmark is below
1 - level. "Not distinguishable" is never "equal", and a pair whose error is unknown is "not testable".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from errorbar.stats.cells import Cells, FloatArray
from errorbar.stats.components import CLAIMS, Scores
from errorbar.stats.pairs import POWER, Pairs

__all__ = [
    "FEW",
    "best",
    "components",
    "decimals",
    "difficulty",
    "distributions",
    "forest",
    "listed",
    "matrix",
    "number",
    "pair_errors",
    "plural",
    "verdict",
    "verdicts",
    "warnings",
]


#: Questions below which the page warns.
FEW = 30


def decimals(se: FloatArray) -> int:
    """Decimals that show two significant digits of a typical standard error.

    >>> decimals(np.array([0.012, 0.02])), decimals(np.array([float("nan")])), decimals(np.array([31.0]))
    (3, 3, 0)
    """
    known = se[np.isfinite(se) & (se > 0)]
    return 3 if len(known) == 0 else min(max(1 - math.floor(math.log10(np.median(known))), 0), 6)


def number(value: float, places: int, *, sign: bool = False) -> str:
    """Rounded, with a true minus; an en dash where it is unknown.

    >>> number(-0.0312, 3), number(0.02, 2, sign=True), number(float("nan"), 2), number(-0.0001, 2)
    ('−0.031', '+0.02', '–', '0.00')
    """
    if math.isnan(value):
        return "–"
    text = f"{value:{'+' if sign else ''},.{places}f}"
    if not any(c in "123456789" for c in text):
        text = text.lstrip("+-")
    return text.replace("-", "−")


def plural(count: int, one: str, many: str | None = None) -> str:
    """A count and its noun.

    >>> plural(1, "question"), plural(1136, "question")
    ('1 question', '1,136 questions')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(names: Sequence[str], most: int = 4) -> str:
    """Names in a sentence.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"], most=2)
    ('a', 'a and b', 'a, b and 1 more')
    """
    if len(names) <= 1:
        return "".join(names)
    shown, rest = (names, 0) if len(names) <= most else (names[:most], len(names) - most)
    if rest:
        return f"{', '.join(shown)} and {rest:,} more"
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _percent(level: float) -> str:
    return f"{100 * level:g}%"


def best(scores: Scores) -> list[str]:
    """The models that share the highest score; none where nothing was scored."""
    if np.all(np.isnan(scores.score)):
        return []
    top = np.nanmax(scores.score)
    return [m for m, s in zip(scores.models, scores.score.tolist(), strict=True) if s >= top - 1e-12]


def verdicts(pairs: Pairs) -> list[str]:
    """One word on each pair, in the order of its rows."""
    alpha = 1 - pairs.level
    return [
        "not testable" if math.isnan(p) else "distinguishable" if p < alpha else "not distinguishable"
        for p in pairs.p_holm.tolist()
    ]


def _against(pairs: Pairs, reference: str) -> dict[str, list[str]]:
    """The other models by what can be said of them against the reference."""
    at = pairs.models.index(reference)
    sides: dict[str, list[str]] = {"above": [], "below": [], "open": [], "untestable": []}
    for a, b, difference, word in zip(
        pairs.a.tolist(), pairs.b.tolist(), pairs.difference.tolist(), verdicts(pairs), strict=True
    ):
        if at not in {a, b}:
            continue
        ahead = difference if a == at else -difference  # reference - other
        side = {"not testable": "untestable", "not distinguishable": "open"}.get(
            word, "below" if ahead > 0 else "above"
        )
        sides[side].append(pairs.models[b if a == at else a])
    return sides


def verdict(scores: Scores, pairs: Pairs | None) -> str:
    """The answer in a sentence or two."""
    top = best(scores)
    if not top:
        return "No generation was scored, so there is nothing to compare."
    first, between, places = top[0], scores.interval(), decimals(np.sqrt(scores.variance))
    i = scores.models.index(first)
    score = number(float(scores.score[i]), places)
    if math.isnan(between.low[i]):
        told = f"{score}, with an error that these data cannot tell"
    else:
        ends = f"{number(float(between.low[i]), places)} to {number(float(between.high[i]), places)}"
        told = f"{score} ({_percent(between.level)} interval {ends})"
    if pairs is None:
        return f"{first} scores {told}. The interval is for {CLAIMS[scores.claim]}."
    opening = (
        f"{listed(top)} share the highest score, {score}."
        if len(top) > 1
        else f"{first} has the highest score, {told}."
    )
    sides, others = _against(pairs, first), len(scores.models) - 1
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
            f"{'it is ' if parts else f'{who} is '}not distinguishable at this sample size from {listed(sides['open'])}"
        )
    if sides["above"]:
        parts.append(f"on the questions both answered, {listed(sides['above'])} did better")
    if sides["untestable"]:
        parts.append(f"no test was possible against {listed(sides['untestable'])}")
    text = "; ".join(parts)
    return f"{opening} {text[0].upper()}{text[1:]}."


def warnings(cells: Cells) -> Iterator[str]:
    """What the numbers should be read with."""
    n, answered = cells.n, cells.answered
    scored = int(n.sum())
    active = np.flatnonzero(np.any(answered, axis=1))
    silent = [m for i, m in enumerate(cells.models) if i not in set(active.tolist())]
    if silent:
        yield f"No score at all: {listed(silent)}."
    if cells.failed is not None and (failed := int(cells.failed.sum())):
        share = f"{failed / (failed + scored):.2%} of those asked"
        yield f"{plural(failed, 'generation')} failed ({share}) and {_are(failed)} left out, not scored 0."
    if cells.unparsed is not None and (unparsed := int(cells.unparsed.sum())):
        share = f"{unparsed / max(scored, 1):.2%} of those scored"
        yield (
            f"No answer could be read in {plural(unparsed, 'generation')} ({share}); "
            f"{'it scores' if unparsed == 1 else 'they score'} 0."
        )
    absent = ~answered[active]
    if np.any(absent):
        yield (
            f"{plural(int(np.sum(np.any(absent, axis=1))), 'model')} did not answer every question: "
            f"{np.mean(absent):.2%} of the scores of all models with any are missing. "
            "A score is over the questions that the model answered; a difference is over those that both did."
        )
    if scored and int(n.max()) == 1:
        yield "One generation per question: data and prediction noise cannot be told apart."
    elif single := [m for m, row in zip(cells.models, n, strict=True) if int(row.max(initial=0)) == 1]:
        yield f"One generation per question for {listed(single)}: data and prediction noise cannot be told apart there."
    if len(cells.questions) < FEW:
        few = plural(len(cells.questions), "question")
        yield f"Only {few}: intervals and tests lean on scores that are roughly normal over questions."
    if len(cells.variants) > 1:
        yield (
            f"Scores are averaged over {len(cells.variants):,} prompt variants; the noise of choosing these variants "
            "is not in the errors."
        )


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def forest(pairs: Pairs, reference: str) -> str:
    """What the differences to the reference say."""
    sides = _against(pairs, reference)
    parts = [
        f"{plural(len(names), 'model')} {phrase if len(names) > 1 else single}"
        for names, phrase, single in (
            (sides["below"], "are distinguishably below it", "is distinguishably below it"),
            (sides["above"], "are distinguishably above it", "is distinguishably above it"),
            (
                sides["open"],
                "are not distinguishable from it at this sample size",
                "is not distinguishable from it at this sample size",
            ),
            (sides["untestable"], "cannot be tested against it", "cannot be tested against it"),
        )
        if names
    ]
    at = pairs.models.index(reference)
    detectable = pairs.detectable[(pairs.a == at) | (pairs.b == at)]
    detectable = detectable[detectable > 0]
    found = (
        f" Against it, a true difference of about {np.median(detectable):.2g} (median over pairs) would be found with "
        f"{POWER:.0%} power by a single test at level {_percent(pairs.level)}."
        if len(detectable)
        else ""
    )
    return (
        f"Compared with {reference}: {'; '.join(parts)}.{found} "
        f"Bars are {_percent(pairs.level)} intervals of single differences; verdicts are adjusted for all pairs (Holm)."
    )


def matrix(pairs: Pairs, shown: int) -> str:
    """How many pairs are decided."""
    words = verdicts(pairs)
    decided, silent = words.count("distinguishable"), words.count("not testable")
    text = f"{decided:,} of {plural(len(words), 'pair')} {_are(decided)} distinguishable, adjusted for all pairs (Holm)"
    text += f"; {silent:,} cannot be tested." if silent else "."
    text += " Blue: the row's model scores higher; orange: lower; a grey dot: not distinguishable or not testable."
    if shown < len(pairs.models):
        text += f" Drawn for the first {shown} of {len(pairs.models):,} models; the counts are over all."
    return text


def pair_errors(pairs: Pairs, *, binary: bool, every: int = 1) -> str:
    """How large the standard errors of differences are, and whether pairing helps."""
    se = np.sqrt(pairs.total / np.where(pairs.n_questions > 0, pairs.n_questions, np.nan))
    known = se[~np.isnan(se)]
    if len(known) == 0:
        return "No two models have a question in common."
    text = f"With one generation per question the median standard error of a difference is {np.median(known):.2g}."
    correlation = pairs.correlation[np.isfinite(pairs.correlation)]
    if len(correlation):
        helped = int(np.sum(correlation > 0))
        text += (
            f" In {helped:,} of {plural(len(correlation), 'pair')} the two models' scores go together over questions: "
            "there, pairing makes the difference surer than two separate sets of questions would."
        )
    if binary and len(np.unique(pairs.n_questions)) > 1:
        text += " Pairs have different numbers of common questions; the curves are drawn for the median number."
    if every > 1:
        text += f" Drawn for every {every}{'nd' if every == 2 else 'rd' if every == 3 else 'th'} pair."
    return text


def components(scores: Scores, shown: int) -> str:
    """Which noise is larger, for how many models."""
    known = ~np.isnan(scores.prediction) & ~np.isnan(scores.data)
    if not known.any():
        return (
            "The bars are the variance of one generation on one question. With one generation per question its parts, "
            "data and prediction, cannot be told apart."
        )
    data, prediction = scores.data[known], scores.prediction[known]
    larger, smaller = int(np.sum(data > prediction)), int(np.sum(data < prediction))
    count = int(known.sum())
    text = (
        f"Data noise (which questions) is the larger part for {larger:,} and prediction noise (sampling again) for "
        f"{smaller:,} of {plural(count, 'model')}{' whose parts are known' if count < len(known) else ''}. "
        "More generations per question shrink the prediction part only."
    )
    if np.any(data < 0):
        text += " Data noise that is lost in the sampling noise is drawn as 0."
    if shown < len(known):
        text += f" Drawn for the first {shown} of {len(known):,} models; the counts are over all."
    return text


def difficulty(cells: Cells, bins: NDArray[np.int64]) -> str:
    """Questions that all models fail or solve, and what a column is."""
    answered = cells.answered
    asked = answered.any(axis=0)
    count = int(asked.sum())
    if cells.unit:
        none = int(np.sum(asked & np.all((cells.total <= 0) | ~answered, axis=0)))
        full = int(np.sum(asked & np.all((cells.mean >= 1 - 1e-9) | ~answered, axis=0)))
        text = (
            f"Every generation of every model that answered scored 0 on {none:,} of {plural(count, 'question')}, "
            f"and 1 on {full:,}."
        )
    else:
        text = f"{plural(count, 'question')}, from the lowest mean score to the highest."
    if (groups := int(bins.max(initial=-1)) + 1) < count:
        text += (
            f" {len(cells.models):,} × {count:,} cells are too many to draw: questions are grouped by difficulty into "
            f"{groups:,} groups of nearly equal size, and a cell is the mean over its group."
        )
    if not answered[:, asked].all():
        text += " Where a model has no score the cell is grey."
    return text + " Colours are rounded to 21 levels."


def distributions(cells: Cells, shown: Sequence[str]) -> str:
    """How much of the benchmark is decided before sampling."""
    p = cells.mean[cells.index(shown[0])]
    p = p[~np.isnan(p)]
    text = (
        f"For {shown[0]}, {np.mean(p < 0.05):.0%} of {plural(len(p), 'question')} score below 0.05 and "
        f"{np.mean(p >= 0.95):.0%} at least 0.95."
    )
    if len(shown) < len(cells.models):
        text += f" Shown: {listed(shown, most=len(shown))}, spread over the order of the {len(cells.models):,} models."
    once = [m for m in shown if int(cells.n[cells.index(m)].max(initial=0)) == 1]
    if once and cells.binary:
        text += f" With one generation per question only 0 and 1 can be seen: {listed(once)}."
    return text
