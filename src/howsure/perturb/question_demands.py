"""Find what a question itself demands of its answer or says of a text of its own, which no prompt can contradict.

A question may rule out an explanation or demand one, demand a form of its own ("Respond in JSON."), an answer that is
no label ("Answer yes or no."), or the answer and nothing else. English, and the commonest phrases of other languages.
"""

from __future__ import annotations

import re


def _compile_any(*patterns: str) -> re.Pattern[str]:
    """Return a pattern that finds any of several, in any case; ^ and $ are ends of lines."""
    return re.compile("|".join(patterns), re.IGNORECASE | re.MULTILINE)


_BEGINS = r"(?:^|[.?!:;,\n(}\]\"”»]\s*|\b(?:please|and|but|then|must|should|be)\s+)"
_ALONE = r"(?:^|[.?!:;\n(]\s*)"  # a sentence or a part of one that stands by itself
_STOPS = r"\s*(?:please\s*)?(?:[.!:)]|$)"
_VERB = r"(?:respond|reply|answer|return|output|print|write|give|state|name|say)"
_LISTING_VERB = r"(?:cite|list|provide|supply|enter|specify|indicate|report|submit|mention|quote|tell me)"
_FEW = r"(?:an?|one|two|three|four|five|\d+)"
_LANGUAGES = (
    r"(?:Arabic|Chinese|Dutch|English|French|German|Greek|Hebrew|Hindi|Italian|Japanese|Korean|Latin|Polish|Portuguese"
    r"|Russian|Spanish|Swedish|Turkish)"
)
# Of an answer in other languages: German, French, Spanish, Italian, Russian.
_DE = r"\b(?:antwort\w*|gib|geben sie|schreib\w*|nenne\w*)\b[^.?!\n]{0,25}?"
_FR = r"\b(?:répon\w+|donne\w*|écri\w+)\b[^.?!\n]{0,25}?"
_ES = r"\b(?:respond\w+|respuesta|contest\w+|escrib\w+|da)\b[^.?!\n]{0,25}?"
_IT = r"\b(?:rispond\w+|risposta|scriv\w+|dai|date)\b[^.?!\n]{0,25}?"
_RU = r"\b(?:ответ\w*|напиши\w*|укажи\w*|назови\w*)\b[^.?!\n]{0,25}?"

