"""A score that borrows strength from other models' answers, in its simplest form: one control variate, by loops.

N questions have a known predictor x (the mean of other models); y is there for the asked ones. With a slope b_q for each
asked question that was fitted without it (leave one out), and b their mean (Cochran 1977, chapter 7):

    score = b mean_all(x) + mean_asked(y_q - b_q x_q)

which is the mean of the predictions plus the mean of the residuals, each prediction made without the question's answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import mean, variance
from typing import NamedTuple


class Borrowed(NamedTuple):
    """Score, and its standard error for the N questions and for new ones like them."""

    score: float
    se_these: float
    se_new: float


def slope(x: list[float], y: list[float]) -> float:
    """Least squares; 0 where x does not vary."""
    center_x, center_y = mean(x), mean(y)
    spread = sum((a - center_x) ** 2 for a in x)
    return sum((a - center_x) * (b - center_y) for a, b in zip(x, y, strict=True)) / spread if spread > 1e-12 else 0.0


def with_slope(predictor: list[float], answers: Mapping[int, float], slopes: Mapping[int, float]) -> Borrowed:
    """Estimate with a slope for each asked question."""
    N, n = len(predictor), len(answers)
    residuals = [y - slopes[q] * predictor[q] for q, y in answers.items()]
    b = mean(slopes.values())
    rest = variance(residuals) / n
    se_new = math.sqrt(rest + b**2 * variance(predictor) / N)
    return Borrowed(b * mean(predictor) + mean(residuals), math.sqrt(rest * (1 - n / N)), se_new)


def control_variate(predictor: list[float], answers: Mapping[int, float]) -> Borrowed:
    """Estimate with slopes that leave one out."""
    slopes = {}
    for q in answers:
        others = [other for other in answers if other != q]
        slopes[q] = slope([predictor[i] for i in others], [answers[i] for i in others])
    return with_slope(predictor, answers, slopes)
