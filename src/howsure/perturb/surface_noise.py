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

from howsure.perturb.dimensions import draw_below

#: Part of the id of a variant with typing errors or double spaces: it changes when these change.
NOISE_VERSION = 8
#: Rates of typing errors are multiples of 1 / RESOLUTION.
RESOLUTION = 10**6
#: Share of the longer words that must be common English words; otherwise a text is in another language.
ENGLISH_SHARE = 0.3
#: How often a typing error is drawn again because it would make another word.
ATTEMPTS = 30


def _compile_any(*patterns: str, flags: re.RegexFlag) -> re.Pattern[str]:
    """Return a pattern that finds any of several."""
    return re.compile("|".join(patterns), flags)


# Parts of a line that stay as they are.
_PROTECTED = _compile_any(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`]*`",  # code
    r"\$\$.*?\$\$|\$(?=\S)[^$\n]*(?<=\S)\$(?!\d)|\$ [^$\n]*[\\^_=+<>][^$\n]* \$",
    r"\\\(.*?\\\)|\\\[.*?\\\]|\\begin\{.*?\\end\{\w+\*?\}",  # formulas
    r"\\\w+(?:\s?\{[^{}]*\})*",
    r"\((?:[^\W\d_]|[-−]?\d+)(?:, ?(?:[^\W\d_]|[-−]?\d+))+\)",  # pairs such as (n, l), and lists of letters
    r"\b(?:[A-Z](?:, ?[A-Z]\b)+(?:,? (?:and|or) [A-Z]\b)?|[a-z](?:, ?[a-z]\b)+(?:,? (?:and|or) [a-z]\b)?)(?!['’])",
    r"\"[^\"]*(?:\"|\Z)|“[^”]*(?:”|\Z)|«[^»]*(?:»|\Z)|„[^“”]*(?:[“”]|\Z)|「[^」]*(?:」|\Z)|『[^』]*(?:』|\Z)",
    r"(?<!\w)['‘](?=\S)[^'’\n]*(?:['’](?=[a-z])[^'’\n]*)*['’](?!\w)",  # quotations; an apostrophe is in a word
    r"\{[^{}\n]*\}|<[^<>\n]{1,200}>|\[[^\[\]\n]*\]",
    r"\S*[\d#@/\\<>_=^|~*+$%&§°×÷·±√∞∑∏∫≤≥≠≈∈∪∩∀∃¬∧∨→⇒↔≡{}]\S*",
    flags=re.DOTALL,
)
# Lines of code that no fence encloses, of formulas and of tables.
_CODE = _compile_any(
    r"[{};]\s*$|^\s*(?:[{}]|>>>|\$ |#!|//|/\*|@\w)|^(?: {2}|\t)",
    r"\w\((?!e?s\))[^)]*\)?|\w\[[^\]]*\]|\w\.\w+\(",
    r"==|!=|<=|>=|:=|->|=>|<-|::|&&|\|\||\+\+|\+=|-=|\*\*|//|/\*|\S =|= \S|\w=\w|#include",
    r"</?\w+[^>\n]*>",
    r"^Traceback \(|^\w*(?:Error|Exception|Warning): ",
    r"^\s*(?:def|class|import|from|for|while|if|elif|else|try|except|with|return|function)\b.*[:;{]\s*$",
    r"\bfor \w+ in \w+.*:|\breturn [^ ]*$|\b(?:SELECT|INSERT|UPDATE|DELETE|WHERE|GROUP BY|ORDER BY|JOIN|CREATE)\b",
    r"\b[Ss]elect\b.+\bfrom\b.+\b(?:where|order by|group by|limit|join)\b|\s--?[a-z][\w-]*\b(?! -)",
    r"\||\S\t|\S {2,}\S|^[^\s,;]+(?:([,;])[^\s,;]+)(?:\1[^\s,;]+)+$",
    flags=re.MULTILINE,
)
# The first of several lines is a row of a table, a fence, a heading, an item of a list or indented.
_BLOCK = re.compile(
    r"(?:\||```|~~~|\s|#{1,6} |[-*•] |\d{1,2}[.)] |[^\n]*\S(?:\t| {2,})\S)[^\n]*\n"
    r"|[^\s,;]+([,;])[^\s,;]+(?:\1[^\s,;]+)*\n[^\s,;]+\1"
)
_ABOUT_SPELLING = re.compile(
    r"\b(?:(?:mis)?spell\w*|letters?|characters?|vowels?|consonants?|syllab\w*|anagram\w*|palindrom\w*|rhym\w*"
    r"|homophon\w*|homonym\w*|(?:un)?scrambl\w*|acronym\w*|abbreviat\w*|alphabet\w*|typos?|typographical|gramma\w*"
    r"|punctuat\w*|capitali[sz]\w*|upper[ -]?case\w*|lower[ -]?case\w*|prefix\w*|suffix\w*|(?:sub)?strings?|regex\w*"
    r"|regular expressions?|plurals?|words?|sentences?|phrases?|whitespace|spaces?|blanks?|translat\w*|pronounc\w*"
    r"|verbs?|nouns?|adjectives?|adverbs?|pronouns?|idioms?|edit distance|alliterat\w*|cipher\w*|encod\w*|decod\w*"
    r"|encrypt\w*|decrypt\w*|crossword\w*|haiku|poems?|tokens?|tokeni[sz]\w*|ascii|unicode|backwards?|revers\w+"
    r"|concatenat\w*|quot\w+|verbatim|synonyms?|antonyms?|dictionary|written|handwriting|output|indent\w*"
    r"|sort(?:ed|ing)?|sql|quer(?:y|ies)|columns?|python|java(?:script)?|html|css|json|xml|yaml|bash|pseudocode|snippet"
    r"|databases?|(?:the|this|following|source) code|variables? (?:named|called)|rewrite|rephrase|paraphrase"
    r"|(?:passive|active) voice)\b",
    re.IGNORECASE,
)
_FUNCTION_WORDS = frozenset({"the", "of", "and", "is", "are", "what", "which", "how", "who", "why", "when", "where"})
_INSTRUCTING_WORDS = frozenset({"give", "choose", "select", "your", "pick", "this", "with", "it", "following", "write"})
_WORD = re.compile(r"(?<![\w'’.-])[a-z]{4,}(?![\w'’-]|\.\w)")
_ANY_WORD = re.compile(r"[^\W\d_]+")


