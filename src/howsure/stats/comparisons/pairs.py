"""Paired comparisons of two models on common questions, or of all pairs of many models.

With d_q = pA_q - pB_q over the N common questions, and s2, k of each model as in `scores.score`:

    T = var(d_q) + mean(s2A (1 - 1/kA) + s2B (1 - 1/kB))    total variance, known for one generation per question too
    E = mean s2A + mean s2B                                  prediction variance
    D = T - E = var(d_q) - mean(s2A/kA + s2B/kB)             data variance of the difference (NOISE eq. 15-25)
    a model with itself: D = 0, T = 2 E                      (NOISE eq. 26-28)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.comparisons.paired_intervals import (
    RARE_SIZE,
    adjusted_error,
    adjusted_t,
    pseudo_sizes,
    pseudo_variance,
    reach_both_ends,
    tango,
)
from howsure.stats.core.cells import Cells, FloatArray, IntArray, Strata, drop_rounding
from howsure.stats.core.claims import (
    DIFFERENCE_METHODS,
    Claim,
    DifferenceMethod,
    check_choice,
    check_claim,
    check_level,
)
from howsure.stats.core.intervals import FEW_DF, Interval, compute_normal_score, interval, is_few_df
from howsure.stats.core.multiplicity import benjamini_hochberg, holm
from howsure.stats.core.pair_sums import common_sums
from howsure.stats.core.results import Columns, Result, make_columns, notes
from howsure.stats.core.strata import average_strata, split_strata
from howsure.stats.scores import (
    IN_CLUSTERS,
    ONE_CLUSTER,
    ONE_QUESTION,
    WITHOUT_CLUSTERS,
    clustered_pairs,
)

__all__ = ["POWER", "RARE_DIFFERENCES", "UNDETECTABLE", "Comparison", "Pairs", "compare", "pairs"]

#: Fields of means over strata that are means of those of the strata, and variances of a question.
_AVERAGED = ("score_a", "score_b", "difference", "disagreement", "wins_a", "wins_b")
_SQUARED = ("total", "data", "prediction")

#: Power of the test that `detectable` refers to.
POWER = 0.8
#: Note on a pair whose smallest detectable difference is larger than any that there can be.
UNDETECTABLE = f"no difference of scores from 0 to 1 is found with {POWER:.0%} power"
#: Note on graded scores of new questions where two pseudo-questions of `RARE_SIZE` widen the interval by this factor.
RARE_DIFFERENCES = "scores hardly differ: if they can differ by 1 on a rare question, the interval is too narrow"
_WIDER_BY_RARE = 1.25


@dataclass(frozen=True, eq=False)
class Comparison(Result):
    """Differences between models `a` and `b`, one per pair; arrays have shape (P,).

    Attributes
    ----------
    a, b
        Rows of the two models in `models`.
    n_questions
        Questions that both answered.
    score_a, score_b, difference
        Scores on those, and score_a - score_b.
    variance
        Squared standard error of `difference` under `claim`.
    total, data, prediction
        T, D (not clipped) and E; NaN where unknown.
    disagreement
        Expected share of questions on which one generation of each differs; NaN unless scores are 0 and 1.
    correlation
        Correlation of the question means.
    wins_a, wins_b
        Expected share of questions that a single generation of a gets right and one of b wrong, and the other way;
        NaN unless scores are 0 and 1. The rest are ties.
    is_single
        Where every common question has one generation of each, scored 0 or 1: what the exact sign test needs.
    n_clusters
        Clusters with a common question, where questions come in clusters and the error is clustered.
    square
        Sum of squared differences of the question means.
    df
        Degrees of freedom of `variance` where they are not n_questions - 1: Satterthwaite's, see `cluster_means`.
    cells
        What was compared: the default interval goes back to it.
    n_equal, n_strata
        Of means over strata, the number of questions of equal weight that are worth as much, and of strata in which
        both answered.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a", "b"], ["q1", "q2", "q3"], [[[1], [1], [1]], [[0], [1], [0]]])
    >>> result = compare(cells, "a", "b")
    >>> result.interval(0.9).p_value.round(3).tolist(), result.detectable.round(2).tolist()
    ([0.323], [nan])
    """

    benchmark: str
    models: tuple[str, ...]
    a: IntArray
    b: IntArray
    n_questions: IntArray
    score_a: FloatArray
    score_b: FloatArray
    difference: FloatArray
    variance: FloatArray
    total: FloatArray
    data: FloatArray
    prediction: FloatArray
    disagreement: FloatArray
    correlation: FloatArray
    wins_a: FloatArray
    wins_b: FloatArray
    is_single: NDArray[np.bool_]
    square: FloatArray
    claim: Claim
    unit: bool
    n_clusters: IntArray | None
    df: FloatArray | None
    cells: Cells = field(repr=False)
    level: float = 0.95
    method: DifferenceMethod | None = None
    n_equal: FloatArray | None = None
    n_strata: IntArray | None = None

    def interval(self, level: float | None = None) -> Interval:
        """Return the interval of each difference at a level in (0, 1), its statistic and its p-value."""
        level = self.level if level is None else level
        if self._is_adjusted:
            return self._adjusted(level)
        if self.method == "tango":
            return tango(self, level)
        return interval(
            self.difference,
            np.sqrt(self.variance),
            self.n_questions,
            level=level,
            method="clt" if self.method == "clt" else "t",
            df=self.df,
            bounds=self._bounds,
        )

    @property
    def _is_adjusted(self) -> bool:
        """Whether the interval has pseudo-questions."""
        return self.method == "adjusted-t" or (self.method is None and self.claim != "new-benchmarks")

    @property
    def _bounds(self) -> tuple[float, float] | None:
        """Limits that a difference cannot leave, or None."""
        return (-1.0, 1.0) if self.unit else None

    def _adjusted(self, level: float) -> Interval:
        """Return the default interval, with pseudo-questions; see `paired_intervals`."""
        N = np.where(self.n_questions > 0, self.n_questions, np.nan)
        if self.claim == "these-questions":
            added, df = pseudo_variance(self.cells, self.a, self.b)
            if self.n_equal is not None:
                added = added * (N / self.n_equal) ** 2  # the pseudo-question weighs as the others on average
            se = np.sqrt(self.variance + added)
            between = interval(self.difference, se, N, level=level, method="t", df=df, bounds=self._bounds)
            return replace(between, method=np.full(len(N), "adjusted-t"))
        n = N if self.n_equal is None else self.n_equal
        return adjusted_t(
            self.difference, self.variance, n, self.pseudo_size, level=level, df=self._adjusted_df, bounds=self._bounds
        )

    @property
    def _adjusted_df(self) -> FloatArray | None:
        """Degrees of freedom of the default interval where they are not those of its N questions, shape (P,)."""
        if self.n_equal is None or self.df is None:
            return self.df
        # as for N questions: the squared ratio of the sum of squares with pseudo-questions to that without
        N = self.n_equal
        added = 2 * self.pseudo_size + 2 * N * self.difference**2 / (N + 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            df: FloatArray = self.df * (1 + added / (self.variance * N * (N - 1))) ** 2
        return df

    @cached_property
    def pseudo_size(self) -> FloatArray:
        """Squared size of the two pseudo-questions of the default interval, shape (P,); see `paired_intervals`."""
        if self.claim == "single-run" and self.cells.binary:
            return np.ones(len(self.a))  # a single generation of each differs by 1 or not at all
        return pseudo_sizes(self.cells, self.a, self.b, self.square, self.n_questions)

    @cached_property
    def ties(self) -> FloatArray:
        """Expected share of questions on which single generations of both are equally right, shape (P,)."""
        return 1 - self.wins_a - self.wins_b

    @cached_property
    def detectable(self) -> FloatArray:
        """Smallest true difference found with power `POWER` by a two-sided test at this level, shape (P,).

        NaN where no variation was seen: what would be seen of a true difference is unknown then; and where it would be
        larger than 1 with scores from 0 to 1: no difference that is possible is found with that power. Of the default
        interval with its pseudo-questions and the quantiles of its t; if a true difference is larger than the one that
        was seen, more questions differ, and a little more is needed.
        """
        return np.where(self._is_undetectable, np.nan, self._unbounded_detectable)

    @property
    def _is_undetectable(self) -> NDArray[np.bool_]:
        """Whether even the largest possible difference of scores in [0, 1] is found with less power, shape (P,)."""
        return self._unbounded_detectable > (1.0 if self.unit else np.inf)

    @cached_property
    def _unbounded_detectable(self) -> FloatArray:
        """Return what `detectable` would be if scores had no limits, shape (P,)."""
        if self._is_adjusted and self.claim != "these-questions":
            N = np.where(self.n_questions > 0, self.n_questions, np.nan) if self.n_equal is None else self.n_equal
            _, se, df = adjusted_error(self.difference, self.variance, N, self.pseudo_size, self._adjusted_df)
            tails = special.stdtrit(df, (1 + self.level) / 2) + special.stdtrit(df, POWER)
            return np.asarray(np.where(self.variance > 0, tails * se * (N + 2) / N, np.nan))
        # (z_{1 - alpha/2} + z_power) SE, docs/methods/plans.md; with the few df of clusters, quantiles of t
        tails = (1 + self.level) / 2, POWER
        quantiles = sum(special.ndtri(p) if self.df is None else special.stdtrit(self.df, p) for p in tails)
        return np.asarray(quantiles * np.sqrt(np.where(self.variance > 0, self.variance, np.nan)))

    @cached_property
    def questions_for_power(self) -> FloatArray:
        """Questions with which a true difference of the size seen is found with power `POWER`, shape (P,).

        The smallest N' with (t_{1 - alpha/2} + t_power) SE <= center for one two-sided test of the comparison's method
        at this level, as many generations per question as now. With v = N variance: of the default test, center and SE
        are those of `paired_intervals` for N' questions with sum (d_q - d)^2 = (N' - 1) v, with its degrees of freedom;
        of the other methods those of Student's t, abs(difference) and sqrt(v / N') with N' - 1.
        NaN where no difference or no variation was seen, where questions come in clusters or strata, and for the claim
        "these-questions", to which more questions are no answer.
        """
        N, distance = np.asarray(self.n_questions, float), np.abs(self.difference)
        available = (self.variance > 0) & (distance > 0) & (N > 1)
        if self.claim == "these-questions" or self.n_clusters is not None or self.cells.strata is not None:
            available = np.zeros_like(available)
        effect = np.divide(distance**2, N * self.variance, out=np.full(len(N), np.nan), where=available)

        normal = special.ndtri((1 + self.level) / 2) + special.ndtri(POWER)
        # the quantiles of t are larger than those of the normal distribution, and pseudo-questions only add to SE
        sufficient = np.maximum(np.ceil(normal**2 / effect - 1e-9), 2)
        too_few = sufficient - 1

        size = self.pseudo_size if self.method in {None, "adjusted-t"} else None

        def is_too_small(n: FloatArray) -> NDArray[np.bool_]:
            if size is None:
                squared_ratio, df = effect * n, n - 1
            else:
                center, se, df = adjusted_error(distance, N * self.variance * (n - 1) / n**2, n, size, None)
                squared_ratio = np.where(available, np.square(center / se), np.nan)
            quantiles = special.stdtrit(df, (1 + self.level) / 2) + special.stdtrit(df, POWER)
            return np.asarray(quantiles**2 > squared_ratio * (1 + 1e-12))

        while np.any(is_short := is_too_small(sufficient)):
            too_few, sufficient = (
                np.where(is_short, sufficient, too_few),
                np.where(is_short, 2 * sufficient, sufficient),
            )
        for _ in range(64):
            if np.all((middle := np.floor((too_few + sufficient) / 2)) <= too_few, where=available):
                break
            is_short = is_too_small(middle)
            too_few, sufficient = np.where(is_short, middle, too_few), np.where(is_short, sufficient, middle)
        return np.where(available, sufficient, np.nan)

    @cached_property
    def p_sign(self) -> FloatArray:
        """Exact two-sided sign test (McNemar), shape (P,); NaN unless one generation per question is scored 0 or 1."""
        # twice P(Binomial(wins_a + wins_b, 1/2) <= the smaller), at most 1
        wins_a, wins_b = (
            np.where(self.is_single, np.rint(w * self.n_questions), np.nan) for w in (self.wins_a, self.wins_b)
        )
        low, n = np.minimum(wins_a, wins_b), wins_a + wins_b
        tail: FloatArray = special.betainc(n - low, low + 1, 0.5)
        return np.where(2 * low == n, 1.0, np.minimum(2 * tail, 1))

    @cached_property
    def _if_unparsed_right(self) -> tuple[Comparison, ...]:
        """The pairs with the unread answers of a, of b, and of both scored 1; none without bounds."""
        if not (self.unit and np.any(self._is_bounded)):
            return ()
        M = len(self.models)
        right = self.cells.count_unparsed_as_right()
        both = self.cells + replace(right, models=tuple(f"{model}\0" for model in self.models))
        corners = ((self.a + M, self.b), (self.a, self.b + M), (self.a + M, self.b + M))
        return tuple(replace(self, **_fields(both, a, b, self.claim, self.level, self.method)) for a, b in corners)

    @property
    def _is_bounded(self) -> NDArray[np.bool_]:
        """Whether the score of a model of the pair is given with its bound, shape (P,)."""
        return np.asarray((self.cells.is_bounded[self.a] | self.cells.is_bounded[self.b]) & (self.a != self.b))

    @property
    def p_verdict(self) -> FloatArray:
        """The p-values that decide, shape (P,)."""
        return self.interval().p_value

    @cached_property
    def verdict(self) -> NDArray[np.object_]:
        """What the test says of each pair, shape (P,).

        "distinguishable" where p is below 1 - level, and "not distinguishable" or "not testable" where it is not.
        "undecided" where more than `MOST_UNPARSED` of the answers of a model are unread and this depends on them: each
        model stands at its score s and at s + u, with every unread answer right, and the four cases do not agree, or
        cannot be computed because scores are not in [0, 1].
        """
        p = self.p_verdict
        words = np.array(["not testable", "not distinguishable", "distinguishable"], dtype=object)
        signs = [
            np.where(np.isnan(p), np.nan, np.sign(one.difference) * (one.p_verdict < 1 - self.level))
            for one in (self, *self._if_unparsed_right)
        ]
        verdict = words[np.where(np.isnan(p), 0, np.where(signs[0] != 0, 2, 1))]
        agree = np.all([sign == signs[0] for sign in signs], axis=0) & self.unit
        return np.asarray(np.where(agree | ~self._is_bounded | np.isnan(p), verdict, "undecided"))

    def columns(self) -> Columns:
        """Return one row per pair."""
        between = self.interval()
        bounds = np.full((2, len(self.a)), np.nan)
        if self._if_unparsed_right:
            first = self._if_unparsed_right[2]
            for bound, score, own in zip(bounds, (first.score_a, first.score_b), (self.a, self.b), strict=True):
                bound[:] = np.where(self.cells.is_bounded[own], score, np.nan)
        names = np.array(self.models, dtype=object)
        N = np.where(self.n_questions > 0, self.n_questions, np.nan)
        rows = len(self.a)
        return make_columns(
            rows,
            benchmark=self.benchmark,
            model_a=names[self.a],
            model_b=names[self.b],
            n_questions=self.n_questions,
            score_a=self.score_a,
            score_b=self.score_b,
            score_bound_a=bounds[0],
            score_bound_b=bounds[1],
            difference=self.difference,
            se=np.sqrt(self.variance),
            low=between.low,
            high=between.high,
            z=np.where(self.variance > 0, compute_normal_score(between), np.nan),
            p_value=between.p_value,
            verdict=self.verdict,
            se_total=np.sqrt(self.total / N),
            se_data=np.sqrt(np.maximum(self.data, 0) / N),
            se_prediction=np.sqrt(self.prediction / N),
            detectable=self.detectable,
            method=between.method,
            df=between.df,
            note=self._note(between),
        )

    def _note(self, between: Interval) -> NDArray[np.object_]:
        """Return the note of each pair."""
        common = self.n_questions > 0
        which = "" if self.n_strata is None else " of a stratum"
        has_pseudo_questions = self._is_adjusted
        # Means of equal scores differ by rounding.
        alike = (np.abs(self.difference) <= 1e-12) & ((self.n_strata is None) | (self.square <= 1e-12))
        pseudo = (self.variance == 0) & ~np.isnan(between.low) & has_pseudo_questions
        pseudo_of_these, pseudo = pseudo & (self.claim == "these-questions"), pseudo & (self.claim != "these-questions")
        # Graded scores that do not differ do not say the size of a difference: it is the largest possible one.
        of_largest = pseudo & alike
        if np.any(of_largest):
            is_graded = self.cells.unit and not self.cells.binary
            of_largest &= is_graded & (self.pseudo_size == 1)
        return notes(
            {
                "no question in common": ~common,
                "one question in common: the spread over questions is unknown": self.n_questions == 1,
                "no question differs: the interval rests on two pseudo-questions": pseudo & alike & ~of_largest,
                "no question differs: the interval rests on two pseudo-questions, which differ by 1, the most that "
                "scores from 0 to 1 can": of_largest,
                f"all questions{which} differ alike: the interval rests on two pseudo-questions": pseudo & ~alike,
                "no variation was seen: the interval rests on half a pseudo-question": pseudo_of_these,
                _describe_flat(self.cells, self.claim): between.flat,
                UNDETECTABLE: self._is_undetectable,
                "tango needs one generation per question, scored 0 or 1": ~self.is_single & (self.method == "tango"),
                "on the questions that both answered": common & (self.n_questions < len(self.cells.questions)),
                f"one generation per question{which}: data and prediction noise cannot be separated": common
                & np.isnan(self.prediction),
                RARE_DIFFERENCES: self._is_narrow_if_rare(between),
                **self._of_variants(),
                **self._of_clusters(),
                **self._of_strata(),
                FEW_DF: is_few_df(between),
            }
        )

    def _is_narrow_if_rare(self, between: Interval) -> NDArray[np.bool_]:
        """Return where graded scores do not reach both ends, and rare differences of 1 would widen the interval."""
        is_default = self.method in {None, "adjusted-t"} and self.claim == "new-questions" and self.n_clusters is None
        if not is_default or self.cells.strata is not None or not self.unit or self.cells.binary:
            return np.zeros(len(self.a), bool)
        size = np.full(len(self.a), RARE_SIZE)
        wide = adjusted_t(
            self.difference, self.variance, self.n_questions, size, level=between.level, bounds=self._bounds
        )
        is_wider = wide.high - wide.low >= _WIDER_BY_RARE * (between.high - between.low)
        return np.asarray(is_wider & ~reach_both_ends(self.cells, self.a, self.b))

    def _of_strata(self) -> dict[str, NDArray[np.bool_]]:
        """Return notes on strata, each with where it holds, shape (P,)."""
        if self.cells.strata is None or self.n_strata is None:
            return {}
        S = len(set(self.cells.strata.names))
        fewer = {n: self.n_strata == n for n in sorted(set(self.n_strata.tolist())) if 0 < n < S}
        is_unknown = np.isnan(self.variance) & (self.n_questions > 1) & (self.claim in {"new-questions", "single-run"})
        return {
            **{f"the mean of {n:,} of {S:,} strata, those in which both answered": where for n, where in fewer.items()},
            ONE_QUESTION: is_unknown & (self.n_clusters is None),
        }

    def _of_variants(self) -> dict[str, NDArray[np.bool_]]:
        """Return notes on the prompt variants that scores are averaged over, each with where it holds, shape (P,)."""
        counts = np.array([self.cells.count_variants(model) for model in self.models])
        pair = np.sort([counts[self.a], counts[self.b]], axis=0)
        texts = {}
        for few, many in {(int(few), int(many)) for few, many in pair.T if many > 1}:
            number = f"{many}" if few == many else f"{few} and {many}"
            text = f"averaged over {number} prompt variants, whose noise is not in the error"
            texts[text] = (pair[0] == few) & (pair[1] == many) & (self.n_questions > 0)
        return dict(sorted(texts.items()))

    def _of_clusters(self) -> dict[str, NDArray[np.bool_]]:
        """Return notes on clusters, each with where it holds, shape (P,)."""
        if self.cells.clusters is None:
            return {}
        if self.n_clusters is None:
            return {WITHOUT_CLUSTERS: self.n_questions > 0}
        several = self.n_clusters > 1
        return {ONE_CLUSTER: ~several & (self.n_questions > 1), IN_CLUSTERS: several}


@dataclass(frozen=True, eq=False)
class Pairs(Comparison):
    """All pairs a < b of M models, with p-values adjusted for all P = M(M - 1)/2 of them.

    Attributes
    ----------
    p_holm
        p-values with family-wise control (Holm 1979).
    q_bh
        q-values with control of the false discovery rate (Benjamini and Hochberg 1995).
    every_column
        Whether `columns` has the wins, the ties and the standard errors of rules of thumb, too.

    Examples
    --------
    >>> scores = [[[1], [1], [1], [1]], [[0], [1], [0], [1]], [[0], [0], [0], [0]]]
    >>> cells = Cells.from_scores("demo", ["a", "b", "c"], ["q1", "q2", "q3", "q4"], scores)
    >>> result = pairs(cells)
    >>> result["model_b"].tolist(), result.p_holm.round(3).tolist()
    (['b', 'c', 'c'], [0.649, 0.418, 0.649])
    """

    every_column: bool = False

    @cached_property
    def p_holm(self) -> FloatArray:
        """Holm-adjusted p-values over all pairs."""
        return holm(self.interval().p_value)

    @cached_property
    def p_by_model(self) -> FloatArray:
        """p-values of model i against j, Holm-adjusted over the M - 1 tests of model i alone, shape (M, M)."""
        matrix = np.full((len(self.models),) * 2, np.nan)
        matrix[self.a, self.b] = matrix[self.b, self.a] = self.interval().p_value
        return np.apply_along_axis(holm, 1, matrix)

    @property
    def p_verdict(self) -> FloatArray:
        """The p-values that decide, shape (P,)."""
        return self.p_holm

    @cached_property
    def q_bh(self) -> FloatArray:
        """Benjamini-Hochberg q-values over all pairs."""
        return benjamini_hochberg(self.interval().p_value)

    def columns(self) -> Columns:
        """Return one row per pair."""
        columns = super().columns()
        note = columns.pop("note")
        together = self.interval(1 - (1 - self.level) / max(len(self.a), 1))  # Bonferroni
        more = {
            "low_all": together.low,
            "high_all": together.high,
            "p_holm": self.p_holm,
            "q_bh": self.q_bh,
            "disagreement": self.disagreement,
            "correlation": self.correlation,
            "p_sign": self.p_sign,
        }
        if self.every_column:
            more |= self._tabulate_wins()
        return columns | more | {"note": note}

    def _tabulate_wins(self) -> Columns:
        """Return expected shares of wins and ties, and the standard errors of two rules of thumb (NOISE, eq. 3-4).

        With p the mean of both scores, sqrt(p(1-p)/N) is about the total error of a paired difference of one generation
        each for models of similar scores, and sqrt(2p(1-p)/N) what it would be if models were independent.
        """
        binary = ~np.isnan(self.wins_a)
        p = (self.score_a + self.score_b) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            se = np.sqrt(np.where(binary, p * (1 - p), np.nan) / self.n_questions)
        return {
            "wins_a": self.wins_a,
            "wins_b": self.wins_b,
            "ties": self.ties,
            "questions_for_power": self.questions_for_power,
            "se_rule_of_thumb": se,
            "se_independent": np.sqrt(2) * se,
        }


def pairs(
    cells: Cells,
    *,
    claim: Claim = "new-questions",
    level: float = 0.95,
    method: DifferenceMethod | None = None,
    every_column: bool = False,
) -> Pairs:
    """Compare all pairs of models, each pair on the questions that both answered.

    Parameters
    ----------
    cells
        M >= 2 models on N questions.
    claim
        One of `CLAIMS`.
    level
        Coverage of the interval in (0, 1).
    method
        Method of the interval. None or ``"adjusted-t"``: Student's t with two pseudo-questions, which holds where few
        questions differ (`paired_intervals`). ``"t"`` and ``"clt"``: without them. ``"tango"``: for one generation
        per question scored 0 or 1, the claim ``"new-questions"`` and no clusters.
    every_column
        Also tabulate the expected shares of wins and ties, and standard errors by rules of thumb.

    Returns
    -------
    Pairs
        One row per pair a < b; `p_holm` and `q_bh` adjust the p-values for all M(M - 1)/2 pairs.

    Raises
    ------
    InputError
        When there are fewer than two models, or the method does not apply to these data or this claim.

    Notes
    -----
    All sums are matrix products over models and questions; no pair is computed on its own.

    References
    ----------
    Miller (2024), Adding error bars to evals, section 4. NOISE eq. (15)-(25) for the components. Holm (1979),
    Scandinavian Journal of Statistics 6. Benjamini and Hochberg (1995), JRSS B 57.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a", "b"], ["q1", "q2", "q3"], [[[1], [1], [1]], [[0], [1], [0]]])
    >>> result = pairs(cells)
    >>> result["difference"].round(3).tolist(), result["n_questions"].tolist()
    ([0.667], [3])
    """
    M = len(cells.models)
    if M < 2:
        raise InputError(f"only one model: {cells.models[0]!r}" if M else "no model", where=cells.benchmark)
    return Pairs(**_fields(cells, *np.triu_indices(M, 1), claim, level, method), every_column=every_column)


def compare(
    cells: Cells,
    a: str,
    b: str,
    *,
    claim: Claim = "new-questions",
    level: float = 0.95,
    method: DifferenceMethod | None = None,
) -> Comparison:
    """Compare two models on the questions that both answered.

    Parameters
    ----------
    cells
        Models on N questions.
    a, b
        Names of the two models; the difference is a - b. A model can be compared with itself: D = 0 and T = 2 E then.
    claim, level, method
        As in `pairs`.

    Returns
    -------
    Comparison
        One row.

    Raises
    ------
    InputError
        When a model is unknown, or the method does not apply to these data or this claim.

    References
    ----------
    NOISE eq. (15)-(25), and (26)-(28) for a model with itself. Bonett and Price (2012), Journal of Educational and
    Behavioral Statistics 37. Tango (1998), Statistics in Medicine 17.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a", "b"], ["q1", "q2", "q3"], [[[1], [1], [1]], [[0], [1], [0]]])
    >>> compare(cells, "a", "b").difference.round(3).tolist()
    [0.667]
    """
    chosen = cells.select([a] if a == b else [a, b])
    fields = _fields(chosen, np.array([0]), np.array([len(chosen.models) - 1]), claim, level, method)
    return Comparison(**fields)


def _describe_flat(cells: Cells, claim: Claim) -> str:
    """Return the note on a comparison without an interval because nothing varied."""
    if cells.strata is None or claim == "these-questions":
        return "no variation was seen: no interval"
    where = "between strata, of whose means" if claim == "new-benchmarks" else "within strata, of whose questions"
    return f"no variation was seen {where} all differences are equal: no interval"


def _average_fields(
    cells: Cells, strata: Strata, a: IntArray, b: IntArray, claim: Claim, level: float, method: DifferenceMethod | None
) -> dict[str, Any]:
    """Return the fields of a `Comparison` of means over strata, with unbiased variances; see `core.strata`."""
    within: Claim = "new-questions" if claim == "new-benchmarks" else claim
    fields = _fields(replace(cells, strata=None, clusters=None), a, b, within, level, method)
    parts = [_fields(part, a, b, within, level, None, ddof=1) for part in split_strata(cells)]

    def stack(name: str) -> FloatArray:
        return np.array([part[name] for part in parts], float)

    n = stack("n_questions")
    df = n - 1 if parts[0]["df"] is None else stack("df")
    averaged = average_strata(strata.average, claim, n, stack("difference"), stack("variance"), df)
    with np.errstate(divide="ignore", invalid="ignore"):
        for name in _AVERAGED:
            fields[name] = np.sum(averaged.weight * stack(name), axis=0, where=(n > 0) | np.isnan(averaged.weight))
        for name in _SQUARED:
            parts_of_square = averaged.weight**2 * stack(name) * fields["n_questions"] / n
            fields[name] = np.sum(parts_of_square, axis=0, where=(n > 0) | np.isnan(averaged.weight))
    n_clusters = None if parts[0]["n_clusters"] is None else np.sum(stack("n_clusters"), axis=0).astype(np.int64)
    return fields | {
        "variance": averaged.variance,
        "claim": claim,
        "is_single": np.zeros(len(a), bool),
        "n_clusters": n_clusters,
        "df": averaged.df,
        "cells": cells,
        "n_equal": averaged.n_equal,
        "n_strata": np.sum(n > 0, axis=0),
    }


def _fields(
    cells: Cells,
    a: IntArray,
    b: IntArray,
    claim: Claim,
    level: float,
    method: DifferenceMethod | None,
    *,
    ddof: int = 0,
) -> dict[str, Any]:
    """Return the fields of a `Comparison` of rows `a` with rows `b`; variances over questions divide by N - `ddof`."""
    check_claim(claim, average=None if cells.strata is None else cells.strata.average, where=cells.benchmark)
    check_level(level)
    if method is not None:
        check_choice("method", method, DIFFERENCE_METHODS)
    is_plain = claim == "new-questions" and cells.clusters is None and cells.strata is None
    if method == "tango" and not is_plain:
        raise InputError(
            f"method {method!r} makes the claim 'new-questions' only, without clusters or strata",
            where=cells.benchmark,
            remedy="leave the method out",
        )
    if cells.strata is not None:
        return _average_fields(cells, cells.strata, a, b, claim, level, method)
    sums = common_sums(cells)
    n = sums.common[a, b]
    with np.errstate(divide="ignore", invalid="ignore"):
        score_a, score_b = sums.p[a, b] / n, sums.p[b, a] / n
        mean_a, mean_b = score_a - sums.center[a], score_b - sums.center[b]  # of the centred question means
        square_a, square_b, cross = sums.xx[a, b] / n, sums.xx[b, a] / n, sums.product[a, b] / n
        center_a, center_b = sums.center[a], sums.center[b]
        var_a = drop_rounding(square_a - mean_a**2, 1, center_a)
        var_b = drop_rounding(square_b - mean_b**2, 1, center_b)
        covariance = cross - mean_a * mean_b
        between = square_a + square_b - 2 * cross - (mean_a - mean_b) ** 2  # var(d_q)
        between = np.where(between > 1e-12 * (square_a + square_b), between, 0)  # what is left by rounding is no spread
        between = drop_rounding(between, 1, np.hypot(center_a, center_b))
        between = np.where(n > 1, between, np.nan)
        E_a, E_b = sums.s2[a, b] / sums.several[a, b], sums.s2[b, a] / sums.several[b, a]
        E = E_a + E_b
        extra = (sums.s2_extra[a, b] + sums.s2_extra[b, a]) / n  # mean s2 (1 - 1/k), both models
        mean_error = E - extra  # mean s2 / k, both models; E stands for s2 where k = 1
        # Two independent samplings of one model share its question means: D = 0 (NOISE eq. 26-28).
        itself = a == b
        between = np.where(itself, mean_error, between)
        difference = score_a - score_b
        square = n * (between + difference**2)
        between = np.where(itself, between, between * (n / (n - ddof)))
        T = between + extra
        D = np.where(itself, 0.0, T - E)
        correlation = np.where((var_a > 0) & (var_b > 0), covariance, np.nan) / np.sqrt(var_a * var_b)
        # sum pA pB, then sum pA (1 - pB) and sum pB (1 - pA): wins of a and of b where k = 1
        both = n * (cross + sums.center[a] * score_b + sums.center[b] * score_a - sums.center[a] * sums.center[b])
        wins_a, wins_b = sums.p[a, b] - both, sums.p[b, a] - both
        binary = cells.binary & (n > 0)
        wins_a, wins_b = (np.where(binary, np.where(itself, E / 2, wins / n), np.nan) for wins in (wins_a, wins_b))
        is_single = binary & (sums.several[a, b] == 0) & (sums.several[b, a] == 0)
        if method == "tango" and not np.any(is_single):
            raise InputError(
                f"method {method!r} needs one generation per question, scored 0 or 1",
                where=cells.benchmark,
                remedy="leave the method out",
            )
        clustered = None
        if cells.clusters is not None and claim != "these-questions":
            clustered = clustered_pairs(cells, a, b)
            between, T_claimed = (
                np.where(itself, between, clustered.variance),
                np.where(itself, T, clustered.variance + extra),
            )
        else:
            T_claimed = T
        variance = {"new-questions": between, "these-questions": mean_error, "single-run": T_claimed}[claim]
    return {
        "benchmark": cells.benchmark,
        "models": cells.models,
        "a": a,
        "b": b,
        "n_questions": n.astype(np.int64),
        "score_a": score_a,
        "score_b": score_b,
        "difference": difference,
        "variance": variance / np.where(n > 0, n, np.nan),
        "total": T,
        "data": D,
        "prediction": E,
        "disagreement": wins_a + wins_b,
        "correlation": correlation,
        "wins_a": wins_a,
        "wins_b": wins_b,
        "is_single": is_single,
        "square": square,
        "claim": claim,
        "level": level,
        "method": method,
        "unit": cells.unit,
        "n_clusters": None if clustered is None else clustered.n_clusters,
        "df": None if clustered is None else np.where(itself, n - 1, clustered.df),
        "cells": cells,
    }
