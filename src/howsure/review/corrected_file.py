"""Write the file of a benchmark again, with the right answers that reviewers gave in place of wrong targets."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from howsure.benchmarks.question import TARGETS, Question
from howsure.benchmarks.question_file import FileSpec, parse_file_spec
from howsure.benchmarks.question_rows import ParsedRows, parse_questions
from howsure.benchmarks.row_fields import get_value, select_rows
from howsure.errors import InputError
from howsure.rescoring.own_benchmark import find_benchmark_folder, parse_recorded_spec
from howsure.rescoring.run_context import RunContext
from howsure.review.queue import RunTexts
from howsure.review.verdicts import Decision
from howsure.review.verdicts import load as load_verdicts
from howsure.rows.formats import PlacedRow, read_header, read_rows
from howsure.store import manifest

#: Largest number of ids that a line names.
_N_NAMED = 5


@dataclass(frozen=True)
class CorrectedFile:
    """A file of questions with corrected targets, and which questions were changed, left out or kept.

    Attributes
    ----------
    path, original
        The file that was written, and the file of the run's benchmark.
    n_questions
        Number of questions of the original.
    corrected
        Ids of questions whose target was replaced.
    left_out
        Ids of rejected questions without a right answer on which reviewers agree, whose rows were left out.
    disputed
        Ids of questions that some reviewers reject and others do not; they keep their target.
    n_other_answers
        Number of those left out for which reviewers gave different right answers.
    """

    path: Path
    original: Path
    n_questions: int
    corrected: tuple[str, ...]
    left_out: tuple[str, ...]
    disputed: tuple[str, ...]
    n_other_answers: int

    def describe(self) -> list[str]:
        """Return the counts in words, one line for each statement."""
        n = self.n_questions
        lines = [f"{self.path}: {len(self.corrected)} of {n} targets of {self.original} replaced by right answers"]
        for ids, what in (
            (self.left_out, "left out, because they were rejected without a right answer that is agreed on"),
            (self.disputed, "kept with their targets, because reviewers differ; howsure review --adjudicate decides"),
        ):
            if ids:
                more = ", ..." * (len(ids) > _N_NAMED)
                lines.append(f"{len(ids)} of {n} questions {what}: {', '.join(ids[:_N_NAMED])}{more}")
        if self.n_other_answers:
            what = f"reviewers gave different right answers to {self.n_other_answers} of those left out"
            lines.append(f"{what}; howsure review --adjudicate decides")
        return lines


def write_corrected_file(run: Path, verdicts: Path, output: Path, *, base: Path | None = None) -> CorrectedFile:
    """Write the file of a run's benchmark with the right answers that reviewers gave.

    Fields and their order, and rows without a verdict, stay as they are. Rows of rejected questions without a right
    answer are left out.

    Parameters
    ----------
    run
        Run folder whose benchmark is a file.
    verdicts
        Verdicts, as ``howsure review`` writes them.
    output
        The file to write, with the ending of the original; it must not exist.
    base
        Folder with the original; None looks beside the run folder and in the current folder.

    Raises
    ------
    InputError
        When the run has no benchmark of a file, or several; when the original is missing or was changed; when no
        verdict is on one of its questions; or when an answer cannot be written in the fields of the file.
    """
    benchmark, spec, original = _find_original(run, base)
    if output.suffix != original.suffix:
        what = "the name has another ending than the file of the benchmark"
        raise InputError(what, where=str(output), remedy=f"end it in {original.suffix}, as {original.name} does")
    if output.exists():
        raise InputError("the file exists already", where=str(output), remedy="give a new name")
    content = original.read_bytes()
    rows = list(read_rows(original, original.name))
    decisions = load_verdicts(verdicts)
    decided = {
        view.question: decisions[view.key]
        for view in RunTexts([run]).questions()
        if view.benchmark == benchmark and view.key in decisions
    }
    if not decided:
        remedy = "is it the right file of verdicts? A question whose text or target has changed needs a new verdict"
        raise InputError(f"no verdict in {verdicts} is on a question here", where=str(run), remedy=remedy)
    return _write(spec, original, content, rows, decided, output)


def _find_original(run: Path, base: Path | None) -> tuple[str, FileSpec, Path]:
    """Return the name of a run's benchmark, how its file is read, and the file."""
    sources = manifest.load(run).benchmarks
    names = [name for name, source in sources.items() if source.get("kind") == "file"]
    if len(names) != 1:
        what = f"{len(names)} benchmarks of the run are files" if names else "no benchmark of the run is a file"
        remedy = "give the run folder of an experiment with one benchmark: {file: ...}"
        raise InputError(what, where=str(run), remedy=remedy)
    context = RunContext(run, {}, base)
    source = sources[names[0]]
    spec = parse_file_spec(parse_recorded_spec(names[0], source, context))
    return names[0], spec, find_benchmark_folder(names[0], source, context) / str(source["file"])


