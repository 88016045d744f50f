"""The embedded model: its true P(correct) is known, it needs no key and no network.

It follows the law of `law.py`. Generation j of a cell is a hash of (seed, model, temperature, top_p, benchmark,
question, variant, j): independent of all others, of the order of requests and of how many are asked for at once. Of
what is drawn at temperatures above 0 a share `UNREADABLE` says nothing: P(correct) is (1 - UNREADABLE) times the law's.
What is drawn is an answer in the benchmark's canonical form; it is written down as the variant asks for it.
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
    Drawn,
    Law,
    answer_shares,
    uniform,
    wrong_logits,
)
from howsure.models.model import Choice, Reply, Request, Settings

__all__ = ["ABILITIES", "UNREADABLE", "SimulatedModel", "decoding", "population_score", "refuse_cuts", "truth"]

#: Share of completions without an answer, at temperatures above 0.
UNREADABLE = 0.005
#: Completions kept at a time, whatever the number of questions.
MOST_KEPT = 100_000

_PHRASES = (
    "{answer}",
    "{Answer}.",
    "The answer is {answer}.",
    "**{Answer}**",
    "I went through it step by step and checked it once more.\n#### {answer}",
)
_NO_ANSWER = Choice(text="I am not sure.", finish_reason="stop")


class SimulatedModel:
    """One embedded model answering the questions of one benchmark; a `sample.model.Model`.

    Parameters
    ----------
    name
        A key of `ABILITIES`, with or without `simulated/` before it.
    benchmark
        The questions with their targets: what a real model would have to know.
    seed
        Of the generations.
    population
        Seed of the law of questions: another one finds other questions hard.
    effects
        (dimension, value) to its effect on the logit of a right answer, in place of those that the law draws.

    Raises
    ------
    UnknownNameError
        When there is no such model.
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
            raise UnknownNameError("model", f"simulated/{self.name}", [f"simulated/{known}" for known in ABILITIES])
        self.benchmark, self.seed = benchmark, seed
        self.law = Law(self.name, benchmark, population=population, effects=effects)
        self._rows = {question.id: row for row, question in enumerate(benchmark.questions)}
        self._said: dict[tuple[str, str], dict[tuple[str, int], Choice]] = {}
        self._kept = 0

    async def generate(self, request: Request) -> Reply:
        """Draw the generations that are asked for, each by its own hash.

        Raises
        ------
        UnknownNameError
            When the benchmark has no such question.
        InputError
            When a setting is outside its range, or the benchmark or variant cannot read its own answers.
        """
        temperature, top_p = decoding(request.settings)
        if request.benchmark != self.benchmark.name:
            raise UnknownNameError("benchmark", request.benchmark, [self.benchmark.name])
        if (row := self._rows.get(request.question)) is None:
            raise UnknownNameError("question", request.question, self._rows, where=request.benchmark)
        answers, asked, question = self.law.answers(row), request.asked, self.benchmark.questions[row]
        point = asked if asked is not None and isinstance(asked, Drawn) else None
        z = self.law.logits(request.variant if point is None else point, row, row + 1)
        # Where there is nothing to choose from, one question is answered like another.
        spoken = ("" if point is None else point.id, question.id if question.choices else "")
        said = self._said.setdefault(spoken, {})
        shares = answer_shares(z, self.law.wrong[row : row + 1], temperature, top_p)[0]
        bounds = list(accumulate(shares.tolist()))[:-1]
        unreadable = UNREADABLE if temperature else 0.0

        drawn_by = (VERSION, self.law.population, self.seed, self.name, temperature, top_p)
        name = "".join(f"{part}\0" for part in (*drawn_by, request.benchmark, request.question, request.variant))
        cell = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16)
        choices = []
        for generation in request.generations:
            drawn = cell.copy()
            drawn.update(b"%d" % generation)
            digest = drawn.digest()
            if uniform(digest[8:]) < unreadable:
                choices.append(_NO_ANSWER)
                continue
            answer = answers[bisect_right(bounds, uniform(digest[:8]))]
            phrase = digest[15] % len(_PHRASES) if temperature else 0
            if (choice := said.get((answer, phrase))) is None:
                choice = said[answer, phrase] = self._say(answer, phrase, question, asked)
            choices.append(choice)
        if request.settings.stop is not None or request.settings.max_tokens is not None:
            choices = [_cut(choice, request.settings) for choice in choices]
        return Reply(
            choices=tuple(choices),
            request="simulated-" + hashlib.blake2b(cell.digest() + repr(request.generations).encode()).hexdigest()[:16],
            model=f"simulated/{self.name}",
            fingerprint=f"law-{VERSION}",
            prompt_tokens=sum(_tokens(message["content"]) for message in request.messages),
            completion_tokens=sum(_tokens(choice.text or "") for choice in choices),
            seconds=0.0,
        )

    async def close(self) -> None:
        """Nothing is open."""

    def _say(self, answer: str, phrase: int, question: Question, asked: Variant | None = None) -> Choice:
        """A completion that is read as `answer`."""
        self._kept += 1
        if self._kept > MOST_KEPT:
            self._said.clear()
            self._kept = 1
        said = answer if asked is None else asked.write_answer(question, answer)
        # In brackets a label is one, also where it is the text of another choice but for its case.
        for form in (_PHRASES[phrase], "{answer}", "({answer})"):
            text = form.format(answer=said, Answer=said[:1].upper() + said[1:])
            read = self.benchmark.extract(text) if asked is None else asked.read(question, text).answer
            if read == answer:
                return Choice(text=text, finish_reason="stop")
        if asked is None or not question.choices:
            remedy = "give targets and alternatives in the form that `extract` returns"
            raise InputError(
                f"it does not read the answer {answer!r} as itself", where=self.benchmark.name, remedy=remedy
            )
        what = f"variant {asked.id} does not read {said!r} as choice {answer} of question {question.id}"
        raise InputError(what, where=self.benchmark.name, remedy="leave out the enumerator or the question")


