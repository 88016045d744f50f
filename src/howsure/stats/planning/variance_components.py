"""Standard error of a design of N questions, S prompt variants and K generations, and designs for a standard error.

    Var(mean) = vQ (1/N - 1/N_all) + vS/S + vQS/(N S) + ve/(N S K) + fixed  (docs/methods/plans.md)

N_all is infinite for claims about new questions. With S = 1 and vS = vQS = 0 this is (D + E/K)/N of sections 2 and 4:
D = vQ is the data variance and E = ve the prediction variance, of a score or of a difference of two scores.

Variances from a pilot have estimation errors, and a search for the cheapest design prefers the designs that the errors
favour (few questions with many generations where D was underestimated). The upper limit of the variance of one design,

    V = P/N + vS/S,   P = vQ + vQS/S + ve/(S K),   e^2 = Var(vQ) + 2 Cov(vQ, ve)/(S K) + (Var(vQS) + Var(ve)/K^2)/S^2
    V_high = V + sqrt((P_high - P)^2/N^2 + (z se(vS)/S)^2),   P_high = min over 1 to K generations of P exp(z e/P)

is log-normal in what falls with the number of questions, because estimated variances are skewed to the right (Bonett
2006); where z e > P, the limit P exp(z e/P) is continued by its tangent e z e, because it would otherwise rise as P
approaches 0. P falls with K, so that an upper limit for fewer generations is one for more generations too, and more
generations never need more questions. The limit takes the errors of vQ and ve together, because the errors of one pilot
are negatively correlated. Limits of independent parts are added as squares (modified large samples: Burdick and
Graybill 1992, section 3.2). With finite N_all, V = P (1/N - 1/N_all) + W/N_all + vS/S with W = P - vQ, whose limit is
of the same form, and the margins of P and W add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from howsure.errors import InputError
from howsure.stats.comparisons import POWER
from howsure.stats.core.cells import FloatArray
from howsure.stats.core.claims import check_level

__all__ = [
    "VarianceComponents",
    "assurance_quantile",
    "check_range",
    "detectable_difference",
    "se_for_detecting",
    "se_for_width",
]

#: Relative tolerance of a comparison with the target, so that rounding does not add a question.
_ROUNDING = 1e-12

#: Numbers of generations whose limits hold for more generations too: all up to 10,000, then powers of two.
_FEWER_GENERATIONS = np.append(np.arange(1.0, 10_001.0), 2.0 ** np.arange(14, 61))


@dataclass(frozen=True)
class VarianceComponents:
    """Variances of one question, variant and generation, for the standard error of a mean.

    Attributes
    ----------
    question, generation
        Data variance vQ and prediction variance ve; NaN where a pilot with one generation per question cannot separate
        them.
    variant, interaction
        vS and vQS; 0 for a single prompt.
    total
        vQ + ve, which is also known from one generation per question; by default their sum.
    residual
        vQS + ve, which is also known from one generation per question and variant; by default their sum. It suffices
        for designs of several variants with single generations.
    question_se, generation_se, variant_se, interaction_se
        Standard errors of these estimates; 0 for known variances. For skewed limits, as of vS from few variants, the
        distance of the limit from the estimate divided by its normal quantile.
    total_se, residual_se
        Standard errors of the two sums; by default those of independent terms. `total_se` implies the covariance of the
        estimates of vQ and ve.
    population
        N_all, the number of questions that the claim is about; infinite for new questions.
    models
        Number of models that are paid: 1 for a score, 2 for a difference.
    benchmark, note
        Source of the numbers, and remarks on them.
    fixed
        Variance that no design reduces, such as the uncertainty of a claim about new questions given all N_all ones.

    Examples
    --------
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
        if self.is_separable:
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
        """Whether some variance has a standard error above 0."""
        names = ("question_se", "generation_se", "variant_se", "interaction_se", "total_se", "residual_se")
        return any(getattr(self, name) > 0 for name in names)

    @property
    def is_separable(self) -> bool:
        """Whether data and prediction variance are known separately; if not, only single generations can be planned."""
        return not math.isnan(self.question + self.generation + self.interaction)

    @property
    def has_variants(self) -> bool:
        """Whether several variants can be planned."""
        return self.is_separable or not math.isnan(self.question + self.variant + self.residual)

    @property
    def single(self) -> float:
        """Variance of one generation of one question in one variant."""
        if self.has_variants:
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
        """Return the squared standard error of the mean of each design, or its upper limit.

        Parameters
        ----------
        n_questions, n_generations, n_variants
            N, K and S, each 1 or more, of shapes that can be broadcast; N is at most `population`.
        assurance
            One-sided level of the upper limit, from 0.5 to below 1; None or 0.5: the estimate.

        Returns
        -------
        numpy.ndarray
            The broadcast shape; NaN where a component is unknown.
        """
        N, K, S = (
            check_range(name, values, 1, most)
            for name, values, most in (
                ("n_questions", n_questions, self.population),
                ("n_generations", n_generations, math.inf),
                ("n_variants", n_variants, math.inf),
            )
        )
        if self.is_separable:
            plain = self._data(N) + self.variant / S + (self.interaction + self.generation / K) / (N * S)
        else:
            plain = self._per_question(K, S) / N + self.variant / S - self._population_term
        z = assurance_quantile(assurance)
        if not z or not self.uncertain:
            return plain
        margin, margin_of_all = self._margins(K, S, z)
        drawn_share = 1 / N - 1 / self.population
        high: FloatArray = plain + np.hypot(margin * drawn_share + margin_of_all, z * self.variant_se / S)
        return high

    def limits(
        self, n_questions: ArrayLike, n_generations: ArrayLike = 1, n_variants: ArrayLike = 1, *, level: float = 0.8
    ) -> tuple[FloatArray, FloatArray]:
        """Return the interval of the squared standard error of each design: V^2/V_high and V_high at (1 + level)/2.

        Examples
        --------
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
        """Return the smallest N whose standard error, or its upper limit at `assurance`, is at most `se`.

        It is inf where no N suffices, and NaN where a component is unknown.
        """
        K, S = (
            check_range("n_generations", n_generations, 1, math.inf),
            check_range("n_variants", n_variants, 1, math.inf),
        )
        z = assurance_quantile(assurance)
        if z and self.uncertain:
            return self._assured_questions(np.asarray(se, float), K, S, assurance)
        N = _smallest(self._per_question(K, S), self.variant / S - self._population_term, se)
        return np.where(self.population < N, np.inf, N)

    def _errors(self, K: FloatArray, S: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return Var(vQ), Cov(vQ, ve)/(S K) and Var(vQS + ve/K)/S^2, the errors of the terms that fall with N."""
        if self.has_variants:
            q = np.full(np.broadcast(K, S).shape, self.question_se**2)
            of_cell = np.where(K == 1, self.residual_se**2, self.interaction_se**2 + self.generation_se**2 / K**2)
            covariance = (
                (self.total_se**2 - self.question_se**2 - self.generation_se**2) / 2 if self.is_separable else 0.0
            )
            return q, covariance / (S * K) + 0 * q, of_cell / S**2
        total = np.full(np.broadcast(K, S).shape, self.total_se**2)
        return 0 * total, 0 * total, total

    def _margins(self, K: FloatArray, S: FloatArray, z: float) -> tuple[FloatArray, FloatArray]:
        """Return the margins of the upper limits of P and of W/N_all, where V = P (1/N - 1/N_all) + W/N_all + vS/S.

        P and W fall with K, so that a limit of fewer generations holds for more too: the smallest is taken.
        """
        fewer = _FEWER_GENERATIONS[: max(np.searchsorted(_FEWER_GENERATIONS, np.max(K, initial=1), side="right"), 1)]
        variants, row = np.unique(S, return_inverse=True)
        last = np.searchsorted(fewer, K, side="right") - 1

        def margin(of_data: bool) -> FloatArray:
            """Return the upper limit of P, or of W, less its estimate."""
            smallest = np.minimum.accumulate(self._high(fewer, variants[:, None], z, of_data=of_data), axis=1)
            high = np.minimum(self._high(K, S, z, of_data=of_data), smallest[row.reshape(S.shape), last])
            return high - self._per_question(K, S) + (0.0 if of_data else self.question)

        return margin(True), np.zeros(()) if math.isinf(self.population) else margin(False) / self.population

    def _high(self, K: FloatArray, S: FloatArray, z: float, *, of_data: bool) -> FloatArray:
        """Return the upper limit of P, or without the data noise of W, of these numbers of generations alone."""
        q, both, cell = self._errors(K, S)
        P = self._per_question(K, S)
        if of_data:
            return _upper_limit(P, z * np.sqrt(np.maximum(q + 2 * both + cell, 0)))
        return _upper_limit(P - self.question, z * np.sqrt(cell))

    def _assured_questions(self, se: FloatArray, K: FloatArray, S: FloatArray, assurance: float | None) -> FloatArray:
        """Return the smallest N whose upper limit is at most se^2, from a quadratic equation in t = 1/N - 1/N_all."""
        z, f = assurance_quantile(assurance), 1 / self.population
        margin, margin_of_all = self._margins(K, S, z)
        P = self._per_question(K, S)
        # the largest t with V + sqrt((margin t + margin_of_all)^2 + (z se(vS)/S)^2) <= se^2, where V = P t + fixed
        fixed = self.fixed + self.variant / S + (f * (P - self.question) if f else 0.0)
        remaining = se**2 * (1 + _ROUNDING) - fixed
        A, B = margin**2, 2 * margin * margin_of_all
        C = margin_of_all**2 + (z * self.variant_se / S) ** 2
        rest = remaining**2 - C
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = 2 * P * remaining + B
            root = np.sqrt(np.maximum(slope**2 - 4 * (P**2 - A) * rest, 0))
            t = np.where((remaining > 0) & (rest > 0), 2 * rest / (slope + root), np.nan)
            near = np.ceil(1 / (t + f))
        smallest = np.full(near.shape, np.inf)
        for step in (1, 0, -1):  # the root is exact up to rounding
            N = np.clip(np.nan_to_num(near + step, nan=1.0, posinf=1.0), 1, self.population)
            is_sufficient = self.variance(N, K, S, assurance=assurance) <= se**2 * (1 + _ROUNDING)
            smallest = np.where(is_sufficient & ~np.isnan(t), N, smallest)
        return np.where(np.isnan(P + se), np.nan, smallest)

    @property
    def _population_term(self) -> float:
        """vQ/N_all - fixed: the finite population correction minus the fixed variance."""
        return (0.0 if math.isinf(self.population) else self.question / self.population) - self.fixed

    def _data(self, N: FloatArray) -> FloatArray:
        """Return vQ/N - vQ/N_all + fixed, where the difference is exactly 0 for N = N_all."""
        return self.question * (1 - N / self.population) / N + self.fixed

    def _per_question(self, K: FloatArray, S: FloatArray) -> FloatArray:
        """Return P, N times the terms of the variance that fall with N."""
        split = self.question + self._cell(K) / S
        if self.has_variants:
            return split
        # K = S = 1 needs only vQ + ve
        together: FloatArray = np.where((K == 1) & (S == 1), self.total + self.interaction, split)
        return together

    def _cell(self, K: FloatArray) -> FloatArray:
        """Return vQS + ve/K, which for K = 1 is the residual."""
        cell: FloatArray = np.where(K == 1, self.residual, self.interaction + self.generation / K)
        return cell