_NO_EXPLANATION = _compile_any(
    r"\b(?:explain nothing|no explanations?|no (?:reasoning|justification)|nothing else"
    r"|without (?:any |giving |further )*(?:explanations?|explaining|reasoning|justifications?|comments?|working)"
    r"|no need (?:to|for)(?: an?)? (?:explain|justify|explanation|justification|reasons?|working)"
    r"|(?:do not|don['’]t|need not) (?:explain|justify|show(?! up)|give reasons"
    r"|(?:include|add|write|give) (?:an?|any|your|the) (?:explanation|reasoning|steps|working|justification)))\b",
    r"\bohne (?:rechenweg|erklärung|begründung|rechnung|lösungsweg)\b",
    r"\bsans (?:explication|justification|justifier|expliquer|détailler)",
    r"\bsin (?:explica|justifica|procedimiento|desarrollo)",
    r"\bsenza (?:spiega|giustifica|svolgimento|passaggi)",
    r"\bбез (?:объяснени|пояснени|обосновани)",
    r"(?:不要|无需|不用|不必)(?:写|写出|给出)?(?:解释|说明|过程|理由)|説明(?:は)?(?:不要|せず|なし)|설명 ?없이",
)
# "Answer in one word", "Give a one-word answer", "Antworte mit einem Wort".
_ONE_WORD = (
    rf"{_BEGINS}{_VERB}\b[^.?!:\n]{{0,20}}?\b(?:in|with|using)\s+(?:just |exactly |only )?{_FEW} (?:single )?words?\b",
    rf"\b(?:one|single|two|three)-word (?:answer|reply|response)\b|{_ALONE}(?:just |only )?one word(?: only)?{_STOPS}",
    rf"{_DE}\b(?:in|mit) (?:nur |genau )?eine[mr] (?:einzigen )?wort\b(?! ergänz)|\bein wort genügt\b",
    rf"{_FR}\b(?:en|par|avec) un (?:seul )?mot\b",
    rf"{_ES}\b(?:en|con) una (?:sola |única )?palabra\b",
    rf"{_IT}\b(?:in|con) una (?:sola |singola )?parola\b",
    r"\bодним словом(?=\s*(?:[.:,!?]|$))",
    r"用(?:一个|1个|一)(?:词|单词)(?:来)?(?:回答|作答)|(?:一言|一語)で(?:答|述べ|書)|한 (?:단어|마디)로",
    r"[(（](?:(?:nur )?ein wort|un (?:seul )?mot|una (?:sola |única )?(?:palabra|parola)|одно слово|一个词)[)）]",
)
# "Give the year only.", "Output only the query", "Answer only with the name.", "Antworte nur mit Ja oder Nein".
_NOTHING_ELSE = _compile_any(
    rf"{_BEGINS}(?:{_VERB}|{_LISTING_VERB})(?: with| in| using)? (?:only|just|solely|exactly) "
    r"(?:with |in |using |as )?(?:the|your|an?|one)\b",
    rf"{_BEGINS}(?:{_VERB}|{_LISTING_VERB})(?: [\w'’-]+){{1,6}} only(?=\s*(?:[,.;:!?]|$))",
    r"\bno other (?:text|words?)\b|\band nothing (?:else|more)\b(?! than)",
    rf"{_ALONE}nothing (?:else|more){_STOPS}|{_ALONE}(?:just|only) the \w+{_STOPS}",
    r"(?:^|[.?!\n]\s*)in (?:one|a single) (?:word|line|sentence|phrase)\s*[:,]",
    *_ONE_WORD,
    # "Answer with a single letter"
    rf"{_BEGINS}{_VERB}\b[^.?!:\n]{{0,20}}?\b(?:in|with|using)\s+(?:just |exactly |only )?{_FEW} (?:single )?"
    r"(?:letter|number|digit|integer|character|emoji)s?\b",
    rf"{_DE}(?:\bnur\b|\bmit einer (?:zahl|ziffer)\b|\bmit einem buchstaben\b)|{_ALONE}nur (?:die|das|den) \w+{_STOPS}",
    rf"{_FR}\b(?:seulement|uniquement|par un nombre|par une lettre)\b"
    rf"|{_ALONE}(?:seulement|uniquement) l[ea] \w+{_STOPS}",
    rf"{_ES}\b(?:solo|sólo|solamente|únicamente|con un número|con una letra)\b|{_ALONE}s[oó]lo (?:el|la) \w+{_STOPS}",
    rf"{_IT}\b(?:solo|soltanto|solamente|unicamente|con un numero|con una lettera)\b"
    rf"|{_ALONE}solo (?:il|la|lo) \w+{_STOPS}",
    rf"{_RU}\bтолько\b|\bодн(?:им числом|ой цифрой|ой буквой)(?=\s*(?:[.:,!?]|$))|{_ALONE}только \w+{_STOPS}",
    r"只(?:回答|写|给出|输出|用|要)|用一个(?:字|数字)(?:来)?(?:回答|作答)|(?:だけ|のみ)(?:を|で)?(?:答|書|述べ)"
    r"|만 (?:답|쓰)",
    # "Final answer only.", "The number is enough.", "Basta il numero.", "写出答案即可"
    rf"{_ALONE}(?:the )?(?:(?:final|short|exact|numerical) )?(?:answer|result|number|value|name|year)s? only{_STOPS}",
    r"\bthe (?:answer|result|number|value|name|year) (?:alone )?(?:is enough|suffices|will do)\b",
    rf"{_ALONE}(?:es )?(?:genügt|reicht) (?:die|das|der) \w+{_STOPS}"
    rf"|{_ALONE}(?:die|das|der) \w+ (?:genügt|reicht){_STOPS}",
    rf"{_ALONE}(?:le|la) \w+ suffit{_STOPS}|{_ALONE}basta(?: con)? (?:il|la|lo|el) \w+{_STOPS}"
    rf"|{_ALONE}достаточно (?:числа|ответа|названия|имени){_STOPS}",
    r"(?:写出?|给出|回答)(?:答案|结果|数字)(?:即可|就行)|直接(?:写出|给出)(?:答案|结果)",
)
# "Antworte in einem Satz."
_SENTENCES = (
    rf"(?:{_DE}|\b(?:begründe|erkläre)\w*\b[^.?!\n]{{0,25}}?)\bin (?:einem|zwei|drei) (?:\w+ )?s[aä]tz(?:en)?\b",
    rf"(?:{_FR}|\b(?:justifie|explique)\w*\b[^.?!\n]{{0,25}}?)\ben (?:une|deux|trois) phrases?\b",
    rf"(?:{_ES}|\b(?:justifi|expli)\w*\b[^.?!\n]{{0,25}}?)\ben (?:una|dos|tres) (?:frases?|oraci\w+)\b",
    rf"(?:{_IT}|\b(?:giustifica|spiega)\w*\b[^.?!\n]{{0,25}}?)\bin (?:una|due|tre) fras[ei]\b",
    r"\bодним предложением\b|\bв (?:одном|двух) предложени\w+|用一句话",
)
# "Use at most five words", "in ten words or fewer", "Justify it in one sentence": no room for the working.
_SHORT = _compile_any(
    r"\b(?:in|within|using|use|with) (?:at most|no more than|up to|fewer than|less than|under) \w+ (?:words?"
    r"|sentences?)\b",
    r"\b(?:in|within|using|use) \w+ words (?:or (?:fewer|less)|at most)\b|\bmax(?:\.|imum)?(?: of)? \d+ words\b",
    rf"{_BEGINS}(?:{_VERB}|describe|explain|justify|summari[sz]e|define)\b[^.?!\n]{{0,60}}?\bin "
    r"(?:(?:just|exactly|only) )?(?:an?|one|two|three|four|five|a few|\d)(?:(?: or | to |-)(?:two|three|four|five|\d))?"
    r" (?:(?:short|brief|simple|complete|single) )?(?:sentences?|lines?)\b",
    *_SENTENCES,
    # "in höchstens drei Wörtern", "en trois mots maximum"
    r"\b(?:höchstens|maximal|nicht mehr als) \w+ (?:wörtern?|worten?|sätzen?)\b",
    r"\ben (?:\w+ mots? (?:maximum|au (?:plus|maximum))|(?:au plus|au maximum|moins de|maximum) \w+ mots)\b",
    r"\ben (?:(?:menos de|como máximo|no más de|máximo) \w+ palabras|\w+ palabras como máximo)\b",
    r"\bin (?:(?:al massimo|meno di|non più di|massimo) \w+ parole|\w+ parole al massimo)\b",
    r"\bне (?:более|больше)(?: чем)? \w+ слов\w*",
    r"(?:不超过|最多|至多)[\d一二两三四五六七八九十百]+个?[字词]|[\d一二两三四五六七八九十百]+个?[字词](?:以内|之内)",
)
# "Explain why ice floats.", where nothing else is asked and the explanation is the answer.
_ONLY_WHY = re.compile(
    r"\A[^?？]*(?:\b|(?=[解说]))(?:(?:explain|justify|describe)\b[^.?!\n]{0,20}\b(?:why|how)"
    r"|(?:begründe|erkläre|erläutere)\w*\b[^.?!\n]{0,20}\b(?:warum|weshalb|wie)"
    r"|(?:explique|justifie)\w*\b[^.?!\n]{0,20}\b(?:pourquoi|comment)"
    r"|expli(?:ca|que)\b[^.?!\n]{0,20}\b(?:por qué|cómo)|spiega\w*\b[^.?!\n]{0,20}\b(?:perché|come)"
    r"|(?:объясните|поясните)\b[^.?!\n]{0,20}\b(?:почему|как)|(?:解释|说明)[^。？\n]{0,10}为什么)[^?？]*\Z",
    re.IGNORECASE,
)
# "Explain briefly.", "Justify your answer", but not "Explain nothing" and "Which law explains the tides?".
_EXPLAIN = _compile_any(
    r"(?:^|[.?!:;,\n]\s*|\b(?:please|and|then|but)\s+)(?:(?:briefly|shortly)\s+)?"
    r"(?:explain(?=\s*[.!]|\s+(?:briefly|shortly|why|how|your|in|each|every|the reason)\b)"
    r"|justify(?:\s+your)?|give (?:a|your|the) reasons?\b"
    r"|show (?:your|all|the|every|each) (?:\w+ )?(?:reasoning|work|working|steps?)\b)",
    rf"{_ALONE}(?:please )?(?:think|reason|work)(?: (?:it )?through)? (?:this |it )?step by step\b",
    r"\bwhy or why not\b|(?:[.?!]\s+|\band )why(?: not)?\?(?:\s*\Z|\n)",
    rf"(?:{_ALONE}|,\s*)(?:begründen?|erklären?|erläutern?|justifiez?|expliquez?|justifi(?:ca|que)|expli(?:ca|que)"
    r"|giustifica|spiega|объясните|поясните|обоснуйте)\b(?! nicht)",
    # "Muestra los pasos.", "Zeige deinen Rechenweg."
    rf"{_ALONE}(?:zeigen?|schreiben?|notieren?)(?: sie)? (?:deinen?|den|die|ihren?|alle|jeden) "
    r"(?:rechenweg|lösungsweg|(?:rechen|zwischen)?schritte?)\b",
    rf"{_ALONE}(?:montrez?|détaillez?) (?:toutes )?(?:les|tes|vos|chaque|ton) (?:étapes?|calculs?|raisonnement)\b",
    rf"{_ALONE}muestr[ae] (?:todos )?(?:los|tus|cada|el|tu) (?:pasos?|procedimiento|cálculos?|razonamiento)\b",
    rf"{_ALONE}mostra(?:te)? (?:tutti )?(?:i|ogni|lo|il) (?:tuoi )?(?:passagg\w+|svolgimento|calcoli|ragionamento)\b",
    rf"{_ALONE}покажи(?:те)? (?:решение|ход решения|все шаги|каждый шаг|вычисления)\b",
    r"\b(?:und (?:begründe|erkläre)|et (?:justifie|explique)|y (?:justifica|explica)|e (?:giustifica|spiega))\b",
    r"写出(?:解题|计算|推理|求解)?(?:过程|步骤)|说明理由|请(?:简要)?(?:解释|说明)|理由を(?:述べ|説明|書)"
    r"|説明し(?:なさい|てください)",
)
# "Answer: dy/dx = ___"
_OWN_SLOT = re.compile(r"\b(?:answer|solution|result):[^\n]*_{2,}\s*\Z", re.IGNORECASE)
# "Respond in JSON.", "Return valid XML", "as a JSON object", but neither "Given the JSON ..." nor "reads a JSON file";
# tables and lists; boxes, tags and backticks; a beginning, an end or a last line that the question words; lines; whole
# sentences, or a number of them.
_OWN_FORM = _compile_any(
    rf"{_BEGINS}(?:(?:{_VERB}|written|format\w*|express\w*)\b[^.?!\n]{{0,80}}?\b(?:in|as|using)"
    r"|(?:respond|reply|answer|return|output)(?: only)?(?: with)?)"
    r"\s+(?:(?:an?|the|this|same|one|single|valid|plain|markdown|html|latex)\s+){0,3}"
    r"(?:(?:json|yaml|xml|csv)\b(?!\s+(?:file|above|below))"
    r"|(?:table|(?:bullet(?:ed)?|numbered) (?:list|points?)|bullet points|code block|python \w+|haiku|limerick|poem"
    r"|rhyme)\b)",
    rf"{_BEGINS}(?:put|place|enclose|box|{_VERB})\b[^.?!\n]{{0,60}}?\b(?:in|within|inside)\s+(?:an? )?\$?\\boxed",
    r"\blast line of (?:your|the) (?:reply|answer|response|output) (?:must|should|has to|is to)\b",
    rf"{_BEGINS}(?:end|finish|conclude|begin|start) your (?:reply|answer|response|output) (?:with|by)\b",
    rf"{_BEGINS}(?:write|state|put|give)\b[^.?!\n]{{0,40}} at the end\b|\bschreibe?n? (?:sie )?am (?:ende|schluss)\b",
    rf"(?:^|\n)\s*format:|{_BEGINS}number (?:them|the \w+|your answers)\b",
    r"\b(?:answer|reply|respond|return|write|give|use)\b[^.?!\n]{0,30}\b(?:complete|full|whole) sentences?\b",
    r"\b(?:answer|reply|respond|describe|explain|summari[sz]e|say|write)\b[^.?!\n]{0,60}\bin "
    r"(?:(?:one|two|three|four|five|a few|\d)(?:(?: or |-)(?:two|three|four|five|\d))?|at most \w+)"
    r" (?:short |brief |simple |complete )?sentences?\b",
    rf"{_BEGINS}(?:put|place|enclose|wrap|{_VERB})\b[^.?!\n]{{0,60}}?\b(?:in|within|inside|between|using) "
    r"(?:(?:the|a|xml|html|square|curly|double|single|pair of) )*"
    r"(?:tags?|backticks|brackets|parentheses|braces|quotation marks|quotes|asterisks)(?! of)\b",
    rf"{_BEGINS}(?:write|mark|enter|tick)\b[^.?!\n]{{0,40}}?\bin the box\b",
    r"(?:^|[.?!\n]\s*)(?:start|begin|end|finish) with [\"“'‘«„]",
    rf"{_BEGINS}(?:answer|reply|respond)\b[^.?!\n]{{0,20}}? (?:as|with|in the (?:form|format)) [\"“'‘«„]",
    r"\bone (?:\w+ )?per line\b|\b(?:each|every one|all) on (?:a|its own|their own) (?:new |separate )?lines?\b",
    r"\bon separate lines\b|\bin the (?:form|format) [\"“'‘]",
    _OWN_SLOT.pattern,
    rf"{_DE}(?:ganzen|vollständigen) s[aä]tz|{_FR}\bphrases? complètes?\b",
    rf"{_ES}\b(?:frase|oración) completa\b|{_IT}\bfrase completa\b",
    *_SENTENCES,
    r"\bein(?:e[nrs]?)? (?:pro|je) zeile\b|\bune? par ligne\b|\bun[oa] (?:por línea|per riga)\b"
    r"|\bпо одно(?:му|й) (?:в|на) (?:каждой )?строк\w+|每行一[个项条]?",
)
# "Answer yes or no.", "Reply in one word", "Answer in French", "the full text of the option": no label.
_OWN_ANSWER = _compile_any(
    rf"{_BEGINS}(?:answer|reply|respond|say|write)\b[^.?!\n]{{0,15}}\b(?:yes or no|true or false|yes/no|true/false)\b",
    *_ONE_WORD,
    rf"{_BEGINS}(?:answer|reply|respond|say|write)\b[^.?!\n]{{0,15}}\b(?:a single|a few) words?\b",
    rf"{_BEGINS}(?:answer|reply|respond)\b[^.?!\n]{{0,15}}\b(?:an?|one|a single) (?:number|integer|digit)\b",
    # "(Answer: left / right)"; 'Answer as "It is X."'; a box, unless it is one for the letter.
    r"\((?:answer|choose|write|circle):? [^()/]+/[^()]+\)",
    rf"{_BEGINS}(?:answer|reply|respond)\b[^.?!\n]{{0,20}}? as [\"“'‘«„]",
    rf"{_BEGINS}(?:put|place|enclose|box|write|give)\b(?![^.?!\n]*\b(?:letter|label)\b)[^.?!\n]{{0,60}}\\boxed",
    rf"{_BEGINS}(?:answer|reply|respond)(?: only)? in {_LANGUAGES}\b",
    r"\b(?:full|complete|whole|exact) (?:text|wording) of (?:the|your) (?:\w+ )?(?:option|choice|answer)\b",
    rf"{_BEGINS}(?:answer|reply|respond)\b[^.?!\n]{{0,15}}\b(?:option|choice|answer)(?:['’]s)? (?:text|wording)\b",
    r"\bnot (?:with |by )?(?:its|the) (?:letter|label)\b",
    rf"{_DE}\bja oder nein\b|{_FR}\boui ou (?:par )?non\b|{_ES}\bsí o no\b|{_IT}\bsì o no\b|{_RU}\bда или нет\b",
)
# "Just the letter.", "Answer with the letter of the option"
_ASKS_FOR_LETTER = _compile_any(
    rf"{_BEGINS}(?:just|only|{_VERB}|choose|select|circle)\b[^.?!\n]{{0,30}}\bletter"
    r"(?=\s*(?:[.?!,;]|$|of (?:the|your)\b|only\b|alone\b))",
)
# A question that speaks of a text of its own, beside which an unrelated passage would be mistaken for it.
_OWN_TEXT = _compile_any(
    r"\bpassages?\b|\b(?:the|this|following|above) (?:\w+ )?(?:(?<!option )(?<!choice )text|paragraph|story|article"
    r"|extract|excerpt|poem|report|dialogue|conversation|context|scenario)\b|\b(?:text|paragraph)s? (?:above|below)\b",
    r"^\s*(?:context|text|paragraph|story|background)\s*:",
    r":[^\S\n]*\n[^\S\n]*\n(?!A\))|\n[^\S\n]*\n[\"“«„]",
    r"\b(?:im|der|folgende[rnm]?) (?:text|textes|abschnitt)\b|\b(?:le|du|ce) texte\b|\b(?:el|del|este) texto\b",
    r"\b(?:il|nel|del|questo) testo\b|\bтекст|短文|文章|下文|上文",
)
# "The previous question was about mammals", beside which an example would be taken for that question.
_ANOTHER_QUESTION = _compile_any(
    r"\b(?:previous|preceding|earlier|foregoing|last) (?:question|problem|exercise|task)s?\b",
    r"\b(?:question|problem|exercise|task|example)s?(?: as)? above\b",
    r"\b(?:vorige|vorherige|letzte)[nrs]? (?:frage|aufgabe)|\b(?:question|problème|exercice) précédente?\b",
    r"\b(?:pregunta|ejercicio|problema) anterior\b|\b(?:domanda|esercizio|problema) precedente\b",
    r"\bпредыдущ\w+ (?:вопрос|задач)|上一[题个道]|前の問",
)


