"""Read scores of Langfuse: a list of scores as its interface exports it, or a page of its API, `{"data", "meta"}`.

A score belongs to a trace, or to an observation in it; each name is a scorer. A score names no question and no model.
The question is the data set's item where the scores have one, and else the trace, so that only scores of the same
traces can be paired. Numeric and boolean scores are read; a category that is no word for right or wrong has no number.
The record of `--columns` is the first score of a trace: `metadata.question`, `userId`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from howsure.logs.base import PromptFields, RowBuilder, as_mapping
from howsure.logs.file_formats import FileHead, open_file, read_json, read_json_array, read_json_lines
from howsure.logs.record_reader import (
    Record,
    RecordedRun,
    RecordReader,
    get_text,
    list_messages,
    name_by_place,
    parse_records,
)

_KEYS = {"traceId", "name", "value", "dataType"}
_PAGE_KEYS = {"data", "meta"}
_START = 1 << 16
#: Fields that name the item of a data set, wherever a score or an export has one.
_ITEMS = ("datasetItemId", "metadata.datasetItemId", "metadata.dataset_item_id", "trace.metadata.dataset_item_id")
_MODELS = ("metadata.model", "model", "trace.metadata.model", "datasetRunName")


class LangfuseReader(RecordReader):
    """Reads scores of Langfuse, one row for each trace or observation."""

    name = "Langfuse"

    def recognises(self, head: FileHead) -> bool:
        """Return whether the first record is a score, or it is a page of scores."""
        if head.kind != "json":
            return False
        if head.keys == _PAGE_KEYS:
            with open_file(head.path) as file:
                start = file.read(_START)
            return re.search(rb'"traceId"\s*:', start) is not None and re.search(rb'"dataType"\s*:', start) is not None
        return head.keys >= _KEYS

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return the traces that have scores, each with all of its scores."""
        records: dict[tuple[str, str], Record] = {}
        names: dict[str, None] = {}
        n_items, place = 0, ""
        for score in _read_scores(path, build):
            trace, name = get_text(score, "traceId"), get_text(score, "name")
            if trace is None or name is None:
                build.count("[score names|scores name] no trace, or [has|have] no name, and [is|are] left out")
                continue
            names[name] = None
            key = (trace, get_text(score, "observationId") or "")
            if key in records:
                if name in records[key].scores:
                    build.count("[score comes|scores come] again for the same trace: the last one of each name is read")
                records[key].scores = {**records[key].scores, name: _get_value(score)}
                continue
            item, model = get_text(score, *_ITEMS), get_text(score, *_MODELS)
            n_items += item is not None
            if model is None:
                place = place or name_by_place(path, build)
                model = place
            records[key] = Record(
                question=item or "/".join(filter(None, key)),
                model=model,
                scores={name: _get_value(score)},
                source=score,
                prompt={"messages": list_messages(get_text(score, "trace.input", "input"))}
                if build.texts
                else PromptFields(),
                completion=get_text(score, "trace.output", "output"),
            )
        if n_items < len(records):
            build.note(
                f"{len(records) - n_items} of {len(records)} scored traces name no item of a data set: each trace is a "
                "question of its own, and models cannot be paired"
            )
        return RecordedRun(
            benchmark="langfuse",
            model=next((record.model for record in records.values()), "unknown"),
            records=list(records.values()),
            scorers=tuple(names) or ("score",),
        )


def _read_scores(path: Path, build: RowBuilder) -> Iterator[Mapping[str, object]]:
    """Yield the scores of a list, of a page of the API, or of lines."""
    with open_file(path) as file:
        is_array = file.read(1) == b"["
    if is_array:
        yield from read_json_array(path, dict[str, object], build.note)
    elif FileHead(path).keys == _PAGE_KEYS:
        page = read_json(path, dict[str, object])
        yield from parse_records(page.get("data"), build)
        n_pages = as_mapping(page.get("meta")).get("totalPages")
        if isinstance(n_pages, int) and n_pages > 1:
            build.note(f"it is one of {n_pages} pages of scores: the others are not in it")
    else:
        yield from read_json_lines(path, dict[str, object], build.note)


def _get_value(score: Mapping[str, object]) -> object:
    """Return the value of a score; the text of a category, because its number is only that of its place."""
    if score.get("dataType") == "CATEGORICAL":
        return score.get("stringValue") or score.get("value")
    return score.get("value")
