"""Define the scorers of open answers: `contains`, `normalised`, `f1` and `exact`.

contains
    Whether the words of a target stand in the reply, in any order; in its statement where it states an answer. Small
    words (of, in, the), a plural s and what is glued to a long word do not matter, and a target of three words or more
    without digits may lack words between its first and its last one ("Joseph Nye Welch" is Joseph Welch). A target of
    more than six words must stand whole and in its order. A reply that refuses, or that gives a target beside another
    answer ("Paris or Rome"), is unparsed, and a target that is denied ("not Paris") does not count.
normalised
    Whether the bare answer is a target: the stated one, or a reply of one short line. It suits prompts that ask for the
    answer alone; other replies are unparsed, because no answer is cut out of a sentence.
f1
    The overlap of the words of the answer with those of the target, from 0 to 1.
exact
    Whether the whole reply is a target, in any case, with any spaces and in any width of letters.

A target may be a JSON list of accepted answers; the best one counts. Words are compared in lower case, without
punctuation, articles and accents, as SQuAD does (Rajpurkar, Zhang, Lopyrev and Liang 2016, EMNLP, section 6.1) and in
any script; numbers keep their sign, point, fraction and range, and number words are digits.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from howsure.scorers.numerals import SMALL_NUMBERS
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, hash_code
from howsure.scorers.statements import find_statements, read_line
from howsure.scorers.targets import parse_targets

#: Longest answer that is normalised, and longest one that is stored of a reply without a target, in characters.
LONGEST, LONGEST_STORED = 20_000, 200
#: Most words of a target that may stand in any order; shortest word to which others may be glued, in letters.
MOST_UNORDERED, SHORTEST_GLUED = 6, 5
#: Least share of the words of a name that a reply must have, besides its first and its last one.
LEAST_SHARE = 2 / 3
#: Most words of a line that is a bare answer, and of a reply in which "or" joins two answers.
MOST_BARE, MOST_JOINED = 12, 6

_ARTICLE = re.compile(r"\b(?:a|an|the)\s+(?=\S)")
_ACCENT = re.compile(r"(?<=[a-z\u0370-\u03ff])[\u0300-\u036f]+")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
# Marks that belong to a number, a sign behind a letter, and marks that separate words.
_SIGNS = re.compile(
    r"(?P<number>\d+(?:[.:/]\d+)+|\d*\.\d+)|(?P<range>(?<=\d)\s?[-‐-―−]\s?(?=\d))|(?P<minus>(?<![\w)])[-−](?=[$€£¥₹]?\.?\d))"
    r"|(?P<sign>(?<=[a-z])(?:\+\+|[+#])(?!\w))|(?P<dash>[-‐-―−~/])|(?P<and>&)"
)
# A word, or a character of a script that is written without spaces between words.
_NO_SPACES = "\\u0e00-\\u0edf\\u1000-\\u109f\\u1780-\\u17ff\\u3040-\\u30ff\\u3400-\\u9fff\\uf900-\\ufaff"
_TOKEN = re.compile(rf"[{_NO_SPACES}]|[^\s{_NO_SPACES}]+")
# Private characters stand for marks that are kept, while the other punctuation is removed.
_MARKS = {".": "\ue000", ":": "\ue001", "/": "\ue002", "-": "\ue003", "+": "\ue004", "#": "\ue005"}
_PROTECT = str.maketrans(_MARKS)
_RESTORE = str.maketrans({private: mark for mark, private in _MARKS.items()})
_DECIMAL = re.compile(r"-?\d+\.\d+")
_ROMAN = "ii iii iv _ vi vii viii ix _ xi xii xiii xiv xv xvi"
_NUMBER_WORDS = {word: str(number) for number, word in enumerate(_ROMAN.split(), 2) if word != "_"}
_NUMBER_WORDS |= {word: str(number) for word, number in SMALL_NUMBERS.items()}
_SMALL = "in at on of from during by to and for since is was be located sometime with as it until"
#: Words of a target that a reply need not have.
_SMALL_WORDS = frozenset(_SMALL.split())
_REFUSED = re.compile(
    r"\b(?:i(?:['’]m| am)? (?:sorry|unable|not able|not sure|do(?: not|n['’]t) (?:know|have)|cannot|can['’]t|could not)"
    r"|as an ai|(?:unable to|cannot) (?:answer|provide|determine)|no (?:answer|information))\b",
    re.IGNORECASE,
)
_DENIAL = re.compile(r"(?:not|never|isnt|wasnt|nor|neither|except|unlike)(?: \w+)?")


def is_refusal(text: str) -> bool:
    """Return whether a text says that it gives no answer.

    >>> is_refusal("I'm sorry, I cannot help with that."), is_refusal("It is Paris.")
    (True, False)
    """
    return _REFUSED.search(text) is not None


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
    folded = _fold_letters(text[:LONGEST])
    marked = _SIGNS.sub(_keep_mark, _GROUPED.sub(lambda match: match[0].replace(",", ""), folded))
    bare = "".join(character for character in marked if not _is_punctuation(character))
    words = _ARTICLE.sub("", " ".join(bare.translate(_RESTORE).split()))
    return words or " ".join(folded.split())


def _keep_mark(match: re.Match[str]) -> str:
    """Return a mark that is kept as its private character, and another one as a space or a word."""
    kind = match.lastgroup
    if kind in {"dash", "and"}:
        return " " if kind == "dash" else " and "
    return _MARKS["-"] if kind in {"range", "minus"} else match[0].translate(_PROTECT)


def _is_punctuation(character: str) -> bool:
    """Return whether a character is punctuation of any script, or a sign of currency or markup."""
    return unicodedata.category(character)[0] == "P" or character in "$€£¥₹₱^`|~\u0640"


def _fold_letters(text: str) -> str:
    """Return a text with compatible characters, lower case, and letters of Latin, Greek without marks."""
    text = unicodedata.normalize("NFKC", text).casefold().replace("⁄", "/")
    return text if text.isascii() else unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", text)))


def split_words(text: str) -> list[str]:
    """Return the words of an answer as `normalize_answer` writes them; in scripts without spaces each character is one.

    >>> split_words("The Beatles"), split_words("是 18 岁。")
    (['beatles'], ['是', '18', '岁'])
    """
    return _TOKEN.findall(normalize_answer(text))


def _compare_words(text: str) -> list[str]:
    """Return the words in which answers are compared: number words and Roman numerals in digits."""
    return [_compare_word(word) for word in split_words(text)]


@lru_cache(maxsize=8192)
def _compare_word(word: str) -> str:
    """Return a word with its number in digits and without zeros at the end of decimals.

    >>> _compare_word("twenty"), _compare_word("viii"), _compare_word("950.00")
    ('20', '8', '950')
    """
    word = _NUMBER_WORDS.get(word, word)
    return word.rstrip("0").rstrip(".") if _DECIMAL.fullmatch(word) else word


def matches_target(answer: str, target: str) -> bool:
    """Return whether an answer is the target in the same words, which may be joined otherwise.

    Examples
    --------
    >>> matches_target("J. K. Rowling", "JK Rowling"), matches_target("twenty", "20"), matches_target("Rome", "Romeo")
    (True, True, False)
    """
    return "".join(_compare_words(answer)) == "".join(_compare_words(target))


def read_stated(text: str) -> str | None:
    """Return the answer that a completion states, with the rest of its line; None when it states none.

    >>> read_stated("He was born there. Answer: St. Louis, Mo."), read_stated("It is Paris.")
    ('St. Louis, Mo', None)
    """
    for statement in find_statements(text):
        line = read_line(text, statement.content)
        return line.removesuffix(".").rstrip() if line.startswith(statement.text) else statement.text
    return None


def _read_bare(text: str) -> tuple[str | None, str]:
    """Return the bare answer of a completion: the stated one, or its only short line; or None and the reason."""
    stated = read_stated(text)
    if stated is not None:
        return stated, "statement"
    if is_refusal(text):
        return None, "refused"
    lines = [line for line in text.strip().split("\n") if line.strip()]
    if len(split_words(lines[0])) <= MOST_BARE and len(lines) == 1:
        return lines[0], "bare"
    return None, "not bare"


def build_contains_scorer(spec: str, _: str) -> Scorer:
    """Return the scorer `contains`."""

    def score(text: str, item: ScoringItem) -> ScoredAnswer:
        stated = read_stated(text)
        reply = text if stated is None else stated
        words = _compare_words(reply)
        for target in parse_targets(item.target):
            wanted = _compare_words(target)
            if not _has_words(wanted, words) or _is_denied(wanted, words):
                continue
            if _is_joined(wanted, words):
                return ScoredAnswer(0.0, None, "several")
            return ScoredAnswer(1.0, target, "contained" if stated is None else "contained in the statement")
        if is_refusal(reply):
            return ScoredAnswer(0.0, None, "refused")
        return ScoredAnswer(0.0, " ".join(words)[:LONGEST_STORED], "not contained")

    return Scorer(spec, hash_code("scorers.open_answers", "scorers.targets", "scorers.numerals"), score)


def _has_words(wanted: list[str], words: list[str]) -> bool:
    """Return whether a reply has the words of a target; see the module for the rules.

    >>> _has_words(["joseph", "nye", "welch"], ["welch", "joseph"]), _has_words(["july", "4"], ["july", "5"])
    (True, False)
    """
    if len(wanted) > MOST_UNORDERED:
        rest = iter(words)
        return all(word in rest for word in wanted)
    there = {_remove_plural(word) for word in words}
    needed = [_remove_plural(word) for word in wanted if word not in _SMALL_WORDS] or wanted
    matches = [word in there or _is_glued(word, there) for word in needed]
    if len(matches) > 2 and not any(map(str.isdigit, "".join(needed))):
        return matches[0] and matches[-1] and sum(matches) >= LEAST_SHARE * len(matches)
    return bool(matches) and all(matches)


def _remove_plural(word: str) -> str:
    """Return a word without a plural s."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _is_glued(word: str, words: set[str]) -> bool:
    """Return whether another word begins or ends with a long word: "isKirsten", "Normans'"."""
    if len(word) < SHORTEST_GLUED or not word.isalpha():
        return False
    return any(other.startswith(word) or other.endswith(word) for other in words)


