"""What a design of N questions, S prompt variants and K generations is worth, and how large it must be.

    Var(mean) = vQ (1/N - 1/N_all) + vS/S + vQS/(N S) + ve/(N S K) + fixed  (statistics.md sections 6 and 11)

N_all is infinite when the claim is about new questions. With S = 1 and vS = vQS = 0 this is (D + E/K)/N of sections 2
and 4: D = vQ is the data and E = ve the prediction variance, of a score or of a difference of two scores.

A pilot knows these variances with errors of their own, and a search for the cheapest design picks those that the errors
favour (few questions with many generations where D came out too small). The upper limit of the variance of one design,

    V = P/N + vS/S,   P = vQ + vQS/S + ve/(S K),   e^2 = Var(vQ) + 2 Cov(vQ, ve)/(S K) + (Var(vQS) + Var(ve)/K^2)/S^2
    V_high = V + sqrt((P/N)^2 (exp(z e/P) - 1)^2 + (z se(vS)/S)^2)

is log-normal in what falls with the number of questions, because estimated variances are skewed to the right (Bonett
2006); where z e > P, the limit P exp(z e/P) is continued by its tangent e z e, because it would otherwise rise with
more generations. It takes the errors of vQ and ve together, because those of one pilot go against each other. Limits of
independent parts are added as squares (modified large samples: Burdick and Graybill 1992, section 3.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.comparisons import POWER
from howsure.stats.core.cells import FloatArray

__all__ = [
    "VarianceComponents",
    "assurance_quantile",
    "check_range",
    "detectable_difference",
    "level_of",
    "power_of",
    "se_for_detecting",
    "se_for_width",
]

#: Relative: rounding must not buy one more question.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class VarianceComponents:
    """Where the noise of a mean comes from: variances of one question, variant or generation.

    Attributes
    ----------
    question, generation
        vQ (data) and ve (prediction); NaN where a pilot with one generation per question cannot tell them apart.
    variant, interaction
        vS and vQS; 0 where one prompt is all there is.
    total
        vQ + ve, known from one generation per question too; by default their sum.
    residual
        vQS + ve, known from one generation per question and variant too; by default their sum. With it alone, designs
        of several variants but single generations can be planned.
    question_se, generation_se, variant_se, interaction_se
        Standard errors of these estimates; 0 where they are known. Where a limit is skewed, as that of vS from few
        variants, its distance from the estimate divided by its normal quantile.
    total_se, residual_se
        Of the two sums; by default those of independent parts. `total_se` tells how vQ and ve go together.
    population
        N_all: number of questions that the claim is about; infinite for new questions.
    models
        Models behind the mean, each of which is paid for: 1 for a score, 2 for a difference.
    benchmark, note
        Where the numbers come from, and what they should be read with.
    fixed
        Variance that no design lessens, such as what all N_all questions leave open of a claim about new ones.

    >>> pair = VarianceComponents(question=0.04, generation=0.16)
    >>> pair.variance(n_questions=500, n_generations=[1, 4]).round(6).tolist()
    [0.0004, 0.00016]
    """

    question: float
    generation: float
    variant: float = 0.0
    interaction: float = 0.0
    total: float = math.nan
    population: float = math.inf
    models: int = 2
    benchmark: str = "given"
    note: str = ""
    residual: float = math.nan
    fixed: float = 0.0
    question_se: float = 0.0
    generation_se: float = 0.0
    variant_se: float = 0.0
    interaction_se: float = 0.0
    total_se: float = math.nan
    residual_se: float = math.nan

    def __post_init__(self) -> None:
        for name in ("question", "generation", "variant", "interaction", "total", "residual", "fixed"):
            for what, remedy in ((name, "a variance is 0 or more"), (f"{name}_se", "an error is 0 or more")):
                value = getattr(self, what, 0.0)
                if value < 0 or math.isinf(value):
                    raise InputError(f"{what} is {value!r}", where="Components", remedy=remedy)
        check_range("population", self.population, 1, math.inf)
        if self.models not in {1, 2}:
            raise InputError(f"models is {self.models!r}", where="Components", remedy="allowed: 1 and 2")
        if self.known:
            object.__setattr__(self, "total", self.question + self.generation)
            object.__setattr__(self, "residual", self.interaction + self.generation)
        of_parts = {
            "total_se": math.hypot(self.question_se, self.generation_se),
            "residual_se": math.hypot(self.interaction_se, self.generation_se),
        }
        for name, value in of_parts.items():
            if math.isnan(getattr(self, name)):
                object.__setattr__(self, name, 0.0 if math.isnan(value) else value)

    @property
    def uncertain(self) -> bool:
        """Whether some variance is an estimate with a standard error."""
        names = ("question_se", "generation_se", "variant_se", "interaction_se", "total_se", "residual_se")
        return any(getattr(self, name) > 0 for name in names)

    @property
    def known(self) -> bool:
        """Whether data and prediction noise are told apart; if not, only single generations can be planned."""
        return not math.isnan(self.question + self.generation + self.interaction)

    @property
    def crossed(self) -> bool:
        """Whether several variants can be planned."""
        return self.known or not math.isnan(self.question + self.variant + self.residual)

    @property
    def single(self) -> float:
        """Variance of one generation of one question in one variant, whatever is known of its parts."""
        if self.crossed:
            return self.question + self.variant + self.residual
        return self.total + self.variant + self.interaction

    def variance(
        self,
        n_questions: ArrayLike,
        n_generations: ArrayLike = 1,
        n_variants: ArrayLike = 1,
        *,
        assurance: float | None = None,
    ) -> FloatArray:
        """Squared standard error of the mean of each design, the broadcast shape of the three.

        With an `assurance` above 0.5, its one-sided upper limit at this level. NaN where it takes a component that is
        unknown. More questions than the population has are an error.
        """
        N, K, S = (
            check_range(name, values, 1, most)
            for name, values, most in (
                ("n_questions", n_questions, self.population),
                ("n_generations", n_generations, math.inf),
                ("n_variants", n_variants, math.inf),
            )
        )
        if self.known:
            plain = self._data(N) + self.variant / S + (self.interaction + self.generation / K) / (N * S)
        else:
            plain = self._per_question(K, S) / N + self.variant / S - self._seen
        z = assurance_quantile(assurance)
        if not z or not self.uncertain:
            return plain
        q, both, cell = self._errors(K, S)
        seen, drawn = 1 / N - 1 / self.population, 1 / N
        e2 = np.maximum(q * seen**2 + 2 * both * seen * drawn + cell * drawn**2, 0)
        high: FloatArray = plain + z * np.sqrt(self._skew(K, S, z) ** 2 * e2 + (self.variant_se / S) ** 2)
        return high

    def limits(
        self, n_questions: ArrayLike, n_generations: ArrayLike = 1, n_variants: ArrayLike = 1, *, level: float = 0.8
    ) -> tuple[FloatArray, FloatArray]:
        """Two-sided interval of the squared standard error of each design: V^2/V_high and V_high at (1 + level)/2.

        >>> pilot = VarianceComponents(question=0.04, generation=0.16, question_se=0.02, generation_se=0.02)
        >>> [round(float(limit), 6) for limit in pilot.limits(500, 4)]
        [0.000115, 0.000223]
        """
        plain = self.variance(n_questions, n_generations, n_variants)
        high = self.variance(n_questions, n_generations, n_variants, assurance=(1 + _level(level)) / 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            low: FloatArray = np.where(plain > 0, plain**2 / high, 0 * plain)
        return low, high

    def questions_for(
        self, se: ArrayLike, n_generations: ArrayLike = 1, n_variants: ArrayLike = 1, *, assurance: float | None = None
    ) -> FloatArray:
        """Smallest N whose standard error, or its upper limit at `assurance`, is at most `se`.

        Infinite where no N is enough, NaN where unknown.
        """
        K, S = (
            check_range("n_generations", n_generations, 1, math.inf),
            check_range("n_variants", n_variants, 1, math.inf),
        )
        z = assurance_quantile(assurance)
        if z and self.uncertain:
            return self._assured_questions(np.asarray(se, float), K, S, assurance)
        N = _smallest(self._per_question(K, S), self.variant / S - self._seen, se)
        return np.where(self.population < N, np.inf, N)

    def generations_for(self, se: ArrayLike, n_questions: ArrayLike, n_variants: ArrayLike = 1) -> FloatArray:
        """Smallest K with a standard error of at most `se`; inf where no K is enough, NaN where unknown."""
        N, S = (
            check_range("n_questions", n_questions, 1, self.population),
            check_range("n_variants", n_variants, 1, math.inf),
        )
        K = _smallest(self.generation / (N * S), self.variance(N, np.inf, S), se)
        return np.where(self._reached(se, N, 1, S), 1.0, K)

    def variants_for(self, se: ArrayLike, n_questions: ArrayLike, n_generations: ArrayLike = 1) -> FloatArray:
        """Smallest S with a standard error of at most `se`; inf where no S is enough, NaN where unknown."""
        N, K = (
            check_range("n_questions", n_questions, 1, self.population),
            check_range("n_generations", n_generations, 1, np.inf),
        )
        divided = self.variant + self._cell(K) / N
        S = _smallest(divided, self._data(N), se)
        return np.where(self._reached(se, N, K, 1), 1.0, S)

    def best_generations(
        self,
        request_cost: ArrayLike,
        generation_cost: ArrayLike,
        *,
        n_questions: float | None = None,
        n_variants: float = 1,
    ) -> FloatArray:
        """K, not rounded, that gives the smallest error for its cost when one request returns all K generations.

        Two-stage sampling (Cochran 1977, ch. 10): sqrt(request_cost / generation_cost * ve / (vQS + N vS)) for N given
        questions and any number of variants, sqrt(request_cost / generation_cost * ve / (vQS + S vQ)) for S given
        variants and any number of new questions: with one, sqrt(request_cost / generation_cost * E / D). At least 1;
        inf where generations are free, or all noise is theirs. `planning.plan` searches the whole numbers instead.
        """
        prompts = n_variants * self.question if n_questions is None else n_questions * self.variant
        gain = check_range("request_cost", request_cost, 0, math.inf) * self.generation
        loss = check_range("generation_cost", generation_cost, 0, math.inf) * (self.interaction + prompts)
        with np.errstate(divide="ignore", invalid="ignore"):
            best: FloatArray = np.where(gain == 0, 1, np.maximum(np.sqrt(gain / loss), 1))
        return best

    def _errors(self, K: FloatArray, S: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Var(vQ), Cov(vQ, ve)/(S K) and Var(vQS + ve/K)/S^2: errors of what falls with the number of questions."""
        if self.crossed:
            q = np.full(np.broadcast(K, S).shape, self.question_se**2)
            of_cell = np.where(K == 1, self.residual_se**2, self.interaction_se**2 + self.generation_se**2 / K**2)
            covariance = (self.total_se**2 - self.question_se**2 - self.generation_se**2) / 2 if self.known else 0.0
            return q, covariance / (S * K) + 0 * q, of_cell / S**2
        total = np.full(np.broadcast(K, S).shape, self.total_se**2)
        return 0 * total, 0 * total, total

    def _skew(self, K: FloatArray, S: FloatArray, z: float) -> FloatArray:
        """Return the margin of the upper limit of P, divided by the margin z e of a normal limit.

        P falls with K, so that the limit of single generations holds for several generations too.
        """
        single = np.ones(())
        P, P_single = self._per_question(K, S), self._per_question(single, S)
        margin = z * self._error(K, S)
        high = np.minimum(_upper_limit(P, margin), _upper_limit(P_single, z * self._error(single, S)))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(margin > 0, (high - P) / margin, 1.0)

    def _error(self, K: FloatArray, S: FloatArray) -> FloatArray:
        """Standard error of P."""
        q, both, cell = self._errors(K, S)
        error: FloatArray = np.sqrt(np.maximum(q + 2 * both + cell, 0))
        return error

    def _assured_questions(self, se: FloatArray, K: FloatArray, S: FloatArray, assurance: float | None) -> FloatArray:
        """Smallest N whose upper limit is at most se^2: a quadratic in t = 1/N - 1/N_all, then whole numbers."""
        z, f = assurance_quantile(assurance), 1 / self.population
        factor = (z * self._skew(K, S, z)) ** 2
        q, both, of_cell = self._errors(K, S)
        P = self._per_question(K, S)
        # V = P t + fixed, margin^2 = A t^2 + B t + C: wanted is the largest t with V + margin <= se^2
        fixed = self.fixed + self.variant / S + (f * (P - self.question) if f else 0.0)
        left = se**2 * (1 + _ROUNDING) - fixed
        A, B = factor * (q + 2 * both + of_cell), 2 * f * factor * (both + of_cell)
        C = factor * of_cell * f**2 + (z * self.variant_se / S) ** 2
        rest = left**2 - C
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = 2 * P * left + B
            root = np.sqrt(np.maximum(slope**2 - 4 * (P**2 - A) * rest, 0))
            t = np.where((left > 0) & (rest > 0), 2 * rest / (slope + root), np.nan)
            near = np.ceil(1 / (t + f))
        most = self.population
        found = np.full(near.shape, np.inf)
        for step in (1, 0, -1):  # the root is exact up to rounding
            N = np.clip(np.nan_to_num(near + step, nan=1.0, posinf=1.0), 1, most)
            enough = self.variance(N, K, S, assurance=assurance) <= se**2 * (1 + _ROUNDING)
            found = np.where(enough & ~np.isnan(t), N, found)
        return np.where(np.isnan(P + se), np.nan, found)

    @property
    def _seen(self) -> float:
        """vQ/N_all, what asking all questions of a finite population takes away, less what no design does."""
        return (0.0 if math.isinf(self.population) else self.question / self.population) - self.fixed

    def _data(self, N: FloatArray) -> FloatArray:
        """vQ/N - vQ/N_all, exactly 0 where N is N_all, and what no design lessens."""
        return self.question * (1 - N / self.population) / N + self.fixed

    def _reached(self, se: ArrayLike, N: FloatArray, K: ArrayLike, S: ArrayLike) -> NDArray[np.bool_]:
        """Known where the components are not, for single generations."""
        reached: NDArray[np.bool_] = self.variance(N, K, S) <= np.square(np.asarray(se, float)) * (1 + _ROUNDING)
        return reached

    def _per_question(self, K: FloatArray, S: FloatArray) -> FloatArray:
        """N times the part of the variance that falls with N."""
        split = self.question + self._cell(K) / S
        if self.crossed:
            return split
        # K = S = 1 needs only vQ + ve, which is known where the two are not
        together: FloatArray = np.where((K == 1) & (S == 1), self.total + self.interaction, split)
        return together

    def _cell(self, K: FloatArray) -> FloatArray:
        """VQS + ve/K; of single generations known where the two are not."""
        cell: FloatArray = np.where(K == 1, self.residual, self.interaction + self.generation / K)
        return cell