def rules_out_explanation(text: str) -> bool:
    """Return whether a question demands an answer without an explanation, so that no prompt can ask for reasoning.

    >>> rules_out_explanation("Is 91 prime? Do not explain."), rules_out_explanation("Can you explain Ohm's law?")
    (True, False)
    """
    return _NO_EXPLANATION.search(text) is not None or demands_nothing_else(text)


def demands_nothing_else(text: str) -> bool:
    """Return whether a question demands the answer and nothing else, so that no prompt can demand a form around it.

    >>> demands_nothing_else("Give the year only. When did it end?"), demands_nothing_else("Give the only root.")
    (True, False)
    """
    return _NOTHING_ELSE.search(text) is not None


def demands_short_text(text: str) -> bool:
    """Return whether a question limits the words or sentences of the answer, so that no prompt can ask for the working.

    >>> demands_short_text("Is it prime? Justify it in one sentence."), demands_short_text("How many words has it?")
    (True, False)
    """
    return _SHORT.search(text) is not None


def demands_own_answer(text: str) -> bool:
    """Return whether a question demands an answer that is no label, so that no prompt can ask for a label.

    >>> demands_own_answer("Is 51 prime? Answer yes or no."), demands_own_answer("True or false: 51 is prime.")
    (True, False)
    """
    return _OWN_ANSWER.search(text) is not None


