"""Find the sentences of a completion that choose a label: "I choose B", "so it is B", "Actually, C."."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from howsure.extraction.choice_phrases import MARKUP, NEAR, find_mentions, is_considered, read_before, read_word_before
from howsure.extraction.vocabulary import DENIED, OPEN, OPTION_NOUNS, Vocabulary

__all__ = ["OTHER_PERSON", "Pick", "find_picks"]

_BECAUSE = r"(?i:because|since|as)\b"
#: What may stand between a verb and a label.
_LEAD = rf"(?:the\s+)?(?P<word>(?:(?:{OPTION_NOUNS}|answer|number)\s+)?)(?P<open>[(\[{{]?)[*\"'_`$“”]{{0,8}}[(\[{{]?$"
_SO_IS = re.compile(r"\b(?:so|neither|nor)\s+(?:is|are|was|were|does|do)\s+$", re.IGNORECASE)
_PICKED = re.compile(
    r"\b(?:cho(?:o?se|osing|sen)|pick(?:ed|ing)?|select(?:ed|ing)?|mark(?:ed)?|say|(?:would|i['’](?:d|ll))\s+answer"
    r"|(?:go|going|answer)\s+with|go\s+for|opt\s+for"
    r"|(?:chang|switch)\w*\s+(?:my|the)\s+(?:final\s+)?(?:answer|choice)\s+to|(?:author|question|examiner)\s+(?:probably\s+|likely\s+)?wants"
    r"|(?:je\s+(?:dirais|choisis|penche\s+pour)|(?:yo\s+)?dir[ií]a|elijo|eu\s+diria|escolho|direi|scelgo"
    r"|ich\s+(?:würde\s+sagen|nehme|wähle))(?:\s+(?:finalement|que|dass|che))?(?:\s+(?:la|die|a|el))?"
    r"(?:\s+(?:réponse|respuesta|antwort|opción|option|resposta|alternativa|risposta|letra))?"
    rf"|vote\s+for|settled?\s+on|(?:lean(?:s|ing)?|inclined)\s+(?:more\s+)?(?:towards?|to)):?\s+{_LEAD}",
    re.IGNORECASE,
)
_CONCLUDED = re.compile(
    r"\b(?:(?:it|that)(?:['’]s|['’]d\s+be|\s+(?:is|must\s+be|has\s+to\s+be|should\s+be|would\s+be)),?|(?:so|therefore|thus|hence)[,:]?"
    r"|(?:no|wait|actually|sorry|correction|rather|instead|i\s+mean|make\s+that)\s*[,:;!.–—-]+|answer\s*(?:[–—]|-(?=\s))"
    r"|(?:left|leaves\s+us)\s+with|leaving(?:\s+only)?|definitely|certainly|surely|obviously"
    r"|not\s+[*(]*\w{1,4}[*)]*(?:(?:,|,?\s+n?or)\s+[*(]*\w{1,2}[*)]*){0,8}(?:,\s+[^,.\n]{3,40})?,?\s+but(?:\s+rather)?"
    r"|(?:that|this|which)\s+leaves(?:\s+only)?"
    r"|(?:most\s+likely|most\s+probabl[ey]|verdict|pick|guess|decision|answer\s+key)\s*:|ans\.:?|making|(?:which|that|this)\s+makes"
    r"|(?:since|because)\s+[^.!?\n]{4,50},)"
    rf"\s+{_LEAD}",
    re.IGNORECASE,
)
# "Here the conditions are kinetic, and we get B." at the end of a text, "mais C", "es la A".
_REACHED = re.compile(
    r"\b(?:(?:we|i|you)\s+(?:get|obtain|arrive\s+at|end\s+up\s+(?:with|at))|(?:mais|sondern|sino|c['’]est|es\s+la|es\s+ist|è\s+la|é\s+a|which\s+(?:is|gives))"
    rf"(?:\s+(?:la|die|der|a|l['’]))?)\s+{_LEAD}",
    re.IGNORECASE,
)
_REACHED_ENDS = (
    "is",
    "gives",
    "get",
    "obtain",
    "at",
    "with",
    "mais",
    "sondern",
    "sino",
    "est",
    "la",
    "ist",
    "a",
    "die",
    "der",
)
_ANSWERED = re.compile(
    rf"\banswers?(?P<word>(?:\s+(?:option|choice))?)\s+{MARKUP}(?P<open>{OPEN}){MARKUP}$", re.IGNORECASE
)
# A label in brackets after the end of a sentence.
_LAST_BRACKETS = re.compile(r"(?<=[.!?])[\s*_]+(?P<word>)(?P<open>[(\[])[*_\"]{0,3}$")
_PICK_END = re.compile(rf"\s*(?:$|[.,;:!?\n]|{_BECAUSE}|here\b|(?:as|for)\s+(?:my|the|this)\b)", re.MULTILINE)
_CONCLUSION_END = re.compile(
    rf"\s*(?:$|[.!\n]|,?\s+{_BECAUSE}|(?:that|which|who)\b|the\s+(?:correct|right|best)\b)", re.MULTILINE
)
_IT_IS = re.compile(
    r",?\s+it\s+(?:is|must\s+be|has\s+to\s+be|will\s+have\s+to\s+be)(?:,?\s+then)?\s*(?:[.!:;,–—]|$|because\b|since\b)",
    re.IGNORECASE,
)
# What may stand before "B it is" in its sentence.
_BEFORE_IT_IS = ("", "so", "then", "end", "therefore", "thus", "hence", "and", "but", "elimination")
# "Were it not for the note, I'd have chosen A."
_UNDONE = re.compile(r"(?:['’]d|would|could|might|should)\s+(?:not\s+)?have\s*$", re.IGNORECASE)
# "If I had to guess, I'd say B": the condition makes nothing hypothetical.
_GUESSING = re.compile(
    r"\bif\s+(?:I|you)\s+(?:(?:had|have|needed|were\s+forced)\s+to|must)\s+(?:guess|choose|pick|answer|decide|commit)\b[^,.;]{0,30},?",
    re.IGNORECASE,
)
# "The correct choice would have been D if it were copper, but for iron it is A."
_CONTRAST = re.compile(r",\s+but\s+(?=[^,;]*$)", re.IGNORECASE)
_FULL_STOP = re.compile(r"[.!?…\n]|$")
_SURE = re.compile(
    r",\s+(?:obviously|clearly|definitely|certainly|surely|of\s+course|no\s+doubt|without\s+(?:a\s+)?doubt"
    r"|i\s+(?:think|believe|would\s+say)|i['’]d\s+say)\b",
    re.IGNORECASE,
)
OTHER_PERSON = re.compile(
    r"\b(?:people|persons?|students?|many|some(?:one)?|others?|they|he|she|asked\s+to|told\s+to|tempt\w*|mistake\w*|wrong)\b",
    re.IGNORECASE,
)
# What the last word before a label ends with where the patterns above match. The test saves most of their time.
_PICKING = """choose chose choosing chosen pick picked picking select selected selecting mark marked say with for to
wants on toward towards would i'd i’d i'll i’ll réponse respuesta antwort opción resposta alternativa risposta letra
dirais choisis finalement diria diría direi elijo escolho scelgo nehme wähle"""
_CONCLUDING = """'s ’s is be so therefore thus hence with leaving only definitely certainly surely obviously but
rather leaves making"""
_BEFORE_SIGNS = """so therefore thus hence no wait actually sorry correction rather ans instead mean that likely
probable probably verdict pick guess decision key"""
_PICKED_ENDS = tuple(_PICKING.split())
_CONCLUDED_ENDS, _ENDS_BEFORE_SIGNS = tuple(_CONCLUDING.split()), tuple(_BEFORE_SIGNS.split())
_CONCLUDED_SIGNS = ",:;!.–—-"
#: Characters of a sentence before "I choose" that may say who chooses, in whole words.
_LEAD_IN = 60


class Pick(NamedTuple):
    """A sentence that chooses a label: its place, and the label with its word and brackets."""

    start: int
    label: str


def find_picks(text: str, words: Vocabulary) -> Iterator[Pick]:
    """Yield each sentence that chooses a label: "I choose B", "so it is (B)", "B, obviously"."""
    for mention in find_mentions(text, words):
        end = mention.end("label") + len(mention["after"].rstrip(".:"))
        is_sure = _SURE.match(text, end) or _IT_IS.match(text, end)
        is_closed = any(mark in mention["after"] for mark in ")]}")
        if not (is_sure or is_closed or _PICK_END.match(text, end) or _CONCLUSION_END.match(text, end)):
            continue
        near = text[max(0, mention.start() - 60) : mention.start()]
        lead = _find_lead(text, mention, near, end)
        if lead is None:
            if is_sure and read_word_before(read_before(text, mention.start())).rstrip(",") in _BEFORE_IT_IS:
                yield Pick(mention.start(), mention["label"])
            continue
        start = mention.start() - len(near) + lead.start()
        before = _CONTRAST.split(_GUESSING.sub("", read_before(text, start)))[-1]
        before = before if len(before) <= _LEAD_IN else before[-_LEAD_IN:].partition(" ")[2]
        if (
            _UNDONE.search(before)
            or OTHER_PERSON.search(before)
            or DENIED.search(before)
            or is_considered(before)
            or _asks(text, end)
        ):
            continue
        yield Pick(start, lead["word"] + (f"({mention['label']})" if is_closed else mention["label"]))


def _find_lead(text: str, mention: re.Match[str], near: str, end: int) -> re.Match[str] | None:
    """Return the words before a label that choose it; None if they do not."""
    word = read_word_before(near)
    lead = _PICKED.search(near) if word.rstrip(":").endswith(_PICKED_ENDS) else None
    if lead is None and _is_last(text, mention):
        lead = _LAST_BRACKETS.search(near)
    if lead is None and word.endswith(_REACHED_ENDS) and not text[end:].strip(" \n.*_)]"):
        lead = _REACHED.search(near)
    if lead is not None and not lead["open"] and not _PICK_END.match(text, end):
        lead = None
    if lead is None and _CONCLUSION_END.match(text, end):
        # "B and C are unlikely, and so is D." concludes nothing.
        lead = _CONCLUDED.search(near) if _may_conclude(word) and not _SO_IS.search(near) else None
        lead = lead or (_ANSWERED.search(near) if "nswer" in near or "NSWER" in near else None)
    return lead


def _may_conclude(word: str) -> bool:
    """Return whether `_CONCLUDED` may match before a label, by the word there."""
    plain = word.rstrip(_CONCLUDED_SIGNS)
    if plain == word:
        return word.endswith(_CONCLUDED_ENDS)
    is_answer = plain.endswith("answer") and word[-1] in "–—-"
    return not plain or word.endswith(",") or is_answer or plain.endswith(_ENDS_BEFORE_SIGNS)


def _is_last(text: str, mention: re.Match[str]) -> bool:
    """Return whether a text ends with a label in brackets."""
    return any(mark in mention["after"] for mark in ")]") and not text[mention.end() :].strip(" \n.*_")


def _asks(text: str, place: int) -> bool:
    """Return whether the sentence around a place ends with a question mark."""
    end = _FULL_STOP.search(text, place, place + NEAR)
    return end is not None and end[0] == "?"
