"""The events of an OpenAI evals run to rows: what was scored, with what was sampled for it.

What was scored is the last text sampled before the score; where a model grades, which samples too, it is the first.
A further score of a sample is another generation when the same prompt was sampled again; of another prompt, or of
the same text again, it is another part of the sample, and a question of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from howsure.errors import InputError
from howsure.readers.logs.base import UNSCORED, LogRow, MappedColumns, ReadOptions, get_field, parse_score
from howsure.readers.logs.copies import Copies

__all__ = ["Line", "Reading", "Spec", "decoded"]

#: What the harness writes when the grading model named none of the choices.
_INVALID = "__invalid__"
_TORN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Spec(msgspec.Struct):
    """Who and what a run is about."""

    completion_fns: list[str]
    eval_name: str
    base_eval: str = ""
    split: str = ""
    run_config: Any = None
    run_id: str = ""
    created_at: Any = None

    @property
    def is_graded(self) -> bool:
        """Whether a model grades; it is then the last of several."""
        return "modelgraded" in str(get_field(self.run_config, "eval_spec.cls"))

    @property
    def model(self) -> str:
        """The label of what was evaluated."""
        names = self.completion_fns
        return ",".join(names[:-1] if len(names) > 1 and self.is_graded else names) or "unknown"


class Line(msgspec.Struct):
    """The spec, the final report, or an event."""

    spec: Spec | None = None
    final_report: Any = None
    run_id: Any = None
    event_id: Any = None
    sample_id: str | int | None = None
    type: str = ""
    data: msgspec.Raw = msgspec.Raw(b"null")
    created_at: Any = None


class _Sampling(msgspec.Struct):
    prompt: msgspec.Raw = msgspec.Raw(b"null")
    sampled: Any = None
    model: Any = None
    usage: Any = None


class _Sample:
    """What is known of a sample until now."""

    __slots__ = ("error", "parts", "pending", "sampled")

    def __init__(self) -> None:
        self.pending: Line | None = None  # the sampling that the next score is of
        self.sampled = 0  # samplings since the last score
        self.parts: dict[int, int] = {}  # the number of a part by the hash of its prompt
        self.error: str | None = None


def decoded(data: msgspec.Raw) -> dict[str, Any]:
    """An event's data; empty where they are no object."""
    try:
        found = msgspec.json.decode(data)
    except _TORN:
        return {}
    return found if isinstance(found, dict) else {}


