"""Read a log of OpenAI evals: a jsonl with the run's spec, its final report, and its events in order of time.

The events of a sample are `sampling` (a prompt and what was sampled), then `match` or `metrics`, which score it. With
several threads the events of samples interleave. The number in the id of a sample is its place in the data file, which
is the same in every run, and is the question here. K repeats are K files with the same spec, each a run of its own.

The text that was scored is the last one sampled before the score; where a model grades, which samples too, it is the
first. A further score of a sample is another generation when the same prompt was sampled again. When it is of another
prompt, or of the same text again, it is of another part of the sample, and a question of its own.

The record of `--columns` is the event that scored, with the run's `spec` beside its fields: `data.expected`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import msgspec

from howsure.errors import InputError
from howsure.logs.base import (
    COUNTED_AS_WRONG,
    UNSCORED,
    LogInfo,
    LogReader,
    LogRow,
    PromptFields,
    RowBuilder,
    RowKey,
    ScoreFields,
    UsageFields,
    encode_text,
    get_field,
    mark_missing,
)
from howsure.logs.file_formats import DECODE_ERRORS, FileHead, decode_json, open_file, read_json_lines
from howsure.store.manifest import ModelRecord

#: Lines that are searched for the names of the scores.
_N_SURVEYED = 5000
_MISSING = "[generation was|generations were] never scored: [it is|they are] missing"
_EVENT_KEYS = {"run_id", "event_id", "sample_id", "type", "data"}
#: Settings that influence the completions of a model; other settings of the command line may be secret keys.
_SETTINGS = ("temperature", "top_p", "max_tokens", "n", "seed", "stop", "presence_penalty", "frequency_penalty")
#: The value that the harness writes when the grading model named none of the choices.
_INVALID = "__invalid__"
_STEPS = (
    "[sampled text is a step or a call of a judge, and no generation|sampled texts are "
    "steps or calls of a judge, and no generations]"
)
_PARTS = (
    "[score is|scores are] of another prompt of [its|their] sample, or of the same text "
    "again: each such part is a question of its own, "
    "ID/2 and so on; --columns cluster=sample_id keeps a sample together"
)


class _FirstLine(msgspec.Struct):
    spec: _EvalSpec


class OpenAIEvalsReader(LogReader):
    """Reads a log of OpenAI evals, one row for each text that was scored, or sampled and never scored."""

    name = "OpenAI evals"

    def recognises(self, head: FileHead) -> bool:
        """Return whether the first line is the spec of a run, or an event of a log that lost its first line."""
        if head.kind != "json" or head.keys != {"spec"}:
            return head.kind == "json" and head.keys >= _EVENT_KEYS
        try:
            with open_file(head.path) as file:
                msgspec.json.decode(file.readline(), type=_FirstLine)
        except (OSError, EOFError, *DECODE_ERRORS):
            return False
        return True

    def describe(self, path: Path) -> LogInfo:
        """Return what the spec and the first events state."""
        spec, scorers = _survey(path)
        source = {
            "eval": spec.base_eval,
            "split": spec.split,
            "class": get_field(spec.run_config, "eval_spec.cls"),
            "samples": get_field(spec.run_config, "eval_spec.args.samples_jsonl"),
            "seed": get_field(spec.run_config, "seed"),
            "max_samples": get_field(spec.run_config, "max_samples"),
        }
        return LogInfo(
            run=spec.run_id,
            models={spec.model: ModelRecord(name=spec.model, kind=self.name, settings=_read_settings(spec))},
            benchmarks={spec.eval_name: {key: value for key, value in source.items() if value not in (None, "")}},
            scorers=tuple(scorers),
            created=_format_time(spec.created_at),
        )

    def read(self, path: Path, build: RowBuilder) -> Iterator[LogRow]:
        """Yield one row for each text that was scored, then those of samples that no event scored."""
        spec, scorers = _survey(path)
        scorer = build.choose_scorer(scorers) if scorers or build.options.scorer is not None else None
        events = _EventReader(spec, scorer, build)
        for event in read_json_lines(path, _Event, build.note):
            yield from events.take(event)
        yield from events.finish()


def _survey(path: Path) -> tuple[_EvalSpec, list[str]]:
    """Return the run's spec and the names of its scores, `match` first."""
    spec, first = None, _Event()
    names: dict[str, None] = {}
    for event in islice(read_json_lines(path, _Event, lambda _: None), _N_SURVEYED):
        spec = spec or event.spec
        first = first if first.sample_id is not None else event
        if event.type == "match":
            names = {"match": None} | names
        elif event.type == "metrics":
            data = _parse_data(event.data)
            names |= {key: None for key, value in data.items() if not isinstance(value, (str, list, dict))}
    if spec is None:
        benchmark = str(first.sample_id or "").rpartition(".")[0] or path.stem
        spec = _EvalSpec([], benchmark, run_id=str(first.run_id or path.stem))
    return spec, list(names)


