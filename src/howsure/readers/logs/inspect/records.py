"""What an Inspect log says, as records: the header, what each sample came to, and each sample whole."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec

from howsure.readers.logs.json_files import replace_nan

__all__ = ["Choice", "Header", "Key", "Message", "Outcome", "Sample", "Score", "Summary", "decode"]

T = TypeVar("T")
#: Id of the question, as text, and epoch from 1: what Inspect takes for one sample, the last of them where several are.
Key = tuple[str, int]


class Score(msgspec.Struct, frozen=True):
    """What one scorer said of a sample: C, I, P, N, a boolean, a number, or a dict or list of these."""

    value: Any = None
    answer: Any = None
    reason: Any = None


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one model in one sample."""

    input_tokens: Any = None
    output_tokens: Any = None


class Summary(msgspec.Struct):
    """What a sample came to; a whole sample begins with the same fields."""

    id: int | str
    epoch: Annotated[int, msgspec.Meta(ge=1, le=10**9)] = 1
    scores: dict[str, Score] | None = None
    score: Score | None = None
    """Of logs before 2024: the one score, without its scorer's name."""
    model_usage: dict[str, Usage] | None = None
    error: Any = None
    limit: Any = None
    retries: Any = None
    error_retries: list[msgspec.Raw] | None = None
    total_time: Any = None
    completed_at: Any = None

    @property
    def key(self) -> Key:
        """What it is known by."""
        return str(self.id), self.epoch


class Message(msgspec.Struct, frozen=True):
    """One message; its content is a text or a list of parts."""

    role: str = ""
    content: Any = ""
    id: Any = None
    tool_calls: Any = None


class Choice(msgspec.Struct, frozen=True):
    """One of the completions of a request."""

    message: Message = Message()
    stop_reason: str | None = None


class Output(msgspec.Struct, frozen=True):
    """What the model wrote last."""

    model: Any = None
    choices: list[Choice] = []
    completion: str | None = None


class Outcome(Summary):
    """A sample with its completions."""

    output: Output = Output()


class Sample(Outcome):
    """A sample with its texts; long ones are references into `attachments`."""

    input: str | list[Message] = ""
    choices: list[str] | None = None
    target: str | list[str] = ""
    messages: list[Message] = []
    attachments: dict[str, str] = {}


class Dataset(msgspec.Struct, frozen=True):
    """Where the questions came from."""

    name: str | None = None
    location: str | None = None
    samples: int | None = None
    sample_ids: list[Any] | None = None


class Config(msgspec.Struct, frozen=True):
    """How the task was run."""

    epochs: int | None = None
    epochs_reducer: Any = None
    log_samples: bool | None = None


class Spec(msgspec.Struct, frozen=True):
    """`eval`: what was asked of whom."""

    task: str
    model: str
    eval_id: str = ""
    run_id: str = ""
    created: str = ""
    task_version: Any = None
    task_args: dict[str, Any] | None = None
    dataset: Dataset = Dataset()
    model_generate_config: dict[str, Any] | None = None
    model_base_url: str | None = None
    config: Config = Config()


class Plan(msgspec.Struct, frozen=True):
    """Solvers, and the task's own decoding settings, which go before the model's."""

    config: dict[str, Any] | None = None
    steps: Any = None


class Metrics(msgspec.Struct, frozen=True):
    """One of the scores that the harness reports: a scorer, or one key of what it gives."""

    name: str
    scorer: str | None = None


class Headline(msgspec.Struct, frozen=True):
    """The score that the harness reports first."""

    scorer: str | None = None
    score: str | None = None


class Results(msgspec.Struct, frozen=True):
    """What the harness made of the scores."""

    total_samples: int = 0
    scores: list[Metrics] = []
    headline: Headline | None = None


class Header(msgspec.Struct):
    """Everything but the samples; what an unfinished log has of it."""

    eval: Spec
    status: str = "started"
    plan: Plan = Plan()
    results: Results | None = None
    invalidated: bool = False
    error: Any = None


def decode(data: bytes | msgspec.Raw, shape: type[T]) -> T:
    """A JSON value, in which Inspect may write NaN and Infinity as they are; ValueError when it is no such value.

    >>> decode(b'{"value": NaN, "answer": "x"}', Score)
    Score(value=None, answer='x', reason=None)
    """
    try:
        return msgspec.json.decode(data, type=shape)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        text = bytes(data)
        mended = replace_nan(text)
        if mended is text:
            raise ValueError(str(error)) from error
    try:
        return msgspec.json.decode(mended, type=shape)
    except (msgspec.MsgspecError, RecursionError, OverflowError) as error:
        raise ValueError(str(error)) from error
