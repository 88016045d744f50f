"""Read an open answer, such as a name or a year, from a completion.

A completion may be the bare answer, state it ("The answer is Jane Austen."), give it in a sentence that repeats the
question ("Emma was written by Jane Austen."), or give it on its first or last line beside an explanation. The reading
never uses the target. Where a completion has several sentences and none of these forms, no answer is read: what it
gives as its answer cannot be told by a rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from howsure.extraction.answer_ranking import choose_answer
from howsure.extraction.answer_spans import list_content
from howsure.extraction.completion_context import (
    CompletionContext,
    complete_context,
    remove_next_question,
    remove_run_on,
)
from howsure.extraction.languages import is_reported
from howsure.extraction.open_candidates import (
    find_candidate,
    find_doer,
    find_kind,
    has_other_rank,
    is_plausible,
    match_stems,
    remove_translation,
    widen_answer,
)
from howsure.extraction.statements import find_statement, find_statements, remove_reasoning

__all__ = ["FormReading", "read_by_rules", "read_open_answer", "split_sentences", "strip_markup"]

#: Most words of a line that may be an answer beside an explanation, of a sentence that is taken as a whole, and of an
#: answer that is cut out of a sentence.
MAX_LINE_WORDS, MAX_WHOLE_WORDS, MAX_PART_WORDS = 7, 14, 14
#: Most names of one place: a city, its state and its country.
MOST_PLACE_NAMES = 4
#: A line that the end of a completion repeats so often is a loop.
LEAST_REPEATED = 3
#: Most words of a reply that is read by rules only, and least probability of an answer that the rules do not read.
MOST_SHORT_WORDS, LEAST_PROBABILITY = 4, 0.2
#: Least words of a reply that only puts words of the question in another order.
LEAST_REARRANGED = 3
#: Most items of a list of lines that is an answer.
MOST_ITEMS = 20
#: Most characters of a completion that are searched for sentences, and of a question whose words a subject may have.
LONGEST, LONGEST_SUBJECT = 4000, 200

# Words that end with a full stop within a sentence; a single letter is an initial.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“*_-]|(?<!\w)['‘])(?:[^\W\d_]|(?:[^\W\d_]\.)+[^\W\d_]|[Mm]rs?|[Mm]s|[Mm]x|[Dd]r|[Pp]rof|[Ss]t|[Mm]t|[Ff]t|[Jj]r|[Ss]r|[Nn]o"
    r"|[Vv]s|[Ee]tc|[Cc]a|[Aa]pprox|Inc|Ltd|Corp|Co|Gen|Col|Lt|Capt|Sgt|Rev|Hon|Gov|Sen|Rep|Pres|Ph\.D|Jan|Feb|Aug|Sept?"
    r"|Oct|Nov|Dec|e\.g|i\.e|c|b|d|vol|pp?|fig|al)\.$"
)
#: Characters before a full stop that show whether it belongs to an abbreviation.
_LONGEST_ABBREVIATION = 40
_SENTENCE_END = re.compile(r"[.!?]+[\"'”’)*_]*\s+(?=[\"'“‘(*_]*[^\W_])|[。！？।؟]+\s*")
# Words that begin a sentence and follow no initial.
_STARTER = re.compile(r"(?:The|It|This|That|These|He|She|They|In|A|An|However|But|So|Its|His|Her|There|We|I)\b(?!\.)")
_MARKUP = re.compile(r"^(?:[\s>#*_`]+|[-•–]\s+|\d{1,2}[.)]\s+)+|[\s*_`]+$")
# Pictures behind a word, but no crosses and ticks, which are verdicts.
_PICTURES = re.compile("(?<=[\\w.!?)*\"'”])[\\s\U0001f300-\U0001faff\u27a1\ufe0f\u200d]+$")
_BOLD = re.compile(r"\*\*([^*\n]{1,80})\*\*")
_POLITE = re.compile(
    r"^(?:sure|of course|certainly|absolutely|okay|ok|great question|good question|well|alright|happy to help)"
    r"[^.!:\n]{0,40}(?:[.!:]+\s+|$)",
    re.IGNORECASE,
)
_LABEL = re.compile(r"^(?:(?:final|short|my|correct)\s+)*(?:answer|result|solution|response)\s*[:=]\s*", re.IGNORECASE)
_LEAD = re.compile(
    r"^(?:so|thus|hence|therefore|then|finally|in conclusion|in short|overall|actually|probably|definitely|most likely"
    r"|i (?:think|believe|guess|would say|'d say)(?: that)?|unfortunately|as far as i know|to my knowledge)\s*[,:]?\s+",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\bi(?: am|'m)? (?:really |do |have )?(?:(?:not|n't) (?:sure|certain|aware|able|know)|don't know|do not know"
    r"|cannot|can't|can not|am unable|unable|no idea|couldn't|have no)\b|\bi(?: am|'m) (?:sorry|afraid|unable)\b"
    r"|\bas an ai\b|\b(?:is|it's) (?:impossible|not possible) to (?:say|tell|know|determine)\b"
    r"|\b(?:passage|text|article|context|document|paragraph) (?:does not|doesn't|did not|didn't)"
    r" (?:mention|say|state|specify|give)\b"
    r"|\bi (?:do not|don't) have (?:\w+ ){0,3}(?:information|data|knowledge|record)"
    r"|\bno (?:\w+ ){0,2}(?:records?|evidence|information|data)\b|\bnot enough information\b|\bno way to know\b"
    r"|\b(?:cannot|can't) be (?:determined|answered|known)\b"
)
_NEGATION = re.compile(r"\b(?:not|never|neither|nor|cannot|no longer)\b|n't\b", re.IGNORECASE)
_NOT_BUT = re.compile(r"\bnot\s+[^,;]{1,60}?,?\s+but(?: rather)?\s+(.+)$", re.IGNORECASE)
# "Hmm, no: Paris." or "Sorry, it's Paris." after a statement.
_RETRACTED = re.compile(
    r"[\s.!?,;*_]{1,4}(?:(?:hmm|oh|oops|wait)\b[\s,.!:-]{1,4})?(?:no|sorry|correction|scratch that)\b[\s,.!:;–—-]{1,4}"
    r"(?:(?:it['’]s|it is|that['’]s|it should be|it must be|make that|I meant)\s+(?!not\b)(?P<verb>))?"
    r"(?P<replacement>[^\s.!?]+(?:[ ][^\s.!?]+){0,2}(?(verb)(?:[ ][^\s.!?]+){0,5}))(?=[.!]*\s*(?:$|\n))",
    re.IGNORECASE,
)
_REMARK = re.compile(r",\s+not\s+.*$", re.IGNORECASE)
# "the heart, a muscular organ in the chest"
_APPOSITION = re.compile(
    r"(?<=[a-z]),\s+(?:an?|one\s+of\s+the)\s+(?![^,;]*\b(?:mistake|myth|misconception|error|guess)\b)[a-z][^,;]*$"
)
# "It is not Sydney, it is Canberra."
_NOT_IT = re.compile(
    r"(?:\bnot|n['’]t)\s+[^,;]{1,60}[,;]\s+(?:but\s+)?(?:it|that)(?:['’]s|\s+is|\s+was)\s+(?!not\b)(.+)$", re.IGNORECASE
)
# "It is the heart that pumps blood."
_CLEFT = re.compile(
    r"^(?:(?:it|that)(?:['’]s|\s+(?:is|was))|c['’]est)\s+(?P<part>[^,;]{2,60}?)\s+(?:that|who|which|qui|que)\s+\w+",
    re.IGNORECASE,
)
# "The currency of Japan is the yen, which is subdivided into 100 sen."
_RELATIVE = re.compile(r",\s(?:which|who|whose|where)\s(?:is|are|was|were|has|have|had|can)\b[^;]*$")
# "It was Bell who is often credited, but Meucci invented it.": what is named is not what did it.
_CREDITED = re.compile(
    r"\b(?:but|however|although|though|while|whereas|yet|credited|wrongly|mistakenly|allegedly|supposedly|claim\w*|names?|named"
    r"|considered|if|perhaps|maybe|possibly|in part|partly)\b",
    re.IGNORECASE,
)
# "Leonardo da Vinci painted it, ..."
_DID_IT = re.compile(r"^(?P<part>[A-Z][^,;.]{1,60}?)\s+(?P<verb>[a-z]{3,})\s+(?:it|them|this|him|her)\b")
# "currently located in Paris, France", and what a question asks for of a place.
_LOCATED = re.compile(r"^(?:currently\s+|now\s+)?(?:located|situated)?\s*(?:in|at)\s+", re.IGNORECASE)
_ASKS_COUNTRY = re.compile(r"\b(?:which|what)\s+(country|nation|state|province)\b", re.IGNORECASE)
_ASKS_CITY = re.compile(r"\b(?:which|what)\s+(?:city|town)\b", re.IGNORECASE)
# One part of "Sydney, New South Wales, Australia", two places, words that deny or move a place, and a remark after it.
_PLACE_NAME = re.compile(r"[A-Z][\w .'’-]{1,30}")
_TWO_PLACES = re.compile(
    r";|[&/]|\b(?<!Trinidad )(?<!Bosnia )(?<!Antigua )(?<!Kitts )(?<!Vincent )(?<!Tomé )(?<!Turks )"
    r"(?:and|or)\s+(?:in\s+)?[A-Z]"
)
_NOT_THERE = re.compile(r"^(?:near|outside|close to|far from|north|south|east|west)\b", re.IGNORECASE)
# An amount is all that a sentence with one of these verbs says of "it".
_AMOUNT_OF = re.compile(
    r"(?:it|this|that|they) (?:costs?|takes?|took|weighs?|weighed|lasts?|lasted|measures?|measured|equals?|totals?) "
    r"(?P<amount>[-+−]?[$€£¥₹]?[-+−]?\d(?:[\d.,:/]*\d)?(?:\s?[%°]\w?|\s?[^\W\d_]+)?)",
    re.IGNORECASE,
)
# The sign of a number or of a currency in front of it.
_SIGN_BEFORE = re.compile(r"(?<!\S)[-+−$€£¥₹]{1,2}$")
_PLACE_REMARK = re.compile(r"\s+(?:and|where|which|since)\s+[a-z].*$")
#: Countries whose parts are called states or provinces, as they stand behind the name of such a part.
_COUNTRIES_OF_STATES = frozenset(
    """united states|united states of america|the united states|usa|us|u.s|u.s.a|america|argentina|australia|austria
    |belgium|brazil|canada|china|ethiopia|germany|india|indonesia|italy|malaysia|mexico|myanmar|netherlands
    |the netherlands|nigeria|pakistan|papua new guinea|south africa|south sudan|spain|sudan|switzerland|turkey
    |venezuela|vietnam""".replace("\n    ", "").split("|")
)
_ASKS_YEAR = re.compile(r"\b(?:which|what)\s+year\b", re.IGNORECASE)
_YEAR = re.compile(r"(?<![\d.,-])(?:1\d{3}|20\d{2})(?![\d-]|[.,]\d)")
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
# "It ended in May 1945", "On the 2nd of September 1945, in Tokyo": the whole text is a date with its year.
_DATE = re.compile(
    r"(?:[^\d;]{1,80}?\s(?=(?:in|on|of)\s))?(?:(?:in|on|of)\s+)?(?:(?:it|this|that)\s+(?:is|was)\s+)?(?:the\s+)?"
    r"(?:(?:year|spring|summer|autumn|fall|winter|end|beginning|start)\s+(?:of\s+)?)?(?:(?:early|mid|late)[\s-]+)?"
    r"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,?\s+)?(?:the\s+)?"
    rf"(?:(?:\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?)?{_MONTH}(?:\s+\d{{1,2}}(?:st|nd|rd|th)?)?,?\s+(?:of\s+)?|\d{{1,2}}[/.]\d{{1,2}}[/.])?"
    rf"(?:AD\s+)?(?P<year>{_YEAR.pattern})(?:\s+(?:AD|CE|A\.D\.|C\.E\.))?"
    r"(?:\s*\([^()]{1,60}\)|(?:,|:|\s[–—-]|(?=\s+(?:in|at|on|when|during)\s))\s+[a-z][^;]{1,80})?\W*",
    re.IGNORECASE,
)
# What makes the year of a text another than the one that it names.
_OTHER_YEAR = re.compile(
    r"\b(?:BCE?|B\.C|ago|before|after|about|around|circa|ca?\.|approximately|roughly|nearly|almost|by|until|till|since|between"
    r"|from|prior|later|earlier|or|maybe|perhaps|possibly|give|more|less|if|no|none|without)(?!\w)",
    re.IGNORECASE,
)
_ANSWER_HEADING = re.compile(
    r"^(?:#{1,6}[ \t]*\*{0,2}|\*\*)(?:final[ ])?answer\*{0,2}:?\*{0,2}[ \t]*\n\s*(?P<answer>[^\n#]{1,120})",
    re.IGNORECASE | re.MULTILINE,
)
# What takes back the sentences before it.
_TAKEN_BACK = re.compile(
    r"\bactually,? no\b|\bno, wait\b|\bwait,|\bhold on\b|\bscratch that\b|\bcorrection\b|\blet me correct\b"
    r"|\b(?:no, )?I(?:['’]m| am| was) mixing\b[^;.,]*|\bI misspoke\b|\boops\b",
    re.IGNORECASE,
)
# A line "A: ..." below a first line: the prompt ended with "A:" and the first line is what completes it.
_NEXT_ANSWER = re.compile(r"\s*(?:A:|OPT:)")
_ITEM = re.compile(r"^\s*(?:[-•–*]|\d{1,2}[.)])\s+")
_ITEM_REMARK = re.compile(r"\s+[–—-]\s|:\*{0,2}\s|\s\(|\*\*[:,]?\s")
_LEADING_PICTURE = re.compile("^[\u2600-\u27bf\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff\ufe0f\u200d]+\\s*")
_ASKS_ITEMS = re.compile(
    r"^(?:name|list|sort|order|arrange)\b(?! the (?:capital|author|person|man|woman|city|country)\b)"
    r"|\b(?:what|which|who) (?:are|were)\b",
    re.IGNORECASE,
)
# "Au, from the Latin aurum"
_ETYMOLOGY = re.compile(r",?\s+from (?:the )?(?:Latin|(?:Ancient |Old )?Greek|Old [A-Z]\w+|Arabic)\b[^.;]*")
_BULLET = re.compile(r"^(?:[\s>#]+|[-•–*]\s+|\d{1,2}[.)]\s+)+")
# "Neil Armstrong, commander of Apollo 11" and "Neil Armstrong did"
_PERSON = re.compile(
    r"(?P<name>[A-Z][\w.'’-]*(?:(?:\s(?:da|de|del|della|der|di|du|la|van|von)){0,2}\s[A-Z][\w.'’-]*){1,3})"
    r"(?:,\s(?!(?:or|and|but|perhaps|maybe|according|wrongly)\b)[a-z][^,;]*|\s(?:did|was|has|is))\W*$"
)
_WH = frozenset({"who", "what", "which", "where", "when", "whose", "whom", "how", "name"})
_COPULA = re.compile(r"\s+(?:is|was|are|were|would be|will be|has been|had been):?\s+|(?<=\w)['’]s\s+(?=the\b|an?\b)")
_PRONOUN = re.compile(
    r"^(?:it|that|this|he|she|they|these|those|there)"
    r"(?:\s+(?:is|was|are|were|would be|will be|has been|had been|must be)|['’](?:s|d be|re))\s+"
    r"(?:called\s+|named\s+|known as\s+)?",
    re.IGNORECASE,
)
# "It was Leonardo da Vinci, who painted it between ..."
_WHO_DID = re.compile(r"(?<=[^\W\d_]{3}),\s(?:who|which|whose)\s[^;]*$")
_BY = re.compile(r"^(?:[^\W\d_]+\s+){1,2}by\s+", re.IGNORECASE)
_COMMON_NOUN = re.compile(r"^(?:the|an?|his|her|its|their|my|your|our|one of|this|that)\s+(?=[^\W\d_])", re.IGNORECASE)

_BE = "is are was were be been being has have had do does did will would can could should must may might"
_BEFORE_PLACES = "in on at by to from during since for with into as"
_PLACES = frozenset({"in", "on", "at"})
_ARTICLES = frozenset({"the", "a", "an"})
_SPEAKERS = frozenset({"i", "we", "you", "people"})
_SUBJECTS = frozenset({"it", "that", "this", "he", "she", "they"})
_VERBS, _PREPOSITIONS = frozenset(_BE.split()), frozenset(_BEFORE_PLACES.split())
_FUNCTION = (
    _VERBS | _PREPOSITIONS | _ARTICLES | _SUBJECTS | {"of", "its", "called", "named", "known", "there's", "it's"}
)
_TALK_WORDS = """i we you let let's me think because so first then now here therefore however is are was were has have
had it she he they"""
_TALK = frozenset(_TALK_WORDS.split())
_WORD = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")


def split_sentences(text: str) -> list[str]:
    """Return the sentences of one line; initials and abbreviations such as "Dr." do not end one.

    >>> split_sentences("J. K. Rowling wrote it. Mr. Darcy did not!")
    ['J. K. Rowling wrote it.', 'Mr. Darcy did not!']
    """
    sentences, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        last = text[max(start, end.start() - _LONGEST_ABBREVIATION) : end.end()].rstrip().rstrip("\"'”’)*_")
        is_abbreviation = end[0][:1] == "." and _ABBREVIATION.search(last)
        if is_abbreviation and not _STARTER.match(text, end.end()):
            continue
        sentences.append(text[start : end.end()].rstrip())
        start = end.end()
    if text[start:].strip():
        sentences.append(text[start:].strip())
    return sentences


class FormReading(NamedTuple):
    """What rules read from a completion, by which rule, and the sentences in which its answer may stand instead.

    There are no sentences where the reading is not questioned: a stated answer, a refusal, a reply of a few words.
    """

    answer: str | None
    rule: str
    sentences: tuple[str, ...] = ()


def read_open_answer(text: str, context: CompletionContext | None = None) -> tuple[str | None, str]:
    """Return the answer that a completion gives, and the rule by which it was read or why none was read.

    Parameters
    ----------
    text
        The completion.
    context
        What is known about it; the question makes sentences such as "Emma was written by Jane Austen." readable.

    Returns
    -------
    answer
        Words of the completion, with their case and punctuation; None when no answer can be read.
    rule
        "statement", "bold", "line", "sentence", "whole" or "span"; without an answer "empty", "refused", "denied",
        "cut" or "none".

    Examples
    --------
    >>> read_open_answer("So the answer is **J. K. Rowling**. She wrote it in 1997.")
    ('J. K. Rowling', 'statement')
    >>> read_open_answer("Emma was written by Jane Austen.", CompletionContext(question="Who wrote Emma?"))
    ('Jane Austen', 'sentence')
    """
    reading = read_by_rules(text, context)
    question = context.question if context else ""
    if not question or not reading.sentences:
        return reading.answer, reading.rule
    answer, probability = choose_answer(reading.answer, reading.rule, reading.sentences, question)
    if answer is None or probability < LEAST_PROBABILITY or answer == reading.answer:
        answer, rule = reading.answer, reading.rule
    else:
        answer, rule = _select_part(_trim(answer), question), "span"
    answer = None if answer is None else widen_answer(answer, reading.sentences, question)
    return answer, rule if answer is not None or reading.answer is None else "denied"


def read_by_rules(text: str, context: CompletionContext | None = None) -> FormReading:
    """Return the answer that rules for the form of a completion read; see `read_open_answer`.

    >>> read_by_rules("The answer is Jane Austen.").rule, read_by_rules("").rule
    ('statement', 'empty')
    """
    completion = remove_reasoning(text)
    text = remove_run_on(remove_next_question(completion, context), context)
    context = complete_context(completion, text, context)
    if not text.strip():
        return FormReading(None, "empty")
    question = context.question if context else ""
    if (certain := _read_certain(text, question)) is not None:
        return certain
    cut = context is not None and context.truncated
    text = remove_translation(text)
    marked = _list_lines(text, _strip_bullet, cut=cut)
    lines = _list_lines(text, strip_markup, cut=cut)
    if not lines:
        return FormReading(None, "cut" if cut else "empty")
    lines = _drop_taken_back(lines)
    answer, rule = _read_form(lines, question, text)
    if question and rule != "refused" and not is_plausible(answer, question):
        sentences = [sentence for line in lines for sentence in split_sentences(line)]
        if (candidate := find_candidate(sentences, question)) is not None:
            answer, rule = _trim(candidate), "sentence"
    answer = _select_part(answer, question)
    is_short = len(_WORD.findall(text)) <= MOST_SHORT_WORDS
    is_short = is_short or not list_content(question) or _is_rearranged(answer or text, question)
    if is_short or rule in {"refused", "denied", "statement"} or find_kind(question) == "yes-no":
        return FormReading(answer, rule)
    return FormReading(answer, rule, tuple(_list_sentences(marked, question)))


def _find_first_line(text: str, question: str) -> str | None:
    """Return a first line that is an answer, above lines with which a model goes on as the prompt began; else None."""
    first, _, rest = text.strip().partition("\n")
    if not rest or not _is_bare(first) or len(split_sentences(first)) > 1:
        return None
    begin = question.split(maxsplit=1)[0]
    goes_on = question.endswith(":") and rest.lstrip().startswith(begin)
    return first if goes_on or _NEXT_ANSWER.match(rest) else None


def _read_items(text: str, question: str) -> str | None:
    """Return the items of the only list of lines of a completion, where a question asks for several; else None."""
    lines = [line for line in text.split("\n") if line.strip()]
    places = [i for i, line in enumerate(lines) if _ITEM.match(line)]
    if not 2 <= len(places) <= MOST_ITEMS or not _ASKS_ITEMS.search(question):
        return None
    if places[-1] - places[0] != len(places) - 1 or not lines[max(0, places[0] - 1)].rstrip(" *").endswith(":"):
        return None
    items = [strip_markup(_ITEM_REMARK.split(_ITEM.sub("", lines[i]))[0]) for i in places]
    items = [_LEADING_PICTURE.sub("", item) for item in items]
    return ", ".join(items) if all(items) and max(len(item.split()) for item in items) <= MAX_LINE_WORDS else None


def _read_certain(text: str, question: str) -> FormReading | None:
    """Return what a statement, a heading, a list of lines or the first line of a prompt's format gives; else None."""
    if question and (first := _find_first_line(text, question)) is not None:
        return FormReading(_select_part(_trim(first), question), "line")
    if (statement := _extended_statement(text)) is not None:
        answer, rule = _read_stated(statement)
        return FormReading(_select_part(answer, question), rule)
    if heading := _ANSWER_HEADING.search(text):
        return FormReading(*_read_stated(heading["answer"]))
    items = _read_items(text, question)
    return FormReading(items, "lines") if items else None


