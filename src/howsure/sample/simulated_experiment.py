"""Turn an experiment into one with simulated models: the same questions and prompts, and no request is sent."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from howsure.benchmarks import catalogue
from howsure.models.generating_process import ABILITIES
from howsure.models.model import Settings
from howsure.notes import Note, warn
from howsure.sample.experiment import BenchmarkConfig, Experiment
from howsure.sample.judge_config import BudgetConfig
from howsure.sample.model_config import ModelConfig

#: What the labels of models begin with that a simulated one stands for.
SIMULATED_PREFIX = "simulated "
#: Scorers that simulated models write no answers for; their answers are compared with the target as texts.
_OWN_RULES = ("judge", "ifeval")


def simulate_models(experiment: Experiment) -> Experiment:
    """Return the experiment with a simulated model in place of each model.

    Parameters
    ----------
    experiment
        Any experiment. Its questions are read as they are.

    Returns
    -------
    Experiment
        Models have the label of the real one after `SIMULATED_PREFIX`, its temperature and top_p, and one of the
        abilities of simulated models: the same for all settings of a model. There is no judge and no budget, and where
        a judge or a program would score, the answers are compared with the target as texts; a warning says so.

    Examples
    --------
    >>> from howsure.sample.experiment import parse_experiment
    >>> [model] = simulate_models(parse_experiment("{benchmark: gsm8k, models: [openai/gpt-4o]}")).models
    >>> model.label, model.kind, model.name
    ('simulated openai/gpt-4o', 'simulated', 'small')
    """
    abilities: dict[tuple[str, str], str] = {}
    for part in experiment.parts:
        for config in part.models:
            names = list(ABILITIES)
            abilities.setdefault((config.base_url, config.name), names[len(abilities) % len(names)])
    stopping = experiment.stopping
    if stopping is not None and stopping.models is not None:
        a, b = (_name_simulated(label) for label in stopping.models)
        stopping = msgspec.structs.replace(stopping, models=(a, b))
    first, *more = (_simulate_part(part, abilities) for part in experiment.parts)
    if experiment.judge is not None:
        warn(Note("simulated-judge"))
    return msgspec.structs.replace(
        experiment,
        **msgspec.structs.asdict(first),
        more=tuple(more),
        stopping=stopping,
        judge=None,
        budget=BudgetConfig(),
    )


def _simulate_part(part: Experiment, abilities: Mapping[tuple[str, str], str]) -> BenchmarkConfig:
    """Return one benchmark of the experiment with simulated models."""
    variants = part.variants
    if isinstance(variants, dict) and isinstance(reference := variants.get("reference"), str):
        variants = variants | {"reference": _name_simulated(reference)}
    return BenchmarkConfig(
        benchmark=_choose_scorer(part.benchmark),
        models=tuple(_simulate_model(config, abilities) for config in part.models),
        variants=variants,
        limit=part.limit,
        label=part.label,
    )


def _simulate_model(config: ModelConfig, abilities: Mapping[tuple[str, str], str]) -> ModelConfig:
    """Return the simulated model that stands for a model, with the settings that change what is drawn."""
    if config.kind == "simulated":
        return msgspec.structs.replace(config, label=_name_simulated(config.label))
    return ModelConfig(
        label=_name_simulated(config.label),
        name=abilities[config.base_url, config.name],
        kind="simulated",
        settings=Settings(temperature=config.settings.temperature, top_p=config.settings.top_p),
        generations=config.generations,
    )


def _name_simulated(label: str) -> str:
    """Return the label of the simulated model that stands for a model."""
    return label if label.startswith("simulated") else f"{SIMULATED_PREFIX}{label}"


def _choose_scorer(spec: str | dict[str, object]) -> str | dict[str, object]:
    """Return the benchmark with a scorer that reads what simulated models write."""
    options: dict[str, object] = {"name": spec} if isinstance(spec, str) else dict(spec)
    name = options.get("name")
    scorer = options.get("scorer")
    if scorer is None and isinstance(name, str) and name in catalogue.list_names():
        scorer = catalogue.load_entry(name).scorer
    if isinstance(scorer, str) and scorer.partition(":")[0] in _OWN_RULES:
        warn(Note("simulated-scorer", facts={"benchmark": name, "scorer": scorer}), stacklevel=4)
        return options | {"scorer": "normalised"}
    return spec
