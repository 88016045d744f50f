r"""Find the choice that a completion gives by its text, where it neither states an answer nor names a label.

These rules are tried in their order, and each needs exactly one choice:

1. *result*: the last line ends with "= 56" or "≈ 1/3", and that is the whole text of a choice;
2. *conclusion*: the last sentence that names a choice has "so", "therefore" or the like before it, and no other choice;
3. *start*: the completion begins with the whole text of a choice: "Augustus, who ruled ...";
4. *predicate*: the only sentence of the completion, or the last one of a completion that gives no other choice, ends
   with "is south", and other choices are named before the verb;
5. *echo*: a sentence repeats the words of the question and names one choice: "The Red Planet is Mars.", or says so of
   the subject of the question: "Since ..., the argument is deductively valid.".

Choices are found as whole words; where they end with a number or a formula, no operator may follow them.
"""

from __future__ import annotations

import re
from functools import lru_cache

from howsure.extraction.choice_amounts import match_result
from howsure.extraction.choice_phrases import is_hypothetical
from howsure.extraction.languages import is_reported
from howsure.extraction.vocabulary import LOOSE, Vocabulary, any_of

__all__ = ["find_given_text", "split_sentences"]

#: Longest completion that is searched for an echo of its question, and how much of the question is compared.
LONGEST_ECHO, LONGEST_QUESTION = 600, 400
#: Most characters of the last sentence after "so" besides the text of the choice.
LONGEST_CONCLUSION = 60
# The search for the first character skips all others at once.
_SENTENCE_END = re.compile(r"[.!?;\n。！？](?:(?<=[.!?;])(?P<gap>[*_\"')\]]{0,4}\s+)|(?<=[\n。！？]))")
_EQUALS = re.compile(r"(?<![<>!=])[=≈≃](?!=)|\\approx\b")
_CONCLUDING_WORDS = (
    *("so", "therefore", "thus", "hence", "daher", "also ", "donc", "quindi", "portanto", "entonces"),
    *("that leaves", "this leaves", "leaving", "by elimination", "by process of elimination"),
    *("i'll go with", "i will go with", "i would go with", "i'd go with", "i'd say", "i choose"),
)
# "Also" concludes in German, and adds in English.
_CONCLUDES = re.compile(
    any_of(
        *(word for word in _CONCLUDING_WORDS if word != "also "),
        "also(?=\\s+(?:ist|sind|die|der|das|es|bleibt|lautet|nur|muss)\\b)",
    )
    + r"\b[,:]?"
)
# The same in scripts without spaces and others, and words that deny in them.
_CONCLUDES_NATIVE = re.compile(
    "(?:したがって|よって|つまり|所以|因此|따라서|그러므로|ดังนั้น|لذلك|إذن|अतः|इसलिए|তাই|সুতরাং|(?<!\\w)(?:поэтому|следовательно|значит|итак)(?!\\w))[、,，:：]?",
    re.IGNORECASE,
)
_NEGATED_NATIVE = re.compile("不是|不能|没有|ではな|じゃな|ません|아니|않|ไม่|ليس|لا |नहीं|নয়|না |(?<!\\w)не(?!\\w)")
_COPULA = re.compile(
    r"(?:(?<!\w)(?:is|are|was|were|be|equals|gives|makes|face|faces|ist|est|es|è|é|(?:it|that)['’]s)|[:=])\s+"
    r"(?:the\s+|an?\s+)?\W{0,3}$"
)
_OPEN_QUESTION = re.compile(
    any_of(
        *("maybe", "might", "may", "could", "perhaps", "possibly", "either", "unsure", "guess", "depends", "unclear"),
        *("unknown", "sorry", "unable", "cannot", "whether", "if", "let", "need", "must", "should", "consider"),
        *("check", "compare", "analy[sz]e", "assum(?:e[ds]?|ing)", "suppose", "neither", "nor", "never", "no", "not"),
        *("except", "although", "though"),
        *("wrong", "incorrect", "false", "rather", "instead", "unlike", "than", "however"),
    )
    + r"\b|n['’]t\b|\?"
)
_WORD = re.compile(r"[^\W\d_]{3,}")
_SCRIPT_WITHOUT_SPACES = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
#: Words of questions that say nothing about their subject.
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "which what who whom whose how when where why the and are was were has have had does did for from with that"
        " this these those following into its known called most best one not can will would there their they you your"
        " many much about statement option options answer choose correct true",
    )
)