def _is_rearranged(text: str, question: str) -> bool:
    """Return whether a reply is nothing but three or more words of the question, such as those that it asks to sort."""
    words = {word.lower() for word in _WORD.findall(question)} - _FUNCTION
    given = [word.lower() for word in _WORD.findall(text)]
    return len(given) >= LEAST_REARRANGED and words.issuperset(given)


def _list_lines(text: str, strip: Callable[[str], str], *, cut: bool) -> list[str]:
    """Return the lines of a completion without empty ones, politeness, and the last sentence of one that was cut."""
    lines = [line for line in map(strip, text[-LONGEST:].split("\n")) if line]
    if cut and lines:
        # The last sentence of a completion that was cut is not complete.
        lines = _drop_loop(lines[:-1]) + lines[-1:]
        complete = split_sentences(lines[-1])[:-1]
        lines = [*lines[:-1], *([" ".join(complete)] if complete else [])]
    return _drop_polite_words(lines)


def _drop_taken_back(lines: list[str]) -> list[str]:
    """Return the lines behind the last words that take back what is before them, with the rest of their line."""
    for i in range(len(lines) - 1, -1, -1):
        matches = list(_TAKEN_BACK.finditer(lines[i]))
        if matches and (i or matches[-1].start()):
            rest = lines[i][matches[-1].end() :].strip(" ,:;.—–-")
            return [*([rest] if rest else []), *lines[i + 1 :]] or lines
    return lines


