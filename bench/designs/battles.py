"""Strengths and ranks from battles: coverage of the intervals and of the ranges of ranks.

Models of known strengths meet in random pairs and orders, with an advantage of the first, ties, and questions on which
all battles lean one way. Ties count half, which shrinks the strengths; the truth is the fit of a million battles of the
same kind. "Battles alone" is the sandwich without the questions as clusters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from designs.engine import LEVEL, Table, guarantee
from howsure.stats.comparisons import Battles, rank_battles

Array = NDArray[np.float64]


class Design(NamedTuple):
    """Models, battles, share of ties, questions (0: none), and how far questions lean (sd of a model's strength)."""

    M: int
    T: int
    ties: float = 0.0
    questions: int = 0
    lean: float = 0.0


DESIGNS = (
    *(Design(3, 60), Design(6, 300), Design(20, 2000), Design(6, 300, ties=0.4)),
    *(Design(6, 600, questions=60, lean=1.0), Design(6, 600, ties=0.2, questions=200, lean=1.0)),
)


def draw(design: Design, rng: np.random.Generator, T: int, questions: int) -> Battles:
    """Return battles of models whose strengths are evenly spaced from 0 to 1."""
    strength = np.linspace(0, 1, design.M)
    first = rng.integers(0, design.M, T)
    second = (first + rng.integers(1, design.M, T)) % design.M
    question = rng.integers(0, max(questions, 1), T)
    own = rng.normal(0, design.lean, (max(questions, 1), design.M))
    gap = strength[first] - strength[second] + own[question, first] - own[question, second]
    result = (rng.random(T) < special.expit(gap + 0.2)).astype(float)
    result[rng.random(T) < design.ties] = 0.5
    names = tuple(f"m{i}" for i in range(design.M))
    return Battles("battles", names, first, second, result, question if questions else None)


def evaluate(design: Design, trials: int) -> Array:
    """Return coverage of strengths, by battles alone, of the place, and of ranks, of each trial, shape (trials, 4)."""
    rng = np.random.default_rng([design.M, design.T, design.questions])
    truth = rank_battles(draw(design, rng, 1_000_000, 300_000 if design.questions else 0))
    ranks = np.arange(design.M, 0, -1)
    rows = []
    for _ in range(trials):
        battles = draw(design, rng, design.T, design.questions)
        table = rank_battles(battles)
        alone = rank_battles(Battles("", battles.models, battles.first, battles.second, battles.result))
        covered = [
            np.mean(
                np.abs(one.strength - truth.strength)
                <= special.stdtrit(one.n_clusters - 1, (1 + LEVEL) / 2) * np.sqrt(one.variance)
            )
            for one in (table, alone)
        ]
        place = (
            abs(table.place - truth.place) <= special.stdtrit(table.n_clusters - 1, (1 + LEVEL) / 2) * table.place_se
        )
        rows.append([*covered, place, np.mean((table.rank_low <= ranks) & (ranks <= table.rank_high))])
    return np.array(rows, float)


@guarantee(
    {"Battles": "design | evaluations | strengths | battles alone | place | ranks"},
    quick={"first": 1, "last": 2, "trials": 50},
    full={"first": 0, "last": 99, "trials": 400},
)
def strengths(table: Table, first: int, last: int, trials: int) -> None:
    """Models of known strengths."""
    for design in DESIGNS[first:last]:
        name = f"{design.M} models, {design.T} battles, {100 * design.ties:.0f} % ties"
        name += f", {design.questions} questions that lean" * (design.questions > 0)
        results = evaluate(design, trials)
        table.covers(name, results[:, 0])
        table.covers(f"{name}, ranks", results[:, 3])
        table.add(name, trials, *results.mean(axis=0).tolist())
