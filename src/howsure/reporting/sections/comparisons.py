"""Section 2 of the page: differences between models, all pairs, and the errors of differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from howsure.reporting.charts.comparisons import (
    draw_disagreement,
    draw_forest,
    draw_matrix,
    draw_pair_errors,
    significant_difference,
)
from howsure.reporting.elements import ElementBuilder, Figure, Section
from howsure.reporting.formatting import (
    format_count,
    format_level,
    format_share,
    format_significant,
    is_or_are,
)
from howsure.reporting.sections.score_table import MAX_MODELS, MAX_OPEN_MODELS
from howsure.reporting.sections.summary import describe_adjustment, group_by_verdict, judge_reference
from howsure.stats.comparisons import POWER, Pairs, ReferenceComparisons, compare_with_reference
from howsure.stats.core.cells import FloatArray

#: Largest number of pairs in the table of pairs and in a scatter plot.
MAX_PAIRS = 12_000


#: What a reader must know before the first figure, with and without scores of single questions.
LEAD = (
    "Two models are compared on the questions that both answered, question by question. When the models find the same "
    "questions hard, the difference has a smaller error than two separate scores suggest."
)
LEAD_OVER_PROMPTS = (
    "Two models are compared on the prompts that both were given, prompt by prompt: intervals and tests are for new "
    "prompts of the same kind on these questions. What other questions would change is not known and in no interval."
)


#: Said of figures that use the errors of single questions where questions come in clusters.
_COUNT_AS_INDEPENDENT = (
    "Here questions count as independent; the errors and tests for new clusters are in the table of pairs. "
)


def build_comparison_section(
    pairs: Pairs | None,
    order: Sequence[str],
    reference: str,
    builder: ElementBuilder,
    *,
    chosen_by_scores: bool,
    over_prompts: bool = False,
) -> Section:
    """Build the section on differences between models.

    Parameters
    ----------
    pairs
        Comparisons of all pairs; None for one model.
    order
        Models in the order of the page.
    reference
        Model that the others are compared with.
    builder
        Collects the figures and their numbers; its table "pairs" exists.
    chosen_by_scores
        Whether the reference is the model with the highest score, rather than one that was named.
    over_prompts
        Whether models are compared prompt by prompt, because scores of single questions are not known.
    """
    figures: list[Figure] = []
    lead = LEAD_OVER_PROMPTS if over_prompts else LEAD
    if pairs is not None:
        figures = list(_build_verdict_figures(pairs, order, reference, builder, chosen_by_scores=chosen_by_scores))
        if not over_prompts:
            figures += [*_build_error_figure(pairs, builder), *build_disagreement_figure(pairs, builder)]
    left_out = () if figures else ("who beats whom (only one model)",)
    return Section("pairs", "Who beats whom", "Who beats whom", lead, tuple(figures), left_out)


def _build_verdict_figures(
    pairs: Pairs, order: Sequence[str], reference: str, builder: ElementBuilder, *, chosen_by_scores: bool
) -> Iterator[Figure]:
    """Yield the differences from the reference and the matrix of pairs."""
    verdicts, rows = list(pairs.verdict), order[:MAX_MODELS]
    others = [model for model in order if model != reference][:MAX_MODELS]
    compared = compare_with_reference(pairs, reference, chosen_by_scores=chosen_by_scores)
    caption = describe_forest(compared)
    if len(others) < len(order) - 1:
        caption += f" Drawn for the first {len(others)} of {len(order) - 1:,} other models; the counts are over all."
    yield builder.build_figure(
        "forest",
        f"How far is each model from {reference}?",
        caption,
        draw_forest(compared, others, verdicts=judge_reference(compared)),
        kind=f"Points with intervals: difference in score of each model from {reference}",
        marks=3 * len(others),
    )
    if len(order) > 2:
        yield builder.build_figure(
            "matrix",
            "Which pairs of models can be told apart?",
            describe_matrix(pairs, len(rows)),
            draw_matrix(pairs, rows, verdicts=verdicts),
            kind="Grid of pairs of models",
            table="pairs",
            marks=len(rows) ** 2,
            is_folded=len(order) > MAX_OPEN_MODELS,
        )


def _build_error_figure(pairs: Pairs, builder: ElementBuilder) -> Iterator[Figure]:
    """Yield the errors of differences against scores."""
    if len(pairs.a) > 2:
        every, binary = -(-len(pairs.a) // MAX_PAIRS), pairs.cells.binary
        yield builder.build_figure(
            "errors",
            "How large is the error of a difference, and what does theory expect?",
            describe_pair_errors(pairs, binary=binary, every=every),
            draw_pair_errors(pairs, binary=binary, every=every),
            kind="Scatter plot, one point per pair of models",
            table="pairs",
            marks=len(pairs.a),
            is_folded=len(pairs.models) > MAX_OPEN_MODELS,
        )


def build_disagreement_figure(
    pairs: Pairs, builder: ElementBuilder, *, max_pairs: int | None = None
) -> Iterator[Figure]:
    """Yield the plot of differences against disagreement, if scores are 0 and 1 and some pair of models disagrees.

    Parameters
    ----------
    max_pairs
        Largest number of pairs that are drawn; default: `MAX_PAIRS`.
    """
    if len(pairs.a) < 3 or not np.any(pairs.disagreement > 0):
        return
    every = -(-len(pairs.a) // (max_pairs or MAX_PAIRS))
    common = np.where(pairs.n_questions > 0, pairs.n_questions, np.nan)
    thresholds = significant_difference(pairs.disagreement, common, pairs.level)
    yield builder.build_figure(
        "disagreement",
        "Which differences would one generation per question detect?",
        describe_disagreement(pairs, thresholds, every=every),
        draw_disagreement(pairs, every=every),
        kind="Scatter plot, one point per pair of models, with a parabola",
        table="pairs",
        marks=len(pairs.a),
        is_folded=len(pairs.models) > MAX_OPEN_MODELS,
    )


_UNDECIDED = "undecided, as unread answers decide whether it differs"


def describe_forest(compared: ReferenceComparisons) -> str:
    """Describe the differences of the models from the reference."""
    groups = group_by_verdict(compared, compared.models)
    parts = [
        f"{format_count(len(names), 'model')} {phrase if len(names) > 1 else single}"
        for names, phrase, single in (
            (groups["below"], "are clearly below it", "is clearly below it"),
            (groups["above"], "are clearly above it", "is clearly above it"),
            (
                groups["open"],
                "cannot be told apart from it at this sample size",
                "cannot be told apart from it at this sample size",
            ),
            (groups["undecided"], f"are {_UNDECIDED}", f"is {_UNDECIDED}"),
            (groups["untestable"], "cannot be tested against it", "cannot be tested against it"),
        )
        if names
    ]
    text = f"Compared with {compared.reference}: {'; '.join(parts)}."
    level, several = format_level(compared.level), compared.n_tests > 1
    if several:
        why = "the scores chose the reference" if compared.chosen_by_scores else "the reference was named beforehand"
        single = int(compared.differs_singly.sum())
        text += f" Verdicts are {describe_adjustment(compared)}, because {why}; each tested by itself, {single:,} "
        text += "differs." if single == 1 else "differ."
    detectable = compared.detectable[compared.detectable > 0]
    if len(detectable):
        median = " (median over models)" if len(detectable) > 1 else ""
        power = f"{POWER:.0%} power{' or more by these tests' if several else ' by this test'}"
        size = format_significant(float(np.median(detectable)))
        text += f" A true difference of {size}{median} would be found with {power}."
    if len(groups["untestable"]) == len(compared.models):
        return text
    text += f" Thick bars are {level} intervals of single differences"
    if several:
        text += f"; thin bars hold for all {compared.n_tests:,} tests at once (Bonferroni)"
    return f"{text}."


def describe_matrix(pairs: Pairs, n_drawn: int) -> str:
    """Describe how many pairs are distinguishable; `n_drawn` models are drawn."""
    words = list(pairs.verdict)
    decided, untestable = words.count("distinguishable"), words.count("not testable")
    text = f"{decided:,} of {format_count(len(words), 'pair')} can be told apart, adjusted for all pairs (Holm)"
    text += f"; {untestable:,} cannot be tested" if untestable else ""
    if undecided := words.count("undecided"):
        text += f"; for {undecided:,} unread answers decide"
    text += ". Blue: the row's model scores higher; orange: lower; a grey dot: cannot be told apart or not tested"
    text += ", or undecided." if undecided else "."
    if n_drawn < len(pairs.models):
        text += f" Drawn for the first {n_drawn} of {len(pairs.models):,} models; the counts are over all."
    return text


def describe_pair_errors(pairs: Pairs, *, binary: bool, every: int = 1) -> str:
    """Describe how large the standard errors of differences are, and whether pairing reduces them."""
    se = np.sqrt(pairs.total / np.where(pairs.n_questions > 0, pairs.n_questions, np.nan))
    available = se[se > 0]  # of equal differences the error is unknown, not 0
    n_equal = int(np.sum(se == 0))
    if len(available) + n_equal == 0:
        return "No two models have a question in common."
    text = _COUNT_AS_INDEPENDENT if pairs.cells.clusters is not None else ""
    if len(available):
        median = format_significant(float(np.median(available)))
        text += f"With one generation per question the median standard error of a difference is {median}. "
    if n_equal:
        text += (
            f"In {n_equal:,} of {format_count(len(available) + n_equal, 'pair')} no variation was seen, so that the "
            "error is unknown. "
        )
    text = text.rstrip()
    correlation = pairs.correlation[np.isfinite(pairs.correlation)]
    if len(correlation):
        helped = int(np.sum(correlation > 0))
        text += (
            f" In {helped:,} of {format_count(len(correlation), 'pair')} the scores of the two models are positively "
            "correlated over questions: there, pairing gives the difference a smaller error than two separate sets of "
            "questions would."
            if helped
            else " In no pair are the scores of the two models positively correlated over questions: pairing does not "
            "reduce the error of any difference here."
        )
    common = pairs.n_questions[pairs.n_questions > 0]
    if len(np.unique(common)) > 1:
        text += (
            f" Pairs have {int(common.min()):,} to {int(common.max()):,} common questions, and the error falls with "
            "their number: pairs with few of them lie higher."
        )
        text += " The curves are drawn for the median number." if binary else ""
    if every > 1:
        text += f" Drawn for one pair in {every:,}."
    return text


def describe_disagreement(pairs: Pairs, thresholds: FloatArray, *, every: int = 1) -> str:
    """Describe how many pairs one generation per question can distinguish.

    Parameters
    ----------
    pairs
        All pairs, some of which disagree.
    thresholds
        Smallest significant difference of each pair, shape (P,).
    every
        One pair in `every` is drawn.
    """
    available = ~np.isnan(pairs.disagreement) & ~np.isnan(thresholds)
    count = int(available.sum())
    disagree = pairs.disagreement[available] > 0  # of two models that never disagree nothing is significant
    n_above = int(np.sum(disagree & (np.abs(pairs.difference[available]) >= thresholds[available])))
    n_equal = int(np.sum(~disagree))
    middle = int(np.argsort(pairs.disagreement[available], kind="stable")[count // 2])
    text = _COUNT_AS_INDEPENDENT if pairs.cells.clusters is not None else ""
    text += (
        f"{n_above:,} of {format_count(count, 'pair')} {is_or_are(n_above)} on or above the curve: a difference of "
        f"that size in one generation per question has p ≤ {1 - pairs.level:.2g} by the normal law, for this pair "
        "alone; with few questions that differ the test of the table needs more. "
    )
    share = format_share(float(pairs.disagreement[available][middle]))
    text += (
        f"Models that differ on {share} of the questions, as a typical pair here, need a difference of "
        f"{format_significant(float(thresholds[available][middle]))}. "
    )
    if len(pairs.cells.variants) > 1:
        text += "The two generations are each in a prompt of its own. "
    if n_equal:
        text += f"{format_count(n_equal, 'pair')} never disagreed. "
    text += "More questions lower the curve; with more generations per question smaller differences are detected."
    if len(np.unique(pairs.n_questions[available])) > 1:
        text += " Pairs have different numbers of common questions: the curve is for the median, the count for each."
    if every > 1:
        text += f" Drawn for one pair in {every:,}."
    return text
