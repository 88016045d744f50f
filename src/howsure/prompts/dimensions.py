"""Dimensions of prompt variants and their values: labels, wrappers, orders of choices, markers and noise."""

from __future__ import annotations

import hashlib
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from howsure.errors import InputError, UnknownNameError
from howsure.prompts.prompt_texts import ANSWER_FORMS, LANGUAGES, LanguageTexts, load_languages, load_passages


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


def join_labels(labels: Sequence[str], conjunction: str = " or ", comma: str = ", ") -> str:
    """Return labels as a sentence lists them.

    >>> join_labels(["A", "B", "C"])
    'A, B or C'
    """
    return conjunction.join(part for part in (comma.join(labels[:-1]), labels[-1]) if part)


PLACEMENTS = ("before", "after", "system")
#: Orders of demonstrations; that of a shuffle needs a key of its own.
DEMONSTRATION_ORDERS = ("drawn", "shuffle", "reversed", "short-first", "long-first")


def order_demonstrations(kind: str, lengths: Sequence[int], key: str) -> tuple[int, ...]:
    """Return the place in the drawn selection of each demonstration, for demonstrations with these lengths.

    >>> order_demonstrations("short-first", [30, 10, 20], ""), order_demonstrations("reversed", [30, 10, 20], "")
    ((1, 2, 0), (2, 1, 0))
    """
    places = list(range(len(lengths)))
    if kind == "shuffle":
        return draw_permutation(len(lengths), key)
    if kind == "reversed":
        return tuple(places[::-1])
    if kind in {"short-first", "long-first"}:
        places.sort(key=lambda i: lengths[i], reverse=kind == "long-first")
    return tuple(places)


Content = str | int | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a dimension.

    Examples
    --------
    >>> dash = Value("dash", " - ", translations={"fr": " – "})
    >>> dash.resolve("fr", "before").content
    ' – '
    """

    name: str
    content: Content
    """Part of the prompt and of the variant's hash: text, labels, (question marker, answer marker), or a number."""
    asks: str = ""
    """For an instruction: "label" of a choice, "working" before the answer, or a "brief" answer."""
    seeded: bool = False
    """Whether the value needs a key for draws, as a shuffle or a selection of demonstrations does."""
    translations: Mapping[str, Content] = field(default_factory=dict, hash=False)
    """Content in other languages, by the code of the language."""
    after: str = ""
    """Text of an instruction that stands after the question, where `content` says that the question follows."""

    def resolve(self, language: str, placement: str) -> Value:
        """Return the value with the content of a language, and of a place of the instruction."""
        content = self.translations.get(language, self.content)
        if placement == "after" and self.after and content == self.content:
            content = self.after
        return self if content == self.content else replace(self, content=content)


