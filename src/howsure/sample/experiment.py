"""Read and check an experiment file: which models, questions, prompt variants and generations are sampled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from howsure.benchmarks.question import Prompt
from howsure.errors import InputError, UnknownNameError
from howsure.perturb.variants import VARIANT_KEYS
from howsure.sample.model_config import Count, ModelConfig, ModelLine, PriceLine, Rate, expand_model_line
from howsure.sample.stopping_config import StoppingConfig
from howsure.sample.yaml_source import StructTypes, YamlSource

__all__ = ["BudgetConfig", "Experiment", "PromptLine", "load_experiment", "parse_experiment"]


class PromptLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One prompt that the experiment writes out; a part that is None is taken from the benchmark's own prompt."""

    system: str | None = None
    template: str | None = None

    def prompt(self, own: Prompt) -> Prompt:
        """Return the complete prompt, with missing parts taken from the benchmark's own prompt."""
        return Prompt(
            system=own.system if self.system is None else self.system,
            template=own.template if self.template is None else self.template,
        )


class BudgetConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits on what a run may spend; None means no limit."""

    calls: Count | None = None
    """Requests."""
    tokens: Count | None = None
    """Tokens of prompts and completions."""
    minutes: Rate | None = None
    """Minutes of each session; the other limits are for the run folder as a whole."""
    cost: Annotated[float, msgspec.Meta(gt=0, le=1e9)] | None = None
    """Dollars."""


class Experiment(msgspec.Struct, frozen=True):
    """What a run samples: each question of a benchmark, with each variant and model, several times."""

    benchmark: str | dict[str, object]
    models: tuple[ModelConfig, ...]
    """All models: one for each combination of settings, and the greedy ones."""
    variants: tuple[PromptLine, ...] | dict[str, object] = (PromptLine(),)
    """Prompts that are written out, or the prompt space from which `perturb.draw_variants` draws them."""
    limit: int | None = None
    """Number of questions in the seeded sample; if the limit is raised later, the same questions stay in the sample."""
    stopping: StoppingConfig | None = None
    """Rule that stops the run before all generations are sampled; it is the key `until` of the file."""
    allocate: Literal["even", "adaptive"] = "even"
    """Whether generations are allocated evenly or adaptively."""
    budget: BudgetConfig = BudgetConfig()
    seed: int = 0
    shard: tuple[int, int] = (1, 1)
    """(i, n) selects the i-th of n parts of the questions."""
    base: Path = Path()
    """Folder to which paths in the file are relative."""


class _ExperimentFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    benchmark: str | dict[str, object]
    models: list[str | ModelLine]
    generations: Count = 5
    greedy: bool = False
    variants: list[PromptLine] | dict[str, object] | None = None
    limit: Count | None = None
    stopping: StoppingConfig | None = msgspec.field(default=None, name="until")
    allocate: Literal["even", "adaptive"] = "even"
    budget: BudgetConfig = BudgetConfig()
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 64


#: Types of nested values by key; error messages suggest the keys of these types.
NESTED_TYPES: StructTypes = {
    "models": ModelLine,
    "variants": PromptLine,
    "until": StoppingConfig,
    "budget": BudgetConfig,
    "price": PriceLine,
}


def load_experiment(path: Path | str) -> Experiment:
    """Read an experiment file.

    Raises
    ------
    InputError
        When it cannot be read, is not YAML, or names something that does not exist. The message names the line.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        why = e.strerror if isinstance(e, OSError) else "it is not UTF-8 text"
        raise InputError(f"cannot read the experiment: {why}", where=str(path), remedy="give a YAML file") from None
    return parse_experiment(text, where=str(path), base=path.parent)


def parse_experiment(text: str, *, where: str = "experiment", base: Path = Path()) -> Experiment:
    """Parse an experiment from YAML text; `where` names it in errors.

    >>> parse_experiment("{benchmark: directions, models: [simulated/medium]}").models[0].label
    'simulated/medium'
    """
    source = YamlSource(text, where)
    with _add_line(source):
        file = source.read(_ExperimentFile, NESTED_TYPES)
    if not file.models:
        source.fail("no models", "models", remedy="list at least one, such as simulated/medium")
    models: list[ModelConfig] = []
    for i, line in enumerate(file.models):
        configs = expand_model_line(
            line, i, source, generations=file.generations, concurrency=file.concurrency, greedy=file.greedy
        )
        for config in configs:
            if any(config.label == other.label for other in models):
                remedy = "give each its own label: {model: ..., label: ...}"
                source.fail(f"two models are called {config.label!r}", "models", i, remedy=remedy)
            models.append(config)
    _check_stopping(file, models, source)
    _check_budget(file, models, source)
    return Experiment(
        benchmark=file.benchmark,
        models=tuple(models),
        variants=_read_variants(file, source),
        limit=file.limit,
        stopping=file.stopping,
        allocate=file.allocate,
        budget=file.budget,
        seed=file.seed,
        base=base,
    )


def _check_stopping(file: _ExperimentFile, models: list[ModelConfig], source: YamlSource) -> None:
    """Raise InputError if the stopping rule does not fit the models, their mode or the allocation."""
    batched = [config.label for config in models if config.mode == "batch"]
    if batched and (file.stopping is not None or file.allocate == "adaptive"):
        key = "until" if file.stopping is not None else "allocate"
        remedy = f"remove {key!r}, or the mode of {batched[0]}"
        source.fail("answers of a batch arrive all at once, too late to decide when to stop", key, remedy=remedy)
    if file.stopping is not None:
        with _add_line(source):
            file.stopping.find_pair({config.label: config.generations for config in models})
            if file.allocate == "adaptive":
                file.stopping.check_adaptive()


def _read_variants(file: _ExperimentFile, source: YamlSource) -> tuple[PromptLine, ...] | dict[str, object]:
    """Return the prompts that the file writes out, or its prompt space, which is checked later with the questions."""
    if file.variants is None:
        return (PromptLine(),)
    if not file.variants:
        source.fail("no variants", "variants", remedy="leave the key out to use the benchmark's own prompt")
    if isinstance(file.variants, dict):
        for key in file.variants:
            if key not in VARIANT_KEYS:
                raise UnknownNameError("key", str(key), VARIANT_KEYS, where=source.at("variants", key))
        return file.variants
    for i, line in enumerate(file.variants):
        if line.template is not None and "{question}" not in line.template:
            remedy = "write {question} where the question goes"
            source.fail("the template has no place for the question", "variants", i, "template", remedy=remedy)
        if line in file.variants[:i]:
            source.fail("the same variant twice", "variants", i, remedy="remove one")
    return tuple(file.variants)


@contextmanager
def _add_line(source: YamlSource) -> Iterator[None]:
    """Add the line of the file to errors that concern the key `until`."""
    try:
        yield
    except InputError as error:
        if error.where != "until":
            raise
        source.fail(error.what, "until", remedy=error.remedy)


def _check_budget(file: _ExperimentFile, models: list[ModelConfig], source: YamlSource) -> None:
    """Raise InputError if the budget counts tokens or money, but the completions of a model have no limit."""
    if file.budget.tokens is None and file.budget.cost is None:
        return
    for config in models:
        if config.max_completion_tokens is None:
            what = f"completions of {config.label} have no bound, so a budget of tokens or money cannot be enforced"
            source.fail(what, "budget", remedy="give the model max_tokens")