def _read_settings(spec: _EvalSpec) -> dict[str, object]:
    """Return the decoding settings of the command line and of the eval's arguments."""
    settings: dict[str, object] = {}
    try:
        words = shlex.split(str(get_field(spec.run_config, "command") or ""))
    except ValueError:
        words = []
    for name, value in pairwise(words):
        if name == "--completion_args":
            settings |= dict(pair.split("=", 1) for pair in value.split(",") if "=" in pair)
    arguments = get_field(spec.run_config, "eval_spec.args.sample_kwargs")
    settings |= arguments if isinstance(arguments, dict) else {}
    return {key: settings[key] for key in _SETTINGS if key in settings}


def _format_time(text: object) -> str:
    """Return a time as ISO 8601, in UTC where it names no zone; empty where it is no time."""
    try:
        time = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        time = None
    if time is None:
        return ""
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).isoformat()


class _Sample:
    """The state of one sample: the samplings since its last score, and its parts."""

    __slots__ = ("error", "n_sampled", "parts", "pending")

    def __init__(self) -> None:
        self.pending: _Event | None = None  # the sampling to which the next score belongs
        self.n_sampled = 0  # samplings since the last score
        self.parts: dict[int, int] = {}  # the number of a part, by the hash of its prompt
        self.error: str | None = None


