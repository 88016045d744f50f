"""Whether a space and the questions go together, said before anything is asked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace

from howsure.benchmarks.question import Benchmark, Question
from howsure.errors import InputError
from howsure.extraction.vocabulary import normalize
from howsure.perturb.dimensions import KNOWN, Value
from howsure.perturb.rendering import FIELD
from howsure.perturb.space import Space

__all__ = ["bind", "check"]

_OF_CHOICES = ("enumerator", "wrapper", "separator", "order", "answer")
_OF_LAYOUT = ("question", "choices", "labels", "question_marker", "answer_marker")
_BRACKETS = re.compile(r"[()\[\]{}.:*_`\s]+")


def bind(space: Space, benchmark: Benchmark, pool: Sequence[Question] = ()) -> Space:
    """Return the space for the questions of one benchmark, with a pool of demonstrations.

    Raises
    ------
    InputError
        When the questions, the pool and the values do not go together: see `check`.
    """
    bound = replace(space, pool=tuple(pool), extract=benchmark.extract)
    check(bound, benchmark.questions)
    return bound


def check(space: Space, questions: Sequence[Question]) -> None:
    """Check the space against the questions and its own pool.

    Raises
    ------
    InputError
        When a template leaves a field unused or names one that does not exist; an enumerator is too short, or two
        rendered labels are the same; a separator stands inside a choice; choices are not distinct; demonstrations are
        too few, or among the questions; a target is no choice.
    """
    asked = (*questions, *space.pool)
    _templates(space, with_choices=any(question.choices for question in asked))
    if any(question.choices for question in asked):
        _choices(asked)
        _labels(space, max(len(question.choices) for question in asked))
        _separators(space, asked)
    else:
        for dimension in space.dimensions:
            if dimension.name in _OF_CHOICES and len(dimension.values) > 1:
                remedy = "use a space for open questions, or name the field with the choices: choices: FIELD"
                raise InputError("the questions have no choices", where=_where(dimension.name), remedy=remedy)
    _pool(space, questions)


def _where(dimension: str) -> str:
    return f"dimension {dimension}"


def _templates(space: Space, *, with_choices: bool) -> None:
    own = [dimension.name for dimension in space.dimensions if dimension.name not in KNOWN]
    instructions = space.taken("instruction")
    outer = FIELD.findall(space.system) + FIELD.findall(space.head)
    spoken = {value.name: FIELD.findall(str(value.content)) for value in instructions}
    _known(outer, "system and head", ("instruction", "labels", *own))
    for name, fields in spoken.items():
        _known(fields, f"instruction {name!r}", ("labels", *own))
    used = {*outer, *(field for fields in spoken.values() for field in fields)}
    for name in (*own, *(["instruction"] if any(value.content for value in instructions) else [])):
        if name not in used:
            remedy = f"write {{{name}}} into head or system"
            raise InputError("no template has a place for it", where=_where(name), remedy=remedy)
    marked = any(any(value.content) for value in space.taken("markers") if isinstance(value.content, tuple))
    needed = ["question", *(["choices"] if with_choices else [])]
    needed += ["question_marker", "answer_marker"] if marked else []
    for value in space.taken("layout"):
        fields = FIELD.findall(str(value.content))
        _known(fields, f"layout {value.name!r}", _OF_LAYOUT)
        for field in needed:
            if field not in fields:
                remedy = f"write {{{field}}} where it goes"
                raise InputError(f"layout {value.name!r} has no place for {{{field}}}", where="space", remedy=remedy)


def _known(fields: Sequence[str], where: str, known: Sequence[str]) -> None:
    for field in fields:
        if field not in known:
            remedy = "use " + ", ".join(f"{{{name}}}" for name in known)
            raise InputError(f"there is no field {{{field}}}", where=where, remedy=remedy)


def _choices(asked: Sequence[Question]) -> None:
    for question in asked:
        where = f"question {question.id}"
        if not question.choices:
            raise InputError("it has no choices, as others have", where=where, remedy="ask the two kinds apart")
        seen: dict[str, str] = {}
        for choice in question.choices:
            said = normalize(unicodedata.normalize("NFKC", choice))
            if said in seen:
                what = f"two choices say the same: {seen[said]!r} and {choice!r}"
                raise InputError(what, where=where, remedy="correct the question or leave it out")
            seen[said] = choice
        if question.target not in (chr(ord("A") + i) for i in range(len(question.choices))):
            remedy = f"give a letter from A to {chr(ord('A') + len(question.choices) - 1)}"
            raise InputError(f"target {question.target!r} is none of its choices", where=where, remedy=remedy)


def _labels(space: Space, most: int) -> None:
    for value in space.taken("enumerator"):
        labels = value.content if isinstance(value.content, tuple) else ()
        where = f"{_where('enumerator')}, {value.name}"
        if len(labels) < most:
            what = f"{len(labels)} labels for questions of up to {most} choices"
            raise InputError(what, where=where, remedy="give more labels, or leave it out")
        used = labels[:most]
        for label in used:
            if not _BRACKETS.sub("", label):
                what = f"label {label!r} cannot be told from what is put around labels"
                raise InputError(what, where=where, remedy="give another label, or leave the enumerator out")
        for wrapper in space.taken("wrapper"):
            shown = [unicodedata.normalize("NFKC", str(wrapper.content).replace("{label}", label)) for label in used]
            for i, label in enumerate(shown):
                if label in shown[:i]:
                    what = f"two choices would be labelled {label!r}"
                    raise InputError(what, where=where, remedy="give labels that differ")


def _separators(space: Space, asked: Sequence[Question]) -> None:
    values = space.taken("separator")
    unfit = {value.name: found for value in values if (found := next(_inside(value, asked), None))}
    if unfit:
        name, (question, choice) = next(iter(unfit.items()))
        fit = ", ".join(value.name for value in values if value.name not in unfit)
        also = f" (so do {', '.join(list(unfit)[1:])} in others)" if len(unfit) > 1 else ""
        remedy = (
            f"keep those that fit: separator: [{fit}]" if fit else "give one that stands in no choice: {NAME: TEXT}"
        )
        what = f"{name} stands inside the choice {choice!r} of question {question.id}{also}"
        raise InputError(what, where=_where("separator"), remedy=remedy)


def _inside(value: Value, asked: Sequence[Question]) -> Iterator[tuple[Question, str]]:
    for question in asked:
        for choice in question.choices:
            if str(value.content) in choice:
                yield question, choice


def _pool(space: Space, questions: Sequence[Question]) -> None:
    most = max(value.content for value in space.taken("demonstrations") if isinstance(value.content, int))
    where = _where("demonstrations")
    if most > len(space.pool):
        what = f"{most} demonstrations from a pool of {len(space.pool)}"
        raise InputError(what, where=where, remedy="hold questions out (hold_out: N), or give a larger pool")
    ids, texts = {q.id for q in questions}, {(q.text, q.choices) for q in questions}
    for shown in space.pool:
        if shown.id in ids or (shown.text, shown.choices) in texts:
            what = f"demonstration {shown.id!r} is one of the questions"
            raise InputError(what, where=where, remedy="take it out of the pool, or hold questions out (hold_out: N)")
