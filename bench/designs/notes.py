"""How often notes that an interval may not hold fire where it does not, and where it does.

Each design is one population of questions, a number of them, and a number of generations; it falls short where its
intervals cover less than .93. A note is of use if it fires in many evaluations of the designs that fall short, and in
few of the others. The designs are those of the defaults: right and wrong answers, graded scores with rare zeros and
without, ratings beyond 0 and 1, and differences of two models.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import product

import numpy as np

from designs.data import Array, ask, covers, make_cells
from designs.engine import LOWEST, Table, guarantee
from designs.small_designs import GRADED, GRADED_PAIRS, POPULATIONS, Draw
from howsure.stats.comparisons import RARE_DIFFERENCES, compare
from howsure.stats.core.intervals import FEW_DF
from howsure.stats.scores import FEW_QUESTIONS, NO_END, score

#: The beginning of each note that says that an interval or a test may not hold, and what it is of.
NOTES = {
    FEW_QUESTIONS: "score",
    NO_END: "score",
    RARE_DIFFERENCES: "difference",
    FEW_DF: "score and difference",
}
#: Ratings beyond 0 and 1, and their mean.
RATINGS: dict[str, tuple[Draw, float]] = {
    "normal": (lambda rng, size: rng.standard_normal(size), 0.0),
    "1 to 5, evenly": (lambda rng, size: rng.integers(1, 6, size).astype(float), 3.0),
    "1 to 10, mostly 8 and 9": (
        lambda rng, size: rng.choice([4.0, 7, 8, 9, 10], size, p=[0.1, 0.2, 0.3, 0.3, 0.1]),
        7.9,
    ),
    "9, in 3 of 100 1": (lambda rng, size: np.where(rng.random(size) < 0.03, 1.0, 9 + rng.integers(-1, 2, size)), 8.76),
    "seconds, lognormal": (lambda rng, size: rng.lognormal(0, 1, size), float(np.exp(0.5))),
}
#: Name, draw, mean, and generations: 0 where the draw has the scores themselves.
ANSWERED = [(name, draw, mean, k) for name, (draw, mean, _) in POPULATIONS.items() for k in (1, 5)]
SCORED = ANSWERED + [(name, *one, 0) for graded in (GRADED, RATINGS) for name, one in graded.items()]
COMPARED = [(name, *one, 0) for name, one in GRADED_PAIRS.items()] + ANSWERED


def count_scores(
    draw: Draw, true: float, N: int, k: int, trials: int, rng: np.random.Generator
) -> tuple[Array, list[str]]:
    """Return whether each interval covers, and the notes of each score."""
    y = draw(rng, (trials, N))
    found = score(ask(y, k, rng) if k else make_cells(1, y, y**2))
    between, columns = found.interval(), found.columns()
    texts = dict(zip(columns["model"].tolist(), map(str, columns["note"]), strict=True))
    return covers(between.low, between.high, true), [texts[str(model)] for model in range(trials)]


def count_differences(
    draw: Draw, true: float, N: int, k: int, trials: int, rng: np.random.Generator
) -> tuple[Array, list[str]]:
    """Do so for differences, of the same P(correct) where there are right and wrong answers."""
    covered, texts = np.zeros(trials), []
    for i in range(trials):
        y = np.tile(draw(rng, (1, N)), (2, 1)) if k else draw(rng, (2, N))
        found = compare(ask(y, k, rng) if k else make_cells(1, y, y**2), "0", "1")
        between = found.interval()
        covered[i] = covers(between.low[0], between.high[0], 0 if k else true)
        texts.append(str(found.columns()["note"][0]))
    return covered, texts


@guarantee(
    {"Notes that an interval may not hold: how often they fire":
     "note | designs that fall short | that hold | fires where they fall short | where they hold | covered with it",
     "Notes that an interval may not hold: designs": "of | design | covered | notes"},
    quick={"trials": 40},
    full={"trials": 400},
)  # fmt: skip
def notes(fires: Table, each: Table, trials: int) -> None:
    """A note may fire in a tenth of the evaluations of designs that hold, or less often than where they fall short."""
    rates: dict[tuple[str, bool], list[float]] = defaultdict(list)
    with_it: dict[str, list[Array]] = defaultdict(list)
    kinds = (("score", count_scores, SCORED, 5 * trials // 2), ("difference", count_differences, COMPARED, trials))
    for kind, count, designs, n in kinds:
        for N, (name, draw, true, k) in product((10, 20, 50, 200), designs):
            rng = np.random.default_rng([N, k, len(each.rows)])
            covered, texts = count(draw, true, N, k, n, rng)
            fired = {note: np.array([note in text for text in texts]) for note, of in NOTES.items() if kind in of}
            for note, where in fired.items():
                rates[note, bool(covered.mean() < LOWEST)].append(float(where.mean()))
                with_it[note].append(covered[where])
            said = (f"{shorten(note)} {where.mean():.2f}" for note, where in fired.items() if where.mean() >= 0.05)
            design = f"{name}, N = {N}" + f", k = {k}" * (k > 0)
            each.add(kind, design, float(covered.mean()), "; ".join(said))
    for note in NOTES:
        both = rates[note, True], rates[note, False]
        short, fine = (float(np.mean(some)) if some else np.nan for some in both)
        covered = np.concatenate([np.zeros(0), *with_it[note]])
        kept = float(covered.mean()) if covered.size else np.nan
        fires.add(shorten(note), *map(len, both), short, fine, kept)
        is_needless = note != NO_END and fine > max(0.1, np.nan_to_num(short))  # NO_END says that an interval is wide
        fires.check(not is_needless, f"{shorten(note)} fires in {fine:.2f} where intervals hold")


def shorten(note: str) -> str:
    return re.split("[:,]", note)[0]