def has_own_text(text: str) -> bool:
    """Return whether a question speaks of a text of its own, so that no unrelated passage can stand before it.

    >>> has_own_text("Who speaks in the passage below?"), has_own_text("Who wrote Emma?")
    (True, False)
    """
    return _OWN_TEXT.search(text) is not None


def has_own_slot(text: str) -> bool:
    """Return whether a question ends with a marked place for its answer, so that no marker can follow it.

    >>> has_own_slot("Find dy/dx. Answer: dy/dx = ___"), has_own_slot("The answer to 2 + 2 is ___")
    (True, False)
    """
    return _OWN_SLOT.search(text) is not None


def is_plain(text: str) -> bool:
    """Return whether a question demands nothing of the form of its answer, so that it can be a demonstration.

    >>> is_plain("Is 51 prime?"), is_plain("Is 51 prime? Explain briefly.")
    (True, False)
    """
    demands = (demands_explanation, demands_own_form, demands_own_answer, demands_short_text, rules_out_explanation)
    return not any(is_demanded(text) for is_demanded in (*demands, refers_to_another_question))


def refers_to_another_question(text: str) -> bool:
    """Return whether a question speaks of another one, so that no example can stand before it.

    >>> refers_to_another_question("The last question was on fish. Is this one?"), refers_to_another_question("Who?")
    (True, False)
    """
    return _ANOTHER_QUESTION.search(text) is not None


