"""Change the surface of a text without its meaning: casing, double spaces and typing errors.

Code, formulas, quotations, fields in braces, tables and words with digits or symbols stay as they are. A question about
spelling, characters or words has no noise at all. Only common English words in lower case have typing errors
(`typo_words.txt`), so that names, drugs, numbers in words and negations have none; a typing error never makes another
word.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from importlib.resources import files

from howsure.prompts.dimensions import draw_below

#: Part of the id of a variant with typing errors or double spaces: it changes when these change.
NOISE_VERSION = 9
#: Rates of typing errors are multiples of 1 / RESOLUTION.
RESOLUTION = 10**6
#: Share of the longer words that must be common English words; otherwise a text is in another language.
ENGLISH_SHARE = 0.3
#: How often a typing error is drawn again because it would make another word.
ATTEMPTS = 30


# Parts of a line that stay as they are: code, formulas, quotations, fields, tags, and words with digits or symbols.
_PROTECTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`]*`|\$\$.*?\$\$|\$(?=\S)[^$\n]*(?<=\S)\$(?!\d)|\\\(.*?\\\)|\\\[.*?\\\]"
    r"|\\\w+(?:\s?\{[^{}]*\})*|\"[^\"]*(?:\"|\Z)|“[^”]*(?:”|\Z)|(?<!\w)['‘](?=\S)[^'’\n]*['’](?!\w)"
    r"|\{[^{}\n]*\}|<[^<>\n]{1,200}>|\[[^\[\]\n]*\]|\S*[\d#@/\\<>_=^|~*+$%&×÷·±√∞≤≥≠≈→{}]\S*",
    re.DOTALL,
)
# Lines of code that no fence encloses, of formulas and of tables.
_CODE = re.compile(
    r"[{};|]\s*$|^(?: {2}|\t)|^\||\w\((?!e?s\))[^)]*\)?|\w\[|[=!<>]=|\S =|\w=\w|\S\t|\S {2,}\S"
    r"|^\s*(?:def|class|import|from|while|return|SELECT)\b",
    re.MULTILINE,
)
_ABOUT_SPELLING = re.compile(
    r"\b(?:(?:mis)?spell\w*|letters?|characters?|words?|vowels?|consonants?|syllab\w*|alphabet\w*|anagram\w*"
    r"|palindrom\w*|rhym\w*|typos?|gramma\w*|punctuat\w*|capitali[sz]\w*|sentences?|strings?|spaces?|translat\w*"
    r"|sort(?:ed|ing)?|revers\w+|python|java(?:script)?|sql|html|(?:this|following|source) code)\b",
    re.IGNORECASE,
)
_FUNCTION_WORDS = frozenset({"the", "of", "and", "is", "are", "what", "which", "how", "who", "why", "when", "where"})
_INSTRUCTING_WORDS = frozenset({"give", "choose", "select", "your", "pick", "this", "with", "it", "following", "write"})
_WORD = re.compile(r"(?<![\w'’.-])[a-z]{4,}(?![\w'’-]|\.\w)")
_ANY_WORD = re.compile(r"[^\W\d_]+")


@cache
def load_typo_words() -> dict[str, frozenset[str]]:
    """Return the words that may have a typing error, each with the errors that would make another word."""
    text = files("howsure.prompts").joinpath("typo_words.txt").read_text("utf-8")
    lines = (line.partition(": ") for line in text.splitlines() if not line.startswith("#"))
    return {word: frozenset(others.split()) for word, _, others in lines}


@lru_cache(maxsize=2**14)
def is_about_spelling(text: str) -> bool:
    """Return whether a question is about spelling, characters, words or code, so that noise may change its answer.

    >>> is_about_spelling("How many letters has the longest river?"), is_about_spelling("Which river is the longest?")
    (True, False)
    """
    return _ABOUT_SPELLING.search(text) is not None


def apply_casing(text: str, casing: str) -> str:
    """Return a text in another casing; fields, commands of LaTeX, quotations, formulas and code keep theirs.

    >>> apply_casing("Give one of {labels}.", "upper")
    'GIVE ONE OF {labels}.'
    """
    if casing == "as-is":
        return text
    return "".join(part if is_protected else getattr(part, casing)() for part, is_protected in _split_protected(text))


def apply_spacing(text: str, spacing: str) -> str:
    """Return a text with two spaces between ordinary words if `spacing` is "double".

    Parameters
    ----------
    text
        Text of a question or an instruction.
    spacing
        "as-is" or "double".

    Returns
    -------
    str
        The text; spaces of code, formulas, quotations and tables are as they were.

    Examples
    --------
    >>> apply_spacing("Give one.", "double"), apply_spacing('Spell "a b c" now.', "double")
    ('Give  one.', 'Spell "a b c" now.')
    """
    if spacing == "as-is":
        return text
    between_words = r"(?<=[^\W\d_]) (?=[^\W\d_])|(?<=[^\W\d_][.,;:!?]) (?=[^\W\d_])"
    return "".join(
        part if is_protected else re.sub(between_words, "  ", part)
        for part, is_protected in _split_protected(text, lines=True)
    )


def add_typos(text: str, rate: float, *parts: object, spared: Collection[str] = ()) -> str:
    """Return a text in which each common English word in lower case has a typing error with probability `rate`.

    A typing error swaps two letters, omits one, or doubles one, each with the same probability (equal letters are
    doubled instead of swapped). The first and the last letter stay. An error that makes another word is drawn again.

    Parameters
    ----------
    text
        Text of a question or an instruction.
    rate
        Probability of an error in each word that may have one, 0 to .5.
    parts
        Seed and names; the errors are drawn by their hash.
    spared
        Texts whose words have no error, such as the choices: a word of both may be a name ("the table orders").

    Returns
    -------
    str
        The text; one that is not mainly English is returned as it is.

    Examples
    --------
    >>> add_typos("Which river runs through Paris in three days?", 0.5, "seed")
    'Which river ruuns thrugh Paris in three days?'
    """
    if not rate or not _is_english(text):
        return text
    numbers = iter(range(len(text)))
    spared_words = {word.lower() for one in spared for word in _ANY_WORD.findall(one)}

    def replace_word(match: re.Match[str]) -> str:
        others = load_typo_words().get(match[0])
        number = next(numbers) if others is not None else 0
        if others is None or match[0] in spared_words:
            return match[0]
        return _mistype(match[0], others, rate, *parts, number)

    pieces = _split_protected(text, lines=True)
    return "".join(part if is_protected else _WORD.sub(replace_word, part) for part, is_protected in pieces)


def _is_english(text: str) -> bool:
    """Return whether a text is mainly English, by its function words and the share of common words."""
    words = [word.lower() for word in _ANY_WORD.findall(text)]
    longer = [word for word in words if len(word) > 3]
    common = sum(word in load_typo_words() for word in longer)
    has_english_words = any(word in _FUNCTION_WORDS or word in _INSTRUCTING_WORDS for word in words)
    return has_english_words and common >= ENGLISH_SHARE * len(longer)


def _split_protected(text: str, *, lines: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text and whether each stays as it is; with `lines` also whole lines of code and tables."""
    spans = [match.span() for match in _PROTECTED.finditer(text)]
    if lines:
        spans += _find_code_lines(text)
    place = 0
    for start, end in sorted(spans):
        if end > place:
            if start > place:
                yield text[place:start], False
            yield text[max(start, place) : end], True
            place = end
    if place < len(text):
        yield text[place:], False


def _find_code_lines(text: str) -> list[tuple[int, int]]:
    """Return the span from the first line of code, formulas or tables to the last one; empty when there is none."""
    starts, lines = [0], text.split("\n")
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    marked = [i for i, line in enumerate(lines) if _CODE.search(line)]
    return [(starts[marked[0]], min(starts[marked[-1] + 1], len(text)))] if marked else []


def _mistype(word: str, others: frozenset[str], rate: float, *parts: object) -> str:
    """Return a word with a typing error, or as it is."""
    if draw_below(RESOLUTION, *parts) >= round(rate * RESOLUTION):
        return word
    for attempt in range(ATTEMPTS):
        place = 1 + draw_below(len(word) - 3, *parts, "place", attempt)
        kind = draw_below(3, *parts, "kind", attempt)
        if kind == 0 and word[place] != word[place + 1]:
            typo = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
        else:
            typo = word[:place] + word[place + 1 :] if kind == 1 else word[:place] + word[place] + word[place:]
        if typo not in others and typo not in load_typo_words():
            return typo
    return word
