"""Random experiments against a random endpoint in virtual time, killed at random moments, until nothing is missing.

Kind of truth: guarantees by property. The endpoint keeps an account of its own: each cell is there once, no stored row
vanishes or changes, and neither calls nor tokens go beyond the budget, whatever fails and whenever a session is killed.
"""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass

import msgspec
import numpy as np
from helpers.scripted_model import ScriptedModel, VirtualTime, right, sums
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howsure.errors import EndpointError
from howsure.models.model import Choice
from howsure.sample.experiment import parse_experiment
from howsure.sample.prices import bound_prompt_tokens
from howsure.sample.run import run
from howsure.store.responses import is_run, read

#: What an endpoint can do instead of its task; the number is that of the seconds it takes.
FAULTS = {
    "rate_limit": 0.1,
    "wait": 0.1,
    "server": 0.5,
    "connection": 0.2,
    "timeout": 60.0,
    "malformed": 1.0,
    "empty": 1.0,
    "fewer": 1.0,
    "slow": 20.0,
    "refused_n": 0.1,
    "failed_choice": 1.0,
}
#: Most tokens of a completion; all use them, and prompts are as long as their bound, so that no slack hides an error.
COMPLETION = 3


@dataclass
class Case:
    """One experiment, what its endpoint does, request by request, and after how many requests a session is killed."""

    questions: int
    variants: int
    models: int
    generations: int
    concurrency: int
    most_choices: int | None
    calls: int | None
    tokens: int | None
    faults: list[str]
    kills: list[int]
    growth: int
    seed: int
    asked: int = 0
    billed: int = 0
    is_stopped: bool = False

    def write(self, *, is_first: bool) -> str:
        """Return the experiment in YAML; sessions after the first ask for more generations."""
        generations = self.generations + (0 if is_first else self.growth)
        models = [
            f'{{model: m-{i}, label: m{i}, base_url: "http://h/v1", max_tokens: {COMPLETION}}}'
            for i in range(self.models)
        ]
        variants = ["{}", '{system: "Be brief."}'][: self.variants]
        limits = {"calls": self.calls, "tokens": self.tokens}
        budget = ", ".join(f"{name}: {value}" for name, value in limits.items() if value is not None)
        return (
            f"{{benchmark: x, models: [{', '.join(models)}], variants: [{', '.join(variants)}], "
            f"generations: {generations}, concurrency: {self.concurrency}, budget: {{{budget}}}}}"
        )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Small experiments; half have a budget that may not suffice."""
    return Case(
        questions=draw(st.integers(1, 6)),
        variants=draw(st.integers(1, 2)),
        models=draw(st.integers(1, 2)),
        generations=draw(st.integers(1, 7)),
        concurrency=draw(st.sampled_from([1, 2, 5, 64])),
        most_choices=draw(st.sampled_from([None, None, 1, 3])),
        calls=draw(st.sampled_from([None, None, 5, 20, 60])),
        tokens=draw(st.sampled_from([None, None, 100, 700])),
        faults=draw(
            st.lists(st.sampled_from([*FAULTS, "right", "right"]), min_size=draw(st.sampled_from([0, 30])), max_size=30)
        ),
        kills=draw(st.lists(st.integers(0, 25), max_size=3)),
        growth=draw(st.sampled_from([0, 0, 1, 3])),
        seed=draw(st.integers(0, 99)),
    )


def make_reply(case: Case, request, fault: str):
    """Return a reply and bill it: each completion is as long as it may be."""
    if fault == "refused_n" and len(request.generations) > 1:
        raise EndpointError("no", reason="bad_request", status=400)  # without a word about n
    reply = right(request, max(1, len(request.generations) // 2) if fault == "fewer" else None)
    if fault == "failed_choice":
        reply = msgspec.structs.replace(reply, choices=(Choice(None, "error", error="it failed"), *reply.choices[1:]))
    prompt, completion = bound_prompt_tokens(request.messages), COMPLETION * len(reply.choices)
    case.billed += prompt + completion
    return msgspec.structs.replace(reply, prompt_tokens=prompt, completion_tokens=completion)


def sample(case: Case, folder, copy, *, kill_after: int | None, is_first: bool) -> bool:
    """Run one session in virtual time; return whether it came to its end before it was killed.

    A kill copies the folder as it is between two requests; what the session does afterwards is lost.
    """
    time, rng = VirtualTime(), np.random.default_rng(case.seed + case.asked)
    session_asked, is_killed = 0, False

    async def script(request):
        nonlocal session_asked, is_killed
        if is_killed:
            await asyncio.Event().wait()
        if session_asked == kill_after:
            is_killed = True
            shutil.copytree(folder, copy)
            task.cancel()
            await asyncio.Event().wait()
        session_asked += 1
        fault = case.faults[case.asked] if case.asked < len(case.faults) else "right"
        case.asked += 1
        n, prompt = len(request.generations), bound_prompt_tokens(request.messages)
        if n > (case.most_choices or n):
            raise EndpointError("n", reason="n_rejected", status=400, most=case.most_choices)
        await time.sleep(FAULTS.get(fault, 1.0) * (0.5 + rng.random()))
        if fault in {"fewer", "slow", "right", "refused_n", "failed_choice"}:
            return make_reply(case, request, fault)
        if fault in {"timeout", "malformed"}:
            case.billed += prompt + COMPLETION * n  # made, and billed, but lost
        wait = {"retry_after": 3.0} if fault == "wait" else {}
        raise EndpointError("no", reason={"wait": "rate_limit"}.get(fault, fault), **wait)

    async def go():
        nonlocal task
        model = ScriptedModel(script)
        running = run(
            parse_experiment(case.write(is_first=is_first)),
            folder,
            benchmark=sums(case.questions),
            open_model=lambda *_: model,
            sleep=time.sleep,
            clock=time.clock,
            rng=rng,
        )
        task = asyncio.ensure_future(running)
        try:
            outcome = await task
        except asyncio.CancelledError:
            assert is_killed
            return
        for one in outcome.models:
            assert one.stopped or one.spent or one.there + one.done + one.failed == one.wanted
        case.is_stopped |= any(one.stopped or one.spent or one.failed for one in outcome.models)

    task = None
    time.run(go())
    return not is_killed


def read_rows(folder):
    """Return the rows by key."""
    if not is_run(folder):
        return {}
    names = ["model", "question", "variant", "generation", "score", "completion", "error", "created"]
    rows = [tuple(row.values()) for row in read(folder, names).to_pylist()]
    by_key = {row[:4]: row[4:] for row in rows}
    assert len(by_key) == len(rows), "a cell is there twice"
    return by_key


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_each_cell_once_the_budget_kept_and_nothing_lost(case, tmp_path_factory):
    base = tmp_path_factory.mktemp("run")
    folder, before = base / "0", {}
    for number, kill_after in enumerate([*case.kills, None, None], 1):
        copy = base / str(number)
        is_ended = sample(case, folder, copy, kill_after=kill_after, is_first=number == 1)
        folder = folder if is_ended else copy
        rows = read_rows(folder)
        # What a session acknowledged stays, word for word; a failure may be tried again.
        assert all(rows.get(key) == row for key, row in before.items() if row[0] is not None)
        assert case.calls is None or case.asked <= case.calls
        assert case.tokens is None or case.billed <= case.tokens
        before = rows
    most = case.generations + case.growth
    wanted = case.questions * case.variants * case.models * most
    assert len(before) <= wanted
    assert {key[3] for key in before} <= set(range(1, most + 1))
    assert all(row[0] in {None, 1.0} for row in before.values())
    if not case.is_stopped:
        assert len(before) == wanted
