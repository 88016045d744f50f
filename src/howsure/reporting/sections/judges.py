"""Section on the judge that scored the completions: verdicts that cannot be read or differ, errors, people's labels.

Each sentence is one of numbers, and is written only where the numbers say so: a preference where its interval is on one
side of 0, a correction where the judge's score is outside of the interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from howsure.reporting.elements import ElementBuilder, Section
from howsure.reporting.formatting import (
    format_count,
    format_each,
    format_error,
    format_level,
    format_ranges,
    format_share,
    is_or_are,
    join_names,
)
from howsure.reporting.report_data import JudgeSummary
from howsure.stats.core.text_table import choose_decimals
from howsure.stats.judges import (
    FEWEST_LABELS,
    LACKS_DOUBLING,
    CalibratedScores,
    JudgedCompletions,
    JudgeErrors,
    JudgeNoise,
    PositionEffect,
    calibrate,
    examine_judge,
)

#: What a test would have detected, by its name.
_UNDETECTED = {"self-preference": "a model", "length": "the length of a completion"}


def build_judge_section(
    summary: JudgeSummary | None, order: Sequence[str], builder: ElementBuilder, *, level: float
) -> Section:
    """Build the section on the judge."""
    title = "The judge"
    lead = "A model scored these completions. Its verdicts can differ when they are repeated, and they can be wrong."
    if summary is None:
        return Section("judge-part", title, title, lead)
    data = summary.completions
    scores = calibrate(data, level=level)
    models = [model for model in order if model in data.models]
    at = [data.models.index(model) for model in models]
    noise = _align_noise(summary.noise, models)
    limits, places = scores.interval(), choose_decimals(scores.se[at])
    rows = {
        "Model": models,
        "Completions": format_each(scores.n_completions[at]),
        "Unreadable": format_each(data.n_unreadable[at]),
        "Judge's score": format_each(scores.judge_score[at], places),
    }
    if summary.noise is not None:
        rows["Flip rate"] = format_each((rate for rate, _ in noise), 3)
        rows["Judge's noise"] = [format_error(se, 4) for _, se in noise]
    if data.n_labels.any():
        rows["Labels"] = format_each(scores.n_labels[at])
        rows["Corrected"] = format_each(scores.score[at], places)
        rows[f"{format_level(level)} interval"] = format_ranges(limits.low[at], limits.high[at], places)
    listed = scores.columns()
    rows_of = [listed["model"].tolist().index(model) for model in models]
    columns = {name: values[rows_of] for name, values in listed.items()}
    columns["n_unreadable"] = data.n_unreadable[at]
    columns["flip_rate"] = np.array([rate for rate, _ in noise])
    columns["se_judge"] = np.array([se for _, se in noise])
    builder.add_table("judge", columns)
    table = builder.build_text_table(
        "judge-table",
        "How far can the judge be trusted?",
        " ".join(describe_judge(summary, scores, level=level)),
        rows,
        text_columns=1,
        table="judge",
    )
    return Section("judge-part", title, title, lead, (table,))


def describe_judge(summary: JudgeSummary, scores: CalibratedScores, *, level: float) -> Iterator[str]:
    """Yield the sentences on a judge: who it is, its noise, its preferences, and what people's labels say."""
    data = summary.completions
    if summary.is_table:
        yield (
            "The judge's scores were read from a table, with one score of each completion, so that the noise of the "
            "judge is unknown."
        )
    else:
        yield f"The judge is {summary.model}, with the template {summary.template}."
        yield from _describe_unreadable(data)
        if summary.positions is not None:
            yield from _describe_positions(summary.positions)
        else:
            yield from _describe_noise(summary.noise, level)
    if not data.n_labels.any():
        if summary.is_table:
            yield "No row is labelled by people, so that these scores are the judge's opinion."
            return
        yield (
            "No labels by people were given, so that these scores are the judge's opinion: howsure review --random "
            "collects labels, and howsure report --calibrate takes them."
        )
        return
    yield from _describe_labels(summary, scores, level)
    yield from _describe_errors(examine_judge(data, level=level), level)


def _align_noise(noise: JudgeNoise | None, models: Sequence[str]) -> list[tuple[float, float]]:
    """Return the flip rate and the error that verdicts add, of each model; NaN where they are unknown."""
    if noise is None:
        return [(np.nan, np.nan)] * len(models)
    rates = dict(zip(noise.models, zip(noise.flip_rate.tolist(), noise.se_judge.tolist(), strict=True), strict=True))
    return [rates.get(model, (np.nan, np.nan)) for model in models]


