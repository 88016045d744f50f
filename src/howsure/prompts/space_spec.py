"""The built-in spaces of prompt variants, and spaces that are declared in YAML or Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from howsure.errors import InputError, UnknownNameError
from howsure.prompts.dimensions import BUILT_IN_VALUES, Dimension, Value, parse_dimension
from howsure.prompts.instructions import Instruction, load_packaged, require_reviewed
from howsure.prompts.question_fit import PINS
from howsure.prompts.space import Space

OPEN_LAYOUT = "{question_marker}{question}\n{answer_marker}"


def _built_in(name: str, *names: str) -> Dimension:
    """Return a built-in dimension with some of its values, by default all."""
    return Dimension(name, tuple(value for value in BUILT_IN_VALUES[name] if not names or value.name in names))


def _instruction_values(instructions: Sequence[Instruction]) -> tuple[Value, ...]:
    """Return phrasings as values of a dimension."""
    return tuple(
        Value(entry.id, entry.text, asks=entry.asks, after=entry.after, translations=dict(entry.translations))
        for entry in instructions
    )


def _multiple_choice_space() -> Space:
    """Return the space for questions with choices."""
    return Space(
        "multiple-choice",
        (
            Dimension("instruction", _instruction_values(load_packaged("multiple-choice"))),
            _built_in("enumerator"),
            _built_in("wrapper"),
            _built_in("separator"),
            _built_in("order", "original", "shuffle", "shuffle-each", "length", "alphabetical"),
            _built_in("demonstrations"),
        ),
    )


def _open_space(name: str) -> Space:
    """Return a space for questions without choices, with the instructions of a packaged file."""
    return Space(
        name,
        (
            Dimension("instruction", _instruction_values(load_packaged(name))),
            _built_in("demonstrations"),
            _built_in("markers"),
            _built_in("casing"),
        ),
        layout=OPEN_LAYOUT,
    )


#: Name -> function that returns the space.
SPACES: dict[str, Callable[[], Space]] = {
    "multiple-choice": _multiple_choice_space,
    "open": lambda: _open_space("open"),
    "maths": lambda: _open_space("maths"),
}

SPACE_KEYS = ("space", "dimensions", "nested", "altering", "pin", "system", "head", "layout")


def parse_space(spec: str | Space | Mapping[str, object], *, instructions: Sequence[Instruction] = ()) -> Space:
    """Return a space by name, or by name with changes.

    Parameters
    ----------
    spec
        As in an experiment: `multiple-choice`, or `{space: multiple-choice, dimensions: {order: [original, shuffle],
        tone: [{plain: ""}, {warm: "Take your time."}]}, nested: [order], altering: [tone], head: ...}`. `dimensions`
        lists the values of a dimension, new values and new dimensions; `nested` the dimensions drawn for each question;
        `altering` those that may change the meaning of a question; `pin: choices` keeps the order and the labels of
        choices; `system`, `head` and `layout` are the templates of `Space`. In Python `space` may be a `Space`.
    instructions
        Phrasings that replace those of the space, as `instructions.parse_instructions` returns them.

    Raises
    ------
    UnknownNameError
        When there is no space, value or dimension of a name.
    InputError
        When something else of the spec cannot be read, or a phrasing was not reviewed.

    >>> parse_space({"space": "multiple-choice", "dimensions": {"enumerator": ["roman"]}}).size
    1960
    """
    given = {"space": spec} if isinstance(spec, str | Space) else dict(spec)
    for key in given:
        if key not in SPACE_KEYS:
            raise UnknownNameError("key", str(key), SPACE_KEYS, where="variants")
    base = _parse_base(given.get("space"))
    dimensions = {d.name: d for d in base.dimensions}
    if instructions:
        dimensions["instruction"] = Dimension("instruction", _instruction_values(require_reviewed(instructions)))
    changes = given.get("dimensions", {})
    if not isinstance(changes, Mapping):
        raise InputError(f"{changes!r} is no map", where="variants, dimensions", remedy="write {NAME: [VALUE, ...]}")
    texts = {key: _parse_text(given, key, getattr(base, key)) for key in ("system", "head", "layout")}
    for key, items in ((str(key), items) for key, items in changes.items()):
        if key not in BUILT_IN_VALUES:
            _check_field(key, texts["system"] + texts["head"])
        listed = items if isinstance(items, list | tuple) else [items]
        named_values = dimensions[key].values if key in dimensions else ()
        dimensions[key] = parse_dimension(key, listed, named_values=named_values)
    nested, altering = _parse_names(given, "nested", dimensions), _parse_names(given, "altering", dimensions)
    flagged = (
        replace(d, preserving=d.preserving and d.name not in altering, nested=d.nested or d.name in nested)
        for d in dimensions.values()
    )
    system, head, layout = (texts[key] for key in ("system", "head", "layout"))
    pin = _parse_text(given, "pin", "")
    if pin not in ("", *PINS):
        raise UnknownNameError("pin", pin, PINS, where="variants")
    return replace(base, dimensions=tuple(flagged), system=system, head=head, layout=layout).pin(pin)


def _parse_base(given: object) -> Space:
    """Return the space that the spec names or holds."""
    if isinstance(given, Space):
        return given
    if not isinstance(given, str):
        raise InputError("no space is named", where="variants", remedy="give one: " + ", ".join(SPACES))
    if given not in SPACES:
        raise UnknownNameError("space", given, SPACES, where="variants")
    return SPACES[given]()


def _check_field(name: str, templates: str) -> None:
    """Check that a dimension that is not built in has its field in a template; otherwise its name may be misspelt."""
    if not name.isidentifier():
        remedy = "use letters, digits and underscores, so that {NAME} can stand in a template"
        raise InputError(f"dimension {name!r} is no name of a field", where="variants", remedy=remedy)
    if f"{{{name}}}" not in templates:
        where = f"variants (a new dimension is a field of head or system: {{{name}}})"
        raise UnknownNameError("dimension", name, BUILT_IN_VALUES, where=where)


def _parse_text(given: Mapping[str, object], key: str, default: str) -> str:
    """Return a text of the spec."""
    text = given.get(key, default)
    if not isinstance(text, str):
        raise InputError(f"{key} is {text!r}", where="variants", remedy="give text")
    return text


def _parse_names(given: Mapping[str, object], key: str, dimensions: Mapping[str, object]) -> list[str]:
    """Return the names of dimensions under a key of the spec."""
    names = given.get(key, [])
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, list | tuple):
        raise InputError(f"{key} is {names!r}", where="variants", remedy="list names of dimensions")
    for name in listed:
        if name not in dimensions:
            raise UnknownNameError("dimension", str(name), dimensions, where=f"variants, {key}")
    return [str(name) for name in listed]
