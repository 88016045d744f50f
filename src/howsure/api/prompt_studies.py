"""The public function on prompt variants: what the wording of the prompt does to the scores of each benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from howsure.api.choices import PROMPT_VIEWS, PromptView
from howsure.api.result_sentences import tabulate_prompts
from howsure.errors import InputError
from howsure.notes import Note, warn
from howsure.results.evaluations import Evaluations, read, to_cubes
from howsure.results.sources import Data
from howsure.stats import prompts as statistics
from howsure.stats.core.claims import check_choice, check_level
from howsure.stats.core.cube import Cube
from howsure.stats.core.printed_width import Description
from howsure.stats.core.results import Columns, Result, Results, notes, to_integers
from howsure.stats.prompts import ProxyCheck, VariantSummary

#: Results with prompt variants, of one or several benchmarks.
CubesLike: TypeAlias = Data | Evaluations | Cube | Iterable[Cube]
#: What is counted of the answers in one benchmark.
Counts = TypeVar("Counts")


@dataclass(frozen=True, repr=False)
class PromptResults(Results):
    """Results on prompt variants of several benchmarks.

    `n_star` is NaN if it equals the number of variants that it was estimated from, which suffice by construction.

    Attributes
    ----------
    parts
        The result of each benchmark, in each table.
    tables
        With `show`: the tables by name. Their rows stand one below the other in `columns`, csv and json, where the
        column `table` has the name, and what a table has no column for is NaN or empty.
    left_out
        Why a table is missing, by name.
    """

    tables: Mapping[str, PromptResults] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    def columns(self) -> Columns:
        """Return the rows of all parts, one below the other."""
        if self.tables:
            return _stack({name: table.to_columns() for name, table in self.tables.items()})
        columns = super().columns()
        for name in columns.keys() & {"n_star", "n_star_proxy"}:
            is_reached = columns[name] < columns["n_variants"]
            columns[name] = to_integers(np.where(is_reached, columns[name], np.nan))
        return columns

    def format_rows(self, width: int | None) -> str:
        """Return the printed table, or all tables with their names."""
        if not self.tables:
            return super().format_rows(width)
        texts = [f"{name}\n{table.format_rows(width)}" for name, table in self.tables.items()]
        return "\n\n".join([*texts, *(f"no {name}: {reason}" for name, reason in self.left_out.items())])

    def to_markdown(self) -> str:
        """Return the sentences and the table as Markdown, or all tables."""
        texts = [f"**{name}**\n\n{table.to_markdown()}" for name, table in self.tables.items()]
        return "\n\n".join(texts) or super().to_markdown()

    def to_latex(self) -> str:
        """Return the table as LaTeX, or all tables."""
        return "\n\n".join(f"% {name}\n{table.to_latex()}" for name, table in self.tables.items()) or super().to_latex()

    def _describe(self) -> Description:
        return Description([], None, [], [self._columns]) if self.tables else super()._describe()


def _stack(tables: Mapping[str, Columns]) -> Columns:
    """Return the rows of all tables, one below the other; NaN or "" where a table has no such column."""
    names = list(dict.fromkeys(name for columns in tables.values() for name in columns if name != "note"))
    sizes = {table: len(next(iter(columns.values()))) for table, columns in tables.items()}
    stacked: Columns = {"table": np.repeat(np.array(list(sizes), dtype=object), list(sizes.values()))}
    for name in [*names, "note"]:
        has_text = any(columns[name].dtype.kind in "OU" for columns in tables.values() if name in columns)
        missing = np.array("", dtype=object) if has_text else np.array(np.nan)
        pieces = [columns.get(name, np.full(sizes[table], missing)) for table, columns in tables.items()]
        stacked[name] = np.concatenate(pieces)
    return stacked


@dataclass(frozen=True, eq=False)
class _WithBenchmark(Result):
    """A result with the name of its benchmark as the first column."""

    benchmark: str
    result: Result

    def columns(self) -> Columns:
        columns = self.result.to_columns()
        return {"benchmark": np.full(len(columns["model"]), self.benchmark, dtype=object), **columns}


@dataclass(frozen=True, eq=False)
class _PromptScores(Result):
    """The score of each model under each prompt."""

    summaries: Sequence[VariantSummary]

    def columns(self) -> Columns:
        return tabulate_prompts(self.summaries)


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


def variants(
    data: CubesLike,
    *,
    show: PromptView | None = None,
    level: float = 0.95,
    epsilon: float = 0.01,
    delta: float = 0.1,
) -> PromptResults:
    r"""Estimate what the prompt does to each score, and how many prompt variants are enough.

    Parameters
    ----------
    data
        Results of `howsure.read`, anything that it takes (paths or frames), or one or several `Cube`; with two or more
        prompt variants. The default prompt of a benchmark is no draw from the space and does not count.
    show
        Print more of one thing, with intervals. prompts: moments, variance by source, the score under each prompt, and
        what answers that could not be parsed explain; dimensions: which dimension of the prompt matters, and which of
        its values; order: how often the prompt decides which of two models is better, how far prompts agree on the
        order (Kendall's W), and how often two prompts give the same answer; reference: n_star of mean and variance,
        whether that of one model is enough for another, and quantiles over prompts from few answers (PromptEval).
    level
        Coverage of the intervals, between 0 and 1.
    epsilon, delta
        n* is the smallest number of variants whose mean (and variance) deviates by more than `epsilon` from that of all
        variants with probability `delta`/2 at most.

    Returns
    -------
    PromptResults
        A row per benchmark and model: mean and variance over variants, ``n_star`` as published, ``n_star_space`` for
        the whole space of variants, and the variance by source. With `show`, ``.tables`` has the tables by name.

    Raises
    ------
    InputError
        If no benchmark has two variants, an argument is out of range, or nothing can be said of what `show` names.

    Notes
    -----
    The moments over S variants divide by S [1]_. The score of question q under variant v is modelled as

    .. math:: y_{qv} = \mu + Q_q + V_v + I_{qv} + E_{qv}

    and the variance components are estimated without bias from the mean squares, with missing cells too [2]_. The
    tables of `show` are those of `howsure.stats.prompts`, where their formulas and sources are.

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
    >>> list(hs.variants(cube, show="reference").tables)
    ['n_star', 'quantiles']
    """
    check_level(level)
    if show is None:
        return PromptResults(tuple(_summarize(cube, level, epsilon, delta) for cube in _with_variants(data)))
    check_choice("show", show, PROMPT_VIEWS)
    tables: dict[str, PromptResults] = {}
    left_out: dict[str, InputError] = {}
    results = _read(data)
    cubes = _with_variants(results)
    summaries = tuple(_summarize(cube, level, epsilon, delta) for cube in cubes)
    for name, make in _TABLES[show].items():
        try:
            tables[name] = PromptResults(tuple(make(_Request(results, cubes, summaries, level))))
        except InputError as error:
            left_out[name] = error
    if not tables:
        raise next(iter(left_out.values()))
    parts = tuple(part for table in tables.values() for part in table.parts)
    return PromptResults(parts, tables, {name: str(error) for name, error in left_out.items()})


def _summarize(cube: Cube, level: float, epsilon: float, delta: float) -> VariantSummary:
    """Return the summary of the variants of one benchmark."""
    return statistics.summarize_variants(cube, level=level, epsilon=epsilon, delta=delta)


class _Request(NamedTuple):
    """What a table is made from: results, the cubes with several variants, their summaries, and the level."""

    results: Evaluations | list[Cube]
    cubes: list[Cube]
    summaries: tuple[VariantSummary, ...]
    level: float

    def get(self, attribute: str) -> Iterable[Result]:
        """Return what each summary holds under this name: moments, components or sample_size."""
        return (_WithBenchmark(part.cube.benchmark, getattr(part, attribute)) for part in self.summaries)

    def check_pairs(self) -> list[VariantSummary]:
        """Return the summaries with several models, or raise InputError if none has."""
        pairs = [part for part in self.summaries if len(part.cube.models) > 1]
        if not pairs:
            where, remedy = self.cubes[0].benchmark, "give the results of at least two"
            raise InputError("only one model", where=where, remedy=remedy)
        return pairs

    def count_answers(
        self, count: Callable[[Evaluations, Sequence[Cube]], Mapping[str, Counts]]
    ) -> list[tuple[Cube, Counts]]:
        """Return each cube with the counts of its answers, or raise InputError if no answers are kept."""
        answers = {} if isinstance(self.results, list) else count(self.results, self.cubes)
        if not answers:
            what = "answers are not kept, or each question has variants of its own"
            remedy = "give a run folder, or logs with answers, of the same variants for all questions"
            raise InputError(what, where=self.cubes[0].benchmark, remedy=remedy)
        return [(cube, answers[cube.benchmark]) for cube in self.cubes if cube.benchmark in answers]


def _check_proxies(part: VariantSummary) -> ProxyChecks:
    """Return the checks of each model of one benchmark as the proxy of each other one."""
    size, pairs = part.sample_size, permutations(part.cube.models, 2)
    checks = tuple(statistics.check_proxy(size, cheap, costly) for cheap, costly in pairs)
    return ProxyChecks(part.cube.benchmark, checks, size.epsilon, size.delta)


def _estimate_concordance(part: VariantSummary, level: float) -> statistics.Concordance:
    """Return how far the drawn variants of one benchmark agree on the order of its models."""
    return statistics.estimate_concordance(part.cube.benchmark, part.cube.models, part.moments.scores, level=level)


#: How the tables of each view are made, by their names.
_TABLES: dict[PromptView, dict[str, Callable[[_Request], Iterable[Result]]]] = {
    "prompts": {
        "moments": lambda request: request.get("moments"),
        "components": lambda request: request.get("components"),
        "scores": lambda request: [_PromptScores(request.summaries)],
        "unparsed": lambda request: [
            statistics.estimate_unparsed_effect(cube, counts, level=request.level)
            for cube, counts in request.count_answers(Evaluations.count_unparsed)
        ],
    },
    "dimensions": {
        "shares": lambda request: [_estimate_shares(part, request.level) for part in request.summaries],
        "effects": lambda request: [_estimate_effects(part, request.level) for part in request.summaries],
    },
    "order": {
        "rank_flips": lambda request: [
            statistics.estimate_rank_flips(part.cube, level=request.level) for part in request.check_pairs()
        ],
        "concordance": lambda request: [_estimate_concordance(part, request.level) for part in request.check_pairs()],
        "consistency": lambda request: [
            statistics.estimate_prompt_consistency(answers, level=request.level)
            for _, answers in request.count_answers(Evaluations.count_variant_answers)
        ],
    },
    "reference": {
        "n_star": lambda request: request.get("sample_size"),
        "proxies": lambda request: [_check_proxies(part) for part in request.check_pairs()],
        "quantiles": lambda request: [statistics.prompteval(cube) for cube in request.cubes],
    },
}


def _read(data: CubesLike) -> Evaluations | list[Cube]:
    """Return results that know their answers if these are kept, or cubes."""
    if isinstance(data, Evaluations):
        return data
    items = [data] if isinstance(data, Cube) else data
    if isinstance(items, Sequence) and all(isinstance(one, Cube) for one in items):
        return cast("list[Cube]", list(items))
    return read(cast("Data", items))


def _estimate_shares(part: VariantSummary, level: float) -> statistics.DimensionShares:
    """Return the shares of the dimensions in one benchmark, or raise InputError if no effect can be estimated."""
    result = statistics.estimate_variant_shares(_check_values(part), level=level)
    _check_estimable(result.effects, part.cube)
    return result


def _estimate_effects(part: VariantSummary, level: float) -> statistics.Effects:
    """Return the effects in one benchmark, or raise InputError if its variants have none."""
    result = statistics.estimate_variant_effects(_check_values(part), level=level)
    _check_estimable(result, part.cube)
    return result


def _check_values(part: VariantSummary) -> VariantSummary:
    """Return the summary of one benchmark, or raise InputError if the values of its variants have no effects."""
    if part.cube.nested:
        raise InputError(
            "each question has variants of its own: they have no effect",
            where=part.cube.benchmark,
            remedy="sample the same variants for all questions",
        )
    if not part.cube.values:
        raise InputError(
            "nothing is known of what the variants are made of",
            where=part.cube.benchmark,
            remedy="name columns that say it with --dimension COLUMN",
        )
    return part


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
