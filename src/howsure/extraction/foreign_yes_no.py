"""Read yes or no from a sentence without either word, in other languages than English.

Two kinds of sentences are read: verdicts ("C'est faux.", "Das stimmt nicht.", "É verdade."), and statements in the
words of the question ("Los pingüinos no pueden volar." where it asks "¿Pueden volar los pingüinos?"). Such a statement
has all words of the question in their order, but that the verb may have moved from its beginning or the subject from
its end, and no others than articles, confirmations and one denial. A sentence that adds or lacks others is not read.
"""

from __future__ import annotations

import re
from collections import Counter

from howsure.extraction.languages import is_reported

__all__ = ["read_foreign_verdict", "repeat_foreign_question"]

# A demonstrative or "the statement" with a copula: "C'est", "Das ist", "La afirmación es", "Это".
_SUBJECT = (
    r"(?:(?:c['’]est|cela est|ceci est|cette (?:affirmation|phrase|proposition) est|l['’]affirmation est"
    r"|(?:das|dies|es|(?:die|diese) (?:aussage|behauptung)) (?:ist|stimmt)|(?:eso |esto )?es"
    r"|(?:la|esta) (?:afirmación|frase|oración) es|(?:isso |isto )?é|(?:a|essa|esta) (?:afirmação|frase) é"
    r"|(?:ciò |questo )?è|(?:l['’]|questa )affermazione è|(?:dat|dit|(?:de|deze) (?:bewering|stelling|uitspraak)) is"
    r"|это(?: утверждение)?|утверждение|це(?: твердження)?|твердження|to(?: zdanie)?(?: jest)?"
    r"|(?:itu|ini|pernyataan (?:itu|ini))(?: adalah)?"
    r"|这是|這是|这个说法是|該說法是|这|這|それは|これは|それが|이는|그것은|사실은)\s*)"
)
# "Ce n'est pas", "No es", "Isso não é".
_DENIED_SUBJECT = (
    r"(?P<denied>(?:ce|cela) n['’]est pas|(?:eso |esto )?no es|(?:isso |isto )?não é|(?:ciò |questo )?non è"
    r"|(?:это |це )?не|to nie jest|(?:itu )?tidak|这不是|這不是)\s*"
)
_DENIAL = r"(?P<not>nicht|kein(?:e|er)?|pas|non|no|não|niet|не|nie|tidak|bukan)\s+"
_TRUE = (
    r"vrai|exact|exacte|juste|vraie|richtig|wahr|korrekt|verdad|verdadero|verdadera|cierto|cierta|correcto|correcta"
    r"|verdade|verdadeiro|verdadeira|certo|certa|correto|correta|vero|vera|corretto|corretta|juist|waar|верно|правда|правильно"
    r"|вірно|правильно|prawda|prawdziwe|prawdą|benar|doğru|正确的|正確的|对的|對的|真的|正しいです?|本当です?|맞습니다|맞아요|참입니다|사실입니다"
)
_FALSE = (
    r"faux|fausse|inexact|falsch|unwahr|falso|falsa|incorrecto|incorrecta|mentira|incorreto|incorreta|errado|errada|scorretto"
    r"|sbagliato|onjuist|onwaar|неверно|неправда|неправильно|ложь|невірно|неправильно|fałsz|nieprawda|fałszywe|salah|yanlış"
    r"|错误的|錯誤的|不对的|不對的|假的|間違いです?|誤りです?|틀렸습니다|거짓입니다"
)
_VERDICT = re.compile(
    rf"[\W_]*(?:{_DENIED_SUBJECT}|{_SUBJECT}(?:{_DENIAL})?)?(?:(?P<true>{_TRUE})|(?P<false>{_FALSE}))(?:[.!。！,;*_\s]|$)(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
# "Das stimmt.", "Das stimmt nicht.", "Dat klopt niet."
_AGREES = re.compile(
    r"\W*(?:das|es|dies|dat)\s+(?:stimmt|trifft\s+zu|klopt)(?P<not>\s+(?:nicht|niet))?\s*(?:[.!,;]|$)", re.IGNORECASE
)

_LAST_QUESTION = re.compile(r"(?:^|[.!:;。！\n])[^\S\n]*(?P<text>[^.!:;。！？?؟\n]{3,300})[?？؟][^?？؟]{0,3}$")
_SPLIT = re.compile(r"[^\w\u0300-\u036f\u0900-\u0963\u0966-\u0dff\u0e00-\u0e7f]+")
_OPENER = re.compile(
    r"^\W*(?:est-ce qu(?:e |['’])|será que |czy |чи |apakah |je,? |क्या |هل |এটা কি |is het (?:waar|zo) dat )",
    re.IGNORECASE,
)
# "La neige est-elle froide ?"
_FRENCH_PRONOUN = re.compile(r"-(?:t-)?(?:ils?|elles?|on|ce)\b", re.IGNORECASE)
_PARTICLES = frozenset(["ли", "mi", "mı", "mu", "mü", "কি"])
# Articles and confirmations.
_IDLE_TEXT = """el la los las un una o os as um uma le les des l il lo gli i der die das den dem ein eine einen einem
einer de het een sí efectivamente sim realmente effectivement bien infatti tatsächlich wirklich inderdaad действительно
это справді це rzeczywiście to memang benar-benar có phải thực sự"""
_IDLE = frozenset(_IDLE_TEXT.split())
_DENIAL_TEXT = """no não non pas nicht niet kein keine keinen keinem keiner geen не nie tidak bukan không नहीं না নয় لا
ليس ليست لم değil jamais nunca niemals nooit никогда nigdy
not never cannot without neither nor"""
_DENIALS = frozenset(_DENIAL_TEXT.split())
#: Parts of a denial beside its word: "ne ... pas".
_DENIAL_PARTS = frozenset(("ne", "n"))
#: Words that only Portuguese has, where "no" means "in the".
_PORTUGUESE = frozenset(["é", "um", "uma", "do", "da", "dos", "das", "na", "fica", "os"])
_CLAUSE_END = re.compile(
    r"[,，、;；(（]|\s[–—-]\s|\s(?:porque|pues|ya que|pois|weil|da|denn|parce que|car|perché|omdat|want"
    r"|потому что|тому що|bo|ponieważ|karena|因为)\s",
    re.IGNORECASE,
)
# What makes a statement depend on something behind it, or somebody else's.
_DEPENDS = re.compile(
    r"\b(?:si|se|wenn|falls|sofern|solange|quand|lorsque|als|indien|если|якщо|jeśli|gdy|jika|kalau|quando|cuando|nur|sólo|solo"
    r"|solamente|só|somente|apenas|seulement|soltanto|solo|alleen|только|лише|tylko|hanya|según|segundo|selon|secondo|laut"
    r"|zufolge|volgens|falso|falsch|faux|falsa|mito|mythe|mythos|perhaps|quizás|talvez|vielleicht|peut-être|forse|misschien)\b"
    r"|如果|只有|若|の場合|なら",
    re.IGNORECASE,
)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\u0e00-\u0e7f]")
_HANGUL = re.compile(r"[\uac00-\ud7a3]")
_IDLE_SIGNS = re.compile(r"[\s!-/:-@\[-`{-~。！，、…«»“”‘’「」]+|确实|的确|當然|当然|確かに|実は")
_A_NOT_A = re.compile(r"(.)[不没]\1")
_QUESTION_END = re.compile(r"(?:吗|嗎|呢|か|ใช่หรือไม่|หรือไม่|หรือเปล่า|ใช่ไหม|ไหม)$")
#: Ends of a Japanese or Korean denial -> of the same statement.
_DENYING_ENDS = (
    (re.compile(r"(?:で[はが]|じゃ)(?:ありません|ない(?:です)?)$"), "です"),
    (re.compile(r"ません$"), "ます"),
    (re.compile(r"(?:이|가)아닙니다$"), "입니다"),
    (re.compile(r"없습니다$"), "있습니다"),
    (re.compile(r"지(?:는)?않습니다$"), "습니다"),
)
_PLAIN_ENDS = ((re.compile(r"(?:である|だ)$"), "です"), (re.compile(r"니까$"), "니다"))


