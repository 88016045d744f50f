"""Turn the rows of a file into questions: their text, choices, right answers, ids, clusters and strata."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from howsure.benchmarks.question import (
    TARGETS,
    Demonstration,
    Question,
    find_equal_choices,
    parse_choices,
    parse_targets,
)
from howsure.benchmarks.row_fields import fill_pattern, find_pattern_fields, get_value, order_by_hash, read_text
from howsure.errors import InputError, UnknownNameError
from howsure.notes import Note
from howsure.rows.formats import PlacedRow
from howsure.scorers.directions import CARDINAL, DIRECTIONS, extract_direction
from howsure.scorers.drop import list_accepted_answers
from howsure.scorers.multiple_choice import extract_choice
from howsure.scorers.numbers import extract_number
from howsure.scorers.numerals import canonical_number
from howsure.scorers.registry import SCORERS
from howsure.scorers.scorer_parts import Scorer, ScoringItem
from howsure.scorers.targets import parse_items, write_targets
from howsure.scorers.targets import parse_targets as parse_accepted
from howsure.scorers.yes_no import is_yes_or_no

#: Scorers whose answers have a canonical form: name -> (function from completion to answer, function from target to
#: canonical answer, name in errors).
ANSWERS: dict[str, tuple[Callable[[str], str | None], Callable[[str], str | None], str]] = {
    "numeric": (extract_number, canonical_number, "a number"),
    "direction": (extract_direction, extract_direction, "one of the eight directions"),
    "choice": (extract_choice, extract_choice, "the letter of a choice"),
}
#: Scorers whose target is a JSON object with all the fields that `target` names.
_JOINED_TARGETS = ("ifeval", "unit-tests")
#: Most answers of other questions that simulated models give as wrong ones to questions of the scorer maths.
_MOST_WRONG = 3
#: A choice that speaks of the other ones, and so stays the last one when choices are shuffled.
_REFERS = re.compile(
    r"(?:all|none|both|neither|any|two|some)\b.{0,20}\b(?:above|these|others?|options|choices)\b.{0,9}", re.IGNORECASE
)
#: Rows with empty last choices are noted where they are at most this share: more of them are a property of the file.
SHARE_MISSING = 0.1


@dataclass(frozen=True)
class RowFormat:
    """How the rows of a file are read.

    Attributes
    ----------
    keys
        Keys of the spec that are text, such as `question` and `id`.
    kind
        Name of the scorer, or of the kind of answer in `ANSWERS`.
    choice_fields, target_fields
        Fields with the choices, and with the right answers.
    scorer
        Scorer of open answers, or None.
    first_is_right
        Whether the first choice is the right one, so that no field has a target.
    shuffle
        Seed with which the choices of each question are shuffled; None to keep their order.
    strata
        Fields whose values are strata.
    """

    keys: Mapping[str, str]
    kind: str
    choice_fields: Sequence[str] = ()
    target_fields: Sequence[str] = ()
    scorer: Scorer | None = None
    first_is_right: bool = False
    shuffle: int | None = None
    strata: Sequence[str] = ()


@dataclass
class ParsedRows:
    """What was read from the rows of a file, in their order, and the rows that were left out or are odd, by reason."""

    questions: list[Question] = field(default_factory=list)
    rows: list[dict[str, object]] = field(default_factory=list)
    labels: list[list[str]] = field(default_factory=list)
    clusters: list[str] = field(default_factory=list)
    strata: list[list[str]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    odd: dict[str, list[str]] = field(default_factory=dict)
    first_error: InputError | None = None

    def leave_out(self, reason: str, place: str, error: InputError) -> None:
        """Note that the row at a place is left out."""
        self.left_out.setdefault(reason, []).append(place)
        self.first_error = self.first_error or error

    def keep_only(self, fitting: Sequence[bool]) -> None:
        """Remove the rows that do not fit."""
        for name in ("questions", "rows", "labels", "clusters", "strata", "places"):
            values = getattr(self, name)
            setattr(self, name, [value for value, fits in zip(values, fitting, strict=False) if fits])

    def list_notes(self) -> Iterator[Note]:
        """Yield notes on the rows that are left out, and on those that are kept although they are odd."""
        if n := sum(map(len, self.left_out.values())):
            facts = {"left_out": n, "total": n + len(self.questions), "reasons": _list_places(self.left_out)}
            yield Note("rows-left-out", n=n, facts=facts)
        if n := sum(map(len, self.odd.values())):
            yield Note("odd-rows", n=n, facts={"reasons": _list_places(self.odd)})


def _list_places(reasons: Mapping[str, Sequence[str]]) -> str:
    """Return the number of rows for each reason, and the first of them."""
    parts = []
    for reason, places in reasons.items():
        more = f" and {len(places) - 3} more" if len(places) > 3 else ""
        parts.append(f"{len(places)} {reason} ({', '.join(places[:3])}{more})")
    return "; ".join(parts)


def parse_questions(rows: Iterable[PlacedRow], form: RowFormat, *, skip_invalid: bool = False) -> ParsedRows:
    """Return the questions of rows.

    A row that repeats a question is kept under an id of its own (`-2` is added), and so is a question with two equal
    choices; `ParsedRows.odd` has both, and the few rows of a file whose last choices are empty.

    Parameters
    ----------
    rows
        Place and fields of each row.
    form
        How they are read.
    skip_invalid
        Whether rows that cannot be read are left out; without it they are an error.

    Raises
    ------
    UnknownNameError
        When a row has no field of a name.
    InputError
        When a row cannot be read, or two questions have one id.
    """
    keys = form.keys
    file = keys["file"]
    parsed = ParsedRows()
    by_id: dict[str, tuple[str, Question]] = {}
    for place, row in rows:
        where = f"{file}, {place}"
        try:
            question, labels = _parse_question(row, form, where)
        except UnknownNameError:
            raise
        except InputError as error:
            if not skip_invalid:
                remedy = f"{error.remedy}, or leave out such rows: skip_invalid: true"
                raise InputError(error.what, where=error.where, remedy=remedy) from None
            parsed.leave_out("cannot be read", place, error)
            continue
        question = _note_odd(question, place, parsed, by_id, file)
        by_id[question.id] = (place, question)
        parsed.questions.append(question)
        parsed.rows.append(row)
        parsed.labels.append(labels)
        parsed.places.append(place)
        parsed.strata.append([str(get_value(row, name, where)) for name in form.strata])
        if "cluster" in keys:
            parsed.clusters.append(_shorten(read_text(row, keys["cluster"], where)))
    if form.choice_fields and parsed.questions:
        _note_missing_choices(parsed, form)
        if not form.first_is_right:
            _convert_targets(parsed, file, keys.get("target_is"), skip_invalid=skip_invalid)
        if form.shuffle is not None:
            parsed.questions = [_shuffle_choices(q, form.shuffle) if q.choices else q for q in parsed.questions]
    return parsed


def sample_per_stratum(parsed: ParsedRows, count: int) -> None:
    """Keep so many questions of each stratum, drawn by the hashes of their ids.

    A larger count keeps the questions of a smaller one, and the order of the file does not matter.

    Parameters
    ----------
    parsed
        The rows, of which some are removed.
    count
        Most questions of each combination of the values of the strata.
    """
    by_stratum: dict[tuple[str, ...], list[tuple[bytes, int]]] = {}
    for place, (question, values) in enumerate(zip(parsed.questions, parsed.strata, strict=True)):
        digest = hashlib.sha256(f"per_stratum\0{question.id}".encode("utf-8", "surrogatepass")).digest()
        by_stratum.setdefault(tuple(values), []).append((digest, place))
    chosen = {place for group in by_stratum.values() for _, place in sorted(group)[:count]}
    parsed.keep_only([place in chosen for place in range(len(parsed.questions))])


def _shorten(text: str) -> str:
    """Return a text, or a hash of it if it is a whole passage."""
    return text if len(text) <= 100 else hashlib.sha256(text.encode()).hexdigest()[:12]


def _note_odd(
    question: Question, place: str, parsed: ParsedRows, by_id: Mapping[str, tuple[str, Question]], file: str
) -> Question:
    """Return a question under an id that no row before it has, and note what is odd about it."""
    if find_equal_choices(question.choices):
        parsed.odd.setdefault("with two equal choices", []).append(place)
    if question.id not in by_id:
        return question
    first, other = by_id[question.id]
    if other != question:
        what, remedy = f"same id {question.id!r} in {first} and {place}", "give each row its own id"
        raise InputError(what, where=file, remedy=remedy)
    parsed.odd.setdefault("that repeat a question", []).append(place)
    number = next(n for n in range(2, len(by_id) + 3) if f"{question.id}-{n}" not in by_id)
    return replace(question, id=f"{question.id}-{number}")


def _note_missing_choices(parsed: ParsedRows, form: RowFormat) -> None:
    """Note the rows with fewer choices than fields, where they are so few that their last choices may be lost."""
    few = [
        place
        for place, question in zip(parsed.places, parsed.questions, strict=True)
        if 0 < len(question.choices) < len(form.choice_fields)
    ]
    if len(form.choice_fields) > 2 and few and len(few) <= SHARE_MISSING * len(parsed.questions):
        parsed.odd["with fewer choices than the others, because the last fields are empty"] = few


def _parse_question(row: dict[str, object], form: RowFormat, where: str) -> tuple[Question, list[str]]:
    """Return the question of a row, and the labels that the row gives its choices."""
    keys = form.keys
    text = read_text(row, keys["question"], where)
    has_choices = form.choice_fields and (form.scorer is None or _has_choices(row, form.choice_fields))
    choices, labels = list[str](), list[str]()
    if has_choices:
        choices, labels = parse_choices(row, form.choice_fields, where, first_is_right=form.first_is_right)
    target, accepted = "A", list[str]()
    if not form.first_is_right:
        kind = form.kind if choices or not form.choice_fields else keys["scorer_without_choices"]
        target, *accepted = _parse_accepted(row, form.target_fields, keys.get("target_after"), kind, where)
    if form.scorer is not None and not choices:
        _check_target(form.scorer, write_targets((target, *accepted)), where)
    elif not form.choice_fields:
        target = _parse_target(target, form.kind, keys.get("language", ""), where)
    if "id" in keys:
        identity = read_text(row, keys["id"], where)
    else:
        identity = hashlib.sha256("\0".join((text, *choices, target, *accepted)).encode()).hexdigest()[:12]
    stratum = read_text(row, keys["shots_by"], where) if "shots_by" in keys else ""
    solution = _read_solution(row, form.target_fields, keys.get("target_after"), where)
    question = Question(
        *(identity, text, target),
        choices=tuple(choices),
        accepted=tuple(accepted),
        stratum=stratum,
        solution=solution,
    )
    return question, labels


def _read_solution(row: Mapping[str, object], fields: Sequence[str], mark: str | None, where: str) -> str:
    """Return the text before the mark of the target; empty without a mark, or where several fields hold targets."""
    return read_text(row, fields[0], where).rpartition(mark)[0].strip() if mark and len(fields) == 1 else ""


def _has_choices(row: Mapping[str, object], fields: Sequence[str]) -> bool:
    """Return whether one of the fields of choices is there and holds something."""
    return any(row.get(name) not in (None, "", [], {}) for name in fields)


def _shuffle_choices(question: Question, seed: int) -> Question:
    """Return a question with its choices in another order, that of its seed and id; "all of the above" stays last."""
    order = order_by_hash(len(question.choices), f"{seed} {question.id}")
    order.sort(key=lambda i: _REFERS.fullmatch(question.choices[i].strip()) is not None)
    right = order.index(ord(question.target) - ord("A"))
    return replace(question, choices=tuple(question.choices[i] for i in order), target=chr(ord("A") + right))


def build_demonstrations(
    parsed: ParsedRows, shots: int, pattern: str, replacements: Sequence[tuple[str, str]], file: str
) -> tuple[Demonstration, ...]:
    """Return the first questions of each stratum with their answers.

    Parameters
    ----------
    parsed
        Questions that are not evaluated.
    shots
        Number of demonstrations of each stratum.
    pattern
        The answer, with fields of the row in braces; `{target}` is the right answer in canonical form.
    replacements
        Regular expressions and what replaces their matches in the answer, in turn.
    file
        Name of the file in errors.

    Raises
    ------
    InputError
        When a stratum has fewer questions than `shots`.
    """
    by_stratum: dict[str, list[Demonstration]] = {}
    for question, row, place in zip(parsed.questions, parsed.rows, parsed.places, strict=True):
        group = by_stratum.setdefault(question.stratum, [])
        if len(group) < shots:
            answer = fill_pattern({**row, "target": question.target}, pattern, f"{file}, {place}")
            for expression, replacement in replacements:
                answer = re.sub(expression, replacement, answer, flags=re.MULTILINE)
            group.append(Demonstration(question, answer.strip()))
    for stratum, group in by_stratum.items():
        if len(group) < shots:
            of = f" of {stratum!r}" if stratum else ""
            raise InputError(f"{len(group)} questions{of} for {shots} shots", where=file, remedy="ask for fewer shots")
    return tuple(demonstration for group in by_stratum.values() for demonstration in group)


def _convert_targets(parsed: ParsedRows, file: str, kind: str | None, *, skip_invalid: bool) -> None:
    """Convert the targets of questions with choices to letters; with `skip_invalid`, leave out those that are none."""
    if skip_invalid:
        parsers = [TARGETS[kind]] if kind else list(TARGETS.values())
        rows = list(zip(parsed.questions, parsed.labels, strict=True))
        fitting = [
            not question.choices
            or any(parse(question.target.strip(), labels, question.choices) is not None for parse in parsers)
            for question, labels in rows
        ]
        for place in (place for place, fits in zip(parsed.places, fitting, strict=True) if not fits):
            error = InputError("the target is none of the choices", where=f"{file}, {place}", remedy="correct the row")
            parsed.leave_out("with a target that is none of the choices", place, error)
        parsed.keep_only(fitting)
        if not parsed.questions:
            return
    # Questions without choices, where a file has some, keep their targets.
    rows_with_choices = [i for i, question in enumerate(parsed.questions) if question.choices]
    if not rows_with_choices:
        return
    letters = parse_targets(
        [parsed.questions[i].target for i in rows_with_choices],
        [parsed.questions[i].choices for i in rows_with_choices],
        [parsed.labels[i] for i in rows_with_choices],
        [parsed.places[i] for i in rows_with_choices],
        file=file,
        kind=kind,
    )
    for i, letter in zip(rows_with_choices, letters, strict=True):
        parsed.questions[i] = replace(parsed.questions[i], target=letter)


def _parse_accepted(
    row: dict[str, object], fields: Sequence[str], mark: str | None, kind: str, where: str
) -> Sequence[str]:
    """Return the right answers of a row, of which there is one, except for scorers of open answers."""
    name = kind.partition(":")[0]
    if name == "drop" and isinstance(get_value(row, fields[0], where), Mapping):
        accepted = list_accepted_answers(*(get_value(row, name_of_field, where) for name_of_field in fields[:2]))
        if not accepted:
            remedy = "fill in number, spans or date, or remove the row"
            raise InputError(f"field {fields[0]!r} holds no answer", where=where, remedy=remedy)
        return accepted
    if name in _JOINED_TARGETS:
        values = {name_of_field: get_value(row, name_of_field, where) for name_of_field in fields}
        return [json.dumps(values, ensure_ascii=False)]
    targets: list[str] = []
    for i, name_of_field in enumerate(fields):
        is_pattern = name_of_field not in row and bool(find_pattern_fields(name_of_field))
        value = None if is_pattern else get_value(row, name_of_field, where)
        if i and not is_pattern and (value is None or value == ""):
            continue  # a question may have fewer right answers than another
        if name == "choice" and isinstance(value, list):
            targets.append(json.dumps(value))
        elif name not in ANSWERS and isinstance(value, list | dict) and value:
            text = json.dumps(value, ensure_ascii=False)
            targets += [_write_items(text)] if name == "list" else map(str.strip, parse_accepted(text))
        else:
            text = _cut_before(read_text(row, name_of_field, where), mark, where)
            targets += [text] if name in {*ANSWERS, "list"} else map(str.strip, parse_accepted(text))
    if len(targets) > 1 and name in {*ANSWERS, "list"}:
        remedy = "name one field, or another scorer"
        raise InputError(f"several targets, and the scorer {name} takes one", where=where, remedy=remedy)
    return list(dict.fromkeys(targets))


def _write_items(text: str) -> str:
    """Return the items of a JSON list with commas between them, if they are read from that text as well."""
    items = parse_items(text)
    plain = ", ".join(names[0] for names in items)
    return plain if parse_items(plain) == items else text


def _check_target(scorer: Scorer, target: str, where: str) -> None:
    """Raise if a target is none for its scorer; scorers in a subprocess, which take longer, find it in the run."""
    if scorer.in_subprocess:
        return
    try:
        if scorer.name != "judge":  # a model, which reads any target
            scorer.score("a", ScoringItem("", "", "", target))
    except ValueError as error:
        remedy = f"correct the row, or name another scorer: {', '.join(dict.fromkeys((*ANSWERS, *SCORERS)))}"
        raise InputError(str(error), where=where, remedy=remedy) from None


def _parse_target(text: str, kind: str, language: str, where: str) -> str:
    """Return a target in canonical form."""
    _, parse, what = ANSWERS[kind]
    target = canonical_number(text, language) if kind == "numeric" else parse(text)
    if target is None:
        remedy = f"correct the row, or name another scorer: {', '.join(dict.fromkeys((*ANSWERS, *SCORERS)))}"
        raise InputError(f"target {_quote_short(text)} is not {what}", where=where, remedy=remedy)
    return target


def _cut_before(text: str, mark: str | None, where: str) -> str:
    """Return the text after the last mark; the whole text if the spec has no mark."""
    if mark and mark not in text:
        remedy = "correct target_after or the row"
        raise InputError(f"no {mark!r} before the target in {_quote_short(text)}", where=where, remedy=remedy)
    return text.rpartition(mark)[2] if mark else text


def _quote_short(text: str) -> str:
    """Return a text in quotation marks, cut to 60 characters."""
    text = " ".join(text.split())
    return repr(text if len(text) <= 60 else text[:57] + "...")


def add_alternatives(questions: list[Question], kind: str) -> list[Question]:
    """Return the questions with the other possible answers, where the kind or the file itself shows which they are."""
    targets = sorted({q.target for q in questions})
    answers: tuple[str, ...] = ()
    if kind == "direction":
        answers = CARDINAL if set(targets) <= set(CARDINAL) else DIRECTIONS
    elif kind == "choice" and any(q.choices for q in questions):
        letters = [chr(ord("A") + i) for i in range(max(len(q.choices) for q in questions))]
        return [
            replace(q, alternatives=tuple(a for a in letters[: len(q.choices)] if a != q.target)) for q in questions
        ]
    elif kind == "choice":
        answers = tuple(chr(c) for c in range(ord("A"), max(ord("D"), ord(targets[-1])) + 1))
    elif kind in {"exact", "normalised", "contains"} and 2 <= len(targets) <= min(8, len(questions) - 1):
        answers = tuple(targets)  # labels, such as yes and no
    elif kind == "yes-no":
        answers = ("yes", "no")
        return [replace(q, alternatives=(answers[is_yes_or_no(q.target) == "yes"],)) for q in questions]
    elif kind == "maths":
        answers = tuple(targets[: _MOST_WRONG + 1])
    return [replace(q, alternatives=tuple(a for a in answers if a not in {q.target, *q.accepted})) for q in questions]
