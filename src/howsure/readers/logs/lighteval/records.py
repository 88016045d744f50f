"""What a file of lighteval's details holds: its rows in one layout, whatever the layout was, and their parts."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from howsure.errors import InputError
from howsure.readers.logs.base import Note, ReadOptions

__all__ = ["Record", "completions", "likeliest", "part", "prompt", "records"]

#: What a question needs of each part; token ids and logits are most of a file and are never read.
_WANTED = {
    "doc": ("id", "task_name", "query", "choices", "gold_index", "num_samples"),
    "model_response": ("input", "text", "logprobs"),
}
_TEXTS = frozenset({"model_response.input"})
#: Rows that are held at once.
_BATCH = 256

Record = dict[str, Any]


def records(path: Path, asked: ReadOptions, tell: Note) -> Iterator[Record]:
    """Rows by their parts, whatever the layout; what breaks off is told."""
    import pyarrow as pa
    from pyarrow import parquet

    done, n = 0, None
    try:
        with parquet.ParquetFile(path) as file:
            n = file.metadata.num_rows
            for batch in file.iter_batches(batch_size=_BATCH, columns=_columns(file.schema_arrow, asked)):
                for record in batch.to_pylist():
                    done += 1
                    yield _nested(record)
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        why = " ".join(str(error).split())[:120]
        if not done:
            raise InputError(f"cannot be read: {why}", where=str(path), remedy="is the file whole?") from error
        tell(f"it breaks off after {done} of {n} questions ({why}): the rest is lost")
    else:
        if done != n:
            tell(f"{done} questions are in it where it says {n}")


def _columns(schema: Any, asked: ReadOptions) -> list[str]:
    """Leaves to read; a part that is text is read whole."""
    wanted = []
    fields = set(asked.columns.values())
    for column in schema:
        name = column.name.strip("_")
        leaves = _WANTED.get(name)
        if leaves is None or not hasattr(column.type, "fields") or not column.type.num_fields:
            wanted.append(column.name)
            continue
        named = {f"{name}.{leaf}" for leaf in leaves} - (frozenset() if asked.texts else _TEXTS)
        named |= {field for field in fields if field.startswith(f"{name}.")}
        wanted += [f"{column.name}.{field.partition('.')[2]}" for field in sorted(named)]
    return wanted


def _nested(record: Record) -> Record:
    """The row in today's layout."""
    found = {name.strip("_"): _value(value) for name, value in record.items()}
    if "model_response" not in found:
        predictions = found.get("predictions")
        answers = predictions if isinstance(predictions, list) else [predictions]
        is_text = all(isinstance(text, str) or text is None for text in answers)
        found["model_response"] = {"input": found.get("full_prompt"), "text" if is_text else "logprobs": answers}
        found["doc"] = {name: found.get(name) for name in ("choices", "gold_index", "gold")}
        found["doc"] |= {"query": found.get("example") or found.get("full_prompt"), "id": found.get("sample_id")}
        found["metric"] = found.get("metrics")
    return found


def _value(value: Any) -> Any:
    """A nested part that was written as text: JSON, or a Python literal, which is parsed and never evaluated."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    for parse in (msgspec.json.decode, ast.literal_eval):
        try:
            return parse(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return value


def part(record: Record, name: str) -> Mapping[str, Any]:
    """A part of the row, empty where it is not there."""
    value = record.get(name)
    return value if isinstance(value, Mapping) else {}


def completions(record: Record) -> list[Any]:
    """The K texts, as they were before any post-processing; empty where likelihoods were compared."""
    texts = part(record, "model_response").get("text")
    return texts if isinstance(texts, list) else [texts] if isinstance(texts, str) else []


def _golds(doc: Mapping[str, Any]) -> list[int]:
    gold = doc.get("gold_index")
    golds = gold if isinstance(gold, list) else [gold]
    return [index for index in golds if isinstance(index, int)]


def _choices(doc: Mapping[str, Any]) -> list[str]:
    choices = doc.get("choices")
    return [str(text).strip() for text in choices] if isinstance(choices, list) else []


def _letter(index: int) -> str:
    return chr(ord("A") + index) if index < 26 else str(index)


def prompt(record: Record) -> dict[str, Any]:
    """Messages, choices and target; choices of a question whose answer is written are its right answers."""
    doc = part(record, "doc")
    choices, golds = _choices(doc), _golds(doc)
    is_choice = not completions(record)
    right = [_letter(index) if is_choice else choices[index] for index in golds if 0 <= index < len(choices)]
    asked = part(record, "model_response").get("input") or doc.get("query")
    asked = _value(asked)
    messages: tuple[dict[str, str], ...] | None
    if isinstance(asked, list) and all(isinstance(part, Mapping) and "content" in part for part in asked):
        messages = tuple({"role": str(part.get("role", "user")), "content": str(part["content"])} for part in asked)
    else:
        messages = ({"role": "user", "content": str(asked)},) if asked else None
    target = " | ".join(right) or None
    return {"messages": messages, "choices": tuple(choices) if is_choice else (), "target": target}


def likeliest(record: Record, score: float | None) -> str | None:
    """The letter of the choice with the largest log-likelihood, where the score agrees that it was compared so."""
    logs = part(record, "model_response").get("logprobs")
    if not isinstance(logs, list) or len(logs) < 2 or not all(isinstance(log, (int, float)) for log in logs):
        return None
    best = max(range(len(logs)), key=logs.__getitem__)
    return _letter(best) if score == float(best in _golds(part(record, "doc"))) else None
