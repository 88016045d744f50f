"""Runs whose scorer works in a subprocess. Kinds of truth: the times of other work in the loop; rows counted."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.scripted_model import ScriptedModel, right, sums

from howsure.prompts.variants import FixedPrompt
from howsure.sample.model_config import ModelConfig
from howsure.sample.model_job import ModelJob
from howsure.sample.resume import find_missing_cells
from howsure.sample.worker import Worker
from howsure.scorers.registry import build_scorer
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer


def slow(seconds: float) -> Scorer:
    def score(completion, item):
        time.sleep(seconds)
        answer = completion.removeprefix("= ")
        return ScoredAnswer(float(answer == item.target), answer, "slow")

    return Scorer("slow", "1", score, in_subprocess=True)


def build_worker(scorer, rows, questions):
    benchmark = replace(sums(questions), scorer=scorer)
    job = ModelJob(
        ModelConfig("m", "m-1", "endpoint", generations=1, concurrency=8),
        benchmark,
        benchmark.questions,
        [FixedPrompt(benchmark, benchmark.prompt)],
        SimpleNamespace(add=rows.extend),
    )

    async def script(request):
        return right(request)

    worker = Worker(job, ScriptedModel(script), rng=np.random.default_rng(1))
    ids = [question.id for question in benchmark.questions]
    tasks = find_missing_cells(ids, job.variant_ids, 1, {}).tasks(ids, job.variant_ids, 1)

    async def iterate():
        for task in tasks:
            yield task

    return worker, iterate()


def test_a_scorer_in_a_subprocess_does_not_stop_the_loop():
    """16 completions of 0.1 s each: other work waits for none of them."""
    rows, gaps = [], []

    async def go():
        worker, tasks = build_worker(slow(0.1), rows, 16)

        async def beat():
            while True:
                before = time.monotonic()
                await asyncio.sleep(0.001)
                gaps.append(time.monotonic() - before)

        beating = asyncio.create_task(beat())
        await worker.run(tasks)
        beating.cancel()

    asyncio.run(go())
    assert [row.score for row in rows] == [1.0] * 16
    assert {row.rule for row in rows} == {"slow"}
    # In the loop, 16 of the gaps would last 0.1 s; the machine may delay a few of them.
    assert sum(gap > 0.09 for gap in gaps) < 8


def test_what_arrived_before_an_interrupt_is_scored_and_written():
    rows = []

    async def go():
        started, loop = asyncio.Event(), asyncio.get_running_loop()
        scorer = slow(0.1)

        def score(completion, item):
            loop.call_soon_threadsafe(started.set)
            return scorer.score(completion, item)

        worker, tasks = build_worker(replace(scorer, score=score), rows, 1)
        running = asyncio.create_task(worker.run(tasks))
        await started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(go())
    assert [row.score for row in rows] == [1.0]


def test_patterns_score_in_a_run():
    rows = []

    async def go():
        worker, tasks = build_worker(scorer, rows, 5)
        await worker.run(tasks)

    scorer = build_scorer("regex:= (.*)$", "benchmark, scorer")
    try:
        asyncio.run(go())
    finally:
        scorer.close()
    assert sorted((row.question, row.score, row.answer) for row in rows) == [
        (f"q{i}", 1.0, str(2 * i)) for i in range(1, 6)
    ]
