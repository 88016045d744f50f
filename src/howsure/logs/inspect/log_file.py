"""Open a finished or unfinished log of Inspect, in the format .eval or .json, and decode its records.

An `.eval` file is a zip. Inspect writes `_journal/start.json` and `_journal/summaries/*.json` during the run, and
`header.json` and `summaries.json` at its end; `samples/ID_epoch_N.json` hold the complete samples. A `.json` log is one
object.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Self, TypeVar

import msgspec

from howsure.errors import InputError
from howsure.logs.file_formats import FileHead, replace_nan
from howsure.logs.inspect.zip_file import ZipArchive
from howsure.rows.formats import open_unpacked

T = TypeVar("T")
#: Metrics of Inspect that are means of the scores.
_MEANS = ("accuracy", "mean")
_JOURNAL = re.compile(r"_journal/summaries/(\d+)\.json")
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
    model_usage: dict[str, Usage] | None = None
    error: Any = None
    limit: Any = None
    retries: Any = None
    error_retries: list[msgspec.Raw] | None = None
    total_time: Any = None
    completed_at: Any = None
    uuid: Any = None

    @property
    def key(self) -> SampleKey:
        """Question and epoch."""
        return str(self.id), self.epoch


class SampleTexts(msgspec.Struct):
    """The texts of a question, of which summaries keep the beginnings."""

    id: int | str
    epoch: int = 1
    input: Any = None
    target: Any = None
    choices: Any = None


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


class TaskSpec(msgspec.Struct, frozen=True):
    """The field `eval` of the header: task, data set and model."""

    task: str
    model: str
    eval_id: str = ""
    run_id: str = ""
    created: str = ""
    task_id: Any = None
    task_version: Any = None
    task_args: dict[str, Any] | None = None
    dataset: TaskDataset = TaskDataset()
    model_generate_config: dict[str, Any] | None = None
    model_base_url: str | None = None
    model_args: dict[str, Any] | None = None
    model_roles: dict[str, Any] | None = None
    solver: Any = None
    solver_args: Any = None
    scorers: Any = None
    config: dict[str, Any] = {}
    """The configuration of the run: epochs, limits, and where it ran."""

    @property
    def epochs(self) -> int:
        """The planned number of epochs."""
        epochs = self.config.get("epochs")
        return epochs if isinstance(epochs, int) and epochs > 0 else 1


class EvalPlan(msgspec.Struct, frozen=True):
    """Solvers, and the task's own decoding settings, which override those of the model."""

    config: dict[str, Any] | None = None
    steps: Any = None


class Metrics(msgspec.Struct, frozen=True):
    """One of the scores that the harness reports: a scorer, or one key of its value."""

    name: str
    scorer: str | None = None
    reducer: Any = None
    metrics: Any = None

    @property
    def mean(self) -> tuple[str, float] | None:
        """The name and the value of the metric that is the mean of the scores, if there is one."""
        for name, metric in self.metrics.items() if isinstance(self.metrics, dict) else ():
            value = metric.get("value") if isinstance(metric, dict) else None
            if name.rpartition("/")[2] in _MEANS and isinstance(value, (int, float)):
                return name, float(value)
        return None


class LogResults(msgspec.Struct, frozen=True):
    """The scores that the harness reports."""

    total_samples: int = 0
    scores: list[Metrics] = []
    headline: dict[str, Any] | None = None
    """Scorer and score that the harness reports first."""


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


class _JsonLogContent(Header):
    samples: list[msgspec.Raw] | None = None


