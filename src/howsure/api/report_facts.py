"""Settings, tokens and costs of run folders and logs: for the header of a report, and beside the models' scores."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import pyarrow as pa
from pyarrow import compute

from howsure.errors import InputError
from howsure.logs.log_source import LogSource
from howsure.results.evaluations import Evaluations, read
from howsure.results.run_source import RunSource
from howsure.results.sources import Data
from howsure.rows.source import Source
from howsure.sample.prices import PICO_PER_DOLLAR, Price, find_price, format_dollars
from howsure.stats.core.claims import check_level
from howsure.stats.core.results import Results
from howsure.stats.planning import Cost, ModelUsage, compare_costs
from howsure.store.responses import stream
from howsure.store.schema import USAGE_COLUMNS

_SETTINGS = ("temperature", "top_p", "max_tokens", "reasoning_effort")


class _Model(msgspec.Struct):
    """Entry of a model in a manifest."""

    name: str | None = None
    base_url: str | None = None
    settings: dict[str, object] | None = None
    price: dict[str, float] | None = None


class _Manifest(msgspec.Struct):
    """The part of a manifest that is used here."""

    models: dict[str, _Model] = {}


class _Sums(NamedTuple):
    """Sums over the generations of a model on a benchmark that have a completion, scored or not."""

    n_generations: int = 0
    n_with_tokens: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: float = 0.0
    all_prompt_tokens: int = 0  # with those of generations without a completion
    n_requests: int = 0  # with the tokens of their prompt

    def add(self, other: _Sums) -> _Sums:
        """Return the sums of both."""
        return _Sums(
            self.n_generations + other.n_generations,
            self.n_with_tokens + other.n_with_tokens,
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.all_prompt_tokens + other.all_prompt_tokens,
            self.n_requests + other.n_requests,
        )


def cost_scores(data: Data | Evaluations, *, level: float = 0.95) -> Results:
    """Compare the scores of models with the mean cost of a generation, on each benchmark of run folders.

    Parameters
    ----------
    data
        Run folders, logs that record tokens, or results of `howsure.read` that have some.
    level
        Level of the intervals, in (0, 1).

    Returns
    -------
    Results
        A row per benchmark and model: ``cost_per_generation`` in its ``unit``, ``score``, ``low`` and ``high``, and
        ``better_for_less``, the models that cost no more and score distinguishably higher.

    Raises
    ------
    InputError
        If there is neither a run folder nor a log that records the tokens of every completion of a model.

    Notes
    -----
    The unit is dollars where a price is known for every model: the experiment's, or the highest list price of the
    installed genai-prices. Otherwise it is tokens where every model has them, or else calls.

    Examples
    --------
    >>> import howsure as hs
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "exp.yaml")
    >>> _ = file.write_text("{benchmark: directions-small, models: [simulated/medium], generations: 1}")
    >>> hs.cost_scores(hs.run(file))["unit"].tolist()
    ['tokens']
    """
    check_level(level)
    results = data if isinstance(data, Evaluations) else read(data)
    usage = count_usage(results.sources)
    if not usage:
        remedy = "give run folders, or logs that record the tokens of every completion"
        raise InputError("no costs are recorded", where="cost_scores", remedy=remedy)
    return Results(
        tuple(compare_costs(cells, usage.get(cells.benchmark, {}), level=level) for cells in results.cells())
    )


def list_facts(
    sources: Sequence[Source], manifests: Sequence[Mapping[str, object]], benchmarks: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each fact that is known; tokens and costs of these benchmarks, () of all."""
    models = _list_models(manifests)
    if settings := _describe_settings([model.settings or {} for _, model in models]):
        yield "Settings", settings
    tokens: dict[str, tuple[int, int]] = {}
    for source in sources:
        for (benchmark, model), sums in _sum_rows(source).items():
            if benchmarks and benchmark not in benchmarks:
                continue
            before = tokens.get(model, (0, 0))
            tokens[model] = before[0] + sums.all_prompt_tokens, before[1] + round(sums.completion_tokens)
    prompts, completions = (sum(one[i] for one in tokens.values()) for i in (0, 1))
    if prompts or completions:
        yield "Tokens", f"{prompts:,} of prompts, {completions:,} of completions"
        if (cost := _estimate_cost(tokens, dict(models))) is not None:
            has_own = any(model.price is not None for _, model in models)
            yield "Cost, at prices of the experiment" if has_own else "Cost, at list prices", cost


def count_usage(sources: Iterable[Source]) -> dict[str, dict[str, ModelUsage]]:
    """Return what the generations of each model on each benchmark took, at the prices known today.

    From run folders, and from logs with the tokens of every completion of the model: the others say no calls either.
    """
    usage: dict[str, dict[str, ModelUsage]] = {}
    sums, prices = _sum_sources(sources)
    for (benchmark, model), one in sums.items():
        has_tokens = one.n_with_tokens == one.n_generations > 0
        price = prices.get(model)
        prompt, completion = one.prompt_tokens, round(one.completion_tokens)
        cost = math.nan
        if has_tokens and price is not None:
            cost = price.cost(prompt, completion, one.calls) / PICO_PER_DOLLAR
        usage.setdefault(benchmark, {})[model] = ModelUsage(
            n_generations=one.n_generations,
            calls=one.calls,
            tokens=prompt + one.completion_tokens if has_tokens else math.nan,
            cost=cost,
        )
    return usage


