"""Read the rows of lighteval's details in one layout, whatever the layout of the file, and parse their parts."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from howsure.errors import InputError
from howsure.readers.logs.base import Note, PromptFields, ReadOptions, as_mapping, format_choice

if TYPE_CHECKING:
    import pyarrow as pa

#: Fields that are read of each part; token ids and logits, the largest part of a file, are never read.
_LEAVES = {
    "doc": ("id", "task_name", "query", "choices", "gold_index", "num_samples"),
    "model_response": ("input", "text", "logprobs"),
}
#: Fields of these that are read only if texts are read.
_TEXTS = frozenset({"model_response.input"})
#: Number of rows that are read at once.
_BATCH = 256

Record = dict[str, Any]


def read_records(path: Path, options: ReadOptions, note: Note) -> Iterator[Record]:
    """Yield the rows by their parts; a file that breaks off is noted.

    Raises
    ------
    InputError
        When no row can be read.
    """
    import pyarrow as pa
    from pyarrow import parquet

    n_read, n_rows = 0, None
    try:
        with parquet.ParquetFile(path) as file:
            n_rows = file.metadata.num_rows
            for batch in file.iter_batches(batch_size=_BATCH, columns=_list_leaves(file.schema_arrow, options)):
                for record in batch.to_pylist():
                    n_read += 1
                    yield _convert_layout(record)
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        why = " ".join(str(error).split())[:120]
        if not n_read:
            raise InputError(f"cannot be read: {why}", where=str(path), remedy="is the file complete?") from error
        note(f"it breaks off after {n_read} of {n_rows} questions ({why}): the rest is lost")
    else:
        if n_read != n_rows:
            note(f"{n_read} questions are in it where it states {n_rows}")


def _list_leaves(schema: pa.Schema, options: ReadOptions) -> list[str]:
    """Return the leaves to read; a part that is text is read completely."""
    leaves = []
    fields = set(options.columns.values())
    for column in schema:
        name = column.name.strip("_")
        if name not in _LEAVES or not hasattr(column.type, "fields") or not column.type.num_fields:
            leaves.append(column.name)
            continue
        wanted = {f"{name}.{leaf}" for leaf in _LEAVES[name]} - (frozenset() if options.texts else _TEXTS)
        wanted |= {field for field in fields if field.startswith(f"{name}.")}
        leaves += [f"{column.name}.{field.partition('.')[2]}" for field in sorted(wanted)]
    return leaves


def _convert_layout(row: Record) -> Record:
    """Return a row in the current layout."""
    record = {name.strip("_"): _parse_literal(value) for name, value in row.items()}
    if "model_response" not in record:
        predictions = record.get("predictions")
        answers = predictions if isinstance(predictions, list) else [predictions]
        is_text = all(isinstance(text, str) or text is None for text in answers)
        record["model_response"] = {"input": record.get("full_prompt"), "text" if is_text else "logprobs": answers}
        record["doc"] = {name: record.get(name) for name in ("choices", "gold_index", "gold")}
        record["doc"] |= {"query": record.get("example") or record.get("full_prompt"), "id": record.get("sample_id")}
        record["metric"] = record.get("metrics")
    return record


def _parse_literal(value: Any) -> Any:
    """Return the value of a nested part that was written as text: JSON, or a Python literal, which is not evaluated."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    for parse in (msgspec.json.decode, ast.literal_eval):
        try:
            return parse(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return value


def list_completions(record: Record) -> list[object]:
    """Return the K texts before any post-processing; none where likelihoods were compared."""
    texts = as_mapping(record.get("model_response")).get("text")
    return texts if isinstance(texts, list) else [texts] if isinstance(texts, str) else []


def _list_gold_indices(doc: Mapping[str, object]) -> list[int]:
    """Return the indices of the right choices."""
    gold = doc.get("gold_index")
    return [index for index in (gold if isinstance(gold, list) else [gold]) if isinstance(index, int)]


def parse_prompt(record: Record) -> PromptFields:
    """Return messages, choices and target; the choices of a question with a written answer are its right answers."""
    doc = as_mapping(record.get("doc"))
    texts = doc.get("choices")
    choices = [str(text).strip() for text in texts] if isinstance(texts, list) else []
    is_choice = not list_completions(record)
    indices = [index for index in _list_gold_indices(doc) if 0 <= index < len(choices)]
    targets = [format_choice(index) if is_choice else choices[index] for index in indices]
    prompt = _parse_literal(as_mapping(record.get("model_response")).get("input") or doc.get("query"))
    messages: tuple[dict[str, str], ...] | None
    if isinstance(prompt, list) and all(isinstance(turn, Mapping) and "content" in turn for turn in prompt):
        messages = tuple({"role": str(turn.get("role", "user")), "content": str(turn["content"])} for turn in prompt)
    else:
        messages = ({"role": "user", "content": str(prompt)},) if prompt else None
    target = " | ".join(targets) or None
    return {"messages": messages, "choices": tuple(choices) if is_choice else (), "target": target}


def most_likely_choice(record: Record, score: float | None) -> str | None:
    """Return the letter of the choice with the largest log-likelihood, if the score agrees that it was the answer."""
    logs = as_mapping(record.get("model_response")).get("logprobs")
    if not isinstance(logs, list) or len(logs) < 2 or not all(isinstance(log, (int, float)) for log in logs):
        return None
    best = max(range(len(logs)), key=logs.__getitem__)
    is_right = best in _list_gold_indices(as_mapping(record.get("doc")))
    return format_choice(best) if score == float(is_right) else None
