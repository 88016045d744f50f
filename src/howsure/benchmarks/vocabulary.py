"""What the labels and the choices of one question look like in a completion."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from howsure.benchmarks.labelled import DENIED, labelled

__all__ = ["LOOSE", "Vocabulary", "exact", "loose", "vocabulary"]

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
