"""Read the lines of lm-evaluation-harness's samples: question, filter, completions, likelihoods and prompt.

A line is held as undecoded JSON by key, and each part is decoded when it is needed: most of a log is text that is not
needed for the scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from howsure.logs.base import RowFields
from howsure.logs.file_formats import AddNote, decode_json, ignore_note
from howsure.logs.values import encode_text, format_choice, list_messages, parse_score

#: Keys that a samples line has for every task.
SAMPLE_KEYS = frozenset({"doc", "resps", "filtered_resps"})
#: The metric of runs that only predicted.
BYPASS = "bypass"
_FIXED_KEYS = SAMPLE_KEYS | {
    *("doc_id", "target", "arguments", "filter", "metrics", "doc_hash", "prompt_hash", "target_hash"),
}

Line = dict[str, msgspec.Raw]


class DocumentId(NamedTuple):
    """A document of the task, by undecoded JSON: lines of one document under several filters agree in both."""

    hash: bytes
    id: bytes

    def __str__(self) -> str:
        """Return the hash, which does not shift with the documents that were left out; else the number."""
        text = decode_json(self.hash)
        return text if isinstance(text, str) and text else bytes(self.id).decode(errors="replace").strip('"')


def read_lines(lines: Iterable[Line], note: AddNote) -> Iterator[tuple[DocumentId, str, Line]]:
    """Yield document, filter and keys of each line; one without question or filter is left out."""
    for line in lines:
        document, filter_name = _find_document(line), _find_filter(line)
        if document is None or not filter_name:
            note("log-left-out", 1, what="question or filter")
        else:
            yield document, filter_name, line


def _find_document(line: Line) -> DocumentId | None:
    """Return the document that a line is about; None where the line does not state it."""
    document = DocumentId(bytes(line.get("doc_hash", b"")), bytes(line.get("doc_id", b"")))
    return document if any(document) else None


def _find_filter(line: Line) -> str:
    """Return the name of the filter; older versions had none."""
    name = decode_json(line["filter"]) if "filter" in line else "none"
    return name if isinstance(name, str) else ""


class SampleSurvey:
    """The result of a first fast pass over the file, which decodes only filter, question and metrics of each line.

    Attributes
    ----------
    metrics
        Number of lines that have a number, by (filter, metric).
    lines
        For each filter the number of lines by document: the largest part in memory, some 0.2 kB for a document.
    n_questions
        Number of documents under any filter.
    is_unscored
        Whether the run only predicted.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines: dict[str, Counter[DocumentId]] = {}
        documents: dict[DocumentId, DocumentId] = {}
        self.metrics: Counter[tuple[str, str]] = Counter()
        for document, name, line in read_lines(lines, ignore_note):
            self.lines.setdefault(name, Counter())[documents.setdefault(document, document)] += 1
            for metric in _list_metrics(line):
                self.metrics[name, metric] += _is_number(line.get(metric))
        self.is_unscored = BYPASS in {metric for _, metric in self.metrics}
        self.metrics = +self.metrics  # those that are a number somewhere
        self.n_questions = len(documents)


def _list_metrics(line: Line) -> Sequence[str]:
    """Return the names of the metrics of a line; in older versions every key that is nothing else."""
    names = decode_json(line.get("metrics"))
    if isinstance(names, list) and all(isinstance(metric, str) for metric in names):
        return names
    return [metric for metric in line if metric not in _FIXED_KEYS]


def _is_number(raw: msgspec.Raw | None) -> bool:
    """Return whether the JSON is a score."""
    try:
        return parse_score(decode_json(raw)) is not None
    except ValueError:
        return False


def parse_replies(line: Line) -> list[list[object]]:
    """Return for each request of the question its K replies, texts or [log-likelihood, greedy]; empty if unreadable."""
    replies = decode_json(line.get("resps"))
    if isinstance(replies, list) and replies and all(isinstance(each, list) and each for each in replies):
        return replies
    return []


def parse_prompt(line: Line) -> RowFields:
    """Return messages, choices and target of a line; the target of a question with choices is a letter if possible.

    The choices are the continuations whose likelihoods were compared; or the contexts, where these differ and the
    continuation does not.
    """
    requests = _parse_requests(line)
    first = requests[0][0] if requests and isinstance(requests[0], list) and requests[0] else None
    choices = _parse_choices(requests)
    target = decode_json(line.get("target"))
    target = None if target is None else encode_text(target)
    if choices and target is not None:
        # A number is an index even where it is a choice as well: so the harness reads it.
        if target in (numbers := list(map(str, range(len(choices))))):
            target = format_choice(numbers.index(target))
        elif target.strip() in choices:
            target = format_choice(choices.index(target.strip()))
    return {"messages": _parse_messages(first), "choices": choices, "target": target}


def _parse_requests(line: Line) -> list[Any]:
    """Return the list of arguments of each request: `gen_args_0: {arg_0, arg_1}`, or lists in older versions."""
    arguments = decode_json(line.get("arguments"))
    requests = list(arguments.values()) if isinstance(arguments, dict) else arguments
    if not isinstance(requests, list):
        return []
    return [list(request.values()) if isinstance(request, dict) else request for request in requests]


def _parse_choices(requests: Sequence[Any]) -> tuple[str, ...]:
    """Return the choices of a question, none where a single request was made."""
    pairs = [request[:2] for request in requests if isinstance(request, list) and len(request) > 1]
    if len(pairs) < 2 or not all(isinstance(text, str) for pair in pairs for text in pair):
        return ()
    contexts, continuations = zip(*pairs, strict=True)
    choices = contexts if len(set(continuations)) == 1 else continuations
    return tuple(text.strip() for text in choices)


def _parse_messages(context: Any) -> tuple[dict[str, str], ...] | None:
    """Return chat messages, which are logged as JSON within a list or a text; another text is one user message."""
    if isinstance(context, list) and len(context) == 1:
        context = context[0]
    if not isinstance(context, str):
        return None
    chat = decode_json(context.encode()) if context.startswith("[{") else None
    is_chat = isinstance(chat, list) and all(isinstance(turn, Mapping) and "content" in turn for turn in chat)
    return list_messages(chat if is_chat else context)


def most_likely_choice(line: Line, requests: Sequence[Sequence[object]], metric: str) -> str | None:
    """Return the letter of the choice with the largest log-likelihood; per character where the metric normalises.

    None where there is nothing to compare, or the log does not contain what this metric compares.
    """
    replies_of: Sequence[Sequence[Any]] = requests
    try:
        logs = [float(replies[0][0]) for replies in replies_of]
    except (ValueError, TypeError, LookupError):
        return None
    if metric == "acc_norm":
        lengths = [len(text) for text in _parse_choices(_parse_requests(line))]
        if len(lengths) != len(logs) or not all(lengths):
            return None
        logs = [log / length for log, length in zip(logs, lengths, strict=True)]
    elif metric not in ("acc", "exact_match", "f1", "mcc"):
        return None
    return format_choice(max(range(len(logs)), key=logs.__getitem__)) if len(logs) > 1 else None