def read_foreign_verdict(sentence: str) -> str | None:
    """Return "yes" or "no" for a sentence that is only a verdict, in another language than English.

    >>> read_foreign_verdict("C'est faux."), read_foreign_verdict("Richtig."), read_foreign_verdict("Vrai ou faux")
    ('no', 'yes', None)
    """
    if agreement := _AGREES.match(sentence):
        return "no" if agreement["not"] else "yes"
    match = _VERDICT.fullmatch(sentence)
    if match is None or sentence.rstrip().endswith(("?", "？")) or _DEPENDS.search(match["rest"]):
        return None
    if not _ends_verdict(sentence, match):
        return None
    is_denied = bool(match["not"] or match["denied"])
    return "yes" if bool(match["true"]) != is_denied else "no"


def _ends_verdict(sentence: str, match: re.Match[str]) -> bool:
    """Return whether a sign or the end of the sentence is behind the word of a verdict, and no other word."""
    behind = sentence[match.end("true") if match["true"] else match.end("false") :].lstrip("*_ ")
    return not behind or not behind[0].isalnum()


def repeat_foreign_question(sentence: str, question: str) -> str | None:
    """Return "yes" or "no" where a sentence is the statement of a question, or its denial, in its words.

    >>> repeat_foreign_question("La ballena no es un pez.", "¿Es la ballena un pez?")
    'no'
    >>> repeat_foreign_question("太阳从东边升起。", "太阳从东边升起吗？")
    'yes'
    >>> repeat_foreign_question("Fische leben im Wasser.", "Können Fische fliegen?") is None
    True
    """
    match = _LAST_QUESTION.search(question.strip())
    if match is None or sentence.rstrip().endswith(("?", "？", "؟")):
        return None
    sentence = sentence.strip()
    clause = _CLAUSE_END.split(sentence, maxsplit=1)[0]
    rest = sentence[len(clause) :]
    if _DEPENDS.search(rest) or is_reported(rest):
        return None
    text = match["text"]
    if _UNSPACED.search(text) or _HANGUL.search(text):
        return _compare_signs(clause, text)
    return _compare_words(clause, text, is_spanish="¿" in text)


