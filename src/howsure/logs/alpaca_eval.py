"""Read AlpacaEval's `annotations.json`: for each instruction which of two models an annotator preferred.

A score is the preference minus 1: 1 where the model won, 0 where the reference won, .5 for a draw, and between them
where the annotator is weighted by probabilities. Its mean is the win rate, not the length-controlled win rate, which
is a prediction of a regression over all instructions. The model is `generator_2`, the benchmark names the reference,
the annotators are the scorers, and the question is a hash of the instruction. The record of `--columns` is an
annotation: `dataset`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

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
)

#: The annotator of files that name none.
_ANNOTATOR = "preference"


class AlpacaEvalReader(RecordReader):
    """Reads the annotations of AlpacaEval, one row for each output of the model."""

    name = "AlpacaEval"

    def recognises(self, head: FileHead) -> bool:
        """Return whether the first record compares two outputs."""
        return head.kind == "json" and {"instruction", "output_1", "output_2", "preference"} <= head.keys

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return the outputs of the model, each with what every annotator preferred."""
        annotators: Counter[str] = Counter()
        records: dict[tuple[str, ...], Record] = {}
        place = ""
        for annotation in read_json_array(path, dict[str, object], build.note):
            instruction = get_text(annotation, "instruction")
            if instruction is None:
                build.count("[annotation has|annotations have] no instruction and [is|are] left out")
                continue
            model = get_text(annotation, "generator_2")
            if model is None:
                place = place or name_by_place(path, build)
                model = place
            reference = get_text(annotation, "generator_1") or "a reference"
            annotator = get_text(annotation, "annotator") or _ANNOTATOR
            annotators[annotator] += 1
            question = hash_text(instruction)
            output = get_text(annotation, "output_2") or ""
            key: tuple[str, ...] = (model, reference, question, output)
            if key in records and annotator not in records[key].scores:
                records[key].scores = {**records[key].scores, annotator: _score(annotation, build)}
                continue
            # The same output under the same annotator again is another judgment of it.
            while key in records:
                key = (*key, "again")
            records[key] = Record(
                benchmark=f"alpaca_eval (against {reference})",
                model=model,
                question=question,
                scores={annotator: _score(annotation, build)},
                source=annotation,
                completion=output,
                prompt={"messages": list_messages(instruction)} if build.texts else PromptFields(),
            )
        first = next(iter(records.values()), None)
        return RecordedRun(
            benchmark=first.benchmark if first else "alpaca_eval",
            model=first.model if first else "unknown",
            records=list(records.values()),
            scorers=tuple(name for name, _ in annotators.most_common()) or (_ANNOTATOR,),
        )


def _score(annotation: Mapping[str, object], build: RowBuilder) -> object:
    """Return the preference minus 1; None where it is none, as AlpacaEval leaves it out."""
    preference = annotation.get("preference")
    if isinstance(preference, bool) or not isinstance(preference, (int, float)):
        return preference
    if preference == 0:  # a draw in older versions
        return 0.5
    if 1 <= preference <= 2:
        return preference - 1
    build.count(
        "[preference is|preferences are] not between 1 and 2 and [is|are] missing", example=str(preference)[:40]
    )
    return None
