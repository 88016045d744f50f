"""The names that functions of this package accept, as `Literal` types, and the checks of arguments at the call.

Each closed set of strings is defined here once: the type is used in signatures, and the tuple derived from it is used
in checks and by the command line.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeVar, get_args

from howsure.errors import InputError, UnknownNameError

Name = TypeVar("Name", bound=str)

#: What a standard error is about (docs/methods/scores.md).
Claim = Literal["new-questions", "these-questions", "single-run", "new-benchmarks"]
CLAIMS: tuple[Claim, ...] = get_args(Claim)
#: What each claim says the true value of a score is.
CLAIM_TEXTS: dict[Claim, str] = {
    "new-questions": "the expected score on new questions like these",
    "these-questions": "the expected score on these very questions, sampled again",
    "single-run": "the score of one run with one generation per question, on new questions",
    "new-benchmarks": "the mean score over new benchmarks, or subjects, like these",
}

#: Means over benchmarks, or over subjects: each of these weighs as much, or each question.
Average = Literal["macro", "micro"]
AVERAGES: tuple[Average, ...] = get_args(Average)

#: The two claims about expected scores. Plans, borrowed scores and resampling make only these.
MeanClaim = Literal["new-questions", "these-questions"]
MEAN_CLAIMS: tuple[MeanClaim, ...] = get_args(MeanClaim)

#: What a gate says of a candidate.
GateVerdict = Literal["pass", "fail", "inconclusive"]
GATE_VERDICTS: tuple[GateVerdict, ...] = get_args(GateVerdict)

#: What a mean over questions and prompt variants estimates.
PromptClaim = Literal["these", "new-questions", "new-variants", "new-questions-and-variants"]
PROMPT_CLAIMS: tuple[PromptClaim, ...] = get_args(PromptClaim)

#: Intervals computed from an estimate and its standard error alone.
BasicMethod = Literal["t", "clt", "wilson-effective"]
BASIC_METHODS: tuple[BasicMethod, ...] = get_args(BasicMethod)

#: The tests among them.
TestMethod = Literal["t", "clt"]
TEST_METHODS: tuple[TestMethod, ...] = get_args(TestMethod)

#: Intervals of a score. "plain" and "plugin" are biased standard errors as published, with the CLT interval.
IntervalMethod = Literal[
    "t",
    "clt",
    "wilson-effective",
    "bayesian-bootstrap",
    "wilson",
    "exact",
    "plain",
    "plugin",
]
INTERVAL_METHODS: tuple[IntervalMethod, ...] = get_args(IntervalMethod)

#: Intervals of a difference of two models.
DifferenceMethod = Literal["adjusted-t", "t", "clt", "tango"]
DIFFERENCE_METHODS: tuple[DifferenceMethod, ...] = get_args(DifferenceMethod)

#: Missing generations are left out, counted as wrong, or both wrong (lower limit) and right (upper limit).
MissingRule = Literal["as-missing", "as-zero", "bounds"]
#: The same for differences and ranks, which have no bounds.
PairedMissingRule = Literal["as-missing", "as-zero"]
MISSING_RULES: tuple[MissingRule, ...] = get_args(MissingRule)

#: Weights of the z of benchmarks by name: all equal, the root of the number of questions, or 1/SE.
WeightRule = Literal["equal", "questions", "precision"]
WEIGHT_RULES: tuple[WeightRule, ...] = get_args(WeightRule)

#: Prediction intervals for future runs: from all generations, or from the run means alone.
RepeatsMethod = Literal["pooled", "run-means"]
REPEATS_METHODS: tuple[RepeatsMethod, ...] = get_args(RepeatsMethod)

#: Tests of two providers of one model.
ProviderMethod = Literal["stratified", "run-means", "welch"]
PROVIDER_METHODS: tuple[ProviderMethod, ...] = get_args(ProviderMethod)

#: Gap between the best and the worst of several runs: from the normal distribution, or by resampling generations.
RunGapMethod = Literal["normal", "resample"]
RUN_GAP_METHODS: tuple[RunGapMethod, ...] = get_args(RunGapMethod)

#: Widths at more generations: from unbiased variance components, or by resampling generations.
ConvergenceMethod = Literal["unbiased", "resampled"]
CONVERGENCE_METHODS: tuple[ConvergenceMethod, ...] = get_args(ConvergenceMethod)

#: Units of the cost of a design.
CostUnit = Literal["calls", "tokens", "cost"]
COST_UNITS: tuple[CostUnit, ...] = get_args(CostUnit)

#: Rules that decide after each round whether an evaluation may stop.
StoppingRule = Literal["sequence", "pooled", "run-means", "prediction"]
STOPPING_RULES: tuple[StoppingRule, ...] = get_args(StoppingRule)

#: What an adaptive allocation distributes: the budget of this stage, or the total that the questions end with.
AllocationDesign = Literal["stage", "fill"]
ALLOCATION_DESIGNS: tuple[AllocationDesign, ...] = get_args(AllocationDesign)

#: The standard deviation of a question's generations: root of the expected variance, or expected root.
DeviationMethod = Literal["root-mean", "mean-root"]
DEVIATION_METHODS: tuple[DeviationMethod, ...] = get_args(DeviationMethod)

#: Moments over prompt variants that a number of variants is planned for.
Moment = Literal["mean", "variance"]
MOMENTS: tuple[Moment, ...] = get_args(Moment)

#: Components of the noise of a benchmark with several prompt variants.
PromptComponent = Literal["question", "variant", "interaction", "generation"]
PROMPT_COMPONENTS: tuple[PromptComponent, ...] = get_args(PromptComponent)

#: Agreement of the answers to a question: corrected for few generations, or the plug-in estimate.
ConsistencyMethod = Literal["corrected", "plugin"]
CONSISTENCY_METHODS: tuple[ConsistencyMethod, ...] = get_args(ConsistencyMethod)

#: What makes answers one set: equality, entailment in both directions, close embeddings, or the word of a judge.
AnswerSetRule = Literal["equal", "entailment", "embeddings", "judge"]
ANSWER_SET_RULES: tuple[AnswerSetRule, ...] = get_args(AnswerSetRule)

#: Density of difficulties: the mean of the questions' posteriors, or a kernel density of the question means.
DensityMethod = Literal["posterior", "kernel"]
DENSITY_METHODS: tuple[DensityMethod, ...] = get_args(DensityMethod)

#: Prior of the probability that a model answers a question correctly.
QuestionPrior = Literal["hierarchical", "fitted", "jeffreys", "uniform"]
QUESTION_PRIORS: tuple[QuestionPrior, ...] = get_args(QuestionPrior)

#: Rows of the table of questions: one per question, or one per model and question.
QuestionRows = Literal["question", "model"]
QUESTION_ROWS: tuple[QuestionRows, ...] = get_args(QuestionRows)

#: Rows of the table of Beta fits: one per model, or one per range of scores, whose models are pooled.
BetaRows = Literal["model", "score"]
BETA_ROWS: tuple[BetaRows, ...] = get_args(BetaRows)

#: Questions over which a model's ability is averaged: the other ones, or all.
AbilityRule = Literal["others", "all"]
ABILITY_RULES: tuple[AbilityRule, ...] = get_args(AbilityRule)

#: How a judge's scores are corrected by people's labels; `stats.judges.calibration` defines each.
CalibrationMethod = Literal["ppi", "rogan-gladen", "labels", "raw"]
CALIBRATION_METHODS: tuple[CalibrationMethod, ...] = get_args(CalibrationMethod)

#: Libraries that a result can be converted to a frame of.
FrameBackend = Literal["pandas", "polars", "pyarrow"]
FRAME_BACKENDS: tuple[FrameBackend, ...] = get_args(FrameBackend)


def check_choice(kind: str, value: str, allowed: Iterable[Name], *, where: str = "") -> Name:
    """Return `value` if it is one of the allowed names.

    Parameters
    ----------
    kind
        What the value is, for the message: ``"method"``.
    value
        The value that was given.
    allowed
        The names that are accepted.
    where
        The function or benchmark that the message begins with.

    Raises
    ------
    UnknownNameError
        When it is none of them; the message names the nearest ones.

    Examples
    --------
    >>> check_choice("method", "clt", BASIC_METHODS)
    'clt'
    >>> check_choice("method", "wilson", BASIC_METHODS)
    Traceback (most recent call last):
    ...
    howsure.errors.UnknownNameError: unknown method 'wilson'; known: clt, t, wilson-effective
    """
    names = tuple(allowed)
    for name in names:
        if name == value:
            return name
    raise UnknownNameError(kind, str(value), names, where=where)


def check_claim(claim: str, *, average: Average | None = None, where: str = "") -> Claim:
    """Return the claim; raise `InputError` if there is none of this name, or none of this average over strata."""
    if claim == "new-benchmarks" and average != "macro":
        remedy = "add --average macro, or make another claim"
        raise InputError("the claim new-benchmarks is of macro averages", where=where, remedy=remedy)
    return check_choice("claim", claim, CLAIMS, where=where)


def check_mean_claim(claim: str, *, where: str = "") -> MeanClaim:
    """Return the claim, or raise `UnknownNameError` if it is not one about expected scores."""
    return check_choice("claim", claim, MEAN_CLAIMS, where=where)


def check_level(level: float, *, where: str = "") -> None:
    """Raise `InputError` unless `level`, the coverage of an interval, lies in (0, 1).

    Examples
    --------
    >>> check_level(95)
    Traceback (most recent call last):
    ...
    howsure.errors.InputError: level is 95; did you mean 0.95?
    """
    try:
        is_level = 0 < level < 1
    except TypeError as error:
        remedy = "give a number between 0 and 1, such as 0.95"
        raise InputError(f"level is {level!r}", where=where, remedy=remedy) from error
    if not is_level:
        is_percentage = 50 <= level < 100
        remedy = f"did you mean {level / 100:g}?" if is_percentage else "allowed: between 0 and 1, such as 0.95"
        raise InputError(f"level is {level:g}", where=where, remedy=remedy)
