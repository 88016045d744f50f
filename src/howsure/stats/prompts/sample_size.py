"""How many prompt variants are enough for a reliable evaluation (REL definition 1 and section 3).

A benchmark score x_s under each of N reference variants; a sample of n of them is reliable when a moment over it, mean
or variance, is within epsilon of the moment over the whole with probability 1 - delta. REL's n* is the smallest n for
which the (1 - delta/2) percentile of |moment of n - moment of N| is at most epsilon. It is biased low when it is not
far below N, since the deviation is 0 at n = N by construction; `n_star_space` is for variants from the space itself:

    mean      n = (z sd / epsilon)^2                          z the quantile of |Z| at 1 - delta/2
    variance  n = z^2 (m4 - sd^4) / epsilon^2                 m4 the fourth central moment

with the unbiased sd^2, and m4 - sd^4 times N^2/((N - 1)(N - 2)), which makes it unbiased where scores are normal.

Each score x_s has noise of its own: its generations are drawn, and prompts and questions interact. This noise is in sd.
So `n_star_space` is the number of variants for an evaluation that scores each variant on as many questions with as many
generations as this one did: the noise of n scores averages out as their differences do. `n_star_space_corrected` has
the variance of the variants alone (`crossed(cube).variant`) in the place of sd^2: the number that the space needs where
each score rests on so many questions and generations that its noise does not count. Simulated with prompts of sd .02
and 50 questions of one generation: 160 variants of that design are needed, and 16 of noise-free scores.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.results import Columns, Result, notes
from howsure.stats.core.variance_intervals import variance_limits
from howsure.stats.prompts.subset_moments import deviation_chance, deviation_quantiles, draw_orders

__all__ = ["MOMENTS", "ProxyCheck", "SampleSize", "check_proxy", "required_for_space", "required_variants"]

MOMENTS = ("mean", "variance")
#: Variants from which on there is an interval of what the variance needs.
_FEWEST = 10
#: Half its width on the scale of logarithms from which on it says nothing: 1 to 10,000.
_WIDEST = np.log(100)
#: Relative: less than this is 0.
_ROUNDING = 1e-9


def required_for_space(variance: ArrayLike, epsilon: float, delta: float) -> FloatArray:
    """Variants from the space for which the mean of their scores is within epsilon, given the variance of one.

    For the variance as the moment, give m4 - sd^4 in place of the variance.

    >>> required_for_space([0.02**2, 0.03**2, 0.05**2], 0.01, 0.1).tolist()
    [16.0, 35.0, 97.0]
    """
    z = special.ndtri(1 - delta / 4)
    needed: FloatArray = np.maximum(np.ceil(np.asarray(variance, float) * (z / epsilon) ** 2 - 1e-9), 1)
    return needed


@dataclass(frozen=True, eq=False)
class SampleSize(Result):
    """How many variants are enough; arrays have shape (M, 2), a column per moment of `MOMENTS`.

    Attributes
    ----------
    scores
        What it was found from, shape (M, S), NaN where a model has no score under a variant.
    n_variants
        N of each model, shape (M,).
    moment
        Mean and variance over all N, the latter divided by N (REL eq. 3).
    n_star
        As published; NaN where there are fewer than two variants.
    exact
        Whether n_star is exact, and not estimated from seeded orders.
    n_star_space
        Variants of the space for scores with as many questions and generations as these; `space_limits` is its
        interval.
    n_star_space_corrected
        Variants of the space for scores without noise; NaN where the variance over variants without the noise of each
        score is unknown or not above 0.
    corrected_low, corrected_high
        Its interval, for the mean only; known where the variance is lost in the noise too.
    """

    models: tuple[str, ...]
    scores: FloatArray = field(repr=False)
    n_variants: IntArray
    moment: FloatArray
    n_star: FloatArray
    exact: NDArray[np.bool_] = field(repr=False)
    n_star_space: FloatArray
    n_star_space_corrected: FloatArray
    corrected_low: FloatArray
    corrected_high: FloatArray
    epsilon: float
    delta: float
    noise_known: NDArray[np.bool_] = field(repr=False)

    @property
    def reached(self) -> NDArray[np.bool_]:
        """Where fewer than all N variants are enough: n = N always is, by construction. Shape (M, 2)."""
        reached: NDArray[np.bool_] = self.n_star < self.n_variants[:, None]
        return reached

    def space_limits(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Interval of `n_star_space`, whole numbers, shape (M, 2) each.

        Of the mean: those of the variance over variants, which heed its kurtosis. Of the variance: Student's t from the
        jackknife of log(m4 - sd^4), of ten variants and more; where scores have heavy tails it is too narrow. NaN
        where no two scores differ, or where that of the variance hangs on one of them.
        """
        found = np.full((2, 2, len(self.scores)), np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            unbiased = self.moment[:, 1] * self.n_variants / (self.n_variants - 1)
        found[0] = variance_limits(unbiased, self.scores, level)
        for m, row in enumerate(self.scores):
            found[1, :, m] = _spread_limits(row[~np.isnan(row)], level)
        low, high = required_for_space(found.transpose(1, 2, 0), self.epsilon, self.delta)
        return low, high

    def convergence(self, model: str, *, draws: int = 2000, rng: np.random.Generator | int = 0) -> FloatArray:
        """The (1 - delta/2) quantile of the deviation of both moments over n = 1..N variants, shape (2, N)."""
        x = self.scores[self.models.index(model)]
        x = x[~np.isnan(x)]
        return deviation_quantiles(x, draw_orders(len(x), draws, rng), self.delta)

    @property
    def note(self) -> NDArray[np.object_]:
        """What each model's numbers are to be read with, shape (M, 2)."""
        some = np.broadcast_to(self.n_variants[:, None] > 1, self.n_star.shape)
        near = some & self.reached & (self.n_star > self.n_variants[:, None] / 4)
        beyond = some & (self.n_star_space > self.n_variants[:, None])
        flat = some & (self.moment[:, 1:] <= _ROUNDING**2 * self.moment[:, :1] ** 2)
        told = {
            "fewer than two variants have a score over all questions: how many are enough is unknown": ~some,
            "n_star is not reached below the number of reference variants, where it is so by construction": some
            & ~self.reached
            & (self.n_star > 1),
            "n_star is biased low: it is not far below the reference variants": near,
            "the space needs more variants than were drawn": beyond,
            "no two variants differ in score, which is no certainty: no interval": flat,
            "two variants say nothing of how the variance varies": some & np.isnan(self.n_star_space),
            "n_star_space_corrected is unknown, as the noise of each score is": some & ~self.noise_known[:, None],
            "n_star_space_corrected is unknown: variants differ by no more than the noise of their scores": some
            & self.noise_known[:, None]
            & np.all(np.isnan(self.n_star_space_corrected), axis=1, keepdims=True),
        }
        return notes({text: where.ravel() for text, where in told.items()}).reshape(self.n_star.shape)

    def columns(self) -> Columns:
        """One row per model and moment."""
        M = len(self.models)
        low, high = self.space_limits()
        return {
            "model": np.repeat(np.array(self.models, dtype=object), 2),
            "n_variants": np.repeat(self.n_variants, 2),
            "moment": np.tile(np.array(MOMENTS, dtype=object), M),
            "value": self.moment.ravel(),
            "n_star": to_integers(self.n_star.ravel()),
            "n_star_space": to_integers(self.n_star_space.ravel()),
            "low": to_integers(low.ravel()),
            "high": to_integers(high.ravel()),
            "n_star_space_corrected": to_integers(self.n_star_space_corrected.ravel()),
            "corrected_low": to_integers(self.corrected_low.ravel()),
            "corrected_high": to_integers(self.corrected_high.ravel()),
            "epsilon": np.full(2 * M, self.epsilon),
            "delta": np.full(2 * M, self.delta),
            "note": self.note.ravel(),
        }


def to_integers(values: FloatArray) -> FloatArray | IntArray:
    """As integers where all are known."""
    return values if np.any(np.isnan(values)) else values.astype(np.int64)


def required_variants(
    models: tuple[str, ...],
    scores: ArrayLike,
    *,
    variance: ArrayLike | None = None,
    limits: tuple[ArrayLike, ArrayLike] | None = None,
    epsilon: float = 0.01,
    delta: float = 0.1,
    draws: int = 2000,
    rng: np.random.Generator | int = 0,
) -> SampleSize:
    """Compute the smallest numbers of variants for a reliable mean and variance of each model.

    Parameters
    ----------
    models, scores
        M names, and the benchmark score of each model under each of N variants, shape (M, N); NaN where missing.
    variance, limits
        Variance over variants without the noise of each score, shape (M,), such as `crossed(cube).variant`, and its
        interval, such as `crossed(cube).limits("variant")`; NaN where unknown. For `n_star_space_corrected`.
    epsilon, delta
        Deviation that is acceptable, and the probability of a larger one.
    draws
        Seeded orders of the variants, for what is not found exactly (`subsets.chance_far`).

    Examples
    --------
    >>> scores = np.random.default_rng(0).normal(0.6, 0.06, (1, 100))  # of which sd .02 is the variants' own
    >>> found = required_variants(("m",), scores, variance=[0.02**2])
    >>> found.n_star_space[0, 0].tolist(), found.n_star_space_corrected[0, 0].tolist()
    (130.0, 16.0)
    """
    x = np.atleast_2d(np.asarray(scores, float))
    if x.ndim != 2 or x.shape[0] != len(models) or np.any(np.isinf(x)):
        remedy = f"allowed: finite or NaN, (models, variants) = ({len(models)}, any)"
        raise InputError(f"scores have shape {x.shape}", where="enough_variants", remedy=remedy)
    for name, value, good, allowed in (
        ("epsilon", epsilon, 0 < epsilon < np.inf, "above 0"),
        ("delta", delta, 0 < delta < 1, "between 0 and 1"),
        ("draws", draws, draws >= 1, "1 or more"),
    ):
        if not good:
            raise InputError(f"{name} is {value!r}", remedy=f"allowed: {allowed}")
    M = len(models)
    n_variants = np.sum(~np.isnan(x), axis=1)
    moment, n_star, space = (np.full((M, 2), np.nan) for _ in range(3))
    exact = np.zeros((M, 2), dtype=bool)
    generator = np.random.default_rng(rng)
    drawn: dict[int, IntArray] = {}
    for m, N in enumerate(n_variants.tolist()):
        there = x[m, ~np.isnan(x[m])]
        if N > 0:
            moment[m] = there.mean(), there.var()
        if N < 2:
            continue
        order = drawn.setdefault(N, draw_orders(N, draws, generator)) if N not in drawn else drawn[N]
        far, known = deviation_chance(there, order, epsilon, delta / 2)
        first = np.argmax(far <= delta / 2, axis=1)  # the last is 0: all N variants
        n_star[m], exact[m] = first + 1, known[[0, 1], first]
        space[m] = required_for_space([there.var(ddof=1), float(_spread(there))], epsilon, delta)
    unknown = np.full(M, np.nan)
    of_variants = unknown if variance is None else np.asarray(variance, float)
    low, high = (unknown if limit is None else np.asarray(limit, float) for limit in limits or (None, None))
    if not of_variants.shape == low.shape == high.shape == (M,):
        what = f"variance and limits have shapes {of_variants.shape}, {low.shape} and {high.shape}"
        raise InputError(what, where="enough_variants", remedy=f"allowed: ({M},), one for each model")
    corrected_low, corrected_high = (
        np.column_stack([required_for_space(limit, epsilon, delta), unknown]) for limit in (low, high)
    )
    return SampleSize(
        models=tuple(models),
        scores=x,
        n_variants=n_variants,
        moment=moment,
        n_star=n_star,
        exact=exact,
        n_star_space=space,
        n_star_space_corrected=_corrected(x, of_variants, epsilon, delta),
        corrected_low=corrected_low,
        corrected_high=corrected_high,
        epsilon=epsilon,
        delta=delta,
        noise_known=~np.isnan(of_variants),
    )


def _corrected(x: FloatArray, variance: FloatArray, epsilon: float, delta: float) -> FloatArray:
    """What both moments need without the noise of each score, shape (M, 2).

    m4 - sd^4 = kappa4 + 2 sd^4 with kappa4 the fourth cumulant, to which normal noise adds nothing.
    """
    rows = [row[~np.isnan(row)] for row in x]
    cumulant = np.array([float(_spread(row)) - 2 * row.var(ddof=1) ** 2 if len(row) > 2 else np.nan for row in rows])
    of_variance = np.maximum(cumulant, 0) + 2 * variance**2
    needed = required_for_space(np.column_stack([variance, of_variance]), epsilon, delta)
    return np.where(variance[:, None] > 0, needed, np.nan)


def _spread(x: FloatArray) -> FloatArray:
    """M4 - sd^4 along the last axis, n times the variance of the variance; NaN of fewer than three values."""
    n = x.shape[-1]
    if n < 3:
        return np.full(x.shape[:-1], np.nan)
    off = x - x.mean(axis=-1, keepdims=True)
    spread: FloatArray = (np.mean(off**4, axis=-1) - np.mean(off**2, axis=-1) ** 2) * n**2 / ((n - 1) * (n - 2))
    return spread


def _spread_limits(x: FloatArray, level: float) -> tuple[float, float]:
    """Limits of m4 - sd^4; NaN where it is 0 but for one value, or nearly so."""
    n = len(x)
    others = x[(np.arange(n)[:, None] + np.arange(1, n)) % n] if n else x
    whole, less = _spread(x), _spread(others)
    if n < _FEWEST or not np.all(less > 0) or whole <= _ROUNDING * np.mean(less):
        return np.nan, np.nan
    pseudo = n * np.log(whole) - (n - 1) * np.log(less)
    half = special.stdtrit(n - 1, (1 + level) / 2) * pseudo.std(ddof=1) / np.sqrt(n)
    if half > _WIDEST:
        return np.nan, np.nan
    return float(np.exp(pseudo.mean() - half)), float(np.exp(pseudo.mean() + half))


@dataclass(frozen=True)
class ProxyCheck:
    """Whether a cheap model's n* was enough for a costly one (REL section 4: the smaller model is an upper bound).

    Attributes
    ----------
    n_variants
        That both were asked in.
    n_star_cheap, n_star_costly
        N* of both moments on these, the larger: what each model asks for by itself.
    chance
        Chance that n_star_cheap variants of the costly model's are off by more than epsilon in mean or variance, the
        larger of the two; it may be delta/2.
    bounded
        Whether that holds: n_star_cheap was enough.
    """

    cheap: str
    costly: str
    n_variants: int
    n_star_cheap: float
    n_star_costly: float
    chance: float
    bounded: bool


def check_proxy(
    enough: SampleSize, cheap: str, costly: str, *, draws: int = 2000, rng: np.random.Generator | int = 0
) -> ProxyCheck:
    """Check a cheap model as the reference for a costly one, on variants that both were asked in."""
    for name in (cheap, costly):
        if name not in enough.models:
            raise InputError(f"no model {name!r}", where="proxy", remedy=f"known: {', '.join(enough.models)}")
    rows = [enough.models.index(name) for name in (cheap, costly)]
    there = ~np.any(np.isnan(enough.scores[rows]), axis=0)
    x, N = enough.scores[rows][:, there], int(there.sum())
    if N < 2:
        what = f"{cheap} and {costly} have fewer than two variants in common"
        raise InputError(what, where="proxy", remedy="ask both models in more variants")
    n_star = enough.n_star[rows]
    if np.any(enough.n_variants[rows] > N):
        on_these = required_variants(
            (cheap, costly), x, epsilon=enough.epsilon, delta=enough.delta, draws=draws, rng=rng
        )
        n_star = on_these.n_star
    small, large = n_star.max(axis=1).tolist()
    far, _ = deviation_chance(x[1], draw_orders(N, draws, rng), enough.epsilon, enough.delta / 2)
    chance = float(far[:, int(small) - 1].max())
    return ProxyCheck(cheap, costly, N, small, large, chance, chance <= enough.delta / 2)
