"""Import the templates of unitxt catalogues, such as DOVE's, as a space of prompt variants.

A catalogue has one file per template. The properties in which the files differ become dimensions: layout, enumerator,
wrapper, separator, order, and the form of answers in demonstrations. The space is the product of their values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from howsure.errors import InputError
from howsure.perturb.dimensions import BUILT_IN_VALUES, Dimension, Value
from howsure.perturb.rendering import FIELD
from howsure.perturb.space import Space
from howsure.perturb.space_spec import OPEN_LAYOUT

#: Longest name of a value that is named by its text, in characters.
LONGEST = 60
_KINDS = ("multiple_choice_template", "MultipleChoiceTemplate", "input_output_template", "InputOutputTemplate")
_LISTS = ("templates_list", "TemplatesList", "templates_dict", "TemplatesDict")
_ENUMERATORS = {"capitals": "capitals", "lowercase": "lowercase", "numbers": "digits", "roman": "roman"}
_ANSWERS = {"{choice_numeral}": "label", "{choice_text}": "text"}
_USED_FIELDS = frozenset(
    {
        *("__type__", "type", "input_format", "instruction", "target_prefix", "choices_separator", "choices_seperator"),
        *("enumerator", "source_choice_format", "target_choice_format", "shuffle_choices", "shuffle_choices_seed"),
        *("sort_choices_by_length", "sort_choices_alphabetically", "reverse_choices", "place_correct_choice_position"),
        *("choices_field", "target_field", "output_format"),
    }
)


@dataclass(frozen=True)
class ImportedSpace:
    r"""A space, and notes on templates and fields that were left out or changed.

    Examples
    --------
    >>> template = {"__type__": "input_output_template", "input_format": "Q: {question}", "output_format": "{answer}"}
    >>> from_templates({"one": template}).space.layout
    '{question_marker}{question}\n{answer_marker}'
    """

    space: Space
    notes: tuple[str, ...]


class _UnsupportedTemplateError(Exception):
    """The reason why a template cannot be imported; it becomes a note."""


def from_templates(templates: Mapping[str, object], *, name: str = "imported") -> ImportedSpace:
    """Return a space from the parsed JSON files of a catalogue, by name.

    Raises
    ------
    InputError
        When no template can be imported, or only some have choices; the message has the reasons.
    """
    notes: dict[str, list[str]] = {}
    imported: list[dict[str, Value]] = []
    kinds: dict[bool, str] = {}
    for label, content in _flatten(templates, notes):
        try:
            values, messages = _parse_template(content)
        except _UnsupportedTemplateError as why:
            notes.setdefault(f"skipped: {why}", []).append(label)
            continue
        kinds.setdefault("enumerator" in values, label)
        imported.append(values)
        for note in messages:
            notes.setdefault(note, []).append(label)
    lines = tuple(f"{note} ({_list_first(labels)})" for note, labels in notes.items())
    if not imported:
        raise InputError("no template can be imported", where=name, remedy="; ".join(lines) or "give some files")
    if len(kinds) > 1:
        what = f"{kinds[True]} has choices, {kinds[False]} has none"
        raise InputError(what, where=name, remedy="import the two kinds separately")
    dimensions = []
    for dimension in imported[0]:
        by_content = {values[dimension].content: values[dimension] for values in imported}
        dimensions.append(Dimension(dimension, tuple(_number_names(by_content.values()))))
    dimensions.append(Dimension("demonstrations", BUILT_IN_VALUES["demonstrations"]))
    space = Space(name, tuple(dimensions), layout=str(imported[0]["layout"].content) if True in kinds else OPEN_LAYOUT)
    points = {tuple(value.content for value in values.values()) for values in imported}
    if space.size != len(points):
        lines += (f"{len(points)} different templates were given; the space of their values has {space.size} points",)
    return ImportedSpace(space, lines)


def _flatten(
    templates: Mapping[str, object], notes: dict[str, list[str]]
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the label and the content of each template, also of those in lists; note what is no template."""
    for label, content in templates.items():
        if isinstance(content, Mapping) and _kind(content) in _LISTS:
            items: Any = content.get("items", [])
            listed = items.items() if isinstance(items, Mapping) else enumerate(items, start=1)
            yield from _flatten({f"{label} {key}": item for key, item in listed}, notes)
        elif isinstance(content, Mapping):
            yield label, content
        else:
            what = (
                "a reference to another file, which is not followed" if isinstance(content, str) else "no JSON object"
            )
            notes.setdefault(f"skipped: {what}", []).append(label)


def _kind(content: Mapping[str, object]) -> str:
    """Return the type of a template."""
    kind = content.get("__type__", content.get("type", ""))
    return str(kind.get("name", "") if isinstance(kind, Mapping) else kind)


