"""Define the scorer `yes-no`, which reads whether a completion says yes or no."""

from __future__ import annotations

import re
from collections.abc import Sequence

from howsure.extraction.completion_context import (
    CompletionContext,
    complete_context,
    remove_next_question,
    remove_run_on,
)
from howsure.extraction.foreign_yes_no import read_foreign_verdict, repeat_foreign_question
from howsure.extraction.languages import is_reported
from howsure.extraction.open_answers import split_sentences
from howsure.extraction.open_candidates import match_stems
from howsure.extraction.statements import ends_undecided, find_statement, remove_courtesy, remove_reasoning
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, hash_code

__all__ = ["build_yes_no_scorer", "read_yes_no"]

_YES = (
    r"yes|yeah|yep|yup|true|correct|affirmative|indeed|ja|oui|sí|si|sim|sì|да|はい|是的|是|对|對|ใช่|예|네|نعم|हाँ|हां|হ্যাঁ|"
    r"ndiyo|evet|tak|ano|是です|正しい|正确|正確"
)
_NO = (
    r"no|nope|nah|false|incorrect|negative|wrong|untrue|nein|non|não|nao|нет|いいえ|不是|不对|不對|否|不|ไม่ใช่|ไม่|아니요|아니오|لا|नहीं|না|hapana|"
    r"hayır|nie|ne|nej|nee|错误|錯誤|間違い"
)
_UNSURE = r"maybe|perhaps|unknown|uncertain|undetermined|possibly"
# What may stand before the word: markup, and pictures such as a tick.
_EDGE = r"[¡\u2600-\u27bf\U0001f300-\U0001faff\ufe0f\u200d\s*_`\"'“”‘’(\[{$#>\\.,:;!-]{0,12}+"
# The word at the start of a sentence, which an end of the word and neither "and" nor "or" and another word follow.
_START = re.compile(
    rf"^{_EDGE}(?:\\?(?:text|boxed|mathrm)\{{)?(?:(?P<yes>{_YES})|(?P<no>{_NO})|(?P<unsure>{_UNSURE}))(?![\w’'-])"
    rf"(?!\s*(?:and|or|/)\s*(?:yes|no|true|false)\b)(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
# "no" before a noun is no answer: "No one knows", "no way to know", "no doubt".
_NOUN_AFTER = re.compile(
    r"\s+(?!(?:it|he|she|they|we|you|i|that|this|these|those|there|the|a|an|not|because|since|as)\b)[a-z]",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"^(?:(?:[a-z]+ly(?=,)|(?:[a-z]+ly|so to) speaking(?=,)|in (?:an?|the|this|that) (?:[a-z]+ )?sense(?=,)|tl;dr:?"
    r"|(?:to conclude|to sum up|in summary|conclusion|(?:final )?(?:decision|verdict|judgement|judgment))(?=[,:*])"
    r"|so|yet|still|thus"
    r"|так что|поэтому|значит|итак|donc|alors|daher|deshalb|entonces|así que|por (?:lo )?tanto|quindi|dunque"
    r"|portanto|então"
    r"|hence|therefore|then|finally|in conclusion|in short|overall|actually|wait|well|definitely"
    r"|probably|certainly|i(?: (?:think|believe|would say)|['’]d say)(?: that)?"
    r"|(?:the |my |final |correct )*answer(?: is|:)?"
    r"|(?:it|that|this) is|(?:it|that)['’]s|(?:the|this|that) (?:statement|claim|sentence)"
    r"(?: that [^.;!?\n]{3,120}?)? is(?=\s+(?:not )?(?:true|false|correct|incorrect|wrong|right|untrue)\b))"
    r"\s*[,:]?[*_]*\s+)+",
    re.IGNORECASE,
)
# "It is not true that it is impossible, so yes." and "No, wait. Yes, it does."
_CONCLUSION = re.compile(
    r"(?:,\s+(?:so|thus|hence|therefore)\s+(?:the answer is\s+)?|(?:→|⇒|=>)\s*\**|\bcorrect:\s"
    r"|\b(?:typical|average|ordinary) (?:person would (?:say|answer),?|(?:judge?ment|answer|view) (?:is|would be):?)"
    r"\s[*_\"'“]*)(yes|no)[*_\"'”]*(?:,\s+(?:it|they|he|she|you|we|there|the)\b[^.;]{0,60})?\W*$",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(r"\b(?:wait|sorry|correction|scratch that|on second thought)\W*$", re.IGNORECASE)
_CONCLUDES = re.compile(r"\W*(?:so|thus|therefore|hence)\b", re.IGNORECASE)
_SURELY = re.compile(
    r"(?:absolutely|definitely|certainly|of course|exactly|sure|surely|almost certainly|most likely|very likely)[.!]*",
    re.IGNORECASE,
)
_SURE = re.compile(r"sure[.!]*", re.IGNORECASE)
_NOT = re.compile(
    r"^(?:(?:not at all|by no means)\b\W*$|(?:not|isn['’]t)\s+(?:true|correct|the case|right)\b"
    r"|(?:absolutely|of course|definitely|(?:almost )?certainly|surely|most likely|very likely)\s+not\b\W*$)",
    re.IGNORECASE,
)
# "Is the following sentence plausible?", and a sentence that says so: "Therefore, the sentence is plausible."
_PREDICATE_QUESTION = re.compile(
    r"^\W*(?:is|are|was|were)\s+(?P<subject>(?:the|this|that|these|those)\s[^?\n]{1,80}?)\s+"
    r"(?P<predicate>[a-z]{4,20})\?",
    re.IGNORECASE | re.MULTILINE,
)
_PREDICATED = (
    r"(?P<before>.*?)\b(?:is|are|was|were)(?P<not>\s+not|n['’]t)?\s+"
    r"(?:(?:indeed|therefore|thus|clearly|certainly|actually)\s+)?"
    r"(?P<opposite>im|in|un|ir|il|non-?)?{}\b(?P<after>.*)"
)
_DOUBTED = re.compile(
    r"\b(?:if|whether|unless|could|might|may|perhaps|possibly|depends|n['’]t|neither|nor|unsure|determine)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:not|never|no)\b", re.IGNORECASE)
# "They can." where the question begins with "Can".
_ECHOED = re.compile(
    r"\W*(?:it|they|he|she|you|we|i|this|that|these|those)\s(?P<verb>can|does|do|did|is|are|was|were|will|would|has|have|should)"
    r"(?P<not>\s?not|n?['’]t)?\W*",
    re.IGNORECASE,
)
# "Of course! Let me look at ...": a polite word and no answer.
_OFFERS = re.compile(
    r"\W*(?:let me|let['’]s|let us|here (?:is|are)|here['’]s|i can|i will|i['’]ll|below)\b", re.IGNORECASE
)
# Words that may belong to the one after them: "No one", "True believers", "Correct me if I'm wrong".
_BEFORE_NOUN = frozenset(("no", "non", "true", "false", "correct", "incorrect", "wrong", "negative", "affirmative"))
# "Yes, no, yes" and "in one sense yes, in another sense no": the other word as a clause of its own.
_OTHER_CLAUSE = re.compile(
    r"[,;:](?:\s+(?:in|on|from|by) [\w' -]{2,30}?,?)?\s+(?:and |but )?(yes|no)\s*(?=[,;.!?]|$)", re.IGNORECASE
)
# '"Yes," said my teacher.'
_CITED = re.compile(
    r"\W{0,3}\s(?:(?:said|says|answered|answers|replied|shouted)|(?:he|she|they|i) (?:said|answered))\b", re.IGNORECASE
)
# "The answer is not yes but no."
_CONTRAST = re.compile(
    r"\b(?:not|n['’]t)\s+[\"'“”*]{0,3}(?:yes|no)[\"'“”*]{0,3}(?:,?\s+but|,\s+(?:it['’]s|it is))\s+"
    r"(?P<said>[\"'“”*]{0,3}(?:yes|no)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
# What makes a statement after it a case among others: "If it has water, the answer is yes."
_CONDITION = re.compile(r"\b(?:if|whether|unless|suppose)\b", re.IGNORECASE)
_INFERRED = re.compile(r"\b(?:so|thus|hence|therefore|we (?:see|find|get|know|can)|had to)\b", re.IGNORECASE)
_SENTENCE_BREAK = re.compile(r"[.!?;]\s|\n")
_LEANS = re.compile(
    r"\b(?:lean(?:s|ing)?|inclined)\s+(?:more\s+)?(?:towards?|to)\s+(?:answer(?:ing)?\s+|say(?:ing)?\s+)?"
    r"[\"'“*]{0,3}(yes|no)\b",
    re.IGNORECASE,
)


_IS_QUESTION = re.compile(
    r"(?:^|\n)\W*(?P<verb>is|are|was|were|would|can|could|will|should)\s+(?P<rest>[^?\n]{3,100})\?\s*$", re.IGNORECASE
)
_WORD = re.compile(r"[\w’']+")
# "Can an adult carry it?", and a clause in its words: "an adult couldn't carry it".
_AUXILIARY_QUESTION = re.compile(
    r"(?:^|[.:\n])\W*(?P<verb>is|are|was|were|would|can|could|will|should|did|does|do|has|have|had)"
    r"\s+(?P<rest>[^?\n]{3,200})\?",
    re.IGNORECASE,
)
# "True or false: The Moon is bigger than the Sun."
_CLAIM_QUESTION = re.compile(r"\btrue or false\W+(?P<claim>[^.?!\n]{8,200})[.!]?\s*$", re.IGNORECASE)
#: Verb of a question -> other forms of it in an answer.
_VERB_FORMS = {
    "can": ("can", "could"),
    "could": ("could", "can"),
    "will": ("will", "would"),
    "would": ("would", "will"),
}
_IDLE_TEXT = """a an the it they he she we you i this that these those them him her its their one of in on at to for
with from by be been being have has had also indeed definitely clearly certainly really actually therefore thus so do
does did is are was were would can could will should any some ever there"""
_IDLE_WORDS = frozenset(_IDLE_TEXT.split())
_DENIALS = frozenset(("not", "never", "cannot", "no", "neither", "without"))
_SHORT_DENIAL = re.compile(r"n['’]t\b")
# Words beside those of the question that change what is said: "only half of the birds fly".
_CHANGES = re.compile(
    r"\b(?:if|whether|unless|might|may|perhaps|possibly|maybe|depends?|nor|unsure|unclear|only|hardly|rarely|always|usually"
    r"|barely|scarcely|seldom|few(?:er)?(?=\s\w)|sometimes|often|necessarily|half|partly|almost|nearly|false|wrong|untrue"
    r"|incorrect|myth|misconception|mistaken|opposite|instead|rather|impossible|fails?|unable|too|deny|denies|lied?|seems?|asks?|question|determine)\b"
    r"|\bnot\s(?:all|every|each|everyone|everybody)\b"
    # "Whales used to eat fish.", but not "Bamboo is used to make paper"
    r"|(?<!\bis\s)(?<!\bare\s)(?<!\bwas\s)(?<!\bwere\s)(?<!\bbe\s)(?<!\bbeen\s)\bused\sto\b"
    # "Jerry lies.", but not "Lisbon lies farther west"
    r"|\blies\b(?!\s(?:[a-z]+er|in|on|at|to|between|north|south|east|west|within|near)\b)",
    re.IGNORECASE,
)
# "Based on the passage, ...", "Since 1889 is later than 1886, ...", "I'd say ...", "A typical person would say ..."
_BEFORE_CLAUSE = re.compile(
    r"\A\W*(?:(?:since|because|as|given|based|according|knowing|in|under|overall)\b[^,;:]*,\s"
    r"|(?:i|we|most|most people|an? (?:typical|average|ordinary) person|people)\b[^,;:]{0,20}?"
    r"\b(?:say|conclude|judge|answer)(?:\s+that|,)?\s+(?:[*\"'“]*(?:yes|no)[*\"'”]*,\s)?|(?:this|it|which)\s(?:means|follows|shows|implies)\s(?:that\s)?)+",
    re.IGNORECASE,
)
_AFTER_CLAUSE = re.compile(
    r"[,;]?\s(?:because|since|as|though|although|even\s(?:if|though)|while|whereas|but|due\sto|and\s(?:so|thus))\b|[;:]\s|\s[–—]\s",
    re.IGNORECASE,
)
# "It's a common myth, but the wall is not visible": what is conceded before a statement.
_CONCEDED = re.compile(
    r"^(?:it['’]s|it is|this is|that['’]s|many|some|people|although|while)\b[^;:]*?,\sbut\s", re.IGNORECASE
)
_SO = re.compile(r"[,;:]\s(?:and\s)?(?:so|thus|hence|therefore)\b", re.IGNORECASE)
#: Words of the question that a clause repeats which answers it without "yes" or "no": so many, and this share of them.
LEAST_REPEATED = 2
SHARE_REPEATED = 0.7


def _repeat_question(sentence: str, question: str) -> str | None:
    """Return "yes" or "no" where the main clause of a sentence says what a question asks, in its words and order.

    "hamsters provide food for some animals" is yes where the question is "Do hamsters provide food for any animals?",
    and "this person couldn't have voted" no where it is "Can a person born in 1985 have voted in 2000?".
    """
    sentence = _CONCEDED.sub("", sentence, count=1)
    if sentence.rstrip().endswith("?") or _CHANGES.search(sentence) or is_reported(sentence):
        return None
    conclusion = _SO.split(sentence)[-1]
    clause = _AFTER_CLAUSE.split(_BEFORE_CLAUSE.sub("", _LEAD.sub("", conclusion), count=1))[0]
    words = _WORD.findall(_SHORT_DENIAL.sub(" not", clause.lower().replace("can't", "can not")))
    if claim := _CLAIM_QUESTION.search(question):
        return _compare_clause(words, _WORD.findall(claim["claim"].lower()), "")
    asks = list(_AUXILIARY_QUESTION.finditer(question))[-1:]
    return _compare_clause(words, _WORD.findall(asks[0]["rest"].lower()), asks[0]["verb"].lower()) if asks else None


def _compare_clause(words: list[str], question_words: list[str], verb: str) -> str | None:
    """Return "yes" or "no" where the words of a clause are those of a question in their order; else None."""
    if not _DENIALS.union(("or", "all", "every", "only")).isdisjoint(question_words):
        return None
    denials = sum(word in _DENIALS for word in words)
    repeatable = [word for word in question_words if word not in _IDLE_WORDS]
    content = [word for word in words if word not in _IDLE_WORDS and word not in _DENIALS]
    place = n_repeated = 0
    for word in content:
        after = next((at for at in range(place, len(repeatable)) if match_stems(word, repeatable[at])), None)
        if after is not None:
            place, n_repeated = after + 1, n_repeated + 1
    others = len(content) - n_repeated
    forms = _VERB_FORMS.get(verb, (verb,))
    if denials == 1 and not others and (n_repeated or any(form in words for form in forms)) and content:
        return "no"
    if (
        n_repeated < LEAST_REPEATED
        or n_repeated < SHARE_REPEATED * len(repeatable)
        or others > n_repeated
        or denials > 1
    ):
        return None
    return "no" if denials else "yes"


def _compare_words(sentence: str, question: str) -> str | None:
    """Return "yes" or "no" where a sentence has the words of a question in the order of a statement: "X is Y"."""
    asks = _IS_QUESTION.search(question.strip())
    if asks is None or sentence.rstrip().endswith("?"):
        return None
    verb, rest = asks["verb"].lower(), _WORD.findall(asks["rest"].lower())
    words = _WORD.findall(re.sub(rf"\b{verb}n['’]t\b", f"{verb} not", sentence.lower()))
    if verb not in words:
        return None
    words.remove(verb)
    is_denied = "not" in words and "not" not in rest
    if is_denied:
        words.remove("not")
    return ("no" if is_denied else "yes") if words == rest else None


def _read_predicate(sentence: str, question: str) -> str | None:
    """Return "yes" or "no" where a sentence says of what a question asks about whether it is so; else None."""
    if (verdict := _compare_words(sentence, question)) is not None:
        return verdict
    if (echo := _ECHOED.fullmatch(_LEAD.sub("", sentence))) and re.search(
        rf"(?:^|\n|,\s)\W*{echo['verb']}\b", question, re.IGNORECASE
    ):
        return "no" if echo["not"] else "yes"
    if (verdict := _read_judgement(sentence, question)) is not None:
        return verdict
    predicate = _PREDICATE_QUESTION.search(question)
    subject = (
        [word in sentence.lower() for word in predicate["subject"].lower().split() if len(word) > 3]
        if predicate
        else []
    )
    if predicate is None or 2 * sum(subject) < max(len(subject), 1):
        return None
    match = re.match(_PREDICATED.format(re.escape(predicate["predicate"])), sentence, re.IGNORECASE | re.DOTALL)
    if match is None or _DENIED.search(match["before"]) or any(map(_DOUBTED.search, match.group("before", "after"))):
        return None
    return "no" if bool(match["not"]) != bool(match["opposite"]) else "yes"


def read_yes_no(text: str, context: CompletionContext | None = None) -> tuple[str | None, str]:
    """Return "yes", "no" or "maybe", as a completion says, and the rule; None where it says none or several.

    The last explicit statement decides, else the first sentence, else the last one. True and false, correct and
    incorrect, and yes and no in other languages are read too, and a sentence that gives the predicate of the question:
    "The sentence is not plausible." where it asks "Is the sentence plausible?".

    Examples
    --------
    >>> read_yes_no("Yes, because it is cold."), read_yes_no("It rains often there. So yes.")
    (('yes', 'start'), ('yes', 'end'))
    >>> read_yes_no("Nobody knows."), read_yes_no("Yes and no.")
    ((None, 'none'), (None, 'none'))
    """
    completion = remove_courtesy(remove_reasoning(text))
    text = remove_run_on(remove_next_question(completion, context), context).strip()
    context = complete_context(completion, text, context)
    if not text:
        return None, "empty"
    if ends_undecided(text):
        return None, "undecided"
    question = context.question if context is not None else ""
    statement = find_statement(text)
    if statement is not None:
        if _is_conditional(text, statement):
            return None, "conditional"
        answer = _read_sentence(statement) or _read_predicate(statement, question)
        if answer is not None:
            return answer, "statement"
    sentences = [sentence for line in text.split("\n") for sentence in split_sentences(line)]
    return _read_sentences(sentences, question, statement is not None, context is not None and context.truncated)


def _read_sentences(sentences: list[str], question: str, is_stated: bool, is_cut: bool) -> tuple[str | None, str]:
    """Return what the first or the last of some sentences says, and the rule."""
    first = _read_sentence(sentences[0])
    if len(sentences) > 1 and _SURELY.fullmatch(sentences[0].strip()) and _OFFERS.match(sentences[1]):
        first = None
    if _SURE.fullmatch(sentences[0].strip()) and _AUXILIARY_QUESTION.search(question) is None:
        first = None  # "Sure! One book costs $5."
    if first and len(sentences) > 1 and _BARE_WORD.fullmatch(sentences[0]) and _asks_other(sentences[1]):
        return first, "start"
    if is_cut and len(sentences) > 1:
        sentences = sentences[:-1]
    if len(sentences) > 1 and _REMARK.fullmatch(sentences[-1]):
        sentences = sentences[:-1]
    last = _read_sentence(sentences[-1]) if len(sentences) > 1 else None
    if first and last and first != last:
        is_replaced = _TAKEN_BACK.search(sentences[0]) or _CONCLUDES.match(sentences[-1])
        return (last, "end") if is_replaced else (None, "several")
    if first:
        return first, "start"
    if last and _are_options(sentences[-2:]):
        return None, "several"
    last = last or _read_verdict(sentences, question, is_stated)
    return (last, "end") if last else (None, "none")


# A last sentence in brackets: "(Georgia was an exception.)"
_REMARK = re.compile(r"\s*\([^()]*\)\W*")
_SO_YES = re.compile(r"\W*(?:so|thus|hence|therefore),?\s(yes|no)[,.:!](?:\s|$)", re.IGNORECASE)
# A first sentence of one word, and words of a question about it: "No. Is that right?".
_BARE_WORD = re.compile(r"\W*(?:yes|no|true|false)\W*", re.IGNORECASE)
_SELF_DOUBT = re.compile(r"\b(?:that|this|it|sure|right|wait|correct|really|i|we|you)\b", re.IGNORECASE)


# "Not all birds fly." where the question is whether all do.
_ASKS_ALL = re.compile(
    r"\W*(?:do|does|did|are|is|were|was|can|will|have|has)\s(?:all|every|each|everyone|everybody)\b", re.IGNORECASE
)
_NOT_ALL = re.compile(r"\W*not\s(?:all|every|each)\s(?:of\s)?(?:the\s)?(?P<noun>\w+)", re.IGNORECASE)
# "It is very unlikely.", but not "It is possible that ...".
_JUDGED = re.compile(
    r"\b(?:it|that|this)(?:['’]s|\sis|\swould\sbe)(?P<not>\snot)?\s(?:(?:very|highly|extremely|most|quite|definitely"
    r"|certainly|indeed|also|clearly|entirely|perfectly)\s)?(?P<opposite>im|un)?(?P<word>possible|doable|feasible|likely(?!\sto\b))\b"
    r"(?!\s(?:that|for)\b)",
    re.IGNORECASE,
)
#: Word of such a sentence -> words of a question that it answers.
_JUDGEABLE = {
    "possible": ("possible",),
    "doable": ("possible", "can", "could"),
    "feasible": ("possible", "feasible", "can", "could"),
    "likely": ("likely", "would", "will"),
}
_IN_BOLD = re.compile(r"\*\*[\"'“]?(yes|no)[.!]?[\"'”]?[.!:,]?\*\*", re.IGNORECASE)


def _read_judgement(sentence: str, question: str) -> str | None:
    """Return "no" for "Not all do" where all are asked about, and "yes" or "no" for "It is likely" or "impossible"."""
    last_line = question.rsplit("\n", maxsplit=1)[-1]
    if (limited := _NOT_ALL.match(sentence)) and _ASKS_ALL.match(last_line):
        return (
            "no"
            if any(match_stems(limited["noun"].lower(), word) for word in _WORD.findall(last_line.lower()))
            else None
        )
    asks = list(_AUXILIARY_QUESTION.finditer(question))[-1:]
    judged = _JUDGED.search(sentence)
    if (
        not asks
        or judged is None
        or set(_JUDGEABLE[judged["word"].lower()]).isdisjoint(_WORD.findall(asks[0][0].lower()))
    ):
        return None
    rest = sentence[: judged.start()] + sentence[judged.end() :]
    if any(pattern.search(rest) for pattern in (_CHANGES, _DOUBTED, _DENIED)) or is_reported(rest):
        return None
    return "no" if bool(judged["not"]) != bool(judged["opposite"]) else "yes"


def _asks_other(sentence: str) -> bool:
    """Return whether a sentence asks a further question, and not whether the one before it is right."""
    return sentence.endswith("?") and len(sentence.split()) > 3 and _SELF_DOUBT.search(sentence) is None


def _read_verdict(sentences: Sequence[str], question: str, is_stated: bool) -> str | None:
    """Return what the last or the first sentence says by the predicate of the question, or by "leaning towards yes"."""
    ends = sentences[-1:] if is_stated else (sentences[-1], sentences[0])
    verdicts = [one for sentence in ends if (one := _read_predicate(sentence, question))]
    verdicts = verdicts or [one for sentence in ends if (one := _repeat_question(sentence, question))]
    verdicts = verdicts or [one for sentence in ends if (one := repeat_foreign_question(sentence, question))]
    if not verdicts and not is_stated:
        # "So yes, they would. Tofu is an alternative."
        verdicts = [match[1].lower() for sentence in sentences[1:] if (match := _SO_YES.match(sentence))]
    if not verdicts:
        # "Estimates point to **no**: ..."
        verdicts = [words[0].lower() for sentence in ends if len(words := _IN_BOLD.findall(sentence)) == 1]
    if not verdicts and (leaning := _LEANS.search(sentences[-1])):
        return leaning[1].lower()
    return verdicts[0] if len(set(verdicts)) == 1 else None


def _is_conditional(text: str, statement: str) -> bool:
    """Return whether the sentence with a statement says first under which condition it holds."""
    before = _SENTENCE_BREAK.split(text[: text.rfind(statement)])[-1]
    condition = _CONDITION.search(before)
    return condition is not None and not _INFERRED.search(before, condition.end())


def _are_options(sentences: Sequence[str]) -> bool:
    """Return whether two sentences are nothing but "yes" and "no"."""
    return {sentence.strip(" *_-•.").lower() for sentence in sentences} == {"yes", "no"}


def _read_sentence(sentence: str) -> str | None:
    """Return what a sentence says."""
    if contrast := _CONTRAST.search(sentence):
        sentence = contrast["said"]
    if concluded := _CONCLUSION.search(sentence[-80:]):
        sentence = concluded[1]
    plain = sentence.strip(" *_`\"'“”#>-")
    bare = _LEAD.sub("", plain)
    if bare.endswith("?"):
        return None
    if _SURELY.fullmatch(bare):
        return "yes"
    if _NOT.match(bare) or _NOT.match(plain):
        return "no"
    match = _START.match(bare)
    return read_foreign_verdict(plain) if match is None else _read_word(match)


def _read_word(match: re.Match[str]) -> str | None:
    """Return what the word at the start of a sentence says with the words after it."""
    kind = "yes" if match["yes"] else "no" if match["no"] else "maybe"
    word, rest = (match["yes"] or match["no"] or match["unsure"]).lower(), match["rest"]
    if (other := _OTHER_CLAUSE.match(rest)) and other[1].lower() != kind:
        return None
    if _CITED.match(rest) or (word in _BEFORE_NOUN and _NOUN_AFTER.match(rest)):
        return None
    return kind


#: Targets that are no word.
_SHORT_TARGETS = {"1": "yes", "1.0": "yes", "y": "yes", "t": "yes", "0": "no", "0.0": "no", "n": "no", "f": "no"}


def _parse_target(target: str) -> str:
    """Return a target as yes, no or maybe."""
    answer, _ = read_yes_no(_SHORT_TARGETS.get(target.strip().lower(), target))
    if answer is None:
        raise ValueError(f"the target {' '.join(target.split())[:60]!r} is neither yes nor no")
    return answer


def build_yes_no_scorer(spec: str, _: str) -> Scorer:
    """Return the scorer `yes-no`."""

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        expected = _parse_target(item.target)
        answer, rule = read_yes_no(completion, item.context)
        return ScoredAnswer(float(answer == expected), answer, rule)

    return Scorer(spec, hash_code("scorers.yes_no", "extraction"), score)