#: Most remarks at the end of a completion that are left out.
MOST_REMARKS = 3
# A sentence behind the answer that warns of a mistake, or stands in brackets.
_REMARK_LINE = re.compile(
    r"(?:(?<=[.!])[ ]|\n)\s*(?:"
    r"\(?(?:if\s+(?:you|one|we)\s+(?:had\s+)?(?:forg[eo]t|instead|used|mistakenly)|a\s+common\s+(?:mistake|error)|be\s+careful"
    r"|(?:do\s+not|don['’]t)\s+confuse|watch\s+out|many\s+students|without\s+the)\b[^\n]*|\([A-Z][^()\n]*(?:\([^()\n]*\)[^()\n]*)*\))\s*$",
    re.IGNORECASE,
)
# What may follow an answer that begins a completion.
_REMARK = re.compile(r",\s+(?=(?:who|which|because|since|as|often|also|so|i\.e\.|with|the|an?)(?!\w))|\s+[–—(]")
# "The closest planet is Mercury, followed by Venus and Earth."
_FOLLOWED = re.compile(r",\s(?:followed by|ahead of)\s[^.;:\n]{1,150}[\s.*_]*$", re.IGNORECASE)
_NOT_BUT = re.compile(r"\bnot\s[^.,;]{1,60}\sbut(?:\s+rather)?(?:\s+by)?\s+\W{0,3}$")
_SUPPOSED = re.compile(any_of("if", "whether", "suppose", "assum", "unless", "may", "might", "could") + r"|\?")


def find_given_text(text: str, words: Vocabulary, question: str, *, wants_wrong: bool = False) -> int | None:
    """Return the index of the choice whose text a completion gives as its answer; None if it gives none or several.

    Parameters
    ----------
    text
        The masked text, without its list of choices.
    words
        The labels and texts of the choices.
    question
        Text of the question; empty if it is unknown.
    wants_wrong
        Whether the question asks for what is wrong, so that its words say nothing about the answer.

    Examples
    --------
    >>> from howsure.extraction.vocabulary import build_vocabulary
    >>> words = build_vocabulary(("A", "B"), ("Venus", "Mars"))
    >>> find_given_text("Venus is bright, and Mars has more iron. So Mars.", words, "")
    1
    """
    text = _FOLLOWED.sub("", _remove_remarks(text))
    end = text.rstrip()[-LONGEST_ECHO - 1 :]
    sentences = [sentence for sentence in split_sentences(end) if sentence.strip(LOOSE)]
    if not sentences:
        return None
    place = _read_result(end.rpartition("\n")[2], words)
    lower = end.lower()
    has_conclusion = any(word in lower for word in _CONCLUDING_WORDS) and _CONCLUDES.search(end) is not None
    if not end.isascii() and _CONCLUDES_NATIVE.search(end):
        has_conclusion = _NEGATED_NATIVE.search(sentences[-1]) is None or _NEGATED_NATIVE.search(question) is not None
    for sentence in reversed(sentences) if has_conclusion else ():
        if place is None:
            place = _read_conclusion(sentence, words)
        if place is not None or words.find_text(sentence, "text")[1] != "none":
            break
    if place is None and len(end) <= LONGEST_ECHO:
        place = _read_start(sentences, words)
    if place is None and len(end) <= LONGEST_ECHO:
        last, is_only = _read_end(sentences[-1], words), len(sentences) == 1
        if is_only or (":" not in sentences[-1] and words.find_text(words.without_latex(end), "text")[0] == last):
            place = last
    if place is None and question:
        place = _read_about_question(text, end, sentences, words, question, wants_wrong=wants_wrong)
    return place


def _remove_remarks(text: str) -> str:
    """Return a text without remarks at its end on what would be a mistake: "If you forgot to subtract, ..."."""
    for _ in range(MOST_REMARKS):
        remark = _REMARK_LINE.search(text, max(0, text.rstrip().rfind("\n")))  # it is in the last line
        if remark is None or not text[: remark.start()].strip():
            break
        text = text[: remark.start()].rstrip()
    return text


def _read_about_question(
    text: str, end: str, sentences: list[str], words: Vocabulary, question: str, *, wants_wrong: bool
) -> int | None:
    """Return the choice of a sentence with words of the question, at the end of a text or else at its start."""
    place = _read_echo(sentences, words, question) if not wants_wrong and len(end) <= LONGEST_ECHO else None
    if place is None:
        place = _read_subject(sentences, words, question)
    if place is None and not wants_wrong:
        place = _read_which(sentences, words, question)
    if place is None and len(end) < len(text.strip()):
        # "The argument is invalid." above a long explanation, whose end says nothing else.
        place = _read_subject(split_sentences(text.lstrip()[:LONGEST_ECHO])[:1], words, question)
    return place


