"""Check that a space of prompt variants fits the questions of a benchmark, before the first request."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace

from howsure.benchmarks.question import Benchmark, Question, find_equal_choices
from howsure.errors import InputError
from howsure.notes import Note, warn
from howsure.perturb.dimensions import BUILT_IN_VALUES
from howsure.perturb.fitting_values import find_misfit
from howsure.perturb.instruction_checks import check_instructions
from howsure.perturb.option_references import find_option_references
from howsure.perturb.question_demands import (
    demands_own_answer,
    demands_own_form,
    demands_short_text,
    refers_to_another_question,
    rules_out_explanation,
)
from howsure.perturb.rendering import FIELD
from howsure.perturb.space import Space

_OF_CHOICES = ("enumerator", "wrapper", "separator", "order", "answer")
_OF_LAYOUT = ("question", "choices", "labels", "question_marker", "answer_marker")
_BRACKETS = re.compile(r"[()\[\]{}.:*_`\s]+")


def bind_space(
    space: Space,
    benchmark: Benchmark,
    pool: Sequence[Question] = (),
    paraphrases: Mapping[str, tuple[str, ...]] | None = None,
) -> Space:
    """Return the space with the pool of demonstrations, the answer extraction and the paraphrases of one benchmark.

    Raises
    ------
    InputError
        When the questions, the pool and the values do not fit together: see `check_space`.
    """
    bound = replace(
        space, pool=tuple(pool), extract=benchmark.extract, language=benchmark.language, paraphrases=paraphrases or {}
    )
    check_space(bound, benchmark.questions)
    return bound


def check_space(space: Space, questions: Sequence[Question]) -> None:
    """Check a space against the questions and its own pool.

    Raises
    ------
    InputError
        When a template does not use a field or names one that does not exist; an enumerator is too short, or two
        rendered labels are the same; demonstrations are too few, or among the questions; a
        target is no choice.

    Warns
    -----
    HowsureWarning
        When labels or separators do not fit some questions, for which others are used, and when choices refer to other
        choices, so that they keep their place.
    """
    all_questions = (*questions, *space.pool)
    with_choices = any(question.choices for question in all_questions)
    _check_templates(space, with_choices=with_choices)
    check_instructions(space)
    _check_paraphrases(space, questions)
    if with_choices:
        _check_choices(all_questions)
        _check_labels(space, max(len(question.choices) for question in all_questions))
    else:
        for dimension in space.dimensions:
            if dimension.name in _OF_CHOICES and len(dimension.values) > 1:
                fields = "choices: FIELD, or one for each: choices: [A, B, C, D]"
                remedy = f"use a space for open questions, or name the field with the choices: {fields}"
                raise InputError("the questions have no choices", where=_where(dimension.name), remedy=remedy)
    _check_pool(space, questions)
    _warn_of_misfits(space, questions, with_choices=with_choices)


def _where(dimension: str) -> str:
    """Return the location of an error in a dimension."""
    return f"dimension {dimension}"


def _check_templates(space: Space, *, with_choices: bool) -> None:
    """Check that templates use every field, and only fields that exist."""
    own = [dimension.name for dimension in space.dimensions if dimension.name not in BUILT_IN_VALUES]
    instructions = space.values_of("instruction")
    outer = FIELD.findall(space.system) + FIELD.findall(space.head)
    by_instruction = {value.name: FIELD.findall(str(value.content)) for value in instructions}
    _check_fields(outer, "system and head", ("instruction", "labels", *own))
    for name, fields in by_instruction.items():
        _check_fields(fields, f"instruction {name!r}", ("labels", *own))
    used = {*outer, *(field for fields in by_instruction.values() for field in fields)}
    for name in (*own, *(["instruction"] if any(value.content for value in instructions) else [])):
        if name not in used:
            remedy = f"write {{{name}}} into head or system"
            raise InputError("no template has a place for it", where=_where(name), remedy=remedy)
    has_markers = any(any(value.content) for value in space.values_of("markers") if isinstance(value.content, tuple))
    needed = ["question", *(["choices"] if with_choices else [])]
    needed += ["question_marker", "answer_marker"] if has_markers else []
    for value in space.values_of("layout"):
        fields = FIELD.findall(str(value.content))
        _check_fields(fields, f"layout {value.name!r}", _OF_LAYOUT)
        for field in needed:
            if field not in fields:
                remedy = f"write {{{field}}} where it goes"
                raise InputError(f"layout {value.name!r} has no place for {{{field}}}", where="space", remedy=remedy)


def _check_fields(fields: Sequence[str], where: str, allowed: Sequence[str]) -> None:
    """Check that fields of a template exist."""
    for field in fields:
        if field not in allowed:
            remedy = "use " + ", ".join(f"{{{name}}}" for name in allowed)
            raise InputError(f"there is no field {{{field}}}", where=where, remedy=remedy)


def _check_choices(questions: Sequence[Question]) -> None:
    """Check that all questions have choices and that the target is one of them; warn of those with equal choices."""
    for question in questions:
        where = f"question {question.id}"
        if not question.choices:
            raise InputError(
                "it has no choices, as others have", where=where, remedy="evaluate the two kinds separately"
            )
        if question.target not in (chr(ord("A") + i) for i in range(len(question.choices))):
            remedy = f"give a letter from A to {chr(ord('A') + len(question.choices) - 1)}"
            raise InputError(f"target {question.target!r} is none of its choices", where=where, remedy=remedy)
    if equal := [question.id for question in questions if find_equal_choices(question.choices)]:
        more = f" and {len(equal) - 3} more" if len(equal) > 3 else ""
        warn(Note("equal-choices", n=len(equal), facts={"questions": ", ".join(equal[:3]) + more}))


def _check_labels(space: Space, most: int) -> None:
    """Check that every enumerator has enough labels, and that they differ once they are wrapped."""
    for value in space.values_of("enumerator"):
        labels = value.content if isinstance(value.content, tuple) else ()
        where = f"{_where('enumerator')}, {value.name}"
        if len(labels) < most:
            what = f"{len(labels)} labels for questions of up to {most} choices"
            raise InputError(what, where=where, remedy="give more labels, or leave it out")
        used = labels[:most]
        for label in used:
            if not _BRACKETS.sub("", label):
                what = f"label {label!r} cannot be distinguished from the wrapper of labels"
                raise InputError(what, where=where, remedy="give another label, or leave the enumerator out")
        for wrapper in space.values_of("wrapper"):
            wrapped = [unicodedata.normalize("NFKC", str(wrapper.content).replace("{label}", label)) for label in used]
            for i, label in enumerate(wrapped):
                if label in wrapped[:i]:
                    what = f"two choices would be labelled {label!r}"
                    raise InputError(what, where=where, remedy="give labels that differ")


def _list_left_out(space: Space, questions: Sequence[Question]) -> list[str]:
    """Return what is not asked for because questions rule it out, with their numbers."""
    parts = []
    asks_working = any(value.asks == "working" for value in space.values_of("instruction"))
    if asks_working or any(value.content for value in space.values_of("reasoning")):
        ruled_out = sum(
            rules_out_explanation(question.text) or demands_short_text(question.text) for question in questions
        )
        if ruled_out:
            parts.append(f"reasoning is not asked for where the question rules out an explanation ({ruled_out})")
    limits_form = any(value.asks == "brief" for value in space.values_of("instruction"))
    if limits_form or any(value.name != "unstated" for value in space.values_of("answer_form")):
        own = sum(demands_own_form(question.text) or demands_short_text(question.text) for question in questions)
        if own:
            parts.append(f"no form of the answer is demanded where the question demands one ({own})")
    if any(value.asks == "label" for value in space.values_of("instruction")):
        others = sum(demands_own_answer(question.text) for question in questions)
        if others:
            parts.append(f"no label is asked for where the question demands another answer ({others})")
    if any(value.content for value in space.values_of("demonstrations")):
        alone = sum(refers_to_another_question(question.text) for question in questions)
        if alone:
            parts.append(f"no examples are shown where the question speaks of another question ({alone})")
    return parts


def _warn_of_misfits(space: Space, questions: Sequence[Question], *, with_choices: bool) -> None:
    """Warn once of the questions for which a drawn value would not fit, and of those that keep the order of choices."""
    parts = _list_left_out(space, questions)
    for name in ("enumerator", "separator") if with_choices else ():
        counts = {
            value.name: sum(bool(find_misfit(name, value, question)) for question in questions)
            for value in space.values_of(name)
        }
        listed = ", ".join(f"{value} ({count})" for value, count in counts.items() if count)
        if listed:
            parts.append(f"another {name} is used in place of {listed}")
    if with_choices and any(value.content != "original" for value in space.values_of("order")):
        references = [find_option_references(question) for question in questions]
        if pinned := sum(not one.is_empty for one in references):
            parts.append(f"choices that refer to others keep their place ({pinned})")
    n_labels = sum(value.asks == "label" for value in space.values_of("instruction"))
    has_demonstrations = any(value.content for value in space.values_of("demonstrations"))
    if n_labels and has_demonstrations and any(value.content != "label" for value in space.values_of("answer")):
        parts.append(f"demonstrations answer with the label where the instruction asks for it ({n_labels} of them)")
    if parts:
        warn(Note("values-replaced", n=len(questions), facts={"parts": "; ".join(parts)}))


def _check_pool(space: Space, questions: Sequence[Question]) -> None:
    """Check that the pool has enough demonstrations, and none of the questions."""
    most = max(value.content for value in space.values_of("demonstrations") if isinstance(value.content, int))
    where = _where("demonstrations")
    if most > len(space.pool):
        what = f"{most} demonstrations from a pool of {len(space.pool)}"
        raise InputError(what, where=where, remedy="hold questions out (hold_out: N), or give a larger pool")
    ids, texts = {q.id for q in questions}, set(map(identify_text, questions))
    for demonstration in space.pool:
        if demonstration.id in ids or identify_text(demonstration) in texts:
            what = f"demonstration {demonstration.id!r} is one of the questions"
            remedy = "take it out of the pool, or hold questions out (hold_out: N) that are there once"
            raise InputError(what, where=where, remedy=remedy)


def identify_text(question: Question) -> tuple[str, tuple[str, ...]]:
    """Return the text and the choices of a question, in whatever order they are."""
    return question.text, tuple(sorted(question.choices))


def _check_paraphrases(space: Space, questions: Sequence[Question]) -> None:
    """Check that paraphrases are drawn where there are some; warn of questions that have none."""
    is_drawn = any(value.content == "paraphrase" for value in space.values_of("wording"))
    where, ids = _where("wording"), {question.id for question in questions}
    if is_drawn and not space.paraphrases:
        remedy = "name a file with id, text and reviewed (paraphrases: FILE), or leave wording out"
        raise InputError("there are no paraphrases of the questions", where=where, remedy=remedy)
    if space.paraphrases and not is_drawn:
        remedy = "add dimensions: {wording: [original, paraphrase]}, or leave paraphrases out"
        raise InputError("paraphrases are given and none is drawn", where=where, remedy=remedy)
    if is_drawn and not ids & space.paraphrases.keys():
        first = next(iter(space.paraphrases))
        what = f"none of the questions has a paraphrase; the first of the file is of {first!r}"
        raise InputError(what, where=where, remedy="give the ids of the benchmark's questions")
    if is_drawn and (missing := [identity for identity in ids if identity not in space.paraphrases]):
        n = len(missing)
        warn(Note("no-paraphrase", n=n, facts={"total": len(ids), "example": min(missing)}), stacklevel=4)