def _find_places(wanted: list[str], words: list[str]) -> list[int]:
    """Return the places where the words of a target stand together."""
    n = len(wanted)
    return [place for place, word in enumerate(words) if word == wanted[0] and words[place : place + n] == wanted]


def _is_denied(wanted: list[str], words: list[str]) -> bool:
    """Return whether every place of a target has a denial before it."""
    places = _find_places(wanted, words)
    before = [" ".join(words[max(0, place - 2) : place]) for place in places]
    return bool(before) and all(_DENIAL.search(part) for part in before)


def _is_joined(wanted: list[str], words: list[str]) -> bool:
    """Return whether "or" joins the target to another answer in a short reply."""
    if len(words) > MOST_JOINED or "or" not in words or "or" in wanted:
        return False
    places = _find_places(wanted, words)
    return any(
        "or" in (words[place - 1 : place] + words[place + len(wanted) : place + len(wanted) + 1]) for place in places
    )


def build_normalised_scorer(spec: str, _: str) -> Scorer:
    """Return the scorer `normalised`."""

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        targets = parse_targets(item.target)
        answer, rule = _read_bare(completion)
        if answer is None:
            return ScoredAnswer(0.0, None, rule)
        # A statement may go on with a remark: "Paris, which ..." and "Paris (France)".
        forms = (answer, *dict.fromkeys(re.split(pattern, answer, maxsplit=1)[0] for pattern in (r"\s+\(", r"[,;.]\s")))
        right = any(matches_target(form, target) for form in forms for target in targets)
        # All right answers are one answer, so that they count together in a majority vote.
        return ScoredAnswer(float(right), targets[0] if right else normalize_answer(answer), rule)

    return Scorer(spec, hash_code("scorers.open_answers", "scorers.targets", "scorers.numerals"), score)


