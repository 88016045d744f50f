"""Read EvalPlus's `eval_results.json`: for each task of HumanEval+ or MBPP+ whether each sample passed its tests.

The scorers are `plus` (the base tests and the additional ones, EvalPlus's headline) and `base`. A record of
`--columns` is a sample: `task_id`. The model is in the name of the file only, such as
`MODEL_vllm_temp_0.0_eval_results.json`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from howsure.errors import InputError
from howsure.logs.base import RowBuilder, as_mapping
from howsure.logs.file_formats import FileHead, read_json
from howsure.logs.record_reader import (
    Record,
    RecordedRun,
    RecordReader,
    ReportedMean,
    get_number,
    get_text,
    name_by_place,
    parse_records,
)

_PLUS, _BASE = "plus", "base"
_KEYS = {"date", "hash", "eval", "pass_at_k"}
#: What EvalPlus adds to the name of the model: the backend, the temperature, and the kind of the file.
_FILE_NAME = re.compile(
    r"(?P<model>.+?)(?:_(?P<backend>vllm|hf|openai|anthropic|google|bedrock|ollama|gptqmodel))?"
    r"_temp_(?P<temperature>\d+(?:\.\d+)?)(?:[-_.](?:sanitized|raw|eval_results|calibrated))*"
)
_ENDING = r"[-_.]?(?:sanitized|raw)?[-_.]?eval_results(?:_v\d+)?$"


class EvalPlusReader(RecordReader):
    """Reads the results of EvalPlus, one row for each sample."""

    name = "EvalPlus"

    def recognises(self, head: FileHead) -> bool:
        """Return whether the keys are those of its results."""
        return head.kind == "json" and "eval" in head.keys and head.keys <= _KEYS

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return the samples of all tasks."""
        results = read_json(path, dict[str, object])
        tasks = results.get("eval")
        if not isinstance(tasks, Mapping) or not tasks:
            raise InputError("it holds no task under 'eval'", where=str(path), remedy="is the file complete?")
        records = []
        for name, content in tasks.items():
            for sample in _list_samples(content, build):
                base, plus = _passed(sample.get("base_status")), _passed(sample.get("plus_status"))
                records.append(
                    Record(
                        question=str(name),
                        # EvalPlus counts a sample as right where it passes both sets of tests.
                        scores={_PLUS: None if plus is None else plus and base is not False, _BASE: base},
                        source={"task_id": name, **sample},
                        completion=get_text(sample, "solution", "completion") if build.texts else None,
                    )
                )
        label, settings = _parse_name(path, build)
        first = str(next(iter(tasks)))
        scorers = [name for name in (_PLUS, _BASE) if any(record.scores[name] is not None for record in records)]
        return RecordedRun(
            benchmark=_name_benchmark(first),
            model=label,
            settings=settings,
            records=records,
            scorers=tuple(scorers) or (_PLUS, _BASE),
            reported=_list_reported(results),
            source={"hash": get_text(results, "hash")},
            created=get_text(results, "date") or "",
            generations=max(len(list(_list_samples(content, build))) for content in tasks.values()),
        )


def _list_samples(content: object, build: RowBuilder) -> list[Mapping[str, object]]:
    """Return the samples of a task, in the newer form or in the older one, `{"base": [...], "plus": [...]}`."""
    if isinstance(content, Mapping) and isinstance(content.get("base"), list):
        base, plus = content["base"], content.get("plus")
        pairs = zip(
            base, plus if isinstance(plus, list) and len(plus) == len(base) else [None] * len(base), strict=True
        )
        return [{"base_status": _first(one), "plus_status": _first(other)} for one, other in pairs]
    return list(parse_records(content, build))


def _first(value: object) -> object:
    """Return the status of a sample of the older form, which is followed by the results of its tests."""
    return value[0] if isinstance(value, list) and value else None


def _passed(status: object) -> bool | None:
    """Return whether a status says that all tests passed; None where there is none."""
    if not isinstance(status, str) or not status:
        return None
    return status.lower() in ("pass", "success")


def _list_reported(results: Mapping[str, object]) -> list[ReportedMean]:
    """Return pass@1 of each set of tests, which newer versions write."""
    reported = []
    for scorer in (_PLUS, _BASE):
        value = get_number(as_mapping(as_mapping(results.get("pass_at_k")).get(scorer)), "pass@1")
        if value is not None:
            reported.append(ReportedMean(name=f"pass@1 ({scorer})", value=value, scorer=scorer))
    return reported


def _name_benchmark(task: str) -> str:
    """Return the name of the data set that a task is from."""
    name = task.partition("/")[0].lower()
    return f"{name}plus" if name in ("humaneval", "mbpp") else "evalplus"


def _parse_name(path: Path, build: RowBuilder) -> tuple[str, dict[str, object]]:
    """Return model and settings from the name of the file, or of the folder of its samples."""
    for place in (path.name.removesuffix(".gz").removesuffix(".json"), path.resolve().parent.name):
        match = _FILE_NAME.fullmatch(place)
        if match is not None:
            return match["model"].replace("--", "/"), {"temperature": float(match["temperature"])}
    return name_by_place(path, build, pattern=_ENDING), {}
