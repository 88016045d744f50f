"""Read the items that a completion lists: lines with bullets, rows of a table, or a series in a sentence.

A line is an item with what explains it ("Mercury: the closest planet"). Lines that are crossed out or answered with
"no", and lists below a heading such as "Not present:", are left out. In a sentence the items stand behind its verb
("They are red and blue."), behind a colon, or before its verb ("Ann and Ben came.").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from howsure.extraction.completion_context import (
    CompletionContext,
    complete_context,
    remove_next_question,
    remove_run_on,
)
from howsure.extraction.open_answers import read_by_rules, split_sentences, strip_markup
from howsure.extraction.open_candidates import FUNCTION_WORDS, match_stems
from howsure.extraction.statements import find_statement, remove_reasoning

__all__ = ["JOINTS", "SEPARATOR", "has_remark", "is_plain", "read_items", "split_text"]

#: Most items of a list that are read, most characters of it, and most words of an item of a series.
MAX_ITEMS, LONGEST, MOST_WORDS = 200, 20_000, 6
#: Most words of a line that is an item without a bullet, and of the words before the verb of a sentence.
MOST_LINE_WORDS, MOST_SUBJECT_WORDS = 6, 14
#: Words between the last two items of a series.
JOINTS = ("and", "und", "et", "y", "и")
SEPARATOR = re.compile(
    r",?\s+as well as\s+|,?\s+followed by\s+|\s*(?:[;\n、，；]|,(?!\d{3}\b))\s*(?:and\s+|or\s+|&\s*)?(?:then\s+)?"
    rf"|\s+(?:{'|'.join(JOINTS)}|&|\+|/|<|->|→)\s+(?:then\s+)?|\s+then\s+"
)

# Several spaces, of which the search for separators and for struck items would take quadratic time.
_BLANKS = re.compile(r"[^\S\n]{2,}")
_FENCE = re.compile(r"^[ \t]*```\w*[ \t]*$", re.MULTILINE)
_KEYCAP = re.compile(r"^(\s*)(\d)\ufe0f?\u20e3", re.MULTILINE)
# "~~tin~~", and "**H**uron": the initial of a word in bold.
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~[ ]*,?")
_INITIAL = re.compile(r"\*\*([^\W\d_])\*\*(?=\w)")
_BULLET = re.compile(r"^(?P<indent>\s*)(?P<mark>[-*•–+]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+\S")
# "**Mercury** – the closest", a line with an explanation and without a bullet.
_BOLD_LINE = re.compile(r"^(?P<indent>\s*)(?P<mark>\*\*)[^*\n]{1,60}(?:\*\*\s*[:–—(-]|:\*\*)\s*\S")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s+\S.*|\*\*[^*\n]{1,80}\*\*:?\s*)$")
_ROW = re.compile(r"^\s*\|.*\|\s*$")
_RULE = re.compile(r"^[\s|:–—-]+$")
_CHECKED = re.compile(r"[✅✓✔☑]\ufe0f?|\[[xX✓✔]\]")
_CROSSED = re.compile(r"[❌✗✘☒✖]\ufe0f?|(?:^\s*|[-*•+]\s+)\[ \]")
# "12: yes", "Rome: No, Milan is not": a line that says of an item whether it belongs to the list.
_JUDGED = re.compile(
    r"^\s*(?:(?:[-*•+]|\(?\d{1,3}[.)])\s+)?(?P<item>[^\n:–—→.,]{1,60}?)\s?(?:[:–—=→-]|->)?\s?"
    r"\b(?P<verdict>yes|no)\b\s?(?:$|[.,;:!(–—-])",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[*_`]{2,3}")
_IS_NONE = re.compile(
    r"\b(?:not|no|none|nor|neither|denie[sd]|denying|absent|excluded?|except|without|incorrect|wrong|missing|negatives?"
    r"|ruled out|non-?\w+)\b|n['’]t\b",
    re.IGNORECASE,
)
# "- Cough: not present", "- Sydney isn't a capital"
_LINE_DENIED = re.compile(
    r"^[^:–—(]{1,60}(?:\s[–—-]|[:(])[\s*_]*(?:not\b|no\b|none\b|absent|denied|excluded"
    r"|isn['’]t|is not|doesn['’]t|does not)"
    r"|^[^:–—(]{1,60}?\s(?:is|was|are|were|does|do)(?: not\b|n['’]t\b)",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(
    r"^[\s*_#>]*(?:so|thus|therefore|hence|finally|in short|in summary|in conclusion|(?:the )?(?:final |correct )?"
    r"(?:answer|result|order|list)|sorted|in (?:alphabetical )?order)\b",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"^(?:(?:so|thus|therefore|hence|finally|in short|in summary|in conclusion|overall|mostly|mainly|only"
    r"|just|both|either)\b[,:]?\s+)+",
    re.IGNORECASE,
)
_CIRCUMSTANCE = re.compile(
    r"^(?:of|in|from|based on|according to|among|for|to|at|on|with|remember)\b[^,:;]{0,70},\s+(?:only\s+)?",
    re.IGNORECASE,
)
_ORDINAL = re.compile(
    r"(?:^|(?<=[\n;,.]))\s*(?:first|second|third|fourth|fifth|sixth|last|next)(?:ly)?(?:\s*[,:]|\s+(?:comes|is))\s+",
    re.IGNORECASE,
)
_INLINE_NUMERAL = re.compile(r"(?:^|\s+)\(?(\d{1,2})[.)]\s+(?=\S)")
_BE = r"is|are|was|were|son|sind|sont|sono|são|waren|eran|étaient"
_NAMES = (
    r"includes?|included|contains?|contained|consists? of|comprises?|mentions?|mentioned|names?|named|called|namely"
    r"|lists?|listed|reports?|reported|needs?|requires?|required|features?|borders?|uses?|used|has|have|had|identifies"
    r"|visits?|visited|sees?|saw|there['’]s|as follows|such as"
)
_VERB = re.compile(
    rf"\b(?:{_BE}|{_NAMES})\b\s*:?\s+(?:all\s+|both\s+|either\s+|known\s+as\s+|the following:?\s+)?(?=\S)",
    re.IGNORECASE,
)
# "1 + 2 + 3 = 6", beside other sentences.
_SUM = re.compile(r"[\s\d+*/×·().,-]+=\s*[\d.,]+\s*")
_IS = re.compile(rf"\s(?:{_BE})\b", re.IGNORECASE)
_COLON = re.compile(r"^[^:\n]{2,160}:[*_]*\s+(?=\S)")
# "The words in order are: apple, banana."
_NAMED_LIST = re.compile(r"[^:,;\n]{3,80}\b(?:is|are)\s?:\s+(?P<items>[^:\n]+)$", re.IGNORECASE)
_INTRODUCTION = re.compile(rf"^.*?(?:\b(?:{_BE}|{_NAMES})\b\s*:?|:)\s+(?=\S)", re.IGNORECASE | re.DOTALL)
_CLAUSE_END = re.compile(r";\s+|,?\s+(?=(?:but|while|whereas|although|though|however)\b)", re.IGNORECASE)
_DENIES = re.compile(
    r"\b(?:is|are|was|were|do|does|did|has|have|had|can|could|should)(?: not|n['’]t)\b|\bdenie[sd]\b|\bneither\b"
    r"|\b(?:but|while|whereas|although|though|however),? (?:no|not|none)\b|\bnone of\b|\bno longer\b|\bexcept\b",
    re.IGNORECASE,
)
_BUT_ONLY = re.compile(r"^(?:but|however),? (?:in the end )?(?:only|just)\s+", re.IGNORECASE)
_REMARK = re.compile(
    r",\s+(?:which|who|whose|where|because|since|as|although|though|with|all|respectively|based|according)"
    r"\b(?! well as\b).*$|\s+because\b.*$"
    r"|,\s+and (?:both|all|they|it|these|each)\b.*$"
    r"|\s+[–—-]\s+.*$|—.*$|,?\s*(?:\betc\b\.?|\band so on|\bamong others|…|\.\.\.)\s*$"
    r"|\s+as (?!well\b)[a-z]+$|,?\s+(?:in (?:that|this) order|respectively)\s*$",
    re.IGNORECASE | re.DOTALL,
)
# "2, 3, 5 (1 is no prime, and 9 = 3 x 3)"
_BRACKETS = re.compile(r"(?<=[^\s(])\s\([^()\n]{0,200}[,;:=/][^()\n]{0,200}\)")
# "open on Monday and Friday", "made up of"
_UP_TO_PREPOSITION = re.compile(r"(?:[A-Za-z]+ ){0,6}(?:of|on|by|in|from|at|with|to|for) ")
_PASSIVES = frozenset({"made", "up", "found", "composed", "formed", "named", "called", "located"})
# "Ada, who wrote the first program, and Grace"
_RELATIVE = re.compile(r",\s+(?:who|which|whose|where)\s[^,;]{1,100},(?=\s+and\s)")
_DID = frozenset({"did", "do", "does", "too"})
_EXPLAINS = re.compile(r"\S:\s|\s[–—-]\s|\s\(")
_PAIR = re.compile(r"^(?P<left>[^=:→]{1,60}?)\s*(?:\bis\b|[=:→]|->)\s*(?P<right>\S.{0,60})$", re.IGNORECASE)
_PHRASE = re.compile(
    r"^(?:the|a|an|there|these|those|they|it|of|in|here|all|some|both|this|that|we|you|i)\b", re.IGNORECASE
)
_CLAUSE_WORD = re.compile(
    rf"\b(?:{_BE}|be|been|it|he|she|they|we|you|i|this|that|there|would|will|can|could|if|when|to)\b|[?!]",
    re.IGNORECASE,
)
_WANTS_TEXT = re.compile(
    r"\b(?:please|could you|can you)\b[^.!?\n]{0,30}\b(?:paste|share|provide|send|upload|attach)\b"
    r"|\bI (?:don['’]t|do not|can(?:no|['’])t) see (?:any|a|the)\b",
    re.IGNORECASE,
)
_ASKS_ORDER = re.compile(r"\b(?:sort(?:ed)?|order|arrange|alphabetical\w*|rank)\b", re.IGNORECASE)
_ASKS_NONE = re.compile(r"\b(?:not|except|denie[sd]|absent|missing|incorrect|wrong)\b|n['’]t\b", re.IGNORECASE)
_NUMERAL = re.compile(r"^\(?(?:\d{1,3}|[a-z])\)\s+(?=\S)")
_PICTURE = re.compile("^[\u2600-\u27bf\U0001f300-\U0001faff\ufe0f\u200d]+\\s*")
_ORDER_WORD = re.compile(r"^(?:and|or|then|also|both|first|second|third|finally|lastly|next)\s*,?\s+", re.IGNORECASE)
# "x = 4", "x₁ = 2": a solution with the name of its unknown.
_UNKNOWN = re.compile(r"^(?P<name>[a-z])(?:_?\d|[₀-₉])?\s?=\s?(?=\S)")
# "her brother Bob" and "Bob, her brother"
_RELATIVE_OF = re.compile(r"^(?:his|her|their) (?:[a-z]+ ){1,3}(?=[A-Z])")
_OWN_REMARK = re.compile(r",\s+(?:his|her|their)\s[^,]*$")
_INITIALS = re.compile(r"\b[A-Z]\.$")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def read_items(text: str, context: CompletionContext | None = None) -> tuple[list[str], str]:
    r"""Return the items that a completion lists, and the rule by which they were read.

    Parameters
    ----------
    text
        The completion.
    context
        What is known about it; the question tells the items of a sentence from words that repeat it.

    Returns
    -------
    items
        The items with what explains them; empty where no list can be read.
    rule
        "lines", "sentence", "statement" or another rule of `read_by_rules`; without items why there are none.

    Examples
    --------
    >>> read_items("The colours are red, white, and blue.")
    (['red', 'white', 'blue'], 'sentence')
    >>> read_items("Here they are:\n1. Red\n2. White")
    (['Red', 'White'], 'lines')
    >>> read_items("- tin ❌\n- gold ✅\n- iron ✅")
    (['gold', 'iron'], 'lines')
    """
    question = context.question if context is not None else ""
    completion = remove_reasoning(text)
    text = remove_run_on(remove_next_question(completion, context), context)
    context = complete_context(completion, text, context)
    text = text.strip(" \t\n…")
    text = _STRUCK.sub("", _INITIAL.sub(r"\1", _FENCE.sub("", _BLANKS.sub(" ", text))))
    lines = [line for line in _KEYCAP.sub(r"\1\2.", text).split("\n") if line.strip()]
    if not "".join(lines).strip("."):
        return [], "empty"
    if len(lines) == 1 and len(_INLINE_NUMERAL.findall(lines[0])) > 1:
        return split_text(lines[0]), "line"
    if (rows := _read_table(lines)) is not None:
        return rows, "lines"
    if (affirmed := _keep_affirmed(lines)) is not None:
        return [_strip_item(line) for line in affirmed[:MAX_ITEMS]], "lines" if affirmed else "denied"
    is_cut = context is not None and context.truncated
    if (listed := _read_bullets(lines, question, is_cut=is_cut)) is not None:
        return listed
    lines = _drop_headings(lines, question) if find_statement("\n".join(lines)) is None else lines
    content, rule = _find_list("\n".join(lines), lines, context)
    items = split_text(content)
    if len(items) == 1 and _ASKS_ORDER.search(question) and rule != "refused":
        items = items[0].split()
    return _select_sides(items, question), rule


def is_plain(text: str) -> bool:
    """Return whether no item of a text is struck out, and no line says that one does not belong to the list.

    >>> is_plain("tin, gold"), is_plain("~~tin~~, gold"), is_plain("tin: no, it is lead")
    (True, False, False)
    """
    text = _BLANKS.sub(" ", text)
    return not _STRUCK.search(text) and all(_find_verdict(line) is not False for line in text.split("\n"))


def has_remark(item: str) -> bool:
    """Return whether an item has an explanation behind a colon, a dash or in brackets.

    >>> has_remark("Mars: the red one"), has_remark("Mars")
    (True, False)
    """
    return _EXPLAINS.search(item) is not None


def split_text(text: str) -> list[str]:
    """Return the pieces of a text between its separators.

    >>> split_text("red, white, and blue."), split_text("x = 2 and x = 3")
    (['red', 'white', 'blue'], ['2', '3'])
    """
    text = _BRACKETS.sub("", _BLANKS.sub(" ", text)[:LONGEST]).strip()
    if text.endswith(".") and not _INITIALS.search(text):
        text = text[:-1]
    text = _ORDINAL.sub(", ", text) if _ORDINAL.match(text) else text
    numerals = [int(number) for number in _INLINE_NUMERAL.findall(text)]
    is_numbered = len(numerals) > 1 and numerals == list(range(1, len(numerals) + 1)) and "\n" not in text
    pieces = _INLINE_NUMERAL.split(text)[2::2] if is_numbered else SEPARATOR.split(text)
    items = [item for item in map(_strip_item, pieces[:MAX_ITEMS]) if item]
    unknowns = [_UNKNOWN.match(item) for item in items]
    if all(unknowns) and len({match["name"] for match in unknowns if match}) == 1:
        items = [_UNKNOWN.sub("", item) for item in items]
    return items


def _strip_item(text: str) -> str:
    """Return an item without its bullet, its markup and "and"."""
    item = _CHECKED.sub("", _NUMERAL.sub("", strip_markup(text).replace("**", ""))).strip()
    item = _RELATIVE_OF.sub("", _ORDER_WORD.sub("", _PICTURE.sub("", item)).strip().rstrip(",;"))
    return _OWN_REMARK.sub("", item)


def _read_table(lines: Sequence[str]) -> list[str] | None:
    """Return the first cells of the rows of a table that are no numerals; None for lines without a table."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines if _ROW.match(line)]
    rule = next((i for i, row in enumerate(rows) if _RULE.match("|".join(row))), None)
    if rule is None or len(rows) < rule + 2:
        return None
    items = []
    for row in rows[rule + 1 :]:
        item = next((cell for cell in row if cell and not cell.strip("*. ").isdigit()), None)
        is_crossed = any(_CROSSED.search(cell) or cell.strip("* .").lower() == "no" for cell in row)
        if item is not None and not is_crossed:
            items.append(_strip_item(item))
    return items[:MAX_ITEMS]


