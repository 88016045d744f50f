"""Define the scorer `list`, which compares the items that a completion lists with those of the target."""

from __future__ import annotations

import re
from collections.abc import Sequence

from howsure.errors import UnknownNameError
from howsure.extraction.completion_context import CompletionContext, remove_next_question, remove_run_on
from howsure.extraction.open_answers import read_by_rules, strip_markup
from howsure.extraction.statements import find_statement, remove_reasoning
from howsure.scorers.normalised import matches_target, normalize_answer
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, hash_code
from howsure.scorers.targets import parse_items

__all__ = ["build_list_scorer", "split_items"]

#: How two lists are compared: as sets, in their order, or by the share of their items.
COMPARISONS = ("all", "ordered", "share")
#: Most items of a list that are read.
MAX_ITEMS = 200
#: Most characters of a list that are read.
LONGEST = 20_000

_INITIALS = re.compile(r"\b[A-Z]\.$")

_BULLET = re.compile(r"^\s*(?:[-*•–+]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+\S")
_ANDS = ("and", "und", "et", "y", "и")
_SEPARATOR = re.compile(
    r",?\s+as well as\s+|\s*(?:[;\n、，；]|,(?!\d{3}\b))\s*(?:and\s+|or\s+|&\s*)?"
    rf"|\s+(?:{'|'.join(_ANDS)}|&|\+|/|<|->|→)\s+|\s+then\s+"
)
# Several spaces, of which the search for separators and for struck items would take quadratic time.
_BLANKS = re.compile(r"[^\S\n]{2,}")
_INTRODUCTION = re.compile(
    r"^.*?(?:\b(?:are|is|were|was|son|sind|sont|sono|são|waren|eran|étaient"
    r"|includes?|included|contains?|consists? of|comprises?|named|called|namely|as follows"
    r"|such as)\b\s*:?|:)\s+(?=\S)",
    re.IGNORECASE | re.DOTALL,
)
# "The words in order are: apple, banana."
_NAMED_LIST = re.compile(r"[^:,;\n]{3,80}\b(?:is|are)\s?:\s+(?P<items>[^:\n]+)$", re.IGNORECASE)
_NUMERAL = re.compile(r"^\(?(?:\d{1,3}|[a-z])\)\s+(?=\S)")
_CHECKED = re.compile(r"^\[[xX✓✔]\]\s*")
# An item that is struck out or marked as none: "~~tin~~", "❌ tin", "- [ ] tin".
_STRUCK = re.compile(
    r"~~[^~\n]{1,200}~~[ ]*,?|^[ \t]*(?:[-*•+]|\d{1,3}[.)])?[ \t]*(?:❌|✗|✘|☒|\[ \])[^\n]*$", re.MULTILINE
)
# "**H**uron": the initial of a word in bold.
_INITIAL = re.compile(r"\*\*([^\W\d_])\*\*(?=\w)")
# "12: yes", a line that says of an item whether it belongs to the list.
_JUDGED_LINE = re.compile(
    r"[ \t]*(?:[-*•+][ \t]+)?(?P<item>[^\n:]{1,60}?)[ \t]*(?:[:–—=-]|→)?[ \t]*"
    r"\b(?P<verdict>yes|no)\b[.!]?[ \t]*",
    re.IGNORECASE,
)
# "x = 4": a solution with the name of its unknown.
_UNKNOWN = re.compile(r"^(?P<name>[a-z])(?:_?\d)?\s?=\s?(?=\S)")
_PICTURE = re.compile("^[\u2600-\u27bf\U0001f300-\U0001faff\ufe0f\u200d]+\\s*")
_ORDER_WORD = re.compile(r"^(?:and|or|then|also|both|first|second|third|finally|lastly|next)\s*,?\s+", re.IGNORECASE)


def split_items(text: str, context: CompletionContext | None = None) -> tuple[list[str], str]:
    r"""Return the pieces between the separators of the list that a completion gives, and the rule.

    Bulleted lines are the items; otherwise commas, semicolons and "and" separate them, in the last explicit statement,
    after the introduction of a sentence, or in the whole text.

    Examples
    --------
    >>> split_items("The colours are red, white, and blue.")
    (['red', 'white', 'blue'], 'sentence')
    >>> split_items("Here they are:\n1. Red\n2. White")
    (['Red', 'White'], 'lines')
    """
    text = remove_run_on(remove_next_question(remove_reasoning(text), context), context).strip(" \t\n…")
    text = _BLANKS.sub(" ", text)
    if not text.strip("."):
        return [], "empty"
    lines = [line for line in text.split("\n") if line.strip()]
    bullets = [line for line in lines if _BULLET.match(line)]
    if len(bullets) > 1 or (bullets and len(lines) == 1):
        if context is not None and context.truncated and bullets[-1] is lines[-1]:
            bullets.pop()
        return [_strip_item(line) for line in bullets[:MAX_ITEMS]], "lines"
    named = _NAMED_LIST.match(text) if len(lines) == 1 and find_statement(text) is None else None
    if named is not None and len(_SEPARATOR.split(named["items"])) > 1:
        return _split_text(named["items"]), "sentence"
    content, rule = _find_list(text, lines, context)
    return _split_text(content), rule


