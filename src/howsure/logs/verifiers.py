"""Read evaluations of verifiers: `results.jsonl` with `metadata.json` beside, or `traces.jsonl` of newer versions.

A line of results.jsonl is a rollout with its reward, and with the value of each reward function, which are scorers too.
A line of traces.jsonl is an episode; it is read where one agent took part, and the reward is the weighted sum of what
the reward functions gave. A rollout that ended in an error has a reward of 0 there and is missing here. The record of
`--columns` is a line: `info.level`, `task`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from howsure.logs.base import PromptFields, RowBuilder, UsageFields, as_mapping, get_field
from howsure.logs.file_formats import FileHead, decode_json, open_file, read_json_lines
from howsure.logs.record_reader import (
    Record,
    RecordedRun,
    RecordReader,
    ReportedMean,
    find_last_reply,
    get_number,
    get_text,
    hash_text,
    list_messages,
    name_by_place,
    parse_records,
)

_KEYS = {"example_id", "prompt", "completion", "reward"}
_EPISODE_KEYS = {"env", "task", "traces", "ok"}
_REWARD = "reward"
#: Columns of results.jsonl that are numbers and no values of reward functions.
_NO_SCORES = {"example_id", "generation_ms", "scoring_ms", "total_ms", "is_truncated", "is_completed", "num_turns"}


class VerifiersReader(RecordReader):
    """Reads the rollouts of verifiers, one row for each."""

    name = "verifiers"

    def recognises(self, head: FileHead) -> bool:
        """Return whether the first line is a rollout with its reward, or an episode."""
        return head.kind == "json" and (head.keys >= _KEYS or head.keys >= _EPISODE_KEYS)

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return the rollouts of an evaluation."""
        if FileHead(path).keys >= _EPISODE_KEYS:
            return _parse_episodes(path, build)
        metadata = _read_beside(path, "metadata.json", build)
        environment = get_text(metadata, "env_id")
        model = get_text(metadata, "model") or name_by_place(path, build)
        lines = list(read_json_lines(path, dict[str, object], build.note))
        tasks = {get_text(line, "task") for line in lines}
        scorers = [_REWARD, *_list_metrics(lines, metadata)]
        records = []
        for line in lines:
            example = get_text(line, "example_id")
            if example is None:
                build.count("[line names|lines name] no example and [is|are] left out")
                continue
            error = line.get("error")
            records.append(
                Record(
                    # Environments that are groups number the examples of each of their tasks from 0.
                    question=f"{get_text(line, 'task')}/{example}" if len(tasks) > 1 else example,
                    scores={name: _get_metric(line, name) for name in scorers},
                    source=line,
                    failure=get_text(error, "error_chain_repr", "error") or get_text(line, "error") or ""
                    if error
                    else "",
                    completion=_find_completion(line.get("completion")),
                    prompt=_read_prompt(line) if build.texts else PromptFields(),
                    usage=_usage_fields(line),
                )
            )
        return RecordedRun(
            benchmark=environment or get_text(lines[0], "task") or "verifiers",
            model=model,
            settings=as_mapping(metadata.get("sampling_args")),
            records=records,
            scorers=tuple(scorers),
            prompts=as_mapping(metadata.get("env_args")),
            reported=_list_reported(metadata, scorers),
            created=get_text(metadata, "date") or "",
            generations=int(get_number(metadata, "rollouts_per_example") or 1),
        )


def _read_beside(path: Path, name: str, build: RowBuilder) -> Mapping[str, object]:
    """Return the JSON object of a file beside the rollouts; nothing where there is none that can be read."""
    file = path.with_name(name)
    if not file.is_file():
        build.note(f"there is no {name} beside it, which would name the model and the environment")
        return {}
    with open_file(file) as stream:
        content = as_mapping(decode_json(stream.read()))
    if not content:
        build.note(f"{name} beside it cannot be read: it would name the model and the environment")
    return content