def _keep_affirmed(lines: Sequence[str]) -> list[str] | None:
    """Return the lines that are checked or answered with "yes", if others are crossed out or answered with "no".

    A line behind them that concludes is left for its own reading. Lines that are only denied leave none.
    """
    verdicts = [_find_verdict(line) for line in lines]
    if False not in verdicts:
        return None
    last = len(verdicts) - 1 - next(i for i, verdict in enumerate(reversed(verdicts)) if verdict is not None)
    if any(_CONCLUDES.match(line) and SEPARATOR.search(line) for line in lines[last + 1 :]):
        return None
    return [_cut_verdict(line) for line, verdict in zip(lines, verdicts, strict=True) if verdict]


def _find_verdict(line: str) -> bool | None:
    """Return whether a line says that its item belongs to the list; None for a line that says nothing of the kind."""
    if _CROSSED.search(line):
        return False
    if _CHECKED.search(line):
        return True
    judged = _JUDGED.match(_MARKS.sub("", line))
    return None if judged is None else judged["verdict"].lower() == "yes"


def _cut_verdict(line: str) -> str:
    """Return the item of a line with a verdict: its subject, where it is a sentence."""
    if (judged := _JUDGED.match(_MARKS.sub("", line))) is not None:
        return judged["item"]
    item = _strip_item(_CHECKED.sub("", line))
    return _IS.split(item)[0] if _IS.search(item) else item


