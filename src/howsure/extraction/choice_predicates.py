"""Find sentences that say of a label that it is the answer.

They are "B is correct", "only B satisfies both conditions", and "we get B as the best answer".
"""

from __future__ import annotations

import re

from howsure.extraction.choice_phrases import (
    BE,
    JOINED,
    NAMED_BEFORE,
    NEAR,
    REFUSED,
    Claim,
    find_marked,
    is_considered,
)
from howsure.extraction.languages import is_reported
from howsure.extraction.vocabulary import DENIED, OPTION_NOUNS, Vocabulary

__all__ = ["read_designation", "read_fit", "read_predicate"]

_VERDICT_WORDS = """correct right best better only most closest nearest strongest answer exception true more stronger
closer likeliest safest natural obvious sensible what"""
_VERDICTS = _VERDICT_WORDS.split()
#: Words before which "more" compares how well options answer.
_MORE = """accurate plausible likely probable appropriate convincing complete precise suitable consistent reasonable
defensible correct fitting specific"""
#: What follows a verdict that says nothing about the whole question by itself.
_VERDICT_REST = {
    "only": r"\s+(?:half|part(?:ial)?ly|one\s+(?:part|side|aspect)|some|true|correct|right|valid|if|when|for|in|an?)\b",
    "more": rf"(?!\s+(?:{'|'.join(_MORE.split())})\b)",
    "stronger": r"(?!\s+(?:answer|option|choice|candidate|fit|match)\b)",
    **dict.fromkeys(("natural", "obvious", "sensible"), r"(?!\s+(?:answer|option|choice)\b)"),
    "closer": r"(?!\s*(?:[.,]|$|match\b|fit\b|to\s+(?:the|this|our|what)\b))",
    "what": r"(?!\s+I\s+(?:would|['’]d|will)\s+(?:choose|pick|select|answer|go\s+with)\b)"
    r"(?!\s+(?:the\s+)?\w+\s+(?:\w+\s+)?(?:shows?|says?|describes?|asks?\s+for|requires?|implies|means?)\b)",
}
_WRONG_TO_SAY = re.compile(
    r"\b(?:wrong|incorrect|mistake|mistaken|tempting|error)\s+(?:to|is)\b"
    r"|\b(?:some|many|people|students|others)\s+(?:\w+\s+){0,2}(?:say|think|believe|argue)\b",
    re.IGNORECASE,
)
_PREDICATE = re.compile(
    rf"[*)\]\"'.:_`]{{0,6}}(?P<between>[^.!?\n;]{{0,160}}?)(?<!\w)(?P<verb>{BE}|(?:seems|looks|appears|feels|sounds)(?:\s+(?:to\s+(?:me|us)|to\s+be|like))?|gives|provides|offers|has|shows|makes|represents|describes|captures|explains)\s+"
    r"(?:(?:the|a)\s+\w{1,20}\s+(?=the\s))?"
    r"(?:(?:likely|probably|clearly|indeed|therefore|thus|definitely|also|actually|obviously|surely)\s+)?"
    r"(?:the\s+)?(?:single\s+|one\s+|most\s+likely\s+)?"
    rf"(?P<verdict>{'|'.join(_VERDICTS)})\b"
    r"(?!\s+(?:tempting|partly|partially|in\s+part|superficially|seemingly|absurd|unlikely|implausible|wrong|incorrect)\b)(?P<after>[^.!?\n]*)",
    re.IGNORECASE,
)
_SEEMING = ("seems", "looks", "appears", "feels", "sounds", "would", "should")
_AT_FIRST = re.compile(
    r"\b(?:at\s+first|initially|superficially|on\s+the\s+surface|at\s+a\s+glance|tempting|no\s+longer|would\s+have|once"
    r"|previously|originally|believed|thought)\b",
    re.IGNORECASE,
)
# "B is the false one.", and a verdict on how the question is answered: "B is the correct answer".
_IS_WRONG = re.compile(
    r"[*)\]\"'.:_`]{0,4}\s+is\s+(?:therefore\s+|thus\s+|clearly\s+)?the\s+(?:only\s+)?(?:false|incorrect|wrong|untrue|invalid|inaccurate|odd)"
    r"\s+(?:one|statement|option|choice|claim)\b",
    re.IGNORECASE,
)
_AS_NOUN = re.compile(r"\s+(?:answer|option|choice|one)\b", re.IGNORECASE)
# "Only B satisfies both conditions.", and "B matches this description." in the last sentence.
_FITS = re.compile(
    r"[*)\]\"'.:_`]{0,4}\s+(?P<best>(?:best|alone|is\s+(?:the\s+(?:only\s+)?one|what)\s+(?:that|which))\s+)?"
    r"(?:(?:clearly|therefore|thus|exactly|fully|really)\s+)?(?:match(?:es)?|fits?|satisf(?:y|ies)|meets?|works?|survives?|remains?|agrees?"
    r"|qualif(?:y|ies)|(?P<weak>answers?|captures?|describes?|explains?|holds?))\b(?P<after>[^.!?\n;]*)(?P<end>[.!?;\n]|$)",
    re.IGNORECASE,
)
_FITTED = re.compile(
    r"\s*$|\s+(?:(?:with|to)\s+)?(?:this|these|it|all|both|(?:all\s+)?(?:of\s+)?the\s+(?:given\s+|stated\s+|above\s+)?(?:descriptions?|conditions?|criteri\w+"
    r"|requirements?|data|evidence|facts?|definition|pattern|bill|question|scenario|constraints?|observations?|results?))\b",
    re.IGNORECASE,
)
_FITS_BADLY = re.compile(r"\b(?:poorly|badly|worse|least|also|partly|first|second|one|in\s+part|too)\b", re.IGNORECASE)
_ONLY_BEFORE = re.compile(
    rf"\b(?:only|just|solely)\s+(?:the\s+)?(?:(?:{OPTION_NOUNS})\s+)?[*(\[\"]{{0,4}}$", re.IGNORECASE
)
# "E might be defended, but since the question is about a fact, G is the better answer."
_CONTRAST = re.compile(r",\s+but\s+", re.IGNORECASE)
_PLAIN_VERDICTS = ("correct", "right", "true")
_ALSO = re.compile(r"\balso\b", re.IGNORECASE)
_AS_ANSWER = re.compile(
    r"[*)\]\"'_`]{0,4}\s+as\s+(?:the|my|our)\s+(?:final\s+)?(?:correct|right|best|only|most\s+\w+)\s+"
    r"(?:answer|option|choice|one)\b(?!\s*\?)",
    re.IGNORECASE,
)
_WEAKENED = re.compile(
    r"\b(?:but|however|although|though|except|only\s+(?:if|when|for|in)|if|when|unless|wrong|incorrect|partially|partly)\b"
    r"|n['’]t\b|\bnot\b|\?",
    re.IGNORECASE,
)
_BEFORE_SUBJECT = re.compile(
    r"(?:^|[.!?\n,;:>(*|-]|\b(?:option|choice|answer|alternative|letter|label|so|that|thus|therefore|hence|since|because"
    r"|only|conclude|clearly|indeed|statement|ending|continuation|then|believe|think|but))[\s*_\"'(\[“]*\Z",
    re.IGNORECASE,
)
#: Most lines that are searched for items of a list.
_MOST_LINES = 1000


