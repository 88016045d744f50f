"""Read the output items of a run in OpenAI's evals API, as `GET /v1/evals/EVAL/runs/RUN/output_items` returns them.

The file is a page of the list, an array of its items, or has an item on each line. Each grader is a scorer, which gives
a score or says that it passed. The question is the item of the data source, and the eval is the benchmark. The record
of `--columns` is an item: `datasource_item.input`, `sample.finish_reason`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from howsure.logs.base import PromptFields, RowBuilder, UsageFields, as_mapping
from howsure.logs.file_formats import FileHead, open_file, read_json, read_json_array, read_json_lines
from howsure.logs.record_reader import (
    Record,
    RecordedRun,
    RecordReader,
    find_last_reply,
    get_number,
    get_text,
    list_messages,
    name_by_place,
    parse_records,
)

_PAGE_KEYS, _ITEM_KEYS = {"object", "data"}, {"datasource_item_id", "results"}
#: What an item calls itself, and the number of bytes in which the first item of a page begins.
_ITEM, _START = b'"eval.run.output_item"', 1 << 16
_GRADER = "grader"


class OpenAIEvalsAPIReader(RecordReader):
    """Reads output items of OpenAI's evals API, one row for each item."""

    name = "OpenAI evals API"

    def recognises(self, head: FileHead) -> bool:
        """Return whether the first record is an output item, or it is a page of them."""
        if head.kind != "json":
            return False
        if head.keys >= _PAGE_KEYS:
            with open_file(head.path) as file:
                return _ITEM in file.read(_START)
        return head.keys >= _ITEM_KEYS

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return the items, each with what its graders gave."""
        records = []
        scorers: dict[str, None] = {}
        evals: dict[str, None] = {}
        runs: dict[str, None] = {}
        place = ""
        for item in _read_items(path, build):
            question = get_text(item, "datasource_item_id", "datasource_item.id")
            if question is None:
                build.count("[item names|items name] no item of the data source and [is|are] left out")
                continue
            scores = _list_scores(item, build)
            scorers |= dict.fromkeys(scores)
            model = get_text(item, "sample.model", "datasource_item.sample.model")
            place = place or ("" if model else name_by_place(path, build))
            evals |= dict.fromkeys([get_text(item, "eval_id") or "openai_evals"])
            runs |= dict.fromkeys([get_text(item, "run_id") or ""])
            records.append(
                Record(
                    question=question,
                    scores=scores,
                    source=item,
                    failure=get_text(item, "sample.error.message") or "",
                    is_counted=False,
                    benchmark=get_text(item, "eval_id") or "openai_evals",
                    model=model or place,
                    completion=_find_completion(item) if build.texts else None,
                    prompt=PromptFields(messages=list_messages(as_mapping(item.get("sample")).get("input")))
                    if build.texts
                    else PromptFields(),
                    usage=_usage_fields(item),
                )
            )
        return RecordedRun(
            benchmark=next(iter(evals), "openai_evals"),
            model=records[0].model if records else "",
            records=records,
            scorers=tuple(scorers) or (_GRADER,),
            run=next(iter(runs)) if len(runs) == 1 else "",
        )


def _read_items(path: Path, build: RowBuilder) -> Iterator[Mapping[str, object]]:
    """Yield the items of a page, of an array, or of lines."""
    with open_file(path) as file:
        is_array = file.read(1) == b"["
    if is_array:
        yield from read_json_array(path, dict[str, object], build.note)
    elif FileHead(path).keys >= _PAGE_KEYS:
        page = read_json(path, dict[str, object])
        yield from parse_records(page.get("data"), build)
        if page.get("has_more") is True:
            build.note("it is one page of several: the items of the others are not in it")
    else:
        yield from read_json_lines(path, dict[str, object], build.note)


def _list_scores(item: Mapping[str, object], build: RowBuilder) -> dict[str, object]:
    """Return the score of each grader, or whether it passed where it gives no number."""
    scores: dict[str, object] = {}
    for result in parse_records(item.get("results"), build):
        score = get_number(result, "score")
        scores[get_text(result, "name") or _GRADER] = result.get("passed") if score is None else score
    return scores


def _find_completion(item: Mapping[str, object]) -> str | None:
    """Return the last reply of the model; None where there is none."""
    sample = as_mapping(item.get("sample"))
    return find_last_reply(sample.get("output")) or get_text(item, "datasource_item.sample.output_text")


def _usage_fields(item: Mapping[str, object]) -> UsageFields:
    """Return the tokens of the prompt and the completion, and the time."""
    prompt = get_number(item, "sample.usage.prompt_tokens")
    return UsageFields(
        prompt_tokens=None if prompt is None else int(prompt),
        completion_tokens=get_number(item, "sample.usage.completion_tokens"),
        created=get_number(item, "created_at"),
    )