def _compare_words(clause: str, text: str, *, is_spanish: bool) -> str | None:
    """Return "yes" or "no" where the words of a clause are those of a question, with one denial or without."""
    text = _FRENCH_PRONOUN.sub(" ", _OPENER.sub("", text.casefold()))
    words, question_words = ([word for word in _SPLIT.split(part.casefold()) if word] for part in (clause, text))
    question_words = [word for word in question_words if word not in _PARTICLES]
    if question_words[-1:] == ["không"]:
        question_words.pop()
    may_have_no = not is_spanish and not _PORTUGUESE.isdisjoint(question_words)
    if not _DENIALS.difference({"no"} if may_have_no else ()).isdisjoint(question_words):
        return None
    added = Counter(words) - Counter(question_words)
    denials = sum(count for word, count in added.items() if word in _DENIALS)
    omitted = _IDLE | _DENIAL_PARTS | (_DENIALS if denials == 1 else frozenset())
    if may_have_no:
        omitted -= {"no"}
    stated = [word for word in words if word not in omitted]
    wanted = [word for word in question_words if word not in omitted]
    if denials > 1 or len(wanted) < 2 or not _are_in_order(stated, wanted):
        return None
    return "no" if denials else "yes"


def _are_in_order(stated: list[str], wanted: list[str]) -> bool:
    """Return whether words are those wanted in their order, but for a verb that moved, or a subject from the end."""
    if any(stated == wanted[at:] + wanted[:at] for at in range(len(wanted))):
        return True
    if wanted[0] not in stated:
        return False
    rest = list(stated)
    rest.remove(wanted[0])
    return rest == wanted[1:]


def _compare_signs(clause: str, text: str) -> str | None:
    """Return "yes" or "no" as `_compare_words` does, for languages without spaces between words, and Korean."""
    stated, wanted = (_IDLE_SIGNS.sub("", part) for part in (clause, text))
    wanted = _QUESTION_END.sub("", _A_NOT_A.sub(r"\1", wanted)).replace("は", "が")
    stated = stated.replace("は", "が")
    for pattern, end in _PLAIN_ENDS:
        stated, wanted = pattern.sub(end, stated), pattern.sub(end, wanted)
    if len(wanted) < 2 or re.search("[不没]|ไม่", wanted):
        return None
    if stated == wanted:
        return "yes"
    denied = [pattern.sub(end, stated) for pattern, end in _DENYING_ENDS if pattern.search(stated)]
    denied += [stated.replace(sign, "", 1) for sign in ("并不", "并没", "不", "没有", "没", "ไม่") if sign in stated]
    return "no" if wanted in denied else None
