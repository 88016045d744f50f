"""A task of Inspect whose scores are planted: a Bernoulli draw for each sample and epoch, without a model call."""

import random

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver


def draw_score(seed: int, name: str, epoch: int) -> int:
    """Return the planted score of a sample in an epoch."""
    return int(random.Random(f"{seed} {name} {epoch}").random() < draw_accuracy(seed, name))


def draw_accuracy(seed: int, name: str) -> float:
    """Return the planted accuracy of a sample."""
    return random.Random(f"{seed} {name}").betavariate(0.6, 0.4)


@solver
def answer_without_model(failing: tuple[str, ...] = (), journal: str = "", pause: float = 0.0) -> Solver:
    """Write an answer without a model call, or fail; the journal has a line for each sample that was run."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001  # Inspect's protocol
        await anyio.sleep(pause)
        if journal:
            async with await anyio.open_file(journal, "a", encoding="utf-8") as file:
                await file.write(f"{state.sample_id} {state.epoch}\n")
        if state.sample_id in failing:
            raise RuntimeError("planted failure")
        state.output = ModelOutput.from_content("planted", f"answer in epoch {state.epoch}")
        return state

    return solve


@scorer(metrics=[accuracy(), stderr()])
def planted(seed: int = 0) -> Scorer:
    """Score as planted."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001  # Inspect's protocol
        return Score(value=draw_score(seed, str(state.sample_id), state.epoch), answer="x")

    return score


def build_planted_task(n: int, *, seed: int = 0, failing=(), **options) -> Task:
    """Return a task of n samples q0, q1, ..."""
    samples = [Sample(id=f"q{i}", input=f"Question {i}?", target="x") for i in range(n)]
    return Task(dataset=samples, solver=answer_without_model(tuple(failing)), scorer=planted(seed), **options)


@task
def planted_sums(n: int = 6, seed: int = 1, failing: str = "", journal: str = "", pause: float = 0.0) -> Task:
    """A task for Inspect's own loader."""
    samples = [Sample(id=f"q{i}", input=f"Question {i}?", target="x") for i in range(n)]
    names = tuple(failing.split(",")) if failing else ()
    return Task(dataset=samples, solver=answer_without_model(names, journal, pause), scorer=planted(seed))
