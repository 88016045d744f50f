"""Read and write the files of a batch: its record in the run folder, the lines of requests and those of results."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from howsure.benchmarks.question import Question
from howsure.errors import EndpointError, StoreError
from howsure.models.client import build_chat_body
from howsure.models.failures import build_http_error
from howsure.models.model import Reply, Request
from howsure.models.reply import parse_reply
from howsure.sample.resume import PromptTask
from howsure.store.atomic import replace_file

VERSION = 1
#: The largest number of generations per request: the request's id stores them as a mask of 64 bits.
GENERATION_SPAN = 64
CUSTOM_ID = re.compile(r"([0-9a-f]{12})-([0-9a-f]{12})-([1-9][0-9]{0,6})-([0-9a-f]{1,16})", re.ASCII)


class BatchRecord(msgspec.Struct, kw_only=True):
    """Record of one batch (`batch-TOKEN.json` in the run folder), which exists until the results are stored."""

    version: int = VERSION
    benchmark: str
    model: str
    token: str = msgspec.field(default_factory=lambda: uuid.uuid4().hex)
    """The token is sent as metadata of the batch, so that the batch is found again if its id was not saved."""
    ids: list[str] = []
    """The custom_id of each request."""
    batch: str | None = None
    """The id of the batch; None until the API has returned it and it was saved."""


def save_record(folder: Path, record: BatchRecord) -> None:
    """Write a record and flush it to disk; raise StoreError if the folder cannot be written."""
    with replace_file(_record_path(folder, record)) as path:
        path.write_bytes(msgspec.json.encode(record))


def delete_record(folder: Path, record: BatchRecord) -> None:
    """Delete the record of a batch whose results are stored, or that was never submitted."""
    _record_path(folder, record).unlink(missing_ok=True)


def input_path(folder: Path, record: BatchRecord) -> Path:
    """Return the path of the input file; if a killed run leaves one, the store deletes it when it opens the folder."""
    return folder / f".batch-{record.token}.jsonl.new"


def load_records(folder: Path, benchmark: str, model: str) -> list[BatchRecord]:
    """Return the batches of one model that earlier sessions have not finished.

    Raises
    ------
    StoreError
        When a record cannot be read. The run cannot continue without it, because it could pay twice for generations.
    """
    records = []
    for path in sorted(folder.glob("batch-*.json")):
        try:
            record = msgspec.json.decode(path.read_bytes(), type=BatchRecord)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            what = "cannot be read; search the provider's list for its batch, and remove the file if there is none"
            raise StoreError(f"{path}: {what}") from None
        if record.version > VERSION:
            raise StoreError(f"{path}: written by a newer howsure (version {record.version}); update howsure")
        if path != _record_path(folder, record):
            raise StoreError(f"{path}: contains the batch {record.token!r}; give the file its old name again")
        if (record.benchmark, record.model) == (benchmark, model):
            records.append(record)
    return records


def _record_path(folder: Path, record: BatchRecord) -> Path:
    return folder / f"batch-{record.token}.json"


class RequestIds:
    """Convert between tasks and custom_ids: hashes of question and variant, the first generation, and a bit mask.

    An id of at most 50 characters states completely what was requested, so a later session can decode it even if its
    questions have another order.

    Examples
    --------
    >>> ids = RequestIds([Question("q1", "1 + 1?", target="2")], ["default"])
    >>> ids.decode(ids.encode(PromptTask(0, 0, (2, 4))))
    PromptTask(question=0, variant=0, generations=(2, 4))
    """

    def __init__(self, questions: Sequence[Question], variants: Sequence[str]) -> None:
        self._question_hashes = [hashlib.sha256(question.id.encode()).hexdigest()[:12] for question in questions]
        self._variant_hashes = [hashlib.sha256(variant.encode()).hexdigest()[:12] for variant in variants]
        self._question_index = {name: i for i, name in enumerate(self._question_hashes)}
        self._variant_index = {name: j for j, name in enumerate(self._variant_hashes)}

    def encode(self, task: PromptTask) -> str:
        """Return the custom_id of a request for at most `GENERATION_SPAN` consecutive generations."""
        first = task.generations[0]
        mask = sum(1 << g - first for g in task.generations)
        return f"{self._question_hashes[task.question]}-{self._variant_hashes[task.variant]}-{first}-{mask:x}"

    def decode(self, request_id: str) -> PromptTask | None:
        """Return the task of a custom_id, or None if this run has no such question or variant."""
        if not (match := CUSTOM_ID.fullmatch(request_id)):
            return None
        question, variant = self._question_index.get(match[1]), self._variant_index.get(match[2])
        if question is None or variant is None:
            return None
        first, mask = int(match[3]), int(match[4], 16)
        return PromptTask(question, variant, tuple(first + i for i in range(GENERATION_SPAN) if mask >> i & 1))

    def decode_all(self, request_ids: Sequence[str]) -> Iterator[PromptTask]:
        """Yield the tasks of the custom_ids that belong to this run."""
        return (task for task in map(self.decode, request_ids) if task is not None)


class _ResultBody(msgspec.Struct):
    status_code: int = 0
    body: msgspec.Raw = msgspec.Raw(b"null")


class _ResultError(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class ResultLine(msgspec.Struct):
    """One line of a result file."""

    custom_id: str
    response: _ResultBody | None = None
    error: _ResultError | None = None


_decode_line = msgspec.json.Decoder(ResultLine).decode


def encode_request_line(custom_id: str, model: str, request: Request) -> bytes:
    """Return the line of an input file that requests `len(request.generations)` generations of a model."""
    body = build_chat_body(model, request)
    line = {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body}
    return msgspec.json.encode(line) + b"\n"


def parse_result_line(line: bytes) -> ResultLine | None:
    """Return a line of results, or None if it cannot be read."""
    try:
        return _decode_line(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def parse_line_reply(line: ResultLine, n: int) -> Reply:
    """Return the reply in a line of results to a request for n generations; raise EndpointError if there is none."""
    if line.response is None or not line.response.status_code:
        error = line.error or _ResultError("empty", "neither a response nor an error")
        raise EndpointError(error.message or "no message", reason=error.code or "empty")
    body = bytes(line.response.body)
    if line.response.status_code != 200:
        raise build_http_error(line.response.status_code, {}, body, n=n)
    return parse_reply(body, n)
