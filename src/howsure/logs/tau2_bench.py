"""Read tau2-bench's results: one JSON object with the configuration of the run, its tasks and its simulations.

Large runs keep a folder `simulations/` beside `results.json`, which then has `simulation_index`: id, task, trial and
reward of each simulation. tau2-bench leaves simulations that ended with an error of the infrastructure out of its
numbers; they are missing here. The record of `--columns` is a simulation: `termination_reason`, `info.x`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from howsure.errors import InputError
from howsure.logs.base import PromptFields, RowBuilder, UsageFields, as_mapping, get_field
from howsure.logs.file_formats import FileHead, read_json
from howsure.logs.record_reader import (
    Record,
    RecordedRun,
    RecordReader,
    find_last_reply,
    get_number,
    get_text,
    list_messages,
    parse_records,
)

#: Ends of simulations that could not be judged.
_NOT_EVALUATED = ("infrastructure_error", "context_window_exceeded", "unexpected_error")
_INDEX = "simulation_index"
_PLAIN_AGENT = "llm_agent"


class Tau2BenchReader(RecordReader):
    """Reads the simulations of tau2-bench, one row for each."""

    name = "tau2-bench"

    def recognises(self, head: FileHead) -> bool:
        """Return whether the keys are those of its results."""
        return head.kind == "json" and {"info", "tasks", "simulations"} <= head.keys

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return the simulations, by the number of their trial."""
        results = read_json(path, dict[str, object])
        info = as_mapping(results.get("info"))
        simulations = list(parse_records(results.get("simulations") or results.get(_INDEX), build))
        if not simulations:
            raise InputError(
                "it holds no simulation", where=str(path), remedy="give results.json with its simulations or its index"
            )
        tasks = {get_text(task, "id"): task for task in parse_records(results.get("tasks"), build)}
        records = []
        for simulation in sorted(simulations, key=lambda one: get_number(one, "trial") or 0.0):
            task = get_text(simulation, "task_id")
            if task is None:
                build.count("[simulation names|simulations name] no task and [is|are] left out")
                continue
            records.append(_parse_simulation(simulation, task, as_mapping(tasks.get(task)), build))
        agent, model = get_text(info, "agent_info.implementation"), get_text(info, "agent_info.llm")
        user = get_text(info, "user_info.llm")
        names = [model or "unknown", *([agent] if agent and agent != _PLAIN_AGENT else [])]
        label = " ".join(names) + (f" (user {user})" if user else "")
        if model is None:
            build.note("it names no model, which is called 'unknown'")
        domain = get_text(info, "environment_info.domain_name")
        return RecordedRun(
            benchmark=f"tau2-bench-{domain}" if domain else "tau2-bench",
            model=label,
            model_name=model or "",
            settings=as_mapping(get_field(info, "agent_info.llm_args")),
            conditions={"agent": agent, "user": user},
            records=records,
            scorers=("reward",),
            source={"domain": domain, "commit": get_text(info, "git_commit")},
            created=get_text(results, "timestamp") or "",
            generations=int(get_number(info, "num_trials") or 1),
        )


def _parse_simulation(
    simulation: Mapping[str, object], task: str, content: Mapping[str, object], build: RowBuilder
) -> Record:
    """Return the record of a simulation."""
    end = get_text(simulation, "termination_reason") or ""
    reward = get_field(simulation, "reward_info.reward")
    failure = ""
    if end in _NOT_EVALUATED and (end != _NOT_EVALUATED[-1] or reward is None):
        failure = f"{end}: {get_text(simulation, 'info.error', 'reward_info.info.note') or 'it was not judged'}"
    return Record(
        question=task,
        scores={"reward": reward if reward is not None else simulation.get("reward")},
        source=simulation,
        failure=failure,
        is_counted=False,
        completion=find_last_reply(simulation.get("messages")),
        prompt=_read_prompt(content) if build.texts else PromptFields(),
        usage=UsageFields(seconds=get_number(simulation, "duration")),
    )


def _read_prompt(task: Mapping[str, object]) -> PromptFields:
    """Return what the simulated user was told."""
    instructions = get_field(task, "user_scenario.instructions")
    text = get_text(instructions, "task_instructions", "reason_for_call") if instructions is not None else None
    return {"messages": list_messages(instructions if isinstance(instructions, str) else text)}