def _list_sentences(lines: Sequence[str], question: str) -> Iterator[str]:
    """Yield the sentences that may give the answer: those behind the last one that takes back what is before it."""
    sentences = [_ETYMOLOGY.sub("", sentence) for line in lines for sentence in split_sentences(line)]
    for i in range(len(sentences) - 1, -1, -1):
        taken_back = _TAKEN_BACK.search(sentences[i])
        if taken_back is not None and (i or taken_back.start()):
            rest = sentences[i][taken_back.end() :].strip(" ,:;.—–-")
            sentences = [*([rest] if rest else []), *sentences[i + 1 :]] or sentences
            break
    for i, sentence in enumerate(sentences):
        is_other = has_other_rank(sentence, question) or _describes_other(sentence, question)
        if not is_other and not (i and _adds_rank(sentence, question)):
            yield sentence


def _read_form(lines: list[str], question: str, text: str) -> tuple[str | None, str]:
    """Return the answer of the lines of a completion by their form, and the rule."""
    if len(lines) > 1:
        return _read_lines(lines, question, text)
    if (doer := find_doer(lines[0], question)) is not None and not _REFUSAL.search(_plain(lines[0])):
        return doer, "sentence"
    if len(split_sentences(lines[0])) == 1 and has_other_rank(lines[0], question):
        return None, "none"
    return _read_line(lines[0], question, text)


