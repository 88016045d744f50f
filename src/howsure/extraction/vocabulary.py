"""Patterns that find the labels and the choices of a prompt in a completion.

The patterns of labels are compiled once and serve all questions of a prompt variant.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

__all__ = [
    "CLOSE",
    "CLOSED",
    "DENIED",
    "LOOSE",
    "OPEN",
    "OPTION_NOUNS",
    "SPACE",
    "LabelPatterns",
    "Vocabulary",
    "any_of",
    "build_vocabulary",
    "find_words",
    "normalize",
]

#: First of the characters that replace symbols, so that the label "!" ends no sentence and "$" opens no formula.
PRIVATE = 0xE000
_GREEK = {
    name: chr(code)
    for code in (*range(0x3B1, 0x3C2), *range(0x3C3, 0x3CA))
    for name in [unicodedata.name(chr(code)).split()[-1].lower().replace("lamda", "lambda")]
}
_LATEX_GREEK = re.compile(r"\\(" + "|".join(sorted(_GREEK, key=len, reverse=True)) + r")(?![a-zA-Z])")
_ESCAPED = re.compile(r"\\([#$%&^~])")

OPTION_NOUNS = r"option|choice|label|letter|numeral|symbol|alternative|item|answer\s+(?:choice|option)"
_WORD = rf"(?:{OPTION_NOUNS}|answer|number)"
_SOFT = r"[\s*_\"'`$“”‘’]*"
# A line may begin with the mark of a quote, a heading or a list; "- 3" may be a number.
_MARK = r"(?:(?:[•>#→⇒✅✔☑]+|[-*](?!\s*\d))\s+)?"
# A label is not part of a word, a number or an abbreviation: the A of "A's", the 1 of "1.5", "-1", "1/2" or "1%".
_LEFT = r"(?<![\w'’\\])(?<!\w[-/])(?<!\d[.,:])(?<![-−]\b)"
_RIGHT = r"(?![\w'’%°])(?![.,/:]\d)(?![-−]\w)"
OPEN, CLOSE = r"[(\[{]", r"[)\]}]"

#: A closing bracket, around a label or after it.
CLOSED = re.compile(CLOSE)
#: White space of any script, and what may stand after the last bracket of a line.
SPACE = "".join(filter(str.isspace, map(chr, range(0x3001))))
_AFTER_BRACKET = SPACE + ".*_"
_SOFT_CHARACTERS = SPACE + "*_\"'`$“”‘’"
_BRACKETS = frozenset(")]}")
DENIED = re.compile(
    r"(?:\bnot|\bnor|\bneither|\bnever|\bavoid(?:ing)?|n['’]t(?: be)?|\brather than|\binstead of)\s+(?:\w+\s+){0,2}"
    r"[*(\"'\[]*$",
    re.IGNORECASE,
)


def any_of(*words: str) -> str:
    r"""Return a pattern that finds words at their beginning in any case; they may be patterns after their first letter.

    It equals `\b(?i:WORD|WORD|...)`. Because it begins with letters and without a flag, a search skips all others at
    once, which saves a tenth of the time for choices.
    """
    by_first: dict[str, list[str]] = {}
    for word in words:
        by_first.setdefault(word[0], []).append(word[1:])
    firsts = {first: first + first.upper() + ("İı" if first == "i" else "") for first in by_first}
    rest = "|".join(rf"(?<=[{firsts[first]}])(?i:{'|'.join(ends)})" for first, ends in by_first.items())
    return rf"[{''.join(firsts.values())}](?<!\w.)(?:{rest})"


class LabelledText(NamedTuple):
    """A label and the text beside it, and whether a sign marks the label: "B. Paris"."""

    label: str
    text: str
    is_marked: bool


class LabelPatterns:
    """Patterns of the labels of a prompt, for texts in which `mask` has replaced the symbols."""

    def __init__(self, labels: tuple[str, ...]) -> None:
        self._symbols = {
            label: chr(PRIVATE + i) for i, label in enumerate(labels) if not any(c.isalnum() for c in label)
        }
        self._symbol = re.compile(
            "|".join(
                rf"(?<![\w\\{re.escape(s[0])}]){re.escape(s)}(?![\w\\{re.escape(s[-1])}])"
                for s in sorted(self._symbols, key=len, reverse=True)
            )
        )
        masked = [self._symbols.get(label, unicodedata.normalize("NFKC", label)) for label in labels]
        self._indices = {label: i for i, label in enumerate(masked)}
        folded = [label.casefold() for label in masked]
        self._folded = {label: i for i, label in enumerate(folded) if folded.count(label) == 1}
        masked.sort(key=len, reverse=True)  # VIII before V
        #: Pattern that matches one label, the longest first.
        self.one = "|".join(map(re.escape, masked))
        #: Whether a label has a digit.
        self.has_digits = any(character.isdigit() for character in self.one)
        self._leads = frozenset("([{").union(label[:1] for label in masked)
        self._compile_patterns(self.one)

    def _compile_patterns(self, one: str) -> None:
        """Compile the patterns that read labels; `one` matches any label."""
        label = rf"{_LEFT}(?P<label>{one}){_RIGHT}"
        self.label = re.compile(rf"{_LEFT}(?:{one}){_RIGHT}")
        bare = rf"{_SOFT}{OPEN}?{_SOFT}(?P<label>{one}){_SOFT}{CLOSE}?"
        prefix = rf"(?:(?P<word>(?:{OPTION_NOUNS})(?:\s*[:=]|\s))\s*|(?:answer|number)\s+)?"
        self.form = re.compile(rf"{_MARK}{_SOFT}(?:the\s+)?{prefix}{bare}[\s.:,;!*_\"'`$”’)\]]*", re.IGNORECASE)
        self.labelled = re.compile(
            rf"{_MARK}{_SOFT}(?:{_WORD}\s+)?{OPEN}?{_SOFT}(?P<label>{one})(?P<mark>[)\]}}.:,]*{_SOFT}(?:[-–—](?!\d)|:)?(?:\s*(?=[(\[]))?)"
            rf"(?<!\w)\s*(?P<rest>\S.*)",
            re.IGNORECASE | re.DOTALL,
        )
        bracketed = rf"{OPEN}{_SOFT}(?P<label>{one}){_SOFT}{CLOSE}"
        self._trailing = re.compile(rf"{bracketed}[\s.*_]*")
        self._leading = re.compile(
            rf"{_SOFT}(?:{OPEN}(?P<a>{one}){CLOSE}|(?P<b>{one})[)\].:])[)*_:.]*(?:\s|$)"
            rf"|{_SOFT}(?P<c>{one})[*_]*(?:,?\s+(?i:because)|,\s+(?i:since|as))\b"
        )
        # A second label: "A. Rome or B. Paris".
        self.alternative = re.compile(rf"(?i:\b(?:or|and)\b|/)\s*(?:{OPEN}(?:{one}){CLOSE}|(?:{one})[)\].:])\s*\S")
        ends = r"(?=[*_\"'`$”’]*(?:\s*$|[.,;:!?)\]]|\s+(?:and|or|nor|is|was|with|[-–—&|+])(?!\w)|/))"
        self._strong = re.compile(
            rf"{OPEN}{_SOFT}{label}{_SOFT}{CLOSE}"
            rf"|\*\*{label.replace('<label>', '<bold>')}\*\*"
            rf"|\b(?i:{_WORD})\s+[*\"'(\[]*{label.replace('<label>', '<after>')}"
            rf"|{label.replace('<label>', '<free>')}{ends}"
        )
        chain = rf"[*(\"'\[]*(?i:{_WORD}\s+)?[*(\"'\[]*(?:{one})(?![\w'’])[*)\"'\]]*"
        self._denied = re.compile(
            rf"(?i:\bnot|\bneither|\bnor|n['’]t(?:\s+be)?|\brather\s+than|\binstead\s+of)\s+{chain}"
            rf"(?:\s*,?\s+(?i:or|nor)\s+{chain}|\s*,\s*{chain}(?=\s*,?\s+(?i:or|nor)\s))*"
        )
        self.begins = re.compile(
            rf"{_SOFT}(?:(?:not|neither)\b|(?:the\s+)?(?:{_WORD}\s+)?{OPEN}?{_SOFT}(?:{one}){_SOFT}{CLOSE}?"
            rf"(?=[\s*_]*(?:$|[.,;:!?()\n–—-]|(?:and|or|not|because|since|as)\b)))",
            re.IGNORECASE,
        )

    def mask(self, text: str) -> str:
        """Return a text in which labels that are symbols are replaced, and Greek letters of LaTeX are letters."""
        if "\\" in text:
            if self._symbols:
                text = _ESCAPED.sub(lambda match: match[1] if match[1] in self._symbols else match[0], text)
            text = _LATEX_GREEK.sub(lambda match: _GREEK[match[1]], text)
        return self._symbol.sub(lambda match: self._symbols[match[0]], text) if self._symbols else text

    def index(self, label: str) -> int | None:
        """Return the index of a label, in any case unless two labels differ in case only."""
        return self._indices.get(label, self._folded.get(label.casefold()))

    def exact_index(self, label: str) -> int | None:
        """Return the index of a label in its own case."""
        return self._indices.get(label)

    def leading_label(self, line: str) -> int | None:
        """Return the index of the marked label that a line starts with: "B) ...", "(B) ...", "B. ..."."""
        if line.lstrip(_SOFT_CHARACTERS)[:1] not in self._leads:
            return None
        match = self._leading.match(line)
        return self._indices[match["a"] or match["b"] or match["c"]] if match else None

    def split_label(self, line: str) -> Iterator[LabelledText]:
        """Yield the label and the text of a line that begins with a label, and of one that ends with it in brackets."""
        if leading := self.labelled.fullmatch(line):
            is_marked = bool(leading["mark"].strip()) or leading["rest"][0] in "(["
            yield LabelledText(leading["label"], leading["rest"], is_marked)
        if line.rstrip(_AFTER_BRACKET)[-1:] in _BRACKETS and not line[:1].isspace():
            start = max(line.rfind("("), line.rfind("["), line.rfind("{"))
            trailing = self._trailing.fullmatch(line, start) if start > 0 else None
            if trailing:
                yield LabelledText(trailing["label"], line[:start].rstrip(), is_marked=True)

    def remove_denied(self, text: str) -> str:
        """Return a text without the labels that it denies."""
        return self._denied.sub(" ", text)

    def find_named(self, text: str) -> set[int]:
        """Return the indices of labels that are marked, that follow "option", or that no word follows."""
        return {
            self._indices[match["label"] or match["bold"] or match["after"] or match["free"]]
            for match in self._strong.finditer(text)
        }


@lru_cache(maxsize=256)
def _label_patterns(labels: tuple[str, ...]) -> LabelPatterns:
    """Return the patterns of these labels; compiling them takes some milliseconds."""
    return LabelPatterns(labels)


_LATEX_TEXT = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathsf)\s?\{([^{}]*)\}")
_LATEX_MATH = re.compile(r"\\[()\[\]]")
# Notations of LaTeX for one number or symbol, and how a choice in plain text writes it.
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\s?(?:\{([^{}]{1,40})\}\s?\{([^{}]{1,40})\}|(\d)\s?(\d))")
_LATEX_BRACES = re.compile(r"([\^_])\{([^{}]{1,40})\}")
_LATEX_SPACE = re.compile(r"\\[,;:! ]|\{,\}|\\(?:left|right|displaystyle)\b|~")
_LATEX_SYMBOLS = re.compile(
    r"\\(?:times|cdot|circ|degree|pm|leq?|geq?|neq?|infty|ldots|dots|approx|quad|log|ln|exp|sin|cos|tan|min|max"
    r"|Gamma|Delta|Theta|Lambda|Sigma|Phi|Psi|Omega|%|\$)(?![a-zA-Z])"
)
_SYMBOLS = {
    "times": "×",
    "cdot": "·",
    "circ": "°",
    "degree": "°",
    "pm": "±",
    "le": "≤",
    "leq": "≤",
    "ge": "≥",
    "geq": "≥",
    "ne": "≠",
    "neq": "≠",
    "infty": "∞",
    "ldots": "...",
    "dots": "...",
    "approx": "≈",
    **{name: name for name in ("log", "ln", "exp", "sin", "cos", "tan", "min", "max")},
    **{
        name: unicodedata.lookup(f"GREEK CAPITAL LETTER {name}".replace("Lambda", "Lamda"))
        for name in ("Gamma", "Delta", "Theta", "Lambda", "Sigma", "Phi", "Psi", "Omega")
    },
    "quad": " ",
    "%": "%",
    "$": "$",
}
# "Ser195→Ala"
_ARROW = re.compile(r"([^\W_]{2})[ ]?(?:→|->)[ ]?([^\W_]{2})")
# "vitamin C" in "Vitamin C oxidase": a word that a letter belongs to, and no option.
_LETTERED = re.compile(
    rf"\b(?!(?:{OPTION_NOUNS}|statement|only|both|either|neither|than|with|from|answer)\b)([^\W\d_]{{4,}})\s+(\S+)",
    re.IGNORECASE,
)
_OPERATOR = re.compile(r"\d|[\^\\=+()]")
_PAIRS = {"*": "*", "_": "_", "`": "`", '"': '"', "'": "'", "$": "$", "“": "”", "‘": "’"}
_ENCLOSED = re.compile(r"\s*[(\[](.*)[)\]][\s.]*", re.DOTALL)
#: Markup and punctuation that may stand at the ends of a choice.
LOOSE = " \t*_`\"'“”‘’$.,;:!?"
_EDGES = LOOSE + SPACE + "()[]"
#: Characters of a long choice that must agree where a completion repeats its beginning.
_HEAD = 24


def normalize(text: str) -> str:
    """Return a text in lower case, without spare spaces, a full stop at its end and markup that encloses it."""
    return _strip_enclosing(_fold(text))


def _fold(text: str) -> str:
    """Return a text in lower case and with single spaces; an arrow between words is "to"."""
    if "→" in text or "->" in text:
        text = _ARROW.sub(r"\1 to \2", text)
    return " ".join(text.split()).casefold()


def _squeeze(text: str) -> str:
    """Return a formula in lower case and without spaces and markup at its ends."""
    return "".join(text.split()).casefold().strip(LOOSE)


def _write_fraction(match: re.Match[str]) -> str:
    """Return a fraction of LaTeX as it is written in a line: a/b, with brackets around sums."""
    top, bottom = (match[1], match[2]) if match[1] is not None else (match[3], match[4])
    return "/".join(part if re.fullmatch(r"[\w.\\]+", part) else f"({part})" for part in (top.strip(), bottom.strip()))


def _strip_enclosing(text: str) -> str:
    """Return a text without the stops at its end and the pairs of markup around it."""
    while True:
        shorter = text[:-1].rstrip() if text.endswith((".", ",", ";")) and len(text) > 1 else text
        if len(shorter) > 2 and _PAIRS.get(shorter[0]) == shorter[-1]:
            shorter = shorter[1:-1].strip()
        if shorter == text:
            return text
        text = shorter


@lru_cache(maxsize=8)
def _remove_latex(text: str) -> str:
    """Return a text without the commands of LaTeX around words, and with its symbols as characters."""
    if "{" in text:
        text = _LATEX_TEXT.sub(r"\1", text)
    text = _LATEX_MATH.sub(" ", text)
    if "^{" in text or "_{" in text:
        text = _LATEX_BRACES.sub(r"\1\2", text)
    if "frac" in text:
        text = _LATEX_FRACTION.sub(_write_fraction, text)
    return _LATEX_SYMBOLS.sub(lambda match: _SYMBOLS[match[0][1:]], _LATEX_SPACE.sub("", text))


class Vocabulary:
    """Labels and texts of the choices of one question, as a prompt showed them."""

    def __init__(self, labels: tuple[str, ...], choices: Sequence[str]) -> None:
        self.labels = _label_patterns(labels)
        masked = [self.labels.mask(unicodedata.normalize("NFKC", choice).replace("’", "'")) for choice in choices]
        mixed = [text for text in masked if self.labels.index(text.strip()) is None and self.labels.label.search(text)]
        lettered = (match for text in mixed for match in _LETTERED.finditer(text))
        mixed += [match[0] for match in lettered if self.labels.exact_index(match[2]) is not None]
        mixed.sort(key=len, reverse=True)
        self._with_labels = mixed
        texts = [self.without_latex(text) for text in masked]
        #: Index by text, of the texts that occur once: normalized, and without markup and punctuation at their ends.
        self.texts = _index_unique([normalize(text) for text in texts])
        self.loose_texts = _index_unique([_fold(text).strip(LOOSE) for text in texts])
        #: Index by formula, without any spaces.
        self._formulas = _index_unique([_squeeze(text) if _OPERATOR.search(text) else "" for text in texts])
        #: Whether a choice has several lines.
        self.has_lines = any("\n" in choice.strip() for choice in choices)
        #: Whether a choice has the word "answer" in its text.
        self.mentions_answer = any("answer" in text for text in self.loose_texts)
        self._longest_key = max(map(len, (*self.texts, *self.loose_texts, *self._formulas)), default=0)
        #: The texts in lower case, without markup and punctuation at their ends.
        self.folded = [_fold(text).strip(LOOSE) for text in texts]
        #: Longest line that can be the text of a choice, whatever markup is around it.
        self.longest = 2 * max(map(len, masked), default=0) + 100
        #: The texts that are not labels, the longest first.
        self._plain_texts = sorted(
            (text for text in self.loose_texts if text and self.labels.index(text) is None), key=len, reverse=True
        )

    def without_latex(self, text: str) -> str:
        """Return a text without the commands of LaTeX around words."""
        return _remove_latex(text) if "\\" in text else text

    def starts_choice(self, text: str, index: int) -> bool:
        """Return whether a text starts with that of a choice, or with its first words if it is long."""
        return self.choice_length(text, index) > 0

    def choice_length(self, text: str, index: int) -> int:
        """Return the length of a choice, or of its first words, at the start of a text; 0 if it is not there."""
        choice = self.folded[index] if index < len(self.folded) else ""
        head = choice if len(choice) <= _HEAD else choice[:_HEAD].rpartition(" ")[0] or choice[:_HEAD]
        start = len(text) - len(text.lstrip(LOOSE + "()[]"))
        if not head or not _fold(text[start : start + 2 * len(choice) + 40]).startswith(head):
            return 0
        return start + (len(choice) if _fold(text[start:]).startswith(choice) else len(head))

    def match_text(self, text: str) -> int | None:
        """Return the index of the choice with this text, also where the text is in brackets."""
        if len(text) > self._longest_key and self._is_longer(text):
            return None
        index = self._match_text(text)
        if index is None and (inner := _ENCLOSED.fullmatch(text)):
            index = self._match_text(inner[1])
        return index

    def _is_longer(self, text: str) -> bool:
        """Return whether a text has more characters than any choice, without spaces and markup at its ends."""
        core, most = text.strip(_EDGES), self._longest_key
        return any(len("".join(part.split())) > most for part in (core[: 2 * most], core))

    def _match_text(self, text: str) -> int | None:
        """Return the index of the choice with this text."""
        folded = _fold(text)
        index = self.texts.get(_strip_enclosing(folded), self.loose_texts.get(folded.strip(LOOSE)))
        return self._formulas.get(_squeeze(text) or " ") if index is None and self._formulas else index

    def find_labels(self, text: str) -> set[int]:
        """Return the indices of the labels that a text names, without the A of a choice "A and B"."""
        if self._with_labels:
            lower = text.lower()
            if any(choice.lower() in lower for choice in self._with_labels):
                text = self._choices_with_labels.sub(" ", text)
        return self.labels.find_named(text)

    @cached_property
    def _choices_with_labels(self) -> re.Pattern[str]:
        """The pattern of the choices that have a label in their text."""
        return re.compile("|".join(map(re.escape, self._with_labels)), re.IGNORECASE)

    def find_text(self, text: str, rule: str) -> tuple[int | None, str]:
        """Return the only choice whose text occurs in a text and is not denied, and the rule; or None and the reason.

        The longest texts are tried first. Texts that are labels too are not searched.
        """
        rest = _fold(text)
        indices = set()
        for choice in self._plain_texts:
            if choice not in rest:
                continue
            starts = list(find_words(choice, rest))
            if any(not DENIED.search(rest, max(0, start - 40), start) for start in starts):
                indices.add(self.loose_texts[choice])
            ends = [0, *(start + len(choice) for start in starts)]
            pieces = [rest[end:start] for end, start in zip(ends, [*starts, len(rest)], strict=True)]
            rest = (" " * len(choice)).join(pieces)
        if len(indices) > 1:
            return None, "several"
        return (indices.pop(), rule) if indices else (None, "none")


@lru_cache(maxsize=2048)
def build_vocabulary(labels: tuple[str, ...], choices: tuple[str, ...]) -> Vocabulary:
    """Return the vocabulary of one question; it is cached because the completions of a question come together."""
    return Vocabulary(labels, choices)


# Characters of scripts in which no space separates words, or particles follow a noun at once.
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


# What must stand before and after the text of a choice that is no part of a longer word, number or formula.
_BEFORE_ANY = r"(?<!\d[.,/:])(?<![-−])"
_BEFORE_TEXT = re.compile(_BEFORE_ANY)
_BEFORE_NUMBER = re.compile(rf"{_BEFORE_ANY}(?<!\$)")
_IN_FORMULA = re.compile(r"(?<![+/^×·])(?<![+/^×·-] )")
_AFTER_TEXT = re.compile(r"(?![.,/:]\d)")
_AFTER_FORMULA = re.compile(r"(?!\s?[+/^×·]|\s?-\s?\w)")
# Choices of one common word are none in a phrase or before a noun: "after all", "No one knows", "All wars end".
_COMMON_WORDS = frozenset(("no", "all", "none"))
_IN_PHRASE = re.compile(r"(?:after|above|at|first of|not|in) $")
_BEFORE_NOUN = re.compile(
    r"\s+(?!(?:of (?:the|these|those|them|it)|the|these|those|this|that|it|they|there|he|she|we|you|i|is|are|was|were"
    r"|do|does|did|can|would|because|since|as|and|but|or|if|in|for|by|to|not|two|three|four|five|fits?|appl\w+|works?"
    r"|options?|choices|answers?|statements)\b)[a-z]"
)


def find_words(choice: str, text: str) -> Iterator[int]:
    """Yield the places of a choice in a text where it is not part of a longer word, number, formula or phrase."""
    before = _BEFORE_NUMBER if choice[0].isdigit() else _BEFORE_TEXT
    is_spaced, is_end_spaced = _UNSPACED.match(choice) is None, _UNSPACED.match(choice[-1]) is None
    is_formula = _OPERATOR.search(choice) is not None
    is_common = choice in _COMMON_WORDS
    start = text.find(choice)
    while start >= 0:
        end = start + len(choice)
        is_part = (
            (is_spaced and start and _is_word(text[start - 1]))
            or (is_end_spaced and end < len(text) and (_is_word(text[end]) or text[end] in "%°"))
            or not before.match(text, start)
            or not _AFTER_TEXT.match(text, end)
            or (is_formula and not (_IN_FORMULA.match(text, start) and _AFTER_FORMULA.match(text, end)))
            or (is_common and (_BEFORE_NOUN.match(text, end) or _IN_PHRASE.search(text[max(0, start - 9) : start])))
        )
        if not is_part:
            yield start
        start = text.find(choice, start + 1 if is_part else end)


def _is_word(character: str) -> bool:
    """Return whether a character is part of a word."""
    return character.isalnum() or character == "_"


def _index_unique(texts: Sequence[str]) -> dict[str, int]:
    """Return the indices of the texts that occur once."""
    return {text: i for i, text in enumerate(texts) if texts.count(text) == 1}
