"""Templates of unitxt catalogues, such as DOVE's, to a space of ours.

A catalogue holds one file per template. What its files differ in becomes a dimension: format, enumerator, label,
separator, order, and how demonstrations give answers. The space is the product of what was found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from howsure.errors import InputError
from howsure.perturb.dimensions import KNOWN, Dimension, Value
from howsure.perturb.rendering import FIELD
from howsure.perturb.space import Space
from howsure.perturb.space_spec import OPEN_LAYOUT

__all__ = ["Imported", "from_templates"]

#: Longest name of a value that is a text, in characters.
LONGEST = 60
_KINDS = ("multiple_choice_template", "MultipleChoiceTemplate", "input_output_template", "InputOutputTemplate")
_LISTS = ("templates_list", "TemplatesList", "templates_dict", "TemplatesDict")
_ENUMERATORS = {"capitals": "capitals", "lowercase": "lowercase", "numbers": "digits", "roman": "roman"}
_ANSWERS = {"{choice_numeral}": "label", "{choice_text}": "text"}
_READ = frozenset(
    {
        *("__type__", "type", "input_format", "instruction", "target_prefix", "choices_separator", "choices_seperator"),
        *("enumerator", "source_choice_format", "target_choice_format", "shuffle_choices", "shuffle_choices_seed"),
        *("sort_choices_by_length", "sort_choices_alphabetically", "reverse_choices", "place_correct_choice_position"),
        *("choices_field", "target_field", "output_format"),
    }
)


@dataclass(frozen=True)
class Imported:
    """A space, and what was not taken over, or otherwise than one might think."""

    space: Space
    notes: tuple[str, ...]


class _Skipped(Exception):  # noqa: N818  it ends one template, and is told as a note
    """A template that cannot be taken over, and why."""


def from_templates(templates: Mapping[str, object], *, name: str = "imported") -> Imported:
    """A space from parsed JSON files, name -> content.

    Raises
    ------
    InputError
        When no template can be taken over, or some have choices and others have not; the reasons are told.
    """
    notes: dict[str, list[str]] = {}
    found: list[dict[str, Value]] = []
    kinds: dict[bool, str] = {}
    for label, content in _items(templates, notes):
        try:
            values, said = _template(content)
        except _Skipped as why:
            notes.setdefault(f"skipped: {why}", []).append(label)
            continue
        kinds.setdefault("enumerator" in values, label)
        found.append(values)
        for note in said:
            notes.setdefault(note, []).append(label)
    told = tuple(f"{note} ({_few(labels)})" for note, labels in notes.items())
    if not found:
        raise InputError("no template can be taken over", where=name, remedy="; ".join(told) or "give some files")
    if len(kinds) > 1:
        what = f"{kinds[True]} has choices, {kinds[False]} has none"
        raise InputError(what, where=name, remedy="import the two kinds apart")
    dimensions = []
    for dimension in found[0]:
        by_content = {values[dimension].content: values[dimension] for values in found}
        dimensions.append(Dimension(dimension, tuple(_distinct(by_content.values()))))
    dimensions.append(Dimension("demonstrations", KNOWN["demonstrations"]))
    space = Space(name, tuple(dimensions), layout=str(found[0]["layout"].content) if True in kinds else OPEN_LAYOUT)
    points = {tuple(value.content for value in values.values()) for values in found}
    if space.size != len(points):
        told = (
            *told,
            f"{len(points)} different templates were given; the space of their values has {space.size} points",
        )
    return Imported(space, told)


def _items(templates: Mapping[str, object], notes: dict[str, list[str]]) -> Iterator[tuple[str, Mapping[str, object]]]:
    for label, content in templates.items():
        if isinstance(content, Mapping) and _kind(content) in _LISTS:
            items: Any = content.get("items", [])
            listed = items.items() if isinstance(items, Mapping) else enumerate(items, start=1)
            yield from _items({f"{label} {key}": item for key, item in listed}, notes)
        elif isinstance(content, Mapping):
            yield label, content
        else:
            what = (
                "a reference to another file, which is not followed" if isinstance(content, str) else "no JSON object"
            )
            notes.setdefault(f"skipped: {what}", []).append(label)


def _kind(content: Mapping[str, object]) -> str:
    kind = content.get("__type__", content.get("type", ""))
    return str(kind.get("name", "") if isinstance(kind, Mapping) else kind)


def _template(content: Mapping[str, object]) -> tuple[dict[str, Value], list[str]]:
    """Values of one template by dimension, and what to say of it."""
    notes = [f"field {key!r} is not used" for key in content if key not in _READ]
    kind = _kind(content)
    if kind not in _KINDS:
        raise _Skipped(f"a template of type {kind!r}")
    with_choices = kind in _KINDS[:2]
    values = {"layout": _layout(content, with_choices=with_choices, notes=notes)}
    instruction = str(content.get("instruction") or "")
    values["instruction"] = _titled(instruction) if instruction else KNOWN["instruction"][0]
    if not with_choices:
        if content.get("output_format", "{answer}") != "{answer}":
            notes.append(f"output_format {content['output_format']!r} is not used: the target is")
        return values, notes
    values["enumerator"] = _enumerator(content.get("enumerator", "capitals"))
    shown = str(content.get("source_choice_format", "{choice_numeral}. {choice_text}"))
    wrapper = shown.removesuffix(" {choice_text}").replace("{choice_numeral}", "{label}")
    if not shown.endswith(" {choice_text}") or wrapper.count("{label}") != 1 or len(FIELD.findall(wrapper)) != 1:
        raise _Skipped(f"source_choice_format {shown!r}")
    values["wrapper"] = _named("wrapper", wrapper)
    answer = str(content.get("target_choice_format", "{choice_numeral}"))
    if answer not in _ANSWERS and answer != shown:
        raise _Skipped(f"target_choice_format {answer!r}")
    values["answer"] = _named("answer", _ANSWERS.get(answer, "label-text"))
    separator = str(content.get("choices_separator", content.get("choices_seperator", ", ")))
    if separator == "\\s":
        notes.append(r"choices_separator '\s' is taken as it stands, a backslash and an s")
    values["separator"] = _named("separator", separator)
    values["order"] = _order(content, notes)
    return values, notes


def _layout(content: Mapping[str, object], *, with_choices: bool, notes: list[str]) -> Value:
    text = str(content.get("input_format") or "")
    choices = str(content.get("choices_field") or "choices")
    names = {"numerals": "labels", choices: "choices"} if with_choices else {}
    fields = list(dict.fromkeys(field for field in FIELD.findall(text) if field not in names))
    if "question" not in fields and len(fields) == 1:
        notes.append(f"field {{{fields[0]}}} is taken as the question")
        names[fields[0]] = "question"
    elif other := [field for field in fields if field != "question"]:
        raise _Skipped(f"field {{{other[0]}}}, which our questions do not have")
    text = FIELD.sub(lambda field: f"{{{names.get(field[1], field[1])}}}", text)
    for needed in ("question", "choices") if with_choices else ("question",):
        if f"{{{needed}}}" not in text:
            raise _Skipped(f"no place for the {needed}")
    text = (text + str(content.get("target_prefix") or "")).rstrip()
    return _titled(text)


def _enumerator(given: object) -> Value:
    if isinstance(given, str) and given in _ENUMERATORS:
        return _named("enumerator", _ENUMERATORS[given])
    labels = tuple(str(label) for label in given) if isinstance(given, str | list) else ()
    if not labels:
        raise _Skipped(f"enumerator {given!r}")
    return Value("".join(labels) if isinstance(given, str) else " ".join(labels), labels)


def _order(content: Mapping[str, object], notes: list[str]) -> Value:
    if content.get("place_correct_choice_position") is not None:
        raise _Skipped("place_correct_choice_position, which gives the right answer away")
    if content.get("shuffle_choices"):
        notes.append("shuffle_choices is taken over, its permutations are ours")
        return _named("order", "shuffle-each" if content.get("shuffle_choices_seed") is None else "shuffle")
    kind = "length" if content.get("sort_choices_by_length") else ""
    kind = "alphabetical" if content.get("sort_choices_alphabetically") else kind
    if content.get("reverse_choices"):
        kind = f"{kind}-reversed" if kind else "reversed"
    return _named("order", kind or "original")


def _named(dimension: str, said: str) -> Value:
    """A built-in value by its name or content, or a new one."""
    for value in KNOWN[dimension]:
        if said in (value.name, value.content):
            return value
    return Value(said, said)


def _titled(text: str) -> Value:
    """A value by the beginning of its text, on one line."""
    title = " ".join(text.split())
    return Value(title if len(title) <= LONGEST else title[: LONGEST - 1].rstrip() + "…", text)


def _distinct(values: Iterable[Value]) -> Iterator[Value]:
    """The values; names that are there already are numbered."""
    taken: Counter[str] = Counter()
    for value in values:
        taken[value.name] += 1
        yield replace(value, name=f"{value.name} {taken[value.name]}") if taken[value.name] > 1 else value


def _few(labels: list[str]) -> str:
    return ", ".join(labels[:3]) + (f" and {len(labels) - 3} more" if len(labels) > 3 else "")
