"""Define the data-generating process of the simulated models: the probability of each answer to each question.

For model m, question q and prompt variant s, a two-parameter item-response model::

    z = a_q (theta_m - b_q) + i_mq + v_ms + u_qs      logit of a right answer at temperature 1

where a_q is lognormal and b_q, i_mq, v_ms, u_qs are normal. They are drawn by hashing their names, so they are the same
on every machine. A question has a few wrong answers with logits w_j, sum_j exp(w_j) = 1, of which some are much
likelier than others. At temperature T

    P_T(right) = exp(z/T) / (exp(z/T) + sum_j exp(w_j/T))

which is sigmoid(z) at T = 1; at T = 0 the model gives the likeliest answer. `top_p` keeps the smallest set of likeliest
answers that reaches it. Questions, with their likely wrong answers, are shared by all models.

A prompt written by hand has its own v_ms and u_qs, drawn from the hash of its id. For a point of a prompt space::

    v_ms = sum over dimensions d of e_md(value of s on d) + r_ms      u_qs by the content of s, as r_ms

with e_md (each value of each dimension, per model) and r_ms normal: dimensions interact only through r_ms. Values are
identified by their names, so a value has one effect in every space; two draws of the same content are the same prompt.
On a dimension that is drawn for each question separately, each question has the effect of its own value.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from howsure.benchmarks.question import Benchmark, Question, Variant, strip_draw_key
from howsure.scorers.numerals import canonical_number

Array = NDArray[np.float64]

#: theta of each model.
ABILITIES = {"small": -0.30, "medium": 0.73, "large": 1.68, "xlarge": 2.68}

# A change of any of these values changes every simulated run, so increase VERSION with it.
VERSION = 1
A_MEDIAN, A_LOG_SD = 1.2, 0.35  # discrimination: median, sd of its logarithm
B_SD = 1.8  # difficulty
INTERACTION_SD = 0.6  # model x question
VARIANT_SD = 0.15  # variant, per model
CROSSED_SD = 0.35  # variant x question, shared by the models
VALUE_SD = 0.15  # each value of a dimension, per model
RESIDUAL_SD = 0.1  # content, per model: the part of a point that its values do not explain
CONCENTRATIONS = (0.8, 1.3, 1.8, 2.3)  # the j-th likeliest wrong answer has a share proportional to j ** -one of these
MOST_WRONG = 7


@runtime_checkable
class DrawnVariant(Variant, Protocol):
    """A point of a prompt space. Unlike a prompt written by hand, it has a hash of its content."""

    @property
    def content(self) -> str:
        """The hash of everything from which its prompts are built."""
        ...


class DataGeneratingProcess:
    """The data-generating process of one model (a key of `ABILITIES`) on one benchmark.

    Parameters
    ----------
    population
        Seed of the difficulties and of all other parameters.
    effects
        Maps (dimension, value) to e_md, which replaces the drawn value.

    Examples
    --------
    >>> from howsure.benchmarks import load
    >>> process = DataGeneratingProcess("medium", load("population"), population=1)
    >>> process.base.shape
    (1000,)
    """

    def __init__(
        self,
        model: str,
        benchmark: Benchmark,
        *,
        population: int = 0,
        effects: Mapping[tuple[str, str], float] | None = None,
    ) -> None:
        self.model, self.benchmark, self.population = model, benchmark, population
        self._given_effects = dict(effects or {})
        self._answers: dict[int, list[str]] = {}
        self._shifts: dict[str, tuple[float, bool]] = {}

    @cached_property
    def wrong(self) -> Array:
        """w_qj, the likeliest first, shape (n_questions, most wrong answers); -inf where there are fewer."""
        counts = [min(len(_list_wrong_answers(question)), MOST_WRONG) for question in self.benchmark.questions]
        wrong = np.full((len(counts), max(counts, default=0)), -np.inf)
        for row, question in enumerate(self.benchmark.questions):
            wrong[row, : counts[row]] = draw_wrong_logits(
                counts[row], self._hash("question", question.id)[16] % len(CONCENTRATIONS)
            )
        return wrong

    @cached_property
    def base(self) -> Array:
        """a_q (theta_m - b_q) + i_mq, the part of z without effects of variants, shape (n_questions,)."""
        base = np.empty(len(self.benchmark.questions))
        for row, question in enumerate(self.benchmark.questions):
            question_hash = self._hash("question", question.id)
            interaction = self._hash("interaction", question.id, self.model)
            a, b = A_MEDIAN * math.exp(A_LOG_SD * _normal(question_hash)), B_SD * _normal(question_hash[8:])
            base[row] = a * (ABILITIES[self.model] - b) + INTERACTION_SD * _normal(interaction)
        return base

    def logits(self, variant: DrawnVariant | str, start: int = 0, stop: int | None = None) -> Array:
        """Return z of the questions start..stop-1 under a point of a space, or the id of a prompt written by hand."""
        name = variant if isinstance(variant, str) else variant.content
        questions = self.benchmark.questions[start:stop]
        crossed = np.array([_normal(self._hash("crossed", name, question.id)) for question in questions])
        return self.base[start:stop] + self.shift(variant, start, stop) + CROSSED_SD * crossed

    def shift(self, variant: DrawnVariant | str, start: int = 0, stop: int | None = None) -> Array:
        """Return v_ms of the questions start..stop-1: one number, unless values are drawn for each question."""
        questions = self.benchmark.questions[start:stop]
        if isinstance(variant, str):
            return np.full(len(questions), VARIANT_SD * _normal(self._hash("variant", variant, self.model)))
        if variant.content not in self._shifts:
            values = {d: value for d, value in variant.values.items() if strip_draw_key(value) != "nested"}
            residual = RESIDUAL_SD * _normal(self._hash("residual", variant.content, self.model))
            sum_of_effects = math.fsum(self.effect(dimension, value) for dimension, value in values.items())
            self._shifts[variant.content] = residual + sum_of_effects, len(values) < len(variant.values)
        shared, is_nested = self._shifts[variant.content]
        shift = np.full(len(questions), shared)
        for row, question in enumerate(questions if is_nested else ()):
            drawn = cast("dict[str, str]", variant.record(question)["values"])  # names by dimension
            shift[row] += math.fsum(self.effect(dimension, value) for dimension, value in drawn.items())
        return shift

    def effect(self, dimension: str, value: str) -> float:
        """Return e_md of one value of a dimension, in logits."""
        value = strip_draw_key(value)
        if (given := self._given_effects.get((dimension, value))) is not None:
            return given
        return VALUE_SD * _normal(self._hash("value", dimension, value, self.model))

    def mixture(self) -> list[tuple[float, float, float]]:
        """Return z on new questions without v_ms as a mixture of normals (weight, mean, sd), by quadrature over a."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(32)
        parts = []
        for node, weight in zip(nodes.tolist(), (weights / weights.sum()).tolist(), strict=True):
            a = A_MEDIAN * math.exp(A_LOG_SD * node)
            parts.append((weight, a * ABILITIES[self.model], math.hypot(a * B_SD, INTERACTION_SD, CROSSED_SD)))
        return parts

    def answers(self, row: int) -> list[str]:
        """Return the target of a question, then its wrong answers in the order of `wrong`."""
        if row not in self._answers:
            question = self.benchmark.questions[row]
            wrong = sorted(_list_wrong_answers(question), key=lambda answer: self._hash("order", question.id, answer))
            self._answers[row] = [question.target, *wrong[:MOST_WRONG]]
        return self._answers[row]

    def _hash(self, *parts: object) -> bytes:
        """Return 24 bytes that depend on the version, the population, the benchmark and `parts`."""
        key = "".join(f"{part}\0" for part in (VERSION, self.population, self.benchmark.name, *parts))
        return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=24).digest()


