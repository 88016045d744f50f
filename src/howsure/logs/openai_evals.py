"""Make generations of the events of a log of OpenAI evals.

The events of a sample are `sampling` (a prompt and what was sampled), then `match` or `metrics`, which score it. With
several threads the events of samples interleave. The number in the id of a sample is its place in the data file, which
is the same in every run, and is the question here.

The text that was scored is the last one sampled before the score; where a model grades, which samples too, it is the
first. A further score of a sample is another generation when the same prompt was sampled again. When it is of another
prompt, or of the same text again, it is of another part of the sample, and a question of its own.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from howsure.errors import InputError
from howsure.logs.base import RowBuilder
from howsure.logs.record_functions import Records, Shared
from howsure.logs.settings import list_decoding
from howsure.logs.values import Record, as_mapping, encode_text, get_field, get_number, get_text, is_list

#: The value that the harness writes when the grading model named none of the choices.
_INVALID = "__invalid__"


class _Sample:
    """The state of one sample: the samplings since its last score, and its parts."""

    def __init__(self) -> None:
        self.pending: Record = {}  # the sampling to which the next score belongs
        self.n_sampled = 0  # samplings since the last score
        self.parts: dict[int, int] = {}  # the number of a part, by the hash of its prompt
        self.error = ""

    def add(self, event: Record, *, is_first_scored: bool) -> None:
        """Add a sampling or an error; of several samplings the first or the last one is scored."""
        if event["type"] == "error":
            data = as_mapping(event.get("data"))
            self.error = f"{data.get('type') or 'error'}: {data.get('message') or ''}"
            return
        self.n_sampled += 1
        self.pending = self.pending if self.pending and is_first_scored else event


def list_generations(records: Records, shared: Shared, path: Path, build: RowBuilder) -> Iterator[Record]:
    """Yield the texts that were scored, then those of samples that no event scored."""
    spec, report, events = _split_lines(records, path, build)
    names = _list_scorers(events)
    scorer = build.options.scorer if build.options.scorer in names else next(iter(names), "")
    fns = [str(name) for name in spec["completion_fns"]] if is_list(spec["completion_fns"]) else []
    # The grading model is the last of several.
    is_model_graded = "modelgraded" in str(get_field(spec, "run_config.eval_spec.cls"))
    shared |= {
        "spec": spec,
        "$model": ",".join(fns[:-1] if len(fns) > 1 and is_model_graded else fns),
        "$created": _format_time(spec.get("created_at")),
        "$settings": _read_settings(spec),
        "$means": {name: report.get("accuracy" if name == "match" else name) for name in names},
    }
    samples: dict[str, _Sample] = {}
    kind, key = ("match", "correct") if scorer == "match" else ("metrics", scorer)
    for event in events:
        if event.get("sample_id") is None:
            build.note("log-left-out", 1, what="sample")
            continue
        sample = samples.setdefault(str(event["sample_id"]), _Sample())
        data = as_mapping(event.get("data"))
        if event.get("type") in ("sampling", "error"):
            sample.add(event, is_first_scored=is_model_graded)
        elif event.get("type") == kind and key in data:
            is_invalid = data.get("choice") == _INVALID
            failure = "scoring: the grading model named none of the choices" if is_invalid else ""
            scores = {**{name: data.get(name) for name in names}, scorer: data[key]}
            yield from _make_records(spec, sample, {**event, "$failure": failure, "$scores": scores}, build)
    yield from _list_unscored(spec, samples, build)


def _list_unscored(spec: Mapping[str, Any], samples: Mapping[str, _Sample], build: RowBuilder) -> Iterator[Record]:
    """Yield the texts of samples that no event scored; they are missing where others have a score."""
    has_scores = any(sample.parts for sample in samples.values())
    for name, sample in samples.items():
        if sample.parts:
            if sample.n_sampled:
                build.note("log-steps", sample.n_sampled)
            continue
        event = {**(sample.pending or {"sample_id": name}), "$failure": sample.error, "data": {}}
        yield from _make_records(spec, sample, event, build, is_unscored=not has_scores and not sample.error)


def _list_scorers(events: Records) -> dict[str, None]:
    """Return the names of the scores that events gave, the verdict of a match first."""
    names: dict[str, None] = {}
    for event in events:
        if event.get("type") == "match":
            names = {"match": None} | names
        elif event.get("type") == "metrics":
            data = as_mapping(event.get("data"))
            names |= {key: None for key, value in data.items() if not isinstance(value, (str, list, dict))}
    return names


def _split_lines(
    records: Records, path: Path, build: RowBuilder
) -> tuple[dict[str, Any], Mapping[str, Any], list[Record]]:
    """Return the spec, the final report and the events of a log; what is missing of them is noted."""
    spec: dict[str, Any] | None = None
    report: Mapping[str, Any] | None = None
    events: dict[object, Record] = {}
    last, n_again = -1, 0
    for line in records:
        if "spec" in line:
            if spec is not None:
                remedy = "give the file of each run: a run begins with its spec"
                raise InputError("it holds several runs, one after the other", where=str(path), remedy=remedy)
            spec = {"completion_fns": None, **as_mapping(line["spec"])}
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
    if spec is None or not get_text(spec, "eval_name"):
        build.note("log-no-spec")
        first = next((event for event in events.values() if event.get("sample_id") is not None), {})
        benchmark = str(first.get("sample_id") or "").rpartition(".")[0] or path.stem
        spec = {"completion_fns": None, "eval_name": benchmark, "run_id": str(first.get("run_id") or path.stem)}
    return spec, report or {}, list(events.values())


def _make_records(
    spec: Mapping[str, Any], sample: _Sample, event: Record, build: RowBuilder, *, is_unscored: bool = False
) -> Iterator[Record]:
    """Yield the text that was scored, and those that were sampled with it and never scored.

    The first of them carries the tokens of the prompt, each a share of those of the completions.
    """
    sampling, data = as_mapping(sample.pending.get("data")), as_mapping(event.get("data"))
    if sample.n_sampled > 1:
        build.note("log-steps", sample.n_sampled - 1)
    sample.pending, sample.n_sampled = {}, 0
    # A score without a sampling of its own is another check of the text that was scored before.
    prompt = hash(encode_text(sampling.get("prompt"))) if sampling else -len(sample.parts) - 1
    part = sample.parts.setdefault(prompt, len(sample.parts) + 1)
    if part > 1:
        build.note("log-parts", 1)
    base, name = get_text(spec, "base_eval"), str(event["sample_id"])
    name = name.removeprefix(f"{base}.{get_text(spec, 'split') or ''}." if base else f"{spec['eval_name']}.")
    sampled = sampling.get("sampled", data.get("sampled"))
    texts = (sampled if isinstance(sampled, list) else [sampled]) or [None]
    picked, expected = data.get("picked"), data.get("expected")
    answer = picked[0] if isinstance(picked, list) and picked else picked
    n_written = get_number(sampling, "usage.completion_tokens")
    wanted = sampling.get("prompt")
    for place, text in enumerate(texts):
        yield {
            **event,
            "$question": name if part == 1 else f"{name}/{part}",
            "$failure": None if place else event["$failure"],
            "$unscored": is_unscored or place > 0,
            "$completion": None if text is None else encode_text(text),
            "$answer": answer if isinstance(answer, str) and not place else None,
            "$target": " | ".join(map(encode_text, expected)) if isinstance(expected, list) else expected,
            "$messages": wanted,
            "$endpoint_model": sampling["model"] if isinstance(sampling.get("model"), str) else None,
            "$prompt_tokens": None if place else get_field(sampling, "usage.prompt_tokens"),
            "$completion_tokens": None if n_written is None else n_written / len(texts),
        }


def _read_settings(spec: Mapping[str, Any]) -> dict[str, object]:
    """Return the decoding settings of the command line and of the eval's arguments."""
    settings: dict[str, object] = {}
    try:
        words = shlex.split(str(get_field(spec, "run_config.command") or ""))
    except ValueError:
        words = []
    for name, value in pairwise(words):
        if name == "--completion_args":
            settings |= dict(pair.split("=", 1) for pair in value.split(",") if "=" in pair)
    settings |= as_mapping(get_field(spec, "run_config.eval_spec.args.sample_kwargs"))
    return list_decoding(settings)


def _format_time(text: object) -> str:
    """Return a time as ISO 8601, in UTC where it names no zone; empty where it is no time."""
    try:
        time = datetime.fromisoformat(get_text({"time": text}, "time") or "")
    except ValueError:
        return ""
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).isoformat()
