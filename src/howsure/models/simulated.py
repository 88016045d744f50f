"""Provide the built-in simulated models, whose true P(correct) is known and which need no key and no network.

They follow the process of `generating_process.py`. Generation j of a cell is a hash of (seed, model, temperature,
top_p, benchmark, question, variant, j). So it is independent of all others, and does not depend on the order or size of
requests. At temperatures above 0 a share `UNREADABLE` of the completions contains no answer: P(correct) is
(1 - UNREADABLE) times that of the process. The drawn answer is in the canonical form of the benchmark; the completion
contains it in the form that the variant requires.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from itertools import accumulate

import numpy as np

from howsure.benchmarks.question import Benchmark, Prompt, Question, Variant
from howsure.errors import InputError, UnknownNameError
from howsure.models.generating_process import (
    ABILITIES,
    CONCENTRATIONS,
    VERSION,
    Array,
    DataGeneratingProcess,
    DrawnVariant,
    answer_shares,
    draw_wrong_logits,
    uniform,
)
from howsure.models.model import Choice, Reply, Request, Settings
from howsure.scorers.completion_text import CompletionContext
from howsure.scorers.scorer_parts import ScoringItem

#: Share of completions without an answer, at temperatures above 0.
UNREADABLE = 0.005
#: Largest number of completions in the cache, for any number of questions.
MOST_CACHED = 100_000

_PHRASES = (
    "{answer}",
    "{Answer}.",
    "The answer is {answer}.",
    "**{Answer}**",
    "I went through it step by step and checked it once more.\n#### {answer}",
)
_NO_ANSWER = Choice(text="I am not sure.", finish_reason="stop")


class SimulatedModel:
    """Answer the questions of one benchmark as a simulated model with a known probability of each answer.

    Parameters
    ----------
    name
        A key of `ABILITIES`, with or without the prefix `simulated/`.
    benchmark
        The questions with their targets.
    seed
        Seed of the generations.
    population
        Seed of the process: with another seed, other questions are hard.
    effects
        Maps (dimension, value) to its effect on the logit of a right answer, which replaces the drawn effect.

    Raises
    ------
    UnknownNameError
        When there is no such model.

    Examples
    --------
    >>> import asyncio
    >>> from howsure.benchmarks import load
    >>> benchmark = load("directions-small")
    >>> model, question = SimulatedModel("simulated/medium", benchmark), benchmark.questions[0]
    >>> messages = benchmark.prompt.messages(question)
    >>> request = Request(benchmark.name, question.id, benchmark.prompt.id, messages, (1, 2, 3), Settings())
    >>> len(asyncio.run(model.generate(request)).choices)
    3
    """

    def __init__(
        self,
        name: str,
        benchmark: Benchmark,
        *,
        seed: int = 0,
        population: int = 0,
        effects: Mapping[tuple[str, str], float] | None = None,
    ) -> None:
        self.name = name.removeprefix("simulated/")
        if self.name not in ABILITIES:
            raise UnknownNameError("model", f"simulated/{self.name}", [f"simulated/{name}" for name in ABILITIES])
        self.benchmark, self.seed = benchmark, seed
        self.process = DataGeneratingProcess(self.name, benchmark, population=population, effects=effects)
        self._rows = {question.id: row for row, question in enumerate(benchmark.questions)}
        self._completions: dict[tuple[str, str], dict[tuple[str, int], Choice]] = {}
        self._n_cached = 0

    async def generate(self, request: Request) -> Reply:
        """Draw the requested generations, each by its own hash.

        Raises
        ------
        UnknownNameError
            When the benchmark has no such question.
        InputError
            When a setting is outside its range, or the benchmark or variant cannot extract its own answers.
        """
        temperature, top_p = read_decoding(request.settings)
        if request.benchmark != self.benchmark.name:
            raise UnknownNameError("benchmark", request.benchmark, [self.benchmark.name])
        if (row := self._rows.get(request.question)) is None:
            raise UnknownNameError("question", request.question, self._rows, where=request.benchmark)
        answers, question = self.process.answers(row), self.benchmark.questions[row]
        variant = request.prompt_variant
        point = variant if variant is not None and isinstance(variant, DrawnVariant) else None
        z = self.process.logits(request.variant if point is None else point, row, row + 1)
        # If questions have no choices, a completion depends on the answer but not on the question.
        cache_key = ("" if point is None else point.id, question.id if question.choices else "")
        completions = self._completions.setdefault(cache_key, {})
        shares = answer_shares(z, self.process.wrong[row : row + 1], temperature, top_p)[0]
        bounds = list(accumulate(shares.tolist()))[:-1]
        unreadable = UNREADABLE if temperature else 0.0

        draw_key = (VERSION, self.process.population, self.seed, self.name, temperature, top_p)
        name = "".join(f"{part}\0" for part in (*draw_key, request.benchmark, request.question, request.variant))
        cell = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16)
        choices = []
        for generation in request.generations:
            generation_hash = cell.copy()
            generation_hash.update(b"%d" % generation)
            digest = generation_hash.digest()
            if uniform(digest[8:]) < unreadable:
                choices.append(_NO_ANSWER)
                continue
            answer = answers[bisect_right(bounds, uniform(digest[:8]))]
            phrase = digest[15] % len(_PHRASES) if temperature else 0
            if (choice := completions.get((answer, phrase))) is None:
                choice = completions[answer, phrase] = self._write_completion(answer, phrase, question, variant)
            choices.append(choice)
        if request.settings.stop is not None or request.settings.max_tokens is not None:
            choices = [_truncate(choice, request.settings) for choice in choices]
        return Reply(
            choices=tuple(choices),
            request="simulated-" + hashlib.blake2b(cell.digest() + repr(request.generations).encode()).hexdigest()[:16],
            model=f"simulated/{self.name}",
            fingerprint=f"law-{VERSION}",
            prompt_tokens=sum(_count_tokens(message["content"]) for message in request.messages),
            completion_tokens=sum(_count_tokens(choice.text or "") for choice in choices),
            seconds=0.0,
        )

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    def _write_completion(self, answer: str, phrase: int, question: Question, variant: Variant | None = None) -> Choice:
        """Return a completion from which `answer` is extracted."""
        self._n_cached += 1
        if self._n_cached > MOST_CACHED:
            self._completions.clear()
            self._n_cached = 1
        written = answer if variant is None else variant.write_answer(question, answer)
        # A label in brackets is unambiguous, even if it differs from the text of another choice only in case.
        forms = [_PHRASES[phrase], "{answer}", "({answer})", "${answer}$"]
        if self.benchmark.scorer is not None and self.benchmark.scorer.has_own_targets:
            # A task that scores by rules of its own may find the target in another answer.
            forms = [*(["{answer}"] if answer == question.target else []), *forms]
            forms += [] if answer == question.target else ["I do not know."]
        for form in forms:
            text = form.format(answer=written, Answer=written[:1].upper() + written[1:])
            if self._is_read(text, answer, question, variant):
                return Choice(text=text, finish_reason="stop")
        if variant is None or not question.choices:
            reader = f"the scorer {scorer.name}" if (scorer := self.benchmark.scorer) else "`extract`"
            remedy = "give targets and alternatives in the form that it reads, or sample another model"
            raise InputError(
                f"{reader} does not read the answer {answer[:60]!r} as it is", where=self.benchmark.name, remedy=remedy
            )
        what = f"variant {variant.id} does not extract choice {answer} of question {question.id} from {written!r}"
        raise InputError(what, where=self.benchmark.name, remedy="leave out the enumerator or the question")

    def _is_read(self, text: str, answer: str, question: Question, variant: Variant | None) -> bool:
        """Return whether the benchmark reads an answer in a text."""
        if self.benchmark.scorer is not None and not question.choices:
            target = question.stored_target if answer == question.target else answer
            context = CompletionContext(question.text) if variant is None else variant.build_context(question)
            item = ScoringItem(self.benchmark.name, question.id, "", target, context)
            try:
                score = self.benchmark.scorer.score(text, item).score
            except ValueError:  # an answer of one question is no target of this scorer, such as tests
                return False
            if self.benchmark.scorer.has_own_targets and answer != question.target:
                return score < 1
            return score == 1
        return answer == (self.benchmark.extract(text) if variant is None else variant.read(question, text).answer)


def truth(
    model: SimulatedModel, *, settings: Settings | None = None, variant: Variant | Prompt | str | None = None
) -> Array:
    """Return the true P(correct) of each question, in the benchmark's order, shape (n_questions,).

    Parameters
    ----------
    settings
        Decoding; a temperature or top_p of None is 1.
    variant
        A point of a space, or a prompt or its id; by default the benchmark's own.

    Raises
    ------
    InputError
        When a setting is outside its range, or may cut a completion before its answer (stop, a small max_tokens).
    """
    settings = settings or Settings()
    temperature, top_p = read_decoding(settings)
    variant_key = _identify_variant(model, variant)
    check_uncut(model, settings, variant_key)
    z = model.process.logits(variant_key)
    right = answer_shares(z, model.process.wrong, temperature, top_p)[:, 0]
    return np.asarray(right * (1 - UNREADABLE if temperature else 1.0))


def population_score(
    model: SimulatedModel, *, settings: Settings | None = None, variant: Variant | Prompt | str | None = None
) -> float:
    """Return the expected P(correct) on a new question of the process, exact to 1e-4.

    This is the true value for the claim about new questions: the expectation of `truth` over a, b, the interactions and
    the wrong answers. The numbers of wrong answers, and the values that are drawn for each question, have the same
    distribution as in the benchmark. Given a, z is normal, so z is a mixture of normals over a, which is integrated by
    quadrature.

    Raises
    ------
    InputError
        In the same cases as `truth`.
    """
    from scipy.special import ndtr

    settings = settings or Settings()
    temperature, top_p = read_decoding(settings)
    variant_key = _identify_variant(model, variant)
    check_uncut(model, settings, variant_key)
    shifts = np.unique(model.process.shift(variant_key), return_counts=True)
    edges = np.linspace(-30, 30, 120_001)
    z = (edges[:-1] + edges[1:]) / 2
    edges[0], edges[-1] = -np.inf, np.inf
    mass = sum(
        weight * times / shifts[1].sum() * np.diff(ndtr((edges - mean - shift) / sd))
        for shift, times in zip(*shifts, strict=True)
        for weight, mean, sd in model.process.mixture()
    )

    counts = Counter(np.isfinite(model.process.wrong).sum(axis=1).tolist())
    score = 0.0
    for n, questions in counts.items():
        for concentration in range(len(CONCENTRATIONS)):
            wrong = np.broadcast_to(draw_wrong_logits(n, concentration), (z.size, n))
            share = questions / counts.total() / len(CONCENTRATIONS)
            score += share * float(mass @ answer_shares(z, wrong, temperature, top_p)[:, 0])
    return score * (1 - UNREADABLE if temperature else 1.0)


def _identify_variant(model: SimulatedModel, variant: Variant | Prompt | str | None) -> DrawnVariant | str:
    """Return the variant itself if it is a point of a prompt space, or else the id of the prompt."""
    if variant is None:
        return model.benchmark.prompt.id
    return variant if isinstance(variant, str | DrawnVariant) else variant.id


def read_decoding(settings: Settings) -> tuple[float, float]:
    """Return temperature and top_p; the value is 1 if it is not given.

    Raises
    ------
    InputError
        When a value is outside its range.
    """
    temperature = 1.0 if settings.temperature is None else float(settings.temperature)
    top_p = 1.0 if settings.top_p is None else float(settings.top_p)
    if not 0 <= temperature < math.inf:
        raise InputError(f"temperature is {temperature}", where="simulated model", remedy="give 0 or more")
    if not 0 < top_p <= 1:
        raise InputError(f"top_p is {top_p}", where="simulated model", remedy="give more than 0, at most 1")
    return temperature, top_p


def check_uncut(model: SimulatedModel, settings: Settings, variant: DrawnVariant | str = "") -> None:
    """Raise InputError if a completion can be cut before its answer.

    Raises
    ------
    InputError
        When a completion may be cut.
    """
    if settings.stop is None and settings.max_tokens is None:
        return
    answers = ((q, answer) for q in model.benchmark.questions for answer in (q.target, *q.alternatives))
    written = (answer if isinstance(variant, str) else variant.write_answer(q, answer) for q, answer in answers)
    longest = _count_tokens(max(_PHRASES, key=len)) + max(map(len, written), default=0)
    if settings.stop is not None or (settings.max_tokens or 0) < longest:
        remedy = f"leave out stop, and max_tokens below {longest}"
        raise InputError("completions may be cut before their answer", where="simulated model", remedy=remedy)


def _truncate(choice: Choice, settings: Settings) -> Choice:
    """Return a choice that ends at the first stop string and after max_tokens."""
    text, reason = choice.text or "", "stop"
    for stop in settings.stop or ():
        text = text.partition(stop)[0] if stop else text
    if settings.max_tokens is not None and _count_tokens(text) > settings.max_tokens:
        text, reason = text[: 4 * settings.max_tokens], "length"
    return Choice(text=text, finish_reason=reason)


def _count_tokens(text: str) -> int:
    """Return the number of tokens, four characters each."""
    return -(-len(text) // 4)
