"""The verdict on a benchmark, the verdicts on pairs, and warnings, in words.

"Distinguishable" means that a Holm-adjusted p-value is below 1 - level: over all pairs of the benchmark, or, against a
reference that somebody named, over the comparisons with it. "Not distinguishable" is never "equal", and a pair whose
error is unknown is "not testable".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from howsure.reporting.formatting import format_count, format_level, format_number, is_or_are, join_names
from howsure.stats.comparisons import Pairs, ReferenceComparisons, compare_with_reference
from howsure.stats.core.cells import Cells, FloatArray, group_equal_models
from howsure.stats.core.claims import CLAIM_TEXTS
from howsure.stats.core.cube import Cube
from howsure.stats.core.text_table import choose_row_decimals
from howsure.stats.scores import Scores, score

#: Number of questions below which the page warns.
FEW_QUESTIONS = 30


def find_best_models(scores: Scores) -> list[str]:
    """Return the models that share the highest score; none if nothing was scored."""
    if np.all(np.isnan(scores.score)):
        return []
    top = np.nanmax(scores.score)
    return [m for m, s in zip(scores.models, scores.score.tolist(), strict=True) if s >= top - 1e-12]


def judge_reference(compared: ReferenceComparisons) -> list[str]:
    """Return the verdict on each comparison: distinguishable, not distinguishable, undecided, or not testable."""
    words = {"above": "distinguishable", "below": "distinguishable", "open": "not distinguishable"}
    words |= {"undecided": "undecided", "untestable": "not testable"}
    groups = group_by_verdict(compared, compared.models)
    verdicts = {model: words[group] for group, models in groups.items() for model in models}
    return [verdicts[model] for model in compared.models]


def group_by_verdict(compared: ReferenceComparisons, order: Sequence[str]) -> dict[str, list[str]]:
    """Group the other models, in the order given, by their verdict against the reference.

    The groups are "below", "above", "open" (not distinguishable), "undecided" (it depends on answers that could not be
    read) and "untestable".
    """
    groups: dict[str, list[str]] = {"above": [], "below": [], "open": [], "undecided": [], "untestable": []}
    for model in order:
        if model not in compared.models:
            continue
        i = compared.models.index(model)
        if np.isnan(compared.p_holm[i]):
            groups["untestable"].append(model)
        elif compared.is_undecided[i]:
            groups["undecided"].append(model)
        elif not compared.is_distinguishable[i]:
            groups["open"].append(model)
        else:
            groups["below" if compared.difference[i] > 0 else "above"].append(model)
    return groups


def describe_adjustment(compared: ReferenceComparisons) -> str:
    """Return which tests the verdicts on a reference are adjusted for; empty for a single test."""
    if compared.n_tests == 1:
        return ""
    tests = f"all {compared.n_tests:,} pairs" if compared.chosen_by_scores else f"the {compared.n_tests:,} comparisons"
    return f"adjusted for {tests} (Holm)"


def describe_claim(scores: Scores) -> str:
    """Return what the intervals of the scores are for; where clusters are known, new questions come in new ones.

    >>> from howsure.stats.scores import score
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1], [0]]])
    >>> describe_claim(score(cells))
    'the expected score on new questions like these'
    """
    text = CLAIM_TEXTS[scores.claim]
    return text if scores.n_clusters is None else text.replace("new questions", "new questions in new clusters")


def describe_verdict(
    scores: Scores,
    pairs: Pairs | None,
    *,
    limits: tuple[FloatArray, FloatArray] | None = None,
    claim_over_prompts: str | None = None,
) -> str:
    """Describe the result in a few sentences."""
    top = find_best_models(scores)
    if not top:
        return "No generation was scored, so there is nothing to compare."
    interval = scores.interval()
    lows, highs = (interval.low, interval.high) if limits is None else limits
    first, i = top[0], scores.models.index(top[0])
    places = choose_row_decimals(np.sqrt(scores.variance) if limits is None else (highs - lows) / 4)[i]
    score = format_number(float(scores.score[i]), places)
    if math.isnan(lows[i]):
        score_text = f"{score}, with an error that these data cannot estimate"
    else:
        ends = f"{format_number(float(lows[i]), places)} to {format_number(float(highs[i]), places)}"
        score_text = f"{score} ({format_level(interval.level)} interval {ends})"
    if pairs is None:
        return f"{first} scores {score_text}. The interval is for {claim_over_prompts or describe_claim(scores)}."
    if np.sum(np.isfinite(scores.score)) == 1:
        text = f"{first} scores {score_text}; no other model has a score."
        return f"{text} The interval is for {claim_over_prompts}." if claim_over_prompts else text
    text = (
        f"{join_names(top)} share the highest score, {score}."
        if len(top) > 1
        else f"{first} has the highest score, {score_text}."
    )
    compared = compare_with_reference(pairs, first, chosen_by_scores=True)
    each = "common prompt" if claim_over_prompts else "common question"
    text += f" {_describe_rivals(compared, scores, each, is_tied=len(top) > 1)}{_describe_lead(compared, scores)}"
    text += _describe_ahead(compared, each.removeprefix("common "))
    return f"{text} Intervals and tests are for {claim_over_prompts}." if claim_over_prompts else text


def _describe_lead(compared: ReferenceComparisons, scores: Scores) -> str:
    """Describe the difference of the best model from the next one by score, with its interval."""
    score_of = dict(zip(scores.models, scores.score.tolist(), strict=True))
    i = int(np.nanargmax([score_of[model] for model in compared.models]))
    low, high, difference = (float(each[i]) for each in (compared.low, compared.high, compared.difference))
    if not difference > 0 or math.isnan(low):
        return ""
    places = max(3, choose_row_decimals(np.array([(high - low) / 4]))[0])
    ends = f"{format_number(low, places)} to {format_number(high, places)}"
    alone = "; this pair by itself" if len(compared.models) > 1 else ""
    interval = f"{format_level(compared.level)} interval {ends}{alone}"
    return f" It is {format_number(difference, places)} ahead of {compared.models[i]} ({interval})."


def _describe_ahead(compared: ReferenceComparisons, each: str) -> str:
    """Return which models are ahead of that with the highest score on what both answered, without being shown to be."""
    above = group_by_verdict(compared, compared.models)["above"]
    pairs = zip(compared.models, compared.difference.tolist(), strict=True)
    ahead = [model for model, difference in pairs if difference < -1e-12 and model not in above]
    return f" On the {each}s that it answered too, {join_names(ahead)} scored higher." if ahead else ""


def _describe_rivals(compared: ReferenceComparisons, scores: Scores, each: str, *, is_tied: bool) -> str:
    """Describe how the model with the highest score compares with the others."""
    by_score = np.argsort(-np.nan_to_num(scores.score, nan=-np.inf), kind="stable")
    groups = group_by_verdict(compared, [scores.models[i] for i in by_score.tolist()])
    others = len(compared.models)
    them = "the other model" if others == 1 else f"the {others:,} others"
    who = compared.reference if is_tied else "It"
    if len(groups["below"]) == others:
        return f"{who} is clearly better than {'' if others == 1 else 'each of '}{them}."
    if len(groups["open"]) == others:
        any_of = "" if others == 1 else "any of "
        return f"{who} cannot be told apart from {any_of}{them} at this sample size."
    parts = []
    if groups["below"]:
        parts.append(f"{who} is clearly better than {len(groups['below']):,} of {them}")
    if groups["open"]:
        names = [_name_with_count(compared, model, each) for model in groups["open"]]
        parts.append(f"{'it' if parts else who} cannot be told apart at this sample size from {join_names(names)}")
    if groups["above"]:
        parts.append(
            f"{'on' if parts else 'On'} the {each.removeprefix('common ')}s that both answered, "
            f"{join_names(groups['above'])} did better"
        )
    if groups["undecided"]:
        whether = f"{'whether' if parts else 'Whether'} {compared.reference if is_tied else 'it'} differs"
        undecided = join_names(groups["undecided"])
        parts.append(f"{whether} from {undecided} depends on answers that could not be read")
    if groups["untestable"]:
        parts.append(f"{'no' if parts else 'No'} test was possible against {join_names(groups['untestable'])}")
    return f"{'; '.join(parts)}."


def _name_with_count(compared: ReferenceComparisons, model: str, each: str) -> str:
    """Return the name of a model, with what it has in common where that is below half of what others have."""
    common = int(compared.n_questions[compared.models.index(model)])
    is_few = 2 * common < int(compared.n_questions.max())
    return f"{model} ({format_count(common, each)})" if is_few else model


def _describe_unparsed(cells: Cells, unparsed: int) -> str:
    """Return how many answers could not be read, and the scores that models would have with all of them right."""
    share = f"{unparsed / max(int(cells.n.sum()), 1):.2%} of those scored"
    text = f"No answer could be extracted from {format_count(unparsed, 'generation')} ({share}); "
    text += "it scores 0." if unparsed == 1 else "they score 0."
    if not (cells.unit and np.any(cells.is_bounded)):
        return text
    scores = score(cells)
    columns = zip(scores.models, scores.score.tolist(), scores.score_bound.tolist(), strict=True)
    bounds = [f"{m} {bound:.3f} in place of {s:.3f}" for m, s, bound in columns if not math.isnan(bound)]
    return f"{text} With all of them right, scores would be higher: {join_names(bounds)}."


def collect_warnings(cells: Cells, *, cube: Cube | None = None, has_prompt_section: bool = False) -> Iterator[str]:
    """Yield warnings about the data."""
    n, answered = cells.n, cells.answered
    scored = int(n.sum())
    active = np.flatnonzero(np.any(answered, axis=1))
    unscored = [m for i, m in enumerate(cells.models) if i not in set(active.tolist())]
    if unscored:
        yield f"No score at all: {join_names(unscored)}."
    if cells.failed is not None and (failed := int(cells.failed.sum())):
        share = f"{failed / (failed + scored):.2%} of those in the data"  # an empty cell of a table is no failure
        what = f"{format_count(failed, 'generation')} {'has' if failed == 1 else 'have'} no score"
        yield f"{what} ({share}) and {is_or_are(failed)} left out, not scored 0."
    if cells.unparsed is not None and (unparsed := int(cells.unparsed.sum())):
        yield _describe_unparsed(cells, unparsed)
    missing = ~answered[active]
    if np.any(missing):
        yield (
            f"{format_count(int(np.sum(np.any(missing, axis=1))), 'model')} did not answer every question: "
            f"of all pairs of a model and a question, {np.mean(missing):.2%} are without a score. "
            "A score is over the questions that the model answered; a difference is over those that both did."
        )
    if scored and int(n.max()) == 1:
        yield "One generation per question: data and prediction noise cannot be separated."
    elif single := [m for m, row in zip(cells.models, n, strict=True) if int(row.max(initial=0)) == 1]:
        yield (
            f"One generation per question for {join_names(single)}: data and prediction noise cannot be separated "
            "there."
        )
    if len(cells.questions) < FEW_QUESTIONS:
        few = format_count(len(cells.questions), "question")
        yield f"Only {few}: intervals and tests assume scores that are roughly normal over questions."
    yield from _describe_equal_models(cells)
    if cells.clusters is not None:
        yield from _describe_clusters(cells)
    if len(cells.variants) > 1:
        yield _describe_variants(cells, cube, has_prompt_section=has_prompt_section)


def _describe_equal_models(cells: Cells) -> Iterator[str]:
    """Yield which models have the same scores on all of many questions."""
    for names in group_equal_models(cells):
        yield (
            f"{join_names(names)} have the same scores on every question: if these are results of one model under "
            f"{'two' if len(names) == 2 else 'several'} names, their differences say nothing."
        )


def _describe_clusters(cells: Cells) -> Iterator[str]:
    """Yield what intervals are for where questions come in clusters; nothing without any answer."""
    answered = np.any(cells.answered, axis=0).tolist()
    count = len({cluster for cluster, is_known in zip(cells.clusters or (), answered, strict=True) if is_known})
    if count > 1:
        yield (
            f"Questions come in {count:,} clusters: intervals and tests are for new clusters; the parts of the noise, "
            "by question, are those of single questions."
        )
    elif count:
        yield (
            "All questions are in one cluster: what other clusters would give is unknown, so there are no intervals "
            "and no tests."
        )


def _describe_variants(cells: Cells, cube: Cube | None, *, has_prompt_section: bool) -> str:
    """Return over how many prompt variants scores are averaged, and that their noise is not in the errors."""
    rest = (
        "; the noise of choosing these variants is not in the errors"
        f"{' of the scores; see Spread over prompts' if has_prompt_section else ''}."
    )
    if cube is None:
        return f"Scores are averaged over {len(cells.variants):,} prompt variants{rest}"
    counts = np.sum(np.any(cube.n > 0, axis=1), axis=1)
    several, least, most = counts[counts > 0], int(counts[counts > 0].min(initial=len(cube.variants))), counts.max()
    own = " of each question's own" if cube.nested else ""
    if np.all(several == most):
        return f"Scores are averaged over {int(most):,} prompt variants{own}{rest}"
    fewest = [model for model, count in zip(cube.models, counts.tolist(), strict=True) if count == least]
    return (
        f"Scores are averaged over {least:,} to {int(most):,} prompt variants{own}, over the fewest for "
        f"{join_names(fewest)}: a difference of two models is then in part one of prompts{rest}"
    )


#: Meaning of the intervals when a table contains scores of the whole benchmark.
CLAIM_OVER_PROMPTS = "the mean score in new prompts of the same kind, on the questions at hand"


def collect_benchmark_score_warnings(cells: Cells) -> Iterator[str]:
    """Yield warnings about results that are scores of the whole benchmark."""
    if silent := [model for model, row in zip(cells.models, cells.n, strict=True) if not row.any()]:
        yield f"No score at all: {join_names(silent)}."
    yield (
        f"Scores are of the whole benchmark under {format_count(len(cells.variants), 'prompt')}: what other questions "
        "would "
        "change is not known, and in no error or interval of this page."
    )
