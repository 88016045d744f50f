"""What was submitted to a batch API, as the run folder remembers it: `batch-TOKEN.json`, and the names of requests."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from howsure.benchmarks.question import Question
from howsure.errors import EndpointError, StoreError
from howsure.models.failures import refusal
from howsure.models.model import Reply, Request
from howsure.models.reply import reply_of
from howsure.sample.resume import Unit
from howsure.store.atomic import replace_file

__all__ = [
    "SPAN",
    "Kept",
    "Names",
    "ResultLine",
    "begun",
    "encode_request_line",
    "forget",
    "parse_line_reply",
    "parse_result_line",
    "save",
    "table",
]

VERSION = 1
#: Generations per request at most, so that which they are fits into 64 bits of its name.
SPAN = 64
CUSTOM_ID = re.compile(r"([0-9a-f]{12})-([0-9a-f]{12})-([1-9][0-9]{0,6})-([0-9a-f]{1,16})", re.ASCII)


class Kept(msgspec.Struct, kw_only=True):
    """A batch, from before it is submitted until its answers are on the disk."""

    version: int = VERSION
    benchmark: str
    model: str
    token: str = msgspec.field(default_factory=lambda: uuid.uuid4().hex)
    """Stands in the batch's metadata: by it the batch is found again when its id was not saved in time."""
    ids: list[str] = []
    """custom_id of each request."""
    batch: str | None = None
    """Its id; None until the API has said it and that was saved."""


def save(folder: Path, kept: Kept) -> None:
    """Write it durably. StoreError when the folder cannot be written."""
    with replace_file(_path(folder, kept)) as path:
        path.write_bytes(msgspec.json.encode(kept))


def forget(folder: Path, kept: Kept) -> None:
    """Its answers are on the disk, or it was never submitted."""
    _path(folder, kept).unlink(missing_ok=True)


def table(folder: Path, kept: Kept) -> Path:
    """Where its input file is written; what a killed run leaves of it is removed when the folder is next opened."""
    return folder / f".batch-{kept.token}.jsonl.new"


def begun(folder: Path, benchmark: str, model: str) -> list[Kept]:
    """The batches of one model that earlier sessions have not finished.

    Raises
    ------
    StoreError
        When a file cannot be read: without it generations could be bought twice.
    """
    found = []
    for path in sorted(folder.glob("batch-*.json")):
        try:
            kept = msgspec.json.decode(path.read_bytes(), type=Kept)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            what = "cannot be read; look for its batch in the provider's list, and remove the file if there is none"
            raise StoreError(f"{path}: {what}") from None
        if kept.version > VERSION:
            raise StoreError(f"{path}: written by a newer howsure (version {kept.version}); update howsure")
        if path != _path(folder, kept):
            raise StoreError(f"{path}: holds the batch {kept.token!r}; give the file its old name back")
        if (kept.benchmark, kept.model) == (benchmark, model):
            found.append(kept)
    return found


def _path(folder: Path, kept: Kept) -> Path:
    return folder / f"batch-{kept.token}.json"


class Names:
    """A request's custom_id: hashes of question and variant, the first generation, and which from there on.

    It says by itself what was asked, in 50 characters or less, whatever order questions have in a later session.
    """

    def __init__(self, questions: Sequence[Question], variants: Sequence[str]) -> None:
        self._questions = [hashlib.sha256(question.id.encode()).hexdigest()[:12] for question in questions]
        self._variants = [hashlib.sha256(variant.encode()).hexdigest()[:12] for variant in variants]
        self._question = {name: i for i, name in enumerate(self._questions)}
        self._variant = {name: j for j, name in enumerate(self._variants)}

    def name(self, unit: Unit) -> str:
        """The custom_id of a request for at most `SPAN` generations in a row."""
        first = unit.generations[0]
        which = sum(1 << g - first for g in unit.generations)
        return f"{self._questions[unit.question]}-{self._variants[unit.variant]}-{first}-{which:x}"

    def unit(self, name: str) -> Unit | None:
        """What a custom_id asks for, or None when this run has no such question or variant."""
        if not (found := CUSTOM_ID.fullmatch(name)):
            return None
        question, variant = self._question.get(found[1]), self._variant.get(found[2])
        if question is None or variant is None:
            return None
        first, which = int(found[3]), int(found[4], 16)
        return Unit(question, variant, tuple(first + i for i in range(SPAN) if which >> i & 1))

    def units(self, names: Sequence[str]) -> Iterator[Unit]:
        """Those that this run has."""
        return (unit for unit in map(self.unit, names) if unit is not None)


class _Answer(msgspec.Struct):
    status_code: int = 0
    body: msgspec.Raw = msgspec.Raw(b"null")


class _Trouble(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class ResultLine(msgspec.Struct):
    """A line of results."""

    custom_id: str
    response: _Answer | None = None
    error: _Trouble | None = None


_decode = msgspec.json.Decoder(ResultLine).decode


def encode_request_line(custom_id: str, model: str, request: Request) -> bytes:
    """The line that asks for `len(request.generations)` generations of a model."""
    settings = request.settings
    body: dict[str, object] = {"model": model, "messages": request.messages}
    for field in ("temperature", "top_p", "max_tokens", "stop"):
        if (value := getattr(settings, field)) is not None:
            body[field] = value
    if len(request.generations) > 1:
        body["n"] = len(request.generations)
    line = {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body | settings.extra}
    return msgspec.json.encode(line) + b"\n"


def parse_result_line(line: bytes) -> ResultLine | None:
    """A line of results, or None where it cannot be read."""
    try:
        return _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def parse_line_reply(told: ResultLine, n: int) -> Reply:
    """The reply in a line of results to a request for n generations. EndpointError when there is none."""
    if told.response is None or not told.response.status_code:
        trouble = told.error or _Trouble("empty", "neither a response nor an error")
        raise EndpointError(trouble.message or "no message", reason=trouble.code or "empty")
    body = bytes(told.response.body)
    if told.response.status_code != 200:
        raise refusal(told.response.status_code, {}, body, n=n)
    return reply_of(body, n)