def _parse_template(content: Mapping[str, object]) -> tuple[dict[str, Value], list[str]]:
    """Return the values of one template by dimension, and notes."""
    notes = [f"field {key!r} is not used" for key in content if key not in _USED_FIELDS]
    kind = _kind(content)
    if kind not in _KINDS:
        raise _UnsupportedTemplateError(f"a template of type {kind!r}")
    with_choices = kind in _KINDS[:2]
    values = {"layout": _layout(content, with_choices=with_choices, notes=notes)}
    instruction = str(content.get("instruction") or "")
    values["instruction"] = _value_of_text(instruction) if instruction else BUILT_IN_VALUES["instruction"][0]
    if not with_choices:
        if content.get("output_format", "{answer}") != "{answer}":
            notes.append(f"output_format {content['output_format']!r} is not used: the target is")
        return values, notes
    values["enumerator"] = _enumerator(content.get("enumerator", "capitals"))
    choice_format = str(content.get("source_choice_format", "{choice_numeral}. {choice_text}"))
    wrapper = choice_format.removesuffix(" {choice_text}").replace("{choice_numeral}", "{label}")
    if (
        not choice_format.endswith(" {choice_text}")
        or wrapper.count("{label}") != 1
        or len(FIELD.findall(wrapper)) != 1
    ):
        raise _UnsupportedTemplateError(f"source_choice_format {choice_format!r}")
    values["wrapper"] = _find_value("wrapper", wrapper)
    answer = str(content.get("target_choice_format", "{choice_numeral}"))
    if answer not in _ANSWERS and answer != choice_format:
        raise _UnsupportedTemplateError(f"target_choice_format {answer!r}")
    values["answer"] = _find_value("answer", _ANSWERS.get(answer, "label-text"))
    separator = str(content.get("choices_separator", content.get("choices_seperator", ", ")))
    if separator == "\\s":
        notes.append(r"choices_separator '\s' is taken as it stands, a backslash and an s")
    values["separator"] = _find_value("separator", separator)
    values["order"] = _order(content, notes)
    return values, notes


def _layout(content: Mapping[str, object], *, with_choices: bool, notes: list[str]) -> Value:
    """Return the value of the dimension layout."""
    text = str(content.get("input_format") or "")
    choices = str(content.get("choices_field") or "choices")
    names = {"numerals": "labels", choices: "choices"} if with_choices else {}
    fields = list(dict.fromkeys(field for field in FIELD.findall(text) if field not in names))
    if "question" not in fields and len(fields) == 1:
        notes.append(f"field {{{fields[0]}}} is taken as the question")
        names[fields[0]] = "question"
    elif other := [field for field in fields if field != "question"]:
        raise _UnsupportedTemplateError(f"field {{{other[0]}}}, which our questions do not have")
    text = FIELD.sub(lambda field: f"{{{names.get(field[1], field[1])}}}", text)
    for needed in ("question", "choices") if with_choices else ("question",):
        if f"{{{needed}}}" not in text:
            raise _UnsupportedTemplateError(f"no place for the {needed}")
    text = (text + str(content.get("target_prefix") or "")).rstrip()
    return _value_of_text(text)


def _enumerator(given: object) -> Value:
    """Return the value of the dimension enumerator."""
    if isinstance(given, str) and given in _ENUMERATORS:
        return _find_value("enumerator", _ENUMERATORS[given])
    labels = tuple(str(label) for label in given) if isinstance(given, str | list) else ()
    if not labels:
        raise _UnsupportedTemplateError(f"enumerator {given!r}")
    return Value("".join(labels) if isinstance(given, str) else " ".join(labels), labels)


def _order(content: Mapping[str, object], notes: list[str]) -> Value:
    """Return the value of the dimension order."""
    if content.get("place_correct_choice_position") is not None:
        raise _UnsupportedTemplateError("place_correct_choice_position, which gives the right answer away")
    if content.get("shuffle_choices"):
        notes.append("shuffle_choices is imported, with permutations of howsure")
        return _find_value("order", "shuffle-each" if content.get("shuffle_choices_seed") is None else "shuffle")
    kind = "length" if content.get("sort_choices_by_length") else ""
    kind = "alphabetical" if content.get("sort_choices_alphabetically") else kind
    if content.get("reverse_choices"):
        kind = f"{kind}-reversed" if kind else "reversed"
    return _find_value("order", kind or "original")


def _find_value(dimension: str, text: str) -> Value:
    """Return the built-in value with this name or content, or a new one."""
    for value in BUILT_IN_VALUES[dimension]:
        if text in (value.name, value.content):
            return value
    return Value(text, text)


def _value_of_text(text: str) -> Value:
    """Return a value that is named by the beginning of its text, on one line."""
    title = " ".join(text.split())
    return Value(title if len(title) <= LONGEST else title[: LONGEST - 1].rstrip() + "…", text)


def _number_names(values: Iterable[Value]) -> Iterator[Value]:
    """Yield the values, with numbers after the names that occur again."""
    counts: Counter[str] = Counter()
    for value in values:
        counts[value.name] += 1
        yield replace(value, name=f"{value.name} {counts[value.name]}") if counts[value.name] > 1 else value


def _list_first(labels: list[str]) -> str:
    """Return the first labels, and the number of the others."""
    return ", ".join(labels[:3]) + (f" and {len(labels) - 3} more" if len(labels) > 3 else "")