def truth(
    model: SimulatedModel, *, settings: Settings | None = None, variant: Variant | Prompt | str | None = None
) -> Array:
    """True P(correct) of each question, in the benchmark's order, (n_questions,).

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
    temperature, top_p = decoding(settings)
    asked = _asked(model, variant)
    refuse_cuts(model, settings, asked)
    z = model.law.logits(asked)
    right = answer_shares(z, model.law.wrong, temperature, top_p)[:, 0]
    return np.asarray(right * (1 - UNREADABLE if temperature else 1.0))


def population_score(
    model: SimulatedModel, *, settings: Settings | None = None, variant: Variant | Prompt | str | None = None
) -> float:
    """Expected P(correct) on a new question of the law, for the claim about new questions; exact to 1e-4.

    The expectation of `truth` over a, b, the interactions and the wrong answers, with as many wrong answers as the
    benchmark's questions have, and values that are drawn for each question as often as those have them. By quadrature:
    given a, z is normal, so its law is a mixture of normals over a.

    Raises
    ------
    InputError
        As `truth`.
    """
    from scipy.special import ndtr

    settings = settings or Settings()
    temperature, top_p = decoding(settings)
    asked = _asked(model, variant)
    refuse_cuts(model, settings, asked)
    shifts = np.unique(model.law.shift(asked), return_counts=True)
    edges = np.linspace(-30, 30, 120_001)
    z = (edges[:-1] + edges[1:]) / 2
    edges[0], edges[-1] = -np.inf, np.inf
    mass = sum(
        weight * times / shifts[1].sum() * np.diff(ndtr((edges - mean - shift) / sd))
        for shift, times in zip(*shifts, strict=True)
        for weight, mean, sd in model.law.mixture()
    )

    counts = Counter(np.isfinite(model.law.wrong).sum(axis=1).tolist())
    score = 0.0
    for n, questions in counts.items():
        for concentration in range(len(CONCENTRATIONS)):
            wrong = np.broadcast_to(wrong_logits(n, concentration), (z.size, n))
            share = questions / counts.total() / len(CONCENTRATIONS)
            score += share * float(mass @ answer_shares(z, wrong, temperature, top_p)[:, 0])
    return score * (1 - UNREADABLE if temperature else 1.0)


def _asked(model: SimulatedModel, variant: Variant | Prompt | str | None) -> Drawn | str:
    """What the law knows a variant by."""
    if variant is None:
        return model.benchmark.prompt.id
    return variant if isinstance(variant, str | Drawn) else variant.id


def decoding(settings: Settings) -> tuple[float, float]:
    """Temperature and top_p, 1 where not given.

    Raises
    ------
    InputError
        When one is outside its range.
    """
    temperature = 1.0 if settings.temperature is None else float(settings.temperature)
    top_p = 1.0 if settings.top_p is None else float(settings.top_p)
    if not 0 <= temperature < math.inf:
        raise InputError(f"temperature is {temperature}", where="simulated model", remedy="give 0 or more")
    if not 0 < top_p <= 1:
        raise InputError(f"top_p is {top_p}", where="simulated model", remedy="give more than 0, at most 1")
    return temperature, top_p


def refuse_cuts(model: SimulatedModel, settings: Settings, variant: Drawn | str = "") -> None:
    """Check that no completion can be cut before its answer.

    Raises
    ------
    InputError
        When one may be.
    """
    if settings.stop is None and settings.max_tokens is None:
        return
    answers = ((q, answer) for q in model.benchmark.questions for answer in (q.target, *q.alternatives))
    said = (answer if isinstance(variant, str) else variant.write_answer(q, answer) for q, answer in answers)
    enough = _tokens(max(_PHRASES, key=len)) + max(map(len, said), default=0)
    if settings.stop is not None or (settings.max_tokens or 0) < enough:
        remedy = f"leave out stop, and max_tokens below {enough}"
        raise InputError("completions may be cut before their answer", where="simulated model", remedy=remedy)


def _cut(choice: Choice, settings: Settings) -> Choice:
    text, reason = choice.text or "", "stop"
    for stop in settings.stop or ():
        text = text.partition(stop)[0] if stop else text
    if settings.max_tokens is not None and _tokens(text) > settings.max_tokens:
        text, reason = text[: 4 * settings.max_tokens], "length"
    return Choice(text=text, finish_reason=reason)


def _tokens(text: str) -> int:
    """About four characters to a token."""
    return -(-len(text) // 4)
