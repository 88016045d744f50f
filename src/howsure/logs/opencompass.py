"""Read OpenCompass: `results/MODEL/DATASET.json` with details, or `predictions/MODEL/DATASET.json`.

Details say for each question what was predicted, the reference, and whether it is right; OpenCompass writes them where
its task has `dump_details`. Its accuracy is in percent, and is compared. Predictions have no score: `howsure rescore`
scores them. Results without details are refused, because they are totals. Model and data set are the names of the
folder and of the file. The record of `--columns` is the detail of a question, with its number: `index`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from howsure.errors import InputError
from howsure.logs.base import PromptFields, RowBuilder, encode_text
from howsure.logs.file_formats import FileHead, open_file, read_json
from howsure.logs.record_reader import (
    Record,
    RecordedRun,
    RecordReader,
    ReportedMean,
    get_number,
    get_text,
    list_messages,
    parse_records,
)

#: Keys of the totals begin with one of these: "accuracy (4 runs average)".
_METRICS = ("accuracy", "score", "exact_match", "pass@")
#: Names under which evaluators say whether a prediction is right, the usual one first.
_VERDICTS = ("correct", "is_correct", "cascade_correct", "exact_match", "score")
_SCORER = "accuracy"
_FOLDERS = ("results", "predictions")
_START = 1 << 16


class OpenCompassReader(RecordReader):
    """Reads results or predictions of OpenCompass, one row for each question and repeat."""

    name = "OpenCompass"

    def recognises(self, head: FileHead) -> bool:
        """Return whether it has details or predictions, or the totals of a model in a folder of results."""
        if head.kind != "json":
            return False
        if any(name.startswith(_METRICS) for name in head.keys):
            return "details" in head.keys or head.path.resolve().parent.parent.name == "results"
        return _is_numbered(head)

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return the questions of a data set."""
        content = read_json(path, dict[str, object])
        is_predictions = not any(name.startswith(_METRICS) for name in content)
        details = content if is_predictions else content.get("details")
        if details is None:
            raise InputError(
                "these are totals without details",
                where=str(path),
                remedy="run OpenCompass with --dump-eval-details, or rescore the file in predictions/",
            )
        records = [
            record for index, detail in _list_details(details, build) for record in _make_records(index, detail, build)
        ]
        folder = path.resolve().parent
        is_placed = folder.parent.name in _FOLDERS
        if not is_placed:
            build.note(f"it is in no folder of results or predictions: its folder {folder.name!r} names the model")
        benchmark, part = _name_dataset(path)
        if not any(record.scores[_SCORER] is not None for record in records):
            for record in records:
                record.is_unscored = True
            build.note("it has predictions and no scores: howsure rescore scores them")
        for record in records if part else []:
            # Each part numbers its questions from 0.
            record.question = f"{part}/{record.question}"
        return RecordedRun(
            benchmark=benchmark,
            model=folder.name,
            records=records,
            scorers=(_SCORER,),
            reported=[
                ReportedMean(name=name, value=value, scorer=_SCORER)
                for name in sorted(content)
                if name.startswith(_SCORER) and (value := get_number({"x": content[name]}, "x")) is not None
            ][:1],
        )


def _name_dataset(path: Path) -> tuple[str, str]:
    """Return the data set, and the number of the part where its predictions are in several files."""
    name = path.name.removesuffix(".gz").removesuffix(".json")
    stem, _, part = name.rpartition("_")
    if part.isdecimal() and path.with_name(f"{stem}_0.json").is_file() and path.with_name(f"{stem}_1.json").is_file():
        return stem, part
    return name, ""


def _is_numbered(head: FileHead) -> bool:
    """Return whether the keys are numbers of questions, and the first of them is a prediction."""
    if not head.keys or not all(name.isdecimal() for name in head.keys):
        return False
    with open_file(head.path) as file:
        start = file.read(_START)
    return re.match(rb'(?:\xef\xbb\xbf)?\s*\{\s*"\d+"\s*:\s*\{', start) is not None and b'"prediction"' in start


def _list_details(details: object, build: RowBuilder) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield number and detail of each question, of a mapping or of a list."""
    if isinstance(details, Mapping):
        for index, detail in details.items():
            if isinstance(detail, Mapping):
                yield str(index), detail
            elif index != "type":
                build.count("[detail is no record|details are no records] and [is|are] left out")
    else:
        for place, detail in enumerate(parse_records(details, build)):
            yield str(place), detail


def _make_records(index: str, detail: Mapping[str, object], build: RowBuilder) -> Iterator[Record]:
    """Yield the record of each repeat of a question; a repeat is an element of the lists of its detail."""
    name = next((name for name in _VERDICTS if name in detail), None)
    verdicts = detail[name] if name is not None else None
    # Of repeats, each field is a list; an answer may be a list for one repeat too.
    is_repeated = isinstance(verdicts, list)
    target = _pick(detail, ("references", "answer", "gold", "reference"), 0 if is_repeated else None)
    for place, verdict in enumerate(verdicts if isinstance(verdicts, list) else [verdicts]):
        at = place if is_repeated else None
        prompt = detail.get("prompt", detail.get("origin_prompt"))
        yield Record(
            question=get_text(detail, "example_abbr") or index,
            scores={_SCORER: verdict},
            source={"index": index, **detail},
            answer=_pick(detail, ("predictions", "pred"), at),
            completion=_pick(detail, ("origin_prediction", "prediction"), at) if build.texts else None,
            prompt={"messages": _parse_prompt(prompt), "target": target} if build.texts else PromptFields(),
        )


def _pick(detail: Mapping[str, object], names: tuple[str, ...], place: int | None) -> str | None:
    """Return the first of these fields as a text; of repeats the one at a place."""
    value = next((detail[name] for name in names if detail.get(name) is not None), None)
    if place is not None and isinstance(value, list):
        value = value[place] if place < len(value) else None
    return None if value is None else encode_text(value)


def _parse_prompt(prompt: object) -> tuple[dict[str, str], ...] | None:
    """Return the messages of a prompt, whose turns are `{"role": "HUMAN", "prompt": ...}`."""
    if not isinstance(prompt, list):
        return list_messages(prompt)
    roles = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}
    return tuple(
        {"role": roles.get(role, role.lower()), "content": get_text(turn, "prompt") or ""}
        for turn in prompt
        if (role := get_text(turn, "role") or "HUMAN")
    )