def assurance_quantile(assurance: float | None) -> float:
    """Normal quantile of a one-sided level from 0.5 on; 0 for None, which takes all variances as known."""
    if assurance is None:
        return 0.0
    if not 0.5 <= assurance < 1:
        allowed = "allowed: from 0.5 to below 1, such as 0.8; 0.5 or none takes the variances as known"
        raise InputError(f"assurance is {assurance!r}", remedy=allowed)
    return float(special.ndtri(assurance))


def detectable_difference(se: ArrayLike, *, level: float = 0.95, power: float = POWER) -> FloatArray:
    """Smallest true difference that a two-sided test at `level` finds with chance `power`, the shape of `se`.

    (z_{1 - alpha/2} + z_power) se, statistics.md section 11: normal theory, the other tail neglected. Below some
    hundred questions the t test needs a little more: 1.5 % at 100 questions, 5 % at 30.

    >>> detectable_difference([0.01, 0.02]).round(4).tolist()
    [0.028, 0.056]
    """
    found: FloatArray = _quantiles(level, power) * check_range("se", se, 0, math.inf)
    return found


def se_for_detecting(difference: ArrayLike, *, level: float = 0.95, power: float = POWER) -> FloatArray:
    """Largest standard error with which `difference` is detectable: the inverse of `detectable`."""
    size = np.abs(np.asarray(difference, float))
    needed: FloatArray = check_range("difference", size, 0, math.inf) / _quantiles(level, power)
    return needed