def build_f1_scorer(spec: str, _: str) -> Scorer:
    """Return the scorer `f1`."""

    def score(text: str, item: ScoringItem) -> ScoredAnswer:
        stated = read_stated(text)
        answer, rule = (text, "whole") if stated is None else (stated, "statement")
        best = max(compute_f1(answer, target) for target in parse_targets(item.target))
        return ScoredAnswer(best, normalize_answer(answer)[:LONGEST_STORED], rule)

    return Scorer(spec, hash_code("scorers.open_answers", "scorers.targets"), score)


def compute_f1(answer: str, target: str) -> float:
    """Return the F1 score of the words of an answer, 0 to 1, as the evaluation program of SQuAD computes it.

    >>> compute_f1("the Nile river", "Nile"), compute_f1("Amazon", "Nile")
    (0.6666666666666666, 0.0)
    """
    given, wanted = Counter(split_words(answer)), Counter(split_words(target))
    common = (given & wanted).total()
    return 2 * common / (given.total() + wanted.total()) if common else float(given == wanted)


def build_exact_scorer(spec: str, _: str) -> Scorer:
    """Return the scorer `exact`."""

    def score(text: str, item: ScoringItem) -> ScoredAnswer:
        answer = normalize_text(text)
        right = answer in {normalize_text(target) for target in parse_targets(item.target)}
        return ScoredAnswer(float(right), answer, "exact")

    return Scorer(spec, hash_code("scorers.open_answers", "scorers.targets"), score)


def normalize_text(text: str) -> str:
    """Return a text as the scorer `exact` compares it: NFKC, single spaces, lower case."""
    return " ".join(unicodedata.normalize("NFKC", text).split()).casefold()
