"""Define the scorers `normalised`, `exact` and `contains`, and the normalisation of open answers.

The normalisation is that of SQuAD (Rajpurkar, Zhang, Lopyrev and Liang 2016, "SQuAD: 100,000+ questions for machine
comprehension of text", EMNLP, section 6.1, and the evaluation program of version 1.1): lower case, no punctuation, no
articles a, an and the, single spaces. It goes further where a reader would:

- letters are compared in any script: NFKC, full case folding, no accents on Latin and Greek letters, no vowel points;
- punctuation of every script goes, not only that of ASCII;
- a number keeps its sign, decimal point, fraction and range, as in DROP (Dua et al. 2019): 3.5 is not 35, -5 not 5;
- a hyphen separates words, as in DROP; signs of formulas (+ = < >), C#, O- and powers of numbers stay; & is "and";
- an article at the end stays: vitamin A is not vitamin.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from howsure.extraction.completion_context import remove_next_question
from howsure.extraction.number_words import SMALL_NUMBERS
from howsure.extraction.open_answers import read_open_answer
from howsure.extraction.open_candidates import list_shorter_answers
from howsure.extraction.statements import remove_reasoning
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, hash_code, normalize_text
from howsure.scorers.targets import parse_targets

__all__ = [
    "build_contains_scorer",
    "build_exact_scorer",
    "build_normalised_scorer",
    "matches_target",
    "normalize_answer",
    "split_words",
]

#: Longest answer that is normalised, in characters; what is longer is cut.
LONGEST = 4000

_LATEX = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|emph|operatorname)\s*\{([^{}]*)\}")
_ARTICLE = re.compile(r"\b(?:a|an|the)\s+(?=\S)")
#: Letters without a decomposition, as they are written without marks.
_PLAIN_LETTERS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"}
)
# Marks in the order in which they are replaced. A comma groups thousands; the other marks stand between digits, after
# a letter, or before a number.
_RATIO = re.compile(r"(?<=\d)\s*:\s*(?=\d)")
_POWER = re.compile(r"(?<=\d)\s?\^\s?\{?(?=-?\d)")
_SUPERSCRIPT = re.compile(r"(?<=\d)(?=[⁻⁰¹²³⁴⁵⁶⁷⁸⁹])")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_SIGNS = re.compile(
    r"(?P<number>\d+(?:[.:/]\d+)+|\d*\.\d+)|(?P<range>(?<=\d)\s?[-‐-―−]\s?(?=\d))|(?P<minus>(?<![\w)])[-−](?=[$€£¥₹]?\.?\d))"
    r"|(?P<sign>(?<=[a-z])(?:\+\+|[+#])(?!\w)|(?<=\b[abo])[-−]$|(?<=\bab)[-−]$)|(?P<dash>[-‐-―−~/])|(?P<and>&)"
)


@lru_cache(maxsize=8192)
def normalize_answer(text: str) -> str:
    """Return an answer in lower case without punctuation, articles and accents; see the module for the rules.

    An answer that is only punctuation, such as "+", stays as it is.

    Examples
    --------
    >>> normalize_answer("The  U.S.A."), normalize_answer("García Márquez’s"), normalize_answer("Spider-Man")
    ('usa', 'garcia marquezs', 'spider man')
    >>> normalize_answer("$1,234.50"), normalize_answer("1914–1918"), normalize_answer("Vitamin A")
    ('1234.50', '1914-1918', 'vitamin a')
    """
    folded = _fold_letters(_SUPERSCRIPT.sub("^", _LATEX.sub(r"\1", text[:LONGEST])))
    folded = _RATIO.sub(":", _POWER.sub(_MARKS["^"], folded))
    marked = _SIGNS.sub(_keep_mark, _GROUPED.sub(lambda match: match[0].replace(",", ""), folded))
    bare = "".join(character for character in marked if not _is_punctuation(character))
    words = _ARTICLE.sub("", " ".join(bare.translate(_RESTORE).split()))
    return words or " ".join(folded.split())


def split_words(text: str) -> list[str]:
    """Return the words of an answer as `normalize_answer` writes them; in scripts without spaces each character is one.

    >>> split_words("The Beatles"), split_words("是 18 岁。")
    (['beatles'], ['是', '18', '岁'])
    """
    return _TOKEN.findall(normalize_answer(text))


# A word, or a character of a script that is written without spaces between words.
_NO_SPACES = "\\u0e00-\\u0edf\\u1000-\\u109f\\u1780-\\u17ff\\u3040-\\u30ff\\u3400-\\u9fff\\uf900-\\ufaff"
_TOKEN = re.compile(rf"[{_NO_SPACES}]|[^\s{_NO_SPACES}]+")
# Private characters stand for marks that are kept, while the other punctuation is removed.
_MARKS = {".": "\ue000", ":": "\ue001", "/": "\ue002", "-": "\ue003", "+": "\ue004", "#": "\ue005", "^": "\ue006"}
_PROTECT = str.maketrans(_MARKS)
_RESTORE = str.maketrans({private: mark for mark, private in _MARKS.items()})


def _keep_mark(match: re.Match[str]) -> str:
    """Return a mark that is kept as its private character, and another one as a space or a word."""
    kind = match.lastgroup
    if kind == "dash":
        return " "
    if kind == "and":
        return " and "
    if kind in {"range", "minus"}:
        return _MARKS["-"]
    return match[0].replace("−", "-").translate(_PROTECT)


def _is_punctuation(character: str) -> bool:
    """Return whether a character is punctuation of any script or a symbol of ASCII."""
    return unicodedata.category(character)[0] == "P" or character in "$^`|~\u0640"


def _fold_letters(text: str) -> str:
    """Return a text with compatible characters, lower case, and letters of Latin, Greek and Semitic without marks."""
    text = unicodedata.normalize("NFKC", text).casefold().replace("⁄", "/").translate(_PLAIN_LETTERS)
    if text.isascii():
        return text
    parts: list[str] = []
    folds = False
    for character in unicodedata.normalize("NFD", text):
        if unicodedata.category(character) == "Mn":
            if not folds and not "\u0591" <= character <= "\u0670":
                parts.append(character)
            continue
        folds = character <= "\u03ff"  # Latin and Greek
        parts.append(character)
    return unicodedata.normalize("NFC", "".join(parts))


_NUMBERS = {word: str(number) for word, number in SMALL_NUMBERS.items()}
_TITLES = frozenset({"mr", "mrs", "ms", "miss", "mx", "dr", "doctor", "prof", "professor", "sir", "dame"})
_OFFICE_WORDS = "president senator governor chancellor king queen emperor pope saint st judge justice captain"
_OFFICES = frozenset(_OFFICE_WORDS.split())
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            *(("january", "jan"), ("february", "feb"), ("march", "mar"), ("april", "apr"), ("may",), ("june", "jun")),
            *(("july", "jul"), ("august", "aug"), ("september", "sep", "sept"), ("october", "oct")),
            *(("november", "nov"), ("december", "dec")),
        ),
        1,
    )
    for name in names
}
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_PARENTHESIS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")
# "in 1945" is 1945; "by 1945" and "from 1945" are not, but "by Jane Austen" is Jane Austen.
_LEAD = re.compile(
    r"^(?:(?:in|on|at|during|the year|in the year)\s+(?=\S)|(?:by|from)\s+(?=[^\d\s][^\d]*$))", re.IGNORECASE
)
_HALF_DAY = re.compile(r"(?<=\d)\s?[ap]\.?m\.?$", re.IGNORECASE)
_REMARK = re.compile(
    r"(?:,\s+(?:who|which|whose|where|because|since|as|although|though|when|with|followed|but|i\.e\.)(?!\w)|\s+because\b|\s+[-–—]\s+|\s*—\s*|:\s+).*$",
    re.DOTALL | re.IGNORECASE,
)


def _compare_form(text: str) -> str:
    """Return the form in which two answers are compared: numbers in digits, dates in one order, no spaces."""
    words = normalize_answer(text).split()
    if len(words) > 2 and words[0] in _TITLES:
        words = words[1:]
    if (date := _find_date(words)) is not None:
        return date
    parts: list[str] = []
    for word in map(_canonical_word, _join_tens(words)):
        if word in {"percent", "percentage"} and parts and parts[-1][-1].isdigit():
            continue
        # Numbers that stand apart are not one number.
        parts.append(f" {word}" if parts and parts[-1][-1].isdigit() and word[0].isdigit() else word)
    return re.sub(r"(?<=\d)(?:to|until)(?=\d)", "-", "".join(parts))


def _join_tens(words: list[str]) -> list[str]:
    """Return words with tens and ones that follow each other as one number: "twenty six" as "26"."""
    joined: list[str] = []
    for word in words:
        tens, ones = SMALL_NUMBERS.get(joined[-1] if joined else "", 0), SMALL_NUMBERS.get(word, 0)
        if tens >= 20 and 1 <= ones <= 9:
            joined[-1] = str(tens + ones)
        else:
            joined.append(word)
    return joined


def _canonical_word(word: str) -> str:
    """Return a word with its number in digits and without zeros at the end of decimals."""
    word = _NUMBERS.get(word, word)
    if re.fullmatch(r"-?\d*\.\d+", word):
        word = word.rstrip("0").rstrip(".")
        return re.sub(r"^(-?)\.", r"\g<1>0.", word)
    return word


def _find_date(words: list[str]) -> str | None:
    """Return a date of day, month in words and perhaps year in one form; None where the words are none."""
    rest = [word for word in words if word not in {"of", "the"}]
    months = [i for i, word in enumerate(rest) if word in _MONTHS]
    if len(months) != 1 or not 2 <= len(rest) <= 3:
        return None
    month = _MONTHS[rest.pop(months[0])]
    day = _DAY.fullmatch(rest[0])
    if day is None or (len(rest) == 2 and not re.fullmatch(r"\d{3,4}", rest[1])):
        return None
    return f"{rest[1] if len(rest) == 2 else ''}m{month}d{int(day[1])}"


def _shorter_forms(text: str) -> Iterator[str]:
    """Yield an answer without a remark after it, and without a preposition or an office before it."""
    for pattern in (_PARENTHESIS, _REMARK, _LEAD, _HALF_DAY):
        if (shorter := pattern.sub("", text, count=1).strip()) and shorter != text:
            yield shorter
    words = text.split()
    if len(words) > 1 and words[0].lower().rstrip(".") in _OFFICES:
        yield " ".join(words[1:])


def matches_target(answer: str, target: str) -> bool:
    """Return whether an answer is the target: in the same words, or in them beside a remark on one of the two sides.

    A title such as Dr. may be left out before two words or more, numbers may be words, dates may have any order, and
    spaces between letters do not matter. A remark is in parentheses, after a dash, or a relative clause.

    Examples
    --------
    >>> matches_target("J. K. Rowling", "JK Rowling"), matches_target("4 July 1776", "July 4, 1776")
    (True, True)
    >>> matches_target("Jane Austen (1775-1817)", "Jane Austen"), matches_target("Mercury (planet)", "Mercury (god)")
    (True, False)
    """
    given, expected = _compare_form(answer), _compare_form(target)
    return (
        given == expected
        or any(_compare_form(form) == expected for form in _shorter_forms(answer))
        or any(_compare_form(form) == given for form in _shorter_forms(target))
    )


def build_normalised_scorer(spec: str, _: str) -> Scorer:
    """Return the scorer `normalised`."""

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        targets = parse_targets(item.target)
        whole_form = _compare_form(completion) if len(completion) <= LONGEST else ""
        if whole_form and any(whole_form == _compare_form(target) for target in targets):
            return ScoredAnswer(1.0, targets[0], "whole")
        answer, rule = read_open_answer(completion, item.context)
        if answer is None:
            return ScoredAnswer(0.0, None, rule)
        forms = [answer, *list_shorter_answers(answer, item.context.question)]
        right = any(matches_target(form, target) for form in forms for target in targets)
        # All right answers are one answer, so that they count together in a majority vote.
        return ScoredAnswer(float(right), targets[0] if right else normalize_answer(answer), rule)

    return Scorer(
        spec,
        hash_code(
            "scorers.normalised",
            "scorers.targets",
            "extraction.open_answers",
            "extraction.open_candidates",
            "extraction.answer_ranking",
            "extraction.answer_spans",
            "extraction.answer_weights",
            "extraction.number_words",
            "extraction.numerals",
            "extraction.statements",
            "extraction.completion_context",
            "extraction.languages",
            "extraction.vocabulary",
        ),
        score,
    )


def build_exact_scorer(spec: str, _: str) -> Scorer:
    """Return the scorer `exact`."""

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        answer = normalize_text(remove_reasoning(completion)) or None
        right = answer is not None and answer in {normalize_text(target) for target in parse_targets(item.target)}
        return ScoredAnswer(float(right), answer, "exact" if answer is not None else "empty")

    return Scorer(spec, hash_code("scorers.normalised", "scorers.targets", "scorers.scorer_parts"), score)


def build_contains_scorer(spec: str, _: str) -> Scorer:
    """Return the scorer `contains`."""

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        text = remove_next_question(remove_reasoning(completion), item.context)
        words = f" {' '.join(split_words(text))} "
        if not words.strip():
            return ScoredAnswer(0.0, None, "empty")
        for target in parse_targets(item.target):
            if f" {' '.join(split_words(target))} " in words:
                return ScoredAnswer(1.0, target, "contained")
        answer, rule = read_open_answer(text, item.context)
        return ScoredAnswer(0.0, None if answer is None else normalize_answer(answer), rule)

    return Scorer(spec, hash_code("scorers.normalised", "scorers.targets", "extraction"), score)
