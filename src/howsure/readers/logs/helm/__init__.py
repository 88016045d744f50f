"""HELM's run folders: run_spec.json, per_instance_stats.json and, for texts, scenario_state.json.

A question is an instance. Its perturbation and its draw of examples ("trial") are a prompt variant and never a
generation: the same id comes back under each. HELM scores the first completion of a request; the others are
generations without a score. `columns` names fields of a request state, such as `instance.extra_data.topic`.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from howsure.errors import InputError
from howsure.readers.logs.base import UNSCORED, LogInfo, LogRow, MappedColumns, Note, ReadOptions, choose_scorer
from howsure.readers.logs.file_head import FileHead, open_file
from howsure.readers.logs.helm.scores import Scored, scorers_of, scores, variant_of
from howsure.readers.logs.json_files import read_json, read_json_array
from howsure.store.manifest import Model

__all__ = ["NAME", "describe", "members", "recognises", "rows"]

NAME = "HELM"

_SPEC, _STATS, _STATE = "run_spec.json", "per_instance_stats.json", "scenario_state.json"
_SETTINGS = ("temperature", "max_tokens", "stop_sequences", "num_outputs", "random", "model_deployment", "method")
#: What a run's name says of the model and of how often it was asked, and not of what was asked.
_NOT_ASKED = re.compile(r"[:,](?:model|model_deployment|data_augmentation|num_outputs|num_train_trials)=[^,]*")
_FAILED = re.compile(rb'"success": ?false')
_CHUNK = 1 << 20


class _Adapter(msgspec.Struct):
    model: str
    num_outputs: int = 1
    method: str = ""

    @property
    def completions(self) -> int:
        """How many are asked for at once: where one is to choose, it is one, whatever num_outputs says."""
        return 1 if self.method.startswith(("multiple_choice", "ranking")) else self.num_outputs


class _Spec(msgspec.Struct):
    name: str
    adapter_spec: dict[str, Any]
    scenario_spec: object = None
    groups: object = None


class _Output(msgspec.Struct):
    text: str = ""


class _Reference(msgspec.Struct):
    output: _Output
    tags: list[str] = []


class _Instance(msgspec.Struct):
    id: str
    perturbation: dict[str, Any] | None = None
    references: list[_Reference] = []


class _Request(msgspec.Struct):
    prompt: str = ""
    messages: list[dict[str, Any]] | None = None


class _Completion(msgspec.Struct):
    text: str = ""
    finish_reason: object = None


class _Result(msgspec.Struct):
    success: bool = True
    completions: list[_Completion] = []
    error: object = None
    request_time: object = None
    request_datetime: object = None


class _State(msgspec.Struct):
    """A request that was made for an instance, or for one of its references."""

    instance: _Instance
    train_trial_index: int = 0
    reference_index: int | None = None
    output_mapping: dict[str, str] | None = None
    request: _Request = msgspec.field(default_factory=_Request)
    result: _Result | None = None


def recognises(head: FileHead) -> bool:
    """By the names in the folder, or by the keys of the stats within it."""
    if head.kind == "folder":
        return {_SPEC, _STATS} <= head.keys
    return head.kind == "json" and {"instance_id", "train_trial_index", "stats"} <= head.keys


def members(path: Path) -> Sequence[Path]:
    """The run's folder."""
    return [path if path.is_dir() else path.parent]


def describe(path: Path) -> LogInfo:
    """Model, settings and metrics; reads the spec and the stats."""
    folder = members(path)[0]
    spec, adapter = _spec(folder)
    with open_file(folder / _SPEC) as file:
        run = hashlib.sha256(file.read() + str((folder / _STATS).stat().st_size).encode()).hexdigest()[:16]
    settings = {key: spec.adapter_spec[key] for key in _SETTINGS if key in spec.adapter_spec}
    return LogInfo(
        run=run,
        models={
            adapter.model: Model(name=adapter.model, kind=NAME, settings=settings, generations=adapter.completions)
        },
        benchmarks={_benchmark(spec): {"run_spec": spec.name, "scenario": spec.scenario_spec, "groups": spec.groups}},
        scorers=scorers_of(folder / _STATS),
    )


def rows(path: Path, asked: ReadOptions, tell: Note) -> Iterator[LogRow]:
    """A row per completion; without texts, and where no request failed, only the stats are read.

    Raises
    ------
    InputError
        When a file of the run cannot be read, or `columns` are asked for and there is no scenario_state.json.
    """
    folder = members(path)[0]
    spec, adapter = _spec(folder)
    scorer = choose_scorer(scorers_of(folder / _STATS), asked.scorer, where=str(path), tell=tell)
    found = scores(folder / _STATS, scorer, tell)
    state = folder / _STATE
    if asked.columns and not state.is_file():
        raise InputError(f"--columns names fields of {_STATE}, which is not there", where=str(path))
    if asked.texts and not state.is_file():
        tell(f"there are no texts: {_STATE} is missing")
    if adapter.completions > 1:
        tell(
            f"{adapter.completions} completions of each question were asked for, and only the first was scored: "
            "howsure rescore scores the others"
        )
    base = LogRow(benchmark=_benchmark(spec), model=adapter.model, question="", variant="", generation=1)
    if state.is_file() and (asked.texts or asked.columns or _has_failures(state)):
        yield from _with_states(state, base, found, asked, tell)
        return
    for key, scored in found.items():
        yield _row(base, key, scored)


