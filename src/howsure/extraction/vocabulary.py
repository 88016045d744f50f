"""What the labels of a prompt look like in a completion: patterns that are made once and serve all its questions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

__all__ = ["CLOSED", "DENIED", "LOOSE", "Labels", "Vocabulary", "any_of", "exact", "labelled", "loose", "vocabulary"]

#: Symbols are replaced by these, so that "!" as a label ends no sentence and "$" opens no formula.
PRIVATE = 0xE000
_GREEK = {
    name: chr(code)
    for code in (*range(0x3B1, 0x3C2), *range(0x3C3, 0x3CA))
    for name in [unicodedata.name(chr(code)).split()[-1].lower().replace("lamda", "lambda")]
}
_LATEX_GREEK = re.compile(r"\\(" + "|".join(sorted(_GREEK, key=len, reverse=True)) + r")(?![a-zA-Z])")
_ESCAPED = re.compile(r"\\([#$%&^~])")

_NAMED = r"option|choice|label|letter|numeral|symbol|alternative|item"
_WORD = rf"(?:{_NAMED}|answer|number)"
_SOFT = r"[\s*_\"'`$“”‘’]*"
# What a line may begin with: a quote, a heading, a point of a list; "- 3" may be a number.
_MARK = r"(?:(?:[•>#→⇒✅✔☑]+|[-*](?!\s*\d))\s+)?"
# A label is no part of a word, a number, an abbreviation: not the A of "A's", the 1 of "1.5", "-1", "1/2" or "1%".
_LEFT = r"(?<![\w'’\\])(?<!\w[-/])(?<!\d[.,:])(?<![-−]\b)"
_RIGHT = r"(?![\w'’%°])(?![.,/:]\d)(?![-−]\w)"
_OPEN, _CLOSE = r"[(\[{]", r"[)\]}]"
_REASON = r"(?i:because|since|as)\b"
#: Longest run of markup around a label that is chosen: longer ones would be tried from each of their places.
_MARKUP = r"[*\"']{0,8}"

#: Brackets around a label, or one after it.
CLOSED = re.compile(_CLOSE)
_CLOSES = re.compile(rf"{_CLOSE}[\s.*_]*\Z")
DENIED = re.compile(
    r"(?:\bnot|\bnor|\bneither|n['’]t(?: be)?|\brather than|\binstead of)\s+(?:\w+\s+){0,2}[*(\"'\[]*$", re.IGNORECASE
)
# Words before a label that choose it, and those that conclude with it.
_CHOOSES = (
    *("choose", "chose", "pick", "picked", "select", "selected", "mark", "marked"),
    *(r"go\s+with", r"going\s+with", r"opt\s+for"),
)
_CONCLUDES = (
    r"it['’]s",
    r"that['’]s",
    *(rf"{it}\s+{be}" for it in ("it", "that") for be in (r"is", r"must\s+be", r"has\s+to\s+be")),
)
_SO = ("so", "therefore", "thus", "hence")


def any_of(*words: str) -> str:
    """A pattern of words in any case, each from its beginning; what follows a letter may be a pattern.

    It begins with letters and no flag: a search passes over all others at once.
    """
    by_first: dict[str, list[str]] = {}
    for word in words:
        by_first.setdefault(word[0], []).append(word[1:])
    firsts = {first: first + first.upper() + ("İı" if first == "i" else "") for first in by_first}
    rest = "|".join(rf"(?<=[{firsts[first]}])(?i:{'|'.join(ends)})" for first, ends in by_first.items())
    return rf"[{''.join(firsts.values())}](?<!\w.)(?:{rest})"


class Labels:
    """The labels of a prompt; `shown` are they as they stand in a text that is `masked`."""

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
        shown = [self._symbols.get(label, unicodedata.normalize("NFKC", label)) for label in labels]
        self._places = {label: place for place, label in enumerate(shown)}
        folded = [label.casefold() for label in shown]
        self._folded = {label: i for i, label in enumerate(folded) if folded.count(label) == 1}
        #: Whether a sentence can end within a label.
        self.have_ends = any(c in ".!?" or c.isspace() for label in shown for c in label)
        shown.sort(key=len, reverse=True)  # VIII before V
        self._patterns("|".join(map(re.escape, shown)))
        self._filters(shown)

    def _patterns(self, one: str) -> None:
        label = rf"{_LEFT}(?P<label>{one}){_RIGHT}"
        self.label = re.compile(rf"{_LEFT}(?:{one}){_RIGHT}")
        bare = rf"{_SOFT}{_OPEN}?{_SOFT}(?P<label>{one}){_SOFT}{_CLOSE}?"
        said = rf"(?:(?P<word>(?:{_NAMED})(?:\s*[:=]|\s))\s*|(?:answer|number)\s+)?"
        self.form = re.compile(rf"{_MARK}{_SOFT}(?:the\s+)?{said}{bare}[\s.:,;!*_\"'`$”’)\]]*", re.IGNORECASE)
        self.labelled = re.compile(
            rf"{_MARK}{_SOFT}(?:{_WORD}\s+)?{_OPEN}?{_SOFT}(?P<label>{one})(?P<mark>[)\]}}.:,]*{_SOFT}[-–—:]?(?:\s*(?=[(\[]))?)"
            rf"(?<!\w)\s*(?P<rest>\S.*)",
            re.IGNORECASE | re.DOTALL,
        )
        bracketed = rf"(?P<mark>{_OPEN}){_SOFT}(?P<label>{one}){_SOFT}{_CLOSE}"
        self._followed = re.compile(rf"(?P<rest>\S.*?)\s*{bracketed}[\s.*_]*", re.DOTALL)
        self._leading = re.compile(
            rf"{_SOFT}(?:{_OPEN}(?P<a>{one}){_CLOSE}|(?P<b>{one})[)\].:])[)*_:.]*(?:\s|$)"
            rf"|{_SOFT}(?P<c>{one})[*_]*(?:,?\s+(?i:because)|,\s+(?i:since|as))\b"
        )
        # A second one: "A. Rome or B. Paris".
        self.another = re.compile(rf"(?i:\b(?:or|and)\b|/)\s*(?:{_OPEN}(?:{one}){_CLOSE}|(?:{one})[)\].:])\s*\S")
        ends = r"(?=[*_\"'`$”’]*(?:\s*$|[.,;:!?)\]]|\s+(?:and|or|nor|is|was|with|[-–—&|+])(?!\w)|/))"
        self._strong = re.compile(
            rf"{_OPEN}{_SOFT}{label}{_SOFT}{_CLOSE}"
            rf"|\*\*{label.replace('<label>', '<bold>')}\*\*"
            rf"|\b(?i:{_WORD})\s+[*\"'(\[]*{label.replace('<label>', '<after>')}"
            rf"|{label.replace('<label>', '<free>')}{ends}"
        )
        chain = rf"[*(\"'\[]*(?i:{_WORD}\s+)?[*(\"'\[]*(?:{one})(?![\w'’])[*)\"'\]]*"
        self._denied = re.compile(
            rf"(?i:\bnot|\bneither|\bnor|n['’]t(?:\s+be)?|\brather\s+than|\binstead\s+of)\s+{chain}"
            rf"(?:\s*,?\s+(?i:or|nor)\s+{chain}|\s*,\s*{chain}(?=\s*,?\s+(?i:or|nor)\s))*"
        )
        chosen = rf"(?P<label>{_OPEN}?{_MARKUP}(?:{one}){_MARKUP}{_CLOSE}?)(?![\w'’])"
        # The label keeps its brackets and its word: without them "I choose 3" may mean a choice that says 3.
        self.chosen = re.compile(
            rf"\b(?i:{'|'.join(_CHOOSES)}):?\s+"
            rf"(?i:the\s+)?(?P<word>(?i:{_WORD}\s+)?){chosen}(?=\s*(?:$|[.,;:!?\n]|{_REASON}))"
            rf"|{_LEFT}(?P<word2>(?i:{_WORD}\s+)?){chosen.replace('<label>', '<label2>')}"
            rf"\s+(?i:is|must\s+be)\s+(?i:the\s+)?(?i:correct|right|best)\b"
            rf"|\b(?i:{'|'.join(_CONCLUDES)}|(?:{'|'.join(_SO)})[,:]?)\s+"
            rf"(?P<word3>(?i:{_WORD}\s+)?){chosen.replace('<label>', '<label3>')}(?=\s*(?:$|[.!\n]|,?\s+{_REASON}))",
            re.MULTILINE,
        )
        self.begins = re.compile(
            rf"{_SOFT}(?:(?:not|neither)\b|(?:the\s+)?(?:{_WORD}\s+)?{_OPEN}?{_SOFT}(?:{one}){_SOFT}{_CLOSE}?"
            rf"(?=[\s*_]*(?:$|[.,;:!?()\n–—-]|(?:and|or|not|because|since|as)\b)))",
            re.IGNORECASE,
        )
        self.dotted = re.compile(rf"{_LEFT}(?P<label>{one})\.(?=[ \t]+\S)", re.IGNORECASE)

    def _filters(self, shown: list[str]) -> None:
        """What `dotted` and `chosen` cannot do without, for texts that have none of it."""
        self.dot = re.compile(
            r"\.(?=[ \t])(?:" + "|".join(rf"(?<={re.escape(label)}\.)" for label in shown) + ")", re.IGNORECASE
        )
        one = "|".join(map(re.escape, shown))
        alone = "|".join(rf"{re.escape(label)}(?<!\w{'.' * len(label)})" for label in shown)
        self.alone = re.compile(
            rf"(?:{alone}){_MARKUP}{_CLOSE}?(?=\s*(?:$|[.,;:!?\n]|{_REASON})|\s+(?i:is|must)\b)",
            re.DOTALL | re.MULTILINE,
        )
        self.choosing = re.compile(
            rf"{any_of(*_CHOOSES, *_CONCLUDES, *_SO)}[,:]?\s+(?i:the\s+)?(?i:{_WORD}\s+)?{_OPEN}?{_MARKUP}(?:{one})",
            re.DOTALL,
        )
        self.correct = re.compile(
            rf"(?:{alone}){_MARKUP}{_CLOSE}?\s+(?i:is|must\s+be)\s+(?i:the\s+)?(?i:correct|right|best)", re.DOTALL
        )

    def masked(self, text: str) -> str:
        """A text with its symbols that stand alone replaced, and Greek letters of LaTeX as letters."""
        if "\\" in text:
            if self._symbols:
                text = _ESCAPED.sub(lambda found: found[1] if found[1] in self._symbols else found[0], text)
            text = _LATEX_GREEK.sub(lambda found: _GREEK[found[1]], text)
        return self._symbol.sub(lambda found: self._symbols[found[0]], text) if self._symbols else text

    def place(self, label: str) -> int | None:
        """Place of a label; another case will do where no two labels differ in case only."""
        return self._places.get(label, self._folded.get(label.casefold()))

    def leading(self, line: str) -> int | None:
        """Place of the marked label that a line starts with: "B) ...", "(B) ...", "B. ..."."""
        found = self._leading.match(line)
        return self._places[found["a"] or found["b"] or found["c"]] if found else None

    def after(self, line: str) -> re.Match[str] | None:
        """A text with its label in brackets behind it: "Paris (B)"."""
        return self._followed.fullmatch(line) if _CLOSES.search(line) else None

    def undenied(self, text: str) -> str:
        """A text without the labels that it denies."""
        return self._denied.sub(" ", text)

    def named(self, text: str) -> set[int]:
        """Places of the labels that a text names as labels: marked, after "option", or with no word behind them."""
        return {
            self._places[found["label"] or found["bold"] or found["after"] or found["free"]]
            for found in self._strong.finditer(text)
        }


@lru_cache(maxsize=256)
def labelled(labels: tuple[str, ...]) -> Labels:
    """The patterns of these labels, kept: compiling them takes some milliseconds."""
    return Labels(labels)


_LATEX_TEXT = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathsf)\s?\{([^{}]*)\}")
_LATEX_MATH = re.compile(r"\\[()\[\]]")
_PAIRS = {"*": "*", "_": "_", "`": "`", '"': '"', "'": "'", "$": "$", "“": "”", "‘": "’"}
_ENCLOSED = re.compile(r"\s*[(\[](.*)[)\]][\s.]*", re.DOTALL)
#: Markup and punctuation that may stand at the ends of a choice.
LOOSE = " \t*_`\"'“”‘’$.,;:!?"


def exact(text: str) -> str:
    """A text without case, spare spaces, a full stop and markup that encloses it."""
    return _exact(_folded(text))


def loose(text: str) -> str:
    """A text without case, and without markup and punctuation at its ends."""
    return _folded(text).strip(LOOSE)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _exact(text: str) -> str:
    while True:
        shorter = text[:-1].rstrip() if text.endswith((".", ",", ";")) and len(text) > 1 else text
        if len(shorter) > 2 and _PAIRS.get(shorter[0]) == shorter[-1]:
            shorter = shorter[1:-1].strip()
        if shorter == text:
            return text
        text = shorter


class Vocabulary:
    """Labels and texts of one question as a prompt showed them."""

    def __init__(self, labels: tuple[str, ...], choices: Sequence[str]) -> None:
        self.labels = labelled(labels)
        given = [self.labels.masked(unicodedata.normalize("NFKC", choice)) for choice in choices]
        mixed = [text for text in given if self.labels.place(text.strip()) is None and self.labels.label.search(text)]
        mixed.sort(key=len, reverse=True)
        self._with_labels = re.compile("|".join(map(re.escape, mixed)), re.IGNORECASE) if mixed else None
        self.texts = _unique([exact(self.unwrapped(text)) for text in given])
        self.loose_texts = _unique([loose(self.unwrapped(text)) for text in given])
        #: Longest line that can be the text of a choice, whatever markup is around it.
        self.longest = 2 * max(map(len, given), default=0) + 100
        #: The texts that are no labels, the longest first.
        self._told = sorted(
            (text for text in self.loose_texts if text and self.labels.place(text) is None), key=len, reverse=True
        )

    def unwrapped(self, text: str) -> str:
        """A text without the commands of LaTeX around words."""
        return _LATEX_MATH.sub(" ", _LATEX_TEXT.sub(r"\1", text)) if "\\" in text else text

    def text(self, said: str) -> int | None:
        """Place of the choice whose text this is, also in brackets."""
        place = self._text(said)
        if place is None and (inner := _ENCLOSED.fullmatch(said)):
            place = self._text(inner[1])
        return place

    def _text(self, said: str) -> int | None:
        folded = _folded(said)
        return self.texts.get(_exact(folded), self.loose_texts.get(folded.strip(LOOSE)))

    def labels_in(self, text: str) -> set[int]:
        """Places of the labels that a text names as labels. The A of a choice "A and B" is none."""
        return self.labels.named(self._with_labels.sub(" ", text) if self._with_labels else text)

    def mentioned(self, text: str, rule: str) -> tuple[int | None, str]:
        """The only choice whose text occurs in a text, not denied and no label too; the longest first."""
        left = _folded(text)
        places = set()
        for choice in self._told:
            if choice not in left:
                continue
            pattern = _mention(choice)
            spans = (found.start() for found in pattern.finditer(left))
            if any(not DENIED.search(left, max(0, start - 40), start) for start in spans):
                places.add(self.loose_texts[choice])
            left = pattern.sub(lambda found: " " * len(found[0]), left)
        if len(places) > 1:
            return None, "several"
        return (places.pop(), rule) if places else (None, "none")


@lru_cache(maxsize=2048)
def vocabulary(labels: tuple[str, ...], choices: tuple[str, ...]) -> Vocabulary:
    """The vocabulary of one question, kept: its completions come together."""
    return Vocabulary(labels, choices)


@lru_cache(maxsize=2048)
def _mention(choice: str) -> re.Pattern[str]:
    """A choice that is no part of a longer word or number."""
    number = r"(?<!\$)" if choice[0].isdigit() else ""
    return re.compile(rf"(?<![\w])(?<!\d[.,/:])(?<![-−]){number}{re.escape(choice)}(?![\w%°])(?![.,/:]\d)")


def _unique(texts: Sequence[str]) -> dict[str, int]:
    return {text: place for place, text in enumerate(texts) if texts.count(text) == 1}
