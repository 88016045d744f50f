"""Public functions on prompt variants: the effect of the wording of the prompt on the scores of each benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from howsure.api.result_selection import select_with_models
from howsure.errors import InputError, UnknownNameError
from howsure.notes import Note, warn
from howsure.results.evaluations import Evaluations, read, to_cubes
from howsure.results.sources import Data
from howsure.stats import prompts as statistics
from howsure.stats.core.claims import check_level
from howsure.stats.core.cube import Cube
from howsure.stats.core.results import Columns, Result, Results, notes, to_integers
from howsure.stats.prompts import ProxyCheck, VariantSummary

#: Results with prompt variants, of one or several benchmarks.
CubesLike: TypeAlias = Data | Evaluations | Cube | Iterable[Cube]
#: What is counted of the answers in one benchmark.
Counts = TypeVar("Counts")


#: Results that a summary of prompt variants holds.
_PARTS = ("moments", "components", "sample_size")


@dataclass(frozen=True, repr=False)
class PromptResults(Results):
    """Results on prompt variants of several benchmarks; `parts` holds the result of each.

    `n_star` is NaN if it equals the number of variants that it was estimated from, which suffice by construction.
    """

    def of(self, attribute: str) -> PromptResults:
        """Return what each part holds under this name: moments, components or sample_size."""
        if attribute not in _PARTS:
            raise UnknownNameError("part", attribute, _PARTS)
        parts = [part for part in self.parts if isinstance(part, VariantSummary)]
        return PromptResults(tuple(_WithBenchmark(part.cube.benchmark, getattr(part, attribute)) for part in parts))

    def columns(self) -> Columns:
        """Return the rows of all parts, one below the other."""
        columns = super().columns()
        for name in columns.keys() & {"n_star", "n_star_proxy"}:
            is_reached = columns[name] < columns["n_variants"]
            columns[name] = to_integers(np.where(is_reached, columns[name], np.nan))
        return columns


@dataclass(frozen=True, eq=False)
class _WithBenchmark(Result):
    """A result with the name of its benchmark as the first column."""

    benchmark: str
    result: Result

    def columns(self) -> Columns:
        columns = self.result.columns()
        return {"benchmark": np.full(len(columns["model"]), self.benchmark, dtype=object), **columns}


@dataclass(frozen=True, eq=False)
class ProxyChecks(Result):
    """Whether n* of one model, the proxy, was enough for each other model; see `stats.prompts.check_proxy`."""

    benchmark: str
    checks: tuple[ProxyCheck, ...]
    epsilon: float
    delta: float

    def columns(self) -> Columns:
        """Return one row per model; `bounded` is yes, no, or unknown if n* of the proxy is not reached."""
        checks, rows = self.checks, len(self.checks)
        is_reached = [check.n_star_cheap < check.n_variants for check in checks]
        is_bounded = np.where([check.bounded for check in checks], "yes", "no").astype(object)
        return {
            "benchmark": np.full(rows, self.benchmark, dtype=object),
            "proxy": np.array([check.cheap for check in checks], dtype=object),
            "model": np.array([check.costly for check in checks], dtype=object),
            "n_variants": np.array([check.n_variants for check in checks]),
            "n_star_proxy": np.array([check.n_star_cheap for check in checks]),
            "n_star": np.array([check.n_star_costly for check in checks]),
            "chance": np.where(is_reached, [check.chance for check in checks], np.nan),
            "bounded": np.where(is_reached, is_bounded, "unknown"),
            "epsilon": np.full(rows, self.epsilon),
            "delta": np.full(rows, self.delta),
            "note": notes(
                {
                    "n_star of the proxy is not reached: it bounds nothing": ~np.array(is_reached),
                    "n_star_proxy is of the variants that both models have, which are fewer than those of the proxy: "
                    "whether its n_star of all its variants is enough takes the other model's answers in all of them": (
                        np.array([check.n_variants < check.n_variants_cheap for check in checks])
                    ),
                }
            ),
        }


def variants(data: CubesLike, *, level: float = 0.95, epsilon: float = 0.01, delta: float = 0.1) -> PromptResults:
    r"""Estimate what the prompt does to each score, and how many prompt variants are enough.

    Parameters
    ----------
    data
        Results of `howsure.read`, anything that it takes (paths or frames), or one or several `Cube`; with two or more
        prompt variants. The default prompt of a benchmark is no draw from the space and does not count.
    level
        Coverage of the intervals, between 0 and 1.
    epsilon, delta
        n* is the smallest number of variants whose mean (and variance) deviates by more than `epsilon` from that of all
        variants with probability `delta`/2 at most.

    Returns
    -------
    PromptResults
        A row per benchmark and model: mean and variance over variants, ``n_star`` as published, ``n_star_space`` for
        the whole space of variants, and the variance by source. ``.of("moments")``, ``.of("components")`` and
        ``.of("sample_size")`` give more of each, with intervals.

    Raises
    ------
    InputError
        If no benchmark has two variants, or an argument is out of range.

    Notes
    -----
    The moments over S variants divide by S [1]_. The score of question q under variant v is modelled as

    .. math:: y_{qv} = \mu + Q_q + V_v + I_{qv} + E_{qv}

    and the variance components are estimated without bias from the mean squares, with missing cells too [2]_.

    References
    ----------
    .. [1] Lior et al. (2025), ReliableEval: a recipe for stochastic LLM evaluation via method of moments, definition 1.
    .. [2] Searle, Casella and McCulloch (1992), Variance components, chapter 5.

    Examples
    --------
    >>> import howsure as hs
    >>> import numpy as np
    >>> cube = hs.Cube.from_means("demo", ["a"], ["v1", "v2", "v3"], np.array([[0.5, 0.6, 0.7]]))
    >>> hs.variants(cube)["mean"].round(2).tolist()
    [0.6]
    """
    check_level(level)
    return _for_each(
        _with_variants(data),
        lambda cube: statistics.summarize_variants(cube, level=level, epsilon=epsilon, delta=delta),
    )


def effects(data: CubesLike, *, level: float = 0.95) -> PromptResults:
    r"""Estimate the main effect of each value of each dimension of the prompt space.

    Parameters
    ----------
    data
        As for `variants`; the values of the variants come from a run folder, or from columns of a table that are named
        by ``howsure.read(..., dimensions=[...])``.
    level
        Coverage of the intervals, between 0 and 1.

    Returns
    -------
    PromptResults
        A row per benchmark, model, dimension and value. The default prompt, and variants without a value on some
        dimension, are left out.

    Raises
    ------
    InputError
        If the values of the variants are unknown, or no dimension has two values with two variants each.

    Notes
    -----
    The effect of a value is the mean score of its variants minus the mean over the values of its dimension, from a
    least-squares fit of all dimensions together if enough degrees of freedom remain, or of each alone [1]_.

    References
    ----------
    .. [1] Searle (1971), Linear models, chapter 5.

    Examples
    --------
    >>> import howsure as hs
    >>> import numpy as np
    >>> from dataclasses import replace
    >>> names = [f"v{i}" for i in range(6)]
    >>> scores = np.array([[0.5, 0.52, 0.49, 0.61, 0.6, 0.62]])
    >>> cube = hs.Cube.from_means("demo", ["a"], names, scores)
    >>> cube = replace(cube, values={"case": ("lower",) * 3 + ("upper",) * 3})
    >>> result = hs.effects(cube)
    >>> dict(zip(result["value"].tolist(), result["effect"].round(3).tolist()))
    {'lower': -0.053, 'upper': 0.053}
    """
    check_level(level)
    return _for_each(_with_variants(data), lambda cube: _estimate_effects(cube, level))


def dimension_shares(data: CubesLike, *, level: float = 0.95) -> PromptResults:
    r"""Estimate how much of the variance over prompts each dimension of the prompt space explains.

    Parameters
    ----------
    data
        As for `effects`.
    level
        Coverage of the intervals, between 0 and 1; 1 - level is the significance level.

    Returns
    -------
    PromptResults
        A row per benchmark, model and dimension: ``share`` with its interval, the p-value of "the dimension has no
        effect", and the largest effect with its value. ``p_holm`` is adjusted for all dimensions of the model,
        ``detectable`` is the smallest share that the test finds with a power of .8. ``share`` is NaN if there are too
        few variants to tell.

    Raises
    ------
    InputError
        If the values of the variants are unknown, or no dimension has two values with two variants each.

    Notes
    -----
    With :math:`A_d` the variance of the effects of the values of dimension d on new questions, and R the variance over
    the prompts with the same value, the share is :math:`A_d / (A_d + R)`, both without the noise of questions and
    generations. The test is a quasi F test [1]_, the interval is that of a noncentral F distribution [2]_.

    References
    ----------
    .. [1] Clark (1973), The language-as-fixed-effect fallacy, J. Verbal Learning and Verbal Behavior 12.
    .. [2] Steiger (2004), Beyond the F test, Psychological Methods 9.

    Examples
    --------
    >>> import howsure as hs
    >>> import numpy as np
    >>> from dataclasses import replace
    >>> scores = np.array([[0.5, 0.52, 0.49, 0.51, 0.61, 0.6, 0.62, 0.6]])
    >>> cube = hs.Cube.from_means("demo", ["a"], [f"v{i}" for i in range(8)], scores)
    >>> cube = replace(cube, values={"case": ("lower",) * 4 + ("upper",) * 4, "order": ("ab", "ba") * 4})
    >>> result = hs.dimension_shares(cube)
    >>> dict(zip(result["dimension"].tolist(), result["p_holm"].round(4).tolist()))
    {'case': 0.0002, 'order': 0.7861}
    """
    check_level(level)
    return _for_each(_with_variants(data), lambda cube: _estimate_shares(cube, level))


def _estimate_shares(cube: Cube, level: float) -> statistics.DimensionShares:
    """Return the shares of the dimensions in one benchmark, or raise InputError if no effect can be estimated."""
    result = statistics.estimate_variant_shares(_summarize_values(cube, level), level=level)
    _check_estimable(result.effects, cube)
    return result


def _estimate_effects(cube: Cube, level: float) -> statistics.Effects:
    """Return the effects in one benchmark, or raise InputError if its variants have none."""
    result = statistics.estimate_variant_effects(_summarize_values(cube, level), level=level)
    _check_estimable(result, cube)
    return result


def _summarize_values(cube: Cube, level: float) -> statistics.VariantSummary:
    """Return the summary of one benchmark, or raise InputError if the values of its variants have no effects."""
    if cube.nested:
        raise InputError(
            "each question has variants of its own: they have no effect",
            where=cube.benchmark,
            remedy="sample the same variants for all questions",
        )
    if not cube.values:
        raise InputError(
            "nothing is known of what the variants are made of",
            where=cube.benchmark,
            remedy="name columns that say it with --dimension COLUMN",
        )
    return statistics.summarize_variants(cube, level=level)


def _check_estimable(effects: statistics.Effects, cube: Cube) -> None:
    """Raise InputError if no dimension has effects."""
    if not effects.values:
        reasons = [f"{name}: {reason}" for name, reason in effects.left_out.items()]
        why = ", ".join(reasons) or "fewer than two variants have a value on each"
        raise InputError(
            f"no dimension has an effect that can be estimated ({why})",
            where=cube.benchmark,
            remedy="draw more variants, of fewer values",
        )


def rank_flips(data: CubesLike, *, a: str | None = None, b: str | None = None, level: float = 0.95) -> PromptResults:
    r"""Estimate how often the prompt decides which of two models is better.

    Parameters
    ----------
    data
        As for `variants`, with two or more models.
    a, b
        Names of two models; without them, all pairs.
    level
        Coverage of the intervals, between 0 and 1.

    Returns
    -------
    PromptResults
        A row per benchmark and pair; the variance components are those of the difference.

    Raises
    ------
    InputError
        If there is only one model, or only one of `a` and `b` is given.
    UnknownNameError
        If no benchmark has a model of this name.

    Notes
    -----
    If the differences over prompts are normal with mean :math:`\delta` and variance :math:`\sigma_V^2`, the worse model
    is ahead under a share :math:`\Phi(-|\delta| / \sigma_V)` of the prompts.

    References
    ----------
    .. [1] Gail and Simon (1985), Testing for qualitative interactions between treatment effects and patient subsets.
    .. [2] Weerahandi (1993), Generalized confidence intervals.

    Examples
    --------
    >>> import howsure as hs
    >>> import numpy as np
    >>> scores = np.array([[0.5, 0.6, 0.7], [0.55, 0.58, 0.6]])
    >>> cube = hs.Cube.from_means("demo", ["a", "b"], ["v1", "v2", "v3"], scores)
    >>> hs.rank_flips(cube)["n_variants"].tolist()
    [3]
    """
    check_level(level)
    with_variants = _with_variants(data)
    if a is None and b is None:
        return _for_each(_with_pairs(with_variants), lambda cube: statistics.estimate_rank_flips(cube, level=level))
    pair = _check_pair(a, b)
    return _for_each(
        select_with_models(with_variants, pair),
        lambda cube: statistics.estimate_rank_flips(cube.select(pair), level=level),
    )


def difference_components(data: CubesLike, a: str, b: str, *, level: float = 0.95) -> PromptResults:
    """Estimate the variance components of the difference of two models over questions and prompt variants.

    Parameters
    ----------
    data
        As for `variants`.
    a, b
        Names of the models; differences are a - b.
    level
        Coverage of the intervals, between 0 and 1.

    Returns
    -------
    PromptResults
        A row per benchmark and component: questions, variants, their interaction, and generations.

    Raises
    ------
    InputError
        If no benchmark has both models.

    Notes
    -----
    The model is that of `variants`, with the difference of the scores of a cell in place of the score. Variants may be
    crossed with questions or drawn for each question by itself (nested).

    References
    ----------
    .. [1] Searle, Casella and McCulloch (1992), Variance components, chapter 5.

    Examples
    --------
    >>> import howsure as hs
    >>> import numpy as np
    >>> scores = np.array([[0.5, 0.6, 0.7], [0.55, 0.58, 0.6]])
    >>> cube = hs.Cube.from_means("demo", ["a", "b"], ["v1", "v2", "v3"], scores)
    >>> hs.difference_components(cube, "a", "b")["model"][0]
    'a - b'
    """
    check_level(level)
    both = select_with_models(_with_variants(data), (a, b))
    return _for_each(both, lambda cube: statistics.estimate_components(cube.drawn.difference(a, b), level=level))


def unread_answers(data: Data | Evaluations, *, level: float = 0.95) -> PromptResults:
    """Estimate how much of the spread over prompts comes from answers that could not be parsed.

    Parameters
    ----------
    data
        Results of `howsure.read`, or anything that it takes, with two or more prompt variants and with answers: a run
        folder, or logs that keep them.
    level
        1 - significance level of the tests, between 0 and 1.

    Returns
    -------
    PromptResults
        For each benchmark and model a row for all drawn prompts: the unparsed share, the score, the share of the
        variance over prompts that disappears with the unparsed answers (``explained``), and p-values of equal unparsed
        shares and of equal scores of the parsed answers. Below it unparsed share and score for each value of a
        dimension and each prompt. The parts of the results have the variances.

    Raises
    ------
    InputError
        If no benchmark has two variants, or no answers are kept.

    Notes
    -----
    An unparsed answer scores 0. The variance without them takes them to be right as often as the parsed answers of the
    same prompt. The tests are F tests of the two-way layout, adjusted by Holm for the models of a benchmark.

    References
    ----------
    .. [1] Searle (1971), Linear models, chapter 7.

    Examples
    --------
    >>> import howsure as hs
    >>> import pandas as pd
    >>> hs.unread_answers(pd.DataFrame({"model": ["a"] * 4, "question": list("ppqq"), "variant": list("1212"),
    ...                                 "score": [0, 1, 1, 1]}))
    Traceback (most recent call last):
    ...
    howsure.errors.InputError: ...answers are not kept...
    """
    check_level(level)
    return _for_each_with_answers(
        data,
        Evaluations.count_unparsed,
        lambda cube, counts: statistics.estimate_unparsed_effect(cube, counts, level=level),
    )


def rank_concordance(data: CubesLike, *, level: float = 0.95) -> PromptResults:
    r"""Estimate how far the prompt variants agree on the order of the models, by Kendall's W.

    Parameters
    ----------
    data
        As for `variants`, with two or more models.
    level
        Coverage of the intervals, between 0 and 1.

    Returns
    -------
    PromptResults
        A row per benchmark: W with its interval, the mean rank correlation of two variants, and the p-value of "the
        models are ordered at random under each variant".

    Raises
    ------
    InputError
        If no benchmark has two variants and two models.

    Notes
    -----
    With :math:`R_i` the sum of the ranks of model i of M over S variants, without ties,

    .. math:: W = \frac{12 \sum_i R_i^2 - 3 S^2 M (M + 1)^2}{S^2 M (M^2 - 1)}

    The noise of questions and generations makes W smaller, too.

    References
    ----------
    .. [1] Kendall and Babington Smith (1939), The problem of m rankings, Ann. Math. Statist. 10.
    .. [2] Mizrahi et al. (2024), State of what art? A call for multi-prompt LLM evaluation, section 4.

    Examples
    --------
    >>> import howsure as hs
    >>> import numpy as np
    >>> scores = np.array([[0.9, 0.8, 0.9, 0.8], [0.7, 0.7, 0.5, 0.6], [0.6, 0.75, 0.4, 0.5]])
    >>> cube = hs.Cube.from_means("demo", ["a", "b", "c"], ["v1", "v2", "v3", "v4"], scores)
    >>> hs.rank_concordance(cube)["kendall_w"].tolist()
    [0.8125]
    """
    check_level(level)
    return _for_each(_with_pairs(_with_variants(data)), lambda cube: _estimate_concordance(cube, level))


def _estimate_concordance(cube: Cube, level: float) -> statistics.Concordance:
    """Return the concordance of the drawn variants of one benchmark."""
    scores = statistics.summarize_variants(cube, level=level).moments.scores
    return statistics.estimate_concordance(cube.benchmark, cube.models, scores, level=level)


def prompt_consistency(data: Data | Evaluations, *, level: float = 0.95) -> PromptResults:
    """Estimate how often two prompt variants give the same answer to a question.

    Parameters
    ----------
    data
        As for `unread_answers`.
    level
        Coverage of the intervals, between 0 and 1.

    Returns
    -------
    PromptResults
        A row per benchmark and model: ``consistency_rate`` with its interval for new questions and new prompts;
        ``same_prompt``, the same for two generations under one prompt, which sampling alone would give; ``unanimous``,
        the share of the questions with one answer under all prompts.

    Raises
    ------
    InputError
        If no benchmark has two variants, or no answers are kept.

    Notes
    -----
    The consistency rate is the mean over questions of the share of pairs of prompts that give the same answer. An
    answer that could not be parsed is equal to no other.

    References
    ----------
    .. [1] Nalbandyan et al. (2025), SCORE: systematic consistency and robustness evaluation for large language models.

    Examples
    --------
    >>> import howsure as hs
    >>> hs.prompt_consistency("prompts")["consistency_rate"]  # doctest: +SKIP
    array([0.712, 0.655])
    """
    check_level(level)
    return _for_each_with_answers(
        data,
        Evaluations.count_variant_answers,
        lambda _, answers: statistics.estimate_prompt_consistency(answers, level=level),
    )


def prompteval(data: CubesLike) -> PromptResults:
    """Estimate quantiles of the score over prompts from few cells of questions and variants.

    Parameters
    ----------
    data
        As for `variants`; most cells may be missing.

    Returns
    -------
    PromptResults
        A row per benchmark, model and quantile.

    Raises
    ------
    InputError
        If no benchmark has two variants.

    Notes
    -----
    A Rasch model of questions and prompts predicts the cells that are missing.

    References
    ----------
    .. [1] Polo et al. (2024), Efficient multi-prompt evaluation of LLMs.

    Examples
    --------
    >>> import howsure as hs
    >>> scores = [[[[1], [1]], [[0], [1]], [[1], [0]], [[0], [0]]]]
    >>> cube = hs.Cube.from_scores("demo", ["a"], list("pqrs"), ["v1", "v2"], scores)
    >>> sorted(set(hs.prompteval(cube)["model"].tolist()))
    ['a']
    """
    return _for_each(_with_variants(data), statistics.prompteval)


def proxy(data: CubesLike, cheap: str, *, epsilon: float = 0.01, delta: float = 0.1) -> PromptResults:
    """Test whether n* of a cheap model is enough for each of the other models.

    Parameters
    ----------
    data
        As for `variants`, with two or more models.
    cheap
        Name of the model whose n* stands for that of the others.
    epsilon, delta
        As for `variants`.

    Returns
    -------
    PromptResults
        A row per benchmark and other model; ``bounded`` is yes, no, or unknown if n* of the proxy is not reached.

    Raises
    ------
    InputError
        If there is only one model.
    UnknownNameError
        If no benchmark has a model of this name.

    References
    ----------
    .. [1] Lior et al. (2025), ReliableEval: a recipe for stochastic LLM evaluation via method of moments, section 4.

    Examples
    --------
    >>> import howsure as hs
    >>> import numpy as np
    >>> scores = np.array([[0.50, 0.51, 0.52, 0.49], [0.5, 0.6, 0.7, 0.4]])
    >>> cube = hs.Cube.from_means("demo", ["small", "large"], ["v1", "v2", "v3", "v4"], scores)
    >>> hs.proxy(cube, "small")["model"].tolist()
    ['large']
    """
    with_cheap = select_with_models(_with_variants(data), [cheap])
    return _for_each(with_cheap, lambda cube: _check_proxy(cube, cheap, epsilon, delta))


def _check_proxy(cube: Cube, cheap: str, epsilon: float, delta: float) -> ProxyChecks:
    """Return the checks of a proxy against each other model of one benchmark."""
    others = [model for model in cube.models if model != cheap]
    if not others:
        raise InputError("only one model", where=cube.benchmark, remedy="a proxy needs another to stand for")
    sizes = statistics.summarize_variants(cube, epsilon=epsilon, delta=delta).sample_size
    checks = tuple(statistics.check_proxy(sizes, cheap, other) for other in others)
    return ProxyChecks(cube.benchmark, checks, epsilon, delta)


def _check_pair(a: str | None, b: str | None) -> tuple[str, str]:
    """Return the names of two models, or raise InputError if only one is given."""
    if a is None or b is None:
        raise InputError("only one of two models", where="--a and --b", remedy="name both, or neither")
    return a, b


def _with_variants(data: CubesLike, *, stacklevel: int = 3) -> list[Cube]:
    """Return the cubes with several variants beside the default prompt; warn of others, raise if there are none."""
    each = to_cubes(data)
    several = [cube for cube in each if len(cube.drawn.variants) > 1]
    single = [cube for cube in each if len(cube.drawn.variants) < 2]
    names = ", ".join(cube.benchmark for cube in single)
    has_default = any(len(cube.variants) > 1 for cube in single)
    what = f"only one prompt variant{' beside the default one' if has_default else ''}"
    if not several:
        column = ", or say which column of a table names them: --columns variant=COLUMN"
        column = (
            "" if has_default else f"{column}, or --shape variants where each row is a variant and each column a model"
        )
        raise InputError(what, where=names, remedy=f"sample several{column}")
    if single:
        benchmarks = tuple(cube.benchmark for cube in single)
        warn(Note("single-variant", names, benchmarks, facts={"what": what}), stacklevel=stacklevel)
    return several


def _with_pairs(cubes: Sequence[Cube]) -> list[Cube]:
    """Return the cubes with several models, or raise InputError if no cube has."""
    pairs = [cube for cube in cubes if len(cube.models) > 1]
    if not pairs:
        raise InputError("only one model", where=cubes[0].benchmark, remedy="give the results of at least two")
    return pairs


def _for_each_with_answers(
    data: Data | Evaluations,
    count: Callable[[Evaluations, Sequence[Cube]], Mapping[str, Counts]],
    compute: Callable[[Cube, Counts], Result],
) -> PromptResults:
    """Return a statistic of each cube and the counts of its answers, or raise InputError if no answers are kept."""
    results = data if isinstance(data, Evaluations) else read(data)
    cubes = _with_variants(results, stacklevel=4)
    answers = count(results, cubes)
    with_answers = [cube for cube in cubes if cube.benchmark in answers]
    if not with_answers:
        what = "answers are not kept, or each question has variants of its own"
        remedy = "give a run folder, or logs with answers, of the same variants for all questions"
        raise InputError(what, where=cubes[0].benchmark, remedy=remedy)
    return _for_each(with_answers, lambda cube: compute(cube, answers[cube.benchmark]))


def _for_each(cubes: Sequence[Cube], compute: Callable[[Cube], Result]) -> PromptResults:
    """Return the results of a statistic on each cube."""
    return PromptResults(tuple(compute(cube) for cube in cubes))
