"""Scores of models, their differences, ranks and repeated runs, on each benchmark."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from howsure.api import judged_results
from howsure.api.result_selection import (
    CellsLike,
    check_two_models,
    count_passes,
    describe_benchmarks,
    list_first,
    select_with_models,
    warn_of_left_out,
    warn_of_unparsed,
)
from howsure.errors import InputError, UnknownNameError
from howsure.notes import Note, warn
from howsure.results.evaluations import Evaluations, open_or_list, to_cells, to_runs
from howsure.rows.naming import is_running_number
from howsure.safe_text import inflect_text
from howsure.stats import comparisons
from howsure.stats import repeats as run_statistics
from howsure.stats import scores as score_statistics
from howsure.stats.comparisons import Comparison
from howsure.stats.core.cells import Cells, group_equal_models
from howsure.stats.core.claims import (
    AVERAGES,
    CALIBRATION_METHODS,
    CLAIMS,
    DIFFERENCE_METHODS,
    INTERVAL_METHODS,
    MEAN_CLAIMS,
    MISSING_RULES,
    REPEATS_METHODS,
    Average,
    CalibrationMethod,
    Claim,
    DifferenceMethod,
    IntervalMethod,
    MissingRule,
    PairedMissingRule,
    RepeatsMethod,
    WeightRule,
    check_choice,
    check_level,
)
from howsure.stats.core.results import Result, Results
from howsure.stats.core.strata import join_strata


def score(
    data: CellsLike,
    *,
    claim: Claim = "new-questions",
    level: float = 0.95,
    method: IntervalMethod | CalibrationMethod | None = None,
    missing: MissingRule = "as-missing",
    borrow: CellsLike | None = None,
    calibrate: str | Path | None = None,
    pass_at: float | None = None,
    average: Average | None = None,
) -> Results:
    r"""Score each model on each benchmark, with its standard error and the sources of the noise.

    Parameters
    ----------
    data
        Results of `howsure.read`, anything that `howsure.read` takes (paths of run folders, logs and tables, or
        frames), or one or several `Cells`.
    claim
        What the error is about. ``"new-questions"``: the expected score on new questions like these.
        ``"these-questions"``: the expected score on these very questions, sampled again. ``"single-run"``: the score of
        one run with one generation per question.
    level
        Coverage of the interval, between 0 and 1.
    method
        How the interval is computed; by default for scores in [0, 1] ``"bayesian-bootstrap"`` of new questions
        without clusters and else ``"wilson-effective"``, or of these questions scored 0 or 1 ``"exact"`` where it is
        narrower; for other scores ``"t"``. With `calibrate`: ``"ppi"`` (the default, PPI++ [3]_), ``"rogan-gladen"``
        (for judges that err alike on all models), ``"labels"`` (the labels alone) or ``"raw"`` (the judge's scores).
    missing
        What is done with generations that failed or do not exist. ``"as-missing"`` leaves them out, ``"as-zero"``
        counts them as wrong, and ``"bounds"`` gives an interval that covers the score whatever they would have been.
    borrow
        Results of at least five other models on all N questions of a benchmark, of which the models in `data` answered
        some; any form that `data` may have. They predict the questions that were not answered. The claim
        ``"these-questions"`` is then about those N questions. Benchmarks are matched by name.
    calibrate
        File of people's labels of completions that a judge scored, as ``howsure review --random N`` makes it: the
        scores are those that people would have given to all completions of this run.
    pass_at
        Graded scores of so much or more count as 1, lower ones as 0; by default they are taken as they are.
    average
        Score the mean over all benchmarks, or over the clusters (subjects) of a single one: ``"macro"``, they weigh
        equally, or ``"micro"``, questions do. The error is for new questions of these benchmarks; the claim
        ``"new-benchmarks"`` is about a macro average over others like them. By default benchmarks are kept apart.

    Returns
    -------
    Results
        A row per benchmark and model: ``score``, ``se``, the limits ``low`` and ``high``, and the errors by source,
        ``se_prediction`` and ``se_data``. With `borrow` the plain score stands beside the borrowed one, with
        `calibrate` the judge's. Where a judge gave several verdicts on a completion, ``se_judge`` is what they add.
        ``unparsed`` is the share of answers that could not be read and score 0; where it is above .5 %,
        ``score_bound`` is the score with all of them right.

    Raises
    ------
    InputError
        If an argument is not allowed, nothing can be read, or a method does not support the claim.

    See Also
    --------
    compare : The difference of two models, with the smaller error of a paired comparison.

    Notes
    -----
    With the mean p_q and the unbiased variance s2_q of the k_q generations of question q, and N questions, the squared
    standard errors of the three claims are [1]_

    .. math::

        \frac{\mathrm{var}(p_q)}{N}, \qquad \frac{\mathrm{mean}(s^2_q / k_q)}{N}, \qquad \frac{D + E}{N}

    where E = mean(s2_q) is the variance of the generations of a question (prediction noise) and
    D = var(p_q) - mean(s2_q / k_q) the variance between questions (data noise). If questions come in clusters, the
    variance between questions is the clustered one, CR2 [2]_. An average over strata s of weight w_s has the squared
    error sum_s w_s^2 SE_s^2, from variances that divide by N_s - 1.

    References
    ----------
    .. [1] Wang (2025), Measuring all the noises of LLM evals, eq. (22)-(25).
    .. [2] Bell and McCaffrey (2002), Bias reduction in standard errors for linear regression with multi-stage samples.
    .. [3] Angelopoulos, Duchi and Zrnic (2023), PPI++: efficient prediction-powered inference, arXiv 2311.01453.

    Examples
    --------
    >>> import howsure as hs
    >>> scores = [[[1, 0], [1, 1], [0, 0]], [[0], [0], [1]]]
    >>> cells = hs.Cells.from_scores("demo", ["a", "b"], ["q1", "q2", "q3"], scores)
    >>> result = hs.score(cells)
    >>> result["score"].round(3).tolist()
    [0.5, 0.333]

    The same from a frame:

    >>> import pyarrow as pa
    >>> frame = pa.table({"model": ["a", "a", "b", "b"], "question": ["1", "2", "1", "2"], "score": [1, 1, 0, 1]})
    >>> hs.score(frame, claim="new-questions", level=0.9)["score"].tolist()
    [1.0, 0.5]
    """
    _check(claim, level)
    check_choice("rule for missing generations", missing, MISSING_RULES)
    if pass_at is not None and (borrow is not None or calibrate is not None):
        remedy = "leave one of them out: both are of the scores as they are"
        raise InputError(f"pass_at with {'borrow' if calibrate is None else 'calibrate'}", remedy=remedy)
    data = count_passes(data, pass_at)
    _check_average(average, borrow=borrow, calibrate=calibrate)
    if calibrate is not None:
        _check_calibrated(claim, missing=missing, borrow=borrow)
        how = check_choice("method of calibration", method or "ppi", CALIBRATION_METHODS)
        return judged_results.calibrate_scores(data, calibrate, method=how, level=level)
    of_scores = None if method is None else check_choice("method", method, INTERVAL_METHODS)
    if borrow is None:
        results = judged_results.open_judged(data) if pass_at is None else None
        benchmarks = to_cells(data if results is None else results)
        warn_of_unparsed(benchmarks)
        benchmarks = _join(benchmarks, average)
        _warn_of_reversed(benchmarks)
        scored = _for_each(
            benchmarks,
            lambda cells: score_statistics.score_with_missing(
                cells, missing, lambda one: score_statistics.score(one, claim=claim, level=level, method=of_scores)
            ),
        )
        return scored if results is None else judged_results.add_judge_error(scored, results)
    if missing != "as-missing":
        raise InputError(
            f"missing is {missing!r} with borrow",
            remedy="leave one out: borrowing predicts the answers that are missing",
        )
    from howsure.stats import borrowing

    reference = to_cells(borrow)
    return _for_each(
        to_cells(data),
        lambda cells: borrowing.score(
            cells, borrowing.match_reference(cells.benchmark, reference), claim=claim, level=level, method=of_scores
        ),
    )


def compare(
    data: CellsLike,
    a: str | None = None,
    b: str | None = None,
    *,
    claim: Claim = "new-questions",
    level: float = 0.95,
    method: DifferenceMethod | CalibrationMethod | None = None,
    borrow: CellsLike | None = None,
    paired: bool = True,
    calibrate: str | Path | None = None,
    average: Average | None = None,
    missing: PairedMissingRule = "as-missing",
) -> Results:
    r"""Compare two models on each benchmark that has both, paired on the questions that both answered.

    Parameters
    ----------
    data
        As for `score`.
    a, b
        Names of the models; differences are a - b. By default the two models; of more than two, `pairs` compares all.
    claim, level
        As for `score`.
    method
        How the interval is computed. By default ``"adjusted-t"``: Student's t after two pseudo-questions [1]_. ``"t"``
        and ``"clt"``: without them. ``"tango"``: for one generation per question scored 0 or 1. With `calibrate` as for
        `score`.
    borrow
        Results of other models on all questions, as for `score`.
    paired
        Whether the questions of a and b are paired. Without, their scores are compared as if their questions had
        nothing to do with each other, with the paired comparison beside it: for models that answered different
        questions, or to show what pairing is worth.
    calibrate
        File of people's labels of completions that a judge scored: the difference that people would have found.
    average
        Compare the means over the benchmarks, or subjects, that have both models: ``"macro"``, they weigh equally, or
        ``"micro"``, questions do.
    missing
        What is done with generations that failed or do not exist: ``"as-missing"`` leaves them out, ``"as-zero"``
        counts them as wrong.

    Returns
    -------
    Results
        A row per benchmark: ``difference``, ``se``, ``low``, ``high``, ``p_value``, the errors by source, and
        ``detectable``, the smallest difference that so many questions detect with a power of 0.8. Without pairing,
        ``variance_ratio`` says how many times as many questions the same error takes. ``verdict`` is
        ``"distinguishable"`` where the p-value is below 1 - level, or else ``"not distinguishable"``; it is
        ``"undecided"`` where more than .5 % of the answers of a model could not be read, and the test does not say the
        same with all of them right, for either model and for both (``score_bound_a``, ``score_bound_b``).

    Raises
    ------
    UnknownNameError
        If no benchmark has a model of this name.
    InputError
        If no benchmark has both models, no two models are named of several, or an argument is not allowed.

    Notes
    -----
    With d_q = p_aq - p_bq over the N common questions, the squared standard error for new questions is [2]_

    .. math:: \mathrm{var}(d_q) / N

    which is smaller than the sum of the squared errors of the two scores if the models find the same questions hard.

    References
    ----------
    .. [1] Bonett and Price (2012), Adjusted Wald confidence interval for a difference of binomial proportions based on
       paired data.
    .. [2] Wang (2025), Measuring all the noises of LLM evals, eq. (15)-(25).

    Examples
    --------
    >>> import howsure as hs
    >>> cells = hs.Cells.from_scores("demo", ["a", "b"], list("pqrs"), [[[1], [1], [1], [0]], [[0], [1], [0], [0]]])
    >>> result = hs.compare(cells, "a", "b")
    >>> result["difference"].tolist(), result["se"].tolist()
    ([0.5], [0.25])
    """
    _check(claim, level)
    _check_average(average, borrow=borrow, calibrate=calibrate, unpaired=None if paired else True)
    if calibrate is not None:
        _check_calibrated(claim, borrow=borrow, paired=paired)
        how = check_choice("method of calibration", method or "ppi", CALIBRATION_METHODS)
        a, b = _name_two_models(data := open_or_list(data), a, b)
        _warn_of_one_model(a, b, is_allowed=False)
        return judged_results.calibrate_difference(data, a, b, calibrate, method=how, level=level)
    of_pairs = None if method is None else check_choice("method", method, DIFFERENCE_METHODS)
    a, b = _name_two_models(data := open_or_list(data), a, b)
    _warn_of_one_model(a, b, is_allowed=paired)
    benchmarks = to_cells(data)
    if missing != "as-missing" and borrow is not None:
        raise InputError(
            f"missing is {missing!r} with borrow", remedy="leave one out: borrowing predicts what is missing"
        )
    both = _fill(select_with_models(benchmarks, (a, b)), missing, (a, b))
    if a != b:
        _warn_of_equal_results(both, a, b)
    if not paired:
        if borrow is not None or method is not None:
            what = "borrow" if borrow is not None else "a method"
            raise InputError(f"{what} without pairing", where="compare", remedy="leave one of them out")
        return _for_each(both, lambda cells: comparisons.compare_unpaired(cells, a, b, claim=claim, level=level))
    if borrow is None:
        both = [cells.select(list(dict.fromkeys((a, b)))) for cells in both]
        warn_of_unparsed(both)
        if average is not None:
            warn_of_left_out(benchmarks, (a, b), stacklevel=2)
        compared = _for_each(
            _join(both, average),
            lambda cells: comparisons.compare(cells, a, b, claim=claim, level=level, method=of_pairs),
        )
        if undecided := compared["benchmark"][compared["verdict"] == "undecided"].tolist():
            facts = {"a": a, "b": b, "names": list_first(undecided)}
            warn(Note("undecided-by-unparsed", benchmarks=tuple(undecided), facts=facts), stacklevel=2)
        return compared
    from howsure.stats import borrowing

    references = to_cells(borrow)

    def compare_borrowed(cells: Cells) -> Result:
        reference = borrowing.match_reference(cells.benchmark, references)
        return borrowing.compare(cells, a, b, reference, claim=claim, level=level, method=of_pairs)

    return _for_each(both, compare_borrowed)


def _fill(benchmarks: list[Cells], missing: PairedMissingRule, models: Sequence[str] = ()) -> list[Cells]:
    """Return the benchmarks, with what is missing of these models (by default all) counted as wrong if asked for."""
    if check_choice("rule for missing generations", missing, get_args(PairedMissingRule)) == "as-missing":
        return benchmarks
    chosen = [cells.select([one for one in cells.models if one in models]) if models else cells for cells in benchmarks]
    counts = [score_statistics.count_missing(cells).sum(axis=1) for cells in chosen]
    lost = {name for cells, n in zip(chosen, counts, strict=True) for name, k in zip(cells.models, n, strict=True) if k}
    if lost:
        names = tuple(cells.benchmark for cells in chosen)
        warn(
            Note(
                "missing-as-wrong",
                benchmarks=names,
                n=int(sum(n.sum() for n in counts)),
                facts={"names": list_first(sorted(lost))},
            ),
            stacklevel=3,
        )
    return [score_statistics.fill_missing(cells, 0.0) for cells in chosen]


def _name_two_models(data: Evaluations | list[Cells], a: object, b: object) -> tuple[str, str]:
    """Return the names of two models; those that are not given are the only other ones."""
    if isinstance(a, str) and isinstance(b, str):
        return a, b
    for other in (a, b):
        if not (other is None or isinstance(other, str)):
            remedy = "give the results of both in a list: hs.compare([base, new])"
            raise InputError(f"{type(other).__name__} in place of the name of a model", where="compare", remedy=remedy)
    models = list(dict.fromkeys(model for cells in to_cells(data) for model in cells.models))
    for one in (a, b):
        if one is not None and one not in models:
            raise UnknownNameError("model", str(one), models)
    left = [model for model in models if model not in (a, b)]
    if len(left) != (a is None) + (b is None):
        names = list_first(models)
        remedy = "name two of them as a and b" + (", or compare all pairs with hs.pairs" if len(models) > 2 else "")
        what = f"the results have {len(models)} model{'s' * (len(models) != 1)}: {names}"
        raise InputError(what, where="compare", remedy=remedy)
    first = a if isinstance(a, str) else left.pop(0)
    return first, b if isinstance(b, str) else left.pop(0)


def _warn_of_one_model(a: str, b: str, *, is_allowed: bool) -> None:
    """Say that a model is compared with itself; raise InputError where this has no meaning."""
    if not is_allowed:
        check_two_models(a, b, where="compare")
    elif a == b:
        warn(Note("same-model", facts={"model": a}), stacklevel=3)


def _warn_of_reversed(benchmarks: Iterable[Cells]) -> None:
    """Name models whose scores have another order than their answers to common questions."""
    for cells in benchmarks:
        if pairs_of := comparisons.list_reversed(cells):
            (first, second), n = pairs_of[0], len(pairs_of) - 1
            others = inflect_text(f", and so [is|are] {n:,} more [pair|pairs]", n) if n else ""
            facts = {"first": first, "second": second, "benchmark": cells.benchmark, "others": others}
            warn(Note("other-questions-scored", benchmarks=(cells.benchmark,), n=n + 1, facts=facts), stacklevel=3)


def _warn_of_equal_results(benchmarks: Iterable[Cells], a: str, b: str) -> None:
    """Say on which benchmarks two names have the same scores of all questions, which are many and differ."""
    names = [cells.benchmark for cells in benchmarks if group_equal_models(cells.select([a, b]))]
    if names:
        facts = {"a": a, "b": b, "names": list_first(names)}
        warn(Note("equal-models", benchmarks=tuple(names), facts=facts), stacklevel=3)


def pairs(
    data: CellsLike,
    *,
    claim: Claim = "new-questions",
    level: float = 0.95,
    method: DifferenceMethod | None = None,
    every_column: bool = False,
    average: Average | None = None,
    missing: PairedMissingRule = "as-missing",
) -> Results:
    """Compare all pairs of models on each benchmark that has two or more.

    Parameters
    ----------
    data, claim, level, average, missing
        As for `compare`.
    method
        How the tests are computed: ``"adjusted-t"`` (the default), ``"t"``, ``"clt"`` or ``"tango"``.
    every_column
        Add the expected shares of questions that only one of both gets right (``wins_a``, ``wins_b``) and the rest
        (``ties``), and the standard errors of one generation each by two rules of thumb: sqrt(p(1-p)/N) for models of
        similar score p (``se_rule_of_thumb``), sqrt(2p(1-p)/N) for independent ones (``se_independent``) [3]_.

    Returns
    -------
    Results
        A row per benchmark and pair, with the columns of `compare` and two adjusted p-values: ``p_holm`` [1]_ controls
        the chance of any wrong finding, ``q_bh`` [2]_ the share of wrong findings. The family of tests is all pairs of
        one benchmark. ``verdict`` is that of `compare` by ``p_holm``.

    Raises
    ------
    InputError
        If no benchmark has two models, or an argument is not allowed.

    References
    ----------
    .. [1] Holm (1979), A simple sequentially rejective multiple test procedure.
    .. [2] Benjamini and Hochberg (1995), Controlling the false discovery rate.
    .. [3] Wang (2025), Measuring all the noises of LLM evals, eq. (3)-(4).

    Examples
    --------
    >>> import howsure as hs
    >>> scores = [[[1], [1], [1], [0]], [[0], [1], [0], [0]], [[0], [0], [0], [1]]]
    >>> cells = hs.Cells.from_scores("demo", ["a", "b", "c"], list("pqrs"), scores)
    >>> columns = hs.pairs(cells)
    >>> list(zip(columns["model_a"].tolist(), columns["model_b"].tolist(), columns["difference"].tolist()))
    [('a', 'b', 0.5), ('a', 'c', 0.5), ('b', 'c', 0.0)]
    """
    _check(claim, level, method)
    benchmarks = _with_several_models(data, average, missing)
    warn_of_unparsed(benchmarks)
    return _for_each(
        benchmarks,
        lambda cells: comparisons.pairs(cells, claim=claim, level=level, method=method, every_column=every_column),
    )


def rank(
    data: CellsLike,
    *,
    claim: Claim = "new-questions",
    level: float = 0.95,
    method: DifferenceMethod | None = None,
    k: int | None = None,
    average: Average | None = None,
    missing: PairedMissingRule = "as-missing",
) -> Results:
    """Rank the models of each benchmark that has two or more by their differences on common questions.

    Parameters
    ----------
    data, claim, average, missing
        As for `compare`.
    method
        How the tests are computed: ``"adjusted-t"`` (the default), ``"t"``, ``"clt"`` or ``"tango"``.
    level
        Coverage of the range of ranks of a model, and the joint coverage of the simultaneous ranges of a benchmark.
    k
        Generations per question for which to estimate the chance that scores put a model and the next lower one in the
        wrong order; by default it is left out.

    Returns
    -------
    Results
        A row per benchmark and model: ``rank``, 1 + the number of models ahead on common questions; its range for this
        model alone (``rank_low``, ``rank_high``) and at once with all others (``rank_low_all``, ``rank_high_all``); the
        probability to be the best (``p_best``) and above the next lower model (``p_above_next``), ``p_wrong_next`` for
        `k`; and ``score_common``, the score on the questions that all models answered. Of an average, ``win_rate`` is
        the mean over its benchmarks of the share of the other models that score lower there, ties counting half.

    Raises
    ------
    InputError
        If no benchmark has two models, or an argument is not allowed.

    Notes
    -----
    The best rank is 1 plus the number of models that are significantly better, the worst M minus the number that are
    significantly worse [1]_, by the tests of `pairs`, Holm-adjusted for those of this model, or for all pairs.
    Probabilities are those of normal differences on common questions, with their covariance.

    References
    ----------
    .. [1] Mogstad, Romano, Shaikh and Wilhelm (2024), Inference for ranks with applications to mobility across
       neighbourhoods and academic achievement across countries.
    .. [2] Zhang et al. (2025), Beyond the Singular, appendix F, for the chance of a wrong order with k generations.

    Examples
    --------
    >>> import howsure as hs
    >>> cells = hs.Cells.from_scores("demo", ["a", "b"], list("pqrs"), [[[1], [1], [1], [0]], [[0], [1], [0], [0]]])
    >>> hs.rank(cells)["rank"].tolist()
    [1, 2]
    """
    _check(claim, level, method)
    if k is not None:
        check_choice("claim with k", claim, MEAN_CLAIMS)
        if k < 1:
            raise InputError(f"k is {k}", where="rank", remedy="allowed: whole numbers from 1")
    _check_average(average, k=k)
    benchmarks = _with_several_models(data, average, missing)
    warn_of_unparsed(benchmarks)
    return _for_each(benchmarks, lambda cells: comparisons.rank(cells, claim=claim, level=level, method=method, k=k))


def repeats(
    data: CellsLike | Mapping[str, Sequence[Cells]],
    *,
    n_future: float | None = None,
    level: float = 0.95,
    method: RepeatsMethod = "pooled",
) -> Results:
    r"""Predict the mean of future runs of each model, and test whether the runs drifted.

    Parameters
    ----------
    data
        Results of `howsure.read` or anything that it takes, the `Cells` of each run, or the runs of each benchmark.
        Each generation of a folder, log or table is a run, and so is each of these. In a table without a column
        ``generation`` it is not known which generations are of one run: ``sd``, ``best``, ``worst`` and ``drift_p`` are
        NaN then.
    n_future
        Number of future runs whose mean is predicted, by default as many as there are; infinity is allowed.
    level
        Coverage of the prediction interval, between 0 and 1.
    method
        ``"pooled"`` uses the variance of the generations of each question, ``"run-means"`` only the means of runs.

    Returns
    -------
    Results
        A row per benchmark and model: ``mean``, the limits ``low`` and ``high`` for the mean of the future runs,
        ``drift_p``, and ``gap``, the expected difference between the best and the worst of ten runs of one generation
        per question. Where runs have dates, ``alarm`` is the day on which a fall of the daily scores was noticed, and
        ``fell_since`` when it most probably began. ``.of("runs")`` has a row per run.

    Raises
    ------
    InputError
        If there are fewer than two runs, or an argument is not allowed.

    Notes
    -----
    With n runs, m future runs and the variance s2 of run means, the interval is [1]_

    .. math:: \bar{x} \pm t_{n-1} \, s \sqrt{1/n + 1/m}

    for ``"run-means"``. ``"pooled"`` replaces s2 by mean(s2_q) / N, which has more degrees of freedom. The claim is
    about these very questions: clusters of questions do not enter the error.

    References
    ----------
    .. [1] Blackwell, Barry and Cohn (2024), Towards reproducible LLM evaluation, eq. (3).

    Examples
    --------
    >>> import howsure as hs
    >>> import pyarrow as pa
    >>> rows = [("m", q, g, s) for q, scores in {"p": (1, 0, 1), "q": (1, 1, 0)}.items() for g, s in enumerate(scores)]
    >>> frame = pa.table(dict(zip(["model", "question", "generation", "score"], map(list, zip(*rows)))))
    >>> result = hs.repeats(frame)
    >>> result["n_runs"].tolist(), result["mean"].round(3).tolist()
    ([3], [0.667])
    """
    check_level(level)
    check_choice("method", method, REPEATS_METHODS)
    runs_of = to_runs(data)
    _warn_of_single_runs(list(runs_of.values()))
    return Results(
        tuple(
            replace(
                run_statistics.repeats(runs, n_future=n_future, level=level, method=method),
                falls=run_statistics.watch_days(runs, level=level),
            )
            for runs in runs_of.values()
        )
    )


def _warn_of_single_runs(runs_of: Sequence[Sequence[Cells]]) -> None:
    """Say that benchmarks of one run each, such as tables that are named by their day, may be runs of one."""
    single = [runs[0] for runs in runs_of if len(runs) == 1 and runs[0].n.max(initial=0) == 1]
    if len(single) > 1 and len({(cells.models, cells.questions) for cells in single}) == 1:
        names = tuple(cells.benchmark for cells in single)
        warn(Note("single-runs", benchmarks=names, facts={"names": list_first(names)}), stacklevel=3)


def combine(
    data: CellsLike,
    a: str,
    b: str,
    *,
    weights: WeightRule | Mapping[str, float] = "precision",
    claim: Claim = "new-questions",
    method: DifferenceMethod | None = None,
    missing: PairedMissingRule = "as-missing",
) -> comparisons.Combination:
    r"""Combine the comparisons of two models on several benchmarks into one test.

    Parameters
    ----------
    data
        As for `compare`; only benchmarks that have both models count.
    a, b, claim, method, missing
        As for `compare`.
    weights
        Of the z of each benchmark: ``"precision"`` (1/SE), ``"equal"``, ``"questions"`` (the root of the number of
        questions), or a number for each benchmark.

    Returns
    -------
    Combination
        A row per benchmark, the combined ``z_meta`` and ``p_meta``, and Cochran's Q, which tests whether the
        differences agree.

    Raises
    ------
    InputError
        If no benchmark has both models, or a benchmark has no weight.

    Notes
    -----
    With the normal score z_i and the weight w_i of benchmark i [1]_

    .. math:: z = \sum_i w_i z_i \Big/ \sqrt{\sum_i w_i^2}

    References
    ----------
    .. [1] Wang (2025), Measuring all the noises of LLM evals, appendix D.

    Examples
    --------
    >>> import howsure as hs
    >>> scores = [[[1], [1], [1], [0]], [[0], [1], [0], [1]]]
    >>> questions = {"x": list("pqrs"), "y": list("tuvw")}
    >>> benchmarks = [hs.Cells.from_scores(name, ["a", "b"], ids, scores) for name, ids in questions.items()]
    >>> result = hs.combine(benchmarks, "a", "b", weights={"x": 1, "y": 1})
    >>> round(result.p_meta, 2)
    0.51
    """
    benchmarks = to_cells(data)
    parts = compare(benchmarks, a, b, claim=claim, method=method, missing=missing).parts
    warn_of_left_out(benchmarks, (a, b), stacklevel=2)
    _warn_of_same_questions(select_with_models(benchmarks, (a, b)), stacklevel=3)
    return comparisons.combine([part for part in parts if isinstance(part, Comparison)], weights=weights)


def _warn_of_same_questions(benchmarks: Sequence[Cells], *, stacklevel: int) -> None:
    """Name benchmarks with common question ids, which may be the same questions, unless these are running numbers."""
    ids = [{question for question in cells.questions if not is_running_number(question)} for cells in benchmarks]
    pairs_of = [(i, j) for i, j in itertools.combinations(range(len(ids)), 2) if len(ids[i] & ids[j]) > 1]
    if pairs_of:
        (i, j), n_others = pairs_of[0], len(pairs_of) - 1
        names = benchmarks[i].benchmark, benchmarks[j].benchmark
        others = inflect_text(f", and so [has|have] {n_others:,} other [pair|pairs] of benchmarks", n_others)
        facts = {"first": names[0], "second": names[1], "others": others if n_others else ""}
        warn(Note("common-questions", benchmarks=names, n=len(ids[i] & ids[j]), facts=facts), stacklevel=stacklevel)


def _check_average(average: Average | None, **others: object) -> None:
    """Raise InputError for an average that there is not, or with arguments that are not of averages."""
    if average is not None:
        check_choice("average", average, AVERAGES)
        for name, value in others.items():
            if value is not None:
                raise InputError(f"average with {name}", remedy="leave one of them out")


def _join(benchmarks: list[Cells], average: Average | None) -> list[Cells]:
    """Return the benchmarks, or as the strata of one where an average over them is to be taken."""
    if average is None:
        return benchmarks
    _warn_of_same_questions(benchmarks, stacklevel=4)
    return [join_strata(benchmarks, average)]


def _check(claim: Claim, level: float, method: DifferenceMethod | None = None) -> None:
    """Raise InputError if an argument that several functions take is not allowed."""
    check_choice("claim", claim, CLAIMS)
    check_level(level)
    if method is not None:
        check_choice("method", method, DIFFERENCE_METHODS)


def _with_several_models(data: CellsLike, average: Average | None, missing: PairedMissingRule) -> list[Cells]:
    """Return the benchmarks, or their average, that have two or more models; raise InputError if none has."""
    benchmarks = _join(_fill(to_cells(data), missing), average)
    several = [cells for cells in benchmarks if len(cells.models) > 1]
    if not several:
        names = sorted({model for cells in benchmarks for model in cells.models})
        if len(names) > 1:
            what, remedy = describe_benchmarks(benchmarks)
            raise InputError(f"no benchmark has results of two models: {what}", remedy=remedy)
        raise InputError(f"only one model: {', '.join(names)}", remedy="give the results of at least two")
    return several


def _for_each(benchmarks: Iterable[Cells], compute: Callable[[Cells], Result]) -> Results:
    """Return the results of a statistic on each benchmark."""
    return Results(tuple(compute(cells) for cells in benchmarks))


def _check_calibrated(
    claim: Claim,
    *,
    borrow: CellsLike | None,
    missing: MissingRule = "as-missing",
    paired: bool = True,
) -> None:
    """Raise InputError for what cannot be combined with labels of people."""
    given = {
        "borrow": borrow,
        "missing": missing if missing != "as-missing" else None,
        "paired=False": None if paired else paired,
    }
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} with calibrate", remedy=f"leave {name} out")
    if claim != "new-questions":
        what = f"claim is {claim!r} with calibrate, whose error is for new questions"
        raise InputError(what, remedy="leave claim out")