def _drop_loop(lines: list[str]) -> list[str]:
    """Return the lines of a completion that was cut without those that it repeats at its end."""
    is_loop = len(lines) > LEAST_REPEATED and len(set(lines[-LEAST_REPEATED:])) == 1
    return [line for line in lines if line != lines[-1]] if is_loop else lines


def _select_part(answer: str | None, question: str) -> str | None:
    """Return the name, the year of a date or the part of "Paris, France" that a question asks for; else the answer."""
    if answer is None:
        return None
    if _asks_name(question) and (person := _PERSON.match(answer)):
        return person["name"]
    return _select_year(answer) if _ASKS_YEAR.search(question) else _select_place(answer, question)


def _select_place(answer: str, question: str) -> str:
    """Return the city, the state or the country of a place, as a question asks for one of them; else the answer."""
    region = _ASKS_COUNTRY.search(question)
    names = _split_place(answer) if region or _ASKS_CITY.search(question) else None
    if names is None:
        return answer
    if not region:
        return names[0]
    is_state = region[1].lower() in {"state", "province"}
    has_country = len(names) > 2 or names[-1].rstrip(".").lower() in _COUNTRIES_OF_STATES
    return names[-2] if is_state and has_country else names[-1]


def _select_year(answer: str) -> str:
    """Return the year of an answer that is a date as a whole; else the answer, such as "after 1945"."""
    date = _DATE.fullmatch(answer)
    if date is None or len(set(_YEAR.findall(answer))) > 1 or _OTHER_YEAR.search(answer):
        return answer
    return answer if _NEGATION.search(answer) or is_reported(answer) else date["year"]


