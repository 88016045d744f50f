"""Define the scorer `list`, which compares the items that a completion lists with those of the target."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.errors import UnknownNameError
from howsure.extraction.listed_items import JOINTS, SEPARATOR, has_remark, is_plain, read_items, split_text
from howsure.scorers.normalised import matches_target, normalize_answer
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, hash_code
from howsure.scorers.targets import parse_items

__all__ = ["build_list_scorer"]

#: How two lists are compared: as sets, in their order, or by the share of their items.
COMPARISONS = ("all", "ordered", "share")


def _match_items(pieces: Sequence[str], items: Sequence[Sequence[str]]) -> list[int | str]:
    """Return for each item of the answer the index of its target, or its text where it is none.

    Pieces are joined where they are one item of the target: "Trinidad and Tobago", "Washington, D.C.".
    """
    longest = 1 + max((len(SEPARATOR.split(name)) for names in items for name in names), default=1)
    matches: list[int | str] = []
    i = 0
    while i < len(pieces):
        for n in range(min(longest, len(pieces) - i), 0, -1):
            if n > 1 and any(map(has_remark, pieces[i : i + n])):
                continue
            joined = [f" {word} ".join(pieces[i : i + n]) for word in JOINTS]
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
        pieces, rule = split_text(completion) if is_plain(completion) else [], "whole"
        matches = list(dict.fromkeys(_match_items(pieces, items)))
        if not pieces or not all(isinstance(each, int) for each in matches):
            # What is a list of right items as a whole needs no other reading.
            pieces, rule = read_items(completion, item.context)
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