def _describe_unreadable(data: JudgedCompletions) -> Iterator[str]:
    """Yield how many completions have no readable verdict, if there are any."""
    missing, all_of = int(data.n_unreadable.sum()), len(data.judged)
    if not missing:
        return
    yield (
        f"{format_count(missing, 'completion')} of {all_of:,} ({format_share(missing / all_of)}) {is_or_are(missing)} "
        "without a readable verdict and without a score."
    )


def _describe_noise(noise: JudgeNoise | None, level: float) -> Iterator[str]:
    """Yield how often two verdicts on a completion differ, or that this is unknown."""
    rates = np.array([]) if noise is None else noise.flip_rate[~np.isnan(noise.flip_rate)]
    if noise is None or not len(rates):
        yield "Each completion has one verdict, so that the noise of the judge is unknown (repeats: 2 shows it)."
        return
    limits = noise.interval(level)
    if len(rates) == 1:
        i = int(np.flatnonzero(~np.isnan(noise.flip_rate))[0])
        between = (
            f"{noise.flip_rate[i]:.3f} ({format_level(level)} interval {limits.low[i]:.3f} to {limits.high[i]:.3f})"
        )
    elif f"{rates.min():.3f}" == f"{rates.max():.3f}":
        between = f"{rates.min():.3f}, for each model"
    else:
        between = f"{rates.min():.3f} to {rates.max():.3f}, depending on the model"
    yield f"Two verdicts on the same completion differ with a probability of {between}."


def _describe_positions(effect: PositionEffect) -> Iterator[str]:
    """Yield whether a judge of pairs favours a place."""
    if not effect.n_pairs:
        yield "No pair was judged in both orders, so that a preference for a place is unknown."
        return
    figures = f"{effect.mean:+.3f} [{effect.low:+.3f}, {effect.high:+.3f}]"
    n_pairs = format_count(effect.n_pairs, "pair")
    pairs = f"the first place gets {figures} more than half of the score, over {n_pairs} in both orders"
    if effect.low > 0 or effect.high < 0:
        yield f"The judge favours the {'first' if effect.low > 0 else 'second'} completion of a pair: {pairs}."
    else:
        yield f"No preference for a place was detected: {pairs}."


def _describe_labels(summary: JudgeSummary, scores: CalibratedScores, level: float) -> Iterator[str]:
    """Yield the agreement with people and among them, and the models whose judged score labels contradict."""
    accuracy, data = scores.accuracy, summary.completions
    labelled = f"People labelled {format_count(int(data.n_labels.sum()), 'completion')}"
    described = accuracy.describe(level)
    yield f"{labelled}: {described}." if described else f"{labelled}."
    yield from (f"{agreement}." for agreement in summary.agreements)
    limits = scores.interval()
    above = [model for i, model in enumerate(scores.models) if scores.judge_score[i] > limits.high[i]]
    below = [model for i, model in enumerate(scores.models) if scores.judge_score[i] < limits.low[i]]
    for models, word in ((above, "above"), (below, "below")):
        if models:
            yield f"The judge's score of {join_names(models)} is {word} the interval of the corrected score."
    few = [model for model, n in zip(scores.models, scores.n_labels.tolist(), strict=True) if n < FEWEST_LABELS]
    if few:
        verb = "has" if len(few) == 1 else "have"
        yield f"{join_names(few)} {verb} fewer than {FEWEST_LABELS} labels: too few to correct a score well."


def _describe_errors(errors: JudgeErrors, level: float) -> Iterator[str]:
    """Yield the models and lengths for which the judge's error differs, or that no test detected such an error."""
    limits = errors.interval(level)
    tested: set[str] = set()
    only_first = errors.tests.count("self-preference") == 2  # of two models both rows are the same test
    for i, (test, model) in enumerate(zip(errors.tests, errors.models, strict=True)):
        if errors.lacks_doubling[i] and errors.n_labels[i] >= FEWEST_LABELS:
            yield f"{LACKS_DOUBLING[0].upper()}{LACKS_DOUBLING[1:]}."
        if np.isnan(errors.se[i]):
            continue
        tested.add(test)
        is_against = test == "self-preference" and errors.difference[i] < 0
        if errors.p_holm[i] >= 1 - level or (is_against and only_first):
            continue
        figures = f"{errors.difference[i]:+.3f} [{limits.low[i]:+.3f}, {limits.high[i]:+.3f}]"
        if test == "length":
            yield f"The judge's error changes by {figures} when a completion is twice as long."
        else:
            side = "against" if is_against else "in favour of"
            yield f"The judge errs {side} {model}: its error there differs by {figures} from that on the others."
    what = [words for test, words in _UNDETECTED.items() if test in tested]
    if what and not np.any(errors.p_holm < 1 - level):
        yield f"The tests detected no favour for {' or for '.join(what)}, which small ones would escape."