def _split_place(answer: str) -> list[str] | None:
    """Return the names in "Sydney, New South Wales, Australia"; None for two places and for what is no place."""
    bare = _PLACE_REMARK.sub("", _REMARK.sub("", _LOCATED.sub("", answer)))
    if _TWO_PLACES.search(bare) or _NEGATION.search(bare) or _NOT_THERE.match(bare) or is_reported(bare):
        return None
    names: list[str] = []
    for part in re.split(r",\s+", bare):
        name = _PLACE_NAME.match(part)
        if name is None:
            break
        names.append(_trim(name[0]))
    return names if 1 < len(names) <= MOST_PLACE_NAMES else None


def strip_markup(line: str) -> str:
    """Return a line without markup, bullets and numbers of a list around it."""
    line = line.strip()
    return _MARKUP.sub("", line if line.isascii() else _PICTURES.sub("", line)).strip()


def _strip_bullet(line: str) -> str:
    """Return a line without bullets and numbers of a list before it, but with its markup."""
    return _BULLET.sub("", line.strip()).strip()


def _drop_polite_words(lines: Sequence[str]) -> list[str]:
    """Return the lines without words of politeness at the start, and without a first line that announces others."""
    first = _POLITE.sub("", lines[0]) if lines else ""
    rest = list(lines[1:])
    if rest and first.endswith((":", "：")):
        return rest
    return [first, *rest] if first else rest


