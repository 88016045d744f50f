"""The best of k models, prompts or checkpoints that were tried on the same questions, scored for fresh questions.

The highest of k scores is too high: what was picked for its score was picked for its luck too. The estimate comes from
repeated splits, pick on nine tenths of the questions and score on the last tenth, whose only error is that of picking
with a tenth fewer questions. The interval is the hybrid one of Andrews, Kitagawa and McCloskey (2024): with the score
X_w of the winner, its standard error e, and scores that are approximately normal with covariance S, X_w is distributed,
given what the others scored beside it, as

    N(m, e^2) between max(V, m - c e) and m + c e,     V = X_w - min_j e^2 (X_w - X_j) / (e^2 - S_jw)

and the limits are those m for which the observed X_w is at the lower and the upper quantile. c is so large that all k
scores are within c standard errors of the truth with probability 1 - (1 - level) / 10 at least.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import Claim, check_level
from howsure.stats.core.results import Conditions, Result
from howsure.stats.scores.clusters import IN_CLUSTERS, cluster_means, cluster_residuals

__all__ = ["Winner", "pick_winner"]

#: Folds of a split, how often questions are split, and the share of the error that is left to scores far off.
_FOLDS, _SPLITS, _FAR = 10, 100, 0.1
#: Fewest questions, or clusters, of which scores are nearly normal.
_FEWEST = 20
#: Differences of scores that are rounding.
_ROUNDING = 1e-12
#: Halvings after which a limit is exact.
_HALVINGS = 60


@dataclass(frozen=True, eq=False)
class Winner(Result):
    """The best of k candidates; arrays have shape (1,).

    Attributes
    ----------
    models
        The candidate with the highest score on the questions that all answered; the first of those that share it.
    n_models, n_questions
        Candidates, and questions that all of them answered.
    n_left_out
        Questions that some candidate did not answer.
    n_tied
        Candidates that share the highest score.
    score
        Its score on these questions.
    corrected, low, high
        Its score on fresh questions, and the interval; NaN where the data cannot say.
    lead, lead_corrected
        How far it is ahead of the mean of the others, and how far it is on fresh questions.
    n_units
        Questions, or clusters of them.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.integers(0, 2, (30, 200, 1)).tolist()
    >>> names = [f"prompt {i}" for i in range(30)]
    >>> best = pick_winner(Cells.from_scores("demo", names, [f"q{i}" for i in range(200)], scores))
    >>> best.score.round(3).tolist(), best.corrected.round(2).tolist()
    ([0.56], [0.51])
    """

    benchmark: str
    models: tuple[str, ...]
    n_models: int
    n_questions: IntArray
    n_left_out: IntArray
    n_tied: IntArray
    score: FloatArray
    corrected: FloatArray
    low: FloatArray
    high: FloatArray
    lead: FloatArray
    lead_corrected: FloatArray
    n_units: IntArray
    is_clustered: bool = False
    level: float = 0.95
    claim: Claim = "new-questions"

    declared = (
        "benchmark model=models n_models n_questions score corrected low high luck lead lead_corrected level "
        "note=_reasons.notes"
    )

    @property
    def luck(self) -> FloatArray:
        """How much of the score is luck of the pick: score - corrected."""
        return self.score - self.corrected

    def _reasons(self) -> Conditions:
        unknown = np.isnan(self.low)
        return {
            "no question that all answered": self.n_questions == 0,
            "too few questions for an error": unknown & (self.n_questions > 0),
            "several share the highest score: the first of them was taken": (self.n_tied > 1) & (self.n_questions > 0),
            "questions that some did not answer are left out": (self.n_left_out > 0) & (self.n_questions > 0),
            f"fewer than {_FEWEST} questions or clusters: the interval supposes nearly normal scores": ~unknown
            & (self.n_units < _FEWEST),
            IN_CLUSTERS.partition(",")[0]: ~unknown & self.is_clustered,
        }


def pick_winner(cells: Cells, *, level: float = 0.95, seed: int = 0) -> Winner:
    r"""Score the best of k candidates for fresh questions.

    Parameters
    ----------
    cells
        Candidates (as models) on N questions; two or more. Those that all answered count.
    level
        Coverage of the interval, in (0, 1).
    seed
        Of the splits of the questions.

    Returns
    -------
    Winner
        One row: the winner, its score, and both for fresh questions.

    Raises
    ------
    InputError
        When there is one candidate, or the level is not in (0, 1).

    Notes
    -----
    The estimate is without bias for the expected score of what is picked with 9/10 of the questions, for any scores
    and any k; nothing estimates the score of what was picked with all of them without bias. The interval holds whatever
    the true scores are, close together or far apart, and is wider for it: where all candidates are the same, by 7 to
    15 % for 2 of them and by 51 to 61 % for 1,000. For scores in [0, 1] the limits, in standard errors, are turned into
    scores as Wilson's are, two candidates differ on half a pseudo-question, and a winner that got all right or none has
    two pseudo-questions in its variance. An exact tie counts as a lead of half an answer.

    References
    ----------
    Andrews, Kitagawa and McCloskey (2024), Inference on winners, Quarterly Journal of Economics 139.

    Examples
    --------
    >>> scores = [[[1]] * 30 + [[0]] * 10, [[1], [0]] * 20]
    >>> best = pick_winner(Cells.from_scores("demo", ["a", "b"], [f"q{i}" for i in range(40)], scores))
    >>> best["model"].tolist(), best["score"].tolist(), best["corrected"].round(3).tolist()
    (['a'], [0.75], [0.75])
    """
    check_level(level)
    if len(cells.models) < 2:
        remedy = "give the results of all that it was picked from"
        raise InputError("the best of one is no pick", where=cells.benchmark, remedy=remedy)
    there = cells.answered.all(axis=0)
    y = cells.mean[:, there]
    k, N = y.shape
    clusters = None if cells.clusters is None else [cells.clusters[j] for j in np.flatnonzero(there)]
    unknown = np.full(1, np.nan)
    score = lead = corrected = lead_corrected = low = high = unknown
    w, n_tied, n_units = 0, 0, 0
    if N:
        means = y.mean(axis=1)
        tied = np.flatnonzero(means >= means.max() - _ROUNDING)
        w, n_tied = int(tied[0]), len(tied)
        score = means[[w]]
        lead = score - (means.sum() - score) / (k - 1)
        names = np.arange(N) if clusters is None else np.unique(clusters, return_inverse=True)[1]
        n_units = len(np.unique(names))
    if n_units > 1:
        half_answer = 0.5 * float(np.abs(y[w]).max()) / float(cells.n[w, there].sum())
        low, high = _limit_winner(y, w, [str(name) for name in names], half_answer, level, unit=cells.unit)
        if np.isfinite(low[0]):
            held, ahead = _score_held_out(y, names, np.random.default_rng(seed))
            corrected, lead_corrected = np.clip(held, low, high), ahead
    return Winner(
        cells.benchmark,
        (cells.models[w] if N else "",),
        k,
        np.array([N]),
        np.array([np.sum(cells.answered.any(axis=0)) - N]),
        np.array([n_tied]),
        score,
        corrected,
        low,
        high,
        lead,
        lead_corrected,
        np.array([n_units]),
        clusters is not None,
        level,
    )


def _score_held_out(y: FloatArray, unit: IntArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return the mean score on the questions held out of what the others pick, and its lead, shape (1,) each."""
    n_units = int(unit.max()) + 1
    sizes = np.bincount(unit, minlength=n_units).astype(float)
    sums = np.zeros((n_units, len(y)))
    np.add.at(sums, unit, y.T)
    folds = min(_FOLDS, n_units)
    fold = np.argsort(rng.random((_SPLITS, n_units)), axis=1) % folds
    held: NDArray[np.bool_] = (fold[:, None] == np.arange(folds)[:, None]).reshape(-1, n_units)
    of_held, n_held = held.astype(float) @ sums, held @ sizes
    rest = (sums.sum(axis=0) - of_held) / (sizes.sum() - n_held)[:, None]
    is_picked = rest >= rest.max(axis=1, keepdims=True) - _ROUNDING
    picked = np.sum(of_held, axis=1, where=is_picked) / np.sum(is_picked, axis=1)
    others = (of_held.sum(axis=1) - picked) / (len(y) - 1)
    total = _SPLITS * sizes.sum()
    return np.array([picked.sum() / total]), np.array([(picked - others).sum() / total])