def _list_metrics(lines: list[dict[str, object]], metadata: Mapping[str, object]) -> list[str]:
    """Return the names of the reward functions."""
    reported = as_mapping(metadata.get("avg_metrics"))
    names = dict.fromkeys(reported)
    for line in lines:
        names.update(dict.fromkeys(as_mapping(line.get("metrics"))))
        if not reported:
            names.update(
                dict.fromkeys(name for name in line if name not in _NO_SCORES and get_number(line, name) is not None)
            )
    return [name for name in names if name != _REWARD]


def _get_metric(line: Mapping[str, object], name: str) -> object:
    """Return the value of a reward function, in a field of its own or among the metrics."""
    return line[name] if name in line else as_mapping(line.get("metrics")).get(name)


def _list_reported(metadata: Mapping[str, object], scorers: list[str]) -> list[ReportedMean]:
    """Return the means that the metadata states."""
    means = {_REWARD: metadata.get("avg_reward"), **as_mapping(metadata.get("avg_metrics"))}
    return [
        ReportedMean(name=f"avg_{_REWARD}" if name == _REWARD else name, value=value, scorer=name)
        for name in scorers
        if (value := get_number(means, name)) is not None
    ]


def _find_completion(completion: object) -> str | None:
    """Return a text, or the last text of the assistant in a list of messages."""
    return completion if isinstance(completion, str) else find_last_reply(completion)


def _read_prompt(line: Mapping[str, object]) -> PromptFields:
    """Return the messages of the prompt and the target."""
    return {"messages": list_messages(line.get("prompt")), "target": get_text(line, "answer")}


def _usage_fields(line: Mapping[str, object]) -> UsageFields:
    """Return tokens and time of a rollout."""
    milliseconds = get_number(line, "generation_ms") or get_number(line, "timing.generation_ms")
    n_read = get_number(line, "token_usage.input_tokens")
    return {
        "prompt_tokens": None if n_read is None else int(n_read),
        "completion_tokens": get_number(line, "token_usage.output_tokens"),
        "seconds": None if milliseconds is None else milliseconds / 1000,
    }


def _parse_episodes(path: Path, build: RowBuilder) -> RecordedRun:
    """Return the episodes of a traces.jsonl."""
    records: list[Record] = []
    environment = ""
    names: dict[str, None] = {}
    place = ""
    for episode in read_json_lines(path, dict[str, object], build.note):
        traces = list(parse_records(episode.get("traces"), build))
        if len(traces) != 1:
            build.count("[episode has|episodes have] no trace, or several agents, and [is|are] left out")
            continue
        (trace,) = traces
        environment = environment or get_text(episode, "env.id") or ""
        task = as_mapping(get_field(trace, "task.data"))
        question = get_text(task, "id", "name", "idx") or hash_text(task)
        rewards = {
            name: None if reward is None else (get_number(reward, "score") or 0.0) * _get_weight(reward)
            for name, reward in as_mapping(trace.get("rewards")).items()
        }
        names.update(dict.fromkeys(rewards))
        model = get_text(trace, "calls.0.model", "agent.config.model")
        if model is None:
            place = place or name_by_place(path, build)
            model = place
        # Nothing was scored where no reward function ran.
        total = sum(value or 0.0 for value in rewards.values()) if rewards else None
        error = get_text(trace, "errors.0.message", "errors.0") or get_text(episode, "errors.0.message", "errors.0")
        nodes = [get_field(node, "message") for node in parse_records(trace.get("nodes"), build)]
        is_failed = trace.get("ok") is False
        records.append(
            Record(
                question=question,
                model=model,
                scores={_REWARD: total, **{name: value for name, value in rewards.items() if name != _REWARD}},
                source=episode,
                failure=error or "the rollout is not marked as ok" if is_failed else "",
                completion=find_last_reply(nodes),
                prompt={"messages": list_messages(task.get("prompt"))} if build.texts else PromptFields(),
            )
        )
    return RecordedRun(
        benchmark=environment or "verifiers",
        model=records[0].model if records else "unknown",
        records=records,
        scorers=(_REWARD, *(name for name in names if name != _REWARD)),
    )


def _get_weight(reward: object) -> float:
    """Return the weight of a reward function, which is 1 where none is stated."""
    weight = get_number(reward, "weight")
    return 1.0 if weight is None else weight