def _split_text(text: str) -> list[str]:
    """Return the pieces of a text between its separators."""
    text = _BLANKS.sub(" ", text)[:LONGEST].strip()
    if text.endswith(".") and not _INITIALS.search(text):
        text = text[:-1]
    items = [item for item in map(_strip_item, _SEPARATOR.split(text)[:MAX_ITEMS]) if item]
    unknowns = [_UNKNOWN.match(item) for item in items]
    if all(unknowns) and len({match["name"] for match in unknowns if match}) == 1:
        items = [_UNKNOWN.sub("", item) for item in items]
    return items


def _keep_affirmed(text: str) -> str:
    """Return the items of a text whose lines all say yes or no of an item, if both occur; else the text."""
    rows = [_JUDGED_LINE.fullmatch(line) for line in text.split("\n") if line.strip()]
    verdicts = {row["verdict"].lower() for row in rows if row is not None}
    if None in rows or verdicts != {"yes", "no"}:
        return text
    return "\n".join(row["item"] for row in rows if row is not None and row["verdict"].lower() == "yes")


def _find_list(text: str, lines: Sequence[str], context: CompletionContext | None) -> tuple[str, str]:
    """Return the part of a text without bullets that lists the items, and the rule; empty where there is none."""
    if statement := find_statement(text):
        # A statement ends at a full stop, such as that of "Washington, D.C., and Paris".
        line = text[text.rfind(statement) :].partition("\n")[0].partition("</")[0]
        return (statement if line.endswith("}") or len(line) > 2 * len(statement) + 20 else line), "statement"
    if len(lines) > 1 and all(len(line.split()) <= 6 and not line.rstrip().endswith(":") for line in lines):
        return "\n".join(lines), "lines"
    answer, rule, _ = read_by_rules(text, context)
    is_cut = context is not None and context.truncated and (answer is None or rule == "whole")
    if is_cut or rule in {"refused", "denied", "cut", "empty"}:
        return "", "cut" if is_cut else rule
    if answer is not None and rule != "whole":
        return answer, rule
    sentence = lines[-1] if len(lines) > 1 else text
    introduced = _INTRODUCTION.sub("", sentence, count=1)
    if introduced != sentence:
        return introduced, "sentence"
    return (sentence, "whole") if answer is not None or _SEPARATOR.search(sentence) else ("", rule)


def _strip_item(text: str) -> str:
    """Return an item without its bullet, its markup and "and"."""
    item = _CHECKED.sub("", _NUMERAL.sub("", strip_markup(text)))
    return _ORDER_WORD.sub("", _PICTURE.sub("", item)).strip().rstrip(",;")


def _match_items(pieces: Sequence[str], items: Sequence[Sequence[str]]) -> list[int | str]:
    """Return for each item of the answer the index of its target, or its text where it is none.

    Pieces are joined where they are one item of the target: "Trinidad and Tobago", "Washington, D.C.".
    """
    longest = 1 + max((len(_SEPARATOR.split(name)) for names in items for name in names), default=1)
    matches: list[int | str] = []
    i = 0
    while i < len(pieces):
        for n in range(min(longest, len(pieces) - i), 0, -1):
            joined = [f" {word} ".join(pieces[i : i + n]) for word in _ANDS]
            joined.append(" ".join(pieces[i : i + n]))
            index = next((k for k, names in enumerate(items) if _is_item(joined, names)), None)
            if index is not None or n == 1:
                matches.append(pieces[i] if index is None else index)
                i += n
                break
    return matches


def _is_item(texts: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether one of the texts is one of the names of an item."""
    return any(matches_target(text, name) for text in texts for name in names)


def build_list_scorer(spec: str, where: str) -> Scorer:
    """Return the scorer `list`, `list:ordered` or `list:share`.

    Raises
    ------
    UnknownNameError
        When there is no such comparison.
    """
    _, _, comparison = spec.partition(":")
    comparison = comparison or "all"
    if comparison not in COMPARISONS:
        raise UnknownNameError("comparison of lists", comparison, COMPARISONS, where=where)

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        items = parse_items(item.target)
        completion = _INITIAL.sub(r"\1", _keep_affirmed(_STRUCK.sub("", _BLANKS.sub(" ", completion))))
        pieces, rule = _split_text(completion), "whole"
        matches = list(dict.fromkeys(_match_items(pieces, items)))
        if not pieces or not all(isinstance(each, int) for each in matches):
            # What is a list of right items as a whole needs no other reading.
            pieces, rule = split_items(completion, item.context)
            matches = list(dict.fromkeys(_match_items(pieces, items)))
        if not pieces:
            return ScoredAnswer(0.0, None, rule)
        names = [items[each][0] if isinstance(each, int) else each for each in matches]
        written = [normalize_answer(name) for name in names]
        answer = ", ".join(written if comparison == "ordered" else sorted(written))
        matched = [each for each in matches if isinstance(each, int)]
        if comparison == "share":
            # Items in both lists, as a share of the items in either.
            return ScoredAnswer(len(matched) / (len(items) + len(matches) - len(matched)), answer, rule)
        right = len(matches) == len(matched) == len(items)
        if comparison == "ordered":
            right = right and matched == sorted(matched)
        return ScoredAnswer(float(right), answer, rule)

    return Scorer(spec, hash_code("scorers.item_list", "scorers.normalised", "scorers.targets", "extraction"), score)
