"""Combination of several benchmarks into one statement about two models.

    z_meta = sum w_e z_e / sqrt(sum w_e^2)          one z per benchmark e           (NOISE appendix D, Zaykin 2011)
    Q = sum (d_e - d)^2 / SE_e^2,  d = sum (d_e / SE_e^2) / sum (1 / SE_e^2)        (Cochran 1954)

Q asks whether the benchmarks have one difference d in common, whatever their weights. z_meta needs no such thing: it
tests "no difference on any". The difference of two mean scores is another matter: see `core.strata`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import special

from howsure.errors import InputError, UnknownNameError
from howsure.stats.comparisons.pairs import Comparison
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.claims import WEIGHT_RULES, WeightRule, check_choice
from howsure.stats.core.intervals import FEW_DF, FEWEST_DF, compute_normal_score
from howsure.stats.core.results import Columns, Result, make_columns, notes

__all__ = [
    "COMBINED",
    "Combination",
    "combine",
]

#: Methods of comparisons whose p-values are not those of a combination.
_WITH_PSEUDO_QUESTIONS = frozenset({None, "adjusted-t"})

#: Why p-values differ from those of `compare` with these methods.
_OTHER_TEST = (
    "p-values are of Student's t without the two pseudo-questions of compare: many careful tests would be too careful"
)

#: The row of the meta z.
COMBINED = "(combined)"


@dataclass(frozen=True, eq=False)
class Combination(Result):
    """Evidence about `model_a` - `model_b` from B benchmarks; arrays have shape (B,).

    Attributes
    ----------
    n_questions, difference, se
        Of each benchmark.
    z
        Standard normal where the models are equal; NaN where the benchmark cannot say.
    weight
        Scaled so that sum weight^2 = 1 and the meta z is sum weight z; 0 for what is left out.
    z_meta, p_meta
        The meta z and its two-sided p-value; NaN where no benchmark is left.
    q, q_df, q_p
        Q above over the benchmarks that are not left out, its degrees of freedom and its p-value: by chi-squared for
        CLT comparisons, by Welch's test (1951) for t. NaN for fewer than two.
    remarks
        A note on each benchmark; empty where there is nothing to say.
    is_adjusted
        Whether the interval of some comparison has two pseudo-questions: its p-value is another one than here.
    is_welch
        Whether `q_p` is of Welch's test.

    Examples
    --------
    >>> from howsure.stats.comparisons import compare
    >>> from howsure.stats.core.cells import Cells
    >>> one = Cells.from_scores("one", ["a", "b"], ["1", "2", "3"], [[[1], [1], [1]], [[0], [1], [0]]])
    >>> two = Cells.from_scores("two", ["a", "b"], ["1", "2", "3"], [[[1], [0], [1]], [[0], [0], [1]]])
    >>> result = combine([compare(cells, "a", "b", method="clt") for cells in (one, two)])
    >>> result.benchmarks, round(result.z_meta, 2), result.q_df
    (('one', 'two'), 2.6, 1)
    """

    benchmarks: tuple[str, ...]
    model_a: str
    model_b: str
    n_questions: IntArray
    difference: FloatArray
    se: FloatArray
    z: FloatArray
    weight: FloatArray
    z_meta: float
    p_meta: float
    q: float
    q_df: int
    q_p: float
    remarks: tuple[str, ...] = field(default=(), repr=False)
    is_adjusted: bool = False
    is_welch: bool = False

    @property
    def i2(self) -> float:
        """I^2: share of the spread of the differences over benchmarks that noise does not explain, from 0 to 1."""
        if math.isnan(self.q):
            return math.nan
        return max(0.0, 1 - self.q_df / self.q) if self.q > 0 else 0.0

    def columns(self) -> Columns:
        """Return one row per benchmark, and the row `COMBINED` below them."""
        rows = len(self.benchmarks) + 1
        used = self.weight > 0
        return make_columns(
            rows,
            benchmark=np.array([*self.benchmarks, COMBINED], dtype=object),
            model_a=self.model_a,
            model_b=self.model_b,
            n_questions=np.append(self.n_questions, np.sum(self.n_questions, where=used)),
            difference=np.append(self.difference, self.difference_meta),
            se=np.append(self.se, self.se_meta),
            z=np.append(self.z, self.z_meta),
            p_value=np.append(_two_sided(self.z), self.p_meta),
            weight=np.append(self.shares, np.nan),
            note=np.array([*self.remarks, self._agreement()], dtype=object),
        )

    @property
    def se_meta(self) -> float:
        """Standard error of `difference_meta`, 1 / sum (weight / SE); NaN where no benchmark is left."""
        used = self.weight > 0
        return 1 / float(np.sum(self.weight[used] / self.se[used])) if np.any(used) else math.nan

    @property
    def shares(self) -> FloatArray:
        """Share of each benchmark's difference in `difference_meta`, as weight / SE: they sum to 1, 0 if left out."""
        used = self.weight > 0
        each = np.divide(self.weight, self.se, out=np.zeros(len(used)), where=used)
        return each / max(float(np.sum(each)), np.finfo(float).tiny)

    @property
    def difference_meta(self) -> float:
        """Mean of the differences, each weighed by its share: over `se_meta` it is the weighted sum of d / SE."""
        used = self.weight > 0
        return float(self.shares[used] @ self.difference[used]) if np.any(used) else math.nan

    def _agreement(self) -> str:
        """Return what the test of heterogeneity says about the benchmarks."""
        tests = f"; {_OTHER_TEST}" if self.is_adjusted else ""
        if math.isnan(self.q):
            return f"fewer than two benchmarks: nothing to combine{tests}"
        which = "Welch's test" if self.is_welch else "chi-squared"
        test = f"Q {self.q:.2f} on {self.q_df} df, I² {self.i2:.0%}, p {self.q_p:#.2g} of {which}"
        if self.q_p < 0.05:
            verdict = "the difference is not the same on all benchmarks: read each z beside the combined one"
        else:
            verdict = "no test shows that the difference varies over the benchmarks"
        return f"{verdict} ({test}){self._weighing()}{tests}"

    def _weighing(self) -> str:
        """Return how the differences were weighed, where their plain mean says the opposite."""
        mean = float(np.mean(self.difference[self.weight > 0]))
        if mean * self.difference_meta >= 0:
            return ""
        return (
            "; the combined difference weighs each by weight / se, and the plain mean of the differences is "
            f"{mean:+.3f}: howsure compare --average macro tests that one"
        )