def _read_bullets(lines: Sequence[str], question: str, *, is_cut: bool) -> tuple[list[str], str] | None:
    """Return the items of lines with bullets, or of the line below them that concludes; None without bullets."""
    bullets = [_BULLET.match(line) for line in lines]
    if not any(bullets) and len(lines) > 1:
        bullets = [_BOLD_LINE.match(line) for line in lines]
    places = [i for i, bullet in enumerate(bullets) if bullet is not None]
    if len(places) < (2 if len(lines) > 1 else 1):
        return None
    if (concluded := _read_conclusion(lines[: places[-1] + 1], lines[places[-1] + 1 :], question)) is not None:
        return concluded, "sentence"
    listed = _list_outermost(bullets, places)
    denied = _list_denied_sections(lines, bullets, question)
    remaining = [i for i in listed if i not in denied and (_ASKS_NONE.search(question) or not _is_denied(lines[i]))]
    if is_cut and remaining and remaining[-1] == len(lines) - 1:
        remaining.pop()
    if not remaining:
        return [], "cut" if is_cut else "denied"
    return _select_sides([_strip_item(lines[i]) for i in remaining[:MAX_ITEMS]], question), "lines"


def _list_outermost(bullets: Sequence[re.Match[str] | None], places: Sequence[int]) -> list[int]:
    """Return the places of the bullets that are no remarks below other ones: further in, or below numerals."""
    by_place = {i: bullet for i in places if (bullet := bullets[i]) is not None}
    least = min(len(bullet["indent"]) for bullet in by_place.values())
    outer = [i for i, bullet in by_place.items() if len(bullet["indent"]) == least]
    outer = outer if len(outer) > 1 else list(places)
    numbered = [i for i in outer if by_place[i]["mark"].strip("(.)").isdigit()]
    return numbered if len(numbered) > 1 else outer


