"""Find the labels and the texts of the choices of a question in a phrase of a completion."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from howsure.scorers.language_words import OPTION_NOUNS

_LATEX_WORD = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathsf|boxed)\s?\{([^{}]*)\}")
_LATEX_SPACE = re.compile(r"\\[,;:! ()\[\]]|\{,\}|\\(?:left|right|displaystyle)\b|~")
#: First of the characters that stand for labels that are signs.
PRIVATE = 0xE000
#: Characters around a choice that do not change it.
_LOOSE = " \t\n*_`\"'“”‘’$.,;:!?"
_MARKUP = r"[\s*_\"'`$“”‘’«»「」]*"
_NOUN = rf"(?:{'|'.join(sorted(OPTION_NOUNS, key=len, reverse=True))})"
#: The end of a phrase that may be the text of a choice.
_PHRASE_END = re.compile(r"[.!?](?=[*_\"')\]]*(?:\s|$))|[,;]\s|\n|\s[-–—]\s|\s(?=because\b|since\b|as\b)")
_DENIED_BEFORE = re.compile(
    r"(?:\bnot|\bnor|\bneither|\bnever|n['’]t(?: be)?|\brather than|\binstead of|\bunlike|\bexcept)\s+(?:\w+\s+){0,2}"
    r"[*(\"'\[]*$",
    re.IGNORECASE,
)


def remove_latex(text: str) -> str:
    r"""Return a text without the commands of LaTeX around words.

    >>> remove_latex(r"\text{(B)}\;")
    '(B)'
    """
    return _LATEX_SPACE.sub("", _LATEX_WORD.sub(r"\1", text)) if "\\" in text else text


def fold_text(text: str) -> str:
    """Return a text in lower case, with single spaces, and without punctuation and markup at its ends.

    >>> fold_text(" **The  Nile.** ")
    'the nile'
    """
    return " ".join(text.replace("→", " to ").replace("’", "'").split()).casefold().strip(_LOOSE)


class ChoicePatterns:
    """Patterns of the labels and texts of the choices of one question, as a prompt showed them."""

    def __init__(self, labels: tuple[str, ...], choices: tuple[str, ...]) -> None:
        self._symbols = {name: chr(PRIVATE + place) for place, name in enumerate(labels) if not name.isalnum()}
        signs = "".join(map(re.escape, self._symbols))
        self._symbol = re.compile(rf"(?<![\w{signs}])[{signs}](?![\w{signs}])") if signs else None
        names = [self._symbols.get(label, unicodedata.normalize("NFKC", label)) for label in labels]
        choices = tuple(map(self.mask, choices))
        folded = [name.casefold() for name in names]
        self._indices = {name: place for place, name in enumerate(names)}
        self._folded_indices = {name: place for place, name in enumerate(folded) if folded.count(name) == 1}
        self._compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))
        texts = [fold_text(remove_latex(unicodedata.normalize("NFKC", choice))) for choice in choices]
        self.texts = {text: place for place, text in enumerate(texts) if text and texts.count(text) == 1}
        self._longest_first = sorted(self.texts, key=len, reverse=True)
        #: Longest phrase that may be a label and a choice, in characters.
        self.longest = 2 * max(map(len, texts), default=0) + 100
        #: Indices of the labels that are the text of another choice.
        self.ambiguous = {place for place, name in enumerate(folded) if self.texts.get(name, place) != place}

    def _compile(self, one: str) -> None:
        """Compile the patterns of labels; `one` matches any label."""
        label = rf"(?<![\w'’\\])(?<!\d[.,])(?:{one})(?![\w'’%°])(?![.,]\d)"
        bracketed = rf"[(\[{{]\s?{_MARKUP}(?:{one}){_MARKUP}\s?[)\]}}]"
        noun = rf"{_MARKUP}(?:(?:the\s+)?{_NOUN}{_MARKUP}[:：=]?\s*)?{_MARKUP}"
        bare = rf"{noun}[(\[{{（]?{_MARKUP}(?P<label>{one})(?![.,]\d)"
        self._form = re.compile(
            rf"(?:[•>#→⇒✅✔-]+\s+)?{bare}{_MARKUP}[)\]}}）]?{_MARKUP}[\s.:,;!*_\"'`$”’)\]。]*",
            re.IGNORECASE,
        )
        self._leading = re.compile(
            rf"(?:[•>#→⇒✅✔*-]+\s+)?{bare}(?:{_MARKUP}[)\]}}.:：,]+|{_MARKUP}(?:\s[-–—]\s|--)|[*_]+\s|\s(?=\())[\s*_:.–—-]*(?P<rest>\S.*)",
            re.IGNORECASE | re.DOTALL,
        )
        in_brackets = rf"[(\[]{_MARKUP}(?:{_NOUN}\s+)?(?P<label>{one}){_MARKUP}[)\]]"
        self._trailing = re.compile(rf"(?P<rest>.*\S){_MARKUP}{in_brackets}[\s.*_]*", re.DOTALL | re.IGNORECASE)
        ends = r"(?=[*_\"'`$”’]*(?:\s*$|[.,;:!?)\]]|\s+(?:and|or|nor|is|was|because|since|as|with|[-–—&|+])(?!\w)|/))"
        #: A label that stands out of its sentence: in brackets, in bold, behind "option", or before an end.
        self._marked = re.compile(
            rf"(?P<whole>{bracketed})|\*\*(?P<bold>{label})[.:)]?\*\*|\b(?i:{_NOUN})\s+[*\"'(\[]*(?P<named>{label})"
            rf"|(?P<ended>{label}){ends}"
        )
        self._definite = re.compile(
            rf"(?P<whole>(?<!\w){bracketed})|\*\*(?P<bold>{label})(?:[.:)]?\*\*|[.:)]\s)"
            rf"|\b(?i:option|choice|alternative|statement)\s+[*\"'(\[]*(?P<named>{label})|(?P<listed>{label})[.:)](?=\s)"
        )
        self._label = re.compile(one)

    def mask(self, text: str) -> str:
        """Return a text in which labels that are signs are private characters, which no pattern takes for markup."""
        if self._symbol is None:
            return text
        return self._symbol.sub(lambda match: self._symbols[match[0]], text)

    def find_index(self, label: str) -> int | None:
        """Return the index of a label, in any case unless two labels differ in case only."""
        label = unicodedata.normalize("NFKC", label)
        return self._indices.get(label, self._folded_indices.get(label.casefold()))

    def read_phrase(self, phrase: str, *, expects_label: bool) -> tuple[int | None, str]:
        """Return the choice that a phrase as a whole is, and "label" or "choice"; or None and the reason."""
        if len(phrase) > self.longest:
            return None, "none"
        phrase = remove_latex(phrase if phrase.isascii() else unicodedata.normalize("NFKC", phrase))
        text = self.match_text(phrase)
        if form := self._form.fullmatch(phrase):
            label = self.find_index(form["label"])
            is_marked = expects_label or len(phrase.strip(_LOOSE)) > len(form["label"])
            if label is not None and (text is None or text == label or is_marked):
                return label, "label"
            if label is not None:
                return None, "ambiguous"
        for pattern in (self._leading, self._trailing):
            if part := pattern.fullmatch(phrase):
                label, rest = self.find_index(part["label"]), self.match_text(part["rest"])
                if label is not None and label == rest:
                    return label, "choice"
                if label is not None and rest is not None and text is None:
                    return None, "contradiction"
        return (None, "none") if text is None else (text, "choice")

    def match_text(self, text: str) -> int | None:
        """Return the index of the choice with this text."""
        folded = fold_text(text)
        bare = folded[1:-1].strip(_LOOSE) if folded[:1] in "([" and folded[-1:] in ")]" else folded
        return self.texts.get(folded, self.texts.get(bare))

    def read_start(self, text: str, *, expects_label: bool) -> int | None:
        """Return the index of the choice that a text begins with: a marked label, or a choice before an end."""
        match = self._definite.match(text)
        if match:
            return self._find_exact(match)
        phrase = _PHRASE_END.split(text[: self.longest], maxsplit=1)[0]
        place, _ = self.read_phrase(phrase, expects_label=expects_label)
        return place if place is not None and len(fold_text(phrase)) > 1 else None

    def find_marked(self, text: str, *, is_definite: bool = False) -> set[int]:
        """Return the indices of labels that stand out of a text and are not denied.

        With `is_definite`, the end of a phrase alone does not mark a label.
        """
        pattern = self._definite if is_definite else self._marked
        places = set()
        for match in pattern.finditer(text):
            index = self._find_exact(match)
            if index is not None and not _DENIED_BEFORE.search(text, max(0, match.start() - 40), match.start()):
                places.add(index)
        return places

    def _find_exact(self, match: re.Match[str]) -> int | None:
        """Return the index of the label in a match, in its own case."""
        name = self._label.search(match[0] if match.lastgroup is None else match[match.lastgroup])
        return self._indices.get(name[0]) if name else None

    def find_texts(self, text: str) -> set[int]:
        """Return the indices of the choices whose texts occur in a text as whole words and are not denied."""
        rest = fold_text(remove_latex(text))
        places = set()
        for choice in self._longest_first:
            if choice not in rest or (len(choice) < 3 and choice in self._folded_indices):
                continue
            is_spaced = not "\u3040" <= choice[0] <= "\u9fff"
            pattern = rf"(?<![\w.,/-]){re.escape(choice)}(?![\w%°^])(?![.,/]\d)" if is_spaced else re.escape(choice)
            for start in reversed([match.start() for match in re.finditer(pattern, rest)]):
                if not _DENIED_BEFORE.search(rest, max(0, start - 40), start):
                    places.add(self.texts[choice])
                rest = f"{rest[:start]}{' ' * len(choice)}{rest[start + len(choice) :]}"
        return places


@lru_cache(maxsize=2048)
def build_patterns(labels: tuple[str, ...], choices: Sequence[str]) -> ChoicePatterns:
    """Return the patterns of one question; they are cached because the completions of a question come together."""
    return ChoicePatterns(labels, tuple(choices))
