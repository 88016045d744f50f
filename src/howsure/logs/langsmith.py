"""Read results of a LangSmith experiment, as `results.to_pandas()` writes them: a CSV file, or a JSON list of records.

Each column `feedback.NAME` is a scorer; columns `inputs.*`, `outputs.*` and `reference.*` have the texts. The question
is `example_id`, so that experiments on one data set are paired. A run with an error is missing with it, unless it has a
score. The file names no model. The record of `--columns` is a row; a name of a column with a dot in it needs
none of its own: `inputs.question`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from howsure.logs.base import PromptFields, RowBuilder, UsageFields, encode_text
from howsure.logs.file_formats import FileHead, read_json_array
from howsure.logs.record_reader import (
    Record,
    RecordedRun,
    RecordReader,
    get_text,
    hash_text,
    list_messages,
    name_by_place,
    read_csv,
    read_csv_header,
)

_FEEDBACK = "feedback."


class LangsmithReader(RecordReader):
    """Reads the rows of a LangSmith experiment, one row for each run."""

    name = "LangSmith"

    def recognises(self, head: FileHead) -> bool:
        """Return whether there is feedback on the runs of examples."""
        names = head.keys if head.kind == "json" else frozenset(read_csv_header(head))
        return "example_id" in names and any(name.startswith(_FEEDBACK) for name in names)

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return the runs of the experiment."""
        if FileHead(path).kind == "json":
            rows: list[dict[str, object]] = list(read_json_array(path, dict[str, object], build.note))
        else:
            rows = read_csv(path)
        names = list(dict.fromkeys(name for row in rows for name in row))
        scorers = [name.removeprefix(_FEEDBACK) for name in names if name.startswith(_FEEDBACK)]
        records = []
        for row in rows:
            inputs = _join_texts(row, names, "inputs.")
            question = get_text(row, "example_id") or (None if inputs is None else hash_text(inputs))
            if question is None:
                build.count("[row names|rows name] no example and [is|are] left out")
                continue
            scores = {name: row.get(_FEEDBACK + name) for name in scorers}
            error = get_text(row, "error") if all(score is None for score in scores.values()) else None
            records.append(
                Record(
                    question=question,
                    scores=scores,
                    source=_nest(row),
                    failure=error or "",
                    is_counted=False,
                    completion=_join_texts(row, names, "outputs."),
                    prompt={"messages": list_messages(inputs), "target": _join_texts(row, names, "reference.")}
                    if build.texts
                    else PromptFields(),
                    usage=_usage_fields(row),
                )
            )
        return RecordedRun(
            benchmark="langsmith",
            model=name_by_place(path, build),
            records=records,
            scorers=tuple(scorers),
        )


def _join_texts(row: Mapping[str, object], names: Sequence[str], prefix: str) -> str | None:
    """Return the value of the only column with a prefix, or of several with their names; None where there is none."""
    values = {
        name.removeprefix(prefix): row[name] for name in names if name.startswith(prefix) and row.get(name) is not None
    }
    if len(values) == 1:
        return encode_text(next(iter(values.values())))
    return encode_text(values) if values else None


def _nest(row: Mapping[str, object]) -> dict[str, object]:
    """Return a row with `a.b` inside `a`, where `--columns` looks it up."""
    nested: dict[str, object] = {}
    for name, value in row.items():
        first, dot, rest = name.partition(".")
        inner = nested.setdefault(first, {}) if dot else None
        if isinstance(inner, dict):
            inner[rest] = value
        else:
            nested[name] = value
    return nested


def _usage_fields(row: Mapping[str, object]) -> UsageFields:
    """Return the time of a run."""
    try:
        return {"seconds": float(str(row.get("execution_time")))}
    except ValueError:
        return {}