def split_sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text, with the stops at their ends."""
    sentences, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        stop = end.start() if end[0] == "\n" else end.end() if end["gap"] is None else end.start("gap")
        sentences.append(text[start:stop])
        start = end.end()
    return [*sentences, text[start:]]


def _read_result(line: str, words: Vocabulary) -> int | None:
    """Return the choice that is the right-hand side of the last equation of a line."""
    if not any(sign in line for sign in ("=", "≈", "≃", "\\approx")):
        return None
    sides = _EQUALS.split(words.without_latex(line))
    if len(sides) == 1:
        return None
    place = words.match_text(sides[-1])
    place = match_result(sides[-1], words) if place is None else place
    if place is None and len(sides) > 2:
        place = words.match_text(f"{sides[0].strip()} = {sides[-1].strip()}")  # rate = k[A]^1 = k[A]
    # "2/6 = 1/3 ≈ 0.333" gives 1/3 where 0.333 is no choice.
    return (
        words.match_text(sides[-2])
        if place is None and len(sides) > 2 and "=" not in line[-len(sides[-1]) - 2 :]
        else place
    )


def _read_start(sentences: list[str], words: Vocabulary) -> int | None:
    """Return the choice that is the first sentence, or its first part: "Augustus, who ruled from ..."."""
    first = _REMARK.split(sentences[0], maxsplit=1)[0]
    place = words.match_text(words.without_latex(first))
    if place is None or (len(sentences) > 1 and words.match_text(sentences[1]) is not None):
        return None
    return None if sentences[0].rstrip().endswith("?") else place


def _read_conclusion(sentence: str, words: Vocabulary) -> int | None:
    """Return the only choice that a sentence names after its last "so" or "therefore"."""
    start = max(
        (
            match.end()
            for pattern in ((_CONCLUDES,) if sentence.isascii() else (_CONCLUDES, _CONCLUDES_NATIVE))
            for match in pattern.finditer(sentence)
        ),
        default=-1,
    )
    clause = words.without_latex(sentence[start:]).strip(LOOSE) if start >= 0 else ""
    if not clause or _is_open(sentence[start:], words):
        return None
    place, _ = words.find_text(clause, "text")
    if place is None or len(clause) > len(words.folded[place]) + LONGEST_CONCLUSION:
        return None
    is_word = any(character.isalpha() for character in words.folded[place])
    return place if is_word or clause.casefold().endswith(words.folded[place]) else None


def _read_end(sentence: str, words: Vocabulary) -> int | None:
    """Return the choice at the end of a sentence, after its verb."""
    folded = words.without_latex(sentence).casefold().rstrip(LOOSE + ")")
    ends = [i for i, choice in enumerate(words.folded) if choice and folded.endswith(choice)]
    place = max(ends, key=lambda i: len(words.folded[i]), default=None)
    if place is None or _SUPPOSED.search(folded):
        return None
    before = folded[: len(folded) - len(words.folded[place])]
    if is_reported(re.split(r"[,;]\s", before)[-1]):
        return None
    if _NOT_BUT.search(before):
        return place
    # "Although ..., the first emperor was Augustus": only the last clause must be without doubt.
    return place if _COPULA.search(before) and not _is_open(re.split(r"[,;]\s", before)[-1], words) else None


def _is_open(text: str, words: Vocabulary) -> bool:
    """Return whether a text doubts, denies or asks, by words that are no part of a choice."""
    matches = (match[0].lower() for match in _OPEN_QUESTION.finditer(text))
    return any(not any(match in choice for choice in words.folded) for match in matches)


def _read_echo(sentences: list[str], words: Vocabulary, question: str) -> int | None:
    """Return the choice of the sentences that repeat the words of the question, if they all have the same."""
    content = _find_content(question) - _list_words(tuple(words.folded))
    if not content:
        return None
    places = set()
    for sentence in sentences:
        shared = content & _split_words(sentence)
        if (
            len(shared) < min(2, len(content))
            or 2 * len(shared) < len(content)
            or _is_open(sentence, words)
            or is_reported(sentence)
            or is_hypothetical(sentence)
        ):
            continue
        place, why = words.find_text(words.without_latex(sentence), "text")
        if why != "none":
            places.add(place)
    return places.pop() if len(places) == 1 else None


# "Which element is missing?", and "D is missing".
_WHICH_IS = re.compile(
    r"\bwhich\b[^?.\n]{0,80}?\b(?:is|are|was|were)\s+(?P<predicate>(?!not\b|an?\b|the\b|most\b|least\b|best\b|of\b|true\b)[a-z]{5,20})\b[^?.]*\?",
    re.IGNORECASE,
)
_WEAKENED = re.compile(r"\b(?:only|but|seems?|or|if|unless|say|think|believe)\b", re.IGNORECASE)
# "The diagnosis here is", "This is".
_SUBJECT = re.compile(
    r"\W*(?:(?:since|as|because|given\s+that)\s[^.;:\n]{4,200},\s|so|thus|therefore|hence|in\s+summary|in\s+conclusion)?,?\s*(?P<subject>(?:this|it|that)|(?:the|this)\s[^.,;:]{3,120}?)\s+"
    r"(?:is|was|are|were|would\s+be|must\s+be)\s+(?:therefore\s+|thus\s+|most\s+likely\s+|likely\s+)?(?:an?\s+|the\s+)?"
    r"(?P<rest>\S[^;]*)",
    re.IGNORECASE | re.DOTALL,
)
_ADVERB = re.compile(r"\s*(\w{3,}ly)\s+")
_NAME = re.compile(r"(?<![\w(])[A-Z](?![\w.):'’-])")


def _read_subject(sentences: list[str], words: Vocabulary, question: str) -> int | None:
    """Return the only choice that sentences give of what the question asks for: "The diagnosis here is a stroke.".

    The subject of such a sentence has a word of the question, or is a pronoun in the first sentence, and nothing
    follows the text of the choice. The label of a choice is read so in the last sentence, if nothing in the question
    is named by a letter.
    """
    last_question = _last_part(question)
    content = _find_content(question)
    places = set()
    for i, sentence in enumerate(sentences):
        match = _SUBJECT.match(sentence)
        if match is None or _is_open(sentence, words) or is_reported(sentence):
            continue
        shared = content & _split_words(match["subject"])
        if not shared and not (i == 0 and " " not in match["subject"]):
            continue
        if words.find_text(match["subject"], "text")[1] != "none" or words.labels.find_named(match["subject"]):
            continue
        rest = words.without_latex(match["rest"])
        place = words.match_text(rest)
        if place is None and (manner := _ADVERB.match(rest)) and manner[1].casefold() in last_question.casefold():
            place = words.match_text(rest[manner.end() :])  # "deductively valid", where the question asks for that
        label = rest.strip(LOOSE)
        if place is None and shared and i == len(sentences) - 1 and len(label) == 1 and label.isupper():
            place = None if _NAME.search(last_question.partition("\n")[0]) else words.labels.exact_index(label)
        is_amount = place is not None and not any(map(str.isalpha, words.folded[place]))
        if place is not None and (not is_amount or i == len(sentences) - 1):
            places.add(place)
    return places.pop() if len(places) == 1 else None


def _read_which(sentences: list[str], words: Vocabulary, question: str) -> int | None:
    """Return the only label of which sentences say what the question asks about: "D is missing: ..."."""
    which = _WHICH_IS.search(_last_part(question))
    if which is None:
        return None
    says = re.compile(
        rf"\W*(?:option\s+)?\(?(\w{{1,2}})\)?\s+(?:is|are|was)\s+(not\s+)?{which['predicate']}\b", re.IGNORECASE
    )
    places = {
        words.labels.exact_index(match[1])
        for sentence in sentences
        if (match := says.match(sentence))
        and not match[2]
        and not _is_open(sentence[: match.end()], words)
        and not _WEAKENED.search(sentence, match.end())
        and not is_reported(f"{sentence[match.end() :]} that")
    }
    return places.pop() if len(places) == 1 else None


def _last_part(question: str) -> str:
    """Return the last sentence of a question, up to its question mark, or all of it if it is short."""
    body = question.rpartition("\nOptions:")[0] or question
    return body if len(body) <= LONGEST_QUESTION else body[-LONGEST_QUESTION:].rpartition("\n")[2]


@lru_cache(maxsize=1024)
def _find_content(question: str) -> frozenset[str]:
    """Return the words of the last sentence of a question that say something about its subject."""
    return frozenset(_split_words(_last_part(question)) - _COMMON)


@lru_cache(maxsize=1024)
def _list_words(choices: tuple[str, ...]) -> frozenset[str]:
    """Return the words of choices."""
    return frozenset(_split_words(" ".join(choices)))


def _split_words(text: str) -> set[str]:
    """Return the words of three letters or more in lower case; pairs of characters where a script has no spaces."""
    text = text.casefold()
    if _SCRIPT_WITHOUT_SPACES.search(text):
        return {text[i : i + 2] for i in range(len(text) - 1) if text[i : i + 2].isalpha()}
    return set(_WORD.findall(text))
