"""Dimensions of prompt variants and their values: labels, wrappers, orders of choices, markers and noise."""

from __future__ import annotations

import hashlib
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from howsure.errors import InputError, UnknownNameError

__all__ = [
    "BUILT_IN_VALUES",
    "ENUMERATORS",
    "WRAPPERS",
    "Dimension",
    "Value",
    "draw_below",
    "draw_key",
    "draw_permutation",
    "join_labels",
    "order_choices",
    "parse_dimension",
]


def _roman(number: int) -> str:
    """Return a Roman numeral."""
    text = ""
    for value, digits in ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        text += digits * (number // value)
        number %= value
    return text


#: Mapping from name to labels. The symbols of `keyboard` occur in no wrapper and rarely end a sentence.
ENUMERATORS: dict[str, tuple[str, ...]] = {
    "capitals": tuple(string.ascii_uppercase),
    "lowercase": tuple(string.ascii_lowercase),
    "digits": tuple(str(i) for i in range(1, 27)),
    "roman": tuple(_roman(i) for i in range(1, 27)),
    "greek": tuple("αβγδεζηθικλμνξοπρστυφχψω"),
    "keyboard": tuple("!@#$%^&+=~"),
}

#: Mapping from name to a template with a place for the label; a space and the text of the choice follow.
WRAPPERS = {"A.": "{label}.", "(A)": "({label})", "A)": "{label})", "[A]": "[{label}]"}

#: Orders that need a key: one permutation for all questions with the same number of choices, or one for each question.
SEEDED_ORDERS = ("shuffle", "shuffle-each")
ORDERS = (
    "original",
    *SEEDED_ORDERS,
    "length",
    "alphabetical",
    "reversed",
    "length-reversed",
    "alphabetical-reversed",
)


CASINGS = ("as-is", "lower", "upper")
SPACINGS = ("as-is", "double")


def order_choices(kind: str, choices: Sequence[str], key: str, question: str) -> tuple[int, ...]:
    """Return the original index of the choice at each place.

    A shared shuffle does not remove position bias: the places of the targets stay as uneven as they were. Sorting is
    stable, by number of characters or by the text in lower case.

    >>> order_choices("length", ["ccc", "a", "bb"], "", "q"), order_choices("reversed", ["x", "y"], "", "q")
    ((1, 2, 0), (1, 0))
    """
    n = len(choices)
    if kind == "shuffle":
        return draw_permutation(n, key)
    if kind == "shuffle-each":
        return draw_permutation(n, key, question)
    places = list(range(n))
    if kind.startswith("length"):
        places.sort(key=lambda i: len(choices[i]))
    elif kind.startswith("alphabetical"):
        places.sort(key=lambda i: choices[i].casefold())
    return tuple(places[::-1] if kind.endswith("reversed") else places)


def join_labels(labels: Sequence[str]) -> str:
    """Return labels as a sentence lists them.

    >>> join_labels(["A", "B", "C"])
    'A, B or C'
    """
    return " or ".join(part for part in (", ".join(labels[:-1]), labels[-1]) if part)


Content = str | int | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a dimension."""

    name: str
    content: Content
    """Part of the prompt and of the variant's hash: text, labels, (question marker, answer marker), or a number."""
    asks: str = ""
    """"label" for an instruction that asks for the label of a choice."""
    seeded: bool = False
    """Whether the value needs a key for draws, as a shuffle or a selection of demonstrations does."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One way in which prompts differ; its values are drawn with equal probability.

    Attributes
    ----------
    preserving
        Whether the meaning of the question stays the same.
    nested
        Whether the value is drawn for each question; otherwise the dimension is crossed, and all questions of a variant
        have the same value.
    """

    name: str
    values: tuple[Value, ...]
    preserving: bool = True
    nested: bool = False

    def __post_init__(self) -> None:
        where = f"dimension {self.name}"
        if not self.values:
            raise InputError("no values", where=where, remedy="give at least one, or leave the dimension out")
        for i, value in enumerate(self.values):
            for other in self.values[:i]:
                if value.name == other.name or value.content == other.content:
                    same = value.name if value.name == other.name else f"{other.name} and {value.name}"
                    raise InputError(f"the same value twice: {same}", where=where, remedy="remove one")


#: Largest rate of typos; with more of them the meaning is lost.
MOST_TYPOS = 0.5
#: Dimension -> its built-in values. The values of `instruction` are in files, that of `layout` is in the space.
BUILT_IN_VALUES: dict[str, tuple[Value, ...]] = {
    "instruction": (Value("none", ""),),
    "layout": (),
    "enumerator": tuple(Value(name, content) for name, content in ENUMERATORS.items()),
    "wrapper": tuple(Value(name, content) for name, content in WRAPPERS.items()),
    "separator": (
        Value("newline", "\n"),
        Value("semicolon", "; "),
        Value("comma", ", "),
        Value("pipe", " | "),
        Value("or", " or "),
        Value("spaces", "  "),
        Value("tab", "\t"),
    ),
    "order": tuple(Value(name, name, seeded=name in SEEDED_ORDERS) for name in ORDERS),
    "demonstrations": (Value("0", 0),),
    "turns": (Value("text", "text"), Value("chat", "chat")),
    "answer": (Value("label", "label"), Value("label-text", "label-text"), Value("text", "text")),
    "markers": (
        Value("none", ("", "")),
        Value("Question/Answer", ("Question: ", "Answer:")),
        Value("Q/A", ("Q: ", "A:")),
        Value("QUESTION/ANSWER", ("QUESTION: ", "ANSWER:")),
        Value("question/answer", ("question: ", "answer:")),
        Value("lines", ("Question:\n", "Answer:\n")),
    ),
    "casing": tuple(Value(name, name) for name in CASINGS),
    "spacing": tuple(Value(name, name) for name in SPACINGS),
    "typos": (Value("0", "0"),),
}


def parse_dimension(
    name: str,
    items: Sequence[object],
    *,
    named_values: Sequence[Value] = (),
    preserving: bool = True,
    nested: bool = False,
) -> Dimension:
    r"""Return a dimension from a list of YAML: names of built-in values, or new values `{NAME: CONTENT}`.

    Parameters
    ----------
    name
        Name of the dimension.
    items
        Its values.
    named_values
        Values that can be given by name besides the built-in ones of this dimension.
    preserving, nested
        Attributes of the dimension.

    Raises
    ------
    UnknownNameError
        When there is no value of a name.
    InputError
        When a new value has no content of the right kind, or the same value comes twice.

    >>> [value.content for value in parse_dimension("separator", ["tab", {"dash": " - "}]).values]
    ['\t', ' - ']
    """
    named = {value.name: value for value in (*BUILT_IN_VALUES.get(name, ()), *named_values)}
    values = []
    for item in items:
        if name == "demonstrations" and isinstance(item, int) and not isinstance(item, bool):
            values.append(_demonstrations_value(item))
        elif name == "typos" and isinstance(item, int | float) and not isinstance(item, bool):
            values.append(_typos_value(item))
        elif isinstance(item, Mapping):
            values.append(_parse_value(name, item))
        elif str(item) in named:
            values.append(named[str(item)])
        elif name not in BUILT_IN_VALUES and isinstance(item, str):
            values.append(Value(item, item))
        else:
            raise UnknownNameError(f"{name} value", str(item), named, where="variants")
    return Dimension(name, tuple(values), preserving=preserving, nested=nested)


def _demonstrations_value(k: int) -> Value:
    """Return the value of a number of demonstrations."""
    if k < 0:
        raise InputError(f"{k} demonstrations", where="dimension demonstrations", remedy="give 0 or more")
    return Value(str(k), k, seeded=k > 0)


def _typos_value(rate: float) -> Value:
    """Return the value of a rate of typos."""
    if not 0 <= rate <= MOST_TYPOS:
        remedy = f"give the share of words with a typo, 0 to {MOST_TYPOS:g}"
        raise InputError(f"typos at a rate of {rate:g}", where="dimension typos", remedy=remedy)
    return Value(f"{rate:g}", f"{rate:g}", seeded=rate > 0)


def _parse_value(dimension: str, item: Mapping[object, object]) -> Value:
    """Return the new value `{NAME: CONTENT}` of a dimension."""
    where = f"dimension {dimension}"
    if dimension == "instruction" and "text" in item:
        given = {str(key): str(value) for key, value in item.items()}
        return Value(given.get("id", given["text"]), given["text"], asks=given.get("asks", ""))
    if len(item) != 1:
        raise InputError(f"a value with {len(item)} names", where=where, remedy="write each as {NAME: CONTENT}")
    (name, content), *_ = item.items()
    content = _parse_content(dimension, content, f"{where}, {name}")
    return Value(str(name), content)


def _parse_content(dimension: str, content: object, where: str) -> Content:
    """Return the content of a new value, checked for its dimension."""
    if dimension in ("order", "demonstrations", "turns", "answer", "casing", "spacing", "typos"):
        raise InputError("new values are not allowed", where=where, remedy="give one of them by name")
    if dimension == "enumerator":
        enumerator = tuple(str(label).strip() for label in (content if isinstance(content, Sequence) else ()))
        if not enumerator or "" in enumerator:
            remedy = 'write ["1st", "2nd", ...] or "αβγ"'
            raise InputError(f"{content!r} is no list of labels", where=where, remedy=remedy)
        return enumerator
    if dimension == "markers":
        if not (isinstance(content, Sequence) and len(content) == 2 and not isinstance(content, str)):
            raise InputError(f"{content!r} is not two markers", where=where, remedy='write ["Question: ", "Answer:"]')
        return (str(content[0]), str(content[1]))
    if not isinstance(content, str):
        raise InputError(f"{content!r} is not text", where=where, remedy="put it in quotes")
    if dimension == "wrapper" and content.count("{label}") != 1:
        raise InputError(f"{content!r} has no place for the label", where=where, remedy="write {label} once")
    if dimension == "separator" and not content:
        raise InputError("it is empty", where=where, remedy="give the text between two choices")
    return content


#: Number of values of a hash.
RANGE = 2**64


def draw_below(n: int, *parts: object) -> int:
    """Return a whole number from 0 to n - 1, exactly uniform over the hashes of `parts`.

    A hash at or above the largest multiple of n is drawn again, so that no remainder is more likely than another.

    >>> draw_below(4, 7, 0, "order"), draw_below(1, "anything")
    (3, 0)
    """
    if n == 1:
        return 0
    bound = RANGE - RANGE % n
    attempt = 0
    while (number := _hash(*parts, attempt)) >= bound:
        attempt += 1
    return number % n


def draw_key(*parts: object) -> str:
    """Return the key of further draws: 16 hexadecimal digits."""
    return f"{_hash(*parts):016x}"


def draw_permutation(n: int, *parts: object, k: int | None = None) -> tuple[int, ...]:
    """Return the first k of a uniform permutation of 0 to n - 1, by default all; a larger k keeps the first ones."""
    items = list(range(n))
    k = n if k is None else k
    for i in range(k):
        j = i + draw_below(n - i, *parts, "place", i)
        items[i], items[j] = items[j], items[i]
    return tuple(items[:k])


def _hash(*parts: object) -> int:
    """Return a hash of 64 bits."""
    text = "".join(f"{part}\0" for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