def se_for_width(width: ArrayLike, *, level: float = 0.95) -> FloatArray:
    """Largest standard error with which the normal interval, from low to high, is no wider than `width`."""
    needed: FloatArray = check_range("width", width, 0, math.inf) / (2 * special.ndtri((1 + _level(level)) / 2))
    return needed


def power_of(difference: ArrayLike, se: ArrayLike, *, level: float = 0.95) -> FloatArray:
    """Chance that a two-sided normal test at `level` finds a true `difference`; both tails, any broadcast shape.

    >>> power_of([0, 0.028], 0.01).round(2).tolist()
    [0.05, 0.8]
    """
    z = special.ndtri((1 + _level(level)) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.abs(np.asarray(difference, float)) / check_range("se", se, 0, math.inf)
    chance: FloatArray = special.ndtr(shift - z) + special.ndtr(-shift - z)
    return chance


def level_of(difference: ArrayLike, se: ArrayLike, *, power: float = POWER) -> FloatArray:
    """Highest level 1 - alpha at which `difference` is detectable with chance `power`; NaN where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.abs(np.asarray(difference, float)) / check_range("se", se, 0, math.inf)
    z = shift - special.ndtri(_power(power))
    level: FloatArray = np.where(z > 0, 2 * special.ndtr(np.maximum(z, 0)) - 1, np.nan)
    return level


def check_range(name: str, values: ArrayLike, low: float, high: float) -> FloatArray:
    """The values as an array of floats, all between `low` and `high` or NaN; else an InputError that names them."""
    array = np.asarray(values, float)
    if np.any((array < low) | (array > high)):
        wrong = float(array[(array < low) | (array > high)].flat[0])
        allowed = f"{low:g} or more" if math.isinf(high) else f"from {low:g} to {high:g}"
        raise InputError(f"{name} is {wrong:g}", remedy=f"allowed: {allowed}")
    return array


def _upper_limit(P: FloatArray, margin: FloatArray) -> FloatArray:
    """Return the log-normal limit P exp(margin / P), continued by its tangent e margin where margin > P.

    The limit thus falls neither with P nor with the margin; the log-normal limit alone rises as P approaches 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(margin <= P, P * np.exp(np.minimum(margin / P, 1)), math.e * margin)


def _smallest(divided: FloatArray, fixed: FloatArray, se: ArrayLike) -> FloatArray:
    """Smallest whole x >= 1 with divided / x + fixed <= se^2; inf where there is none, NaN where anything is."""
    V = check_range("se", se, 0, math.inf) ** 2
    rest = V * (1 + _ROUNDING) - fixed
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.where(divided == 0, 1, np.maximum(np.ceil(divided / rest * (1 - _ROUNDING)), 1))
    # what is left by rounding is nothing to divide into
    x = np.where((rest > 2 * _ROUNDING * V) | ((divided == 0) & (rest >= 0)), x, np.inf)
    x = np.where(np.isinf(V), 1.0, x)
    smallest: FloatArray = np.where(np.isnan(divided + fixed + V), np.nan, x)
    return smallest


def _quantiles(level: float, power: float) -> float:
    return float(special.ndtri((1 + _level(level)) / 2) + special.ndtri(_power(power)))


def _level(level: float) -> float:
    if not 0 < level < 1:
        raise InputError(f"level is {level!r}", remedy="allowed: between 0 and 1, such as 0.95")
    return level


def _power(power: float) -> float:
    if not 0.5 <= power < 1:
        raise InputError(f"power is {power!r}", remedy="allowed: from 0.5 to below 1, such as 0.8")
    return power
