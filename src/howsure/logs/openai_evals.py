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
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from howsure.errors import InputError
from howsure.logs.base import RowBuilder, RowFields, as_mapping, encode_text, get_field, list_messages
from howsure.logs.file_formats import DECODE_ERRORS, FileHead, open_file, read_json_lines
from howsure.logs.record_reader import Record, RecordedRun, RecordReader, ReportedMean, get_text
from howsure.logs.settings import list_conditions
from howsure.logs.spec_functions import time as parse_time

_EVENT_KEYS = {"run_id", "event_id", "sample_id", "type", "data"}
#: Settings that influence the completions of a model; other settings of the command line may be secret keys.
_SETTINGS = ("temperature", "top_p", "max_tokens", "n", "seed", "stop", "presence_penalty", "frequency_penalty")
#: The value that the harness writes when the grading model named none of the choices.
_INVALID = "__invalid__"

_Event = Mapping[str, Any]


class _Spec(msgspec.Struct):
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

    @property
    def settings(self) -> dict[str, object]:
        """The decoding settings of the command line and of the eval's arguments."""
        settings: dict[str, object] = {}
        try:
            words = shlex.split(str(get_field(self.run_config, "command") or ""))
        except ValueError:
            words = []
        for name, value in pairwise(words):
            if name == "--completion_args":
                settings |= dict(pair.split("=", 1) for pair in value.split(",") if "=" in pair)
        settings |= as_mapping(get_field(self.run_config, "eval_spec.args.sample_kwargs"))
        return {key: settings[key] for key in _SETTINGS if key in settings}


class _FirstLine(msgspec.Struct):
    spec: _Spec


class _Sample:
    """The state of one sample: the samplings since its last score, and its parts."""

    def __init__(self) -> None:
        self.pending: _Event | None = None  # the sampling to which the next score belongs
        self.n_sampled = 0  # samplings since the last score
        self.parts: dict[int, int] = {}  # the number of a part, by the hash of its prompt
        self.error = ""


