"""Weigh which choice a completion concludes with, where no rule reads one.

`conclusion_features` describes how the sentences speak of each choice. A conditional logit model (McFadden 1974) makes
these numbers one probability for each choice and one for the alternative that the completion gives none. The choice
with the largest probability is read if that is at least the threshold, so that no other one can be near. Weights and
threshold are those of `conclusion_weights.toml`, which `python bench/fit_conclusions.py --write` makes of the judged
completions that no rule reads.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from howsure.extraction.conclusion_features import describe_conclusion
from howsure.extraction.vocabulary import Vocabulary

__all__ = ["ConclusionWeights", "load_weights", "weigh_conclusion"]


class ConclusionWeights(NamedTuple):
    """The weights of the features of choices and of texts, and the least probability of a choice that is read."""

    choice: dict[str, float]
    text: dict[str, float]
    threshold: float


@cache
def load_weights() -> ConclusionWeights:
    """Return the weights and the threshold of the package."""
    table = tomllib.loads(Path(__file__).with_name("conclusion_weights.toml").read_text(encoding="utf-8"))
    return ConclusionWeights(table["choice"], table["text"], table["threshold"])


def weigh_conclusion(text: str, words: Vocabulary, question: str) -> int | None:
    """Return the index of the choice that a text concludes with; None if none is likely enough.

    Parameters
    ----------
    text
        The masked text of a completion that is not cut off.
    words
        The labels and texts of the choices.
    question
        Text of the question, without which nothing is weighed.

    References
    ----------
    D. McFadden (1974). Conditional logit analysis of qualitative choice behavior. In P. Zarembka (ed.), Frontiers in
    Econometrics, 105-142; equation 12.

    Examples
    --------
    >>> from howsure.extraction.vocabulary import build_vocabulary
    >>> words = build_vocabulary(("A", "B", "C"), ("Lupus nephritis", "Pneumothorax", "Gout"))
    >>> question = "Which complication would you monitor for?"
    >>> weigh_conclusion("It is a chronic disease. In summary, you'd monitor for lupus nephritis.", words, question)
    0
    >>> weigh_conclusion("It may be gout, which cannot be excluded.", words, question)
    """
    features = describe_conclusion(text, words, question) if question.strip() else None
    if features is None:
        return None
    table = load_weights()
    scores = [_add(row, table.choice) for row in features.choices]
    none = _add(features.text, table.text)
    most = max(*scores, none)
    total = math.exp(none - most) + sum(math.exp(score - most) for score in scores)
    place = max(range(len(scores)), key=scores.__getitem__)
    return place if math.exp(scores[place] - most) / total >= table.threshold else None


def _add(row: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the weighted sum of features."""
    return sum(weights[name] * value for name, value in row.items())