class Reading:
    """Events to rows, and what is to be told in the end."""

    def __init__(self, spec: Spec, scorer: str | None, asked: ReadOptions, where: str) -> None:
        self._spec, self._scorer, self._texts, self._where = spec, scorer, asked.texts, where
        self._mapped = MappedColumns(asked.columns, where=where)
        self._prefix = f"{spec.base_eval}.{spec.split}." if spec.base_eval else f"{spec.eval_name}."
        self._samples: dict[str, _Sample] = {}
        self._seen: set[int] = set()
        self._generations: Counter[tuple[str, ...]] = Counter()
        self._copies = Copies()
        self._report: dict[str, Any] | None = None
        self._count: Counter[str] = Counter()
        self._highest, self._total, self._fault = 0, 0.0, ""

    def take(self, line: Line) -> Iterator[LogRow]:
        """The rows that this event completes."""
        if line.spec is not None:
            self._count["specs"] += 1
            if self._count["specs"] > 1:
                what = "it holds several runs, one after the other"
                raise InputError(what, where=self._where, remedy="give each run's file: a run begins with its spec")
        elif line.final_report is not None:
            self._report = line.final_report if isinstance(line.final_report, dict) else {}
        else:
            self._count["events"] += 1
            if isinstance(line.event_id, int):
                self._highest = max(self._highest, line.event_id + 1)
            if line.sample_id is None:
                self._count["nameless"] += 1
            else:
                yield from self._event(self._samples.setdefault(str(line.sample_id), _Sample()), line)

    def _event(self, sample: _Sample, line: Line) -> Iterator[LogRow]:
        if line.type == "sampling":
            sample.sampled += 1
            if sample.pending is None or not self._spec.is_graded:
                sample.pending = line
        elif line.type == "error":
            data = decoded(line.data)
            sample.error = f"{data.get('type') or 'error'}: {data.get('message') or ''}"[:500]
        elif line.type == ("match" if self._scorer == "match" else "metrics"):
            data = decoded(line.data)
            key = "correct" if line.type == "match" else self._scorer
            if key in data and not self._is_again(line):
                yield from self._rows(sample, line, data, self._score(data[key], data))

    def _is_again(self, line: Line) -> bool:
        """Whether this very score was read before."""
        if not isinstance(line.event_id, int):
            return False
        known = line.event_id in self._seen
        self._seen.add(line.event_id)
        self._count["twice"] += known
        return known

    def _score(self, value: Any, data: dict[str, Any]) -> dict[str, Any]:
        if data.get("choice") == _INVALID:
            self._count["invalid"] += 1
            return {"status": "error", "error": "scoring: the grading model named none of the choices"}
        try:
            score = parse_score(value)
        except ValueError as error:
            self._count["unreadable"] += 1
            self._fault = self._fault or str(error)[:80]
            return {"status": "error", "error": f"scoring: {str(error)[:200]}"}
        if score is None:
            return {"status": UNSCORED}
        self._count["scores"] += 1
        self._total += score
        return {"score": score}

    def _rows(self, sample: _Sample, line: Line, data: dict[str, Any], made: dict[str, Any]) -> Iterator[LogRow]:
        """The text that was scored, and those that were sampled with it and never scored."""
        sampling = self._taken(sample)
        # Without a sampling of its own it is another check of what was scored before.
        prompt = hash(bytes(sampling.prompt)) if sampling else -len(sample.parts) - 1
        part = sample.parts.setdefault(prompt, len(sample.parts) + 1)
        self._count["parts"] += part > 1
        name = str(line.sample_id).removeprefix(self._prefix)
        keys: dict[str, Any] = {
            "benchmark": self._spec.eval_name,
            "model": self._spec.model,
            "question": name if part == 1 else f"{name}/{part}",
            "variant": "default",
            "cluster": None,
        }
        if self._mapped:
            record = _record(line, data, self._spec)
            keys = {key: self._mapped.of(record, key) or value for key, value in keys.items()}
        key = tuple(str(keys[name]) for name in ("benchmark", "model", "question", "variant"))
        expected = data.get("expected")
        target = _joined(expected) if self._texts and expected is not None else None
        texts = _texts(sampling, data)
        for at, text in enumerate(texts):
            self._generations[key] += 1
            self._copies.add(key, text)
            self._count["unscored"] += at > 0 or made.get("status") == UNSCORED
            yield LogRow(
                **keys,
                **(made | {"answer": _answer(data.get("picked"))} if at == 0 else {"status": UNSCORED}),
                generation=self._generations[key],
                completion=text if self._texts else None,
                target=target,
                messages=_messages(sampling) if self._texts else None,
                created=_seconds(line.created_at),
                endpoint_model=sampling.model if sampling and isinstance(sampling.model, str) else None,
                **_tokens(sampling, at, len(texts)),
            )

    def _taken(self, sample: _Sample) -> _Sampling | None:
        """What was sampled for this score; the sample waits for the next."""
        line, self._count["steps"] = sample.pending, self._count["steps"] + max(sample.sampled - 1, 0)
        sample.pending, sample.sampled = None, 0
        try:
            return msgspec.json.decode(line.data, type=_Sampling) if line else None
        except _TORN:
            return None

    def rest(self) -> Iterator[LogRow]:
        """Samples that no event scored."""
        for name, sample in self._samples.items():
            if sample.parts:
                self._count["steps"] += sample.sampled
            else:
                made = {"status": UNSCORED} if sample.error is None else {"status": "error", "error": sample.error}
                yield from self._rows(sample, sample.pending or Line(sample_id=name), {}, made)

    def told(self) -> Iterator[str]:
        """What the log cannot say, and what was left out."""
        missing = self._highest - (self._count["events"] - self._count["twice"])
        if not self._count["specs"]:
            yield "no spec line: the model and the settings of the run are not known"
        if self._report is None:
            yield "no final report: the run did not finish, or the rest of the file is lost"
        if missing > 0:
            yield f"{missing} events are missing: their ids run to {self._highest - 1}"
        for name, text in _TOLD.items():
            if self._count[name]:
                yield text.format(self._count[name], self._fault)
        yield from filter(None, (self._difference(), self._copies.told()))

    def _difference(self) -> str | None:
        """The final report's own mean against that of the scores that were read."""
        key = "accuracy" if self._scorer == "match" else str(self._scorer)
        said = (self._report or {}).get(key)
        if not isinstance(said, (int, float)) or self._count["invalid"]:
            return None
        mean = self._total / self._count["scores"] if self._count["scores"] else float("nan")
        if abs(said - mean) <= 1e-9:
            return None
        return f"{key!r} is {said:.6g} in the final report, and {mean:.6g} here: scores are lost or damaged"