def measure_costs(sources: Iterable[Source]) -> dict[str, dict[str, Cost]]:
    """Return the mean tokens and the prices of each model on each benchmark, where every completion states its tokens.

    A price of a request counts as one of the tokens of its prompt.
    """
    costs: dict[str, dict[str, Cost]] = {}
    sums, prices = _sum_sources(sources)
    for (benchmark, model), one in sums.items():
        if one.n_with_tokens == one.n_generations > 0 and one.prompt_tokens > 0:
            prompt_tokens, price = one.prompt_tokens / one.n_requests, prices.get(model)
            input_price = math.nan if price is None else price.prompt + price.request / prompt_tokens
            costs.setdefault(benchmark, {})[model] = Cost(
                prompt_tokens=prompt_tokens,
                completion_tokens=one.completion_tokens / one.n_generations,
                input_price=input_price * 1e6 / PICO_PER_DOLLAR,
                output_price=math.nan if price is None else price.completion * 1e6 / PICO_PER_DOLLAR,
                generations_per_request=max(round(one.n_generations / one.n_requests), 1),
            )
    return costs


def _sum_sources(sources: Iterable[Source]) -> tuple[dict[tuple[str, str], _Sums], dict[str, Price | None]]:
    """Return the sums of each benchmark and model, and the price of each model, None if it is unknown."""
    sums: dict[tuple[str, str], _Sums] = {}
    models: dict[str, _Model] = {}
    for source in sources:
        for key, of_source in _sum_rows(source).items():
            sums[key] = sums.get(key, _Sums()).add(of_source)
        models.update(_list_models([manifest] if (manifest := source.manifest()) is not None else []))
    return sums, {label: _find_model_price(model) for label, model in models.items()}


def _list_models(manifests: Iterable[Mapping[str, object]]) -> list[tuple[str, _Model]]:
    """Return the label and the entry of each model of the manifests."""
    return [pair for one in manifests for pair in msgspec.convert(one, _Manifest, strict=False).models.items()]


def _find_model_price(model: _Model) -> Price | None:
    """Return the price that the experiment states, or the published one; None if neither is known."""
    own = None if model.price is None else (model.price["prompt"], model.price["completion"])
    return find_price(model.name or "", model.base_url or "", own)


def _describe_settings(settings: Sequence[Mapping[str, object]]) -> str:
    """Return the sampling settings of all models as text: a range of numbers, or up to three values."""
    texts = []
    for name in _SETTINGS:
        values = list(dict.fromkeys(one[name] for one in settings if name in one))
        numbers = [value for value in values if isinstance(value, int | float)]
        if not values:
            continue
        is_range = len(values) > 1 and len(numbers) == len(values)
        text = f"{min(numbers):g} to {max(numbers):g}" if is_range else ", ".join(map(str, values[:3]))
        rest = "" if all(name in one for one in settings) else " or the default"
        texts.append(f"{name.replace('_', ' ')} {text}{rest}")
    return "; ".join(texts)


def _sum_rows(source: Source) -> dict[tuple[str, str], _Sums]:
    """Return the sums of each benchmark and model of a run folder, or of a log with tokens; of a table nothing."""
    sums: dict[tuple[str, str], _Sums] = {}
    columns = ["benchmark", "model", *USAGE_COLUMNS]
    tables: Iterable[pa.Table]
    if isinstance(source, RunSource):
        tables = (pa.Table.from_batches([batch]) for batch in stream(source.path, columns))
    elif isinstance(source, LogSource):
        tables = [source.rows.select(columns)]
    else:
        return sums
    # a generation that failed may have tokens, of a completion whose scorer failed: it counts, as its tokens do
    for table in tables:
        has_tokens = compute.is_valid(table["completion_tokens"])
        completed = compute.or_(compute.not_equal(table["status"], "error"), has_tokens)
        marked = table.append_column("completed", completed).append_column("counted", has_tokens)
        for name, column in (("calls", "attempts"), ("prompts", "prompt_tokens")):
            marked = marked.append_column(name, compute.if_else(completed, table[column], None))
        grouped = marked.group_by(["benchmark", "model"], use_threads=False)
        names = ("completed", "counted", "calls", "prompts", "completion_tokens", "prompt_tokens")
        for row in grouped.aggregate([*((name, "sum") for name in names), ("prompts", "count")]).to_pylist():
            n, n_counted, calls, prompt, completion, all_prompt = (row[f"{name}_sum"] or 0 for name in names)
            if isinstance(source, RunSource) or n_counted == n > 0:
                key = row["benchmark"], row["model"]
                sums[key] = sums.get(key, _Sums()).add(
                    _Sums(n, n_counted, calls, round(prompt), completion, round(all_prompt), row["prompts_count"])
                )
    return sums


def _estimate_cost(tokens: Mapping[str, tuple[int, int]], models: Mapping[str, _Model]) -> str | None:
    """Return an upper limit of the cost of all models; None if one has no price."""
    cost = 0
    for label, (prompt, completion) in tokens.items():
        model = models.get(label)
        price = model and _find_model_price(model)
        if not price:
            return None
        cost += price.cost(prompt, completion)
    return format_dollars(cost)
