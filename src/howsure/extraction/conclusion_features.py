"""Describe how a completion ends, as numbers of each choice that a model of its conclusion weighs.

Only the first and the last sentences are read, without the remarks at the end ("Let me know if ..."), so that the time
is bounded whatever the length of the completion is. What a sentence says of a choice counts less where it mentions
further ones, and less the more sentences follow it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from howsure.extraction.choice_mentions import (
    ChoiceMention,
    QuestionWords,
    find_stems,
    read_mentions,
    read_question,
    read_reference,
)
from howsure.extraction.choice_phrases import is_hypothetical, lists_choices
from howsure.extraction.choice_texts import split_sentences
from howsure.extraction.vocabulary import LOOSE, Vocabulary, any_of

__all__ = ["CHOICE_FEATURES", "TEXT_FEATURES", "ConclusionFeatures", "describe_conclusion"]

#: Characters at the start and at the end of a completion that are read.
LONGEST_START, LONGEST_END = 400, 2000
#: Characters of a sentence that are read, and of a heading.
LONGEST_SENTENCE, LONGEST_HEADING = 500, 80
#: How much less a sentence counts than the one after it.
DECAY = 0.8
#: Sentences at the end that are searched for words that refuse an answer, and most that follow the last mention.
REFUSING, MOST_AFTER = 3, 4

#: Feature of a choice -> what it is. Each is between 0 and 1.
CHOICE_FEATURES = {
    "last_sentence": "the last sentence that mentions a choice mentions this one, alone or among so many",
    "sentences_after": "sentences after it",
    "concluded": "a sentence with words such as therefore, overall, answer or go with mentions it",
    "supported": "a sentence with words such as correct, best or fits mentions it",
    "echoes_most": "of the sentences that mention choices, its own has most words of the question",
    "echo_lead": "words of the question that they have more than the other sentences, as a share of all",
    "first_sentence": "the first sentence mentions it",
    "share_denied": "its mentions that are denied",
    "others_denied": "the other choices whose last mention is denied",
    "not_mentioned": "it is not mentioned",
    "label_in_last": "the last mention is only a label",
    "label_and_text": "the last mention is a label with the text of the choice",
    "ends_text": "the last mention ends its sentence",
    "begins_sentence": "the last sentence mentions it first and others behind it",
    "hedged": "the last sentence has words such as if, maybe or some",
    "odd_one": "the question asks for an exception, and a sentence says that it is one",
}
#: Feature of a text, for the alternative that it gives no choice -> what it is.
TEXT_FEATURES = {
    "constant": "1",
    "asks_for_wrong": "the question asks for an exception or for what is false",
}
_HEADING = re.compile(
    r"\s*(?:\(?[A-Z\d]{1,2}[.)]\s*$|[*_]{2}[^*_.\n]{1,40}[.:]$|#{1,6}\s|[*_]{2}[^*_\n]{1,60}[*_]{2}[:.]?\s*$|[^.!?\n]{1,50}:[*_\s]*$)"
)
# A line that goes on in the next one: "so we are left with", "i.e.".
_CONTINUED = re.compile(
    r"\b(?:with|is|are|be|of|to|as|gives?|get|equals|i\.e\.|e\.g\.|vs?\.|cf\.|Dr\.|St\.)[\s:]*$", re.IGNORECASE
)
_CONCLUDES = re.compile(
    any_of(
        *(
            "therefore",
            "so",
            "thus",
            "hence",
            "consequently",
            "accordingly",
            "in summary",
            "to sum up",
            "in conclusion",
        ),
        *("conclusion", "overall", "finally", "final", "verdict", "recommendation", "answer", "by elimination"),
        *("by process of elimination", "left with", "leaves", "leaving", "remains", "go with", "going with", "choose"),
        *("pick", "opt", "suggest", "recommend", "would say", "i['’]d", "i think", "i believe", "must be"),
        *("it is clear", "it['’]s clear", "taking everything", "given these", "all in all", "in short", "in this case"),
        *(
            "daher",
            "also (?:ist|sind|bleibt|lautet|muss)",
            "somit",
            "donc",
            "ainsi",
            "por lo tanto",
            "entonces",
            "quindi",
            "portanto",
            "perciò",
            "dunque",
        ),
    )
    + r"(?!\w)|таким образом|поэтому|следовательно|значит|따라서|그러므로|因此|所以|综上|綜上|したがって|よって|इसलिए"
    r"|ดังนั้น|لذلك|→"
)
_HEDGED = re.compile(
    any_of(
        *(
            "maybe",
            "might",
            "may",
            "could",
            "perhaps",
            "possibly",
            "either",
            "if",
            "whether",
            "depends",
            "some",
            "suppose",
        ),
        *("assum\\w+", "unless", "many", "people", "would have", "often", "seems?", "consider", "check"),
    )
    + r"(?!\w)|\?"
)
_REFUSED = re.compile(
    any_of(
        *("sorry", "unable", "cannot (?:tell|say|determine|answer|decide)", "can['’]t", "don['’]t (?:know|see|have)"),
        *("do not know", "none of", "not sure", "unclear", "clarify", "depends", "not among", "not listed"),
        *("both (?:answers|options|are|of|could|may|seem|play)", "either (?:of|one|answer|option|could|may)"),
        *("all (?:of the|four|three)", "not (?:able|possible)", "please provide", "could you", "would you"),
        *("as an ai", "neither", "isn['’]t among", "mistake in the question", "through [b-j]\\)"),
    )
    + r"(?!\w)"
)
_REMARK = re.compile(
    r"[\s(*_>]*(?:let me know|i hope|hope (?:this|that|it)|feel free"
    r"|if you(?:['’]d|\s(?:have|need|would|want|forget))|happy\s|good luck"
    r"|please consult|don['’]t hesitate|next time|check:|\W*disclaimer|\W*note\b|would you like|do you want"
    r"|careful|be careful|watch out|remember|\((?=.*\)[\s.]*$))",
    re.IGNORECASE,
)
_SOUGHT = re.compile(
    any_of("answer", "exception", "odd", "the one", "choose", "pick", "conclusion", "gesucht\\w*") + r"\b"
)
_CONDITION = re.compile(r"\W*if\b", re.IGNORECASE)
_ITEM = re.compile(r"[\s*_#>•-]*\(?(?:\d{1,2}|[A-Z])[.):]")
#: Stands for the spaces of a choice with a full stop within it, so that its sentence is not split there.
JOINER = "\u2060"
_INNER_STOP = re.compile(r"[.!?;]\s")
_STOPS = frozenset(".!?。！？।}$:…")


class ConclusionFeatures(NamedTuple):
    """The numbers of `CHOICE_FEATURES` of each choice, and those of `TEXT_FEATURES` of the text."""

    choices: list[dict[str, float]]
    text: dict[str, float]


def describe_conclusion(text: str, words: Vocabulary, question: str) -> ConclusionFeatures | None:
    """Return what the sentences of a text say of each choice; None if it has no sentence or does not conclude.

    Parameters
    ----------
    text
        The masked text of a completion.
    words
        The labels and texts of the choices.
    question
        Text of the question.

    Examples
    --------
    >>> from howsure.extraction.vocabulary import build_vocabulary
    >>> words = build_vocabulary(("A", "B"), ("Venus", "Mars"))
    >>> venus, mars = describe_conclusion("Venus is not red. So it would be Mars.", words, "Which is red?").choices
    >>> venus["share_denied"], mars["others_denied"], mars["concluded"]
    (1.0, 1.0, 1.0)
    """
    sentences = _select_sentences(text, words)
    if not sentences or len(words.folded) < 2:
        return None
    about = read_question(words, question)
    mentions = _read_all(sentences, words, about)
    if _is_open(text, sentences, mentions, words):
        return None
    evidence = [_weigh(sentence, some, about) for sentence, some in zip(sentences, mentions, strict=True)]
    features = [dict.fromkeys(CHOICE_FEATURES, 0.0) for _ in words.folded]
    _count_sentences(sentences, mentions, evidence, features)
    _count_echoes(sentences, mentions, evidence, about, features)
    _count_last(sentences, mentions, evidence, words, features)
    _count_denials(mentions, features)
    return ConclusionFeatures(features, {"constant": 1.0, "asks_for_wrong": float(about.asks_wrong)})


def _is_open(
    text: str, sentences: Sequence[str], mentions: Sequence[dict[int, ChoiceMention]], words: Vocabulary
) -> bool:
    """Return whether a text does not conclude with a choice: it asks, refuses, breaks off, or concludes with no choice.

    One that breaks off must end with a choice. A single sentence with only a label is left to the rules.
    """
    if text.rstrip().endswith("?") or _REFUSED.search(" ".join(sentences[-REFUSING:]).casefold()):
        return True
    if len(text) > LONGEST_HEADING and text.rstrip(" \n*_`\")'”]|")[-1:] not in _STOPS:
        last = " ".join(words.without_latex(sentences[-1]).split())
        return not any(_ends_with(last, one) for one in mentions[-1].values())
    if not mentions[-1] and _CONCLUDES.search(sentences[-1].casefold()):
        return True
    return len(sentences) == 1 and all(one.kind == "label" for one in mentions[0].values())


def _ends_with(sentence: str, mention: ChoiceMention) -> bool:
    """Return whether a sentence without spare spaces ends with the mention of a choice."""
    return mention.kind != "pronoun" and not sentence[mention.end :].strip(LOOSE + ")]")


def _select_sentences(text: str, words: Vocabulary) -> list[str]:
    """Return the first and the last sentences of a text with their headings, without copies of choices and remarks."""
    if len(text) > LONGEST_START + LONGEST_END:
        text = f"{text[:LONGEST_START]}\n{text[-LONGEST_END:]}"
    text = _remove_copies(text, words)
    for choice in words.folded:
        if _INNER_STOP.search(choice) and (place := text.lower().find(choice)) >= 0:
            inner = text[place : place + len(choice)]
            text = text.replace(inner, inner.replace(" ", JOINER))
    sentences: list[str] = []
    heading = ""
    for part in split_sentences(text):
        sentence = part.replace(JOINER, " ")
        if not sentence.strip(LOOSE + "\n\r-#>|"):
            continue
        if heading.rstrip().endswith(":") and _ITEM.match(sentence):
            heading = ""  # "The options are:"
        is_heading = len(sentence) <= LONGEST_HEADING and _HEADING.match(sentence) is not None
        if len(heading) <= LONGEST_SENTENCE and (is_heading or _CONTINUED.search(sentence)):
            heading += f"{sentence.strip()} "
        else:
            sentences.append((heading + sentence)[-LONGEST_SENTENCE:])
            heading = ""
    sentences += [heading] if heading else []
    while len(sentences) > 1 and _REMARK.match(sentences[-1]):
        sentences.pop()
    return sentences


def _remove_copies(text: str, words: Vocabulary) -> str:
    """Return a text without a list of the choices."""
    lines = text.split("\n")
    copies = {i for i, line in enumerate(lines) if _is_copy(line.replace(" = ", ") ").strip(" -*•\t"), words)}
    is_list = len(copies) > 1 or any(lists_choices(lines[i], words) for i in copies)
    return "\n".join(line for i, line in enumerate(lines) if i not in copies) if is_list else text


def _is_copy(line: str, words: Vocabulary) -> bool:
    """Return whether a line is a choice, perhaps with its label, or several ones."""
    match = words.labels.labelled.match(line)
    return lists_choices(line, words) or words.match_text(match["rest"] if match else line) is not None


def _read_all(sentences: Sequence[str], words: Vocabulary, about: QuestionWords) -> list[dict[int, ChoiceMention]]:
    """Return the mentions of each sentence; "this" mentions the only choice of the sentence before it.

    A condition, and an item of a list without a verdict, only considers what it mentions.
    """
    mentions: list[dict[int, ChoiceMention]] = []
    items = [_ITEM.match(sentence) is not None for sentence in sentences]
    is_condition = False
    for i, sentence in enumerate(sentences):
        own = read_mentions(sentence, words, about)
        goes_on = is_condition and sentences[i - 1].endswith(";")
        is_condition = goes_on or _CONDITION.match(sentence) is not None or is_hypothetical(sentence)
        if is_condition or (items[i] and sum(items) > 1):
            for place, one in own.items():
                is_verdict = one.is_denied or one.is_supported or one.is_odd
                own[place] = one._replace(is_considered=is_condition or not is_verdict)
        if not own and mentions and len(mentions[-1]) == 1:
            ((place, before),) = mentions[-1].items()
            reference = read_reference(sentence, before, about)
            own = {} if reference is None else {place: reference}
        mentions.append(own)
    return mentions


def _weigh(sentence: str, mentions: dict[int, ChoiceMention], about: QuestionWords) -> dict[int, float]:
    """Return how much a sentence speaks for each choice that it mentions and neither denies nor only considers."""
    is_sought = not about.asks_wrong or _SOUGHT.search(sentence.casefold()) is not None
    places = [
        place
        for place, one in mentions.items()
        if not one.is_considered and not one.is_denied and (is_sought or one.is_odd)
    ]
    return {place: mentions[place].strength / len(places) for place in places}


def _count_sentences(
    sentences: Sequence[str],
    mentions: Sequence[dict[int, ChoiceMention]],
    evidence: Sequence[dict[int, float]],
    features: list[dict[str, float]],
) -> None:
    """Enter which choices sentences conclude with, support and begin with."""
    for i, sentence in enumerate(sentences):
        is_conclusion = _CONCLUDES.search(sentence.casefold()) is not None
        for place, weight in evidence[i].items():
            row, one = features[place], mentions[i][place]
            later = weight * DECAY ** (len(sentences) - 1 - i)
            row["concluded"] = max(row["concluded"], later * is_conclusion)
            row["supported"] = max(row["supported"], later * one.is_supported)
            row["odd_one"] = max(row["odd_one"], later * one.is_odd)
            row["first_sentence"] = weight if i == 0 else row["first_sentence"]


def _count_echoes(
    sentences: Sequence[str],
    mentions: Sequence[dict[int, ChoiceMention]],
    evidence: Sequence[dict[int, float]],
    about: QuestionWords,
    features: list[dict[str, float]],
) -> None:
    """Enter which choice is mentioned with most words of the question."""
    echoes = [0.0] * len(features)
    for sentence, some, weights in zip(sentences, mentions, evidence, strict=True):
        for place, weight in weights.items():
            stems = find_stems(some[place].part if len(some) > 1 else sentence)
            echoes[place] = max(echoes[place], weight * len(about.own.intersection(stems)))
    for echo, row in zip(echoes, features, strict=True):
        row["echoes_most"] = float(echo == max(echoes) > 0)
        others = sorted(echoes)[-2:]
        lead = echo - (others[0] if echo == others[1] else others[1])
        row["echo_lead"] = max(0.0, lead) / max(1, len(about.own))


def _count_last(
    sentences: Sequence[str],
    mentions: Sequence[dict[int, ChoiceMention]],
    evidence: Sequence[dict[int, float]],
    words: Vocabulary,
    features: list[dict[str, float]],
) -> None:
    """Enter how the last sentence that mentions choices, and does not only consider them, speaks of them."""
    last = max((i for i, some in enumerate(mentions) if any(not one.is_considered for one in some.values())), default=0)
    sentence, some = sentences[last], mentions[last]
    plain = " ".join(words.without_latex(sentence).split())
    is_hedged = _HEDGED.search(sentence.casefold()) is not None
    after = min(len(sentences) - 1 - last, MOST_AFTER) / MOST_AFTER
    for place, weight in evidence[last].items():
        one = some[place]
        features[place] |= {
            "last_sentence": weight,
            "sentences_after": weight * after,
            "label_in_last": weight * (one.kind == "label"),
            "label_and_text": weight * (one.kind == "both"),
            "ends_text": weight * _ends_with(plain, one),
            "begins_sentence": float(len(some) > 1 and one.start == min(other.start for other in some.values())),
            "hedged": weight * is_hedged,
        }


def _count_denials(mentions: Sequence[dict[int, ChoiceMention]], features: list[dict[str, float]]) -> None:
    """Enter how often each choice and the others are denied."""
    mentioned = [
        [one for some in mentions if (one := some.get(place)) and not one.is_considered]
        for place in range(len(features))
    ]
    is_denied = [bool(own) and own[-1].is_denied for own in mentioned]
    for place, (row, own) in enumerate(zip(features, mentioned, strict=True)):
        row["not_mentioned"] = float(not own)
        row["share_denied"] = sum(one.is_denied for one in own) / len(own) if own else 0.0
        if own and not is_denied[place]:
            row["others_denied"] = sum(is_denied) / (len(features) - 1)