def assurance_quantile(assurance: float | None) -> float:
    """Return the normal quantile of a one-sided level from 0.5 on; 0 for None."""
    if assurance is None:
        return 0.0
    if not 0.5 <= assurance < 1:
        allowed = "allowed: from 0.5 to below 1, such as 0.8; 0.5 or none takes the variances as known"
        raise InputError(f"assurance is {assurance!r}", remedy=allowed)
    return float(special.ndtri(assurance))


def detectable_difference(se: ArrayLike, *, level: float = 0.95, power: float = POWER) -> FloatArray:
    """Return the smallest true difference that a two-sided test at `level` detects with probability `power`.

    Parameters
    ----------
    se
        Standard error of the difference, any shape.
    level, power
        1 - significance level, in (0, 1), and power, from 0.5 to below 1.

    Notes
    -----
    (z_{1 - alpha/2} + z_power) se (docs/methods/plans.md): normal theory without the other tail. The t test
    needs a difference that is 1.5 % larger with 100 questions, and 5 % larger with 30.

    Examples
    --------
    >>> detectable_difference([0.01, 0.02]).round(4).tolist()
    [0.028, 0.056]
    """
    return np.asarray(_quantiles(level, power) * check_range("se", se, 0, math.inf))


def se_for_detecting(difference: ArrayLike, *, level: float = 0.95, power: float = POWER) -> FloatArray:
    """Return the largest standard error with which `difference` is detected: the inverse of `detectable_difference`."""
    size = np.abs(np.asarray(difference, float))
    needed: FloatArray = check_range("difference", size, 0, math.inf) / _quantiles(level, power)
    return needed


