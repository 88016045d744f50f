"""Where the next generation should go: more to the questions whose answers vary, on a fixed set of questions.

    minimise  sum_q v_q / k_q  over  sum_q k_q = budget,    v_q = variance of a generation of question q

The best k_q is proportional to sqrt(v_q) (Neyman 1934). v_q is not known: the plain s2_q of a question that was right 5
of 5 times is 0 and would starve it for ever, so v_q is the posterior mean of p (1 - p) under the Beta distribution of
difficulties fitted to all questions of the model.

Adding to what is there and taking plain means is biased: a question that begins with 5 of 5 is seldom asked again and
keeps its lucky 1.0, one that begins with 4 of 5 is asked until it is right on average. On math500 that moved scores by
up to 4 standard errors and made the squared error up to 10 times that of asking evenly. So by default an allocation is
a stage that asks every question at least once, and `staged.staged` weighs the stages as wholes, which is unbiased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.intervals import Interval, interval
from howsure.stats.core.results import Columns, Result, notes
from howsure.stats.repeats import align_runs
from howsure.stats.scores import fill_within_variances, fit_beta

__all__ = [
    "ALLOCATION_DESIGNS",
    "SD_METHODS",
    "Allocation",
    "StagedScores",
    "allocate_generations",
    "estimate_question_sd",
    "merge_stages",
    "score_stages",
    "score_variance",
]

#: What a budget is added to; the first is the default.
ALLOCATION_DESIGNS = ("stage", "fill")

#: What stands for the standard deviation of a question's generations; the first is the default.
SD_METHODS = ("root-mean", "mean-root")


@dataclass(frozen=True, eq=False)
class Allocation(Result):
    """Additional generations of each question.

    Attributes
    ----------
    n, more
        Generations there are, and how many to add, shape (M, N); `more` sums to the budget.
    sd
        What was believed of each question's standard deviation, shape (M, N).
    se, se_even
        Standard error on these questions to be expected after `more`, and after the same budget spread evenly, shape
        (M,); of the stages that have every question, NaN where none has.
    """

    benchmark: str
    models: tuple[str, ...]
    questions: tuple[str, ...]
    n: IntArray
    more: IntArray
    sd: FloatArray
    se: FloatArray
    se_even: FloatArray
    reasons: NDArray[np.object_] = field(default_factory=lambda: np.array([], dtype=object), repr=False)

    def columns(self) -> Columns:
        """One row per model and question that gets more, the most first."""
        model, question = np.nonzero(self.more)
        order = np.argsort(-self.more[model, question], kind="stable")
        model, question = model[order], question[order]
        return {
            "benchmark": np.full(len(model), self.benchmark, dtype=object),
            "model": np.array(self.models, dtype=object)[model],
            "question": np.array(self.questions, dtype=object)[question],
            "n_generations": self.n[model, question],
            "more": self.more[model, question],
            "sd": self.sd[model, question],
            "note": self.reasons[model],
        }


def allocate_generations(
    cells: Cells,
    budget: int,
    *,
    design: str = "stage",
    method: str = "root-mean",
    sd: FloatArray | None = None,
) -> Allocation:
    """Give a budget of generations to questions so that the scores on these questions get the smallest error.

    Parameters
    ----------
    cells
        M models on N questions, all of which are wanted. Counts may differ and be 0.
    budget
        Generations to add over all models and questions, 0 or more. It minimises the sum of the models' squared
        errors, for two models the squared error of their difference; `cells.select` one model to spend it all there.
    design
        `"stage"`: every question is asked at least once, the rest in proportion to its standard deviation; for
        `staged`. `"fill"`: as far as the generations already there allow, sum v_q/k_q is smallest for all together; for
        plain means, which are unbiased only if `sd` does not come from the same generations.
    method
        What stands for the standard deviation of a question, as in `spread`.
    sd
        The standard deviations themselves, shape (M, N), from elsewhere: another model, an older checkpoint.

    Notes
    -----
    Exact in integers: the gain of one more generation, v/(k (k+1)), falls with k, so that taking the largest gains is
    optimal. All are taken at once by bisection of the smallest gain that is still taken.

    >>> cells = Cells.from_scores("demo", ["a"], ["sure", "torn"], [[[1, 1, 1, 1], [1, 0, 0, 1]]])
    >>> allocate_generations(cells, 6).more.tolist(), allocate_generations(cells, 6, design="fill").more.tolist()
    ([[3, 3]], [[2, 4]])
    """
    if isinstance(budget, bool) or not isinstance(budget, int | np.integer) or budget < 0:
        raise InputError(f"budget is {budget!r}", remedy="allowed: a whole number of generations, 0 or more")
    if design not in ALLOCATION_DESIGNS:
        raise UnknownNameError("design", design, ALLOCATION_DESIGNS)
    if cells.n.size == 0:
        raise InputError("no question", where=cells.benchmark)
    if sd is None:
        sd = estimate_question_sd(cells, method=method)
    elif sd.shape != cells.n.shape or not np.all(sd >= 0):
        raise InputError(f"sd is not {cells.n.shape} numbers of 0 or more", where="allocate")
    v, there = sd**2, cells.n if design == "fill" else np.zeros_like(cells.n)
    more = _water(v.ravel(), there.ravel(), int(budget)).reshape(v.shape)
    even = _water(np.ones(v.size), cells.n.ravel(), int(budget)).reshape(v.shape)
    stages = [cells.n + more] if design == "fill" else [cells.n, more]
    return Allocation(
        benchmark=cells.benchmark,
        models=cells.models,
        questions=cells.questions,
        n=cells.n,
        more=more,
        sd=sd,
        se=np.sqrt(_together(v, stages)),
        se_even=np.sqrt(score_variance(v, cells.n + even)),
        reasons=notes(
            {
                "the budget is below one generation for each question: not a stage of its own": np.any(
                    more == 0, axis=1
                )
                & (design == "stage"),
                "no question varies more than another: evenly": np.all(sd == sd[:, :1], axis=1),
            }
        ),
    )


def estimate_question_sd(cells: Cells, *, method: str = "root-mean") -> FloatArray:
    """What to believe of the standard deviation of each question's generations, shape (M, N).

    Parameters
    ----------
    cells
        M models on N questions. Scores of 0 and 1: the posterior under the fitted Beta(a, b) with x of k right. Others:
        the unbiased variance shrunk towards the mean of all questions, as far as they differ no more than chance would
        have variances of normal scores differ (moments).
    method
        `"root-mean"`, sqrt(E[p (1 - p)]), which minimises the expected squared error; or `"mean-root"`,
        E[sqrt(p (1 - p))] = B(a + x + 1/2, b + k - x + 1/2) / B(a + x, b + k - x), which gives sure questions less.

    >>> cells = Cells.from_scores("demo", ["a"], ["sure", "torn"], [[[1, 1, 1, 1], [1, 0, 0, 1]]])
    >>> bool(0 < estimate_question_sd(cells)[0, 0] < estimate_question_sd(cells)[0, 1])
    True
    """
    if method not in SD_METHODS:
        raise UnknownNameError("method", method, SD_METHODS)
    if not cells.binary:
        return np.sqrt(_shrunk(cells))
    fit = fit_beta(cells)
    # Where no Beta can be fitted: Beta(m, 1 - m) of NOISE 4.2.1 around the smoothed score.
    score = (np.sum(cells.total, axis=1) + 0.5) / (np.sum(cells.n, axis=1) + 1)
    known = np.isfinite(fit.concentration)
    a = np.where(known, fit.a, score)[:, None] + cells.total
    b = np.where(known, fit.b, 1 - score)[:, None] + cells.n - cells.total
    if method == "mean-root":
        return np.asarray(np.exp(special.betaln(a + 0.5, b + 0.5) - special.betaln(a, b)))
    return np.asarray(np.sqrt(a * b / ((a + b) * (a + b + 1))))


def _shrunk(cells: Cells) -> FloatArray:
    """Within-variances E + w_q (s2_q - E), w_q the share of their spread that is not chance; E where k < 2."""
    s2, several = cells.within, cells.n > 1
    freedom = np.maximum(cells.n - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        number = np.sum(several, axis=1)
        E = (np.sum(s2, axis=1, where=several) / number)[:, None]
        between = np.sum((s2 - E) ** 2, axis=1, where=several) / (number - 1)
        chance = np.sum(2 / freedom, axis=1, where=several) / number  # Var(s2) = 2 v^2 / (k - 1), E[v^2] = E^2 + true
        true = np.maximum(between - chance * E[:, 0] ** 2, 0) / (1 + chance)
        true = np.where(number > 1, true, 0)[:, None]
        share = np.where(true > 0, true / (true + 2 / freedom * (E**2 + true)), 0)
        shrunk = np.where(several, E + share * (s2 - E), E)
    return np.where(np.isfinite(shrunk) & (E > 0), shrunk, 1.0)


def _water(v: FloatArray, k: IntArray, budget: int) -> IntArray:
    """Whole numbers that sum to the budget and minimise sum v / (k + more); shape (C,)."""
    v = v if np.any(v > 0) else np.ones(v.shape)
    more = np.zeros(v.shape, np.int64)
    unseen = np.flatnonzero(k == 0)
    first = unseen[np.argsort(-v[unseen], kind="stable")[:budget]]  # from 0 generations the gain has no bound
    more[first] = 1
    left = budget - len(first)
    if left == 0:
        return more
    start = k + more

    def taken(reach: float) -> IntArray:
        # all j >= start with gain v / (j (j + 1)) >= 1/reach
        last = np.floor((np.sqrt(1 + 4 * v * reach) - 1) / 2).astype(np.int64)
        return np.maximum(last + 1 - start, 0) * (v > 0)

    low, high = 0.0, 1.0 / float(v.max())
    while taken(high).sum() < left:
        low, high = high, high * 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if taken(middle).sum() <= left else (low, middle)
    more += taken(low) if low > 0 else 0
    start = k + more
    gain = v / (start * (start + 1.0))
    more[np.argsort(-gain, kind="stable")[: budget - int(more.sum())]] += 1
    return more


def score_variance(v: FloatArray, k: IntArray) -> FloatArray:
    """Squared standard error sum_q (v_q / k_q) / N^2, shape (M,); NaN where a question has no generation."""
    square: FloatArray = np.sum(v / np.where(k > 0, k, np.nan), axis=1) / v.shape[1] ** 2
    return square


def _together(v: FloatArray, stages: Sequence[IntArray]) -> FloatArray:
    """Squared standard error of stages weighed by their precision, of those that have every question."""
    with np.errstate(divide="ignore"):
        precision = 1 / np.array([score_variance(v, k) for k in stages])
        total = np.sum(precision, axis=0, where=~np.isnan(precision))
        return np.where(np.all(np.isnan(precision), axis=0), np.nan, 1 / total)


@dataclass(frozen=True, eq=False)
class StagedScores(Result):
    """Scores on these questions from stages whose counts may depend on the answers before; arrays of shape (M,).

    Attributes
    ----------
    weights
        Weight of each stage, shape (S, M): 0 where it does not have every question.
    score, variance
        Weighted mean of the stages' scores and its squared standard error.
    """

    benchmark: str
    models: tuple[str, ...]
    n_questions: int
    n_generations: IntArray
    weights: FloatArray
    score: FloatArray
    variance: FloatArray
    unit: bool
    level: float = 0.95
    reasons: NDArray[np.object_] = field(default_factory=lambda: np.array([], dtype=object), repr=False)

    def interval(self, level: float | None = None) -> Interval:
        """Normal interval for each score on these questions at a level in (0, 1)."""
        return interval(
            self.score,
            np.sqrt(self.variance),
            self.n_questions,
            level=self.level if level is None else level,
            method="clt",
            bounds=(0.0, 1.0) if self.unit else None,
        )

    def columns(self) -> Columns:
        """One row per model."""
        rows, between = len(self.models), self.interval()
        return {
            "benchmark": np.full(rows, self.benchmark, dtype=object),
            "model": np.array(self.models, dtype=object),
            "n_questions": np.full(rows, self.n_questions),
            "n_generations": self.n_generations,
            "score": self.score,
            "se": np.sqrt(self.variance),
            "low": between.low,
            "high": between.high,
            "level": np.full(rows, self.level),
            "claim": np.full(rows, "these-questions", dtype=object),
            "note": self.reasons,
        }


def score_stages(stages: Sequence[Cells], *, level: float = 0.95) -> StagedScores:
    """Score on these questions from stages, each allocated by what the stages before it had shown.

    Within a stage, counts are fixed before its first answer, so the mean of its question means is unbiased. The stages
    are weighed as wholes, by 1 / sum_q (v_q / k_q), which hardly depends on the answers of any one question.

    Parameters
    ----------
    stages
        The first round and each allocation after it, by themselves. A stage counts for a model where it has all
        questions.
    level
        Level of the printed interval.

    Notes
    -----
    v_q is that of `allocation.spread` with all stages together. On 16 models of math500, in stages that double what
    there is, 95 % intervals cover 94 to 96 %, and the squared error of asking alike is 1.09, 1.17 and 1.28 times as
    large at 10, 20 and 50 generations per question: 1.67 with perfect knowledge of v_q (bench/allocation.py).

    >>> first = Cells.from_scores("demo", ["a"], ["sure", "torn"], [[[1, 1], [1, 0]]])
    >>> more = Cells.from_scores("demo", ["a"], ["sure", "torn"], [[[1], [1, 0, 0]]])
    >>> score_stages([first, more]).score.round(2).tolist()
    [0.71]
    """
    whole, each = align_runs(stages)
    if not whole.questions:
        raise InputError("no question", where=whole.benchmark)
    v = estimate_question_sd(whole) ** 2
    precision = 1 / np.array([score_variance(v, stage.n) for stage in each])  # NaN where a question is missing
    counts = np.isfinite(precision)
    means = np.array([np.where(stage.answered, stage.mean, 0).mean(axis=1) for stage in each])
    total = np.sum(precision, axis=0, where=counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.where(counts, precision, 0) / total
        variance = 1 / total
    reached = np.any(counts, axis=0)
    return StagedScores(
        benchmark=whole.benchmark,
        models=whole.models,
        n_questions=len(whole.questions),
        n_generations=np.sum(
            [np.where(c, stage.n.sum(axis=1), 0) for c, stage in zip(counts, each, strict=True)], axis=0
        ),
        weights=weights,
        score=np.sum(weights * means, axis=0),
        variance=np.where(reached, variance, np.nan),
        unit=whole.unit,
        level=level,
        reasons=notes(
            {
                "no stage has every question": ~reached,
                "stages without every question are left out": reached & ~np.all(counts, axis=0),
            }
        ),
    )


def merge_stages(stages: Sequence[Cells]) -> Cells:
    """Cells of all stages together whose question means are unbiased and whose errors are what they are.

    Question q has the mean m_q = sum_s w_s m_qs of its stages, the mean square likewise, and n_q generations in effect,
    so that scores of 0 and 1 stay such and those in [0, 1] stay there. Pooled as they came, the means would be biased:
    how often a question is asked depends on what it answered before.

    Parameters
    ----------
    stages
        In their order: the pilot, then each allocation. Questions may lack a stage, by failure or because the run is
        not over, whatever they answered: their weights are those of the stages they have.

    Returns
    -------
    `failed` and `unparsed` are sums. A model with one stage keeps its cells.

    Notes
    -----
    w_s, as in `staged`, is proportional to 1 / sum_q (v_q / k_qs) over the questions with all stages. The squared error
    of m_q is e_q = sum_s w_s^2 v_qs / k_qs, where v_qs is the variance within stage s alone, which given the stages
    before does not depend on k_qs; for a single generation the square of its distance from their mean, on average a
    little too much. One variance for all stages would be small just where k_qs was made small: it understates SE^2 by
    about 10 %. n_q is 1 + g (K_q - 1), rounded down, at least 2 where there are two: K_q = 1 / sum_s (w_s^2 / k_qs)
    generations would have the same error, and g, one number for each model and close to 1, makes mean s2_q/n_q at
    least mean e_q.

    >>> first = Cells.from_scores("demo", ["a"], ["sure", "torn"], [[[1, 1], [1, 0]]])
    >>> more = Cells.from_scores("demo", ["a"], ["sure", "torn"], [[[1], [1, 0, 0]]])
    >>> merge_stages([first, more]).mean.round(2).tolist()
    [[1.0, 0.42]]
    """
    whole, each = align_runs(stages)
    has = np.array([stage.answered for stage in each])
    if not whole.questions or np.all(has.sum(axis=0) <= 1):
        return whole
    w = np.where(has, _shares(whole, each)[:, :, None], 0)
    w /= np.where(whole.answered, w.sum(axis=0), 1)
    k = np.array([np.maximum(stage.n, 1) for stage in each])
    mean = np.sum(w * [stage.total / n for stage, n in zip(each, k, strict=True)], axis=0)
    square = np.sum(w * [stage.total_sq / n for stage, n in zip(each, k, strict=True)], axis=0)
    error = np.sum(w**2 / k * _within(each), axis=0)
    with np.errstate(divide="ignore"):
        effective = np.where(whole.answered, 1 / np.sum(w**2 / k, axis=0), 0)
    n = _counts(np.maximum(square - mean**2, 0), error, effective, whole.n)
    several = np.any(has, axis=2).sum(axis=0)[:, None] > 1
    return replace(
        whole,
        n=np.where(several, n, whole.n),
        total=np.where(several, n * mean, whole.total),
        total_sq=np.where(several, n * square, whole.total_sq),
    )


def _shares(whole: Cells, each: Sequence[Cells]) -> FloatArray:
    """Precision of each stage on the questions that have every stage of their model, shape (S, M); 0 where none."""
    there = np.array([np.any(stage.answered, axis=1) for stage in each])
    common = np.all([stage.answered | ~some[:, None] for stage, some in zip(each, there, strict=True)], axis=0)
    common = np.where(np.any(common, axis=1, keepdims=True), common, True)
    v = estimate_question_sd(whole) ** 2
    error = np.array([np.sum(v / np.maximum(stage.n, 1), axis=1, where=common) for stage in each])
    return np.where(there, 1 / error, 0)


def _within(each: Sequence[Cells]) -> FloatArray:
    """What stands for the variance of each question's generations in each stage, shape (S, M, N); 0 where none is."""
    found, before = [], replace(each[0], n=0 * each[0].n, total=0 * each[0].total, total_sq=0 * each[0].total_sq)
    for stage in each:
        single = np.where(
            before.answered,
            (stage.total - np.nan_to_num(before.mean)) ** 2,
            fill_within_variances(stage, stage.answered),
        )
        found.append(np.where(stage.n > 1, stage.within, np.where(stage.n == 1, np.nan_to_num(single), 0)))
        before = replace(before, n=before.n + stage.n, total=before.total + stage.total)
    return np.array(found)


def _counts(square: FloatArray, error: FloatArray, effective: FloatArray, most: IntArray) -> IntArray:
    """Whole n near `effective` with which the mean of square / (n - 1) = s2/n is just not below the mean error."""
    several = most > 1

    def at(g: FloatArray) -> IntArray:
        n = 1 + np.floor(g[:, None] * (effective - 1) + 1e-9).astype(np.int64)
        return np.where(several, np.clip(n, 2, most), most)

    low, high = np.full(len(most), 0.25), np.full(len(most), 2.0)
    wanted = np.sum(error, axis=1, where=several)
    for _ in range(30):
        g = (low + high) / 2
        enough = np.sum(square / np.maximum(at(g) - 1, 1), axis=1, where=several) >= wanted
        low, high = np.where(enough, g, low), np.where(enough, high, g)
    # Where nothing varied there is nothing to match.
    return at(np.where(np.any(square > 0, axis=1), low, 1.0))