class _EventReader:
    """Turns events into rows."""

    def __init__(self, spec: _EvalSpec, scorer: str | None, build: RowBuilder) -> None:
        self._spec, self._scorer, self._build = spec, scorer, build
        self._prefix = f"{spec.base_eval}.{spec.split}." if spec.base_eval else f"{spec.eval_name}."
        self._samples: dict[str, _Sample] = {}
        self._scored_events: set[int] = set()
        self._report: Mapping[str, Any] | None = None
        self._n_specs = self._n_events = self._n_repeated = self._n_invalid = 0
        self._n_expected = 0  # by the highest id of an event
        self._scores: list[float] = []

    def take(self, event: _Event) -> Iterator[LogRow]:
        """Yield the rows that this event completes."""
        if event.spec is not None:
            self._n_specs += 1
            if self._n_specs > 1:
                remedy = "give the file of each run: a run begins with its spec"
                what = "it holds several runs, one after the other"
                raise InputError(what, where=str(self._build.path), remedy=remedy)
        elif event.final_report is not None:
            self._report = event.final_report if isinstance(event.final_report, dict) else {}
        else:
            self._n_events += 1
            if isinstance(event.event_id, int):
                self._n_expected = max(self._n_expected, event.event_id + 1)
            if event.sample_id is None:
                self._build.count("[event names|events name] no sample and [is|are] left out")
            else:
                yield from self._take_event(self._samples.setdefault(str(event.sample_id), _Sample()), event)

    def _take_event(self, sample: _Sample, event: _Event) -> Iterator[LogRow]:
        """Yield the rows that an event of a sample completes."""
        if event.type == "sampling":
            sample.n_sampled += 1
            if sample.pending is None or not self._spec.is_model_graded:
                sample.pending = event
        elif event.type == "error":
            data = _parse_data(event.data)
            sample.error = f"{data.get('type') or 'error'}: {data.get('message') or ''}"[:500]
        elif event.type == ("match" if self._scorer == "match" else "metrics"):
            data = _parse_data(event.data)
            key = "correct" if event.type == "match" else self._scorer
            if key in data and not self._is_repeated(event):
                yield from self._rows(sample, event, data, self._score(data[key], data))

    def _is_repeated(self, event: _Event) -> bool:
        """Return whether this score was read before."""
        if not isinstance(event.event_id, int):
            return False
        is_repeated = event.event_id in self._scored_events
        self._scored_events.add(event.event_id)
        self._n_repeated += is_repeated
        self._build.count("[score comes twice and is|scores come twice and are] read once", is_repeated)
        return is_repeated

    def _score(self, value: object, data: Mapping[str, Any]) -> ScoreFields:
        """Return the score of an event."""
        if data.get("choice") == _INVALID:
            self._n_invalid += 1
            self._build.count(f"[error|errors] of the grading model that the harness {COUNTED_AS_WRONG}")
            return {"status": "error", "error": "scoring: the grading model named none of the choices"}
        fields = self._build.score_fields(value)
        self._build.count(_MISSING, value is None)
        if (score := fields.get("score")) is not None:
            self._scores.append(score)
        return fields

    def _rows(self, sample: _Sample, event: _Event, data: dict[str, Any], score: ScoreFields) -> Iterator[LogRow]:
        """Yield the text that was scored, and those that were sampled with it and never scored."""
        build = self._build
        sampling = _Sampling.parse(sample.pending)
        build.count(_STEPS, max(sample.n_sampled - 1, 0))
        sample.pending, sample.n_sampled = None, 0
        # A score without a sampling of its own is another check of the text that was scored before.
        prompt = hash(bytes(sampling.prompt)) if sampling else -len(sample.parts) - 1
        part = sample.parts.setdefault(prompt, len(sample.parts) + 1)
        build.count(_PARTS, part > 1)
        name = str(event.sample_id).removeprefix(self._prefix)
        key = RowKey(self._spec.eval_name, self._spec.model, name if part == 1 else f"{name}/{part}")
        if build.options.columns:
            record = {name: getattr(event, name) for name in ("run_id", "event_id", "sample_id", "type", "created_at")}
            key = build.map_columns(key, record | {"data": data, "spec": msgspec.to_builtins(self._spec)})
        texts = _list_texts(sampling, data)
        answer = _parse_answer(data.get("picked"))
        for index, text in enumerate(texts):
            build.count("[generation was|generations were] kept and never scored", score.get("status") == UNSCORED)
            usage = _usage_fields(sampling, index, len(texts))
            usage["created"] = event.created
            yield build.row(
                key,
                completion=text,
                answer=answer,
                endpoint_model=sampling.model if sampling and isinstance(sampling.model, str) else None,
                **score,
                **(_prompt_fields(sampling, data) if build.texts else PromptFields()),
                **usage,
            )
            score, answer = {"status": UNSCORED}, None

    def finish(self) -> Iterator[LogRow]:
        """Yield the samples that no event scored, and note what is missing or differs from the final report."""
        has_scores = any(sample.parts for sample in self._samples.values())
        for name, sample in self._samples.items():
            if sample.parts:
                self._build.count(_STEPS, sample.n_sampled)
            else:
                score: ScoreFields = mark_missing("no event scored it") if has_scores else {"status": UNSCORED}
                self._build.count(_MISSING, has_scores and sample.error is None)
                if sample.error is not None:
                    score = {"status": "error", "error": sample.error}
                yield from self._rows(sample, sample.pending or _Event(sample_id=name), {}, score)
        note = self._build.note
        if not self._n_specs:
            note("no spec line: the model and the settings of the run are not known")
        if self._report is None:
            note("no final report: the run did not finish, or the rest of the file is lost")
        if (n_missing := self._n_expected - (self._n_events - self._n_repeated)) > 0:
            note(f"{n_missing} events are missing: their ids run to {self._n_expected - 1}")
        key = "accuracy" if self._scorer == "match" else str(self._scorer)
        stated = (self._report or {}).get(key)
        if isinstance(stated, (int, float)) and not self._n_invalid:
            mean = sum(self._scores) / len(self._scores) if self._scores else float("nan")
            if not abs(stated - mean) <= 1e-9:
                note(f"{key!r} is {stated:.6g} in the final report, and {mean:.6g} here: scores are lost or damaged")


