"""Number of prompt variants that a reliable evaluation needs (REL, definition 1 and section 3).

Given a benchmark score x_s under each of N reference variants, a sample of n variants is reliable when a moment over
it, mean or variance, is within epsilon of the moment over all N with probability 1 - delta. REL's n* is the smallest n
for which the (1 - delta/2) percentile of |moment of n - moment of N| is at most epsilon. It is biased low unless it is
far below N, because the deviation is 0 at n = N by construction. `n_star_space` is for variants drawn from the space:

    mean      n = (z sd / epsilon)^2                          z the (1 - delta/2) quantile of |Z|
    variance  n = z^2 (m4 - sd^4) / epsilon^2                 m4 the fourth central moment

with the unbiased sd^2, and m4 - sd^4 times N^2/((N - 1)(N - 2)), which makes it unbiased for normal scores.

Each score x_s is noisy: its generations are random, and prompts and questions interact. sd contains this noise.
`n_star_space` is therefore the number of variants for an evaluation with as many questions and generations per variant
as this one. `n_star_space_corrected` replaces sd^2 by the variance of the variants without noise
(`estimate_components(cube).variant`): the number for an evaluation whose scores have negligible noise. Simulated with
prompts of sd .02 and 50 questions of one generation: 160 variants of that design are needed, 16 without noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.claims import MOMENTS
from howsure.stats.core.intervals import variance_limits
from howsure.stats.core.results import Result, notes
from howsure.stats.prompts.subset_moments import (
    deviation_bands,
    deviation_chance,
    deviation_quantiles,
    draw_orders,
    find_required_sizes,
)

__all__ = [
    "ProxyCheck",
    "SampleSize",
    "check_proxy",
    "required_for_space",
    "required_variants",
]

#: The interval of the number of variants for the variance needs at least this many scores.
_MIN_SCORES = 10
#: Largest half-width of that interval on the log scale: a factor of 10,000 between its limits.
_MAX_HALF_WIDTH = np.log(100)
#: Relative tolerance of a comparison with 0.
_ROUNDING = 1e-9


def required_for_space(variance: ArrayLike, epsilon: float, delta: float) -> FloatArray:
    """Return the number of variants of the space for which the mean of their scores is within epsilon.

    Parameters
    ----------
    variance
        Variance of one score, any shape; for the variance as the moment, m4 - sd^4 instead.
    epsilon, delta
        Acceptable deviation, and the probability of a larger one.

    Returns
    -------
    numpy.ndarray
        Whole numbers of the shape of `variance`: (z sd / epsilon)^2, rounded up, at least 1.

    Examples
    --------
    >>> required_for_space([0.02**2, 0.03**2, 0.05**2], 0.01, 0.1).tolist()
    [16.0, 35.0, 97.0]
    """
    z = special.ndtri(1 - delta / 4)
    needed: FloatArray = np.maximum(np.ceil(np.asarray(variance, float) * (z / epsilon) ** 2 - 1e-9), 1)
    return needed


@dataclass(frozen=True, eq=False)
class SampleSize(Result):
    """Required numbers of variants; arrays have shape (M, 2), one column per moment of `MOMENTS`.

    Attributes
    ----------
    models, scores
        M names and the scores, shape (M, S), NaN where a model has no score under a variant.
    n_variants
        Number N of scores of each model, shape (M,).
    moment
        Mean and variance over all N, the latter divided by N (REL, eq. 3).
    n_star
        REL's n*; NaN where there are fewer than two variants.
    exact
        Whether `n_star` is exact, rather than estimated from random orders.
    n_star_space
        Required variants of the space for scores with as many questions and generations as these; `space_limits` is
        its interval.
    n_star_space_corrected
        Required variants of the space for scores without noise; NaN where the variance over variants without the noise
        of each score is unknown or not above 0.
    corrected_low, corrected_high
        Limits of `n_star_space_corrected` for the mean; also known where that number is NaN because the variance is
        not above 0.
    epsilon, delta
        Acceptable deviation, and the probability of a larger one.
    noise_known
        Whether the noise of each score is known, shape (M,).

    Examples
    --------
    >>> size = required_variants(("m",), [[0.50, 0.52, 0.51, 0.49, 0.53, 0.50]], epsilon=0.02)
    >>> size.n_variants.tolist(), size.n_star.tolist()
    ([6], [[2.0, 2.0]])
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
        """Whether fewer than all N variants suffice, shape (M, 2); n = N suffices by construction."""
        return np.asarray(self.n_star < self.n_variants[:, None])

    def space_limits(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper limit of `n_star_space`, whole numbers, shape (M, 2) each.

        Parameters
        ----------
        level
            Coverage in (0, 1).

        Notes
        -----
        For the mean, the limits follow from those of the variance over variants, which account for its kurtosis. For
        the variance, from Student's t of the jackknife of log(m4 - sd^4), from ten variants on; they are too narrow for
        scores with heavy tails. NaN where all scores are equal, where m4 - sd^4 depends on a single score, or where
        these limits leave out the estimate, as for scores in two narrow groups.
        """
        variances = np.full((2, 2, len(self.scores)), np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            unbiased = self.moment[:, 1] * self.n_variants / (self.n_variants - 1)
        variances[0] = variance_limits(unbiased, self.scores, level)
        for m, row in enumerate(self.scores):
            variances[1, :, m] = _limits_of_variance_of_variance(row[~np.isnan(row)], level)
        low, high = required_for_space(variances.transpose(1, 2, 0), self.epsilon, self.delta)
        return low, high

    def convergence(self, model: str, *, draws: int = 2000, rng: np.random.Generator | int = 0) -> FloatArray:
        """Return the (1 - delta/2) quantile of the deviation of both moments over n = 1..N variants, shape (2, N)."""
        x = self.scores[self.models.index(model)]
        x = x[~np.isnan(x)]
        return deviation_quantiles(x, draw_orders(len(x), draws, rng), self.delta)

    def bands(self, model: str, *, draws: int = 2000, rng: np.random.Generator | int = 0) -> FloatArray:
        """Return the mean deviation of both moments over n = 1..N variants, and its central 1 - delta, as REL draws it.

        Parameters
        ----------
        model
            Name of the model.
        draws, rng
            Number of random orders of the variants, and their generator or seed.

        Returns
        -------
        numpy.ndarray
            Shape (3, 2, N): mean, delta/2 quantile and 1 - delta/2 quantile of |moment of n - moment of all N|.

        References
        ----------
        Lior et al. (2025), ReliableEval, figure 2.

        Examples
        --------
        >>> size = required_variants(("m",), [[0.50, 0.52, 0.51, 0.49, 0.53, 0.50]])
        >>> size.bands("m").shape, bool(size.bands("m")[:, :, -1].max() < 1e-12)
        ((3, 2, 6), True)
        """
        x = self.scores[self.models.index(model)]
        x = x[~np.isnan(x)]
        return deviation_bands(x, draw_orders(len(x), draws, rng), self.delta)

    @property
    def exceeds_variance(self) -> NDArray[np.bool_]:
        """Whether epsilon is at least the variance over all variants, shape (M,): a variance of 0 is near it, too."""
        return np.asarray(self.epsilon >= self.moment[:, 1])

    @property
    def note(self) -> NDArray[np.object_]:
        """Reason for a NaN or for caution, shape (M, 2)."""
        some = np.broadcast_to(self.n_variants[:, None] > 1, self.n_star.shape)
        near = some & self.reached & (self.n_star > self.n_variants[:, None] / 4)
        beyond = some & (self.n_star_space > self.n_variants[:, None])
        flat = some & (self.moment[:, 1:] <= _ROUNDING**2 * self.moment[:, :1] ** 2)
        vague = some & ~flat & np.column_stack([np.zeros(len(self.scores), bool), self.exceeds_variance])
        reasons = {
            "epsilon is as large as the variance: n_star of the variance says nothing": vague,
            "fewer than two variants have a score over all questions: how many are enough is unknown": ~some,
            "no smaller number of these variants is enough (n_star)": some & ~self.reached & (self.n_star > 1),
            "n_star is biased low: it is not far below the reference variants": near,
            "for the whole space more variants are needed than were drawn": beyond,
            "no two variants differ in score, which is no certainty: no interval": flat,
            "two variants say nothing of how the variance varies": some & np.isnan(self.n_star_space),
            "n_star_space_corrected is unknown: what questions add to the noise of each score is not known": some
            & ~self.noise_known[:, None],
            "n_star_space_corrected is unknown: variants differ by no more than the noise of their scores": some
            & self.noise_known[:, None]
            & np.all(np.isnan(self.n_star_space_corrected), axis=1, keepdims=True),
        }
        return notes(reasons)

    declared = (
        "model=models n_variants moment=_moments@1 value=moment n_star=n_star.whole n_star_space=n_star_space.whole "
        "low=space_limits.0.whole high=space_limits.1.whole n_star_space_corrected=n_star_space_corrected.whole "
        "corrected_low=corrected_low.whole corrected_high=corrected_high.whole epsilon delta note"
    )

    _moments = MOMENTS


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
    """Compute the smallest number of variants for a reliable mean and a reliable variance of each model.

    Parameters
    ----------
    models, scores
        M names, and the benchmark score of each model under each of N variants, shape (M, N); NaN where missing.
    variance, limits
        Variance over variants without the noise of each score, shape (M,), and its limits, such as
        `components.variant` and `components.limits("variant")` of `estimate_components`; NaN where unknown. They are
        used for `n_star_space_corrected`.
    epsilon, delta
        Acceptable deviation, and the probability of a larger one.
    draws, rng
        Number of random orders of the variants, for probabilities that cannot be computed exactly, and their generator
        or seed.

    Returns
    -------
    SampleSize

    Raises
    ------
    InputError
        Where shapes do not fit, a score is infinite, or an argument is out of range.

    Notes
    -----
    n* is the smallest n from which P(|moment over n - moment over N| > epsilon) stays <= delta/2, for the variance 2 or
    more; where epsilon is not below the variance itself, its n* says nothing, which the note says. For variants of the
    space, it is (z sd / epsilon)^2 for the mean and z^2 (m4 - sd^4) / epsilon^2 for the variance.

    References
    ----------
    "REL" in docs/statistics.md, definition 1 and section 3.

    Examples
    --------
    >>> scores = np.random.default_rng(0).normal(0.6, 0.06, (1, 100))  # of which sd .02 is that of the variants
    >>> size = required_variants(("m",), scores, variance=[0.02**2])
    >>> size.n_star_space[0, 0].tolist(), size.n_star_space_corrected[0, 0].tolist()
    (130.0, 16.0)
    """
    x = np.atleast_2d(np.asarray(scores, float))
    if x.ndim != 2 or x.shape[0] != len(models) or np.any(np.isinf(x)):
        remedy = f"allowed: finite or NaN, (models, variants) = ({len(models)}, any)"
        raise InputError(f"scores have shape {x.shape}", where="required_variants", remedy=remedy)
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
    orders: dict[int, IntArray] = {}
    for m, N in enumerate(n_variants.tolist()):
        there = x[m, ~np.isnan(x[m])]
        if N > 0:
            moment[m] = there.mean(), there.var()
        if N < 2:
            continue
        if N not in orders:
            orders[N] = draw_orders(N, draws, generator)
        n_star[m], exact[m] = find_required_sizes(there, orders[N], epsilon, delta / 2)
        space[m] = required_for_space([there.var(ddof=1), float(_variance_of_variance(there))], epsilon, delta)
    unknown = np.full(M, np.nan)
    noise_free = unknown if variance is None else np.asarray(variance, float)
    low, high = (unknown if limit is None else np.asarray(limit, float) for limit in limits or (None, None))
    if not noise_free.shape == low.shape == high.shape == (M,):
        what = f"variance and limits have shapes {noise_free.shape}, {low.shape} and {high.shape}"
        raise InputError(what, where="required_variants", remedy=f"allowed: ({M},), one for each model")
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
        n_star_space_corrected=_required_without_noise(x, noise_free, epsilon, delta),
        corrected_low=corrected_low,
        corrected_high=corrected_high,
        epsilon=epsilon,
        delta=delta,
        noise_known=~np.isnan(noise_free),
    )


def _required_without_noise(x: FloatArray, variance: FloatArray, epsilon: float, delta: float) -> FloatArray:
    """Return the required variants of the space for scores without noise, shape (M, 2).

    m4 - sd^4 = kappa4 + 2 sd^4 with kappa4 the fourth cumulant, which normal noise does not change.
    """
    rows = [row[~np.isnan(row)] for row in x]
    cumulant = np.array(
        [float(_variance_of_variance(row)) - 2 * row.var(ddof=1) ** 2 if len(row) > 2 else np.nan for row in rows]
    )
    of_variance = np.maximum(cumulant, 0) + 2 * variance**2
    needed = required_for_space(np.column_stack([variance, of_variance]), epsilon, delta)
    return np.where(variance[:, None] > 0, needed, np.nan)


def _variance_of_variance(x: FloatArray) -> FloatArray:
    """Return m4 - sd^4 along the last axis, n times the variance of the variance; NaN for fewer than three values."""
    n = x.shape[-1]
    if n < 3:
        return np.full(x.shape[:-1], np.nan)
    centered = x - x.mean(axis=-1, keepdims=True)
    m4, m2 = np.mean(centered**4, axis=-1), np.mean(centered**2, axis=-1)
    return np.asarray((m4 - m2**2) * n**2 / ((n - 1) * (n - 2)))


def _limits_of_variance_of_variance(x: FloatArray, level: float) -> tuple[float, float]:
    """Return the jackknife limits of m4 - sd^4; NaN where it is nearly 0 without one of the values, or outside."""
    n = len(x)
    others = x[(np.arange(n)[:, None] + np.arange(1, n)) % n]
    full, without_one = _variance_of_variance(x), _variance_of_variance(others)
    if n < _MIN_SCORES or not np.all(without_one > 0) or full <= _ROUNDING * np.mean(without_one):
        return np.nan, np.nan
    pseudo = n * np.log(full) - (n - 1) * np.log(without_one)
    half = special.stdtrit(n - 1, (1 + level) / 2) * pseudo.std(ddof=1) / np.sqrt(n)
    if half > _MAX_HALF_WIDTH:
        return np.nan, np.nan
    # the jackknife corrects a bias; where that leaves the estimate outside, the scores are too few for it
    if abs(pseudo.mean() - np.log(full)) > half:
        return np.nan, np.nan
    return float(np.exp(pseudo.mean() - half)), float(np.exp(pseudo.mean() + half))


@dataclass(frozen=True)
class ProxyCheck:
    """Whether n* of a cheap model suffices for a costly one (REL, section 4: the smaller model is an upper bound).

    Attributes
    ----------
    cheap, costly
        Names of the models.
    n_variants, n_variants_cheap
        Number of variants in which both models have a score, and in which the cheap one has.
    n_star_cheap, n_star_costly
        n* of each model on these variants, the larger of the two moments.
    chance
        Probability that mean or variance of the costly model over n_star_cheap variants deviates by more than epsilon,
        the larger of the two; allowed up to delta/2.
    bounded
        Whether `chance` is at most delta/2: n_star_cheap variants suffice.

    Examples
    --------
    >>> scores = [[0.50, 0.51, 0.52, 0.49], [0.5, 0.6, 0.7, 0.4]]
    >>> check = check_proxy(required_variants(("small", "large"), scores), "small", "large")
    >>> check.n_star_cheap, check.n_star_costly, check.bounded
    (2.0, 4.0, False)
    """

    cheap: str
    costly: str
    n_variants: int
    n_variants_cheap: int
    n_star_cheap: float
    n_star_costly: float
    chance: float
    bounded: bool


def check_proxy(
    size: SampleSize, cheap: str, costly: str, *, draws: int = 2000, rng: np.random.Generator | int = 0
) -> ProxyCheck:
    """Check on common variants whether n* of a cheap model suffices for a costly one.

    Parameters
    ----------
    size
        Result of `required_variants` for both models.
    cheap, costly
        Names of the models.
    draws, rng
        Number of random orders, and their generator or seed.

    Returns
    -------
    ProxyCheck

    Raises
    ------
    InputError
        Where a model is unknown, or where the two have fewer than two variants in common.
    """
    for name in (cheap, costly):
        if name not in size.models:
            raise InputError(f"no model {name!r}", where="proxy", remedy=f"known: {', '.join(size.models)}")
    rows = [size.models.index(name) for name in (cheap, costly)]
    there = ~np.any(np.isnan(size.scores[rows]), axis=0)
    x, N = size.scores[rows][:, there], int(there.sum())
    if N < 2:
        what = f"{cheap} and {costly} have fewer than two variants in common"
        raise InputError(what, where="proxy", remedy="ask both models in more variants")
    n_star = size.n_star[rows]
    if np.any(size.n_variants[rows] > N):
        on_these = required_variants((cheap, costly), x, epsilon=size.epsilon, delta=size.delta, draws=draws, rng=rng)
        n_star = on_these.n_star
    small, large = n_star.max(axis=1).tolist()
    far, _ = deviation_chance(x[1], draw_orders(N, draws, rng), size.epsilon, size.delta / 2)
    chance = float(far[:, int(small) - 1].max())
    return ProxyCheck(cheap, costly, N, int(size.n_variants[rows[0]]), small, large, chance, chance <= size.delta / 2)
