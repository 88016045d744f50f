"""Smooth curves through checkpoints, and alarms about days: error, coverage, the best checkpoint, false alarms, delay.

Curves: questions as spread as those of AIME (logits with sd 2), T checkpoints whose common logit rises in an S, rises
and falls, is constant, drops at once, or wanders at random. Compared with the raw scores on the same questions.

Days: 60 questions once a day, of which a drop of 5 points happens after 90 days; and runs of days without any change.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special

from designs.engine import LEVEL, Table, guarantee
from howsure.stats.comparisons import SmoothedSeries, smooth_cells
from howsure.stats.core.cells import Cells
from howsure.stats.repeats import find_falls

Array = NDArray[np.float64]

#: Smallest ratio of squared errors, raw over smoothed, and largest share of curves without a jump that report one.
LEAST_GAIN, MOST_JUMPS, LIKELY = 2.5, 0.05, 0.8
#: Checkpoints, questions, generations.
SIZES = ((20, 30, 4), (40, 30, 4), (40, 30, 1))
DROP, BEFORE, AFTER, CALLS, MOST_DAYS = 0.05, 90, 60, 60, 10


def rise(t: Array, rng: np.random.Generator) -> Array:
    """Return an S of two logits."""
    return -1 + 2 / (1 + np.exp(-6 * (t - rng.uniform(0.2, 0.7))))


def rise_and_fall(t: Array, rng: np.random.Generator) -> Array:
    """Return half a wave of 1.5 logits."""
    return -1 + 1.5 * np.sin(np.pi * rng.uniform(0.7, 1) * t)


def constant(t: Array, rng: np.random.Generator) -> Array:
    """Return one level, of one logit at most."""
    return np.full_like(t, rng.uniform(-1, 1))


def jump(t: Array, rng: np.random.Generator) -> Array:
    """Return a drop of one logit somewhere in the middle."""
    drop: Array = np.where(t > rng.uniform(0.2, 0.8), -1.0, 0.0)
    return drop


def wander(t: Array, rng: np.random.Generator) -> Array:
    """Return steps with sd .1 logit at random, about .015 of the score."""
    return np.cumsum(0.1 * rng.standard_normal(len(t)))


TRUTHS: tuple[tuple[str, Callable[[Array, np.random.Generator], Array]], ...] = (
    ("rise", rise),
    ("rise and fall", rise_and_fall),
    ("constant", constant),
    ("sudden drop", jump),
    ("random steps", wander),
)


def follow(T: int, N: int, k: int, make: Callable[..., Array], trials: int, seed: int) -> dict[str, Array]:
    """Return for each trial the squared errors, coverages, and what is said of the best and of jumps."""
    rng = np.random.default_rng(seed)
    lists: dict[str, list[float]] = {}
    names, questions = [str(t) for t in range(T)], [str(q) for q in range(N)]
    every = T // 10  # checkpoints of which the score of the population is computed
    population = rng.normal(-0.5, 2, 20_000)
    for _ in range(trials):
        course = make(np.linspace(0, 1, T), rng)[:, None]
        p = special.expit(rng.normal(-0.5, 2, N) + course)
        cells = Cells.from_scores("demo", names, questions, (rng.random((T, N, k)) < p[..., None]).astype(float))
        smoothed = smooth_cells(cells)
        assert isinstance(smoothed, SmoothedSeries)
        truth, raw, best = p.mean(axis=1), cells.mean.mean(axis=1), smoothed.best
        expected = special.expit(population + course[::every]).mean(axis=1)
        here, there = smoothed.interval(LEVEL), smoothed.interval(LEVEL, "new-questions")
        covers = (here.low <= truth) & (truth <= here.high)
        covers_new = (there.low[::every] <= expected) & (expected <= there.high[::every])
        one = {
            "raw": np.mean((raw - truth) ** 2),
            "smoothed": np.mean((smoothed.mean - truth) ** 2),
            "covered": covers.mean(),
            "covered new": covers_new.mean(),
            "covered best": covers[best],
            "bias of the highest score": raw.max() - truth[raw.argmax()],
            "bias of the best": smoothed.mean[best] - truth[best],
            "may be best": np.any(truth[smoothed.may_be_best(LEVEL)] >= truth.max() - 1e-12),
            "says jump": smoothed.change.p >= LIKELY,
        }
        for name, value in one.items():
            lists.setdefault(name, []).append(float(value))
    return {name: np.array(values) for name, values in lists.items()}


def watch(mean: float, spread: float, trials: int, seed: int) -> tuple[float, Array, float]:
    """Return the sd of a day, the days to the alarm of trials without an earlier one, and the mean size it says."""
    rng = np.random.default_rng(seed)
    delays, sizes, sds = [], [], []
    for _ in range(trials):
        logits = special.logit(np.clip(rng.beta(mean * spread, (1 - mean) * spread, CALLS), 1e-6, 1 - 1e-6))
        p = special.expit(logits)
        shifts = np.linspace(0, 8, 4001)[:, None]
        shift = shifts[np.argmax(p.mean() - special.expit(logits - shifts).mean(axis=1) >= DROP)]
        days = np.repeat([p, special.expit(logits - shift)], [BEFORE, AFTER], axis=0)
        x = (rng.random(days.shape) < days).astype(float)
        v = x.var(axis=0, ddof=1).mean() / CALLS
        sds.append(np.sqrt(v))
        falls = find_falls(x.mean(axis=1), v)
        if not falls or falls[0].noticed >= BEFORE:
            delays.append(falls[0].noticed - BEFORE + 1 if falls else AFTER + 1)
            sizes.extend([-falls[0].size] if falls else [])
    return float(np.mean(sds)), np.array(delays, float), float(np.mean(sizes))


def count_false_alarms(mean: float, trials: int, days: int, seed: int) -> tuple[int, float]:
    """Return the alarms of series without a change, and the years that they were watched."""
    rng = np.random.default_rng(seed)
    alarms = 0
    for _ in range(trials):
        p = rng.beta(2 * mean, 2 * (1 - mean), CALLS)
        x = (rng.random((days, CALLS)) < p).astype(float)
        alarms += len(find_falls(x.mean(axis=1), x.var(axis=0, ddof=1).mean() / CALLS))
    return alarms, trials * days / 365


@guarantee(
    {
        "Smooth curves through checkpoints, nominal 95 %": "truth | checkpoints x questions x generations | "
        "squared error, raw over smoothed | covers these questions | covers new questions | covers at the best | "
        "bias of the highest score | bias of the best | set holds the best | reports a jump"
    },
    quick={"trials": 25, "sizes": SIZES[:1]},
    full={"trials": 200, "sizes": SIZES},
)
def curves(table: Table, trials: int, sizes: tuple[tuple[int, int, int], ...]) -> None:
    """Smooth curves beside raw scores."""
    for T, N, k in sizes:
        for seed, (name, make) in enumerate(TRUTHS):
            found = follow(T, N, k, make, trials, seed)
            gain = float(found["raw"].mean() / found["smoothed"].mean())
            where = f"{name}, {T} checkpoints, k = {k}"
            table.check(gain >= LEAST_GAIN, f"{where}: squared error {gain:.2f} times smaller, claimed {LEAST_GAIN}")
            for which in ("covered", "covered new", "covered best", "may be best"):
                table.covers(f"{where}, {which}", found[which])
            jumps = float(found["says jump"].mean())
            table.check(name == "sudden drop" or jumps <= MOST_JUMPS, f"{where}: {jumps:.3f} report a jump")
            table.add(name, f"{T} x {N} x {k}", gain, *[float(found[which].mean()) for which in list(found)[2:]])


@guarantee(
    {
        "A drop of 5 points after 90 days of 60 calls": "score and questions | sd of a day | false alarms a year | "
        "median days to the alarm | 90 % | size it says"
    },
    quick={"trials": 60, "watched": 6, "days": 365, "most_days": MOST_DAYS + 3},
    full={"trials": 500, "watched": 100, "days": 730, "most_days": MOST_DAYS},
)
def alarms(table: Table, trials: int, watched: int, days: int, most_days: float) -> None:
    """Days to the alarm, and false alarms."""
    for seed, (mean, spread) in enumerate(((0.8, 2.0), (0.8, 8.0), (0.5, 2.0))):
        sd, delays, size = watch(mean, spread, trials, seed)
        median, late = (float(np.quantile(delays, share)) for share in (0.5, 0.9))
        table.check(median <= most_days, f"score {mean}: median delay {median:g} days, claimed {most_days}")
        false, years = count_false_alarms(mean, watched, days, seed)
        table.check(false <= years + 3 * np.sqrt(years), f"score {mean}: {false} false alarms in {years:.0f} years")
        name = f"{mean:g}, Beta({mean * spread:g}, {(1 - mean) * spread:g})"
        table.add(name, sd, false / years, median, late, size)
