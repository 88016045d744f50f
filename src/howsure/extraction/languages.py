"""Find where a completion in another language than English states its answer.

The table `_MARKERS` has the words for "the answer is" of Arabic, Bengali, Chinese, Dutch, French, German, Hindi,
Indonesian, Italian, Japanese, Korean, Polish, Portuguese, Russian, Spanish, Swahili, Telugu, Thai, Turkish, Ukrainian
and Vietnamese. They are searched in every completion, because models answer in other languages than that of the prompt.
`DECIMAL_COMMA` says how numbers are written in a language. `is_reported` recognises words that report, doubt or deny a
claim in English, French, German, Italian, Portuguese and Spanish.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from howsure.extraction.vocabulary import any_of

__all__ = [
    "DECIMAL_COMMA",
    "ForeignMarker",
    "find_foreign_markers",
    "has_decimal_commas",
    "is_reported",
    "translate_korean_labels",
    "translate_labels",
]

#: Codes of the languages in which the comma separates decimals and the point or a space groups thousands.
DECIMAL_COMMA = frozenset(
    {"cs", "da", "de", "es", "fi", "fr", "id", "it", "nl", "no", "pl", "pt", "ru", "sv", "tr", "uk", "vi"}
)

# "Some students say", "it is thought that": what others think.
_OTHERS_SAY = re.compile(
    any_of(
        *(
            "some(?:one|body)?",
            "many",
            "most",
            "several",
            "few",
            "others?",
            "people",
            "persons?",
            "students?",
            "pupils?",
        ),
        *("readers?", "experts?", "critics?", "colleagues?", "classmates?", "friends?", "teachers?"),
        *("every(?:one|body)", "they", "he", "she"),
    )
    + r"(?:\s+\w+){0,3}?\s+(?i:say|says|said|think|thinks|thought|believe[sd]?|claim(?:s|ed)?|argue[sd]?|assume[sd]?"
    r"|cho(?:o?se|oses)|picks?|picked)\b"
)
# "It is thought that", "einige denken", "se dice".
_REPORTED = re.compile(
    any_of(
        *(
            rf"{verb}\s+(?:\w+\s+)?(?:said|believed|thought|claimed|assumed|rumou?red)"
            for verb in ("is", "was", "are", "were")
        ),
        r"according\s+to\s+(?:some|many)",
        *(
            rf"{noun}\s+(?:\w+\s+){{0,2}}?(?:sag|glaub|mein|denk|behaupt)e?(?:n|t)"
            for noun in ("manche", "einige", "viele", "andere", "man", "leute", "schüler", "studenten", "kollegen")
        ),
        *(
            "dicen",
            "creen",
            "piensan",
            "afirman",
            "opinan",
            r"se\s+(?:dice|diría|cree)",
            "disent",
            "pensent",
            "croient",
        ),
        *("affirment", r"on\s+(?:dit|pense|croit)", "dicono", "pensano", "credono", "affermano", r"si\s+dice"),
        *("dizem", "acham", "pensam", "acreditam", "afirmam", "diz-se"),
    )
    + r"\b"
)
#: Fewest characters of words that report or deny, such as "deny".
_SHORTEST_REPORT = 4
# "I do not think", "it is false that": what is doubted or denied.
_DISBELIEVED = re.compile(
    any_of(
        *(
            rf"{verb}(?:\s+not|n['’]t)\s+(?:\w+\s+)?(?:think|believe|say|agree|claim)"
            for verb in ("do", "does", "did", "would", "can", "could")
        ),
        *("doubt", "deny", "disagree"),
        *(
            rf"{noun}\s+(?:to|that|is)"
            for noun in (
                "false",
                "wrong",
                "untrue",
                "incorrect",
                "mistaken?",
                "myth",
                "misconception",
                "error",
                "tempting",
            )
        ),
        r"not\s+(?:true|right|correct|the\s+case)\s+that",
        *(rf"{verb}\s+(?:\w+\s+)?nicht" for verb in ("glaube", "denke", "meine", "finde")),
        *("zweifle", "bezweifle", "falsch", r"nicht\s+(?:wahr|richtig|der\s+fall)", r"stimmt\s+nicht"),
        *(rf"{word}(?=,?\s+(?:que|che|qu['’]))" for word in ("falso", "errado", "sbagliato", "faux")),
        *(
            rf"{word}\s+(?:creo|pienso|diría|opino|acho|penso|acredito|credo|direi|es\s+(?:cierto|verdad)|é\s+verdade|è\s+vero)"
            for word in ("no", "não", "non")
        ),
        *(r"ne\s+(?:\w+\s+){1,2}pas", r"n['’]est\s+pas", "dudo", "duvido", "dubito", "doute"),
    )
    + r"\b"
)

# What may stand between a noun and its verb or colon: markup and spaces, also those before a French colon.
_GAP = r"[\s*_\"'”’»)）】]{0,4}"
_SIGN = rf"{_GAP}(?:[:：=]|[–—]|-(?=\s))"
# A digit or a label may follow the noun at once where the verb comes last ("उत्तर 18 है") or is left out ("సమాధానం 18").
_DIRECT = r"(?=[\s*_]{0,4}[\d$€£¥₹(\[\\]|[\s*_]{1,4}[A-J]\b|[\s*_]{1,4}[কখগঘकखगघ][).])"


def _compile_words(noun: str, verbs: str, *, qualifiers: str = "", denial: str = "") -> re.Pattern[str]:
    """Return the pattern of a noun with up to three qualifiers, and a colon or one of the verbs.

    A denial before the verb is captured in the group `not`, and one after it in `not2`.
    """
    middle = rf"(?:\s*(?:{qualifiers})){{0,3}}" if qualifiers else ""
    before = rf"(?P<not>(?:{denial})\s{{1,3}})?" if denial else "(?P<not>(?!))?"
    verb = rf"{_GAP}{before}(?:{verbs})" if verbs else "(?!)"
    return re.compile(rf"(?:{noun}){middle}(?:{_SIGN}|{verb})", re.IGNORECASE)


# Words in brackets that are no label.
_ASIDE = r"\((?![A-J]\))[^()\n]{0,40}\)"
_ROMANCE = "no|não|non|n['’]"
#: Parts of the nouns -> the pattern of their statements. The search for a part costs half a microsecond for 1,000
#: characters, and only the patterns whose part a text has are tried.
_MARKERS: dict[tuple[str, ...], re.Pattern[str]] = {
    ("spuesta",): _compile_words(
        r"(?<!\w)respuestas?",
        r"(?:es|son|sería|será|seria)\b(?P<not2>\s+no\b)?",
        qualifiers=r"correctas?|final(?:es)?|definitiva|exacta|(?:a|de) (?:la|esta) pregunta"
        r"|al problema|" + _ASIDE,
        denial=_ROMANCE,
    ),
    ("ponse", "orrecte"): _compile_words(
        r"(?<![\w])(?:r[ée]ponses?|(?:option|proposition)(?=\s+correcte))",
        r"(?:(?:est|sont|serait|sera)\b(?P<not2>\s+pas\b)?)",
        qualifiers=r"correctes?|finales?|exacte|définitive|juste"
        r"|à (?:la|cette) question|au problème|" + _ASIDE,
        denial="n['’]|ne",
    ),
    ("ntwort", "ösung", "ichtige "): _compile_words(
        r"(?<![\w-])(?:(?:end)?antwort(?:en)?|lösung|richtige\s+(?:option|möglichkeit|wahl))",
        r"(?:ist|sind|lautet|wäre|beträgt)\b(?P<not2>\s+nicht\b)?",
        qualifiers=r"auf (?:die|diese) frage|daher|also|somit|" + _ASIDE,
    ),
    ("isposta",): _compile_words(
        r"(?<!\w)rispost[ae]",
        r"(?:è|é|e['’]|sarebbe|sono)(?!\w)",
        qualifiers=r"corrett[ae]|final[ei]|esatta|giusta|definitiva|alla domanda|" + _ASIDE,
        denial="non",
    ),
    # "La opción correcta es", "A alternativa correta é", "L'opzione corretta è": one of the letters is not in ASCII.
    ("ó", "é", "è"): _compile_words(
        r"(?<!\w)(?:opci[óo]n|alternativa|opç[ãa]o|letra|opzione)\s+(?:correcta|correta|corretta)",
        r"(?:es|é|è)(?!\w)",
        denial="no|não|non",
    ),
    ("esposta",): _compile_words(
        r"(?<!\w)respostas?",
        r"(?:é|e|seria|será|são)(?!\w)",
        qualifiers=r"corretas?|correct[ao]|certa|final|definitiva|exata"
        r"|(?:à|a|da) (?:questão|pergunta)|" + _ASIDE,
        denial="não",
    ),
    ("jibu", "Jibu"): _compile_words(
        r"(?<!\w)(?:jibu|majibu)",
        r"(?:ni|litakuwa)\b",
        qualifiers=r"sahihi|la mwisho|la swali(?: hili)?|letu|lake",
    ),
    ("awaban",): _compile_words(
        r"(?<!\w)jawaban(?:nya)?", r"(?:adalah|ialah)\b", qualifiers=r"yang (?:benar|tepat)|akhir", denial="bukan"
    ),
    ("evap",): _compile_words(r"(?<!\w)(?:doğru |nihai )?cevap", "", qualifiers=r"şık(?:kı)?"),
    ("ntwoord",): _compile_words(r"(?<!\w)antwoord", r"(?:is|luidt)\b(?P<not2>\s+niet\b)?", qualifiers=r"op de vraag"),
    ("dpowied",): _compile_words(
        r"(?<!\w)odpowied(?:ź|z|zią|zi)",
        r"(?:to|jest|brzmi|wynosi)\b",
        qualifiers=r"poprawna|końcowa|prawidłowa|na pytanie",
    ),
    ("áp án", "ả lời", "áp số"): _compile_words(
        r"(?<!\w)(?:đáp án|đáp số|câu trả lời|trả lời)", r"(?:là)\b", qualifiers=r"đúng|cuối cùng|chính xác"
    ),
    ("твет", "вариант"): _compile_words(
        r"(?<!неправильный )(?<!неверный )(?<!\w)(?:ответ(?:ом)?|(?:правильный|верный) вариант)",
        r"(?=\([A-J]\))|(?:является|равен|равна|это|будет|составляет|есть)\b",
        qualifiers=r"ответа|на (?:этот )?(?:вопрос|задачу)|(?:к|для) задач[еи]|" + _ASIDE,
        denial="не",
    ),
    ("ідповід",): _compile_words(r"(?<!\w)відповід(?:ь|дю)", r"(?:це|є|дорівнює)\b", qualifiers=r"правильна"),
    ("答", "正解", "选", "選"): re.compile(
        r"(?<![错錯誤误])(?:正[确確])?(?<!不)(?:答案|選項|选项(?=[是为為：:]))(?:应该|應該|应|應|就)?"
        r"(?:(?P<not>不)(?=是|为|為))?[\s*_」”]{0,4}(?:[:：=】]|——?|是|为|為|等于|等於|即|選擇|选择|选|選|(?=[\s*_]{0,4}[\d$]|\s?[A-J]\b))"
        r"|^[ \t*_]{0,4}答[*_]{0,2}[:：]"
        r"|(?:故|因此|所以|应该?|應該?|我)[，,]?[选選][择擇]?[:：]?(?=[\s*_(（]{0,4}[A-J](?![a-z]))"
        r"|(?:最終|最终)?(?:(?<!ごとの)答え|回答|解答|正解|正答)[\s*_」”]{0,4}(?:[:：=】]|は、?|が|(?=[\s*_]{0,4}[\d$]))",
        re.MULTILINE,
    ),
    ("답",): re.compile(r"(?<![가-힣])(?:최종 ?|정|해|모범 ?)?답(?:변|안)?[\s*_]{0,4}(?:[:：=]|은|는)"),
    ("ตอบ",): re.compile(
        r"ค(?:ำ|\u0e4d\u0e32)ตอบ(?:สุดท้าย|ที่ถูกต้อง|ที่ถูก|ของ(?:คำถาม|โจทย์)(?:นี้)?|ก็)?[\s*_]{0,4}(?:[:：=]|(?P<not>ไม่)?(?:คือ|เป็น|ได้แก่)|(?=[\s*_]{0,4}\d))"
        r"|(?<![ำ\u0e32])ตอบ[\s*_]{0,4}(?:[:：=]|(?=[\s*_]{0,4}[\d]))"
    ),
    ("جابة", "جواب"): re.compile(
        r"(?:ال)?(?:إجابة|اجابة|جواب)(?:[\s](?:الصحيحة|الصحيح|النهائية|النهائي|هنا|على السؤال|عن السؤال))*"
        r"[\s*_]{0,4}(?:[:=]|(?P<not>ليست|ليس)|هي|هو|تساوي|يساوي|سيكون|ستكون|(?=[\s*_]{0,4}\d))"
    ),
    ("उत्तर", "जवाब", "सही विकल्प"): re.compile(
        rf"(?:उत्तर|जवाब|सही विकल्प)(?:{_SIGN}|[\s*_]{{0,4}}(?:है|हैं|होगा)[\s:]|{_DIRECT})"
    ),
    ("উত্তর", "সঠিক বিকল্প"): re.compile(
        rf"(?<!ধাপে )(?:উত্তর|সঠিক বিকল্প)(?:টি|টা)?(?:{_SIGN}|[\s*_]{{0,4}}(?:হলো|হল|হচ্ছে|হবে|হ'ল|হ’ল)[\s:]*|{_DIRECT})"
    ),
    ("సమాధానం", "జవాబు"): re.compile(
        rf"(?<!దశలవారీగా )(?:సమాధానం|జవాబు)(?:{_SIGN}|[\s*_]{{0,4}}(?:ఏమిటంటే|అంటే)[\s:,]*|{_DIRECT})"
    ),
}

#: Length of the shortest part of a noun in ASCII, and a word as long.
_SHORTEST = 4
_WORD = re.compile("[A-Za-z]{4}")
_MARKERS_ASCII = [(parts, pattern) for parts, pattern in _MARKERS.items() if parts[0].isascii()]

# Words before or after a label that do not change it.
_OPTION = re.compile(
    r"(?:(?:la|le|el|il|lo|die|der|das|de|o|a|l['’])\s*)?"
    r"(?:opci[óo]n|opzione|opç[ãa]o|option|alternativ[ae]|lettr?e?ra|letra|buchstabe|optie|pilihan"
    r"|opsi|chaguo|opcja|phương án|вариант(?:\s+ответа)?|пункт|буква|варіант|选项|選項|選択肢|オプション"
    r"|보기|선택지|ตัวเลือก(?:ที่)?|ข้อ|الخيار|الاختيار|বিকল্প|విকల్ప|ఎంపిక|विकल्प)"
    r"[\s*_:：]*(?=[*_(（\[\"'«]{0,3}[A-Za-zА-Яа-я](?![^\W_a]))",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:la|le|el|il|lo|die|der|das|o|a|l['’])\s+(?=[*_(\[]{0,3}[A-J]\b)")
_AFTER_LABEL = re.compile(
    r"(?<=^option \d)(?:입니다|이다|이에요|예요)(?=[\s.,]|$)|"
    r"(?<=[A-Za-z)）*\"])\s*(?:です|だ|になります|となります|である|입니다|이다|이에요|예요|번|选项|選項|项|項|है|हैं|হবে|ครับ|ค่ะ|['’][dt][iıuü]r)+(?=[\s。.।,，、]|$)"
    r"|(?<=^[A-J])の(?=\S)"
)
#: First letters of other scripts, in their order, as they label choices: "ก. ...", "খ) ...".
_NATIVE = {
    letter: label
    for letters in ("กขคงจ", "কখগঘঙ", "कखगघङ", "أبجده", "アイウエオ", "①②③④⑤")
    for letter, label in zip(letters, "ABCDE", strict=True)
}
_NATIVE_LABEL = re.compile(
    rf"(?P<before>[\s*_(\[\"']{{0,4}}(?:ข้อ|ตัวเลือก(?:ที่)?|選択肢|الخيار)?\s*)(?P<label>[{''.join(_NATIVE)}])(?=[)\].:،,]|[\s*_]*$)"
)
#: Quotation marks and brackets of other scripts.
_QUOTES = str.maketrans("「」『』【】«»„", '"' * 9)
#: Cyrillic letters that look like Latin ones, in the order of the Latin alphabet.
_LOOKALIKES = str.maketrans("АВСЕНІЈавсеі", "ABCEHIJabcei")
_CYRILLIC_LABEL = re.compile(r"[\s*_(\[\"'«]{0,4}[АВСЕНІЈавсеі](?=[\s*_)\]\"'».,:;]*(?:$|[\s).\]:,;—–-]))")


# Words that only occur where the comma separates decimals, and numbers that are written in one way only.
_EUROPEAN = re.compile(
    r"[а-яёіїє]{3}|\b(?:antwort|lösung|respuesta|réponse|risposta|resposta|euros?|daher|donc|entonces|quindi"
    r"|portanto|antwoord|odpowied[źz]|cevap)\b",
    re.IGNORECASE,
)
#: Parts of the words in ASCII: a text in ASCII without them is not searched, which would take 20 times as long.
_EUROPEAN_PARTS = ("antwo", "spuesta", "sposta", "euro", "daher", "donc", "tonce", "uindi", "ortan", "odpow", "evap")
_POINT_STYLE = re.compile(r"\d,\d{3}\.\d|(?<![\d.,])\d+\.(?:\d{1,2}|\d{4,})(?![\d.,]*\d)|\d,\d{3},\d{3}")
#: How much of the end of a completion shows how it writes numbers, in characters.
_STYLE_WINDOW = 2000
_COMMA_STYLE = re.compile(
    r"\d\.\d{3},\d|(?<![\d.,])\d+,(?:\d{1,2}|\d{4,})(?![\d.,]*\d)|\d\.\d{3}\.\d{3}|\d[ \u00a0\u202f]\d{3}(?!\d)"
)


class ForeignMarker(NamedTuple):
    """The words that state an answer, at their place in a text."""

    start: int
    end: int
    is_denied: bool
    """Whether the words say what the answer is not."""


def find_foreign_markers(text: str, start: int = 0) -> list[ForeignMarker]:
    """Return the words in a text, from `start` on, that state its answer in another language than English, in order.

    >>> text = "Ответ: 18"
    >>> text[find_foreign_markers(text)[0].end :]
    ' 18'
    """
    markers = []
    tail = text[start:]
    is_ascii = tail.isascii()
    if is_ascii and (len(tail) < _SHORTEST or (len(tail) < 100 and not _WORD.search(tail))):
        return []
    for parts, pattern in _MARKERS_ASCII if is_ascii else _MARKERS.items():
        for part in parts:
            if text.find(part, start) >= 0:
                for match in pattern.finditer(text, start):
                    groups = match.groupdict()
                    is_denied = bool(groups.get("not") or groups.get("not2"))
                    markers.append(ForeignMarker(match.start(), match.end(), is_denied))
                break
    return sorted(markers)


def is_reported(text: str) -> bool:
    """Return whether a part of a sentence reports what others think, or doubts or denies it.

    >>> is_reported("Some students say that"), is_reported("No creo que"), is_reported("I say that")
    (True, True, False)
    """
    if len(text) < _SHORTEST_REPORT:
        return False
    return any(pattern.search(text) for pattern in (_OTHERS_SAY, _REPORTED, _DISBELIEVED))


def translate_labels(statement: str) -> str:
    """Return a statement in which the words around a label are English or absent, and a Cyrillic label is Latin.

    >>> translate_labels("вариант С"), translate_labels("B です"), translate_labels("18 ドル")
    ('option C', 'B', '18 ドル')
    """
    statement, count = _OPTION.subn("option ", statement.translate(_QUOTES), count=1)
    if not count:
        statement = _ARTICLE.sub("", statement, count=1)
    statement = _AFTER_LABEL.sub("", statement)
    if not statement.isascii() and (native := _NATIVE_LABEL.match(statement)):
        return f"option {_NATIVE[native['label']]}{statement[native.end() :]}"
    place = len("option ") if statement.startswith("option ") else 0
    if match := _CYRILLIC_LABEL.match(statement, place):
        statement = statement[:place] + match[0].translate(_LOOKALIKES) + statement[match.end() :]
    return statement


# "3번", "③번이 정답입니다", but not "3번 반복합니다" (it repeats three times).
_KOREAN_LABEL = re.compile(
    r"(?<![\w.,])(?P<label>\d{1,2}|[A-Z])번(?:\s?(?:보기|선택지|문항))?"
    r"(?:(?P<denied>[은는이가]\s?(?:정답이?\s?아[니닙]|틀[렸리]|오답|잘못|[맞옳]지\s?않)[가-힣]*)"
    r"|(?P<right>[은는이가]\s?(?:정답|답|맞|옳|올바[른르릅]|정확|적절|가장\s?적절)[가-힣\s]*)"
    r"|(?P<chosen>[을를]\s?(?:선택|고르|고릅|골라)[가-힣\s]*)"
    r"|(?=[\s*_]*(?:$|\n|[.,:;)\]*])|입니다|이다|이에요|예요|이라고|으로))",
)


def translate_korean_labels(text: str) -> str:
    """Return a text in which the Korean words for "number 3" and "number 3 is right" are English; signs as in ASCII.

    >>> translate_korean_labels("3번이 정답입니다."), translate_korean_labels("3번 반복")
    ('the answer is option 3.', '3번 반복')
    """
    return _KOREAN_LABEL.sub(_translate_korean_label, text) if "번" in text else text


def _translate_korean_label(match: re.Match[str]) -> str:
    """Return the English words for a label with 번."""
    if match["denied"]:
        return f"option {match['label']} is not the answer"
    return f"{'the answer is ' if match['right'] or match['chosen'] else ''}option {match['label']}"


# Small words of languages with a decimal comma that are no English words; two of one language show it.
_SMALL_WORDS = [
    re.compile(rf"\b(?:{'|'.join(words.split())})\b", re.IGNORECASE)
    for words in (
        "ist und der das ein eine im sind wir mit beträgt insgesamt",
        "el los las una por cada es entonces cuesta",
        "les est une des du dans donc coûte",
        "uma são não para cada dos custa",
        "il sono della ogni quindi che costa",
    )
]


# How questions ask for a number in languages with a decimal comma.
_ASKS_HOW_MANY = re.compile(
    r"\b(?:combien|cu[áa]nt[oa]s?|quant[oaie]s?|wie\s?viele?|hoeveel|сколько|скільки|ilu|ile)\b", re.IGNORECASE
)


def _has_european_words(text: str) -> bool:
    """Return whether a text has Cyrillic words, or words that only occur where the comma separates decimals."""
    if any(len({word.lower() for word in pattern.findall(text)}) > 1 for pattern in _SMALL_WORDS):
        return True
    if text.isascii():
        folded = text.lower()
        if not any(part in folded for part in _EUROPEAN_PARTS):
            return False
    return _EUROPEAN.search(text) is not None


def has_decimal_commas(text: str, question: str = "", language: str = "") -> bool:
    """Return whether the comma separates decimals in a completion.

    The code of its language decides, or words that only languages with a decimal comma have; but where the numbers of
    the completion, or else of the question, are written in one style only, they decide.

    >>> has_decimal_commas("La respuesta es 3,5."), has_decimal_commas("The answer is 3,5.")
    (True, False)
    """
    ending = text[-_STYLE_WINDOW:]
    is_european = language.lower()[:2] in DECIMAL_COMMA if language else _has_european_words(ending)
    if not is_european and not language:
        is_european = _ASKS_HOW_MANY.search(question) is not None
    if not is_european:
        return False
    for written in (ending, question):
        has_points, has_commas = bool(_POINT_STYLE.search(written)), bool(_COMMA_STYLE.search(written))
        if has_points != has_commas:
            return has_commas
    return True
