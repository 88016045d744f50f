"""Read results of ragas, as `result.to_pandas()` writes them: a CSV file, or a JSON list of records.

Each metric is a scorer, in the order of the columns. A metric without a value is a judgment that failed or ran out of
time, which ragas leaves out of its means; it is missing here. The question is a hash of the user's input. The model is
that of a column `model`, which users add, and else the name of the file or folder. The record of `--columns` is a row,
by the names of the columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from howsure.errors import InputError
from howsure.logs.base import PromptFields, RowBuilder
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

_QUESTIONS = ("user_input", "question")
_ANSWERS = ("response", "answer")
_TARGETS = ("reference", "ground_truth", "ground_truths")
#: Columns that users add, for the model.
_MODELS = ("model", "model_name")
#: Columns that one version or another writes beside the metrics, and those that users add.
# Not formatted: one name a line would fill a page.
_NO_SCORES = {
    *("#", "index", "unnamed: 0", "id", "retrieved_contexts", "reference_contexts", "contexts"),
    "retrieved_context_ids",
    *("reference_context_ids", "multi_responses", "rubrics", "rubric", "persona_name", "query_style", "query_length"),
    *("synthesizer_name", "reference_topics", "reference_tool_calls", "episode_done", "evolution_type", "metadata"),
    *("latency", "latency_s", "time", "category", "contexts_count", "num_contexts", "tokens", "cost"),
    *_QUESTIONS, *_ANSWERS, *_TARGETS, *_MODELS,
}  # fmt: skip
#: Metrics of ragas by its names, one of which a file must have; `name(mode=f1)` is its form for a metric with a mode.
_METRICS = re.compile(
    r"(?:llm_|non_llm_|id_based_)?(?:faithfulness|answer_relevanc[ye]|response_relevancy|context_precision|context_recall"
    r"|context_utilization|context_relevanc[ye]|context_entity_recall|answer_correctness|answer_similarity"
    r"|semantic_similarity|factual_correctness|noise_sensitivity\w*|summary_score|nv_\w+|agent_goal_accuracy"
    r"|tool_call_(?:accuracy|f1)|topic_adherence|answer_accuracy|response_groundedness|harmfulness)"
    r"(?:_with_(?:out_)?\w+|_without_\w+)?(?:\(.*\))?"
)


class RagasReader(RecordReader):
    """Reads the results of ragas, one row for each sample."""

    name = "ragas"

    def recognises(self, head: FileHead) -> bool:
        """Return whether the columns are questions, answers and a metric of ragas."""
        names = set(head.keys) if head.kind == "json" else {name.strip() for name in read_csv_header(head)}
        has_texts = any(name in names for name in _QUESTIONS) and any(name in names for name in _ANSWERS)
        return has_texts and any(_METRICS.fullmatch(name) for name in names)

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return the samples."""
        if FileHead(path).kind == "json":
            rows: list[dict[str, object]] = list(read_json_array(path, dict[str, object], build.note))
        else:
            rows = read_csv(path)
        scorers = _list_metrics(rows)
        if not scorers:
            raise InputError("no metric has a number for any sample", where=str(path), remedy="is the file complete?")
        records = []
        has_models = all(get_text(row, *_MODELS) for row in rows)
        for row in rows:
            question = get_text(row, *_QUESTIONS)
            if question is None:
                build.count("[sample has|samples have] no question and [is|are] left out")
                continue
            records.append(
                Record(
                    question=hash_text(question),
                    model=(get_text(row, *_MODELS) or "") if has_models else "",
                    scores={name: row.get(name) for name in scorers},
                    source=row,
                    completion=get_text(row, *_ANSWERS),
                    prompt={"messages": list_messages(question), "target": get_text(row, *_TARGETS)}
                    if build.texts
                    else PromptFields(),
                )
            )
        return RecordedRun(
            benchmark="ragas",
            model="" if has_models else name_by_place(path, build),
            records=records,
            scorers=tuple(scorers),
        )


def _list_metrics(rows: list[dict[str, object]]) -> list[str]:
    """Return the columns that are numbers in every row that has a value, the metrics of ragas first."""
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if name.lower() not in _NO_SCORES]
    numeric = [name for name in names if _is_numeric(name, rows)]
    return sorted(numeric, key=lambda name: _METRICS.fullmatch(name) is None)


def _is_numeric(name: str, rows: list[dict[str, object]]) -> bool:
    """Return whether a column has numbers, and nothing else but gaps."""
    return any(_is_number(row, name) for row in rows) and all(
        row.get(name) is None or _is_number(row, name) for row in rows
    )


def _is_number(row: Mapping[str, object], name: str) -> bool:
    """Return whether a value is a number, also as a text; NaN is one."""
    try:
        float(str(row.get(name)))
    except ValueError:
        return False
    return True