def read_predicate(
    text: str, mention: re.Match[str], sentence: str, words: Vocabulary, *, wants_wrong: bool
) -> Claim | None:
    """Return the claim "LABEL is correct" or "option LABEL is the only ...", or None.

    Where the question asks for the wrong option, "LABEL is the false one" is a claim, and "LABEL is true" is none.
    """
    place = words.labels.exact_index(mention["label"])
    if place is None or (mention["label"] in {"a", "I", "i"} and not _is_marked(text, mention, sentence)):
        return None
    if wants_wrong and _IS_WRONG.match(text, mention.end("label")):
        is_claimed = _BEFORE_SUBJECT.search(sentence[-NEAR:]) and not (is_considered(sentence) or is_reported(sentence))
        return Claim(mention.start(), place, is_definite=True) if is_claimed and not DENIED.search(sentence) else None
    after = text[mention.end("label") : mention.end("label") + words.longest]
    length = words.choice_length(after, place)
    start = mention.end("label") + length
    near = text[start : start + NEAR].lower()
    predicate = _PREDICATE.match(text, start) if any(verdict in near for verdict in _VERDICTS) else None
    if predicate is None or _starts_item(text, mention.start(), words):
        return None
    if predicate["between"].strip("*_\"' )]") and not (length or find_marked(text, mention, words) is not None):
        return None  # "A bit is the most elementary unit"
    before = _CONTRAST.split(sentence[-NEAR:])[-1]
    if (
        not _BEFORE_SUBJECT.search(before)
        or any(form.search(before) for form in (DENIED, _WRONG_TO_SAY, JOINED))
        or is_considered(before)
        or _is_weak(predicate, before, words)
    ):
        return None
    # Where the question asks for the wrong option, several are true.
    is_plain = predicate["verdict"].lower() in _PLAIN_VERDICTS and not _AS_NOUN.match(predicate["after"])
    return Claim(mention.start(), place, is_definite=not (wants_wrong and is_plain))


