"""Find choices that refer to other choices, and questions that name a choice by its place or its label.

Such a question keeps its meaning only if these choices stay where they are ("All of the above"), if all choices keep
their order ("the first option"), or if the choices also keep their labels ("Both A and B").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from howsure.benchmarks.question import Question
from howsure.scorers.choice_labels import fold_text

LabelKind = Literal["capitals", "lowercase", "digits", "roman"]

ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
_CHOICE = r"(?:(?:answer|response)[ -])?(?:options?|choices?|answers?|alternatives?|responses?|selections?)"
_QUANTITY = (
    r"(?:all|none|both|neither|either|any|some|most|each|every one|one|only one|two|three|four|five|no one"
    r"|more than one|at least (?:one|two)|exactly (?:one|two)|not any|any one|any two|a combination|combinations?)"
)
_PLACE = (
    r"(?:first|second|third|fourth|fifth|sixth|1st|2nd|3rd|4th|5th|last|final|next|previous|preceding|former|latter"
    r"|middle|top|bottom|uppermost|lowest)"
)
_PLACES = rf"{_PLACE}(?:(?:,| and| or|, and) (?:the )?{_PLACE})*(?: (?:two|three|four|few))?"


_FOREIGN_QUANTITY = (
    r"ningun[oa]|tod[oa]s|amb[oa]s|tutt[ei]|nessun[oa]|entramb[ei]|toutes|tous|aucune?|les deux|keine?[rs]?|alle|beide"
    r"|nenhuma?|geen(?: enkele)?"
)


def _compile_any(*patterns: str) -> re.Pattern[str]:
    """Return a pattern that finds any of several, in any case."""
    return re.compile("|".join(patterns), re.IGNORECASE)


# "the above", "listed above", "the aforementioned": everything that stands before the choice.
_ABOVE = _compile_any(
    rf"\b{_QUANTITY},? (?:of )?(?:the |those |these )?(?:{_CHOICE} |statements? |reasons? |items? |factors? )?"
    r"(?:the )?(?:above|aforementioned|foregoing|preceding)\b(?! (?:\d|average|zero|ground|sea|water))",
    r"\b(?:of|in|from|by|to|or|with|than|except(?: for)?|as|not|but) (?:the |those |these )above\b",
    r"\bthe above\b(?! (?:equation|expression|formula|figure|diagram|graph|table|passage|text|code|program|function))",
    r"\b(?:listed|mentioned|named|given|described|enumerated|noted) above\b",
    rf"\b(?:above|aforementioned|foregoing|preceding|previous)[ -](?:{_CHOICE}|mentioned|named|listed)\b",
    rf"\b(?:{_CHOICE}|statements?|reasons?|items?|factors?|claims?) above\b",
    r"^\W*(?:the )?(?:above|aforementioned|foregoing)\W*$",
    rf"\b{_QUANTITY} of (?:the |these |those )?\w+ above\W*$",
    # "the sum of the two numbers above", "both values given above"
    r"\b(?:two|three|four|five|both|these|those|other) \w+s (?:(?:given|listed|named) )?above\b"
    r"(?! (?:\d|average|zero|sea))",
)
# The same in other languages than English.
_FOREIGN_ABOVE = _compile_any(
    # German, Spanish, Portuguese, French, Italian, Russian, Chinese, Japanese, Korean,
    # Arabic, Hindi, Turkish, Vietnamese.
    r"\b(?:keine?[rs]?|alle|beide|eine?[rs]?) (?:der |die |von )?(?:diesen?|genannten|obigen|oben|anderen|antworten)\b",
    r"\b(?:ningun[oa]|tod[oa]s|amb[oa]s|nenhum|nenhuma|algun[oa]) (?:de |d[oa]s? )?(?:l[oa]s |[oa]s )?"
    r"(?:anteriores|otr[oa]s|opciones|respuestas|outr[oa]s|alternativas|opções|respostas|acima)\b",
    r"\b(?:aucune?|toutes|tous|les deux) (?:de |d['’])?(?:ces|les|ci-dessus|réponses)\b|\bci-dessus\b",
    r"\b(?:nessun[oa]|tutt[ei]|entrambe) (?:delle |dei |le |i )?(?:precedenti|risposte|altre|opzioni)\b",
    r"вышеперечисл|перечисленн|вышеуказанн|из указанных|из этих вариантов",
    r"以上|上述|都不是|都是|皆是|皆非|上記|いずれも|どれも|위의|모두 |해당 없음|ما سبق|مما ذكر|उपरोक्त|इनमें से",
    r"\b(?:hepsi|hiçbiri|tất cả (?:các )?(?:đáp án|ý|phương án)|không có đáp án)\b",
    # Dutch, Swedish, Danish, Norwegian, Polish, Czech, Romanian, Hungarian, Finnish, Indonesian, Ukrainian, Greek,
    # Japanese, Korean, Hebrew, Persian, Thai, Bengali.
    r"^\W*(?:keine?[rs]?|alle|beide|eine?[rs]?) davon\b",
    r"\b(?:geen|alle|beide|een) (?:van )?(?:de )?(?:bovenstaande|deze)\b",
    r"\b(?:inget|ingen|alla|allt|alle|intet) (?:av |af )?(?:de )?(?:ovanstående|ovenstående|ovennevnte|dessa|disse)\b",
    r"\b(?:żadn[ae]|wszystkie|oba|obie)(?: odpowiedzi)? (?:z )?(?:powyższ|wymienion|tych)",
    r"\b(?:žádn[áéý]|všechn[yo]) z |^\W*жодн|перелічен|παραπάνω|yllä (?:olevi|maini)|\ba fentiek\b|\begyik sem\b",
    r"\b(?:niciun[au]|nici una|toate|ambele) (?:din(?:tre)? )?(?:cele de mai sus|acestea|variantele)\b",
    r"\b(?:semua|tidak ada)(?: jawaban)?(?: yang)? (?:benar|di atas)\b",
    r"どれでもない|いずれでもない|どちらでもない|^どちらも|すべて正しい|全て正しい",
    r"^\W*(?:정답 ?없음|답이? ?없음|모두 (?:정답|맞)|위 ?모두|둘 ?다)",
    r"כל התשובות|אף תשובה|אף אחת|כולן נכונות|هیچ ?کدام|همه موارد|هر دو مورد|ถูกทุกข้อ|ไม่มีข้อใด|উপরের|কোনোটিই",
    # A word for all, both or none that is the whole choice, or stands before a word for answers or statements.
    rf"^\W*(?:{_FOREIGN_QUANTITY})"
    r"(?: (?:es|son|est|sont|è|sono|ist|sind|é|são|drei|vier|zwei|tres|trois|tre)(?: \w+)?)?\W*$",
    rf"^\W*(?:{_FOREIGN_QUANTITY}|alla|ingen|wszystkie|żadn[ae]|všechny|žádná|toate|niciun)"
    r"(?: (?:de|las|les|le|z|af|av))? (?:antw|aussage|svar|respuest|répons|rispost|odpov|odpow|răspuns|afirma|afferma"
    r"|affirm|påståend|stwierdz|stelling|resposta)\w*",
    r"^\W*(?:(?:все|оба|обе|ни один|ни одна) (?:ответ|вариант|утвержд|верн|правильн)\w*"
    r"|нет (?:правильн|верн)\w+ ответ\w*|верны (?:все|оба|обе))",
    # "Beide Städte", "Оба города", "Ни один из этих городов", "两者都是"
    r"^\W*(?:beide|les deux|amb[oa]s(?: l[ao]s)?|entramb[ei](?: le| i| gli)?|оба|обе) \w+\W*$"
    r"|^\W*ни одн[аио]\w*(?: из (?:этих|них|данных)(?: \w+)?)?\W*$|^\W*(?:все|все эти|все из них)(?: \w+)?\W*$"
    r"|^\W*(?:两者|二者|両方|両者)",
    r"^\W*(?:[都全均](?:[不没]|不是)?(?:对|正确|错)|全部|すべて|全て|該当なし|सभी|दोनों|कोई नहीं)\W*$|(?:جميع|كل) ما",
)
_WHOLE_CHOICES = (
    *("both", "neither", "either", "all", "none", "any", "others?", "any other", "all others?", "the others?"),
    *("none listed", "all listed", "not listed", "none given", "not given", "none is correct", "none are correct"),
    *("all are correct", "all correct", "none correct", "both are (?:correct|true|right)", "all true", "both true"),
    *(
        "none (?:is|are|was|were|do|does|has|have|fits?)",
        "(?:both|neither|all|no|any) (?:of the )?(?:statements?|claims?)",
    ),
    *("something else", "the rest", "neither is correct", "all apply", "none apply", "none applies", "neither one"),
    *(
        "either one",
        "any one",
        "all (?:two|three|four|five)",
        "(?:all|none|both) (?:is|are) (?:true|false|right|wrong)",
    ),
)
# "none of these", "both", "all the other answers": other choices, wherever they stand.
_OTHERS = _compile_any(
    rf"\b{_QUANTITY} (?:of )?(?:the )?(?:these|those|them|(?<!each )(?<!one )(?<!some )others?\b(?! \w)"
    rf"|other {_CHOICE}|(?:given |listed |stated |available |provided |two |three |four )?{_CHOICE})\b",
    rf"^\W*(?:it |they |there )?(?:is |are )?(?:{'|'.join(_WHOLE_CHOICES)})\W*$",
    rf"\bno(?: correct| right| suitable)? {_CHOICE}(?: is| are)?(?: correct| right| given| listed| possible)\b",
    rf"\bno (?:correct|right) {_CHOICE}\b",
    # "either of the two", "none of the three", "no word of these": the number or a noun stands for the choices.
    rf"\b{_QUANTITY} of (?:the )?(?:two|three|four|five)(?! \w)",
    # "none of the listed values", "all of the features listed", "neither colour is".
    rf"^\W*{_QUANTITY} of (?:the |these |those )?(?:\w+ )?"
    r"(?:listed|given|named|shown|mentioned|stated|preceding)(?: \w+)?\W*$",
    r"^\W*(?:neither|both|no|all)(?: of)?(?: the| these)? \w+"
    r" (?:is|are|was|were|does|do|did|has|have|can|could|will|would)\W*$",
    r"^\W*(?:keine?[rs]?|alle|beide) (?:der|dieser|von)(?: \w+)?\W*$",
    r"^\W*(?:ningun[oa]|tod[oa]s) (?:de )?(?:ell[oa]s|est[oa]s|l[oa]s (?:dos|tres|cuatro))\W*$",
    r"^\W*(?:aucune?|tou(?:te)?s) (?:d['’]entre |d['’])?(?:eux|elles|les (?:deux|trois|quatre))\W*$",
    r"^\W*(?:nessun[oa]|tutt[ei]) (?:di |e )?(?:loro|quest[ei]|due|tre|quattro)\W*$",
    # "All three statements are right", "More than one is correct", "The answer is not listed".
    rf"^\W*(?:{_QUANTITY}|only \w+|exactly \w+|at least \w+)(?: of)?(?: the| these)?(?: two| three| four| five)?"
    rf"(?: (?:statements?|claims?|sentences?|{_CHOICE}))?"
    r" (?:is|are) (?:all |both )?(?:correct|right|true|false|wrong|incorrect|possible)\W*$",
    rf"^\W*(?:(?:the )?(?:correct |right )?(?:value|one|{_CHOICE}) (?:is )?)?"
    r"not (?:(?:listed|given|shown)(?: (?:here|above|among|in)\b[^,;]*)?\W*$|(?:here|among)\b)",
    # "all could be", "either may be true": a verb without more.
    r"\b(?:all|none|any|both|either|neither) (?:could|can|might|may|would|must)(?: be)?"
    r"(?: (?:true|false|correct|right|wrong|possible|used|given))?\W*$",
    r"\bno(?: \w+)? of (?:these|those|them)\b(?! \w)",
    r"\b(?:not|different from|other than|same as|opposite of) (?:any )?(?:of )?(?:the )?(?:other|given|listed) "
    rf"{_CHOICE}\b",
)
_OF_TWO = re.compile(r"\W*(?:both|either|neither)\b", re.IGNORECASE)
#: Longest choice, in words, in which "all of them" may stand anywhere; in longer ones it stands at the beginning.
SHORT = 7
# "the first option", "the last two answers": a place.
_PLACED = _compile_any(
    rf"\b{_PLACES} (?:listed |given |possible |numbered )?{_CHOICE}\b",
    rf"\b{_PLACE} (?:one |two |three )?(?:of|among|in) (?:the |these |those )?(?:\w+ )?(?:{_CHOICE}|list)\b",
    rf"\b{_CHOICE} (?:that (?:is|are|was|were|comes?|stands?|appears?) |which (?:is|are|comes?|appears?) )?"
    r"(?:listed |given |named |shown |printed |written |placed |numbered |standing )?(?:in )?(?:the )?"
    rf"{_PLACE}\b(?! \w+ly)",
    rf"\b(?:listed|named|shown|placed|printed) {_PLACE}\b",
    rf"\b{_PLACE} (?:one|item|entry) (?:listed|below|above|in the list)\b",
    rf"\b{_PLACE} (?:\w+ ){{0,3}}(?:in|on) (?:the|this) list\b",
    rf"\b{_CHOICE}(?: \w+)? (?:directly |just |immediately |right )?"
    rf"(?:after|before|beneath|next to|following|preceding) (?:it|this|that|the|{_CHOICE})\b",
    rf"\b(?:position|place|order) of the (?:\w+ )?{_CHOICE}\b",
    r"\bat the (?:top|bottom|end|beginning|start) of the list\b",
    # German, Spanish, Portuguese, French, Italian, Russian, Chinese and Japanese.
    r"\b(?:erste|zweite|dritte|vierte|letzte)[nrs]? (?:antwort|option|möglichkeit|auswahl)",
    r"\b(?:primer[ao]?|segund[ao]|tercer[ao]?|cuart[ao]|últim[ao]|primeir[ao]|terceir[ao]|quart[ao])"
    r" (?:opción|respuesta|alternativa|opção|resposta)",
    r"\b(?:première?|deuxième|seconde|troisième|quatrième|dernière?) (?:réponse|option|proposition|choix)",
    r"\b(?:prima|seconda|terza|quarta|ultima) (?:risposta|opzione|alternativa)",
    r"\b(?:перв|втор|трет|четвёрт|четверт|последн)\w+ (?:вариант|ответ)",
    r"[前后][两兩二三][项個个]|^\W*(?:и |ни |только |верно )?[АБВГД](?:,? (?:и|или|ни) |, )[АБВГД]\W*$",
    r"(?:第[一二三四1-4]|最后一|最後の?)[个個]?的?(?:选项|選項|選択肢|答案|选择)|[1-4一二三四](?:番目|つ目)の(?:選択肢|答え)",
)
# "The first", "Only the second", "All but the first": of the choices, or of what the question lists.
_ONLY_PLACE = _compile_any(
    rf"\b(?:all|everything|none|any|each)(?: of (?:them|these|those))? (?:but|except(?: for)?|save|besides|other than)"
    rf" (?:the )?{_PLACES}(?: ones?)?\W*$",
    rf"\b{_QUANTITY} of the {_PLACE} (?:two|three|four|few)\b",
    rf"^\W*(?:only |both |all )?(?:of )?(?:the )?{_PLACES}(?: ones?)?,? (?:but|and) not (?:the )?{_PLACES}\b",
    rf"^\W*(?:only |(?:both|all|either|neither|none|one|each) (?:of )?)?(?:the )?{_PLACES}(?: ones?)?(?: only)?\W*$",
    r"\b(?:les (?:deux|trois) (?:premi|derni)\w+|l[ao]s (?:dos|tres) (?:primer|últim)\w+"
    r"|(?:le|i) (?:prim|ultim)[ei] (?:due|tre)|die (?:ersten|letzten) (?:beiden|zwei|drei)"
    r"|die (?:beiden|zwei|drei) (?:ersten|letzten))\b",
    rf"^\W*(?:only |both |neither )?(?:of )?(?:the )?{_PLACES}"
    r" (?:statements?|claims?|sentences?|assertions?|reasons?|items?)"
    r"(?: (?:is|are|holds?|apply|applies))?(?: (?:both |all )?(?:true|false|correct|right|wrong|incorrect|valid))?\W*$",
)
_BELOW = _compile_any(
    rf"\b{_QUANTITY} (?:of )?(?:the |those |these )?(?:below|following|ones below)\b", rf"\b(?:{_CHOICE}|those) below\b"
)

_OPEN, _CLOSE = r"[\"'“‘(\[]", r"[\"'”’)\]]"
_LETTER = rf"[A-Z]|(?<={_OPEN})[a-z](?={_CLOSE})|[IVX]{{2,4}}"
_ENDS = rf"{_CLOSE}?(?![\w'’%.]\w|\w|[+^*=/-])"
# "option B", "answers 1 and 3", "choose C if": a label after a word that makes it one.
_NAMED = re.compile(
    r"\b(?i:(?:answer |response )?(?:options?|choices?|answers?)|alternatives?(?= [A-Z(])|labell?ed|lettered)"
    rf"(?: (?i:letters?|labels?|numbers?))? {_OPEN}?(?P<a>{_LETTER}|\d{{1,2}}){_ENDS}"
    r"|(?:^|[.;:,!?] )(?i:please )?(?i:choose|select|mark|pick|answer|reply|circle|enter)"
    rf"(?: (?i:with|only|letter|the letter|just))? {_OPEN}?(?P<b>{_LETTER}){_ENDS}"
    r"(?= (?i:if|when|for|where|in case)\b|[.,;:]|$)"
    # In brackets it is a label wherever the verb stands: "otherwise choose (B)".
    r"|\b(?i:choose|select|mark|pick|answer|reply|circle|enter)(?: (?i:with|only|letter|the letter|just))?"
    r" [(\[](?P<c>[A-Za-z])[)\]]"
    # "Same as A, but only above a threshold"
    rf"|^(?i:the |exactly )?(?i:same as) {_OPEN}?(?P<d>[A-H]){_ENDS}",
    re.MULTILINE,
)
_CONNECTIVES = frozenset({"and", "or", ",", "/", "+", ";", "the", "is", "are"})
_WORDS_OF_REFERENCES = _CONNECTIVES | frozenset(
    (
        *(
            "both",
            "either",
            "neither",
            "nor",
            "&",
            "all",
            "any",
            "only",
            "not",
            "but",
            "none",
            "no",
            "one",
            "two",
            "of",
        ),
        *("three", "was", "were", "be", "correct", "true", "right", "false", "incorrect", "wrong", "valid", "option"),
        *("options", "answer", "answers", "choice", "choices", "alternative", "alternatives", "response", "responses"),
        *("statement", "statements", "item", "items", "except", "together", "also", "alone", "combined", "above", "as"),
        *("well", "just", "each", "other", "others", "they", "same", "apply", "applies", "hold", "holds", "correctly"),
        *("incorrectly", "matched", "paired", "equally", "required", "acceptable", "possible", "plausible", "likely"),
        *("through", "opposite"),
    )
)
#: Words beside which numbers are labels: "1 and 2" may be an amount, "Both 1 and 2" is none.
_WORDS_WITH_NUMBERS = frozenset(
    {"both", "neither", "only", "either", "options", "answers", "choices", "correct", "right", "true", "wrong", "false"}
)
_WORD_OR_MARK = re.compile(r"[A-Za-z]+|\d+|[&+/,;]|[^\s\w]")
_MARKS = frozenset("().\"'“”‘’[]-–—:")
#: A letter or a number that is written as a label is: "a)" or "(1)".
_WRAPPED = re.compile(r"(?<!\w)(?:[a-z]|(?<=\()\d{1,2})[)\]]")
# "A und B", "Sia A che B", "A和B都对": two labels joined by a word of another language than English.
_FOREIGN_PAIR = re.compile(
    r"(?<![A-Za-zÀ-ɏ\d])(?P<a>[A-H]|[a-h](?=\)))\)?(?:"
    r",?\s+(?:und|oder|als auch|noch|als|y|e|o|ni|como|nem|et|ou|che|né|en|of|i|lub|ani|jak i|och|og|eller|ve|veya|dan"
    r"|atau|và|hoặc|și|sau|и|или|ни|та|або|και)\s+|\s*(?:、|和|与|與|及|或|跟|と|または|や|와|과|및|또는|و|أو|और|या)\s*)"
    r"\(?(?P<b>[A-H]|[a-h](?=\)))(?![A-Za-zÀ-ɏ\d])"
)
_LIST_LABEL = r"[A-Za-z]|\d{1,2}|[ivxIVX]{1,4}"
_LISTED = re.compile(rf"(?:^|(?<=[\s|;,:]))(?:[(\[](?P<a>{_LIST_LABEL})[)\]]|(?P<b>{_LIST_LABEL})[.):](?=\s))")


# At least one of these words is in every match of a pattern.
_WORDS_OF_CHOICES = (
    *("option", "choice", "answer", "alternative", "response", "selection", "list", "named", "shown", "placed"),
    *("printed", "antwort", "rispost", "opzion", "respuest", "respost"),
)
_WORDS_OF_PLACES = (
    *(
        "first",
        "second",
        "third",
        "fourth",
        "fifth",
        "sixth",
        "1st",
        "2nd",
        "3rd",
        "4th",
        "5th",
        "last",
        "final",
        "next",
    ),
    *("previous", "preceding", "former", "latter", "middle", "top", "bottom", "uppermost", "lowest"),
    *("primer", "premi", "prime", "primi", "ersten", "letzten", "ultim", "últim", "derni"),
)
_WORDS_OF_OTHERS = (*_WORDS_OF_CHOICES, "these", "those", "them", "other")
_WORDS_OF_LABELS = (
    *_WORDS_OF_CHOICES,
    *("label", "letter", "choose", "select", "mark", "pick", "reply", "circle", "enter", "same as"),
)
_WORDS_OF_ABOVE = ("above", "aforementioned", "foregoing", "preceding", "previous")
_FOREIGN_WORDS = (
    "kein",
    "beide",
    "ningun",
    "tod",
    "nenhum",
    "algun",
    "aucun",
    "les deux",
    "ci-dessus",
    "nessun",
    "tutt",
    "entramb",
    "hepsi",
    "davon",
    "geen",
    "ingen",
    "inget",
    "intet",
    "niciun",
    "toate",
    "ambele",
    "semua",
    "tutte",
    "tutti",
    "tidak",
    "egyik",
    " z ",
    "eine ",
    "einer ",
    "eines ",
    "ambas",
    "ambos",
    "alle ",
    "alla ",
    "toutes",
    "tous ",
)


@dataclass(frozen=True, slots=True)
class OptionReferences:
    """What the choices of a question and its text say of places and labels.

    Attributes
    ----------
    above
        Indices of the choices that refer to the choices before them, such as "All of the above".
    others
        Indices of the choices that refer to other choices wherever these stand, such as "None of these".
    naming
        Indices of the choices that name a label, such as "Both A and B".
    fixed_order
        Whether a place or a label is named, so that all choices keep their order.
    label_kind
        The kind of labels that is named, or None.
    reason
        The words that were found, for the record of the prompt; empty when there are none.

    Examples
    --------
    >>> cities = Question("q", "Which are in Italy?", "C", choices=("Rome", "Milan", "All of the above"))
    >>> find_option_references(cities).above, find_option_references(cities).pinned
    ((2,), (2,))
    """

    above: tuple[int, ...] = ()
    others: tuple[int, ...] = ()
    naming: tuple[int, ...] = ()
    fixed_order: bool = False
    label_kind: LabelKind | None = None
    reason: str = ""

    @property
    def is_empty(self) -> bool:
        """Return whether no choice and no word of the question refers to a place, a label or another choice."""
        return not (self.above or self.others or self.fixed_order)

    @property
    def pinned(self) -> tuple[int, ...]:
        """Return the indices of the choices that keep their place."""
        return tuple(sorted({*self.above, *self.others, *self.naming}))

    def list_pinned(self, n: int) -> dict[str, object]:
        """Return the record of the pinned choices of n, with the words that were found; empty when none is pinned."""
        pinned = list(range(n)) if self.fixed_order else list(self.pinned)
        return {"choices": pinned, "reason": self.reason} if pinned else {}

    def pin_order(self, order: Sequence[int]) -> tuple[int, ...]:
        """Return an order of choices in which those that refer to others keep their place.

        A choice that refers to the choices above it also keeps the same set of choices above it.

        >>> OptionReferences(above=(2,)).pin_order([3, 2, 1, 0])
        (1, 0, 2, 3)
        """
        n = len(order)
        if self.fixed_order:
            return tuple(range(n))
        pinned = set(self.pinned)
        section = [sum(end < i for end in self.above) for i in range(n)]
        movable = {part: iter([i for i in order if section[i] == part and i not in pinned]) for part in set(section)}
        return tuple(place if place in pinned else next(movable[section[place]]) for place in range(n))


#: A label that a choice has of its own, and the text after it.
_OWN_LABEL = re.compile(r"\s*[(\[]?(\w{1,4})[)\].:]\s+(\S.*)", re.DOTALL)


@lru_cache(maxsize=2**16)
def remove_own_labels(choices: tuple[str, ...]) -> tuple[str, ...]:
    """Return choices without labels of their own, if all have one and these count the choices.

    >>> remove_own_labels(("a) in May", "b) in June")), remove_own_labels(("1. e4", "d4"))
    (('in May', 'in June'), ('1. e4', 'd4'))
    """
    matches = [_OWN_LABEL.fullmatch(choice) for choice in choices]
    counting = [match for i, match in enumerate(matches) if match and i in _find_indices(match[1])]
    texts = tuple(match[2] for match in counting)
    return texts if len(texts) == len(choices) > 1 and len(set(texts)) == len(texts) else choices


@lru_cache(maxsize=2**16)
def find_option_references(question: Question) -> OptionReferences:
    """Return what the choices and the text of a question say of places and labels.

    Parameters
    ----------
    question
        A question; one without choices refers to none.

    Returns
    -------
    OptionReferences
        The indices of the choices that must stay, and whether order and labels must.

    Examples
    --------
    >>> cities = Question("q", "Which are in Italy?", "D", choices=("Rome", "Milan", "Oslo", "Both A and B"))
    >>> found = find_option_references(cities)
    >>> found.fixed_order, found.label_kind, found.reason
    (True, 'capitals', 'Both A and B')
    """
    choices = [_clean(choice) for choice in question.choices]
    if not choices:
        return OptionReferences()
    text = "\n".join(_clean(line) for line in question.text.splitlines())
    list_kind = _find_list_kind(question)
    listed = find_enumerated_labels(question.text) if list_kind is None else frozenset()
    naming, kind_of_choices = _find_naming_choices(choices, listed)
    joined = " ".join(choices) + " "
    patterns = [_ABOVE] if _mentions(joined, _WORDS_OF_ABOVE) else []
    patterns += [_FOREIGN_ABOVE] if not joined.isascii() or _mentions(joined, _FOREIGN_WORDS) else []
    all_above = [i for i, choice in enumerate(choices) if any(pattern.search(choice) for pattern in patterns)]
    # The first choice has none above it: "None of the above" then means all others.
    naming_others = [i for i, choice in enumerate(choices) if i in all_above or _names_others(choice)]
    # "Both" after two choices means these two.
    after_two = {i for i in naming_others if i > 1 and _OF_TWO.match(choices[i])}
    above = tuple(i for i in naming_others if i and (i in all_above or i in after_two))
    others = tuple(i for i in naming_others if i not in above)
    places = [place for one in (*choices, text) if (place := _find_place(one, is_choice=one is not text))]
    label, kind_of_text = _find_label_in_text(text, len(choices))
    kind = list_kind or kind_of_choices or kind_of_text
    parts = [*(choices[i] for i in (*naming, *above, *others)), *places[:1], label]
    parts.append("the question lists its choices" if list_kind else "")
    return OptionReferences(
        above=above,
        others=others,
        naming=naming,
        fixed_order=bool(places or kind is not None),
        label_kind=kind,
        reason="; ".join(part for part in parts if part),
    )


@lru_cache(maxsize=2**16)
def find_enumerated_labels(text: str) -> frozenset[str]:
    """Return the labels of the lists that a text contains, in lower case; a list has at least its first two labels.

    >>> sorted(find_enumerated_labels("Consider: I. Birds fly. II. Fish swim."))
    ['i', 'ii']
    """
    stated = {(match["a"] or match["b"]).casefold() for match in _LISTED.finditer(text)}
    labels: set[str] = set()
    for series in (ROMAN, "abcdefghij", [str(i) for i in range(1, 21)]):
        length = next((i for i, label in enumerate(series) if label not in stated), len(series))
        if length >= 2:
            labels.update(series[:length])
    return frozenset(labels)


def _clean(text: str) -> str:
    """Return a text with single spaces and plain characters."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def _mentions(text: str, words: Sequence[str]) -> bool:
    """Return whether a text contains any of the words, which is much faster than the patterns that need one of them."""
    folded = text.casefold()
    return any(word in folded for word in words)