class InspectLog:
    """An opened log, by its content: an `.eval` log, finished or not, or a `.json` log.

    Attributes
    ----------
    header
        The log without its samples.
    summaries
        `SampleSummary` of each sample, in the order in which the samples ended.
    notes
        Codes of notes on data that are damaged or lost.
    n_repeated, n_lost
        Number of samples that the log has twice, and of damaged samples that cannot be read at all.

    Raises
    ------
    InputError
        When neither its header nor the journal of its start can be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        self.header: Header
        self.summaries: dict[SampleKey, SampleSummary] = {}
        self.n_repeated = self.n_lost = 0
        #: The name of the member with a sample, or the sample itself.
        self._samples: dict[SampleKey, str | msgspec.Raw] = {}
        self._summary_names: list[str] = []
        self._closing = ExitStack()
        with ExitStack() as closing_after_errors:
            closing_after_errors.callback(self._closing.close)
            if FileHead(path).kind == "zip":
                self._zip = self._closing.enter_context(ZipArchive(path))
                self._read_zip()
            else:
                self._read_json()
            closing_after_errors.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closing.close()

    def read(self, key: SampleKey, shape: type[T]) -> T | None:
        """Return a complete sample; None where it is lost or damaged."""
        place = self._samples.get(key)
        try:
            return None if place is None else decode_record(self._read_member(place), shape)
        except (InputError, ValueError):
            return None

    def read_texts(self) -> Iterator[SampleTexts]:
        """Yield the texts of the question of each sample that has a summary."""
        for name in self._summary_names:
            yield from decode_record(self._zip.read(name), list[SampleTexts])
        for data in self._samples.values():
            if not isinstance(data, str):
                yield decode_record(data, SampleTexts)

    def read_task(self) -> dict[str, object]:
        """Return the field `eval` of the header as it was written."""
        return decode_record(decode_record(self._header_data, dict[str, msgspec.Raw])["eval"], dict[str, object])

    def _read_member(self, place: str | msgspec.Raw) -> bytes | msgspec.Raw:
        """Return the JSON at a place."""
        return self._zip.read(place) if isinstance(place, str) else place

    def _add(self, data: bytes | msgspec.Raw, place: str | msgspec.Raw) -> None:
        """Add a sample without a summary."""
        try:
            summary = decode_record(data, SampleSummary)
        except ValueError:
            self.n_lost += 1
        else:
            self._add_summary(summary)
            self._samples[summary.key] = place

    def _add_summary(self, summary: SampleSummary) -> None:
        """Add a summary; the last one of a key replaces the first in its place."""
        self.n_repeated += summary.key in self.summaries
        self.summaries[summary.key] = summary

    def _read_json(self) -> None:
        """Read a log that is one object."""
        try:
            with open_unpacked(self.path) as file:
                self._header_data = file.read()
            self.header = content = decode_record(self._header_data, _JsonLogContent)
        except (OSError, EOFError, ValueError) as error:
            raise _unreadable(self.path, error) from error
        for data in content.samples or ():
            self._add(data, data)

    def _read_zip(self) -> None:
        """Read the header or the journal of the start, the summaries at the end or in the journal, and find samples."""
        fault: Exception | None = None
        for name in ("header.json", "_journal/start.json"):
            if name in self._zip:
                try:
                    self._header_data = self._zip.read(name)
                    self.header = decode_record(self._header_data, Header)
                    break
                except (InputError, ValueError) as error:
                    fault = error
        else:
            raise _unreadable(self.path, fault or ValueError("there is no header"))
        if fault is not None:
            self.notes.append("log-header-lost")
        if not self._read_summaries("summaries.json"):
            matches = [match for match in map(_JOURNAL.fullmatch, self._zip.names) if match]
            for match in sorted(matches, key=lambda match: int(match[1])):
                self._read_summaries(match[0])
        self._find_samples()
        if self._zip.is_recovered:
            self.notes.append("log-end-lost")

    def _read_summaries(self, name: str) -> bool:
        """Add the summaries of a member; return whether it could be read."""
        try:
            summaries = decode_record(self._zip.read(name), list[SampleSummary]) if name in self._zip else None
        except (InputError, ValueError):
            return False
        if summaries is None:
            return False
        for summary in summaries:
            self._add_summary(summary)
        self._summary_names.append(name)
        return True

    def _find_samples(self) -> None:
        """Find the member of each sample, and add the samples without a summary."""
        key_of = {f"samples/{key[0]}_epoch_{key[1]}.json": key for key in self.summaries}
        for name in self._zip.names:
            if name in key_of:
                self._samples[key_of[name]] = name
            elif name.startswith("samples/") and name.endswith(".json"):
                try:
                    data = self._zip.read(name)
                except InputError:
                    self.n_lost += 1
                else:
                    self._add(data, name)
        self.n_repeated = max(self.n_repeated, sum(name.startswith("samples/") for name in self._zip.replaced))


def is_log(head: FileHead) -> bool:
    """Return whether a zip file has the header of a log, also where its table of contents is lost."""
    names = head.keys
    if not names:
        with contextlib.suppress(InputError), ZipArchive(head.path) as archive:
            names = frozenset(archive.names)
    return bool({"header.json", "_journal/start.json"} & names)


def _unreadable(path: Path, error: Exception) -> InputError:
    """Return the `InputError` for a header that cannot be read."""
    what = error.what if isinstance(error, InputError) else " ".join(str(error).split())[:120]
    return InputError(f"the header cannot be read: {what}", where=str(path), remedy="is the file complete?")
