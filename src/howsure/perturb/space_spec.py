"""The built-in spaces, and spaces declared in YAML or Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from howsure.errors import InputError, UnknownNameError
from howsure.perturb.dimensions import KNOWN, Dimension, Value, dimension
from howsure.perturb.instructions import Instruction, packaged, reviewed
from howsure.perturb.space import Space

__all__ = ["OPEN_LAYOUT", "SPACES", "SPACE_KEYS", "space"]

OPEN_LAYOUT = "{question_marker}{question}\n{answer_marker}"


def _values(name: str, *names: str) -> Dimension:
    """A built-in dimension with some of its values, by default all."""
    return Dimension(name, tuple(value for value in KNOWN[name] if not names or value.name in names))


def _instructions(entries: Sequence[Instruction]) -> tuple[Value, ...]:
    return tuple(Value(entry.id, entry.text, asks=entry.asks) for entry in entries)


def _multiple_choice() -> Space:
    return Space(
        "multiple-choice",
        (
            Dimension("instruction", _instructions(packaged("multiple-choice"))),
            _values("enumerator"),
            _values("wrapper"),
            _values("separator"),
            _values("order", "original", "shuffle", "shuffle-each", "length", "alphabetical"),
            _values("demonstrations"),
        ),
    )


def _open(name: str) -> Space:
    return Space(
        name,
        (
            Dimension("instruction", _instructions(packaged(name))),
            _values("demonstrations"),
            _values("markers"),
            _values("casing"),
        ),
        layout=OPEN_LAYOUT,
    )


#: Name -> function that returns the space.
SPACES: dict[str, Callable[[], Space]] = {
    "multiple-choice": _multiple_choice,
    "open": lambda: _open("open"),
    "maths": lambda: _open("maths"),
}

SPACE_KEYS = ("space", "dimensions", "nested", "altering", "system", "head", "layout")


def space(spec: str | Space | Mapping[str, object], *, instructions: Sequence[Instruction] = ()) -> Space:
    """A space by name, or by name with changes.

    Parameters
    ----------
    spec
        As in an experiment: `multiple-choice`, or `{space: multiple-choice, dimensions: {order: [original, shuffle],
        tone: [{plain: ""}, {warm: "Take your time."}]}, nested: [order], altering: [tone], head: ...}`. `dimensions`
        names the values to keep, adds values, and adds dimensions; `nested` those drawn for each question; `altering`
        those that may change what is asked; `system`, `head` and `layout` are the templates of `Space`. In Python
        `space` may be a `Space`, such as one of `from_templates`.
    instructions
        Phrasings that replace those of the space, as `instructions.parse` returns them.

    Raises
    ------
    UnknownNameError
        When there is no space, value or dimension of a name.
    InputError
        When something else of the spec cannot be read, or a phrasing was not reviewed.

    >>> space({"space": "multiple-choice", "dimensions": {"enumerator": ["roman"]}}).size
    1960
    """
    given = {"space": spec} if isinstance(spec, str | Space) else dict(spec)
    for key in given:
        if key not in SPACE_KEYS:
            raise UnknownNameError("key", str(key), SPACE_KEYS, where="variants")
    base = _named(given.get("space"))
    found = {d.name: d for d in base.dimensions}
    if instructions:
        found["instruction"] = Dimension("instruction", _instructions(reviewed(instructions)))
    changes = given.get("dimensions", {})
    if not isinstance(changes, Mapping):
        raise InputError(f"{changes!r} is no map", where="variants, dimensions", remedy="write {NAME: [VALUE, ...]}")
    texts = {key: _text(given, key, getattr(base, key)) for key in ("system", "head", "layout")}
    for key, items in ((str(key), items) for key, items in changes.items()):
        if key not in KNOWN:
            _placed(key, texts["system"] + texts["head"])
        listed = items if isinstance(items, list | tuple) else [items]
        known = found[key].values if key in found else ()
        found[key] = dimension(key, listed, known=known)
    nested, altering = _names(given, "nested", found), _names(given, "altering", found)
    dimensions = (
        replace(d, preserving=d.preserving and d.name not in altering, nested=d.nested or d.name in nested)
        for d in found.values()
    )
    system, head, layout = (texts[key] for key in ("system", "head", "layout"))
    return replace(base, dimensions=tuple(dimensions), system=system, head=head, layout=layout)


def _named(named: object) -> Space:
    if isinstance(named, Space):
        return named
    if not isinstance(named, str):
        raise InputError("no space is named", where="variants", remedy="give one: " + ", ".join(SPACES))
    if named not in SPACES:
        raise UnknownNameError("space", named, SPACES, where="variants")
    return SPACES[named]()


def _placed(name: str, templates: str) -> None:
    """A dimension of one's own needs its place in a template; without one its name is most likely a slip."""
    if not name.isidentifier():
        remedy = "use letters, digits and underscores, so that {NAME} can stand in a template"
        raise InputError(f"dimension {name!r} is no name of a field", where="variants", remedy=remedy)
    if f"{{{name}}}" not in templates:
        where = f"variants (one of your own stands in head or system as {{{name}}})"
        raise UnknownNameError("dimension", name, KNOWN, where=where)


def _text(given: Mapping[str, object], key: str, default: str) -> str:
    text = given.get(key, default)
    if not isinstance(text, str):
        raise InputError(f"{key} is {text!r}", where="variants", remedy="give text")
    return text


def _names(given: Mapping[str, object], key: str, known: Mapping[str, object]) -> list[str]:
    names = given.get(key, [])
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, list | tuple):
        raise InputError(f"{key} is {names!r}", where="variants", remedy="list names of dimensions")
    for name in listed:
        if name not in known:
            raise UnknownNameError("dimension", str(name), known, where=f"variants, {key}")
    return [str(name) for name in listed]
