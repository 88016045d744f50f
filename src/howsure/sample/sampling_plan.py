"""Check the questions, prompt variants and prices of an experiment, before anything is sent or written."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from contextlib import nullcontext
from dataclasses import replace
from typing import NamedTuple

import msgspec

from howsure.benchmarks import load
from howsure.benchmarks.question import Benchmark, Question, Variant, strip_draw_key
from howsure.errors import EmptyShardError, InputError
from howsure.models.model import Settings
from howsure.notes import Note, ignore_notes, warn
from howsure.prompts import instructions
from howsure.prompts.instructions import load_question_paraphrases
from howsure.prompts.prompt_texts import LANGUAGES, load_languages, write_form
from howsure.prompts.variants import FixedPrompt, draw_questions, draw_variants
from howsure.sample.experiment import AnswerForm, Experiment, takes_answer_form
from howsure.sample.model_config import ModelConfig
from howsure.sample.prices import FREE, Price, build_missing_price_error, find_price
from howsure.sample.resume import MissingCells, StoredCells, WantedCells, find_missing_cells, sample_questions
from howsure.sample.snapshot import Tally


class SamplingPlan(NamedTuple):
    """The checked questions, variants and prices of an experiment; built before anything is sent or written."""

    experiment: Experiment
    benchmark: Benchmark
    questions: list[Question]
    variants: list[Variant]
    prices: dict[str, Price | None]
    """Price of each model by label; None where it is unknown."""
    space_record: dict[str, object]
    """The record of the variants for the manifest."""
    own_settings: Mapping[str, Settings] = {}
    """Decoding settings of each model by label, without the defaults of the benchmark."""
    questions_of: Mapping[str, AbstractSet[str]] = {}
    """Maps a variant to the questions that it asks; a variant that is not in it asks all of them."""

    @classmethod
    def build(cls, experiment: Experiment, benchmark: Benchmark) -> SamplingPlan:
        """Return the questions, variants and prices of an experiment.

        Raises
        ------
        InputError
            When variants cannot be built, a shard has no question, or a budget needs a price that is unknown.
        """
        benchmark = _leave_to_judge(experiment, benchmark)
        own_settings = {config.label: config.settings for config in experiment.models}
        experiment = apply_decoding(experiment, benchmark)
        benchmark, variants, space_record = select_prompts(experiment, benchmark)
        questions = sample_questions(
            benchmark.questions, seed=experiment.seed, limit=experiment.limit, shard=experiment.shard
        )
        if not questions:
            raise EmptyShardError(benchmark.name, len(benchmark.questions), shard=experiment.shard[0])
        _warn_of_short_completions(experiment, variants)
        questions_of = _draw_questions(experiment, benchmark, variants, space_record)
        prices = check_prices(experiment)
        return cls(experiment, benchmark, questions, variants, prices, space_record, own_settings, questions_of)

    @property
    def question_ids(self) -> list[str]:
        """Ids of the questions, in the order in which they are sampled."""
        return [question.id for question in self.questions]

    @property
    def variant_ids(self) -> list[str]:
        """Ids of the variants."""
        return [variant.id for variant in self.variants]

    def asks(self, question: str, variant: str) -> bool:
        """Return whether the run asks a question in a variant."""
        return variant not in self.questions_of or question in self.questions_of[variant]

    def build_tallies(self) -> dict[str, Tally]:
        """Return an empty tally for each model, by label."""
        ids = self.question_ids
        return {config.label: Tally(ids, len(self.variants), config.generations) for config in self.experiment.models}

    def build_wanted(self) -> WantedCells:
        """Return what is to be read of the cells that are stored, with an empty tally for each model."""
        return WantedCells(self.build_tallies(), self.variant_ids)

    def find_missing(self, stored: Mapping[str, StoredCells], *, retry: bool) -> dict[str, MissingCells]:
        """Return the missing cells of each model, by label."""
        question_ids, variant_ids = self.question_ids, self.variant_ids
        return {
            config.label: find_missing_cells(
                question_ids,
                variant_ids,
                config.generations,
                stored[config.label].present,
                stored[config.label].failed,
                retry=retry,
                is_even=self.experiment.allocate == "even",
                outage=stored[config.label].outage,
                questions_of=self.questions_of,
            )
            for config in self.experiment.models
        }


def _draw_questions(
    experiment: Experiment, benchmark: Benchmark, variants: list[Variant], space_record: Mapping[str, object]
) -> dict[str, frozenset[str]]:
    """Return the questions of each variant that asks a sample of them, drawn from those of all shards."""
    if not isinstance(experiment.variants, dict):
        return {}
    of_all_shards = sample_questions(benchmark.questions, seed=experiment.seed, limit=experiment.limit)
    drawn = [variant.id for variant in variants if variant.id != space_record.get("default")]
    questions_of = draw_questions(experiment.variants, drawn, [question.id for question in of_all_shards])
    if questions_of is not None and (experiment.stopping is not None or experiment.allocate == "adaptive"):
        key = "until" if experiment.stopping is not None else "allocate: adaptive"
        what = f"{key} needs rounds in which all questions are sampled, and questions_per_variant has none"
        raise InputError(what, where="variants", remedy="remove one of them")
    return questions_of or {}


def check_prices(experiment: Experiment) -> dict[str, Price | None]:
    """Return the price of each model by label, None where it is unknown; raise InputError if the budget needs it."""
    return {config.label: _find_model_price(config, experiment) for config in experiment.models}


def _leave_to_judge(experiment: Experiment, benchmark: Benchmark) -> Benchmark:
    """Return the benchmark without scores of its own where a judge gives them.

    Raises
    ------
    InputError
        When the benchmark needs a judge and the experiment names none.
    """
    if experiment.judge is not None:
        return replace(benchmark, is_judged=True)
    if benchmark.scorer is not None and benchmark.scorer.name == "judge":
        remedy = "add a model that judges, such as judge: {model: openai/gpt-4.1, template: simpleqa}"
        raise InputError(f"answers to {benchmark.name} are scored by a judge", where="judge", remedy=remedy)
    return benchmark


def load_benchmark(experiment: Experiment) -> Benchmark:
    """Return the first benchmark of an experiment, under its label if it has one."""
    # With a judge, the scorer of the benchmark scores nothing.
    with nullcontext() if experiment.judge is None else ignore_notes("text-scorer"):
        benchmark = load(experiment.benchmark, base=experiment.base)
    form = experiment.answer_form or ("line" if experiment.judge is None else "none")
    if form != "none" and takes_answer_form(experiment) and not any(one.turns for one in benchmark.questions):
        benchmark = _demand_form(benchmark, form)
    return benchmark if experiment.label is None else replace(benchmark, name=experiment.label)


def _demand_form(benchmark: Benchmark, form: AnswerForm) -> Benchmark:
    """Return the benchmark with a prompt that ends with the demand of a form, in its language where that has a text."""
    languages = load_languages()
    texts = languages.get(benchmark.language.partition("-")[0], languages[LANGUAGES[0]])
    template, _, label, _, value, label_name, value_name = texts.answer_form(form)
    is_choice = all(question.choices for question in benchmark.questions)
    demand, name = (label, label_name) if is_choice else (value, value_name)
    text = demand.replace("{answer_form}", write_form(template, f"<{name}>"))
    prompt = replace(benchmark.prompt, template=f"{benchmark.prompt.template}\n\n{text}")
    return replace(benchmark, prompt=prompt, source=benchmark.source | {"answer_form": form})


def build_plans(experiment: Experiment, benchmark: Benchmark | None = None) -> list[SamplingPlan]:
    """Return the plan of each benchmark of an experiment; one without questions in this shard is left out.

    Parameters
    ----------
    benchmark
        Used instead of the first one that the experiment names.

    Raises
    ------
    InputError
        As for `SamplingPlan.build`, and when two benchmarks have the same name or no benchmark has a question.
    """
    plans: list[SamplingPlan] = []
    empty: list[EmptyShardError] = []
    for part in experiment.parts:
        loaded = load_benchmark(part) if benchmark is None or plans or empty else benchmark
        if loaded.name in [plan.benchmark.name for plan in plans]:
            remedy = "give one of them a label: {name: ..., label: NAME}"
            raise InputError(f"two benchmarks are called {loaded.name!r}", where="benchmark", remedy=remedy)
        try:
            plans.append(SamplingPlan.build(part, loaded))
        except EmptyShardError as error:
            empty.append(error)
    if not plans:
        raise empty[0]
    for omitted in empty:
        warn(Note("empty-shard", facts={"why": omitted.what}))
    return plans


def apply_decoding(experiment: Experiment, benchmark: Benchmark) -> Experiment:
    """Return the experiment with the benchmark's decoding settings where its models have none of their own.

    Simulated and recorded models keep theirs, because they do not write completions that settings could end.
    """
    if not benchmark.decoding:
        return experiment
    models = []
    for config in experiment.models:
        if config.kind in {"simulated", "replay"}:
            models.append(config)
            continue
        extra = benchmark.decoding.get("extra")
        own = {
            key: value
            for key, value in benchmark.decoding.items()
            if key != "extra" and getattr(config.settings, key) is None
        }
        settings = msgspec.structs.replace(
            config.settings,
            **msgspec.convert(own, dict[str, float | int | tuple[str, ...]]),
            extra={**(extra if isinstance(extra, dict) else {}), **config.settings.extra},
        )
        models.append(msgspec.structs.replace(config, settings=settings))
    greedy = [config.label for config in models if config.settings.temperature == 0 and config.generations > 1]
    if greedy and benchmark.decoding.get("temperature") == 0:
        facts = {"benchmark": benchmark.name, "models": ", ".join(greedy)}
        warn(Note("decodes-greedily", benchmarks=(benchmark.name,), facts=facts), stacklevel=3)
    return msgspec.structs.replace(experiment, models=tuple(models))


#: Fewest tokens of a completion that leave room for reasoning before the answer.
TOKENS_OF_REASONING = 512


def _warn_of_short_completions(experiment: Experiment, variants: list[Variant]) -> None:
    """Warn of models whose completions may be cut off before the answer, because variants ask for reasoning."""
    n = sum(strip_draw_key(variant.values.get("reasoning", "none")) != "none" for variant in variants)
    # Simulated and recorded models reason as their author let them, whatever the prompt says.
    writers = [config for config in experiment.models if config.kind not in {"simulated", "replay"}]
    limits = {config.label: config.max_completion_tokens for config in writers}
    short = {label: limit for label, limit in limits.items() if limit is not None and limit < TOKENS_OF_REASONING}
    if n and short:
        listed = ", ".join(f"{label} ({limit})" for label, limit in short.items())
        facts = {"total": len(variants), "models": listed, "tokens": TOKENS_OF_REASONING}
        warn(Note("short-completions", n=n, facts=facts))


def _find_model_price(config: ModelConfig, experiment: Experiment) -> Price | None:
    """Return the price of a model, or None if it is unknown; raise InputError if a budget of money needs the price."""
    if not config.is_billed:
        return FREE
    own_price = None if config.price is None else (config.price.prompt, config.price.completion)
    context = {"processing": "batch"} if config.mode == "batch" else None
    price = find_price(config.name, config.base_url, own_price, context=context)
    if price is None and experiment.budget.cost is not None:
        raise build_missing_price_error(config.label)
    return price


class PromptSelection(NamedTuple):
    """The prompt variants of a run, and the benchmark that they belong to."""

    benchmark: Benchmark
    """The benchmark without the questions that are used as demonstrations."""
    variants: list[Variant]
    space_record: dict[str, object]
    """Record for the manifest: the default variant and the dimensions of the space; empty for written-out prompts."""


def select_prompts(experiment: Experiment, benchmark: Benchmark) -> PromptSelection:
    """Return the variants that the experiment writes out, or a sample of its prompt space.

    Raises
    ------
    InputError
        When two are the same, or the space cannot be read or does not fit the questions.
    """
    if not isinstance(experiment.variants, dict):
        variants: list[Variant] = [
            FixedPrompt(benchmark, line.prompt(benchmark.prompt)) for line in experiment.variants
        ]
        if len({variant.id for variant in variants}) < len(variants):
            remedy = "remove one, or change its words"
            raise InputError("two variants have the same words", where="variants", remedy=remedy)
        return PromptSelection(benchmark, variants, {})
    spec = experiment.variants
    sample = draw_variants(
        spec,
        benchmark,
        pool=_load_pool(spec, experiment),
        instructions=_load_instructions(spec, experiment),
        paraphrases=_load_paraphrases(spec, experiment),
    )
    dimensions = {
        dimension.name: {"preserving": dimension.preserving, "nested": dimension.nested}
        for dimension in sample.space.dimensions
    }
    record: dict[str, object] = {
        "default": sample.default,
        "space": {"name": sample.space.name, "dimensions": dimensions},
        "asked": {key: sample.space.name if key == "space" else value for key, value in experiment.variants.items()},
    }
    return PromptSelection(sample.benchmark, list(sample.variants), record)


def _load_pool(spec: dict[str, object], experiment: Experiment) -> tuple[Question, ...]:
    """Return the questions of the other benchmark that the spec names for demonstrations."""
    pool = spec.get("pool")
    if pool is None:
        return ()
    if not isinstance(pool, str | dict):
        raise InputError(f"pool is {pool!r}", where="variants", remedy="name a benchmark, as the key benchmark does")
    return tuple(load(pool, base=experiment.base).questions)


def _load_instructions(spec: dict[str, object], experiment: Experiment) -> tuple[instructions.Instruction, ...]:
    """Return the instructions in the file that the spec names; a person must have reviewed all of them."""
    name = spec.get("instructions")
    if name is None:
        return ()
    if not isinstance(name, str):
        raise InputError(f"instructions is {name!r}", where="variants", remedy="name a file")
    path = experiment.base / name
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"cannot read the instructions: {why}", where=str(path), remedy="give a TOML file") from None
    return instructions.require_reviewed(instructions.parse_instructions(text, where=str(path)), where=str(path))


def _load_paraphrases(spec: dict[str, object], experiment: Experiment) -> dict[str, tuple[str, ...]]:
    """Return the paraphrases of questions in the file that the spec names."""
    name = spec.get("paraphrases")
    if name is None:
        return {}
    if not isinstance(name, str):
        raise InputError(f"paraphrases is {name!r}", where="variants", remedy="name a file")
    return load_question_paraphrases(experiment.base / name)
