"""Read MLflow's `eval_results_table.json`: a table with the scores of several metrics for each row.

Each column `METRIC/v1/score` is a scorer; metrics of the text, such as its readability, its tokens and its latency,
come last. A score that the judge could not give is missing, with the justification that MLflow wrote in its place. The
question is a hash of the input, and the file names no model. The record of `--columns` is a row, by the names of the
columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from howsure.errors import InputError
from howsure.logs.base import PromptFields, RowBuilder, encode_text
from howsure.logs.file_formats import FileHead, open_file, read_json
from howsure.logs.record_reader import (
    Record,
    RecordedRun,
    RecordReader,
    get_text,
    hash_text,
    list_messages,
    name_by_place,
)

_KEYS = {"columns", "data"}
_SCORE, _JUSTIFICATION = "/score", "/justification"
#: Metrics of the text, which say nothing about whether it is right.
_ABOUT_TEXT = re.compile(r"(?:latency|token_count|flesch_kincaid_grade_level|ari_grade_level|toxicity)(?:/.*)?")
#: Names of columns, as MLflow suggests them, the most usual first.
_INPUTS = ("inputs", "input", "request", "question", "questions", "query", "prompt")
_TARGETS = ("ground_truth", "targets", "target", "expected_response", "answer", "label")
_OUTPUTS = ("outputs", "output", "predictions", "prediction", "response", "predicted_column")
#: Number of bytes in which the names of the columns are.
_START = 1 << 16


class MlflowReader(RecordReader):
    """Reads an evaluation table of MLflow, one row for each row."""

    name = "MLflow"

    def recognises(self, head: FileHead) -> bool:
        """Return whether it has columns and data, and a column is the score of a metric."""
        if head.kind != "json" or not _KEYS <= head.keys <= _KEYS | {"index"}:
            return False
        with open_file(head.path) as file:
            names = re.search(rb'"columns"\s*:\s*\[([^\]]*)\]', file.read(_START))
        return names is not None and re.search(rb'/score"', names[1]) is not None

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return the rows of the table."""
        table = read_json(path, dict[str, object])
        columns, rows = table.get("columns"), table.get("data")
        if not isinstance(columns, list) or not isinstance(rows, list):
            raise InputError("it has no columns, or no data", where=str(path), remedy="is the file complete?")
        names = [name if isinstance(name, str) else encode_text(name) for name in columns]
        scorers = [name for name in names if name.endswith(_SCORE)]
        if not scorers:
            raise InputError("none of its columns is the score of a metric", where=str(path))
        model = name_by_place(path, build)
        records = []
        for row in rows:
            if not isinstance(row, list) or len(row) != len(names):
                build.count(f"[row has|rows have] other than {len(names)} values and [is|are] left out")
                continue
            record = dict(zip(names, row, strict=True))
            records.append(_make_record(record, scorers, build))
        return RecordedRun(
            benchmark="mlflow",
            model=model,
            records=records,
            scorers=_sort_scorers(scorers),
        )


def _sort_scorers(names: Sequence[str]) -> tuple[str, ...]:
    """Return the scorers without their ending, those about the text last."""
    short = [name.removesuffix(_SCORE) for name in names]
    return tuple(sorted(short, key=lambda name: _ABOUT_TEXT.fullmatch(name) is not None))


def _make_record(record: Mapping[str, object], scorers: Sequence[str], build: RowBuilder) -> Record:
    """Return the record of a row."""
    question = _find_text(record, _INPUTS)
    if question is None:
        build.count("[row has|rows have] no input: [its|their] question is a hash of all texts")
    judged = [name for name in _sort_scorers(scorers) if _ABOUT_TEXT.fullmatch(name) is None]
    first = judged[0] if judged else None
    unscored = first is not None and record.get(first + _SCORE) is None
    failure = get_text(record, first + _JUSTIFICATION) if unscored and first is not None else None
    wanted = build.options.scorer
    return Record(
        question=hash_text(question if question is not None else _find_text(record, _OUTPUTS) or ""),
        scores={name.removesuffix(_SCORE): record[name] for name in scorers},
        source=record,
        # The justification of another metric is no reason why the metric that is read has no score.
        failure=failure or "" if wanted is None or (first is not None and wanted in first) else "",
        is_counted=False,
        completion=_find_text(record, _OUTPUTS),
        prompt={"messages": list_messages(question), "target": _find_text(record, _TARGETS)}
        if build.texts
        else PromptFields(),
    )


def _find_text(record: Mapping[str, object], names: Sequence[str]) -> str | None:
    """Return the first of these columns that has a value."""
    value = next((record[name] for name in names if record.get(name) is not None), None)
    return None if value is None else encode_text(value)