def _limit_winner(
    y: FloatArray, w: int, clusters: list[str], half_answer: float, level: float, *, unit: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the limits of the true score of candidate w, shape (1,) each; NaN where no variation is seen."""
    N = y.shape[1]
    means = y.mean(axis=1)
    residuals, _ = cluster_residuals(y, clusters)
    covariance = residuals @ residuals[w] / N**2
    if unit and not _ROUNDING < means[w] < 1 - _ROUNDING:
        covariance = covariance + ((1 - means[w]) * (1 - means) + means[w] * means) / N**2
    variance, df = float(covariance[w]), float(cluster_means(y[[w]], clusters).df[0])
    if not variance > _ROUNDING**2:
        return np.full(1, np.nan), np.full(1, np.nan)
    # Truncation points on either side, in standard errors from X_w; a candidate that is as correlated tells nothing.
    gap, own = np.maximum(means[w] - means, half_answer), variance - covariance + unit / (2 * N**2)
    own[w] = 0
    e = np.sqrt(variance)
    points = np.divide(e * gap, own, out=np.full(len(y), np.inf), where=np.abs(own) > 1e-9 * variance)
    below = -np.min(points, where=points > 0, initial=np.inf)
    above = -np.max(points, where=points < 0, initial=-np.inf)
    far = _FAR * (1 - level)
    c = -special.ndtri(far / (2 * len(y)))
    tail = (1 - level - far) / (1 - far) / 2
    ends = _solve(np.array([1 - tail, tail]), below, above, c) * special.stdtrit(df, 1 - tail) / -special.ndtri(tail)
    if not unit:
        return means[[w]] + e * ends[[0]], means[[w]] + e * ends[[1]]
    p = means[w]
    q2 = ends**2 / (p * (1 - p) / variance if 0 < p < 1 else N)
    limits = (p + q2 / 2 + np.sign(ends) * np.sqrt(q2 * (p * (1 - p) + q2 / 4))) / (1 + q2)
    return limits[[0]], limits[[1]]


def _solve(quantiles: FloatArray, below: float, above: float, c: float) -> FloatArray:
    """Return the means of the normal law, cut as in the head of this module, of which 0 is at these quantiles."""
    low, high = np.full(len(quantiles), -c), np.full(len(quantiles), c)
    for _ in range(_HALVINGS):
        mean = (low + high) / 2
        # Upper tails: the cuts are at or above mean - c, so that none of these is too small for a number.
        left, right = np.maximum(below - mean, -c), np.minimum(above - mean, c)
        start, end, here = special.ndtr(-left), special.ndtr(-right), special.ndtr(-np.clip(-mean, left, right))
        is_low = start - here > quantiles * (start - end)
        low, high = np.where(is_low, mean, low), np.where(is_low, high, mean)
    ends: FloatArray = (low + high) / 2
    return ends
