"""Records of a log of OpenAI evals: the run's spec, its final report, and its events."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from howsure.readers.logs.base import PromptFields, UsageFields, encode_text, get_field
from howsure.readers.logs.json_files import DECODE_ERRORS, decode_json


class EvalSpec(msgspec.Struct):
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


class Event(msgspec.Struct):
    """A line of the log: an event, or the spec, or the final report."""

    spec: EvalSpec | None = None
    final_report: Any = None
    run_id: Any = None
    event_id: Any = None
    sample_id: str | int | None = None
    type: str = ""
    data: msgspec.Raw = msgspec.Raw(b"null")
    created_at: Any = None

    @property
    def created(self) -> float | None:
        """Return the time of the event in seconds since the epoch."""
        try:
            return datetime.fromisoformat(self.created_at).timestamp()
        except (TypeError, ValueError, OverflowError):
            return None


class Sampling(msgspec.Struct):
    """The data of a request: its prompt and what was sampled."""

    prompt: msgspec.Raw = msgspec.Raw(b"null")
    sampled: Any = None
    model: Any = None
    usage: Any = None

    @classmethod
    def parse(cls, event: Event | None) -> Sampling | None:
        """Return the data of a sampling event; None where there is none, or it cannot be read."""
        try:
            return msgspec.json.decode(event.data, type=cls) if event else None
        except DECODE_ERRORS:
            return None


def parse_data(data: msgspec.Raw) -> dict[str, object]:
    """Return the data of an event; empty where they are no object."""
    value = decode_json(data)
    return value if isinstance(value, dict) else {}


def prompt_fields(sampling: Sampling | None, data: Mapping[str, object]) -> PromptFields:
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


def usage_fields(sampling: Sampling | None, index: int, n: int) -> UsageFields:
    """Return the tokens of completion `index` of n: the first carries the prompt, and each an equal share."""
    usage = sampling.usage if sampling else None
    n_read, n_written = get_field(usage, "prompt_tokens"), get_field(usage, "completion_tokens")
    return {
        "prompt_tokens": n_read if index == 0 and isinstance(n_read, int) else None,
        "completion_tokens": n_written / n if isinstance(n_written, int) else None,
    }