def answer_shares(z: Array, wrong: Array, temperature: float, top_p: float) -> Array:
    """Return the probability of each answer, the right one first: z (n,) and wrong (n, J) to shape (n, 1 + J)."""
    logits = np.column_stack([z, wrong])
    if temperature == 0:
        return np.asarray(np.eye(logits.shape[1])[logits.argmax(axis=1)])
    with np.errstate(over="ignore"):  # at a tiny temperature a distance is infinite, and its share is 0
        shares = np.exp((logits - logits.max(axis=1, keepdims=True)) / temperature)
    shares /= shares.sum(axis=1, keepdims=True)
    if top_p < 1:
        order = np.argsort(-shares, axis=1, kind="stable")
        ranked = np.take_along_axis(shares, order, axis=1)
        ranked[ranked.cumsum(axis=1) - ranked >= top_p] = 0.0
        np.put_along_axis(shares, order, ranked, axis=1)
        shares /= shares.sum(axis=1, keepdims=True)
    return np.asarray(shares)


def draw_wrong_logits(n: int, concentration: int) -> Array:
    """Return w_j of n wrong answers, the likeliest first, shape (n,)."""
    w = -CONCENTRATIONS[concentration] * np.log(np.arange(1, n + 1))
    return np.asarray(w - np.log(np.exp(w).sum()))


def _list_wrong_answers(question: Question) -> list[str]:
    """Return the other choices of a question, or numbers near its target, or texts that negate the target."""
    if question.alternatives:
        return list(question.alternatives)
    if question.choices:  # letters follow the original order, even if a prompt has another order
        letters = (chr(ord("A") + place) for place in range(len(question.choices)))
        return [letter for letter in letters if letter != question.target]
    if canonical_number(question.target) != question.target:
        return [f"not {question.target}", f"almost {question.target}", f"neither {question.target}"]
    target = Fraction(question.target)
    step = Fraction(1, 10 ** len(question.target.partition(".")[2]))  # one unit in the last decimal place
    near = [target + step, target - step, 2 * target, target / 2, 10 * target, target + 10 * step, target - 10 * step]
    texts = [text for value in near if value != target and (text := canonical_number(str(value)))]
    return list(dict.fromkeys(texts))[:5]


def uniform(hashed: bytes) -> float:
    """Return the first eight bytes of a hash as a number in [0, 1), a multiple of 2 ** -53."""
    return (int.from_bytes(hashed[:8]) >> 11) * 2.0**-53


def _normal(hashed: bytes) -> float:
    """Return the first eight bytes of a hash as a standard normal number."""
    return NormalDist().inv_cdf(uniform(hashed) + 2.0**-54)
