"""Find the option that a completion judges differently from all others.

A *verdict* is a row of a list or a table that is marked as right while others are marked as wrong: "B. Mars ✅".
Where a question asks for the wrong option, it may be the only row that is marked as wrong, and an *exception* is the
option that a completion denies or leaves out: "all of them are mammals except C", "C does not belong to the group".
The *remaining* option is the only one that a completion does not reject: "A, C and D are wrong".
"""

from __future__ import annotations

import re

from howsure.extraction.choice_phrases import find_mentions, is_considered, read_before
from howsure.extraction.languages import is_reported
from howsure.extraction.vocabulary import OPTION_NOUNS, Vocabulary

__all__ = ["find_exception", "find_remaining", "find_verdict"]

#: Longest completion that is one denial.
LONGEST_DENIAL = 40
#: Characters of a row, or after a place, that are read.
_NEAR = 300
#: Fewest options of which all others are rejected, less one; and words of which a text that rejects has one.
MOST_REMAINING = 2
_REJECTION_HINTS = (
    "wrong",
    "incorrect",
    "false",
    "exclu",
    "elimin",
    "rul",
    "discard",
    "reject",
    "dismiss",
    "imposs",
    "silly",
    "absurd",
    "implaus",
    "not ",
    "n't",
    "n’t",
    "nonsens",
)
_STATEMENT = re.compile(r"^(?:statement|claim)\s+", re.IGNORECASE)
# "The remaining choice expresses exactly that."
_REMAINING = re.compile(
    r"^\W*(?:so\s+|thus\s+)?the\s+(?:only\s+)?remaining\s+(?:choice|option|answer|one|statement)\b", re.IGNORECASE
)
_ARTICLE_USE = re.compile(r"[ ][a-z]{2,}(?<!is)(?<!are)(?<!and)(?<!or)(?<!can)\b")
_FULL_STOP = re.compile(r"[.!?…\n]")
# The verdict on one option in a row of a list or a table.
_VERDICT = re.compile(
    r"(?:^|[-–—:|(.,]\s*|\bis\s+)[*_]*"
    r"(?:(?P<right>correct|right|true|yes|richtig|wahr|vrai|correcte?|correct[oa]|verdader[oa]|верно|правильно|正确|正解)"
    r"|incorrect|wrong|false|no|not\b[^.|]*|falsch|faux|fausse|incorrect[oa]|fals[oa]|неверно|неправильно|错误|不正确"
    r"|(?<=[-–—:][ ])no(?=[ ]))"
    r"[*_]*(?=\s+(?!other\b)[a-zA-Z](?<=\bno[ ].)|\s*(?:[.,;:)|!✓✔✅✗✘❌–—]|-\s|$)"
    r"|\s+(?P<weak>but|in\s+part|only))|(?P<tick>[✓✔✅☑])|[✗✘❌☒]"
    r"|\b(?:this|it|which)(?:\s+is|['’]s)\s+(?P<other>not\s+)?(?:therefore\s+|thus\s+)?(?:the\s+)(?:correct\s+|right\s+|best\s+)?"
    r"(?P<answer>answer|choice|one)\b",
    re.IGNORECASE,
)
_MARKS = ("✓", "✔", "✅", "☑", "✗", "✘", "❌", "☒")
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
    listed: set[int] = set()
    for line in text.split("\n"):
        row = (line if len(line) <= _NEAR else f"{line[:_NEAR]} {line.rstrip()[-1]}").strip(" \t|-*#>•\ufe0f")
        row = _STATEMENT.sub("", row)
        box = _BOX.match(row)
        row = row[box.end() :] if box else _FIRST_CELL.sub(r"\1) ", row) if "|" in row else row
        match = words.labels.labelled.match(row) if row else None
        place = words.labels.index(match["label"]) if match and match["mark"] else None
        rest = match["rest"] if match is not None and place is not None else row
        if place is None and (place := _find_row_choice(row, words)) is not None and not row.endswith(_MARKS):
            listed.add(place)
            continue
        if place is None:
            continue
        verdicts = list(_VERDICT.finditer(rest))
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
    is_only = len(wrong) >= least or (not wrong and len(listed - right) >= max(2, least))
    return right.pop() if len(right) == 1 and is_only else None


def _find_row_choice(row: str, words: Vocabulary) -> int | None:
    """Return the choice whose text a row begins with; None if it is none."""
    places = [place for place in range(len(words.folded)) if words.starts_choice(row.lstrip('*_"“'), place)]
    return max(places, key=lambda place: len(words.folded[place]), default=None)


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