def _find_place(text: str, *, is_choice: bool) -> str:
    """Return the words with which a choice or a question names the place of a choice, or ""."""
    match = _PLACED.search(text) if _mentions(text, _WORDS_OF_CHOICES) or not text.isascii() else None
    if is_choice and match is None:
        match = _BELOW.search(text) if _mentions(text, ("below", "following")) else None
        match = match or (_ONLY_PLACE.search(text) if _mentions(text, _WORDS_OF_PLACES) else None)
    return match[0] if match else ""


def _names_others(choice: str) -> bool:
    """Return whether a choice refers to other choices wherever they stand."""
    is_short = len(choice) < 40
    match = _OTHERS.search(choice) if is_short or _mentions(choice, _WORDS_OF_OTHERS) else None
    return match is not None and (match.start() < 4 or len(choice.split()) <= SHORT)


def _find_list_kind(question: Question) -> LabelKind | None:
    """Return the kind of the labels with which the text of a question lists its own choices; None when it does not."""
    if sum(fold_text(choice) in fold_text(question.text) for choice in question.choices) < len(question.choices):
        return None
    labels: list[str] = []
    for i, choice in enumerate(question.choices):
        pattern = re.compile(rf"[(\[]?(\w{{1,4}})[)\].:]+\s*{re.escape(choice)}")
        match = next((m for m in pattern.finditer(question.text) if _find_indices(m[1]) is not None), None)
        if match is None or i not in _find_indices(match[1]):
            return None
        labels.append(match[1])
    return _find_kind(labels[-1]) if len(labels) > 1 else None


