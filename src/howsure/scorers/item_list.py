"""Define the scorer `list`, which compares the items that a completion lists with those of the target.

A list is stated ("Answer: red, white"), has a bullet, a number or a row for each item, or is the whole reply of one
line. Lists in other sentences are unparsed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from howsure.errors import UnknownNameError
from howsure.scorers.completion_text import CompletionContext, clean_completion
from howsure.scorers.open_answers import is_refusal, matches_target, normalize_answer, read_stated
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, hash_code
from howsure.scorers.targets import parse_items

#: How two lists are compared: as sets, in their order, or by the share of their items.
COMPARISONS = ("all", "ordered", "share")
#: Most items of a list that are read, and most words of an item of a reply that is a list as a whole.
MAX_ITEMS, MOST_WORDS = 200, 6
_SEPARATOR = re.compile(
    r"\s*(?:[;\n、，]|,(?!\d{3}\b))\s*(?:(?:and|or|&)\s+)?(?:then\s+)?|\s+(?:and|und|et|y|и|&)\s+(?:then\s+)?|\s(?:<|->|→)\s"
)
#: Words between the last two items of a series.
_JOINTS = ("and", "und", "et", "y", "и")
_BULLET = re.compile(r"^[ \t]*(?:[-*•–+]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t]+(?P<item>\S.*)$", re.MULTILINE)
_ROW = re.compile(r"^[ \t]*\|\s*(?P<item>[^|\n]+?)\s*\|.*$", re.MULTILINE)
_RULE = re.compile(r"[\s|:–—-]+")
_EXPLAINED = re.compile(r"\s*(?:\s[-–—]\s|[:–—]\s|\s\().*", re.DOTALL)
_LEAD = re.compile(r"^(?:[^:\n]{2,100}:|[^,;\n]*\b(?:is|are|were|was)\b:?)\s+(?=\S)")
_MARKUP = re.compile(r"[*_`\"'“”\[\]{}]+")


def read_items(text: str, context: CompletionContext | None = None) -> tuple[list[str], str]:
    r"""Return the items that a completion lists, and the rule or the reason for none.

    >>> read_items("They are:\n- iron\n- tin (the softest)"), read_items("The answer is gold, iron and tin.")
    ((['iron', 'tin'], 'bullets'), (['gold', 'iron', 'tin'], 'statement'))
    """
    text, context, parts = clean_completion(text, context)
    if not text.strip():
        return [], "empty" if parts.is_finished else "unfinished"
    stated = read_stated(text)
    if stated is not None and (items := _split(_LEAD.sub("", stated, count=1))):
        return items, "statement"
    if context.truncated:
        return [], "cut"
    for pattern, rule in ((_BULLET, "bullets"), (_ROW, "rows")):
        lines = [match["item"] for match in pattern.finditer(text) if not _RULE.fullmatch(match["item"])]
        if len(lines) > 1:
            lines = lines[1:] if rule == "rows" and re.search(r"\n[ \t]*\|[\s:|-]+\|", text) else lines
            return [_clean(_EXPLAINED.sub("", line)) for line in lines[:MAX_ITEMS]], rule
    if "\n" in text.strip() and all(len(line.split()) <= MOST_WORDS for line in text.strip().split("\n")):
        return _split(text.strip()), "lines"
    first = _LEAD.sub("", text.strip().partition("\n")[0], count=1)
    items = _split(first)
    is_list = "\n" not in text.strip() and not is_refusal(text)
    return (items, "whole") if is_list and all(len(item.split()) <= MOST_WORDS for item in items) else ([], "no list")


def _split(text: str) -> list[str]:
    """Return the items of a series."""
    pieces = (_clean(piece) for piece in _SEPARATOR.split(text.strip())[:MAX_ITEMS])
    return [piece for piece in pieces if piece]


def _clean(item: str) -> str:
    """Return an item without markup, and without a remark in brackets or a stop behind it."""
    return re.sub(r"\s*\([^()]*\)\s*$", "", _MARKUP.sub("", item)).strip(" .:;")


def _match_items(pieces: Sequence[str], items: Sequence[Sequence[str]]) -> list[int | str]:
    """Return for each item of the answer the index of its target, or its text where it is none.

    Pieces are joined where they are one item of the target: "Trinidad and Tobago", "Washington, D.C.".
    """
    longest = 1 + max((len(_SEPARATOR.split(name)) for names in items for name in names), default=1)
    matches: list[int | str] = []
    place = 0
    while place < len(pieces):
        for n in range(min(longest, len(pieces) - place), 0, -1):
            part = pieces[place : place + n]
            joined = [" ".join(part), *(f" {word} ".join(part) for word in _JOINTS)]
            index = next((k for k, names in enumerate(items) if _is_item(joined, names)), None)
            if index is not None or n == 1:
                matches.append(pieces[place] if index is None else index)
                place += n
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
    comparison = spec.partition(":")[2] or COMPARISONS[0]
    if comparison not in COMPARISONS:
        raise UnknownNameError("comparison of lists", comparison, COMPARISONS, where=where)

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        items = parse_items(item.target)
        pieces, rule = read_items(completion, item.context)
        if not pieces:
            return ScoredAnswer(0.0, None, rule)
        matches = list(dict.fromkeys(_match_items(pieces, items)))
        names = [items[each][0] if isinstance(each, int) else each for each in matches]
        written = [normalize_answer(name) for name in names]
        answer = ", ".join(written if comparison == "ordered" else sorted(written))
        matched = [each for each in matches if isinstance(each, int)]
        if comparison == "share":
            # Items in both lists, as a share of the items in either.
            return ScoredAnswer(len(matched) / (len(items) + len(matches) - len(matched)), answer, rule)
        is_right = len(matches) == len(matched) == len(items)
        return ScoredAnswer(float(is_right and (comparison == "all" or matched == sorted(matched))), answer, rule)

    return Scorer(spec, hash_code("scorers.item_list", "scorers.open_answers", "scorers.targets"), score)