def combine(
    comparisons: Sequence[Comparison], *, weights: WeightRule | Mapping[str, float] = "precision"
) -> Combination:
    """Combine one comparison of the same two models per benchmark.

    Parameters
    ----------
    comparisons
        One per benchmark, from `compare`, all with the same models, claim and direction.
    weights
        Of the z of each benchmark: ``"equal"`` (all weigh the same), ``"questions"`` (the root of the number of
        questions), ``"precision"`` (1/SE), or a mapping from benchmark to weight, 0 or more; any scale.

    Returns
    -------
    Combination
        One row per benchmark, and a row of the combined z.

    Raises
    ------
    InputError
        When the comparisons are of different models or claims, a benchmark is there twice, or a weight is missing.

    Notes
    -----
    The z of a benchmark is the normal score of its own test: difference / SE for comparisons made with `method="clt"`,
    NOISE's form, and otherwise the z of the p-value of Student's t test without pseudo-questions, which is smaller:
    difference / SE over few questions is not standard normal. The sum of z with weights that are known, such as equal
    ones, is then standard normal, too. Precision weights are estimates: with few clusters they reject too often, which
    a note says. ``python bench/page_figures.py`` prints the size with `mean-score` weights, and with precision weights
    and three clusters, as docs/methods/differences.md has them.

    Questions of different benchmarks are assumed to be independent; within a benchmark they may come in clusters, and
    its test is then the one with clusters. A benchmark without a z is left out, and its note says so.

    References
    ----------
    Zaykin (2011), Optimally weighted Z-test, Journal of Evolutionary Biology 24; NOISE appendix D. Cochran (1954),
    Biometrics 10. Welch (1951), Biometrika 38.

    Examples
    --------
    >>> from howsure.stats.comparisons import compare
    >>> from howsure.stats.core.cells import Cells
    >>> one = Cells.from_scores("one", ["a", "b"], ["1", "2", "3"], [[[1], [1], [1]], [[0], [1], [0]]])
    >>> two = Cells.from_scores("two", ["a", "b"], ["1", "2", "3"], [[[1], [0], [1]], [[0], [0], [1]]])
    >>> result = combine([compare(cells, "a", "b", method="clt") for cells in (one, two)], weights="equal")
    >>> result["z"].round(2).tolist()
    [2.45, 1.22, 2.6]
    """
    rows = list(comparisons)
    if not rows:
        raise InputError("no benchmark to combine", where="combine")
    _same_question(rows)
    names = tuple(row.benchmark for row in rows)
    N, difference, variance = (
        np.array([getattr(row, name)[0] for row in rows]) for name in ("n_questions", "difference", "variance")
    )
    se = np.sqrt(variance)
    z = np.array([_normal_score(row) for row in rows])
    weight = np.where(np.isnan(z), 0, _weights(weights, names, N, se))
    remarks = notes(
        {
            "no variation was seen: left out": np.isnan(z) & (variance == 0),
            "left out: no z, as too few questions are in common": np.isnan(z) & ~(variance == 0),
            "left out: its weight is 0": ~np.isnan(z) & (weight == 0),
            f"{FEW_DF}, and its weight, which few clusters tell; equal weights do not depend on them": np.array(
                [row.df is not None and bool(row.df[0] < FEWEST_DF) for row in rows]
            ),
            "questions in clusters: the error is for new clusters": ~np.isnan(z)
            & [row.n_clusters is not None for row in rows],
        }
    )
    used = weight > 0
    length = math.sqrt(np.sum(weight**2))
    weight = weight / length if length else weight
    z_meta = float(weight[used] @ z[used]) if length else math.nan
    by_t = any(row.method != "clt" for row in rows)
    unbiased, df = np.array([_unbiased(row) for row in rows]).T
    Q, q_p = _heterogeneity(difference[used], unbiased[used] if by_t else variance[used], df[used], by_t=by_t)
    a, b = _models(rows[0])
    return Combination(
        benchmarks=names,
        model_a=a,
        model_b=b,
        n_questions=N,
        difference=difference,
        se=se,
        z=z,
        weight=weight,
        z_meta=z_meta,
        p_meta=float(_two_sided(np.array(z_meta))),
        q=Q,
        q_df=max(int(np.sum(used)) - 1, 0),
        q_p=q_p,
        remarks=tuple(remarks.tolist()),
        is_adjusted=any(
            row.method in _WITH_PSEUDO_QUESTIONS and row.claim != "these-questions" and not math.isnan(at)
            for row, at in zip(rows, z, strict=True)
        ),
        is_welch=by_t,
    )


