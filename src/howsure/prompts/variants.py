"""Draw the prompt variants of an experiment, and use a plain prompt as a variant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from howsure.benchmarks.question import Benchmark, Message, ParsedAnswer, Prompt, Question, Variant
from howsure.errors import InputError, UnknownNameError
from howsure.notes import Note, warn
from howsure.prompts.checks import bind_space, identify_text
from howsure.prompts.dimensions import ENUMERATORS, draw_key
from howsure.prompts.instructions import Instruction
from howsure.prompts.rendering import hash_messages
from howsure.prompts.space import Space
from howsure.prompts.space_spec import SPACE_KEYS, parse_space
from howsure.scorers.completion_text import CompletionContext, share_context, write_context
from howsure.scorers.multiple_choice import read_choice

#: Keys of a model that is asked in all variants, and of how many of them are enough; the sampler reads them.
REFERENCE_KEYS = ("reference", "epsilon", "delta")
#: Keys of `variants` in an experiment. The caller reads the files that `instructions`, `paraphrases` and `pool` name.
VARIANT_KEYS = (
    *SPACE_KEYS,
    *("sample", "questions_per_variant", "seed", "default", "hold_out", "instructions", "paraphrases", "pool"),
    *REFERENCE_KEYS,
)


#: Largest number of variants that can be drawn; each is a prompt of every question.
MOST_VARIANTS = 100_000


@dataclass(frozen=True)
class FixedPrompt:
    r"""The prompt of a benchmark, or one written by hand; a `benchmarks.question.Variant`.

    Its id is that of the prompt. Answers to questions with choices are read by their labels, as under every variant;
    other answers are read by the benchmark.

    Examples
    --------
    >>> question = Question("q", "What is 2 + 2?", "4")
    >>> benchmark = Benchmark("sums", [question], Prompt(template="{question}\nA:"), extract=lambda text: text or None)
    >>> FixedPrompt(benchmark, benchmark.prompt).messages(question)
    [{'role': 'user', 'content': 'What is 2 + 2?\nA:'}]
    """

    benchmark: Benchmark
    prompt: Prompt

    @property
    def id(self) -> str:
        """Return the id of the prompt."""
        return self.prompt.id

    @property
    def values(self) -> dict[str, str]:
        """Return the system message, the template, and the number of demonstrations if there are any."""
        values = {"system": self.prompt.system, "template": self.prompt.template}
        if self.prompt.demonstrations:
            values["demonstrations"] = str(len(self.prompt.demonstrations))
        return values

    def messages(self, question: Question) -> list[Message]:
        """Return the chat messages for one question."""
        return self.prompt.messages(question)

    def read(self, question: Question, completion: str, *, truncated: bool = False) -> ParsedAnswer:
        """Return the answer that a completion gives."""
        context = self.build_context(question, truncated=truncated)
        if not question.choices:
            return ParsedAnswer(self.benchmark.extract_in_context(completion, context=context), "benchmark")
        labels = ENUMERATORS["capitals"][: len(question.choices)]
        # It is not known what a prompt written by hand asks for; the choices are lettered, so a letter is a label.
        place, rule = read_choice(completion, labels, question.choices, expects_label=True, context=context)
        return ParsedAnswer(None if place is None else labels[place], rule)

    def build_context(self, question: Question, *, truncated: bool = False) -> CompletionContext:
        """Return what is known about a completion: the question, its choices, and the marker of a further question."""
        return share_context(question.text, question.choices, truncated, self.prompt.stops, self.benchmark.language)

    def write_answer(self, question: Question, answer: str) -> str:
        """Return the answer itself, whatever the question."""
        del question
        return answer

    def record(self, question: Question) -> dict[str, object]:
        """Return the hash of the prompt, label map and order."""
        record: dict[str, object] = {"prompt": hash_messages(self.messages(question))}
        if question.choices:
            order = range(len(question.choices))
            record["labels"] = dict(zip(ENUMERATORS["capitals"], order, strict=False))
            record["order"] = list(order)
            record["choices"] = list(question.choices)
            record["labels_asked"] = True
        record |= write_context(self.build_context(question))
        if question.solution:
            record["solution"] = question.solution
        return record


@dataclass(frozen=True)
class DrawnVariants:
    """Variants of one benchmark.

    Attributes
    ----------
    space
        The space of the variants, bound to the benchmark.
    variants
        The variants in the order of the draws; before them the default one, if the spec asks for it.
    default
        Id of the default variant, or None.
    benchmark
        The benchmark without the questions that were held out.

    Examples
    --------
    >>> question = Question("q", "What is 2 + 2?", "4")
    >>> benchmark = Benchmark("sums", [question], Prompt(template="{question}"), extract=lambda text: text or None)
    >>> drawn = draw_variants({"space": "open", "sample": 3, "seed": 1}, benchmark)
    >>> len(drawn.variants), drawn.default
    (3, None)
    """

    space: Space
    variants: tuple[Variant, ...]
    default: str | None
    benchmark: Benchmark


def draw_variants(
    spec: Mapping[str, object],
    benchmark: Benchmark,
    *,
    pool: Sequence[Question] = (),
    instructions: Sequence[Instruction] = (),
    paraphrases: Mapping[str, tuple[str, ...]] | None = None,
) -> DrawnVariants:
    """Draw the variants of an experiment, and check them against its questions.

    Parameters
    ----------
    spec
        The keys of `space_spec.parse_space`, and `sample` (number of draws), `seed`, `default: true` (add the
        benchmark's own prompt), `hold_out` (number of questions that become demonstrations and are not evaluated).
    benchmark
        The benchmark.
    pool
        Demonstrations from elsewhere.
    instructions
        Phrasings that replace those of the space.
    paraphrases
        Reviewed paraphrases of questions by the id of the question, for the dimension `wording`.

    Returns
    -------
    DrawnVariants
        The variants, and the benchmark without the questions held out.

    Raises
    ------
    UnknownNameError
        When a key, dimension or value does not exist.
    InputError
        When the spec cannot be read, or does not fit the questions (`checks.check_space`).
    """
    for name in spec:
        if name not in VARIANT_KEYS:
            raise UnknownNameError("key", str(name), VARIANT_KEYS, where="variants")
    if any(question.turns for question in benchmark.questions):
        what = f"the prompts of {benchmark.name} are another program's, and no space of variants applies to them"
        remedy = 'write prompts out: variants: [{template: "{question} ..."}, {system: ...}]'
        raise InputError(what, where="variants", remedy=remedy)
    n, seed = _parse_count(spec, "sample", None), _parse_count(spec, "seed", 0)
    default = spec.get("default", False)
    if not isinstance(default, bool):
        raise InputError(f"default is {default!r}", where="variants", remedy="give true or false")
    if n > MOST_VARIANTS:
        raise InputError(f"sample is {n}", where="variants", remedy=f"give at most {MOST_VARIANTS:,}")
    space = parse_space({key: value for key, value in spec.items() if key in SPACE_KEYS}, instructions=instructions)
    if k := _parse_count(spec, "hold_out", 0):
        if pool:
            raise InputError("both a pool and questions held out", where="variants", remedy="keep one of them")
        pool, benchmark = hold_out(benchmark, k, seed)
    if n > space.size and not any(value.seeded or d.nested for d in space.dimensions for value in d.values):
        warn(Note("repeated-variants", n=n, facts={"size": space.size}))
    bound = bind_space(space, benchmark, pool, paraphrases)
    points: list[Variant] = [*bound.sample(n, seed)]
    own = FixedPrompt(benchmark, benchmark.prompt)
    return DrawnVariants(bound, (own, *points) if default else tuple(points), own.id if default else None, benchmark)


def draw_questions(
    spec: Mapping[str, object], variants: Sequence[str], questions: Sequence[str]
) -> dict[str, frozenset[str]] | None:
    """Return the questions that each drawn variant asks, or None if each asks all of them.

    The draws depend on the seed, the place of the variant among the draws and the ids of the questions only: with a
    larger `sample` or `questions_per_variant` each variant keeps the questions that it had.

    Parameters
    ----------
    spec
        As for `draw_variants`, with `questions_per_variant`: the number of questions that each variant asks, drawn
        without replacement for each variant by itself.
    variants
        Ids of the drawn variants in the order of the draws, without the default one.
    questions
        Ids of all questions.

    Raises
    ------
    InputError
        When there are fewer questions than that.

    Examples
    --------
    >>> drawn = draw_questions({"seed": 4, "questions_per_variant": 2}, ["v", "w"], ["a", "b", "c", "d"])
    >>> {variant: sorted(chosen) for variant, chosen in drawn.items()}
    {'v': ['a', 'd'], 'w': ['a', 'b']}
    """
    if "questions_per_variant" not in spec:
        return None
    n, seed = _parse_count(spec, "questions_per_variant", None), _parse_count(spec, "seed", 0)
    if not 1 <= n <= len(questions):
        what, remedy = f"{n} questions per variant, of {len(questions):,}", f"give 1 to {len(questions)}"
        raise InputError(what, where="variants, questions_per_variant", remedy=remedy)
    return {variant: frozenset(_rank_by_hash(questions, seed, j)[:n]) for j, variant in enumerate(variants)}


def _rank_by_hash(questions: Sequence[str], seed: int, j: int) -> list[str]:
    """Return the questions in the order of a hash that depends on the seed and the place of the variant."""
    return sorted(questions, key=lambda question: draw_key(seed, "questions", j, question))


def hold_out(benchmark: Benchmark, k: int, seed: int) -> tuple[list[Question], Benchmark]:
    """Return k questions of a benchmark, drawn by hash, and the benchmark without them.

    The draw depends on the ids of the questions and the seed only; a larger k keeps the first questions. Questions that
    are there twice, with the same text and choices, are drawn last: one would be a demonstration of the other.

    Raises
    ------
    InputError
        When k is negative or leaves no question to evaluate.
    """
    n = len(benchmark.questions)
    if not 0 <= k < n:
        remedy = f"give 0 to {n - 1}" if n else "give a benchmark with questions"
        raise InputError(f"{k} of {n} questions held out", where="variants, hold_out", remedy=remedy)
    copies = Counter(map(identify_text, benchmark.questions))
    ranked = sorted(
        benchmark.questions,
        key=lambda question: (copies[identify_text(question)] > 1, draw_key(seed, "hold out", question.id)),
    )
    held = {question.id for question in ranked[:k]}
    rest = [i for i, question in enumerate(benchmark.questions) if question.id not in held]
    reduced = replace(
        benchmark,
        questions=[benchmark.questions[i] for i in rest],
        clusters=[benchmark.clusters[i] for i in rest] if benchmark.clusters else benchmark.clusters,
        source={**benchmark.source, "held_out": str(k), "held_out_seed": str(seed)} if k else benchmark.source,
    )
    return ranked[:k], reduced


def _parse_count(spec: Mapping[str, object], key: str, default: int | None) -> int:
    """Return a whole number of the spec, 0 or more."""
    value = spec.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        what = f"{key} is {value!r}" if key in spec else f"{key} is not given"
        raise InputError(what, where="variants", remedy="give a whole number, 0 or more")
    return value