def _is_marked(text: str, mention: re.Match[str], sentence: str) -> bool:
    """Return whether a label that is a word too stands in brackets or behind "option"."""
    before = text[max(0, mention.start() - 24) : mention.start()] if sentence else ""
    return NAMED_BEFORE.search(before) is not None or ")" in mention["after"]


def _is_weak(predicate: re.Match[str], before: str, words: Vocabulary) -> bool:
    """Return whether a sentence says that a label is right in part, at first sight or under a condition only."""
    verdict, between, after = predicate["verdict"].lower(), predicate["between"], predicate["after"]
    if _WEAKENED.search(between) or words.labels.find_named(between):
        return True
    if (rest := _VERDICT_REST.get(verdict)) and re.match(rest, after, re.IGNORECASE):
        return True
    is_seeming = predicate["verb"].lower().startswith(_SEEMING)
    if is_seeming and (_WEAKENED.search(after) or _AT_FIRST.search(f"{before}{after}")):
        return True
    if verdict not in _PLAIN_VERDICTS:
        return False
    is_joint = after.lstrip().startswith(("that ", "too", "as well")) or _ALSO.search(f"{between} {predicate[0]}")
    return bool(is_joint) or _WEAKENED.search(after) is not None


def read_fit(text: str, mention: re.Match[str], sentence: str, words: Vocabulary) -> Claim | None:
    """Return the claim "only LABEL satisfies ..." or, of a last sentence, "LABEL matches ..."; or None."""
    place = words.labels.exact_index(mention["label"])
    fit = None if place is None or mention["label"] in {"a", "I", "i"} else _FITS.match(text, mention.end("label"))
    if fit is None or fit["end"] == "?" or _starts_item(text, mention.start(), words):
        return None
    before = sentence[-NEAR:]
    is_only = fit["best"] or _ONLY_BEFORE.search(before)
    is_last = not text[fit.end() :].strip(" \n*_")
    is_whole = is_last and not fit["weak"] and _FITTED.match(fit["after"]) and _BEFORE_SUBJECT.search(before)
    if not (is_only or is_whole) or _WEAKENED.search(fit["after"]) or _FITS_BADLY.search(fit["after"]):
        return None
    is_open = is_considered(before) or is_reported(before) or DENIED.search(before) or JOINED.search(before)
    others = words.labels.find_named(fit["after"]) or (not is_only and words.labels.find_named(before))
    return None if is_open or others or _AT_FIRST.search(before) else Claim(mention.start(), place, is_definite=is_last)


def read_designation(text: str, mention: re.Match[str], sentence: str, words: Vocabulary) -> Claim | None:
    """Return the claim "we get LABEL as the correct option", or None."""
    place = words.labels.exact_index(mention["label"])
    if place is None or not _AS_ANSWER.match(text, mention.end("label")):
        return None
    return (
        None if REFUSED.search(sentence) or is_considered(sentence) else Claim(mention.start(), place, is_definite=True)
    )


def _starts_item(text: str, start: int, words: Vocabulary) -> bool:
    """Return whether a label begins an item of a list of options, which has an item of another label too."""
    line_start = text.rfind("\n", 0, start) + 1
    if text[line_start:start].strip(" \t-*#>•_([0123456789."):
        return False
    items = {words.labels.leading_label(line[:NEAR].lstrip(" \t-*#>•")) for line in text.split("\n")[:_MOST_LINES]}
    return len(items - {None}) > 1
