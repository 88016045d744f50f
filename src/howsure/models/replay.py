"""A model that draws from recorded results: what a design would have shown, without a request.

Generation j of a cell is drawn with replacement from what the model scored on the question, by a hash of (seed, name,
benchmark, question, variant, j): independent of all others, of the order of requests and of how many are asked for at
once. The mean of the recorded scores is the truth that a run of it estimates.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right

import numpy as np

from howsure.benchmarks.question import Benchmark
from howsure.benchmarks.recorded import RecordedBenchmark
from howsure.errors import InputError, UnknownNameError
from howsure.models.generating_process import Array, uniform
from howsure.models.model import Choice, Reply, Request, Settings

__all__ = ["ReplayModel", "truth"]

VERSION = 1


class ReplayModel:
    """One recorded model; a `sample.model.Model`.

    Parameters
    ----------
    name
        As in the table, with or without `replay/` before it.
    benchmark
        One from `{replay: FILE}`, which holds the results.
    seed
        Of the generations.

    Raises
    ------
    InputError
        When the benchmark holds no results, or some of its questions were never answered by the model.
    UnknownNameError
        When the table has no such model.
    """

    def __init__(self, name: str, benchmark: Benchmark, *, seed: int = 0) -> None:
        self.name, self.seed = name.removeprefix("replay/"), seed
        if not isinstance(benchmark, RecordedBenchmark):
            remedy = "name a table of results: benchmark: {replay: FILE}"
            raise InputError("nothing is recorded for it", where=f"replay/{self.name}", remedy=remedy)
        if self.name not in benchmark.outcomes:
            known = [f"replay/{model}" for model in benchmark.outcomes]
            raise UnknownNameError("model", f"replay/{self.name}", known, where=benchmark.name)
        self.benchmark, self.outcomes = benchmark, benchmark.outcomes[self.name]
        if lost := [question.id for question in benchmark.questions if question.id not in self.outcomes]:
            what = f"no recorded score of {len(lost)} of {len(benchmark.questions)} questions, the first {lost[0]!r}"
            remedy = f"ask only what it has: benchmark: {{replay: FILE, models: [{self.name}, ...]}}"
            raise InputError(what, where=f"replay/{self.name}", remedy=remedy)

    async def generate(self, request: Request) -> Reply:
        """Draw the generations that are asked for, each by its own hash.

        Raises
        ------
        UnknownNameError
            When the benchmark has no such question.
        InputError
            When decoding settings are given: what is recorded was decoded as it was.
        """
        if request.settings != Settings():
            remedy = "leave temperature, top_p, max_tokens, stop, extra and greedy out"
            raise InputError("what is recorded has no settings", where=f"replay/{self.name}", remedy=remedy)
        if request.benchmark != self.benchmark.name:
            raise UnknownNameError("benchmark", request.benchmark, [self.benchmark.name])
        if (outcomes := self.outcomes.get(request.question)) is None:
            raise UnknownNameError("question", request.question, self.outcomes, where=request.benchmark)
        parts = (VERSION, self.seed, self.name, request.benchmark, request.question, request.variant)
        key = "".join(f"{part}\0" for part in parts)
        cell = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16)
        bounds = outcomes.cumulative[:-1]
        choices = []
        for generation in request.generations:
            drawn = cell.copy()
            drawn.update(b"%d" % generation)
            score = outcomes.scores[bisect_right(bounds, uniform(drawn.digest()))]
            choices.append(Choice(text=repr(score), finish_reason="stop"))
        return Reply(
            choices=tuple(choices),
            request="replay-" + hashlib.blake2b(cell.digest() + repr(request.generations).encode()).hexdigest()[:16],
            model=f"replay/{self.name}",
            prompt_tokens=0,
            completion_tokens=0,
            seconds=0.0,
        )

    async def close(self) -> None:
        """Nothing is open."""


def truth(model: ReplayModel) -> Array:
    """Expected score of each question, in the benchmark's order, (n_questions,)."""
    return np.array([model.outcomes[question.id].mean for question in model.benchmark.questions])