def _list_denied_sections(lines: Sequence[str], bullets: Sequence[re.Match[str] | None], question: str) -> set[int]:
    """Return the places of lines below a heading such as "Not present:", where the question does not ask for these."""
    denied: set[int] = set()
    is_denied = False
    for i, line in enumerate(lines):
        if bullets[i] is None and (line.rstrip(" *_").endswith(":") or _HEADING.match(line)):
            is_denied = _IS_NONE.search(line) is not None and not _ASKS_NONE.search(question)
        elif bullets[i] is not None and is_denied:
            denied.add(i)
    return denied


def _is_denied(line: str) -> bool:
    """Return whether a line with a bullet says of its item that it is none: "Cough: not present"."""
    return _LINE_DENIED.match(_strip_item(line)) is not None


def _read_conclusion(lines: Sequence[str], rest: Sequence[str], question: str) -> list[str] | None:
    """Return the items of a line below others that concludes with words of them; None if there is no such line."""
    words = {word.lower() for line in lines for word in _WORD.findall(line)}
    for line in reversed(rest):
        plain = line.replace("**", "")
        if find_statement(line) is None and not _CONCLUDES.match(plain):
            continue
        items = _split_sentence(plain, question)
        if len(items) > 1 and all(
            all(word.lower() in words for word in _WORD.findall(item)) and len(item.split()) <= MOST_WORDS
            for item in items
        ):
            return items
    return None