def _write(
    spec: FileSpec,
    original: Path,
    content: bytes,
    rows: Sequence[PlacedRow],
    decided: Mapping[str, Decision],
    output: Path,
) -> CorrectedFile:
    """Write the rows with their new targets, and return what was changed."""
    name = original.name
    reviewed = _parse(rows, spec, name)
    in_file_order = _parse(rows, replace(spec, form=replace(spec.form, shuffle=None)), name)
    kinds = _list_target_kinds(in_file_order, spec)
    changed: dict[str, dict[str, object] | None] = {}
    right: dict[str, str] = {}
    corrected, left_out, disputed = list[str](), list[str](), list[str]()
    n_other_answers = 0
    for i, (place, question) in enumerate(zip(reviewed.places, reviewed.questions, strict=True)):
        decision = decided.get(question.id)
        if decision is not None and decision.answer:
            where = f"{name}, {place}"
            right[place] = _find_answer_text(question, decision.answer, where)
            row, plain = in_file_order.rows[i], in_file_order.questions[i]
            changed[place] = _replace_target(row, plain, in_file_order.labels[i], right[place], spec, kinds, where)
            corrected.append(question.id)
        elif decision is not None and decision.is_rejected:
            changed[place] = None
            left_out.append(question.id)
            n_other_answers += decision.needs_adjudication and len({one.answer for one in decision.reviews} - {""}) > 1
        elif decision is not None and decision.needs_adjudication:
            disputed.append(question.id)
    new_rows = _list_new_rows(rows, changed)
    _check_targets(new_rows, right, spec, name)
    output.write_bytes(_encode_rows(original, content, rows, changed))
    return CorrectedFile(
        *(output, original, len(reviewed.questions)),
        corrected=tuple(corrected),
        left_out=tuple(left_out),
        disputed=tuple(disputed),
        n_other_answers=n_other_answers,
    )


def _parse(rows: Sequence[PlacedRow], spec: FileSpec, name: str) -> ParsedRows:
    """Return the questions of the rows that the run's benchmark selects."""
    selected = select_rows(rows, spec.where, file=name) if spec.where else rows
    return parse_questions(selected, spec.form, skip_invalid=spec.skip_invalid)


def _find_answer_text(question: Question, answer: str, where: str) -> str:
    """Return the text of the choice whose letter the answer is; the answer itself for questions without choices."""
    if not question.choices:
        return answer
    index = TARGETS["letter"](answer.strip(), (), question.choices)
    if index is None:
        what = f"the right answer {answer!r} of {question.id} is no letter of a choice"
        last = chr(ord("A") + len(question.choices) - 1)
        raise InputError(what, where=where, remedy=f"give a letter from A to {last} in howsure review")
    return question.choices[index]


def _list_target_kinds(parsed: ParsedRows, spec: FileSpec) -> list[str]:
    """Return the kinds of targets, such as letters or places, that name the right choice of every question."""
    form = spec.form
    if not form.choice_fields or form.first_is_right:
        return []
    if "target_is" in form.keys:
        return [form.keys["target_is"]]
    field = form.target_fields[0]
    rows = [
        (str(get_value(row, field, "")).strip(), labels, question)
        for row, labels, question in zip(parsed.rows, parsed.labels, parsed.questions, strict=True)
        if question.choices
    ]
    return [
        kind
        for kind, parse in TARGETS.items()
        if all(parse(target, labels, one.choices) == ord(one.target) - ord("A") for target, labels, one in rows)
    ]


