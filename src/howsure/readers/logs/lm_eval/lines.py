"""What a line of lm-evaluation-harness's samples holds: question, filter, completions, likelihoods, prompt.

A line is kept as undecoded JSON by key, and each part is decoded when it is wanted: most of a log is text that nobody
asked for.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from howsure.readers.logs.base import Note, parse_score
from howsure.readers.logs.file_head import open_file
from howsure.readers.logs.json_files import read_json, read_json_lines

__all__ = [
    "BYPASS",
    "KEYS",
    "Line",
    "Question",
    "Scan",
    "decoded",
    "filter_of",
    "likeliest",
    "lines",
    "prompt",
    "question",
    "repeats",
]

#: What a samples line has whatever its task.
KEYS = frozenset({"doc", "resps", "filtered_resps"})
#: The metric of runs that were only to predict.
BYPASS = "bypass"
_FIXED = KEYS | {"doc_id", "target", "arguments", "filter", "metrics", "doc_hash", "prompt_hash", "target_hash"}

Line = dict[str, msgspec.Raw]


class Question(NamedTuple):
    """A document of the task: lines of the same one under several filters agree in both, as undecoded JSON."""

    hash: bytes
    id: bytes

    def __str__(self) -> str:
        """Its hash, which does not shift with the documents that were left out; else its number."""
        hashed = decoded(self.hash)
        return hashed if isinstance(hashed, str) and hashed else bytes(self.id).decode(errors="replace").strip('"')


def lines(path: Path, tell: Note) -> Iterator[Line]:
    """Each line by key; those that are torn, or say neither filter nor question, are left out and told."""
    bad = 0
    for line in _records(path, tell):
        if question(line) is None or not filter_of(line):
            bad += 1
        else:
            yield line
    if bad:
        tell(f"{bad} lines name no question or no filter and are left out")


def _records(path: Path, tell: Note) -> Iterator[Line]:
    with open_file(path) as file:
        is_array = file.read(1) == b"["
    # Until 0.4.2 the file was one array.
    return iter(read_json(path, list[Line])) if is_array else read_json_lines(path, Line, tell)


def question(line: Line) -> Question | None:
    """Which document the line is about; None when it does not say."""
    found = Question(bytes(line.get("doc_hash", b"")), bytes(line.get("doc_id", b"")))
    return found if any(found) else None


def filter_of(line: Line) -> str:
    """The filter's name; older versions had none."""
    name = decoded(line["filter"]) if "filter" in line else "none"
    return name if isinstance(name, str) else ""


def decoded(raw: bytes | msgspec.Raw | None) -> Any:
    """The value; None where there is none, or it cannot be read."""
    try:
        return msgspec.json.decode(raw) if raw else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


class Scan:
    """A first light pass over the file, which knows of each line only its filter, question and metrics.

    Attributes
    ----------
    metrics
        (filter, metric) to the lines that have a number there.
    lines
        Of each filter the lines by question; the largest part of what is held, some 0.2 kB for a question.
    n_questions
        Questions under any filter.
    task_hash
        What the harness calls the task's hash: of the hashes of all lines.
    """

    def __init__(self, path: Path) -> None:
        self.lines: dict[str, Counter[Question]] = {}
        known: dict[Question, Question] = {}
        self.metrics: Counter[tuple[str, str]] = Counter()
        hashes = hashlib.sha256()
        for line in lines(path, lambda _: None):
            name, about = filter_of(line), question(line)
            assert about is not None
            self.lines.setdefault(name, Counter())[known.setdefault(about, about)] += 1
            for part in ("doc_hash", "prompt_hash", "target_hash"):
                hashes.update(bytes(line.get(part, b'""'))[1:-1])
            for metric in _metrics(line):
                self.metrics[name, metric] += _is_number(line.get(metric))
        self.metrics = +self.metrics  # those that are a number somewhere
        self.n_questions = len(known)
        self.task_hash = hashes.hexdigest()


def _metrics(line: Line) -> Sequence[str]:
    """Names of the line's metrics, as it tells them; in older versions every key that is nothing else."""
    told = decoded(line.get("metrics"))
    if isinstance(told, list) and all(isinstance(metric, str) for metric in told):
        return told
    return [metric for metric in line if metric not in _FIXED]