def _drop_headings(lines: list[str], question: str) -> list[str]:
    """Return the lines without headings, and without "Absent: cough" beside lines that are not denied."""
    remaining = [line for line in lines if not (_HEADING.match(line) and len(lines) > 1 and _SHORT_HEADING.match(line))]
    labels = [_LABEL.match(line) for line in remaining]
    denied = [label is not None and _IS_NONE.search(label[0]) is not None for label in labels]
    if any(denied) and not all(denied) and not _ASKS_NONE.search(question):
        remaining = [line for line, is_denied in zip(remaining, denied, strict=True) if not is_denied]
    return remaining or lines


_LABEL = re.compile(r"^[*_]*[^\W\d][\w ]{2,40}:")
_SHORT_HEADING = re.compile(r"^\s*#{1,6}\s|^\s*\*\*[^*\n]{1,40}:\*\*\s*$|^\s*\*\*[^*,\n]{1,40}\*\*:\s*$")


def _find_list(text: str, lines: Sequence[str], context: CompletionContext | None) -> tuple[str, str]:
    """Return the part of a text without bullets that lists the items, and the rule; empty where there is none."""
    question = context.question if context is not None else ""
    if (certain := _find_certain(text, lines, question)) is not None:
        return certain
    answer, rule, _ = read_by_rules(text, context)
    if context is not None and context.truncated and (answer is None or rule == "whole"):
        return "", "cut"
    if rule in {"refused", "denied", "cut", "empty"} or _WANTS_TEXT.search(text):
        return "", rule if rule in {"denied", "cut", "empty"} else "refused"
    series = _read_series(lines, question)
    unseparated = _COLON.match(lines[-1]) if rule != "line" and _ASKS_ORDER.search(question) else None
    if series is None and unseparated is not None and _CLAUSE_WORD.search(lines[-1], unseparated.end()) is None:
        series = lines[-1][unseparated.end() :]
    if series is not None or (answer is not None and rule != "whole"):
        return series or answer or "", "sentence" if series is not None else rule
    sentence = lines[-1] if len(lines) > 1 else text
    introduced = _INTRODUCTION.sub("", sentence, count=1)
    if introduced != sentence:
        return introduced, "sentence"
    return (sentence, "whole") if answer is not None or SEPARATOR.search(sentence) else ("", rule)


