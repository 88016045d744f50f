"""Define the scorer `yes-no`, which reads whether a completion says yes or no, in the words of 37 languages.

The last explicit statement decides, else the first word of the first sentence, else that of the last one; a last
sentence such as "so the statement is false" counts too. True and false are the same as yes and no. The words are those
of `language_words`: of the benchmark's language and of English, or of all languages before a comma or a full stop.
"""

from __future__ import annotations

import re
from functools import lru_cache

from howsure.scorers.completion_text import CompletionContext, clean_completion
from howsure.scorers.language_words import LANGUAGES, UNSPACED
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, hash_code
from howsure.scorers.statements import find_statements, split_sentences
from howsure.scorers.targets import parse_targets

_EDGE = r"[¡\u2600-\u27bf\U0001f300-\U0001faff\ufe0f\s*_`\"'“”‘’«(\[{$#>\\.,:;!-]{0,12}"
#: What may stand before the word.
_LEAD = rf"(?:(?:so|thus|therefore|well|i think|(?:that|this|it) is),?\s+){{0,2}}{_EDGE}"
#: What follows the word: a pause, or the beginning of a sentence; "No one knows" and "No. 5" are no answers.
_AFTER = (
    r"(?=[*_\"'”’)}\]]*\s*(?:$|[,;:!?()\[/–—-]|\.(?!\s*\d)|\n)|\s+(?:it|he|she|they|we|you|i|that|this|these|those|there|the|a|an"
    r"|not|because|since|as|and|but|if|for|all|in|most|some|such|under|according|both)\b)"
)
_ALTERNATIVE = r"(?!\s*(?:and|or|/|nor)\s*(?:yes|no|true|false|incorrect|not)\b)"
_CONCLUSION = re.compile(
    r"(?:\b(?:is|are|be|was|statement|answer|so|therefore|thus),?\s*(?:indeed\s*)?[*_\"'“]*)(?P<not>not\s+)?[*_\"'“]*"
    r"(?P<word>true|false|correct|incorrect|plausible|implausible|yes|no)[*_\"'”]*"
    r"(?:,?\s+(?:because|since|as)\b.*)?\s*[.!]*\s*$",
    re.IGNORECASE | re.DOTALL,
)
_DOUBTED = re.compile(r"\b(?:if|whether|could|might|may|either|neither|cannot)\b|\?", re.IGNORECASE)
_POSITIVE = frozenset({"true", "correct", "plausible", "yes"})


def _join_words(kind: str, code: str) -> str:
    """Return the pattern of the words of a kind of one language; words that are longer come first."""
    words = (word.replace("_", " ") for word in getattr(LANGUAGES[code], kind).split())
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


@lru_cache(maxsize=64)
def _start_pattern(code: str) -> re.Pattern[str]:
    """Return the pattern of a sentence that begins with yes or no in English and another language, or in all."""
    groups = {}
    for kind in ("yes", "no"):
        english = _join_words(kind, "en")
        own = "" if code in ("", "en") else f"|(?:{_join_words(kind, code)})" + ("" if code in UNSPACED else r"(?!\w)")
        others = [_join_words(kind, other) for other in LANGUAGES if other not in ("en", code, *UNSPACED)]
        unspaced = [_join_words(kind, other) for other in UNSPACED if other != code]
        end = r"(?=[*_\"'”’»)]*\s*(?:[.,!;:،।。，！—–-]|$))"
        groups[kind] = rf"(?:{english})(?![\w’'-]){_AFTER}{own}|(?:{'|'.join([*others, *unspaced])}){end}"
    return re.compile(
        rf"{_EDGE}{_LEAD}(?P<not>not\s+)?(?:\\?(?:text|boxed|mathrm)\{{)?"
        rf"(?:(?P<yes>{groups['yes']})|(?P<no>{groups['no']})|(?P<unsure>maybe)(?!\w))"
        rf"{_ALTERNATIVE}",
        re.IGNORECASE,
    )


def read_yes_no(text: str, context: CompletionContext | None = None) -> tuple[str | None, str]:
    """Return "yes", "no" or "maybe", and the rule by which it was read; or None and the reason.

    Examples
    --------
    >>> read_yes_no("Birds fly. So the answer is no.")
    ('no', 'statement')
    >>> read_yes_no("Sí, Quito está al norte.", CompletionContext(language="es")), read_yes_no("No one knows.")
    (('yes', 'first sentence'), (None, 'none'))
    """
    text, context, parts = clean_completion(text, context)
    if not text.strip():
        return None, "empty" if parts.is_finished else "unfinished"
    starts = _start_pattern(context.language.lower()[:2] if context.language[:2].lower() in LANGUAGES else "")
    for statement in find_statements(text):
        word = _read_start(statement.text, starts)
        if word is not None:
            return word, "statement"
    sentences = split_sentences(text)
    if not sentences:
        return None, "none"
    first, last = (_read_start(sentence, starts) for sentence in (sentences[0], sentences[-1]))
    if first is not None and last is not None and first != last:
        return None, "several"
    if first is not None:
        return first, "first sentence"
    last = last or _read_conclusion(sentences[-1])
    return (last, "last sentence") if last is not None else (None, "none")


def _read_start(text: str, starts: re.Pattern[str]) -> str | None:
    """Return what a sentence begins with: "yes", "no" or "maybe"; None if it is none of them."""
    match = starts.match(text)
    if match is None:
        return None
    if match["unsure"]:
        return "maybe"
    return "yes" if (match["yes"] is not None) != (match["not"] is not None) else "no"


def _read_conclusion(sentence: str) -> str | None:
    """Return what the end of a last sentence says: "yes" or "no"; None if it doubts or says neither."""
    match = _CONCLUSION.search(sentence)
    if match is None or _DOUBTED.search(sentence):
        return None
    return "yes" if (match["word"].lower() in _POSITIVE) != (match["not"] is not None) else "no"


@lru_cache(maxsize=4096)
def is_yes_or_no(target: str) -> str | None:
    """Return "yes" or "no" for a target that is a word for one of them in any language; None for another one.

    >>> is_yes_or_no("False"), is_yes_or_no("Ja"), is_yes_or_no("Paris")
    ('no', 'yes', None)
    """
    word = target.strip(" .!*\"'").casefold().replace(" ", "_")
    for words in LANGUAGES.values():
        for name in ("yes", "no"):
            if word in getattr(words, name).casefold().split():
                return name
    return {"1": "yes", "0": "no", "maybe": "maybe"}.get(word)


def build_yes_no_scorer(spec: str, _: str) -> Scorer:
    """Return the scorer `yes-no`."""

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        wanted = {is_yes_or_no(target) for target in parse_targets(item.target)}
        if None in wanted:
            raise ValueError(f"the target {item.target[:60]!r} is neither yes nor no")
        answer, rule = read_yes_no(completion, item.context)
        return ScoredAnswer(float(answer in wanted), answer, rule)

    return Scorer(spec, hash_code("scorers.yes_no"), score)