def _spec(folder: Path) -> tuple[_Spec, _Adapter]:
    spec = read_json(folder / _SPEC, _Spec)
    try:
        return spec, msgspec.convert(spec.adapter_spec, _Adapter)
    except msgspec.ValidationError as error:
        raise InputError(f"adapter_spec: {error}", where=str(folder / _SPEC), remedy="is the file whole?") from error


def _benchmark(spec: _Spec) -> str:
    """The run's name without the model: equal for runs that asked the same.

    `mmlu:subject=anatomy,model=a_b,data_augmentation=canonical` is `mmlu:subject=anatomy`.
    """
    name = _NOT_ASKED.sub("", spec.name)
    return name if ":" in name else name.replace(",", ":", 1)


def _has_failures(state: Path) -> bool:
    """Whether any request failed, which HELM scores as an empty answer; a search of the bytes, at their speed."""
    rest = b""
    try:
        with open_file(state) as file:
            while chunk := file.read(_CHUNK):
                if _FAILED.search(rest + chunk):
                    return True
                rest = chunk[-32:]
    except (OSError, EOFError):
        return False
    return False


def _row(base: LogRow, key: tuple[str, str], scored: Scored) -> LogRow:
    status = UNSCORED if scored.score is None else "length" if scored.was_cut else "ok"
    return msgspec.structs.replace(
        base,
        question=key[0],
        variant=key[1],
        score=scored.score,
        status=status,
        prompt_tokens=scored.prompt_tokens,
        completion_tokens=scored.completion_tokens,
        seconds=scored.seconds,
    )


def _with_states(
    path: Path, base: LogRow, found: dict[tuple[str, str], Scored], asked: ReadOptions, tell: Note
) -> Iterator[LogRow]:
    """Rows in the order of the requests, then those whose request is not in the file."""
    mapped = MappedColumns(asked.columns, where=str(path))
    count: Counter[str] = Counter()
    drawn: Counter[tuple[str, ...]] = Counter()
    missing = dict(found)
    for record in read_json_array(path, dict[str, Any], tell, under="request_states"):
        try:
            state = msgspec.convert(record, _State)
        except msgspec.ValidationError:
            count["unread"] += 1
            continue
        key = (state.instance.id, variant_of(state.instance.perturbation, state.train_trial_index))
        scored = missing.pop(key, None)
        if scored is None and state.reference_index is not None:
            continue  # one of several requests, of which each is for one choice
        count["unmatched"] += scored is None and key not in found
        for one in _completions(_row(base, key, scored or Scored()), state, asked.texts):
            row = msgspec.structs.replace(
                one,
                benchmark=mapped.of(record, "benchmark") or one.benchmark,
                model=mapped.of(record, "model") or one.model,
                question=mapped.of(record, "question") or one.question,
                variant=mapped.of(record, "variant") or one.variant,
                cluster=mapped.of(record, "cluster"),
            )
            cell = (row.benchmark, row.model, row.question, row.variant)
            drawn[cell] += 1
            count["error"] += row.status == "error"
            yield msgspec.structs.replace(row, generation=drawn[cell])
    if count["error"]:
        tell(
            f"{count['error']} errors that HELM scored as empty answers are missing here; "
            "--missing as-zero counts them as 0"
        )
    if n := count["unread"] + count["unmatched"]:
        tell(f"{n} requests of {_STATE} are not in {_STATS} or cannot be read")
    if missing:
        tell(f"{len(missing)} of {len(found)} instances have no request in {_STATE}: they are read without texts")
    for key, scored in missing.items():
        row = _row(base, key, scored)
        drawn[row.benchmark, row.model, row.question, row.variant] += 1
        yield msgspec.structs.replace(row, generation=drawn[row.benchmark, row.model, row.question, row.variant])


def _completions(row: LogRow, state: _State, texts: bool) -> Iterator[LogRow]:
    """The scored completion, and those that were kept beside it."""
    result = state.result or _Result()
    created = result.request_datetime
    if not result.success:
        said = " ".join(str(result.error or "no answer").split())[:300]
        row = msgspec.structs.replace(row, score=None, status="error", error=f"request: {said}")
    row = msgspec.structs.replace(row, created=float(created) if isinstance(created, (int, float)) else None)
    if not texts:
        yield row
        return
    mapping = state.output_mapping or {}
    right = next((one.output.text for one in state.instance.references if "correct" in one.tags), None)
    row = msgspec.structs.replace(
        row,
        target=next((letter for letter, text in mapping.items() if text == right), right),
        choices=tuple(mapping.values()),
        messages=_messages(state.request),
    )
    if not result.success or state.reference_index is not None:
        yield row
        return
    for place, completion in enumerate(result.completions or [_Completion()]):
        said = completion.text.strip()
        if place:
            row = msgspec.structs.replace(row, score=None, status=UNSCORED, prompt_tokens=None, completion_tokens=None)
        reason = completion.finish_reason.get("reason") if isinstance(completion.finish_reason, dict) else None
        yield msgspec.structs.replace(
            row,
            completion=completion.text,
            answer=said if said in mapping else None,
            finish_reason=reason if isinstance(reason, str) else None,
        )


def _messages(request: _Request) -> tuple[dict[str, str], ...]:
    if request.messages:
        return tuple({key: str(value) for key, value in message.items()} for message in request.messages)
    return ({"role": "user", "content": request.prompt},)
