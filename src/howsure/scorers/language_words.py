"""Words of 37 languages with which completions state an answer, and say yes or no."""

from __future__ import annotations

from typing import NamedTuple

_DECIMAL_COMMA = "cs da de el es fi fr hu id it nl no pl pt ro ru sv tr uk vi"
#: Codes of the languages in which the comma separates decimals and the point or a space groups thousands.
DECIMAL_COMMA = frozenset(_DECIMAL_COMMA.split())
#: Codes of the languages that write no spaces between words.
UNSPACED = frozenset({"zh", "ja", "th"})
#: Words before the label of a choice.
OPTION_NOUNS = (
    *("option", "choice", "label", "letter", "numeral", "symbol", "alternative", "item", "answer", "number"),
    *("opción", "opcion", "opção", "opzione", "optie", "alternativa", "letra", "lettera", "lettre", "buchstabe"),
    *("вариант", "вариант ответа", "буква", "варіант", "opcja", "phương án", "pilihan", "opsi", "chaguo"),
    *("选项", "選項", "選択肢", "보기", "선택지", "ตัวเลือก", "ข้อ", "الخيار", "विकल्प", "বিকল্প", "ఎంపిక"),
)


class LanguageWords(NamedTuple):
    """Words of one language, with spaces between them; an underscore is a space within a word."""

    answer: str
    """Nouns for an answer."""
    be: str
    """What may stand between such a noun and the answer."""
    yes: str
    no: str


#: Mapping from the code of a language to its words.
LANGUAGES = {
    "en": LanguageWords(
        "answer answers",
        "is are was",
        "yes yeah yep true correct affirmative indeed",
        "no nope nah false incorrect negative wrong untrue",
    ),
    "ar": LanguageWords("الإجابة الاجابة إجابة الجواب", "هي هو تساوي يساوي", "نعم صحيح أجل", "لا خطأ"),
    "be": LanguageWords("адказ", "гэта", "так", "не"),
    "bn": LanguageWords("উত্তর উত্তরটি", "হলো হল হচ্ছে হবে", "হ্যাঁ হ্যা সত্য", "না মিথ্যা"),
    "cs": LanguageWords("odpověď", "je zní", "ano pravda", "ne nepravda"),
    "da": LanguageWords("svaret svar", "er", "ja sandt", "nej falsk"),
    "de": LanguageWords(
        "antwort endantwort lösung", "ist sind lautet beträgt", "ja wahr richtig stimmt", "nein falsch"
    ),
    "el": LanguageWords("απάντηση", "είναι", "ναι σωστό", "όχι λάθος"),
    "es": LanguageWords("respuesta respuestas", "es son sería", "sí si verdadero cierto correcto", "no falso"),
    "fa": LanguageWords("پاسخ جواب", "است", "بله بلی آری", "خیر نه"),
    "fi": LanguageWords("vastaus", "on", "kyllä totta", "ei"),
    "fr": LanguageWords("réponse réponses reponse", "est sont serait", "oui vrai", "non faux"),
    "he": LanguageWords("התשובה תשובה", "היא", "כן נכון", "לא"),
    "hi": LanguageWords("उत्तर जवाब", "है हैं होगा", "हाँ हां जी_हाँ जी_हां सही", "नहीं जी_नहीं गलत"),
    "hu": LanguageWords("válasz", "az a", "igen igaz", "nem hamis"),
    "hy": LanguageWords("պատասխան պատասխանը", "է", "այո", "ոչ"),
    "id": LanguageWords("jawaban jawabannya", "adalah ialah", "ya benar", "tidak bukan salah"),
    "it": LanguageWords("risposta risposte", "è é sarebbe sono", "sì si vero", "no falso"),
    "ja": LanguageWords("答え 回答 解答 正解 正答", "は、 は が", "はい 正しい そうです", "いいえ 違います 間違い"),
    "ko": LanguageWords("정답 답 답변 해답", "은 는 이", "네 예 맞습니다 그렇습니다", "아니요 아니오 아닙니다"),
    "km": LanguageWords("ចម្លើយ", "គឺ", "បាទ ចាស", "ទេ"),
    "lt": LanguageWords("atsakymas", "yra", "taip", "ne"),
    "ms": LanguageWords("jawapan jawapannya", "ialah adalah", "ya benar", "tidak bukan salah"),
    "nl": LanguageWords("antwoord", "is luidt", "ja waar klopt", "nee neen onwaar"),
    "no": LanguageWords("svaret svar", "er", "ja sant", "nei usant"),
    "pl": LanguageWords("odpowiedź odpowiedz odpowiedzią", "to jest brzmi wynosi", "tak prawda", "nie fałsz"),
    "pt": LanguageWords("resposta respostas", "é e seria são", "sim verdadeiro correto", "não nao falso"),
    "ro": LanguageWords("răspunsul răspuns", "este e", "da adevărat", "nu fals"),
    "ru": LanguageWords("ответ ответом", "это равен равна будет составляет является", "да верно правда", "нет неверно"),
    "sv": LanguageWords("svaret svar", "är", "ja sant", "nej falskt"),
    "sw": LanguageWords("jibu majibu", "ni", "ndiyo ndio kweli", "hapana la"),
    "te": LanguageWords("సమాధానం జవాబు", "ఏమిటంటే అంటే", "అవును నిజం", "కాదు లేదు"),
    "th": LanguageWords("คำตอบ ตอบ", "คือ เป็น ได้แก่", "ใช่ ถูกต้อง จริง", "ไม่ใช่ ไม่ เท็จ"),
    "tr": LanguageWords("cevap yanıt", "", "evet doğru", "hayır yanlış"),
    "uk": LanguageWords("відповідь відповіддю", "це є дорівнює", "так правда", "ні неправда"),
    "vi": LanguageWords("đáp_án đáp_số câu_trả_lời trả_lời", "là", "có đúng phải", "không sai"),
    "zh": LanguageWords(
        "答案 選項 选项 答",
        "应该是 應該是 是 为 為 等于 选 選",
        "是的 是 对 對 正确 正確 有 可以 会 能",
        "不是 不对 不對 不能 不会 不會 不可以 没有 沒有 否 不 错误 錯誤",
    ),
}