def demands_explanation(text: str) -> bool:
    """Return whether a question demands an explanation, so that no prompt can ask for a label or a short answer alone.

    >>> demands_explanation("Which is prime? Explain briefly."), demands_explanation("What explains the tides?")
    (True, False)
    """
    return _EXPLAIN.search(text) is not None and not rules_out_explanation(text)


def demands_own_form(text: str) -> bool:
    """Return whether a question demands a form of its own for the answer, so that no prompt can demand another.

    >>> demands_own_form("Name a river. Respond in JSON."), demands_own_form("What does the server return in JSON?")
    (True, False)
    """
    return _OWN_FORM.search(text) is not None


def asks_for_letter(text: str) -> bool:
    """Return whether a question asks for the letter of a choice, so that no labels but letters fit it.

    >>> asks_for_letter("Which is a fish? Just the letter."), asks_for_letter("Which word begins with the letter S?")
    (True, False)
    """
    return _ASKS_FOR_LETTER.search(text) is not None


def asks_only_why(text: str) -> bool:
    """Return whether a question asks for an explanation alone, so that no prompt can demand a form around it.

    >>> asks_only_why("Explain briefly why ice floats."), asks_only_why("Which one floats? Explain why.")
    (True, False)
    """
    return _ONLY_WHY.search(text) is not None
