"""Slices in which two models differ by another amount: false findings, and losses that are found.

Two models answer N questions in slices of equal size. "Any false" is the share of evaluations in which some slice is
called different though none is, by the adjusted p-values, and by raw t tests of each slice against 0 and against the
rest. A loss is one of 35 points in the first slice alone; "found" is that this slice is called different.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from designs.engine import ALPHA, Table, guarantee, slack
from howsure.stats.comparisons import compare, compare_slices
from howsure.stats.core.cells import Cells

Array = NDArray[np.float64]
#: The probabilities that both models have, where they differ often and where they rarely differ: Beta(a, b).
MIXED, ALIKE = (2.0, 1.0), (0.2, 0.1)


class Design(NamedTuple):
    """Questions, slices, generations, Beta of P(correct), loss in the first slice, and the design's oddity."""

    name: str
    N: int
    slices: int
    k: int
    beta: tuple[float, float] = MIXED
    loss: float = 0.0
    odd: str = ""


FALSE = (
    *(Design(f"{k} generations, 10 slices of 20", 200, 10, k) for k in (1, 4)),
    Design("1 generation, 10 slices of 20, models alike", 200, 10, 1, ALIKE),
    Design("1 generation, 40 slices of 5", 200, 40, 1),
    Design("1 generation, 3 slices of 10", 30, 3, 1),
    Design("2 generations, a is 20 points worse everywhere", 200, 10, 2, odd="worse"),
    Design("1 generation, the first slice differs more in both directions", 200, 10, 1, ALIKE, odd="uneven"),
    Design("1 generation, two columns of 10 slices", 200, 10, 1, odd="twice"),
)
LOSSES = tuple(
    Design(f"{k} generation{'s' * (k > 1)} of 200 questions, {name}", 200, 10, k, beta, 0.35)
    for name, beta in (("models differ on a third", MIXED), ("models differ on a tenth", ALIKE))
    for k in (1, 2, 4)
)


def evaluate(design: Design, trials: int) -> Array:
    """Return whether (adjusted, raw, raw against the rest, `compare`) call something different, shape (trials, 5)."""
    rng = np.random.default_rng([design.N, design.slices, design.k, len(design.name)])
    a, b = design.beta
    rows = []
    label = np.arange(design.N) * design.slices // design.N
    for trial in range(trials):
        p = rng.beta(a, b, (2, design.N))
        p[0] = p[1]
        if design.odd == "uneven":
            p[:, label == 0] = 0.5
        if design.odd == "worse":
            p[0] *= 1 - 0.2 / (a / (a + b))
        if design.loss:
            p[0, label == 0] *= 1 - design.loss / (a / (a + b))
        total = rng.binomial(design.k, p).astype(float)
        questions = tuple(map(str, range(design.N)))
        cells = Cells("slices", ("a", "b"), questions, np.full(p.shape, design.k), total, total)
        labels = {"slice": [f"{s:02d}" for s in label.tolist()]}
        if design.odd == "twice":
            labels["other"] = rng.permutation(labels["slice"]).tolist()
        table = compare_slices(cells, "a", "b", labels, orders=999, seed=trial)
        d = cells.mean[0] - cells.mean[1]
        raw, rest = np.array([(_t(d[label == s]), _t(d[label == s], d[label != s])) for s in range(design.slices)]).T
        own = slice(0, 1) if design.loss else slice(None)
        found = [float(np.any(each[own] < 0.05)) for each in (table.p_all, raw, rest)]
        false = float(np.any(table.p_all[1 if design.loss else 0 :] < 0.05))
        rows.append([*found, false, float(compare(cells, "a", "b").interval().p_value[0] < 0.05)])
    return np.array(rows)


def _t(x: Array, y: Array | None = None) -> float:
    """Return the p-value of Student's t of x against 0, or of Welch's of x against y; 1 where nothing varies."""
    parts = [each.var(ddof=1) / len(each) for each in (x, y) if each is not None]
    if not sum(parts) > 0:
        return 1.0
    gap = x.mean() - (0 if y is None else y.mean())
    df = sum(parts) ** 2 / sum(
        v**2 / (len(each) - 1) for v, each in zip(parts, (x, y), strict=False) if each is not None
    )
    return float(2 * special.stdtr(df, -abs(gap) / np.sqrt(sum(parts))))


NO_SLICES = "design | evaluations | any false | raw t | raw t against the rest"


@guarantee(
    {"Slices that do not differ: any false at 5 %": NO_SLICES},
    quick={"last": 2, "trials": 40},
    full={"last": 99, "trials": 400},
)
def no_slices(table: Table, last: int, trials: int) -> None:
    """Slices that mean nothing, or differ in both directions alike."""
    for design in FALSE[:last]:
        rate, raw, rest, _, _ = evaluate(design, trials).mean(axis=0).tolist()
        table.check(
            design.odd == "uneven" or rate <= ALPHA + slack(ALPHA, trials), f"{design.name}: any false {rate:.3f}"
        )
        table.add(design.name, trials, rate, raw, rest)


@guarantee(
    {"A loss of 35 points in a tenth of the questions":
     "design | evaluations | found | other slice, false | raw t | raw t against the rest | compare alone"},
    quick={"last": 3, "trials": 40},
    full={"last": 99, "trials": 400},
)  # fmt: skip
def losses(table: Table, last: int, trials: int) -> None:
    """A loss in one slice of ten."""
    for design in LOSSES[:last]:
        found, raw, rest, false, whole = evaluate(design, trials).mean(axis=0).tolist()
        table.check(design.k < 4 or found >= 0.8 - slack(0.8, trials), f"{design.name}: found {found:.3f}, claimed .8")
        table.add(design.name, trials, found, false, raw, rest, whole)
