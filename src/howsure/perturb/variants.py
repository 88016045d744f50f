"""Questions to demonstrate with, taken out of those that are evaluated."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from howsure.benchmarks.question import Benchmark, Message, Prompt, Question, Read, Variant
from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.extraction.choices import read_choice
from howsure.perturb.checks import bind
from howsure.perturb.dimensions import ENUMERATORS
from howsure.perturb.hash_draws import key
from howsure.perturb.instructions import Instruction
from howsure.perturb.space import Space
from howsure.perturb.space_spec import SPACE_KEYS, space

__all__ = ["KEYS", "Own", "Sampled", "hold_out", "sampled"]


def hold_out(benchmark: Benchmark, k: int, seed: int) -> tuple[list[Question], Benchmark]:
    """Some questions of a benchmark, drawn by hash, and the benchmark without them.

    Which ones depends on the ids of the questions and the seed alone; a larger k keeps the first ones.

    Raises
    ------
    InputError
        When k is negative or leaves no question to evaluate.
    """
    n = len(benchmark.questions)
    if not 0 <= k < n:
        remedy = f"give 0 to {n - 1}" if n else "give a benchmark with questions"
        raise InputError(f"{k} of {n} questions held out", where="variants, hold_out", remedy=remedy)
    ranked = sorted(benchmark.questions, key=lambda question: key(seed, "hold out", question.id))
    held = {question.id for question in ranked[:k]}
    kept = [i for i, question in enumerate(benchmark.questions) if question.id not in held]
    rest = replace(
        benchmark,
        questions=[benchmark.questions[i] for i in kept],
        clusters=[benchmark.clusters[i] for i in kept] if benchmark.clusters else benchmark.clusters,
        source={**benchmark.source, "held_out": str(k), "held_out_seed": str(seed)} if k else benchmark.source,
    )
    return ranked[:k], rest


@dataclass(frozen=True)
class Own:
    """A plain prompt, with the id that it always had; a `benchmarks.question.Variant`.

    Answers are read by the benchmark, those to questions with choices by their labels, as under every other variant.
    """

    benchmark: Benchmark
    prompt: Prompt

    @property
    def id(self) -> str:
        """That of the prompt."""
        return self.prompt.id

    @property
    def values(self) -> dict[str, str]:
        """System message and template."""
        return {"system": self.prompt.system, "template": self.prompt.template}

    def messages(self, question: Question) -> list[Message]:
        """Chat messages for one question."""
        return self.prompt.messages(question)

    def read(self, question: Question, completion: str) -> Read:
        """The answer that a completion gives."""
        if not question.choices:
            return Read(self.benchmark.extract(completion), "benchmark")
        labels = ENUMERATORS["capitals"][: len(question.choices)]
        # Nothing is known of what a prompt written by hand asks for; choices are lettered, so a letter is one.
        place, rule = read_choice(completion, labels, question.choices, labels_asked=True)
        return Read(None if place is None else labels[place], rule)

    def say(self, question: Question, answer: str) -> str:  # noqa: ARG002  as every variant
        """The answer itself."""
        return answer

    def record(self, question: Question) -> dict[str, object]:
        """Label map, order, and the hash of the prompt."""
        prompt = json.dumps(self.messages(question), ensure_ascii=False)
        kept: dict[str, object] = {"prompt": hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()}
        if question.choices:
            order = range(len(question.choices))
            kept["labels"] = dict(zip(ENUMERATORS["capitals"], order, strict=False))
            kept["order"] = list(order)
            kept["labels_asked"] = True
        return kept


_OWN_KEYS = ("sample", "seed", "default", "hold_out")
#: Keys of `variants` in an experiment. `instructions`, `pool` and `templates` name files, which the caller reads.
KEYS = (*SPACE_KEYS, *_OWN_KEYS, "instructions", "pool", "templates")


@dataclass(frozen=True)
class Sampled:
    """Variants of one benchmark.

    Attributes
    ----------
    variants
        Those drawn, in the order of the draws; the default one before them, if it was asked for.
    default
        Id of the default variant, or None.
    benchmark
        The benchmark without the questions that were held out.
    """

    space: Space
    variants: tuple[Variant, ...]
    default: str | None
    benchmark: Benchmark


def sampled(
    spec: Mapping[str, object],
    benchmark: Benchmark,
    *,
    pool: Sequence[Question] = (),
    instructions: Sequence[Instruction] = (),
) -> Sampled:
    """Draw the variants of an experiment, and check them against its questions.

    Parameters
    ----------
    spec
        The keys of `spaces.space`, and `sample` (how many draws), `seed`, `default: true` (the benchmark's own prompt
        beside them), `hold_out` (so many questions are taken out of the evaluation, to demonstrate with).
    pool
        Demonstrations from elsewhere.
    instructions
        Phrasings in place of the space's own.

    Raises
    ------
    UnknownNameError
        When a key, dimension or value does not exist.
    InputError
        When the spec cannot be read, or does not go with the questions (`checks.check`).
    """
    for name in spec:
        if name not in KEYS:
            raise UnknownNameError("key", str(name), KEYS, where="variants")
    n, seed = _whole(spec, "sample", None), _whole(spec, "seed", 0)
    default = spec.get("default", False)
    if not isinstance(default, bool):
        raise InputError(f"default is {default!r}", where="variants", remedy="give true or false")
    found = space({key: value for key, value in spec.items() if key in SPACE_KEYS}, instructions=instructions)
    if held := _whole(spec, "hold_out", 0):
        if pool:
            raise InputError("both a pool and questions held out", where="variants", remedy="keep one of them")
        pool, benchmark = hold_out(benchmark, held, seed)
    if n > found.size and not any(value.seeded or d.nested for d in found.dimensions for value in d.values):
        told = f"{n} variants from a space of {found.size}: those that are drawn again ask with the same words"
        warnings.warn(told, HowsureWarning, stacklevel=2)
    bound = bind(found, benchmark, pool)
    points: list[Variant] = [*bound.sample(n, seed)]
    own = Own(benchmark, benchmark.prompt)
    return Sampled(bound, (own, *points) if default else tuple(points), own.id if default else None, benchmark)


def _whole(spec: Mapping[str, object], key: str, default: int | None) -> int:
    value = spec.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        what = f"{key} is {value!r}" if key in spec else f"{key} is not given"
        raise InputError(what, where="variants", remedy="give a whole number, 0 or more")
    return value