@cache
def load_typo_words() -> dict[str, frozenset[str]]:
    """Return the words that may have a typing error, each with the errors that would make another word."""
    text = files("howsure.perturb").joinpath("typo_words.txt").read_text("utf-8")
    lines = (line.partition(": ") for line in text.splitlines() if not line.startswith("#"))
    return {word: frozenset(others.split()) for word, _, others in lines}


@lru_cache(maxsize=2**14)
def is_about_spelling(text: str) -> bool:
    """Return whether a question is about spelling, characters, words or code, so that noise may change its answer.

    >>> is_about_spelling("How many letters has the longest river?"), is_about_spelling("Which river is the longest?")
    (True, False)
    """
    return _ABOUT_SPELLING.search(text) is not None


def starts_with_block(text: str) -> bool:
    r"""Return whether a text starts with a table, a list or code, before which a marker needs a line of its own.

    >>> starts_with_block("| city | people |\n| Rome | 2.8 |"), starts_with_block("What is |x|?")
    (True, False)
    """
    return _BLOCK.match(text) is not None


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
    """Return the span from the first line of code, formulas or tables to the last one; empty when there is none.

    The lines directly before and after it that are no sentences belong to it.
    """
    lines, ends = text.split("\n"), [0]
    for line in lines:
        ends.append(ends[-1] + len(line) + 1)
    marked = [i for i, line in enumerate(lines) if _CODE.search(line)]
    if not marked:
        return []
    first, last = marked[0], marked[-1]
    while first and not _ends_sentence(lines[first - 1]):
        first -= 1
    while last + 1 < len(lines) and not _ends_sentence(lines[last + 1]):
        last += 1
    return [(ends[first], min(ends[last + 1], len(text)))]


def _ends_sentence(line: str) -> bool:
    """Return whether a line is empty or ends like a sentence."""
    return not line.strip() or line.rstrip(" \"'”’)]").endswith((".", "?", "!", ":", "。", "？", "！", "："))


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
