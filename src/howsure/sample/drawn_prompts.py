"""Draw prompts of an experiment at random for a person to read, before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from howsure.benchmarks import load
from howsure.benchmarks.question import Message, Question, Variant, strip_draw_key
from howsure.errors import InputError
from howsure.prompts.dimensions import draw_permutation
from howsure.prompts.variants import FixedPrompt
from howsure.safe_text import escape_control_characters
from howsure.sample.experiment import Experiment, load_experiment
from howsure.sample.sampling_plan import load_benchmark, select_prompts


@dataclass(frozen=True)
class DrawnPrompt:
    """One prompt as it is sent, and what the run would store of it."""

    variant: str
    question: str
    target: str
    """The right answer as a model would write it under this variant."""
    values: Mapping[str, str]
    record: Mapping[str, object]
    messages: list[Message]
    benchmark: str = ""
    """Name of the benchmark; "" if the experiment has only one."""


def draw_prompts(experiment: Path, n: int = 20, *, seed: int = 0) -> list[DrawnPrompt]:
    """Return prompts of an experiment, drawn at random without replacement from all questions and variants.

    Parameters
    ----------
    experiment
        YAML file of the experiment.
    n
        Number of prompts; all of them if there are fewer.
    seed
        Seed of the draw; a larger `n` keeps the first prompts.

    Raises
    ------
    InputError
        When `n` is not at least 1, or the experiment cannot be read.
    """
    if n < 1:
        raise InputError(f"{n} prompts", where="prompts", remedy="give 1 or more")
    groups = _select_prompts_of_parts(load_experiment(experiment))
    sizes = [len(group.questions) * len(group.variants) for group in groups]
    prompts = []
    for place in draw_permutation(sum(sizes), seed, "prompts", k=min(n, sum(sizes))):
        group = next(i for i, end in enumerate(accumulate(sizes)) if place < end)
        prompts.append(groups[group].render(place - sum(sizes[:group])))
    return prompts


class _PromptGroup(NamedTuple):
    """The prompts of one benchmark."""

    benchmark: str
    questions: Sequence[Question]
    variants: Sequence[Variant]

    def render(self, place: int) -> DrawnPrompt:
        """Return the prompt at a place, counted question by question."""
        n = len(self.variants)
        return replace(_render_prompt(self.variants[place % n], self.questions[place // n]), benchmark=self.benchmark)


def _select_prompts_of_parts(experiment: Experiment) -> list[_PromptGroup]:
    """Return the prompts of each benchmark."""
    groups = []
    for part in experiment.parts:
        benchmark, variants, _ = select_prompts(part, load_benchmark(part))
        groups.append(_PromptGroup(benchmark.name * (len(experiment.parts) > 1), benchmark.questions, variants))
    return groups


def draw_benchmark_prompts(
    spec: str | Mapping[str, object], n: int, *, seed: int = 0, base: Path = Path()
) -> list[DrawnPrompt]:
    """Return the benchmark's own prompts of questions that are drawn at random without replacement.

    Parameters
    ----------
    spec
        As `benchmark` in an experiment.
    n
        Number of questions; all of them if there are fewer.
    seed
        Seed of the draw; a larger `n` keeps the first questions.
    base
        Folder to which a relative file refers.

    Raises
    ------
    InputError
        When `n` is not at least 1, or the benchmark cannot be read.

    Examples
    --------
    >>> draw_benchmark_prompts("directions-small", 1)[0].messages[0]["role"]
    'system'
    """
    if n < 1:
        raise InputError(f"{n} prompts", where="--show", remedy="give 1 or more")
    benchmark = load(spec, base=base)
    variant = FixedPrompt(benchmark, benchmark.prompt)
    n_questions = len(benchmark.questions)
    places = draw_permutation(n_questions, seed, "prompts", k=min(n, n_questions))
    return [replace(_render_prompt(variant, benchmark.questions[place]), values={}) for place in places]


def _render_prompt(variant: Variant, question: Question) -> DrawnPrompt:
    """Return the prompt of a question under a variant."""
    record = variant.record(question)
    target = variant.write_answer(question, question.target)
    values = {name: strip_draw_key(value) for name, value in variant.values.items()}
    return DrawnPrompt(variant.id, question.id, target, values, record, variant.messages(question))


def format_prompt(prompt: DrawnPrompt) -> str:
    """Return a prompt as text for a terminal: where it comes from, what was drawn and replaced, and its messages."""
    lines = [f"variant {prompt.variant}, question {prompt.question}, right answer {prompt.target!r}"]
    if prompt.benchmark:
        lines[0] = f"benchmark {prompt.benchmark}, {lines[0]}"
    if prompt.values:
        lines.append("drawn: " + ", ".join(f"{name} {value!r}" for name, value in prompt.values.items()))
    replaced, pinned = prompt.record.get("replaced"), prompt.record.get("pinned")
    if isinstance(replaced, Mapping):
        lines += [
            f"replaced: {name} {one['drawn']!r} by {one['used']!r}: {one['reason']}" for name, one in replaced.items()
        ]
    if isinstance(pinned, Mapping):
        lines.append(f"in their place: choices {', '.join(str(i + 1) for i in pinned['choices'])}: {pinned['reason']}")
    for message in prompt.messages:
        lines += [f"[{message['role']}]", message["content"]]
    return escape_control_characters("\n".join(lines), keep="\n\t")