def se_for_width(width: ArrayLike, *, level: float = 0.95) -> FloatArray:
    """Return the largest standard error with which the normal interval is at most `width` wide, low to high."""
    needed: FloatArray = check_range("width", width, 0, math.inf) / (2 * special.ndtri((1 + _level(level)) / 2))
    return needed


def check_range(name: str, values: ArrayLike, low: float, high: float) -> FloatArray:
    """Return the values as floats, or raise `InputError` unless all are between `low` and `high` or NaN."""
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
        return np.where(margin < P, P * np.exp(np.minimum(margin / P, 1)), math.e * margin)


def _smallest(divided: FloatArray, fixed: FloatArray, se: ArrayLike) -> FloatArray:
    """Return the smallest whole x >= 1 with divided / x + fixed <= se^2; inf where there is none, NaN for NaN."""
    V = check_range("se", se, 0, math.inf) ** 2
    rest = V * (1 + _ROUNDING) - fixed
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.where(divided == 0, 1, np.maximum(np.ceil(divided / rest * (1 - _ROUNDING)), 1))
    # a remainder of the size of rounding errors counts as 0
    x = np.where((rest > 2 * _ROUNDING * V) | ((divided == 0) & (rest >= 0)), x, np.inf)
    x = np.where(np.isinf(V), 1.0, x)
    smallest: FloatArray = np.where(np.isnan(divided + fixed + V), np.nan, x)
    return smallest


def _quantiles(level: float, power: float) -> float:
    """Return the sum of the normal quantiles of a two-sided level and of a power."""
    return float(special.ndtri((1 + _level(level)) / 2) + special.ndtri(_power(power)))


def _level(level: float) -> float:
    """Return the level, or raise `InputError` unless it is in (0, 1)."""
    check_level(level)
    return level


def _power(power: float) -> float:
    """Return the power, or raise `InputError` unless it is from 0.5 to below 1."""
    if not 0.5 <= power < 1:
        raise InputError(f"power is {power!r}", remedy="allowed: from 0.5 to below 1, such as 0.8")
    return power