# What rejects the option that stands before it, and what rejects those that stand after it.
_REJECTED = re.compile(
    r"(?:(?!\bnot\b|n['’]t\b|\bbut\b)[^.!?\n;:]){0,60}?[\s:–—-](?:(?:(?:is|are|was|were|seems?|must\s+be|can(?:\s+(?:all|both|also))?\s+be|have\s+been)\s+)?"
    r"(?:(?:all|both|also|each|clearly|plainly|therefore|thus|simply|obviously|definitely|equally)\s+)*"
    r"(?:wrong|incorrect|false|excluded|eliminated|ruled\s+out|discarded|rejected|dismissed|impossible|silly|absurd|implausible|irrelevant"
    r"|nonsense|nonsensical|out|no)(?=\W|$)(?!\s+(?:if|when|unless|in\s+part|because\s+it\s+is\s+not))"
    r"|(?:is|are)(?:\s+not|n['’]t)\s+(?:(?:a|the)\s+)?(?:right|correct|possible|true|plausible|valid|answers?|an\s+option|appropriate|suitable))",
    re.IGNORECASE,
)
_NOT_SO = re.compile(r"\bnot\b|n['’]t\b|\bnever\b|\b(?:who|some|many|people|students?|would)\b", re.IGNORECASE)
_REJECTS = re.compile(
    rf"\b(?:exclude|eliminate|reject|discard|dismiss|rule\s+out|ruling\s+out|rules\s+out|excluding|eliminating)\s+(?:(?:both|all(?:\s+of)?|the)\s+)?"
    rf"(?:(?:{OPTION_NOUNS})s?\s+)?$",
    re.IGNORECASE,
)
# What a text says of an option that it neither rejects nor takes.
_DOUBTS = re.compile(
    r"(?:\bnot|n['’]t)\s+(?:\w+\s+)?(?:quite|entirely|fully|completely|exactly|really|strictly|right|correct|true|great|good|perfect)\b"
    r"|\beither\s*[.!]|\b(?:also|likewise|too)\s+(?:wrong|incorrect|false|doubtful)\b|\b(?:doubtful|unlikely|dubious)\b",
    re.IGNORECASE,
)
_CHAIN = re.compile(
    r"[)\]*_\"']{0,3}\s*(?:,\s*(?:and\s+|or\s+)?|(?:and|or|&)\s+)(?:(?:option|choice)s?\s+)?[(\[*_\"']{0,3}$",
    re.IGNORECASE,
)


def find_remaining(text: str, words: Vocabulary) -> int | None:
    """Return the only option that a text does not reject, where it rejects each other one; None if there is none.

    >>> from howsure.extraction.vocabulary import build_vocabulary
    >>> words = build_vocabulary(("A", "B", "C"), ("Venus", "Mars", "Saturn"))
    >>> find_remaining("A and C are wrong.", words), find_remaining("A is wrong.", words)
    (1, None)
    """
    count = len(words.folded)
    lower = text.lower()
    if count <= MOST_REMAINING or "none of" in lower or not any(hint in lower for hint in _REJECTION_HINTS):
        return None
    if _REMAINING.search(read_before(text.rstrip(" .!*\n"), len(text))):
        named = {words.labels.exact_index(mention["label"]) for mention in find_mentions(text, words)} - {None}
        return (set(range(count)) - named).pop() if len(named) == count - 1 else None
    rejected: set[int] = set()
    others: set[int] = set()
    chain: list[int] = []
    end, is_listed = 0, False
    for mention in find_mentions(text, words):
        place = words.labels.exact_index(mention["label"])
        if place is None or (mention["label"] in {"a", "A", "I", "i"} and _ARTICLE_USE.match(text, mention.end())):
            continue
        is_joined = bool(chain) and _CHAIN.fullmatch(text, end, mention.start()) is not None
        if not is_joined:
            (rejected if is_listed else others).update(chain)
            chain = []
            before = read_before(text, mention.start())
            is_listed = _REJECTS.search(before) is not None and not _is_doubted(before, text, mention.end())
        chain.append(place)
        end = mention.end("label")
        if _REJECTED.match(text, end) and not _is_doubted(read_before(text, mention.start()), text, end):
            rejected.update(chain)
            chain = []
    (rejected if is_listed else others).update(chain)
    left = set(range(count)) - rejected
    # "A and C are wrong. B is not quite right either.": what is said of the last one is no agreement.
    is_doubted = bool(left & others) and _DOUBTS.search(text) is not None
    return left.pop() if len(left) == 1 and not others & rejected and not is_doubted else None


def _is_doubted(before: str, text: str, end: int) -> bool:
    """Return whether a sentence with a rejection reports, denies or asks it; `before` is its part before the label."""
    stop = _FULL_STOP.search(text, end)
    is_question = stop is not None and stop[0] == "?"
    return is_question or is_considered(before) or is_reported(before) or _NOT_SO.search(before) is not None
