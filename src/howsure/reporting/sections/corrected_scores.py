"""The headline and the table of scores of a benchmark whose judge people's labels correct."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from howsure.reporting.formatting import format_level, format_number, join_names
from howsure.reporting.report_data import JudgeSummary
from howsure.reporting.sections.summary import find_best_models
from howsure.stats.core.cells import FloatArray
from howsure.stats.core.text_table import choose_row_decimals
from howsure.stats.judges import FEWEST_LABELS, calibrate, compare_corrected
from howsure.stats.scores import Scores

#: Why a model has no corrected score though others have one.
NOT_JUDGED = "no judge scored it: people's labels correct the scores of a judge"


@dataclass(frozen=True)
class CorrectedScores:
    """Scores of a judge that people's labels correct, in the form of scores.

    Attributes
    ----------
    scores
        The scores with the corrected values, squared errors and notes; their intervals are `limits`.
    limits
        Lower and upper ends of the intervals, shape (M,).
    judge_scores
        The judge's own score of each model.
    p_holm
        Adjusted p-values of the corrected differences of all pairs, shape (M, M); NaN where no test was possible.
    """

    scores: Scores
    limits: tuple[FloatArray, FloatArray]
    judge_scores: Mapping[str, float]
    p_holm: FloatArray

    def count_pairs(self) -> tuple[int, int]:
        """Return the numbers of pairs whose corrected scores are distinguishable, and of all pairs."""
        n_models = len(self.scores.models)
        n_different = int(np.sum(self.p_holm[np.triu_indices(n_models, 1)] < 1 - self.scores.level))
        return n_different, n_models * (n_models - 1) // 2


def correct_scores(summary: JudgeSummary | None, scores: Scores) -> CorrectedScores | None:
    """Return the scores that people's labels correct; None without a judge, or where no score can be corrected."""
    if summary is None or not summary.is_corrected:
        return None
    data = summary.completions
    calibrated = calibrate(data, level=scores.level)
    limits = calibrated.interval()
    at = np.array([data.models.index(model) if model in data.models else -1 for model in scores.models])

    def align(values: FloatArray) -> FloatArray:
        return np.where(at < 0, np.nan, np.asarray(values, dtype=float)[at])

    corrected = replace(
        scores,
        score=align(calibrated.score),
        variance=align(calibrated.se) ** 2,
        reasons=tuple(NOT_JUDGED if i < 0 else calibrated.reasons[i] for i in at.tolist()),
        judge_error=None,
    )
    judged = zip(scores.models, align(calibrated.judge_score).tolist(), strict=True)
    is_pair = (at[:, None] >= 0) & (at >= 0)
    p_holm = np.where(is_pair, compare_corrected(data)[np.ix_(at, at)], np.nan)
    return CorrectedScores(corrected, (align(limits.low), align(limits.high)), dict(judged), p_holm)


def describe_corrected_verdict(corrected: CorrectedScores) -> str:
    """Describe the corrected scores in a few sentences, and which model the judge alone would put first."""
    scores, (low, high) = corrected.scores, corrected.limits
    best = find_best_models(scores)
    i = scores.models.index(best[0])
    places = choose_row_decimals(np.sqrt(scores.variance))[i]
    value, judged = (format_number(float(x), places) for x in (scores.score[i], corrected.judge_scores[best[0]]))
    ends = f"{format_number(float(low[i]), places)} to {format_number(float(high[i]), places)}"
    with_interval = f"{value} ({format_level(scores.level)} interval {ends})"
    error = with_interval if np.isfinite(low[i]) else f"{value}, with an error that these labels cannot estimate"
    start = "Corrected by people's labels,"
    if len(scores.models) == 1:
        return f"{start} {best[0]} scores {error}; the judge's own score is {judged}."
    if np.sum(np.isfinite(scores.score)) == 1:
        text = f"{start} {best[0]} scores {error}; the judge's own score of it is {judged}."
        text += " No other model has a corrected score."
    else:
        if len(best) > 1:
            text = f"{start} {join_names(best)} share the highest score, {value}."
        else:
            text = f"{start} {best[0]} has the highest score, {error}; the judge's own score of it is {judged}."
        text = " ".join([text, *_describe_tests(corrected, best[0])])
    own = {model: score for model, score in corrected.judge_scores.items() if np.isfinite(score)}
    highest = max(own.values())
    if highest > own.get(best[0], -np.inf):
        first = [model for model, score in own.items() if score == highest]
        are = "is the highest" if len(first) == 1 else "share the highest score"
        text += f" By the judge's own scores, {join_names(first)} {are}, {format_number(highest, places)}."
    return text


def describe_few_labels(summary: JudgeSummary, scores: Scores) -> list[str]:
    """Return a warning that names the models whose scores, which are corrected ones, rest on too few labels."""
    n_labels = dict(zip(summary.completions.models, summary.completions.n_labels.tolist(), strict=True))
    corrected = [model for model, x in zip(scores.models, scores.score.tolist(), strict=True) if np.isfinite(x)]
    few = [model for model in corrected if n_labels[model] < FEWEST_LABELS]
    if not few:
        return []
    text = (
        f"Fewer than {FEWEST_LABELS} labels of {join_names(few)}: a corrected score has a wide interval then, whose "
        "coverage is uncertain."
    )
    return [text]


def _describe_tests(corrected: CorrectedScores, best: str) -> list[str]:
    """Return the sentences on the tests of the model with the highest corrected score against each other one."""
    scores = corrected.scores
    p_holm = corrected.p_holm[scores.models.index(best)]
    others = [i for i, model in enumerate(scores.models) if model != best]
    tested = [i for i in others if np.isfinite(p_holm[i])]
    n_different = sum(bool(p_holm[i] < 1 - scores.level) for i in tested)
    all_of = "others" if len(tested) == len(others) else "that could be tested"
    if len(others) == 1:
        them = "the other model"
    else:
        them = scores.models[tested[0]] if len(tested) == 1 else f"the {len(tested):,} {all_of}"
    sentences = []
    if tested and n_different == len(tested):
        sentences.append(f"{best} clearly differs from {'' if len(tested) == 1 else 'each of '}{them}.")
    elif tested and not n_different:
        any_of = "" if len(tested) == 1 else "any of "
        sentences.append(f"{best} cannot be told apart from {any_of}{them} at this number of labels.")
    elif tested:
        rest = join_names([scores.models[i] for i in tested if not p_holm[i] < 1 - scores.level])
        sentences.append(f"{best} clearly differs from {n_different:,} of {them}, and not from {rest}.")
    if len(tested) < len(others):
        names = join_names([scores.models[i] for i in others if i not in tested])
        sentences.append(f"No test was possible against {names}.")
    return sentences