def _extended_statement(text: str) -> str | None:
    """Return the last explicit statement, or what replaces it; one cut at an initial or an abbreviation goes on."""
    statement = find_statement(text)
    if statement is None:
        return None
    content = next((other.content for other in find_statements(text) if other.text == statement), 0)
    start = text.find(statement, content)
    if start >= 0 and (retracted := _RETRACTED.match(text, start + len(statement))):
        return retracted["replacement"]
    if not statement or start < 0 or text.startswith("}", start + len(statement)):
        return statement
    line = text[start : start + 400].partition("\n")[0]
    sentences = split_sentences(line)
    return sentences[0] if sentences and sentences[0].startswith(statement) else statement


def _read_stated(statement: str) -> tuple[str | None, str]:
    """Return the answer of a statement."""
    answer = _trim(strip_markup(re.sub(r"</\w+>.*$", "", statement)))
    answer = _APPOSITION.sub("", answer)
    if match := _NOT_BUT.search(answer):
        answer = match[1]
    elif answer.lower().startswith("not "):
        return None, "denied"
    if not answer:
        return None, "empty"
    return (None, "refused") if _REFUSAL.search(_plain(answer)) else (answer, "statement")


def _read_lines(lines: Sequence[str], question: str, text: str) -> tuple[str | None, str]:
    """Return the answer of a completion of several lines."""
    if (bold := _single_bold(text)) is not None:
        return bold, "bold"
    first, last = _is_bare(lines[0]), _is_bare(lines[-1])
    if first and _asks_further(lines):
        return _trim(lines[0]), "line"
    if first and last and len(lines) <= 6 and all(map(_is_bare, lines)):
        return None, "several"
    if first != last:
        return _trim(lines[0] if first else lines[-1]), "line"
    for line in (lines[-1], lines[0]):
        for sentence in (split_sentences(line) or [line])[:: -1 if line is lines[-1] else 1][:1]:
            clean = _clean_sentence(sentence)
            answer = _cut_by_subject(clean, question) or _cut_by_question(clean, question)
            if answer is not None:
                return answer, "sentence"
    return None, "none"


def _asks_further(lines: Sequence[str]) -> bool:
    """Return whether the second line asks a further question, which a later line answers."""
    return len(lines) > 2 and lines[1].endswith(("?", "？")) and len(lines[1].split()) > 2 and lines[0] != lines[2]


def _read_line(line: str, question: str, text: str) -> tuple[str | None, str]:
    """Return the answer of a completion of one line."""
    if _REFUSAL.search(_plain(line)):
        return None, "refused"
    sentences = split_sentences(line)
    if len(sentences) == 2 and sentences[0].endswith("?") and (denied := _DENIES_GUESS.match(sentences[1])):
        sentences = [sentences[1][denied.end() :]]
    if len(sentences) <= 1:
        return _read_sentence("".join(sentences) or line, question, text)
    if (bold := _single_bold(text)) is not None:
        return bold, "bold"
    if _is_bare(sentences[0]):
        clean = _clean_sentence(sentences[0])
        by_question = _cut_by_doer(clean, question) or _cut_by_question(clean, question)
        by_question = None if by_question is not None and by_question.lower().startswith("about ") else by_question
        is_sentence = by_question is None and not _VERBS.isdisjoint(clean.lower().split())
        if not is_sentence or not (_asks_name(question) and _describes(sentences[-1])):
            return by_question or _trim(sentences[0]), "line"
    if (answer := _read_ends(sentences, question)) is not None:
        return answer, "sentence"
    return (_trim(sentences[-1]), "line") if _is_bare(sentences[-1]) else (None, "none")


def _read_ends(sentences: list[str], question: str) -> str | None:
    """Return the answer that the last or the first of several sentences gives beside words of the question."""
    last = _clean_sentence(sentences[-1])
    # "Lake Baikal is the deepest lake. It is old.": the first sentence has all that the question asks about.
    answer = find_candidate(sentences[:1], question, least_share=1) if _PRONOUN.match(last) else None
    answer = answer or _cut_by_subject(last, question) or _cut_by_question(last, question)
    if answer is None and _asks_name(question) and _describes(last):
        answer = _cut_at_copula(last, question)
    first = _clean_sentence(sentences[0])
    return answer or _cut_by_subject(first, question) or _cut_by_question(first, question)


def _read_sentence(line: str, question: str, text: str) -> tuple[str | None, str]:
    """Return the answer of a completion that is one sentence or none."""
    sentence = _clean_sentence(line)
    if (match := _NOT_BUT.search(sentence) or _NOT_IT.search(sentence)) is not None:
        return _trim(match[1]), "sentence"
    if (bold := _single_bold(text)) is not None:
        return bold, "bold"
    named = _cut_at_copula(sentence, question)
    if named is not None and named[0].isupper() and (_cut_by_question(sentence, question) or "") not in sentence[5:]:
        return named, "sentence"  # "The tallest person is Claire.", where the question names Claire
    for answer in (
        _cut_by_doer(sentence, question),
        _cut_after_whole_subject(sentence, question),
        _cut_by_subject(sentence, question),
        _cut_by_question(sentence, question),
        _cut_after_pronoun(sentence),
        _cut_before_amount(sentence),
        _cut_at_copula(sentence, question),
        _cut_before_relative(sentence, question),
    ):
        if answer is not None:
            return answer, "sentence"
    return (_trim(sentence), "whole") if len(_WORD.findall(sentence)) <= MAX_WHOLE_WORDS else (None, "none")


def _cut_before_relative(sentence: str, question: str) -> str | None:
    """Return the answer of a sentence without its relative clause; None if it has none."""
    relative = _RELATIVE.search(sentence)
    if relative is None:
        return None
    shorter = sentence[: relative.start()]
    return _cut_after_whole_subject(shorter, question) or _cut_by_question(shorter, question)


