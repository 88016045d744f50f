"""What choices are labelled with, how a label is wrapped, and in which order choices stand."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from howsure.errors import InputError, UnknownNameError
from howsure.perturb.hash_draws import permutation

__all__ = [
    "CASINGS",
    "ENUMERATORS",
    "KNOWN",
    "ORDERS",
    "SEEDED_ORDERS",
    "SPACINGS",
    "WRAPPERS",
    "Content",
    "Dimension",
    "Value",
    "dimension",
    "order",
    "spoken",
]


def _roman(number: int) -> str:
    text = ""
    for value, digits in ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        text += digits * (number // value)
        number %= value
    return text


#: Name -> labels. The symbols of `keyboard` are no part of a wrapper and rarely end a sentence.
ENUMERATORS: dict[str, tuple[str, ...]] = {
    "capitals": tuple(string.ascii_uppercase),
    "lowercase": tuple(string.ascii_lowercase),
    "digits": tuple(str(i) for i in range(1, 27)),
    "roman": tuple(_roman(i) for i in range(1, 27)),
    "greek": tuple("αβγδεζηθικλμνξοπρστυφχψω"),
    "keyboard": tuple("!@#$%^&+=~"),
}

#: By their looks -> with a place for the label; a space and the text of the choice follow.
WRAPPERS = {"A.": "{label}.", "(A)": "({label})", "A)": "{label})", "[A]": "[{label}]"}

#: Orders that take a key: one permutation for all questions of as many choices, or another one for each question.
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


def order(kind: str, choices: Sequence[str], key: str, question: str) -> tuple[int, ...]:
    """Original index of the choice at each place.

    A shared shuffle leaves position bias in: where the target stands stays as uneven as it was. Sorting is stable, by
    number of characters or by the text without case.

    >>> order("length", ["ccc", "a", "bb"], "", "q"), order("reversed", ["x", "y"], "", "q")
    ((1, 2, 0), (1, 0))
    """
    n = len(choices)
    if kind == "shuffle":
        return permutation(n, key)
    if kind == "shuffle-each":
        return permutation(n, key, question)
    places = list(range(n))
    if kind.startswith("length"):
        places.sort(key=lambda i: len(choices[i]))
    elif kind.startswith("alphabetical"):
        places.sort(key=lambda i: choices[i].casefold())
    return tuple(places[::-1] if kind.endswith("reversed") else places)


def spoken(labels: Sequence[str]) -> str:
    """Labels as a sentence names them.

    >>> spoken(["A", "B", "C"])
    'A, B or C'
    """
    return " or ".join(part for part in (", ".join(labels[:-1]), labels[-1]) if part)


Content = str | int | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a dimension."""

    name: str
    content: Content
    """What enters the prompt, and the hash of the variant: text, labels, (question marker, answer marker), or k."""
    asks: str = ""
    """Of an instruction: "label" when it asks for the label of a choice."""
    seeded: bool = False
    """Whether it needs a key for draws of its own: a shuffle, a choice of demonstrations."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One way in which prompts differ; its values are equally likely.

    Attributes
    ----------
    preserving
        Whether the meaning of the question stays the same.
    nested
        Drawn anew for each question; else crossed, the same for all questions of a variant.
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


#: With more slips than this the meaning is hardly kept.
MOST_TYPOS = 0.5
#: Dimension -> its built-in values. `instruction` takes its values from files, `layout` from the space.
KNOWN: dict[str, tuple[Value, ...]] = {
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


def dimension(
    name: str,
    items: Sequence[object],
    *,
    known: Sequence[Value] = (),
    preserving: bool = True,
    nested: bool = False,
) -> Dimension:
    r"""A dimension from a list as it stands in YAML: names of built-in values, or new values `{NAME: CONTENT}`.

    Parameters
    ----------
    known
        Values that a name may stand for, besides the built-in ones of this dimension.

    Raises
    ------
    UnknownNameError
        When there is no value of a name.
    InputError
        When a new value has no content of the right kind, or the same value comes twice.

    >>> [value.content for value in dimension("separator", ["tab", {"dash": " - "}]).values]
    ['\t', ' - ']
    """
    named = {value.name: value for value in (*KNOWN.get(name, ()), *known)}
    values = []
    for item in items:
        if name == "demonstrations" and isinstance(item, int) and not isinstance(item, bool):
            values.append(_shots(item))
        elif name == "typos" and isinstance(item, int | float) and not isinstance(item, bool):
            values.append(_rate(item))
        elif isinstance(item, Mapping):
            values.append(_new(name, item))
        elif str(item) in named:
            values.append(named[str(item)])
        elif name not in KNOWN and isinstance(item, str):
            values.append(Value(item, item))
        else:
            raise UnknownNameError(f"{name} value", str(item), named, where="variants")
    return Dimension(name, tuple(values), preserving=preserving, nested=nested)


def _shots(k: int) -> Value:
    if k < 0:
        raise InputError(f"{k} demonstrations", where="dimension demonstrations", remedy="give 0 or more")
    return Value(str(k), k, seeded=k > 0)


def _rate(rate: float) -> Value:
    if not 0 <= rate <= MOST_TYPOS:
        remedy = f"give the share of words with a slip, 0 to {MOST_TYPOS:g}"
        raise InputError(f"typos at a rate of {rate:g}", where="dimension typos", remedy=remedy)
    return Value(f"{rate:g}", f"{rate:g}", seeded=rate > 0)


def _new(dimension: str, item: Mapping[object, object]) -> Value:
    where = f"dimension {dimension}"
    if dimension == "instruction" and "text" in item:
        given = {str(key): str(value) for key, value in item.items()}
        return Value(given.get("id", given["text"]), given["text"], asks=given.get("asks", ""))
    if len(item) != 1:
        raise InputError(f"a value with {len(item)} names", where=where, remedy="write each as {NAME: CONTENT}")
    (name, content), *_ = item.items()
    content = _checked(dimension, content, f"{where}, {name}")
    return Value(str(name), content)


def _checked(dimension: str, content: object, where: str) -> Content:
    if dimension in ("order", "demonstrations", "turns", "answer", "casing", "spacing", "typos"):
        raise InputError("it has no values but its own", where=where, remedy="give one of them by name")
    if dimension == "enumerator":
        found = tuple(str(label).strip() for label in (content if isinstance(content, Sequence) else ()))
        if not found or "" in found:
            raise InputError(
                f"{content!r} is no list of labels", where=where, remedy='write ["1st", "2nd", ...] or "αβγ"'
            )
        return found
    if dimension == "markers":
        if not (isinstance(content, Sequence) and len(content) == 2 and not isinstance(content, str)):
            raise InputError(f"{content!r} is not two markers", where=where, remedy='write ["Question: ", "Answer:"]')
        return (str(content[0]), str(content[1]))
    if not isinstance(content, str):
        raise InputError(f"{content!r} is not text", where=where, remedy="put it in quotes")
    if dimension == "wrapper" and content.count("{label}") != 1:
        raise InputError(f"{content!r} has no place for the label", where=where, remedy="write {label} once")
    if dimension == "separator" and not content:
        raise InputError("it is empty", where=where, remedy="give what stands between two choices")
    return content