#: What was counted, and how it is told; 1 is the first fault.
_TOLD = {
    "nameless": "{} events name no sample and are left out",
    "twice": "{} scores come twice and are read once",
    "parts": "{} scores are of another prompt of their sample, or of the same text again: each such part is a question "
    "of its own, ID/2 and so on; --columns cluster=sample_id keeps a sample together",
    "steps": "{} sampled texts are steps or calls of a judge, and no generations",
    "invalid": "{} errors of the grading model that the harness counted as a score are missing here; --missing as-zero "
    "counts them as 0",
    "unreadable": "{} scores are no numbers: {}",
    "unscored": "{} generations were kept and never scored",
}


def _record(line: Line, data: dict[str, Any], spec: Spec) -> dict[str, Any]:
    """The event as the user names its fields."""
    names = ("run_id", "event_id", "sample_id", "type", "created_at")
    return {name: getattr(line, name) for name in names} | {"data": data, "spec": msgspec.to_builtins(spec)}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _joined(expected: Any) -> str:
    """Several right answers as one text."""
    return " | ".join(map(_text, expected)) if isinstance(expected, list) else _text(expected)


def _answer(picked: Any) -> str | None:
    """What was picked; of several right answers that fit the text, the first: they are all that text."""
    found = picked[0] if isinstance(picked, list) and picked else picked
    return found if isinstance(found, str) else None


def _texts(sampling: _Sampling | None, data: dict[str, Any]) -> list[str | None]:
    """The completions of a request, at least one; a match may hold its own."""
    sampled = sampling.sampled if sampling else None
    sampled = data.get("sampled") if sampled is None else sampled
    found = sampled if isinstance(sampled, list) else [sampled]
    return [None if text is None else _text(text) for text in found] or [None]


def _messages(sampling: _Sampling | None) -> tuple[dict[str, str], ...] | None:
    try:
        prompt = msgspec.json.decode(sampling.prompt) if sampling else None
    except _TORN:
        return None
    if isinstance(prompt, list) and all(isinstance(turn, dict) for turn in prompt):
        return tuple({name: _text(turn.get(name, "")) for name in ("role", "content")} for turn in prompt)
    return None if prompt is None else ({"role": "user", "content": _text(prompt)},)


def _tokens(sampling: _Sampling | None, at: int, n: int) -> dict[str, Any]:
    """The prompt's go to the first of a request's n completions, theirs are shared."""
    usage = sampling.usage if sampling else None
    prompt, completion = get_field(usage, "prompt_tokens"), get_field(usage, "completion_tokens")
    return {
        "prompt_tokens": prompt if at == 0 and isinstance(prompt, int) else None,
        "completion_tokens": completion / n if isinstance(completion, int) else None,
    }


def _seconds(text: Any) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
