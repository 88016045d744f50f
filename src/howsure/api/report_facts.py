"""Facts of a report's header on how the results were made: settings, tokens, and their cost at list prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import pyarrow as pa

from howsure.readers.run_source import RunSource
from howsure.readers.sources import Source
from howsure.sample.prices import find_price, format_dollars
from howsure.store.responses import stream

_SETTINGS = ("temperature", "top_p", "max_tokens", "reasoning_effort")


class _Model(msgspec.Struct):
    """What a manifest records of a model."""

    name: str | None = None
    base_url: str | None = None
    settings: dict[str, object] | None = None


class _Manifest(msgspec.Struct):
    """The part of a manifest that is used here."""

    models: dict[str, _Model] = {}


def list_facts(sources: Sequence[Source], manifests: Sequence[Mapping[str, object]]) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each fact that is known."""
    models = [pair for one in manifests for pair in msgspec.convert(one, _Manifest, strict=False).models.items()]
    if settings := _describe_settings([model.settings or {} for _, model in models]):
        yield "Settings", settings
    tokens = _count_tokens(sources)
    prompts, completions = (sum(one[i] for one in tokens.values()) for i in (0, 1))
    if prompts or completions:
        yield "Tokens", f"{prompts:,} of prompts, {completions:,} of completions"
        if (cost := _estimate_cost(tokens, dict(models))) is not None:
            yield "Cost, at list prices", cost


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


def _count_tokens(sources: Sequence[Source]) -> dict[str, tuple[int, int]]:
    """Return the billed tokens of prompts and of completions by model, from run folders."""
    tokens: dict[str, tuple[int, int]] = {}
    for source in sources:
        if not isinstance(source, RunSource):
            continue
        for batch in stream(source.path, ["model", "prompt_tokens", "completion_tokens"]):
            table = pa.Table.from_batches([batch]).group_by("model", use_threads=False)
            sums = table.aggregate([("prompt_tokens", "sum"), ("completion_tokens", "sum")])
            for model, prompt, completion in zip(*(sums[name].to_pylist() for name in sums.column_names), strict=True):
                before = tokens.get(model, (0, 0))
                tokens[model] = before[0] + int(prompt or 0), before[1] + round(completion or 0)
    return tokens


def _estimate_cost(tokens: Mapping[str, tuple[int, int]], models: Mapping[str, _Model]) -> str | None:
    """Return an upper limit of the cost of all models; None if one has no published price."""
    cost = 0
    for label, (prompt, completion) in tokens.items():
        model = models.get(label)
        price = model and find_price(model.name or "", model.base_url or "")
        if not price:
            return None
        cost += price.cost(prompt, completion)
    return format_dollars(cost)
