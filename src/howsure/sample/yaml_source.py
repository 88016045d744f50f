"""YAML text to typed values: whatever is wrong is told with its line, its place and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

import msgspec
import yaml

from howsure.errors import InputError, UnknownNameError

__all__ = ["Kinds", "Source"]

T = TypeVar("T", bound=msgspec.Struct)
Kinds = Mapping[str | int, type[msgspec.Struct]]
WORDS = {
    "float": "a number",
    "int": "a whole number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
}


class Source:
    """The YAML text, and where in it each value stands.

    Attributes
    ----------
    where
        Name of the text in errors: its file.
    data
        What the text says, untyped.
    """

    def __init__(self, text: str, where: str) -> None:
        self.where = where
        try:
            loader = yaml.SafeLoader(text)
            root = loader.get_single_node()
            self._no_twins(root)
            self.data: Any = loader.construct_document(root) if root is not None else None
        except InputError:
            raise
        except yaml.YAMLError as e:
            mark = getattr(e, "problem_mark", None)
            place = f"{where}:{mark.line + 1}" if mark else where
            problem = getattr(e, "problem", None) or getattr(e, "reason", None) or "it cannot be parsed"
            raise InputError(f"not YAML: {problem}", where=place, remedy="mend the syntax on or above it") from None
        except (ValueError, TypeError, RecursionError) as e:
            raise InputError(f"a value cannot be read: {e}", where=where, remedy="put it in quotes") from None
        if root is None:
            raise InputError("the file is empty", where=where, remedy="write at least one key")
        self.root: yaml.Node = root

    def read(self, kind: type[T], items: Kinds) -> T:
        """The text as one `kind`; `items` are the kinds of the entries of its lists, for their key names."""
        try:
            return msgspec.convert(self.data, kind)
        except msgspec.ValidationError as e:
            if isinstance(e.__cause__, InputError):  # msgspec wraps the ValueError of a __post_init__
                raise e.__cause__ from None
            self._explain(str(e), kind, items)

    def fail(self, what: str, *path: str | int, remedy: str) -> NoReturn:
        """Raise `InputError` at this place of the file."""
        raise InputError(what, where=self.at(*path), remedy=remedy) from None

    def at(self, *path: str | int) -> str:
        """File, line and key of this place."""
        line = self.root.start_mark.line
        node = self.root
        for step in path:
            if isinstance(node, yaml.MappingNode):
                found = [(key, value) for key, value in node.value if key.value == step]
                if not found:
                    break
                line, node = found[0][0].start_mark.line, found[0][1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                node = node.value[step]
                line = node.start_mark.line
        name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
        return f"{self.where}:{line + 1}" + (f": {name}" if name else "")

    def _value(self, path: tuple[str | int, ...]) -> object:
        value = self.data
        for step in path:
            value = value[step]
        return value

    def _explain(self, message: str, kind: type[msgspec.Struct], items: Kinds) -> NoReturn:
        """Msgspec's message to ours: `Expected `int` >= 1 - at `$.generations``."""
        said, _, at = message.partition(" - at ")
        path = tuple(int(i) if i else key for key, i in re.findall(r"\.(\w+)|\[(\d+)\]", at))
        if unknown := re.search(r"unknown field `(.*)`", said):
            known = next((items[step] for step in reversed(path) if step in items), kind)
            key = unknown.group(1)
            raise UnknownNameError("key", key, known.__struct_fields__, where=self.at(*path, key)) from None
        if missing := re.search(r"missing required field `(.*)`", said):
            self.fail(f"no {missing.group(1)!r}", *path, remedy=f"add the key {missing.group(1)!r}")
        if (wanted := re.search(r"Expected `([^`]+)`(.*?)(, got `(.+)`)?$", said)) and "key" not in at:
            names = [WORDS.get(name, name) for name in wanted.group(1).split(" | ") if name != "null"]
            shown = repr(self._value(path)) if path else f"a {type(self.data).__name__}"
            shown = shown if len(shown) <= 60 else shown[:57] + "..."
            self.fail(f"{shown} is not allowed", *path, remedy=f"give {' or '.join(names)}{wanted.group(2)}")
        self.fail(said, *path, remedy="see the README's example")

    def _no_twins(self, node: object) -> None:
        """YAML keeps the last of two equal keys in silence; we do not."""
        if isinstance(node, yaml.SequenceNode):
            for item in node.value:
                self._no_twins(item)
        elif isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                if isinstance(key.value, str) and key.value in seen:
                    place = f"{self.where}:{key.start_mark.line + 1}"
                    raise InputError(f"the key {key.value!r} stands twice", where=place, remedy="remove one")
                seen.add(str(key.value))
                self._no_twins(value)
