"""Read a benchmark from a file (jsonl, csv or parquet), with the names of its fields.

In an experiment::

    benchmark: {file: gsm8k.jsonl, question: question, target: answer, target_after: "####", scorer: numeric}
    benchmark: {file: mmlu.parquet, question: question, choices: choices, target: answer}
    benchmark: {file: gpqa.csv, question: Question, correct: Correct Answer, incorrect: [Incorrect Answer 1, ...]}
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from howsure.benchmarks.question import TARGETS, Benchmark, Demonstration, Prompt, Question
from howsure.benchmarks.question_rows import (
    ANSWERS,
    RowFormat,
    add_alternatives,
    build_demonstrations,
    parse_questions,
    sample_per_stratum,
)
from howsure.benchmarks.row_fields import select_rows
from howsure.errors import InputError, UnknownNameError
from howsure.notes import Note, warn
from howsure.rows.formats import PlacedRow, read_regular_file, read_rows
from howsure.scorers.completion_text import CompletionContext
from howsure.scorers.registry import build_scorer
from howsure.scorers.scorer_parts import Scorer, ScoringItem

#: Scorer of answers that are texts, where none is named.
DEFAULT_SCORER = "contains"
#: Keys of the source of a benchmark that have the sentences of its notes.
_KEYS_OF_NOTES = {"rows-left-out": "left_out", "odd-rows": "odd"}
_CHOICE_TEMPLATE = "{question}\n{choices}"
#: Scorers that compare an answer with the text of the target.
_TEXT_SCORERS = ("normalised", "exact", "contains", "f1", "maths", "list", "yes-no")
#: Keys whose values are text.
_TEXT_KEYS = (
    *("file", "question", "target", "target_after", "id", "cluster", "system", "template", "scorer", "answer", "name"),
    *("correct", "target_is", "language", "shots_file", "shots_by", "shots_answer", "scorer_without_choices", "pin"),
)
#: All keys of a spec.
FILE_KEYS = (
    *_TEXT_KEYS,
    *("choices", "incorrect", "shuffle", "strata", "where", "shots", "shots_replace", "skip_invalid"),
    "per_stratum",
)
#: Usual names of the fields of a file of questions.
_FIELD_NAMES: dict[str, tuple[str, ...]] = {
    "question": ("question", "prompt", "input", "problem", "query", "instruction", "text"),
    "target": (
        "target",
        "answer",
        "label",
        "expected",
        "expected_answer",
        "correct_answer",
        "gold",
        "output",
        "solution",
    ),
    "choices": ("choices", "options"),
    "id": ("id", "question_id", "example_id", "task_id", "doc_id"),
}
#: Names of fields with a choice each: "A", "choice_b", "Option 3" as they are compared, with a mark that has its place.
_CHOICE_FIELD = re.compile(r"(?:(choice|option|opt|answer)_?)?(?:([a-j])|(\d\d?))")
#: Names of fields with a wrong choice each: "incorrect_answer_1", "wrong2", "distractor_3".
_WRONG_CHOICE = re.compile(r"(?:incorrect|wrong|false|distractor)(?:_(?:answer|choice|option))?_?\d\d?")
#: What names the choices of questions, in messages.
_NAME_CHOICES = "name the field with the choices: choices: FIELD, or one for each: choices: [A, B, C, D]"
#: A label of a choice in the text of a question, such as "A)", "(B)" or "c." at the start of a line.
_LABEL_IN_TEXT = re.compile(r"(?:^|[\s(\[])[A-Z](?:[).:\]]|\s-\s)|^\s*[a-z][).]\s", re.MULTILINE)
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:[-_][A-Za-z0-9]+)*")
#: A target that is a number, and those that are yes or no.
_NUMBER = re.compile(r"[-+]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?")
_YES_NO = frozenset({"yes", "no", "true", "false", "maybe"})
#: A field in braces in a template. Braces after a command of LaTeX, and doubled ones, are no fields.
_TEMPLATE_FIELD = re.compile(r"(?<![\w{\\}])\{([A-Za-z_]\w*)\}(?!\})")


@dataclass(frozen=True)
class FileSpec:
    """The checked keys of `benchmark: {file: ...}`.

    Attributes
    ----------
    keys
        Keys whose values are text.
    form
        How rows are read.
    where
        Allowed values of fields; only rows with one of them are questions.
    shots
        Number of demonstrations (of each stratum, with `shots_by`).
    shots_replace
        Regular expressions and what replaces their matches in the answers of demonstrations.
    skip_invalid
        Whether rows that cannot be read are left out.
    per_stratum
        Most questions of each stratum, a sample that depends on their ids only; None for all.

    Examples
    --------
    >>> spec = parse_file_spec({"file": "a.csv", "question": "q", "target": "a", "scorer": "numeric"})
    >>> spec.form.kind, spec.shots
    ('numeric', 0)
    """

    keys: dict[str, str]
    form: RowFormat
    where: dict[str, list[str]] = field(default_factory=dict)
    shots: int = 0
    shots_replace: tuple[tuple[str, str], ...] = ()
    skip_invalid: bool = False
    per_stratum: int | None = None


def from_file(spec: Mapping[str, object], *, base: Path = Path()) -> Benchmark:
    """Return the benchmark of a file.

    Parameters
    ----------
    spec
        `file`; `question` and `target` (names of fields, or for `question` a pattern with names in braces; one that is
        left out is taken by its usual name, which a warning says); and optionally `target_after` (the text before the
        target in its field), `id`, `cluster` (names of fields), `strata` (a list of fields), `where` (allowed values by
        field), `system`, `template` (with `{question}`), `scorer` (a key of `ANSWERS` or of `scorers.registry.SCORERS`,
        by default contains; `answer` is the same key), `name` (by default that of the file) and `language` (a code
        such as "de", which decides how numbers are read). The field `target` may hold a list of answers that are all
        right, or `target` may list several fields. For multiple choice, `choices` is the field with the list, or a list
        of fields with one choice each. The target is then a letter, a place or a text; `target_is` (a key of
        `question.TARGETS`) names the form, if the file does not determine it. In place of both, `correct` is the field
        with the right choice and `incorrect` lists the others; they are shuffled. `shuffle` is the seed of that order.
        Answers are letters. Where some rows have no choices, `scorer_without_choices` names the scorer of their
        answers. `shots`, `shots_file`, `shots_by`, `shots_answer` and `shots_replace` show questions of another file
        with their answers.
    base
        Folder to which a relative `file` refers.

    Raises
    ------
    InputError
        When the file cannot be read, a field is missing, a target is not an answer of its kind, or two questions have
        the same id; names the file and the line or row.
    """
    spec, by_name = complete_file_spec(spec, base)
    if by_name:
        taken = ", ".join(f"{key}: {_write_names(names)}" for key, names in by_name.items())
        warn(Note("fields-by-name", str(spec["file"]), facts={"fields": taken}), stacklevel=3)
    parsed = parse_file_spec(spec)
    path = base / parsed.keys["file"]
    content = _read_bytes(path, parsed.keys["file"])
    shot_rows: Iterable[PlacedRow] = ()
    if parsed.shots:
        name = parsed.keys.get("shots_file")
        if name is None:
            remedy = "name a file with other questions and the same fields: shots_file: FILE"
            raise InputError("shots without shots_file", where="benchmark", remedy=remedy)
        _read_bytes(base / name, name)
        shot_rows = read_rows(base / name, name)
    benchmark = build_benchmark(parsed, read_rows(path, parsed.keys["file"]), shot_rows=shot_rows)
    if not parsed.form.choice_fields:
        first_row = next(read_rows(path, parsed.keys["file"]), ("", {}))[1]
        for note in (
            _describe_unseen_choices(spec, first_row, benchmark.questions)
            or _describe_better_scorer(spec, benchmark.questions),
            _describe_target_object(first_row, parsed.form, benchmark.questions[0].target),
        ):
            if note is not None:
                warn(replace(note, where=parsed.keys["file"]), stacklevel=3)
    # The manifest has names of files, not the folders of this machine.
    names: dict[str, str] = {key: Path(parsed.keys[key]).name for key in ("file", "shots_file") if key in parsed.keys}
    source = {**benchmark.source, **names, "kind": "file", "sha256": hashlib.sha256(content).hexdigest()}
    return replace(benchmark, source=source | {"spec": json.dumps(dict[str, object](spec) | names, ensure_ascii=False)})


def suggest_scorer(questions: Sequence[Question]) -> str | None:
    """Return the scorer of questions without choices whose targets are all numbers, or all yes or no; else None.

    >>> [suggest_scorer([Question("q", "?", target)]) for target in ("1,250", "Yes", "Oslo")]
    ['numeric', 'yes-no', None]
    """
    if any(question.choices for question in questions):
        return None
    targets = [question.target.strip() for question in questions]
    if all(map(_NUMBER.fullmatch, targets)):
        return "numeric"
    return "yes-no" if _YES_NO.issuperset(map(str.casefold, targets)) else None


def _describe_better_scorer(spec: Mapping[str, object], questions: Sequence[Question]) -> Note | None:
    """Return a note that another scorer than the default reads such targets, if the spec names none."""
    better = suggest_scorer(questions)
    if better is None or not {"scorer", "answer"}.isdisjoint(spec):
        return None
    kind = "a number" if better == "numeric" else "yes or no"
    return Note("text-scorer", facts={"kind": kind, "default": DEFAULT_SCORER, "better": better})


def _describe_unseen_choices(
    spec: Mapping[str, object], row: Mapping[str, object], questions: Sequence[Question]
) -> Note | None:
    """Return a note that the questions seem to have choices that no model sees, and how to name them."""
    n_listed = sum(len(_LABEL_IN_TEXT.findall(question.text)) > 1 for question in questions)
    if 2 * n_listed >= len(questions) or "{" in str(spec["question"]):  # the questions show their choices
        return None
    if "scorer" not in spec and "answer" not in spec:
        targets = _parse_names(spec, "target") if "target" in spec else []
        names = {name: own for name, own in _fold_names(row).items() if own not in targets}
        wrong = [own for name, own in names.items() if _WRONG_CHOICE.fullmatch(name)]
        series = next(iter(_list_choice_fields(names)), wrong)
        if series:
            written = _write_names(series)
            key = f"correct: FIELD, incorrect: {written}" if series is wrong else f"choices: {written}"
            return Note("unseen-choices", facts={"fields": written, "key": key})
    is_letter = all(len(question.target) == 1 and "A" <= question.target <= "Z" for question in questions)
    if not is_letter or len({question.target for question in questions}) == 1:
        return None
    return Note("letters-without-choices", facts={"remedy": _NAME_CHOICES})


def _describe_target_object(row: Mapping[str, object], form: RowFormat, target: str) -> Note | None:
    """Return a note that the targets are objects, as JSON, which no answer equals."""
    for name in form.target_fields:
        value = row.get(name)
        is_text = target.startswith("{") and form.kind.partition(":")[0] in _TEXT_SCORERS
        if isinstance(value, Mapping) and value and is_text:
            short = target if len(target) <= 60 else f"{target[:57]}..."
            return Note("target-object", facts={"name": name, "example": short, "field": next(iter(value))})
    return None


def _write_names(names: str | Sequence[str]) -> str:
    """Return one field, or a list of several, as in YAML."""
    return names if isinstance(names, str) else f"[{', '.join(names)}]"


def complete_file_spec(
    spec: Mapping[str, object], base: Path
) -> tuple[Mapping[str, object], dict[str, str | list[str]]]:
    """Return a spec with the fields of question and target that it lacks, by their usual names, and what was added.

    Raises
    ------
    UnknownNameError
        When there is no key of a name.
    InputError
        When the file cannot be read, or none of its fields has a usual name.
    """
    for key in spec:
        if key not in FILE_KEYS:
            raise UnknownNameError("key", str(key), FILE_KEYS, where="benchmark")
    first_is_right = "correct" in spec or "incorrect" in spec
    needed = ("question",) if first_is_right else ("question", "target")
    if all(key in spec for key in needed) or not isinstance(spec.get("file"), str):
        return spec, {}
    fields = find_fields(base / str(spec["file"]), [key for key in needed if key not in spec])
    has_choices = not first_is_right and "target" not in spec
    is_open = any(spec.get(key, "choice") != "choice" for key in ("scorer", "answer"))
    omitted = (
        {*spec} | ({"target"} if first_is_right else set()) | (set() if has_choices and not is_open else {"choices"})
    )
    by_name = {key: name for key, name in fields.items() if key not in omitted}
    return {**spec, **by_name}, by_name


def find_fields(file: Path, needed: Sequence[str] = ("question", "target")) -> dict[str, str | list[str]]:
    """Return the fields of a file of questions by the keys of `benchmark`, by their usual names.

    Several fields have a choice each where they are named A, B and so on (or choice_1, Option A and the like) and the
    first target is the letter, the place or the text of one.

    Raises
    ------
    InputError
        When the file cannot be read, or has no field with a usual name for a key that is needed.
    """
    row = next(read_rows(file, file.name), None)
    if row is None:
        raise InputError("no questions", where=str(file), remedy="give a file with a row for each question")
    names = _fold_names(row[1])
    fields: dict[str, str | list[str]] = {
        key: next(names[name] for name in usual if name in names)
        for key, usual in _FIELD_NAMES.items()
        if any(name in names for name in usual)
    }
    if lacking := [key for key in needed if key not in fields]:
        what = f"no field is called {' or '.join(lacking)}; its fields are {', '.join(names.values())}"
        keys = ", ".join(f"{key}: FIELD" for key in lacking)
        remedy = f"name the fields: benchmark: {{file: {file.name}, {keys}}} (docs/experiment_keys.md)"
        raise InputError(what, where=str(file), remedy=remedy)
    if "choices" not in fields and "target" in fields:
        target = str(row[1][str(fields["target"])]).strip()
        for choice_fields in _list_choice_fields(names):
            texts = [str(row[1][field]).strip() for field in choice_fields]
            if any(parse(target, (), texts) is not None for parse in TARGETS.values()):
                fields["choices"] = choice_fields
                break
    return fields


def _list_choice_fields(names: Mapping[str, str]) -> list[list[str]]:
    """Return each series of fields that are named as choices are, A, B and so on, in their order."""
    by_stem: dict[tuple[str, bool], dict[str, str]] = {}
    for name, own in names.items():
        if match := _CHOICE_FIELD.fullmatch(name):
            stem, letter, number = match.groups()
            if stem or letter:  # a column that is only a number is no choice
                by_stem.setdefault((stem or "", bool(letter)), {})[letter or number] = own
    series = []
    for (_, has_letters), fields in by_stem.items():
        marks = sorted(fields) if has_letters else sorted(fields, key=int)
        places = [ord(mark) - ord("a") if has_letters else int(mark) for mark in marks]
        if len(marks) > 1 and places[0] in (0, 1 - has_letters) and places[-1] - places[0] == len(marks) - 1:
            series.append([fields[mark] for mark in marks])
    return series


def _fold_names(row: Mapping[str, object]) -> dict[str, str]:
    """Return the names of the fields of a row by their form that is compared."""
    return {str(name).strip().casefold().replace(" ", "_"): str(name) for name in row}


def _read_bytes(path: Path, file: str) -> bytes:
    """Return the content of a file."""
    try:
        return read_regular_file(path)
    except OSError as e:
        remedy = "give another path" if Path(file).is_absolute() else "paths start from the experiment's folder"
        raise InputError(f"cannot read the benchmark: {e.strerror}", where=str(path), remedy=remedy) from None


def build_benchmark(spec: FileSpec, rows: Iterable[PlacedRow], *, shot_rows: Iterable[PlacedRow] = ()) -> Benchmark:
    """Return the benchmark of rows.

    Parameters
    ----------
    spec
        How the rows are read.
    rows
        Place and fields of each row.
    shot_rows
        Rows of the questions that are shown with their answers.

    Raises
    ------
    InputError
        When a row cannot be read, or there is no question.
    """
    keys, form = spec.keys, spec.form
    file = keys["file"]
    if spec.where:
        rows = select_rows(rows, spec.where, file=file)
    parsed = parse_questions(rows, form, skip_invalid=spec.skip_invalid)
    if not parsed.questions:
        remedy = "give a file with one row per question"
        raise parsed.first_error or InputError("no questions in the file", where=file, remedy=remedy)
    for note in parsed.list_notes():
        warn(replace(note, where=file), stacklevel=3)
    if spec.per_stratum is not None:
        sample_per_stratum(parsed, spec.per_stratum)
    demonstrations: tuple[Demonstration, ...] = ()
    if spec.shots:
        shots_file = keys.get("shots_file", file)
        examples = parse_questions(shot_rows, replace(form, keys={**keys, "file": shots_file}), skip_invalid=True)
        wanted = {question.stratum for question in parsed.questions}
        examples.keep_only([question.stratum in wanted for question in examples.questions])
        pattern = keys.get("shots_answer", "{target}")
        demonstrations = build_demonstrations(examples, spec.shots, pattern, spec.shots_replace, shots_file)
        if missing := wanted - {demonstration.question.stratum for demonstration in demonstrations}:
            what = f"no questions of {min(missing)!r} for {spec.shots} shots"
            raise InputError(what, where=shots_file, remedy="leave shots out, or give another shots_file")
    template = keys.get("template", _CHOICE_TEMPLATE if form.choice_fields else "{question}")
    name = keys.get("name") or Path(file).stem
    source = {key: value for key, value in keys.items() if key != "answer"} | {"name": name, "scorer": form.kind}
    if form.choice_fields:
        source["choices"] = ", ".join(form.choice_fields)
    source |= {_KEYS_OF_NOTES[note.code]: note.text for note in parsed.list_notes()}
    is_open = not any(question.choices for question in parsed.questions)
    kind = keys.get("scorer_without_choices", form.kind) if is_open else form.kind
    return Benchmark(
        name=name,
        questions=add_alternatives(parsed.questions, kind),
        prompt=Prompt(system=keys.get("system", ""), template=template, demonstrations=demonstrations),
        extract=ANSWERS[form.kind][0]
        if form.scorer is None or form.kind in ANSWERS
        else partial(_extract_with, form.scorer),
        scorer=form.scorer,
        clusters=parsed.clusters,
        strata={name: [values[i] for values in parsed.strata] for i, name in enumerate(form.strata)},
        language=keys.get("language", ""),
        source=source,
        pin=keys.get("pin", ""),
    )


def parse_file_spec(spec: Mapping[str, object]) -> FileSpec:
    """Return the keys of a spec, checked.

    Raises
    ------
    UnknownNameError
        When there is no key, kind of target or scorer of a name.
    InputError
        When a key is missing, two contradict each other, or a value is of another kind than the key's.
    """
    for key in spec:
        if key not in FILE_KEYS:
            raise UnknownNameError("key", str(key), FILE_KEYS, where="benchmark")
    choice_fields, first_is_right = _parse_choice_fields(spec)
    target_fields = [] if first_is_right else _parse_names(spec, "target")
    one_text = {key: value for key, value in spec.items() if key in _TEXT_KEYS}
    if not first_is_right:
        one_text["target"] = ", ".join(target_fields)
    keys = _parse_texts(one_text, with_choices=bool(choice_fields), with_target=not first_is_right)
    kind = keys.pop("answer", None) or keys.get("scorer", "choice" if choice_fields else DEFAULT_SCORER)
    scorer = None if kind in ANSWERS else build_scorer(kind, "benchmark, scorer", ANSWERS)
    if (open_kind := keys.get("scorer_without_choices")) is not None:
        if not choice_fields or first_is_right:
            remedy = f"{_NAME_CHOICES}; or write scorer"
            raise InputError("scorer_without_choices goes with choices", where="benchmark", remedy=remedy)
        scorer = build_scorer(open_kind, "benchmark, scorer_without_choices")
    skip_invalid = spec.get("skip_invalid", False)
    if not isinstance(skip_invalid, bool):
        raise InputError(f"skip_invalid is {skip_invalid!r}", where="benchmark", remedy="give true or false")
    shuffle = _parse_whole_number(spec, "shuffle", 0 if first_is_right else None)
    if shuffle is not None and not choice_fields:
        raise InputError("shuffle goes with choices", where="benchmark", remedy="leave shuffle out")
    strata = _parse_names(spec, "strata") if "strata" in spec else []
    per_stratum = _parse_whole_number(spec, "per_stratum", None)
    if per_stratum == 0 or (per_stratum and not strata):
        what = f"per_stratum is {per_stratum}" + ("" if strata else ", and the benchmark has no strata")
        remedy = "give a number from 1, and name the fields: strata: [subject]"
        raise InputError(what, where="benchmark", remedy=remedy)
    form = RowFormat(keys, kind, choice_fields, target_fields, scorer, first_is_right, shuffle, strata)
    return FileSpec(
        keys,
        form,
        where=_parse_where(spec),
        shots=_parse_whole_number(spec, "shots", 0) or 0,
        shots_replace=_parse_replacements(spec),
        skip_invalid=skip_invalid,
        per_stratum=per_stratum,
    )


def _parse_choice_fields(spec: Mapping[str, object]) -> tuple[list[str], bool]:
    """Return the names of the fields with choices, none without choices, and whether the first of them is right."""
    if "correct" in spec or "incorrect" in spec:
        if "choices" in spec or "target" in spec:
            remedy = "give correct and incorrect, or choices and target"
            raise InputError("correct beside choices or target", where="benchmark", remedy=remedy)
        if not isinstance(spec.get("correct"), str):
            remedy = "name the field with the right choice: correct: FIELD"
            raise InputError(f"correct is {spec.get('correct')!r}", where="benchmark", remedy=remedy)
        fields, first_is_right = [str(spec["correct"]), *_parse_names(spec, "incorrect")], True
    elif "choices" in spec:
        fields, first_is_right = _parse_names(spec, "choices"), False
    else:
        return [], False
    for key in ("scorer", "answer"):
        if spec.get(key, "choice") != "choice":
            remedy = f"leave {key} out, or remove choices"
            raise InputError(f"answers to choices are read as {spec[key]!r}", where="benchmark", remedy=remedy)
    if isinstance(template := spec.get("template", "{choices}"), str) and "{choices}" not in template:
        remedy = "write {choices} where the choices go"
        raise InputError("the template has no place for the choices", where="benchmark", remedy=remedy)
    return fields, first_is_right


def _parse_names(spec: Mapping[str, object], key: str) -> list[str]:
    """Return the fields that a key names: one, or a list of them."""
    given = spec.get(key, "")
    names = given if isinstance(given, list) and given else [given]
    if not all(isinstance(name, str) and (name or key == "target") for name in names):
        raise InputError(f"{key} is {given!r}", where="benchmark", remedy="name a field, or list several")
    return [str(name) for name in names]


def _parse_texts(spec: Mapping[str, object], *, with_choices: bool, with_target: bool) -> dict[str, str]:
    """Return the keys of a spec whose values are text, checked."""
    for key, value in spec.items():
        if not isinstance(value, str):
            raise InputError(f"{key} is {value!r}", where="benchmark", remedy="give text; put it in quotes in YAML")
    keys = {key: str(value) for key, value in spec.items()}
    for key in ("file", "question", *(["target"] if with_target else [])):
        if not keys.get(key):
            remedy = f"add {key}: {'PATH' if key == 'file' else 'the name of the field that holds it'}"
            raise InputError(f"a benchmark from a file needs {key!r}", where="benchmark", remedy=remedy)
    if "answer" in keys and keys.get("scorer", keys["answer"]) != keys["answer"]:
        what = f"scorer is {keys['scorer']!r} and answer is {keys['answer']!r}, which is the same key"
        raise InputError(what, where="benchmark", remedy="keep scorer")
    if "target_is" in keys and not (with_choices and with_target):
        remedy = _NAME_CHOICES
        raise InputError("target_is goes with choices", where="benchmark", remedy=remedy)
    if keys.get("target_is", "text") not in TARGETS:
        raise UnknownNameError("kind of target", keys["target_is"], TARGETS, where="benchmark")
    if keys.get("pin", "choices") != "choices":
        raise UnknownNameError("pin", keys["pin"], ("choices",), where="benchmark")
    _check_prompt(keys)
    return keys


def _check_prompt(keys: Mapping[str, str]) -> None:
    """Raise an error for a language that is no code, and for a template without question or with unknown fields."""
    language = keys.get("language")
    if language is not None and not _LANGUAGE.fullmatch(language):
        remedy = "give a code of two or three letters, such as de, pt-BR or zh"
        raise InputError(f"language is {language!r}", where="benchmark", remedy=remedy)
    template = keys.get("template", "{question}")
    if "{question}" not in template:
        remedy = "write {question} where the question goes"
        raise InputError("the template has no place for the question", where="benchmark", remedy=remedy)
    for name in _TEMPLATE_FIELD.findall(template):
        if name not in ("question", "choices"):
            remedy = f'put fields of the file into the question: question: "{{{name}}} {{{keys["question"]}}}"'
            raise InputError(f"the template has no field {{{name}}}", where="benchmark", remedy=remedy)


def _parse_whole_number(spec: Mapping[str, object], key: str, default: int | None) -> int | None:
    """Return a key that is a whole number from 0."""
    value = spec.get(key, default)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise InputError(f"{key} is {value!r}", where="benchmark", remedy="give a whole number from 0")
    return value


def _parse_where(spec: Mapping[str, object]) -> dict[str, list[str]]:
    """Return the allowed values of fields, as text."""
    given = spec.get("where", {})
    remedy = "give fields with their values: where: {subject: [anatomy, astronomy]}"
    if not isinstance(given, Mapping):
        raise InputError(f"where is {given!r}", where="benchmark", remedy=remedy)
    allowed = {}
    for name, value in given.items():
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(one, str | int | float) for one in values):
            raise InputError(f"where has {values!r} for {name!r}", where="benchmark", remedy=remedy)
        allowed[str(name)] = [str(one) for one in values]
    return allowed


def _parse_replacements(spec: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Return the regular expressions of `shots_replace`, each with its replacement."""
    given = spec.get("shots_replace", [])
    pairs = []
    for pair in given if isinstance(given, Sequence) else [given]:
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            remedy = "give pairs of a regular expression and its replacement: [['#### ', 'Answer: ']]"
            raise InputError(f"shots_replace has {pair!r}", where="benchmark", remedy=remedy)
        try:
            re.compile(pair[0])
        except re.error as error:
            remedy = "correct the regular expression"
            raise InputError(f"shots_replace has {pair[0]!r}: {error}", where="benchmark", remedy=remedy) from None
        pairs.append((pair[0], pair[1]))
    return tuple(pairs)


def _extract_with(scorer: Scorer, text: str, *, context: CompletionContext | None = None) -> str | None:
    """Return the answer that a scorer reads; the target does not matter for it."""
    return scorer.score(text, ScoringItem("", "", "", "0", context or CompletionContext())).answer
