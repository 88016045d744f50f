"""One label for each model at its settings: the same name at another temperature is another model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import product

from howsure.readers.logs.row import Described

__all__ = ["distinct"]

#: Settings that decide what a model writes. A seed does not make another model, nor does a time limit.
_DECIDE = frozenset(
    {
        *("temperature", "top_p", "top_k", "min_p", "do_sample", "num_beams", "stop", "until"),
        *("max_tokens", "max_completion_tokens", "max_gen_toks", "max_new_tokens"),
        *("frequency_penalty", "presence_penalty", "repetition_penalty"),
        *("reasoning_effort", "reasoning_tokens", "effort", "system_message", "system_instruction"),
    }
)


def distinct(logs: Sequence[Described]) -> list[dict[str, str]]:
    """For each log the new label of each model: the old one, unless logs of a benchmark have it at other settings.

    >>> from howsure.store.manifest import Model
    >>> cold, hot = (Model(name="m", kind="log", settings={"temperature": t, "seed": t}) for t in (0, 1))
    >>> logs = [Described(run=str(i), models={"m": model}, benchmarks={"b": {}}) for i, model in enumerate((cold, hot))]
    >>> distinct(logs)
    [{'m': 'm (temperature=0)'}, {'m': 'm (temperature=1)'}]
    """
    several: defaultdict[tuple[str, str], list[dict[str, object]]] = defaultdict(list)
    for log in logs:
        for benchmark, label in product(log.benchmarks, log.models):
            several[benchmark, label].append(_deciding(log.models[label].settings))
    differing: defaultdict[str, set[str]] = defaultdict(set)
    for (_, label), each in several.items():
        differing[label].update(_differing(each))
    return [
        {
            label: _named(label, _deciding(model.settings), sorted(differing[label]))
            for label, model in log.models.items()
        }
        for log in logs
    ]


def _deciding(settings: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in settings.items() if name in _DECIDE and value is not None}


def _differing(each: Sequence[Mapping[str, object]]) -> list[str]:
    names = sorted(set().union(*each))
    return [name for name in names if len({repr(settings.get(name)) for settings in each}) > 1]


def _named(label: str, settings: Mapping[str, object], names: Sequence[str]) -> str:
    told = [f"{name}={settings.get(name, 'default')}" for name in names]
    return f"{label} ({', '.join(told)})" if told else label