class OpenAIEvalsReader(RecordReader):
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

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return the texts that were scored, then those of samples that no event scored."""
        spec, report, events = _split_lines(path, build)
        names: dict[str, None] = {}
        for event in events:
            if event.get("type") == "match":
                names = {"match": None} | names
            elif event.get("type") == "metrics":
                data = as_mapping(event.get("data"))
                names |= {key: None for key, value in data.items() if not isinstance(value, (str, list, dict))}
        wanted = build.options.scorer
        scorer = wanted if wanted in names else next(iter(names), "")
        records = list(_Events(spec, scorer, build).read(events))
        run_config = spec.run_config
        source = {
            "eval": spec.base_eval,
            "split": spec.split,
            "class": get_field(run_config, "eval_spec.cls"),
            "samples": get_field(run_config, "eval_spec.args.samples_jsonl"),
            "seed": get_field(run_config, "seed"),
            "max_samples": get_field(run_config, "max_samples"),
        }
        return RecordedRun(
            benchmark=spec.eval_name,
            model=spec.model,
            records=records,
            scorers=tuple(names) or ("score",),
            has_named_score=bool(names),
            settings=spec.settings,
            conditions=list_conditions(
                get_field(run_config, "eval_spec.args"),
                without=["eval.samples_jsonl", "eval.sample_kwargs*"],
                prefix="eval.",
            ),
            source={key: value for key, value in source.items() if value not in (None, "")},
            reported=[
                ReportedMean(name=key, value=report[key], scorer=name)
                for name in names
                if (key := "accuracy" if name == "match" else name) in report
            ],
            run=spec.run_id,
            created=_format_time(spec.created_at),
        )


def _split_lines(path: Path, build: RowBuilder) -> tuple[_Spec, Mapping[str, Any], list[_Event]]:
    """Return the spec, the final report and the events of a log; what is missing of them is noted."""
    spec: _Spec | None = None
    report: Mapping[str, Any] | None = None
    events: dict[object, _Event] = {}
    last, n_again = -1, 0
    for line in read_json_lines(path, dict[str, Any], build.note):
        if "spec" in line:
            if spec is not None:
                remedy = "give the file of each run: a run begins with its spec"
                raise InputError("it holds several runs, one after the other", where=str(path), remedy=remedy)
            try:
                spec = msgspec.convert(line["spec"], _Spec)
            except msgspec.ValidationError:
                build.note("log-no-record", 1)
        elif "final_report" in line:
            report = as_mapping(line["final_report"])
        else:
            place = line.get("event_id") if isinstance(line.get("event_id"), int) else len(events) + 0.5
            n_again += place in events
            events.setdefault(place, line)
            last = max(last, place) if isinstance(place, int) else last
    if n_again:
        build.note("log-again", n_again, what="event id")
    if (n_missing := last + 1 - len(events)) > 0:
        build.note("log-events-missing", n_missing, last=last)
    if report is None:
        build.note("log-no-report")
    if spec is None:
        build.note("log-no-spec")
        first = next((event for event in events.values() if event.get("sample_id") is not None), {})
        benchmark = str(first.get("sample_id") or "").rpartition(".")[0] or path.stem
        spec = _Spec([], benchmark, run_id=str(first.get("run_id") or path.stem))
    return spec, report or {}, list(events.values())


class _Generation(NamedTuple):
    """What was scored: a sampling, and the data of the event that scored it."""

    sampling: _Event
    data: Mapping[str, Any]
    source: Mapping[str, Any]
    scores: Mapping[str, object] = {}
    failure: str = ""


class _Events:
    """Turns events into records."""

    def __init__(self, spec: _Spec, scorer: str, build: RowBuilder) -> None:
        self._spec, self._scorer, self._build = spec, scorer, build
        self._prefix = f"{spec.base_eval}.{spec.split}." if spec.base_eval else f"{spec.eval_name}."
        self._samples: dict[str, _Sample] = {}

    def read(self, events: list[_Event]) -> Iterator[Record]:
        """Yield the records of all samples."""
        kind, key = ("match", "correct") if self._scorer == "match" else ("metrics", self._scorer)
        for event in events:
            if event.get("sample_id") is None:
                self._build.note("log-left-out", 1, what="sample")
                continue
            sample = self._samples.setdefault(str(event["sample_id"]), _Sample())
            data = as_mapping(event.get("data"))
            if event.get("type") == "sampling":
                sample.n_sampled += 1
                if sample.pending is None or not self._spec.is_model_graded:
                    sample.pending = event
            elif event.get("type") == "error":
                sample.error = f"{data.get('type') or 'error'}: {data.get('message') or ''}"
            elif event.get("type") == kind and key in data:
                scores = {**data, self._scorer: data[key]}
                is_invalid = data.get("choice") == _INVALID
                failure = "scoring: the grading model named none of the choices" if is_invalid else ""
                source = {**event, "spec": msgspec.to_builtins(self._spec)}
                built = _Generation(sample.pending or {}, data, source, scores, failure)
                yield from self._make_records(str(event["sample_id"]), sample, built)
        has_scores = any(sample.parts for sample in self._samples.values())
        for name, sample in self._samples.items():
            if sample.parts:
                if sample.n_sampled:
                    self._build.note("log-steps", sample.n_sampled)
                continue
            event = sample.pending or {"sample_id": name}
            source = {**event, "spec": msgspec.to_builtins(self._spec)}
            built = _Generation(sample.pending or {}, {}, source, {}, sample.error)
            yield from self._make_records(name, sample, built, is_unscored=not has_scores and not sample.error)

    def _make_records(
        self, name: str, sample: _Sample, built: _Generation, *, is_unscored: bool = False
    ) -> Iterator[Record]:
        """Yield the text that was scored, and those that were sampled with it and never scored."""
        sampling = as_mapping(built.sampling.get("data"))
        if sample.n_sampled > 1:
            self._build.note("log-steps", sample.n_sampled - 1)
        sample.pending, sample.n_sampled = None, 0
        # A score without a sampling of its own is another check of the text that was scored before.
        prompt = hash(encode_text(sampling.get("prompt"))) if sampling else -len(sample.parts) - 1
        part = sample.parts.setdefault(prompt, len(sample.parts) + 1)
        if part > 1:
            self._build.note("log-parts", 1)
        name = name.removeprefix(self._prefix)
        sampled = sampling.get("sampled", built.data.get("sampled"))
        texts = (sampled if isinstance(sampled, list) else [sampled]) or [None]
        for place, text in enumerate(texts):
            yield Record(
                question=name if part == 1 else f"{name}/{part}",
                scores=built.scores,
                source=built.source,
                failure="" if place else built.failure,
                is_unscored=is_unscored or place > 0,
                completion=None if text is None else encode_text(text),
                fields=self._read_fields(built, sampling, place, len(texts)),
            )

    def _read_fields(self, built: _Generation, sampling: Mapping[str, Any], place: int, n: int) -> RowFields:
        """Return answer, texts and tokens of completion `place` of n: the first carries the prompt, each a share."""
        picked, expected = built.data.get("picked"), built.data.get("expected")
        answer = picked[0] if isinstance(picked, list) and picked else picked
        target = " | ".join(map(encode_text, expected)) if isinstance(expected, list) else expected
        n_read, n_written = (get_field(sampling, f"usage.{name}_tokens") for name in ("prompt", "completion"))
        prompt = sampling.get("prompt")
        model = sampling.get("model")
        return {
            "answer": answer if isinstance(answer, str) and not place else None,
            "target": None if target is None else encode_text(target),
            "messages": list_messages(
                prompt if isinstance(prompt, (str, list)) or prompt is None else encode_text(prompt)
            ),
            "endpoint_model": model if isinstance(model, str) else None,
            "prompt_tokens": n_read if place == 0 and isinstance(n_read, int) else None,
            "completion_tokens": n_written / n if isinstance(n_written, int) else None,
            "created": parse_time(built.source.get("created_at")),
        }


def _format_time(text: object) -> str:
    """Return a time as ISO 8601, in UTC where it names no zone; empty where it is no time."""
    try:
        time = datetime.fromisoformat(get_text({"time": text}, "time") or "")
    except ValueError:
        return ""
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).isoformat()
