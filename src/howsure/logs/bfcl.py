"""Read the score files of BFCL (Berkeley Function-Calling Leaderboard): `BFCL_v3_CATEGORY_score.json`.

A file is JSON lines: first the accuracy and the numbers of questions, then a record for each question that was wrong.
The right ones are listed nowhere in it. They are those of the result file that belongs to it
(`result/MODEL/..._result.json` beside `score/MODEL/..._score.json`); without it they are the numbers that are not
listed, because questions of a category are numbered from 0. Where the numbers do not allow this, the file is refused.

A question is called `CATEGORY_NUMBER`, as in `simple_13`: the ids in older files are that number plus 1, and ids of
live categories have more parts. A request that failed is wrong for BFCL and missing here. The record of `--columns` is
a question: `error_type` where it was wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from howsure.errors import InputError
from howsure.logs.base import PromptFields, RowBuilder, encode_text, get_field
from howsure.logs.file_formats import FileHead, read_json_lines
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
from howsure.safe_text import inflect_text

_HEADER = {"accuracy", "correct_count", "total_count"}
_FILE_NAME = re.compile(r"(?:BFCL_v\d+_)?(?P<category>.+?)_score\.json(?:\.gz)?")
_NUMBER = re.compile(r"(?P<category>.*?)_?(?P<number>\d+)(?:-.*)?")
#: Folders between the model and its files in newer versions.
_GROUPS = ("non_live", "live", "multi_turn", "agentic", "memory", "format_sensitivity", "kv", "vector", "rec_sum")
#: The beginning of a completion that is none, because the request failed.
_FAILED = "Error during inference:"
_REMEDY = "put BFCL's folder result/ beside its folder score/"


class BfclReader(RecordReader):
    """Reads a score file of BFCL, one row for each question."""

    name = "BFCL"

    def recognises(self, head: FileHead) -> bool:
        """Return whether the first line has the accuracy and the numbers of questions."""
        return head.kind == "json" and head.keys >= _HEADER and "id" not in head.keys

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return the wrong questions of the file, and the right ones."""
        header, *wrong = read_json_lines(path, dict[str, object], build.note)
        total, accuracy = get_number(header, "total_count"), get_number(header, "accuracy")
        if total is None or not header.keys() >= _HEADER:
            raise InputError("its first line has no 'total_count'", where=str(path), remedy="is the file complete?")
        match = _FILE_NAME.fullmatch(path.name)
        category = next((text for one in wrong if (text := get_text(one, "test_category"))), None)
        category = category or (match["category"] if match else "unknown")
        model = next((text for one in wrong if (text := get_text(one, "model_name"))), None) or _find_model(path, build)
        wrong_of = {name: one for one in wrong if (name := _name_question(one, category)) is not None}
        if len(wrong_of) < len(wrong):
            build.count(
                "[record names|records name] no question, or one that was named before, and [is|are] left out",
                len(wrong) - len(wrong_of),
            )
        completions = _read_completions(path, category, build)
        names = list(completions) or _number_questions(category, int(total), wrong_of, path)
        if unknown := [name for name in wrong_of if name not in set(names)]:
            raise InputError(
                inflect_text(
                    f"{len(unknown)} wrong [question|questions], such as {unknown[0]!r}, [is|are] none of the "
                    f"{len(names)} questions",
                    len(unknown),
                ),
                where=str(path),
                remedy=_REMEDY,
            )
        if not completions:
            build.note(
                f"it lists wrong questions only: the other {len(names) - len(wrong_of)} of {len(names)} are right, and "
                "are called by the numbers that are not listed"
            )
        return RecordedRun(
            benchmark=f"bfcl-{category}",
            model=model,
            records=[_make_record(name, wrong_of.get(name), completions.get(name), build) for name in names],
            scorers=("accuracy",),
            reported=[ReportedMean(name="accuracy", value=accuracy, scorer="accuracy")] if accuracy is not None else [],
        )


def _name_question(record: Mapping[str, object], category: str) -> str | None:
    """Return category and number of a question; None where the record states no number."""
    value = record.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{category}_{value - 1}"
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    return f"{match['category'] or category}_{int(match['number'])}" if match else None


def _number_questions(category: str, total: int, wrong: Mapping[str, object], path: Path) -> list[str]:
    """Return the names of all questions of a category whose questions are numbered from 0."""
    prefixes = {name.rpartition("_")[0] for name in wrong} or {category}
    largest = max((int(name.rpartition("_")[2]) for name in wrong), default=0)
    if len(prefixes) > 1 or largest >= total or len(wrong) > total:
        raise InputError(
            f"it lists the {len(wrong)} wrong ones of {total} questions, and their numbers do not tell the others",
            where=str(path),
            remedy=_REMEDY,
        )
    (prefix,) = prefixes
    return [f"{prefix}_{number}" for number in range(total)]


def _read_completions(path: Path, category: str, build: RowBuilder) -> dict[str, str]:
    """Return the completions by question, from the result file that belongs to a score file."""
    parts = list(path.resolve().parts)
    places = [place for place, part in enumerate(parts) if part == "score"]
    if not places:
        return {}
    parts[places[-1]] = "result"
    file = Path(*parts[:-1], path.name.replace("_score.", "_result."))
    if not file.is_file():
        return {}
    completions: dict[str, str] = {}
    for record in read_json_lines(file, dict[str, object], lambda line: build.note(f"{file.name}: {line}")):
        name = _name_question(record, category)
        if name is None or name in completions:
            build.count(
                f"[record|records] of {file.name} [names|name] no question of [its|their] own, and [is|are] left out"
            )
            continue
        completions[name] = encode_text(record.get("result"))
    return completions


def _make_record(name: str, wrong: Mapping[str, object] | None, completion: str | None, build: RowBuilder) -> Record:
    """Return the record of a question."""
    source: Mapping[str, object] = {"id": name, "valid": wrong is None} if wrong is None else wrong
    text = completion
    for field in ("model_result_raw", "model_result") if wrong is not None else ():
        text = text or get_text(wrong, field)
    failed = (text or "").startswith(_FAILED)
    return Record(
        question=name,
        scores={"accuracy": wrong is None},
        source={"id": name, "valid": wrong is None, **source},
        failure=text or "" if failed else "",
        completion=None if failed else text,
        prompt=_read_prompt(wrong) if build.texts and wrong is not None else PromptFields(),
    )


def _read_prompt(record: Mapping[str, object]) -> PromptFields:
    """Return the question and the accepted answer of a wrong question."""
    question = get_field(record, "prompt.question")
    # Newer versions have a list of turns, each of which is a list of messages.
    if isinstance(question, Sequence) and not isinstance(question, str):
        question = [message for turn in question for message in (turn if isinstance(turn, list) else [turn])]
    return {"messages": list_messages(question), "target": get_text(record, "possible_answer")}


def _find_model(path: Path, build: RowBuilder) -> str:
    """Return the folder of the model, for a file that lists no question."""
    folder = next((one for one in path.resolve().parents if one.name not in _GROUPS), None)
    return folder.name if folder is not None and folder.parent.name == "score" else name_by_place(path, build)