def _is_number(raw: msgspec.Raw | None) -> bool:
    try:
        return parse_score(decoded(raw)) is not None
    except (ValueError, OverflowError):
        return False


def repeats(line: Line) -> list[list[Any]]:
    """For each request of the question its K replies, texts or [log-likelihood, greedy]; empty if unreadable."""
    found = decoded(line.get("resps"))
    if isinstance(found, list) and found and all(isinstance(replies, list) and replies for replies in found):
        return found
    return []


class Prompt(NamedTuple):
    """What was asked."""

    messages: tuple[dict[str, str], ...] | None
    choices: tuple[str, ...]
    """Continuations whose likelihoods were compared; or contexts, where these differ and the continuation does not."""
    target: str | None
    """Of a question with choices the letter of the right one, where it is known which."""


def prompt(line: Line) -> Prompt:
    """The prompt, the choices and the target of a line."""
    requests = [list(part.values()) if isinstance(part, dict) else part for part in _requests(line)]
    first = requests[0][0] if requests and requests[0] else None
    choices = _choices(requests)
    target = decoded(line.get("target"))
    target = target if isinstance(target, str) or target is None else msgspec.json.encode(target).decode()
    if choices and target is not None:
        # A number is an index even where it is a choice as well: so the harness reads it.
        if target in (numbers := list(map(str, range(len(choices))))):
            target = letter(numbers.index(target))
        elif target.strip() in choices:
            target = letter(choices.index(target.strip()))
    return Prompt(_messages(first), choices, target)


def choices_of(line: Line) -> tuple[str, ...]:
    """Only the choices."""
    return _choices([list(part.values()) if isinstance(part, dict) else part for part in _requests(line)])


def _requests(line: Line) -> list[Any]:
    """Arguments of each request: `gen_args_0: {arg_0, arg_1}`, or lists in older versions."""
    found = decoded(line.get("arguments"))
    return list(found.values()) if isinstance(found, dict) else found if isinstance(found, list) else []


def _choices(requests: Sequence[Any]) -> tuple[str, ...]:
    pairs = [pair[:2] for pair in requests if isinstance(pair, list) and len(pair) > 1]
    if len(pairs) < 2 or not all(isinstance(text, str) for pair in pairs for text in pair):
        return ()
    contexts, continuations = zip(*pairs, strict=True)
    shown = contexts if len(set(continuations)) == 1 else continuations
    return tuple(text.strip() for text in shown)


def _messages(context: Any) -> tuple[dict[str, str], ...] | None:
    """Chat messages, which are logged as JSON within a list or a text; anything else is what the user said."""
    if isinstance(context, list) and len(context) == 1:
        context = context[0]
    if not isinstance(context, str):
        return None
    told = decoded(context.encode()) if context.startswith("[{") else None
    if isinstance(told, list) and all(isinstance(part, Mapping) and "content" in part for part in told):
        return tuple({"role": str(part.get("role", "user")), "content": str(part["content"])} for part in told)
    return ({"role": "user", "content": context},)


def letter(index: int) -> str:
    """A for the first choice; beyond Z its number.

    >>> letter(0), letter(3), letter(26)
    ('A', 'D', '26')
    """
    return chr(ord("A") + index) if index < 26 else str(index)


def likeliest(line: Line, requests: Sequence[Sequence[Any]], metric: str) -> str | None:
    """The letter of the choice with the largest log-likelihood; per character where the metric normalises.

    None where there is nothing to compare, or the log does not show what this metric compares.
    """
    try:
        logs = [float(replies[0][0]) for replies in requests]
    except (ValueError, TypeError, LookupError):
        return None
    if metric == "acc_norm":
        lengths = [len(text) for text in choices_of(line)]
        if len(lengths) != len(logs) or not all(lengths):
            return None
        logs = [log / length for log, length in zip(logs, lengths, strict=True)]
    elif metric not in ("acc", "exact_match", "f1", "mcc"):
        return None
    return letter(max(range(len(logs)), key=logs.__getitem__)) if len(logs) > 1 else None
