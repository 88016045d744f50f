"""Scores with what is missing counted: as it is, as wrong, or between the two extremes.

A generation that failed, and a question that a model has nothing for while others do, are missing: the score is of what
was answered. A leaderboard may count them as wrong (`as_zero`); and whatever they would have scored, the score lies
between the two extremes (Manski 1990, bounds without assumptions).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from errorbar.errors import InputError, UnknownNameError
from errorbar.stats.cells import Cells, IntArray
from errorbar.stats.components import Scores
from errorbar.stats.results import Columns, Result

__all__ = ["RULES", "Bounds", "filled", "missing", "scores"]

#: as-missing: left out; as-zero: wrong; bounds: wrong below, right above.
RULES = ("as-missing", "as-zero", "bounds")


def missing(cells: Cells) -> IntArray:
    """Generations that are missing, shape (M, N).

    Those that failed; and of a question of which the model has no row at all, as many as its other questions have in
    the middle (median), at least one.
    """
    failed = cells.failed if cells.failed is not None else np.zeros(cells.n.shape, dtype=np.int64)
    there = cells.n + failed
    absent = there == 0
    usual = [int(np.median(row[row > 0])) if np.any(row > 0) else 1 for row in there]
    found: IntArray = failed + absent * np.array(usual, dtype=np.int64)[:, None]
    return found


def filled(cells: Cells, value: float) -> Cells:
    """The cells with every missing generation scored `value`.

    Raises
    ------
    InputError
        When scores are not in [0, 1]: then neither 0 nor 1 is an extreme.
    """
    more = missing(cells)
    if not more.any():
        return cells
    if not cells.unit:
        remedy = "leave --missing out, or scale the scores to [0, 1]"
        raise InputError(
            "missing scores cannot be bounded: scores are not in [0, 1]", where=cells.benchmark, remedy=remedy
        )
    none = None if cells.failed is None else np.zeros_like(cells.failed)
    return replace(
        cells,
        n=cells.n + more,
        total=cells.total + value * more,
        total_sq=cells.total_sq + value * value * more,
        failed=none,
        minimum=None if cells.minimum is None else np.where(more > 0, np.fmin(cells.minimum, value), cells.minimum),
        maximum=None if cells.maximum is None else np.where(more > 0, np.fmax(cells.maximum, value), cells.maximum),
    )


@dataclass(frozen=True, eq=False)
class Bounds(Result):
    """Scores of what was answered, with intervals from the lowest that they could be to the highest.

    Attributes
    ----------
    answered, as_zero, as_one
        Scores with what is missing left out, wrong and right.
    """

    answered: Scores
    as_zero: Scores
    as_one: Scores

    def columns(self) -> Columns:
        """The columns of `answered` with `score_low` and `score_high`, and `low` and `high` that hold for both."""
        columns = self.answered.columns()
        low, high = (
            {name: each[name] for name in ("model", "score", "low", "high")}
            for each in (self.as_zero.columns(), self.as_one.columns())
        )
        # Each result has its own best model first.
        rows = [{model: i for i, model in enumerate(each["model"])} for each in (low, high)]
        at_low, at_high = (np.array([row[model] for model in columns["model"]]) for row in rows)
        found: Columns = {}
        for name, values in columns.items():
            found[name] = values
            if name == "score":
                found |= {"score_low": low["score"][at_low], "score_high": high["score"][at_high]}
        return found | {"low": low["low"][at_low], "high": high["high"][at_high]}


def scores(cells: Cells, rule: str, score: Callable[[Cells], Scores]) -> Result:
    """What `score` says of the cells under one of `RULES`."""
    if rule not in RULES:
        raise UnknownNameError("rule for what is missing", rule, RULES)
    if rule == "as-missing":
        return score(cells)
    if rule == "as-zero":
        return score(filled(cells, 0.0))
    return Bounds(score(cells), score(filled(cells, 0.0)), score(filled(cells, 1.0)))