def _list_texts(sampling: _Sampling | None, data: Mapping[str, Any]) -> list[str | None]:
    """Return the completions of a request, at least one; a match may hold its own."""
    sampled = sampling.sampled if sampling else None
    sampled = data.get("sampled") if sampled is None else sampled
    texts = sampled if isinstance(sampled, list) else [sampled]
    return [None if text is None else encode_text(text) for text in texts] or [None]


def _parse_answer(picked: object) -> str | None:
    """Return what was picked; of several right answers that match the text, the first, since each is that text."""
    answer = picked[0] if isinstance(picked, list) and picked else picked
    return answer if isinstance(answer, str) else None


class _EvalSpec(msgspec.Struct):
    """The spec of a run: eval, model and settings."""

    completion_fns: list[str]
    eval_name: str
    base_eval: str = ""
    split: str = ""
    run_config: Any = None
    run_id: str = ""
    created_at: Any = None

    @property
    def is_model_graded(self) -> bool:
        """Whether a model grades the answers; it is then the last of several models."""
        return "modelgraded" in str(get_field(self.run_config, "eval_spec.cls"))

    @property
    def model(self) -> str:
        """The label of the model that was evaluated."""
        names = self.completion_fns
        return ",".join(names[:-1] if len(names) > 1 and self.is_model_graded else names) or "unknown"


class _Event(msgspec.Struct):
    """A line of the log: an event, or the spec, or the final report."""

    spec: _EvalSpec | None = None
    final_report: Any = None
    run_id: Any = None
    event_id: Any = None
    sample_id: str | int | None = None
    type: str = ""
    data: msgspec.Raw = msgspec.Raw(b"null")
    created_at: Any = None

    @property
    def created(self) -> float | None:
        """The time of the event in seconds since the epoch."""
        try:
            return datetime.fromisoformat(self.created_at).timestamp()
        except (TypeError, ValueError, OverflowError):
            return None


class _Sampling(msgspec.Struct):
    """The data of a request: its prompt and what was sampled."""

    prompt: msgspec.Raw = msgspec.Raw(b"null")
    sampled: Any = None
    model: Any = None
    usage: Any = None

    @classmethod
    def parse(cls, event: _Event | None) -> _Sampling | None:
        """Return the data of a sampling event; None where there is none, or it cannot be read."""
        try:
            return msgspec.json.decode(event.data, type=cls) if event else None
        except DECODE_ERRORS:
            return None


def _parse_data(data: msgspec.Raw) -> dict[str, object]:
    """Return the data of an event; empty where they are no object."""
    value = decode_json(data)
    return value if isinstance(value, dict) else {}


def _prompt_fields(sampling: _Sampling | None, data: Mapping[str, object]) -> PromptFields:
    """Return the expected answers of an event that scored, and the messages of the request."""
    expected = data.get("expected")
    target = " | ".join(map(encode_text, expected)) if isinstance(expected, list) else expected
    prompt = decode_json(sampling.prompt) if sampling else None
    messages: tuple[dict[str, str], ...] | None = None
    if isinstance(prompt, list) and all(isinstance(turn, dict) for turn in prompt):
        messages = tuple({name: encode_text(turn.get(name, "")) for name in ("role", "content")} for turn in prompt)
    elif prompt is not None:
        messages = ({"role": "user", "content": encode_text(prompt)},)
    return {"target": None if target is None else encode_text(target), "messages": messages}


def _usage_fields(sampling: _Sampling | None, index: int, n: int) -> UsageFields:
    """Return the tokens of completion `index` of n: the first carries the prompt, and each an equal share."""
    usage = sampling.usage if sampling else None
    n_read, n_written = get_field(usage, "prompt_tokens"), get_field(usage, "completion_tokens")
    return {
        "prompt_tokens": n_read if index == 0 and isinstance(n_read, int) else None,
        "completion_tokens": n_written / n if isinstance(n_written, int) else None,
    }