def _same_question(rows: Sequence[Comparison]) -> None:
    """Raise `InputError` unless all rows compare one pair under one claim, each on its own benchmark."""
    benchmarks: set[str] = set()
    for row in rows:
        if len(row.a) != 1:
            raise InputError(f"{len(row.a)} pairs", where=row.benchmark, remedy="combine takes one pair: see compare")
        if row.benchmark in benchmarks:
            raise InputError(f"benchmark {row.benchmark!r} is there twice", where="combine")
        benchmarks.add(row.benchmark)
        for what, here, first in (("compares", _models(row), _models(rows[0])), ("claims", row.claim, rows[0].claim)):
            if here != first:
                raise InputError(f"{what} {here}, not {first}", where=row.benchmark, remedy="combine one question only")


def _models(row: Comparison) -> tuple[str, str]:
    """Return the names of the two models of a row."""
    return row.models[row.a[0]], row.models[row.b[0]]


def _normal_score(row: Comparison) -> float:
    """Return z of the benchmark's own test; NaN if no variation was observed."""
    if not row.variance[0] > 0:
        return math.nan
    # Pseudo-questions would make the test of each benchmark conservative, and several of them together far more so.
    test = (replace(row, method="t") if row.method in _WITH_PSEUDO_QUESTIONS else row).interval()
    return float(compute_normal_score(test)[0])


def _unbiased(row: Comparison) -> tuple[float, float]:
    """Return the unbiased variance of the difference and its degrees of freedom, those of clusters if there are."""
    N, variance = int(row.n_questions[0]), float(row.variance[0])
    if row.df is not None:
        return variance, float(row.df[0])
    return (variance * N / (N - 1), N - 1) if N > 1 else (math.nan, math.nan)


def _heterogeneity(d: FloatArray, variance: FloatArray, df: FloatArray, *, by_t: bool) -> tuple[float, float]:
    """Return Cochran's Q and its p-value; NaN for fewer than two differences."""
    B = len(d)
    if B < 2:
        return math.nan, math.nan
    w = 1 / variance
    Q = float(w @ (d - w @ d / np.sum(w)) ** 2)
    if not by_t:
        return Q, float(special.chdtrc(B - 1, Q))
    # Welch 1951: Q of estimated standard errors is larger, and F with fewer degrees of freedom
    loose = np.sum((1 - w / np.sum(w)) ** 2 / df) / (B**2 - 1)
    return Q, float(special.fdtrc(B - 1, 1 / (3 * loose), Q / (B - 1) / (1 + 2 * (B - 2) * loose)))


def _weights(
    weights: WeightRule | Mapping[str, float], names: Sequence[str], N: IntArray, se: FloatArray
) -> FloatArray:
    """Return the weight of each benchmark, by rule or as given."""
    if isinstance(weights, str):
        check_choice("weights", weights, WEIGHT_RULES)
        with np.errstate(divide="ignore"):
            rules = {"equal": np.ones(len(se)), "questions": np.sqrt(N), "precision": 1 / se}
            return rules[weights]
    for name in weights:
        if name not in names:
            raise UnknownNameError("benchmark", name, names, where="weights")
    for name in names:
        if name not in weights:
            raise InputError(f"no weight for {name!r}", where="weights", remedy="give each a weight; 0 leaves it out")
        if not 0 <= weights[name] < math.inf:
            raise InputError(f"weight of {name!r} is {weights[name]!r}", where="weights", remedy="allowed: 0 or more")
    return np.array([weights[name] for name in names], float)


def _two_sided(z: FloatArray) -> FloatArray:
    """Return the two-sided p-value of z."""
    p: FloatArray = 2 * special.ndtr(-np.abs(z))
    return p
