r"""Find free sentences that give a choice as the answer, where a completion has no explicit statement.

*Claims* are "the closest value is: **C. 3 km**", "option C is the only sequence that ...", "B is correct". A
*conclusion* is a last sentence that begins with "therefore" or the like and names one label; it counts where claims are
absent or differ.

Labels are searched first, because they are rare, and then the words before and after them. A label in a claim must be
marked, because most labels are words or numbers too: by brackets, by bold type, by the word "option", by the text of
its choice after it, or, for a capital letter, by the end of the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from howsure.extraction.choice_phrases import (
    BE,
    BEFORE_LABEL,
    MARKUP,
    NEAR,
    REFUSED,
    SENTENCE_START,
    Claim,
    find_marked,
    find_mentions,
    is_considered,
    read_word_before,
)
from howsure.extraction.choice_predicates import read_designation, read_fit, read_predicate
from howsure.extraction.languages import is_reported
from howsure.extraction.vocabulary import DENIED, OPEN, OPTION_NOUNS, Vocabulary

__all__ = ["find_claims", "find_conclusion"]

_COPULA = re.compile(
    rf"(?<![\w'’])(?:{BE}|pertain(?:s|ing)\s+to|falls\s+under|belongs\s+to|corresponds\s+to|matches|agrees\s+with|supports?"
    r"|favou?rs?|leads\s+to|points\s+to|leaves(?:\s+us\s+with)?)"
    r"(?:\s+(?:likely|most\s+likely|probably|therefore|thus|then|indeed|clearly|definitely|obviously|simply|actually"
    r"|in\s+fact|best\s+(?:described|represented|captured|explained|given|matched)|given|represented|described|shown)(?!\w))?"
    rf"(?:\s+(?:by|as|in|an?|the)(?!\w))?(?P<gap>[\s:*_\"“'>`$–—•-]{{1,14}})(?:(?:the\s+)?(?:{OPTION_NOUNS}|answer)\s+)?{MARKUP}{OPEN}?{MARKUP}$",
    re.IGNORECASE,
)
_JOINING = """is was are be remains being to under with support supports favor favors favour favours leaves us
matches match fits likely probably therefore thus then indeed clearly definitely obviously simply
actually fact described represented captured explained given matched shown by as in a an the"""
_COPULA_ENDS = tuple(_JOINING.split())
_AFTER_COPULA = BEFORE_LABEL + ":>–—•-"
#: What makes the subject of a sentence the one thing that a question asks for.
_DEFINITE = re.compile(
    r"\b(?:best|most|closest|nearest|only|correct|right|accurate|appropriate|suitable|valid|true|false|incorrect|least"
    r"|final|greatest|largest|highest|lowest|smallest|longest|shortest|answer|conclusion|exception|therefore|thus|hence|so"
    r"|odd\s+one|result|solution|match|(?:looking|asked)\s+(?:for|about)|in\s+question|the\s+one\s+(?:that|which|you|we))\b",
    re.IGNORECASE,
)
# "The statement which doesn't hold is A.", where the question asks for that.
_FAILS = re.compile(
    r"\b(?:the\s+)?(?:one|statement|option|choice|item|claim)\s+(?:that|which)\s+(?:(?:does|do|is|are)(?:\s+not|n['’]t)\b|fails)",
    re.IGNORECASE,
)
_CONNECTIVE = re.compile(r"\b(?:therefore|thus|hence|so|result|final)\b", re.IGNORECASE)
_OTHER_SUBJECT = re.compile(
    r"\beither\b|\b(?:first|second|third|fourth|fifth|next|another|other|some|previous|remaining|runner-up"
    r"|tempting)\s+"
    r"(?:best\s+)?(?:option|choice|statement|alternative|candidate|one|of|closest|most|likely)\b|\bone\s+of\b|^\W*one\b"
    rf"|\bwrong\s+answers?\b|\b(?:second|next)[\s-](?:best|closest|most)\b|\||^[\s*_#>-]*(?:{OPTION_NOUNS}|statement)\s+[*(\[]*\w{{1,4}}\b",
    re.IGNORECASE,
)
_MATCHES = re.compile(
    rf"\b(?:consistent\s+with|match(?:es)?|fits|agrees\s+with|aligns\s+(?:best\s+)?with)[\s:*_]{{1,8}}"
    rf"(?:(?:the\s+)?(?:{OPTION_NOUNS})\s+)?{MARKUP}{OPEN}?{MARKUP}$",
    re.IGNORECASE,
)
# "B and C are unlikely, and so is D."
_SO_IS = re.compile(r"\b(?:so|neither|nor)\s+(?:is|are|was|were)\s*$", re.IGNORECASE)
# "..., i.e. option F." gives a name to what the sentence before it says.
_NAMED_ASIDE = re.compile(
    rf"[,;–—]\s+(?:i\.e\.,?|that\s+is,?|namely|which\s+is)\s+(?:the\s+)?(?:{OPTION_NOUNS}|answer)\s+[*(\[\"]{{0,4}}$",
    re.IGNORECASE,
)
_ASIDE_END = re.compile(r"[*)\]\"]{0,4}(?:[.!]|\s*$)", re.MULTILINE)
_TEMPTING = re.compile(
    r"\b(?:wrong|incorrect|mistake\w*|tempt\w*|errors?|trap|distractor|some(?:one)?|many|people|students?|others?)\b",
    re.IGNORECASE,
)
# "I believe F describes it best.", "I think C is more plausible than A."
_BELIEVED = re.compile(
    r"(?:^|[.!?,;\n]\s*|\b(?:so|but)\s+)I(?:['’]d|\s+would)?\s+(?:believe|think|say|find)\s+(?:that\s+)?(?:it\s+is\s+)?$"
)
# "She wrote: I would start ...", "One student: I believe ...".
_QUOTING = re.compile(
    r"\b(?:he|she|they|one|students?|people|colleagues?|classmates?|friends?|author)\b[^.!?\n]{0,60}[:,]\s+[\"'“‘]?I\b",
    re.IGNORECASE,
)
_BELIEVED_OF = re.compile(
    r"[*)\]\"]{0,4}\s+(?:best\s+(?:describes|explains|fits|captures|matches)(?:\s+(?:it|this|that|these))?"
    r"|(?:describes|explains|fits|captures|matches)\s+(?:the\s+)?(?:\w+\s+){1,3}(?:the\s+)?best"
    r"|(?:describes|explains|fits|captures|matches)\s+(?:(?:it|this|that|these)"
    r"(?:\s+(?:best|better|well|properly|correctly|accurately|exactly|perfectly|most\s+(?:closely|accurately)))?|best)"
    r"|is\s+(?:(?:the\s+)?(?:best|better)(?:\s+(?:answer|option|choice|one|fit|match))?"
    r"|(?:the\s+)?(?:more|most)\s+(?:plausible|likely|probable|accurate|appropriate|suitable|convincing|fitting|correct))"
    r"(?:\s+(?:answer|option|choice|one))?(?:\s+than\s+\(?\w{1,2}\)?)?)\s*(?:[.!]|$|,?\s+(?:because|since|as)\b)",
    re.MULTILINE,
)
# "Antwort A ist richtig.", "La opción C es la correcta."
_FOREIGN_NOUN = re.compile(
    r"\b(?:antwort|option|lösung|r[ée]ponse|opci[óo]n|respuesta|alternativa|opzione|risposta)\s+[*(]{0,3}$",
    re.IGNORECASE,
)
#: Characters before a label that are searched for such a noun.
_LONGEST_NOUN = 24
_FOREIGN_VERDICT = re.compile(
    r"[*)]{0,3}\s+(?:ist|est|es|é|è)\s+(?:die\s+|la\s+|a\s+)?(?:richtig|korrekt|correct|bonne|juste|corret|giusta)\w{0,3}\s*"
    r"(?:[.!]|$|(?:weil|denn|porque|ya\s+que|car|parce\s+que|perché|pois)\b|,(?!\s*(?:wenn|falls|sofern|nur|aber|doch|si|pero|sólo|solo|mais|se|ma|però|mas|porém|só|apenas)\b))",
    re.IGNORECASE | re.MULTILINE,
)
# Words of a sentence that deny, suppose or exclude what it names.
_FOREIGN_REFUSED = re.compile(
    r"\b(?:nicht|kein\w*|falsch\w*|wenn|falls|sofern|ob|scheidet|no|nunca|jamás|si|não|se|non|mai|ne|pas|jamais|incorrect[ao]?s?"
    r"|incorret[ao]s?|errad[ao]s?|fals[ao]|faux|fausse|sbagliat[ao]|scorrett[ao]|descart\w*|elimin\w*|exclu\w*|esclu\w*|much[ao]s|muit[ao]s"
    r"|viele|manche|algun[ao]s|alguns|certains|beaucoup|molti|alcuni"
    r"|sagt|meint|dice|dit|diz|angeblich|vielleicht|möglicherweise|quiz[áa]s?|tal\s?vez|peut-être|forse|supuestamente)\b|\bn['’]",
    re.IGNORECASE,
)
# "The asthma rules out one drug: option B."
_EXCLUDES = re.compile(
    r"\b(?:exclud\w+|rules?\s+out|against|avoid\w*|refut\w+|forbid\w*|contradict\w*|fall\s+for|fails?)\b", re.IGNORECASE
)
# A next sentence that takes a claim back: "That is wrong.", "Das stimmt nicht.", "Eso no es cierto."
_TAKEN_BACK = re.compile(
    r"[*)\]\"]{0,4}[^.!?\n]{0,80}[.!]\s+(?:but\s+)?(?:that|this|it|they|he|she|das|dies|es|sie|eso|esto|se|c['’]est|cela|ce|questo|ciò|isso|isto)\b"
    r"[^.!?\n]{0,25}?(?:\b(?:wrong|false|mistaken?|incorrect|untrue|not\s+(?:so|true|right|correct|the\s+case)|stimmt\s+nicht|falsch|nicht\s+(?:wahr|richtig)"
    r"|no\s+es\s+(?:cierto|verdad|as[íi])|falso|equivoca\w*|non\s+è\s+(?:vero|così)|sbagliano|sbagliato|não\s+é\s+verdade|errado)\b"
    r"|(?:\s|est\s+)(?:faux|pas\s+vrai)\b)",
    re.IGNORECASE,
)
# "I would start propranolol (B), then discuss radioiodine (C)."
_WOULD_DO = re.compile(
    r"\b(?:I|we)(?:['’]d|\s+would|\s+should)\s+(?:first\s+|initially\s+)?(?:start|begin|give|use|order|recommend|prescribe"
    r"|administer|perform|choose|do)\s+(?:with\s+|by\s+)?(?:an?\s+|the\s+)?(?P<text>[^().,;:\n]{2,120}?)\s*\($",
    re.IGNORECASE,
)
_DONE_END = re.compile(r"\)(?![^.!?\n]{0,200}\b(?:if|unless|only|when|but|except)\b)", re.IGNORECASE)
_PRONOUN = re.compile(r"\W*(?:this|that|it|which|these|they)\W*", re.IGNORECASE)
_NEGATED = re.compile(r"(?:\bnot|n['’]t|\bnever)\s*$", re.IGNORECASE)
_WRONG_OPTION = re.compile(
    r"\b(?:wrong|incorrect|false|invalid|bad)\s+(?:option|choice|label|letter)s?\b", re.IGNORECASE
)
_OPENER = re.compile(
    r"[\s*_#>-]*(?:(?:therefore|thus|so|hence|in\s+conclusion|in\s+summary|to\s+conclude|overall|consequently|accordingly"
    r"|finally|based\s+on|given|from\s+(?:this|the\s+above)|as\s+a\s+result|final\s+answer|conclusion|answer|considering"
    r"|(?P<foreign>portanto|logo|por\s+lo\s+tanto|donc|c['’]est\s+donc|daher|deshalb|quindi|dunque|entonces|então))\b|∴)",
    re.IGNORECASE,
)
# A last sentence that ends with the option: "..., which the bound confirms: option B."
_NAMED_LAST = re.compile(
    rf"[:,–—→⇒]\s+(?:i\.e\.,?\s+|namely\s+|which\s+is\s+|(?:which\s+)?correspond(?:s|ing)\s+to\s+)?(?:{OPTION_NOUNS}|answer)\s+[*(\[\"]{{0,4}}\w{{1,4}}[*)\]\".]{{0,5}}$",
    re.IGNORECASE,
)
_PREFERRED = re.compile(
    r"(?<=[\w)*])\s+(?:rather\s+than|instead\s+of|and\s+not)\s+[*(\[\"]{0,4}\w{1,4}\b", re.IGNORECASE
)
# "The remaining one is C.", and nothing more of it.
_REMAINING = re.compile(
    r"\bthe\s+remaining\s+(?:option|choice|one|answer)\s+(?:is|must\s+be)\s+[*(\[\"]{0,4}$", re.IGNORECASE
)


#: Most places of the text of a choice that are looked at, from the last one.
MOST_PLACES = 4


def find_claims(text: str, words: Vocabulary, *, wants_wrong: bool = False) -> list[Claim]:
    """Return the claims of a text, in their order.

    Parameters
    ----------
    text
        The masked text.
    words
        The labels and texts of the choices.
    wants_wrong
        Whether the question asks for the wrong option, so that "the incorrect option is C" gives C.
    """
    claims = []
    for mention in find_mentions(text, words):
        sentence = _subject_before(text, mention.start())
        claim = _read_copula(text, mention, sentence, words, wants_wrong=wants_wrong)
        claim = claim or read_predicate(text, mention, sentence, words, wants_wrong=wants_wrong)
        claim = claim or read_fit(text, mention, sentence, words)
        claim = claim or read_designation(text, mention, sentence, words)
        claim = claim or _read_opinion(text, mention, sentence, words)
        claims += [claim] if claim else []
    claims += _find_texts(text, words, wants_wrong=wants_wrong)
    return sorted(claims, key=lambda claim: claim.start)


def find_conclusion(text: str, words: Vocabulary) -> int | None:
    """Return the only label that is named by a last sentence that concludes; None if there is no such sentence."""
    last = text.rstrip()[-2 * NEAR :].split("\n")[-1]
    starts = [0, *(cut.end() for cut in SENTENCE_START.finditer(last))]
    start = next((start for start in reversed(starts) if _OPENER.match(last, start)), None)
    if start is None and _NAMED_LAST.search(last, starts[-1]):
        start = starts[-1]
        if _EXCLUDES.search(last, start) or _TEMPTING.search(last, start):
            return None
    is_preferred = False
    if start is not None and (other := _PREFERRED.search(last, start)):
        last, is_preferred = last[: other.start()], True  # "So C rather than D, which overstates the rule."
    if start is None or REFUSED.search(last, start) or is_reported(last[start:]):
        return None
    opener = _OPENER.match(last, start)
    if opener is not None and opener["foreign"] and _FOREIGN_REFUSED.search(last, start):
        return None
    places = {
        place
        for mention in find_mentions(last, words)
        if mention.start() >= start and (place := find_marked(last, mention, words, is_ended=is_preferred)) is not None
    }
    return places.pop() if len(places) == 1 else None


def _subject_before(text: str, place: int) -> str:
    """Return the sentence before a label, which a line break after a colon or a verb does not end."""
    before = text[max(0, place - NEAR) : place]
    body = before.rstrip(" \t\n*_([{\"'`$>-•")
    end = len(body) if body.endswith((":", " is", " be", " are", " was")) else len(before)
    return before[max((cut.end() for cut in SENTENCE_START.finditer(before, 0, end)), default=0) :]


def _read_copula(
    text: str, mention: re.Match[str], sentence: str, words: Vocabulary, *, wants_wrong: bool
) -> Claim | None:
    """Return the claim "SUBJECT is LABEL", or None."""
    if not read_word_before(sentence[-80:], _AFTER_COPULA).endswith(_COPULA_ENDS):
        return None
    is_last = "\n" not in text[mention.end() :].strip()
    copula = _COPULA.search(sentence[-80:]) or (_MATCHES.search(sentence[-80:]) if is_last else None)
    if copula is None or _SO_IS.search(sentence):
        return None
    subject = sentence[: len(sentence) - len(copula[0])]
    is_definite = bool(_DEFINITE.search(subject)) or (wants_wrong and _FAILS.search(subject) is not None)
    is_match = is_last and _PRONOUN.fullmatch(subject) is not None
    place = find_marked(text, mention, words, is_ended=is_definite or is_match)
    if place is None or not _is_sought(subject, words, wants_wrong=wants_wrong):
        return None
    if _PRONOUN.fullmatch(subject) and not is_last:
        return None  # "This corresponds to option B." may be a step, unless it is in the last line
    if _starts_listing(text, mention.end(), place, words):
        return None
    is_several = words.labels.alternative.match(text, _skip_choice(text, mention.end(), place, words))
    return Claim(mention.start(), None if is_several else place, is_definite)


def _read_opinion(text: str, mention: re.Match[str], sentence: str, words: Vocabulary) -> Claim | None:
    """Return the claim "I believe LABEL explains it", "I would give TEXT (LABEL)" or "i.e. option LABEL.", or None."""
    place = words.labels.exact_index(mention["label"])
    if place is None or mention["label"] in {"a", "I", "i"}:
        return None
    end = mention.end("label")
    near = text[max(0, mention.start() - NEAR) : mention.start()].rpartition("\n")[2]  # "i.e." ends no sentence
    aside = _NAMED_ASIDE.search(near) if _ASIDE_END.match(text, end) else None
    is_named = aside is not None and not _TEMPTING.search(near) and not _is_refused(near[: aside.start()])
    is_believed = _BELIEVED.search(sentence) and _BELIEVED_OF.match(text, end)
    done = _WOULD_DO.search(sentence) if _DONE_END.match(text, end) else None
    is_done = done is not None and words.match_text(done["text"]) == place
    is_foreign = _FOREIGN_NOUN.search(near, max(0, len(near) - _LONGEST_NOUN)) and _FOREIGN_VERDICT.match(text, end)
    is_called_right = is_foreign and not _FOREIGN_REFUSED.search(sentence)
    is_left = _REMAINING.search(sentence) and _ASIDE_END.match(text, end)
    if (
        not (is_named or is_called_right or is_believed or is_done or is_left)
        or is_considered(sentence)
        or is_reported(sentence)
        or DENIED.search(sentence)
        or _TAKEN_BACK.match(text, end)
        or _QUOTING.search(sentence)
    ):
        return None
    return Claim(mention.start(), place, is_definite=True)


def _is_refused(text: str) -> bool:
    """Return whether the last sentence of a text denies, doubts, reports or excludes what it describes."""
    sentence = text[max((cut.end() for cut in SENTENCE_START.finditer(text)), default=0) :]
    is_refused = REFUSED.search(sentence) or _EXCLUDES.search(sentence)
    return is_refused is not None or is_considered(sentence) or is_reported(sentence)


def _find_texts(text: str, words: Vocabulary, *, wants_wrong: bool) -> Iterator[Claim]:
    """Yield the claims "SUBJECT is TEXT", where a sentence about what is asked ends with the text of a choice."""
    lower = text.lower()
    for start, choice, place in _find_last_texts(lower, words) if len(lower) == len(text) else ():
        sentence = _subject_before(text, start)
        copula = _COPULA.search(sentence[-80:])
        if copula is None or not re.match(r"[*_\"'`$)”]{0,6}(?:[.!](?:\s|$)|\n|$)", text[start + len(choice) :]):
            continue
        subject = sentence[: len(sentence) - len(copula[0])]
        # "So it is 3" may be a step, unless it is in the last line.
        is_last = "\n" not in text[start:].strip()
        if _DEFINITE.search(subject if is_last else _CONNECTIVE.sub(" ", subject)) and _is_sought(
            subject, words, wants_wrong=wants_wrong
        ):
            yield Claim(start, place, is_definite=True)


def _find_last_texts(lower: str, words: Vocabulary) -> Iterator[tuple[int, str, int]]:
    """Yield the last places of the texts of choices in a text in lower case, with the text and the index."""
    for choice, place in words.loose_texts.items():
        start = lower.rfind(choice) if len(choice) > 1 and words.labels.index(choice) is None else -1
        for _ in range(MOST_PLACES):
            if start < 0:
                break
            yield start, choice, place
            start = lower.rfind(choice, 0, start)


def _is_sought(subject: str, words: Vocabulary, *, wants_wrong: bool) -> bool:
    """Return whether the subject of a sentence is what the question asks for, and no option and nothing in doubt."""
    if is_considered(subject) or is_reported(subject) or _OTHER_SUBJECT.search(subject) or _NEGATED.search(subject):
        return False
    return (wants_wrong or not _WRONG_OPTION.search(subject)) and words.labels.leading_label(subject) is None


def _skip_choice(text: str, start: int, place: int, words: Vocabulary) -> int:
    """Return the end of the text of a choice and its markup, if it stands at `start`."""
    end = start + words.choice_length(text[start : start + words.longest], place)
    while end < len(text) and text[end] in " *_\"').":
        end += 1
    return end


def _starts_listing(text: str, start: int, place: int, words: Vocabulary) -> bool:
    """Return whether the line below begins with another label, as a list of the choices does."""
    below = [line for line in text[start : start + 2 * words.longest].split("\n")[1:] if line.strip()]
    other = words.labels.leading_label(below[0].lstrip(" -*#>•")) if below else None
    return other is not None and other != place