def _find_indices(label: str) -> tuple[int, ...]:
    """Return the indices that a label can mean, from 0: of a letter, a number or a Roman numeral."""
    indices = []
    if len(label) == 1 and label.isascii() and label.isalpha():
        indices.append(ord(label.upper()) - ord("A"))
    if label.isascii() and label.isdigit():
        indices.append(int(label) - 1)
    if label.casefold() in ROMAN:
        indices.append(ROMAN.index(label.casefold()))
    return tuple(i for i in indices if i >= 0)


def _find_kind(label: str) -> LabelKind:
    """Return the kind of a label; a single letter is no Roman numeral."""
    if label.isdigit():
        return "digits"
    if len(label) > 1:
        return "roman"
    return "capitals" if label.isupper() else "lowercase"


def _find_naming_choices(choices: Sequence[str], listed: frozenset[str]) -> tuple[tuple[int, ...], LabelKind | None]:
    """Return the indices of the choices that name labels of other choices, and the kind of the labels.

    Letters that name statements of the question are no labels: the question lists them, a choice would name itself, or
    fewer than two choices are left that they could name. So are Roman numerals; beside "II" a single "I" is one.
    """
    words = [word for choice in choices for word in _WORD_OR_MARK.findall(choice)]
    if any(len(word) > 1 and word.casefold() in ROMAN for word in words):
        return (), None
    by_choice = {i: names for i, choice in enumerate(choices) if (names := _find_names(choice))}
    by_choice = {i: names for i, names in by_choice.items() if all(_first_index(name) < len(choices) for name in names)}
    names = set().union(*by_choice.values())
    is_of_statements = any(name.casefold() in listed for name in names) or any(
        i in {_first_index(name) for name in own} for i, own in by_choice.items()
    )
    kinds = {_find_kind(name) for name in names}
    if is_of_statements or len(kinds) != 1 or len(choices) - len(by_choice) < 2:
        return (), None
    return tuple(by_choice), kinds.pop()


