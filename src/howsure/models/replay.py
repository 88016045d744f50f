"""Replay a recorded model: draw scores from recorded results, to learn how a design of a run would have performed.

Generation j of a cell is drawn with replacement from the recorded scores of the model on the question, by a hash of
(seed, name, benchmark, question, variant, j). So it is independent of all others, and does not depend on the order or
size of requests. The mean of the recorded scores is the true value that a run of the model estimates.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right

from howsure.benchmarks.question import Benchmark
from howsure.benchmarks.recorded import RecordedBenchmark
from howsure.errors import InputError, UnknownNameError
from howsure.models.generating_process import uniform
from howsure.models.model import Choice, Reply, Request, Settings

VERSION = 1


class ReplayModel:
    """Answer with scores drawn from the recorded results of one model.

    Parameters
    ----------
    name
        Name of the model in the table, with or without the prefix `replay/`.
    benchmark
        A benchmark from `{replay: FILE}`, which holds the results.
    seed
        Seed of the generations.

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
            raise InputError("the benchmark has no recorded results", where=f"replay/{self.name}", remedy=remedy)
        if self.name not in benchmark.outcomes:
            models = [f"replay/{model}" for model in benchmark.outcomes]
            raise UnknownNameError("model", f"replay/{self.name}", models, where=benchmark.name)
        self.benchmark, self.outcomes = benchmark, benchmark.outcomes[self.name]
        if absent := [question.id for question in benchmark.questions if question.id not in self.outcomes]:
            what = (
                f"no recorded score of {len(absent)} of {len(benchmark.questions)} questions, the first {absent[0]!r}"
            )
            remedy = f"use only its questions: benchmark: {{replay: FILE, models: [{self.name}, ...]}}"
            raise InputError(what, where=f"replay/{self.name}", remedy=remedy)

    async def generate(self, request: Request) -> Reply:
        """Draw the requested generations, each by its own hash.

        Raises
        ------
        UnknownNameError
            When the benchmark has no such question.
        InputError
            When decoding settings are given, because the recorded results have their own.
        """
        if request.settings != Settings():
            remedy = "leave temperature, top_p, max_tokens, stop, extra and greedy out"
            raise InputError("a recorded model takes no settings", where=f"replay/{self.name}", remedy=remedy)
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
            generation_hash = cell.copy()
            generation_hash.update(b"%d" % generation)
            score = outcomes.scores[bisect_right(bounds, uniform(generation_hash.digest()))]
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
        """Do nothing: there are no connections."""
