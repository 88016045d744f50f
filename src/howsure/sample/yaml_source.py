"""Read YAML text as typed values; an error message names the line, the key and how to fix it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn, TypeVar

import msgspec
import yaml
from msgspec import inspect

from howsure.errors import InputError, UnknownNameError
from howsure.safe_text import find_secret_fields, mask_secrets

T = TypeVar("T", bound=msgspec.Struct)
#: Words for the types in messages of msgspec.
TYPE_WORDS = {
    "float": "a number",
    "int": "a whole number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
}


#: Tags of values that JSON has too, and of the key `<<`. A date is no such value.
MERGE = "tag:yaml.org,2002:merge"
_TEXT = "tag:yaml.org,2002:str"
TAGS = {f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str", "seq", "map", "merge")}
#: Largest number of values, with all aliases written out.
MOST_VALUES = 1_000_000


class YamlSource:
    """YAML text with the line of each value.

    Attributes
    ----------
    where
        Name of the text in errors, such as its path.
    data
        The values, without types.

    Examples
    --------
    >>> YamlSource("seed: 1", "run.yaml").at("seed")
    'run.yaml:1: seed'
    """

    def __init__(self, text: str, where: str) -> None:
        self.where = where
        try:
            loader = yaml.SafeLoader(text)
            root = loader.get_single_node()
            if root is not None:
                self._check_nodes(root)
            self.data: Any = loader.construct_document(root) if root is not None else None
        except InputError:
            raise
        except yaml.YAMLError as e:
            mark = getattr(e, "problem_mark", None)
            place = f"{where}:{mark.line + 1}" if mark else where
            problem = getattr(e, "problem", None) or getattr(e, "reason", None) or "it cannot be parsed"
            raise InputError(f"not YAML: {problem}", where=place, remedy="fix the syntax on or above it") from None
        except (ValueError, TypeError, RecursionError) as e:
            raise InputError(f"a value cannot be read: {e}", where=where, remedy="put it in quotes") from None
        if root is None:
            raise InputError("the file is empty", where=where, remedy="write at least one key")
        self.root: yaml.Node = root

    def read(self, kind: type[T]) -> T:
        """Return the values as one `kind`."""
        return self.convert(self.data, kind)

    def convert(self, data: object, kind: type[T], *place: str | int) -> T:
        """Return values that stand at a place of the file as one `kind`."""
        try:
            return msgspec.convert(data, kind)
        except msgspec.ValidationError as e:
            if isinstance(e.__cause__, InputError):  # msgspec wraps the ValueError of a __post_init__
                raise e.__cause__ from None
            self._fail_validation(str(e), kind, place)

    def fail(self, what: str, *path: str | int, remedy: str) -> NoReturn:
        """Raise `InputError` at this place of the file."""
        raise InputError(mask_secrets(what), where=self.at(*path), remedy=remedy) from None

    def at(self, *path: str | int) -> str:
        """Return the file, line and key of this place."""
        line = self.root.start_mark.line
        node = self.root
        for step in path:
            if isinstance(node, yaml.MappingNode):
                matches = [(key, value) for key, value in node.value if key.value == step]
                if not matches:
                    break
                line, node = matches[0][0].start_mark.line, matches[0][1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                node = node.value[step]
                line = node.start_mark.line
        name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
        return f"{self.where}:{line + 1}" + (f": {name}" if name else "")

    def find_part(self, *path: str) -> YamlSource:
        """Return the part of the text at a path of keys, whose errors name the same file and lines."""
        part = YamlSource.__new__(YamlSource)
        part.where, part.data, part.root = self.where, self._find_value(path), self.root
        for step in path:
            assert isinstance(part.root, yaml.MappingNode)
            part.root = next(value for key, value in part.root.value if key.value == step)
        return part

    def _find_value(self, path: tuple[str | int, ...]) -> object:
        """Return the value at a path of keys and indices."""
        value = self.data
        for step in path:
            value = value[step]
        return value

    def _fail_validation(self, message: str, kind: type[msgspec.Struct], place: tuple[str | int, ...]) -> NoReturn:
        """Raise InputError for a message of msgspec, such as "Expected `int` >= 1 - at `$.generations`"."""
        problem, _, at = message.partition(" - at ")
        steps = [int(i) if i else key for key, i in re.findall(r"\.(\w+)|\[(\d+)\]", at)]
        types, path = list(_list_types(kind, steps)), (*place, *steps)
        if unknown := re.search(r"unknown field `(.*)`", problem):
            names = [field.encode_name for one in types if isinstance(one, inspect.StructType) for field in one.fields]
            key = unknown.group(1)
            if "key_env" in names and any(find_secret_fields({key: "its value"})):
                remedy = "put the value into an environment variable, and name that: key_env: VARIABLE"
                self.fail(f"unknown key {key!r}", *path, key, remedy=remedy)
            raise UnknownNameError("key", key, names, where=self.at(*path, key)) from None
        if missing := re.search(r"missing required field `(.*)`", problem):
            self.fail(f"no {missing.group(1)!r}", *path, remedy=f"add the key {missing.group(1)!r}")
        allowed = [value for one in types if isinstance(one, inspect.LiteralType) for value in one.values]
        if allowed and (wrong := re.search(r"enum value '(.*)'", problem)):
            raise UnknownNameError(str(path[-1]), wrong.group(1), map(str, allowed), where=self.at(*path)) from None
        if (expected := re.search(r"Expected `([^`]+)`(.*?)(, got `(.+)`)?$", problem)) and "key" not in at:
            names = [TYPE_WORDS.get(name, name) for name in expected.group(1).split(" | ") if name != "null"]
            value = repr(self._find_value(path)) if path else f"a {type(self.data).__name__}"
            value = value if len(value) <= 60 else value[:57] + "..."
            bound = expected.group(2).removesuffix(".0")
            self.fail(f"{value} is not allowed", *path, remedy=f"give {' or '.join(names)}{bound}")
        self.fail(problem, *path, remedy="see the README's example")

    def _check_nodes(self, root: yaml.Node) -> None:
        """Raise InputError for values that JSON lacks, duplicate keys, and aliases that contain themselves or explode.

        Each node is checked once, however many aliases lead to it: the number of values that it stands for is the sum
        of those of its parts.
        """
        sizes: dict[int, int] = {}
        waiting: list[tuple[yaml.Node, bool]] = [(root, False)]
        open_nodes: set[int] = set()
        while waiting:
            node, is_left = waiting.pop()
            if is_left:
                open_nodes.discard(id(node))
                sizes[id(node)] = 1 + sum(sizes[id(part)] for part in _list_parts(node))
                if sizes[id(node)] > MOST_VALUES:
                    self._refuse(node, f"aliases stand for more than {MOST_VALUES:,} values", "write fewer aliases")
            elif id(node) in open_nodes:
                self._refuse(node, "an alias contains itself", "remove it")
            elif id(node) not in sizes:
                self._check_node(node)
                open_nodes.add(id(node))
                waiting.append((node, True))
                waiting += [(part, False) for part in _list_parts(node)]

    def _check_node(self, node: yaml.Node) -> None:
        """Raise InputError for what JSON lacks, or a duplicate key, of which YAML would silently keep the last."""
        if node.tag not in TAGS:
            name = node.tag.removeprefix("tag:yaml.org,2002:").lstrip("!")
            what = f"a value of the type {name!r}"
            self._refuse(node, what, "write text (in quotes), a number, true, false, a list or a mapping")
        if isinstance(node, yaml.ScalarNode) and any(c == "\0" or "\ud800" <= c <= "\udfff" for c in node.value):
            self._refuse(node, "a text has a character that no file can hold", "remove it")
        if not isinstance(node, yaml.MappingNode):
            return
        names: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._refuse(key, "a key is a list or a mapping", "write a word as the key")
            if key.value in names:
                self._refuse(key, f"the key {key.value!r} occurs twice", "remove one")
            if key.tag != MERGE:
                names.add(key.value)
                key.tag = _TEXT  # a key is text as it is written: YES and 10 are verdicts of a judge

    def _refuse(self, node: yaml.Node, what: str, remedy: str) -> NoReturn:
        """Raise InputError at the line of a node."""
        raise InputError(mask_secrets(what), where=f"{self.where}:{node.start_mark.line + 1}", remedy=remedy)


def _list_types(kind: type[msgspec.Struct], steps: Iterable[str | int]) -> Iterator[inspect.Type]:
    """Yield the types that a value at this path may have, where the values are one `kind`."""
    waiting: list[inspect.Type] = [inspect.type_info(kind)]
    for step in [*steps, None]:
        types = []
        while waiting:
            one = waiting.pop()
            if isinstance(one, inspect.UnionType):
                waiting += one.types
            elif isinstance(one, inspect.Metadata):
                waiting.append(one.type)
            else:
                types.append(one)
        if step is None:
            yield from types
        for one in types:
            if isinstance(one, inspect.StructType):
                waiting += [field.type for field in one.fields if field.encode_name == step]
            elif isinstance(one, inspect.ListType):
                waiting.append(one.item_type)
            elif isinstance(one, inspect.DictType):
                waiting.append(one.value_type)


def _list_parts(node: yaml.Node) -> list[yaml.Node]:
    """Return the nodes that a node consists of."""
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
