"""Records of an Inspect log: the header, the summary of each sample, and each complete sample."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec

from howsure.readers.logs.json_files import replace_nan

T = TypeVar("T")
#: Id of the question as text, and epoch from 1. Both identify a sample; Inspect uses the last of several.
SampleKey = tuple[str, int]


class SampleScore(msgspec.Struct, frozen=True):
    """The result of one scorer: C, I, P, N, a boolean, a number, or a dict or list of these."""

    value: Any = None
    answer: Any = None
    reason: Any = None


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one model in one sample."""

    input_tokens: Any = None
    output_tokens: Any = None


class SampleSummary(msgspec.Struct):
    """Score, error and usage of a sample; a complete sample begins with the same fields."""

    id: int | str
    epoch: Annotated[int, msgspec.Meta(ge=1, le=10**9)] = 1
    scores: dict[str, SampleScore] | None = None
    score: SampleScore | None = None
    """The only score in logs before 2024; it has no name of a scorer."""
    model_usage: dict[str, Usage] | None = None
    error: Any = None
    limit: Any = None
    retries: Any = None
    error_retries: list[msgspec.Raw] | None = None
    total_time: Any = None
    completed_at: Any = None

    @property
    def key(self) -> SampleKey:
        """Return question and epoch."""
        return str(self.id), self.epoch


class Message(msgspec.Struct, frozen=True):
    """One message; its content is a text or a list of parts."""

    role: str = ""
    content: Any = ""
    id: Any = None
    tool_calls: Any = None


class OutputChoice(msgspec.Struct, frozen=True):
    """One of the completions of a request."""

    message: Message = Message()
    stop_reason: str | None = None


class Output(msgspec.Struct, frozen=True):
    """The last reply of the model."""

    model: Any = None
    choices: list[OutputChoice] = []
    completion: str | None = None


class SampleOutput(SampleSummary):
    """A sample with its completions."""

    output: Output = Output()


class Sample(SampleOutput):
    """A sample with its texts; long ones are references into `attachments`."""

    input: str | list[Message] = ""
    choices: list[str] | None = None
    target: str | list[str] = ""
    messages: list[Message] = []
    attachments: dict[str, str] = {}


class TaskDataset(msgspec.Struct, frozen=True):
    """The source of the questions."""

    name: str | None = None
    location: str | None = None
    samples: int | None = None
    sample_ids: list[Any] | None = None


class EvalConfig(msgspec.Struct, frozen=True):
    """The configuration of the run of a task."""

    epochs: int | None = None
    epochs_reducer: Any = None
    log_samples: bool | None = None


class TaskSpec(msgspec.Struct, frozen=True):
    """The field `eval` of the header: task, data set and model."""

    task: str
    model: str
    eval_id: str = ""
    run_id: str = ""
    created: str = ""
    task_version: Any = None
    task_args: dict[str, Any] | None = None
    dataset: TaskDataset = TaskDataset()
    model_generate_config: dict[str, Any] | None = None
    model_base_url: str | None = None
    config: EvalConfig = EvalConfig()


class EvalPlan(msgspec.Struct, frozen=True):
    """Solvers, and the task's own decoding settings, which override those of the model."""

    config: dict[str, Any] | None = None
    steps: Any = None


class Metrics(msgspec.Struct, frozen=True):
    """One of the scores that the harness reports: a scorer, or one key of its value."""

    name: str
    scorer: str | None = None


class Headline(msgspec.Struct, frozen=True):
    """The score that the harness reports first."""

    scorer: str | None = None
    score: str | None = None


class LogResults(msgspec.Struct, frozen=True):
    """The scores that the harness reports."""

    total_samples: int = 0
    scores: list[Metrics] = []
    headline: Headline | None = None


class Header(msgspec.Struct):
    """Everything except the samples; an unfinished log has a part of it."""

    eval: TaskSpec
    status: str = "started"
    plan: EvalPlan = EvalPlan()
    results: LogResults | None = None
    invalidated: bool = False
    error: Any = None


def decode_record(data: bytes | msgspec.Raw, shape: type[T]) -> T:
    """Return a JSON value, in which Inspect may write NaN and Infinity; raise ValueError where it has another shape.

    >>> decode_record(b'{"value": NaN, "answer": "x"}', SampleScore)
    SampleScore(value=None, answer='x', reason=None)
    """
    try:
        return msgspec.json.decode(data, type=shape)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        text = bytes(data)
        repaired = replace_nan(text)
        if repaired is text:
            raise ValueError(str(error)) from error
    try:
        return msgspec.json.decode(repaired, type=shape)
    except (msgspec.MsgspecError, RecursionError, OverflowError) as error:
        raise ValueError(str(error)) from error