def _replace_target(
    row: Mapping[str, object],
    question: Question,
    labels: Sequence[str],
    right: str,
    spec: FileSpec,
    kinds: Sequence[str],
    where: str,
) -> dict[str, object]:
    """Return a row with another right answer, in the form in which the file writes it.

    Raises
    ------
    InputError
        When the file writes its targets in several fields, or in a form that cannot be written.
    """
    form = spec.form
    new = dict(row)
    if form.first_is_right:
        fields = form.choice_fields
        place = question.choices.index(right)
        first, other = fields[0], fields[min(place, len(fields) - 1)]
        if str(row[other]).strip() != right.strip():  # a field with a list of the wrong choices
            raise _build_form_error(fields, where)
        new[first], new[other] = row[other], row[first]
        return new
    field = form.target_fields[0]
    if len(form.target_fields) > 1 or field not in row:
        raise _build_form_error(form.target_fields, where)
    value = row[field]
    if not question.choices:
        text = right
        if (mark := form.keys.get("target_after")) and isinstance(value, str):
            before, _, old = value.rpartition(mark)
            text = before + mark + " " * old.startswith(" ") + right
        new[field] = [text] if isinstance(value, list) else _write_like(value, text)
        return new
    index = question.choices.index(right)
    texts = {
        "label": labels[index] if labels else "",
        "letter": chr(ord("A") + index),
        "index": str(index),
        "number": str(index + 1),
        "text": right,
    }
    kind = next((kind for kind in kinds if kind in texts), None)
    if kind is None:
        raise _build_form_error(form.target_fields, where)
    new[field] = _write_like(value, texts[kind])
    return new


def _write_like(value: object, text: str) -> object:
    """Return a text as a number or a truth value where the value before it was one.

    >>> _write_like(3, "4"), _write_like("3", "4"), _write_like(True, "False")
    (4, '4', False)
    """
    if isinstance(value, bool):
        return {"true": True, "false": False}.get(text.strip().lower(), text)
    if isinstance(value, int | float):
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
    return text


def _build_form_error(fields: Sequence[str], where: str) -> InputError:
    """Return the error of a file whose targets cannot be replaced."""
    what = f"the right answer is in {', '.join(fields)}, in a form that cannot be replaced"
    remedy = "correct this row by hand; howsure rescore --override scores with the right answers all the same"
    return InputError(what, where=where, remedy=remedy)


def _check_targets(rows: Sequence[PlacedRow], right: Mapping[str, str], spec: FileSpec, name: str) -> None:
    """Raise InputError where a new row cannot be read, or its choice is not the right one."""
    parsed = _parse(rows, spec, name)
    for place, question in zip(parsed.places, parsed.questions, strict=True):
        if place in right and question.choices and question.choices[ord(question.target) - ord("A")] != right[place]:
            raise _build_form_error(spec.form.target_fields or spec.form.choice_fields, f"{name}, {place}")


def _encode_rows(
    original: Path, content: bytes, rows: Sequence[PlacedRow], changed: Mapping[str, dict[str, object] | None]
) -> bytes:
    """Return the content of the new file; lines of JSON that did not change stay as they are written."""
    new_rows = _list_new_rows(rows, changed)
    if original.suffix == ".jsonl":
        lines = content.decode("utf-8-sig").split("\n")
        texts = (
            json.dumps(row, ensure_ascii=False) if place in changed else lines[int(place.removeprefix("line ")) - 1]
            for place, row in new_rows
        )
        return "".join(f"{text.rstrip()}\n" for text in texts).encode()
    if original.suffix == ".csv":
        file = io.StringIO(newline="")
        heading = content.decode("utf-8-sig").lstrip("\r\n").partition("\n")[0]
        ending = "\r\n" if heading.endswith("\r") else "\n"
        writer = csv.writer(file, delimiter=read_header(original).delimiter, lineterminator=ending)
        writer.writerow(rows[0][1])
        writer.writerows(row.values() for _, row in new_rows)
        return file.getvalue().encode("utf-8-sig" if content.startswith(codecs.BOM_UTF8) else "utf-8")
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pq.read_schema(pa.BufferReader(content))
    arrays = []
    for field in schema:
        values = [row[field.name] for _, row in new_rows]
        try:
            if pa.types.is_integer(field.type):
                pa.array([value for value in values if isinstance(value, float)]).cast(field.type)  # 2.5 is no integer
            arrays.append(pa.array(values, field.type))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            remedy = "give an answer of the type of the column, or change that in the file of the benchmark"
            what = f"a right answer does not fit the column {field.name!r}: {error}"
            raise InputError(what, where=original.name, remedy=remedy) from None
    stream = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), stream)
    return bytes(stream.getvalue().to_pybytes())


def _list_new_rows(
    rows: Sequence[PlacedRow], changed: Mapping[str, dict[str, object] | None]
) -> list[tuple[str, dict[str, object]]]:
    """Return the place and fields of the rows that are kept, changed or not."""
    every = [(place, changed.get(place, row)) for place, row in rows]
    return [(place, row) for place, row in every if row is not None]