def _find_certain(text: str, lines: Sequence[str], question: str) -> tuple[str, str] | None:
    """Return the list of a statement, of "The words are: ..." or of short lines, and the rule; None without one."""
    if statement := find_statement(text):
        # A statement ends at a full stop, such as that of "Washington, D.C., and Paris".
        line = text[text.rfind(statement) :].partition("\n")[0].partition("</")[0]
        is_whole = line.endswith("}") or len(line) > 2 * len(statement) + 20
        return (statement if is_whole else split_sentences(line)[0]), "statement"
    named = _NAMED_LIST.match(text) if len(lines) == 1 and len(split_sentences(text)) == 1 else None
    if named is not None and len(SEPARATOR.split(named["items"])) > 1:
        return named["items"], "sentence"
    if len(lines) < 2 or not all(
        len(line.split()) <= MOST_LINE_WORDS and not line.rstrip().endswith(":") for line in lines
    ):
        return None
    concluded = _read_conclusion(lines[:-1], lines[-1:], question)
    return ("\n".join(lines), "lines") if concluded is None else ("\n".join(concluded), "sentence")


def _read_series(lines: Sequence[str], question: str) -> str | None:
    """Return the series of the sentence that concludes, else of the first one with several items; None without one."""
    sentences = [sentence for line in lines for sentence in split_sentences(line.replace("**", "").strip())]
    if len(sentences) > 1 and all(len(each.split()) <= 2 and each.endswith(".") for each in sentences):
        return "\n".join(each.rstrip(".") for each in sentences)
    concluding = [sentence for sentence in sentences[1:] if _CONCLUDES.match(sentence)][-1:]
    for sentence in [*concluding, *sentences]:
        if len(sentences) > 1 and _SUM.fullmatch(sentence):
            continue
        items = _split_sentence(sentence, question)
        if len(items) > 1:
            return "\n".join(items)
    return None


