"""Find the option that a completion judges differently from all others.

A *verdict* is a row of a list or a table that is marked as right while others are marked as wrong: "B. Mars ✅".
Where a question asks for the wrong option, it may be the only row that is marked as wrong, and an *exception* is the
option that a completion denies or leaves out: "all of them are mammals except C", "C does not belong to the group".
"""

from __future__ import annotations

import re

from howsure.extraction.choice_phrases import find_mentions, is_considered, read_before
from howsure.extraction.vocabulary import OPTION_NOUNS, Vocabulary

__all__ = ["find_exception", "find_verdict"]

#: Longest completion that is one denial.
LONGEST_DENIAL = 40
#: Characters of a row, or after a place, that are read.
_NEAR = 300
_FULL_STOP = re.compile(r"[.!?…\n]")
# The verdict on one option in a row of a list or a table.
_VERDICT = re.compile(
    r"(?:^|[-–—:|(.,]\s*|\bis\s+)[*_]*"
    r"(?:(?P<right>correct|right|true|yes|richtig|wahr|vrai|correcte?|correct[oa]|verdader[oa]|верно|правильно|正确|正解)"
    r"|incorrect|wrong|false|no|not\b[^.|]*|falsch|faux|fausse|incorrect[oa]|fals[oa]|неверно|неправильно|错误|不正确)"
    r"[*_]*(?=\s*(?:[.,;:)|!✓✔✅✗✘❌–—]|-\s|$)|\s+(?P<weak>but|in\s+part|only))|(?P<tick>[✓✔✅☑])|[✗✘❌☒]"
    r"|\b(?:this|it|which)(?:\s+is|['’]s)\s+(?P<other>not\s+)?(?:therefore\s+|thus\s+)?(?:the\s+)(?:correct\s+|right\s+|best\s+)?"
    r"(?P<answer>answer|choice|one)\b",
    re.IGNORECASE,
)
# The box of a list of tasks, which is empty where the option is not chosen, and the first cell of a row.
_BOX = re.compile(r"\[([ xX✓✔])\]\s+")
_FIRST_CELL = re.compile(r"^[*_]{0,2}(\w{1,4})[*_\s]*\|\s*")


def find_verdict(text: str, words: Vocabulary, *, wants_wrong: bool) -> int | None:
    r"""Return the only option that a list or a table marks as right while it marks all others of its rows as wrong.

    Where the question asks for the wrong option, this may be the only one that is marked as wrong.

    >>> from howsure.extraction.vocabulary import build_vocabulary
    >>> words = build_vocabulary(("A", "B", "C"), ("Venus", "Mars", "Saturn"))
    >>> find_verdict("A. Venus: wrong\nB. Mars: correct\nC. Saturn: wrong", words, wants_wrong=False)
    1
    """
    right: set[int] = set()
    wrong: set[int] = set()
    for line in text.split("\n"):
        row = line[:_NEAR].strip(" \t|-*#>•")
        box = _BOX.match(row)
        row = row[box.end() :] if box else _FIRST_CELL.sub(r"\1) ", row) if "|" in row else row
        match = words.labels.labelled.match(row) if row else None
        place = words.labels.index(match["label"]) if match and match["mark"] else None
        if match is None or place is None:
            continue
        verdicts = list(_VERDICT.finditer(match["rest"]))
        if box:
            (wrong if box[1] == " " else right).add(place)
            continue
        if not verdicts:
            continue
        last = verdicts[-1]
        is_right = not last["other"] if last["answer"] else bool(last["tick"] or (last["right"] and not last["weak"]))
        (right if is_right else wrong).add(place)
    least = min(2, len(words.folded) - 1)
    if right & wrong:
        return None
    if wants_wrong and len(wrong) == 1 and len(right) >= max(2, least):
        return wrong.pop()
    return right.pop() if len(right) == 1 and len(wrong) >= least else None


# What a sentence says of the option that a question asks for where it asks for the wrong one.
_DENIES = re.compile(
    r"[*)\]\"'.:_`]{0,4}\s+(?:(?:is|are)\s+(?:therefore\s+|thus\s+|clearly\s+)?(?:not\b|n['’]t\b|false|incorrect|wrong|untrue"
    r"|inaccurate)|isn['’]t\b|(?:does|do)(?:\s+not|n['’]t)\s+\w+)",
    re.IGNORECASE,
)
_EXCEPT = re.compile(
    rf"\b(?:all|each|every\w*)\b[^.!?\n]{{0,80}}\b(?:except(?:\s+for)?|but|apart\s+from|other\s+than)\s+(?:the\s+)?"
    rf"(?:(?:{OPTION_NOUNS}|statement)\s+)?[*(\[\"]{{0,4}}$",
    re.IGNORECASE,
)
_BELONGS = re.compile(r"\b(?:belong|fit|qualify)$", re.IGNORECASE)
_ALL_OTHERS = re.compile(
    r"\b(?:all\s+(?:of\s+)?the\s+(?:other|remaining)|the\s+other\s+(?:\w+\s+){0,2}all|the\s+(?:others|rest)\b)",
    re.IGNORECASE,
)
_IS_SOUGHT = re.compile(r"\b(?:answer|looking\s+for|the\s+one|exception|odd\s+one)\b", re.IGNORECASE)


def find_exception(text: str, words: Vocabulary) -> int | None:
    """Return the only option that a text denies while it names all others, or that it excepts from all.

    It is the answer where the question asks for the wrong option.

    >>> from howsure.extraction.vocabulary import build_vocabulary
    >>> words = build_vocabulary(("A", "B", "C"), ("Dolphin", "Bat", "Penguin"))
    >>> find_exception("All of them are mammals except C.", words)
    2
    """
    denied: set[int] = set()
    excepted: set[int] = set()
    affirmed: set[int] = set()
    is_answer = False
    names_others = _ALL_OTHERS.search(text) is not None
    for mention in find_mentions(text, words):
        place = words.labels.exact_index(mention["label"])
        before = read_before(text, mention.start())
        if place is None or (mention["label"] in {"a", "I", "i"} and not mention["after"].strip(".: ")):
            continue
        if _EXCEPT.search(before):
            excepted.add(place)
        elif (denial := _DENIES.match(text, mention.end("label"))) and not is_considered(before):
            denied.add(place)
            rest = _FULL_STOP.split(text[denial.end() : denial.end() + _NEAR], maxsplit=1)[0]
            is_answer = bool(_BELONGS.search(denial[0]) or _IS_SOUGHT.search(rest) or names_others)
        else:
            affirmed.add(place)
    if len(excepted) == 1:
        return excepted.pop()
    if len(denied) != 1 or denied & affirmed:
        return None
    # "C is not true." and nothing else.
    is_answer = is_answer or (not affirmed and len(text.strip()) <= LONGEST_DENIAL)
    return denied.pop() if is_answer or len(affirmed) == len(words.folded) - 1 >= 2 else None