# "Michelangelo? No, Leonardo da Vinci."
_DENIES_GUESS = re.compile(r"(?:no|nope)[,:.–—]+\s+(?=\S)", re.IGNORECASE)


def _describes(sentence: str) -> bool:
    """Return whether a sentence says of something described that it is a name: "The author is Jane Austen."."""
    parts = _COPULA.split(_clean_sentence(sentence))
    return len(parts) == 2 and bool(_COMMON_NOUN.match(parts[0])) and parts[1][:1].isupper()


def _asks_name(question: str) -> bool:
    """Return whether a question asks who somebody is."""
    return question.strip().lower().startswith(("who ", "which author", "which person"))


def _cut_by_doer(sentence: str, question: str) -> str | None:
    """Return NAME of "NAME painted it" and of "It is NAME that ..."; None for other sentences."""
    if _NEGATION.search(sentence) or _CREDITED.search(sentence) or is_reported(sentence):
        return None
    if cleft := _CLEFT.match(sentence):
        return _part(cleft["part"])
    did = _DID_IT.match(sentence)
    asks_who = did is not None and not _WH.isdisjoint(word.lower() for word in _WORD.findall(question)[:2])
    if (
        did is None
        or not asks_who
        or not any(match_stems(did["verb"], word.lower()) for word in _WORD.findall(question))
    ):
        return None
    return _part(did["part"])


def _cut_after_whole_subject(sentence: str, question: str) -> str | None:
    """Return what is said to be a subject that has all content words of a question: "Kenya's capital city is NAME."."""
    bare = _REMARK.sub("", sentence)
    parts = _COPULA.split(bare)
    if len(parts) != 2 or not question or len(question) > LONGEST_SUBJECT or _NEGATION.search(bare):
        return None
    if is_reported(bare) or bare.lower().startswith("if "):
        return None
    content = {word.lower() for word in _WORD.findall(question)} - _FUNCTION - _WH
    subject = [word.lower() for word in _WORD.findall(parts[0])]
    is_whole = len(content) > 1 and all(any(match_stems(word, other) for other in subject) for word in content)
    is_name = parts[1][:1].isupper() or _COMMON_NOUN.match(parts[1]) is not None
    return _part(parts[1]) if is_whole and is_name else None


def _cut_after_pronoun(sentence: str) -> str | None:
    """Return what follows "It is", or "It was written by"; None for another sentence."""
    match = _PRONOUN.match(sentence)
    if match is None or _NEGATION.search(sentence):
        return None
    return _part(_WHO_DID.sub("", _BY.sub("", sentence[match.end() :])))


def _cut_before_amount(sentence: str) -> str | None:
    """Return the amount of "It costs 25%"; None for another sentence."""
    match = _AMOUNT_OF.fullmatch(sentence)
    return None if match is None else match["amount"]


def _clean_sentence(sentence: str) -> str:
    """Return a sentence without its label, its first words of reasoning and its full stop."""
    sentence = _LABEL.sub("", strip_markup(sentence))
    while (shorter := _LEAD.sub("", sentence)) != sentence and shorter:
        sentence = shorter
    return _trim(sentence)


def _cut_by_question(sentence: str, question: str) -> str | None:
    """Return the words of a sentence beside those that repeat the question; None if they are not one short part."""
    bare = _REMARK.sub("", sentence)
    words = list(_WORD.finditer(bare)) if question and len(sentence) <= 400 else []
    if not 2 <= len(words) <= 60 or _NEGATION.search(bare):
        return None
    question_words = {word.lower() for word in _WORD.findall(question)}
    lower = [word[0].lower() for word in words]
    repeated = [word in _FUNCTION or any(match_stems(word, other) for other in question_words) for word in lower]
    content = [repeated[i] and lower[i] not in _FUNCTION for i in range(len(words))]
    left = _count_repeated(repeated, lower, has_did="did" in question_words)
    right = _count_repeated(repeated[::-1])
    if left < len(words) and _VERBS.isdisjoint(lower[left:]) and _introduces(lower[:left], content[:left]):
        # An article before the answer belongs to it, and an end such as "for photosynthesis" to the question.
        stop = len(words) - right
        is_repeated = left < stop < len(words) and lower[stop] in _PREPOSITIONS
        start = words[left - (lower[left - 1] in _ARTICLES)].start()
        if (sign := _SIGN_BEFORE.search(bare, 0, start)) is not None:
            start = sign.start()
        return _part(bare[start : words[stop - 1].end()] if is_repeated else bare[start:])
    end = len(words) - right
    before = lower[:end]
    if (
        end
        and right >= 2
        and any(content[end:])
        and not _VERBS & set(before)
        and (lower[end] in _VERBS or content[end])
    ):
        return _part(bare[: words[end - 1].end()])
    return None


def _cut_by_subject(sentence: str, question: str) -> str | None:
    """Return NAME of "NAME is the largest ocean, ..." and of "NAME lies between ...", if the rest repeats the question.

    The first words after the verb and its article must be words of the question, and NAME must have another word.
    """
    words = list(_WORD.finditer(sentence)) if question else []
    if not 3 <= len(words) <= 60 or _NEGATION.search(_REMARK.sub("", sentence)):
        return None
    question_words = {word.lower() for word in _WORD.findall(question)}
    lower = [word[0].lower() for word in words]
    repeated = [any(match_stems(word, other) for other in question_words) for word in lower]
    verb = next((i for i, word in enumerate(lower[:8]) if word in {"is", "was", "are", "were"}), None)
    if verb is None:
        # The verb of the question: "The Atlantic Ocean lies between ...".
        first = 1 if lower[0] in _ARTICLES else 0
        verb = next((i for i in range(first + 1, min(8, len(words))) if words[i][0].islower() and repeated[i]), None)
        if verb is None or sum(repeated[verb : verb + 3]) < min(3, len(words) - verb):
            return None
        rest = verb
    else:
        rest = verb + 1
        while rest < len(words) - 1 and lower[rest] in _ARTICLES | {"also", "currently", "one", "of"}:
            rest += 1
        if rest == verb + 1 or not all(repeated[rest : rest + 2]) or lower[rest] in _FUNCTION:
            return None
    head = lower[:verb]
    content = [i for i, word in enumerate(head) if word not in _FUNCTION]
    if not content or repeated[content[0]] or not _SUBJECTS.isdisjoint(head) or not _PREPOSITIONS.isdisjoint(head):
        return None
    return _part(sentence[: words[verb].start()]) if words[verb].start() <= 80 else None


