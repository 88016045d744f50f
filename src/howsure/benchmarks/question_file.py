"""A benchmark from a file (jsonl, csv or parquet), with a map from its fields to ours.

As it stands in an experiment::

    benchmark: {file: gsm8k.jsonl, question: question, target: answer, target_after: "####", answer: numeric}
    benchmark: {file: mmlu.parquet, question: question, choices: choices, target: answer}
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from howsure.benchmarks.choice_fields import TARGETS, choices_of, letters
from howsure.benchmarks.question import Benchmark, Prompt, Question
from howsure.errors import InputError, UnknownNameError
from howsure.extraction.choices import extract_choice
from howsure.extraction.directions import CARDINAL, DIRECTIONS, extract_direction
from howsure.extraction.numbers import canonical_number, extract_number
from howsure.extraction.statements import extract_text

__all__ = ["ANSWERS", "from_file"]

Row = tuple[str, dict[str, object]]
"""Place ("line 3") and fields."""


#: Kind of answer -> (completion to answer, target to canonical answer, what a target must be).
ANSWERS: dict[str, tuple[Callable[[str], str | None], Callable[[str], str | None], str]] = {
    "numeric": (extract_number, canonical_number, "a number"),
    "direction": (extract_direction, extract_direction, "one of the eight directions"),
    "choice": (extract_choice, extract_choice, "the letter of a choice"),
    "exact": (extract_text, extract_text, "a text"),
}
_ASKED = "{question}\n{choices}"
_NEEDED = ("file", "question", "target")
_KEYS = (*_NEEDED, "target_after", "id", "cluster", "system", "template", "answer", "name", "choices", "target_is")


def from_file(spec: Mapping[str, object], *, base: Path = Path()) -> Benchmark:
    """Read a benchmark as `spec` says.

    Parameters
    ----------
    spec
        `file`, `question` and `target` (names of fields), and optionally `target_after` (what stands before the target
        in its field), `id`, `cluster` (names of fields), `system`, `template` (with `{question}`), `answer` (a key of
        `ANSWERS`, by default exact) and `name` (by default the file's). For multiple choice `choices` names the field
        with the list, or lists the fields with a choice each; the target is then a letter, a place or a text, and
        `target_is` (a key of `fields.TARGETS`) says which, where the file leaves it open. Answers are letters.
    base
        Folder that a relative `file` starts from.

    Raises
    ------
    InputError
        When the file cannot be read, a field is missing, a target is not an answer of its kind, or two rows are the
        same question; names the file and the line or row.
    """
    columns = _columns(spec)
    keys = _checked({key: value for key, value in spec.items() if key != "choices"}, with_choices=bool(columns))
    file, kind = keys["file"], keys.get("answer", "choice" if columns else "exact")
    path = base / file
    try:
        content = path.read_bytes()
    except OSError as e:
        remedy = "give another path" if Path(file).is_absolute() else "paths start from the experiment's folder"
        raise InputError(f"cannot read the benchmark: {e.strerror}", where=str(path), remedy=remedy) from None
    if path.suffix not in _READERS:
        remedy = "give " + ", ".join(_READERS)
        raise InputError(f"benchmark in an unknown format {path.suffix!r}", where=file, remedy=remedy)

    rows = _READERS[path.suffix](content, file)
    questions, clusters = _questions(rows, keys, kind, columns)
    if not questions:
        raise InputError("no questions in the file", where=file, remedy="give a file with one row per question")
    return Benchmark(
        name=keys.get("name") or path.stem,
        questions=_with_alternatives(questions, kind),
        prompt=Prompt(
            system=keys.get("system", ""), template=keys.get("template", _ASKED if columns else "{question}")
        ),
        extract=ANSWERS[kind][0],
        clusters=clusters,
        source={**keys, "file": path.name, "name": keys.get("name") or path.stem, "kind": "file", "answer": kind}
        | ({"choices": ", ".join(columns)} if columns else {})
        | {"sha256": hashlib.sha256(content).hexdigest()},
    )


def _columns(spec: Mapping[str, object]) -> list[str]:
    """Names of the fields with choices; none when the spec has none."""
    if "choices" not in spec:
        return []
    given = spec["choices"]
    columns = [given] if isinstance(given, str) else given
    if not isinstance(columns, list) or not columns or not all(isinstance(c, str) and c for c in columns):
        raise InputError(f"choices is {given!r}", where="benchmark", remedy="name a field, or list several")
    if spec.get("answer", "choice") != "choice":
        remedy = "leave answer out, or remove choices"
        raise InputError(f"answers to choices are read as {spec['answer']!r}", where="benchmark", remedy=remedy)
    if isinstance(template := spec.get("template", "{choices}"), str) and "{choices}" not in template:
        remedy = "write {choices} where the choices go"
        raise InputError("the template has no place for the choices", where="benchmark", remedy=remedy)
    return columns


def _checked(spec: Mapping[str, object], *, with_choices: bool) -> dict[str, str]:
    for key, value in spec.items():
        if key not in _KEYS:
            raise UnknownNameError("key", str(key), _KEYS, where="benchmark")
        if not isinstance(value, str):
            raise InputError(f"{key} is {value!r}", where="benchmark", remedy="give text; put it in quotes in YAML")
    keys = {key: str(value) for key, value in spec.items()}
    for key in _NEEDED:
        if not keys.get(key):
            remedy = f"add {key}: {'PATH' if key == 'file' else 'the name of the field that holds it'}"
            raise InputError(f"a benchmark from a file needs {key!r}", where="benchmark", remedy=remedy)
    if keys.get("answer", "exact") not in ANSWERS:
        raise UnknownNameError("kind of answer", keys["answer"], ANSWERS, where="benchmark")
    if "target_is" in keys and not with_choices:
        remedy = "name the field with the choices: choices: FIELD"
        raise InputError("target_is goes with choices", where="benchmark", remedy=remedy)
    if keys.get("target_is", "text") not in TARGETS:
        raise UnknownNameError("kind of target", keys["target_is"], TARGETS, where="benchmark")
    if "{question}" not in keys.get("template", "{question}"):
        remedy = "write {question} where the question goes"
        raise InputError("the template has no place for the question", where="benchmark", remedy=remedy)
    return keys


def _questions(
    rows: Iterator[Row], keys: dict[str, str], kind: str, columns: list[str]
) -> tuple[list[Question], list[str]]:
    file = keys["file"]
    questions: list[Question] = []
    clusters, labels = [], []
    places: dict[str, str] = {}
    for place, row in rows:
        where = f"{file}, {place}"
        text = _text(row, keys["question"], where)
        target = _text(row, keys["target"], where)
        choices, own = choices_of(row, columns, where) if columns else ([], [])
        if columns:
            target = _after(target, keys.get("target_after"), where)
        else:
            target = _target(target, keys.get("target_after"), kind, where)
        if "id" in keys:
            identity = _text(row, keys["id"], where)
        else:
            identity = hashlib.sha256("\0".join((text, *choices, target)).encode()).hexdigest()[:12]
        if identity in places:
            if "id" in keys:
                what, remedy = f"id {identity!r}", "give each row its own id"
            else:
                what, remedy = "question and target", "remove one, or name a field with ids: {id: FIELD}"
            raise InputError(f"same {what} in {places[identity]} and {place}", where=file, remedy=remedy)
        places[identity] = place
        questions.append(Question(identity, text, target, choices=tuple(choices)))
        labels.append(own)
        if "cluster" in keys:
            clusters.append(_text(row, keys["cluster"], where))
    if columns and questions:
        targets, choices_of_all = [q.target for q in questions], [q.choices for q in questions]
        named = list(places.values())
        found = letters(targets, choices_of_all, labels, named, file=file, kind=keys.get("target_is"))
        questions = [replace(q, target=letter) for q, letter in zip(questions, found, strict=True)]
    return questions, clusters


def _text(row: dict[str, object], name: str, where: str) -> str:
    """One field as text: numbers as they are written, true and false as in JSON."""
    if name not in row:
        raise UnknownNameError("field", name, row, where=where)
    value = row[name]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        what = f"empty field {name!r}" if value is None or isinstance(value, str) else f"field {name!r} holds no text"
        raise InputError(what, where=where, remedy="fill it in, remove the row, or name another field")
    return value


def _target(text: str, after: str | None, kind: str, where: str) -> str:
    text = _after(text, after, where)
    _, canonical, what = ANSWERS[kind]
    target = canonical(text)
    if target is None:
        remedy = f"correct the row, or say how answers are read: answer: {'|'.join(ANSWERS)}"
        raise InputError(f"target {_short(text)} is not {what}", where=where, remedy=remedy)
    return target


def _after(text: str, mark: str | None, where: str) -> str:
    """What stands after the last mark, where there is to be one."""
    if mark and mark not in text:
        remedy = "correct target_after or the row"
        raise InputError(f"no {mark!r} before the target in {_short(text)}", where=where, remedy=remedy)
    return text.rpartition(mark)[2] if mark else text


def _short(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _with_alternatives(questions: list[Question], kind: str) -> list[Question]:
    """Fill in the other answers, where the kind or the file itself says which there are."""
    targets = sorted({q.target for q in questions})
    answers: tuple[str, ...] = ()
    if kind == "direction":
        answers = CARDINAL if set(targets) <= set(CARDINAL) else DIRECTIONS
    elif kind == "choice" and questions[0].choices:
        every = [chr(ord("A") + i) for i in range(max(len(q.choices) for q in questions))]
        return [replace(q, alternatives=tuple(a for a in every[: len(q.choices)] if a != q.target)) for q in questions]
    elif kind == "choice":
        answers = tuple(chr(c) for c in range(ord("A"), max(ord("D"), ord(targets[-1])) + 1))
    elif kind == "exact" and 2 <= len(targets) <= min(8, len(questions) - 1):
        answers = tuple(targets)  # labels, such as yes and no
    return [Question(q.id, q.text, q.target, tuple(a for a in answers if a != q.target)) for q in questions]


def _decoded(content: bytes, file: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = content.count(b"\n", 0, e.start) + 1
        raise InputError("not UTF-8 text", where=f"{file}, line {line}", remedy="save it as UTF-8") from None


def _jsonl(content: bytes, file: str) -> Iterator[Row]:
    for number, line in enumerate(_decoded(content, file).split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{file}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as e:
            why = f"{e.msg}, column {e.colno}" if isinstance(e, json.JSONDecodeError) else str(e)
            raise InputError(f"not JSON: {why}", where=where, remedy="correct or remove the line") from None
        if not isinstance(row, dict):
            raise InputError("not a JSON object", where=where, remedy='each line is {"field": value, ...}')
        yield f"line {number}", row


def _csv(content: bytes, file: str) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(_decoded(content, file), newline=""), strict=True)
    header: list[str] = []
    try:
        for values in reader:
            place = f"line {reader.line_num}"
            if not values:
                continue
            if not header:
                header = values
            elif len(values) != len(header):
                what = f"{len(values)} fields where the header has {len(header)}"
                raise InputError(what, where=f"{file}, {place}", remedy="quote fields that hold commas or line breaks")
            else:
                yield place, dict(zip(header, values, strict=True))
    except csv.Error as e:
        raise InputError(f"not CSV: {e}", where=f"{file}, line {reader.line_num}", remedy="correct the line") from None


def _parquet(content: bytes, file: str) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError) as e:
        why = str(e).splitlines()[0] if str(e) else type(e).__name__
        raise InputError(f"not a whole parquet file: {why}", where=file, remedy="write or download it again") from None
    yield from ((f"row {number}", row) for number, row in enumerate(table.to_pylist(), start=1))


_READERS: dict[str, Callable[[bytes, str], Iterator[Row]]] = {
    ".jsonl": _jsonl,
    ".csv": _csv,
    ".parquet": _parquet,
}
