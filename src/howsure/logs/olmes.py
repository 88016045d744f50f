"""Read the predictions of OLMES (oe-eval): `task-000-NAME-predictions.jsonl`, with `task-000-NAME-metrics.json` beside.

A record is one question, with several metrics, each of which is a scorer; the first is the primary metric of the task.
The metrics file names the model, the task and its settings, and the mean of each metric. The record of `--columns` is
a question: `native_id`, `label`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from howsure.logs.base import RowBuilder, as_mapping, encode_text, format_choice, get_field
from howsure.logs.file_formats import FileHead, decode_json, open_file, read_json_lines
from howsure.logs.record_reader import (
    Record,
    RecordedRun,
    RecordReader,
    ReportedMean,
    get_number,
    get_text,
    list_messages,
    name_by_place,
)

_KEYS = {"doc_id", "native_id", "metrics", "model_output"}
_FILE_NAME = re.compile(r"(?:task-\d+-)?(?P<task>.+)-predictions\.jsonl(?:\.gz)?")
#: Metrics that are no scores: indexes of choices, and sizes.
_NO_SCORES = re.compile(r"predicted_index.*|correct_choice|num_.*|.*_corr|no_answer|.*logits.*|.*bits_per_byte.*")
#: The part of the name of a metric of multiple choice that says how the choices are compared.
_COMPARISONS = {"acc_per_char": "per_char", "acc_per_token": "per_token", "acc_uncond": "uncond"}


class OlmesReader(RecordReader):
    """Reads the predictions of OLMES, one row for each question."""

    name = "OLMES"

    def recognises(self, head: FileHead) -> bool:
        """Return whether the first record is a prediction."""
        return head.kind == "json" and head.keys >= _KEYS

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return the questions, with model and settings of the metrics file."""
        totals = _read_totals(path, build)
        task_config, model_config = as_mapping(totals.get("task_config")), as_mapping(totals.get("model_config"))
        match = _FILE_NAME.fullmatch(path.name)
        task = get_text(totals, "task_name") or (match["task"] if match else path.stem)
        model = get_text(model_config, "model") or name_by_place(path, build, pattern=r"(task-\d+-)?.*-predictions$")
        primary = get_text(task_config, "primary_metric")
        contexts = _read_contexts(path, build)
        records: list[Record] = []
        names: dict[str, int] = {}
        for line in read_json_lines(path, dict[str, object], build.note):
            question = get_text(line, "native_id", "doc_id")
            if question is None:
                build.count("[line names|lines name] no question and [is|are] left out")
                continue
            metrics = as_mapping(line.get("metrics"))
            scores = {name: value for name, value in metrics.items() if not _NO_SCORES.fullmatch(name)}
            for name in scores:
                names[name] = names.get(name, 0) + 1
            records.append(
                Record(
                    question=question,
                    scores=scores,
                    source=line,
                    answer=_find_answer(line, metrics, primary or ""),
                    completion=get_text(line, "model_output.0.continuation"),
                    prompt={
                        "target": _encode_label(line),
                        "messages": list_messages(contexts.get(str(line.get("doc_id")))),
                    },
                )
            )
        # Without its settings, the primary metric of a task is not known: the first that all questions have is read.
        scorers = sorted(names, key=lambda name: (name != primary, -names[name]))
        return RecordedRun(
            benchmark=task,
            model=model,
            settings=as_mapping(task_config.get("generation_kwargs")),
            conditions=_list_conditions(model_config),
            prompts={"num_shots": task_config.get("num_shots")},
            records=records,
            scorers=tuple(scorers) or ("primary_score",),
            reported=[
                ReportedMean(name=name, value=value, scorer=name)
                for name in scorers
                if (value := get_number(as_mapping(totals.get("metrics")), name)) is not None
            ],
            source={"split": task_config.get("split")},
            created=get_text(totals, "current_date") or "",
        )


def _read_totals(path: Path, build: RowBuilder) -> Mapping[str, object]:
    """Return the metrics file of the predictions: by its name, or by the hashes of task and model."""
    place = path.with_name(re.sub(r"predictions\.jsonl(?:\.gz)?$", "metrics.json", path.name))
    first = next(read_json_lines(path, dict[str, object], lambda _: None), {})
    for file in [place] if place.is_file() and place != path else sorted(path.parent.glob("*-metrics.json")):
        with open_file(file) as stream:
            content = decode_json(stream.read())
        if not isinstance(content, Mapping):
            build.note(f"{file.name} cannot be read: it would name the model and the primary metric")
        elif file == place or all(content.get(name) == first.get(name) for name in ("task_hash", "model_hash")):
            return content
    build.note("there is no metrics file beside it, which would name the model and the primary metric")
    return {}


def _read_contexts(path: Path, build: RowBuilder) -> dict[str, str]:
    """Return the prompt of each question by `doc_id`, from the requests file beside the predictions."""
    file = path.with_name(path.name.replace("-predictions.", "-requests."))
    if not build.texts or file == path or not file.is_file():
        return {}
    contexts = {}
    for request in read_json_lines(file, dict[str, object], lambda line: build.note(f"{file.name}: {line}")):
        context = get_field(request, "request.context")
        if isinstance(context, str):
            contexts[str(request.get("doc_id"))] = context
    return contexts


def _list_conditions(config: Mapping[str, object]) -> dict[str, object]:
    """Return what tells models of one name from each other."""
    return {
        name: config[name]
        for name in ("revision", "model_type", "dtype", "chat_model", "peft")
        if isinstance(config.get(name), (str, int, float))
    }


def _find_answer(line: Mapping[str, object], metrics: Mapping[str, object], primary: str) -> str | None:
    """Return the letter of the most likely choice under the primary metric, or the answer that was extracted."""
    index = get_number(metrics, f"predicted_index_{_COMPARISONS.get(primary, 'raw')}")
    if index is not None and 0 <= index < 26:
        return format_choice(int(index))
    return get_text(line, "model_output.0.model_answer")


def _encode_label(line: Mapping[str, object]) -> str | None:
    """Return the right answer: the letter of a choice where several choices were compared."""
    label, outputs = line.get("label"), get_field(line, "model_output")
    is_choice = isinstance(outputs, list) and len(outputs) > 1 and isinstance(label, int)
    if is_choice and isinstance(label, int) and 0 <= label < 26:
        return format_choice(label)
    return None if label is None else encode_text(label)
