"""Several benchmarks as one statement.

Readings taken where section 10 leaves a choice:
- a benchmark without a z (NaN) leaves no combined z: leaving it out is the caller's decision, to be said aloud;
- p is two-sided and normal;
- Cochran's Q is on differences with weights 1/SE^2 (not on z), so it asks whether all benchmarks share one difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from oracles.pairs import normal_p
from oracles.repeats import chi_square_tail


def weights(kind: str, ses: Sequence[float], n_questions: Sequence[int]) -> list[float]:
    """`benchmarks` equal: 1; `questions` equal: sqrt(N); `precision`: 1/SE."""
    if kind == "benchmarks":
        return [1.0 for _ in ses]
    if kind == "questions":
        return [math.sqrt(n) for n in n_questions]
    if kind == "precision":
        return [1 / se for se in ses]
    raise ValueError(kind)


def weighted_z(z: Sequence[float], w: Sequence[float]) -> dict[str, float]:
    """sum w z / sqrt(sum w^2) (NOISE appendix D), and its two-sided p."""
    top = bottom = 0.0
    for z_e, w_e in zip(z, w, strict=True):
        top += w_e * z_e
        bottom += w_e * w_e
    combined = top / math.sqrt(bottom)
    return {"z": combined, "p_value": normal_p(combined)}


def cochran_q(differences: Sequence[float], ses: Sequence[float]) -> dict[str, float]:
    """Q = sum (d - dbar)^2/SE^2 against chi^2_{n-1}; dbar weighted by 1/SE^2; I^2 = max(0, 1 - (n-1)/Q)."""
    w = [1 / se**2 for se in ses]
    center = sum(w_e * d for w_e, d in zip(w, differences, strict=True)) / sum(w)
    Q = sum(w_e * (d - center) ** 2 for w_e, d in zip(w, differences, strict=True))
    df = len(w) - 1
    return {
        "q": Q,
        "df": df,
        "p_value": chi_square_tail(Q, df) if df > 0 else math.nan,
        "i_squared": max(0.0, 1 - df / Q) if Q > 0 else 0.0,
        "mean": center,
        "se": 1 / math.sqrt(sum(w)),
    }
