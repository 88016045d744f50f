r"""Does a judge err alike on all models and on texts of all lengths? Tests on the completions that people labelled.

The error of the judge on a completion is e = f - y, its score less that of a person. Both tests are regressions by
least squares, weighted by the inverse inclusion probabilities, with cluster-robust errors, pseudo-errors of the
judge, and t with degrees of freedom after Satterthwaite:

self-preference   e on a model, less e on the other models together
length            slope of e on log2(length), with a mean of its own for each model: the change per doubling, where
                  the lengths of a model's completions span one

A judge of pairs has an error of its own: it may favour the completion that it is shown first (`PositionEffect`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.claims import check_level
from howsure.stats.core.intervals import Limits, interval
from howsure.stats.core.multiplicity import holm
from howsure.stats.core.results import Conditions, Result
from howsure.stats.judges.labelled_completions import FEWEST_LABELS, JudgedCompletions
from howsure.stats.scores.clusters import cluster_means

__all__ = ["LACKS_DOUBLING", "JudgeErrors", "PositionEffect", "examine_judge", "measure_position_effect"]

#: What is said in place of a change per doubling of the length.
LACKS_DOUBLING = (
    "the labelled completions of a model span less than a doubling (5 % to 95 % of their lengths), so how the judge's "
    "error changes with the length is not known"
)
#: Quantiles of log2(length) within models between which a doubling must lie, so that its effect is no extrapolation.
_LENGTH_RANGE = (0.05, 0.95)


@dataclass(frozen=True, eq=False)
class JudgeErrors(Result):
    """Tests of a judge's errors: a row for each model, and one for length; arrays of shape (T,).

    Attributes
    ----------
    tests
        ``"self-preference"`` or ``"length"``.
    models
        The model of each row; "all" for length.
    error
        Mean error of the judge on the model's labelled completions, its score less that of people.
    difference, se, df
        What is tested: the error on the model less that on the others, or the change of the error per doubling of the
        length, which is NaN where the lengths span less than a doubling.
    p_holm
        Two-sided p-value, adjusted for the number of models where there are more than two (Holm).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> label = (rng.random(400) < 0.5).astype(float)
    >>> model = np.repeat([0, 1], 200)
    >>> judged = np.where((model == 0) & (rng.random(400) < 0.3), 1, label)
    >>> names = tuple(map(str, range(200)))
    >>> data = JudgedCompletions("demo", ("a", "b"), names, model, np.tile(range(200), 2), judged, label)
    >>> errors = examine_judge(data)
    >>> errors[0]["model"], bool(errors[0]["low"] > 0)
    ('a', True)
    """

    benchmark: str
    tests: tuple[str, ...]
    models: tuple[str, ...]
    n_labels: IntArray
    error: FloatArray
    difference: FloatArray
    se: FloatArray
    df: FloatArray
    p_value: FloatArray
    p_holm: FloatArray
    level: float = 0.95

    @property
    def lacks_doubling(self) -> NDArray[np.bool_]:
        """Whether a row is that of length, and has no difference because lengths span too little, shape (T,)."""
        is_length = np.array([test == "length" for test in self.tests], dtype=bool)
        return is_length & np.isnan(self.difference)

    def interval(self, level: float | None = None) -> Limits:
        """Interval of each difference at a level in (0, 1)."""
        level = self.level if level is None else level
        half = special.stdtrit(self.df, (1 + level) / 2) * self.se
        return Limits(self.difference - half, self.difference + half, level)

    declared = (
        "benchmark test=tests model=models n_labels error difference se low=interval.low high=interval.high level "
        "p_value p_holm note=_reasons.notes"
    )

    def _reasons(self) -> Conditions:
        return {
            f"fewer than {FEWEST_LABELS} labels: too few for a test": self.n_labels < FEWEST_LABELS,
            "no test: the errors do not vary, or the other models have too few labels": np.isnan(self.se)
            & (self.n_labels >= FEWEST_LABELS)
            & ~self.lacks_doubling,
            "lengths span less than a doubling": self.lacks_doubling,
        }

    def sentences(self) -> list[str]:
        """Return one line for each test, with its interval.

        Examples
        --------
        >>> data = JudgedCompletions("demo", ("a",), ("p",), [0], [0], [1.0], [np.nan])
        >>> examine_judge(data).sentences()
        []
        """
        limits = self.interval()
        lines = []
        # Of two models the second line would repeat the first with the opposite sign.
        only_first = self.tests.count("self-preference") == 2
        for i, (test, model) in enumerate(zip(self.tests, self.models, strict=True)):
            if self.lacks_doubling[i] and self.n_labels[i] >= FEWEST_LABELS:
                lines.append(f"length: {LACKS_DOUBLING}")
            if np.isnan(self.se[i]) or (only_first and i == 1):
                continue
            figures = f"{self.difference[i]:+.3f} [{limits.low[i]:+.3f}, {limits.high[i]:+.3f}]"
            if test == "length":
                lines.append(f"length: the judge's error changes by {figures} when a completion is twice as long")
            else:
                n_tests = int(np.sum(~np.isnan(self.se[np.array(self.tests) == "self-preference"])))
                adjusted = "" if only_first else f" (p {self.p_holm[i]:.2g}, adjusted for {n_tests} models)"
                lines.append(
                    f"self-preference: the judge's error on {model} differs by {figures} from that on the others"
                    + adjusted
                )
        return lines


def examine_judge(data: JudgedCompletions, *, level: float = 0.95) -> JudgeErrors:
    """Test whether a judge errs alike on all models, and on completions of all lengths.

    Parameters
    ----------
    data
        Completions with the judge's scores, and people's scores of some of them; `length` for the test of length.
    level
        Coverage of the intervals in (0, 1).

    Returns
    -------
    JudgeErrors
        A row for each model where there are two with labels, and one for length where it is known and varies.

    Notes
    -----
    The coefficient is sum a_i e_i. With the residuals r, the leverage h_c = sum over cluster c of h_i and
    s_c = sum over cluster c of a_i^2, the squared error is sum_c (sum a_i r_i)^2/(1 - h_c) + p m^2 sum s_c^2/sum s_c.
    The second part is that of p pseudo-errors of the largest size m (1 for scores in [0, 1]), one for each sample that
    is compared (2, and 1 for length): a model on whose few labels the judge made no error is not taken for one on which
    it makes none. The change per doubling is NaN where the lengths, each divided by the geometric mean of its model,
    span less than a doubling from their 5 % to their 95 % quantile: it would be an extrapolation. t has
    (sum s_c)^2/sum s_c^2 - 1 degrees of freedom, about those of the model with few labels. With fewer than 20 labels of
    a model, or of the others together, the error is NaN: there is no test. Of two models both
    rows are the same test, and their p-values are not adjusted.

    References
    ----------
    Bell and McCaffrey (2002), Survey Methodology 28, for the leverage and the degrees of freedom. Bonett and Price
    (2012), Journal of Educational and Behavioral Statistics 37, for pseudo-observations.

    Examples
    --------
    >>> data = JudgedCompletions("demo", ("a",), ("p", "q"), [0, 0], [0, 1], [1.0, 0.0], [1.0, 0.0], length=[10, 20])
    >>> examine_judge(data)["test"].tolist()
    ['length']
    """
    check_level(level)
    both = ~np.isnan(data.label) & ~np.isnan(data.judged)
    error, model, question = data.judged[both] - data.label[both], data.model[both], data.question[both]
    weight = np.ones(len(error)) if data.inclusion is None else 1 / data.inclusion[both]
    names = np.array(data.questions if data.clusters is None else data.clusters, dtype=object)
    cluster = np.unique(names, return_inverse=True)[1][question]
    labelled = np.unique(model)
    rows: list[tuple[str, str, int, float, float, float, float]] = []
    if len(labelled) > 1:
        for i in labelled.tolist():
            here = model == i
            design = np.stack([np.ones(len(error)), here], axis=1)
            rows.append(
                (
                    "self-preference",
                    data.models[i],
                    int(here.sum()),
                    float(np.average(error[here], weights=weight[here])),
                    *_drop_error(
                        _fit_last(design, error, weight, cluster, 2 * data.largest_error**2),
                        min(int(here.sum()), int((~here).sum())),
                    ),
                )
            )
    if data.length is not None and len(error):
        length = np.log2(np.maximum(data.length[both], 1))
        dummies = (model[:, None] == labelled).astype(float)
        design = np.column_stack([dummies, length])
        if np.linalg.matrix_rank(design) == design.shape[1]:
            mean = float(np.average(error, weights=weight))
            fit = _fit_last(design, error, weight, cluster, data.largest_error**2)
            centred = length - dummies @ (dummies.T @ length / dummies.sum(axis=0))
            if np.ptp(np.quantile(centred, _LENGTH_RANGE)) < 1:
                fit = (np.nan, np.nan, np.nan)
            rows.append(("length", "all", len(error), mean, *_drop_error(fit, len(error))))
    columns = list(zip(*rows, strict=True)) if rows else [()] * 7
    difference, se, df = (np.array(values, dtype=float) for values in columns[4:])
    with np.errstate(divide="ignore", invalid="ignore"):
        p_value = 2 * special.stdtr(df, -np.abs(difference / se))
    of_models = np.array([name == "self-preference" for name in columns[0]], dtype=bool)
    p_holm = p_value.copy()
    if of_models.sum() > 2:  # of two models both rows are the same test
        p_holm[of_models] = holm(p_value[of_models])
    return JudgeErrors(
        data.benchmark,
        tuple(map(str, columns[0])),
        tuple(map(str, columns[1])),
        np.array(columns[2], dtype=np.int64),
        np.array(columns[3], dtype=float),
        *(difference, se, df, p_value, p_holm),
        level=level,
    )


def _drop_error(fit: tuple[float, float, float], n: int) -> tuple[float, float, float]:
    """Return a fit without its error and degrees of freedom where there are too few labels for a test."""
    return fit if n >= FEWEST_LABELS else (fit[0], np.nan, np.nan)


def _fit_last(
    design: FloatArray, values: FloatArray, weight: FloatArray, cluster: NDArray[np.integer], pseudo: float
) -> tuple[float, float, float]:
    """Return the last coefficient of a weighted regression, its cluster-robust error, and its degrees of freedom.

    `pseudo` is the sum of squares of the pseudo-errors.
    """
    bread = np.linalg.inv(design.T @ (design * weight[:, None]))
    influence = (design @ bread[-1]) * weight
    coefficient = float(influence @ values)
    if np.ptp(values) < 1e-12:
        return coefficient, np.nan, np.nan
    residuals = values - design @ (bread @ (design.T @ (weight * values)))
    leverage = np.einsum("ij,jk,ik->i", design, bread, design) * weight
    of_cluster = np.bincount(cluster, weights=leverage)
    changes = np.bincount(cluster, weights=influence * residuals) / np.sqrt(np.maximum(1 - of_cluster, 0.1))
    sizes = np.bincount(cluster, weights=influence**2)
    df = float(np.sum(sizes) ** 2 / np.sum(sizes**2)) - 1
    if df < 1:
        return coefficient, np.nan, np.nan
    added = pseudo * np.sum(sizes**2) / np.sum(sizes)
    return coefficient, float(np.sqrt(np.sum(changes**2) + added)), df


class PositionEffect(NamedTuple):
    """How much more than half of the score a pairwise judge gives the first completion, with its interval."""

    mean: float
    low: float
    high: float
    n_pairs: int

    def __str__(self) -> str:
        if not self.n_pairs:
            return "no pair was judged in both orders"
        limits = "" if np.isnan(self.low) else f" [{self.low:+.3f}, {self.high:+.3f}]"
        pairs = "pair" if self.n_pairs == 1 else "pairs"
        return (
            f"the first completion of a pair gets {self.mean:+.3f}{limits} more than half of the score "
            f"({self.n_pairs} {pairs} in both orders)"
        )


def measure_position_effect(
    first_scores: ArrayLike, questions: Sequence[str], *, level: float = 0.95
) -> PositionEffect:
    """Return the position effect of a pairwise judge over pairs that it judged in both orders.

    Parameters
    ----------
    first_scores
        The score that the completion in the first place got in each order of each pair, shape (P, 2), in [0, 1].
    questions
        Question of each pair, length P: pairs of one question are one cluster.
    level
        Coverage of the interval in (0, 1).

    Returns
    -------
    PositionEffect
        NaN without a pair; the interval is NaN with one question.

    Notes
    -----
    The mean over pairs of the mean of both scores, less 1/2: 0 for a judge without a preference for a place, 1/2 for
    one that always takes the first. The interval is that of a mean over clusters, with Student's t.

    Examples
    --------
    >>> measure_position_effect([[1, 1], [1, 0], [1, 0.5]], ["p", "q", "r"]).mean
    0.25
    """
    check_level(level)
    effects = np.asarray(first_scores, dtype=float).reshape(-1, 2).mean(axis=1) - 0.5
    n = len(effects)
    if not n:
        return PositionEffect(np.nan, np.nan, np.nan, 0)
    spread = cluster_means([effects], questions)
    limits = interval([effects.mean()], np.sqrt(spread.variance / n), [n], level=level, df=spread.df)
    return PositionEffect(float(effects.mean()), float(limits.low[0]), float(limits.high[0]), n)
