"""Check that a space of prompt variants fits the questions of a benchmark, before the first request."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace

from howsure.benchmarks.question import Benchmark, Question, find_equal_choices
from howsure.errors import InputError
from howsure.notes import Note, warn
from howsure.prompts.dimensions import BUILT_IN_VALUES, Value, find_language
from howsure.prompts.prompt_texts import LANGUAGES
from howsure.prompts.question_fit import find_misfit, find_pins, remove_own_labels
from howsure.prompts.rendering import FIELD
from howsure.prompts.space import Space

_OF_CHOICES = ("enumerator", "wrapper", "separator", "order", "answer")
_OF_LAYOUT = ("question", "choices", "labels", "question_marker", "answer_marker")
#: Dimensions that add sentences to the instruction, and those whose values are sentences or words of a language.
_DEMANDS, _OF_LANGUAGE = ("reasoning", "answer_form"), ("instruction", "reasoning", "markers")
_FOLLOWS = re.compile(r"\b(?:below|(?:the |as )follow(?:ing|s)|that follows?|next question)\b", re.IGNORECASE)
#: Largest share of the prompts of a space in which a question may keep its original form.
MOST_MISFITS = 0.05
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
        space.pin(benchmark.pin),
        pool=tuple(pool),
        extract=benchmark.extract,
        language=benchmark.language,
        paraphrases=paraphrases or {},
    )
    check_space(bound, benchmark.questions)
    return bound


def check_space(space: Space, questions: Sequence[Question]) -> None:
    """Check a space against the questions and its own pool.

    Raises
    ------
    InputError
        When a template does not use a field or names one that does not exist; an enumerator is too short, or two
        rendered labels are the same; demonstrations are too few, or among the questions; a target is no choice; a text
        does not fit its place or has no translation; or more than `MOST_MISFITS` of the prompts would keep the
        original labels or separator, because those drawn do not fit the question.

    Warns
    -----
    HowsureWarning
        When fewer questions than that keep them, and when choices refer to other choices, so that they keep their
        place.
    """
    all_questions = (*questions, *space.pool)
    with_choices = any(question.choices for question in all_questions)
    _check_templates(space, with_choices=with_choices)
    _check_instructions(space)
    _check_paraphrases(space, questions)
    if with_choices:
        _check_choices(all_questions)
        _check_labels(space, max(len(question.choices) for question in all_questions))
    else:
        for dimension in space.dimensions:
            if dimension.name in _OF_CHOICES and len(dimension.values) > 1:
                fields = "choices: FIELD, or one for each: choices: [A, B, C, D]"
                remedy = f"use a space for open questions, or name the field with the choices: {fields}"
                raise InputError("the questions have no choices", where=f"dimension {dimension.name}", remedy=remedy)
    _check_pool(space, questions)
    if with_choices:
        _check_fit(space, questions)


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
            raise InputError("no template has a place for it", where=f"dimension {name}", remedy=remedy)
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
        where = f"dimension enumerator, {value.name}"
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


def _check_fit(space: Space, questions: Sequence[Question]) -> None:
    """Note the questions that keep their original form under some values; raise if too many prompts do."""
    questions = [replace(question, choices=remove_own_labels(question.choices)) for question in questions]
    fitting_shares = [1.0] * len(questions)
    parts, fitting = [], []
    for name in ("enumerator", "separator"):
        values = space.values_of(name)
        misfits = {value.name: [bool(find_misfit(name, value, question)) for question in questions] for value in values}
        fitting_shares = [
            one * (1 - sum(own) / len(values))
            for one, own in zip(fitting_shares, zip(*misfits.values(), strict=True), strict=True)
        ]
        if listed := ", ".join(f"{value} ({sum(own)})" for value, own in misfits.items() if any(own)):
            parts.append(f"the original {name} stands in place of {listed}")
        few = [value for value, own in misfits.items() if sum(own) <= MOST_MISFITS * len(questions)]
        fitting += [f"{name}: [{', '.join(few)}]"] if few and len(few) < len(values) else []
    share = 1 - sum(fitting_shares) / len(fitting_shares)
    if round(share, 9) > MOST_MISFITS:
        what = f"the questions do not fit the values drawn for them in {share:.1%} of the prompts: {'; '.join(parts)}"
        values_that_fit = f"dimensions: {{{', '.join(fitting)}}}" if fitting else "dimensions: {enumerator: [capitals]}"
        raise InputError(what, where="variants", remedy=f"draw values that fit, {values_that_fit}")
    is_ordered = any(value.content != "original" for value in space.values_of("order"))
    if is_ordered and (pinned := sum(bool(find_pins(question).choices) for question in questions)):
        parts.append(f"choices that refer to others keep their place ({pinned})")
    if parts:
        warn(Note("values-replaced", n=len(questions), facts={"parts": "; ".join(parts)}), stacklevel=4)


def _check_pool(space: Space, questions: Sequence[Question]) -> None:
    """Check that the pool has enough demonstrations, and none of the questions."""
    most = max(value.content for value in space.values_of("demonstrations") if isinstance(value.content, int))
    where = "dimension demonstrations"
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
    where, ids = "dimension wording", {question.id for question in questions}
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


def _check_instructions(space: Space) -> None:
    """Check that instructions, and the sentences that other dimensions add, fit their places and languages."""
    has_place = "instruction" in FIELD.findall(space.system + space.head)
    for name in _DEMANDS:
        if any(value.content for value in space.values_of(name)) and not has_place:
            remedy = "write {instruction} into head or system"
            raise InputError("no template has a place for it", where=f"dimension {name}", remedy=remedy)
    places = {str(value.content) for value in space.values_of("placement")}
    if places != {"before"}:
        _check_places(space, places)
    languages = sorted({find_language(value) for value in space.values_of("language")} - {LANGUAGES[0]})
    own = [dimension.name for dimension in space.dimensions if dimension.name not in BUILT_IN_VALUES]
    for name in (*_OF_LANGUAGE, *own):
        for value in space.values_of(name):
            _check_translations(name, value, languages)


def _check_places(space: Space, places: set[str]) -> None:
    """Check that an instruction can stand in the places that are drawn."""
    if "instruction" in FIELD.findall(space.system):
        remedy = "move {instruction} from system to head, or leave placement out"
        raise InputError("the instruction is part of the system message", where="dimension placement", remedy=remedy)
    for value in space.values_of("instruction"):
        text = value.after or str(value.content)
        if "after" in places and (match := _FOLLOWS.search(text)):
            remedy = 'add after = "..." with the words for that place, or leave the value after out'
            what = f"it says {match[0]!r}, and placement puts it after the question"
            raise InputError(what, where=f"instruction {value.name!r}", remedy=remedy)


def _check_translations(name: str, value: Value, languages: list[str]) -> None:
    """Check that a text has its translations."""
    texts = value.content if isinstance(value.content, tuple) else (str(value.content),)
    if not any(character.isalpha() for text in texts for character in FIELD.sub("", text)):
        return
    if missing := [code for code in languages if code not in value.translations]:
        where = f"{name} {value.name!r}"
        form = (
            f'translations.{missing[0]} = "..."'
            if name == "instruction"
            else f"{{NAME: {{en: ..., {missing[0]}: ...}}}}"
        )
        raise InputError(f"it has no translation into {', '.join(missing)}", where=where, remedy=f"write {form}")