@dataclass(frozen=True, slots=True)
class Dimension:
    r"""One way in which prompts differ; its values are drawn with equal probability.

    Attributes
    ----------
    preserving
        Whether the meaning of the question stays the same.
    nested
        Whether the value is drawn for each question; otherwise the dimension is crossed, and all questions of a variant
        have the same value.

    Examples
    --------
    >>> separators = Dimension("separator", (Value("newline", "\n"), Value("dash", " - ")))
    >>> [value.name for value in separators.values], separators.nested
    (['newline', 'dash'], False)
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


def resolve_values(values: Mapping[str, Value]) -> dict[str, Value]:
    """Return values with the contents that the language and the place of the instruction call for."""
    language, placement = find_language(values["language"]), str(values["placement"].content)
    return {name: value.resolve(language, placement) for name, value in values.items()}


def find_language(value: Value) -> str:
    """Return the code of the language of a value of the dimension `language`."""
    return value.content[0] if isinstance(value.content, tuple) else str(value.content)


def _translate(build: Callable[[LanguageTexts], Content]) -> dict[str, Content]:
    """Return a content in each language but the default one."""
    return {code: build(texts) for code, texts in load_languages().items() if code != LANGUAGES[0]}


def _markers_value(name: str) -> Value:
    """Return a pair of markers with its translations."""
    english = load_languages()[LANGUAGES[0]]
    return Value(name, english.markers(name), translations=_translate(lambda texts: texts.markers(name)))


def _reasoning_value(name: str) -> Value:
    """Return a phrase that asks for reasoning, with its translations."""
    english = load_languages()[LANGUAGES[0]]
    return Value(name, english.reasoning[name], translations=_translate(lambda texts: texts.reasoning[name]))


def _answer_form_value(name: str) -> Value:
    """Return a demanded form of the answer, with its translations."""
    english = load_languages()[LANGUAGES[0]]
    return Value(name, english.answer_form(name), translations=_translate(lambda texts: texts.answer_form(name)))


def _language_value(texts: LanguageTexts) -> Value:
    """Return a language: its code, and what its prompts contain whatever the other dimensions are."""
    notes = (texts.texts[f"{name}_note"] for name in ("brief", "examples", "language"))
    return Value(texts.code, (texts.code, *texts.conjunction, *notes))


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
        Value("or", " or ", translations=_translate(lambda texts: texts.conjunction[0])),
        Value("spaces", "  "),
        Value("tab", "\t"),
    ),
    "order": tuple(Value(name, name, seeded=name in SEEDED_ORDERS) for name in ORDERS),
    "demonstrations": (Value("0", 0),),
    "turns": (Value("text", "text"), Value("chat", "chat")),
    "answer": (Value("label", "label"), Value("label-text", "label-text"), Value("text", "text")),
    "markers": (
        Value("none", ("", "")),
        *map(_markers_value, ("Question/Answer", "Q/A", "QUESTION/ANSWER", "question/answer", "lines")),
    ),
    "casing": tuple(Value(name, name) for name in CASINGS),
    "spacing": tuple(Value(name, name) for name in SPACINGS),
    "typos": (Value("0", "0"),),
    "placement": tuple(Value(name, name) for name in PLACEMENTS),
    "demonstration_order": tuple(Value(name, name, seeded=name == "shuffle") for name in DEMONSTRATION_ORDERS),
    "reasoning": (
        Value("none", ""),
        *map(_reasoning_value, load_languages()[LANGUAGES[0]].reasoning),
    ),
    "answer_form": (Value(ANSWER_FORMS[0], ()), *map(_answer_form_value, ANSWER_FORMS[1:])),
    "wording": (Value("original", "original"), Value("paraphrase", "paraphrase", seeded=True)),
    "context": (Value("none", ()), Value("passage", load_passages(), seeded=True)),
    "language": tuple(map(_language_value, load_languages().values())),
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
        given = {str(key): str(value) for key, value in item.items() if key != "translations"}
        translations = item.get("translations", {})
        texts = (
            {str(code): str(text) for code, text in translations.items()} if isinstance(translations, Mapping) else {}
        )
        return Value(
            given.get("id", given["text"]),
            given["text"],
            asks=given.get("asks", ""),
            after=given.get("after", ""),
            translations=texts,
        )
    if len(item) != 1:
        raise InputError(f"a value with {len(item)} names", where=where, remedy="write each as {NAME: CONTENT}")
    (name, content), *_ = item.items()
    if dimension == "demonstrations" and name == "fixed":
        return _fixed_demonstrations_value(content, where)
    if isinstance(content, Mapping):
        return _parse_translations(dimension, str(name), content, f"{where}, {name}")
    content = _parse_content(dimension, content, f"{where}, {name}")
    return Value(str(name), content, seeded=dimension == "context")


def _fixed_demonstrations_value(k: object, where: str) -> Value:
    """Return the value of k demonstrations that are the same ones in every variant."""
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        remedy = "write {fixed: 5} for the same five in every variant"
        raise InputError(f"{k!r} fixed demonstrations", where=where, remedy=remedy)
    return Value(f"{k} fixed", k)


def _parse_translations(dimension: str, name: str, content: Mapping[object, object], where: str) -> Value:
    """Return a new value whose content is given in several languages: `{NAME: {en: ..., de: ...}}`."""
    for code in content:
        if code not in LANGUAGES:
            raise UnknownNameError("language", str(code), LANGUAGES, where=where)
    if LANGUAGES[0] not in content:
        raise InputError("the English content is missing", where=where, remedy=f"add {LANGUAGES[0]}: ...")
    parsed = {str(code): _parse_content(dimension, text, where) for code, text in content.items()}
    return Value(name, parsed.pop(LANGUAGES[0]), translations=parsed)


#: Dimensions whose values are all built in.
_CLOSED = (
    *("order", "demonstrations", "turns", "answer", "casing", "spacing", "typos"),
    *("placement", "demonstration_order", "answer_form", "language", "wording"),
)


def _parse_content(dimension: str, content: object, where: str) -> Content:
    """Return the content of a new value, checked for its dimension."""
    if dimension in _CLOSED:
        raise InputError("new values are not allowed", where=where, remedy="give one of them by name")
    if dimension == "enumerator":
        enumerator = tuple(str(label).strip() for label in (content if isinstance(content, Sequence) else ()))
        if not enumerator or "" in enumerator:
            remedy = 'write ["1st", "2nd", ...] or "αβγ"'
            raise InputError(f"{content!r} is no list of labels", where=where, remedy=remedy)
        return enumerator
    if dimension == "markers":
        return _parse_markers(content, where)
    if dimension == "context":
        return _parse_passages(content, where)
    if not isinstance(content, str):
        raise InputError(f"{content!r} is not text", where=where, remedy="put it in quotes")
    if dimension == "wrapper" and content.count("{label}") != 1:
        raise InputError(f"{content!r} has no place for the label", where=where, remedy="write {label} once")
    if dimension == "separator" and not content:
        raise InputError("it is empty", where=where, remedy="give the text between two choices")
    return content


def _parse_markers(content: object, where: str) -> Content:
    """Return the texts before a question and before its answer."""
    if not (isinstance(content, Sequence) and len(content) == 2 and not isinstance(content, str)):
        raise InputError(f"{content!r} is not two markers", where=where, remedy='write ["Question: ", "Answer:"]')
    return (str(content[0]), str(content[1]))


def _parse_passages(content: object, where: str) -> Content:
    """Return the passages of which one stands before a question."""
    passages = [content] if isinstance(content, str) else content
    if not isinstance(passages, list | tuple) or not passages or not all(isinstance(text, str) for text in passages):
        raise InputError(f"{content!r} is no list of texts", where=where, remedy='write {NAME: ["...", "..."]}')
    return tuple(str(text).strip() for text in passages)


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