def _first_index(label: str) -> int:
    """Return the index that a label means, or a large number."""
    return next(iter(_find_indices(label)), 99)


def _find_names(choice: str) -> set[str]:
    """Return the labels that a choice names: it consists of labels and words of references, or names an option."""
    after_word = set()
    if _mentions(choice, _WORDS_OF_LABELS):
        after_word = {_find_named(match) for match in _NAMED.finditer(choice)}
    parts = [part for part in _WORD_OR_MARK.findall(choice) if part not in _MARKS]
    if pair := _FOREIGN_PAIR.search(choice):
        after_word |= {pair["a"], pair["b"]}
    words = [part.casefold() for part in parts if part.casefold() in _WORDS_OF_REFERENCES]
    labels = [part for part in parts if part.casefold() not in _WORDS_OF_REFERENCES]
    if not labels or not all(len(label) <= 2 and _find_indices(label) for label in labels):
        return after_word
    has_quantity = bool(set(words) - _CONNECTIVES)
    if all(label.isdigit() for label in labels):
        # "(0, 1)" is a point or an interval.
        are_wrapped = len(_WRAPPED.findall(choice)) >= len(labels) > 1 and bool(words)
        is_reference = bool(set(words) & _WORDS_WITH_NUMBERS) or are_wrapped
    elif all(label.islower() for label in labels):
        is_reference = len(labels) > 1 and (has_quantity or len(_WRAPPED.findall(choice)) >= len(labels))
    else:
        is_reference = has_quantity or (len(labels) > 1 and bool(words))
    return after_word | set(labels) if is_reference else after_word


def _find_named(match: re.Match[str]) -> str:
    """Return the label of a match of `_NAMED`."""
    return next(label for label in match.group("a", "b", "c", "d") if label)


def _find_label_in_text(text: str, n: int) -> tuple[str, LabelKind | None]:
    """Return the words of a question that name one of n labels, and the kind of the label."""
    for match in _NAMED.finditer(text) if _mentions(text, _WORDS_OF_LABELS) else ():
        label = _find_named(match)
        if any(index < n for index in _find_indices(label)):
            return match[0].strip(" .;:,!?"), _find_kind(label)
    return "", None
