"""What a report's header says of how the results were made: settings, tokens, and what these cost at most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from howsure.readers.sources import Source

__all__ = ["facts"]

_SETTINGS = ("temperature", "top_p", "max_tokens", "reasoning_effort")


def facts(sources: Sequence[Source], manifests: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Name and value of each; of what nobody says nothing is told."""
    models = [model for told in manifests for model in told.get("models", {}).values()]
    settings = [model.get("settings", {}) for model in models]
    said = []
    for name in _SETTINGS:
        values = list(dict.fromkeys(one[name] for one in settings if name in one))
        if values:
            several = all(isinstance(value, (int, float)) for value in values) and len(values) > 1
            told = f"{min(values):g} to {max(values):g}" if several else ", ".join(map(str, values[:3]))
            rest = "" if all(name in one for one in settings) else " or the default"
            said.append(f"{name.replace('_', ' ')} {told}{rest}")
    if said:
        yield "Settings", "; ".join(said)
    spent = _tokens(sources)
    prompts, completions = (sum(one[i] for one in spent.values()) for i in (0, 1))
    if prompts or completions:
        yield "Tokens", f"{prompts:,} of prompts, {completions:,} of completions"
        if (cost := _cost(spent, manifests)) is not None:
            yield "Cost, at list prices", cost


def _tokens(sources: Sequence[Source]) -> dict[str, tuple[int, int]]:
    """Tokens of prompts and of completions that run folders say were billed, by model."""
    import pyarrow as pa

    from howsure.readers.run_source import RunSource
    from howsure.store.responses import stream

    found: dict[str, tuple[int, int]] = {}
    for source in sources:
        if not isinstance(source, RunSource):
            continue
        for batch in stream(source.path, ["model", "prompt_tokens", "completion_tokens"]):
            table = pa.Table.from_batches([batch]).group_by("model", use_threads=False)
            sums = table.aggregate([("prompt_tokens", "sum"), ("completion_tokens", "sum")])
            for model, prompt, completion in zip(*(sums[name].to_pylist() for name in sums.column_names), strict=True):
                before = found.get(model, (0, 0))
                found[model] = before[0] + int(prompt or 0), before[1] + round(completion or 0)
    return found


def _cost(spent: Mapping[str, tuple[int, int]], manifests: Sequence[Mapping[str, Any]]) -> str | None:
    """Of all models, at most; None where one has no published price."""
    from howsure.sample.prices import dollars, price_of

    known = {label: model for told in manifests for label, model in told.get("models", {}).items()}
    whole = 0
    for label, (prompt, completion) in spent.items():
        model = known.get(label)
        price = model and price_of(model["name"], model.get("base_url", ""))
        if not price:
            return None
        whole += price.cost(prompt, completion)
    return dollars(whole)