def _introduces(words: Sequence[str], content: Sequence[bool]) -> bool:
    """Return whether words that repeat the question end as a sentence does before its answer: "The war ended in"."""
    if len(words) < 2 or words[-1] not in _PREPOSITIONS | _VERBS | _ARTICLES:
        return False
    return not (_VERBS | _PREPOSITIONS).isdisjoint(words) and (any(content) or words[0] in _SUBJECTS)


def _count_repeated(repeated: Sequence[bool], words: Sequence[str] = (), *, has_did: bool = False) -> int:
    """Return how many words from the start repeat the question; participles ("was written by") are passed over.

    So are past forms before a preposition ("sank in") where the question has "did ... sink".
    """
    i = 0
    while i < len(repeated):
        after = words[i + 1] if i + 1 < len(words) else ""
        if repeated[i]:
            i += 1
        elif (
            i and after and ((words[i - 1] in _VERBS and after in {"by", "in", "as"}) or (has_did and after in _PLACES))
        ):
            i += 2
        else:
            break
    return i


# "Asia is the largest continent on Earth."
_RANKED = re.compile(r"\b(?:is|are|was|has)\b[^.;]{0,40}\b(?:[a-z]{3,}est|most [a-z]+)\b")
_SUPERLATIVE = re.compile(r"\b(?:[a-z]{3,}est|most|top|first|last)\b", re.IGNORECASE)


def _adds_rank(sentence: str, question: str) -> bool:
    """Return whether a sentence only says what is the largest or the like, without a name of a question about none."""
    if _RANKED.search(sentence) is None or _SUPERLATIVE.search(question):
        return False
    names = re.findall(r"(?<=\s)[A-Z][\w-]+", question)
    return bool(names) and not any(name in sentence for name in names) and not _PRONOUN.match(sentence)


# "What is the capital of Australia?", and "Sydney is the largest city of Australia."
_OF_WHAT = re.compile(
    r"\b(?:is|was|are|were)\s+(?:the|an?)\s+(?P<role>[^,;.?]{2,50}?)\s+(?:of|in)\s+(?:the\s+)?(?P<name>[A-Z]\w+)"
)


def _describes_other(sentence: str, question: str) -> bool:
    """Return whether a question asks for the one role of something, and a sentence names what has another role."""
    request, role = _OF_WHAT.search(question), _OF_WHAT.search(sentence)
    if request is None or role is None or request["name"] != role["name"] or _asks_name(question):
        return False
    noun = request["role"].split()[-1].lower()
    return not any(match_stems(noun, word.lower()) for word in _WORD.findall(sentence))


def _cut_at_copula(sentence: str, question: str) -> str | None:
    """Return the proper name in "NAME is the ..." and in "The ... is NAME"; None where it is not clear which side."""
    if _NEGATION.search(_REMARK.sub("", sentence)):
        return None
    parts = _COPULA.split(_REMARK.sub("", sentence))
    if len(parts) != 2 or _describes_other(sentence, question):
        return None
    subject, rest = (part.strip() for part in parts)
    described = [bool(_COMMON_NOUN.match(part)) for part in (subject, rest)]
    if described == [True, False]:
        return _part(rest)
    return _part(subject) if described == [False, True] else None


def _part(text: str) -> str | None:
    """Return a part of a sentence as an answer; None if it is long, or only "we" or "you"."""
    answer = _trim(text)
    return answer if answer and len(answer.split()) <= MAX_PART_WORDS and answer.lower() not in _SPEAKERS else None


def _single_bold(text: str) -> str | None:
    """Return the only text in bold; None if there is none, or there are several."""
    bold = {" ".join(match.split()).casefold().strip(" .:"): match for match in _BOLD.findall(text)}
    if len(bold) != 1:
        return None
    (answer,) = bold.values()
    label = answer.strip().endswith(":") or _LABEL.match(f"{answer.strip()}:")
    return None if label or len(answer.split()) > MAX_LINE_WORDS else _trim(answer)


def _is_bare(line: str) -> bool:
    """Return whether a line is a short phrase, and no sentence, heading or announcement."""
    words = [word.lower() for word in _WORD.findall(line)]
    if not 1 <= len(words) <= MAX_LINE_WORDS or line.endswith((":", "?", "…", "...")):
        return False
    return not _TALK & set(words) and not _REFUSAL.search(_plain(line))


def _plain(text: str) -> str:
    """Return a text in lower case with straight apostrophes."""
    return text.lower().replace("’", "'")


def _trim(text: str) -> str:
    """Return a text without the punctuation that ends a sentence, and without markup around it.

    >>> _trim("**Martin Luther King Jr.**"), _trim("in 1945."), _trim("U.S.A.")
    ('Martin Luther King Jr.', 'in 1945', 'U.S.A.')
    """
    text = text.strip().strip("*_`").strip()
    if text.endswith((".", "!", "?", ",", ";", "。", "！", "।")) and not _ABBREVIATION.search(text) and len(text) > 1:
        text = text.rstrip(".!?,;。！।").rstrip("*_` ") or text
    return text