def _split_sentence(sentence: str, question: str) -> list[str]:
    """Return the items of the series of a sentence; empty if it has none."""
    sentence = _LEAD.sub("", sentence.strip().rstrip(".! "))
    clauses = _CLAUSE_END.split(sentence)
    only = [clause for clause in clauses[1:] if _BUT_ONLY.match(clause)]
    if only:
        clauses = [_BUT_ONLY.sub("", only[-1])]
    affirmed = [clause for clause in clauses if not _DENIES.search(clause)]
    if not affirmed:
        return []
    body = affirmed[0] if len(affirmed) < len(clauses) or len(clauses) == 1 else sentence
    question_words = {word.lower() for word in _WORD.findall(question)}
    without = _CIRCUMSTANCE.sub("", body)
    for part in _list_parts(without if _VERB.search(without) else body, question):
        series = _REMARK.sub("", _RELATIVE.sub(",", part))
        items = split_text(_cut_end(_cut_start(series, question_words), question_words))
        if len(items) > 1 and all(map(_is_short, items)):
            return items
    return []


def _list_parts(sentence: str, question: str) -> Iterator[str]:
    """Yield the parts of a sentence that may be its series, the most certain one first."""
    pairs = [_PAIR.match(piece) for piece in SEPARATOR.split(_REMARK.sub("", sentence))]
    question_words = {word.lower() for word in _WORD.findall(question)}
    if len(pairs) > 1 and all(pair is not None and _is_known(pair["left"], question_words) for pair in pairs):
        yield "\n".join(pair["right"] for pair in pairs if pair is not None)
    if (colon := _COLON.match(sentence)) is not None:
        yield sentence[colon.end() :]
    verb = _VERB.search(sentence)
    if verb is not None:
        subject = sentence[: verb.start()]
        if not _PHRASE.match(subject) and len(subject.split()) <= MOST_SUBJECT_WORDS:
            yield subject.strip(" ,")
        yield sentence[verb.end() :]
    words = list(_WORD.finditer(sentence))
    first = SEPARATOR.search(sentence)
    for i, word in enumerate(words[:-1]):
        low = word[0].lower()
        if (
            first is None
            or word.end() >= first.start()
            or not (low in FUNCTION_WORDS or _is_known(low, question_words))
        ):
            break
        following = words[i + 1][0].lower()
        if not (following in FUNCTION_WORDS or _is_known(following, question_words)):
            yield sentence[words[i + 1].start() :]
    if _CLAUSE_WORD.search(sentence) is None:
        yield sentence


def _cut_end(series: str, question_words: set[str]) -> str:
    """Return a series without the words of the question at its end: "Ann and Ben" of "Ann and Ben came."."""
    last = next((separator.end() for separator in reversed(list(SEPARATOR.finditer(series)))), 0)
    words = all_words = series[last:].split(" ")
    while len(words) > 1 and words[-1].islower():
        is_repeated = words[-1] in _DID or _is_known(words[-1], question_words)
        # "on the table": what stands before words of the question belongs to them.
        if not is_repeated and (words == all_words or words[-1] not in FUNCTION_WORDS):
            break
        words = words[:-1]
    return series[:last] + " ".join(words)


def _cut_start(series: str, question_words: set[str]) -> str:
    """Return a series without words of the question and a preposition before it: "made of", "open on"."""
    start = _UP_TO_PREPOSITION.match(series)
    if start is None:
        return series
    words = start[0].lower().split()
    is_repeated = all(word in _PASSIVES or word in FUNCTION_WORDS or _is_known(word, question_words) for word in words)
    return series[start.end() :] if is_repeated else series


def _is_known(text: str, question_words: set[str]) -> bool:
    """Return whether all words of a text, beside articles, are words of the question."""
    words = [word.lower() for word in _WORD.findall(text)]
    content = [word for word in words if word not in {"the", "a", "an"}]
    return bool(content) and all(any(match_stems(word, other) for other in question_words) for word in content)


def _is_short(item: str) -> bool:
    """Return whether a piece of a sentence is short enough for an item, and no clause of its own."""
    return len(item.split()) <= MOST_WORDS and _CLAUSE_WORD.search(item) is None


def _select_sides(items: list[str], question: str) -> list[str]:
    """Return the right sides of items such as "Iron: Fe", where the question names all their left sides."""
    question_words = {word.lower() for word in _WORD.findall(question)}
    pairs = [_PAIR.match(item) for item in items]
    if (
        len(pairs) > 1
        and question_words
        and all(pair is not None and _is_known(pair["left"], question_words) for pair in pairs)
    ):
        return [pair["right"] for pair in pairs if pair is not None]
    return items
